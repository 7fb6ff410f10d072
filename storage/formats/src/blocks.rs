//! A stream of CSV as blocks of whole records, so that several threads can parse one file.
//!
//! Blocks are cut one after the other, by the thread that needs the next one, because only a reader that comes from the beginning knows whether a
//! line end lies inside quotes. Cutting costs a search for line ends; parsing, the larger part, runs in parallel.
//! Invariant: blocks in order are the file, without what was skipped as too long.

use crate::records::{Format, NEVER_CLOSED, record_length, records_length};
use std::io::{self, Read};

/// Bytes a block has, about: a few milliseconds of parsing.
pub const BLOCK_BYTES: usize = 1 << 20;
/// Bytes one record may have; beyond it, a quote was left open or the file has no lines.
pub const RECORD_BYTES_MAX: usize = 16 << 20;
const TOO_LONG: &str = "the line is longer than 16 MiB";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whole records of a file.
#[derive(Debug, Default)]
pub struct Block {
    /// The records, each with its line end; the last of a file may have none.
    pub bytes: Vec<u8>,
    /// Which block of its file, from 0.
    pub number: usize,
    /// Line of its first record, from 1.
    pub first_line: u64,
    /// Why nothing in it can be parsed, if so; it is one line then.
    pub broken: Option<&'static str>,
}

/// Cuts a file into blocks.
pub struct BlockReader {
    source: Box<dyn Read + Send>,
    format: Format,
    block_bytes: usize,
    record_bytes_max: usize,
    /// Records at the beginning to leave out: a header.
    skip: usize,
    rest: Vec<u8>,
    next_line: u64,
    next_number: usize,
    ended: bool,
    begun: bool,
    /// Inside a line that is too long: everything up to its end is dropped.
    overlong: bool,
}

impl BlockReader {
    /// Reads `source`; leaves out its first `skip` records.
    #[must_use]
    pub fn new(source: Box<dyn Read + Send>, format: Format, skip: usize) -> BlockReader {
        BlockReader {
            source,
            format,
            block_bytes: BLOCK_BYTES,
            record_bytes_max: RECORD_BYTES_MAX,
            skip,
            rest: Vec::new(),
            next_line: 1,
            next_number: 0,
            ended: false,
            begun: false,
            overlong: false,
        }
    }
    /// Blocks cut so far.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.next_number
    }
    /// Bytes held for the next blocks.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.rest.capacity()
    }
    /// Cuts blocks of about `block_bytes` bytes, and takes records beyond `record_bytes_max` for broken.
    #[must_use]
    pub fn with_sizes(mut self, block_bytes: usize, record_bytes_max: usize) -> BlockReader {
        (self.block_bytes, self.record_bytes_max) = (block_bytes, record_bytes_max);
        self
    }

    /// Fills `block` with the next records; false at the end of the file.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn next(&mut self, block: &mut Block) -> io::Result<bool> {
        block.bytes.clear();
        block.bytes.append(&mut self.rest);
        block.broken = None;
        let mut wanted = self.block_bytes;
        loop {
            self.fill(&mut block.bytes, wanted)?;
            if self.overlong && self.drop_line_rest(&mut block.bytes) {
                wanted = self.block_bytes;
                continue;
            }
            if self.skip > 0
                && let Some(length) = self.first_length(&block.bytes)
            {
                self.pass(&block.bytes[..length]);
                block.bytes.drain(..length);
                self.skip -= 1;
                continue;
            }
            if block.bytes.is_empty() {
                if self.ended {
                    return Ok(false);
                }
                continue;
            }
            let length = records_length(&block.bytes, self.format);
            if length > 0 || self.ended || block.bytes.len() >= self.record_bytes_max {
                self.cut(block, length);
                return Ok(true);
            }
            wanted = block.bytes.len() * 2;
        }
    }

    /// Length of the first record, the last one's too although no line end follows.
    fn first_length(&self, bytes: &[u8]) -> Option<usize> {
        record_length(bytes, self.format).or((self.ended && !bytes.is_empty()).then_some(bytes.len()))
    }

    /// Ends `block` after `length` bytes of whole records, or takes an incomplete rest as it is.
    fn cut(&mut self, block: &mut Block, length: usize) {
        let left = &block.bytes[length..];
        let length = if self.ended && !self.is_open(left) {
            block.bytes.len()
        } else if length > 0 {
            length
        } else {
            block.broken = Some(if self.is_open(left) { NEVER_CLOSED } else { TOO_LONG });
            let line = memchr::memchr(b'\n', left).map(|at| at + 1);
            self.overlong = line.is_none() && !self.ended;
            line.unwrap_or(left.len())
        };
        self.rest.extend_from_slice(&block.bytes[length..]);
        block.bytes.truncate(length);
        (block.first_line, block.number) = (self.next_line, self.next_number);
        self.next_number += 1;
        let bytes = std::mem::take(&mut block.bytes);
        self.pass(&bytes);
        block.bytes = bytes;
        debug_assert!(!block.bytes.is_empty(), "a block without records");
    }

    /// Would the record go on if a line end followed?
    fn is_open(&self, bytes: &[u8]) -> bool {
        self.format.quoting && !bytes.is_empty() && {
            let mut closed = bytes.to_vec();
            closed.push(b'\n');
            record_length(&closed, self.format).is_none()
        }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.next_line += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }

    /// Drops up to the end of a line that was too long; true if that end has not come yet.
    fn drop_line_rest(&mut self, bytes: &mut Vec<u8>) -> bool {
        let end = memchr::memchr(b'\n', bytes).map(|at| at + 1);
        let length = end.unwrap_or(bytes.len());
        self.pass(&bytes[..length]);
        bytes.drain(..length);
        self.overlong = end.is_none() && !self.ended;
        self.overlong
    }

    fn fill(&mut self, bytes: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
        // The first bytes show whether there is a mark.
        let wanted = if self.begun { wanted } else { wanted.max(BYTE_ORDER_MARK.len()) };
        if !self.ended && bytes.len() < wanted {
            let missing = wanted - bytes.len();
            bytes.reserve(missing);
            let read = Read::by_ref(&mut self.source).take(missing as u64).read_to_end(bytes)?;
            self.ended = read < missing;
        }
        if !self.begun {
            self.begun = true;
            if bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
