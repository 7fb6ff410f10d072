//! States of sums, averages, least and greatest values: one group's state, and how a value changes it.

use crate::error::EvalError;
use model::compare::total_order;
use model::temporal::Duration;
use model::{ExactSum, Value};
use plan::AggregateFunction;
use std::cmp::Ordering;

/// The state of `sum` and `avg`.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub(super) count: i64,
    pub(super) integers: i128,
    pub(super) floats: ExactSum,
    pub(super) has_float: bool,
    pub(super) has_number: bool,
    pub(super) duration: Option<Duration>,
}

/// Of 1 and 1.0, equal in order, the integer is kept, so that the answer does not depend on which came first.
pub(super) fn keep_extreme(best: &mut Option<Value>, value: Value, smallest: bool) {
    let Some(held) = best else {
        *best = Some(value);
        return;
    };
    let order = total_order(&value, held);
    let better = if smallest { Ordering::Less } else { Ordering::Greater };
    let tie = order.is_eq() && matches!((&value, &*held), (Value::Int(_), Value::Float(_)));
    if order == better || tie {
        *held = value;
    }
}

impl Sum {
    #[inline]
    pub(super) fn add_int(&mut self, int: i64) {
        self.add_int_times(int, 1);
    }

    #[inline]
    pub(super) fn add_int_times(&mut self, int: i64, times: i64) {
        self.count += times;
        self.has_number = true;
        self.integers += i128::from(int) * i128::from(times);
    }

    /// Takes one value `times` times, at least once.
    pub(super) fn add_times(
        &mut self,
        value: &Value,
        times: u64,
        function: AggregateFunction,
    ) -> Result<(), EvalError> {
        let counted = i64::try_from(times).unwrap_or(i64::MAX);
        let others = counted.saturating_sub(1);
        // What it takes at all, and beside what, is said in one place.
        self.add(value, function)?;
        match value {
            Value::Int(int) if others > 0 => self.add_int_times(*int, others),
            Value::Float(float) if others > 0 => {
                self.count += others;
                self.floats.add_times(*float, others as u64);
            }
            Value::Duration(one) => {
                let (mut left, mut doubled) = (others as u64, **one);
                while left > 0 {
                    if left & 1 == 1 {
                        self.duration = Some(self.duration.unwrap_or_default().plus(&doubled)?);
                    }
                    left >>= 1;
                    if left > 0 {
                        doubled = doubled.plus(&doubled)?;
                    }
                }
                self.count += others;
            }
            _ => {}
        }
        Ok(())
    }

    #[inline]
    pub(super) fn add_float(&mut self, float: f64) {
        self.count += 1;
        self.has_number = true;
        self.has_float = true;
        self.floats.add(float);
    }

    pub(super) fn add(&mut self, value: &Value, function: AggregateFunction) -> Result<(), EvalError> {
        match value {
            Value::Int(int) if self.duration.is_none() => self.add_int(*int),
            Value::Float(float) if self.duration.is_none() => self.add_float(*float),
            Value::Duration(more) if !self.has_number => {
                let sum = self.duration.unwrap_or_default().plus(more)?;
                self.duration = Some(sum);
                self.count += 1;
            }
            other => {
                let name = format!("{}()", function.name());
                return Err(EvalError::wrong_type(&name, "only numbers or only durations", other));
            }
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, other: &Sum, function: AggregateFunction) -> Result<(), EvalError> {
        if let Some(duration) = &other.duration {
            let count = self.count + other.count;
            self.add(&Value::from(*duration), function)?;
            self.count = count;
        } else if other.has_number {
            if let Some(mine) = &self.duration {
                let mine = Value::from(*mine);
                return Err(EvalError::wrong_types(function.name(), &mine, &Value::Int(0)));
            }
            self.count += other.count;
            self.integers += other.integers;
            self.floats.merge(&other.floats);
            self.has_float |= other.has_float;
            self.has_number = true;
        }
        Ok(())
    }

    /// Integers and floats together, rounded once.
    pub(super) fn float_total(&self) -> f64 {
        // Without a float the exact sum is -0.0, to which nothing was added.
        if !self.has_float {
            return self.integers as f64;
        }
        let mut total = self.floats.clone();
        total.add_integer(self.integers);
        total.value()
    }

    pub(super) fn total(&self) -> Result<Value, EvalError> {
        if let Some(duration) = &self.duration {
            return Ok(Value::from(*duration));
        }
        if self.has_float {
            return Ok(Value::Float(self.float_total()));
        }
        let overflow = |_| EvalError::arithmetic("the sum of the integers does not fit 64 bits");
        Ok(Value::Int(i64::try_from(self.integers).map_err(overflow)?))
    }

    pub(super) fn average(&self) -> Result<Value, EvalError> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        match &self.duration {
            Some(duration) => Ok(Value::from(duration.divided_by(self.count as f64)?)),
            None => Ok(Value::Float(self.float_total() / self.count as f64)),
        }
    }
}
