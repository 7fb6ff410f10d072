//! Ids, labels and properties of vertices and edges, as clients know them.

use super::stored_value::{self, OWN_ID};
use gremlin::Object;
use model::{EdgeRef, Value, VertexId};
use std::sync::Arc;
use store::{Snapshot, StoreError};

/// Properties by their names, in order, without the id that a client gave.
pub(super) fn named(view: &Snapshot, properties: Vec<(model::KeyId, Value)>) -> Vec<(Arc<str>, Value)> {
    let named = properties
        .into_iter()
        .filter_map(|(key, value)| Some((view.catalog().key_name(key)?.clone(), value)));
    let mut named: Vec<_> = named.filter(|(key, _)| &**key != OWN_ID).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named
}

pub(super) fn labels(view: &Snapshot, vertex: VertexId) -> Result<Vec<Arc<str>>, StoreError> {
    if !view.exists(vertex)? {
        return Ok(Vec::new());
    }
    let catalog = view.catalog();
    let named = catalog
        .labels_of(view.labels(vertex)?)
        .iter()
        .filter_map(|label| catalog.label_name(*label).cloned());
    let mut named: Vec<Arc<str>> = named.collect();
    named.sort();
    Ok(named)
}

pub(super) fn vertex_id(view: &Snapshot, vertex: VertexId) -> Result<Object, StoreError> {
    let own = match view.catalog().key(OWN_ID) {
        Some(key) if view.exists(vertex)? => view.property(vertex, key)?,
        _ => Value::Null,
    };
    Ok(if own.is_null() {
        Object::Long(vertex.0 as i64)
    } else {
        stored_value::read(&own, stored_value::is_wide(view, OWN_ID))
    })
}

pub(super) fn edge_id(view: &Snapshot, edge: &EdgeRef) -> Result<Object, StoreError> {
    let own = match view.catalog().key(OWN_ID) {
        Some(key) if view.edge(edge.id)?.is_some() => view.edge_property(edge.id, key)?,
        _ => Value::Null,
    };
    Ok(if own.is_null() {
        Object::Long(edge.id.0 as i64)
    } else {
        stored_value::read(&own, stored_value::is_wide(view, OWN_ID))
    })
}
