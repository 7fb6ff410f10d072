//! The table of watched keys: commits look up here which watch sets they end (see `watch_sets`).
//!
//! Invariant: a set has an end for as long as one of its keys is in the table. Cost: one look-up for each key that a commit writes and each set that
//! it ends, under a short lock; nothing without watch sets.

use crate::conflicts::Footprint;
use crate::limits::{WATCH_KEYS_MAX, WATCHED_KEYS_MAX, WATCHES_MAX};
use crate::reads::{Key, KeyState};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Keys that are removed while the lock is held once: commits wait for it.
const KEYS_AT_ONCE: usize = 1_024;

/// The watch sets of one key, by number.
enum Watching {
    One(u32),
    More(Vec<u32>),
}

impl Watching {
    fn numbers(&self) -> &[u32] {
        match self {
            Watching::One(number) => std::slice::from_ref(number),
            Watching::More(numbers) => numbers,
        }
    }
    fn add(&mut self, number: u32) {
        match self {
            Watching::One(first) => *self = Watching::More(vec![*first, number]),
            Watching::More(numbers) => numbers.push(number),
        }
    }
    /// Takes one out; true if none is left.
    fn remove(&mut self, number: u32) -> bool {
        match self {
            Watching::One(only) => *only == number,
            Watching::More(numbers) => {
                numbers.retain(|other| *other != number);
                numbers.is_empty()
            }
        }
    }
}

#[derive(Default)]
struct WatchTable {
    by_key: HashMap<Key, Watching, KeyState>,
    /// The version of the first commit that wrote a key of each set; `u64::MAX` while there is none.
    ends: HashMap<u32, Arc<AtomicU64>>,
    next: u32,
    /// Keys of all sets together.
    keys: usize,
}

impl WatchTable {
    fn is_full(&self, keys: usize) -> bool {
        self.by_key.len() + keys > WATCHED_KEYS_MAX || self.keys + keys > WATCHES_MAX
    }
}

/// All watch sets of an engine.
#[derive(Default)]
pub(crate) struct WatchSets {
    table: Mutex<WatchTable>,
    count: AtomicUsize,
    /// Sets of snapshots before this commit version are over: a commit of very many keys, or a bulk load.
    cleared: AtomicU64,
}

impl WatchSets {
    /// A commit writes these keys. Called before the commit is visible.
    pub fn record(&self, commit_version: u64, footprint: &Footprint) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        if footprint.keys.len() > WATCH_KEYS_MAX {
            return self.clear(commit_version);
        }
        let mut table = self.table.lock();
        for key in &footprint.keys {
            // Commit versions only rise: the first end is the one that counts, so that nobody is told twice.
            let Some(watching) = table.by_key.remove(key) else { continue };
            for end in watching.numbers().iter().filter_map(|number| table.ends.get(number)) {
                end.fetch_min(commit_version, Ordering::AcqRel);
            }
        }
    }
    /// From this commit version on anything may be different.
    pub fn clear(&self, commit_version: u64) {
        self.cleared.fetch_max(commit_version, Ordering::AcqRel);
    }
    /// Is a set of a snapshot at this commit version over, whatever its keys?
    pub fn is_over(&self, from: u64) -> bool {
        from < self.cleared.load(Ordering::Acquire)
    }
    /// Is there no room for a set of `keys` keys?
    pub fn is_full(&self, keys: usize) -> bool {
        self.table.lock().is_full(keys)
    }
    /// Registers a set: its number, where its end is stored, and how many of its keys no other has. None where all sets together have too many keys.
    pub fn enter(&self, keys: &[Key]) -> Option<(u32, Arc<AtomicU64>, usize)> {
        let mut table = self.table.lock();
        if table.is_full(keys.len()) {
            return None;
        }
        while table.ends.contains_key(&table.next) {
            table.next = table.next.wrapping_add(1);
        }
        let (number, end) = (table.next, Arc::new(AtomicU64::new(u64::MAX)));
        table.next = number.wrapping_add(1);
        table.keys += keys.len();
        table.ends.insert(number, end.clone());
        let before = table.by_key.len();
        for key in keys {
            match table.by_key.entry(*key) {
                Entry::Occupied(mut watching) => watching.get_mut().add(number),
                Entry::Vacant(vacant) => {
                    vacant.insert(Watching::One(number));
                }
            }
        }
        debug_assert!(table.by_key.len() <= table.keys);
        self.count.fetch_add(1, Ordering::AcqRel);
        Some((number, end, table.by_key.len() - before))
    }
    /// Takes a set out.
    pub fn leave(&self, number: u32, keys: &[Key]) {
        for piece in keys.chunks(KEYS_AT_ONCE) {
            let mut table = self.table.lock();
            for key in piece {
                if let Entry::Occupied(mut watching) = table.by_key.entry(*key)
                    && watching.get_mut().remove(number)
                {
                    watching.remove();
                }
            }
            table.keys -= piece.len();
        }
        self.table.lock().ends.remove(&number);
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}
