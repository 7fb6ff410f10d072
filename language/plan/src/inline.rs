//! Which sub-queries, and which patterns of MERGE, run within one operator instead of in a scope.
//!
//! A scope's instance costs about a microsecond and makes the dataflow a graph, which executors must run. A sub-query whose inner plan is a
//! line from its argument needs neither: the rows of a batch go through its operators in turn, and at the end of the batch it is known which
//! outer rows had none. So an OPTIONAL MATCH is a left outer expand, and a small question with one is still a line that is answered on the
//! asking thread. A test ends its work for a row with the first answer there, too, and takes as many rows together as its scope says. What a
//! hint speaks of stays a scope, or the hint would speak of nothing, unless it asks for one instance at a time; and what is no line is one
//! always.

use crate::Plan;
use crate::algebra::{Apply, ApplyKind, Merge};
use crate::rewrite::substitute::has_volatile;
use crate::scope::{InstanceOrder, ScopeReason};

impl Apply {
    /// Does it run within one operator?
    pub fn is_inline(&self) -> bool {
        let scope = &self.scope;
        let is_chosen = match scope.reason {
            ScopeReason::Usual | ScopeReason::TinyWork | ScopeReason::SmallWork | ScopeReason::EarlyExit => {
                true
            }
            // One instance at a time, in the order of rows, is what an operator does.
            ScopeReason::Hint => scope.instances_max == Some(1) && scope.order == InstanceOrder::Fifo,
            _ => false,
        };
        is_chosen && self.can_be_inline()
    }

    /// Is what it answers for a row a value that every row gets that gives it the same? Such answers can be kept, as long as nothing is
    /// written.
    pub fn answers_by_imports(&self) -> bool {
        let is_value = matches!(
            self.kind,
            ApplyKind::Count(_)
                | ApplyKind::Exists(_)
                | ApplyKind::Collect { .. }
                | ApplyKind::Semi
                | ApplyKind::Anti
        );
        let differs =
            |plan: &Plan| matches!(plan, Plan::CallProcedure(_)) || plan.writes_here() || has_volatile(plan);
        is_value && !self.imports.is_empty() && !self.inner.any(&mut |plan| differs(plan))
    }

    /// Could it, if nothing spoke for a scope?
    pub(crate) fn can_be_inline(&self) -> bool {
        let adds_rows = matches!(self.kind, ApplyKind::Unit | ApplyKind::Repeat(_));
        !adds_rows && !matches!(self.inner, Plan::Argument(_)) && is_line(&self.inner)
    }
}

impl Merge {
    /// Does what it matches run within the operator that writes?
    pub fn is_inline(&self) -> bool {
        !matches!(self.inner, Plan::Argument(_)) && is_line(&self.inner)
    }
}

/// Is the plan a line of operators that hold nothing back, from its argument on?
fn is_line(plan: &Plan) -> bool {
    let mut next = Some(plan);
    while let Some(plan) = next {
        let fits = match plan {
            Plan::Argument(_) => return true,
            Plan::Filter(_)
            | Plan::Extend(_)
            | Plan::Project(_)
            | Plan::Expand(_)
            | Plan::SeekIds(_)
            | Plan::SeekVertices(_)
            | Plan::SeekEdges(_)
            | Plan::ScanVertices(_)
            | Plan::ExpandPath(_)
            | Plan::ExpandPattern(_)
            | Plan::Intersect(_)
            | Plan::CountMatches(_)
            | Plan::CountStored(_)
            | Plan::Unwind(_) => true,
            Plan::Apply(node) => node.is_inline(),
            _ => false,
        };
        if !fits {
            return false;
        }
        next = plan.input();
    }
    false
}
