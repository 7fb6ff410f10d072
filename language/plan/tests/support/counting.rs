//! Counting by trying everything: the meaning of `CountMatches`.

use super::evaluate::Row;
use super::graph::Graph;
use model::{Direction, EdgeRef, Value, VertexId};
use tanglewood_plan::algebra::*;
use tanglewood_plan::expr::Var;

/// Bound vertices, and the edges found so far with their ends' variables.
#[derive(Default)]
struct Bound {
    vertices: Vec<(Var, VertexId)>,
    edges: Vec<((Var, Var), EdgeRef)>,
}

impl Bound {
    fn vertex(&self, var: Var) -> VertexId {
        self.vertices.iter().find(|(known, _)| *known == var).expect("bound before").1
    }
}

/// The row with its count; none where that is nothing.
pub fn count_matches(graph: &Graph, node: &CountMatches, row: &Row) -> Option<Row> {
    let Value::Vertex(start) = row[&node.start] else { return None };
    let mut bound = Bound { vertices: vec![(node.start, start)], ..Bound::default() };
    let ways = trees(graph, &node.trees, start) * steps(graph, &node.steps, &mut bound);
    let mut row = row.clone();
    row.insert(node.count, Value::Int(node.times * ways));
    (ways > 0).then_some(row)
}

fn trees(graph: &Graph, all: &[CountTree], at: VertexId) -> i64 {
    let one = |tree: &CountTree| {
        let ends = graph.at(at, &tree.types, tree.direction).into_iter().map(|(_, end)| end);
        let ends = ends.filter(|end| !tree.is_loop || *end == at);
        let sum: i64 =
            ends.filter(|end| graph.has(*end, &tree.labels)).map(|end| trees(graph, &tree.trees, end)).sum();
        sum.max(i64::from(tree.optional))
    };
    all.iter().map(one).product()
}

fn steps(graph: &Graph, left: &[CountStep], bound: &mut Bound) -> i64 {
    let Some((step, rest)) = left.split_first() else { return 1 };
    let mut sum = 0;
    for vertex in (0..graph.vertices.len() as u64).map(VertexId) {
        let meets = |arm: &CountArm| {
            graph.at(bound.vertex(arm.other), &arm.types, arm.direction).iter().any(|(_, far)| *far == vertex)
        };
        let differs = step.differs.iter().all(|other| bound.vertex(*other) != vertex);
        if !differs || !graph.has(vertex, &step.labels) || step.absent.iter().any(meets) {
            continue;
        }
        bound.vertices.push((step.vertex, vertex));
        sum += trees(graph, &step.trees, vertex) * arms(graph, step, &step.arms, rest, bound);
        bound.vertices.pop();
    }
    sum
}

fn arms(graph: &Graph, step: &CountStep, left: &[CountArm], rest: &[CountStep], bound: &mut Bound) -> i64 {
    let Some((arm, others)) = left.split_first() else { return steps(graph, rest, bound) };
    let (here, there) = (bound.vertex(step.vertex), bound.vertex(arm.other));
    let mut sum = 0;
    for (edge, far) in graph.at(there, &arm.types, arm.direction) {
        let is_named = |ends: &(Var, Var)| {
            arm.unlike.contains(ends)
                || arm.direction == Direction::Both && arm.unlike.contains(&(ends.1, ends.0))
        };
        let taken = bound.edges.iter().any(|(ends, other)| is_named(ends) && other.id == edge.id);
        if far != here || taken {
            continue;
        }
        let ends =
            if arm.direction == Direction::In { (step.vertex, arm.other) } else { (arm.other, step.vertex) };
        bound.edges.push((ends, edge));
        sum += arms(graph, step, others, rest, bound);
        bound.edges.pop();
    }
    sum
}
