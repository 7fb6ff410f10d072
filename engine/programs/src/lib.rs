//! # programs: code that runs at vertices
//!
//! A node program is called at a vertex with its messages, its own state there, and the graph around it at one snapshot. It sends messages to
//! vertices, where it is called in the next round, and emits rows. The end is where no message is left.
//!
//! Vertices share nothing but messages, so a shard could run its part. Rounds are cut into batches that all executors draw, and messages are
//! delivered in the order of their senders: the answer does not depend on who works.
//!
//! Reading order: [`program`] (the trait, and what a program sees), `states`, `inbox` (messages between rounds), [`running`] (the task that
//! executors share), [`parameters`], [`builtin`].

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod builtin;
mod inbox;
pub mod limits;
pub mod parameters;
pub mod program;
pub mod running;
mod states;

pub use program::{Batch, Combine, NodeProgram, Outbox, ProgramGraph, Reads};
pub use running::{ProgramRows, ProgramRun, ProgramWorker, WorkerTurn};

use dataflow::Failure;
use model::Value;
use procedures::settings::wrong;
use std::sync::Arc;
use store::Snapshot;

/// The program of this name, called with these parameters.
///
/// # Errors
/// There is none, or it does not take the parameters.
pub fn open(name: &str, parameters: &Value, snapshot: &Snapshot) -> Result<Arc<dyn NodeProgram>, Failure> {
    match builtin::open(name, parameters, snapshot)? {
        Some(program) => Ok(program),
        None => {
            Err(wrong(format!("there is no program `{name}`; SHOW PROCEDURES lists those that are built in"))
                .into())
        }
    }
}
