//! Which sub-queries, and which patterns of MERGE, run within one operator instead of in a scope.
//!
//! A scope's instance costs about a microsecond and makes the dataflow a graph, which executors must run. A sub-query whose inner plan is a
//! line from its argument needs neither: the rows of a batch go through its operators in turn, and at the end of the batch it is known which
//! outer rows had none. So an OPTIONAL MATCH is a left outer expand, and a small question with one is still a line that is answered on the
//! asking thread. Tests stay in scopes where much is done for a row, since a scope ends that work with the first answer; and what a hint
//! speaks of stays a scope, or the hint would speak of nothing.

use crate::Plan;
use crate::algebra::{Apply, ApplyKind, Merge};
use crate::scope::ScopeReason;

impl Apply {
    /// Does it run within one operator?
    pub fn is_inline(&self) -> bool {
        let is_chosen = matches!(self.scope.reason, ScopeReason::Usual | ScopeReason::SmallWork);
        let is_narrow = match self.kind {
            ApplyKind::Inner(_)
            | ApplyKind::Optional(_)
            | ApplyKind::Count(_)
            | ApplyKind::Collect { .. } => false,
            ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_) => true,
            ApplyKind::Unit | ApplyKind::Repeat(_) => return false,
        };
        is_chosen && !matches!(self.inner, Plan::Argument(_)) && is_line(&self.inner, is_narrow)
    }
}

impl Merge {
    /// Does what it matches run within the operator that writes?
    pub fn is_inline(&self) -> bool {
        !matches!(self.inner, Plan::Argument(_)) && is_line(&self.inner, false)
    }
}

/// Is the plan a line of operators that hold nothing back, from its argument on? A narrow one makes few rows of one.
fn is_line(plan: &Plan, narrow: bool) -> bool {
    let mut next = Some(plan);
    while let Some(plan) = next {
        let fits = match plan {
            Plan::Argument(_) => return true,
            Plan::Filter(_) | Plan::Extend(_) | Plan::Project(_) => true,
            Plan::Expand(node) => node.into || !narrow,
            Plan::SeekIds(_)
            | Plan::SeekVertices(_)
            | Plan::SeekEdges(_)
            | Plan::ScanVertices(_)
            | Plan::ExpandPath(_)
            | Plan::ExpandPattern(_)
            | Plan::Intersect(_)
            | Plan::CountMatches(_)
            | Plan::Unwind(_) => !narrow,
            _ => false,
        };
        if !fits {
            return false;
        }
        next = plan.input();
    }
    false
}
