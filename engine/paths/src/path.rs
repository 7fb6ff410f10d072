//! A found path.

/// `vertices.len() == edges.len() + 1`; `edges[i]` joins `vertices[i]` and `vertices[i + 1]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Path {
    /// From the source to the target.
    pub vertices: Vec<u32>,
    /// Edge identities.
    pub edges: Vec<u64>,
}

impl Path {
    /// Number of edges.
    pub fn length(&self) -> u32 {
        self.edges.len() as u32
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.vertices.capacity() * 4 + self.edges.capacity() * 8
    }
}
