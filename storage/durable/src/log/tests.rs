use std::path::PathBuf;

use world::chance::Chance;
use world::disk::{Faults, SimDisk};

use super::*;
use crate::testing::{Entry, SMALL, is_named_damage, open_and_read, shared, sim, with_every_byte_damaged};

fn new_log() -> (SimDisk, PathBuf) {
    let (disk, root) = sim();
    let dir = root.join("log");
    Log::create(&disk, &dir).unwrap();
    disk.sync_dir(&root).unwrap();
    (disk, dir)
}

fn segment_path(dir: &Path, number: u64) -> PathBuf {
    Segment { number, base_version: 0 }.path(dir)
}

#[test]
fn golden_bytes_of_a_segment() {
    let (disk, dir) = new_log();
    let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
    log.append(&[(5, b"five"), (9, b"")]).unwrap();
    log.close().unwrap();
    let bytes = disk.read_whole(&dir.join("00000000000000000001.log")).unwrap();
    let hex: Vec<String> =
        bytes.chunks(4).map(|word| word.iter().map(|b| format!("{b:02x}")).collect()).collect();
    // Computed from docs/formats/log.md by another program.
    let golden = "74772d6c 6f670d0a 01000000 f0f6692d 01000000 00000000 00000000 00000000 \
                  04000000 43dce1df 05000000 00000000 20000000 66697665 00000000 fade20d1 \
                  09000000 00000000 20000000 00000000 d0ac793d 00000000 00000000 4c000000";
    assert_eq!(hex.join(" "), golden);
}

#[test]
fn what_was_appended_is_read_back_from_any_place_across_segments() {
    let (disk, dir) = new_log();
    let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
    let entries: Vec<Entry> = (1..=60).map(|n| (n * 2, vec![n as u8; (n % 40) as usize])).collect();
    for group in entries.chunks(3) {
        let group: Vec<(u64, &[u8])> =
            group.iter().map(|(commit_version, bytes)| (*commit_version, bytes.as_slice())).collect();
        log.append(&group).unwrap();
        log.sync().unwrap();
    }
    assert!(disk.list(&dir).unwrap().len() > 5, "the log has rotated");
    let lengths = disk.contents().values().map(|bytes| bytes.len() as u64).sum::<u64>();
    assert_eq!((log.bytes(), log.last_version()), (lengths, 120));
    drop(log);
    for from in 0..=122 {
        let (log, read) = open_and_read(&disk, &dir, from).unwrap();
        let wanted: Vec<Entry> =
            entries.iter().filter(|(commit_version, _)| *commit_version >= from).cloned().collect();
        assert_eq!(read, wanted, "from {from}");
        assert_eq!(log.bytes(), lengths);
    }
}

#[test]
fn versions_must_rise_and_groups_must_fit() {
    let (disk, dir) = new_log();
    let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
    assert_eq!(log.append(&[(0, b"")]), Err(DurableError::OutOfOrder { commit_version: 0, last: 0 }));
    log.append(&[(3, b"a"), (4, b"b")]).unwrap();
    assert_eq!(log.append(&[(4, b"c")]), Err(DurableError::OutOfOrder { commit_version: 4, last: 4 }));
    assert_eq!(
        log.append(&[(6, b"c"), (5, b"d")]),
        Err(DurableError::OutOfOrder { commit_version: 5, last: 6 })
    );
    log.append(&[]).unwrap();
    log.append(&[(5, b"e")]).unwrap();
    log.sync().unwrap();
    let (_, read) = open_and_read(&disk, &dir, 4).unwrap();
    assert_eq!(read, [(4, b"b".to_vec()), (5, b"e".to_vec())]);
}

/// A random call of the log.
fn random_step(log: &mut Log, chance: &mut Chance, model: &mut Model) -> DurableResult<()> {
    match chance.below(10) {
        0..=4 => {
            let group: Vec<Entry> = (0..chance.range(1..5))
                .map(|_| {
                    model.next_version += chance.range(1..3);
                    let length = if chance.happens(0.1) { 1500 } else { chance.index(40) };
                    (model.next_version, chance.bytes(length))
                })
                .collect();
            let borrowed: Vec<(u64, &[u8])> = group.iter().map(|(p, bytes)| (*p, bytes.as_slice())).collect();
            model.appended.extend(group.iter().cloned());
            log.append(&borrowed)
        }
        5..=7 => {
            log.sync()?;
            model.confirmed = model.appended.len();
            Ok(())
        }
        8 => {
            let commit_version = model
                .appended
                .get(chance.index(model.confirmed + 1))
                .map_or(1, |(commit_version, _)| *commit_version);
            model.given_up = model.given_up.max(commit_version);
            log.truncate_before(commit_version)
        }
        _ => log.close(),
    }
}

/// The obvious twin: a list.
#[derive(Default)]
struct Model {
    appended: Vec<Entry>,
    /// How many of them were synced.
    confirmed: usize,
    /// Records before this commit version may be gone.
    given_up: u64,
    next_version: u64,
}

impl Model {
    /// The records found must be those appended, up to some record not before the last confirmed one.
    fn check(&mut self, found: &[Entry], what: &str) {
        let from = self.appended.partition_point(|(commit_version, _)| *commit_version < self.given_up);
        let (needed, all) = (self.confirmed.saturating_sub(from), &self.appended[from..]);
        assert!(found.len() >= needed, "{what}: {} of {needed} confirmed records", found.len());
        assert!(found.len() <= all.len() && found == &all[..found.len()], "{what}: wrong records");
        self.appended.truncate(from + found.len());
        self.confirmed = self.appended.len();
    }
}

/// Crashes at every step of a random run, opens, checks, goes on, crashes again, checks again.
#[test]
fn every_crash_keeps_what_was_confirmed_and_nothing_half() {
    let (mut runs, mut cut) = (0, 0);
    for seed in 0..60 {
        for step in 1.. {
            let (disk, dir) = new_log();
            let mut model = Model::default();
            let what = format!("seed {seed} step {step}");
            let finished = run_until_power_fails(&disk, &dir, seed, step, &mut model);
            let appended = model.appended.len();
            let disk = disk.crash(seed * 1000 + step);
            let (_, found) =
                open_and_read(&disk, &dir, model.given_up).unwrap_or_else(|e| panic!("{what}: {e}"));
            model.check(&found, &what);
            cut += u32::from(model.appended.len() < appended);
            // Whoever opened it may rely on it at once: a second crash changes nothing that was handed out.
            model.next_version += 10;
            run_until_power_fails(&disk, &dir, seed + 1, step % 17 + 1, &mut model);
            let disk = disk.crash(seed * 1000 + step + 1);
            let (_, found) =
                open_and_read(&disk, &dir, model.given_up).unwrap_or_else(|e| panic!("{what}: {e}"));
            model.check(&found, &format!("{what}, second crash"));
            runs += 1;
            if finished {
                break;
            }
        }
    }
    assert!(runs > 2000 && cut > 200, "the rare branch must be reached: {runs} runs, {cut} cut");
}

/// Whether the run ended before the power did.
fn run_until_power_fails(disk: &SimDisk, dir: &Path, seed: u64, step: u64, model: &mut Model) -> bool {
    disk.set_faults(Faults { power_fails_at: Some(disk.operations() + step), ..Faults::default() });
    let mut chance = Chance::seeded(seed);
    let Ok((mut log, _)) = Log::open(shared(disk), dir, SMALL, model.given_up) else { return false };
    (0..25).all(|_| random_step(&mut log, &mut chance, model).is_ok())
}

/// Killed at any operation, opened, and only then the power fails: records that the open returned must still be there.
#[test]
fn what_a_killed_process_left_is_durable_once_it_was_opened() {
    for seed in 0..30 {
        for step in 1.. {
            let (disk, dir) = new_log();
            let mut model = Model::default();
            let what = format!("seed {seed} step {step}");
            let finished = run_until_power_fails(&disk, &dir, seed, step, &mut model);
            let disk = disk.kill();
            let (mut log, found) = open_and_read(&disk, &dir, model.given_up).unwrap();
            model.check(&found, &what);
            let after = (model.next_version + 1, b"after".to_vec());
            log.append(&[(after.0, &after.1)]).unwrap();
            log.sync().unwrap();
            model.appended.push(after);
            model.confirmed = model.appended.len();
            let disk = disk.crash(seed * 1000 + step);
            let (_, found) =
                open_and_read(&disk, &dir, model.given_up).unwrap_or_else(|e| panic!("{what}: {e}"));
            model.check(&found, &what);
            if finished {
                break;
            }
        }
    }
}

/// A disk that is full for one moment, at any operation: refused records never come back, confirmed ones stay, and the log goes on unless it says
/// that it does not.
#[test]
fn a_full_disk_at_any_operation_loses_nothing() {
    let (mut refused, mut went_on) = (0, 0);
    for seed in 0..300 {
        let step = seed % 300 + 1;
        let (disk, dir) = new_log();
        let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
        disk.set_faults(Faults { full_at: Some(disk.operations() + step), ..Faults::default() });
        let (mut confirmed, mut kept) = (0, Vec::new());
        for commit_version in 1..=62 {
            let payload = vec![commit_version as u8; 30];
            if log.append(&[(commit_version, &payload)]).is_err() {
                refused += 1;
                continue;
            }
            kept.push((commit_version, payload));
            if commit_version % 3 == 0 && log.sync().is_ok() {
                confirmed = kept.len();
            }
            // Truncation is where a segment is begun early: being refused there, or half-way, must not confuse what follows.
            if commit_version % 20 == 1 {
                let _ = log.truncate_before(1000);
                (confirmed, kept) = (0, Vec::new());
            }
        }
        if log.close().is_ok() {
            went_on += 1;
            confirmed = kept.len();
        }
        let first = kept.first().map_or(63, |(commit_version, _): &Entry| *commit_version);
        let (_, found) =
            open_and_read(&disk.crash(seed), &dir, first).unwrap_or_else(|e| panic!("{seed}: {e}"));
        assert!(found.len() >= confirmed && kept.starts_with(&found), "seed {seed}");
    }
    assert!(refused > 10 && went_on > 10, "{refused} refused, {went_on} went on");
}

#[test]
fn a_creation_cut_short_is_done_again() {
    for step in 1..10 {
        for seed in 0..20 {
            let (disk, root) = sim();
            disk.set_faults(Faults { power_fails_at: Some(disk.operations() + step), ..Faults::default() });
            let _ = Log::create(&disk, &root.join("log"));
            let disk = disk.crash(seed);
            Log::create(&disk, &root.join("log")).unwrap();
            assert_eq!(open_and_read(&disk, &root.join("log"), 1).unwrap().1, []);
        }
    }
}

fn three_segments() -> (SimDisk, PathBuf, Vec<Entry>) {
    let (disk, dir) = new_log();
    let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
    let entries: Vec<Entry> = (1..=9).map(|n| (n, vec![n as u8 * 3; 24])).collect();
    for (commit_version, bytes) in &entries {
        log.append(&[(*commit_version, bytes)]).unwrap();
        log.sync().unwrap();
    }
    log.close().unwrap();
    assert_eq!(disk.list(&dir).unwrap().len(), 3);
    (disk, dir, entries)
}

#[test]
fn every_damaged_byte_is_named() {
    let (disk, dir, entries) = three_segments();
    let last = segment_path(&dir, 3);
    let mark = disk.size(&last).unwrap() - FRAME_BYTES as u64;
    with_every_byte_damaged(&disk, |disk, path, offset| match open_and_read(disk, &dir, 1) {
        Err(error) => assert!(is_named_damage(&error), "{path:?} {offset}: {error}"),
        // Only the closing mark of the last segment looks like a torn tail, and it carries nothing.
        Ok((_, found)) => assert!(path == last && offset >= mark && found == entries, "{path:?} {offset}"),
    });
}

#[test]
fn a_cut_is_damage_in_earlier_segments_and_a_torn_tail_in_the_last() {
    let (disk, dir, entries) = three_segments();
    for number in 1..=3 {
        let path = segment_path(&dir, number);
        for length in 0..disk.size(&path).unwrap() {
            let disk = disk.copy();
            disk.open(&path, OpenHow::Write).unwrap().truncate(length).unwrap();
            match open_and_read(&disk, &dir, 1) {
                Err(error) => assert!(number < 3 && is_named_damage(&error), "{number} {length}: {error}"),
                Ok((log, found)) => {
                    assert!(number == 3 && entries.starts_with(&found), "{number} {length}");
                    assert_eq!(log.last_version(), found.len() as u64);
                }
            }
        }
    }
}

#[test]
fn a_missing_segment_is_damage() {
    for number in 1..=2 {
        let (disk, dir, _) = three_segments();
        disk.remove(&segment_path(&dir, number)).unwrap();
        let error = open_and_read(&disk, &dir, 1).err().unwrap();
        assert!(is_named_damage(&error), "{error}");
    }
    let (disk, dir, _) = three_segments();
    for number in 1..=3 {
        disk.remove(&segment_path(&dir, number)).unwrap();
    }
    assert!(is_named_damage(&open_and_read(&disk, &dir, 1).err().unwrap()));
}

#[test]
fn a_renamed_segment_is_damage() {
    let (disk, dir, _) = three_segments();
    disk.rename(&segment_path(&dir, 2), &segment_path(&dir, 1)).unwrap();
    disk.rename(&segment_path(&dir, 3), &segment_path(&dir, 2)).unwrap();
    assert!(is_named_damage(&open_and_read(&disk, &dir, 1).err().unwrap()));
}

/// Two groups were written and never synced; the disk kept only the second. Nobody was promised either, so this is no damage.
#[test]
fn a_hole_in_what_was_never_synced_is_a_torn_tail() {
    let (disk, dir) = new_log();
    let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
    log.append(&[(1, b"kept")]).unwrap();
    log.sync().unwrap();
    let hole = disk.size(&segment_path(&dir, 1)).unwrap();
    log.append(&[(2, b"lost")]).unwrap();
    log.append(&[(3, b"kept by chance")]).unwrap();
    disk.damage(&segment_path(&dir, 1), hole, 0xFF);
    let (mut log, found) = open_and_read(&disk, &dir, 1).unwrap();
    assert_eq!(found, [(1, b"kept".to_vec())]);
    log.append(&[(2, b"again")]).unwrap();
    log.sync().unwrap();
    assert_eq!(open_and_read(&disk, &dir, 2).unwrap().1, [(2, b"again".to_vec())]);
}

/// The same hole, but the first group was synced before the second was written: it was acknowledged.
#[test]
fn a_hole_in_what_was_synced_is_damage() {
    let (disk, dir) = new_log();
    let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
    log.append(&[(1, b"promised")]).unwrap();
    log.sync().unwrap();
    log.append(&[(2, b"behind")]).unwrap();
    disk.damage(&segment_path(&dir, 1), HEADER_BYTES as u64 + 20, 0xFF);
    let error = open_and_read(&disk, &dir, 1).err().unwrap();
    let what = "a record does not match its checksum".to_string();
    assert_eq!(error, DurableError::Corrupt { file: segment_path(&dir, 1), offset: 32, what });
}

#[test]
fn a_full_disk_refuses_the_group_and_nothing_else() {
    for seed in 0..100 {
        let (disk, dir) = new_log();
        let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
        log.append(&[(1, b"first")]).unwrap();
        log.sync().unwrap();
        let room = seed % 70;
        disk.set_faults(Faults { capacity_bytes: Some(log.bytes() + room), ..Faults::default() });
        let error = log.append(&[(2, &[2; 20]), (3, &[3; 20])]).unwrap_err();
        assert!(matches!(error, DurableError::Disk(DiskError::Full { .. })), "{error}");
        let read: Vec<u64> =
            log.records_from(1).unwrap().map(|record| record.unwrap().commit_version).collect();
        assert_eq!((read, log.last_version()), (vec![1], 1));
        let found = open_and_read(&disk.crash(seed), &dir, 1).unwrap().1;
        assert_eq!(found, [(1, b"first".to_vec())], "what was refused never comes back");
    }
}

#[test]
fn a_log_goes_on_when_the_disk_has_space_again() {
    for room in 0..120 {
        let (disk, dir) = new_log();
        let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
        disk.set_faults(Faults { capacity_bytes: Some(log.bytes() + 100 + room), ..Faults::default() });
        let mut commit_version = 1;
        while log.append(&[(commit_version, &[1; 7])]).and_then(|()| log.sync()).is_ok() {
            commit_version += 1;
        }
        disk.set_faults(Faults::default());
        log.append(&[(commit_version, b"after")]).unwrap();
        log.append(&[(commit_version + 1, &[2; 200])]).unwrap();
        log.append(&[(commit_version + 2, b"in another segment")]).unwrap();
        log.close().unwrap();
        let commit_versions: Vec<u64> =
            open_and_read(&disk, &dir, 1).unwrap().1.into_iter().map(|(p, _)| p).collect();
        assert!(commit_versions.into_iter().eq(1..=commit_version + 2), "room {room}");
    }
}

#[test]
fn a_failed_sync_or_write_is_final_until_the_log_is_opened_again() {
    for failing in 1..=2 {
        let (disk, dir) = new_log();
        let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
        log.append(&[(1, b"safe")]).unwrap();
        log.sync().unwrap();
        disk.set_faults(Faults { error_at: Some(disk.operations() + failing), ..Faults::default() });
        let first = log.append(&[(2, b"unsure")]).and_then(|()| log.sync()).unwrap_err();
        assert!(matches!(first, DurableError::Unconfirmed { .. }), "{first}");
        for refused in [log.sync(), log.append(&[(3, b"")]), log.truncate_before(1), log.close()] {
            assert!(matches!(refused, Err(DurableError::Poisoned { .. })));
        }
        assert!(log.records_from(1).unwrap().all(|record| record.is_ok()), "reading goes on");
        let (_, found) = open_and_read(&disk.crash(failing), &dir, 1).unwrap();
        assert_eq!(found[0], (1, b"safe".to_vec()));
    }
}

/// A sync failed and the process ended. The next one read the records from the system's cache, synced, which reported success without
/// writing them, and went on; a power failure then left a hole before records that had been confirmed. Found by `testing/sim`.
#[test]
fn what_a_failed_sync_left_in_the_cache_is_written_again_on_open() {
    for seed in 0..40 {
        let (disk, dir) = new_log();
        let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
        log.append(&[(1, &[1; 30])]).unwrap();
        log.sync().unwrap();
        log.append(&[(2, &[2; 600])]).unwrap();
        disk.set_faults(Faults { error_at: Some(disk.operations() + 1), ..Faults::default() });
        assert!(log.sync().is_err());
        drop(log);
        let disk = disk.kill();
        let (mut log, read) = open_and_read(&disk, &dir, 1).unwrap();
        assert_eq!(read.len(), 2, "the cache still shows both");
        log.append(&[(3, b"three")]).unwrap();
        log.sync().unwrap();
        let (_, read) = open_and_read(&disk.crash(seed), &dir, 1).unwrap();
        let commit_versions: Vec<u64> = read.iter().map(|(commit_version, _)| *commit_version).collect();
        assert_eq!(commit_versions, [1, 2, 3], "seed {seed}");
    }
}

#[test]
fn truncation_frees_whole_segments_and_says_so_to_who_asks_for_more() {
    let (disk, dir, entries) = three_segments();
    let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
    log.truncate_before(2).unwrap();
    assert_eq!(disk.list(&dir).unwrap().len(), 3, "the first segment holds later records too");
    log.truncate_before(8).unwrap();
    let (mut log, found) = open_and_read(&disk, &dir, 8).unwrap();
    assert!(entries.ends_with(&found) && found.len() == 2);
    assert!(is_named_damage(&log.records_from(1).err().unwrap()));
    log.truncate_before(100).unwrap();
    assert_eq!((log.bytes(), log.last_version()), (HEADER_BYTES as u64, 9));
    log.append(&[(10, b"x")]).unwrap();
    log.close().unwrap();
    assert_eq!(open_and_read(&disk, &dir, 10).unwrap().1, [(10, b"x".to_vec())]);
}

#[test]
fn a_log_can_be_advanced_past_versions_it_never_held() {
    let (disk, dir) = new_log();
    let (mut log, _) = open_and_read(&disk, &dir, 1).unwrap();
    log.append(&[(1, b"a")]).unwrap();
    log.advance_to(100).unwrap();
    log.advance_to(50).unwrap();
    assert_eq!(log.append(&[(100, b"")]), Err(DurableError::OutOfOrder { commit_version: 100, last: 100 }));
    let (mut log, found) = open_and_read(&disk.crash(1), &dir, 1).unwrap();
    assert_eq!((found, log.last_version()), (vec![(1, b"a".to_vec())], 100));
    log.append(&[(101, b"b")]).unwrap();
}

#[test]
fn a_newer_format_is_not_called_damage() {
    let (disk, dir) = new_log();
    let path = segment_path(&dir, 1);
    let mut bytes = disk.read_whole(&path).unwrap();
    bytes[8] = 2;
    let crc = crc32fast::hash(&[&bytes[0..12], &bytes[16..32]].concat());
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    disk.open(&path, OpenHow::Write).unwrap().write_at(&bytes, 0).unwrap();
    let error = open_and_read(&disk, &dir, 1).err().unwrap();
    assert_eq!(error, DurableError::NewerFormat { file: path, found: 2, supported: 1 });
}
