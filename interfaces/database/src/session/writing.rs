//! Statements that write: run to their end before they answer; auto-commit ones are committed before, and retried where they conflict.

use super::Session;
use super::committing::{Commit, check_written};
use super::request::Request;
use crate::result::too_many_rows;
use crate::{Error, QueryResult, Summary};
use execute::profiling::Profiling;
use execute::{Access, Counters, ResultStream};
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use transact::{Mode, Transaction};
use world::clock::monotonic_ns;

/// The result of a writing statement that has run.
pub(super) struct Written {
    columns: Arc<[Arc<str>]>,
    batches: Vec<model::Batch>,
    counters: Counters,
    profile: Option<(String, plan::explain::PlanDescription)>,
    /// Counters of the nodes of its plan, if it is traced.
    measured: Option<Vec<execute::NodeProfile>>,
}

impl Written {
    pub(super) fn answer(self, session: &Session, request: &Request<'_>, snapshot: Snapshot) -> QueryResult {
        let elapsed = Duration::from_nanos(monotonic_ns().saturating_sub(request.started_ns));
        let mut summary = Summary {
            counters: self.counters,
            first_after: elapsed,
            elapsed,
            profiled: self.profile.is_some(),
            ..request.summary(session, &snapshot)
        };
        if let Some((text, plan)) = self.profile {
            summary.plan_text = Some(text);
            summary.plan = Some(plan);
        }
        QueryResult::of_batches(self.columns, self.batches, snapshot, summary).measured(self.measured)
    }
}

impl Session {
    /// A writing statement on its own: tried again where it conflicts. It begins with the snapshot that it was planned by, where there is one.
    pub(super) fn write_alone(
        &self,
        request: &Request<'_>,
        mut planned_by: Option<Snapshot>,
    ) -> Result<QueryResult, Error> {
        if let Some(old) = planned_by.as_ref().filter(|_| self.tries_old_base.is_some()) {
            return self.write_over_old_base(request, old);
        }
        self.until_it_commits(|refused| {
            // What was refused before may have a turn to keep, so it is begun once only.
            let tries_here = refused.is_none();
            let planned_by = planned_by.take();
            let begin = |refused| {
                let transaction = match &planned_by {
                    Some(latest) => self.begin_over(latest, Mode::Write),
                    None => self.begin_after(Mode::Write, refused),
                };
                transaction.commit_next();
                Arc::new(transaction)
            };
            let mut transaction = begin(refused);
            let begun = transaction.has_begun().map_err(Error::from);
            let here = begun.and_then(|()| match tries_here {
                true => self.write_here(request, &transaction),
                false => Ok(None),
            });
            let outcome = here.and_then(|written| match written {
                Some(written) => Ok(written),
                None => {
                    if tries_here {
                        // What it may have written here is forgotten.
                        transaction.rollback();
                        transaction = begin(None);
                        transaction.has_begun()?;
                    }
                    self.write(request, transaction.clone())
                }
            });
            let outcome = outcome.and_then(|written| self.commit_written(request, &transaction, written));
            (transaction, outcome)
        })
    }
    pub(super) fn commit_written(
        &self,
        request: &Request<'_>,
        transaction: &Transaction,
        written: Written,
    ) -> Result<QueryResult, Error> {
        let commit = Commit {
            text: request.text,
            deadline_ns: request.deadline_ns,
            bytes_max: request.bytes_max,
            part_of: request.part_of,
            listed: None,
        };
        let (commit_version, snapshot) = (self.commit_within(transaction, &commit)?, transaction.snapshot());
        self.database.after_commit();
        let mut result = written.answer(self, request, snapshot);
        result.set_commit_version(commit_version);
        Ok(result)
    }
    /// Tries a writing statement on this thread. None if it must run on executors; then the transaction may hold a part of its writes.
    pub(super) fn write_here(
        &self,
        request: &Request<'_>,
        transaction: &Arc<Transaction>,
    ) -> Result<Option<Written>, Error> {
        let stream = self.try_here(request, Access::Write(transaction.clone()))?;
        stream.map(|stream| self.run_to_end(request, transaction, stream)).transpose()
    }

    /// Runs a writing statement to its end, on executors.
    pub(super) fn write(
        &self,
        request: &Request<'_>,
        transaction: Arc<Transaction>,
    ) -> Result<Written, Error> {
        let (stream, _ticket) = self.start_on_executors(request, Access::Write(transaction.clone()))?;
        self.run_to_end(request, &transaction, stream)
    }

    /// Its rows are buffered until its end, on the statement's account.
    fn run_to_end(
        &self,
        request: &Request<'_>,
        transaction: &Transaction,
        mut stream: ResultStream,
    ) -> Result<Written, Error> {
        let (mut batches, mut bytes, mut rows) = (Vec::new(), 0, 0);
        let rows_max = self.database.options().query_rows_max.unwrap_or(u64::MAX);
        while let Some(batch) = self.next_of(&mut stream)? {
            bytes += batch.bytes() as u64;
            if bytes > request.bytes_max {
                let code = "Neo.TransientError.General.MemoryPoolOutOfMemoryError";
                let message = format!("the rows of its answer take more than {} bytes", request.bytes_max);
                return Err(Error::new(code, message).hint("return fewer rows from a statement that writes"));
            }
            rows += batch.len() as u64;
            if rows > rows_max {
                return Err(too_many_rows(rows_max));
            }
            execute::record_shown(&batch, transaction.reads());
            batches.push(batch);
        }
        check_written(transaction, request.bytes_max)?;
        let profile = Profiling::wanted(request.plan, &transaction.snapshot())
            .map(|profiling| profiling.describe(&stream.profile()));
        let measured = self.is_traced.then(|| stream.profile());
        Ok(Written {
            columns: stream.columns().clone(),
            batches,
            counters: stream.counters(),
            profile,
            measured,
        })
    }
}
