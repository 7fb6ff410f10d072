//! Parquet for queries: rows one after another, under the account of the query.
//!
//! Other than an import, a query has little memory and may be ended at any time, and its file may be hostile. So nothing is unpacked before its size
//! is known ([`super::pages`]) and charged ([`super::account`]), and texts are read as views into their pages: a dictionary of one long text is not
//! copied for every row that names it. Values of a row are charged before they are made.

use super::account::{ColumnCost, GroupAccount};
use super::footer;
use super::magic::{ENCRYPTED_MAGIC, PARQUET_MAGIC};
use super::pages::{self, PageHeads};
use super::part::{Chunks, Span};
use super::values;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema};
use formats::tables::{MeteredFile, TableFormat, TableRows};
use model::Value;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type;
use parquet::errors::ParquetError;
use std::collections::BTreeSet;
use std::sync::Arc;
use world::panics;

/// Rows decoded at once.
const BATCH_ROWS: usize = 1024;
/// The same where each text may be as long as its page.
const DELTA_BATCH_ROWS: usize = 64;
/// Bytes that are held for each of the footer, about.
const FOOTER_FACTOR: u64 = 12;
/// Bytes held for the entry of a page.
const PAGE_ENTRY_BYTES: u64 = 96;
/// Bytes of a value in a batch beside its text, at least.
const VALUE_BYTES: u64 = 20;

/// The format.
pub(super) struct Parquet;

impl TableFormat for Parquet {
    fn open(&self, file: Arc<dyn MeteredFile>) -> Result<Box<dyn TableRows>, String> {
        let opened = panics::caught(|| Table::open(file)).map_err(|panic| damaged(&panic.message))?;
        Ok(Box::new(opened?))
    }
}

fn damaged(what: &dyn std::fmt::Display) -> String {
    format!("it is damaged, or no Parquet that is known ({what})")
}

fn wrong(error: ParquetError) -> String {
    damaged(&error)
}

/// An open file.
struct Table {
    file: Arc<dyn MeteredFile>,
    metadata: ArrowReaderMetadata,
    names: Vec<Arc<str>>,
    columns: Vec<ColumnCost>,
    footer_bytes: u64,
    group: usize,
    /// The group that is read, and its account.
    reader: Option<(ParquetRecordBatchReader, Arc<GroupAccount>)>,
    batch: Option<RecordBatch>,
    /// How many of its rows were given.
    given: usize,
    /// Rows given of all batches.
    count: u64,
}

impl Table {
    fn open(file: Arc<dyn MeteredFile>) -> Result<Table, String> {
        let size_bytes = file.size_bytes();
        let part = |at| Span::from(&file, at);
        let mut magic = [0; PARQUET_MAGIC.len()];
        let read = file.read_at(0, &mut magic).map_err(|error| error.to_string())?;
        match &magic[..read] {
            PARQUET_MAGIC => {}
            ENCRYPTED_MAGIC => return Err("it is Parquet with encryption; write it without".into()),
            [0x1f, 0x8b, ..] => {
                return Err("it is packed by gzip; unpack it, for Parquet is packed in itself".into());
            }
            _ => return Err("it is no Parquet: it does not begin as Parquet does".into()),
        }
        let (_, length) = footer::place(size_bytes, part)?;
        let footer_bytes = length * FOOTER_FACTOR;
        file.hold(footer_bytes).map_err(|error| error.to_string())?;
        footer::check(size_bytes, part)?;
        let chunks = Chunks::new(&file);
        let read = ArrowReaderMetadata::load(&chunks, ArrowReaderOptions::new()).map_err(wrong)?;
        let options = ArrowReaderOptions::new().with_schema(Arc::new(with_views(read.schema())));
        let metadata = ArrowReaderMetadata::try_new(read.metadata().clone(), options).map_err(wrong)?;
        let fields = metadata.schema().fields();
        let names: Vec<Arc<str>> = fields.iter().map(|field| Arc::from(field.name().as_str())).collect();
        let mut seen = BTreeSet::new();
        if let Some(same) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(format!("two columns are called `{same}`"));
        }
        let columns = costs(&metadata)?;
        let (group, given, count) = (0, 0, 0);
        Ok(Table {
            file,
            metadata,
            names,
            columns,
            footer_bytes,
            group,
            reader: None,
            batch: None,
            given,
            count,
        })
    }
    /// Begins with the next group of rows; false where there is none.
    fn next_group(&mut self) -> Result<bool, String> {
        self.reader = None;
        let held = self.metadata.metadata().clone();
        if self.group >= held.num_row_groups() {
            return Ok(false);
        }
        let group = held.row_group(self.group);
        let mut found = PageHeads::new();
        let mut columns = self.columns.clone();
        for (at, column) in group.columns().iter().enumerate() {
            if let Some(cost) = columns.get_mut(at) {
                cost.compression = column.compression();
            }
            let first = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            if first < 0 || column.compressed_size() < 0 {
                return Err(damaged(&"a column lies before the file"));
            }
            pages::scan(at, column.byte_range(), |at| Span::from(&self.file, at), &mut found)
                .map_err(|what| damaged(&what))?;
            self.hold(found.len() as u64 * PAGE_ENTRY_BYTES)?;
        }
        let is_delta = found.values().any(|page| page.is_delta);
        let batch_rows = if is_delta { DELTA_BATCH_ROWS } else { BATCH_ROWS };
        let row_bytes = columns.iter().fold(0, |sum: u64, column| sum.saturating_add(column.width));
        let fixed = (self.footer_bytes + found.len() as u64 * PAGE_ENTRY_BYTES)
            .saturating_add(row_bytes.saturating_mul(batch_rows as u64));
        let account = Arc::new(GroupAccount::new(&self.file, found, columns, batch_rows, fixed));
        self.file.hold(fixed).map_err(|error| error.to_string())?;
        let chunks = Chunks::watched(&self.file, account.clone());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, self.metadata.clone());
        let builder = builder.with_row_groups(vec![self.group]).with_batch_size(batch_rows);
        self.reader = Some((builder.build().map_err(wrong)?, account));
        self.group += 1;
        Ok(true)
    }
    fn hold(&self, more: u64) -> Result<(), String> {
        self.file.hold(self.held_bytes().saturating_add(more)).map_err(|error| error.to_string())
    }
    /// Goes on to a batch that has a row left; false at the end.
    fn advance(&mut self) -> Result<bool, String> {
        loop {
            if self.batch.as_ref().is_some_and(|batch| self.given < batch.num_rows()) {
                return Ok(true);
            }
            (self.batch, self.given) = (None, 0);
            let next = self.reader.as_mut().and_then(|(reader, account)| {
                account.batch_gone();
                reader.next()
            });
            match next {
                Some(batch) => self.batch = Some(batch.map_err(|error| damaged(&error))?),
                None if self.next_group()? => {}
                None => return Ok(false),
            }
        }
    }
    fn row(&mut self) -> Result<Option<Value>, String> {
        if !self.advance()? {
            return Ok(None);
        }
        let Some(batch) = &self.batch else { return Ok(None) };
        let row = self.given;
        let mut bytes = 0;
        for column in batch.columns() {
            values::count_bytes(column, row, &mut bytes, &mut |bytes| self.hold(bytes))?;
        }
        self.hold(bytes)?;
        let number = self.count + 1;
        let value = |(name, column): (&Arc<str>, &Arc<dyn Array>)| match values::value(column, row) {
            Ok(value) => Ok((name.clone(), value)),
            Err(what) => Err(format!("row {number}, column `{name}`: {what}")),
        };
        let entries =
            self.names.iter().zip(batch.columns()).map(value).collect::<Result<Vec<_>, String>>()?;
        let map = Value::try_map(entries).map_err(|error| format!("row {number}: {error}"))?;
        (self.given, self.count) = (self.given + 1, number);
        Ok(Some(map))
    }
}

impl TableRows for Table {
    fn next(&mut self) -> Result<Option<Value>, String> {
        let row = panics::caught(|| self.row());
        let row = row.unwrap_or_else(|panic| Err(damaged(&panic.message)));
        if !matches!(row, Ok(Some(_))) {
            // Nothing comes behind the end, or behind what is damaged.
            (self.batch, self.reader, self.group) = (None, None, usize::MAX);
        }
        row
    }
    fn held_bytes(&self) -> u64 {
        self.reader.as_ref().map_or(self.footer_bytes, |(_, account)| account.bytes())
    }
}

/// The cost of each leaf's values.
fn costs(metadata: &ArrowReaderMetadata) -> Result<Vec<ColumnCost>, String> {
    let leaves = metadata.parquet_schema().columns().iter();
    let cost = |leaf: &Arc<parquet::schema::types::ColumnDescriptor>| {
        let width = match leaf.physical_type() {
            Type::FIXED_LEN_BYTE_ARRAY => {
                u64::try_from(leaf.type_length()).map_err(|_| damaged(&"a length below 0"))?
            }
            _ => 0,
        };
        let compression = parquet::basic::Compression::UNCOMPRESSED;
        Ok(ColumnCost { compression, width: width + VALUE_BYTES, is_repeated: leaf.max_rep_level() > 0 })
    };
    leaves.map(cost).collect()
}

/// The schema with texts as views.
fn with_views(schema: &Schema) -> Schema {
    Schema::new_with_metadata(all_with_views(schema.fields()), schema.metadata().clone())
}

fn all_with_views(fields: &Fields) -> Fields {
    fields.iter().map(with_view).collect()
}

fn with_view(field: &Arc<Field>) -> Arc<Field> {
    let inner = |field: &Arc<Field>| with_view(field);
    let of = |data_type: &DataType| match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(inner(item), *length),
        DataType::Map(entries, is_sorted) => DataType::Map(inner(entries), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(all_with_views(fields)),
        other => other.clone(),
    };
    let plain = values::plain(field.data_type());
    Arc::new(field.as_ref().clone().with_data_type(of(plain)))
}
