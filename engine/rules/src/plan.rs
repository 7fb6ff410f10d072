//! A rule as steps: from one fact (or from nothing) to all derivations that use it.

use crate::words::Word;
use datalog::{Operator, Order, RelationNo};

/// A word that is known when its step is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    Slot(usize),
    Word(Word),
}

#[derive(Clone, Debug)]
pub(crate) enum Formula {
    Operand(Operand),
    Binary(Operator, Box<Formula>, Box<Formula>),
    Negate(Box<Formula>),
}

/// How a step sees the change that is being carried through; see [`Masks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Of a relation of earlier components, at a position before the start's.
    LowerBefore,
    /// At a position after it.
    LowerAfter,
    /// Of the component itself, at a position before the start's: there, the starting fact itself does not count.
    OwnBefore,
    OwnAfter,
}

/// Which facts each role sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Masks {
    pub lower_before: u32,
    pub lower_after: u32,
    pub own: u32,
    /// A fact in none of these states counts as absent.
    pub absent_before: u32,
    pub absent_after: u32,
}

impl Masks {
    #[inline]
    pub fn holds(&self, role: Role) -> u32 {
        match role {
            Role::LowerBefore => self.lower_before,
            Role::LowerAfter => self.lower_after,
            Role::OwnBefore | Role::OwnAfter => self.own,
        }
    }
    #[inline]
    pub fn absent(&self, role: Role) -> u32 {
        if role == Role::LowerBefore { self.absent_before } else { self.absent_after }
    }
}

/// The conditions on a fact, and the columns taken of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// Columns that become slots.
    pub take: Vec<(usize, usize)>,
    /// Columns that must equal something: looked at after all are taken.
    pub same: Vec<(usize, Operand)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Facts with a key.
    Seek {
        relation: RelationNo,
        index: usize,
        key: Vec<Operand>,
        shape: Shape,
        role: Role,
    },
    /// All facts.
    Scan {
        relation: RelationNo,
        shape: Shape,
        role: Role,
    },
    /// One fact that is known by all its columns.
    Check {
        relation: RelationNo,
        words: Vec<Operand>,
        role: Role,
    },
    /// There must be no such fact.
    Absent {
        relation: RelationNo,
        words: Vec<Operand>,
        role: Role,
    },
    Compare(Order, Formula, Formula),
    Let(usize, Formula),
    /// The slot holds just this value.
    Is(usize, Formula),
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub head: RelationNo,
    pub terms: Vec<Operand>,
    /// The relation whose facts it starts from, and their conditions.
    pub start: Option<(RelationNo, Shape)>,
    pub steps: Vec<Step>,
}
