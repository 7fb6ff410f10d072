//! Aggregates: their answers, and that splitting the rows among executors does not change them.

use crate::Aggregator;
use model::batch::Carried;
use model::{Batch, Column, Value};
use plan::AggregateFunction as F;
use plan::expr::Constant;
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
