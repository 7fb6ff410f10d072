//! The records of a file for LOAD CSV, one after another, as [`formats`] cuts them. A field that is empty without quotes is null; empty lines are
//! passed over.

use crate::ExecuteError;
use formats::blocks::{Block, BlockReader, RECORD_BYTES_MAX};
use formats::records::{Format, Records as InBlock, texts};
use std::io::Read;

/// Bytes read at once: few, for a LIMIT may end the reading after its first record.
const BLOCK_BYTES: usize = 64 << 10;

/// Empty lines passed over between two looks at the clock: a small compressed file may hold billions.
const BLANK_LINES_PER_LOOK: usize = 65_536;

/// A field; null where it is empty and not quoted.
pub(super) type Field = Option<String>;

pub(super) struct Records {
    reader: BlockReader,
    format: Format,
    block: Block,
    /// How much of the block was read.
    taken: usize,
    /// The line on which the rest of the block begins.
    next_line: u64,
    /// The line on which the record ends that came last.
    line: u64,
}

impl Records {
    pub(super) fn new(reader: Box<dyn Read + Send>, separator: u8) -> Records {
        let format = Format { delimiter: separator, quoting: true };
        let reader = BlockReader::new(reader, format, 0).with_sizes(BLOCK_BYTES, RECORD_BYTES_MAX);
        Records { reader, format, block: Block::default(), taken: 0, next_line: 1, line: 0 }
    }

    fn fail<T>(&self, line: u64, what: &dyn std::fmt::Display) -> Result<T, ExecuteError> {
        Err(ExecuteError::External(format!("line {line} of the file: {what}")))
    }

    /// The line on which the record ends that came last, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Reads the next block; false at the end of the file.
    fn next_block(&mut self) -> Result<bool, ExecuteError> {
        match self.reader.next(&mut self.block) {
            Ok(false) => return Ok(false),
            Ok(true) => {}
            Err(error) => return self.fail(self.next_line, &format_args!("it cannot be read: {error}")),
        }
        (self.taken, self.next_line) = (0, self.block.first_line);
        match self.block.broken {
            Some(what) => self.fail(self.block.first_line, &what),
            None => Ok(true),
        }
    }

    /// The next record; an inner none after [`BLANK_LINES_PER_LOOK`] empty lines, which are passed over.
    pub(super) fn next(&mut self) -> Result<Option<Option<Vec<Field>>>, ExecuteError> {
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
            return match texts(record, self.format) {
                Ok(fields) => Ok(Some(Some(fields))),
                Err(what) => self.fail(line, &what),
            };
        }
        Ok(Some(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &'static str) -> Vec<Vec<Field>> {
        let mut records = Records::new(Box::new(text.as_bytes()), b',');
        std::iter::from_fn(|| records.next().unwrap()).flatten().collect()
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
