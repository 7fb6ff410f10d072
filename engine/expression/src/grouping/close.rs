//! The groups of integers that lie close together, by their distance from the least: each is looked up once.

use super::numbers::NO_GROUP;

/// Integers of a batch are close together if no two are further apart.
pub(super) const CLOSE_WIDTH_MAX: usize = 1 << 12;

/// Groups of the integers from `low` on.
#[derive(Clone, Debug, Default)]
pub(super) struct CloseGroups {
    low: i64,
    groups: Vec<u32>,
}

impl CloseGroups {
    /// What comes next are integers from `low` on, `width` at most: fewer than [`CLOSE_WIDTH_MAX`].
    pub(super) fn cover(&mut self, low: i64, width: usize) {
        let ends = |low: i64, width: usize| (i128::from(low), i128::from(low) + width as i128);
        let (held, new) = (ends(self.low, self.groups.len()), ends(low, width));
        if !self.groups.is_empty() && held.0 <= new.0 && new.1 <= held.1 {
            return;
        }
        let both = if self.groups.is_empty() { new } else { (held.0.min(new.0), held.1.max(new.1)) };
        if both.1 - both.0 > CLOSE_WIDTH_MAX as i128 {
            (self.low, self.groups) = (low, vec![NO_GROUP; width]);
            return;
        }
        let before = (held.0 - both.0) as usize;
        let mut groups = vec![NO_GROUP; (both.1 - both.0) as usize];
        if !self.groups.is_empty() {
            groups[before..before + self.groups.len()].copy_from_slice(&self.groups);
        }
        (self.low, self.groups) = (both.0 as i64, groups);
    }
    /// The group of an integer that is covered; `look_up` finds it the first time.
    #[inline(always)]
    pub(super) fn group(&mut self, value: i64, look_up: impl FnOnce() -> u32) -> u32 {
        let group = &mut self.groups[value.wrapping_sub(self.low) as usize];
        if *group == NO_GROUP {
            *group = look_up();
        }
        *group
    }
    /// Adds the groups of these values; false, and nothing is added, where one is not known.
    pub(super) fn take_known(&self, values: &[i64], groups: &mut Vec<u32>) -> bool {
        if self.groups.is_empty() {
            return false;
        }
        let (before, mut are_known) = (groups.len(), true);
        groups.resize(before + values.len(), NO_GROUP);
        for (group, value) in groups[before..].iter_mut().zip(values) {
            let known = self.groups.get(value.wrapping_sub(self.low) as usize);
            *group = known.copied().unwrap_or(NO_GROUP);
            are_known &= *group != NO_GROUP;
        }
        if !are_known {
            groups.truncate(before);
        }
        are_known
    }
    pub(super) fn bytes(&self) -> usize {
        self.groups.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use world::chance::Chance;

    /// Beside a map: ranges that grow, overlap, lie far apart, and at both ends of the integers.
    #[test]
    fn integers_keep_their_groups_whatever_ranges_come() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        for _ in 0..50 {
            let (mut close, mut groups) = (CloseGroups::default(), HashMap::new());
            for _ in 0..30 {
                let width = 1 + chance.index(CLOSE_WIDTH_MAX);
                let base = [0, i64::MIN, i64::MAX - 2 * CLOSE_WIDTH_MAX as i64][chance.index(3)];
                let low = base + chance.below(CLOSE_WIDTH_MAX as u64) as i64;
                close.cover(low, width);
                assert!(close.groups.len() <= CLOSE_WIDTH_MAX, "seed {seed}");
                for _ in 0..50 {
                    let value = low + chance.below(width as u64) as i64;
                    let next = groups.len() as u32;
                    let right = *groups.entry(value).or_insert(next);
                    assert_eq!(close.group(value, || right), right, "seed {seed}: {value}");
                }
                // Some of them are known, some are not, some lie beyond.
                let beyond = if chance.happens(0.5) { 0 } else { 5 };
                let low = low.saturating_sub(beyond);
                let values: Vec<i64> = (0..20).map(|_| low + chance.below(width as u64) as i64).collect();
                let mut found = vec![9];
                let are_known = close.take_known(&values, &mut found);
                let at = |value: &i64| close.groups.get(value.wrapping_sub(close.low) as usize).copied();
                let right: Vec<u32> = values.iter().map(|value| at(value).unwrap_or(NO_GROUP)).collect();
                assert_eq!(are_known, right.iter().all(|group| *group != NO_GROUP), "seed {seed}");
                assert_eq!(found[1..], if are_known { &right[..] } else { &[] }[..], "seed {seed}");
            }
        }
    }
}
