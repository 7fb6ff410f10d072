//! Starting a statement: bind, compile, submit.

use crate::ExecuteError;
use crate::access::{Access, Environment};
use crate::compile;
use crate::expression::{Parameters, Request};
use crate::result::ResultStream;
use crate::rows::Rows;
use dataflow::{QueryOptions, Runtime, TenantNo, Tried};
use model::batch::BATCH_ROWS;
use plan::{Plan, Statement, StatementKind};
use std::sync::Arc;
use std::time::Duration;

/// How one statement runs.
#[derive(Clone, Debug)]
pub struct ExecuteOptions {
    /// Who pays.
    pub tenant: TenantNo,
    /// Which of its users asks.
    pub user: dataflow::UserNo,
    /// What lists of running queries call it: the text, usually.
    pub label: String,
    /// End it with an error after this long.
    pub deadline: Option<Duration>,
    /// End it with an error when it holds more bytes.
    pub bytes_max: u64,
    /// Rows an operator aims to put into one batch.
    pub batch_rows: usize,
    /// Batches that may wait for the client.
    pub output_batches_max: usize,
    /// Try it on the thread that asks first: right for a statement that only reads and is likely to be over in no time.
    pub here_first: bool,
    /// Where files that queries name lie; none can be named where absent.
    pub import_folder: Option<Arc<std::path::Path>>,
    /// Wall time at which the transaction began, in microseconds since 1970 UTC; the statement's own begin if absent.
    pub transaction_us: Option<i64>,
}

impl Default for ExecuteOptions {
    fn default() -> ExecuteOptions {
        let options = QueryOptions::default();
        ExecuteOptions {
            tenant: options.tenant,
            user: options.user,
            label: options.label,
            deadline: options.deadline,
            bytes_max: options.bytes_max,
            batch_rows: BATCH_ROWS,
            output_batches_max: options.output_batches_max,
            here_first: false,
            import_folder: None,
            transaction_us: None,
        }
    }
}

/// A statement's way from plan to rows.
#[derive(Debug)]
pub struct Execution;

impl Execution {
    /// Starts an optimised query. Catalogue commands, listings and kills are not for here.
    ///
    /// # Errors
    /// A parameter that is missing, a plan that cannot be run, a write without a transaction.
    pub fn start(
        runtime: &Runtime<Rows>,
        statement: &Statement,
        access: Access,
        parameters: Parameters,
        options: ExecuteOptions,
    ) -> Result<ResultStream, ExecuteError> {
        let StatementKind::Query { plan, columns } = &statement.kind else {
            return Err(ExecuteError::Plan("only queries run as dataflow".to_string()));
        };
        let now = || i64::try_from(world::clock::wall_us()).unwrap_or(i64::MAX);
        let request = Request::begin(parameters, options.transaction_us.unwrap_or_else(now));
        let deletes = plan.any(&mut |plan| matches!(plan, Plan::Delete(_)));
        let request = if deletes { request } else { request.without_deletes() };
        let environment = Environment::new(access, request, options.batch_rows);
        let environment = Arc::new(environment.importing_from(options.import_folder.clone()));
        let compile = |executors: usize| {
            compile::statement(plan, columns, statement.variables.len(), &environment, executors)
        };
        let titles = columns.iter().map(|(title, _)| title.clone()).collect();
        if options.here_first {
            match compile(1)?.graph.try_here(options.bytes_max) {
                Tried::Done(batches) => return Ok(ResultStream::of_done(Ok(batches), titles, environment)),
                Tried::Failed(fault) => return Ok(ResultStream::of_done(Err(fault), titles, environment)),
                Tried::Unfinished => {}
            }
        }
        let compiled = compile(runtime.executors())?;
        let query = QueryOptions {
            tenant: options.tenant,
            user: options.user,
            label: options.label,
            deadline: options.deadline,
            bytes_max: options.bytes_max,
            output_batches_max: options.output_batches_max,
        };
        let handle = runtime.submit(compiled.graph, query);
        Ok(ResultStream::new(handle, titles, compiled.nodes, compiled.node_count, environment))
    }
}
