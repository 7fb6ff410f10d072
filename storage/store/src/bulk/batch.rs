//! Input batches: columns of values, and edges as pairs.

use super::edges::share::SHARE_EDGES;
use crate::StoreError;
use crate::chunks::column::PropertyRef;
use model::{Column, KeyId};

/// Sources and targets.
pub(super) type Pairs = Vec<(u32, u32)>;

/// Edges of one [`super::Bulk::edges`] call.
pub(super) struct EdgeBatch {
    pub(super) pairs: Pairs,
    pub(super) columns: Vec<(KeyId, Column)>,
}

/// Edges without properties as batches of a size that one task takes.
pub(super) fn cut(pairs: Pairs) -> Vec<EdgeBatch> {
    let batch = |pairs| EdgeBatch { pairs, columns: Vec::new() };
    if pairs.len() <= 2 * SHARE_EDGES {
        return vec![batch(pairs)];
    }
    pairs.chunks(SHARE_EDGES).map(|part| batch(part.to_vec())).collect()
}

pub(super) fn check_columns(rows: usize, columns: &[(KeyId, Column)]) -> Result<(), StoreError> {
    let bad =
        |column: &Column| column.len() != rows || matches!(column, Column::Vertex(..) | Column::Edge(..));
    if columns.iter().any(|(_, column)| bad(column)) {
        return Err(StoreError::Unsupported(
            "columns of another length than their rows, or of graph elements",
        ));
    }
    Ok(())
}

/// A value of a batch column, borrowed.
pub(super) fn column_ref(column: &Column, row: usize) -> PropertyRef<'_> {
    match column {
        Column::Constant(value, _) => PropertyRef::from(value),
        Column::Any(rows) => PropertyRef::from(&rows[row]),
        _ if column.is_null(row) => PropertyRef::Null,
        Column::Bool(rows, _) => PropertyRef::Bool(rows[row]),
        Column::Int(rows, _) => PropertyRef::Int(rows[row]),
        Column::Float(rows, _) => PropertyRef::Float(rows[row]),
        Column::Text(rows, _) => PropertyRef::Text(rows.get(row)),
        Column::Vertex(..) | Column::Edge(..) => PropertyRef::Null,
    }
}
