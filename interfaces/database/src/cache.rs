//! Caches by text: a repeated statement is neither parsed nor planned again, and a repeated Datalog program is not read again.

use arc_swap::ArcSwap;
use execute::{Credit, PLAN_TEXT_BYTES_MAX, PLANS_MAX, Prepared};
use hashbrown::HashTable;
use parking_lot::Mutex;
use rules::PreparedProgram;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
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
///
/// Idea: statements of all clients look here, so a look takes no lock and writes to nothing that others read: each part is a table that is never
/// changed, and whoever puts something in copies it. Cost: a look hashes the text once; to put something in copies a quarter of the pointers.
pub(crate) struct TextCache<T> {
    parts: [CachePart<T>; PARTS],
    hashing: foldhash::fast::RandomState,
    /// Texts that were put in so far: the clock by which uses are compared.
    puts: AtomicU64,
}

/// Parts of a cache, by the hash of the text: few, so that texts fill them about alike.
const PARTS: usize = 4;

/// Plans that were made.
pub(crate) type PlanCache = TextCache<Planned>;

struct CachePart<T> {
    made: ArcSwap<HashTable<Arc<Made<T>>>>,
    /// Held by whoever changes it.
    changing: Mutex<()>,
}

struct Made<T> {
    text: Box<str>,
    hash: u64,
    made: Arc<T>,
    /// When it was last used, by the clock of its cache.
    used: AtomicU64,
}

impl<T> Default for TextCache<T> {
    fn default() -> TextCache<T> {
        let part = || CachePart { made: ArcSwap::default(), changing: Mutex::default() };
        TextCache {
            parts: std::array::from_fn(|_| part()),
            hashing: foldhash::fast::RandomState::default(),
            puts: AtomicU64::new(0),
        }
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
    /// The hash of a text, and its part.
    fn part(&self, text: &str) -> (u64, &CachePart<T>) {
        let hash = self.hashing.hash_one(text);
        // Other bits than those by which a table finds its place.
        (hash, &self.parts[(hash >> 32) as usize % PARTS])
    }
    /// What was made of a text; it is dropped unless it is still right.
    pub fn get_if(&self, text: &str, is_right: impl FnOnce(&T) -> bool) -> Option<Arc<T>> {
        let (hash, part) = self.part(text);
        let table = part.made.load();
        let found = table.find(hash, |made| *made.text == *text)?;
        if !is_right(&found.made) {
            // Another may have put the right one in meanwhile.
            part.change(|kept| kept.retain(|made| !Arc::ptr_eq(made, found)));
            return None;
        }
        let now = self.puts.load(Ordering::Relaxed);
        if found.used.load(Ordering::Relaxed) != now {
            found.used.store(now, Ordering::Relaxed);
        }
        Some(found.made.clone())
    }
    pub fn put(&self, text: &str, made: Arc<T>) {
        if text.len() > PLAN_TEXT_BYTES_MAX {
            return;
        }
        let (hash, part) = self.part(text);
        let used = AtomicU64::new(self.puts.fetch_add(1, Ordering::Relaxed) + 1);
        let made = Arc::new(Made { text: text.into(), hash, made, used });
        part.change(|kept| {
            kept.retain(|made| *made.text != *text);
            if kept.len() >= PLANS_MAX / PARTS {
                // Some of them, so that this is rare. Others use them meanwhile: when they were used is read once.
                kept.sort_by_cached_key(|made| std::cmp::Reverse(made.used.load(Ordering::Relaxed)));
                kept.truncate(PLANS_MAX / PARTS - PLANS_MAX / PARTS / 4);
            }
            kept.push(made);
        });
    }
}

impl<T> CachePart<T> {
    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Made<T>>>)) {
        let _changing = self.changing.lock();
        let mut kept: Vec<Arc<Made<T>>> = self.made.load().iter().cloned().collect();
        change(&mut kept);
        let mut table = HashTable::with_capacity(kept.len());
        for made in kept {
            table.insert_unique(made.hash, made, |made| made.hash);
        }
        self.made.store(Arc::new(table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside a list: what was used last stays, whatever came since, and what is not right any more goes.
    #[test]
    fn texts_used_last_are_kept() {
        let cache = TextCache::<usize>::default();
        let text = |number: usize| format!("RETURN {number}");
        for number in 0..4 * PLANS_MAX {
            cache.put(&text(number), Arc::new(number));
            assert_eq!(cache.get_if(&text(number), |made| *made == number).as_deref(), Some(&number));
            assert_eq!(cache.get_if(&text(0), |_| true).as_deref(), Some(&0), "used all the time");
        }
        let kept = (0..4 * PLANS_MAX).filter(|number| cache.get_if(&text(*number), |_| true).is_some());
        let kept: Vec<usize> = kept.collect();
        assert!((PLANS_MAX / 2..=PLANS_MAX).contains(&kept.len()), "{} are kept", kept.len());
        // In each part the last ones are.
        let older = kept.iter().filter(|number| **number < 2 * PLANS_MAX).count();
        assert!(older < PLANS_MAX / 8, "{older} are old");
        cache.put(&text(0), Arc::new(7));
        assert_eq!(cache.get_if(&text(0), |_| true).as_deref(), Some(&7));
        assert_eq!(cache.get_if(&text(0), |_| false), None);
        assert_eq!(cache.get_if(&text(0), |_| true), None);
    }

    #[test]
    fn texts_are_looked_up_while_others_are_put_in() {
        let cache = TextCache::<usize>::default();
        world::threads::in_parallel("cache", 4, |thread| {
            for round in 0..4_000 {
                // More than there is room for.
                let number = (round * 7 + thread) % (2 * PLANS_MAX + 5);
                let text = number.to_string();
                match cache.get_if(&text, |_| round % 50 != 49) {
                    Some(made) => assert_eq!(*made, number),
                    None => cache.put(&text, Arc::new(number)),
                }
            }
        });
    }

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
