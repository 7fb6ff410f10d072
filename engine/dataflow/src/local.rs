//! One query on one executor: its operators, their mailboxes, and which of them runs next.
//!
//! The rule: of the operators that have work and whose outputs have room, one of the vertex furthest downstream. So what is in flight
//! moves towards the client before more is read at the sources, and memory stays near the output. Twins of one vertex (scope
//! instances) take turns.
//!
//! Back-pressure cannot lock up: along a graph without cycles, the furthest vertex that has messages feeds only vertices without, or
//! the client; and ports whose messages wait for another port's end take messages without bound where holding their feeders back could
//! stop that other port (`Vertex::elastic`).

use crate::context::Context;
use crate::instance::{Delivery, Instance, Item, Place};
use crate::links::Shared;
use crate::progress::Account;
use crate::scopes::Ends;
use crate::{Fault, Flow, Message, Outcome, Tag, ledger::BudgetExceeded};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use world::clock::monotonic_ns;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing left to run here.
    Idle,
    /// More to run.
    More,
    /// What is left waits for room in a queue, or for others.
    Stuck,
    /// The query ended.
    Over,
}

pub(crate) struct LocalQuery<M: Message> {
    pub(crate) shared: Shared<M>,
    pub(crate) me: usize,
    pub(crate) slots: Vec<Option<Box<Instance<M>>>>,
    free: Vec<usize>,
    /// Slot of the instance outside scopes, by vertex.
    root: Vec<Option<usize>>,
    /// Slots of instances inside scopes, by vertex.
    pub(crate) scoped: Vec<HashMap<Tag, usize>>,
    /// Slots with work, by the rank of their vertex, and the set of ranks that have some.
    pub(crate) ready: Vec<VecDeque<usize>>,
    pub(crate) ready_ranks: Vec<u64>,
    pub(crate) waiting: Vec<usize>,
    pub(crate) ends: Ends,
    pub(crate) instance_next: u32,
    /// Set where no error can be returned (a send that broke the budget); ends the query after the call.
    pub(crate) fault: Option<Fault>,
    /// In its tenant's ring of runnable queries.
    pub(crate) in_ring: bool,
    /// When the executor will look again, if it must.
    pub(crate) timer_ns: Option<u64>,
}

impl<M: Message> LocalQuery<M> {
    pub(crate) fn new(shared: Shared<M>, me: usize) -> LocalQuery<M> {
        let vertices = shared.graph.vertices.len();
        LocalQuery {
            me,
            slots: Vec::new(),
            free: Vec::new(),
            root: vec![None; vertices],
            scoped: (0..vertices).map(|_| HashMap::new()).collect(),
            ready: (0..vertices).map(|_| VecDeque::new()).collect(),
            ready_ranks: vec![0; vertices.div_ceil(64)],
            waiting: Vec::new(),
            ends: Ends::default(),
            instance_next: 0,
            fault: None,
            in_ring: false,
            timer_ns: None,
            shared,
        }
    }

    pub(crate) fn instance(&mut self, slot: usize) -> &mut Instance<M> {
        self.slots[slot].as_mut().expect("slots in the maps and queues are in use")
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The instance of a vertex for a tag, made if need be.
    pub(crate) fn find_or_make(&mut self, vertex: usize, tag: Tag) -> usize {
        let found = if tag.is_root() { self.root[vertex] } else { self.scoped[vertex].get(&tag).copied() };
        found.unwrap_or_else(|| self.make(vertex, tag))
    }

    fn make(&mut self, vertex: usize, tag: Tag) -> usize {
        assert_eq!(
            tag.depth(),
            self.shared.graph.vertices[vertex].depth,
            "a message's tag fits the scope of its receiver"
        );
        let gated = self.shared.graph.vertices[vertex].options.port_order > 0;
        let open = !gated || (!tag.is_root() && self.lower_ports_ended(vertex, tag));
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(Box::new(Instance::new(vertex, tag, open)));
        self.shared.progress.instance_made(vertex, self.me);
        if tag.is_root() {
            self.root[vertex] = Some(slot);
            for port in 0..self.shared.graph.vertices[vertex].options.ports {
                if self.shared.progress.is_exhausted(vertex, port) {
                    self.push_completion(slot, port, Account::Free);
                }
            }
        } else {
            self.scoped[vertex].insert(tag, slot);
        }
        slot
    }

    /// Puts `on_completion` into the mailbox, or behind the gate; the last one before the gate opens it.
    fn push_completion(&mut self, slot: usize, port: usize, account: Account) {
        let vertex = self.instance(slot).head.vertex;
        let order = self.shared.graph.vertices[vertex].options.port_order;
        let lower = ((1_u64 << order) - 1) as u32;
        let instance = self.instance(slot);
        if !instance.gate_open && port >= order {
            instance.held_completions.push((port, account));
        } else if instance.completions & (1 << port) != 0 {
            if account == Account::Ack {
                instance.inbox.push_back(Item::Acknowledge);
            }
        } else {
            instance.completions |= 1 << port;
            instance.inbox.push_back(Item::Completion(port, account));
            if instance.completions & lower == lower {
                instance.open_gate();
                let later = std::mem::take(&mut instance.held_completions);
                later.into_iter().for_each(|(port, account)| self.push_completion(slot, port, account));
            }
        }
        self.make_ready(slot);
    }

    /// Takes a message that is already counted at the port's progress (and, unless the port is elastic, at its queue).
    pub(crate) fn deliver(&mut self, vertex: usize, port: usize, tag: Tag, message: M) {
        let elastic = self.shared.graph.vertices[vertex].elastic[port];
        let mut delivery = Delivery { port, message, counted: !elastic, charged: 0 };
        if self.shared.progress.refuses(vertex) {
            self.discard(vertex, delivery);
            return;
        }
        let slot = self.find_or_make(vertex, tag);
        let order = self.shared.graph.vertices[vertex].options.port_order;
        if self.instance(slot).gate_open || port < order {
            self.instance(slot).inbox.push_back(Item::Message(delivery));
            self.make_ready(slot);
            return;
        }
        if elastic {
            delivery.charged = delivery.message.bytes() as u64;
            if !self.shared.ledger.charge(vertex, delivery.charged) {
                self.fault = Some(self.shared.over_budget());
            }
        }
        self.instance(slot).held.push_back(delivery);
    }

    /// Takes a message off the queue's books; returns it.
    fn unqueue(&self, vertex: usize, delivery: Delivery<M>) -> (usize, M) {
        if delivery.counted {
            self.shared.dequeued(vertex, delivery.port, self.me);
        }
        if delivery.charged > 0 {
            self.shared.ledger.release(vertex, delivery.charged);
        }
        (delivery.port, delivery.message)
    }

    pub(crate) fn discard(&self, vertex: usize, delivery: Delivery<M>) {
        let (port, message) = self.unqueue(vertex, delivery);
        drop(message);
        self.shared.settle(vertex, Account::Port(port));
    }

    /// `resume` for a source at the start or an invited peer; counted as work already.
    pub(crate) fn resume_later(&mut self, vertex: usize) {
        if self.shared.progress.is_closed(vertex) {
            self.shared.settle(vertex, Account::Work);
            return;
        }
        let slot = self.find_or_make(vertex, Tag::ROOT);
        self.instance(slot).inbox.push_back(Item::Resume);
        self.make_ready(slot);
    }

    /// A port is exhausted; an acknowledgement is owed.
    pub(crate) fn exhausted(&mut self, vertex: usize, port: usize) {
        match self.root[vertex] {
            Some(slot) if !self.shared.progress.is_closed(vertex) => {
                self.push_completion(slot, port, Account::Ack)
            }
            _ => self.shared.settle(vertex, Account::Ack),
        }
    }

    /// No message ever came for this vertex, and it wants to hear of the end; an acknowledgement is owed.
    pub(crate) fn create_empty(&mut self, vertex: usize) {
        if self.shared.progress.is_closed(vertex) {
            self.shared.settle(vertex, Account::Ack);
            return;
        }
        let slot = self.find_or_make(vertex, Tag::ROOT);
        self.instance(slot).inbox.push_back(Item::Acknowledge);
        self.make_ready(slot);
    }

    pub(crate) fn make_ready(&mut self, slot: usize) {
        let instance = self.slots[slot].as_mut().expect("slots in the maps and queues are in use");
        if instance.place == Place::Idle && instance.has_work() {
            instance.place = Place::Ready;
            let rank = self.shared.graph.vertices[instance.head.vertex].rank;
            self.ready[rank].push_back(slot);
            self.ready_ranks[rank / 64] |= 1 << (rank % 64);
        }
    }

    /// Operators that wait are asked again.
    pub(crate) fn wake_waiting(&mut self) {
        for slot in std::mem::take(&mut self.waiting) {
            self.instance(slot).place = Place::Idle;
            self.make_ready(slot);
        }
    }

    /// The vertex furthest downstream that may run, or whether all that have work are blocked.
    fn choose(&self) -> Result<usize, Turn> {
        let mut blocked = false;
        for (word, ranks) in self.ready_ranks.iter().enumerate().rev() {
            let mut ranks = *ranks;
            while ranks != 0 {
                let bit = 63 - ranks.leading_zeros() as usize;
                ranks &= !(1 << bit);
                let rank = word * 64 + bit;
                if !self.shared.outputs_full(self.shared.graph.order[rank], self.me) {
                    return Ok(rank);
                }
                blocked = true;
            }
        }
        Err(if blocked || self.has_waiting() { Turn::Stuck } else { Turn::Idle })
    }

    /// True if a turn would run something.
    pub(crate) fn is_runnable(&self) -> bool {
        self.choose().is_ok()
    }

    /// Runs operators until the quota is used up or nothing can run. Returns how it ended and the clock.
    pub(crate) fn turn(&mut self, start_ns: u64, quota_ns: u64) -> (Turn, u64) {
        let until_ns = start_ns + quota_ns;
        let mut now_ns = start_ns;
        loop {
            if self.shared.is_stopped() {
                return (Turn::Over, now_ns);
            }
            let rank = match self.choose() {
                Ok(rank) => rank,
                Err(turn) => return (turn, now_ns),
            };
            let slot = self.ready[rank].pop_front().expect("a rank in the set has a slot");
            if self.ready[rank].is_empty() {
                self.ready_ranks[rank / 64] &= !(1 << (rank % 64));
            }
            self.instance(slot).place = Place::Idle;
            now_ns = self.step(slot, now_ns, until_ns, quota_ns);
            if let Some(fault) = self.fault.take() {
                self.shared.stop(Some(fault));
                return (Turn::Over, now_ns);
            }
            if now_ns >= until_ns {
                return (if self.choose() == Err(Turn::Idle) { Turn::Idle } else { Turn::More }, now_ns);
            }
        }
    }

    /// One call of one operator. Returns the clock after it.
    fn step(&mut self, slot: usize, start_ns: u64, until_ns: u64, quota_ns: u64) -> u64 {
        let mut instance = self.slots[slot].take().expect("slots in the queues are in use");
        let vertex = instance.head.vertex;
        let (account, ends, result) = self.call(&mut instance, until_ns);
        let now_ns = monotonic_ns();
        let stats = &self.shared.stats[vertex];
        stats.cpu_ns.fetch_add(now_ns - start_ns, Ordering::Relaxed);
        if now_ns > until_ns + quota_ns {
            stats.overruns.fetch_add(1, Ordering::Relaxed);
        }
        let waits = matches!(result, Ok(Flow::Waiting));
        match result {
            Err(fault) => {
                self.slots[slot] = Some(instance);
                self.fault = Some(fault);
            }
            Ok(_) if self.shared.progress.is_closed(vertex) => {
                instance.current = Some((account, ends));
                self.slots[slot] = Some(instance);
                self.drop_closed(slot);
            }
            Ok(Flow::Ready) if ends => {
                self.end_left_open(&mut instance.head.open);
                self.slots[slot] = Some(instance);
                self.remove(slot);
                self.shared.settle(vertex, account);
            }
            Ok(Flow::Ready) => {
                if !instance.head.open.is_empty()
                    && instance.had_all(self.shared.graph.vertices[vertex].options.ports)
                {
                    self.end_left_open(&mut instance.head.open);
                }
                self.slots[slot] = Some(instance);
                self.make_ready(slot);
                self.shared.settle(vertex, account);
            }
            Ok(flow) => {
                instance.current = Some((account, ends));
                self.slots[slot] = Some(instance);
                self.put_back(slot, flow);
            }
        }
        if !waits {
            self.shared.moved_on();
            self.wake_waiting();
        }
        now_ns
    }

    fn put_back(&mut self, slot: usize, flow: Flow) {
        if flow == Flow::Again {
            self.make_ready(slot);
        } else {
            self.instance(slot).place = Place::Waiting;
            self.waiting.push(slot);
            self.shared.set_waiting(self.me);
        }
    }

    /// Calls the operator for the next thing in its mailbox. Returns how the call was counted, whether it ends the instance, and the
    /// outcome.
    fn call(&mut self, instance: &mut Instance<M>, until_ns: u64) -> (Account, bool, Result<Flow, Fault>) {
        let vertex = instance.head.vertex;
        let (item, account, ends) = match instance.current.take() {
            Some((account, ends)) => (Item::Resume, account, ends),
            None => {
                let item = instance.inbox.pop_front().expect("a ready instance has work");
                let (account, ends) = match &item {
                    Item::Message(delivery) => (Account::Port(delivery.port), false),
                    Item::Resume => (Account::Work, false),
                    Item::Completion(_, account) => (*account, false),
                    Item::Acknowledge => return (Account::Ack, false, Ok(Flow::Ready)),
                    Item::End => (Account::Work, true),
                };
                (item, account, ends)
            }
        };
        let result = catch_unwind(AssertUnwindSafe(|| self.call_item(instance, item, until_ns)));
        let result = match result {
            Ok(Ok(flow)) => Ok(flow),
            Ok(Err(failure)) if failure.is::<BudgetExceeded>() => Err(self.shared.over_budget()),
            Ok(Err(failure)) => Err(Fault::Operator(failure)),
            Err(panic) => {
                let operator = self.shared.graph.vertices[vertex].name.clone();
                Err(Fault::Panicked { operator, message: panic_message(panic.as_ref()) })
            }
        };
        (account, ends, result)
    }

    fn call_item(&mut self, instance: &mut Instance<M>, item: Item<M>, until_ns: u64) -> Outcome {
        let Instance { head, operator, .. } = instance;
        let vertex = head.vertex;
        let item = match item {
            // The inputs were closed while it waited.
            Item::Message(delivery) if self.shared.progress.refuses(vertex) => {
                drop(self.unqueue(vertex, delivery));
                return Ok(Flow::Ready);
            }
            item => item,
        };
        let operator = operator.get_or_insert_with(|| (self.shared.graph.vertices[vertex].factory)(self.me));
        match item {
            Item::Message(delivery) => {
                let (port, message) = self.unqueue(vertex, delivery);
                self.shared.stats[vertex].rows_in.fetch_add(message.rows() as u64, Ordering::Relaxed);
                operator.receive(port, message, &mut Context::new(self, head, until_ns))
            }
            Item::Resume => operator.resume(&mut Context::new(self, head, until_ns)),
            Item::Completion(port, _) => {
                operator.on_completion(port, &mut Context::new(self, head, until_ns))
            }
            Item::End => {
                let tag = head.tag;
                operator.on_instance_end(tag, &mut Context::new(self, head, until_ns))
            }
            Item::Acknowledge => Ok(Flow::Ready),
        }
    }

    /// An instance inside a scope came to its end.
    fn remove(&mut self, slot: usize) {
        let instance = self.slots[slot].take().expect("the instance was just put back");
        self.free.push(slot);
        let (vertex, tag) = (instance.head.vertex, instance.head.tag);
        self.shared.ledger.release(vertex, instance.head.charged);
        self.scoped[vertex].remove(&tag);
        drop_quietly(instance);
        self.instance_gone(vertex, tag);
    }
}

/// Drops an operator; a panic in its destructor must not take the executor along.
pub(crate) fn drop_quietly<T>(value: T) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(no message)".to_string())
}
