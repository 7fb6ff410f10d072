//! Elements of a file that exist in the graph already: vertices by clients' ids, edges by their ends, type and properties.
//!
//! Each edge of the graph matches one of the file. Cost: one walk over the vertices; the edges of a vertex are read when the file names one.

use super::name;
use crate::answer::stored_value;
use model::{Direction, EdgeId, EdgeTypeId, KeyId, Value, VertexId};
use plan::hidden::OWN_ID;
use std::collections::HashMap;
use store::{EdgeScratch, LabelFilter, Snapshot, StoreError};

/// Target, type and properties of an edge, the properties by key.
type KnownEdge = (VertexId, EdgeTypeId, String);

pub(super) struct There {
    snapshot: Snapshot,
    vertices: HashMap<String, VertexId>,
    /// Edges that leave a vertex, and how many of them no edge of the file was yet.
    edges: HashMap<VertexId, HashMap<KnownEdge, usize>>,
    scratch: EdgeScratch,
}

impl There {
    pub fn of(snapshot: &Snapshot) -> Result<There, StoreError> {
        let mut vertices = HashMap::new();
        if let Some(own) = snapshot.catalog().key(OWN_ID) {
            for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
                let mut found = Vec::new();
                snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut found)?;
                for vertex in found {
                    let id = snapshot.property(vertex, own)?;
                    if !id.is_null() {
                        vertices.insert(name(&stored_value::to_object(&id)), vertex);
                    }
                }
            }
        }
        let (edges, scratch) = (HashMap::new(), EdgeScratch::default());
        Ok(There { snapshot: snapshot.clone(), vertices, edges, scratch })
    }
    /// The vertex with this id.
    pub fn vertex(&self, id: &str) -> Option<VertexId> {
        self.vertices.get(id).copied()
    }
    /// Is there such an edge that matched none of the file yet?
    pub fn take_edge(
        &mut self,
        source: VertexId,
        target: VertexId,
        kind: EdgeTypeId,
        held: &[(KeyId, Value)],
    ) -> Result<bool, StoreError> {
        if self.vertices.is_empty() || source.dense() >= self.snapshot.vertex_bound() {
            return Ok(false);
        }
        let There { snapshot, edges, scratch, .. } = self;
        let known = match edges.entry(source) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(place) => {
                let mut known = HashMap::new();
                let view = snapshot.adjacency(&[], Direction::Out);
                let (targets, numbers) = view.edges(source.dense(), scratch)?;
                for (target, edge) in targets.iter().zip(numbers) {
                    let (target, edge) = (VertexId::from_dense(*target), EdgeId(*edge));
                    let held = text(&snapshot.edge_properties(edge)?);
                    *known.entry((target, edge.edge_type(), held)).or_insert(0) += 1;
                }
                place.insert(known)
            }
        };
        let Some(left) = known.get_mut(&(target, kind, text(held))).filter(|left| **left > 0) else {
            return Ok(false);
        };
        *left -= 1;
        Ok(true)
    }
}

fn text(held: &[(KeyId, Value)]) -> String {
    let mut named: Vec<(KeyId, &Value)> = held.iter().map(|(key, value)| (*key, value)).collect();
    named.sort_by_key(|(key, _)| *key);
    format!("{named:?}")
}
