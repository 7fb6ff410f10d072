//! Chooses the next record among the first ones of several chains: the one rule by which shards, the scribe and the keeper order commits.
//!
//! ```text
//!   chain of gate 0   [record <2,1,0>] ...        among first records the vectors decide, or the oracle
//!   chain of gate 1   [record <0,3,0>]
//!   chain of gate 2   frontier <2,3,5>            empty now, and all later records are after <2,3,5>
//! ```
//!
//! Idea: the record that precedes the first records of all chains is next, if all records still to come in the empty ones are after it too.
//! Invariant: of two records taken, the earlier is before the later by vectors and decisions together. So all processes that take records by this
//! rule, from whichever chains, agree: their orders are parts of one total order.

use order::Stamp;
use std::collections::BTreeMap;

/// The first item of a chain.
#[derive(Clone, Copy, Debug)]
pub enum Head<'a> {
    /// A record; the number is smaller the earlier it came.
    Record(&'a Stamp, u64),
    /// Empty now; all later records are after this stamp, or after nothing known.
    Frontier(Option<&'a Stamp>),
    /// Nothing any more.
    End,
}

/// The next action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// There is no record.
    Empty,
    /// Some chain may still bring something earlier.
    Wait,
    /// The first record of this chain is next.
    Take(usize),
    /// The oracle must decide these pairs; the first of each is preferred.
    Ask(Vec<(Stamp, Stamp)>),
}

/// A question to the oracle that has no answer yet.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) number: u64,
    pub(crate) epoch: u64,
    pub(crate) pairs: Vec<(Stamp, Stamp)>,
    pub(crate) sent_us: u64,
}

type Name = (usize, u64);

/// Answers of the oracle that are still needed: is the first before the second?
#[derive(Clone, Debug, Default)]
pub struct Decided {
    pairs: BTreeMap<(Name, Name), bool>,
}

fn name(stamp: &Stamp) -> Name {
    (stamp.gatekeeper(), stamp.counter())
}

impl Decided {
    /// The oracle's decision on two stamps.
    pub fn learn(&mut self, this: &Stamp, that: &Stamp, before: bool) {
        self.pairs.insert((name(this), name(that)), before);
        self.pairs.insert((name(that), name(this)), !before);
    }
    /// Is the first before the second? None where neither vectors nor decisions tell.
    pub fn before(&self, this: &Stamp, that: &Stamp) -> Option<bool> {
        match this.compare(that) {
            Some(order) => Some(order.is_lt()),
            None => self.pairs.get(&(name(this), name(that))).copied(),
        }
    }
    /// The record was taken, and is compared no more.
    pub fn drop(&mut self, stamp: &Stamp) {
        if !self.pairs.is_empty() {
            let gone = name(stamp);
            self.pairs.retain(|(this, that), _| *this != gone && *that != gone);
        }
    }
}

/// The next record, or the decisions that are missing.
pub fn choose(heads: &[Head], decided: &Decided) -> Choice {
    let records = || {
        heads.iter().enumerate().filter_map(|(chain, head)| match head {
            Head::Record(stamp, arrival) => Some((chain, *stamp, *arrival)),
            _ => None,
        })
    };
    if records().next().is_none() {
        return Choice::Empty;
    }
    // What is to come must be after some first record: then it is after the least of them.
    let open = |head: &Head| match head {
        Head::Frontier(Some(frontier)) => !records().any(|(_, stamp, _)| stamp.precedes(frontier)),
        Head::Frontier(None) => true,
        _ => false,
    };
    if heads.iter().any(open) {
        return Choice::Wait;
    }
    let mut unknown = Vec::new();
    for (chain, this, came) in records() {
        let mut least = true;
        for (_, that, other_came) in records().filter(|(other, _, _)| *other != chain) {
            match decided.before(this, that) {
                Some(before) => least &= before,
                None => {
                    least = false;
                    let earlier = (came, this.gatekeeper()) < (other_came, that.gatekeeper());
                    if earlier {
                        unknown.push((this.clone(), that.clone()));
                    }
                }
            }
        }
        if least {
            return Choice::Take(chain);
        }
    }
    Choice::Ask(unknown)
}

#[cfg(test)]
mod tests;
