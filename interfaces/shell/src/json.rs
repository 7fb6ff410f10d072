//! Values as JSON, for programs.
//!
//! A vertex is `{"id", "labels", "properties"}`, an edge `{"id", "type", "start", "end", "properties"}`, a path `{"nodes",
//! "relationships"}`. Temporal values are ISO 8601 text, bytes hexadecimal text, points objects; NaN and the infinities, which JSON
//! does not have, are text. Integers stay integers, up to all 64 bits.

use crate::text::{bytes_text, float_text, put, write_quoted};
use database::Value;
use database::entity::{Hydrated, Node, Relationship};
use std::sync::Arc;

/// Appends a value.
pub fn write_json(out: &mut String, value: &Hydrated) {
    match value {
        Hydrated::Plain(plain) => write_plain(out, plain),
        Hydrated::List(items) => write_array(out, items, write_json),
        Hydrated::Map(pairs) => {
            write_object(out, pairs.iter().map(|(key, item)| (&**key, item)), write_json);
        }
        Hydrated::Node(node) => write_node(out, node),
        Hydrated::Relationship(relationship) => write_relationship(out, relationship),
        Hydrated::Path(nodes, relationships) => {
            out.push_str("{\"nodes\":");
            write_array(out, nodes, write_node);
            out.push_str(",\"relationships\":");
            write_array(out, relationships, write_relationship);
            out.push('}');
        }
    }
}

/// Appends a row as an object.
pub fn write_row(out: &mut String, columns: &[Arc<str>], row: &[Hydrated]) {
    write_object(out, columns.iter().map(|column| &**column).zip(row), write_json);
}

fn write_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => put(out, format_args!("{truth}")),
        Value::Int(int) => put(out, format_args!("{int}")),
        Value::Float(float) if float.is_finite() => put(out, format_args!("{float:?}")),
        Value::Float(float) => write_quoted(out, &float_text(*float)),
        Value::String(text) => write_quoted(out, text),
        Value::Bytes(bytes) => write_quoted(out, &bytes_text(bytes)),
        Value::Point(point) => {
            put(out, format_args!("{{\"srid\":{},\"x\":{:?},\"y\":{:?}", point.srid, point.x, point.y));
            if let Some(z) = point.z {
                put(out, format_args!(",\"z\":{z:?}"));
            }
            out.push('}');
        }
        Value::List(items) => write_array(out, items.iter(), write_plain),
        Value::Map(map) => write_object(out, map.iter().map(|(key, item)| (&**key, item)), write_plain),
        // Bare entities do not come here: they have been looked up.
        Value::Vertex(vertex) => put(out, format_args!("{}", vertex.0)),
        Value::Edge(edge) => put(out, format_args!("{}", edge.id.0)),
        Value::Path(path) => put(out, format_args!("{}", path.edges.len())),
        temporal => write_quoted(out, &model::temporal::text(temporal).unwrap_or_default()),
    }
}

fn write_node(out: &mut String, node: &Node) {
    put(out, format_args!("{{\"id\":{},\"labels\":", node.id.0));
    write_array(out, &node.labels, |out, label| write_quoted(out, label));
    write_properties(out, &node.properties);
}

fn write_relationship(out: &mut String, relationship: &Relationship) {
    put(out, format_args!("{{\"id\":{},\"type\":", relationship.edge.id.0));
    write_quoted(out, &relationship.edge_type);
    let (start, end) = (relationship.edge.source.0, relationship.edge.target.0);
    put(out, format_args!(",\"start\":{start},\"end\":{end}"));
    write_properties(out, &relationship.properties);
}

fn write_properties(out: &mut String, properties: &[(Arc<str>, Value)]) {
    out.push_str(",\"properties\":");
    write_object(out, properties.iter().map(|(key, value)| (&**key, value)), write_plain);
    out.push('}');
}

fn write_array<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push('[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

fn write_object<'k, T>(
    out: &mut String,
    pairs: impl IntoIterator<Item = (&'k str, T)>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push('{');
    for (at, (key, item)) in pairs.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_quoted(out, key);
        out.push(':');
        write(out, item);
    }
    out.push('}');
}
