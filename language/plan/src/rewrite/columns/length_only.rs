//! Rewrite `length_only`: a path or a run of which only the length is read keeps a number instead of its edges.
//!
//! (It may also be tested for null: its length is null where it is.) First `length(p)` of a path made of parts becomes the number of its single edges
//! plus the sizes of its runs; then a run of which only `size` is read yields its length. Sound if every reader of the variable reads nothing else,
//! in the scope of the variable itself (passing it on by a projection or an import counts as another reader). A path without any run is left:
//! its length must stay null where an optional match found nothing. Cost: the plan is read once for each path and each run.

use crate::algebra::*;
use crate::expr::{Expr, UnaryOperator, Var};
use crate::functions::Function;
use crate::names::Names;
use crate::vars::Vars;

/// Replaces lengths in the plan; `kept` are the variables that the statement answers with.
pub(crate) fn length_only(plan: &mut Plan, kept: &Vars, names: &mut Names<'_>) {
    for path in paths(plan) {
        let exported = |columns: &[Var]| {
            !columns.contains(&path.variable) || path.runs.iter().all(|run| columns.contains(run))
        };
        if kept.contains(&path.variable)
            || !only_by(plan, path.variable, Function::Length)
            || !all_exports(plan, &exported)
        {
            continue;
        }
        replace_calls(plan, Function::Length, path.variable, &path.length, &Expr::Variable(path.runs[0]));
        drop_path(plan, path.variable)
    }
    for run in runs(plan) {
        if !kept.contains(&run) && only_by(plan, run, Function::Size) {
            let length = names.fresh("length");
            let length_read = Expr::Variable(length);
            replace_calls(plan, Function::Size, run, &length_read, &length_read);
            yield_length(plan, run, length)
        }
    }
}

/// A path made in the plan, with a run among its parts.
struct MadePath {
    variable: Var,
    runs: Vec<Var>,
    /// Its length, from its parts.
    length: Expr,
}

fn paths(plan: &Plan) -> Vec<MadePath> {
    let all_runs = runs(plan);
    let mut found = Vec::new();
    visit(plan, &mut |node| {
        let Plan::Extend(extend) = node else { return };
        for (variable, expr) in &extend.items {
            let Expr::PathOf(parts) = expr else { continue };
            let runs = parts.iter().copied().filter(|part| all_runs.contains(part)).collect();
            let length = crate::rewrite::gather::simplify_paths::length(parts, &all_runs);
            found.extend(length.map(|length| MadePath { variable: *variable, runs, length }))
        }
    });
    found
}

/// Variables of runs.
fn runs(plan: &Plan) -> Vars {
    let mut found = Vars::new();
    visit(plan, &mut |node| {
        if let Plan::ExpandPath(node) = node {
            found.extend(node.edges.filter(|_| node.length.is_none()))
        }
    });
    found
}

fn visit(plan: &Plan, see: &mut dyn FnMut(&Plan)) {
    see(plan);
    plan.children().into_iter().for_each(|child| visit(child, see))
}

/// Is every reader of the variable a call of this function?
fn only_by(plan: &Plan, var: Var, function: Function) -> bool {
    !plan.any(&mut |node| {
        let mut elsewhere = false;
        let mut called = false;
        node.expressions(&mut |expr| {
            elsewhere = elsewhere || reads_otherwise(expr, var, function);
            called = called || expr.free_variables().contains(&var);
        });
        let named = !called && node.reads().contains(&var) || is_named(node, var);
        elsewhere || named
    })
}

fn reads_otherwise(expr: &Expr, var: Var, function: Function) -> bool {
    match expr {
        Expr::Call(called, arguments) if *called == function && arguments[..] == [Expr::Variable(var)] => {
            false
        }
        Expr::Unary(UnaryOperator::IsNull | UnaryOperator::IsNotNull, operand)
            if **operand == Expr::Variable(var) =>
        {
            false
        }
        Expr::Variable(read) => *read == var,
        Expr::PathOf(vars) | Expr::EdgesDistinct(vars) => vars.contains(&var),
        other => {
            let mut found = false;
            other.children(&mut |child| found = found || reads_otherwise(child, var, function));
            found
        }
    }
}

/// Does the node name the variable outside expressions (besides exporting it from an inner plan)?
fn is_named(node: &Plan, var: Var) -> bool {
    match node {
        Plan::Apply(node) => node.imports.contains(&var),
        Plan::Distinct(node) => node.columns.contains(&var) || node.carried.contains(&var),
        Plan::Join(node) => node.on.contains(&var),
        Plan::Union(node) => node.columns.iter().any(|(_, a, b)| *a == var || *b == var),
        Plan::ForEach(node) => node.imports.contains(&var),
        Plan::Merge(node) => node.imports.contains(&var) || node.inner.columns().contains(&var),
        _ => false,
    }
}

/// Do all inner plans export columns as this wants it?
fn all_exports(plan: &Plan, wanted: &dyn Fn(&[Var]) -> bool) -> bool {
    !plan.any(&mut |node| match node {
        Plan::Apply(node) => match &node.kind {
            ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => !wanted(columns),
            ApplyKind::Collect { column, .. } => !wanted(&[*column]),
            _ => false,
        },
        _ => false,
    })
}

/// Replaces calls of the function by `value`, and tests for null of the variable by tests of `present`.
fn replace_calls(plan: &mut Plan, function: Function, var: Var, value: &Expr, present: &Expr) {
    fn replace(expr: &mut Expr, function: Function, var: Var, value: &Expr, present: &Expr) {
        match expr {
            Expr::Unary(UnaryOperator::IsNull | UnaryOperator::IsNotNull, operand)
                if **operand == Expr::Variable(var) =>
            {
                **operand = present.clone()
            }
            Expr::Call(called, arguments)
                if *called == function && arguments[..] == [Expr::Variable(var)] =>
            {
                *expr = value.clone()
            }
            other => other.children_mut(&mut |child| replace(child, function, var, value, present)),
        }
    }
    plan.expressions_mut(&mut |expr| replace(expr, function, var, value, present));
    plan.children_mut().into_iter().for_each(|child| replace_calls(child, function, var, value, present))
}

/// The path has no readers now; as an unread column it would still count as a reader of its runs.
fn drop_path(plan: &mut Plan, path: Var) {
    if let Plan::Extend(node) = plan {
        node.items.retain(|(var, _)| *var != path)
    } else if let Plan::Apply(node) = plan
        && let ApplyKind::Inner(columns) | ApplyKind::Optional(columns) = &mut node.kind
    {
        columns.retain(|var| *var != path)
    }
    plan.children_mut().into_iter().for_each(|child| drop_path(child, path))
}

fn yield_length(plan: &mut Plan, run: Var, length: Var) {
    if let Plan::ExpandPath(node) = plan
        && node.edges == Some(run)
    {
        node.edges = None;
        node.length = Some(length)
    } else if let Plan::Apply(node) = plan {
        match &mut node.kind {
            ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => {
                columns.iter_mut().filter(|var| **var == run).for_each(|var| *var = length)
            }
            ApplyKind::Collect { column, .. } if *column == run => *column = length,
            _ => {}
        }
    }
    plan.children_mut().into_iter().for_each(|child| yield_length(child, run, length))
}
