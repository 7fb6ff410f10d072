//! Columns put end to end: what build sides and sorts keep is one batch, so that each output row is a row number. A build side may be
//! large, so it is put together batch by batch ([`Gathering`]).

use model::batch::Carried;
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

/// A column in the making: bare values while only one type without nulls came, else a builder.
enum Growing {
    Nothing,
    Vertices(Vec<VertexId>),
    Integers(Vec<i64>),
    Edges(Vec<EdgeRef>),
    Mixed(ColumnBuilder),
}

impl Growing {
    /// Appends the rows of a batch's column; `rows_all` is how many will come in all.
    fn append(&mut self, carried: &Carried, len: usize, rows_all: usize) {
        if matches!(self, Growing::Nothing) {
            *self = match carried.column() {
                Column::Vertex(..) => Growing::Vertices(Vec::with_capacity(rows_all)),
                Column::Int(..) => Growing::Integers(Vec::with_capacity(rows_all)),
                Column::Edge(..) => Growing::Edges(Vec::with_capacity(rows_all)),
                _ => Growing::Mixed(ColumnBuilder::new()),
            };
        }
        let rows = 0..len;
        match (&mut *self, carried.column()) {
            (Growing::Vertices(all), Column::Vertex(values, nulls))
                if nulls.is_empty() && !values.contains(&NO_VERTEX) =>
            {
                all.extend(rows.map(|row| values[carried.at(row)]))
            }
            (Growing::Integers(all), Column::Int(values, nulls)) if nulls.is_empty() => {
                all.extend(rows.map(|row| values[carried.at(row)]))
            }
            (Growing::Edges(all), Column::Edge(values, nulls)) if nulls.is_empty() => {
                all.extend(rows.map(|row| values[carried.at(row)]))
            }
            (_, column) => {
                let builder = self.mixed();
                match column {
                    Column::Text(texts, _) => rows.for_each(|row| match carried.is_null(row) {
                        true => builder.push(model::Value::Null),
                        false => builder.push_text(texts.get(carried.at(row))),
                    }),
                    _ => rows.for_each(|row| builder.push(carried.get(row))),
                }
            }
        }
    }
    /// The builder; what came before is moved there.
    fn mixed(&mut self) -> &mut ColumnBuilder {
        if !matches!(self, Growing::Mixed(_)) {
            let column = std::mem::replace(self, Growing::Nothing).finish();
            let mut builder = ColumnBuilder::new();
            (0..column.len()).for_each(|row| builder.push(column.get(row)));
            *self = Growing::Mixed(builder);
        }
        match self {
            Growing::Mixed(builder) => builder,
            _ => unreachable!("made mixed above"),
        }
    }
    fn finish(self) -> Column {
        match self {
            Growing::Nothing => ColumnBuilder::new().finish(),
            Growing::Vertices(values) => Column::Vertex(values, Nulls::none()),
            Growing::Integers(values) => Column::Int(values, Nulls::none()),
            Growing::Edges(values) => Column::Edge(values, Nulls::none()),
            Growing::Mixed(builder) => builder.finish(),
        }
    }
}

/// Batches of one layout on their way to one flat batch.
pub(crate) struct Gathering {
    columns: Vec<Growing>,
    len: usize,
    rows_all: usize,
}

impl Gathering {
    /// For `rows_all` rows in all.
    pub(crate) fn new(width: usize, rows_all: usize) -> Gathering {
        Gathering { columns: (0..width).map(|_| Growing::Nothing).collect(), len: 0, rows_all }
    }
    pub(crate) fn append(&mut self, batch: &Batch) {
        for (at, column) in self.columns.iter_mut().enumerate() {
            column.append(batch.column(at), batch.len(), self.rows_all);
        }
        self.len += batch.len();
    }
    pub(crate) fn finish(self) -> Batch {
        Batch::new(self.columns.into_iter().map(Growing::finish).collect(), self.len)
    }
}

/// A batch's rows from here on, at most `rows_max`; rows without columns cost nothing.
pub(crate) fn piece(batch: &Batch, start: usize, rows_max: usize) -> Batch {
    let end = batch.len().min(start + rows_max);
    if batch.width() == 0 { Batch::new(Vec::new(), end - start) } else { batch.slice(start, end) }
}
