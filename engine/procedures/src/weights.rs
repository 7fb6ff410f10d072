//! Weights of edges: a property of them, or one each; and a graph restricted to some vertices.

use crate::GraphWalk;
use model::{EdgeId, KeyId, VertexId};
use paths::algorithms::{ReadWeight, Weights};
use paths::{Adjacency, EdgeScratch};
use std::sync::Arc;
use store::{EdgePropertyReader, LabelFilter, PropertyRef, Snapshot};

/// See the module's head.
pub(crate) struct EdgeWeights<W> {
    pub(crate) snapshot: Snapshot,
    /// None: each edge weighs one.
    pub(crate) key: Option<KeyId>,
    /// Stores the error if a weight cannot be read.
    pub(crate) walk: Arc<W>,
}

/// Reads them.
pub(crate) struct EdgeWeightReader<'a, W> {
    properties: Option<EdgePropertyReader<'a>>,
    walk: &'a W,
}

impl<W: GraphWalk> Weights for EdgeWeights<W> {
    type Reader<'a> = EdgeWeightReader<'a, W>;
    fn reader(&self) -> EdgeWeightReader<'_, W> {
        let properties = self.key.map(|key| EdgePropertyReader::new(&self.snapshot, key));
        EdgeWeightReader { properties, walk: &self.walk }
    }
}

impl<W: GraphWalk> ReadWeight for EdgeWeightReader<'_, W> {
    /// An edge that does not say so weighs no number, which ends the search with an error that names it. Where it cannot be read the walk
    /// fails, and so does the search.
    #[inline]
    fn weight(&mut self, edge: u64) -> f64 {
        let Some(reader) = &mut self.properties else { return 1.0 };
        match reader.get(EdgeId(edge)) {
            Ok(PropertyRef::Float(weight)) => weight,
            Ok(PropertyRef::Int(weight)) => weight as f64,
            Ok(_) => f64::NAN,
            Err(error) => {
                self.walk.or_fail::<()>(Err(error));
                f64::NAN
            }
        }
    }
}

/// A walk over some vertices only.
pub(crate) struct Within<W> {
    pub(crate) walk: Arc<W>,
    pub(crate) members: Members,
}

impl<W> Clone for Within<W> {
    fn clone(&self) -> Within<W> {
        Within { walk: self.walk.clone(), members: self.members.clone() }
    }
}

/// Who they are.
#[derive(Clone)]
pub(crate) enum Members {
    All,
    /// A bit each.
    Bits(Arc<[u64]>),
    /// Those that pass, which is looked up for each.
    Passing(Snapshot, LabelFilter),
}

impl Members {
    /// These vertices, as bits.
    pub(crate) fn bits(bound: u32, vertices: impl Iterator<Item = u32>) -> Members {
        let mut bits = vec![0; (bound as usize).div_ceil(64)];
        vertices.for_each(|vertex| bits[vertex as usize / 64] |= 1 << (vertex % 64));
        Members::Bits(bits.into())
    }
}

impl<W: GraphWalk> Adjacency for Within<W> {
    fn vertex_bound(&self) -> u32 {
        self.walk.vertex_bound()
    }
    fn edges_estimate(&self) -> Option<u64> {
        self.walk.edges_estimate()
    }
    #[inline(always)]
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.walk.neighbours(vertex, scratch)
    }
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        self.walk.edges(vertex, scratch)
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.walk.degree(vertex)
    }
    #[inline(always)]
    fn admits_vertex(&self, vertex: u32) -> bool {
        match &self.members {
            Members::All => true,
            Members::Bits(bits) => bits[vertex as usize / 64] >> (vertex % 64) & 1 == 1,
            Members::Passing(snapshot, filter) => {
                self.walk.or_fail(snapshot.passes(VertexId::from_dense(vertex), filter))
            }
        }
    }
    fn failure(&self) -> bool {
        self.walk.failure()
    }
}
