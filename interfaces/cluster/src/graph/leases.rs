//! Chunk numbers that a gate may fill: from its lease, by shard.

use crate::GateHandle;
use model::ChunkNo;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;
use store::{ChunkLeases, LEASE_WAIT, StoreError};
use world::clock;

/// A lease that is under way is looked for so often.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The chunks of one gate.
pub(super) struct Leases {
    handle: GateHandle,
    shards: u16,
    chunks: Mutex<LeasedChunks>,
}

#[derive(Default)]
struct LeasedChunks {
    /// Not given out yet.
    free: Vec<(ChunkNo, u16)>,
    /// The shard of every chunk that was leased in this life.
    owners: BTreeMap<ChunkNo, u16>,
}

impl Leases {
    pub(super) fn new(handle: GateHandle, shards: u16) -> Leases {
        Leases { handle, shards, chunks: Mutex::default() }
    }
    /// The shard of a chunk of this gate.
    pub(super) fn owner(&self, chunk: ChunkNo) -> Option<u16> {
        self.chunks.lock().owners.get(&chunk).copied()
    }
}

impl ChunkLeases for Leases {
    fn take(&self, lane: u32) -> Result<ChunkNo, StoreError> {
        let shard = (lane % u32::from(self.shards)) as u16;
        let until_ns = clock::after_ns(LEASE_WAIT);
        loop {
            let mut chunks = self.chunks.lock();
            while let Some((chunk, owner)) = self.handle.take_chunk() {
                chunks.owners.insert(chunk, owner);
                chunks.free.push((chunk, owner));
            }
            if let Some(at) = chunks.free.iter().position(|(_, owner)| *owner == shard) {
                return Ok(chunks.free.swap_remove(at).0);
            }
            drop(chunks);
            if clock::monotonic_ns() > until_ns {
                return Err(StoreError::Full("chunks that are leased"));
            }
            world::threads::sleep(LOOK_EVERY);
        }
    }
}
