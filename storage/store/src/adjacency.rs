//! Following edges: a view of the adjacency for some edge types and a direction, made once per query.
//!
//! A view is one layer for each (type, way); a layer is a flat array over chunk numbers that holds each chunk's table and, where
//! some list changed since its base was made, its delta. A clean vertex of a one-layer view is a plain slice of the base: two
//! loads more than flat CSR (the layer, its cell), no version test beyond the dirty bit, no lock, no copy. A dirty
//! vertex, or one seen through several layers, is assembled in the caller's scratch. Layers are cached by the snapshot and filled
//! chunk by chunk on first touch, so a view of a large graph costs nothing for what it does not visit.

use crate::StoreError;
use crate::chunk::merge;
use crate::delta::{Delta, ListDelta, bit};
use crate::edge_set::{neighbour_of, slot_of};
use crate::snapshot::Snapshot;
use crate::table::{EdgeTable, Lane};
use model::{ChunkNo, Direction, EdgeId, EdgeTypeId, VertexId};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// One chunk in one lane; within a cache line.
struct LayerCell {
    /// The table's own arrays, so that a look-up does not pass through its head.
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    table: Arc<EdgeTable>,
    /// Only where some list of this lane changed.
    delta: Option<Arc<Delta>>,
}

impl LayerCell {
    /// The edges of a clean vertex.
    #[inline(always)]
    fn clean(&self, slot: usize) -> &[u32] {
        match (self.offsets.get(slot), self.offsets.get(slot + 1)) {
            (Some(start), Some(end)) => &self.neighbours[*start as usize..*end as usize],
            _ => &[],
        }
    }
    #[inline(always)]
    fn is_dirty(&self, slot: usize) -> bool {
        self.delta.as_ref().is_some_and(|delta| bit(&delta.dirty, slot))
    }
    fn list_delta(&self, slot: usize, lane: Lane) -> Option<&ListDelta> {
        let delta = self.delta.as_ref()?;
        if bit(&delta.dirty, slot) { delta.vertex(slot)?.list(lane) } else { None }
    }
}

/// All chunks in one lane.
pub(crate) struct Layer {
    lane: Lane,
    cells: Box<[OnceLock<LayerCell>]>,
}

impl Layer {
    pub(crate) fn new(lane: Lane, bound: ChunkNo) -> Layer {
        Layer { lane, cells: (0..bound).map(|_| OnceLock::new()).collect() }
    }
    #[inline]
    fn cell(&self, chunk: usize, snapshot: &Snapshot) -> Result<Option<&LayerCell>, StoreError> {
        match self.cells.get(chunk) {
            None => Ok(None),
            Some(cell) => match cell.get() {
                Some(cell) => Ok(Some(cell)),
                None => self.fill(chunk, snapshot).map(Some),
            },
        }
    }
    #[cold]
    fn fill(&self, chunk: usize, snapshot: &Snapshot) -> Result<&LayerCell, StoreError> {
        let content = snapshot.chunk(chunk as ChunkNo)?;
        let table = content.and_then(|content| content.base.table(self.lane)).cloned();
        let delta = content.and_then(|content| content.delta.clone());
        let delta = delta.filter(|delta| delta.lanes.binary_search(&self.lane).is_ok());
        let table = table.unwrap_or_else(no_edges);
        let (offsets, neighbours) = (table.offsets.clone(), table.neighbours.clone());
        Ok(self.cells[chunk].get_or_init(|| LayerCell { offsets, neighbours, table, delta }))
    }
    /// Calls `found` with the packed edges of `vertex`, in order.
    fn for_each(&self, vertex: u32, snapshot: &Snapshot, found: impl FnMut(u64)) -> Result<(), StoreError> {
        let (chunk, slot) = split(vertex);
        if let Some(cell) = self.cell(chunk, snapshot)? {
            merge(Some(&cell.table), slot, cell.list_delta(slot, self.lane), found);
        }
        Ok(())
    }
    fn degree(&self, vertex: u32, snapshot: &Snapshot) -> Result<usize, StoreError> {
        let (chunk, slot) = split(vertex);
        let Some(cell) = self.cell(chunk, snapshot)? else { return Ok(0) };
        let base = cell.table.range(slot).len();
        Ok(cell.list_delta(slot, self.lane).map_or(base, |list| base + list.added.len() - list.removed.len()))
    }
    /// Calls `found` with the packed edges from `vertex` to `neighbour`.
    fn for_each_to(
        &self,
        vertex: u32,
        neighbour: u32,
        snapshot: &Snapshot,
        mut found: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        let (chunk, slot) = split(vertex);
        let Some(cell) = self.cell(chunk, snapshot)? else { return Ok(()) };
        let delta = cell.list_delta(slot, self.lane);
        for position in cell.table.positions_to(slot, neighbour) {
            let edge = cell.table.packed(position);
            if !delta.is_some_and(|list| list.removed.contains(edge)) {
                found(edge);
            }
        }
        if let Some(list) = delta {
            list.added.for_each_to(neighbour, found);
        }
        Ok(())
    }
    /// Id of a packed edge found at `vertex`.
    #[inline]
    fn edge_id(&self, vertex: u32, packed: u64) -> EdgeId {
        let source = if self.lane.is_out() { vertex } else { neighbour_of(packed) };
        EdgeId::new(VertexId::from_dense(source).chunk(), self.lane.edge_type(), slot_of(packed))
    }
}

#[inline]
fn split(vertex: u32) -> (usize, usize) {
    ((vertex >> model::id::SLOT_BITS) as usize, vertex as usize & (model::CHUNK_SLOTS - 1))
}

fn no_edges() -> Arc<EdgeTable> {
    static NO_EDGES: OnceLock<Arc<EdgeTable>> = OnceLock::new();
    NO_EDGES.get_or_init(|| Arc::new(EdgeTable::empty())).clone()
}

/// Buffers of [`AdjacencyView::edges`], kept by the caller from vertex to vertex.
#[derive(Default, Debug, Clone)]
pub struct EdgeScratch {
    neighbours: Vec<u32>,
    ids: Vec<u64>,
}

impl EdgeScratch {
    /// Empty buffers.
    pub fn new() -> EdgeScratch {
        EdgeScratch::default()
    }
}

/// The edges of some types in one direction. Owns its snapshot; cheap to clone; shared by threads.
#[derive(Clone)]
pub struct AdjacencyView {
    snapshot: Snapshot,
    layers: SmallVec<[Arc<Layer>; 2]>,
    /// Are edges met from both ends? Then self-loops of incoming layers are left out.
    both: bool,
}

impl AdjacencyView {
    pub(crate) fn new(snapshot: Snapshot, types: &[EdgeTypeId], direction: Direction) -> AdjacencyView {
        let mut types = if types.is_empty() { snapshot.statistics().edge_types() } else { types.to_vec() };
        types.sort_unstable();
        types.dedup();
        let mut layers = SmallVec::new();
        if direction != Direction::In {
            layers.extend(types.iter().map(|edge_type| snapshot.layer(Lane::out(*edge_type))));
        }
        if direction != Direction::Out {
            layers.extend(types.iter().map(|edge_type| snapshot.layer(Lane::into(*edge_type))));
        }
        AdjacencyView { snapshot, layers, both: direction == Direction::Both }
    }
    /// The snapshot this view reads.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
    /// Dense vertex numbers lie below this.
    pub fn vertex_bound(&self) -> u32 {
        self.snapshot.vertex_bound()
    }
    /// Does this layer repeat self-loops that an earlier layer showed?
    #[inline]
    fn skips_loops(&self, layer: &Layer) -> bool {
        self.both && !layer.lane.is_out()
    }
    /// Number of edges at `vertex`.
    pub fn degree(&self, vertex: u32) -> Result<u32, StoreError> {
        let mut degree = 0;
        for layer in &self.layers {
            degree += layer.degree(vertex, &self.snapshot)?;
            if self.skips_loops(layer) {
                layer.for_each_to(vertex, vertex, &self.snapshot, |_| degree -= 1)?;
            }
        }
        Ok(degree as u32)
    }
    /// Neighbours of `vertex`, one for each edge: sorted within each layer, outgoing layers first.
    #[inline]
    pub fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> Result<&'a [u32], StoreError> {
        if let [layer] = self.layers.as_slice() {
            let (chunk, slot) = split(vertex);
            if let Some(cell) = layer.cells.get(chunk).and_then(OnceLock::get)
                && !cell.is_dirty(slot)
            {
                return Ok(cell.clean(slot));
            }
        }
        self.assemble(vertex, scratch)
    }
    #[cold]
    fn fill_and_list(&self, vertex: u32) -> Result<Option<&[u32]>, StoreError> {
        let [layer] = self.layers.as_slice() else { return Ok(None) };
        let (chunk, slot) = split(vertex);
        match layer.cell(chunk, &self.snapshot)? {
            Some(cell) if cell.is_dirty(slot) => Ok(None),
            Some(cell) => Ok(Some(cell.table.list(slot))),
            None => Ok(Some(&[])),
        }
    }
    #[inline(never)]
    fn assemble<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> Result<&'a [u32], StoreError> {
        if let Some(list) = self.fill_and_list(vertex)? {
            return Ok(list);
        }
        scratch.clear();
        for layer in &self.layers {
            let skips_loops = self.skips_loops(layer);
            let (chunk, slot) = split(vertex);
            let Some(cell) = layer.cell(chunk, &self.snapshot)? else { continue };
            if !skips_loops && !cell.is_dirty(slot) {
                scratch.extend_from_slice(cell.table.list(slot));
                continue;
            }
            merge(Some(&cell.table), slot, cell.list_delta(slot, layer.lane), |edge| {
                if !skips_loops || neighbour_of(edge) != vertex {
                    scratch.push(neighbour_of(edge));
                }
            });
        }
        Ok(scratch)
    }
    /// Edges of `vertex`: neighbours, and ids ([`EdgeId`]'s number) in the same order. The order is that of
    /// [`AdjacencyView::neighbours`].
    pub fn edges<'a>(
        &'a self,
        vertex: u32,
        scratch: &'a mut EdgeScratch,
    ) -> Result<(&'a [u32], &'a [u64]), StoreError> {
        let EdgeScratch { neighbours, ids } = scratch;
        ids.clear();
        if let Some(list) = self.fill_and_list(vertex)? {
            self.clean_ids(vertex, ids)?;
            return Ok((list, ids));
        }
        neighbours.clear();
        for layer in &self.layers {
            let skips_loops = self.skips_loops(layer);
            layer.for_each(vertex, &self.snapshot, |edge| {
                if !skips_loops || neighbour_of(edge) != vertex {
                    neighbours.push(neighbour_of(edge));
                    ids.push(layer.edge_id(vertex, edge).0);
                }
            })?;
        }
        Ok((neighbours, ids))
    }
    /// Ids of the edges of a clean vertex of a one-layer view.
    fn clean_ids(&self, vertex: u32, ids: &mut Vec<u64>) -> Result<(), StoreError> {
        let (chunk, slot) = split(vertex);
        for layer in &self.layers {
            let Some(cell) = layer.cell(chunk, &self.snapshot)? else { continue };
            ids.extend(cell.table.range(slot).map(|at| layer.edge_id(vertex, cell.table.packed(at)).0));
        }
        Ok(())
    }
    /// Appends the edges between two vertices, as this view follows them; costs a binary search in each layer.
    pub fn find(&self, from: u32, to: u32, found: &mut Vec<EdgeId>) -> Result<(), StoreError> {
        for layer in &self.layers {
            if !(self.skips_loops(layer) && from == to) {
                layer.for_each_to(from, to, &self.snapshot, |edge| found.push(layer.edge_id(from, edge)))?;
            }
        }
        Ok(())
    }
    /// Calls `found` with each edge of `vertex` in stored direction, in the order of [`AdjacencyView::edges`].
    pub fn for_each_edge(
        &self,
        vertex: u32,
        mut found: impl FnMut(model::EdgeRef),
    ) -> Result<(), StoreError> {
        let here = VertexId::from_dense(vertex);
        for layer in &self.layers {
            let skips_loops = self.skips_loops(layer);
            layer.for_each(vertex, &self.snapshot, |edge| {
                let there = VertexId::from_dense(neighbour_of(edge));
                if !skips_loops || there != here {
                    let (source, target) = if layer.lane.is_out() { (here, there) } else { (there, here) };
                    found(model::EdgeRef { id: layer.edge_id(vertex, edge), source, target });
                }
            })?;
        }
        Ok(())
    }
}
