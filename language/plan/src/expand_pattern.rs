//! The operator for path patterns of several parts, conditions on rounds and on the whole path, and the shortest few of them.
//!
//! [`crate::algebra::ExpandPath`] does the plain runs, which the planner can order and reverse; this one is written by the languages with a fixed
//! start, and is run as it stands.

use crate::algebra::ExpandPattern;
use crate::expr::Var;
use crate::pattern::PatternPart;
use crate::vars::Vars;

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
