//! Which driver runs an operator: executors, or a pipeline.
//!
//! A scope's instance costs about a microsecond and makes the dataflow a graph that only executors can run. A sub-query whose inner plan is a chain
//! from its argument needs neither: the rows of a batch go through its operators in turn, and at the end of the batch it is known which outer rows
//! had no result. So an OPTIONAL MATCH is a left outer expand, and a small query with one still runs on the calling thread. A test ends its work for
//! a row with the first answer there, too, and takes as many rows together as its scope says. A sub-query with a hint stays a scope, or the hint
//! would have no effect, unless the hint asks for one instance at a time.
//!
//! A whole plan is tried as a pipeline where it only walks a few steps from looked-up vertices: it is usually over in microseconds.

use crate::algebra::{Apply, ApplyKind, Merge};
use crate::procedures::is_listing;
use crate::rewrite::substitute::has_volatile;
use crate::scope::{InstanceOrder, ScopeReason};
use crate::{Plan, Wanted};

/// The driver of an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperatorDriver {
    /// Executors, as a task: rows come in messages, from any executor.
    #[default]
    Exchange,
    /// A pipeline on one thread, one operator after the other: on the calling thread, or within the operator of a node above.
    Pipeline,
}

/// Longer walks to ends that are not known are for executors, ...
const HOPS_MAX: u32 = 2;
/// ... unless a few of their ends are enough, below a LIMIT or in a test: then the near ones usually are.
const HOPS_MAX_FEW: u32 = 8;

/// For the inner plan of a sub-query, whose scope is chosen.
pub(super) fn of_apply(node: &Apply) -> OperatorDriver {
    let scope = &node.scope;
    let is_chosen = match scope.reason {
        ScopeReason::Usual | ScopeReason::TinyWork | ScopeReason::SmallWork | ScopeReason::EarlyExit => true,
        // One instance at a time, in the order of rows, is what an operator does.
        ScopeReason::Hint => scope.instances_max == Some(1) && scope.order == InstanceOrder::Fifo,
        _ => false,
    };
    if is_chosen && can_be_pipeline(node) { OperatorDriver::Pipeline } else { OperatorDriver::Exchange }
}

/// Does a sub-query run within one operator, with answers that depend on its imports alone?
pub(super) fn runs_inline(node: &Apply) -> bool {
    of_apply(node) == OperatorDriver::Pipeline && answers_by_imports(node)
}

/// For the pattern of a MERGE.
pub(super) fn of_merge(node: &Merge) -> OperatorDriver {
    match !matches!(node.inner, Plan::Argument(_)) && is_line(&node.inner) {
        true => OperatorDriver::Pipeline,
        false => OperatorDriver::Exchange,
    }
}

/// Could a sub-query run as a pipeline, if nothing spoke for a scope?
pub(super) fn can_be_pipeline(node: &Apply) -> bool {
    let adds_rows = matches!(node.kind, ApplyKind::Unit | ApplyKind::Repeat(_));
    !adds_rows && !matches!(node.inner, Plan::Argument(_)) && is_line(&node.inner)
}

/// Is the answer of a sub-query for a row a value that depends on its imports alone? Such answers can be cached, as long as there are no writes.
pub(super) fn answers_by_imports(node: &Apply) -> bool {
    let is_value = matches!(
        node.kind,
        ApplyKind::Count(_)
            | ApplyKind::Exists(_)
            | ApplyKind::Collect { .. }
            | ApplyKind::Semi
            | ApplyKind::Anti
    );
    let differs =
        |plan: &Plan| matches!(plan, Plan::CallProcedure(_)) || plan.writes_here() || has_volatile(plan);
    is_value && !node.imports.is_empty() && !node.inner.any(&mut |plan| differs(plan))
}

/// Is the plan a chain of operators that buffer nothing, from its argument on?
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
            Plan::Apply(node) => of_apply(node) == OperatorDriver::Pipeline,
            _ => false,
        };
        if !fits {
            return false;
        }
        next = plan.input();
    }
    false
}

/// For a whole plan. A pipeline for look-ups, steps and short walks, computations and writes for their rows, unions and sub-queries of that kind; no
/// scan, no join.
pub(super) fn of_plan(plan: &Plan) -> OperatorDriver {
    // With the demand for its rows: the first may be enough.
    let mut left = vec![(plan, Wanted::All)];
    while let Some((plan, wanted)) = left.pop() {
        let hops_max = if wanted.is_few() { HOPS_MAX_FEW } else { HOPS_MAX };
        let of_input = plan.wanted_of_input(wanted);
        match plan {
            Plan::Unit
            | Plan::Argument(_)
            | Plan::SeekVertices(_)
            | Plan::SeekEdges(_)
            | Plan::SeekIds(_)
            | Plan::CountStored(_)
            | Plan::Expand(_)
            | Plan::Filter(_)
            | Plan::Extend(_)
            | Plan::Project(_)
            | Plan::Aggregate(_)
            | Plan::Distinct(_)
            | Plan::Sort(_)
            | Plan::Skip(_)
            | Plan::Limit(_)
            | Plan::Unwind(_)
            | Plan::Create(_)
            | Plan::Set(_)
            | Plan::Delete(_) => {}
            Plan::CallProcedure(call) if is_listing(&call.name) => {}
            Plan::ExpandPath(node) if node.into || node.max.is_some_and(|max| max <= hops_max) => {}
            Plan::Apply(node) if of_apply(node) == OperatorDriver::Pipeline => {
                left.push((&node.inner, of_each(&node.kind)))
            }
            Plan::Merge(node) if of_merge(node) == OperatorDriver::Pipeline => {
                left.push((&node.inner, Wanted::All))
            }
            Plan::Union(node) => left.extend([(&node.left, of_input), (&node.right, of_input)]),
            _ => return OperatorDriver::Exchange,
        }
        left.extend(plan.input().map(|input| (input, of_input)));
    }
    OperatorDriver::Pipeline
}

/// The demand for the inner rows of each row: the first answers a test.
fn of_each(kind: &ApplyKind) -> Wanted {
    match kind {
        ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_) => Wanted::Most(1),
        _ => Wanted::All,
    }
}
