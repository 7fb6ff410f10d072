//! `sum`, `mean`, `min`, `max` and `count`: many objects become one, each as it comes, so that none is kept.
//!
//! A sum is kept in two ways, as which of them counts is known only at the end: exactly, for floats among whole numbers, rounded once to the widest
//! of them; and object by object, with the types and errors that Gremlin knows. Twin: the objects in any grouping, see the tests.

use crate::compare::{IdOrder, order_by_ids};
use crate::error::{Outcome, TraverseError};
use crate::number::{Arithmetic, Number, calculate, counted, times};
use crate::step::Reduce;
use gremlin::{Decimal, Object};
use model::ExactSum;
use std::cmp::Ordering;
use std::sync::Arc;

/// A reduction so far.
pub(crate) struct Reducing {
    form: ReducingForm,
    /// Something came, be it null.
    is_begun: bool,
}

enum ReducingForm {
    Count(i64),
    Sum(Box<NumberSum>),
    Mean(Box<NumberMean>),
    /// The best, where one that compares so is better.
    Best(Option<Object>, Ordering),
}

impl Reducing {
    /// Of nothing.
    pub(crate) fn new(reduce: Reduce) -> Reducing {
        let form = match reduce {
            Reduce::Count => ReducingForm::Count(0),
            Reduce::Sum => ReducingForm::Sum(Box::default()),
            Reduce::Mean => ReducingForm::Mean(Box::default()),
            Reduce::Min => ReducingForm::Best(None, Ordering::Less),
            Reduce::Max => ReducingForm::Best(None, Ordering::Greater),
        };
        Reducing { form, is_begun: false }
    }
    /// Takes an object that comes `times_there` times. Of elements the least and the greatest are those by their ids.
    ///
    /// # Errors
    /// The reduction has none, whatever comes behind.
    pub(crate) fn add(&mut self, object: &Object, times_there: u64, ids: &dyn IdOrder) -> Outcome<()> {
        self.is_begun = true;
        if let ReducingForm::Count(total) = &mut self.form {
            *total = counted(*total, times_there)?;
            return Ok(());
        }
        if *object == Object::Null {
            return Ok(());
        }
        match &mut self.form {
            ReducingForm::Count(_) => Ok(()),
            ReducingForm::Sum(sum) => sum.add(object, times_there),
            ReducingForm::Mean(mean) => mean.add(object, times_there),
            ReducingForm::Best(best, wanted) => {
                if best.as_ref().is_none_or(|known| is_better(object, known, *wanted, ids)) {
                    *best = Some(object.clone());
                }
                Ok(())
            }
        }
    }
    /// The one object; none of nothing but for a count.
    ///
    /// # Errors
    /// It has none: a whole number too large, or something that is no number.
    pub(crate) fn finish(self) -> Outcome<Option<Object>> {
        let nothing = self.is_begun.then_some(Object::Null);
        let found = match self.form {
            ReducingForm::Count(total) => Some(Object::Long(total)),
            ReducingForm::Sum(sum) => sum.finish()?,
            ReducingForm::Mean(mean) => mean.finish()?,
            ReducingForm::Best(best, _) => best,
        };
        Ok(found.or(nothing))
    }
}

/// NaN is passed over where there is a number.
fn is_better(object: &Object, known: &Object, wanted: Ordering, ids: &dyn IdOrder) -> bool {
    let is_nan = |object: &Object| Number::of(object).is_some_and(Number::is_nan);
    match (is_nan(known), is_nan(object)) {
        (true, false) => true,
        (_, true) => false,
        (false, false) => order_by_ids(object, known, ids) == wanted,
    }
}

struct NumberSum {
    /// None once something came that is neither a float nor a whole number of 64 bits at most.
    exact: Option<ExactFloats>,
    in_turn: Outcome<Option<Object>>,
}

/// The exact sum, where all are whole numbers and floats.
#[derive(Default)]
struct ExactFloats {
    sum: ExactSum,
    has_float: bool,
    /// Some number had 64 bits.
    is_wide: bool,
}

impl Default for NumberSum {
    fn default() -> NumberSum {
        NumberSum { exact: Some(ExactFloats::default()), in_turn: Ok(None) }
    }
}

impl NumberSum {
    fn add(&mut self, object: &Object, times_there: u64) -> Outcome<()> {
        if self.exact.as_mut().is_some_and(|exact| exact.add(object, times_there).is_none()) {
            self.exact = None;
        }
        if let Ok(sum) = &mut self.in_turn {
            let added = times("sum", object, times_there).and_then(|part| match sum.take() {
                Some(sum) => calculate("sum", Arithmetic::Add, &sum, &part),
                None => checked(part),
            });
            self.in_turn = added.map(Some);
        }
        // A float may still come, and then the exact sum counts, if there is one.
        match &self.in_turn {
            Err(error) if self.exact.is_none() => Err(error.clone()),
            _ => Ok(()),
        }
    }
    fn finish(self) -> Outcome<Option<Object>> {
        match self.exact.and_then(ExactFloats::value) {
            Some(sum) => Ok(Some(sum)),
            None => self.in_turn,
        }
    }
}

impl ExactFloats {
    /// None where it cannot be exact.
    fn add(&mut self, object: &Object, times_there: u64) -> Option<()> {
        match Number::of(object)? {
            Number::Float(number, bits) => {
                self.sum.add_times(number, times_there);
                self.is_wide |= bits > 32;
                self.has_float = true;
            }
            Number::Whole(number, bits) if bits <= 64 => {
                self.sum.add_integer(number.checked_mul(i128::from(times_there))?);
                self.is_wide |= bits > 32;
            }
            Number::Whole(..) | Number::Decimal(_) => return None,
        }
        Some(())
    }
    /// Rounded once, to the widest; none of whole numbers alone.
    fn value(self) -> Option<Object> {
        let (sum, narrow) = (self.sum.value(), self.sum.value() as f32);
        let fits = !narrow.is_infinite() || sum.is_infinite();
        self.has_float.then_some(if !self.is_wide && fits {
            Object::Float(narrow)
        } else {
            Object::Double(sum)
        })
    }
}

fn checked(object: Object) -> Outcome<Object> {
    match Number::of(&object) {
        Some(_) => Ok(object),
        None => {
            Err(TraverseError::step("sum", format!("{object} is a {}, not a number", object.type_name())))
        }
    }
}

#[derive(Default)]
struct NumberMean {
    sum: Option<Object>,
    count: i64,
    has_decimal: bool,
    exact: ExactSum,
}

impl NumberMean {
    fn add(&mut self, object: &Object, times_there: u64) -> Outcome<()> {
        let wide = match Number::of(object) {
            Some(Number::Whole(number, 128)) => {
                self.has_decimal = true;
                Object::BigDecimal(Arc::new(Decimal { unscaled: number, scale: 0 }))
            }
            Some(Number::Decimal(_)) => {
                self.has_decimal = true;
                object.clone()
            }
            Some(number) => {
                self.exact.add_times(number.as_f64(), times_there);
                Object::Double(number.as_f64())
            }
            None => {
                let message = format!("{object} is a {}, not a number", object.type_name());
                return Err(TraverseError::step("mean", message));
            }
        };
        let part = times("mean", &wide, times_there)?;
        self.sum = Some(match &self.sum {
            Some(sum) => calculate("mean", Arithmetic::Add, sum, &part)?,
            None => part,
        });
        self.count = counted(self.count, times_there)?;
        Ok(())
    }
    fn finish(self) -> Outcome<Option<Object>> {
        let Some(sum) = self.sum else { return Ok(None) };
        if !self.has_decimal {
            return Ok(Some(Object::Double(self.exact.value() / self.count as f64)));
        }
        let count = Object::BigDecimal(Arc::new(Decimal { unscaled: i128::from(self.count), scale: 0 }));
        calculate("mean", Arithmetic::Divide, &sum, &count).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    struct NoIds;

    impl IdOrder for NoIds {
        fn id(&self, _: &Object) -> Option<Object> {
            None
        }
    }

    fn reduced(reduce: Reduce, all: &[(Object, u64)]) -> Outcome<Option<Object>> {
        let mut reducing = Reducing::new(reduce);
        all.iter().try_for_each(|(object, times_there)| reducing.add(object, *times_there, &NoIds))?;
        reducing.finish()
    }

    /// Objects that come several times, together or one by one, and in any order, where that means the same.
    #[test]
    fn bulks_reduce_as_their_objects_do() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        for _ in 0..300 {
            let has_floats = chance.happens(0.5);
            let object = |chance: &mut Chance| match chance.below(4) {
                0 => Object::Null,
                1 if has_floats => Object::Double(chance.below(1_000) as f64 / 7.0),
                2 if has_floats => Object::Float(chance.below(100) as f32 / 3.0),
                _ => Object::Long(chance.below(1_000) as i64 - 500),
            };
            let mut all: Vec<(Object, u64)> =
                (0..chance.below(12)).map(|_| (object(&mut chance), 1 + chance.below(4))).collect();
            let unrolled: Vec<(Object, u64)> =
                all.iter().flat_map(|(object, count)| (0..*count).map(|_| (object.clone(), 1))).collect();
            for reduce in [Reduce::Count, Reduce::Sum, Reduce::Mean, Reduce::Min, Reduce::Max] {
                let right = format!("{:?}", reduced(reduce, &unrolled).unwrap());
                assert_eq!(format!("{:?}", reduced(reduce, &all).unwrap()), right, "seed {seed}: {all:?}");
                chance.shuffle(&mut all);
                if !matches!(reduce, Reduce::Min | Reduce::Max) {
                    let found = format!("{:?}", reduced(reduce, &all).unwrap());
                    assert_eq!(found, right, "seed {seed}: {all:?}");
                }
            }
        }
    }

    /// Whole numbers that are too large in turn are no error where a float comes behind them; what is no number is one at once.
    #[test]
    fn a_sum_fails_when_it_is_certain_to() {
        let large = (Object::Long(i64::MAX), 1);
        assert!(reduced(Reduce::Sum, &[large.clone(), large.clone()]).is_err());
        let with_float = [large.clone(), large, (Object::Double(0.5), 1)];
        let sum = reduced(Reduce::Sum, &with_float).unwrap();
        assert_eq!(format!("{sum:?}"), format!("{:?}", Some(Object::Double(2.0 * i64::MAX as f64))));
        let mut reducing = Reducing::new(Reduce::Sum);
        reducing.add(&Object::Double(0.5), 1, &NoIds).unwrap();
        assert!(reducing.add(&Object::from("text"), 1, &NoIds).is_err());
    }
}
