//! An index at one snapshot: a copy-on-write tree of leaves, each a sorted run with a small delta; exact, so results need no check.
//!
//! ```text
//! Index ─ branches, up to 128 leaves each ─ leaf: run (a page, up to 8,192 entries) + added + removed
//! ```
//! Invariants: the entries of a leaf are not before its `first`, and before the `first` of the next (the first leaf takes all that is
//! before it, too). A vertex is indexed if it carries the label and none of the keys is null. Cost of a write: two short vectors of
//! pointers and a path of a persistent tree; now and then a leaf is compacted, which copies at most 8,192 entries, so no commit
//! stops for the size of the index. Leaves are paged like chunks, and a checkpoint stores those that changed.

use crate::StoreError;
use crate::indexes::leaf::Leaf;
use crate::indexes::run::{Entry, IndexKey, IndexRun};
use crate::paging::pager::Pager;
use model::compare::equals;
use model::schema::IndexDefinition;
use model::{Value, VertexId};
use std::sync::Arc;

/// Leaves of a branch; a full one is split in two.
const BRANCH_LEAVES_MAX: usize = 128;

/// Leaves in a row; never empty, but in an index without entries.
type Branch = Vec<Arc<Leaf>>;

#[derive(Clone)]
pub(crate) struct Index {
    pub(crate) definition: Arc<IndexDefinition>,
    branches: Arc<Vec<Arc<Branch>>>,
    count: u64,
    /// Entries and distinct keys of the runs, at their compactions.
    run_entries: u64,
    run_distinct: u64,
    pager: Arc<Pager>,
}

/// Where a leaf is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LeafPlace {
    branch: usize,
    leaf: usize,
}

impl Index {
    /// An index without entries.
    pub(crate) fn empty(definition: IndexDefinition, pager: &Arc<Pager>) -> Index {
        Index {
            definition: Arc::new(definition),
            branches: Arc::default(),
            count: 0,
            run_entries: 0,
            run_distinct: 0,
            pager: pager.clone(),
        }
    }
    /// An index over these entries; fails where it is unique and they are not. The slow twin of `gather`.
    #[cfg(test)]
    pub(crate) fn build(
        definition: IndexDefinition,
        entries: Vec<Entry>,
        pager: &Arc<Pager>,
    ) -> Result<Index, StoreError> {
        let mut entries = entries;
        entries.sort();
        if definition.unique
            && let Some(pair) = entries.windows(2).find(|pair| pair[0].key == pair[1].key)
        {
            let vertex = |at: usize| VertexId::from_dense(pair[at].vertex);
            return Err(StoreError::NotUnique { index: definition.id, vertices: (vertex(0), vertex(1)) });
        }
        use crate::indexes::leaf::LEAF_ENTRIES;
        let mut leaves = Vec::with_capacity(entries.len() / LEAF_ENTRIES + 1);
        let mut entries = entries.into_iter();
        loop {
            let part: Vec<Entry> = entries.by_ref().take(LEAF_ENTRIES).collect();
            if part.is_empty() {
                break;
            }
            leaves.push(Leaf::new(part[0].clone(), IndexRun::build(part), definition.keys.len(), pager));
        }
        Ok(Index::of_leaves(definition, leaves, pager))
    }
    /// An index of these leaves, in order.
    pub(crate) fn of_leaves(definition: IndexDefinition, leaves: Vec<Leaf>, pager: &Arc<Pager>) -> Index {
        let mut index = Index::empty(definition, pager);
        for leaf in &leaves {
            index.count += leaf.entry_count();
            index.run_entries += leaf.page.known.len;
            index.run_distinct += leaf.page.known.distinct;
        }
        let leaves: Branch = leaves.into_iter().map(Arc::new).collect();
        index.branches =
            Arc::new(leaves.chunks(BRANCH_LEAVES_MAX / 2).map(|part| Arc::new(part.to_vec())).collect());
        index
    }
    pub(crate) fn entry_count(&self) -> u64 {
        self.count
    }
    /// Distinct keys: exact for unique indexes, else by the ratio that leaves had at their compactions. A key that lies in two leaves
    /// counts twice.
    pub(crate) fn distinct_estimate(&self) -> u64 {
        if self.definition.unique || self.run_entries == 0 {
            return self.count;
        }
        (self.count as f64 * self.run_distinct as f64 / self.run_entries as f64).round() as u64
    }
    /// All leaves, in order.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = &Arc<Leaf>> {
        self.branches.iter().flat_map(|branch| branch.iter())
    }
    pub(crate) fn leaf(&self, place: LeafPlace) -> Option<&Arc<Leaf>> {
        self.branches.get(place.branch)?.get(place.leaf)
    }
    pub(crate) fn after(&self, place: LeafPlace) -> LeafPlace {
        match self.branches.get(place.branch) {
            Some(branch) if place.leaf + 1 < branch.len() => LeafPlace { leaf: place.leaf + 1, ..place },
            _ => LeafPlace { branch: place.branch + 1, leaf: 0 },
        }
    }
    pub(crate) fn before(&self, place: LeafPlace) -> Option<LeafPlace> {
        match place.leaf {
            0 => {
                let branch = place.branch.checked_sub(1)?;
                let last = self.branches.get(branch)?.len().checked_sub(1)?;
                Some(LeafPlace { branch, leaf: last })
            }
            leaf => Some(LeafPlace { leaf: leaf - 1, ..place }),
        }
    }
    /// Number of leaves before this place.
    pub(crate) fn leaves_before(&self, place: LeafPlace) -> usize {
        self.branches.iter().take(place.branch).map(|branch| branch.len()).sum::<usize>() + place.leaf
    }
    pub(crate) fn leaf_count(&self) -> usize {
        self.branches.iter().map(|branch| branch.len()).sum()
    }
    /// The leaf after all whose `first` satisfies `passes`; `passes` is true, then false, along the leaves.
    pub(crate) fn partition_point(&self, passes: impl Fn(&Entry) -> bool) -> LeafPlace {
        let branch = self.branches.partition_point(|branch| passes(&branch[0].first));
        let Some(last) = branch.checked_sub(1) else { return LeafPlace { branch: 0, leaf: 0 } };
        let leaf = self.branches[last].partition_point(|leaf| passes(&leaf.first));
        if leaf < self.branches[last].len() {
            LeafPlace { branch: last, leaf }
        } else {
            LeafPlace { branch, leaf: 0 }
        }
    }
    /// The leaf that an entry belongs to.
    pub(crate) fn place_of(&self, entry: &Entry) -> LeafPlace {
        let behind = self.partition_point(|first| first <= entry);
        self.before(behind).unwrap_or(behind)
    }

    pub(crate) fn insert(&mut self, key: IndexKey, vertex: u32, delta_min: usize) -> Result<(), StoreError> {
        let entry = Entry { key, vertex };
        if self.branches.is_empty() {
            let width = self.definition.keys.len();
            let leaf = Leaf::new(entry.clone(), IndexRun::build(Vec::new()), width, &self.pager);
            self.branches = Arc::new(vec![Arc::new(vec![Arc::new(leaf)])]);
        }
        self.change(entry, delta_min, Leaf::insert)
    }
    pub(crate) fn remove(&mut self, key: IndexKey, vertex: u32, delta_min: usize) -> Result<(), StoreError> {
        match self.branches.is_empty() {
            true => Ok(()),
            false => self.change(Entry { key, vertex }, delta_min, Leaf::remove),
        }
    }
    fn change(
        &mut self,
        entry: Entry,
        delta_min: usize,
        change: impl FnOnce(&mut Leaf, Entry),
    ) -> Result<(), StoreError> {
        let place = self.place_of(&entry);
        let branch = Arc::make_mut(&mut Arc::make_mut(&mut self.branches)[place.branch]);
        let leaf = Arc::make_mut(&mut branch[place.leaf]);
        self.count -= leaf.entry_count();
        change(leaf, entry);
        self.count += leaf.entry_count();
        if leaf.is_fold_due(delta_min) {
            let known = leaf.page.known;
            let compacted = leaf.compact()?;
            self.run_entries -= known.len;
            self.run_distinct -= known.distinct;
            self.replace(place, compacted);
        }
        Ok(())
    }
    /// Replaces a leaf by those that its compaction made.
    fn replace(&mut self, place: LeafPlace, compacted: Vec<Leaf>) {
        for leaf in &compacted {
            self.run_entries += leaf.page.known.len;
            self.run_distinct += leaf.page.known.distinct;
        }
        let branches = Arc::make_mut(&mut self.branches);
        let branch = Arc::make_mut(&mut branches[place.branch]);
        branch.splice(place.leaf..=place.leaf, compacted.into_iter().map(Arc::new));
        if branch.is_empty() {
            branches.remove(place.branch);
        } else if branch.len() > BRANCH_LEAVES_MAX {
            let half = branch.split_off(branch.len() / 2);
            branches.insert(place.branch + 1, Arc::new(half));
        }
    }

    /// All entries, in order.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::with_capacity(self.count as usize);
        self.leaves().try_for_each(|leaf| leaf.entries().map(|part| entries.extend(part)))?;
        Ok(entries)
    }
    /// Vertices whose first keys equal `prefix`; null, NaN and values that hold them equal nothing.
    pub(crate) fn seek(&self, prefix: &[Value]) -> Result<Vec<VertexId>, StoreError> {
        let mut found = Vec::new();
        self.each_leaf_with(prefix, |leaf, from| leaf.seek(prefix, from, &mut found))?;
        Ok(found)
    }
    /// As [`Index::seek`], but the entries.
    pub(crate) fn seek_entries(&self, prefix: &[Value]) -> Result<Vec<Entry>, StoreError> {
        let mut found = Vec::new();
        self.each_leaf_with(prefix, |leaf, from| leaf.seek_entries(prefix, from, &mut found))?;
        Ok(found)
    }
    /// Calls `visit` with each leaf that may have entries whose first keys equal `prefix`, and where they would begin.
    fn each_leaf_with(
        &self,
        prefix: &[Value],
        mut visit: impl FnMut(&Leaf, &Entry) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if prefix.iter().any(|value| equals(value, value) != Some(true)) {
            return Ok(());
        }
        let from = Entry { key: IndexKey::new(prefix), vertex: 0 };
        let mut place = self.place_of(&from);
        let first = place;
        while let Some(leaf) = self.leaf(place) {
            if place != first && !leaf.first.starts_with(prefix) {
                break;
            }
            visit(leaf, &from)?;
            place = self.after(place);
        }
        Ok(())
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        self.leaves().map(|leaf| leaf.heap_bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::disallowed_types)]
    use super::*;
    use crate::indexes::leaf::LEAF_ENTRIES;
    use model::schema::{IndexId, SchemaTarget};
    use model::{KeyId, LabelId};
    use std::collections::BTreeSet;
    use std::ops::Bound;

    fn definition() -> IndexDefinition {
        let target = SchemaTarget::Vertices(LabelId(0));
        IndexDefinition { id: IndexId(0), name: "i".into(), target, keys: vec![KeyId(0)], unique: false }
    }

    /// The obvious twin: a set of pairs.
    fn compare(index: &Arc<Index>, twin: &BTreeSet<(i64, u32)>, key: i64) {
        let range = |lower: Bound<i64>, upper: Bound<i64>| -> Vec<u32> {
            let (lower, upper) = (lower.map(Value::Int), upper.map(Value::Int));
            let found = index.range(lower.as_ref(), upper.as_ref()).unwrap();
            found.map(|vertex| vertex.unwrap().dense()).collect()
        };
        assert_eq!(index.entry_count(), twin.len() as u64);
        let known = || index.leaves().map(|leaf| leaf.page.known);
        let sums = (known().map(|known| known.len).sum(), known().map(|known| known.distinct).sum());
        assert_eq!((index.run_entries, index.run_distinct), sums, "what runs hold, leaf by leaf");
        let within = |low: i64, high: i64| -> Vec<u32> {
            twin.range((low, 0)..(high, 0)).map(|(_, vertex)| *vertex).collect()
        };
        assert!(range(Bound::Unbounded, Bound::Unbounded) == within(i64::MIN, i64::MAX), "all, in order");
        let found = range(Bound::Included(key), Bound::Excluded(key + 300));
        assert!(found == within(key, key + 300), "between two keys");
        let (low, high) = (Value::Int(key), Value::Int(key + 2000));
        let back = index.range(Bound::Included(&low), Bound::Excluded(&high)).unwrap().rev();
        let mut back: Vec<u32> = back.map(|vertex| vertex.unwrap().dense()).collect();
        back.reverse();
        assert!(back == within(key, key + 2000), "the same from the back");
        // In the order of their numbers, whether they stand in a run, were added since, or some of each.
        for key in key..key + 200 {
            let found: Vec<u32> = index.seek(&[Value::Int(key)]).unwrap().iter().map(|v| v.dense()).collect();
            assert_eq!(found, within(key, key + 1), "{key}");
        }
    }

    #[test]
    fn leaves_are_cut_and_given_up() {
        let (mut state, mut twin) = (20_261_122_u64, BTreeSet::new());
        println!("seed {state}");
        let mut chance = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut index = Arc::new(Index::empty(definition(), &Pager::new(None)));
        let mut leaves_max = 0;
        for round in 0..12 {
            for _ in 0..3000 {
                let (key, vertex) = (chance(10_000) as i64, chance(50) as u32);
                let (tree, key_too) = (Arc::make_mut(&mut index), IndexKey::One(Value::Int(key)));
                // The last rounds empty the lower half.
                let leaves = round > 8 && key < 5000;
                if !leaves && twin.insert((key, vertex)) {
                    tree.insert(key_too, vertex, 16).unwrap();
                }
            }
            if round > 8 {
                let rest = twin.split_off(&(5000 * (round - 8) / 3, 0));
                for (key, vertex) in std::mem::replace(&mut twin, rest) {
                    Arc::make_mut(&mut index).remove(IndexKey::One(Value::Int(key)), vertex, 16).unwrap();
                }
            }
            println!("round {round}: {} entries, {} leaves", index.entry_count(), index.leaves().count());
            compare(&index, &twin, chance(10_000) as i64);
            leaves_max = leaves_max.max(index.leaves().count());
            assert!(index.leaves().all(|leaf| leaf.entry_count() <= 2 * LEAF_ENTRIES as u64 + 1000));
        }
        assert!(leaves_max > 4, "leaves were cut");
        let built = Index::build(definition(), index.entries().unwrap(), &Pager::new(None)).unwrap();
        assert!(built.entries().unwrap() == index.entries().unwrap());
        compare(&Arc::new(built), &twin, 7000);
        for (key, vertex) in &twin {
            Arc::make_mut(&mut index).remove(IndexKey::One(Value::Int(*key)), *vertex, 16).unwrap();
        }
        assert_eq!(index.leaves().count(), 0, "nothing is left");
        compare(&index, &BTreeSet::new(), 1);
    }
}
