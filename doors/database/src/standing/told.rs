//! A subscription as the rows of a statement.

use crate::{Batch, Credential, Database, Error, Interrupter, Value};
use ::standing::{Event, Row, Subscription, SubscriptionEnd, Upsert, Upserts};
use parking_lot::Mutex;
use plan::expr::Name;
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;

/// A subscription as rows. Columns in front of those of the query: the commit's place and time, and how many times the row came (positive)
/// or went (negative); a mark of progress has difference 0 and nothing else. In the envelope of upserts the third says what became of the key
/// (`upsert`, `delete`, `key_violation`, `progress`); of a row that is gone only the key is said.
pub(crate) struct Told {
    subscription: Subscription,
    database: Database,
    upserts: Option<Upserts>,
    cancelled: Mutex<Option<String>>,
    interrupter: Option<Interrupter>,
    credential: Option<Credential>,
}

/// How often a reader without a time limit looks whether it was cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Told {
    /// With `key`, in the envelope of upserts by these columns.
    ///
    /// # Errors
    /// There is no such column.
    pub fn new(subscription: Subscription, key: &[Name], database: Database) -> Result<Told, Error> {
        let upserts = match key {
            [] => None,
            key => Some(Upserts::new(subscription.columns(), key)?),
        };
        let cancelled = Mutex::new(None);
        Ok(Told { subscription, database, upserts, cancelled, interrupter: None, credential: None })
    }
    /// Ends when this says so, or when whoever logged on is not welcome any more.
    pub fn until(self, interrupter: Interrupter, credential: Option<Credential>) -> Told {
        Told { interrupter: Some(interrupter), credential, ..self }
    }
    pub fn database(&self) -> &Database {
        &self.database
    }
    pub fn columns(&self) -> Arc<[Arc<str>]> {
        let third = if self.upserts.is_some() { "state" } else { "difference" };
        let own = self.subscription.columns().iter().map(|column| column.title.clone());
        ["commit", "time", third].into_iter().map(Arc::from).chain(own).collect()
    }
    pub fn cancel(&self, reason: &str) {
        *self.cancelled.lock() = Some(reason.to_string());
    }
    /// Waits for the next event, however long. `snapshot` becomes the newest: what nodes and relationships in the rows are shown from.
    pub fn next(&mut self, snapshot: &mut Snapshot) -> Result<Option<Batch>, Error> {
        loop {
            if let Some(batch) = self.next_timeout(LOOK_EVERY, snapshot)? {
                return Ok(Some(batch));
            }
        }
    }
    /// The next event's rows, if it comes in time.
    pub fn next_timeout(
        &mut self,
        timeout: Duration,
        snapshot: &mut Snapshot,
    ) -> Result<Option<Batch>, Error> {
        let interrupted = self.interrupter.as_ref().and_then(Interrupter::reason).map(str::to_string);
        if let Some(reason) = self.cancelled.lock().take().or(interrupted) {
            return Err(Error::new("Neo.TransientError.Transaction.Terminated", reason));
        }
        self.credential.as_ref().map_or(Ok(()), Credential::check)?;
        let Some(event) = self.subscription.next(timeout).map_err(ended)? else { return Ok(None) };
        *snapshot = self.database.snapshot();
        let (time, rows) = match &event {
            Event::Snapshot { rows, .. } => (Value::Null, &rows[..]),
            Event::Changes { time_micros, rows, .. } => (Value::Int((time_micros / 1_000) as i64), &rows[..]),
            Event::Progress { .. } => (Value::Null, &[][..]),
        };
        let mut shown = Vec::new();
        let mut show = |third: Value, own: Vec<Value>| {
            let head = [Value::Int(event.place() as i64), time.clone(), third];
            shown.push(head.into_iter().chain(own).collect::<Vec<_>>());
        };
        match (&event, &mut self.upserts) {
            (Event::Progress { .. }, upserts) => {
                let third = if upserts.is_some() { Value::from("progress") } else { Value::Int(0) };
                show(third, vec![Value::Null; self.subscription.columns().len()]);
            }
            (_, None) => {
                for (row, difference) in rows {
                    show(Value::Int(*difference as i64), whole(&self.subscription, row));
                }
            }
            (_, Some(upserts)) => {
                for upsert in upserts.read(rows) {
                    match upsert {
                        Upsert::Upsert(row) => show("upsert".into(), whole(&self.subscription, &row)),
                        Upsert::Delete(key) => {
                            show("delete".into(), key_alone(&self.subscription, upserts.key(), &key));
                        }
                        Upsert::KeyViolation(key) => {
                            show("key_violation".into(), key_alone(&self.subscription, upserts.key(), &key));
                        }
                    }
                }
            }
        }
        Ok(Some(Batch::from_rows(3 + self.subscription.columns().len(), &shown)))
    }
}

/// The query's columns of a row.
fn whole(subscription: &Subscription, row: &Row) -> Vec<Value> {
    subscription.columns().iter().map(|column| row.values()[column.at].clone()).collect()
}

/// The query's columns, of which only those of the key are known.
fn key_alone(subscription: &Subscription, places: &[usize], key: &Row) -> Vec<Value> {
    let value = |at: usize| places.iter().position(|place| *place == at).map(|at| key.values()[at].clone());
    subscription.columns().iter().map(|column| value(column.at).unwrap_or(Value::Null)).collect()
}

fn ended(end: SubscriptionEnd) -> Error {
    let code = "Tanglewood.TransientError.Standing.Ended";
    match end {
        SubscriptionEnd::Dropped => Error::new(code, "the standing query was dropped"),
        SubscriptionEnd::Failed(why) => Error::new(code, format!("the standing query ended: {why}")),
        SubscriptionEnd::Lagged => Error::new(code, "the subscriber fell too far behind and was cut off")
            .hint("SUBSCRIBE … FROM the last commit that you read"),
        SubscriptionEnd::Closed => Error::new(code, "the database was closed"),
    }
}
