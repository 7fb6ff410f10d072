//! `countEdges`: how many edges a vertex has that pass.

use crate::parameters::{Edges, Filters, ProgramParameters};
use crate::program::{Batch, Everywhere, FollowedEdges, NodeProgram};
use dataflow::Failure;
use model::{Direction, EdgeId, Value};
use procedures::ProcedureError;
use store::Snapshot;

pub(super) struct CountEdges {
    edges: Edges,
    filters: Filters,
}

impl CountEdges {
    pub(super) fn read(parameters: &Value, snapshot: &Snapshot) -> Result<CountEdges, ProcedureError> {
        let names = ["types", "direction", "label", "edge"];
        let given = ProgramParameters::read(parameters, &names, snapshot)?;
        Ok(CountEdges { edges: given.edges(Direction::Out)?, filters: given.filters()? })
    }
}

impl NodeProgram for CountEdges {
    fn edges(&self) -> FollowedEdges<'_> {
        self.edges.of()
    }
    fn everywhere(&self) -> Everywhere {
        Everywhere::Passing(self.filters.label.clone())
    }
    fn visit(&self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        let graph = batch.graph;
        let (mut neighbours, mut ids) = (Vec::new(), Vec::new());
        for at in 0..batch.len() {
            let vertex = batch.vertex(at);
            if !graph.passes(vertex, &self.filters.label)? {
                continue;
            }
            let mut count = 0;
            if self.filters.passes_edges() {
                count = i64::from(graph.degree(vertex)?);
            } else {
                for edge in graph.edges(vertex, (&mut neighbours, &mut ids))?.1 {
                    count += i64::from(self.filters.edge_passes(graph, EdgeId(*edge))?);
                }
            }
            batch.out.emit(vertex, Value::Int(count));
        }
        Ok(())
    }
}
