//! Rows on their way to the client: PULL and DISCARD.
//!
//! Invariant: no more of a result is read than the client pulled, plus one batch to know whether there is more. For a result without end a PULL
//! returns the rows there are, and is answered as soon as none is ready.

use super::{Connection, Next, OpenResult, Sink, invalid, map};
use crate::bolt::message;
use crate::bolt::packstream::Packer;
use crate::bolt::structure::{pack, pack_hydrated};
use crate::bolt::{Version, answer, chunks};
use database::{Error, QueryResult};
use model::{Batch, Column, Map, Value};
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};
use world::failpoint;

/// Buffered output is sent from this size on.
pub(super) const FLUSH_BYTES: usize = 64 << 10;
/// Buffered rows are sent after this long; and a waiting thread checks its client this often.
const FLUSH_AFTER: Duration = Duration::from_millis(5);

/// A PULL of a result without end (a subscription) is answered after this long, rows or none: until then the client cannot say that it has enough.
const ENDLESS_PULL: Duration = Duration::from_secs(1);

/// The outcome of waiting for rows.
enum Waited {
    Rows(Batch),
    Nothing,
    End,
}

/// Rows of a batch that the client has not pulled yet.
pub(super) struct Leftover {
    batch: Batch,
    row: usize,
}

impl Connection {
    /// Hands out up to `n` rows of a result, or drops them.
    pub(super) fn pull(&mut self, extra: &Map, wanted: bool, sink: &mut dyn Sink) -> std::io::Result<Next> {
        let int = |name: &str| extra.get(name).and_then(Value::as_int);
        let qid = int("qid").filter(|qid| *qid >= 0).unwrap_or(self.last_qid);
        let count = int("n").unwrap_or(-1);
        let Some(mut open) = self.results.remove(&qid) else {
            self.session.break_transaction();
            self.fail(&invalid("there is no open result to read"));
            return Ok(Next::Go);
        };
        let limit = usize::try_from(count).unwrap_or(usize::MAX);
        let outcome = match wanted || count >= 0 {
            true => self.stream(&mut open, limit, wanted, sink)?,
            false => open.result.discard().map(|()| false),
        };
        match outcome {
            Ok(true) => {
                self.results.insert(qid, open);
                self.succeed(map([("has_more", true.into())]));
            }
            Ok(false) => {
                let in_transaction = self.session.in_transaction();
                let telling = answer::Telling { version: self.version, filter: &open.filter, in_transaction };
                let metadata = answer::finished(&open.result, open.has_sent, &telling);
                self.succeed(metadata);
            }
            Err(error) => {
                self.session.break_transaction();
                self.fail(&error);
            }
        }
        Ok(Next::Go)
    }

    /// Sends rows; true where there are more.
    fn stream(
        &mut self,
        open: &mut OpenResult,
        limit: usize,
        wanted: bool,
        sink: &mut dyn Sink,
    ) -> std::io::Result<Result<bool, Error>> {
        let (mut left, is_endless) = (limit, open.result.is_endless());
        let mut patience = is_endless.then_some(ENDLESS_PULL);
        loop {
            let leftover = match open.leftover.take() {
                Some(leftover) => leftover,
                None => match self.next_batch(&mut open.result, patience, sink)? {
                    Ok(Waited::End) => return Ok(Ok(false)),
                    Ok(Waited::Nothing) => return Ok(Ok(true)),
                    Ok(Waited::Rows(batch)) => Leftover { batch, row: 0 },
                    Err(error) => return Ok(Err(error)),
                },
            };
            patience = is_endless.then_some(Duration::ZERO);
            let Leftover { batch, row } = leftover;
            let end = batch.len().min(row.saturating_add(left));
            open.has_sent |= end > row;
            if wanted {
                for row in row..end {
                    if let Err(error) = self.record(&open.result, &batch, row) {
                        return Ok(Err(error));
                    }
                    if self.out.len() >= FLUSH_BYTES {
                        self.flush(sink)?;
                    }
                }
            }
            left -= end - row;
            if end < batch.len() {
                open.leftover = Some(Leftover { batch, row: end });
            }
            if left == 0 {
                return if is_endless { Ok(Ok(true)) } else { self.has_more(open, sink) };
            }
        }
    }

    /// The next batch; if it keeps the client waiting, the rows before it go out first, and the client is looked after.
    fn next_batch(
        &mut self,
        result: &mut QueryResult,
        patience: Option<Duration>,
        sink: &mut dyn Sink,
    ) -> std::io::Result<Result<Waited, Error>> {
        let until_ns = patience.map(after_ns);
        loop {
            match result
                .next_batch_timeout(patience.map_or(FLUSH_AFTER, |patience| patience.min(FLUSH_AFTER)))
            {
                Ok(Some(Some(batch))) => return Ok(Ok(Waited::Rows(batch))),
                Ok(Some(None)) => return Ok(Ok(Waited::End)),
                Err(error) => return Ok(Err(error)),
                Ok(None) if until_ns.is_some_and(|until_ns| monotonic_ns() >= until_ns) => {
                    return Ok(Ok(Waited::Nothing));
                }
                Ok(None) => {
                    self.flush(sink)?;
                    sink.look();
                }
            }
        }
    }

    /// Whether a further row exists; looks one batch ahead, so that the last row of a result ends it.
    fn has_more(
        &mut self,
        open: &mut OpenResult,
        sink: &mut dyn Sink,
    ) -> std::io::Result<Result<bool, Error>> {
        while open.leftover.is_none() {
            match self.next_batch(&mut open.result, None, sink)? {
                Err(error) => return Ok(Err(error)),
                Ok(Waited::End) => return Ok(Ok(false)),
                Ok(Waited::Nothing) => {}
                Ok(Waited::Rows(batch)) if batch.is_empty() => {}
                Ok(Waited::Rows(batch)) => open.leftover = Some(Leftover { batch, row: 0 }),
            }
        }
        Ok(Ok(true))
    }

    fn record(&mut self, result: &QueryResult, batch: &Batch, row: usize) -> Result<(), Error> {
        let (mut outcome, version, before) = (Ok(()), self.version, self.out.len());
        chunks::write_with(&mut self.out, |packer| {
            failpoint::visit("record of Bolt");
            message::record(packer, batch.width());
            outcome = (0..batch.width()).try_for_each(|at| cell(packer, result, batch, row, at, version));
        });
        if outcome.is_err() {
            self.out.truncate(before);
        }
        outcome
    }
}

/// Writes one value of a row, with everything about the entities in it.
fn cell(
    packer: &mut Packer,
    result: &QueryResult,
    batch: &Batch,
    row: usize,
    at: usize,
    version: Version,
) -> Result<(), Error> {
    let carried = batch.column(at);
    if plain(packer, carried.column(), carried.at(row)) {
        return Ok(());
    }
    match batch.get(row, at) {
        value @ (Value::Vertex(_) | Value::Edge(_) | Value::Path(_) | Value::List(_) | Value::Map(_)) => {
            let hydrated = database::entity::hydrate(&value, result.snapshot())?;
            pack_hydrated(packer, &hydrated, version);
        }
        value => pack(packer, &value, version.sends_utc()),
    }
    Ok(())
}

/// Writes a value straight from a column of one plain type, without making a [`Value`] of it; false where it is not such a one.
fn plain(packer: &mut Packer, column: &Column, at: usize) -> bool {
    match column {
        Column::Bool(values, nulls) if !nulls.contains(at) => packer.bool(values[at]),
        Column::Int(values, nulls) if !nulls.contains(at) => packer.int(values[at]),
        Column::Float(values, nulls) if !nulls.contains(at) => packer.float(values[at]),
        Column::Text(texts, nulls) if !nulls.contains(at) => packer.text(texts.get(at)),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ColumnBuilder;
    use world::chance::Chance;

    #[test]
    fn values_straight_from_columns_are_written_as_values_are() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        let mut straight = 0;
        for _ in 0..200 {
            let (kind, mut builder) = (chance.below(5), ColumnBuilder::new());
            for _ in 0..50 {
                let bits = chance.next_u64();
                builder.push(match kind {
                    _ if bits.is_multiple_of(7) => Value::Null,
                    0 => bits.is_multiple_of(2).into(),
                    1 => Value::Int((bits >> (bits % 64)) as i64),
                    2 => Value::Float(bits as f64 / 3.0),
                    3 => "ä".repeat((bits % 300) as usize).into(),
                    _ => Value::list(vec![Value::Int(1)]),
                });
            }
            let column = builder.finish();
            for at in 0..column.len() {
                let (mut fast, mut slow) = (Packer::default(), Packer::default());
                if plain(&mut fast, &column, at) {
                    pack(&mut slow, &column.get(at), true);
                    assert_eq!(fast.bytes, slow.bytes, "{:?}", column.get(at));
                    straight += 1;
                }
            }
        }
        assert!(straight > 2_000, "only {straight} values were written straight");
    }
}
