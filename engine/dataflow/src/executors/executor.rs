//! One executor: a thread that takes commands, fires timers, and gives one quota at a time to the next query or root.
//!
//! Between two turns it looks at its inbox and its timers, so a kill, a deadline or a new query waits for one turn at most. With
//! nothing to run it looks a little longer ([`IDLE_SPIN_NS`]), then sleeps until a command or the next timer.

use crate::accounting::meter::Meter;
use crate::accounting::tablets::Balancer;
use crate::accounting::tenants::{Owner, Payer, Tenants, Work};
use crate::accounting::{latch, watch};
use crate::executors::local::{LocalQuery, QueryAccess, drop_quietly};
use crate::executors::turn::{Slice, Turn};
use crate::queries::links::{self, Command, Links, Shared};
use crate::terms::limits::{
    BALANCE_EVERY_NS, BLOCKED_RECHECK_NS, DROP_NS_MAX, IDLE_SPIN_NS, RULES_CHECK_NS, TIMERS_SLACK,
    WAITING_REPOLL_NS,
};
use crate::{Fault, Message, Root, RootStatus, TenantNo};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use world::clock::monotonic_ns;
use world::failpoint;
use world::fiber::{Fiber, Resumed, Stacks};
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
    work: RootWork,
    in_ring: bool,
    /// Woken while a turn of it was paused.
    is_woken: bool,
}

/// A root after a turn: its status, and the time that it charges to tenants.
type RootTurn = (Box<dyn Root>, RootStatus, Vec<(TenantNo, u64)>);

/// Where a root is.
enum RootWork {
    Here(Box<dyn Root>),
    /// In a turn that has paused.
    Paused(Fiber<RootTurn>),
    /// It panicked.
    Gone,
}

pub(crate) struct Executor<M: Message> {
    me: usize,
    quota_ns: u64,
    links: Arc<Links<M>>,
    queries: HashMap<u64, LocalQuery<M>>,
    /// Queries that have ended and are not all dropped yet.
    ended: Vec<LocalQuery<M>>,
    roots: HashMap<usize, RootSlot>,
    tenants: Tenants,
    meter: Meter,
    stacks: Stacks,
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
            stacks: Stacks::default(),
            timers,
        }
    }

    /// The thread's body.
    pub(crate) fn run(mut self, control: &WorkerControl) {
        links::begin_here(self.me);
        while !control.stopping() {
            if let Err(panicked) = caught(|| self.round(control)) {
                self.begin_anew(&panicked);
            }
        }
        self.close();
    }

    /// Drops all queries. They have been stopped, so calls that have paused end at their next look.
    pub(crate) fn close(&mut self) {
        for mut local in
            std::mem::take(&mut self.queries).into_values().chain(std::mem::take(&mut self.ended))
        {
            self.end_paused(&mut local);
            drop_quietly(local);
        }
        while self.links.inboxes[self.me].queue.pop().is_some() {}
        for (_, slot) in self.roots.drain() {
            let mut work = slot.work;
            while let RootWork::Paused(fiber) = work {
                let resumed = caught(|| fiber.resume(u64::MAX, &mut self.stacks));
                work = match resumed {
                    Ok(Resumed::Paused(fiber)) => RootWork::Paused(fiber),
                    Ok(Resumed::Done((root, ..))) => RootWork::Here(root),
                    Err(_) => RootWork::Gone,
                };
            }
        }
    }

    /// Lets a query that was stopped end the call in which it has paused.
    fn end_paused(&mut self, local: &mut LocalQuery<M>) {
        let slice = self.slice(monotonic_ns());
        while local.is_paused() {
            // A panic ends the call as well.
            let _ = caught(|| local.give(slice, &mut self.stacks));
        }
    }

    fn slice(&self, start_ns: u64) -> Slice {
        Slice { start_ns, cpu_ns: self.meter.cpu_ns(), quota_ns: self.quota_ns }
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

    /// After a panic of the scheduler itself: ends every query on this executor, and the thread serves on.
    fn begin_anew(&mut self, panicked: &Panicked) {
        for (id, mut local) in std::mem::take(&mut self.queries) {
            local.shared.stop(Some(of_scheduler(panicked.clone())));
            if caught(|| self.tenants.remove(local.owner, id)).is_err() {
                // Shares are lost with the books; those who work do not wait for them.
                self.tenants = Tenants::default();
            }
            self.end_paused(&mut local);
            self.ended.push(local);
        }
        self.roots.values_mut().for_each(|slot| slot.in_ring = false);
        let numbers: Vec<usize> = self.roots.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.wake_root(number));
    }

    /// Takes a command, or gives a turn; true if there was one. For executors without a thread: see `stepped`. Timers do not
    /// fire, so work that only a timer would wake sleeps on.
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
        if let Some(id) = command.query()
            && let Some(local) = self.queries.get_mut(&id).filter(|local| local.is_paused())
        {
            return local.later.push(command);
        }
        match command {
            Command::Start(query) => self.with_query(&query, |mut here| here.start()),
            Command::WatchDeadline(query) => {
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
            Command::Unpark(id) => self.schedule(id),
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

    /// Changes a query on this executor, taking it in if it is new, and schedules it. A query that ended is left alone.
    fn with_query(&mut self, query: &Shared<M>, change: impl FnOnce(QueryAccess<'_, M>)) {
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

    /// Wakes a part of a query on this executor, and schedules it.
    fn wake(&mut self, id: u64, change: impl FnOnce(QueryAccess<'_, M>)) {
        if let Some(query) = self.queries.get(&id).map(|local| local.shared.clone()) {
            self.with_query(&query, change);
        }
    }

    fn take_in(&mut self, query: &Shared<M>) {
        if query.deadline_ns != u64::MAX {
            self.sweep_timers();
            self.timers.push(Reverse((query.deadline_ns, Timer::Deadline(query.id))));
        }
        let mut local = LocalQuery::new(query.clone(), self.me);
        // Rules look at the whole.
        if self.me == query.home && query.whole.is_none() {
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

    /// Drops all of a query that ended. A paused call of it finds that at its next look; until it has ended it goes on in its turns.
    fn forget(&mut self, id: u64) {
        let slice = self.slice(monotonic_ns());
        let Some(local) = self.queries.get_mut(&id) else { return };
        let stacks = &mut self.stacks;
        // A panic ends the call as well.
        if local.is_paused() && caught(|| local.give(slice, stacks)).is_ok_and(|ended| ended.is_none()) {
            // It may have been left alone until now.
            return self.schedule(id);
        }
        if let Some(local) = self.queries.remove(&id) {
            self.tenants.remove(local.owner, id);
            self.ended.push(local);
        }
    }

    /// Drops a part of the memory of ended queries.
    fn drop_some(&mut self) {
        let Some(until_ns) = self.ended.last().map(|_| monotonic_ns() + DROP_NS_MAX) else { return };
        while let Some(local) = self.ended.last_mut()
            && monotonic_ns() < until_ns
        {
            if !local.drop_some() {
                drop_quietly(self.ended.pop());
            }
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
        let slice = self.slice(now_ns);
        let local = self.queries.get_mut(&id).expect("who is forgotten has left the tenants' books");
        let stacks = &mut self.stacks;
        // Operators have a net of their own: this one is for what goes on between their calls.
        let given = caught(|| {
            failpoint::visit("turn of a query");
            local.give(slice, stacks)
        });
        let ended = given.unwrap_or_else(|panicked| {
            local.shared.stop(Some(of_scheduler(panicked)));
            Some((Turn::Over, monotonic_ns()))
        });
        let awaited = local.awaited.take();
        let paused = if awaited.is_some() { Turn::Parked } else { Turn::More };
        let (turn, end_ns) = ended.unwrap_or_else(|| (paused, monotonic_ns()));
        let used_ns = self.meter.used(now_ns, end_ns, self.quota_ns);
        local.used_ns += used_ns;
        local.shared.spend(used_ns);
        let later = if ended.is_some() { std::mem::take(&mut local.later) } else { Vec::new() };
        local.in_ring = turn == Turn::More;
        let weight = local.shared.weight(local.used_ns);
        self.tenants.charge(owner, id, used_ns, weight, turn == Turn::More);
        match turn {
            Turn::Idle => {}
            Turn::Parked => {
                let (links, me) = (self.links.clone(), self.me);
                let wake = move || links.post(me, Command::Unpark(id));
                awaited.iter().for_each(|latch| latch.on_open(Box::new(wake.clone())));
            }
            Turn::More => self.schedule(id),
            Turn::Over => self.forget(id),
            Turn::Stuck => self.stuck(id, end_ns),
        }
        later.into_iter().for_each(|command| self.take_command(command));
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

    /// Announces that the query is blocked on this executor, then looks once more: a thread that makes room in between sees the announcement.
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
                        self.take_command(Command::Nudge(id));
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
        let work = caught(|| make(self.me)).map_or(RootWork::Gone, RootWork::Here);
        self.roots.insert(number, RootSlot { work, in_ring: false, is_woken: false });
        self.tenants.set_share(Payer::Root(number), share);
        self.wake_root(number);
    }

    fn wake_root(&mut self, number: usize) {
        let Some(slot) = self.roots.get_mut(&number) else { return };
        slot.is_woken |= matches!(slot.work, RootWork::Paused(_));
        if !matches!(slot.work, RootWork::Gone) && !slot.in_ring {
            slot.in_ring = true;
            self.tenants.push_root(number);
        }
    }

    fn turn_root(&mut self, number: usize, now_ns: u64) {
        let slot = self.roots.get_mut(&number).expect("roots are never removed");
        slot.in_ring = false;
        let quota_ns = self.quota_ns;
        let work = std::mem::replace(&mut slot.work, RootWork::Gone);
        let stacks = &mut self.stacks;
        let ended = caught(|| give_root(work, now_ns, quota_ns, stacks));
        let used_ns = self.meter.used(now_ns, monotonic_ns(), quota_ns);
        let charged_ns = match ended {
            Ok(Resumed::Done((root, status, charges))) => {
                slot.work = RootWork::Here(root);
                let status = if std::mem::take(&mut slot.is_woken) { RootStatus::Busy } else { status };
                match status {
                    RootStatus::Busy => self.wake_root(number),
                    RootStatus::Idle => {}
                    RootStatus::WakeAt(at_ns) => self.timers.push(Reverse((at_ns, Timer::Root(number)))),
                }
                charges.iter().for_each(|(tenant, owed_ns)| self.tenants.owe(*tenant, *owed_ns));
                used_ns.saturating_sub(charges.iter().map(|(_, owed_ns)| owed_ns).sum())
            }
            Ok(Resumed::Paused(fiber)) => {
                slot.work = RootWork::Paused(fiber);
                match latch::take_awaited() {
                    Some(awaited) => {
                        let (links, me) = (self.links.clone(), self.me);
                        awaited.on_open(Box::new(move || links.post(me, Command::WakeRoot(number))));
                    }
                    None => {
                        slot.in_ring = true;
                        self.tenants.push_root(number);
                    }
                }
                used_ns
            }
            Err(_) => used_ns,
        };
        let more = self.roots[&number].in_ring;
        self.tenants.charge_root(number, charged_ns, more);
    }
}

/// A panic of the scheduler on behalf of a query, which ends that query alone: all its parts on this executor are dropped.
fn of_scheduler(panicked: Panicked) -> Fault {
    Fault::Panicked { operator: "scheduler".into(), message: panicked.message }
}

/// Gives a root a turn, or the rest of one that has paused.
fn give_root(work: RootWork, now_ns: u64, quota_ns: u64, stacks: &mut Stacks) -> Resumed<RootTurn> {
    let fiber = match work {
        RootWork::Paused(fiber) => fiber,
        RootWork::Here(mut root) => {
            let body = move || {
                watch::take_paused();
                let status = root.run(quota_ns);
                let charges = root.charges();
                (root, status, charges)
            };
            match stacks.fiber(body) {
                Ok(fiber) => fiber,
                Err(body) => return Resumed::Done(body()),
            }
        }
        RootWork::Gone => unreachable!("a root that panicked is not woken"),
    };
    fiber.resume(now_ns + quota_ns, stacks)
}
