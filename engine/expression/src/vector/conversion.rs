//! `toString` of a column of numbers or truth values: digits go straight into the column's one buffer.

use super::operand::{Operand, floats, integers};
use crate::error::float_text;
use model::column::Texts;
use model::{Column, Nulls};

/// Digits of the longest integer.
const DIGITS_MAX: usize = 20;
/// Bytes of a text, about: the buffer begins with room for so many a row.
const TEXT_BYTES: usize = 8;

/// The texts of a column; none where its values have no type in common whose texts are short.
pub(super) fn to_string(a: &Operand<'_>, rows: usize) -> Option<Column> {
    if let Some(source) = integers(a) {
        return Some(texts(rows, |row, bytes| source.get(row).map(|int| push_integer(int, bytes)).is_some()));
    }
    if let Some(source) = floats(a) {
        let push = |row, bytes: &mut String| source.get(row).map(|float| bytes.push_str(&float_text(float)));
        return Some(texts(rows, |row, bytes| push(row, bytes).is_some()));
    }
    let Column::Bool(values, nulls) = a.column() else { return None };
    Some(texts(rows, |row, bytes| {
        let at = a.at(row);
        let is_null = nulls.contains(at);
        if !is_null {
            bytes.push_str(if values[at] { "true" } else { "false" });
        }
        !is_null
    }))
}

/// A column of texts; `push` appends that of a row, and says whether it has one.
fn texts(rows: usize, push: impl Fn(usize, &mut String) -> bool) -> Column {
    let (mut bytes, mut ends) = (String::with_capacity(rows * TEXT_BYTES), Vec::with_capacity(rows));
    let mut nulls = Nulls::none();
    for row in 0..rows {
        if !push(row, &mut bytes) {
            nulls.set(row);
        }
        // A batch has some thousands of rows, and texts of numbers are short.
        debug_assert!(u32::try_from(bytes.len()).is_ok());
        ends.push(bytes.len() as u32);
    }
    Column::Text(Texts::from_parts(bytes, ends), nulls)
}

fn push_integer(int: i64, bytes: &mut String) {
    let (mut digits, mut at, mut rest) = ([0; DIGITS_MAX], DIGITS_MAX, int.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if int < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    bytes.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    #[test]
    fn integers_are_written_as_the_standard_library_writes_them() {
        let mut chance = Chance::from_system();
        let of_any_length = (0..2_000).map(|at| (chance.next_u64() as i64) >> (at % 64));
        let ints = [0, 1, -1, 9, 10, -10, 99, 100, i64::MAX, i64::MIN].into_iter().chain(of_any_length);
        for int in ints {
            let mut text = "before".to_string();
            push_integer(int, &mut text);
            assert_eq!(text, format!("before{int}"));
        }
    }
}
