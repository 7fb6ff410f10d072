//! Datalog through a session: a program is evaluated over a snapshot, as a job on the executors where it is not small; it reads only what its
//! question needs of the graph.

use super::{Limits, Session};
use crate::cache::KnownProgram;
use crate::datalog::{Wrapped, statement};
use crate::query_log::QueryLanguage;
use crate::result::{self, RequestKind};
use crate::{Batch, Error, Params, QueryResult, Summary, Value, as_of};
use ::datalog::{Program, Source};
use ::rules::{Bounds, FileFacts, RulesAnswer, RulesError};
use execute::job::Answer;
use execute::watch::{self, LoopBytes};
use execute::{Access, ExecuteError, Execution};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use world::clock::monotonic_ns;
use world::failpoint;

/// Rows of one batch of an answer.
const BATCH_ROWS: usize = 2_048;
/// Batches that are counted as on their way to the client.
const BATCHES_WAITING: usize = 4;

/// A program and all that its answer depends on.
struct ProgramRequest {
    known: Arc<KnownProgram>,
    files: FileFacts,
    params: Params,
    snapshot: Snapshot,
    bytes_max: u64,
}

impl ProgramRequest {
    /// Evaluates the program. The watch of the thread counts its work and its bytes, and may end it.
    fn ask(&self) -> Result<Rows, RulesError> {
        let hold = Arc::new(Mutex::new(LoopBytes::default()));
        let held = hold.clone();
        let look = move |bytes: usize| {
            let set = held.lock().set(bytes as u64);
            let spent = set.and_then(|()| watch::spend(watch::UNITS_PER_LOOK));
            spent.map_err(|stopped| RulesError::Cancelled(stopped.to_string()))
        };
        let bytes_max = usize::try_from(self.bytes_max).unwrap_or(usize::MAX);
        let bounds = Bounds { bytes_max, look: Box::new(look) };
        let params = self.params.clone();
        let parameter = move |name: &str| params.get(name).cloned();
        let answer = ::rules::ask(&self.known.prepared, &self.files, parameter, &self.snapshot, bounds);
        // From now on it is counted by who hands out the answer.
        let _ = hold.lock().set(0);
        let width =
            self.known.prepared.program().question.as_ref().map_or(0, |question| question.names.len());
        answer.map(|answer| Rows { answer, width })
    }
}

/// The answer as batches.
struct Rows {
    answer: RulesAnswer,
    width: usize,
}

impl Answer for Rows {
    fn next(&mut self) -> Option<Batch> {
        self.answer.rows(BATCH_ROWS).map(|rows| Batch::from_rows(self.width, &rows))
    }
    fn bytes(&self) -> usize {
        let row_bytes = size_of::<Vec<Value>>() + 2 * self.width * size_of::<Value>();
        self.answer.bytes() + self.answer.len().min(BATCHES_WAITING * BATCH_ROWS) * row_bytes
    }
}

/// An error of a program as the error of its query.
fn failure(error: RulesError) -> ExecuteError {
    let Error { code, message, hint, .. } = error.into();
    ExecuteError::Job { code, message, hint }
}

impl Session {
    /// Answers the question of a Datalog program over the present graph; parameters stand for `$name` in it.
    ///
    /// # Errors
    /// The text is no program or has no question, a parameter is missing, a limit is passed.
    pub fn datalog(&mut self, text: &str, params: Params) -> Result<QueryResult, Error> {
        let (limits, started_ns) = (self.limits.clone(), monotonic_ns());
        self.waits_until_ns = self.deadline(&limits, started_ns);
        self.may_ask()?;
        self.planned = None;
        self.is_traced = self.database.query_log().traces_next();
        let outcome = self.within_net(|session| {
            let snapshot = session.committed()?;
            let deadline_ns = session.deadline(&limits, started_ns);
            let read = || session.database.datalog_program(text, text, 0, snapshot.catalog());
            let known = session.watched(deadline_ns, read)?;
            session.answer_rules(text, known, params, &limits, started_ns, snapshot)
        });
        self.recorded(outcome, QueryLanguage::Datalog, text, started_ns)
    }

    /// The answer to a statement that is a program.
    pub(super) fn run_datalog(
        &mut self,
        text: &str,
        params: &Params,
        limits: &Limits,
        started_ns: u64,
    ) -> Option<Result<QueryResult, Error>> {
        let wrapped = statement(text)?;
        Some(self.wrapped_rules(&wrapped, text, params, limits, started_ns))
    }
    fn wrapped_rules(
        &mut self,
        wrapped: &Wrapped<'_>,
        text: &str,
        params: &Params,
        limits: &Limits,
        started_ns: u64,
    ) -> Result<QueryResult, Error> {
        failpoint::visit("question of Datalog");
        let mut snapshot = self.committed()?;
        if !wrapped.as_of.is_empty() {
            // Read as in front of any other statement.
            let planned = self.plan(&format!("{} RETURN 1", wrapped.as_of), &snapshot, limits, started_ns)?;
            if let Some(version) = &planned.plan.statement.as_of {
                snapshot = self.shown(as_of::snapshot(&self.database, version, params, &snapshot)?);
            }
        }
        let deadline_ns = self.deadline(limits, started_ns);
        let (program, offset) = (wrapped.program, wrapped.offset);
        let read = || self.database.datalog_program(program, text, offset, snapshot.catalog());
        let known = self.watched(deadline_ns, read)?;
        self.answer_rules(text, known, params.clone(), limits, started_ns, snapshot)
    }

    fn answer_rules(
        &mut self,
        text: &str,
        known: Arc<KnownProgram>,
        params: Params,
        limits: &Limits,
        started_ns: u64,
        snapshot: Snapshot,
    ) -> Result<QueryResult, Error> {
        let program = known.prepared.program();
        let Some(question) = &program.question else {
            return Err(Error::new("Neo.ClientError.Statement.SyntaxError", "the program asks nothing")
                .hint("end it with a question: ?- reach(x, y)."));
        };
        if self.in_transaction() {
            let code = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
            return Err(Error::new(code, "rules are answered outside of transactions")
                .hint("commit first: rules read the graph as it is committed"));
        }
        let columns: Arc<[Arc<str>]> = question.names.as_slice().into();
        let files = self.files(program)?;
        let mut summary = Summary::of(RequestKind::Read, &snapshot);
        let bytes_max = self.bytes_within(limits);
        let asked = ProgramRequest { known, files, params, snapshot: snapshot.clone(), bytes_max };
        if let Some(answer) = self.try_rules(&asked) {
            let mut answer = answer?;
            let batches = std::iter::from_fn(|| answer.next()).collect();
            summary.elapsed = Duration::from_nanos(monotonic_ns().saturating_sub(started_ns));
            summary.first_after = summary.elapsed;
            return Ok(QueryResult::of_batches(columns, batches, snapshot, summary));
        }
        let running = self.running(text, (bytes_max, self.deadline(limits, started_ns)))?;
        let options = self.database.execute_options(&running);
        let work = Box::new(move || Ok(Box::new(asked.ask().map_err(failure)?) as Box<dyn Answer>));
        let access = Access::Read(snapshot.clone());
        let stream = Execution::start_job(self.database.runtime(), work, columns, access, options)?;
        let running = result::Running { _ticket: self.ticket(&stream), stream, transaction: None };
        Ok(QueryResult::of_stream(running, snapshot, summary, started_ns, None))
    }
    /// Tries a program on this thread, if it was short of late.
    fn try_rules(&self, asked: &ProgramRequest) -> Option<Result<Rows, RulesError>> {
        let credit = &asked.known.credit;
        if !credit.is_due() || self.interrupter.is_in_force() {
            return None;
        }
        let answer = watch::try_here(asked.bytes_max, || asked.ask());
        credit.tried(answer.is_some());
        answer
    }
    /// Facts of files, read as LOAD CSV reads them: below the folder to import from. Numbers are numbers.
    fn files(&mut self, program: &Program) -> Result<FileFacts, Error> {
        let mut found = FileFacts::new();
        for (number, relation) in program.relations.iter().enumerate() {
            let Source::File(path) = &relation.source else { continue };
            if let Some(restricted_view) = self.restricted_view() {
                restricted_view.demand_load()?;
            }
            let tabs = [".tsv", ".facts"].iter().any(|end| path.ends_with(end));
            let separator = if tabs { "FIELDTERMINATOR '\\t' " } else { "" };
            let text = format!("LOAD CSV FROM $path AS row {separator}RETURN row");
            let params = Params::from([(Arc::from("path"), Value::String(path.clone()))]);
            let rows = self.query_reading(&text, params, &self.limits.clone())?.rows()?;
            let mut facts = Vec::with_capacity(rows.len());
            for row in rows {
                let Some(Value::List(fields)) = row.first() else { continue };
                if fields.len() != relation.arity {
                    let message = format!(
                        "{path} has a record of {} fields, `{}` has {} columns",
                        fields.len(),
                        relation.name,
                        relation.arity
                    );
                    return Err(RulesError::BadInput(message).into());
                }
                facts.push(fields.iter().map(value_of).collect());
            }
            found.push((number, facts));
        }
        Ok(found)
    }
}

/// A field as a number, where it is one.
fn value_of(field: &Value) -> Value {
    let Some(text) = field.as_str() else { return field.clone() };
    let number = text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::Float));
    let begins_so = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    number.ok().filter(|_| begins_so).unwrap_or_else(|| field.clone())
}
