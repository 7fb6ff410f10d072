//! The store: the current snapshot, and what all transactions share.

use crate::allocator::Allocator;
use crate::names::Names;
use crate::snapshot::{Snapshot, StoreOptions};
use arc_swap::ArcSwap;
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
    /// The last published snapshot.
    pub fn current(&self) -> Snapshot {
        Snapshot::clone(&self.current.load())
    }
    /// Makes `snapshot` the current one. The caller sees to it that places only rise.
    pub fn publish(&self, snapshot: Snapshot) {
        self.current.store(Arc::new(snapshot));
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
