//! Stamps of gatekeepers, ordered beside the events: orders that vectors imply are known without a search (the [`Oracle`]).
//!
//! Invariant: stamps of one epoch have as many counters as it has gatekeepers; an earlier epoch comes before a later one.

use super::batch::{Assigned, Direction, Strength};
use super::command::{StampConstraint, StampError};
use super::event::EventOrder;
use crate::gatekeepers::GATEKEEPERS_MAX;
use crate::oracle::batch::Wanted;
use crate::oracle::{First, ORACLE_EVENTS_MAX, Oracle};
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The stamps of the current epoch, if one was begun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Stamps {
    epoch: u64,
    oracle: Option<Oracle>,
}

impl Stamps {
    /// A later epoch; the same one again changes nothing.
    pub(super) fn begin(&mut self, epoch: u64, gatekeepers: u32) -> Result<(), StampError> {
        let gatekeepers = gatekeepers as usize;
        if gatekeepers == 0 || gatekeepers > GATEKEEPERS_MAX {
            return Err(StampError::Shape(0));
        }
        match &self.oracle {
            Some(oracle) if epoch == self.epoch && oracle.gatekeepers() == gatekeepers => Ok(()),
            Some(_) if epoch <= self.epoch => Err(StampError::Epoch(epoch)),
            _ => {
                *self = Stamps { epoch, oracle: Some(Oracle::new(gatekeepers)) };
                Ok(())
            }
        }
    }

    pub(super) fn query(&self, at: usize, (this, that): &(Stamp, Stamp)) -> Result<EventOrder, StampError> {
        self.fits(at, this)?;
        self.fits(at, that)?;
        let known = match this.compare(that) {
            None if this.epoch() != self.epoch => return Err(StampError::Epoch(this.epoch())),
            None => {
                let oracle = self.oracle.as_ref().ok_or(StampError::Epoch(this.epoch()))?;
                oracle.known(this, that).or_else(|| {
                    (oracle.is_forgotten(this) || oracle.is_forgotten(that)).then_some(Ordering::Equal)
                })
            }
            known => known,
        };
        match known {
            Some(Ordering::Less) => Ok(EventOrder::Before),
            Some(Ordering::Greater) => Ok(EventOrder::After),
            Some(Ordering::Equal) if this == that => Err(StampError::Shape(at)),
            Some(Ordering::Equal) => Err(StampError::Forgotten(at)),
            None => Ok(EventOrder::Concurrent),
        }
    }

    pub(super) fn assign(&mut self, batch: &[StampConstraint]) -> Result<Vec<Assigned>, StampError> {
        for (at, one) in batch.iter().enumerate() {
            self.query(at, &(one.this.clone(), one.that.clone()))?;
        }
        // Pairs of two epochs are in order by these; only those of the current one may need the oracle.
        let (mut answers, mut inside) = (vec![None; batch.len()], Vec::new());
        for (at, one) in batch.iter().enumerate() {
            match one.this.compare(&one.that) {
                Some(known) => answers[at] = Some(settled(at, one, known)?),
                None => inside.push(at),
            }
        }
        if let Some(oracle) = self.oracle.as_mut().filter(|_| !inside.is_empty()) {
            if oracle.len() + 2 * inside.len() > ORACLE_EVENTS_MAX {
                return Err(StampError::Full);
            }
            let wanted: Vec<Wanted> = inside.iter().map(|at| wanted(&batch[*at])).collect();
            let settled = oracle.assign(&wanted).map_err(|at| StampError::Contradiction(inside[at]))?;
            for (at, (first, decided)) in inside.into_iter().zip(settled) {
                let order = if first == First::This { Direction::Before } else { Direction::After };
                answers[at] = Some(Assigned { order, decided });
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    pub(super) fn forget(&mut self, epoch: u64, frontier: &[u64]) -> Result<(), StampError> {
        match &mut self.oracle {
            Some(oracle) if epoch == self.epoch => {
                if frontier.len() != oracle.gatekeepers() {
                    return Err(StampError::Shape(0));
                }
                oracle.forget(frontier);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Stamps of the current epoch have its shape; of a later one nothing is known.
    fn fits(&self, at: usize, stamp: &Stamp) -> Result<(), StampError> {
        match &self.oracle {
            Some(oracle) if stamp.epoch() == self.epoch && stamp.vector().len() != oracle.gatekeepers() => {
                Err(StampError::Shape(at))
            }
            Some(_) if stamp.epoch() <= self.epoch => Ok(()),
            _ => Err(StampError::Epoch(stamp.epoch())),
        }
    }
}

fn wanted(one: &StampConstraint) -> Wanted<'_> {
    let first = if one.direction == Direction::Before { First::This } else { First::That };
    Wanted { this: &one.this, that: &one.that, first, must: one.strength == Strength::Must }
}

/// The order of a pair by vectors or epochs.
fn settled(at: usize, one: &StampConstraint, known: Ordering) -> Result<Assigned, StampError> {
    let order = if known == Ordering::Less { Direction::Before } else { Direction::After };
    if one.strength == Strength::Must && order != one.direction {
        return Err(StampError::Contradiction(at));
    }
    Ok(Assigned { order, decided: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_has_so_many_gatekeepers_and_only_later_ones_replace_it() {
        let most = GATEKEEPERS_MAX as u32;
        for (gatekeepers, is_fit) in
            [(0, false), (1, true), (most, true), (most + 1, false), (most + 2, false)]
        {
            assert_eq!(Stamps::default().begin(1, gatekeepers).is_ok(), is_fit, "{gatekeepers}");
        }
        let mut stamps = Stamps::default();
        for (epoch, gatekeepers, outcome) in [
            (3, 2, Ok(())),
            (3, 2, Ok(())),
            (3, 1, Err(StampError::Epoch(3))),
            (2, 2, Err(StampError::Epoch(2))),
            (4, 1, Ok(())),
        ] {
            assert_eq!(stamps.begin(epoch, gatekeepers), outcome, "{epoch} of {gatekeepers}");
        }
    }
}
