//! Starting a statement: bind, compile, submit; or run a small one on the calling thread with a cached pipeline ([`Ready`]).

mod credit;
mod prepared;
mod ready;

use crate::ExecuteError;
use crate::access::{Access, Environment, EnvironmentSlot};
use crate::compile;
use crate::imports::{FetchAccount, Imports};
use crate::program_cache::{CacheAccess, ProgramCache};
use crate::result::ResultStream;
use crate::rows::Rows;
use crate::spill::SpillFolder;
pub use credit::Credit;
use dataflow::{QueryId, QueryOptions, Runtime, TenantNo};
use expression::{Parameters, Request};
use model::batch::BATCH_ROWS;
use plan::{Statement, StatementKind};
pub use prepared::{PLAN_TEXT_BYTES_MAX, PLANS_MAX, Prepared};
pub use ready::Ready;
use std::sync::Arc;
use std::time::Duration;

/// How one statement runs.
#[derive(Clone, Debug)]
pub struct ExecuteOptions {
    /// The tenant that is charged.
    pub tenant: TenantNo,
    /// The tenant's user who runs it.
    pub user: dataflow::UserNo,
    /// Its name in lists of running queries: the text, usually.
    pub label: String,
    /// End it with an error after this long.
    pub deadline: Option<Duration>,
    /// End it with an error when it holds more bytes.
    pub bytes_max: u64,
    /// Rows an operator aims to put into one batch.
    pub batch_rows: usize,
    /// Batches that may wait for the client.
    pub output_batches_max: usize,
    /// The sources of LOAD.
    pub imports: Imports,
    /// Where rows are spilled that the query has no room for; without it they are not spilled.
    pub spill: Option<Arc<SpillFolder>>,
    /// Results of node programs that are cached; none are where absent.
    pub program_cache: Option<Arc<ProgramCache>>,
    /// Wall time at which the transaction began, in microseconds since 1970 UTC; the statement's own begin if absent.
    pub transaction_us: Option<i64>,
    /// It is a part of this query, which [stands for it](Execution::start_whole).
    pub part_of: Option<QueryId>,
    /// It waits in the admission queue if its accounts have no room for it now.
    pub waits: bool,
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
            imports: Imports::default(),
            spill: None,
            program_cache: None,
            transaction_us: None,
            part_of: options.part_of,
            waits: options.waits,
        }
    }
}

/// Effects of a statement on the graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effects {
    pub(crate) writes: bool,
    pub(crate) deletes: bool,
}

impl ExecuteOptions {
    /// The options that the scheduler needs.
    pub(crate) fn into_query(self) -> QueryOptions {
        QueryOptions {
            tenant: self.tenant,
            user: self.user,
            label: self.label,
            deadline: self.deadline,
            bytes_max: self.bytes_max,
            output_batches_max: self.output_batches_max,
            part_of: self.part_of,
            waits: self.waits,
        }
    }
}

/// The environment of all operators of a run.
pub(crate) fn environment(
    access: Access,
    parameters: Arc<Parameters>,
    options: &ExecuteOptions,
    (effects, dispatch): (Effects, Option<paths::DispatchPolicy>),
) -> Arc<Environment> {
    let request = Request::begin(parameters, options.transaction_us);
    let request = if effects.deletes { request } else { request.without_deletes() };
    let environment = Environment::new(access, request, options.batch_rows, effects.writes);
    let environment = environment.within(options.bytes_max);
    let account = FetchAccount { tenant: options.tenant, user: options.user };
    let cache = options.program_cache.clone().map(|cache| CacheAccess { cache, tenant: options.tenant });
    let environment = environment.importing_from(options.imports.clone(), account).caching(cache);
    Arc::new(environment.putting_aside_in(options.spill.clone()).dispatching(dispatch))
}

/// A statement's way from plan to rows.
#[derive(Debug)]
pub struct Execution;

impl Execution {
    /// Starts an optimised query. Not for catalogue commands, listings and kills.
    ///
    /// # Errors
    /// A parameter that is missing, a plan that cannot be run, a write without a transaction.
    pub fn start(
        runtime: &Runtime<Rows>,
        statement: &Statement,
        access: Access,
        parameters: impl Into<Arc<Parameters>>,
        options: ExecuteOptions,
    ) -> Result<ResultStream, ExecuteError> {
        Execution::start_ready(runtime, statement, &Ready::new(statement), access, parameters.into(), options)
    }

    /// As [`Execution::start`], of a statement that was made ready before.
    ///
    /// # Errors
    /// As [`Execution::start`].
    pub fn start_ready(
        runtime: &Runtime<Rows>,
        statement: &Statement,
        ready: &Ready,
        access: Access,
        parameters: Arc<Parameters>,
        options: ExecuteOptions,
    ) -> Result<ResultStream, ExecuteError> {
        let StatementKind::Query { plan, columns } = &statement.kind else {
            return Err(ExecuteError::Plan("only queries run as dataflow".to_string()));
        };
        let run = environment(access, parameters, &options, (ready.effects, ready.dispatch()?));
        let (environment_slot, executors) = (EnvironmentSlot::fixed(&run), runtime.executors());
        let physical = (&statement.physical, statement.variables.len());
        let is_profiled = statement.mode == plan::statement::Mode::Profile;
        let compiled =
            compile::statement((plan, columns), physical, &run, environment_slot, executors, is_profiled)?;
        let handle = runtime.submit(compiled.graph, options.into_query());
        let rows = ResultStream::new(handle, ready.titles.clone(), compiled.nodes, compiled.node_count, run);
        Ok(rows.with_staged(compiled.staged))
    }
}
