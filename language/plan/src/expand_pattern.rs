//! The operator for path patterns of several parts, conditions on rounds and on the whole path, and the shortest few of them.
//!
//! [`crate::algebra::ExpandPath`] does the plain runs, which the planner knows how to order and to turn; this one is written by the
//! languages where they know where to begin, and is run as it stands.

use crate::algebra::Plan;
use crate::expr::{Expr, Name, Var};
use crate::pattern::{PathMode, PatternVertex};
use crate::vars::Vars;
use model::Direction;

/// For each input row, the paths of a pattern from a bound vertex; with `into`, those to another.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpandPattern {
    /// Rows to extend.
    pub input: Plan,
    /// Bound vertex to start from.
    pub from: Var,
    /// Column of the far end: new, or bound with `into`.
    pub to: Var,
    /// Is `to` bound?
    pub into: bool,
    /// Parts from `from` to `to`.
    pub parts: Vec<PatternPart>,
    /// What may repeat along the whole path.
    pub mode: PathMode,
    /// Which paths between two ends are wanted.
    pub choice: PathChoice,
    /// New column: all edges in walking order.
    pub edges: Var,
    /// New column: a list of how often each part was gone through.
    pub rounds: Var,
    /// `edges` and `rounds` are written from `to` to `from` (the pattern is walked from its right end).
    pub reversed: bool,
    /// A condition on the whole path, over `from`, `to`, `edges`, `rounds` and the row: what fails it is not among those chosen.
    pub predicate: Option<Expr>,
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
    /// So many, the shortest first.
    Paths(u64),
    /// Those of the so many least lengths.
    Groups(u64),
}

impl ExpandPattern {
    /// Columns that it adds.
    pub fn makes(&self) -> Vec<Var> {
        vec![self.edges, self.rounds, self.to]
    }
    /// Variables that are bound inside only.
    pub fn local(&self) -> Vars {
        let part = |part: &PatternPart| -> Vars {
            let vertices = part.vertices.iter().map(|vertex| vertex.variable);
            vertices.chain(part.edges.iter().map(|edge| edge.variable)).collect()
        };
        let mut local: Vars = self.parts.iter().flat_map(part).collect();
        local.extend([self.edges, self.rounds]);
        local.extend((!self.into).then_some(self.to));
        local.retain(|var| *var != self.from && !(self.into && *var == self.to));
        local
    }
}
