//! The log on disk beside a list in memory: random entries, tails that are replaced, snapshots of one's own and of others, and processes that end between.

use super::*;
use raft::Storage as _;
use std::collections::BTreeMap;
use world::chance::Chance;
use world::disk::SimDisk;

const DIR: &str = "/replica";
const SEGMENT_BYTES: u64 = 200;

/// The state that the library must find.
struct Twin {
    entries: BTreeMap<u64, Entry>,
    /// Index and term before the first entry that is kept.
    start: (u64, u64),
    snapshot: Snapshot,
    hard_state: HardState,
    /// Index and term of the first entry that is read from disk, if it was there when the snapshot was made.
    first_on_disk: Option<(u64, u64)>,
    /// Bytes of entries since the last snapshot; none once it was opened again.
    since_snapshot: Option<u64>,
}

fn snapshot(index: u64, term: u64, chance: &mut Chance) -> Snapshot {
    let members = ConfState { voters: vec![1, 2], learners: vec![7], ..ConfState::default() };
    let mut snapshot = Snapshot { data: chance.bytes(chance_length(index)).into(), ..Snapshot::default() };
    snapshot.set_metadata(metadata(index, term, &members));
    snapshot
}

fn chance_length(index: u64) -> usize {
    (index % 5) as usize * 10
}

fn first() -> (SimDisk, Storage, Twin) {
    let disk = SimDisk::new();
    let first = snapshot(3, 2, &mut Chance::seeded(0));
    Storage::create(Arc::new(disk.clone()), Path::new(DIR), &first, SEGMENT_BYTES).unwrap();
    assert!(Storage::exists(&disk, Path::new(DIR)).unwrap());
    let storage = open(&disk).unwrap();
    let hard_state = HardState { term: 2, commit: 3, ..HardState::default() };
    let twin = Twin {
        entries: BTreeMap::new(),
        start: (3, 2),
        snapshot: first,
        hard_state,
        first_on_disk: None,
        since_snapshot: Some(0),
    };
    (disk, storage, twin)
}

fn open(disk: &SimDisk) -> Result<Storage, ReplicateError> {
    Storage::open(Arc::new(disk.clone()), Path::new(DIR), SEGMENT_BYTES)
}

impl Twin {
    fn last(&self) -> (u64, u64) {
        self.entries.last_key_value().map_or(self.start, |(index, entry)| (*index, entry.term))
    }
    fn snapshot_index(&self) -> u64 {
        self.snapshot.get_metadata().index
    }
    fn append(&mut self, storage: &mut Storage, chance: &mut Chance) {
        // Behind the snapshot everything may be replaced.
        let least = self.snapshot_index().max(self.start.0) + 1;
        let from = if chance.below(3) == 0 {
            chance.range(least..self.last().0.max(least) + 1)
        } else {
            self.last().0 + 1
        };
        let replaced = self.entries.split_off(&from);
        let gone = replaced.values().map(|entry| entry.data.len() as u64).sum();
        // No entry is of an older term than what lies before it.
        let before = from
            .checked_sub(1)
            .and_then(|before| self.entries.get(&before))
            .map_or(self.start.1, |entry| entry.term);
        let mut term = self.hard_state.term.max(before).max(self.snapshot.get_metadata().term);
        let mut added = Vec::new();
        for index in from..from + chance.below(6) {
            term += chance.below(4) / 3;
            let length = chance.index(60);
            added.push(Entry { index, term, data: chance.bytes(length).into(), ..Entry::default() });
        }
        if added.is_empty() {
            self.entries.extend(replaced);
        } else {
            let bytes: u64 = added.iter().map(|entry| entry.data.len() as u64).sum();
            self.since_snapshot = self.since_snapshot.map(|since| since.saturating_sub(gone) + bytes);
        }
        self.hard_state.term = term;
        let vote = (chance.below(2) == 0).then(|| {
            self.hard_state.vote = chance.range(1..3);
            self.hard_state.commit = self.hard_state.commit.max(self.snapshot_index());
            self.hard_state.clone()
        });
        if vote.is_none() {
            // The term comes with the vote alone.
            self.hard_state.term = storage.initial_state().unwrap().hard_state.term;
        }
        self.entries.extend(added.iter().map(|entry| (entry.index, entry.clone())));
        storage.append(added, vote.as_ref(), true).unwrap();
        self.hard_state = storage.initial_state().unwrap().hard_state;
        if let Some(vote) = vote {
            assert_eq!(self.hard_state, vote);
        }
    }
    fn keep_snapshot(&mut self, storage: &mut Storage, chance: &mut Chance) {
        let (last, kept) = (self.last().0, chance.below(5));
        if last == self.snapshot_index() {
            return;
        }
        let index = chance.range(self.snapshot_index() + 1..last + 1);
        let Some(at) = self.entries.get(&index) else { return };
        self.snapshot = snapshot(index, at.term, chance);
        storage.keep_snapshot(&self.snapshot, kept).unwrap();
        let start = index.saturating_sub(kept);
        if start > self.start.0 {
            self.start = (start, self.entries[&start].term);
            self.entries = self.entries.split_off(&(start + 1));
        }
        self.first_on_disk = self.entries.first_key_value().map(|(index, entry)| (*index, entry.term));
        self.since_snapshot = Some(0);
    }
    fn install(&mut self, storage: &mut Storage, chance: &mut Chance) {
        let (index, term) = (self.last().0 + chance.range(1..4), self.last().1 + chance.below(2));
        self.snapshot = snapshot(index, term, chance);
        storage.install(&self.snapshot).unwrap();
        self.entries.clear();
        (self.start, self.first_on_disk, self.since_snapshot) = ((index, term), None, Some(0));
    }
    fn reopened(&mut self) {
        // The term before the first entry on disk is not known, so that one is the start.
        let metadata = self.snapshot.get_metadata();
        let first = self.first_on_disk.filter(|(index, _)| *index <= metadata.index);
        self.start = first.unwrap_or((metadata.index, metadata.term));
        self.entries = self.entries.split_off(&(self.start.0 + 1));
        self.hard_state.commit = self.hard_state.commit.max(self.snapshot_index());
        self.hard_state.term = self.hard_state.term.max(self.snapshot.get_metadata().term);
        self.since_snapshot = None;
    }
    fn check(&self, storage: &Storage, what: &str) {
        let context = || GetEntriesContext::empty(false);
        let (first, last) = (self.start.0 + 1, self.last().0);
        assert_eq!((storage.first_index(), storage.last_index()), (Ok(first), Ok(last)), "{what}");
        for index in first.saturating_sub(3)..last + 3 {
            let expected = match self.entries.get(&index) {
                _ if index == self.start.0 => Ok(self.start.1),
                Some(entry) => Ok(entry.term),
                None if index == self.snapshot_index() => Ok(self.snapshot.get_metadata().term),
                None if index < first => Err(raft::Error::Store(StorageError::Compacted)),
                None => Err(raft::Error::Store(StorageError::Unavailable)),
            };
            assert_eq!(storage.term(index), expected, "{what}: the term of {index}");
            for high in index..last + 3 {
                let found = storage.entries(index, high, None, context());
                let expected = if index < first {
                    Err(raft::Error::Store(StorageError::Compacted))
                } else if high > last + 1 {
                    Err(raft::Error::Store(StorageError::Unavailable))
                } else {
                    Ok(self.entries.range(index..high).map(|(_, entry)| entry.clone()).collect::<Vec<_>>())
                };
                assert_eq!(found, expected, "{what}: {index} to {high}");
                if let Ok(all) = found {
                    let one = storage.entries(index, high, 0, context()).unwrap();
                    assert_eq!(one, all[..all.len().min(1)], "at least one entry, however small the limit");
                }
            }
        }
        assert_eq!(
            (storage.snapshot_index(), storage.read_snapshot()),
            (self.snapshot_index(), Ok(self.snapshot.clone()))
        );
        let state = storage.initial_state().unwrap();
        assert_eq!(state.conf_state, *self.snapshot.get_metadata().get_conf_state());
        assert_eq!(state.hard_state, self.hard_state, "{what}");
        if let Some(since) = self.since_snapshot {
            let least = storage.snapshot.bytes;
            assert_eq!(storage.is_snapshot_due(1), since >= least, "{what}: {since} of {least} bytes");
            assert!(
                storage.is_snapshot_due(0) == (since >= least)
                    && !storage.is_snapshot_due(since.max(least) + 1)
            );
        }
        let on_disk: u64 = storage
            .disk
            .list(Path::new("/replica/log"))
            .unwrap()
            .iter()
            .map(|name| storage.disk.size(&Path::new("/replica/log").join(name)).unwrap())
            .sum();
        assert_eq!(storage.log_bytes(), on_disk, "{what}");
        assert_eq!(storage.disk.list(Path::new(DIR)).unwrap().len(), 2, "the log and one snapshot");
    }
}

#[test]
fn the_log_holds_what_a_list_holds() {
    for seed in 0..60 {
        let mut chance = Chance::seeded(seed);
        let (mut disk, mut storage, mut twin) = first();
        for step in 0..40 {
            let drawn = chance.below(12);
            match drawn {
                0..=6 => twin.append(&mut storage, &mut chance),
                7 | 8 => twin.keep_snapshot(&mut storage, &mut chance),
                9 => twin.install(&mut storage, &mut chance),
                _ => {
                    if drawn == 10 {
                        storage.close().unwrap();
                    }
                    disk = if chance.below(2) == 0 { disk.kill() } else { disk.crash(seed * 100 + step) };
                    storage = open(&disk).unwrap();
                    twin.reopened();
                }
            }
            twin.check(&storage, &format!("seed {seed}, step {step}, drawn {drawn}"));
        }
    }
}

/// Only members are sent a snapshot, and only one that is late enough; else one is made soon.
#[test]
fn a_snapshot_is_sent_to_members_that_need_it() {
    for (request, to, is_sent) in
        [(3, 1, true), (0, 2, true), (3, 7, true), (4, 1, false), (3, 8, false), (9, 9, false)]
    {
        let (_, storage, twin) = first();
        let sent = storage.snapshot(request, to);
        assert_eq!(sent.as_ref().ok(), is_sent.then_some(&twin.snapshot), "{request} {to}");
        assert_eq!(storage.is_snapshot_due(u64::MAX), !is_sent, "one is made for who cannot have this one");
    }
}

/// Each byte of a snapshot that is changed, and each end that is missing, is damage; so is a snapshot under another's name.
#[test]
fn a_damaged_snapshot_is_told() {
    let (disk, storage, twin) = first();
    drop(storage);
    let path = Path::new(DIR).join("snapshot-00000000000000000003");
    let bytes = disk.read_whole(&path).unwrap();
    for at in 0..bytes.len() as u64 {
        let copy = disk.copy();
        copy.damage(&path, at, 0x10);
        assert!(matches!(open(&copy).err(), Some(ReplicateError::Damaged(_))), "byte {at}");
    }
    for length in 0..bytes.len() {
        let copy = disk.copy();
        copy.open(&path, world::disk::OpenHow::Write).unwrap().truncate(length as u64).unwrap();
        assert!(matches!(open(&copy).err(), Some(ReplicateError::Damaged(_))), "{length} bytes");
    }
    let copy = disk.copy();
    copy.rename(&path, &Path::new(DIR).join("snapshot-00000000000000000004")).unwrap();
    assert!(
        matches!(open(&copy).err(), Some(ReplicateError::Damaged(what)) if what.contains("another entry"))
    );
    // What a crash left behind goes, and an older one with it.
    let copy = disk.copy();
    for name in ["snapshot-00000000000000000002", "snapshot-00000000000000000003.new"] {
        copy.open(&Path::new(DIR).join(name), world::disk::OpenHow::CreateNew)
            .unwrap()
            .append(b"half")
            .unwrap();
    }
    assert_eq!(open(&copy).unwrap().read_snapshot(), Ok(twin.snapshot));
    assert_eq!(copy.list(Path::new(DIR)).unwrap(), ["log", "snapshot-00000000000000000003"]);
    let empty = SimDisk::new();
    empty.create_dir_all(Path::new(DIR)).unwrap();
    assert!(
        !Storage::exists(&empty, Path::new(DIR)).unwrap()
            && !Storage::exists(&empty, Path::new("/none")).unwrap()
    );
    assert!(
        matches!(open(&empty).err(), Some(ReplicateError::Damaged(what)) if what.contains("no snapshot"))
    );
}

#[test]
fn records_of_no_known_kind_are_damage() {
    for payload in [&[][..], &[0], &[3, 1], &[TAG_ENTRY, 0xff], &[TAG_HARD_STATE, 0xff]] {
        let (disk, mut storage, _) = first();
        let record_number = storage.log.last_version() + 1;
        storage.log.append(&[(record_number, payload)]).unwrap();
        storage.log.sync().unwrap();
        drop(storage);
        assert!(matches!(open(&disk.kill()).err(), Some(ReplicateError::Damaged(_))), "{payload:?}");
    }
}
