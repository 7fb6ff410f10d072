//! From a text to a plan that can be ended: by its timeout, by an interruption, and where it is long by KILL.
//!
//! A short text is planned on the calling thread, where the interrupter and the deadline watch over it. A long one is planned as a job on the
//! executors, so it is listed like any query, charged to its tenant, and preempted for others. Either way planning counts its work ([`model::pace`]).

use super::Session;
use super::deadline::remaining;
use crate::cache::Planned;
use crate::database::planned;
use crate::{Error, Interrupter, Limits, job};
use execute::ExecuteError;
use execute::watch::{self, Stopped, Watch};
use model::pace;
use std::sync::Arc;
use store::Snapshot;
use world::clock::monotonic_ns;

/// A longer text is planned on the executors: it takes more than some 10 ms.
pub const PLAN_HERE_TEXT_BYTES_MAX: usize = 64 << 10;

/// Watches over work on the calling thread.
struct Asking {
    deadline_ns: Option<u64>,
    interrupter: Interrupter,
    /// Do walks over values end with the statement? Then their results must not be used.
    ends_walks: bool,
}

impl Watch for Asking {
    fn look(&self, now_ns: u64) -> Result<(), Stopped> {
        let is_late = self.deadline_ns.is_some_and(|deadline_ns| now_ns >= deadline_ns);
        if is_late || self.interrupter.is_in_force() { Err(Stopped::Time) } else { Ok(()) }
    }
    fn is_over(&self, now_ns: u64) -> bool {
        self.ends_walks && self.look(now_ns).is_err()
    }
    fn charge(&self, _: u64) -> Result<(), Stopped> {
        Ok(())
    }
    fn release(&self, _: u64) {}
}

impl Session {
    /// The plan for a text, from the cache or made now.
    pub(super) fn plan(
        &self,
        text: &str,
        snapshot: &Snapshot,
        limits: &Limits,
        started_ns: u64,
    ) -> Result<Arc<Planned>, Error> {
        let deadline_ns = self.deadline(limits, started_ns);
        let known = || self.database.known_plan(text, snapshot, self.restricted_view());
        if let Some(known) = self.searching(deadline_ns, snapshot, known) {
            return Ok(known);
        }
        if text.len() > PLAN_HERE_TEXT_BYTES_MAX {
            return self.plan_on_executors(text, snapshot, limits, deadline_ns);
        }
        self.watched(deadline_ns, || self.database.make_plan(text, snapshot, self.restricted_view()))
    }

    /// Does work on this thread, where the interrupter and the deadline watch over it.
    pub(super) fn watched<T>(
        &self,
        deadline_ns: Option<u64>,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.under(Asking { deadline_ns, interrupter: self.interrupter.clone(), ends_walks: false }, work)
    }

    /// Does work that may search the data visible to a restricted reader, such as for a name: the interrupter and the deadline end these searches.
    /// The result of a search that was ended reaches no client, since the statement is over.
    pub(super) fn searching<T>(
        &self,
        deadline_ns: Option<u64>,
        snapshot: &Snapshot,
        work: impl FnOnce() -> T,
    ) -> T {
        let asking = || Asking { deadline_ns, interrupter: self.interrupter.clone(), ends_walks: false };
        let _watched = snapshot.is_restricted().then(|| watch::enter(Arc::new(asking())));
        work()
    }

    /// As [`Session::watched`], for work that waits for processes of a cluster and caches nothing: it ends as soon as the statement is over.
    pub(super) fn waited<T>(
        &self,
        deadline_ns: Option<u64>,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        // Outside of a cluster there is nobody to wait for.
        if !self.database.engine().is_gate() {
            return work();
        }
        self.under(Asking { deadline_ns, interrupter: self.interrupter.clone(), ends_walks: true }, work)
    }

    fn under<T>(&self, asking: Asking, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let deadline_ns = asking.deadline_ns;
        let _watched = watch::enter(Arc::new(asking));
        work().map_err(|error| self.told_to_end(error, deadline_ns))
    }

    /// Why work on this thread was stopped, in the words that any query is ended with.
    pub(super) fn told_to_end(&self, error: Error, deadline_ns: Option<u64>) -> Error {
        if error.message != pace::Stopped.to_string() {
            return error;
        }
        if deadline_ns.is_some_and(|deadline_ns| monotonic_ns() >= deadline_ns)
            && let Err(late) = remaining(deadline_ns)
        {
            return late;
        }
        match self.interrupter.reason() {
            Some(reason) => ExecuteError::Cancelled(reason.to_string()).into(),
            None => error,
        }
    }

    fn plan_on_executors(
        &self,
        text: &str,
        snapshot: &Snapshot,
        limits: &Limits,
        deadline_ns: Option<u64>,
    ) -> Result<Arc<Planned>, Error> {
        // What it says is not known yet, a password perhaps.
        let running = self.running("planning of a long text", (self.bytes_within(limits), deadline_ns))?;
        let options = self.database.execute_options(&running);
        // It holds no handle of the database, which must not be closed by one of its executors.
        let planning = self.database.planning(snapshot, self.restricted_view());
        let (seen, whole) = (snapshot.clone(), text.to_string());
        let work = move || planned(&whole, &seen, &planning);
        let runtime = self.database.runtime();
        let ended = job::run(runtime, snapshot.clone(), options, work, |stream| self.wait(stream))?;
        ended.outcome()?.map(Arc::new)
    }
}
