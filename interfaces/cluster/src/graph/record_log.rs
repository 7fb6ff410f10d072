//! The last records of a share, kept for gates that update an earlier state.

use model::ChunkNo;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of records that are kept, and their number; a gate that has missed more fetches the changed chunks anew, which costs less than more records.
const RECORD_BYTES_MAX: usize = 256 << 10;
const RECORDS_MAX: usize = 1 << 15;

/// The share's part of a record.
pub(super) struct KeptRecord {
    pub(super) commit_version: u64,
    /// Its changes, encoded.
    pub(super) part: Arc<[u8]>,
    /// The chunks that it wrote to.
    pub(super) chunks: Box<[ChunkNo]>,
}

/// The share's parts of the last records, by commit version.
#[derive(Default)]
pub(super) struct RecordLog {
    records: VecDeque<KeptRecord>,
    bytes: usize,
    /// Records up to this commit version are dropped.
    pub(super) since: u64,
}

impl RecordLog {
    pub(super) fn take(&mut self, record: KeptRecord) {
        debug_assert!(
            self.records.back().is_none_or(|last| last.commit_version < record.commit_version),
            "versions rise"
        );
        self.bytes += record.part.len();
        self.records.push_back(record);
        while (self.bytes > RECORD_BYTES_MAX || self.records.len() > RECORDS_MAX)
            && let Some(first) = self.records.pop_front()
        {
            self.bytes -= first.part.len();
            self.since = first.commit_version;
        }
    }
    /// Records after one commit version and up to another; none where some of them are dropped.
    pub(super) fn between(
        &self,
        since: u64,
        commit_version: u64,
    ) -> Option<impl Iterator<Item = &KeptRecord>> {
        let from = self.records.partition_point(|record| record.commit_version <= since);
        (since >= self.since).then(|| {
            self.records.range(from..).take_while(move |record| record.commit_version <= commit_version)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(commit_version: u64, bytes: usize) -> KeptRecord {
        KeptRecord { commit_version, part: vec![0; bytes].into(), chunks: [commit_version as ChunkNo].into() }
    }
    fn commit_versions(log: &RecordLog, since: u64, commit_version: u64) -> Option<Vec<u64>> {
        log.between(since, commit_version)
            .map(|records| records.map(|record| record.commit_version).collect())
    }

    #[test]
    fn what_is_not_kept_is_told_at_the_bounds_of_bytes_and_records() {
        let mut log = RecordLog::default();
        for commit_version in [2, 5, 9] {
            log.take(record(commit_version, RECORD_BYTES_MAX / 3));
        }
        assert_eq!(commit_versions(&log, 0, 9), Some(vec![2, 5, 9]));
        assert_eq!(commit_versions(&log, 2, 8), Some(vec![5]));
        assert_eq!(commit_versions(&log, 9, 9), Some(vec![]));
        log.take(record(11, 3));
        assert_eq!(
            (commit_versions(&log, 1, 11), commit_versions(&log, 2, 11)),
            (None, Some(vec![5, 9, 11]))
        );
        log.take(record(12, RECORD_BYTES_MAX + 1));
        assert_eq!(
            (commit_versions(&log, 11, 12), commit_versions(&log, 12, 12)),
            (None, Some(vec![])),
            "one that is too large"
        );
        for commit_version in 0..=RECORDS_MAX as u64 {
            log.take(record(100 + commit_version, 1));
        }
        assert_eq!(
            (commit_versions(&log, 99, 101), commit_versions(&log, 100, 101)),
            (None, Some(vec![101]))
        );
    }
}
