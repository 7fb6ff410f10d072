//! LoadCsv and LoadJson: the records of a file, for each row: lists of texts, or maps by the titles of the first record; or the values of a file of JSON.
//!
//! Files lie below the folder that the database was told to import from; nothing else can be named. Records are read as they are asked for.
//! A file that begins like gzip is unpacked while it is read. It is a procedure of the planner's table by its form, and an operator of its own because its rows stream.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::operator::graph_procedure::recharge;
use crate::reads::EntityReads;
use crate::stream::{Feed, Stream};
use crate::turn::{Here, Progress, Try, Turn};
use dataflow::watch::{self, Hold};
use expression::{Compiled, EvalError};
use flate2::read::MultiGzDecoder;
use json_values::JsonValues;
use model::{Batch, Column, Value};
use plan::VarSet;
use records::{Metered, Records};
use std::io::{BufRead, BufReader};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

mod json_values;
mod records;

/// Bytes of a file's name that a message shows.
const NAME_SHOWN_BYTES_MAX: usize = 200;

/// How a file begins that is compressed with gzip (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Records read between two looks at the clock.
const RECORDS_PER_LOOK: usize = 64;

/// Records of so many bytes are handed on although a batch has room for more: a record may have megabytes, and a batch a thousand of them.
const BATCH_BYTES_MAX: usize = 8 << 20;

/// Bytes charged beyond those of the records that are held.
const CHARGED_AHEAD_BYTES: usize = 64 << 10;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFormat {
    Csv,
    Json,
}

impl FileFormat {
    /// The clause that reads it.
    fn clause(self) -> &'static str {
        match self {
            FileFormat::Csv => "LOAD CSV",
            FileFormat::Json => "LOAD JSON",
        }
    }
}

struct LoadCsv {
    format: FileFormat,
    /// File; of CSV also whether the first record gives titles, and the separator.
    arguments: Arc<Vec<Compiled>>,
    reads: Arc<EntityReads>,
    /// What is read above, in the order of the columns, each with its values.
    columns: Vec<(Field, Vec<Value>)>,
    /// Bytes of the records in them, and what is charged for those.
    bytes: usize,
    charged: usize,
}

/// What is told of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// The record itself.
    Row,
    /// The line on which it ends, from 1.
    Line,
    /// The file, below the import folder.
    File,
}

/// A file that is being read.
struct Open {
    file: Value,
    rows: Rows,
}

/// The rows of a file.
enum Rows {
    Csv(CsvRows),
    Json(JsonValues),
}

/// The records of a file of CSV.
struct CsvRows {
    records: Records,
    titles: Option<Vec<Arc<str>>>,
    titles_bytes: usize,
}

impl Open {
    fn new(format: FileFormat, folder: Option<&Path>, arguments: &[Value]) -> Result<Open, ExecuteError> {
        let clause = format.clause();
        let Some(file) = arguments.first() else {
            return Err(ExecuteError::Plan(format!("{clause} takes a file")));
        };
        let (folder, name) = resolve(clause, folder, file)?;
        let unreadable = |error: &dyn std::fmt::Display| {
            ExecuteError::External(format!("{clause} FROM {}: {error}", shown(file)))
        };
        let mut reader = world::files::open_below(folder, &name).map_err(|error| unreadable(&error))?;
        // Compressed files are known by their first bytes.
        if reader.fill_buf().map_err(|error| unreadable(&error))?.starts_with(&GZIP_MAGIC) {
            reader = Box::new(BufReader::new(MultiGzDecoder::new(reader)));
        }
        let file = Value::string(format!("/{}", Path::new(&name).display()));
        let rows = match format {
            FileFormat::Csv => Rows::Csv(CsvRows::new(reader, arguments)?),
            FileFormat::Json => Rows::Json(JsonValues::new(Box::new(Metered(reader)))?),
        };
        Ok(Open { file, rows })
    }

    /// Bytes that it holds beside rows that were read.
    fn held_bytes(&self) -> usize {
        match &self.rows {
            Rows::Csv(rows) => rows.records.held_bytes() + rows.titles_bytes,
            Rows::Json(values) => values.held_bytes(),
        }
    }
    /// The line of the row that came last.
    fn line(&self) -> u64 {
        match &self.rows {
            Rows::Csv(rows) => rows.records.line(),
            Rows::Json(values) => values.line(),
        }
    }
    /// The next row; an inner none where only blank lines were read.
    fn next(&mut self) -> Result<Option<Option<Value>>, ExecuteError> {
        match &mut self.rows {
            Rows::Csv(rows) => rows.next(),
            Rows::Json(values) => Ok(values.next()?.map(Some)),
        }
    }
}

impl CsvRows {
    fn new(reader: Box<dyn BufRead + Send>, arguments: &[Value]) -> Result<CsvRows, ExecuteError> {
        let [_, headers, separator] = arguments else {
            return Err(ExecuteError::Plan("LOAD CSV takes three arguments".into()));
        };
        let separator = match separator.as_str().map(str::as_bytes) {
            Some([byte]) if !matches!(byte, b'"' | b'\n' | b'\r') => *byte,
            _ => {
                let what = "a FIELDTERMINATOR is one ASCII character, and neither a quote nor a line end";
                return Err(ExecuteError::External(what.into()));
            }
        };
        let mut records = Records::new(reader, separator);
        let titles = match headers.as_bool() {
            Some(true) => Some(titles(&mut records)?),
            _ => None,
        };
        let title_bytes = |title: &Arc<str>| size_of::<Arc<str>>() + size_of::<[usize; 2]>() + title.len();
        let titles_bytes = titles.iter().flatten().map(title_bytes).sum();
        Ok(CsvRows { records, titles, titles_bytes })
    }

    /// The next record; an inner none where only blank lines were read.
    fn next(&mut self) -> Result<Option<Option<Value>>, ExecuteError> {
        let Some(record) = self.records.next()? else { return Ok(None) };
        // Some blank lines only: there may be more.
        let Some(record) = record else { return Ok(Some(None)) };
        let count = self.titles.as_ref().map_or(record.fields.len(), Vec::len);
        watch::spend(count as u64).map_err(EvalError::from)?;
        let Some(titles) = &self.titles else {
            return Ok(Some(Some(Value::try_list(record.fields).map_err(EvalError::from)?)));
        };
        // A record of few fields still has a place for each title.
        let mut entries_held = Hold::default();
        entries_held.grow((count * size_of::<(Arc<str>, Value)>()) as u64).map_err(EvalError::from)?;
        let mut fields = record.fields.into_iter();
        let entries = titles.iter().map(|title| (title.clone(), fields.next().unwrap_or_default()));
        Ok(Some(Some(Value::try_map(entries).map_err(EvalError::from)?)))
    }
}

fn titles(records: &mut Records) -> Result<Vec<Arc<str>>, ExecuteError> {
    let mut read = records.next()?;
    while let Some(None) = read {
        read = records.next()?;
    }
    let titles = read.flatten().map(|record| record.fields).unwrap_or_default();
    let nameless: Arc<str> = Arc::default();
    let title = |title| match title {
        Value::String(title) => title,
        _ => nameless.clone(),
    };
    Ok(titles.into_iter().map(title).collect())
}

/// The file that a text names, below the folder: `file:///name.csv`, or a path relative to it.
fn resolve<'f>(
    clause: &str,
    folder: Option<&'f Path>,
    file: &Value,
) -> Result<(&'f Path, PathBuf), ExecuteError> {
    let refuse = |why: &str| Err(ExecuteError::External(format!("{clause} FROM {}: {why}", shown(file))));
    let Some(folder) = folder else { return refuse("the database has no folder to import from") };
    let Some(text) = file.as_str() else { return refuse("the file is named by a text") };
    let relative = match text.split_once(':') {
        Some(("file", path)) => decoded(path).trim_start_matches('/').to_string(),
        Some((scheme, _)) if scheme.len() > 1 => return refuse("only file:/// can be read"),
        _ => text.to_string(),
    };
    let path = Path::new(&relative);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || relative.is_empty() || relative.contains('\0') {
        return refuse("the file must lie below the import folder");
    }
    Ok((folder, path.to_path_buf()))
}

/// What was named, as messages show it: text in quotes, cut where it is long.
fn shown(file: &Value) -> String {
    match file.as_str() {
        Some(text) => {
            let end = text.floor_char_boundary(NAME_SHOWN_BYTES_MAX);
            format!("'{}{}'", text[..end].escape_debug(), if end < text.len() { "…" } else { "" })
        }
        None if file.is_null() => "null".into(),
        None => "a value that is no text".into(),
    }
}

/// `%20` and its like, as the characters they stand for.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

impl Draw for LoadCsv {
    type Cursor = Open;

    fn begin(&mut self, batch: &Batch, here: &mut Here) -> Try<()> {
        self.reads.record(batch, here);
        Ok(())
    }
    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Open> {
        let values = turn.here.values(&self.arguments, batch, row)?;
        Ok(Open::new(self.format, turn.here.environment.import_folder.as_deref(), &values)?)
    }
    fn draw(&mut self, open: &mut Open, room: usize, turn: &mut Turn<'_, '_>) -> Try<(usize, Progress)> {
        for read in 0..room {
            // Between two looks at the clock, but never before the first record.
            if read > 0 && read % RECORDS_PER_LOOK == 0 && turn.context.should_yield() {
                return Ok((read, Progress::More));
            }
            let Some(record) = open.next()? else { return Ok((read, Progress::Done)) };
            let Some(record) = record else { return Ok((read, Progress::More)) };
            self.bytes += record.heap_bytes();
            let bytes = self.bytes + open.held_bytes();
            if bytes > self.charged || self.charged - bytes > BATCH_BYTES_MAX {
                // By so much at once that a record of some bytes costs a comparison.
                recharge(&mut self.charged, bytes + CHARGED_AHEAD_BYTES, turn.context)?;
            }
            for (field, values) in &mut self.columns {
                values.push(match field {
                    Field::Row => record.clone(),
                    Field::Line => Value::Int(open.line() as i64),
                    Field::File => open.file.clone(),
                });
            }
            if self.is_full() {
                return Ok((read + 1, Progress::More));
            }
        }
        Ok((room, Progress::More))
    }
    fn columns(&mut self) -> Vec<Column> {
        self.bytes = 0;
        self.columns.iter_mut().map(|(_, values)| Column::Any(std::mem::take(values))).collect()
    }
    fn charged(&self) -> usize {
        self.charged
    }
    fn is_full(&self) -> bool {
        self.bytes > BATCH_BYTES_MAX
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::CallProcedure,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let format = match &*node.name {
        plan::procedures::LOAD_JSON => FileFormat::Json,
        _ => FileFormat::Csv,
    };
    let arguments = node.arguments.iter().map(|argument| compiler.expression(argument, &layout));
    let arguments = Arc::new(arguments.collect::<Result<Vec<_>, _>>()?);
    let reads = Arc::new(EntityReads::of(&node.arguments, &layout));
    let kept = node.yields.iter().filter(|(_, variable)| required.contains(*variable));
    let kept: Vec<_> = kept
        .map(|(name, variable)| match &**name {
            "line" => (Field::Line, *variable),
            "file" => (Field::File, *variable),
            _ => (Field::Row, *variable),
        })
        .collect();
    let columns: Vec<_> = kept.iter().map(|(_, variable)| *variable).collect();
    let make = move || {
        let (arguments, reads) = (arguments.clone(), reads.clone());
        let columns = kept.iter().map(|(field, _)| (*field, Vec::new())).collect();
        Drawing::new(LoadCsv { format, arguments, reads, columns, bytes: 0, charged: 0 })
    };
    let stream = compiler.attach_fan_out(
        if format == FileFormat::Json { "LoadJson" } else { "LoadCsv" },
        &feed,
        required,
        &columns,
        make,
    );
    Ok(Stream { fans_out: false, ..stream })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_folder_are_named() {
        let folder = Some(Path::new("/import"));
        let ok = |text: &str| {
            resolve("LOAD CSV", folder, &text.into())
                .map(|(folder, name)| folder.join(name).display().to_string())
        };
        assert_eq!(ok("file:///a%20b.csv").expect("it lies below"), "/import/a b.csv");
        assert_eq!(ok("sub/a.csv").expect("it lies below"), "/import/sub/a.csv");
        for bad in [
            "file:///../a",
            "../a",
            "a/../../b",
            "http://x/a.csv",
            "file:///",
            "",
            "a\0b",
            "file:///%2e%2e/a",
        ] {
            assert!(ok(bad).is_err(), "{bad}");
        }
        assert!(resolve("LOAD CSV", None, &"a.csv".into()).is_err());
        assert!(resolve("LOAD CSV", folder, &Value::Int(1)).is_err());
    }
}
