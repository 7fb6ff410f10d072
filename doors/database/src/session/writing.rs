//! Statements that write: run to their end before they answer, and on their own committed before, tried again where they conflict.

use super::Session;
use super::request::{Request, summary};
use crate::profile::Profiling;
use crate::{Error, QueryResult, Summary, entity};
use execute::{Access, Counters};
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use transact::{Mode, Transaction};
use world::clock::monotonic_ns;

/// First pause before a conflicting statement is tried again; doubled each time up to [`RETRY_PAUSE_MAX`].
const RETRY_PAUSE: Duration = Duration::from_micros(50);
/// Longest such pause.
const RETRY_PAUSE_MAX: Duration = Duration::from_millis(10);

/// What a writing statement left behind when it had run.
pub(super) struct Written {
    columns: Vec<Arc<str>>,
    batches: Vec<model::Batch>,
    counters: Counters,
    profile: Option<(String, plan::explain::PlanDescription)>,
}

impl Written {
    pub(super) fn answer(self, request: &Request<'_>, snapshot: Snapshot) -> QueryResult {
        let elapsed = Duration::from_nanos(monotonic_ns().saturating_sub(request.started_ns));
        let mut summary = Summary {
            counters: self.counters,
            first_after: elapsed,
            elapsed,
            profiled: self.profile.is_some(),
            ..summary(request.planned, &snapshot)
        };
        if let Some((text, plan)) = self.profile {
            summary.plan_text = Some(text);
            summary.plan = Some(plan);
        }
        QueryResult::of_batches(self.columns, self.batches, snapshot, summary)
    }
}

impl Session {
    /// A writing statement on its own: tried again where it conflicts.
    pub(super) fn write_alone(&self, request: &Request<'_>) -> Result<QueryResult, Error> {
        let (mut pause, mut refused) = (RETRY_PAUSE, None);
        for attempt in 1.. {
            let transaction = Arc::new(self.begin_after(Mode::Write, refused.take()));
            let outcome = self.write(request, transaction.clone()).and_then(|written| {
                let (place, snapshot) = (transaction.commit()?, transaction.snapshot());
                self.database.after_commit();
                let mut result = written.answer(request, snapshot);
                result.set_place(place);
                Ok(result)
            });
            match outcome {
                Err(error) if error.retryable && attempt < self.database.options().attempts_max => {
                    refused = Some(transaction);
                    world::threads::sleep(pause);
                    pause = (pause * 2).min(RETRY_PAUSE_MAX);
                }
                outcome => return outcome,
            }
        }
        unreachable!("the loop ends by returning")
    }
    /// Runs a writing statement to its end. Its rows are kept until then, on the statement's account.
    pub(super) fn write(
        &self,
        request: &Request<'_>,
        transaction: Arc<Transaction>,
    ) -> Result<Written, Error> {
        let snapshot = transaction.snapshot();
        let (mut stream, _ticket) = self.start(request, Access::Write(transaction.clone()))?;
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = self.next_of(&mut stream)? {
            bytes += batch.bytes() as u64;
            if bytes > request.bytes_max {
                let code = "Neo.TransientError.General.MemoryPoolOutOfMemoryError";
                let message = format!("the rows of its answer take more than {} bytes", request.bytes_max);
                return Err(Error::new(code, message).hint("return fewer rows from a statement that writes"));
            }
            entity::record_shown(&batch, transaction.reads());
            batches.push(batch);
        }
        let profile = Profiling::wanted(request.planned, &snapshot)
            .map(|profiling| profiling.describe(&stream.profile()));
        Ok(Written { columns: stream.columns().to_vec(), batches, counters: stream.counters(), profile })
    }
}
