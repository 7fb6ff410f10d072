//! Chooses the start, the order of binding, and the trees.
//!
//! A vertex with one edge and no other condition is a leaf; leaves are stripped until none is left but the start. The rest is the core. Each vertex
//! that may be the start is tried; from it, the core is bound greedily by the fewest expected candidates.

use super::shape::{Edge, Shape};
use crate::algebra::*;
use crate::cost;
use crate::expr::{LabelExpr, Var};
use crate::statistics::Planning;
use model::Direction;

/// Looking at one more neighbour or vertex.
const LOOK_COST: f64 = 1.0;
/// Intersecting with one more list, for each candidate.
const MEET_COST: f64 = 1.0;

/// A term, ready to be written.
pub(super) struct Arranged {
    pub start: Var,
    pub labels: LabelExpr,
    pub trees: Vec<CountTree>,
    pub steps: Vec<CountStep>,
    /// Factor of the count.
    pub times: i64,
    pub cost: f64,
    /// Rows that the start and its trees would have, were they enumerated.
    pub rows: f64,
}

/// The cheapest arrangement of a shape.
pub(super) fn arrange(shape: &Shape, times: i64, planning: &dyn Planning) -> Option<Arranged> {
    let alive = |vertex: usize| {
        let loops = !shape.vertices[vertex].loops.is_empty();
        loops || shape.edges.iter().any(|edge| edge.from == vertex || edge.to == vertex)
    };
    let starts: Vec<usize> = match shape.start {
        Some(start) => vec![start],
        None => (0..shape.vertices.len()).filter(|vertex| alive(*vertex)).collect(),
    };
    let each = starts.into_iter().filter_map(|start| Plan::new(shape, planning, start).arranged(times));
    each.min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// One start, with the stripped trees.
struct Plan<'a> {
    shape: &'a Shape,
    planning: &'a dyn Planning,
    start: usize,
    /// Edges of the core.
    core: Vec<usize>,
    /// Stripped: the edge, and the vertex it hangs on.
    hanging: Vec<(usize, usize)>,
}

impl<'a> Plan<'a> {
    fn new(shape: &'a Shape, planning: &'a dyn Planning, start: usize) -> Plan<'a> {
        let mut plan =
            Plan { shape, planning, start, core: (0..shape.edges.len()).collect(), hanging: Vec::new() };
        plan.strip();
        plan
    }

    /// Is it spoken of by more than its edges?
    fn is_pinned(&self, vertex: usize) -> bool {
        let shape = self.shape;
        let ends = |edge: &Edge| edge.from == vertex || edge.to == vertex;
        vertex == self.start
            || shape.differs.iter().any(|(a, b)| *a == vertex || *b == vertex)
            || shape.absent.iter().any(ends)
            || shape.unlike.iter().any(|(a, b)| ends(&shape.edges[*a]) || ends(&shape.edges[*b]))
    }

    fn strip(&mut self) {
        loop {
            let degree = |vertex: usize| {
                let met = self.core.iter().map(|at| &self.shape.edges[*at]);
                met.filter(|edge| edge.from == vertex || edge.to == vertex).count()
            };
            let leaf = (0..self.shape.vertices.len())
                .find(|vertex| degree(*vertex) == 1 && !self.is_pinned(*vertex));
            let Some(leaf) = leaf else { return };
            let at = self.core.iter().position(|at| {
                let edge = &self.shape.edges[*at];
                edge.from == leaf || edge.to == leaf
            });
            let edge = self.core.remove(at.expect("a leaf has its edge"));
            let ends = &self.shape.edges[edge];
            self.hanging.push((edge, if ends.from == leaf { ends.to } else { ends.from }))
        }
    }

    /// The far end and the direction of an edge as met at `near`.
    fn seen(&self, edge: &Edge, near: usize) -> (usize, Direction) {
        if edge.from == near { (edge.to, edge.direction) } else { (edge.from, edge.direction.reversed()) }
    }

    fn trees(&self, at: usize) -> Vec<CountTree> {
        let hanging = self.hanging.iter().filter(|(_, parent)| *parent == at);
        let hanging = hanging.map(|(edge, _)| {
            let edge = &self.shape.edges[*edge];
            let (far, direction) = self.seen(edge, at);
            let labels = self.shape.vertices[far].labels.clone();
            CountTree {
                types: edge.types.clone(),
                direction,
                labels,
                optional: false,
                is_loop: false,
                trees: self.trees(far),
            }
        });
        let is_loop = |types: &Vec<crate::expr::Name>| CountTree {
            types: types.clone(),
            direction: Direction::Out,
            labels: LabelExpr::Any,
            optional: false,
            is_loop: true,
            trees: Vec::new(),
        };
        // Few vertices have one: where there is none, nothing else is looked at.
        let mut trees: Vec<CountTree> = self.shape.vertices[at].loops.iter().map(is_loop).collect();
        trees.extend(hanging);
        trees.extend(self.shape.vertices[at].optional.iter().cloned());
        trees
    }

    /// Edges met at one vertex with these labels, and the share of them that lead to the others.
    fn fan(
        &self,
        labels: &LabelExpr,
        edge: &[crate::expr::Name],
        direction: Direction,
        far: &LabelExpr,
    ) -> (f64, f64) {
        let near = cost::rarest(self.planning, labels);
        let degree = cost::degree(self.planning, near.as_deref(), edge, direction);
        (degree, cost::far_share(self.planning, near.as_deref(), edge, direction, far))
    }

    /// Cost of the trees at `rows` vertices with these labels; each vertex is worked out once.
    fn trees_cost(&self, trees: &[CountTree], labels: &LabelExpr, rows: f64) -> f64 {
        let met = rows.min(cost::labelled(self.planning, labels));
        let each = trees.iter().map(|tree| {
            let (degree, kept) = self.fan(labels, &tree.types, tree.direction, &tree.labels);
            if tree.trees.is_empty() && kept >= 1.0 {
                return met * LOOK_COST;
            }
            met * (1.0 + degree) * LOOK_COST + self.trees_cost(&tree.trees, &tree.labels, met * degree * kept)
        });
        each.sum()
    }

    fn arranged(self, times: i64) -> Option<Arranged> {
        let start = &self.shape.vertices[self.start];
        let mut rows = cost::labelled(self.planning, &start.labels);
        let mut spent = rows * LOOK_COST;
        let mut shares = cost::ConditionShares::default();
        for test in &self.shape.tests {
            rows *= shares.next(self.planning, test, &|_| cost::rarest(self.planning, &start.labels));
        }
        let trees = self.trees(self.start);
        spent += self.trees_cost(&trees, &start.labels, rows);
        let fans =
            trees.iter().map(|tree| self.fan(&start.labels, &tree.types, tree.direction, &tree.labels));
        let enumerated = rows * fans.map(|(degree, kept)| degree * kept).product::<f64>();
        let core: Vec<&Edge> = self.core.iter().map(|at| &self.shape.edges[*at]).collect();
        let mut bound = vec![self.start];
        let mut steps = Vec::new();
        loop {
            let open = core.iter().flat_map(|edge| [edge.from, edge.to]).filter(|at| !bound.contains(at));
            let mut open: Vec<usize> = open.collect();
            open.sort_unstable();
            open.dedup();
            let each = open.into_iter().filter_map(|vertex| Some((vertex, self.candidates(&bound, vertex)?)));
            let best = each.min_by(|a, b| {
                (a.1.1, a.1.0).partial_cmp(&(b.1.1, b.1.0)).unwrap_or(std::cmp::Ordering::Equal)
            });
            let Some((vertex, (looked, kept, arms))) = best else { break };
            spent += rows * looked * (LOOK_COST + MEET_COST * (arms as f64 - 1.0));
            rows *= kept;
            let step = self.step(&bound, vertex);
            spent += self.trees_cost(&step.trees, &step.labels, rows);
            steps.push(step);
            bound.push(vertex)
        }
        let all = core.iter().all(|edge| bound.contains(&edge.from) && bound.contains(&edge.to));
        let (labels, start) = (start.labels.clone(), start.var);
        all.then_some(Arranged { start, labels, trees, steps, times, cost: spent, rows: enumerated })
    }

    /// For each row: neighbours looked at to bind the vertex, those that are left, and the edges that say so.
    fn candidates(&self, bound: &[usize], vertex: usize) -> Option<(f64, f64, usize)> {
        let labels = &self.shape.vertices[vertex].labels;
        let all = cost::labelled(self.planning, labels);
        let (mut looked, mut kept, mut arms) = (f64::INFINITY, all, 0);
        for edge in self.core.iter().map(|at| &self.shape.edges[*at]) {
            let other = if edge.from == vertex { edge.to } else { edge.from };
            if (edge.from != vertex && edge.to != vertex) || !bound.contains(&other) {
                continue;
            }
            let (_, direction) = self.seen(edge, other);
            let (degree, share) =
                self.fan(&self.shape.vertices[other].labels, &edge.types, direction, labels);
            looked = looked.min(degree);
            kept *= degree * share / all;
            arms += 1
        }
        (arms > 0).then_some((looked, kept, arms))
    }

    fn step(&self, bound: &[usize], vertex: usize) -> CountStep {
        let var = |at: usize| self.shape.vertices[at].var;
        // Of edges to two bound vertices, the one to the last bound comes first: its list changes most often, the others are kept.
        let order = |at: usize| bound.iter().position(|known| *known == at);
        let meets = |edge: &&Edge| {
            let other = if edge.from == vertex { edge.to } else { edge.from };
            (edge.from == vertex || edge.to == vertex) && bound.contains(&other)
        };
        let mut found: Vec<usize> =
            self.core.iter().copied().filter(|at| meets(&&self.shape.edges[*at])).collect();
        let other = |edge: &Edge| if edge.from == vertex { edge.to } else { edge.from };
        found.sort_by_key(|at| std::cmp::Reverse(order(other(&self.shape.edges[*at]))));
        let before = |at: usize| {
            let edge = &self.shape.edges[at];
            let in_core = self.core.contains(&at);
            in_core && bound.contains(&edge.from) && bound.contains(&edge.to)
        };
        let arm = |edge: &Edge, unlike: Vec<(Var, Var)>| {
            let (_, direction) = self.seen(edge, other(edge));
            CountArm { other: var(other(edge)), types: edge.types.clone(), direction, unlike }
        };
        let arms = found.iter().enumerate().map(|(place, at)| {
            let coincides = |with: usize| {
                let pair = (with.min(*at), with.max(*at));
                self.shape.unlike.contains(&pair) && (before(with) || found[..place].contains(&with))
            };
            let others = (0..self.shape.edges.len()).filter(|with| coincides(*with));
            let ends = |with: usize| {
                let (a, b) = self.shape.edges[with].stored();
                (var(a), var(b))
            };
            arm(&self.shape.edges[*at], others.map(ends).collect())
        });
        let absent = self.shape.absent.iter().filter(meets).map(|edge| arm(edge, Vec::new()));
        let differs = self.shape.differs.iter().filter_map(|(a, b)| match (*a == vertex, *b == vertex) {
            (true, _) if bound.contains(b) => Some(var(*b)),
            (_, true) if bound.contains(a) => Some(var(*a)),
            _ => None,
        });
        CountStep {
            vertex: var(vertex),
            labels: self.shape.vertices[vertex].labels.clone(),
            arms: arms.collect(),
            absent: absent.collect(),
            differs: differs.collect(),
            trees: self.trees(vertex),
        }
    }
}
