//! The vertices of an import: chunks being filled, and the vertices that edges may lead to.

use super::batch::column_ref;
use super::parallel::{Parallel, run};
use crate::StoreError;
use crate::chunks::chunk::{Base, BaseKnown, Chunk, ChunkMeta, ChunkRead};
use crate::chunks::chunk_bytes;
use crate::chunks::column::StoredColumn;
use crate::paging::spill::{Portion, Room};
use crate::snapshots::root::Snapshot;
use model::{ChunkNo, Column, KeyId, LabelSetId, VertexId, walk};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Rows of one [`super::Bulk::vertices`] call that lie in one chunk.
pub(super) struct Piece {
    pub(super) first_slot: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Arc<Vec<(KeyId, Column)>>,
}

/// Columns of a sealed chunk, by key.
type Columns = Vec<(KeyId, Arc<StoredColumn>)>;

/// A chunk being filled: its rows are in pieces, or, once it is sealed, in columns.
pub(super) struct NewChunk {
    pub(super) labels: LabelSetId,
    pub(super) fill: usize,
    pub(super) pieces: Vec<Piece>,
    pub(super) columns: Columns,
    /// Where the columns were put aside, as a chunk without edges.
    pub(super) aside: Option<Portion>,
}

impl NewChunk {
    pub(super) fn new(labels: LabelSetId) -> NewChunk {
        NewChunk { labels, fill: 0, pieces: Vec::new(), columns: Vec::new(), aside: None }
    }
    /// Bytes that its columns take.
    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().map(|(_, column)| column.heap_bytes()).sum()
    }
    /// Puts the columns aside.
    pub(super) fn put_aside(&mut self, room: Room<'_>) -> Result<(), StoreError> {
        self.aside = Some(room.put(&chunk_bytes::encode(&self.chunk()))?);
        self.columns = Vec::new();
        Ok(())
    }
    fn take(&mut self, room: Option<Room<'_>>) -> Result<Chunk, StoreError> {
        if let (Some(portion), Some(room)) = (self.aside, room) {
            let (slots, fill) = (self.fill as u32, self.fill as u32);
            let known = BaseKnown { slot_bound: slots, live: fill };
            self.columns = chunk_bytes::decode(&room.get(portion)?, known)?.columns;
        }
        let chunk = self.chunk();
        self.columns = Vec::new();
        Ok(chunk)
    }
    /// The chunk without edges.
    fn chunk(&self) -> Chunk {
        let columns = self.columns.clone();
        let mut base = Base { slot_count: self.fill as u32, columns, ..Base::empty() };
        (0..self.fill).for_each(|slot| base.exists[slot / 64] |= 1 << (slot % 64));
        let mut meta = ChunkMeta::new(self.labels);
        meta.slot_bound = self.fill as u32;
        meta.live = self.fill as u32;
        Chunk { meta: Arc::new(meta), base: Arc::new(base), delta: None }
    }
}

#[derive(Default)]
pub(super) struct Vertices {
    /// The chunk to fill next, by label set.
    pub(super) open: BTreeMap<LabelSetId, ChunkNo>,
    pub(super) chunks: BTreeMap<ChunkNo, NewChunk>,
    /// Chunks that are full and not sealed yet.
    pub(super) full: Vec<ChunkNo>,
    /// Bytes of the columns of sealed chunks that were not put aside.
    pub(super) sealed_bytes: usize,
}

/// The rows of one chunk as columns.
pub(super) fn columns(fill: usize, pieces: &[Piece]) -> Columns {
    let of_piece = |piece: &Piece| piece.columns.iter().map(|(key, _)| *key).collect::<Vec<_>>();
    let mut keys: Vec<KeyId> = pieces.iter().flat_map(of_piece).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut columns = Vec::new();
    let _whole = walk::unended();
    for key in keys {
        let mut values = Vec::with_capacity(fill);
        for piece in pieces {
            let Some((_, column)) = piece.columns.iter().find(|(other, _)| *other == key) else { continue };
            for (at, row) in piece.rows.clone().enumerate() {
                let value = column_ref(column, row);
                if !value.is_null() {
                    values.push(((piece.first_slot + at) as u32, value));
                }
            }
        }
        columns.extend(StoredColumn::build(fill as u32, &values).map(|column| (key, Arc::new(column))));
    }
    columns
}

/// The vertices that edges may lead to: those of the snapshot and of the new chunks.
pub(super) struct Target<'a> {
    snapshot: &'a Snapshot,
    new: BTreeMap<ChunkNo, Mutex<NewChunk>>,
    fills: BTreeMap<ChunkNo, usize>,
    room: Option<Room<'a>>,
}

impl<'a> Target<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        new: BTreeMap<ChunkNo, NewChunk>,
        room: Option<Room<'a>>,
    ) -> Target<'a> {
        let fills = new.iter().map(|(number, chunk)| (*number, chunk.fill)).collect();
        Target {
            snapshot,
            new: new.into_iter().map(|(number, chunk)| (number, Mutex::new(chunk))).collect(),
            fills,
            room,
        }
    }
    /// The memory bound, and where the rest is spilled.
    pub(super) fn room(&self) -> Option<Room<'a>> {
        self.room
    }
    /// Seals the chunks that are left.
    pub(super) fn seal(&self, parallel: Parallel<'_>) -> Result<(), StoreError> {
        let chunks: Vec<&Mutex<NewChunk>> = self.new.values().collect();
        run(parallel, chunks.len(), &|at| {
            let mut chunk = chunks[at].lock();
            let pieces = std::mem::take(&mut chunk.pieces);
            if !pieces.is_empty() {
                chunk.columns = columns(chunk.fill, &pieces);
            }
            Ok(())
        })?;
        Ok(())
    }
    /// Numbers of the new chunks, rising.
    pub(super) fn new_chunks(&self) -> impl Iterator<Item = ChunkNo> {
        self.fills.keys().copied()
    }
    /// A new chunk without its edges, taken out.
    pub(super) fn take(&self, number: ChunkNo) -> Result<Chunk, StoreError> {
        self.new[&number].lock().take(self.room)
    }
    /// Chunk numbers in use lie below this.
    pub(super) fn chunk_bound(&self) -> ChunkNo {
        let new = self.fills.last_key_value().map_or(0, |(number, _)| number + 1);
        new.max(self.snapshot.root.directory.bound())
    }
    /// Slots of a chunk, new or old.
    pub(super) fn slot_count(&self, number: ChunkNo) -> Result<usize, StoreError> {
        if let Some(fill) = self.fills.get(&number) {
            return Ok(*fill);
        }
        Ok(self.snapshot.chunk(number)?.map_or(0, |chunk| chunk.meta().slot_bound as usize))
    }
    /// Fails unless there is such a vertex.
    pub(super) fn check_vertex(&self, number: ChunkNo, slot: usize) -> Result<(), StoreError> {
        let exists = match self.fills.get(&number) {
            Some(fill) => slot < *fill,
            None => self.snapshot.chunk(number)?.is_some_and(|chunk| chunk.exists(slot)),
        };
        if exists { Ok(()) } else { Err(StoreError::NoVertex(VertexId::new(number, slot as u16))) }
    }
}
