//! Checkpoints: the state at one commit version, so that recovery need not begin at the beginning of time.
//!
//! Problem: replace a large state by the next one, when the power may fail in between.
//! Idea: pieces of state are immutable blobs, a manifest says which blobs make a checkpoint, and one small file names the manifest. New
//! blobs go to new files, so a checkpoint shares what did not change with the one before; the rename of `CURRENT` is the only
//! moment that counts.
//! Older checkpoints stay as anchors where the caller asks for it: the past is rebuilt from them and the log.
//! Invariant: at any moment of a crash the old checkpoint or the new one is whole. `CURRENT` lists every live blob file and every
//! kept manifest; what it does not list is a leftover and is removed on open, what it lists and is missing is damage.
//! Cost: per checkpoint a sync for each new file and five more, whatever the size of what stays.
//!
//! Format: `docs/formats/checkpoint.md`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use world::disk::{Disk, DiskError, DiskFile, OpenHow, replace_whole, write_synced};

pub(crate) mod blobs;
pub(crate) mod current;
mod writer;

use crate::header::{Kind, seal, unseal};
use crate::{Anchor, BlobRef, CheckpointMark, DurableError, DurableResult};
use blobs::{blob_number, blob_path, check_blob_file, read_blob_or_parts, read_end, read_part};
use current::{CURRENT_NAME, Current};
pub use writer::CheckpointWriter;

/// Longest blob that is kept whole: this is where a length stops being believable. Longer ones are kept in parts, all in one file.
pub const BLOB_BYTES_MAX: u64 = 1 << 30;

/// A blob file that would grow beyond this is closed and another begun, so that dead space can be given back in portions.
pub const BLOB_FILE_BYTES_MAX: u64 = 1 << 30;

/// Blob files held open for reading; beyond this all are closed and opened again as needed.
const OPEN_FILES_MAX: usize = 256;

/// The checkpoints of a database folder.
pub struct Checkpoints {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    data: PathBuf,
    state: Mutex<State>,
}

struct State {
    current: Current,
    /// The next file to begin; ahead of the one in `current` while a checkpoint is written.
    next_file: u32,
    /// Counts the attempts, so that a manifest whose sync failed is never written over and trusted.
    sequence: u32,
    readers: HashMap<u32, Arc<dyn DiskFile>>,
    writing: bool,
    /// Why `CURRENT` is no longer to be trusted by us, if a swap failed half-way.
    poisoned: Option<String>,
}

impl Checkpoints {
    /// Prepares a folder that has no checkpoint yet; durable on return, but for the folder's own name.
    pub fn create(disk: &dyn Disk, root: &Path) -> DurableResult<()> {
        let data = data_folder(root);
        disk.create_dir_all(&data)?;
        disk.sync_dir(&data)?;
        Ok(replace_whole(disk, root, CURRENT_NAME, &Current::empty().encode())?)
    }

    /// Opens the checkpoints of a folder and removes what an interrupted one left behind.
    pub fn open(disk: Arc<dyn Disk>, root: &Path) -> DurableResult<Self> {
        let data = data_folder(root);
        // What a killed process left in the system's cache must be durable before anything is removed on the strength of it.
        disk.sync_dir(root)?;
        disk.sync_dir(&data)?;
        let current = read_current(&*disk, root)?;
        let state = State {
            next_file: current.next_file,
            sequence: current.sequence,
            current,
            readers: HashMap::new(),
            writing: false,
            poisoned: None,
        };
        let checkpoints = Self { disk, root: root.to_path_buf(), data, state: Mutex::new(state) };
        checkpoints.latest()?;
        for leftover in checkpoints.find_leftovers()? {
            checkpoints.disk.remove(&leftover)?;
        }
        Ok(checkpoints)
    }

    /// Begins a checkpoint that stands for everything up to this commit version, which must not be before the latest one's. One at a time.
    pub fn begin(&self, commit_version: u64) -> DurableResult<CheckpointWriter<'_>> {
        let mut state = self.state.lock();
        state.check_usable()?;
        if commit_version < state.current.commit_version {
            return Err(DurableError::OutOfOrder { commit_version, last: state.current.commit_version });
        }
        if state.writing {
            return Err(DurableError::CheckpointRunning);
        }
        state.writing = true;
        Ok(CheckpointWriter::new(self, commit_version))
    }

    /// The latest checkpoint: its commit version and its manifest.
    pub fn latest(&self) -> DurableResult<Option<(u64, Vec<u8>)>> {
        let current = self.state.lock().current.clone();
        let Some(name) = current.manifest_name() else { return Ok(None) };
        let manifest = read_manifest(&*self.disk, &self.root.join(name), current.commit_version)?;
        Ok(Some((current.commit_version, manifest)))
    }

    /// The kept checkpoints by rising commit version; the last is the latest. Before the first there is the beginning of the log, with
    /// sequence 0.
    #[must_use]
    pub fn anchors(&self) -> Vec<Anchor> {
        self.state.lock().current.anchors.clone()
    }

    /// The manifest of a kept checkpoint.
    pub fn manifest_of(&self, anchor: &Anchor) -> DurableResult<Vec<u8>> {
        let path = self.root.join(current::manifest_name(anchor.commit_version, anchor.sequence));
        read_manifest(&*self.disk, &path, anchor.commit_version)
    }

    /// Gives up all anchors that are not at these commit versions; the latest checkpoint stays whatever is listed.
    pub fn keep_anchors(&self, commit_versions: &[u64]) -> DurableResult<()> {
        let mut state = self.state.lock();
        state.check_usable()?;
        let mut next = state.current.clone();
        next.anchors.retain(|anchor| {
            commit_versions.contains(&anchor.commit_version)
                || anchor.commit_version == state.current.commit_version
        });
        if next.anchors.len() == state.current.anchors.len() {
            return Ok(());
        }
        self.swap_manifests(&mut state, next)
    }

    /// How far back the past is to be kept, in numbers of the caller; 0 until it was set.
    #[must_use]
    pub fn history(&self) -> u64 {
        self.state.lock().current.history
    }

    /// Notes for good how far back the past is to be kept.
    pub fn set_history(&self, history: u64) -> DurableResult<()> {
        let mut state = self.state.lock();
        state.check_usable()?;
        let next = Current { history, ..state.current.clone() };
        self.swap_current(&mut state, next)
    }

    /// Commit version of the latest checkpoint; none before the first.
    #[must_use]
    pub fn latest_version(&self) -> Option<u64> {
        let state = self.state.lock();
        (state.current.sequence > 0).then_some(state.current.commit_version)
    }

    /// Reads a blob of a finished checkpoint whose file was not retired.
    pub fn read(&self, blob: BlobRef) -> DurableResult<Vec<u8>> {
        read_blob_or_parts(&*self.reader(blob.file)?, blob, &blob_path(&self.data, blob.file))
    }

    /// Reads a part of such a blob, without a look at its checksum.
    pub fn read_part(&self, blob: BlobRef, at: u32, length: u32) -> DurableResult<Vec<u8>> {
        read_part(&*self.reader(blob.file)?, blob, at, length, &blob_path(&self.data, blob.file))
    }

    /// Reads the last `length` bytes of such a blob, or all that it has, without a look at its checksum; nothing of one that is kept in parts.
    pub fn read_end(&self, blob: BlobRef, length: u32) -> DurableResult<Vec<u8>> {
        read_end(&*self.reader(blob.file)?, blob, length, &blob_path(&self.data, blob.file))
    }

    /// Removes every blob file that is not listed. The caller lists those which the latest manifest, and everyone still reading an
    /// older one, refers to. Files of a checkpoint that is being written stay.
    pub fn retire(&self, live_files: &[u32]) -> DurableResult<()> {
        let mut state = self.state.lock();
        state.check_usable()?;
        let mut next = state.current.clone();
        let before = next.live.len();
        next.live.retain(|number, _| live_files.contains(number));
        if next.live.len() == before {
            return Ok(());
        }
        self.swap_current(&mut state, next.clone())?;
        for name in self.disk.list(&self.data)? {
            let dead = blob_number(&name).filter(|n| *n < next.next_file && !next.live.contains_key(n));
            if let Some(number) = dead {
                state.readers.remove(&number);
                self.disk.remove(&self.data.join(name))?;
            }
        }
        Ok(())
    }

    /// Files that no checkpoint needs: what was written by one that never finished, or could not be removed.
    fn find_leftovers(&self) -> DurableResult<Vec<PathBuf>> {
        find_leftovers(&*self.disk, &self.root, &self.state.lock().current)
    }

    fn reader(&self, number: u32) -> DurableResult<Arc<dyn DiskFile>> {
        if let Some(reader) = self.state.lock().readers.get(&number) {
            return Ok(Arc::clone(reader));
        }
        let path = blob_path(&self.data, number);
        let file = match self.disk.open(&path, OpenHow::Read) {
            Ok(file) => file,
            Err(DiskError::NotFound { .. }) => {
                return Err(DurableError::corrupt(&path, 0, "the blob file is missing"));
            }
            Err(error) => return Err(error.into()),
        };
        check_blob_file(&*file, number, &path)?;
        let reader: Arc<dyn DiskFile> = Arc::from(file);
        let mut state = self.state.lock();
        if state.readers.len() >= OPEN_FILES_MAX {
            state.readers.clear();
        }
        state.readers.insert(number, Arc::clone(&reader));
        Ok(reader)
    }

    fn take_file_number(&self) -> DurableResult<u32> {
        let mut state = self.state.lock();
        let number = state.next_file;
        let Some(next) = number.checked_add(1) else {
            return Err(DurableError::TooLarge {
                length_bytes: u64::from(number),
                length_bytes_max: u64::from(number),
            });
        };
        state.next_file = next;
        Ok(number)
    }

    /// Lists files whose blobs are durable as alive.
    fn adopt(&self, written: &[(u32, u64)]) -> DurableResult<()> {
        self.disk.sync_dir(&self.data)?;
        let mut state = self.state.lock();
        state.check_usable()?;
        let mut next = Current { next_file: state.next_file, ..state.current.clone() };
        next.live.extend(written.iter().copied());
        self.swap_current(&mut state, next)
    }

    /// Makes a checkpoint whose blobs are durable the latest one.
    fn publish(
        &self,
        commit_version: u64,
        manifest: &[u8],
        written: &[(u32, u64)],
        mark: &CheckpointMark,
    ) -> DurableResult<()> {
        self.disk.sync_dir(&self.data)?;
        let mut state = self.state.lock();
        state.check_usable()?;
        state.sequence += 1;
        let mut next = state.current.after(commit_version, state.sequence, mark);
        next.next_file = state.next_file;
        next.live.extend(written.iter().copied());
        let name = next.manifest_name().expect("the sequence was just counted up");
        write_synced(&*self.disk, &self.root.join(name), &seal(Kind::Manifest, commit_version, manifest))?;
        self.disk.sync_dir(&self.root)?;
        self.swap_manifests(&mut state, next)
    }

    /// Swaps `CURRENT` and removes the manifests that it no longer lists.
    fn swap_manifests(&self, state: &mut State, next: Current) -> DurableResult<()> {
        let before = state.current.clone();
        self.swap_current(state, next)?;
        for (_, name) in before.manifests() {
            if !state.current.manifests().any(|(_, kept)| kept == name) {
                // What cannot be removed now is a leftover, and goes on the next open.
                let _ = self.disk.remove(&self.root.join(name));
            }
        }
        Ok(())
    }

    fn swap_current(&self, state: &mut State, next: Current) -> DurableResult<()> {
        let fresh = self.root.join(format!("{CURRENT_NAME}.new"));
        let swapped = match write_synced(&*self.disk, &fresh, &next.encode()) {
            // Nothing is renamed yet: the old one stands, and another try may succeed.
            Err(full @ DiskError::Full { .. }) => return Err(full.into()),
            Err(error) => Err(error.into()),
            Ok(()) => self.rename_current(&fresh),
        };
        match &swapped {
            Ok(()) => state.current = next,
            Err(error) => state.poisoned = Some(error.to_string()),
        }
        swapped
    }

    /// From the rename on the disk may say either.
    fn rename_current(&self, fresh: &Path) -> DurableResult<()> {
        let renamed = self.disk.rename(fresh, &self.root.join(CURRENT_NAME));
        let swapped = renamed.and_then(|()| self.disk.sync_dir(&self.root));
        swapped.map_err(|cause| DurableError::Unconfirmed { cause })
    }

    fn is_poisoned(&self) -> bool {
        self.state.lock().poisoned.is_some()
    }

    fn end_writing(&self) {
        self.state.lock().writing = false;
    }
}

impl State {
    fn check_usable(&self) -> DurableResult<()> {
        match &self.poisoned {
            Some(cause) => Err(DurableError::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }
}

/// The folder of blob files.
pub(crate) fn data_folder(root: &Path) -> PathBuf {
    root.join("data")
}

/// Reads `CURRENT` and checks that what it lists is there.
pub(crate) fn read_current(disk: &dyn Disk, root: &Path) -> DurableResult<Current> {
    let path = root.join(CURRENT_NAME);
    let bytes = match disk.read_whole(&path) {
        Ok(bytes) => bytes,
        Err(DiskError::NotFound { .. }) => {
            return Err(DurableError::corrupt(&path, 0, "the file is missing"));
        }
        Err(error) => return Err(error.into()),
    };
    let current = Current::decode(&bytes, &path)?;
    for &number in current.live.keys() {
        let blobs = blob_path(&data_folder(root), number);
        if !disk.exists(&blobs)? {
            return Err(DurableError::corrupt(&blobs, 0, "the blob file is missing"));
        }
    }
    Ok(current)
}

/// Reads the manifest of the checkpoint at this commit version.
pub(crate) fn read_manifest(disk: &dyn Disk, path: &Path, commit_version: u64) -> DurableResult<Vec<u8>> {
    let bytes = match disk.read_whole(path) {
        Ok(bytes) => bytes,
        Err(DiskError::NotFound { .. }) => {
            return Err(DurableError::corrupt(path, 0, "the manifest is missing"));
        }
        Err(error) => return Err(error.into()),
    };
    let (found, manifest) = unseal(Kind::Manifest, &bytes, path)?;
    if found != commit_version {
        return Err(DurableError::corrupt(path, 16, "this is the manifest of another version"));
    }
    Ok(manifest.to_vec())
}

/// Files of checkpoints that `CURRENT` does not need. Files with other names are left alone.
pub(crate) fn find_leftovers(disk: &dyn Disk, root: &Path, current: &Current) -> DurableResult<Vec<PathBuf>> {
    let manifests: Vec<String> = current.manifests().map(|(_, name)| name).collect();
    let data = data_folder(root);
    let in_root = disk
        .list(root)?
        .into_iter()
        .filter(|name| name == "CURRENT.new" || (name.starts_with("MANIFEST-") && !manifests.contains(name)));
    let in_data = disk.list(&data)?.into_iter();
    let in_data =
        in_data.filter(|name| blob_number(name).is_some_and(|number| !current.live.contains_key(&number)));
    Ok(in_root.map(|name| root.join(name)).chain(in_data.map(|name| data.join(name))).collect())
}

#[cfg(test)]
mod tests;
