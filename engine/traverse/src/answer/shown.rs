//! What stands behind the number of a vertex or edge, for a door that writes one out.

use super::kept::{self, OWN_ID};
use super::{Answer, AnswerError};
use gremlin::{Object, ShownEdge, ShownVertex, VertexProperty};
use model::{EdgeRef, Value, VertexId};
use std::sync::Arc;
use store::{Snapshot, StoreError};

impl Answer {
    /// A vertex; one that is gone has no label and no properties.
    pub fn vertex(&self, vertex: VertexId) -> Result<ShownVertex, AnswerError> {
        let view = &self.view;
        let id = vertex_id(view, vertex)?;
        let label = labels(view, vertex)?.join("::").into();
        let mut properties = Vec::new();
        if view.exists(vertex)? {
            for (key, value) in named(view, view.properties(vertex)?) {
                let is_wide = kept::is_wide(view, &key);
                for (place, one) in kept::many_of(&value, is_wide).into_iter().enumerate() {
                    let (key, place) = (key.clone(), place as u32);
                    properties.push(VertexProperty { vertex, key, place, value: one.value, meta: one.meta });
                }
            }
        }
        Ok(ShownVertex { id, label, properties })
    }
    /// The id and label of a vertex.
    pub fn vertex_name(&self, vertex: VertexId) -> Result<(Object, Arc<str>), AnswerError> {
        let id = vertex_id(&self.view, vertex)?;
        Ok((id, labels(&self.view, vertex)?.join("::").into()))
    }
    /// An edge; one that is gone has no properties.
    pub fn edge(&self, edge: &EdgeRef) -> Result<ShownEdge, AnswerError> {
        let view = &self.view;
        let properties = match view.edge(edge.id)? {
            Some(_) => named(view, view.edge_properties(edge.id)?),
            None => Vec::new(),
        };
        Ok(ShownEdge {
            id: edge_id(view, edge)?,
            label: view.catalog().edge_type_name(edge.id.edge_type()).cloned().unwrap_or_else(|| "".into()),
            out_vertex: self.vertex_name(edge.source)?,
            in_vertex: self.vertex_name(edge.target)?,
            properties: properties
                .into_iter()
                .map(|(key, value)| {
                    let value = kept::read(&value, kept::is_wide(view, &key));
                    (key, value)
                })
                .collect(),
        })
    }
}

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
        kept::read(&own, kept::is_wide(view, OWN_ID))
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
        kept::read(&own, kept::is_wide(view, OWN_ID))
    })
}
