//! Checkpoints: a snapshot as a manifest and blobs, written incrementally, opened lazily.
//!
//! A chunk or index run that was stored before is only named in the next manifest, so a checkpoint costs the changes since the last. The manifest
//! holds all that is needed before any chunk is read: names, catalogue, statistics, index deltas, and for each chunk its meta and blob key. Opening
//! reads the manifest alone; every byte is verified before it is used.

use crate::bytes::{Reader, Writer};
use crate::chunks::chunk::ChunkMeta;
use crate::chunks::chunk_bytes;
use crate::indexes::manifest::{IndexBlobs, read_index, write_index};
use crate::indexes::run::IndexRun;
use crate::indexes::tree::Index;
use crate::paging::page::Page;
use crate::paging::pager::Pager;
use crate::paging::source::read_blob;
use crate::schema::catalog::Catalog;
use crate::schema::definitions::{decode_constraint, decode_name, encode_constraint, encode_name};
use crate::schema::entries::Entries;
use crate::schema::names::NameCounts;
use crate::schema::statistics::{Counter, IndexStatistics, Statistics};
use crate::snapshots::root::{LayerCache, Root};
use crate::snapshots::sight::Sights;
use crate::versions::cell::Cell;
use crate::versions::directory::Directory;
use crate::{BlobKey, ChunkSource, Names, Snapshot, StoreError, StoreOptions};
use model::id::CHUNK_COUNT_MAX;
use model::schema::IndexId;
use model::{CHUNK_SLOTS, EdgeTypeId, LabelSetId, walk};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

const MAGIC: &[u8; 4] = b"TWMF";
/// Chunks may end in a directory; in checkpoints of version 3 none does.
const VERSION: u8 = 4;
/// A manifest of this version has no entries at its end.
const VERSION_WITHOUT_ENTRIES: u8 = 2;

/// A checkpoint that was written and is not yet known to be durable.
#[must_use = "what was written is forgotten unless it is kept"]
#[derive(Default)]
pub struct Written {
    manifest: Vec<u8>,
    chunks: Vec<(Arc<Cell>, BlobKey)>,
    runs: Vec<(Arc<Page<IndexRun>>, BlobKey)>,
}

impl Written {
    /// The bytes [`Snapshot::open`] takes.
    pub fn manifest(&self) -> &[u8] {
        &self.manifest
    }
    /// This checkpoint together with an earlier one to the same storage, whose blobs it names.
    pub fn with(mut self, earlier: Written) -> Written {
        self.chunks.extend(earlier.chunks);
        self.runs.extend(earlier.runs);
        self
    }
    /// Where the pieces went.
    fn places(&self) -> HashMap<usize, BlobKey> {
        let chunks = self.chunks.iter().map(|(cell, blob)| (Arc::as_ptr(cell) as usize, *blob));
        chunks.chain(self.runs.iter().map(|(run, blob)| (Arc::as_ptr(run) as usize, *blob))).collect()
    }
    /// The checkpoint is durable: later ones only name its blobs. Every key must stay readable as long as any later manifest may name it. Without
    /// this call a failed checkpoint leaves no trace, and the next writes the same again.
    pub fn keep(self) {
        for (cell, blob) in self.chunks {
            cell.set_stored(blob);
        }
        for (run, blob) in self.runs {
            run.set_stored(blob);
        }
    }
}

impl Snapshot {
    /// Writes every chunk and index run that is not stored yet through `write`, which gives each its key. Call [`Written::keep`]
    /// once all of it and the manifest are durable.
    pub fn checkpoint<E: From<StoreError>>(
        &self,
        write: &mut dyn FnMut(&[u8]) -> Result<BlobKey, E>,
    ) -> Result<Written, E> {
        self.checkpoint_after(&Written::default(), write)
    }
    /// As [`Snapshot::checkpoint`], but blobs that `ahead` wrote, of this snapshot or of one before it, are only named. Keep both.
    pub fn checkpoint_after<E: From<StoreError>>(
        &self,
        ahead: &Written,
        write: &mut dyn FnMut(&[u8]) -> Result<BlobKey, E>,
    ) -> Result<Written, E> {
        // What is written is whole, whoever's work is over.
        let _whole = walk::unended();
        let ahead = ahead.places();
        let (mut chunks, mut runs) = (Vec::new(), Vec::new());
        let root = &self.root;
        let mut writer = Writer::new();
        writer.raw(MAGIC);
        writer.byte(VERSION);
        writer.uint(root.commit_version);
        let names = root.catalog.names.definitions_since(NameCounts::default());
        writer.size(names.len());
        names.iter().for_each(|definition| encode_name(definition, &mut writer));
        writer.size(root.catalog.constraints.len());
        root.catalog.constraints.iter().for_each(|definition| encode_constraint(definition, &mut writer));
        writer.size(root.indexes.len());
        for (_, index) in &root.indexes {
            let mut blobs = IndexBlobs { ahead: &ahead, write: &mut *write, runs: &mut runs };
            write_index(index, &mut writer, &mut blobs)?;
        }
        write_counts(&root.statistics, &mut writer);
        writer.size(root.directory.iter().count());
        for (number, cell) in root.directory.iter() {
            let written = || ahead.get(&(Arc::as_ptr(cell) as usize)).copied();
            let blob = match cell.blob().or_else(written) {
                Some(blob) => blob,
                None => {
                    let blob = write(&chunk_bytes::encode(&cell.chunk()?))?;
                    chunks.push((cell.clone(), blob));
                    blob
                }
            };
            writer.uint(number as u64);
            write_meta(&cell.meta, &mut writer);
            writer.raw(&blob.0);
        }
        root.catalog.entries.encode(&mut writer);
        root.names.carried().min(root.catalog.names.counts()).encode(&mut writer);
        let manifest = writer.seal();
        self.demand_readable(&manifest)?;
        Ok(Written { manifest, chunks, runs })
    }
    /// A manifest that would not open must not replace one that does: it is read back before it is used.
    fn demand_readable(&self, manifest: &[u8]) -> Result<(), StoreError> {
        let read = Snapshot::read_manifest(manifest, Pager::new(None), self.root.options);
        read.map(|_| ()).map_err(|error| StoreError::NotReadBack(error.to_string().into()))
    }
    /// The snapshot a manifest describes; chunks and index runs are read from `source` on first touch.
    pub fn open(
        manifest: &[u8],
        source: Arc<dyn ChunkSource>,
        options: StoreOptions,
    ) -> Result<Snapshot, StoreError> {
        let pager = Pager::new(options.memory_bytes);
        pager.attach(source);
        Snapshot::read_manifest(manifest, pager, options)
    }
    /// As [`Snapshot::open`], for another checkpoint of the same store: it reads from the same source, and shares the budget.
    pub fn open_beside(&self, manifest: &[u8]) -> Result<Snapshot, StoreError> {
        Snapshot::read_manifest(manifest, self.root.pager.clone(), self.root.options)
    }
    fn read_manifest(
        manifest: &[u8],
        pager: Arc<Pager>,
        options: StoreOptions,
    ) -> Result<Snapshot, StoreError> {
        let reader = &mut Reader::checked(manifest, "manifest")?;
        let (magic, version) = (reader.raw(4)?, reader.byte()?);
        if magic != MAGIC || !(VERSION_WITHOUT_ENTRIES..=VERSION).contains(&version) {
            return Err(reader.fail("not a manifest of a known version"));
        }
        let commit_version = reader.uint()?;
        let names = Names::new();
        for _ in 0..reader.count()? {
            names.define(&decode_name(reader)?)?;
        }
        let mut catalog = Catalog { names: names.table(), ..Catalog::default() };
        for _ in 0..reader.count()? {
            catalog.add_constraint(&decode_constraint(reader)?)?;
        }
        let mut indexes = Vec::new();
        for _ in 0..reader.count()? {
            indexes.push(read_index(reader, &mut catalog, &pager)?);
        }
        let mut statistics = read_counts(reader)?;
        statistics.names = catalog.names.clone();
        statistics.indexes = indexes.iter().map(index_statistics).collect();
        let mut directory = Directory::default();
        for _ in 0..reader.count()? {
            let number = reader.uint32()?;
            if number as usize >= CHUNK_COUNT_MAX || number < directory.bound() {
                return Err(reader.fail("chunk numbers do not rise"));
            }
            let meta = read_meta(reader, &catalog)?;
            let blob = read_blob(reader)?;
            directory.set(number, Arc::new(Cell::stored(Arc::new(meta), blob, &pager)));
        }
        if version > VERSION_WITHOUT_ENTRIES {
            catalog.entries = Entries::decode(reader)?;
            let (carried, there) = (NameCounts::decode(reader)?, catalog.names.counts());
            if carried.min(there) != carried {
                return Err(reader.fail("records carry more names than there are"));
            }
            names.set_carried(carried);
        } else {
            // Nobody wrote down how many are carried: the next record carries them all once more.
            names.set_carried(NameCounts::default());
        }
        reader.finish()?;
        let layers = LayerCache::default();
        let names = Arc::new(names);
        Ok(Snapshot::from_root(Root {
            commit_version,
            directory,
            catalog,
            names,
            indexes,
            statistics,
            options,
            layers,
            sights: Sights::default(),
            lease: None,
            pager,
            prepared: Arc::default(),
            uncommitted: None,
        }))
    }
    /// The same snapshot, where chunks that a checkpoint stored with their deltas are to be read from the checkpoint again: so their deltas and bases
    /// can leave memory. None where there is no such chunk.
    pub(crate) fn trimmed(&self) -> Option<Snapshot> {
        let cells = self.root.directory.iter();
        let trimmed: Vec<(model::ChunkNo, Arc<Cell>)> =
            cells.filter_map(|(number, cell)| Some((number, Arc::new(cell.without_delta()?)))).collect();
        if trimmed.is_empty() {
            return None;
        }
        let mut root = self.root.copy();
        trimmed.into_iter().for_each(|(number, cell)| root.directory.set(number, cell));
        Some(Snapshot::from_root(root))
    }
    /// Keys of all blobs this snapshot may still read: a cleaner must keep them.
    pub fn blobs(&self) -> Vec<BlobKey> {
        let chunks = self.root.directory.iter().flat_map(|(_, cell)| cell.blobs());
        let leaves = self.root.indexes.iter().flat_map(|(_, index)| index.leaves());
        let runs = leaves.filter_map(|leaf| leaf.page.blob());
        chunks.chain(runs).collect()
    }
    /// Loads every chunk and index run and checks its bytes, but for blobs that were `seen` before; for a check, or to warm up.
    pub fn load_all(&self, seen: &mut HashSet<BlobKey>) -> Result<(), StoreError> {
        let mut is_new = |blob: Option<BlobKey>| blob.is_none_or(|blob| seen.insert(blob));
        for (_, cell) in self.root.directory.iter().filter(|(_, cell)| is_new(cell.blob())) {
            cell.chunk()?;
        }
        let leaves = self.root.indexes.iter().flat_map(|(_, index)| index.leaves());
        for leaf in leaves.filter(|leaf| is_new(leaf.page.blob())) {
            leaf.page.read()?;
        }
        Ok(())
    }
}

pub(crate) fn index_statistics((id, index): &(IndexId, Arc<Index>)) -> IndexStatistics {
    IndexStatistics { index: *id, entries: index.entry_count(), distinct: index.distinct_estimate() }
}

pub(crate) fn write_counts(statistics: &Statistics, writer: &mut Writer) {
    writer.size(statistics.counts.len());
    for (counter, count) in statistics.counts.iter() {
        let (tag, edge_type, set) = match counter {
            Counter::Vertices(set) => (0, EdgeTypeId(0), set),
            Counter::Out(edge_type, set) => (1, *edge_type, set),
            Counter::In(edge_type, set) => (2, *edge_type, set),
        };
        writer.byte(tag);
        writer.uint(edge_type.0 as u64);
        writer.uint(set.0 as u64);
        writer.uint(*count);
    }
}

pub(crate) fn read_counts(reader: &mut Reader<'_>) -> Result<Statistics, StoreError> {
    let mut statistics = Statistics::default();
    for _ in 0..reader.count()? {
        let (tag, edge_type, set) =
            (reader.byte()?, EdgeTypeId(reader.uint16()?), LabelSetId(reader.uint32()?));
        let counter = match tag {
            0 => Counter::Vertices(set),
            1 => Counter::Out(edge_type, set),
            2 => Counter::In(edge_type, set),
            _ => return Err(reader.fail("unknown kind of counter")),
        };
        statistics.counts.insert(counter, reader.uint()?);
    }
    Ok(statistics)
}

pub(crate) fn write_meta(meta: &ChunkMeta, writer: &mut Writer) {
    writer.uint(meta.birth.0 as u64);
    writer.uint(meta.slot_bound as u64);
    writer.uint(meta.live as u64);
    writer.size(meta.label_sets.len());
    meta.label_sets.iter().for_each(|set| writer.uint(set.0 as u64));
    writer.size(meta.edge_slot_bounds.len());
    for (edge_type, bound) in &meta.edge_slot_bounds {
        writer.uint(edge_type.0 as u64);
        writer.uint(*bound as u64);
    }
}

pub(crate) fn read_meta(reader: &mut Reader<'_>, catalog: &Catalog) -> Result<ChunkMeta, StoreError> {
    let mut meta = ChunkMeta::new(LabelSetId(reader.uint32()?));
    meta.label_sets.clear();
    meta.slot_bound = reader.uint32()?;
    meta.live = reader.uint32()?;
    if meta.slot_bound as usize > CHUNK_SLOTS || meta.live > meta.slot_bound {
        return Err(reader.fail("chunk bounds outside a chunk"));
    }
    for _ in 0..reader.count()? {
        meta.add_label_set(LabelSetId(reader.uint32()?));
    }
    if meta.label_sets.iter().chain([&meta.birth]).any(|set| catalog.names.labels_of(*set).is_none()) {
        return Err(reader.fail("label set is not defined"));
    }
    for _ in 0..reader.count()? {
        let edge_type = EdgeTypeId(reader.uint16()?);
        meta.raise_edge_slot_bound(edge_type, reader.uint32()?);
    }
    Ok(meta)
}
