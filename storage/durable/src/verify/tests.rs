use world::disk::{Faults, SimDisk};

use super::*;
use crate::testing::{SMALL, shared, sim, with_every_byte_damaged};
use crate::{BackingStore, CheckpointMark, LocalFolder};

fn small_database() -> (SimDisk, PathBuf) {
    let (disk, root) = sim();
    let store = LocalFolder::open(shared(&disk), &root, OpenMode::CreateIfMissing, SMALL).unwrap();
    for commit_version in 1..=6 {
        store.append_and_sync(&[(commit_version, &[7; 30])]).unwrap();
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
    assert_eq!((report.files, report.records, report.blobs, report.last_version), (6, 6, 3, 6));
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

/// A past fault: a blob file that was cut just behind a blob looked whole, and only reading the missing blobs showed it.
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

/// Compared with a count of what was written: commits, checkpoints with blobs, some that are kept, and an end of the log that was never confirmed.
#[test]
fn a_report_counts_what_was_written() {
    for seed in 0..40 {
        let mut chance = world::chance::Chance::seeded(seed);
        let (disk, root) = sim();
        let store = LocalFolder::open(shared(&disk), &root, OpenMode::CreateIfMissing, SMALL).unwrap();
        let (mut blobs, mut checkpoints, mut commits) = (0, 0, 0);
        for _ in 0..chance.below(30) {
            if chance.below(6) == 0 && commits > 0 {
                let mut sink = store.begin_checkpoint(commits).unwrap();
                for _ in 0..=chance.below(4) {
                    let length = chance.index(90);
                    sink.put(&chance.bytes(length)).unwrap();
                    blobs += 1;
                }
                let kept = store.anchors().iter().map(|anchor| anchor.commit_version).collect();
                sink.finish(b"manifest", &CheckpointMark { kept, ..CheckpointMark::default() }).unwrap();
                checkpoints += 1;
                commits += 1;
                store.append_and_sync(&[(commits, b"behind it")]).unwrap();
            } else {
                commits += 1;
                let length = chance.index(70);
                store.append_and_sync(&[(commits, &chance.bytes(length))]).unwrap();
            }
        }
        drop(store);
        let segments = disk.list(&log_folder(&root)).unwrap().len() as u64;
        let torn = chance.below(3) * 7;
        if torn > 0 {
            let last = disk.list(&log_folder(&root)).unwrap().pop().unwrap();
            let file = disk.open(&log_folder(&root).join(last), OpenHow::Write).unwrap();
            file.append(&vec![0xEE; torn as usize]).unwrap();
        }
        let report = verify_files(&disk, &root).unwrap();
        assert_eq!(report.problems, [], "seed {seed}");
        // CURRENT, manifests, blob files, segments.
        let blob_files = disk.list(&data_folder(&root)).unwrap().len() as u64;
        assert_eq!(report.files, 1 + checkpoints + blob_files + segments, "seed {seed}");
        assert_eq!(
            (report.records, report.blobs, report.last_version),
            (commits, blobs, commits),
            "seed {seed}"
        );
        assert!(report.torn_tail_bytes >= torn, "seed {seed}: {report:?}");
        assert_eq!(verify(&shared(&disk), &root).unwrap().files, report.files + 1, "and IDENTITY");
    }
}
