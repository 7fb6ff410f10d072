//! Pairs of events whose order is known. An order that was answered holds for ever, so nothing here ever becomes false.
//!
//! Idea: two generations. New pairs and those asked for again are young; when the young fill half of the cache, the old are forgotten and the
//! young become old. What was used lately stays, and nothing is searched for.
//! Cost: one or two look-ups a question; at most [`CACHED_PAIRS_MAX`] pairs of some 40 bytes.

use crate::types::{Event, Order};
use std::collections::HashMap;

/// Pairs that a client remembers, if not said otherwise.
pub const CACHED_PAIRS_MAX: usize = 1 << 20;

/// Pairs by the smaller event and the larger; is the smaller one first?
type Generation = HashMap<(Event, Event), bool>;

#[derive(Default)]
pub(crate) struct Cache {
    pairs_max: usize,
    young: Generation,
    old: Generation,
}

impl Cache {
    pub(crate) fn new(pairs_max: usize) -> Cache {
        Cache { pairs_max, ..Cache::default() }
    }

    pub(crate) fn get(&mut self, first: Event, second: Event) -> Option<Order> {
        let (key, swapped) = key(first, second);
        let smaller_first = match self.young.get(&key) {
            Some(known) => *known,
            None => {
                let known = self.old.remove(&key)?;
                self.insert(key, known);
                known
            }
        };
        Some(if smaller_first != swapped { Order::Before } else { Order::After })
    }

    /// Remembers an order; that two events are concurrent is not remembered, since it may change.
    pub(crate) fn put(&mut self, first: Event, second: Event, order: Order) {
        let (key, swapped) = key(first, second);
        match order {
            Order::Concurrent => {}
            Order::Before => self.insert(key, !swapped),
            Order::After => self.insert(key, swapped),
        }
    }

    fn insert(&mut self, key: (Event, Event), smaller_first: bool) {
        let young_max = self.pairs_max / 2;
        if young_max == 0 {
            return;
        }
        if self.young.len() >= young_max && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, smaller_first);
    }

    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

fn key(first: Event, second: Event) -> ((Event, Event), bool) {
    if first <= second { ((first, second), false) } else { ((second, first), true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_known_from_both_ends_and_bounded() {
        let mut cache = Cache::new(8);
        let e = |n: u64| Event(n);
        cache.put(e(1), e(2), Order::Before);
        cache.put(e(4), e(3), Order::Before);
        cache.put(e(5), e(6), Order::Concurrent);
        assert_eq!(cache.get(e(1), e(2)), Some(Order::Before));
        assert_eq!(cache.get(e(2), e(1)), Some(Order::After));
        assert_eq!(cache.get(e(3), e(4)), Some(Order::After));
        assert_eq!(cache.get(e(5), e(6)), None);
        for n in 10..1_000 {
            cache.put(e(n), e(n + 1), Order::After);
            assert_eq!(cache.get(e(1), e(2)), Some(Order::Before), "what is used stays");
            assert!(cache.len() <= 8);
        }
        assert_eq!(cache.get(e(3), e(4)), None, "what is not used goes");
        let mut none = Cache::new(0);
        none.put(e(1), e(2), Order::Before);
        assert_eq!((none.get(e(1), e(2)), none.len()), (None, 0));
    }
}
