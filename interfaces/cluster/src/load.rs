//! The first content of a cluster: a database of one machine, as commits before all others.
//!
//! ```text
//!   database ── chunks to shards ── records: names · vertices · edges · indexes, constraints, entries ──> truth, before the first epoch
//! ```
//!
//! Each chunk gets its shard as it streams by (linear deterministic greedy, Stanton and Kliot, KDD 2012): the shard with most of its neighbours,
//! weighted by its free capacity. Vertices and edges keep their ids.

use crate::graph::{RecordParts, by_shards};
use model::{ChunkNo, Direction, EdgeId, EdgeRef, EdgeTypeId, VertexId};
use std::collections::BTreeMap;
use store::{Change, EdgeScratch, LabelFilter, NameDefinition, Snapshot, StoreError};

/// Changes of one record.
const RECORD_CHANGES: usize = 5_000;
/// Bytes of changes of one record that are enough; one change may be larger.
const RECORD_BYTES_ENOUGH: usize = 1 << 20;
/// Capacity of a shard, in percent of its even share of the vertices.
const CAPACITY_PERCENT: u64 = 105;

/// The shard of each chunk of a graph.
///
/// # Errors
/// A page cannot be read.
pub fn place(graph: &Snapshot, shards: u16) -> Result<BTreeMap<ChunkNo, u16>, StoreError> {
    let chunks = graph.scan_chunks(&LabelFilter::Any);
    let (mut owners, mut loads) = (BTreeMap::new(), vec![0_u64; usize::from(shards)]);
    let view = graph.adjacency(&[], Direction::Both);
    let (mut scratch, mut vertices) = (EdgeScratch::default(), Vec::new());
    // Chunks are of one size, but for those that are not full.
    let mut total = 0;
    for chunk in chunks.clone() {
        vertices.clear();
        graph.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
        total += vertices.len() as u64;
    }
    let capacity = (total * CAPACITY_PERCENT / 100).div_ceil(u64::from(shards)).max(1);
    for chunk in chunks {
        vertices.clear();
        graph.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
        let mut neighbours = vec![0_u64; usize::from(shards)];
        for vertex in &vertices {
            let (others, _) = view.edges(vertex.dense(), &mut scratch)?;
            for other in others {
                let owner = owners.get(&VertexId::from_dense(*other).chunk());
                owner.into_iter().for_each(|owner| neighbours[usize::from(*owner)] += 1);
            }
        }
        let free = |shard: &u16| capacity.saturating_sub(loads[usize::from(*shard)]);
        let score = |shard: &u16| u128::from(neighbours[usize::from(*shard)]) * u128::from(free(shard));
        let best = (0..shards).max_by_key(|shard| (score(shard), free(shard), std::cmp::Reverse(*shard)));
        let shard = best.unwrap_or(0);
        loads[usize::from(shard)] += vertices.len() as u64;
        owners.insert(chunk, shard);
    }
    Ok(owners)
}

/// Makes records of a graph whose chunks lie on these shards, in order, and passes each to `take`.
///
/// # Errors
/// A page cannot be read; or an error of `take`.
pub fn records<E: From<StoreError>>(
    graph: &Snapshot,
    owners: &BTreeMap<ChunkNo, u16>,
    shards: u16,
    take: impl FnMut(RecordParts) -> Result<(), E>,
) -> Result<(), E> {
    let mut making = RecordMaking { owners, shards, changes: Vec::new(), bytes: 0, take };
    let catalog = graph.catalog();
    for name in names(graph) {
        making.add(Change::DefineName(name))?;
    }
    making.end_record()?;
    for vertex in vertices(graph) {
        let vertex = vertex?;
        let labels = graph.labels(vertex)?;
        making.add(Change::CreateVertex { id: vertex, labels, properties: graph.properties(vertex)? })?;
    }
    making.end_record()?;
    let (view, mut scratch) = (graph.adjacency(&[], Direction::Out), EdgeScratch::default());
    for source in vertices(graph) {
        let source = source?;
        let (targets, edges) = view.edges(source.dense(), &mut scratch)?;
        for (target, edge) in targets.iter().zip(edges) {
            let (target, id) = (VertexId::from_dense(*target), EdgeId(*edge));
            let properties = graph.edge_properties(id)?;
            making.add(Change::CreateEdge { edge: EdgeRef { id, source, target }, properties })?;
        }
    }
    for chunk in graph.scan_chunks(&LabelFilter::Any) {
        spent_slots(graph, chunk, |change| making.add(change))?;
    }
    making.end_record()?;
    catalog.indexes().iter().try_for_each(|index| making.add(Change::CreateIndex(index.clone())))?;
    for constraint in catalog.constraints() {
        making.add(Change::CreateConstraint(constraint.clone()))?;
    }
    for (kind, name, content) in catalog.entries().iter() {
        making.add(Change::SetEntry { kind, name: name.clone(), content: Some(content.clone()) })?;
    }
    making.end_record()
}

/// Ids are never given again: where the last edges of a type that a chunk had are deleted, the last one comes and goes.
fn spent_slots<E: From<StoreError>>(
    graph: &Snapshot,
    chunk: ChunkNo,
    mut take: impl FnMut(Change) -> Result<(), E>,
) -> Result<(), E> {
    let mut vertices = Vec::new();
    graph.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
    let Some(vertex) = vertices.first().copied() else { return Ok(()) };
    for edge_type in 0..graph.catalog().names().edge_types().len() {
        let edge_type = EdgeTypeId(edge_type as u16);
        let Some(last) = graph.edge_slot_bound(chunk, edge_type).checked_sub(1) else { continue };
        let id = EdgeId::new(chunk, edge_type, last);
        if graph.edge(id)?.is_none() {
            let edge = EdgeRef { id, source: vertex, target: vertex };
            take(Change::CreateEdge { edge, properties: Vec::new() })?;
            take(Change::DeleteEdge { edge })?;
        }
    }
    Ok(())
}

/// All names, with their numbers, those of labels before those of sets of them.
fn names(graph: &Snapshot) -> Vec<NameDefinition> {
    let names = graph.catalog().names();
    let mut all = Vec::new();
    for (number, name) in names.labels().iter().enumerate() {
        all.push(NameDefinition::Label(model::LabelId(number as u16), name.clone()));
    }
    for (number, name) in names.edge_types().iter().enumerate() {
        all.push(NameDefinition::EdgeType(model::EdgeTypeId(number as u16), name.clone()));
    }
    for (number, name) in names.keys().iter().enumerate() {
        all.push(NameDefinition::Key(model::KeyId(number as u32), name.clone()));
    }
    for (number, labels) in names.label_sets().iter().enumerate() {
        all.push(NameDefinition::LabelSet(model::LabelSetId(number as u32), labels.clone()));
    }
    all
}

/// All vertices, chunk after chunk.
fn vertices(graph: &Snapshot) -> impl Iterator<Item = Result<VertexId, StoreError>> {
    graph.scan_chunks(&LabelFilter::Any).into_iter().flat_map(|chunk| {
        let mut vertices = Vec::new();
        let read = graph.scan_chunk(chunk, &LabelFilter::Any, &mut vertices);
        read.err().map(Err).into_iter().chain(vertices.into_iter().map(Ok))
    })
}

/// A record in the making.
struct RecordMaking<'o, T> {
    owners: &'o BTreeMap<ChunkNo, u16>,
    shards: u16,
    changes: Vec<Change>,
    bytes: usize,
    take: T,
}

impl<E: From<StoreError>, T: FnMut(RecordParts) -> Result<(), E>> RecordMaking<'_, T> {
    fn add(&mut self, change: Change) -> Result<(), E> {
        self.bytes += change.value_bytes();
        self.changes.push(change);
        let is_full = self.changes.len() >= RECORD_CHANGES || self.bytes >= RECORD_BYTES_ENOUGH;
        if is_full { self.end_record() } else { Ok(()) }
    }
    fn end_record(&mut self) -> Result<(), E> {
        self.bytes = 0;
        let changes = std::mem::take(&mut self.changes);
        if changes.is_empty() {
            return Ok(());
        }
        let owner = |chunk| self.owners.get(&chunk).copied().ok_or(StoreError::ChunkMismatch(chunk));
        let parts = by_shards(&changes, self.shards, owner, usize::MAX)?;
        (self.take)(parts)
    }
}
