//! A sort of all rows: each executor sorts its rows, and at home the sorted parts are merged.
//!
//! Rows are kept in segments as they come, with the keys behind their own columns, and are sorted as pairs of a number that decides most
//! comparisons (see `keys`) and a row number. The numbers are sorted by radix, digit by digit (Knuth, The Art of Computer Programming 3,
//! 5.2.5), which is stable; rows whose numbers are equal are then given others, of the next bytes of a text or the next key, and so on. Where a key has no
//! such number, values are compared, in runs that are merged. Each step is a slice of work: neither a copy of a
//! segment nor a pass over a digit is ever a long call. Twin: a stable sort of all rows by all keys.
//!
//! Cost: two pairs of 16 bytes a row while it is sorted, one while it is merged; one pass for each digit in which the numbers differ.

use super::keys::{KeyPiece, NumberKind, TieBreak, compare_keys, number_rows};
use super::sorting::Sorting;
use crate::columns::Gathering;
use model::{Batch, Column, ColumnBuilder};
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::ops::Range;
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
/// Rows of equal numbers that are compared by values: more are given other numbers.
const TIES_COMPARED_MAX: usize = 16;

/// A row: the number of its first key, and its position.
pub(super) type NumberedRow = (u64, u32);

/// The common prefix of all texts of the first key, on all executors: numbers of the bytes behind it decide more. Known once all rows have come.
#[derive(Clone, Default)]
pub(super) struct CommonPrefix(Arc<Mutex<Option<String>>>);

impl CommonPrefix {
    /// Another executor's texts begin with this.
    fn meet(&self, other: &str) {
        let mut held = self.0.lock();
        match &mut *held {
            Some(held) => held.truncate(shared_bytes(held, other)),
            None => *held = Some(other.to_string()),
        }
    }
    fn len(&self) -> usize {
        self.0.lock().as_ref().map_or(0, String::len)
    }
}

/// Bytes that two texts begin with, as a text.
fn shared_bytes(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|at| a.is_char_boundary(*at)).unwrap_or(0)
}

/// Updates the common prefix with the texts of a batch.
fn look_at_prefix(prefix: &mut Option<String>, column: &Column, common: &CommonPrefix) {
    let before = prefix.as_ref().map(String::len);
    match column {
        Column::Text(texts, nulls) => {
            for text in (0..texts.len()).filter(|row| !nulls.contains(*row)).map(|row| texts.get(row)) {
                match prefix {
                    Some(prefix) if text.as_bytes().starts_with(prefix.as_bytes()) => {}
                    Some(prefix) => prefix.truncate(shared_bytes(prefix, text)),
                    None => *prefix = Some(text.to_string()),
                }
            }
        }
        _ => *prefix = Some(String::new()),
    }
    if prefix.as_ref().map(String::len) != before {
        prefix.iter().for_each(|prefix| common.meet(prefix));
    }
}

/// Rows in segments: row `r` is row `r % 2^15` of segment `r / 2^15`.
pub(super) struct Rows {
    plan: Arc<Sorting>,
    segments: Vec<Batch>,
    last: Option<Gathering>,
    kind: NumberKind,
    /// All rows, once they are being sorted.
    pairs: Vec<NumberedRow>,
    /// Rows as they come, by segment: one vector that grows would be copied as a whole, which is a long call.
    coming: Vec<Vec<NumberedRow>>,
    /// Rows of those.
    coming_rows: usize,
    /// The common prefix of the first key's texts on this executor, and on all.
    prefix: Option<String>,
    common: CommonPrefix,
    /// The first numbers are of this piece of the first key.
    piece: KeyPiece,
    /// Bytes of whole segments, and about those of the last.
    segment_bytes: usize,
    last_bytes: usize,
}

impl Rows {
    pub(super) fn new(plan: Arc<Sorting>, common: CommonPrefix) -> Rows {
        Rows {
            plan,
            prefix: None,
            common,
            piece: KeyPiece::default(),
            segments: Vec::new(),
            last: None,
            kind: NumberKind::default(),
            pairs: Vec::new(),
            coming: Vec::new(),
            coming_rows: 0,
            segment_bytes: 0,
            last_bytes: 0,
        }
    }
    fn width(&self) -> usize {
        self.plan.width_with_keys()
    }
    pub(super) fn len(&self) -> usize {
        self.pairs.len() + self.coming_rows
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
        self.coming_rows += rows.len();
        if self.coming.len() == self.segments.len() {
            self.coming.push(Vec::with_capacity(room));
        }
        let coming = &mut self.coming[self.segments.len()];
        match self.plan.keys.first() {
            Some(key) => {
                let first_key = batch.column(self.plan.width);
                look_at_prefix(&mut self.prefix, first_key.column(), &self.common);
                number_rows((key, first_key), rows, &mut self.kind, coming)
            }
            None => coming.extend(rows.map(|row| (0, row))),
        }
    }
    /// Puts the rows of this segment behind those of the others; false where there is none.
    fn bring_together(&mut self, segment: usize) -> bool {
        let is_one = self.coming.len() == 1;
        let Some(coming) = self.coming.get_mut(segment).map(std::mem::take) else { return false };
        if is_one {
            self.pairs = coming;
            self.coming_rows = 0;
            return true;
        }
        // The first time, room for all: the system gives it page by page as it is written.
        self.pairs.reserve_exact(self.coming_rows);
        self.coming_rows -= coming.len();
        self.pairs.extend_from_slice(&coming);
        true
    }
    fn end_segment(&mut self) {
        if let Some(last) = self.last.take() {
            let segment = last.finish();
            self.segment_bytes += segment.bytes();
            self.last_bytes = 0;
            self.segments.push(segment);
        }
    }
    /// Rows of a run, in order, with numbers of this kind.
    pub(super) fn of_run(plan: &Arc<Sorting>, common: &CommonPrefix, kind: NumberKind, batch: Batch) -> Rows {
        let mut rows = Rows::new(plan.clone(), common.clone());
        rows.kind = kind;
        if kind.is_of_texts() {
            rows.piece = KeyPiece::of_text(common.len());
        }
        rows.pairs = (0..batch.len() as u32).map(|row| (0, row)).collect();
        rows.segment_bytes = batch.bytes();
        rows.segments.push(batch);
        if let Some(key) = plan.keys.first().filter(|_| !kind.is_unknown()) {
            let column = rows.segments[0].column(plan.width).column();
            rows.pairs.iter_mut().for_each(|pair| pair.0 = rows.piece.number(key, column, pair.1 as usize));
        }
        rows
    }
    pub(super) fn kind(&self) -> NumberKind {
        self.kind
    }
    /// The row at a position of the order.
    pub(super) fn at(&self, place: usize) -> NumberedRow {
        self.pairs[place]
    }
    /// Rows of the order, in `width` columns.
    pub(super) fn batch(&self, places: Range<usize>, width: usize) -> Batch {
        let picks: Vec<(&Rows, u32)> = self.pairs[places].iter().map(|pair| (self, pair.1)).collect();
        batch_of(&picks, width)
    }
    pub(super) fn column(&self, row: u32, at: usize) -> (&Column, usize) {
        let batch = &self.segments[(row >> SEGMENT_BITS) as usize];
        (batch.column(at).column(), row as usize & (SEGMENT_ROWS - 1))
    }
    /// Bytes that sorting needs beside the rows.
    pub(super) fn sorting_bytes(&self) -> usize {
        let counts = if self.len() > RUN_PAIRS { size_of::<[[u32; DIGIT_VALUES]; DIGITS]>() } else { 0 };
        self.len() * size_of::<NumberedRow>() + counts
    }
    /// Bytes of the rows.
    pub(super) fn bytes(&self) -> usize {
        // What grows has room for up to as much again.
        let pairs = self.pairs.capacity() + self.coming.iter().map(Vec::capacity).sum::<usize>();
        self.segment_bytes + 2 * self.last_bytes + pairs * size_of::<NumberedRow>()
    }
}

/// Compares two rows by position, of the same or of different parts.
pub(super) fn order<'r>(
    plan: &'r Sorting,
    kind: NumberKind,
    (a, a_row): (&'r Rows, NumberedRow),
    (b, b_row): (&'r Rows, NumberedRow),
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

/// A range of the order so far, and the source of its numbers.
#[derive(Clone, Copy)]
struct TieRange {
    start: usize,
    len: usize,
    piece: KeyPiece,
}

impl TieRange {
    fn end(&self) -> usize {
        self.start + self.len
    }
}

/// The phases of the sort.
enum SortPhase {
    /// The rows of the segments up to here are in one vector.
    BringTogether(usize),
    /// All are sorted at once.
    Few,
    /// Numbers that do not distinguish all rows are made equal, up to here.
    Forget(usize),
    /// The part's rows are given their numbers, up to here.
    Number(TieRange, usize),
    /// They are counted, up to here.
    Count(TieRange, usize),
    /// Pairs are moved by a digit: which, and how many are moved.
    Move(TieRange, usize, usize),
    /// Those of a part of the rows are copied back, up to here.
    PutBack(TieRange, usize, usize),
    /// Rows of equal numbers up to here are in order.
    Ties(TieRange, usize),
    /// A range of rows is sorted in runs, by values; with the number sorted so far.
    Runs(usize, usize, usize),
    /// They are merged.
    Merge(Merging),
    /// The merged rows are copied back, up to here.
    CopyBack(Merging, usize),
    /// The first numbers are restored, up to here.
    Restore(usize),
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
    other: Vec<NumberedRow>,
    /// By digit and its value: how many pairs have it, and then where the next of them goes. Only where there are many rows.
    counts: Vec<[u32; DIGIT_VALUES]>,
    /// By key: the kind of its numbers.
    kinds: Vec<NumberKind>,
    /// Parts that are gone on with once the part within them is in order: and from where on.
    outer: Vec<(TieRange, usize)>,
    phase: SortPhase,
    /// The phase once all rows are in one vector.
    first: SortPhase,
    /// Some numbers are not those of the first key any more.
    renumbered: bool,
}

impl Sorter {
    pub(super) fn new(mut rows: Rows) -> Sorter {
        rows.end_segment();
        let kind = |key: usize| {
            let columns = rows.segments.iter().map(|batch| batch.column(rows.plan.width + key).column());
            columns.fold(NumberKind::default(), |kind, column| kind.with(NumberKind::of(column)))
        };
        let kinds: Vec<NumberKind> = (0..rows.plan.keys.len()).map(kind).collect();
        let mut is_numbered = true;
        if let Some(kind) = kinds.first()
            && rows.kind.is_unknown()
            && !kind.is_unknown()
        {
            // Only some batches were of another form.
            rows.kind = *kind;
            is_numbered = false;
        }
        if rows.kind.is_of_texts() && rows.common.len() > 0 {
            rows.piece = KeyPiece::of_text(rows.common.len());
            is_numbered = false;
        }
        let all = TieRange { start: 0, len: rows.len(), piece: rows.piece };
        let mut phase = if is_numbered { SortPhase::Count(all, 0) } else { SortPhase::Number(all, 0) };
        let mut counts = Vec::new();
        if rows.kind.is_unknown() {
            phase = SortPhase::Forget(0);
        }
        if rows.len() > RUN_PAIRS {
            counts.resize(DIGITS, [0; DIGIT_VALUES]);
        } else {
            // So few are sorted by comparing all.
            phase = match phase {
                SortPhase::Number(..) | SortPhase::Forget(_) => phase,
                _ => SortPhase::Few,
            };
        }
        let (first, phase) = (phase, SortPhase::BringTogether(0));
        Sorter { rows, other: Vec::new(), counts, kinds, outer: Vec::new(), phase, first, renumbered: false }
    }
    fn bring_together(&mut self, segment: usize) -> SortPhase {
        match self.rows.bring_together(segment) {
            true => SortPhase::BringTogether(segment + 1),
            false => std::mem::replace(&mut self.first, SortPhase::Done),
        }
    }
    fn forget(&mut self, from: usize) -> SortPhase {
        let end = self.rows.len().min(from + PAIRS_PER_STEP);
        self.rows.pairs[from..end].iter_mut().for_each(|pair| pair.0 = 0);
        match end < self.rows.len() {
            true => SortPhase::Forget(end),
            false if end > 0 => SortPhase::Runs(0, end, 0),
            false => SortPhase::Done,
        }
    }
    fn sort_few(&mut self) -> SortPhase {
        let mut pairs = std::mem::take(&mut self.rows.pairs);
        let rows = &self.rows;
        pairs.sort_unstable_by(|a, b| {
            order(&rows.plan, rows.kind, (rows, *a), (rows, *b)).then(a.1.cmp(&b.1))
        });
        self.rows.pairs = pairs;
        SortPhase::Done
    }
    /// Which of two rows of one part comes first: their numbers may be of another key than the first.
    fn before_by_values(rows: &Rows, a: &NumberedRow, b: &NumberedRow) -> Ordering {
        let keys = rows.plan.keys.iter().enumerate();
        let width = rows.plan.width;
        compare_keys(keys, |at| [rows.column(a.1, width + at), rows.column(b.1, width + at)])
            .then(a.1.cmp(&b.1))
    }
    /// A slice of work; the rows in order once nothing is left to do.
    pub(super) fn step(&mut self) -> bool {
        self.phase = match std::mem::replace(&mut self.phase, SortPhase::Done) {
            SortPhase::BringTogether(segment) => self.bring_together(segment),
            SortPhase::Few => self.sort_few(),
            SortPhase::Forget(from) => self.forget(from),
            SortPhase::Number(part, from) => self.number(part, from),
            SortPhase::Count(part, from) => self.count(part, from),
            SortPhase::Move(part, digit, moved) => self.move_by(part, digit, moved),
            SortPhase::PutBack(part, digit, from) => self.put_back(part, digit, from),
            SortPhase::Ties(part, from) => self.find_ties(part, from),
            SortPhase::Runs(start, len, done) => self.sort_runs(start, len, done),
            SortPhase::Merge(merging) => self.merge(merging),
            SortPhase::CopyBack(merging, copied) => self.copy_back(merging, copied),
            SortPhase::Restore(from) => self.restore(from),
            SortPhase::Done => SortPhase::Done,
        };
        matches!(self.phase, SortPhase::Done)
    }
    pub(super) fn finish(self) -> Rows {
        self.rows
    }
    /// The numbers of some rows by a piece of a key.
    fn renumber(&mut self, range: std::ops::Range<usize>, piece: KeyPiece) {
        let mut pairs = std::mem::take(&mut self.rows.pairs);
        let key = &self.rows.plan.keys[piece.key];
        for pair in &mut pairs[range] {
            let (column, row) = self.rows.column(pair.1, self.rows.plan.width + piece.key);
            pair.0 = piece.number(key, column, row);
        }
        self.rows.pairs = pairs;
    }
    fn number(&mut self, part: TieRange, from: usize) -> SortPhase {
        let end = part.len.min(from + PAIRS_PER_STEP);
        self.renumber(part.start + from..part.start + end, part.piece);
        self.renumbered = true;
        if end < part.len {
            return SortPhase::Number(part, end);
        }
        if part.len > RUN_PAIRS {
            self.counts.iter_mut().for_each(|counts| counts.fill(0));
            return SortPhase::Count(part, 0);
        }
        self.rows.pairs[part.start..part.end()].sort_unstable();
        SortPhase::Ties(part, part.start)
    }
    fn count(&mut self, part: TieRange, from: usize) -> SortPhase {
        let end = part.len.min(from + PAIRS_PER_STEP);
        for (number, _) in &self.rows.pairs[part.start + from..part.start + end] {
            for (digit, counts) in self.counts.iter_mut().enumerate() {
                counts[digit_of(*number, digit)] += 1;
            }
        }
        if end < part.len { SortPhase::Count(part, end) } else { self.next_digit(part, 0) }
    }
    /// The next digit, from this on, in which numbers differ; its counts become places.
    fn next_digit(&mut self, part: TieRange, from: usize) -> SortPhase {
        let len = part.len as u32;
        let differs = |digit: &usize| !self.counts[*digit].contains(&len);
        let Some(digit) = (from..DIGITS).find(differs) else {
            return SortPhase::Ties(part, part.start);
        };
        let mut place = part.start as u32;
        for count in &mut self.counts[digit] {
            place += std::mem::replace(count, place);
        }
        self.make_room();
        SortPhase::Move(part, digit, 0)
    }
    /// Allocates room for all pairs once more; the system gives it page by page as it is written.
    fn make_room(&mut self) {
        if self.other.is_empty() {
            self.other = vec![(0, 0); self.rows.pairs.len()];
        }
    }
    fn move_by(&mut self, part: TieRange, digit: usize, moved: usize) -> SortPhase {
        let end = part.len.min(moved + PAIRS_PER_STEP);
        let places = &mut self.counts[digit];
        for pair in &self.rows.pairs[part.start + moved..part.start + end] {
            let place = &mut places[digit_of(pair.0, digit)];
            self.other[*place as usize] = *pair;
            *place += 1;
        }
        if end < part.len {
            return SortPhase::Move(part, digit, end);
        }
        if part.len < self.rows.pairs.len() {
            return SortPhase::PutBack(part, digit, 0);
        }
        std::mem::swap(&mut self.rows.pairs, &mut self.other);
        self.next_digit(part, digit + 1)
    }
    fn put_back(&mut self, part: TieRange, digit: usize, from: usize) -> SortPhase {
        let end = part.len.min(from + PAIRS_PER_STEP);
        let range = part.start + from..part.start + end;
        self.rows.pairs[range.clone()].copy_from_slice(&self.other[range]);
        if end < part.len { SortPhase::PutBack(part, digit, end) } else { self.next_digit(part, digit + 1) }
    }
    /// Puts rows of equal numbers in order.
    fn find_ties(&mut self, part: TieRange, from: usize) -> SortPhase {
        let kind = self.kinds.get(part.piece.key).copied().unwrap_or_default();
        let (mut start, mut sorted) = (from, 0);
        while start < part.end() && sorted < RUN_PAIRS {
            let number = self.rows.pairs[start].0;
            let ties = self.rows.pairs[start..part.end()].partition_point(|pair| pair.0 <= number);
            let next = match self.rows.plan.keys.is_empty() {
                true => TieBreak::Nothing,
                false => part.piece.behind(number, kind, &self.rows.plan.keys),
            };
            match next {
                TieBreak::Nothing => {}
                _ if ties <= TIES_COMPARED_MAX => self.sort_by_values(start, start + ties),
                TieBreak::Piece(piece) if !self.kinds[piece.key].is_unknown() => {
                    self.outer.push((part, start + ties));
                    return SortPhase::Number(TieRange { start, len: ties, piece }, 0);
                }
                TieBreak::Piece(_) | TieBreak::Values => {
                    self.outer.push((part, start + ties));
                    return SortPhase::Runs(start, ties, 0);
                }
            }
            (start, sorted) =
                (start + ties, sorted + if matches!(next, TieBreak::Nothing) { 1 } else { ties });
        }
        if start < part.end() { SortPhase::Ties(part, start) } else { self.go_on() }
    }
    /// The phase after a part that is in order.
    fn go_on(&mut self) -> SortPhase {
        match self.outer.pop() {
            Some((part, from)) => SortPhase::Ties(part, from),
            None if self.renumbered => SortPhase::Restore(0),
            None => SortPhase::Done,
        }
    }
    fn restore(&mut self, from: usize) -> SortPhase {
        let end = self.rows.len().min(from + PAIRS_PER_STEP);
        match self.kinds[0].is_unknown() {
            true => self.rows.pairs[from..end].iter_mut().for_each(|pair| pair.0 = 0),
            false => self.renumber(from..end, self.rows.piece),
        }
        if end < self.rows.len() { SortPhase::Restore(end) } else { SortPhase::Done }
    }
    fn sort_by_values(&mut self, start: usize, end: usize) {
        if end - start > 1 {
            let mut pairs = std::mem::take(&mut self.rows.pairs);
            pairs[start..end].sort_unstable_by(|a, b| Sorter::before_by_values(&self.rows, a, b));
            self.rows.pairs = pairs;
        }
    }
    fn sort_runs(&mut self, start: usize, len: usize, done: usize) -> SortPhase {
        let end = len.min(done + RUN_PAIRS);
        self.sort_by_values(start + done, start + end);
        if end < len {
            return SortPhase::Runs(start, len, end);
        }
        self.make_room();
        SortPhase::Merge(Merging::new(start, len, RUN_PAIRS))
    }
    /// Merges pairs of runs from one buffer into the other.
    fn merge(&mut self, mut at: Merging) -> SortPhase {
        let stop = at.len.min(at.to + PAIRS_PER_STEP);
        while at.to < stop {
            let (middle, end) = at.bounds();
            let pair = |place: usize| self.rows.pairs[at.start + place];
            let takes_a = at.b >= end
                || (at.a < middle && Sorter::before_by_values(&self.rows, &pair(at.a), &pair(at.b)).is_lt());
            let from = if takes_a { &mut at.a } else { &mut at.b };
            self.other[at.start + at.to] = self.rows.pairs[at.start + *from];
            *from += 1;
            at.to += 1;
            if at.to == end {
                (at.left, at.a, at.b) = (end, end, at.len.min(end + at.run));
            }
        }
        if at.to < at.len {
            return SortPhase::Merge(at);
        }
        SortPhase::CopyBack(at, 0)
    }
    fn copy_back(&mut self, at: Merging, copied: usize) -> SortPhase {
        let end = at.len.min(copied + PAIRS_PER_STEP);
        let range = at.start + copied..at.start + end;
        self.rows.pairs[range.clone()].copy_from_slice(&self.other[range]);
        match end == at.len {
            false => SortPhase::CopyBack(at, end),
            true if 2 * at.run >= at.len => self.go_on(),
            true => SortPhase::Merge(Merging::new(at.start, at.len, 2 * at.run)),
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

/// Picked rows, in `width` columns.
pub(super) fn batch_of(picks: &[(&Rows, u32)], width: usize) -> Batch {
    Batch::new((0..width).map(|at| picked(picks, at)).collect(), picks.len())
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
    use crate::operator::sort::merge::MergedParts;
    use crate::operator::sort::sorting::Key;
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
        for (rows, rounds) in [(0, 1), (1, 2), (50, 20), (RUN_PAIRS + 1, 2), (SEGMENT_ROWS + 700, 1)] {
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
                    looks_at: Vec::new(),
                });
                let (parts, common) = (1 + chance.index(3), CommonPrefix::default());
                let mut twin = Vec::new();
                let mut all_rows = Vec::new();
                for part in 0..parts {
                    let mut kept = Rows::new(plan.clone(), common.clone());
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
                    all_rows.push(kept);
                }
                // A part is sorted once all rows have come to all parts: only then is the common prefix known.
                let sort = |rows| {
                    let mut sorter = Sorter::new(rows);
                    while !sorter.step() {}
                    sorter.finish()
                };
                let sorted = all_rows.into_iter().map(sort).collect();
                twin.sort_by(|a, b| {
                    let of = |at: usize| {
                        let key = &plan.keys[at - 1];
                        let order = key.order(&a[at], &b[at]);
                        if key.descending { order.reverse() } else { order }
                    };
                    of(1).then_with(|| of(2))
                });
                let mut merged = MergedParts::new(plan, common, sorted, Vec::new());
                let mut found = Vec::new();
                loop {
                    let batch = merged.next(1 + chance.index(3_000), 1);
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
