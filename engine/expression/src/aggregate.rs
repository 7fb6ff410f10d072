//! Aggregates: many values of a group to one. One [`Aggregator`] is the state of one call in one group.
//!
//! Idea: the answer must not depend on the order of rows, nor on how many executors shared the work. So integers are summed in
//! 128 bits and checked at the end, floats are summed exactly ([`ExactSum`]), and the standard deviation keeps its values and
//! takes two exact passes at the end. Partial states of one group merge ([`Aggregator::merge`]); only the order of `collect` is
//! that of arrival.
//!
//! Cost: count, sum, avg, min and max hold a few words; the others hold their values, DISTINCT a hash set.

use super::error::EvalError;
use super::operators;
use super::segments::Segments;
use dataflow::sorting::sorted;
use model::batch::Carried;
use model::compare::total_order;
use model::{Column, Value};
use plan::AggregateFunction;

mod distinct;
#[cfg(test)]
mod exact_sum_tests;
mod extremes;
mod pieces;
mod retractable;
mod sum;
mod sums;

use distinct::DistinctValues;
pub use extremes::Extremes;
pub use model::ExactSum;
use pieces::Pieces;
pub use retractable::RetractableSum;
use sum::{Sum, keep_extreme};
pub use sums::Sums;

/// The state of one aggregate call in one group.
#[derive(Clone, Debug)]
pub struct Aggregator {
    function: AggregateFunction,
    state: State,
    /// With DISTINCT: the values met; they enter `state` at the end.
    distinct: Option<Box<DistinctValues>>,
    /// The second argument of a percentile.
    percentile: Option<f64>,
    /// Of the values in `state`.
    heap_bytes: usize,
}

#[derive(Clone, Debug)]
enum State {
    Count(i64),
    Sum(Box<Sum>),
    Extreme(Option<Value>),
    Values(Box<Pieces<Value>>),
    Numbers(Vec<f64>),
}

impl Aggregator {
    /// An empty group.
    pub fn new(function: AggregateFunction, distinct: bool) -> Aggregator {
        use AggregateFunction as F;
        let state = match function {
            F::CountRows | F::Count => State::Count(0),
            F::Sum | F::Average => State::Sum(Box::default()),
            F::Min | F::Max => State::Extreme(None),
            F::Collect | F::PercentileCont | F::PercentileDisc => State::Values(Box::default()),
            F::StDev | F::StDevP => State::Numbers(Vec::new()),
        };
        let identity_only = function == F::Count;
        let distinct =
            (distinct && function != F::CountRows).then(|| Box::new(DistinctValues::new(identity_only)));
        Aggregator { function, state, distinct, percentile: None, heap_bytes: 0 }
    }

    /// Takes batch row `row`; `arguments` are the evaluated arguments of the call (none for `count(*)`, two for percentiles).
    ///
    /// # Errors
    /// A value the aggregate does not take.
    pub fn update(&mut self, arguments: &[Carried], row: usize) -> Result<(), EvalError> {
        let Some(argument) = arguments.first() else {
            return self.add_count(1);
        };
        if argument.is_null(row) {
            return Ok(());
        }
        if let Some(percentile) = arguments.get(1) {
            self.set_percentile(&percentile.get(row))?;
        }
        if let Some(distinct) = &mut self.distinct {
            distinct.insert_at(argument, row);
            return Ok(());
        }
        let at = argument.at(row);
        match (&mut self.state, argument.column()) {
            (State::Count(count), _) => *count += 1,
            (State::Sum(sum), Column::Int(values, _)) if sum.duration.is_none() => sum.add_int(values[at]),
            (State::Sum(sum), Column::Float(values, _)) if sum.duration.is_none() => {
                sum.add_float(values[at])
            }
            _ => return self.add(argument.get(row)),
        }
        Ok(())
    }

    /// Takes all of these batch rows: the way of a single group, without a test per row where the column's type allows.
    ///
    /// # Errors
    /// As [`Aggregator::update`].
    pub fn update_all(
        &mut self,
        arguments: &[Carried],
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> Result<(), EvalError> {
        let Some(argument) = arguments.first() else {
            return self.add_count(rows.len() as i64);
        };
        if self.distinct.is_none() && arguments.len() == 1 {
            match (&mut self.state, argument.column()) {
                (
                    State::Count(count),
                    Column::Int(_, nulls) | Column::Vertex(_, nulls) | Column::Edge(_, nulls),
                ) if nulls.is_empty() => {
                    *count += rows.len() as i64;
                    return Ok(());
                }
                (State::Sum(sum), Column::Int(values, nulls))
                    if nulls.is_empty() && sum.duration.is_none() =>
                {
                    rows.for_each(|row| sum.add_int(values[argument.at(row)]));
                    return Ok(());
                }
                (State::Sum(sum), Column::Float(values, nulls))
                    if nulls.is_empty() && sum.duration.is_none() =>
                {
                    rows.for_each(|row| sum.add_float(values[argument.at(row)]));
                    return Ok(());
                }
                (_, Column::Constant(value, _)) if rows.len() > 0 => {
                    return self.add_times(value, rows.len() as u64);
                }
                _ => {}
            }
        }
        if let (Some(distinct), 1) = (&mut self.distinct, arguments.len()) {
            distinct.insert_all(argument, rows);
            return Ok(());
        }
        for row in rows {
            self.update(arguments, row)?;
        }
        Ok(())
    }

    /// Takes each batch row into the state of its group in `states`: `groups` has the groups' numbers, row by row.
    ///
    /// # Errors
    /// As [`Aggregator::update`].
    pub fn update_groups(
        states: &mut Segments<Aggregator>,
        arguments: &[Carried],
        groups: &[u32],
    ) -> Result<(), EvalError> {
        let rows = groups.iter().map(|group| *group as usize).enumerate();
        let typed = arguments.first().filter(|_| arguments.len() == 1).map(Carried::column);
        match (typed, arguments) {
            (Some(Column::Int(values, nulls)), [argument]) if nulls.is_empty() => {
                for (row, group) in rows {
                    let int = values[argument.at(row)];
                    match states[group].plain_state() {
                        Some(State::Sum(sum)) if sum.duration.is_none() => sum.add_int(int),
                        _ => states[group].update(arguments, row)?,
                    }
                }
            }
            (Some(Column::Float(values, nulls)), [argument]) if nulls.is_empty() => {
                for (row, group) in rows {
                    let float = values[argument.at(row)];
                    let smallest = states[group].function == AggregateFunction::Min;
                    match states[group].plain_state() {
                        Some(State::Sum(sum)) if sum.duration.is_none() => sum.add_float(float),
                        // NaN is greater than all, and is left to the general order.
                        Some(State::Extreme(Some(Value::Float(held))))
                            if !held.is_nan() && !float.is_nan() =>
                        {
                            if if smallest { float < *held } else { float > *held } {
                                *held = float;
                            }
                        }
                        _ => states[group].update(arguments, row)?,
                    }
                }
            }
            _ => {
                for (row, group) in rows {
                    states[group].update(arguments, row)?;
                }
            }
        }
        Ok(())
    }

    /// The state, where values enter it as they come.
    #[inline]
    fn plain_state(&mut self) -> Option<&mut State> {
        if self.distinct.is_some() { None } else { Some(&mut self.state) }
    }

    /// Takes `count` rows at once: for `count(*)` over rows that were never written out.
    ///
    /// # Errors
    /// When this is not a count.
    pub fn add_count(&mut self, rows: i64) -> Result<(), EvalError> {
        match &mut self.state {
            State::Count(count) => *count += rows,
            _ => return Err(EvalError::internal(format!("{} needs an argument", self.function.name()))),
        }
        Ok(())
    }

    /// Takes `count` integers by their sum, from a caller that has summed them.
    ///
    /// # Errors
    /// When this is neither a sum nor an average.
    pub fn add_integers(&mut self, count: i64, total: i128) -> Result<(), EvalError> {
        match &mut self.state {
            State::Sum(sum) => {
                sum.count += count;
                sum.integers += total;
                sum.has_number |= count > 0;
            }
            _ => return Err(EvalError::internal(format!("{} is no sum", self.function.name()))),
        }
        Ok(())
    }

    /// Takes `count` floats by their sum, from a caller that has summed them.
    ///
    /// # Errors
    /// When this is neither a sum nor an average.
    pub fn add_floats(&mut self, count: i64, total: &ExactSum) -> Result<(), EvalError> {
        match &mut self.state {
            State::Sum(sum) => {
                sum.count += count;
                sum.floats.merge(total);
                sum.has_number |= count > 0;
                sum.has_float |= count > 0;
            }
            _ => return Err(EvalError::internal(format!("{} is no sum", self.function.name()))),
        }
        Ok(())
    }

    /// Takes one value `times` times.
    fn add_times(&mut self, value: &Value, times: u64) -> Result<(), EvalError> {
        let counted = i64::try_from(times).unwrap_or(i64::MAX);
        match (&mut self.state, value) {
            _ if times == 0 => {}
            (_, Value::Null) => {}
            (State::Count(count), _) => *count += counted,
            (State::Extreme(_), _) => self.add(value.clone())?,
            (State::Sum(sum), _) => sum.add_times(value, times, self.function)?,
            _ => (0..times).try_for_each(|_| self.add(value.clone()))?,
        }
        Ok(())
    }

    /// Takes one value; null is passed over.
    ///
    /// # Errors
    /// A value the aggregate does not take.
    pub fn add(&mut self, value: Value) -> Result<(), EvalError> {
        if value.is_null() {
            return Ok(());
        }
        let function = self.function;
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Sum(sum) => sum.add(&value, function)?,
            State::Extreme(best) => keep_extreme(best, value, function == AggregateFunction::Min),
            State::Values(values) if function == AggregateFunction::Collect => {
                self.heap_bytes += value.heap_bytes();
                values.push(value)
            }
            State::Values(values) => {
                number(&value, function)?;
                values.push(value)
            }
            State::Numbers(numbers) => numbers.push(number(&value, function)?),
        }
        Ok(())
    }

    fn set_percentile(&mut self, value: &Value) -> Result<(), EvalError> {
        let percentile = number(value, self.function)?;
        if !(0.0..=1.0).contains(&percentile) {
            let message =
                format!("{} takes a percentile from 0 to 1, not {percentile}", self.function.name());
            return Err(EvalError::argument(message));
        }
        self.percentile = Some(percentile);
        Ok(())
    }

    /// Adds the state of another executor for the same group.
    ///
    /// # Errors
    /// When the two do not go together (numbers here, durations there).
    pub fn merge(&mut self, other: Aggregator) -> Result<(), EvalError> {
        debug_assert_eq!(self.function, other.function);
        self.heap_bytes += other.heap_bytes;
        self.percentile = self.percentile.or(other.percentile);
        if let (Some(mine), Some(theirs)) = (&mut self.distinct, other.distinct) {
            mine.merge(*theirs);
            return Ok(());
        }
        match (&mut self.state, other.state) {
            (State::Count(count), State::Count(more)) => *count += more,
            (State::Sum(sum), State::Sum(more)) => sum.merge(&more, self.function)?,
            (State::Extreme(best), State::Extreme(Some(value))) => {
                keep_extreme(best, value, self.function == AggregateFunction::Min)
            }
            (State::Values(values), State::Values(more)) => values.append(*more),
            (State::Numbers(numbers), State::Numbers(more)) => numbers.extend(more),
            _ => {}
        }
        Ok(())
    }

    /// Does a slice of the remaining work before [`Aggregator::finish`]; true if there is none.
    pub fn settle(&mut self) -> bool {
        match &mut self.state {
            State::Values(values) if self.distinct.is_none() => values.gather(),
            _ => true,
        }
    }

    /// The answer.
    ///
    /// # Errors
    /// An integer sum that does not fit 64 bits.
    pub fn finish(mut self) -> Result<Value, EvalError> {
        use AggregateFunction as F;
        if let Some(distinct) = self.distinct.take() {
            if self.function == F::Count {
                return Ok(Value::Int(distinct.len() as i64));
            }
            for value in distinct.into_values() {
                self.add(value)?;
            }
        }
        Ok(match (self.state, self.function) {
            (State::Count(count), _) => Value::Int(count),
            (State::Sum(sum), F::Average) => sum.average()?,
            (State::Sum(sum), _) => sum.total()?,
            (State::Extreme(best), _) => best.unwrap_or_default(),
            (State::Values(values), F::PercentileCont) => {
                percentile_cont(&values.into_list(), self.percentile)?
            }
            (State::Values(values), F::PercentileDisc) => {
                percentile_disc(values.into_list(), self.percentile)?
            }
            (State::Values(values), _) => Value::try_list(values.into_list())?,
            (State::Numbers(numbers), function) => {
                Value::Float(standard_deviation(&numbers, function == F::StDev))
            }
        })
    }

    /// Bytes held besides while the answer is made: a list in one piece beside the pieces that it is made of.
    pub fn finishing_bytes(&self) -> usize {
        match &self.state {
            State::Values(values) => values.bytes(),
            _ => 0,
        }
    }

    /// Bytes held, as charged to a query's budget.
    pub fn bytes(&self) -> usize {
        let state = match &self.state {
            State::Count(_) => 0,
            State::Sum(sum) => size_of::<Sum>() + sum.floats.heap_bytes(),
            State::Extreme(best) => best.as_ref().map_or(0, Value::heap_bytes),
            State::Values(values) => values.bytes() + self.heap_bytes,
            State::Numbers(numbers) => numbers.capacity() * 8,
        };
        size_of::<Aggregator>() + state + self.distinct.as_ref().map_or(0, |distinct| distinct.bytes())
    }
}

fn number(value: &Value, function: AggregateFunction) -> Result<f64, EvalError> {
    match value {
        Value::Int(int) => Ok(*int as f64),
        Value::Float(float) => Ok(*float),
        other => Err(EvalError::wrong_type(&format!("{}()", function.name()), "a number", other)),
    }
}

/// Two passes over exact sums: of a sample (n - 1) or of a whole population (n). 0 for fewer than two values.
fn standard_deviation(numbers: &[f64], sample: bool) -> f64 {
    if numbers.len() < 2 {
        return 0.0;
    }
    let count = numbers.len() as f64;
    let mean = ExactSum::of(numbers.iter().copied()) / count;
    let squares = ExactSum::of(numbers.iter().map(|number| (number - mean) * (number - mean)));
    (squares / if sample { count - 1.0 } else { count }).sqrt()
}

fn percentile_cont(values: &[Value], percentile: Option<f64>) -> Result<Value, EvalError> {
    let numbers = sorted(values.iter().filter_map(operators::as_float).collect(), f64::total_cmp)?;
    let (Some(last), Some(percentile)) = (numbers.len().checked_sub(1), percentile) else {
        return Ok(Value::Null);
    };
    let at = percentile * last as f64;
    let (below, above) = (numbers[at.floor() as usize], numbers[at.ceil() as usize]);
    let part = at - at.floor();
    Ok(Value::Float(if part == 0.0 { below } else { below * (1.0 - part) + above * part }))
}

fn percentile_disc(values: Vec<Value>, percentile: Option<f64>) -> Result<Value, EvalError> {
    let mut values = sorted(values, total_order)?;
    let Some(percentile) = percentile.filter(|_| !values.is_empty()) else {
        return Ok(Value::Null);
    };
    let at = percentile * values.len() as f64;
    let whole = at.floor() as usize;
    let exact = at == at.floor() && whole > 0;
    Ok(values.swap_remove(if exact { whole - 1 } else { whole }))
}
