//! The counters of a shard, as sent to a gate.

use protocol::ShardCounts;

/// The figures of a shard as bytes.
pub(super) fn encode(counts: &ShardCounts) -> Vec<u8> {
    let ShardCounts { executed, pinned, questions, pairs, read_pairs, wants } = *counts;
    [executed, pinned, questions, pairs, read_pairs, wants]
        .iter()
        .flat_map(|figure| figure.to_le_bytes())
        .collect()
}

/// Nothing where the bytes are of another version.
pub(super) fn decode(bytes: &[u8]) -> Option<ShardCounts> {
    let (figures, rest) = bytes.as_chunks::<8>();
    let figures: Vec<u64> = figures.iter().map(|figure| u64::from_le_bytes(*figure)).collect();
    let [executed, pinned, questions, pairs, read_pairs, wants] = figures[..] else { return None };
    rest.is_empty().then_some(ShardCounts { executed, pinned, questions, pairs, read_pairs, wants })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_back() {
        let counts =
            ShardCounts { executed: 1, pinned: 2, questions: 3, pairs: u64::MAX, read_pairs: 5, wants: 6 };
        assert_eq!(decode(&encode(&counts)), Some(counts));
        assert_eq!(decode(&encode(&counts)[1..]), None);
    }
}
