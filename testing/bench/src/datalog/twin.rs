//! The plain searches that answers are held against.

use crate::graphs::Edges;
use std::collections::{BTreeMap, HashSet, VecDeque};

/// A pair as a number of which sums are compared.
pub fn mixed(a: u32, b: u32) -> u64 {
    (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11
}

/// Targets by source.
pub type Lists = BTreeMap<u32, Vec<u32>>;

pub fn lists(edges: &Edges) -> Lists {
    let mut found = Lists::new();
    edges.iter().for_each(|(a, b)| found.entry(*a).or_default().push(*b));
    found
}

pub fn backwards(edges: &Edges) -> Edges {
    edges.iter().map(|(a, b)| (*b, *a)).collect()
}

/// The vertices reached from these over one edge or more.
pub fn reached(lists: &Lists, from: impl IntoIterator<Item = u32>) -> HashSet<u32> {
    let (mut found, mut queue) = (HashSet::new(), VecDeque::from_iter(from));
    while let Some(at) = queue.pop_front() {
        for next in lists.get(&at).into_iter().flatten() {
            if found.insert(*next) {
                queue.push_back(*next);
            }
        }
    }
    found
}

/// Number and sum of the pairs of the transitive closure.
pub fn closure(edges: &Edges) -> (usize, u64) {
    let (lists, mut count, mut sum) = (lists(edges), 0, 0_u64);
    for source in lists.keys() {
        for target in reached(&lists, [*source]) {
            count += 1;
            sum = sum.wrapping_add(mixed(*source, target));
        }
    }
    (count, sum)
}

/// All pairs of one generation.
pub fn generation(edges: &Edges) -> HashSet<(u32, u32)> {
    let lists = lists(edges);
    let (mut found, mut queue) = (HashSet::new(), VecDeque::new());
    let mut add = |pair: (u32, u32), queue: &mut VecDeque<(u32, u32)>| {
        if found.insert(pair) {
            queue.push_back(pair);
        }
    };
    for children in lists.values() {
        for a in children {
            children.iter().filter(|b| a != *b).for_each(|b| add((*a, *b), &mut queue));
        }
    }
    while let Some((a, b)) = queue.pop_front() {
        for x in lists.get(&a).into_iter().flatten() {
            lists.get(&b).into_iter().flatten().for_each(|y| add((*x, *y), &mut queue));
        }
    }
    found
}

/// Number and sum of these pairs.
pub fn summed(pairs: &HashSet<(u32, u32)>) -> (usize, u64) {
    (pairs.len(), pairs.iter().map(|(a, b)| mixed(*a, *b)).fold(0, u64::wrapping_add))
}
