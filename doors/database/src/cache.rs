//! Plans by their text, so that a query asked again is neither parsed nor planned again.

use execute::{PLAN_TEXT_BYTES_MAX, PLANS_MAX, Prepared};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use store::Snapshot;

/// A text's plan.
pub(crate) struct Planned {
    pub plan: Prepared,
    /// The text as the log shows it.
    pub text: Arc<str>,
    /// What is suspicious about it.
    pub notices: crate::notification::Notices,
}

/// Plans that were made; of too many, those used longest ago go first.
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
        // What a restricted reader is shown may have to be searched for: others do not wait for that, nor lose a plan where it failed.
        snapshot.catalog();
        if !snapshot.has_catalog() {
            return None;
        }
        let mut inner = self.inner.lock();
        inner.turn += 1;
        let turn = inner.turn;
        let (plan, used) = inner.plans.get_mut(text)?;
        if !plan.plan.is_fresh(snapshot) {
            inner.plans.remove(text);
            return None;
        }
        *used = turn;
        Some(plan.clone())
    }
    pub fn put(&self, text: &str, plan: Arc<Planned>) {
        if text.len() > PLAN_TEXT_BYTES_MAX {
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
