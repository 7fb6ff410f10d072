//! Anchors: checkpoints that are kept after a later one was made, so that the graph can be rebuilt as it was between them.

/// The entry of a checkpoint beside its manifest, and which older ones are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointMark {
    /// Wall clock of the last commit it contains, microseconds since 1970; 0 where that is not known.
    pub time_micros: u64,
    /// Bytes of records that were ever logged up to its commit version.
    pub log_bytes: u64,
    /// It contains data that was never in the log, so later commit versions cannot be reached from earlier checkpoints.
    pub beside_log: bool,
    /// Commit versions of the older checkpoints that stay anchors; the others are given up with the same step. Commit version 0 stands for the empty
    /// graph at the beginning of the log.
    pub kept: Vec<u64>,
}

/// A checkpoint that is kept: the latest, or an older one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anchor {
    /// The commit version it stands for.
    pub commit_version: u64,
    /// Wall clock of the last commit it contains, microseconds since 1970; 0 where that is not known.
    pub time_micros: u64,
    /// Bytes of records that were ever logged up to its commit version.
    pub log_bytes: u64,
    /// Counts checkpoints, from 1; 0 for the beginning of the log, which has no manifest.
    pub sequence: u32,
    /// It contains data that was never in the log.
    pub beside_log: bool,
}
