//! A disk in memory whose power can fail.
//!
//! Problem: test whether a crate that writes files keeps its promises when the machine stops between any two operations. Idea: keep the state that a
//! running program sees apart from the durable one; between the two lies the list of un-synced changes. [`SimDisk::crash`] draws by seed which of
//! those changes, and which sectors of each write, survive.
//! Invariant: synced data is always found again; of the rest any subset may be, in sectors of [`SECTOR_BYTES`], zeros in the holes.
//! After a failed sync the changes it covered are in limbo for good, as they are in Linux: a later sync does not save them.
//! Cost: memory for everything, and for each un-synced change once more.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::contract::{Disk, DiskFile, DiskLock, OpenHow};
use super::error::{DiskError, DiskResult};
use crate::chance::Chance;

mod image;

use image::{Change, FileImage, Loss, NameChange, Node};

/// The unit a disk writes at once: a write is torn between sectors, never inside one.
pub const SECTOR_BYTES: usize = 512;

/// Faults to inject. Operations that change the disk are counted from 1; see [`SimDisk::operations`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The operation with this number, and every one after it, fails: the power is gone. Call [`SimDisk::crash`] next.
    pub power_fails_at: Option<u64>,
    /// The operation with this number fails once with an I/O error; a sync that fails loses what it should have saved.
    pub error_at: Option<u64>,
    /// The operation with this number fails once because the disk is full, before it did anything; a sync too, as quotas may do.
    pub full_at: Option<u64>,
    /// All files together hold at most this many bytes; a write that needs more is cut short and reports a full disk.
    pub capacity_bytes: Option<u64>,
}

/// A disk in memory. Clones are handles on the same disk.
#[derive(Clone, Default)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Default)]
struct State {
    /// The names that a running program sees.
    names: BTreeMap<PathBuf, Node>,
    /// The names that survive a power failure for certain.
    durable_names: BTreeMap<PathBuf, Node>,
    /// The changes between the two.
    pending_names: Vec<NameChange>,
    files: Vec<FileImage>,
    locked: BTreeSet<PathBuf>,
    faults: Faults,
    operations: u64,
    power_is_gone: bool,
}

impl SimDisk {
    /// An empty disk without faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.state.lock().faults = faults;
    }

    /// How many operations that change the disk were begun so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// Takes the power away and returns the disk as it is found afterwards, drawn by `seed`. Handles of the old one only fail.
    #[must_use]
    pub fn crash(&self, seed: u64) -> Self {
        let mut state = self.state.lock();
        state.power_is_gone = true;
        let mut chance = Chance::seeded(seed);
        let mut found =
            State { files: state.files.clone(), names: state.durable_names.clone(), ..State::default() };
        let loss = Loss::draw(&mut chance);
        let count = state.pending_names.len();
        for (index, change) in state.pending_names.iter().enumerate() {
            if loss.keeps(index, count, &mut chance) {
                change.apply(&mut found.names);
            }
        }
        found.drop_orphans();
        found.durable_names = found.names.clone();
        for file in &mut found.files {
            file.lose_power(&mut chance);
        }
        Self { state: Arc::new(Mutex::new(found)) }
    }

    /// Ends the process but not the machine: nothing is lost, un-synced data stays un-synced, locks and faults are gone.
    /// Handles of the old one only fail.
    #[must_use]
    pub fn kill(&self) -> Self {
        let found = self.copy();
        self.state.lock().power_is_gone = true;
        let mut state = found.state.lock();
        (state.faults, state.power_is_gone) = (Faults::default(), false);
        drop(state);
        found
    }

    /// A copy of this disk in its present state, pending changes included, without its locks.
    #[must_use]
    pub fn copy(&self) -> Self {
        let mut state = self.state.lock().clone();
        state.locked.clear();
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Changes bits of a byte behind the back of every program, as a failing disk does: the byte is xored with `mask`.
    pub fn damage(&self, path: &Path, offset: u64, mask: u8) {
        let mut state = self.state.lock();
        let Some(Node::File(id)) = state.names.get(path).copied() else { return };
        state.files[id].damage(offset, mask);
    }

    /// All files with their present bytes, for comparing and printing.
    #[must_use]
    pub fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.state.lock();
        let files = state.names.iter().filter_map(|(path, node)| match node {
            Node::File(id) => Some((path.clone(), state.files[*id].current.clone())),
            Node::Folder => None,
        });
        files.collect()
    }
}

impl State {
    fn fail(path: &Path, operation: &'static str, message: &str) -> DiskError {
        let (kind, message) = (io::ErrorKind::Other, message.to_string());
        DiskError::Io { path: path.to_path_buf(), operation, kind, message }
    }

    /// Every reading operation passes here.
    fn reading(&self, path: &Path, operation: &'static str) -> DiskResult<()> {
        if self.power_is_gone {
            return Err(Self::fail(path, operation, "the power is gone"));
        }
        Ok(())
    }

    /// Every changing operation passes here: it is counted, and may fail.
    fn changing(&mut self, path: &Path, operation: &'static str) -> DiskResult<()> {
        self.operations += 1;
        if self.faults.power_fails_at.is_some_and(|number| self.operations >= number) {
            self.power_is_gone = true;
        }
        self.reading(path, operation)?;
        if self.faults.error_at == Some(self.operations) {
            return Err(Self::fail(path, operation, "injected error"));
        }
        if self.faults.full_at == Some(self.operations) {
            return Err(DiskError::Full { path: path.to_path_buf() });
        }
        Ok(())
    }

    fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending_names.push(change);
    }

    fn folder_exists(&self, path: &Path) -> bool {
        path.parent().is_none() || self.names.get(path) == Some(&Node::Folder)
    }

    fn file_id(&self, path: &Path) -> DiskResult<usize> {
        match self.names.get(path) {
            Some(Node::File(id)) => Ok(*id),
            Some(Node::Folder) => Err(Self::fail(path, "open", "it is a folder")),
            None => Err(DiskError::NotFound { path: path.to_path_buf() }),
        }
    }

    fn create_file(&mut self, path: &Path) -> DiskResult<usize> {
        let parent = path.parent().unwrap_or(Path::new("/"));
        if !self.folder_exists(parent) {
            return Err(DiskError::NotFound { path: parent.to_path_buf() });
        }
        let id = self.files.len();
        self.files.push(FileImage::default());
        self.change_name(NameChange::Set { path: path.to_path_buf(), node: Node::File(id) });
        Ok(id)
    }

    fn drop_orphans(&mut self) {
        // Paths sort after their folders, so one pass from the front sees each folder before what it holds.
        let mut kept: BTreeMap<PathBuf, Node> = BTreeMap::new();
        for (path, node) in std::mem::take(&mut self.names) {
            let parent = path.parent().unwrap_or(Path::new("/"));
            if parent.parent().is_none() || kept.get(parent) == Some(&Node::Folder) {
                kept.insert(path, node);
            }
        }
        self.names = kept;
    }

    fn used_bytes(&self) -> u64 {
        let lengths = self.names.values().map(|node| match node {
            Node::File(id) => self.files[*id].current.len() as u64,
            Node::Folder => 0,
        });
        lengths.sum()
    }

    /// How many of `wanted` more bytes still fit.
    fn room_bytes(&self, wanted: u64) -> u64 {
        match self.faults.capacity_bytes {
            Some(capacity) => capacity.saturating_sub(self.used_bytes()).min(wanted),
            None => wanted,
        }
    }

    fn write(&mut self, id: usize, path: &Path, bytes: &[u8], offset: u64) -> DiskResult<()> {
        self.changing(path, "write")?;
        let length = self.files[id].current.len() as u64;
        let end = if bytes.is_empty() { 0 } else { offset + bytes.len() as u64 };
        let growth = end.saturating_sub(length);
        let missing = growth - self.room_bytes(growth);
        let fitting = bytes.len() - usize::try_from(missing).unwrap_or(usize::MAX).min(bytes.len());
        self.files[id].change(Change::Write { offset, bytes: bytes[..fitting].to_vec() });
        if missing > 0 {
            return Err(DiskError::Full { path: path.to_path_buf() });
        }
        Ok(())
    }
}

impl Disk for SimDisk {
    fn create_dir_all(&self, path: &Path) -> DiskResult<()> {
        let mut state = self.state.lock();
        let mut missing: Vec<&Path> =
            path.ancestors().filter(|folder| !state.folder_exists(folder)).collect();
        missing.reverse();
        if let Some(file) = missing.iter().find(|folder| state.names.contains_key(**folder)) {
            return Err(State::fail(file, "create folder", "it is a file"));
        }
        for folder in missing {
            state.changing(folder, "create folder")?;
            state.change_name(NameChange::Set { path: folder.to_path_buf(), node: Node::Folder });
        }
        state.reading(path, "create folder")
    }

    fn open(&self, path: &Path, how: OpenHow) -> DiskResult<Box<dyn DiskFile>> {
        let mut state = self.state.lock();
        state.reading(path, "open")?;
        let there = state.names.contains_key(path);
        let id = match how {
            OpenHow::Read | OpenHow::Write => state.file_id(path)?,
            OpenHow::CreateNew if there => return Err(State::fail(path, "open", "it exists already")),
            OpenHow::Replace if there => {
                state.changing(path, "truncate")?;
                let id = state.file_id(path)?;
                state.files[id].change(Change::Truncate { length: 0 });
                id
            }
            OpenHow::CreateNew | OpenHow::Replace => {
                state.changing(path, "create")?;
                state.create_file(path)?
            }
        };
        let writable = how != OpenHow::Read;
        Ok(Box::new(SimFile { disk: self.clone(), id, path: path.to_path_buf(), writable }))
    }

    fn read_whole(&self, path: &Path) -> DiskResult<Vec<u8>> {
        let state = self.state.lock();
        state.reading(path, "read")?;
        Ok(state.files[state.file_id(path)?].current.clone())
    }

    fn list(&self, folder: &Path) -> DiskResult<Vec<String>> {
        let state = self.state.lock();
        state.reading(folder, "list")?;
        if !state.folder_exists(folder) {
            return Err(DiskError::NotFound { path: folder.to_path_buf() });
        }
        let inside = state.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()> {
        let mut state = self.state.lock();
        state.changing(from, "rename")?;
        let node = Node::File(state.file_id(from)?);
        let parent = to.parent().unwrap_or(Path::new("/"));
        if !state.folder_exists(parent) {
            return Err(DiskError::NotFound { path: parent.to_path_buf() });
        }
        if state.names.get(to) == Some(&Node::Folder) {
            return Err(State::fail(to, "rename", "it is a folder"));
        }
        state.change_name(NameChange::Move { from: from.to_path_buf(), to: to.to_path_buf(), node });
        Ok(())
    }

    fn remove(&self, path: &Path) -> DiskResult<()> {
        let mut state = self.state.lock();
        state.changing(path, "remove")?;
        if !state.names.contains_key(path) {
            return Err(DiskError::NotFound { path: path.to_path_buf() });
        }
        if state.names.keys().any(|other| other.parent() == Some(path)) {
            return Err(State::fail(path, "remove folder", "it is not empty"));
        }
        state.change_name(NameChange::Unset { path: path.to_path_buf() });
        Ok(())
    }

    fn sync_dir(&self, folder: &Path) -> DiskResult<()> {
        let mut state = self.state.lock();
        if !state.folder_exists(folder) {
            return Err(DiskError::NotFound { path: folder.to_path_buf() });
        }
        state.changing(folder, "sync folder")?;
        let (inside, elsewhere) =
            std::mem::take(&mut state.pending_names).into_iter().partition(|change| change.is_in(folder));
        state.pending_names = elsewhere;
        let inside: Vec<NameChange> = inside;
        for change in inside {
            change.apply(&mut state.durable_names);
        }
        Ok(())
    }

    fn exists(&self, path: &Path) -> DiskResult<bool> {
        let state = self.state.lock();
        state.reading(path, "look up")?;
        Ok(path.parent().is_none() || state.names.contains_key(path))
    }

    fn is_dir(&self, path: &Path) -> DiskResult<bool> {
        let state = self.state.lock();
        state.reading(path, "look up")?;
        Ok(state.folder_exists(path))
    }

    fn size(&self, path: &Path) -> DiskResult<u64> {
        let state = self.state.lock();
        state.reading(path, "look up")?;
        Ok(state.files[state.file_id(path)?].current.len() as u64)
    }

    fn lock(&self, path: &Path) -> DiskResult<Box<dyn DiskLock>> {
        if !self.exists(path)? {
            self.open(path, OpenHow::CreateNew)?;
        }
        if !self.state.lock().locked.insert(path.to_path_buf()) {
            return Err(DiskError::Locked { path: path.to_path_buf(), pid: Some(std::process::id()) });
        }
        Ok(Box::new(SimLock { disk: self.clone(), path: path.to_path_buf() }))
    }
}

struct SimLock {
    disk: SimDisk,
    path: PathBuf,
}

impl DiskLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.state.lock().locked.remove(&self.path);
    }
}

struct SimFile {
    disk: SimDisk,
    id: usize,
    path: PathBuf,
    writable: bool,
}

impl SimFile {
    fn check_writable(&self) -> DiskResult<()> {
        if self.writable {
            Ok(())
        } else {
            Err(State::fail(&self.path, "write", "it was opened for reading"))
        }
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> DiskResult<usize> {
        let state = self.disk.state.lock();
        state.reading(&self.path, "read")?;
        let bytes = &state.files[self.id].current;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let count = buffer.len().min(bytes.len() - start);
        buffer[..count].copy_from_slice(&bytes[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> DiskResult<()> {
        self.check_writable()?;
        self.disk.state.lock().write(self.id, &self.path, bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> DiskResult<u64> {
        self.check_writable()?;
        let mut state = self.disk.state.lock();
        let offset = state.files[self.id].current.len() as u64;
        state.write(self.id, &self.path, bytes, offset)?;
        Ok(offset)
    }

    fn sync(&self) -> DiskResult<()> {
        let mut state = self.disk.state.lock();
        let outcome = state.changing(&self.path, "sync");
        match &outcome {
            Ok(()) => state.files[self.id].sync(),
            // Without power the sync was never begun, and a kill in its place leaves it to the next process.
            Err(_) if state.power_is_gone => {}
            Err(_) => state.files[self.id].fail_sync(),
        }
        outcome
    }

    fn truncate(&self, length: u64) -> DiskResult<()> {
        self.check_writable()?;
        let mut state = self.disk.state.lock();
        state.changing(&self.path, "truncate")?;
        state.files[self.id].change(Change::Truncate { length });
        Ok(())
    }

    fn len(&self) -> DiskResult<u64> {
        let state = self.disk.state.lock();
        state.reading(&self.path, "look up")?;
        Ok(state.files[self.id].current.len() as u64)
    }
}
