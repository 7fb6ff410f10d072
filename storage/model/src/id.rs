//! Identifiers of vertices, edges and names.
//!
//! A vertex id is a chunk number and a slot, so the place of a vertex follows from its id alone. Ids are nearly dense: bitmaps
//! and distance arrays are indexed by them. An edge id names the chunk of its source vertex, its type, and its slot among the
//! edges of that type born in that chunk; it never changes while the edge lives.

use std::fmt;

/// Bits of a vertex id that hold the slot within a chunk.
pub const SLOT_BITS: u32 = 12;
/// Slots of a chunk: at most this many vertices share one.
pub const CHUNK_SLOTS: usize = 1 << SLOT_BITS;
/// Chunks a store may hold, so that a vertex id fits 32 bits inside the engine (4 G vertices a shard).
pub const CHUNK_COUNT_MAX: usize = 1 << (32 - SLOT_BITS);
/// Edge types a store may hold: 14 bits of an edge id.
pub const EDGE_TYPE_COUNT_MAX: usize = 1 << EDGE_TYPE_BITS;
/// Edges of one type born in one chunk over its life: 26 bits of an edge id.
pub const EDGE_SLOT_COUNT_MAX: usize = 1 << EDGE_SLOT_BITS;

const EDGE_TYPE_BITS: u32 = 14;
const EDGE_SLOT_BITS: u32 = 26;

/// Number of a chunk in the store's directory.
pub type ChunkNo = u32;
/// Index of a vertex within its chunk, below [`CHUNK_SLOTS`].
pub type Slot = u16;

/// A vertex: chunk number and slot. 64 bits at borders; inside one store it fits 32 ([`VertexId::dense`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VertexId(pub u64);

/// The dense form of "no vertex", where a column needs a filler for null.
pub const NO_VERTEX: VertexId = VertexId(u64::MAX);

/// Ids of vertices that no store reaches: behind them is only [`NO_VERTEX`].
const SCHEMA_VERTICES_FROM: u64 = 0xFFFE_0000;

impl VertexId {
    /// The vertex at `slot` of chunk `chunk`.
    #[inline]
    pub fn new(chunk: ChunkNo, slot: Slot) -> VertexId {
        debug_assert!((slot as usize) < CHUNK_SLOTS);
        VertexId(((chunk as u64) << SLOT_BITS) | slot as u64)
    }
    /// Chunk that holds the vertex.
    #[inline]
    pub fn chunk(self) -> ChunkNo {
        (self.0 >> SLOT_BITS) as ChunkNo
    }
    /// Slot within the chunk.
    #[inline]
    pub fn slot(self) -> Slot {
        (self.0 & (CHUNK_SLOTS as u64 - 1)) as Slot
    }
    /// The id as the dense 32-bit number used by adjacency, bitmaps and distance arrays.
    #[inline]
    pub fn dense(self) -> u32 {
        debug_assert!(self.0 <= u32::MAX as u64, "vertex id outside this store");
        self.0 as u32
    }
    /// A vertex that stands for a label where the schema is shown as a graph; no store holds one.
    #[inline]
    pub fn of_schema(label: LabelId) -> VertexId {
        VertexId(SCHEMA_VERTICES_FROM + label.0 as u64)
    }
    /// The label that it stands for, if it is such a one.
    #[inline]
    pub fn schema_label(self) -> Option<LabelId> {
        let number = self.0.checked_sub(SCHEMA_VERTICES_FROM)?;
        u16::try_from(number).ok().map(LabelId)
    }
    /// Inverse of [`VertexId::dense`].
    #[inline]
    pub fn from_dense(dense: u32) -> VertexId {
        VertexId(dense as u64)
    }
}

impl fmt::Debug for VertexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.chunk(), self.slot())
    }
}

/// An edge: chunk of its source (24 bits), edge type (14 bits), slot among that chunk's edges of that type (26 bits).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u64);

impl EdgeId {
    /// The edge at `slot` of the edges of `edge_type` born in `chunk`.
    #[inline]
    pub fn new(chunk: ChunkNo, edge_type: EdgeTypeId, slot: u32) -> EdgeId {
        debug_assert!((edge_type.0 as usize) < EDGE_TYPE_COUNT_MAX && (slot as usize) < EDGE_SLOT_COUNT_MAX);
        EdgeId(
            ((chunk as u64) << (EDGE_TYPE_BITS + EDGE_SLOT_BITS))
                | ((edge_type.0 as u64) << EDGE_SLOT_BITS)
                | slot as u64,
        )
    }
    /// Chunk of the edge's source vertex.
    #[inline]
    pub fn chunk(self) -> ChunkNo {
        (self.0 >> (EDGE_TYPE_BITS + EDGE_SLOT_BITS)) as ChunkNo
    }
    /// Type of the edge.
    #[inline]
    pub fn edge_type(self) -> EdgeTypeId {
        EdgeTypeId(((self.0 >> EDGE_SLOT_BITS) & ((1 << EDGE_TYPE_BITS) - 1)) as u16)
    }
    /// Slot among the edges of its type and chunk.
    #[inline]
    pub fn slot(self) -> u32 {
        (self.0 & ((1 << EDGE_SLOT_BITS) - 1)) as u32
    }
}

impl fmt::Debug for EdgeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}.{}.{}", self.chunk(), self.edge_type().0, self.slot())
    }
}

/// An edge with its ends, in stored direction: what a row carries for an edge variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EdgeRef {
    /// Identity of the edge.
    pub id: EdgeId,
    /// Where it starts.
    pub source: VertexId,
    /// Where it ends.
    pub target: VertexId,
}

/// An interned vertex label.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LabelId(pub u16);

/// An interned edge type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EdgeTypeId(pub u16);

/// An interned property key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub u32);

/// An interned set of labels; set 0 is the empty set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LabelSetId(pub u32);

/// Which way an edge is followed from a vertex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// From source to target.
    Out,
    /// From target to source.
    In,
    /// Either way; a self-loop is met once.
    Both,
}

impl Direction {
    /// The direction seen from the other end.
    #[inline]
    pub fn reversed(self) -> Direction {
        match self {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
            Direction::Both => Direction::Both,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_hold_their_parts() {
        let vertex = VertexId::new(70_000, 4_095);
        assert_eq!((vertex.chunk(), vertex.slot()), (70_000, 4_095));
        assert_eq!(VertexId::from_dense(vertex.dense()), vertex);
        let edge = EdgeId::new(1_000_000, EdgeTypeId(16_383), (1 << 26) - 1);
        assert_eq!(
            (edge.chunk(), edge.edge_type(), edge.slot()),
            (1_000_000, EdgeTypeId(16_383), (1 << 26) - 1)
        );
    }
}
