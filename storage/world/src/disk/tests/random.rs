//! Random work on every disk at once: what the disk of this machine does is what the others must do. And faults of the simulated one beside a count.

use super::*;
use crate::watched_disk::WatchedDisk;
use std::sync::atomic::{AtomicBool, Ordering};

const ROUNDS: u64 = 40;
const STEPS: usize = 80;
const FOLDERS: [&str; 4] = ["d", "e", "d/f", "d/f/g"];
const FILES: [&str; 6] = ["a", "b", "d/a", "d/f/a", "d/f/g/a", "e/b"];

/// One operation, with all that it is given.
#[derive(Clone, Debug)]
enum Step {
    CreateFolder(&'static str),
    Open(&'static str, OpenHow),
    Append(Vec<u8>),
    Write(Vec<u8>, u64),
    Truncate(u64),
    Read(usize, u64),
    Length,
    Rename(&'static str, &'static str),
    Remove(&'static str),
    Look(&'static str),
    List(&'static str),
    Whole(&'static str),
    SyncFile,
    SyncFolder(&'static str),
}

fn draw(chance: &mut Chance) -> Step {
    let file = FILES[chance.index(FILES.len())];
    let folder = FOLDERS[chance.index(FOLDERS.len())];
    let any = if chance.below(2) == 0 { file } else { folder };
    let offset = chance.below(2_000);
    let length = [0, 1, 511, 512, 513, 1_500][chance.index(6)];
    let how = [OpenHow::Read, OpenHow::Write, OpenHow::CreateNew, OpenHow::Replace];
    match chance.below(16) {
        0 => Step::CreateFolder(folder),
        1..=3 => Step::Open(if chance.below(8) == 0 { folder } else { file }, how[chance.index(4)]),
        4 => Step::Append(chance.bytes(length)),
        5 => Step::Write(chance.bytes(length), offset),
        6 => Step::Truncate(offset),
        7 => Step::Read(length, offset),
        8 => Step::Length,
        9 => Step::Rename(file, FILES[chance.index(FILES.len())]),
        10 => Step::Remove(any),
        11 => Step::Look(any),
        12 => Step::List(any),
        13 => Step::Whole(file),
        14 => Step::SyncFile,
        _ => Step::SyncFolder(folder),
    }
}

/// What came of it, with errors by their kind: the words of operating systems differ.
fn outcome<T: std::fmt::Debug>(outcome: DiskResult<T>) -> String {
    match outcome {
        Ok(value) => format!("{value:?}"),
        Err(DiskError::NotFound { .. }) => "not there".into(),
        // What lies below a file is not there either.
        Err(DiskError::Io { kind: std::io::ErrorKind::NotADirectory, .. }) => "not there".into(),
        Err(DiskError::Full { .. }) => "full".into(),
        Err(_) => "refused".into(),
    }
}

/// A disk with its root and the file that is open.
struct Seat {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    open: Option<Box<dyn DiskFile>>,
}

impl Seat {
    fn run(&mut self, step: &Step) -> String {
        let Some(file) = &self.open else {
            return match step {
                Step::Append(_) | Step::Write(..) | Step::Truncate(_) | Step::Read(..) => "none open".into(),
                Step::Length | Step::SyncFile => "none open".into(),
                other => self.run_by_name(&other.clone()),
            };
        };
        match step {
            Step::Append(bytes) => outcome(file.append(bytes)),
            Step::Write(bytes, offset) => outcome(file.write_at(bytes, *offset)),
            Step::Truncate(length) => outcome(file.truncate(*length)),
            Step::Read(length, offset) => {
                let mut buffer = vec![0; *length];
                let read = file.read_at(&mut buffer, *offset);
                outcome(read.map(|count| buffer[..count].to_vec()))
            }
            Step::Length => outcome(file.len().and_then(|length| Ok((length, file.is_empty()?)))),
            Step::SyncFile => outcome(file.sync()),
            other => self.run_by_name(&other.clone()),
        }
    }
    fn run_by_name(&mut self, step: &Step) -> String {
        let at = |name: &str| self.root.join(name);
        match step {
            // Below a file, Linux has several errors for it.
            Step::CreateFolder(name) => match self.disk.create_dir_all(&at(name)) {
                Err(DiskError::Io { .. } | DiskError::NotFound { .. }) => "refused".into(),
                other => outcome(other),
            },
            Step::Open(name, how) => {
                let opened = self.disk.open(&at(name), *how);
                let told = outcome(opened.as_ref().map(|_| ()).map_err(Clone::clone));
                self.open = opened.ok();
                told
            }
            Step::Rename(from, to) => outcome(self.disk.rename(&at(from), &at(to))),
            Step::Remove(name) => outcome(self.disk.remove(&at(name))),
            Step::Look(name) => {
                let there = self.disk.exists(&at(name));
                outcome(there.and_then(|there| Ok((there, self.disk.is_dir(&at(name))?))))
            }
            Step::List(name) => outcome(self.disk.list(&at(name))),
            Step::Whole(name) => {
                let size = self.disk.size(&at(name));
                outcome(size.and_then(|size| Ok((size, self.disk.read_whole(&at(name))?))))
            }
            Step::SyncFolder(name) => outcome(self.disk.sync_dir(&at(name))),
            _ => "none open".into(),
        }
    }
}

/// Linux opens a folder for reading and syncs a file as a folder, which no program here does.
fn is_done_by_programs(step: &Step, real: &Seat) -> bool {
    let is_folder = |name: &str| real.root.join(name).is_dir();
    match step {
        Step::Open(name, OpenHow::Read) => !is_folder(name),
        // Where the file is open for reading, it lets nothing be written that is nothing.
        Step::Write(bytes, _) | Step::Append(bytes) => !bytes.is_empty(),
        Step::SyncFolder(name) => is_folder(name) || !real.root.join(name).exists(),
        _ => true,
    }
}

#[test]
fn random_work_leaves_the_same_on_every_disk() {
    for seed in 0..ROUNDS {
        let mut chance = Chance::seeded(seed);
        let real = TemporaryFolder::new("disk-test").unwrap();
        let (sim, folder) = sim_with_folder();
        let (below, _) = sim_with_folder();
        let (watched, _) = sim_with_folder();
        let disks: [(Arc<dyn Disk>, &Path); 4] = [
            (Arc::new(RealDisk), real.path()),
            (Arc::new(sim.clone()), &folder),
            (Arc::new(OverlayDisk::new(Arc::new(below.clone()))), &folder),
            (Arc::new(WatchedDisk::new(Arc::new(watched), Arc::new(|| true))), &folder),
        ];
        let mut seats: Vec<Seat> =
            disks.map(|(disk, root)| Seat { disk, root: root.to_path_buf(), open: None }).into();
        let before = below.contents();
        for number in 0..STEPS {
            let step = draw(&mut chance);
            if !is_done_by_programs(&step, &seats[0]) {
                continue;
            }
            let told: Vec<String> = seats.iter_mut().map(|seat| seat.run(&step)).collect();
            for other in 1..told.len() {
                assert_eq!(told[0], told[other], "seed {seed}, step {number}, disk {other}: {step:?}");
            }
        }
        assert_eq!(below.contents(), before);
        // What a process leaves that is killed is what it saw.
        let killed = sim.kill();
        for name in FILES {
            let (left, seen) = (killed.read_whole(&folder.join(name)), seats[0].run(&Step::Whole(name)));
            assert_eq!(left.is_ok(), seen != "not there", "seed {seed}, {name}: {left:?}, {seen}");
        }
        assert!(sim.read_whole(&folder.join("a")).is_err() && sim.list(&folder).is_err());
    }
}

/// Beside the count of all bytes of all files.
#[test]
fn a_disk_of_a_few_bytes_takes_what_fits() {
    for seed in 0..ROUNDS {
        let mut chance = Chance::seeded(seed);
        let (disk, folder) = sim_with_folder();
        let capacity = chance.range(1_000..6_000);
        disk.set_faults(Faults { capacity_bytes: Some(capacity), ..Faults::default() });
        let mut sizes = [0_u64; 3];
        let files = ["a", "b", "c"].map(|name| disk.open(&folder.join(name), OpenHow::CreateNew).unwrap());
        for _ in 0..40 {
            let (at, length) = (chance.index(3), chance.below(1_500));
            let (used, bytes) = (sizes.iter().sum::<u64>(), chance.bytes(length as usize));
            let free = capacity.saturating_sub(used);
            match chance.below(4) {
                0 => {
                    // What is cut off is free again; what is made longer by zeros is not counted before it is written to.
                    let length = length.min(sizes[at]);
                    files[at].truncate(length).unwrap();
                    sizes[at] = length;
                }
                1 => {
                    let offset = chance.below(sizes[at] + 1);
                    let grown = (offset + length).saturating_sub(sizes[at]);
                    let written = files[at].write_at(&bytes, offset);
                    assert_eq!(outcome(written), if grown > free { "full" } else { "()" }, "seed {seed}");
                    sizes[at] += grown.min(free);
                }
                _ => {
                    let appended = files[at].append(&bytes);
                    let expected = if length > free { "full".to_string() } else { sizes[at].to_string() };
                    assert_eq!(outcome(appended), expected, "seed {seed}");
                    sizes[at] += length.min(free);
                }
            }
            let found: Vec<u64> = files.iter().map(|file| file.len().unwrap()).collect();
            assert_eq!(found, sizes, "seed {seed}");
        }
    }
}

#[test]
fn a_watched_disk_moves_no_byte_once_its_watch_says_no() {
    let (below, folder) = sim_with_folder();
    let goes_on = Arc::new(AtomicBool::new(true));
    let look = goes_on.clone();
    let disk = WatchedDisk::new(Arc::new(below.clone()), Arc::new(move || look.load(Ordering::Relaxed)));
    let path = folder.join("x");
    let file = disk.open(&path, OpenHow::CreateNew).unwrap();
    file.append(b"four").unwrap();
    goes_on.store(false, Ordering::Relaxed);
    let mut buffer = [0; 4];
    let refusals = [
        disk.open(&path, OpenHow::Read).err(),
        disk.read_whole(&path).err(),
        file.read_at(&mut buffer, 0).err(),
        file.write_at(b"x", 0).err(),
        file.append(b"x").err(),
    ];
    for refusal in refusals {
        let Some(DiskError::Io { kind, path: named, message, .. }) = refusal else { panic!("{refusal:?}") };
        assert_eq!(
            (kind, named, &*message),
            (std::io::ErrorKind::Interrupted, path.clone(), "the work was ended")
        );
    }
    assert_eq!(below.read_whole(&path).unwrap(), b"four");
    // What tidies up behind it goes on.
    file.truncate(1).unwrap();
    file.sync().unwrap();
    assert_eq!((file.len().unwrap(), disk.size(&path).unwrap()), (1, 1));
    disk.create_dir_all(&folder.join("d")).unwrap();
    disk.rename(&path, &folder.join("y")).unwrap();
    disk.sync_dir(&folder).unwrap();
    assert!(disk.exists(&folder.join("y")).unwrap() && disk.is_dir(&folder.join("d")).unwrap());
    assert_eq!(disk.list(&folder).unwrap(), ["d", "y"]);
    disk.remove(&folder.join("y")).unwrap();
    assert!(!below.exists(&folder.join("y")).unwrap());
    let lock = disk.lock(&folder.join("LOCK")).unwrap();
    assert!(disk.lock(&folder.join("LOCK")).is_err());
    drop(lock);
}

/// A fault is met by its number once; the failure of power by all that comes after it.
#[test]
fn faults_come_at_their_number() {
    let work = |faults: Faults| {
        let (disk, folder) = sim_with_folder();
        let begun = disk.operations();
        let at = |number: Option<u64>| number.map(|number| begun + number);
        disk.set_faults(Faults {
            power_fails_at: at(faults.power_fails_at),
            error_at: at(faults.error_at),
            full_at: at(faults.full_at),
            capacity_bytes: None,
        });
        let mut seat = Seat { disk: Arc::new(disk.clone()), root: folder, open: None };
        let steps = [
            Step::Open("a", OpenHow::CreateNew),
            Step::Append(vec![1]),
            Step::Write(vec![2], 0),
            Step::Truncate(0),
            Step::SyncFile,
            Step::Rename("a", "b"),
            Step::Open("b", OpenHow::Replace),
            Step::CreateFolder("d"),
            Step::Remove("d"),
            Step::SyncFolder(""),
        ];
        let told: Vec<String> = steps.iter().map(|step| seat.run(step)).collect();
        (told, disk.operations() - begun)
    };
    let (healthy, operations) = work(Faults::default());
    assert!(healthy.iter().all(|told| told != "refused" && told != "full"), "{healthy:?}");
    assert_eq!(operations, 10, "each changes the disk, once");
    for number in 2..=10 {
        let index = number as usize - 1;
        let (told, _) = work(Faults { error_at: Some(number), ..Faults::default() });
        assert_eq!(told[index], "refused", "{number}: {told:?}");
        assert_eq!(told[..index], healthy[..index]);
        let (told, _) = work(Faults { full_at: Some(number), ..Faults::default() });
        assert_eq!(told[index], "full", "{number}: {told:?}");
        let (told, _) = work(Faults { power_fails_at: Some(number), ..Faults::default() });
        assert_eq!(told[..index], healthy[..index]);
        assert!(
            told[index..].iter().all(|told| told == "refused" || told == "none open"),
            "{number}: {told:?}"
        );
    }
}
