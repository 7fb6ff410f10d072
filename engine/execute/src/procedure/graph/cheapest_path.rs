//! `graph.cheapestPath`: from one node the cheapest path by weight to another, or to every node, the cheapest first.
//!
//! One search a row (Dijkstra), stepped in slices; ends come out as they are settled, so that whoever takes few pays for few. One executor
//! works on it; all distances at once and on all executors, without paths, are `graph.sssp`.

use super::recharge;
use super::settings::{Settings, wrong};
use super::weights::{EdgeWeights, Members, Within};
use crate::ExecuteError;
use crate::adjacency::Walk;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::expression::Compiled;
use crate::liveness::VarSet;
use crate::stream::Stream;
use crate::turn::{Here, Progress, Try, Turn};
use model::{Batch, Column, EdgeId, EdgeRef, Nulls, Path, Value, VertexId};
use paths::{WeightedShortest, Work};
use std::sync::Arc;
use store::LabelFilter;

/// Its name.
pub(crate) const NAME: &str = "graph.cheapestPath";
/// What its map may say.
const KNOWN: &[&str] = &["source", "target", "weight", "types", "direction", "label"];
/// Edges one slice visits; one costs a look at its weight.
const EDGES_PER_SLICE: u64 = 4_096;
/// Bytes of one step of a path.
const STEP_BYTES: usize = size_of::<VertexId>() + size_of::<EdgeRef>();

/// The search of one row.
struct Cheapest {
    search: WeightedShortest<Within, EdgeWeights>,
    walk: Arc<Walk>,
    target: Option<u32>,
    is_over: bool,
}

impl Cheapest {
    fn path(&self, end: u32) -> Option<Path> {
        let found = self.search.path(end)?;
        let vertices: Vec<VertexId> = found.vertices.into_iter().map(VertexId::from_dense).collect();
        let steps = vertices.windows(2).zip(found.edges);
        let edges = steps.map(|(ends, edge)| self.walk.edge(EdgeId(edge), ends[0], ends[1])).collect();
        Some(Path { vertices, edges })
    }
}

struct CheapestPath {
    arguments: Arc<[Compiled]>,
    /// Of node, path and cost, those that are read, in the order of the columns.
    picks: Arc<[usize]>,
    nodes: Vec<VertexId>,
    paths: Vec<Value>,
    costs: Vec<f64>,
    /// Steps of the paths that wait.
    steps: usize,
    charged: usize,
}

impl CheapestPath {
    fn keep(&mut self, cursor: &Cheapest, end: u32, cost: f64) {
        self.nodes.push(VertexId::from_dense(end));
        self.costs.push(cost);
        if self.keeps_paths() {
            let path = cursor.path(end);
            self.steps += path.as_ref().map_or(0, |path| path.edges.len());
            self.paths.push(path.map_or(Value::Null, |path| Value::Path(Arc::new(path))));
        }
    }
    fn keeps_paths(&self) -> bool {
        self.picks.contains(&1)
    }
    /// Takes ends that are settled: how many, and whether no more are. Where paths are read, those are built until a slice's steps are
    /// reached.
    fn drain(&mut self, cursor: &mut Cheapest, room: usize) -> (usize, bool) {
        let at_once = if self.keeps_paths() { 1 } else { room };
        let (mut ends, mut costs, mut taken) = (Vec::new(), Vec::new(), 0);
        let steps_max = self.steps + EDGES_PER_SLICE as usize;
        while taken < room && self.steps < steps_max {
            if cursor.search.drain_ends(&mut ends, &mut costs, at_once) == 0 {
                return (taken, true);
            }
            taken += ends.len();
            for (end, cost) in ends.drain(..).zip(costs.drain(..)) {
                self.keep(cursor, end, cost);
            }
        }
        (taken, false)
    }
}

impl Draw for CheapestPath {
    type Cursor = Cheapest;

    fn begin(&mut self, _: &Batch, here: &mut Here) -> Try<()> {
        here.environment.record(|reads| {
            reads.catalogue();
            reads.scan(None);
        });
        Ok(())
    }
    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Cheapest> {
        let arguments = turn.here.values(&self.arguments, batch, row)?;
        let snapshot = turn.here.snapshot().clone();
        let settings = Settings::read_known((KNOWN, 0), arguments.first(), &snapshot)?;
        let source = settings.source.ok_or_else(|| wrong("`source` is the node that paths begin at"))?;
        let (types, environment) = (Arc::new(settings.types), &turn.here.environment);
        let walk = Arc::new(Walk::new(&snapshot, &types, settings.direction, None, environment));
        let weights = EdgeWeights { snapshot: snapshot.clone(), key: settings.weight, walk: walk.clone() };
        let members = match settings.filter {
            LabelFilter::Any => Members::All,
            filter => Members::Passing(snapshot, filter),
        };
        let graph = Within { walk: walk.clone(), members };
        let target = settings.target.map(VertexId::dense);
        let search = WeightedShortest::new(graph, source.dense(), target, weights)?;
        Ok(Cheapest { search, walk, target, is_over: false })
    }
    fn draw(
        &mut self,
        cursor: &mut Cheapest,
        room: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)> {
        if !cursor.is_over {
            let outcome = cursor.search.step(&mut Work::new(EDGES_PER_SLICE));
            cursor.walk.take_failure().map_or(Ok(()), Err)?;
            cursor.is_over = outcome? == paths::Progress::Done;
        }
        let (taken, is_empty) = match cursor.target {
            None => self.drain(cursor, room),
            Some(_) if !cursor.is_over => (0, false),
            Some(target) => {
                let cost = cursor.search.cost(target);
                cost.into_iter().for_each(|cost| self.keep(cursor, target, cost));
                (usize::from(cost.is_some()), true)
            }
        };
        // Paths read the graph, too.
        cursor.walk.take_failure().map_or(Ok(()), Err)?;
        let is_done = cursor.is_over && is_empty;
        let search_bytes = if is_done { 0 } else { cursor.search.bytes() };
        let bytes = search_bytes + self.paths.len() * size_of::<Path>() + self.steps * STEP_BYTES;
        recharge(&mut self.charged, bytes, turn.context)?;
        Ok((taken, if is_done { Progress::Done } else { Progress::More }))
    }
    fn columns(&mut self) -> Vec<Column> {
        self.steps = 0;
        let mut columns = [
            Some(Column::Vertex(std::mem::take(&mut self.nodes), Nulls::none())),
            Some(Column::Any(std::mem::take(&mut self.paths))),
            Some(Column::Float(std::mem::take(&mut self.costs), Nulls::none())),
        ];
        self.picks.iter().filter_map(|at| columns[*at].take()).collect()
    }
    fn charged(&self) -> usize {
        self.charged
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::CallProcedure,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let new = node.yields.iter().map(|(_, variable)| *variable);
    let feed = compiler.feed(&node.input, &required.clone().without(new).reading(&node.arguments))?;
    let layout = feed.layout();
    let arguments = node.arguments.iter().map(|argument| compiler.expression(argument, &layout));
    let arguments: Arc<[Compiled]> = arguments.collect::<Result<Vec<_>, _>>()?.into();
    let (mut picks, mut columns) = (Vec::new(), Vec::new());
    for (field, variable) in &node.yields {
        let at = match &**field {
            "node" => 0,
            "path" => 1,
            _ => 2,
        };
        if required.contains(*variable) && !picks.contains(&at) {
            picks.push(at);
            columns.push(*variable);
        }
    }
    let picks: Arc<[usize]> = picks.into();
    let make = move || {
        Drawing::new(CheapestPath {
            arguments: arguments.clone(),
            picks: picks.clone(),
            nodes: Vec::new(),
            paths: Vec::new(),
            costs: Vec::new(),
            steps: 0,
            charged: 0,
        })
    };
    Ok(compiler.attach_fan_out("CheapestPath", &feed, required, &columns, make))
}
