//! Indexes over the properties of edges: the same trees, whose entries hold the whole edge.
//!
//! ```text
//!   entry of an index over vertices    values of the keys                        | vertex
//!   entry of an index over edges       values of the keys, edge's id, its target | source
//! ```
//! An edge is indexed if it has the type and none of the keys is null. Invariants: entries differ, since ids do; those with the same values are
//! adjacent; results are exact. Cost: keys are stored one by one, some 100 bytes an edge in memory; a write costs the same as in an index over
//! vertices, however many edges its ends have.

use crate::StoreError;
use crate::indexes::range::{Found, IndexRange, VertexTest};
use crate::indexes::run::Entry;
use crate::indexes::tree::Index;
use model::schema::{IndexDefinition, SchemaTarget};
use model::{EdgeId, EdgeRef, Value, VertexId};
use std::ops::Bound;
use std::sync::Arc;

/// The edge of an entry; an error where it is an entry of another kind.
pub(crate) fn edge_of(entry: &Entry) -> Result<EdgeRef, StoreError> {
    let strange = || StoreError::corrupt("an index over edges holds something else");
    let [.., id, target] = entry.key.values() else { return Err(strange()) };
    let (Some(id), Some(target)) = (id.as_int(), target.as_int()) else { return Err(strange()) };
    let target = u32::try_from(target).map_err(|_| strange())?;
    let (source, target) = (VertexId::from_dense(entry.vertex), VertexId::from_dense(target));
    Ok(EdgeRef { id: EdgeId(id as u64), source, target })
}

/// Two different entities have the same values in a unique index.
pub(crate) fn not_unique(definition: &IndexDefinition, a: &Entry, b: &Entry) -> StoreError {
    let index = definition.id;
    match (definition.target, edge_of(a), edge_of(b)) {
        (SchemaTarget::Edges(_), Ok(a), Ok(b)) => StoreError::EdgesNotUnique { index, edges: (a.id, b.id) },
        _ => {
            let vertices = (VertexId::from_dense(a.vertex), VertexId::from_dense(b.vertex));
            StoreError::NotUnique { index, vertices }
        }
    }
}

/// The edges of a range of an index, in its order. A step fails where a leaf cannot be loaded.
pub struct EdgeRange(IndexRange);

impl EdgeRange {
    /// The same range, of which only edges with ends that pass the test are found.
    pub(crate) fn shown_by(self, test: Option<VertexTest>) -> EdgeRange {
        EdgeRange(self.0.shown_by(test))
    }
    fn step(&mut self) -> Option<Result<EdgeRef, StoreError>> {
        let edge = |found: Found<'_>| match found {
            Found::Stored(run, at) => edge_of(&run.entry(at)),
            Found::Added(entry) => edge_of(&entry),
        };
        self.0.step_with(edge).and_then(Option::transpose).transpose()
    }
}

impl Iterator for EdgeRange {
    type Item = Result<EdgeRef, StoreError>;
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let edge = match self.step()? {
                Ok(edge) => edge,
                Err(error) => return Some(Err(error)),
            };
            match self.0.shows(edge.source).and_then(|source| Ok(source && self.0.shows(edge.target)?)) {
                Ok(true) => return Some(Ok(edge)),
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Index {
    /// Edges whose first key lies between the bounds, as [`Index::range`] for vertices.
    pub(crate) fn edge_range(
        self: &Arc<Index>,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<EdgeRange, StoreError> {
        match self.definition.target {
            SchemaTarget::Edges(_) => Ok(EdgeRange(self.range(lower, upper)?)),
            SchemaTarget::Vertices(_) => Err(StoreError::NoIndex(self.definition.id)),
        }
    }
    /// Edges whose first keys equal `prefix`, as [`Index::seek`] for vertices.
    pub(crate) fn seek_edges(&self, prefix: &[Value]) -> Result<Vec<EdgeRef>, StoreError> {
        let SchemaTarget::Edges(_) = self.definition.target else {
            return Err(StoreError::NoIndex(self.definition.id));
        };
        self.seek_entries(prefix)?.iter().map(edge_of).collect()
    }
}
