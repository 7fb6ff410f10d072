//! Import at full speed: many vertices and edges at once, straight into bases.
//!
//! Vertices and edges are only collected while they come in, from any number of threads; `finish` sorts them and builds the
//! columns and CSR tables of each chunk in parallel, on threads the caller lends. New vertices go to chunks of their own, so an
//! existing store is extended, not rewritten; edges that touch existing chunks are merged into their tables. Cost: one counting
//! sort by source chunk and one by target chunk for each edge type; memory about twice the final size at the peak.

mod edges;

use crate::StoreError;
use crate::allocator::Allocator;
use crate::apply::{Draft, collect_entries};
use crate::chunk::{Base, Chunk, ChunkMeta, ChunkRead};
use crate::column::{PropertyRef, StoredColumn};
use crate::directory::Cell;
use crate::fold;
use crate::index::Index;
use crate::index_run::Entry;
use crate::snapshot::Snapshot;
use crate::statistics::Counter;
use edges::{EdgeBatch, EdgeParts};
use model::schema::SchemaTarget;
use model::{CHUNK_SLOTS, ChunkNo, Column, EdgeTypeId, KeyId, LabelSetId, VertexId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A parallel for: calls its second argument once with every number below its first, from any threads, and returns when all
/// calls are done.
pub type Parallel<'a> = &'a dyn Fn(usize, &(dyn Fn(usize) + Sync));

/// Rows of one [`Bulk::vertices`] call that lie in one chunk.
struct Piece {
    first_slot: usize,
    rows: Range<usize>,
    columns: Arc<Vec<(KeyId, Column)>>,
}

/// A chunk being filled.
struct NewChunk {
    labels: LabelSetId,
    fill: usize,
    pieces: Vec<Piece>,
}

#[derive(Default)]
struct Vertices {
    /// The chunk to fill next, by label set.
    open: BTreeMap<LabelSetId, ChunkNo>,
    chunks: BTreeMap<ChunkNo, NewChunk>,
}

/// Builder for import.
pub struct Bulk<'a> {
    allocator: &'a Allocator,
    vertices: Mutex<Vertices>,
    edges: Mutex<BTreeMap<EdgeTypeId, Vec<EdgeBatch>>>,
}

impl<'a> Bulk<'a> {
    /// A builder that takes its ids from `allocator`.
    pub fn new(allocator: &'a Allocator) -> Bulk<'a> {
        Bulk { allocator, vertices: Mutex::default(), edges: Mutex::default() }
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
        let Vertices { open, chunks } = &mut *vertices;
        let mut ranges: Vec<Range<u32>> = Vec::new();
        let mut row = 0;
        while row < count {
            let number = match open.get(&labels) {
                Some(number) if chunks[number].fill < CHUNK_SLOTS => *number,
                _ => {
                    let number = self.allocator.take_chunks(1)?;
                    chunks.insert(number, NewChunk { labels, fill: 0, pieces: Vec::new() });
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
    /// Adds edges of one type between dense vertex ids (source, target); row `i` of each column belongs to the i-th pair. Called
    /// from any thread.
    pub fn edges(
        &self,
        edge_type: EdgeTypeId,
        pairs: Vec<(u32, u32)>,
        columns: Vec<(KeyId, Column)>,
    ) -> Result<(), StoreError> {
        check_columns(pairs.len(), &columns)?;
        self.edges.lock().entry(edge_type).or_default().push(EdgeBatch { pairs, columns });
        Ok(())
    }
    /// The snapshot with all that was added. No commit may happen meanwhile; on an error the store is as before, and the ids
    /// handed out are lost.
    pub fn finish(
        self,
        snapshot: &Snapshot,
        place: u64,
        parallel: Parallel<'_>,
    ) -> Result<Snapshot, StoreError> {
        let Vertices { open, chunks } = self.vertices.into_inner();
        let target = Target::new(snapshot, chunks);
        let mut parts: BTreeMap<ChunkNo, EdgeParts> = BTreeMap::new();
        for (edge_type, batches) in self.edges.into_inner() {
            edges::build(edge_type, batches, &target, self.allocator, parallel, &mut parts)?;
        }
        let mut numbers: Vec<ChunkNo> = target.new.keys().chain(parts.keys()).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let parts: Vec<Mutex<EdgeParts>> =
            numbers.iter().map(|number| Mutex::new(parts.remove(number).unwrap_or_default())).collect();
        let build = |at: usize| target.assemble(numbers[at], std::mem::take(&mut *parts[at].lock()));
        let built = run(parallel, numbers.len(), &build)?;
        let mut draft = Draft::new(snapshot);
        for (number, (chunk, counts)) in numbers.iter().zip(built) {
            counts.into_iter().for_each(|(counter, count)| draft.count(counter, count));
            draft.directory.set(*number, Arc::new(Cell::new(chunk, &snapshot.root.pager)));
        }
        extend_indexes(&mut draft, &target, parallel)?;
        for (labels, number) in open {
            self.allocator.reopen(labels, number, target.new[&number].fill);
        }
        draft.finish(place)
    }
}

fn check_columns(rows: usize, columns: &[(KeyId, Column)]) -> Result<(), StoreError> {
    let bad =
        |column: &Column| column.len() != rows || matches!(column, Column::Vertex(..) | Column::Edge(..));
    if columns.iter().any(|(_, column)| bad(column)) {
        return Err(StoreError::Unsupported(
            "columns of another length than their rows, or of graph elements",
        ));
    }
    Ok(())
}

/// A value of a batch column, borrowed.
fn column_ref(column: &Column, row: usize) -> PropertyRef<'_> {
    match column {
        Column::Constant(value, _) => PropertyRef::from(value),
        Column::Any(rows) => PropertyRef::from(&rows[row]),
        _ if column.is_null(row) => PropertyRef::Null,
        Column::Bool(rows, _) => PropertyRef::Bool(rows[row]),
        Column::Int(rows, _) => PropertyRef::Int(rows[row]),
        Column::Float(rows, _) => PropertyRef::Float(rows[row]),
        Column::Text(rows, _) => PropertyRef::Text(rows.get(row)),
        Column::Vertex(..) | Column::Edge(..) => PropertyRef::Null,
    }
}

/// Runs `count` fallible tasks and collects what they give, in order.
fn run<T: Send>(
    parallel: Parallel<'_>,
    count: usize,
    task: &(dyn Fn(usize) -> Result<T, StoreError> + Sync),
) -> Result<Vec<T>, StoreError> {
    let results: Vec<Mutex<Option<Result<T, StoreError>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    parallel(count, &|at| *results[at].lock() = Some(task(at)));
    let result =
        |cell: Mutex<Option<Result<T, StoreError>>>| cell.into_inner().expect("the caller ran every task");
    results.into_iter().map(result).collect()
}

/// What the import adds to: the snapshot and the new chunks.
struct Target<'a> {
    snapshot: &'a Snapshot,
    new: BTreeMap<ChunkNo, NewChunk>,
}

impl<'a> Target<'a> {
    fn new(snapshot: &'a Snapshot, new: BTreeMap<ChunkNo, NewChunk>) -> Target<'a> {
        Target { snapshot, new }
    }
    /// Chunk numbers in use lie below this.
    fn chunk_bound(&self) -> ChunkNo {
        let new = self.new.last_key_value().map_or(0, |(number, _)| number + 1);
        new.max(self.snapshot.root.directory.bound())
    }
    /// Slots of a chunk, new or old.
    fn slot_count(&self, number: ChunkNo) -> Result<usize, StoreError> {
        if let Some(chunk) = self.new.get(&number) {
            return Ok(chunk.fill);
        }
        Ok(self.snapshot.chunk(number)?.map_or(0, |chunk| chunk.meta().slot_bound as usize))
    }
    /// Fails unless there is such a vertex.
    fn check_vertex(&self, number: ChunkNo, slot: usize) -> Result<(), StoreError> {
        let exists = match self.new.get(&number) {
            Some(chunk) => slot < chunk.fill,
            None => self.snapshot.chunk(number)?.is_some_and(|chunk| chunk.exists(slot)),
        };
        if exists { Ok(()) } else { Err(StoreError::NoVertex(VertexId::new(number, slot as u16))) }
    }
    /// The finished chunk, and what it adds to the statistics.
    fn assemble(
        &self,
        number: ChunkNo,
        parts: EdgeParts,
    ) -> Result<(Chunk, Vec<(Counter, i64)>), StoreError> {
        let (mut chunk, vertices) = match self.new.get(&number) {
            Some(new) => (new_chunk(new), new.fill as i64),
            None => match self.snapshot.chunk(number)? {
                Some(old) => (fold::fold(&old), 0),
                None => return Err(StoreError::NoVertex(VertexId::new(number, 0))),
            },
        };
        let mut counts: BTreeMap<Counter, i64> = BTreeMap::new();
        if vertices > 0 {
            counts.insert(Counter::Vertices(chunk.meta.birth), vertices);
        }
        parts.count(&chunk, &mut counts);
        parts.merge_into(&mut chunk);
        Ok((chunk, counts.into_iter().collect()))
    }
}

/// A new chunk with its columns, without edges.
fn new_chunk(new: &NewChunk) -> Chunk {
    let mut keys: Vec<KeyId> =
        new.pieces.iter().flat_map(|piece| piece.columns.iter().map(|(key, _)| *key)).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut base = Base { slot_count: new.fill as u32, ..Base::empty() };
    (0..new.fill).for_each(|slot| base.exists[slot / 64] |= 1 << (slot % 64));
    for key in keys {
        let mut values = Vec::with_capacity(new.fill);
        for piece in &new.pieces {
            let Some((_, column)) = piece.columns.iter().find(|(other, _)| *other == key) else { continue };
            for (at, row) in piece.rows.clone().enumerate() {
                let value = column_ref(column, row);
                if !value.is_null() {
                    values.push(((piece.first_slot + at) as u32, value));
                }
            }
        }
        base.columns
            .extend(StoredColumn::build(new.fill as u32, &values).map(|column| (key, Arc::new(column))));
    }
    let mut meta = ChunkMeta::new(new.labels);
    meta.slot_bound = new.fill as u32;
    meta.live = new.fill as u32;
    Chunk { meta: Arc::new(meta), base: Arc::new(base), delta: None }
}

/// Adds the new vertices to the indexes that speak of their labels.
fn extend_indexes(
    draft: &mut Draft<'_>,
    target: &Target<'_>,
    parallel: Parallel<'_>,
) -> Result<(), StoreError> {
    let (catalog, directory, indexes) = (&draft.catalog, &draft.directory, &draft.indexes);
    let extend = |at: usize| -> Result<Option<Arc<Index>>, StoreError> {
        let index = &indexes[at].1;
        let SchemaTarget::Vertices(_) = index.definition.target else { return Ok(None) };
        let mut entries: Vec<Entry> = Vec::new();
        for number in target.new.keys() {
            let cell = directory.get(*number).expect("new chunks were put into the directory");
            collect_entries(catalog, *number, cell, &index.definition, &mut entries)?;
        }
        if entries.is_empty() {
            return Ok(None);
        }
        entries.append(&mut index.entries()?);
        Ok(Some(Arc::new(Index::build((*index.definition).clone(), entries, &target.snapshot.root.pager)?)))
    };
    let extended = run(parallel, indexes.len(), &extend)?;
    for (at, index) in extended.into_iter().enumerate() {
        if let Some(index) = index {
            draft.indexes[at].1 = index;
        }
    }
    Ok(())
}
