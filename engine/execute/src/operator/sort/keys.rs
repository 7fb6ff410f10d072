//! The keys of rows that are to be sorted, with a number in front of each row that decides most comparisons.
//!
//! Idea: the first key as 64 bits whose order is the key's (Graefe 2006, "Implementing Sorting in Database Systems", normalized keys):
//! integers and floats as a whole, texts by their first bytes. Rows are sorted as pairs of such a number and a row number, so that a
//! comparison seldom looks at a column. Twin: comparing all keys as values.

use super::Sorting;
use model::batch::Carried;
use model::{Batch, Column};
use std::cmp::Ordering;

/// Bytes of a row's number while rows are merged.
pub(super) const BYTES_PER_ROW_KEPT: usize = size_of::<u64>();
/// Bytes of a row while rows are sorted: its number, and the pair that is moved.
pub(super) const BYTES_PER_ROW: usize = BYTES_PER_ROW_KEPT + size_of::<(u64, u32)>();

/// Evaluated keys of all rows.
pub(super) struct SortKeys {
    pub(super) columns: Vec<Carried>,
    /// By row; all alike where the first key has no such number.
    prefixes: Vec<u64>,
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

/// The first bytes of a text, as many as there is room for.
fn text_bits(text: &str) -> u64 {
    let mut first = [0; 8];
    let len = text.len().min(8);
    first[..len].copy_from_slice(&text.as_bytes()[..len]);
    u64::from_be_bytes(first)
}

/// The numbers of a column's rows, and whether they are all of a key; none where the column has no such form.
fn prefixes(column: &Carried, rows: usize) -> Option<(Vec<u64>, bool)> {
    let rows = 0..rows;
    match column.column() {
        Column::Int(values, nulls) if nulls.is_empty() => {
            Some((rows.map(|row| integer_bits(values[column.at(row)])).collect(), true))
        }
        Column::Float(values, nulls) if nulls.is_empty() => {
            Some((rows.map(|row| float_bits(values[column.at(row)])).collect(), true))
        }
        Column::Text(texts, nulls) if nulls.is_empty() => {
            Some((rows.map(|row| text_bits(texts.get(column.at(row)))).collect(), false))
        }
        _ => None,
    }
}

impl SortKeys {
    /// Of rows that have the keys behind their own columns.
    pub(super) fn of(plan: &Sorting, all: &Batch) -> SortKeys {
        let columns: Vec<Carried> =
            (0..plan.keys.len()).map(|key| all.column(plan.width + key).clone()).collect();
        let first = plan.keys.first().zip(columns.first());
        let known = first.and_then(|(key, column)| Some((key, prefixes(column, all.len())?)));
        let Some((key, (mut prefixes, whole))) = known else {
            return SortKeys { columns, prefixes: vec![0; all.len()], whole: false };
        };
        if key.descending {
            prefixes.iter_mut().for_each(|prefix| *prefix = !*prefix);
        }
        SortKeys { columns, prefixes, whole }
    }
    /// All rows, with their numbers.
    pub(super) fn rows(&self) -> Vec<(u64, u32)> {
        self.prefixes.iter().copied().zip(0..).collect()
    }
    /// The number of a row, and the row.
    #[inline]
    pub(super) fn row(&self, row: usize) -> (u64, u32) {
        (self.prefixes[row], row as u32)
    }
    /// Which row comes first; of equal keys the one that came first.
    #[inline]
    pub(super) fn compare(&self, plan: &Sorting, a: (u64, u32), b: (u64, u32)) -> Ordering {
        let order = a.0.cmp(&b.0);
        if order.is_ne() || (self.whole && plan.keys.len() == 1) {
            return order.then(a.1.cmp(&b.1));
        }
        self.compare_values(plan, a.1 as usize, b.1 as usize).then(a.1.cmp(&b.1))
    }
    fn compare_values(&self, plan: &Sorting, a: usize, b: usize) -> Ordering {
        for (key, column) in plan.keys.iter().zip(&self.columns).skip(usize::from(self.whole)) {
            let order = match column.column() {
                Column::Int(values, nulls) if nulls.is_empty() => {
                    values[column.at(a)].cmp(&values[column.at(b)])
                }
                Column::Text(texts, nulls) if nulls.is_empty() => {
                    texts.get(column.at(a)).as_bytes().cmp(texts.get(column.at(b)).as_bytes())
                }
                Column::Any(values) => key.order(&values[column.at(a)], &values[column.at(b)]),
                _ => key.order(&column.get(a), &column.get(b)),
            };
            if order.is_ne() {
                return if key.descending { order.reverse() } else { order };
            }
        }
        Ordering::Equal
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
                let order = text_bits(a).cmp(&text_bits(b));
                assert!(order.is_eq() || order == a.cmp(b), "{a:?} {b:?}");
            }
        }
    }
}
