//! The edges of one vertex in one lane, as slices: of the base where the vertex is clean, of a cached list where it is dirty.
//!
//! A cached list is one array: all neighbours, then the edge slots in the same order. Its first reader assembles it; every later reader of any
//! snapshot that shares the list's delta reads slices. Cost: 8 bytes an edge of the dirty lists that are read.

use crate::chunks::table::{EdgeSlots, EdgeTable, Lane};
use model::{EdgeId, EdgeRef, VertexId};
use std::ops::Range;

/// Edge slots beside a list of neighbours.
#[derive(Clone, Copy, Debug)]
enum Slots<'a> {
    /// Consecutive slots from this one.
    From(u32),
    Short(&'a [u16]),
    Given(&'a [u32]),
}

/// Neighbours in order, and the parts of their edges' ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeList<'a> {
    pub(crate) neighbours: &'a [u32],
    slots: Slots<'a>,
}

impl<'a> EdgeList<'a> {
    #[inline]
    pub(crate) fn of_base(table: &'a EdgeTable, slot: usize) -> EdgeList<'a> {
        EdgeList::of_range(table, table.range(slot))
    }
    #[inline]
    fn of_range(table: &'a EdgeTable, range: Range<usize>) -> EdgeList<'a> {
        let slots = match &table.slots {
            EdgeSlots::Rising(first) => Slots::From(range.start as u32 + first),
            EdgeSlots::Short(slots) => Slots::Short(&slots[range.clone()]),
            EdgeSlots::Long(slots) => Slots::Given(&slots[range.clone()]),
        };
        EdgeList { neighbours: &table.neighbours[range], slots }
    }
    #[inline]
    pub(crate) fn of_kept(kept: &'a [u32]) -> EdgeList<'a> {
        let (neighbours, slots) = kept.split_at(kept.len() / 2);
        EdgeList { neighbours, slots: Slots::Given(slots) }
    }
    pub(crate) fn part(self, range: Range<usize>) -> EdgeList<'a> {
        let slots = match self.slots {
            Slots::From(first) => Slots::From(first + range.start as u32),
            Slots::Short(slots) => Slots::Short(&slots[range.clone()]),
            Slots::Given(slots) => Slots::Given(&slots[range.clone()]),
        };
        EdgeList { neighbours: &self.neighbours[range], slots }
    }
    /// Where in the list the edges to `neighbour` lie.
    pub(crate) fn range_to(self, neighbour: u32) -> Range<usize> {
        let start = self.neighbours.partition_point(|other| *other < neighbour);
        let count = self.neighbours[start..].iter().take_while(|other| **other == neighbour).count();
        start..start + count
    }
    /// Calls `found` with each neighbour and edge slot, in order.
    #[inline(always)]
    fn for_each_slot(self, mut found: impl FnMut(u32, u32)) {
        match self.slots {
            Slots::From(first) => {
                self.neighbours.iter().zip(first..).for_each(|(neighbour, slot)| found(*neighbour, slot))
            }
            Slots::Short(slots) => {
                let pairs = self.neighbours.iter().zip(slots);
                pairs.for_each(|(neighbour, slot)| found(*neighbour, *slot as u32))
            }
            Slots::Given(slots) => {
                self.neighbours.iter().zip(slots).for_each(|(neighbour, slot)| found(*neighbour, *slot))
            }
        }
    }
    /// Calls `found` with the neighbour and the id of each edge; this is the list of `vertex` in `lane`.
    #[inline(always)]
    pub(crate) fn for_each(self, vertex: u32, lane: Lane, mut found: impl FnMut(u32, EdgeId)) {
        if lane.is_out() {
            let first = EdgeId::new(VertexId::from_dense(vertex).chunk(), lane.edge_type(), 0).0;
            self.for_each_slot(|neighbour, slot| found(neighbour, EdgeId(first | slot as u64)));
        } else {
            self.for_each_slot(|neighbour, slot| {
                let chunk = VertexId::from_dense(neighbour).chunk();
                found(neighbour, EdgeId::new(chunk, lane.edge_type(), slot));
            });
        }
    }
    /// Appends the edges.
    #[inline]
    pub(crate) fn push_edges(self, vertex: u32, lane: Lane, edges: &mut Vec<EdgeRef>) {
        let here = VertexId::from_dense(vertex);
        if !lane.is_out() {
            let edge = |neighbour, id| EdgeRef { id, source: VertexId::from_dense(neighbour), target: here };
            return self.for_each(vertex, lane, |neighbour, id| edges.push(edge(neighbour, id)));
        }
        let first = EdgeId::new(here.chunk(), lane.edge_type(), 0).0;
        let edge = |neighbour: &u32, slot: u32| EdgeRef {
            id: EdgeId(first | u64::from(slot)),
            source: here,
            target: VertexId::from_dense(*neighbour),
        };
        let ends = self.neighbours.iter();
        match self.slots {
            Slots::From(from) => edges.extend(ends.zip(from..).map(|(end, slot)| edge(end, slot))),
            Slots::Short(slots) => {
                edges.extend(ends.zip(slots).map(|(end, slot)| edge(end, u32::from(*slot))))
            }
            Slots::Given(slots) => edges.extend(ends.zip(slots).map(|(end, slot)| edge(end, *slot))),
        }
    }
    /// Appends the ids of the edges.
    #[inline]
    pub(crate) fn push_ids(self, vertex: u32, lane: Lane, ids: &mut Vec<u64>) {
        self.push_ids_as(vertex, lane, ids, |id| id);
    }
    /// The same, in another form.
    #[inline]
    fn push_ids_as<T>(self, vertex: u32, lane: Lane, ids: &mut Vec<T>, form: impl Fn(u64) -> T) {
        ids.reserve(self.neighbours.len());
        let start = ids.len();
        match (self.slots, lane.is_out()) {
            (Slots::From(slot), true) => {
                let first = EdgeId::new(VertexId::from_dense(vertex).chunk(), lane.edge_type(), slot).0;
                ids.extend((first..first + self.neighbours.len() as u64).map(form));
            }
            (Slots::Short(slots), true) => {
                let first = EdgeId::new(VertexId::from_dense(vertex).chunk(), lane.edge_type(), 0).0;
                ids.extend(slots.iter().map(|slot| form(first | *slot as u64)));
            }
            (Slots::Given(slots), true) => {
                let first = EdgeId::new(VertexId::from_dense(vertex).chunk(), lane.edge_type(), 0).0;
                ids.extend(slots.iter().map(|slot| form(first | *slot as u64)));
            }
            (Slots::Short(slots), false) => {
                let id = |(neighbour, slot): (&u32, &u16)| incoming(*neighbour, lane, *slot as u32);
                ids.extend(self.neighbours.iter().zip(slots).map(id).map(form));
            }
            (Slots::Given(slots), false) => {
                let id = |(neighbour, slot): (&u32, &u32)| incoming(*neighbour, lane, *slot);
                ids.extend(self.neighbours.iter().zip(slots).map(id).map(form));
            }
            (Slots::From(_), false) => self.for_each(vertex, lane, |_, id| ids.push(form(id.0))),
        }
        debug_assert_eq!(ids.len() - start, self.neighbours.len());
    }
}

/// The lists of vertices that lie one after the other, as one: nothing of them changed since their chunk was written.
#[derive(Clone, Copy, Debug)]
pub struct EdgeRun<'a> {
    /// Where each list begins, and the end of the last.
    offsets: &'a [u32],
    /// All lists.
    whole: EdgeList<'a>,
    first: u32,
    lane: Lane,
}

impl<'a> EdgeRun<'a> {
    /// Those of `count` vertices from `first` on, as many as the table has; none where it has none.
    pub(crate) fn of_base(table: &'a EdgeTable, first: u32, count: usize, lane: Lane) -> Option<EdgeRun<'a>> {
        debug_assert!(table.is_whole());
        let slot = usize::from(VertexId::from_dense(first).slot());
        let last = table.offsets.len().checked_sub(1)?.min(slot + count);
        let offsets = table.offsets.get(slot..=last).filter(|offsets| offsets.len() > 1)?;
        let whole = EdgeList::of_range(table, *offsets.first()? as usize..*offsets.last()? as usize);
        Some(EdgeRun { offsets, whole, first, lane })
    }
    /// How many of the vertices, from the first on, have at most `edges` edges together.
    pub fn vertices_within(&self, edges: usize) -> usize {
        let begin = self.offsets[0] as usize;
        self.offsets[1..].partition_point(|end| *end as usize - begin <= edges)
    }
    /// Edges of the first vertices, that many of them.
    pub fn edges_of(&self, vertices: usize) -> usize {
        (self.offsets[vertices] - self.offsets[0]) as usize
    }
    /// Edges of each vertex, in order.
    pub fn degrees(&self) -> impl Iterator<Item = usize> + 'a {
        self.offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize)
    }
    /// Neighbours, one for each edge.
    pub fn neighbours(&self) -> &'a [u32] {
        self.whole.neighbours
    }
    /// Appends the ids of the first edges, that many of them.
    pub fn append_ids(&self, edges: usize, ids: &mut Vec<EdgeId>) {
        self.whole.part(0..edges).push_ids_as(self.first, self.lane, ids, EdgeId);
    }
    /// Appends the edges of the first `vertices` vertices.
    pub fn append_edges(&self, vertices: usize, edges: &mut Vec<EdgeRef>) {
        let begin = self.offsets[0];
        for (vertex, ends) in (self.first..).zip(self.offsets[..=vertices].windows(2)) {
            let part = (ends[0] - begin) as usize..(ends[1] - begin) as usize;
            self.whole.part(part).push_edges(vertex, self.lane, edges);
        }
    }
}

/// Id of an incoming edge: it counts among those of its source's chunk.
#[inline(always)]
fn incoming(source: u32, lane: Lane, slot: u32) -> u64 {
    EdgeId::new(VertexId::from_dense(source).chunk(), lane.edge_type(), slot).0
}

/// The parts of a sorted list before and after `vertex`.
#[inline]
pub(crate) fn without(list: &[u32], vertex: u32) -> (&[u32], &[u32]) {
    let start = list.partition_point(|other| *other < vertex);
    if list.get(start) != Some(&vertex) {
        return (list, &[]);
    }
    let end = list.partition_point(|other| *other <= vertex);
    (&list[..start], &list[end..])
}
