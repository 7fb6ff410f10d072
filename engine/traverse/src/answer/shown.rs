//! Resolves the number of a vertex or edge, for an interface that writes it out.

use super::elements::{edge_id, labels, named, vertex_id};
use super::outcome::AnswerError;
use super::{Answer, stored_value};
use gremlin::{Object, ShownEdge, ShownVertex, VertexProperty};
use model::{EdgeRef, VertexId};
use std::sync::Arc;

impl Answer {
    /// A vertex; one that is gone has no label and no properties.
    pub fn vertex(&self, vertex: VertexId) -> Result<ShownVertex, AnswerError> {
        let view = &self.view;
        let id = vertex_id(view, vertex)?;
        let label = labels(view, vertex)?.join("::").into();
        let mut properties = Vec::new();
        if view.exists(vertex)? {
            for (key, value) in named(view, view.properties(vertex)?) {
                let is_wide = stored_value::is_wide(view, &key);
                for (place, one) in stored_value::many_of(&value, is_wide).into_iter().enumerate() {
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
                    let value = stored_value::read(&value, stored_value::is_wide(view, &key));
                    (key, value)
                })
                .collect(),
        })
    }
}
