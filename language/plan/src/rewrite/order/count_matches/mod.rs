//! Rewrite `count_matches`: a pattern whose rows are only counted is counted without its rows.
//!
//! `Aggregate` with nothing but counts of rows, over matches of which at most one vertex is read (by keys or conditions), becomes a sum
//! over `CountMatches`: that vertex is found as before, and what goes on from it is multiplied and added up, not enumerated. Parts:
//! - `shape`: what a plan matches, as one graph: required edges, edges that must be absent (`NOT EXISTS`), trees that may be missing
//!   (`OPTIONAL MATCH`), vertices that must differ. Distinctness of edges is shown from the latter, or tested between core vertices.
//! - `terms`: that vertices differ, or edges, is either tested, or counted as all ways less those where they are one (inclusion and
//!   exclusion), whichever is expected to be cheaper: `count(a <> b)` of a line is a line's count less a cycle's, and the count of two
//!   edges of one type in a row is that of all pairs that meet, less that of loops.
//! - `arrange`: which vertex to start from, which to bind (the core), in which order, and what hangs on them as trees.
//!
//! Sound because the shape's embeddings are exactly the rows. Where rows are grouped, groups whose terms cancel out are dropped as they
//! never had a row. Groups by the vertex itself are the rows that it has already. Cost: for each possible start one walk over the pattern, at most `shape::VERTICES_MAX` vertices.

mod arrange;
mod shape;
mod terms;

use crate::algebra::*;
use crate::expr::{BinaryOperator, Expr, Var};
use crate::functions::AggregateFunction;
use crate::names::Names;
use crate::pattern::{Pattern, PatternVertex};
use crate::statistics::Planning;
use arrange::Arranged;

/// Counts without rows wherever it can.
pub(crate) fn count_matches(plan: &mut Plan, planning: &dyn Planning, names: &mut Names<'_>) {
    let mut at = plan;
    loop {
        count_here(at, planning, names);
        match at {
            Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_) => {
                return at.children_mut().into_iter().for_each(|child| count_matches(child, planning, names));
            }
            line => match line.input_mut() {
                Some(input) => at = input,
                None => return,
            },
        }
    }
}

fn count_here(plan: &mut Plan, planning: &dyn Planning, names: &mut Names<'_>) {
    let Plan::Aggregate(node) = plan else { return };
    let Some(shape) = shape::shape(node) else { return };
    let Some(terms) = terms::cheapest(&shape, planning) else { return };
    let keyed = !node.keys.is_empty();
    let several = terms.len() > 1;
    let parts: Vec<_> = terms.into_iter().map(|term| part(term, &shape, names)).collect();
    let mut parts = parts.into_iter();
    let Some((mut input, start, mut count)) = parts.next() else { return };
    for (right, other, subtracted) in parts {
        let (left, sum) = (input, names.fresh("ways"));
        let mut columns = vec![(sum, count, subtracted)];
        if keyed {
            columns.push((start, start, other));
        }
        input = Plan::Union(Box::new(Union { left, right, columns, distinct: false }));
        count = sum
    }
    let of_start = |(_, key): &(Var, Expr)| matches!(key, Expr::Variable(var) if *var == start);
    if !several && node.keys.iter().any(of_start) {
        // Each vertex has one row, which is its group.
        let counts = node.aggregates.iter().map(|(column, _)| (*column, Expr::Variable(count)));
        let items = node.keys.iter().cloned().chain(counts).collect();
        *plan = Plan::Project(Box::new(Project { input, items }));
        return;
    }
    let argument = || AggregateCall {
        function: AggregateFunction::Sum,
        arguments: vec![Expr::Variable(count)],
        distinct: false,
    };
    node.aggregates.iter_mut().for_each(|(_, call)| *call = argument());
    let first = node.aggregates.first().map(|(var, _)| *var);
    node.input = input;
    if let Some(first) = first.filter(|_| keyed && several) {
        let some = Expr::binary(BinaryOperator::NotEqual, Expr::Variable(first), Expr::literal(0_i64));
        *plan = Plan::Filter(Box::new(Filter { input: plan.take(), predicate: some }))
    }
}

/// A term as a plan, its start, and the column of its numbers.
fn part(term: Arranged, shape: &shape::Shape, names: &mut Names<'_>) -> (Plan, Var, Var) {
    let vertex = PatternVertex { variable: term.start, labels: term.labels };
    let pattern = Pattern { vertices: vec![vertex], edges: Vec::new(), predicates: shape.tests.clone() };
    let input =
        Plan::Match(Box::new(Match { input: Plan::Unit, pattern, optional: false, hints: Vec::new() }));
    let count = names.fresh("ways");
    let node = CountMatches {
        input,
        start: term.start,
        trees: term.trees,
        steps: term.steps,
        count,
        times: term.times,
    };
    (Plan::CountMatches(Box::new(node)), term.start, count)
}
