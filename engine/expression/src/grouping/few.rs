//! Keys of several columns that take few values each: rows are told apart by a small number, and one row of each combination is grouped.
//!
//! Idea: an integer that is close to the others of its batch, a truth value, a code of a short dictionary and null are small numbers; together they
//! are one digit after the other of a number below the product of their ranges. Twin: every row for itself. Cost: a multiplication a row and key.

use super::close::CLOSE_WIDTH_MAX;
use super::close_together;
use super::numbers::NO_GROUP;
use model::batch::Carried;
use model::{Column, Nulls};
use std::sync::Arc;

/// Rows below which combinations are not counted.
const ROWS_MIN: usize = 64;

/// The combinations of a batch.
pub(super) struct FewKeys {
    /// The first row of each, rising.
    firsts: Vec<u32>,
    /// By row: its combination.
    of_row: Vec<u32>,
}

/// The values of one key as numbers below a width.
enum Digit<'k> {
    Same,
    Truths(&'k [bool], &'k Nulls),
    Integers(&'k [i64], i64),
    Codes(&'k [u16], &'k Nulls),
}

impl Digit<'_> {
    /// The numbers, and their width: null is the last.
    fn of(key: &Carried, rows: usize) -> Option<(Digit<'_>, usize)> {
        match key.column() {
            Column::Constant(..) => Some((Digit::Same, 1)),
            Column::Bool(truths, nulls) => Some((Digit::Truths(truths, nulls), 3)),
            Column::Int(values, _) => {
                let (low, width) = close_together(key, rows)?;
                Some((Digit::Integers(values, low), width))
            }
            Column::Text(texts, nulls) => {
                let (codes, dictionary) = texts.codes()?;
                Some((Digit::Codes(codes, nulls), dictionary.len() + 1))
            }
            _ => None,
        }
    }
    /// Writes the numbers behind those that are there.
    fn append_to(&self, key: &Carried, width: usize, numbers: &mut [u32]) {
        let null = width - 1;
        match self {
            Digit::Same => {}
            Digit::Truths(truths, nulls) if nulls.is_empty() => {
                append(key, width, numbers, |at| usize::from(truths[at]));
            }
            Digit::Truths(truths, nulls) => {
                append(
                    key,
                    width,
                    numbers,
                    |at| {
                        if nulls.contains(at) { null } else { usize::from(truths[at]) }
                    },
                )
            }
            Digit::Integers(values, low) => {
                append(key, width, numbers, |at| values[at].wrapping_sub(*low) as usize);
            }
            Digit::Codes(codes, nulls) if nulls.is_empty() => {
                append(key, width, numbers, |at| usize::from(codes[at]));
            }
            Digit::Codes(codes, nulls) => {
                append(
                    key,
                    width,
                    numbers,
                    |at| {
                        if nulls.contains(at) { null } else { usize::from(codes[at]) }
                    },
                )
            }
        }
    }
}

fn append(key: &Carried, width: usize, numbers: &mut [u32], digit: impl Fn(usize) -> usize) {
    for (row, held) in numbers.iter_mut().enumerate() {
        *held = *held * width as u32 + digit(key.at(row)) as u32;
    }
}

impl FewKeys {
    /// The combinations of several keys, where they are few beside the rows.
    pub(super) fn of(keys: &[Carried], rows: usize) -> Option<FewKeys> {
        if keys.len() < 2 || rows < ROWS_MIN {
            return None;
        }
        let (mut digits, mut widths) = (Vec::with_capacity(keys.len()), 1);
        for key in keys {
            let (digit, width) = Digit::of(key, rows)?;
            widths *= width;
            if widths > CLOSE_WIDTH_MAX.min(rows) {
                return None;
            }
            digits.push((digit, width));
        }
        let mut of_row = vec![0; rows];
        for ((digit, width), key) in digits.iter().zip(keys) {
            digit.append_to(key, *width, &mut of_row);
        }
        let (mut places, mut firsts) = (vec![NO_GROUP; widths], Vec::new());
        for (row, number) in of_row.iter_mut().enumerate() {
            let place = &mut places[*number as usize];
            if *place == NO_GROUP {
                *place = firsts.len() as u32;
                firsts.push(row as u32);
            }
            *number = *place;
        }
        Some(FewKeys { firsts, of_row })
    }
    /// How many.
    pub(super) fn len(&self) -> usize {
        self.firsts.len()
    }
    /// A key's value in each.
    pub(super) fn first_values(&self, key: &Carried) -> Carried {
        let places = self.firsts.iter().map(|row| key.at(*row as usize) as u32).collect();
        Carried::picked(key.shared().clone(), Arc::new(places))
    }
    /// By row: its combination.
    pub(super) fn of_row(&self) -> &[u32] {
        &self.of_row
    }
}
