//! # programs: code that runs at vertices
//!
//! A node program is called at a vertex with its messages, its own state there, and the graph around it at one snapshot. It sends messages to
//! vertices, where it is called in the next round, and emits rows. The end is where no message is left.
//!
//! Vertices share nothing but messages, so a shard could run its part. Rounds are cut into batches that all executors draw, and messages are
//! delivered in the order of their senders: the answer does not depend on scheduling.
//!
//! Reading order: [`program`] (the trait, and what a program sees), `states`, `vertex_values` (messages and rows as
//! columns), `inbox` (messages between rounds), [`running`] (the task that
//! executors share), `row_log` and `kept_rows` (its rows once more, for a cache), `parameters`, [`builtin`], `deployed`
//! (programs that users deploy as WebAssembly; a feature).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod builtin;
#[cfg(feature = "deployed")]
pub mod deployed;
mod inbox;
mod kept_rows;
pub mod limits;
pub mod parameters;
pub mod program;
mod row_log;
pub mod running;
mod states;
mod vertex_values;

pub use kept_rows::KeptRows;
pub use program::{Batch, Combine, FollowedEdges, NodeProgram, Outbox, ProgramGraph, Reads};
pub use row_log::RowLog;
pub use running::{ProgramRows, ProgramRun, ProgramWorker, WorkerTurn};
pub use vertex_values::{MessagesHere, VertexValues};

use dataflow::Failure;
use dataflow::watch::Stopped;
use model::Value;
use procedures::settings::wrong;
use std::sync::Arc;
use store::{EntryKind, Snapshot};

/// Is the program of this name built in?
pub fn is_built_in(name: &str) -> bool {
    builtin::NAMES.contains(&name)
}

/// The program of this name, called with these parameters: one that is built in, or one of the snapshot's catalogue.
///
/// # Errors
/// There is none, or it does not take the parameters.
pub fn open(name: &str, parameters: &Value, snapshot: &Snapshot) -> Result<Arc<dyn NodeProgram>, Failure> {
    if let Some(program) = builtin::open(name, parameters, snapshot)? {
        return Ok(program);
    }
    match snapshot.catalog().entries().get(EntryKind::PROGRAM, name) {
        Some(module) => open_deployed(name, module, parameters, snapshot),
        None => {
            let message =
                format!("there is no program `{name}`; SHOW PROCEDURES and SHOW PROGRAMS list what there is");
            Err(wrong(message).into())
        }
    }
}

#[cfg(feature = "deployed")]
fn open_deployed(
    name: &str,
    module: &Arc<[u8]>,
    parameters: &Value,
    snapshot: &Snapshot,
) -> Result<Arc<dyn NodeProgram>, Failure> {
    Ok(Arc::new(deployed::DeployedProgram::open(name, module, parameters, snapshot)?))
}

/// Why programs cannot be deployed in this build.
pub const NOT_BUILT_IN: &str = "this program was built without the feature `deployed-programs`; the binaries that are handed out have it";

#[cfg(not(feature = "deployed"))]
fn open_deployed(_: &str, _: &Arc<[u8]>, _: &Value, _: &Snapshot) -> Result<Arc<dyn NodeProgram>, Failure> {
    Err(wrong(NOT_BUILT_IN).into())
}

/// Is this a module that can be deployed? Compiles it, and caches it for later calls. Returns its fault, if there is one.
///
/// # Errors
/// The caller's query is over.
#[cfg(feature = "deployed")]
pub fn check_module(module: &Arc<[u8]>) -> Result<Option<String>, Stopped> {
    use deployed::compiling::{CompileEnd, compiled};
    match compiled(module) {
        Ok(_) => Ok(None),
        Err(CompileEnd::Wrong(why)) => Ok(Some(why)),
        Err(CompileEnd::Stopped(stopped)) => Err(stopped),
    }
}

/// The same, where programs cannot be deployed.
///
/// # Errors
/// Never.
#[cfg(not(feature = "deployed"))]
pub fn check_module(_: &Arc<[u8]>) -> Result<Option<String>, Stopped> {
    Ok(Some(NOT_BUILT_IN.into()))
}
