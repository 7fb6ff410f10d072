//! One executor: a thread that takes commands, fires timers, and gives one quota at a time to whoever is next.
//!
//! Between two turns it looks at its inbox and its timers, so a kill, a deadline or a new query waits for one turn at most. With
//! nothing to run it looks a little longer ([`IDLE_SPIN_NS`]), then sleeps until a command or the next timer.

use crate::limits::{
    BALANCE_EVERY_NS, BLOCKED_RECHECK_NS, IDLE_SPIN_NS, RULES_CHECK_NS, TIMERS_SLACK, WAITING_REPOLL_NS,
};
use crate::links::{Command, Links, Shared};
use crate::local::{Here, LocalQuery, drop_quietly};
use crate::meter::Meter;
use crate::tablets::Balancer;
use crate::tenants::{Owner, Payer, Tenants, Work};
use crate::turn::Turn;
use crate::{Fault, Message, Root, RootStatus};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use world::clock::monotonic_ns;
use world::failpoint;
use world::panics::{Panicked, caught};
use world::workers::WorkerControl;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Deadline(u64),
    Look(u64),
    Rules(u64),
    Root(usize),
    Balance,
}

struct RootSlot {
    /// `None` after it panicked.
    root: Option<Box<dyn Root>>,
    in_ring: bool,
}

pub(crate) struct Executor<M: Message> {
    me: usize,
    quota_ns: u64,
    links: Arc<Links<M>>,
    queries: HashMap<u64, Box<LocalQuery<M>>>,
    /// Queries that have ended and are not all dropped yet.
    ended: Vec<LocalQuery<M>>,
    roots: HashMap<usize, RootSlot>,
    tenants: Tenants,
    meter: Meter,
    timers: BinaryHeap<Reverse<(u64, Timer)>>,
    balancer: Balancer,
}

impl<M: Message> Executor<M> {
    pub(crate) fn new(me: usize, quota_ns: u64, links: Arc<Links<M>>) -> Executor<M> {
        let mut timers = BinaryHeap::new();
        if me == 0 && links.executors() > 1 {
            timers.push(Reverse((monotonic_ns() + BALANCE_EVERY_NS, Timer::Balance)));
        }
        Executor {
            balancer: Balancer::new(links.tablets.count()),
            me,
            quota_ns,
            links,
            queries: HashMap::new(),
            ended: Vec::new(),
            roots: HashMap::new(),
            tenants: Tenants::default(),
            meter: Meter::default(),
            timers,
        }
    }

    /// The thread's body.
    pub(crate) fn run(mut self, control: &WorkerControl) {
        while !control.stopping() {
            if let Err(panicked) = caught(|| self.round(control)) {
                self.begin_anew(&panicked);
            }
        }
        for local in self.queries.drain().map(|(_, local)| *local).chain(self.ended.drain(..)) {
            drop_quietly(local);
        }
        while self.links.inboxes[self.me].queue.pop().is_some() {}
    }

    /// Takes commands, fires timers and gives a turn; sleeps where there is nothing to do.
    fn round(&mut self, control: &WorkerControl) {
        self.take_commands();
        self.drop_some();
        let now_ns = monotonic_ns();
        self.fire_timers(now_ns);
        self.meter.begin(now_ns);
        failpoint::visit("round of an executor");
        match self.tenants.pick() {
            Some(Work::Query(owner, id)) => self.turn_query(owner, id, now_ns),
            Some(Work::Root(number)) => self.turn_root(number, now_ns),
            None if !self.ended.is_empty() => {}
            None => {
                self.links.set_idle(self.me, true);
                self.idle(control);
                return self.links.set_idle(self.me, false);
            }
        }
        if self.links.clients_due.any() {
            // The kernel lets who is woken wait for whole milliseconds beside a thread that never sleeps.
            world::workers::breathe();
        }
    }

    /// After a panic in its own books, which nobody's net caught: every query that is here ends, and the thread serves on.
    fn begin_anew(&mut self, panicked: &Panicked) {
        for (id, local) in std::mem::take(&mut self.queries) {
            local.shared.stop(Some(of_scheduler(panicked.clone())));
            if caught(|| self.tenants.remove(local.owner, id)).is_err() {
                // Shares are lost with the books; those who work do not wait for them.
                self.tenants = Tenants::default();
            }
            self.ended.push(*local);
        }
        self.roots.values_mut().for_each(|slot| slot.in_ring = false);
        let numbers: Vec<usize> = self.roots.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.wake_root(number));
    }

    /// Takes a command, or gives a turn; true if there was one to take or give. For executors without a thread: see `stepped`. Timers do
    /// not fire, so what only a timer would wake sleeps on.
    pub(crate) fn step(&mut self, command_first: bool) -> bool {
        if !self.ended.is_empty() {
            self.drop_some();
            return true;
        }
        for is_command in [command_first, !command_first] {
            if !is_command {
                match self.tenants.pick() {
                    Some(Work::Query(owner, id)) => self.turn_query(owner, id, monotonic_ns()),
                    Some(Work::Root(number)) => self.turn_root(number, monotonic_ns()),
                    None => continue,
                }
                return true;
            } else if let Some(command) = self.links.inboxes[self.me].queue.pop() {
                self.take_command(command);
                return true;
            }
        }
        false
    }

    fn idle(&mut self, control: &WorkerControl) {
        let inbox = &self.links.inboxes[self.me].queue;
        let start_ns = monotonic_ns();
        let timer_ns = self.timers.peek().map(|Reverse((at_ns, _))| *at_ns);
        loop {
            if !inbox.is_empty() || control.stopping() {
                return;
            }
            world::workers::breathe();
            let now_ns = monotonic_ns();
            if timer_ns.is_some_and(|at_ns| at_ns <= now_ns) {
                return;
            }
            if now_ns >= start_ns + IDLE_SPIN_NS {
                return control.park(timer_ns.map(|at_ns| at_ns - now_ns));
            }
        }
    }

    fn take_commands(&mut self) {
        while let Some(command) = self.links.inboxes[self.me].queue.pop() {
            self.take_command(command);
        }
    }

    fn take_command(&mut self, command: Command<M>) {
        match command {
            Command::Start(query) => self.with_query(&query, |mut here| here.start()),
            Command::Hold(query) => {
                if !self.queries.contains_key(&query.id) && query.touch(self.me) {
                    self.take_in(&query);
                }
            }
            Command::Deliver { query, level, vertex, port, tablet, message } => {
                self.with_query(&query, |mut here| {
                    let node = here.node_of(&level);
                    here.deliver(vertex, port, node, tablet, message);
                });
            }
            Command::Exhausted { query, level, vertex, port } => {
                self.with_query(&query, |mut here| here.exhausted(&level, vertex, port));
            }
            Command::Entered { query, level, scope } => self.with_query(&query, |mut here| {
                if let Some(node) = here.node_if(&level) {
                    here.scope_fed(node, scope);
                }
            }),
            Command::CreateEmpty { query, level, vertex } => {
                self.with_query(&query, |mut here| here.create_empty(&level, vertex));
            }
            Command::Invite { query, level, vertex } => {
                self.with_query(&query, |mut here| here.resume_later(&level, vertex));
            }
            Command::Closed { query, level } => self.with_query(&query, |mut here| here.purge_closed(&level)),
            Command::Feed { query, level } => query.feed(&level),
            Command::Over { query, level } => {
                if self.queries.contains_key(&query.id) {
                    self.with_query(&query, |mut here| here.forget_level(&level));
                }
            }
            Command::Stop(id) => self.forget(id),
            Command::Nudge(id) => self.wake(id, |mut here| here.wake_waiting()),
            Command::Wake { query, ticket } => self.wake(query, |mut here| here.wake_parked(ticket)),
            Command::AddRoot { number, share, make } => self.add_root(number, share, &*make),
            Command::WakeRoot(number) => self.wake_root(number),
            Command::Share { tenant, user: None, share } => {
                self.tenants.set_share(Payer::Tenant(tenant), share);
            }
            Command::Share { tenant, user: Some(user), share } => {
                self.tenants.set_user_share(Owner { tenant, user }, share);
            }
        }
    }

    /// Does something to a query here, taking it in if it is new, and schedules it. A query that ended is left alone.
    fn with_query(&mut self, query: &Shared<M>, change: impl FnOnce(Here<'_, M>)) {
        let id = query.id;
        if !self.queries.contains_key(&id) {
            if !query.touch(self.me) {
                return;
            }
            self.take_in(query);
        }
        let local = self.queries.get_mut(&id).expect("it was just taken in");
        let changed = caught(|| {
            failpoint::visit("command to an executor");
            change(local.here());
            local.here().feed_iterations();
            local.here().local.fault.take()
        });
        if let Some(fault) = changed.unwrap_or_else(|panicked| Some(of_scheduler(panicked))) {
            query.stop(Some(fault));
        }
        if query.is_stopped() {
            self.forget(id);
        } else {
            self.schedule(id);
        }
    }

    /// Wakes something of a query that is here, and schedules it.
    fn wake(&mut self, id: u64, change: impl FnOnce(Here<'_, M>)) {
        if let Some(query) = self.queries.get(&id).map(|local| local.shared.clone()) {
            self.with_query(&query, change);
        }
    }

    fn take_in(&mut self, query: &Shared<M>) {
        if query.deadline_ns != u64::MAX {
            self.sweep_timers();
            self.timers.push(Reverse((query.deadline_ns, Timer::Deadline(query.id))));
        }
        let mut local = Box::new(LocalQuery::new(query.clone(), self.me));
        if self.me == query.home {
            local.rules = query.accounts.rules();
            if !local.rules.is_empty() {
                self.timers.push(Reverse((monotonic_ns() + RULES_CHECK_NS, Timer::Rules(query.id))));
            }
        }
        self.queries.insert(query.id, local);
    }

    /// Drops the timers of queries that ended, when they have become many.
    fn sweep_timers(&mut self) {
        if self.timers.len() > TIMERS_SLACK + 4 * self.queries.len() {
            let queries = &self.queries;
            self.timers.retain(|Reverse((_, timer))| match timer {
                Timer::Deadline(id) | Timer::Look(id) | Timer::Rules(id) => queries.contains_key(id),
                Timer::Root(_) | Timer::Balance => true,
            });
        }
    }

    /// Drops all of a query that ended.
    fn forget(&mut self, id: u64) {
        if let Some(local) = self.queries.remove(&id) {
            self.tenants.remove(local.owner, id);
            self.ended.push(*local);
            self.drop_some();
        }
    }

    /// Drops some of what ended queries hold.
    fn drop_some(&mut self) {
        if let Some(local) = self.ended.last_mut()
            && !local.drop_some()
        {
            drop_quietly(self.ended.pop());
        }
    }

    /// Puts a query into its tenant's ring if it has something to run and is not there yet.
    fn schedule(&mut self, id: u64) {
        let Some(local) = self.queries.get_mut(&id) else { return };
        let owner = local.shared.owner();
        if owner != local.owner {
            self.tenants.remove(local.owner, id);
            local.owner = owner;
            local.in_ring = false;
        }
        if !std::mem::replace(&mut local.in_ring, true) {
            self.tenants.push(owner, id);
        }
    }

    fn turn_query(&mut self, owner: Owner, id: u64, now_ns: u64) {
        let local = self.queries.get_mut(&id).expect("who is forgotten has left the tenants' books");
        let (cpu_ns, quota_ns) = (self.meter.cpu_ns(), self.quota_ns);
        // Operators have a net of their own: this one is for what goes on between their calls.
        let turned = caught(|| {
            failpoint::visit("turn of a query");
            local.here().turn(now_ns, cpu_ns, quota_ns)
        });
        let (turn, end_ns) = turned.unwrap_or_else(|panicked| {
            local.shared.stop(Some(of_scheduler(panicked)));
            (Turn::Over, monotonic_ns())
        });
        let used_ns = self.meter.used(now_ns, end_ns, self.quota_ns);
        local.used_ns += used_ns;
        local.in_ring = turn == Turn::More;
        let weight = local.shared.weight(local.used_ns);
        self.tenants.charge(owner, id, used_ns, weight, turn == Turn::More);
        match turn {
            Turn::Idle => {}
            Turn::More => self.schedule(id),
            Turn::Over => self.forget(id),
            Turn::Stuck => self.stuck(id, end_ns),
        }
    }

    /// Looks whether rules of its accounts apply to a query; each does once.
    fn apply_rules(&mut self, id: u64, now_ns: u64) {
        let Some(local) = self.queries.get_mut(&id) else { return };
        let taken = local.shared.taken(now_ns);
        let shared = local.shared.clone();
        local.rules.retain(|rule| {
            let applies = rule.applies(taken);
            if applies {
                shared.act(rule);
            }
            !applies
        });
        if !local.rules.is_empty() {
            self.timers.push(Reverse((now_ns + RULES_CHECK_NS, Timer::Rules(id))));
        }
    }

    /// Announces that the query is blocked here, then looks once more: whoever makes room between the two sees the announcement.
    fn stuck(&mut self, id: u64, now_ns: u64) {
        let local = self.queries.get_mut(&id).expect("it just ran");
        local.shared.set_blocked(self.me, true);
        if local.here().is_runnable() {
            local.shared.set_blocked(self.me, false);
            return self.schedule(id);
        }
        let later_ns = if local.here().has_waiting() { WAITING_REPOLL_NS } else { BLOCKED_RECHECK_NS };
        let at_ns = now_ns + later_ns;
        if local.timer_ns.is_none_or(|set_ns| set_ns > at_ns) {
            local.timer_ns = Some(at_ns);
            self.timers.push(Reverse((at_ns, Timer::Look(id))));
        }
    }

    fn fire_timers(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, timer))) = self.timers.peek().copied() {
            if at_ns > now_ns {
                return;
            }
            self.timers.pop();
            match timer {
                Timer::Deadline(id) => {
                    if let Some(local) = self.queries.get(&id) {
                        let shared = local.shared.clone();
                        shared.stop(Some(shared.timed_out(now_ns)));
                        self.forget(id);
                    }
                }
                Timer::Look(id) => {
                    if let Some(local) =
                        self.queries.get_mut(&id).filter(|local| local.timer_ns == Some(at_ns))
                    {
                        local.timer_ns = None;
                        self.wake(id, |mut here| here.wake_waiting());
                    }
                }
                Timer::Rules(id) => self.apply_rules(id, now_ns),
                Timer::Balance => self.balance(now_ns),
                Timer::Root(number) => self.wake_root(number),
            }
        }
    }

    /// Looks whether tablets should move; on the first executor, for all.
    fn balance(&mut self, now_ns: u64) {
        self.balancer.look(&self.links.tablets);
        self.timers.push(Reverse((now_ns + BALANCE_EVERY_NS, Timer::Balance)));
    }

    fn add_root(&mut self, number: usize, share: u32, make: &(dyn Fn(usize) -> Box<dyn Root> + Send + Sync)) {
        let root = caught(|| make(self.me)).ok();
        self.roots.insert(number, RootSlot { root, in_ring: false });
        self.tenants.set_share(Payer::Root(number), share);
        self.wake_root(number);
    }

    fn wake_root(&mut self, number: usize) {
        if let Some(slot) = self.roots.get_mut(&number).filter(|slot| slot.root.is_some() && !slot.in_ring) {
            slot.in_ring = true;
            self.tenants.push_root(number);
        }
    }

    fn turn_root(&mut self, number: usize, now_ns: u64) {
        let slot = self.roots.get_mut(&number).expect("roots are never removed");
        slot.in_ring = false;
        let quota_ns = self.quota_ns;
        let root = slot.root.as_mut().expect("a root that panicked is not woken");
        let status = caught(|| (root.run(quota_ns), root.charges()));
        let mut used_ns = self.meter.used(now_ns, monotonic_ns(), quota_ns);
        let status = status.map(|(status, charges)| {
            for (tenant, owed_ns) in charges {
                used_ns = used_ns.saturating_sub(owed_ns);
                self.tenants.owe(tenant, owed_ns);
            }
            status
        });
        self.tenants.charge_root(number, used_ns, false);
        match status {
            Ok(RootStatus::Busy) => self.wake_root(number),
            Ok(RootStatus::Idle) => {}
            Ok(RootStatus::WakeAt(at_ns)) => self.timers.push(Reverse((at_ns, Timer::Root(number)))),
            Err(_) => slot.root = None,
        }
    }
}

/// A panic of the scheduler in the name of a query, which ends that query alone: all that it has here is dropped.
fn of_scheduler(panicked: Panicked) -> Fault {
    Fault::Panicked { operator: "scheduler".into(), message: panicked.message }
}
