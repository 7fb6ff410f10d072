//! Following edges: a view of the adjacency for some edge types and a direction, made once per query.
//!
//! A view is one layer for each (type, way); see `layer`. A clean vertex of a one-layer view is a plain slice of the base: two
//! loads more than flat CSR (the layer, its cell), no version test beyond the dirty bit, no lock, no copy. A dirty vertex, or
//! one seen through several layers, is assembled in the caller's scratch. Layers are cached by the snapshot, so views of the same
//! snapshot share them.

use crate::StoreError;
use crate::chunk::merge;
use crate::edge_set::neighbour_of;
use crate::layer::{Layer, split};
use crate::snapshot::Snapshot;
use crate::table::Lane;
use model::{Direction, EdgeId, EdgeTypeId, VertexId};
use smallvec::SmallVec;
use std::sync::Arc;

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
            if let Some(list) = layer.clean(chunk, slot) {
                return Ok(list);
            }
        }
        self.assemble(vertex, scratch)
    }
    /// The base's own slice, where it is the whole answer: one layer, clean vertex.
    fn single_slice(&self, vertex: u32) -> Result<Option<&[u32]>, StoreError> {
        let [layer] = self.layers.as_slice() else { return Ok(None) };
        let (chunk, slot) = split(vertex);
        let edges = layer.of_chunk(chunk, &self.snapshot)?;
        Ok((!edges.is_dirty(slot)).then(|| edges.table.list(slot)))
    }
    #[inline(never)]
    fn assemble<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> Result<&'a [u32], StoreError> {
        if let Some(list) = self.single_slice(vertex)? {
            return Ok(list);
        }
        scratch.clear();
        for layer in &self.layers {
            let skips_loops = self.skips_loops(layer);
            let (chunk, slot) = split(vertex);
            let edges = layer.of_chunk(chunk, &self.snapshot)?;
            if !skips_loops && !edges.is_dirty(slot) {
                scratch.extend_from_slice(edges.table.list(slot));
                continue;
            }
            merge(Some(edges.table), slot, edges.list_delta(slot, layer.lane), |edge| {
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
        if let Some(list) = self.single_slice(vertex)? {
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
            let table = layer.of_chunk(chunk, &self.snapshot)?.table;
            ids.extend(table.range(slot).map(|at| layer.edge_id(vertex, table.packed(at)).0));
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
