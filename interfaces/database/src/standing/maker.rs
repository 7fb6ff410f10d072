//! Creates standing queries, and opens subscriptions.

use super::definition::Definition;
use super::restricted::RestrictedAnswers;
use crate::accounts::Payer;
use crate::job::{self, Ended};
use crate::roles::RestrictedView;
use crate::running::shortened;
use crate::{Error, Params};
use ::standing::{Begin, Installing, Keeper, Subscription, TurnEnd};
use execute::{ExecuteOptions, ResultStream, Root, RootHandle, RootStatus, Runtime};
use std::sync::Arc;
use std::time::Duration;
use transact::Engine;

/// Pause of a turn that found a lock taken, in nanoseconds.
const TRY_AGAIN_NS: u64 = 100_000;

/// How often a caller that waits for a first answer checks whether it may go on.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Share of an executor that standing queries have, as a tenant has that was given none.
pub(super) const SHARE: u32 = 100;

/// Feeds the queries that are placed on one executor.
pub(super) struct Feeding {
    pub keeper: Keeper,
    /// Answers for readers with restricted rights.
    pub restricted: Arc<RestrictedAnswers>,
    pub at: usize,
}

impl Root for Feeding {
    fn run(&mut self, _quota_ns: u64) -> RootStatus {
        self.restricted.sweep();
        match (self.keeper.turn(self.at), self.restricted.turn(self.at)) {
            (TurnEnd::More, _) | (_, TurnEnd::More) => RootStatus::Busy,
            (TurnEnd::Done, TurnEnd::Done) => {
                self.restricted.next_sweep_ns().map_or(RootStatus::Idle, RootStatus::WakeAt)
            }
            _ => RootStatus::WakeAt(world::clock::monotonic_ns() + TRY_AGAIN_NS),
        }
    }
    fn charges(&mut self) -> Vec<(u32, u64)> {
        let mut spent = self.keeper.take_spent(self.at);
        spent.extend(self.restricted.take_spent(self.at));
        spent
    }
}

/// Makes and reads queries, without keeping the database open.
pub(super) struct Maker {
    pub engine: Engine,
    pub keeper: Keeper,
    pub handle: RootHandle,
    pub runtime: Arc<Runtime>,
    pub bytes_max: u64,
}

/// The creator or reader of a query: the account that is charged, and the caller that waits.
pub(crate) struct Creator<'a> {
    pub payer: Payer,
    /// The first answer, or a subscription until it begins, may take so long.
    pub time: Option<Duration>,
    /// Checks the caller's interruption: returns the reason to stop waiting. Called every few milliseconds, without a lock.
    pub interrupted: &'a dyn Fn() -> Option<&'static str>,
    /// Its restricted view, unless it may do everything.
    pub restricted_view: Option<Arc<RestrictedView>>,
    /// Waits for the end of a job.
    pub wait: &'a dyn Fn(&mut ResultStream) -> Result<(), Error>,
}

impl Creator<'static> {
    /// The database itself, which is never interrupted.
    pub fn itself() -> Creator<'static> {
        let wait = &|job: &mut ResultStream| Ok(job.next().transpose().map(drop)?);
        Creator { payer: Payer::default(), time: None, interrupted: &|| None, restricted_view: None, wait }
    }
}

/// Waits for the end of a job that makes a first answer, and ends it when its bounds are passed: a single row may take its time.
pub(super) fn await_within(job: &mut ResultStream, bounds: &Installing) -> Result<(), Error> {
    loop {
        match job.next_timeout(LOOK_EVERY) {
            Some(ended) => return Ok(ended.transpose().map(drop)?),
            None => bounds.check().inspect_err(|error| job.cancel(&error.to_string()))?,
        }
    }
}

impl Maker {
    /// Creates a query that is charged to `payer` from then on. Its first answer is a job on the executors, on the creator's account.
    pub fn make(
        &self,
        definition: &Definition,
        payer: u32,
        bounds: &Arc<Installing>,
        creator: &Creator<'_>,
    ) -> Result<(), Error> {
        self.make_within((definition, &definition.text.clone()), None, (payer, bounds), creator)
    }
    /// Likewise, as these rights show the graph; the keeper knows it by this text.
    pub fn make_as(
        &self,
        (definition, text): (&Definition, &str),
        restricted_view: Option<&Arc<RestrictedView>>,
        payer: u32,
        creator: &Creator<'_>,
    ) -> Result<(), Error> {
        self.make_within((definition, text), restricted_view, (payer, &Arc::default()), creator)
    }
    fn make_within(
        &self,
        (definition, text): (&Definition, &str),
        restricted_view: Option<&Arc<RestrictedView>>,
        (payer, bounds): (u32, &Arc<Installing>),
        creator: &Creator<'_>,
    ) -> Result<(), Error> {
        let whole = self.engine.snapshot();
        let snapshot = restricted_view
            .map_or_else(|| whole.clone(), |restricted_view| restricted_view.shown(whole.clone()));
        let (definition, text) = (definition.clone(), text.to_string());
        let name = definition.name.clone();
        let (handle, keeper, bounds) = (self.handle.clone(), self.keeper.clone(), bounds.clone());
        let label = shortened(&definition.content()).to_string();
        let ended = self.job(label, creator, move || {
            let asked = definition.planned(&snapshot)?;
            let wake = Arc::new(move |at| handle.wake(at));
            Ok(keeper.create_within(&definition.name, &text, asked, payer, wake, &bounds)?)
        })?;
        // Who was told to end may have come to its own end first.
        if ended.why.is_some() && matches!(ended.outcome, Some(Ok(_))) {
            let _ = self.keeper.drop_query(&name);
        }
        ended.outcome()?
    }
    /// Subscribes to a query. Changes that the reader has missed are looked up by a job, on the reader's account.
    pub fn subscribe(
        &self,
        name: &str,
        arguments: Params,
        begin: Begin,
        creator: &Creator<'_>,
    ) -> Result<Subscription, Error> {
        let (keeper, label) = (self.keeper.clone(), format!("SUBSCRIBE {name}"));
        let name = name.to_string();
        let ended = self.job(label, creator, move || {
            keeper.subscribe(&name, &|name| arguments.get(name).cloned(), begin)
        })?;
        Ok(ended.outcome()??)
    }
    /// Does work on the executors, and waits for its end.
    fn job<T: Send + 'static>(
        &self,
        label: String,
        creator: &Creator<'_>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Ended<T>, Error> {
        let options = ExecuteOptions {
            tenant: creator.payer.tenant,
            user: creator.payer.user,
            label,
            deadline: creator.time,
            bytes_max: self.bytes_max,
            ..ExecuteOptions::default()
        };
        job::run(&self.runtime, self.engine.snapshot(), options, work, creator.wait)
    }
}
