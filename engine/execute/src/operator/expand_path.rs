//! ExpandPath: runs of edges from a vertex, for each row: variable length, distinct ends, shortest paths.
//!
//! One search of `paths` at a time, stepped in slices so that a quota is kept and a full output holds it back: paths that are not wanted are never
//! listed. The plan decides the search: distinct ends are a breadth-first search, shortest paths between bound ends a bidirectional one, shortest
//! paths to all ends one wave with distances, all else an enumeration ([`trailing`]), guided towards the far end if that is bound. The far end's
//! labels filter the results. Rows that need ends by distance go to all executors, see `dispatched`; inside sub-queries many of them share one
//! search, see `lanes`.

use crate::ExecuteError;
use crate::adjacency::{EdgeCondition, Walk};
use crate::compile::Compiler;
use crate::labels::LabelCheck;
use crate::operator::expand::edge_types;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, FanOut, Progress, Try, Turn};
use model::{Batch, Column, EdgeTypeId, NO_VERTEX, Nulls, Value, VertexId};
use paths::Hops;
use plan::VarSet;
use plan::physical::Algorithm;
use std::cell::OnceCell;
use std::sync::Arc;

mod dispatched;
mod expansion;
mod lanes;
mod search;
mod trailing;

/// Bytes of a search up to which its memory is kept for the next row.
const SPARE_BYTES_MAX: usize = 64 << 10;
/// Ends looked at together at least where few with the right labels are enough.
const ENDS_LOOKED_AT_FOR_FEW: usize = 16;

use expansion::{Bound, Expansion, Walks, keep_end};
use lanes::Lanes;
use search::{Found, Search};

struct ExpandPath {
    plan: Arc<Expansion>,
    bound: Option<Bound>,
    row: usize,
    search: Option<Search>,
    /// A finished search, for its memory.
    spare: Option<Search>,
    /// One search for many rows.
    lanes: Option<Lanes>,
    found: Found,
    charged: usize,
    ends: Vec<VertexId>,
    lengths: Vec<i64>,
    edges: Vec<Value>,
}

impl ExpandPath {
    fn walks(
        &self,
        batch: &Batch,
        execution: &ExecutionContext,
        bound: &Bound,
        types: &Arc<Vec<EdgeTypeId>>,
    ) -> Walks {
        let (environment, direction) = (&execution.environment, self.plan.direction);
        let walk = |direction, condition| {
            Arc::new(Walk::new(&bound.snapshot, types, direction, condition, environment))
        };
        let against = bound.against.get_or_init(|| walk(direction.reversed(), None)).clone();
        let along = match self.plan.predicate.clone() {
            None => bound.along.get_or_init(|| walk(direction, None)).clone(),
            Some(predicate) => {
                let row =
                    if batch.width() == 0 { Batch::unit() } else { batch.select(vec![self.row as u32]) };
                walk(direction, Some(EdgeCondition { predicate, row }))
            }
        };
        Walks { along, against }
    }

    /// The search for the current row; none where there is nothing to find.
    fn begin_row(
        &mut self,
        batch: &Batch,
        execution: &ExecutionContext,
        bound: &mut Bound,
    ) -> Try<Option<Search>> {
        let vertex = |at: usize| batch.column(at).vertex(self.row).filter(|vertex| *vertex != NO_VERTEX);
        let Some(from) = vertex(self.plan.from) else { return Ok(None) };
        let to = self.plan.to.map(vertex);
        if to == Some(None) || from.dense() >= bound.snapshot.vertex_bound() {
            return Ok(None);
        }
        let to = to.flatten();
        if let Some(to) = to
            && (to.dense() >= bound.snapshot.vertex_bound() || !bound.labels.admits(to, &bound.snapshot)?)
        {
            return Ok(None);
        }
        let Some(types) = bound.types.clone() else {
            // No such edges at all: only the empty path is left.
            let trivial = self.plan.hops.min == 0 && to.is_none_or(|to| to == from);
            return Ok(trivial.then(|| Search::point(from.dense())));
        };
        if let Some(mut spare) = self.spare.take()
            && spare.restart(from.dense())?
        {
            return Ok(Some(spare));
        }
        let walks = self.walks(batch, execution, bound, &types);
        Search::new(&self.plan, walks, from.dense(), to.map(VertexId::dense)).map(Some)
    }

    /// Moves results of the search into the output, as far as they are wanted; ends that lack the labels are dropped.
    fn take_found(&mut self, bound: &mut Bound, rows: &mut Vec<u32>, rows_max: usize) -> Try<()> {
        let walk = self.search.as_ref().and_then(Search::walk);
        let room = self.found.ends.len().min(rows_max.saturating_sub(rows.len()));
        rows.reserve(room);
        if self.plan.keep_to {
            self.ends.reserve(room);
        }
        for at in 0..self.found.ends.len() {
            if rows.len() >= rows_max {
                break;
            }
            let end = VertexId::from_dense(self.found.ends[at]);
            if self.plan.to.is_none() && !bound.labels.admits(end, &bound.snapshot)? {
                continue;
            }
            rows.push(self.row as u32);
            keep_end(&self.plan, &mut self.ends, &mut self.lengths, end, self.found.lengths[at]);
            if self.plan.keep_edges {
                self.edges.push(self.found.edges(at, walk, self.plan.reversed));
            }
        }
        self.found.clear();
        Ok(())
    }

    fn charge(&mut self, turn: &mut Turn<'_, '_>) -> Try<()> {
        let search = self.search.as_ref().or(self.spare.as_ref());
        let bytes = search.map_or(0, Search::bytes) + self.lanes.as_ref().map_or(0, Lanes::bytes);
        if bytes > self.charged {
            turn.context.charge(bytes - self.charged)?;
        } else {
            turn.context.release(self.charged - bytes);
        }
        self.charged = bytes;
        Ok(())
    }

    /// A slice of a search shared by many rows, begun here if worthwhile; done if there is none to go on with.
    fn slice_lanes(
        &mut self,
        bound: &mut Bound,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        if self.lanes.is_none() {
            let fits = self.search.is_none()
                && self.plan.shares
                && !turn.is_by_row()
                && !turn.execution.environment.is_recording();
            let Some(types) = bound.types.clone().filter(|_| fits) else { return Ok(Progress::Done) };
            let walks = || self.walks(batch, turn.execution, bound, &types);
            self.lanes = Lanes::begin(&self.plan, bound, batch, self.row, walks)?;
        }
        let Some(mut lanes) = self.lanes.take() else { return Ok(Progress::Done) };
        let progress = lanes.step(rows_max - rows.len(), |row, end, distance| {
            if bound.labels.admits(end, &bound.snapshot)? {
                rows.push(row);
                keep_end(&self.plan, &mut self.ends, &mut self.lengths, end, distance);
            }
            Ok(())
        })?;
        if progress == Progress::Done {
            self.row = lanes.row_after;
        } else {
            self.lanes = Some(lanes);
        }
        self.charge(turn)?;
        Ok(if self.row < batch.len() { Progress::More } else { progress })
    }

    fn slice(
        &mut self,
        bound: &mut Bound,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        while self.row < batch.len() {
            if rows.len() >= rows_max {
                return Ok(Progress::More);
            }
            if self.slice_lanes(bound, batch, rows, rows_max, turn)? == Progress::More {
                return Ok(Progress::More);
            }
            if self.row >= batch.len() {
                break;
            }
            let wanted = turn.wanted(batch, self.row);
            if wanted == 0 {
                (self.search, self.row) = (None, self.row + 1);
                self.charge(turn)?;
                continue;
            }
            if self.search.is_none() {
                self.search = self.begin_row(batch, turn.execution, bound)?;
            }
            let Some(search) = &mut self.search else {
                self.row += 1;
                continue;
            };
            let before = rows.len();
            let few = if bound.labels.is_any() { wanted } else { wanted.max(ENDS_LOOKED_AT_FOR_FEW) };
            let progress = search.step(&mut self.found, few.min(rows_max - before))?;
            self.take_found(bound, rows, before.saturating_add(wanted))?;
            let done = turn.made(batch, self.row, rows.len() - before) || progress == Progress::Done;
            if done {
                // One with conditions reads another row.
                let is_kept = |search: &Search| {
                    let is_the_same = self.plan.predicate.is_none() && search.is_restartable();
                    is_the_same && search.bytes() <= SPARE_BYTES_MAX
                };
                self.spare = self.search.take().filter(is_kept);
                self.row += 1;
            }
            self.charge(turn)?;
            // Even a short search may have a long list of marks to make.
            if !done || (self.row < batch.len() && turn.context.should_yield()) {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }
}

impl FanOut for ExpandPath {
    fn begin(&mut self, _: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        if self.bound.is_none() {
            let snapshot = execution.snapshot().clone();
            let types = edge_types(&self.plan.types, &snapshot).map(Arc::new);
            let labels = LabelCheck::new(&self.plan.labels, &snapshot);
            execution.environment.record(|reads| labels.record(reads));
            let (along, against) = (OnceCell::new(), OnceCell::new());
            self.bound = Some(Bound { types, labels, snapshot, along, against });
            self.plan.say_instead(&execution.environment);
        }
        (self.row, self.search, self.lanes) = (0, None, None);
        Ok(())
    }
    fn fill(
        &mut self,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        let mut bound = self.bound.take().expect("a batch was begun");
        let progress = self.slice(&mut bound, batch, rows, rows_max, turn);
        self.bound = Some(bound);
        progress
    }
    fn recycle(&mut self) -> bool {
        // The caller gives it back.
        (self.search, self.spare, self.lanes, self.charged) = (None, None, None, 0);
        self.found.clear();
        self.ends.clear();
        self.lengths.clear();
        self.edges.clear();
        true
    }
    fn end_run(&mut self) -> bool {
        self.recycle();
        self.bound = None;
        true
    }
    fn charged(&self) -> usize {
        self.charged
    }
    fn columns(&mut self) -> Vec<Column> {
        let mut columns = Vec::new();
        if self.plan.keep_edges {
            columns.push(Column::Any(std::mem::take(&mut self.edges)));
        }
        if self.plan.keep_length {
            columns.push(Column::Int(std::mem::take(&mut self.lengths), Nulls::none()));
        }
        if self.plan.keep_to {
            columns.push(Column::Vertex(std::mem::take(&mut self.ends), Nulls::none()));
        }
        columns
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::ExpandPath,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let predicate = match &node.edge_predicate {
        Some((edge, predicate)) => {
            let mut with_edge = layout.clone();
            with_edge.push(*edge);
            Some(Arc::new(compiler.expression(predicate, &with_edge)?))
        }
        None => None,
    };
    let (by_executors, in_lanes) = match compiler.algorithm() {
        Algorithm::SearchByDistance { by_executors, in_lanes } => (by_executors, in_lanes),
        _ => (false, false),
    };
    let plan = Expansion {
        from: Compiler::position(&layout, node.from)?,
        to: node.into.then(|| Compiler::position(&layout, node.to)).transpose()?,
        types: node.types.clone(),
        direction: node.direction,
        labels: node.labels.clone(),
        hops: Hops::new(node.min, node.max.unwrap_or(Hops::UNBOUNDED)),
        mode: node.mode,
        selector: node.selector,
        distinct_ends: node.distinct_ends,
        predicate,
        reversed: node.edges_reversed,
        keep_edges: node.edges.is_some_and(|edges| required.contains(edges)),
        keep_length: node.length.is_some_and(|length| required.contains(length)),
        keep_to: !node.into && required.contains(node.to),
        // Lanes do not pay for short walks.
        shares: in_lanes && node.max.is_none_or(|max| max >= paths::LANE_HOPS_MIN),
    };
    let plan = Arc::new(plan);
    let mut columns = Vec::new();
    columns.extend(node.edges.filter(|_| plan.keep_edges));
    columns.extend(node.length.filter(|_| plan.keep_length));
    columns.extend(Some(node.to).filter(|_| plan.keep_to));
    // A kept pipeline has one executor: the thread that asks.
    if by_executors && !compiler.environment.is_kept() {
        return Ok(dispatched::attach(compiler, &feed, required, &columns, plan));
    }
    let make = move || ExpandPath {
        plan: plan.clone(),
        bound: None,
        row: 0,
        search: None,
        spare: None,
        lanes: None,
        found: Found::default(),
        charged: 0,
        ends: Vec::new(),
        lengths: Vec::new(),
        edges: Vec::new(),
    };
    Ok(compiler.attach_fan_out("ExpandPath", &feed, required, &columns, make))
}
