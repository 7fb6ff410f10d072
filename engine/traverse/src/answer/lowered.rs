//! Rows of a lowered traversal as objects.

use super::outcome::{AnswerError, Objects};
use super::stored_value;
use execute::ResultStream;
use gremlin::{Object, ResultKind, Shape};
use model::{Batch, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use transact::{Mode, Transaction};

/// Waits for the next objects; none at the end.
pub(super) fn next(
    stream: &mut ResultStream,
    result: &ResultKind,
    transaction: Option<&Transaction>,
) -> Result<Option<Objects>, AnswerError> {
    let Some(batch) = stream.next().transpose()? else { return Ok(None) };
    record(&batch, transaction);
    if let ResultKind::Map(key, value) = result {
        return Ok(Some(vec![(map(batch, (key, value), stream, transaction)?, 1)]));
    }
    Ok(Some((0..batch.len()).map(|row| (object(&batch, row, result), 1)).collect()))
}

fn record(batch: &Batch, transaction: Option<&Transaction>) {
    if let Some(transaction) = transaction.filter(|transaction| transaction.mode() == Mode::Write) {
        execute::record_shown(batch, transaction.reads());
    }
}

/// One row.
fn object(batch: &Batch, row: usize, result: &ResultKind) -> Object {
    let cell = |at: usize, shape: &Shape| shaped(&batch.get(row, at), shape);
    match result {
        ResultKind::Rows(shape) => cell(0, shape),
        ResultKind::Records(parts) => {
            let pairs = parts.iter().enumerate().filter_map(|(at, (name, shape))| {
                let value = batch.get(row, at);
                (!value.is_null()).then(|| (Object::String(name.clone()), shaped(&value, shape)))
            });
            Object::map(pairs.collect())
        }
        ResultKind::Entries(key, value) | ResultKind::Map(key, value) => {
            Object::Entry(Arc::new((cell(0, key), cell(1, value))))
        }
        ResultKind::Paths(parts) => {
            let labels: Vec<BTreeSet<Arc<str>>> =
                parts.iter().map(|(labels, _)| labels.iter().cloned().collect()).collect();
            let objects = parts.iter().enumerate().map(|(at, (_, shape))| cell(at, shape)).collect();
            Object::Path(Arc::new(gremlin::object::Path { labels, objects }))
        }
    }
}

fn shaped(value: &Value, shape: &Shape) -> Object {
    match (shape, value) {
        (Shape::Long, Value::Int(number)) => Object::Long(*number),
        (Shape::Wide, value) => stored_value::to_wide(value),
        (Shape::List(shape), Value::List(elements)) => {
            Object::list(elements.iter().map(|element| shaped(element, shape)).collect())
        }
        (Shape::Record(parts), Value::List(values)) => {
            let present = parts.iter().zip(values.iter()).filter(|(_, value)| !value.is_null());
            Object::map(
                present
                    .map(|((name, shape), value)| (Object::String(name.clone()), shaped(value, shape)))
                    .collect(),
            )
        }
        (_, value) => stored_value::to_object(value),
    }
}

/// All rows as one map.
fn map(
    first: Batch,
    (key, value): (&Shape, &Shape),
    stream: &mut ResultStream,
    transaction: Option<&Transaction>,
) -> Result<Object, AnswerError> {
    let (mut pairs, mut next) = (Vec::new(), Some(first));
    while let Some(batch) = next {
        let pair = |row| (shaped(&batch.get(row, 0), key), shaped(&batch.get(row, 1), value));
        pairs.extend((0..batch.len()).map(pair));
        next = stream.next().transpose()?;
        if let Some(batch) = &next {
            record(batch, transaction);
        }
    }
    Ok(Object::map(pairs))
}
