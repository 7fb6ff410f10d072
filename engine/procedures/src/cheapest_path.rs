//! `graph.cheapestPath`: from one node the cheapest path by weight to another, or to every node, the cheapest first.
//!
//! One search a row (Dijkstra), stepped in slices; ends come out as they are settled, so that a consumer of few pays for few. One executor works on
//! it; all distances at once and on all executors, without paths, are `graph.sssp`.

use crate::GraphWalk;
use crate::settings::{Settings, wrong};
use crate::weights::{EdgeWeights, Members, Within};
use dataflow::Failure;
use model::{Column, Direction, EdgeId, EdgeRef, EdgeTypeId, Nulls, Path, Value, VertexId};
use paths::{WeightedShortest, Work};
use std::sync::Arc;
use store::{LabelFilter, Snapshot};

/// Its name.
pub const NAME: &str = "graph.cheapestPath";
/// The keys of its map.
const KNOWN: &[&str] = &["source", "target", "weight", "types", "direction", "label"];
/// Edges one slice visits; one costs a look at its weight.
const EDGES_PER_SLICE: u64 = 4_096;
/// Bytes of one step of a path.
const STEP_BYTES: usize = size_of::<VertexId>() + size_of::<EdgeRef>();

/// Ends that were found, on their way out.
#[derive(Debug)]
pub struct Ends {
    keeps_paths: bool,
    nodes: Vec<VertexId>,
    paths: Vec<Value>,
    costs: Vec<f64>,
    /// Steps of the paths that wait.
    steps: usize,
}

impl Ends {
    /// For an answer of which the paths are read, or not.
    pub fn new(keeps_paths: bool) -> Ends {
        Ends { keeps_paths, nodes: Vec::new(), paths: Vec::new(), costs: Vec::new(), steps: 0 }
    }
    /// Bytes of the paths.
    pub fn bytes(&self) -> usize {
        self.paths.len() * size_of::<Path>() + self.steps * STEP_BYTES
    }
    /// Takes all out: columns of the ends, of the paths (empty where they are not read) and of the costs.
    pub fn take(&mut self) -> [Column; 3] {
        self.steps = 0;
        [
            Column::Vertex(std::mem::take(&mut self.nodes), Nulls::none()),
            Column::Any(std::mem::take(&mut self.paths)),
            Column::Float(std::mem::take(&mut self.costs), Nulls::none()),
        ]
    }
}

/// The search of one row. `W` is how the graph is walked.
pub struct CheapestPath<W: GraphWalk> {
    search: WeightedShortest<Within<W>, EdgeWeights<W>>,
    walk: Arc<W>,
    target: Option<u32>,
    is_over: bool,
}

impl<W: GraphWalk> CheapestPath<W> {
    /// Reads the argument of a call; `walk` makes a walk along edges of these types in this direction.
    ///
    /// # Errors
    /// The argument is no map that names a source.
    pub fn new(
        argument: Option<&Value>,
        snapshot: &Snapshot,
        walk: impl FnOnce(&Arc<Vec<EdgeTypeId>>, Direction) -> W,
    ) -> Result<CheapestPath<W>, Failure> {
        let settings = Settings::read_known((KNOWN, 0), argument, snapshot)?;
        let source = settings.source.ok_or_else(|| wrong("`source` is the node that paths begin at"))?;
        let walk = Arc::new(walk(&Arc::new(settings.types), settings.direction));
        let weights = EdgeWeights { snapshot: snapshot.clone(), key: settings.weight, walk: walk.clone() };
        let members = match settings.filter {
            LabelFilter::Any => Members::All,
            filter => Members::Passing(snapshot.clone(), filter),
        };
        let graph = Within { walk: walk.clone(), members };
        let target = settings.target.map(VertexId::dense);
        let search = WeightedShortest::new(graph, source.dense(), target, weights)?;
        Ok(CheapestPath { search, walk, target, is_over: false })
    }

    /// A slice of work, and up to `room` ends more: how many, and whether no more come.
    ///
    /// # Errors
    /// The graph could not be read, or a weight is no number of at least 0.
    pub fn step(&mut self, room: usize, ends: &mut Ends) -> Result<(usize, bool), Failure> {
        if !self.is_over {
            let outcome = self.search.step(&mut Work::new(EDGES_PER_SLICE));
            self.walk.take_failure().map_or(Ok(()), Err)?;
            self.is_over = outcome? == paths::Progress::Done;
        }
        let (taken, is_empty) = match self.target {
            None => self.drain(room, ends),
            Some(_) if !self.is_over => (0, false),
            Some(target) => {
                let cost = self.search.cost(target);
                cost.into_iter().for_each(|cost| self.keep(target, cost, ends));
                (usize::from(cost.is_some()), true)
            }
        };
        // Paths read the graph, too.
        self.walk.take_failure().map_or(Ok(()), Err)?;
        Ok((taken, self.is_over && is_empty))
    }

    /// Bytes that the search holds.
    pub fn bytes(&self) -> usize {
        self.search.bytes()
    }

    /// Takes ends that are settled: how many, and whether no more are. Where paths are read, those are built until a slice's steps are
    /// reached.
    fn drain(&mut self, room: usize, into: &mut Ends) -> (usize, bool) {
        let at_once = if into.keeps_paths { 1 } else { room };
        let (mut ends, mut costs, mut taken) = (Vec::new(), Vec::new(), 0);
        let steps_max = into.steps + EDGES_PER_SLICE as usize;
        while taken < room && into.steps < steps_max {
            if self.search.drain_ends(&mut ends, &mut costs, at_once) == 0 {
                return (taken, true);
            }
            taken += ends.len();
            for (end, cost) in ends.drain(..).zip(costs.drain(..)) {
                self.keep(end, cost, into);
            }
        }
        (taken, false)
    }

    fn keep(&self, end: u32, cost: f64, into: &mut Ends) {
        into.nodes.push(VertexId::from_dense(end));
        into.costs.push(cost);
        if into.keeps_paths {
            let path = self.path(end);
            into.steps += path.as_ref().map_or(0, |path| path.edges.len());
            into.paths.push(path.map_or(Value::Null, |path| Value::Path(Arc::new(path))));
        }
    }

    fn path(&self, end: u32) -> Option<Path> {
        let found = self.search.path(end)?;
        let vertices: Vec<VertexId> = found.vertices.into_iter().map(VertexId::from_dense).collect();
        let steps = vertices.windows(2).zip(found.edges);
        let edges = steps.map(|(ends, edge)| self.walk.edge(EdgeId(edge), ends[0], ends[1])).collect();
        Some(Path { vertices, edges })
    }
}
