//! Inputs and outputs of the loops: columns of a batch or just computed, seen as values of one type, and a column of truth values in the making.

use dataflow::watch::LoopBytes;
use model::batch::Carried;
use model::column::{LONG_TEXT_BYTES, Texts};
use model::temporal::Date;
use model::{Column, EdgeRef, Nulls, Value, VertexId};

/// Which rows of a batch are meant.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// The first so many: all.
    All(usize),
    /// These.
    Some(&'a [u32]),
}

impl Rows<'_> {
    /// How many.
    pub(crate) fn len(&self) -> usize {
        match self {
            Rows::All(len) => *len,
            Rows::Some(rows) => rows.len(),
        }
    }
    /// The batch row of the `at`-th.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> usize {
        match self {
            Rows::All(_) => at,
            Rows::Some(rows) => rows[at] as usize,
        }
    }
}

/// A column to read from: one of the batch, through its row map and the selection, or one just computed.
pub(crate) enum Operand<'a> {
    Carried(&'a Carried, Rows<'a>),
    Computed(Column, #[allow(dead_code, reason = "held for as long as the column is there")] LoopBytes),
}

impl Operand<'_> {
    pub(crate) fn column(&self) -> &Column {
        match self {
            Operand::Carried(carried, _) => carried.column(),
            Operand::Computed(column, _) => column,
        }
    }
    /// Position in [`Operand::column`] of the `row`-th row.
    #[inline]
    pub(crate) fn at(&self, row: usize) -> usize {
        match self {
            Operand::Carried(carried, rows) => carried.at(rows.get(row)),
            Operand::Computed(..) => row,
        }
    }
    /// Is each row at its own number in [`Operand::column`]?
    fn is_whole(&self) -> bool {
        match self {
            Operand::Carried(carried, rows) => carried.rows().is_none() && matches!(rows, Rows::All(_)),
            Operand::Computed(..) => true,
        }
    }
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.column().is_null(self.at(row))
    }
    pub(crate) fn get(&self, row: usize) -> Value {
        self.column().get(self.at(row))
    }
}

/// Values of one type: the same in every row, or those of a column.
pub(crate) enum Source<'a, T> {
    Same(T),
    Rows(&'a [T], Option<&'a Nulls>, &'a Operand<'a>),
}

impl<'a, T: Copy> Source<'a, T> {
    fn rows(values: &'a [T], nulls: &'a Nulls, operand: &'a Operand<'a>) -> Source<'a, T> {
        Source::Rows(values, Some(nulls).filter(|nulls| !nulls.is_empty()), operand)
    }
    /// The first `rows` values, if they lie in a row and none is null.
    pub(crate) fn as_rows(&self, rows: usize) -> Option<&'a [T]> {
        match self {
            Source::Rows(values, None, operand) if operand.is_whole() => values.get(..rows),
            _ => None,
        }
    }
    /// The first `rows` values, if none is null and they lie in a row or are the same.
    pub(crate) fn plain(&self, rows: usize) -> Option<PlainValues<'a, T>> {
        match self {
            Source::Same(value) => Some(PlainValues::Same(*value)),
            Source::Rows(..) => self.as_rows(rows).map(PlainValues::Rows),
        }
    }
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<T> {
        match self {
            Source::Same(value) => Some(*value),
            Source::Rows(values, nulls, operand) => {
                let at = operand.at(row);
                if nulls.is_some_and(|nulls| nulls.contains(at)) { None } else { Some(values[at]) }
            }
        }
    }
}

/// Values of one type, none of them null: side by side, or the same in every row.
#[derive(Clone, Copy)]
pub(crate) enum PlainValues<'a, T> {
    Rows(&'a [T]),
    Same(T),
}

/// What `compute` makes of both, row by row: a loop for each form, without a question in it, so that the processor takes several rows at once.
#[inline(always)]
pub(crate) fn zipped<T: Copy, R>(
    a: PlainValues<'_, T>,
    b: PlainValues<'_, T>,
    rows: usize,
    mut compute: impl FnMut(T, T) -> R,
) -> Vec<R> {
    match (a, b) {
        (PlainValues::Rows(a), PlainValues::Rows(b)) => {
            a.iter().zip(b).map(|(a, b)| compute(*a, *b)).collect()
        }
        (PlainValues::Rows(a), PlainValues::Same(b)) => a.iter().map(|a| compute(*a, b)).collect(),
        (PlainValues::Same(a), PlainValues::Rows(b)) => b.iter().map(|b| compute(a, *b)).collect(),
        (PlainValues::Same(a), PlainValues::Same(b)) => (0..rows).map(|_| compute(a, b)).collect(),
    }
}

/// Texts: the same in every row, or those of a column.
pub(crate) enum TextSource<'a> {
    Same(&'a str),
    Rows(&'a Texts, &'a Nulls, &'a Operand<'a>),
}

impl TextSource<'_> {
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        match self {
            TextSource::Same(text) => Some(text),
            TextSource::Rows(texts, nulls, operand) => {
                let at = operand.at(row);
                if nulls.contains(at) { None } else { Some(texts.get(at)) }
            }
        }
    }
}

pub(crate) fn integers<'a>(operand: &'a Operand<'a>) -> Option<Source<'a, i64>> {
    match operand.column() {
        Column::Int(values, nulls) => Some(Source::rows(values, nulls, operand)),
        Column::Constant(Value::Int(int), _) => Some(Source::Same(*int)),
        _ => None,
    }
}

pub(crate) fn floats<'a>(operand: &'a Operand<'a>) -> Option<Source<'a, f64>> {
    match operand.column() {
        Column::Float(values, nulls) => Some(Source::rows(values, nulls, operand)),
        Column::Constant(Value::Float(float), _) => Some(Source::Same(*float)),
        _ => None,
    }
}

/// Numbers of either type.
pub(crate) enum NumberSource<'a> {
    Integers(Source<'a, i64>),
    Floats(Source<'a, f64>),
}

impl NumberSource<'_> {
    /// As a value; numbers are built without an allocation.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<Value> {
        match self {
            NumberSource::Integers(source) => source.get(row).map(Value::Int),
            NumberSource::Floats(source) => source.get(row).map(Value::Float),
        }
    }
    #[inline]
    pub(crate) fn float(&self, row: usize) -> Option<f64> {
        match self {
            NumberSource::Integers(source) => source.get(row).map(|int| int as f64),
            NumberSource::Floats(source) => source.get(row),
        }
    }
}

pub(crate) fn numbers<'a>(operand: &'a Operand<'a>) -> Option<NumberSource<'a>> {
    let of_integers = integers(operand).map(NumberSource::Integers);
    of_integers.or_else(|| floats(operand).map(NumberSource::Floats))
}

pub(crate) fn vertices<'a>(operand: &'a Operand<'a>) -> Option<Source<'a, VertexId>> {
    match operand.column() {
        Column::Vertex(values, nulls) => Some(Source::rows(values, nulls, operand)),
        Column::Constant(Value::Vertex(vertex), _) => Some(Source::Same(*vertex)),
        _ => None,
    }
}

pub(crate) fn edges<'a>(operand: &'a Operand<'a>) -> Option<Source<'a, EdgeRef>> {
    match operand.column() {
        Column::Edge(values, nulls) => Some(Source::rows(values, nulls, operand)),
        Column::Constant(Value::Edge(edge), _) => Some(Source::Same(**edge)),
        _ => None,
    }
}

pub(crate) fn texts<'a>(operand: &'a Operand<'a>) -> Option<TextSource<'a>> {
    match operand.column() {
        Column::Text(texts, nulls) => Some(TextSource::Rows(texts, nulls, operand)),
        // A longer one is looked at row by row, where the work is counted.
        Column::Constant(Value::String(text), _) if text.len() <= LONG_TEXT_BYTES => {
            Some(TextSource::Same(text))
        }
        _ => None,
    }
}

/// Dates, which stand among values of any type: in the rows that are read nothing else but nulls.
pub(crate) enum Dates<'a> {
    Rows(&'a [Value], &'a Operand<'a>),
    Same(Date),
}

impl Dates<'_> {
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<Date> {
        match self {
            Dates::Same(date) => Some(*date),
            Dates::Rows(values, operand) => match values[operand.at(row)] {
                Value::Date(date) => Some(date),
                _ => None,
            },
        }
    }
}

pub(crate) fn dates<'a>(operand: &'a Operand<'a>, rows: usize) -> Option<Dates<'a>> {
    match operand.column() {
        Column::Constant(Value::Date(date), _) => Some(Dates::Same(*date)),
        Column::Any(values) => {
            let is_date = |row| matches!(values[operand.at(row)], Value::Date(_) | Value::Null);
            let are_dates = (0..rows).all(is_date);
            are_dates.then_some(Dates::Rows(values, operand))
        }
        _ => None,
    }
}

/// A column of truth values in the making.
pub(crate) struct Truths {
    values: Vec<bool>,
    nulls: Nulls,
}

impl Truths {
    pub(crate) fn with_capacity(rows: usize) -> Truths {
        Truths { values: Vec::with_capacity(rows), nulls: Nulls::none() }
    }
    #[inline]
    pub(crate) fn push(&mut self, truth: Option<bool>) {
        if truth.is_none() {
            self.nulls.set(self.values.len());
        }
        self.values.push(truth.unwrap_or(false));
    }
    pub(crate) fn finish(self) -> Column {
        Column::Bool(self.values, self.nulls)
    }
}
