//! What became of traces, for the metrics: also there where the program was built without telemetry, and then nothing counts.

use std::sync::atomic::AtomicU64;

/// What became of queries that were traced.
#[derive(Debug, Default)]
pub struct TraceCounts {
    /// The collector took them.
    pub sent: AtomicU64,
    /// They found no room in the queue.
    pub dropped: AtomicU64,
    /// The collector could not be reached, or did not take them.
    pub refused: AtomicU64,
}
