//! Files that are no tables, made tables before they are read: JSON lines become CSV with typed headers in a temporary folder.
//!
//! So there is one way into the database, whatever a file looks like. Each row says by its column `:ORIGIN` on which line of the file it
//! stood, and messages name that line. Cost: the file is read twice, for its columns and for its rows, and its rows are written once.

use crate::export::jsonl::LINE_BYTES_MAX;
use crate::export::sheets::FILES_MAX;
use crate::export::tables::{ColumnKind, Columns, RowFile, edge_columns, node_columns};
use crate::source::{self, InputFile};
use crate::{ImportError, Rejected};
use model::json::JsonShape;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use world::files;

/// What a line says.
enum Line {
    Node { id: String, labels: Vec<String>, properties: Map<String, Json> },
    Edge { name: String, start: String, end: String, properties: Map<String, Json> },
    Schema(String),
}

/// What the first lines of a file of nodes and relationships begin with, blanks left out.
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
    each(file, &mut |_, line| {
        let Line::Schema(statement) = line else { return Ok(false) };
        statements.push(statement);
        Ok(true)
    })?;
    Ok(statements)
}

/// Calls `found` with every line and its number until that is false.
fn each(
    file: &InputFile,
    found: &mut dyn FnMut(u64, Line) -> Result<bool, ImportError>,
) -> Result<(), ImportError> {
    let mut reader = BufReader::with_capacity(files::BUFFER_BYTES, source::open(file, Arc::default())?);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let wrong =
            |what: String| ImportError::Rejected(Rejected { file: file.shown.clone(), line: number, what });
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
        if !found(number, line_of(json).map_err(wrong)?)? {
            break;
        }
    }
    Ok(())
}

fn line_of(json: Json) -> Result<Line, String> {
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
            Ok(Line::Node { id: id_of(map.get("id"), "id")?, labels, properties })
        }
        Some("relationship") => {
            let name = map.get("label").and_then(Json::as_str).ok_or("`label`, the type, is missing")?;
            let end = |name: &str| id_of(map.get(name).and_then(|end| end.get("id")), &format!("{name}.id"));
            Ok(Line::Edge { name: name.to_string(), start: end("start")?, end: end("end")?, properties })
        }
        Some("schema") => {
            let statement = map.get("statement").and_then(Json::as_str).ok_or("`statement` is missing")?;
            Ok(Line::Schema(statement.to_string()))
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

/// A kind of rows: nodes with these labels, or relationships of this type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Nodes(Vec<String>),
    Edges(String),
}

struct Group {
    file: RowFile,
    /// What the column of labels or the type holds.
    named: Option<String>,
    columns: Vec<String>,
}

impl Group {
    fn row(&mut self, line: u64, ids: &[&str], properties: &Map<String, Json>) -> Result<(), ImportError> {
        self.file.field(&line.to_string());
        ids.iter().for_each(|id| self.file.field(id));
        if let Some(named) = &self.named {
            match named.is_empty() {
                true => self.file.absent(),
                false => self.file.field(named),
            }
        }
        for column in &self.columns {
            match properties.get(column).filter(|json| !json.is_null()) {
                None => self.file.absent(),
                Some(json) => self.file.field(&json.to_string()),
            }
        }
        self.file.end()
    }
}

/// Makes tables of a file of nodes and relationships, in a folder.
pub(crate) fn tables(file: &InputFile, folder: &Path) -> Result<Vec<InputFile>, ImportError> {
    let mut kinds: BTreeMap<Of, Columns<String>> = BTreeMap::new();
    each(file, &mut |_, line| {
        let (of, properties) = match line {
            Line::Node { labels, properties, .. } => (Of::Nodes(sorted(labels)), properties),
            Line::Edge { name, properties, .. } => (Of::Edges(name), properties),
            Line::Schema(_) => return Ok(true),
        };
        let columns = kinds.entry(of).or_default();
        columns.extend(properties.into_iter().map(|(name, _)| (name, ColumnKind::Any)));
        Ok(true)
    })?;
    if kinds.len() > FILES_MAX {
        let what = format!("{} sets of labels and types, and {FILES_MAX} can be read", kinds.len());
        return Err(ImportError::Read { path: file.shown.clone(), what });
    }
    let (mut groups, mut made) = (BTreeMap::new(), Vec::new());
    for (number, (of, columns)) in kinds.into_iter().enumerate() {
        let path = folder.join(format!("{number}.csv"));
        let (structural, named) = match &of {
            Of::Nodes(labels) => node_columns(labels),
            Of::Edges(name) => edge_columns(name),
        };
        let structural: Vec<String> = std::iter::once(":ORIGIN".to_string()).chain(structural).collect();
        let properties: Vec<(String, ColumnKind)> = columns.into_iter().collect();
        let rows = RowFile::create(path.clone(), &structural, &properties)?;
        let columns = properties.into_iter().map(|(name, _)| name).collect();
        groups.insert(of, Group { file: rows, named, columns });
        made.push(path);
    }
    each(file, &mut |number, line| {
        let (of, ids, properties) = match line {
            Line::Node { id, labels, properties } => (Of::Nodes(sorted(labels)), vec![id], properties),
            Line::Edge { name, start, end, properties } => (Of::Edges(name), vec![start, end], properties),
            Line::Schema(_) => return Ok(true),
        };
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let changed = || ImportError::Read { path: file.shown.clone(), what: "it changed meanwhile".into() };
        let group = groups.get_mut(&of).ok_or_else(changed)?;
        group.row(number, &ids, &properties)?;
        Ok(true)
    })?;
    groups.into_values().try_for_each(|group| group.file.finish())?;
    let input = |path: PathBuf| InputFile::new(path, file.shown.clone());
    made.into_iter().map(input).collect()
}

fn sorted(mut labels: Vec<String>) -> Vec<String> {
    labels.sort_unstable();
    labels.dedup();
    labels
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
