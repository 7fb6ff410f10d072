//! What has something to do, in the order of a policy: the seats of one instance, and the instances of one crowd.

use crate::graph::Scope;
use crate::message::Tag;
use crate::policy::{InterPolicy, TagOrder};
use std::collections::{BTreeSet, VecDeque};

/// The ready seats of one instance: a set by precedence, or a queue.
#[derive(Default)]
pub(crate) struct ReadySeats {
    ordered: bool,
    words: Vec<u64>,
    queue: VecDeque<u16>,
    count: usize,
}

impl ReadySeats {
    pub(crate) fn reset(&mut self, members: usize, ordered: bool) {
        self.ordered = ordered;
        self.count = 0;
        self.queue.clear();
        self.words.clear();
        self.words.resize(members.div_ceil(64), 0);
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
    fn bit(&self, scope: &Scope, place: usize) -> usize {
        if self.ordered { usize::from(scope.precedence[place]) } else { place }
    }
    /// False if it was there.
    pub(crate) fn insert(&mut self, scope: &Scope, place: usize) -> bool {
        let bit = self.bit(scope, place);
        let (word, mask) = (&mut self.words[bit / 64], 1 << (bit % 64));
        if *word & mask != 0 {
            return false;
        }
        *word |= mask;
        self.count += 1;
        if !self.ordered {
            self.queue.push_back(place as u16);
        }
        true
    }
    pub(crate) fn remove(&mut self, scope: &Scope, place: usize) {
        let bit = self.bit(scope, place);
        let (word, mask) = (&mut self.words[bit / 64], 1 << (bit % 64));
        if *word & mask == 0 {
            return;
        }
        *word &= !mask;
        self.count -= 1;
        if !self.ordered {
            self.queue.retain(|other| usize::from(*other) != place);
        }
    }
    /// To the back, if turns are taken.
    pub(crate) fn rotate(&mut self, place: usize) {
        if !self.ordered
            && let Some(at) = self.queue.iter().position(|other| usize::from(*other) == place)
            && let Some(place) = self.queue.remove(at)
        {
            self.queue.push_back(place);
        }
    }
    /// The first place, in order, for which `wanted` says so.
    pub(crate) fn find<T>(&self, scope: &Scope, mut wanted: impl FnMut(usize) -> Option<T>) -> Option<T> {
        if !self.ordered {
            return self.queue.iter().find_map(|place| wanted(usize::from(*place)));
        }
        for (at, word) in self.words.iter().enumerate() {
            let mut word = *word;
            while word != 0 {
                let bit = at * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                if let Some(found) = wanted(usize::from(scope.by_precedence[bit])) {
                    return Some(found);
                }
            }
        }
        None
    }
}

/// A node by number and generation: one that was used anew is another.
type Name = (u32, u32);

enum Order {
    Queue(VecDeque<Name>),
    Sorted(BTreeSet<(u64, Name)>, Key),
    By(Vec<(Tag, Name)>, TagOrder),
}

#[derive(Clone, Copy)]
enum Key {
    Ascending,
    Descending,
    Rank,
}

/// The ready instances of one crowd.
pub(crate) struct ReadyInstances(Order);

impl ReadyInstances {
    pub(crate) fn new(policy: &InterPolicy) -> ReadyInstances {
        let sorted = |key| Order::Sorted(BTreeSet::new(), key);
        ReadyInstances(match policy {
            InterPolicy::Fifo => Order::Queue(VecDeque::new()),
            InterPolicy::Bfs => sorted(Key::Ascending),
            InterPolicy::Dfs => sorted(Key::Descending),
            InterPolicy::BestFirst => sorted(Key::Rank),
            InterPolicy::By(order) => Order::By(Vec::new(), order.clone()),
        })
    }
    pub(crate) fn clear(&mut self) {
        match &mut self.0 {
            Order::Queue(queue) => queue.clear(),
            Order::Sorted(set, _) => set.clear(),
            Order::By(list, _) => list.clear(),
        }
    }
    pub(crate) fn is_empty(&self) -> bool {
        match &self.0 {
            Order::Queue(queue) => queue.is_empty(),
            Order::Sorted(set, _) => set.is_empty(),
            Order::By(list, _) => list.is_empty(),
        }
    }
    pub(crate) fn insert(&mut self, node: u32, generation: u32, tag: Tag, rank: u64) {
        let name = (node, generation);
        match &mut self.0 {
            Order::Queue(queue) => queue.push_back(name),
            Order::Sorted(set, key) => {
                set.insert((key.of(tag, rank), name));
            }
            Order::By(list, order) => {
                let at = list.partition_point(|(other, _)| order(*other, tag).is_le());
                list.insert(at, (tag, name));
            }
        }
    }
    pub(crate) fn remove(&mut self, node: u32, generation: u32, tag: Tag, rank: u64) {
        let name = (node, generation);
        match &mut self.0 {
            Order::Queue(queue) => remove_from(queue, name),
            Order::Sorted(set, key) => {
                set.remove(&(key.of(tag, rank), name));
            }
            Order::By(list, _) => list.retain(|(_, other)| *other != name),
        }
    }
    /// To the back, if turns are taken.
    pub(crate) fn rotate(&mut self, node: u32, generation: u32) {
        if let Order::Queue(queue) = &mut self.0
            && queue.len() > 1
        {
            remove_from(queue, (node, generation));
            queue.push_back((node, generation));
        }
    }
    /// The first node, in order, for which `wanted` says so.
    pub(crate) fn find<T>(&self, mut wanted: impl FnMut(usize) -> Option<T>) -> Option<T> {
        match &self.0 {
            Order::Queue(queue) => queue.iter().find_map(|(node, _)| wanted(*node as usize)),
            Order::Sorted(set, _) => set.iter().find_map(|(_, (node, _))| wanted(*node as usize)),
            Order::By(list, _) => list.iter().find_map(|(_, (node, _))| wanted(*node as usize)),
        }
    }
}

/// Whoever leaves has just run, so it is at the front, or near it.
fn remove_from(queue: &mut VecDeque<Name>, name: Name) {
    if let Some(at) = queue.iter().position(|other| *other == name) {
        queue.remove(at);
    }
}

impl Key {
    /// Within one crowd tags differ in their last element only.
    fn of(self, tag: Tag, rank: u64) -> u64 {
        let number = u64::from(tag.number());
        match self {
            Key::Ascending => number,
            Key::Descending => u64::MAX - number,
            Key::Rank => rank,
        }
    }
}
