//! `clusteringCoefficient`: which part of the pairs of a vertex' neighbours are neighbours themselves.
//!
//! Idea: a vertex sends the list of its neighbours to each of them; each answers how many of the list are its own neighbours; the sum of the
//! answers counts each pair twice. Neighbours are those over an edge in either direction, each once, without the vertex itself.

use crate::parameters::{Edges, ProgramParameters};
use crate::program::{Batch, Everywhere, FollowedEdges, NodeProgram, ProgramGraph};
use dataflow::Failure;
use model::{Direction, Value};
use procedures::ProcedureError;
use store::{LabelFilter, Snapshot};

pub(super) struct ClusteringCoefficient {
    edges: Edges,
    label: LabelFilter,
}

impl ClusteringCoefficient {
    pub(super) fn read(
        parameters: &Value,
        snapshot: &Snapshot,
    ) -> Result<ClusteringCoefficient, ProcedureError> {
        let given = ProgramParameters::read(parameters, &["types", "label"], snapshot)?;
        Ok(ClusteringCoefficient { edges: given.edges(Direction::Both)?, label: given.label()? })
    }
    fn neighbours(
        &self,
        graph: &ProgramGraph,
        vertex: u32,
        scratch: &mut Vec<u32>,
    ) -> Result<Vec<u32>, Failure> {
        let mut found = graph.neighbours(vertex, scratch)?.to_vec();
        found.sort_unstable();
        found.dedup();
        let mut kept = Vec::with_capacity(found.len());
        for other in found {
            if other != vertex && graph.passes(other, &self.label)? {
                kept.push(other);
            }
        }
        Ok(kept)
    }
    /// A vertex asks its neighbours.
    fn ask(&self, batch: &mut Batch<'_>, at: usize, scratch: &mut Vec<u32>) -> Result<(), Failure> {
        let vertex = batch.vertex(at);
        if !batch.graph.passes(vertex, &self.label)? {
            return Ok(());
        }
        let own = self.neighbours(batch.graph, vertex, scratch)?;
        if own.len() < 2 {
            batch.out.emit(vertex, Value::Float(0.0));
            return Ok(());
        }
        *batch.state(at) = Value::Int(own.len() as i64);
        // The vertex that asks stands in front.
        let list = std::iter::once(&vertex).chain(&own).map(|other| Value::Int(i64::from(*other)));
        let list = Value::try_list(list.collect())?;
        own.iter().for_each(|other| batch.out.send(*other, list.clone()));
        Ok(())
    }
}

/// How many numbers are in both; both are in order.
fn common(list: &[Value], own: &[u32]) -> i64 {
    let mut own = own.iter().copied().peekable();
    let mut count = 0;
    for other in list.iter().filter_map(Value::as_int) {
        while own.next_if(|own| i64::from(*own) < other).is_some() {}
        count += i64::from(own.peek().is_some_and(|own| i64::from(*own) == other));
    }
    count
}

impl NodeProgram for ClusteringCoefficient {
    fn edges(&self) -> FollowedEdges<'_> {
        self.edges.of()
    }
    fn everywhere(&self) -> Everywhere {
        Everywhere::Passing(self.label.clone())
    }
    fn visit(&self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        let mut scratch = Vec::new();
        for at in 0..batch.len() {
            let vertex = batch.vertex(at);
            match batch.round {
                0 => self.ask(batch, at, &mut scratch)?,
                1 => {
                    let own = self.neighbours(batch.graph, vertex, &mut scratch)?;
                    for message in batch.messages(at) {
                        let Value::List(list) = message else { continue };
                        dataflow::watch::spend(1 + list.len() as u64 / 8)?;
                        if let [Value::Int(asker), list @ ..] = list.as_slice() {
                            batch.out.send(*asker as u32, Value::Int(common(list, &own)));
                        }
                    }
                }
                _ => {
                    let links: i64 = batch.messages(at).iter().filter_map(Value::as_int).sum();
                    let count = batch.state(at).as_int().unwrap_or_default() as f64;
                    batch.out.emit(vertex, Value::Float(links as f64 / (count * (count - 1.0))));
                }
            }
        }
        Ok(())
    }
}
