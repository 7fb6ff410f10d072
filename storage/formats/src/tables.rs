//! Files of columns, as `LOAD` reads them: rows with types of their own, one after another.
//!
//! The engine asks for rows by these traits, and a crate that knows the format answers: so the engine is built without the format's libraries.
//! The reader says what it holds before it holds it, and the engine says whether it may.

use model::Value;
use std::io;
use std::sync::Arc;

/// A file of which any part may be read, and the account of who reads it.
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
    /// What is wrong with it.
    fn open(&self, file: Arc<dyn MeteredFile>) -> Result<Box<dyn TableRows>, String>;
}

/// The rows of a file.
pub trait TableRows: Send {
    /// The next row, a map by the names of the columns; none at the end.
    ///
    /// # Errors
    /// What is wrong with the file.
    fn next(&mut self) -> Result<Option<Value>, String>;
    /// Bytes that are held between two rows.
    fn held_bytes(&self) -> u64;
}
