//! What a version of a chunk keeps for readers: its lists in one lane, ready to be handed out as slices.
//!
//! Idea: snapshots come with every commit, but a commit makes new versions of the few chunks it touches alone. So what readers look up is
//! kept by the version, and a snapshot's layer (see `layer`) collects it with a load or two a chunk instead of making it anew. A view of a lane
//! is made in constant time: it shares the base's arrays and the delta, and looks into neither. A changed list is found in the delta by slot,
//! five loads deep; a version that is asked for as many of them as it has lives long enough for an array of them by rank, which takes two.
//! Invariants: a view holds what it reads, so slices of it live as long as it does; it pins its page, and where the pager refuses the pin
//! there is no view. Views go with their version, or when pins become scarce ([`Views::clear`]).

use crate::StoreError;
use crate::chunk::{Base, ChunkRead};
use crate::delta::{Delta, ListDelta, SlotBits, bit};
use crate::directory::{Cell, ChunkRef};
use crate::edge_list::EdgeList;
use crate::joined::JoinedView;
use crate::page::Pin;
use crate::pager::{Charge, Pager};
use crate::table::{EdgeTable, Lane};
use arc_swap::ArcSwapOption;
use model::EdgeTypeId;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes of room below which no pin is tried for: asking must be cheap where every answer is no.
const PIN_ROOM_MIN: usize = 16 << 10;

/// Questions about changed lists, and at least as many as changes, after which an array of them is made.
const RANKED_QUESTIONS_MIN: usize = 64;

/// One version of a chunk in one lane. What every look-up needs is in the first cache line.
#[repr(C, align(64))]
pub(crate) struct LaneView {
    /// The table's own arrays, so that a look-up does not pass through its head.
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    /// Only where some list of this lane changed.
    delta: Option<Arc<Delta>>,
    lane: Lane,
    /// Questions about changed lists.
    questions: AtomicU32,
    /// The changed lists by rank, once enough was asked.
    ranked: OnceLock<Box<RankedLists>>,
    table: Arc<EdgeTable>,
    /// Keeps the base in memory; none where there is no chunk.
    _pin: Option<Pin<Base>>,
    charge: Option<Charge>,
}

/// The changed lists of one chunk in one lane, found by rank in a bitmap.
struct RankedLists {
    bits: SlotBits,
    /// Bits set before each word.
    ranks: [u16; 64],
    /// One for every bit; filled from the delta by its first reader.
    lists: Box<[OnceLock<Arc<[u32]>>]>,
    _charge: Charge,
}

impl RankedLists {
    fn new(delta: &Delta, lane: Lane, pager: &Arc<Pager>) -> RankedLists {
        let (mut bits, mut ranks, mut lists): (SlotBits, _, _) = ([0; 64], [0; 64], Vec::new());
        delta.for_each(|slot, vertex| {
            if let Some(list) = vertex.list(lane) {
                bits[slot / 64] |= 1 << (slot % 64);
                let kept = list.kept_before().cloned();
                lists.push(kept.map_or_else(OnceLock::new, OnceLock::from));
            }
        });
        (1..64).for_each(|word| ranks[word] = ranks[word - 1] + bits[word - 1].count_ones() as u16);
        let bytes = size_of::<RankedLists>() + size_of_val(lists.as_slice());
        RankedLists { bits, ranks, lists: lists.into(), _charge: Charge::new(pager, bytes) }
    }
    /// The place of a changed list; none where it is as in the base.
    #[inline]
    fn place(&self, slot: usize) -> Option<&OnceLock<Arc<[u32]>>> {
        let (word, before) = (self.bits[slot / 64], (1 << (slot % 64)) - 1);
        if word >> (slot % 64) & 1 == 0 {
            return None;
        }
        Some(&self.lists[self.ranks[slot / 64] as usize + (word & before).count_ones() as usize])
    }
}

impl LaneView {
    fn new(
        lane: Lane,
        pin: Pin<Base>,
        base: &Base,
        delta: Option<&Arc<Delta>>,
        pager: &Arc<Pager>,
    ) -> LaneView {
        let table = base.table(lane).unwrap_or_else(|| no_edges()).clone();
        let (offsets, neighbours) = (table.offsets.clone(), table.neighbours.clone());
        let delta = delta.filter(|delta| delta.lanes.binary_search(&lane).is_ok()).cloned();
        let charge = Some(Charge::new(pager, size_of::<LaneView>()));
        LaneView {
            offsets,
            neighbours,
            delta,
            lane,
            questions: AtomicU32::new(0),
            ranked: OnceLock::new(),
            table,
            _pin: Some(pin),
            charge,
        }
    }
    /// Of a chunk that is not there.
    pub(crate) fn empty(lane: Lane) -> LaneView {
        let table = no_edges().clone();
        let (offsets, neighbours) = (table.offsets.clone(), table.neighbours.clone());
        LaneView {
            offsets,
            neighbours,
            delta: None,
            lane,
            questions: AtomicU32::new(0),
            ranked: OnceLock::new(),
            table,
            _pin: None,
            charge: None,
        }
    }
    /// The neighbours of a vertex, unless its list is dirty and nobody read it yet; the fast path of everything.
    #[inline(always)]
    pub(crate) fn ready(&self, slot: usize) -> Option<&[u32]> {
        if let Some(delta) = &self.delta
            && bit(&delta.dirty, slot)
        {
            return self.ready_dirty(delta, slot);
        }
        self.clean(slot)
    }
    #[inline(always)]
    fn clean(&self, slot: usize) -> Option<&[u32]> {
        match self.offsets.get(slot + 1) {
            Some(end) => self.neighbours.get(self.offsets[slot] as usize..*end as usize),
            None => Some(&[]),
        }
    }
    fn ready_dirty<'a>(&'a self, delta: &'a Arc<Delta>, slot: usize) -> Option<&'a [u32]> {
        let kept = match self.ranked(delta) {
            Some(ranked) => match ranked.place(slot) {
                Some(place) => place.get(),
                None => return self.clean(slot),
            },
            None => match delta.vertex(slot).and_then(|vertex| vertex.list(self.lane)) {
                Some(list) => list.kept_before(),
                None => return self.clean(slot),
            },
        };
        kept.map(|kept| &kept[..kept.len() / 2])
    }
    /// The array of changed lists, if enough was asked for it.
    #[inline]
    fn ranked(&self, delta: &Arc<Delta>) -> Option<&RankedLists> {
        if let Some(ranked) = self.ranked.get() {
            return Some(ranked);
        }
        let asked = self.questions.fetch_add(1, Ordering::Relaxed) as usize;
        if asked < RANKED_QUESTIONS_MIN.max(delta.weight) {
            return None;
        }
        let pager = self.charge.as_ref()?.pager();
        Some(self.ranked.get_or_init(|| Box::new(RankedLists::new(delta, self.lane, pager))))
    }
    /// The edges of a vertex; a dirty list is put together if nobody did before.
    #[inline]
    pub(crate) fn list(&self, slot: usize) -> EdgeList<'_> {
        if let Some(ranked) = self.ranked.get()
            && let Some(place) = ranked.place(slot)
            && let Some(delta) = &self.delta
        {
            let list = || delta.vertex(slot).and_then(|vertex| vertex.list(self.lane));
            let kept =
                || list().expect("the bit says that it changed").kept(&self.table, slot, delta).clone();
            return EdgeList::of_kept(place.get_or_init(kept));
        }
        self.lane_ref().list(slot, self.lane)
    }
    pub(crate) fn lane_ref(&self) -> LaneRef<'_> {
        LaneRef { table: &self.table, delta: self.delta.as_deref() }
    }
}

/// A chunk's edges in one lane, wherever they were found.
#[derive(Clone, Copy)]
pub(crate) struct LaneRef<'a> {
    pub(crate) table: &'a EdgeTable,
    delta: Option<&'a Delta>,
}

impl<'a> LaneRef<'a> {
    /// Of a chunk that is being read.
    pub(crate) fn of(content: &'a ChunkRef<'_>, lane: Lane) -> LaneRef<'a> {
        let table = content.base().table(lane).unwrap_or_else(|| no_edges());
        LaneRef { table, delta: content.delta().map(|delta| &**delta) }
    }
    /// Of a chunk that is not there.
    pub(crate) fn none() -> LaneRef<'static> {
        LaneRef { table: no_edges(), delta: None }
    }
    pub(crate) fn list_delta(self, slot: usize, lane: Lane) -> Option<&'a ListDelta> {
        let delta = self.delta?;
        if bit(&delta.dirty, slot) { delta.vertex(slot)?.list(lane) } else { None }
    }
    #[inline]
    pub(crate) fn list(self, slot: usize, lane: Lane) -> EdgeList<'a> {
        match (self.list_delta(slot, lane), self.delta) {
            (Some(list), Some(delta)) => EdgeList::of_kept(list.kept(self.table, slot, delta)),
            _ => EdgeList::of_base(self.table, slot),
        }
    }
    /// Edges of the base, before changes: about the length of the list.
    pub(crate) fn length(self, slot: usize) -> usize {
        self.table.range(slot).len()
    }
}

/// The views of one version of a chunk.
#[derive(Default)]
pub(crate) struct Views(ArcSwapOption<Made>);

/// Those made so far.
#[derive(Clone, Default)]
struct Made {
    lanes: SmallVec<[Arc<LaneView>; 2]>,
    joined: SmallVec<[Arc<JoinedView>; 1]>,
}

impl Views {
    /// The view of a lane, made if there is none; none where the pager has no room for it.
    pub(crate) fn lane(&self, lane: Lane, cell: &Cell) -> Result<Option<Arc<LaneView>>, StoreError> {
        if let Some(view) = self.lane_before(lane) {
            return Ok(Some(view));
        }
        let pager = cell.base().pager();
        let Some((pin, base)) = (if pager.may_pin(PIN_ROOM_MIN) { cell.base().pin()? } else { None }) else {
            return Ok(None);
        };
        let view = Arc::new(LaneView::new(lane, pin, &base, cell.delta(), pager));
        self.add(|made| {
            made.lanes.retain(|other| other.lane != lane);
            made.lanes.push(view.clone());
        });
        Ok(Some(view))
    }
    /// The view of a lane, if somebody made it.
    pub(crate) fn lane_before(&self, lane: Lane) -> Option<Arc<LaneView>> {
        self.0.load().as_ref()?.lanes.iter().find(|view| view.lane == lane).cloned()
    }
    pub(crate) fn joined_before(&self, edge_type: EdgeTypeId) -> Option<Arc<JoinedView>> {
        self.0.load().as_ref()?.joined.iter().find(|view| view.edge_type() == edge_type).cloned()
    }
    pub(crate) fn add_joined(&self, view: &Arc<JoinedView>) {
        self.add(|made| {
            made.joined.retain(|other| other.edge_type() != view.edge_type());
            made.joined.push(view.clone());
        });
    }
    fn add(&self, change: impl Fn(&mut Made)) {
        self.0.rcu(|made| {
            let mut made = made.as_deref().cloned().unwrap_or_default();
            change(&mut made);
            Some(Arc::new(made))
        });
    }
    /// Forgets them; readers that hold one keep it.
    pub(crate) fn clear(&self) {
        self.0.store(None);
    }
}

fn no_edges() -> &'static Arc<EdgeTable> {
    static NO_EDGES: OnceLock<Arc<EdgeTable>> = OnceLock::new();
    NO_EDGES.get_or_init(|| Arc::new(EdgeTable::empty()))
}
