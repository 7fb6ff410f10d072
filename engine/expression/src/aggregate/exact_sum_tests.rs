//! Tests of [`model::ExactSum`] by chance, which the room of the sum cannot draw.

use model::ExactSum;
use world::chance::Chance;

#[test]
fn tenths_sum_to_one() {
    assert_eq!(ExactSum::of(std::iter::repeat_n(0.1, 10)), 1.0);
    assert_eq!(ExactSum::of([1e308, 1.0, -1e308].into_iter()), 1.0);
    assert!(ExactSum::of([f64::INFINITY, f64::NEG_INFINITY].into_iter()).is_nan());
}

#[test]
fn only_a_sum_that_is_too_large_is_infinite() {
    let half_a_step = (f64::MAX - f64::MAX.next_down()) / 2.0;
    for (floats, sum) in [
        (vec![1e308, 1e308, -1e308, 1.0, -1e308], 1.0),
        (vec![-1e308, -1e308, -1e308, -1e308, -1e308, -1e308], f64::NEG_INFINITY),
        (vec![f64::MAX, half_a_step], f64::INFINITY),
        (vec![f64::MAX, half_a_step, -f64::from_bits(1)], f64::MAX),
        (vec![f64::MAX, f64::MAX, f64::from_bits(1), -f64::MAX, -f64::MAX], f64::from_bits(1)),
    ] {
        assert_eq!(ExactSum::of(floats.iter().copied()), sum, "{floats:?}");
        assert_eq!(ExactSum::of(floats.iter().rev().copied()), sum, "{floats:?} from behind");
    }
}

/// Its twin: the largest floats as integers, in steps of the least among them.
#[test]
fn what_is_too_large_on_the_way_leaves_no_trace() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let step = 2f64.powi(1023 - 115);
    for _ in 0..2_000 {
        let (mut sums, mut right) = ([ExactSum::default(), ExactSum::default()], 0_i128);
        let mut added: Vec<i128> = Vec::new();
        for _ in 0..chance.index(40) {
            let leaves = !added.is_empty() && chance.happens(0.4);
            let integer = match leaves {
                true => -added.swap_remove(chance.index(added.len())),
                false => {
                    let bits = i128::from(chance.below(1 << 53)) << chance.index(64);
                    let bits = if chance.happens(0.2) { ((1 << 53) - 1) << 63 } else { bits };
                    let signed = if chance.happens(0.4) { -bits } else { bits };
                    added.push(signed);
                    signed
                }
            };
            right += integer;
            sums[chance.index(2)].add(integer as f64 * step);
            let mut sum = sums[0].clone();
            sum.merge(&sums[1]);
            assert_eq!(sum.value(), right as f64 * step, "{right}");
        }
    }
}

#[test]
fn order_and_split_do_not_matter() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..200 {
        let mut floats: Vec<f64> =
            (0..50).map(|_| (chance.float() - 0.5) * 10f64.powi(chance.below(40) as i32 - 20)).collect();
        let sum = ExactSum::of(floats.iter().copied());
        chance.shuffle(&mut floats);
        let (left, right) = floats.split_at(chance.index(50));
        let mut merged = ExactSum::default();
        left.iter().for_each(|float| merged.add(*float));
        let mut other = ExactSum::default();
        right.iter().for_each(|float| other.add(*float));
        merged.merge(&other);
        assert_eq!(merged.value(), sum);
    }
}

#[test]
fn so_many_times_is_as_often_one_by_one() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..500 {
        let float = (chance.float() - 0.5) * 10f64.powi(chance.below(600) as i32 - 300);
        let times = chance.below(300);
        let (mut at_once, mut one_by_one) = (ExactSum::default(), ExactSum::default());
        at_once.add_times(float, times);
        (0..times).for_each(|_| one_by_one.add(float));
        assert_eq!(at_once.value(), one_by_one.value(), "{float} {times}");
    }
}

/// Its twin: each one by one. What goes leaves no trace, however often it came at once.
#[test]
fn a_value_counts_as_often_as_it_came() {
    use super::{Aggregator, RetractableSum};
    use model::Value;
    use plan::AggregateFunction::{Average, Sum};
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let duration = |chance: &mut Chance| {
        let (days, seconds) = (chance.below(100) as i64 - 50, chance.below(1 << 40) as i64 - (1 << 39));
        let nanos = chance.below(1_000_000_000) as u32;
        Value::from(model::temporal::Duration { months: 0, days, seconds, nanos })
    };
    for round in 0..500 {
        let mut kept = RetractableSum::default();
        let (mut sums, mut others) =
            ([Sum, Average].map(|function| Aggregator::new(function, false)), vec![]);
        for _ in 0..chance.index(5) {
            let value = match chance.index(6) {
                _ if round % 4 == 0 => duration(&mut chance),
                0 => Value::Int(chance.below(100) as i64 - 50),
                1 => Value::Float(f64::INFINITY),
                2 if round % 4 == 1 => Value::Float(f64::NAN),
                3 => Value::Float((chance.float() - 0.5) * 1e308),
                _ => Value::Float(chance.float() - 0.5),
            };
            let times = 1 + chance.below(40);
            for sum in &mut sums {
                (0..times).for_each(|_| sum.add(value.clone()).unwrap());
            }
            if !kept.update(&value, times as i64) {
                others.push((value, times));
            }
        }
        let gone = (Value::Float((chance.float() - 0.5) * 1e308), 1 + chance.below(1_000));
        assert!(kept.update(&gone.0, gone.1 as i64));
        (0..gone.1).for_each(|_| assert!(kept.update(&gone.0, -1)));
        for (sum, function) in sums.into_iter().zip([Sum, Average]) {
            let found = kept.value(function, others.iter().map(|(value, times)| (value, *times))).unwrap();
            assert_eq!(format!("{found:?}"), format!("{:?}", sum.finish().unwrap()), "round {round}");
        }
    }
    // As often as there are pairs of pairs of many rows: it takes no time.
    let often = 1_u64 << 60;
    for value in [f64::NAN, f64::NEG_INFINITY] {
        let found =
            RetractableSum::default().value(Sum, [(&Value::Float(value), often)].into_iter()).unwrap();
        assert!(matches!(found, Value::Float(found) if found.to_bits() == value.to_bits()), "{found:?}");
    }
    let mut kept = RetractableSum::default();
    assert!(kept.update(&Value::Float(0.5), often as i64));
    for (function, right) in [(Sum, often as f64 / 2.0), (Average, 0.5)] {
        let found = kept.value(function, [].into_iter()).unwrap();
        assert!(matches!(found, Value::Float(found) if found == right), "{found:?}");
    }
}
