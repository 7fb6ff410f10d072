//! The keys of rows that are to be sorted, with an integer in front of each row that decides most comparisons.
//!
//! Idea: the first key as 64 bits whose order is the key's (Graefe 2006, "Implementing Sorting in Database Systems", normalized keys):
//! integers and floats as a whole, texts by seven bytes at a time. Rows are sorted as pairs of such a number and a row number, so that a
//! comparison seldom looks at a column. Twin: comparing all keys as values.

use super::sorting::{Key, Sorting};
use model::batch::Carried;
use model::{Batch, Column};
use std::cmp::Ordering;

/// Bytes of a row and its number while rows are sorted, and of the row numbers that come of it.
pub(super) const BYTES_PER_ROW: usize = size_of::<(u64, u32)>() + size_of::<u32>();

/// Evaluated keys of all rows.
pub(super) struct SortKeys {
    pub(super) columns: Vec<Carried>,
    /// All rows with their numbers, which are all alike where the first key has none.
    pairs: Vec<(u64, u32)>,
    /// Equal numbers are equal keys.
    whole: bool,
}

/// A float as bits in its order: NaN behind all, and the two zeros alike.
#[inline]
pub(super) fn float_bits(float: f64) -> u64 {
    if float.is_nan() {
        return u64::MAX;
    }
    // A negative zero and zero make zero.
    let bits = (float + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn integer_bits(integer: i64) -> u64 {
    integer as u64 ^ 1 << 63
}

/// Bytes of a text that a number holds.
const TEXT_PIECE: usize = 7;

/// A piece of a text: the next seven bytes, and how many there are of these and of more.
fn text_bits(text: &str, offset: usize) -> u64 {
    let rest = text.as_bytes().get(offset..).unwrap_or_default();
    let mut first = [0; TEXT_PIECE + 1];
    let len = rest.len().min(TEXT_PIECE);
    first[..len].copy_from_slice(&rest[..len]);
    first[TEXT_PIECE] = rest.len().min(TEXT_PIECE + 1) as u8;
    u64::from_be_bytes(first)
}

/// The source of a number: a key, and of a text the bytes from here on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyPiece {
    pub(super) key: usize,
    offset: usize,
    /// Pieces of this text before it.
    pieces: usize,
}

/// Pieces of a text by which rows are put in order; of texts that are equal for longer, values are compared.
const PIECES_MAX: usize = 8;

/// The comparison of rows whose numbers are equal.
pub(super) enum TieBreak {
    /// Another number.
    Piece(KeyPiece),
    /// Their keys as values.
    Values,
    /// None: they are equal.
    Nothing,
}

impl KeyPiece {
    /// The first key's bytes from here on.
    pub(super) fn of_text(offset: usize) -> KeyPiece {
        KeyPiece { key: 0, offset, pieces: 0 }
    }
    /// The comparison after this number, which is of a key of this kind.
    pub(super) fn behind(self, number: u64, kind: NumberKind, keys: &[Key]) -> TieBreak {
        let number = number ^ turn(&keys[self.key]);
        let next_key = KeyPiece { key: self.key + 1, offset: 0, pieces: 0 };
        match kind.numbers {
            NumberOrigin::Texts if number != u64::MAX && number as u8 as usize > TEXT_PIECE => {
                let (offset, pieces) = (self.offset + TEXT_PIECE, self.pieces + 1);
                match pieces < PIECES_MAX {
                    true => TieBreak::Piece(KeyPiece { key: self.key, offset, pieces }),
                    false => TieBreak::Values,
                }
            }
            // Null has the number of the greatest value.
            NumberOrigin::Integers | NumberOrigin::Floats if kind.has_null && number == u64::MAX => {
                TieBreak::Values
            }
            NumberOrigin::Unknown => TieBreak::Values,
            _ if next_key.key == keys.len() => TieBreak::Nothing,
            _ => TieBreak::Piece(next_key),
        }
    }
    /// The number of a row in a column of a known kind.
    #[inline]
    pub(super) fn number(self, key: &Key, column: &Column, row: usize) -> u64 {
        let bits = match column {
            Column::Int(values, nulls) if !nulls.contains(row) => integer_bits(values[row]),
            Column::Float(values, nulls) if !nulls.contains(row) => float_bits(values[row]),
            Column::Text(texts, nulls) if !nulls.contains(row) => text_bits(texts.get(row), self.offset),
            _ => u64::MAX,
        };
        bits ^ turn(key)
    }
}

/// A mask that reverses the order of numbers.
#[inline]
fn turn(key: &Key) -> u64 {
    if key.descending { u64::MAX } else { 0 }
}

/// The kind of values that the numbers of rows are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NumberOrigin {
    /// No row came yet.
    #[default]
    Nothing,
    /// The first key as a whole.
    Integers,
    /// Likewise.
    Floats,
    /// The first bytes of the first key.
    Texts,
    /// Values of several types, or of one without such a number: all numbers are equal.
    Unknown,
}

/// Properties of the numbers of some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NumberKind {
    numbers: NumberOrigin,
    /// The number of null is the greatest, and may be that of another value as well.
    has_null: bool,
}

impl NumberKind {
    /// Are equal numbers equal keys?
    pub(super) fn is_whole(self) -> bool {
        matches!(self.numbers, NumberOrigin::Integers | NumberOrigin::Floats) && !self.has_null
    }
    /// Of rows of both kinds.
    pub(super) fn with(self, other: NumberKind) -> NumberKind {
        let numbers = match (self.numbers, other.numbers) {
            (NumberOrigin::Nothing, numbers) | (numbers, NumberOrigin::Nothing) => numbers,
            (mine, theirs) if mine == theirs => mine,
            _ => NumberOrigin::Unknown,
        };
        NumberKind { numbers, has_null: self.has_null || other.has_null }
    }
    pub(super) fn is_unknown(self) -> bool {
        self.numbers == NumberOrigin::Unknown
    }
    pub(super) fn is_of_texts(self) -> bool {
        self.numbers == NumberOrigin::Texts
    }
    pub(super) fn of(column: &Column) -> NumberKind {
        let (numbers, nulls) = match column {
            Column::Int(_, nulls) => (NumberOrigin::Integers, nulls),
            Column::Float(_, nulls) => (NumberOrigin::Floats, nulls),
            Column::Text(_, nulls) => (NumberOrigin::Texts, nulls),
            _ => return NumberKind { numbers: NumberOrigin::Unknown, has_null: false },
        };
        NumberKind { numbers, has_null: !nulls.is_empty() }
    }
}

/// Adds the rows of a batch with their numbers. Once nothing is to be said of all rows, numbers that were given before mean nothing.
pub(super) fn number_rows(
    (key, column): (&Key, &Carried),
    rows: std::ops::Range<u32>,
    kind: &mut NumberKind,
    pairs: &mut Vec<(u64, u32)>,
) {
    *kind = kind.with(NumberKind::of(column.column()));
    if kind.is_unknown() {
        return pairs.extend(rows.map(|row| (0, row)));
    }
    let first = rows.start;
    let number =
        |row: u32| KeyPiece::default().number(key, column.column(), column.at((row - first) as usize));
    pairs.extend(rows.map(|row| (number(row), row)));
}

/// Which of two rows comes first by these keys, of which `columns` gives the columns and the rows there.
#[inline]
pub(super) fn compare_keys<'c>(
    keys: impl Iterator<Item = (usize, &'c Key)>,
    columns: impl Fn(usize) -> [(&'c Column, usize); 2],
) -> Ordering {
    for (number, key) in keys {
        let [(a_column, a), (b_column, b)] = columns(number);
        let order = match (a_column, b_column) {
            (Column::Int(a_values, a_nulls), Column::Int(b_values, b_nulls))
                if a_nulls.is_empty() && b_nulls.is_empty() =>
            {
                a_values[a].cmp(&b_values[b])
            }
            (Column::Float(a_values, a_nulls), Column::Float(b_values, b_nulls))
                if a_nulls.is_empty() && b_nulls.is_empty() =>
            {
                float_bits(a_values[a]).cmp(&float_bits(b_values[b]))
            }
            (Column::Text(a_texts, a_nulls), Column::Text(b_texts, b_nulls))
                if a_nulls.is_empty() && b_nulls.is_empty() =>
            {
                a_texts.get(a).as_bytes().cmp(b_texts.get(b).as_bytes())
            }
            (Column::Any(a_values), Column::Any(b_values)) => key.order(&a_values[a], &b_values[b]),
            _ => key.order(&a_column.get(a), &b_column.get(b)),
        };
        if order.is_ne() {
            return if key.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

impl SortKeys {
    /// Of rows that have the keys behind their own columns.
    pub(super) fn of(plan: &Sorting, all: &Batch) -> SortKeys {
        let columns: Vec<Carried> =
            (0..plan.keys.len()).map(|key| all.column(plan.width + key).clone()).collect();
        let mut kind = NumberKind::default();
        let mut pairs = Vec::with_capacity(all.len());
        match plan.keys.first().zip(columns.first()) {
            Some(first) => number_rows(first, 0..all.len() as u32, &mut kind, &mut pairs),
            None => pairs.extend((0..all.len() as u32).map(|row| (0, row))),
        }
        SortKeys { columns, pairs, whole: kind.is_whole() }
    }
    /// All rows, with their numbers.
    pub(super) fn take_rows(&mut self) -> Vec<(u64, u32)> {
        std::mem::take(&mut self.pairs)
    }
    /// Which row comes first; of equal keys the one that came first.
    #[inline]
    pub(super) fn compare(&self, plan: &Sorting, a: (u64, u32), b: (u64, u32)) -> Ordering {
        let order = a.0.cmp(&b.0);
        if order.is_ne() || (self.whole && plan.keys.len() == 1) {
            return order.then(a.1.cmp(&b.1));
        }
        let column = |number: usize, row: u32| {
            let carried = &self.columns[number];
            (carried.column(), carried.at(row as usize))
        };
        let keys = plan.keys.iter().enumerate().skip(usize::from(self.whole));
        compare_keys(keys, |number| [column(number, a.1), column(number, b.1)]).then(a.1.cmp(&b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;
    use model::compare::total_order;

    #[test]
    fn bits_are_in_the_order_of_values() {
        let floats =
            [f64::NEG_INFINITY, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY, f64::NAN];
        for a in floats {
            for b in floats {
                let right = total_order(&Value::Float(a), &Value::Float(b));
                assert_eq!(float_bits(a).cmp(&float_bits(b)), right, "{a} {b}");
            }
        }
        for a in [i64::MIN, -1, 0, 1, i64::MAX] {
            for b in [i64::MIN, -1, 0, 1, i64::MAX] {
                assert_eq!(integer_bits(a).cmp(&integer_bits(b)), a.cmp(&b), "{a} {b}");
            }
        }
        let texts = ["", "\0", "a", "ab", "abcdefgh", "abcdefghi", "abcdefgi", "é"];
        for a in texts {
            for b in texts {
                let order = text_bits(a, 0).cmp(&text_bits(b, 0));
                assert!(order.is_eq() || order == a.cmp(b), "{a:?} {b:?}");
            }
        }
    }
}
