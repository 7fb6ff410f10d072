//! Assigning orders in batches: all `must` first, then `prefer` in their order; all or nothing (Weaver, §2.4.1.2).
//!
//! Idea: each constraint is a question; where the pair is concurrent, the wanted edge is added. A `must` that meets the opposite order
//! takes back the edges that the batch added, the last one first.
//! Invariant: a refused batch leaves no trace in any answer.

use super::event::{EventId, EventOrder, KronosError};
use super::graph::EventGraph;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which of the two events of a constraint shall come first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Direction {
    /// The first happens before the second.
    Before,
    /// The second happens before the first.
    After,
}

/// How much a constraint insists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Strength {
    /// The batch is refused if the order cannot be had.
    Must,
    /// The opposite order is accepted if it already holds.
    Prefer,
}

/// One pair of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Constraint {
    /// The first event.
    pub this: EventId,
    /// The requested order.
    pub direction: Direction,
    /// The second event.
    pub that: EventId,
    /// Whether the order is a condition.
    pub strength: Strength,
}

/// The order of a pair after its batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Assigned {
    /// The order that holds, for ever.
    pub order: Direction,
    /// Did this batch decide it?
    pub decided: bool,
}

/// Why a batch was refused. Nothing of it was assigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Refused {
    /// The constraint at this position is a `must`, and the opposite order holds, by earlier orders or by the batch itself.
    Contradiction {
        /// Position in the batch.
        at: usize,
        /// The pair.
        constraint: Constraint,
    },
    /// The constraint at this position cannot be followed.
    Invalid {
        /// Position in the batch.
        at: usize,
        /// The error.
        error: KronosError,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Contradiction { at, constraint } => {
                let (first, second) = match constraint.direction {
                    Direction::Before => (constraint.that, constraint.this),
                    Direction::After => (constraint.this, constraint.that),
                };
                write!(
                    f,
                    "constraint {at} contradicts an earlier order: event {first} happens before event {second}"
                )
            }
            Refused::Invalid { at, error } => write!(f, "constraint {at}: {error}"),
        }
    }
}

impl std::error::Error for Refused {}

impl EventGraph {
    /// Orders the pairs of a batch, all or none. Answers the order that then holds of each, in the order of the batch.
    pub fn assign_order(&mut self, batch: &[Constraint]) -> Result<Vec<Assigned>, Refused> {
        let invalid = |at, error| Refused::Invalid { at, error };
        let mut slots = Vec::with_capacity(batch.len());
        for (at, constraint) in batch.iter().enumerate() {
            slots.push(self.pair(constraint.this, constraint.that).map_err(|error| invalid(at, error))?);
        }
        let mut search = std::mem::take(&mut self.search);
        let mut answers = vec![Assigned { order: Direction::Before, decided: false }; batch.len()];
        let mut added = Vec::new();
        let of = |strength| batch.iter().enumerate().filter(move |(_, one)| one.strength == strength);
        let mut refused = None;
        for (at, constraint) in of(Strength::Must).chain(of(Strength::Prefer)) {
            let (this, that) = slots[at];
            let order = match self.order_of(&mut search, this, that) {
                EventOrder::Before => Direction::Before,
                EventOrder::After => Direction::After,
                EventOrder::Concurrent => {
                    let (from, to) = match constraint.direction {
                        Direction::Before => (this, that),
                        Direction::After => (that, this),
                    };
                    if let Err(error) = self.connect(&mut search, from, to) {
                        refused = Some(invalid(at, error));
                        break;
                    }
                    added.push((from, to));
                    answers[at].decided = true;
                    constraint.direction
                }
            };
            if constraint.strength == Strength::Must && order != constraint.direction {
                refused = Some(Refused::Contradiction { at, constraint: *constraint });
                break;
            }
            answers[at].order = order;
        }
        self.search = search;
        match refused {
            None => Ok(answers),
            Some(refused) => {
                added.into_iter().rev().for_each(|(from, to)| self.disconnect(from, to));
                Err(refused)
            }
        }
    }
}
