//! Rewrite `simplify_paths`: functions of a path built in the query are applied to its parts.
//!
//! `length(path)` becomes the number of its single edges plus the sizes of its runs, `relationships(path)` of a lone run the run
//! itself; then conditions on them can be tested while walking (see `order_match`), and `length_only` sees what is read. Sound
//! for paths with a run: such a path is null exactly if its run is. Cost: linear in the expressions.

use crate::algebra::Plan;
use crate::expr::{BinaryOperator, Expr, Var};
use crate::functions::Function;
use crate::vars::Vars;

/// Rewrites all expressions of a plan, patterns not yet ordered included.
pub(crate) fn simplify_paths(plan: &mut Plan) {
    let mut runs = Vars::new();
    find_runs(plan, &mut runs);
    if !runs.is_empty() {
        each_node(plan, &runs)
    }
}

/// Variables that hold runs of edges.
fn find_runs(plan: &Plan, found: &mut Vars) {
    if let Plan::Match(node) = plan {
        found.extend(node.pattern.edges.iter().filter(|edge| edge.run.is_some()).map(|edge| edge.variable))
    }
    plan.children().into_iter().for_each(|child| find_runs(child, found))
}

fn each_node(plan: &mut Plan, runs: &Vars) {
    plan.expressions_mut(&mut |expr| simplify(expr, runs));
    plan.children_mut().into_iter().for_each(|child| each_node(child, runs))
}

fn simplify(expr: &mut Expr, runs: &Vars) {
    expr.children_mut(&mut |child| simplify(child, runs));
    let Expr::Call(function, arguments) = expr else { return };
    let [Expr::PathOf(parts)] = &arguments[..] else { return };
    let simpler = match function {
        Function::Length => length(parts, runs),
        Function::Relationships => match parts[..] {
            [_, run, _] if runs.contains(&run) => Some(Expr::Variable(run)),
            _ => None,
        },
        _ => None,
    };
    if let Some(simpler) = simpler {
        *expr = simpler
    }
}

/// The length of a path made of these parts; none if no run is among them.
pub(crate) fn length(parts: &[Var], runs: &Vars) -> Option<Expr> {
    let edges = parts.iter().copied().skip(1).step_by(2);
    let (runs, singles): (Vec<Var>, Vec<Var>) = edges.partition(|edge| runs.contains(edge));
    let sizes = runs.iter().map(|run| Expr::Call(Function::Size, vec![Expr::Variable(*run)]));
    let sum = sizes.reduce(|a, b| Expr::binary(BinaryOperator::Add, a, b))?;
    let singles_count = Expr::literal(singles.len() as i64);
    Some(if singles.is_empty() { sum } else { Expr::binary(BinaryOperator::Add, sum, singles_count) })
}
