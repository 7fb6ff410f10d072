//! The labels that a traverser may have at a position of a program, and where each is read last.
//!
//! Idea: a label that comes up gets a number and, in each list of instructions that follows, the position of its last reader there. Those whose
//! position is passed are found by the order of positions, so a program of many labels is compiled in time linear in its length, not quadratic. A
//! traverser with many labels drops them some at a time: dropping goes through all of them.
//!
//! Invariant: `numbers` and `order` hold the same labels.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

type Name = Arc<str>;

/// Up to this number of labels, each is dropped as soon as possible; of more, at least a part of this size.
const PART: usize = 64;

/// Labels, each once, in the order in which they came up.
#[derive(Debug, Default)]
pub(super) struct Carried {
    numbers: HashMap<Name, u64>,
    order: BTreeMap<u64, Name>,
    next: u64,
}

impl Carried {
    pub(super) fn len(&self) -> usize {
        debug_assert_eq!(self.numbers.len(), self.order.len());
        self.order.len()
    }
    pub(super) fn extend(&mut self, labels: impl IntoIterator<Item = Name>) {
        for label in labels {
            if !self.numbers.contains_key(&label) {
                self.numbers.insert(label.clone(), self.next);
                self.order.insert(self.next, label);
                self.next += 1;
            }
        }
    }
    fn remove(&mut self, number: u64) -> Option<Name> {
        let label = self.order.remove(&number)?;
        self.numbers.remove(&label);
        Some(label)
    }
}

/// When the labels expire in one list of instructions.
#[derive(Debug, Default)]
pub(super) struct Expiry {
    /// The number of the first label that was not looked at.
    seen: u64,
    /// Labels by the first position after their last reader.
    at: BTreeMap<usize, Vec<u64>>,
    /// Those that nothing reads any more, and that a traverser still has.
    due: Vec<Name>,
}

impl Expiry {
    /// The list is compiled up to `from`: returns the labels to drop there. `last` returns the position where the list reads one last, if it does;
    /// none for one that is read around the list.
    pub(super) fn advance(
        &mut self,
        carried: &mut Carried,
        from: usize,
        last: impl Fn(&Name) -> Option<Option<usize>>,
    ) -> Vec<Name> {
        for (number, label) in carried.order.range(self.seen..) {
            if let Some(last) = last(label) {
                self.at.entry(last.map_or(0, |last| last + 1)).or_default().push(*number);
            }
        }
        self.seen = carried.next;
        while let Some(first) = self.at.first_entry().filter(|first| *first.key() <= from) {
            self.due.extend(first.remove().into_iter().filter_map(|number| carried.remove(number)));
        }
        if self.due.len() * PART < carried.len() { Vec::new() } else { std::mem::take(&mut self.due) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    /// The obvious twin: at each position, all carried labels that are not read from there on.
    #[test]
    fn labels_are_forgotten_behind_their_last_reader() {
        for seed in 0..200 {
            let mut chance = Chance::seeded(seed);
            let places = 1 + chance.below(40) as usize;
            let names: Vec<Name> = (0..1 + chance.below(20)).map(|at| format!("l{at}").into()).collect();
            // Some are read around the list, some never, some here.
            let last: HashMap<Name, Option<Option<usize>>> = names
                .iter()
                .map(|name| {
                    let last = match chance.below(4) {
                        0 => None,
                        1 => Some(None),
                        _ => Some(Some(chance.below(places as u64) as usize)),
                    };
                    (name.clone(), last)
                })
                .collect();
            let (mut carried, mut expiry, mut twin) = (Carried::default(), Expiry::default(), Vec::new());
            for from in 1..=places {
                let new: Vec<Name> = names.iter().filter(|_| chance.happens(0.1)).cloned().collect();
                twin.extend(new.iter().filter(|name| !twin.contains(*name)).cloned().collect::<Vec<Name>>());
                carried.extend(new);
                let is_read = |name: &Name| match last[name] {
                    None => true,
                    Some(last) => last.is_some_and(|last| last >= from),
                };
                let mut forgotten = expiry.advance(&mut carried, from, |name| last[name]);
                let mut wanted: Vec<Name> = twin.iter().filter(|name| !is_read(name)).cloned().collect();
                twin.retain(is_read);
                forgotten.sort();
                wanted.sort();
                assert_eq!(forgotten, wanted, "seed {seed}, place {from}");
                assert_eq!(carried.order.values().cloned().collect::<Vec<_>>(), twin, "seed {seed}");
            }
        }
    }

    /// Many labels that are read last one after the other are forgotten in parts, and all of them in the end.
    #[test]
    fn of_many_labels_some_are_forgotten_at_a_time() {
        let (mut carried, mut expiry) = (Carried::default(), Expiry::default());
        carried.extend((0..10_000).map(|at| Name::from(format!("{at}"))));
        let (mut parts, mut forgotten, mut work) = (0, 0, 0);
        for from in 1..=10_000 {
            let before = carried.len();
            let part = expiry.advance(&mut carried, from, |name| Some(name.parse().ok()));
            parts += usize::from(!part.is_empty());
            work += if part.is_empty() { 0 } else { before };
            forgotten += part.len();
        }
        assert_eq!((forgotten, carried.len()), (10_000, 0));
        assert!(parts < 1_000 && work < 100 * 10_000, "{parts} parts, {work} labels gone through");
    }
}
