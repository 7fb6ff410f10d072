//! Rewrite `once`: a sub-query that reads nothing of its row is run once, not for each row, and joined to all of them.
//!
//! Sound where there are no writes, and where it neither calls a procedure nor is volatile. Only where several rows are expected, since a join costs
//! a dataflow of its own, and not within another sub-query, whose rows share their instance with others. Its answer is buffered while the rows pass:
//! not where it is long, or where a LIMIT may have enough of its first rows. Cost: two estimates for each such sub-query.

use crate::algebra::*;
use crate::estimate::estimate;
use crate::expr::{BinaryOperator, Expr};
use crate::functions::AggregateFunction;
use crate::names::Names;
use crate::rewrite::substitute::has_volatile;
use crate::scope::Scope;
use crate::statistics::Planning;
use crate::wanted::Wanted;

/// Rows from which on one run is better than one a row.
const ROWS_MIN: f64 = 2.0;

/// Rows of an answer that are cheaper to compute again than to buffer.
const HELD_ROWS_MAX: f64 = (1 << 20) as f64;

/// Joins independent sub-queries, in a plan without writes.
pub(crate) fn once(plan: &mut Plan, planning: &dyn Planning, names: &mut Names<'_>) {
    if plan.any(&mut |node| matches!(node, Plan::Apply(node) if node.imports.is_empty())) && !plan.writes() {
        join_from(plan, planning, names, Wanted::All)
    }
}

/// `wanted` is the demand for the plan's rows.
fn join_from(plan: &mut Plan, planning: &dyn Planning, names: &mut Names<'_>, mut wanted: Wanted) {
    let mut at = plan;
    loop {
        wanted = at.wanted_of_input(wanted);
        if let Plan::Apply(node) = at
            && reads_nothing(node)
            && (!matches!(node.kind, ApplyKind::Inner(_))
                || !wanted.is_few() && estimate(&node.inner, planning) <= HELD_ROWS_MAX)
            && estimate(&node.input, planning) >= ROWS_MIN
            && let Some(build) = answer(node, names)
        {
            *at = Plan::Join(Box::new(Join { build, probe: node.input.take(), on: Vec::new(), once: false }));
        }
        match at {
            Plan::Join(node) => {
                join_from(&mut node.build, planning, names, Wanted::All);
                at = &mut node.probe
            }
            Plan::Union(node) => {
                join_from(&mut node.left, planning, names, wanted);
                at = &mut node.right
            }
            line => match line.input_mut() {
                Some(input) => at = input,
                None => return,
            },
        }
    }
}

fn reads_nothing(node: &Apply) -> bool {
    let differs = |plan: &Plan| matches!(plan, Plan::CallProcedure(_)) || has_volatile(plan);
    node.imports.is_empty() && !node.scope.is_told() && !node.inner.any(&mut |plan| differs(plan))
}

/// The rows that every row is joined to; the sub-query moves there. None for kinds that stay unchanged.
fn answer(node: &mut Apply, names: &mut Names<'_>) -> Option<Plan> {
    let (is_test, counted) = match &node.kind {
        ApplyKind::Inner(_) => (false, None),
        ApplyKind::Semi => (true, None),
        ApplyKind::Anti | ApplyKind::Exists(_) => (true, Some(names.fresh("found"))),
        ApplyKind::Count(count) => (false, Some(*count)),
        ApplyKind::Optional(_) | ApplyKind::Collect { .. } | ApplyKind::Unit | ApplyKind::Repeat(_) => {
            return None;
        }
    };
    let mut plan = node.inner.take();
    start_alone(&mut plan);
    if is_test {
        plan = Plan::Limit(Box::new(Limit { input: plan, count: Expr::literal(1), scope: Scope::default() }));
    }
    if let Some(count) = counted {
        let rows =
            AggregateCall { function: AggregateFunction::CountRows, arguments: Vec::new(), distinct: false };
        plan = Plan::Aggregate(Box::new(Aggregate {
            input: plan,
            keys: Vec::new(),
            aggregates: vec![(count, rows)],
        }));
    }
    let none_counted = |operator| {
        let count = Expr::Variable(counted.expect("tests are counted"));
        Expr::binary(operator, count, Expr::literal(0))
    };
    let items = match &node.kind {
        ApplyKind::Inner(columns) => columns.iter().map(|var| (*var, Expr::Variable(*var))).collect(),
        ApplyKind::Exists(found) => vec![(*found, none_counted(BinaryOperator::Greater))],
        ApplyKind::Count(_) => return Some(plan),
        _ => Vec::new(),
    };
    if let ApplyKind::Anti = node.kind {
        let predicate = none_counted(BinaryOperator::Equal);
        plan = Plan::Filter(Box::new(Filter { input: plan, predicate }));
    }
    Some(Plan::Project(Box::new(Project { input: plan, items })))
}

/// Without a row to start from, it starts from one of its own.
pub(super) fn start_alone(plan: &mut Plan) {
    let mut at = plan;
    loop {
        match at {
            Plan::Argument(_) => return *at = Plan::Unit,
            Plan::Join(node) => {
                start_alone(&mut node.build);
                at = &mut node.probe
            }
            Plan::Union(node) => {
                start_alone(&mut node.left);
                at = &mut node.right
            }
            line => match line.input_mut() {
                Some(input) => at = input,
                None => return,
            },
        }
    }
}
