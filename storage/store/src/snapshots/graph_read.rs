//! The read interface of query engines: one trait, implemented by [`Snapshot`], by a graph at one moment of a stream of commits (`standing`), and one
//! day by other machines.
//!
//! Idea: each method takes many vertices or edges, since a call may be a request over a network; results are passed to a `visit`, in the order of the
//! request, borrowed in place. Names, counts and indexes are those of the catalogue, which every reader holds. A reader that follows edges takes an
//! [`AdjacencyRead`] of their types and direction once.
//!
//! Invariant: all answers are of one version of the graph. Cost: a dynamic call for each batch, and one for each entity shown.

use crate::chunks::chunk::ChunkRead;
use crate::chunks::chunk::PartName;
use crate::chunks::column::PropertyRef;
use crate::error::StoreError;
use crate::schema::catalog::Catalog;
use crate::schema::filter::LabelFilter;
use crate::schema::statistics::Statistics;
use crate::snapshots::adjacency::AdjacencyView;
use crate::snapshots::property::{EdgePropertyReader, PropertyReader};
use crate::snapshots::root::Snapshot;
use model::schema::IndexId;
use model::{ChunkNo, Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelSetId, Value, VertexId};

/// The graph at one version. A vertex or an edge that is not there has no label set and no property.
pub trait GraphRead: Send + Sync {
    /// Names, indexes and constraints. Every index in it can be read by [`GraphRead::seek`].
    fn catalog(&self) -> &Catalog;
    /// Counts, which may lag behind the version.
    fn statistics(&self) -> &Statistics;

    /// Shows the label set of each vertex; none where there is no such vertex.
    fn read_labels(
        &self,
        vertices: &[VertexId],
        visit: &mut dyn FnMut(Option<LabelSetId>),
    ) -> Result<(), StoreError>;
    /// Shows a property of each vertex.
    fn read_property(
        &self,
        vertices: &[VertexId],
        key: KeyId,
        visit: &mut dyn FnMut(PropertyRef<'_>),
    ) -> Result<(), StoreError>;
    /// Shows a property of each edge. The value for an edge that is gone is unspecified.
    fn read_edge_property(
        &self,
        edges: &[EdgeId],
        key: KeyId,
        visit: &mut dyn FnMut(PropertyRef<'_>),
    ) -> Result<(), StoreError>;
    /// The edges of these types (none given: all types) met in this direction.
    fn adjacency_of(&self, types: &[EdgeTypeId], direction: Direction) -> Box<dyn AdjacencyRead + '_>;
    /// Appends a part of the vertices that pass the filter, each vertex once over all parts: begins at `cursor` 0, and gives the
    /// cursor to go on with, none at the end. A part has a bounded size, and may be empty.
    fn scan(
        &self,
        filter: &LabelFilter,
        cursor: u64,
        found: &mut Vec<VertexId>,
    ) -> Result<Option<u64>, StoreError>;
    /// Appends vertices, each once, among which are all whose first indexed key equals `value`. Null and NaN equal nothing.
    fn seek(&self, index: IndexId, value: &Value, found: &mut Vec<VertexId>) -> Result<(), StoreError>;

    /// The label set of one vertex.
    fn label_set(&self, vertex: VertexId) -> Result<Option<LabelSetId>, StoreError> {
        let mut found = None;
        self.read_labels(&[vertex], &mut |set| found = set)?;
        Ok(found)
    }
    /// Is there such a vertex, and does it pass the filter?
    fn passes(&self, vertex: VertexId, filter: &LabelFilter) -> Result<bool, StoreError> {
        let set = self.label_set(vertex)?;
        Ok(set.is_some_and(|set| filter.accepts(self.catalog().labels_of(set))))
    }
    /// A property of one vertex; null where it has none.
    fn property(&self, vertex: VertexId, key: KeyId) -> Result<Value, StoreError> {
        let mut found = Value::Null;
        self.read_property(&[vertex], key, &mut |value| found = value.to_value())?;
        Ok(found)
    }
    /// A property of one edge; null where it has none.
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Value, StoreError> {
        let mut found = Value::Null;
        self.read_edge_property(&[edge], key, &mut |value| found = value.to_value())?;
        Ok(found)
    }
}

/// Edges of some types in one direction, of one version of the graph. Where edges are met from both ends, a self-loop is met once.
pub trait AdjacencyRead: Send + Sync {
    /// Shows the neighbours of each vertex as dense numbers, one for each edge. Those along one type in one direction ascend.
    fn neighbours(&self, vertices: &[VertexId], visit: &mut dyn FnMut(&[u32])) -> Result<(), StoreError>;
    /// Shows the edges of each vertex in stored direction, with the vertex's index in `vertices`.
    fn edges(&self, vertices: &[VertexId], visit: &mut dyn FnMut(usize, EdgeRef)) -> Result<(), StoreError>;
    /// Shows the edges that lead from one vertex to another in the view's direction, with the pair's index in `pairs`; found by both ends, however
    /// many edges they have.
    fn between(
        &self,
        pairs: &[(VertexId, VertexId)],
        visit: &mut dyn FnMut(usize, EdgeId),
    ) -> Result<(), StoreError>;
}

impl GraphRead for Snapshot {
    fn catalog(&self) -> &Catalog {
        Snapshot::catalog(self)
    }
    fn statistics(&self) -> &Statistics {
        Snapshot::statistics(self)
    }
    fn read_labels(
        &self,
        vertices: &[VertexId],
        visit: &mut dyn FnMut(Option<LabelSetId>),
    ) -> Result<(), StoreError> {
        for vertex in vertices {
            visit(self.seen(*vertex, PartName::Head)?.and_then(|(chunk, slot)| chunk.labels(slot)));
        }
        Ok(())
    }
    fn read_property(
        &self,
        vertices: &[VertexId],
        key: KeyId,
        visit: &mut dyn FnMut(PropertyRef<'_>),
    ) -> Result<(), StoreError> {
        if let [vertex] = vertices {
            return self.with_property(*vertex, key, visit);
        }
        let mut reader = PropertyReader::new(self, key);
        vertices.iter().try_for_each(|vertex| {
            visit(reader.get(*vertex)?);
            Ok(())
        })
    }
    fn read_edge_property(
        &self,
        edges: &[EdgeId],
        key: KeyId,
        visit: &mut dyn FnMut(PropertyRef<'_>),
    ) -> Result<(), StoreError> {
        if let [edge] = edges {
            return self.with_edge_property(*edge, key, visit);
        }
        let mut reader = EdgePropertyReader::new(self, key);
        edges.iter().try_for_each(|edge| {
            visit(reader.get(*edge)?);
            Ok(())
        })
    }
    fn adjacency_of(&self, types: &[EdgeTypeId], direction: Direction) -> Box<dyn AdjacencyRead + '_> {
        Box::new(self.adjacency(types, direction))
    }
    /// A part is a chunk, and its number the cursor.
    fn scan(
        &self,
        filter: &LabelFilter,
        cursor: u64,
        found: &mut Vec<VertexId>,
    ) -> Result<Option<u64>, StoreError> {
        let bound = self.root.directory.bound();
        let from = ChunkNo::try_from(cursor).unwrap_or(bound);
        let Some(chunk) = (from..bound).find(|chunk| self.may_hold(*chunk, filter)) else { return Ok(None) };
        self.scan_chunk(chunk, filter, found)?;
        Ok(Some(u64::from(chunk) + 1))
    }
    fn seek(&self, index: IndexId, value: &Value, found: &mut Vec<VertexId>) -> Result<(), StoreError> {
        found.extend(Snapshot::seek(self, index, std::slice::from_ref(value))?);
        Ok(())
    }
    fn passes(&self, vertex: VertexId, filter: &LabelFilter) -> Result<bool, StoreError> {
        Snapshot::passes(self, vertex, filter)
    }
}

impl AdjacencyRead for AdjacencyView {
    fn neighbours(&self, vertices: &[VertexId], visit: &mut dyn FnMut(&[u32])) -> Result<(), StoreError> {
        let (bound, mut scratch) = (u64::from(self.vertex_bound()), Vec::new());
        for vertex in vertices {
            match vertex.0 < bound {
                true => visit(AdjacencyView::neighbours(self, vertex.dense(), &mut scratch)?),
                false => visit(&[]),
            }
        }
        Ok(())
    }
    fn edges(&self, vertices: &[VertexId], visit: &mut dyn FnMut(usize, EdgeRef)) -> Result<(), StoreError> {
        let bound = u64::from(self.vertex_bound());
        for (at, vertex) in vertices.iter().enumerate().filter(|(_, vertex)| vertex.0 < bound) {
            self.for_each_edge(vertex.dense(), |edge| visit(at, edge))?;
        }
        Ok(())
    }
    fn between(
        &self,
        pairs: &[(VertexId, VertexId)],
        visit: &mut dyn FnMut(usize, EdgeId),
    ) -> Result<(), StoreError> {
        let (bound, mut found) = (u64::from(self.vertex_bound()), Vec::new());
        for (at, (from, to)) in pairs.iter().enumerate() {
            if from.0 < bound && to.0 < bound {
                self.find(from.dense(), to.dense(), &mut found)?;
                found.drain(..).for_each(|edge| visit(at, edge));
            }
        }
        Ok(())
    }
}
