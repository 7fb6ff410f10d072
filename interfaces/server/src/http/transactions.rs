//! Transactions that clients have open between requests.
//!
//! Each is a session of the database under an id that cannot be guessed. It is rolled back when it was idle for a while, when a statement in it
//! fails, and when its user may no longer send requests. Invariant: one request at a time is answered in a transaction.

use super::query::QueryRequest;
use super::refusal::Refusal;
use super::tokens::secret;
use crate::Limits;
use crate::listener::crowd::{Full, Origin, Share, Shares};
use database::{Error, Interrupter, Session};
use hyper::StatusCode;
use model::temporal::Zone;
use model::temporal::ZonedDateTime;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use world::clock::{monotonic_ns, span_ns, wall_us};

/// Bytes of chance in the id of a transaction.
const ID_BYTES: usize = 16;

/// All transactions that are open between requests.
pub(super) struct Transactions {
    open: Mutex<BTreeMap<String, Arc<Open>>>,
    places: Arc<Shares<Origin>>,
    idle_timeout: Duration,
    /// Has the server ended them all?
    is_over: AtomicBool,
}

/// The terms under which a transaction was begun, which hold to its end.
pub(super) struct TransactionTerms {
    /// The user who began it.
    pub owner: Option<String>,
    /// The impersonated user.
    pub acts_as: Option<String>,
    /// May it only read?
    pub reads_only: bool,
    /// When it has taken the time that its client gave it.
    pub client_until_ns: Option<u64>,
}

impl TransactionTerms {
    /// Do a later request's terms agree?
    ///
    /// # Errors
    /// It names another user or another mode than the transaction has.
    fn check(&self, asked: &QueryRequest) -> Result<(), Refusal> {
        let user = self.acts_as.as_ref().or(self.owner.as_ref());
        let is_other_user = asked.acts_as.as_ref().is_some_and(|acts_as| Some(acts_as) != user);
        let is_other_mode = asked.reads_only.is_some_and(|reads_only| reads_only != self.reads_only);
        let name = match (is_other_user, is_other_mode) {
            (false, false) => return Ok(()),
            (true, _) => "impersonatedUser",
            (false, true) => "accessMode",
        };
        let message = format!("the transaction was begun with another `{name}`");
        let error = Error::new("Neo.ClientError.Request.Invalid", message);
        let error = error.hint(format!("leave out `{name}`, or begin another transaction with it"));
        Err(Refusal { status: StatusCode::BAD_REQUEST, error })
    }
}

/// A transaction between two requests, or in one.
pub(super) struct Open {
    session: Mutex<Option<Session>>,
    /// Ends its running statement.
    pub interrupter: Interrupter,
    pub terms: TransactionTerms,
    touched_ns: AtomicU64,
    _place: Share<Origin>,
}

impl Transactions {
    pub fn new(limits: &Limits) -> Transactions {
        Transactions {
            open: Mutex::default(),
            places: Shares::new(limits.transactions_max, limits.transactions_per_address_max),
            idle_timeout: limits.transaction_idle_timeout,
            is_over: AtomicBool::new(false),
        }
    }
    /// Reserves a place for one more.
    ///
    /// # Errors
    /// There is none left.
    pub fn place(&self, origin: Origin) -> Result<Share<Origin>, Refusal> {
        self.places.take(origin, 1).map_err(|full| {
            let whose = if full == Full::All { "" } else { " of this address" };
            Refusal::busy(format!("too many transactions{whose} are open; commit or roll back some first"))
        })
    }
    /// Keeps a transaction that a request began; its id.
    ///
    /// # Errors
    /// The system gives no chance for an id.
    pub fn keep(
        &self,
        session: Session,
        terms: TransactionTerms,
        place: Share<Origin>,
    ) -> Result<(String, Arc<Open>), Refusal> {
        let id = secret(ID_BYTES)?;
        let open = Arc::new(Open {
            interrupter: session.interrupter(),
            session: Mutex::new(Some(session)),
            terms,
            touched_ns: AtomicU64::new(monotonic_ns()),
            _place: place,
        });
        self.open.lock().insert(id.clone(), open.clone());
        Ok((id, open))
    }
    /// The transaction of this id, if this user began it.
    ///
    /// # Errors
    /// There is none, or it has expired; the server has ended it.
    pub fn find(&self, id: &str, user: Option<&str>) -> Result<Arc<Open>, Refusal> {
        if self.is_over.load(Ordering::Acquire) {
            return Err(database::unavailable().into());
        }
        let found = self.open.lock().get(id).filter(|open| open.terms.owner.as_deref() == user).cloned();
        found.ok_or_else(missing)
    }
    /// The same, for a request in the transaction.
    ///
    /// # Errors
    /// As [`Transactions::find`]; the request wants another transaction.
    pub fn find_for(&self, id: &str, user: Option<&str>, asked: &QueryRequest) -> Result<Arc<Open>, Refusal> {
        let open = self.find(id, user)?;
        open.terms.check(asked).map(|()| open)
    }
    /// The transaction has ended.
    pub fn forget(&self, id: &str) {
        // Its session may be dropped with it, which must not happen under the lock.
        let gone = self.open.lock().remove(id);
        drop(gone);
    }
    /// Rolls back transactions that were idle for too long.
    pub fn sweep(&self) {
        let now_ns = monotonic_ns();
        let is_idle = |open: &Arc<Open>| {
            let idle_ns = now_ns.saturating_sub(open.touched_ns.load(Ordering::Acquire));
            idle_ns >= span_ns(self.idle_timeout) && !open.session.is_locked()
        };
        let idle: Vec<String> = {
            let open = self.open.lock();
            open.iter().filter(|(_, open)| is_idle(open)).map(|(id, _)| id.clone()).collect()
        };
        for id in idle {
            let found = self.open.lock().get(&id).cloned();
            let Some(open) = found else { continue };
            let Some(mut session) = open.session.try_lock() else { continue };
            // A request may have come meanwhile.
            if is_over(&open, self.idle_timeout) {
                roll_back(session.take());
                drop(session);
                self.forget(&id);
            }
        }
    }
    /// Rolls back all.
    pub fn end_all(&self) {
        self.is_over.store(true, Ordering::Release);
        let all = std::mem::take(&mut *self.open.lock());
        all.values().for_each(|open| open.interrupter.interrupt("the server ends"));
    }
    /// When a transaction that is used now will end, as text (ISO 8601).
    pub fn expires(&self) -> String {
        let micros = wall_us().saturating_add(self.idle_timeout.as_micros() as u64);
        let seconds = i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX);
        ZonedDateTime::of_instant(seconds, 0, &Zone::UTC).to_string()
    }
    /// Transactions that are open.
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }
}

/// There is no such transaction.
pub(super) fn missing() -> Refusal {
    let message =
        "there is no transaction of this id; it has ended, or was rolled back when nothing was asked in it";
    Refusal::new(StatusCode::NOT_FOUND, message)
}

fn is_over(open: &Open, idle_timeout: Duration) -> bool {
    monotonic_ns().saturating_sub(open.touched_ns.load(Ordering::Acquire)) >= span_ns(idle_timeout)
}

fn roll_back(session: Option<Session>) {
    if let Some(mut session) = session
        && session.in_transaction()
    {
        // Nothing is lost by a rollback that finds nothing to roll back.
        let _ = session.rollback();
    }
}

impl Open {
    /// Its session, for one request.
    ///
    /// # Errors
    /// Another request is answered in it.
    pub fn session(&self) -> Result<MutexGuard<'_, Option<Session>>, Refusal> {
        let session = self.session.try_lock().ok_or_else(|| {
            Refusal::new(StatusCode::CONFLICT, "another request is answered in this transaction")
        })?;
        if let Some(session) = &*session {
            session.settle_interrupt();
        }
        self.touch();
        Ok(session)
    }
    /// It was used.
    pub fn touch(&self) {
        self.touched_ns.store(monotonic_ns(), Ordering::Release);
    }
}
