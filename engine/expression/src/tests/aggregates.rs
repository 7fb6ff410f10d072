//! Aggregates: their answers, and that splitting the rows among executors does not change them.

use crate::segments::Segments;
use crate::{Aggregator, Extremes, Sums};
use model::batch::Carried;
use model::column::Texts;
use model::{Batch, Column, Value};
use plan::AggregateFunction as F;
use plan::expr::Constant;
use std::sync::Arc;
use world::chance::Chance;

fn aggregate(function: F, distinct: bool, values: &[Value]) -> Value {
    let mut aggregator = Aggregator::new(function, distinct);
    let column = Carried::new(values.iter().cloned().collect());
    aggregator.update_all(&[column], 0..values.len()).unwrap();
    aggregator.finish().unwrap()
}

fn percentile(function: F, values: &[Value], percentile: f64) -> Value {
    let mut aggregator = Aggregator::new(function, false);
    let arguments = [
        Carried::new(values.iter().cloned().collect()),
        Carried::new(Column::Constant(percentile.into(), values.len())),
    ];
    aggregator.update_all(&arguments, 0..values.len()).unwrap();
    aggregator.finish().unwrap()
}

fn same(found: Value, expected: impl Into<Value>) {
    assert_eq!(Constant(found), Constant(expected.into()));
}

#[test]
fn answers() {
    let ints: Vec<Value> = vec![1.into(), Value::Null, 3.into(), 3.into()];
    same(aggregate(F::Count, false, &ints), 3);
    same(aggregate(F::Count, true, &ints), 2);
    same(aggregate(F::Sum, false, &ints), 7);
    same(aggregate(F::Sum, true, &ints), 4);
    same(aggregate(F::Average, false, &ints), 7.0 / 3.0);
    same(aggregate(F::Min, false, &ints), 1);
    same(aggregate(F::Max, false, &ints), 3);
    same(aggregate(F::Collect, false, &ints), vec![1.into(), 3.into(), 3.into()]);
    same(aggregate(F::Collect, true, &ints), vec![1.into(), 3.into()]);
    same(aggregate(F::StDev, false, &[1.into(), 2.into(), 3.into()]), 1.0);
    same(aggregate(F::StDevP, false, &[1.into(), 3.into()]), 1.0);
}

#[test]
fn of_nothing() {
    let nothing = [Value::Null];
    same(aggregate(F::Count, false, &nothing), 0);
    same(aggregate(F::Sum, false, &nothing), 0);
    same(aggregate(F::Average, false, &nothing), Value::Null);
    same(aggregate(F::Min, false, &nothing), Value::Null);
    same(aggregate(F::Collect, false, &nothing), Vec::<Value>::new());
    same(aggregate(F::StDev, false, &nothing), 0.0);
    same(percentile(F::PercentileCont, &nothing, 0.5), Value::Null);
}

#[test]
fn sums_are_exact_and_checked() {
    same(aggregate(F::Sum, false, &vec![Value::Float(0.1); 10]), 1.0);
    same(aggregate(F::Sum, false, &[1.into(), 0.5.into()]), 1.5);
    let mut aggregator = Aggregator::new(F::Sum, false);
    aggregator.add(i64::MAX.into()).unwrap();
    aggregator.add(1.into()).unwrap();
    let mut fits = aggregator.clone();
    fits.add(Value::Int(-1)).unwrap();
    same(fits.finish().unwrap(), i64::MAX);
    assert_eq!(aggregator.finish().unwrap_err().code(), "Neo.ClientError.Statement.ArithmeticError");
    let mut aggregator = Aggregator::new(F::Sum, false);
    assert_eq!(aggregator.add("a".into()).unwrap_err().code(), "Neo.ClientError.Statement.TypeError");
}

#[test]
fn extremes_of_mixed_types_follow_the_total_order() {
    let list = Value::list(vec![1.into(), 2.into()]);
    let mixed = [1.into(), "a".into(), Value::Null, list.clone(), 0.2.into(), "b".into()];
    same(aggregate(F::Max, false, &mixed), 1);
    same(aggregate(F::Min, false, &mixed), list);
}

#[test]
fn percentiles() {
    let prices = [10.0.into(), 20.0.into(), 30.0.into()];
    same(percentile(F::PercentileDisc, &prices, 0.0), 10.0);
    same(percentile(F::PercentileDisc, &prices, 0.5), 20.0);
    same(percentile(F::PercentileDisc, &prices, 1.0), 30.0);
    same(percentile(F::PercentileCont, &prices, 0.25), 15.0);
    same(percentile(F::PercentileDisc, &[1.into(), 2.into()], 0.5), 1);
    let mut aggregator = Aggregator::new(F::PercentileCont, false);
    let arguments =
        [Carried::new(Column::Constant(1.into(), 1)), Carried::new(Column::Constant(1.1.into(), 1))];
    let error = aggregator.update(&arguments, 0).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Statement.ArgumentError");
}

#[test]
fn splitting_the_rows_changes_nothing() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let functions =
        [F::CountRows, F::Count, F::Sum, F::Average, F::Min, F::Max, F::StDev, F::StDevP, F::Collect];
    for _ in 0..400 {
        let numeric = chance.happens(0.8);
        let rows = 1 + chance.index(40);
        let value = |chance: &mut Chance| match chance.below(if numeric { 3 } else { 4 }) {
            0 => Value::Null,
            1 => Value::Int(chance.below(9) as i64 - 4),
            2 => Value::Float((chance.float() - 0.5) * 10f64.powi(chance.below(20) as i32)),
            _ => ["x", "y"][chance.index(2)].into(),
        };
        let batch = Batch::new(vec![(0..rows).map(|_| value(&mut chance)).collect()], rows);
        let function = functions[chance.index(functions.len())];
        let distinct = chance.happens(0.5);
        let arguments: Vec<Carried> =
            if function == F::CountRows { Vec::new() } else { vec![batch.column(0).clone()] };
        let whole = {
            let mut aggregator = Aggregator::new(function, distinct);
            aggregator.update_all(&arguments, 0..rows).and_then(|()| aggregator.finish())
        };
        let mut parts: Vec<Aggregator> = (0..3).map(|_| Aggregator::new(function, distinct)).collect();
        let one_by_one = (0..rows).try_for_each(|row| parts[row * 3 / rows].update(&arguments, row));
        let merged = one_by_one.and_then(|()| {
            let mut parts = parts.into_iter();
            let mut first = parts.next().unwrap();
            parts.try_for_each(|part| first.merge(part))?;
            first.finish()
        });
        match (whole, merged) {
            (Ok(whole), Ok(merged)) => {
                assert_eq!(Constant(whole), Constant(merged), "{function:?} {distinct}")
            }
            (Err(_), Err(_)) => {}
            other => panic!("{function:?} {distinct}: {other:?}"),
        }
    }
}

/// The obvious twin: numbers are multiples of a quarter, so that their sums are exact; durations are of seconds.
fn twin(function: F, distinct: bool, values: &[Value]) -> Value {
    let mut kept: Vec<Value> = Vec::new();
    for value in values.iter().filter(|value| !value.is_null()) {
        if !distinct || !kept.iter().any(|held| model::compare::equivalent(held, value)) {
            kept.push(value.clone());
        }
    }
    let numbers: Vec<f64> = kept.iter().filter_map(crate::operators::as_float).collect();
    let count = kept.len();
    let seconds: i64 =
        kept.iter().map(|value| if let Value::Duration(held) = value { held.seconds } else { 0 }).sum();
    let of_seconds = |seconds: f64| {
        let duration = model::temporal::Duration { seconds: 1, ..Default::default() };
        Value::from(duration.times(seconds).unwrap())
    };
    let has_durations = matches!(kept.first(), Some(Value::Duration(_)));
    let sum: f64 = numbers.iter().sum();
    let deviation = |less: f64| {
        let mean = sum / count as f64;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        Value::Float(if count < 2 { 0.0 } else { (squares / (count as f64 - less)).sqrt() })
    };
    match function {
        F::CountRows => Value::Int(values.len() as i64),
        F::Count => Value::Int(count as i64),
        F::Sum if has_durations => of_seconds(seconds as f64),
        F::Sum if kept.iter().any(|value| matches!(value, Value::Float(_))) => Value::Float(sum),
        F::Sum => Value::Int(sum as i64),
        F::Average if count == 0 => Value::Null,
        F::Average if has_durations => of_seconds(seconds as f64 / count as f64),
        F::Average => Value::Float(sum / count as f64),
        F::StDev => deviation(1.0),
        F::StDevP => deviation(0.0),
        F::Collect => Value::list(kept),
        F::Min | F::Max => {
            kept.sort_by(model::compare::total_order);
            let best = if function == F::Min { kept.first() } else { kept.last() };
            // Of 1 and 1.0 it is the integer.
            let is_best = |value: &&Value| best.is_some_and(|best| model::compare::equivalent(best, value));
            let whole = kept.iter().find(|value| is_best(value) && matches!(value, Value::Int(_)));
            whole.or(best).cloned().unwrap_or_default()
        }
        F::PercentileCont | F::PercentileDisc => unreachable!("they take two arguments"),
    }
}

/// Equal, and floats of a deviation nearly so.
fn is_near(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
        _ => model::compare::equivalent(a, b),
    }
}

/// However values come (in columns, the same many times, one by one, as sums that somebody kept, in parts), the answer is the twin's.
#[test]
fn every_way_in_gives_the_answer_of_the_twin() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let functions =
        [F::CountRows, F::Count, F::Sum, F::Average, F::Min, F::Max, F::StDev, F::StDevP, F::Collect];
    for case in 0..3_000 {
        let (function, distinct) = (functions[chance.index(functions.len())], chance.happens(0.4));
        let kind = chance.below(5);
        let takes_all = matches!(function, F::CountRows | F::Count | F::Min | F::Max | F::Collect);
        let value = |chance: &mut Chance| match (kind, chance.below(8)) {
            (_, 0) => Value::Null,
            (0, _) => Value::Int(chance.below(9) as i64 - 4),
            (1, _) => Value::Float((chance.below(33) as f64 - 16.0) / 4.0),
            (2, which) if which < 5 => Value::Int(chance.below(9) as i64 - 4),
            (2, _) => Value::Float((chance.below(33) as f64 - 16.0) / 4.0),
            (3, _) if matches!(function, F::Sum | F::Average) || takes_all => {
                let seconds = chance.below(9) as i64 * 4;
                Value::from(model::temporal::Duration { seconds, ..Default::default() })
            }
            (4, _) if takes_all => ["x", "y", "z"][chance.index(3)].into(),
            _ => Value::Int(chance.below(9) as i64 - 4),
        };
        let mut given = Vec::new();
        let mut parts: Vec<Aggregator> =
            (0..1 + chance.index(3)).map(|_| Aggregator::new(function, distinct)).collect();
        for part in &mut parts {
            for _ in 0..chance.below(4) {
                let rows = chance.index(12);
                match chance.below(5) {
                    0 => {
                        let same = value(&mut chance);
                        let column = Carried::new(Column::Constant(same.clone(), rows));
                        part.update_all(&argument(function, column), 0..rows).unwrap();
                        given.extend(std::iter::repeat_n(same, rows));
                    }
                    1 if function != F::CountRows && !distinct => {
                        (0..rows).for_each(|_| {
                            let value = value(&mut chance);
                            part.add(value.clone()).unwrap();
                            given.push(value);
                        });
                    }
                    2 if matches!(function, F::Sum | F::Average) && !distinct && kind < 3 => {
                        let integers: Vec<i64> = (0..rows).map(|_| chance.below(9) as i64 - 4).collect();
                        part.add_integers(rows as i64, integers.iter().map(|int| i128::from(*int)).sum())
                            .unwrap();
                        given.extend(integers.into_iter().map(Value::Int));
                        let floats: Vec<f64> =
                            (0..chance.index(4)).map(|_| chance.below(9) as f64 / 4.0).collect();
                        let mut sum = crate::ExactSum::default();
                        floats.iter().for_each(|float| sum.add(*float));
                        part.add_floats(floats.len() as i64, &sum).unwrap();
                        given.extend(floats.into_iter().map(Value::Float));
                    }
                    which => {
                        let values: Vec<Value> = (0..rows).map(|_| value(&mut chance)).collect();
                        let column: Column = values.iter().cloned().collect();
                        let column = if chance.happens(0.5) { coded(column) } else { column };
                        let arguments = argument(function, Carried::new(column));
                        match which {
                            3 => part.update_all(&arguments, 0..rows).unwrap(),
                            2 => (0..rows).for_each(|row| part.update(&arguments, row).unwrap()),
                            _ => {
                                // The part is one of two groups; nothing falls to the other.
                                let mut groups: Segments<Aggregator> =
                                    [Aggregator::new(function, distinct), part.clone()].into_iter().collect();
                                Aggregator::update_groups(&mut groups, &arguments, &vec![1; rows]).unwrap();
                                *part = groups.pop().unwrap();
                            }
                        }
                        given.extend(values);
                    }
                }
            }
        }
        let expected = twin(function, distinct, &given);
        let mut parts = parts.into_iter();
        let mut whole = parts.next().unwrap();
        parts.for_each(|part| whole.merge(part).unwrap());
        let settled = (0..100).position(|_| whole.settle());
        assert!(settled.is_some(), "seed {seed} case {case}: it is settled at some time");
        let found = whole.finish().unwrap();
        let story = format!("seed {seed} case {case}: {function:?} distinct {distinct} of {given:?}");
        assert!(is_near(&found, &expected), "{story}: {found:?}, not {expected:?}");
        // With DISTINCT the first of 1 and 1.0 is kept.
        if !distinct {
            assert_eq!(found.value_type(), expected.value_type(), "{story}");
        }
    }
}

/// Texts without nulls as codes into a dictionary; all else as it is.
fn coded(column: Column) -> Column {
    match &column {
        Column::Text(texts, nulls) if nulls.is_empty() => {
            let dictionary = ["z", "unused", "y", "x"];
            let codes =
                (0..texts.len()).map(|row| dictionary.iter().position(|text| *text == texts.get(row)));
            let codes = codes.map(|code| code.unwrap() as u16).collect();
            let mut held = Texts::default();
            dictionary.iter().for_each(|text| held.push(text));
            Column::Text(Texts::from_codes(Arc::new(held), codes), nulls.clone())
        }
        _ => column,
    }
}

fn argument(function: F, column: Carried) -> Vec<Carried> {
    if function == F::CountRows { Vec::new() } else { vec![column] }
}

#[test]
fn what_an_aggregate_does_not_take_is_refused() {
    let sum = crate::ExactSum::default();
    for function in [F::Count, F::Min, F::Collect, F::StDev] {
        let mut aggregator = Aggregator::new(function, false);
        assert!(aggregator.add_integers(1, 1).is_err() && aggregator.add_floats(1, &sum).is_err());
        assert_eq!(aggregator.add_count(1).is_err(), function != F::Count);
    }
    // Durations and numbers do not go together, whichever comes first, here or in another part.
    let duration = || Value::from(model::temporal::Duration { days: 1, ..Default::default() });
    for (one, other) in
        [(duration(), Value::Int(1)), (Value::Int(1), duration()), (Value::Float(0.5), duration())]
    {
        let mut aggregator = Aggregator::new(F::Sum, false);
        aggregator.add(one.clone()).unwrap();
        let mut part = Aggregator::new(F::Sum, false);
        part.add(other.clone()).unwrap();
        assert!(aggregator.clone().merge(part).is_err(), "{one:?} {other:?}");
        assert!(aggregator.add(other.clone()).is_err(), "{one:?} {other:?}");
        let column = [Carried::new([other.clone()].into_iter().collect())];
        assert!(aggregator.update(&column, 0).is_err(), "{one:?} {other:?}");
        assert!(aggregator.clone().update_all(&column, 0..1).is_err(), "{one:?} {other:?}");
        let mut groups: Segments<Aggregator> = [aggregator].into_iter().collect();
        assert!(Aggregator::update_groups(&mut groups, &column, &[0]).is_err(), "{one:?} {other:?}");
    }
    // Nothing was added, so nothing is a float.
    let mut nothing = Aggregator::new(F::Sum, false);
    nothing.add_floats(0, &sum).unwrap();
    nothing.add_integers(0, 0).unwrap();
    same(nothing.finish().unwrap(), 0);
}

/// A mean is taken away from each value, not from their squares, which would lose all digits.
#[test]
fn a_deviation_keeps_its_digits_far_from_zero() {
    let values: Vec<Value> = [1e17, 1e17 + 16.0, 1e17 + 32.0].map(Value::Float).into();
    same(aggregate(F::StDev, false, &values), 16.0);
}

/// A long list is put together a piece at a time, each in a call of its own.
#[test]
fn a_long_list_is_settled_in_pieces() {
    let mut aggregator = Aggregator::new(F::Collect, false);
    let rows = 5 * crate::segments::SEGMENT;
    (0..rows).for_each(|n| aggregator.add(Value::Int(n as i64)).unwrap());
    let settled = (0..100).position(|_| aggregator.settle());
    assert!(settled.is_some_and(|calls| (4..8).contains(&calls)), "{settled:?}");
}

/// Numbers of every size, and what has to be kept in full.
fn summand(chance: &mut Chance) -> Value {
    match chance.below(14) {
        0 => Value::Null,
        1 => Value::Int(i64::MAX - chance.below(3) as i64),
        2 => Value::Int(i64::MIN + chance.below(3) as i64),
        3 => [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, -1e300, -0.0][chance.index(6)].into(),
        4 => (chance.float() * 1e-300).into(),
        5..8 => Value::Int(chance.below(100) as i64 - 50),
        _ => (chance.float() * 100.0 - 50.0).into(),
    }
}

/// Rows of one value, and what is to be added for them.
fn of_one_value(one: Value, rows: usize) -> (Carried, Vec<Value>) {
    let added = if one.is_null() { 0 } else { rows };
    (Carried::new(Column::Constant(one.clone(), rows)), vec![one; added])
}

#[test]
fn small_sums_are_those_of_the_general_form() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for round in 0..300 {
        let function = [F::Sum, F::Average][chance.index(2)];
        let groups_max = 1 + chance.index(4);
        let mut parts: Vec<Sums> = (0..2).map(|_| Sums::new(function)).collect();
        let mut twins: Vec<Aggregator> = (0..groups_max).map(|_| Aggregator::new(function, false)).collect();
        parts.iter_mut().for_each(|part| part.grow_to(groups_max));
        for _ in 0..3 {
            let rows = chance.index(20);
            let plain = chance.happens(0.5);
            let value = |chance: &mut Chance| match plain {
                true => Value::from(chance.float()),
                false => summand(chance),
            };
            let mut values: Vec<Value> = (0..rows).map(|_| value(&mut chance)).collect();
            let mut groups: Vec<u32> = (0..rows).map(|_| chance.index(groups_max) as u32).collect();
            let mut column = Carried::new(values.iter().cloned().collect());
            // All rows may have one value, as those of a level of a search, and all may be of one group.
            if chance.happens(0.3) {
                let one = if chance.happens(0.2) { Value::Null } else { value(&mut chance) };
                (column, values) = of_one_value(one, rows);
            }
            let part = chance.index(2);
            if chance.happens(0.3) {
                groups.fill(0);
                parts[part].update(&column, None, rows).unwrap();
            } else {
                parts[part].update(&column, Some(&groups), rows).unwrap();
            }
            for (value, group) in values.into_iter().zip(groups) {
                twins[group as usize].add(value).unwrap();
            }
        }
        let mut other = parts.pop().unwrap();
        parts[0].merge(&mut other, &(0..groups_max as u32).collect::<Vec<_>>()).unwrap();
        for (group, twin) in twins.into_iter().enumerate() {
            let (found, right) = (parts[0].column(group..group + 1), twin.finish());
            match (found, right) {
                (Ok(found), Ok(right)) => {
                    let found = found.get(0);
                    // Zeros have a sign, too.
                    let bits = |value: &Value| match value {
                        Value::Float(float) if !float.is_nan() => Some(float.to_bits()),
                        _ => None,
                    };
                    assert_eq!(bits(&found), bits(&right), "seed {seed} round {round}");
                    assert_eq!(Constant(found), Constant(right), "seed {seed} round {round}")
                }
                (Err(found), Err(right)) => assert_eq!(found.code(), right.code()),
                (found, right) => panic!("seed {seed} round {round}: {found:?} for {right:?}"),
            }
        }
    }
    // Durations go together with durations alone.
    let mut sums = Sums::new(F::Sum);
    sums.grow_to(1);
    let column = |value: Value| Carried::new(Column::Constant(value, 1));
    let duration = Value::from(model::temporal::Duration { months: 1, ..Default::default() });
    sums.update(&column(duration.clone()), None, 1).unwrap();
    same(sums.column(0..1).unwrap().get(0), duration);
    assert!(sums.update(&column(1.into()), None, 1).is_err());
}

#[test]
fn small_extremes_are_those_of_the_general_form() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for round in 0..300 {
        let function = [F::Min, F::Max][chance.index(2)];
        let groups_max = 1 + chance.index(4);
        let mut parts: Vec<Extremes> = (0..2).map(|_| Extremes::new(function)).collect();
        let mut twins: Vec<Aggregator> = (0..groups_max).map(|_| Aggregator::new(function, false)).collect();
        parts.iter_mut().for_each(|part| part.grow_to(groups_max));
        for _ in 0..4 {
            let rows = chance.index(12);
            let kind = chance.below(4);
            let value = |chance: &mut Chance| match (kind, chance.below(6)) {
                (0, number) => Value::Int(number as i64),
                (1, 0) => f64::NAN.into(),
                (1, number) => (number as f64).into(),
                (2, number) => Value::string(format!("text {number}")),
                _ => summand(chance),
            };
            let mut values: Vec<Value> = (0..rows).map(|_| value(&mut chance)).collect();
            let mut groups: Vec<u32> = (0..rows).map(|_| chance.index(groups_max) as u32).collect();
            let mut column = Carried::new(values.iter().cloned().collect());
            if chance.happens(0.3) {
                let one = if chance.happens(0.2) { Value::Null } else { value(&mut chance) };
                (column, values) = of_one_value(one, rows);
            }
            if chance.happens(0.3) {
                groups.fill(0);
                parts[chance.index(2)].update(&column, None, rows);
            } else {
                parts[chance.index(2)].update(&column, Some(&groups), rows);
            }
            for (value, group) in values.into_iter().zip(groups) {
                twins[group as usize].add(value).unwrap();
            }
        }
        let mut other = parts.pop().unwrap();
        parts[0].merge(&mut other, &(0..groups_max as u32).collect::<Vec<_>>());
        for (group, twin) in twins.into_iter().enumerate() {
            let found = parts[0].column(group..group + 1).get(0);
            assert_eq!(Constant(found), Constant(twin.finish().unwrap()), "seed {seed} round {round}");
        }
    }
}
