//! Helpers shared by the tests of this crate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use world::disk::{Disk, SimDisk};

use crate::{DurableError, DurableResult, Log, LogOptions};

/// A commit version and its record.
pub(crate) type Entry = (u64, Vec<u8>);

/// The folder of the database in tests; it exists and is durable.
pub(crate) fn sim() -> (SimDisk, PathBuf) {
    let (disk, root) = (SimDisk::new(), PathBuf::from("/db"));
    disk.create_dir_all(&root).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    (disk, root)
}

/// The disk as the crates above hold it.
pub(crate) fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Segments so small that every test rotates.
pub(crate) const SMALL: LogOptions = LogOptions { segment_bytes_max: 150 };

/// Opens a log and reads it to its end.
pub(crate) fn open_and_read(disk: &SimDisk, dir: &Path, from: u64) -> DurableResult<(Log, Vec<Entry>)> {
    let (log, recovery) = Log::open(shared(disk), dir, SMALL, from)?;
    let entries: DurableResult<Vec<Entry>> =
        recovery.map(|r| r.map(|r| (r.commit_version, r.payload))).collect();
    Ok((log, entries?))
}

/// Damage must be reported as such, by name.
pub(crate) fn is_named_damage(error: &DurableError) -> bool {
    matches!(error, DurableError::Corrupt { .. } | DurableError::NewerFormat { .. })
}

/// Three masks a byte: the lowest bit, the highest, all of them.
pub(crate) const MASKS: [u8; 3] = [0x01, 0x80, 0xFF];

/// Calls `check` with a copy of the disk for each byte of each file and each mask, that byte damaged.
pub(crate) fn with_every_byte_damaged(disk: &SimDisk, mut check: impl FnMut(&SimDisk, &Path, u64)) {
    for (path, bytes) in disk.contents() {
        for offset in 0..bytes.len() as u64 {
            for mask in MASKS {
                let copy = disk.copy();
                copy.damage(&path, offset, mask);
                check(&copy, &path, offset);
            }
        }
    }
}
