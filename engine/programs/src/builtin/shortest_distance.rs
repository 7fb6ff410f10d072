//! `shortestDistance`: distances of vertices, by the sum of a weight along the way.
//!
//! Idea: a message is a distance; the least received one is the state, and a shorter one is sent on. A vertex is visited again while shorter ways
//! come, so there are as many rounds as the longest of the shortest ways has edges.

use crate::parameters::{Edges, Filters, ProgramParameters};
use crate::program::{Batch, Combine, FollowedEdges, NodeProgram, ProgramGraph};
use dataflow::Failure;
use model::{Direction, EdgeId, KeyId, Value};
use procedures::ProcedureError;
use procedures::settings::wrong;
use store::{PropertyRef, Snapshot};

pub(super) struct ShortestDistance {
    edges: Edges,
    filters: Filters,
    depth: u32,
    target: Option<u32>,
    weight: Option<KeyId>,
}

impl ShortestDistance {
    pub(super) fn read(parameters: &Value, snapshot: &Snapshot) -> Result<ShortestDistance, ProcedureError> {
        let names = ["types", "direction", "label", "node", "edge", "depth", "target", "weight"];
        let given = ProgramParameters::read(parameters, &names, snapshot)?;
        Ok(ShortestDistance {
            edges: given.edges(Direction::Out)?,
            filters: given.filters()?,
            depth: given.depth()?.unwrap_or(u32::MAX),
            target: given.target()?,
            weight: given.weight()?,
        })
    }
    fn weigh(&self, graph: &ProgramGraph, edge: EdgeId) -> Result<f64, Failure> {
        let Some(key) = self.weight else { return Ok(1.0) };
        let weight = graph.edge_property(edge, key, |found| match found {
            PropertyRef::Float(weight) => weight,
            PropertyRef::Int(weight) => weight as f64,
            _ => f64::NAN,
        })?;
        if weight >= 0.0 {
            return Ok(weight);
        }
        let message = format!("relationship {} does not weigh a number of at least 0", edge.0);
        Err(wrong(message).into())
    }
}

impl NodeProgram for ShortestDistance {
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
            let mut distance = if round == 0 { 0.0 } else { f64::INFINITY };
            batch.messages(at).each_float(|other| distance = distance.min(other));
            match batch.state(at) {
                Value::Float(before) if *before <= distance => continue,
                // It did not pass before.
                Value::Bool(_) => continue,
                state => {
                    let passes = round == 0 || !state.is_null() || self.filters.node_passes(graph, vertex)?;
                    *state = if passes { Value::Float(distance) } else { Value::Bool(false) };
                    if !passes {
                        continue;
                    }
                }
            }
            if round >= self.depth {
                continue;
            }
            if self.weight.is_none() && self.filters.passes_edges() {
                let next = graph.neighbours(vertex, &mut neighbours)?;
                batch.out.send_each(next, &Value::Float(distance + 1.0));
                continue;
            }
            let (next, edges) = graph.edges(vertex, (&mut neighbours, &mut ids))?;
            for (next, edge) in next.iter().zip(edges) {
                if self.filters.edge_passes(graph, EdgeId(*edge))? {
                    let further = distance + self.weigh(graph, EdgeId(*edge))?;
                    batch.out.send(*next, Value::Float(further));
                }
            }
        }
        Ok(())
    }
    fn ends(&self) -> bool {
        true
    }
    fn end(&self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        for at in 0..batch.len() {
            let (vertex, distance) = (batch.vertex(at), batch.state(at).clone());
            if matches!(distance, Value::Float(_)) && self.target.is_none_or(|target| target == vertex) {
                batch.out.emit(vertex, distance);
            }
        }
        Ok(())
    }
}
