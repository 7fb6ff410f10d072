//! Plans by their text, so that a query asked again is neither parsed nor planned again.
//!
//! A plan stays right whatever is committed, since names are bound when it starts; it goes stale when indexes come or go, or when
//! the graph has grown or shrunk so much that another plan would be better.

use crate::here::Here;
use execute::Ready;
use hashbrown::HashMap;
use parking_lot::Mutex;
use plan::Statement;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::Snapshot;

/// Plans kept; the one used longest ago goes first.
pub const PLANS_MAX: usize = 1_024;
/// A longer text is not worth keeping.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// A plan is made anew when the graph's size changed by more than this factor.
const GROWTH_MAX: f64 = 4.0;

/// A plan, and what it was made for.
pub(crate) struct Planned {
    pub statement: Statement,
    /// Does it write to the graph?
    pub writes: bool,
    /// Is it tried on the thread that asks?
    pub here: Here,
    /// What was compiled of it.
    pub ready: Ready,
    /// What is suspicious about it.
    pub notices: crate::notification::Notices,
    indexes: u64,
    size: f64,
    /// Place of the last snapshot for which it was found fresh.
    fresh_at: AtomicU64,
}

impl Planned {
    /// Does the plan itself write, apart from what is run before it?
    pub fn own_plan_writes(&self) -> bool {
        matches!(&self.statement.kind, plan::StatementKind::Query { plan, .. } if plan.writes())
    }
    pub fn new(statement: Statement, writes: bool, snapshot: &Snapshot) -> Planned {
        let here = Here::new(&statement);
        Planned {
            ready: Ready::new(&statement),
            statement,
            writes,
            here,
            fresh_at: AtomicU64::new(snapshot.place()),
            notices: Default::default(),
            indexes: index_stamp(snapshot),
            size: size(snapshot),
        }
    }
    /// Is it still right for the indexes, and for the size of the graph?
    pub fn is_fresh(&self, snapshot: &Snapshot) -> bool {
        let place = snapshot.place();
        if self.fresh_at.load(Ordering::Relaxed) == place {
            return true;
        }
        let growth = size(snapshot) / self.size;
        let is_fresh =
            self.indexes == index_stamp(snapshot) && (1.0 / GROWTH_MAX..=GROWTH_MAX).contains(&growth);
        if is_fresh {
            self.fresh_at.store(place, Ordering::Relaxed);
        }
        is_fresh
    }
}

/// Tells whether the indexes changed: what each is about, not its number alone, since the number of a dropped one is used again.
fn index_stamp(snapshot: &Snapshot) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    for index in snapshot.catalog().indexes() {
        (index.id, index.target, &index.keys, index.unique).hash(&mut hasher);
    }
    hasher.finish()
}

fn size(snapshot: &Snapshot) -> f64 {
    snapshot.statistics().vertices() as f64 + snapshot.statistics().edges() as f64 + 1_000.0
}

#[derive(Default)]
pub(crate) struct PlanCache {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    plans: HashMap<Arc<str>, (Arc<Planned>, u64), foldhash::fast::RandomState>,
    turn: u64,
}

impl PlanCache {
    pub fn get(&self, text: &str, snapshot: &Snapshot) -> Option<Arc<Planned>> {
        let mut inner = self.inner.lock();
        inner.turn += 1;
        let turn = inner.turn;
        let (plan, used) = inner.plans.get_mut(text)?;
        if !plan.is_fresh(snapshot) {
            inner.plans.remove(text);
            return None;
        }
        *used = turn;
        Some(plan.clone())
    }
    pub fn put(&self, text: &str, plan: Arc<Planned>) {
        if text.len() > TEXT_BYTES_MAX {
            return;
        }
        let mut inner = self.inner.lock();
        if inner.plans.len() >= PLANS_MAX {
            inner.drop_oldest_half();
        }
        let turn = inner.turn;
        inner.plans.insert(text.into(), (plan, turn));
    }
}

impl Inner {
    fn drop_oldest_half(&mut self) {
        let mut turns: Vec<u64> = self.plans.values().map(|(_, used)| *used).collect();
        turns.sort_unstable();
        let middle = turns[turns.len() / 2];
        self.plans.retain(|_, (_, used)| *used > middle);
    }
}
