//! Parquet, packed by snappy: the files of `tables`, whose columns keep their types.
//!
//! Columns are called as in a typed header, and where Parquet has the type of all their values, by the name of the property alone: truth values, whole
//! numbers, floats, texts, bytes, dates, local times of a day (nanoseconds), and lists of the first four. Other values are texts: of one type as in a typed
//! header (`born:datetime`), of several as JSON (`tags:any`).

use super::graph::{ExportOptions, ExportReport, Graph, refusal};
use super::sheets::{self, Sheet, SheetColumns, unsaid};
use super::tables::{ColumnKind, escaped, is_plain};
use crate::ImportError;
use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, ListBuilder,
    StringBuilder, TimestampNanosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use formats::blocks::RECORD_BYTES_MAX;
use formats::typed;
use model::nested::extent_of;
use model::{KeyId, Value};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use world::files;

/// Rows that are handed on at once.
const BATCH_ROWS: usize = 1024;
/// Bytes of values that are handed on at once, however few rows they are.
const BATCH_BYTES: usize = 4 << 20;
/// Bytes of values that one group of rows may hold: the memory of a writer.
const GROUP_BYTES: usize = 16 << 20;
/// Rows of a group.
const GROUP_ROWS: usize = 1 << 16;
/// Bytes that a value without text may have as text at most.
const SHORT_BYTES: usize = 64;
/// Bytes from which on a list is written to be measured.
const EXACT_BYTES: usize = 1 << 20;
/// Nanoseconds of a second.
const SECOND_NANOS: i64 = 1_000_000_000;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    One(Plain),
    List(Plain),
    Bytes,
    Date,
    /// A local date and time that nanoseconds of 64 bits can say.
    Moment,
    /// The text of a typed header's type.
    Text(&'static str),
    /// JSON.
    Any,
}

/// Types that lists may be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plain {
    Bool,
    Int,
    Float,
    Text,
}

fn plain(value: &Value) -> Option<Plain> {
    Some(match value {
        Value::Bool(_) => Plain::Bool,
        Value::Int(_) => Plain::Int,
        Value::Float(_) => Plain::Float,
        Value::String(_) => Plain::Text,
        _ => return None,
    })
}

/// Days of a date, if 32 bits hold them.
fn days(value: &Value) -> Option<i32> {
    match value {
        Value::Date(date) => i32::try_from(date.days).ok(),
        _ => None,
    }
}

/// Nanoseconds of a local date and time, if 64 bits hold them.
fn nanos(value: &Value) -> Option<i64> {
    match value {
        Value::LocalDateTime(moment) => {
            moment.seconds.checked_mul(SECOND_NANOS)?.checked_add(i64::from(moment.nanos))
        }
        _ => None,
    }
}

fn kind(value: &Value) -> Kind {
    if let Some(plain) = plain(value) {
        return Kind::One(plain);
    }
    match value {
        Value::Bytes(_) => Kind::Bytes,
        Value::Date(_) if days(value).is_some() => Kind::Date,
        Value::LocalDateTime(_) if nanos(value).is_some() => Kind::Moment,
        Value::List(list) => {
            let first = list.first().and_then(plain);
            match first.filter(|first| list.iter().all(|value| plain(value) == Some(*first))) {
                Some(first) => Kind::List(first),
                None => Kind::Any,
            }
        }
        other => match ColumnKind::of(other) {
            ColumnKind::One(name) => Kind::Text(name),
            ColumnKind::Any => Kind::Any,
        },
    }
}

/// The name of the type that a typed header gives to values of this kind.
fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::One(Plain::Bool) => "boolean",
        Kind::One(Plain::Int) => "int",
        Kind::One(Plain::Float) => "float",
        Kind::One(Plain::Text) => "string",
        Kind::Date => "date",
        Kind::Moment => "localdatetime",
        Kind::Text(name) => name,
        Kind::List(_) | Kind::Bytes | Kind::Any => "any",
    }
}

fn joined(one: Kind, other: Kind) -> Kind {
    let is_text = |kind| matches!(kind, Kind::Date | Kind::Moment | Kind::Text(_));
    match is_text(one) && is_text(other) && type_name(one) == type_name(other) {
        true => Kind::Text(type_name(one)),
        false => Kind::Any,
    }
}

/// The name of a column: its property alone, where the file's type says the rest.
fn column_name(name: &str, kind: Kind) -> String {
    let is_told = !matches!(kind, Kind::Text(_) | Kind::Any);
    match is_plain(name) && !name.contains(':') {
        true if is_told => name.to_string(),
        true => format!("{name}:{}", type_name(kind)),
        false => format!(":{}{{key:{}}}", type_name(kind), escaped(name)),
    }
}

/// Bytes that a value takes in a row of text, or a few more.
fn size(value: &Value) -> usize {
    let quoted = |text: &str| text.len() + text.matches('"').count() + SHORT_BYTES;
    match value {
        Value::String(text) => quoted(text),
        Value::Bytes(bytes) => 2 * bytes.len() + SHORT_BYTES,
        Value::List(_) | Value::Map(_) => {
            // Within JSON within a field a letter may take twelve bytes.
            let extent = extent_of(value);
            let bytes = usize::try_from(extent.bytes).unwrap_or(usize::MAX);
            let roughly = bytes.saturating_mul(12).saturating_add(SHORT_BYTES * extent.parts as usize);
            match roughly < EXACT_BYTES {
                true => roughly,
                false => typed::to_json(value, 0).map_or(roughly, |json| quoted(&json.to_string())),
            }
        }
        _ => SHORT_BYTES,
    }
}

/// A column being filled.
enum ColumnFill {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Date(Date32Builder),
    Moment(TimestampNanosecondBuilder),
    BoolList(ListBuilder<BooleanBuilder>),
    IntList(ListBuilder<Int64Builder>),
    FloatList(ListBuilder<Float64Builder>),
    TextList(ListBuilder<StringBuilder>),
}

/// Calls a method of a column's builder, whatever its type.
macro_rules! each {
    ($column:expr, $builder:ident => $call:expr) => {
        match $column {
            ColumnFill::Bool($builder) => $call,
            ColumnFill::Int($builder) => $call,
            ColumnFill::Float($builder) => $call,
            ColumnFill::Text($builder) => $call,
            ColumnFill::Bytes($builder) => $call,
            ColumnFill::Date($builder) => $call,
            ColumnFill::Moment($builder) => $call,
            ColumnFill::BoolList($builder) => $call,
            ColumnFill::IntList($builder) => $call,
            ColumnFill::FloatList($builder) => $call,
            ColumnFill::TextList($builder) => $call,
        }
    };
}

impl ColumnFill {
    fn new(kind: Kind) -> ColumnFill {
        match kind {
            Kind::One(Plain::Bool) => ColumnFill::Bool(BooleanBuilder::new()),
            Kind::One(Plain::Int) => ColumnFill::Int(Int64Builder::new()),
            Kind::One(Plain::Float) => ColumnFill::Float(Float64Builder::new()),
            Kind::One(Plain::Text) | Kind::Text(_) | Kind::Any => ColumnFill::Text(StringBuilder::new()),
            Kind::Bytes => ColumnFill::Bytes(BinaryBuilder::new()),
            Kind::Date => ColumnFill::Date(Date32Builder::new()),
            Kind::Moment => ColumnFill::Moment(TimestampNanosecondBuilder::new()),
            Kind::List(Plain::Bool) => ColumnFill::BoolList(ListBuilder::new(BooleanBuilder::new())),
            Kind::List(Plain::Int) => ColumnFill::IntList(ListBuilder::new(Int64Builder::new())),
            Kind::List(Plain::Float) => ColumnFill::FloatList(ListBuilder::new(Float64Builder::new())),
            Kind::List(Plain::Text) => ColumnFill::TextList(ListBuilder::new(StringBuilder::new())),
        }
    }
    fn absent(&mut self) {
        match self {
            ColumnFill::BoolList(builder) => builder.append(false),
            ColumnFill::IntList(builder) => builder.append(false),
            ColumnFill::FloatList(builder) => builder.append(false),
            ColumnFill::TextList(builder) => builder.append(false),
            ColumnFill::Bool(builder) => builder.append_null(),
            ColumnFill::Int(builder) => builder.append_null(),
            ColumnFill::Float(builder) => builder.append_null(),
            ColumnFill::Text(builder) => builder.append_null(),
            ColumnFill::Bytes(builder) => builder.append_null(),
            ColumnFill::Date(builder) => builder.append_null(),
            ColumnFill::Moment(builder) => builder.append_null(),
        }
    }
    fn value(&mut self, kind: Kind, value: &Value) -> Result<(), String> {
        match (self, value) {
            (ColumnFill::Bool(builder), Value::Bool(truth)) => builder.append_value(*truth),
            (ColumnFill::Int(builder), Value::Int(int)) => builder.append_value(*int),
            (ColumnFill::Float(builder), Value::Float(float)) => builder.append_value(*float),
            (ColumnFill::Bytes(builder), Value::Bytes(bytes)) => builder.append_value(bytes),
            (ColumnFill::Date(builder), value) => builder.append_option(days(value)),
            (ColumnFill::Moment(builder), value) => builder.append_option(nanos(value)),
            (ColumnFill::BoolList(builder), Value::List(list)) => {
                list.iter().for_each(|value| builder.values().append_option(value.as_bool()));
                builder.append(true);
            }
            (ColumnFill::IntList(builder), Value::List(list)) => {
                list.iter().for_each(|value| builder.values().append_option(value.as_int()));
                builder.append(true);
            }
            (ColumnFill::FloatList(builder), Value::List(list)) => {
                list.iter().for_each(|value| builder.values().append_option(float(value)));
                builder.append(true);
            }
            (ColumnFill::TextList(builder), Value::List(list)) => {
                list.iter().for_each(|value| builder.values().append_option(value.as_str()));
                builder.append(true);
            }
            (ColumnFill::Text(builder), value) => builder.append_value(text(kind, value)?),
            // The kind of the column was that of all its values.
            _ => return Err("its type is not that of the column".into()),
        }
        Ok(())
    }
    fn finish(&mut self) -> ArrayRef {
        each!(self, builder => ArrayBuilder::finish(builder))
    }
    fn data_type(kind: Kind) -> DataType {
        ColumnFill::new(kind).finish().data_type().clone()
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(float) => Some(*float),
        _ => None,
    }
}

fn text(kind: Kind, value: &Value) -> Result<String, String> {
    Ok(match (kind, value) {
        (Kind::One(_), Value::String(text)) => text.to_string(),
        (Kind::Text(_), value) => typed::temporal_text(value)?,
        _ => typed::to_json(value, 0)?.to_string(),
    })
}

/// A file of Parquet for one kind of nodes or relationships.
struct Group {
    path: PathBuf,
    writer: ArrowWriter<Box<dyn Write + Send>>,
    schema: Arc<Schema>,
    ids: Vec<Int64Builder>,
    /// The kind of the column of labels or the type, and the column.
    named: Option<(String, StringBuilder)>,
    columns: Vec<(KeyId, Kind, ColumnFill)>,
    rows: usize,
    bytes: usize,
}

impl Group {
    fn unwritten(&self) -> impl Fn(&dyn std::fmt::Display) -> ImportError + use<> {
        let path = self.path.clone();
        move |error| ImportError::Read { path: path.clone(), what: error.to_string() }
    }
    /// Writes the buffered rows.
    fn flush(&mut self) -> Result<(), ImportError> {
        let unwritten = self.unwritten();
        let mut arrays: Vec<ArrayRef> = self.ids.iter_mut().map(|ids| ArrayBuilder::finish(ids)).collect();
        arrays.extend(self.named.iter_mut().map(|(_, named)| ArrayBuilder::finish(named)));
        arrays.extend(self.columns.iter_mut().map(|(_, _, column)| column.finish()));
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(|error| unwritten(&error))?;
        self.writer.write(&batch).map_err(|error| unwritten(&error))?;
        if self.writer.in_progress_size() > GROUP_BYTES {
            self.writer.flush().map_err(|error| unwritten(&error))?;
        }
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl Sheet for Group {
    type Kind = Kind;

    const ENDING: &'static str = "parquet";

    fn kind(value: &Value) -> Kind {
        kind(value)
    }
    fn joined(one: Kind, other: Kind) -> Kind {
        joined(one, other)
    }
    fn create(
        graph: &Graph<'_>,
        path: PathBuf,
        (structural, named): SheetColumns,
        columns: BTreeMap<KeyId, Kind>,
    ) -> Result<Group, ImportError> {
        let unwritten =
            |error: &dyn std::fmt::Display| ImportError::Read { path: path.clone(), what: error.to_string() };
        let ids = structural.len() - usize::from(named.is_some());
        let of_ids = structural.iter().enumerate().map(|(at, name)| {
            Field::new(name, if at < ids { DataType::Int64 } else { DataType::Utf8 }, at >= ids)
        });
        let of_properties = columns.iter().map(|(key, kind)| {
            Field::new(column_name(&graph.key_name(*key), *kind), ColumnFill::data_type(*kind), true)
        });
        let schema = Arc::new(Schema::new(of_ids.chain(of_properties).collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let writer = ArrowWriter::try_new(files::create_writer(&path)?, schema.clone(), Some(properties))
            .map_err(|error| unwritten(&error))?;
        Ok(Group {
            writer,
            schema,
            ids: (0..ids).map(|_| Int64Builder::new()).collect(),
            named: named.map(|named| (named, StringBuilder::new())),
            columns: columns.into_iter().map(|(key, kind)| (key, kind, ColumnFill::new(kind))).collect(),
            path,
            rows: 0,
            bytes: 0,
        })
    }
    fn row(&mut self, graph: &Graph<'_>, ids: &[u32], held: &[(KeyId, Value)]) -> Result<(), ImportError> {
        self.ids.iter_mut().zip(ids).for_each(|(column, id)| column.append_value(i64::from(*id)));
        if let Some((named, column)) = &mut self.named {
            column.append_option((!named.is_empty()).then_some(named.as_str()));
        }
        let mut bytes = SHORT_BYTES;
        for (key, kind, column) in &mut self.columns {
            let Some((_, value)) = held.iter().find(|(held, _)| held == key) else {
                column.absent();
                continue;
            };
            bytes += size(value);
            column.value(*kind, value).map_err(|what| unsaid(graph, *key, ids, &what))?;
        }
        if bytes >= RECORD_BYTES_MAX {
            return Err(refusal(format!(
                "{}: a row would have more than {RECORD_BYTES_MAX} bytes",
                self.path.display()
            )));
        }
        self.rows += 1;
        self.bytes += bytes;
        match self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }
    fn finish(mut self) -> Result<(), ImportError> {
        self.flush()?;
        let unwritten = self.unwritten();
        let mut file = self.writer.into_inner().map_err(|error| unwritten(&error))?;
        file.flush().map_err(|error| unwritten(&error))
    }
}

pub(super) fn write(graph: &Graph<'_>, options: &ExportOptions) -> Result<ExportReport, ImportError> {
    sheets::write::<Group>(graph, options)
}
