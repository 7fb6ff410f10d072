//! The core of a pattern, bound one vertex at a time: a worst-case optimal join that only adds up.
//!
//! Candidates of a vertex are those in the lists of all vertices that it is joined with. The list of the vertex bound last is walked and
//! the others, which change less often, are tables to look into; where the walked list is much longer than another, that one is walked
//! and the long one searched, so a candidate costs no more than the shortest list. Each level keeps its candidates with the product
//! so far; the last level only adds up. The walk can stop anywhere when its budget is used up, and goes on from there.

use super::lists::{Lists, Marks};
use super::trees::{KnownWays, Trees};
use crate::access::Environment;
use crate::labels::LabelCheck;
use crate::turn::Try;
use model::{EdgeId, VertexId};
use plan::Var;
use plan::algebra::{CountArm, CountMatches, CountStep};
use std::sync::Arc;
use store::Snapshot;

/// The walked list may be this much longer than another before that one is walked instead: a search costs as much as some looks.
const LONGER_MAX: usize = 16;

/// An edge from a vertex bound before.
struct Arm {
    /// Its index among the bound vertices.
    other: usize,
    lists: Lists,
    unlike: Vec<(usize, usize)>,
    has_direction: bool,
    outgoing: bool,
    marks: Marks,
}

impl Arm {
    /// How many of the earlier edges that this one must not be lie between these ends?
    fn taken(&self, values: &[u32], vertex: u32) -> u64 {
        let far = values[self.other];
        let (source, target) = if self.outgoing { (far, vertex) } else { (vertex, far) };
        let is_here = |(a, b): &&(usize, usize)| {
            let (a, b) = (values[*a], values[*b]);
            (a, b) == (source, target) || !self.has_direction && (b, a) == (source, target)
        };
        self.unlike.iter().filter(is_here).count() as u64
    }
}

/// One vertex to bind, and its candidates.
struct Level {
    arms: Vec<Arm>,
    absent: Vec<Arm>,
    differs: Vec<usize>,
    labels: LabelCheck,
    trees: Vec<usize>,
    candidates: Vec<(u32, u64)>,
    /// How many candidates have been taken.
    taken: usize,
    /// Position in the list that is walked.
    cursor: usize,
    scratch: Vec<u32>,
}

/// Where the walk is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// Nothing was done for this row.
    Begin,
    /// Finding candidates of this level.
    Gather(usize),
    /// Taking the next candidate of this level.
    Next(usize),
}

/// The whole pattern.
pub(super) struct Core {
    levels: Vec<Level>,
    trees: Trees,
    start_trees: Vec<usize>,
    snapshot: Snapshot,
    /// Bound vertices, the start first.
    values: Vec<u32>,
    /// Product of everything before each level.
    products: Vec<u64>,
    total: u64,
    at: At,
    found: Vec<EdgeId>,
}

impl Core {
    pub fn new(
        node: &CountMatches,
        snapshot: &Snapshot,
        environment: &Arc<Environment>,
        known: Arc<KnownWays>,
    ) -> Core {
        let mut trees = Trees::new(snapshot.clone(), known);
        let start_trees = trees.add(&node.trees, environment);
        let order: Vec<Var> =
            std::iter::once(node.start).chain(node.steps.iter().map(|step| step.vertex)).collect();
        let level = |step: &CountStep| Level::new(step, &order, snapshot, environment, &mut trees);
        let levels: Vec<Level> = node.steps.iter().map(level).collect();
        let depth = levels.len() + 1;
        Core {
            levels,
            trees,
            start_trees,
            snapshot: snapshot.clone(),
            values: vec![0; depth],
            products: vec![0; depth],
            total: 0,
            at: At::Begin,
            found: Vec::new(),
        }
    }

    /// Ways to go on from `start`; none if the budget ran out: then it is called again with the same vertex.
    pub fn ways(&mut self, start: u32, budget: &mut i64) -> Try<Option<u64>> {
        loop {
            match self.at {
                At::Begin => {
                    let Some(ways) = self.trees.product(&self.start_trees, start, budget)? else {
                        return Ok(None);
                    };
                    if self.levels.is_empty() || ways == 0 {
                        return Ok(Some(ways));
                    }
                    (self.values[0], self.products[0], self.total) = (start, ways, 0);
                    self.open(0);
                }
                At::Gather(level) => {
                    if !self.gather(level, budget)? {
                        return Ok(None);
                    }
                    self.at = if level + 1 < self.levels.len() { At::Next(level) } else { self.above(level) };
                }
                At::Next(level) => match self.levels[level].next() {
                    Some((vertex, ways)) => {
                        self.values[level + 1] = vertex;
                        self.products[level + 1] = ways;
                        self.open(level + 1);
                    }
                    None => self.at = self.above(level),
                },
            }
            // Above the first level there is nothing left.
            if self.at == At::Begin {
                return Ok(Some(self.total));
            }
        }
    }

    fn above(&self, level: usize) -> At {
        if level == 0 { At::Begin } else { At::Next(level - 1) }
    }
    fn open(&mut self, level: usize) {
        let opened = &mut self.levels[level];
        opened.candidates.clear();
        (opened.taken, opened.cursor) = (0, 0);
        self.at = At::Gather(level);
    }

    /// Finds the candidates of a level, or adds them up if it is the last; false if the budget ran out.
    fn gather(&mut self, at: usize, budget: &mut i64) -> Try<bool> {
        let last = at + 1 == self.levels.len();
        let product = self.products[at];
        let level = &mut self.levels[at];
        let mut scratch = std::mem::take(&mut level.scratch);
        for arm in level.arms.iter_mut().skip(1).chain(&mut level.absent) {
            *budget -= arm.marks.hold(self.values[arm.other], &arm.lists, &mut scratch)? as i64;
        }
        let (first, _) = level.arms.split_first().expect("a step has an arm");
        let list = first.lists.of(self.values[first.other], &mut scratch)?;
        let shortest = level.arms[1..].iter().min_by_key(|arm| arm.marks.distinct.len());
        let shorter = shortest.filter(|arm| arm.marks.distinct.len() * LONGER_MAX < list.len());
        // Parallel edges stand in a list as often as there are; where some are taken, those to one vertex are counted together.
        let together = shorter.is_none() && !first.unlike.is_empty();
        let mut sorted = Vec::new();
        let walked = match shorter {
            Some(arm) => arm.marks.distinct.as_slice(),
            None if together && !list.is_sorted() => {
                sorted.extend_from_slice(list);
                sorted.sort_unstable();
                &sorted
            }
            None => list,
        };
        let mut walk = Walk {
            arms: &level.arms,
            absent: &level.absent,
            differs: &level.differs,
            labels: &mut level.labels,
            trees: &level.trees,
            kept: &mut self.trees,
            values: &mut self.values,
            slot: at + 1,
            snapshot: &self.snapshot,
            found: &mut self.found,
            searched: shorter.is_some(),
        };
        let mut done = true;
        while let Some(vertex) = walked.get(level.cursor) {
            if *budget <= 0 {
                done = false;
                break;
            }
            *budget -= 1;
            let same = |other: &&u32| *other == vertex;
            let edges = if together { walked[level.cursor..].iter().take_while(same).count() } else { 1 };
            let Some(ways) = walk.ways(*vertex, together.then_some(edges as u64), budget)? else {
                done = false;
                break;
            };
            level.cursor += edges;
            if ways > 0 && last {
                self.total = self.total.saturating_add(product.saturating_mul(ways));
            } else if ways > 0 {
                level.candidates.push((*vertex, product.saturating_mul(ways)));
            }
        }
        level.scratch = scratch;
        Ok(done)
    }

    pub fn bytes(&self) -> usize {
        let marks = |level: &Level| {
            let all = level.arms.iter().chain(&level.absent).map(|arm| arm.marks.bytes()).sum::<usize>();
            all + level.candidates.capacity() * size_of::<(u32, u64)>()
        };
        self.trees.bytes() + self.levels.iter().map(marks).sum::<usize>()
    }
}

impl Level {
    fn new(
        step: &CountStep,
        order: &[Var],
        snapshot: &Snapshot,
        environment: &Arc<Environment>,
        trees: &mut Trees,
    ) -> Level {
        let place = |var: Var| order.iter().position(|known| *known == var).unwrap_or(0);
        let arm = |arm: &CountArm| Arm {
            other: place(arm.other),
            lists: Lists::new(&arm.types, arm.direction, snapshot, environment),
            unlike: arm.unlike.iter().map(|(a, b)| (place(*a), place(*b))).collect(),
            has_direction: arm.direction != model::Direction::Both,
            outgoing: arm.direction != model::Direction::In,
            marks: Marks::default(),
        };
        let labels = LabelCheck::new(&step.labels, snapshot);
        environment.record(|reads| labels.record(reads));
        Level {
            arms: step.arms.iter().map(arm).collect(),
            absent: step.absent.iter().map(arm).collect(),
            differs: step.differs.iter().map(|var| place(*var)).collect(),
            labels,
            trees: trees.add(&step.trees, environment),
            candidates: Vec::new(),
            taken: 0,
            cursor: 0,
            scratch: Vec::new(),
        }
    }
    fn next(&mut self) -> Option<(u32, u64)> {
        let next = self.candidates.get(self.taken).copied();
        self.taken += 1;
        next
    }
}

/// The tests of a candidate.
struct Walk<'a> {
    arms: &'a [Arm],
    absent: &'a [Arm],
    differs: &'a [usize],
    labels: &'a mut LabelCheck,
    trees: &'a [usize],
    kept: &'a mut Trees,
    values: &'a mut [u32],
    slot: usize,
    snapshot: &'a Snapshot,
    found: &'a mut Vec<EdgeId>,
    /// Are the edges of the first arm found by search, as each vertex is walked once?
    searched: bool,
}

impl Walk<'_> {
    /// Ways to bind this vertex, times the trees on it; none if the budget ran out. `edges` are those of the first arm, where they are counted
    /// together and some may be used already.
    #[inline]
    fn ways(&mut self, vertex: u32, edges: Option<u64>, budget: &mut i64) -> Try<Option<u64>> {
        if self.differs.iter().any(|other| self.values[*other] == vertex)
            || self.absent.iter().any(|arm| arm.marks.times(vertex) > 0)
        {
            return Ok(Some(0));
        }
        self.values[self.slot] = vertex;
        let mut ways = 1_u64;
        for arm in &self.arms[1..] {
            let times = arm.marks.times(vertex);
            let taken = if arm.unlike.is_empty() { 0 } else { arm.taken(self.values, vertex) };
            ways = ways.saturating_mul(times.saturating_sub(taken));
            if ways == 0 {
                return Ok(Some(0));
            }
        }
        if !self.labels.admits_end(VertexId::from_dense(vertex), self.snapshot)? {
            return Ok(Some(0));
        }
        let first = &self.arms[0];
        let times = match self.searched {
            true => Some(first.lists.between(self.values[first.other], vertex, self.found)?),
            false => edges,
        };
        if let Some(times) = times {
            ways = ways.saturating_mul(times.saturating_sub(first.taken(self.values, vertex)));
        }
        if ways == 0 || self.trees.is_empty() {
            return Ok(Some(ways));
        }
        let trees = self.kept.product(self.trees, vertex, budget)?;
        Ok(trees.map(|more| ways.saturating_mul(more)))
    }
}
