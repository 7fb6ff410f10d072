//! A snapshot: the whole graph at one commit, immutable, shared by `Arc`.
//!
//! Cloning costs one reference count; reading takes no lock; a later commit makes a new root and leaves this one alone. The only
//! errors of reading come from chunks that are loaded on first touch.

use crate::StoreError;
use crate::chunks::chunk::PartName;
use crate::chunks::table::Lane;
use crate::indexes::prepared::Prepared;
use crate::indexes::tree::Index;
use crate::paging::pager::Pager;
use crate::schema::catalog::Catalog;
use crate::schema::names::{NameTable, Names};
use crate::schema::statistics::Statistics;
use crate::snapshots::column_layer::ColumnLayer;
use crate::snapshots::joined::Joined;
use crate::snapshots::layer::Layer;
use crate::snapshots::sight::{Sight, Sights};
use crate::versions::cell::ChunkRef;
use crate::versions::directory::{Chunks, Directory};
use model::schema::IndexId;
use model::{CHUNK_SLOTS, ChunkNo, EdgeTypeId, KeyId, LabelId, LabelSetId, VertexId};
use parking_lot::Mutex;
use std::sync::Arc;

/// Sizes at which deltas are compacted into bases, and how much may be in memory.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// A chunk's delta is compacted when it has taken more changes than this and than a 32nd of its base.
    pub compact_changes_min: usize,
    /// A leaf of an index is compacted when its delta has more entries than this and than a sixteenth of its run.
    pub index_delta_min: usize,
    /// Bytes that chunks, indexes and versions may hold in memory; no bound where absent.
    pub memory_bytes: Option<u64>,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions { compact_changes_min: 256, index_delta_min: 256, memory_bytes: None }
    }
}

/// Views of single lanes, made on first use and cached while the snapshot lives.
#[derive(Default)]
pub(crate) struct LayerCache {
    layers: Mutex<Vec<(Lane, Arc<Layer>)>>,
    joined: Mutex<Vec<Arc<Joined>>>,
    columns: Mutex<Vec<Arc<ColumnLayer>>>,
}

/// Kept alive by a snapshot and everything made from it; see [`Snapshot::leased`].
pub type Lease = Arc<dyn std::any::Any + Send + Sync>;

/// Everything a snapshot is.
pub(crate) struct Root {
    pub(crate) commit_version: u64,
    pub(crate) directory: Directory,
    pub(crate) catalog: Catalog,
    pub(crate) names: Arc<Names>,
    pub(crate) indexes: Vec<(IndexId, Arc<Index>)>,
    pub(crate) statistics: Statistics,
    pub(crate) options: StoreOptions,
    pub(crate) layers: LayerCache,
    pub(crate) sights: Sights,
    pub(crate) lease: Option<Lease>,
    pub(crate) pager: Arc<Pager>,
    /// Indexes being built beside commits; shared by all snapshots of a store.
    pub(crate) prepared: Arc<Prepared>,
    /// Names of the commit below, if it holds uncommitted changes.
    pub(crate) uncommitted: Option<Arc<NameTable>>,
}

impl Root {
    /// The same graph, to be changed before it is published; views are made anew.
    pub(crate) fn copy(&self) -> Root {
        Root {
            commit_version: self.commit_version,
            directory: self.directory.clone(),
            catalog: self.catalog.clone(),
            names: self.names.clone(),
            indexes: self.indexes.clone(),
            statistics: self.statistics.clone(),
            options: self.options,
            layers: LayerCache::default(),
            sights: Sights::default(),
            lease: self.lease.clone(),
            pager: self.pager.clone(),
            prepared: self.prepared.clone(),
            uncommitted: self.uncommitted.clone(),
        }
    }
}

/// The graph at one commit.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) root: Arc<Root>,
    /// The reader's restriction, if there is one.
    pub(crate) sight: Option<Arc<Sight>>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot(version {}, {} chunks)", self.root.commit_version, self.root.directory.bound())
    }
}

impl Snapshot {
    /// The empty graph, at commit version 0.
    pub fn empty(names: Arc<Names>, options: StoreOptions) -> Snapshot {
        let catalog = Catalog { names: names.table(), ..Catalog::default() };
        let statistics = Statistics { names: catalog.names.clone(), ..Statistics::default() };
        Snapshot::from_root(Root {
            commit_version: 0,
            directory: Directory::default(),
            catalog,
            names,
            indexes: Vec::new(),
            statistics,
            options,
            layers: LayerCache::default(),
            sights: Sights::default(),
            lease: None,
            pager: Pager::new(options.memory_bytes),
            prepared: Arc::default(),
            uncommitted: None,
        })
    }
    /// The same graph, which keeps `lease` alive as long as it or a snapshot made from it by changes is read: by the lease its owner knows that
    /// stored bytes may still be read.
    pub fn leased(&self, lease: Lease) -> Snapshot {
        let leased = Snapshot::from_root(Root { lease: Some(lease), ..self.root.copy() });
        Snapshot { sight: self.sight.clone(), ..leased }
    }
    pub(crate) fn from_root(root: Root) -> Snapshot {
        Snapshot { root: Arc::new(root), sight: None }
    }
    /// The unrestricted graph.
    #[must_use]
    pub fn unmasked(&self) -> Snapshot {
        Snapshot { root: self.root.clone(), sight: None }
    }
    /// Is it as it was committed? Not where it holds uncommitted changes ([`Snapshot::apply_uncommitted`]).
    pub fn is_committed(&self) -> bool {
        self.root.uncommitted.is_none()
    }
    /// Version of the last commit this snapshot contains.
    pub fn commit_version(&self) -> u64 {
        self.root.commit_version
    }
    /// Names, indexes and constraints.
    pub fn catalog(&self) -> &Catalog {
        match &self.sight {
            None => &self.root.catalog,
            Some(sight) => sight.catalog_of(self),
        }
    }
    /// The labels of a set, in order, those left out that are hidden.
    #[inline]
    pub(crate) fn labels_of(&self, set: LabelSetId) -> &[LabelId] {
        self.sight.as_ref().map_or(&self.root.catalog, |sight| &sight.catalog).labels_of(set)
    }
    /// The interner behind the catalogue, shared by all snapshots of a store.
    pub fn names(&self) -> &Arc<Names> {
        &self.root.names
    }
    /// Counts for the planner.
    pub fn statistics(&self) -> &Statistics {
        self.sight.as_ref().map_or(&self.root.statistics, |sight| Sight::statistics(sight, &self.root))
    }
    /// Do both name the same root? Then everything read from them is the same.
    pub fn is_same(&self, other: &Snapshot) -> bool {
        Arc::ptr_eq(&self.root, &other.root)
            && self.sight.as_ref().map(Arc::as_ptr) == other.sight.as_ref().map(Arc::as_ptr)
    }
    /// Dense vertex numbers lie below this: the size of bitmaps and distance arrays.
    pub fn vertex_bound(&self) -> u32 {
        u32::try_from(self.root.directory.bound() as u64 * CHUNK_SLOTS as u64).unwrap_or(u32::MAX)
    }

    /// Its chunks, for views of them.
    #[inline]
    pub(crate) fn chunks(&self) -> Chunks<'_> {
        Chunks { directory: &self.root.directory, pager: &self.root.pager }
    }
    /// The chunk of this number, if there is one; loads it if need be.
    #[inline]
    pub(crate) fn chunk(&self, chunk: ChunkNo) -> Result<Option<ChunkRef<'_>>, StoreError> {
        self.root.directory.get(chunk).map(|cell| cell.chunk()).transpose()
    }
    /// The chunk of this number with this part of it, if there is one; loads it if need be.
    #[inline]
    pub(crate) fn chunk_part(
        &self,
        chunk: ChunkNo,
        part: PartName,
    ) -> Result<Option<ChunkRef<'_>>, StoreError> {
        self.root.directory.get(chunk).map(|cell| cell.part(part)).transpose()
    }
    /// Chunk, with this part of it, and slot of a vertex; none where no vertex could be.
    #[inline]
    pub(crate) fn locate(
        &self,
        vertex: VertexId,
        part: PartName,
    ) -> Result<Option<(ChunkRef<'_>, usize)>, StoreError> {
        if vertex.0 > u32::MAX as u64 {
            return Ok(None);
        }
        Ok(self.chunk_part(vertex.chunk(), part)?.map(|chunk| (chunk, vertex.slot() as usize)))
    }

    pub(crate) fn layer(&self, lane: Lane) -> Arc<Layer> {
        let mut layers = self.root.layers.layers.lock();
        if let Some(at) = layers.iter().position(|(other, _)| *other == lane) {
            if !layers[at].1.is_stale() {
                return layers[at].1.clone();
            }
            // Its pins go when the last view that holds it does; what is asked for now gets a chance to be pinned.
            layers.swap_remove(at);
            self.root.directory.iter().for_each(|(_, cell)| cell.views().clear());
        }
        let layer = Arc::new(Layer::new(lane, self.root.directory.bound()));
        layers.push((lane, layer.clone()));
        layer
    }
    /// The columns of a key; none for restricted readers.
    pub(crate) fn column_layer(&self, key: KeyId) -> Option<Arc<ColumnLayer>> {
        if self.sight.is_some() {
            return None;
        }
        let mut columns = self.root.layers.columns.lock();
        if let Some(layer) = columns.iter_mut().find(|layer| layer.key() == key) {
            if !layer.has_refused() {
                return Some(layer.clone());
            }
            // No reader uses it any more, so the pages that it pins leave memory with its last reader.
            *layer = Arc::new(ColumnLayer::refused(key, self.chunks()));
            return None;
        }
        let layer = Arc::new(ColumnLayer::new(key, self.root.directory.bound(), self.chunks()));
        columns.push(layer.clone());
        Some(layer)
    }
    pub(crate) fn joined(&self, edge_type: EdgeTypeId) -> Arc<Joined> {
        let mut all = self.root.layers.joined.lock();
        if let Some(joined) = all.iter().find(|joined| joined.edge_type() == edge_type) {
            return joined.clone();
        }
        let joined = Arc::new(Joined::new(edge_type, self.root.directory.bound()));
        all.push(joined.clone());
        joined
    }
}
