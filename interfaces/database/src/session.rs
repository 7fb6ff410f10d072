//! A session: one client's conversation with the database, with at most one transaction open.
//!
//! A single statement outside a transaction is a transaction of its own, and is retried when it conflicts. In an explicit transaction, reads stream
//! from the transaction's own view and writes run to their end before they answer; a statement that fails breaks the transaction, which can then only
//! be rolled back.
//!
//! Reading order: `transaction` (begin, commit), `statement` (from a text to its answer), `writing`, `in_transactions`.

mod backup;
mod committing;
mod datalog;
mod deadline;
mod gremlin;
mod gremlin_outline;
pub(crate) mod gremlin_script;
pub(crate) mod gremlin_text;
mod in_transactions;
mod old_base;
mod planning;
mod request;
mod retry;
mod schema;
mod scope;
mod statement;
mod transaction;
mod whole;
mod writing;

use crate::accounts::Speaker;
use crate::cache::Planned;
use crate::clients::{Client, METADATA_BYTES_MAX};
use crate::database::Database;
use crate::impersonator::Impersonator;
use crate::query_log::{OpenQuery, QueryLanguage, QueryRecord, QuerySubject, SessionLog, TraceParts};
use crate::query_trace::parent_of;
use crate::roles::{Allowed, RestrictedView};
use crate::running::shortened;
use crate::{Credential, Error, Interrupter, Params, QueryResult, Value};
use execute::QueryId;
use plan::roles::Action;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::Snapshot;
use transact::Transaction;
use transaction::Open;

pub use scope::TransactionScope;
use world::clock::monotonic_ns;
use world::fiber;
use world::panics::caught;

/// Limits of one request, where they differ from the database's options.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Time it may run, all its attempts together.
    pub timeout: Option<Duration>,
    /// Bytes that a statement may hold.
    pub bytes_max: Option<u64>,
}

/// One client's conversation.
pub struct Session {
    database: Database,
    log: SessionLog,
    /// The gatekeeper that stamps its commits.
    gatekeeper: usize,
    transaction: Option<Open>,
    /// The last transaction, if it was refused because of a conflict, and until when a new one stands for it.
    refused: Option<(Arc<Transaction>, u64)>,
    limits: Limits,
    speaker: Speaker,
    /// The credential of the log-on, if the interface demanded one.
    credential: Option<Credential>,
    /// The user who logged on, if it acts as another.
    impersonator: Option<Impersonator>,
    /// Its rights.
    allowed: Allowed,
    interrupter: Interrupter,
    meanwhile: Option<Meanwhile>,
    client: Client,
    /// Metadata from the client for the next transaction.
    metadata: Value,
    /// The plan of the statement that is being run.
    planned: Option<Arc<Planned>>,
    /// Is the running statement traced?
    is_traced: bool,
    /// How long the statement that runs may wait for processes of a cluster, if there is an end to that.
    waits_until_ns: Option<u64>,
    /// The cached plan of the running statement, while it is tried over a graph that may be slightly old.
    tries_old_base: Option<Arc<Planned>>,
    /// Is the outcome of such an attempt final?
    old_base_settled: AtomicBool,
    /// Its statements are parts of this query, which stands for them.
    part_of: Option<QueryId>,
}

/// Kinds of metrics that may be shown by name; of the others only sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedFigures {
    /// Of tenants, which are named like their users unless declared otherwise.
    pub tenants: bool,
    /// Of standing queries.
    pub standing: bool,
}

fn no_metadata() -> Value {
    Value::map::<&str>([])
}

/// Called every few milliseconds while the session waits for a statement.
type Meanwhile = Arc<dyn Fn() + Send + Sync>;

impl Database {
    /// A session for one client.
    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }
}

impl Session {
    /// A session whose queries are parts of an admitted one, so that they need no admission.
    pub(crate) fn within(database: Database, whole: Option<QueryId>) -> Session {
        Session { part_of: whole, ..Session::new(database) }
    }
    pub(crate) fn new(database: Database) -> Session {
        let interrupter = Interrupter::new(&database);
        let gatekeeper = database.next_gatekeeper();
        Session {
            log: SessionLog::new(database.query_log()),
            database,
            gatekeeper,
            transaction: None,
            refused: None,
            limits: Limits::default(),
            speaker: Speaker::default(),
            credential: None,
            impersonator: None,
            allowed: Allowed::default(),
            interrupter,
            meanwhile: None,
            client: Client::default(),
            metadata: no_metadata(),
            planned: None,
            is_traced: false,
            waits_until_ns: None,
            tries_old_base: None,
            old_base_settled: AtomicBool::new(false),
            part_of: None,
        }
    }
    /// A handle by which another thread ends the queries of this session.
    pub fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }
    /// Takes note of an interruption: statements that start from now on run.
    pub fn settle_interrupt(&self) {
        self.interrupter.settle();
    }
    /// Sets the limits of every request from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }
    /// Sets the tenant that this session's requests are charged to.
    pub fn set_tenant(&mut self, tenant: impl Into<String>) {
        self.speaker = Speaker::of(Some(tenant.into()), self.speaker.user.take());
    }
    /// Sets the user: requests are charged to the tenant that the user belongs to, or to the user as a tenant of its own.
    pub fn set_user(&mut self, user: impl Into<String>) {
        self.speaker = Speaker::of(None, Some(user.into()));
    }
    /// As [`Session::set_user`], for a user who logged on. Once the user is dropped, suspended or given another password, the session serves no more
    /// requests, and its subscriptions end.
    pub fn log_on(&mut self, credential: Credential) {
        self.set_user(credential.name());
        self.credential = Some(credential);
        self.allowed = Allowed::default();
    }
    /// Acts as another user, until [`Session::act_as`] is called with none: as if that user had logged on.
    ///
    /// # Errors
    /// The user who logged on may not impersonate, or there is no such user; nothing changes then.
    pub fn act_as(&mut self, user: Option<&str>) -> Result<(), Error> {
        if let Some(own) = self.impersonator.take() {
            self.log_on(own.into_credential());
        }
        let Some(user) = user else { return Ok(()) };
        self.check_credential()?;
        self.settle_rights()?;
        let refused = || crate::roles::forbidden("act as this user");
        let own = self.credential.clone().ok_or_else(refused)?;
        if own.name() == user {
            return Ok(());
        }
        if self.restricted_view().is_some_and(|restricted_view| !restricted_view.rights.may_act_as(user)) {
            return Err(refused());
        }
        // Whether there is such a user is told only to whom may act as it.
        let other = self.database.users().vouched(user).ok_or_else(refused)?;
        tracing::info!(target: "tanglewood::audit", user = own.name(), as_user = user, "acts as another user");
        self.log_on(other);
        self.impersonator = Some(Impersonator::new(own));
        Ok(())
    }
    /// The restricted view of the caller, unless it may do everything.
    pub(crate) fn restricted_view(&self) -> Option<&RestrictedView> {
        self.allowed.restricted_view().map(|restricted_view| &**restricted_view)
    }
    /// Which metrics the caller may see by name: as SHOW TENANTS and SHOW STANDING QUERIES would list them.
    ///
    /// # Errors
    /// Its log-on is no longer valid.
    pub fn named_figures(&mut self) -> Result<NamedFigures, Error> {
        self.check_credential()?;
        self.settle_rights()?;
        let may = |action| {
            self.restricted_view().is_none_or(|restricted_view| restricted_view.rights.allows_whole(action))
        };
        let sees_all = self.restricted_view().is_none_or(|restricted_view| !restricted_view.hides());
        Ok(NamedFigures {
            tenants: may(Action::TenantManagement),
            standing: sees_all && may(Action::Subscribe),
        })
    }
    /// Looks up the present rights of the caller. An open transaction that began with other rights can only be rolled back.
    pub(crate) fn settle_rights(&mut self) -> Result<(), Error> {
        let Some(credential) = &self.credential else { return Ok(()) };
        let snapshot = self.database.snapshot();
        self.allowed.settle(
            credential.name(),
            snapshot.catalog().entries(),
            self.database.restricted_views(),
        );
        if self.transaction.as_ref().is_some_and(|open| !open.is_of(self.allowed.restricted_view())) {
            self.break_transaction();
            let message = "what the user may do was changed since the transaction began";
            return Err(Error::new("Neo.ClientError.Security.AuthorizationExpired", message)
                .hint("roll the transaction back and begin again"));
        }
        Ok(())
    }
    /// Is the credential still valid? Checked before each statement and each commit.
    pub(crate) fn check_credential(&mut self) -> Result<(), Error> {
        let Some(credential) = &self.credential else { return Ok(()) };
        credential.check()?;
        match &mut self.impersonator {
            Some(own) => own.check(credential.name(), &self.database),
            None => Ok(()),
        }
    }
    /// May a statement run: is the caller's credential still valid, and the open transaction whole, if there is one? Settles the payer of what
    /// follows.
    pub(crate) fn may_ask(&mut self) -> Result<(), Error> {
        self.may_ask_within(None).map(drop)
    }
    /// As [`Session::may_ask`], by rights that may have this age; returns the snapshot in which they were read, if they had to be read.
    fn may_ask_within(&mut self, age: Option<Duration>) -> Result<Option<Snapshot>, Error> {
        let heard = match self.credential {
            Some(_) => self.waited(self.waits_until_ns, || self.database.heard_within(age))?,
            None => None,
        };
        self.check_credential()?;
        match self.transaction {
            None => self.database.draining().check()?,
            Some(_) => self.database.draining().check_open().inspect_err(|_| self.break_transaction())?,
        }
        self.settle_rights()?;
        if self.transaction.as_ref().is_some_and(|open| open.broken) {
            let code = "Neo.ClientError.Transaction.TransactionMarkedAsFailed";
            return Err(
                Error::new(code, "an earlier statement of the transaction failed").hint("roll it back")
            );
        }
        self.speaker.settle(self.database.accounts());
        Ok(heard)
    }
    /// Calls `meanwhile`, on the calling thread, every few milliseconds while a writing statement runs: an interface checks there whether its client
    /// is still connected. It ends the statement by an [`Interrupter`].
    pub fn set_meanwhile(&mut self, meanwhile: impl Fn() + Send + Sync + 'static) {
        self.meanwhile = Some(Arc::new(meanwhile));
    }
    /// How the client is connected, for SHOW TRANSACTIONS: the connection's name, and the client's address and port.
    pub fn set_client(&mut self, connection_id: &str, address: &str) {
        self.client = Client { connection_id: connection_id.into(), address: address.into() };
    }
    /// Sets the client's metadata for SHOW TRANSACTIONS: of the next transaction, or of an auto-commit statement.
    ///
    /// # Errors
    /// They are longer than 64 KiB.
    pub fn set_metadata(&mut self, metadata: Option<Value>) -> Result<(), Error> {
        let metadata = metadata.unwrap_or_else(no_metadata);
        if metadata.heap_bytes() > METADATA_BYTES_MAX {
            let message = format!("the metadata of a transaction is longer than {METADATA_BYTES_MAX} bytes");
            return Err(Error::new("Neo.ClientError.Statement.ArgumentError", message));
        }
        self.metadata = metadata;
        Ok(())
    }
    /// The database of this session.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Runs one statement.
    pub fn query(&mut self, text: &str, params: Params) -> Result<QueryResult, Error> {
        let limits = self.limits.clone();
        self.query_within(text, params, &limits)
    }

    /// Runs one statement within limits of its own.
    pub fn query_within(
        &mut self,
        text: &str,
        params: Params,
        limits: &Limits,
    ) -> Result<QueryResult, Error> {
        self.query_as(text, params, limits, false)
    }

    /// Runs one statement that may only read, outside a transaction or in one.
    pub fn query_reading(
        &mut self,
        text: &str,
        params: Params,
        limits: &Limits,
    ) -> Result<QueryResult, Error> {
        self.query_as(text, params, limits, true)
    }

    fn query_as(
        &mut self,
        text: &str,
        params: Params,
        limits: &Limits,
        reading: bool,
    ) -> Result<QueryResult, Error> {
        let (started_ns, open) = (monotonic_ns(), OpenQuery::begin(&self.log));
        self.planned = None;
        self.is_traced = self.database.query_log().traces_next();
        let reading = reading || self.database.options().read_only;
        let age = self.age_of(text);
        self.waits_until_ns = self.deadline(limits, started_ns);
        let mut language = QueryLanguage::Cypher;
        if age.is_none()
            && !reading
            && let Some(outcome) = self.over_old_base(text, &params, (limits, started_ns))
        {
            let outcome = self.recorded(outcome, language, text, started_ns);
            return outcome.map(|result| result.held_open(open, self.database.options().query_rows_max));
        }
        let heard = self.may_ask_within(age)?;
        self.check_terminated()?;
        let outcome =
            self.within_net(|session| match session.run_datalog(text, &params, limits, started_ns) {
                Some(outcome) => {
                    language = QueryLanguage::Datalog;
                    outcome
                }
                None => {
                    let begun = (heard, age);
                    session.run(text, params, limits, started_ns, reading, begun)
                }
            });
        let outcome = self.recorded(outcome, language, text, started_ns);
        outcome.map(|result| result.held_open(open, self.database.options().query_rows_max))
    }

    /// Counts a query that answers, or has failed.
    fn recorded(
        &mut self,
        outcome: Result<QueryResult, Error>,
        language: QueryLanguage,
        text: &str,
        started_ns: u64,
    ) -> Result<QueryResult, Error> {
        let planned = self.planned.take();
        if let Some(planned) = &planned {
            let user = self.speaker.user.as_deref();
            crate::audit::log(planned, user, &self.client, outcome.as_ref().map(drop));
        }
        let subject = match (planned, language, &outcome) {
            (Some(planned), QueryLanguage::Cypher, _) => QuerySubject::Planned(planned),
            (_, QueryLanguage::Datalog, Ok(_)) => QuerySubject::Text(shortened(text).into()),
            // What a text says that cannot be read is not known: a password perhaps.
            _ => QuerySubject::Hidden,
        };
        let mut record = self.record(language, subject, started_ns);
        match outcome {
            Ok(result) => Ok(result.since(started_ns).recorded(record)),
            Err(error) => {
                self.break_transaction();
                // The graph as it is known here: a cluster's shards are not asked for the sake of a log.
                record = record.seen_in(&self.shown(self.database.snapshot()));
                record.end(Err(&error));
                Err(error)
            }
        }
    }
    pub(super) fn record(
        &self,
        language: QueryLanguage,
        subject: QuerySubject,
        started_ns: u64,
    ) -> QueryRecord {
        let user = self.speaker.user.as_deref();
        let parts = || TraceParts { parent: parent_of(&self.metadata), ..TraceParts::default() };
        QueryRecord::new(&self.log, language, subject, user, started_ns).traced(self.is_traced.then(parts))
    }

    /// Runs a call of the client, with enough stack for deep texts and values. A panic is an error of that request alone: its open transaction can
    /// only be rolled back.
    pub(crate) fn within_net<T>(
        &mut self,
        work: impl FnOnce(&mut Session) -> Result<T, Error>,
    ) -> Result<T, Error> {
        fiber::roomy(|| caught(|| work(self))).unwrap_or_else(|panicked| {
            self.break_transaction();
            Err(Error::internal(&panicked))
        })
    }
}
