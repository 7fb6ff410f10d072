//! The records of a file for LOAD CSV, one after another, as [`formats`] cuts them. A field that is empty without quotes is null; empty lines are
//! passed over.

use crate::ExecuteError;
use dataflow::watch::{self, LoopBytes, Stopped};
use expression::EvalError;
use formats::blocks::{Block, BlockReader, RECORD_BYTES_MAX};
use formats::records::{Format, Records as InBlock, texts};
use model::Value;
use std::io::{self, Read};

/// Bytes read at once: few, for a LIMIT may end the reading after its first record.
const BLOCK_BYTES: usize = 64 << 10;

/// Empty lines passed over between two looks at the clock: a small compressed file may hold billions.
const BLANK_LINES_PER_LOOK: usize = 65_536;

/// Fields parsed between two looks at the clock and the memory: one record may have millions.
const FIELDS_PER_LOOK: usize = 256;

/// Slots that a list has for a field at most: as many again are free where it has just grown.
const PLACES_OF_FIELD: usize = 2;

/// Bytes of text that are looked through in about the time of one unit of work.
const TEXT_BYTES_PER_UNIT: usize = 64;

/// The fields of a record, null where a field is empty and not quoted.
#[derive(Debug)]
pub(super) struct RecordFields {
    pub(super) fields: Vec<Value>,
    /// Their bytes, charged until the record is a value.
    _held: LoopBytes,
}

/// A file whose reading is work of the query: a small compressed one may hold gigabytes.
pub(super) struct Metered(pub(super) Box<dyn Read + Send>);

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        watch::spend((read / TEXT_BYTES_PER_UNIT) as u64).map_err(io::Error::other)?;
        Ok(read)
    }
}

pub(super) struct Records {
    reader: BlockReader,
    format: Format,
    block: Block,
    /// How much of the block was read.
    taken: usize,
    /// The first line of the rest of the block.
    next_line: u64,
    /// The last line of the last record.
    line: u64,
}

impl Records {
    pub(super) fn new(reader: Box<dyn Read + Send>, separator: u8) -> Records {
        let format = Format { delimiter: separator, quoting: true };
        let reader =
            BlockReader::new(Box::new(Metered(reader)), format, 0).with_sizes(BLOCK_BYTES, RECORD_BYTES_MAX);
        Records { reader, format, block: Block::default(), taken: 0, next_line: 1, line: 0 }
    }

    fn fail<T>(&self, line: u64, what: &dyn std::fmt::Display) -> Result<T, ExecuteError> {
        Err(ExecuteError::FileContent(format!("line {line} of the file: {what}")))
    }

    /// The last line of the last record, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Bytes of the file that are buffered.
    pub(super) fn held_bytes(&self) -> usize {
        self.block.bytes.capacity() + self.reader.held_bytes()
    }

    /// Reads the next block; false at the end of the file.
    fn next_block(&mut self) -> Result<bool, ExecuteError> {
        match self.reader.next(&mut self.block) {
            Ok(false) => return Ok(false),
            Ok(true) => {}
            Err(error) => match error.downcast::<Stopped>() {
                Ok(stopped) => return Err(EvalError::from(stopped).into()),
                Err(error) => return self.fail(self.next_line, &format_args!("it cannot be read: {error}")),
            },
        }
        (self.taken, self.next_line) = (0, self.block.first_line);
        match self.block.broken {
            Some(what) => self.fail(self.block.first_line, &what),
            None => Ok(true),
        }
    }

    /// The next record; an inner none after [`BLANK_LINES_PER_LOOK`] empty lines, which are passed over.
    pub(super) fn next(&mut self) -> Result<Option<Option<RecordFields>>, ExecuteError> {
        for _ in 0..BLANK_LINES_PER_LOOK {
            if self.taken == self.block.bytes.len() && !self.next_block()? {
                return Ok(None);
            }
            let mut records = InBlock::new(&self.block.bytes[self.taken..], self.format, self.next_line);
            let Some((line, record)) = records.next() else { return Ok(None) };
            let (rest, next_line) = records.rest();
            (self.taken, self.next_line) = (self.block.bytes.len() - rest.len(), next_line);
            self.line = line + record.iter().filter(|byte| **byte == b'\n').count() as u64;
            if record.is_empty() {
                continue;
            }
            return match cut(record, self.format)? {
                Ok(record) => Ok(Some(Some(record))),
                Err(what) => self.fail(line, &what),
            };
        }
        Ok(Some(None))
    }
}

/// Splits a record into its fields; the inner error is a malformed record.
fn cut(record: &[u8], format: Format) -> Result<Result<RecordFields, String>, EvalError> {
    let (mut fields, mut held, mut bytes) = (Vec::new(), LoopBytes::default(), 0);
    for text in texts(record, format) {
        let field = match text {
            Ok(text) => text.map_or(Value::Null, |text| Value::from(&*text)),
            Err(what) => return Ok(Err(what)),
        };
        bytes += PLACES_OF_FIELD * size_of::<Value>() + field.heap_bytes();
        fields.push(field);
        if fields.len().is_multiple_of(FIELDS_PER_LOOK) {
            held.set(bytes as u64)?;
            watch::spend(FIELDS_PER_LOOK as u64)?;
        }
    }
    held.set(bytes as u64)?;
    Ok(Ok(RecordFields { fields, _held: held }))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Field = Option<String>;

    fn all(text: &'static str) -> Vec<Vec<Field>> {
        let mut records = Records::new(Box::new(text.as_bytes()), b',');
        let texts = |record: RecordFields| {
            record.fields.iter().map(|field| field.as_str().map(str::to_string)).collect()
        };
        std::iter::from_fn(|| records.next().unwrap()).flatten().map(texts).collect()
    }

    #[test]
    fn records_fields_and_quotes() {
        let some = |text: &str| Some(text.to_string());
        assert_eq!(all("a,b\r\n\n1,\n"), [vec![some("a"), some("b")], vec![some("1"), None]]);
        assert_eq!(
            all("\u{feff}\"a \"\"b\"\"\nc\",\"\",x\"y\"\n"),
            [[some("a \"b\"\nc"), some(""), some("x\"y\"")]]
        );
        // A quote within a field is a character: it once took the next lines for its own.
        assert_eq!(all("5\" pipe\nnext\n"), [[some("5\" pipe")], [some("next")]]);
        let mut open = Records::new(Box::new("a\n\"a\nb".as_bytes()), b',');
        assert!(open.next().unwrap().is_some());
        let error = open.next().unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("never closed"), "{error}");
        assert_eq!(all("\"a\"b,\"\"c\n"), [[some("ab"), some("c")]]);
    }

    #[test]
    fn lines_are_those_on_which_records_end() {
        let mut records = Records::new(Box::new("a\n\n\"b\nc\",d\r\ne".as_bytes()), b',');
        let lines: Vec<u64> =
            std::iter::from_fn(|| records.next().unwrap().map(|_| records.line())).collect();
        assert_eq!(lines, [1, 4, 5]);
    }
}
