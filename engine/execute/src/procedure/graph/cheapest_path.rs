//! `graph.cheapestPath`: from one node the cheapest path by weight to another, or to every node, the cheapest first.
//!
//! One search a row (Dijkstra), stepped in slices; ends come out as they are settled, so that whoever takes few pays for few. One executor
//! works on it; all distances at once and on all executors, without paths, are `graph.sssp`.

use super::settings::{Settings, wrong};
use super::weights::EdgeWeights;
use crate::ExecuteError;
use crate::adjacency::Walk;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::expression::Compiled;
use crate::liveness::VarSet;
use crate::stream::Stream;
use crate::turn::{Here, Progress, Try, Turn};
use model::{Batch, Column, EdgeId, Nulls, Path, Value, VertexId};
use paths::algorithms::{ReadWeight, Weights};
use paths::{Adjacency, EdgeScratch, WeightedShortest, Work};
use std::sync::Arc;
use store::{LabelFilter, Snapshot};

/// Its name.
pub(crate) const NAME: &str = "graph.cheapestPath";
/// What its map may say.
const KNOWN: &[&str] = &["source", "target", "weight", "types", "direction", "label"];
/// Edges one slice visits; one costs a look at its weight.
const EDGES_PER_SLICE: u64 = 4_096;

/// A walk over vertices that pass.
struct Passing {
    walk: Arc<Walk>,
    snapshot: Snapshot,
    filter: LabelFilter,
}

impl Adjacency for Passing {
    fn vertex_bound(&self) -> u32 {
        self.walk.vertex_bound()
    }
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.walk.neighbours(vertex, scratch)
    }
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        self.walk.edges(vertex, scratch)
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.walk.degree(vertex)
    }
    fn admits_vertex(&self, vertex: u32) -> bool {
        let passes = || self.snapshot.passes(VertexId::from_dense(vertex), &self.filter);
        self.filter == LabelFilter::Any || self.walk.or_fail(passes())
    }
    fn failure(&self) -> bool {
        self.walk.failure()
    }
}

type Weigh = Box<dyn Fn(u64, u32, u32) -> f64 + Send>;

/// The search of one row.
struct Cheapest {
    search: WeightedShortest<Passing, Weigh>,
    walk: Arc<Walk>,
    target: Option<u32>,
    is_over: bool,
}

impl Cheapest {
    fn path(&self, end: u32) -> Value {
        let Some(found) = self.search.path(end) else { return Value::Null };
        let vertices: Vec<VertexId> = found.vertices.into_iter().map(VertexId::from_dense).collect();
        let steps = vertices.windows(2).zip(found.edges);
        let edges = steps.map(|(ends, edge)| self.walk.edge(EdgeId(edge), ends[0], ends[1])).collect();
        Value::Path(Arc::new(Path { vertices, edges }))
    }
}

struct CheapestPath {
    arguments: Arc<[Compiled]>,
    /// Of node, path and cost, those that are read, in the order of the columns.
    picks: Arc<[usize]>,
    nodes: Vec<VertexId>,
    paths: Vec<Value>,
    costs: Vec<f64>,
    charged: usize,
}

impl CheapestPath {
    fn charge(&mut self, bytes: usize, turn: &mut Turn<'_, '_>) -> Try<()> {
        if bytes > self.charged {
            turn.context.charge(bytes - self.charged)?;
        } else {
            turn.context.release(self.charged - bytes);
        }
        self.charged = bytes;
        Ok(())
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
        let weigh: Weigh = Box::new(move |edge, _, _| weights.reader().weight(edge));
        let graph = Passing { walk: walk.clone(), snapshot, filter: settings.filter };
        let target = settings.target.map(VertexId::dense);
        let search = WeightedShortest::new(graph, source.dense(), target, weigh)?;
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
            if let Some(failure) = cursor.walk.take_failure() {
                return Err(failure);
            }
            cursor.is_over = outcome? == paths::Progress::Done;
        }
        let (mut ends, mut costs) = (Vec::new(), Vec::new());
        let drained = cursor.search.drain_ends(&mut ends, &mut costs, room);
        let is_wanted = |end: u32| cursor.target.is_none_or(|target| target == end);
        let mut taken = 0;
        for (end, cost) in ends.into_iter().zip(costs).filter(|(end, _)| is_wanted(*end)) {
            taken += 1;
            self.nodes.push(VertexId::from_dense(end));
            self.costs.push(cost);
            if self.picks.contains(&1) {
                self.paths.push(cursor.path(end));
            }
        }
        let is_done = cursor.is_over && drained < room;
        self.charge(if is_done { 0 } else { cursor.search.bytes() }, turn)?;
        Ok((taken, if is_done { Progress::Done } else { Progress::More }))
    }
    fn columns(&mut self) -> Vec<Column> {
        let mut columns = [
            Some(Column::Vertex(std::mem::take(&mut self.nodes), Nulls::none())),
            Some(Column::Any(std::mem::take(&mut self.paths))),
            Some(Column::Float(std::mem::take(&mut self.costs), Nulls::none())),
        ];
        self.picks.iter().filter_map(|at| columns[*at].take()).collect()
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
            charged: 0,
        })
    };
    Ok(compiler.attach_fan_out("CheapestPath", &feed, required, &columns, make))
}
