//! Files of columns as rows.
//!
//! Each file has the types of its columns; `values` maps them. Faults of a file are errors, never panics: both formats are read by external crates,
//! whose panics are caught here. Cost: one pass, batch by batch.

use super::part::{Chunks, Span, Unmetered};
use super::{ColumnarForm, footer, values};
use crate::ImportError;
use crate::export::tables::ColumnKind;
use crate::source::{self, InputFile};
use crate::staged::IdNames;
use crate::staging::{RowColumn, StagedRows};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::Schema;
use formats::tables::MeteredFile;
use model::Value;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use world::files::{self, RandomFile};
use world::panics;

/// Rows of Parquet decoded at once.
const BATCH_ROWS: usize = 1024;
/// Bytes of an Arrow stream handed on at once.
const READ_BYTES: usize = 1 << 20;

/// Makes rows of a file of columns, in a folder of its own.
pub(super) fn rows(
    file: &InputFile,
    form: ColumnarForm,
    folder: &Path,
    ids: &IdNames,
) -> Result<InputFile, ImportError> {
    let unpacked = unpacked(file, folder)?;
    let random = RandomFile::open(unpacked.as_deref().unwrap_or(&file.path))?;
    let unreadable = |what: String| ImportError::Read {
        path: file.shown.clone(),
        what: format!("it is damaged, or no {} that is known ({what})", form.name()),
    };
    let read = || -> Result<InputFile, ReadError> {
        let random: Arc<dyn MeteredFile> = Arc::new(Unmetered(random));
        let mut taking = Taking { file, form, folder, ids, longs: Vec::new(), staged: None };
        // Whether numbers without a sign fit is known from all rows only.
        taking.longs = longs(&mut batches(form, &random)?)?;
        let mut source = batches(form, &random)?;
        while let Some(batch) = source.next()? {
            taking.batch(&batch)?;
        }
        let schema = source.schema();
        Ok(taking.finish(&schema)?)
    };
    match panics::caught(read) {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(ReadError::Told(error))) => Err(error),
        Ok(Err(ReadError::Format(what))) => Err(unreadable(what)),
        Err(panic) => Err(unreadable(panic.message)),
    }
}

/// The bytes of a file that is packed, in a file that is not.
fn unpacked(file: &InputFile, folder: &Path) -> Result<Option<std::path::PathBuf>, ImportError> {
    if !source::is_packed(file)? {
        return Ok(None);
    }
    let path = folder.join("unpacked");
    let mut writer = files::create_writer(&path)?;
    let mut reader = source::open(file, Arc::default())?;
    io::copy(&mut reader, &mut writer)
        .and_then(|_| writer.flush())
        .map_err(|error| file.unreadable(&error))?;
    Ok(Some(path))
}

/// Why a file was not read.
enum ReadError {
    /// It is not of its format.
    Format(String),
    Told(ImportError),
}

impl From<ImportError> for ReadError {
    fn from(error: ImportError) -> ReadError {
        ReadError::Told(error)
    }
}

impl From<ParquetError> for ReadError {
    fn from(error: ParquetError) -> ReadError {
        ReadError::Format(error.to_string())
    }
}

impl From<arrow_schema::ArrowError> for ReadError {
    fn from(error: arrow_schema::ArrowError) -> ReadError {
        ReadError::Format(error.to_string())
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Format(error.to_string())
    }
}

/// Batches of rows.
trait Batches {
    fn next(&mut self) -> Result<Option<RecordBatch>, ReadError>;
    /// The columns; complete once a batch was read or there was none.
    fn schema(&self) -> Arc<Schema>;
}

fn batches(form: ColumnarForm, file: &Arc<dyn MeteredFile>) -> Result<Box<dyn Batches>, ReadError> {
    let size_bytes = file.size_bytes();
    Ok(match form {
        ColumnarForm::Parquet => {
            footer::check(size_bytes, |at| Span::from(file, at)).map_err(ReadError::Format)?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(Chunks::new(file))?;
            Box::new(ParquetBatches {
                schema: builder.schema().clone(),
                reader: builder.with_batch_size(BATCH_ROWS).build()?,
            })
        }
        ColumnarForm::ArrowStream => Box::new(ArrowBatches::new(Span::from(file, 0))),
        ColumnarForm::ArrowFile => {
            let span = io::BufReader::new(Span::from(file, 0));
            Box::new(ArrowFile(arrow_ipc::reader::FileReader::try_new(span, None)?))
        }
    })
}

/// A file of Arrow, whose footer says where its batches are.
struct ArrowFile(arrow_ipc::reader::FileReader<io::BufReader<Span>>);

impl Batches for ArrowFile {
    fn next(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        Ok(self.0.next().transpose()?)
    }
    fn schema(&self) -> Arc<Schema> {
        self.0.schema()
    }
}

struct ParquetBatches {
    schema: Arc<Schema>,
    reader: parquet::arrow::arrow_reader::ParquetRecordBatchReader,
}

impl Batches for ParquetBatches {
    fn next(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        Ok(self.reader.next().transpose()?)
    }
    fn schema(&self) -> Arc<Schema> {
        self.schema.clone()
    }
}

struct ArrowBatches {
    source: Span,
    decoder: StreamDecoder,
    held: Buffer,
}

impl ArrowBatches {
    fn new(source: Span) -> ArrowBatches {
        ArrowBatches { source, decoder: StreamDecoder::new(), held: Buffer::from(&[] as &[u8]) }
    }
}

impl Batches for ArrowBatches {
    fn next(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        loop {
            if self.held.is_empty() {
                let mut bytes = Vec::new();
                Read::by_ref(&mut self.source).take(READ_BYTES as u64).read_to_end(&mut bytes)?;
                if bytes.is_empty() {
                    self.decoder.finish()?;
                    return Ok(None);
                }
                self.held = Buffer::from_vec(bytes);
            }
            if let Some(batch) = self.decoder.decode(&mut self.held)? {
                return Ok(Some(batch));
            }
        }
    }
    fn schema(&self) -> Arc<Schema> {
        self.decoder.schema().unwrap_or_else(|| Arc::new(Schema::empty()))
    }
}

/// A column of numbers without a sign that holds one of more than 63 bits, by its name.
fn longs(batches: &mut Box<dyn Batches>) -> Result<Vec<String>, ReadError> {
    let mut longs = Vec::new();
    let mut begun = false;
    loop {
        let is_unsigned =
            |schema: &Schema| schema.fields().iter().any(|field| values::is_unsigned(field.data_type()));
        if begun && !is_unsigned(&batches.schema()) {
            return Ok(longs);
        }
        let Some(batch) = batches.next()? else { return Ok(longs) };
        begun = true;
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            if values::is_unsigned(field.data_type())
                && values::holds_long(column)
                && !longs.contains(field.name())
            {
                longs.push(field.name().clone());
            }
        }
    }
}

/// Rows being made of batches.
struct Taking<'t> {
    file: &'t InputFile,
    form: ColumnarForm,
    folder: &'t Path,
    ids: &'t IdNames,
    longs: Vec<String>,
    staged: Option<(StagedRows, Vec<values::LeafColumn>)>,
}

impl Taking<'_> {
    fn begin(&self, schema: &Schema) -> Result<(StagedRows, Vec<values::LeafColumn>), ImportError> {
        let mut leaves = Vec::new();
        values::leaves(schema, &mut leaves);
        for leaf in &mut leaves {
            leaf.is_long = leaf.path.len() == 1 && self.longs.contains(&leaf.column.name);
            if leaf.is_long {
                leaf.column.kind = ColumnKind::One("string");
            }
        }
        let columns: Vec<RowColumn> = leaves.iter().map(|leaf| leaf.column.clone()).collect();
        let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        names.sort_unstable();
        if let Some(same) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let what = format!("two columns are called `{}`", same[0]);
            return Err(ImportError::Columns { path: self.file.shown.clone(), what });
        }
        Ok((StagedRows::create(self.file, self.form.name(), self.folder, columns, self.ids)?, leaves))
    }
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), ReadError> {
        if self.staged.is_none() {
            self.staged = Some(self.begin(batch.schema_ref())?);
        }
        let Some((staged, leaves)) = &mut self.staged else { return Ok(()) };
        let columns: Vec<Vec<ArrayRef>> =
            leaves.iter().map(|leaf| values::follow(batch, &leaf.path)).collect();
        let mut held = Vec::with_capacity(leaves.len());
        for row in 0..batch.num_rows() {
            let number = staged.count() + 1;
            held.clear();
            for (leaf, arrays) in leaves.iter().zip(&columns) {
                let is_null = arrays.iter().any(|array| array.is_null(row));
                let value = match (is_null, arrays.last()) {
                    (false, Some(array)) => values::property(array, &leaf.data_type, row, leaf.is_long)
                        .map_err(|what| {
                            let what = format!("column `{}`: {what}", leaf.column.name);
                            self.file.malformed(number, what)
                        })?,
                    _ => Value::Null,
                };
                held.push((!value.is_null()).then_some(value));
            }
            staged.row(self.file, number, &held)?;
        }
        Ok(())
    }
    fn finish(mut self, schema: &Schema) -> Result<InputFile, ImportError> {
        let staged = match self.staged.take() {
            Some((staged, _)) => staged,
            None => self.begin(schema)?.0,
        };
        staged.finish(self.file)
    }
}
