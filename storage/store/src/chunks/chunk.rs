//! A chunk: up to 4,096 vertices born with the same label set, as an immutable base and a small immutable delta.
//!
//! ```text
//! Chunk ─ meta  (birth labels, bounds, summary of the content: known without loading the chunk)
//!       ├ base  exists bits · label overrides · columns by key · tables by lane · edge columns by (type, key)
//!       └ delta changes since the base (see delta.rs), or none
//! ```
//! Invariants: a slot whose vertex is gone has no column value in the base; an edge lies in the out table of its source's chunk
//! and in the in table of its target's chunk; edge properties lie by edge slot in the source's chunk.

use crate::StoreError;
use crate::chunks::column::{PropertyRef, StoredColumn};
use crate::chunks::delta::{Delta, Life, Overrides, SlotBits, VertexDelta, bit, find_property, set_property};
use crate::chunks::edge_set::{pack, slot_of};
use crate::chunks::list_delta::ListDelta;
use crate::chunks::table::{EdgeTable, GROUP_SLOTS, Lane};
use model::{EdgeTypeId, KeyId, LabelSetId, Slot, Value};
use std::sync::Arc;

/// The part of a chunk that is known before it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkMeta {
    /// Labels its vertices are born with.
    pub(crate) birth: LabelSetId,
    /// All slots handed out so far lie below this, as far as commits show.
    pub(crate) slot_bound: u32,
    /// Vertices that exist.
    pub(crate) live: u32,
    /// Label sets its vertices may have, sorted.
    pub(crate) label_sets: Vec<LabelSetId>,
    /// Bound of the edge slots in use, by type, sorted.
    pub(crate) edge_slot_bounds: Vec<(EdgeTypeId, u32)>,
}

impl ChunkMeta {
    pub(crate) fn new(birth: LabelSetId) -> ChunkMeta {
        ChunkMeta { birth, slot_bound: 0, live: 0, label_sets: vec![birth], edge_slot_bounds: Vec::new() }
    }
    pub(crate) fn edge_slot_bound(&self, edge_type: EdgeTypeId) -> u32 {
        let found = self.edge_slot_bounds.binary_search_by_key(&edge_type, |(other, _)| *other);
        found.map_or(0, |at| self.edge_slot_bounds[at].1)
    }
    pub(crate) fn raise_edge_slot_bound(&mut self, edge_type: EdgeTypeId, bound: u32) {
        match self.edge_slot_bounds.binary_search_by_key(&edge_type, |(other, _)| *other) {
            Ok(at) => self.edge_slot_bounds[at].1 = self.edge_slot_bounds[at].1.max(bound),
            Err(at) => self.edge_slot_bounds.insert(at, (edge_type, bound)),
        }
    }
    pub(crate) fn add_label_set(&mut self, labels: LabelSetId) {
        if let Err(at) = self.label_sets.binary_search(&labels) {
            self.label_sets.insert(at, labels);
        }
    }
}

/// A part of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PartName {
    /// Which vertices exist, and labels that differ from birth. Every part has these.
    Head,
    Column(KeyId),
    Table(Lane),
    /// The lists of a group of slots of a table, or more of it.
    Lists(Lane, u8),
    EdgeColumn(EdgeTypeId, KeyId),
    /// A table or column that the chunk does not have.
    Absent,
}

impl PartName {
    /// The lists of the group that this slot is in.
    pub(crate) fn lists(lane: Lane, slot: Slot) -> PartName {
        PartName::Lists(lane, (usize::from(slot) / GROUP_SLOTS) as u8)
    }
}

/// The part of a chunk that is only ever replaced whole.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) exists: SlotBits,
    /// Slots this base knows of.
    pub(crate) slot_count: u32,
    /// Labels of vertices that differ from birth, by slot.
    pub(crate) labels: Vec<(u16, LabelSetId)>,
    pub(crate) columns: Vec<(KeyId, Arc<StoredColumn>)>,
    pub(crate) tables: Vec<(Lane, Arc<EdgeTable>)>,
    pub(crate) edge_columns: Vec<((EdgeTypeId, KeyId), Arc<StoredColumn>)>,
    /// The only part that it holds beside the head; none where it is whole (see `parts`).
    pub(crate) part: Option<PartName>,
}

impl Base {
    pub(crate) fn empty() -> Base {
        Base {
            exists: [0; 64],
            slot_count: 0,
            labels: Vec::new(),
            columns: Vec::new(),
            tables: Vec::new(),
            edge_columns: Vec::new(),
            part: None,
        }
    }
    /// Its head alone.
    pub(crate) fn head(&self) -> Base {
        Base {
            exists: self.exists,
            slot_count: self.slot_count,
            labels: self.labels.clone(),
            part: Some(PartName::Head),
            ..Base::empty()
        }
    }
    /// Does it know all of this part?
    fn holds(&self, name: PartName) -> bool {
        self.part.is_none_or(|part| part == name || part == PartName::Absent)
    }
    /// The lists of a lane: of all slots, or of the group that it is the part of.
    pub(crate) fn table(&self, lane: Lane) -> Option<&Arc<EdgeTable>> {
        let is_group = matches!(self.part, Some(PartName::Lists(of, _)) if of == lane);
        debug_assert!(is_group || self.holds(PartName::Table(lane)), "{lane:?} of {:?}", self.part);
        self.tables.binary_search_by_key(&lane, |(other, _)| *other).ok().map(|at| &self.tables[at].1)
    }
    pub(crate) fn column(&self, key: KeyId) -> Option<&Arc<StoredColumn>> {
        debug_assert!(self.holds(PartName::Column(key)), "{key:?} of {:?}", self.part);
        self.columns.binary_search_by_key(&key, |(other, _)| *other).ok().map(|at| &self.columns[at].1)
    }
    pub(crate) fn edge_column(&self, edge_type: EdgeTypeId, key: KeyId) -> Option<&Arc<StoredColumn>> {
        debug_assert!(self.holds(PartName::EdgeColumn(edge_type, key)), "{key:?} of {:?}", self.part);
        let found = self.edge_columns.binary_search_by_key(&(edge_type, key), |(other, _)| *other);
        found.ok().map(|at| &self.edge_columns[at].1)
    }
    /// Bytes it takes in memory, with those that readers may still add to it: positions by edge slot.
    pub(crate) fn room_bytes(&self) -> usize {
        let tables = self.tables.iter().map(|(lane, table)| table.room_bytes(*lane)).sum::<usize>();
        let columns = self.columns.iter().map(|(_, column)| column.heap_bytes()).sum::<usize>();
        let edge_columns = self.edge_columns.iter().map(|(_, column)| column.heap_bytes()).sum::<usize>();
        size_of::<Base>() + tables + columns + edge_columns + self.labels.len() * 8
    }
    /// Is it all of the chunk?
    pub(crate) fn is_whole(&self) -> bool {
        self.part.is_none()
    }
    /// Upper bound of a compaction's work: vertices and edges.
    pub(crate) fn weight(&self) -> usize {
        self.slot_count as usize + self.tables.iter().map(|(_, table)| table.len()).sum::<usize>()
    }
}

/// One chunk at one snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) meta: Arc<ChunkMeta>,
    pub(crate) base: Arc<Base>,
    pub(crate) delta: Option<Arc<Delta>>,
}

impl Chunk {
    pub(crate) fn new(birth: LabelSetId) -> Chunk {
        Chunk { meta: Arc::new(ChunkMeta::new(birth)), base: Arc::new(Base::empty()), delta: None }
    }
}

impl ChunkRead for Chunk {
    #[inline(always)]
    fn meta(&self) -> &Arc<ChunkMeta> {
        &self.meta
    }
    #[inline(always)]
    fn base(&self) -> &Arc<Base> {
        &self.base
    }
    #[inline(always)]
    fn delta(&self) -> Option<&Arc<Delta>> {
        self.delta.as_ref()
    }
}

/// Read access to a chunk, be it a working copy or a version in the directory.
pub(crate) trait ChunkRead {
    fn meta(&self) -> &Arc<ChunkMeta>;
    fn base(&self) -> &Arc<Base>;
    fn delta(&self) -> Option<&Arc<Delta>>;

    /// A working copy: shares everything.
    fn to_chunk(&self) -> Chunk {
        debug_assert!(self.base().is_whole());
        Chunk { meta: self.meta().clone(), base: self.base().clone(), delta: self.delta().cloned() }
    }
    /// The changes of a vertex beside its lists, if there are any.
    #[inline]
    fn changed(&self, slot: usize) -> Option<&VertexDelta> {
        self.delta().and_then(|delta| delta.altered(slot))
    }
    #[inline]
    fn exists(&self, slot: usize) -> bool {
        match self.changed(slot).map_or(Life::AsBase, |vertex| vertex.life) {
            Life::AsBase => bit(&self.base().exists, slot),
            Life::Born => true,
            Life::Gone => false,
        }
    }
    /// Label set of the vertex, if it exists.
    #[inline]
    fn labels(&self, slot: usize) -> Option<LabelSetId> {
        if !self.exists(slot) {
            return None;
        }
        if let Some(labels) = self.changed(slot).and_then(|vertex| vertex.labels) {
            return Some(labels);
        }
        if self.base().labels.is_empty() {
            return Some(self.meta().birth);
        }
        let found = self.base().labels.binary_search_by_key(&(slot as u16), |(other, _)| *other);
        Some(found.map_or(self.meta().birth, |at| self.base().labels[at].1))
    }
    /// A property of the vertex; null where either is missing.
    fn property(&self, slot: usize, key: KeyId) -> PropertyRef<'_> {
        self.property_in(slot, key, self.base().column(key).map(|column| &**column))
    }
    /// As [`Chunk::property`], the base column looked up before.
    #[inline]
    fn property_in<'a>(
        &'a self,
        slot: usize,
        key: KeyId,
        column: Option<&'a StoredColumn>,
    ) -> PropertyRef<'a> {
        if let Some(vertex) = self.changed(slot) {
            if vertex.life == Life::Gone {
                return PropertyRef::Null;
            }
            if let Some(value) = vertex.property(key) {
                return PropertyRef::from(value);
            }
        }
        column.map_or(PropertyRef::Null, |column| column.get(slot as u32))
    }
    /// All properties of the vertex, in key order.
    fn properties(&self, slot: usize) -> Vec<(KeyId, Value)> {
        let changed = self.changed(slot);
        if changed.is_some_and(|vertex| vertex.life == Life::Gone) {
            return Vec::new();
        }
        debug_assert!(self.base().is_whole());
        let columns = self.base().columns.iter().map(|(key, column)| (*key, column.get(slot as u32)));
        overlay(columns, changed.map_or(&[], |vertex| &vertex.properties))
    }
    /// Changed properties of the vertex, in key order; null clears.
    fn changed_properties(&self, slot: usize) -> Overrides {
        let changed = self.changed(slot).filter(|vertex| vertex.life != Life::Gone);
        changed.map_or_else(Vec::new, |vertex| vertex.properties.to_vec())
    }
    /// Changed properties of the edge with this type and slot, in key order; null clears.
    fn changed_edge_properties(&self, edge_type: EdgeTypeId, slot: u32) -> Overrides {
        self.edge_overrides(edge_type, slot).map_or_else(Vec::new, |values| values.to_vec())
    }
    /// A property of the edge with this type and slot.
    fn edge_property(&self, edge_type: EdgeTypeId, slot: u32, key: KeyId) -> PropertyRef<'_> {
        let column = self.base().edge_column(edge_type, key).map(|column| &**column);
        self.edge_property_in(edge_type, slot, key, column)
    }
    /// As [`Chunk::edge_property`], the base column looked up before.
    fn edge_property_in<'a>(
        &'a self,
        edge_type: EdgeTypeId,
        slot: u32,
        key: KeyId,
        column: Option<&'a StoredColumn>,
    ) -> PropertyRef<'a> {
        if let Some(value) =
            self.edge_overrides(edge_type, slot).and_then(|values| find_property(values, key))
        {
            return PropertyRef::from(value);
        }
        column.map_or(PropertyRef::Null, |column| column.get(slot))
    }
    fn edge_overrides(&self, edge_type: EdgeTypeId, slot: u32) -> Option<&Overrides> {
        let delta = self.delta()?;
        if delta.edge_properties.is_empty() {
            return None;
        }
        delta.edge_properties.get(&(edge_type, slot)).map(|values| &**values)
    }
    /// All properties of the edge with this type and slot, in key order.
    fn edge_properties(&self, edge_type: EdgeTypeId, slot: u32) -> Vec<(KeyId, Value)> {
        debug_assert!(self.base().is_whole());
        let columns = self.base().edge_columns.iter().filter(|((other, _), _)| *other == edge_type);
        let columns = columns.map(|((_, key), column)| (*key, column.get(slot)));
        overlay(columns, self.edge_overrides(edge_type, slot).map_or(&[], |values| values))
    }
    /// The list delta of a vertex in one lane, if it has one.
    #[inline]
    fn list_delta(&self, slot: usize, lane: Lane) -> Option<&ListDelta> {
        let delta = self.delta()?;
        if bit(&delta.dirty, slot) { delta.vertex(slot)?.list(lane) } else { None }
    }
    fn degree(&self, slot: usize, lane: Lane) -> usize {
        let base = self.base().table(lane).map_or(0, |table| table.range(slot).len());
        self.list_delta(slot, lane).map_or(base, |list| base + list.added.len() - list.removed.len())
    }
    fn has_edge(&self, slot: usize, lane: Lane, edge: u64) -> bool {
        let delta = self.list_delta(slot, lane);
        if delta.is_some_and(|list| list.added.contains(edge)) {
            return true;
        }
        self.base().table(lane).is_some_and(|table| table.contains(slot, edge))
            && !delta.is_some_and(|list| list.removed.contains(edge))
    }
    /// Lanes in which some vertex of the chunk may have an edge, sorted.
    fn lanes(&self) -> Vec<Lane> {
        debug_assert!(self.base().is_whole());
        let mut lanes: Vec<Lane> = self.base().tables.iter().map(|(lane, _)| *lane).collect();
        if let Some(delta) = self.delta() {
            lanes.extend(&delta.lanes);
            lanes.sort_unstable();
            lanes.dedup();
        }
        lanes
    }
    fn has_edges(&self, slot: usize) -> bool {
        self.lanes().into_iter().any(|lane| self.degree(slot, lane) > 0)
    }
    /// Vertex slot and target of the edge of this type and slot. An edge still in the delta is searched for vertex by vertex.
    fn edge_ends(&self, edge_type: EdgeTypeId, edge_slot: u32) -> Option<(usize, u32)> {
        let lane = Lane::out(edge_type);
        if let Some((slot, target)) = self.base().table(lane).and_then(|table| table.ends_of(edge_slot)) {
            let removed = self
                .list_delta(slot, lane)
                .is_some_and(|list| list.removed.contains(pack(target, edge_slot)));
            return (!removed).then_some((slot, target));
        }
        let mut ends = None;
        self.delta()?.for_each(|slot, vertex| {
            let added =
                vertex.list(lane).and_then(|list| list.added.iter().find(|edge| slot_of(*edge) == edge_slot));
            if let Some(edge) = added {
                ends = Some((slot, crate::chunks::edge_set::neighbour_of(edge)));
            }
        });
        ends
    }
    /// Bits of the slots whose vertices exist.
    fn existing(&self) -> SlotBits {
        let mut bits = self.base().exists;
        if let Some(delta) = self.delta() {
            for (word, altered) in delta.altered.iter().enumerate() {
                let mut left = *altered;
                while left != 0 {
                    let slot = word * 64 + left.trailing_zeros() as usize;
                    left &= left - 1;
                    match delta.vertex(slot).map_or(Life::AsBase, |vertex| vertex.life) {
                        Life::AsBase => {}
                        Life::Born => bits[word] |= 1 << (slot % 64),
                        Life::Gone => bits[word] &= !(1 << (slot % 64)),
                    }
                }
            }
        }
        bits
    }
    /// Fails where this chunk was not born with these labels.
    fn expect_birth(&self, chunk: u32, birth: LabelSetId) -> Result<(), StoreError> {
        if self.meta().birth == birth { Ok(()) } else { Err(StoreError::ChunkMismatch(chunk)) }
    }
}

fn overlay<'a>(
    columns: impl Iterator<Item = (KeyId, PropertyRef<'a>)>,
    overrides: &[(KeyId, Value)],
) -> Vec<(KeyId, Value)> {
    let mut properties: Vec<(KeyId, Value)> =
        columns.filter(|(_, value)| !value.is_null()).map(|(key, value)| (key, value.to_value())).collect();
    overrides.iter().for_each(|(key, value)| set_property(&mut properties, *key, value.clone()));
    properties.retain(|(_, value)| !value.is_null());
    properties
}

/// Facts that a base is checked against when it is loaded: slot bound and number of vertices of the stored version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BaseKnown {
    pub(crate) slot_bound: u32,
    pub(crate) live: u32,
}
