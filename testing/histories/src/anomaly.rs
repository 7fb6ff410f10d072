//! Anomalies of a history: Adya's phenomena (1999), and those that the objects themselves prove.

use crate::cycle::Edge;
use crate::history::{History, Object};
use std::fmt;

/// Number of a transaction in its history.
pub type Number = usize;

/// One thing that no strictly serializable database would have answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Anomaly {
    /// A value was read that nobody ever wrote.
    Garbage {
        /// Who read it.
        reader: Number,
        /// Where.
        object: Object,
        /// The value.
        value: i64,
    },
    /// G1a: a value was read whose writer was refused or rolled back.
    AbortedRead {
        /// Who read it.
        reader: Number,
        /// Who wrote it.
        writer: Number,
        /// Where.
        object: Object,
        /// The value.
        value: i64,
    },
    /// G1b: a read of a value that its writer had overwritten when it committed, or of half of a transaction's writes.
    IntermediateRead {
        /// Who read it.
        reader: Number,
        /// Who wrote it.
        writer: Number,
        /// Where.
        object: Object,
        /// The value.
        value: i64,
    },
    /// A value that was written once was read twice in one list or set.
    Duplicate {
        /// Who read it.
        reader: Number,
        /// Where.
        object: Object,
        /// The value.
        value: i64,
    },
    /// Two reads of one list disagree about an order that can only grow.
    Incompatible {
        /// Who read the list one way.
        one: Number,
        /// Who read it the other.
        other: Number,
        /// Where.
        object: Object,
    },
    /// An acknowledged value is in no read that began after its acknowledgement.
    Lost {
        /// Who wrote it.
        writer: Number,
        /// Who first should have seen it.
        reader: Number,
        /// Where.
        object: Object,
        /// The value.
        value: i64,
    },
    /// A transaction did not see its own write, or read one thing twice and found it changed.
    Internal {
        /// The transaction.
        transaction: Number,
        /// Where.
        object: Object,
    },
    /// Transactions that would each have to come before the other.
    Cycle {
        /// The class of such a cycle.
        class: Class,
        /// Does it need the order of real time to close?
        real_time: bool,
        /// Its edges, each beginning where the one before it ends.
        edges: Vec<Edge>,
    },
}

/// Kinds of cycles, by the edges they need.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Writes alone: G0.
    DirtyWrite,
    /// Writes and reads of what was written: G1c.
    CircularFlow,
    /// One read of what was overwritten: G-single.
    ReadSkew,
    /// Two transactions read one object and both overwrote it.
    LostUpdate,
    /// Two or more reads of what was overwritten: G2.
    WriteSkew,
}

impl Anomaly {
    /// The short name under which it is known.
    pub fn name(&self) -> &'static str {
        match self {
            Anomaly::Garbage { .. } => "garbage read",
            Anomaly::AbortedRead { .. } => "G1a (aborted read)",
            Anomaly::IntermediateRead { .. } => "G1b (intermediate read)",
            Anomaly::Duplicate { .. } => "duplicate write",
            Anomaly::Incompatible { .. } => "incompatible order",
            Anomaly::Lost { .. } => "lost write",
            Anomaly::Internal { .. } => "internal inconsistency",
            Anomaly::Cycle { class, .. } => class.name(),
        }
    }
    /// The transactions concerned, each once.
    pub fn transactions(&self) -> Vec<Number> {
        let mut numbers = match self {
            Anomaly::Garbage { reader, .. } | Anomaly::Duplicate { reader, .. } => vec![*reader],
            Anomaly::AbortedRead { reader, writer, .. }
            | Anomaly::IntermediateRead { reader, writer, .. }
            | Anomaly::Lost { reader, writer, .. } => vec![*writer, *reader],
            Anomaly::Incompatible { one, other, .. } => vec![*one, *other],
            Anomaly::Internal { transaction, .. } => vec![*transaction],
            Anomaly::Cycle { edges, .. } => edges.iter().map(|edge| edge.from).collect(),
        };
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
    /// Describes the anomaly: the facts, and the transactions concerned.
    pub fn explain(&self, history: &History) -> String {
        let mut text = format!("{}: {self}\n", self.name());
        for number in self.transactions() {
            text.push_str(&format!("    T{number} {}\n", history.transactions[number]));
        }
        text
    }
}

impl Class {
    /// The name it has in the literature.
    pub fn name(self) -> &'static str {
        match self {
            Class::DirtyWrite => "G0 (dirty write)",
            Class::CircularFlow => "G1c (circular information flow)",
            Class::ReadSkew => "G-single (read skew)",
            Class::LostUpdate => "lost update",
            Class::WriteSkew => "G2 (write skew)",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Anomaly::Garbage { reader, object, value } => {
                write!(f, "T{reader} read {value} in {object}, which nobody wrote")
            }
            Anomaly::AbortedRead { reader, writer, object, value } => {
                write!(f, "T{reader} read {value} in {object}, which T{writer} wrote and took back")
            }
            Anomaly::IntermediateRead { reader, writer, object, value } => {
                write!(f, "T{reader} read {value} in {object} without what else T{writer} wrote there")
            }
            Anomaly::Duplicate { reader, object, value } => {
                write!(f, "T{reader} read {value} twice in {object}; it was written once")
            }
            Anomaly::Incompatible { one, other, object } => {
                write!(f, "T{one} and T{other} read {object} in orders that exclude each other")
            }
            Anomaly::Lost { writer, reader, object, value } => {
                write!(f, "T{writer} was acknowledged {value} in {object}; ")?;
                write!(f, "T{reader} began later and did not find it, nor did anyone after")
            }
            Anomaly::Internal { transaction, object } => {
                write!(f, "T{transaction} read {object} otherwise than it had itself left or read it")
            }
            Anomaly::Cycle { edges, real_time, .. } => {
                for (at, edge) in edges.iter().enumerate() {
                    write!(f, "{}{edge}", if at == 0 { "" } else { "; " })?;
                }
                let end = edges.last().map_or(0, |edge| edge.to);
                write!(f, ": so T{end} came before itself")?;
                if *real_time { write!(f, ", by real time") } else { Ok(()) }
            }
        }
    }
}
