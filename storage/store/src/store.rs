//! The store: the current snapshot, and the state that all transactions share.

use crate::commits::allocator::Allocator;
use crate::paging::pager::PagingReport;
use crate::paging::source::ChunkSource;
use crate::schema::names::Names;
use crate::snapshots::root::{Snapshot, StoreOptions};
use arc_swap::ArcSwap;
use model::ChunkNo;
use std::sync::Arc;

/// The current snapshot, the interner and the allocator. Publishing is one atomic swap; readers keep what they hold.
pub struct Store {
    current: ArcSwap<Snapshot>,
    names: Arc<Names>,
    allocator: Allocator,
}

impl Store {
    /// An empty store.
    pub fn new(options: StoreOptions) -> Store {
        Store::from_snapshot(Snapshot::empty(Arc::new(Names::new()), options))
    }
    /// A store that goes on from a recovered snapshot.
    pub fn from_snapshot(snapshot: Snapshot) -> Store {
        Store {
            names: snapshot.names().clone(),
            allocator: Allocator::restored(&snapshot),
            current: ArcSwap::from_pointee(snapshot),
        }
    }
    /// The store of one of several writers, over a snapshot that is made of shares.
    pub fn of_writer(snapshot: Snapshot, allocator: Allocator) -> Store {
        Store { names: snapshot.names().clone(), allocator, current: ArcSwap::from_pointee(snapshot) }
    }
    /// The last published snapshot.
    pub fn current(&self) -> Snapshot {
        Snapshot::clone(&self.current.load())
    }
    /// Makes `snapshot` the current one. The caller sees to it that commit versions only rise.
    pub fn publish(&self, snapshot: Snapshot) {
        self.current.store(Arc::new(snapshot));
    }
    /// Where stored chunks are read from, for a store that was not opened from a checkpoint: without it nothing can leave memory.
    pub fn attach(&self, source: Arc<dyn ChunkSource>) {
        self.current.load().root.pager.attach(source);
    }
    /// The memory of all snapshots, and its budget.
    pub fn paging(&self) -> PagingReport {
        self.current.load().root.pager.report()
    }
    /// Is memory filling with data that only a checkpoint can make evictable?
    pub fn wants_checkpoint(&self) -> bool {
        self.current.load().root.pager.wants_checkpoint()
    }
    /// After a checkpoint, where memory is short: chunks stored with their deltas are read from the checkpoint again, so that earlier bases and
    /// deltas can leave memory. The caller ensures that no commit happens meanwhile.
    pub fn trim(&self) {
        let current = self.current();
        if let Some(trimmed) = current.root.pager.is_pressed().then(|| current.trimmed()).flatten() {
            self.publish(trimmed);
        }
    }
    /// Chunks of which a compactor may compact the deltas; none where memory is short, since a new base takes room until it is stored.
    pub fn chunks_to_compact(&self) -> Vec<ChunkNo> {
        let current = self.current();
        if current.root.pager.is_pressed() { Vec::new() } else { current.chunks_to_compact(1) }
    }
    /// Compacts the delta of one chunk, if it can be read. The caller sees to it that no commit happens meanwhile.
    pub fn compact(&self, chunk: ChunkNo) {
        // A chunk that cannot be read is an error for whoever asks for it; its delta stays as it is.
        if let Ok(compacted) = self.current().compact(chunk) {
            self.publish(compacted);
        }
    }
    /// The interner.
    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }
    /// The source of ids.
    pub fn allocator(&self) -> &Allocator {
        &self.allocator
    }
}
