//! LoadCsv, LoadJson and LoadParquet: the records of a file, for each row: lists of texts, or maps by the titles of the first record; the values of a
//! file of JSON; or the rows of a file of Parquet, as maps.
//!
//! Files lie below the folder that the database was told to import from, or behind a URL where that is allowed ([`fetch`]); nothing else can be
//! named. Records are read on demand. A file that begins like gzip is unpacked while it is read. By its form it is a procedure of the planner's
//! table, and an operator of its own because its rows stream.

use crate::ExecuteError;
use crate::access::Environment;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::imports::Imports;
use crate::operator::graph_procedure::recharge;
use crate::stream::{Feed, Stream};
use crate::turn::{Progress, Try, Turn};
use dataflow::watch::{self, LoopBytes};
use expression::{Compiled, EvalError};
use fetch::Fetch;
use flate2::read::MultiGzDecoder;
use json_values::JsonValues;
use model::{Batch, Column, Value};
use place::{FilePlace, in_file, refusal, resolve};
use plan::VarSet;
use records::{Metered, Records};
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use table::TableValues;
use world::files::{self, RandomFile};

mod fetch;
mod json_values;
mod place;
mod records;
mod table;

/// How a file begins that is compressed with gzip (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Records read between two looks at the clock.
const RECORDS_PER_LOOK: usize = 64;

/// Bytes of records after which a batch is emitted although it has room for more: a record may have megabytes, and a batch a thousand of them.
const BATCH_BYTES_MAX: usize = 8 << 20;

/// Bytes charged beyond those of the records that are held.
const CHARGED_AHEAD_BYTES: usize = 64 << 10;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFormat {
    Csv,
    Json,
    Parquet,
}

impl FileFormat {
    /// The clause that reads it.
    fn clause(self) -> &'static str {
        match self {
            FileFormat::Csv => "LOAD CSV",
            FileFormat::Json => "LOAD JSON",
            FileFormat::Parquet => "LOAD PARQUET",
        }
    }
    /// The operator's name.
    fn operator(self) -> &'static str {
        match self {
            FileFormat::Csv => "LoadCsv",
            FileFormat::Json => "LoadJson",
            FileFormat::Parquet => "LoadParquet",
        }
    }
}

struct LoadCsv {
    format: FileFormat,
    /// File; of CSV also whether the first record gives titles, and the separator.
    arguments: Arc<Vec<Compiled>>,
    /// The columns that operators above read, each with its values.
    columns: Vec<(CsvField, Vec<Value>)>,
    /// Bytes of the records in them, and the charge for those.
    bytes: usize,
    charged: usize,
}

/// The parts of a record that a column can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CsvField {
    /// The record itself.
    Row,
    /// The line on which it ends, from 1.
    Line,
    /// The file, below the import folder.
    File,
}

/// A file that was named.
enum Cursor {
    /// The file is being fetched; with the values of the arguments.
    Fetching(Fetch, Vec<Value>),
    Open(OpenFile),
}

/// A file that is being read.
struct OpenFile {
    format: FileFormat,
    /// The file as named: below the import folder, or a URL.
    file: Value,
    rows: Rows,
}

/// The rows of a file.
enum Rows {
    Csv(CsvRows),
    Json(JsonValues),
    Table(TableValues),
}

/// The records of a file of CSV.
struct CsvRows {
    records: Records,
    titles: Option<Vec<Arc<str>>>,
    titles_bytes: usize,
}

impl Cursor {
    fn new(format: FileFormat, run: &Environment, arguments: Vec<Value>) -> Result<Cursor, ExecuteError> {
        let (clause, imports) = (format.clause(), &run.imports);
        let Some(file) = arguments.first() else {
            return Err(ExecuteError::Plan(format!("{clause} takes a file")));
        };
        match resolve(clause, file)? {
            FilePlace::Url(url) => match &imports.urls {
                Some(reader) => Ok(Cursor::Fetching(Fetch::new(reader, url, run.account), arguments)),
                None => Err(refusal(clause, file, &"the database reads no URLs")),
            },
            FilePlace::Below(name) => {
                let Some(folder) = imports.folder.as_deref() else {
                    return Err(refusal(clause, file, &"the database has no folder to import from"));
                };
                let unreadable = |error| refusal(clause, file, &error);
                let told = format!("/{}", name.display());
                let bytes = match format {
                    FileFormat::Parquet => {
                        Bytes::Random(RandomFile::open_below(folder, &name).map_err(unreadable)?)
                    }
                    _ => Bytes::Stream(files::open_below(folder, &name).map_err(unreadable)?),
                };
                OpenFile::new(format, imports, &arguments, (told, bytes)).map(Cursor::Open)
            }
        }
    }
}

/// The bytes of a file.
enum Bytes {
    Stream(Box<dyn BufRead + Send>),
    Random(RandomFile),
}

impl Bytes {
    fn stream(self) -> Box<dyn BufRead + Send> {
        match self {
            Bytes::Stream(reader) => reader,
            Bytes::Random(file) => {
                Box::new(BufReader::with_capacity(files::BUFFER_BYTES, FromStart { file, at: 0 }))
            }
        }
    }
}

/// A file read from its beginning.
struct FromStart {
    file: RandomFile,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl OpenFile {
    fn new(
        format: FileFormat,
        imports: &Imports,
        arguments: &[Value],
        (told, bytes): (String, Bytes),
    ) -> Result<OpenFile, ExecuteError> {
        let file = Value::string(told);
        if format == FileFormat::Parquet {
            let Some(parquet) = &imports.parquet else {
                let what = "this program was built without the feature `columnar`";
                return Err(ExecuteError::External(format!("LOAD PARQUET: {what}")));
            };
            let Bytes::Random(bytes) = bytes else {
                return Err(ExecuteError::Plan("Parquet is read from a file".into()));
            };
            let rows = TableValues::new(&**parquet, bytes);
            let rows = rows.map_err(|error| in_file(format.clause(), &file, error))?;
            return Ok(OpenFile { format, file, rows: Rows::Table(rows) });
        }
        let mut reader = bytes.stream();
        let clause = format.clause();
        let name = arguments.first().unwrap_or(&Value::Null);
        // Compressed files are known by their first bytes.
        if reader.fill_buf().map_err(|error| refusal(clause, name, &error))?.starts_with(&GZIP_MAGIC) {
            reader = Box::new(BufReader::new(MultiGzDecoder::new(reader)));
        }
        let rows = match format {
            FileFormat::Csv => CsvRows::new(reader, arguments).map(Rows::Csv),
            _ => JsonValues::new(Box::new(Metered(reader))).map(Rows::Json),
        };
        let rows = rows.map_err(|error| in_file(clause, &file, error))?;
        Ok(OpenFile { format, file, rows })
    }

    /// Bytes that it holds beside rows that were read.
    fn held_bytes(&self) -> usize {
        match &self.rows {
            Rows::Csv(rows) => rows.records.held_bytes() + rows.titles_bytes,
            Rows::Json(values) => values.held_bytes(),
            Rows::Table(values) => values.held_bytes(),
        }
    }
    /// The line of the last row.
    fn line(&self) -> u64 {
        match &self.rows {
            Rows::Csv(rows) => rows.records.line(),
            Rows::Json(values) => values.line(),
            Rows::Table(values) => values.line(),
        }
    }
    /// The next row; an inner none where only blank lines were read.
    fn next(&mut self) -> Result<Option<Option<Value>>, ExecuteError> {
        let row = match &mut self.rows {
            Rows::Csv(rows) => rows.next(),
            Rows::Json(values) => values.next().map(|value| value.map(Some)),
            Rows::Table(values) => values.next().map(|value| value.map(Some)),
        };
        row.map_err(|error| in_file(self.format.clause(), &self.file, error))
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
        let mut entries_held = LoopBytes::default();
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

impl LoadCsv {
    /// Takes rows of a file that is there.
    fn draw_open(
        &mut self,
        open: &mut OpenFile,
        room: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)> {
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
            if let Rows::Table(values) = &open.rows {
                values.is_charged();
            }
            for (field, values) in &mut self.columns {
                values.push(match field {
                    CsvField::Row => record.clone(),
                    CsvField::Line => Value::Int(open.line() as i64),
                    CsvField::File => open.file.clone(),
                });
            }
            if self.bytes > BATCH_BYTES_MAX {
                return Ok((read + 1, Progress::More));
            }
        }
        Ok((room, Progress::More))
    }
}

impl Draw for LoadCsv {
    type Cursor = Cursor;

    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Cursor> {
        let values = turn.execution.values(&self.arguments, batch, row)?;
        Ok(Cursor::new(self.format, &turn.execution.environment, values)?)
    }
    fn draw(&mut self, cursor: &mut Cursor, room: usize, turn: &mut Turn<'_, '_>) -> Try<(usize, Progress)> {
        if let Cursor::Fetching(fetch, arguments) = cursor {
            let name = arguments.first().unwrap_or(&Value::Null);
            let Some(brought) = fetch.poll(turn.context.waker()) else { return Ok((0, Progress::Waiting)) };
            let clause = self.format.clause();
            let file = brought.map_err(|what| refusal(clause, name, &what))?;
            let told = name.as_str().unwrap_or_default().to_string();
            let imports = &turn.execution.environment.imports;
            let open = OpenFile::new(self.format, imports, arguments, (told, Bytes::Random(file)))?;
            *cursor = Cursor::Open(open);
        }
        match cursor {
            Cursor::Open(open) => self.draw_open(open, room, turn),
            Cursor::Fetching(..) => Ok((0, Progress::Waiting)),
        }
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
        plan::procedures::LOAD_PARQUET => FileFormat::Parquet,
        _ => FileFormat::Csv,
    };
    let arguments = node.arguments.iter().map(|argument| compiler.expression(argument, &layout));
    let arguments = Arc::new(arguments.collect::<Result<Vec<_>, _>>()?);
    let kept = node.yields.iter().filter(|(_, variable)| required.contains(*variable));
    let kept: Vec<_> = kept
        .map(|(name, variable)| match &**name {
            "line" => (CsvField::Line, *variable),
            "file" => (CsvField::File, *variable),
            _ => (CsvField::Row, *variable),
        })
        .collect();
    let columns: Vec<_> = kept.iter().map(|(_, variable)| *variable).collect();
    let make = move || {
        let arguments = arguments.clone();
        let columns = kept.iter().map(|(field, _)| (*field, Vec::new())).collect();
        Drawing::new(LoadCsv { format, arguments, columns, bytes: 0, charged: 0 })
    };
    let stream = compiler.attach_fan_out(format.operator(), &feed, required, &columns, make);
    Ok(Stream { fans_out: false, ..stream })
}
