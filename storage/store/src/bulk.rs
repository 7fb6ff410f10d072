//! Import at full speed: many vertices and edges at once, straight into bases.
//!
//! Vertices and edges are only collected while they come in, from any number of threads; full chunks are sealed into columns meanwhile
//! ([`Bulk::seal`]). [`Bulk::build`] sorts the edges and makes the tables of each chunk in parallel, on threads of the caller. New vertices go to
//! chunks of their own, so an existing store is extended, not rewritten; edges at existing chunks are merged into their tables. The result stands
//! beside the graph until [`Built::onto`] puts it onto the present snapshot, with the commits made meanwhile. Cost: one counting sort by source chunk
//! and one by target chunk for each edge type; memory at most twice the final size.

mod batch;
pub(crate) mod built;
mod edges;
pub(crate) mod parallel;
mod spill;
mod vertices;

use crate::StoreError;
use crate::commits::allocator::Allocator;
use crate::paging::spill::{Emit, Room};
use crate::snapshots::root::Snapshot;
use batch::{EdgeBatch, check_columns, cut};
use built::{Built, Edges};
use edges::EdgeParts;
use model::{CHUNK_SLOTS, ChunkNo, Column, EdgeTypeId, KeyId, LabelSetId, VertexId};
use parallel::Parallel;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use vertices::{NewChunk, Piece, Target, Vertices};

/// Builder for import.
pub struct Bulk<'a> {
    allocator: &'a Allocator,
    vertices: Mutex<Vertices>,
    edges: Mutex<WaitingEdges>,
    room: Option<Room<'a>>,
}

/// Edges that came in.
#[derive(Default)]
struct WaitingEdges {
    batches: BTreeMap<EdgeTypeId, Vec<EdgeBatch>>,
    bytes: usize,
    /// Those that were put aside.
    aside: BTreeMap<EdgeTypeId, Vec<spill::EdgeRun>>,
}

impl WaitingEdges {
    fn put_aside(&mut self, room: Room<'_>) -> Result<(), StoreError> {
        for (edge_type, batches) in std::mem::take(&mut self.batches) {
            self.aside.entry(edge_type).or_default().push(spill::spill(&batches, room)?);
        }
        self.bytes = 0;
        Ok(())
    }
}

impl<'a> Bulk<'a> {
    /// A builder that takes its ids from `allocator`.
    pub fn new(allocator: &'a Allocator) -> Bulk<'a> {
        Bulk { allocator, vertices: Mutex::default(), edges: Mutex::default(), room: None }
    }
    /// A builder that spills what exceeds `room`.
    pub fn within(allocator: &'a Allocator, room: Option<Room<'a>>) -> Bulk<'a> {
        Bulk { room, ..Bulk::new(allocator) }
    }
    /// Adds `count` vertices with these labels; row `i` of each column belongs to the i-th vertex. Called from any thread. The
    /// dense ids, in row order, as ranges; they are final.
    pub fn vertices(
        &self,
        labels: LabelSetId,
        count: usize,
        columns: Vec<(KeyId, Column)>,
    ) -> Result<Vec<Range<u32>>, StoreError> {
        check_columns(count, &columns)?;
        let columns = Arc::new(columns);
        let mut vertices = self.vertices.lock();
        let Vertices { open, chunks, full, .. } = &mut *vertices;
        let mut ranges: Vec<Range<u32>> = Vec::new();
        let mut row = 0;
        while row < count {
            let number = match open.get(&labels) {
                Some(number) if chunks[number].fill < CHUNK_SLOTS => *number,
                before => {
                    full.extend(before);
                    let number = self.allocator.take_chunks(1)?;
                    chunks.insert(number, NewChunk::new(labels));
                    open.insert(labels, number);
                    number
                }
            };
            let chunk = chunks.get_mut(&number).expect("open chunks are in the map");
            let len = (count - row).min(CHUNK_SLOTS - chunk.fill);
            chunk.pieces.push(Piece {
                first_slot: chunk.fill,
                rows: row..row + len,
                columns: columns.clone(),
            });
            let start = VertexId::new(number, chunk.fill as u16).dense();
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end += len as u32,
                _ => ranges.push(start..start + len as u32),
            }
            chunk.fill += len;
            row += len;
        }
        Ok(ranges)
    }
    /// Turns full chunks into columns, so that the rows they were made of can be dropped. Called from any thread, again and again; returns when
    /// nothing is left to do.
    pub fn seal(&self) -> Result<(), StoreError> {
        loop {
            let mut vertices = self.vertices.lock();
            let Some(number) = vertices.full.pop() else { return Ok(()) };
            let chunk = vertices.chunks.get_mut(&number).expect("full chunks are in the map");
            let (pieces, fill) = (std::mem::take(&mut chunk.pieces), chunk.fill);
            drop(vertices);
            let columns = vertices::columns(fill, &pieces);
            drop(pieces);
            let mut vertices = self.vertices.lock();
            let Vertices { chunks, sealed_bytes, .. } = &mut *vertices;
            let chunk = chunks.get_mut(&number).expect("chunks stay in the map");
            chunk.columns = columns;
            *sealed_bytes += chunk.bytes();
            if let Some(room) = self.room.filter(|room| *sealed_bytes > room.share()) {
                *sealed_bytes -= chunk.bytes();
                chunk.put_aside(room)?;
            }
        }
    }
    /// Adds edges of one type between dense vertex ids (source, target); row `i` of each column belongs to the i-th pair. Called
    /// from any thread.
    pub fn edges(
        &self,
        edge_type: EdgeTypeId,
        pairs: Vec<(u32, u32)>,
        columns: Vec<(KeyId, Column)>,
    ) -> Result<(), StoreError> {
        check_columns(pairs.len(), &columns)?;
        let mut waiting = self.edges.lock();
        let batches = match columns.is_empty() {
            true => cut(pairs),
            false => vec![EdgeBatch { pairs, columns }],
        };
        waiting.bytes += batches.iter().map(spill::batch_bytes).sum::<usize>();
        waiting.batches.entry(edge_type).or_default().extend(batches);
        match self.room.filter(|room| waiting.bytes > room.share()) {
            Some(room) => waiting.put_aside(room),
            None => Ok(()),
        }
    }
    /// Were edges spilled? Then [`Bulk::build`] needs storage for finished chunks.
    pub fn is_crowded(&self) -> bool {
        !self.edges.lock().aside.is_empty()
    }
    /// Builds all that was added, to be put onto `given` or a later snapshot. `given` is the snapshot in which the ends of edges were looked up;
    /// `base` is the same with the indexes and constraints of the import. With `emit`, finished chunks leave memory. After an error nothing has
    /// changed, but the ids handed out are lost.
    pub fn build(
        self,
        given: &Snapshot,
        base: &Snapshot,
        emit: Option<&dyn Emit>,
        parallel: Parallel<'_>,
    ) -> Result<Built, StoreError> {
        let Vertices { open, chunks, .. } = self.vertices.into_inner();
        let fills = open.into_iter().map(|(labels, number)| (labels, number, chunks[&number].fill)).collect();
        let target = Target::new(given, chunks, self.room);
        target.seal(parallel)?;
        let mut waiting = self.edges.into_inner();
        let edges = match self.room.filter(|_| !waiting.aside.is_empty()) {
            Some(room) => {
                waiting.put_aside(room)?;
                Edges::Aside(spill::sort(waiting.aside, &target, self.allocator, room, parallel)?)
            }
            None => {
                let mut parts: BTreeMap<ChunkNo, EdgeParts> = BTreeMap::new();
                for (edge_type, batches) in waiting.batches {
                    edges::build(edge_type, batches, &target, self.allocator, parallel, &mut parts)?;
                }
                Edges::Held(parts.into_iter().map(|(chunk, parts)| (chunk, Mutex::new(parts))).collect())
            }
        };
        Built::assemble(given, base, &target, edges, emit, fills, parallel)
    }
    /// The snapshot with all that was added, where no commit happens meanwhile.
    pub fn finish(
        self,
        snapshot: &Snapshot,
        commit_version: u64,
        parallel: Parallel<'_>,
    ) -> Result<Snapshot, StoreError> {
        let allocator = self.allocator;
        let mut built = self.build(snapshot, snapshot, None, parallel)?;
        let next = built.onto(snapshot, commit_version)?;
        built.installed(allocator);
        Ok(next)
    }
}
