//! Patterns: the content of a MATCH, as a graph without an order. The planner decides where to start and which way to walk.
//!
//! Inline property maps and WHERE become predicates. Which edges of one pattern are distinct (relationship uniqueness), each edge says; shortest
//! paths stand apart, as their own edges are distinct by nature, and so do walks, which may repeat edges.

use crate::expr::{Expr, LabelExpr, Name, Var};
use model::Direction;

/// The most edges of a run of at least two whose distinct ends are found without listing its trails.
pub const DISTINCT_TRAIL_HOPS_MAX: u32 = 8;

/// A pattern: vertices and edges to find, and their predicates.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Pattern {
    /// Vertices, each once; a variable already bound by the input is matched as it is.
    pub vertices: Vec<PatternVertex>,
    /// Edges between them.
    pub edges: Vec<PatternEdge>,
    /// Conditions over the variables of the pattern and of the input.
    pub predicates: Vec<Expr>,
}

/// A vertex of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternVertex {
    /// Its variable (named or not).
    pub variable: Var,
    /// Its labels.
    pub labels: LabelExpr,
}

/// An edge, or a run of edges, of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternEdge {
    /// Its variable: an edge, or for a run the list of edges in walking order from `from`.
    pub variable: Var,
    /// Left end as written.
    pub from: Var,
    /// Right end as written.
    pub to: Var,
    /// Admitted types; empty admits all.
    pub types: Vec<Name>,
    /// As seen from `from`.
    pub direction: Direction,
    /// `None` for a single edge.
    pub run: Option<Run>,
    /// It differs from the other edges of its pattern that have this number; `None`: from none, as in a walk.
    pub distinct_among: Option<u32>,
}

impl PatternEdge {
    /// Must the two differ, where they could be, or contain, the same edge? Shortest paths and walks stand apart from relationship uniqueness.
    pub fn must_differ(&self, other: &PatternEdge) -> bool {
        self.distinct_among == other.distinct_among && self.is_distinct() && other.is_distinct()
    }
    /// Must it differ from any other?
    pub fn is_distinct(&self) -> bool {
        let is_every = |run: &Run| run.selector == Selector::Every && run.mode != PathMode::Walk;
        self.distinct_among.is_some() && self.run.as_ref().is_none_or(is_every)
    }
}

/// A hint on the order in which a pattern is found.
#[derive(Clone, Debug, PartialEq)]
pub enum OrderHint {
    /// The vertex is looked up in the index on this label and these keys.
    Index(Var, Name, Vec<Name>),
    /// The vertex is found by a scan of this label.
    Scan(Var, Name),
    /// Two parts that share this vertex are found apart, and joined.
    Join(Var),
}

/// A run of edges: variable length or a shortest path.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Fewest edges.
    pub min: u32,
    /// Most edges; `None` for no bound.
    pub max: Option<u32>,
    /// Which of the runs between two ends count.
    pub selector: Selector,
    /// No repeated edge, unless the language says otherwise.
    pub mode: PathMode,
    /// A condition on every edge, spoken over this variable.
    pub edge_predicate: Option<(Var, Expr)>,
}

/// Which runs between two ends are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selector {
    /// Every one.
    Every,
    /// One of the shortest.
    AnyShortest,
    /// All of the shortest.
    AllShortest,
}

/// What must not repeat on a run. Parallel edges are different edges; the path without edges is of every mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathMode {
    /// Nothing: vertices and edges may repeat, so an undirected step may go back over the edge it came by.
    Walk,
    /// No edge twice; vertices may repeat.
    Trail,
    /// No vertex twice (and so no edge).
    Acyclic,
    /// No vertex twice, but the last may be the first, and there the run ends. No edge twice either: out and back over one
    /// undirected edge is not simple, out by one edge and back by a parallel one is.
    Simple,
}

/// A row of edges, repeated; one without edges is a single vertex, once.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternPart {
    /// Vertices of a round: one more than edges. Bound within `predicate` only.
    pub vertices: Vec<PatternVertex>,
    /// Edges of a round.
    pub edges: Vec<PartEdge>,
    /// Fewest rounds.
    pub min: u32,
    /// Most rounds; `None` for no bound.
    pub max: Option<u32>,
    /// A condition on each round, over its vertices and edges and the row.
    pub predicate: Option<Expr>,
}

/// An edge of a part.
#[derive(Clone, Debug, PartialEq)]
pub struct PartEdge {
    /// Bound within the part's predicate only.
    pub variable: Var,
    /// Admitted types; empty admits all.
    pub types: Vec<Name>,
    /// Seen from the vertex before it.
    pub direction: Direction,
}

/// Which of the paths between two ends are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathChoice {
    /// All.
    Every,
    /// This many, the shortest first.
    Paths(u64),
    /// All paths of this many least lengths.
    Groups(u64),
}
