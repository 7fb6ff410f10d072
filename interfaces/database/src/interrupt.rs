//! Interruption of a session's queries from another thread: by an interface that read a reset, or met the end of its client.
//!
//! Invariant: every unfinished query of the session has a ticket here, so an interruption reaches all of them, not only the one that started last. It
//! stays in force for queries that start later, until the session takes note.

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

/// Ends the queries of a session, from another thread. Does not keep the database open.
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
    /// Ends running queries, and those that start before the session takes note of the interruption.
    pub fn interrupt(&self, reason: &'static str) {
        let mut current = self.current.lock();
        current.interrupted = Some(reason);
        self.cancel(&current.queries, reason);
    }
    /// Ends running queries, and none that starts later.
    pub fn end_running(&self, reason: &'static str) {
        self.cancel(&self.current.lock().queries, reason);
    }
    /// The client is gone: queries that start from now on end at once.
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
    /// Do queries that start now end at once?
    pub(crate) fn is_in_force(&self) -> bool {
        self.reason().is_some()
    }
    /// The reason why queries must end now, if they must.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        let current = self.current.lock();
        current.interrupted.or(current.closed.then_some(GONE))
    }
    /// Takes note of an interruption: queries that start from now on run.
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
