//! Handing out ids before commit: vertex slots in open chunks by label set, edge slots by chunk and type.
//!
//! An id is handed out once: ids of an aborted transaction may be handed out again, committed ones are not. One open chunk serves each label set.
//! Writers that share it do not conflict (conflicts are by vertex), and a commit group copies it once for all of them; spreading writers over many
//! open chunks would leave the ids sparse instead.

use crate::StoreError;
use crate::snapshots::root::Snapshot;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::id::{CHUNK_COUNT_MAX, EDGE_SLOT_COUNT_MAX};
use model::{CHUNK_SLOTS, ChunkNo, EdgeId, EdgeTypeId, LabelSetId, Slot, VertexId};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

/// Locks over which edge counters are spread, so that writers of different chunks rarely meet.
const EDGE_SHARDS: usize = 16;
/// Returned ids of aborted transactions for each label set or edge counter; further ones are lost.
const RETURNED_MAX: usize = 1024;

/// The longest that a writer waits for a chunk number, and for another writer who waits for one.
pub const LEASE_WAIT: Duration = Duration::from_secs(10);

/// Consecutive vertices that go to one lane, where several are filled in turn.
const LANE_RUN: u64 = 4;

#[derive(Default)]
struct OpenChunk {
    chunk: ChunkNo,
    next: usize,
    returned: Vec<VertexId>,
}

#[derive(Default)]
struct Vertices {
    next_chunk: ChunkNo,
    /// By label set and lane; one lane where there is one writer.
    open: HashMap<(LabelSetId, u32), OpenChunk, FixedState>,
    /// Vertices handed out so far.
    count: u64,
}

impl Vertices {
    /// A vertex of the open chunk, if that has room.
    fn take(&mut self, key: (LabelSetId, u32)) -> Option<VertexId> {
        let open = self.open.get_mut(&key)?;
        if let Some(vertex) = open.returned.pop() {
            return Some(vertex);
        }
        if open.next == CHUNK_SLOTS {
            return None;
        }
        open.next += 1;
        Some(VertexId::new(open.chunk, (open.next - 1) as Slot))
    }
    /// The first vertex of a new chunk.
    fn begin(&mut self, key: (LabelSetId, u32), chunk: ChunkNo) -> VertexId {
        self.open.insert(key, OpenChunk { chunk, next: 1, returned: Vec::new() });
        VertexId::new(chunk, 0)
    }
    fn has_room(&self, key: (LabelSetId, u32)) -> bool {
        self.open.get(&key).is_some_and(|open| open.next < CHUNK_SLOTS || !open.returned.is_empty())
    }
}

#[derive(Default)]
struct EdgeCounter {
    next: u32,
    returned: Vec<u32>,
}

/// Hands out chunk numbers uniquely, where several processes write to one graph.
pub trait ChunkLeases: Send + Sync {
    /// A chunk number for this lane; chunks of different lanes should lie with different shards. [`StoreError::Full`] where none comes in time.
    fn take(&self, lane: u32) -> Result<ChunkNo, StoreError>;
}

/// One of several writers of a graph: it leases chunks, and of the edge slots of a chunk it takes every `writers`th.
struct Writer {
    leases: Arc<dyn ChunkLeases>,
    number: u32,
    writers: u32,
    /// One for each lane: of the open chunks of one label set, which new vertices fill in turn. Held by who waits for a lease there.
    lanes: Vec<Mutex<()>>,
}

type EdgeCounters = HashMap<(ChunkNo, EdgeTypeId), EdgeCounter, FixedState>;

/// The shared source of ids.
#[derive(Default)]
pub struct Allocator {
    vertices: Mutex<Vertices>,
    edges: [Mutex<EdgeCounters>; EDGE_SHARDS],
    writer: Option<Writer>,
}

impl Allocator {
    /// The allocator of one of several writers of a graph, given its number and their count; fills chunks of `lanes` lanes at a time.
    pub fn leased(leases: Arc<dyn ChunkLeases>, (number, writers): (u32, u32), lanes: u32) -> Allocator {
        debug_assert!(number < writers && lanes > 0);
        let lanes = (0..lanes).map(|_| Mutex::default()).collect();
        Allocator { writer: Some(Writer { leases, number, writers, lanes }), ..Allocator::default() }
    }
    /// As [`Allocator::edge`], for one of several writers: every edge of the chunk that others committed has a slot below `bound`.
    pub fn edge_above(
        &self,
        source: VertexId,
        edge_type: EdgeTypeId,
        bound: u32,
    ) -> Result<EdgeId, StoreError> {
        let Some(writer) = &self.writer else { return self.edge(source, edge_type) };
        let chunk = source.chunk();
        let mut counters = self.shard(chunk).lock();
        let counter = counters.entry((chunk, edge_type)).or_default();
        counter.next = counter.next.max(bound.div_ceil(writer.writers));
        let slot = u64::from(counter.next) * u64::from(writer.writers) + u64::from(writer.number);
        if slot >= EDGE_SLOT_COUNT_MAX as u64 {
            return Err(StoreError::Full("edges of one type born in one chunk"));
        }
        counter.next += 1;
        Ok(EdgeId::new(chunk, edge_type, slot as u32))
    }
    /// An allocator for an empty store.
    pub fn new() -> Allocator {
        Allocator::default()
    }
    /// An allocator that goes on where the snapshot ends; nothing is loaded for it.
    pub fn restored(snapshot: &Snapshot) -> Allocator {
        let allocator = Allocator::new();
        allocator.restore(snapshot);
        allocator
    }
    /// Forgets everything and goes on where the snapshot ends. No transaction may be open.
    pub fn restore(&self, snapshot: &Snapshot) {
        let mut vertices = Vertices { next_chunk: snapshot.root.directory.bound(), ..Vertices::default() };
        self.edges.iter().for_each(|shard| shard.lock().clear());
        for (chunk, cell) in snapshot.root.directory.iter() {
            let next = cell.meta.slot_bound as usize;
            if next < CHUNK_SLOTS {
                vertices.open.insert((cell.meta.birth, 0), OpenChunk { chunk, next, returned: Vec::new() });
            }
            for (edge_type, bound) in &cell.meta.edge_slot_bounds {
                let counter = EdgeCounter { next: *bound, returned: Vec::new() };
                self.shard(chunk).lock().insert((chunk, *edge_type), counter);
            }
        }
        *self.vertices.lock() = vertices;
    }
    fn shard(&self, chunk: ChunkNo) -> &Mutex<EdgeCounters> {
        &self.edges[chunk as usize % EDGE_SHARDS]
    }
    /// An id for a vertex born with these labels.
    pub fn vertex(&self, labels: LabelSetId) -> Result<VertexId, StoreError> {
        let mut vertices = self.vertices.lock();
        let lane = self.writer.as_ref().map_or(0, |writer| {
            vertices.count += 1;
            (vertices.count / LANE_RUN % writer.lanes.len() as u64) as u32
        });
        if let Some(vertex) = vertices.take((labels, lane)) {
            return Ok(vertex);
        }
        let Some(writer) = &self.writer else {
            let chunk = take_chunks(&mut vertices.next_chunk, 1)?;
            return Ok(vertices.begin((labels, lane), chunk));
        };
        // One waits for a lease of a lane at a time, and those whose chunks have room go on meanwhile.
        let leasing = || writer.lanes[lane as usize].try_lock_for(LEASE_WAIT);
        let Some(_leasing) = MutexGuard::unlocked(&mut vertices, leasing) else {
            return Err(StoreError::Full("chunks that are leased"));
        };
        if let Some(vertex) = vertices.take((labels, lane)) {
            return Ok(vertex);
        }
        let chunk = MutexGuard::unlocked(&mut vertices, || writer.leases.take(lane))?;
        Ok(vertices.begin((labels, lane), chunk))
    }
    /// An id for an edge of this type that starts at `source`.
    pub fn edge(&self, source: VertexId, edge_type: EdgeTypeId) -> Result<EdgeId, StoreError> {
        let chunk = source.chunk();
        let mut counters = self.shard(chunk).lock();
        let counter = counters.entry((chunk, edge_type)).or_default();
        if let Some(slot) = counter.returned.pop() {
            return Ok(EdgeId::new(chunk, edge_type, slot));
        }
        if counter.next as usize >= EDGE_SLOT_COUNT_MAX {
            return Err(StoreError::Full("edges of one type born in one chunk"));
        }
        counter.next += 1;
        Ok(EdgeId::new(chunk, edge_type, counter.next - 1))
    }
    /// Takes back ids that were handed out and never committed.
    pub fn give_back(&self, vertices: &[(VertexId, LabelSetId)], edges: &[EdgeId]) {
        if self.writer.is_some() {
            return;
        }
        let mut all = self.vertices.lock();
        for (vertex, labels) in vertices {
            if let Some(open) = all.open.get_mut(&(*labels, 0))
                && open.returned.len() < RETURNED_MAX
            {
                open.returned.push(*vertex);
            }
        }
        drop(all);
        for edge in edges {
            let mut counters = self.shard(edge.chunk()).lock();
            if let Some(counter) = counters.get_mut(&(edge.chunk(), edge.edge_type()))
                && counter.returned.len() < RETURNED_MAX
            {
                counter.returned.push(edge.slot());
            }
        }
    }
    /// Takes `count` whole chunks that no one else will get; the first of them.
    pub(crate) fn take_chunks(&self, count: u32) -> Result<ChunkNo, StoreError> {
        take_chunks(&mut self.vertices.lock().next_chunk, count)
    }
    /// Makes the rest of a chunk taken by [`Allocator::take_chunks`] the open one of its label set, unless one is open.
    pub(crate) fn reopen(&self, labels: LabelSetId, chunk: ChunkNo, next: usize) {
        let mut vertices = self.vertices.lock();
        if next < CHUNK_SLOTS && !vertices.has_room((labels, 0)) {
            vertices.open.insert((labels, 0), OpenChunk { chunk, next, returned: Vec::new() });
        }
    }
    /// Takes `count` edge slots in a row; the first of them.
    pub(crate) fn take_edges(
        &self,
        chunk: ChunkNo,
        edge_type: EdgeTypeId,
        count: usize,
    ) -> Result<u32, StoreError> {
        let mut counters = self.shard(chunk).lock();
        let counter = counters.entry((chunk, edge_type)).or_default();
        if counter.next as usize + count > EDGE_SLOT_COUNT_MAX {
            return Err(StoreError::Full("edges of one type born in one chunk"));
        }
        counter.next += count as u32;
        Ok(counter.next - count as u32)
    }
}

fn take_chunks(next: &mut ChunkNo, count: u32) -> Result<ChunkNo, StoreError> {
    // One chunk less than fits, so that bounds of dense ids fit 32 bits too.
    if *next as usize + count as usize >= CHUNK_COUNT_MAX {
        return Err(StoreError::Full("chunks of one store"));
    }
    *next += count;
    Ok(*next - count)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::disallowed_types)]
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Tells of each request, and answers it when it is let go.
    struct Slow(Sender<u32>, Mutex<Receiver<ChunkNo>>);

    impl ChunkLeases for Slow {
        fn take(&self, lane: u32) -> Result<ChunkNo, StoreError> {
            self.0.send(lane).unwrap();
            Ok(self.1.lock().recv().unwrap())
        }
    }

    /// Two writers of the same labels make one request, and who needs none goes on beside them.
    #[test]
    fn one_writer_of_a_lane_waits_for_a_lease() {
        let ((requests, requested), (answers, answered)) = (channel(), channel());
        let leases = Arc::new(Slow(requests, Mutex::new(answered)));
        let allocator = Allocator::leased(leases, (0, 1), 1);
        let [some, others] = [1, 2].map(LabelSetId);
        answers.send(7).unwrap();
        assert_eq!(allocator.vertex(others).unwrap(), VertexId::new(7, 0));
        requested.recv().unwrap();
        std::thread::scope(|scope| {
            let writers = [(); 2].map(|()| scope.spawn(|| allocator.vertex(some).unwrap()));
            requested.recv().unwrap();
            assert_eq!(allocator.vertex(others).unwrap(), VertexId::new(7, 1));
            answers.send(9).unwrap();
            let mut found = writers.map(|writer| writer.join().unwrap());
            found.sort();
            assert_eq!(found, [VertexId::new(9, 0), VertexId::new(9, 1)]);
        });
        assert!(requested.try_recv().is_err());
    }
}
