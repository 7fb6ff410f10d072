//! stub
use crate::allocator::Allocator;
use crate::{Snapshot, StoreError};
use model::{Column, EdgeTypeId, KeyId, LabelSetId};
use std::ops::Range;

/// A parallel for: calls its second argument with every number below its first, from any threads, and returns when all are done.
pub type Parallel<'a> = &'a dyn Fn(usize, &(dyn Fn(usize) + Sync));

/// Builder for import: many vertices and edges at once, straight into bases.
pub struct Bulk<'a> {
    _allocator: &'a Allocator,
}

impl<'a> Bulk<'a> {
    /// A builder that takes its ids from `allocator`.
    pub fn new(allocator: &'a Allocator) -> Bulk<'a> {
        Bulk { _allocator: allocator }
    }
    /// Adds `count` vertices with these labels; row `i` of each column belongs to the i-th vertex. Called from any thread. The
    /// dense ids, in row order, as ranges.
    pub fn vertices(
        &self,
        _labels: LabelSetId,
        _count: usize,
        _columns: Vec<(KeyId, Column)>,
    ) -> Result<Vec<Range<u32>>, StoreError> {
        Err(StoreError::Unsupported("bulk"))
    }
    /// Adds edges of one type between dense vertex ids (source, target); row `i` of each column belongs to the i-th pair. Called
    /// from any thread.
    pub fn edges(
        &self,
        _edge_type: EdgeTypeId,
        _pairs: Vec<(u32, u32)>,
        _columns: Vec<(KeyId, Column)>,
    ) -> Result<(), StoreError> {
        Err(StoreError::Unsupported("bulk"))
    }
    /// The snapshot with all that was added. No commit may happen meanwhile.
    pub fn finish(
        self,
        _snapshot: &Snapshot,
        _place: u64,
        _parallel: Parallel<'_>,
    ) -> Result<Snapshot, StoreError> {
        Err(StoreError::Unsupported("bulk"))
    }
}
