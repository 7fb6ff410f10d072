//! Property columns as bytes (docs/formats/chunk.md, "Column").

use crate::StoreError;
use crate::bytes::{Reader, Writer};
use crate::chunks::column::{Data, Presence, StoredColumn, TextRun};
use model::Value;

pub(crate) fn encode_column(column: &StoredColumn, writer: &mut Writer) {
    match &column.presence {
        Presence::All(count) => {
            writer.byte(0);
            writer.uint(*count as u64);
        }
        Presence::Bits(words) => {
            writer.byte(1);
            encode_words(words, writer);
        }
        Presence::Slots(slots) => {
            writer.byte(2);
            encode_rising(slots, writer);
        }
    }
    match &column.data {
        Data::Bool(words) => {
            writer.byte(0);
            encode_words(words, writer);
        }
        Data::Int(rows) => {
            writer.byte(1);
            encode_ints(rows, writer);
        }
        Data::Float(rows) => {
            writer.byte(2);
            writer.size(rows.len());
            rows.iter().for_each(|float| writer.word(float.to_bits()));
        }
        Data::Text(texts) => {
            writer.byte(3);
            encode_texts(texts.parts(), writer);
        }
        Data::Codes(codes, texts) => {
            writer.byte(4);
            writer.size(codes.len());
            codes.iter().for_each(|code| writer.uint(*code as u64));
            encode_texts(texts.parts(), writer);
        }
        Data::Date(rows) => {
            writer.byte(5);
            writer.size(rows.len());
            let has_value = |row: usize| match &column.presence {
                Presence::Bits(_) => column.presence.row(row as u32).is_some(),
                Presence::All(_) | Presence::Slots(_) => true,
            };
            for (row, date) in rows.iter().enumerate() {
                writer.value(&if has_value(row) { Value::Date(*date) } else { Value::Null });
            }
        }
        Data::Any(rows) => {
            writer.byte(5);
            writer.size(rows.len());
            rows.iter().for_each(|value| writer.value(value));
        }
    }
}

pub(crate) fn decode_column(reader: &mut Reader<'_>) -> Result<StoredColumn, StoreError> {
    let presence = match reader.byte()? {
        0 => Presence::All(reader.uint32()?),
        1 => Presence::Bits(decode_words(reader)?),
        2 => Presence::Slots(decode_rising(reader)?),
        _ => return Err(reader.fail("unknown kind of presence")),
    };
    let data = decode_data(reader, &presence)?;
    let rows_needed = match &presence {
        Presence::All(count) => *count as usize,
        Presence::Slots(slots) => slots.len(),
        Presence::Bits(words) => {
            let last = words.iter().rposition(|word| *word != 0);
            last.map_or(0, |at| at * 64 + 64 - words[at].leading_zeros() as usize)
        }
    };
    let rows = match &data {
        Data::Bool(words) => words.len() * 64,
        Data::Int(rows) => rows.len(),
        Data::Float(rows) => rows.len(),
        Data::Date(rows) => rows.len(),
        Data::Text(texts) => texts.ends.len(),
        Data::Codes(codes, _) => codes.len(),
        Data::Any(rows) => rows.len(),
    };
    if rows < rows_needed {
        return Err(reader.fail("column has fewer rows than slots"));
    }
    Ok(StoredColumn { presence, data })
}

fn decode_data(reader: &mut Reader<'_>, presence: &Presence) -> Result<Data, StoreError> {
    Ok(match reader.byte()? {
        0 => Data::Bool(decode_words(reader)?),
        1 => Data::Int(decode_ints(reader)?.into()),
        2 => Data::Float(decode_words(reader)?.iter().map(|bits| f64::from_bits(*bits)).collect()),
        3 => Data::Text(decode_texts(reader)?),
        4 => {
            let count = reader.count()?;
            let mut codes = Vec::with_capacity(count);
            for _ in 0..count {
                codes.push(reader.uint16()?);
            }
            let texts = decode_texts(reader)?;
            if codes.iter().any(|code| *code as usize >= texts.ends.len()) {
                return Err(reader.fail("code outside the dictionary"));
            }
            Data::Codes(codes.into(), texts.into_shared())
        }
        5 => {
            let count = reader.count()?;
            Data::of_any((0..count).map(|_| reader.value()).collect::<Result<_, _>>()?, presence)
        }
        _ => return Err(reader.fail("unknown kind of column")),
    })
}

pub(crate) fn encode_words(words: &[u64], writer: &mut Writer) {
    writer.size(words.len());
    words.iter().for_each(|word| writer.word(*word));
}

pub(crate) fn decode_words(reader: &mut Reader<'_>) -> Result<Box<[u64]>, StoreError> {
    let count = reader.count()?;
    let bytes = reader.raw(count.checked_mul(8).ok_or_else(|| reader.fail("count too large"))?)?;
    let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().expect("chunks of eight bytes"));
    Ok(bytes.chunks_exact(8).map(word).collect())
}

/// Strictly rising numbers, as differences.
pub(crate) fn encode_rising(numbers: &[u32], writer: &mut Writer) {
    writer.size(numbers.len());
    let mut before = 0;
    for number in numbers {
        writer.uint((*number - before) as u64);
        before = *number;
    }
}

pub(crate) fn decode_rising(reader: &mut Reader<'_>) -> Result<Box<[u32]>, StoreError> {
    let count = reader.count()?;
    let mut numbers = Vec::with_capacity(count);
    let mut before = 0u32;
    for at in 0..count {
        let step = reader.uint32()?;
        if at > 0 && step == 0 {
            return Err(reader.fail("numbers do not rise"));
        }
        before = before.checked_add(step).ok_or_else(|| reader.fail("number above 32 bits"))?;
        numbers.push(before);
    }
    Ok(numbers.into())
}

/// Integers as wrapping differences: short where they rise slowly, never wrong where they do not.
pub(crate) fn encode_ints(ints: &[i64], writer: &mut Writer) {
    writer.size(ints.len());
    let mut before = 0i64;
    for int in ints {
        writer.int(int.wrapping_sub(before));
        before = *int;
    }
}

pub(crate) fn decode_ints(reader: &mut Reader<'_>) -> Result<Vec<i64>, StoreError> {
    let count = reader.count()?;
    let mut ints = Vec::with_capacity(count);
    let mut before = 0i64;
    for _ in 0..count {
        before = before.wrapping_add(reader.int()?);
        ints.push(before);
    }
    Ok(ints)
}

/// Writes texts by their bytes, one behind the other, and the ends of each.
pub(crate) fn encode_texts((bytes, ends): (&str, &[u32]), writer: &mut Writer) {
    writer.size(ends.len());
    let mut before = 0;
    for end in ends {
        writer.uint((*end - before) as u64);
        before = *end;
    }
    writer.raw(bytes.as_bytes());
}

pub(crate) fn decode_texts(reader: &mut Reader<'_>) -> Result<TextRun, StoreError> {
    let count = reader.count()?;
    let mut ends = Vec::with_capacity(count);
    let mut end = 0u32;
    for _ in 0..count {
        let len = reader.uint32()?;
        end = end.checked_add(len).ok_or_else(|| reader.fail("text above 4 GiB"))?;
        ends.push(end);
    }
    let bytes = reader.raw(end as usize)?;
    let bytes = std::str::from_utf8(bytes).map_err(|_| reader.fail("text is not UTF-8"))?;
    if ends.iter().any(|end| !bytes.is_char_boundary(*end as usize)) {
        return Err(reader.fail("text ends within a character"));
    }
    Ok(TextRun { ends: ends.into(), bytes: bytes.into() })
}

#[cfg(test)]
mod tests;
