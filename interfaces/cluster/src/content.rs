//! The content of a shard: records are applied by commit version, queries are answered as of a commit version.

use protocol::{Bytes, ShardCounts, ShardPoint};

/// The store of one shard. It has all versions that a read may still need: commit versions between the last one and the oldest open read.
pub trait Content: Send {
    /// Everything is lost; the parts of all records follow, from commit version 1 on.
    fn reset(&mut self);
    /// Executes this shard's part of a record at the next commit version. Commit versions rise by one.
    fn apply(&mut self, commit_version: u64, part: &[u8]);
    /// No query needs a commit version below this one any more.
    fn forget(&mut self, below: u64) {
        let _ = below;
    }
    /// The counters of its machine, for reports.
    fn tell(&mut self, counts: ShardCounts) {
        let _ = counts;
    }
    /// If its content came from a checkpoint: how far that was.
    fn point(&self) -> Option<ShardPoint> {
        None
    }
    /// Is a checkpoint due, and none being made? Everything up to the cluster version `settled` is applied.
    fn wants_checkpoint(&self, settled: u64) -> bool {
        let _ = settled;
        false
    }
    /// Makes a checkpoint of the content so far, beside later records.
    fn checkpoint(&mut self, point: ShardPoint) {
        let _ = point;
    }
    /// Answers a query as of this commit version.
    fn query(&mut self, commit_version: u64, query: &[u8]) -> Bytes;
}
