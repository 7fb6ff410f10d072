//! TinkerPop's files: one vertex a line, with its properties and its outgoing edges.

use super::error::{Outcome, wrong};
use super::reading::object;
use crate::Object;
use serde_json::Value as Json;
use std::sync::Arc;

/// One value of a vertex's key, with its own properties.
pub type FileProperty = (Object, Vec<(Arc<str>, Object)>);

/// A vertex of a line.
#[derive(Clone, Debug)]
pub struct FileVertex {
    /// Its id.
    pub id: Object,
    /// Its labels, joined by `::`.
    pub label: String,
    /// Each of them: the items of the field `labels`, or else the parts of the label.
    pub labels: Vec<String>,
    /// The values of each key, in the file's order.
    pub properties: Vec<(Arc<str>, Vec<FileProperty>)>,
}

/// An edge that leaves the vertex of a line.
#[derive(Clone, Debug)]
pub struct FileEdge {
    /// Its type.
    pub label: Arc<str>,
    /// Its id, if it has one.
    pub id: Option<Object>,
    /// The id of the vertex where it starts.
    pub source: Object,
    /// The id of the vertex where it ends.
    pub target: Object,
    /// Its properties, in the file's order.
    pub properties: Vec<(Arc<str>, Object)>,
}

/// Reads the vertex of a line.
///
/// # Errors
/// It has no id, or something in it is no value.
pub fn file_vertex(line: &Json) -> Outcome<FileVertex> {
    let line = bare(line, "g:Vertex");
    let Some(id) = line.get("id") else { return wrong("a vertex has no id") };
    let label = line.get("label").and_then(Json::as_str).unwrap_or("vertex").to_string();
    let labels = match line.get("labels").and_then(Json::as_array) {
        Some(listed) => {
            let named = listed.iter().map(|label| label.as_str().map(str::to_string));
            let Some(named) = named.collect() else { return wrong("`labels` holds what is no text") };
            named
        }
        None => label.split("::").map(str::to_string).collect(),
    };
    let properties =
        fields(line.get("properties")).map(|(key, values)| Ok((key.as_str().into(), values_of(values)?)));
    Ok(FileVertex { id: object(id)?, label, labels, properties: properties.collect::<Outcome<_>>()? })
}

/// Reads the outgoing edges of a line.
///
/// # Errors
/// Something in them is no value.
pub fn file_edges(line: &Json) -> Outcome<Vec<FileEdge>> {
    let line = bare(line, "g:Vertex");
    let source = object(line.get("id").unwrap_or(&Json::Null))?;
    let mut found = Vec::new();
    for (label, edges) in fields(line.get("outE")) {
        for edge in edges.as_array().into_iter().flatten() {
            let edge = bare(edge, "g:Edge");
            let property = |(key, value): (&String, &Json)| {
                let value = typed(value, "g:Property").map_or(value, |property| &property["value"]);
                Ok((Arc::from(key.as_str()), object(value)?))
            };
            found.push(FileEdge {
                label: label.as_str().into(),
                id: edge.get("id").map(object).transpose()?,
                source: source.clone(),
                target: object(edge.get("inV").unwrap_or(&Json::Null))?,
                properties: fields(edge.get("properties")).map(property).collect::<Outcome<_>>()?,
            });
        }
    }
    Ok(found)
}

/// The values of a key: `[{"id":…,"value":…,"properties":{…}}, …]`, or a plain value.
fn values_of(json: &Json) -> Outcome<Vec<FileProperty>> {
    let Json::Array(all) = json else { return Ok(vec![(object(json)?, Vec::new())]) };
    let one = |one: &Json| {
        let one = bare(one, "g:VertexProperty");
        let Some(value) = one.get("value") else { return Ok((object(one)?, Vec::new())) };
        let meta =
            fields(one.get("properties")).map(|(key, value)| Ok((key.as_str().into(), object(value)?)));
        Ok((object(value)?, meta.collect::<Outcome<_>>()?))
    };
    all.iter().map(one).collect()
}

fn fields(json: Option<&Json>) -> impl Iterator<Item = (&String, &Json)> {
    json.and_then(Json::as_object).into_iter().flatten()
}

/// The content of a typed value, or the value where it is not of that type.
fn bare<'j>(json: &'j Json, kind: &str) -> &'j Json {
    typed(json, kind).unwrap_or(json)
}

/// The content of a typed value, if it is of that type.
fn typed<'j>(json: &'j Json, kind: &str) -> Option<&'j Json> {
    (json.get("@type").and_then(Json::as_str) == Some(kind)).then(|| &json["@value"])
}
