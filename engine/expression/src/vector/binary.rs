//! Comparison and arithmetic of two columns: a loop for each pair of types that matters, one value at a time for the rest.

use super::operand::{
    Operand, PlainValues, Source, Truths, dates, edges, floats, integers, numbers, texts, vertices, zipped,
};
use super::{in_set, row_by_row};
use crate::error::EvalError;
use crate::operators;
use crate::scope::Scope;
use model::compare::equals;
use model::temporal::Date;
use model::{Column, Nulls, Value};
use plan::expr::BinaryOperator;

/// The values of `a operator b`, where both sides are evaluated.
pub(super) fn binary(
    operator: BinaryOperator,
    a: &Operand<'_>,
    b: &Operand<'_>,
    rows: usize,
    scope: &Scope<'_>,
) -> Result<Column, EvalError> {
    use BinaryOperator as B;
    let null = |operand: &Operand<'_>| matches!(operand.column(), Column::Constant(Value::Null, _));
    let quick = match operator {
        B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual => {
            if null(a) || null(b) {
                return Ok(Column::Constant(Value::Null, rows));
            }
            compare(operator, a, b, rows)
        }
        B::StartsWith | B::EndsWith | B::Contains => text_test(operator, a, b, rows),
        B::In => in_one_list(a, b, rows, scope)?,
        B::Add | B::Subtract | B::Multiply | B::Divide | B::Modulo => arithmetic(operator, a, b, rows)?,
        _ => None,
    };
    match quick {
        Some(column) => Ok(column),
        None => row_by_row(rows, |row| operators::binary(operator, &a.get(row), &b.get(row), scope)),
    }
}

/// Rows from which on a list is made a set for being searched.
const SEARCHED_ROWS_MIN: usize = 8;

/// `a IN list`, where the list is the same in all rows; by a set, where they are many, or an earlier batch has made it.
fn in_one_list(
    a: &Operand<'_>,
    b: &Operand<'_>,
    rows: usize,
    scope: &Scope<'_>,
) -> Result<Option<Column>, EvalError> {
    if rows == 0 {
        return Ok(None);
    }
    let Value::List(list) = b.get(0) else { return Ok(None) };
    let first = b.at(0);
    let is_it =
        |row: usize| b.at(row) == first || matches!(b.get(row), Value::List(other) if other.is_same(&list));
    if !(matches!(b.column(), Column::Constant(..)) || (1..rows).all(is_it)) {
        return Ok(None);
    }
    let set = match rows < SEARCHED_ROWS_MIN {
        true => scope.request.known_set(&list),
        false => Some(scope.request.set(list)?),
    };
    set.map(|set| in_set(a, &set, rows)).transpose()
}

fn compare(operator: BinaryOperator, a: &Operand<'_>, b: &Operand<'_>, rows: usize) -> Option<Column> {
    let either_integers = |operand| integers(operand).or_else(|| whole_constant(operand));
    if let (Some(a), Some(b)) = (either_integers(a), either_integers(b)) {
        return Some(ordered(operator, &a, &b, rows));
    }
    let either_floats = |operand| floats(operand).or_else(|| exact_constant(operand));
    if let (Some(a), Some(b)) = (either_floats(a), either_floats(b)) {
        return Some(ordered(operator, &a, &b, rows));
    }
    if let (Some(a), Some(b)) = (numbers(a), numbers(b)) {
        let mut truths = Truths::with_capacity(rows);
        let test = |a: Value, b: Value| match operator {
            BinaryOperator::Equal => equals(&a, &b),
            BinaryOperator::NotEqual => equals(&a, &b).map(|same| !same),
            _ => operators::ordered(operator, &a, &b),
        };
        (0..rows).for_each(|row| truths.push(a.get(row).zip(b.get(row)).and_then(|(a, b)| test(a, b))));
        return Some(truths.finish());
    }
    if let (Some(a), Some(b)) = (texts(a), texts(b)) {
        let mut truths = Truths::with_capacity(rows);
        let test = |a: &str, b: &str| match operator {
            BinaryOperator::Equal => a == b,
            BinaryOperator::NotEqual => a != b,
            _ => operators::admits(operator, a.cmp(b)),
        };
        (0..rows).for_each(|row| truths.push(a.get(row).zip(b.get(row)).map(|(a, b)| test(a, b))));
        return Some(truths.finish());
    }
    if let (Some(a), Some(b)) = (dates(a, rows), dates(b, rows)) {
        let mut truths = Truths::with_capacity(rows);
        let test = |(a, b): (Date, Date)| operators::admits(operator, a.cmp(&b));
        (0..rows).for_each(|row| truths.push(a.get(row).zip(b.get(row)).map(test)));
        return Some(truths.finish());
    }
    let wanted = match operator {
        BinaryOperator::Equal => true,
        BinaryOperator::NotEqual => false,
        _ => return None,
    };
    if let (Some(a), Some(b)) = (vertices(a), vertices(b)) {
        return Some(pairs(&a, &b, rows, |a, b| (a == b) == wanted));
    }
    let (a, b) = (edges(a)?, edges(b)?);
    Some(pairs(&a, &b, rows, |a, b| (a.id == b.id) == wanted))
}

/// Integers below this in size are floats exactly.
const EXACT_MAX: i64 = 1 << 53;

/// A constant float that is a whole number, to be compared with integers.
fn whole_constant<'a>(operand: &'a Operand<'a>) -> Option<Source<'a, i64>> {
    match operand.column() {
        Column::Constant(Value::Float(float), _)
            if float.abs() < EXACT_MAX as f64 && float.fract() == 0.0 =>
        {
            Some(Source::Same(*float as i64))
        }
        _ => None,
    }
}

/// A constant integer that is a float exactly, to be compared with floats.
fn exact_constant<'a>(operand: &'a Operand<'a>) -> Option<Source<'a, f64>> {
    match operand.column() {
        Column::Constant(Value::Int(int), _) if int.unsigned_abs() < EXACT_MAX as u64 => {
            Some(Source::Same(*int as f64))
        }
        _ => None,
    }
}

/// The comparison is chosen once, outside the loop. For floats, NaN compares as IEEE 754 has it, which is what Cypher wants.
fn ordered<T: Copy + PartialOrd>(
    operator: BinaryOperator,
    a: &Source<'_, T>,
    b: &Source<'_, T>,
    rows: usize,
) -> Column {
    match operator {
        BinaryOperator::Equal => pairs(a, b, rows, |a, b| a == b),
        BinaryOperator::NotEqual => pairs(a, b, rows, |a, b| a != b),
        BinaryOperator::Less => pairs(a, b, rows, |a, b| a < b),
        BinaryOperator::LessEqual => pairs(a, b, rows, |a, b| a <= b),
        BinaryOperator::Greater => pairs(a, b, rows, |a, b| a > b),
        _ => pairs(a, b, rows, |a, b| a >= b),
    }
}

fn pairs<T: Copy>(a: &Source<'_, T>, b: &Source<'_, T>, rows: usize, test: impl Fn(T, T) -> bool) -> Column {
    if let (Some(a), Some(b)) = (a.plain(rows), b.plain(rows)) {
        return Column::Bool(zipped(a, b, rows, test), Nulls::none());
    }
    let mut truths = Truths::with_capacity(rows);
    (0..rows).for_each(|row| truths.push(a.get(row).zip(b.get(row)).map(|(a, b)| test(a, b))));
    truths.finish()
}

fn text_test(operator: BinaryOperator, a: &Operand<'_>, b: &Operand<'_>, rows: usize) -> Option<Column> {
    let (a, b) = (texts(a)?, texts(b)?);
    let mut truths = Truths::with_capacity(rows);
    let test = |text: &str, part: &str| match operator {
        BinaryOperator::StartsWith => text.starts_with(part),
        BinaryOperator::EndsWith => text.ends_with(part),
        _ => text.contains(part),
    };
    (0..rows).for_each(|row| truths.push(a.get(row).zip(b.get(row)).map(|(a, b)| test(a, b))));
    Some(truths.finish())
}

fn arithmetic(
    operator: BinaryOperator,
    a: &Operand<'_>,
    b: &Operand<'_>,
    rows: usize,
) -> Result<Option<Column>, EvalError> {
    if let (Some(a), Some(b)) = (integers(a), integers(b)) {
        return integer_arithmetic(operator, &a, &b, rows).map(Some);
    }
    if let (Some(a), Some(b)) = (plain_floats(a, rows), plain_floats(b, rows)) {
        return Ok(float_arithmetic(operator, a, b, rows).map(|values| Column::Float(values, Nulls::none())));
    }
    if let (Some(a), Some(b)) = (numbers(a), numbers(b)) {
        let mut nulls = Nulls::none();
        let values = (0..rows).map(|row| match (a.float(row), b.float(row)) {
            (Some(a), Some(b)) => operators::floats(operator, a, b),
            _ => {
                nulls.set(row);
                0.0
            }
        });
        return Ok(Some(Column::Float(values.collect(), nulls)));
    }
    Ok(None)
}

/// Floats without a null; a constant integer stands for the float nearest to it.
fn plain_floats<'a>(operand: &'a Operand<'a>, rows: usize) -> Option<PlainValues<'a, f64>> {
    match operand.column() {
        Column::Constant(Value::Int(int), _) => Some(PlainValues::Same(*int as f64)),
        _ => floats(operand)?.plain(rows),
    }
}

/// The operator is chosen once, outside the loop.
fn float_arithmetic(
    operator: BinaryOperator,
    a: PlainValues<'_, f64>,
    b: PlainValues<'_, f64>,
    rows: usize,
) -> Option<Vec<f64>> {
    match operator {
        BinaryOperator::Add => Some(zipped(a, b, rows, |a, b| a + b)),
        BinaryOperator::Subtract => Some(zipped(a, b, rows, |a, b| a - b)),
        BinaryOperator::Multiply => Some(zipped(a, b, rows, |a, b| a * b)),
        BinaryOperator::Divide => Some(zipped(a, b, rows, |a, b| a / b)),
        BinaryOperator::Modulo => Some(zipped(a, b, rows, |a, b| a % b)),
        _ => None,
    }
}

/// As [`float_arithmetic`]; none where some row fails.
fn unfailing_arithmetic(
    operator: BinaryOperator,
    a: PlainValues<'_, i64>,
    b: PlainValues<'_, i64>,
    rows: usize,
) -> Option<Vec<i64>> {
    #[inline(always)]
    fn all(
        a: PlainValues<'_, i64>,
        b: PlainValues<'_, i64>,
        rows: usize,
        compute: impl Fn(i64, i64) -> (i64, bool),
    ) -> Option<Vec<i64>> {
        let mut fails = false;
        let values = zipped(a, b, rows, |a, b| {
            let (value, failed) = compute(a, b);
            fails |= failed;
            value
        });
        (!fails).then_some(values)
    }
    match operator {
        BinaryOperator::Add => all(a, b, rows, i64::overflowing_add),
        BinaryOperator::Subtract => all(a, b, rows, i64::overflowing_sub),
        BinaryOperator::Multiply => all(a, b, rows, i64::overflowing_mul),
        BinaryOperator::Divide => {
            all(a, b, rows, |a, b| if b == 0 { (0, true) } else { a.overflowing_div(b) })
        }
        BinaryOperator::Modulo => {
            all(a, b, rows, |a, b| if b == 0 { (0, true) } else { (a.wrapping_rem(b), false) })
        }
        _ => None,
    }
}

fn integer_arithmetic(
    operator: BinaryOperator,
    a: &Source<'_, i64>,
    b: &Source<'_, i64>,
    rows: usize,
) -> Result<Column, EvalError> {
    if let (Some(a), Some(b)) = (a.plain(rows), b.plain(rows))
        && let Some(values) = unfailing_arithmetic(operator, a, b, rows)
    {
        return Ok(Column::Int(values, Nulls::none()));
    }
    let mut values = Vec::with_capacity(rows);
    let mut nulls = Nulls::none();
    for row in 0..rows {
        let (Some(a), Some(b)) = (a.get(row), b.get(row)) else {
            nulls.set(row);
            values.push(0);
            continue;
        };
        let quick = match operator {
            BinaryOperator::Add => a.checked_add(b),
            BinaryOperator::Subtract => a.checked_sub(b),
            BinaryOperator::Multiply => a.checked_mul(b),
            _ => None,
        };
        match quick {
            Some(value) => values.push(value),
            // Division, and whatever fails: said by the one place that defines it.
            None => values.push(operators::integers(operator, a, b)?.as_int().unwrap_or(0)),
        }
    }
    Ok(Column::Int(values, nulls))
}
