//! ExpandPattern: paths of a pattern of several parts, for each row; all of them, or the shortest few between each pair of ends.
//!
//! One search of `paths` at a time, stepped in slices as `ExpandPath` does. This file provides the inputs of the search: adjacencies for each edge of
//! the pattern, and conditions, which are expressions over the input row, the vertices and edges of one round, or the whole path ([`conditions`]).

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::labels::LabelCheck;
use crate::operator::expand::edge_types;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, FanOut, Progress, Try, Turn};
use conditions::{Legs, Tests};
use expression::{Compiled, Layout};
use model::{Batch, Column, Direction, EdgeId, EdgeTypeId, NO_VERTEX, Nulls, Value, VertexId};
use parking_lot::Mutex;
use paths::{Choice, Part, PathPattern, PatternGraph, PatternPath, PatternSearch, Work};
use plan::LabelExpr;
use plan::VarSet;
use plan::algebra::{PathChoice, PatternPart};
use plan::expr::{Expr, Name, Var};
use plan::pattern::PathMode;
use std::sync::Arc;
use store::Snapshot;

mod conditions;

/// Edges a search visits in one slice: some tens of microseconds.
const EDGES_PER_SLICE: u64 = 16_384;

/// The definition in the plan.
struct Expansion {
    from: usize,
    to: Option<usize>,
    pattern: PathPattern,
    /// Types and direction of each edge of the pattern.
    legs: Vec<(Vec<Name>, Direction)>,
    /// Labels of each vertex of the pattern.
    places: Vec<LabelExpr>,
    /// Edges of each part.
    edges: Vec<usize>,
    /// Conditions over a row with more columns behind it.
    rounds: Vec<Option<Compiled>>,
    whole: Option<Compiled>,
    mode: paths::PathMode,
    choice: Choice,
    reversed: bool,
    keep_edges: bool,
    keep_rounds: bool,
    keep_to: bool,
}

impl Expansion {
    /// Numbers of the pattern's edges along a path that went so often through each part.
    fn walked(&self, rounds: &[u32]) -> Vec<usize> {
        let (mut numbers, mut first) = (Vec::new(), 0);
        for (edges, rounds) in self.edges.iter().zip(rounds) {
            (0..*rounds).for_each(|_| numbers.extend(first..first + edges));
            first += edges;
        }
        numbers
    }
    /// The lists of edges and of rounds, in the order of the text.
    fn lists(&self, path: &PatternPath, legs: &Legs) -> [Value; 2] {
        let numbers = self.walked(&path.rounds);
        let edge = |(at, id): (usize, &u64)| {
            let [from, to] = [at, at + 1].map(|at| VertexId::from_dense(path.vertices[at]));
            legs.along[numbers[at]].edge(EdgeId(*id), from, to)
        };
        let mut edges: Vec<Value> = path.edges.iter().enumerate().filter_map(edge).map(Value::edge).collect();
        let mut rounds: Vec<Value> = path.rounds.iter().map(|count| Value::Int(*count as i64)).collect();
        if self.reversed {
            edges.reverse();
            rounds.reverse();
        }
        [Value::list(edges), Value::list(rounds)]
    }
}

/// State that depends on the view.
struct Bound {
    snapshot: Arc<Snapshot>,
    /// For each edge of the pattern; none where the catalogue knows none of its types.
    types: Vec<Option<Arc<Vec<EdgeTypeId>>>>,
    labels: Arc<Mutex<Vec<LabelCheck>>>,
}

type Search = PatternSearch<conditions::Leg, Tests>;

struct ExpandPattern {
    plan: Arc<Expansion>,
    bound: Option<Bound>,
    row: usize,
    search: Option<Box<Search>>,
    found: Vec<PatternPath>,
    charged: usize,
    ends: Vec<VertexId>,
    edges: Vec<Value>,
    rounds: Vec<Value>,
}

impl ExpandPattern {
    /// The search for the current row; none where there is nothing to find.
    fn begin_row(&self, batch: &Batch, execution: &ExecutionContext, bound: &Bound) -> Option<Box<Search>> {
        let vertex = |at: usize| batch.column(at).vertex(self.row).filter(|vertex| *vertex != NO_VERTEX);
        let from = vertex(self.plan.from)?;
        let to = match self.plan.to {
            Some(at) => Some(vertex(at)?),
            None => None,
        };
        let is_there = |vertex: VertexId| vertex.dense() < bound.snapshot.vertex_bound();
        if !is_there(from) || to.is_some_and(|to| !is_there(to)) {
            return None;
        }
        let legs = Legs::new(&self.plan.legs, &bound.types, &bound.snapshot, &execution.environment);
        let row = if batch.width() == 0 { Batch::unit() } else { batch.select(vec![self.row as u32]) };
        let tests = Tests::new(&self.plan, &legs, row, bound, &execution.environment);
        let graph = PatternGraph { along: legs.along.clone(), against: legs.against, conditions: tests };
        let (pattern, target) = (self.plan.pattern.clone(), to.map(VertexId::dense));
        let search =
            PatternSearch::new(graph, pattern, from.dense(), target, self.plan.mode, self.plan.choice);
        Some(Box::new(search))
    }

    fn take_found(&mut self, rows: &mut Vec<u32>) {
        let Some(search) = &self.search else { return };
        for path in self.found.drain(..) {
            rows.push(self.row as u32);
            if self.plan.keep_to {
                self.ends.push(VertexId::from_dense(path.end()));
            }
            if self.plan.keep_edges || self.plan.keep_rounds {
                let [edges, rounds] = self.plan.lists(&path, search.graph().conditions.legs());
                self.edges.push(edges);
                self.rounds.push(rounds);
            }
        }
    }

    fn charge(&mut self, turn: &mut Turn<'_, '_>) -> Try<()> {
        let bytes = self.search.as_ref().map_or(0, |search| search.bytes());
        if bytes > self.charged {
            turn.context.charge(bytes - self.charged)?;
        } else {
            turn.context.release(self.charged - bytes);
        }
        self.charged = bytes;
        Ok(())
    }

    /// Steps the search of the current row.
    fn step(&mut self, rows_max: usize) -> Try<Progress> {
        let Some(search) = &mut self.search else { return Ok(Progress::Done) };
        let outcome = search.fill(&mut Work::new(EDGES_PER_SLICE), &mut self.found, rows_max);
        if let Some(failure) = search.graph().conditions.take_failure() {
            return Err(failure);
        }
        Ok(if outcome? == paths::Progress::Done { Progress::Done } else { Progress::More })
    }
}

impl FanOut for ExpandPattern {
    fn begin(&mut self, _: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        if self.bound.is_none() {
            let snapshot = execution.snapshot().clone();
            let types = self.plan.legs.iter().map(|(types, _)| edge_types(types, &snapshot).map(Arc::new));
            let labels: Vec<LabelCheck> =
                self.plan.places.iter().map(|labels| LabelCheck::new(labels, &snapshot)).collect();
            execution.environment.record(|reads| labels.iter().for_each(|check| check.record(reads)));
            let (types, labels) = (types.collect(), Arc::new(Mutex::new(labels)));
            self.bound = Some(Bound { types, labels, snapshot });
        }
        (self.row, self.search) = (0, None);
        Ok(())
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
                (self.search, self.row) = (None, self.row + 1);
                self.charge(turn)?;
                continue;
            }
            if self.search.is_none() {
                let bound = self.bound.as_ref().expect("a batch was begun");
                self.search = self.begin_row(batch, turn.execution, bound);
            }
            if self.search.is_none() {
                self.row += 1;
                continue;
            }
            let before = rows.len();
            let progress = self.step(wanted.min(rows_max - before))?;
            self.take_found(rows);
            let done = turn.made(batch, self.row, rows.len() - before) || progress == Progress::Done;
            if done {
                self.search = None;
                self.row += 1;
            }
            self.charge(turn)?;
            if !done || (self.row < batch.len() && turn.context.should_yield()) {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }

    fn charged(&self) -> usize {
        self.charged
    }
    fn columns(&mut self) -> Vec<Column> {
        let (edges, rounds) = (std::mem::take(&mut self.edges), std::mem::take(&mut self.rounds));
        let mut columns = Vec::new();
        if self.plan.keep_edges {
            columns.push(Column::Any(edges));
        }
        if self.plan.keep_rounds {
            columns.push(Column::Any(rounds));
        }
        if self.plan.keep_to {
            columns.push(Column::Vertex(std::mem::take(&mut self.ends), Nulls::none()));
        }
        columns
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::ExpandPattern,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let round = |part: &PatternPart| {
        let vertices = part.vertices.iter().map(|vertex| vertex.variable);
        let own: Vec<Var> = vertices.chain(part.edges.iter().map(|edge| edge.variable)).collect();
        part.predicate.as_ref().map(|predicate| test(compiler, predicate, &layout, &own)).transpose()
    };
    let rounds = node.parts.iter().map(round).collect::<Result<Vec<_>, _>>()?;
    let behind: Vec<Var> =
        [node.edges, node.rounds].into_iter().chain((!node.into).then_some(node.to)).collect();
    let whole =
        node.predicate.as_ref().map(|predicate| test(compiler, predicate, &layout, &behind)).transpose()?;
    let parts = node.parts.iter().map(|part| Part {
        edges: part.edges.len() as u32,
        min: part.min,
        max: part.max,
        has_condition: part.predicate.is_some(),
    });
    let pattern = PathPattern::new(parts.collect()).map_err(ExecuteError::Path)?;
    let edges = || node.parts.iter().flat_map(|part| &part.edges);
    let plan = Arc::new(Expansion {
        from: Compiler::position(&layout, node.from)?,
        to: node.into.then(|| Compiler::position(&layout, node.to)).transpose()?,
        pattern,
        legs: edges().map(|edge| (edge.types.clone(), edge.direction)).collect(),
        places: node
            .parts
            .iter()
            .flat_map(|part| &part.vertices)
            .map(|vertex| vertex.labels.clone())
            .collect(),
        edges: node.parts.iter().map(|part| part.edges.len()).collect(),
        rounds,
        whole,
        mode: mode(node.mode),
        choice: match node.choice {
            PathChoice::Every => Choice::Every,
            PathChoice::Paths(count) => Choice::Paths(count),
            PathChoice::Groups(count) => Choice::Groups(count),
        },
        reversed: node.reversed,
        keep_edges: required.contains(node.edges),
        keep_rounds: required.contains(node.rounds),
        keep_to: !node.into && required.contains(node.to),
    });
    let mut columns = Vec::new();
    columns.extend(Some(node.edges).filter(|_| plan.keep_edges));
    columns.extend(Some(node.rounds).filter(|_| plan.keep_rounds));
    columns.extend(Some(node.to).filter(|_| plan.keep_to));
    let make = move || ExpandPattern {
        plan: plan.clone(),
        bound: None,
        row: 0,
        search: None,
        found: Vec::new(),
        charged: 0,
        ends: Vec::new(),
        edges: Vec::new(),
        rounds: Vec::new(),
    };
    Ok(compiler.attach_fan_out("ExpandPattern", &feed, required, &columns, make))
}

fn test(
    compiler: &Compiler,
    predicate: &Expr,
    layout: &Layout,
    own: &[Var],
) -> Result<Compiled, ExecuteError> {
    let mut longer = layout.clone();
    own.iter().for_each(|variable| {
        longer.push(*variable);
    });
    compiler.expression(predicate, &longer)
}

/// The mode of a plan as the searches have it.
pub(super) fn mode(mode: PathMode) -> paths::PathMode {
    match mode {
        PathMode::Walk => paths::PathMode::Walk,
        PathMode::Trail => paths::PathMode::Trail,
        PathMode::Acyclic => paths::PathMode::Acyclic,
        PathMode::Simple => paths::PathMode::Simple,
    }
}
