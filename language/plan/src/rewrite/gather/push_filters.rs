//! Rewrite `push_filters`: a filter's conjuncts sink towards the leaves, into patterns where they meet one.
//!
//! Sound through operators that only add columns the conjunct does not read (or whose columns can be written out in it), through
//! grouping where it reads keys alone, into each side of a union or join that has its columns. Never through writes, SKIP,
//! LIMIT or procedures, and never if the conjunct is volatile. A conjunct may then meet rows that another would have dropped
//! first, as Cypher allows. Cost: conjuncts times depth.

use crate::algebra::*;
use crate::expr::{Expr, Var};
use crate::rewrite::produced_columns::ProducedColumns;
use crate::rewrite::substitute::{is_volatile, substitute};

/// Sinks the conjuncts of every filter in the plan.
pub(crate) fn push_filters(plan: &mut Plan) {
    let mut at = plan;
    loop {
        at = push_here(at);
        match at {
            Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_) => {
                return at.children_mut().into_iter().for_each(push_filters);
            }
            line => match line.input_mut() {
                Some(input) => at = input,
                None => return,
            },
        }
    }
}

/// Sinks the conjuncts of the filters on top; gives the first operator below them.
fn push_here(plan: &mut Plan) -> &mut Plan {
    let mut conjuncts = Vec::new();
    while let Plan::Filter(_) = plan {
        let Plan::Filter(node) = plan.take() else { unreachable!("just tested") };
        conjuncts.splice(0..0, node.predicate.conjuncts());
        *plan = node.input;
    }
    let mut kept = Vec::new();
    for conjunct in conjuncts {
        match sink(plan, conjunct) {
            Sunk::Stays(conjunct) => kept.push(conjunct),
            Sunk::Input(conjunct) => below(main_input(plan), conjunct),
            Sunk::Inner(conjunct) => below(inner_plan(plan), conjunct),
            Sunk::Done => {}
        }
    }
    put(plan, kept);
    match plan {
        Plan::Filter(node) => &mut node.input,
        other => other,
    }
}

/// Where a conjunct goes from the operator it stands on.
enum Sunk {
    /// It is tested above the operator.
    Stays(Expr),
    /// It goes on from the operator's main input.
    Input(Expr),
    /// It goes on from the inner plan of an `Apply`.
    Inner(Expr),
    /// The operator took it.
    Done,
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

/// Where the conjunct goes from the node on top of the plan.
fn sink(plan: &mut Plan, conjunct: Expr) -> Sunk {
    if is_volatile(&conjunct) {
        return Sunk::Stays(conjunct);
    }
    let free = conjunct.free_variables();
    let made = plan.makes();
    let independent = !free.iter().any(|var| made.contains(var));
    match plan {
        Plan::Match(node) if !node.optional => {
            node.pattern.predicates.push(conjunct);
            Sunk::Done
        }
        Plan::Filter(_) => Sunk::Input(conjunct),
        Plan::Extend(node) => through(&node.items, conjunct, false),
        Plan::Project(node) => through(&node.items, conjunct, true),
        Plan::Aggregate(node) if !node.keys.is_empty() => through(&node.keys, conjunct, true),
        // What is carried of a first row is known only when it is the first.
        Plan::Distinct(node) if free.iter().all(|var| node.columns.contains(var)) => Sunk::Input(conjunct),
        Plan::Sort(node) if node.limit.is_none() => Sunk::Input(conjunct),
        Plan::Unwind(node) if independent => Sunk::Input(conjunct),
        Plan::ScanVertices(_)
        | Plan::SeekVertices(_)
        | Plan::SeekEdges(_)
        | Plan::SeekIds(_)
        | Plan::Expand(_)
        | Plan::ExpandPath(_)
        | Plan::ExpandPattern(_)
            if independent =>
        {
            Sunk::Input(conjunct)
        }
        Plan::Apply(node) => sink_apply(node, conjunct, independent),
        Plan::Join(node) => sink_join(node, conjunct, &free),
        Plan::Union(node) => sink_union(node, conjunct),
        _ => Sunk::Stays(conjunct),
    }
}

/// At the top of this plan, or deeper.
fn below(plan: &mut Plan, conjunct: Expr) {
    let (mut at, mut conjunct) = (plan, conjunct);
    loop {
        match sink(at, conjunct) {
            Sunk::Stays(conjunct) => return put(at, vec![conjunct]),
            Sunk::Input(next) => (at, conjunct) = (main_input(at), next),
            Sunk::Inner(next) => (at, conjunct) = (inner_plan(at), next),
            Sunk::Done => return,
        }
    }
}

fn main_input(plan: &mut Plan) -> &mut Plan {
    plan.input_mut().expect("`sink` says so only of operators with an input")
}

fn inner_plan(plan: &mut Plan) -> &mut Plan {
    match plan {
        Plan::Apply(node) => &mut node.inner,
        _ => unreachable!("`sink` says so only of applies"),
    }
}

/// Below computed columns: cheap ones are written out in the conjunct. `all`: nothing else passes the node.
fn through(items: &[(Var, Expr)], conjunct: Expr, all: bool) -> Sunk {
    let made = ProducedColumns::new(items);
    let item = |var: Var| made.get(var);
    for var in conjunct.free_variables() {
        match item(var) {
            Some(expr) if !is_cheap(expr) => return Sunk::Stays(conjunct),
            // An item that reads another item of the same node: leave it to stand above.
            Some(expr) if !all && expr.free_variables().iter().any(|read| item(*read).is_some()) => {
                return Sunk::Stays(conjunct);
            }
            None if all => return Sunk::Stays(conjunct),
            _ => {}
        }
    }
    match substitute(conjunct.clone(), &|var| item(var).cloned()) {
        Some(written) => Sunk::Input(written),
        None => Sunk::Stays(conjunct),
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

fn sink_apply(node: &mut Apply, conjunct: Expr, independent: bool) -> Sunk {
    if node.inner.writes() {
        return Sunk::Stays(conjunct);
    }
    if independent {
        return Sunk::Input(conjunct);
    }
    let free = conjunct.free_variables();
    if let ApplyKind::Inner(_) = node.kind {
        let columns = node.inner.columns();
        if free.iter().all(|var| columns.contains(var)) {
            return Sunk::Inner(conjunct);
        }
    }
    Sunk::Stays(conjunct)
}

fn sink_join(node: &mut Join, conjunct: Expr, free: &[Var]) -> Sunk {
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
    if build || probe { Sunk::Done } else { Sunk::Stays(conjunct) }
}

fn sink_union(node: &mut Union, conjunct: Expr) -> Sunk {
    let column = |var: Var| node.columns.iter().find(|(out, ..)| *out == var);
    let left = substitute(conjunct.clone(), &|var| column(var).map(|(_, left, _)| Expr::Variable(*left)));
    let right = substitute(conjunct.clone(), &|var| column(var).map(|(.., right)| Expr::Variable(*right)));
    let (Some(left), Some(right)) = (left, right) else { return Sunk::Stays(conjunct) };
    below(&mut node.left, left);
    below(&mut node.right, right);
    Sunk::Done
}
