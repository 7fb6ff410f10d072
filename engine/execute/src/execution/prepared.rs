//! A cached plan, so that a repeated text is neither parsed nor planned again.
//!
//! A plan stays valid whatever is committed, since names are bound when it starts; it goes stale when indexes come or go, or when the graph has grown
//! or shrunk so much that another plan would be better.

use super::{Credit, Ready};
use crate::planning::{Samples, SnapshotPlanning};
use plan::{Statement, StatementKind};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::Snapshot;

/// Plans that a cache keeps.
pub const PLANS_MAX: usize = 1_024;
/// Bytes of a text that is worth keeping with its plan.
pub const PLAN_TEXT_BYTES_MAX: usize = 64 * 1024;
/// A plan is made anew when the graph's size changed by more than this factor.
const GROWTH_MAX: f64 = 4.0;

/// A plan, and the state it was planned for.
pub struct Prepared {
    /// The plan.
    pub statement: Statement,
    /// Does it write to the graph?
    pub writes: bool,
    /// Decides whether it is tried on the calling thread.
    pub credit: Credit,
    /// Its compiled pipelines.
    pub ready: Ready,
    /// The samples that it was planned with.
    samples: Option<Arc<Samples>>,
    indexes: u64,
    size: f64,
    /// Commit version of the last snapshot for which it was found fresh.
    fresh_at: AtomicU64,
}

impl Prepared {
    /// A plan that was made for this snapshot.
    pub fn new(statement: Statement, writes: bool, snapshot: &Snapshot) -> Prepared {
        Prepared {
            credit: Credit::new(&statement),
            ready: Ready::new(&statement),
            statement,
            writes,
            samples: None,
            fresh_at: AtomicU64::new(snapshot.commit_version()),
            indexes: index_stamp(snapshot),
            size: size(snapshot),
        }
    }
    /// The same, with the samples that it was planned with: its estimates are shown as they were made.
    pub fn with_samples_of(self, planning: &SnapshotPlanning) -> Prepared {
        Prepared { samples: planning.samples().cloned(), ..self }
    }
    /// What it would be planned with for this snapshot.
    pub fn planning(&self, snapshot: &Snapshot) -> SnapshotPlanning {
        match &self.samples {
            Some(samples) => SnapshotPlanning::with_samples(snapshot.clone(), samples.clone()),
            None => SnapshotPlanning::new(snapshot.clone()),
        }
    }
    /// Does the plan itself write, apart from the statements that run before it?
    pub fn own_plan_writes(&self) -> bool {
        matches!(&self.statement.kind, StatementKind::Query { plan, .. } if plan.writes())
    }
    /// Is it still right for the indexes, and for the size of the graph?
    pub fn is_fresh(&self, snapshot: &Snapshot) -> bool {
        let commit_version = snapshot.commit_version();
        // All snapshots of a cluster's gate have commit version 0.
        if commit_version > 0 && self.fresh_at.load(Ordering::Relaxed) == commit_version {
            return true;
        }
        let growth = size(snapshot) / self.size;
        let is_fresh =
            self.indexes == index_stamp(snapshot) && (1.0 / GROWTH_MAX..=GROWTH_MAX).contains(&growth);
        if is_fresh {
            self.fresh_at.store(commit_version, Ordering::Relaxed);
        }
        is_fresh
    }
}

/// A hash of the indexes' definitions; their numbers alone do not tell, since the number of a dropped one is used again.
fn index_stamp(snapshot: &Snapshot) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    for index in snapshot.catalog().indexes() {
        (index.id, index.target, &index.keys, index.unique).hash(&mut hasher);
    }
    hasher.finish()
}

fn size(snapshot: &Snapshot) -> f64 {
    let statistics = snapshot.statistics();
    // Estimates of edges cost a sample; and a graph whose nodes are as many as before is about as large.
    let edges = if statistics.counts_edges() { statistics.edges() } else { 0 };
    statistics.vertices() as f64 + edges as f64 + 1_000.0
}
