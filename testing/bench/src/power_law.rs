//! A power-law graph from a seed, and reference answers of plain searches on it.
//!
//! Chung and Lu (2002): edge ends are drawn in proportion to weights that fall as a power of the rank, sources and targets by separate permutations,
//! without loops and repetitions, until the number of edges is reached.

use world::chance::Chance;

/// Shape of the graph.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Vertices, numbered from 0.
    pub vertices: u32,
    /// Distinct directed edges, without loops.
    pub edges: usize,
    /// Exponent of the degree distribution.
    pub exponent: f64,
    /// Added to each rank, so that the largest hub is not everybody's neighbour.
    pub rank_shift: f64,
    /// The seed of the draws.
    pub seed: u64,
}

/// The graph of the first bench: 100,000 vertices, a million edges.
pub const FIRST: Shape =
    Shape { vertices: 100_000, edges: 1_000_000, exponent: 2.3, rank_shift: 10.0, seed: 42 };

/// Out-degrees of vertices that count as ordinary.
const ORDINARY_DEGREES: std::ops::RangeInclusive<usize> = 8..=32;

/// A directed graph as plain arrays: the obvious twin of everything a database does with it.
#[derive(Clone, Debug)]
pub struct Graph {
    offsets: Vec<usize>,
    targets: Vec<u32>,
}

/// A vertex to ask about, and the right answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Where the walks start.
    pub source: u32,
    /// Its out-degree.
    pub degree: usize,
    /// Distinct ends of walks of 1 to 1, 2, 3 steps; the source itself among them if it lies on a cycle so short.
    pub within: [u64; 3],
    /// Does the source count among the ends within 1, 2, 3 steps?
    pub on_cycle: [bool; 3],
}

impl Graph {
    /// Draws the graph of this shape.
    pub fn generate(shape: &Shape) -> Graph {
        let mut chance = Chance::seeded(shape.seed);
        let ranks = cumulative_weights(shape);
        let mut permutation = || {
            let mut vertices: Vec<u32> = (0..shape.vertices).collect();
            chance.shuffle(&mut vertices);
            vertices
        };
        let (sources, targets) = (permutation(), permutation());
        let mut draw = |by_rank: &[u32]| {
            let share = chance.float();
            by_rank[ranks.partition_point(|sum| *sum <= share).min(by_rank.len() - 1)]
        };
        let mut edges: Vec<(u32, u32)> = Vec::new();
        while edges.len() < shape.edges {
            for _ in 0..shape.edges - edges.len() {
                let edge = (draw(&sources), draw(&targets));
                if edge.0 != edge.1 {
                    edges.push(edge);
                }
            }
            edges.sort_unstable();
            edges.dedup();
        }
        Graph::of_sorted(shape.vertices, &edges)
    }

    /// A graph of sorted edges.
    pub(crate) fn of_sorted(vertices: u32, edges: &[(u32, u32)]) -> Graph {
        let mut offsets = vec![0; vertices as usize + 1];
        for (source, _) in edges {
            offsets[*source as usize + 1] += 1;
        }
        for vertex in 0..vertices as usize {
            offsets[vertex + 1] += offsets[vertex];
        }
        Graph { offsets, targets: edges.iter().map(|(_, target)| *target).collect() }
    }

    /// Vertices.
    pub fn vertex_count(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }
    /// Edges.
    pub fn edge_count(&self) -> usize {
        self.targets.len()
    }
    /// Ends of the edges that start at `vertex`, sorted.
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        &self.targets[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }
    /// Every edge.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let of = |source| self.neighbours(source).iter().map(move |target| (source, *target));
        (0..self.vertex_count()).flat_map(of)
    }

    /// The right answers for walks from `source`, by plain breadth-first search level by level.
    pub fn question(&self, source: u32) -> Question {
        let mut seen = vec![false; self.vertex_count() as usize];
        let (mut frontier, mut ends) = (vec![source], 0);
        let (mut within, mut on_cycle) = ([0; 3], [false; 3]);
        for step in 0..3 {
            let mut next = Vec::new();
            for target in frontier.iter().flat_map(|vertex| self.neighbours(*vertex)) {
                if !std::mem::replace(&mut seen[*target as usize], true) {
                    next.push(*target);
                }
            }
            ends += next.len() as u64;
            within[step] = ends;
            on_cycle[step] = seen[source as usize];
            frontier = next;
        }
        Question { source, degree: self.neighbours(source).len(), within, on_cycle }
    }

    /// `count` ordinary vertices, chosen by `seed`.
    pub fn ordinary(&self, count: usize, seed: u64) -> Vec<u32> {
        let is_ordinary = |vertex: &u32| ORDINARY_DEGREES.contains(&self.neighbours(*vertex).len());
        let mut vertices: Vec<u32> = (0..self.vertex_count()).filter(is_ordinary).collect();
        Chance::seeded(seed).shuffle(&mut vertices);
        vertices.truncate(count);
        vertices
    }

    /// The vertex with the most edges out.
    pub fn largest_hub(&self) -> u32 {
        (0..self.vertex_count()).max_by_key(|vertex| self.neighbours(*vertex).len()).unwrap_or(0)
    }
}

/// Share of all weight up to and including each rank.
fn cumulative_weights(shape: &Shape) -> Vec<f64> {
    let power = -1.0 / (shape.exponent - 1.0);
    let mut sum = 0.0;
    let mut sums: Vec<f64> = (1..=shape.vertices)
        .map(|rank| {
            sum += (f64::from(rank) + shape.rank_shift).powf(power);
            sum
        })
        .collect();
    sums.iter_mut().for_each(|part| *part /= sum);
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SMALL: Shape = Shape { vertices: 300, edges: 1_500, ..FIRST };

    #[test]
    fn the_same_seed_draws_the_same_graph_without_loops_and_repetitions() {
        let (graph, again) = (Graph::generate(&SMALL), Graph::generate(&SMALL));
        let edges: Vec<_> = graph.edges().collect();
        assert!(edges.iter().eq(again.edges().collect::<Vec<_>>().iter()));
        assert_eq!((edges.len(), graph.edge_count()), (1_500, 1_500));
        assert!(edges.iter().all(|(source, target)| source != target && *target < 300));
        assert_eq!(edges.iter().collect::<BTreeSet<_>>().len(), 1_500);
        let other = Graph::generate(&Shape { seed: 43, ..SMALL });
        assert!(!edges.iter().eq(other.edges().collect::<Vec<_>>().iter()));
    }

    #[test]
    fn answers_are_those_of_enumerated_walks() {
        let graph = Graph::generate(&SMALL);
        for source in 0..300 {
            let question = graph.question(source);
            let (mut ends, mut level) = (BTreeSet::new(), BTreeSet::from([source]));
            for step in 0..3 {
                level = level.iter().flat_map(|vertex| graph.neighbours(*vertex)).copied().collect();
                ends.extend(level.iter().copied());
                assert_eq!(question.within[step], ends.len() as u64);
                assert_eq!(question.on_cycle[step], ends.contains(&source));
            }
        }
    }

    #[test]
    fn the_hub_stands_out_and_ordinary_vertices_do_not() {
        let graph = Graph::generate(&SMALL);
        let hub = graph.neighbours(graph.largest_hub()).len();
        assert!(hub > 4 * 1_500 / 300);
        let ordinary = graph.ordinary(5, 7);
        assert!(ordinary.iter().all(|vertex| ORDINARY_DEGREES.contains(&graph.neighbours(*vertex).len())));
    }
}
