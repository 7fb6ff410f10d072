//! Variable-length relationships of which only the number is read: only that is computed.

use crate::StandingError;
use plan::algebra::Plan;
use plan::expr::BinaryOperator;
use plan::{Expr, Function, Var};
use std::collections::{HashMap, HashSet};

/// Gives each run a variable for its length, and lets the plan read that one; returns these variables by run, and which of them are read.
///
/// # Errors
/// More than the length of a run is read.
pub(super) fn lengths(
    plan: &mut Plan,
    answer: &[Var],
    next: &mut u32,
) -> Result<(HashMap<Var, Var>, HashSet<Var>), StandingError> {
    let mut runs = HashMap::new();
    collect(plan, &mut |plan| {
        let Plan::Match(node) = plan else { return };
        for edge in node.pattern.edges.iter().filter(|edge| edge.run.is_some()) {
            runs.insert(edge.variable, Var(*next));
            *next += 1;
        }
    });
    if runs.is_empty() {
        return Ok((runs, HashSet::new()));
    }
    let mut paths: HashMap<Var, Vec<Var>> = HashMap::new();
    collect(plan, &mut |plan| {
        let Plan::Extend(node) = plan else { return };
        for (var, expr) in &node.items {
            if let Expr::PathOf(parts) = expr
                && parts.iter().any(|part| runs.contains_key(part))
            {
                paths.insert(*var, parts.clone());
            }
        }
    });
    while renames(plan, &runs, &mut paths) {}
    change(plan, &runs, &paths);
    let mut read = HashSet::new();
    let mut read_whole = answer.iter().any(|var| runs.contains_key(var) || paths.contains_key(var));
    collect(plan, &mut |plan| {
        plan.expressions(&mut |expr| {
            let free = expr.free_variables();
            read.extend(free.iter().filter(|var| runs.values().any(|length| length == *var)));
            read_whole |= free.iter().any(|var| runs.contains_key(var) || paths.contains_key(var));
        });
    });
    if read_whole {
        return Err(StandingError::unsupported_but(
            "a path of variable length, or its relationships,",
            "return its ends and length(path)",
        ));
    }
    Ok((runs, read))
}

fn collect(plan: &Plan, visit: &mut dyn FnMut(&Plan)) {
    visit(plan);
    plan.children().into_iter().for_each(|child| collect(child, visit));
}

/// Paths under new names; true where there are more of them.
fn renames(plan: &Plan, runs: &HashMap<Var, Var>, paths: &mut HashMap<Var, Vec<Var>>) -> bool {
    let before = paths.len();
    collect(plan, &mut |plan| {
        let Plan::Project(node) = plan else { return };
        for (new, expr) in &node.items {
            if let Expr::Variable(old) = expr
                && !runs.contains_key(new)
                && let Some(parts) = paths.get(old).cloned()
            {
                paths.insert(*new, parts);
            }
        }
    });
    paths.len() > before
}

/// The lengths that stand for paths and runs among these variables.
fn lengths_for(vars: &mut Vec<Var>, runs: &HashMap<Var, Var>, paths: &HashMap<Var, Vec<Var>>) {
    let mut kept: Vec<Var> = Vec::new();
    for var in vars.drain(..) {
        let own = [var];
        let parts = paths.get(&var).map_or(&own[..], |parts| parts);
        let lengths: Vec<Var> = parts.iter().filter_map(|part| runs.get(part)).copied().collect();
        for var in if lengths.is_empty() { vec![var] } else { lengths } {
            if !kept.contains(&var) {
                kept.push(var);
            }
        }
    }
    *vars = kept;
}

fn change(plan: &mut Plan, runs: &HashMap<Var, Var>, paths: &HashMap<Var, Vec<Var>>) {
    if let Plan::Extend(node) = plan {
        node.items.retain(|(var, _)| !paths.contains_key(var));
    }
    match plan {
        // A path that goes on goes on as the lengths of its runs.
        Plan::Project(node) => {
            let mut items: Vec<(Var, Expr)> = Vec::new();
            for (new, expr) in std::mem::take(&mut node.items) {
                let mut vars = vec![new];
                if matches!(expr, Expr::Variable(old) if old == new || paths.contains_key(&old)) {
                    lengths_for(&mut vars, runs, paths);
                }
                match vars[..] {
                    [same] if same == new => items.push((new, expr)),
                    _ => items.extend(vars.into_iter().map(|length| (length, Expr::Variable(length)))),
                }
            }
            items.dedup();
            node.items = items;
        }
        Plan::Apply(node) => lengths_for(&mut node.imports, runs, paths),
        Plan::Argument(columns) => lengths_for(columns, runs, paths),
        _ => {}
    }
    plan.expressions_mut(&mut |expr| replace(expr, runs, paths));
    plan.children_mut().into_iter().for_each(|child| change(child, runs, paths));
}

fn replace(expr: &mut Expr, runs: &HashMap<Var, Var>, paths: &HashMap<Var, Vec<Var>>) {
    if let Expr::Call(function, arguments) = expr
        && let [Expr::Variable(var)] = arguments[..]
    {
        let length = match function {
            Function::Length => paths.get(&var).map(|parts| length(parts, runs)),
            Function::Size => runs.get(&var).map(|length| Expr::Variable(*length)),
            _ => None,
        };
        if let Some(length) = length {
            *expr = length;
            return;
        }
    }
    expr.children_mut(&mut |child| replace(child, runs, paths));
}

/// Single edges of a path count one each; every second part is an edge or a run.
fn length(parts: &[Var], runs: &HashMap<Var, Var>) -> Expr {
    let edges = || parts.iter().skip(1).step_by(2);
    let single = edges().filter(|part| !runs.contains_key(part)).count();
    edges().filter_map(|part| runs.get(part)).fold(Expr::literal(single as i64), |sum, run| {
        Expr::binary(BinaryOperator::Add, sum, Expr::Variable(*run))
    })
}
