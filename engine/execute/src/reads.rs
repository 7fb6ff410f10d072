//! What an expression reads of the graph, for the read set of a transaction: the vertices and edges in the columns it is given.
//!
//! Reads are recorded a batch at a time, before the expression is evaluated, and only inside a transaction. An expression that does
//! not look into entities records nothing; of one that does, every entity in its columns is recorded, which may be a few too many.

use crate::turn::Here;
use expression::Layout;
use foldhash::HashSet;
use model::batch::Carried;
use model::{Batch, Column, EdgeId, Value, VertexId};
use plan::{Expr, Function};
use transact::ReadSet;

/// Columns whose entities an expression looks into.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntityReads {
    columns: Vec<usize>,
}

impl EntityReads {
    /// What these expressions read over rows of this layout.
    pub(crate) fn of<'a>(expressions: impl IntoIterator<Item = &'a Expr>, layout: &Layout) -> EntityReads {
        let mut columns: Vec<usize> = Vec::new();
        for expression in expressions {
            if expression.any(&mut looks_into_entities) {
                columns.extend(
                    expression.free_variables().into_iter().filter_map(|variable| layout.position(variable)),
                );
            }
        }
        columns.sort_unstable();
        columns.dedup();
        EntityReads { columns }
    }
    /// The columns.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }
    /// Tells the transaction, if there is one, which entities of the batch are read.
    pub(crate) fn record(&self, batch: &Batch, here: &Here) {
        if self.columns.is_empty() || !here.environment.is_recording() {
            return;
        }
        let mut found = Entities::default();
        self.columns.iter().for_each(|at| found.column(batch.column(*at), batch.len()));
        here.environment.record(|reads| found.record(reads));
    }
}

/// Whoever is shown an entity has read its labels and properties: a transaction that may write has to know.
pub fn record_shown(batch: &Batch, reads: &ReadSet) {
    let mut found = Entities::default();
    (0..batch.width()).for_each(|at| found.column(batch.column(at), batch.len()));
    found.record(reads);
}

fn looks_into_entities(expression: &Expr) -> bool {
    match expression {
        Expr::Property(..) | Expr::HasLabels(..) | Expr::Index(..) | Expr::MapProjection(..) => true,
        Expr::Call(function, _) => matches!(
            function,
            Function::Labels | Function::Keys | Function::Properties | Function::Exists | Function::IsEmpty
        ),
        _ => false,
    }
}

/// Entities found in values, however deep. A list or map that stands in many rows, or in many places of a value, is gone into once; all values
/// must live until the last of them was looked at.
#[derive(Default)]
pub(crate) struct Entities {
    pub(crate) vertices: Vec<VertexId>,
    pub(crate) edges: Vec<EdgeId>,
    /// Where the lists and maps are that were gone into.
    seen: HashSet<*const ()>,
}

impl Entities {
    fn record(&self, reads: &ReadSet) {
        reads.vertices(self.vertices.iter().copied());
        self.edges.iter().for_each(|edge| reads.edge(*edge));
    }
    pub(crate) fn column(&mut self, carried: &Carried, len: usize) {
        match carried.column() {
            Column::Bool(..) | Column::Int(..) | Column::Float(..) | Column::Text(..) => {}
            Column::Vertex(..) => self.vertices.extend((0..len).filter_map(|row| carried.vertex(row))),
            Column::Edge(..) => {
                self.edges.extend((0..len).filter_map(|row| carried.edge(row)).map(|edge| edge.id))
            }
            Column::Constant(value, _) => self.value(value),
            Column::Any(values) => (0..len).for_each(|row| self.value(&values[carried.at(row)])),
        }
    }
    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::Vertex(vertex) => self.vertices.push(*vertex),
            Value::Edge(edge) => self.edges.push(edge.id),
            Value::Path(path) => {
                self.vertices.extend(&path.vertices);
                self.edges.extend(path.edges.iter().map(|edge| edge.id));
            }
            Value::List(list) if !list.is_empty() && self.seen.insert(list.as_slice().as_ptr().cast()) => {
                list.iter().for_each(|value| self.value(value));
            }
            Value::Map(map) if self.seen.insert(std::ptr::from_ref(&**map).cast()) => {
                map.values().for_each(|value| self.value(value));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row carried the whole list: so many looks as rows times elements, and twice as many with each step of a value that doubles.
    #[test]
    fn what_stands_in_many_places_is_gone_into_once() {
        let list = Value::list((0..1_000).map(|number| Value::Vertex(VertexId(number))).collect());
        let rows = Column::Any(vec![list.clone(); 1_000]);
        let mut found = Entities::default();
        let batch = Batch::new(vec![rows], 1_000);
        found.column(batch.column(0), 1_000);
        assert_eq!(found.vertices.len(), 1_000);
        let doubled =
            (0..20).fold(Value::Vertex(VertexId(7)), |part, _| Value::list(vec![part.clone(), part]));
        let map = Value::map([("a", list.clone()), ("b", doubled.clone()), ("c", Value::list(Vec::new()))]);
        let all = Value::list(vec![map.clone(), map, list, doubled]);
        let mut found = Entities::default();
        found.value(&all);
        assert_eq!(found.vertices.len(), 1_002);
    }
}
