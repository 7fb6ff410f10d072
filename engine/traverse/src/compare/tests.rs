//! Sameness against its plain form, and collections that are large.

use super::*;
use gremlin::object::Decimal;
use std::sync::Arc;
use world::chance::Chance;

/// The plain form: each element with each.
fn twin(a: &Object, b: &Object, nan: bool) -> bool {
    let pairs = |a: &[(Object, Object)], b: &[(Object, Object)]| {
        let alike =
            |x: &(Object, Object), y: &(Object, Object)| twin(&x.0, &y.0, nan) && twin(&x.1, &y.1, nan);
        a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| alike(x, y)))
    };
    match (a, b) {
        (Object::List(a), Object::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| twin(x, y, nan))
        }
        (Object::Set(a), Object::Set(b)) => {
            a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| twin(x, y, nan)))
        }
        (Object::Bulk(a), Object::Bulk(b)) => {
            a.len() == b.len() && a.iter().all(|(x, n)| b.iter().any(|(y, m)| n == m && twin(x, y, nan)))
        }
        (Object::Map(a) | Object::Tree(a), Object::Map(b) | Object::Tree(b)) => pairs(a, b),
        (Object::Entry(a), Object::Entry(b)) => twin(&a.0, &b.0, nan) && twin(&a.1, &b.1, nan),
        (a, b) => alike(a, b, nan),
    }
}

/// Few different ones, so that many are the same, and the same in other words.
fn random(chance: &mut Chance, depth: usize) -> Object {
    let several = |chance: &mut Chance| -> Vec<Object> {
        (0..chance.below(14)).map(|_| random(chance, depth - 1)).collect()
    };
    match chance.below(if depth == 0 { 10 } else { 16 }) {
        0 => Object::Int(chance.below(3) as i32),
        1 => Object::Long(chance.below(3) as i64),
        2 => Object::Double([0.0, -0.0, 1.0, 2.0, f64::NAN][chance.below(5) as usize]),
        3 => {
            let scale = chance.below(5) as i32 - 2;
            let unscaled = [0, 1, 2, 100, 2_000][chance.below(5) as usize];
            Object::BigDecimal(Arc::new(Decimal { unscaled, scale }))
        }
        4 => Object::Null,
        5 => Object::from(["a", "b"][chance.below(2) as usize]),
        6 => Object::Char('a'),
        7 => Object::Duration(chance.below(2) as i64, 0),
        8 => Object::Binary(vec![chance.below(2) as u8].into()),
        9 => Object::Bool(chance.happens(0.5)),
        10 => Object::list(several(chance)),
        11 => Object::Set(Arc::new(several(chance))),
        12 => Object::Bulk(Arc::new(
            several(chance).into_iter().map(|one| (one, 1 + chance.below(2))).collect(),
        )),
        kind @ (13 | 14) => {
            let pairs = several(chance).into_iter().map(|key| (key, random(chance, 0))).collect();
            if kind == 13 { Object::map(pairs) } else { Object::Tree(Arc::new(pairs)) }
        }
        _ => Object::Entry(Arc::new((random(chance, depth - 1), random(chance, depth - 1)))),
    }
}

/// The same value without shared parts.
fn unshared(object: &Object) -> Object {
    let all = |parts: &[Object]| Arc::new(parts.iter().map(unshared).collect::<Vec<_>>());
    match object {
        Object::List(parts) => Object::List(all(parts)),
        Object::Set(parts) => Object::Set(all(parts)),
        Object::Map(pairs) => {
            Object::Map(Arc::new(pairs.iter().map(|(key, value)| (unshared(key), unshared(value))).collect()))
        }
        Object::Entry(pair) => Object::Entry(Arc::new((unshared(&pair.0), unshared(&pair.1)))),
        other => other.clone(),
    }
}

/// The same elements in another order.
fn turned(object: &Object, chance: &mut Chance) -> Object {
    fn shuffled<T: Clone>(all: &[T], chance: &mut Chance) -> Vec<T> {
        let (mut all, mut turned) = (all.to_vec(), Vec::new());
        while !all.is_empty() {
            turned.push(all.swap_remove(chance.below(all.len() as u64) as usize));
        }
        turned
    }
    match object {
        Object::Set(all) => Object::Set(Arc::new(shuffled(all, chance))),
        Object::Map(all) => Object::Map(Arc::new(shuffled(all, chance))),
        other => other.clone(),
    }
}

#[test]
fn sameness_is_that_of_its_plain_form_and_what_is_the_same_hashes_alike() {
    let (mut same_ones, mut others) = (0, 0);
    for seed in 0..300 {
        let mut chance = Chance::seeded(seed);
        let mut all: Vec<Object> = (0..20).map(|_| random(&mut chance, 2)).collect();
        // Parts that stand in several places, and are compared once.
        for at in 0..4 {
            let parts = [&all[at], &all[at + 1], &all[at], &all[0]].map(Clone::clone);
            all.push(Object::list(parts.to_vec()));
        }
        let apart: Vec<Object> = all.iter().map(unshared).collect();
        for (a, a_apart) in all.iter().zip(&apart).filter(|_| seed % 8 == 0) {
            for (b, b_apart) in all.iter().zip(&apart) {
                assert_eq!(order(a, b), order(a_apart, b_apart), "seed {seed}: {a:?} {b:?}");
                assert_eq!(comparable(a, b), comparable(a_apart, b_apart), "seed {seed}: {a:?} {b:?}");
            }
        }
        for a in &all {
            for b in &all {
                for nan in [false, true] {
                    assert_eq!(alike(a, b, nan), twin(a, b, nan), "seed {seed}: {a:?} {b:?} {nan}");
                }
                if same(a, b) {
                    same_ones += 1;
                    assert_eq!(hash_of(a), hash_of(b), "seed {seed}: {a:?} {b:?}");
                } else {
                    others += 1;
                }
            }
            let turned = turned(a, &mut chance);
            assert!(same(a, &turned), "seed {seed}: {a:?}");
            assert_eq!(hash_of(a), hash_of(&turned), "seed {seed}: {a:?}");
        }
    }
    assert!(same_ones > 10_000 && others > 10_000, "{same_ones} the same, {others} not");
}

/// Two sets of 60,000 were compared by 3,600 million looks, and sets of one size all had one hash.
#[test]
fn large_sets_and_maps_are_compared_in_the_time_of_their_size() {
    let numbers = |by: i64| (0..60_000).map(|at| Object::Long(at * by)).collect::<Vec<_>>();
    let of = |by: i64| {
        let set = |all: Vec<Object>| Object::Set(Arc::new(all));
        let nested = numbers(by).into_iter().map(|one| set(vec![one.clone(), one])).collect();
        let map = numbers(by).into_iter().map(|one| (set(vec![one.clone()]), one)).collect();
        let durations = (0..60_000).map(|at| Object::Duration(at * by, 0)).collect();
        [set(numbers(by)), set(nested), Object::map(map), set(durations)]
    };
    for ((a, mut b), c) in of(1).into_iter().zip(of(1)).zip(of(2)) {
        if let Object::Set(all) = &mut b {
            Arc::make_mut(all).reverse();
        }
        assert!(same(&a, &b) && equal(&a, &b) && hash_of(&a) == hash_of(&b));
        assert!(!same(&a, &c) && hash_of(&a) != hash_of(&c));
        let keys: foldhash::HashSet<Keyed> = match &a {
            Object::Set(all) => all.iter().cloned().map(Keyed).collect(),
            _ => continue,
        };
        assert_eq!(keys.len(), 60_000);
    }
}

/// Sets of two within one another were compared by four comparisons at each level.
#[test]
fn deep_sets_are_compared_in_the_time_of_their_size() {
    let deep = |leaf: i64| {
        (0..16).fold(Object::Long(leaf), |inner, level| {
            Object::Set(Arc::new(vec![inner, Object::Set(Arc::new(vec![Object::Long(level)]))]))
        })
    };
    assert!(same(&deep(7), &deep(7)) && !same(&deep(7), &deep(8)));
    let both = |leaf: i64| {
        (0..14).fold(Object::Long(leaf), |inner, level| {
            let other = Object::Set(Arc::new(vec![inner.clone(), Object::Long(-level - 1)]));
            Object::Set(Arc::new(vec![inner, other]))
        })
    };
    assert!(same(&both(7), &both(7)) && !same(&both(7), &both(8)));
}
