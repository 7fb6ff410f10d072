//! Parameters of the built-in programs: which edges are followed, and which vertices and edges pass.

use crate::program::{Batch, FollowedEdges, ProgramGraph};
use dataflow::Failure;
use model::compare::equals;
use model::{Direction, EdgeId, EdgeTypeId, KeyId, Value, VertexId};
use procedures::ProcedureError;
use procedures::settings::{Given, wrong};
use store::{LabelFilter, Snapshot};

/// Largest depth.
const DEPTH_MAX: i64 = 1_000_000;
/// Largest number of iterations.
const ITERATIONS_MAX: i64 = 10_000;

/// Properties that must equal these; a key that nothing has equals nothing.
type Equal = Vec<(Option<KeyId>, Value)>;

/// ProgramParameters, read.
pub(crate) struct ProgramParameters<'a> {
    given: Given<'a>,
    snapshot: &'a Snapshot,
}

impl<'a> ProgramParameters<'a> {
    /// ProgramParameters of these names.
    pub(crate) fn read(
        given: &'a Value,
        names: &[&str],
        snapshot: &'a Snapshot,
    ) -> Result<ProgramParameters<'a>, ProcedureError> {
        let shape = "the parameters of a program are a map, such as {types: 'KNOWS'}";
        Ok(ProgramParameters { given: Given::read(Some(given), names, shape)?, snapshot })
    }
    /// The edges to follow.
    pub(crate) fn edges(&self, direction: Direction) -> Result<Edges, ProcedureError> {
        let direction = self.given.direction()?.unwrap_or(direction);
        let is_all = self.given.get("types").is_none();
        Ok(Edges { types: self.given.types(self.snapshot)?, is_all, direction })
    }
    pub(crate) fn label(&self) -> Result<LabelFilter, ProcedureError> {
        self.given.filter(self.snapshot)
    }
    /// The vertices and edges that pass.
    pub(crate) fn filters(&self) -> Result<Filters, ProcedureError> {
        Ok(Filters { label: self.label()?, node: self.equal("node")?, edge: self.equal("edge")? })
    }
    fn equal(&self, name: &str) -> Result<Equal, ProcedureError> {
        let map = match self.given.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Map(map)) => map,
            Some(_) => return Err(wrong(format!("`{name}` is a map of properties, such as {{key: 1}}"))),
        };
        let catalog = self.snapshot.catalog();
        Ok(map.iter().map(|(key, value)| (catalog.key(key), value.clone())).collect())
    }
    pub(crate) fn depth(&self) -> Result<Option<u32>, ProcedureError> {
        self.given.count("depth", DEPTH_MAX)
    }
    pub(crate) fn iterations(&self) -> Result<Option<u32>, ProcedureError> {
        self.given.count("iterations", ITERATIONS_MAX)
    }
    pub(crate) fn target(&self) -> Result<Option<u32>, ProcedureError> {
        let target = self.given.node("target", "the node that is looked for", self.snapshot)?;
        Ok(target.map(VertexId::dense))
    }
    pub(crate) fn weight(&self) -> Result<Option<KeyId>, ProcedureError> {
        self.given.key("weight", self.snapshot)
    }
}

/// The edges that a program follows.
pub(crate) struct Edges {
    types: Vec<EdgeTypeId>,
    is_all: bool,
    direction: Direction,
}

impl Edges {
    pub(crate) fn of(&self) -> FollowedEdges<'_> {
        FollowedEdges { types: &self.types, is_all: self.is_all, direction: self.direction }
    }
}

/// Which vertices and edges a program passes.
pub(crate) struct Filters {
    pub(crate) label: LabelFilter,
    node: Equal,
    edge: Equal,
}

impl Filters {
    /// Is a vertex of a batch met for the first time, and does it pass? Where the run starts, all do. Its state becomes whether it passed.
    pub(crate) fn enters(&self, batch: &mut Batch<'_>, at: usize) -> Result<bool, Failure> {
        if !batch.state(at).is_null() {
            return Ok(false);
        }
        let passes = batch.round == 0 || self.node_passes(batch.graph, batch.vertex(at))?;
        *batch.state(at) = Value::Bool(passes);
        Ok(passes)
    }
    /// Does a vertex pass?
    pub(crate) fn node_passes(&self, graph: &ProgramGraph, vertex: u32) -> Result<bool, Failure> {
        if !graph.passes(vertex, &self.label)? {
            return Ok(false);
        }
        for (key, wanted) in &self.node {
            let Some(key) = key else { return Ok(false) };
            if equals(&graph.property(vertex, *key)?, wanted) != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
    /// Do all edges pass?
    pub(crate) fn passes_edges(&self) -> bool {
        self.edge.is_empty()
    }
    /// Does an edge pass?
    pub(crate) fn edge_passes(&self, graph: &ProgramGraph, edge: EdgeId) -> Result<bool, Failure> {
        for (key, wanted) in &self.edge {
            let Some(key) = key else { return Ok(false) };
            let found = graph.edge_property(edge, *key, |found| found.to_value())?;
            if equals(&found, wanted) != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
