//! A graph as networkx and d3 write it: an object with a list of `nodes` and a list of `links` (or `edges`).
//!
//! ```text
//! {"directed": true, "nodes": [{"id": "ann", "age": 36}, …], "links": [{"source": "ann", "target": "bob", "weight": 2}, …]}
//! ```
//!
//! A node's `labels` are its labels; a link's `type` is its type, else a `key` that is a text. Everything else is a property, as in ordinary JSON:
//! an object gives properties of its own (`area.km2`). A number as `key` only tells parallel links apart, and is left out.

use super::{DefaultNames, Ids, Line, NodeId, TakeLine};
use crate::ImportError;
use crate::json::{Json, JsonError, JsonReader};
use crate::json_frames::each_element;
use crate::json_rows::{JsonRow, flatten, told, value_of};
use crate::source::{self, InputFile};
use formats::typed;
use serde_json::Map;
use std::path::Path;
use std::sync::Arc;

/// Lists and objects around the value of a property.
const AROUND: usize = 2;

/// How such a file begins, blanks left out: networkx says first whether links have a direction.
const BEGINNINGS: [&[u8]; 6] = [
    b"{\"directed\":",
    b"{\"multigraph\":",
    b"{\"graph\":{",
    b"{\"nodes\":[",
    b"{\"links\":[",
    b"{\"edges\":[",
];

/// Which list of the object it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GraphPart {
    Nodes,
    Links,
}

fn part_named(name: &str) -> Option<GraphPart> {
    match name {
        "nodes" => Some(GraphPart::Nodes),
        "links" | "edges" => Some(GraphPart::Links),
        _ => None,
    }
}

/// Is it an object with a list of nodes and a list of links?
pub(crate) fn is_node_link(file: &InputFile) -> Result<bool, ImportError> {
    let head = source::head(file)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(&head);
    let longest = BEGINNINGS.iter().map(|beginning| beginning.len()).max().unwrap_or(0);
    let packed: Vec<u8> =
        head.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(longest).collect();
    if !BEGINNINGS.iter().any(|beginning| packed.starts_with(beginning)) {
        return Ok(false);
    }
    let mut parts = (false, false);
    let read = walk(file, &mut |reader, part| {
        match part {
            GraphPart::Nodes => parts.0 = true,
            GraphPart::Links => parts.1 = true,
        }
        // Both are there: what follows is met when it is read.
        match parts {
            (true, true) => Ok(WalkState::Enough),
            // Whether its elements are what they must be is looked at when they are read.
            _ => elements(reader, &mut |_, _, _| Ok(())).map(|()| WalkState::On),
        }
    });
    // An object of another form, or of none, is met again by whoever reads it.
    Ok(parts == (true, true) && read.is_ok())
}

/// Does a walk go on?
#[derive(PartialEq, Eq)]
enum WalkState {
    On,
    Enough,
}

/// Why a walk ended early.
enum GraphReadError {
    Json(JsonError),
    Import(ImportError),
}

impl From<JsonError> for GraphReadError {
    fn from(error: JsonError) -> GraphReadError {
        GraphReadError::Json(error)
    }
}

type VisitPart<'v> = &'v mut dyn FnMut(&mut JsonReader, GraphPart) -> Result<WalkState, GraphReadError>;

/// Calls `visit` before each of the lists; it reads the list.
fn walk(file: &InputFile, visit: VisitPart<'_>) -> Result<(), ImportError> {
    let mut inner = || -> Result<(), GraphReadError> {
        let mut reader =
            JsonReader::new(source::open(file, Arc::default()).map_err(GraphReadError::Import)?)?;
        if !reader.passes(b'{')? {
            return Err(reader.wrong("an object with `nodes` and `links` is expected").into());
        }
        if reader.passes(b'}')? {
            return Ok(());
        }
        loop {
            let name = reader.name()?;
            match part_named(&name) {
                Some(part) if visit(&mut reader, part)? == WalkState::Enough => return Ok(()),
                Some(_) => {}
                None => drop(reader.value()?),
            }
            if reader.passes(b'}')? {
                break;
            }
            if !reader.passes(b',')? {
                return Err(reader.wrong("`,` or `}` is expected").into());
            }
        }
        match reader.next_byte()? {
            None => Ok(()),
            Some(_) => Err(reader.wrong("the text goes on after the graph").into()),
        }
    };
    inner().map_err(|ended| match ended {
        GraphReadError::Json(error) => told(file, error),
        GraphReadError::Import(error) => error,
    })
}

/// Calls `found` with every object of a list and its line.
fn items(
    reader: &mut JsonReader,
    found: &mut dyn FnMut(u64, JsonRow) -> Result<(), GraphReadError>,
) -> Result<(), GraphReadError> {
    elements(reader, &mut |reader, line, value| match value {
        Json::Object(row) => found(line, row),
        _ => Err(reader.wrong("a node or a link is an object, such as {\"id\": 1}; this is none").into()),
    })
}

/// Calls `found` with every element of a list and its line.
fn elements(
    reader: &mut JsonReader,
    found: &mut dyn FnMut(&mut JsonReader, u64, Json) -> Result<(), GraphReadError>,
) -> Result<(), GraphReadError> {
    each_element(reader, "a list of objects is expected", found)
}

/// Makes tables of such a file, in a folder.
pub(crate) fn tables(
    file: &InputFile,
    folder: &Path,
    group: String,
    names: &DefaultNames,
) -> Result<Vec<InputFile>, ImportError> {
    let ids = Ids { property: Some("id"), group };
    super::tables(file, folder, &ids, &|found| each(file, names, found))
}

fn each(file: &InputFile, names: &DefaultNames, found: TakeLine<'_>) -> Result<(), ImportError> {
    let wrong = |line: u64, what: String| GraphReadError::Import(file.malformed(line, what));
    walk(file, &mut |reader, part| {
        let mut goes_on = true;
        items(reader, &mut |number, row| {
            let line = match part {
                GraphPart::Nodes => node(row, &names.label),
                GraphPart::Links => link(row, &names.edge_type),
            };
            let line = line.map_err(|what| wrong(number, what))?;
            goes_on = goes_on && found(number, line).map_err(GraphReadError::Import)?;
            Ok(())
        })?;
        Ok(if goes_on { WalkState::On } else { WalkState::Enough })
    })
}

/// Takes an entry out of a row.
fn take(row: &mut JsonRow, name: &str) -> Option<Json> {
    let at = row.iter().position(|(held, _)| held == name)?;
    Some(row.remove(at).1)
}

fn node(mut row: JsonRow, default: &str) -> Result<Line, String> {
    let id = id_of(take(&mut row, "id").or_else(|| take(&mut row, "name")), "id")?;
    let labels = match row.iter().find(|(name, _)| name == "labels").map(|(_, value)| value) {
        Some(Json::List(items)) => {
            let label = |item: &Json| match item {
                Json::Text(label) if !label.is_empty() => Some(label.clone()),
                _ => None,
            };
            items.iter().map(label).collect::<Option<Vec<String>>>()
        }
        Some(Json::Text(text)) => Some(super::labels_of(text)),
        _ => None,
    };
    // Labels of another form are a property like any other.
    let labels = match labels {
        Some(labels) => {
            take(&mut row, "labels");
            labels
        }
        None => vec![default.to_string()],
    };
    Ok(Line::Node { id, labels, properties: properties(row)? })
}

fn link(mut row: JsonRow, default: &str) -> Result<Line, String> {
    let start = id_of(take(&mut row, "source"), "source")?.text;
    let end = id_of(take(&mut row, "target"), "target")?.text;
    let text = |json: Option<Json>| match json {
        Some(Json::Text(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    let is_text = |row: &JsonRow, wanted: &str| {
        row.iter()
            .any(|(name, value)| name == wanted && matches!(value, Json::Text(text) if !text.is_empty()))
    };
    let named = if is_text(&row, "type") { text(take(&mut row, "type")) } else { None };
    let key_is_number = row.iter().any(|(name, value)| name == "key" && matches!(value, Json::Number(_)));
    if key_is_number {
        take(&mut row, "key");
    }
    let name = match named {
        Some(name) => name,
        None if is_text(&row, "key") => text(take(&mut row, "key")).unwrap_or_default(),
        None => default.to_string(),
    };
    Ok(Line::Edge { name, start, end, properties: properties(row)? })
}

/// Names of nodes may be anything in Python: one that is neither text nor number is named by its text of JSON.
fn id_of(json: Option<Json>, name: &str) -> Result<NodeId, String> {
    match json {
        Some(Json::Text(text)) if !text.is_empty() => Ok(NodeId { text, is_text: true }),
        Some(Json::Number(text)) => Ok(NodeId { text, is_text: false }),
        Some(other @ (Json::List(_) | Json::Bool(_))) => Ok(NodeId { text: other.text(), is_text: true }),
        Some(Json::Object(_)) => Err(format!("`{name}` is an object; write the id of the node")),
        _ => Err(format!("`{name}`, the id of a node, is missing")),
    }
}

fn properties(row: JsonRow) -> Result<Map<String, serde_json::Value>, String> {
    let mut made = Map::new();
    flatten("", row, &mut |name, json| {
        let value = value_of(json)
            .and_then(|value| typed::to_json(&value, AROUND))
            .map_err(|what| format!("`{name}`: {what}"))?;
        match made.insert(name.clone(), value) {
            Some(_) => Err(format!("the name `{name}` stands twice")),
            None => Ok(()),
        }
    })?;
    Ok(made)
}
