//! The live instances of a scope: the number of outer rows of each, and the remaining demand for them.

use crate::demand::{RowDemand, Stated};
use dataflow::Tag;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A live instance.
struct Live {
    rows: usize,
    /// The operator that opened it.
    opener: u64,
    /// The demand for each outer row, by the number of the demand.
    demands: Vec<Option<Arc<RowDemand>>>,
}

/// How many outer rows each live instance of a scope has, and how many instances live on each executor.
#[derive(Default)]
pub(crate) struct ScopeRows {
    rows: Mutex<HashMap<(usize, Tag), Live, FixedState>>,
    live: Vec<AtomicUsize>,
    openers: AtomicU64,
}

impl ScopeRows {
    pub(crate) fn new(executors: usize) -> ScopeRows {
        let live = (0..executors).map(|_| AtomicUsize::new(0)).collect();
        ScopeRows { rows: Mutex::default(), live, openers: AtomicU64::new(0) }
    }
    /// Is it of a scope, or of a sub-query that runs within one operator and has no instances?
    pub(crate) fn has_instances(&self) -> bool {
        !self.live.is_empty()
    }
    /// A number for an operator that opens instances.
    pub(crate) fn opener(&self) -> u64 {
        self.openers.fetch_add(1, Ordering::Relaxed)
    }
    /// Registers a new instance with `rows` outer rows.
    pub(crate) fn open(&self, executor: usize, tag: Tag, rows: usize, opener: u64) {
        self.rows.lock().insert((executor, tag), Live { rows, opener, demands: Vec::new() });
        self.live[executor].fetch_add(1, Ordering::Relaxed);
    }
    /// Outer rows of an instance.
    pub(crate) fn get(&self, executor: usize, tag: Tag) -> usize {
        self.rows.lock().get(&(executor, tag)).map_or(0, |live| live.rows)
    }
    /// The counters of a demand in an instance; made if need be.
    pub(crate) fn demand(&self, executor: usize, tag: Tag, stated: Stated) -> Arc<RowDemand> {
        let mut rows = self.rows.lock();
        let Some(live) = rows.get_mut(&(executor, tag)) else { return Arc::new(RowDemand::new(0, 0)) };
        if live.demands.len() <= stated.number {
            live.demands.resize(stated.number + 1, None);
        }
        let made = || Arc::new(RowDemand::new(live.rows, stated.most));
        live.demands[stated.number].get_or_insert_with(made).clone()
    }
    /// The instance has ended.
    pub(crate) fn close(&self, executor: usize, tag: Tag) {
        if self.rows.lock().remove(&(executor, tag)).is_some() {
            self.live[executor].fetch_sub(1, Ordering::Relaxed);
        }
    }
    /// An operator that opened instances is gone. Its instances that still live were cancelled with its own scope instance, and are not reported
    /// otherwise.
    pub(crate) fn abandon(&self, opener: u64) {
        if self.live.iter().all(|live| live.load(Ordering::Relaxed) == 0) {
            return;
        }
        self.rows.lock().retain(|(executor, _), live| {
            let is_gone = live.opener == opener;
            if is_gone {
                self.live[*executor].fetch_sub(1, Ordering::Relaxed);
            }
            !is_gone
        });
    }
    pub(crate) fn live(&self, executor: usize) -> usize {
        self.live[executor].load(Ordering::Relaxed)
    }
}
