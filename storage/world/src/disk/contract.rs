//! The contract of a disk: the traits that every kind of disk implements. [`super`] describes the guarantees.

use super::error::DiskResult;
use std::path::Path;

/// How [`Disk::open`] treats a file that is there, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenHow {
    /// For reading only; the file must exist.
    Read,
    /// For reading and writing; the file must exist.
    Write,
    /// For reading and writing; the file must not exist yet.
    CreateNew,
    /// For reading and writing; created empty if missing, emptied if there.
    Replace,
}

/// A tree of folders and files.
pub trait Disk: Send + Sync {
    /// Creates a folder and the missing folders above it; each new name is made durable by syncing the folder that holds it.
    fn create_dir_all(&self, path: &Path) -> DiskResult<()>;
    /// Opens a file.
    fn open(&self, path: &Path, how: OpenHow) -> DiskResult<Box<dyn DiskFile>>;
    /// The bytes of a file.
    fn read_whole(&self, path: &Path) -> DiskResult<Vec<u8>>;
    /// The names (not the paths) in a folder, sorted.
    fn list(&self, folder: &Path) -> DiskResult<Vec<String>>;
    /// Gives a file another name in one step, replacing what had that name. Durable after [`Disk::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()>;
    /// Removes a file or an empty folder. Durable after [`Disk::sync_dir`].
    fn remove(&self, path: &Path) -> DiskResult<()>;
    /// Makes creations, renames and removals inside a folder durable.
    fn sync_dir(&self, folder: &Path) -> DiskResult<()>;
    /// Whether a file or folder has this name.
    fn exists(&self, path: &Path) -> DiskResult<bool>;
    /// Whether a folder (not a file) has this name.
    fn is_dir(&self, path: &Path) -> DiskResult<bool>;
    /// Length of a file in bytes.
    fn size(&self, path: &Path) -> DiskResult<u64>;
    /// Takes an exclusive lock by creating or opening the file `path`. Held until the guard is dropped or the process
    /// ends, however it ends. [`super::DiskError::Locked`] names the process that holds it, where that is known.
    fn lock(&self, path: &Path) -> DiskResult<Box<dyn DiskLock>>;
}

/// An open file. Methods take `&self`: positions are given, never remembered, so one handle serves many readers.
pub trait DiskFile: Send + Sync {
    /// Reads up to `buffer.len()` bytes from `offset`; returns how many there were, less than asked only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> DiskResult<usize>;
    /// Writes all of `bytes` at `offset`. After an error any part of them may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> DiskResult<()>;
    /// Writes all of `bytes` at the end; returns the offset they got. After an error any part of them may have been written.
    fn append(&self, bytes: &[u8]) -> DiskResult<u64>;
    /// Makes everything written so far durable. After an error it is unknown what is durable: treat the file as lost for writing.
    fn sync(&self) -> DiskResult<()>;
    /// Cuts or extends (with zeros) the file to `length` bytes.
    fn truncate(&self, length: u64) -> DiskResult<()>;
    /// Length in bytes.
    fn len(&self) -> DiskResult<u64>;
    /// Whether the file holds no bytes.
    fn is_empty(&self) -> DiskResult<bool> {
        Ok(self.len()? == 0)
    }
}

/// An exclusive lock, released when dropped.
pub trait DiskLock: Send + Sync {}
