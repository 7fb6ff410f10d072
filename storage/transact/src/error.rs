//! Errors of transactions. Codes follow Neo4j's, so that drivers know which errors to retry.

use crate::history::{Moment, Point};
use crate::limits::{CHANGES_MAX, RECORD_BYTES_MAX};
use crate::party::Forbidden;
use crate::remote::RemoteError;
use durable::DurableError;
use std::fmt;
use store::StoreError;

/// The code of [`TransactError::Unanswered`].
pub const OUTCOME_UNKNOWN: &str = "Tanglewood.DatabaseError.Transaction.OutcomeUnknown";
/// The advice for features that a cluster lacks, where there is no better one.
pub const SEE_GUIDE: &str = "the guide's page about clusters says what works";

/// Why an operation of a transaction failed.
#[derive(Clone, Debug)]
pub enum TransactError {
    /// Another transaction wrote what this one read. Trying again is safe and may succeed.
    Conflict {
        /// The conflicting write.
        what: &'static str,
    },
    /// A constraint would be broken.
    Constraint {
        /// Name of the constraint or index; empty where it is hidden from the reader.
        name: String,
        /// The data that would break it.
        what: String,
    },
    /// The vertex or edge does not exist (any more).
    NotFound {
        /// `node` or `relationship`.
        what: &'static str,
    },
    /// A vertex cannot be deleted while edges lead to or from it.
    StillConnected {
        /// The vertex.
        vertex: model::VertexId,
    },
    /// The transaction only reads.
    ReadOnly,
    /// The owner of the transaction may not do this.
    Forbidden(String),
    /// An index or constraint exists already.
    SchemaExists {
        /// In which way.
        clash: SchemaClash,
        /// The reason.
        what: String,
    },
    /// An index or constraint does not exist, or is needed.
    Schema {
        /// The reason.
        what: String,
    },
    /// The transaction grew beyond [`crate::CHANGES_MAX`] changes, or beyond what one record of the log holds.
    TooLarge,
    /// A limit of the store was reached, or its files are damaged.
    Store(StoreError),
    /// The disk failed; if this was a commit, it did not happen.
    Durable(DurableError),
    /// It was written, and the disk failed before it confirmed: whether it happened shows when the database is opened again.
    Unknown {
        /// The error of the disk.
        cause: DurableError,
    },
    /// No part of the cluster answered in time. Nothing happened.
    Unavailable {
        /// The reason.
        what: String,
    },
    /// A commit was proposed to the cluster, and no answer came: it may have happened, or happen yet.
    Unanswered,
    /// It is not possible in a cluster yet.
    NotInCluster {
        /// The missing feature.
        what: &'static str,
        /// The advice.
        instead: &'static str,
    },
    /// A commit of another database's sequence is not the next one here.
    OutOfSequence {
        /// The commit version that comes next.
        next: u64,
        /// The version of the commit.
        commit_version: u64,
    },
    /// The graph of that moment is not kept, or no longer.
    NotKept {
        /// The requested moment.
        asked: Moment,
        /// The oldest that is kept; none where no history is kept at all.
        oldest: Option<Point>,
    },
    /// The moment lies in the future.
    NotReached {
        /// The requested moment.
        asked: Moment,
        /// The last commit.
        newest: Point,
    },
    /// A database in memory keeps no history.
    NoHistoryInMemory,
}

/// In which way a new index or constraint meets one that exists; the names are those of Neo4j's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaClash {
    /// The same one, of the same name.
    Equivalent,
    /// An index on the same properties, of another name.
    Index,
    /// A constraint on the same properties: the same rule of another name, or one that brings the index.
    Constraint,
    /// An index of the same name.
    IndexName,
    /// A constraint of the same name.
    ConstraintName,
}

impl SchemaClash {
    fn code(self) -> &'static str {
        match self {
            SchemaClash::Equivalent => "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
            SchemaClash::Index => "Neo.ClientError.Schema.IndexAlreadyExists",
            SchemaClash::Constraint => "Neo.ClientError.Schema.ConstraintAlreadyExists",
            SchemaClash::IndexName => "Neo.ClientError.Schema.IndexWithNameAlreadyExists",
            SchemaClash::ConstraintName => "Neo.ClientError.Schema.ConstraintWithNameAlreadyExists",
        }
    }
}

impl From<Forbidden> for TransactError {
    fn from(Forbidden(act): Forbidden) -> TransactError {
        TransactError::Forbidden(act)
    }
}

impl TransactError {
    /// A stable code in the manner of Neo4j's.
    pub fn code(&self) -> &'static str {
        match self {
            TransactError::Conflict { .. } => "Neo.TransientError.Transaction.Outdated",
            TransactError::Constraint { .. } => "Neo.ClientError.Schema.ConstraintValidationFailed",
            TransactError::NotFound { .. } => "Neo.ClientError.Statement.EntityNotFound",
            TransactError::StillConnected { .. } => "Neo.ClientError.Schema.ConstraintValidationFailed",
            TransactError::ReadOnly => "Neo.ClientError.Statement.AccessMode",
            TransactError::Forbidden(_) => "Neo.ClientError.Security.Forbidden",
            TransactError::SchemaExists { clash, .. } => clash.code(),
            TransactError::Schema { .. } => "Neo.ClientError.Schema.SchemaRuleException",
            TransactError::TooLarge => "Neo.ClientError.Transaction.TransactionTooLarge",
            TransactError::Store(StoreError::EntryRefused(_) | StoreError::NameTooLong(_)) => {
                "Neo.ClientError.Statement.ArgumentError"
            }
            TransactError::Store(StoreError::NameRefused(_)) => "Neo.ClientError.Schema.TokenNameError",
            TransactError::Store(StoreError::Full(_)) => "Neo.ClientError.General.LimitExceeded",
            TransactError::Store(StoreError::Unavailable(_)) => {
                "Neo.TransientError.General.DatabaseUnavailable"
            }
            TransactError::Store(_) => "Neo.DatabaseError.General.StorageError",
            TransactError::Durable(DurableError::AlreadyOpen { .. }) => {
                "Tanglewood.ClientError.Database.AlreadyOpen"
            }
            TransactError::Durable(DurableError::NotADatabase { .. }) => {
                "Tanglewood.ClientError.Database.NotADatabase"
            }
            TransactError::Durable(DurableError::NoDatabase { .. }) => {
                "Tanglewood.ClientError.Database.NotFound"
            }
            TransactError::Durable(DurableError::IsBackup { .. }) => {
                "Tanglewood.ClientError.Database.IsBackup"
            }
            TransactError::Durable(DurableError::NewerFormat { .. }) => {
                "Tanglewood.ClientError.Database.NewerFormat"
            }
            TransactError::Durable(_) => "Neo.DatabaseError.Transaction.TransactionLogError",
            TransactError::Unknown { .. } => "Tanglewood.DatabaseError.Transaction.OutcomeUnknown",
            TransactError::Unavailable { .. } => "Neo.TransientError.General.DatabaseUnavailable",
            TransactError::Unanswered => OUTCOME_UNKNOWN,
            TransactError::NotInCluster { .. } => "Tanglewood.ClientError.Cluster.NotSupported",
            TransactError::OutOfSequence { .. } => "Tanglewood.DatabaseError.Cluster.OutOfSequence",
            TransactError::NotKept { .. } => "Tanglewood.ClientError.History.NotKept",
            TransactError::NotReached { .. } => "Tanglewood.ClientError.History.NotReached",
            TransactError::NoHistoryInMemory => "Tanglewood.ClientError.History.InMemory",
        }
    }
    /// Advice for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            TransactError::Conflict { .. } => Some("run the transaction again".into()),
            TransactError::StillConnected { .. } => {
                Some("delete its relationships first, or use DETACH DELETE".into())
            }
            TransactError::SchemaExists { clash: SchemaClash::Equivalent | SchemaClash::Index, .. } => {
                Some("IF NOT EXISTS takes what is there".into())
            }
            TransactError::ReadOnly => Some("begin the transaction for writing".into()),
            TransactError::Forbidden(_) => Some("SHOW CURRENT USER PRIVILEGES lists what is allowed".into()),
            TransactError::TooLarge => Some("split it into smaller transactions".into()),
            TransactError::Durable(error) => error.hint().map(str::to_string),
            TransactError::Store(
                error @ (StoreError::NameTooLong(_)
                | StoreError::NameRefused(_)
                | StoreError::Full(_)
                | StoreError::EntryRefused(_)
                | StoreError::Corrupt(_)
                | StoreError::Source(_)
                | StoreError::Unavailable(_)),
            ) => Some(error.hint().into()),
            TransactError::Unknown { .. } => {
                Some("open the database again and look whether it happened, before doing it again".into())
            }
            TransactError::Unavailable { .. } => {
                Some("try again; `tanglewood cluster status` tells who lives".into())
            }
            TransactError::Unanswered => Some("look whether it happened before doing it again".into()),
            TransactError::NotInCluster { instead, .. } => Some((*instead).into()),
            TransactError::OutOfSequence { .. } => Some(
                "its folder is of another cluster, or was written to: move it away, and it is made anew"
                    .into(),
            ),
            TransactError::NotKept { oldest: None, .. } => {
                Some("keep history from now on: `tanglewood history DB 7d`, or --history 7d".into())
            }
            TransactError::NotKept { .. } => Some("a longer history keeps more, from when it is set".into()),
            TransactError::NoHistoryInMemory => Some("open a folder".into()),
            _ => None,
        }
    }
    /// May the same transaction succeed if it is run again?
    pub fn is_retryable(&self) -> bool {
        matches!(self, TransactError::Conflict { .. } | TransactError::Store(StoreError::Unavailable(_)))
    }
}

impl fmt::Display for TransactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransactError::Conflict { what } => write!(f, "the transaction could not be serialized: {what}"),
            TransactError::Constraint { name, what } if name.is_empty() => {
                write!(f, "a constraint would be broken: {what}")
            }
            TransactError::Constraint { name, what } => {
                write!(f, "constraint `{name}` would be broken: {what}")
            }
            TransactError::NotFound { what } => write!(f, "the {what} does not exist"),
            TransactError::StillConnected { .. } => {
                write!(f, "cannot delete a node that still has relationships")
            }
            TransactError::Forbidden(act) => write!(f, "it is not allowed to {act}"),
            TransactError::ReadOnly => {
                write!(f, "the transaction was begun for reading, and the statement writes")
            }
            TransactError::Schema { what } | TransactError::SchemaExists { what, .. } => write!(f, "{what}"),
            TransactError::TooLarge => {
                let (changes, bytes) = (CHANGES_MAX, RECORD_BYTES_MAX);
                write!(f, "the transaction has more than {changes} changes or {bytes} bytes of them")
            }
            TransactError::Store(error) => write!(f, "{error}"),
            TransactError::Durable(error) => write!(f, "{error}"),
            TransactError::Unknown { cause } => {
                write!(f, "whether it happened is not known, since the disk failed: {cause}")
            }
            TransactError::Unavailable { what } => write!(f, "the cluster does not answer: {what}"),
            TransactError::Unanswered => {
                write!(f, "whether it happened is not known, since the cluster did not answer in time")
            }
            TransactError::NotInCluster { what, .. } => write!(f, "not possible in a cluster yet: {what}"),
            TransactError::OutOfSequence { next, commit_version } => {
                write!(f, "commit {next} comes next in this replica, not commit {commit_version}")
            }
            TransactError::NotKept { asked, oldest: Some(oldest) } => {
                write!(f, "the graph at {asked} is not kept; the oldest that is kept is that at {oldest}")
            }
            TransactError::NotKept { asked, oldest: None } => {
                write!(f, "the graph at {asked} is not kept: this database keeps no history")
            }
            TransactError::NotReached { asked, newest } => {
                write!(f, "{asked} lies in the future; the last commit is {newest}")
            }
            TransactError::NoHistoryInMemory => write!(f, "a database in memory keeps no history"),
        }
    }
}

impl std::error::Error for TransactError {}

impl From<StoreError> for TransactError {
    fn from(error: StoreError) -> TransactError {
        TransactError::Store(error)
    }
}

impl From<RemoteError> for TransactError {
    fn from(error: RemoteError) -> TransactError {
        match error {
            RemoteError::Conflict(what) => TransactError::Conflict { what },
            RemoteError::Unavailable(what) => TransactError::Unavailable { what },
            RemoteError::Unanswered => TransactError::Unanswered,
            RemoteError::TooLarge => TransactError::TooLarge,
            RemoteError::NotInCluster(what) => TransactError::NotInCluster { what, instead: SEE_GUIDE },
            RemoteError::Store(error) => TransactError::Store(error),
        }
    }
}

impl From<DurableError> for TransactError {
    fn from(error: DurableError) -> TransactError {
        match error {
            DurableError::Unconfirmed { .. } => TransactError::Unknown { cause: error },
            other => TransactError::Durable(other),
        }
    }
}

/// A store's refusal in the words of a transaction.
pub(crate) fn explain(error: store::StoreError, snapshot: &store::Snapshot) -> TransactError {
    match error {
        store::StoreError::NotUnique { index, vertices: (first, second) } => {
            let definition = snapshot.catalog().index(index);
            let name = definition.map_or_else(String::new, |definition| definition.name.clone());
            let what = format!("nodes {} and {} have the same values", first.0, second.0);
            TransactError::Constraint { name, what }
        }
        store::StoreError::EdgesNotUnique { index, edges: (first, second) } => {
            let definition = snapshot.catalog().index(index);
            let name = definition.map_or_else(String::new, |definition| definition.name.clone());
            let what = format!("relationships {} and {} have the same values", first.0, second.0);
            TransactError::Constraint { name, what }
        }
        store::StoreError::NoVertex(_) => TransactError::NotFound { what: "node" },
        store::StoreError::NoEdge(_) => TransactError::NotFound { what: "relationship" },
        store::StoreError::VertexHasEdges(vertex) => TransactError::StillConnected { vertex },
        other => TransactError::Store(other),
    }
}
