//! A segment of the log with any bytes behind its head: what recovery reads was written so, or it is refused.

use durable::{BackingStore, LocalFolder, LogOptions, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use world::disk::{Disk, OpenHow, SimDisk};

const FOLDER: &str = "/db";
/// Records in the segment that is changed.
const RECORDS: u64 = 12;

struct Written {
    disk: SimDisk,
    segment: PathBuf,
    bytes: Vec<u8>,
}

fn payload(commit_version: u64) -> Vec<u8> {
    (0..commit_version * 7).map(|at| (at * commit_version) as u8).collect()
}

static WRITTEN: LazyLock<Written> = LazyLock::new(|| {
    let disk = SimDisk::new();
    let folder = open(&disk, OpenMode::CreateIfMissing).expect("an empty disk takes a folder");
    for place in 1..=RECORDS {
        folder.append_and_sync(&[(place, &payload(place))]).expect("the disk has room");
    }
    drop(folder);
    let (segment, bytes) = disk
        .contents()
        .into_iter()
        .filter(|(path, _)| path.parent().is_some_and(|folder| folder.ends_with("log")))
        .max_by_key(|(_, bytes)| bytes.len())
        .expect("a log has a segment");
    Written { disk: disk.kill(), segment, bytes }
});

fn open(disk: &SimDisk, mode: OpenMode) -> durable::DurableResult<LocalFolder> {
    LocalFolder::open(Arc::new(disk.clone()), Path::new(FOLDER), mode, LogOptions::default())
}

/// Recovers from a log whose segment is these bytes.
pub fn log(bytes: &[u8]) {
    let disk = WRITTEN.disk.copy();
    write(&disk, &WRITTEN.segment, bytes);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    // Reading everything must not panic either.
    let verified = durable::verify(&shared, Path::new(FOLDER));
    let Ok(folder) = open(&disk, OpenMode::Existing) else { return };
    let Ok(records) = folder.recover(1) else { return };
    let mut last = 0;
    for record in records {
        let Ok(record) = record else { return };
        assert_eq!(record.commit_version, last + 1, "a hole in the log");
        // A checksum can be guessed by nobody who changes bytes at random.
        assert_eq!(
            record.payload,
            payload(record.commit_version),
            "record {} is not what was written",
            record.commit_version
        );
        last = record.commit_version;
    }
    assert!(verified.is_ok(), "recovery reads what verification cannot: {verified:?}");
}

pub(crate) fn write(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    let file = disk.open(path, OpenHow::Replace).expect("the file is there");
    file.write_at(bytes, 0).expect("the disk has room");
    file.sync().expect("the disk is sound");
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    vec![WRITTEN.bytes.clone()]
}
