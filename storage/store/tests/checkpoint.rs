//! Checkpoints: written incrementally, opened lazily, and never believed where a bit flipped.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use crate::common;

use common::{Chance, Pair, Twin};
use std::sync::{Arc, Mutex};
use store::*;

/// Blobs in memory, by number.
#[derive(Default)]
struct Blobs {
    blobs: Mutex<Vec<Vec<u8>>>,
    reads: Mutex<usize>,
}

impl Blobs {
    fn write(&self, bytes: &[u8]) -> BlobKey {
        let mut blobs = self.blobs.lock().unwrap();
        blobs.push(bytes.to_vec());
        let mut key = [0; 20];
        key[..8].copy_from_slice(&(blobs.len() as u64 - 1).to_le_bytes());
        BlobKey(key)
    }
    fn checkpoint(&self, snapshot: &Snapshot) -> Vec<u8> {
        let written = snapshot.checkpoint::<StoreError>(&mut |bytes| Ok(self.write(bytes))).unwrap();
        let manifest = written.manifest().to_vec();
        written.keep();
        manifest
    }
    fn len(&self) -> usize {
        self.blobs.lock().unwrap().len()
    }
}

impl ChunkSource for Blobs {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        *self.reads.lock().unwrap() += 1;
        let number = u64::from_le_bytes(key.0[..8].try_into().unwrap()) as usize;
        self.blobs.lock().unwrap().get(number).cloned().ok_or(StoreError::Source("no such blob".into()))
    }
}

fn options() -> StoreOptions {
    StoreOptions { compact_changes_min: 40, index_delta_min: 20, ..StoreOptions::default() }
}

fn grow(pair: &mut Pair, chance: &mut Chance, groups: usize) {
    for _ in 0..groups {
        let mut changes = Vec::new();
        (0..8).for_each(|_| pair.random_change(chance, &mut changes));
        pair.apply(&changes);
    }
}

#[test]
fn a_store_goes_on_from_its_checkpoints() {
    for seed in 1..4 {
        println!("seed {seed}");
        let mut chance = Chance(seed);
        let mut pair = Pair::new(options());
        let blobs = Arc::new(Blobs::default());
        let mut kept: Vec<(Snapshot, Twin)> = Vec::new();
        for round in 0..6 {
            grow(&mut pair, &mut chance, 25);
            if round == 1 {
                pair.create_index(0, &[0]);
                pair.create_index(1, &[1, 2]);
                pair.create_edge_index(1, &[1, 2]);
            }
            let manifest = blobs.checkpoint(&pair.store.current());
            let opened = Snapshot::open(&manifest, blobs.clone(), options()).unwrap();
            assert_eq!(opened.commit_version(), pair.commit_version);
            assert_eq!(opened.memory().chunks_loaded, 0, "opening loads nothing");
            kept.push((opened.clone(), pair.twin.clone()));
            pair.store = Store::from_snapshot(opened);
        }
        kept.iter().for_each(|(snapshot, twin)| twin.compare(snapshot));
    }
}

#[test]
fn a_second_checkpoint_writes_only_what_changed() {
    let mut chance = Chance(9);
    let mut pair = Pair::new(StoreOptions::default());
    grow(&mut pair, &mut chance, 40);
    let blobs = Blobs::default();
    blobs.checkpoint(&pair.store.current());
    let first = blobs.len();
    assert!(first > 3);
    blobs.checkpoint(&pair.store.current());
    assert_eq!(blobs.len(), first, "nothing changed, nothing written");
    let vertex = *pair.twin.vertices.keys().next().unwrap();
    pair.apply(&[Change::SetProperty { id: vertex, key: model::KeyId(0), value: 7.into() }]);
    blobs.checkpoint(&pair.store.current());
    assert_eq!(blobs.len(), first + 1, "one chunk changed, one written");
    assert_eq!(pair.store.current().blobs().len(), first);
}

/// Indexes were once written with the name and number they were prepared under, so that no store with two of them opened.
#[test]
fn prepared_indexes_are_stored_under_their_names() {
    let mut pair = Pair::new(options());
    grow(&mut pair, &mut Chance(12), 20);
    for (label, key) in [(0, 0), (1, 1)] {
        let definition = pair.definition(label, &[key]);
        let nameless = model::schema::IndexDefinition { name: String::new(), ..definition };
        pair.store.current().prepare_index(&nameless).unwrap();
        pair.create_index(label, &[key]);
    }
    let blobs = Arc::new(Blobs::default());
    let manifest = blobs.checkpoint(&pair.store.current());
    let opened = Snapshot::open(&manifest, blobs.clone(), options()).unwrap();
    assert_eq!(opened.catalog().indexes(), pair.store.current().catalog().indexes());
    pair.twin.compare(&opened);
}

/// Reads all there is; errors are fine, panics are not.
fn read_everything(snapshot: &Snapshot) -> Result<(), StoreError> {
    snapshot.load_all(&mut Default::default())?;
    let view = snapshot.adjacency(&[], model::Direction::Both);
    let mut scratch = EdgeScratch::new();
    let mut vertices = Vec::new();
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
    }
    for vertex in vertices {
        snapshot.properties(vertex)?;
        let ids = view.edges(vertex.dense(), &mut scratch)?.1.to_vec();
        ids.into_iter().try_for_each(|id| snapshot.edge_properties(model::EdgeId(id)).map(|_| ()))?;
    }
    Ok(())
}

#[test]
fn flipped_bits_are_errors() {
    let mut chance = Chance(77);
    let mut pair = Pair::new(options());
    grow(&mut pair, &mut chance, 40);
    pair.create_index(0, &[0]);
    let blobs = Arc::new(Blobs::default());
    let manifest = blobs.checkpoint(&pair.store.current());
    for _ in 0..300 {
        let mut bytes = manifest.clone();
        let at = chance.below(bytes.len());
        bytes[at] ^= 1 << chance.below(8);
        assert!(matches!(Snapshot::open(&bytes, blobs.clone(), options()), Err(StoreError::Corrupt(_))));
    }
    for _ in 0..300 {
        let opened = Snapshot::open(&manifest, blobs.clone(), options()).unwrap();
        let (number, at) = {
            let all = blobs.blobs.lock().unwrap();
            let number = chance.below(all.len());
            (number, chance.below(all[number].len()))
        };
        let bit = 1 << chance.below(8);
        blobs.blobs.lock().unwrap()[number][at] ^= bit;
        assert!(matches!(opened.load_all(&mut Default::default()), Err(StoreError::Corrupt(_))));
        blobs.blobs.lock().unwrap()[number][at] ^= bit;
        assert!(opened.load_all(&mut Default::default()).is_ok(), "a failed load may be tried again");
    }
}

/// Before there were entries of the catalogue, manifests ended before them.
#[test]
fn manifests_without_entries_are_read() {
    let mut pair = Pair::new(options());
    grow(&mut pair, &mut Chance(5), 10);
    let blobs = Arc::new(Blobs::default());
    let mut manifest = blobs.checkpoint(&pair.store.current());
    manifest.truncate(manifest.len() - 4);
    let end = manifest.split_off(manifest.len() - 5);
    assert_eq!((manifest[4], end), (4, vec![0, 0, 0, 0, 1]), "no entries, and names that no record carries");
    manifest[4] = 2;
    manifest.extend_from_slice(&crc32fast::hash(&manifest).to_le_bytes());
    let opened = Snapshot::open(&manifest, blobs.clone(), options()).unwrap();
    assert!(opened.catalog().entries().is_empty());
    assert_eq!(blobs.checkpoint(&opened)[4], 4);
}

/// Makes the checksum of a chunk's directory right, if the bytes end in one: its length, its word, its checksum.
fn seal_directory(bytes: &mut [u8]) {
    let Some(at) = bytes.len().checked_sub(12).filter(|at| &bytes[at + 4..at + 8] == b"TWCD") else { return };
    let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let Some(begin) = at.checked_sub(length) else { return };
    let checksum = crc32fast::hash(&bytes[begin..at + 8]);
    bytes[at + 8..].copy_from_slice(&checksum.to_le_bytes());
}

/// As a clever forger would: the checksum is right, the content is not. No panic, whatever it says.
#[test]
fn forged_bytes_never_panic() {
    let mut chance = Chance(78);
    let mut pair = Pair::new(options());
    grow(&mut pair, &mut chance, 30);
    pair.create_index(0, &[0]);
    let blobs = Arc::new(Blobs::default());
    let manifest = blobs.checkpoint(&pair.store.current());
    let forge = |bytes: &[u8], chance: &mut Chance| {
        let mut bytes = bytes[..bytes.len() - 4].to_vec();
        for _ in 0..1 + chance.below(3) {
            let at = chance.below(bytes.len());
            bytes[at] = chance.next() as u8;
        }
        seal_directory(&mut bytes);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    };
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..2000 {
        // Parts of chunks are read in every other round, where nothing fits.
        let options = StoreOptions { memory_bytes: (round % 2 == 0).then_some(1), ..options() };
        let bytes = if chance.below(2) == 0 { forge(&manifest, &mut chance) } else { manifest.clone() };
        let forged = Blobs::default();
        let all = blobs.blobs.lock().unwrap().clone();
        *forged.blobs.lock().unwrap() = all
            .iter()
            .map(|blob| if chance.below(3) == 0 { forge(blob, &mut chance) } else { blob.clone() })
            .collect();
        match Snapshot::open(&bytes, Arc::new(forged), options).and_then(|opened| read_everything(&opened)) {
            Ok(()) => accepted += 1,
            Err(_) => refused += 1,
        }
    }
    println!("{refused} refused, {accepted} accepted");
    assert!(refused > 1000);
}
