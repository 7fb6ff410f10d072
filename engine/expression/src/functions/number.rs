//! Functions of numbers.

use crate::error::{EvalError, takes};
use crate::operators::as_float;
use model::Value;
use plan::Function;

/// Digits behind the point that `round()` takes; a float holds no more.
const ROUND_PRECISION_MAX: i64 = 324;

pub(super) fn call(function: Function, arguments: &[Value]) -> Result<Value, EvalError> {
    use Function as F;
    match function {
        F::Pi => return Ok(Value::Float(std::f64::consts::PI)),
        F::E => return Ok(Value::Float(std::f64::consts::E)),
        F::Round => return round(arguments),
        _ => {}
    }
    if arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let number = |value: &Value| as_float(value).ok_or_else(|| takes(function, "a number", value));
    let x = number(&arguments[0])?;
    Ok(Value::Float(match (function, &arguments[0]) {
        (F::Abs, Value::Int(int)) => {
            let overflow = || EvalError::arithmetic(format!("abs({int}) does not fit 64 bits"));
            return int.checked_abs().map(Value::Int).ok_or_else(overflow);
        }
        (F::Sign, Value::Int(int)) => return Ok(Value::Int(int.signum())),
        (F::Sign, _) => return Ok(Value::Int(if x > 0.0 { 1 } else { -i64::from(x < 0.0) })),
        (F::IsNaN, _) => return Ok(Value::Bool(x.is_nan())),
        (F::Atan2, _) => x.atan2(number(&arguments[1])?),
        (F::Abs, _) => x.abs(),
        (F::Ceil, _) => x.ceil(),
        (F::Floor, _) => x.floor(),
        (F::Sqrt, _) => x.sqrt(),
        (F::Exp, _) => x.exp(),
        (F::Log, _) => x.ln(),
        (F::Log10, _) => x.log10(),
        (F::Sin, _) => x.sin(),
        (F::Cos, _) => x.cos(),
        (F::Tan, _) => x.tan(),
        (F::Cot, _) => 1.0 / x.tan(),
        (F::Asin, _) => x.asin(),
        (F::Acos, _) => x.acos(),
        (F::Atan, _) => x.atan(),
        (F::Degrees, _) => x.to_degrees(),
        (F::Radians, _) => x.to_radians(),
        (F::Haversin, _) => (1.0 - x.cos()) / 2.0,
        _ => return Err(EvalError::internal(format!("{} is no function of numbers", function.name()))),
    }))
}

/// How `round()` treats what lies between two candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RoundMode {
    Up,
    Down,
    Ceiling,
    Floor,
    HalfUp,
    HalfDown,
    HalfEven,
}

impl RoundMode {
    fn by_name(name: &str) -> Option<RoundMode> {
        Some(match name.to_ascii_uppercase().as_str() {
            "UP" => RoundMode::Up,
            "DOWN" => RoundMode::Down,
            "CEILING" => RoundMode::Ceiling,
            "FLOOR" => RoundMode::Floor,
            "HALF_UP" => RoundMode::HalfUp,
            "HALF_DOWN" => RoundMode::HalfDown,
            "HALF_EVEN" => RoundMode::HalfEven,
            _ => return None,
        })
    }

    /// Is the size of the number rounded up, given what is cut off compared with one half, and the last digit kept?
    fn grows(self, negative: bool, half: std::cmp::Ordering, kept_is_odd: bool) -> bool {
        match self {
            RoundMode::Up => true,
            RoundMode::Down => false,
            RoundMode::Ceiling => !negative,
            RoundMode::Floor => negative,
            RoundMode::HalfUp => half.is_ge(),
            RoundMode::HalfDown => half.is_gt(),
            RoundMode::HalfEven => half.is_gt() || (half.is_eq() && kept_is_odd),
        }
    }
}

fn round(arguments: &[Value]) -> Result<Value, EvalError> {
    if arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let x = as_float(&arguments[0]).ok_or_else(|| takes(Function::Round, "a number", &arguments[0]))?;
    let Some(precision) = arguments.get(1) else {
        return Ok(Value::Float(round_whole(x)));
    };
    let digits = match precision {
        Value::Int(digits) if (0..=ROUND_PRECISION_MAX).contains(digits) => *digits as usize,
        Value::Int(digits) => {
            return Err(EvalError::argument(format!(
                "round() takes 0 to {ROUND_PRECISION_MAX} digits, not {digits}"
            )));
        }
        other => return Err(takes(Function::Round, "an Integer precision", other)),
    };
    let mode = match arguments.get(2) {
        None if digits == 0 => return Ok(Value::Float(round_whole(x))),
        None => RoundMode::HalfUp,
        Some(Value::String(name)) => RoundMode::by_name(name).ok_or_else(|| {
            EvalError::argument(format!("round() knows no mode '{name}'"))
                .with_hint("modes are UP, DOWN, CEILING, FLOOR, HALF_UP, HALF_DOWN, HALF_EVEN")
        })?,
        Some(other) => return Err(takes(Function::Round, "the name of a mode", other)),
    };
    Ok(Value::Float(round_decimal(x, digits, mode)))
}

/// To the nearest whole number, a tie towards positive infinity.
fn round_whole(x: f64) -> f64 {
    let below = x.floor();
    if x - below >= 0.5 { below + 1.0 } else { below }
}

/// Rounds the shortest decimal that stands for `x`, as people read it, not its binary expansion.
fn round_decimal(x: f64, digits: usize, mode: RoundMode) -> f64 {
    let text = format!("{}", x.abs());
    let Some((whole, fraction)) = text.split_once('.') else { return x };
    if fraction.len() <= digits || !x.is_finite() {
        return x;
    }
    let (kept, cut) = fraction.split_at(digits);
    let half = match cut.as_bytes()[0].cmp(&b'5') {
        std::cmp::Ordering::Equal if cut[1..].bytes().any(|digit| digit != b'0') => {
            std::cmp::Ordering::Greater
        }
        order => order,
    };
    let mut decimal: Vec<u8> = whole.bytes().chain(kept.bytes()).collect();
    let last_is_odd = decimal.last().is_some_and(|digit| digit % 2 == 1);
    if cut.bytes().any(|digit| digit != b'0') && mode.grows(x < 0.0, half, last_is_odd) {
        increment(&mut decimal);
    }
    let point = decimal.len() - digits;
    let text: String = decimal.iter().map(|digit| char::from(*digit)).collect();
    let rounded: f64 = format!("{}.{}", &text[..point], &text[point..]).parse().unwrap_or(x.abs());
    rounded.copysign(x)
}

/// Adds one to a number written in decimal digits.
fn increment(decimal: &mut Vec<u8>) {
    for digit in decimal.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    decimal.insert(0, b'1');
}
