//! From the plan a language wrote to the plan that runs: the rewrites in their order.
//!
//! Each rewrite is a function over a whole plan in a file of its own under [`crate::rewrite`]; here stands only the order, and
//! why it is so. Sub-plans (of applies, merges, loops) are planned by the same walk, so nothing is planned twice.

use crate::algebra::Plan;
use crate::error::{PlanError, check};
use crate::estimate::Known;
use crate::labels::Named;
use crate::names::Names;
use crate::physical::scopes::scopes;
use crate::rewrite::columns::edge_properties::edge_properties;
use crate::rewrite::columns::late_projection::late_projection;
use crate::rewrite::columns::length_only::length_only;
use crate::rewrite::columns::prune_columns::prune_columns;
use crate::rewrite::ends::dedup_frontier::dedup_frontier;
use crate::rewrite::ends::distinct_ends::distinct_ends;
use crate::rewrite::ends::from_afar::from_afar;
use crate::rewrite::ends::join_runs::join_runs;
use crate::rewrite::ends::late_distinct::late_distinct;
use crate::rewrite::ends::repeat_frontier::repeat_frontier;
use crate::rewrite::gather::fold_constants::fold_constants;
use crate::rewrite::gather::lift_subqueries::lift_subqueries;
use crate::rewrite::gather::optional_match::optional_match;
use crate::rewrite::gather::push_filters::push_filters;
use crate::rewrite::gather::simplify_paths::simplify_paths;
use crate::rewrite::order::count_matches::count_matches;
use crate::rewrite::order::order_match::order_match;
use crate::rewrite::order::seek_edges::seek_edges;
use crate::rewrite::order::split_top_k::split_top_k;
use crate::rewrite::shape::count_stored::count_stored;
use crate::rewrite::shape::intersect::intersect;
use crate::rewrite::shape::join_keys::join_keys;
use crate::rewrite::shape::long_shortest::long_shortest;
use crate::rewrite::shape::once::once;
use crate::rewrite::shape::split_distinct::split_distinct;
use crate::scope::SCOPES_OFF;
use crate::statement::{InTransactions, Statement, StatementKind};
use crate::statistics::Planning;
use crate::vars::Vars;
use model::pace;

/// Turns a lowered statement into one that `execute` can run: no `Match`, no sub-query in an expression.
///
/// Errors: `PlanTooLarge` beyond the limits of [`crate::error`]; `UnsupportedQuery` for the few forms without a plan.
pub fn optimize(mut statement: Statement, planning: &dyn Planning) -> Result<Statement, PlanError> {
    if let Some(batches) = statement.in_transactions.take() {
        let batches = *batches;
        let (input, batch) = (optimize(batches.input, planning)?, optimize(batches.batch, planning)?);
        statement.in_transactions = Some(Box::new(InTransactions { input, batch, ..batches }));
    }
    let StatementKind::Query { plan, columns } = &mut statement.kind else { return Ok(statement) };
    let kept: Vars = columns.iter().map(|(_, var)| *var).collect();
    let mut names = Names::new(&mut statement.variables);
    rewrite(plan, &kept, planning, &mut names)?;
    let off = statement.hints.iter().any(|hint| hint == SCOPES_OFF);
    scopes(plan, planning, off);
    statement.lower();
    Ok(statement)
}

/// Turns a lowered statement into one whose patterns are still unordered, but complete: sub-queries are plans, optional patterns are applies, and
/// conditions stand with their patterns. Standing queries start from this form.
///
/// Errors: `PlanTooLarge` beyond the limits of [`crate::error`].
pub fn normalize(mut statement: Statement) -> Result<Statement, PlanError> {
    if let StatementKind::Query { plan, columns } = &mut statement.kind {
        gather(plan, &mut Names::new(&mut statement.variables))?;
        // What nobody reads must not fail, whoever carries the plan out.
        let kept: Vars = columns.iter().map(|(_, var)| *var).collect();
        prune_columns(plan, &kept);
    }
    Ok(statement)
}

/// Between two rewrites: must planning end?
fn look() -> Result<(), PlanError> {
    /// One rewrite goes through a whole plan.
    const REWRITE_UNITS: u64 = 1 << 12;
    Ok(pace::spend(REWRITE_UNITS)?)
}

/// The rewrites that need to know nothing of the graph.
fn gather(plan: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    check(plan)?;
    fold_constants(plan);
    // Everything inside expressions must be plan before filters are moved, or a filter would be moved away from its sub-query.
    look()?;
    optional_match(plan);
    lift_subqueries(plan, names)?;
    check(plan)?;
    // Conditions on a path must speak of its runs before they are tested while walking.
    look()?;
    simplify_paths(plan);
    // Filters must have reached their patterns before patterns are ordered: they decide where an order starts.
    look()?;
    push_filters(plan);
    Ok(())
}

fn rewrite(
    plan: &mut Plan,
    kept: &Vars,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<(), PlanError> {
    gather(plan, names)?;
    let planning = &Named::new(planning, plan);
    // What is only counted is taken out before it is ordered: its start is a pattern of one vertex, ordered like any other.
    look()?;
    count_matches(plan, planning, names);
    // What an index over edges finds is bound before the rest is ordered around it.
    seek_edges(plan, planning);
    look()?;
    order_match(plan, &Known::one_row(), planning, names)?;
    split_top_k(plan);
    // A path of which only the length is read is dropped before columns are, so that the edges of its runs go with it.
    look()?;
    length_only(plan, kept, names);
    // What waits above a sort reads columns below it: only then is known which are read.
    late_projection(plan);
    look()?;
    prune_columns(plan, kept);
    // Whether the ends of a walk are each wanted once is asked of the whole walk.
    join_runs(plan, kept);
    // Both ask which columns are still made, so they come after all others.
    distinct_ends(plan, false);
    dedup_frontier(plan, kept, false, planning);
    look()?;
    repeat_frontier(plan);
    // It asks which ends are met once.
    if late_distinct(plan, planning) {
        prune_columns(plan, kept)
    }
    from_afar(plan, planning, names)?;
    // Only now is known which edges nobody reads. From here on, no rewrite has to know the forms that are left.
    intersect(plan);
    long_shortest(plan, names)?;
    // What is left of sub-queries reads its row, or is run once.
    look()?;
    once(plan, planning, names);
    // It asks which labels the ends of an edge must carry, and what is run once.
    count_stored(plan, names, planning.counts_edges());
    // Joins have their inputs by now, and what is still scanned for each row is known.
    join_keys(plan, planning, names);
    // Who asks for distinct ends asked before.
    split_distinct(plan, planning, names);
    // Everybody else asks for edges.
    if edge_properties(plan, kept, names) {
        prune_columns(plan, kept)
    }
    check(plan)
}
