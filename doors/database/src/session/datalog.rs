//! Datalog through a session: a program is answered on the thread that asks, over a snapshot; only what its question needs of the graph
//! is read.

use super::{Limits, Session};
use crate::datalog::{Wrapped, compile, statement};
use crate::result::RequestKind;
use crate::{Batch, Error, Params, QueryResult, Summary, Value, as_of};
use ::datalog::{Program, Source};
use ::rules::{Bounds, RulesError};
use ::standing::{FileFacts, ask_rules};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use world::clock::monotonic_ns;
use world::failpoint;

/// Rows of one batch of an answer.
const BATCH_ROWS: usize = 2_048;
/// How often whoever waits for an answer looks after its client.
const LOOK_EVERY_NS: u64 = 5_000_000;

impl Session {
    /// Answers the question of a Datalog program over the graph as it is now; parameters stand for `$name` in it.
    ///
    /// # Errors
    /// The text is no program or asks nothing, a parameter is missing, a limit is passed.
    pub fn datalog(&mut self, text: &str, params: Params) -> Result<QueryResult, Error> {
        self.may_ask()?;
        let limits = self.limits.clone();
        self.within_net(|session| {
            let snapshot = session.database.snapshot();
            let program = compile(text, text, 0, snapshot.catalog())?;
            session.answer_rules(&program, &params, &limits, monotonic_ns(), snapshot)
        })
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
        let mut snapshot = self.database.snapshot();
        if !wrapped.as_of.is_empty() {
            // Read as in front of any other statement.
            let planned = self.database.plan(&format!("{} RETURN 1", wrapped.as_of), &snapshot)?;
            if let Some(version) = &planned.statement.as_of {
                snapshot = as_of::snapshot(&self.database, version, params, &snapshot)?;
            }
        }
        let program = compile(wrapped.program, text, wrapped.offset, snapshot.catalog())?;
        self.answer_rules(&program, params, limits, started_ns, snapshot)
    }

    fn answer_rules(
        &mut self,
        program: &Program,
        params: &Params,
        limits: &Limits,
        started_ns: u64,
        snapshot: Snapshot,
    ) -> Result<QueryResult, Error> {
        let Some(question) = &program.question else {
            return Err(Error::new("Neo.ClientError.Statement.SyntaxError", "the program asks nothing")
                .hint("end it with a question: ?- reach(x, y)."));
        };
        if self.in_transaction() {
            let code = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
            return Err(Error::new(code, "rules are answered outside of transactions")
                .hint("commit first: rules read the graph as it is committed"));
        }
        let files = self.files(program)?;
        let bounds = self.rules_bounds(limits, started_ns);
        let parameter = |name: &str| params.get(name).cloned();
        let rows = ask_rules(program, files, &parameter, &snapshot, bounds)?;
        let width = question.names.len();
        let batches = rows.chunks(BATCH_ROWS).map(|rows| Batch::from_rows(width, rows)).collect();
        let elapsed = Duration::from_nanos(monotonic_ns().saturating_sub(started_ns));
        let summary = summary(&snapshot, RequestKind::Read, elapsed);
        let columns: Vec<Arc<str>> = question.names.clone();
        Ok(QueryResult::of_batches(columns, batches, snapshot, summary))
    }
    fn rules_bounds(&self, limits: &Limits, started_ns: u64) -> Bounds {
        let bytes_max = limits.bytes_max.unwrap_or(self.database.options().query_bytes_max);
        let deadline_ns = self.deadline(limits, started_ns);
        let (interrupter, meanwhile) = (self.interrupter(), self.meanwhile.clone());
        let looked_ns = Cell::new(started_ns);
        let look = move || {
            let now_ns = monotonic_ns();
            if now_ns < looked_ns.get() + LOOK_EVERY_NS {
                return Ok(());
            }
            looked_ns.set(now_ns);
            if let Some(meanwhile) = &meanwhile {
                meanwhile();
            }
            match interrupter.reason() {
                Some(reason) => Err(RulesError::Cancelled(reason.to_string())),
                None if deadline_ns.is_some_and(|deadline| now_ns > deadline) => {
                    Err(RulesError::Cancelled("the time allowed is over".to_string()))
                }
                None => Ok(()),
            }
        };
        Bounds { bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX), look: Box::new(look) }
    }
    /// Facts of files, read as LOAD CSV reads them: below the folder to import from. Numbers are numbers.
    fn files(&mut self, program: &Program) -> Result<FileFacts, Error> {
        let mut found = FileFacts::new();
        for (number, relation) in program.relations.iter().enumerate() {
            let Source::File(path) = &relation.source else { continue };
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

fn summary(snapshot: &Snapshot, kind: RequestKind, elapsed: Duration) -> Summary {
    Summary { first_after: elapsed, elapsed, ..Summary::of(kind, snapshot) }
}

/// A field as a number, where it is one.
fn value_of(field: &Value) -> Value {
    let Some(text) = field.as_str() else { return field.clone() };
    let number = text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::Float));
    let begins_so = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    number.ok().filter(|_| begins_so).unwrap_or_else(|| field.clone())
}
