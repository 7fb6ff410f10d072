//! CSV with typed headers: a file for each set of labels, and one for each relationship type.
//!
//! `:ID(graph)`, `:LABEL`, then a column for each property; `:START_ID(graph)`, `:END_ID(graph)`, `:TYPE`. A column whose values are of several types, or
//! of one that has no form of its own, has the type `any` (see `typed`). Names that a header would read otherwise stand in braces, with `%` and two digits
//! for each byte that is no letter, digit or `_`: `:string{key:a%3Ab}`, `:ID(graph){labels:A%3BB+C}`, `:START_ID(graph){type:%20}`.

use super::graph::{ExportOptions, ExportReport, Graph, refusal, unwritten};
use super::sheets::{self, Sheet, SheetColumns, unsaid};
use crate::ImportError;
use crate::source::HEAD_BYTES;
use formats::blocks::RECORD_BYTES_MAX;
use formats::typed;
use model::temporal::Kind as Instant;
use model::{KeyId, Value};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use world::files;

/// The kind of a column's values so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// All of this type of a header.
    One(&'static str),
    /// Of several, or of one without a form of its own.
    Any,
}

impl ColumnKind {
    /// The kind of a value.
    pub fn of(value: &Value) -> ColumnKind {
        ColumnKind::One(match value {
            Value::Bool(_) => "boolean",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::String(_) => "string",
            Value::Date(_) => "date",
            Value::LocalTime(_) => "localtime",
            Value::Time(_) => "time",
            Value::LocalDateTime(_) => "localdatetime",
            Value::DateTime(_) => "datetime",
            Value::Duration(_) => "duration",
            _ => return ColumnKind::Any,
        })
    }
    /// The kind of an instant.
    pub fn instant(kind: Instant) -> ColumnKind {
        ColumnKind::One(match kind {
            Instant::Date => "date",
            Instant::LocalTime => "localtime",
            Instant::Time => "time",
            Instant::LocalDateTime => "localdatetime",
            Instant::DateTime => "datetime",
        })
    }
    /// As a header writes it.
    pub fn name(self) -> &'static str {
        match self {
            ColumnKind::One(name) => name,
            ColumnKind::Any => "any",
        }
    }
}

/// The columns of a file by name.
pub(crate) type Columns<K> = BTreeMap<K, ColumnKind>;

/// Letters, digits and `_` are written as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_');

/// `%` and two digits for each byte that is no letter, digit or `_`.
pub(crate) fn escaped(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}

/// Does a header read the name as it is?
pub(crate) fn is_plain(name: &str) -> bool {
    let is_odd = |letter: char| {
        letter.is_control() || matches!(letter, ',' | ';' | '|' | '"' | '(' | ')' | '{' | '}' | '~')
    };
    !name.is_empty() && name.trim() == name && !name.contains(is_odd)
}

/// A property and the type of its values, as a header names them.
pub(crate) fn typed_name(name: &str, kind: ColumnKind) -> String {
    match is_plain(name) {
        true => format!("{name}:{}", kind.name()),
        false => format!(":{}{{key:{}}}", kind.name(), escaped(name)),
    }
}

/// A field, in quotes where it must be.
fn push_field(record: &mut String, text: &str) {
    let is_odd = |letter: char| matches!(letter, ',' | '"' | '\n' | '\r');
    let is_plain = !text.is_empty() && text.trim() == text && !text.contains(is_odd);
    match is_plain {
        true => record.push_str(text),
        false => drop(write!(record, "\"{}\"", text.replace('"', "\"\""))),
    }
}

fn text_of(value: &Value, kind: ColumnKind) -> Result<String, String> {
    Ok(match (kind, value) {
        (ColumnKind::Any, value) => typed::to_json(value, 0)?.to_string(),
        (_, Value::Bool(truth)) => truth.to_string(),
        (ColumnKind::One("float"), Value::Int(int)) => format!("{:?}", *int as f64),
        (_, Value::Int(int)) => int.to_string(),
        (_, Value::Float(float)) => format!("{float:?}"),
        (_, Value::String(text)) => text.to_string(),
        (_, temporal) => typed::temporal_text(temporal)?,
    })
}

/// A file of rows.
pub(crate) struct RowFile {
    path: PathBuf,
    file: Box<dyn Write + Send>,
    record: String,
}

impl RowFile {
    /// Makes a file with a header: columns that stand for no property, then properties.
    pub fn create(
        path: PathBuf,
        structural: &[String],
        properties: &[(String, ColumnKind)],
    ) -> Result<RowFile, ImportError> {
        let file = files::create_writer(&path)?;
        let mut made = RowFile { path, file, record: String::new() };
        let named = properties.iter().map(|(name, kind)| typed_name(name, *kind));
        let mut header = String::new();
        for column in structural.iter().cloned().chain(named) {
            header.push_str(if header.is_empty() { "" } else { "," });
            push_field(&mut header, &column);
        }
        if header.len() + 1 >= HEAD_BYTES {
            return Err(refusal(format!(
                "{}: its header would be longer than {HEAD_BYTES} bytes; use jsonl",
                made.path.display()
            )));
        }
        made.record.push_str(&header);
        made.end()?;
        Ok(made)
    }
    /// A field that stands for no property.
    pub fn field(&mut self, text: &str) {
        if !self.record.is_empty() {
            self.record.push(',');
        }
        push_field(&mut self.record, text);
    }
    /// A field without anything.
    pub fn absent(&mut self) {
        self.record.push(',');
    }
    /// The value of a property, or nothing.
    pub fn value(&mut self, value: Option<&Value>, kind: ColumnKind) -> Result<(), String> {
        self.record.push(',');
        if let Some(value) = value {
            push_field(&mut self.record, &text_of(value, kind)?);
        }
        Ok(())
    }
    /// Ends a record.
    pub fn end(&mut self) -> Result<(), ImportError> {
        if self.record.len() + 1 >= RECORD_BYTES_MAX {
            return Err(refusal(format!(
                "{}: a row would have more than {RECORD_BYTES_MAX} bytes",
                self.path.display()
            )));
        }
        self.record.push('\n');
        let written = self.file.write_all(self.record.as_bytes());
        self.record.clear();
        written.map_err(unwritten(&self.path))
    }
    /// Writes the rest.
    pub fn finish(mut self) -> Result<(), ImportError> {
        self.file.flush().map_err(unwritten(&self.path))
    }
}

/// The first columns of a file of nodes with these labels, and the field that names them, if they have a column. The column of the ids may be a
/// property; they may be texts all.
pub(crate) fn node_columns(name: &str, group: &str, are_texts: bool, labels: &[String]) -> SheetColumns {
    let mut options = Vec::new();
    let is_plain = labels.iter().all(|label| is_plain(label));
    if !is_plain {
        let labels: Vec<String> = labels.iter().map(|label| escaped(label)).collect();
        options.push(format!("labels:{}", labels.join("+")));
    }
    if are_texts {
        options.push("id-type:string".into());
    }
    let options = if options.is_empty() { String::new() } else { format!("{{{}}}", options.join(",")) };
    let id = format!("{name}:ID({group}){options}");
    match is_plain {
        true => (vec![id, ":LABEL".into()], Some(labels.join(";"))),
        false => (vec![id], None),
    }
}

/// The same of relationships of a type.
pub(crate) fn edge_columns(group: &str, name: &str) -> SheetColumns {
    let (start, end) = (format!(":START_ID({group})"), format!(":END_ID({group})"));
    match is_plain(name) {
        true => (vec![start, end, ":TYPE".into()], Some(name.to_string())),
        false => (vec![format!("{start}{{type:{}}}", escaped(name)), end], None),
    }
}

/// A file for one kind of nodes or relationships.
struct Group {
    file: RowFile,
    /// The kind of the column of labels or the type.
    named: Option<String>,
    columns: Vec<(KeyId, ColumnKind)>,
}

impl Sheet for Group {
    type Kind = ColumnKind;

    const ENDING: &'static str = "csv";

    fn kind(value: &Value) -> ColumnKind {
        ColumnKind::of(value)
    }
    fn joined(_: ColumnKind, _: ColumnKind) -> ColumnKind {
        ColumnKind::Any
    }
    fn create(
        graph: &Graph<'_>,
        path: PathBuf,
        (structural, named): SheetColumns,
        columns: BTreeMap<KeyId, ColumnKind>,
    ) -> Result<Group, ImportError> {
        let properties: Vec<(String, ColumnKind)> =
            columns.iter().map(|(key, kind)| (graph.key_name(*key), *kind)).collect();
        let file = RowFile::create(path, &structural, &properties)?;
        Ok(Group { file, named, columns: columns.into_iter().collect() })
    }
    fn row(&mut self, graph: &Graph<'_>, ids: &[u32], held: &[(KeyId, Value)]) -> Result<(), ImportError> {
        ids.iter().for_each(|id| self.file.field(&id.to_string()));
        if let Some(named) = &self.named {
            // Without a label there is nothing.
            match named.is_empty() {
                true => self.file.absent(),
                false => self.file.field(named),
            }
        }
        for (key, kind) in &self.columns {
            let value = held.iter().find(|(held, _)| held == key).map(|(_, value)| value);
            self.file.value(value, *kind).map_err(|what| unsaid(graph, *key, ids, &what))?;
        }
        self.file.end()
    }
    fn finish(self) -> Result<(), ImportError> {
        self.file.finish()
    }
}

pub(super) fn write(graph: &Graph<'_>, options: &ExportOptions) -> Result<ExportReport, ImportError> {
    sheets::write::<Group>(graph, options)
}
