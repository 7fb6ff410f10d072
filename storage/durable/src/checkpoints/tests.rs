use std::collections::BTreeMap;

use world::chance::Chance;
use world::disk::{Faults, SimDisk};

use super::blobs::BLOB_HEAD_BYTES;
use super::*;
use crate::BLOB_ALIGNMENT_BYTES;
use crate::header::HEADER_BYTES;
use crate::testing::{is_named_damage, shared, sim, with_every_byte_damaged};

fn new_checkpoints() -> (SimDisk, PathBuf, Checkpoints) {
    let (disk, root) = sim();
    Checkpoints::create(&disk, &root).unwrap();
    let checkpoints = open(&disk, &root).unwrap();
    (disk, root, checkpoints)
}

fn open(disk: &SimDisk, root: &Path) -> DurableResult<Checkpoints> {
    Checkpoints::open(shared(disk), root)
}

/// State as the crates above keep it: pieces by number, of which a checkpoint writes only the changed ones.
#[derive(Clone, Debug, Default, PartialEq)]
struct Pieces(BTreeMap<u8, Vec<u8>>);

/// A manifest: for each piece its number and where it lies.
fn manifest(refs: &BTreeMap<u8, BlobRef>) -> Vec<u8> {
    refs.iter().flat_map(|(number, blob)| [&[*number][..], &blob.encode()[..]].concat()).collect()
}

fn refs(manifest: &[u8]) -> BTreeMap<u8, BlobRef> {
    let entries = manifest.chunks_exact(1 + BlobRef::ENCODED_BYTES);
    entries.map(|entry| (entry[0], BlobRef::decode(entry[1..].try_into().unwrap()))).collect()
}

fn load(checkpoints: &Checkpoints) -> DurableResult<(u64, Pieces)> {
    let Some((commit_version, manifest)) = checkpoints.latest()? else { return Ok((0, Pieces::default())) };
    let mut pieces = Pieces::default();
    for (number, blob) in refs(&manifest) {
        pieces.0.insert(number, checkpoints.read(blob)?);
    }
    Ok((commit_version, pieces))
}

/// Writes the pieces that differ from `before`, refers to the rest, and retires what is no longer referred to.
fn save(checkpoints: &Checkpoints, commit_version: u64, before: &Pieces, now: &Pieces) -> DurableResult<()> {
    let mut known = checkpoints.latest()?.map(|(_, manifest)| refs(&manifest)).unwrap_or_default();
    let mut writer = checkpoints.begin(commit_version)?;
    for (number, bytes) in &now.0 {
        if before.0.get(number) != Some(bytes) {
            known.insert(*number, writer.put(bytes)?);
        }
    }
    writer.finish(&manifest(&known), &CheckpointMark::default())
}

fn retire_dead(checkpoints: &Checkpoints) -> DurableResult<()> {
    let known = checkpoints.latest()?.map(|(_, manifest)| refs(&manifest)).unwrap_or_default();
    checkpoints.retire(&known.values().map(|blob| blob.file).collect::<Vec<_>>())
}

#[test]
fn golden_bytes_of_a_checkpoint() {
    let (disk, root, checkpoints) = new_checkpoints();
    let mut writer = checkpoints.begin(7).unwrap();
    let blob = writer.put(b"hello").unwrap();
    let mark = CheckpointMark { time_micros: 1_000, log_bytes: 99, beside_log: true, kept: vec![] };
    writer.finish(b"m", &mark).unwrap();
    assert_eq!((blob.file, blob.offset, blob.length), (1, 48, 5));
    let hex = |name: &str| {
        let bytes = disk.read_whole(&root.join(name)).unwrap();
        let words = bytes.chunks(4).map(|word| word.iter().map(|b| format!("{b:02x}")).collect::<String>());
        words.collect::<Vec<_>>().join(" ")
    };
    // Computed from docs/formats/checkpoint.md by another program.
    let blobs = "74772d62 6c6f6273 01000000 86bab03e 01000000 00000000 00000000 00000000 \
                  05000000 86a61036 626c6f62 1beed5ee 68656c6c 6f000000 00000000 00000000";
    assert_eq!(hex("data/00000001.blobs"), blobs);
    let manifest = "74772d6d 616e6966 01000000 788f71a4 07000000 00000000 01000000 00000000 \
                  6d68f201 e1";
    assert_eq!(hex("MANIFEST-00000000000000000007-00000001"), manifest);
    let current = "74772d63 7572720a 02000000 54d06147 07000000 00000000 44000000 00000000 \
                  01000000 02000000 00000000 00000000 01000000 01000000 01000000 40000000 \
                  00000000 07000000 00000000 e8030000 00000000 63000000 00000000 01000000 01000000 10388b46";
    assert_eq!(hex("CURRENT"), current);
}

/// A bulk load writes its pieces ahead, and learns its commit version at the end.
#[test]
fn blobs_written_ahead_are_readable_and_go_with_a_checkpoint_that_is_given_up() {
    let (disk, root, checkpoints) = new_checkpoints();
    let mut writer = checkpoints.begin(7).unwrap();
    let first = writer.put(b"given up").unwrap();
    writer.settle().unwrap();
    assert_eq!(checkpoints.read(first).unwrap(), b"given up");
    drop(writer);
    assert!(!disk.exists(&root.join("data/00000001.blobs")).unwrap());
    let mut writer = checkpoints.begin(7).unwrap();
    let early = writer.put(b"early").unwrap();
    writer.settle().unwrap();
    let late = writer.put(b"late").unwrap();
    writer.set_commit_version(9);
    writer.finish(b"m", &CheckpointMark::default()).unwrap();
    assert_ne!(early.file, late.file);
    let checkpoints = open(&disk.crash(1), &root).unwrap();
    assert_eq!(checkpoints.latest().unwrap(), Some((9, b"m".to_vec())));
    assert_eq!(checkpoints.read(early).unwrap(), b"early");
    assert_eq!(checkpoints.read(late).unwrap(), b"late");
}

#[test]
fn a_folder_of_the_first_format_is_read() {
    let (disk, root, checkpoints) = new_checkpoints();
    checkpoints.begin(7).unwrap().finish(b"m", &CheckpointMark::default()).unwrap();
    drop(checkpoints);
    // The golden bytes of version 1, for one checkpoint without blobs.
    let mut old = Vec::from(*b"tw-curr\n\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0");
    let crc = crc32fast::hash(&[&old[0..12], &old[16..]].concat());
    old[12..16].copy_from_slice(&crc.to_le_bytes());
    let body = [1, 0, 0, 0, 1, 0, 0, 0];
    old.extend(body);
    old.extend(crc32fast::hash(&body).to_le_bytes());
    world::disk::write_synced(&disk, &root.join(CURRENT_NAME), &old).unwrap();
    let checkpoints = open(&disk, &root).unwrap();
    assert_eq!(checkpoints.latest().unwrap(), Some((7, b"m".to_vec())));
    assert_eq!(checkpoints.anchors(), [Anchor { commit_version: 7, sequence: 1, ..Anchor::default() }]);
    checkpoints.set_history(5).unwrap();
    drop(checkpoints);
    assert_eq!(open(&disk, &root).unwrap().history(), 5);
}

#[test]
fn anchors_are_kept_as_long_as_asked_for() {
    let (disk, root, checkpoints) = new_checkpoints();
    checkpoints.set_history(77).unwrap();
    let commit_versions = |checkpoints: &Checkpoints| -> Vec<u64> {
        checkpoints.anchors().iter().map(|anchor| anchor.commit_version).collect()
    };
    assert_eq!(commit_versions(&checkpoints), [0], "the beginning of the log");
    for (commit_version, kept) in [(10, vec![0]), (20, vec![0, 10]), (30, vec![10, 20]), (40, vec![20, 30])] {
        let mark = CheckpointMark { time_micros: commit_version * 100, kept, ..CheckpointMark::default() };
        let manifest = format!("manifest of {commit_version}");
        checkpoints.begin(commit_version).unwrap().finish(manifest.as_bytes(), &mark).unwrap();
    }
    assert_eq!(commit_versions(&checkpoints), [20, 30, 40]);
    let disk = disk.crash(3);
    let checkpoints = open(&disk, &root).unwrap();
    assert_eq!((commit_versions(&checkpoints), checkpoints.history()), (vec![20, 30, 40], 77));
    let second = checkpoints.anchors()[1];
    assert_eq!(
        (second.time_micros, checkpoints.manifest_of(&second).unwrap()),
        (3_000, b"manifest of 30".to_vec())
    );
    checkpoints.keep_anchors(&[20]).unwrap();
    assert_eq!(commit_versions(&checkpoints), [20, 40], "the latest stays whatever is listed");
    checkpoints.keep_anchors(&[]).unwrap();
    assert_eq!(commit_versions(&checkpoints), [40]);
    assert_eq!(disk.list(&root).unwrap(), ["CURRENT", "MANIFEST-00000000000000000040-00000004", "data"]);
}

#[test]
fn a_checkpoint_refers_to_blobs_of_older_ones() {
    let (disk, root, checkpoints) = new_checkpoints();
    assert_eq!((checkpoints.latest().unwrap(), checkpoints.latest_version()), (None, None));
    let first = Pieces(BTreeMap::from([(1, vec![1; 100]), (2, vec![2; 3_000_000]), (3, vec![])]));
    save(&checkpoints, 10, &Pieces::default(), &first).unwrap();
    let mut second = first.clone();
    second.0.insert(1, vec![9; 50]);
    save(&checkpoints, 20, &first, &second).unwrap();
    assert_eq!(load(&checkpoints).unwrap(), (20, second.clone()));
    retire_dead(&checkpoints).unwrap();
    assert_eq!(disk.list(&root.join("data")).unwrap(), ["00000001.blobs", "00000002.blobs"]);
    let mut third = second.clone();
    for number in 2..4 {
        third.0.insert(number, vec![7; 10]);
    }
    save(&checkpoints, 20, &second, &third).unwrap();
    retire_dead(&checkpoints).unwrap();
    assert_eq!(disk.list(&root.join("data")).unwrap(), ["00000002.blobs", "00000003.blobs"]);
    let disk = disk.crash(1);
    assert_eq!(load(&open(&disk, &root).unwrap()).unwrap(), (20, third));
    assert_eq!(disk.list(&root).unwrap(), ["CURRENT", "MANIFEST-00000000000000000020-00000003", "data"]);
}

#[test]
fn versions_never_go_back_and_an_abandoned_checkpoint_leaves_nothing() {
    let (disk, root, checkpoints) = new_checkpoints();
    save(&checkpoints, 10, &Pieces::default(), &Pieces(BTreeMap::from([(1, vec![1])]))).unwrap();
    assert_eq!(checkpoints.begin(9).err(), Some(DurableError::OutOfOrder { commit_version: 9, last: 10 }));
    let mut writer = checkpoints.begin(11).unwrap();
    assert_eq!(checkpoints.begin(11).err(), Some(DurableError::CheckpointRunning));
    writer.put(&[1; 5000]).unwrap();
    drop(writer);
    assert_eq!(disk.list(&root.join("data")).unwrap(), ["00000001.blobs"]);
    assert_eq!(load(&checkpoints).unwrap().0, 10);
    drop(checkpoints.begin(11).unwrap());
}

#[test]
fn a_blob_that_is_not_there_is_an_error() {
    let (_, _, checkpoints) = new_checkpoints();
    let mut writer = checkpoints.begin(1).unwrap();
    let good = writer.put(b"some bytes").unwrap();
    writer.finish(b"", &CheckpointMark::default()).unwrap();
    let bad = [
        BlobRef { file: 0, ..good },
        BlobRef { file: 2, ..good },
        BlobRef { offset: 0, ..good },
        BlobRef { offset: good.offset + 1, ..good },
        BlobRef { offset: good.offset + 16, ..good },
        BlobRef { offset: u64::MAX - 15, ..good },
        BlobRef { length: good.length - 1, ..good },
        BlobRef { length: u32::MAX, ..good },
        BlobRef { crc: good.crc ^ 1, ..good },
    ];
    assert_eq!(checkpoints.read(good).unwrap(), b"some bytes");
    for blob in bad {
        assert!(is_named_damage(&checkpoints.read(blob).unwrap_err()), "{blob:?}");
    }
}

/// What a run with checkpoints has promised, and what it was about to.
struct Model {
    saved: (u64, Pieces),
    tried: (u64, Pieces),
}

impl Model {
    /// Changes some pieces, saves, sometimes retires, until the power fails or the run is over (then true).
    fn run(&mut self, disk: &SimDisk, root: &Path, seed: u64) -> bool {
        let mut chance = Chance::seeded(seed);
        let Ok(checkpoints) = open(disk, root) else { return false };
        for _ in 0..4 {
            let (commit_version, before) = self.saved.clone();
            let mut now = before.clone();
            for _ in 0..chance.range(1..4) {
                let length = chance.index(700);
                now.0.insert(chance.below(4) as u8, chance.bytes(length));
            }
            self.tried = (commit_version + chance.below(3), now);
            if save(&checkpoints, self.tried.0, &before, &self.tried.1).is_err() {
                return false;
            }
            self.saved = self.tried.clone();
            if chance.happens(0.5) && retire_dead(&checkpoints).is_err() {
                return false;
            }
        }
        true
    }
}

/// A crash at every operation: the old checkpoint or the new one, whole, and no leftovers; then on, and another crash.
#[test]
fn every_crash_leaves_the_old_checkpoint_or_the_new_one() {
    let (mut runs, mut old, mut new) = (0, 0, 0);
    for seed in 0..40 {
        for step in 1.. {
            let (disk, root, _) = new_checkpoints();
            let mut model = Model { saved: Default::default(), tried: Default::default() };
            disk.set_faults(Faults { power_fails_at: Some(disk.operations() + step), ..Faults::default() });
            let finished = model.run(&disk, &root, seed);
            let disk = disk.crash(seed * 1000 + step);
            for round in 0..2 {
                let what = format!("seed {seed} step {step} round {round}");
                let checkpoints = open(&disk, &root).unwrap_or_else(|error| panic!("{what}: {error}"));
                let found = load(&checkpoints).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(found == model.saved || found == model.tried, "{what}");
                (old, new) = (old + u32::from(found == model.saved), new + u32::from(found != model.saved));
                assert_eq!(checkpoints.find_leftovers().unwrap(), Vec::<PathBuf>::new(), "{what}");
                model.saved = found.clone();
                model.tried = found;
                drop(checkpoints);
                assert!(model.run(&disk, &root, seed + 7), "{what}");
            }
            runs += 1;
            if finished {
                break;
            }
        }
    }
    assert!(runs > 1000 && old > 1000 && new > 40, "{runs} runs, {old} old, {new} new");
}

#[test]
fn an_error_at_any_operation_loses_no_checkpoint() {
    for seed in 0..10 {
        for step in 1.. {
            let (disk, root, _) = new_checkpoints();
            let mut model = Model { saved: Default::default(), tried: Default::default() };
            disk.set_faults(Faults { error_at: Some(disk.operations() + step), ..Faults::default() });
            let finished = model.run(&disk, &root, seed);
            disk.set_faults(Faults::default());
            let found = load(&open(&disk.crash(step), &root).unwrap()).unwrap();
            assert!(found == model.saved || found == model.tried, "seed {seed} step {step}");
            if finished {
                break;
            }
        }
    }
}

/// Killed at any operation, opened, and only then the power fails: what the open handed out must still be there.
#[test]
fn what_a_killed_process_left_is_durable_once_it_was_opened() {
    for seed in 0..10 {
        for step in 1.. {
            let (disk, root, _) = new_checkpoints();
            let mut model = Model { saved: Default::default(), tried: Default::default() };
            disk.set_faults(Faults { power_fails_at: Some(disk.operations() + step), ..Faults::default() });
            let finished = model.run(&disk, &root, seed);
            let disk = disk.kill();
            let found = load(&open(&disk, &root).unwrap()).unwrap();
            assert!(found == model.saved || found == model.tried, "seed {seed} step {step}");
            let after = load(&open(&disk.crash(seed * 1000 + step), &root).unwrap()).unwrap();
            assert!(after == found, "seed {seed} step {step}");
            if finished {
                break;
            }
        }
    }
}

/// A disk that is full for one moment, wherever that is: the checkpoint is refused, and the next try succeeds, or says why not.
#[test]
fn a_full_disk_at_any_operation_loses_no_checkpoint() {
    let before = Pieces(BTreeMap::from([(1, vec![1; 100])]));
    let after = Pieces(BTreeMap::from([(1, vec![2; 300]), (2, vec![3; 300])]));
    for step in 1.. {
        let (disk, root, checkpoints) = new_checkpoints();
        save(&checkpoints, 1, &Pieces::default(), &before).unwrap();
        disk.set_faults(Faults { full_at: Some(disk.operations() + step), ..Faults::default() });
        let first = save(&checkpoints, 2, &before, &after);
        if first.is_err() {
            assert_eq!(load(&checkpoints).unwrap(), (1, before.clone()), "step {step}");
        }
        let second = first.clone().or_else(|_| save(&checkpoints, 2, &before, &after));
        let found = load(&open(&disk.crash(step), &root).unwrap()).unwrap();
        match second {
            Ok(()) => assert_eq!(found, (2, after.clone()), "step {step}"),
            Err(error) => {
                assert!(matches!(error, DurableError::Poisoned { .. }), "step {step}: {error}");
                assert!(found == (1, before.clone()) || found == (2, after.clone()), "step {step}");
            }
        }
        if first.is_ok() && disk.operations() > 0 && step > 20 {
            break;
        }
    }
}

#[test]
fn a_full_disk_keeps_the_old_checkpoint_and_another_try_succeeds() {
    let before = Pieces(BTreeMap::from([(1, vec![1; 100])]));
    let after = Pieces(BTreeMap::from([(1, vec![2; 300]), (2, vec![3; 300])]));
    for room in 0..1000 {
        let (disk, root, checkpoints) = new_checkpoints();
        save(&checkpoints, 1, &Pieces::default(), &before).unwrap();
        let used: u64 = disk.contents().values().map(|bytes| bytes.len() as u64).sum();
        disk.set_faults(Faults { capacity_bytes: Some(used + room), ..Faults::default() });
        if let Err(error) = save(&checkpoints, 2, &before, &after) {
            assert!(matches!(error, DurableError::Disk(DiskError::Full { .. })), "{error}");
            assert_eq!(load(&checkpoints).unwrap(), (1, before.clone()), "room {room}");
            disk.set_faults(Faults::default());
            save(&checkpoints, 2, &before, &after).unwrap();
        } else {
            assert!(room > 700);
        }
        assert_eq!(load(&open(&disk.crash(room), &root).unwrap()).unwrap(), (2, after.clone()));
    }
}

#[test]
fn every_damaged_byte_is_named_or_lies_between_blobs() {
    let (disk, root, checkpoints) = new_checkpoints();
    let pieces = Pieces(BTreeMap::from([(1, vec![1; 21]), (2, vec![2; 40])]));
    save(&checkpoints, 5, &Pieces::default(), &pieces).unwrap();
    with_every_byte_damaged(&disk, |disk, path, offset| {
        match open(disk, &root).and_then(|checkpoints| load(&checkpoints)) {
            Err(error) => assert!(is_named_damage(&error), "{path:?} {offset}: {error}"),
            // The zeros behind a blob are read by `verify` only.
            Ok(found) => {
                assert!(found == (5, pieces.clone()) && path.ends_with("00000001.blobs"), "{path:?} {offset}")
            }
        }
    });
}

#[test]
fn missing_files_are_damage() {
    for name in ["CURRENT", "MANIFEST-00000000000000000005-00000001", "data/00000001.blobs"] {
        let (disk, root, checkpoints) = new_checkpoints();
        save(&checkpoints, 5, &Pieces::default(), &Pieces(BTreeMap::from([(1, vec![1])]))).unwrap();
        disk.remove(&root.join(name)).unwrap();
        assert!(is_named_damage(&open(&disk, &root).err().unwrap()), "{name}");
    }
}

/// What broke: a chunk of more than 1 GiB, such as 4,096 texts of 300 KB, could be committed but never be part of a checkpoint.
#[test]
fn a_blob_too_long_to_be_whole_is_kept_in_parts() {
    let (disk, root, checkpoints) = new_checkpoints();
    let mut chance = Chance::seeded(5);
    let mut writer = checkpoints.begin(1).unwrap();
    let mut kept: Vec<(BlobRef, Vec<u8>)> = Vec::new();
    for length in [99, 100, 101, 199, 200, 201, 1_000, 0] {
        let bytes = chance.bytes(length);
        kept.push((writer.put_in_parts(&bytes, 100).unwrap(), bytes));
        let whole = chance.bytes(21);
        kept.push((writer.put(&whole).unwrap(), whole));
    }
    writer.settle().unwrap();
    kept.iter().for_each(|(blob, bytes)| assert_eq!(checkpoints.read(*blob).unwrap(), *bytes));
    writer.finish(b"m", &CheckpointMark::default()).unwrap();
    let files: Vec<u32> = kept.iter().map(|(blob, _)| blob.file).collect();
    checkpoints.retire(&files).unwrap();
    drop(checkpoints);
    let again = open(&disk.crash(1), &root).unwrap();
    kept.iter().for_each(|(blob, bytes)| assert_eq!(again.read(*blob).unwrap(), *bytes));
    for (blob, _) in kept.iter().filter(|(blob, _)| blob.parts().is_none()) {
        let refused = again.read(blob.of_parts());
        assert!(matches!(refused, Err(DurableError::Corrupt { .. })) || blob.length == 0, "{refused:?}");
    }
}

/// A part ends at most where its blob does, and the end of a blob begins at most with it; that the blob is kept in parts itself makes no difference.
#[test]
fn a_part_of_a_blob_is_read_alone() {
    let (_, _, checkpoints) = new_checkpoints();
    let mut chance = Chance::seeded(6);
    let bytes = chance.bytes(250);
    let mut writer = checkpoints.begin(1).unwrap();
    let blobs = [writer.put(&bytes).unwrap(), writer.put_in_parts(&bytes, 100).unwrap()];
    writer.finish(b"m", &CheckpointMark::default()).unwrap();
    for blob in blobs {
        for (at, length) in [(0, 250), (0, 0), (250, 0), (99, 2), (249, 1), (17, 200)] {
            let part = checkpoints.read_part(blob, at, length).unwrap();
            assert_eq!(part, bytes[at as usize..(at + length) as usize], "{length} bytes from {at}");
        }
        for length in [0, 1, 100, 101, 249, 250, 251, u32::MAX] {
            let from = if blob.parts().is_some() { 250 } else { 250_usize.saturating_sub(length as usize) };
            assert_eq!(checkpoints.read_end(blob, length).unwrap(), bytes[from..], "the last {length} bytes");
        }
        for (at, length) in [(0, 251), (250, 1), (251, 0), (1, u32::MAX), (u32::MAX, 1)] {
            let refused = checkpoints.read_part(blob, at, length);
            assert!(is_named_damage(&refused.unwrap_err()), "{length} bytes from {at}");
        }
    }
}

/// A file takes a blob that ends where the file may end, and none that would end behind that; an empty file takes any.
#[test]
fn blob_files_end_at_their_limit() {
    let (head, limit) = (HEADER_BYTES as u64, 1_000);
    for length in 0..=limit {
        let (_, _, checkpoints) = new_checkpoints();
        let mut writer = checkpoints.begin(1).unwrap();
        writer.file_bytes_max = limit;
        let first = writer.put(&vec![1; 500]).unwrap();
        let behind = head + (BLOB_HEAD_BYTES as u64 + 500).next_multiple_of(BLOB_ALIGNMENT_BYTES);
        let second = writer.put(&vec![2; length as usize]).unwrap();
        let fits = behind + BLOB_HEAD_BYTES as u64 + length <= limit;
        assert_eq!(first.file == second.file, fits, "{length} bytes behind {behind}");
        let begins = if fits { behind } else { head } + BLOB_HEAD_BYTES as u64;
        assert_eq!(second.offset, begins, "{length} bytes behind {behind}");
        writer.settle().unwrap();
        assert_eq!(checkpoints.read(first).unwrap(), vec![1; 500]);
        assert_eq!(checkpoints.read(second).unwrap(), vec![2; length as usize]);
    }
}

/// Blobs as long as the buffer go past it, and what follows lies behind them.
#[test]
fn blobs_about_as_long_as_the_buffer_are_read() {
    let (disk, root, checkpoints) = new_checkpoints();
    let (mut chance, mut writer) = (Chance::seeded(7), checkpoints.begin(1).unwrap());
    let lengths = [3, writer::BUFFER_BYTES - 1, 5, writer::BUFFER_BYTES, 7, writer::BUFFER_BYTES + 1, 9];
    let kept = lengths.map(|length| {
        let bytes = chance.bytes(length);
        (writer.put(&bytes).unwrap(), bytes)
    });
    writer.finish(b"m", &CheckpointMark::default()).unwrap();
    drop(checkpoints);
    let again = open(&disk.crash(1), &root).unwrap();
    kept.iter().for_each(|(blob, bytes)| assert!(again.read(*blob).unwrap() == *bytes));
}

fn drawn(chance: &mut Chance) -> Current {
    let mut current = Current::empty();
    for _ in 0..chance.below(6) {
        let kept = current
            .anchors
            .iter()
            .filter(|_| chance.below(2) == 0)
            .map(|anchor| anchor.commit_version)
            .collect();
        let mark = CheckpointMark {
            kept,
            time_micros: chance.next_u64(),
            log_bytes: chance.next_u64(),
            beside_log: chance.below(2) == 0,
        };
        let (commit_version, sequence) =
            (current.commit_version + chance.range(1..9), current.sequence + 1 + chance.below(3) as u32);
        current = current.after(commit_version, sequence, &mark);
    }
    current.live = (0..chance.below(5)).map(|_| (chance.next_u64() as u32, chance.next_u64())).collect();
    (current.history, current.next_file) = (chance.next_u64(), chance.next_u64() as u32);
    current
}

/// Whatever is written is read; with a length, an order or a count that cannot be, it is damage, though the checksums are right.
#[test]
fn what_is_current_is_read_as_it_was_written() {
    let file = Path::new("CURRENT");
    for seed in 0..200 {
        let mut chance = Chance::seeded(seed);
        let current = drawn(&mut chance);
        let bytes = current.encode();
        assert_eq!(Current::decode(&bytes, file).unwrap(), current, "seed {seed}");
        let (commit_version, body) =
            crate::header::unseal(crate::header::Kind::Current, &bytes, file).unwrap();
        assert_eq!(commit_version, current.commit_version);
        let sealed = |commit_version: u64, body: &[u8]| {
            Current::decode(&crate::header::seal(crate::header::Kind::Current, commit_version, body), file)
        };
        assert!(sealed(commit_version, body).is_ok() && sealed(commit_version + 1, body).is_err());
        for length in (0..body.len()).chain([body.len() + 1, body.len() + 12, body.len() + 32]) {
            let mut other = body.to_vec();
            other.resize(length, 0);
            assert!(sealed(commit_version, &other).is_err(), "seed {seed}, {length} bytes of {}", body.len());
        }
        for count in [16, 20] {
            for by in [1, u32::MAX, 1 << 31] {
                let mut other = body.to_vec();
                let wrong = crate::header::u32_at(&other, count).wrapping_add(by);
                other[count..count + 4].copy_from_slice(&wrong.to_le_bytes());
                assert!(sealed(commit_version, &other).is_err(), "seed {seed}: {wrong} of them");
            }
        }
        for at in 1..current.anchors.len() {
            let earlier = current.anchors[at - 1];
            let changes: [fn(&mut Anchor, &Anchor); 4] = [
                |later, earlier| later.commit_version = earlier.commit_version,
                |later, earlier| later.sequence = earlier.sequence,
                |later, earlier| later.commit_version = earlier.commit_version.saturating_sub(1),
                |later, earlier| later.sequence = earlier.sequence.saturating_sub(1),
            ];
            for change in changes {
                let mut other = current.clone();
                change(&mut other.anchors[at], &earlier);
                let last = other.anchors[other.anchors.len() - 1];
                (other.commit_version, other.sequence) = (last.commit_version, last.sequence);
                assert!(Current::decode(&other.encode(), file).is_err(), "seed {seed}: {other:?}");
            }
        }
        let names: Vec<(u64, String)> = current.manifests().collect();
        let expected = current.anchors.iter().filter(|anchor| anchor.sequence > 0);
        let expected: Vec<_> = expected
            .map(|anchor| {
                (
                    anchor.commit_version,
                    format!("MANIFEST-{:020}-{:08}", anchor.commit_version, anchor.sequence),
                )
            })
            .collect();
        assert_eq!(names, expected);
        assert_eq!(current.manifest_name(), expected.last().map(|(_, name)| name.clone()));
    }
}

#[test]
fn files_are_known_by_their_names_and_others_are_passed_over() {
    use crate::checkpoints::blobs::{blob_number, blob_path};
    use crate::log::segment::segment_number;
    for number in [1, 9, 10, 99_999_999, 100_000_000, u32::MAX] {
        let path = blob_path(Path::new("data"), number);
        assert_eq!(blob_number(&path.file_name().unwrap().to_string_lossy()), Some(number));
        let name = format!("{number:020}.log");
        assert_eq!(segment_number(&name), Some(u64::from(number)));
    }
    let blobs = [
        "00000000.blobs",
        "1.blobs",
        "000000001.blobs",
        "+0000001.blobs",
        "0000000a.blobs",
        "00000001.blob",
        ".blobs",
        "4294967296.blobs",
    ];
    for name in blobs {
        assert_eq!(blob_number(name), None, "{name}");
    }
    let logs = [
        "00000000000000000000.log",
        "1.log",
        "000000000000000000001.log",
        "+0000000000000000001.log",
        "00000000000000000001.lo",
        ".log",
    ];
    for name in logs {
        assert_eq!(segment_number(name), None, "{name}");
    }
}
