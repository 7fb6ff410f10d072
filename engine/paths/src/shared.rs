//! The same question as [`Reach`](crate::Reach), answered by several workers together.
//!
//! Idea: the workers draw morsels of the current level from one dispatcher and mark vertices with atomic bits; whoever
//! finishes the last morsel publishes the next level. Nobody waits: a worker that finds no morsel gets
//! [`Turn::Idle`] and may do other work. Invariant: a vertex is put into one level by the one worker that set its bit.
//! Which worker found it is chance, so the order of ends within a distance is too; the set and the distances are not.
//! A worker that has drawn a morsel must go on calling (or the whole search be dropped), else its level never ends.
//! Cost: an atomic test per edge, an atomic write per found vertex, one short lock per morsel.

use crate::adjacency::{Adjacency, EdgeScratch};
use crate::error::PathError;
use crate::frontier::{Bitmap, checked_sources, is_dense, put_in_order};
use crate::hops::{Hops, Orientation};
use crate::morsel::{Morsel, MorselDispatcher, MorselPolicy};
use crate::reach::Keep;
use crate::returns::Returns;
use crate::work::{Progress, Work};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The largest level that is put into order: about half a millisecond of one worker's time.
const ORDERED_MAX: usize = 1 << 18;

/// What a worker's turn says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The work is over; there is more to do.
    More,
    /// Nothing to draw at the moment: others hold the rest of the level.
    Idle,
    /// The search has ended.
    Done,
}

struct Level {
    depth: u32,
    vertices: Vec<u32>,
    dispatcher: MorselDispatcher,
}

/// A morsel at work.
struct Task {
    level: Arc<Level>,
    morsel: Morsel,
    /// The position being expanded.
    at: usize,
}

/// What one worker holds between turns.
#[derive(Default)]
struct Worker {
    task: Option<Task>,
    edge_cursor: usize,
    found: Vec<u32>,
    scratch: Vec<u32>,
    edge_scratch: EdgeScratch,
}

/// See the module's head.
pub struct SharedReach<A> {
    graph: A,
    hops: Hops,
    keep: Keep,
    policy: MorselPolicy,
    sources: Vec<u32>,
    sources_return: bool,
    visited: Vec<AtomicU64>,
    level: RwLock<Arc<Level>>,
    /// Vertices for the next level, as the morsels hand them in.
    handed_in: Mutex<Vec<Vec<u32>>>,
    workers: Vec<Mutex<Worker>>,
    returns: Mutex<Option<Returns>>,
    answers: Mutex<Answers>,
    levels_done: AtomicBool,
    returns_done: AtomicBool,
    ends_count: AtomicU64,
    worker_bytes: AtomicUsize,
}

#[derive(Default)]
struct Answers {
    levels: Vec<Arc<Level>>,
    returned: Vec<(u32, u32)>,
    level_at: usize,
    drained: usize,
}

impl<A: Adjacency> SharedReach<A> {
    /// As [`Reach::new`](crate::Reach::new), for workers numbered below `workers`.
    pub fn new(
        graph: A,
        sources: &[u32],
        hops: Hops,
        orientation: Orientation,
        keep: Keep,
        (workers, policy): (usize, MorselPolicy),
    ) -> Result<Self, PathError> {
        let hops = hops.checked_by_distance()?;
        let bound = graph.vertex_bound();
        let sources = checked_sources(sources, bound)?;
        let must_return = hops.min == 1 && hops.max > 0;
        let sources_return = must_return && orientation == Orientation::Directed;
        let closes = must_return && orientation == Orientation::Undirected && !sources.is_empty();
        let visited: Vec<AtomicU64> = (0..bound.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        if !sources_return {
            for &source in &sources {
                mark(&visited, source);
            }
        }
        let dispatcher = MorselDispatcher::new(sources.len(), policy);
        let level = Arc::new(Level { depth: 0, vertices: sources.clone(), dispatcher });
        let are_ends = hops.min == 0;
        let answers = Answers {
            levels: if are_ends { vec![Arc::clone(&level)] } else { Vec::new() },
            ..Answers::default()
        };
        Ok(SharedReach {
            ends_count: AtomicU64::new(if are_ends { sources.len() as u64 } else { 0 }),
            levels_done: AtomicBool::new(sources.is_empty() || hops.max == 0),
            returns_done: AtomicBool::new(!closes),
            returns: Mutex::new(closes.then(|| Returns::new(&sources, hops.max, keep == Keep::Levels))),
            level: RwLock::new(level),
            handed_in: Mutex::new(Vec::new()),
            workers: (0..workers.max(1)).map(|_| Mutex::default()).collect(),
            answers: Mutex::new(answers),
            worker_bytes: AtomicUsize::new(0),
            graph,
            hops,
            keep,
            policy,
            sources,
            sources_return,
            visited,
        })
    }

    /// One turn of one worker. Each number is used by one thread at a time; a worker that is already at work is `Idle`.
    pub fn work_on(&self, worker: usize, work: &mut Work<'_>) -> Result<Turn, PathError> {
        let Some(mut own) = self.workers[worker].try_lock() else { return Ok(Turn::Idle) };
        let turn = self.turn(&mut own, work);
        if self.graph.failure() { Err(PathError::GraphFailed) } else { turn }
    }

    fn turn(&self, own: &mut Worker, work: &mut Work<'_>) -> Result<Turn, PathError> {
        if let Some(turn) = self.work_on_returns(work)? {
            return Ok(turn);
        }
        loop {
            if work.is_over() {
                return Ok(if self.is_done() { Turn::Done } else { Turn::More });
            }
            if own.task.is_none() && !self.draw(own) {
                return Ok(if self.is_done() { Turn::Done } else { Turn::Idle });
            }
            self.expand(own, work);
        }
    }

    fn is_done(&self) -> bool {
        self.levels_done.load(Ordering::Acquire) && self.returns_done.load(Ordering::Acquire)
    }

    /// One worker at most looks for closed paths, while the others go on with the levels.
    fn work_on_returns(&self, work: &mut Work<'_>) -> Result<Option<Turn>, PathError> {
        if self.returns_done.load(Ordering::Acquire) {
            return Ok(None);
        }
        let Some(mut guard) = self.returns.try_lock() else { return Ok(None) };
        let Some(returns) = guard.as_mut() else { return Ok(None) };
        if returns.step(&self.graph, work)? == Progress::More {
            return Ok(Some(Turn::More));
        }
        let returned = returns.answers(&self.graph);
        self.ends_count.fetch_add(returned.len() as u64, Ordering::Relaxed);
        self.answers.lock().returned = returned;
        *guard = None;
        self.returns_done.store(true, Ordering::Release);
        Ok(None)
    }

    fn draw(&self, own: &mut Worker) -> bool {
        if self.levels_done.load(Ordering::Acquire) {
            return false;
        }
        let level = Arc::clone(&self.level.read());
        let Some(morsel) = level.dispatcher.draw() else { return false };
        own.task = Some(Task { at: morsel.positions.start, level, morsel });
        true
    }

    /// One piece of one vertex's list; at the end of the morsel hands in what was found.
    fn expand(&self, own: &mut Worker, work: &mut Work<'_>) {
        let Some(mut task) = own.task.take() else { return };
        let vertex = task.level.vertices[task.at];
        let is_again =
            self.sources_return && task.level.depth > 0 && self.sources.binary_search(&vertex).is_ok();
        if is_again || self.absorb(vertex, own, work) {
            own.edge_cursor = 0;
            task.at += 1;
        }
        if task.at < task.morsel.positions.end {
            own.task = Some(task);
            return;
        }
        if !own.found.is_empty() {
            self.worker_bytes.fetch_add(own.found.len() * 4, Ordering::Relaxed);
            self.handed_in.lock().push(std::mem::take(&mut own.found));
        }
        if task.level.dispatcher.finish(&task.morsel) {
            self.publish_next(&task.level);
        }
    }

    /// Whether the vertex's list is finished.
    fn absorb(&self, vertex: u32, own: &mut Worker, work: &mut Work<'_>) -> bool {
        let Worker { edge_cursor, found, scratch, edge_scratch, .. } = own;
        let asks_edges = self.graph.has_edge_predicate();
        let (neighbours, edges) = if asks_edges {
            self.graph.edges(vertex, edge_scratch)
        } else {
            (self.graph.neighbours(vertex, scratch), &[][..])
        };
        let end = *edge_cursor + work.piece(neighbours.len() - *edge_cursor);
        let before = found.len();
        if asks_edges {
            for at in *edge_cursor..end {
                let far = neighbours[at];
                if !is_marked(&self.visited, far) && self.graph.admits_edge(edges[at], vertex, far) {
                    found.push(far);
                }
            }
        } else {
            // As in `Found::absorb`: first what looks new, without a branch, then what is.
            found.resize(before + end - *edge_cursor, 0);
            let mut kept = before;
            for &far in &neighbours[*edge_cursor..end] {
                found[kept] = far;
                kept += !is_marked(&self.visited, far) as usize;
            }
            found.truncate(kept);
        }
        let mut kept = before;
        for at in before..found.len() {
            let far = found[at];
            if mark(&self.visited, far) && self.graph.admits_vertex(far) {
                found[kept] = far;
                kept += 1;
            }
        }
        found.truncate(kept);
        work.charge(end - *edge_cursor);
        *edge_cursor = end;
        end == neighbours.len()
    }

    /// Called by the worker that finished the level.
    fn publish_next(&self, level: &Level) {
        let parts = std::mem::take(&mut *self.handed_in.lock());
        let mut vertices = parts.concat();
        let bound = self.graph.vertex_bound();
        if vertices.len() <= ORDERED_MAX && is_dense(vertices.len(), bound) {
            put_in_order(&mut vertices, &mut Bitmap::new(bound));
        }
        self.worker_bytes.store(0, Ordering::Relaxed);
        self.ends_count.fetch_add(vertices.len() as u64, Ordering::Relaxed);
        let depth = level.depth + 1;
        let is_end = vertices.is_empty() || depth >= self.hops.max;
        let dispatcher = MorselDispatcher::new(vertices.len(), self.policy);
        let next = Arc::new(Level { depth, vertices, dispatcher });
        if self.keep != Keep::Count {
            self.answers.lock().levels.push(Arc::clone(&next));
        }
        if is_end {
            self.levels_done.store(true, Ordering::Release);
        } else {
            *self.level.write() = next;
        }
    }

    /// How many ends are known; all of them once the search is done.
    pub fn ends_count(&self) -> u64 {
        self.ends_count.load(Ordering::Relaxed)
    }

    /// As [`Reach::drain_ends`](crate::Reach::drain_ends), from any thread: each end goes to one caller.
    pub fn drain_ends(&self, ends: &mut Vec<u32>, distances: &mut Vec<u32>, count_max: usize) -> usize {
        if self.keep == Keep::Count {
            return 0;
        }
        let before = ends.len();
        let mut answers = self.answers.lock();
        while ends.len() - before < count_max {
            let Some(level) = answers.levels.get(answers.level_at) else { break };
            let start = answers.drained;
            let stop = level.vertices.len().min(start + count_max - (ends.len() - before));
            ends.extend_from_slice(&level.vertices[start..stop]);
            distances.resize(ends.len(), level.depth);
            let is_drained = stop == level.vertices.len();
            answers.drained = if is_drained { 0 } else { stop };
            answers.level_at += is_drained as usize;
        }
        while ends.len() - before < count_max {
            let Some((end, distance)) = answers.returned.pop() else { break };
            ends.push(end);
            distances.push(distance);
        }
        ends.len() - before
    }

    /// Bytes held, without the scratch of workers at work.
    pub fn bytes(&self) -> usize {
        let levels: usize =
            self.answers.lock().levels.iter().map(|level| level.vertices.capacity() * 4).sum();
        let current = if self.keep == Keep::Count { self.level.read().vertices.capacity() * 4 } else { 0 };
        let returns =
            self.returns.try_lock().and_then(|guard| guard.as_ref().map(Returns::bytes)).unwrap_or(0);
        self.visited.capacity() * 8 + levels + current + returns + self.worker_bytes.load(Ordering::Relaxed)
    }
}

/// Sets the bit of `vertex`; whether this call set it.
#[inline(always)]
fn mark(visited: &[AtomicU64], vertex: u32) -> bool {
    let bit = 1 << (vertex % 64);
    visited[vertex as usize / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0
}

#[inline(always)]
fn is_marked(visited: &[AtomicU64], vertex: u32) -> bool {
    visited[vertex as usize / 64].load(Ordering::Relaxed) >> (vertex % 64) & 1 == 1
}
