//! Files that are not the database's: what importers read, exporters write, and tests throw away.
//!
//! Nothing here is durable against power loss; a database's own files go through [`crate::disk`].

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::chance::Chance;
use crate::disk::{DiskError, DiskResult};

/// Bytes read or written at once: large enough that system calls vanish beside parsing, small enough for a second-level cache.
pub const BUFFER_BYTES: usize = 256 * 1024;

fn named<T>(result: io::Result<T>, path: &Path, operation: &'static str) -> DiskResult<T> {
    result.map_err(|error| DiskError::from_io(&error, path, operation))
}

/// A file for buffered reading; `-` is standard input.
pub fn open_reader(path: &Path) -> DiskResult<Box<dyn io::BufRead + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, stdin())));
    }
    let file = named(File::open(path), path, "open")?;
    if named(file.metadata(), path, "look up")?.is_dir() {
        return Err(DiskError::from_io(&io::Error::from(io::ErrorKind::IsADirectory), path, "read"));
    }
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, file)))
}

/// A new or emptied file for buffered writing; `-` is standard output. Flush it, or the last error is lost.
pub fn create_writer(path: &Path) -> DiskResult<Box<dyn Write + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::with_capacity(BUFFER_BYTES, io::stdout())));
    }
    let file = named(File::create(path), path, "create")?;
    Ok(Box::new(BufWriter::with_capacity(BUFFER_BYTES, file)))
}

/// Standard input.
#[must_use]
pub fn stdin() -> Box<dyn Read + Send> {
    Box::new(io::stdin())
}

/// Standard output.
#[must_use]
pub fn stdout() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// The bytes of a file.
pub fn read_bytes(path: &Path) -> DiskResult<Vec<u8>> {
    named(fs::read(path), path, "read")
}

/// The text of a file, which must be UTF-8.
pub fn read_text(path: &Path) -> DiskResult<String> {
    named(fs::read_to_string(path), path, "read")
}

/// Writes a file, replacing what was there.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> DiskResult<()> {
    named(fs::write(path, bytes), path, "write")
}

/// Removes a file.
pub fn remove_file(path: &Path) -> DiskResult<()> {
    named(fs::remove_file(path), path, "remove")
}

/// Creates a folder and the missing ones above it.
pub fn create_folder(path: &Path) -> DiskResult<()> {
    named(fs::create_dir_all(path), path, "create folder")
}

/// What lies in a folder, as full paths, sorted.
pub fn list_folder(path: &Path) -> DiskResult<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in named(fs::read_dir(path), path, "list")? {
        paths.push(named(entry, path, "list")?.path());
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Whether the path names a folder.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// Whether the path names a file or folder.
#[must_use]
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// Length of a file in bytes.
pub fn size_bytes(path: &Path) -> DiskResult<u64> {
    Ok(named(fs::metadata(path), path, "look up")?.len())
}

/// A fresh folder under the system's place for temporary files; removed with all it holds when dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    /// Creates one; `purpose` becomes part of its name.
    pub fn new(purpose: &str) -> DiskResult<Self> {
        Self::inside(&std::env::temp_dir(), purpose)
    }

    /// Creates one inside a folder of the caller's choice, on the disk that is to be measured for instance.
    pub fn inside(folder: &Path, purpose: &str) -> DiskResult<Self> {
        let number = Chance::from_system().next_u64();
        let path = folder.join(format!("tanglewood-{purpose}-{number:016x}"));
        named(fs::create_dir_all(&path), &path, "create folder")?;
        Ok(Self { path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nothing depends on it being gone, and a destructor has nobody to tell.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_temporary_folder_holds_files_and_goes_away() {
        let folder = TemporaryFolder::new("files-test").unwrap();
        let (path, kept) = (folder.path().join("a.csv"), folder.path().to_path_buf());
        let mut writer = create_writer(&path).unwrap();
        writer.write_all(b"id\n1\n").unwrap();
        writer.flush().unwrap();
        let mut text = String::new();
        open_reader(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), size_bytes(&path).unwrap()), ("id\n1\n", 5));
        assert_eq!(list_folder(folder.path()).unwrap(), std::slice::from_ref(&path));
        drop(folder);
        assert!(!exists(&kept));
        assert_eq!(read_text(&path), Err(DiskError::NotFound { path }));
    }

    #[test]
    fn a_folder_is_not_a_file() {
        let folder = TemporaryFolder::new("files-test").unwrap();
        assert!(open_reader(folder.path()).is_err());
    }
}
