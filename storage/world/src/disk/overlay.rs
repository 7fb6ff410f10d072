//! A disk over another: it reads the files there, and keeps every change to itself.
//!
//! Problem: find out what a program would do to files, without doing it. Idea: names and files that are changed move into memory, all others are read
//! from below; when the overlay goes, so do the changes. So a check can open a database by the very code that opens it, which cuts tails and removes
//! leftovers, and leave no trace.
//! Invariant: nothing below is written, created, renamed, removed or locked. Cost: memory for each file that is opened for writing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::contract::{Disk, DiskFile, DiskLock, OpenHow};
use super::error::{DiskError, DiskResult};

/// A disk over another; clones are handles on the same changes.
#[derive(Clone)]
pub struct OverlayDisk {
    below: Arc<dyn Disk>,
    changes: Arc<Mutex<OverlayChanges>>,
}

#[derive(Default)]
struct OverlayChanges {
    nodes: BTreeMap<PathBuf, Node>,
    locked: BTreeSet<PathBuf>,
}

/// The replacement of a name below.
#[derive(Clone)]
enum Node {
    File(Arc<Mutex<Vec<u8>>>),
    Folder,
    Gone,
}

impl OverlayDisk {
    /// An overlay without changes.
    #[must_use]
    pub fn new(below: Arc<dyn Disk>) -> Self {
        Self { below, changes: Arc::default() }
    }

    fn node(&self, path: &Path) -> Option<Node> {
        self.changes.lock().nodes.get(path).cloned()
    }

    fn set(&self, path: &Path, node: Node) {
        self.changes.lock().nodes.insert(path.to_path_buf(), node);
    }

    /// The bytes of a file, moved into memory.
    fn own(&self, path: &Path) -> DiskResult<Arc<Mutex<Vec<u8>>>> {
        match self.node(path) {
            Some(Node::File(bytes)) => Ok(bytes),
            Some(Node::Folder) => Err(refused(path, "open", "it is a folder")),
            Some(Node::Gone) => Err(DiskError::NotFound { path: path.to_path_buf() }),
            None => {
                let bytes = Arc::new(Mutex::new(self.below.read_whole(path)?));
                self.set(path, Node::File(bytes.clone()));
                Ok(bytes)
            }
        }
    }

    /// A name needs its folder.
    fn demand_folder_of(&self, path: &Path) -> DiskResult<()> {
        match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) if !self.is_dir(parent)? => Err(DiskError::NotFound { path: parent.to_path_buf() }),
            _ => Ok(()),
        }
    }

    fn create(&self, path: &Path) -> DiskResult<Arc<Mutex<Vec<u8>>>> {
        self.demand_folder_of(path)?;
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        self.set(path, Node::File(bytes.clone()));
        Ok(bytes)
    }
}

fn refused(path: &Path, operation: &'static str, message: &str) -> DiskError {
    let (kind, message) = (std::io::ErrorKind::Other, message.to_string());
    DiskError::Io { path: path.to_path_buf(), operation, kind, message }
}

impl Disk for OverlayDisk {
    fn create_dir_all(&self, path: &Path) -> DiskResult<()> {
        let mut missing = Vec::new();
        for folder in path.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
            if !self.is_dir(folder)? {
                missing.push(folder);
            }
        }
        for folder in &missing {
            if self.exists(folder)? {
                return Err(refused(folder, "create folder", "it is a file"));
            }
        }
        missing.into_iter().for_each(|folder| self.set(folder, Node::Folder));
        Ok(())
    }

    fn open(&self, path: &Path, how: OpenHow) -> DiskResult<Box<dyn DiskFile>> {
        let there = self.exists(path)?;
        let bytes = match how {
            OpenHow::Read => match self.node(path) {
                None => return self.below.open(path, OpenHow::Read),
                Some(_) => self.own(path)?,
            },
            OpenHow::Write => self.own(path)?,
            OpenHow::CreateNew if there => return Err(refused(path, "open", "it exists already")),
            OpenHow::Replace if self.is_dir(path)? => return Err(refused(path, "open", "it is a folder")),
            OpenHow::CreateNew | OpenHow::Replace => self.create(path)?,
        };
        Ok(Box::new(OverlayFile { bytes, path: path.to_path_buf(), writable: how != OpenHow::Read }))
    }

    fn read_whole(&self, path: &Path) -> DiskResult<Vec<u8>> {
        match self.node(path) {
            None => self.below.read_whole(path),
            Some(_) => Ok(self.own(path)?.lock().clone()),
        }
    }

    fn list(&self, folder: &Path) -> DiskResult<Vec<String>> {
        let mut names: BTreeSet<String> = match self.node(folder) {
            Some(Node::Folder) => BTreeSet::new(),
            Some(_) => return Err(DiskError::NotFound { path: folder.to_path_buf() }),
            None => self.below.list(folder)?.into_iter().collect(),
        };
        for (path, node) in self.changes.lock().nodes.iter().filter(|(path, _)| path.parent() == Some(folder))
        {
            let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
                continue;
            };
            match node {
                Node::Gone => names.remove(&name),
                _ => names.insert(name),
            };
        }
        Ok(names.into_iter().collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()> {
        let bytes = self.own(from)?;
        self.demand_folder_of(to)?;
        if self.is_dir(to)? {
            return Err(refused(to, "rename", "it is a folder"));
        }
        // In this order, since both may be the same.
        self.set(from, Node::Gone);
        self.set(to, Node::File(bytes));
        Ok(())
    }

    fn remove(&self, path: &Path) -> DiskResult<()> {
        if !self.exists(path)? {
            return Err(DiskError::NotFound { path: path.to_path_buf() });
        }
        if self.is_dir(path)? && !self.list(path)?.is_empty() {
            return Err(refused(path, "remove folder", "it is not empty"));
        }
        self.set(path, Node::Gone);
        Ok(())
    }

    fn sync_dir(&self, folder: &Path) -> DiskResult<()> {
        match self.is_dir(folder)? {
            true => Ok(()),
            false => Err(DiskError::NotFound { path: folder.to_path_buf() }),
        }
    }

    fn exists(&self, path: &Path) -> DiskResult<bool> {
        match self.node(path) {
            None => self.below.exists(path),
            Some(node) => Ok(!matches!(node, Node::Gone)),
        }
    }

    fn is_dir(&self, path: &Path) -> DiskResult<bool> {
        match self.node(path) {
            None => self.below.is_dir(path),
            Some(node) => Ok(matches!(node, Node::Folder)),
        }
    }

    fn size(&self, path: &Path) -> DiskResult<u64> {
        match self.node(path) {
            None => self.below.size(path),
            Some(_) => Ok(self.own(path)?.lock().len() as u64),
        }
    }

    fn lock(&self, path: &Path) -> DiskResult<Box<dyn DiskLock>> {
        if !self.exists(path)? {
            self.create(path)?;
        }
        if !self.changes.lock().locked.insert(path.to_path_buf()) {
            return Err(DiskError::Locked { path: path.to_path_buf(), pid: Some(std::process::id()) });
        }
        Ok(Box::new(OverlayLock { disk: self.clone(), path: path.to_path_buf() }))
    }
}

struct OverlayLock {
    disk: OverlayDisk,
    path: PathBuf,
}

impl DiskLock for OverlayLock {}

impl Drop for OverlayLock {
    fn drop(&mut self) {
        self.disk.changes.lock().locked.remove(&self.path);
    }
}

struct OverlayFile {
    bytes: Arc<Mutex<Vec<u8>>>,
    path: PathBuf,
    writable: bool,
}

impl OverlayFile {
    fn demand_writable(&self) -> DiskResult<()> {
        if self.writable { Ok(()) } else { Err(refused(&self.path, "write", "it was opened for reading")) }
    }
}

impl DiskFile for OverlayFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> DiskResult<usize> {
        let bytes = self.bytes.lock();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let count = buffer.len().min(bytes.len() - start);
        buffer[..count].copy_from_slice(&bytes[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, new: &[u8], offset: u64) -> DiskResult<()> {
        self.demand_writable()?;
        let full = || DiskError::Full { path: self.path.clone() };
        let start = usize::try_from(offset).map_err(|_| full())?;
        let end = start.checked_add(new.len()).ok_or_else(full)?;
        let mut bytes = self.bytes.lock();
        if bytes.len() < end && !new.is_empty() {
            bytes.resize(end, 0);
        }
        if let Some(place) = bytes.get_mut(start..end) {
            place.copy_from_slice(new);
        }
        Ok(())
    }

    fn append(&self, new: &[u8]) -> DiskResult<u64> {
        self.demand_writable()?;
        let mut bytes = self.bytes.lock();
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(new);
        Ok(offset)
    }

    fn sync(&self) -> DiskResult<()> {
        Ok(())
    }

    fn truncate(&self, length: u64) -> DiskResult<()> {
        self.demand_writable()?;
        let length = usize::try_from(length).map_err(|_| DiskError::Full { path: self.path.clone() })?;
        self.bytes.lock().resize(length, 0);
        Ok(())
    }

    fn len(&self) -> DiskResult<u64> {
        Ok(self.bytes.lock().len() as u64)
    }
}
