//! The runtime: starts the executors, takes queries, lists and cancels them.

use crate::accounting::accounted_bytes::AccountedBytes;
use crate::accounting::accounts::{AccountOptions, AccountRoom, AccountUsage};
use crate::accounting::service::Service;
use crate::accounting::tablets::{TabletInfo, TabletMove, Tablets};
use crate::executors::executor::Executor;
use crate::queries::admission::Entry;
use crate::queries::links::{Command, Links};
use crate::queries::query::QueryShared;
use crate::terms::ids::{TabletNo, TenantNo, UserNo};
use crate::terms::limits::{QUOTA_NS_DEFAULT, TABLETS_PER_EXECUTOR};
use crate::terms::options::QueryOptions;
use crate::{Fault, Graph, Message, QueryHandle, QueryId, QueryInfo, QueryProgress, Root, RootHandle};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use world::workers::{WORKERS_MAX, WorkerControl, WorkerOptions, Workers};

/// How the runtime runs.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Executor threads; one a core.
    pub executors: usize,
    /// CPU time of one turn.
    pub quota: Duration,
    /// Pin executors to cores where the machine allows.
    pub pin: bool,
    /// Thread name prefix.
    pub name: String,
    /// Limits of all queries together; the share means nothing.
    pub machine: AccountOptions,
    /// Number of [tablets](crate::tablets); none for [`TABLETS_PER_EXECUTOR`] each.
    pub tablets: Option<usize>,
    /// Move tablets from busy executors to idle ones.
    pub balance: bool,
}

impl Default for RuntimeOptions {
    fn default() -> RuntimeOptions {
        RuntimeOptions {
            executors: world::workers::cores(),
            quota: Duration::from_nanos(QUOTA_NS_DEFAULT),
            pin: true,
            name: "executor".to_string(),
            machine: AccountOptions::default(),
            tablets: None,
            balance: true,
        }
    }
}

/// The executors and the queries on them. Dropping it cancels running queries and joins the threads.
pub struct Runtime<M: Message> {
    links: Arc<Links<M>>,
    workers: Workers,
}

impl<M: Message> Runtime<M> {
    /// Starts the executors.
    ///
    /// # Errors
    /// When the system refuses threads.
    pub fn start(options: RuntimeOptions) -> std::io::Result<Runtime<M>> {
        let quota_ns = world::clock::span_ns(options.quota).max(1);
        let worker_options =
            WorkerOptions { threads: options.executors, name: options.name, pin: options.pin };
        let executors = options.executors.clamp(1, WORKERS_MAX);
        let tablets = options.tablets.unwrap_or(executors * TABLETS_PER_EXECUTOR).max(1);
        let tablets = Tablets::new(tablets, executors, options.balance);
        let links = Arc::new(Links::new(executors, &options.machine, tablets));
        let workers = Workers::start(&worker_options, |me| {
            let links = links.clone();
            // Made on its own thread: the roots it will hold may not move between threads.
            move |control: &WorkerControl| Executor::new(me, quota_ns, links).run(control)
        })?;
        for (executor, inbox) in links.inboxes.iter().enumerate() {
            let _ = inbox.waker.set(workers.waker(executor));
        }
        Ok(Runtime { links, workers })
    }

    /// Number of executors.
    pub fn executors(&self) -> usize {
        self.links.executors()
    }

    /// Starts a query, or queues it if its accounts have no room now; its end is then like any other's, and [`Fault::Refused`] if the queue is full.
    /// Its home executor is the one with the fewest queries at home.
    pub fn submit(&self, graph: Graph<M>, options: QueryOptions) -> QueryHandle<M> {
        self.links.submit(graph, options)
    }

    /// The running queries, and the turns of services that are at work, oldest first. A part of a query is listed as its whole only.
    pub fn queries(&self) -> Vec<QueryInfo> {
        let queries: Vec<_> = self.links.registry.lock().values().cloned().collect();
        let whole = queries.iter().filter(|query| query.whole.is_none());
        let mut all: Vec<QueryInfo> = whole.map(|query| query.info()).collect();
        all.extend(self.links.services.infos());
        all.sort_by_key(|query| query.id);
        all
    }

    /// The progress of a query; none if no such query runs.
    pub fn progress(&self, id: QueryId) -> Option<QueryProgress> {
        let query = self.links.registry.lock().get(&id.0).cloned();
        query.map(|query| query.progress())
    }

    /// Time that executors gave to the queries of each tenant so far, in nanoseconds.
    pub fn spent(&self) -> Vec<(TenantNo, u64)> {
        self.links.admission.spent_all()
    }

    /// Cancels a query, or ends the service whose turn has this number; false if none has.
    pub fn cancel(&self, id: QueryId, reason: &str) -> bool {
        let query = self.links.registry.lock().get(&id.0).cloned();
        match query {
            Some(query) => query.stop(Some(Fault::Cancelled { reason: reason.to_string() })),
            None => self.links.services.cancel(id.0, reason),
        }
    }

    /// Sets a tenant's share of each executor, relative to the shares of others that have work; default 100, at least 1.
    pub fn set_share(&self, tenant: TenantNo, share: u32) {
        self.post_share(tenant, None, share);
    }

    /// Sets a tenant's share and limits. Limits hold for queries submitted from now on.
    pub fn set_tenant(&self, tenant: TenantNo, options: &AccountOptions) {
        self.links.admission.set_tenant(tenant, options);
        self.start_waiting();
        self.post_share(tenant, None, options.share);
    }

    /// Sets a user's share within its tenant, and limits. Limits hold for queries submitted from now on.
    pub fn set_user(&self, tenant: TenantNo, user: UserNo, options: &AccountOptions) {
        self.links.admission.set_user(tenant, user, options);
        self.start_waiting();
        self.post_share(tenant, Some(user), options.share);
    }

    /// Begins queries that wait, where a changed limit has room for them.
    fn start_waiting(&self) {
        for next in self.links.admission.admit_waiting() {
            self.links.post(next.home, Command::Start(next.clone()));
        }
    }

    /// Usage of each account of a tenant or a user that has limits on queries or bytes.
    pub fn usage(&self) -> Vec<(TenantNo, Option<UserNo>, AccountUsage)> {
        self.links.admission.usage()
    }

    /// Sets the room that other runtimes, which share accounts with this one, leave of them. Waiting queries begin where there is room now.
    pub fn leave_room(&self, rooms: &[(TenantNo, Option<UserNo>, AccountRoom)]) {
        for next in self.links.admission.leave_room(rooms) {
            self.links.post(next.home, Command::Start(next.clone()));
        }
    }

    /// Makes accounts of bytes that no query holds, on behalf of a tenant; they hold none yet. Limits are those of the tenant as it is
    /// declared when the account is made.
    pub fn ledger(&self) -> impl Fn(TenantNo) -> AccountedBytes + Send + Sync + use<M> {
        let links = self.links.clone();
        move |tenant| AccountedBytes::new(links.admission.accounts(tenant, 0))
    }

    /// Makes services: work beside queries, on behalf of a tenant, that lists call by this label. Limits are those of the tenant as it is
    /// declared when a turn begins.
    pub fn services(&self) -> impl Fn(TenantNo, String) -> Service + Send + Sync + use<M> {
        let links = self.links.clone();
        move |tenant, label| {
            let (services, numbers, links) = (links.services.clone(), links.numbers.clone(), links.clone());
            let accounts = move || links.admission.accounts(tenant, 0);
            Service::new((services, numbers), accounts, tenant, label)
        }
    }

    fn post_share(&self, tenant: TenantNo, user: Option<UserNo>, share: u32) {
        for executor in 0..self.executors() {
            self.links.post(executor, Command::Share { tenant, user, share });
        }
    }

    /// The tablets, their hosts, and the time spent on each.
    pub fn tablets(&self) -> Vec<TabletInfo> {
        self.links.tablets.infos()
    }

    /// Moves tablets, each to an executor, for queries that begin from now on. The balancer may move them again.
    ///
    /// # Panics
    /// When there is no such tablet or executor.
    pub fn move_tablets(&self, moves: impl IntoIterator<Item = (TabletNo, usize)>) {
        self.links.tablets.move_all(moves);
    }

    /// How often tablets were moved, and the latest moves, oldest first.
    pub fn tablet_moves(&self) -> (u64, Vec<TabletMove>) {
        self.links.tablets.moves()
    }

    /// Lets the balancer move tablets from now on, or not.
    pub fn balance(&self, balance: bool) {
        self.links.tablets.set_balances(balance);
    }

    /// Hangs other work on every executor, with a share like a tenant's. `factory` is called on each executor's own thread.
    pub fn add_root<F>(&self, share: u32, factory: F) -> RootHandle
    where
        F: Fn(usize) -> Box<dyn Root> + Send + Sync + 'static,
    {
        let number = self.links.root_next.fetch_add(1, Ordering::Relaxed);
        let make: Arc<dyn Fn(usize) -> Box<dyn Root> + Send + Sync> = Arc::new(factory);
        for executor in 0..self.executors() {
            self.links.post(executor, Command::AddRoot { number, share, make: make.clone() });
        }
        let links = self.links.clone();
        let wake = Arc::new(move |executor: usize| links.post(executor, Command::WakeRoot(number)));
        RootHandle { wake, executors: self.executors() }
    }
}

impl<M: Message> Links<M> {
    /// As [`Runtime::submit`].
    pub(crate) fn submit(self: &Arc<Self>, graph: Graph<M>, options: QueryOptions) -> QueryHandle<M> {
        let home = self.choose_home();
        self.inboxes[home].homes.fetch_add(1, Ordering::Relaxed);
        let id = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (is_part, waits) = (options.part_of.is_some(), options.waits);
        let whole = options.part_of.and_then(|id| self.registry.lock().get(&id.0).cloned());
        let shared = Arc::new(QueryShared::new(id, home, graph, (options, whole), self.clone()));
        self.registry.lock().insert(id, shared.clone());
        if let Some(whole) = &shared.whole {
            whole.parts.add(id, &shared);
        }
        if is_part && shared.whole.as_ref().is_none_or(|whole| whole.is_stopped()) {
            shared.stop(Some(Fault::whole_ended()));
            return QueryHandle::new(shared);
        }
        if is_part {
            // Its whole has a place, which is its own.
            self.post(home, Command::Start(shared.clone()));
            return QueryHandle::new(shared);
        }
        match self.admission.enter(&shared, waits) {
            Entry::Admitted => self.post(home, Command::Start(shared.clone())),
            Entry::Waits => self.post(home, Command::WatchDeadline(shared.clone())),
            Entry::Refused => {
                let waiting = self.admission.waiting();
                shared.stop(Some(Fault::Refused { waiting }));
            }
        }
        QueryHandle::new(shared)
    }

    /// Cancels all queries that run.
    pub(crate) fn shut_down(&self) {
        let running: Vec<_> = self.registry.lock().values().cloned().collect();
        let reason = "the runtime is shutting down";
        for query in running {
            query.stop(Some(Fault::Cancelled { reason: reason.to_string() }));
        }
        self.services.shut_down(reason);
    }

    /// Drops all commands that no executor will take.
    pub(crate) fn clear(&self) {
        for inbox in &self.inboxes {
            while inbox.queue.pop().is_some() {}
        }
    }
}

impl<M: Message> Drop for Runtime<M> {
    fn drop(&mut self) {
        self.links.shut_down();
        self.workers.join();
        self.links.clear();
    }
}
