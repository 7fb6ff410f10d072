//! Arithmetic over numbers of different widths: the result has the wider width of the two, and one more where it would not fit.

use crate::error::{Outcome, TraverseError};
use gremlin::{Decimal, Object};
use std::cmp::Ordering;
use std::sync::Arc;

/// A number, whatever its width.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Whole, with the bits of its width (8 to 128).
    Whole(i128, u32),
    /// IEEE 754, with the bits of its width.
    Float(f64, u32),
    /// Decimal.
    Decimal(Decimal),
}

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Digits behind the point that a division of decimals keeps.
const DIVISION_SCALE: i32 = 16;

impl Number {
    /// The object as a number.
    pub fn of(object: &Object) -> Option<Number> {
        Some(match object {
            Object::Byte(number) => Number::Whole(i128::from(*number), 8),
            Object::Short(number) => Number::Whole(i128::from(*number), 16),
            Object::Int(number) => Number::Whole(i128::from(*number), 32),
            Object::Long(number) => Number::Whole(i128::from(*number), 64),
            Object::BigInt(number) => Number::Whole(**number, 128),
            Object::Float(number) => Number::Float(f64::from(*number), 32),
            Object::Double(number) => Number::Float(*number, 64),
            Object::BigDecimal(number) => Number::Decimal(**number),
            _ => return None,
        })
    }
    /// As a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Whole(number, _) => number as f64,
            Number::Float(number, _) => number,
            Number::Decimal(number) => decimal_as_f64(number),
        }
    }
    /// Is it not a number?
    pub fn is_nan(self) -> bool {
        matches!(self, Number::Float(number, _) if number.is_nan())
    }
    /// Compares by value; none if one is not a number.
    pub fn compare(self, other: Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Whole(a, _), Number::Whole(b, _)) => Some(a.cmp(&b)),
            (Number::Float(a, _), Number::Float(b, _)) => a.partial_cmp(&b),
            (Number::Whole(a, _), Number::Float(b, _)) => whole_with_float(a, b),
            (Number::Float(a, _), Number::Whole(b, _)) => whole_with_float(b, a).map(Ordering::reverse),
            (Number::Decimal(a), Number::Decimal(b)) => Some(compare_decimals(a, b)),
            (Number::Decimal(a), Number::Whole(b, _)) => {
                Some(compare_decimals(a, Decimal { unscaled: b, scale: 0 }))
            }
            (Number::Whole(a, _), Number::Decimal(b)) => {
                Some(compare_decimals(Decimal { unscaled: a, scale: 0 }, b))
            }
            _ => self.as_f64().partial_cmp(&other.as_f64()),
        }
    }
    fn as_decimal(self) -> Option<Decimal> {
        match self {
            Number::Whole(number, _) => Some(Decimal { unscaled: number, scale: 0 }),
            Number::Decimal(number) => Some(number),
            Number::Float(number, _) => gremlin::parser::decimal(&number.to_string()),
        }
    }
}

/// The same for decimals that are equal, and for a whole number and a decimal that are: whole ones are converted by way of a whole number.
fn decimal_as_f64(number: Decimal) -> f64 {
    let (mut unscaled, mut scale) = (number.unscaled, number.scale);
    // Zero has any number of zeros behind it, and is zero at any scale.
    if unscaled == 0 {
        return 0.0;
    }
    while scale > i32::MIN && unscaled % 10 == 0 {
        (unscaled, scale) = (unscaled / 10, scale - 1);
    }
    let power = u32::try_from(-i64::from(scale)).ok().and_then(|digits| 10_i128.checked_pow(digits));
    match power.and_then(|power| unscaled.checked_mul(power)) {
        Some(whole) => whole as f64,
        None if scale < 0 => unscaled as f64 * 10f64.powi(scale.saturating_neg()),
        None => unscaled as f64 / 10f64.powi(scale),
    }
}

fn whole_with_float(whole: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float >= 1.7e38 {
        return Some(Ordering::Less);
    }
    if float <= -1.7e38 {
        return Some(Ordering::Greater);
    }
    let floor = float.floor();
    let order = whole.cmp(&(floor as i128));
    Some(if order == Ordering::Equal && float > floor { Ordering::Less } else { order })
}

/// Exact, however far apart their scales are: the finer one is rounded down to the scale of the other, and a remainder makes it greater.
fn compare_decimals(a: Decimal, b: Decimal) -> Ordering {
    if a.scale < b.scale {
        return compare_decimals(b, a).reverse();
    }
    let power = 10_i128.checked_pow(a.scale.abs_diff(b.scale));
    // No number that is kept has so many digits: it is less than the last digit of the other.
    let (floor, lost) = power.map_or((a.unscaled.signum().min(0), a.unscaled.signum().abs()), |power| {
        (a.unscaled.div_euclid(power), a.unscaled.rem_euclid(power))
    });
    floor.cmp(&b.unscaled).then(lost.cmp(&0))
}

/// Both with the same scale; none where that takes more digits than there are.
fn aligned(a: Decimal, b: Decimal) -> Option<(i128, i128)> {
    let scale = a.scale.max(b.scale);
    let raise = |number: Decimal| {
        let power = u32::try_from(scale.checked_sub(number.scale)?).ok()?;
        number.unscaled.checked_mul(10i128.checked_pow(power)?)
    };
    Some((raise(a)?, raise(b)?))
}

/// A whole number of at least `bits` bits.
pub fn whole(number: i128, bits: u32) -> Object {
    match bits {
        0..=8 if i8::try_from(number).is_ok() => Object::Byte(number as i8),
        0..=16 if i16::try_from(number).is_ok() => Object::Short(number as i16),
        0..=32 if i32::try_from(number).is_ok() => Object::Int(number as i32),
        0..=64 if i64::try_from(number).is_ok() => Object::Long(number as i64),
        _ => Object::BigInt(Arc::new(number)),
    }
}

fn too_large(step: &'static str) -> TraverseError {
    TraverseError::step(step, "the number overflows what can be kept")
}

/// Works on two numbers. `step` is named in errors.
pub fn calculate(step: &'static str, what: Arithmetic, left: &Object, right: &Object) -> Outcome<Object> {
    let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) else {
        let other = if Number::of(left).is_none() { left } else { right };
        return Err(TraverseError::step(step, format!("{other} is a {}, not a number", other.type_name())));
    };
    match (a, b) {
        (Number::Whole(a, p), Number::Whole(b, q)) => whole_numbers(step, what, (a, p), (b, q)),
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => decimals(step, what, a, b),
        (Number::Float(..), _) | (_, Number::Float(..)) => {
            let width = |number: Number| match number {
                Number::Float(_, bits) => bits,
                Number::Whole(_, bits) => {
                    if bits > 32 {
                        64
                    } else {
                        32
                    }
                }
                Number::Decimal(_) => 64,
            };
            Ok(floats(what, a.as_f64(), b.as_f64(), width(a).max(width(b))))
        }
    }
}

fn whole_numbers(step: &'static str, what: Arithmetic, a: (i128, u32), b: (i128, u32)) -> Outcome<Object> {
    let bits = a.1.max(b.1);
    let number = match what {
        Arithmetic::Add => a.0.checked_add(b.0),
        Arithmetic::Subtract => a.0.checked_sub(b.0),
        Arithmetic::Multiply => a.0.checked_mul(b.0),
        Arithmetic::Divide if b.0 == 0 => return Err(TraverseError::step(step, "division by zero")),
        Arithmetic::Divide => a.0.checked_div(b.0),
    };
    let number = number.ok_or_else(|| too_large(step))?;
    if bits <= 64 && i64::try_from(number).is_err() {
        return Err(TraverseError::step(step, "long overflow"));
    }
    Ok(whole(number, bits))
}

fn floats(what: Arithmetic, a: f64, b: f64, bits: u32) -> Object {
    let number = match what {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide => a / b,
    };
    let narrow = number as f32;
    match bits {
        32 if !narrow.is_infinite() || number.is_infinite() => Object::Float(narrow),
        _ => Object::Double(number),
    }
}

fn decimals(step: &'static str, what: Arithmetic, a: Number, b: Number) -> Outcome<Object> {
    let (Some(a), Some(b)) = (a.as_decimal(), b.as_decimal()) else { return Err(too_large(step)) };
    let result = match what {
        Arithmetic::Add | Arithmetic::Subtract => aligned(a, b).and_then(|(x, y)| {
            let unscaled = if what == Arithmetic::Add { x.checked_add(y) } else { x.checked_sub(y) };
            Some(Decimal { unscaled: unscaled?, scale: a.scale.max(b.scale) })
        }),
        Arithmetic::Multiply => a
            .unscaled
            .checked_mul(b.unscaled)
            .zip(a.scale.checked_add(b.scale))
            .map(|(unscaled, scale)| Decimal { unscaled, scale }),
        Arithmetic::Divide if b.unscaled == 0 => return Err(TraverseError::step(step, "division by zero")),
        Arithmetic::Divide => divided(a, b),
    };
    Ok(Object::BigDecimal(Arc::new(result.ok_or_else(|| too_large(step))?)))
}

fn divided(a: Decimal, b: Decimal) -> Option<Decimal> {
    let power = u32::try_from(DIVISION_SCALE.checked_sub(a.scale)?.checked_add(b.scale)?).ok()?;
    let unscaled = a.unscaled.checked_mul(10i128.checked_pow(power)?)?.checked_div(b.unscaled)?;
    let mut result = Decimal { unscaled, scale: DIVISION_SCALE };
    while result.scale > 0 && result.unscaled % 10 == 0 {
        result = Decimal { unscaled: result.unscaled / 10, scale: result.scale - 1 };
    }
    Some(result)
}

/// The sum; beyond the numbers of clients it is an error, not another number.
pub(crate) fn counted(before: i64, more: u64) -> Outcome<i64> {
    let total = i64::try_from(more).ok().and_then(|more| before.checked_add(more));
    total.ok_or_else(|| TraverseError::Limit("there are more than 2^63 - 1 traversers to count".into()))
}

/// The number of times something is there, as a factor.
pub fn times(step: &'static str, number: &Object, count: u64) -> Outcome<Object> {
    match count {
        1 => Ok(number.clone()),
        _ => {
            let wide = calculate(step, Arithmetic::Multiply, number, &Object::Long(counted(0, count)?))?;
            match (Number::of(number), Number::of(&wide)) {
                (Some(Number::Whole(_, bits)), Some(Number::Whole(product, _))) => Ok(whole(product, bits)),
                (Some(Number::Float(_, 32)), Some(product)) => Ok(Object::Float(product.as_f64() as f32)),
                _ => Ok(wide),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    fn decimal(unscaled: i128, scale: i32) -> Decimal {
        Decimal { unscaled, scale }
    }

    /// Its twin: both with the same scale, where there are digits enough for that.
    #[test]
    fn decimals_are_compared_by_value_however_far_apart_their_scales_are() {
        let mut chance = Chance::seeded(7);
        let (mut compared, mut equal) = (0, 0);
        for _ in 0..20_000 {
            let mut one = || decimal(chance.index(61) as i128 - 30, chance.index(9) as i32 - 4);
            let (a, b) = (one(), one());
            let (x, y) = aligned(a, b).unwrap();
            assert_eq!(compare_decimals(a, b), x.cmp(&y), "{a:?} {b:?}");
            compared += 1;
            equal += usize::from(x == y);
        }
        assert!(compared > 0 && equal > 20, "{equal}");
        for (a, b, order) in [
            (decimal(1, -30), decimal(1, 10), Ordering::Greater),
            (decimal(-1, -30), decimal(1, 10), Ordering::Less),
            (decimal(-1, 60), decimal(0, 0), Ordering::Less),
            (decimal(1, 60), decimal(0, 0), Ordering::Greater),
            (decimal(0, 60), decimal(0, -60), Ordering::Equal),
            (decimal(-1, 60), decimal(-1, 0), Ordering::Greater),
            (decimal(i128::MAX, 0), decimal(i128::MAX, -1), Ordering::Less),
            (decimal(i128::MIN, 0), decimal(i128::MIN, -1), Ordering::Greater),
            (decimal(1, i32::MAX), decimal(1, i32::MIN), Ordering::Less),
            (decimal(10_i128.pow(38), 38), decimal(1, 0), Ordering::Equal),
            (decimal(10_i128.pow(38) + 1, 38), decimal(1, 0), Ordering::Greater),
            (decimal(10_i128.pow(38) - 1, 38), decimal(1, 0), Ordering::Less),
        ] {
            assert_eq!(compare_decimals(a, b), order, "{a:?} {b:?}");
            assert_eq!(compare_decimals(b, a), order.reverse(), "{b:?} {a:?}");
        }
    }

    /// Its twin: the text of the number, read as a float.
    #[test]
    fn a_decimal_of_any_scale_is_the_float_of_its_text() {
        for unscaled in [0, 1, -1, 15, -120, 1_000, i128::from(i64::MAX)] {
            for scale in
                [-400, -200, -40, -38, -3, -1, 0, 1, 2, 3, 20, 38, 40, 200, 400, i32::MAX, i32::MIN + 1]
            {
                let found = decimal_as_f64(decimal(unscaled, scale));
                let text = format!("{unscaled}e{}", -i64::from(scale)).parse::<f64>().unwrap();
                let is_near = found == text || (found - text).abs() <= text.abs() * 1e-14;
                assert!(is_near, "{unscaled} {scale}: {found} {text}");
                // The same number in another form is the same float: what is equal hashes alike.
                let other = scale.checked_add(1).map(|scale| decimal(unscaled * 10, scale));
                assert!(other.is_none_or(|other| decimal_as_f64(other) == found), "{unscaled} {scale}");
            }
        }
    }
}
