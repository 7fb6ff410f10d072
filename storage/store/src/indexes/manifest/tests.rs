//! Index leaves below, at and above every limit, through a manifest and back.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;
use crate::indexes::leaf::{LEAF_ENTRIES, LEAF_ENTRIES_MAX};
use crate::indexes::run::IndexKey;
use crate::{Change, ChunkSource, Names, Snapshot, StoreOptions};
use model::schema::{IndexDefinition, SchemaTarget};
use model::{KeyId, LabelId, LabelSetId, Value, VertexId};
use parking_lot::Mutex;
use std::ops::Bound;

#[derive(Default)]
struct Blobs(Mutex<Vec<Vec<u8>>>);

impl Blobs {
    fn write(&self, bytes: &[u8]) -> BlobKey {
        let mut all = self.0.lock();
        all.push(bytes.to_vec());
        let mut key = [0; 20];
        key[..8].copy_from_slice(&(all.len() as u64 - 1).to_le_bytes());
        BlobKey(key)
    }
}

impl ChunkSource for Blobs {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        let number = u64::from_le_bytes(key.0[..8].try_into().unwrap());
        Ok(self.0.lock()[number as usize].clone())
    }
}

fn definition(unique: bool) -> IndexDefinition {
    let target = SchemaTarget::Vertices(LabelId(0));
    IndexDefinition { id: IndexId(0), name: "i".into(), target, keys: vec![KeyId(0)], unique }
}

fn entry(number: usize) -> Entry {
    Entry { key: IndexKey::One(Value::Int(number as i64)), vertex: number as u32 }
}

/// The index after a manifest and back.
fn reopened(index: &Index) -> Result<Index, StoreError> {
    let (blobs, mut writer, mut runs) = (Arc::new(Blobs::default()), Writer::new(), Vec::new());
    let ahead = HashMap::new();
    let mut write = |bytes: &[u8]| Ok::<_, StoreError>(blobs.write(bytes));
    let mut to = IndexBlobs { ahead: &ahead, write: &mut write, runs: &mut runs };
    write_index(index, &mut writer, &mut to)?;
    let pager = Pager::new(None);
    pager.attach(blobs.clone());
    let mut catalog = Catalog::default();
    let (_, read) = read_index(&mut Reader::new(&writer.bytes, "index"), &mut catalog, &pager)?;
    Ok((*read).clone())
}

/// One leaf over a run of this length.
fn leaf_of(len: usize, pager: &Arc<Pager>) -> Leaf {
    Leaf::new(entry(0), IndexRun::build((0..len).map(entry).collect()), 1, pager)
}

/// A past fault: the writer merged a leaf and its delta into one run of up to 8,704 entries, and the reader took no run above 8,192: a clean close
/// made a database that did not open again. Now the writer cuts such a leaf as a compaction does.
#[test]
fn leaves_and_deltas_of_every_length_are_read_back() {
    let pager = Pager::new(None);
    let runs = [1, LEAF_ENTRIES, LEAF_ENTRIES_MAX - 1, LEAF_ENTRIES_MAX];
    let deltas = [0, 1, LEAF_DELTA_MAX, LEAF_DELTA_MAX + 1, 511, 512, 9_000];
    let each = runs.iter().flat_map(|run| deltas.map(|delta| (*run, delta)));
    for (run, delta) in each.filter(|(run, delta)| *delta <= 512 || *run == LEAF_ENTRIES_MAX) {
        for removes in [false, true] {
            let mut leaf = leaf_of(run, &pager);
            let removed = if removes { delta.min(run - 1) } else { 0 };
            (0..removed).for_each(|number| leaf.remove(entry(number)));
            (0..delta).for_each(|number| leaf.insert(entry(run + number)));
            let index = Index::of_leaves(definition(true), vec![leaf], &pager);
            let read = reopened(&index).unwrap_or_else(|error| panic!("run {run}, delta {delta}: {error}"));
            assert_eq!(read.entry_count(), (run + delta - removed) as u64);
            assert!(read.entries().unwrap() == index.entries().unwrap(), "run {run}, delta {delta}");
            let longest = read.leaves().map(|leaf| leaf.page.known.len).max().unwrap();
            assert!(longest <= LEAF_ENTRIES_MAX as u64, "run {run}, delta {delta}: {longest}");
        }
    }
}

#[test]
fn runs_that_earlier_versions_wrote_are_read_and_cut() {
    let pager = Pager::new(None);
    for len in [LEAF_ENTRIES_MAX + 1, LEAF_ENTRIES_READ_MAX - 1, LEAF_ENTRIES_READ_MAX] {
        let index = Index::of_leaves(definition(false), vec![leaf_of(len, &pager)], &pager);
        let mut read = reopened(&index).unwrap();
        assert_eq!((read.leaf_count(), read.entry_count()), (1, len as u64));
        (0..600).for_each(|number| {
            read.insert(IndexKey::One(Value::Int(-1 - number)), number as u32, 16).unwrap()
        });
        assert_eq!(read.leaf_count(), 2, "a compaction has cut it");
        assert_eq!(reopened(&read).unwrap().entry_count(), len as u64 + 600);
    }
}

#[test]
fn a_run_beyond_what_was_ever_written_is_damage() {
    let pager = Pager::new(None);
    let mut writer = Writer::new();
    encode_index(&definition(false), &mut writer);
    writer.size(1);
    encode_entries([entry(0)].iter(), &mut writer);
    writer.uint(LEAF_ENTRIES_READ_MAX as u64 + 1);
    writer.uint(1);
    writer.raw(&[0; 20]);
    (0..2).for_each(|_| writer.size(0));
    let read = read_index(&mut Reader::new(&writer.bytes, "index"), &mut Catalog::default(), &pager);
    assert!(matches!(read, Err(StoreError::Corrupt(_))));
}

/// The same through a snapshot: single commits, with and without uniqueness, closed and opened at every size around a limit.
#[test]
fn an_index_that_grew_commit_by_commit_opens_at_every_size() {
    for unique in [false, true] {
        let names = Arc::new(Names::new());
        let (label, key) = (names.intern_label("T").unwrap(), names.intern_key("c").unwrap());
        let set = names.intern_label_set(&[label]).unwrap();
        let vertex = |number: u64| {
            let properties = vec![(key, Value::Int(number as i64))];
            Change::CreateVertex { id: VertexId(number), labels: set, properties }
        };
        let first: Vec<Change> = (0..8_000).map(vertex).collect();
        let empty = Snapshot::empty(names, StoreOptions::default());
        let index = Change::CreateIndex(definition(unique));
        let mut snapshot = empty.apply(1, &[&[index], &first]).unwrap();
        assert_eq!(LabelSetId(1), set);
        let mut number = 8_000;
        while number < 8_800 {
            let next: Vec<Change> = (number..number + 50).map(vertex).collect();
            number += 50;
            snapshot = snapshot.apply(number, &[&next]).unwrap();
            let blobs = Arc::new(Blobs::default());
            let written = snapshot.checkpoint::<StoreError>(&mut |bytes| Ok(blobs.write(bytes))).unwrap();
            let opened = Snapshot::open(written.manifest(), blobs, StoreOptions::default()).unwrap();
            opened.load_all(&mut Default::default()).unwrap();
            let range = opened.seek_range(IndexId(0), Bound::Unbounded, Bound::Unbounded).unwrap();
            assert_eq!(range.count() as u64, number, "unique: {unique}");
        }
    }
}
