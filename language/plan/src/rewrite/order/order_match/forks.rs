//! Two edges of one kind at one vertex: a vertex with one of them likely has many.
//!
//! The vertex at the end of an edge is a hub more often than a random vertex is, so the pairs of edges at a vertex number not the mean degree squared
//! but the mean of the squared degree ([`Planning::spread`](crate::Planning::spread)); less the pairs of an edge with itself, where the two must
//! differ. That is a property of the set of vertices that holds both edges, whatever the order. Of several edges each is paired with the next: an
//! under-estimate, but one that errs by less. A vertex that is asked for by name counts as if an edge had led to it.

use super::problem::{Problem, may_coincide};
use super::ways::Fork;
use crate::cost;
use crate::expr::{Name, Var};
use model::Direction;

/// No pair is taken to be rarer or more frequent than this, compared with independent edges.
const SHARE_MIN: f64 = 0.01;
const SHARE_MAX: f64 = cost::SPREAD_MAX;

/// An edge as its vertex sees it.
struct EdgeEnd<'a> {
    number: usize,
    at: Var,
    types: &'a [Name],
    direction: Direction,
}

/// The pairs of a problem.
pub(super) fn forks(problem: &Problem<'_>) -> Vec<Fork> {
    let mut seen: Vec<EdgeEnd<'_>> = Vec::new();
    let mut forks = Vec::new();
    for (number, edge) in problem.edges.iter().enumerate() {
        let pattern = &edge.pattern;
        if pattern.run.is_some() || pattern.from == pattern.to {
            continue;
        }
        for (at, direction) in [(pattern.from, pattern.direction), (pattern.to, pattern.direction.reversed())]
        {
            let own = EdgeEnd { number, at, types: &pattern.types, direction };
            let twin = |other: &&EdgeEnd<'_>| {
                other.at == at && other.types == own.types && other.direction == own.direction
            };
            match seen.iter().rev().find(twin) {
                Some(other) => forks.extend(fork(problem, other, &own)),
                None if problem.is_named(at) => forks.extend(named(problem, &own)),
                None => {}
            }
            seen.push(own);
        }
    }
    forks
}

fn spread(problem: &Problem<'_>, end: &EdgeEnd<'_>) -> Option<f64> {
    let label = problem.label_at(end.at, end.types, end.direction);
    let types: Vec<&str> = end.types.iter().map(|name| &**name).collect();
    problem.planning.spread(label.as_deref(), &types, end.direction)
}

/// The first edge of its kind at a vertex that is asked for by name.
fn named(problem: &Problem<'_>, end: &EdgeEnd<'_>) -> Option<Fork> {
    let share = spread(problem, end)?.clamp(SHARE_MIN, SHARE_MAX);
    let (edges, at) = ([end.number; 2], problem.bit(end.at));
    Some(Fork { edges, at, need: problem.edges[end.number].need, share })
}

fn fork(problem: &Problem<'_>, a: &EdgeEnd<'_>, b: &EdgeEnd<'_>) -> Option<Fork> {
    let label = problem.label_at(a.at, a.types, a.direction);
    let spread = spread(problem, a)?;
    let (first, second) = (&problem.edges[a.number], &problem.edges[b.number]);
    let degree = cost::degree(problem.planning, label.as_deref(), a.types, a.direction).max(1e-3);
    let itself = if may_coincide(first, second) { 1.0 / degree } else { 0.0 };
    let share = (spread - itself).clamp(SHARE_MIN, SHARE_MAX);
    let (edges, at) = ([a.number, b.number], problem.bit(a.at));
    Some(Fork { edges, at, need: first.need | second.need, share })
}
