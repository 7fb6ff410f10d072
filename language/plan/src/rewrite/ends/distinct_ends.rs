//! Rewrite `distinct_ends`: a run of edges of which only distinct ends are read need not be enumerated.
//!
//! A walk down carries "the rows above cannot tell a repeated row": below DISTINCT, below aggregates that are distinct or min or
//! max, in the inner plan of EXISTS, semi- and anti-joins. There the ends of trails are the vertices a breadth-first search
//! reaches, if the shortest admitted run has at most one edge: every vertex but the start is reached by a shortest path, which
//! repeats nothing. The start itself is the exception: with at least one edge demanded, it is an end only by way of a cycle, and
//! going forth and back along one undirected edge is none. So such a run must be directed, or be a walk, or admit zero edges, or
//! a filter above must say that the end is not the start. Where more than one edge is demanded, and not too many are admitted, the ends
//! are found by keeping few trails to each vertex ([`DISTINCT_TRAIL_HOPS_MAX`]). Cost: linear.

use crate::algebra::*;
use crate::expr::{BinaryOperator, Expr, UnaryOperator, Var};
use crate::functions::{AggregateFunction, Function};
use crate::pattern::{DISTINCT_TRAIL_HOPS_MAX, PathMode, Selector};
use crate::rewrite::substitute::has_volatile;
use model::Direction;

/// Marks the runs of a plan; `sets` says that repeated rows of it go unnoticed.
pub(crate) fn distinct_ends(plan: &mut Plan, sets: bool) {
    mark(plan, sets, &mut Vec::new())
}

fn mark(plan: &mut Plan, sets: bool, unequal: &mut Vec<(Var, Var)>) {
    if let Plan::ExpandPath(node) = plan
        && sets
        && admits(node, unequal)
    {
        node.distinct_ends = true
    }
    if let Plan::Apply(node) = plan
        && let ApplyKind::Repeat(repeat) = &mut node.kind
    {
        repeat.distinct = sets
    }
    if let Plan::Filter(node) = plan {
        unequal.extend(inequalities(&node.predicate))
    } else if !keeps_columns(plan) {
        unequal.clear()
    }
    let flags = below(plan, sets);
    for (child, sets) in plan.children_mut().into_iter().zip(flags) {
        mark(child, sets, &mut unequal.clone())
    }
}

/// For each child: do repeated rows of it go unnoticed, if those of the plan do (`sets`)?
pub(super) fn below(plan: &Plan, sets: bool) -> Vec<bool> {
    let sets = sets && !has_volatile(plan);
    match plan {
        Plan::Aggregate(node) => {
            vec![node.aggregates.iter().all(|(_, call)| ignores_repeats(call)) && !has_volatile(plan)]
        }
        Plan::Distinct(_) => vec![true],
        Plan::Union(node) => vec![sets || node.distinct; 2],
        Plan::Apply(node) => match &node.kind {
            ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_) => vec![sets, true],
            ApplyKind::Inner(_) | ApplyKind::Optional(_) => vec![sets && !node.inner.writes(), sets],
            ApplyKind::Count(_) | ApplyKind::Collect { .. } => vec![sets, false],
            ApplyKind::Repeat(_) => vec![sets, sets],
            ApplyKind::Unit => vec![false, false],
        },
        Plan::Sort(node) => vec![sets && node.limit.is_none()],
        Plan::Skip(_) | Plan::Limit(_) | Plan::CallProcedure(_) => vec![false],
        other if other.writes_here() => vec![false; 2],
        other => vec![sets; other.children().len()],
    }
}

fn ignores_repeats(call: &AggregateCall) -> bool {
    call.distinct || matches!(call.function, AggregateFunction::Min | AggregateFunction::Max)
}

fn keeps_columns(plan: &Plan) -> bool {
    matches!(
        plan,
        Plan::Extend(_) | Plan::Distinct(_) | Plan::Unwind(_) | Plan::Expand(_) | Plan::ExpandPath(_)
    ) || matches!(plan, Plan::ScanVertices(_) | Plan::SeekVertices(_) | Plan::SeekIds(_))
}

/// Pairs of variables that every row that matters holds unequal: `a <> b`, `NOT a = b`, and the same of their ids.
fn inequalities(predicate: &Expr) -> Vec<(Var, Var)> {
    let vertex = |side: &Expr| match side {
        Expr::Variable(var) => Some(*var),
        Expr::Call(Function::Id | Function::ElementId, arguments) => match arguments[..] {
            [Expr::Variable(var)] => Some(var),
            _ => None,
        },
        _ => None,
    };
    let is_call = |side: &Expr| matches!(side, Expr::Call(..));
    let pair = |conjunct: &Expr| {
        let (a, b) = unequal_sides(conjunct)?;
        (is_call(a) == is_call(b)).then_some((vertex(a)?, vertex(b)?))
    };
    predicate.clone().conjuncts().iter().filter_map(pair).collect()
}

/// The sides of `a <> b` and of `NOT a = b`.
fn unequal_sides(conjunct: &Expr) -> Option<(&Expr, &Expr)> {
    match conjunct {
        Expr::Binary(BinaryOperator::NotEqual, a, b) => Some((a, b)),
        Expr::Unary(UnaryOperator::Not, inner) => match &**inner {
            Expr::Binary(BinaryOperator::Equal, a, b) => Some((a, b)),
            _ => None,
        },
        _ => None,
    }
}

fn admits(node: &ExpandPath, unequal: &[(Var, Var)]) -> bool {
    let plain = node.edges.is_none() && node.length.is_none() && node.selector == Selector::Every;
    if node.min > 1 {
        let is_short = node.max.is_some_and(|max| max <= DISTINCT_TRAIL_HOPS_MAX);
        return plain && is_short && node.mode == PathMode::Trail;
    }
    let ends = [(node.from, node.to), (node.to, node.from)];
    let start_is_clear = node.min == 0
        || node.mode == PathMode::Walk
        || node.mode != PathMode::Acyclic && node.direction != Direction::Both
        || ends.iter().any(|pair| unequal.contains(pair));
    plain && start_is_clear
}
