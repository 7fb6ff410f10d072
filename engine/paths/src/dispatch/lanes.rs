//! Up to 64 sources in one search: a bit a source, a word a vertex, a byte where there are up to eight.
//!
//! Idea: searches that meet at a vertex on the same level cross its edges together, once (Then et al., "The more the merrier: efficient
//! multi-source graph traversal"; the paper's nTkMS). Where a level holds a good part of all edges, each vertex that some lane has not
//! seen gathers its lanes from below instead, and stops when it has all.
//! Invariant: at depth `d` the words of `frontiers[d % 2]` hold the lanes that reached a vertex at `d`, those of the other what is
//! reached from there; `seen` holds all before `d`, and `d` once that level is settled. Words of no vertex in the frontier are empty.
//! Cost: an edge once a level and set of lanes, at best once for all; three words a vertex touched.

use super::ground::Ground;
use super::levels::Levels;
use super::policy::LANES_MAX;
use super::search::{Own, Part, Waiting};
use super::single::{in_bound, joined};
use super::stage::{Kind, Stage, Task};
use super::trace::Trace;
use super::words::Word;
use crate::adjacency::Adjacency;
use crate::answers::Answers;
use crate::direction::{Direction, LANES, Side};
use crate::frontier::{Bitmap, is_dense, put_in_order};
use crate::work::Work;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The largest level that is put into order: some two milliseconds.
const ORDERED_MAX: usize = 1 << 20;

/// Levels of more vertices are judged by one vertex in so many.
const SUMMED_MAX: usize = 4096;
const SAMPLED_SHARE: usize = 16;
/// Looks for a lane's ends in a level that cost as much as an edge.
const LOOKS_PER_EDGE: usize = 4;

pub(super) struct Lanes<W: Word> {
    pub(super) sources: Vec<u32>,
    /// Position of the first among all sources.
    first: u32,
    all: u64,
    is_source: Bitmap,
    seen: Vec<W>,
    frontiers: [Vec<W>; 2],
    direction: Mutex<Direction>,
    /// How far what was found is, where paths are asked for.
    levels: Levels<W>,
    /// The last level was empty: so are the words of both frontiers.
    is_clean: AtomicBool,
    /// The vertices whose words of `seen` may not be empty.
    touched: Mutex<TouchedLevels>,
}

/// The levels of a search, while they are few vertices: their words are cleared one by one then.
#[derive(Default)]
struct TouchedLevels {
    levels: Vec<Arc<Vec<u32>>>,
    count: usize,
    /// Levels are not listed any more.
    is_many: bool,
}

/// A search that touched one vertex in fewer than this many clears the words of all.
const TOUCHED_PART: usize = 8;

impl TouchedLevels {
    /// Notes a level of a graph with so many vertices.
    fn note(&mut self, level: &Arc<Vec<u32>>, vertices: usize) {
        self.count += level.len();
        if self.count > vertices / TOUCHED_PART {
            self.note_all();
        }
        if !self.is_many {
            self.levels.push(level.clone());
        }
    }
    /// Any vertex may be touched.
    fn note_all(&mut self) {
        self.is_many = true;
        self.levels.clear();
    }
}

impl<W: Word> Lanes<W> {
    pub(super) fn new<A: Adjacency>(ground: &Ground<A>, sources: &[u32], first: u32) -> Lanes<W> {
        debug_assert!(sources.len() <= W::LANES && !sources.is_empty());
        let bound = ground.graph.vertex_bound();
        let mut is_source = Bitmap::new(bound);
        let words = || W::spare().take(bound as usize);
        let frontiers = [words(), words()];
        for (lane, source) in sources.iter().enumerate() {
            is_source.insert(*source);
            frontiers[0][*source as usize].merge::<false>(1 << lane);
        }
        Lanes {
            sources: sources.to_vec(),
            first,
            all: u64::MAX >> (LANES_MAX - sources.len()),
            is_source,
            seen: words(),
            frontiers,
            direction: Mutex::new(Direction::new(LANES, bound, ground.edges)),
            levels: Levels::new(bound as usize),
            is_clean: AtomicBool::new(false),
            touched: Mutex::default(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let [even, odd] = &self.frontiers;
        let words = self.seen.capacity() + even.capacity() + odd.capacity();
        let listed = self.seen.len() / TOUCHED_PART * size_of::<u32>();
        self.is_source.bytes() + words * size_of::<W>() + self.levels.bytes() + listed
    }

    /// The sources are the level at depth 0.
    pub(super) fn first(&self) -> Stage {
        let mut list = self.sources.clone();
        list.sort_unstable();
        list.dedup();
        let (count, list) = (list.len(), Arc::new(list));
        self.touched.lock().note(&list, self.seen.len());
        Stage::new(Kind::Settle, 0, list, Arc::default(), count)
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
            (Kind::Settle, _) => self.settle(ground, task, own, work, answers),
            (Kind::Gather, _) => self.gather(ground, task, own, work),
            (Kind::Trace, _) => self.trace(ground, task, own, work, answers),
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
        let stage = task.stage.clone();
        let even = stage.depth as usize % 2;
        let (now, next) = (&self.frontiers[even], &self.frontiers[1 - even]);
        while !task.is_done() && !work.is_over() {
            let vertex = stage.list[task.at];
            let lanes = now[vertex as usize].get();
            if lanes == 0 {
                task.next_position();
                continue;
            }
            let rest = &ground.graph.neighbours(vertex, &mut own.scratch)[task.edge_cursor..];
            let piece = work.piece(rest.len());
            for far in &rest[..piece] {
                let at = *far as usize;
                let new = lanes & !self.seen[at].get();
                if new & !next[at].get() != 0 && next[at].merge::<SHARED>(new) == 0 {
                    own.found.push(*far);
                }
            }
            work.charge(piece);
            if piece == rest.len() {
                task.next_position();
            } else {
                task.edge_cursor += piece;
            }
        }
    }

    fn gather<A: Adjacency>(&self, ground: &Ground<A>, task: &mut Task, own: &mut Own, work: &mut Work<'_>) {
        let Some(against) = &ground.against else { return task.at = task.morsel.positions.end };
        let even = task.stage.depth as usize % 2;
        let (now, next) = (&self.frontiers[even], &self.frontiers[1 - even]);
        while !task.is_done() && !work.is_over() {
            let mut left = task.left.unwrap_or_else(|| in_bound(task.at, ground.graph.vertex_bound()));
            let mut tried = 0;
            while left != 0 {
                let vertex = task.at as u32 * 64 + left.trailing_zeros();
                let at = vertex as usize;
                let wanted = self.all & !self.seen[at].get();
                if wanted != 0 {
                    let rest = &against.neighbours(vertex, &mut own.scratch)[task.edge_cursor..];
                    let piece = work.piece(rest.len());
                    let before = if task.edge_cursor > 0 { next[at].get() } else { 0 };
                    let mut lanes = before;
                    for near in &rest[..piece] {
                        tried += 1;
                        lanes |= now[*near as usize].get() & wanted;
                        if lanes == wanted {
                            break;
                        }
                    }
                    if lanes != before {
                        next[at].put(lanes);
                        if before == 0 {
                            own.found.push(vertex);
                        }
                    }
                    if lanes != wanted && piece < rest.len() {
                        task.edge_cursor += piece;
                        break;
                    }
                    if rest.is_empty() && task.edge_cursor == 0 {
                        self.seen[at].put(self.all);
                    }
                    task.edge_cursor = 0;
                }
                left &= left - 1;
            }
            work.charge(tried);
            if left == 0 {
                task.next_position();
            } else {
                task.left = Some(left);
            }
        }
    }

    /// Turns what was touched into a level and its answers, and forgets the level before.
    fn settle<A: Adjacency>(
        &self,
        ground: &Ground<A>,
        task: &mut Task,
        own: &mut Own,
        work: &mut Work<'_>,
        (answers, count_max): (&mut Answers, u64),
    ) {
        let stage = task.stage.clone();
        let even = stage.depth as usize % 2;
        let (now, last) = (&self.frontiers[even], &self.frontiers[1 - even]);
        let (is_start, returns) = (stage.depth == 0, ground.sources_return());
        let are_ends = !is_start || ground.hops.min == 0;
        let sums = ground.against.is_some() && stage.depth < ground.hops.max;
        let traces = ground.traces() && !is_start;
        let lists = ground.lists_ends() && !traces;
        // The edges of a large level are judged by some of its vertices.
        let sampled = if stage.list.len() > SUMMED_MAX { SAMPLED_SHARE } else { 1 };
        let mut held = answers.count();
        while !task.is_done() && !work.is_over() && held < count_max {
            let at = task.at;
            task.next_position();
            let Some(&vertex) = stage.list.get(at) else {
                last[stage.old[at - stage.list.len()] as usize].put(0);
                continue;
            };
            work.charge(0);
            let mut lanes = now[vertex as usize].get();
            // A source that will be met again is not seen yet.
            if !(is_start && returns) {
                self.seen[vertex as usize].merge::<false>(lanes);
            }
            if !is_start && !ground.graph.admits_vertex(vertex) {
                now[vertex as usize].put(0);
                continue;
            }
            if traces {
                self.levels.note::<false>(vertex as usize, lanes, stage.depth);
            } else if are_ends && lists {
                held += u64::from(lanes.count_ones());
                own.buckets.push(lanes, vertex);
            } else if are_ends {
                own.tallies.push(lanes);
            }
            if returns && !is_start && self.is_source.contains(vertex) {
                lanes &= !self.lanes_of(vertex);
                now[vertex as usize].put(lanes);
            }
            if sums && at.is_multiple_of(sampled) {
                own.edges += sampled as u64 * u64::from(ground.graph.degree(vertex));
            }
        }
        if lists {
            own.buckets.flush(self.first, stage.depth, answers);
        }
    }

    /// One lane after another goes through the level.
    fn trace<A: Adjacency>(
        &self,
        ground: &Ground<A>,
        task: &mut Task,
        own: &mut Own,
        work: &mut Work<'_>,
        (answers, count_max): (&mut Answers, u64),
    ) {
        let stage = task.stage.clone();
        own.tracer.turn_to(self.first);
        while !task.is_done() && !work.is_over() && answers.count() < count_max {
            let (lane, bit) = (task.at as u32, 1_u64 << task.at);
            let source = self.sources[task.at];
            let is_at = |vertex: u32, level: u32| match level {
                0 => vertex == source,
                _ => self.levels.at(vertex as usize, bit, level) != 0,
            };
            let rest = &stage.list[task.edge_cursor..];
            let piece = work.piece(rest.len());
            let passed = rest[..piece].iter().position(|vertex| is_at(*vertex, stage.depth));
            let Some(passed) = passed else {
                task.edge_cursor += piece;
                work.charge(piece / LOOKS_PER_EDGE);
                if task.edge_cursor == stage.list.len() {
                    task.next_position();
                }
                continue;
            };
            let end = rest[passed];
            task.edge_cursor += passed;
            work.charge(passed / LOOKS_PER_EDGE);
            match own.tracer.follow(ground, (lane, end, stage.depth), is_at, work) {
                Trace::More => return,
                Trace::Lost => {}
                Trace::Whole => {
                    let number = self.first + lane;
                    own.tracer.take(|vertices, edges| answers.push_path(number, end, vertices, edges));
                }
            }
            task.edge_cursor += 1;
        }
    }

    fn lanes_of(&self, vertex: u32) -> u64 {
        let is_source = |lane: &usize| self.sources[*lane] == vertex;
        (0..self.sources.len()).filter(is_source).fold(0, |of, lane| of | 1 << lane)
    }

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
        if stage.kind != Kind::Settle {
            let mut list = joined(parts, stage.kind == Kind::Gather);
            let bound = ground.graph.vertex_bound();
            if stage.kind == Kind::Expand && list.len() <= ORDERED_MAX && is_dense(list.len(), bound) {
                put_in_order(&mut list, &mut Bitmap::new(bound));
            }
            let (count, list) = (list.len() + stage.list.len(), Arc::new(list));
            self.touched.lock().note(&list, self.seen.len());
            return Some(Stage::new(Kind::Settle, stage.depth + 1, list, stage.list.clone(), count));
        }
        let edges: u64 = parts.iter().map(|part| part.edges).sum();
        // One run a lane, however many morsels counted.
        for lane in 0..self.sources.len() {
            let count = parts.iter().map(|part| part.tallies.get(lane).copied().unwrap_or(0)).sum();
            waiting.tally(self.first + lane as u32, stage.depth, count);
        }
        let count = stage.list.len();
        let traces = ground.traces() && stage.depth > 0;
        self.is_clean.store(count == 0, Ordering::Relaxed);
        if count == 0 || (stage.depth >= ground.hops.max && !traces) {
            return None;
        }
        let side = self.direction.lock().choose_among_all(count as u64, edges);
        let goes_on = stage.depth < ground.hops.max;
        let below = side == Side::Below && ground.against.is_some();
        let (kind, positions) =
            if below { (Kind::Gather, self.seen.len().div_ceil(64)) } else { (Kind::Expand, count) };
        if kind == Kind::Gather {
            // It marks vertices that nothing can reach.
            self.touched.lock().note_all();
        }
        let list = stage.list.clone();
        if traces {
            let then = goes_on.then_some((kind, positions));
            return Some(Stage::tracing(stage.depth, list, self.sources.len(), then).with_edges(edges));
        }
        Some(Stage::new(kind, stage.depth, list, Arc::default(), positions).with_edges(edges))
    }
}

impl<W: Word> Drop for Lanes<W> {
    fn drop(&mut self) {
        let is_clean = *self.is_clean.get_mut();
        for words in std::mem::take(&mut self.frontiers) {
            debug_assert!(!is_clean || words.iter().all(|word| word.get() == 0));
            match is_clean {
                true => W::spare().give(words),
                false => W::spare().give_used(words),
            }
        }
        let (mut seen, touched) = (std::mem::take(&mut self.seen), self.touched.get_mut());
        if touched.is_many {
            return W::spare().give_used(seen);
        }
        touched
            .levels
            .iter()
            .flat_map(|level| level.iter())
            .for_each(|vertex| seen[*vertex as usize].clear());
        debug_assert!(seen.iter().all(|word| word.get() == 0), "what was touched is listed");
        W::spare().give(seen);
    }
}

/// Ends by lane, until they are answered.
#[derive(Default)]
pub(super) struct Buckets {
    lanes: Vec<Vec<u32>>,
    filled: u64,
}

impl Buckets {
    #[inline(always)]
    fn push(&mut self, mut lanes: u64, vertex: u32) {
        if self.lanes.is_empty() {
            self.lanes.resize_with(LANES_MAX, Vec::new);
        }
        self.filled |= lanes;
        while lanes != 0 {
            self.lanes[lanes.trailing_zeros() as usize].push(vertex);
            lanes &= lanes - 1;
        }
    }
    fn flush(&mut self, first: u32, distance: u32, answers: &mut Answers) {
        while self.filled != 0 {
            let lane = self.filled.trailing_zeros();
            self.filled &= self.filled - 1;
            answers.push(first + lane, distance, &self.lanes[lane as usize]);
            self.lanes[lane as usize].clear();
        }
    }
}

/// Ends counted by lane.
///
/// A word is added to all its lanes' counters at once: bit `8 i + j` counts in byte `i` of `bytes[j]`, until a byte might overflow.
#[derive(Default)]
pub(super) struct Tallies {
    bytes: [u64; 8],
    added: u32,
    counts: Vec<u64>,
}

impl Tallies {
    const BYTE_MAX: u32 = 255;
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;

    #[inline(always)]
    fn push(&mut self, lanes: u64) {
        for (shift, counters) in self.bytes.iter_mut().enumerate() {
            *counters += lanes >> shift & Self::LOW_BITS;
        }
        self.added += 1;
        if self.added == Self::BYTE_MAX {
            self.carry();
        }
    }
    fn carry(&mut self) {
        self.counts.resize(LANES_MAX, 0);
        for (lane, count) in self.counts.iter_mut().enumerate() {
            *count += self.bytes[lane % 8] >> (lane / 8 * 8) & 0xFF;
        }
        (self.bytes, self.added) = ([0; 8], 0);
    }
    pub(super) fn take(&mut self) -> Vec<u64> {
        if self.added > 0 {
            self.carry();
        }
        std::mem::take(&mut self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    #[test]
    fn lanes_are_counted_as_one_by_one() {
        let mut chance = Chance::seeded(6);
        for words in [0, 1, 254, 255, 256, 1000] {
            let (mut tallies, mut twin) = (Tallies::default(), vec![0; LANES_MAX]);
            for _ in 0..words {
                let lanes = chance.next_u64() | chance.next_u64();
                tallies.push(lanes);
                twin.iter_mut().enumerate().for_each(|(lane, count)| *count += lanes >> lane & 1);
            }
            let counted = tallies.take();
            assert_eq!(if counted.is_empty() { vec![0; LANES_MAX] } else { counted }, twin, "{words} words");
            assert!(tallies.take().is_empty());
        }
    }
}
