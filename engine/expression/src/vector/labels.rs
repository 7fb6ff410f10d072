//! `labels(n)` over a column: one list for each set of labels that occurs, shared by all its rows.

use super::operand::{Operand, vertices};
use crate::error::EvalError;
use crate::functions;
use crate::scope::Scope;
use model::{Column, LabelSetId, Value, VertexId};
use plan::Function;

/// The lists met so far. A batch has few sets of labels, so they are looked for one by one.
#[derive(Default)]
struct LabelLists(Vec<(LabelSetId, Value)>);

impl LabelLists {
    fn get(&mut self, vertex: VertexId, scope: &Scope<'_>) -> Result<Value, EvalError> {
        let value = || functions::call(Function::Labels, &[Value::Vertex(vertex)], scope);
        let Some(set) = scope.graph.label_set(vertex)? else { return value() };
        match self.0.iter().position(|(held, _)| *held == set) {
            Some(at) => {
                // The set met last is the first looked at next time.
                self.0.swap(0, at);
                Ok(self.0[0].1.clone())
            }
            None => {
                let value = value()?;
                self.0.push((set, value.clone()));
                Ok(value)
            }
        }
    }
}

/// The lists of labels of every row; one constant where all have the same.
pub(super) fn column(subject: &Operand<'_>, rows: usize, scope: &Scope<'_>) -> Result<Column, EvalError> {
    let mut values = Vec::with_capacity(rows);
    let Some(source) = vertices(subject) else {
        for row in 0..rows {
            values.push(functions::call(Function::Labels, &[subject.get(row)], scope)?);
        }
        return Ok(Column::Any(values));
    };
    let mut lists = LabelLists::default();
    let mut nulls = false;
    for row in 0..rows {
        let vertex = source.get(row);
        nulls |= vertex.is_none();
        values.push(match vertex {
            Some(vertex) => lists.get(vertex, scope)?,
            None => Value::Null,
        });
    }
    match lists.0.as_slice() {
        [(_, list)] if !nulls => Ok(Column::Constant(list.clone(), rows)),
        _ => Ok(Column::Any(values)),
    }
}
