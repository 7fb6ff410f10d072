//! Texts of gremlin-lang with bindings: a repeated text runs by its cached plan.

use super::Session;
use super::request::Request;
use crate::gremlin::{Ended, GremlinAnswer, GremlinOptions};
use crate::running::shortened;
use crate::{Error, Limits};
use execute::Access;
use gremlin::Bindings;
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use transact::Mode;
use traverse::answer::planned::{self, PlannedTraversal};
use traverse::answer::{Answer, Params};
use world::clock::monotonic_ns;
use world::failpoint;

/// The result of a text.
pub enum Script {
    /// It runs: this is its answer.
    Answer(Ended),
    /// It was read; the requests are for the caller to run.
    Requests(Vec<gremlin::Request>),
}

/// How a plan is run.
pub(super) struct Running<'r> {
    pub planned: &'r PlannedTraversal,
    pub params: Params,
    /// The timeout that the traversal sets, in milliseconds.
    pub timeout_ms: Option<i64>,
    /// Its text for lists; written out only where it is needed.
    pub text: &'r dyn Fn() -> String,
}

impl Session {
    /// Parses a text, or, if it has a cached plan for bindings of the same kinds, runs it at once.
    ///
    /// # Errors
    /// The text cannot be parsed, or the traversal fails.
    pub fn gremlin_script(
        &mut self,
        text: &str,
        bindings: &Bindings,
        options: &GremlinOptions,
    ) -> Result<Script, Error> {
        self.within_net(|session| session.read_script(text, bindings, options))
    }

    fn read_script(
        &mut self,
        text: &str,
        bindings: &Bindings,
        options: &GremlinOptions,
    ) -> Result<Script, Error> {
        failpoint::visit("script of Gremlin");
        if options.machine_only {
            return Ok(Script::Requests(gremlin::parse(text, bindings)?));
        }
        // Rights are looked up before anything is seen; a text that only ends a transaction is read whatever comes of that.
        self.wait_for_traversal(options, monotonic_ns());
        let asks = self.may_ask();
        let view = self.view()?;
        match self.traversals().read(text, bindings, &view)? {
            planned::Script::Planned(known, params) => {
                asks?;
                self.is_traced = self.database.query_log().traces_next();
                let (planned, timeout_ms) = (&known.plan, known.timeout_ms);
                let (text, started_ns) = (&|| known.text.to_string(), monotonic_ns());
                let outcome = self.run_planned(Running { planned, params, timeout_ms, text }, view, options);
                let shown = || shortened(&known.text).to_string();
                let answer = self.recorded_traversal(outcome, started_ns, shown)?;
                Ok(Script::Answer(answer.ended_by(known.terminal)))
            }
            planned::Script::Requests(requests) => Ok(Script::Requests(requests)),
        }
    }

    /// Runs a traversal that the algebra can say: it reads, as a query of Cypher would.
    pub(super) fn run_planned(
        &self,
        running: Running<'_>,
        view: Snapshot,
        options: &GremlinOptions,
    ) -> Result<GremlinAnswer, Error> {
        let Running { planned, params, timeout_ms, text } = running;
        let told = timeout_ms.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
        let timeout = told.or(options.timeout).or(self.limits.timeout);
        let started_ns = monotonic_ns();
        let limits = Limits { timeout, ..self.limits.clone() };
        let transaction = self.transaction.as_ref().map(|open| open.transaction.clone());
        let access = match &transaction {
            Some(transaction) if transaction.mode() == Mode::Write => Access::Write(transaction.clone()),
            _ => Access::Read(view.clone()),
        };
        let mut request = Request {
            text: "",
            params: Arc::new(params),
            bytes_max: self.bytes_max(),
            deadline_ns: self.deadline(&limits, started_ns),
            plan: &planned.planned,
            notices: None,
            started_ns,
            part_of: None,
        };
        let (stream, ticket) = match self.try_here(&request, access.clone())? {
            Some(stream) => (stream, None),
            None => {
                let text = text();
                request.text = &text;
                self.start_on_executors(&request, access)?
            }
        };
        let answer = Answer::lowered(stream, planned.result.clone(), transaction, view);
        Ok(GremlinAnswer::new(answer, ticket))
    }
}
