//! The timeline oracle: orders concurrent events on request, for good, and never in a circle (Kronos; Weaver, §3.3.4 and §3.5.1).
//!
//! ```text
//!   chain of gatekeeper 0   <1,0> ── <2,3> ── <4,3>          in each chain the vectors give the order,
//!                              \                ^             between chains the vectors or a decision
//!   chain of gatekeeper 1       decided: <1,0> before <0,1>
//! ```
//!
//! Idea: the events of one gatekeeper are a chain, so what comes before an event is fully described by one number a chain: *past*, the
//! highest counter of each gatekeeper that comes before it. That is the transitive closure of vectors and decisions together, kept ready: an
//! answer compares two numbers, and a decision merges one past into those of all events behind it. No graph is searched.
//! Invariants: the past of an event contains its vector; whoever has an event in its past has all of that event's past (closure); no event is
//! in the past of one that is in its own (no circle).
//! Cost: an answer is a binary search in one chain; a decision touches the events behind its second. What nobody can be
//! concurrent with any more is forgotten; the last one forgotten of a chain leaves its past to those that follow it.

use crate::stamp::{Stamp, merge};
#[cfg(feature = "kronos")]
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::VecDeque;

/// Events an oracle remembers; before one more, its owner makes the gatekeepers announce and forgets.
pub const ORACLE_EVENTS_MAX: usize = 1 << 16;

/// Which of two events shall come first where nothing orders them yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// The one named first.
    This,
    /// The other.
    That,
}

/// The events of one epoch that were asked about.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "kronos", derive(Serialize, Deserialize))]
pub struct Oracle {
    chains: Vec<Chain>,
    events: usize,
    decisions: u64,
}

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "kronos", derive(Serialize, Deserialize))]
struct Chain {
    /// By counter.
    events: VecDeque<OracleEvent>,
    /// The past of the last event forgotten.
    forgotten: Box<[u64]>,
}

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "kronos", derive(Serialize, Deserialize))]
struct OracleEvent {
    counter: u64,
    past: Box<[u64]>,
}

impl Oracle {
    /// Of events that so many gatekeepers stamp.
    pub fn new(gatekeepers: usize) -> Oracle {
        let chain = Chain { events: VecDeque::new(), forgotten: vec![0; gatekeepers].into() };
        Oracle { chains: vec![chain; gatekeepers], events: 0, decisions: 0 }
    }
    /// Events remembered.
    pub fn len(&self) -> usize {
        self.events
    }
    /// Is none remembered?
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }
    /// Decisions taken so far, where nothing ordered two events yet.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// What is known of the order of two events, by vectors and decisions; nothing where they are still free.
    pub fn known(&self, this: &Stamp, that: &Stamp) -> Option<Ordering> {
        this.compare(that).or_else(|| {
            if self.past(that)[this.gatekeeper] >= this.counter() {
                Some(Ordering::Less)
            } else if self.past(this)[that.gatekeeper] >= that.counter() {
                Some(Ordering::Greater)
            } else {
                None
            }
        })
    }

    /// Which comes first: as known, or as preferred, which is then known for good. Stamps of one epoch.
    ///
    /// # Panics
    /// If two concurrent stamps are named of which one was forgotten: nobody may ask that (see [`Oracle::forget`]).
    pub fn order(&mut self, this: &Stamp, that: &Stamp, prefer: First) -> First {
        match self.known(this, that) {
            Some(Ordering::Less) => return First::This,
            Some(Ordering::Greater) => return First::That,
            Some(Ordering::Equal) => return prefer,
            None => {}
        }
        self.register(this);
        self.register(that);
        self.decide(this, that, prefer, &mut |_, _, _| {});
        prefer
    }

    /// Forgets the events that the frontier knows. Allowed once every stamp that may still turn out to be the later of two knows them by
    /// its vector.
    pub fn forget(&mut self, frontier: &[u64]) {
        for (chain, known) in self.chains.iter_mut().zip(frontier) {
            while let Some(event) = chain.events.pop_front_if(|event| event.counter <= *known) {
                chain.forgotten = event.past;
                self.events -= 1;
            }
        }
    }

    /// All that comes before an event or is it.
    fn past(&self, stamp: &Stamp) -> Box<[u64]> {
        let own = &self.chains[stamp.gatekeeper].events;
        if let Ok(at) = own.binary_search_by_key(&stamp.counter(), |event| event.counter) {
            return own[at].past.clone();
        }
        let mut past = stamp.vector.clone();
        for (number, known) in stamp.vector.iter().enumerate() {
            if let Some(chain) = self.chains[number].past_at(number, *known) {
                merge(&mut past, chain);
            }
        }
        past
    }

    /// Remembers an event; false where it was known.
    fn register(&mut self, stamp: &Stamp) -> bool {
        let past = self.past(stamp);
        let chain = &mut self.chains[stamp.gatekeeper];
        let counter = stamp.counter();
        assert!(counter > chain.forgotten[stamp.gatekeeper], "{stamp} was forgotten");
        let found = chain.events.binary_search_by_key(&counter, |event| event.counter);
        if let Err(at) = found {
            chain.events.insert(at, OracleEvent { counter, past });
            self.events += 1;
        }
        found.is_err()
    }

    /// From now on the preferred event comes before the other, and so does all before it before all behind. Tells the chain, the counter
    /// and the old past of each event whose past grows.
    fn decide(
        &mut self,
        this: &Stamp,
        that: &Stamp,
        first: First,
        note: &mut impl FnMut(usize, u64, &[u64]),
    ) {
        let (before, after) = match first {
            First::This => (this, that),
            First::That => (that, this),
        };
        let past = self.past(before);
        debug_assert!(past[after.gatekeeper] < after.counter(), "a circle");
        for (number, chain) in self.chains.iter_mut().enumerate() {
            let behind = chain.events.partition_point(|event| event.past[after.gatekeeper] < after.counter());
            for event in chain.events.iter_mut().skip(behind) {
                note(number, event.counter, &event.past);
                merge(&mut event.past, &past);
            }
        }
        self.decisions += 1;
    }
}

impl Chain {
    /// The past of the last event up to a counter of the gatekeeper `number`; nothing where that is not remembered.
    fn past_at(&self, number: usize, counter: u64) -> Option<&[u64]> {
        match self.events.partition_point(|event| event.counter <= counter) {
            0 => (self.forgotten[number] <= counter).then_some(&self.forgotten),
            behind => Some(&self.events[behind - 1].past),
        }
    }
}

#[cfg(feature = "kronos")]
pub(crate) mod batch;

#[cfg(test)]
mod tests;
