//! A snapshot on disk: the state after an entry.
//!
//! ```text
//!   "TWSNAP01" | crc u32 | length u64 | from_place u64 | the library's Snapshot message (index, term, members, state)
//! ```
//!
//! The checksum covers everything behind it. A file gets its final name only when it is whole and on disk.

use crate::ReplicateError;
use protobuf::Message as _;
use raft::eraftpb::{ConfState, Snapshot};
use std::path::Path;
use world::disk::{Disk, replace_whole};

const MAGIC: &[u8; 8] = b"TWSNAP01";
const HEADER_BYTES: usize = 28;
const PREFIX: &str = "snapshot-";

/// Facts about the latest snapshot, known without reading it again.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFile {
    pub(crate) index: u64,
    pub(crate) term: u64,
    pub(crate) members: ConfState,
    /// The first record of the log that is needed beside it.
    pub(crate) from_record: u64,
    pub(crate) bytes: u64,
}

impl SnapshotFile {
    /// The latest complete one. A damaged latest one is an error: an older one may lack acknowledged entries.
    pub(super) fn latest(disk: &dyn Disk, dir: &Path) -> Result<Option<SnapshotFile>, ReplicateError> {
        let names = disk.list(dir)?;
        let latest = names.iter().filter_map(|name| name.strip_prefix(PREFIX)?.parse::<u64>().ok()).max();
        latest.map(|index| Ok(parse(disk, dir, index)?.0)).transpose()
    }

    pub(super) fn read(&self, disk: &dyn Disk, dir: &Path) -> Result<Snapshot, ReplicateError> {
        Ok(parse(disk, dir, self.index)?.1)
    }

    pub(super) fn write(
        disk: &dyn Disk,
        dir: &Path,
        from_record: u64,
        snapshot: &Snapshot,
    ) -> Result<SnapshotFile, ReplicateError> {
        let mut bytes = vec![0; HEADER_BYTES];
        snapshot.write_to_vec(&mut bytes)?;
        let length = (bytes.len() - HEADER_BYTES) as u64;
        bytes[..8].copy_from_slice(MAGIC);
        bytes[12..20].copy_from_slice(&length.to_le_bytes());
        bytes[20..28].copy_from_slice(&from_record.to_le_bytes());
        let crc = crc32fast::hash(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        let index = snapshot.get_metadata().index;
        replace_whole(disk, dir, &name(index), &bytes)?;
        Ok(described(from_record, bytes.len() as u64, snapshot))
    }

    /// Removes older snapshots and unfinished files of a crash.
    pub(super) fn remove_others(disk: &dyn Disk, dir: &Path, index: u64) -> Result<(), ReplicateError> {
        let kept = name(index);
        for other in disk.list(dir)?.iter().filter(|name| name.starts_with(PREFIX) && **name != kept) {
            disk.remove(&dir.join(other))?;
        }
        Ok(())
    }
}

fn name(index: u64) -> String {
    format!("{PREFIX}{index:020}")
}

fn described(from_record: u64, bytes: u64, snapshot: &Snapshot) -> SnapshotFile {
    let metadata = snapshot.get_metadata();
    let members = metadata.get_conf_state().clone();
    SnapshotFile { index: metadata.index, term: metadata.term, members, from_record, bytes }
}

fn parse(disk: &dyn Disk, dir: &Path, index: u64) -> Result<(SnapshotFile, Snapshot), ReplicateError> {
    let path = dir.join(name(index));
    let bytes = disk.read_whole(&path)?;
    let damaged = |what: &str| ReplicateError::Damaged(format!("{}: {what}", path.display()));
    if bytes.len() < HEADER_BYTES || &bytes[..8] != MAGIC {
        return Err(damaged("it is no snapshot"));
    }
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let crc = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"));
    if number(12) != (bytes.len() - HEADER_BYTES) as u64 || crc32fast::hash(&bytes[12..]) != crc {
        return Err(damaged("its checksum does not fit"));
    }
    let snapshot = Snapshot::parse_from_bytes(&bytes[HEADER_BYTES..])?;
    if snapshot.get_metadata().index != index {
        return Err(damaged("it is of another entry"));
    }
    Ok((described(number(20), bytes.len() as u64, &snapshot), snapshot))
}
