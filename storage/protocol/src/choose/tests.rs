//! All processes that choose by the rule, from whichever of the chains' records, take them in parts of one total order.

use super::*;
use order::{First, Gatekeeper, Oracle};
use std::collections::VecDeque;
use world::chance::Chance;

/// Stamps of `gates` gates that now and then announce their clocks to each other.
fn stamps(chance: &mut Chance, gates: usize, count: usize) -> Vec<VecDeque<Stamp>> {
    let mut all: Vec<Gatekeeper> = (0..gates).map(|number| Gatekeeper::new(number, gates)).collect();
    let mut chains = vec![VecDeque::new(); gates];
    for _ in 0..count {
        let at = chance.index(gates);
        chains[at].push_back(all[at].stamp());
        if chance.happens(0.3) {
            let (from, to) = (chance.index(gates), chance.index(gates));
            let clock: Box<[u64]> = all[from].clock().into();
            all[to].hear(0, &clock);
        }
    }
    chains
}

/// Takes everything; records come in any order of chains.
fn taken(chance: &mut Chance, oracle: &mut Oracle, mut coming: Vec<VecDeque<Stamp>>) -> Vec<Stamp> {
    let mut here: Vec<VecDeque<(Stamp, u64)>> = vec![VecDeque::new(); coming.len()];
    let mut last: Vec<Option<Stamp>> = vec![None; coming.len()];
    let (mut decided, mut order, mut arrivals) = (Decided::default(), Vec::new(), 0);
    loop {
        let heads: Vec<Head> = (0..here.len())
            .map(|at| match here[at].front() {
                Some((stamp, arrival)) => Head::Record(stamp, *arrival),
                None if coming[at].is_empty() => Head::End,
                None => Head::Frontier(last[at].as_ref()),
            })
            .collect();
        match choose(&heads, &decided) {
            Choice::Take(at) => {
                let Some((stamp, _)) = here[at].pop_front() else { continue };
                decided.drop(&stamp);
                last[at] = Some(stamp.clone());
                order.push(stamp);
            }
            Choice::Ask(pairs) => {
                assert!(!pairs.is_empty(), "nothing to ask and nothing to take");
                for (this, that) in pairs {
                    let before = oracle.order(&this, &that, First::This) == First::This;
                    decided.learn(&this, &that, before);
                }
            }
            Choice::Empty if coming.iter().all(VecDeque::is_empty) => return order,
            Choice::Empty | Choice::Wait => {
                let left: Vec<usize> = (0..coming.len()).filter(|at| !coming[*at].is_empty()).collect();
                let at = left[chance.index(left.len())];
                arrivals += 1;
                here[at].extend(coming[at].pop_front().map(|stamp| (stamp, arrivals)));
            }
        }
    }
}

#[test]
fn all_who_choose_agree_with_the_oracle_and_each_other() {
    for seed in 0..300 {
        let mut chance = Chance::seeded(seed);
        let gates = 1 + chance.index(4);
        let count = chance.index(30);
        let all = stamps(&mut chance, gates, count);
        let mut oracle = Oracle::new(gates);
        for _ in 0..3 {
            let mut some = all.clone();
            for chain in &mut some {
                chain.retain(|_| chance.happens(0.6));
            }
            let order = taken(&mut chance, &mut oracle, some);
            for (at, later) in order.iter().enumerate() {
                for earlier in &order[..at] {
                    // Not only never against the oracle: what was taken first is known to be first.
                    let known = oracle.known(earlier, later);
                    assert_eq!(known, Some(std::cmp::Ordering::Less), "seed {seed}: {earlier} and {later}");
                }
            }
        }
    }
}

#[test]
fn a_chain_that_is_silent_holds_up_until_its_frontier_is_after_a_record() {
    let (mut one, mut other) = (Gatekeeper::new(0, 2), Gatekeeper::new(1, 2));
    let record = one.stamp();
    let early = other.stamp();
    let decided = Decided::default();
    let heads = |frontier| [Head::Record(&record, 1), Head::Frontier(frontier)];
    assert_eq!(choose(&heads(None), &decided), Choice::Wait);
    assert_eq!(choose(&heads(Some(&early)), &decided), Choice::Wait);
    other.hear(0, one.clock());
    let late = other.stamp();
    assert_eq!(choose(&heads(Some(&late)), &decided), Choice::Take(0));
    assert_eq!(choose(&[Head::End, Head::Frontier(None)], &decided), Choice::Empty);
}
