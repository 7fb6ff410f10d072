//! One query, as all executors and the client see it: counters, flags, queue lengths; no lock but the client's.

use crate::accounting::accounts::Accounts;
use crate::accounting::ledger::{BudgetExceeded, Ledger};
use crate::accounting::stats::{ScopeStats, VertexStats};
use crate::accounting::stride::SHARE_DEFAULT;
use crate::accounting::tablets::Placement;
use crate::accounting::tenants::{Owner, weight};
use crate::accounting::watch::{Stopped, Watch};
use crate::graphs::graph::{Edge, Graph};
use crate::queries::level::Level;
use crate::queries::links::{self, Command, Links};
use crate::queries::output::Output;
use crate::terms::options::QueryOptions;
use crate::terms::parts::{Parts, Past};
use crate::terms::rules::{Action, Rule, Taken};
use crate::{Fault, Message, QueryId, QueryInfo, Route, TenantNo, UserNo};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use world::clock::{monotonic_ns, span_ns};

pub(crate) struct QueryShared<M: Message> {
    pub(crate) id: u64,
    pub(crate) tenant: TenantNo,
    pub(crate) user: UserNo,
    pub(crate) accounts: Accounts,
    /// Time that queries of its tenant took, on all executors.
    spent_ns: Arc<AtomicU64>,
    /// Counted in its accounts.
    admitted: AtomicBool,
    /// The tenant on whose share it runs; its own until a rule moves it.
    payer: AtomicU32,
    /// Upper bound of its weight; 100 until a rule slows it down.
    weight_max: AtomicU32,
    pub(crate) label: String,
    pub(crate) home: usize,
    pub(crate) started_ns: u64,
    /// Reading of the monotonic clock; `u64::MAX` for none.
    pub(crate) deadline_ns: u64,
    pub(crate) graph: Graph<M>,
    pub(crate) links: Arc<Links<M>>,
    /// The host of each tablet, for this query.
    pub(crate) placement: Placement,
    /// The outermost level: everything outside of scopes.
    pub(crate) root: Arc<Level>,
    pub(crate) level_next: AtomicU64,
    /// Numbers of instances of wide branch scopes.
    pub(crate) instance_next: AtomicU32,
    pub(crate) ledger: Ledger,
    pub(crate) output: Output<M>,
    pub(crate) stats: Vec<VertexStats>,
    /// Time in calls by (vertex, executor); empty where there is one executor.
    pub(crate) cpu_by_executor: Vec<AtomicU64>,
    pub(crate) scope_stats: Vec<ScopeStats>,
    /// A message was shared out with an executor that had nothing to do: it has begun to work on several.
    pub(crate) is_shared_out: AtomicBool,
    /// The query that it is a part of.
    pub(crate) whole: Option<Arc<QueryShared<M>>>,
    /// Its parts.
    pub(crate) parts: Parts<QueryShared<M>>,
    /// Set once the query ended, well or badly.
    stopped: AtomicBool,
    /// Counted messages by (vertex, port, executor); see `queue_place`.
    queued: Vec<AtomicUsize>,
    /// By executor: has local state; found all it could run blocked by a full queue; has an operator that waits.
    touched: Vec<AtomicBool>,
    blocked: Vec<AtomicBool>,
    waiting: Vec<AtomicBool>,
    waiting_any: AtomicBool,
}

impl<M: Message> QueryShared<M> {
    pub(crate) fn new(
        id: u64,
        home: usize,
        graph: Graph<M>,
        (options, whole): (QueryOptions, Option<Arc<QueryShared<M>>>),
        links: Arc<Links<M>>,
    ) -> Self {
        let executors = links.executors();
        let started_ns = monotonic_ns();
        let accounts = links.admission.accounts(options.tenant, options.user);
        let own_ns = options.deadline.map_or(u64::MAX, span_ns);
        let time_max_ns = own_ns.min(accounts.time_max_ns());
        let flags = || (0..executors).map(|_| AtomicBool::new(false)).collect::<Vec<_>>();
        let cpus = if executors > 1 { graph.vertices.len() * executors } else { 0 };
        QueryShared {
            id,
            tenant: options.tenant,
            user: options.user,
            admitted: AtomicBool::new(false),
            payer: AtomicU32::new(whole.as_ref().map_or(options.tenant, |whole| whole.owner().tenant)),
            weight_max: AtomicU32::new(SHARE_DEFAULT),
            label: options.label,
            home,
            started_ns,
            deadline_ns: started_ns.saturating_add(time_max_ns),
            root: Level::root(&graph, executors),
            level_next: AtomicU64::new(1),
            instance_next: AtomicU32::new(0),
            ledger: Ledger::new(options.bytes_max, graph.vertices.len(), accounts.clone()),
            accounts,
            spent_ns: links.admission.spent(options.tenant),
            output: Output::new(options.output_batches_max, links.clients_due.clone()),
            cpu_by_executor: (0..cpus).map(|_| AtomicU64::new(0)).collect(),
            stats: graph.vertices.iter().map(|_| VertexStats::default()).collect(),
            scope_stats: graph.scopes.iter().map(|_| ScopeStats::default()).collect(),
            is_shared_out: AtomicBool::new(false),
            whole,
            parts: Parts::default(),
            stopped: AtomicBool::new(false),
            queued: (0..graph.ports() * executors).map(|_| AtomicUsize::new(0)).collect(),
            touched: flags(),
            blocked: flags(),
            waiting: flags(),
            waiting_any: AtomicBool::new(false),
            graph,
            placement: links.tablets.placement(),
            links,
        }
    }

    /// An executor gave it time.
    pub(crate) fn spend(&self, used_ns: u64) {
        self.spent_ns.fetch_add(used_ns, Ordering::Relaxed);
    }

    pub(crate) fn executors(&self) -> usize {
        self.links.executors()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Ends the query, with a fault or well; false if it had ended before. Executors drop its work when they see it.
    pub(crate) fn stop(&self, fault: Option<Fault>) -> bool {
        if self.stopped.swap(true, Ordering::SeqCst) {
            return false;
        }
        // Off the books before the client hears of it, so that who has seen the end finds the query in no list.
        self.links.inboxes[self.home].homes.fetch_sub(1, Ordering::Relaxed);
        let registered = self.links.registry.lock().remove(&self.id);
        self.end_parts(fault.as_ref());
        self.output.end(fault);
        for executor in 0..self.executors() {
            if self.touched[executor].load(Ordering::SeqCst) {
                self.links.post(executor, Command::Stop(self.id));
            }
        }
        for next in self.links.admission.leave(self) {
            self.links.post(next.home, Command::Start(next.clone()));
        }
        drop(registered);
        true
    }

    /// Counts it in its accounts from now on.
    pub(crate) fn admit(&self) {
        self.accounts.enter();
        self.admitted.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_admitted(&self) -> bool {
        self.admitted.load(Ordering::SeqCst)
    }

    /// The tenant on whose share it runs, and its user.
    pub(crate) fn owner(&self) -> Owner {
        Owner { tenant: self.payer.load(Ordering::Relaxed), user: self.user }
    }

    /// Its weight beside others of its user after so much time on one executor.
    pub(crate) fn weight(&self, used_ns: u64) -> u32 {
        let of_whole =
            self.whole.as_ref().map_or(SHARE_DEFAULT, |whole| whole.weight_max.load(Ordering::Relaxed));
        weight(used_ns).min(self.weight_max.load(Ordering::Relaxed)).min(of_whole)
    }

    pub(crate) fn taken(&self, now_ns: u64) -> Taken {
        let sum = |counter: fn(&VertexStats) -> &AtomicU64| {
            self.stats.iter().map(|stats| counter(stats).load(Ordering::Relaxed)).sum()
        };
        let own = Taken {
            age_ns: now_ns.saturating_sub(self.started_ns),
            cpu_ns: sum(|stats| &stats.cpu_ns),
            bytes: self.ledger.total(),
            rows: sum(|stats| &stats.rows_out),
        };
        let (parts, past) = self.parts.now();
        let parts = parts.iter().map(|part| part.taken(now_ns));
        parts.fold(
            Taken { cpu_ns: own.cpu_ns + past.cpu_ns, rows: own.rows + past.rows, ..own },
            |sum, part| Taken {
                age_ns: sum.age_ns,
                cpu_ns: sum.cpu_ns + part.cpu_ns,
                bytes: sum.bytes + part.bytes,
                rows: sum.rows + part.rows,
            },
        )
    }

    /// It has ended: ends its parts, before that is visible; and adds its usage to its whole.
    fn end_parts(&self, fault: Option<&Fault>) {
        for part in self.parts.take() {
            part.stop(Some(match fault {
                Some(Fault::Cancelled { reason }) => Fault::Cancelled { reason: reason.clone() },
                Some(Fault::TimedOut { after_ms }) => Fault::TimedOut { after_ms: *after_ms },
                _ => Fault::whole_ended(),
            }));
        }
        if let Some(whole) = &self.whole {
            let taken = self.taken(monotonic_ns());
            whole.parts.add_up(self.id, Past { cpu_ns: taken.cpu_ns, rows: taken.rows });
        }
    }
    /// Bytes held outside of its graph, for as long as it lives.
    pub(crate) fn hold(&self, bytes: u64) -> bool {
        self.charge(bytes).is_ok()
    }

    /// A rule applies to it.
    pub(crate) fn act(&self, rule: &Rule) {
        match rule.then {
            Action::Kill => {
                let reason = format!("it {}, and a rule of its account ends such queries", rule.beyond);
                self.stop(Some(Fault::Cancelled { reason }));
            }
            Action::Slow { weight } => {
                self.weight_max.fetch_min(weight.max(1), Ordering::Relaxed);
            }
            Action::MoveTo(tenant) => self.payer.store(tenant, Ordering::Relaxed),
        }
    }

    /// An executor takes the query in; false if the query has ended already.
    pub(crate) fn touch(&self, executor: usize) -> bool {
        self.touched[executor].store(true, Ordering::SeqCst);
        self.root.arrive(executor);
        !self.is_stopped()
    }

    fn queue_place(&self, vertex: usize, port: usize, executor: usize) -> &AtomicUsize {
        &self.queued[(self.graph.vertices[vertex].ports_before + port) * self.executors() + executor]
    }

    pub(crate) fn queue_length(&self, vertex: usize, port: usize, executor: usize) -> usize {
        self.queue_place(vertex, port, executor).load(Ordering::SeqCst)
    }

    pub(crate) fn enqueued(&self, vertex: usize, port: usize, executor: usize) {
        self.queue_place(vertex, port, executor).fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn dequeued(&self, vertex: usize, port: usize, executor: usize) {
        let before = self.queue_place(vertex, port, executor).fetch_sub(1, Ordering::SeqCst);
        if before == self.graph.mailbox_messages_max {
            self.unblock();
        }
    }

    /// Wakes the executors that found everything blocked.
    pub(crate) fn unblock(&self) {
        self.nudge(&self.blocked);
    }

    fn nudge(&self, flags: &[AtomicBool]) {
        for (executor, flag) in flags.iter().enumerate() {
            if flag.load(Ordering::SeqCst) && flag.swap(false, Ordering::SeqCst) {
                self.links.post(executor, Command::Nudge(self.id));
            }
        }
    }

    pub(crate) fn set_blocked(&self, executor: usize, blocked: bool) {
        self.blocked[executor].store(blocked, Ordering::SeqCst);
    }

    pub(crate) fn set_waiting(&self, executor: usize) {
        self.waiting[executor].store(true, Ordering::SeqCst);
        self.waiting_any.store(true, Ordering::SeqCst);
    }

    /// An operator ran: waiting operators may be called again.
    pub(crate) fn moved_on(&self) {
        if self.waiting_any.load(Ordering::SeqCst) && self.waiting_any.swap(false, Ordering::SeqCst) {
            self.nudge(&self.waiting);
        }
    }

    /// True if the queue at the far end of an edge outside scopes is full.
    pub(crate) fn edge_full(&self, edge: &Edge<M>, executor: usize) -> bool {
        let full = |executor: usize| {
            self.queue_length(edge.to, edge.port, executor) >= self.graph.mailbox_messages_max
        };
        match edge.route {
            Route::Local => full(executor),
            Route::Gather => full(self.home),
            Route::Spread | Route::Share | Route::Placed(_) => (0..self.executors()).all(full),
            Route::Partition(_) | Route::Tablet(_) => (0..self.executors()).any(full),
        }
    }

    /// The error of a query over its budget, with the bytes by operator.
    pub(crate) fn exceeded(&self) -> BudgetExceeded {
        self.ledger.exceeded(self.graph.vertices.iter().map(|vertex| vertex.name.clone()))
    }

    pub(crate) fn over_budget(&self) -> Fault {
        let exceeded = self.exceeded();
        Fault::OverBudget { level: exceeded.level, limit: exceeded.limit, held: exceeded.held }
    }

    pub(crate) fn timed_out(&self, now_ns: u64) -> Fault {
        Fault::TimedOut { after_ms: now_ns.saturating_sub(self.started_ns) / 1_000_000 }
    }

    pub(crate) fn info(&self) -> QueryInfo {
        let taken = self.taken(monotonic_ns());
        QueryInfo {
            id: QueryId(self.id),
            tenant: self.owner().tenant,
            user: self.user,
            running: self.is_admitted(),
            label: self.label.clone(),
            age_ns: taken.age_ns,
            cpu_ns: taken.cpu_ns,
            bytes: taken.bytes,
            rows: taken.rows,
        }
    }
}

/// Loops inside the calls of its operators.
impl<M: Message> Watch for QueryShared<M> {
    fn look(&self, now_ns: u64) -> Result<(), Stopped> {
        if now_ns >= self.deadline_ns {
            self.stop(Some(self.timed_out(now_ns)));
        }
        if self.is_stopped() { Err(Stopped::Time) } else { Ok(()) }
    }
    fn charge(&self, bytes: u64) -> Result<(), Stopped> {
        if self.ledger.charge_inside(bytes) {
            return Ok(());
        }
        self.stop(Some(self.over_budget()));
        Err(Stopped::Bytes)
    }
    fn release(&self, bytes: u64) {
        self.ledger.release_inside(bytes);
    }
    fn is_awaited(&self) -> bool {
        let inbox = links::executor_here().and_then(|executor| self.links.inboxes.get(executor));
        inbox.is_some_and(|inbox| !inbox.queue.is_empty()) || self.links.clients_due.any()
    }
    fn is_over(&self, now_ns: u64) -> bool {
        self.look(now_ns).is_err()
    }
}

impl<M: Message> Drop for QueryShared<M> {
    fn drop(&mut self) {
        self.root.dissolve();
    }
}
