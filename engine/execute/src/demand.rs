//! Demand while a statement runs: how many rows of an operator are still wanted, and how many are emitted together.
//!
//! The demand known before the run is [`Wanted`]. Work for a batch of outer rows runs in one scope instance, or within one operator, so a sub-query's
//! demand is counted for each outer row, in counters that the instance shares ([`RowDemand`]); outside sub-queries each operator counts for itself.
//! An operator asks its [`DemandPort`]: a row may be made of an input row as long as some are wanted of it, and the first rows are emitted in small
//! pieces, so that the consumer can stop it.
//!
//! Invariant: a counter only falls. An operator below `Most` counts a row down when it makes it, since the row is sure to arrive; the consumer that
//! stated the demand ends an outer row when it has enough. Cost: one look at a counter for each row of input.

use crate::rows::Rows;
use crate::scope_rows::ScopeRows;
use dataflow::{Context, Tag};
use model::{Batch, Column};
use plan::{Plan, Wanted};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Rows that are handed on first where few may be enough; then more each time.
const PIECE_ROWS_FIRST: usize = 16;
/// How many times more.
const PIECE_ROWS_GROWTH: usize = 8;

/// The rows that are still wanted of each outer row of a scope instance. It lives on one executor; atomic only because operators may move
/// between threads.
#[derive(Debug)]
pub(crate) struct RowDemand(Box<[AtomicU32]>);

/// More than can be counted: such a demand ends only when the consumer says so.
const UNCOUNTED: u32 = u32::MAX;

impl RowDemand {
    /// `most` rows are wanted of each of `rows` outer rows.
    pub(crate) fn new(rows: usize, most: u64) -> RowDemand {
        let most = u32::try_from(most).unwrap_or(UNCOUNTED);
        RowDemand((0..rows).map(|_| AtomicU32::new(most)).collect())
    }
    /// Rows that are wanted of an outer row.
    pub(crate) fn wanted(&self, row: usize) -> usize {
        self.0.get(row).map_or(usize::MAX, |wanted| match wanted.load(Ordering::Relaxed) {
            UNCOUNTED => usize::MAX,
            wanted => wanted as usize,
        })
    }
    /// Rows of an outer row were made that are sure to count; returns how many more are wanted.
    fn take(&self, row: usize, made: usize) -> usize {
        let Some(counter) = self.0.get(row) else { return usize::MAX };
        let before = counter.load(Ordering::Relaxed);
        if before == UNCOUNTED {
            return usize::MAX;
        }
        let after = before.saturating_sub(u32::try_from(made).unwrap_or(UNCOUNTED));
        counter.store(after, Ordering::Relaxed);
        after as usize
    }
    /// Nothing more is wanted of an outer row.
    pub(crate) fn end(&self, row: usize) {
        if let Some(counter) = self.0.get(row) {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// A demand that is stated within a scope: its number there, and the rows that are wanted of each outer row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    pub(crate) number: usize,
    pub(crate) most: u64,
}

/// Where the counters of a demand are found, by scope instance.
#[derive(Clone)]
pub(crate) struct Counters {
    rows: Arc<ScopeRows>,
    stated: Stated,
}

impl Counters {
    pub(crate) fn new(rows: &Arc<ScopeRows>, stated: Stated) -> Counters {
        Counters { rows: rows.clone(), stated }
    }
    /// Those of one instance.
    pub(crate) fn of(&self, executor: usize, tag: Tag) -> Arc<RowDemand> {
        self.rows.demand(executor, tag, self.stated)
    }
}

/// The demand for the rows of a plan node, as known on the way down the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeDemand {
    pub(crate) wanted: Wanted,
    /// In a sub-query: the counters that tell of which outer rows nothing more is wanted.
    pub(crate) by_row: Option<Stated>,
}

impl NodeDemand {
    /// Of all rows together.
    pub(crate) fn of_all(wanted: Wanted) -> NodeDemand {
        NodeDemand { wanted, by_row: None }
    }
    /// Of each outer row, by these counters.
    pub(crate) fn of_each(stated: Stated) -> NodeDemand {
        NodeDemand { wanted: Wanted::Most(stated.most), by_row: Some(stated) }
    }
    /// The demand for the rows of a node's input.
    pub(crate) fn of_input(self, plan: &Plan) -> NodeDemand {
        NodeDemand { wanted: plan.wanted_of_input(self.wanted), ..self }
    }
    /// The demand below an operator that may drop rows, or multiply them.
    pub(crate) fn thinned(self) -> NodeDemand {
        NodeDemand { wanted: self.wanted.thinned(), ..self }
    }
    /// All rows are needed, but of an outer row of which nothing is wanted.
    pub(crate) fn of_whole(self) -> NodeDemand {
        NodeDemand { wanted: Wanted::All, ..self }
    }
}

/// The number of the outer row that a batch row belongs to.
pub(crate) fn number(batch: &Batch, column: usize, row: usize) -> usize {
    let carried = batch.column(column);
    match carried.column() {
        Column::Int(values, _) => values[carried.at(row)] as usize,
        _ => carried.get(row).as_int().unwrap_or(0) as usize,
    }
}

/// An operator's view of the demand for its rows.
#[derive(Clone)]
pub(crate) struct DemandPort {
    wanted: Wanted,
    by_row: Option<ByRow>,
    /// Rows that are handed on together next.
    piece: usize,
    /// Rows of all together that are still wanted of it.
    left: usize,
    /// Where outer rows take turns: the row at work, and the number of rows it may make before the consumer is asked.
    turn: (usize, usize),
}

/// No row is at work.
const NOBODYS_TURN: (usize, usize) = (usize::MAX, PIECE_ROWS_FIRST);

#[derive(Clone)]
struct ByRow {
    /// Column of the outer row's number.
    column: usize,
    /// Where the instance's counters are looked up; a stage is given them.
    counters: Option<Counters>,
    demand: Option<Arc<RowDemand>>,
}

impl DemandPort {
    /// `by_row`: the column of the outer row's number in the input, and the counters, unless they come with the instance.
    pub(crate) fn new(wanted: Wanted, by_row: Option<(usize, Option<Counters>)>) -> DemandPort {
        let by_row = by_row.map(|(column, counters)| ByRow { column, counters, demand: None });
        let mut port = DemandPort { wanted, by_row, piece: usize::MAX, left: usize::MAX, turn: NOBODYS_TURN };
        port.begin_anew();
        port
    }
    /// The same, of rows of which even the first of a piece comes only with its last.
    pub(crate) fn one_row_first(mut self) -> DemandPort {
        self.piece = if self.wanted.is_few() { 1 } else { self.piece };
        self
    }
    fn begin_anew(&mut self) {
        self.piece = if self.wanted.is_few() { PIECE_ROWS_FIRST } else { usize::MAX };
        self.left = match (self.wanted, &self.by_row) {
            (Wanted::Most(most), None) => usize::try_from(most).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
    }
    /// Leaves its scope instance for another.
    pub(crate) fn recycle(&mut self) {
        if let Some(by_row) = &mut self.by_row {
            by_row.demand = None;
        }
        self.begin_anew();
    }
    /// A batch of `rows` rows begins.
    pub(crate) fn enter(&mut self, context: &Context<'_, Rows>, rows: usize) {
        let Some(by_row) = &mut self.by_row else { return };
        match &by_row.counters {
            Some(counters) if by_row.demand.is_none() => {
                by_row.demand = Some(counters.of(context.executor(), context.tag()));
            }
            Some(_) => {}
            None => {
                by_row.demand = context.shared().and_then(|shared| shared.clone().downcast().ok());
            }
        }
        self.begin_rows(rows);
    }
    fn begin_rows(&mut self, rows: usize) {
        self.turn = NOBODYS_TURN;
        if self.wanted.is_few() {
            // Each outer row has the same claim to a first answer.
            self.piece = rows.max(PIECE_ROWS_FIRST);
        }
    }

    /// May the first rows be enough?
    pub(crate) fn is_few(&self) -> bool {
        self.wanted.is_few()
    }
    /// Is it counted for each outer row?
    pub(crate) fn is_by_row(&self) -> bool {
        self.by_row.is_some()
    }
    /// Is it unknown how many rows each outer row needs until it has enough?
    pub(crate) fn takes_turns(&self) -> bool {
        self.by_row.is_some() && self.wanted == Wanted::Some
    }
    /// Is nothing wanted any more?
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }
    /// Size of the next piece to emit, after `made` rows; at most `batch_rows`.
    pub(crate) fn piece(&self, made: usize, batch_rows: usize) -> usize {
        self.piece.min(batch_rows).min(made.saturating_add(self.left))
    }
    /// Rows of its input that are taken up together next: how many of them it takes to make a row that is wanted is not known before.
    pub(crate) fn input_piece(&self) -> usize {
        self.piece.max(1)
    }
    /// Should even fewer rows be handed on, once a slice of work is done? Where each row that is made counts for its outer row, the maker knows
    /// by itself when to stop.
    pub(crate) fn is_eager(&self, batch_rows: usize) -> bool {
        match self.by_row {
            Some(_) => self.takes_turns(),
            None => self.is_few() && self.piece < batch_rows,
        }
    }
    /// Rows were emitted; the next piece is larger. Returns whether the consumer may now have enough, and should be asked first.
    pub(crate) fn handed_on(&mut self, batch_rows: usize) -> bool {
        self.piece = self.piece.saturating_mul(PIECE_ROWS_GROWTH);
        self.is_eager(batch_rows)
    }
    /// Rows that are wanted of this row's outer row; where outer rows take turns, before the consumer is asked.
    #[inline]
    pub(crate) fn wanted(&self, batch: &Batch, row: usize) -> usize {
        let Some(by_row) = &self.by_row else { return self.left };
        let Some(demand) = &by_row.demand else { return usize::MAX };
        match (demand.wanted(number(batch, by_row.column, row)), self.wanted) {
            (0, _) => 0,
            (wanted, Wanted::Most(_)) => wanted,
            (_, Wanted::Some) if self.turn.0 == row => self.turn.1,
            (_, Wanted::Some) => PIECE_ROWS_FIRST,
            (_, Wanted::All) => usize::MAX,
        }
    }
    /// `count` rows were made of this row. Returns whether that is enough.
    #[inline]
    pub(crate) fn made(&mut self, batch: &Batch, row: usize, count: usize) -> bool {
        match self.wanted {
            Wanted::All => return false,
            Wanted::Some => {
                let share = if self.turn.0 == row { self.turn.1 } else { PIECE_ROWS_FIRST };
                self.turn = (row, share.saturating_mul(PIECE_ROWS_GROWTH));
                return false;
            }
            Wanted::Most(_) if count == 0 => return false,
            Wanted::Most(_) => {}
        }
        match &self.by_row {
            None => {
                self.made_all(count);
                self.is_over()
            }
            Some(ByRow { demand: Some(demand), column, .. }) => {
                demand.take(number(batch, *column, row), count) == 0
            }
            Some(_) => false,
        }
    }
    /// `count` rows were made, of any rows: for operators that count for all of them together.
    pub(crate) fn made_all(&mut self, count: usize) {
        if self.left != usize::MAX {
            self.left = self.left.saturating_sub(count);
        }
    }
    /// The rows of a batch of which some are wanted; none if that is all of them.
    pub(crate) fn wanted_rows(&self, batch: &Batch) -> Option<Vec<u32>> {
        self.by_row.as_ref()?.demand.as_ref()?;
        let rows: Vec<u32> =
            (0..batch.len() as u32).filter(|row| self.wanted(batch, *row as usize) > 0).collect();
        (rows.len() < batch.len()).then_some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Below a limit hardly any row may pass, so how few are wanted must not keep the input's pieces small.
    #[test]
    fn pieces_of_the_input_grow_whatever_is_left_to_make() {
        let mut port = DemandPort::new(Wanted::Most(1), None);
        for rows in [PIECE_ROWS_FIRST, PIECE_ROWS_FIRST * PIECE_ROWS_GROWTH] {
            assert_eq!((port.piece(0, 1_000), port.input_piece()), (1, rows));
            port.handed_on(1_000);
        }
        (0..100).for_each(|_| {
            port.handed_on(1_000);
        });
        assert_eq!((port.piece(0, 1_000), port.input_piece()), (1, usize::MAX));
        assert_eq!(DemandPort::new(Wanted::Most(1), None).one_row_first().input_piece(), 1);
        assert_eq!(DemandPort::new(Wanted::All, None).input_piece(), usize::MAX);
    }
}
