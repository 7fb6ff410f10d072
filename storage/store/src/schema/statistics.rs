//! Statistics without cost for the planner: counts that every commit maintains.
//!
//! Counters are per label set, which partition the vertices; the count of a label is the sum over the sets that contain it.

use crate::schema::filter::LabelFilter;
use crate::schema::mask::Mask;
use crate::schema::names::NameTable;
use imbl::OrdMap;
use model::schema::IndexId;
use model::{Direction, EdgeTypeId, LabelId, LabelSetId};
use std::sync::Arc;

/// The subject of a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Counter {
    /// Vertices with this label set.
    Vertices(LabelSetId),
    /// Edges of this type that leave vertices with this label set.
    Out(EdgeTypeId, LabelSetId),
    /// Edges of this type that enter vertices with this label set.
    In(EdgeTypeId, LabelSetId),
}

/// Size of an index at one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexStatistics {
    /// The index.
    pub index: IndexId,
    /// Entries, one for every indexed vertex.
    pub entries: u64,
    /// Distinct values, estimated between compactions.
    pub distinct: u64,
}

/// Estimates edges for a reader from whom vertices may be hidden.
pub(crate) trait ShownEdges: Send + Sync {
    /// Expected number of visible edges of this type when `vertices` visible vertices whose labels pass the filter are expanded in one direction.
    fn estimate(&self, edge_type: EdgeTypeId, direction: Direction, near: &LabelFilter, vertices: u64)
    -> u64;
}

/// Counts at one snapshot. Cheap to clone.
#[derive(Clone, Default)]
pub struct Statistics {
    pub(crate) counts: OrdMap<Counter, u64>,
    pub(crate) indexes: Vec<IndexStatistics>,
    pub(crate) names: Arc<NameTable>,
    /// Counts of edges are by one end, so they include edges to hidden vertices: where vertices may be hidden, edges are estimated.
    pub(crate) shown_edges: Option<Arc<dyn ShownEdges>>,
}

impl std::fmt::Debug for Statistics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = f.debug_struct("Statistics").field("counts", &self.counts).finish();
        counts.and_then(|()| self.indexes.fmt(f))
    }
}

impl Statistics {
    /// Are the counts of edges exact? For a reader from whom vertices may be hidden they are estimates, from visible data alone.
    pub fn counts_edges(&self) -> bool {
        self.shown_edges.is_none()
    }
    /// Do all edges of these types, followed in this direction from anywhere, start at vertices with this label? Decided by counts at the visible
    /// end: for a reader from whom the other end may be hidden the answer may be no although all visible edges do.
    pub fn all_edges_near(&self, types: &[EdgeTypeId], direction: Direction, label: LabelId) -> bool {
        let count = |near: &LabelFilter| {
            types.iter().map(|edge_type| self.counted(*edge_type, direction, near)).sum::<u64>()
        };
        count(&LabelFilter::Has(label)) == count(&LabelFilter::Any)
    }
    /// As a restricted reader sees them.
    pub(crate) fn masked(
        &self,
        mask: &Mask,
        names: &Arc<NameTable>,
        shown_edges: Option<Arc<dyn ShownEdges>>,
    ) -> Statistics {
        let shows = |counter: &Counter| match counter {
            Counter::Vertices(set) => mask.shows_set(*set),
            Counter::Out(edge_type, set) | Counter::In(edge_type, set) => {
                mask.shows_type(*edge_type) && mask.shows_set(*set)
            }
        };
        let counts = self.counts.iter().filter(|(counter, _)| shows(counter));
        Statistics {
            counts: counts.map(|(counter, count)| (*counter, *count)).collect(),
            indexes: self.indexes.iter().filter(|one| mask.sizes_index(one.index)).copied().collect(),
            names: names.clone(),
            shown_edges,
        }
    }
    /// All vertices.
    pub fn vertices(&self) -> u64 {
        self.vertices_matching(&LabelFilter::Any)
    }
    /// Vertices with this label.
    pub fn vertices_with_label(&self, label: LabelId) -> u64 {
        self.vertices_matching(&LabelFilter::Has(label))
    }
    /// Sets of labels that pass the filter and that vertices have, with how many have each.
    pub(crate) fn sets_matching(&self, filter: &LabelFilter) -> impl Iterator<Item = (&[LabelId], u64)> {
        let range = Counter::Vertices(LabelSetId(0))..=Counter::Vertices(LabelSetId(u32::MAX));
        let sets = self.counts.range(range).filter_map(|(counter, count)| match counter {
            Counter::Vertices(set) => Some((self.labels(*set), *count)),
            _ => None,
        });
        sets.filter(|(labels, count)| *count > 0 && filter.accepts(labels))
    }
    /// Vertices whose labels pass the filter; exact.
    pub fn vertices_matching(&self, filter: &LabelFilter) -> u64 {
        self.sets_matching(filter).map(|(_, count)| count).sum()
    }
    /// Vertices with exactly this label set.
    pub fn vertices_with_set(&self, set: LabelSetId) -> u64 {
        self.counts.get(&Counter::Vertices(set)).copied().unwrap_or(0)
    }
    /// All edges.
    pub fn edges(&self) -> u64 {
        self.edge_types().into_iter().map(|edge_type| self.edges_of_type(edge_type)).sum()
    }
    /// Edges of this type.
    pub fn edges_of_type(&self, edge_type: EdgeTypeId) -> u64 {
        self.edges_near(edge_type, Direction::Out, None)
    }
    /// Edges of this type met when all vertices with `near` (or all vertices) are expanded this way. Both counts each way.
    pub fn edges_near(&self, edge_type: EdgeTypeId, direction: Direction, near: Option<LabelId>) -> u64 {
        self.edges_matching(edge_type, direction, &near.map_or(LabelFilter::Any, LabelFilter::Has))
    }
    /// Does any edge of this type leave (or enter) a vertex with such a label set? Exact.
    pub(crate) fn has_edges_at(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        is_such: impl Fn(LabelSetId) -> bool,
    ) -> bool {
        let (first, last) = (LabelSetId(0), LabelSetId(u32::MAX));
        let out = || self.counts.range(Counter::Out(edge_type, first)..=Counter::Out(edge_type, last));
        let into = || self.counts.range(Counter::In(edge_type, first)..=Counter::In(edge_type, last));
        let is_met = |(counter, count): (&Counter, &u64)| match counter {
            Counter::Out(_, set) | Counter::In(_, set) => *count > 0 && is_such(*set),
            Counter::Vertices(_) => false,
        };
        match direction {
            Direction::Out => out().any(is_met),
            Direction::In => into().any(is_met),
            Direction::Both => out().any(is_met) || into().any(is_met),
        }
    }
    /// Label sets of vertices that edges of this type leave, or enter, with how many do; counted by one end.
    pub(crate) fn edges_by_set(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
    ) -> impl Iterator<Item = (LabelSetId, u64)> {
        let (first, last) = (LabelSetId(0), LabelSetId(u32::MAX));
        let range = match direction {
            Direction::In => Counter::In(edge_type, first)..=Counter::In(edge_type, last),
            _ => Counter::Out(edge_type, first)..=Counter::Out(edge_type, last),
        };
        self.counts.range(range).filter_map(|(counter, count)| match counter {
            Counter::Out(_, set) | Counter::In(_, set) => Some((*set, *count)),
            Counter::Vertices(_) => None,
        })
    }
    /// Edges of this type met when all vertices whose labels pass the filter are expanded in this direction; exact, if [`Statistics::counts_edges`].
    /// `Both` counts each direction.
    pub fn edges_matching(&self, edge_type: EdgeTypeId, direction: Direction, near: &LabelFilter) -> u64 {
        match (&self.shown_edges, direction) {
            (None, _) => self.counted(edge_type, direction, near),
            (Some(_), Direction::Both) => {
                let one_way = |direction| self.edges_matching(edge_type, direction, near);
                one_way(Direction::Out) + one_way(Direction::In)
            }
            (Some(shown), _) => shown.estimate(edge_type, direction, near, self.vertices_matching(near)),
        }
    }
    /// The count by one end.
    fn counted(&self, edge_type: EdgeTypeId, direction: Direction, near: &LabelFilter) -> u64 {
        let (first, last) = (LabelSetId(0), LabelSetId(u32::MAX));
        let range = match direction {
            Direction::Out => Counter::Out(edge_type, first)..=Counter::Out(edge_type, last),
            Direction::In => Counter::In(edge_type, first)..=Counter::In(edge_type, last),
            Direction::Both => {
                let one_way = |direction| self.counted(edge_type, direction, near);
                return one_way(Direction::Out) + one_way(Direction::In);
            }
        };
        let counts = self.counts.range(range).filter(|(counter, _)| match counter {
            Counter::Out(_, set) | Counter::In(_, set) => near.accepts(self.labels(*set)),
            Counter::Vertices(_) => false,
        });
        counts.map(|(_, count)| count).sum()
    }
    /// Edge types of which there are edges, by number.
    pub fn edge_types(&self) -> Vec<EdgeTypeId> {
        let mut found = Vec::new();
        let mut from = EdgeTypeId(0);
        while let Some((Counter::Out(edge_type, _), _)) = self
            .counts
            .range(Counter::Out(from, LabelSetId(0))..Counter::In(EdgeTypeId(0), LabelSetId(0)))
            .next()
        {
            found.push(*edge_type);
            from = EdgeTypeId(edge_type.0 + 1);
        }
        found
    }
    /// Size of an index.
    pub fn index(&self, index: IndexId) -> Option<IndexStatistics> {
        self.indexes.iter().find(|statistics| statistics.index == index).copied()
    }
    fn labels(&self, set: LabelSetId) -> &[LabelId] {
        self.names.labels_of(set).map_or(&[], |labels| labels)
    }
    /// Adds to a counter; counters at nothing are dropped.
    pub(crate) fn add(&mut self, counter: Counter, difference: i64) {
        if difference == 0 {
            return;
        }
        let count = self.counts.get(&counter).copied().unwrap_or(0).saturating_add_signed(difference);
        if count == 0 {
            self.counts.remove(&counter);
        } else {
            self.counts.insert(counter, count);
        }
    }
}
