use world::chance::Chance;
use world::disk::{Faults, SimDisk};

use super::*;
use crate::testing::{SMALL, shared, sim, with_every_byte_damaged};
use crate::{BackingStore, CheckpointMark, LocalFolder, OpenMode, Problem};

/// Accepts every copy.
const OPENS: fn(Arc<dyn Disk>, &Path) -> DurableResult<()> = |_, _| Ok(());

fn database() -> (SimDisk, PathBuf, LocalFolder) {
    let (disk, root) = sim();
    let store = LocalFolder::open(shared(&disk), &root, OpenMode::CreateIfMissing, SMALL).unwrap();
    (disk, root, store)
}

/// Commits, and now and then a checkpoint that shares a blob with the one before and keeps it as an anchor.
fn write(store: &LocalFolder, chance: &mut Chance, commits: u64) {
    for _ in 0..commits {
        let place = store.last_version() + 1;
        store.append_and_sync(&[(place, &chance.bytes(20))]).unwrap();
        if chance.below(5) == 0 {
            let mut sink = store.begin_checkpoint(place).unwrap();
            let blob = sink.put(&chance.bytes(50)).unwrap();
            let kept = store.anchors().iter().rev().take(2).map(|anchor| anchor.commit_version).collect();
            sink.finish(&blob.encode(), &CheckpointMark { kept, ..CheckpointMark::default() }).unwrap();
            let files: Vec<u32> = store
                .anchors()
                .iter()
                .filter(|anchor| anchor.sequence > 0)
                .map(|anchor| {
                    let manifest = store.anchor_manifest(anchor).unwrap();
                    crate::BlobRef::decode(&manifest.try_into().unwrap()).file
                })
                .collect();
            store.retire(&files).unwrap();
            store.truncate_before(store.anchors()[0].commit_version + 1).unwrap();
        }
    }
}

fn records(store: &LocalFolder) -> Vec<crate::Record> {
    let from = store.anchors()[0].commit_version + 1;
    store.recover(from).unwrap().map(|record| record.unwrap()).collect()
}

#[test]
fn a_backup_of_an_open_database_is_restored() {
    for seed in 0..30 {
        let (disk, root, store) = database();
        let mut chance = Chance::seeded(seed);
        let commits = chance.below(60);
        write(&store, &mut chance, commits);
        world::disk::write_synced(&disk, &root.join("users.json"), b"{}").unwrap();
        let (backup_at, restored_at) = (Path::new("/backups/monday"), Path::new("/restored"));
        let report = backup(&shared(&disk), &root, backup_at, &OPENS).unwrap();
        assert_eq!(report.commit_version, store.last_version(), "seed {seed}");
        let wanted = (store.anchors(), records(&store));
        write(&store, &mut chance, 20);

        assert!(is_backup(&disk, backup_at).unwrap());
        let checked = verify(&shared(&disk), backup_at).unwrap();
        assert_eq!((checked.problems, checked.last_version), (Vec::<Problem>::new(), report.commit_version));
        let opened = LocalFolder::open(shared(&disk), backup_at, OpenMode::Existing, SMALL);
        assert_eq!(opened.err(), Some(DurableError::IsBackup { path: backup_at.to_path_buf() }));

        // What was reported as done survives the power.
        let disk = disk.crash(seed);
        assert_eq!(
            restore(&shared(&disk), backup_at, restored_at, &OPENS).unwrap().commit_version,
            report.commit_version
        );
        let disk = disk.crash(seed);
        let restored = LocalFolder::open(shared(&disk), restored_at, OpenMode::Existing, SMALL).unwrap();
        assert_eq!((restored.anchors(), records(&restored)), wanted, "seed {seed}");
        assert_eq!(restored.folder().creation_id(), store.folder().creation_id());
        assert_eq!(disk.read_whole(&restored_at.join("users.json")).unwrap(), b"{}");
        restored.append_and_sync(&[(report.commit_version + 1, b"life goes on")]).unwrap();
    }
}

#[test]
fn nothing_is_left_of_what_did_not_succeed() {
    let (disk, root, store) = database();
    write(&store, &mut Chance::seeded(1), 30);
    let target = Path::new("/backup");
    for step in 0.. {
        let last = disk.operations() + 1 + step;
        disk.set_faults(Faults { error_at: Some(last), ..Faults::default() });
        let outcome = backup(&shared(&disk), &root, target, &OPENS);
        disk.set_faults(Faults::default());
        if disk.operations() < last {
            outcome.unwrap();
            assert!(step > 30, "{step} operations can fail");
            break;
        }
        // The parent of the folder may not be syncable: nothing was made then.
        assert!(outcome.is_err() && !disk.exists(target).unwrap(), "step {step}: {outcome:?}");
    }
    assert_eq!(
        backup(&shared(&disk), &root, target, &OPENS).err(),
        Some(DurableError::InTheWay { path: target.to_path_buf() })
    );
    let nowhere = Path::new("/nowhere");
    assert!(matches!(
        backup(&shared(&disk), nowhere, Path::new("/x"), &OPENS),
        Err(DurableError::NoDatabase { .. })
    ));
    assert!(matches!(
        restore(&shared(&disk), &root, Path::new("/x"), &OPENS),
        Err(DurableError::NoBackup { .. })
    ));
    assert!(!disk.exists(Path::new("/x")).unwrap());
}

#[test]
fn a_damaged_backup_is_not_restored_and_a_damaged_database_not_backed_up() {
    let (disk, root, store) = database();
    write(&store, &mut Chance::seeded(3), 12);
    store.close().unwrap();
    let target = Path::new("/backup");
    backup(&shared(&disk), &root, target, &OPENS).unwrap();
    drop(store);
    // Only the backup is left, so that its bytes are those that are damaged.
    for folder in [root.join("data"), root.join("log"), root.clone()] {
        for name in disk.list(&folder).unwrap() {
            disk.remove(&folder.join(name)).unwrap();
        }
    }
    disk.remove(&root).unwrap();
    with_every_byte_damaged(&disk, |disk, path, offset| {
        let restored = restore(&shared(disk), target, Path::new("/restored"), &OPENS);
        let Err(error) = restored else { panic!("{path:?} {offset} was restored") };
        let is_named = matches!(&error, DurableError::Corrupt { .. } | DurableError::NewerFormat { .. });
        assert!(is_named, "{path:?} {offset}: {error}");
        assert!(!disk.exists(Path::new("/restored")).unwrap());
    });
}

/// A past fault: a database that did not open was backed up and restored, and both were called sound.
#[test]
fn what_does_not_open_is_no_backup() {
    let (disk, root, store) = database();
    write(&store, &mut Chance::seeded(4), 12);
    let target = Path::new("/backup");
    let refuses = |over: Arc<dyn Disk>, folder: &Path| {
        let opened = LocalFolder::open(over, folder, OpenMode::Existing, SMALL).unwrap();
        assert_eq!(opened.last_version(), store.last_version(), "the copy is seen as a database");
        Err(DurableError::corrupt(folder, 0, "it does not open"))
    };
    assert!(matches!(backup(&shared(&disk), &root, target, &refuses), Err(DurableError::Corrupt { .. })));
    assert!(!disk.exists(target).unwrap());
    backup(&shared(&disk), &root, target, &OPENS).unwrap();
    let again = Path::new("/again");
    assert!(restore(&shared(&disk), target, again, &refuses).is_err() && !disk.exists(again).unwrap());
    assert!(is_backup(&disk, target).unwrap() && !disk.exists(&target.join(IDENTITY_NAME)).unwrap());
}

/// The torn end of the log after a crash is in no backup, so that anything missing there later is damage.
#[test]
fn the_torn_end_of_a_log_is_not_copied() {
    let (disk, root, store) = database();
    write(&store, &mut Chance::seeded(4), 12);
    let (place, wanted) = (store.last_version(), records(&store));
    // With its closing mark, without which no next segment is begun.
    store.close().unwrap();
    drop(store);
    let log = log_folder(&root);
    let last = disk.list(&log).unwrap().pop().unwrap();
    let sound = disk.read_whole(&log.join(&last)).unwrap();
    let number = crate::log::segment::segment_number(&last).unwrap();
    let next = Segment { number: number + 1, base_version: place }.path(&log);
    for (torn, begun) in [(0, 0), (1, 0), (19, 0), (300, 0), (0, 1), (0, 31), (0, 5)] {
        let disk = disk.copy();
        if torn > 0 {
            disk.open(&log.join(&last), OpenHow::Write).unwrap().append(&vec![0xEE; torn]).unwrap();
        }
        if begun > 0 {
            // The header of the next segment was not finished.
            disk.open(&next, OpenHow::CreateNew)
                .unwrap()
                .append(&b"tw-log\r\n-and what comes behind it"[..begun])
                .unwrap();
        }
        let folder = Path::new("/backup");
        let report = backup(&shared(&disk), &root, folder, &OPENS).unwrap();
        let context = format!("{torn} bytes behind the end, {begun} of a header");
        assert_eq!(report.commit_version, place, "{context}");
        let found = verify(&shared(&disk), folder).unwrap();
        assert_eq!((found.torn_tail_bytes, found.problems), (0, Vec::new()), "{context}");
        let copied = log_folder(folder);
        assert_eq!(disk.list(&copied).unwrap().last(), Some(&last), "{context}");
        let kept = disk.read_whole(&copied.join(&last)).unwrap();
        // The last group may be synced again when the segment is opened: what is kept is a beginning, up to the last record.
        assert!(sound.starts_with(&kept) && !kept.is_empty(), "{context}: {} of {}", kept.len(), sound.len());
        assert_eq!(
            restore(&shared(&disk), folder, Path::new("/restored"), &OPENS).unwrap().commit_version,
            place
        );
        let restored =
            LocalFolder::open(shared(&disk), Path::new("/restored"), OpenMode::Existing, SMALL).unwrap();
        assert_eq!(records(&restored), wanted, "{context}");
    }
}

/// The report of a backup equals the bytes on disk, however large the files are: about as long as the copy buffer.
#[test]
fn a_backup_says_how_much_it_copied() {
    let (disk, root, store) = database();
    store.append_and_sync(&[(1, b"one")]).unwrap();
    let mut sink = store.begin_checkpoint(1).unwrap();
    let lengths = [COPY_BYTES - 65, COPY_BYTES, 2 * COPY_BYTES + 1];
    let blobs: Vec<crate::BlobRef> =
        lengths.iter().map(|length| sink.put(&vec![7; *length]).unwrap()).collect();
    sink.finish(&blobs[0].encode(), &CheckpointMark::default()).unwrap();
    for (at, extra) in [-1_i64, 0, 1].into_iter().enumerate() {
        // A companion of which the last piece is empty, or one byte.
        let length = (COPY_BYTES as i64 + extra) as usize;
        world::disk::write_synced(&disk, &root.join("users.json"), &vec![b' '; length]).unwrap();
        let folder = PathBuf::from(format!("/backup-{at}"));
        let report = backup(&shared(&disk), &root, &folder, &OPENS).unwrap();
        // Beside what is copied there are the marker, and CURRENT, which is written anew.
        let copied: Vec<(PathBuf, usize)> = disk
            .contents()
            .into_iter()
            .filter(|(path, _)| {
                path.starts_with(&folder) && !path.ends_with(BACKUP_NAME) && !path.ends_with(CURRENT_NAME)
            })
            .map(|(path, bytes)| (path, bytes.len()))
            .collect();
        let bytes: usize = copied.iter().map(|(_, length)| length).sum();
        assert_eq!(
            (report.files, report.bytes, report.commit_version),
            (copied.len() as u64, bytes as u64, 1),
            "{copied:?}"
        );
        for (path, bytes) in disk.contents().into_iter().filter(|(path, _)| path.starts_with(&folder)) {
            let name = path.strip_prefix(&folder).unwrap();
            if name != Path::new(BACKUP_NAME) {
                assert!(disk.read_whole(&root.join(name)).unwrap().starts_with(&bytes), "{name:?}");
            }
        }
        let found = verify(&shared(&disk), &folder).unwrap();
        let of_database = crate::verify::verify_files(&disk, &root).unwrap();
        assert_eq!((found.files, found.blobs, found.records), (of_database.files + 1, of_database.blobs, 1));
    }
}
