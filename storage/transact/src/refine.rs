//! What a commit tells the bank of gatekeepers: the keys it read and wrote.
//!
//! The bank orders conflicting commits that are concurrent by their stamps. It knows no ranges: whoever searched an index counts as a
//! reader of all of it, and whoever changed a value in it as a writer, which asks more often than needed and never too seldom.

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
}
