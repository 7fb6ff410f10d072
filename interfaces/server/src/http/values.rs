//! Values as JSON, plain and typed, as Neo4j's Query API has them.
//!
//! Plain JSON maps a value to what JSON has: a node is an object, a path a list, temporal values, points and bytes are text. Typed JSON
//! is `{"$type": …, "_value": …}` for each value, with numbers as text, so that nothing is lost.

use database::entity::{Hydrated, Node, Relationship, edge_element_id, vertex_element_id};
use model::Value;
use std::io::Write;
use std::sync::Arc;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `application/json`
    Plain,
    /// `application/vnd.neo4j.query`
    Typed,
}

/// Appends a text in quotes.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    // Memory takes every text.
    let _ = serde_json::to_writer(out, text);
}

/// Appends a value of a row.
pub fn write_hydrated(out: &mut Vec<u8>, value: &Hydrated, form: Form) {
    match value {
        Hydrated::Plain(value) => write_value(out, value, form),
        Hydrated::List(items) => typed(out, form, "List", |out| {
            write_list(out, items, |out, item| write_hydrated(out, item, form));
        }),
        Hydrated::Map(pairs) => typed(out, form, "Map", |out| {
            write_map(out, pairs.iter().map(|(key, item)| (&**key, item)), |out, item| {
                write_hydrated(out, item, form);
            });
        }),
        Hydrated::Node(node) => write_node(out, node, form),
        Hydrated::Relationship(relationship) => write_relationship(out, relationship, form),
        Hydrated::Path(nodes, relationships) => typed(out, form, "Path", |out| {
            out.push(b'[');
            for (at, node) in nodes.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                    write_relationship(out, &relationships[at - 1], form);
                    out.push(b',');
                }
                write_node(out, node, form);
            }
            out.push(b']');
        }),
    }
}

/// Appends a value that holds no entity.
pub fn write_value(out: &mut Vec<u8>, value: &Value, form: Form) {
    match form {
        Form::Plain => write_plain(out, value),
        Form::Typed => write_typed(out, value),
    }
}

fn write_plain(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend(b"null"),
        Value::Bool(truth) => put(out, format_args!("{truth}")),
        Value::Int(int) => put(out, format_args!("{int}")),
        Value::Float(float) if float.is_finite() => put(out, format_args!("{float:?}")),
        Value::List(items) => write_list(out, items.iter(), write_plain),
        Value::Map(map) => write_map(out, map.iter().map(|(key, item)| (&**key, item)), write_plain),
        other => write_text(out, &text_of(other)),
    }
}

fn write_typed(out: &mut Vec<u8>, value: &Value) {
    let name = type_name(value);
    typed(out, Form::Typed, name, |out| match value {
        Value::Null => out.extend(b"null"),
        Value::Bool(truth) => put(out, format_args!("{truth}")),
        Value::Int(int) => put(out, format_args!("\"{int}\"")),
        Value::List(items) => write_list(out, items.iter(), write_typed),
        Value::Map(map) => write_map(out, map.iter().map(|(key, item)| (&**key, item)), write_typed),
        other => write_text(out, &text_of(other)),
    });
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null | Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => "Null",
        Value::Bool(_) => "Boolean",
        Value::Int(_) => "Integer",
        Value::Float(_) => "Float",
        Value::String(_) => "String",
        Value::Bytes(_) => "Base64",
        Value::Date(_) => "Date",
        Value::LocalTime(_) => "LocalTime",
        Value::Time(_) => "Time",
        Value::LocalDateTime(_) => "LocalDateTime",
        Value::DateTime(instant) if instant.zone.is_some() => "ZonedDateTime",
        Value::DateTime(_) => "OffsetDateTime",
        Value::Duration(_) => "Duration",
        Value::Point(_) => "Point",
        Value::List(_) => "List",
        Value::Map(_) => "Map",
    }
}

/// A value that JSON has no type for, as text.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Float(float) if float.is_nan() => "NaN".into(),
        Value::Float(float) if float.is_infinite() => {
            if *float > 0.0 { "Infinity" } else { "-Infinity" }.into()
        }
        Value::Float(float) => format!("{float:?}"),
        Value::Bytes(bytes) => data_encoding::BASE64.encode(bytes),
        Value::Point(point) => match point.z {
            None => format!("SRID={};POINT ({:?} {:?})", point.srid, point.x, point.y),
            Some(z) => format!("SRID={};POINT Z ({:?} {:?} {z:?})", point.srid, point.x, point.y),
        },
        temporal => model::temporal::text(temporal).unwrap_or_default(),
    }
}

fn write_node(out: &mut Vec<u8>, node: &Node, form: Form) {
    typed(out, form, "Node", |out| {
        out.push(b'{');
        key(out, form, "elementId", "_element_id");
        write_text(out, &vertex_element_id(node.id));
        out.push(b',');
        key(out, form, "labels", "_labels");
        write_list(out, &node.labels, |out, label| write_text(out, label));
        out.push(b',');
        write_properties(out, &node.properties, form);
        out.push(b'}');
    });
}

fn write_relationship(out: &mut Vec<u8>, relationship: &Relationship, form: Form) {
    let edge = relationship.edge;
    typed(out, form, "Relationship", |out| {
        out.push(b'{');
        for (plain, typed, text) in [
            ("elementId", "_element_id", edge_element_id(edge.id)),
            ("startNodeElementId", "_start_node_element_id", vertex_element_id(edge.source)),
            ("endNodeElementId", "_end_node_element_id", vertex_element_id(edge.target)),
            ("type", "_type", relationship.edge_type.to_string()),
        ] {
            key(out, form, plain, typed);
            write_text(out, &text);
            out.push(b',');
        }
        write_properties(out, &relationship.properties, form);
        out.push(b'}');
    });
}

fn write_properties(out: &mut Vec<u8>, properties: &[(Arc<str>, Value)], form: Form) {
    key(out, form, "properties", "_properties");
    let pairs = properties.iter().map(|(key, value)| (&**key, value));
    write_map(out, pairs, |out, value| write_value(out, value, form));
}

fn key(out: &mut Vec<u8>, form: Form, plain: &str, typed: &str) {
    write_text(out, if form == Form::Plain { plain } else { typed });
    out.push(b':');
}

fn typed(out: &mut Vec<u8>, form: Form, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
    if form == Form::Plain {
        return write(out);
    }
    put(out, format_args!("{{\"$type\":\"{name}\",\"_value\":"));
    write(out);
    out.push(b'}');
}

/// Appends a list of items written by `write`.
pub fn write_list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

fn write_map<'k, T>(
    out: &mut Vec<u8>,
    pairs: impl IntoIterator<Item = (&'k str, T)>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'{');
    for (at, (key, item)) in pairs.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_text(out, key);
        out.push(b':');
        write(out, item);
    }
    out.push(b'}');
}

/// Appends formatted text.
pub fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
