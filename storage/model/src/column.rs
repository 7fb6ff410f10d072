//! One column of a batch: values of one type stored together, or mixed values as a fallback.
//!
//! The typed forms are what hot operators match on; [`Column::get`] is the slow, obvious view of any of them. Text lies in one
//! buffer with end offsets, so a column of strings costs two allocations, not one a row.

use crate::id::{EdgeRef, NO_VERTEX, VertexId};
use crate::value::Value;
use std::sync::Arc;

/// Longer texts, in bytes, are stored as values of their own: copying them into a buffer, and once for each row that repeats them, would multiply a
/// batch's size.
pub const LONG_TEXT_BYTES: usize = 16 << 10;

/// Which rows are null; empty means none is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nulls {
    words: Vec<u64>,
}

impl Nulls {
    /// No row is null.
    pub fn none() -> Nulls {
        Nulls::default()
    }
    /// Marks `row` as null.
    pub fn set(&mut self, row: usize) {
        if self.words.len() <= row / 64 {
            self.words.resize(row / 64 + 1, 0);
        }
        self.words[row / 64] |= 1 << (row % 64);
    }
    /// Is `row` null?
    #[inline]
    pub fn contains(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }
    /// A bit for each row, set where it is null, from the lowest bit of the first word; rows behind the last word are not null.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// Is no row null?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }
}

/// Text of many rows: in one buffer, or as codes into a dictionary where few texts come again and again.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    bytes: String,
    ends: Vec<u32>,
    /// Then the rows are these, and nothing lies in the buffer.
    coded: Option<Coded>,
}

/// Rows as codes: row `r` is text `codes[r]` of the dictionary.
#[derive(Clone, Debug)]
struct Coded {
    codes: Vec<u16>,
    dictionary: Arc<Texts>,
}

impl PartialEq for Texts {
    fn eq(&self, other: &Texts) -> bool {
        self.len() == other.len() && (0..self.len()).all(|row| self.get(row) == other.get(row))
    }
}

impl Texts {
    /// Texts that lie in `bytes` one behind the other; `ends` says where each ends, in bytes, rising.
    pub fn from_parts(bytes: String, ends: Vec<u32>) -> Texts {
        debug_assert!(ends.last().is_none_or(|end| *end as usize == bytes.len()));
        Texts { bytes, ends, coded: None }
    }
    /// Rows by their codes into `dictionary`, whose texts lie in a buffer.
    pub fn from_codes(dictionary: Arc<Texts>, codes: Vec<u16>) -> Texts {
        debug_assert!(dictionary.coded.is_none());
        Texts { coded: Some(Coded { codes, dictionary }), ..Texts::default() }
    }
    /// Appends one row.
    pub fn push(&mut self, text: &str) {
        self.write_out();
        self.bytes.push_str(text);
        self.ends.push(
            u32::try_from(self.bytes.len())
                .expect("a batch holds less than 4 GiB of text: rows times LONG_TEXT_BYTES"),
        );
    }
    /// Appends rows by their codes.
    fn extend_codes(&mut self, dictionary: &Arc<Texts>, codes: impl Iterator<Item = u16>) {
        match &mut self.coded {
            Some(coded) if Arc::ptr_eq(&coded.dictionary, dictionary) => coded.codes.extend(codes),
            _ => codes.for_each(|code| self.push(dictionary.get(code as usize))),
        }
    }
    /// Text of `row`.
    #[inline]
    pub fn get(&self, row: usize) -> &str {
        if let Some(coded) = &self.coded {
            return coded.dictionary.get(coded.codes[row] as usize);
        }
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[start..self.ends[row] as usize]
    }
    /// The code of each row and the texts that the codes stand for, where rows are kept so.
    #[inline]
    pub fn codes(&self) -> Option<(&[u16], &Arc<Texts>)> {
        self.coded.as_ref().map(|coded| (coded.codes.as_slice(), &coded.dictionary))
    }
    /// Do both lie in their buffers in the same way: the same texts in the same order? Two that are equal may not, where rows are kept as codes.
    pub fn is_alike(&self, other: &Texts) -> bool {
        let plain = self.coded.is_none() && other.coded.is_none();
        plain && self.ends == other.ends && self.bytes == other.bytes
    }
    /// Makes codes into texts in the buffer.
    pub fn write_out(&mut self) {
        if let Some(coded) = self.coded.take() {
            coded.codes.iter().for_each(|code| self.push(coded.dictionary.get(*code as usize)));
        }
    }
    /// All text without separators, and where in it, in bytes, each row ends; of codes, nothing ([`Texts::write_out`]).
    pub fn parts(&self) -> (&str, &[u32]) {
        (&self.bytes, &self.ends)
    }
    /// Rows held.
    pub fn len(&self) -> usize {
        self.coded.as_ref().map_or(self.ends.len(), |coded| coded.codes.len())
    }
    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes held; a dictionary counts in each that refers to it.
    pub fn bytes(&self) -> usize {
        let coded = self.coded.as_ref();
        self.bytes.capacity()
            + self.ends.capacity() * 4
            + coded.map_or(0, |coded| coded.codes.capacity() * 2 + coded.dictionary.bytes())
    }
    fn gather(&self, rows: &[u32]) -> Texts {
        if let Some(coded) = &self.coded {
            let codes = rows.iter().map(|row| coded.codes[*row as usize]).collect();
            return Texts::from_codes(coded.dictionary.clone(), codes);
        }
        let mut picked = Texts::default();
        rows.iter().for_each(|row| picked.push(self.get(*row as usize)));
        picked
    }
}

/// Values of one column. In typed forms a null row holds a filler (0, "", [`NO_VERTEX`]) and is marked in the nulls.
#[derive(Clone, Debug)]
pub enum Column {
    /// The same value in every row.
    Constant(Value, usize),
    /// Truth values.
    Bool(Vec<bool>, Nulls),
    /// Integers.
    Int(Vec<i64>, Nulls),
    /// Floats.
    Float(Vec<f64>, Nulls),
    /// Texts.
    Text(Texts, Nulls),
    /// Vertices.
    Vertex(Vec<VertexId>, Nulls),
    /// Edges.
    Edge(Vec<EdgeRef>, Nulls),
    /// Anything, mixed.
    Any(Vec<Value>),
}

impl Column {
    /// Rows held.
    pub fn len(&self) -> usize {
        match self {
            Column::Constant(_, len) => *len,
            Column::Bool(rows, _) => rows.len(),
            Column::Int(rows, _) => rows.len(),
            Column::Float(rows, _) => rows.len(),
            Column::Text(rows, _) => rows.len(),
            Column::Vertex(rows, _) => rows.len(),
            Column::Edge(rows, _) => rows.len(),
            Column::Any(rows) => rows.len(),
        }
    }
    /// Is it without rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Value of `row`; allocates for text.
    pub fn get(&self, row: usize) -> Value {
        match self {
            Column::Constant(value, _) => value.clone(),
            Column::Any(rows) => rows[row].clone(),
            _ if self.is_null(row) => Value::Null,
            Column::Bool(rows, _) => Value::Bool(rows[row]),
            Column::Int(rows, _) => Value::Int(rows[row]),
            Column::Float(rows, _) => Value::Float(rows[row]),
            Column::Text(rows, _) => Value::string(rows.get(row)),
            Column::Vertex(rows, _) => Value::Vertex(rows[row]),
            Column::Edge(rows, _) => Value::edge(rows[row]),
        }
    }
    /// Is `row` null?
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Column::Constant(value, _) => value.is_null(),
            Column::Any(rows) => rows[row].is_null(),
            Column::Bool(_, nulls)
            | Column::Int(_, nulls)
            | Column::Float(_, nulls)
            | Column::Text(_, nulls)
            | Column::Vertex(_, nulls)
            | Column::Edge(_, nulls) => nulls.contains(row),
        }
    }
    /// The vertex of `row`, if it is one.
    #[inline]
    pub fn vertex(&self, row: usize) -> Option<VertexId> {
        match self {
            Column::Vertex(rows, _) => Some(rows[row]).filter(|vertex| *vertex != NO_VERTEX),
            Column::Any(rows) => match rows[row] {
                Value::Vertex(vertex) => Some(vertex),
                _ => None,
            },
            Column::Constant(Value::Vertex(vertex), _) => Some(*vertex),
            _ => None,
        }
    }
    /// The edge of `row`, if it is one.
    #[inline]
    pub fn edge(&self, row: usize) -> Option<EdgeRef> {
        match self {
            Column::Edge(rows, nulls) => Some(rows[row]).filter(|_| !nulls.contains(row)),
            Column::Any(rows) => match &rows[row] {
                Value::Edge(edge) => Some(**edge),
                _ => None,
            },
            Column::Constant(Value::Edge(edge), _) => Some(**edge),
            _ => None,
        }
    }
    /// Bytes held, as charged to a query's budget.
    pub fn bytes(&self) -> usize {
        match self {
            Column::Constant(value, _) => value.heap_bytes(),
            Column::Bool(rows, _) => rows.capacity(),
            Column::Int(rows, _) => rows.capacity() * 8,
            Column::Float(rows, _) => rows.capacity() * 8,
            Column::Text(rows, _) => rows.bytes(),
            Column::Vertex(rows, _) => rows.capacity() * 8,
            Column::Edge(rows, _) => rows.capacity() * size_of::<EdgeRef>(),
            Column::Any(rows) => {
                rows.capacity() * size_of::<Value>() + rows.iter().map(Value::heap_bytes).sum::<usize>()
            }
        }
    }
    /// The rows at `rows`, in that order, as a new column.
    pub fn gather(&self, rows: &[u32]) -> Column {
        fn pick<T: Copy>(values: &[T], nulls: &Nulls, rows: &[u32]) -> (Vec<T>, Nulls) {
            (rows.iter().map(|row| values[*row as usize]).collect(), pick_nulls(nulls, rows))
        }
        fn pick_nulls(nulls: &Nulls, rows: &[u32]) -> Nulls {
            let mut picked = Nulls::none();
            if !nulls.words.is_empty() {
                let nulls_at = rows.iter().enumerate().filter(|(_, row)| nulls.contains(**row as usize));
                nulls_at.for_each(|(at, _)| picked.set(at));
            }
            picked
        }
        match self {
            Column::Constant(value, _) => Column::Constant(value.clone(), rows.len()),
            Column::Bool(values, nulls) => {
                let (values, nulls) = pick(values, nulls, rows);
                Column::Bool(values, nulls)
            }
            Column::Int(values, nulls) => {
                let (values, nulls) = pick(values, nulls, rows);
                Column::Int(values, nulls)
            }
            Column::Float(values, nulls) => {
                let (values, nulls) = pick(values, nulls, rows);
                Column::Float(values, nulls)
            }
            Column::Vertex(values, nulls) => {
                let (values, nulls) = pick(values, nulls, rows);
                Column::Vertex(values, nulls)
            }
            Column::Edge(values, nulls) => {
                let (values, nulls) = pick(values, nulls, rows);
                Column::Edge(values, nulls)
            }
            Column::Text(texts, nulls) => Column::Text(texts.gather(rows), pick_nulls(nulls, rows)),
            Column::Any(values) => {
                Column::Any(rows.iter().map(|row| values[*row as usize].clone()).collect())
            }
        }
    }
}

impl FromIterator<Value> for Column {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Column {
        let mut builder = ColumnBuilder::new();
        values.into_iter().for_each(|value| builder.push(value));
        builder.finish()
    }
}

/// Builds a column row by row; it takes the typed form of its first value and falls back to [`Column::Any`] when types mix.
#[derive(Debug, Default)]
pub struct ColumnBuilder {
    column: Option<Column>,
    leading_nulls: usize,
}

impl ColumnBuilder {
    /// An empty builder.
    pub fn new() -> ColumnBuilder {
        ColumnBuilder::default()
    }
    /// Rows pushed so far.
    pub fn len(&self) -> usize {
        self.column.as_ref().map_or(self.leading_nulls, Column::len)
    }
    /// Was nothing pushed?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Appends one row.
    pub fn push(&mut self, value: Value) {
        let Some(column) = &mut self.column else {
            if value.is_null() {
                self.leading_nulls += 1;
            } else {
                let mut column = empty_like(&value);
                (0..self.leading_nulls).for_each(|_| push_null(&mut column));
                self.column = Some(column);
                self.push(value);
            }
            return;
        };
        match (&mut *column, value) {
            (Column::Any(rows), value) => rows.push(value),
            (column, Value::Null) => push_null(column),
            (Column::Bool(rows, _), Value::Bool(value)) => rows.push(value),
            (Column::Int(rows, _), Value::Int(value)) => rows.push(value),
            (Column::Float(rows, _), Value::Float(value)) => rows.push(value),
            (Column::Text(rows, _), Value::String(value)) if value.len() <= LONG_TEXT_BYTES => {
                rows.push(&value)
            }
            (Column::Vertex(rows, _), Value::Vertex(value)) => rows.push(value),
            (Column::Edge(rows, _), Value::Edge(value)) => rows.push(*value),
            (column, value) => {
                let mut rows: Vec<Value> = (0..column.len()).map(|row| column.get(row)).collect();
                rows.push(value);
                *column = Column::Any(rows);
            }
        }
    }
    /// Appends text without an allocation of its own.
    pub fn push_text(&mut self, text: &str) {
        match &mut self.column {
            Some(Column::Text(rows, _)) if text.len() <= LONG_TEXT_BYTES => rows.push(text),
            _ => self.push(Value::string(text)),
        }
    }
    /// Appends an integer.
    #[inline]
    pub fn push_integer(&mut self, integer: i64) {
        match &mut self.column {
            Some(Column::Int(rows, _)) => rows.push(integer),
            _ => self.push(Value::Int(integer)),
        }
    }
    /// Appends integers.
    pub fn extend_integers(&mut self, mut integers: impl Iterator<Item = i64>) {
        // The first decides what the column is.
        if let Some(first) = integers.next() {
            self.push_integer(first);
        }
        match &mut self.column {
            Some(Column::Int(rows, _)) => rows.extend(integers),
            _ => integers.for_each(|integer| self.push_integer(integer)),
        }
    }
    /// Appends floats.
    pub fn extend_floats(&mut self, mut floats: impl Iterator<Item = f64>) {
        if let Some(first) = floats.next() {
            self.push_float(first);
        }
        match &mut self.column {
            Some(Column::Float(rows, _)) => rows.extend(floats),
            _ => floats.for_each(|float| self.push_float(float)),
        }
    }
    /// Appends texts of a dictionary; they stay codes while all that came are of the same.
    pub fn extend_codes(&mut self, dictionary: &Arc<Texts>, codes: impl Iterator<Item = u16>) {
        match &mut self.column {
            None if self.leading_nulls == 0 => {
                let texts = Texts::from_codes(dictionary.clone(), codes.collect());
                self.column = Some(Column::Text(texts, Nulls::none()));
            }
            Some(Column::Text(rows, _)) => rows.extend_codes(dictionary, codes),
            _ => codes.for_each(|code| self.push_text(dictionary.get(code as usize))),
        }
    }
    /// Appends these rows of a column.
    pub fn append(&mut self, column: &Column, rows: impl ExactSizeIterator<Item = usize> + Clone) {
        fn copy<T: Copy>(
            (into, into_nulls): (&mut Vec<T>, &mut Nulls),
            (values, nulls): (&[T], &Nulls),
            rows: impl ExactSizeIterator<Item = usize> + Clone,
        ) {
            if !nulls.words.is_empty() {
                let null_rows = rows.clone().enumerate().filter(|(_, row)| nulls.contains(*row));
                null_rows.for_each(|(at, _)| into_nulls.set(into.len() + at));
            }
            into.extend(rows.map(|row| values[row]));
        }
        if self.is_empty() {
            self.column = empty_as(column);
        }
        match (&mut self.column, column) {
            (Some(Column::Bool(into, nulls)), Column::Bool(from, more)) => {
                copy((into, nulls), (from, more), rows)
            }
            (Some(Column::Int(into, nulls)), Column::Int(from, more)) => {
                copy((into, nulls), (from, more), rows)
            }
            (Some(Column::Float(into, nulls)), Column::Float(from, more)) => {
                copy((into, nulls), (from, more), rows)
            }
            (Some(Column::Vertex(into, nulls)), Column::Vertex(from, more)) => {
                copy((into, nulls), (from, more), rows)
            }
            (Some(Column::Edge(into, nulls)), Column::Edge(from, more)) => {
                copy((into, nulls), (from, more), rows)
            }
            (Some(Column::Text(into, _)), Column::Text(from, more)) if more.is_empty() => {
                match from.codes() {
                    Some((codes, dictionary)) => into.extend_codes(dictionary, rows.map(|row| codes[row])),
                    None => rows.for_each(|row| into.push(from.get(row))),
                }
            }
            _ => rows.for_each(|row| self.push(column.get(row))),
        }
    }
    /// Reserves room for `rows` more rows, if their type is known.
    pub fn reserve(&mut self, rows: usize) {
        match &mut self.column {
            Some(Column::Bool(values, _)) => values.reserve(rows),
            Some(Column::Int(values, _)) => values.reserve(rows),
            Some(Column::Float(values, _)) => values.reserve(rows),
            Some(Column::Vertex(values, _)) => values.reserve(rows),
            Some(Column::Edge(values, _)) => values.reserve(rows),
            Some(Column::Any(values)) => values.reserve(rows),
            Some(Column::Text(..) | Column::Constant(..)) | None => {}
        }
    }
    /// Appends a float.
    #[inline]
    pub fn push_float(&mut self, float: f64) {
        match &mut self.column {
            Some(Column::Float(rows, _)) => rows.push(float),
            _ => self.push(Value::Float(float)),
        }
    }
    /// The column; all-null columns come out as a constant.
    pub fn finish(self) -> Column {
        self.column.unwrap_or(Column::Constant(Value::Null, self.leading_nulls))
    }
}

fn empty_like(value: &Value) -> Column {
    match value {
        Value::Bool(_) => Column::Bool(Vec::new(), Nulls::none()),
        Value::Int(_) => Column::Int(Vec::new(), Nulls::none()),
        Value::Float(_) => Column::Float(Vec::new(), Nulls::none()),
        Value::String(text) if text.len() <= LONG_TEXT_BYTES => Column::Text(Texts::default(), Nulls::none()),
        Value::Vertex(_) => Column::Vertex(Vec::new(), Nulls::none()),
        Value::Edge(_) => Column::Edge(Vec::new(), Nulls::none()),
        _ => Column::Any(Vec::new()),
    }
}

/// A column without rows of the type of another, where that is known without a look at its rows.
fn empty_as(column: &Column) -> Option<Column> {
    Some(match column {
        Column::Bool(..) => Column::Bool(Vec::new(), Nulls::none()),
        Column::Int(..) => Column::Int(Vec::new(), Nulls::none()),
        Column::Float(..) => Column::Float(Vec::new(), Nulls::none()),
        Column::Text(texts, _) => {
            let coded =
                texts.codes().map(|(_, dictionary)| Texts::from_codes(dictionary.clone(), Vec::new()));
            Column::Text(coded.unwrap_or_default(), Nulls::none())
        }
        Column::Vertex(..) => Column::Vertex(Vec::new(), Nulls::none()),
        Column::Edge(..) => Column::Edge(Vec::new(), Nulls::none()),
        Column::Constant(..) | Column::Any(_) => return None,
    })
}

fn push_null(column: &mut Column) {
    fn fill<T>(rows: &mut Vec<T>, nulls: &mut Nulls, filler: T) {
        nulls.set(rows.len());
        rows.push(filler);
    }
    match column {
        Column::Constant(..) => unreachable!("a builder never holds a constant"),
        Column::Bool(rows, nulls) => fill(rows, nulls, false),
        Column::Int(rows, nulls) => fill(rows, nulls, 0),
        Column::Float(rows, nulls) => fill(rows, nulls, 0.0),
        Column::Vertex(rows, nulls) => fill(rows, nulls, NO_VERTEX),
        Column::Edge(rows, nulls) => {
            let filler = EdgeRef { id: crate::id::EdgeId(u64::MAX), source: NO_VERTEX, target: NO_VERTEX };
            fill(rows, nulls, filler)
        }
        Column::Text(rows, nulls) => {
            nulls.set(rows.len());
            rows.push("");
        }
        Column::Any(rows) => rows.push(Value::Null),
    }
}

/// A column shared between batches.
pub type ColumnArc = Arc<Column>;
