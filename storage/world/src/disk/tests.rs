use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::chance::Chance;
use crate::files::TemporaryFolder;

fn sim_with_folder() -> (SimDisk, PathBuf) {
    let disk = SimDisk::new();
    let folder = PathBuf::from("/db");
    disk.create_dir_all(&folder).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    (disk, folder)
}

/// What every disk must do alike.
fn check_basics(disk: &dyn Disk, root: &Path) {
    let folder = root.join("a/b");
    disk.create_dir_all(&folder).unwrap();
    let path = folder.join("x");
    assert!(matches!(disk.open(&path, OpenHow::Read), Err(DiskError::NotFound { .. })));
    assert!(matches!(disk.open(&path, OpenHow::Write), Err(DiskError::NotFound { .. })));
    for how in [OpenHow::CreateNew, OpenHow::Replace] {
        let nowhere = disk.open(&root.join("nowhere/x"), how);
        assert!(matches!(nowhere, Err(DiskError::NotFound { .. })), "a file needs its folder");
    }
    let file = disk.open(&path, OpenHow::CreateNew).unwrap();
    assert!(disk.open(&path, OpenHow::CreateNew).is_err());
    assert_eq!(file.append(b"hello").unwrap(), 0);
    assert_eq!(file.append(b" world").unwrap(), 5);
    file.write_at(b"W", 6).unwrap();
    file.write_at(b"", 99).unwrap();
    assert_eq!(file.len().unwrap(), 11, "nothing makes no file longer");
    file.sync().unwrap();
    let mut buffer = [0; 8];
    assert_eq!(file.read_at(&mut buffer, 6).unwrap(), 5);
    assert_eq!(&buffer[..5], b"World");
    assert_eq!(file.read_at(&mut buffer, 99).unwrap(), 0);
    file.truncate(5).unwrap();
    assert_eq!((file.len().unwrap(), file.is_empty().unwrap()), (5, false));
    assert!(disk.open(&path, OpenHow::Read).unwrap().write_at(b"x", 0).is_err());
    disk.rename(&path, &folder.join("y")).unwrap();
    disk.open(&folder.join("z"), OpenHow::Replace).unwrap().append(b"1").unwrap();
    disk.sync_dir(&folder).unwrap();
    assert_eq!(disk.list(&folder).unwrap(), ["y", "z"]);
    assert_eq!(disk.read_whole(&folder.join("y")).unwrap(), b"hello");
    assert_eq!(disk.size(&folder.join("z")).unwrap(), 1);
    assert!(disk.open(&folder.join("z"), OpenHow::Replace).unwrap().is_empty().unwrap());
    assert!(disk.is_dir(&folder).unwrap() && !disk.is_dir(&folder.join("y")).unwrap());
    assert!(disk.remove(&folder).is_err(), "a folder with something in it stays");
    disk.remove(&folder.join("y")).unwrap();
    disk.remove(&folder.join("z")).unwrap();
    disk.remove(&folder).unwrap();
    assert!(!disk.exists(&folder).unwrap() && disk.exists(&root.join("a")).unwrap());
    assert!(matches!(disk.remove(&folder), Err(DiskError::NotFound { .. })));
    assert!(matches!(disk.list(&folder), Err(DiskError::NotFound { .. })));
}

fn check_locks(disk: &dyn Disk, root: &Path) {
    let path = root.join("LOCK");
    let held = disk.lock(&path).unwrap();
    let refused = disk.lock(&path).err();
    assert_eq!(refused, Some(DiskError::Locked { path: path.clone(), pid: Some(std::process::id()) }));
    drop(held);
    drop(disk.lock(&path).unwrap());
    assert!(disk.exists(&path).unwrap());
}

#[test]
fn the_real_disk_does_what_every_disk_does() {
    let folder = TemporaryFolder::new("disk-test").unwrap();
    check_basics(&RealDisk, folder.path());
    check_locks(&RealDisk, folder.path());
}

#[test]
fn the_simulated_disk_does_what_every_disk_does() {
    let (disk, folder) = sim_with_folder();
    check_basics(&disk, &folder);
    check_locks(&disk, &folder);
}

#[test]
fn an_overlay_does_what_every_disk_does_and_leaves_what_is_below() {
    let (below, folder) = sim_with_folder();
    below.open(&folder.join("kept"), OpenHow::CreateNew).unwrap().append(b"below").unwrap();
    below.open(&folder.join("gone"), OpenHow::CreateNew).unwrap().append(b"there").unwrap();
    let (before, operations) = (below.contents(), below.operations());
    let disk = OverlayDisk::new(Arc::new(below.clone()));
    check_basics(&disk, &folder);
    check_locks(&disk, &folder);
    assert_eq!(disk.read_whole(&folder.join("kept")).unwrap(), b"below");
    let file = disk.open(&folder.join("kept"), OpenHow::Write).unwrap();
    file.truncate(2).unwrap();
    file.append(b"!").unwrap();
    assert_eq!(disk.read_whole(&folder.join("kept")).unwrap(), b"be!");
    assert_eq!(disk.size(&folder.join("kept")).unwrap(), 3);
    disk.rename(&folder.join("gone"), &folder.join("moved")).unwrap();
    assert_eq!(disk.list(&folder).unwrap(), ["LOCK", "a", "kept", "moved"]);
    assert_eq!(disk.read_whole(&folder.join("moved")).unwrap(), b"there");
    assert!(!disk.exists(&folder.join("gone")).unwrap());
    assert!(matches!(disk.read_whole(&folder.join("gone")), Err(DiskError::NotFound { .. })));
    disk.remove(&folder.join("moved")).unwrap();
    disk.open(&folder.join("kept"), OpenHow::Replace).unwrap();
    assert_eq!(disk.size(&folder.join("kept")).unwrap(), 0);
    assert_eq!((below.contents(), below.operations()), (before, operations), "below nothing has changed");
}

#[test]
fn disks_can_be_shared_as_objects() {
    let disks: [Arc<dyn Disk>; 2] = [Arc::new(RealDisk), Arc::new(SimDisk::new())];
    assert!(disks.iter().all(|disk| !disk.exists(Path::new("/no such name here")).unwrap()));
}

#[test]
fn synced_bytes_under_synced_names_survive_every_crash() {
    for seed in 0..200 {
        let (disk, folder) = sim_with_folder();
        let file = disk.open(&folder.join("x"), OpenHow::CreateNew).unwrap();
        let kept = Chance::seeded(seed).bytes(3000);
        file.append(&kept).unwrap();
        file.sync().unwrap();
        disk.sync_dir(&folder).unwrap();
        file.append(&[7; 3000]).unwrap();
        let found = disk.crash(seed).read_whole(&folder.join("x")).unwrap();
        assert_eq!(&found[..3000], &kept, "seed {seed}");
        assert!(found[3000..].iter().all(|&byte| byte == 7 || byte == 0), "seed {seed}");
        assert!(file.append(b"x").is_err(), "handles of the crashed disk are dead");
    }
}

/// The rare outcomes are the reason for this disk: this asserts that each of them is drawn.
#[test]
fn crashes_tear_reorder_and_lose() {
    let (mut torn, mut reordered, mut lost, mut whole, mut nameless) = (0, 0, 0, 0, 0);
    for seed in 0..400 {
        let (disk, folder) = sim_with_folder();
        let file = disk.open(&folder.join("x"), OpenHow::CreateNew).unwrap();
        file.append(&[1; 2048]).unwrap();
        file.append(&[2; 2048]).unwrap();
        let found = disk.crash(seed);
        let Ok(bytes) = found.read_whole(&folder.join("x")) else {
            nameless += 1;
            continue;
        };
        let ones = bytes.iter().filter(|&&byte| byte == 1).count();
        let twos = bytes.iter().filter(|&&byte| byte == 2).count();
        lost += u32::from(ones + twos == 0);
        whole += u32::from(ones + twos == 4096);
        torn += u32::from(ones > 0 && ones < 2048);
        reordered += u32::from(ones < 2048 && twos > 0);
    }
    let seen = [torn, reordered, lost, whole, nameless];
    assert!(seen.iter().all(|&count| count > 10), "torn, reordered, lost, whole, nameless: {seen:?}");
}

#[test]
fn a_crash_is_replayed_by_its_seed() {
    let run = |seed| {
        let (disk, folder) = sim_with_folder();
        for name in ["x", "y", "z"] {
            disk.open(&folder.join(name), OpenHow::CreateNew).unwrap().append(&[9; 5000]).unwrap();
        }
        disk.crash(seed).contents()
    };
    assert_eq!(run(5), run(5));
    assert!((0..20).any(|seed| run(seed) != run(5)));
}

#[test]
fn a_rename_without_syncing_its_folder_is_all_or_nothing() {
    let mut seen = [0, 0];
    for seed in 0..100 {
        let (disk, folder) = sim_with_folder();
        for (name, bytes) in [("old", b"1"), ("new", b"2")] {
            let file = disk.open(&folder.join(name), OpenHow::CreateNew).unwrap();
            file.append(bytes).unwrap();
            file.sync().unwrap();
        }
        disk.sync_dir(&folder).unwrap();
        disk.rename(&folder.join("new"), &folder.join("old")).unwrap();
        let found = disk.crash(seed);
        match found.read_whole(&folder.join("old")).unwrap().as_slice() {
            b"1" => seen[0] += u32::from(found.exists(&folder.join("new")).unwrap()),
            b"2" => seen[1] += u32::from(!found.exists(&folder.join("new")).unwrap()),
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(seen[0] + seen[1] == 100 && seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

/// Each folder answers for its own names.
#[test]
fn syncing_a_folder_keeps_the_names_in_it_and_no_others() {
    let found = |synced: &str, seed: u64| {
        let (disk, folder) = sim_with_folder();
        for name in ["a", "b"] {
            disk.create_dir_all(&folder.join(name)).unwrap();
        }
        disk.sync_dir(&folder).unwrap();
        for name in ["a/x", "b/x", "b/old"] {
            disk.open(&folder.join(name), OpenHow::CreateNew).unwrap();
        }
        disk.sync_dir(&folder.join("b")).unwrap();
        disk.rename(&folder.join("b/old"), &folder.join("a/new")).unwrap();
        disk.remove(&folder.join("b/x")).unwrap();
        disk.sync_dir(&folder.join(synced)).unwrap();
        let disk = disk.crash(seed);
        ["a/x", "a/new", "b/x", "b/old"].map(|name| disk.exists(&folder.join(name)).unwrap())
    };
    let seen =
        |synced: &str| (0..40).map(|seed| found(synced, seed)).collect::<std::collections::BTreeSet<_>>();
    let (a, b, above) = (seen("a"), seen("b"), seen(""));
    // A rename is of both folders; what was made in `a` is sure with `a`, what was removed from `b` with `b`.
    assert!(a.iter().all(|[x, new, _, old]| *x && *new && !*old) && a.iter().any(|found| found[2]), "{a:?}");
    assert!(
        b.iter().all(|[_, new, x, old]| *new && !*x && !*old) && b.iter().any(|found| !found[0]),
        "{b:?}"
    );
    assert!(above.iter().any(|found| !found[0]) && above.iter().any(|found| found[2]), "{above:?}");
}

#[test]
fn what_a_failed_sync_covered_is_never_promised_again() {
    let mut lost = 0;
    for seed in 0..50 {
        let (disk, folder) = sim_with_folder();
        let file = disk.open(&folder.join("x"), OpenHow::CreateNew).unwrap();
        disk.sync_dir(&folder).unwrap();
        file.append(b"12345").unwrap();
        disk.set_faults(Faults { error_at: Some(disk.operations() + 1), ..Faults::default() });
        assert!(matches!(file.sync(), Err(DiskError::Io { operation: "sync", .. })));
        file.sync().unwrap();
        lost += u32::from(disk.crash(seed).read_whole(&folder.join("x")).unwrap() != b"12345");
    }
    assert!(lost > 0, "the second sync must not have saved what the first one lost");
}

#[test]
fn what_is_written_again_and_synced_after_a_failed_sync_is_safe() {
    for seed in 0..50 {
        let (disk, folder) = sim_with_folder();
        let file = disk.open(&folder.join("x"), OpenHow::CreateNew).unwrap();
        disk.sync_dir(&folder).unwrap();
        file.append(b"12345").unwrap();
        disk.set_faults(Faults { full_at: Some(disk.operations() + 1), ..Faults::default() });
        assert!(matches!(file.sync(), Err(DiskError::Full { .. })));
        file.truncate(0).unwrap();
        file.append(b"123").unwrap();
        file.sync().unwrap();
        assert_eq!(disk.crash(seed).read_whole(&folder.join("x")).unwrap(), b"123");
    }
}

#[test]
fn killing_a_process_loses_nothing_until_the_power_fails_too() {
    let mut lost = 0;
    for seed in 0..50 {
        let (disk, folder) = sim_with_folder();
        let file = disk.open(&folder.join("x"), OpenHow::CreateNew).unwrap();
        let _lock = disk.lock(&folder.join("LOCK")).unwrap();
        file.append(b"12345").unwrap();
        let disk = disk.kill();
        assert!(file.sync().is_err(), "the dead write nothing");
        drop(disk.lock(&folder.join("LOCK")).unwrap());
        assert_eq!(disk.read_whole(&folder.join("x")).unwrap(), b"12345");
        lost += u32::from(disk.crash(seed).read_whole(&folder.join("x")).is_err());
    }
    assert!(lost > 0);
}

#[test]
fn a_full_disk_takes_a_part_and_says_so() {
    let (disk, folder) = sim_with_folder();
    let path = folder.join("x");
    let file = disk.open(&path, OpenHow::CreateNew).unwrap();
    disk.set_faults(Faults { capacity_bytes: Some(10), ..Faults::default() });
    file.append(b"1234567").unwrap();
    assert_eq!(file.append(b"abcdef"), Err(DiskError::Full { path: path.clone() }));
    assert_eq!(disk.read_whole(&path).unwrap(), b"1234567abc");
    file.write_at(b"X", 0).unwrap();
    file.truncate(2).unwrap();
    file.append(b"34").unwrap();
    assert_eq!(disk.read_whole(&path).unwrap(), b"X234");
}

#[test]
fn power_fails_at_the_operation_named() {
    let (disk, folder) = sim_with_folder();
    let file = disk.open(&folder.join("x"), OpenHow::CreateNew).unwrap();
    disk.set_faults(Faults { power_fails_at: Some(disk.operations() + 2), ..Faults::default() });
    file.append(b"1").unwrap();
    assert!(file.sync().is_err());
    assert!(disk.read_whole(&folder.join("x")).is_err(), "nothing works without power");
    disk.crash(1).list(&folder).unwrap();
}

#[test]
fn damage_is_silent() {
    let (disk, folder) = sim_with_folder();
    let file = disk.open(&folder.join("x"), OpenHow::CreateNew).unwrap();
    file.append(b"abc").unwrap();
    disk.damage(&folder.join("x"), 1, 0x01);
    assert_eq!(disk.read_whole(&folder.join("x")).unwrap(), b"acc");
}

#[test]
fn errors_say_what_where_and_why() {
    let path = PathBuf::from("/db/x");
    let io = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let cases = [
        (DiskError::NotFound { path: path.clone() }, "/db/x does not exist"),
        (DiskError::Full { path: path.clone() }, "no space left on the disk while writing /db/x"),
        (DiskError::Locked { path: path.clone(), pid: Some(7) }, "/db/x is locked by process 7"),
        (DiskError::from_io(&io, &path, "open"), "cannot open /db/x: permission denied"),
    ];
    for (error, words) in cases {
        assert_eq!(error.to_string(), words);
    }
}

/// Graphs and hashes of passwords are nobody else's affair.
#[test]
fn what_is_created_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = crate::files::TemporaryFolder::new("modes").unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let inner = folder.path().join("a/b");
    RealDisk.create_dir_all(&inner).unwrap();
    drop(RealDisk.open(&inner.join("new"), OpenHow::CreateNew).unwrap());
    drop(RealDisk.open(&inner.join("replaced"), OpenHow::Replace).unwrap());
    drop(RealDisk.lock(&inner.join("LOCK")).unwrap());
    for path in [folder.path(), &folder.path().join("a"), &inner] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
    for name in ["new", "replaced", "LOCK"] {
        assert_eq!(mode(&inner.join(name)), 0o600, "{name}");
    }
}

/// What a failure of power leaves of sectors that were not synced: nothing, everything, any beginning of what was written, or some of them in no order.
#[test]
fn a_failure_of_power_leaves_each_kind_of_part() {
    const SECTORS: usize = 16;
    // It begins and ends within a sector, so it is cut at borders that are not its own.
    const WRITTEN: std::ops::Range<usize> = 100..SECTORS * 512 - 400;
    let (mut beginnings, mut scattered) = (std::collections::BTreeSet::new(), 0);
    for seed in 0..600 {
        let (disk, folder) = sim_with_folder();
        let file = disk.open(&folder.join("x"), OpenHow::CreateNew).unwrap();
        file.append(&[0; SECTORS * 512]).unwrap();
        file.sync().unwrap();
        disk.sync_dir(&folder).unwrap();
        file.write_at(&[1; WRITTEN.end - WRITTEN.start], WRITTEN.start as u64).unwrap();
        let after = disk.crash(seed).read_whole(&folder.join("x")).unwrap();
        assert_eq!((after.len(), after[..100].iter().all(|byte| *byte == 0)), (SECTORS * 512, true));
        let kept: Vec<bool> = after.chunks(512).map(|sector| sector.contains(&1)).collect();
        for (at, sector) in after.chunks(512).enumerate() {
            let ones = sector.iter().filter(|byte| **byte == 1).count();
            let whole = WRITTEN.end.min(at * 512 + 512) - WRITTEN.start.max(at * 512);
            assert!(ones == 0 || ones == whole, "seed {seed}: sector {at} is torn");
        }
        match kept.iter().position(|kept| !kept) {
            Some(first) if kept[first..].contains(&true) => scattered += 1,
            first => _ = beginnings.insert(first.unwrap_or(SECTORS)),
        }
    }
    assert_eq!(beginnings, (0..=SECTORS).collect(), "every beginning, nothing and everything among them");
    assert!((60..300).contains(&scattered), "{scattered} of 600 are in no order");
}

mod random;
