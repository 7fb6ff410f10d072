//! A checkpoint of a shard's share: one file, from which the next life of the shard begins instead of with the whole log.
//!
//! ```text
//!   point · share (names, heads of chunks, catalogue) · numbers of chunks · each chunk · pages of indexes · end       each: length, checksum, bytes
//! ```
//!
//! Idea: the answers to a gate's requests are a complete share, so the file holds these answers. Indexes are read at once, a chunk on first touch,
//! from the file, which stays open when it is replaced. Invariant: a file is complete, or it is not there under its name. One that cannot be read is
//! ignored: the log has everything.

use model::ChunkNo;
use protocol::ShardPoint;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{
    BlobKey, ChunkSource, LabelFilter, Names, Share, ShareKey, ShareNews, Snapshot, Store, StoreError,
    StoreOptions,
};
use world::disk::{Disk, DiskError, DiskFile, OpenHow};

/// Of files whose chunks may end in a directory.
const MAGIC: &[u8; 8] = b"TWSHARD3";
const MAGIC_BEFORE: &[u8; 8] = b"TWSHARD2";
const NAME: &str = "checkpoint";
/// The name under which it is written first.
const NEW_NAME: &str = "checkpoint.new";
const END: &[u8] = b"end";
/// Bytes of the head of a section: its length and its checksum.
const HEAD_BYTES: usize = 12;
/// A section with a greater length is damaged.
const SECTION_BYTES_MAX: u64 = 1 << 32;
/// The number of the shard in answers that need one.
const ONLY_SHARD: u16 = 0;
/// The life in keys of chunks that lie in the file.
const FILE_LIFE: u64 = 0;

/// A store of checkpoints that outlives a machine: a shared folder, or an object store.
pub trait CheckpointStore: Send + Sync {
    /// Stores a file under a name, in place of the one before.
    ///
    /// # Errors
    /// Why it is not stored.
    fn put(&self, name: &str, file: &Path) -> Result<(), String>;
    /// Writes the file of a name into a new file; false where there is none.
    ///
    /// # Errors
    /// Why it cannot be read or written.
    fn get(&self, name: &str, file: &Path) -> Result<bool, String>;
}

/// Where a shard keeps its checkpoint.
#[derive(Clone)]
pub(super) struct CheckpointFolder {
    pub disk: Arc<dyn Disk>,
    pub folder: PathBuf,
    pub shard: u16,
    /// Copies of the checkpoint go there, and the shard begins with such a copy where the folder has none.
    pub store: Option<Arc<dyn CheckpointStore>>,
}

impl CheckpointFolder {
    fn name(&self) -> String {
        format!("shard-{}/{NAME}", self.shard)
    }
    /// Copies the last checkpoint into the store, if there is one.
    pub(super) fn store(&self) -> Result<(), String> {
        let path = self.folder.join(NAME);
        self.store.as_ref().map_or(Ok(()), |store| store.put(&self.name(), &path))
    }
    /// Fetches the checkpoint from the store, if the folder has none.
    fn restore(&self) -> Result<(), CheckpointError> {
        let path = self.folder.join(NAME);
        let Some(store) = &self.store else { return Ok(()) };
        if self.disk.exists(&path)? {
            return Ok(());
        }
        self.disk.create_dir_all(&self.folder)?;
        let new = self.folder.join(NEW_NAME);
        if store.get(&self.name(), &new).map_err(CheckpointError::Fetch)? {
            self.disk.rename(&new, &path)?;
            self.disk.sync_dir(&self.folder)?;
        }
        Ok(())
    }
}

/// Why there is no checkpoint.
#[derive(Debug)]
pub(super) enum CheckpointError {
    Disk(DiskError),
    Store(StoreError),
    Damaged(&'static str),
    /// The store of checkpoints has none to give.
    Fetch(String),
    /// The shard ends.
    Stopped,
}

impl std::fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CheckpointError::Disk(error) => write!(f, "{error}"),
            CheckpointError::Store(error) => write!(f, "{error}"),
            CheckpointError::Damaged(what) => write!(f, "{what}"),
            CheckpointError::Fetch(why) => write!(f, "it cannot be fetched: {why}"),
            CheckpointError::Stopped => write!(f, "the shard ends"),
        }
    }
}

impl From<DiskError> for CheckpointError {
    fn from(error: DiskError) -> CheckpointError {
        CheckpointError::Disk(error)
    }
}

impl From<StoreError> for CheckpointError {
    fn from(error: StoreError) -> CheckpointError {
        CheckpointError::Store(error)
    }
}

/// Writes the checkpoint of a share as of a point, in place of the one before; returns its bytes.
pub(super) fn write(
    place: &CheckpointFolder,
    share: &Snapshot,
    point: &ShardPoint,
    stop: &AtomicBool,
) -> Result<u64, CheckpointError> {
    place.disk.create_dir_all(&place.folder)?;
    let new = place.folder.join(NEW_NAME);
    let file = place.disk.open(&new, OpenHow::Replace)?;
    file.append(MAGIC)?;
    let section = |bytes: &[u8]| -> Result<(), CheckpointError> {
        if stop.load(Ordering::Relaxed) {
            return Err(CheckpointError::Stopped);
        }
        let head = [&(bytes.len() as u64).to_le_bytes()[..], &crc32fast::hash(bytes).to_le_bytes()].concat();
        file.append(&head)?;
        file.append(bytes)?;
        Ok(())
    };
    let ShardPoint { commit_version: at, settled, epoch, taken } = point;
    let words = [u64::from(place.shard), *at, *settled, *epoch].into_iter().chain(taken.iter().copied());
    section(&words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())?;
    let chunks: Vec<(ChunkNo, u64)> =
        share.scan_chunks(&LabelFilter::Any).into_iter().map(|chunk| (chunk, *at)).collect();
    let names = Names::new().table().counts();
    let news =
        ShareNews { life: FILE_LIFE, names, chunks: &chunks, catalogue: true, entries: None, records: None };
    section(&share.write_share(&news))?;
    section(&chunks.iter().flat_map(|(chunk, _)| chunk.to_le_bytes()).collect::<Vec<u8>>())?;
    for (chunk, _) in &chunks {
        let bytes = share.chunk_bytes(*chunk)?.ok_or(CheckpointError::Damaged("a chunk is missing"))?;
        section(&bytes)?;
    }
    // Asked as a reader will ask, who gets the same answers in the same order.
    let mut failed = None;
    let loaded = share.with_loaded_indexes(1, |_, request| {
        let page = share.index_page(&request)?;
        if let Err(error) = section(&page) {
            failed = Some(error);
            return Err(StoreError::Unsupported("an index of a checkpoint that is not written"));
        }
        Ok(page)
    });
    failed.map_or(Ok(()), Err)?;
    loaded?;
    section(END)?;
    file.sync()?;
    let bytes = file.len()?;
    place.disk.rename(&new, &place.folder.join(NAME))?;
    place.disk.sync_dir(&place.folder)?;
    Ok(bytes)
}

/// Removes the checkpoint: its content is not the cluster's.
pub(super) fn remove(place: &CheckpointFolder) -> Result<(), CheckpointError> {
    let path = place.folder.join(NAME);
    if place.disk.exists(&path)? {
        place.disk.remove(&path)?;
        place.disk.sync_dir(&place.folder)?;
    }
    Ok(())
}

/// A file that is read section by section.
struct Sections {
    file: Arc<dyn DiskFile>,
    at: u64,
}

impl Sections {
    /// Where the next section's bytes are, and its checksum; the one behind it comes next.
    fn head(&mut self) -> Result<Section, CheckpointError> {
        let mut head = [0; HEAD_BYTES];
        if self.file.read_at(&mut head, self.at)? != HEAD_BYTES {
            return Err(CheckpointError::Damaged("it is cut off"));
        }
        let number = |from: usize, to: usize| {
            head[from..to].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
        };
        let (length, crc) = (number(0, 8), number(8, 12) as u32);
        if length > SECTION_BYTES_MAX {
            return Err(CheckpointError::Damaged("a section is too long"));
        }
        let section = Section { at: self.at + HEAD_BYTES as u64, length, crc };
        self.at = section.at + length;
        Ok(section)
    }
    fn next(&mut self) -> Result<Vec<u8>, CheckpointError> {
        let section = self.head()?;
        section.read(&*self.file)
    }
}

#[derive(Clone, Copy)]
struct Section {
    at: u64,
    length: u64,
    crc: u32,
}

impl Section {
    fn read(self, file: &dyn DiskFile) -> Result<Vec<u8>, CheckpointError> {
        if self.at + self.length > file.len()? {
            return Err(CheckpointError::Damaged("it is cut off"));
        }
        let mut bytes = vec![0; self.length as usize];
        let read = file.read_at(&mut bytes, self.at)?;
        match read == bytes.len() && crc32fast::hash(&bytes) == self.crc {
            true => Ok(bytes),
            false => Err(CheckpointError::Damaged("a checksum is wrong")),
        }
    }
}

/// Chunks that lie in a checkpoint.
struct FileChunks {
    file: Arc<dyn DiskFile>,
    chunks: BTreeMap<ChunkNo, Section>,
}

impl ChunkSource for FileChunks {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        let failed = |what: String| StoreError::Source(format!("checkpoint of a shard: {what}").into());
        let section = self.chunks.get(&ShareKey::of(key).chunk);
        let section = section.ok_or_else(|| failed("it has no such chunk".to_string()))?;
        section.read(&*self.file).map_err(|error| failed(error.to_string()))
    }
}

/// The share and its point, of the last checkpoint; none where there is none.
pub(super) fn read(place: &CheckpointFolder) -> Result<Option<(Snapshot, ShardPoint, u64)>, CheckpointError> {
    place.restore()?;
    let path = place.folder.join(NAME);
    if !place.disk.exists(&path)? {
        return Ok(None);
    }
    let file: Arc<dyn DiskFile> = Arc::from(place.disk.open(&path, OpenHow::Read)?);
    let mut magic = [0; MAGIC.len()];
    if file.read_at(&mut magic, 0)? != magic.len() || ![MAGIC, MAGIC_BEFORE].contains(&&magic) {
        return Err(CheckpointError::Damaged("it does not begin as one does"));
    }
    let mut sections = Sections { file: file.clone(), at: MAGIC.len() as u64 };
    let point = sections.next()?;
    let words: Vec<u64> = point.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let [shard, at, settled, epoch, ref taken @ ..] = words[..] else {
        return Err(CheckpointError::Damaged("its point is too short"));
    };
    if shard != u64::from(place.shard) || taken.len() > order::GATEKEEPERS_MAX {
        return Err(CheckpointError::Damaged("it is of another shard"));
    }
    let point = ShardPoint { commit_version: at, settled, epoch, taken: taken.to_vec() };
    let (share, numbers) = (sections.next()?, sections.next()?);
    let mut chunks = BTreeMap::new();
    for number in numbers.as_chunks::<4>().0 {
        // Whether it is whole is known before anything is built upon it.
        let section = sections.head()?;
        section.read(&*file)?;
        chunks.insert(ChunkNo::from_le_bytes(*number), section);
    }
    let empty = Snapshot::empty(Arc::new(Names::new()), StoreOptions::default());
    let store = Store::from_snapshot(empty);
    store.attach(Arc::new(FileChunks { file: file.clone(), chunks }));
    let shares = [Share { shard: ONLY_SHARD, bytes: &share }];
    let joined = store.current().with_shares(&shares, at)?;
    let mut failed = None;
    let loaded = joined.snapshot.with_loaded_indexes(1, |_, _| {
        sections.next().map_err(|error| {
            failed = Some(error);
            StoreError::Unsupported("an index of a checkpoint that is not read")
        })
    });
    failed.map_or(Ok(()), Err)?;
    let share = loaded?;
    if sections.next()? != END {
        return Err(CheckpointError::Damaged("it has no end"));
    }
    Ok(Some((share, point, file.len()?)))
}
