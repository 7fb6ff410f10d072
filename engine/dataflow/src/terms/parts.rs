//! Parts: queries that are run one after the other for a statement, which counts as one query in lists, for kills, and for its accounts.
//!
//! Problem: a statement that commits in between is many queries. It must be listed, ended and charged from its beginning to its end, also when none
//! of them runs. Idea: a query of its own stands for it, the *whole*, whose operator only waits; the others are submitted as its parts. Invariants: a
//! part ends with its whole, before the whole's end is visible; it needs no admission, since its whole was admitted; usage of parts counts as their
//! whole's.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The parts of a query.
#[derive(Debug)]
pub(crate) struct Parts<P> {
    state: Mutex<State<P>>,
}

#[derive(Debug)]
struct State<P> {
    running: BTreeMap<u64, Weak<P>>,
    past: Past,
}

/// Usage of parts that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Past {
    pub(crate) cpu_ns: u64,
    pub(crate) rows: u64,
}

impl<P> Default for Parts<P> {
    fn default() -> Parts<P> {
        Parts { state: Mutex::new(State { running: BTreeMap::new(), past: Past::default() }) }
    }
}

impl<P> Parts<P> {
    /// A part begins. Ending the whole later ends it too.
    pub(crate) fn add(&self, id: u64, part: &Arc<P>) {
        self.state.lock().running.insert(id, Arc::downgrade(part));
    }
    /// The whole ends: the parts that end with it.
    pub(crate) fn take(&self) -> Vec<Arc<P>> {
        let running = std::mem::take(&mut self.state.lock().running);
        running.values().filter_map(Weak::upgrade).collect()
    }
    /// A part has ended.
    pub(crate) fn add_up(&self, id: u64, took: Past) {
        let mut state = self.state.lock();
        state.running.remove(&id);
        state.past.cpu_ns += took.cpu_ns;
        state.past.rows += took.rows;
    }
    /// The running parts, and the usage of ended ones.
    pub(crate) fn now(&self) -> (Vec<Arc<P>>, Past) {
        let state = self.state.lock();
        (state.running.values().filter_map(Weak::upgrade).collect(), state.past)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_parts_took_is_kept_and_those_that_run_are_found() {
        let (parts, first, second) = (Parts::default(), Arc::new("first"), Arc::new("second"));
        parts.add(1, &first);
        parts.add(2, &second);
        parts.add_up(1, Past { cpu_ns: 5, rows: 7 });
        let (running, past) = parts.now();
        assert_eq!((running, past.cpu_ns, past.rows), (vec![second.clone()], 5, 7));
        drop(second);
        assert!(parts.take().is_empty(), "who is gone needs no end");
        parts.add(3, &first);
        assert_eq!(parts.take(), [first]);
        assert!(parts.now().0.is_empty());
    }
}
