//! Charges the memory of the Parquet reader before it allocates.
//!
//! Idea: the reader takes page after page of each column, and each is charged as it is taken: packed, unpacked, and the upper bound of its values.
//! Invariant: the charge is at least the memory held: the pages of a batch stay charged until the batch is gone, the last page of each column and its
//! dictionary until the next group of rows.

use super::pages::{PageHead, PageHeads};
use super::part::PartWatch;
use flate2::read::MultiGzDecoder;
use formats::tables::MeteredFile;
use parking_lot::Mutex;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use std::io::{self, Read};
use std::sync::Arc;

/// Bytes of a value of a list before it is a value, beside itself: how deep it lies, and whether it is the first.
const LEVELS_BYTES: u64 = 8;
/// Largest compression ratio of the old form of LZ4.
const LZ4_RATIO_MAX: u64 = 255;

/// The compression of a column, and the cost of its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnCost {
    pub compression: Compression,
    /// Bytes of a value beside its text.
    pub width: u64,
    /// A row may have any number of values.
    pub is_repeated: bool,
}

/// The account of one group of rows.
pub(super) struct GroupAccount {
    file: Arc<dyn MeteredFile>,
    pages: PageHeads,
    columns: Vec<ColumnCost>,
    batch_rows: u64,
    held: Mutex<AccountedBuffer>,
}

#[derive(Default)]
struct AccountedBuffer {
    /// All of the file and the group.
    fixed: u64,
    dictionaries: u64,
    /// Of each column.
    last: Vec<u64>,
    /// PageHeads that the batch was made of, beside the last ones.
    passed: u64,
}

impl AccountedBuffer {
    fn bytes(&self) -> u64 {
        let last = self.last.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        [self.dictionaries, self.passed, last].iter().fold(self.fixed, |sum, more| sum.saturating_add(*more))
    }
}

impl GroupAccount {
    /// Of pages of these columns, beside `fixed` bytes.
    pub fn new(
        file: &Arc<dyn MeteredFile>,
        pages: PageHeads,
        columns: Vec<ColumnCost>,
        batch_rows: usize,
        fixed: u64,
    ) -> GroupAccount {
        let held = AccountedBuffer { fixed, last: vec![0; columns.len()], ..AccountedBuffer::default() };
        let batch_rows = batch_rows as u64;
        GroupAccount { file: file.clone(), pages, columns, batch_rows, held: Mutex::new(held) }
    }
    /// Bytes that are held.
    pub fn bytes(&self) -> u64 {
        self.held.lock().bytes()
    }
    /// The batch is gone.
    pub fn batch_gone(&self) {
        self.held.lock().passed = 0;
    }
    /// The cost of a page, with its values.
    fn cost(&self, page: &PageHead) -> (u64, u64) {
        let Some(column) = self.columns.get(page.column) else { return (0, 0) };
        let unpacked = match column.compression {
            Compression::LZ4 => page.bytes.max(page.packed_bytes.saturating_mul(LZ4_RATIO_MAX)),
            _ => page.bytes,
        };
        let values = if column.is_repeated { page.values } else { page.values.min(self.batch_rows) };
        let of_values = match (column.is_repeated, page.is_dictionary) {
            (_, true) => page.values.saturating_mul(column.width),
            (true, _) => page.values.saturating_mul(column.width + LEVELS_BYTES),
            // Charged with the batch.
            (false, _) => 0,
        };
        let of_texts = if page.is_delta { values.saturating_mul(page.bytes) } else { 0 };
        (page.packed_bytes.saturating_add(unpacked), of_values.saturating_add(of_texts))
    }
}

impl PartWatch for GroupAccount {
    fn before(&self, start: u64, length: u64) -> Result<(), ParquetError> {
        let page = self.pages.get(&start).filter(|page| page.packed_bytes == length);
        let Some(page) = page else {
            return Err(ParquetError::General("a page lies where none was announced".into()));
        };
        let (bytes, of_values) = self.cost(page);
        let total = {
            let mut held = self.held.lock();
            if page.is_dictionary {
                held.dictionaries = held.dictionaries.saturating_add(bytes).saturating_add(of_values);
            } else if let Some(last) = held.last.get_mut(page.column) {
                let before = std::mem::replace(last, bytes);
                held.passed = held.passed.saturating_add(before).saturating_add(of_values);
            }
            held.bytes()
        };
        Ok(self.file.hold(total)?)
    }
    /// The unpacker of gzip does not know how many bytes it may give.
    fn read(&self, start: u64, bytes: &[u8]) -> Result<(), ParquetError> {
        let Some(page) = self.pages.get(&start) else { return Ok(()) };
        let is_gzip = matches!(
            self.columns.get(page.column),
            Some(ColumnCost { compression: Compression::GZIP(_), .. })
        );
        if !is_gzip || !page.is_packed {
            return Ok(());
        }
        let levels = page.levels_bytes.min(bytes.len() as u64);
        let promised = page.bytes.saturating_sub(levels);
        let packed = MultiGzDecoder::new(&bytes[levels as usize..]);
        let found = io::copy(&mut packed.take(promised + 1), &mut io::sink())?;
        if found > promised {
            return Err(ParquetError::General("a page is longer than it says".into()));
        }
        Ok(())
    }
}
