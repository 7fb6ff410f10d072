//! Concatenated columns: build sides and sorts keep one batch, so that each output row is a row number. A build side may be large, so it is
//! concatenated batch by batch ([`Gathering`]).

use model::batch::Carried;
use model::{Batch, ColumnBuilder};

/// Some columns of a batch, as they are carried.
pub(crate) fn carried(batch: &Batch, columns: &[usize]) -> Vec<Carried> {
    columns.iter().map(|at| batch.column(*at).clone()).collect()
}

/// Batches of one layout as one flat batch.
pub(crate) fn concatenate(batches: &[Batch], width: usize) -> Batch {
    if let [single] = batches {
        return single.flatten();
    }
    let mut gathering = Gathering::new(width, batches.iter().map(Batch::len).sum());
    batches.iter().for_each(|batch| gathering.append(batch));
    gathering.finish()
}

/// Batches of one layout on their way to one flat batch.
pub(crate) struct Gathering {
    columns: Vec<ColumnBuilder>,
    len: usize,
    rows_all: usize,
}

impl Gathering {
    /// For `rows_all` rows in all.
    pub(crate) fn new(width: usize, rows_all: usize) -> Gathering {
        Gathering { columns: (0..width).map(|_| ColumnBuilder::new()).collect(), len: 0, rows_all }
    }
    pub(crate) fn len(&self) -> usize {
        self.len
    }
    pub(crate) fn append(&mut self, batch: &Batch) {
        for (at, column) in self.columns.iter_mut().enumerate() {
            let carried = batch.column(at);
            match carried.rows() {
                None => column.append(carried.column(), 0..batch.len()),
                Some(rows) => column.append(carried.column(), rows.iter().map(|row| *row as usize)),
            }
            if self.len == 0 {
                column.reserve(self.rows_all.saturating_sub(batch.len()));
            }
        }
        self.len += batch.len();
    }
    pub(crate) fn finish(self) -> Batch {
        Batch::new(self.columns.into_iter().map(ColumnBuilder::finish).collect(), self.len)
    }
}

/// A batch's rows from `start` on, at most `rows_max`; rows without columns cost nothing.
pub(crate) fn piece(batch: &Batch, start: usize, rows_max: usize) -> Batch {
    let end = batch.len().min(start + rows_max);
    if batch.width() == 0 { Batch::new(Vec::new(), end - start) } else { batch.slice(start, end) }
}
