//! Plain arrays as an adjacency: the twin for tests and the base line for benchmarks.

use crate::adjacency::{Adjacency, EdgeScratch};

/// Compressed sparse rows with edge identities. Lists are sorted by (neighbour, edge).
#[derive(Debug, Clone, Default)]
pub struct Csr {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
    edges: Vec<u64>,
}

impl Csr {
    /// Each edge at its first end. Edge identities are positions in `edges`.
    pub fn outgoing(vertices: u32, edges: &[(u32, u32)]) -> Csr {
        Csr::build(vertices, numbered(edges).collect())
    }

    /// Each edge at its second end.
    pub fn incoming(vertices: u32, edges: &[(u32, u32)]) -> Csr {
        Csr::build(vertices, numbered(edges).map(|(from, to, edge)| (to, from, edge)).collect())
    }

    /// Each edge at both ends, self-loops once.
    pub fn undirected(vertices: u32, edges: &[(u32, u32)]) -> Csr {
        let back =
            numbered(edges).filter(|(from, to, _)| from != to).map(|(from, to, edge)| (to, from, edge));
        Csr::build(vertices, numbered(edges).chain(back).collect())
    }

    fn build(vertices: u32, mut rows: Vec<(u32, u32, u64)>) -> Csr {
        rows.sort_unstable();
        let mut offsets = vec![0; vertices as usize + 1];
        for &(from, to, _) in &rows {
            assert!(from < vertices && to < vertices, "an end is not below the vertex count");
            offsets[from as usize + 1] += 1;
        }
        for vertex in 0..vertices as usize {
            offsets[vertex + 1] += offsets[vertex];
        }
        let neighbours = rows.iter().map(|row| row.1).collect();
        Csr { offsets, neighbours, edges: rows.iter().map(|row| row.2).collect() }
    }

    /// The neighbours of `vertex`.
    pub fn list(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }

    /// The vertex with the longest list, 0 in an empty graph.
    pub fn hub(&self) -> u32 {
        (0..self.vertex_bound()).max_by_key(|&vertex| self.list(vertex).len()).unwrap_or(0)
    }
}

fn numbered(edges: &[(u32, u32)]) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
    edges.iter().enumerate().map(|(edge, &(from, to))| (from, to, edge as u64))
}

impl Adjacency for Csr {
    fn vertex_bound(&self) -> u32 {
        self.offsets.len().saturating_sub(1) as u32
    }
    #[inline]
    fn neighbours<'a>(&'a self, vertex: u32, _scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.list(vertex)
    }
    #[inline]
    fn edges<'a>(&'a self, vertex: u32, _scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        let range = self.offsets[vertex as usize]..self.offsets[vertex as usize + 1];
        (&self.neighbours[range.clone()], &self.edges[range])
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.list(vertex).len() as u32
    }
    fn edges_estimate(&self) -> Option<u64> {
        Some(self.neighbours.len() as u64)
    }
}
