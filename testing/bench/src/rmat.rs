//! Recursive matrices (Chakrabarti, Zhan and Faloutsos 2004) with the parameters of Graph500: each bit of an edge picks a quarter.

use world::chance::Chance;

/// Shape of the graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Vertices, as a power of two.
    pub scale: u32,
    /// Edges for each vertex; loops and repetitions stay.
    pub edges_per_vertex: usize,
    /// The seed of the draws.
    pub seed: u64,
}

/// A million vertices, 16.8 M edges.
pub(crate) const SCALE_20: Shape = Shape { scale: 20, edges_per_vertex: 16, seed: 43 };

/// Chances of the first three quarters, summed, of 2^32.
const QUARTERS: [u64; 3] =
    [(0.57 * 4_294_967_296.0) as u64, (0.76 * 4_294_967_296.0) as u64, (0.95 * 4_294_967_296.0) as u64];

/// The edges, ends permuted so that numbers say nothing.
pub(crate) fn edges(shape: &Shape) -> Vec<(u32, u32)> {
    let mut chance = Chance::seeded(shape.seed);
    let mut numbers: Vec<u32> = (0..1 << shape.scale).collect();
    chance.shuffle(&mut numbers);
    let mut draw = || {
        let (mut source, mut target) = (0usize, 0usize);
        for bit in 0..shape.scale {
            let drawn = chance.next_u64() >> 32;
            let quarter = QUARTERS.iter().filter(|share| drawn >= **share).count();
            source |= (quarter >> 1) << bit;
            target |= (quarter & 1) << bit;
        }
        (numbers[source], numbers[target])
    };
    (0..shape.edges_per_vertex << shape.scale).map(|_| draw()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_skewed_and_the_seed_decides() {
        let shape = Shape { scale: 8, edges_per_vertex: 16, seed: 5 };
        let drawn = edges(&shape);
        assert_eq!(drawn.len(), 4096);
        assert_eq!(drawn, edges(&shape));
        let mut degrees = vec![0; 256];
        drawn.iter().for_each(|(source, _)| degrees[*source as usize] += 1);
        assert!(degrees.iter().max() > Some(&160), "the average is 16: {degrees:?}");
    }
}
