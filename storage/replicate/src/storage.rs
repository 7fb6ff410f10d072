//! The log on disk, as the replication library wants to read it.
//!
//! ```text
//!   folder/
//!     log/…                          records in order: an entry, or the vote and commit index
//!     snapshot-00000000000000000042  the state after entry 42, the members then, and the record from which the log is needed
//! ```
//!
//! Idea: the log is only ever appended to. An entry takes the place of an earlier one with its index and of all behind it, so replacing a tail
//! that a new leader does not have is an append too.
//! Invariant: entries in memory follow each other without a gap behind `start`; the latest snapshot is at or behind `start`.
//! Cost: entries behind `start` are in memory once and on disk once; a snapshot is written whole.

use crate::ReplicateError;
use durable::{Log, LogOptions};
use protobuf::Message as _;
use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{GetEntriesContext, RaftState, StorageError};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use world::disk::Disk;

mod snapshot_file;

pub(crate) use snapshot_file::SnapshotFile;

const TAG_ENTRY: u8 = 1;
const TAG_HARD_STATE: u8 = 2;

/// Entries, vote and snapshot of one replica.
pub(crate) struct Storage {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    log: Log,
    /// Each with the number of its record.
    entries: VecDeque<(u64, Entry)>,
    /// Index and term of the entry before the first one kept.
    start: (u64, u64),
    hard_state: HardState,
    snapshot: SnapshotFile,
    /// Entries that the log holds on disk since the last snapshot, in bytes.
    since_snapshot: u64,
    wants_snapshot: std::cell::Cell<bool>,
}

impl Storage {
    /// Is there a replica in the folder?
    pub(crate) fn exists(disk: &dyn Disk, dir: &Path) -> Result<bool, ReplicateError> {
        Ok(disk.is_dir(dir)? && SnapshotFile::latest(disk, dir)?.is_some())
    }

    /// A new replica that begins with a snapshot.
    pub(crate) fn create(
        disk: Arc<dyn Disk>,
        dir: &Path,
        first: &Snapshot,
        segment_bytes: u64,
    ) -> Result<(), ReplicateError> {
        disk.create_dir_all(dir)?;
        let options = LogOptions { segment_bytes_max: segment_bytes };
        if !disk.is_dir(&dir.join("log"))? {
            Log::create(&*disk, &dir.join("log"))?;
        }
        let (mut log, _) = Log::open(disk.clone(), &dir.join("log"), options, 1)?;
        let metadata = first.get_metadata();
        let vote = HardState { term: metadata.term, commit: metadata.index, ..HardState::default() };
        // The snapshot comes last: with it the replica exists.
        let record_number = log.last_version() + 1;
        log.append(&[(record_number, &record(TAG_HARD_STATE, &vote)?)])?;
        log.sync()?;
        SnapshotFile::write(&*disk, dir, record_number, first)?;
        // The folder's own name must last too.
        Ok(dir.parent().map_or(Ok(()), |parent| disk.sync_dir(parent))?)
    }

    /// Reads what is there.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        segment_bytes: u64,
    ) -> Result<Storage, ReplicateError> {
        let snapshot = SnapshotFile::latest(&*disk, dir)?
            .ok_or_else(|| ReplicateError::Damaged(format!("no snapshot in {}", dir.display())))?;
        SnapshotFile::remove_others(&*disk, dir, snapshot.index)?;
        let options = LogOptions { segment_bytes_max: segment_bytes };
        let (log, records) = Log::open(disk.clone(), &dir.join("log"), options, snapshot.from_record)?;
        let mut storage = Storage {
            disk,
            dir: dir.to_path_buf(),
            log,
            entries: VecDeque::new(),
            start: (0, 0),
            hard_state: HardState::default(),
            snapshot,
            since_snapshot: 0,
            wants_snapshot: std::cell::Cell::new(false),
        };
        for found in records {
            let found = found?;
            storage.read_record(found.commit_version, &found.payload)?;
        }
        storage.join_snapshot();
        Ok(storage)
    }

    fn read_record(&mut self, record_number: u64, payload: &[u8]) -> Result<(), ReplicateError> {
        let damaged = || ReplicateError::Damaged(format!("record {record_number} of the log"));
        let (tag, bytes) = payload.split_first().ok_or_else(damaged)?;
        match *tag {
            TAG_ENTRY => self.put(record_number, Entry::parse_from_bytes(bytes)?),
            TAG_HARD_STATE => self.hard_state = HardState::parse_from_bytes(bytes)?,
            _ => return Err(damaged()),
        }
        Ok(())
    }

    /// Puts an entry in its position; later entries, and the one there, are dropped.
    fn put(&mut self, record_number: u64, entry: Entry) {
        while self.entries.back().is_some_and(|(_, last)| last.index >= entry.index) {
            let (_, gone) = self.entries.pop_back().expect("it was just seen");
            self.since_snapshot = self.since_snapshot.saturating_sub(gone.data.len() as u64);
        }
        // A gap means that what came before is behind a snapshot that was installed since.
        if self.entries.back().is_some_and(|(_, last)| last.index + 1 != entry.index) {
            self.entries.clear();
        }
        self.since_snapshot += entry.data.len() as u64;
        self.entries.push_back((record_number, entry));
    }

    /// After all records are read: entries that do not belong to the snapshot's history go.
    fn join_snapshot(&mut self) {
        let (index, term) = (self.snapshot.index, self.snapshot.term);
        let joined = match self.entries.front() {
            None => false,
            Some((_, first)) if first.index == index + 1 => first.term >= term,
            Some((_, first)) if first.index <= index => {
                self.entries.get((index - first.index) as usize).is_some_and(|(_, at)| at.term == term)
            }
            Some(_) => false,
        };
        if !joined {
            self.entries.clear();
        }
        self.start = match self.entries.front() {
            // The term of the entry before the first is only known where that is the snapshot's; so the first kept one becomes the start.
            Some((_, first)) if first.index <= index => {
                let start = (first.index, first.term);
                self.entries.pop_front();
                start
            }
            _ => (index, term),
        };
        self.hard_state.commit = self.hard_state.commit.max(index);
        self.hard_state.term = self.hard_state.term.max(term);
    }

    /// Appends entries and the vote; durable on return where the library asks for it.
    pub(crate) fn append(
        &mut self,
        entries: Vec<Entry>,
        hard_state: Option<&HardState>,
        sync: bool,
    ) -> Result<(), ReplicateError> {
        let mut records = Vec::with_capacity(entries.len() + 1);
        for entry in &entries {
            records.push(record(TAG_ENTRY, entry)?);
        }
        if let Some(hard_state) = hard_state {
            records.push(record(TAG_HARD_STATE, hard_state)?);
            self.hard_state = hard_state.clone();
        }
        let first = self.log.last_version() + 1;
        let group: Vec<(u64, &[u8])> = (first..).zip(records.iter().map(Vec::as_slice)).collect();
        self.log.append(&group)?;
        (first..).zip(entries).for_each(|(record_number, entry)| self.put(record_number, entry));
        if sync {
            self.log.sync()?;
        }
        Ok(())
    }

    /// Another replica's state replaces everything. Durable on return.
    pub(crate) fn install(&mut self, snapshot: &Snapshot) -> Result<(), ReplicateError> {
        let record_number = self.log.last_version() + 1;
        // The vote comes before the snapshot, and nothing else of the old log is read once that is there.
        self.log.append(&[(record_number, &record(TAG_HARD_STATE, &self.hard_state)?)])?;
        self.log.sync()?;
        self.snapshot = SnapshotFile::write(&*self.disk, &self.dir, record_number, snapshot)?;
        self.entries.clear();
        (self.start, self.since_snapshot) = ((self.snapshot.index, self.snapshot.term), 0);
        self.cut()
    }

    /// Keeps the state after an entry that is here, and gives up the log before it but for the last entries.
    pub(crate) fn keep_snapshot(
        &mut self,
        snapshot: &Snapshot,
        entries_kept: u64,
    ) -> Result<(), ReplicateError> {
        let index = snapshot.get_metadata().index;
        let wanted_start = index.saturating_sub(entries_kept);
        while self.start.0 < wanted_start {
            let Some((_, entry)) = self.entries.pop_front() else { break };
            self.start = (entry.index, entry.term);
        }
        let record_number = self.log.last_version() + 1;
        self.log.append(&[(record_number, &record(TAG_HARD_STATE, &self.hard_state)?)])?;
        self.log.sync()?;
        let from_record = self.entries.front().map_or(record_number, |(first, _)| *first);
        self.snapshot = SnapshotFile::write(&*self.disk, &self.dir, from_record, snapshot)?;
        self.since_snapshot = 0;
        self.wants_snapshot.set(false);
        self.cut()
    }

    fn cut(&mut self) -> Result<(), ReplicateError> {
        SnapshotFile::remove_others(&*self.disk, &self.dir, self.snapshot.index)?;
        self.log.truncate_before(self.snapshot.from_record)?;
        Ok(())
    }

    /// The latest snapshot, read and checked.
    pub(crate) fn read_snapshot(&self) -> Result<Snapshot, ReplicateError> {
        self.snapshot.read(&*self.disk, &self.dir)
    }
    pub(crate) fn snapshot_index(&self) -> u64 {
        self.snapshot.index
    }
    /// Has the log grown enough for the next snapshot, or does a late replica need one?
    pub(crate) fn is_snapshot_due(&self, snapshot_bytes: u64) -> bool {
        self.wants_snapshot.get() || self.since_snapshot >= snapshot_bytes.max(self.snapshot.bytes)
    }
    /// A clean end, so that the next open finds no torn tail.
    pub(crate) fn close(&mut self) -> Result<(), ReplicateError> {
        Ok(self.log.close()?)
    }
    /// Bytes of the log on disk.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log.bytes()
    }
    fn last(&self) -> (u64, u64) {
        self.entries.back().map_or(self.start, |(_, last)| (last.index, last.term))
    }
}

fn record(tag: u8, message: &impl protobuf::Message) -> Result<Vec<u8>, ReplicateError> {
    let mut bytes = vec![tag];
    message.write_to_vec(&mut bytes)?;
    Ok(bytes)
}

impl raft::Storage for Storage {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(RaftState::new(self.hard_state.clone(), self.snapshot.members.clone()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        if low <= self.start.0 {
            return Err(StorageError::Compacted.into());
        }
        if high > self.last().0 + 1 {
            return Err(StorageError::Unavailable.into());
        }
        let (from, to) = ((low - self.start.0 - 1) as usize, (high - self.start.0 - 1) as usize);
        let mut found: Vec<Entry> = self.entries.range(from..to).map(|(_, entry)| entry.clone()).collect();
        raft::util::limit_size(&mut found, max_size.into());
        Ok(found)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        if index == self.start.0 {
            return Ok(self.start.1);
        }
        if index == self.snapshot.index {
            return Ok(self.snapshot.term);
        }
        if index < self.start.0 {
            return Err(StorageError::Compacted.into());
        }
        let entry = self.entries.get((index - self.start.0 - 1) as usize);
        entry.map(|(_, entry)| entry.term).ok_or_else(|| StorageError::Unavailable.into())
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.start.0 + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last().0)
    }

    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<Snapshot> {
        // A replica passes over a snapshot that is older than its own membership.
        let members = &self.snapshot.members;
        let names_it = members.voters.contains(&to) || members.learners.contains(&to);
        if self.snapshot.index < request_index || !names_it {
            self.wants_snapshot.set(true);
            return Err(StorageError::SnapshotTemporarilyUnavailable.into());
        }
        self.read_snapshot().map_err(|error| StorageError::Other(Box::new(error)).into())
    }
}

/// The members that an entry of the log left behind, for snapshots.
pub(crate) fn metadata(index: u64, term: u64, members: &ConfState) -> raft::eraftpb::SnapshotMetadata {
    let mut metadata = raft::eraftpb::SnapshotMetadata::default();
    metadata.set_conf_state(members.clone());
    (metadata.index, metadata.term) = (index, term);
    metadata
}

#[cfg(test)]
mod tests;
