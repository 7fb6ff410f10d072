//! Comma-separated values, one record after another.
//!
//! A field may stand in double quotes, in which two quotes are one, and the separator and line ends are plain characters. A field that is
//! empty without quotes is null. Lines end with LF or CR LF; a mark of the byte order before the first is passed over.

use crate::ExecuteError;
use std::io::BufRead;

/// Longest record: a quote that is never closed must not read a file of any size into memory.
pub(super) const RECORD_BYTES_MAX: usize = 16 << 20;

/// Empty lines passed over between two looks at the clock: a small compressed file may hold billions.
const BLANK_LINES_PER_LOOK: usize = 65_536;

/// A field; null where it is empty and not quoted.
pub(super) type Field = Option<String>;

pub(super) struct Records {
    reader: Box<dyn BufRead + Send>,
    separator: u8,
    line: u64,
}

impl Records {
    pub(super) fn new(reader: Box<dyn BufRead + Send>, separator: u8) -> Records {
        Records { reader, separator, line: 0 }
    }

    fn fail<T>(&self, what: &str) -> Result<T, ExecuteError> {
        Err(ExecuteError::External(format!("line {} of the file {what}", self.line)))
    }

    /// Appends a line; false at the end of the file.
    fn read_line(&mut self, text: &mut Vec<u8>) -> Result<bool, ExecuteError> {
        let begin = text.len();
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) => return self.fail(&format!("cannot be read: {error}")),
            };
            let end = available.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let taken = end.unwrap_or(available.len());
            text.extend_from_slice(&available[..taken]);
            self.reader.consume(taken);
            if text.len() > RECORD_BYTES_MAX {
                return self
                    .fail(&format!("begins or continues a record longer than {RECORD_BYTES_MAX} bytes"));
            }
            if end.is_some() || taken == 0 {
                break;
            }
        }
        self.line += u64::from(text.len() > begin);
        if self.line == 1 && begin == 0 && text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        }
        Ok(text.len() > begin)
    }

    /// Lines read so far: that on which the record ends that came last.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The next record; an inner none after [`BLANK_LINES_PER_LOOK`] empty lines, which are passed over.
    pub(super) fn next(&mut self) -> Result<Option<Option<Vec<Field>>>, ExecuteError> {
        let mut text = Vec::new();
        for blank in 0.. {
            if blank == BLANK_LINES_PER_LOOK {
                return Ok(Some(None));
            }
            if !self.read_line(&mut text)? {
                return Ok(None);
            }
            if !text.iter().all(|byte| matches!(byte, b'\n' | b'\r')) {
                break;
            }
            text.clear();
        }
        // A record goes on where a quote is open at the end of a line.
        let mut counted = 0;
        let mut quotes = 0_usize;
        loop {
            quotes += text[counted..].iter().filter(|byte| **byte == b'"').count();
            counted = text.len();
            if quotes.is_multiple_of(2) {
                break;
            }
            if !self.read_line(&mut text)? {
                return self.fail("ends inside quotes");
            }
        }
        while text.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            text.pop();
        }
        match String::from_utf8(text) {
            Ok(text) => Ok(Some(Some(fields(&text, self.separator)))),
            Err(_) => self.fail("is not UTF-8"),
        }
    }
}

/// Cuts a record at its separators.
fn fields(text: &str, separator: u8) -> Vec<Field> {
    let separator = char::from(separator);
    let (mut fields, mut field, mut quoted, mut inside) = (Vec::new(), String::new(), false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if inside && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' if inside || field.is_empty() => (inside, quoted) = (!inside, true),
            letter if letter == separator && !inside => {
                fields.push((quoted || !field.is_empty()).then(|| std::mem::take(&mut field)));
                quoted = false;
            }
            letter => field.push(letter),
        }
    }
    fields.push((quoted || !field.is_empty()).then_some(field));
    fields
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
        let mut open = Records::new(Box::new("\"a\nb".as_bytes()), b',');
        assert!(open.next().unwrap_err().to_string().contains("inside quotes"));
    }
}
