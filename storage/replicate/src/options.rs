//! How a replica behaves, and its limits.

use crate::Members;

/// Bytes of one entry. A proposal above it is refused.
pub const ENTRY_BYTES_MAX: usize = 16 << 20;
/// Proposals, and reads, of this replica that wait for an answer; above it new ones are refused.
pub const PENDING_MAX: usize = 1 << 16;

/// The same for all replicas, but for `address`.
#[derive(Clone, Debug)]
pub struct ReplicaOptions {
    /// Where the others reach this replica. Its id follows from it.
    pub address: String,
    /// The members of a new group, this one among them. Empty for a replica that an existing group will add. Ignored where the folder
    /// already holds a replica.
    pub members: Members,
    /// Ticks without a leader before an election, at least; at most twice as many. A leader that no majority answers for so long steps down.
    pub election_ticks: usize,
    /// Ticks between a leader's heartbeats.
    pub heartbeat_ticks: usize,
    /// Log bytes since the last snapshot that call for the next; a state that is larger waits until the log is as large as it is.
    pub snapshot_bytes: u64,
    /// Entries that are kept behind a snapshot for replicas that are a little late.
    pub entries_kept: u64,
    /// Length at which a segment of the log is closed.
    pub segment_bytes: u64,
}

impl ReplicaOptions {
    /// The usual ones for a replica at this address.
    pub fn new(address: &str, members: Members) -> ReplicaOptions {
        ReplicaOptions {
            address: address.into(),
            members,
            election_ticks: 10,
            heartbeat_ticks: 2,
            snapshot_bytes: 64 << 20,
            entries_kept: 4_096,
            segment_bytes: 16 << 20,
        }
    }
}
