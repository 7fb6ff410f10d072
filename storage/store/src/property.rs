//! Reading one property of many entities: the chunk's column is looked up once for each run of ids in the same chunk.

use crate::StoreError;
use crate::chunk::Chunk;
use crate::column::{PropertyRef, StoredColumn};
use crate::snapshot::Snapshot;
use model::{ChunkNo, ColumnBuilder, EdgeId, EdgeTypeId, KeyId, VertexId};

/// Appends a borrowed value to a column; text is copied once, into the column.
pub fn push_property(column: &mut ColumnBuilder, value: PropertyRef<'_>) {
    match value {
        PropertyRef::Text(text) => column.push_text(text),
        other => column.push(other.to_value()),
    }
}

/// Reads one property of vertices, in any order; fastest where neighbours in the order share chunks.
pub struct PropertyReader<'a> {
    snapshot: &'a Snapshot,
    key: KeyId,
    current: Option<(ChunkNo, &'a Chunk, Option<&'a StoredColumn>)>,
}

impl<'a> PropertyReader<'a> {
    /// A reader of `key`.
    pub fn new(snapshot: &'a Snapshot, key: KeyId) -> PropertyReader<'a> {
        PropertyReader { snapshot, key, current: None }
    }
    /// The property of `vertex`; null if either is missing.
    #[inline]
    pub fn get(&mut self, vertex: VertexId) -> Result<PropertyRef<'a>, StoreError> {
        if let Some((number, chunk, column)) = self.current
            && vertex.0 >> model::id::SLOT_BITS == number as u64
        {
            return Ok(chunk.property_in(vertex.slot() as usize, self.key, column));
        }
        let Some((chunk, slot)) = self.snapshot.locate(vertex)? else { return Ok(PropertyRef::Null) };
        let column = chunk.base.column(self.key).map(|column| &**column);
        self.current = Some((vertex.chunk(), chunk, column));
        Ok(chunk.property_in(slot, self.key, column))
    }
}

/// Reads one property of edges, in any order.
pub struct EdgePropertyReader<'a> {
    snapshot: &'a Snapshot,
    key: KeyId,
    current: Option<(ChunkNo, EdgeTypeId, &'a Chunk, Option<&'a StoredColumn>)>,
}

impl<'a> EdgePropertyReader<'a> {
    /// A reader of `key`.
    pub fn new(snapshot: &'a Snapshot, key: KeyId) -> EdgePropertyReader<'a> {
        EdgePropertyReader { snapshot, key, current: None }
    }
    /// The property of `edge`; null if it is absent.
    #[inline]
    pub fn get(&mut self, edge: EdgeId) -> Result<PropertyRef<'a>, StoreError> {
        let edge_type = edge.edge_type();
        if let Some((number, current_type, chunk, column)) = self.current
            && number == edge.chunk()
            && current_type == edge_type
        {
            return Ok(chunk.edge_property_in(edge_type, edge.slot(), self.key, column));
        }
        let Some(chunk) = self.snapshot.chunk(edge.chunk())? else { return Ok(PropertyRef::Null) };
        let column = chunk.base.edge_column(edge_type, self.key).map(|column| &**column);
        self.current = Some((edge.chunk(), edge_type, chunk, column));
        Ok(chunk.edge_property_in(edge_type, edge.slot(), self.key, column))
    }
}
