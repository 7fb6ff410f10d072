//! Rows on their way to Python: columns as the engine made them, with nodes and relationships looked up.

use crate::values::{plain, whole};
use database::entity::{Hydrated, hydrate};
use database::{Batch, Error};
use model::batch::Carried;
use model::{Column, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyTuple};

/// A column of some rows.
pub enum Cell {
    /// Nothing in it needs looking up.
    Plain(Carried),
    /// Everything about the entities in it is known.
    Whole(Vec<Hydrated>),
}

/// Some rows of an answer.
pub struct Cells {
    pub columns: Vec<Cell>,
    pub len: usize,
}

impl Cells {
    /// The rows of a batch; entities are shown from the snapshot.
    pub fn of_batch(batch: &Batch, show: impl Fn(&Value) -> Result<Hydrated, Error>) -> Result<Cells, Error> {
        let column = |at: usize| {
            let carried = batch.column(at);
            if !may_hold_entities(carried.column()) {
                return Ok(Cell::Plain(written_out(carried)));
            }
            let shown = (0..batch.len()).map(|row| show(&carried.get(row)));
            Ok(Cell::Whole(shown.collect::<Result<_, Error>>()?))
        };
        let columns = (0..batch.width()).map(column).collect::<Result<_, Error>>()?;
        Ok(Cells { columns, len: batch.len() })
    }
    /// Objects of a traversal: one column.
    pub fn of_objects(objects: Vec<(Hydrated, u64)>) -> Cells {
        let repeated = objects.into_iter().flat_map(|(object, bulk)| {
            let count = usize::try_from(bulk).unwrap_or(usize::MAX);
            std::iter::repeat_n(object, count)
        });
        let column: Vec<Hydrated> = repeated.collect();
        Cells { len: column.len(), columns: vec![Cell::Whole(column)] }
    }
    /// One row as a tuple.
    pub fn tuple<'py>(&self, py: Python<'py>, row: usize, home: u64) -> PyResult<Bound<'py, PyTuple>> {
        let values = self.columns.iter().map(|column| column.get(py, row, home));
        PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }
}

/// Texts lie in a buffer, as arrays of Arrow want them, and not in codes.
fn written_out(carried: &Carried) -> Carried {
    match carried.column() {
        Column::Text(texts, nulls) if texts.codes().is_some() => {
            let (mut texts, nulls) = match carried.rows() {
                None => (texts.clone(), nulls.clone()),
                Some(rows) => match carried.column().gather(rows) {
                    Column::Text(texts, nulls) => (texts, nulls),
                    other => return Carried::new(other),
                },
            };
            texts.write_out();
            Carried::new(Column::Text(texts, nulls))
        }
        _ => carried.clone(),
    }
}

impl Cell {
    /// The value of a row.
    pub fn get<'py>(&self, py: Python<'py>, row: usize, home: u64) -> PyResult<Bound<'py, PyAny>> {
        let carried = match self {
            Cell::Whole(values) => return whole(py, &values[row], home),
            Cell::Plain(carried) => carried,
        };
        let at = carried.at(row);
        match carried.column() {
            Column::Constant(value, _) => plain(py, value),
            Column::Any(values) => plain(py, &values[at]),
            column if column.is_null(at) => Ok(py.None().into_bound(py)),
            Column::Int(values, _) => Ok(PyInt::new(py, values[at]).into_any()),
            Column::Float(values, _) => Ok(PyFloat::new(py, values[at]).into_any()),
            Column::Bool(values, _) => Ok(PyBool::new(py, values[at]).to_owned().into_any()),
            Column::Text(texts, _) => Ok(PyString::new(py, texts.get(at)).into_any()),
            column => plain(py, &column.get(at)),
        }
    }
}

fn may_hold_entities(column: &Column) -> bool {
    let may = |value: &Value| {
        use Value::{Edge, List, Map, Path, Vertex};
        matches!(value, Vertex(_) | Edge(_) | Path(_) | List(_) | Map(_))
    };
    match column {
        Column::Vertex(..) | Column::Edge(..) => true,
        Column::Constant(value, _) => may(value),
        Column::Any(values) => values.iter().any(may),
        _ => false,
    }
}

/// Everything about the entities of a value, from a snapshot of the façade.
pub fn shown(result: &database::QueryResult) -> impl Fn(&Value) -> Result<Hydrated, Error> + '_ {
    move |value| hydrate(value, result.snapshot())
}
