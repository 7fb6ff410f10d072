//! Serialised rows of a query, for spilling: column by column, each in its own form.
//!
//! These bytes live as long as the query: they have no version and no checksum, and the same process reads and writes them. Integers, floats, nulls
//! and ends of texts are copied as they lie in memory, little-endian, so that a piece costs little more than a copy; the caller may compress the
//! bytes. Values without a form of their own are written as the store writes properties.

use crate::StoreError;
use crate::bytes::{Reader, Writer};
use model::column::Texts;
use model::{Batch, Column, Nulls, VertexId};

const CONSTANT: u8 = 0;
const BOOL: u8 = 1;
const INT: u8 = 2;
const FLOAT: u8 = 3;
const TEXT: u8 = 4;
const VERTEX: u8 = 5;
const EDGE: u8 = 6;
const ANY: u8 = 7;

/// Appends the rows of a batch to `bytes`. Its columns may be picks of others: each row's own values are written.
pub fn write_rows(batch: &Batch, bytes: &mut Vec<u8>) {
    let batch = batch.flatten();
    let mut writer = Writer::behind(std::mem::take(bytes));
    writer.size(batch.len());
    writer.size(batch.width());
    (0..batch.width()).for_each(|at| write_column(batch.column(at).column(), &mut writer));
    *bytes = writer.bytes;
}

/// The rows that [`write_rows`] wrote, all of `bytes`.
///
/// # Errors
/// [`StoreError::Corrupt`] where they are malformed.
pub fn read_rows(bytes: &[u8]) -> Result<Batch, StoreError> {
    let mut reader = Reader::new(bytes, "rows put aside");
    let rows = reader.uint32()? as usize;
    let width = reader.count()?;
    let columns = (0..width).map(|_| read_column(rows, &mut reader)).collect::<Result<Vec<_>, _>>()?;
    reader.finish()?;
    Ok(Batch::new(columns, rows))
}

fn write_nulls(nulls: &Nulls, writer: &mut Writer) {
    let words = if nulls.is_empty() { &[] } else { nulls.words() };
    writer.size(words.len());
    words.iter().for_each(|word| writer.word(*word));
}

fn write_column(column: &Column, writer: &mut Writer) {
    match column {
        Column::Constant(value, _) => {
            writer.byte(CONSTANT);
            writer.value(value);
        }
        Column::Bool(rows, nulls) => {
            writer.byte(BOOL);
            write_nulls(nulls, writer);
            writer.bytes.extend(rows.iter().map(|row| u8::from(*row)));
        }
        Column::Int(rows, nulls) => {
            writer.byte(INT);
            write_nulls(nulls, writer);
            writer.bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
        }
        Column::Float(rows, nulls) => {
            writer.byte(FLOAT);
            write_nulls(nulls, writer);
            writer.bytes.extend(rows.iter().flat_map(|row| row.to_bits().to_le_bytes()));
        }
        Column::Text(texts, nulls) => {
            writer.byte(TEXT);
            write_nulls(nulls, writer);
            (0..texts.len()).for_each(|row| writer.size(texts.get(row).len()));
            (0..texts.len()).for_each(|row| writer.bytes.extend_from_slice(texts.get(row).as_bytes()));
        }
        Column::Vertex(rows, nulls) => {
            writer.byte(VERTEX);
            write_nulls(nulls, writer);
            writer.bytes.extend(rows.iter().flat_map(|row| row.0.to_le_bytes()));
        }
        Column::Edge(rows, nulls) => {
            writer.byte(EDGE);
            write_nulls(nulls, writer);
            rows.iter().for_each(|edge| writer.edge(edge));
        }
        Column::Any(values) => {
            writer.byte(ANY);
            values.iter().for_each(|value| writer.value(value));
        }
    }
}

fn read_nulls(reader: &mut Reader<'_>) -> Result<Nulls, StoreError> {
    let mut nulls = Nulls::none();
    for at in 0..reader.count()? {
        let mut word = reader.word()?;
        while word != 0 {
            nulls.set(at * 64 + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
    Ok(nulls)
}

/// Eight bytes a row.
fn words<'a>(rows: usize, reader: &mut Reader<'a>) -> Result<impl Iterator<Item = u64> + 'a, StoreError> {
    let (words, _) = reader.raw(rows.saturating_mul(8))?.as_chunks::<8>();
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)))
}

fn read_column(rows: usize, reader: &mut Reader<'_>) -> Result<Column, StoreError> {
    let kind = reader.byte()?;
    let nulls = if matches!(kind, BOOL..=EDGE) { read_nulls(reader)? } else { Nulls::none() };
    Ok(match kind {
        CONSTANT => Column::Constant(reader.value()?, rows),
        BOOL => Column::Bool(reader.raw(rows)?.iter().map(|byte| *byte != 0).collect(), nulls),
        INT => Column::Int(words(rows, reader)?.map(|word| word as i64).collect(), nulls),
        FLOAT => Column::Float(words(rows, reader)?.map(f64::from_bits).collect(), nulls),
        TEXT => Column::Text(read_texts(rows, reader)?, nulls),
        VERTEX => Column::Vertex(words(rows, reader)?.map(VertexId).collect(), nulls),
        EDGE => Column::Edge((0..rows).map(|_| reader.edge()).collect::<Result<_, _>>()?, nulls),
        ANY => Column::Any((0..rows).map(|_| reader.value()).collect::<Result<_, _>>()?),
        _ => return Err(reader.fail("unknown form of a column")),
    })
}

fn read_texts(rows: usize, reader: &mut Reader<'_>) -> Result<Texts, StoreError> {
    let (mut ends, mut end) = (Vec::new(), 0_u32);
    for _ in 0..rows {
        end = end.checked_add(reader.uint32()?).ok_or_else(|| reader.fail("too much text"))?;
        ends.push(end);
    }
    let text =
        std::str::from_utf8(reader.raw(end as usize)?).map_err(|_| reader.fail("text is not UTF-8"))?;
    if ends.iter().any(|end| !text.is_char_boundary(*end as usize)) {
        return Err(reader.fail("a text ends within a character"));
    }
    Ok(Texts::from_parts(text.to_string(), ends))
}
