//! The last records of a share, kept for gates that go on from what they know.

use model::ChunkNo;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of records that are kept, and records; a gate that has missed more fetches the chunks that changed anew, which costs less than more records.
const RECORD_BYTES_MAX: usize = 256 << 10;
const RECORDS_MAX: usize = 1 << 15;

/// The share's part of a record.
pub(super) struct KeptRecord {
    pub(super) place: u64,
    /// Its changes, encoded.
    pub(super) part: Arc<[u8]>,
    /// The chunks that it wrote to.
    pub(super) chunks: Box<[ChunkNo]>,
}

/// The share's parts of the last records, by place.
#[derive(Default)]
pub(super) struct RecordLog {
    records: VecDeque<KeptRecord>,
    bytes: usize,
    /// Records up to this place are not kept.
    pub(super) since: u64,
}

impl RecordLog {
    pub(super) fn take(&mut self, record: KeptRecord) {
        debug_assert!(self.records.back().is_none_or(|last| last.place < record.place), "places rise");
        self.bytes += record.part.len();
        self.records.push_back(record);
        while (self.bytes > RECORD_BYTES_MAX || self.records.len() > RECORDS_MAX)
            && let Some(first) = self.records.pop_front()
        {
            self.bytes -= first.part.len();
            self.since = first.place;
        }
    }
    /// Records behind one place and up to another; none where some of them are not kept.
    pub(super) fn between(&self, since: u64, place: u64) -> Option<impl Iterator<Item = &KeptRecord>> {
        let from = self.records.partition_point(|record| record.place <= since);
        (since >= self.since)
            .then(|| self.records.range(from..).take_while(move |record| record.place <= place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(place: u64, bytes: usize) -> KeptRecord {
        KeptRecord { place, part: vec![0; bytes].into(), chunks: [place as ChunkNo].into() }
    }
    fn places(log: &RecordLog, since: u64, place: u64) -> Option<Vec<u64>> {
        log.between(since, place).map(|records| records.map(|record| record.place).collect())
    }

    #[test]
    fn what_is_not_kept_is_told_at_the_bounds_of_bytes_and_records() {
        let mut log = RecordLog::default();
        for place in [2, 5, 9] {
            log.take(record(place, RECORD_BYTES_MAX / 3));
        }
        assert_eq!(places(&log, 0, 9), Some(vec![2, 5, 9]));
        assert_eq!(places(&log, 2, 8), Some(vec![5]));
        assert_eq!(places(&log, 9, 9), Some(vec![]));
        log.take(record(11, 3));
        assert_eq!((places(&log, 1, 11), places(&log, 2, 11)), (None, Some(vec![5, 9, 11])));
        log.take(record(12, RECORD_BYTES_MAX + 1));
        assert_eq!(
            (places(&log, 11, 12), places(&log, 12, 12)),
            (None, Some(vec![])),
            "one that is too large"
        );
        for place in 0..=RECORDS_MAX as u64 {
            log.take(record(100 + place, 1));
        }
        assert_eq!((places(&log, 99, 101), places(&log, 100, 101)), (None, Some(vec![101])));
    }
}
