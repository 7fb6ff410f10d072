//! Values of vertices as columns: messages with their targets, and rows.
//!
//! Idea: most programs send nothing but "you are reached", or numbers. Such values are stored in typed columns; the first value of another type
//! converts all of them to values of any type. Invariant: there are as many values as vertices, and in the same order. The output does not depend on
//! the form.

use model::{ColumnBuilder, Value, VertexId};
use std::ops::Range;

/// Values side by side.
#[derive(Clone, Debug)]
pub(crate) enum TypedValues {
    /// Only their number counts.
    Nulls(Vec<()>),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Any(Vec<Value>),
}

impl Default for TypedValues {
    fn default() -> TypedValues {
        TypedValues::Nulls(Vec::new())
    }
}

impl TypedValues {
    pub(crate) fn len(&self) -> usize {
        match self {
            TypedValues::Nulls(values) => values.len(),
            TypedValues::Ints(values) => values.len(),
            TypedValues::Floats(values) => values.len(),
            TypedValues::Any(values) => values.len(),
        }
    }
    /// Bytes of one, without its heap.
    pub(crate) fn bytes_each(&self) -> usize {
        match self {
            TypedValues::Nulls(_) => 0,
            TypedValues::Ints(_) | TypedValues::Floats(_) => 8,
            TypedValues::Any(_) => size_of::<Value>(),
        }
    }
    fn capacity(&self) -> usize {
        match self {
            TypedValues::Nulls(_) => 0,
            TypedValues::Ints(values) => values.capacity(),
            TypedValues::Floats(values) => values.capacity(),
            TypedValues::Any(values) => values.capacity(),
        }
    }
    /// The one at this place.
    pub(crate) fn get(&self, at: usize) -> Value {
        match self {
            TypedValues::Nulls(_) => Value::Null,
            TypedValues::Ints(values) => Value::Int(values[at]),
            TypedValues::Floats(values) => Value::Float(values[at]),
            TypedValues::Any(values) => values[at].clone(),
        }
    }
    /// All of them, of any type.
    pub(crate) fn into_any(self) -> Vec<Value> {
        match self {
            TypedValues::Any(values) => values,
            values => (0..values.len()).map(|at| values.get(at)).collect(),
        }
    }
    /// Converts the column, if needed, so that it can take a value like this.
    #[cold]
    fn make_way(&mut self, value: &Value) {
        *self = match value {
            Value::Null if self.len() == 0 => TypedValues::Nulls(Vec::new()),
            Value::Int(_) if self.len() == 0 => TypedValues::Ints(Vec::new()),
            Value::Float(_) if self.len() == 0 => TypedValues::Floats(Vec::new()),
            _ => TypedValues::Any(std::mem::take(self).into_any()),
        };
    }
    #[inline]
    fn push(&mut self, value: Value) {
        match (&mut *self, value) {
            (TypedValues::Nulls(values), Value::Null) => values.push(()),
            (TypedValues::Ints(values), Value::Int(value)) => values.push(value),
            (TypedValues::Floats(values), Value::Float(value)) => values.push(value),
            (TypedValues::Any(values), value) => values.push(value),
            (_, value) => {
                self.make_way(&value);
                self.push(value);
            }
        }
    }
    /// Adds a value `count` times.
    fn push_copies(&mut self, value: &Value, count: usize) {
        let to = self.len() + count;
        match (&mut *self, value) {
            (TypedValues::Nulls(values), Value::Null) => values.resize(to, ()),
            (TypedValues::Ints(values), Value::Int(value)) => values.resize(to, *value),
            (TypedValues::Floats(values), Value::Float(value)) => values.resize(to, *value),
            (TypedValues::Any(values), value) => values.resize(to, value.clone()),
            _ => {
                self.make_way(value);
                self.push_copies(value, count);
            }
        }
    }
    fn extend(&mut self, more: &TypedValues) {
        if self.len() == 0 {
            *self = more.clone();
            return;
        }
        match (&mut *self, more) {
            (TypedValues::Nulls(values), TypedValues::Nulls(more)) => values.extend_from_slice(more),
            (TypedValues::Ints(values), TypedValues::Ints(more)) => values.extend_from_slice(more),
            (TypedValues::Floats(values), TypedValues::Floats(more)) => values.extend_from_slice(more),
            (TypedValues::Any(values), TypedValues::Any(more)) => values.extend_from_slice(more),
            (_, more) => (0..more.len()).for_each(|at| self.push(more.get(at))),
        }
    }
    fn clear(&mut self) {
        match self {
            TypedValues::Nulls(values) => values.clear(),
            TypedValues::Ints(values) => values.clear(),
            TypedValues::Floats(values) => values.clear(),
            // Later values may be of one type again.
            TypedValues::Any(_) => *self = TypedValues::default(),
        }
    }
}

/// Vertices, each with a value.
#[derive(Clone, Debug, Default)]
pub struct VertexValues {
    pub(crate) vertices: Vec<u32>,
    pub(crate) values: TypedValues,
}

impl VertexValues {
    /// How many.
    #[inline]
    pub fn len(&self) -> usize {
        self.vertices.len()
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }
    #[inline]
    pub(crate) fn push(&mut self, vertex: u32, value: Value) {
        self.vertices.push(vertex);
        self.values.push(value);
    }
    /// The same value for each of these.
    pub(crate) fn push_copies(&mut self, vertices: &[u32], value: &Value) {
        self.vertices.extend_from_slice(vertices);
        self.values.push_copies(value, vertices.len());
    }
    /// Do the values of both lie alike?
    pub(crate) fn is_like(&self, other: &VertexValues) -> bool {
        std::mem::discriminant(&self.values) == std::mem::discriminant(&other.values)
    }
    pub(crate) fn extend(&mut self, more: &VertexValues) {
        self.vertices.extend_from_slice(&more.vertices);
        self.values.extend(&more.values);
    }
    pub(crate) fn clear(&mut self) {
        self.vertices.clear();
        self.values.clear();
    }
    pub(crate) fn capacity(&self) -> usize {
        self.vertices.capacity().max(self.values.capacity())
    }
    /// Bytes of the entries, without the heap of values.
    pub(crate) fn inline_bytes(&self) -> usize {
        self.len() * (size_of::<u32>() + self.values.bytes_each())
    }
    /// Bytes of the entries in this range, with the heap of values.
    pub(crate) fn bytes(&self, range: Range<usize>) -> usize {
        let behind = match &self.values {
            TypedValues::Any(values) => values[range.clone()].iter().map(Value::heap_bytes).sum(),
            _ => 0,
        };
        range.len() * (size_of::<u32>() + self.values.bytes_each()) + behind
    }
    /// The vertex and the value at this place.
    pub fn get(&self, at: usize) -> (VertexId, Value) {
        (VertexId::from_dense(self.vertices[at]), self.values.get(at))
    }
    /// The values of a range, into a column that is built.
    pub(crate) fn build(&self, range: Range<usize>, column: &mut ColumnBuilder) {
        match &self.values {
            TypedValues::Nulls(_) => range.for_each(|_| column.push(Value::Null)),
            TypedValues::Ints(values) => column.extend_integers(values[range].iter().copied()),
            TypedValues::Floats(values) => column.extend_floats(values[range].iter().copied()),
            TypedValues::Any(values) => values[range].iter().for_each(|value| column.push(value.clone())),
        }
    }
    /// The same with shrunk columns: for storage.
    #[must_use]
    pub(crate) fn compact(mut self) -> VertexValues {
        self.vertices.shrink_to_fit();
        match &mut self.values {
            TypedValues::Nulls(_) => {}
            TypedValues::Ints(values) => values.shrink_to_fit(),
            TypedValues::Floats(values) => values.shrink_to_fit(),
            TypedValues::Any(values) => values.shrink_to_fit(),
        }
        self
    }
    /// Bytes of all, with the heap of values.
    pub fn all_bytes(&self) -> usize {
        self.bytes(0..self.len())
    }
}

/// The messages of one vertex in one round.
#[derive(Clone, Copy)]
pub struct MessagesHere<'a> {
    pub(crate) values: &'a TypedValues,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl MessagesHere<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        self.to - self.from
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Calls `told` with each value.
    ///
    /// # Errors
    /// The first of `told`.
    pub fn each<E>(&self, mut told: impl FnMut(&Value) -> Result<(), E>) -> Result<(), E> {
        match self.values {
            TypedValues::Any(values) => values[self.from..self.to].iter().try_for_each(told),
            values => (self.from..self.to).try_for_each(|at| told(&values.get(at))),
        }
    }
    /// Calls `told` with each integer.
    #[inline]
    pub fn each_int(&self, told: impl FnMut(i64)) {
        match self.values {
            TypedValues::Ints(values) => values[self.from..self.to].iter().copied().for_each(told),
            TypedValues::Any(values) => {
                values[self.from..self.to].iter().filter_map(Value::as_int).for_each(told);
            }
            TypedValues::Nulls(_) | TypedValues::Floats(_) => {}
        }
    }
    /// Calls `told` with each float.
    #[inline]
    pub fn each_float(&self, mut told: impl FnMut(f64)) {
        match self.values {
            TypedValues::Floats(values) => values[self.from..self.to].iter().copied().for_each(told),
            TypedValues::Any(values) => values[self.from..self.to].iter().for_each(|value| {
                if let Value::Float(float) = value {
                    told(*float);
                }
            }),
            TypedValues::Nulls(_) | TypedValues::Ints(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with pairs of vertices and values, whatever types come one after the other.
    #[test]
    fn columns_are_pairs() {
        let mut chance = world::chance::Chance::seeded(71);
        for round in 0..200 {
            let kinds = 1 + chance.below(4);
            let mut value = || match chance.below(kinds) {
                0 if round % 2 == 0 => Value::Null,
                0 | 1 => Value::Int(chance.below(300) as i64),
                2 => Value::Float(chance.float()),
                _ => Value::string("text"),
            };
            let (mut columns, mut pairs) = (VertexValues::default(), Vec::new());
            for at in 0..12_u32 {
                let one = value();
                if at % 3 == 0 {
                    columns.push_copies(&[at, at + 1], &one);
                    pairs.extend([(at, one.clone()), (at + 1, one)]);
                } else {
                    columns.push(at, one.clone());
                    pairs.push((at, one));
                }
            }
            let mut more = VertexValues::default();
            more.push(7, value());
            pairs.push((7, more.get(0).1));
            columns.extend(&more);
            let told = |columns: &VertexValues| {
                let all = (0..columns.len()).map(|at| (columns.vertices[at], columns.get(at).1));
                format!("{:?}", all.collect::<Vec<_>>())
            };
            assert_eq!(told(&columns), format!("{pairs:?}"));
            assert_eq!(columns.values.len(), columns.len());
            let mut built = ColumnBuilder::new();
            columns.build(2..9, &mut built);
            let built = built.finish();
            (2..9)
                .for_each(|at| assert_eq!(format!("{:?}", built.get(at - 2)), format!("{:?}", pairs[at].1)));
            let compact = columns.clone().compact();
            assert_eq!(told(&compact), told(&columns));
            assert!(compact.all_bytes() <= columns.all_bytes());
        }
    }
}
