//! Small files of statements beside the database, which people may read and the parser reads back.
//!
//! A file is written whole, beside its place first, so a crash leaves the old one or the new one.

use crate::Error;
use std::path::Path;
use world::disk::{Disk, OpenHow};

/// The whole text of a file; empty where there is none.
pub(crate) fn read(disk: &dyn Disk, folder: &Path, name: &str) -> Result<String, Error> {
    let path = folder.join(name);
    if !disk.exists(&path).map_err(|error| failed(name, "read", &error))? {
        return Ok(String::new());
    }
    let bytes = disk.read_whole(&path).map_err(|error| failed(name, "read", &error))?;
    String::from_utf8(bytes).map_err(|_| damaged(name, 1, "it is no text"))
}

/// Puts a text into the place of the file.
pub(crate) fn write(disk: &dyn Disk, folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let (path, beside) = (folder.join(name), folder.join(format!("{name}.new")));
    let place = || {
        let file = disk.open(&beside, OpenHow::Replace)?;
        file.append(text.as_bytes())?;
        file.sync()?;
        disk.rename(&beside, &path)?;
        disk.sync_dir(folder)
    };
    place().map_err(|error| failed(name, "written", &error))
}

/// A line that is no such statement.
pub(crate) fn damaged(name: &str, line: usize, why: &str) -> Error {
    let code = "Tanglewood.DatabaseError.General.Damaged";
    Error::new(code, format!("line {line} of {name} is damaged: {why}"))
        .hint("mend the line, or take the file away and give its commands again")
}

fn failed(name: &str, what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new("Tanglewood.DatabaseError.General.Io", format!("{name} cannot be {what}: {error}"))
}
