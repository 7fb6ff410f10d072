//! At a cluster's gate, a writing statement is first tried over the graph that the gate has already, instead of reading the latest one from all
//! shards.
//!
//! Idea: a commit is validated by its read set, whatever its base. If nothing of that was written since, it is as if it had begun when it committed.
//! So an old base costs only failed attempts, and saves a round trip to the shards.
//! Invariants: only a commit counts. An attempt that writes nothing, or fails for any reason, is repeated over the latest graph, since its reads may
//! be old; except one that was ended by a user, or whose outcome is unknown. The user's rights are read too, and so validated.
//! Cost: after failed attempts statements begin with the latest graph, at first the next one, then ever more of them
//! ([`OldBases`](crate::cache::OldBases)).

use super::Session;
use super::request::Request;
use crate::cache::{OldBases, Planned};
use crate::{Error, Limits, Params, QueryResult};
use plan::physical::OperatorDriver;
use plan::statement::Mode as StatementMode;
use plan::{Plan, StatementKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::Snapshot;
use transact::{Mode, OUTCOME_UNKNOWN};

/// Age of the base at most. An older one conflicts more often; a younger one must be fetched from the shards more often.
const OLD_BASE: Duration = Duration::from_millis(50);

/// Shards were waited for in vain.
const UNAVAILABLE: &str = "Neo.TransientError.General.DatabaseUnavailable";

/// Codes of final errors, although nothing is known to be committed: ended by KILL, the client or a shutdown; shards that do not answer; an unknown
/// outcome of the commit.
const FINAL: [&str; 3] = ["Neo.ClientError.Transaction.Terminated", UNAVAILABLE, OUTCOME_UNKNOWN];

/// The code of an attempt that wrote nothing; no client sees it.
const AGAIN: &str = "Tanglewood.TransientError.Cluster.Again";

impl Session {
    /// Tries a statement that is known to write. None if it must be made over the latest graph.
    pub(super) fn over_old_base(
        &mut self,
        text: &str,
        params: &Params,
        (limits, started_ns): (&Limits, u64),
    ) -> Option<Result<QueryResult, Error>> {
        let known = self.worth_an_old_base(text)?;
        let heard = self.may_ask_within(Some(OLD_BASE)).and_then(|heard| {
            self.check_terminated()?;
            Ok(heard)
        });
        // Whose view is restricted reads more than is recorded here; it is known only now what they may see.
        if heard.is_ok() && self.restricted_view().is_some() {
            return None;
        }
        self.tries_old_base = Some(known.clone());
        self.old_base_settled.store(false, Ordering::Relaxed);
        let outcome = heard.and_then(|heard| {
            let begun = (heard, Some(OLD_BASE));
            self.within_net(|session| session.run(text, params.clone(), limits, started_ns, false, begun))
        });
        self.tries_old_base = None;
        known.old_bases.tried(outcome.is_ok());
        self.old_base_settled.load(Ordering::Relaxed).then_some(outcome)
    }

    fn worth_an_old_base(&self, text: &str) -> Option<Arc<Planned>> {
        if !self.database.engine().is_gate() || self.transaction.is_some() || self.restricted_view().is_some()
        {
            return None;
        }
        let known = self.database.known_plan(text, &self.database.snapshot(), None)?;
        let statement = &known.plan.statement;
        let is_alone = statement.in_transactions.is_none() && statement.as_of.is_none();
        let is_query =
            matches!(statement.kind, StatementKind::Query { .. }) && statement.mode != StatementMode::Explain;
        // Only what a pipeline runs is recorded as it must be; and what a procedure does besides is not done twice.
        let calls = |plan: &Plan| matches!(plan, Plan::CallProcedure(_));
        let is_recorded = match &statement.kind {
            StatementKind::Query { plan, .. } => {
                statement.driver() == OperatorDriver::Pipeline && !plan.any(&mut |part| calls(part))
            }
            _ => false,
        };
        let is_meant = known.plan.writes && is_alone && is_query && is_recorded;
        (is_meant && known.old_bases.try_now()).then_some(known)
    }

    /// One attempt over a graph that may lack the latest commits.
    pub(super) fn write_over_old_base(
        &self,
        request: &Request<'_>,
        snapshot: &Snapshot,
    ) -> Result<QueryResult, Error> {
        let settled = |is_settled: bool| self.old_base_settled.store(is_settled, Ordering::Relaxed);
        let old_bases = self.tries_old_base.as_ref().map(|known| &known.old_bases);
        let begin = || {
            let transaction = Arc::new(self.begin_over(snapshot, Mode::Write));
            transaction.commit_next();
            if self.credential.is_some() {
                transaction.reads().entries();
            }
            transaction
        };
        let (mut transaction, mut is_long, mut may_be_committed) = (begin(), false, false);
        let written = transaction.has_begun().map_err(Error::from).and_then(|()| {
            if let Some(written) = self.write_here(request, &transaction)? {
                return Ok(written);
            }
            // It is too long for this thread, which says nothing of how old its graph is: where others keep the machine busy, any is.
            transaction.rollback();
            if !old_bases.is_some_and(OldBases::try_long) {
                return Err(Error::new(AGAIN, "it is made again over the latest graph"));
            }
            is_long = true;
            transaction = begin();
            transaction.has_begun()?;
            self.write(request, transaction.clone())
        });
        let attempt = written.and_then(|written| {
            if !transaction.has_changes() {
                return Err(Error::new(AGAIN, "it is made again over the latest graph"));
            }
            // From here on it may be committed, whatever becomes of this call.
            settled(true);
            may_be_committed = true;
            self.commit_written(request, &transaction, written)
        });
        // Who waited for shards in vain on an executor has time left, and is repeated like others.
        let is_over = |error: &Error| {
            FINAL.contains(&&*error.code) && !(is_long && &*error.code == UNAVAILABLE && !may_be_committed)
        };
        settled(attempt.as_ref().err().is_none_or(is_over));
        if attempt.is_err() {
            transaction.rollback();
            old_bases.filter(|_| is_long).into_iter().for_each(OldBases::long_in_vain);
        }
        attempt
    }
}
