//! A graph as JSON, an object a line: statements of the schema, nodes, relationships. `export --format jsonl` writes such a file.

use super::{Ids, Line, NodeId, TakeLine};
use crate::ImportError;
use crate::export::jsonl::LINE_BYTES_MAX;
use crate::source::{self, InputFile};
use model::json::JsonShape;
use serde_json::{Map, Value as Json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use world::files;

/// The content of a line.
enum Said {
    Graph(Line),
    Schema(String),
}

/// The beginnings of first lines of a file of nodes and relationships, without blanks.
const BEGINNINGS: [&[u8]; 3] =
    [b"{\"type\":\"node\"", b"{\"type\":\"relationship\"", b"{\"type\":\"schema\""];

/// Is it a file of nodes and relationships, an object a line?
pub(crate) fn is_graph_of_lines(file: &InputFile) -> Result<bool, ImportError> {
    let head = source::head(file)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(&head);
    let longest = BEGINNINGS[1].len();
    let packed: Vec<u8> =
        head.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(longest).collect();
    Ok(BEGINNINGS.iter().any(|beginning| packed.starts_with(beginning)))
}

/// The statements of the schema with which such a file begins.
pub(crate) fn schema(file: &InputFile) -> Result<Vec<String>, ImportError> {
    let mut statements = Vec::new();
    each_said(file, &mut |_, said| {
        let Said::Schema(statement) = said else { return Ok(false) };
        statements.push(statement);
        Ok(true)
    })?;
    Ok(statements)
}

/// Makes tables of such a file, in a folder.
pub(crate) fn tables(file: &InputFile, folder: &Path) -> Result<Vec<InputFile>, ImportError> {
    let ids = Ids { property: None, group: "graph".into() };
    super::tables(file, folder, &ids, &|found| each(file, found))
}

/// Calls `found` with every node and relationship.
fn each(file: &InputFile, found: TakeLine<'_>) -> Result<(), ImportError> {
    each_said(file, &mut |number, said| match said {
        Said::Graph(line) => found(number, line),
        Said::Schema(_) => Ok(true),
    })
}

/// Calls `found` with every line and its number until that is false.
fn each_said(
    file: &InputFile,
    found: &mut dyn FnMut(u64, Said) -> Result<bool, ImportError>,
) -> Result<(), ImportError> {
    let mut reader = BufReader::with_capacity(files::BUFFER_BYTES, source::open(file, Arc::default())?);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let wrong = |what: String| file.malformed(number, what);
        let limited = reader.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut bytes);
        let count = limited.map_err(|error| file.unreadable(&error))?;
        if count == LINE_BYTES_MAX && !bytes.ends_with(b"\n") {
            return Err(wrong(format!("the line is longer than {LINE_BYTES_MAX} bytes")));
        }
        if bytes.is_empty() {
            break;
        }
        if number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        JsonShape::of(&bytes).check().map_err(|error| wrong(error.to_string()))?;
        let json = serde_json::from_slice(bytes.trim_ascii_end())
            .map_err(|error| wrong(format!("column {}: {error}", error.column())))?;
        if !found(number, said_of(json).map_err(wrong)?)? {
            break;
        }
    }
    Ok(())
}

fn said_of(json: Json) -> Result<Said, String> {
    let Json::Object(mut map) = json else { return Err("the line is no object".into()) };
    let properties = match map.remove("properties") {
        None | Some(Json::Null) => Map::new(),
        Some(Json::Object(properties)) => properties,
        Some(_) => return Err("`properties` is no object".into()),
    };
    match map.get("type").and_then(Json::as_str) {
        Some("node") => {
            let labels = match map.get("labels") {
                None | Some(Json::Null) => Vec::new(),
                Some(Json::Array(labels)) => {
                    let named = labels.iter().map(|label| label.as_str().map(str::to_string));
                    named.collect::<Option<Vec<_>>>().ok_or("`labels` holds what is no text")?
                }
                Some(_) => return Err("`labels` is no list".into()),
            };
            let id = NodeId { text: id_of(map.get("id"), "id")?, is_text: false };
            Ok(Said::Graph(Line::Node { id, labels, properties }))
        }
        Some("relationship") => {
            let name = map.get("label").and_then(Json::as_str).ok_or("`label`, the type, is missing")?;
            let end = |name: &str| id_of(map.get(name).and_then(|end| end.get("id")), &format!("{name}.id"));
            let (name, start, end) = (name.to_string(), end("start")?, end("end")?);
            Ok(Said::Graph(Line::Edge { name, start, end, properties }))
        }
        Some("schema") => {
            let statement = map.get("statement").and_then(Json::as_str).ok_or("`statement` is missing")?;
            Ok(Said::Schema(statement.to_string()))
        }
        _ => Err("`type` is neither node nor relationship".into()),
    }
}

fn id_of(json: Option<&Json>, name: &str) -> Result<String, String> {
    match json {
        Some(Json::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(Json::Number(number)) => Ok(number.to_string()),
        _ => Err(format!("`{name}` is missing, or neither text nor number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::files::TemporaryFolder;

    /// A line that the export may just write was refused by the import: the line's end was counted too.
    #[test]
    fn a_line_may_be_as_long_as_an_export_may_write_it() {
        let folder = TemporaryFolder::new("lines").unwrap();
        let path = folder.path().join("graph.jsonl");
        let (begin, end) = (r#"{"type":"node","id":"1","labels":[],"properties":{"x":""#, r#""}}"#);
        for (bytes, is_read) in [(LINE_BYTES_MAX - 1, true), (LINE_BYTES_MAX, false)] {
            let text = "a".repeat(bytes - begin.len() - end.len());
            files::write_bytes(&path, format!("{begin}{text}{end}\n").as_bytes()).unwrap();
            let file = InputFile::new(path.clone(), path.clone()).unwrap();
            let mut count = 0;
            let read = each(&file, &mut |_, _| {
                count += 1;
                Ok(true)
            });
            assert_eq!((read.is_ok(), count), (is_read, usize::from(is_read)), "{bytes} bytes");
        }
    }
}
