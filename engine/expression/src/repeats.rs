//! Rows that repeat the values of the row before: after an expand, all carried columns are constant over the neighbours of one vertex.
//!
//! Idea: an expression over such columns alone is computed once for each run of equal rows, and so is their group looked up. The result is carried
//! along under a row map of its own, as the columns were. Twin: every row for itself. Cost: one comparison a row and map.

use model::Batch;
use model::batch::Carried;
use std::sync::Arc;

/// Rows below which runs are not looked for.
const ROWS_MIN: usize = 32;
/// Rows there must be for each run, on average.
const ROWS_PER_RUN_MIN: usize = 2;

/// Runs of rows that are equal in some columns.
pub(crate) struct Runs {
    /// The first row of each.
    starts: Vec<u32>,
    /// By row: its run.
    of_row: Arc<Vec<u32>>,
}

impl Runs {
    /// The runs in these columns, where there are few beside the rows; a column that has the same value in every row does not count.
    pub(crate) fn of<'c>(columns: impl Iterator<Item = &'c Carried> + Clone, rows: usize) -> Option<Runs> {
        if rows < ROWS_MIN {
            return None;
        }
        let varying = columns.filter(|carried| !matches!(carried.column(), model::Column::Constant(..)));
        let is_mapped = varying.clone().all(|carried| carried.rows().is_some());
        let maps = varying.filter_map(Carried::rows);
        if !is_mapped || maps.clone().next().is_none() {
            return None;
        }
        let turns = |map: &[u32]| map.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let most = maps.clone().map(turns).max().unwrap_or(0);
        if (most + 1) * ROWS_PER_RUN_MIN > rows {
            return None;
        }
        let mut starts = Vec::with_capacity(most + 1);
        let mut of_row = Vec::with_capacity(rows);
        for row in 0..rows {
            if row == 0 || maps.clone().any(|map| map[row] != map[row - 1]) {
                starts.push(row as u32);
            }
            of_row.push(starts.len() as u32 - 1);
        }
        Some(Runs { starts, of_row: Arc::new(of_row) })
    }
    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }
    /// The first row of each run alone.
    pub(crate) fn firsts(&self, batch: &Batch) -> Batch {
        batch.select(self.starts.clone())
    }
    /// A column's value in each run.
    pub(crate) fn first_values(&self, carried: &Carried) -> Carried {
        let place = |row: &u32| carried.at(*row as usize) as u32;
        match carried.rows() {
            None => carried.clone(),
            Some(_) => {
                let rows = self.starts.iter().map(place).collect();
                Carried::picked(carried.shared().clone(), Arc::new(rows))
            }
        }
    }
    /// Values of the runs, as values of all rows.
    pub(crate) fn spread(&self, of_runs: Carried) -> Carried {
        match of_runs.rows() {
            None => Carried::picked(of_runs.shared().clone(), self.of_row.clone()),
            Some(map) => {
                let rows = self.of_row.iter().map(|run| map[*run as usize]).collect();
                Carried::picked(of_runs.shared().clone(), Arc::new(rows))
            }
        }
    }
    /// By row: its run.
    pub(crate) fn of_row(&self) -> &[u32] {
        &self.of_row
    }
}
