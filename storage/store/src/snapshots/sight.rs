//! A snapshot as a restricted reader sees it.
//!
//! Idea: the restriction lies below everything that reads. A [`Snapshot`] with a sight answers each read like a graph without the hidden data: hidden
//! vertices do not exist, nor edges of hidden types or with a hidden end; a hidden property is null; no vertex carries a hidden label. No engine and
//! no interface has to know of it.
//! Invariant: every answer of a snapshot with a sight is filtered by it. Commits are made of snapshots without one.
//! Cost: a snapshot without a sight pays one test a read. With one, edges of types that by the counts have no hidden ends are read as without. Any
//! other edge costs a test of a bit of the far end: the bits cached with versions of chunks for this reader (see `shown`) are copied into arrays of
//! [`SEGMENT_CHUNKS`] chunks on demand, after enough requests. A list that is visible as a whole is not copied.

use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::chunks::chunk::PartName;
use crate::chunks::delta::{SlotBits, bit};
use crate::paging::pager::{Charge, Pager};
use crate::schema::catalog::Catalog;
use crate::schema::filter::LabelFilter;
use crate::schema::mask::{Mask, Visibility};
use crate::schema::met::NameNo;
use crate::schema::statistics::Statistics;
use crate::snapshots::collected::{questions_for_array, split};
use crate::snapshots::root::{Root, Snapshot};
use crate::snapshots::sampled::SampledEdges;
use crate::snapshots::searches::{Searches, Versions};
use crate::versions::cell::ChunkRef;
use crate::versions::shown::ReaderId;
use model::{ChunkNo, Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelSetId, VertexId, pace};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Readers whose sights one root caches. Beyond, the least recently used sight that is not in use is dropped; if all are in use, the least recently
/// used one: it is computed again on demand.
const SIGHTS_MAX: usize = 64;

/// Edges of one list that are looked at for one unit of work.
pub(crate) const EDGES_PER_UNIT: u64 = 64;

/// Multiplier of a linear congruential generator (Knuth's MMIX).
const MIX: u64 = 6_364_136_223_846_793_005;

/// The restriction of a reader, for any snapshot of one store. Its latest mask is cached; its sights are cached by their roots, so that none outlives
/// its root.
pub struct Restriction {
    visibility: Arc<dyn Visibility>,
    reader: ReaderId,
    mask: Mutex<Option<Arc<Mask>>>,
    searches: Arc<Searches>,
    /// The root that keeps the last sight.
    latest: Mutex<Weak<Root>>,
}

/// A slot for the sight of one reader.
struct SightSlot {
    reader: ReaderId,
    sight: OnceLock<Arc<Sight>>,
}

impl SightSlot {
    /// Is the sight referenced elsewhere, or being made?
    fn is_held(self: &Arc<SightSlot>) -> bool {
        Arc::strong_count(self) > 1 || self.sight.get().is_some_and(|sight| Arc::strong_count(sight) > 1)
    }
}

/// The sights of one root, the most recently used at the end.
#[derive(Default)]
pub(crate) struct Sights(Mutex<Vec<Arc<SightSlot>>>);

impl Sights {
    /// The sight of a reader, made where it is missing; other readers do not wait meanwhile.
    fn of(&self, reader: &ReaderId, make: impl FnOnce() -> Sight) -> Arc<Sight> {
        let slot = self.slot(reader);
        slot.sight.get_or_init(|| Arc::new(make())).clone()
    }
    fn slot(&self, reader: &ReaderId) -> Arc<SightSlot> {
        let mut kept = self.0.lock();
        let known = kept.iter().position(|slot| Arc::ptr_eq(&slot.reader, reader));
        let slot = match known {
            Some(at) => kept.remove(at),
            None => Arc::new(SightSlot { reader: reader.clone(), sight: OnceLock::new() }),
        };
        if kept.len() >= SIGHTS_MAX {
            let goes = kept.iter().position(|slot| !slot.is_held()).unwrap_or(0);
            kept.remove(goes);
        }
        kept.push(slot.clone());
        slot
    }
    fn forget(&self, reader: &ReaderId) {
        self.0.lock().retain(|slot| !Arc::ptr_eq(&slot.reader, reader));
    }
}

/// A root that is still read drops the sights of a reader that is gone.
impl Drop for Restriction {
    fn drop(&mut self) {
        if let Some(root) = self.latest.lock().upgrade() {
            root.sights.forget(&self.reader);
        }
    }
}

impl std::fmt::Debug for Restriction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Restriction")
    }
}

impl Restriction {
    /// A restriction by this visibility.
    pub fn new(visibility: Arc<dyn Visibility>) -> Arc<Restriction> {
        Arc::new(Restriction {
            visibility,
            reader: ReaderId::default(),
            mask: Mutex::default(),
            searches: Arc::default(),
            latest: Mutex::default(),
        })
    }
    /// Is this label shown on vertices that are?
    pub fn shows_label(&self, label: &str) -> bool {
        self.visibility.shows_label(label)
    }
    /// Was a name with this number met in the graph, as it was committed? It may be there without having been met.
    pub fn has_met(&self, name: NameNo) -> bool {
        self.searches.has_met(name)
    }
    /// Chunks that were looked at for names and for edges of a type, in all snapshots so far.
    pub fn chunks_searched(&self) -> u64 {
        self.searches.chunks_searched()
    }
    fn mask(&self, catalog: &Catalog, counts: &Statistics) -> Arc<Mask> {
        let mut latest = self.mask.lock();
        if let Some(mask) = latest.as_ref().filter(|mask| mask.is_of(catalog, counts)) {
            return mask.clone();
        }
        let mask = Arc::new(Mask::new(catalog, counts, &self.visibility));
        *latest = Some(mask.clone());
        mask
    }
    fn sight(&self, root: &Arc<Root>) -> Arc<Sight> {
        *self.latest.lock() = Arc::downgrade(root);
        root.sights.of(&self.reader, || {
            let mask = self.mask(&root.catalog, &root.statistics);
            let chunks = if mask.hides_vertices { root.directory.bound() } else { 0 };
            let counts = &root.statistics;
            let mut undecided = mask.ruled_edge_types();
            undecided.retain(|edge_type| {
                mask.may_show_edges(*edge_type, counts) && !mask.shows_all_ends(*edge_type, counts)
            });
            Sight {
                catalog: mask.catalog(&root.catalog, |edge_type| {
                    mask.may_show_edges(edge_type, counts) && !undecided.contains(&edge_type)
                }),
                undecided,
                decided: OnceLock::new(),
                statistics: OnceLock::new(),
                verdicts: (0..chunks).map(|_| AtomicU8::new(UNKNOWN)).collect(),
                reader: self.reader.clone(),
                bits: OnceLock::new(),
                questions: AtomicU32::new(0),
                searches: self.searches.clone(),
                versions: OnceLock::new(),
                own_searches: root.uncommitted.is_some().then(Searches::default),
                mask,
            }
        })
    }
}

const UNKNOWN: u8 = 0;
const ALL_SHOWN: u8 = 1;
const NONE_SHOWN: u8 = 2;
const MIXED: u8 = 3;

/// A restriction, worked out for one root.
pub(crate) struct Sight {
    pub(crate) mask: Arc<Mask>,
    /// Without rules about the edge types of `undecided`.
    pub(crate) catalog: Catalog,
    /// Edge types of rules, for which the counts do not tell whether an edge is visible.
    pub(crate) undecided: Vec<EdgeTypeId>,
    /// The catalogue with those rules, once it is known which of these types have visible edges.
    pub(crate) decided: OnceLock<Catalog>,
    statistics: OnceLock<Statistics>,
    /// Which vertices of each chunk are shown; empty where no vertex is hidden.
    verdicts: Box<[AtomicU8]>,
    reader: ReaderId,
    /// Bits of visible vertices, by chunk, after enough requests: copies of those cached with versions of chunks.
    bits: OnceLock<ChunkBits>,
    /// Questions that had to look up a label set.
    questions: AtomicU32,
    /// Names that this reader has met and searched for, in any snapshot of the committed graph.
    pub(crate) searches: Arc<Searches>,
    /// And in this snapshot alone, if it holds uncommitted changes.
    pub(crate) own_searches: Option<Searches>,
    /// Which version each chunk has, once something was looked for.
    pub(crate) versions: OnceLock<Arc<Versions>>,
}

/// Which vertices of one chunk are shown.
#[derive(Clone, Copy)]
pub(crate) enum ShownSlots<'a> {
    All,
    None,
    /// Those with their bit.
    Some(&'a SlotBits),
    /// Each has to be tested.
    Each,
}

/// Where vertices are hidden at edges that are followed.
#[derive(Clone, Copy, Default)]
pub(crate) struct HiddenEnds {
    /// Of each edge the end from which it is followed.
    pub(crate) near: bool,
    /// At some edge the other end.
    pub(crate) far: bool,
}

impl Sight {
    pub(crate) fn statistics<'a>(sight: &'a Arc<Sight>, root: &Arc<Root>) -> &'a Statistics {
        sight.statistics.get_or_init(|| {
            let shown_edges = sight.mask.may_hide_vertices.then(|| SampledEdges::of(root, sight));
            root.statistics.masked(&sight.mask, &sight.catalog.names, shown_edges)
        })
    }
    /// Where vertices are hidden at edges of these types.
    pub(crate) fn hidden_ends(&self, root: &Root, types: &[EdgeTypeId], direction: Direction) -> HiddenEnds {
        if !self.mask.hides_vertices {
            return HiddenEnds::default();
        }
        let hidden = |direction| {
            let count = |edge_type: &EdgeTypeId| {
                root.statistics.has_edges_at(*edge_type, direction, |set| !self.mask.shows_set(set))
            };
            types.iter().any(count)
        };
        let (sources, targets) = (hidden(Direction::Out), hidden(Direction::In));
        match direction {
            Direction::Out => HiddenEnds { near: sources, far: targets },
            Direction::In => HiddenEnds { near: targets, far: sources },
            Direction::Both => HiddenEnds { near: sources || targets, far: sources || targets },
        }
    }
    #[inline]
    fn verdict(&self, root: &Root, chunk: ChunkNo) -> u8 {
        let Some(kept) = self.verdicts.get(chunk as usize) else { return NONE_SHOWN };
        match kept.load(Ordering::Relaxed) {
            UNKNOWN => self.find_verdict(root, chunk, kept),
            known => known,
        }
    }
    #[cold]
    fn find_verdict(&self, root: &Root, chunk: ChunkNo, kept: &AtomicU8) -> u8 {
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
    /// Which vertices of a chunk are shown.
    #[inline]
    pub(crate) fn slots(&self, root: &Root, chunk: ChunkNo) -> Result<ShownSlots<'_>, StoreError> {
        match self.verdict(root, chunk) {
            ALL_SHOWN => Ok(ShownSlots::All),
            NONE_SHOWN => Ok(ShownSlots::None),
            _ => Ok(self.collect(root, chunk)?.map_or(ShownSlots::Each, ShownSlots::Some)),
        }
    }
    /// Is a vertex visible, if it exists; none where its chunk was not collected.
    #[inline(always)]
    fn known(&self, vertex: u32) -> Option<bool> {
        self.bits.get()?.known(vertex)
    }
    /// The bits of a chunk, after enough requests and if there is room for them.
    #[inline]
    fn collect(&self, root: &Root, chunk: ChunkNo) -> Result<Option<&SlotBits>, StoreError> {
        match self.bits.get().and_then(|bits| bits.of_chunk(chunk as usize)) {
            Some(known) => Ok(Some(known)),
            None => self.collect_now(root, chunk),
        }
    }
    #[inline(never)]
    fn collect_now(&self, root: &Root, chunk: ChunkNo) -> Result<Option<&SlotBits>, StoreError> {
        let bound = root.directory.bound();
        let places = match self.bits.get() {
            Some(places) => places,
            None if self.questions.fetch_add(1, Ordering::Relaxed) < questions_for_array(bound) => {
                return Ok(None);
            }
            None => self.bits.get_or_init(|| ChunkBits::new(bound, &root.pager)),
        };
        let Some(place) = places.place(chunk as usize, &root.pager) else { return Ok(None) };
        let bits = match self.verdict(root, chunk) {
            ALL_SHOWN => [u64::MAX; 64],
            NONE_SHOWN => [0; 64],
            _ => {
                let Some(cell) = root.directory.get(chunk) else { return Ok(None) };
                match cell.shown_bits(&self.reader, |set| self.mask.shows_set(set))? {
                    Some(kept) => kept.bits,
                    None => return Ok(None),
                }
            }
        };
        Ok(Some(place.get_or_init(|| bits)))
    }
}

/// Chunks whose bits are in one array: 33 KB, little compared with the requests that led to it.
const SEGMENT_CHUNKS: usize = 64;

type Segment = [OnceLock<SlotBits>; SEGMENT_CHUNKS];

/// Bits of the vertices of requested chunks, in arrays of neighbouring chunks.
struct ChunkBits {
    segments: Box<[OnceLock<Box<Segment>>]>,
    charge: Charge,
}

impl ChunkBits {
    fn new(bound: ChunkNo, pager: &Arc<Pager>) -> ChunkBits {
        let segments: Box<[OnceLock<Box<Segment>>]> =
            (0..(bound as usize).div_ceil(SEGMENT_CHUNKS)).map(|_| OnceLock::new()).collect();
        let charge = Charge::new(pager, size_of_val(&*segments));
        ChunkBits { segments, charge }
    }
    #[inline(always)]
    fn of_chunk(&self, chunk: usize) -> Option<&SlotBits> {
        self.segments.get(chunk / SEGMENT_CHUNKS)?.get()?[chunk % SEGMENT_CHUNKS].get()
    }
    /// The slot for the bits of a chunk; none where there is no room for its segment.
    fn place(&self, chunk: usize, pager: &Pager) -> Option<&OnceLock<SlotBits>> {
        let segment = self.segments.get(chunk / SEGMENT_CHUNKS)?;
        if segment.get().is_none() && !pager.may_pin(size_of::<Segment>()) {
            return None;
        }
        let made = segment.get_or_init(|| {
            self.charge.add(size_of::<Segment>());
            Box::new(std::array::from_fn(|_| OnceLock::new()))
        });
        made.get(chunk % SEGMENT_CHUNKS)
    }
    #[inline(always)]
    fn known(&self, vertex: u32) -> Option<bool> {
        let (chunk, slot) = split(vertex);
        Some(bit(self.of_chunk(chunk)?, slot))
    }
}

/// Tests the vertices of lists.
pub(crate) struct ShownTest<'a> {
    snapshot: &'a Snapshot,
    bits: Option<&'a ChunkBits>,
}

impl<'a> ShownTest<'a> {
    #[inline]
    pub(crate) fn new(snapshot: &'a Snapshot) -> ShownTest<'a> {
        ShownTest { snapshot, bits: snapshot.sight.as_ref().and_then(|sight| sight.bits.get()) }
    }
    #[inline(always)]
    fn is_shown(&mut self, vertex: u32) -> Result<bool, StoreError> {
        match self.bits.and_then(|bits| bits.known(vertex)) {
            Some(known) => Ok(known),
            None => self.snapshot.find_shown(vertex),
        }
    }
    /// The first of these vertices that is shown.
    pub(crate) fn first_of(&mut self, vertices: &[u32]) -> Result<Option<u32>, StoreError> {
        for vertex in vertices {
            if self.is_shown(*vertex)? {
                return Ok(Some(*vertex));
            }
        }
        Ok(None)
    }
    /// Estimated number of visible vertices among these; exact where there are no more than `enough`. Of more, this many are sampled, one of each
    /// stretch, at irregular distances.
    pub(crate) fn count_about(&mut self, vertices: &[u32], enough: usize) -> Result<u64, StoreError> {
        let stretch = vertices.len().div_ceil(enough).max(1);
        let (mut shown, mut looked, mut mixed) = (0_u64, 0_u64, vertices.len() as u64);
        for part in vertices.chunks(stretch) {
            mixed = mixed.wrapping_mul(MIX).wrapping_add(1);
            let at = (mixed >> 32) as usize % part.len();
            shown += u64::from(self.is_shown(part[at])?);
            looked += 1;
        }
        Ok((shown * vertices.len() as u64).checked_div(looked).unwrap_or(0))
    }
    /// Appends the vertices that are shown, unless all are.
    pub(crate) fn keep(&mut self, vertices: &[u32], kept: &mut Vec<u32>) -> Result<bool, StoreError> {
        let mut at = 0;
        while let Some(vertex) = vertices.get(at) {
            if !self.is_shown(*vertex)? {
                break;
            }
            at += 1;
        }
        let (shown, rest) = vertices.split_at(at);
        if rest.is_empty() {
            return Ok(true);
        }
        kept.extend_from_slice(shown);
        for vertex in &rest[1..] {
            if self.is_shown(*vertex)? {
                kept.push(*vertex);
            }
        }
        Ok(false)
    }
    /// Calls `found` with each range of neighbours in the list that are all shown, as long as it can be: one of all, where none is hidden.
    #[inline]
    pub(crate) fn for_ranges(
        &mut self,
        vertices: &[u32],
        mut found: impl FnMut(Range<usize>),
    ) -> Result<(), StoreError> {
        let mut begin = 0;
        let mut close = |begin: usize, end: usize| {
            if begin < end {
                found(begin..end);
            }
        };
        for (at, vertex) in vertices.iter().enumerate() {
            if !self.is_shown(*vertex)? {
                close(begin, at);
                begin = at + 1;
            }
        }
        close(begin, vertices.len());
        Ok(())
    }
}

impl Snapshot {
    /// The same graph as a reader under this restriction sees it; an earlier restriction is replaced.
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
    /// Is this vertex visible, if it exists?
    #[inline]
    pub(crate) fn shows_dense(&self, vertex: u32) -> Result<bool, StoreError> {
        match self.sight.as_ref().and_then(|sight| sight.known(vertex)) {
            Some(known) => Ok(known),
            None => self.find_shown(vertex),
        }
    }
    /// The same of a vertex whose chunk may not have been collected; collects it, if worthwhile.
    #[inline(never)]
    fn find_shown(&self, vertex: u32) -> Result<bool, StoreError> {
        let Some(sight) = self.sight.as_ref().filter(|sight| sight.mask.hides_vertices) else {
            return Ok(true);
        };
        let (chunk, slot) = split(vertex);
        match sight.collect(&self.root, chunk as ChunkNo)? {
            Some(bits) => Ok(bit(bits, slot)),
            None => self.shows_by_label(VertexId::from_dense(vertex)),
        }
    }
    /// Which vertices of a chunk are shown.
    #[inline]
    pub(crate) fn shown_slots(&self, chunk: ChunkNo) -> Result<ShownSlots<'_>, StoreError> {
        match self.sight.as_ref().filter(|sight| sight.mask.hides_vertices) {
            None => Ok(ShownSlots::All),
            Some(sight) => sight.slots(&self.root, chunk),
        }
    }
    /// Of which vertices of this chunk a property is shown.
    pub(crate) fn shown_properties(
        &self,
        chunk: &ChunkRef<'_>,
        number: ChunkNo,
        key: KeyId,
    ) -> Result<ShownSlots<'_>, StoreError> {
        if self.sight.is_none() {
            return Ok(ShownSlots::All);
        }
        let sets = &chunk.meta().label_sets;
        let shown = sets.iter().filter(|set| self.shows_set(**set));
        match shown.clone().filter(|set| self.shows_property(Some(**set), key)).count() {
            0 => Ok(ShownSlots::None),
            count if count == shown.count() => self.shown_slots(number),
            _ => Ok(ShownSlots::Each),
        }
    }
    /// Is this vertex visible, if it exists?
    pub(crate) fn shows(&self, vertex: VertexId) -> Result<bool, StoreError> {
        match self.shown_slots(vertex.chunk())? {
            ShownSlots::All => Ok(true),
            ShownSlots::None => Ok(false),
            ShownSlots::Some(bits) => Ok(bit(bits, usize::from(vertex.slot()))),
            ShownSlots::Each => self.shows_by_label(vertex),
        }
    }
    /// The same, looked up.
    fn shows_by_label(&self, vertex: VertexId) -> Result<bool, StoreError> {
        let set = self.locate(vertex, PartName::Head)?.and_then(|(chunk, slot)| chunk.labels(slot));
        Ok(set.is_some_and(|set| self.shows_set(set)))
    }
    /// Is this edge visible, if it exists?
    pub(crate) fn shows_edge(&self, edge: EdgeRef) -> Result<bool, StoreError> {
        let Some(sight) = &self.sight else { return Ok(true) };
        Ok(sight.mask.shows_type(edge.id.edge_type())
            && self.shows(edge.source)?
            && self.shows(edge.target)?)
    }
    /// Chunk, with this part of it, and slot of a vertex that is shown.
    #[inline]
    pub(crate) fn seen(
        &self,
        vertex: VertexId,
        part: PartName,
    ) -> Result<Option<(ChunkRef<'_>, usize)>, StoreError> {
        if self.sight.is_some() && !self.shows(vertex)? {
            return Ok(None);
        }
        self.locate(vertex, part)
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
    /// Edges of these types that are shown, counted one by one, up to this many or a few more. Looks at every vertex, unless the counts show
    /// that there can be none.
    ///
    /// # Errors
    /// A chunk cannot be read.
    pub fn count_edges(&self, types: &[EdgeTypeId], enough: u64) -> Result<u64, StoreError> {
        let may_be_shown = |edge_type: &EdgeTypeId| match &self.sight {
            Some(sight) => sight.mask.may_show_edges(*edge_type, &self.root.statistics),
            None => true,
        };
        let types: Vec<EdgeTypeId> = types.iter().copied().filter(may_be_shown).collect();
        // No types would mean all.
        if types.is_empty() {
            return Ok(0);
        }
        let (out, mut count, mut found) = (self.adjacency(&types, Direction::Out), 0, Vec::new());
        for chunk in self.scan_chunks(&LabelFilter::Any) {
            found.clear();
            self.scan_chunk(chunk, &LabelFilter::Any, &mut found)?;
            pace::spend(1 + found.len() as u64)?;
            for vertex in &found {
                let degree = out.degree(vertex.dense())?;
                pace::spend(u64::from(degree) / EDGES_PER_UNIT)?;
                count += u64::from(degree);
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
