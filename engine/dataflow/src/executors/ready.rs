//! Sets of members that have work, in the order of a policy: the seats of one instance, and the instances of one crowd.

use crate::graphs::graph::Scope;
use crate::graphs::policy::{InterPolicy, TagOrder};
use crate::terms::message::Tag;
use std::collections::{BTreeSet, VecDeque};

/// The ready seats of one instance: a set by precedence, or a queue.
#[derive(Default)]
pub(crate) struct ReadySeats {
    ordered: bool,
    count: u32,
    /// The set: its first 64 bits, and the others.
    first: u64,
    more: Vec<u64>,
    queue: VecDeque<u16>,
}

impl ReadySeats {
    pub(crate) fn reset(&mut self, members: usize, ordered: bool) {
        self.ordered = ordered;
        self.count = 0;
        self.first = 0;
        self.queue.clear();
        self.more.clear();
        self.more.resize(members.div_ceil(64).saturating_sub(1), 0);
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// The word and the bit of a place.
    #[inline]
    fn bit(&mut self, scope: &Scope, place: usize) -> (&mut u64, u64) {
        let bit = if self.ordered { usize::from(scope.precedence[place]) } else { place };
        let word = if bit < 64 { &mut self.first } else { &mut self.more[bit / 64 - 1] };
        (word, 1 << (bit % 64))
    }
    /// False if it was there.
    #[inline]
    pub(crate) fn insert(&mut self, scope: &Scope, place: usize) -> bool {
        let (word, mask) = self.bit(scope, place);
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
    #[inline]
    pub(crate) fn remove(&mut self, scope: &Scope, place: usize) {
        let (word, mask) = self.bit(scope, place);
        if *word & mask == 0 {
            return;
        }
        *word &= !mask;
        self.count -= 1;
        if !self.ordered {
            self.queue.retain(|other| usize::from(*other) != place);
        }
    }
    /// To the back, under a policy of turns.
    #[inline]
    pub(crate) fn rotate(&mut self, place: usize) {
        if !self.ordered
            && let Some(at) = self.queue.iter().position(|other| usize::from(*other) == place)
            && let Some(place) = self.queue.remove(at)
        {
            self.queue.push_back(place);
        }
    }
    /// The first place, in order, that satisfies `wanted`.
    #[inline]
    pub(crate) fn find<T>(&self, scope: &Scope, mut wanted: impl FnMut(usize) -> Option<T>) -> Option<T> {
        if !self.ordered {
            return self.queue.iter().find_map(|place| wanted(usize::from(*place)));
        }
        for (at, word) in std::iter::once(&self.first).chain(&self.more).enumerate() {
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

/// No node.
pub(crate) const NO_NODE: u32 = u32::MAX;

/// The neighbours of a node in its crowd's queue.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    before: u32,
    after: u32,
}

impl Link {
    pub(crate) const NONE: Link = Link { before: NO_NODE, after: NO_NODE };
}

/// Storage of the links of nodes.
pub(crate) trait Links {
    fn link(&mut self, node: u32) -> &mut Link;
    fn after(&self, node: u32) -> u32;
}

/// A queue of nodes, linked through them, so that one in the middle leaves at no cost.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    first: u32,
    last: u32,
}

impl Queue {
    const EMPTY: Queue = Queue { first: NO_NODE, last: NO_NODE };

    #[inline]
    pub(crate) fn push_back(&mut self, links: &mut impl Links, node: u32) {
        *links.link(node) = Link { before: self.last, after: NO_NODE };
        match self.last {
            NO_NODE => self.first = node,
            last => links.link(last).after = node,
        }
        self.last = node;
    }
    #[inline]
    pub(crate) fn remove(&mut self, links: &mut impl Links, node: u32) {
        let Link { before, after } = std::mem::replace(links.link(node), Link::NONE);
        match before {
            NO_NODE => self.first = after,
            before => links.link(before).after = after,
        }
        match after {
            NO_NODE => self.last = before,
            after => links.link(after).before = before,
        }
    }
}

pub(crate) enum Order {
    Queue(Queue),
    /// By key, then by number: the older first.
    Sorted(BTreeSet<(u64, u32, u32)>, Key),
    By(Vec<(Tag, u32)>, TagOrder),
}

#[derive(Clone, Copy)]
pub(crate) enum Key {
    Ascending,
    Descending,
    Rank,
}

/// The ready instances of one crowd.
pub(crate) struct ReadyInstances(pub(crate) Order);

impl ReadyInstances {
    pub(crate) fn new(policy: &InterPolicy) -> ReadyInstances {
        let sorted = |key| Order::Sorted(BTreeSet::new(), key);
        ReadyInstances(match policy {
            InterPolicy::Fifo => Order::Queue(Queue::EMPTY),
            InterPolicy::Bfs => sorted(Key::Ascending),
            InterPolicy::Dfs => sorted(Key::Descending),
            InterPolicy::BestFirst => sorted(Key::Rank),
            InterPolicy::By(order) => Order::By(Vec::new(), order.clone()),
        })
    }
    pub(crate) fn clear(&mut self) {
        match &mut self.0 {
            Order::Queue(queue) => *queue = Queue::EMPTY,
            Order::Sorted(set, _) => set.clear(),
            Order::By(list, _) => list.clear(),
        }
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match &self.0 {
            Order::Queue(queue) => queue.first == NO_NODE,
            Order::Sorted(set, _) => set.is_empty(),
            Order::By(list, _) => list.is_empty(),
        }
    }
    /// For orders other than a queue, whose links lie in the nodes.
    #[inline]
    pub(crate) fn insert(&mut self, node: u32, tag: Tag, rank: u64) {
        match &mut self.0 {
            Order::Queue(_) => unreachable!("a queue is linked through its nodes"),
            Order::Sorted(set, key) => {
                set.insert((key.of(tag, rank), tag.number(), node));
            }
            Order::By(list, order) => {
                let at = list.partition_point(|(other, _)| order(*other, tag).is_le());
                list.insert(at, (tag, node));
            }
        }
    }
    /// As [`insert`](Self::insert).
    #[inline]
    pub(crate) fn remove(&mut self, node: u32, tag: Tag, rank: u64) {
        match &mut self.0 {
            Order::Queue(_) => unreachable!("a queue is linked through its nodes"),
            Order::Sorted(set, key) => {
                set.remove(&(key.of(tag, rank), tag.number(), node));
            }
            Order::By(list, order) => {
                let from = list.partition_point(|(other, _)| order(*other, tag).is_lt());
                let among = list[from..].iter().position(|(_, other)| *other == node);
                // A user's order that is none may have put it anywhere.
                let at =
                    among.map(|at| from + at).or_else(|| list.iter().position(|(_, other)| *other == node));
                if let Some(at) = at {
                    list.remove(at);
                }
            }
        }
    }
    /// The first node, in order, that satisfies `wanted`.
    #[inline]
    pub(crate) fn find<T>(
        &self,
        links: &impl Links,
        mut wanted: impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        match &self.0 {
            Order::Queue(queue) => {
                let mut node = queue.first;
                while node != NO_NODE {
                    let found = wanted(node as usize);
                    if found.is_some() {
                        return found;
                    }
                    node = links.after(node);
                }
                None
            }
            Order::Sorted(set, _) => set.iter().find_map(|(_, _, node)| wanted(*node as usize)),
            Order::By(list, _) => list.iter().find_map(|(_, node)| wanted(*node as usize)),
        }
    }
}

impl Link {
    #[inline]
    pub(crate) fn after(self) -> u32 {
        self.after
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
