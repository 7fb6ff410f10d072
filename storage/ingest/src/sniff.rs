//! Detects the format of an ordinary CSV file: its encoding, its delimiter, its columns, and the type of each.
//!
//! Encoding, delimiter and names are detected from the beginning of a file; types from every field of it, since a type that only the first lines have
//! would make the others wrong. A column has the narrowest type that all its fields have and that loses nothing: `007` is text.

use crate::cell::{self, Kind, is_null_word};
use crate::headers::DELIMITERS;
use crate::source::{self, Encoding, HEAD_BYTES, InputFile};
use crate::staged::{ORIGIN, StagedTable};
use crate::{ImportError, MappedFile};
use formats::records::{Field, Format, Records, split};
use model::temporal::Kind as Instant;
use model::temporal::build::from_text;

/// Records from which a delimiter is detected.
const RECORDS_LOOKED_AT: usize = 200;
/// Whole numbers up to here are floats exactly.
const EXACT_MAX: u64 = 1 << 53;

/// The form of a file.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub format: Format,
    pub has_header: bool,
    /// Records before the first row.
    skip: usize,
    /// Names of the columns, in order.
    pub names: Vec<String>,
    /// A name that two columns have.
    pub twice: Option<String>,
}

impl Shape {
    /// Detects the format from the beginning of a file; `read` and `delimiter` are known beforehand.
    pub fn of(file: &InputFile, read: &MappedFile, delimiter: Option<u8>) -> Result<Shape, ImportError> {
        Shape::new(file, read, delimiter, false)
    }
    /// The same of a file in which lines that begin with `#` or `%` are comments.
    pub fn with_comments(file: &InputFile, read: &MappedFile) -> Result<Shape, ImportError> {
        Shape::new(file, read, None, true)
    }
    fn new(
        file: &InputFile,
        read: &MappedFile,
        delimiter: Option<u8>,
        comments: bool,
    ) -> Result<Shape, ImportError> {
        if let Some(staged) = &file.staged {
            return Ok(Shape::staged(staged));
        }
        let wrong = |what: String| ImportError::Header { path: file.shown.clone(), what };
        let encoded = |encoding| {
            file.encode(encoding);
            source::head(file)
        };
        let head = match &read.encoding {
            Some(name) => encoded(Encoding::named(name).ok_or_else(|| {
                wrong(format!(
                    "`{name}` is no encoding; there are utf-8, utf-16le, utf-16be and windows-1252"
                ))
            })?)?,
            None => match source::head(file)? {
                head if is_utf8(&head) => head,
                _ => encoded(Encoding::Windows1252)?,
            },
        };
        let given = match read.delimiter {
            Some(given) => match u8::try_from(given) {
                Ok(given) if given.is_ascii() => Some(given),
                _ => return Err(wrong(format!("the delimiter `{given}` is not one byte"))),
            },
            None => delimiter,
        };
        let head = head.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(&head);
        let delimiter = given.unwrap_or_else(|| delimiter_of(head));
        let format = Format { delimiter, quoting: true };
        let mut records = Records::new(head, format, 1).map(|(_, record)| record).enumerate();
        let is_passed_over = |record: &[u8]| record.is_empty() || (comments && is_comment(record));
        let first = records.find(|(_, record)| !is_passed_over(record));
        let Some((before, first)) = first else { return Err(wrong("the file is empty".into())) };
        let mut fields = Vec::new();
        split(first, format, &mut fields).map_err(|what| wrong(what.into()))?;
        let has_header = read.header.unwrap_or(true);
        let names = fields.iter().enumerate().map(|(at, field)| match has_header {
            true => Ok(field.text().map_err(wrong)?.trim().to_string()),
            false => Ok(format!("column{}", at + 1)),
        });
        let names: Vec<String> = names.collect::<Result<_, ImportError>>()?;
        let (skip, twice) = (if has_header { before + 1 } else { 0 }, named_twice(&names).cloned());
        Ok(Shape { format, has_header, skip, names, twice })
    }
    /// The same; an error if two columns have one name.
    pub fn named_once(self, file: &InputFile) -> Result<Shape, ImportError> {
        match &self.twice {
            None => Ok(self),
            Some(name) => {
                let (path, what) = (file.shown.clone(), called_twice(name));
                Err(ImportError::Header { path, what })
            }
        }
    }
    /// The form of rows that were staged: the first column says where a row came from.
    fn staged(staged: &StagedTable) -> Shape {
        let names = staged.columns.iter().map(|column| column.name.clone());
        let names = std::iter::once(ORIGIN.to_string()).chain(names).collect();
        let format = Format { delimiter: b',', quoting: true };
        Shape { format, has_header: true, skip: 1, names, twice: None }
    }
    /// Records before the first row.
    pub fn skip(&self) -> usize {
        self.skip
    }
}

/// The first name that two columns have.
fn named_twice(names: &[String]) -> Option<&String> {
    let at = (0..names.len()).find(|at| !names[*at].is_empty() && names[..*at].contains(&names[*at]))?;
    names.get(at)
}

/// The error of two columns of one name.
pub(crate) fn called_twice(name: &str) -> String {
    format!("two columns are called `{name}`")
}

/// Is it a line that is no record, where there are comments?
pub(crate) fn is_comment(record: &[u8]) -> bool {
    matches!(record.first(), Some(b'#' | b'%'))
}

/// How many fields every record of the beginning of a file has; none where they differ.
pub(crate) fn field_count(head: &[u8], format: Format, comments: bool) -> Option<usize> {
    let mut counts: Vec<usize> = Vec::new();
    let records = Records::new(head, format, 1).filter(|(_, record)| !record.is_empty());
    for (_, record) in records.filter(|(_, record)| !(comments && is_comment(record))) {
        let mut fields = Vec::new();
        split(record, format, &mut fields).ok()?;
        counts.push(fields.len());
    }
    // The head may end inside a record.
    if head.len() >= HEAD_BYTES {
        counts.pop();
    }
    let first = *counts.first()?;
    counts.iter().all(|count| *count == first).then_some(first)
}

/// Is the beginning of a file UTF-8? Its last character may be cut.
fn is_utf8(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() >= HEAD_BYTES,
    }
}

/// The separator of fields: the candidate that cuts the most records into the same number of fields, and more than one.
pub(crate) fn delimiter_of(head: &[u8]) -> u8 {
    let mut best = (0usize, 0usize, DELIMITERS[0]);
    for delimiter in DELIMITERS {
        let format = Format { delimiter, quoting: true };
        let mut counts: Vec<usize> = Vec::new();
        let records = Records::new(head, format, 1).filter(|(_, record)| !record.is_empty());
        for (_, record) in records.take(RECORDS_LOOKED_AT) {
            let mut fields = Vec::new();
            counts.push(split(record, format, &mut fields).map_or(0, |()| fields.len()));
        }
        // The head may end inside a record.
        if head.len() >= HEAD_BYTES {
            counts.pop();
        }
        let Some(&columns) = counts.first().filter(|columns| **columns > 1) else { continue };
        let same = counts.iter().filter(|count| **count == columns).count();
        if (same, columns) > (best.0, best.1) {
            best = (same, columns, delimiter);
        }
    }
    best.2
}

const INT: u8 = 1;
const FLOAT: u8 = 2;
const BOOL: u8 = 4;
const DATE: u8 = 8;
const LOCAL_DATE_TIME: u8 = 16;
const DATE_TIME: u8 = 32;
const ANY: u8 = 63;

/// Observations of a column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnSurvey {
    /// Types that every field may have.
    possible: u8,
    pub rows: u64,
    /// Fields without anything.
    empty: u64,
    /// Fields that a number or date could not be, and that say that there is none.
    words: u64,
    /// The first of these words.
    word: Option<String>,
    /// Fields that are `\N` or the user's text for null.
    nulls: u64,
    values: u64,
    /// The type, where the file itself says it.
    known: Option<Kind>,
}

impl Default for ColumnSurvey {
    fn default() -> ColumnSurvey {
        ColumnSurvey {
            possible: ANY,
            rows: 0,
            empty: 0,
            words: 0,
            word: None,
            nulls: 0,
            values: 0,
            known: None,
        }
    }
}

impl ColumnSurvey {
    /// The column as declared by the file.
    pub fn known(kind: Kind, rows: u64, missing: u64) -> ColumnSurvey {
        ColumnSurvey { rows, empty: missing, known: Some(kind), ..ColumnSurvey::default() }
    }
    /// Are all fields dates or times so far?
    pub fn is_instant(&self) -> bool {
        matches!(self.kind(), Kind::Instant(_))
    }
    /// From here on it is a column of texts.
    pub fn forget_instants(&mut self) {
        self.possible = 0;
    }
    /// Looks at one more field.
    pub fn look(&mut self, field: &Field<'_>, nulls: &[Vec<u8>]) {
        self.rows += 1;
        if field.bytes.is_empty() {
            self.empty += 1;
            // An empty text in quotes is a text, but no number lacks for it.
        } else if cell::is_null(field.bytes, nulls) {
            self.nulls += 1;
        } else if is_null_word(field.bytes) {
            self.words += 1;
            self.word.get_or_insert_with(|| String::from_utf8_lossy(field.bytes).into_owned());
        } else {
            self.values += 1;
            if self.possible != 0 {
                self.possible &= types_of(field.bytes.trim_ascii());
            }
        }
    }
    /// Both.
    pub fn add(&mut self, other: ColumnSurvey) {
        self.possible &= other.possible;
        self.rows += other.rows;
        self.empty += other.empty;
        self.words += other.words;
        self.word = self.word.take().or(other.word);
        self.nulls += other.nulls;
        self.values += other.values;
    }
    /// The type of the column.
    pub fn kind(&self) -> Kind {
        if let Some(known) = &self.known {
            return known.clone();
        }
        let kinds = [
            (INT, Kind::Int),
            (FLOAT, Kind::Float),
            (BOOL, Kind::Bool),
            (DATE, Kind::Instant(Instant::Date)),
            (LOCAL_DATE_TIME, Kind::Instant(Instant::LocalDateTime)),
            (DATE_TIME, Kind::Instant(Instant::DateTime)),
        ];
        let found = kinds.into_iter().find(|(bit, _)| self.values > 0 && self.possible & bit != 0);
        found.map_or(Kind::Text, |(_, kind)| kind)
    }
    /// Fields without a value, and the word that stands for none, if one does.
    pub fn nulls(&self) -> (u64, Option<&str>) {
        match self.kind() {
            _ if self.known.is_some() => (self.empty, None),
            Kind::Text => (self.empty + self.nulls, None),
            _ => (self.empty + self.nulls + self.words, self.word.as_deref()),
        }
    }
}

/// The types that a field may have.
fn types_of(bytes: &[u8]) -> u8 {
    match bytes.first() {
        Some(b't' | b'T' | b'f' | b'F') => match cell::truth(bytes) {
            Some(_) => BOOL,
            None => 0,
        },
        Some(b'0'..=b'9' | b'-' | b'+' | b'.') => number_or_instant(bytes),
        _ => 0,
    }
}

fn number_or_instant(bytes: &[u8]) -> u8 {
    let digits = bytes.strip_prefix(b"-").or(bytes.strip_prefix(b"+")).unwrap_or(bytes);
    // A number does not begin with a nought that more digits follow: that is a code.
    if matches!(digits, [b'0', b'0'..=b'9', ..]) && bytes.get(4) != Some(&b'-') {
        return 0;
    }
    if let Some(int) = cell::int(bytes) {
        return if int.unsigned_abs() <= EXACT_MAX { INT | FLOAT } else { INT };
    }
    if digits.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    if bytes.len() >= "2000-01-01".len() && bytes.get(4) == Some(&b'-') {
        let Ok(text) = std::str::from_utf8(bytes) else { return 0 };
        let is = |kind: Instant| from_text(kind, text).is_ok();
        return match (text.contains('T'), text.len()) {
            (false, 10) if is(Instant::Date) => DATE,
            (true, _) if is(Instant::LocalDateTime) => LOCAL_DATE_TIME,
            (true, _) if has_zone(text) && is(Instant::DateTime) => DATE_TIME,
            _ => 0,
        };
    }
    let is_plain = digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let float = cell::float(bytes).filter(|float| is_plain && float.is_finite());
    if float.is_some() { FLOAT } else { 0 }
}

fn has_zone(text: &str) -> bool {
    text.split_once('T').is_some_and(|(_, time)| time.contains(['Z', '+', '-', '[']))
}

#[cfg(test)]
mod tests;
