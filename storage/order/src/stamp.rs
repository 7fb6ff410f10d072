//! The stamp that a gatekeeper gives a transaction: `<epoch, vector>` (Weaver, §3.3.3 and §4.6).
//!
//! Invariant: the vector of a stamp is causal. Whoever knows the stamp number `c` of a gatekeeper knows all that this stamp knew, because
//! clocks are only ever told whole. So one component decides: `a` comes before `b` if and only if `b` knows the counter of `a`.

#[cfg(feature = "kronos")]
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// A refinable timestamp. Stamps of different gatekeepers may be concurrent: then [`Stamp::compare`] answers nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "kronos", derive(Serialize, Deserialize))]
pub struct Stamp {
    pub(crate) epoch: u64,
    pub(crate) gatekeeper: usize,
    pub(crate) vector: Box<[u64]>,
}

impl Stamp {
    /// A stamp as it came over a network; nothing where its parts do not fit together.
    pub fn from_parts(epoch: u64, gatekeeper: usize, vector: Vec<u64>) -> Option<Stamp> {
        let fits = vector.get(gatekeeper).is_some_and(|counter| *counter > 0);
        fits.then(|| Stamp { epoch, gatekeeper, vector: vector.into() })
    }
    /// The age of the bank that it was given in; all stamps of one epoch come before those of the next.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
    /// Who gave it.
    pub fn gatekeeper(&self) -> usize {
        self.gatekeeper
    }
    /// How many stamps of each gatekeeper come before it or are it.
    pub fn vector(&self) -> &[u64] {
        &self.vector
    }
    /// Which of its gatekeeper's stamps it is.
    pub fn counter(&self) -> u64 {
        self.vector[self.gatekeeper]
    }
    /// Does it certainly come before the other?
    pub fn precedes(&self, other: &Stamp) -> bool {
        match self.epoch.cmp(&other.epoch) {
            Ordering::Equal => self != other && other.vector[self.gatekeeper] >= self.counter(),
            unequal => unequal == Ordering::Less,
        }
    }
    /// Which comes first; nothing where they are concurrent.
    pub fn compare(&self, other: &Stamp) -> Option<Ordering> {
        if self == other {
            return Some(Ordering::Equal);
        }
        match (self.precedes(other), other.precedes(self)) {
            (true, _) => Some(Ordering::Less),
            (_, true) => Some(Ordering::Greater),
            _ => None,
        }
    }
    /// Does neither come before the other, as far as the vectors tell?
    pub fn is_concurrent_with(&self, other: &Stamp) -> bool {
        self.compare(other).is_none()
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {:?}>@{}", self.epoch, self.vector, self.gatekeeper)
    }
}

/// Takes over whatever the other vector knows better.
pub(crate) fn merge(into: &mut [u64], other: &[u64]) {
    into.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}
