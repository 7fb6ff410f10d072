//! Sums and averages of many groups: 32 bytes each, as long as their numbers are ordinary.
//!
//! What does not fit (an integer sum beyond 64 bits, floats whose sum needs more than two, infinities, NaN, durations) goes on in full, in a table
//! beside. Twin: one [`Aggregator`] a group.

use super::sum::Sum;
use crate::EvalError;
use crate::segments::Segments;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::batch::Carried;
use model::exact_sum::RunningSum;
use model::{Column, ColumnBuilder, ExactSum, Value};
use plan::AggregateFunction;
use std::ops::Range;

/// One group.
#[derive(Clone, Copy, Debug, Default)]
struct SmallSum {
    /// Values, and the two marks below.
    count: u64,
    integers: i64,
    floats: RunningSum,
}

/// A float was among the values.
const HAS_FLOAT: u64 = 1 << 63;
/// The group is kept in full.
const IS_FULL: u64 = 1 << 62;
const COUNT: u64 = IS_FULL - 1;

impl SmallSum {
    #[inline]
    fn add_integer(&mut self, int: i64) -> bool {
        let Some(sum) = self.integers.checked_add(int) else { return false };
        if self.count & IS_FULL != 0 {
            return false;
        }
        self.integers = sum;
        self.count += 1;
        true
    }
    /// The same integer several times.
    fn add_integers(&mut self, int: i64, times: u64) -> bool {
        let all = i64::try_from(times).ok().and_then(|times| int.checked_mul(times));
        let Some(sum) = all.and_then(|all| self.integers.checked_add(all)) else { return false };
        if self.count & IS_FULL != 0 {
            return false;
        }
        self.integers = sum;
        self.count += times;
        true
    }
    #[inline]
    fn add_float(&mut self, float: f64) -> bool {
        let fits = self.count & IS_FULL == 0 && self.floats.add(float);
        if fits {
            self.count = (self.count + 1) | HAS_FLOAT;
        }
        fits
    }
    fn merge(&mut self, other: &SmallSum) -> bool {
        let Some(integers) = self.integers.checked_add(other.integers) else { return false };
        if (self.count | other.count) & IS_FULL != 0 || !self.floats.merge(other.floats) {
            return false;
        }
        self.integers = integers;
        let marks = (self.count | other.count) & HAS_FLOAT;
        self.count = ((self.count & COUNT) + (other.count & COUNT)) | marks;
        true
    }
    /// In full.
    fn to_sum(self) -> Sum {
        let count = (self.count & COUNT) as i64;
        Sum {
            count,
            integers: self.integers.into(),
            floats: ExactSum::of_running(self.floats),
            has_float: self.count & HAS_FLOAT != 0,
            has_number: count > 0,
            duration: None,
        }
    }
}

/// The sums of one call, by group.
#[derive(Clone, Debug)]
pub struct Sums {
    function: AggregateFunction,
    plain: Segments<SmallSum>,
    full: HashMap<u32, Box<Sum>, FixedState>,
}

/// Bytes for each group that is kept in full, with the room of the table around it.
const FULL_BYTES: usize = size_of::<Sum>() + PARTS_BYTES + 3 * size_of::<(u32, Box<Sum>)>();
/// Room that an exact sum has on the heap, about.
const PARTS_BYTES: usize = 64;

impl Sums {
    /// For `sum` or `avg`, without groups.
    pub fn new(function: AggregateFunction) -> Sums {
        Sums { function, plain: Segments::default(), full: HashMap::default() }
    }
    /// Adds groups, up to `groups` in all.
    pub fn grow_to(&mut self, groups: usize) {
        self.plain.grow_to(groups, SmallSum::default);
    }
    /// Bytes held, as charged to a query's budget.
    pub fn bytes(&self) -> usize {
        self.plain.bytes() + self.full.capacity() * FULL_BYTES
    }
    /// Takes each batch row into the sum of its group; all into the first where no groups are given.
    ///
    /// # Errors
    /// A value that has no sum.
    pub fn update(
        &mut self,
        argument: &Carried,
        groups: Option<&[u32]>,
        rows: usize,
    ) -> Result<(), EvalError> {
        match argument.column() {
            Column::Int(values, nulls) if nulls.is_empty() => match argument.rows() {
                None => self
                    .side_by_side(groups, &values[..rows], |sums, group, value| sums.add_int(group, value)),
                Some(_) => self
                    .each(groups, 0..rows, |sums, group, row| sums.add_int(group, values[argument.at(row)])),
            },
            Column::Float(values, nulls) if nulls.is_empty() => match argument.rows() {
                None => self
                    .side_by_side(groups, &values[..rows], |sums, group, value| sums.add_float(group, value)),
                Some(_) => self.each(groups, 0..rows, |sums, group, row| {
                    sums.add_float(group, values[argument.at(row)])
                }),
            },
            _ if rows == 0 => Ok(()),
            Column::Constant(Value::Null, _) => Ok(()),
            // The lengths of a search come so: a level at a time.
            Column::Constant(value, _) if groups.is_none() => self.add_times(value, rows as u64),
            Column::Constant(Value::Int(int), _) => {
                self.each(groups, 0..rows, |sums, group, _| sums.add_int(group, *int))
            }
            _ => {
                let rows = (0..rows).filter(|row| !argument.is_null(*row));
                self.each(groups, rows, |sums, group, row| sums.add(group, &argument.get(row)))
            }
        }
    }
    /// Takes values that lie side by side, each into its group.
    #[inline(always)]
    fn side_by_side<T: Copy>(
        &mut self,
        groups: Option<&[u32]>,
        values: &[T],
        add: impl Fn(&mut Sums, u32, T) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        match groups {
            None => values.iter().try_for_each(|value| add(self, 0, *value)),
            Some(groups) => {
                let mut pairs = groups.iter().zip(values);
                pairs.try_for_each(|(group, value)| add(self, *group, *value))
            }
        }
    }
    /// Takes some rows, each into its group.
    #[inline(always)]
    fn each(
        &mut self,
        groups: Option<&[u32]>,
        mut rows: impl Iterator<Item = usize>,
        add: impl Fn(&mut Sums, u32, usize) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        match groups {
            None => rows.try_for_each(|row| add(self, 0, row)),
            Some(groups) => rows.try_for_each(|row| add(self, groups[row], row)),
        }
    }
    #[inline(always)]
    fn add_int(&mut self, group: u32, int: i64) -> Result<(), EvalError> {
        match self.plain[group as usize].add_integer(int) {
            true => Ok(()),
            false => self.add_in_full(group, &Value::Int(int)),
        }
    }
    #[inline(always)]
    fn add_float(&mut self, group: u32, float: f64) -> Result<(), EvalError> {
        match self.plain[group as usize].add_float(float) {
            true => Ok(()),
            false => self.add_in_full(group, &Value::Float(float)),
        }
    }
    /// Takes the same value several times into the first group.
    fn add_times(&mut self, value: &Value, times: u64) -> Result<(), EvalError> {
        if let Value::Int(int) = value
            && self.plain[0].add_integers(*int, times)
        {
            return Ok(());
        }
        if let Value::Float(float) = value {
            return (0..times).try_for_each(|_| self.add_float(0, *float));
        }
        let function = self.function;
        self.full(0).add_times(value, times, function)
    }
    fn add(&mut self, group: u32, value: &Value) -> Result<(), EvalError> {
        match value {
            Value::Int(int) => self.add_int(group, *int),
            Value::Float(float) => self.add_float(group, *float),
            _ => self.add_in_full(group, value),
        }
    }
    #[cold]
    fn add_in_full(&mut self, group: u32, value: &Value) -> Result<(), EvalError> {
        let function = self.function;
        self.full(group).add(value, function)
    }
    /// A group in full, from now on.
    fn full(&mut self, group: u32) -> &mut Sum {
        let plain = &mut self.plain[group as usize];
        let sum = self.full.entry(group).or_insert_with(|| Box::new(plain.to_sum()));
        plain.count |= IS_FULL;
        sum
    }
    /// Moves as many of the other's groups, from its end, as `groups` has numbers for, into this one.
    ///
    /// # Errors
    /// When the two do not go together (numbers here, durations there).
    pub fn merge(&mut self, other: &mut Sums, groups: &[u32]) -> Result<(), EvalError> {
        for group in groups.iter().rev() {
            let Some(theirs) = other.plain.pop() else { break };
            if self.plain[*group as usize].merge(&theirs) {
                continue;
            }
            let theirs = match other.full.remove(&(other.plain.len() as u32)) {
                Some(sum) => *sum,
                None => theirs.to_sum(),
            };
            let function = self.function;
            self.full(*group).merge(&theirs, function)?;
        }
        Ok(())
    }
    /// The answers of these groups.
    ///
    /// # Errors
    /// An integer sum that does not fit 64 bits.
    pub fn column(&self, groups: Range<usize>) -> Result<Column, EvalError> {
        let mut column = ColumnBuilder::new();
        for group in groups {
            let plain = self.plain[group];
            let answer = |sum: &Sum| match self.function {
                AggregateFunction::Average => sum.average(),
                _ => sum.total(),
            };
            column.push(match self.full.get(&(group as u32)) {
                Some(sum) => answer(sum)?,
                None => answer(&plain.to_sum())?,
            });
        }
        Ok(column.finish())
    }
}
