//! Rewrite `edge_properties`: edges of which only properties are read are replaced by columns of these properties.
//!
//! An edge in a row is its number and both ends. Where the operator above an expansion reads `r.k` and nothing else of `r`, the expansion emits `r.k`
//! as a column, which it reads for as many edges at once as lie together in the store. Only where no other operator reads `r`, and only properties
//! that the operator directly above reads of every row: a filter that reads several would read the others of few. Not in plans that write: a property
//! would be read before a change that must be seen. Unread columns are dropped by the next rewrite. Cost: one walk.

use crate::algebra::Plan;
use crate::expr::{Expr, Name, Var};
use crate::names::Names;
use crate::vars::Vars;
use std::collections::BTreeMap;

/// By variable, the nodes that read it.
type Readers = BTreeMap<Var, usize>;

/// Makes columns of properties that are read of edges; true if there are new ones.
pub(crate) fn edge_properties(plan: &mut Plan, kept: &Vars, names: &mut Names<'_>) -> bool {
    let has_edges = |node: &Plan| matches!(node, Plan::Expand(step) if step.edge.is_some());
    if plan.writes() || !plan.any(&mut |node| has_edges(node)) {
        return false;
    }
    let mut readers = Readers::new();
    kept.iter().for_each(|var| *readers.entry(*var).or_default() += 2);
    count_readers(plan, &mut readers);
    walk(plan, &readers, names)
}

fn count_readers(plan: &Plan, readers: &mut Readers) {
    let handed_in = if let Plan::Argument(columns) = plan { columns.as_slice() } else { &[] };
    for var in plan.reads().iter().chain(handed_in) {
        *readers.entry(*var).or_default() += 1;
    }
    plan.children().into_iter().for_each(|child| count_readers(child, readers));
}

fn walk(plan: &mut Plan, readers: &Readers, names: &mut Names<'_>) -> bool {
    let mut changed = here(plan, readers, names);
    for child in plan.children_mut() {
        changed |= walk(child, readers, names);
    }
    changed
}

fn here(plan: &mut Plan, readers: &Readers, names: &mut Names<'_>) -> bool {
    let Some(Plan::Expand(step)) = plan.input() else { return false };
    let is_read_here = |edge: &Var| readers.get(edge) == Some(&1);
    let Some(edge) = step.edge.filter(is_read_here).filter(|_| !step.into && !step.loops_twice) else {
        return false;
    };
    let mut read: Vec<Name> = Vec::new();
    let mut whole = false;
    plan.expressions(&mut |expr| whole |= !reads_properties(expr, edge, &mut read));
    let is_filter = matches!(plan, Plan::Filter(_));
    // A sort carries the edge on; so do others, whose rows are read above.
    let is_last = matches!(plan, Plan::Project(_) | Plan::Aggregate(_)) || is_filter;
    if whole || read.is_empty() || !is_last || is_filter && read.len() > 1 {
        return false;
    }
    let mut column = |key: Name| {
        let column = names.fresh(&key);
        (key, column)
    };
    let columns: Vec<(Name, Var)> = read.into_iter().map(&mut column).collect();
    plan.expressions_mut(&mut |expr| name_columns(expr, edge, &columns));
    if let Some(Plan::Expand(step)) = plan.input_mut() {
        step.properties.extend(columns);
    }
    true
}

/// Which keys are read of the edge; false if more than properties is.
fn reads_properties(expr: &Expr, edge: Var, keys: &mut Vec<Name>) -> bool {
    match expr {
        Expr::Variable(var) => *var != edge,
        Expr::Property(subject, key) if matches!(**subject, Expr::Variable(var) if var == edge) => {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
            true
        }
        Expr::PathOf(vars) | Expr::EdgesDistinct(vars) => !vars.contains(&edge),
        Expr::Subquery(_) => false,
        expr => {
            let mut all = true;
            expr.children(&mut |child| all &= reads_properties(child, edge, keys));
            all
        }
    }
}

fn name_columns(expr: &mut Expr, edge: Var, columns: &[(Name, Var)]) {
    if let Expr::Property(subject, key) = expr
        && matches!(**subject, Expr::Variable(var) if var == edge)
        && let Some((_, column)) = columns.iter().find(|(name, _)| name == key)
    {
        *expr = Expr::Variable(*column);
        return;
    }
    expr.children_mut(&mut |child| name_columns(child, edge, columns));
}
