//! Sort: orders rows, on every executor first and then at home; with a limit it keeps the first rows only (top-k).
//!
//! Rows of equal keys keep their order. A row without a key is left out where the order defines no position for null. A top-k keeps some more rows
//! than its limit and cuts when there are twice as many, so its cost per row is a comparison with the last row that still counts; for a sort without
//! a limit see `whole`. Inside a sub-query the outer row leads the keys, and the limit counts for each outer row.

use crate::ExecuteError;
use crate::columns::{concatenate, piece};
use crate::compile::Compiler;
use crate::fetch::looked_at;
use crate::limits::{TOP_PARTIAL_ROWS_MAX, TOP_ROWS_SLACK};
use crate::operator::limit::row_count;
use crate::spill::{PIECE_BYTES, SpillFile, SpilledRows, is_tight};
use crate::stream::{Feed, Stream};
use crate::turn::{Breaker, Breaking, ExecutionContext, Progress, Try, Turn};
use dataflow::VertexOptions;
use expression::{Compiled, Layout};
use model::batch::Carried;
use model::{Batch, Column, Value};
use parking_lot::Mutex;
use plan::VarSet;
use plan::algebra::KeyOrder;
use std::cmp::Ordering;
use std::sync::Arc;

mod keys;
mod merge;
mod sorting;
mod whole;

use keys::SortKeys;
use merge::{FewerRuns, MergedParts, SpilledRun};
use sorting::{Key, Sorting};
use whole::{CommonPrefix, Rows, Sorter};

/// The first rows alone.
struct Sort {
    plan: Arc<Sorting>,
    /// Buffered rows, keys in the columns behind the row's own.
    held: Vec<Batch>,
    held_rows: usize,
    charged: usize,
    /// Keys of the last row that counts, once there are enough.
    bar: Option<Vec<Value>>,
    sorted: Option<Batch>,
    next: usize,
}

impl Sort {
    fn new(plan: Arc<Sorting>) -> Sort {
        Sort { plan, held: Vec::new(), held_rows: 0, charged: 0, bar: None, sorted: None, next: 0 }
    }
    /// Rows of a batch that may come before the bar by the first key alone; none where all may.
    fn first_counts(&self, first: &Carried, len: usize) -> Option<Vec<u32>> {
        let (bar, key) = (self.bar.as_ref()?.first()?, self.plan.keys.first()?);
        let rows = 0..len as u32;
        if let (Column::Int(values, nulls), Value::Int(bar)) = (first.column(), bar)
            && nulls.is_empty()
        {
            let value = |row: &u32| values[first.at(*row as usize)];
            return Some(match key.descending {
                true => rows.filter(|row| value(row) >= *bar).collect(),
                false => rows.filter(|row| value(row) <= *bar).collect(),
            });
        }
        if let (Column::Float(values, nulls), Value::Float(bar)) = (first.column(), bar)
            && nulls.is_empty()
        {
            let value = |row: &u32| keys::float_bits(values[first.at(*row as usize)]);
            let bar = keys::float_bits(*bar);
            return Some(match key.descending {
                true => rows.filter(|row| value(row) >= bar).collect(),
                false => rows.filter(|row| value(row) <= bar).collect(),
            });
        }
        let after = if key.descending { Ordering::Less } else { Ordering::Greater };
        if let (Column::Text(texts, nulls), Value::String(bar)) = (first.column(), bar)
            && nulls.is_empty()
        {
            let order = |row: &u32| texts.get(first.at(*row as usize)).as_bytes().cmp(bar.as_bytes());
            return Some(rows.filter(|row| order(row) != after).collect());
        }
        Some(rows.filter(|row| key.order(&first.get(*row as usize), bar) != after).collect())
    }
    /// Does batch row `row` come before the bar?
    fn counts(&self, keys: &[Carried], row: usize) -> bool {
        let Some(bar) = &self.bar else { return true };
        for ((key, column), bar) in self.plan.keys.iter().zip(keys).zip(bar) {
            let order = key.order(&column.get(row), bar);
            let order = if key.descending { order.reverse() } else { order };
            if order.is_ne() {
                return order.is_lt();
            }
        }
        false
    }
    /// As [`Sort::sort`]; while it runs there are two copies.
    fn sort_charged(&mut self, turn: &mut Turn<'_, '_>) -> Try<Batch> {
        let besides = self.charged + self.held_rows * keys::BYTES_PER_ROW;
        turn.context.charge(besides)?;
        let sorted = self.sort();
        turn.context.release(besides);
        Ok(sorted)
    }
    /// All buffered rows in order; with a limit, cut.
    fn sort(&mut self) -> Batch {
        let all = concatenate(&std::mem::take(&mut self.held), self.plan.width + self.plan.keys.len());
        let mut keys = SortKeys::of(&self.plan, &all);
        let mut order = keys.take_rows();
        let before = |a: &(u64, u32), b: &(u64, u32)| keys.compare(&self.plan, *a, *b);
        if let Some(limit) =
            self.plan.limit.filter(|limit| (1..order.len()).contains(limit) && !self.plan.by_row)
        {
            // Only those that count need an order. Of equal ones the first comes first, as in a stable sort.
            order.select_nth_unstable_by(limit - 1, before);
            order.truncate(limit);
        }
        order.sort_unstable_by(before);
        let mut order: Vec<u32> = order.into_iter().map(|(_, row)| row).collect();
        if let Some(limit) = self.plan.limit {
            self.cut(&mut order, &keys.columns, limit);
        }
        self.held_rows = order.len();
        if self.plan.width + self.plan.keys.len() == 0 {
            Batch::new(Vec::new(), order.len())
        } else {
            all.select(order)
        }
    }
    fn cut(&mut self, order: &mut Vec<u32>, keys: &[Carried], limit: usize) {
        if !self.plan.by_row {
            order.truncate(limit);
            if let Some(last) = order.last().filter(|_| order.len() == limit) {
                self.bar = Some(keys.iter().map(|key| key.get(*last as usize)).collect());
            }
            return;
        }
        let (mut row, mut kept) = (None, 0);
        order.retain(|at| {
            let this = keys[0].get(*at as usize).as_int();
            if this != row {
                (row, kept) = (this, 0);
            }
            kept += 1;
            kept <= limit
        });
    }
}

/// State shared by the twins of one sort: sorted parts that wait to be merged, and runs, of each executor in the order of their rows.
#[derive(Clone, Default)]
struct Shared {
    parts: Arc<Mutex<Vec<Rows>>>,
    runs: Arc<Mutex<Vec<SpilledRun>>>,
    common: CommonPrefix,
}

/// Bytes of rows that are put aside in a slice of work, about.
const WRITTEN_PER_SLICE: usize = 4 * PIECE_BYTES;

/// Work of an executor before it takes more rows.
enum Aside {
    Sort(Sorter),
    /// Writes the sorted rows: the next position, and the rows written.
    Write(Rows, usize, SpilledRows),
}

/// Sorts its rows; at the end leaves its part for the merge. A part that does not fit memory is sorted and spilled as a run.
struct Partial {
    plan: Arc<Sorting>,
    rows: Option<Rows>,
    sorter: Option<Sorter>,
    shared: Shared,
    charged: usize,
    sorting: usize,
    aside: Option<Aside>,
    file: Option<Arc<SpillFile>>,
    runs: Vec<SpilledRun>,
}

impl Partial {
    fn new(plan: Arc<Sorting>, shared: Shared) -> Partial {
        Partial {
            plan,
            rows: None,
            sorter: None,
            shared,
            charged: 0,
            sorting: 0,
            aside: None,
            file: None,
            runs: Vec::new(),
        }
    }
    /// Charges the bytes of the rows, or arranges that they are spilled.
    fn charge(&mut self, turn: &mut Turn<'_, '_>) -> Try<()> {
        let Some(rows) = &self.rows else { return Ok(()) };
        let (bytes, needed) = (rows.bytes(), rows.sorting_bytes() * turn.context.executors());
        let charged = turn.context.charge(bytes.saturating_sub(self.charged));
        self.charged = self.charged.max(bytes);
        if charged.is_err() || is_tight(turn.context, bytes, needed) {
            if self.file.is_none() {
                let file = SpillFile::create(turn.execution.environment.spill.as_ref(), turn.context)?;
                self.file = file.map(Arc::new);
            }
            if self.file.is_some()
                && let Some(rows) = self.rows.take()
            {
                self.sorting = rows.sorting_bytes();
                // What is put aside now is what there was no room for.
                let _ = turn.context.charge(self.sorting);
                self.aside = Some(Aside::Sort(Sorter::new(rows)));
                return Ok(());
            }
        }
        charged
    }
}

impl Breaker for Partial {
    fn reads(&self) -> &[usize] {
        &self.plan.looks_at
    }
    fn take(&mut self, _: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        let scope = turn.execution.scope();
        let keys = self.plan.keys.iter().map(|key| key.expression.evaluate_carried(&batch, &scope));
        let keys = keys.collect::<Result<Vec<Carried>, _>>()?;
        let mut kept = batch.project(&self.plan.carry);
        keys.iter().for_each(|key| kept.push_carried(key.clone()));
        if self.plan.keys.iter().any(|key| key.order == KeyOrder::Typed) {
            let rows = (0..batch.len() as u32).filter(|row| !self.plan.lacks_key(&keys, *row as usize));
            kept = kept.select(rows.collect());
        }
        if !kept.is_empty() {
            let rows = || Rows::new(self.plan.clone(), self.shared.common.clone());
            self.rows.get_or_insert_with(rows).take(&kept);
        }
        self.charge(turn)
    }
    fn make_room(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        match self.aside.take() {
            None => return Ok(Progress::Done),
            Some(Aside::Sort(mut sorter)) => {
                self.aside = Some(match sorter.step() {
                    true => Aside::Write(sorter.finish(), 0, SpilledRows::new(self.plan.width_with_keys())),
                    false => Aside::Sort(sorter),
                });
            }
            Some(Aside::Write(rows, from, mut written)) => {
                let Some(file) = &self.file else { return Ok(Progress::Done) };
                // A slice of long rows has few of them.
                let rows_max = (WRITTEN_PER_SLICE * rows.len() / rows.bytes().max(1)).max(1);
                let end = rows.len().min(from + rows_max.min(turn.execution.environment.batch_rows));
                written.take(&rows.batch(from..end, self.plan.width_with_keys()), file, turn.context)?;
                if end < rows.len() {
                    self.aside = Some(Aside::Write(rows, end, written));
                    return Ok(Progress::More);
                }
                written.write(file, turn.context)?;
                self.runs.push(SpilledRun { file: file.clone(), rows: written, kind: rows.kind() });
                drop(rows);
                turn.context.release(std::mem::take(&mut self.sorting) + std::mem::take(&mut self.charged));
                return Ok(Progress::Done);
            }
        }
        Ok(Progress::More)
    }
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        if let Some(rows) = self.rows.take() {
            self.sorting = rows.sorting_bytes();
            turn.context.charge(self.sorting)?;
            if !self.runs.is_empty() {
                // So that all of the room is there to merge in.
                self.aside = Some(Aside::Sort(Sorter::new(rows)));
                return Ok(Progress::More);
            }
            self.sorter = Some(Sorter::new(rows));
        }
        if self.aside.is_some() {
            self.make_room(turn)?;
            return Ok(Progress::More);
        }
        if self.sorter.as_mut().is_some_and(|sorter| !sorter.step()) {
            return Ok(Progress::More);
        }
        self.shared.parts.lock().extend(self.sorter.take().map(Sorter::finish));
        self.shared.runs.lock().append(&mut self.runs);
        turn.context.release(std::mem::take(&mut self.sorting));
        Ok(Progress::Done)
    }
}

/// The steps at home, in order.
enum FinalStep {
    Sort,
    Merge(FewerRuns),
    HandOn(MergedParts),
}

/// Takes rows itself, merges the parts of all, and hands them on in order.
struct Final {
    partial: Partial,
    step: FinalStep,
    /// Rows that are still wanted.
    left: usize,
}

impl Breaker for Final {
    fn reads(&self) -> &[usize] {
        &self.partial.plan.looks_at
    }
    fn take(&mut self, port: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        self.partial.take(port, batch, turn)
    }
    fn make_room(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        self.partial.make_room(turn)
    }
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        let (plan, shared) = (self.partial.plan.clone(), self.partial.shared.clone());
        match &mut self.step {
            FinalStep::Sort => {
                if self.partial.drain(turn)? == Progress::Done {
                    let runs = std::mem::take(&mut *shared.runs.lock());
                    self.step = FinalStep::Merge(FewerRuns::new(plan, shared.common, runs));
                }
            }
            FinalStep::Merge(fewer) => {
                if let Some(runs) = fewer.step(turn)? {
                    let parts = std::mem::take(&mut *shared.parts.lock());
                    self.step = FinalStep::HandOn(MergedParts::new(plan, shared.common, parts, runs));
                }
            }
            FinalStep::HandOn(merged) => {
                if merged.is_ready(turn)? {
                    let rows_max = self.left.min(turn.execution.environment.batch_rows);
                    let rows = if rows_max == 0 {
                        Batch::new(Vec::new(), 0)
                    } else {
                        merged.next(rows_max, plan.width)
                    };
                    self.left -= rows.len();
                    let done = rows.is_empty();
                    turn.emit(rows);
                    return Ok(if done { Progress::Done } else { Progress::More });
                }
            }
        }
        Ok(Progress::More)
    }
}

impl Breaker for Sort {
    fn reads(&self) -> &[usize] {
        &self.plan.looks_at
    }
    fn take(&mut self, _: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        if self.plan.limit == Some(0) {
            return Ok(());
        }
        let scope = turn.execution.scope();
        let mut batch = batch;
        // Most rows fall by their first key: the others are not even computed for them.
        let mut known = None;
        if let Some(key) = self.plan.keys.first().filter(|_| self.bar.is_some()) {
            let mut first = key.expression.evaluate_carried(&batch, &scope)?;
            if let Some(rows) = self.first_counts(&first, batch.len()) {
                if rows.is_empty() {
                    return Ok(());
                }
                if rows.len() < batch.len() {
                    let place = batch.width();
                    batch.push_carried(first);
                    batch = batch.select(rows);
                    first = batch.column(place).clone();
                }
            }
            known = Some(first);
        }
        let others = self.plan.keys.iter().skip(usize::from(known.is_some()));
        let others = others.map(|key| key.expression.evaluate_carried(&batch, &scope));
        let keys = known.into_iter().map(Ok).chain(others).collect::<Result<Vec<Carried>, _>>()?;
        let mut kept = batch.project(&self.plan.carry);
        keys.iter().for_each(|key| kept.push_carried(key.clone()));
        if self.bar.is_some() || self.plan.keys.iter().any(|key| key.order == KeyOrder::Typed) {
            let is_kept = |row: &u32| {
                let row = *row as usize;
                !self.plan.lacks_key(&keys, row) && self.counts(&keys, row)
            };
            let rows: Vec<u32> = (0..batch.len() as u32).filter(is_kept).collect();
            if rows.is_empty() {
                return Ok(());
            }
            if rows.len() < batch.len() {
                kept = kept.select(rows);
            }
        }
        let kept = kept.flatten();
        let bytes = kept.bytes();
        self.charged += bytes;
        self.held_rows += kept.len();
        self.held.push(kept);
        turn.context.charge(bytes)?;
        if self.plan.limit.is_some_and(|limit| self.held_rows > 2 * limit + TOP_ROWS_SLACK)
            && !self.plan.by_row
        {
            let cut = self.sort_charged(turn)?.flatten();
            turn.context.release(self.charged);
            self.charged = cut.bytes();
            turn.context.charge(self.charged)?;
            self.held.push(cut);
        }
        Ok(())
    }
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        if self.sorted.is_none() {
            let sorted = self.sort_charged(turn)?;
            let columns: Vec<usize> = (0..self.plan.width).collect();
            self.sorted = Some(sorted.project(&columns));
        }
        let sorted = self.sorted.as_ref().expect("just set");
        let rows = piece(sorted, self.next, turn.execution.environment.batch_rows);
        self.next += rows.len();
        let done = self.next == sorted.len();
        turn.emit(rows);
        Ok(if done { Progress::Done } else { Progress::More })
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Sort,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let expressions = || node.keys.iter().map(|key| &key.expr);
    let limit = node.limit.as_ref().map(|limit| row_count(compiler, limit, "LIMIT")).transpose()?;
    let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX / 4).min(usize::MAX / 4));
    let below = required.clone().reading(expressions());
    let mut input = compiler.rows(feed)?;
    let partial = limit.is_some_and(|limit| limit <= TOP_PARTIAL_ROWS_MAX)
        && compiler.inside.is_none()
        && input.parallel;
    if partial {
        // What comes through the partial top-k must still be sortable.
        let plan = Arc::new(sorting(compiler, node, &input.layout, &below, limit)?);
        input = attach(compiler, input, plan, &below, false);
    }
    if limit.is_none_or(|limit| limit > TOP_PARTIAL_ROWS_MAX && compiler.inside.is_none()) {
        return sort_all(compiler, node, input, required, limit);
    }
    let plan = Arc::new(sorting(compiler, node, &input.layout, required, limit)?);
    Ok(attach(compiler, input, plan, required, true))
}

/// A sort of all rows, or of too many first ones for a top-k: a partial sort on every executor, and the merge at home.
fn sort_all(
    compiler: &mut Compiler,
    node: &plan::algebra::Sort,
    mut input: Stream,
    required: &VarSet,
    limit: Option<usize>,
) -> Result<Stream, ExecuteError> {
    let plan = Arc::new(sorting(compiler, node, &input.layout, required, None)?);
    let (_, layout) = compiler.carry(&input.layout, required);
    let environment = compiler.environment.clone();
    let shared: Option<Shared> = (input.parallel && compiler.inside.is_none()).then(Shared::default);
    if let Some(shared) = shared.clone() {
        let (plan, environment) = (plan.clone(), environment.clone());
        let vertex = compiler.vertex("Sort", compiler.options(1), move || {
            Breaking::new(Partial::new(plan.clone(), shared.clone()), ExecutionContext::new(&environment), 1)
        });
        // Sorting rows where they are costs less than sharing them out.
        input.fans_out = false;
        compiler.connect(&input, vertex, 0);
        input = Stream { vertex, output: 0, parallel: true, ..input };
    }
    let options = VertexOptions { create_if_empty: shared.is_some(), ..compiler.options(1) };
    let vertex = compiler.vertex("Sort", options, move || {
        let partial = Partial::new(plan.clone(), shared.clone().unwrap_or_default());
        let left = limit.unwrap_or(usize::MAX);
        Breaking::new(Final { partial, step: FinalStep::Sort, left }, ExecutionContext::new(&environment), 1)
    });
    compiler.gather(&input, vertex, 0);
    Ok(Stream { vertex, output: 0, layout, parallel: false, ordered: true, fans_out: false })
}

fn attach(
    compiler: &mut Compiler,
    input: Stream,
    plan: Arc<Sorting>,
    required: &VarSet,
    gather: bool,
) -> Stream {
    let (_, layout) = compiler.carry(&input.layout, required);
    let environment = compiler.environment.clone();
    let vertex = compiler.vertex("Sort", compiler.options(1), move || {
        Breaking::new(Sort::new(plan.clone()), ExecutionContext::new(&environment), 1)
    });
    let parallel = match gather {
        true => {
            compiler.gather(&input, vertex, 0);
            false
        }
        false => compiler.connect(&Stream { fans_out: false, ..input.clone() }, vertex, 0),
    };
    Stream { vertex, output: 0, layout, parallel, ordered: gather, fans_out: false }
}

fn sorting(
    compiler: &Compiler,
    node: &plan::algebra::Sort,
    layout: &Layout,
    required: &VarSet,
    limit: Option<usize>,
) -> Result<Sorting, ExecuteError> {
    let mut keys = Vec::new();
    if let Some(row) = compiler.row() {
        let expression = Compiled::column(Compiler::position(layout, row)?);
        keys.push(Key { expression, descending: false, order: KeyOrder::Total });
    }
    for key in &node.keys {
        let expression = compiler.expression(&key.expr, layout)?;
        keys.push(Key { expression, descending: key.descending, order: key.order });
    }
    let (carry, kept) = compiler.carry(layout, required);
    let looks_at = looked_at(keys.iter().map(|key: &Key| &key.expression));
    Ok(Sorting { keys, limit, by_row: compiler.inside.is_some(), width: kept.len(), carry, looks_at })
}
