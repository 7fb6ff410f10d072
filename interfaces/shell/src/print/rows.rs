//! JSON: rows as one array of objects, or as one object a line.

use super::writer::RowWriter;
use crate::json::write_row;
use database::entity::Hydrated;
use std::io::{self, Write};
use std::sync::Arc;

/// One array; each row on a line of its own.
pub(crate) struct JsonWriter {
    columns: Vec<Arc<str>>,
    line: String,
    is_first: bool,
}

impl JsonWriter {
    pub fn new(columns: &[Arc<str>]) -> JsonWriter {
        JsonWriter { columns: columns.to_vec(), line: String::new(), is_first: true }
    }
}

impl RowWriter for JsonWriter {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"[")
    }
    fn row(&mut self, row: &[Hydrated], out: &mut dyn Write) -> io::Result<()> {
        self.line.clear();
        self.line.push_str(if self.is_first { "" } else { ",\n " });
        self.is_first = false;
        write_row(&mut self.line, &self.columns, row);
        out.write_all(self.line.as_bytes())
    }
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"]\n")
    }
}

/// One object a line.
pub(crate) struct JsonlWriter {
    columns: Vec<Arc<str>>,
    line: String,
}

impl JsonlWriter {
    pub fn new(columns: &[Arc<str>]) -> JsonlWriter {
        JsonlWriter { columns: columns.to_vec(), line: String::new() }
    }
}

impl RowWriter for JsonlWriter {
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Hydrated], out: &mut dyn Write) -> io::Result<()> {
        self.line.clear();
        write_row(&mut self.line, &self.columns, row);
        self.line.push('\n');
        out.write_all(self.line.as_bytes())
    }
    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
