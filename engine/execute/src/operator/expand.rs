//! Expand: the edges of a vertex, for each row.
//!
//! Batch in, slices of neighbours out: the far ends become one new column, all columns carried along share one new row map, and the
//! edges themselves are only written where an operator reads them, and of those that are read for their properties alone, the properties. A hub's
//! list is left and re-entered in the middle. With `into`, both ends are bound and the edges between them are found by search from the end that is
//! cheaper in the store. Below a test, which needs only a first answer of each row, the lists are taken in turns: a few neighbours of each row, then
//! twice as many of each row without an answer.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::labels::LabelCheck;
use crate::limits::ROWS_PER_LOOK;
use crate::operator::distinct::plain_vertices;
use crate::placement::worked_on;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, FanOut, Progress, Step, Try, Turn, taken};
use model::batch::Carried;
use model::{Batch, Column, Direction, EdgeId, EdgeRef, EdgeTypeId, Nulls, VertexId};
use plan::LabelExpr;
use plan::VarSet;
use plan::expr::Name;
use plan::physical::Algorithm;
use std::sync::Arc;
use store::{AdjacencyView, Snapshot};

/// Neighbours looked at in one slice of work: some tens of microseconds.
const NEIGHBOURS_PER_SLICE_MAX: usize = 16 * ROWS_PER_LOOK;

/// A list up to this length is kept, filtered by the labels of its ends, if one vertex comes twice in a row.
const ADMITTED_KEPT_MAX: usize = NEIGHBOURS_PER_SLICE_MAX;

/// Vertices from which on their lists are read as one.
const RUN_MIN: usize = 4;

/// Neighbours of all rows together in the first of the rounds in which lists are taken in turns, and the bounds for one row.
const ROUND_NEIGHBOURS_FIRST: usize = 256;
const ROUND_SHARE_MIN: usize = 4;
const ROUND_SHARE_MAX: usize = 16;

/// The edge types of these names; `None` where names are given but none of them is known, so that there is nothing to find.
pub(crate) fn edge_types(names: &[Name], snapshot: &Snapshot) -> Option<Vec<EdgeTypeId>> {
    let found: Vec<EdgeTypeId> = names.iter().filter_map(|name| snapshot.catalog().edge_type(name)).collect();
    (names.is_empty() || !found.is_empty()).then_some(found)
}

#[derive(Clone)]
struct Plan {
    from: usize,
    /// Column of the far end, where it is bound.
    to: Option<usize>,
    types: Vec<Name>,
    direction: Direction,
    labels: LabelExpr,
    keep_edge: bool,
    keep_to: bool,
    /// An edge from a vertex to itself is met twice.
    loops_twice: bool,
    /// Properties of the edge that are columns.
    properties: Vec<Name>,
}

impl Plan {
    /// Are edges looked at, and not their ends alone?
    fn meets_edges(&self) -> bool {
        self.keep_edge || !self.properties.is_empty()
    }
    /// Records the reads of a batch in the transaction: whole lists, or with `into` only the edges between two ends, so that writers at one hub with
    /// different far ends do not conflict.
    fn record(&self, batch: &Batch, types: &[EdgeTypeId], execution: &ExecutionContext) {
        let from = batch.column(self.from);
        let Some(to) = self.to.map(|at| batch.column(at)) else {
            let vertices = (0..batch.len()).filter_map(|row| from.vertex(row));
            return execution.environment.record(|reads| reads.adjacencies(vertices, types, self.direction));
        };
        execution.environment.record(|reads| {
            for (from, to) in (0..batch.len()).filter_map(|row| from.vertex(row).zip(to.vertex(row))) {
                if self.direction != Direction::In {
                    reads.edges_between(from, to);
                }
                if self.direction != Direction::Out {
                    reads.edges_between(to, from);
                }
            }
        });
    }
}

/// One way of looking: a view, and whether its edges lead away from the vertex.
struct Side {
    view: AdjacencyView,
    outgoing: bool,
    /// Self-loops were met on the other side.
    skip_loops: bool,
}

/// The adjacency views to read. Both directions are two views only where the direction of a found edge is needed.
fn sides(snapshot: &Snapshot, types: &[EdgeTypeId], direction: Direction, apart: bool) -> Vec<Side> {
    let side = |direction, outgoing, skip_loops| Side {
        view: snapshot.adjacency(types, direction),
        outgoing,
        skip_loops,
    };
    match direction {
        Direction::Out => vec![side(Direction::Out, true, false)],
        Direction::In => vec![side(Direction::In, false, false)],
        Direction::Both if apart => vec![side(Direction::Out, true, false), side(Direction::In, false, true)],
        Direction::Both => vec![side(Direction::Both, true, false)],
    }
}

/// State that depends on the view.
struct Bound {
    sides: Vec<Side>,
    labels: LabelCheck,
    snapshot: Arc<Snapshot>,
}

impl Bound {
    /// Takes the view, and records the reads of this batch in the transaction.
    fn bind(held: &mut Option<Bound>, plan: &Plan, batch: &Batch, execution: &mut ExecutionContext) {
        let snapshot = execution.snapshot().clone();
        let types = edge_types(&plan.types, &snapshot);
        if execution.environment.is_recording() {
            plan.record(batch, types.as_deref().unwrap_or(&[]), execution);
        }
        if held.is_none() {
            let apart = plan.keep_edge && plan.to.is_some();
            let mut labels = LabelCheck::new(&plan.labels, &snapshot);
            // Who has to be told of each label that is looked at looks at it.
            if let Some(types) = &types
                && !execution.environment.is_recording()
            {
                labels.imply_by_edges(types, plan.direction, &snapshot);
            }
            let sides = types.map_or_else(Vec::new, |types| sides(&snapshot, &types, plan.direction, apart));
            execution.environment.record(|reads| labels.record(reads));
            *held = Some(Bound { sides, labels, snapshot });
        }
    }
}

struct Expand {
    plan: Arc<Plan>,
    bound: Option<Bound>,
    row: usize,
    /// End of the run of rows with consecutive vertices, as far as it is known.
    run_end: usize,
    /// Position in the list of the current row.
    place: usize,
    neighbours: Vec<u32>,
    /// The vertex of the row before, and the ends of this vertex that have the labels, where it came twice.
    previous: Option<VertexId>,
    admitted_of: Option<VertexId>,
    admitted: Vec<u32>,
    /// Edges of the current row, if they are materialised.
    listed: Vec<EdgeRef>,
    /// The list of the current row lies in `neighbours` or `listed`: it need not be assembled again.
    assembled: bool,
    found: Vec<EdgeId>,
    far: Vec<VertexId>,
    /// The edges of rows; where only properties are read of them, their ids alone.
    edges: Vec<EdgeRef>,
    ids: Vec<EdgeId>,
    /// Ids of the current row.
    listed_ids: Vec<u64>,
    properties: Vec<Column>,
    rounds: Rounds,
}

/// Lists taken in turns.
#[derive(Default)]
struct Rounds {
    /// By row: its position in its list, [`ROUNDS_DONE`] after the end.
    places: Vec<u32>,
    /// Neighbours of one row in this round; 0 before the first.
    share: usize,
    /// Some row of this round has more.
    more: bool,
}

/// Nothing is left of a list.
const ROUNDS_DONE: u32 = u32::MAX;

impl Expand {
    fn new(plan: Arc<Plan>) -> Expand {
        Expand {
            plan,
            bound: None,
            row: 0,
            run_end: 0,
            place: 0,
            neighbours: Vec::new(),
            previous: None,
            admitted_of: None,
            admitted: Vec::new(),
            listed: Vec::new(),
            assembled: false,
            found: Vec::new(),
            far: Vec::new(),
            edges: Vec::new(),
            ids: Vec::new(),
            listed_ids: Vec::new(),
            properties: Vec::new(),
            rounds: Rounds::default(),
        }
    }
    /// Where the run of vertices ends that count up by one, from this row on.
    fn end_of_run(&mut self, from: &Carried) -> usize {
        if self.row < self.run_end {
            return self.run_end;
        }
        self.run_end = self.row + 1;
        if let Some(vertices) = plain_vertices(from).filter(|_| from.rows().is_none()) {
            let chunk = vertices[self.row].chunk();
            while let Some(next) = vertices.get(self.run_end)
                && next.0 == vertices[self.run_end - 1].0 + 1
                && next.chunk() == chunk
            {
                self.run_end += 1;
            }
        }
        self.run_end
    }

    /// The lists of consecutive vertices as one, as many as there is room for. Returns the number of edges taken; none where the next list must be
    /// read by itself.
    fn take_run(
        &mut self,
        bound: &mut Bound,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Option<usize>> {
        let from = batch.column(self.plan.from);
        let room = rows_max.saturating_sub(rows.len()).min(NEIGHBOURS_PER_SLICE_MAX);
        // Not many more vertices are looked at than there is room for edges.
        let count = (self.end_of_run(from).min(batch.len()) - self.row).min(room.max(RUN_MIN));
        let (Some(first), true) = (from.vertex(self.row), count >= RUN_MIN) else { return Ok(None) };
        let Some(run) = bound.sides[0].view.run(first.dense(), count)? else {
            return Ok(None);
        };
        let vertices = run.vertices_within(room);
        if vertices == 0 {
            return Ok(None);
        }
        let edges = run.edges_of(vertices);
        if turn.keeps_rows {
            for (row, degree) in (self.row as u32..).zip(run.degrees().take(vertices)) {
                rows.resize(rows.len() + degree, row);
            }
        } else {
            rows.resize(rows.len() + edges, self.row as u32);
        }
        if self.plan.keep_to {
            self.far.extend(run.neighbours()[..edges].iter().map(|far| VertexId::from_dense(*far)));
        }
        if self.plan.keep_edge {
            run.append_edges(vertices, &mut self.edges);
        } else if self.plan.meets_edges() {
            run.append_ids(edges, &mut self.ids);
        }
        worked_on(first, self.row, edges, turn.context);
        turn.made(batch, self.row, edges);
        self.row += vertices;
        Ok(Some(edges + vertices))
    }

    fn next_row(&mut self) {
        (self.row, self.place, self.assembled) = (self.row + 1, 0, false);
    }

    /// Tests the ends of a vertex that came in the row before as well, once for all rows that follow.
    fn keep_admitted(&mut self, bound: &mut Bound, from: VertexId) -> Try<()> {
        let again = self.previous.replace(from) == Some(from);
        if !again || self.admitted_of == Some(from) || bound.labels.is_any() {
            return Ok(());
        }
        let list = bound.sides[0].view.neighbours(from.dense(), &mut self.neighbours)?;
        if list.len() > ADMITTED_KEPT_MAX {
            return Ok(());
        }
        self.admitted.clear();
        for far in list {
            if bound.labels.admits_end(VertexId::from_dense(*far), &bound.snapshot)? {
                self.admitted.push(*far);
            }
        }
        self.admitted_of = Some(from);
        Ok(())
    }

    /// Far ends alone: a slice of the list of `from`. Returns how many were looked at and whether the list is done.
    fn take_ends(
        &mut self,
        bound: &mut Bound,
        from: VertexId,
        rows: &mut Vec<u32>,
        rows_max: usize,
    ) -> Try<(usize, bool)> {
        if self.place == 0 {
            self.keep_admitted(bound, from)?;
        }
        let side = &bound.sides[0];
        let kept = self.admitted_of == Some(from);
        let list: &[u32] = match (kept, self.assembled) {
            (true, _) => &self.admitted,
            (_, true) => &self.neighbours,
            _ => side.view.neighbours(from.dense(), &mut self.neighbours)?,
        };
        let start = list.as_ptr();
        let any = kept || bound.labels.is_any();
        let room = rows_max.saturating_sub(rows.len()).max(1);
        let end = list.len().min(self.place + if any { room } else { NEIGHBOURS_PER_SLICE_MAX });
        let (first, gathered) = (self.place, list.len());
        let all = any && !self.plan.loops_twice;
        if all {
            // Each is taken as it lies.
            rows.resize(rows.len() + end - first, self.row as u32);
            if self.plan.keep_to {
                self.far.extend(list[first..end].iter().map(|far| VertexId::from_dense(*far)));
            }
            self.place = end;
        }
        for far in if all { &[] } else { &list[first..end] } {
            if !any && rows.len() >= rows_max {
                break;
            }
            self.place += 1;
            let far = VertexId::from_dense(*far);
            if any || bound.labels.admits_end(far, &bound.snapshot)? {
                let times = 1 + usize::from(self.plan.loops_twice && far == from);
                rows.extend(std::iter::repeat_n(self.row as u32, times));
                if self.plan.keep_to {
                    self.far.extend(std::iter::repeat_n(far, times));
                }
            }
        }
        let (done, looked) = (self.place == gathered, self.place - first);
        let lies_here = !kept && !self.neighbours.is_empty() && start == self.neighbours.as_ptr();
        // To assemble it was work, too.
        let gathered = if lies_here && !self.assembled { gathered } else { 0 };
        self.assembled = !done && lies_here;
        Ok((looked + gathered, done))
    }

    /// Edges with far ends, likewise. The list is written out once, in stored direction, however often it is re-entered.
    fn take_edges(
        &mut self,
        bound: &mut Bound,
        from: VertexId,
        rows: &mut Vec<u32>,
        rows_max: usize,
    ) -> Try<(usize, bool)> {
        let all = bound.labels.is_any() && !self.plan.loops_twice;
        let room = rows_max.saturating_sub(rows.len()).max(1);
        let mut gathered = 0;
        if !self.assembled {
            let before = self.edges.len();
            if all {
                // Each is taken as it lies, if there is room for all.
                bound.sides[0].view.append_edges(from.dense(), &mut self.edges)?;
                gathered = self.edges.len() - before;
                if gathered <= room {
                    self.add_taken(before, from, rows);
                    return Ok((gathered, true));
                }
                self.listed.clear();
                self.listed.extend(self.edges.drain(before..));
            } else {
                self.listed.clear();
                bound.sides[0].view.append_edges(from.dense(), &mut self.listed)?;
                gathered = self.listed.len();
            }
            self.assembled = true;
        }
        let first = self.place;
        if all {
            let before = self.edges.len();
            self.place = self.listed.len().min(first + room);
            self.edges.extend_from_slice(&self.listed[first..self.place]);
            self.add_taken(before, from, rows);
            return Ok((self.place - first + gathered, self.place == self.listed.len()));
        }
        let end = self.listed.len().min(first + NEIGHBOURS_PER_SLICE_MAX);
        for edge in &self.listed[first..end] {
            if rows.len() >= rows_max {
                break;
            }
            self.place += 1;
            let far = if edge.source == from { edge.target } else { edge.source };
            if bound.labels.admits_end(far, &bound.snapshot)? {
                let times = 1 + usize::from(self.plan.loops_twice && far == from);
                rows.extend(std::iter::repeat_n(self.row as u32, times));
                self.edges.extend(std::iter::repeat_n(*edge, times));
                if self.plan.keep_to {
                    self.far.extend(std::iter::repeat_n(far, times));
                }
            }
        }
        Ok((self.place - first + gathered, self.place == self.listed.len()))
    }

    /// The ids of edges, with far ends where they are read: a list as it lies, if there is room for all of it.
    fn take_ids(
        &mut self,
        bound: &mut Bound,
        from: VertexId,
        rows: &mut Vec<u32>,
        rows_max: usize,
    ) -> Try<(usize, bool)> {
        if !self.assembled && bound.labels.is_any() && !self.plan.loops_twice {
            let view = &bound.sides[0].view;
            if rows.len() + view.degree(from.dense())? as usize <= rows_max {
                let (far, ids) = view.edges_in(from.dense(), &mut self.neighbours, &mut self.listed_ids)?;
                self.ids.extend(ids.iter().map(|id| EdgeId(*id)));
                if self.plan.keep_to {
                    self.far.extend(far.iter().map(|far| VertexId::from_dense(*far)));
                }
                rows.resize(rows.len() + ids.len(), self.row as u32);
                return Ok((ids.len(), true));
            }
        }
        let taken = self.take_edges(bound, from, rows, rows_max)?;
        self.ids.extend(self.edges.drain(..).map(|edge| edge.id));
        Ok(taken)
    }

    /// Adds the columns of the current row's edges that were taken from position `before` on.
    fn add_taken(&mut self, before: usize, from: VertexId, rows: &mut Vec<u32>) {
        let taken = &self.edges[before..];
        rows.resize(rows.len() + taken.len(), self.row as u32);
        if self.plan.keep_to {
            let far = |edge: &EdgeRef| if edge.source == from { edge.target } else { edge.source };
            self.far.extend(taken.iter().map(far));
        }
    }

    /// The edges between two bound ends.
    fn take_between(
        &mut self,
        bound: &mut Bound,
        from: VertexId,
        to: VertexId,
        rows: &mut Vec<u32>,
    ) -> Try<()> {
        if !bound.labels.admits(to, &bound.snapshot)? {
            return Ok(());
        }
        for side in &bound.sides {
            if side.skip_loops && from == to {
                continue;
            }
            self.found.clear();
            side.view.find(from.dense(), to.dense(), &mut self.found)?;
            let (source, target) = if side.outgoing { (from, to) } else { (to, from) };
            rows.extend(self.found.iter().map(|_| self.row as u32));
            if self.plan.keep_edge {
                self.edges.extend(self.found.iter().map(|id| EdgeRef { id: *id, source, target }));
            }
        }
        Ok(())
    }

    fn slice(
        &mut self,
        bound: &mut Bound,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        let mut looked = 0;
        let as_it_lies = bound.labels.is_any() && !self.plan.loops_twice && self.plan.to.is_none();
        let by_runs = as_it_lies && bound.sides.len() == 1 && !turn.is_by_row();
        while self.row < batch.len() {
            if rows.len() >= rows_max || looked > NEIGHBOURS_PER_SLICE_MAX {
                return Ok(Progress::More);
            }
            if by_runs
                && self.place == 0
                && let Some(taken) = self.take_run(bound, batch, rows, rows_max, turn)?
            {
                looked += taken;
                continue;
            }
            let from = batch.column(self.plan.from).vertex(self.row);
            let wanted = turn.wanted(batch, self.row);
            let Some(from) = from.filter(|_| wanted > 0 && !bound.sides.is_empty()) else {
                self.next_row();
                continue;
            };
            let before = rows.len();
            if let Some(to) = self.plan.to {
                if let Some(to) = batch.column(to).vertex(self.row) {
                    self.take_between(bound, from, to, rows)?;
                    worked_on(from, self.row, 1, turn.context);
                    turn.made(batch, self.row, rows.len() - before);
                }
                self.next_row();
                looked += 1;
                continue;
            }
            let rows_max = rows_max.min(before.saturating_add(wanted));
            let (seen, done) = match (self.plan.meets_edges(), self.plan.keep_edge) {
                (false, _) => self.take_ends(bound, from, rows, rows_max)?,
                (true, true) => self.take_edges(bound, from, rows, rows_max)?,
                (true, false) => self.take_ids(bound, from, rows, rows_max)?,
            };
            looked += seen + 1;
            worked_on(from, self.row, seen, turn.context);
            if turn.made(batch, self.row, rows.len() - before) || done {
                self.next_row();
            } else if turn.takes_turns() {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }
}

impl Expand {
    /// A slice of a round: a number of neighbours of each row without an answer.
    fn slice_in_turns(
        &mut self,
        bound: &mut Bound,
        batch: &Batch,
        rows: &mut Vec<u32>,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        let (rows_max, mut looked) = (turn.execution.environment.batch_rows, 0);
        if self.rounds.share == 0 {
            self.rounds.places.clear();
            self.rounds.places.resize(batch.len(), 0);
            let share = ROUND_NEIGHBOURS_FIRST / batch.len().max(1);
            self.rounds.share = share.clamp(ROUND_SHARE_MIN, ROUND_SHARE_MAX);
        }
        while self.row < batch.len() {
            if rows.len() >= rows_max || looked > NEIGHBOURS_PER_SLICE_MAX {
                return Ok(Progress::More);
            }
            let (row, place) = (self.row, self.rounds.places[self.row]);
            self.row += 1;
            if place == ROUNDS_DONE || turn.wanted(batch, row) == 0 {
                continue;
            }
            let (Some(from), Some(side)) = (batch.column(self.plan.from).vertex(row), bound.sides.first())
            else {
                continue;
            };
            let list = side.view.neighbours(from.dense(), &mut self.neighbours)?;
            let (begin, end) = (place as usize, list.len().min(place as usize + self.rounds.share));
            let (start, gathered) = (list.as_ptr(), list.len());
            looked += end - begin + 1;
            worked_on(from, row, end - begin, turn.context);
            for far in &list[begin..end] {
                let far = VertexId::from_dense(*far);
                if bound.labels.is_any() || bound.labels.admits_end(far, &bound.snapshot)? {
                    rows.push(row as u32);
                    if self.plan.keep_to {
                        self.far.push(far);
                    }
                }
            }
            self.rounds.more |= end < gathered;
            self.rounds.places[row] = if end < gathered { end as u32 } else { ROUNDS_DONE };
            if start == self.neighbours.as_ptr() {
                // It is assembled anew in each round: few rounds, since the share doubles, but each is as much work as the list is long.
                looked += gathered;
            }
        }
        if !std::mem::take(&mut self.rounds.more) {
            return Ok(Progress::Done);
        }
        self.row = 0;
        self.rounds.share = self.rounds.share.saturating_mul(2);
        Ok(Progress::More)
    }
}

impl FanOut for Expand {
    fn reads(&self) -> &[usize] {
        std::slice::from_ref(&self.plan.from)
    }
    fn begin(&mut self, batch: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        Bound::bind(&mut self.bound, &self.plan, batch, execution);
        (self.row, self.run_end, self.place, self.assembled) = (0, 0, 0, false);
        (self.rounds.share, self.rounds.more) = (0, false);
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
        let in_turns = turn.takes_turns() && self.plan.to.is_none() && !self.plan.meets_edges();
        let progress = match in_turns {
            true => self.slice_in_turns(&mut bound, batch, rows, turn),
            false => self.slice(&mut bound, batch, rows, rows_max, turn),
        };
        self.bound = Some(bound);
        progress
    }
    fn recycle(&mut self) -> bool {
        self.far.clear();
        self.edges.clear();
        self.ids.clear();
        self.properties.clear();
        true
    }
    fn end_run(&mut self) -> bool {
        *self = Expand::new(self.plan.clone());
        true
    }
    fn complete(&mut self, execution: &mut ExecutionContext) -> Try<()> {
        if self.plan.properties.is_empty() {
            return Ok(());
        }
        if self.plan.keep_edge {
            self.ids.extend(self.edges.iter().map(|edge| edge.id));
        }
        let (graph, ids) = (execution.scope().graph, taken(&mut self.ids));
        let read = |key: &Name| expression::edge_properties(graph, &ids, key);
        self.properties = self.plan.properties.iter().map(read).collect::<Result<_, _>>()?;
        Ok(())
    }
    fn columns(&mut self) -> Vec<Column> {
        let mut columns = Vec::new();
        if self.plan.keep_edge {
            columns.push(Column::Edge(taken(&mut self.edges), Nulls::none()));
        }
        if self.plan.keep_to {
            columns.push(Column::Vertex(taken(&mut self.far), Nulls::none()));
        }
        columns.append(&mut self.properties);
        columns
    }
}

/// An expand whose rows are only counted: rows without columns, as many as there are edges.
struct ExpandCount {
    plan: Arc<Plan>,
    bound: Option<Bound>,
}

impl Step for ExpandCount {
    fn reads(&self) -> &[usize] {
        std::slice::from_ref(&self.plan.from)
    }
    fn step(&mut self, _: usize, batch: Batch, execution: &mut ExecutionContext) -> Try<Batch> {
        Bound::bind(&mut self.bound, &self.plan, &batch, execution);
        let bound = self.bound.as_ref().expect("just bound");
        let mut count = 0;
        for from in (0..batch.len()).filter_map(|row| batch.column(self.plan.from).vertex(row)) {
            for side in &bound.sides {
                count += side.view.degree(from.dense())? as usize;
            }
        }
        Ok(Batch::new(Vec::new(), count))
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Expand,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let plan = Arc::new(Plan {
        from: Compiler::position(&layout, node.from)?,
        to: node.into.then(|| Compiler::position(&layout, node.to)).transpose()?,
        types: node.types.clone(),
        direction: node.direction,
        labels: node.labels.clone(),
        keep_edge: node.edge.is_some_and(|edge| required.contains(edge)),
        keep_to: !node.into && required.contains(node.to),
        loops_twice: node.loops_twice,
        properties: node.properties.iter().map(|(key, _)| key.clone()).collect(),
    });
    compiler.placed_by = matches!(feed, Feed::Rows(_)).then_some(plan.from);
    if compiler.algorithm() == Algorithm::CountEdges {
        let make = move || ExpandCount { plan: plan.clone(), bound: None };
        return Ok(compiler.attach_step("Expand", &feed, Default::default(), make));
    }
    let mut columns = Vec::new();
    columns.extend(node.edge.filter(|_| plan.keep_edge));
    columns.extend(Some(node.to).filter(|_| plan.keep_to));
    columns.extend(node.properties.iter().map(|(_, column)| *column));
    Ok(compiler.attach_fan_out("Expand", &feed, required, &columns, move || Expand::new(plan.clone())))
}
