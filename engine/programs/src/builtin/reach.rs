//! `reach`: which vertices can be reached, and in how many steps.
//!
//! Idea: a message says only that a vertex was reached. State: true where it was reached, false where it does not pass.

use crate::parameters::{Edges, Filters, ProgramParameters};
use crate::program::{Batch, Combine, FollowedEdges, NodeProgram};
use dataflow::Failure;
use model::{Direction, EdgeId, Value};
use procedures::ProcedureError;
use store::Snapshot;

pub(super) struct ReachProgram {
    edges: Edges,
    filters: Filters,
    depth: u32,
    target: Option<u32>,
}

impl ReachProgram {
    pub(super) fn read(parameters: &Value, snapshot: &Snapshot) -> Result<ReachProgram, ProcedureError> {
        let names = ["types", "direction", "label", "node", "edge", "depth", "target"];
        let given = ProgramParameters::read(parameters, &names, snapshot)?;
        Ok(ReachProgram {
            edges: given.edges(Direction::Out)?,
            filters: given.filters()?,
            depth: given.depth()?.unwrap_or(u32::MAX),
            target: given.target()?,
        })
    }
}

impl NodeProgram for ReachProgram {
    fn edges(&self) -> FollowedEdges<'_> {
        self.edges.of()
    }
    fn combine(&self) -> Combine {
        Combine::Least
    }
    fn visit(&self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        let (graph, round) = (batch.graph, batch.round);
        let (mut neighbours, mut ids) = (Vec::new(), Vec::new());
        for at in 0..batch.len() {
            let vertex = batch.vertex(at);
            if !self.filters.enters(batch, at)? {
                continue;
            }
            match self.target {
                Some(target) if target == vertex => {
                    batch.out.emit(vertex, Value::Int(i64::from(round)));
                    batch.out.enough();
                }
                Some(_) => {}
                None => batch.out.emit(vertex, Value::Int(i64::from(round))),
            }
            if round >= self.depth {
                continue;
            }
            if self.filters.passes_edges() {
                batch.out.send_each(graph.neighbours(vertex, &mut neighbours)?, &Value::Null);
                continue;
            }
            let (next, edges) = graph.edges(vertex, (&mut neighbours, &mut ids))?;
            for (next, edge) in next.iter().zip(edges) {
                if self.filters.edge_passes(graph, EdgeId(*edge))? {
                    batch.out.send(*next, Value::Null);
                }
            }
        }
        Ok(())
    }
}
