//! Groups and their aggregates, maintained row by row.
//!
//! Counts and sums of numbers are kept as such (of floats exactly, however large on the way, so that one that goes leaves no trace; infinities and
//! NaN are kept as they are); min and max keep the values in order; the others keep their values and are computed anew when the group changes. A
//! group exists as long as it has rows, or is one of the `whole` groups of an aggregate without keys.

use super::top::Ordered;
use crate::StandingError;
use crate::event_context::Changes;
use crate::row::{Alike, GroupKey, Row};
use crate::shape::Call;
use crate::table::{HashMap, HashSet};
use crate::weight::Weight;
use expression::{Aggregator, RetractableSum};
use model::Value;
use plan::AggregateFunction;
use plan::algebra::AggregateCall;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of one call in one group.
enum AggregateState {
    /// Rows, or values that are not null.
    Count(isize),
    /// Numbers by their sum, other values as they are.
    Sum(Box<Sum>),
    /// Values in order (percentiles: with their second argument), with multiplicities.
    Values(BTreeMap<Row, isize>),
    /// Values with their sort keys, in that order.
    List(BTreeMap<Ordered, isize>),
}

/// A sum from which values can be taken away.
#[derive(Default)]
struct Sum {
    numbers: RetractableSum,
    /// Values that are no finite numbers.
    others: BTreeMap<Row, isize>,
}

impl Sum {
    fn update(&mut self, row: Row, diff: isize) {
        if !self.numbers.update(&row.values()[0], diff as i64) {
            keep(&mut self.others, row, diff);
        }
    }
    fn value(&self, call: &AggregateCall) -> Result<Value, StandingError> {
        let others = self.others.iter().map(|(row, times)| (&row.values()[0], (*times).max(0) as u64));
        Ok(self.numbers.value(call.function, others)?)
    }
}

struct Group {
    rows: isize,
    /// Its keys, as the rows have them.
    keys: Alike,
    /// 1 if the group exists even without rows, else 0.
    whole: isize,
    kept: Vec<AggregateState>,
    shown: Option<Row>,
}

/// All groups.
pub(crate) struct Aggregate {
    keys: Vec<usize>,
    /// Indexes among the keys: those that are compared as DISTINCT does, and those that are compared exactly.
    grouped: Vec<usize>,
    exact: Vec<usize>,
    calls: Arc<[Call]>,
    groups: HashMap<Key, Group>,
}

/// The identity of a group.
type Key = (GroupKey, Row);

impl AggregateState {
    fn new(Call { call, order, with_nulls, .. }: &Call) -> AggregateState {
        match call.function {
            AggregateFunction::CountRows => AggregateState::Count(0),
            AggregateFunction::Count if !call.distinct => AggregateState::Count(0),
            AggregateFunction::Sum | AggregateFunction::Average if !call.distinct => {
                AggregateState::Sum(Box::default())
            }
            AggregateFunction::Collect if *with_nulls || !order.is_empty() => {
                AggregateState::List(BTreeMap::new())
            }
            _ => AggregateState::Values(BTreeMap::new()),
        }
    }
    fn update(&mut self, call: &Call, arguments: Option<Row>, diff: isize) {
        let is_null = !call.with_nulls && arguments.as_ref().is_some_and(|row| row.values()[0].is_null());
        match (self, arguments) {
            (AggregateState::List(values), Some(row)) if !is_null => {
                // Behind the value stands what it is ordered by.
                let keys = call.order.iter().enumerate().map(|(at, (_, descending))| (at + 1, *descending));
                keep(values, Ordered { row, keys: keys.collect() }, diff);
            }
            (AggregateState::Count(count), _) if !is_null => *count += diff,
            (AggregateState::Sum(sum), Some(row)) if !is_null => sum.update(row, diff),
            (AggregateState::Values(values), Some(row)) if !is_null => keep(values, row, diff),
            _ => {}
        }
    }
    fn value(&self, Call { call, .. }: &Call) -> Result<Value, StandingError> {
        match self {
            AggregateState::List(values) => {
                let mut seen = HashSet::default();
                let mut list = Vec::new();
                for (ordered, count) in values {
                    let value = &ordered.row.values()[0];
                    let is_new = !call.distinct || seen.insert(GroupKey(Row::new([value.clone()])));
                    let times = if call.distinct { usize::from(is_new) } else { count.unsigned_abs() };
                    list.extend(std::iter::repeat_n(value, times).cloned());
                }
                Value::try_list(list).map_err(|error| StandingError::Failed(error.to_string()))
            }
            AggregateState::Count(count) => Ok(Value::Int(*count as i64)),
            AggregateState::Sum(sum) => sum.value(call),
            AggregateState::Values(values) => {
                let mut aggregator = Aggregator::new(call.function, call.distinct);
                let extremes = matches!(call.function, AggregateFunction::Min | AggregateFunction::Max);
                let mut feed = |row: &Row, count: isize| {
                    let carried: Vec<_> = row.values().iter().map(single).collect();
                    (0..count.max(0)).try_for_each(|_| aggregator.update(&carried, 0))
                };
                if extremes {
                    let ends = [values.first_key_value(), values.last_key_value()];
                    ends.into_iter().flatten().try_for_each(|(row, _)| feed(row, 1))?;
                } else {
                    let count = |count: isize| if call.distinct { 1 } else { count };
                    values.iter().try_for_each(|(row, times)| feed(row, count(*times)))?;
                }
                Ok(aggregator.finish()?)
            }
        }
    }
}

fn single(value: &Value) -> model::batch::Carried {
    model::batch::Carried::new(model::Column::Constant(value.clone(), 1))
}

fn keep<K: Ord + Clone>(values: &mut BTreeMap<K, isize>, row: K, diff: isize) {
    let count = values.entry(row.clone()).or_insert(0);
    *count += diff;
    if *count == 0 {
        values.remove(&row);
    }
}

impl Aggregate {
    /// Groups by the first `keys` columns: as DISTINCT does, but for the `exact` ones.
    pub fn new(keys: usize, exact: &[usize], calls: Vec<Call>) -> Aggregate {
        let (exact, grouped) = (0..keys).partition(|key| exact.contains(key));
        Aggregate {
            keys: (0..keys).collect(),
            grouped,
            exact,
            calls: calls.into(),
            groups: HashMap::default(),
        }
    }
    /// The identity of the group with these keys.
    fn key(&self, keys: &Row) -> Key {
        match (&self.grouped[..], &self.exact[..]) {
            (_, []) => (GroupKey(keys.clone()), Row::unit()),
            ([], _) => (GroupKey(Row::unit()), keys.clone()),
            (grouped, exact) => (GroupKey(keys.pick(grouped)), keys.pick(exact)),
        }
    }
    fn group(&mut self, key: &Key) -> &mut Group {
        let calls = &self.calls;
        self.groups.entry(key.clone()).or_insert_with(|| Group {
            rows: 0,
            keys: Alike::default(),
            whole: 0,
            kept: calls.iter().map(AggregateState::new).collect(),
            shown: None,
        })
    }
    /// Groups whose rows changed: the old row (gone) and the new one.
    pub fn advance(&mut self, input: &Changes, whole: Option<&Changes>) -> Result<Changes, StandingError> {
        let (mut touched, calls) = (HashSet::default(), self.calls.clone());
        // Of one group there may be both, one that went and one that came: what it is, the sum says.
        for (keys, diff) in whole.into_iter().flatten() {
            let key = self.key(keys);
            let group = self.group(&key);
            group.whole += diff;
            group.keys.count(keys, *diff);
            touched.insert(key);
        }
        for (row, diff) in input {
            let keys = row.pick(&self.keys);
            let key = self.key(&keys);
            let arguments: Vec<Option<Row>> = self
                .calls
                .iter()
                .map(|call| (!call.arguments.is_empty()).then(|| row.pick(&call.columns())))
                .collect();
            let group = self.group(&key);
            group.rows += diff;
            group.keys.count(&keys, *diff);
            for ((kept, call), arguments) in group.kept.iter_mut().zip(calls.iter()).zip(arguments) {
                kept.update(call, arguments, *diff);
            }
            touched.insert(key);
        }
        let mut found = Changes::new();
        for key in touched {
            let Some(group) = self.groups.get_mut(&key) else { continue };
            let lives = group.rows != 0 || group.whole > 0;
            let now = match group.keys.shown().filter(|_| lives) {
                Some(keys) => {
                    let values =
                        group.kept.iter().zip(self.calls.iter()).map(|(kept, call)| kept.value(call));
                    Some(keys.join(&values.collect::<Result<Vec<_>, _>>()?))
                }
                None => None,
            };
            found.extend(group.shown.take().map(|row| (row, -1)));
            found.extend(now.clone().map(|row| (row, 1)));
            group.shown = now;
            if !lives {
                self.groups.remove(&key);
            }
        }
        Ok(found)
    }
}

impl Weight for AggregateState {
    fn bytes_behind(&self) -> usize {
        match self {
            AggregateState::Count(_) => 0,
            AggregateState::Sum(sum) => size_of::<Sum>() + sum.others.bytes_behind(),
            AggregateState::Values(values) => values.bytes_behind(),
            AggregateState::List(values) => values.bytes_behind(),
        }
    }
}

impl Weight for Group {
    fn bytes_behind(&self) -> usize {
        self.keys.bytes_behind() + self.kept.bytes_behind() + self.shown.bytes_behind()
    }
}

impl Weight for Aggregate {
    fn bytes_behind(&self) -> usize {
        self.groups.bytes_behind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    /// Compared with its twin: an aggregate over the present values.
    #[test]
    fn a_sum_is_that_of_what_is_there_now() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        for function in [AggregateFunction::Sum, AggregateFunction::Average] {
            let call = AggregateCall { function, arguments: Vec::new(), distinct: false };
            let call = Call { call, arguments: vec![0], order: Vec::new(), with_nulls: false };
            let (mut kept, mut there) = (AggregateState::new(&call), Vec::new());
            for step in 0..2_000 {
                if !there.is_empty() && chance.happens(0.5) {
                    let value: Value = there.swap_remove(chance.index(there.len()));
                    kept.update(&call, Some(Row::new([value])), -1);
                } else {
                    let sign = if chance.happens(0.5) { -1.0 } else { 1.0 };
                    let value = match chance.index(60) {
                        0 => Value::Float(f64::INFINITY * sign),
                        1 => Value::Float(f64::NAN),
                        2..12 => Value::Int(chance.below(1 << 40) as i64),
                        12..22 => Value::Float(chance.float()),
                        _ => Value::Float(chance.float() * f64::MAX * sign),
                    };
                    there.push(value.clone());
                    kept.update(&call, Some(Row::new([value])), 1);
                }
                let mut right = Aggregator::new(function, false);
                there.iter().try_for_each(|value| right.add(value.clone())).unwrap();
                let values = [kept.value(&call).unwrap(), right.finish().unwrap()];
                assert_eq!(
                    Row::new(values[..1].to_vec()),
                    Row::new(values[1..].to_vec()),
                    "step {step}: {there:?}"
                );
            }
        }
    }
}
