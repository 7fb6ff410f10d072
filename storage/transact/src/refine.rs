//! The input of the bank of gatekeepers for a commit: the keys it read and wrote.
//!
//! The bank orders conflicting commits that are concurrent by their stamps. It knows no ranges: a search in an index counts as a read of all of it,
//! and a changed value in it as a write, so there are more conflicts than needed and never too few.

use crate::conflicts::Footprint;
use crate::reads::{Inner as Reads, Key};
use order::Touched;
use std::collections::BTreeSet;

/// The keys of a commit.
pub(crate) fn touched(reads: &Reads, footprint: &Footprint) -> Touched {
    let searched = reads.ranges.iter().map(|range| Key::index(range.index));
    // An index that comes or goes is a change of the catalogue.
    let catalogue = (!reads.ranges.is_empty()).then(Key::catalogue);
    let changed = footprint.index_values.iter().map(|(index, _)| Key::index(*index));
    Touched {
        reads: bits(reads.keys.iter().copied().chain(searched).chain(catalogue)),
        writes: bits(footprint.keys.iter().copied().chain(changed)),
        reads_everything: reads.everything,
    }
}

fn bits(keys: impl Iterator<Item = Key>) -> Vec<u64> {
    keys.map(Key::bits).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reads::IndexRange;
    use model::VertexId;
    use model::compare::OrderKey;
    use model::schema::IndexId;
    use std::ops::Bound;

    #[test]
    fn searches_meet_changes_of_the_index_and_of_the_catalogue() {
        let range = IndexRange { index: IndexId(3), lower: Bound::Unbounded, upper: Bound::Unbounded };
        let searching = Reads { ranges: vec![range], ..Reads::default() };
        let value = OrderKey(model::Value::Int(1));
        let change = Footprint { index_values: vec![(IndexId(3), value)], ..Footprint::default() };
        let told = touched(&searching, &change);
        assert!(told.writes.iter().all(|key| told.reads.contains(key)));
        let index = Footprint { keys: vec![Key::catalogue()], indexes: true, ..Footprint::default() };
        assert!(touched(&searching, &index).writes.iter().all(|key| told.reads.contains(key)));
        let reading = Reads { keys: [Key::vertex(VertexId(1))].into_iter().collect(), ..Reads::default() };
        assert_eq!(touched(&reading, &index).reads.len(), 1, "who searched no index does not care");
    }

    /// Different things have different keys, so that no commit waits for an unrelated one; one thing has one key.
    #[test]
    fn things_that_differ_have_keys_that_differ() {
        use model::{EdgeTypeId, LabelId};
        let of = |number: u64| {
            let (vertex, label) = (VertexId(number), LabelId(number as u16));
            let kind = EdgeTypeId(number as u16);
            [
                Key::existence(vertex),
                Key::vertex(vertex),
                Key::adjacency(vertex, None, true),
                Key::adjacency(vertex, None, false),
                Key::adjacency(vertex, Some(kind), true),
                Key::pair(vertex, VertexId(number + 1)),
                Key::pair(VertexId(number + 1), vertex),
                Key::edge(number),
                Key::label(Some(label)),
                Key::relabelled(label),
                Key::index(IndexId(number as u32)),
                Key::index_value(IndexId(number as u32), &model::Value::Int(1)),
                Key::index_value(IndexId(1_000), &model::Value::Int(number as i64)),
            ]
        };
        let alone = [Key::catalogue(), Key::entries(), Key::label(None)];
        let keys: Vec<Key> = (0..500).flat_map(of).chain(alone).collect();
        let footprint = Footprint { keys: keys.clone(), ..Footprint::default() };
        let reads = Reads { keys: keys.iter().rev().copied().collect(), ..Reads::default() };
        let told = touched(&reads, &footprint);
        assert_eq!((told.reads.len(), told.writes.len()), (keys.len(), keys.len()));
        assert_eq!(told.reads, told.writes);
        assert!(told.reads.is_sorted() && !told.reads_everything);
    }
}
