//! Tables as pandas writes them to JSON, as rows: `orient="columns"` (its default), `"index"`, `"split"` and `"table"`.
//!
//! ```text
//! columns  {"id": {"0": 1, "1": 2}, "name": {"0": "Ada", "1": "Bob"}}
//! index    {"0": {"id": 1, "name": "Ada"}, "1": {"id": 2, "name": "Bob"}}
//! split    {"columns": ["id", "name"], "index": [0, 1], "data": [[1, "Ada"], [2, "Bob"]]}
//! table    {"schema": {…}, "data": [{"index": 0, "id": 1, "name": "Ada"}, …]}
//! ```
//!
//! A list of objects, `"records"`, is ordinary JSON. `columns` and `index` are told from an object with objects in it by their labels, which count
//! from 0; the labels of rows are no column. Columns are written one after the other, so a table of that form is held.

use crate::ImportError;
use crate::json::{Json, JsonError, JsonReader};
use crate::json_rows::JsonRow;
use crate::source::{self, InputFile};
use crate::staged::COLUMNS_MAX;

/// Bytes of values that a table may hold which is written column by column.
const HELD_BYTES_MAX: usize = 1 << 30;
/// Bytes of a value beside its text, about.
const VALUE_BYTES: usize = 48;

/// How a table of pandas is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orient {
    Columns,
    Index,
    Split,
    Table,
}

/// How a file begins that is such a table, if it is one.
pub(crate) fn orient(file: &InputFile) -> Result<Option<Orient>, ImportError> {
    let head = source::head(file)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(&head);
    if head.trim_ascii_start().first() != Some(&b'{') {
        return Ok(None);
    }
    // What does not fit into the head, or is wrong, is no table that could be told here.
    let reader = JsonReader::new(Box::new(std::io::Cursor::new(head.to_vec())));
    Ok(reader.and_then(|mut reader| told(&mut reader)).ok().flatten())
}

fn told(reader: &mut JsonReader) -> Result<Option<Orient>, JsonError> {
    if !reader.passes(b'{')? || reader.next_byte()? != Some(b'"') {
        return Ok(None);
    }
    let first = reader.name()?;
    match reader.next_byte()? {
        Some(b'[') if first == "columns" => {
            reader.value()?;
            let second = if reader.passes(b',')? { reader.name()? } else { String::new() };
            Ok(matches!(second.as_str(), "index" | "data").then_some(Orient::Split))
        }
        Some(b'{') if first == "schema" => {
            let Json::Object(schema) = reader.value()? else { return Ok(None) };
            let has_fields =
                schema.iter().any(|(name, value)| name == "fields" && matches!(value, Json::List(_)));
            let is_data = has_fields && reader.passes(b',')? && reader.name()? == "data";
            Ok((is_data && reader.next_byte()? == Some(b'[')).then_some(Orient::Table))
        }
        Some(b'{') => {
            reader.passes(b'{')?;
            if reader.next_byte()? != Some(b'"') {
                return Ok(None);
            }
            let inner = reader.name()?;
            let is_value = !matches!(reader.next_byte()?, Some(b'{'));
            Ok(match (first.as_str(), inner.as_str()) {
                _ if !is_value => None,
                ("0", inner) if inner != "0" => Some(Orient::Index),
                (outer, "0") if outer != "0" => Some(Orient::Columns),
                _ => None,
            })
        }
        _ => Ok(None),
    }
}

/// Why reading ended early.
pub(crate) enum FrameError {
    Json(JsonError),
    Import(ImportError),
}

impl From<JsonError> for FrameError {
    fn from(error: JsonError) -> FrameError {
        FrameError::Json(error)
    }
}

type FrameResult = Result<(), FrameError>;

/// Calls `found` with every row of a table and the line that messages name.
pub(crate) fn each(
    reader: &mut JsonReader,
    orient: Orient,
    found: &mut dyn FnMut(u64, JsonRow) -> Result<(), ImportError>,
) -> FrameResult {
    let mut found = |line, row| found(line, row).map_err(FrameError::Import);
    match orient {
        Orient::Columns => columns(reader, &mut found)?,
        Orient::Index => entries(reader, &mut |reader, _| {
            reader.next_byte()?;
            let line = reader.line();
            match reader.value()? {
                Json::Object(row) => found(line, row),
                _ => Err(reader.wrong("a row is an object of its columns; this is none").into()),
            }
        })?,
        Orient::Split => split(reader, &mut found)?,
        Orient::Table => entries(reader, &mut |reader, name| match name.as_str() {
            "data" => list(reader, &mut |reader, line, value| match value {
                Json::Object(row) => found(line, row),
                _ => Err(reader.wrong("a row is an object of its columns; this is none").into()),
            }),
            _ => {
                reader.value()?;
                Ok(())
            }
        })?,
    }
    match reader.next_byte()? {
        None => Ok(()),
        Some(_) => Err(reader.wrong("the text goes on after the table").into()),
    }
}

/// Calls `found` before the value of each entry of an object; it reads the value.
fn entries(
    reader: &mut JsonReader,
    found: &mut dyn FnMut(&mut JsonReader, String) -> FrameResult,
) -> FrameResult {
    if !reader.passes(b'{')? {
        return Err(reader.wrong("an object is expected").into());
    }
    if reader.passes(b'}')? {
        return Ok(());
    }
    loop {
        let name = reader.name()?;
        found(reader, name)?;
        if reader.passes(b'}')? {
            return Ok(());
        }
        if !reader.passes(b',')? {
            return Err(reader.wrong("`,` or `}` is expected").into());
        }
    }
}

/// Calls `found` with every element of a list and its line.
fn list(
    reader: &mut JsonReader,
    found: &mut dyn FnMut(&mut JsonReader, u64, Json) -> FrameResult,
) -> FrameResult {
    each_element(reader, "a list is expected", found)
}

/// The same for readers of other forms; the error describes the expected form where there is no list.
pub(crate) fn each_element<E: From<JsonError>>(
    reader: &mut JsonReader,
    expected: &str,
    found: &mut dyn FnMut(&mut JsonReader, u64, Json) -> Result<(), E>,
) -> Result<(), E> {
    if !reader.passes(b'[')? {
        return Err(reader.wrong(expected).into());
    }
    if reader.passes(b']')? {
        return Ok(());
    }
    loop {
        // Up to the value, so that its own line is named.
        reader.next_byte()?;
        let line = reader.line();
        let value = reader.value()?;
        found(reader, line, value)?;
        if reader.passes(b']')? {
            return Ok(());
        }
        if !reader.passes(b',')? {
            return Err(reader.wrong("`,` or `]` is expected").into());
        }
    }
}

fn bytes_of(json: &Json) -> usize {
    VALUE_BYTES
        + match json {
            Json::Text(text) | Json::Number(text) => text.len(),
            Json::List(_) | Json::Object(_) => json.text().len(),
            Json::Null | Json::Bool(_) => 0,
        }
}

/// A table column by column: every column names the same rows in the same order.
fn columns(reader: &mut JsonReader, found: &mut dyn FnMut(u64, JsonRow) -> FrameResult) -> FrameResult {
    let (mut labels, mut lines): (Vec<String>, Vec<u64>) = Default::default();
    let mut held: Vec<(String, std::vec::IntoIter<Json>)> = Vec::new();
    let mut bytes = 0;
    entries(reader, &mut |reader, column| {
        let is_first = held.is_empty();
        if held.len() == COLUMNS_MAX {
            return Err(reader.wrong(format!("a table has more than {COLUMNS_MAX} columns")).into());
        }
        let mut values = Vec::new();
        entries(reader, &mut |reader, label| {
            reader.next_byte()?;
            let line = reader.line();
            let value = reader.value()?;
            bytes += bytes_of(&value);
            if bytes > HELD_BYTES_MAX {
                let what = format!("a table column by column has more than {HELD_BYTES_MAX} bytes");
                return Err(reader.wrong(format!("{what}; write it with orient=\"records\"")).into());
            }
            if is_first {
                bytes += label.len() + VALUE_BYTES;
                labels.push(label);
                lines.push(line);
            } else if labels.get(values.len()) != Some(&label) {
                let what =
                    format!("column `{column}` names the row `{label}` where the first column does not");
                return Err(reader.wrong(what).into());
            }
            values.push(value);
            Ok(())
        })?;
        if values.len() != labels.len() {
            let (count, wanted) = (values.len(), labels.len());
            let what = format!("column `{column}` has {count} rows, and the first has {wanted}");
            return Err(reader.wrong(what).into());
        }
        held.push((column, values.into_iter()));
        Ok(())
    })?;
    for line in lines {
        let row = held.iter_mut().map(|(name, values)| (name.clone(), values.next().unwrap_or(Json::Null)));
        found(line, row.collect())?;
    }
    Ok(())
}

/// A table as lists of values, after the names of its columns.
fn split(reader: &mut JsonReader, found: &mut dyn FnMut(u64, JsonRow) -> FrameResult) -> FrameResult {
    let mut names: Option<Vec<String>> = None;
    entries(reader, &mut |reader, part| match part.as_str() {
        "columns" => {
            let mut held = Vec::new();
            list(reader, &mut |_, _, name| {
                held.push(match name {
                    Json::Text(text) => text,
                    other => other.text(),
                });
                Ok(())
            })?;
            names = Some(held);
            Ok(())
        }
        "data" => {
            let Some(names) = &names else {
                return Err(reader.wrong("`columns` must stand before `data`").into());
            };
            list(reader, &mut |reader, line, value| match value {
                Json::List(values) if values.len() == names.len() => {
                    found(line, names.iter().cloned().zip(values).collect())
                }
                Json::List(values) => {
                    let (count, wanted) = (values.len(), names.len());
                    Err(reader.wrong(format!("a row has {count} values for {wanted} columns")).into())
                }
                _ => Err(reader.wrong("a row is a list of values; this is none").into()),
            })
        }
        // Labels of the rows are no column.
        _ => list(reader, &mut |_, _, _| Ok(())),
    })
}
