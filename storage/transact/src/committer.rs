//! The committer: accepts commits one after the other, with the snapshot that the next is built upon and the memory of conflicts.

use crate::TransactError;
use crate::conflicts::Conflicts;
use crate::history::Point;
use crate::reads::{Inner as Reads, Key};
use order::{Bank, Gatekeepers, Stamp};
use store::{Change, NameCounts, Snapshot};

/// Keys remembered for validation before the oldest reader is looked up and keys that it cannot conflict with are forgotten.
pub(crate) const FORGET_AT_KEYS: usize = 1 << 16;

/// The state that a transaction began with.
#[derive(Clone, Copy)]
pub(crate) struct Basis {
    pub commit_version: u64,
    pub labels: usize,
    pub edge_types: usize,
    pub keys: usize,
}

impl Basis {
    pub fn of(snapshot: &Snapshot) -> Basis {
        let names = snapshot.catalog().names();
        let (labels, edge_types) = (names.labels().len(), names.edge_types().len());
        Basis { commit_version: snapshot.commit_version(), labels, edge_types, keys: names.keys().len() }
    }
    /// A failed look-up of a label or type records no key. So a transaction is refused if it began before the creation of a name that was looked up
    /// in vain by any transaction; a name that none missed cannot have been read as missing. A transaction that listed all names is refused when
    /// there is one more of any kind, property keys included.
    fn knows_names_of(&self, current: &Snapshot, reads: &Reads) -> bool {
        let now = Basis::of(current);
        let knows_types = self.labels == now.labels && self.edge_types == now.edge_types;
        if self.commit_version == now.commit_version || (knows_types && self.keys == now.keys) {
            return true;
        }
        let missed = !knows_types && current.catalog().names().missed_since(self.labels, self.edge_types);
        !missed && !reads.everything && !reads.keys.contains(&Key::catalogue())
    }
}

/// The input of a commit.
pub(crate) struct Input {
    pub changes: Vec<Change>,
    pub reads: Reads,
    pub base: Basis,
    pub stamp: Stamp,
    pub reservation: Option<u64>,
    /// Its commit version and its time, where it was made elsewhere; the next and now, if not said.
    pub made: Option<(u64, u64)>,
}

/// Why a commit does not happen now.
pub(crate) enum Refusal {
    /// A reservation of another transaction comes first.
    DelayedCommit,
    Failed(TransactError),
}

impl<E: Into<TransactError>> From<E> for Refusal {
    fn from(error: E) -> Refusal {
        Refusal::Failed(error.into())
    }
}

/// Accepts commits, one after the other.
pub(crate) struct Committer {
    pub bank: Bank,
    /// The graph with all accepted commits: the base of the next commit.
    pub tip: Snapshot,
    pub conflicts: Conflicts,
    pub last_time_micros: u64,
    /// Names that accepted records define.
    pub named: Option<NameCounts>,
    /// Number of keys at which those that no open transaction can conflict with are forgotten next.
    pub forget_at_keys: usize,
    /// A commit is being accepted. Found set under the lock, it means that a panic ended that commit half done.
    pub is_amid: bool,
}

impl Committer {
    /// Goes on from `tip`, in a log that has taken commit versions up to `log_version`.
    pub fn new(
        gatekeepers: &Gatekeepers,
        tip: Snapshot,
        log_version: u64,
        last_time_micros: u64,
    ) -> Committer {
        let commit_version = tip.commit_version();
        Committer {
            bank: Bank::new(gatekeepers, commit_version.max(log_version)),
            tip,
            conflicts: Conflicts::starting_at(commit_version),
            last_time_micros,
            named: None,
            forget_at_keys: FORGET_AT_KEYS,
            is_amid: false,
        }
    }
    /// Continues from this snapshot, above the versions in the log; transactions that began before it are refused as retryable.
    pub fn jump_to(&mut self, tip: Snapshot, log_version: u64) {
        self.bank.next_epoch(tip.commit_version().max(log_version));
        self.conflicts = Conflicts::starting_at(tip.commit_version());
        (self.named, self.is_amid) = (None, false);
        self.tip = tip;
    }
    /// Did a panic end a commit half done? Then the pending commits must be published before the next is built on anything.
    pub fn is_torn(&self) -> bool {
        self.is_amid
    }
    /// The commit version and the time of the next event that is no transaction.
    pub fn next_point(&self, log_version: u64, now_micros: u64) -> Point {
        let commit_version = self.tip.commit_version().max(log_version) + 1;
        Point { commit_version, time_micros: now_micros.max(self.last_time_micros) }
    }
    /// Is the read set still valid?
    pub fn judge(&mut self, reads: &Reads, base: Basis) -> Result<(), TransactError> {
        if !base.knows_names_of(&self.tip, reads) {
            let what =
                "a label, relationship type or property key that it could not know came into being meanwhile";
            return Err(TransactError::Conflict { what });
        }
        self.conflicts.validate(reads, base.commit_version).map_err(|what| TransactError::Conflict { what })
    }
    /// No commit from now on is earlier than this.
    pub fn not_before(&mut self, micros: u64) {
        self.last_time_micros = self.last_time_micros.max(micros);
    }
}
