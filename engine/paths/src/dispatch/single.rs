//! One source: a bit a vertex seen, and the frontier as a list, or from below as bits.
//!
//! Invariant: a vertex is in the list of the one level whose worker set its bit. From below each word of bits belongs to one worker,
//! so that nothing is locked. A vertex without a list can never be reached, and counts as seen from the first look on.

use super::ground::{Bits, Ground};
use super::levels::Levels;
use super::search::{Own, Part, Waiting};
use super::stage::{Kind, Stage, Task};
use super::trace::Trace;
use crate::adjacency::Adjacency;
use crate::answers::Answers;
use crate::direction::{Direction, SINGLE, Side};
use crate::frontier::{Bitmap, is_dense, put_in_order};
use crate::work::Work;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest level that is put into order: about half a millisecond of one worker's time.
const ORDERED_MAX: usize = 1 << 18;

pub(super) struct Single {
    pub(super) source: u32,
    /// Its position among the sources.
    number: u32,
    seen: Bits,
    /// The frontier as bits, at even and at odd depths, once a level was taken from below.
    frontiers: OnceLock<[Bits; 2]>,
    direction: Mutex<Direction>,
    /// Distances of found vertices, where paths are wanted.
    levels: Levels<AtomicU64>,
}

impl Single {
    pub(super) fn new<A: Adjacency>(ground: &Ground<A>, source: u32, number: u32) -> Single {
        let bound = ground.graph.vertex_bound();
        let seen = Bits::new(bound);
        if !ground.sources_return() {
            seen.insert::<false>(source);
        }
        let direction = Mutex::new(Direction::new(SINGLE, bound, ground.edges));
        let levels = Levels::new(seen.words().len());
        Single { source, number, seen, frontiers: OnceLock::new(), direction, levels }
    }

    pub(super) fn bytes(&self) -> usize {
        let frontiers = self.frontiers.get().map_or(0, |[even, odd]| even.bytes() + odd.bytes());
        self.seen.bytes() + frontiers + self.levels.bytes()
    }

    /// The level that only holds the source.
    pub(super) fn first(&self) -> Stage {
        Stage::new(Kind::Expand, 0, Arc::new(vec![self.source]), Arc::default(), 1)
    }

    pub(super) fn run<A: Adjacency>(
        &self,
        ground: &Ground<A>,
        task: &mut Task,
        own: &mut Own,
        work: &mut Work<'_>,
        answers: (&mut Answers, u64),
    ) {
        match (task.stage.kind, task.stage.is_shared()) {
            (Kind::Trace, _) => self.trace(ground, task, own, work, answers),
            (Kind::Gather, _) => self.gather(ground, task, own, work),
            (_, true) => self.expand::<true, A>(ground, task, own, work),
            (_, false) => self.expand::<false, A>(ground, task, own, work),
        }
    }

    fn expand<const SHARED: bool, A: Adjacency>(
        &self,
        ground: &Ground<A>,
        task: &mut Task,
        own: &mut Own,
        work: &mut Work<'_>,
    ) {
        let graph = &ground.graph;
        let stage = task.stage.clone();
        let returns = stage.depth > 0 && ground.sources_return();
        while !task.is_done() && !work.is_over() {
            let vertex = stage.list[task.at];
            if returns && vertex == self.source {
                task.next_position();
                continue;
            }
            if graph.has_edge_predicate() {
                self.expand_asking::<SHARED, A>(graph, vertex, task, own, work);
                continue;
            }
            let rest = &graph.neighbours(vertex, &mut own.scratch)[task.edge_cursor..];
            let piece = work.piece(rest.len());
            own.found.absorb(
                &rest[..piece],
                &mut &self.seen,
                |seen, far| seen.contains(far),
                |seen, far| seen.insert::<SHARED>(far) && graph.admits_vertex(far),
            );
            work.charge(piece);
            if piece == rest.len() {
                task.next_position();
            } else {
                task.edge_cursor += piece;
            }
        }
    }

    fn expand_asking<const SHARED: bool, A: Adjacency>(
        &self,
        graph: &A,
        vertex: u32,
        task: &mut Task,
        own: &mut Own,
        work: &mut Work<'_>,
    ) {
        let (neighbours, edges) = graph.edges(vertex, &mut own.edge_scratch);
        let piece = work.piece(neighbours.len() - task.edge_cursor);
        let range = task.edge_cursor..task.edge_cursor + piece;
        for (&far, &edge) in neighbours[range.clone()].iter().zip(&edges[range.clone()]) {
            let is_new = !self.seen.contains(far)
                && graph.admits_edge(edge, vertex, far)
                && self.seen.insert::<SHARED>(far)
                && graph.admits_vertex(far);
            if is_new {
                own.found.push(far);
            }
        }
        work.charge(piece);
        if range.end == neighbours.len() {
            task.next_position();
        } else {
            task.edge_cursor = range.end;
        }
    }

    fn gather<A: Adjacency>(&self, ground: &Ground<A>, task: &mut Task, own: &mut Own, work: &mut Work<'_>) {
        let (Some(against), Some(frontiers)) = (&ground.against, self.frontiers.get()) else {
            return task.at = task.morsel.positions.end;
        };
        let even = task.stage.depth as usize % 2;
        let (now, next) = (&frontiers[even], frontiers[1 - even].words());
        let (seen, bound) = (self.seen.words(), ground.graph.vertex_bound());
        while !task.is_done() && !work.is_over() {
            let at = task.at;
            let mut left = task.left.unwrap_or_else(|| {
                next[at].store(0, Ordering::Relaxed);
                !seen[at].load(Ordering::Relaxed) & in_bound(at, bound)
            });
            let (mut met, mut closed, mut tried) = (0_u64, 0_u64, 0);
            while left != 0 {
                let bit = left & left.wrapping_neg();
                let vertex = at as u32 * 64 + left.trailing_zeros();
                let rest = &against.neighbours(vertex, &mut own.scratch)[task.edge_cursor..];
                let piece = work.piece(rest.len());
                let parent = rest[..piece].iter().position(|near| now.contains(*near));
                tried += parent.map_or(piece, |at| at + 1);
                if parent.is_some() {
                    closed |= bit;
                    if ground.graph.admits_vertex(vertex) {
                        met |= bit;
                        own.found.push(vertex);
                    }
                } else if piece < rest.len() {
                    task.edge_cursor += piece;
                    break;
                } else if rest.is_empty() && task.edge_cursor == 0 {
                    closed |= bit;
                }
                task.edge_cursor = 0;
                left ^= bit;
            }
            work.charge(tried);
            seen[at].store(seen[at].load(Ordering::Relaxed) | closed, Ordering::Relaxed);
            next[at].store(next[at].load(Ordering::Relaxed) | met, Ordering::Relaxed);
            if left == 0 {
                task.next_position();
            } else {
                task.left = Some(left);
            }
        }
    }

    /// Notes the distance of these, which the stage found, where paths are wanted.
    pub(super) fn note<A>(&self, ground: &Ground<A>, stage: &Stage, found: &[u32])
    where
        A: Adjacency,
    {
        if !ground.traces() {
            return;
        }
        // Found from above by several workers, vertices of one word have several finders.
        let is_alone = stage.kind == Kind::Gather || !stage.is_shared();
        for vertex in found {
            let (word, bit) = (*vertex as usize / 64, 1 << (vertex % 64));
            match is_alone {
                true => self.levels.note::<false>(word, bit, stage.depth + 1),
                false => self.levels.note::<true>(word, bit, stage.depth + 1),
            }
        }
    }

    fn trace<A: Adjacency>(
        &self,
        ground: &Ground<A>,
        task: &mut Task,
        own: &mut Own,
        work: &mut Work<'_>,
        (answers, count_max): (&mut Answers, u64),
    ) {
        let stage = task.stage.clone();
        own.tracer.turn_to(self.number);
        let is_at = |vertex: u32, level: u32| match level {
            0 => vertex == self.source,
            _ => self.levels.at(vertex as usize / 64, 1 << (vertex % 64), level) != 0,
        };
        while !task.is_done() && !work.is_over() && answers.count() < count_max {
            let end = stage.list[task.at];
            match own.tracer.follow(ground, (0, end, stage.depth), is_at, work) {
                Trace::More => return,
                Trace::Lost => {}
                Trace::Whole => {
                    own.tracer.take(|vertices, edges| answers.push_path(self.number, end, vertices, edges));
                }
            }
            task.next_position();
        }
    }

    /// The next stage, given the results of the morsels; none at the end. Answers go to `waiting`.
    pub(super) fn next<A: Adjacency>(
        &self,
        ground: &Ground<A>,
        stage: &Stage,
        parts: Vec<Part>,
        waiting: &mut Waiting,
    ) -> Option<Stage> {
        if stage.kind == Kind::Return {
            return Some(self.first());
        }
        let edges: u64 = parts.iter().map(|part| part.edges).sum();
        let mut list = joined(parts, stage.kind == Kind::Gather);
        let depth = stage.depth + 1;
        let count = list.len();
        let (side, was_above) = {
            let mut direction = self.direction.lock();
            (direction.choose(count as u64, edges), stage.kind == Kind::Expand)
        };
        let bound = ground.graph.vertex_bound();
        let goes_on = count > 0 && depth < ground.hops.max;
        let below = goes_on && side == Side::Below && ground.against.is_some();
        if goes_on && !below && was_above && count <= ORDERED_MAX && is_dense(count, bound) {
            put_in_order(&mut list, &mut Bitmap::new(bound));
        }
        let list = Arc::new(list);
        if ground.traces() {
            // They follow one by one.
        } else if ground.lists_ends() {
            waiting.list(self.number, depth, &list);
        } else {
            waiting.tally(self.number, depth, count as u64);
        }
        if below && was_above {
            let frontiers = self.frontiers.get_or_init(|| [Bits::new(bound), Bits::new(bound)]);
            let now = &frontiers[depth as usize % 2];
            now.clear();
            list.iter().for_each(|vertex| {
                now.insert::<false>(*vertex);
            });
        }
        let (kind, positions) =
            if below { (Kind::Gather, self.seen.words().len()) } else { (Kind::Expand, count) };
        let then = goes_on.then_some((kind, positions));
        match then {
            _ if ground.traces() && count > 0 => {
                Some(Stage::tracing(depth, list, count, then).with_edges(edges))
            }
            Some((kind, positions)) => {
                Some(Stage::new(kind, depth, list, Arc::default(), positions).with_edges(edges))
            }
            None => None,
        }
    }

    /// Must the degrees of found vertices be summed for the next choice? Not after the last level: where the graph does not fit in memory, each degree
    /// may be a read of the disk.
    pub(super) fn asks_edges<A: Adjacency>(&self, ground: &Ground<A>, stage: &Stage) -> bool {
        ground.against.is_some() && stage.kind == Kind::Expand && stage.depth + 1 < ground.hops.max
    }
}

/// The bits of word `at` that stand for vertices.
pub(super) fn in_bound(at: usize, bound: u32) -> u64 {
    let over = (at as u64 + 1) * 64 - u64::from(bound).min((at as u64 + 1) * 64);
    u64::MAX.checked_shr(over as u32).unwrap_or(0)
}

/// The found vertices, in one list; where morsels are ranges of vertices, in their order.
pub(super) fn joined(mut parts: Vec<Part>, by_vertex: bool) -> Vec<u32> {
    parts.retain(|part| !part.found.is_empty());
    if by_vertex {
        parts.sort_unstable_by_key(|part| part.found[0]);
    }
    match parts.len() {
        1 => parts.remove(0).found,
        _ => {
            let mut list = Vec::with_capacity(parts.iter().map(|part| part.found.len()).sum());
            parts.iter().for_each(|part| list.extend_from_slice(&part.found));
            list
        }
    }
}
