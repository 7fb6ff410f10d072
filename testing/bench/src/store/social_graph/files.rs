//! Files of rows between bars, in the folders where the benchmark's generator puts them.

use std::fmt::Arguments;
use std::io::Write;
use std::path::{Path, PathBuf};
use world::disk::DiskError;
use world::files;

/// Entities whose files do not grow with the network.
const STATIC: [&str; 4] = ["place", "tag", "tagclass", "organisation"];

/// A file being written.
pub(super) struct Table {
    path: PathBuf,
    writer: Box<dyn Write + Send>,
    line: Vec<u8>,
    rows: u64,
    bytes: u64,
}

impl Table {
    /// Begins `folder/dynamic/name_0_0.csv`, or the same in `static`, with its header.
    pub fn create(folder: &Path, name: &str, columns: &str) -> Result<Table, DiskError> {
        let first = name.split('_').next().unwrap_or(name);
        let folder = folder.join(if STATIC.contains(&first) { "static" } else { "dynamic" });
        files::create_folder(&folder)?;
        let path = folder.join(format!("{name}_0_0.csv"));
        let writer = files::create_writer(&path)?;
        let mut table = Table { path, writer, line: Vec::new(), rows: 0, bytes: 0 };
        table.row(format_args!("{columns}"))?;
        table.rows = 0;
        Ok(table)
    }
    /// Writes a row.
    pub fn row(&mut self, fields: Arguments<'_>) -> Result<(), DiskError> {
        self.line.clear();
        self.line
            .write_fmt(fields)
            .and_then(|()| {
                self.line.push(b'\n');
                self.writer.write_all(&self.line)
            })
            .map_err(|error| self.fault(&error))?;
        self.rows += 1;
        self.bytes += self.line.len() as u64;
        Ok(())
    }
    /// Rows and bytes.
    pub fn finish(mut self) -> Result<(u64, u64), DiskError> {
        self.writer.flush().map_err(|error| self.fault(&error))?;
        Ok((self.rows, self.bytes))
    }
    fn fault(&self, error: &std::io::Error) -> DiskError {
        DiskError::from_io(error, &self.path, "write")
    }
}
