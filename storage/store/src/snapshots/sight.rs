//! A snapshot as a restricted reader sees it.
//!
//! Idea: the restriction lies below everything that reads. A [`Snapshot`] with a sight answers each question as the same graph would from
//! which all that is hidden was removed: hidden vertices are not there, nor edges of hidden types or with a hidden end; a hidden property is
//! null; a hidden label is carried by nobody. No engine and no door has to know of it.
//! Invariant: whatever leaves a snapshot with a sight passed it. Commits are made of snapshots without one.
//! Cost: a snapshot without a sight pays one test where it is asked. With one, an edge costs a look at the verdict of the far end's chunk, and
//! where that chunk holds shown and hidden vertices, its label set.

use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::schema::catalog::Catalog;
use crate::schema::filter::LabelFilter;
use crate::schema::mask::{Mask, Visibility};
use crate::schema::statistics::Statistics;
use crate::snapshots::root::{Root, Snapshot};
use crate::versions::cell::ChunkRef;
use model::{ChunkNo, Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelSetId, VertexId};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// What is hidden from a reader, in any snapshot of one store. Its latest mask and sight are cached.
pub struct Restriction {
    visibility: Arc<dyn Visibility>,
    mask: Mutex<Option<Arc<Mask>>>,
    sight: Mutex<Option<(Weak<Root>, Arc<Sight>)>>,
}

impl std::fmt::Debug for Restriction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Restriction")
    }
}

impl Restriction {
    /// What this hides.
    pub fn new(visibility: Arc<dyn Visibility>) -> Arc<Restriction> {
        Arc::new(Restriction { visibility, mask: Mutex::default(), sight: Mutex::default() })
    }
    fn mask(&self, catalog: &Catalog) -> Arc<Mask> {
        let mut latest = self.mask.lock();
        if let Some(mask) = latest.as_ref().filter(|mask| mask.is_of(catalog)) {
            return mask.clone();
        }
        let mask = Arc::new(Mask::new(catalog, &self.visibility));
        *latest = Some(mask.clone());
        mask
    }
    fn sight(&self, root: &Arc<Root>) -> Arc<Sight> {
        let mut latest = self.sight.lock();
        if let Some((of, sight)) = &*latest
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(root))
        {
            return sight.clone();
        }
        let mask = self.mask(&root.catalog);
        let chunks = if mask.hides_vertices { root.directory.bound() } else { 0 };
        let sight = Arc::new(Sight {
            catalog: mask.catalog(&root.catalog),
            statistics: OnceLock::new(),
            verdicts: (0..chunks).map(|_| AtomicU8::new(UNKNOWN)).collect(),
            mask,
        });
        *latest = Some((Arc::downgrade(root), sight.clone()));
        sight
    }
}

const UNKNOWN: u8 = 0;
const ALL_SHOWN: u8 = 1;
const NONE_SHOWN: u8 = 2;
const MIXED: u8 = 3;

/// A restriction, worked out for one root.
pub(crate) struct Sight {
    pub(crate) mask: Arc<Mask>,
    pub(crate) catalog: Catalog,
    statistics: OnceLock<Statistics>,
    /// Which vertices of each chunk are shown; empty where no vertex is hidden.
    verdicts: Box<[AtomicU8]>,
}

impl Sight {
    pub(crate) fn statistics(&self, root: &Root) -> &Statistics {
        self.statistics.get_or_init(|| root.statistics.masked(&self.mask, &self.catalog.names))
    }
    fn verdict(&self, root: &Root, chunk: ChunkNo) -> u8 {
        let Some(kept) = self.verdicts.get(chunk as usize) else { return NONE_SHOWN };
        let known = kept.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known;
        }
        let sets = root.directory.get(chunk).map_or(&[][..], |cell| &cell.meta.label_sets);
        let shown = sets.iter().filter(|set| self.mask.shows_set(**set)).count();
        let verdict = match shown {
            0 => NONE_SHOWN,
            _ if shown == sets.len() => ALL_SHOWN,
            _ => MIXED,
        };
        kept.store(verdict, Ordering::Relaxed);
        verdict
    }
}

impl Snapshot {
    /// The same graph as a reader under this restriction sees it; whatever it saw before is left out of account.
    #[must_use]
    pub fn restricted(&self, restriction: &Restriction) -> Snapshot {
        Snapshot { root: self.root.clone(), sight: Some(restriction.sight(&self.root)) }
    }
    /// Is it shown as a restricted reader sees it?
    pub fn is_restricted(&self) -> bool {
        self.sight.is_some()
    }
    /// Is any vertex hidden?
    #[inline]
    pub(crate) fn hides_vertices(&self) -> bool {
        self.sight.as_ref().is_some_and(|sight| sight.mask.hides_vertices)
    }
    /// Is this vertex shown, if it is there?
    pub(crate) fn shows_dense(&self, vertex: u32) -> Result<bool, StoreError> {
        self.shows(VertexId::from_dense(vertex))
    }
    /// Is this vertex shown, if it is there?
    pub(crate) fn shows(&self, vertex: VertexId) -> Result<bool, StoreError> {
        let Some(sight) = self.sight.as_ref().filter(|sight| sight.mask.hides_vertices) else {
            return Ok(true);
        };
        match sight.verdict(&self.root, vertex.chunk()) {
            ALL_SHOWN => Ok(true),
            NONE_SHOWN => Ok(false),
            _ => {
                let set = self.locate(vertex)?.and_then(|(chunk, slot)| chunk.labels(slot));
                Ok(set.is_some_and(|set| sight.mask.shows_set(set)))
            }
        }
    }
    /// Is this edge shown, if it is there?
    pub(crate) fn shows_edge(&self, edge: EdgeRef) -> Result<bool, StoreError> {
        let Some(sight) = &self.sight else { return Ok(true) };
        Ok(sight.mask.shows_type(edge.id.edge_type())
            && self.shows(edge.source)?
            && self.shows(edge.target)?)
    }
    /// Chunk and slot of a vertex that is shown.
    #[inline]
    pub(crate) fn seen(&self, vertex: VertexId) -> Result<Option<(ChunkRef<'_>, usize)>, StoreError> {
        if self.sight.is_some() && !self.shows(vertex)? {
            return Ok(None);
        }
        self.locate(vertex)
    }
    /// Is this property of a vertex with this label set shown?
    #[inline]
    pub(crate) fn shows_property(&self, set: Option<LabelSetId>, key: KeyId) -> bool {
        match &self.sight {
            None => true,
            Some(sight) => set.is_some_and(|set| sight.mask.shows_property(set, key)),
        }
    }
    /// Is this property of this edge shown?
    #[inline]
    pub(crate) fn shows_edge_property(&self, edge: EdgeId, key: KeyId) -> bool {
        self.sight.as_ref().is_none_or(|sight| sight.mask.shows_edge_property(edge.edge_type(), key))
    }
    /// Is this label set one of vertices that are shown?
    #[inline]
    pub(crate) fn shows_set(&self, set: LabelSetId) -> bool {
        self.sight.as_ref().is_none_or(|sight| sight.mask.shows_set(set))
    }
    /// Are vertices with this label set shown?
    pub fn shows_label_set(&self, set: LabelSetId) -> bool {
        self.shows_set(set)
    }
    /// Are edges of this type shown, between vertices that are?
    pub fn shows_edge_type(&self, edge_type: EdgeTypeId) -> bool {
        self.sight.as_ref().is_none_or(|sight| sight.mask.shows_type(edge_type))
    }
    /// Is this property shown of vertices with this label set?
    pub fn shows_key(&self, set: LabelSetId, key: KeyId) -> bool {
        self.shows_property(Some(set), key)
    }
    /// Is this property shown of edges of this type?
    pub fn shows_edge_key(&self, edge_type: EdgeTypeId, key: KeyId) -> bool {
        self.sight.as_ref().is_none_or(|sight| sight.mask.shows_edge_property(edge_type, key))
    }
    /// Edges of these types that are shown, counted one by one, up to this many or a few more. Looks at every vertex.
    ///
    /// # Errors
    /// A chunk cannot be read.
    pub fn count_edges(&self, types: &[EdgeTypeId], enough: u64) -> Result<u64, StoreError> {
        let (out, mut count, mut found) = (self.adjacency(types, Direction::Out), 0, Vec::new());
        if types.is_empty() {
            return Ok(0);
        }
        for chunk in self.scan_chunks(&LabelFilter::Any) {
            found.clear();
            self.scan_chunk(chunk, &LabelFilter::Any, &mut found)?;
            for vertex in &found {
                count += u64::from(out.degree(vertex.dense())?);
            }
            if count >= enough {
                break;
            }
        }
        Ok(count)
    }
    /// Those of them that are shown, in their order.
    pub(crate) fn shown_of(&self, vertices: Vec<VertexId>) -> Result<Vec<VertexId>, StoreError> {
        if !self.hides_vertices() {
            return Ok(vertices);
        }
        let shown = |vertex: VertexId| self.shows(vertex).map(|shown| shown.then_some(vertex)).transpose();
        vertices.into_iter().filter_map(shown).collect()
    }
}
