//! The machine as replica and readers share it: one writer, many readers.

use order::kronos::{Answer, Entry, Failure, Machine};
use parking_lot::RwLock;
use replicate::StateMachine;
use std::sync::Arc;

/// Shared by the replica's thread, which changes it, and readers.
#[derive(Clone)]
pub(crate) struct Shared(pub(crate) Arc<RwLock<Machine>>);

/// The answer of an entry, as bytes and back.
pub(crate) type Outcome = Result<Answer, Failure>;

pub(crate) fn decode_outcome(bytes: &[u8]) -> Result<Outcome, postcard::Error> {
    postcard::from_bytes(bytes)
}

impl StateMachine for Shared {
    fn apply(&mut self, entry: &[u8]) -> Result<Vec<u8>, String> {
        // Entries are written by this program; one of a later version that this one cannot read must not be passed over silently.
        let entry: Entry = postcard::from_bytes(entry).map_err(|error| {
            format!("this version cannot read it ({error}); run the version of the leader, or a later one")
        })?;
        let outcome = self.0.write().apply(entry);
        Ok(postcard::to_allocvec(&outcome).expect("outcomes are plain data"))
    }
    fn snapshot(&self) -> Vec<u8> {
        self.0.read().snapshot()
    }
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String> {
        let machine = Machine::restore(snapshot).map_err(|error| error.to_string())?;
        *self.0.write() = machine;
        Ok(())
    }
}
