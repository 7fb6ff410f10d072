//! # execute: plan to running dataflow over one snapshot
//!
//! An optimised [`plan::Statement`] goes in, rows come out. [`Execution::start`] binds names, parameters and a view of the graph, turns each plan
//! node into a vertex of a dataflow graph (one match, in [`compile`]), and submits it; the [`ResultStream`] returns the rows as they arrive. One file
//! under [`operator`] for each plan node, of the same name. There is no second executor.
//!
//! Reading order: [`execution`] and [`result`] (the interface to a session), [`access`] (reads and writes), [`error`], `compile` with `stream`,
//! `placement` and `demand` (plan to graph), `turn` (the shapes of operators), `operator` (the operators), `adjacency` (how paths walk the store),
//! [`planning`] (statistics for the planner), [`profiling`] (EXPLAIN and PROFILE).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod access;
mod adjacency;
mod columns;
mod compile;
mod demand;
mod drawing;
pub mod error;
pub mod execution;
mod fetch;
mod imports;
pub mod job;
mod labels;
mod limits;
mod node_program;
mod operator;
mod placement;
pub mod planning;
pub mod profiling;
pub mod program;
mod program_cache;
mod program_worth;
mod reads;
pub mod result;
mod rows;
mod scope_rows;
pub mod searches;
mod spill;
mod stream;
mod turn;

pub use access::{Access, Counters};
pub use dataflow::{
    AccountOptions, AccountRoom, AccountUsage, AccountedBytes, Action, Level, QueryId, QueryInfo, Root,
    RootHandle, RootStatus, Rule, TabletInfo, TabletMove, TabletNo, TenantNo, Threshold, UserNo,
};
pub use dataflow::{sorting, watch};
pub use error::ExecuteError;
pub use execution::{Credit, ExecuteOptions, Execution, PLAN_TEXT_BYTES_MAX, PLANS_MAX, Prepared, Ready};
pub use expression::Parameters;
pub use imports::Imports;
pub use node_program::ProgramWalk;
pub use program_cache::{CacheAccess, CacheCounts, CacheLedger, ProgramCache};
pub use programs::check_module as check_program;
pub use reads::record_shown;
pub use result::{NodeProfile, ResultStream};
pub use rows::Rows;
pub use spill::SpillFolder;

/// The executors that run queries: one pinned thread a core.
pub type Runtime = dataflow::Runtime<Rows>;

/// Starts the executors, `count` of them or one a core.
///
/// # Errors
/// The system gave no thread.
pub fn runtime(count: Option<usize>) -> std::io::Result<Runtime> {
    runtime_within(count, AccountOptions::default())
}

/// The same, with limits of all queries together.
///
/// # Errors
/// The system gives no threads.
pub fn runtime_within(count: Option<usize>, machine: AccountOptions) -> std::io::Result<Runtime> {
    let options = dataflow::RuntimeOptions::default();
    let executors = count.unwrap_or(options.executors);
    Runtime::start(dataflow::RuntimeOptions { executors, machine, ..options })
}

/// Executor threads where nothing is said: one a core.
pub fn executors_by_default() -> usize {
    dataflow::RuntimeOptions::default().executors
}
