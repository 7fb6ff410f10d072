//! The graphs of the Datalog benches - trees, grids, random graphs - and the two programs that run on them.

use std::collections::BTreeSet;

/// Edges, each once.
pub type Edges = Vec<(u32, u32)>;

/// Transitive closure.
pub const CLOSURE: &str = "tc(x, y) :- e(x, y). tc(x, z) :- tc(x, y), e(y, z).";

/// Same generation.
pub const GENERATION: &str = "sg(x, y) :- e(p, x), e(p, y), x != y. sg(x, y) :- e(a, x), sg(a, b), e(b, y).";

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A tree of this height: a vertex above the last level has two to four children, one in eight has none.
pub fn tree(height: usize) -> Edges {
    let (mut dice, mut edges, mut next) = (Dice(1), Edges::new(), 1);
    let mut level = vec![0];
    for depth in 0..height {
        let mut below = Vec::new();
        for vertex in level {
            let has_none = depth > 2 && dice.below(8) == 0;
            for _ in 0..if has_none { 0 } else { 2 + dice.below(3) } {
                edges.push((vertex, next));
                below.push(next);
                next += 1;
            }
        }
        level = below;
    }
    edges
}

/// A square grid with this many cells a side: edges go right and down.
pub fn grid(side: u32) -> Edges {
    let at = |row: u32, column: u32| row * (side + 1) + column;
    let mut edges = Edges::new();
    for row in 0..=side {
        for column in 0..=side {
            if column < side {
                edges.push((at(row, column), at(row, column + 1)));
            }
            if row < side {
                edges.push((at(row, column), at(row + 1, column)));
            }
        }
    }
    edges
}

/// A random graph.
pub fn random(vertices: u64, edges: usize) -> Edges {
    let (mut dice, mut found) = (Dice(7), BTreeSet::new());
    while found.len() < edges {
        found.insert((dice.below(vertices) as u32, dice.below(vertices) as u32));
    }
    found.into_iter().collect()
}
