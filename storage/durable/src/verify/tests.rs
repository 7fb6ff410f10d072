use world::disk::{Faults, SimDisk};

use super::*;
use crate::testing::{SMALL, shared, sim, with_every_byte_damaged};
use crate::{BackingStore, CheckpointMark, LocalFolder};

fn small_database() -> (SimDisk, PathBuf) {
    let (disk, root) = sim();
    let store = LocalFolder::open(shared(&disk), &root, OpenMode::CreateIfMissing, SMALL).unwrap();
    for place in 1..=6 {
        store.append_and_sync(&[(place, &[7; 30])]).unwrap();
    }
    let mut sink = store.begin_checkpoint(4).unwrap();
    for length in [0, 5, 33] {
        sink.put(&vec![1; length]).unwrap();
    }
    sink.finish(b"manifest", &CheckpointMark::default()).unwrap();
    store.close().unwrap();
    drop(store);
    (disk, root)
}

#[test]
fn a_sound_database_is_counted() {
    let (disk, root) = small_database();
    let before = disk.contents();
    let report = verify(&shared(&disk), &root).unwrap();
    // IDENTITY, CURRENT, a manifest, a blob file, two segments.
    assert_eq!((report.files, report.records, report.blobs, report.last_place), (6, 6, 3, 6));
    assert_eq!((report.torn_tail_bytes, report.leftovers.len(), report.problems.len()), (0, 0, 0));
    assert_eq!(disk.contents(), before, "nothing was changed");
}

#[test]
fn every_damaged_byte_of_every_file_is_found() {
    let (disk, root) = small_database();
    with_every_byte_damaged(&disk, |disk, path, offset| {
        let Ok(report) = verify(&shared(disk), &root) else { panic!("{path:?} {offset}") };
        // The last mark of the log carries nothing and looks torn when it is damaged.
        let found =
            report.torn_tail_bytes == 20 || report.problems.iter().any(|problem| problem.file == path);
        assert!(found, "{path:?} {offset}: {report:?}");
    });
}

#[test]
fn all_damage_is_listed_not_only_the_first() {
    let (disk, root) = small_database();
    let files = ["IDENTITY", "data/00000001.blobs", "log/00000000000000000001.log"];
    for name in files {
        disk.damage(&root.join(name), 40, 0x01);
    }
    let report = verify(&shared(&disk), &root).unwrap();
    let named: Vec<PathBuf> = report.problems.into_iter().map(|problem| problem.file).collect();
    assert_eq!(named, files.map(|name| root.join(name)));
}

#[test]
fn tails_and_leftovers_are_told_but_are_no_damage() {
    let (disk, root) = small_database();
    let store = LocalFolder::open(shared(&disk), &root, OpenMode::Existing, SMALL).unwrap();
    let mut sink = store.begin_checkpoint(6).unwrap();
    sink.put(&[1; 2_000_000]).unwrap();
    disk.set_faults(Faults { power_fails_at: Some(disk.operations() + 1), ..Faults::default() });
    drop(sink);
    drop(store);
    let seen = (0..50).map(|seed| {
        let report = verify(&shared(&disk.copy().crash(seed)), &root).unwrap();
        assert_eq!(report.problems, []);
        report.leftovers.len()
    });
    assert!(seen.max().unwrap() > 0, "some crash leaves the unfinished blob file");
}

#[test]
fn what_is_no_database_or_in_use_is_an_error() {
    let (disk, root) = small_database();
    let elsewhere = root.join("nothing");
    let error = verify(&shared(&disk), &elsewhere).unwrap_err();
    assert_eq!(error, DurableError::NoDatabase { path: elsewhere });
    let _open = LocalFolder::open(shared(&disk), &root, OpenMode::Existing, SMALL).unwrap();
    assert!(matches!(verify(&shared(&disk), &root), Err(DurableError::AlreadyOpen { .. })));
}

/// A blob file that was cut just behind a blob looked whole, and only reading what was cut off told.
#[test]
fn a_blob_file_that_became_shorter_is_found() {
    let (disk, root) = small_database();
    let path = root.join("data/00000001.blobs");
    let file = disk.open(&path, OpenHow::Write).unwrap();
    file.truncate(file.len().unwrap() - 64).unwrap();
    let report = verify(&shared(&disk), &root).unwrap();
    let [problem] = report.problems.as_slice() else { panic!("{:?}", report.problems) };
    assert_eq!((&problem.file, report.blobs), (&path, 2));
}
