//! Answers of standing queries under restricted rights: maintained once for all readers with the same rights, as long as one of them reads.
//!
//! Idea: the definition is one, the answers are many. For a subscriber under a restriction the query is maintained a second time, over the graph as
//! the restriction shows it, on the subscriber's account. All readers with the same rights share that answer. Invariant: nothing that such a reader
//! receives was computed from data hidden from it. Cost: that of a standing query for each set of rights that reads it; an answer without readers is
//! dropped after some seconds.

use crate::Error;
use crate::roles::RestrictedView;
use ::standing::{Keeper, Standing, TurnEnd};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use world::clock::monotonic_ns;

/// Sets of rights for which answers are maintained at once.
const RIGHTS_MAX: usize = 64;
/// An answer without readers is dropped after one to two times this, in nanoseconds.
const IDLE_NS: u64 = 10_000_000_000;

/// The keepers of answers, by the rights that they are maintained for.
#[derive(Default)]
pub(crate) struct RestrictedAnswers {
    keepers: Mutex<Vec<RestrictedKeeper>>,
    swept_ns: Mutex<u64>,
}

/// Held by a session that looks for an answer, makes it if it is missing, and begins to read it.
pub(super) type AnswerTurn = Arc<Mutex<()>>;

struct RestrictedKeeper {
    restricted_view: Weak<RestrictedView>,
    keeper: Keeper,
    making: AnswerTurn,
    /// Queries without readers at the last sweep.
    idle: BTreeSet<String>,
}

impl RestrictedAnswers {
    /// The keeper for these rights, and the lock of a session that makes an answer there.
    pub fn keeper(
        &self,
        restricted_view: &Arc<RestrictedView>,
        like: &Keeper,
    ) -> Result<(Keeper, AnswerTurn), Error> {
        let Some(restriction) = &restricted_view.party.restriction else {
            return Ok((like.clone(), AnswerTurn::default()));
        };
        let mut keepers = self.keepers.lock();
        if let Some(known) = keepers
            .iter()
            .find(|known| std::ptr::eq(known.restricted_view.as_ptr(), Arc::as_ptr(restricted_view)))
        {
            return Ok((known.keeper.clone(), known.making.clone()));
        }
        keepers.retain(|known| known.is_wanted());
        if keepers.len() == RIGHTS_MAX {
            let message =
                format!("standing queries are followed under {RIGHTS_MAX} different sets of rights already");
            return Err(Error::new("Tanglewood.ClientError.Standing.Limit", message)
                .hint("give users who read the same the same roles"));
        }
        let keeper = like.beside(restriction.clone());
        let (restricted_view, making) = (Arc::downgrade(restricted_view), AnswerTurn::default());
        let known = RestrictedKeeper {
            restricted_view,
            keeper: keeper.clone(),
            making: making.clone(),
            idle: BTreeSet::new(),
        };
        keepers.push(known);
        Ok((keeper, making))
    }
    /// Ends the answers of a query.
    pub fn drop_query(&self, name: &str) {
        for known in &*self.keepers.lock() {
            // Not all of them have it.
            let _ = known.keeper.drop_query(name);
        }
    }
    /// As [`Keeper::turn`], for all keepers.
    pub fn turn(&self, at: usize) -> TurnEnd {
        let keepers: Vec<Keeper> = self.keepers.lock().iter().map(|known| known.keeper.clone()).collect();
        let ends: Vec<TurnEnd> = keepers.iter().map(|keeper| keeper.turn(at)).collect();
        [TurnEnd::More, TurnEnd::InTheWay].into_iter().find(|end| ends.contains(end)).unwrap_or(TurnEnd::Done)
    }
    /// As [`Keeper::take_spent`].
    pub fn take_spent(&self, at: usize) -> Vec<(u32, u64)> {
        self.keepers.lock().iter().flat_map(|known| known.keeper.take_spent(at)).collect()
    }
    /// Drops answers without readers since the last sweep.
    pub fn sweep(&self) {
        let Some(mut swept_ns) = self.swept_ns.try_lock() else { return };
        let now_ns = monotonic_ns();
        if now_ns < swept_ns.saturating_add(IDLE_NS) {
            return;
        }
        *swept_ns = now_ns;
        let mut idle = Vec::new();
        let mut keepers = self.keepers.lock();
        keepers.retain(|known| known.is_wanted());
        for known in &mut *keepers {
            let all = known.idle().into_iter();
            idle.extend(all.map(|name| (known.keeper.clone(), known.making.clone(), name)));
        }
        drop(keepers);
        for (keeper, making, name) in idle {
            // Somebody may begin to read it now.
            let Some(_making) = making.try_lock() else { continue };
            let is_unread = |query: &Standing| query.name == name && query.subscribers == 0;
            if keeper.list().iter().any(is_unread) {
                let _ = keeper.drop_query(&name);
            }
        }
    }
    /// The earliest time of the next sweep; never where there is no answer.
    pub fn next_sweep_ns(&self) -> Option<u64> {
        let has_some = !self.keepers.lock().is_empty();
        has_some.then(|| self.swept_ns.lock().saturating_add(IDLE_NS))
    }
    /// Ends all subscriptions.
    pub fn close(&self) {
        self.keepers.lock().drain(..).for_each(|known| known.keeper.close());
    }
}

impl RestrictedKeeper {
    /// Does a session have these rights? If not, there are no readers: each reader holds them.
    fn is_wanted(&self) -> bool {
        let is_wanted = self.restricted_view.strong_count() > 0;
        if !is_wanted {
            self.keeper.close();
        }
        is_wanted
    }
    /// Queries without readers, now and at the last call.
    fn idle(&mut self) -> Vec<String> {
        let unread = self.keeper.list().into_iter().filter(|query| query.subscribers == 0);
        let unread: BTreeSet<String> = unread.map(|query| query.name).collect();
        let before = std::mem::replace(&mut self.idle, unread);
        before.intersection(&self.idle).cloned().collect()
    }
}
