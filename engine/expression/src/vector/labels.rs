//! Labels over a column: `labels(n)` makes one list for each set of labels that occurs, shared by all its rows, and `n:Label` is answered once for
//! each set.

use super::operand::{Operand, vertices};
use crate::error::EvalError;
use crate::functions;
use crate::scope::Scope;
use model::{Column, LabelSetId, Value};
use plan::Function;

/// What belongs to the sets of labels met so far. A batch has few of them, so they are looked for one by one.
pub(super) struct BySet<T>(Vec<(LabelSetId, T)>);

impl<T: Clone> BySet<T> {
    pub(super) fn new() -> BySet<T> {
        BySet(Vec::new())
    }
    /// What belongs to this set, made if it is new; of a vertex without one it is made each time.
    #[inline]
    pub(super) fn get(
        &mut self,
        set: Option<LabelSetId>,
        make: impl FnOnce() -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        let Some(set) = set else { return make() };
        let Some(at) = self.0.iter().position(|(held, _)| *held == set) else {
            let made = make()?;
            self.0.push((set, made.clone()));
            return Ok(made);
        };
        // The set met last is the first looked at next time.
        self.0.swap(0, at);
        Ok(self.0[0].1.clone())
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
    let mut lists = BySet::new();
    let mut nulls = false;
    for row in 0..rows {
        let vertex = source.get(row);
        nulls |= vertex.is_none();
        values.push(match vertex {
            Some(vertex) => lists.get(scope.graph.label_set(vertex)?, || {
                functions::call(Function::Labels, &[Value::Vertex(vertex)], scope)
            })?,
            None => Value::Null,
        });
    }
    match lists.0.as_slice() {
        [(_, list)] if !nulls => Ok(Column::Constant(list.clone(), rows)),
        _ => Ok(Column::Any(values)),
    }
}
