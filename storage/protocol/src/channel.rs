//! The channel of one gate to one shard: items in order, over a network that loses, doubles and reorders.
//!
//! Idea: items are numbered; the shard names the next one it wants; the gate keeps unacknowledged ones and sends them again.
//! Invariant: the stamps of a channel rise, and the shard takes all of them in that order.

use crate::limits::{AHEAD_MAX, CHANNEL_MAX, RESEND_MAX};
use crate::record::Record;
use order::Stamp;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A record, or a NOP: the promise that no earlier record will come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Its number in the channel, from 0.
    pub number: u64,
    /// Of the record, or of the NOP.
    pub stamp: Stamp,
    /// Nothing for a NOP.
    pub record: Option<Arc<Record>>,
}

/// The gate's end.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    first: u64,
    unacknowledged: VecDeque<Item>,
    sent_us: u64,
}

/// The shard's end.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    next: u64,
    ahead: BTreeMap<u64, Item>,
}

impl Outgoing {
    /// Numbers an item; it is kept until it is acknowledged.
    pub fn push(&mut self, now_us: u64, stamp: Stamp, record: Option<Arc<Record>>) -> Item {
        if self.unacknowledged.is_empty() {
            self.sent_us = now_us;
        }
        let item = Item { number: self.first + self.unacknowledged.len() as u64, stamp, record };
        self.unacknowledged.push_back(item.clone());
        item
    }
    /// Has it room for `more` items?
    pub fn has_room(&self, more: usize) -> bool {
        self.unacknowledged.len() + more <= CHANNEL_MAX
    }
    /// The shard has everything before `next`.
    pub fn acknowledge(&mut self, now_us: u64, next: u64) {
        while self.first < next && self.unacknowledged.pop_front().is_some() {
            self.first += 1;
            self.sent_us = now_us;
        }
    }
    /// Items to be sent again, because the shard asks for them or has been silent for too long.
    pub fn again(&mut self, now_us: u64, silent_us: u64, asked: bool) -> Vec<Item> {
        let late = now_us.saturating_sub(self.sent_us) >= silent_us;
        if self.unacknowledged.is_empty() || !(asked || late) {
            return Vec::new();
        }
        self.sent_us = now_us;
        self.unacknowledged.iter().take(RESEND_MAX).cloned().collect()
    }
}

impl Incoming {
    /// Takes an item; answers those that are now in order. Without order it takes each as it comes, which is a fault on purpose.
    pub fn take(&mut self, item: Item, in_order: bool) -> Vec<Item> {
        if !in_order {
            let news = item.number >= self.next;
            self.next = self.next.max(item.number + 1);
            return if news { vec![item] } else { Vec::new() };
        }
        if item.number < self.next || item.number - self.next >= AHEAD_MAX as u64 {
            return Vec::new();
        }
        if item.number > self.next {
            self.ahead.insert(item.number, item);
            return Vec::new();
        }
        let mut ready = vec![item];
        self.next += 1;
        while let Some(item) = self.ahead.remove(&self.next) {
            ready.push(item);
            self.next += 1;
        }
        ready
    }
    /// The number that it wants next.
    pub fn next(&self) -> u64 {
        self.next
    }
    /// Is an item missing before one that came?
    pub fn has_gap(&self) -> bool {
        !self.ahead.is_empty()
    }
}

#[cfg(test)]
mod tests;
