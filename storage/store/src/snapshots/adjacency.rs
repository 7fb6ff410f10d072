//! Following edges: a view of the adjacency for some edge types and a direction, made once per query.
//!
//! A view is one layer for each (type, direction); see `layer`. A vertex of a one-layer view is a plain slice: of the base where it is clean (two
//! loads more than flat CSR: the layer, its cell), of the cached list where it is dirty; no lock, no copy. A vertex with edges in several layers is
//! assembled in the caller's scratch, and so is one whose page may leave memory. Layers are cached by the snapshot, so views of the same snapshot
//! share them.

use crate::StoreError;
use crate::chunks::edge_list::{EdgeList, EdgeRun, without};
use crate::chunks::table::Lane;
use crate::snapshots::joined::Joined;
use crate::snapshots::layer::Layer;
use crate::snapshots::root::Snapshot;
use crate::snapshots::sight::{EDGES_PER_UNIT, HiddenEnds, ShownTest};
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, VertexId, pace};
use smallvec::SmallVec;
use std::sync::Arc;

/// Edges of one list that are read where an estimate of the visible ones suffices.
pub const EDGES_PER_VERTEX: usize = 1_024;

/// Buffers of [`AdjacencyView::edges`], reused by the caller from vertex to vertex.
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
    /// The layer, where there is one; its lists are shown as they lie, unless something is hidden.
    only: Option<Arc<Layer>>,
    /// Both directions of one type, if the view is of these.
    joined: Option<Arc<Joined>>,
    /// Are edges met from both ends? Then self-loops of incoming layers are left out.
    both: bool,
    /// Where vertices are hidden at these edges.
    hidden: HiddenEnds,
}

impl AdjacencyView {
    pub(crate) fn new(snapshot: Snapshot, types: &[EdgeTypeId], direction: Direction) -> AdjacencyView {
        let mut types = if types.is_empty() { snapshot.statistics().edge_types() } else { types.to_vec() };
        types.sort_unstable();
        types.dedup();
        if let Some(sight) = &snapshot.sight {
            types.retain(|edge_type| sight.mask.shows_type(*edge_type));
        }
        let hidden = match &snapshot.sight {
            Some(sight) => sight.hidden_ends(&snapshot.root, &types, direction),
            None => HiddenEnds::default(),
        };
        let hides = hidden.near || hidden.far;
        let mut layers: SmallVec<[Arc<Layer>; 2]> = SmallVec::new();
        if direction != Direction::In {
            layers.extend(types.iter().map(|edge_type| snapshot.layer(Lane::out(*edge_type))));
        }
        if direction != Direction::Out {
            layers.extend(types.iter().map(|edge_type| snapshot.layer(Lane::into(*edge_type))));
        }
        let only = match layers.as_slice() {
            [layer] => Some(layer.clone()),
            _ => None,
        };
        let joined = match types.as_slice() {
            [edge_type] if direction == Direction::Both && !hides => Some(snapshot.joined(*edge_type)),
            _ => None,
        };
        AdjacencyView { snapshot, layers, only, joined, both: direction == Direction::Both, hidden }
    }
    /// The snapshot this view reads.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
    /// Dense vertex numbers lie below this.
    pub fn vertex_bound(&self) -> u32 {
        self.snapshot.vertex_bound()
    }
    /// Are some of these edges hidden?
    #[inline]
    fn hides(&self) -> bool {
        self.hidden.near || self.hidden.far
    }
    /// Is the vertex whose edges are read hidden?
    #[inline]
    fn is_hidden(&self, vertex: u32) -> Result<bool, StoreError> {
        Ok(self.hidden.near && !self.snapshot.shows_dense(vertex)?)
    }
    /// Does this layer repeat self-loops that an earlier layer showed?
    #[inline]
    fn skips_loops(&self, layer: &Layer) -> bool {
        self.both && !layer.lane.is_out()
    }
    /// Number of edges at `vertex`.
    pub fn degree(&self, vertex: u32) -> Result<u32, StoreError> {
        if self.is_hidden(vertex)? {
            return Ok(0);
        }
        if self.hidden.far {
            let mut degree = 0;
            self.for_shown_parts(vertex, |_, part| degree += part.neighbours.len() as u32)?;
            return Ok(degree);
        }
        let mut degree = 0;
        for layer in &self.layers {
            degree += layer.degree(vertex, self.snapshot.chunks())?;
            if self.skips_loops(layer) {
                layer.for_each_to(vertex, vertex, self.snapshot.chunks(), |_| degree -= 1)?;
            }
        }
        Ok(degree as u32)
    }
    /// Has `vertex` an edge? Looks no further than the first.
    pub(crate) fn has_edge(&self, vertex: u32) -> Result<bool, StoreError> {
        if !self.hidden.far {
            return Ok(self.degree(vertex)? > 0);
        }
        if self.is_hidden(vertex)? {
            return Ok(false);
        }
        let (mut test, mut looked) = (ShownTest::new(&self.snapshot), 0);
        for layer in &self.layers {
            let mut found = Ok(None);
            self.for_parts(layer, vertex, |part| {
                if matches!(found, Ok(None)) {
                    found = test.first_of(part.neighbours);
                    looked += part.neighbours.len() as u64;
                }
            })?;
            if found?.is_some() {
                return Ok(true);
            }
            pace::spend(looked / EDGES_PER_UNIT)?;
        }
        Ok(false)
    }
    /// Estimated number of edges at `vertex`: equal to [`AdjacencyView::degree`] where no list with hidden edges is longer than [`EDGES_PER_VERTEX`];
    /// of a longer one this many are sampled, spread over it.
    ///
    /// # Errors
    /// A chunk cannot be read.
    pub fn degree_about(&self, vertex: u32) -> Result<u32, StoreError> {
        if !self.hidden.far {
            return self.degree(vertex);
        }
        if self.is_hidden(vertex)? {
            return Ok(0);
        }
        let (mut test, mut about) = (ShownTest::new(&self.snapshot), 0_u64);
        for layer in &self.layers {
            let mut counted = Ok(());
            self.for_parts(layer, vertex, |part| {
                if counted.is_ok() {
                    match test.count_about(part.neighbours, EDGES_PER_VERTEX) {
                        Ok(shown) => about += shown,
                        Err(error) => counted = Err(error),
                    }
                }
            })?;
            counted?;
        }
        Ok(u32::try_from(about).unwrap_or(u32::MAX))
    }
    /// Calls `read` with the list of one layer, in up to two parts: before and behind the self-loops that an earlier layer showed.
    #[inline]
    fn for_parts(
        &self,
        layer: &Layer,
        vertex: u32,
        mut read: impl FnMut(EdgeList<'_>),
    ) -> Result<(), StoreError> {
        layer.with_list(vertex, self.snapshot.chunks(), |list| {
            if self.skips_loops(layer) {
                let (all, loops) = (list.neighbours.len(), list.range_to(vertex));
                read(list.part(0..loops.start));
                read(list.part(loops.end..all));
            } else {
                read(list);
            }
        })
    }
    /// Neighbours of `vertex`, one for each edge: sorted within each layer, outgoing layers first. `scratch` is used only where several layers have
    /// edges of the vertex.
    #[inline(always)]
    pub fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> Result<&'a [u32], StoreError> {
        if let Some(layer) = &self.only
            && let Some(list) = layer.ready(vertex)
        {
            return if self.hides() { self.shown_in(vertex, list, scratch) } else { Ok(list) };
        }
        if let Some(joined) = &self.joined {
            if let Some(list) = joined.ready(vertex) {
                return Ok(list);
            }
            joined.ask(vertex, self.snapshot.chunks())?;
            let list = self.gather(vertex, scratch)?;
            joined.keep(vertex, list);
            return Ok(list);
        }
        self.gather(vertex, scratch)
    }
    /// The visible part of the only list of a vertex: the list itself, if nothing is hidden.
    #[inline(never)]
    fn shown_in<'a>(
        &'a self,
        vertex: u32,
        list: &'a [u32],
        scratch: &'a mut Vec<u32>,
    ) -> Result<&'a [u32], StoreError> {
        if self.is_hidden(vertex)? {
            return Ok(&[]);
        }
        if !self.hidden.far {
            return Ok(list);
        }
        scratch.clear();
        let is_whole = ShownTest::new(&self.snapshot).keep(list, scratch)?;
        Ok(if is_whole { list } else { scratch })
    }
    #[inline(never)]
    fn gather<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> Result<&'a [u32], StoreError> {
        scratch.clear();
        if self.is_hidden(vertex)? {
            return Ok(&[]);
        }
        if self.hidden.far {
            return self.gather_shown(vertex, scratch);
        }
        // The only part so far, in place; once there are more, or one that cannot be borrowed, all are in `scratch`.
        let mut first: &[u32] = &[];
        for layer in &self.layers {
            let list = match layer.ready(vertex) {
                Some(list) => list,
                None => match layer.held(vertex, self.snapshot.chunks())? {
                    Some(list) => list.neighbours,
                    None => {
                        scratch.extend_from_slice(std::mem::take(&mut first));
                        self.for_parts(layer, vertex, |part| scratch.extend_from_slice(part.neighbours))?;
                        continue;
                    }
                },
            };
            if list.is_empty() {
                continue;
            }
            let (before, behind) =
                if self.skips_loops(layer) { without(list, vertex) } else { (list, &[][..]) };
            for part in [before, behind].into_iter().filter(|part| !part.is_empty()) {
                if first.is_empty() && scratch.is_empty() {
                    first = part;
                    continue;
                }
                scratch.extend_from_slice(std::mem::take(&mut first));
                scratch.extend_from_slice(part);
            }
        }
        Ok(if scratch.is_empty() { first } else { scratch })
    }
    /// The visible neighbours, in place if they are a whole list.
    fn gather_shown<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> Result<&'a [u32], StoreError> {
        if let [layer] = self.layers.as_slice()
            && let Some(list) = layer.held(vertex, self.snapshot.chunks())?
        {
            let is_whole = ShownTest::new(&self.snapshot).keep(list.neighbours, scratch)?;
            return Ok(if is_whole { list.neighbours } else { scratch });
        }
        self.for_shown_parts(vertex, |_, part| scratch.extend_from_slice(part.neighbours))?;
        Ok(scratch)
    }
    /// Edges of `vertex`: neighbours, and ids ([`EdgeId`]'s number) in the same order. The order is that of [`AdjacencyView::neighbours`]. Ids are
    /// assembled here; neighbours are too, where several layers have edges of the vertex.
    pub fn edges<'a>(
        &'a self,
        vertex: u32,
        scratch: &'a mut EdgeScratch,
    ) -> Result<(&'a [u32], &'a [u64]), StoreError> {
        let EdgeScratch { neighbours, ids } = scratch;
        self.edges_in(vertex, neighbours, ids)
    }
    /// As [`AdjacencyView::edges`], with the buffers apart.
    pub fn edges_in<'a>(
        &'a self,
        vertex: u32,
        neighbours: &'a mut Vec<u32>,
        ids: &'a mut Vec<u64>,
    ) -> Result<(&'a [u32], &'a [u64]), StoreError> {
        ids.clear();
        if self.is_hidden(vertex)? {
            return Ok((&[], ids));
        }
        if self.hidden.far {
            return self.shown_edges(vertex, neighbours, ids);
        }
        if let [layer] = self.layers.as_slice()
            && let Some(list) = layer.held(vertex, self.snapshot.chunks())?
        {
            list.push_ids(vertex, layer.lane, ids);
            return Ok((list.neighbours, ids));
        }
        if let Some(all) = self.joined.as_ref().and_then(|joined| joined.ready(vertex))
            && self.joined_ids(vertex, all.len(), ids)?
        {
            return Ok((all, ids));
        }
        for layer in &self.layers {
            self.for_parts(layer, vertex, |part| part.push_ids(vertex, layer.lane, ids))?;
        }
        Ok((self.neighbours(vertex, neighbours)?, ids))
    }
    /// The edges whose other end is shown.
    fn shown_edges<'a>(
        &'a self,
        vertex: u32,
        neighbours: &'a mut Vec<u32>,
        ids: &'a mut Vec<u64>,
    ) -> Result<(&'a [u32], &'a [u64]), StoreError> {
        neighbours.clear();
        if let [layer] = self.layers.as_slice()
            && let Some(list) = layer.held(vertex, self.snapshot.chunks())?
        {
            let all = list.neighbours;
            let mut is_whole = false;
            ShownTest::new(&self.snapshot).for_ranges(all, |range| {
                is_whole = range.len() == all.len();
                if !is_whole {
                    neighbours.extend_from_slice(&all[range.clone()]);
                }
                list.part(range).push_ids(vertex, layer.lane, ids);
            })?;
            return Ok((if is_whole { all } else { neighbours }, ids));
        }
        self.for_shown_parts(vertex, |layer, part| {
            neighbours.extend_from_slice(part.neighbours);
            part.push_ids(vertex, layer.lane, ids);
        })?;
        Ok((neighbours, ids))
    }
    /// Appends the ids of both lists of a vertex whose joined list has this length; false where self-loops must be left out, or a list is not in
    /// memory.
    #[inline]
    fn joined_ids(&self, vertex: u32, length: usize, ids: &mut Vec<u64>) -> Result<bool, StoreError> {
        let [out, into] = self.layers.as_slice() else { return Ok(false) };
        let (Some(outgoing), Some(incoming)) =
            (out.held(vertex, self.snapshot.chunks())?, into.held(vertex, self.snapshot.chunks())?)
        else {
            return Ok(false);
        };
        if outgoing.neighbours.len() + incoming.neighbours.len() != length {
            return Ok(false);
        }
        outgoing.push_ids(vertex, out.lane, ids);
        incoming.push_ids(vertex, into.lane, ids);
        Ok(true)
    }
    /// Appends the edges between two vertices, as this view follows them; costs a binary search in each layer.
    pub fn find(&self, from: u32, to: u32, found: &mut Vec<EdgeId>) -> Result<(), StoreError> {
        if self.hides() && !(self.snapshot.shows_dense(from)? && self.snapshot.shows_dense(to)?) {
            return Ok(());
        }
        for layer in &self.layers {
            if !(self.skips_loops(layer) && from == to) {
                layer.for_each_to(from, to, self.snapshot.chunks(), |edge| {
                    found.push(layer.edge_id(from, edge))
                })?;
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
        let mut show = |lane: Lane, neighbour: u32, id: EdgeId| {
            let there = VertexId::from_dense(neighbour);
            let (source, target) = if lane.is_out() { (here, there) } else { (there, here) };
            found(model::EdgeRef { id, source, target });
        };
        if self.is_hidden(vertex)? {
            return Ok(());
        }
        if self.hidden.far {
            return self.for_shown_parts(vertex, |layer, part| {
                part.for_each(vertex, layer.lane, |neighbour, id| show(layer.lane, neighbour, id));
            });
        }
        for layer in &self.layers {
            self.for_parts(layer, vertex, |part| {
                part.for_each(vertex, layer.lane, |neighbour, id| show(layer.lane, neighbour, id));
            })?;
        }
        Ok(())
    }
    /// The lists of up to `count` vertices from `first` on, all of one chunk, where they lie one after the other and nothing of them is
    /// hidden.
    ///
    /// # Errors
    /// The chunk cannot be read.
    pub fn run(&self, first: u32, count: usize) -> Result<Option<EdgeRun<'_>>, StoreError> {
        let Some(layer) = self.only.as_ref().filter(|_| !self.hides()) else { return Ok(None) };
        layer.run(first, count, self.snapshot.chunks())
    }
    /// Appends the edges of [`AdjacencyView::for_each_edge`].
    pub fn append_edges(&self, vertex: u32, edges: &mut Vec<EdgeRef>) -> Result<(), StoreError> {
        if self.is_hidden(vertex)? {
            return Ok(());
        }
        let mut append = |layer: &Layer, part: EdgeList<'_>| part.push_edges(vertex, layer.lane, edges);
        if self.hidden.far {
            return self.for_shown_parts(vertex, append);
        }
        self.layers.iter().try_for_each(|layer| self.for_parts(layer, vertex, |part| append(layer, part)))
    }
    /// Calls `found` with the parts of the lists of a visible vertex whose other ends are all visible, in the order of [`AdjacencyView::edges`].
    fn for_shown_parts(
        &self,
        vertex: u32,
        mut found: impl FnMut(&Layer, EdgeList<'_>),
    ) -> Result<(), StoreError> {
        let mut test = ShownTest::new(&self.snapshot);
        for layer in &self.layers {
            let mut tested = Ok(());
            self.for_parts(layer, vertex, |part| {
                if tested.is_ok() {
                    tested = test.for_ranges(part.neighbours, |range| found(layer, part.part(range)));
                }
            })?;
            tested?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
