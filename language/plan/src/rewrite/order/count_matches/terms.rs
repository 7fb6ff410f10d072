//! Pairs of vertices and edges that must differ: tested, or all matches less those where they are equal.
//!
//! The embeddings in which chosen pairs differ are all embeddings, less those where the first pair is one, and so on for each pair
//! (inclusion and exclusion). Where a pair is one, the shape is a smaller one: two vertices become one, or two edges do and with them
//! their ends. The same smaller shape is met in many ways; it is counted once, times the sum of the signs (which is the Möbius function of
//! the lattice of those partitions, Rota 1964). So a pattern whose edges of one type must differ is counted as trees and small cores, though
//! no row of it is ever made.

use super::arrange::{Arranged, arrange};
use super::shape::{Edge, Shape, Vertex};
use crate::expr::LabelExpr;
use crate::statistics::Planning;
use std::collections::BTreeMap;

/// Pairs up to which inclusion and exclusion is tried: four edges of one type have six.
const EXPANDED_PAIRS_MAX: usize = 6;
/// Terms beyond which the rewrite is given up: each is a plan of its own.
const TERMS_MAX: usize = 32;

/// Cost of grouping a row, in looks at a neighbour.
const GROUPED_ROW_COST: f64 = 4.0;

/// The cheapest way to count a shape, as terms to add up; none where one edge is enumerated more cheaply, from its other end.
pub(super) fn cheapest(shape: &Shape, planning: &dyn Planning) -> Option<Vec<Arranged>> {
    let tested = arrange(shape, 1, planning).map(|term| (term.cost, vec![term]));
    let (differs, unlike) = (!shape.differs.is_empty(), !shape.unlike.is_empty());
    let ways = [(differs, false), (false, unlike), (differs && unlike, differs && unlike)];
    let ways = ways.into_iter().filter(|(of_vertices, of_edges)| *of_vertices || *of_edges);
    let expanded = ways.filter_map(|(of_vertices, of_edges)| {
        let terms = expand(shape, of_vertices, of_edges)?;
        let terms = terms.into_iter().map(|(shape, times)| arrange(&shape, times, planning));
        let terms = terms.collect::<Option<Vec<_>>>()?;
        Some((terms.iter().map(|term| term.cost).sum(), terms))
    });
    let each = tested.into_iter().chain(expanded);
    let (cost, terms) = each.min_by(|a: &(f64, Vec<Arranged>), b| a.0.total_cmp(&b.0))?;
    let rows: f64 = terms.iter().map(|term| term.rows).sum();
    (shape.edges.len() > 1 || cost <= rows * GROUPED_ROW_COST).then_some(terms)
}

/// Classes of equal vertices, and of equal edges: for each the least member of its class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Merged {
    vertices: Vec<usize>,
    edges: Vec<usize>,
}

impl Merged {
    fn vertices_are_one(&mut self, a: usize, b: usize) {
        one(&mut self.vertices, a, b)
    }
    /// The ways in which two edges can be the same one, with their signs: one where they have directions, else either way round, of
    /// which both are the case where the edge is a loop.
    fn edges_are_one(&self, shape: &Shape, i: usize, j: usize) -> Vec<(Merged, i64)> {
        let (a, b) = (&shape.edges[i], &shape.edges[j]);
        let met = |pairs: &[(usize, usize)]| {
            let mut merged = self.clone();
            one(&mut merged.edges, i, j);
            pairs.iter().for_each(|(x, y)| merged.vertices_are_one(*x, *y));
            merged
        };
        let ((a, b), has_direction) = ((a.stored(), b.stored()), a.has_direction());
        let straight = [(a.0, b.0), (a.1, b.1)];
        if self.edges[i] == self.edges[j] {
            return vec![(self.clone(), 1)];
        }
        if has_direction {
            return vec![(met(&straight), 1)];
        }
        let crossed = [(a.0, b.1), (a.1, b.0)];
        let both = [straight[0], straight[1], crossed[0], crossed[1]];
        vec![(met(&straight), 1), (met(&crossed), 1), (met(&both), -1)]
    }
}

/// Makes two classes one.
fn one(places: &mut [usize], a: usize, b: usize) {
    let (a, b) = (places[a], places[b]);
    let (least, gone) = (a.min(b), a.max(b));
    places.iter_mut().filter(|place| **place == gone).for_each(|place| *place = least)
}

/// The terms: smaller shapes with factors; none where one of them cannot be counted, or where they are too many.
fn expand(shape: &Shape, of_vertices: bool, of_edges: bool) -> Option<Vec<(Shape, i64)>> {
    let vertices: &[(usize, usize)] = if of_vertices { &shape.differs } else { &[] };
    let edges: &[(usize, usize)] = if of_edges { &shape.unlike } else { &[] };
    if vertices.len() + edges.len() > EXPANDED_PAIRS_MAX {
        return None;
    }
    let nothing =
        Merged { vertices: (0..shape.vertices.len()).collect(), edges: (0..shape.edges.len()).collect() };
    let mut terms = BTreeMap::from([(nothing, 1_i64)]);
    let mut less = |met: &dyn Fn(&Merged) -> Vec<(Merged, i64)>| {
        for (merged, times) in terms.clone() {
            for (smaller, sign) in met(&merged) {
                *terms.entry(smaller).or_default() -= sign * times;
            }
        }
        terms.retain(|_, times| *times != 0);
    };
    for (a, b) in vertices {
        less(&|merged| {
            let mut merged = merged.clone();
            merged.vertices_are_one(*a, *b);
            vec![(merged, 1)]
        });
    }
    for (i, j) in edges {
        less(&|merged| merged.edges_are_one(shape, *i, *j));
    }
    if terms.len() > TERMS_MAX {
        return None;
    }
    let mut shapes = Vec::new();
    for (merged, times) in terms {
        if let Some(term) = smaller(shape, &merged, of_vertices, of_edges)? {
            shapes.push((term, times));
        }
    }
    Some(shapes)
}

/// A shape with these vertices and edges merged: an inner none where that contradicts absent or different parts, none where it cannot be counted.
fn smaller(shape: &Shape, merged: &Merged, of_vertices: bool, of_edges: bool) -> Option<Option<Shape>> {
    let place = |vertex: usize| merged.vertices[vertex];
    let mut vertices: Vec<Vertex> = shape.vertices.clone();
    for (at, vertex) in shape.vertices.iter().enumerate().filter(|(at, _)| place(*at) != *at) {
        let into = &mut vertices[place(at)];
        let old = std::mem::replace(&mut into.labels, LabelExpr::Any);
        into.labels = old.and(vertex.labels.clone());
        into.optional.extend(vertex.optional.iter().cloned());
        into.loops.extend(vertex.loops.iter().cloned());
        if shape.start == Some(at) {
            into.var = vertex.var;
        }
    }
    let moved = |edge: &Edge| Edge { from: place(edge.from), to: place(edge.to), ..edge.clone() };
    let (mut edges, mut numbers) = (Vec::new(), vec![None; shape.edges.len()]);
    for (at, edge) in shape.edges.iter().enumerate().filter(|(at, _)| merged.edges[*at] == *at) {
        let edge = moved(edge);
        if edge.from == edge.to {
            vertices[edge.from].loops.push(edge.types);
        } else {
            numbers[at] = Some(edges.len());
            edges.push(edge);
        }
    }
    let differs = |pairs: &[(usize, usize)]| -> Vec<(usize, usize)> {
        pairs.iter().map(|(a, b)| (place(*a), place(*b))).collect()
    };
    let differs = if of_vertices { Vec::new() } else { differs(&shape.differs) };
    if differs.iter().any(|(a, b)| a == b) {
        return Some(None);
    }
    // That two edges differ is tested between core vertices; of loops it cannot be told.
    let mut unlike = Vec::new();
    for (i, j) in if of_edges { &[][..] } else { &shape.unlike } {
        unlike.push((numbers[*i]?, numbers[*j]?));
    }
    let absent: Vec<Edge> = shape.absent.iter().map(moved).collect();
    if absent.iter().any(|absent| absent.from == absent.to) {
        return None;
    }
    if absent.iter().any(|absent| edges.iter().any(|edge| edge.is_same(absent))) {
        return Some(None);
    }
    let start = shape.start.map(place);
    Some(Some(Shape { vertices, edges, absent, differs, unlike, start, tests: shape.tests.clone() }))
}
