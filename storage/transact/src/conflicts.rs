//! The last writer of each key: the memory against which commits are validated.
//!
//! Idea: for each key, the version of the last commit that wrote it; for each index, the values that commits added or removed, in
//! order. A transaction with snapshot `base` is valid if none of its keys was written after `base`. Optimistic validation in
//! one pass, independent of how many commits lie between.
//! Invariant: every write after [`Conflicts::floor`] is remembered. A transaction older than the floor cannot be judged and must be tried again.
//! Indexes change so rarely that one commit version stands for all of them: a search in an index that was dropped is not invalidated by any later
//! write.
//! A commit of very many keys is kept as a list of its own, and sorted only when a transaction that began before it is validated: mostly none is, and
//! then it has cost nothing but memory. If such a transaction read more keys than the commit wrote, the keys of the commit are looked up in its read
//! set instead.
//! Cost: one look-up for each key read, and one more for each large commit since, but never more than keys are remembered; memory bounded by
//! [`WRITTEN_KEYS_MAX`].

use crate::reads::{IndexRange, Inner, Key, KeyState};
use model::compare::OrderKey;
use model::schema::IndexId;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;

/// Keys remembered before the oldest half is forgotten (about 32 MiB).
pub const WRITTEN_KEYS_MAX: usize = 1 << 20;

/// Number of keys from which on a commit is kept as a list of its own.
const LARGE_KEYS_MIN: usize = 4096;

/// The keys of one large commit.
#[derive(Debug)]
struct Large {
    commit_version: u64,
    keys: Vec<Key>,
    /// Kinds of things among them.
    kinds: u16,
    is_sorted: bool,
}

impl Large {
    /// Did it write any of these keys, which are of these kinds? A read set without edges need not be compared with edges.
    fn wrote_any(&mut self, read: &Inner, kinds: u16) -> bool {
        if self.kinds & kinds == 0 {
            return false;
        }
        if self.keys.len() < read.keys.len() {
            return self.keys.iter().any(|key| read.keys.contains(key));
        }
        if !self.is_sorted {
            self.keys.sort_unstable();
            self.is_sorted = true;
        }
        read.keys.iter().any(|key| self.keys.binary_search(key).is_ok())
    }
}

/// The writes of one commit, as keys.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    pub keys: Vec<Key>,
    pub index_values: Vec<(IndexId, OrderKey)>,
    /// An index came or went.
    pub indexes: bool,
}

/// The last commit version at which each key was written.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    floor: u64,
    last: u64,
    /// Last commit that created or dropped an index.
    indexes: u64,
    keys: HashMap<Key, u64, KeyState>,
    /// In the order of their commit versions.
    large: VecDeque<Large>,
    large_len: usize,
    values: HashMap<IndexId, BTreeMap<OrderKey, u64>>,
    values_len: usize,
}

impl Conflicts {
    pub fn starting_at(commit_version: u64) -> Conflicts {
        Conflicts {
            floor: commit_version,
            last: commit_version,
            indexes: commit_version,
            ..Conflicts::default()
        }
    }
    /// Can a transaction that read at `base` still commit? The error names the kind of the conflicting write.
    pub fn validate(&mut self, reads: &Inner, base: u64) -> Result<(), &'static str> {
        if base == self.last {
            return Ok(());
        }
        if reads.everything {
            return Err("it read very much, and something was written meanwhile");
        }
        if base < self.floor && !(reads.keys.is_empty() && reads.ranges.is_empty()) {
            return Err("its snapshot is too old to be compared with what was written since");
        }
        if reads
            .keys
            .iter()
            .any(|key| self.keys.get(key).is_some_and(|commit_version| *commit_version > base))
        {
            return Err("something it read was changed by another transaction");
        }
        let mut later = self.large.iter_mut().rev().take_while(|large| large.commit_version > base);
        if let Some(first) = later.next() {
            let kinds = Key::kinds(&reads.keys);
            if first.wrote_any(reads, kinds) || later.any(|large| large.wrote_any(reads, kinds)) {
                return Err("something it read was changed by another transaction");
            }
        }
        if base < self.indexes && !reads.ranges.is_empty() {
            return Err("the indexes were changed meanwhile");
        }
        if reads.ranges.iter().any(|range| self.range_written_after(range, base)) {
            return Err("an index range it searched was changed by another transaction");
        }
        Ok(())
    }
    fn range_written_after(&self, range: &IndexRange, base: u64) -> bool {
        if is_empty_range(&range.lower, &range.upper) {
            return false;
        }
        let Some(values) = self.values.get(&range.index) else { return false };
        values
            .range((range.lower.clone(), range.upper.clone()))
            .any(|(_, commit_version)| *commit_version > base)
    }
    /// Records the writes of the commit at `commit_version`.
    pub fn record(&mut self, commit_version: u64, footprint: Footprint) {
        debug_assert!(commit_version > self.last);
        self.last = commit_version;
        if footprint.indexes {
            self.indexes = commit_version;
        }
        if footprint.keys.len() + footprint.index_values.len() > WRITTEN_KEYS_MAX {
            return self.forget_until(commit_version);
        }
        if footprint.keys.len() < LARGE_KEYS_MIN {
            self.keys.extend(footprint.keys.into_iter().map(|key| (key, commit_version)));
        } else {
            self.large_len += footprint.keys.len();
            let kinds = Key::kinds(&footprint.keys);
            self.large.push_back(Large { commit_version, keys: footprint.keys, kinds, is_sorted: false });
        }
        for (index, value) in footprint.index_values {
            self.values_len +=
                usize::from(self.values.entry(index).or_default().insert(value, commit_version).is_none());
        }
        while self.len() > WRITTEN_KEYS_MAX {
            self.forget_until(self.floor + (self.last - self.floor).div_ceil(2));
        }
    }
    /// No transaction older than `commit_version` is left: writes up to there need not be remembered.
    pub fn forget_until(&mut self, commit_version: u64) {
        if commit_version <= self.floor {
            return;
        }
        self.floor = commit_version;
        self.keys.retain(|_, written| *written > commit_version);
        self.large.retain(|large| large.commit_version > commit_version);
        self.large_len = self.large.iter().map(|large| large.keys.len()).sum();
        self.values.values_mut().for_each(|values| values.retain(|_, written| *written > commit_version));
        self.values.retain(|_, values| !values.is_empty());
        self.values_len = self.values.values().map(BTreeMap::len).sum();
    }
    /// Keys and values remembered.
    pub fn len(&self) -> usize {
        self.keys.len() + self.large_len + self.values_len
    }
}

/// Does a value lie between these bounds?
pub(crate) fn in_range(value: &OrderKey, lower: &Bound<OrderKey>, upper: &Bound<OrderKey>) -> bool {
    let above = match lower {
        Bound::Included(lower) => value >= lower,
        Bound::Excluded(lower) => value > lower,
        Bound::Unbounded => true,
    };
    above
        && match upper {
            Bound::Included(upper) => value <= upper,
            Bound::Excluded(upper) => value < upper,
            Bound::Unbounded => true,
        }
}

fn is_empty_range(lower: &Bound<OrderKey>, upper: &Bound<OrderKey>) -> bool {
    match (lower, upper) {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a >= b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::VertexId;
    use std::collections::BTreeSet;
    use std::ops::RangeBounds;
    use world::chance::Chance;

    fn writes(vertices: std::ops::Range<u64>) -> Footprint {
        Footprint { keys: vertices.map(|id| Key::vertex(VertexId(id))).collect(), ..Footprint::default() }
    }
    fn reads(vertex: u64) -> Inner {
        Inner { keys: [Key::vertex(VertexId(vertex))].into_iter().collect(), ..Inner::default() }
    }

    #[test]
    fn memory_is_bounded_whatever_commits_write() {
        let mut conflicts = Conflicts::starting_at(0);
        let half = WRITTEN_KEYS_MAX as u64 / 2;
        for (commit_version, range) in [0..half, half..2 * half, 0..10, 10..half + 10].into_iter().enumerate()
        {
            conflicts.record(commit_version as u64 + 1, writes(range));
            assert!(conflicts.len() <= WRITTEN_KEYS_MAX);
        }
        assert!(conflicts.validate(&reads(11), 3).is_err(), "the last write is remembered");
        conflicts.record(5, writes(0..3 * half));
        assert_eq!(conflicts.len(), 0, "one giant commit is not remembered key by key");
        assert!(conflicts.validate(&reads(u64::MAX), 4).is_err(), "so who began before it must try again");
        conflicts.record(6, writes(0..1));
        assert!(conflicts.validate(&reads(1), 5).is_ok());
    }

    #[test]
    fn large_commits_are_remembered_like_small_ones() {
        let mut conflicts = Conflicts::starting_at(0);
        let large = LARGE_KEYS_MIN as u64;
        conflicts.record(1, writes(0..10));
        conflicts.record(2, writes(5..5 + large));
        conflicts.record(3, writes(1_000_000..1_000_000 + 2 * large));
        conflicts.record(4, writes(7..8));
        for (vertex, base, is_valid) in [
            (3, 0, false),
            (3, 1, true),
            (large, 1, false),
            (large, 2, true),
            (1_000_001, 2, false),
            (1_000_001, 3, true),
            (7, 3, false),
            (999_999, 0, true),
        ] {
            assert_eq!(conflicts.validate(&reads(vertex), base).is_ok(), is_valid, "{vertex} since {base}");
        }
        conflicts.forget_until(2);
        assert_eq!(conflicts.len(), 2 * large as usize + 1);
        assert!(conflicts.validate(&reads(1_000_001), 2).is_err(), "what is left is still known");
        conflicts.forget_until(4);
        assert_eq!(conflicts.len(), 0);
    }

    #[test]
    fn who_read_more_than_large_commits_wrote_is_judged_alike() {
        let mut conflicts = Conflicts::starting_at(0);
        let large = LARGE_KEYS_MIN as u64;
        conflicts.record(1, writes(0..large));
        conflicts.record(2, writes(10 * large..11 * large));
        for (read, base, is_valid) in [
            (large..4 * large, 0, true),
            (large - 1..4 * large, 0, false),
            (large - 1..4 * large, 1, true),
            (7 * large..10 * large, 1, true),
            (7 * large..10 * large + 1, 1, false),
            (7 * large..10 * large + 1, 2, true),
        ] {
            let keys = read.clone().map(|id| Key::vertex(VertexId(id))).collect();
            let reads = Inner { keys, ..Inner::default() };
            assert_eq!(conflicts.validate(&reads, base).is_ok(), is_valid, "{read:?} since {base}");
        }
    }

    #[test]
    fn ranges_of_indexes_that_changed_cannot_be_judged() {
        let mut conflicts = Conflicts::starting_at(0);
        let range = IndexRange { index: IndexId(0), lower: Bound::Unbounded, upper: Bound::Unbounded };
        let searched = Inner { ranges: vec![range], ..Inner::default() };
        conflicts.record(1, writes(0..1));
        assert!(conflicts.validate(&searched, 0).is_ok());
        conflicts.record(2, Footprint { indexes: true, ..Footprint::default() });
        assert!(conflicts.validate(&searched, 1).is_err());
        assert!(conflicts.validate(&reads(7), 1).is_ok(), "who searched no index does not care");
    }

    /// The obvious memory: every commit as it was made.
    struct Commit {
        commit_version: u64,
        keys: Vec<u64>,
        values: Vec<(u32, i64)>,
        indexes: bool,
    }

    fn bound(chance: &mut Chance) -> Bound<i64> {
        let value = chance.below(6) as i64;
        [Bound::Included(value), Bound::Excluded(value), Bound::Unbounded][chance.index(3)]
    }

    fn ordered(bound: Bound<i64>) -> Bound<OrderKey> {
        bound.map(|value| OrderKey(value.into()))
    }

    /// Random commits, some of them large, judged by this memory and by the list of all of them.
    #[test]
    fn the_memory_judges_as_the_list_of_all_commits_does() {
        let large = LARGE_KEYS_MIN as u64;
        for seed in 0..60 {
            let mut chance = Chance::seeded(seed);
            let (mut conflicts, mut twin, mut floor) = (Conflicts::starting_at(0), Vec::<Commit>::new(), 0);
            for commit_version in 1..20 {
                let many = if chance.below(5) == 0 { large - 1 + chance.below(3) } else { chance.below(9) };
                let start = chance.below(12);
                let keys: Vec<u64> = (start..start + many).collect();
                let values = (0..chance.below(3)).map(|_| (chance.below(2) as u32, chance.below(6) as i64));
                let commit =
                    Commit { commit_version, keys, values: values.collect(), indexes: chance.below(9) == 0 };
                let footprint = Footprint {
                    keys: commit.keys.iter().map(|key| Key::vertex(VertexId(*key))).collect(),
                    index_values: commit
                        .values
                        .iter()
                        .map(|(index, value)| (IndexId(*index), OrderKey((*value).into())))
                        .collect(),
                    indexes: commit.indexes,
                };
                conflicts.record(commit_version, footprint);
                twin.push(commit);
                if chance.below(6) == 0 {
                    let until = chance.below(commit_version + 1);
                    conflicts.forget_until(until);
                    floor = floor.max(until);
                }
                is_judged_alike(&mut conflicts, &twin, floor, &mut chance);
            }
        }
    }

    fn is_judged_alike(conflicts: &mut Conflicts, twin: &[Commit], floor: u64, chance: &mut Chance) {
        let large = LARGE_KEYS_MIN;
        let kept = || twin.iter().filter(|commit| commit.commit_version > floor);
        // A key counts where its last small commit is remembered; large commits count as they are.
        let small: BTreeSet<u64> = kept()
            .filter(|commit| commit.keys.len() < large)
            .flat_map(|commit| commit.keys.clone())
            .collect();
        let apart: usize =
            kept().filter(|commit| commit.keys.len() >= large).map(|commit| commit.keys.len()).sum();
        let values: BTreeSet<(u32, i64)> = kept().flat_map(|commit| commit.values.clone()).collect();
        assert_eq!(conflicts.len(), small.len() + apart + values.len());
        let last = twin.last().map_or(0, |commit| commit.commit_version);
        for _ in 0..12 {
            let start = chance.below(30);
            let keys: Vec<u64> = (start..start + chance.below(4)).collect();
            let ranges: Vec<(u32, Bound<i64>, Bound<i64>)> = (0..chance.below(3))
                .map(|_| (chance.below(3) as u32, bound(chance), bound(chance)))
                .collect();
            let base = chance.below(last + 1);
            let reads = Inner {
                keys: keys.iter().map(|key| Key::vertex(VertexId(*key))).collect(),
                ranges: ranges
                    .iter()
                    .map(|(index, lower, upper)| IndexRange {
                        index: IndexId(*index),
                        lower: ordered(*lower),
                        upper: ordered(*upper),
                    })
                    .collect(),
                everything: chance.below(20) == 0,
            };
            let later = || twin.iter().filter(|commit| commit.commit_version > base);
            let searched = |value: &(u32, i64)| {
                ranges
                    .iter()
                    .any(|(index, lower, upper)| *index == value.0 && (*lower, *upper).contains(&value.1))
            };
            let looked = !keys.is_empty() || !ranges.is_empty();
            let is_met = later().any(|commit| {
                commit.keys.iter().any(|key| keys.contains(key))
                    || commit.indexes && !ranges.is_empty()
                    || commit.values.iter().any(searched)
            });
            let is_too_old = base < floor && looked;
            let is_valid = base == last || !(reads.everything || is_too_old || is_met);
            let judged = conflicts.validate(&reads, base);
            assert_eq!(judged.is_ok(), is_valid, "{keys:?} {ranges:?} since {base}: {judged:?}");
        }
    }

    /// Each pair of bounds against each value, as the standard library has it.
    #[test]
    fn ranges_hold_what_lies_between_their_bounds() {
        let all = |value: i64| [Bound::Included(value), Bound::Excluded(value), Bound::Unbounded];
        for (low, high) in (0..4).flat_map(|low| (0..4).map(move |high| (low, high))) {
            for (lower, upper) in all(low).into_iter().flat_map(|lower| all(high).map(|upper| (lower, upper)))
            {
                let (own_lower, own_upper) = (ordered(lower), ordered(upper));
                for value in -1..5 {
                    let is_in = in_range(&OrderKey(value.into()), &own_lower, &own_upper);
                    assert_eq!(is_in, (lower, upper).contains(&value), "{value} in {lower:?}, {upper:?}");
                }
                let some = (-10..10).any(|value| (lower, upper).contains(&value));
                let between =
                    matches!((lower, upper), (Bound::Excluded(a), Bound::Excluded(b)) if a + 1 == b);
                assert!(is_empty_range(&own_lower, &own_upper) != some || between, "{lower:?}, {upper:?}");
            }
        }
    }
}
