//! Disk: the files of a database, real or simulated.
//!
//! Question: how does a room above write bytes that survive power loss, and how does a test take the power away?
//! Idea: two small object-safe traits, [`Disk`] (names) and [`DiskFile`] (bytes). [`RealDisk`] hands them to the operating
//! system; [`SimDisk`] keeps them in memory, remembers what was synced, and can be crashed at any step.
//! Invariant: the contract is the weakest that real disks keep. Bytes are safe after [`DiskFile::sync`]; names (create, rename,
//! remove) are safe after [`Disk::sync_dir`] of their folder; nothing else is, and un-synced writes reach the disk in any order.
//! Cost: one virtual call per operation, which is nothing beside the system call.

mod error;
mod overlay;
mod real;
mod sim;

use std::path::Path;

pub use error::{DiskError, DiskResult};
pub use overlay::OverlayDisk;
pub(crate) use real::FOLDER_MODE;
pub use real::RealDisk;
pub use sim::{Faults, SimDisk};

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
    /// ends, however it ends. [`DiskError::Locked`] names the process that holds it, where that is known.
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
    /// Makes everything written so far durable. After an error nobody knows what is: treat the file as lost for writing.
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

/// Writes a file of this name in a folder, in place of the one that is there. Durable on return; after a crash the old or the new
/// one is there, whole. The bytes are written under the name with `.new` behind it first.
///
/// # Errors
/// As the disk says. A full disk leaves the old file as it was; after another error either may be there.
pub fn replace_whole(disk: &dyn Disk, folder: &Path, name: &str, bytes: &[u8]) -> DiskResult<()> {
    let fresh = folder.join(format!("{name}.new"));
    write_synced(disk, &fresh, bytes)?;
    disk.rename(&fresh, &folder.join(name))?;
    disk.sync_dir(folder)
}

/// Writes a file whole and makes its bytes durable. Its name is durable after its folder is synced.
///
/// # Errors
/// As the disk says; then the file may hold any part of the bytes.
pub fn write_synced(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> DiskResult<()> {
    let file = disk.open(path, OpenHow::Replace)?;
    file.write_at(bytes, 0)?;
    file.sync()
}

#[cfg(test)]
mod tests;
