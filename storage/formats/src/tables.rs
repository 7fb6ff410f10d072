//! Files of columns, as `LOAD` reads them: rows with types of their own, one after another.
//!
//! The engine reads rows through these traits, and a crate that knows the format implements them: so the engine is built without the format's
//! libraries. The reader charges memory before it allocates, and the engine may refuse.

use model::Value;
use std::io;
use std::sync::Arc;

/// A file with random access, and the account of its reader.
pub trait MeteredFile: Send + Sync {
    /// Bytes that it has.
    fn size_bytes(&self) -> u64;
    /// Reads up to `buffer.len()` bytes from this place on; how many, 0 at the end.
    ///
    /// # Errors
    /// The disk refuses, or the reading must end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// So many bytes are held in all, from now on: called before they are.
    ///
    /// # Errors
    /// They are more than may be held, or the reading must end. The reader hands the error on, or one that it makes of it.
    fn hold(&self, bytes: u64) -> io::Result<()>;
}

/// A format of files of columns.
pub trait TableFormat: Send + Sync {
    /// Opens a file.
    ///
    /// # Errors
    /// The fault of the file.
    fn open(&self, file: Arc<dyn MeteredFile>) -> Result<Box<dyn TableRows>, String>;
}

/// The rows of a file.
pub trait TableRows: Send {
    /// The next row, a map by the names of the columns; none at the end.
    ///
    /// # Errors
    /// The fault of the file.
    fn next(&mut self) -> Result<Option<Value>, String>;
    /// Bytes that are held between two rows.
    fn held_bytes(&self) -> u64;
}
