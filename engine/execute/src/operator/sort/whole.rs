//! A sort of all rows: on every executor what comes to it, and at home the sorted parts are merged.
//!
//! Rows are kept in segments as they come, with the keys behind their own columns, and are sorted as pairs of a number that decides most
//! comparisons (see `keys`) and a row number. The numbers are sorted by radix, digit by digit (Knuth, The Art of Computer Programming 3,
//! 5.2.5), which is stable; rows whose numbers are equal are then put in order by their keys. Each step is a slice of work: neither a copy of a
//! segment nor a pass over a digit is ever a long call. Twin: a stable sort of all rows by all keys.
//!
//! Cost: two pairs of 16 bytes a row while it is sorted, one while it is merged; one pass for each digit in which the numbers differ.

use super::Sorting;
use super::keys::{NumberKind, compare_keys, number_rows};
use crate::columns::Gathering;
use model::{Batch, Column, ColumnBuilder};
use std::cmp::Ordering;
use std::sync::Arc;

/// Bits of a row number within its segment.
const SEGMENT_BITS: u32 = 15;
/// Rows of a segment at most.
const SEGMENT_ROWS: usize = 1 << SEGMENT_BITS;
/// Bits of a digit.
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;
const DIGIT_VALUES: usize = 1 << DIGIT_BITS;
/// Pairs that are counted, moved or merged in one step.
const PAIRS_PER_STEP: usize = 16 << 10;
/// Pairs that are sorted by comparisons in one step.
const RUN_PAIRS: usize = 4_096;

/// A row: the number of its first key, and where it is.
type Pair = (u64, u32);

/// Rows in segments: row `r` is row `r % 2^15` of segment `r / 2^15`.
pub(super) struct Rows {
    plan: Arc<Sorting>,
    segments: Vec<Batch>,
    last: Option<Gathering>,
    kind: NumberKind,
    pairs: Vec<Pair>,
    /// Bytes of whole segments, and about those of the last.
    segment_bytes: usize,
    last_bytes: usize,
}

impl Rows {
    pub(super) fn new(plan: Arc<Sorting>) -> Rows {
        Rows {
            plan,
            segments: Vec::new(),
            last: None,
            kind: NumberKind::default(),
            pairs: Vec::new(),
            segment_bytes: 0,
            last_bytes: 0,
        }
    }
    fn width(&self) -> usize {
        self.plan.width + self.plan.keys.len()
    }
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }
    /// Takes rows with their keys behind their own columns.
    pub(super) fn take(&mut self, batch: &Batch) {
        if batch.len() > SEGMENT_ROWS {
            let half = batch.len() / 2;
            self.take(&batch.slice(0, half));
            return self.take(&batch.slice(half, batch.len()));
        }
        if self.last.as_ref().is_some_and(|last| last.len() + batch.len() > SEGMENT_ROWS) {
            self.end_segment();
        }
        let batch = batch.flatten();
        self.last_bytes += batch.bytes();
        // Where there was one, the next will be as long.
        let (width, room) = (self.width(), if self.segments.is_empty() { 0 } else { SEGMENT_ROWS });
        let last = self.last.get_or_insert_with(|| Gathering::new(width, room));
        let first = (self.segments.len() << SEGMENT_BITS) + last.len();
        last.append(&batch);
        let rows = first as u32..(first + batch.len()) as u32;
        match self.plan.keys.first() {
            Some(key) => {
                let first_key = (key, batch.column(self.plan.width));
                number_rows(first_key, rows, &mut self.kind, &mut self.pairs)
            }
            None => self.pairs.extend(rows.map(|row| (0, row))),
        }
    }
    fn end_segment(&mut self) {
        if let Some(last) = self.last.take() {
            let segment = last.finish();
            self.segment_bytes += segment.bytes();
            self.last_bytes = 0;
            self.segments.push(segment);
        }
    }
    fn column(&self, row: u32, at: usize) -> (&Column, usize) {
        let batch = &self.segments[(row >> SEGMENT_BITS) as usize];
        (batch.column(at).column(), row as usize & (SEGMENT_ROWS - 1))
    }
    /// Bytes that sorting needs beside the rows.
    pub(super) fn sorting_bytes(&self) -> usize {
        let counts = if self.len() > RUN_PAIRS { size_of::<[[u32; DIGIT_VALUES]; DIGITS]>() } else { 0 };
        self.len() * size_of::<Pair>() + counts
    }
    /// Bytes of the rows.
    pub(super) fn bytes(&self) -> usize {
        self.segment_bytes + self.last_bytes + self.pairs.capacity() * size_of::<Pair>()
    }
}

/// Which of two rows comes first, of rows with the same or other places.
fn order<'r>(
    plan: &'r Sorting,
    kind: NumberKind,
    (a, a_row): (&'r Rows, Pair),
    (b, b_row): (&'r Rows, Pair),
) -> Ordering {
    let order = a_row.0.cmp(&b_row.0);
    if order.is_ne() {
        return order;
    }
    // A number that is all of the first key need not be looked at again.
    let first = usize::from(kind.is_whole());
    let keys = plan.keys.iter().enumerate().skip(first);
    compare_keys(keys, |at| [a.column(a_row.1, plan.width + at), b.column(b_row.1, plan.width + at)])
}

/// What is being done.
enum Phase {
    /// Pairs up to here are counted.
    Count(usize),
    /// Pairs are moved by a digit: which, and how many are moved.
    Move(usize, usize),
    /// Rows of equal numbers up to here are in order.
    Ties(usize),
    /// So many rows from here are sorted in runs: how many are sorted.
    Runs(usize, usize, usize),
    /// They are merged.
    Merge(Merging),
    /// What was merged is put back, up to here.
    CopyBack(Merging, usize),
    Done,
}

/// Runs of equal numbers being merged in pairs.
#[derive(Clone, Copy)]
struct Merging {
    start: usize,
    len: usize,
    /// Of the runs, all but the last.
    run: usize,
    /// Of the pair of runs that is merged: where it starts, and the next of each run.
    left: usize,
    a: usize,
    b: usize,
    /// Written so far.
    to: usize,
}

/// Rows being sorted.
pub(super) struct Sorter {
    rows: Rows,
    other: Vec<Pair>,
    /// By digit and its value: how many pairs have it, and then where the next of them goes. Only where there are many rows.
    counts: Vec<[u32; DIGIT_VALUES]>,
    phase: Phase,
}

impl Sorter {
    pub(super) fn new(mut rows: Rows) -> Sorter {
        rows.end_segment();
        let mut phase = Phase::Count(0);
        let mut counts = Vec::new();
        if rows.len() > RUN_PAIRS {
            counts.resize(DIGITS, [0; DIGIT_VALUES]);
        } else {
            // So few are sorted by comparing all.
            let mut pairs = std::mem::take(&mut rows.pairs);
            pairs.sort_unstable_by(|a, b| Sorter::before(&rows, a, b));
            rows.pairs = pairs;
            phase = Phase::Done;
        }
        Sorter { rows, other: Vec::new(), counts, phase }
    }
    fn before(rows: &Rows, a: &Pair, b: &Pair) -> Ordering {
        order(&rows.plan, rows.kind, (rows, *a), (rows, *b)).then(a.1.cmp(&b.1))
    }
    /// A slice of work; the rows in order once nothing is left to do.
    pub(super) fn step(&mut self) -> bool {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Count(from) => self.count(from),
            Phase::Move(digit, moved) => self.move_by(digit, moved),
            Phase::Ties(from) => self.find_ties(from),
            Phase::Runs(start, len, done) => self.sort_runs(start, len, done),
            Phase::Merge(merging) => self.merge(merging),
            Phase::CopyBack(merging, copied) => self.copy_back(merging, copied),
            Phase::Done => Phase::Done,
        };
        matches!(self.phase, Phase::Done)
    }
    pub(super) fn finish(self) -> Rows {
        self.rows
    }
    fn count(&mut self, from: usize) -> Phase {
        let end = self.rows.pairs.len().min(from + PAIRS_PER_STEP);
        for (number, _) in &self.rows.pairs[from..end] {
            for (digit, counts) in self.counts.iter_mut().enumerate() {
                counts[digit_of(*number, digit)] += 1;
            }
        }
        if end < self.rows.pairs.len() { Phase::Count(end) } else { self.next_digit(0) }
    }
    /// The next digit, from this on, in which numbers differ; its counts become places.
    fn next_digit(&mut self, from: usize) -> Phase {
        let len = self.rows.pairs.len() as u32;
        let differs = |digit: &usize| !self.counts[*digit].contains(&len);
        let Some(digit) = (from..DIGITS).find(differs) else {
            return Phase::Ties(0);
        };
        let mut place = 0;
        for count in &mut self.counts[digit] {
            place += std::mem::replace(count, place);
        }
        self.other.resize(self.rows.pairs.len(), (0, 0));
        Phase::Move(digit, 0)
    }
    fn move_by(&mut self, digit: usize, moved: usize) -> Phase {
        let end = self.rows.pairs.len().min(moved + PAIRS_PER_STEP);
        let places = &mut self.counts[digit];
        for pair in &self.rows.pairs[moved..end] {
            let place = &mut places[digit_of(pair.0, digit)];
            self.other[*place as usize] = *pair;
            *place += 1;
        }
        if end < self.rows.pairs.len() {
            return Phase::Move(digit, end);
        }
        std::mem::swap(&mut self.rows.pairs, &mut self.other);
        self.next_digit(digit + 1)
    }
    /// Puts rows of equal numbers in order, where the number is not all that counts.
    fn find_ties(&mut self, from: usize) -> Phase {
        if self.rows.kind.is_whole() && self.rows.plan.keys.len() == 1 {
            return Phase::Done;
        }
        let len = self.rows.pairs.len();
        let (mut start, mut sorted) = (from, 0);
        while start < len && sorted < RUN_PAIRS {
            let number = self.rows.pairs[start].0;
            let ties = self.rows.pairs[start..].partition_point(|pair| pair.0 <= number);
            if ties > RUN_PAIRS {
                return Phase::Runs(start, ties, 0);
            }
            self.sort_by_keys(start, start + ties);
            (start, sorted) = (start + ties, sorted + ties);
        }
        if start < len { Phase::Ties(start) } else { Phase::Done }
    }
    fn sort_by_keys(&mut self, start: usize, end: usize) {
        if end - start > 1 {
            let mut pairs = std::mem::take(&mut self.rows.pairs);
            pairs[start..end].sort_unstable_by(|a, b| Sorter::before(&self.rows, a, b));
            self.rows.pairs = pairs;
        }
    }
    fn sort_runs(&mut self, start: usize, len: usize, done: usize) -> Phase {
        let end = len.min(done + RUN_PAIRS);
        self.sort_by_keys(start + done, start + end);
        if end < len {
            return Phase::Runs(start, len, end);
        }
        self.other.resize(self.rows.pairs.len(), (0, 0));
        Phase::Merge(Merging::new(start, len, RUN_PAIRS))
    }
    /// Merges pairs of runs from the pairs into the others.
    fn merge(&mut self, mut at: Merging) -> Phase {
        let stop = at.len.min(at.to + PAIRS_PER_STEP);
        while at.to < stop {
            let (middle, end) = at.bounds();
            let pair = |place: usize| self.rows.pairs[at.start + place];
            let takes_a = at.b >= end
                || (at.a < middle && Sorter::before(&self.rows, &pair(at.a), &pair(at.b)).is_lt());
            let from = if takes_a { &mut at.a } else { &mut at.b };
            self.other[at.start + at.to] = self.rows.pairs[at.start + *from];
            *from += 1;
            at.to += 1;
            if at.to == end {
                (at.left, at.a, at.b) = (end, end, at.len.min(end + at.run));
            }
        }
        if at.to < at.len {
            return Phase::Merge(at);
        }
        Phase::CopyBack(at, 0)
    }
    fn copy_back(&mut self, at: Merging, copied: usize) -> Phase {
        let end = at.len.min(copied + PAIRS_PER_STEP);
        let range = at.start + copied..at.start + end;
        self.rows.pairs[range.clone()].copy_from_slice(&self.other[range]);
        match end == at.len {
            false => Phase::CopyBack(at, end),
            true if 2 * at.run >= at.len => Phase::Ties(at.start + at.len),
            true => Phase::Merge(Merging::new(at.start, at.len, 2 * at.run)),
        }
    }
}

impl Merging {
    fn new(start: usize, len: usize, run: usize) -> Merging {
        Merging { start, len, run, left: 0, a: 0, b: run.min(len), to: 0 }
    }
    /// Where the first of the two runs ends, and where the second.
    fn bounds(&self) -> (usize, usize) {
        (self.len.min(self.left + self.run), self.len.min(self.left + 2 * self.run))
    }
}

#[inline]
fn digit_of(number: u64, digit: usize) -> usize {
    (number >> (digit as u32 * DIGIT_BITS)) as usize & (DIGIT_VALUES - 1)
}

/// Sorted parts being merged.
pub(super) struct MergedParts {
    plan: Arc<Sorting>,
    parts: Vec<Rows>,
    /// What the numbers of all parts are.
    kind: NumberKind,
    /// By part: its next row.
    next: Vec<usize>,
    /// Parts that have rows; the one whose next row is first stands at the top.
    heap: Vec<usize>,
}

impl MergedParts {
    pub(super) fn new(plan: Arc<Sorting>, mut parts: Vec<Rows>) -> MergedParts {
        parts.retain(|part| part.len() > 0);
        let kind = parts.iter().fold(NumberKind::default(), |kind, part| kind.with(part.kind));
        let (next, heap) = (vec![0; parts.len()], (0..parts.len()).collect::<Vec<_>>());
        let mut merged = MergedParts { plan, parts, kind, next, heap };
        (0..merged.heap.len() / 2).rev().for_each(|at| merged.sink(at));
        merged
    }
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.heap[a], self.heap[b]);
        let row = |part: usize| {
            let pair = self.parts[part].pairs[self.next[part]];
            // Numbers of different kinds say nothing about each other.
            if self.kind.is_unknown() { (0, pair.1) } else { pair }
        };
        let order = order(&self.plan, self.kind, (&self.parts[a], row(a)), (&self.parts[b], row(b)));
        order.then(a.cmp(&b)).is_lt()
    }
    fn sink(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut first = at;
            if left < self.heap.len() && self.is_before(left, first) {
                first = left;
            }
            if right < self.heap.len() && self.is_before(right, first) {
                first = right;
            }
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }
    /// The next rows in order; empty at the end.
    pub(super) fn next(&mut self, rows_max: usize) -> Batch {
        let mut picks: Vec<(&Rows, u32)> = Vec::with_capacity(rows_max);
        let mut taken: Vec<(u32, u32)> = Vec::with_capacity(rows_max);
        while taken.len() < rows_max
            && let Some(part) = self.heap.first().copied()
        {
            taken.push((part as u32, self.parts[part].pairs[self.next[part]].1));
            self.next[part] += 1;
            if self.next[part] == self.parts[part].len() {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        picks.extend(taken.iter().map(|(part, row)| (&self.parts[*part as usize], *row)));
        let columns = (0..self.plan.width).map(|at| picked(&picks, at)).collect();
        Batch::new(columns, picks.len())
    }
}

/// One column of picked rows.
fn picked(picks: &[(&Rows, u32)], at: usize) -> Column {
    let mut column = ColumnBuilder::new();
    for (rows, row) in picks {
        let (values, row) = rows.column(*row, at);
        match values {
            Column::Int(values, nulls) if nulls.is_empty() => column.push_integer(values[row]),
            Column::Float(values, nulls) if nulls.is_empty() => column.push_float(values[row]),
            Column::Text(texts, nulls) if nulls.is_empty() => column.push_text(texts.get(row)),
            values => column.push(values.get(row)),
        }
    }
    column.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]
    use super::*;
    use crate::operator::sort::Key;
    use expression::Compiled;
    use model::Value;
    use plan::algebra::KeyOrder;
    use world::chance::Chance;

    /// A key of one of several kinds, few or many different ones.
    fn value(kind: u64, distinct: u64, chance: &mut Chance) -> Value {
        let number = chance.below(distinct);
        match kind {
            0 => Value::Int(number as i64 - 3),
            1 if chance.happens(0.01) => Value::Float(f64::NAN),
            1 => Value::Float(number as f64 / 3.0 - 1.0),
            2 => Value::string(format!("text of length {number}")),
            3 if chance.happens(0.1) => Value::Null,
            3 => Value::Int(if number == 0 { i64::MAX } else { number as i64 }),
            4 => Value::Bool(number.is_multiple_of(2)),
            _ => {
                let kind = chance.below(5);
                value(kind, distinct, chance)
            }
        }
    }

    /// Rows of two keys and their number, as batches with the keys behind the number.
    fn drawn(rows: usize, kinds: [u64; 2], distinct: u64, chance: &mut Chance) -> Vec<Vec<Value>> {
        let row = |number: usize, chance: &mut Chance| {
            let kind = |key: usize, chance: &mut Chance| value(kinds[key], distinct, chance);
            vec![Value::Int(number as i64), kind(0, chance), kind(1, chance)]
        };
        (0..rows).map(|number| row(number, chance)).collect()
    }

    #[test]
    fn parts_are_sorted_and_merged_as_a_stable_sort_would() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        for (rows, rounds) in [(0, 1), (1, 2), (50, 30), (RUN_PAIRS + 1, 4), (SEGMENT_ROWS + 700, 3)] {
            for _ in 0..rounds {
                let kinds = [chance.below(6), chance.below(6)];
                let distinct = [1, 3, 5_000, 1 << 40][chance.index(4)];
                let key = |chance: &mut Chance, at| Key {
                    expression: Compiled::column(at),
                    descending: chance.happens(0.5),
                    order: KeyOrder::Total,
                };
                let plan = Arc::new(Sorting {
                    keys: vec![key(&mut chance, 1), key(&mut chance, 2)],
                    limit: None,
                    by_row: false,
                    width: 1,
                    carry: Arc::from([0]),
                });
                let parts = 1 + chance.index(3);
                let mut twin = Vec::new();
                let mut sorted = Vec::new();
                for part in 0..parts {
                    let mut kept = Rows::new(plan.clone());
                    let mut all = drawn(rows, kinds, distinct, &mut chance);
                    all.iter_mut()
                        .for_each(|row| row[0] = Value::Int((part << 32) as i64 | row[0].as_int().unwrap()));
                    let mut left = all.as_slice();
                    while !left.is_empty() {
                        let (now, later) = left.split_at(left.len().min(1 + chance.index(2_000)));
                        kept.take(&Batch::from_rows(3, now));
                        left = later;
                    }
                    twin.extend(all);
                    let mut sorter = Sorter::new(kept);
                    while !sorter.step() {}
                    sorted.push(sorter.finish());
                }
                twin.sort_by(|a, b| {
                    let of = |at: usize| {
                        let key = &plan.keys[at - 1];
                        let order = key.order(&a[at], &b[at]);
                        if key.descending { order.reverse() } else { order }
                    };
                    of(1).then_with(|| of(2))
                });
                let mut merged = MergedParts::new(plan, sorted);
                let mut found = Vec::new();
                loop {
                    let batch = merged.next(1 + chance.index(3_000));
                    if batch.is_empty() {
                        break;
                    }
                    found.extend((0..batch.len()).map(|row| batch.get(row, 0).as_int().unwrap()));
                }
                let twin: Vec<i64> = twin.iter().map(|row| row[0].as_int().unwrap()).collect();
                assert!(
                    found == twin,
                    "seed {seed}: {parts} parts of {rows}, {kinds:?}, {distinct} distinct"
                );
            }
        }
    }
}
