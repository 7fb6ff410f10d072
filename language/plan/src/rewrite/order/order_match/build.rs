//! The chosen order, written out as operators.
//!
//! Invariant of [`Built`]: of the pattern's edges exactly those in `edges` have been found, any two of them that could be the
//! same one have been compared, and every predicate has been applied whose variables are all in `columns`.

use super::problem::{Edge, Problem, may_coincide};
use super::search::Ways;
use super::ways::{How, INPUT, Set, Side, Step};
use crate::algebra::*;
use crate::error::PlanError;
use crate::expr::{Expr, LabelExpr, Var};
use crate::vars::Vars;

/// A part of the plan under construction.
struct Built {
    plan: Plan,
    columns: Vars,
    edges: Vec<usize>,
}

/// Writes out the way to the full set, over the pattern's input.
pub(super) fn build(problem: &Problem<'_>, ways: &Ways, input: Plan) -> Result<Plan, PlanError> {
    let mut input = Some(input);
    let built = reach(problem, ways, problem.full(), &mut input);
    if built.edges.len() < problem.edges.len() {
        return Err(PlanError::unsupported(
            "conditions on the relationships of two paths read each other",
            "move one of them to a WHERE that names the relationships",
        ));
    }
    Ok(built.plan)
}

fn reach(problem: &Problem<'_>, ways: &Ways, set: Set, input: &mut Option<Plan>) -> Built {
    let mut steps = Vec::new();
    let mut at = set;
    let begin = loop {
        let way = ways.0.get(&at).expect("every set on a way has a way");
        if way.step == Step::Begin {
            break at;
        }
        steps.push((at, way.step));
        at = way.before;
    };
    let mut built = if begin == INPUT { begin_at_input(problem, input) } else { begin_alone() };
    for (set, step) in steps.into_iter().rev() {
        built = match step {
            Step::Begin => unreachable!("the loop above ends there"),
            Step::Join(part) => {
                let other = reach(problem, ways, part, input);
                join(problem, built, other)
            }
            Step::Scan(number) => scan(problem, built, number),
            Step::Seek(number, which) => seek(problem, built, number, which),
            Step::Walk(number, edge, side) => walk(problem, built, number, edge, side),
        };
        close(problem, &mut built, set);
    }
    built
}

fn begin_alone() -> Built {
    Built { plan: Plan::Unit, columns: Vars::new(), edges: Vec::new() }
}

/// The input, with the predicates that read nothing else, and the edges between vertices it binds.
fn begin_at_input(problem: &Problem<'_>, input: &mut Option<Plan>) -> Built {
    let plan = input.take().expect("only one set holds the input");
    let columns = problem.input_columns.clone();
    let tests = problem.predicates.iter().filter(|test| test.free.iter().all(|var| columns.contains(var)));
    let plan = filter(plan, tests.map(|test| test.expr.clone()).collect());
    let mut built = Built { plan, columns, edges: Vec::new() };
    close(problem, &mut built, INPUT);
    built
}

fn filter(input: Plan, predicates: Vec<Expr>) -> Plan {
    if predicates.is_empty() {
        return input;
    }
    Plan::Filter(Box::new(Filter { input, predicate: Expr::all(predicates) }))
}

/// Adds columns, and the predicates that are complete by them and not answered already.
fn settle(problem: &Problem<'_>, built: &mut Built, new: &[Var], mut first: Vec<Expr>, answered: &[usize]) {
    let old = built.columns.clone();
    built.columns.extend(new.iter().copied());
    let complete = |columns: &Vars, free: &[Var]| free.iter().all(|var| columns.contains(var));
    for (number, test) in problem.predicates.iter().enumerate() {
        let now = complete(&built.columns, &test.free) && !complete(&old, &test.free);
        if now && !test.free.is_empty() && !answered.contains(&number) {
            first.push(test.expr.clone())
        }
    }
    built.plan = filter(built.plan.take(), first);
}

fn scan(problem: &Problem<'_>, mut built: Built, number: usize) -> Built {
    let vertex = &problem.vertices[number];
    let (variable, labels) = (vertex.variable, vertex.labels.clone());
    let node = ScanVertices { input: built.plan, vertex: variable, labels };
    built.plan = Plan::ScanVertices(Box::new(node));
    settle(problem, &mut built, &[variable], Vec::new(), &[]);
    built
}

fn seek(problem: &Problem<'_>, mut built: Built, number: usize, which: usize) -> Built {
    let vertex = &problem.vertices[number];
    let (start, variable) = (&vertex.seeks[which], vertex.variable);
    let input = built.plan;
    let mut labels = vertex.labels.clone();
    built.plan = match start.how.clone() {
        How::AnyLabel(any) => {
            let rest = start.answered.iter().map(|test| problem.predicates[*test].expr.clone()).collect();
            any.plan(input, variable, rest)
        }
        How::Ids(ids) => Plan::SeekIds(Box::new(SeekIds { input, vertex: variable, ids })),
        How::Index { label, keys, seek } => {
            labels = without(labels, &label);
            Plan::SeekVertices(Box::new(SeekVertices { input, vertex: variable, label, keys, seek }))
        }
    };
    let more = (!labels.is_any()).then(|| Expr::HasLabels(Box::new(Expr::Variable(variable)), labels));
    settle(problem, &mut built, &[variable], more.into_iter().collect(), &start.answered);
    built
}

/// The label expression, given that this label is there.
fn without(labels: LabelExpr, given: &str) -> LabelExpr {
    match labels {
        LabelExpr::Has(name) if *name == *given => LabelExpr::Any,
        LabelExpr::And(a, b) => without(*a, given).and(without(*b, given)),
        other => other,
    }
}

fn walk(problem: &Problem<'_>, mut built: Built, number: usize, edge: usize, side: Side) -> Built {
    let vertex = &problem.vertices[number];
    built.plan = expand(problem, built.plan, edge, side, false, vertex.labels.clone());
    found_edge(problem, &mut built, edge, Some(vertex.variable));
    built
}

/// Notes an edge (and with it perhaps its far end) as found: it must differ from those it may coincide with.
fn found_edge(problem: &Problem<'_>, built: &mut Built, edge: usize, end: Option<Var>) {
    let found = &problem.edges[edge];
    let others = built.edges.iter().map(|other| &problem.edges[*other]);
    let distinct = distinct_from(found, others.filter(|other| may_coincide(found, other)));
    built.edges.push(edge);
    let new: Vec<Var> = end.into_iter().chain([found.pattern.variable]).collect();
    settle(problem, built, &new, distinct.into_iter().collect(), &[])
}

fn distinct_from<'a>(found: &Edge, others: impl Iterator<Item = &'a Edge>) -> Option<Expr> {
    let mut together: Vec<Var> = others.map(|other| other.pattern.variable).collect();
    if together.is_empty() {
        return None;
    }
    together.push(found.pattern.variable);
    Some(Expr::EdgesDistinct(together))
}

/// Finds the edges whose ends are both bound by now, in an order in which each has the inputs of its predicate.
fn close(problem: &Problem<'_>, built: &mut Built, set: Set) {
    loop {
        let ready = |edge: usize| {
            let reads = super::problem::edge_predicate_reads(&problem.edges[edge].pattern);
            let pending = |var: &Var| {
                problem.edges.iter().any(|e| e.pattern.variable == *var) && !built.columns.contains(var)
            };
            problem.edges[edge].need & !set == 0 && !built.edges.contains(&edge) && !reads.iter().any(pending)
        };
        let Some(edge) = (0..problem.edges.len()).find(|edge| ready(*edge)) else { return };
        let found = &problem.edges[edge];
        let side = if found.back.fan < found.there.fan { Side::To } else { Side::From };
        built.plan = expand(problem, built.plan.take(), edge, side, true, LabelExpr::Any);
        found_edge(problem, built, edge, None)
    }
}

/// The operator that walks an edge or a run.
fn expand(
    problem: &Problem<'_>,
    input: Plan,
    edge: usize,
    side: Side,
    into: bool,
    labels: LabelExpr,
) -> Plan {
    let pattern = &problem.edges[edge].pattern;
    let (from, to, direction) = match side {
        Side::From => (pattern.from, pattern.to, pattern.direction),
        Side::To => (pattern.to, pattern.from, pattern.direction.reversed()),
    };
    let types = pattern.types.clone();
    let Some(run) = &pattern.run else {
        let edge = Some(pattern.variable);
        let properties = Vec::new();
        let node =
            Expand { input, from, edge, to, types, direction, into, labels, loops_twice: false, properties };
        return Plan::Expand(Box::new(node));
    };
    Plan::ExpandPath(Box::new(ExpandPath {
        input,
        from,
        edges: Some(pattern.variable),
        edges_reversed: side == Side::To,
        length: None,
        to,
        types,
        direction,
        into,
        labels,
        min: run.min,
        max: run.max,
        mode: run.mode,
        selector: run.selector,
        distinct_ends: false,
        edge_predicate: run.edge_predicate.clone(),
    }))
}

/// Joins two parts found independently; edges of one must differ from edges of the other.
fn join(problem: &Problem<'_>, left: Built, right: Built) -> Built {
    let on: Vec<Var> = left.columns.iter().copied().filter(|var| right.columns.contains(var)).collect();
    let found = |edge: &usize| &problem.edges[*edge];
    let mut distinct = Vec::new();
    for edge in &right.edges {
        let others = left.edges.iter().map(found).filter(|other| may_coincide(found(edge), other));
        distinct.extend(distinct_from(found(edge), others))
    }
    let planning = problem.planning;
    let (a, b) =
        (crate::estimate::estimate(&left.plan, planning), crate::estimate::estimate(&right.plan, planning));
    let (build, probe) = if a <= b { (left.plan, right.plan) } else { (right.plan, left.plan) };
    let mut built = Built {
        plan: Plan::Join(Box::new(Join { build, probe, on, once: false })),
        columns: left.columns.clone(),
        edges: left.edges,
    };
    built.edges.extend(right.edges);
    // Predicates complete on one side were applied there; `settle` sees the right side's columns as new, so those are left out.
    let within = |test: &super::problem::Predicate| test.free.iter().all(|var| right.columns.contains(var));
    let applied: Vec<usize> = problem
        .predicates
        .iter()
        .enumerate()
        .filter(|(_, test)| within(test))
        .map(|(number, _)| number)
        .collect();
    settle(problem, &mut built, &right.columns, distinct, &applied);
    built
}
