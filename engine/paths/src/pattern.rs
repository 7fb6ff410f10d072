//! Every path that a pattern of several parts describes, or only the first few by length.
//!
//! A [`PathPattern`] is a sequence of parts, each a row of edges repeated a number of times, with conditions on vertices, on each repetition as a
//! whole (a *round*), and on the finished path. The plainer searches of this crate cover the plainer patterns; this one covers all the rest of
//! Cypher's and GQL's path patterns.
//!
//! Idea: the pattern is unrolled into an automaton ([`automaton`]). A breadth-first search over (vertex, state) finds how far each pair is
//! from the source ([`levels`]); paths are then listed backwards from each end, depth first, never leaving what the distances allow
//! ([`hunt`]). Where only the first k paths (or the paths of the first k lengths) count, the bound on the length grows one step at
//! a time, as in iterative deepening, until each end has enough; the first search runs only as far as the bound.
//! Invariant: distances ignore what may not repeat and conditions on longer rounds, so they are never too great: nothing is missed.
//! Cost: the first search visits each (vertex, state) once. The listing is exact on dead ends that distances show; what must not repeat
//! can make it exponential, as it is in the nature of the question.

mod automaton;
mod hunt;
mod levels;

pub use automaton::{PATTERN_STATES_MAX, Part, PathPattern};

use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::trails::PathMode;
use crate::work::{Progress, Work};
use hunt::{Hunt, Hunted};
use levels::Levels;

/// Conditions of a pattern, beyond which edges there are. Asked often: a caller may remember answers.
pub trait Conditions: Send + Sync {
    /// May this vertex stand at a place? Places are numbered through all parts; a part of `n` edges has `n + 1` places.
    fn admits_vertex(&self, place: usize, vertex: u32) -> bool;
    /// Does a round of a part satisfy its condition? Only called for parts that have one.
    fn admits_round(&self, part: usize, vertices: &[u32], edges: &[u64]) -> bool;
    /// Does a whole path count?
    fn admits_path(&self, path: &PatternPath) -> bool;
    /// Whether evaluating failed: the search stops with [`PathError::GraphFailed`] within one step.
    fn failure(&self) -> bool;
}

/// Which of the paths between two ends are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All.
    Every,
    /// So many, the shortest first.
    Paths(u64),
    /// All paths of this many least lengths.
    Groups(u64),
}

/// A path with how often it went through each part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PatternPath {
    /// From source to end.
    pub vertices: Vec<u32>,
    /// Between them.
    pub edges: Vec<u64>,
    /// Rounds of each part.
    pub rounds: Vec<u32>,
}

impl PatternPath {
    /// The last vertex.
    pub fn end(&self) -> u32 {
        self.vertices[self.vertices.len() - 1]
    }
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.vertices.capacity() * 4 + self.edges.capacity() * 8 + self.rounds.capacity() * 4
    }
}

/// The graph as each edge of a pattern sees it.
pub struct PatternGraph<A, C> {
    /// For each edge of the pattern, numbered through all parts: its adjacency, walked as the pattern is written.
    pub along: Vec<A>,
    /// Likewise, walked the other way.
    pub against: Vec<A>,
    /// The conditions.
    pub conditions: C,
}

impl<A: Adjacency, C: Conditions> PatternGraph<A, C> {
    fn failure(&self) -> bool {
        self.conditions.failure() || self.along.iter().chain(&self.against).any(|graph| graph.failure())
    }
}

/// An end whose paths are being listed.
struct End {
    vertex: u32,
    paths: u64,
    groups: u64,
    /// Was there a path within the present bound?
    has_new: bool,
    /// Length of the next paths, at least.
    bound: u32,
}

/// See the module's head.
pub struct PatternSearch<A, C> {
    graph: PatternGraph<A, C>,
    pattern: PathPattern,
    mode: PathMode,
    choice: Choice,
    target: Option<u32>,
    levels: Levels,
    /// Greatest length that is looked at now.
    bound: u32,
    /// Ends that have not enough yet; those from `at` on are yet to be looked at within the bound.
    ends: Vec<End>,
    at: usize,
    hunt: Hunt,
    hunting: bool,
    is_spread: bool,
    /// The target has enough.
    is_over: bool,
}

impl<A: Adjacency, C: Conditions> PatternSearch<A, C> {
    /// Paths from `source`, to `target` where one is given.
    pub fn new(
        graph: PatternGraph<A, C>,
        pattern: PathPattern,
        source: u32,
        target: Option<u32>,
        mode: PathMode,
        choice: Choice,
    ) -> Self {
        let levels = Levels::new(source);
        let bound = if choice == Choice::Every { u32::MAX } else { 0 };
        PatternSearch {
            graph,
            pattern,
            mode,
            choice,
            target,
            levels,
            bound,
            ends: Vec::new(),
            at: 0,
            hunt: Hunt::new(source),
            hunting: false,
            is_spread: false,
            is_over: false,
        }
    }

    /// The graph and conditions it was made with.
    pub fn graph(&self) -> &PatternGraph<A, C> {
        &self.graph
    }

    /// Appends paths until there are `rows_max`, or the work is over (`More`), or there are no more (`Done`).
    ///
    /// # Errors
    /// The graph or a condition failed.
    pub fn fill(
        &mut self,
        work: &mut Work<'_>,
        found: &mut Vec<PatternPath>,
        rows_max: usize,
    ) -> Result<Progress, PathError> {
        loop {
            if self.graph.failure() {
                return Err(PathError::GraphFailed);
            }
            if self.is_over {
                return Ok(Progress::Done);
            }
            if found.len() >= rows_max || work.is_over() {
                return Ok(Progress::More);
            }
            if !self.is_spread {
                self.spread(work);
            } else if let Some(end) = self.ends.get(self.at) {
                let vertex = end.vertex;
                self.look(vertex, work, found, rows_max)?;
            } else if !self.deepen() {
                return Ok(Progress::Done);
            }
        }
    }

    /// Lets the distances reach as far as the bound, and notes the ends met on the way.
    fn spread(&mut self, work: &mut Work<'_>) {
        let mut met = Vec::new();
        self.is_spread = self.levels.spread(&self.graph, &self.pattern, self.bound, work, &mut met);
        let wanted = met.into_iter().filter(|(vertex, _)| self.target.is_none_or(|target| target == *vertex));
        self.ends.extend(wanted.map(|(vertex, bound)| End {
            vertex,
            paths: 0,
            groups: 0,
            has_new: false,
            bound,
        }));
    }

    /// Lists paths to the end at `self.at`.
    fn look(
        &mut self,
        vertex: u32,
        work: &mut Work<'_>,
        found: &mut Vec<PatternPath>,
        rows_max: usize,
    ) -> Result<(), PathError> {
        let (bound, choice) = (self.bound, self.choice);
        if !self.hunting && self.ends[self.at].bound > bound {
            self.at += 1;
            return Ok(());
        }
        if !self.hunting {
            self.hunt.begin(vertex, bound, &self.pattern);
            self.hunting = true;
        }
        while found.len() < rows_max && !work.is_over() {
            match self.hunt.next(&self.graph, &self.pattern, &self.levels, self.mode, work)? {
                Hunted::More => {}
                Hunted::Path(path) => {
                    // A shorter one was met when the bound was at its length.
                    let is_new = choice == Choice::Every || path.edges.len() as u64 == bound as u64;
                    if is_new && self.graph.conditions.admits_path(&path) {
                        found.push(path);
                        let end = &mut self.ends[self.at];
                        (end.paths, end.has_new) = (end.paths + 1, true);
                        if matches!(choice, Choice::Paths(wanted) if end.paths >= wanted) {
                            self.finish_end(None);
                            break;
                        }
                    }
                }
                Hunted::End(next) => {
                    self.finish_end(next);
                    break;
                }
            }
        }
        Ok(())
    }

    /// The paths to an end within the bound are listed; `next` is the least length beyond it, if there is any.
    fn finish_end(&mut self, next: Option<u32>) {
        self.hunting = false;
        let end = &mut self.ends[self.at];
        end.groups += u64::from(std::mem::take(&mut end.has_new));
        let has_enough = match self.choice {
            Choice::Every => true,
            Choice::Paths(wanted) => end.paths >= wanted,
            Choice::Groups(wanted) => end.groups >= wanted,
        };
        self.is_over = has_enough && self.target.is_some();
        match next.filter(|_| !has_enough) {
            Some(next) => {
                end.bound = next.max(self.bound + 1);
                self.at += 1;
            }
            None => drop(self.ends.swap_remove(self.at)),
        }
    }

    /// Raises the bound; false where nothing can be left.
    fn deepen(&mut self) -> bool {
        self.at = 0;
        if self.levels.is_finished() {
            let Some(next) = self.ends.iter().map(|end| end.bound).min() else { return false };
            self.bound = next;
        } else {
            self.bound += 1;
            self.is_spread = false;
        }
        true
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.levels.bytes()
            + self.hunt.bytes()
            + self.ends.capacity() * size_of::<End>()
            + self.pattern.bytes()
    }
}
