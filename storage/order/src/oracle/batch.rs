//! Batches of orders between stamps, all or none.
//!
//! Idea: a decision notes the old past of each event that it changes; a batch that is refused puts them back, the latest first.

use super::{First, Oracle};
use crate::stamp::Stamp;
use std::cmp::Ordering;

/// One pair of a batch: the first that is wanted, and whether the batch is refused without it.
pub(crate) struct Wanted<'a> {
    pub(crate) this: &'a Stamp,
    pub(crate) that: &'a Stamp,
    pub(crate) first: First,
    pub(crate) must: bool,
}

/// What holds of a pair, and whether this batch decided it.
pub(crate) type Settled = (First, bool);

enum Undo {
    Registered { chain: usize, counter: u64 },
    Past { chain: usize, counter: u64, old: Box<[u64]> },
}

impl Oracle {
    /// Was the event forgotten, so that only its vector is known?
    pub(crate) fn is_forgotten(&self, stamp: &Stamp) -> bool {
        stamp.counter() <= self.chains[stamp.gatekeeper].forgotten[stamp.gatekeeper]
    }
    /// Of how many gatekeepers.
    pub(crate) fn gatekeepers(&self) -> usize {
        self.chains.len()
    }

    /// Orders pairs of different stamps of one epoch, of which no concurrent one was forgotten: first all that must, then the others in
    /// their order. Answers as the batch is ordered, or the position of the first that must and cannot.
    pub(crate) fn assign(&mut self, batch: &[Wanted]) -> Result<Vec<Settled>, usize> {
        let mut answers = vec![(First::This, false); batch.len()];
        let mut undo = Vec::new();
        let decisions = self.decisions;
        let of = |must| batch.iter().enumerate().filter(move |(_, one)| one.must == must);
        for (at, one) in of(true).chain(of(false)) {
            answers[at] = match self.known(one.this, one.that) {
                Some(Ordering::Greater) => (First::That, false),
                Some(_) => (First::This, false),
                None => {
                    self.settle(one, &mut undo);
                    (one.first, true)
                }
            };
            if one.must && answers[at].0 != one.first {
                undo.into_iter().rev().for_each(|step| self.take_back(step));
                self.decisions = decisions;
                return Err(at);
            }
        }
        Ok(answers)
    }

    fn settle(&mut self, one: &Wanted, undo: &mut Vec<Undo>) {
        for stamp in [one.this, one.that] {
            if self.register(stamp) {
                undo.push(Undo::Registered { chain: stamp.gatekeeper, counter: stamp.counter() });
            }
        }
        self.decide(one.this, one.that, one.first, &mut |chain, counter, old| {
            undo.push(Undo::Past { chain, counter, old: old.into() });
        });
    }

    fn take_back(&mut self, step: Undo) {
        let (chain, counter) = match &step {
            Undo::Registered { chain, counter } | Undo::Past { chain, counter, .. } => (*chain, *counter),
        };
        let events = &mut self.chains[chain].events;
        let at = events.binary_search_by_key(&counter, |event| event.counter).expect("it was noted");
        match step {
            Undo::Past { old, .. } => events[at].past = old,
            Undo::Registered { .. } => {
                events.remove(at);
                self.events -= 1;
            }
        }
    }
}
