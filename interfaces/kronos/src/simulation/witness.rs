//! The machine of a simulated replica, with a witness: every replica must apply the same entries in the same order.

use super::world::Mutant;
use crate::machine::Shared;
use order::kronos::Entry;
use parking_lot::Mutex;
use replicate::StateMachine;
use std::sync::Arc;

/// All entries that any replica has applied.
pub(super) type Log = Arc<Mutex<Vec<Vec<u8>>>>;

pub(super) struct Witness {
    pub(super) shared: Shared,
    pub(super) log: Log,
    /// Entries that this machine applied.
    pub(super) told: usize,
    pub(super) mutant: Mutant,
}

impl StateMachine for Witness {
    fn apply(&mut self, entry: &[u8]) -> Result<Vec<u8>, String> {
        let mut log = self.log.lock();
        match log.get(self.told) {
            Some(before) => assert_eq!(before, entry, "two replicas were told different things"),
            None => log.push(entry.to_vec()),
        }
        self.told += 1;
        if self.mutant == Mutant::ForgetsRequests {
            let entry: Entry = postcard::from_bytes(entry).expect("it was written by a server");
            let entry = Entry { request: 0, ..entry };
            return self.shared.apply(&postcard::to_allocvec(&entry).expect("plain data"));
        }
        self.shared.apply(entry)
    }
    fn snapshot(&self) -> Vec<u8> {
        [(self.told as u64).to_le_bytes().to_vec(), self.shared.snapshot()].concat()
    }
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String> {
        let (told, state) = snapshot.split_first_chunk::<8>().ok_or("a snapshot without its length")?;
        self.shared.restore(state)?;
        self.told = u64::from_le_bytes(*told) as usize;
        Ok(())
    }
}
