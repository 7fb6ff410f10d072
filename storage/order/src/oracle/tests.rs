//! The oracle against its obvious twin: all pairs in a matrix, closed by brute force over every stamp there is.

use super::*;
use crate::gatekeepers::Gatekeeper;
use std::collections::BTreeSet;
use world::chance::Chance;

/// Every stamp ever given, and which comes before which.
#[derive(Clone, Default)]
struct Twin {
    stamps: Vec<Stamp>,
    decided: Vec<(usize, usize)>,
}

impl Twin {
    fn closure(&self) -> Vec<Vec<bool>> {
        let count = self.stamps.len();
        let by_vectors = |a: usize, b: usize| {
            let (a, b) = (&self.stamps[a], &self.stamps[b]);
            a != b && a.vector.iter().zip(&b.vector).all(|(a, b)| a <= b)
        };
        let mut before: Vec<Vec<bool>> =
            (0..count).map(|a| (0..count).map(|b| by_vectors(a, b)).collect()).collect();
        self.decided.iter().for_each(|(a, b)| before[*a][*b] = true);
        for via in 0..count {
            for from in 0..count {
                if before[from][via] {
                    (0..count).for_each(|to| before[from][to] |= before[via][to]);
                }
            }
        }
        assert!((0..count).all(|one| !before[one][one]), "a circle");
        before
    }
    fn known(&self, a: usize, b: usize) -> Option<Ordering> {
        let before = self.closure();
        match (before[a][b], before[b][a]) {
            (true, _) => Some(Ordering::Less),
            (_, true) => Some(Ordering::Greater),
            _ => None,
        }
    }
    fn order(&mut self, a: usize, b: usize, prefer: First) -> First {
        match (self.known(a, b), prefer) {
            (Some(Ordering::Less), _) => First::This,
            (Some(_), _) => First::That,
            (None, First::This) => {
                self.decided.push((a, b));
                prefer
            }
            (None, First::That) => {
                self.decided.push((b, a));
                prefer
            }
        }
    }
}

fn agree(oracle: &Oracle, twin: &Twin, among: &[usize]) {
    let before = twin.closure();
    for (a, b) in among.iter().flat_map(|a| among.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b) {
        let wanted = match (before[a][b], before[b][a]) {
            (true, _) => Some(Ordering::Less),
            (_, true) => Some(Ordering::Greater),
            _ => None,
        };
        let (one, other) = (&twin.stamps[a], &twin.stamps[b]);
        assert_eq!(oracle.known(one, other), wanted, "{one} and {other} after {:?}", twin.decided);
    }
}

/// All ways in which `count` gatekeepers can stamp and tell each other their clocks in so many steps, as lists of stamps.
fn all_stamps(count: usize, steps: usize) -> BTreeSet<Vec<(usize, Vec<u64>)>> {
    let mut found = BTreeSet::new();
    let fresh: Vec<Gatekeeper> = (0..count).map(|number| Gatekeeper::new(number, count)).collect();
    // With each gatekeeper and each stamp goes the set of stamps it really knows of, as bits.
    let mut open = vec![(fresh, vec![0_u64; count], Vec::<(Stamp, u64)>::new(), 0)];
    while let Some((gatekeepers, knows, stamps, step)) = open.pop() {
        if step == steps {
            causal(&stamps);
            found.insert(stamps.iter().map(|(one, _)| (one.gatekeeper(), one.vector().to_vec())).collect());
            continue;
        }
        for from in 0..count {
            let (mut after, mut known, mut more) = (gatekeepers.clone(), knows.clone(), stamps.clone());
            let stamp = after[from].stamp();
            known[from] |= 1 << more.len();
            more.push((stamp, known[from]));
            open.push((after, known, more, step + 1));
            for to in (0..count).filter(|to| *to != from) {
                let (mut after, mut known) = (gatekeepers.clone(), knows.clone());
                let told = after[from].announce(0);
                after[to].hear(0, &told);
                known[to] |= known[from];
                open.push((after, known, stamps.clone(), step + 1));
            }
        }
    }
    found
}

/// The vectors say exactly what the gatekeepers could know.
fn causal(stamps: &[(Stamp, u64)]) {
    for (a, (one, _)) in stamps.iter().enumerate() {
        for (b, (other, knows)) in stamps.iter().enumerate().filter(|(b, _)| *b != a) {
            assert_eq!(one.precedes(other), knows >> a & 1 == 1, "{one} and {other}");
            let by_all = one.vector().iter().zip(other.vector()).all(|(one, other)| one <= other);
            assert_eq!(one.precedes(other), by_all, "one component decides for all: {a}, {b}");
        }
    }
}

/// Asks for every order of every pair, twice in a row, from every list of stamps.
fn every_question(count: usize, steps: usize) -> usize {
    let mut asked = 0;
    for list in all_stamps(count, steps) {
        let stamps: Vec<Stamp> = list
            .into_iter()
            .map(|(gatekeeper, vector)| Stamp { epoch: 0, gatekeeper, vector: vector.into() })
            .collect();
        let all: Vec<usize> = (0..stamps.len()).collect();
        let pairs: Vec<(usize, usize)> =
            all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b).collect();
        let (oracle, twin) = (Oracle::new(count), Twin { stamps, ..Twin::default() });
        for (a, b) in &pairs {
            let (mut first, mut first_twin) = (oracle.clone(), twin.clone());
            ask(&mut first, &mut first_twin, (*a, *b), First::This);
            for (c, d) in &pairs {
                let (mut second, mut second_twin) = (first.clone(), first_twin.clone());
                ask(&mut second, &mut second_twin, (*c, *d), First::This);
                agree(&second, &second_twin, &all);
                asked += 1;
            }
        }
    }
    asked
}

fn ask(oracle: &mut Oracle, twin: &mut Twin, (a, b): (usize, usize), prefer: First) {
    let (one, other) = (twin.stamps[a].clone(), twin.stamps[b].clone());
    assert_eq!(oracle.order(&one, &other, prefer), twin.order(a, b, prefer), "{one} and {other}");
}

#[test]
fn every_small_history_is_ordered_like_the_twin_orders_it() {
    let (two, three) = (every_question(2, 6), every_question(3, 4));
    assert!(two > 10_000 && three > 10_000, "{two} and {three} questions");
}

#[test]
fn random_histories_are_ordered_like_the_twin_orders_them() {
    let given = std::env::var("TANGLEWOOD_ORDER_SEED").ok().and_then(|text| text.parse().ok());
    let seeds = given.map_or(0..60, |seed: u64| seed..seed + 1);
    let (mut forgotten, mut decisions) = (0, 0);
    for seed in seeds {
        eprintln!("TANGLEWOOD_ORDER_SEED={seed}");
        let mut chance = Chance::seeded(seed);
        let count = 2 + chance.index(4);
        let mut gatekeepers: Vec<Gatekeeper> =
            (0..count).map(|number| Gatekeeper::new(number, count)).collect();
        let (mut oracle, mut twin) = (Oracle::new(count), Twin::default());
        let mut open: Vec<usize> = Vec::new();
        for _ in 0..150 {
            let from = chance.index(count);
            match chance.below(10) {
                0..3 => {
                    open.push(twin.stamps.len());
                    twin.stamps.push(gatekeepers[from].stamp());
                }
                3 | 4 => {
                    let told = gatekeepers[from].announce(0);
                    gatekeepers[chance.index(count)].hear(0, &told);
                }
                5 if open.len() > 3 => {
                    // Whoever is done is not asked about any more; what all others know is forgotten.
                    open.remove(chance.index(open.len().div_ceil(2)));
                    let clocks = gatekeepers.iter().map(Gatekeeper::clock);
                    let mut known = clocks.chain(open.iter().map(|at| twin.stamps[*at].vector()));
                    let first = known.next().expect("there are gatekeepers").to_vec();
                    let frontier = known.fold(first, |least, next| {
                        least.iter().zip(next).map(|(least, next)| *least.min(next)).collect()
                    });
                    let before = oracle.len();
                    oracle.forget(&frontier);
                    forgotten += before - oracle.len();
                }
                _ if open.len() > 1 => {
                    let pair = (open[chance.index(open.len())], open[chance.index(open.len())]);
                    let prefer = if chance.happens(0.5) { First::This } else { First::That };
                    if pair.0 != pair.1 {
                        ask(&mut oracle, &mut twin, pair, prefer);
                    }
                }
                _ => {}
            }
            if chance.happens(0.2) {
                agree(&oracle, &twin, &open);
            }
        }
        decisions += oracle.decisions();
    }
    assert!(
        given.is_some() || forgotten > 20 && decisions > 200,
        "{forgotten} forgotten, {decisions} decided"
    );
}

#[test]
fn what_was_decided_holds_for_what_follows_by_vectors() {
    // The example of Weaver, §3.5.1: <0, 1> before <1, 0> was decided, so <0, 1> comes before <2, 0>.
    let (mut zero, mut one) = (Gatekeeper::new(0, 2), Gatekeeper::new(1, 2));
    let (first, other) = (zero.stamp(), one.stamp());
    let mut oracle = Oracle::new(2);
    assert_eq!(oracle.order(&other, &first, First::This), First::This);
    assert_eq!(oracle.known(&other, &zero.stamp()), Some(Ordering::Less));
    assert_eq!(oracle.order(&first, &other, First::This), First::That, "what was decided stays decided");
}
