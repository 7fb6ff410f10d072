//! Functions of vertices, edges and paths.

use crate::error::{EvalError, takes};
use crate::metered;
use crate::scope::Scope;
use model::{EdgeRef, KeyId, Value, VertexId};
use plan::Function;
use plan::hidden::is_hidden;
use std::sync::Arc;

pub(super) fn call(function: Function, value: &Value, scope: &Scope<'_>) -> Result<Value, EvalError> {
    use Function as F;
    if value.is_null() {
        return Ok(Value::Null);
    }
    metered::walk(value)?;
    Ok(match (function, value) {
        (F::Id, Value::Vertex(vertex)) => Value::Int(vertex.0 as i64),
        (F::Id, Value::Edge(edge)) => Value::Int(edge.id.0 as i64),
        (F::ElementId, Value::Vertex(vertex)) => Value::string(vertex_element_id(*vertex)),
        (F::ElementId, Value::Edge(edge)) => Value::string(edge_element_id(edge)),
        (F::Labels, Value::Vertex(vertex)) => {
            let labels = scope.graph.labels(*vertex)?;
            Value::list(
                labels.into_iter().map(|label| Value::String(scope.graph.label_name(label))).collect(),
            )
        }
        (F::Type, Value::Edge(edge)) => Value::String(scope.graph.edge_type_name(edge.id.edge_type())),
        (F::Keys, value) => {
            let pairs = properties(value, scope)?;
            let mut names: Vec<Arc<str>> = pairs.into_iter().map(|(name, _)| name).collect();
            names.sort_unstable();
            Value::try_list(names.into_iter().map(Value::String).collect())?
        }
        (F::Properties, value) => Value::try_map(properties(value, scope)?)?,
        (F::StartNode, Value::Edge(edge)) => Value::Vertex(edge.source),
        (F::EndNode, Value::Edge(edge)) => Value::Vertex(edge.target),
        (F::Nodes, Value::Path(path)) => {
            metered::list(path.vertices.len(), path.vertices.iter().copied().map(Value::Vertex))?
        }
        (F::Relationships, Value::Path(path)) => {
            metered::list(path.edges.len(), path.edges.iter().copied().map(Value::edge))?
        }
        (F::Length, Value::Path(path)) => Value::Int(path.edges.len() as i64),
        (F::Id | F::ElementId, other) => return Err(takes(function, "a Node or Relationship", other)),
        (F::Labels, other) => return Err(takes(function, "a Node", other)),
        (F::Type | F::StartNode | F::EndNode, other) => return Err(takes(function, "a Relationship", other)),
        (_, other) => return Err(takes(function, "a Path", other)),
    })
}

/// Identity of a vertex as drivers see it.
pub fn vertex_element_id(vertex: VertexId) -> String {
    format!("4:tanglewood:{}", vertex.0)
}

/// Identity of an edge as drivers see it.
pub fn edge_element_id(edge: &EdgeRef) -> String {
    format!("5:tanglewood:{}", edge.id.0)
}

/// All properties of a vertex, edge or map, by name.
///
/// # Errors
/// Anything else, or an entity that does not exist.
pub fn properties(subject: &Value, scope: &Scope<'_>) -> Result<Vec<(Arc<str>, Value)>, EvalError> {
    let named = |pairs: Vec<(KeyId, Value)>| {
        let present = pairs.into_iter().filter(|(_, value)| !value.is_null());
        let named = present.map(|(key, value)| (scope.graph.key_name(key), value));
        named.filter(|(key, _): &(Arc<str>, Value)| !is_hidden(key)).collect()
    };
    match subject {
        Value::Vertex(vertex) => Ok(named(scope.graph.properties(*vertex)?)),
        Value::Edge(edge) => {
            scope.check_edge(**edge)?;
            Ok(named(scope.graph.edge_properties(edge.id)?))
        }
        Value::Map(map) => Ok(map.iter().map(|(name, value)| (name.clone(), value.clone())).collect()),
        Value::Null => Ok(Vec::new()),
        other => Err(EvalError::wrong_type("reading properties", "a Node, Relationship or Map", other)),
    }
}
