//! Reading one property of many entities: the chunk's column is looked up once for each run of ids in the same chunk, and columns are
//! kept where ids jump to and fro between chunks.

use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::chunks::column::{PropertyRef, StoredColumn};
use crate::snapshots::root::Snapshot;
use crate::versions::cell::ChunkRef;
use model::{ChunkNo, ColumnBuilder, EdgeId, EdgeTypeId, KeyId, VertexId};
use std::sync::Arc;

/// Appends a borrowed value to a column; text is copied once, into the column.
pub fn push_property(column: &mut ColumnBuilder, value: PropertyRef<'_>) {
    match value {
        PropertyRef::Text(text) => column.push_text(text),
        PropertyRef::Float(float) => column.push_float(float),
        other => column.push(other.to_value()),
    }
}

/// Changes of chunk from which on columns are kept: readers of a few ids need none of it.
const SWITCHES_MIN: u32 = 16;
/// Columns kept by a reader, a place for each chunk number modulo this. Each keeps its page in memory while the reader lives, which is
/// for one batch.
const COLUMNS_KEPT: usize = 128;

/// Columns that were met before.
struct Kept<C> {
    switches: u32,
    columns: Vec<Option<C>>,
}

impl<C> Kept<C> {
    fn new() -> Kept<C> {
        Kept { switches: 0, columns: Vec::new() }
    }
    /// Keeps the column that is left, and gives back what is kept at the place of another, if it is that one.
    fn exchange(
        &mut self,
        left: Option<(usize, C)>,
        wanted: usize,
        is_wanted: impl FnOnce(&C) -> bool,
    ) -> Option<C> {
        self.switches += 1;
        if self.switches < SWITCHES_MIN {
            return None;
        }
        if self.columns.is_empty() {
            self.columns.resize_with(COLUMNS_KEPT, || None);
        }
        if let Some((place, column)) = left {
            self.columns[place % COLUMNS_KEPT] = Some(column);
        }
        self.columns[wanted % COLUMNS_KEPT].take().filter(is_wanted)
    }
}

/// Reads one property of vertices, in any order; fastest where neighbours in the order share chunks.
pub struct PropertyReader<'a> {
    snapshot: &'a Snapshot,
    key: KeyId,
    current: Option<VertexColumn<'a>>,
    kept: Kept<VertexColumn<'a>>,
}

/// The chunk met last, and its column.
struct VertexColumn<'a> {
    number: ChunkNo,
    chunk: ChunkRef<'a>,
    column: Option<Arc<StoredColumn>>,
}

impl<'a> PropertyReader<'a> {
    /// A reader of `key`.
    pub fn new(snapshot: &'a Snapshot, key: KeyId) -> PropertyReader<'a> {
        PropertyReader { snapshot, key, current: None, kept: Kept::new() }
    }
    /// The property of `vertex`; null if either is missing.
    #[inline]
    pub fn get(&mut self, vertex: VertexId) -> Result<PropertyRef<'_>, StoreError> {
        let number = vertex.0 >> model::id::SLOT_BITS;
        if self.current.as_ref().is_none_or(|current| current.number as u64 != number) {
            let left = self.current.take().map(|current| (current.number as usize, current));
            let is_wanted = |column: &VertexColumn<'_>| column.number as u64 == number;
            self.current = self.kept.exchange(left, number as usize, is_wanted);
            if self.current.is_none() {
                let Some((chunk, _)) = self.snapshot.locate(vertex)? else { return Ok(PropertyRef::Null) };
                let column = chunk.base().column(self.key).cloned();
                self.current = Some(VertexColumn { number: vertex.chunk(), chunk, column });
            }
        }
        let Some(current) = &self.current else { return Ok(PropertyRef::Null) };
        // A vertex that is hidden shows no property, so it need not be looked for.
        if !self.snapshot.shows_property_at(&current.chunk, vertex.slot() as usize, self.key) {
            return Ok(PropertyRef::Null);
        }
        Ok(current.chunk.property_in(vertex.slot() as usize, self.key, current.column.as_deref()))
    }
}

/// Reads one property of edges, in any order.
pub struct EdgePropertyReader<'a> {
    snapshot: &'a Snapshot,
    key: KeyId,
    current: Option<EdgeColumn<'a>>,
    kept: Kept<EdgeColumn<'a>>,
}

/// The chunk and type met last, and their column.
struct EdgeColumn<'a> {
    number: ChunkNo,
    edge_type: EdgeTypeId,
    chunk: ChunkRef<'a>,
    column: Option<Arc<StoredColumn>>,
}

impl<'a> EdgePropertyReader<'a> {
    /// A reader of `key`.
    pub fn new(snapshot: &'a Snapshot, key: KeyId) -> EdgePropertyReader<'a> {
        EdgePropertyReader { snapshot, key, current: None, kept: Kept::new() }
    }
    /// The property of `edge`; null if it is absent.
    #[inline]
    pub fn get(&mut self, edge: EdgeId) -> Result<PropertyRef<'_>, StoreError> {
        let (number, edge_type) = (edge.chunk(), edge.edge_type());
        let is_current =
            |current: &EdgeColumn<'_>| current.number == number && current.edge_type == edge_type;
        if !self.current.as_ref().is_some_and(is_current) {
            let left = self.current.take().map(|current| (current.number as usize, current));
            self.current = self.kept.exchange(left, number as usize, is_current);
            if self.current.is_none() {
                let Some(chunk) = self.snapshot.chunk(number)? else { return Ok(PropertyRef::Null) };
                let column = chunk.base().edge_column(edge_type, self.key).cloned();
                self.current = Some(EdgeColumn { number, edge_type, chunk, column });
            }
        }
        let Some(current) = &self.current else { return Ok(PropertyRef::Null) };
        if !self.snapshot.shows_edge_property(edge, self.key) {
            return Ok(PropertyRef::Null);
        }
        Ok(current.chunk.edge_property_in(edge_type, edge.slot(), self.key, current.column.as_deref()))
    }
}
