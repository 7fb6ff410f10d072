//! `labelPropagation`: communities. Each vertex begins with its own id as its label, and in each round takes the label that came most
//! often, of those that came as often the least. An edge carries a label each time that it is followed.

use crate::parameters::{Edges, ProgramParameters};
use crate::program::{Batch, Everywhere, FollowedEdges, NodeProgram};
use dataflow::Failure;
use model::{Direction, Value, VertexId};
use procedures::ProcedureError;
use store::{LabelFilter, Snapshot};

/// Rounds where none are named.
const ITERATIONS: u32 = 10;

pub(super) struct LabelPropagation {
    edges: Edges,
    label: LabelFilter,
    iterations: u32,
}

impl LabelPropagation {
    pub(super) fn read(parameters: &Value, snapshot: &Snapshot) -> Result<LabelPropagation, ProcedureError> {
        let names = ["types", "direction", "label", "iterations"];
        let given = ProgramParameters::read(parameters, &names, snapshot)?;
        Ok(LabelPropagation {
            edges: given.edges(Direction::Both)?,
            label: given.label()?,
            iterations: given.iterations()?.unwrap_or(ITERATIONS),
        })
    }
}

/// The label that is there most often; of several, the least.
fn most_frequent(labels: &mut [i64]) -> Option<i64> {
    labels.sort_unstable();
    let mut best: Option<(usize, i64)> = None;
    for run in labels.chunk_by(|a, b| a == b) {
        if best.is_none_or(|(count, _)| run.len() > count) {
            best = Some((run.len(), run[0]));
        }
    }
    best.map(|(_, label)| label)
}

impl NodeProgram for LabelPropagation {
    fn edges(&self) -> FollowedEdges<'_> {
        self.edges.of()
    }
    fn everywhere(&self) -> Everywhere {
        Everywhere::Passing(self.label.clone())
    }
    fn begins_at_some(&self) -> bool {
        false
    }
    fn visit(&self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        let (graph, round) = (batch.graph, batch.round);
        let (mut neighbours, mut labels) = (Vec::new(), Vec::new());
        for at in 0..batch.len() {
            let vertex = batch.vertex(at);
            if round == 0 {
                *batch.state(at) = Value::Int(VertexId::from_dense(vertex).0 as i64);
            } else if batch.state(at).is_null() {
                // It takes no part.
                continue;
            }
            labels.clear();
            batch.messages(at).each_int(|label| labels.push(label));
            if let Some(label) = most_frequent(&mut labels) {
                *batch.state(at) = Value::Int(label);
            }
            if round < self.iterations {
                let label = batch.state(at).clone();
                batch.out.send_each(graph.neighbours(vertex, &mut neighbours)?, &label);
                // Whoever gets no label sends its own in the next round all the same. In both directions, who gets none has nobody to send to.
                if self.edges.of().direction != Direction::Both {
                    batch.out.send(vertex, Value::Null);
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
            let (vertex, label) = (batch.vertex(at), batch.state(at).clone());
            batch.out.emit(vertex, label);
        }
        Ok(())
    }
}
