//! How someone else ends what a session runs: a door's reader that met a reset, or the end of its client.

use crate::Database;
use parking_lot::Mutex;
use std::sync::Arc;

#[derive(Default)]
struct Current {
    query: Option<execute::QueryId>,
    interrupted: Option<&'static str>,
    closed: bool,
}

/// Ends what a session runs, from another thread.
#[derive(Clone)]
pub struct Interrupter {
    database: Database,
    current: Arc<Mutex<Current>>,
}

impl Interrupter {
    pub(crate) fn new(database: Database) -> Interrupter {
        Interrupter { database, current: Arc::default() }
    }
    /// Ends the running query, and any that starts before the session takes note of the interruption.
    pub fn interrupt(&self, reason: &'static str) {
        let mut current = self.current.lock();
        current.interrupted = Some(reason);
        self.cancel(&current, reason);
    }
    /// The client is gone: whatever starts from now on ends at once.
    pub fn close(&self) {
        let mut current = self.current.lock();
        current.closed = true;
        self.cancel(&current, "the client is gone");
    }
    /// The session starts a query.
    pub(crate) fn starts(&self, query: execute::QueryId) {
        let mut current = self.current.lock();
        current.query = Some(query);
        if let Some(reason) = current.interrupted.or(current.closed.then_some("the client is gone")) {
            self.cancel(&current, reason);
        }
    }
    /// The session took note: what starts from now on runs.
    pub(crate) fn settle(&self) {
        self.current.lock().interrupted = None;
    }
    fn cancel(&self, current: &Current, reason: &str) {
        if let Some(query) = current.query {
            self.database.runtime().cancel(query, reason);
        }
    }
}
