//! Ordinary JSON as rows: an object a line, objects one after the other, a list of objects, or an object that holds one such list.
//!
//! Tables as pandas writes them are rows, too (`json_frames`). An object inside a row gives columns of its own, `address.city`; a list of values of one simple type is a list; any other list is kept as its
//! text of JSON. Columns are found out from all rows, in the order in which they are met; a text column of dates is one of dates.
//! Cost: the file is read twice.

use crate::ImportError;
use crate::cell::{self, Kind};
use crate::export::tables::ColumnKind;
use crate::json::{Json, JsonError, JsonReader};
use crate::json_frames::{self, FrameError};
use crate::sniff::ColumnSurvey;
use crate::source::{self, InputFile};
use crate::staged::{COLUMNS_MAX, IdNames};
use crate::staging::{RowColumn, StagedRows, simple_list};
use formats::records::Field;
use formats::typed;
use model::Value;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Whole numbers up to here are floats exactly.
const EXACT_MAX: u64 = 1 << 53;

/// Occurs in every line of typed GraphSON, and in no other.
const GRAPHSON_MARK: &[u8] = b"\"@type\":\"g:";

/// Does the file begin as a list of objects or an object does?
pub(crate) fn is_json(file: &InputFile) -> Result<bool, ImportError> {
    let head = source::head(file)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(&head);
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if memchr::memmem::find(line, GRAPHSON_MARK).is_some() && line.starts_with(b"{") {
        let what = "it is GraphSON; import it with --layout graphson".to_string();
        return Err(ImportError::Read { path: file.shown.clone(), what });
    }
    let mut bytes = head.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    let is_named = [".json", ".jsonl", ".ndjson", ".geojson"]
        .iter()
        .any(|ending| file.name().to_ascii_lowercase().ends_with(ending));
    Ok(match (bytes.next(), bytes.next()) {
        (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{')) => true,
        (Some(_), _) => is_named,
        (None, _) => false,
    })
}

pub(crate) type JsonRow = Vec<(String, Json)>;
type TakeRow<'f> = &'f mut dyn FnMut(u64, JsonRow) -> Result<(), ImportError>;

/// Rows of one file.
struct Rows<'f> {
    file: &'f InputFile,
    reader: JsonReader,
    /// Did a row stand in a list?
    is_listed: bool,
}

impl Rows<'_> {
    fn told(&self, error: JsonError) -> ImportError {
        told(self.file, error)
    }
    fn wrong(&self, line: u64, what: &str) -> ImportError {
        self.file.malformed(line, what)
    }
    /// Everything in the file.
    fn all(&mut self, found: TakeRow<'_>) -> Result<(), ImportError> {
        while let Some(byte) = self.reader.next_byte().map_err(|error| self.told(error))? {
            match byte {
                b'[' => self.list(found)?,
                _ => self.object(found)?,
            }
            // Some writers put commas between objects.
            self.reader.passes(b',').map_err(|error| self.told(error))?;
        }
        Ok(())
    }
    fn list(&mut self, found: TakeRow<'_>) -> Result<(), ImportError> {
        let pass =
            |rows: &mut Self, byte: u8| rows.reader.passes(byte).map_err(|error| told(rows.file, error));
        self.is_listed = true;
        pass(self, b'[')?;
        if pass(self, b']')? {
            return Ok(());
        }
        loop {
            // Up to the value, so that its own line is named.
            self.reader.next_byte().map_err(|error| self.told(error))?;
            let line = self.reader.line();
            match self.reader.value().map_err(|error| self.told(error))? {
                Json::Object(row) => found(line, row)?,
                _ => return Err(self.wrong(line, "a row is an object, such as {\"id\": 1}; this is none")),
            }
            if pass(self, b']')? {
                return Ok(());
            }
            if !pass(self, b',')? {
                return Err(self.told(self.reader.wrong("`,` or `]` is expected")));
            }
        }
    }
    /// A row, or an object around a list of rows.
    fn object(&mut self, found: TakeRow<'_>) -> Result<(), ImportError> {
        let line = self.reader.line();
        match self.reader.value().map_err(|error| self.told(error))? {
            Json::Object(mut row) => match row.as_mut_slice() {
                [(_, Json::List(items))]
                    if !items.is_empty() && items.iter().all(|item| matches!(item, Json::Object(_))) =>
                {
                    self.is_listed = true;
                    for item in std::mem::take(items) {
                        let Json::Object(row) = item else { continue };
                        found(line, row)?;
                    }
                    Ok(())
                }
                _ => found(line, row),
            },
            _ => Err(self.wrong(line, "a row is an object, such as {\"id\": 1}; this is none")),
        }
    }
}

pub(crate) fn told(file: &InputFile, error: JsonError) -> ImportError {
    match error {
        JsonError::Unreadable(error) => file.unreadable(&error),
        JsonError::Wrong { line, column, what } => {
            let what = format!("column {column}: {what}");
            file.malformed(line, what)
        }
    }
}

/// Calls `found` with every row; were rows in a list?
fn each(file: &InputFile, found: TakeRow<'_>) -> Result<bool, ImportError> {
    let mut reader =
        JsonReader::new(source::open(file, Arc::default())?).map_err(|error| told(file, error))?;
    if let Some(orient) = json_frames::orient(file)? {
        let read = json_frames::each(&mut reader, orient, found);
        return read.map(|()| true).map_err(|error| match error {
            FrameError::Json(error) => told(file, error),
            FrameError::Import(error) => error,
        });
    }
    let mut rows = Rows { file, reader, is_listed: false };
    rows.all(found)?;
    Ok(rows.is_listed)
}

/// Calls `found` with every column of a row and its value; nulls are left out.
pub(crate) fn flatten(
    prefix: &str,
    row: JsonRow,
    found: &mut dyn FnMut(String, Json) -> Result<(), String>,
) -> Result<(), String> {
    for (name, value) in row {
        let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        match value {
            Json::Null => {}
            Json::Object(inner) if !is_typed(&inner) => flatten(&name, inner, found)?,
            value => found(name, value)?,
        }
    }
    Ok(())
}

/// Is it one of the objects that stand for a value, such as `{"$date": "2024-02-29"}`?
fn is_typed(entries: &[(String, Json)]) -> bool {
    matches!(entries, [(name, _)] if name.starts_with('$'))
}

/// The value that JSON is as a property.
pub(crate) fn value_of(json: Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(truth),
        Json::Text(text) => Value::from(text),
        Json::Number(number) => number_of(number),
        Json::Object(ref entries) if is_typed(entries) => typed::read(&json.text())?,
        Json::Object(_) => Value::from(json.text()),
        Json::List(items) => {
            let text = Json::List(items.clone()).text();
            let is_flat = items.iter().all(|item| !matches!(item, Json::List(_)));
            let held: Option<Vec<Value>> =
                if is_flat { items.into_iter().map(|item| value_of(item).ok()).collect() } else { None };
            held.and_then(simple_list).unwrap_or_else(|| Value::from(text))
        }
    })
}

fn number_of(number: String) -> Value {
    match number.as_str() {
        "NaN" => return Value::Float(f64::NAN),
        "Infinity" => return Value::Float(f64::INFINITY),
        "-Infinity" => return Value::Float(f64::NEG_INFINITY),
        _ => {}
    }
    if let Some(int) = cell::int(number.as_bytes()) {
        return Value::Int(int);
    }
    let is_whole = !number.contains(['.', 'e', 'E']);
    match number.parse::<f64>() {
        Ok(float) if !is_whole && float.is_finite() => Value::Float(float),
        // More than 64 bits: its digits.
        _ => Value::from(number),
    }
}

/// Observations of a column.
#[derive(Default)]
struct JsonColumn {
    kind: Option<ColumnKind>,
    is_mixed: bool,
    has_floats: bool,
    /// Is a whole number too large to be a float?
    has_large: bool,
    /// Are there numbers of more than 64 bits?
    has_long: bool,
    /// Whether texts are dates.
    texts: ColumnSurvey,
}

impl JsonColumn {
    fn look(&mut self, json: &Json, value: &Value) {
        let mut kind = ColumnKind::of(value);
        match value {
            Value::String(_) if matches!(json, Json::Number(_)) => {
                self.has_long = true;
                kind = ColumnKind::One("int");
            }
            Value::String(text) => {
                self.texts.look(&Field { bytes: text.as_bytes(), quoted: true, doubled: false }, &[]);
                if text.is_empty() {
                    self.is_mixed |= self.texts.is_instant();
                    self.texts.forget_instants();
                }
            }
            Value::Int(int) => self.has_large |= int.unsigned_abs() > EXACT_MAX,
            Value::Float(_) => {
                self.has_floats = true;
                kind = ColumnKind::One("int");
            }
            _ => {}
        }
        self.is_mixed |= *self.kind.get_or_insert(kind) != kind;
    }
    fn kind(&self) -> ColumnKind {
        match self.kind {
            _ if self.is_mixed => ColumnKind::Any,
            Some(ColumnKind::One("int")) => match (self.has_long, self.has_floats, self.has_large) {
                (false, false, _) => ColumnKind::One("int"),
                (false, true, false) => ColumnKind::One("float"),
                (true, false, _) => ColumnKind::One("string"),
                _ => ColumnKind::Any,
            },
            Some(ColumnKind::One("string")) => match self.texts.kind() {
                Kind::Instant(instant) => ColumnKind::instant(instant),
                _ => ColumnKind::One("string"),
            },
            Some(kind) => kind,
            None => ColumnKind::One("string"),
        }
    }
}

/// Makes rows of a file of JSON, in a folder of its own.
pub(crate) fn rows(file: &InputFile, folder: &Path, ids: &IdNames) -> Result<InputFile, ImportError> {
    let wrong = |line: u64, what: String| file.malformed(line, what);
    let (mut numbers, mut columns): (HashMap<String, usize>, Vec<(String, JsonColumn)>) = Default::default();
    each(file, &mut |line, row| {
        let mut look = |name: String, json: Json| -> Result<(), String> {
            let value = value_of(json.clone()).map_err(|what| format!("column `{name}`: {what}"))?;
            let next = columns.len();
            let at = *numbers.entry(name).or_insert_with_key(|name| {
                columns.push((name.clone(), JsonColumn::default()));
                next
            });
            columns[at].1.look(&json, &value);
            match columns.len() > COLUMNS_MAX {
                true => Err(format!("rows have more than {COLUMNS_MAX} columns in all")),
                false => Ok(()),
            }
        };
        flatten("", row, &mut look).map_err(|what| wrong(line, what))
    })?;
    let made = columns.into_iter().map(|(name, column)| RowColumn::new(name, column.kind())).collect();
    let mut staged = StagedRows::create(file, "JSON", folder, made, ids)?;
    let mut values: Vec<Option<Value>> = Vec::new();
    let is_listed = each(file, &mut |line, row| {
        values.clear();
        values.resize(numbers.len(), None);
        let mut put = |name: String, json: Json| -> Result<(), String> {
            let at = *numbers.get(&name).ok_or("the file changed meanwhile")?;
            let value = value_of(json)?;
            match values[at].replace(value) {
                Some(_) => Err(format!("the name `{name}` stands twice in a row")),
                None => Ok(()),
            }
        };
        flatten("", row, &mut put).map_err(|what| wrong(line, what))?;
        staged.row(file, line, &values)
    })?;
    let is_line =
        [".jsonl", ".ndjson"].iter().any(|ending| file.name().to_ascii_lowercase().ends_with(ending));
    staged.may_be_no_table(!is_listed && !is_line);
    staged.finish(file)
}
