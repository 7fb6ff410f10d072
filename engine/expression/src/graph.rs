//! The graph as expressions read it: a small trait, so that tests need no store. `store::Snapshot` implements it.

use super::error::{ErrorClass, EvalError};
use dataflow::watch::{LoopBytes, Stopped};
use model::column::Texts;
use model::{
    Column, ColumnBuilder, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, LabelSetId, NO_VERTEX, Value,
    VertexId,
};
use std::sync::Arc;
use store::{Catalog, EdgePropertyReader, PropertyReader, PropertyRef, PropertyRun, Snapshot, StoreError};
use store::{PropertyValues, push_values};

/// Names to ids. A name without an id is one that nothing in the graph carries.
pub trait Names {
    /// The label of this name.
    fn label(&self, name: &str) -> Option<LabelId>;
    /// The edge type of this name.
    fn edge_type(&self, name: &str) -> Option<EdgeTypeId>;
    /// The property key of this name.
    fn key(&self, name: &str) -> Option<KeyId>;
}

/// Is called once for each entity, in order, with its property as it lies in the store.
pub type Visit<'v> = dyn FnMut(PropertyRef<'_>) + 'v;

/// The graph as of one snapshot. Reading a vertex that does not exist is an error; [`NO_VERTEX`] has no property.
pub trait Graph: Names + Send + Sync {
    /// Name of a label.
    fn label_name(&self, label: LabelId) -> Arc<str>;
    /// Name of an edge type.
    fn edge_type_name(&self, edge_type: EdgeTypeId) -> Arc<str>;
    /// Name of a property key.
    fn key_name(&self, key: KeyId) -> Arc<str>;
    /// Labels of a vertex.
    fn labels(&self, vertex: VertexId) -> Result<Vec<LabelId>, EvalError>;
    /// The vertex's labels as one number, where the graph keeps such; equal numbers mean equal labels.
    fn label_set(&self, vertex: VertexId) -> Result<Option<LabelSetId>, EvalError> {
        let _ = vertex;
        Ok(None)
    }
    /// Appends [`Graph::label_set`] of many vertices; none for [`NO_VERTEX`].
    fn label_sets(
        &self,
        vertices: &[VertexId],
        found: &mut Vec<Option<LabelSetId>>,
    ) -> Result<(), EvalError> {
        for vertex in vertices {
            found.push(if *vertex == NO_VERTEX { None } else { self.label_set(*vertex)? });
        }
        Ok(())
    }
    /// Does the vertex carry this label?
    fn has_label(&self, vertex: VertexId, label: LabelId) -> Result<bool, EvalError>;
    /// A property of a vertex; null if absent.
    fn property(&self, vertex: VertexId, key: KeyId) -> Result<Value, EvalError>;
    /// All properties of a vertex.
    fn properties(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>, EvalError>;
    /// A property of an edge; null if absent.
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Value, EvalError>;
    /// Is this edge still there?
    fn edge_exists(&self, edge: EdgeRef) -> Result<bool, EvalError>;
    /// All properties of an edge.
    fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>, EvalError>;
    /// Shows `visit` one property of many vertices, borrowed.
    fn read_property(
        &self,
        vertices: &mut dyn Iterator<Item = VertexId>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError>;
    /// Shows `visit` one property of many edges, borrowed.
    fn read_edge_property(
        &self,
        edges: &mut dyn Iterator<Item = Option<EdgeId>>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError>;
    /// As [`Graph::read_property`], many values at a time where they lie together.
    fn read_property_runs(
        &self,
        vertices: &[VertexId],
        key: KeyId,
        visit: &mut VisitRuns<'_>,
    ) -> Result<(), EvalError> {
        let mut single = |value: PropertyRef<'_>| visit(PropertyValues::One(value));
        self.read_property(&mut vertices.iter().copied(), key, &mut single)
    }
    /// As [`Graph::read_edge_property`], many values at a time where they lie together; [`NO_EDGE`] has no property.
    fn read_edge_property_runs(
        &self,
        edges: &[EdgeId],
        key: KeyId,
        visit: &mut VisitRuns<'_>,
    ) -> Result<(), EvalError> {
        let mut edges = edges.iter().map(|edge| Some(*edge).filter(|edge| *edge != NO_EDGE));
        self.read_edge_property(&mut edges, key, &mut |value| visit(PropertyValues::One(value)))
    }
}

/// Stands for the missing edge in rows without one.
pub(super) const NO_EDGE: EdgeId = EdgeId(u64::MAX);

/// Told the values of a property, in order.
pub type VisitRuns<'a> = dyn FnMut(PropertyValues<'_>) + 'a;

/// A column of properties in the making.
#[derive(Default)]
struct Properties {
    column: ColumnBuilder,
    hold: LoopBytes,
    /// Bytes that are not charged yet.
    uncharged: u64,
    /// Set once the query has no bytes left; nothing more is taken then.
    stopped: Option<Stopped>,
    /// That of the last run of codes.
    dictionary: Option<Arc<Texts>>,
}

/// Bytes after which a column in the making is charged: not for each value.
const CHARGED_AT_BYTES: u64 = 16 << 10;

impl Properties {
    #[inline]
    fn push(&mut self, values: PropertyValues<'_>) {
        let bytes = match &values {
            PropertyValues::One(PropertyRef::Text(text)) => text.len() as u64,
            PropertyValues::One(PropertyRef::Other(other)) => other.heap_bytes() as u64,
            PropertyValues::Run(PropertyRun::Codes(_, dictionary)) => self.bytes_of(dictionary),
            _ => 0,
        };
        self.uncharged += bytes;
        if self.uncharged >= CHARGED_AT_BYTES {
            self.charge();
        }
        if self.stopped.is_some() {
            return;
        }
        push_values(&mut self.column, values);
    }
    /// Of a dictionary that the last run did not have.
    fn bytes_of(&mut self, dictionary: &Arc<Texts>) -> u64 {
        if self.dictionary.as_ref().is_some_and(|last| Arc::ptr_eq(last, dictionary)) {
            return 0;
        }
        self.dictionary = Some(dictionary.clone());
        dictionary.bytes() as u64
    }
    #[cold]
    fn charge(&mut self) {
        let bytes = std::mem::take(&mut self.uncharged);
        self.stopped = self.stopped.or(self.hold.grow(bytes).err());
    }
    fn finish(mut self) -> Result<Column, EvalError> {
        self.charge();
        match self.stopped {
            Some(stopped) => Err(stopped.into()),
            None => Ok(self.column.finish()),
        }
    }
}

/// One property of many vertices as a column; text is copied once, or stays in codes.
pub(super) fn property_column(
    graph: &dyn Graph,
    vertices: &[VertexId],
    key: KeyId,
) -> Result<Column, EvalError> {
    let mut column = Properties::default();
    graph.read_property_runs(vertices, key, &mut |values| column.push(values))?;
    column.finish()
}

/// One property of many edges as a column; text is copied once, or stays in codes.
pub(super) fn edge_property_column(
    graph: &dyn Graph,
    edges: &[EdgeId],
    key: KeyId,
) -> Result<Column, EvalError> {
    let mut column = Properties::default();
    graph.read_edge_property_runs(edges, key, &mut |values| column.push(values))?;
    column.finish()
}

/// The property `key` of many edges, none of them deleted, as a column: null for each that has none.
///
/// # Errors
/// The graph cannot be read, or the query's memory is used up.
pub fn edge_properties(graph: &dyn Graph, edges: &[EdgeId], key: &str) -> Result<Column, EvalError> {
    match graph.key(key) {
        Some(key) => edge_property_column(graph, edges, key),
        None => Ok(Column::Constant(Value::Null, edges.len())),
    }
}

impl Names for Catalog {
    fn label(&self, name: &str) -> Option<LabelId> {
        Catalog::label(self, name)
    }
    fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        Catalog::edge_type(self, name)
    }
    fn key(&self, name: &str) -> Option<KeyId> {
        Catalog::key(self, name)
    }
}

impl Names for Snapshot {
    fn label(&self, name: &str) -> Option<LabelId> {
        self.catalog().label(name)
    }
    fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.catalog().edge_type(name)
    }
    fn key(&self, name: &str) -> Option<KeyId> {
        self.catalog().key(name)
    }
}

impl From<StoreError> for EvalError {
    fn from(error: StoreError) -> EvalError {
        match error {
            StoreError::NoVertex(vertex) => deleted_vertex(vertex),
            StoreError::NoEdge(edge) => deleted_edge(edge),
            StoreError::Unavailable(_) => {
                EvalError::new(ErrorClass::Unavailable, error.to_string()).with_hint(error.hint())
            }
            other => EvalError::new(ErrorClass::Storage, other.to_string()),
        }
    }
}

pub(super) fn deleted_edge(edge: EdgeId) -> EvalError {
    EvalError::entity_not_found(format!("Relationship with id {}", edge.0))
}

fn deleted_vertex(vertex: VertexId) -> EvalError {
    EvalError::entity_not_found(format!("Node with id {}", vertex.0))
}

/// The store reads an absent vertex as one without properties; here that is an error, asked only where nothing was found.
fn must_exist(snapshot: &Snapshot, vertex: VertexId) -> Result<(), EvalError> {
    if vertex == NO_VERTEX || snapshot.exists(vertex)? { Ok(()) } else { Err(deleted_vertex(vertex)) }
}

impl Graph for Snapshot {
    fn label_name(&self, label: LabelId) -> Arc<str> {
        self.catalog().label_name(label).cloned().unwrap_or_else(|| "".into())
    }
    fn edge_type_name(&self, edge_type: EdgeTypeId) -> Arc<str> {
        self.catalog().edge_type_name(edge_type).cloned().unwrap_or_else(|| "".into())
    }
    fn key_name(&self, key: KeyId) -> Arc<str> {
        self.catalog().key_name(key).cloned().unwrap_or_else(|| "".into())
    }
    fn labels(&self, vertex: VertexId) -> Result<Vec<LabelId>, EvalError> {
        if let Some(label) = vertex.schema_label() {
            return Ok(vec![label]);
        }
        Ok(self.catalog().labels_of(Snapshot::labels(self, vertex)?).to_vec())
    }
    fn label_set(&self, vertex: VertexId) -> Result<Option<LabelSetId>, EvalError> {
        if vertex.schema_label().is_some() {
            return Ok(None);
        }
        Ok(Some(Snapshot::labels(self, vertex)?))
    }
    fn label_sets(
        &self,
        vertices: &[VertexId],
        found: &mut Vec<Option<LabelSetId>>,
    ) -> Result<(), EvalError> {
        let first = found.len();
        Snapshot::label_sets(self, vertices, found)?;
        for (vertex, set) in vertices.iter().zip(&found[first..]) {
            if set.is_none() && vertex.schema_label().is_none() {
                must_exist(self, *vertex)?;
            }
        }
        Ok(())
    }
    fn has_label(&self, vertex: VertexId, label: LabelId) -> Result<bool, EvalError> {
        if let Some(own) = vertex.schema_label() {
            return Ok(own == label);
        }
        let found = Snapshot::has_label(self, vertex, label)?;
        if !found {
            must_exist(self, vertex)?;
        }
        Ok(found)
    }
    fn property(&self, vertex: VertexId, key: KeyId) -> Result<Value, EvalError> {
        let value = Snapshot::property(self, vertex, key)?;
        if value.is_null() {
            must_exist(self, vertex)?;
        }
        Ok(value)
    }
    fn properties(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        let found = Snapshot::properties(self, vertex)?;
        if found.is_empty() {
            must_exist(self, vertex)?;
        }
        Ok(found)
    }
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Value, EvalError> {
        Ok(Snapshot::edge_property(self, edge, key)?)
    }
    fn edge_exists(&self, edge: EdgeRef) -> Result<bool, EvalError> {
        Ok(Snapshot::edge_exists(self, edge)?)
    }
    fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        Ok(Snapshot::edge_properties(self, edge)?)
    }
    fn read_property(
        &self,
        vertices: &mut dyn Iterator<Item = VertexId>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        let mut reader = PropertyReader::new(self, key);
        for vertex in vertices {
            let found = if vertex == NO_VERTEX { PropertyRef::Null } else { reader.get(vertex)? };
            if found.is_null() {
                must_exist(self, vertex)?;
            }
            visit(found);
        }
        Ok(())
    }
    fn read_edge_property(
        &self,
        edges: &mut dyn Iterator<Item = Option<EdgeId>>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        let mut reader = EdgePropertyReader::new(self, key);
        for edge in edges {
            visit(edge.map_or(Ok(PropertyRef::Null), |edge| reader.get(edge))?);
        }
        Ok(())
    }
    fn read_property_runs(
        &self,
        vertices: &[VertexId],
        key: KeyId,
        visit: &mut VisitRuns<'_>,
    ) -> Result<(), EvalError> {
        PropertyReader::new(self, key).read(vertices, |vertex, values| {
            if matches!(values, PropertyValues::One(PropertyRef::Null)) {
                must_exist(self, vertex)?;
            }
            visit(values);
            Ok(())
        })
    }
    fn read_edge_property_runs(
        &self,
        edges: &[EdgeId],
        key: KeyId,
        visit: &mut VisitRuns<'_>,
    ) -> Result<(), EvalError> {
        EdgePropertyReader::new(self, key).read(edges, |_, values| {
            visit(values);
            Ok(())
        })
    }
}
