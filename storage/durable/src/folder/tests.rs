use world::disk::{Faults, OpenHow, RealDisk, SimDisk};
use world::files::TemporaryFolder;

use super::*;
use crate::testing::{is_named_damage, shared, sim};
use crate::{LocalFolder, LogOptions};

fn open(disk: &SimDisk, path: &Path, mode: OpenMode) -> DurableResult<Folder> {
    Folder::open(&shared(disk), path, mode)
}

#[test]
fn a_folder_is_created_once_and_keeps_its_identity() {
    let (disk, root) = sim();
    let path = root.join("deep/inside");
    assert_eq!(
        open(&disk, &path, OpenMode::Existing).err(),
        Some(DurableError::NoDatabase { path: path.clone() })
    );
    let id = open(&disk, &path, OpenMode::CreateIfMissing).unwrap().creation_id();
    let again = open(&disk.crash(3), &path, OpenMode::Existing).unwrap();
    assert_eq!((again.creation_id(), again.path()), (id, path.as_path()));
    let other = open(&disk, &root.join("other"), OpenMode::CreateIfMissing);
    assert!(other.is_err(), "the crashed disk is dead");
    let (disk, root) = sim();
    assert_ne!(open(&disk, &root, OpenMode::CreateIfMissing).unwrap().creation_id(), id);
}

#[test]
fn a_database_is_open_once() {
    let folder = TemporaryFolder::new("folder-test").unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let held = Folder::open(&disk, folder.path(), OpenMode::CreateIfMissing).unwrap();
    let refused = Folder::open(&disk, folder.path(), OpenMode::CreateIfMissing).err().unwrap();
    let (path, pid) = (folder.path().to_path_buf(), Some(std::process::id()));
    assert_eq!(refused, DurableError::AlreadyOpen { path, pid });
    assert!(refused.to_string().ends_with(&format!("is already open in process {}", std::process::id())));
    drop(held);
    Folder::open(&disk, folder.path(), OpenMode::Existing).unwrap();
}

#[test]
fn a_folder_with_something_else_in_it_is_left_alone() {
    let (disk, root) = sim();
    disk.open(&root.join("thesis.txt"), OpenHow::CreateNew).unwrap().append(b"words").unwrap();
    for mode in [OpenMode::CreateIfMissing, OpenMode::Existing] {
        let error = open(&disk, &root, mode).err().unwrap();
        assert_eq!(error, DurableError::NotADatabase { path: root.clone() });
        assert_eq!(error.to_string(), "/db is not a Tanglewood database");
        assert_eq!(error.hint(), Some("choose an empty or a new folder"));
    }
    let file = root.join("thesis.txt");
    let error = open(&disk, &file, OpenMode::CreateIfMissing).err();
    assert_eq!(error, Some(DurableError::NotADatabase { path: file }));
    assert_eq!(disk.list(&root).unwrap(), ["thesis.txt"]);
}

#[test]
fn a_newer_database_says_so() {
    let (disk, root) = sim();
    drop(open(&disk, &root, OpenMode::CreateIfMissing).unwrap());
    let path = root.join(IDENTITY_NAME);
    let mut bytes = disk.read_whole(&path).unwrap();
    bytes[8] = 9;
    let crc = crc32fast::hash(&[&bytes[0..12], &bytes[16..32]].concat());
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    disk.open(&path, OpenHow::Write).unwrap().write_at(&bytes, 0).unwrap();
    let error = open(&disk, &root, OpenMode::Existing).err().unwrap();
    assert_eq!(error, DurableError::NewerFormat { file: path, found: 9, supported: 1 });
}

#[test]
fn golden_bytes_of_an_identity() {
    // Computed from docs/formats/log.md by another program.
    let hex =
        "74772d69 64656e74 01000000 fe1b9447 01000000 00000000 08000000 00000000 02000000 00000000 14d80727";
    let digits: String = hex.split(' ').collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
    assert_eq!(decode_identity(&bytes, Path::new("IDENTITY")), Ok(2 << 64 | 1));
    assert_eq!(seal(Kind::Identity, 1, &2u64.to_le_bytes()), bytes);
}

#[test]
fn a_lost_identity_is_damage_not_an_empty_folder() {
    let (disk, root) = sim();
    drop(open(&disk, &root, OpenMode::CreateIfMissing).unwrap());
    let log = root.join("log/00000000000000000001.log");
    disk.open(&log, OpenHow::Write).unwrap().append(b"records").unwrap();
    disk.remove(&root.join(IDENTITY_NAME)).unwrap();
    assert!(is_named_damage(&open(&disk, &root, OpenMode::CreateIfMissing).err().unwrap()));
}

#[test]
fn a_creation_cut_short_at_any_step_is_done_again() {
    for seed in 0..20 {
        for step in 1.. {
            let (disk, root) = sim();
            let path = root.join("new/graph");
            disk.set_faults(Faults { power_fails_at: Some(disk.operations() + step), ..Faults::default() });
            let finished = open(&disk, &path, OpenMode::CreateIfMissing).map(|folder| folder.creation_id());
            let disk = disk.crash(seed * 100 + step);
            let folder = open(&disk, &path, OpenMode::CreateIfMissing).unwrap();
            if let Ok(id) = finished {
                assert_eq!(folder.creation_id(), id, "what was created stays");
                break;
            }
        }
    }
}

/// A creation was killed between making the folder and syncing the name of the folder. The next open found a folder, synced no
/// name, and a later power failure took the database with everything in it. Found by `testing/sim`.
#[test]
fn a_folder_made_by_a_creation_cut_short_is_durable_once_it_is_opened() {
    let path = Path::new("/deep/inside/db");
    let open = |disk: &SimDisk, mode| {
        let whole = LocalFolder::open(shared(disk), path, mode, LogOptions::default())?;
        DurableResult::Ok(whole.folder().creation_id())
    };
    for operation in 1..40 {
        let disk = SimDisk::new();
        disk.set_faults(Faults { error_at: Some(operation), ..Faults::default() });
        drop(open(&disk, OpenMode::CreateIfMissing));
        let disk = disk.kill();
        let id = open(&disk, OpenMode::CreateIfMissing).unwrap();
        for seed in 0..8 {
            let found = open(&disk.copy().crash(seed), OpenMode::Existing).unwrap();
            assert_eq!(found, id, "operation {operation}, seed {seed}");
        }
    }
}
