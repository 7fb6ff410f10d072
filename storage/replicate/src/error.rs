//! Errors that end a replica. A disk that failed once is not trusted again: the process stops, and the other replicas go on.

use durable::DurableError;
use std::fmt;
use world::disk::DiskError;
use world::panics::Panicked;

/// Why a replica cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicateError {
    /// The log cannot be read or written.
    Log(DurableError),
    /// A snapshot file cannot be read or written.
    Disk(DiskError),
    /// The content of a snapshot file or a record is damaged.
    Damaged(String),
    /// The folder belongs to another replica, or to other members.
    Foreign(String),
    /// The replication library refused a valid call.
    Raft(String),
    /// A step panicked: a fault of this program. The replica may be half changed, and is not stepped again.
    Panicked(Panicked),
}

impl fmt::Display for ReplicateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplicateError::Log(error) => write!(f, "the replicated log: {error}"),
            ReplicateError::Disk(error) => write!(f, "the replica's files: {error}"),
            ReplicateError::Damaged(what) => write!(f, "the replica's files are damaged: {what}"),
            ReplicateError::Foreign(what) => write!(f, "{what}"),
            ReplicateError::Raft(what) => write!(f, "replication: {what}"),
            ReplicateError::Panicked(panicked) => write!(f, "a step of the replica failed: {panicked}"),
        }
    }
}

impl std::error::Error for ReplicateError {}

impl From<DurableError> for ReplicateError {
    fn from(error: DurableError) -> ReplicateError {
        ReplicateError::Log(error)
    }
}
impl From<DiskError> for ReplicateError {
    fn from(error: DiskError) -> ReplicateError {
        ReplicateError::Disk(error)
    }
}
impl From<raft::Error> for ReplicateError {
    fn from(error: raft::Error) -> ReplicateError {
        ReplicateError::Raft(error.to_string())
    }
}
impl From<protobuf::ProtobufError> for ReplicateError {
    fn from(error: protobuf::ProtobufError) -> ReplicateError {
        ReplicateError::Damaged(error.to_string())
    }
}
