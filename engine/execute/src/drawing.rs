//! Fan-outs that open a cursor for each row and draw from it until it is empty: look-ups, lists that are counted, files, procedures.
//!
//! The loop over rows is here: resuming, skipping rows that are no longer wanted, room in the output. An operator defines how a cursor opens and how
//! values are taken from it.

use crate::turn::{ExecutionContext, FanOut, Progress, Try, Turn};
use model::{Batch, Column};

/// A source of values for each row.
pub(crate) trait Draw: Send {
    /// The rest of one row's values.
    type Cursor: Send;

    /// A new batch of input.
    fn begin(&mut self, batch: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        let _ = (batch, execution);
        Ok(())
    }
    /// Opens the cursor of a row.
    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Self::Cursor>;
    /// Takes up to `room` values, at least one if there is one, and keeps them for the columns; returns their number, and whether the cursor is
    /// empty, or waits.
    fn draw(
        &mut self,
        cursor: &mut Self::Cursor,
        room: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)>;
    /// The new columns of the values since the last call.
    fn columns(&mut self) -> Vec<Column>;
    /// Drops all that is of this run; true if it may then serve the next run.
    fn end_run(&mut self) -> bool {
        false
    }
    /// Bytes that are charged for it and its cursor.
    fn charged(&self) -> usize {
        0
    }
    /// Are the values since the last call of [`columns`](Self::columns) so large that they are emitted as they are?
    fn is_full(&self) -> bool {
        false
    }
}

/// Runs a [`Draw`].
pub(crate) struct Drawing<D: Draw> {
    draw: D,
    row: usize,
    cursor: Option<D::Cursor>,
}

impl<D: Draw> Drawing<D> {
    pub(crate) fn new(draw: D) -> Drawing<D> {
        Drawing { draw, row: 0, cursor: None }
    }
}

impl<D: Draw> FanOut for Drawing<D> {
    fn begin(&mut self, batch: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        (self.row, self.cursor) = (0, None);
        self.draw.begin(batch, execution)
    }
    fn fill(
        &mut self,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        while self.row < batch.len() {
            if rows.len() >= rows_max {
                return Ok(Progress::More);
            }
            let wanted = turn.wanted(batch, self.row);
            if wanted == 0 {
                (self.cursor, self.row) = (None, self.row + 1);
                continue;
            }
            let mut cursor = match self.cursor.take() {
                Some(cursor) => cursor,
                None => self.draw.open(batch, self.row, turn)?,
            };
            let room = wanted.min(rows_max - rows.len());
            let (taken, progress) = self.draw.draw(&mut cursor, room, turn)?;
            rows.extend(std::iter::repeat_n(self.row as u32, taken));
            let is_enough = turn.made(batch, self.row, taken);
            if progress != Progress::Done && !is_enough {
                self.cursor = Some(cursor);
                return Ok(progress);
            }
            self.row += 1;
        }
        Ok(Progress::Done)
    }
    fn columns(&mut self) -> Vec<Column> {
        self.draw.columns()
    }
    fn end_run(&mut self) -> bool {
        (self.row, self.cursor) = (0, None);
        self.draw.end_run()
    }
    fn charged(&self) -> usize {
        self.draw.charged()
    }
    fn is_full(&self) -> bool {
        self.draw.is_full()
    }
}
