//! The open transaction of a session: begun, rolled back, or broken by a failed statement.

use super::deadline::{deadline_after, remaining, terminated};
use super::{Limits, Session};
use crate::Error;
use crate::clients::Listed;
use crate::roles::RestrictedView;
use crate::running::Running;
use plan::statement::SchemaCommand;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::Snapshot;
use transact::{Mode, Party, Transaction};
use world::clock::monotonic_ns;
use world::failpoint;

/// An open transaction.
pub(super) struct Open {
    pub(super) transaction: Arc<Transaction>,
    pub(super) mode: Mode,
    pub(super) broken: bool,
    /// When it has taken too long.
    pub(super) deadline_ns: Option<u64>,
    /// Its entry in the list of transactions.
    pub(super) listed: Arc<Listed>,
    /// The largest memory budget of its statements.
    pub(super) bytes_max: AtomicU64,
    /// Its restricted view, unless it may do everything.
    restricted_view: Option<Arc<RestrictedView>>,
    /// Commands about indexes and constraints, carried out by its commit. One that has some writes no data.
    pub(super) schema: Vec<PendingSchema>,
}

/// A command about an index or a constraint that waits for the commit of its transaction.
pub(super) struct PendingSchema {
    pub(super) text: Box<str>,
    pub(super) command: SchemaCommand,
}

impl Open {
    /// Was it begun with these rights?
    pub(super) fn is_of(&self, restricted_view: Option<&Arc<RestrictedView>>) -> bool {
        self.restricted_view.as_ref().map(Arc::as_ptr) == restricted_view.map(Arc::as_ptr)
    }
    /// A statement of it has this budget.
    pub(super) fn allows(&self, bytes_max: u64) {
        self.bytes_max.fetch_max(bytes_max, Ordering::Relaxed);
    }
}

impl Session {
    /// Is a transaction open?
    pub fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Where nothing may be written, all transactions read.
    fn permitted(&self, mode: Mode) -> Mode {
        if self.database.options().read_only { Mode::Read } else { mode }
    }
    /// Begins a transaction; [`Mode::Read`] costs nothing to commit and refuses writes.
    pub fn begin(&mut self, mode: Mode) -> Result<(), Error> {
        self.begin_within(mode, None)
    }
    /// Begins a transaction that may take so long, from now to its commit.
    pub fn begin_within(&mut self, mode: Mode, timeout: Option<Duration>) -> Result<(), Error> {
        self.within_net(|session| session.open(mode, timeout))
    }
    fn open(&mut self, mode: Mode, timeout: Option<Duration>) -> Result<(), Error> {
        self.check_credential()?;
        self.database.draining().check()?;
        self.settle_rights()?;
        failpoint::visit("begin of a transaction");
        if self.in_transaction() {
            let code = "Neo.ClientError.Transaction.TransactionStartFailed";
            return Err(Error::new(code, "a transaction is open already in this session")
                .hint("commit or roll it back first"));
        }
        let mode = self.permitted(mode);
        let refused =
            self.refused.take().filter(|(_, until_ns)| mode == Mode::Write && monotonic_ns() < *until_ns);
        let engine = self.database.engine();
        let deadline_ns = timeout.map(deadline_after);
        let transaction = self.waited(deadline_ns, || {
            let transaction = match refused {
                Some((before, _)) => engine.begin_fairly(self.gatekeeper, &before),
                None => engine.begin_at(self.gatekeeper, mode),
            };
            transaction.has_begun()?;
            Ok(Arc::new(transaction.of(self.party())))
        })?;
        let listed = self.listed();
        let bytes_max = AtomicU64::new(self.bytes_max());
        let restricted_view = self.allowed.restricted_view().cloned();
        self.transaction = Some(Open {
            transaction,
            mode,
            broken: false,
            deadline_ns,
            listed,
            bytes_max,
            restricted_view,
            schema: Vec::new(),
        });
        Ok(())
    }
    /// Lists a transaction that begins now.
    pub(super) fn listed(&self) -> Arc<Listed> {
        let (client, user) = (self.client.clone(), self.speaker.user.clone());
        self.database.transactions().begin(client, user, self.metadata.clone())
    }
    /// Was the open transaction terminated?
    pub(super) fn check_terminated(&mut self) -> Result<(), Error> {
        if !self.transaction.as_ref().is_some_and(|open| open.listed.is_terminated()) {
            return Ok(());
        }
        self.break_transaction();
        Err(terminated())
    }
    /// Bytes that a statement may hold, and a transaction may write, unless it has limits of its own.
    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_within(&self.limits)
    }
    /// Bytes that a request within these limits may hold.
    pub(super) fn bytes_within(&self, limits: &Limits) -> u64 {
        limits.bytes_max.unwrap_or(self.database.options().query_bytes_max)
    }
    /// How the scheduler runs a request of this session that is a part of no other.
    ///
    /// # Errors
    /// Its deadline has passed.
    pub(super) fn running<'t>(
        &self,
        text: &'t str,
        (bytes_max, deadline_ns): (u64, Option<u64>),
    ) -> Result<Running<'t>, Error> {
        let payer = self.speaker.payer(self.database.accounts());
        Ok(Running { text, payer, timeout: remaining(deadline_ns)?, bytes_max, part_of: None })
    }
    /// Begins a transaction; one that retries a refused one is let through in the end.
    pub(super) fn begin_after(&self, mode: Mode, refused: Option<Arc<Transaction>>) -> Transaction {
        let (engine, mode) = (self.database.engine(), self.permitted(mode));
        let transaction = match refused {
            Some(refused) => engine.begin_again(self.gatekeeper, &refused),
            None => engine.begin_at(self.gatekeeper, mode),
        };
        transaction.of(self.party())
    }
    /// Begins a transaction for a statement that was planned by this snapshot.
    pub(super) fn begin_over(&self, latest: &Snapshot, mode: Mode) -> Transaction {
        self.database.engine().begin_over(latest, self.gatekeeper, self.permitted(mode)).of(self.party())
    }
    /// The party of its transactions, for users who may not do everything.
    fn party(&self) -> Option<Party> {
        self.restricted_view().map(|restricted_view| restricted_view.party.clone())
    }
    /// Are the rights that the transaction began with still those of the caller?
    pub(super) fn still_allows(&mut self, open: &Open) -> Result<(), Error> {
        self.settle_rights()?;
        if open.is_of(self.allowed.restricted_view()) {
            return Ok(());
        }
        let message = "what the user may do was changed since the transaction began; it was rolled back";
        Err(Error::new("Neo.ClientError.Security.AuthorizationExpired", message).hint("begin again"))
    }
    /// Marks the open transaction as failed: it can only be rolled back.
    pub fn break_transaction(&mut self) {
        if let Some(open) = &mut self.transaction {
            open.broken = true;
        }
    }
    /// Forgets the open transaction.
    pub fn rollback(&mut self) -> Result<(), Error> {
        self.take_open()?.transaction.rollback();
        Ok(())
    }
    pub(super) fn take_open(&mut self) -> Result<Open, Error> {
        let code = "Neo.ClientError.Transaction.TransactionNotFound";
        self.transaction
            .take()
            .ok_or_else(|| Error::new(code, "no transaction is open").hint("begin one first"))
    }
}
