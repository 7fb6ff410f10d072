//! Columns put end to end: what build sides and sorts keep is one batch, so that each output row is a row number.

use model::{Batch, Column, ColumnBuilder, EdgeRef, NO_VERTEX, Nulls, VertexId};

/// Batches of one layout as one flat batch.
pub(crate) fn concatenate(batches: &[Batch], width: usize) -> Batch {
    if let [single] = batches {
        return single.flatten();
    }
    let len = batches.iter().map(Batch::len).sum();
    let columns = (0..width).map(|at| column(batches, at, len)).collect();
    Batch::new(columns, len)
}

fn column(batches: &[Batch], at: usize, len: usize) -> Column {
    if let Some(vertices) = vertices(batches, at, len) {
        return Column::Vertex(vertices, Nulls::none());
    }
    if let Some(integers) = integers(batches, at, len) {
        return Column::Int(integers, Nulls::none());
    }
    if let Some(edges) = edges(batches, at, len) {
        return Column::Edge(edges, Nulls::none());
    }
    let mut builder = ColumnBuilder::new();
    for batch in batches {
        let carried = batch.column(at);
        match carried.column() {
            Column::Text(texts, _) => (0..batch.len()).for_each(|row| match carried.is_null(row) {
                true => builder.push(model::Value::Null),
                false => builder.push_text(texts.get(carried.at(row))),
            }),
            _ => (0..batch.len()).for_each(|row| builder.push(carried.get(row))),
        }
    }
    builder.finish()
}

/// All batches' columns, where each is one of vertices without null.
fn vertices(batches: &[Batch], at: usize, len: usize) -> Option<Vec<VertexId>> {
    let mut all = Vec::with_capacity(len);
    for batch in batches {
        let carried = batch.column(at);
        let Column::Vertex(values, nulls) = carried.column() else { return None };
        nulls.is_empty().then_some(())?;
        all.extend((0..batch.len()).map(|row| values[carried.at(row)]));
    }
    (!all.contains(&NO_VERTEX)).then_some(all)
}

fn integers(batches: &[Batch], at: usize, len: usize) -> Option<Vec<i64>> {
    let mut all = Vec::with_capacity(len);
    for batch in batches {
        let carried = batch.column(at);
        let Column::Int(values, nulls) = carried.column() else { return None };
        nulls.is_empty().then_some(())?;
        all.extend((0..batch.len()).map(|row| values[carried.at(row)]));
    }
    Some(all)
}

fn edges(batches: &[Batch], at: usize, len: usize) -> Option<Vec<EdgeRef>> {
    let mut all = Vec::with_capacity(len);
    for batch in batches {
        let carried = batch.column(at);
        let Column::Edge(values, nulls) = carried.column() else { return None };
        nulls.is_empty().then_some(())?;
        all.extend((0..batch.len()).map(|row| values[carried.at(row)]));
    }
    Some(all)
}

/// A batch's rows from here on, at most `rows_max`; rows without columns cost nothing.
pub(crate) fn piece(batch: &Batch, start: usize, rows_max: usize) -> Batch {
    let end = batch.len().min(start + rows_max);
    if batch.width() == 0 { Batch::new(Vec::new(), end - start) } else { batch.slice(start, end) }
}
