//! One query on one executor: its tree of operators, and delivery of messages and events to them.
//!
//! Reading order: `local` (the state, and incoming commands), `turn` (which operator runs next, and for how long), `step` (one call of one operator,
//! and its state afterwards), `ends` and `closing` (how scope instances end, well or early).
//!
//! All of them are written for [`QueryAccess`]: the shared query, and its part on this executor, in the hands of one caller.

use crate::accounting::latch::Latch;
use crate::accounting::ledger::BudgetExceeded;
use crate::accounting::pace::Pace;
use crate::accounting::tenants::Owner;
use crate::executors::station::{Delivery, Item, OperatorLocation, Station};
use crate::executors::tree::{At, ROOT, Tree};
use crate::executors::turn::Turn;
use crate::graphs::graph::Inner;
use crate::queries::level::{Account, Level};
use crate::queries::links::{Command, Shared};
use crate::queries::tally::Tally;
use crate::terms::limits::BURIED_NODES_MAX;
use crate::terms::rules::Rule;
use crate::{Failure, Fault, Message};
use hashbrown::HashMap;
use std::sync::Arc;
use world::fiber::Fiber;
use world::panics::caught;

/// A query on an executor, and how the executor deals with it.
pub(crate) struct LocalQuery<M: Message> {
    pub(crate) shared: Shared<M>,
    pub(crate) work: Work<M>,
    /// Commands that came while a turn was paused, in order.
    pub(crate) later: Vec<Command<M>>,
    /// The latch for which the paused call waits.
    pub(crate) awaited: Option<Arc<Latch>>,
    /// Among its user's runnable queries.
    pub(crate) in_ring: bool,
    /// The tenant and user on whose account it runs on this executor.
    pub(crate) owner: Owner,
    /// Time it had on this executor.
    pub(crate) used_ns: u64,
    /// Rules of its accounts that have not applied; on the home executor.
    pub(crate) rules: Vec<Rule>,
    /// When the executor will look again, if it must.
    pub(crate) timer_ns: Option<u64>,
}

/// Operators after a turn: how it ended, and the clock.
pub(crate) type Ended<M> = (Box<Local<M>>, (Turn, u64));

/// Where the operators of a query are.
pub(crate) enum Work<M: Message> {
    /// Between two turns.
    Here(Box<Local<M>>),
    /// In a turn that has paused within a call.
    Paused(Fiber<Ended<M>>),
    /// In a turn that runs.
    InHand,
}

/// The part of a query on one executor.
pub(crate) struct Local<M: Message> {
    pub(crate) me: usize,
    pub(crate) tree: Tree<M>,
    /// The nodes of instances that span executors, by the number of their level.
    wide: HashMap<u64, usize, foldhash::fast::FixedState>,
    /// Counted messages at the ports of vertices inside narrow scopes; see `QueryShared::queue_place`.
    pub(crate) queued: Vec<usize>,
    pub(crate) waiting: Vec<At>,
    /// Operators that asked for a waker, by its number.
    pub(crate) parked: HashMap<u64, At, foldhash::fast::FixedState>,
    pub(crate) ticket_next: u64,
    pub(crate) instance_next: u32,
    /// Iterations that have had all their input and do not know yet.
    pub(crate) fed: Vec<usize>,
    /// Set where no error can be returned (a send that broke the budget); ends the query after the call.
    pub(crate) fault: Option<Fault>,
    pub(crate) pace: Pace,
    /// The time from which the turn ends if another task wants the executor.
    pub(crate) wanted_from_ns: u64,
    pub(crate) tally: Tally,
}

/// A query on this executor, in the hands of one caller.
pub(crate) struct QueryAccess<'a, M: Message> {
    pub(crate) shared: &'a Shared<M>,
    pub(crate) local: &'a mut Local<M>,
}

impl<M: Message> LocalQuery<M> {
    pub(crate) fn new(shared: Shared<M>, me: usize) -> LocalQuery<M> {
        let graph = &shared.graph;
        let local = Local {
            me,
            tree: Tree::new(&graph.scopes, &shared.root),
            wide: HashMap::default(),
            queued: vec![0; graph.ports()],
            waiting: Vec::new(),
            parked: HashMap::default(),
            ticket_next: 0,
            instance_next: 0,
            fed: Vec::new(),
            fault: None,
            pace: Pace::new(),
            wanted_from_ns: 0,
            tally: Tally::new(graph.vertices.len(), graph.scopes.len()),
        };
        let owner = shared.owner();
        LocalQuery {
            shared,
            work: Work::Here(Box::new(local)),
            later: Vec::new(),
            awaited: None,
            in_ring: false,
            owner,
            used_ns: 0,
            rules: Vec::new(),
            timer_ns: None,
        }
    }

    /// Drops a part of its memory, after its end; true if more is left.
    pub(crate) fn drop_some(&mut self) -> bool {
        match &mut self.work {
            // After a panic nobody knows what is left: the rest is dropped at once.
            Work::Here(local) => caught(|| local.tree.drop_some(BURIED_NODES_MAX)).unwrap_or(false),
            _ => false,
        }
    }

    /// True while a turn is paused.
    pub(crate) fn is_paused(&self) -> bool {
        matches!(self.work, Work::Paused(_))
    }

    pub(crate) fn here(&mut self) -> QueryAccess<'_, M> {
        match &mut self.work {
            Work::Here(local) => QueryAccess { shared: &self.shared, local },
            _ => unreachable!("what comes in for a query whose turn has paused waits for its end"),
        }
    }
}

impl<M: Message> QueryAccess<'_, M> {
    #[inline]
    pub(crate) fn again(&mut self) -> QueryAccess<'_, M> {
        QueryAccess { shared: self.shared, local: self.local }
    }

    /// The node of an instance that spans executors, if it is on this executor.
    pub(crate) fn node_if(&self, level: &Level) -> Option<usize> {
        if level.number == 0 { Some(ROOT) } else { self.local.wide.get(&level.number).copied() }
    }

    /// The node of an instance that spans executors, made if need be, with those around it.
    pub(crate) fn node_of(&mut self, level: &Arc<Level>) -> usize {
        if let Some(node) = self.node_if(level) {
            return node;
        }
        let parent = level.parent.as_ref().expect("every level but the root's lies in another");
        let parent = self.node_of(parent);
        let scopes = &self.shared.graph.scopes;
        let node = self.local.tree.open(scopes, parent, level.scope, level.tag.number(), level.rank);
        self.local.tree.set_level(node, level);
        self.local.wide.insert(level.number, node);
        level.arrive(self.local.me);
        node
    }

    /// An instance that spans executors is over.
    pub(crate) fn forget_level(&mut self, level: &Level) {
        if let Some(node) = self.local.wide.remove(&level.number) {
            self.empty_node(node);
            self.local.tree.remove(&self.shared.graph.scopes, node);
        }
    }

    /// The level of a node, if its instance spans executors.
    #[inline]
    pub(crate) fn level(&self, node: usize) -> Option<&Arc<Level>> {
        self.local.tree.node(node).level.as_ref()
    }

    /// The seat of a vertex in an instance.
    #[inline]
    pub(crate) fn at(&self, vertex: usize, node: usize) -> At {
        At { node, place: self.shared.graph.vertices[vertex].place }
    }

    /// The station of a vertex in a scope instance, moved in if need be.
    #[inline]
    pub(crate) fn station(&mut self, vertex: usize, node: usize) -> &mut Station<M> {
        let at = self.at(vertex, node);
        if !self.local.tree.is_occupied(at) {
            self.move_in(vertex, at);
        }
        self.local.tree.station(at)
    }

    fn move_in(&mut self, vertex: usize, at: At) {
        let there = &self.shared.graph.vertices[vertex];
        let node = self.local.tree.node(at.node);
        assert_eq!(node.scope, there.scope, "a message's instance fits its receiver's scope");
        let tag = node.tag;
        let gated = there.options.port_order > 0;
        let level = node.level.clone();
        let open = !gated || (level.is_none() && self.lower_ports_ended(vertex, at.node));
        let seat = self.local.tree.seat(at);
        seat.occupied = true;
        seat.station.get_or_insert_with(|| Box::new(Station::new())).move_in(vertex, tag, at.node, open);
        self.local.tally.vertex(vertex).operators += 1;
        if let Some(level) = level {
            level.operator_made(at.place, self.local.me);
            for port in 0..there.options.ports {
                if level.is_exhausted(at.place, port) {
                    self.push_completion(at, port, Account::Free);
                }
            }
        }
    }

    /// Puts `on_completion` into the mailbox, or behind the gate; the last one before the gate opens it.
    fn push_completion(&mut self, at: At, port: usize, account: Account) {
        let station = self.local.tree.station(at);
        let order = self.shared.graph.vertices[station.head.vertex].options.port_order;
        let lower = ((1_u64 << order) - 1) as u32;
        if !station.gate_open && port >= order {
            station.held_completions.push((port, account));
        } else if station.completions & (1 << port) != 0 {
            if account == Account::Ack {
                station.inbox.push_back(Item::Acknowledge);
            }
        } else {
            station.completions |= 1 << port;
            station.inbox.push_back(Item::Completion(port, account));
            if station.completions & lower == lower {
                station.open_gate();
                let later = std::mem::take(&mut station.held_completions);
                later.into_iter().for_each(|(port, account)| self.push_completion(at, port, account));
            }
        }
        self.make_ready(at);
    }

    /// True if messages for this vertex in this instance are thrown away.
    #[inline]
    pub(crate) fn refuses(&mut self, vertex: usize, node: usize) -> bool {
        let at = self.at(vertex, node);
        if let Some(level) = self.level(node) {
            return level.refuses(at.place);
        }
        let seat = self.local.tree.seat(at);
        seat.closed || seat.refuses || seat.done
    }

    /// Takes a message. One for an instance that spans executors is already counted at the port's progress and, unless the port is
    /// elastic, at its queue.
    #[inline]
    pub(crate) fn deliver(&mut self, vertex: usize, port: usize, node: usize, tablet: u32, message: M) {
        let there = &self.shared.graph.vertices[vertex];
        let (elastic, order) = (there.elastic[port], there.options.port_order);
        let mut delivery = Delivery { port, tablet, message, counted: !elastic, charged: 0 };
        let refused = self.refuses(vertex, node);
        if there.wide || !refused {
            self.local.tally.vertex(vertex).arrived += 1;
        }
        if refused {
            if there.wide {
                self.discard(node, vertex, delivery);
            }
            return;
        }
        if !there.wide && !elastic {
            self.local.queued[there.ports_before + port] += 1;
        }
        if elastic {
            delivery.charged = delivery.message.bytes() as u64;
            if !self.shared.ledger.charge(vertex, delivery.charged) {
                self.local.fault = Some(self.shared.over_budget());
            }
        }
        let station = self.station(vertex, node);
        if station.gate_open || port < order {
            station.inbox.push_back(Item::Message(delivery));
            self.make_ready(self.at(vertex, node));
        } else {
            station.held.push_back(delivery);
        }
    }

    /// Takes a message off the queue's books; returns it.
    #[inline]
    pub(crate) fn unqueue(&mut self, vertex: usize, delivery: Delivery<M>) -> (usize, M) {
        let there = &self.shared.graph.vertices[vertex];
        self.local.tally.vertex(vertex).left += 1;
        if delivery.counted {
            if there.wide {
                self.shared.dequeued(vertex, delivery.port, self.local.me);
            } else {
                self.local.queued[there.ports_before + delivery.port] -= 1;
            }
        }
        if delivery.charged > 0 {
            self.shared.ledger.release(vertex, delivery.charged);
        }
        (delivery.port, delivery.message)
    }

    pub(crate) fn discard(&mut self, node: usize, vertex: usize, delivery: Delivery<M>) {
        let (port, message) = self.unqueue(vertex, delivery);
        drop(message);
        self.settle(node, vertex, Account::Port(port));
    }

    /// A piece of work is over. Inside narrow scopes nothing is counted: the instance is, as one piece of work.
    #[inline]
    pub(crate) fn settle(&self, node: usize, vertex: usize, account: Account) {
        if let Some(level) = self.level(node) {
            self.shared.settle(level, vertex, account);
        }
    }

    /// `resume` for the sources, at the start.
    pub(crate) fn start(&mut self) {
        for vertex in 0..self.shared.graph.vertices.len() {
            if self.shared.graph.vertices[vertex].options.source {
                self.resume_later(&self.shared.root, vertex);
            }
        }
    }

    /// `resume` for a source at the start or an invited peer; counted as work already.
    pub(crate) fn resume_later(&mut self, level: &Arc<Level>, vertex: usize) {
        if level.is_closed(self.shared.graph.vertices[vertex].place) {
            return self.shared.settle(level, vertex, Account::Work);
        }
        let node = self.node_of(level);
        self.station(vertex, node).inbox.push_back(Item::Resume);
        self.make_ready(self.at(vertex, node));
    }

    /// A port is exhausted; an acknowledgement is owed.
    pub(crate) fn exhausted(&mut self, level: &Arc<Level>, vertex: usize, port: usize) {
        let at = self.node_if(level).map(|node| self.at(vertex, node));
        match at.filter(|at| self.local.tree.is_occupied(*at) && !level.is_closed(at.place)) {
            Some(at) => self.push_completion(at, port, Account::Ack),
            None => self.shared.settle(level, vertex, Account::Ack),
        }
    }

    /// No message ever came for this vertex, and it wants to hear of the end; an acknowledgement is owed.
    pub(crate) fn create_empty(&mut self, level: &Arc<Level>, vertex: usize) {
        if level.is_closed(self.shared.graph.vertices[vertex].place) {
            return self.shared.settle(level, vertex, Account::Ack);
        }
        let node = self.node_of(level);
        self.station(vertex, node).inbox.push_back(Item::Acknowledge);
        self.make_ready(self.at(vertex, node));
    }

    /// The operator there has something to do, if it has.
    #[inline]
    pub(crate) fn make_ready(&mut self, at: At) {
        let station = self.local.tree.station(at);
        if station.place == OperatorLocation::Idle && station.has_work() {
            station.place = OperatorLocation::Ready;
            self.local.tree.set_ready(&self.shared.graph.scopes, at);
        }
    }

    /// Takes an operator out of the scheduler's sight.
    pub(crate) fn unschedule(&mut self, at: At) {
        match std::mem::replace(&mut self.local.tree.station(at).place, OperatorLocation::Idle) {
            OperatorLocation::Idle => {}
            OperatorLocation::Waiting => self.local.waiting.retain(|other| *other != at),
            OperatorLocation::Parked => self.local.parked.retain(|_, other| *other != at),
            OperatorLocation::Ready => self.local.tree.set_idle(&self.shared.graph.scopes, at),
        }
    }

    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        !self.local.waiting.is_empty()
    }

    /// Calls waiting operators again.
    pub(crate) fn wake_waiting(&mut self) {
        for at in std::mem::take(&mut self.local.waiting) {
            self.local.tree.station(at).place = OperatorLocation::Idle;
            self.make_ready(at);
        }
    }

    /// A waker was called: wakes the operator that asked for it, if it is still parked for that.
    pub(crate) fn wake_parked(&mut self, ticket: u64) {
        if let Some(at) = self.local.parked.remove(&ticket) {
            self.local.tree.station(at).place = OperatorLocation::Idle;
            self.make_ready(at);
        }
    }

    /// Charges bytes that an operator holds; the error to hand on if that is too much.
    pub(crate) fn charge(&mut self, vertex: usize, bytes: u64) -> Result<(), Failure> {
        if self.shared.ledger.charge(vertex, bytes) {
            return Ok(());
        }
        let exceeded: BudgetExceeded = self.shared.exceeded();
        Err(Box::new(exceeded))
    }

    /// Takes an operator inside a scope away, with all it holds. The station stays, and the operator if it can serve again.
    pub(crate) fn take_out(&mut self, at: At) {
        self.unschedule(at);
        let seat = self.local.tree.seat(at);
        seat.occupied = false;
        let mut station = seat.station.take().expect("an occupied seat outside a call has its station");
        let vertex = station.head.vertex;
        self.shared.ledger.release(vertex, station.head.charged);
        while let Some(delivery) = station.held.pop_front() {
            drop(self.unqueue(vertex, delivery));
        }
        while let Some(item) = station.inbox.pop_front() {
            if let Item::Message(delivery) = item {
                drop(self.unqueue(vertex, delivery));
            }
        }
        station.move_out();
        self.local.tally.vertex(vertex).gone += 1;
        if let Some(operator) = &mut station.operator {
            let serves_again = caught(|| operator.recycle()).unwrap_or(false);
            if !serves_again {
                drop_quietly(station.operator.take());
            }
        }
        self.local.tree.seat(at).station = Some(station);
    }

    /// The vertex of a seat.
    pub(crate) fn member(&self, at: At) -> Inner {
        self.shared.graph.scopes[self.local.tree.node(at.node).scope].members[at.place]
    }
}

/// Drops an operator; a panic in its destructor must not take the executor along.
pub(crate) fn drop_quietly<T>(value: T) {
    let _ = caught(|| drop(value));
}
