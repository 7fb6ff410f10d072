//! The demand for rows of a node, as far as it is known before a plan runs.
//!
//! LIMIT states a demand, and so do tests of sub-queries and the client; each node derives the demand for its input's rows from that for its own.
//! Rewrites ask whether a few rows may be enough, `execute` which work an operator may skip. Invariant: a node derives `Most` from `Most` only where
//! each input row gives at least one row.

use crate::algebra::ApplyKind;
use crate::expr::Expr;
use crate::{Plan, algebra};

/// The demand for a node's rows; in a sub-query, of each outer row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Every row.
    #[default]
    All,
    /// The first rows may be enough; how many is unknown, since rows may be dropped before they are counted.
    Some,
    /// At most this many rows, and each row that is made counts.
    Most(u64),
}

impl Wanted {
    /// May the first rows be enough?
    pub fn is_few(self) -> bool {
        self != Wanted::All
    }
    /// The demand for rows of which some may fall away, or become many.
    pub fn thinned(self) -> Wanted {
        if self.is_few() { Wanted::Some } else { Wanted::All }
    }
    /// The demand for rows of which the first is sure to count, but no other is.
    pub fn of_distinct(self) -> Wanted {
        match self {
            Wanted::Most(most) if most <= 1 => self,
            other => other.thinned(),
        }
    }
    /// The demand of a node that wants at most `most` rows itself.
    pub fn at_most(self, most: u64) -> Wanted {
        match self {
            Wanted::Most(fewer) => Wanted::Most(fewer.min(most)),
            Wanted::All | Wanted::Some => Wanted::Most(most),
        }
    }
}

impl Plan {
    /// The demand for the rows of this node's main input, if that for its own rows is `wanted`.
    pub fn wanted_of_input(&self, wanted: Wanted) -> Wanted {
        match self {
            Plan::Limit(node) => node.wanted_of_input(wanted),
            _ if !wanted.is_few() || self.has_effects() => Wanted::All,
            // At least one row of each row.
            Plan::Project(_) | Plan::Extend(_) | Plan::CountStored(_) => wanted,
            Plan::Apply(node) => node.wanted_of_input(wanted),
            Plan::Distinct(_) => wanted.of_distinct(),
            Plan::Match(_)
            | Plan::ScanVertices(_)
            | Plan::SeekVertices(_)
            | Plan::SeekEdges(_)
            | Plan::SeekIds(_)
            | Plan::Expand(_)
            | Plan::ExpandPath(_)
            | Plan::ExpandPattern(_)
            | Plan::CountMatches(_)
            | Plan::Intersect(_)
            | Plan::Filter(_)
            | Plan::Skip(_)
            | Plan::Unwind(_)
            | Plan::Join(_)
            | Plan::Union(_)
            | Plan::CallProcedure(_) => wanted.thinned(),
            // These have seen all rows before they hand on the first.
            Plan::Sort(_) | Plan::Aggregate(_) => Wanted::All,
            Plan::Create(_) | Plan::Merge(_) | Plan::Set(_) | Plan::Delete(_) | Plan::ForEach(_) => {
                Wanted::All
            }
            // Nothing is below.
            Plan::Unit | Plan::Argument(_) => Wanted::All,
        }
    }
    /// Must this node see all rows of its input, since it does something for each?
    pub fn has_effects(&self) -> bool {
        self.writes_here() || matches!(self, Plan::Apply(node) if node.inner.writes())
    }
}

impl algebra::Limit {
    fn wanted_of_input(&self, wanted: Wanted) -> Wanted {
        match &self.count {
            _ if !self.scope.early => Wanted::All,
            Expr::Literal(count) => {
                let count = count.0.as_int().and_then(|count| u64::try_from(count).ok());
                count.map_or(Wanted::Some, |count| wanted.at_most(count))
            }
            _ => Wanted::Some,
        }
    }
}

impl algebra::Apply {
    fn wanted_of_input(&self, wanted: Wanted) -> Wanted {
        match self.kind {
            ApplyKind::Optional(_)
            | ApplyKind::Exists(_)
            | ApplyKind::Count(_)
            | ApplyKind::Collect { .. }
            | ApplyKind::Unit => wanted,
            ApplyKind::Inner(_) | ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Repeat(_) => {
                wanted.thinned()
            }
        }
    }
}
