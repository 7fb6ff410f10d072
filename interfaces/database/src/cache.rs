//! Caches by text: a repeated statement is neither parsed nor planned again, and a repeated Datalog program is not read again.

use execute::{Credit, PLAN_TEXT_BYTES_MAX, PLANS_MAX, Prepared};
use hashbrown::HashMap;
use parking_lot::Mutex;
use rules::PreparedProgram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use store::Snapshot;

/// A text's plan.
pub(crate) struct Planned {
    pub plan: Prepared,
    /// The text as the log shows it.
    pub text: Arc<str>,
    /// Its notifications that may apply.
    pub notices: crate::notification::Notices,
    /// How its commits over a graph that is a little old went.
    pub old_bases: OldBases,
}

/// How often in a row statements of one text begin with the latest graph, at most, before an older one is tried again.
const STRICT_MAX: u32 = 1 << 10;

/// Whether it is worthwhile to try a writing statement over a graph that a cluster's gate has already: after failed attempts, ever more statements
/// begin with the latest graph at once.
#[derive(Default)]
pub(crate) struct OldBases {
    /// Statements that begin with the latest graph before the next attempt.
    strict: AtomicU32,
    /// Number of statements that do so after the next failure.
    pause: AtomicU32,
    /// The last long attempt came to nothing, and none has committed since.
    long_in_vain: AtomicBool,
}

impl OldBases {
    /// Is it worth it now?
    pub fn try_now(&self) -> bool {
        let less = |strict: u32| strict.checked_sub(1);
        self.strict.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err()
    }
    /// Is a long attempt worth it? One that comes to nothing costs the statement its time twice.
    pub fn try_long(&self) -> bool {
        !self.long_in_vain.load(Ordering::Relaxed)
    }
    /// A long attempt came to nothing.
    pub fn long_in_vain(&self) {
        self.long_in_vain.store(true, Ordering::Relaxed);
    }
    /// An attempt came to its end; or had to be made again.
    pub fn tried(&self, committed: bool) {
        let pause = self.pause.load(Ordering::Relaxed);
        if committed {
            self.long_in_vain.store(false, Ordering::Relaxed);
            self.pause.store(pause / 2, Ordering::Relaxed);
        } else if self.strict.load(Ordering::Relaxed) == 0 {
            // Of those that fail together one counts.
            let pause = (2 * pause).clamp(1, STRICT_MAX);
            self.pause.store(pause, Ordering::Relaxed);
            self.strict.store(pause, Ordering::Relaxed);
        }
    }
}

/// A Datalog program that was read.
pub(crate) struct KnownProgram {
    pub prepared: PreparedProgram,
    pub credit: Credit,
}

/// What was made of texts; of too many, those used longest ago go first.
pub(crate) struct TextCache<T> {
    inner: Mutex<Inner<T>>,
}

/// Plans that were made.
pub(crate) type PlanCache = TextCache<Planned>;

struct Inner<T> {
    made: HashMap<Arc<str>, (Arc<T>, u64), foldhash::fast::RandomState>,
    turn: u64,
}

impl<T> Default for TextCache<T> {
    fn default() -> TextCache<T> {
        TextCache { inner: Mutex::new(Inner { made: HashMap::default(), turn: 0 }) }
    }
}

impl PlanCache {
    /// The plan of a text, if it is right for this snapshot.
    pub fn get(&self, text: &str, snapshot: &Snapshot) -> Option<Arc<Planned>> {
        // What a restricted reader is shown may have to be searched for: others do not wait for that, nor lose a plan where it failed.
        snapshot.catalog();
        if !snapshot.has_catalog() {
            return None;
        }
        self.get_if(text, |planned| planned.plan.is_fresh(snapshot))
    }
}

impl<T> TextCache<T> {
    /// What was made of a text; it is dropped unless it is still right.
    pub fn get_if(&self, text: &str, is_right: impl FnOnce(&T) -> bool) -> Option<Arc<T>> {
        let mut inner = self.inner.lock();
        inner.turn += 1;
        let turn = inner.turn;
        let (made, used) = inner.made.get_mut(text)?;
        if !is_right(made) {
            inner.made.remove(text);
            return None;
        }
        *used = turn;
        Some(made.clone())
    }
    pub fn put(&self, text: &str, made: Arc<T>) {
        if text.len() > PLAN_TEXT_BYTES_MAX {
            return;
        }
        let mut inner = self.inner.lock();
        if inner.made.len() >= PLANS_MAX {
            inner.drop_oldest_half();
        }
        let turn = inner.turn;
        inner.made.insert(text.into(), (made, turn));
    }
}

impl<T> Inner<T> {
    fn drop_oldest_half(&mut self) {
        let mut turns: Vec<u64> = self.made.values().map(|(_, used)| *used).collect();
        turns.sort_unstable();
        let middle = turns[turns.len() / 2];
        self.made.retain(|_, (_, used)| *used > middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_fail_are_ever_rarer_and_come_back() {
        let bases = OldBases::default();
        let strict = || (0..=2 * STRICT_MAX).take_while(|_| !bases.try_now()).count() as u32;
        assert_eq!(strict(), 0);
        let mut pauses = Vec::new();
        for _ in 0..13 {
            // Those that were under way together fail together.
            (0..9).for_each(|_| bases.tried(false));
            pauses.push(strict());
        }
        assert_eq!(pauses[..4], [1, 2, 4, 8]);
        assert_eq!(pauses[10..], [STRICT_MAX; 3]);
        (0..20).for_each(|_| bases.tried(true));
        bases.tried(false);
        assert_eq!(strict(), 1);
    }
}
