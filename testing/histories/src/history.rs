//! Recorded transactions: their reads and writes, when each began and when it answered.
//!
//! Idea (after Elle, Kingsbury and Alvaro 2020): let transactions write values that tell where they came from. Lists only grow and every
//! appended value is new, so a list that was read proves the order of all writes before it; sets only grow, so a value that is
//! missing proves that its writer comes later; registers take values that are never written twice.
//! Invariant: times are ticks of one logical clock, taken before a transaction begins and after it has answered, so
//! `a.returned < b.invoked` means that a really ended before b began.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Number of a list, set or register.
pub type ObjectId = u32;

/// The object of an operation. The three kinds have separate numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Object {
    /// A list that only grows at its end.
    List(ObjectId),
    /// A set that only grows.
    Set(ObjectId),
    /// A register that never takes a value twice; empty at first.
    Register(ObjectId),
}

/// One step of a transaction, with its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Puts a value behind all others.
    Append(ObjectId, i64),
    /// Reads a whole list.
    ReadList(ObjectId, Vec<i64>),
    /// Puts a value into a set.
    Add(ObjectId, i64),
    /// Reads a whole set, in any order.
    ReadSet(ObjectId, Vec<i64>),
    /// Gives a register a value.
    Write(ObjectId, i64),
    /// Reads a register; nothing if it was never written.
    Read(ObjectId, Option<i64>),
}

/// How a transaction ended, as its client knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was acknowledged.
    Committed,
    /// It was refused or rolled back: nothing of it may ever be seen.
    Aborted,
    /// Nobody knows: the answer was lost, or said so. All of it may be there, or nothing.
    Unknown,
}

/// One transaction as its client saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observed {
    /// The client; one transaction after another.
    pub process: usize,
    /// Tick before it began.
    pub invoked: u64,
    /// Tick after it had answered.
    pub returned: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Its operations, in order.
    pub operations: Vec<Operation>,
}

/// All transactions of one run, in the order in which they began.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// The transactions.
    pub transactions: Vec<Observed>,
}

/// Records a history from many threads. Its clock ticks once for each question.
#[derive(Debug, Default)]
pub struct Recorder {
    clock: AtomicU64,
    transactions: Mutex<Vec<Observed>>,
}

impl Operation {
    /// The object of the operation.
    pub fn object(&self) -> Object {
        match self {
            Operation::Append(id, _) | Operation::ReadList(id, _) => Object::List(*id),
            Operation::Add(id, _) | Operation::ReadSet(id, _) => Object::Set(*id),
            Operation::Write(id, _) | Operation::Read(id, _) => Object::Register(*id),
        }
    }
    /// The value it writes, if it writes.
    pub fn written(&self) -> Option<i64> {
        match self {
            Operation::Append(_, value) | Operation::Add(_, value) | Operation::Write(_, value) => {
                Some(*value)
            }
            Operation::ReadList(..) | Operation::ReadSet(..) | Operation::Read(..) => None,
        }
    }
    /// The values it saw.
    pub fn seen(&self) -> &[i64] {
        match self {
            Operation::ReadList(_, seen) | Operation::ReadSet(_, seen) => seen,
            Operation::Read(_, seen) => seen.as_slice(),
            Operation::Append(..) | Operation::Add(..) | Operation::Write(..) => &[],
        }
    }
}

impl Recorder {
    /// A recorder whose clock stands at zero.
    pub fn new() -> Recorder {
        Recorder::default()
    }
    /// The next tick.
    pub fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
    /// Remembers a transaction that was invoked at a tick, and has answered now.
    pub fn record(&self, process: usize, invoked: u64, outcome: Outcome, operations: Vec<Operation>) {
        let returned = self.tick();
        self.transactions.lock().push(Observed { process, invoked, returned, outcome, operations });
    }
    /// How many transactions were recorded so far.
    pub fn history_len(&self) -> usize {
        self.transactions.lock().len()
    }
    /// How many of them were acknowledged.
    pub fn committed(&self) -> usize {
        self.transactions.lock().iter().filter(|one| one.outcome == Outcome::Committed).count()
    }
    /// How the last transaction of a process ended, among those recorded after the first `since`.
    pub fn last_of(&self, process: usize, since: usize) -> Option<Outcome> {
        let transactions = self.transactions.lock();
        transactions[since..].iter().rfind(|one| one.process == process).map(|one| one.outcome)
    }
    /// Everything recorded so far, by the time of asking.
    pub fn history(&self) -> History {
        let mut transactions = self.transactions.lock().clone();
        transactions.sort_by_key(|transaction| transaction.invoked);
        History { transactions }
    }
}

impl History {
    /// How many transactions were acknowledged.
    pub fn committed(&self) -> usize {
        self.transactions.iter().filter(|one| one.outcome == Outcome::Committed).count()
    }
    /// How many operations there are in all.
    pub fn operations(&self) -> usize {
        self.transactions.iter().map(|one| one.operations.len()).sum()
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::List(id) => write!(f, "list {id}"),
            Object::Set(id) => write!(f, "set {id}"),
            Object::Register(id) => write!(f, "register {id}"),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = self.object();
        match self {
            Operation::Append(_, value) => write!(f, "append {value} to {object}"),
            Operation::Add(_, value) => write!(f, "add {value} to {object}"),
            Operation::Write(_, value) => write!(f, "write {value} to {object}"),
            Operation::Read(_, None) => write!(f, "read {object}: nothing"),
            Operation::Read(_, Some(value)) => write!(f, "read {object}: {value}"),
            Operation::ReadList(_, seen) | Operation::ReadSet(_, seen) => {
                write!(f, "read {object}: {seen:?}")
            }
        }
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::Committed => "committed",
            Outcome::Aborted => "aborted",
            Outcome::Unknown => "outcome unknown",
        };
        write!(f, "process {}, {}..{}, {outcome}: ", self.process, self.invoked, self.returned)?;
        for (at, operation) in self.operations.iter().enumerate() {
            write!(f, "{}{operation}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, transaction) in self.transactions.iter().enumerate() {
            writeln!(f, "T{number} {transaction}")?;
        }
        Ok(())
    }
}
