//! A disk under watch: before each read or write of bytes a function decides whether to go on.
//!
//! For long work on files that can be ended, such as a backup. Cleaning up afterwards still works: names are listed, looked up and removed without
//! the check. Cost: one call for each read and each write.

use crate::disk::{Disk, DiskError, DiskFile, DiskLock, DiskResult, OpenHow};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// May the work go on? Asked before bytes are read or written.
pub type Look = Arc<dyn Fn() -> bool + Send + Sync>;

/// A disk whose bytes are read and written only while its watch says so.
#[derive(Clone)]
pub struct WatchedDisk {
    below: Arc<dyn Disk>,
    look: Look,
}

impl WatchedDisk {
    /// The disk `below`, watched.
    #[must_use]
    pub fn new(below: Arc<dyn Disk>, look: Look) -> Self {
        Self { below, look }
    }
}

fn ask(look: &Look, path: &Path, operation: &'static str) -> DiskResult<()> {
    if look() {
        return Ok(());
    }
    let (kind, message) = (std::io::ErrorKind::Interrupted, "the work was ended".to_string());
    Err(DiskError::Io { path: path.to_path_buf(), operation, kind, message })
}

impl Disk for WatchedDisk {
    fn create_dir_all(&self, path: &Path) -> DiskResult<()> {
        self.below.create_dir_all(path)
    }
    fn open(&self, path: &Path, how: OpenHow) -> DiskResult<Box<dyn DiskFile>> {
        ask(&self.look, path, "open")?;
        let below = self.below.open(path, how)?;
        Ok(Box::new(WatchedFile { below, path: path.to_path_buf(), look: self.look.clone() }))
    }
    fn read_whole(&self, path: &Path) -> DiskResult<Vec<u8>> {
        ask(&self.look, path, "read")?;
        self.below.read_whole(path)
    }
    fn list(&self, folder: &Path) -> DiskResult<Vec<String>> {
        self.below.list(folder)
    }
    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()> {
        self.below.rename(from, to)
    }
    fn remove(&self, path: &Path) -> DiskResult<()> {
        self.below.remove(path)
    }
    fn sync_dir(&self, folder: &Path) -> DiskResult<()> {
        self.below.sync_dir(folder)
    }
    fn exists(&self, path: &Path) -> DiskResult<bool> {
        self.below.exists(path)
    }
    fn is_dir(&self, path: &Path) -> DiskResult<bool> {
        self.below.is_dir(path)
    }
    fn size(&self, path: &Path) -> DiskResult<u64> {
        self.below.size(path)
    }
    fn lock(&self, path: &Path) -> DiskResult<Box<dyn DiskLock>> {
        self.below.lock(path)
    }
}

struct WatchedFile {
    below: Box<dyn DiskFile>,
    path: PathBuf,
    look: Look,
}

impl DiskFile for WatchedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> DiskResult<usize> {
        ask(&self.look, &self.path, "read")?;
        self.below.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> DiskResult<()> {
        ask(&self.look, &self.path, "write")?;
        self.below.write_at(bytes, offset)
    }
    fn append(&self, bytes: &[u8]) -> DiskResult<u64> {
        ask(&self.look, &self.path, "write")?;
        self.below.append(bytes)
    }
    fn sync(&self) -> DiskResult<()> {
        self.below.sync()
    }
    fn truncate(&self, length: u64) -> DiskResult<()> {
        self.below.truncate(length)
    }
    fn len(&self) -> DiskResult<u64> {
        self.below.len()
    }
}
