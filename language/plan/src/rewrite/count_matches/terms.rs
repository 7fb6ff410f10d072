//! Vertices that differ: tested, or all ways less those where they are one.

use super::arrange::{Arranged, arrange};
use super::shape::Shape;
use crate::expr::LabelExpr;
use crate::statistics::Planning;

/// Pairs up to which inclusion and exclusion is tried: each doubles the terms.
const EXPANDED_PAIRS_MAX: usize = 2;

/// The cheaper way to count a shape, as terms to add up.
pub(super) fn cheapest(shape: &Shape, planning: &dyn Planning) -> Option<Vec<Arranged>> {
    let tested = arrange(shape, false, planning).map(|term| (term.cost, vec![term]));
    let pairs = shape.differs.len();
    let expanded = (1..=EXPANDED_PAIRS_MAX).contains(&pairs).then(|| expand(shape, planning)).flatten();
    let each = [tested, expanded].into_iter().flatten();
    each.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, terms)| terms)
}

/// All terms, and their cost together.
fn expand(shape: &Shape, planning: &dyn Planning) -> Option<(f64, Vec<Arranged>)> {
    let (mut terms, mut cost) = (Vec::new(), 0.0);
    for chosen in 0..1_usize << shape.differs.len() {
        let mut merged = Shape { differs: Vec::new(), ..shape.clone() };
        let mut possible = true;
        // Where vertices go, as they are merged one pair after another.
        let mut place: Vec<usize> = (0..shape.vertices.len()).collect();
        for (number, (a, b)) in shape.differs.iter().enumerate() {
            if chosen >> number & 1 == 1 {
                let (a, b) = (place[*a], place[*b]);
                possible = possible && merge(&mut merged, a, b)?;
                place.iter_mut().filter(|at| **at == b).for_each(|at| *at = a);
            }
        }
        if possible {
            let term = arrange(&merged, chosen.count_ones() % 2 == 1, planning)?;
            cost += term.cost;
            terms.push(term)
        }
    }
    Some((cost, terms))
}

/// Makes two vertices one: false if that contradicts an edge that must be absent; none where it makes a loop.
fn merge(shape: &mut Shape, a: usize, b: usize) -> Option<bool> {
    if a == b {
        return Some(true);
    }
    let gone = shape.vertices[b].clone();
    let old = std::mem::replace(&mut shape.vertices[a].labels, LabelExpr::Any);
    shape.vertices[a].labels = old.and(gone.labels);
    shape.vertices[a].optional.extend(gone.optional);
    if shape.start == Some(b) {
        shape.vertices[a].var = gone.var;
        shape.start = Some(a)
    }
    for edge in shape.edges.iter_mut().chain(&mut shape.absent) {
        edge.from = if edge.from == b { a } else { edge.from };
        edge.to = if edge.to == b { a } else { edge.to };
        (edge.from != edge.to).then_some(())?
    }
    let contradicts = |absent: &super::shape::Edge| shape.edges.iter().any(|edge| edge.is_same(absent));
    Some(!shape.absent.iter().any(contradicts))
}
