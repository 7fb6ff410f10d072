//! The formats: a writer of rows for each; and how tables show a cell.

use crate::text;
use database::entity::Hydrated;
use std::io::{self, Write};

/// Writes rows in one format.
pub(crate) trait RowWriter {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    fn row(&mut self, row: &[Hydrated], out: &mut dyn Write) -> io::Result<()>;
    /// The next row may be long in coming: buffered rows are written.
    fn pause(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// Is null shown apart from the text `null`?
pub(crate) fn is_null(value: &Hydrated) -> bool {
    matches!(value, Hydrated::Plain(database::Value::Null))
}

/// The text of a table's cell, on one line.
pub(crate) fn one_line(value: &Hydrated) -> String {
    let text = text::cell_text(value);
    if !text.contains(char::is_control) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => out.extend(control.escape_default()),
            letter => out.push(letter),
        }
    }
    out
}
