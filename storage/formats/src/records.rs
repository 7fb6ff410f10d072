//! CSV records and fields: where a line ends, and where its fields do.
//!
//! Without quoting, a record is a line and a delimiter always separates. With quoting, a field that begins with `"` goes on to the next
//! `"` that is not doubled, over delimiters and line ends; a `"` further inside a field is an ordinary character. A line may end in
//! CR LF. Nothing is copied: fields are slices. Cost: one vectorised search per field.
//! `docs/decisions/2026-11-28-own-csv.md` says why this is not the crate csv-core.

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// How a file separates fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The byte between two fields; neither a quote nor a line end.
    pub delimiter: u8,
    /// Does `"` at the beginning of a field quote it?
    pub quoting: bool,
}

impl Format {
    /// The separator of list elements within a field.
    #[must_use]
    pub fn list_separator(self) -> u8 {
        if self.delimiter == b';' { b',' } else { b';' }
    }
}

/// One field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its content, without the quotes around it.
    pub bytes: &'a [u8],
    /// Did it stand in quotes?
    pub quoted: bool,
    /// Does it hold quotes that are written twice?
    pub doubled: bool,
}

impl<'a> Field<'a> {
    /// Is nothing there? A quoted empty text is something.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.bytes.is_empty() && !self.quoted
    }
    /// Its text; quotes that are written twice become one.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn text(&self) -> Result<Cow<'a, str>, String> {
        let text = std::str::from_utf8(self.bytes).map_err(|_| "the field is not UTF-8 text".to_string())?;
        Ok(if self.doubled { Cow::Owned(text.replace("\"\"", "\"")) } else { Cow::Borrowed(text) })
    }
}

/// Why a quoted record cannot be split: its end is missing.
pub const NEVER_CLOSED: &str = "a quoted field is never closed";
/// Why a quoted record cannot be split: a field goes on behind its quotes.
pub const AFTER_QUOTE: &str = "text follows a closing quote";

/// Length of the first record of `bytes`, its line end included; none if it does not end there.
#[inline]
#[must_use]
pub fn record_length(bytes: &[u8], format: Format) -> Option<usize> {
    let line_end = memchr(b'\n', bytes)?;
    if !format.quoting || memchr(b'"', &bytes[..line_end]).is_none() {
        return Some(line_end + 1);
    }
    quoted_length(bytes, format.delimiter)
}

fn quoted_length(bytes: &[u8], delimiter: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\n', &bytes[at..])?;
        if bytes[at] == b'\n' {
            return Some(at + 1);
        }
        let begins_field = at == 0 || bytes[at - 1] == delimiter;
        at += 1;
        if begins_field {
            at += quoted_end(&bytes[at..])? + 1;
        }
    }
}

/// Where the closing quote is, seen from after the opening one.
fn quoted_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr(b'"', &bytes[at..])?;
        if bytes.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// Length of as many whole records as `bytes` begins with.
#[must_use]
pub fn records_length(bytes: &[u8], format: Format) -> usize {
    if !format.quoting {
        return memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    }
    let mut length = 0;
    while let Some(record) = record_length(&bytes[length..], format) {
        length += record;
    }
    length
}

/// The record without its line end.
#[must_use]
pub fn trimmed(record: &[u8]) -> &[u8] {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    record.strip_suffix(b"\r").unwrap_or(record)
}

/// The fields of a record (without its line end), appended to `fields`.
///
/// # Errors
/// Its quotes are wrong: [`NEVER_CLOSED`] or [`AFTER_QUOTE`].
#[inline]
pub fn split<'a>(record: &'a [u8], format: Format, fields: &mut Vec<Field<'a>>) -> Result<(), &'static str> {
    if format.quoting && memchr(b'"', record).is_some() {
        return split_quoted(record, format.delimiter, fields);
    }
    let mut start = 0;
    for end in memchr::memchr_iter(format.delimiter, record) {
        fields.push(Field { bytes: &record[start..end], quoted: false, doubled: false });
        start = end + 1;
    }
    fields.push(Field { bytes: &record[start..], quoted: false, doubled: false });
    Ok(())
}

fn split_quoted<'a>(
    record: &'a [u8],
    delimiter: u8,
    fields: &mut Vec<Field<'a>>,
) -> Result<(), &'static str> {
    let mut rest = record;
    loop {
        let (field, after) = match rest.strip_prefix(b"\"") {
            Some(body) => {
                let end = quoted_end(body).ok_or(NEVER_CLOSED)?;
                let bytes = &body[..end];
                let doubled = memchr(b'"', bytes).is_some();
                (Field { bytes, quoted: true, doubled }, &body[end + 1..])
            }
            None => {
                let end = memchr(delimiter, rest).unwrap_or(rest.len());
                (Field { bytes: &rest[..end], quoted: false, doubled: false }, &rest[end..])
            }
        };
        fields.push(field);
        match after.split_first() {
            None => return Ok(()),
            Some((first, left)) if *first == delimiter => rest = left,
            Some(_) => return Err(AFTER_QUOTE),
        }
    }
}

/// The texts of a record (without its line end) one after another, none where a field is absent. Unlike [`split`] it takes text behind a closing
/// quote, up to the next delimiter, as a part of the field. Errors are a quoted field that is never closed, which is the last item, and a field
/// that is not UTF-8.
#[must_use]
pub fn texts(record: &[u8], format: Format) -> FieldTexts<'_> {
    FieldTexts { rest: Some(record), format }
}

/// The result of [`texts`].
pub struct FieldTexts<'a> {
    /// The rest after the fields that were taken; none behind the last.
    rest: Option<&'a [u8]>,
    format: Format,
}

impl<'a> Iterator for FieldTexts<'a> {
    type Item = Result<Option<Cow<'a, str>>, String>;
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let quoted = match rest.strip_prefix(b"\"").filter(|_| self.format.quoting) {
            Some(body) => match quoted_end(body) {
                Some(end) => Some(&body[..end]),
                None => return Some(Err(NEVER_CLOSED.into())),
            },
            None => None,
        };
        let behind = quoted.map_or(rest, |quoted| &rest[quoted.len() + 2..]);
        let end = memchr(self.format.delimiter, behind).unwrap_or(behind.len());
        self.rest = behind.get(end + 1..);
        let tail = Field { bytes: &behind[..end], quoted: false, doubled: false };
        Some(match quoted {
            Some(bytes) => {
                let doubled = memchr(b'"', bytes).is_some();
                Field { bytes, quoted: true, doubled }.text().and_then(|text| joined(text, tail)).map(Some)
            }
            None if tail.is_absent() => Ok(None),
            None => tail.text().map(Some),
        })
    }
}

/// A text joined with the rest behind its closing quote.
fn joined<'a>(text: Cow<'a, str>, tail: Field<'a>) -> Result<Cow<'a, str>, String> {
    match tail.is_absent() {
        true => Ok(text),
        false => Ok(text + tail.text()?),
    }
}

/// Records of a block with their line numbers.
pub struct Records<'a> {
    rest: &'a [u8],
    format: Format,
    next_line: u64,
}

impl<'a> Records<'a> {
    /// Records of `bytes`, whose first line is line `first_line` of its file. The last record need not have a line end.
    #[must_use]
    pub fn new(bytes: &'a [u8], format: Format, first_line: u64) -> Records<'a> {
        debug_assert!(!matches!(format.delimiter, b'"' | b'\n' | b'\r'), "a delimiter that ends or quotes");
        Records { rest: bytes, format, next_line: first_line }
    }
    /// The unread rest, and the line on which it begins.
    #[must_use]
    pub fn rest(&self) -> (&'a [u8], u64) {
        (self.rest, self.next_line)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (u64, &'a [u8]);
    #[inline]
    fn next(&mut self) -> Option<(u64, &'a [u8])> {
        if self.rest.is_empty() {
            return None;
        }
        let length = record_length(self.rest, self.format).unwrap_or(self.rest.len());
        let (record, rest) = self.rest.split_at(length);
        self.rest = rest;
        let line = self.next_line;
        self.next_line += match self.format.quoting {
            true => memchr::memchr_iter(b'\n', record).count() as u64,
            false => 1,
        };
        Some((line, trimmed(record)))
    }
}

#[cfg(test)]
mod tests;
