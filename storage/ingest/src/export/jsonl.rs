//! One file of JSON lines: statements of the schema, nodes, then relationships.
//!
//! ```text
//! {"type":"schema","statement":"CREATE CONSTRAINT …"}
//! {"type":"node","id":"7","labels":["Person"],"properties":{"name":"Ada","born":{"$date":"1815-12-10"}}}
//! {"type":"relationship","label":"KNOWS","start":{"id":"7"},"end":{"id":"8"},"properties":{}}
//! ```

use super::graph::{ExportOptions, ExportReport, Graph, refusal, unwritten};
use super::sheets::FILES_MAX;
use crate::ImportError;
use formats::typed;
use model::{KeyId, Value};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::io::Write;
use world::files;

/// Bytes of a line: the limit of an import.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 20;

/// Lists and objects around the value of a property: those of its line, and of the properties in it.
const AROUND: usize = 2;

pub(super) fn write(graph: &Graph<'_>, options: &ExportOptions) -> Result<ExportReport, ImportError> {
    let path = options.to.join("graph.jsonl");
    let unwritten = unwritten(&path);
    let mut file = files::create_writer(&path)?;
    let mut report = ExportReport { files: 1, ..ExportReport::default() };
    let mut line = |json: Json| -> Result<(), ImportError> {
        let text = json.to_string();
        if text.len() >= LINE_BYTES_MAX {
            return Err(refusal(format!(
                "a line would have more than {LINE_BYTES_MAX} bytes: {}…",
                &text[..text.floor_char_boundary(80)]
            )));
        }
        writeln!(file, "{text}").map_err(&unwritten)
    };
    let mut kinds = (BTreeSet::new(), BTreeSet::new());
    for statement in &options.schema {
        line(json!({ "type": "schema", "statement": statement }))?;
    }
    graph.nodes(|vertex, held| {
        report.vertices += 1;
        let (id, set) = (vertex.dense().to_string(), graph.snapshot.labels(vertex)?);
        let held = properties(graph, held, &|| format!("node {id}"))?;
        kinds.0.insert(set);
        line(json!({ "type": "node", "id": id, "labels": graph.labels(set), "properties": held }))
    })?;
    graph.edges(|between, held| {
        report.edges += 1;
        let (start, end) = (between.source.dense().to_string(), between.target.dense().to_string());
        let held = properties(graph, held, &|| format!("the relationship from node {start} to node {end}"))?;
        let name = graph.type_name(between.edge_type);
        kinds.1.insert(between.edge_type);
        let (start, end) = (json!({ "id": start }), json!({ "id": end }));
        line(json!({ "type": "relationship", "label": name, "start": start, "end": end, "properties": held }))
    })?;
    let count = kinds.0.len() + kinds.1.len();
    if count > FILES_MAX {
        let what = format!("there are {count} sets of labels and types, and an import reads {FILES_MAX}");
        return Err(refusal(what));
    }
    file.flush().map_err(&unwritten)?;
    Ok(report)
}

fn properties(
    graph: &Graph<'_>,
    held: Vec<(KeyId, Value)>,
    of: &dyn Fn() -> String,
) -> Result<Map<String, Json>, ImportError> {
    let mut map = Map::new();
    for (key, value) in held {
        let name = graph.key_name(key);
        let json = typed::to_json(&value, AROUND).map_err(|what| {
            refusal(format!("the property `{name}` of {} cannot be written: {what}", of()))
        })?;
        map.insert(name, json);
    }
    Ok(map)
}
