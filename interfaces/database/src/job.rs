//! Work that is no plan, run on the executors like a query: the planning of long texts, first answers of standing queries, indexes.
//!
//! Invariant: the waiting caller goes on only when nothing of the work is left on an executor, ended or not. The work itself holds no handle of the
//! database, which must not be closed by one of its executors.

use crate::Error;
use execute::job::{Answer, NoAnswer};
use execute::{Access, ExecuteOptions, Execution, ResultStream, Runtime};
use std::sync::Arc;
use store::Snapshot;

/// The end of a job.
pub(crate) struct Ended<T> {
    /// Why it was ended, if it was.
    pub why: Option<Error>,
    /// The value that the work returned, if it ran to its own end.
    pub outcome: Option<T>,
}

impl<T> Ended<T> {
    /// The value that the work returned.
    pub fn outcome(self) -> Result<T, Error> {
        let lost = || Error::new("Neo.DatabaseError.Statement.ExecutionFailed", "the job has no outcome");
        self.why.map_or_else(|| self.outcome.ok_or_else(lost), Err)
    }
}

/// Does work on the executors; `wait` returns when its stream has ended.
///
/// # Errors
/// It could not be started.
pub(crate) fn run<T: Send + 'static>(
    runtime: &Runtime,
    snapshot: Snapshot,
    options: ExecuteOptions,
    work: impl FnOnce() -> T + Send + 'static,
    wait: impl FnOnce(&mut ResultStream) -> Result<(), Error>,
) -> Result<Ended<T>, Error> {
    let (tell, told) = std::sync::mpsc::channel();
    let work = Box::new(move || {
        let outcome = work();
        let _ = tell.send(outcome);
        Ok(Box::new(NoAnswer) as Box<dyn Answer>)
    });
    let mut stream = Execution::start_job(runtime, work, Arc::from([]), Access::Read(snapshot), options)?;
    let why = wait(&mut stream).err();
    drop(stream);
    // It has told, or was never begun.
    Ok(Ended { why, outcome: told.recv().ok() })
}
