//! Clients: the same requests to the same objects, once through Cypher and once through transactions directly.
//!
//! ```text
//!   list k      (:List {id: k, items: [..]})                      read and written whole
//!   register k  (:Register {id: k, value: v})                     written without reading
//!   set k       k % 4 = 0   (:Set {id: k})-[:HOLDS]->(:Element {value: v})     the neighbours of a hub
//!               k % 4 = 1   (:Member {of: k, value: v})                        an index, equal
//!               k % 4 = 2   (:Ranged {at: k * SPREAD + v, value: v})           an index, between
//!               k % 4 = 3   (:Loose {of: k, value: v})                         a scan by label
//! ```
//!
//! So reads of vertices, adjacency, index values, index ranges and labels all take part, and each can miss a phantom.
//! A client that uses `transact` must record its own reads: the reads here are the least that the rules of the read set require.

use crate::history::{ObjectId, Operation};
use std::fmt;

mod cypher;
mod direct;
mod remote;

pub(crate) use cypher::failure;
pub use cypher::{CypherClient, preparation, statement, told};
pub use direct::{DirectClient, Forgets, Layout};
pub use remote::{Remote, RemoteClient, serve};

/// Values of one ranged set lie so far from those of the next; also the bound on values of a run.
pub const SPREAD: i64 = 1 << 32;

/// A request to a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Append a value to a list.
    Append(ObjectId, i64),
    /// Read a list.
    ReadList(ObjectId),
    /// Add a value to a set.
    Add(ObjectId, i64),
    /// Read a set.
    ReadSet(ObjectId),
    /// Write a register.
    Write(ObjectId, i64),
    /// Read a register.
    Read(ObjectId),
}

/// Why a request or a commit was not answered with success.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Nothing happened; the transaction is to be given up.
    Refused(String),
    /// The outcome is not known.
    Unknown(String),
    /// An answer that no client should ever get.
    Broken(String),
}

/// How the elements of a set are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SetKind {
    Hub,
    Equal,
    Range,
    Scan,
}

impl SetKind {
    pub(crate) fn of(set: ObjectId) -> SetKind {
        [SetKind::Hub, SetKind::Equal, SetKind::Range, SetKind::Scan][set as usize % 4]
    }
}

/// One client with at most one transaction.
pub trait Client {
    /// Begins a transaction; one that only reads if `reading`.
    fn begin(&mut self, reading: bool) -> Result<(), Failure>;
    /// Runs the request inside the transaction.
    fn run(&mut self, request: Request) -> Result<Operation, Failure>;
    /// Commits.
    fn commit(&mut self) -> Result<(), Failure>;
    /// Gives the transaction up, if one is open.
    fn rollback(&mut self);
    /// Runs the request as a transaction of its own.
    fn alone(&mut self, request: Request) -> Result<Operation, Failure> {
        self.begin(false)?;
        let answer = self.run(request);
        match answer {
            Ok(operation) => self.commit().map(|()| operation),
            Err(failure) => {
                self.rollback();
                Err(failure)
            }
        }
    }
}

impl Request {
    /// Does it write?
    pub fn writes(self) -> bool {
        matches!(self, Request::Append(..) | Request::Add(..) | Request::Write(..))
    }
    /// The same with another value, if it writes.
    #[must_use]
    pub fn with_value(self, value: i64) -> Request {
        match self {
            Request::Append(id, _) => Request::Append(id, value),
            Request::Add(id, _) => Request::Add(id, value),
            Request::Write(id, _) => Request::Write(id, value),
            read => read,
        }
    }
    /// The operation of a write in a history; nothing for reads.
    pub fn written(self) -> Option<Operation> {
        match self {
            Request::Append(id, value) => Some(Operation::Append(id, value)),
            Request::Add(id, value) => Some(Operation::Add(id, value)),
            Request::Write(id, value) => Some(Operation::Write(id, value)),
            Request::ReadList(_) | Request::ReadSet(_) | Request::Read(_) => None,
        }
    }
    /// The operation of a read that found these values.
    fn answered(self, seen: Vec<i64>) -> Operation {
        match self {
            Request::ReadList(id) => Operation::ReadList(id, seen),
            Request::ReadSet(id) => Operation::ReadSet(id, seen),
            Request::Read(id) => Operation::Read(id, seen.first().copied()),
            _ => self.written().expect("what does not read writes"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(what) => write!(f, "refused: {what}"),
            Failure::Unknown(what) => write!(f, "outcome unknown: {what}"),
            Failure::Broken(what) => write!(f, "broken: {what}"),
        }
    }
}
