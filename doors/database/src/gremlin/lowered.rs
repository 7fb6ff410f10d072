//! Rows of a lowered traversal as the objects a traversal gives.

use super::kept;
use crate::{Error, entity};
use execute::ResultStream;
use gremlin::{Object, ResultKind};
use model::{Batch, Value};
use transact::{Mode, Transaction};

/// Waits for the next objects; none at the end.
pub(super) fn next(
    stream: &mut ResultStream,
    result: ResultKind,
    transaction: Option<&Transaction>,
) -> Result<Option<Vec<(Object, u64)>>, Error> {
    let Some(batch) = stream.next().transpose()? else { return Ok(None) };
    record(&batch, transaction);
    Ok(Some(match result {
        ResultKind::Objects => column(&batch, 0, kept::to_object).map(|object| (object, 1)).collect(),
        ResultKind::Count => column(&batch, 0, long).map(|object| (object, 1)).collect(),
        ResultKind::Counts => vec![(counts(batch, stream, transaction)?, 1)],
    }))
}

fn record(batch: &Batch, transaction: Option<&Transaction>) {
    if let Some(transaction) = transaction.filter(|transaction| transaction.mode() == Mode::Write) {
        entity::record_shown(batch, transaction.reads());
    }
}

fn column<'b>(batch: &'b Batch, at: usize, read: fn(&Value) -> Object) -> impl Iterator<Item = Object> + 'b {
    (0..batch.len()).map(move |row| read(&batch.get(row, at)))
}

fn long(value: &Value) -> Object {
    value.as_int().map_or(Object::Null, Object::Long)
}

/// All rows as one map.
fn counts(
    first: Batch,
    stream: &mut ResultStream,
    transaction: Option<&Transaction>,
) -> Result<Object, Error> {
    let (mut pairs, mut next) = (Vec::new(), Some(first));
    while let Some(batch) = next {
        pairs.extend(column(&batch, 0, kept::to_object).zip(column(&batch, 1, long)));
        next = stream.next().transpose()?;
        if let Some(batch) = &next {
            record(batch, transaction);
        }
    }
    Ok(Object::map(pairs))
}
