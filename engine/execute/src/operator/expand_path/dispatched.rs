//! Ends by distance for many rows, with a shortest path to each where paths are read, on all executors: the sources of a batch go to one dispatcher
//! of `paths`, and twins of the operator draw its morsels within their quotas.
//!
//! A batch begins at home alone; the peers are invited once it has proved to be large. Each twin emits the ends that it found, so rows come out in no
//! order. An answer is a run: the ends of one source at one distance. A long run is a batch whose other columns are constant; if not even the ends
//! are read, it is only a count.

use super::expansion::{Bound, Expansion, Walks, keep_end};
use super::search::orientation;
use crate::adjacency::Walk;
use crate::compile::Compiler;
use crate::demand::DemandPort;
use crate::labels::LabelCheck;
use crate::operator::expand::edge_types;
use crate::rows::Rows;
use crate::searches;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Try};
use dataflow::{Context, Flow, Operator, Outcome};
use model::{Batch, Column, EdgeId, EdgeTypeId, NO_VERTEX, Nulls, Value, VertexId};
use parking_lot::Mutex;
use paths::{Answers, DispatchPolicy, Dispatcher, Keep, Occasion, Turn, Work, Worker};
use std::cell::OnceCell;
use std::sync::Arc;
use store::Snapshot;

/// Edges one slice visits between two looks at the clock: some tens of microseconds.
const EDGES_PER_SLICE: u64 = 16_384;
/// Edges that a slice visits at first for each row that is handed on next, where few may be enough, and how many times more after one without
/// answers.
const EDGES_PER_ROW: u64 = 8;
const EDGES_GROWTH: u64 = 8;
/// Peers are invited after this many edges from one source: several times the cost of waking one.
const EDGES_ALONE_MAX: u64 = 65_536;
/// Beyond this number of sources peers are invited no sooner.
const HURRYING_SOURCES_MAX: usize = 16;
/// Answers taken at once.
const ANSWERS_MAX: u64 = 8_192;
/// Rows in a batch that holds nothing but their number.
const COUNTED_ROWS_MAX: usize = 32_768;

type Along = Arc<Walk>;

/// A batch whose rows are searched.
struct Job {
    batch: Batch,
    /// Input row of each source.
    rows: Vec<u32>,
    walks: Walks,
    dispatcher: Dispatcher<Along>,
}

/// State shared by the twins.
#[derive(Default)]
pub(super) struct Jobs {
    open: Mutex<Vec<Arc<Job>>>,
}

pub(super) struct Dispatched {
    plan: Arc<Expansion>,
    carry: Arc<[usize]>,
    execution: ExecutionContext,
    jobs: Arc<Jobs>,
    /// The plan node, for PROFILE.
    node: usize,
    bound: Option<Bound>,
    job: Option<Arc<Job>>,
    worker: Option<Worker>,
    /// The job is a batch of this twin's own.
    is_mine: bool,
    has_invited: bool,
    /// The demand for its rows: checked between two levels.
    demand: DemandPort,
    /// Edges that a slice visits for each row that is handed on next.
    edges_per_row: u64,
    /// Nothing came of the last slice.
    gave_nothing: bool,
    answers: Answers,
    /// The run that is handed on, and how much of it and of all ends was.
    given: (usize, u64, usize),
    /// The same of all paths' edges.
    given_edges: usize,
    charged: usize,
    rows: Vec<u32>,
    ends: Vec<VertexId>,
    lengths: Vec<i64>,
    /// Lists of edges.
    paths: Vec<Value>,
}

/// Is any edge of these types shown? No types are all.
fn shows_any(snapshot: &Snapshot, types: &[EdgeTypeId]) -> Try<bool> {
    if types.is_empty() || !snapshot.is_restricted() {
        return Ok(true);
    }
    for edge_type in types {
        if snapshot.has_edges(*edge_type)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Dispatched {
    fn new(
        plan: Arc<Expansion>,
        carry: Arc<[usize]>,
        execution: ExecutionContext,
        jobs: Arc<Jobs>,
        (node, demand): (usize, DemandPort),
    ) -> Dispatched {
        Dispatched {
            node,
            plan,
            carry,
            execution,
            jobs,
            bound: None,
            job: None,
            worker: None,
            is_mine: false,
            has_invited: false,
            demand,
            edges_per_row: EDGES_PER_ROW,
            gave_nothing: false,
            answers: Answers::default(),
            given: (0, 0, 0),
            given_edges: 0,
            charged: 0,
            rows: Vec::new(),
            ends: Vec::new(),
            lengths: Vec::new(),
            paths: Vec::new(),
        }
    }

    fn bind(&mut self) {
        if self.bound.is_none() {
            let snapshot = self.execution.snapshot().clone();
            let types = edge_types(&self.plan.types, &snapshot).map(Arc::new);
            let labels = LabelCheck::new(&self.plan.labels, &snapshot);
            self.execution.environment.record(|reads| labels.record(reads));
            let (along, against) = (OnceCell::new(), OnceCell::new());
            self.bound = Some(Bound { types, labels, snapshot, along, against });
            self.plan.say_instead(&self.execution.environment);
        }
    }

    /// Are the ends themselves looked at, or only counted?
    fn lists_ends(&self) -> bool {
        self.plan.keep_to
            || self.plan.keep_edges
            || self.bound.as_ref().is_some_and(|bound| !bound.labels.is_any())
    }

    fn begin(&mut self, batch: Batch, context: &Context<'_, Rows>) -> Try<Option<Job>> {
        self.bind();
        let keep = if self.lists_ends() { Keep::Levels } else { Keep::Count };
        let Some(bound) = &self.bound else { return Ok(None) };
        let (mut rows, mut sources) = (Vec::new(), Vec::new());
        for row in 0..batch.len() {
            let vertex: Option<VertexId> = batch.column(self.plan.from).vertex(row);
            if let Some(vertex) = vertex.filter(|vertex| *vertex != NO_VERTEX)
                && vertex.dense() < bound.snapshot.vertex_bound()
            {
                rows.push(row as u32);
                sources.push(vertex.dense());
            }
        }
        // No such edges at all: of a path without any there are none, but for those of no edge, which need no search. Types whose edges are all hidden
        // are none: PROFILE tells whether there was a search. A transaction that writes notes which lists it found empty.
        let is_any_shown =
            bound.types.as_ref().map_or(Ok(false), |types| shows_any(&bound.snapshot, types))?;
        if let Some(types) = bound.types.as_ref().filter(|_| !is_any_shown) {
            let vertices = sources.iter().map(|source| VertexId::from_dense(*source));
            self.execution
                .environment
                .record(|reads| reads.adjacencies(vertices, types, self.plan.direction));
        }
        let (types, hops) = match &bound.types {
            Some(types) if is_any_shown => (types.clone(), self.plan.hops),
            Some(_) if self.plan.hops.min > 0 => return Ok(None),
            Some(_) => (Arc::default(), paths::Hops::new(0, 0)),
            None if self.plan.hops.min == 0 => (Arc::default(), paths::Hops::new(0, 0)),
            None => return Ok(None),
        };
        let environment = &self.execution.environment;
        let walk = |direction| Arc::new(Walk::new(&bound.snapshot, &types, direction, None, environment));
        let walks = Walks { along: walk(self.plan.direction), against: walk(self.plan.direction.reversed()) };
        let occasion = Occasion {
            sources: sources.len(),
            workers: context.executors(),
            vertices: searches::vertices(&bound.snapshot),
            edges: paths::Adjacency::edges_estimate(&*walks.along).unwrap_or(0),
            bytes_per_end: u64::from(self.plan.keep_edges),
            hops_max: hops.max,
            bytes_max: environment.bytes_max,
        };
        let policy = environment.dispatch.unwrap_or_else(|| DispatchPolicy::choose(&occasion));
        let along = walks.along.clone();
        let dispatcher = Dispatcher::new(along, &sources, hops, orientation(&self.plan), keep, policy)?;
        let mut dispatcher = dispatcher.both_ways(walks.against.clone());
        if self.plan.keep_edges {
            dispatcher = dispatcher.with_paths(walks.against.clone());
        }
        Ok(Some(Job { batch, rows, walks, dispatcher }))
    }

    fn take_up(&mut self, job: Arc<Job>, is_mine: bool, context: &Context<'_, Rows>) {
        self.worker = Some(Worker::new(context.executor()));
        (self.job, self.is_mine, self.has_invited) = (Some(job), is_mine, false);
    }

    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        loop {
            let Some(job) = self.job.clone() else {
                let open = self.jobs.open.lock().first().cloned();
                let Some(open) = open else { return Ok(Flow::Ready) };
                self.bind();
                self.take_up(open, false, context);
                continue;
            };
            let batch_rows = self.execution.environment.batch_rows;
            while !self.demand.is_over() && self.hand_on(&job, context)? {
                self.gave_nothing = false;
                if self.demand.handed_on(batch_rows) || context.should_yield() {
                    return Ok(Flow::Again);
                }
            }
            if self.demand.is_over() {
                self.leave(&job);
                return Ok(Flow::Ready);
            }
            // Slices grow also while there is nothing to hand on.
            if std::mem::take(&mut self.gave_nothing) {
                self.edges_per_row = self.edges_per_row.saturating_mul(EDGES_GROWTH);
            }
            let Some(worker) = &mut self.worker else { return Ok(Flow::Ready) };
            let rows = self.demand.piece(0, usize::MAX) as u64;
            let mut work = Work::new(EDGES_PER_SLICE.min(self.edges_per_row.saturating_mul(rows)));
            let outcome = job.dispatcher.work_on(worker, &mut work, &mut self.answers, ANSWERS_MAX);
            let failures = [&job.walks.along, &job.walks.against];
            if let Some(failure) = failures.iter().find_map(|walk| walk.take_failure()) {
                return Err(failure);
            }
            let turn = outcome?;
            self.gave_nothing = turn != Turn::Idle;
            self.account(&job, context)?;
            match turn {
                Turn::Done if self.answers.is_empty() => self.leave(&job),
                Turn::Idle if self.answers.is_empty() => return Ok(Flow::Waiting),
                _ if context.should_yield() => return Ok(Flow::Again),
                _ => {}
            }
        }
    }

    /// The job is over.
    fn leave(&mut self, job: &Arc<Job>) {
        if self.is_mine {
            self.execution.environment.told.lock().insert(self.node, job.dispatcher.told());
        }
        self.jobs.open.lock().retain(|open| !Arc::ptr_eq(open, job));
        (self.job, self.worker) = (None, None);
    }

    /// The executor that began a batch is charged for it, and invites peers when it is large.
    fn account(&mut self, job: &Arc<Job>, context: &mut Context<'_, Rows>) -> Try<()> {
        if !self.is_mine {
            return Ok(());
        }
        let bytes = job.dispatcher.bytes() + self.answers.bytes();
        if bytes > self.charged {
            context.charge(bytes - self.charged)?;
        } else {
            context.release(self.charged - bytes);
        }
        self.charged = bytes;
        let alone_max = EDGES_ALONE_MAX / job.rows.len().clamp(1, HURRYING_SOURCES_MAX) as u64;
        if !self.has_invited && context.executors() > 1 && job.dispatcher.edges_visited() > alone_max {
            self.has_invited = true;
            self.jobs.open.lock().push(job.clone());
            context.invite_peers();
        }
        Ok(())
    }

    /// Sends one batch of answers; false once there are none.
    fn hand_on(&mut self, job: &Job, context: &mut Context<'_, Rows>) -> Try<bool> {
        let rows_max = self.demand.piece(0, self.execution.environment.batch_rows);
        while let Some(run) = self.answers.runs.get(self.given.0).copied() {
            let left = run.count - self.given.1;
            let row = job.rows[run.source as usize];
            if !self.lists_ends() {
                let is_bare = self.carry.is_empty();
                let most = if is_bare { self.demand.piece(0, COUNTED_ROWS_MAX) } else { rows_max };
                let count = left.min(most as u64);
                self.skip(count, 0, left);
                if is_bare || count as usize == rows_max {
                    self.demand.made_all(count as usize);
                    self.send_alike(job, row, run.distance, count as usize, context);
                    return Ok(true);
                }
                self.rows.resize(self.rows.len() + count as usize, row);
                if self.plan.keep_length {
                    self.lengths.resize(self.lengths.len() + count as usize, i64::from(run.distance));
                }
            } else {
                let count = left.min(rows_max.saturating_sub(self.rows.len()) as u64) as usize;
                self.take_ends(job, row, run.distance, count)?;
                self.skip(count as u64, count, left);
            }
            if self.rows.len() >= rows_max {
                self.send(job, context);
                return Ok(true);
            }
        }
        self.answers.clear();
        (self.given, self.given_edges) = ((0, 0, 0), 0);
        if self.rows.is_empty() {
            return Ok(false);
        }
        self.send(job, context);
        Ok(true)
    }

    /// `count` of a run's `left` rows and `ends` ends are emitted.
    fn skip(&mut self, count: u64, ends: usize, left: u64) {
        let (at, given, given_ends) = self.given;
        let next = if count == left { (at + 1, 0) } else { (at, given + count) };
        self.given = (next.0, next.1, given_ends + ends);
    }

    fn take_ends(&mut self, job: &Job, row: u32, distance: u32, count: usize) -> Try<()> {
        let Some(bound) = &mut self.bound else { return Ok(()) };
        let ends = &self.answers.ends[self.given.2..self.given.2 + count];
        let first = self.given_edges;
        if self.plan.keep_edges {
            self.given_edges += count * distance as usize;
        } else if bound.labels.is_any() {
            self.rows.resize(self.rows.len() + count, row);
            self.ends.extend(ends.iter().map(|end| VertexId::from_dense(*end)));
            if self.plan.keep_length {
                self.lengths.resize(self.lengths.len() + count, i64::from(distance));
            }
            return Ok(());
        }
        for (at, end) in ends.iter().enumerate() {
            let end = VertexId::from_dense(*end);
            if !bound.labels.admits(end, &bound.snapshot)? {
                continue;
            }
            self.rows.push(row);
            keep_end(&self.plan, &mut self.ends, &mut self.lengths, end, distance);
            if self.plan.keep_edges {
                let first = first + at * distance as usize;
                let steps = first..first + distance as usize;
                let (vertices, edges) = (&self.answers.vertices[steps.clone()], &self.answers.edges[steps]);
                self.paths.push(edge_list(&job.walks.along, vertices, edges, end, self.plan.reversed));
            }
        }
        Ok(())
    }

    fn send(&mut self, job: &Job, context: &mut Context<'_, Rows>) {
        self.demand.made_all(self.rows.len());
        let mut output = job.batch.project(&self.carry).select(std::mem::take(&mut self.rows));
        if self.plan.keep_edges {
            output.push(Column::Any(std::mem::take(&mut self.paths)));
        }
        if self.plan.keep_length {
            output.push(Column::Int(std::mem::take(&mut self.lengths), Nulls::none()));
        }
        if self.plan.keep_to {
            output.push(Column::Vertex(std::mem::take(&mut self.ends), Nulls::none()));
        }
        context.send(Rows(output));
    }

    /// A batch of rows that are all the same.
    fn send_alike(&self, job: &Job, row: u32, distance: u32, count: usize, context: &mut Context<'_, Rows>) {
        let mut output = if self.carry.is_empty() {
            Batch::new(Vec::new(), count)
        } else {
            job.batch.project(&self.carry).select(vec![row; count])
        };
        if self.plan.keep_length {
            output.push(Column::Constant(Value::Int(i64::from(distance)), count));
        }
        context.send(Rows(output));
    }
}

impl Operator<Rows> for Dispatched {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if !self.demand.is_over()
            && let Some(job) = self.begin(batch, context)?
        {
            self.take_up(Arc::new(job), true, context);
        }
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
}

/// The edges between these vertices and the end, as a value.
fn edge_list(walk: &Walk, vertices: &[u32], edges: &[u64], end: VertexId, is_reversed: bool) -> Value {
    let far = |at: usize| vertices.get(at + 1).map_or(end, |vertex| VertexId::from_dense(*vertex));
    let edge = |(at, (near, id)): (usize, (&u32, &u64))| {
        Value::edge(walk.edge(EdgeId(*id), VertexId::from_dense(*near), far(at)))
    };
    let steps = vertices.iter().zip(edges).enumerate();
    Value::list(if is_reversed { steps.rev().map(edge).collect() } else { steps.map(edge).collect() })
}

/// Puts the operator behind its feed; `new` are the columns it adds.
pub(super) fn attach(
    compiler: &mut Compiler,
    feed: &Feed,
    required: &plan::VarSet,
    new: &[plan::Var],
    plan: Arc<Expansion>,
) -> Stream {
    let (carry, mut layout) = compiler.carry(&feed.layout(), required);
    new.iter().for_each(|variable| {
        layout.push(*variable);
    });
    let environment = compiler.environment.clone();
    let jobs = Arc::new(Jobs::default());
    let (node, demand) = (compiler.current, compiler.demand_port(&feed.layout()));
    let make = move || {
        let execution = ExecutionContext::new(&environment);
        Dispatched::new(plan.clone(), carry.clone(), execution, jobs.clone(), (node, demand.clone()))
    };
    let stream = compiler.attach("ExpandPath", feed, layout, make);
    // What is work is shared already, and what is not is not worth a message: answers stay where they were found.
    Stream { fans_out: false, parallel: stream.parallel || compiler.executors > 1, ..stream }
}
