//! A listed query that stands for a statement of many queries, or none, from its beginning to its end. Its operator only waits. Ending it ends the
//! statement, which checks it between its steps.

use super::Session;
use crate::Error;
use crate::clients::Listed;
use crate::interrupt::Ticket;
use crate::running::Running;
use execute::{Access, Execution, QueryId, ResultStream};
use std::sync::Arc;

/// Stands for the statement in the lists, until it is dropped.
pub(super) struct Whole {
    stream: ResultStream,
    _ticket: Option<Ticket>,
    held: u64,
    /// Why it was ended: its stream says so once.
    ended: Option<Error>,
}

impl Whole {
    /// Its number.
    pub(super) fn id(&self) -> Option<QueryId> {
        self.stream.id()
    }
    /// Goes on, unless it was ended.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        if let Some(Some(Err(error))) = self.stream.try_next() {
            self.ended.get_or_insert(error.into());
        }
        self.ended.clone().map_or(Ok(()), Err)
    }
    /// Sets the bytes that the statement holds outside of its parts. Fails if it was ended.
    pub(super) fn holds(&mut self, bytes: u64) -> Result<(), Error> {
        let before = std::mem::replace(&mut self.held, bytes);
        if bytes > before {
            self.stream.hold(bytes - before);
        } else {
            self.stream.release(before - bytes);
        }
        self.check()
    }
}

impl Session {
    /// Starts the query that stands for a statement, and waits until it is admitted.
    pub(super) fn start_whole(
        &self,
        text: &str,
        bytes_max: u64,
        deadline_ns: Option<u64>,
    ) -> Result<Whole, Error> {
        self.start_part(text, (bytes_max, deadline_ns), (None, None))
    }

    /// As [`Session::start_whole`], for a part of a statement, which that ends, or of a transaction that is listed.
    pub(super) fn start_part(
        &self,
        text: &str,
        (bytes_max, deadline_ns): (u64, Option<u64>),
        (part_of, listed): (Option<QueryId>, Option<&Arc<Listed>>),
    ) -> Result<Whole, Error> {
        let running = Running { part_of, ..self.running(text, (bytes_max, deadline_ns))? };
        let (options, access) = (self.database.execute_options(&running), Access::Read(self.view()?));
        let mut stream = Execution::start_whole(self.database.runtime(), access, options)?;
        let ticket = if part_of.is_none() { self.ticket_of(&stream, listed) } else { None };
        self.next_of(&mut stream)?;
        Ok(Whole { stream, _ticket: ticket, held: 0, ended: None })
    }
}
