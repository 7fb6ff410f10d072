//! `blockRender`: a vertex and the tree below it, with all their labels and properties: a block of a chain with its transactions.

use crate::parameters::{Edges, Filters, ProgramParameters};
use crate::program::{Batch, Combine, FollowedEdges, NodeProgram, ProgramGraph};
use dataflow::Failure;
use model::{Direction, EdgeId, KeyId, Value, VertexId};
use procedures::ProcedureError;
use std::sync::Arc;
use store::Snapshot;

pub(super) struct BlockRender {
    edges: Edges,
    filters: Filters,
    depth: u32,
}

impl BlockRender {
    pub(super) fn read(parameters: &Value, snapshot: &Snapshot) -> Result<BlockRender, ProcedureError> {
        let names = ["types", "direction", "label", "node", "edge", "depth"];
        let given = ProgramParameters::read(parameters, &names, snapshot)?;
        Ok(BlockRender {
            edges: given.edges(Direction::Out)?,
            filters: given.filters()?,
            depth: given.depth()?.unwrap_or(1),
        })
    }
    /// Everything known of a vertex: labels, properties, and its edges that pass.
    fn render(
        &self,
        graph: &ProgramGraph,
        vertex: u32,
        (next, edges): (&[u32], &[u64]),
    ) -> Result<Value, Failure> {
        let labels = graph.labels(vertex)?.into_iter().map(Value::from).collect();
        let properties = properties(graph, graph.properties(vertex)?)?;
        let mut rendered = Vec::with_capacity(edges.len());
        for (next, edge) in next.iter().zip(edges) {
            let edge = EdgeId(*edge);
            let name = graph.snapshot().catalog().edge_type_name(edge.edge_type());
            let name = name.cloned().map_or(Value::Null, Value::from);
            rendered.push(Value::try_map([
                ("node", Value::Vertex(VertexId::from_dense(*next))),
                ("properties", properties_of_edge(graph, edge)?),
                ("type", name),
            ])?);
        }
        Ok(Value::try_map([
            ("labels", Value::try_list(labels)?),
            ("properties", properties),
            ("relationships", Value::try_list(rendered)?),
        ])?)
    }
}

fn properties(graph: &ProgramGraph, found: Vec<(KeyId, Value)>) -> Result<Value, Failure> {
    let catalog = graph.snapshot().catalog();
    let named = found.into_iter().filter_map(|(key, value)| Some((catalog.key_name(key)?.clone(), value)));
    Ok(Value::try_map::<Arc<str>>(named)?)
}

fn properties_of_edge(graph: &ProgramGraph, edge: EdgeId) -> Result<Value, Failure> {
    properties(graph, graph.edge_properties(edge)?)
}

impl NodeProgram for BlockRender {
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
            let (mut next, mut edges) = (Vec::new(), Vec::new());
            let all = graph.edges(vertex, (&mut neighbours, &mut ids))?;
            for (other, edge) in all.0.iter().zip(all.1) {
                if self.filters.edge_passes(graph, EdgeId(*edge))? {
                    next.push(*other);
                    edges.push(*edge);
                }
            }
            let rendered = self.render(graph, vertex, (&next, &edges))?;
            batch.out.emit(vertex, rendered);
            if round < self.depth {
                batch.out.send_each(&next, &Value::Null);
            }
        }
        Ok(())
    }
}
