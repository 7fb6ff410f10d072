//! Rewrite `prune_columns`: unread columns are not computed.
//!
//! One walk down carries the columns that are read above. Computed columns, aggregates, edge columns and sub-query answers that are not among them
//! go; projections that only rename are merged. Sound because no operator's rows depend on columns that
//! nothing reads (grouping keys and DISTINCT columns count as read); an expression that would have failed is then not computed.
//! Cost: linear, times the width of rows.

use crate::algebra::*;
use crate::expr::{Expr, Var};
use crate::rewrite::loops::walk_loops_twice;
use crate::rewrite::produced_columns::ProducedColumns;
use crate::rewrite::substitute::{is_volatile, substitute};
use crate::vars::Vars;

/// Drops unread columns, given the columns of the plan's rows that are read.
pub(crate) fn prune_columns(plan: &mut Plan, needed: &Vars) {
    let (mut at, mut needed) = (plan, needed.clone());
    loop {
        while drop_here(at, &needed) {}
        merge_projects(at);
        let below = needed_below(at, &needed);
        match at {
            Plan::Apply(node) => return prune_apply(node, &needed),
            Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_) => {
                return prune_both(at, &below);
            }
            line => match line.input_mut() {
                Some(input) => (at, needed) = (input, below),
                None => return,
            },
        }
    }
}

/// The columns of a node's inputs that are read, if these of its own rows are.
pub(crate) fn needed_below(plan: &Plan, needed: &Vars) -> Vars {
    let mut below = plan.reads();
    if matches!(plan, Plan::Project(_) | Plan::Aggregate(_) | Plan::Distinct(_) | Plan::Union(_)) {
        return below;
    }
    let rebinds = match plan {
        Plan::Expand(node) => node.into,
        Plan::ExpandPath(node) => node.into,
        Plan::ExpandPattern(node) => node.into,
        Plan::Merge(_) => true,
        _ => false,
    };
    let made = if rebinds { Vars::new() } else { plan.makes() };
    below.extend(needed.iter().copied().filter(|var| !made.contains(var)));
    below
}

/// Inputs and bodies of the operators that have two plans below.
fn prune_both(plan: &mut Plan, below: &Vars) {
    match plan {
        Plan::Merge(node) => {
            let mut all = node.inner.columns();
            all.extend(node.imports.iter().copied());
            prune_columns(&mut node.inner, &all)
        }
        Plan::ForEach(node) => {
            let imports = node.imports.iter().copied().chain([node.variable]).collect();
            prune_columns(&mut node.body, &imports)
        }
        other => return other.children_mut().into_iter().for_each(|child| prune_columns(child, below)),
    }
    prune_columns(plan.input_mut().expect("both have an input"), below)
}

/// Drops unread columns of this node; true if the node itself went.
fn drop_here(plan: &mut Plan, needed: &Vars) -> bool {
    let is_needed = |var: &Var| needed.contains(var);
    if let Plan::Unwind(node) = plan
        && !is_needed(&node.variable)
        && walk_loops_twice(node)
    {
        *plan = node.input.take();
        return true;
    }
    match plan {
        Plan::Argument(columns) => columns.retain(is_needed),
        Plan::Project(node) => node.items.retain(|(var, _)| is_needed(var)),
        Plan::Extend(node) => {
            // An item may read an item before it, so the last is dropped first.
            let mut read = needed.clone();
            let mut kept: Vec<(Var, Expr)> = Vec::new();
            for (var, expr) in std::mem::take(&mut node.items).into_iter().rev() {
                if read.contains(&var) {
                    read.extend(expr.free_variables());
                    kept.push((var, expr))
                }
            }
            kept.reverse();
            node.items = kept;
            if node.items.is_empty() {
                *plan = node.input.take();
                return true;
            }
        }
        Plan::Aggregate(node) => {
            let first = node.aggregates.first().cloned();
            node.aggregates.retain(|(var, _)| is_needed(var));
            if node.keys.is_empty() && node.aggregates.is_empty() {
                node.aggregates.extend(first)
            }
        }
        Plan::Expand(node) => {
            node.edge = node.edge.filter(is_needed);
            node.properties.retain(|(_, column)| is_needed(column))
        }
        Plan::Distinct(node) => node.carried.retain(is_needed),
        Plan::ExpandPath(node) => {
            node.edges = node.edges.filter(is_needed);
            node.length = node.length.filter(is_needed)
        }
        Plan::Union(node) if !node.distinct => node.columns.retain(|(var, ..)| is_needed(var)),
        Plan::Apply(node) => {
            let in_vain = match &mut node.kind {
                ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => {
                    columns.retain(is_needed);
                    false
                }
                ApplyKind::Exists(var) | ApplyKind::Count(var) => !is_needed(var),
                ApplyKind::Collect { list, .. } => !is_needed(list),
                ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Unit | ApplyKind::Repeat(_) => false,
            };
            if in_vain && !node.inner.writes() {
                *plan = node.input.take();
                return true;
            }
        }
        _ => {}
    }
    false
}

fn prune_apply(node: &mut Apply, needed: &Vars) {
    let inner: Vars = match &node.kind {
        ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => columns.iter().copied().collect(),
        ApplyKind::Collect { column, .. } => Vars::from_iter([*column]),
        ApplyKind::Repeat(repeat) => Vars::from_iter([repeat.next]),
        _ => Vars::new(),
    };
    prune_columns(&mut node.inner, &inner);
    let mut read = Vars::new();
    argument_columns(&node.inner, &mut read);
    node.imports.retain(|var| read.contains(var));
    let mut input: Vars = node.imports.iter().copied().collect();
    let made = node.kind.makes();
    input.extend(needed.iter().copied().filter(|var| !made.contains(var)));
    prune_columns(&mut node.input, &input)
}

/// Columns of the enclosing row that a plan's own `Argument` leaves hold (not those of applies inside it).
fn argument_columns(plan: &Plan, found: &mut Vars) {
    if let Plan::Argument(columns) = plan {
        found.extend(columns.iter().copied())
    }
    let inner = matches!(plan, Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_));
    let children = plan.children();
    let own = if inner { &children[..1] } else { &children[..] };
    own.iter().for_each(|child| argument_columns(child, found))
}

/// A projection over a projection, where one of the two only renames, is one projection.
fn merge_projects(plan: &mut Plan) {
    while let Plan::Project(outer) = plan {
        let Plan::Project(inner) = &mut outer.input else { return };
        let is_name = |item: &(Var, Expr)| matches!(item.1, Expr::Variable(_));
        let renames = outer.items.iter().all(is_name) && !inner.items.iter().any(|item| is_volatile(&item.1));
        if !renames && !inner.items.iter().all(is_name) {
            return;
        }
        let made = ProducedColumns::new(&inner.items);
        let value_of = |var: Var| made.get(var).cloned();
        let merged = outer.items.iter().map(|(var, expr)| Some((*var, substitute(expr.clone(), &value_of)?)));
        let Some(items) = merged.collect::<Option<Vec<_>>>() else { return };
        outer.items = items;
        outer.input = inner.input.take();
    }
}
