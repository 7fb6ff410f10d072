//! Tablets: parts of the data by which work is routed, more of them than executors, and their placement.
//!
//! This crate does not know what lies in a tablet; a graph's may be the vertices whose number falls into a range. A message on a
//! [`Route::Tablet`](crate::Route::Tablet) edge is split by tablet, and each part goes to the executor that hosts its tablet, so that
//! what is read there stays in that core's caches. On a [`Route::Placed`](crate::Route::Placed) edge that is a preference, and a message
//! is split by executor. Time spent on a tablet's messages is its load, or the part of it that operators report
//! ([`worked_on`](crate::Context::worked_on)).
//!
//! The balancer looks every [`BALANCE_EVERY_NS`]: where the busiest executor's tablets took clearly more than the idlest one's, it moves tablets from
//! the one to the other, those first that bring the two closest. A move redirects queries that begin after it; running queries keep the old
//! placement, since their operators hold earlier messages (Banyan, section 4.5). So a move changes no query but in speed.

use crate::terms::ids::TabletNo;
use crate::terms::limits::{
    BALANCE_BUSY_PERCENT, BALANCE_EVERY_NS, BALANCE_GAP_PERCENT, TABLET_MOVES_KEPT_MAX, TABLET_MOVES_MAX,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use world::clock::monotonic_ns;

/// A message that belongs to no tablet.
pub(crate) const NO_TABLET: u32 = u32::MAX;

/// A tablet, in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TabletInfo {
    /// Its number.
    pub tablet: TabletNo,
    /// The executor that hosts it for queries that begin now.
    pub executor: usize,
    /// Time spent on its messages since the runtime started, in nanoseconds.
    pub busy_ns: u64,
    /// How often it was moved since then.
    pub moves: u64,
}

/// A move of a tablet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TabletMove {
    /// The tablet.
    pub tablet: TabletNo,
    /// The executor that hosted it.
    pub from: usize,
    /// The executor that hosts it from then on.
    pub to: usize,
    /// When, by the monotonic clock.
    pub at_ns: u64,
}

/// The host of each tablet. A query keeps the placement it began with.
pub(crate) type Placement = Arc<[u32]>;

pub(crate) struct Tablets {
    executors: usize,
    placement: Mutex<Placement>,
    busy_ns: Vec<AtomicU64>,
    moved: Vec<AtomicU64>,
    balances: AtomicBool,
    moves_total: AtomicU64,
    moves: Mutex<VecDeque<TabletMove>>,
}

/// The balancer's state from its last look.
pub(crate) struct Balancer {
    seen_ns: Vec<u64>,
    /// Recent load: half of it is older than one look.
    load_ns: Vec<u64>,
}

impl Tablets {
    /// Placed round-robin.
    pub(crate) fn new(tablets: usize, executors: usize, balances: bool) -> Tablets {
        Tablets {
            executors,
            placement: Mutex::new((0..tablets).map(|tablet| (tablet % executors) as u32).collect()),
            busy_ns: (0..tablets).map(|_| AtomicU64::new(0)).collect(),
            moved: (0..tablets).map(|_| AtomicU64::new(0)).collect(),
            balances: AtomicBool::new(balances),
            moves_total: AtomicU64::new(0),
            moves: Mutex::default(),
        }
    }

    pub(crate) fn placement(&self) -> Placement {
        self.placement.lock().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.busy_ns.len()
    }

    pub(crate) fn add_busy(&self, tablet: usize, busy_ns: u64) {
        self.busy_ns[tablet].fetch_add(busy_ns, Relaxed);
    }

    pub(crate) fn set_balances(&self, balances: bool) {
        self.balances.store(balances, Relaxed);
    }

    pub(crate) fn moves(&self) -> (u64, Vec<TabletMove>) {
        (self.moves_total.load(Relaxed), self.moves.lock().iter().copied().collect())
    }

    pub(crate) fn infos(&self) -> Vec<TabletInfo> {
        let info = |(tablet, host): (usize, &u32)| {
            let busy_ns = self.busy_ns[tablet].load(Relaxed);
            let moves = self.moved[tablet].load(Relaxed);
            TabletInfo { tablet, executor: *host as usize, busy_ns, moves }
        };
        self.placement().iter().enumerate().map(info).collect()
    }

    /// Moves tablets; a move to where one is does nothing.
    pub(crate) fn move_all(&self, moves: impl IntoIterator<Item = (usize, usize)>) {
        let mut placement = self.placement.lock();
        let mut hosts = placement.to_vec();
        for (tablet, to) in moves {
            assert!(to < self.executors, "executor {to} of {}", self.executors);
            let from = std::mem::replace(&mut hosts[tablet], to as u32) as usize;
            if from != to {
                self.moves_total.fetch_add(1, Relaxed);
                self.moved[tablet].fetch_add(1, Relaxed);
                let mut log = self.moves.lock();
                if log.len() == TABLET_MOVES_KEPT_MAX {
                    log.pop_front();
                }
                log.push_back(TabletMove { tablet, from, to, at_ns: monotonic_ns() });
            }
        }
        *placement = hosts.into();
    }
}

impl Balancer {
    pub(crate) fn new(tablets: usize) -> Balancer {
        Balancer { seen_ns: vec![0; tablets], load_ns: vec![0; tablets] }
    }

    /// Compares the loads since the last look, and moves tablets if they were uneven.
    pub(crate) fn look(&mut self, tablets: &Tablets) {
        for tablet in 0..tablets.count() {
            let busy_ns = tablets.busy_ns[tablet].load(Relaxed);
            let since_ns = busy_ns - std::mem::replace(&mut self.seen_ns[tablet], busy_ns);
            self.load_ns[tablet] = self.load_ns[tablet] / 2 + since_ns;
        }
        let worth_ns = BALANCE_EVERY_NS * BALANCE_BUSY_PERCENT / 100;
        if tablets.balances.load(Relaxed) && self.load_ns.iter().sum::<u64>() > worth_ns {
            let mut hosts = tablets.placement().to_vec();
            tablets.move_all(plan(&self.load_ns, &mut hosts, tablets.executors));
        }
    }
}

/// Which tablets to move where, a few at a time: each move brings the busiest and the idlest executor closer. Changes `hosts` alike.
fn plan(load_ns: &[u64], hosts: &mut [u32], executors: usize) -> Vec<(usize, usize)> {
    let mut sums = vec![0_u64; executors];
    for (tablet, host) in hosts.iter().enumerate() {
        sums[*host as usize] += load_ns[tablet];
    }
    let enough = sums.iter().sum::<u64>() / executors as u64 * BALANCE_GAP_PERCENT / 100;
    let mut moves = Vec::new();
    while moves.len() < TABLET_MOVES_MAX {
        let busiest = (0..executors).max_by_key(|executor| sums[*executor]).expect("there are executors");
        let idlest = (0..executors).min_by_key(|executor| sums[*executor]).expect("there are executors");
        let gap = sums[busiest] - sums[idlest];
        let theirs = (0..hosts.len()).filter(|tablet| hosts[*tablet] as usize == busiest);
        // Between none and all of the gap; best is half of it.
        let fits = theirs.filter(|tablet| load_ns[*tablet] > 0 && load_ns[*tablet] < gap);
        let Some(tablet) = fits.min_by_key(|tablet| load_ns[*tablet].abs_diff(gap / 2)) else { break };
        if gap <= enough {
            break;
        }
        sums[busiest] -= load_ns[tablet];
        sums[idlest] += load_ns[tablet];
        hosts[tablet] = idlest as u32;
        moves.push((tablet, idlest));
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(load_ns: &[u64], hosts: &[u32], executors: usize) -> u64 {
        let mut sums = vec![0; executors];
        hosts.iter().zip(load_ns).for_each(|(host, load)| sums[*host as usize] += load);
        sums.iter().max().expect("some") - sums.iter().min().expect("some")
    }

    #[test]
    fn plans_close_the_gap_and_leave_what_is_even() {
        let seed = 11;
        let mut chance = world::chance::Chance::seeded(seed);
        for round in 0..2_000 {
            let executors = 1 + chance.below(8) as usize;
            let tablets = executors * (1 + chance.below(12) as usize);
            let load_ns: Vec<u64> = (0..tablets).map(|_| chance.below(1_000)).collect();
            let mut hosts: Vec<u32> = (0..tablets).map(|_| chance.below(executors as u64) as u32).collect();
            let before = gap(&load_ns, &hosts, executors);
            let mut rounds = 0;
            while !plan(&load_ns, &mut hosts, executors).is_empty() {
                rounds += 1;
                assert!(rounds < 100, "seed {seed} round {round}: it goes on moving");
            }
            let (after, mean) =
                (gap(&load_ns, &hosts, executors), load_ns.iter().sum::<u64>() / executors as u64);
            assert!(after <= before, "seed {seed} round {round}");
            // What is left is little, or no tablet of the busiest is small enough to help.
            let largest = load_ns.iter().max().expect("some");
            assert!(after <= (mean * BALANCE_GAP_PERCENT / 100).max(*largest), "seed {seed} round {round}");
        }
    }
}
