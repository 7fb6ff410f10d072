//! Gatekeepers: every commit passes through one of them and gets a stamp (Weaver, §3.3.3).
//!
//! Idea: each gatekeeper counts its own stamps and remembers the highest counters it has heard of the others. It announces its clock when
//! tau has passed since it last did, and only while it gives stamps. Cost of a stamp: one vector.
//! Invariants: counters only grow; a gatekeeper that hears a clock takes over all of it.

use crate::stamp::{Stamp, merge};
use crate::tau::Tau;

/// Gatekeepers in one bank: a stamp has a counter for each.
pub const GATEKEEPERS_MAX: usize = 64;

/// One gatekeeper, wherever it lives.
#[derive(Clone, Debug)]
pub struct Gatekeeper {
    number: usize,
    epoch: u64,
    clock: Box<[u64]>,
    announced_us: u64,
}

impl Gatekeeper {
    /// Number `number` of a bank of `count`.
    pub fn new(number: usize, count: usize) -> Gatekeeper {
        assert!(number < count && count <= GATEKEEPERS_MAX, "{number} of {count} gatekeepers");
        Gatekeeper { number, epoch: 0, clock: vec![0; count].into(), announced_us: 0 }
    }
    /// The next stamp.
    pub fn stamp(&mut self) -> Stamp {
        self.clock[self.number] += 1;
        Stamp { epoch: self.epoch, gatekeeper: self.number, vector: self.clock.clone() }
    }
    /// The counters that it knows, one for each gatekeeper.
    pub fn clock(&self) -> &[u64] {
        &self.clock
    }
    /// Is it time to announce the clock?
    pub fn is_due(&self, now_us: u64, tau: &Tau) -> bool {
        now_us.saturating_sub(self.announced_us) >= tau.us()
    }
    /// The clock that it announces to the others at this time.
    pub fn announce(&mut self, now_us: u64) -> Box<[u64]> {
        self.announced_us = now_us;
        self.clock.clone()
    }
    /// Hears the clock of another, of this epoch or a newer one.
    pub fn hear(&mut self, epoch: u64, clock: &[u64]) {
        self.epoch = self.epoch.max(epoch);
        merge(&mut self.clock, clock);
    }
}

/// All gatekeepers of one process.
#[derive(Debug)]
pub struct Gatekeepers {
    all: Vec<Gatekeeper>,
    tau: Tau,
    announcements: u64,
}

impl Gatekeepers {
    /// So many, at least one and at most [`GATEKEEPERS_MAX`].
    pub fn new(count: usize) -> Gatekeepers {
        let count = count.clamp(1, GATEKEEPERS_MAX);
        let all = (0..count).map(|number| Gatekeeper::new(number, count)).collect();
        Gatekeepers { all, tau: Tau::default(), announcements: 0 }
    }
    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }
    /// A stamp from one of them; numbers beyond the last begin anew. If tau has passed, it then announces its clock.
    pub fn stamp(&mut self, number: usize, now_us: u64) -> Stamp {
        let number = number % self.all.len();
        let stamp = self.all[number].stamp();
        if self.all.len() > 1 && self.all[number].is_due(now_us, &self.tau) {
            self.announce(number, now_us);
        }
        stamp
    }
    /// A stamp that comes after every stamp this clock knows.
    pub fn stamp_after(&mut self, number: usize, epoch: u64, clock: &[u64]) -> Stamp {
        let number = number % self.all.len();
        self.all[number].hear(epoch, clock);
        self.all[number].stamp()
    }
    /// All others hear the clock of one.
    pub fn announce(&mut self, number: usize, now_us: u64) {
        let clock = self.all[number].announce(now_us);
        let epoch = self.all[number].epoch;
        for other in self.all.iter_mut().filter(|other| other.number != number) {
            other.hear(epoch, &clock);
        }
        let messages = self.all.len() as u64 - 1;
        self.announcements += messages;
        self.tau.announced(messages);
    }
    /// Everybody announces now: all stamps from now on come after every stamp given before.
    pub fn announce_all(&mut self) {
        for number in 0..self.all.len() {
            let at = self.all[number].announced_us;
            self.announce(number, at);
        }
    }
    /// So many questions went to the oracle since it was last said; tau follows.
    pub fn asked(&mut self, questions: u64) {
        self.tau.asked(questions);
    }
    /// The counters that all of them know: every stamp from now on comes after these.
    pub fn frontier(&self) -> Box<[u64]> {
        let mut frontier = self.all[0].clock.clone();
        for other in &self.all[1..] {
            frontier.iter_mut().zip(&other.clock).for_each(|(least, own)| *least = (*least).min(*own));
        }
        frontier
    }
    /// The period between announcements.
    pub fn tau(&self) -> &Tau {
        &self.tau
    }
    /// Messages that announced clocks so far.
    pub fn announcements(&self) -> u64 {
        self.announcements
    }
}
