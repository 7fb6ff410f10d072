//! A view at one timestamp, read as any other graph.

use super::{Timestamp, View, at};
use model::schema::{IndexId, SchemaTarget};
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelSetId, Value, VertexId};
use store::{
    AdjacencyRead, AdjacencyView, Catalog, GraphRead, LabelFilter, PropertyRef, Statistics, StoreError,
};

/// The graph of a view, as it is at a timestamp.
pub(crate) struct At<'a> {
    view: &'a View,
    timestamp: Timestamp,
}

impl<'a> At<'a> {
    pub fn new(view: &'a View, timestamp: Timestamp) -> At<'a> {
        At { view, timestamp }
    }
}

/// The edges of some types in one direction, at a timestamp.
struct EdgesAlong<'a> {
    view: &'a View,
    timestamp: Timestamp,
    /// Their adjacency in the base.
    base: AdjacencyView,
    types: Vec<EdgeTypeId>,
    direction: Direction,
}

/// The cursor behind the last part of the base: the changes since.
const CHANGED: u64 = u64::MAX;

impl GraphRead for At<'_> {
    fn catalog(&self) -> &Catalog {
        self.view.newest.catalog()
    }
    fn statistics(&self) -> &Statistics {
        self.view.newest.statistics()
    }
    fn read_labels(
        &self,
        vertices: &[VertexId],
        visit: &mut dyn FnMut(Option<LabelSetId>),
    ) -> Result<(), StoreError> {
        if self.view.delta.vertices.is_empty() {
            return self.view.base.read_labels(vertices, visit);
        }
        vertices.iter().try_for_each(|vertex| {
            visit(self.view.labels(*vertex, self.timestamp)?);
            Ok(())
        })
    }
    fn read_property(
        &self,
        vertices: &[VertexId],
        key: KeyId,
        visit: &mut dyn FnMut(PropertyRef<'_>),
    ) -> Result<(), StoreError> {
        if self.view.delta.vertices.is_empty() && self.view.delta.properties.is_empty() {
            return self.view.base.read_property(vertices, key, visit);
        }
        vertices.iter().try_for_each(|vertex| {
            visit(PropertyRef::from(&self.property(*vertex, key)?));
            Ok(())
        })
    }
    fn read_edge_property(
        &self,
        edges: &[EdgeId],
        key: KeyId,
        visit: &mut dyn FnMut(PropertyRef<'_>),
    ) -> Result<(), StoreError> {
        if self.view.delta.edges.is_empty() && self.view.delta.edge_properties.is_empty() {
            return self.view.base.read_edge_property(edges, key, visit);
        }
        edges.iter().try_for_each(|edge| {
            visit(PropertyRef::from(&self.edge_property(*edge, key)?));
            Ok(())
        })
    }
    fn adjacency_of(&self, types: &[EdgeTypeId], direction: Direction) -> Box<dyn AdjacencyRead + '_> {
        let base = self.view.base.adjacency(types, direction);
        Box::new(EdgesAlong {
            view: self.view,
            timestamp: self.timestamp,
            base,
            types: types.to_vec(),
            direction,
        })
    }
    /// The parts of the base without changed entities; then all changed ones.
    fn scan(
        &self,
        filter: &LabelFilter,
        cursor: u64,
        found: &mut Vec<VertexId>,
    ) -> Result<Option<u64>, StoreError> {
        let changed = &self.view.delta.vertices;
        if cursor == CHANGED {
            for vertex in changed.keys() {
                if self.passes(*vertex, filter)? {
                    found.push(*vertex);
                }
            }
            return Ok(None);
        }
        let before = found.len();
        let next = self.view.base.scan(filter, cursor, found)?;
        if !changed.is_empty() {
            let own = found.split_off(before);
            found.extend(own.into_iter().filter(|vertex| !changed.contains_key(vertex)));
        }
        Ok(Some(next.unwrap_or(CHANGED)))
    }
    fn seek(&self, index: IndexId, value: &Value, found: &mut Vec<VertexId>) -> Result<(), StoreError> {
        let definition = self.catalog().index(index).ok_or(StoreError::NoIndex(index))?;
        let (SchemaTarget::Vertices(label), [key, ..]) = (definition.target, &*definition.keys) else {
            return Err(StoreError::NoIndex(index));
        };
        // One that was made since the base is not asked yet: all vertices with its label are shown. The base may have another one of its
        // number.
        let index = self.view.base.catalog().index_for(definition.target, &definition.keys);
        found.extend(self.view.candidates(&LabelFilter::Has(label), index, *key, value, self.timestamp)?);
        Ok(())
    }
    fn property(&self, vertex: VertexId, key: KeyId) -> Result<Value, StoreError> {
        match at(self.view.delta.vertices.get(&vertex), self.timestamp) {
            Some(None) => Ok(Value::Null),
            _ => self.view.property(vertex, key, self.timestamp),
        }
    }
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Value, StoreError> {
        self.view.edge_property(edge, key, self.timestamp)
    }
}

impl AdjacencyRead for EdgesAlong<'_> {
    fn neighbours(&self, vertices: &[VertexId], visit: &mut dyn FnMut(&[u32])) -> Result<(), StoreError> {
        let mut others = Vec::new();
        for vertex in vertices {
            if self.view.is_as_based(*vertex) {
                AdjacencyRead::neighbours(&self.base, &[*vertex], visit)?;
                continue;
            }
            others.clear();
            self.edges(&[*vertex], &mut |_, edge| {
                let other = if edge.source == *vertex { edge.target } else { edge.source };
                others.push(other.dense());
            })?;
            others.sort_unstable();
            visit(&others);
        }
        Ok(())
    }
    fn edges(&self, vertices: &[VertexId], visit: &mut dyn FnMut(usize, EdgeRef)) -> Result<(), StoreError> {
        let along = (&self.types[..], self.direction);
        for (place, vertex) in vertices.iter().enumerate() {
            self.view
                .edges_along(&self.base, *vertex, along, self.timestamp, &mut |edge| visit(place, edge))?;
        }
        Ok(())
    }
    fn between(
        &self,
        pairs: &[(VertexId, VertexId)],
        visit: &mut dyn FnMut(usize, EdgeId),
    ) -> Result<(), StoreError> {
        let along = (&self.types[..], self.direction);
        for (place, ends) in pairs.iter().enumerate() {
            self.view.between(&self.base, *ends, along, self.timestamp, &mut |edge| visit(place, edge))?;
        }
        Ok(())
    }
}
