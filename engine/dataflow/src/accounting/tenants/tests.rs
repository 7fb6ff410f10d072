//! The distribution of time, in counted turns and in simulated time.

use super::*;
use crate::terms::limits::TURN_NS_MIN;
use std::collections::{BTreeMap, BTreeSet};
use world::chance::Chance;

/// Gives turns of half a millisecond; returns how many each query got.
fn run(tenants: &mut Tenants, turns: usize) -> BTreeMap<u64, usize> {
    let mut got = BTreeMap::new();
    for _ in 0..turns {
        let Some(Work::Query(owner, query)) = tenants.pick() else { panic!("all are always runnable") };
        *got.entry(query).or_default() += 1;
        tenants.charge(owner, query, 500_000, SHARE_DEFAULT, true);
    }
    got
}

#[test]
fn neither_many_users_nor_many_queries_make_a_part_larger() {
    let mut tenants = Tenants::default();
    tenants.set_share(Payer::Tenant(2), 300);
    let owner = |tenant, user| Owner { tenant, user };
    (0..10).for_each(|query| tenants.push(owner(1, 1), query));
    tenants.push(owner(1, 2), 10);
    tenants.push(owner(2, 0), 11);
    let got = run(&mut tenants, 8_000);
    assert!(got[&11].abs_diff(6_000) <= 10, "{got:?}");
    assert!(got[&10].abs_diff(1_000) <= 10, "{got:?}");
    assert!((0..10).all(|query| got[&query].abs_diff(100) <= 5), "{got:?}");
    tenants.remove(owner(2, 0), 11);
    tenants.remove(owner(1, 2), 10);
    let got = run(&mut tenants, 100);
    assert_eq!(got.values().sum::<usize>(), 100);
    (0..10).for_each(|query| tenants.remove(owner(1, 1), query));
    assert_eq!(tenants.pick(), None);
}

#[test]
fn weight_falls_as_a_query_runs_on() {
    let weights: Vec<u32> = [0, 9, 10, 19, 20, 40, 80, 160, 1 << 40].map(|ms| weight(ms * 1_000_000)).into();
    assert_eq!(weights, [100, 100, 50, 50, 25, 12, 6, 3, 1]);
}

const QUOTA_NS: u64 = 500_000;

/// Executors in simulated time: turns take exactly as long as they should, so that only the choice of the next decides.
struct Machine {
    executors: Vec<(Tenants, u64)>,
    /// By executor: when which query has its next piece of work there.
    arrivals: [BTreeSet<(u64, u64)>; 2],
    chance: Chance,
    queries: Vec<Asked>,
    /// How long each query took.
    times_ns: Vec<u64>,
}

/// A query of the well-behaved tenant: pieces of work on several executors.
struct Asked {
    asked_ns: u64,
    pieces: usize,
    left_ns: u64,
}

const GOOD: Owner = Owner { tenant: 1, user: 0 };
const HOSTILE: Owner = Owner { tenant: 2, user: 0 };
/// Numbers of the hostile tenant's queries begin here.
const ENDLESS: u64 = 1_000_000_000;

impl Machine {
    fn new(clients: u64, endless: u64, seed: u64) -> Machine {
        let mut machine = Machine {
            executors: (0..2).map(|_| (Tenants::default(), 0)).collect(),
            arrivals: Default::default(),
            chance: Chance::seeded(seed),
            queries: Vec::new(),
            times_ns: Vec::new(),
        };
        for (tenants, _) in &mut machine.executors {
            (0..endless).for_each(|query| tenants.push(HOSTILE, ENDLESS + query));
        }
        (0..clients).for_each(|_| machine.ask(0));
        machine
    }
    fn ask(&mut self, at_ns: u64) {
        let id = self.queries.len() as u64;
        self.queries.push(Asked { asked_ns: at_ns, pieces: 12, left_ns: 0 });
        self.next_piece(at_ns, id);
    }
    fn next_piece(&mut self, at_ns: u64, id: u64) {
        let query = &mut self.queries[id as usize];
        query.left_ns = 20_000 + self.chance.index(600_000) as u64;
        self.arrivals[self.chance.index(2)].insert((at_ns, id));
    }
    /// One turn of the executor that is furthest behind.
    fn turn(&mut self) {
        let me = usize::from(self.executors[1].1 < self.executors[0].1);
        let now_ns = self.executors[me].1;
        let (tenants, clock_ns) = &mut self.executors[me];
        while self.arrivals[me].first().is_some_and(|(at_ns, _)| *at_ns <= now_ns) {
            let (_, id) = self.arrivals[me].pop_first().expect("it was just looked at");
            tenants.push(GOOD, id);
        }
        let next_ns = self.arrivals[me].first().map(|(at_ns, _)| *at_ns);
        let Some(Work::Query(owner, id)) = tenants.pick() else {
            // Nothing to do: until something comes, which may be when the other one has done its turn.
            *clock_ns = next_ns.unwrap_or(u64::MAX).min(now_ns + TURN_NS_MIN);
            return;
        };
        // A turn ends early where something comes.
        let wanted_ns = next_ns.map_or(QUOTA_NS, |at_ns| (at_ns - now_ns).max(TURN_NS_MIN));
        let quota_ns = QUOTA_NS.min(wanted_ns);
        if owner == HOSTILE {
            self.executors[me].0.charge(owner, id, quota_ns, SHARE_DEFAULT, true);
            self.executors[me].1 += quota_ns;
            return;
        }
        let query = &mut self.queries[id as usize];
        let used_ns = quota_ns.min(query.left_ns);
        query.left_ns -= used_ns;
        let (more, end_ns) = (query.left_ns > 0, now_ns + used_ns);
        self.executors[me].0.charge(owner, id, used_ns, SHARE_DEFAULT, more);
        self.executors[me].1 = end_ns;
        if !more {
            query.pieces -= 1;
            let (is_over, asked_ns) = (query.pieces == 0, query.asked_ns);
            if is_over {
                self.executors.iter_mut().for_each(|(tenants, _)| tenants.remove(owner, id));
                self.times_ns.push(end_ns - asked_ns);
                self.ask(end_ns + 60_000);
            } else {
                self.next_piece(end_ns, id);
            }
        }
    }
    /// Queries answered in two seconds, and the time that 99 of 100 took.
    fn run(mut self) -> (usize, u64) {
        while self.executors.iter().all(|(_, now_ns)| *now_ns < 2_000_000_000) {
            self.turn();
        }
        self.times_ns.sort_unstable();
        (self.times_ns.len(), self.times_ns[self.times_ns.len() * 99 / 100])
    }
}

#[test]
fn a_good_tenant_keeps_its_half_beside_endless_queries() {
    for clients in [1, 2, 4, 8] {
        let (alone, alone_p99_ns) = Machine::new(clients, 0, 7).run();
        let (beside, beside_p99_ns) = Machine::new(clients, 8, 7).run();
        let kept = 2.0 * beside as f64 / alone as f64;
        let slower = beside_p99_ns as f64 / alone_p99_ns as f64;
        println!(
            "{clients} clients: {:.0} % of half of {alone}, p99 {slower:.2} times {alone_p99_ns}",
            100.0 * kept
        );
        assert!(kept >= 0.9, "{clients} clients keep {:.0} % of half", 100.0 * kept);
        assert!(slower < 3.0, "{clients} clients wait {slower:.1} times as long");
    }
}
