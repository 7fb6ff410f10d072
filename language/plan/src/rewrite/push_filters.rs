//! Rewrite `push_filters`: a filter's conjuncts sink towards the leaves, into patterns where they meet one.
//!
//! Sound through operators that only add columns the conjunct does not read (or whose columns can be written out in it), through
//! grouping where it reads keys alone, into each side of a union or join that has its columns. Never through writes, SKIP,
//! LIMIT or procedures, and never if the conjunct is volatile. A conjunct may then meet rows that another would have dropped
//! first, as Cypher allows. Cost: conjuncts times depth.

use super::substitute::{is_volatile, substitute};
use crate::algebra::*;
use crate::expr::{Expr, Var};

/// Sinks the conjuncts of every filter in the plan.
pub(crate) fn push_filters(plan: &mut Plan) {
    let mut conjuncts = Vec::new();
    while let Plan::Filter(_) = plan {
        let Plan::Filter(node) = plan.take() else { unreachable!("just tested") };
        conjuncts.splice(0..0, node.predicate.conjuncts());
        *plan = node.input;
    }
    let kept: Vec<Expr> = conjuncts.into_iter().filter_map(|conjunct| sink(plan, conjunct)).collect();
    for child in plan.children_mut() {
        push_filters(child)
    }
    put(plan, kept);
}

/// Tests rows of the plan.
fn put(plan: &mut Plan, mut conjuncts: Vec<Expr>) {
    if conjuncts.is_empty() {
        return;
    }
    if let Plan::Filter(node) = plan {
        let old = std::mem::replace(&mut node.predicate, Expr::literal(true));
        conjuncts.splice(0..0, old.conjuncts());
        node.predicate = Expr::all(conjuncts);
        return;
    }
    *plan = Plan::Filter(Box::new(Filter { input: plan.take(), predicate: Expr::all(conjuncts) }));
}

/// Applies the conjunct below the node on top of the plan; gives it back if it must stay above.
fn sink(plan: &mut Plan, conjunct: Expr) -> Option<Expr> {
    if is_volatile(&conjunct) {
        return Some(conjunct);
    }
    let free = conjunct.free_variables();
    let independent = |made: &[Var]| !free.iter().any(|var| made.contains(var));
    let made = plan.makes();
    match plan {
        Plan::Match(node) if !node.optional => node.pattern.predicates.push(conjunct),
        Plan::Filter(node) => below(&mut node.input, conjunct),
        Plan::Extend(node) => return through(&node.items, &mut node.input, conjunct, false),
        Plan::Project(node) => return through(&node.items, &mut node.input, conjunct, true),
        Plan::Aggregate(node) if !node.keys.is_empty() => {
            return through(&node.keys, &mut node.input, conjunct, true);
        }
        Plan::Distinct(node) => below(&mut node.input, conjunct),
        Plan::Sort(node) if node.limit.is_none() => below(&mut node.input, conjunct),
        Plan::Unwind(_) | Plan::ScanVertices(_) | Plan::SeekVertices(_) | Plan::SeekIds(_)
            if independent(&made) =>
        {
            below(plan.input_mut().expect("these have an input"), conjunct)
        }
        Plan::Expand(_) | Plan::ExpandPath(_) if independent(&made) => {
            below(plan.input_mut().expect("these have an input"), conjunct)
        }
        Plan::Apply(node) => return sink_apply(node, conjunct, independent(&made)),
        Plan::Join(node) => return sink_join(node, conjunct, &free),
        Plan::Union(node) => return sink_union(node, conjunct),
        _ => return Some(conjunct),
    }
    None
}

/// At the top of this plan, or deeper.
fn below(plan: &mut Plan, conjunct: Expr) {
    if let Some(conjunct) = sink(plan, conjunct) {
        put(plan, vec![conjunct])
    }
}

/// Below computed columns: cheap ones are written out in the conjunct. `all`: nothing else passes the node.
fn through(items: &[(Var, Expr)], input: &mut Plan, conjunct: Expr, all: bool) -> Option<Expr> {
    let item = |var: Var| items.iter().find(|(made, _)| *made == var).map(|(_, expr)| expr);
    for var in conjunct.free_variables() {
        match item(var) {
            Some(expr) if !is_cheap(expr) => return Some(conjunct),
            // An item that reads another item of the same node: leave it to stand above.
            Some(expr) if !all && expr.free_variables().iter().any(|read| item(*read).is_some()) => {
                return Some(conjunct);
            }
            None if all => return Some(conjunct),
            _ => {}
        }
    }
    match substitute(conjunct.clone(), &|var| item(var).cloned()) {
        Some(written) => {
            below(input, written);
            None
        }
        None => Some(conjunct),
    }
}

/// Worth computing twice to be tested early?
fn is_cheap(expr: &Expr) -> bool {
    match expr {
        Expr::Variable(_) | Expr::Literal(_) | Expr::Parameter(_) => true,
        Expr::Property(subject, _) => is_cheap(subject),
        _ => false,
    }
}

fn sink_apply(node: &mut Apply, conjunct: Expr, independent: bool) -> Option<Expr> {
    if node.inner.writes() {
        return Some(conjunct);
    }
    if independent {
        below(&mut node.input, conjunct);
        return None;
    }
    let free = conjunct.free_variables();
    if let ApplyKind::Inner(_) = node.kind {
        let columns = node.inner.columns();
        if free.iter().all(|var| columns.contains(var)) {
            below(&mut node.inner, conjunct);
            return None;
        }
    }
    Some(conjunct)
}

fn sink_join(node: &mut Join, conjunct: Expr, free: &[Var]) -> Option<Expr> {
    let has = |plan: &Plan| {
        let columns = plan.columns();
        free.iter().all(|var| columns.contains(var))
    };
    let (build, probe) = (has(&node.build), has(&node.probe));
    if build {
        below(&mut node.build, conjunct.clone())
    }
    if probe {
        below(&mut node.probe, conjunct.clone())
    }
    (!build && !probe).then_some(conjunct)
}

fn sink_union(node: &mut Union, conjunct: Expr) -> Option<Expr> {
    let column = |var: Var| node.columns.iter().find(|(out, ..)| *out == var);
    let left = substitute(conjunct.clone(), &|var| column(var).map(|(_, left, _)| Expr::Variable(*left)));
    let right = substitute(conjunct.clone(), &|var| column(var).map(|(.., right)| Expr::Variable(*right)));
    let (Some(left), Some(right)) = (left, right) else { return Some(conjunct) };
    below(&mut node.left, left);
    below(&mut node.right, right);
    None
}
