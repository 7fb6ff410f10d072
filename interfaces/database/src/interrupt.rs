//! How someone else ends what a session runs: an interface's reader that met a reset, or the end of its client.
//!
//! Invariant: every query of the session that has not been let go of has a ticket here, so an interruption reaches all of them, not
//! only the one that started last. It stays in force for what starts later, until the session takes note.

use crate::Database;
use crate::clients::RunningPart;
use crate::database::WeakDatabase;
use execute::QueryId;
use parking_lot::Mutex;
use std::sync::Arc;

const GONE: &str = "the client is gone";

#[derive(Default)]
struct Current {
    queries: Vec<QueryId>,
    interrupted: Option<&'static str>,
    closed: bool,
}

/// Ends what a session runs, from another thread. Does not keep the database open.
#[derive(Clone)]
pub struct Interrupter {
    database: WeakDatabase,
    current: Arc<Mutex<Current>>,
}

/// A query that can be interrupted; dropped with the last interest in its rows.
pub(crate) struct Ticket {
    query: QueryId,
    current: Arc<Mutex<Current>>,
    /// As a part of its transaction, in the list of those.
    pub(crate) listed: Option<RunningPart>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.current.lock().queries.retain(|query| *query != self.query);
    }
}

impl Interrupter {
    pub(crate) fn new(database: &Database) -> Interrupter {
        Interrupter { database: database.downgrade(), current: Arc::default() }
    }
    /// Ends what runs, and what starts before the session takes note of the interruption.
    pub fn interrupt(&self, reason: &'static str) {
        let mut current = self.current.lock();
        current.interrupted = Some(reason);
        self.cancel(&current.queries, reason);
    }
    /// Ends what runs, and nothing that starts later.
    pub fn end_running(&self, reason: &'static str) {
        self.cancel(&self.current.lock().queries, reason);
    }
    /// The client is gone: whatever starts from now on ends at once.
    pub fn close(&self) {
        let mut current = self.current.lock();
        current.closed = true;
        self.cancel(&current.queries, GONE);
    }
    /// The session starts a query.
    pub(crate) fn starts(&self, query: QueryId) -> Ticket {
        let mut current = self.current.lock();
        current.queries.push(query);
        if let Some(reason) = current.interrupted.or(current.closed.then_some(GONE)) {
            self.cancel(&[query], reason);
        }
        Ticket { query, current: self.current.clone(), listed: None }
    }
    /// Does what starts now end at once?
    pub(crate) fn is_in_force(&self) -> bool {
        self.reason().is_some()
    }
    /// Why what runs must end now, if it must.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        let current = self.current.lock();
        current.interrupted.or(current.closed.then_some(GONE))
    }
    /// Takes note of an interruption: what starts from now on runs.
    pub fn settle(&self) {
        self.current.lock().interrupted = None;
    }
    fn cancel(&self, queries: &[QueryId], reason: &str) {
        if let Some(database) = self.database.upgrade() {
            queries.iter().for_each(|query| {
                database.runtime().cancel(*query, reason);
            });
        }
    }
}
