//! `CALL { … } IN TRANSACTIONS`: rows are read, cut into batches, and each batch is a transaction of its own.
//!
//! The part before the clause streams from one snapshot, taken at the start; a batch that conflicts is retried by itself; the part after the clause
//! runs over the remaining rows, when all batches are done. Cost: the rows of one batch, and, if there is a part after the clause, all rows until the
//! end, on the statement's account.
//!
//! Reading, batches and the part after the clause are queries of their own. One more stands for all of them from beginning to end ([`Whole`]): it is
//! listed, and has the statement's deadline; ending it ends the running part, and no other begins. Committed batches stay, and the error says how
//! many.

use super::Session;
use super::request::Request;
use super::whole::Whole;
use crate::{Error, Params, QueryResult, Summary};
use execute::{Access, Counters, Prepared};
use model::Value;
use plan::Expr;
use plan::statement::{BATCH_ROWS, InTransactions, OnError, ROWS_PARAMETER, Statement};
use std::sync::Arc;
use store::Snapshot;
use world::clock::monotonic_ns;

/// Rows of lists, as they go from one statement to the next.
type Rows = Vec<Value>;

/// Counts of the work so far.
#[derive(Default)]
struct Done {
    /// Rows for the part after the clause.
    kept: Rows,
    bytes: u64,
    counters: Counters,
    /// Commit version of the last commit.
    commit_version: Option<u64>,
    /// Transactions that were committed, and their rows.
    committed: u64,
    committed_rows: u64,
    /// A transaction failed, and no more are begun.
    stopped: bool,
    /// Why the statement fails.
    failure: Option<Error>,
}

impl Session {
    pub(super) fn run_in_transactions(
        &self,
        request: &Request<'_>,
        batches: &InTransactions,
    ) -> Result<QueryResult, Error> {
        if self.in_transaction() {
            let code = "Neo.ClientError.Transaction.TransactionStartFailed";
            let message = "CALL { … } IN TRANSACTIONS cannot run inside a transaction";
            return Err(Error::new(code, message).hint("send it on its own, outside of BEGIN and COMMIT"));
        }
        let size = batch_size(batches.size.as_ref(), &request.params)?;
        let mut whole = self
            .start_whole(request.text, request.bytes_max, request.deadline_ns)
            .map_err(|error| with_committed(error, 0, 0))?;
        let parts = Request { part_of: whole.id(), ..request.again() };
        let mut done = Done::default();
        let outcome = self.run_batches(&parts, batches, size, (&mut whole, &mut done));
        let (committed, rows) = (done.committed, done.committed_rows);
        let outcome = outcome.and_then(|()| self.run_what_follows(&parts, batches, done));
        outcome.map_err(|error| {
            let ended = if is_end(&error) { whole.check().err() } else { None };
            with_committed(ended.unwrap_or(error), committed, rows)
        })
    }

    /// Reads the rows and runs their batches.
    fn run_batches(
        &self,
        request: &Request<'_>,
        batches: &InTransactions,
        size: usize,
        (whole, done): (&mut Whole, &mut Done),
    ) -> Result<(), Error> {
        let snapshot = self.view()?;
        let input = part(&batches.input, &snapshot);
        let batch = part(&batches.batch, &snapshot);
        let (mut stream, _ticket) =
            self.start(&Request { plan: &input, ..request.again() }, Access::Read(snapshot.clone()))?;
        let (mut waiting, mut bytes) = (Rows::new(), 0);
        while let Some(rows) = self.next_of(&mut stream)? {
            for row in 0..rows.len() {
                let row = Value::try_list(rows.row(row)).map_err(too_large)?;
                bytes += (size_of::<Value>() + row.heap_bytes()) as u64;
                waiting.push(row);
                if waiting.len() >= size {
                    whole.holds(bytes + done.bytes)?;
                    self.run_batch(request, batches, &batch, std::mem::take(&mut waiting), done)?;
                    bytes = 0;
                }
            }
            whole.holds(bytes + done.bytes)?;
        }
        if !waiting.is_empty() {
            self.run_batch(request, batches, &batch, waiting, done)?;
        }
        whole.holds(done.bytes)?;
        match done.failure.take() {
            Some(failure) if !batches.reports && batches.on_error == OnError::Fail => Err(failure),
            _ => Ok(()),
        }
    }

    /// Runs one batch in a transaction of its own.
    fn run_batch(
        &self,
        request: &Request<'_>,
        batches: &InTransactions,
        batch: &Prepared,
        rows: Rows,
        done: &mut Done,
    ) -> Result<(), Error> {
        if done.stopped {
            done.keep_unrun(batches, rows, &status(false, false, None))?;
            return done.check(request.bytes_max);
        }
        let (params, count) = (Arc::new(with_rows(&request.params, rows.clone())?), rows.len() as u64);
        match self.write_alone(&Request { plan: batch, params, ..request.again() }, None) {
            Ok(result) => {
                add(&mut done.counters, &result.summary().counters);
                done.commit_version = Some(result.summary().commit_version);
                (done.committed, done.committed_rows) = (done.committed + 1, done.committed_rows + count);
                if batches.continues {
                    done.keep(batches, result.rows()?, &status(true, true, None))?;
                }
            }
            // Whoever ends the statement ends all of it.
            Err(error) if batches.on_error == OnError::Fail || is_end(&error) => return Err(error),
            Err(error) => {
                done.keep_unrun(batches, rows, &status(true, false, Some(&error)))?;
                done.stopped = batches.on_error == OnError::Break;
                done.failure = Some(error);
            }
        }
        done.check(request.bytes_max)
    }

    fn run_what_follows(
        &self,
        request: &Request<'_>,
        batches: &InTransactions,
        done: Done,
    ) -> Result<QueryResult, Error> {
        let snapshot = self.view()?;
        let own = Prepared::new(
            Statement { in_transactions: None, ..request.plan.statement.clone() },
            request.plan.own_plan_writes(),
            &snapshot,
        );
        let (mut columns, mut kept, mut counters) = (Vec::new(), Vec::new(), done.counters);
        let mut commit_version = done.commit_version.unwrap_or_else(|| snapshot.commit_version());
        if batches.continues {
            let params = Arc::new(with_rows(&request.params, done.kept)?);
            let follow = Request { plan: &own, params, ..request.again() };
            let mut result = match own.writes {
                true => self.write_alone(&follow, None)?,
                false => self.read(&follow, Access::Read(snapshot.clone()), snapshot.clone())?,
            };
            columns = result.columns().to_vec();
            let mut bytes = 0;
            while let Some(batch) = result.next_batch()? {
                bytes += batch.bytes() as u64;
                too_much(bytes, request.bytes_max)?;
                kept.push(batch);
            }
            add(&mut counters, &result.summary().counters);
            commit_version = commit_version.max(result.summary().commit_version);
        }
        let elapsed = std::time::Duration::from_nanos(monotonic_ns().saturating_sub(request.started_ns));
        let summary = Summary {
            counters,
            commit_version,
            first_after: elapsed,
            elapsed,
            ..request.summary(self, &snapshot)
        };
        Ok(QueryResult::of_batches(columns, kept, self.view()?, summary))
    }
}

/// The error, with the committed work that stays although the statement failed.
fn with_committed(mut error: Error, committed: u64, rows: u64) -> Error {
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let what = match committed {
        0 => "nothing of it was committed".to_string(),
        _ => {
            format!(
                "committed before, and staying: {} in {}",
                counted(rows, "row"),
                counted(committed, "transaction")
            )
        }
    };
    error.message = format!("{} ({what})", error.message);
    // Whoever runs it again would do twice what stays.
    error.retryable &= committed == 0;
    error
}

impl Done {
    fn keep(&mut self, batches: &InTransactions, rows: Vec<Vec<Value>>, status: &Value) -> Result<(), Error> {
        for mut row in rows {
            row.extend(batches.reports.then(|| status.clone()));
            self.bytes += 32 + row.iter().map(|value| value.heap_bytes() as u64).sum::<u64>();
            self.kept.push(Value::try_list(row).map_err(too_large)?);
        }
        Ok(())
    }
    /// Rows of a batch that was not run, or failed: its columns are null.
    fn keep_unrun(&mut self, batches: &InTransactions, rows: Rows, status: &Value) -> Result<(), Error> {
        if !batches.continues {
            return Ok(());
        }
        let plan::StatementKind::Query { columns, .. } = &batches.batch.kind else { return Ok(()) };
        let rows = rows.into_iter().map(|row| {
            let mut row = if let Value::List(row) = row { row.to_vec() } else { Vec::new() };
            row.resize(columns.len(), Value::Null);
            row
        });
        self.keep(batches, rows.collect(), status)
    }
    fn check(&self, bytes_max: u64) -> Result<(), Error> {
        too_much(self.bytes, bytes_max)
    }
}

/// Was the statement as a whole ended, rather than this part refused?
fn is_end(error: &Error) -> bool {
    ["Transaction.Terminated", "Transaction.TransactionTimedOut"].iter().any(|end| error.code.ends_with(end))
}

fn too_much(bytes: u64, bytes_max: u64) -> Result<(), Error> {
    if bytes <= bytes_max {
        return Ok(());
    }
    let code = "Neo.TransientError.General.MemoryPoolOutOfMemoryError";
    Err(Error::new(code, format!("the rows behind IN TRANSACTIONS take more than {bytes_max} bytes"))
        .hint("return fewer rows, or none"))
}

fn too_large(error: model::ValueTooLarge) -> Error {
    Error::new("Neo.ClientError.General.LimitExceeded", format!("the rows behind IN TRANSACTIONS: {error}"))
        .hint(error.hint())
}

fn part(statement: &Statement, snapshot: &Snapshot) -> Prepared {
    Prepared::new(statement.clone(), statement.writes(), snapshot)
}

fn with_rows(params: &Params, rows: Rows) -> Result<Params, Error> {
    let mut params = params.clone();
    params.insert(ROWS_PARAMETER.into(), Value::try_list(rows).map_err(too_large)?);
    Ok(params)
}

fn batch_size(size: Option<&Expr>, params: &Params) -> Result<usize, Error> {
    let value = match size {
        None => return Ok(BATCH_ROWS),
        Some(Expr::Parameter(name)) => params.get(name).cloned().unwrap_or_default(),
        Some(Expr::Literal(constant)) => constant.0.clone(),
        Some(_) => Value::Null,
    };
    match value {
        Value::Int(rows) if rows > 0 => Ok(usize::try_from(rows).unwrap_or(usize::MAX)),
        _ => {
            let code = "Neo.ClientError.Statement.ArgumentError";
            Err(Error::new(code, "the rows of a transaction are a positive number"))
        }
    }
}

/// How a row's transaction ended, for REPORT STATUS.
fn status(started: bool, committed: bool, error: Option<&Error>) -> Value {
    let entries: [(&str, Value); 4] = [
        ("started", started.into()),
        ("committed", committed.into()),
        ("transactionId", Value::Null),
        ("errorMessage", error.map(|error| error.message.as_str()).into()),
    ];
    Value::map(entries)
}

fn add(sum: &mut Counters, more: &Counters) {
    sum.nodes_created += more.nodes_created;
    sum.nodes_deleted += more.nodes_deleted;
    sum.relationships_created += more.relationships_created;
    sum.relationships_deleted += more.relationships_deleted;
    sum.properties_set += more.properties_set;
    sum.labels_added += more.labels_added;
    sum.labels_removed += more.labels_removed;
}
