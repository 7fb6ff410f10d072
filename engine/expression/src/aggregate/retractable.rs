//! Sums from which values can be taken away: for answers that are maintained while values come and go.
//!
//! Idea: integers are summed in 128 bits and floats exactly, however large on the way, so a value that goes leaves no trace. Values that are no
//! finite numbers (infinities, NaN, durations, other types) cannot be taken from a sum: the caller keeps them beside it, and passes them in when the
//! result is computed, which is [`Aggregator`]'s.

use super::{Aggregator, ExactSum};
use crate::EvalError;
use model::Value;
use plan::AggregateFunction;

/// The finite numbers of `sum` and `avg`.
#[derive(Clone, Debug, Default)]
pub struct RetractableSum {
    integers: i128,
    integer_count: i64,
    floats: ExactSum,
    float_count: i64,
}

impl RetractableSum {
    /// Adds a value `times` times, or takes it away; false if it is no finite number, and so not part of the sum.
    pub fn update(&mut self, value: &Value, times: i64) -> bool {
        match value {
            Value::Int(int) => {
                self.integers += i128::from(*int) * i128::from(times);
                self.integer_count += times;
            }
            Value::Float(float) if float.is_finite() => {
                let signed = if times < 0 { -float } else { *float };
                self.floats.add_times(signed, times.unsigned_abs());
                self.float_count += times;
            }
            _ => return false,
        }
        true
    }
    /// The sum or the average, with the values that are kept beside it, each with its multiplicity.
    ///
    /// # Errors
    /// As [`Aggregator::add`] and [`Aggregator::finish`].
    pub fn value<'v>(
        &self,
        function: AggregateFunction,
        others: impl Iterator<Item = (&'v Value, u64)>,
    ) -> Result<Value, EvalError> {
        let mut aggregator = Aggregator::new(function, false);
        if self.integer_count > 0 {
            aggregator.add_integers(self.integer_count, self.integers)?;
        }
        if self.float_count > 0 {
            aggregator.add_floats(self.float_count, &self.floats)?;
        }
        for (value, times) in others {
            aggregator.add_times(value, times)?;
        }
        aggregator.finish()
    }
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of::<RetractableSum>() + self.floats.heap_bytes()
    }
}
