//! Traversals through a session: auto-commit, retried where they conflict, or in its transaction.

use super::Session;
use super::committing::{Commit, check_written};
use super::gremlin_outline::outline;
use super::gremlin_script::Running;
use crate::gremlin::{GremlinAnswer, GremlinOptions};
use crate::interrupt::Ticket;
use crate::query_log::{QueryKind, QueryLanguage, QuerySubject};
use crate::running::label;
use crate::{Error, Limits};
use execute::{Access, CacheAccess, Execution, ResultStream};
use gremlin::{Traversal, TraversalMetrics};
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use transact::{Mode, Transaction};
use traverse::Compiled;
use traverse::answer::graph_adapter::GraphAdapter;
use traverse::answer::planned::{PlannedTraversal, Plans, params};
use traverse::answer::running::{Found, Measures, Started};
use traverse::answer::{Answer, Objects, report};
use world::clock::monotonic_ns;
use world::failpoint;

/// A traversal on its way through a session.
struct TraversalRequest {
    compiled: Arc<Compiled>,
    label: String,
    deadline_ns: Option<u64>,
    measures: Option<Measures>,
}

impl Session {
    /// Plans of traversals, for the rights of the caller.
    pub(super) fn traversals(&self) -> &Plans {
        self.restricted_view()
            .map_or(self.database.traversals(), |restricted_view| &restricted_view.traversals)
    }
    /// Runs a traversal.
    pub fn gremlin(
        &mut self,
        traversal: &Traversal,
        options: &GremlinOptions,
    ) -> Result<GremlinAnswer, Error> {
        let started_ns = monotonic_ns();
        self.wait_for_traversal(options, started_ns);
        self.may_ask()?;
        self.is_traced = self.database.query_log().traces_next();
        let outcome = self.within_net(|session| {
            failpoint::visit("traversal");
            session.traverse(traversal, options)
        });
        self.recorded_traversal(outcome, started_ns, || outline(traversal))
    }
    /// Shards are waited for as long as a traversal may take that begins now.
    pub(super) fn wait_for_traversal(&mut self, options: &GremlinOptions, started_ns: u64) {
        let limits = Limits { timeout: options.timeout.or(self.limits.timeout), ..self.limits.clone() };
        self.waits_until_ns = self.deadline(&limits, started_ns);
    }
    /// Records a traversal that answers, or has failed. Its text is written out only if it is slow.
    pub(super) fn recorded_traversal(
        &mut self,
        outcome: Result<GremlinAnswer, Error>,
        started_ns: u64,
        text: impl FnOnce() -> String,
    ) -> Result<GremlinAnswer, Error> {
        let is_long = outcome.as_ref().is_ok_and(GremlinAnswer::is_running)
            || self.is_traced
            || self.database.query_log().is_slow(monotonic_ns().saturating_sub(started_ns));
        let subject = if is_long { QuerySubject::Text(text().into()) } else { QuerySubject::Hidden };
        let writes = outcome.as_ref().is_ok_and(|answer| answer.commit_version.is_some());
        let kind = match &outcome {
            Err(_) => QueryKind::Unknown,
            Ok(_) if writes => QueryKind::Write,
            Ok(_) => QueryKind::Read,
        };
        let mut record = self.record(QueryLanguage::Gremlin, subject, started_ns).of_kind(kind);
        match outcome {
            Ok(answer) => Ok(answer.recorded(record, self.database.options().query_rows_max)),
            Err(error) => {
                self.break_transaction();
                record.end(Err(&error));
                Err(error)
            }
        }
    }

    fn traverse(&mut self, traversal: &Traversal, options: &GremlinOptions) -> Result<GremlinAnswer, Error> {
        let view = self.view()?;
        if let Some(traversal) = report::without("explain", traversal) {
            let text = report::explained(self.traversals(), &traversal, &view, options.machine_only)?;
            return Ok(GremlinAnswer::new(Answer::of_text(text, view), None));
        }
        if let Some(traversal) = report::unprofiled(traversal) {
            return self.profile(&traversal, options);
        }
        if !options.machine_only
            && let Some(planned) = self.traversals().plan(traversal, &view)?
        {
            return self.run_lowered(traversal, &planned, view, options);
        }
        self.walk(traversal, options, None)
    }

    /// Lets the traverser machine go through the steps.
    fn walk(
        &mut self,
        traversal: &Traversal,
        options: &GremlinOptions,
        measures: Option<Measures>,
    ) -> Result<GremlinAnswer, Error> {
        let compiled = Arc::new(traverse::compile(traversal)?);
        let timeout = compiled.setting.timeout_ms.map(Duration::from_millis).or(options.timeout);
        let limits = Limits { timeout: timeout.or(self.limits.timeout), ..self.limits.clone() };
        let deadline_ns = self.deadline(&limits, monotonic_ns());
        let label = label(traversal);
        let asked = TraversalRequest { compiled, label, deadline_ns, measures };
        match &self.transaction {
            None if asked.compiled.writes => self.traverse_and_commit(&asked),
            None => self.start_traversal(&asked, self.view()?, None),
            Some(open) => {
                let (mode, transaction) = (open.mode, open.transaction.clone());
                if asked.compiled.writes && mode == Mode::Read {
                    let code = "Neo.ClientError.Statement.AccessMode";
                    return Err(Error::new(
                        code,
                        "the traversal writes, but the transaction was begun for reading",
                    ));
                }
                let answer =
                    self.start_traversal(&asked, transaction.snapshot(), Some(transaction.clone()))?;
                // what writes has run when it answers
                if asked.compiled.writes { ended(answer, &transaction, self.bytes_max()) } else { Ok(answer) }
            }
        }
    }

    /// Runs a traversal to its end and returns the counters of its plan, or, where it runs on the step machine, its time.
    fn profile(&mut self, traversal: &Traversal, options: &GremlinOptions) -> Result<GremlinAnswer, Error> {
        let (view, begin_ns) = (self.view()?, monotonic_ns());
        let lowered = match options.machine_only {
            true => None,
            false => self.traversals().plan(traversal, &view)?,
        };
        let (text, parts) = match lowered {
            Some(planned) => {
                let (planned, profiling) = report::measured(&planned, &view);
                let mut answer = self.run_lowered(traversal, &planned, view.clone(), options)?;
                while answer.next_objects()?.is_some() {}
                match answer.profile() {
                    Some(nodes) => report::measures(&profiling, &nodes),
                    None => (profiling.plain(), Vec::new()),
                }
            }
            None => {
                let measures = Measures::of(traversal);
                let mut answer = self.walk(traversal, options, Some(measures.clone()))?;
                let mut count = 0_u64;
                while let Some(some) = answer.next_objects()? {
                    count = some.iter().fold(count, |count, (_, bulk)| count.saturating_add(*bulk));
                }
                let parts = measures.take();
                let took_us = (monotonic_ns() - begin_ns) / 1_000;
                (format!("{}{count} objects in {took_us} us\n", report::table(&parts)), parts)
            }
        };
        let duration_ns = monotonic_ns() - begin_ns;
        let metrics = TraversalMetrics { duration_ns, parts, text };
        Ok(GremlinAnswer::new(Answer::of_metrics(metrics, view), None))
    }

    /// A traversal that the algebra can say: it reads, as a query of Cypher would.
    fn run_lowered(
        &self,
        traversal: &Traversal,
        planned: &PlannedTraversal,
        view: Snapshot,
        options: &GremlinOptions,
    ) -> Result<GremlinAnswer, Error> {
        let timeout_ms = traversal.option("evaluationTimeout").and_then(gremlin::Object::as_long);
        let params = params(traversal, &planned.planned);
        let text = &|| label(traversal);
        self.run_planned(Running { planned, params, timeout_ms, text }, view, options)
    }

    fn traverse_and_commit(&self, asked: &TraversalRequest) -> Result<GremlinAnswer, Error> {
        self.until_it_commits(|refused| {
            let transaction = Arc::new(self.begin_after(Mode::Write, refused));
            let begun = transaction.has_begun().map_err(Error::from);
            let started = begun.and_then(|()| {
                self.start_traversal(asked, transaction.snapshot(), Some(transaction.clone()))
            });
            let outcome = started.and_then(|answer| {
                let objects = to_end(answer)?;
                check_written(&transaction, self.bytes_max())?;
                transaction.refresh()?;
                let commit_version = self.commit_within(
                    &transaction,
                    &Commit {
                        text: &asked.label,
                        deadline_ns: asked.deadline_ns,
                        bytes_max: self.bytes_max(),
                        part_of: None,
                        listed: None,
                    },
                )?;
                self.database.after_commit();
                Ok(GremlinAnswer::committed(Answer::ended(objects, transaction.snapshot()), commit_version))
            });
            (transaction, outcome)
        })
    }

    fn start_traversal(
        &self,
        asked: &TraversalRequest,
        snapshot: Snapshot,
        transaction: Option<Arc<Transaction>>,
    ) -> Result<GremlinAnswer, Error> {
        let found = Found::default();
        let bytes_max = self.bytes_max();
        let own_ids = self.database.own_ids().clone();
        let rights = self.restricted_view().map(|restricted_view| restricted_view.rights.clone());
        let may_call = rights
            .map(|rights| Arc::new(move |name: &str| rights.may_call(name)) as traverse::answer::MayCall);
        let tenant = self.speaker.payer(self.database.accounts()).tenant;
        let cache = CacheAccess { cache: self.database.program_cache().clone(), tenant };
        let graph = GraphAdapter::new(snapshot.clone(), transaction.clone(), own_ids, bytes_max);
        let graph = graph.allowing(may_call).caching(cache);
        let program = Started::new(graph, asked.compiled.clone(), found.clone(), asked.measures.clone());
        let access = match transaction {
            Some(transaction) => Access::Write(transaction),
            None => Access::Read(snapshot.clone()),
        };
        let (stream, ticket) = self.submit(asked, program, access)?;
        Ok(GremlinAnswer::new(Answer::running(stream, found, snapshot), ticket))
    }

    fn submit(
        &self,
        asked: &TraversalRequest,
        program: Started,
        access: Access,
    ) -> Result<(ResultStream, Option<Ticket>), Error> {
        let running = self.running(&asked.label, (self.bytes_max(), asked.deadline_ns))?;
        let options = self.database.execute_options(&running);
        let stream = Execution::start_program(self.database.runtime(), Box::new(program), access, options)?;
        let ticket = stream.id().map(|query| self.interrupter.starts(query));
        Ok((stream, ticket))
    }
}

/// Runs a traversal to its end.
fn to_end(mut answer: GremlinAnswer) -> Result<Objects, Error> {
    let mut all = Vec::new();
    while let Some(some) = answer.next_objects()? {
        all.extend(some);
    }
    Ok(all)
}

/// Runs a traversal to its end, within its transaction.
fn ended(answer: GremlinAnswer, transaction: &Transaction, bytes_max: u64) -> Result<GremlinAnswer, Error> {
    let objects = to_end(answer)?;
    check_written(transaction, bytes_max)?;
    transaction.refresh()?;
    Ok(GremlinAnswer::new(Answer::ended(objects, transaction.snapshot()), None))
}
