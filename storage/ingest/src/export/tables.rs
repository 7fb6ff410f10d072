//! CSV with typed headers: a file for each set of labels, and one for each relationship type.
//!
//! `:ID(graph)`, `:LABEL`, then a column for each property; `:START_ID(graph)`, `:END_ID(graph)`, `:TYPE`. A column whose values are of several types, or
//! of one that has no form of its own, has the type `any` (see `typed`). Names that a header would read otherwise stand in braces, with `%` and two digits
//! for each byte that is no letter, digit or `_`: `:string{key:a%3Ab}`, `:ID(graph){labels:A%3BB+C}`, `:START_ID(graph){type:%20}`.

use super::{ExportOptions, ExportReport, Graph, refusal, unwritten, write_schema};
use crate::blocks::RECORD_BYTES_MAX;
use crate::source::HEAD_BYTES;
use crate::{ImportError, typed};
use model::temporal::Kind as Instant;
use model::{EdgeTypeId, KeyId, LabelSetId, Value};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use world::files;

/// Files that are written at once.
pub(crate) const FILES_MAX: usize = 500;

/// What the values of a column are so far.
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

fn note<K: Ord>(columns: &mut Columns<K>, key: K, value: &Value) {
    let kind = ColumnKind::of(value);
    let known = columns.entry(key).or_insert(kind);
    if *known != kind {
        *known = ColumnKind::Any;
    }
}

/// Letters, digits and `_` are written as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_');

/// `%` and two digits for each byte that is no letter, digit or `_`.
pub(crate) fn escaped(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}

/// Does a header read the name as it is?
fn is_plain(name: &str) -> bool {
    let is_odd = |letter: char| {
        letter.is_control() || matches!(letter, ',' | ';' | '|' | '"' | '(' | ')' | '{' | '}' | '~')
    };
    !name.is_empty() && name.trim() == name && !name.contains(is_odd)
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
        (ColumnKind::Any, value) => typed::to_json(value)?.to_string(),
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
        let named = properties.iter().map(|(name, kind)| match is_plain(name) {
            true => format!("{name}:{}", kind.name()),
            false => format!(":{}{{key:{}}}", kind.name(), escaped(name)),
        });
        let header: Vec<String> = structural.iter().cloned().chain(named).collect();
        let header = header.join(",");
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
    /// Writes what is left.
    pub fn finish(mut self) -> Result<(), ImportError> {
        self.file.flush().map_err(unwritten(&self.path))
    }
}

/// The first columns of a file of nodes with these labels, and the field that names them, if they have a column.
pub(crate) fn node_columns(labels: &[String]) -> (Vec<String>, Option<String>) {
    match labels.iter().all(|label| is_plain(label)) {
        true => (vec![":ID(graph)".into(), ":LABEL".into()], Some(labels.join(";"))),
        false => {
            let labels: Vec<String> = labels.iter().map(|label| escaped(label)).collect();
            (vec![format!(":ID(graph){{labels:{}}}", labels.join("+"))], None)
        }
    }
}

/// The same of relationships of a type.
pub(crate) fn edge_columns(name: &str) -> (Vec<String>, Option<String>) {
    match is_plain(name) {
        true => {
            (vec![":START_ID(graph)".into(), ":END_ID(graph)".into(), ":TYPE".into()], Some(name.to_string()))
        }
        false => (vec![format!(":START_ID(graph){{type:{}}}", escaped(name)), ":END_ID(graph)".into()], None),
    }
}

/// A file for one kind of nodes or relationships.
struct Group {
    file: RowFile,
    /// What the column of labels or the type holds.
    named: Option<String>,
    columns: Vec<(KeyId, ColumnKind)>,
}

impl Group {
    fn create(
        graph: &Graph<'_>,
        path: PathBuf,
        (structural, named): (Vec<String>, Option<String>),
        columns: Columns<KeyId>,
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
            self.file.value(value, *kind).map_err(|what| {
                refusal(format!(
                    "the property `{}` of node {} cannot be written: {what}",
                    graph.key_name(*key),
                    ids[0]
                ))
            })?;
        }
        self.file.end()
    }
}

/// The name of a file: what it holds, as far as a name can say it.
fn file_name(number: usize, what: &str, names: &str) -> String {
    let letters = names.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    let shown: String = letters.take(60).collect();
    // The number last: a name that ends in `header` belongs to a header in a file of its own.
    format!("{what}-{shown}-{number}.csv")
}

pub(super) fn write(graph: &Graph<'_>, options: &ExportOptions) -> Result<ExportReport, ImportError> {
    let mut of_nodes: BTreeMap<LabelSetId, Columns<KeyId>> = BTreeMap::new();
    let mut of_edges: BTreeMap<EdgeTypeId, Columns<KeyId>> = BTreeMap::new();
    graph.nodes(|vertex, held| {
        let columns = of_nodes.entry(graph.snapshot.labels(vertex)?).or_default();
        held.iter().for_each(|(key, value)| note(columns, *key, value));
        Ok(())
    })?;
    graph.edges(|between, held| {
        let columns = of_edges.entry(between.edge_type).or_default();
        held.iter().for_each(|(key, value)| note(columns, *key, value));
        Ok(())
    })?;
    let count = of_nodes.len() + of_edges.len();
    if count > FILES_MAX {
        let what = format!(
            "{count} sets of labels and types would be {count} files, and {FILES_MAX} can be written"
        );
        return Err(refusal(format!("{what}; use jsonl")));
    }
    let report = ExportReport { files: count + write_schema(options)?, ..ExportReport::default() };
    rows(graph, &options.to, of_nodes, of_edges, report)
}

/// A snapshot does not change between two walks.
fn unmet() -> ImportError {
    refusal("a node or relationship was not met before".into())
}

fn rows(
    graph: &Graph<'_>,
    folder: &Path,
    of_nodes: BTreeMap<LabelSetId, Columns<KeyId>>,
    of_edges: BTreeMap<EdgeTypeId, Columns<KeyId>>,
    mut report: ExportReport,
) -> Result<ExportReport, ImportError> {
    // In the order of names, which is that of the numbers of files.
    let named = of_nodes.into_iter().map(|(set, columns)| (graph.labels(set), (set, columns)));
    let named: BTreeMap<Vec<String>, (LabelSetId, Columns<KeyId>)> = named.collect();
    let mut nodes: BTreeMap<LabelSetId, Group> = BTreeMap::new();
    for (number, (labels, (set, columns))) in named.into_iter().enumerate() {
        let path = folder.join(file_name(number, "nodes", &labels.join("_")));
        nodes.insert(set, Group::create(graph, path, node_columns(&labels), columns)?);
    }
    let mut edges: BTreeMap<EdgeTypeId, Group> = BTreeMap::new();
    for (number, (edge_type, columns)) in of_edges.into_iter().enumerate() {
        let name = graph.type_name(edge_type);
        let path = folder.join(file_name(number, "relationships", &name));
        edges.insert(edge_type, Group::create(graph, path, edge_columns(&name), columns)?);
    }
    graph.nodes(|vertex, held| {
        report.vertices += 1;
        let group = nodes.get_mut(&graph.snapshot.labels(vertex)?).ok_or_else(unmet)?;
        group.row(graph, &[vertex.dense()], &held)
    })?;
    graph.edges(|between, held| {
        report.edges += 1;
        let group = edges.get_mut(&between.edge_type).ok_or_else(unmet)?;
        group.row(graph, &[between.source.dense(), between.target.dense()], &held)
    })?;
    nodes.into_values().chain(edges.into_values()).try_for_each(|group| group.file.finish())?;
    Ok(report)
}
