//! Work within one expression, measured: every loop and every large value goes through here, so that a timeout, a kill, a shutdown and
//! the query's budget end it. See [`dataflow::watch`].

use super::error::EvalError;
use dataflow::watch::{LoopBytes, spend};
use model::nested::extent_of;
use model::{Column, Value};

/// Bytes of text that are gone through in about the time of one unit of work.
const TEXT_BYTES_PER_UNIT: usize = 64;

/// Counts the work of visiting `count` elements.
///
/// # Errors
/// The query is over.
pub(super) fn elements(count: usize) -> Result<(), EvalError> {
    Ok(spend(count as u64)?)
}

/// Counts the work of visiting `bytes` bytes of text.
///
/// # Errors
/// The query is over.
pub(super) fn text(bytes: usize) -> Result<(), EvalError> {
    Ok(spend((bytes / TEXT_BYTES_PER_UNIT) as u64)?)
}

/// Bytes of text that are changed in one go.
const PIECE_BYTES: usize = 64 << 10;

/// Changes a text piece by piece, and counts the work.
///
/// # Errors
/// The query is over.
pub(super) fn in_pieces(text: &str, change: impl Fn(&str) -> String) -> Result<String, EvalError> {
    let (mut changed, mut rest) = (String::new(), text);
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        self::text(PIECE_WEIGHT * piece.len())?;
        changed.push_str(&change(piece));
        rest = behind;
    }
    Ok(changed)
}

/// Changing letters takes so many times as long as going through them.
const PIECE_WEIGHT: usize = 4;

/// Counts the work of a walk over the smaller of two values.
///
/// # Errors
/// The query is over.
pub(super) fn comparison(a: &Value, b: &Value) -> Result<(), EvalError> {
    Ok(spend(size_of_walk(a).min(size_of_walk(b)))?)
}

/// Counts the work of comparing a value with each of these.
///
/// # Errors
/// The query is over.
pub(super) fn search(value: &Value, elements: &[Value]) -> Result<(), EvalError> {
    let own = size_of_walk(value);
    if own <= 1 {
        return Ok(spend(elements.len() as u64)?);
    }
    let sizes = elements.iter().map(|element| own.min(size_of_walk(element)));
    Ok(spend(sizes.fold(0, u64::saturating_add))?)
}

/// Counts the work of a walk over a value.
///
/// # Errors
/// The query is over.
pub(super) fn walk(value: &Value) -> Result<(), EvalError> {
    Ok(spend(size_of_walk(value))?)
}

fn size_of_walk(value: &Value) -> u64 {
    match value {
        Value::String(text) => (text.len() / TEXT_BYTES_PER_UNIT) as u64,
        Value::Bytes(bytes) => (bytes.len() / TEXT_BYTES_PER_UNIT) as u64,
        Value::Path(path) => path.edges.len() as u64,
        Value::List(_) | Value::Map(_) => {
            let extent = extent_of(value);
            u64::from(extent.parts) + extent.bytes / TEXT_BYTES_PER_UNIT as u64
        }
        _ => 1,
    }
}

/// Makes a value of about `bytes` bytes, if the budget allows it.
///
/// # Errors
/// The query's budget is exhausted, or an error of `make`.
pub(super) fn within<T>(bytes: usize, make: impl FnOnce() -> Result<T, EvalError>) -> Result<T, EvalError> {
    let mut hold = LoopBytes::default();
    hold.grow(bytes as u64)?;
    make()
}

/// A value that is kept while others are computed.
pub(super) fn keep(hold: &mut LoopBytes, value: &Value) -> Result<(), EvalError> {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Vertex(_) => Ok(()),
        value => Ok(hold.grow(value.heap_bytes() as u64)?),
    }
}

/// A column that is kept while others are computed.
pub(super) fn keep_column(hold: &mut LoopBytes, column: &Column) -> Result<(), EvalError> {
    match column {
        Column::Any(_) | Column::Text(..) | Column::Constant(..) => Ok(hold.grow(column.bytes() as u64)?),
        // Numbers, vertices and edges: a batch of them is small.
        _ => Ok(()),
    }
}

/// A list in the making: its bytes are held before they are taken.
#[derive(Debug, Default)]
pub(super) struct Growing {
    values: Vec<Value>,
    hold: LoopBytes,
}

impl Growing {
    /// Reserves room for `capacity` values.
    ///
    /// # Errors
    /// The query's budget is exhausted.
    pub(super) fn with_capacity(capacity: usize) -> Result<Growing, EvalError> {
        let mut hold = LoopBytes::default();
        hold.grow((capacity * size_of::<Value>()) as u64)?;
        Ok(Growing { values: Vec::with_capacity(capacity), hold })
    }
    /// Adds an element.
    ///
    /// # Errors
    /// The query is over, or has no bytes left.
    pub(super) fn push(&mut self, value: Value) -> Result<(), EvalError> {
        elements(1)?;
        if self.values.len() == self.values.capacity() {
            // Old and new room are both there while the elements move.
            let more = self.values.len().max(4);
            self.hold.grow((more * size_of::<Value>()) as u64)?;
            let mut moving = LoopBytes::default();
            moving.grow((self.values.len() * size_of::<Value>()) as u64)?;
            self.values.reserve_exact(more);
        }
        keep(&mut self.hold, &value)?;
        self.values.push(value);
        Ok(())
    }
    /// The values added so far.
    pub(super) fn as_slice(&self) -> &[Value] {
        &self.values
    }
    /// The list.
    ///
    /// # Errors
    /// It is nested too deeply or too large.
    pub(super) fn finish(self) -> Result<Value, EvalError> {
        Ok(Value::try_list(self.values)?)
    }
}

/// A list of `count` elements, copied from another or made of numbers.
///
/// # Errors
/// The query is over, has no bytes left, or the list is too large.
pub(super) fn list(count: usize, values: impl Iterator<Item = Value>) -> Result<Value, EvalError> {
    let mut hold = LoopBytes::default();
    hold.grow((count * size_of::<Value>()) as u64)?;
    let mut copied = Vec::with_capacity(count);
    let mut values = values.peekable();
    while values.peek().is_some() {
        copied.extend(values.by_ref().take(ELEMENTS_PER_LOOK));
        elements(ELEMENTS_PER_LOOK)?;
    }
    Ok(Value::try_list(copied)?)
}

/// Elements that are copied in one go.
const ELEMENTS_PER_LOOK: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use dataflow::watch::{Limited, enter};
    use std::time::Duration;

    #[test]
    fn texts_are_changed_piece_by_piece_as_they_are_whole() {
        let text = "aß\u{149}ﬁ \u{1F600}é".repeat(20_000);
        assert_eq!(in_pieces(&text, str::to_uppercase).unwrap(), text.to_uppercase());
        assert_eq!(in_pieces(&text, str::to_lowercase).unwrap(), text.to_lowercase());
    }

    #[test]
    fn changing_ends_with_the_query() {
        let _entered = enter(Limited::new(Duration::ZERO, u64::MAX));
        assert!(in_pieces(&"a".repeat(16 << 20), str::to_uppercase).is_err());
    }
}
