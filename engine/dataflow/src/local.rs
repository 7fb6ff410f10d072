//! One query on one executor: its operators, their mailboxes, and which of them runs next.
//!
//! The rule: from the root of the tree of scope instances downward, what comes first by each scope's policy among what has work and room
//! in its outputs. By default that is the vertex furthest downstream, so what is in flight moves towards the client before more is read
//! at the sources, and memory stays near the output; instances of one scope take turns.
//!
//! Back-pressure cannot lock up, whatever the policies: along a graph without cycles, the furthest vertex that has messages feeds only
//! vertices without, or the client; ports whose messages wait for another port's end, and those that a backward edge enters, take
//! messages without bound (`Vertex::elastic`), charged to the query's bytes.

use crate::context::Context;
use crate::graph::{Crossing, Inner};
use crate::instance::{Delivery, Instance, Item, Place, Wish};
use crate::ledger::BudgetExceeded;
use crate::limits::{MAILBOX_MESSAGES_MAX, SPARE_INSTANCES_MAX, SPARE_OPERATORS_MAX};
use crate::links::Shared;
use crate::progress::Account;
use crate::rules::Rule;
use crate::tenants::Owner;
use crate::tree::{NO_SLOT, ROOT, Tree};
use crate::{Fault, Flow, Message, Operator, Outcome};
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
    /// Emptied instances, and operators that can serve again, by vertex.
    #[allow(clippy::vec_box, reason = "the boxes themselves go to and fro")]
    spare: Vec<Box<Instance<M>>>,
    spare_operators: Vec<Vec<Box<dyn Operator<M>>>>,
    pub(crate) tree: Tree,
    /// Counted messages at the ports of vertices inside scopes; see `QueryShared::queue_place`.
    queued: Vec<usize>,
    pub(crate) waiting: Vec<usize>,
    pub(crate) instance_next: u32,
    /// Set where no error can be returned (a send that broke the budget); ends the query after the call.
    pub(crate) fault: Option<Fault>,
    /// Among its user's runnable queries.
    pub(crate) in_ring: bool,
    /// On whose books it is here.
    pub(crate) owner: Owner,
    /// Time it had on this executor.
    pub(crate) used_ns: u64,
    /// Rules of its accounts that have not applied; on the home executor.
    pub(crate) rules: Vec<Rule>,
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
            spare: Vec::new(),
            spare_operators: (0..vertices).map(|_| Vec::new()).collect(),
            tree: Tree::new(&shared.graph.scopes),
            queued: vec![0; shared.ports()],
            waiting: Vec::new(),
            instance_next: 0,
            fault: None,
            in_ring: false,
            owner: shared.owner(),
            used_ns: 0,
            rules: Vec::new(),
            timer_ns: None,
            shared,
        }
    }

    pub(crate) fn instance(&mut self, slot: usize) -> &mut Instance<M> {
        self.slots[slot].as_mut().expect("slots in the tree and queues are in use")
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The operator of a vertex in a scope instance, made if need be.
    pub(crate) fn find_or_make(&mut self, vertex: usize, node: usize) -> usize {
        let place = self.shared.graph.vertices[vertex].place;
        self.tree.slot(node, place).unwrap_or_else(|| self.make(vertex, node))
    }

    fn make(&mut self, vertex: usize, node: usize) -> usize {
        let shared = self.shared.clone();
        let there = &shared.graph.vertices[vertex];
        assert_eq!(self.tree.node(node).scope, there.scope, "a message's instance fits its receiver's scope");
        let gated = there.options.port_order > 0;
        let open = !gated || (node != ROOT && self.lower_ports_ended(vertex, node));
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let mut instance = self.spare.pop().unwrap_or_else(|| Box::new(Instance::new()));
        instance.settle_in(vertex, self.tree.node(node).tag, node, open);
        instance.operator = self.spare_operators[vertex].pop();
        self.slots[slot] = Some(instance);
        self.tree.seat(node, there.place).slot = slot as u32;
        self.shared.progress.instance_made(vertex, self.me);
        if node == ROOT {
            for port in 0..there.options.ports {
                if self.shared.progress.is_exhausted(vertex, port) {
                    self.push_completion(slot, port, Account::Free);
                }
            }
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

    /// True if messages for this vertex in this instance are thrown away.
    pub(crate) fn refuses(&self, vertex: usize, node: usize) -> bool {
        if node == ROOT {
            return self.shared.progress.refuses(vertex);
        }
        let seat = &self.tree.node(node).seats[self.shared.graph.vertices[vertex].place];
        seat.closed || seat.refuses || seat.done
    }

    /// Takes a message. One for a vertex outside scopes is already counted at the port's progress and, unless the port is elastic, at
    /// its queue.
    pub(crate) fn deliver(&mut self, vertex: usize, port: usize, node: usize, message: M) {
        let there = &self.shared.graph.vertices[vertex];
        let (elastic, order) = (there.elastic[port], there.options.port_order);
        if self.refuses(vertex, node) {
            if node == ROOT {
                self.discard(vertex, Delivery { port, message, counted: !elastic, charged: 0 });
            }
            return;
        }
        if node != ROOT && !elastic {
            self.queued[self.shared.port_place(vertex, port)] += 1;
        }
        let mut delivery = Delivery { port, message, counted: !elastic, charged: 0 };
        if elastic {
            delivery.charged = delivery.message.bytes() as u64;
            if !self.shared.ledger.charge(vertex, delivery.charged) {
                self.fault = Some(self.shared.over_budget());
            }
        }
        let slot = self.find_or_make(vertex, node);
        let instance = self.instance(slot);
        if instance.gate_open || port < order {
            instance.inbox.push_back(Item::Message(delivery));
            self.make_ready(slot);
        } else {
            instance.held.push_back(delivery);
        }
    }

    /// Takes a message off the queue's books; returns it.
    fn unqueue(&mut self, vertex: usize, delivery: Delivery<M>) -> (usize, M) {
        if delivery.counted {
            if self.shared.graph.vertices[vertex].depth == 0 {
                self.shared.dequeued(vertex, delivery.port, self.me);
            } else {
                self.queued[self.shared.port_place(vertex, delivery.port)] -= 1;
            }
        }
        if delivery.charged > 0 {
            self.shared.ledger.release(vertex, delivery.charged);
        }
        (delivery.port, delivery.message)
    }

    pub(crate) fn discard(&mut self, vertex: usize, delivery: Delivery<M>) {
        let (port, message) = self.unqueue(vertex, delivery);
        drop(message);
        self.settle(vertex, Account::Port(port));
    }

    /// A piece of work is over. Inside scopes nothing is counted: the outermost instance is, as one piece of work.
    pub(crate) fn settle(&self, vertex: usize, account: Account) {
        if self.shared.graph.vertices[vertex].depth == 0 {
            self.shared.settle(vertex, account);
        }
    }

    /// `resume` for a source at the start or an invited peer; counted as work already.
    pub(crate) fn resume_later(&mut self, vertex: usize) {
        if self.shared.progress.is_closed(vertex) {
            self.shared.settle(vertex, Account::Work);
            return;
        }
        let slot = self.find_or_make(vertex, ROOT);
        self.instance(slot).inbox.push_back(Item::Resume);
        self.make_ready(slot);
    }

    /// A port is exhausted; an acknowledgement is owed.
    pub(crate) fn exhausted(&mut self, vertex: usize, port: usize) {
        match self.tree.slot(ROOT, self.shared.graph.vertices[vertex].place) {
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
        let slot = self.find_or_make(vertex, ROOT);
        self.instance(slot).inbox.push_back(Item::Acknowledge);
        self.make_ready(slot);
    }

    pub(crate) fn make_ready(&mut self, slot: usize) {
        let instance = self.slots[slot].as_mut().expect("slots in the tree and queues are in use");
        if instance.place == Place::Idle && instance.has_work() {
            instance.place = Place::Ready;
            let (vertex, node) = (instance.head.vertex, instance.head.node);
            let graph = &self.shared.graph;
            self.tree.set_ready(&graph.scopes, node, graph.vertices[vertex].place);
        }
    }

    /// Takes an operator out of the scheduler's sight.
    pub(crate) fn unschedule(&mut self, slot: usize) {
        let instance = self.slots[slot].as_mut().expect("slots in the tree and queues are in use");
        let (vertex, node) = (instance.head.vertex, instance.head.node);
        match std::mem::replace(&mut instance.place, Place::Idle) {
            Place::Idle => {}
            Place::Waiting => self.waiting.retain(|other| *other != slot),
            Place::Ready => {
                let graph = &self.shared.graph;
                self.tree.set_idle(&graph.scopes, node, graph.vertices[vertex].place);
            }
        }
    }

    /// Operators that wait are asked again.
    pub(crate) fn wake_waiting(&mut self) {
        for slot in std::mem::take(&mut self.waiting) {
            self.instance(slot).place = Place::Idle;
            self.make_ready(slot);
        }
    }

    /// True if an operator of this vertex should not run: some output is full.
    pub(crate) fn outputs_full(&self, vertex: usize) -> bool {
        let shared = &*self.shared;
        if vertex == shared.graph.output && shared.output.is_full() {
            return true;
        }
        shared.graph.vertices[vertex].outputs.iter().flatten().any(|at| {
            let edge = &shared.graph.edges[*at];
            if shared.graph.vertices[edge.to].depth == 0 {
                shared.edge_full(*at, self.me)
            } else {
                self.queued[shared.port_place(edge.to, edge.port)] >= MAILBOX_MESSAGES_MAX
            }
        })
    }

    /// True if this vertex leads into a branch scope of which as many instances live in `node` as may.
    pub(crate) fn crowded(&self, vertex: usize, node: usize) -> bool {
        let graph = &self.shared.graph;
        graph.vertices[vertex].outputs.iter().flatten().any(|edge| match graph.edges[*edge].crossing {
            Crossing::Enter(scope) if !graph.scopes[scope].is_loop() => {
                let scope = &graph.scopes[scope];
                let live = || self.tree.crowd(node, scope.place).members.len();
                scope.options.instances_max.is_some_and(|max| live() >= max as usize)
            }
            _ => false,
        })
    }

    fn may_run(&self, slot: usize, vertex: usize, node: usize) -> bool {
        let holds_open = || self.slots[slot].as_ref().is_some_and(|instance| !instance.head.open.is_empty());
        !self.outputs_full(vertex) && (!self.crowded(vertex, node) || holds_open())
    }

    /// The operator to run next; none if all that have work are blocked, which is noted.
    fn pick(&self, node: usize, blocked: &mut bool) -> Option<usize> {
        let there = self.tree.node(node);
        let scope = &self.shared.graph.scopes[there.scope];
        there.ready.find(scope, |place| match scope.members[place] {
            Inner::Vertex(vertex) => {
                let slot = there.seats[place].slot as usize;
                let free = self.may_run(slot, vertex, node);
                *blocked |= !free;
                free.then_some(slot)
            }
            Inner::Scope(inner) => {
                let latest = self.latest_iteration(node, inner);
                self.tree.crowd(node, place).ready.find(|instance| {
                    if self.tree.node(instance).number > latest {
                        *blocked = true;
                        return None;
                    }
                    self.pick(instance, blocked)
                })
            }
        })
    }

    /// The last iteration of a loop that may run now.
    fn latest_iteration(&self, node: usize, scope: usize) -> u32 {
        let scope = &self.shared.graph.scopes[scope];
        match scope.options.instances_max {
            Some(max) if scope.is_loop() => {
                let members = self.tree.crowd(node, scope.place).members.iter();
                let earliest = members.map(|member| self.tree.node(*member as usize).number).min();
                earliest.unwrap_or(0).saturating_add(max.max(1) - 1)
            }
            _ => u32::MAX,
        }
    }

    fn choose(&self) -> Result<usize, Turn> {
        let mut blocked = false;
        let turn = |blocked| if blocked || self.has_waiting() { Turn::Stuck } else { Turn::Idle };
        self.pick(ROOT, &mut blocked).ok_or_else(|| turn(blocked))
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
            let slot = match self.choose() {
                Ok(slot) => slot,
                Err(turn) => return (turn, now_ns),
            };
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
        let (vertex, node) = (instance.head.vertex, instance.head.node);
        let (account, ends, result) = self.call(&mut instance, until_ns);
        let wish = std::mem::take(&mut instance.head.wish);
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
            Ok(flow) => {
                if flow != Flow::Ready || ends {
                    instance.current = Some((account, ends));
                }
                self.slots[slot] = Some(instance);
                self.after_call(slot, vertex, node, flow, wish);
                if flow == Flow::Ready && !ends {
                    self.settle(vertex, account);
                }
            }
        }
        if !waits {
            self.shared.moved_on();
            self.wake_waiting();
        }
        now_ns
    }

    /// Puts an operator where it belongs after a call.
    fn after_call(&mut self, slot: usize, vertex: usize, node: usize, flow: Flow, wish: Wish) {
        match wish {
            Wish::None => {}
            Wish::CloseInputs => self.close_inputs(vertex, node),
            Wish::FinishInstance => return self.cancel_instance(node),
            Wish::FinishScope => return self.cancel_scope(node),
        }
        if self.is_closed(vertex, node) {
            return self.drop_closed(slot);
        }
        let ports = self.shared.graph.vertices[vertex].options.ports;
        let instance = self.instance(slot);
        match flow {
            Flow::Ready if instance.current.take_if(|(_, ends)| *ends).is_some() => {
                let mut open = std::mem::take(&mut instance.head.open);
                self.end_left_open(node, &mut open);
                return self.retire(slot);
            }
            Flow::Ready => {
                if !instance.head.open.is_empty() && instance.had_all(ports) {
                    let mut open = std::mem::take(&mut instance.head.open);
                    self.end_left_open(node, &mut open);
                }
            }
            Flow::Again => {}
            Flow::Waiting => {
                self.unschedule(slot);
                self.instance(slot).place = Place::Waiting;
                self.waiting.push(slot);
                return self.shared.set_waiting(self.me);
            }
        }
        if self.instance(slot).has_work() {
            let graph = &self.shared.graph;
            self.tree.rotate(&graph.scopes, node, graph.vertices[vertex].place);
        } else {
            self.unschedule(slot);
        }
    }

    fn is_closed(&self, vertex: usize, node: usize) -> bool {
        if node == ROOT {
            self.shared.progress.is_closed(vertex)
        } else {
            self.tree.node(node).seats[self.shared.graph.vertices[vertex].place].closed
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
                    Item::End => (Account::Free, true),
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
            Item::Message(delivery) if self.refuses(vertex, head.node) => {
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

    /// The operator of a vertex inside a scope has had its end.
    fn retire(&mut self, slot: usize) {
        let (vertex, node) = (self.instance(slot).head.vertex, self.instance(slot).head.node);
        self.take_out(slot);
        self.seat_done(node, self.shared.graph.vertices[vertex].place);
    }

    /// Takes an operator inside a scope away, with all it holds. The operator and its mailbox serve again where they can.
    pub(crate) fn take_out(&mut self, slot: usize) {
        self.unschedule(slot);
        let mut instance = self.slots[slot].take().expect("slots in the tree and queues are in use");
        self.free.push(slot);
        let (vertex, node) = (instance.head.vertex, instance.head.node);
        self.shared.ledger.release(vertex, instance.head.charged);
        self.tree.seat(node, self.shared.graph.vertices[vertex].place).slot = NO_SLOT;
        let held = std::mem::take(&mut instance.held);
        for delivery in held {
            drop(self.unqueue(vertex, delivery));
        }
        while let Some(item) = instance.inbox.pop_front() {
            if let Item::Message(delivery) = item {
                drop(self.unqueue(vertex, delivery));
            }
        }
        if let Some(mut operator) = instance.move_out() {
            let again = catch_unwind(AssertUnwindSafe(|| operator.recycle())).unwrap_or(false);
            if again && self.spare_operators[vertex].len() < SPARE_OPERATORS_MAX {
                self.spare_operators[vertex].push(operator);
            } else {
                drop_quietly(operator);
            }
        }
        if self.spare.len() < SPARE_INSTANCES_MAX {
            self.spare.push(instance);
        }
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
