//! A running graph procedure, shared by all its workers: first the participating vertices, a chunk at a time; then the algorithm, stage by stage;
//! then its rows, a range each.

use crate::settings::Settings;
use crate::weights::{EdgeWeights, Members, Within};
use crate::{GraphWalk, ProcedureError};
use dataflow::Failure;
use model::{ChunkNo, Column, Direction, EdgeTypeId, Nulls, VertexId};
use parking_lot::{Mutex, RwLock};
use paths::algorithms::{
    Cheapest, Clustering, Components, Field, Hand, PageRank, Propagation, Staged, WorkerPool,
};
use paths::{
    Adjacency as _, Answers, DispatchPolicy, Dispatcher, Hops, Keep, Orientation, PathError, Turn, Work,
    Worker,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use store::{LabelFilter, Snapshot};

/// Edges one slice visits: some tens of microseconds.
const EDGES_PER_SLICE: u64 = 16_384;

/// The procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How far is each from a source?
    Bfs,
    /// Which community is it in?
    Cdlp,
    /// How densely are its neighbours joined?
    Lcc,
    /// How important is it?
    PageRank,
    /// How far is it from a source by weight?
    Sssp,
    /// Weakly connected components.
    Wcc,
}

impl Question {
    /// The question of this procedure, if it is one of them.
    pub fn of(procedure: &str) -> Option<Question> {
        Some(match procedure {
            "graph.bfs" => Question::Bfs,
            "graph.cdlp" => Question::Cdlp,
            "graph.lcc" => Question::Lcc,
            "graph.pagerank" => Question::PageRank,
            "graph.sssp" => Question::Sssp,
            "graph.wcc" => Question::Wcc,
            _ => return None,
        })
    }
}

type Along<W> = Arc<W>;
type Sssp<W> = Cheapest<Along<W>, EdgeWeights<W>>;

/// The second column.
#[derive(Debug)]
enum Values {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

/// Rows on their way out: those of the two columns that are read.
#[derive(Debug)]
pub struct Output {
    keeps_nodes: bool,
    keeps_values: bool,
    nodes: Vec<VertexId>,
    values: Values,
    count: usize,
}

impl Output {
    /// For an answer of which these columns are read.
    pub fn new(question: Question, keeps_nodes: bool, keeps_values: bool) -> Output {
        let values = match question {
            Question::Bfs | Question::Cdlp | Question::Wcc => Values::Ints(Vec::new()),
            Question::Lcc | Question::PageRank | Question::Sssp => Values::Floats(Vec::new()),
        };
        Output { keeps_nodes, keeps_values, nodes: Vec::new(), values, count: 0 }
    }
    /// Rows so far.
    pub fn count(&self) -> usize {
        self.count
    }
    /// Takes all rows out: the columns, of which those that are not read are empty.
    pub fn take(&mut self) -> [Column; 2] {
        self.count = 0;
        let values = match &mut self.values {
            Values::Ints(ints) => Column::Int(std::mem::take(ints), Nulls::none()),
            Values::Floats(floats) => Column::Float(std::mem::take(floats), Nulls::none()),
        };
        [Column::Vertex(std::mem::take(&mut self.nodes), Nulls::none()), values]
    }
    #[inline]
    fn node(&mut self, vertex: u32) {
        self.count += 1;
        if self.keeps_nodes {
            self.nodes.push(VertexId::from_dense(vertex));
        }
    }
    #[inline]
    fn push_int(&mut self, vertex: u32, int: i64) {
        self.node(vertex);
        if let Values::Ints(ints) = &mut self.values
            && self.keeps_values
        {
            ints.push(int);
        }
    }
    #[inline]
    fn push_float(&mut self, vertex: u32, float: f64) {
        self.node(vertex);
        if let Values::Floats(floats) = &mut self.values
            && self.keeps_values
        {
            floats.push(float);
        }
    }
    /// Vertices at one distance.
    fn push_all(&mut self, vertices: &[u32], distance: i64) {
        self.count += vertices.len();
        if self.keeps_nodes {
            self.nodes.extend(vertices.iter().map(|vertex| VertexId::from_dense(*vertex)));
        }
        if let Values::Ints(ints) = &mut self.values
            && self.keeps_values
        {
            ints.resize(ints.len() + vertices.len(), distance);
        }
    }
}

/// The vertices that take part, while they are listed.
struct ListScan {
    chunks: Vec<ChunkNo>,
    next: usize,
    /// With the labels they begin with.
    found: Vec<(u32, i64)>,
    scanned: Vec<VertexId>,
}

/// An algorithm, and how many of its answers were given away.
struct Given<S: Staged> {
    worker_pool: WorkerPool<S>,
    count: usize,
    given: AtomicUsize,
}

impl<S: Staged> Given<S> {
    fn new(job: S, count: usize) -> Given<S> {
        Given { worker_pool: WorkerPool::new(job), count, given: AtomicUsize::new(0) }
    }
    /// A slice of work, or a call of `give` for each of some answers.
    fn step(
        &self,
        hand: &mut Hand<S>,
        work: &mut Work<'_>,
        room: usize,
        mut give: impl FnMut(&S, usize),
    ) -> Result<Turn, PathError> {
        let turn = self.worker_pool.work_on(hand, work)?;
        if turn != Turn::Done {
            return Ok(turn);
        }
        if self.given.load(Relaxed) >= self.count {
            return Ok(Turn::Done);
        }
        let start = self.given.fetch_add(room, Relaxed);
        (start..self.count.min(start.saturating_add(room))).for_each(|at| give(self.worker_pool.job(), at));
        Ok(Turn::More)
    }
}

enum Phase<W: GraphWalk> {
    List(Mutex<ListScan>),
    Bfs(Box<Dispatcher<Within<W>>>),
    Cdlp(Box<Given<Propagation<Along<W>>>>),
    Lcc(Box<Given<Clustering<Along<W>>>>),
    PageRank(Box<Given<PageRank<Along<W>>>>),
    Sssp(Box<Given<Sssp<W>>>),
    Wcc(Box<Given<Components<Along<W>>>>),
}

/// The state of one worker.
pub struct Helper<W: GraphWalk>(Held<W>);

impl<W: GraphWalk> Helper<W> {
    /// Of the worker of this number.
    pub fn new(number: usize) -> Helper<W> {
        Helper(Held::New(number))
    }
}

enum Held<W: GraphWalk> {
    /// Nothing is to be held yet.
    New(usize),
    Bfs(Box<(Worker, Answers)>),
    Cdlp(Box<Hand<Propagation<Along<W>>>>),
    Lcc(Box<Hand<Clustering<Along<W>>>>),
    PageRank(Box<Hand<PageRank<Along<W>>>>),
    Sssp(Box<Hand<Sssp<W>>>),
    Wcc(Box<Hand<Components<Along<W>>>>),
}

/// A graph procedure at work: see the module's head. `W` is how the graph is walked.
pub struct Running<W: GraphWalk> {
    question: Question,
    settings: Settings,
    snapshot: Snapshot,
    along: Along<W>,
    against: Along<W>,
    phase: RwLock<Arc<Phase<W>>>,
}

impl<W: GraphWalk> Running<W> {
    /// The question, on this snapshot; `walk` makes a walk along edges of these types in this direction.
    pub fn new(
        question: Question,
        settings: Settings,
        snapshot: &Snapshot,
        walk: impl Fn(&Arc<Vec<EdgeTypeId>>, Direction) -> W,
    ) -> Running<W> {
        let types = Arc::new(settings.types.clone());
        let walk = |direction| Arc::new(walk(&types, direction));
        let (along, against) = (walk(settings.direction), walk(settings.direction.reversed()));
        // From a source all that matters is which vertices are left out.
        let is_listed = settings.source.is_none() || settings.filter != LabelFilter::Any;
        let chunks = if is_listed { snapshot.scan_chunks(&settings.filter) } else { Vec::new() };
        let list = ListScan { chunks, next: 0, found: Vec::new(), scanned: Vec::new() };
        let phase = RwLock::new(Arc::new(Phase::List(Mutex::new(list))));
        Running { question, settings, snapshot: snapshot.clone(), along, against, phase }
    }

    /// Lower bound of the bytes it holds in the next step: to be charged before.
    pub fn bytes_min(&self) -> usize {
        let per_vertex = match (self.question, &**self.phase.read()) {
            // The list, which may be half empty; the members, their labels, those sorted, and ranks twice.
            (Question::Cdlp, Phase::List(_)) => 60,
            (Question::Bfs, _) => 1,
            (Question::Sssp | Question::Wcc, _) => 8,
            (Question::Cdlp, _) => 16,
            (Question::PageRank | Question::Lcc, _) => 28,
        };
        self.snapshot.vertex_bound() as usize * per_vertex
    }

    /// A slice of work: up to `room` rows. Done says that no worker gets more rows; Idle, that other workers have the rest.
    ///
    /// # Errors
    /// The graph could not be read, a weight or a label is invalid.
    pub fn step(&self, helper: &mut Helper<W>, room: usize, output: &mut Output) -> Result<Turn, Failure> {
        let outcome = self.advance(helper, room, output);
        match [&self.along, &self.against].iter().find_map(|walk| walk.take_failure()) {
            Some(failure) => Err(failure),
            None => outcome,
        }
    }

    fn advance(&self, helper: &mut Helper<W>, room: usize, output: &mut Output) -> Result<Turn, Failure> {
        let phase = self.phase.read().clone();
        let Helper(held) = helper;
        if let Held::New(number) = held {
            *held = phase.helper(*number);
        }
        let work = &mut Work::new(EDGES_PER_SLICE);
        Ok(match (&*phase, held) {
            (Phase::List(list), _) => {
                // Who comes while another lists has nothing to do.
                let Some(mut list) = list.try_lock() else { return Ok(Turn::Idle) };
                // Nor has who comes when it was just over: what is begun is begun once.
                if !Arc::ptr_eq(&phase, &self.phase.read()) {
                    return Ok(Turn::More);
                }
                if self.list(&mut list)? {
                    *self.phase.write() = Arc::new(self.begin(&mut list)?);
                }
                Turn::More
            }
            (Phase::Bfs(dispatcher), Held::Bfs(both)) => {
                let (worker, answers) = &mut **both;
                let turn = dispatcher.work_on(worker, work, answers, room as u64)?;
                let mut ends = &answers.ends[..];
                for run in &answers.runs {
                    let (these, others) = ends.split_at(run.count as usize);
                    output.push_all(these, i64::from(run.distance));
                    ends = others;
                }
                answers.clear();
                turn
            }
            (Phase::Cdlp(given), Held::Cdlp(hand)) => given.step(hand, work, room, |job, at| {
                output.push_int(job.field().members()[at], job.value(at));
            })?,
            (Phase::Lcc(given), Held::Lcc(hand)) => given.step(hand, work, room, |job, at| {
                output.push_float(job.field().members()[at], job.value(at));
            })?,
            (Phase::PageRank(given), Held::PageRank(hand)) => given.step(hand, work, room, |job, at| {
                output.push_float(job.field().members()[at], job.value(at));
            })?,
            (Phase::Sssp(given), Held::Sssp(hand)) => given.step(hand, work, room, |job, at| {
                if let Some(distance) = job.value(at) {
                    output.push_float(at as u32, distance);
                }
            })?,
            (Phase::Wcc(given), Held::Wcc(hand)) => given.step(hand, work, room, |job, at| {
                let component = VertexId::from_dense(job.value(at)).0 as i64;
                output.push_int(job.field().members()[at], component);
            })?,
            _ => return Err(ProcedureError::Internal("a helper of another procedure".to_string()).into()),
        })
    }

    /// Lists the vertices of one chunk; true once there are no more.
    fn list(&self, list: &mut ListScan) -> Result<bool, Failure> {
        let ListScan { chunks, next, found, scanned } = list;
        let Some(chunk) = chunks.get(*next) else { return Ok(true) };
        *next += 1;
        scanned.clear();
        self.snapshot.scan_chunk(*chunk, &self.settings.filter, scanned)?;
        for vertex in scanned {
            let label = match self.settings.seed {
                None => vertex.0 as i64,
                Some(key) => self.snapshot.property(*vertex, key)?.as_int().ok_or_else(|| {
                    let message = "`seed` is a property that every node has and that is a whole number";
                    ProcedureError::Call(message.into())
                })?,
            };
            found.push((vertex.dense(), label));
        }
        Ok(false)
    }

    /// The vertices are known: now the algorithm.
    fn begin(&self, list: &mut ListScan) -> Result<Phase<W>, PathError> {
        let mut found = std::mem::take(&mut list.found);
        found.sort_unstable();
        let settings = &self.settings;
        let orientation = match settings.direction {
            Direction::Both => Orientation::Undirected,
            _ => Orientation::Directed,
        };
        let all = settings.filter == LabelFilter::Any;
        let count = found.len();
        let vertices = || found.iter().map(|(vertex, _)| *vertex);
        let field = || {
            let (along, against) = (self.along.clone(), self.against.clone());
            Field::new(along, against, orientation, vertices().collect(), all)
        };
        let source = settings.source.map_or(0, VertexId::dense);
        Ok(match self.question {
            Question::Bfs => {
                let members = match all {
                    true => Members::All,
                    false => Members::bits(self.along.vertex_bound(), vertices()),
                };
                let within = |walk: &Along<W>| Within { walk: walk.clone(), members: members.clone() };
                let (hops, policy) =
                    (Hops::new(0, Hops::UNBOUNDED), DispatchPolicy::all_threads_one_source());
                let along = within(&self.along);
                let search = Dispatcher::new(along, &[source], hops, orientation, Keep::Levels, policy)?;
                Phase::Bfs(Box::new(search.both_ways(within(&self.against))))
            }
            Question::Cdlp => {
                let first: Vec<i64> = found.iter().map(|(_, label)| *label).collect();
                let job = Propagation::new(field(), first, settings.rounds);
                Phase::Cdlp(Box::new(Given::new(job, count)))
            }
            Question::Lcc => Phase::Lcc(Box::new(Given::new(Clustering::new(field()), count))),
            Question::PageRank => {
                let job = PageRank::new(field(), settings.damping, settings.rounds);
                Phase::PageRank(Box::new(Given::new(job, count)))
            }
            Question::Sssp => {
                let (snapshot, walk) = (self.snapshot.clone(), self.along.clone());
                let weights = EdgeWeights { snapshot, key: settings.weight, walk };
                let job = Cheapest::new(field(), source, weights)?;
                let bound = job.bound();
                Phase::Sssp(Box::new(Given::new(job, bound)))
            }
            Question::Wcc => Phase::Wcc(Box::new(Given::new(Components::new(field()), count))),
        })
    }

    /// Edges visited so far, by all.
    pub fn edges_visited(&self) -> u64 {
        match &**self.phase.read() {
            Phase::List(_) => 0,
            Phase::Bfs(dispatcher) => dispatcher.edges_visited(),
            Phase::Cdlp(given) => given.worker_pool.edges_visited(),
            Phase::Lcc(given) => given.worker_pool.edges_visited(),
            Phase::PageRank(given) => given.worker_pool.edges_visited(),
            Phase::Sssp(given) => given.worker_pool.edges_visited(),
            Phase::Wcc(given) => given.worker_pool.edges_visited(),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &**self.phase.read() {
            Phase::List(list) => list.try_lock().map_or(0, |list| list.found.capacity() * 16),
            Phase::Bfs(dispatcher) => dispatcher.bytes(),
            Phase::Cdlp(given) => given.worker_pool.bytes(),
            Phase::Lcc(given) => given.worker_pool.bytes(),
            Phase::PageRank(given) => given.worker_pool.bytes(),
            Phase::Sssp(given) => given.worker_pool.bytes(),
            Phase::Wcc(given) => given.worker_pool.bytes(),
        }
    }
}

impl<W: GraphWalk> Phase<W> {
    /// The state of a worker in this phase.
    fn helper(&self, number: usize) -> Held<W> {
        match self {
            Phase::List(_) => Held::New(number),
            Phase::Bfs(_) => Held::Bfs(Box::new((Worker::new(number), Answers::default()))),
            Phase::Cdlp(_) => Held::Cdlp(Box::default()),
            Phase::Lcc(_) => Held::Lcc(Box::default()),
            Phase::PageRank(_) => Held::PageRank(Box::default()),
            Phase::Sssp(_) => Held::Sssp(Box::default()),
            Phase::Wcc(_) => Held::Wcc(Box::default()),
        }
    }
}
