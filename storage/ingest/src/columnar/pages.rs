//! Checks the pages of a column of Parquet before its reader unpacks them.
//!
//! The header of a page has its unpacked length and its number of values, and the reader trusts both: some hundred bytes may stand for gigabytes.
//! This scan reads the headers alone, in the order in which the reader meets them, so that memory is charged before.

use super::footer::{FALSE, INT32, STRUCT, TRUE, Thrift};
use std::collections::HashMap;
use std::io::{self, Read};

/// Bytes of a page, packed or not. Writers make pages of about one MiB.
pub(super) const PAGE_BYTES_MAX: u64 = 256 << 20;
/// PageHeads of one group of rows.
const PAGES_MAX: usize = 1 << 20;
/// Bytes of a header read at first, and of one at most: it may hold the least and the greatest value of its page.
const HEADER_BYTES: u64 = 4 << 10;
const HEADER_BYTES_MAX: u64 = 1 << 20;
/// Types of pages.
const INDEX: i64 = 1;
const DICTIONARY: i64 = 2;
/// The encoding of texts by their common prefixes with the text before.
const DELTA_BYTE_ARRAY: i64 = 7;
/// The fault of a header.
const MISFIT: &str = "a page's header has a field of another type than it has";

/// The content of a page's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageHead {
    /// The column, by its place among the leaves.
    pub column: usize,
    pub packed_bytes: u64,
    pub bytes: u64,
    pub values: u64,
    /// Bytes before the packed part.
    pub levels_bytes: u64,
    pub is_packed: bool,
    pub is_dictionary: bool,
    /// Each text may be as long as the page.
    pub is_delta: bool,
}

/// The pages of a group of rows, by the place at which their bytes begin.
pub(super) type PageHeads = HashMap<u64, PageHead>;

/// Adds the pages of a column, which has these bytes of a file.
///
/// # Errors
/// It cannot be read, or a page is larger than one may be.
pub(super) fn scan<R: Read>(
    column: usize,
    (mut at, mut rest): (u64, u64),
    part: impl Fn(u64) -> R,
    pages: &mut PageHeads,
) -> Result<(), String> {
    while rest > 0 {
        let (length, kind, page) = header(&part, at, rest)?;
        at += length;
        rest = rest.checked_sub(length + page.packed_bytes).ok_or("a page is longer than its column")?;
        if page.packed_bytes.max(page.bytes) > PAGE_BYTES_MAX {
            return Err(format!(
                "a page has {} bytes, and may have {PAGE_BYTES_MAX}; write the file with smaller pages",
                page.packed_bytes.max(page.bytes)
            ));
        }
        if kind != INDEX {
            pages.insert(at, PageHead { column, ..page });
        }
        if pages.len() > PAGES_MAX {
            return Err(format!(
                "a group of rows has more than {PAGES_MAX} pages; write the file with larger pages"
            ));
        }
        at += page.packed_bytes;
    }
    Ok(())
}

/// A header of at most `rest` bytes: how many it has, the type of its page, and the page.
fn header<R: Read>(part: &impl Fn(u64) -> R, at: u64, rest: u64) -> Result<(u64, i64, PageHead), String> {
    for bytes_max in [HEADER_BYTES, HEADER_BYTES_MAX] {
        let mut bytes = Vec::new();
        let read = part(at).take(rest.min(bytes_max)).read_to_end(&mut bytes);
        read.map_err(|error: io::Error| error.to_string())?;
        let mut thrift = Thrift { bytes: &bytes };
        match page(&mut thrift) {
            Ok((kind, page)) => return Ok(((bytes.len() - thrift.bytes.len()) as u64, kind, page)),
            Err(what) if bytes_max == HEADER_BYTES_MAX || bytes.len() < bytes_max as usize => {
                return Err(what);
            }
            Err(_) => {}
        }
    }
    Err("a page has no header".into())
}

fn page(thrift: &mut Thrift<'_>) -> Result<(i64, PageHead), String> {
    let size = |number: i64| u64::try_from(number).map_err(|_| "a page has less than no bytes".to_string());
    let (mut field, mut kind, mut page) = (0, 0, PageHead { is_packed: true, ..PageHead::default() });
    while let Some(held) = thrift.field(&mut field)? {
        match (field, held) {
            (1, INT32) => kind = thrift.signed()?,
            (2, INT32) => page.bytes = size(thrift.signed()?)?,
            (3, INT32) => page.packed_bytes = size(thrift.signed()?)?,
            (5 | 7 | 8, STRUCT) => inner(thrift, field == 8, &mut page)?,
            // Another type might be read as the number it is.
            (1..=3 | 5 | 7 | 8, _) => return Err(MISFIT.into()),
            _ => thrift.pass(held, 0)?,
        }
    }
    page.is_dictionary = kind == DICTIONARY;
    Ok((kind, page))
}

/// The header of data, or of a dictionary.
fn inner(thrift: &mut Thrift<'_>, is_second: bool, page: &mut PageHead) -> Result<(), String> {
    let size = |number: i64| u64::try_from(number).map_err(|_| "a page has less than no values".to_string());
    let mut field = 0;
    while let Some(held) = thrift.field(&mut field)? {
        match (field, held, is_second) {
            (1, INT32, _) => page.values = size(thrift.signed()?)?,
            (2, INT32, false) | (4, INT32, true) => page.is_delta = thrift.signed()? == DELTA_BYTE_ARRAY,
            (5 | 6, INT32, true) => page.levels_bytes += size(thrift.signed()?)?,
            (7, FALSE, true) => page.is_packed = false,
            (7, TRUE, true) => page.is_packed = true,
            (1 | 2, _, false) | (1 | 4..=7, _, true) => return Err(MISFIT.into()),
            _ => thrift.pass(held, 0)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of the compact protocol.
    fn number(value: i64, bytes: &mut Vec<u8>) {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest > 0x7f {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }

    /// A header, and as many bytes of data as it says, or none.
    fn page(kind: i64, bytes: u64, packed: u64, values: i64) -> Vec<u8> {
        let mut header = Vec::new();
        for value in [kind, bytes as i64, packed as i64] {
            header.push(0x15);
            number(value, &mut header);
        }
        // A structure of numbers: how many values, and the encoding.
        header.push(if kind == DICTIONARY { 0x4c } else { 0x2c });
        header.push(0x15);
        number(values, &mut header);
        header.extend([0x15, 0x0e, 0, 0]);
        header
    }

    fn scanned(bytes: &[u8], length: u64) -> Result<PageHeads, String> {
        let mut pages = PageHeads::new();
        scan(3, (0, length), |at| &bytes[(at as usize).min(bytes.len())..], &mut pages).map(|()| pages)
    }

    #[test]
    fn pages_are_found_in_their_order() {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        for (kind, size) in [(DICTIONARY, 5), (0, 7), (INDEX, 2), (0, 1)] {
            bytes.extend(page(kind, 100 + size, size, 9));
            places.push(bytes.len() as u64);
            bytes.extend(vec![0xff; size as usize]);
        }
        let pages = scanned(&bytes, bytes.len() as u64).unwrap();
        assert_eq!(pages.len(), 3, "a page of an index is none");
        let first = pages[&places[0]];
        assert!(first.is_dictionary && first.column == 3 && first.bytes == 105 && first.packed_bytes == 5);
        assert!(pages[&places[1]].is_delta && pages[&places[1]].values == 9);
        assert!(scanned(&bytes, bytes.len() as u64 - 1).is_err(), "longer than its column");
    }

    #[test]
    fn a_page_has_a_size_at_most() {
        for (bytes, is_right) in
            [(PAGE_BYTES_MAX - 1, true), (PAGE_BYTES_MAX, true), (PAGE_BYTES_MAX + 1, false)]
        {
            let header = page(0, bytes, 0, 1);
            let found = scanned(&header, header.len() as u64);
            assert_eq!(found.is_ok(), is_right, "{found:?}");
        }
        let header = page(0, u64::MAX, 0, 1);
        assert!(scanned(&header, header.len() as u64).is_err(), "less than no bytes");
    }

    #[test]
    fn a_header_may_be_long_and_has_fields_of_their_types() {
        // A text of statistics before the end.
        let mut header = page(0, 1, 0, 1);
        header.truncate(header.len() - 1);
        header.extend([0x48, 0xc0, 0xb8, 0x02]);
        header.extend(vec![7; 0x9c40]);
        header.push(0);
        assert_eq!(scanned(&header, header.len() as u64).unwrap().len(), 1);
        // The number of bytes as one of 64 bits, which a careless reader takes for the same.
        let mut header = page(0, 1, 0, 1);
        header[2] = 0x16;
        assert_eq!(scanned(&header, header.len() as u64), Err(MISFIT.into()));
    }
}
