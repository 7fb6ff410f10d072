//! Parts and lengths of the texts of a column: they are read where they lie and go straight into the column's one buffer.

use super::operand::{Operand, texts};
use crate::error::EvalError;
use crate::metered;
use dataflow::watch::LoopBytes;
use model::{Column, ColumnBuilder, Value};
use plan::Function;

/// The function of the texts of a column; none where the interpreter is needed: for other values, or where a position differs by row.
pub(super) fn column(
    function: Function,
    subject: &Operand<'_>,
    others: &[Operand<'_>],
    rows: usize,
) -> Option<Result<Column, EvalError>> {
    let source = texts(subject)?;
    let mut numbers = others.iter().map(constant);
    let (start, length) = match function {
        Function::Size | Function::CharLength | Function::CharacterLength => {
            let length = |text: &str| Value::Int(characters(text) as i64);
            return Some(each(rows, |row| source.get(row), |column, text| column.push(length(text))));
        }
        Function::Left => (0, numbers.next()??),
        Function::Substring => (numbers.next()??, numbers.next().unwrap_or(Some(usize::MAX))?),
        _ => return None,
    };
    Some(each(rows, |row| source.get(row), |column, text| column.push_text(part(text, start, length))))
}

/// The same position or length for every row.
fn constant(operand: &Operand<'_>) -> Option<usize> {
    match operand.column() {
        Column::Constant(Value::Int(int), _) => usize::try_from(*int).ok(),
        _ => None,
    }
}

fn each<'t>(
    rows: usize,
    text: impl Fn(usize) -> Option<&'t str>,
    push: impl Fn(&mut ColumnBuilder, &str),
) -> Result<Column, EvalError> {
    let (mut column, mut hold) = (ColumnBuilder::new(), LoopBytes::default());
    metered::elements(rows)?;
    for row in 0..rows {
        match text(row) {
            Some(text) => {
                metered::text(text.len())?;
                push(&mut column, text);
            }
            None => column.push(Value::Null),
        }
    }
    let column = column.finish();
    metered::keep_column(&mut hold, &column)?;
    Ok(column)
}

fn characters(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// So many characters, from one on.
fn part(text: &str, start: usize, length: usize) -> &str {
    let place = |text: &str, character: usize| match text.is_ascii() {
        true => character.min(text.len()),
        false => text.char_indices().nth(character).map_or(text.len(), |(at, _)| at),
    };
    let rest = &text[place(text, start)..];
    &rest[..place(rest, length)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_characters() {
        for text in ["", "a", "abc", "aé€𝄞b", "Σ"] {
            for start in [0, 1, 3, 9, usize::MAX] {
                for length in [0, 1, 2, 9, usize::MAX] {
                    let right: String = text.chars().skip(start).take(length).collect();
                    assert_eq!(part(text, start, length), right, "{text} {start} {length}");
                }
            }
            assert_eq!(characters(text), text.chars().count());
        }
    }
}
