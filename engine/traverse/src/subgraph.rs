//! `subgraph`: collects the edges of traversers, with their ends, as a part of the graph.

use crate::error::{Outcome, TraverseError};
use crate::limits::COLLECTION_MAX;
use foldhash::HashSet;
use gremlin::{Object, object::Graph};
use model::{EdgeId, VertexId};
use std::sync::Arc;

/// A part of the graph under construction.
#[derive(Default)]
pub(crate) struct Part {
    graph: Arc<Graph>,
    vertices: HashSet<VertexId>,
    edges: HashSet<EdgeId>,
}

impl Part {
    /// Puts an edge and its ends aside.
    pub fn add(&mut self, object: &Object) -> Outcome<()> {
        let Object::Edge(edge) = object else {
            let message = format!("{object} is a {}, not an edge", object.type_name());
            return Err(TraverseError::step("subgraph", message));
        };
        if !self.edges.insert(edge.id) {
            return Ok(());
        }
        let graph = Arc::make_mut(&mut self.graph);
        for end in [edge.source, edge.target] {
            if self.vertices.insert(end) {
                graph.vertices.push(end);
            }
        }
        graph.edges.push(edge.clone());
        match graph.edges.len() > COLLECTION_MAX {
            true => Err(TraverseError::Limit(format!("subgraph keeps more than {COLLECTION_MAX} edges"))),
            false => Ok(()),
        }
    }
    /// The subgraph so far.
    pub fn object(&self) -> Object {
        Object::Graph(self.graph.clone())
    }
}
