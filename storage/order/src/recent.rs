//! Who touched what lately: finds the placed transactions that a new one conflicts with, among those it may be concurrent with.
//!
//! Idea: for each key, the last that wrote it and those that read it since. Whoever wrote before the last writer comes before it already,
//! and who read before it too, so only these need be asked about. Two transactions conflict when one wrote what the other read or wrote.
//! Invariant: whatever is forgotten is known to all gatekeepers. Cost: one look-up a key; memory is bounded by its owner.

use crate::stamp::Stamp;
use foldhash::HashMap;
use std::collections::{BTreeSet, VecDeque};

/// What a transaction read and wrote, as keys.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// Keys read.
    pub reads: Vec<u64>,
    /// Keys written.
    pub writes: Vec<u64>,
    /// It read more than is worth listing: any write conflicts.
    pub reads_everything: bool,
}

#[derive(Clone, Debug, Default)]
struct Holders {
    writer: Option<u64>,
    readers: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Placed {
    stamp: Stamp,
    touched: Touched,
}

/// The placed transactions that later ones may be concurrent with.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    placed: VecDeque<Placed>,
    /// How many were forgotten: the number of the first that is left.
    first: u64,
    keys: HashMap<u64, Holders>,
    readers_of_everything: BTreeSet<u64>,
    remembered: usize,
}

impl Recent {
    /// Keys remembered.
    pub fn remembered_keys(&self) -> usize {
        self.remembered
    }
    /// Those that conflict with a transaction, the oldest first.
    pub fn conflicting(&self, touched: &Touched) -> Vec<&Stamp> {
        let mut found = BTreeSet::new();
        for key in &touched.writes {
            if let Some(holders) = self.keys.get(key) {
                found.extend(holders.writer);
                found.extend(&holders.readers);
            }
        }
        if !touched.writes.is_empty() {
            found.extend(&self.readers_of_everything);
        }
        if touched.reads_everything {
            found.extend(self.first..self.first + self.placed.len() as u64);
        }
        found.extend(touched.reads.iter().filter_map(|key| self.keys.get(key)?.writer));
        found.into_iter().map(|number| &self.placed[(number - self.first) as usize].stamp).collect()
    }
    /// Remembers a transaction that was placed behind all others.
    pub fn push(&mut self, stamp: Stamp, touched: Touched) {
        let number = self.first + self.placed.len() as u64;
        for key in &touched.reads {
            self.keys.entry(*key).or_default().readers.push(number);
        }
        for key in &touched.writes {
            *self.keys.entry(*key).or_default() = Holders { writer: Some(number), readers: Vec::new() };
        }
        if touched.reads_everything {
            self.readers_of_everything.insert(number);
        }
        self.remembered += touched.reads.len() + touched.writes.len();
        self.placed.push_back(Placed { stamp, touched });
    }
    /// Forgets from the front what every later stamp comes after.
    pub fn forget(&mut self, frontier: &[u64]) {
        let known = |placed: &mut Placed| placed.stamp.counter() <= frontier[placed.stamp.gatekeeper];
        while let Some(placed) = self.placed.pop_front_if(known) {
            let number = self.first;
            self.first += 1;
            self.remembered -= placed.touched.reads.len() + placed.touched.writes.len();
            self.readers_of_everything.remove(&number);
            for key in placed.touched.reads.iter().chain(&placed.touched.writes) {
                let Some(holders) = self.keys.get_mut(key) else { continue };
                holders.readers.retain(|reader| *reader != number);
                holders.writer = holders.writer.filter(|writer| *writer != number);
                if holders.writer.is_none() && holders.readers.is_empty() {
                    self.keys.remove(key);
                }
            }
        }
    }
}
