//! A subscription as the rows of a statement.

use crate::impersonator::Impersonator;
use crate::roles::{Allowed, RestrictedView};
use crate::{Batch, Credential, Database, Error, Interrupter, Value};
use ::standing::{Event, Row, Subscription, SubscriptionEnd, Upsert, Upserts};
use parking_lot::Mutex;
use plan::expr::Name;
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use transact::Point;
use world::clock::{monotonic_ns, span_ns};

/// A subscription as rows. Columns in front of those of the query: the commit's version and time, the delta (how many times the row came, if
/// positive, or went, if negative), and the mark. Behind the last row of a commit, and of the snapshot, comes a row with delta 0 and the mark to
/// resume from; no other row has one. In the envelope of upserts the third column is the operation on the key (`upsert`, `delete`, `key_violation`,
/// `progress`); of a row that is gone only the key is given.
pub(crate) struct SubscriptionRows {
    subscription: Subscription,
    /// A mark came first, where there is one before the first commit.
    has_begun: bool,
    /// When the last mark of commits that changed nothing is emitted, the next may be [`PROGRESS_EVERY`] later; it waits here.
    next_progress_ns: u64,
    progress: Option<Event>,
    database: Database,
    upserts: Option<Upserts>,
    cancelled: Mutex<Option<String>>,
    interrupter: Option<Interrupter>,
    credential: Option<Credential>,
    /// The user who logged on, if it reads as another.
    impersonator: Option<Impersonator>,
    allowed: Allowed,
    /// The rights that the subscription began with, unless it may do everything.
    restricted_view: Option<Arc<RestrictedView>>,
}

/// How far apart marks come, at least, of commits that change nothing.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Columns in front of those of the query.
const OWN_COLUMNS: usize = 4;

/// How often a reader without a time limit looks whether it was cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl SubscriptionRows {
    /// With `key`, in the envelope of upserts by these columns.
    ///
    /// # Errors
    /// There is no such column.
    pub fn new(
        mut subscription: Subscription,
        key: &[Name],
        database: Database,
    ) -> Result<SubscriptionRows, Error> {
        let mut upserts = match key {
            [] => None,
            key => Some(Upserts::new(subscription.columns(), key)?),
        };
        if let (Some(upserts), Some(base)) = (&mut upserts, subscription.take_base()) {
            // The reader has been told of these, or does not care.
            upserts.read(&base);
        }
        Ok(SubscriptionRows {
            subscription,
            has_begun: false,
            next_progress_ns: 0,
            progress: None,
            database,
            upserts,
            cancelled: Mutex::new(None),
            interrupter: None,
            credential: None,
            impersonator: None,
            allowed: Allowed::default(),
            restricted_view: None,
        })
    }
    /// Sets the restricted view of its reader.
    pub fn seen_with(self, restricted_view: Option<Arc<RestrictedView>>) -> SubscriptionRows {
        SubscriptionRows { restricted_view, ..self }
    }
    /// The graph as its reader may see it.
    pub fn snapshot(&self) -> Snapshot {
        let snapshot = self.database.snapshot();
        self.restricted_view
            .as_ref()
            .map_or_else(|| snapshot.clone(), |restricted_view| restricted_view.shown(snapshot.clone()))
    }
    /// Ends on this interruption, or when the credential is no longer valid.
    pub fn until(
        self,
        interrupter: Interrupter,
        credential: Option<Credential>,
        impersonator: Option<Impersonator>,
    ) -> SubscriptionRows {
        SubscriptionRows { interrupter: Some(interrupter), credential, impersonator, ..self }
    }
    pub fn columns(&self) -> Arc<[Arc<str>]> {
        let third = if self.upserts.is_some() { "state" } else { "difference" };
        let own = self.subscription.columns().iter().map(|column| column.title.clone());
        ["commit", "time", third, "mark"].into_iter().map(Arc::from).chain(own).collect()
    }
    pub fn cancel(&self, reason: &str) {
        *self.cancelled.lock() = Some(reason.to_string());
    }
    /// Waits for the next event, however long. Sets `snapshot` to the newest one, in which nodes and relationships of the rows are resolved.
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
        self.check_reader()?;
        if !std::mem::replace(&mut self.has_begun, true)
            && let Some(mark) = self.subscription.mark()
        {
            return Ok(Some(self.batch(mark.at, Vec::new())));
        }
        let Some(event) = self.next_event(timeout)? else { return Ok(None) };
        *snapshot = self.snapshot();
        let told = match &event {
            Event::Snapshot { rows, .. } | Event::Changes { rows, .. } => self.told(rows),
            Event::Progress { .. } => {
                self.next_progress_ns = monotonic_ns().saturating_add(nanoseconds(PROGRESS_EVERY));
                Vec::new()
            }
        };
        Ok(Some(self.batch(event.at(), told)))
    }
    /// Is the credential still valid, and are the reader's rights those that it began with?
    fn check_reader(&mut self) -> Result<(), Error> {
        let Some(credential) = &self.credential else { return Ok(()) };
        credential.check()?;
        if let Some(own) = &mut self.impersonator {
            own.check(credential.name(), &self.database)?;
        }
        let now = self.database.snapshot();
        self.allowed.settle(credential.name(), now.catalog().entries(), self.database.restricted_views());
        let now = self.allowed.restricted_view();
        // The restricted view of a gate is another than that of its replica; what it shows is the same.
        let rights = |restricted_view: Option<&Arc<RestrictedView>>| {
            restricted_view.map(|restricted_view| restricted_view.rights.clone())
        };
        if self.restricted_view.as_ref().map(Arc::as_ptr) == now.map(Arc::as_ptr)
            || rights(self.restricted_view.as_ref()) == rights(now)
        {
            return Ok(());
        }
        now.map_or(Ok(()), |restricted_view| restricted_view.demand_subscription())?;
        let hides = |restricted_view: Option<&Arc<RestrictedView>>| {
            restricted_view.is_some_and(|restricted_view| restricted_view.hides())
        };
        if hides(self.restricted_view.as_ref()) || hides(now) {
            let message = "what the user may see was changed since the subscription began";
            return Err(
                Error::new("Neo.ClientError.Security.AuthorizationExpired", message).hint("subscribe again")
            );
        }
        self.restricted_view = now.cloned();
        Ok(())
    }
    /// The next event, if it comes in time. Of marks of progress in close succession only the last is emitted.
    fn next_event(&mut self, timeout: Duration) -> Result<Option<Event>, Error> {
        let until_ns = monotonic_ns().saturating_add(nanoseconds(timeout));
        let due_ns = self.next_progress_ns;
        loop {
            let wait_until_ns = if self.progress.is_some() { until_ns.min(due_ns) } else { until_ns };
            let wait_ns = wait_until_ns.saturating_sub(monotonic_ns());
            match self.subscription.next(Duration::from_nanos(wait_ns)) {
                Ok(Some(event @ Event::Progress { .. })) => self.progress = Some(event),
                Ok(Some(event)) => {
                    self.progress = None;
                    return Ok(Some(event));
                }
                Ok(None) => {}
                // What was told up to the end has its mark.
                Err(_) if self.progress.is_some() => return Ok(self.progress.take()),
                Err(end) => return Err(ended(end)),
            }
            let now_ns = monotonic_ns();
            if self.progress.is_some() && now_ns >= due_ns {
                return Ok(self.progress.take());
            }
            if now_ns >= until_ns {
                return Ok(None);
            }
        }
    }
    /// The rows of an event: the third column, and those of the query.
    fn told(&mut self, rows: &[(Row, isize)]) -> Vec<(Value, Vec<Value>)> {
        let subscription = &self.subscription;
        let Some(upserts) = &mut self.upserts else {
            let told =
                |(row, difference): &(Row, isize)| (Value::Int(*difference as i64), whole(subscription, row));
            return rows.iter().map(told).collect();
        };
        let upserted = upserts.read(rows).into_iter();
        let key = |key: &Row| key_alone(subscription, upserts.key(), key);
        let told = |upsert: Upsert| match upsert {
            Upsert::Upsert(row) => ("upsert".into(), whole(subscription, &row)),
            Upsert::Delete(gone) => ("delete".into(), key(&gone)),
            Upsert::KeyViolation(many) => ("key_violation".into(), key(&many)),
        };
        upserted.map(told).collect()
    }
    /// The rows of a commit, and the mark behind them.
    fn batch(&self, at: Point, told: Vec<(Value, Vec<Value>)>) -> Batch {
        let time = match at.time_micros {
            0 => Value::Null,
            micros => Value::Int((micros / 1_000) as i64),
        };
        let width = self.subscription.columns().len();
        let row = |third: Value, mark: Value, own: Vec<Value>| {
            let head = [Value::Int(at.commit_version as i64), time.clone(), third, mark];
            head.into_iter().chain(own).collect::<Vec<_>>()
        };
        let mut rows: Vec<Vec<Value>> =
            told.into_iter().map(|(third, own)| row(third, Value::Null, own)).collect();
        let third = if self.upserts.is_some() { Value::from("progress") } else { Value::Int(0) };
        let mark = self.subscription.mark().map_or(Value::Null, |mark| mark.to_string().into());
        rows.push(row(third, mark, vec![Value::Null; width]));
        Batch::from_rows(OWN_COLUMNS + width, &rows)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    span_ns(time)
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
            .hint("SUBSCRIBE … FROM the last mark that you read"),
        SubscriptionEnd::Closed => Error::new(code, "the database was closed"),
    }
}
