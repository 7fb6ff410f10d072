//! Caches of a version of a chunk for readers: its lists in one lane, ready to be handed out as slices.
//!
//! Idea: snapshots come with every commit, but a commit makes new versions only of the few chunks it touches. So look-ups are cached with the
//! version, and a snapshot's layer (see `layer`) collects them with a load or two a chunk instead of making them anew. A view of a lane is made in
//! constant time: it shares the base's arrays and the delta, and reads neither. A changed list is found in the delta by slot, five loads deep; a
//! version with as many requests for them as it has such lists lives long enough for an array of them by rank, which takes two.
//! Invariants: a view holds references to its content, so slices of it live as long as it does; it pins its page, and where the pager refuses the pin
//! there is no view. Views go with their version, or when pins become scarce ([`Views::clear`]).

use crate::chunks::chunk::{Base, ChunkRead};
use crate::chunks::delta::{Delta, VertexDelta, bit};
use crate::chunks::edge_list::EdgeList;
use crate::chunks::list_delta::ListDelta;
use crate::chunks::table::{EdgeTable, Lane};
use crate::paging::page::Pin;
use crate::paging::pager::{Charge, Pager};
use crate::versions::joined_view::JoinedView;
use crate::versions::ranked::{RankedLists, is_ranking_due};
use crate::versions::shown::{ReaderId, ShownBits};
use arc_swap::ArcSwapOption;
use model::EdgeTypeId;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

/// Restricted readers for whom one version of a chunk caches the visible vertices.
const SHOWN_READERS_MAX: usize = 4;

/// One version of a chunk in one lane. The fields of every look-up are in the first cache line.
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
    /// The changed lists by rank, after enough requests.
    ranked: OnceLock<Box<RankedLists>>,
    table: Arc<EdgeTable>,
    /// Keeps the base in memory; none where there is no chunk or no such lane.
    _pin: Option<Pin<Base>>,
    charge: Option<Charge>,
}

impl LaneView {
    pub(crate) fn new(
        lane: Lane,
        pin: Option<Pin<Base>>,
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
            _pin: pin,
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
    /// The neighbours of a vertex, unless its list is dirty and not assembled yet; the fast path of everything.
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
    /// The array of changed lists, after enough requests.
    #[inline]
    fn ranked(&self, delta: &Arc<Delta>) -> Option<&RankedLists> {
        if let Some(ranked) = self.ranked.get() {
            return Some(ranked);
        }
        if !is_ranking_due(&self.questions, delta) {
            return None;
        }
        let pager = self.charge.as_ref()?.pager();
        let changed = |vertex: &VertexDelta| vertex.list(self.lane).map(|list| list.kept_before().cloned());
        Some(self.ranked.get_or_init(|| Box::new(RankedLists::new(delta, pager, changed))))
    }
    /// The edges of a vertex; a dirty list is assembled on first use.
    #[inline]
    pub(crate) fn list(&self, slot: usize) -> EdgeList<'_> {
        if let Some(ranked) = self.ranked.get()
            && let Some(place) = ranked.place(slot)
            && let Some(delta) = &self.delta
        {
            let list = || delta.vertex(slot).and_then(|vertex| vertex.list(self.lane));
            let kept = || {
                list().expect("the bit says that it changed").kept(&self.table, slot, delta.pager()).clone()
            };
            return EdgeList::of_kept(place.get_or_init(kept));
        }
        self.lane_ref().list(slot, self.lane)
    }
    #[inline]
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
    pub(crate) fn of(content: &'a impl ChunkRead, lane: Lane) -> LaneRef<'a> {
        let table = content.base().table(lane).unwrap_or_else(|| no_edges());
        LaneRef { table, delta: content.delta().map(|delta| &**delta) }
    }
    /// Of a chunk that is not there.
    pub(crate) fn none() -> LaneRef<'static> {
        LaneRef { table: no_edges(), delta: None }
    }
    #[inline]
    pub(crate) fn list_delta(self, slot: usize, lane: Lane) -> Option<&'a ListDelta> {
        let delta = self.delta?;
        if bit(&delta.dirty, slot) { delta.vertex(slot)?.list(lane) } else { None }
    }
    /// How many of these slots come before the first whose list changed.
    pub(crate) fn unchanged(self, mut slots: Range<usize>, lane: Lane) -> usize {
        match self.delta {
            None => slots.len(),
            Some(_) => {
                let begin = slots.start;
                let end = slots.end;
                slots.find(|slot| self.list_delta(*slot, lane).is_some()).unwrap_or(end) - begin
            }
        }
    }
    #[inline]
    pub(crate) fn list(self, slot: usize, lane: Lane) -> EdgeList<'a> {
        match (self.list_delta(slot, lane), self.delta) {
            (Some(list), Some(delta)) => EdgeList::of_kept(list.kept(self.table, slot, delta.pager())),
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
pub(crate) struct Views(ArcSwapOption<BuiltViews>);

/// Those made so far.
#[derive(Clone, Default)]
struct BuiltViews {
    lanes: SmallVec<[Arc<LaneView>; 2]>,
    joined: SmallVec<[Arc<JoinedView>; 1]>,
    shown: SmallVec<[Arc<ShownBits>; 1]>,
}

impl Views {
    /// The view of a lane, if it was made.
    pub(crate) fn lane_before(&self, lane: Lane) -> Option<Arc<LaneView>> {
        self.0.load().as_ref()?.lanes.iter().find(|view| view.lane == lane).cloned()
    }
    pub(crate) fn add_lane(&self, view: &Arc<LaneView>) {
        self.add(|made| {
            made.lanes.retain(|other| other.lane != view.lane);
            made.lanes.push(view.clone());
        });
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
    /// The vertices that this reader is shown, if that was computed.
    pub(crate) fn shown_before(&self, reader: &ReaderId) -> Option<Arc<ShownBits>> {
        self.0.load().as_ref()?.shown.iter().find(|bits| bits.is_of(reader)).cloned()
    }
    /// Keeps them beside those of a few other readers; the oldest go.
    pub(crate) fn add_shown(&self, bits: &Arc<ShownBits>) {
        self.add(|made| {
            made.shown.retain(|other| other.is_wanted() && !other.is_like(bits));
            if made.shown.len() >= SHOWN_READERS_MAX {
                made.shown.remove(0);
            }
            made.shown.push(bits.clone());
        });
    }
    fn add(&self, change: impl Fn(&mut BuiltViews)) {
        self.0.rcu(|made| {
            let mut made = made.as_deref().cloned().unwrap_or_default();
            change(&mut made);
            Some(Arc::new(made))
        });
    }
    /// Drops them; readers that hold one keep it.
    pub(crate) fn clear(&self) {
        self.0.store(None);
    }
}

fn no_edges() -> &'static Arc<EdgeTable> {
    static NO_EDGES: OnceLock<Arc<EdgeTable>> = OnceLock::new();
    NO_EDGES.get_or_init(|| Arc::new(EdgeTable::empty()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::disallowed_types)]
    use super::*;
    use crate::{Change, Names, Snapshot, StoreOptions};
    use model::{Direction, EdgeId, EdgeRef, LabelSetId, VertexId};

    const TYPE: EdgeTypeId = EdgeTypeId(0);
    const VERTICES: u64 = 300;

    fn edge(number: u32, source: u64, target: u64) -> Change {
        let (source, target) = (VertexId(source), VertexId(target));
        let edge = EdgeRef { id: EdgeId::new(0, TYPE, number), source, target };
        Change::CreateEdge { edge, properties: Vec::new() }
    }

    /// A clean chunk with a ring of edges, then some edges more, loops among them.
    fn dirty() -> (Snapshot, Snapshot) {
        let names = Arc::new(Names::new());
        names.intern_edge_type("T").unwrap();
        let vertex =
            |id| Change::CreateVertex { id: VertexId(id), labels: LabelSetId(0), properties: Vec::new() };
        let mut changes: Vec<Change> = (0..VERTICES).map(vertex).collect();
        changes.extend((0..VERTICES).map(|n| edge(n as u32, n, (n + 1) % VERTICES)));
        let first = Snapshot::empty(names, StoreOptions::default()).apply(1, &[&changes]).unwrap();
        let clean = first.compact(0).unwrap();
        let more = (0..VERTICES).step_by(7).map(|n| edge((VERTICES + n) as u32, n, n * n % VERTICES));
        let dirty = clean.apply(2, &[&more.collect::<Vec<_>>()]).unwrap();
        (clean, dirty)
    }

    /// The lists of all vertices, as a view shows them.
    fn lists(snapshot: &Snapshot, direction: Direction) -> Vec<Vec<u32>> {
        let (view, mut scratch) = (snapshot.adjacency(&[TYPE], direction), Vec::new());
        (0..VERTICES as u32).map(|vertex| view.neighbours(vertex, &mut scratch).unwrap().to_vec()).collect()
    }

    /// Before and after changed lists are ranked, every list is that of the same graph without a delta.
    #[test]
    fn ranked_lists_are_the_lists() {
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let (_, dirty) = dirty();
            let twin = lists(&dirty.compact(0).unwrap(), direction);
            for round in 0..40 {
                assert!(lists(&dirty, direction) == twin, "round {round}");
            }
            let cell = dirty.root.directory.get(0).unwrap();
            let is_ranked = match direction {
                Direction::Out => cell.views().lane_before(Lane::out(TYPE)).unwrap().ranked.get().is_some(),
                Direction::In => cell.views().lane_before(Lane::into(TYPE)).unwrap().ranked.get().is_some(),
                Direction::Both => cell.views().joined_before(TYPE).unwrap().is_ranked(),
            };
            assert!(is_ranked, "{direction:?}");
        }
    }

    /// A commit leaves readers the views of the chunks it did not touch, and those of versions before it.
    #[test]
    fn views_outlive_commits() {
        let (clean, dirty) = dirty();
        let far = VertexId::new(1, 0);
        let born = |id| Change::CreateVertex { id, labels: LabelSetId(0), properties: Vec::new() };
        (0..3).for_each(|_| drop(lists(&dirty, Direction::Out)));
        let view = |snapshot: &Snapshot| {
            snapshot.root.directory.get(0).unwrap().views().lane_before(Lane::out(TYPE))
        };
        let before = view(&dirty).unwrap();
        let elsewhere = dirty.apply(3, &[&[born(far)]]).unwrap();
        assert!(Arc::ptr_eq(&before, &view(&elsewhere).unwrap()));
        let here = dirty.apply(3, &[&[edge(4_000, 1, 5)]]).unwrap();
        assert!(view(&here).is_none() && view(&clean).is_none());
        assert!(lists(&here, Direction::Out)[1].contains(&5));
        assert!(!lists(&dirty, Direction::Out)[1].contains(&5));
    }
}
