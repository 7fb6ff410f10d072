//! The content of a shard: its share of the graph, in as many versions as reads may need.
//!
//! Invariant: a version is the share after a record, so a commit version is answered by the last version that is not above it. A record that cannot
//! be applied stops the shard: it answers nothing any more, since its state is not the committed one.

use super::checkpoint::{self, CheckpointError, CheckpointFolder, CheckpointStore};
use super::queries::{CHANGED, CHUNKS, COUNTS, ENTRIES, FAILED, HERE};
use super::record_log::{KeptRecord, RecordLog};
use crate::Content;
use imbl::OrdMap;
use model::ChunkNo;
use protocol::{Bytes, ShardCounts, ShardPoint};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use store::{
    Change, EntryChange, LabelFilter, Names, ShareKey, ShareNews, ShareRequest, Snapshot, StoreError,
    StoreOptions,
};
use world::clock;
use world::disk::Disk;
use world::threads::{self, Thread};

/// How long versions that no open read needs are kept: for rows of a statement that has been committed.
const GRACE: Duration = Duration::from_secs(5);
/// Versions kept for that at most; each holds the chunks that a record changed.
const GRACE_VERSIONS_MAX: usize = 1_024;
/// Changes of indexes that are kept for gates; a gate that has missed more loads the indexes anew.
const ENTRY_CHANGES_MAX: usize = 1 << 17;
/// The shard whose answers include the catalogue, which is the same on all.
const CATALOGUE_SHARD: u16 = 0;
/// Records after which a checkpoint is due, of a small share.
const CHECKPOINT_RECORDS: u64 = 10_000;
/// Bytes of records after which a checkpoint is due, of a small share.
const CHECKPOINT_BYTES: u64 = 32 << 20;
/// Commits of the whole cluster after which a checkpoint is due, however few of them touched the share: a base of the log that is cut above a
/// checkpoint makes that useless, and this is at most a quarter of the commits between two bases.
const CHECKPOINT_COMMITS: u64 = protocol::limits::BASE_COMMITS / CHECKPOINTS_PER_BASE;
/// The same of large shares and bases, both of which are written less often.
const CHECKPOINTS_PER_BASE: u64 = 4;
/// Cost of reading a record again, in bytes of a checkpoint.
const RECORD_COST_BYTES: u64 = 4 << 10;
/// Bits of a life in a key.
const LIFE_BITS: u32 = 48;

struct Version {
    commit_version: u64,
    snapshot: Snapshot,
    /// The commit version of the last record that wrote to each chunk.
    chunks: OrdMap<ChunkNo, u64>,
    /// The commit version of the last record that changed the catalogue beyond its names.
    catalogue_at: u64,
    made_ns: u64,
}

/// Entries that the indexes of a share gained and lost, by commit version.
#[derive(Default)]
struct EntryLog {
    changes: VecDeque<(u64, EntryChange)>,
    /// Changes up to this commit version are dropped.
    since: u64,
}

impl EntryLog {
    /// Takes the changes of a record. One that creates or drops an index leaves nothing that a reader of before could go on from.
    fn take(&mut self, commit_version: u64, changes: Vec<EntryChange>, is_cut: bool) {
        debug_assert!(self.changes.back().is_none_or(|(last, _)| *last < commit_version), "versions rise");
        if is_cut || changes.len() > ENTRY_CHANGES_MAX {
            self.changes.clear();
            self.since = commit_version;
            return;
        }
        self.changes.extend(changes.into_iter().map(|change| (commit_version, change)));
        while self.changes.len() > ENTRY_CHANGES_MAX
            && let Some((first, _)) = self.changes.front()
        {
            self.since = *first;
            let kept = self.changes.partition_point(|(commit_version, _)| *commit_version <= self.since);
            self.changes.drain(..kept);
        }
    }
    /// Changes after one commit version and up to another; none where some of them are dropped.
    fn between(&self, since: u64, commit_version: u64) -> Option<Vec<&EntryChange>> {
        if since < self.since {
            return None;
        }
        let from = self.changes.partition_point(|(at, _)| *at <= since);
        let changes = self.changes.iter().skip(from).take_while(|(at, _)| *at <= commit_version);
        Some(changes.map(|(_, change)| change).collect())
    }
}

/// One shard's share of the graph.
pub struct ShardGraph {
    shard: u16,
    life: u64,
    versions: VecDeque<Version>,
    entries: EntryLog,
    records: RecordLog,
    /// Counters of its machine.
    counts: ShardCounts,
    /// Where it makes checkpoints, if it does.
    keeping: Option<Keeping>,
    broken: Option<String>,
}

/// The checkpoints of a share.
struct Keeping {
    place: CheckpointFolder,
    /// Records after which one is due, of a small share.
    after: u64,
    /// How far the content was at the beginning, if that was a checkpoint.
    point: Option<ShardPoint>,
    /// Records and bytes of them since the last checkpoint.
    records: u64,
    bytes: u64,
    /// The cluster version up to which the last checkpoint has everything.
    settled: u64,
    /// Bytes of the last checkpoint.
    last_bytes: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    is_busy: Arc<AtomicBool>,
    thread: Option<Thread<()>>,
}

impl Keeping {
    fn new(place: CheckpointFolder, after: u64) -> Keeping {
        Keeping {
            place,
            after,
            point: None,
            records: 0,
            bytes: 0,
            settled: 0,
            last_bytes: Arc::default(),
            stop: Arc::default(),
            is_busy: Arc::default(),
            thread: None,
        }
    }
    /// A large checkpoint is made less often, so that writing them stays a small part of all work.
    fn is_due(&self, settled: u64) -> bool {
        let last_bytes = self.last_bytes.load(Ordering::Relaxed);
        let records_worth = last_bytes / RECORD_COST_BYTES;
        let is_much = self.records >= self.after.max(records_worth)
            || self.bytes >= CHECKPOINT_BYTES.max(last_bytes / 2)
            || settled.saturating_sub(self.settled)
                >= CHECKPOINT_COMMITS.max(records_worth / CHECKPOINTS_PER_BASE);
        is_much && !self.is_busy.load(Ordering::Acquire)
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl ShardGraph {
    /// An empty share; the records follow.
    pub fn new(shard: u16) -> ShardGraph {
        let life = clock::wall_us() & ((1 << LIFE_BITS) - 1);
        let (versions, entries) = (VecDeque::from([empty()]), EntryLog::default());
        let counts = ShardCounts::default();
        let records = RecordLog::default();
        ShardGraph { shard, life, versions, entries, records, counts, keeping: None, broken: None }
    }
    /// A share that makes checkpoints in a folder, and begins with the last; empty where there is none. One that cannot be read is reported on
    /// standard error, and ignored.
    pub fn open(shard: u16, disk: Arc<dyn Disk>, folder: &Path) -> ShardGraph {
        ShardGraph::open_with(shard, disk, folder, None)
    }
    /// As [`ShardGraph::open`], with a store that gets a copy of each checkpoint, and gives the last one where the folder has none.
    pub fn open_with(
        shard: u16,
        disk: Arc<dyn Disk>,
        folder: &Path,
        store: Option<Arc<dyn CheckpointStore>>,
    ) -> ShardGraph {
        let place = CheckpointFolder { disk, folder: folder.to_path_buf(), shard, store };
        let mut keeping = Keeping::new(place.clone(), CHECKPOINT_RECORDS);
        let mut opened = ShardGraph::new(shard);
        match checkpoint::read(&place) {
            Ok(None) => {}
            Ok(Some((snapshot, point, bytes))) => {
                let at = point.commit_version;
                let chunks =
                    snapshot.scan_chunks(&LabelFilter::Any).into_iter().map(|chunk| (chunk, at)).collect();
                let made_ns = clock::monotonic_ns();
                opened.versions =
                    [Version { commit_version: at, snapshot, chunks, catalogue_at: at, made_ns }].into();
                (opened.entries.since, opened.records.since) = (at, at);
                keeping.last_bytes.store(bytes, Ordering::Relaxed);
                keeping.settled = point.settled;
                keeping.point = Some(point);
            }
            Err(error) => eprintln!(
                "the checkpoint of shard {shard} cannot be read, so it begins with the log: {error}"
            ),
        }
        opened.keeping = Some(keeping);
        opened
    }
    /// Makes a checkpoint after as few as `records` records, while the share is small.
    pub fn kept_after(mut self, records: u64) -> ShardGraph {
        self.keeping.iter_mut().for_each(|keeping| keeping.after = records);
        self
    }
    fn execute(&mut self, commit_version: u64, part: &[u8]) -> Result<(), StoreError> {
        let changes = Change::decode_all(part)?;
        let latest = self.versions.back().ok_or(StoreError::Unsupported("a share without a version"))?;
        let (snapshot, entries) = latest.snapshot.apply_share(commit_version, &changes)?;
        let (mut chunks, mut catalogue_at) = (latest.chunks.clone(), latest.catalogue_at);
        if changes.iter().any(changes_catalogue) {
            catalogue_at = commit_version;
        }
        let is_index = |change: &Change| matches!(change, Change::CreateIndex(_) | Change::DropIndex(_));
        self.entries.take(commit_version, entries, changes.iter().any(is_index));
        let mut written: Vec<ChunkNo> = changes.iter().flat_map(Change::chunks).flatten().collect();
        written.sort_unstable();
        written.dedup();
        written.retain(|chunk| snapshot.has_chunk(*chunk));
        chunks.extend(written.iter().map(|chunk| (*chunk, commit_version)));
        self.records.take(KeptRecord { commit_version, part: part.into(), chunks: written.into() });
        let made_ns = clock::monotonic_ns();
        self.versions.push_back(Version { commit_version, snapshot, chunks, catalogue_at, made_ns });
        Ok(())
    }
    /// The version that answers as of a commit version.
    fn version(&self, commit_version: u64) -> Result<&Version, String> {
        let version = self.versions.iter().rev().find(|version| version.commit_version <= commit_version);
        version.ok_or_else(|| "the version is not kept any more".to_string())
    }
    /// The changes since a reader's last request.
    fn news(&self, commit_version: u64, request: &[u8]) -> Result<Vec<u8>, String> {
        let request = ShareRequest::decode(request).map_err(|error| error.to_string())?;
        let version = self.version(commit_version)?;
        let is_known = request.life == self.life;
        let since = if is_known { request.since } else { 0 };
        let records = self.records.between(since, version.commit_version).filter(|_| is_known);
        let (changed, records) = match records {
            Some(records) => {
                let (mut chunks, mut parts) = (BTreeMap::new(), Vec::new());
                for record in records {
                    let at = |chunk| version.chunks.get(chunk).map(|at| (*chunk, *at));
                    chunks.extend(record.chunks.iter().filter_map(at));
                    parts.push(&*record.part);
                }
                (chunks.into_iter().collect(), Some(parts))
            }
            None => {
                let changed = version.chunks.iter().filter(|(_, at)| **at > since);
                (changed.map(|(chunk, at)| (*chunk, *at)).collect::<Vec<(ChunkNo, u64)>>(), None)
            }
        };
        let has_indexes = !version.snapshot.catalog().indexes().is_empty();
        let entries = match is_known || !has_indexes {
            true => {
                self.entries.between(since, version.commit_version).or_else(|| (!has_indexes).then(Vec::new))
            }
            false => None,
        };
        Ok(version.snapshot.write_share(&ShareNews {
            life: self.life,
            names: request.names,
            chunks: &changed,
            catalogue: self.shard == CATALOGUE_SHARD && version.catalogue_at > since,
            entries,
            records: records.as_deref(),
        }))
    }
    /// A whole chunk, of any version that is still kept.
    fn chunk(&self, key: ShareKey) -> Result<Vec<u8>, String> {
        let has_it = |version: &&Version| version.chunks.get(&key.chunk) == Some(&key.version);
        let version = self.versions.iter().rev().find(has_it);
        let version = version.filter(|_| (key.shard, key.life) == (self.shard, self.life));
        let bytes = version.map(|version| version.snapshot.chunk_bytes(key.chunk)).transpose();
        let bytes = bytes.map_err(|error| error.to_string())?.flatten();
        bytes.ok_or_else(|| "this version of a chunk is not kept any more".to_string())
    }
    fn answer(&self, commit_version: u64, query: &[u8]) -> Result<Vec<u8>, String> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        match query.split_first() {
            Some((&CHANGED, request)) => self.news(commit_version, request),
            Some((&ENTRIES, request)) => {
                let page = self.version(commit_version)?.snapshot.index_page(request);
                page.map_err(|error| error.to_string())
            }
            Some((&COUNTS, _)) => Ok(super::figures::encode(&self.counts)),
            Some((&CHUNKS, keys)) => super::chunks::answer(keys, |key| self.chunk(ShareKey::of(key))),
            _ => Err("an unknown query".to_string()),
        }
    }
}

/// Does a change speak of indexes, constraints or entries of the interfaces?
fn changes_catalogue(change: &Change) -> bool {
    change.chunks() == [None, None] && !matches!(change, Change::DefineName(_))
}

fn empty() -> Version {
    let snapshot = Snapshot::empty(Arc::new(Names::new()), StoreOptions::default());
    Version {
        commit_version: 0,
        snapshot,
        chunks: OrdMap::new(),
        catalogue_at: 0,
        made_ns: clock::monotonic_ns(),
    }
}

impl Content for ShardGraph {
    fn reset(&mut self) {
        // The checkpoints go on, with what is read now.
        let keeping = self.keeping.take();
        // The thread that writes one has ended when this has.
        let folder = keeping.as_ref().map(|keeping| (keeping.place.clone(), keeping.after));
        drop(keeping);
        if let Some(Err(error)) = folder.as_ref().map(|(place, _)| checkpoint::remove(place)) {
            eprintln!("the checkpoint of shard {} cannot be removed: {error}", self.shard);
        }
        let keeping = folder.map(|(place, after)| Keeping::new(place, after));
        *self = ShardGraph { keeping, ..ShardGraph::new(self.shard) };
    }
    fn apply(&mut self, commit_version: u64, part: &[u8]) {
        if let Some(keeping) = &mut self.keeping {
            keeping.records += 1;
            keeping.bytes += part.len() as u64;
        }
        if part.is_empty() || self.broken.is_some() {
            return;
        }
        if let Err(error) = self.execute(commit_version, part) {
            let what = format!("shard {} cannot execute record {commit_version}: {error}", self.shard);
            eprintln!("{what}");
            self.broken = Some(what);
        }
    }
    fn forget(&mut self, below: u64) {
        let now_ns = clock::monotonic_ns();
        let grace_ns = clock::span_ns(GRACE);
        while self.versions.len() > 1 && self.versions[1].commit_version <= below {
            let is_young = self.versions[1].made_ns.saturating_add(grace_ns) > now_ns;
            if is_young && self.versions.len() <= GRACE_VERSIONS_MAX {
                return;
            }
            self.versions.pop_front();
        }
    }
    fn point(&self) -> Option<ShardPoint> {
        self.keeping.as_ref()?.point.clone()
    }
    fn wants_checkpoint(&self, settled: u64) -> bool {
        self.broken.is_none() && self.keeping.as_ref().is_some_and(|keeping| keeping.is_due(settled))
    }
    fn checkpoint(&mut self, point: ShardPoint) {
        let (Some(keeping), Some(latest)) = (&mut self.keeping, self.versions.back()) else { return };
        debug_assert!(
            latest.commit_version <= point.commit_version,
            "what is written has no record behind its point"
        );
        // The one before has ended.
        keeping.thread.take();
        (keeping.records, keeping.bytes, keeping.settled) = (0, 0, point.settled);
        keeping.is_busy.store(true, Ordering::Release);
        let (place, snapshot, shard) = (keeping.place.clone(), latest.snapshot.clone(), self.shard);
        let (stop, is_busy, last_bytes) =
            (keeping.stop.clone(), keeping.is_busy.clone(), keeping.last_bytes.clone());
        let thread = threads::try_spawn("shard-checkpoint", move || {
            match checkpoint::write(&place, &snapshot, &point, &stop) {
                Ok(bytes) => {
                    last_bytes.store(bytes, Ordering::Relaxed);
                    if let Err(why) = place.store() {
                        eprintln!(
                            "a checkpoint of shard {shard} cannot be copied to the store of checkpoints: {why}"
                        );
                    }
                }
                Err(CheckpointError::Stopped) => {}
                Err(error) => eprintln!("shard {shard} cannot make a checkpoint: {error}"),
            }
            is_busy.store(false, Ordering::Release);
        });
        match thread {
            Ok(thread) => keeping.thread = Some(thread),
            Err(error) => {
                keeping.is_busy.store(false, Ordering::Release);
                eprintln!("shard {shard} cannot make a checkpoint: {error}");
            }
        }
    }
    fn tell(&mut self, counts: ShardCounts) {
        self.counts = counts;
    }
    fn query(&mut self, commit_version: u64, query: &[u8]) -> Bytes {
        let (first, rest) = match self.answer(commit_version, query) {
            Ok(bytes) => (HERE, bytes),
            Err(why) => (FAILED, why.into_bytes()),
        };
        [&[first], &rest[..]].concat().into()
    }
}

#[cfg(test)]
mod tests;
