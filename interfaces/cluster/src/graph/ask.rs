//! Requests of a gate to shards, repeated until they are answered, and the read that they open.

use super::queries::{FAILED, HERE};
use crate::GateHandle;
use model::walk;
use protocol::Bytes;
use std::time::Duration;
use store::StoreError;
use world::clock;

/// An answer is waited for so long before the question is put again.
pub(super) const ANSWER: Duration = Duration::from_secs(3);
/// How long a snapshot or a chunk is requested: longer than a lost process takes to come back.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// A pause before a refused question is put again.
pub(super) const PAUSE: Duration = Duration::from_millis(5);

/// A read that is open at the gate.
pub(super) struct OpenRead {
    handle: GateHandle,
    pub(super) number: u64,
}

impl Drop for OpenRead {
    fn drop(&mut self) {
        self.handle.close(self.number);
    }
}

/// Sends a request to shards until it is answered, `until_ns` is past, or the statement of this thread is over; returns the number of the read, which
/// is open.
pub(super) fn ask(
    handle: &GateHandle,
    queries: &[(u16, Bytes)],
    until_ns: u64,
) -> Result<(OpenRead, Vec<(u16, Bytes)>), StoreError> {
    loop {
        let left = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()));
        let failure = match handle.read(queries.to_vec(), ANSWER.min(left)) {
            Ok((number, answers)) => return Ok((OpenRead { handle: handle.clone(), number }, answers)),
            Err(failure) => failure,
        };
        walk::check()?;
        if clock::monotonic_ns() > until_ns {
            return Err(StoreError::Unavailable(failure.to_string().into()));
        }
        world::threads::sleep(PAUSE);
    }
}

/// The content of an answer.
pub(super) fn content(answer: &[u8]) -> Result<&[u8], String> {
    match answer.split_first() {
        Some((&HERE, content)) => Ok(content),
        Some((&FAILED, why)) => Err(String::from_utf8_lossy(why).into_owned()),
        _ => Err("a shard's answer is no answer".to_string()),
    }
}
