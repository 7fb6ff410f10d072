//! A call of an operator on an executor: routes its messages along the edges, and charges its bytes to the query.

use crate::accounting::tablets::NO_TABLET;
use crate::executors::local::QueryAccess;
use crate::executors::station::{Head, Opened, Wish};
use crate::executors::tree::ROOT;
use crate::graphs::context::Backend;
use crate::graphs::graph::{Crossing, Edge, Placing, Route};
use crate::queries::level::{Account, Level};
use crate::queries::links::Command;
use crate::terms::fault::Failure;
use crate::terms::ids::TabletNo;
use crate::terms::limits::{PLACED_MESSAGES_MAX, SHARE_SPLIT_ROWS_MIN};
use crate::terms::limits::{SPREAD_LOCAL_MESSAGES_MAX, SPREAD_SPLIT_ROWS_MIN};
use crate::terms::message::{Message, Tag};
use crate::terms::waker::OperatorWaker;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A call on an executor.
pub(crate) struct Call<'a, M: Message> {
    here: QueryAccess<'a, M>,
    head: &'a mut Head,
    until_ns: u64,
}

impl<'a, M: Message> Call<'a, M> {
    pub(crate) fn new(here: QueryAccess<'a, M>, head: &'a mut Head, until_ns: u64) -> Call<'a, M> {
        Call { here, head, until_ns }
    }
}

impl<M: Message> Backend<M> for Call<'_, M> {
    fn send_to(&mut self, output: usize, message: M) {
        self.count_sent(&message);
        let shared = self.here.shared;
        if output == 0 && self.head.vertex == shared.graph.output {
            return shared.output.push(message);
        }
        let Some(at) = self.edge(output) else { return };
        let edge = &shared.graph.edges[at];
        if let Crossing::Enter(scope) = edge.crossing {
            assert!(
                shared.graph.scopes[scope].is_loop(),
                "output {output} leads into a branch scope: open an instance and send tagged"
            );
        }
        if shared.graph.vertices[edge.to].wide {
            if let Some(level) = self.level_beyond(edge) {
                self.route(edge, &level, message);
            }
        } else if let Some(node) = self.node_beyond(edge) {
            self.here.deliver(edge.to, edge.port, node, self.head.tablet, message);
        }
    }

    fn send_tagged(&mut self, output: usize, tag: Tag, message: M) {
        self.count_sent(&message);
        let Some(at) = self.edge(output) else { return };
        let edge = &self.here.shared.graph.edges[at];
        let Some(node) = self.instance(edge, tag) else { return };
        match self.here.level(node).cloned() {
            Some(level) => self.route(edge, &level, message),
            None => self.here.deliver(edge.to, edge.port, node, self.head.tablet, message),
        }
    }

    fn open_instance(&mut self, rank: u64) -> Tag {
        let shared = self.here.shared;
        let vertex = &shared.graph.vertices[self.head.vertex];
        let scope = *vertex.opens.first().expect("an output of an ingress leads into its branch scope");
        let (node, number) = match self.here.level(self.head.node).filter(|_| shared.graph.scopes[scope].wide)
        {
            Some(level) => {
                let number = shared.instance_next.fetch_add(1, Ordering::Relaxed);
                let level = shared.open_level(level, scope, number, rank);
                (self.here.node_of(&level), number)
            }
            None => {
                let number = self.here.local.instance_next;
                let next =
                    number.checked_add(1).expect("fewer than 2^32 scope instances a query and executor");
                self.here.local.instance_next = next;
                (self.here.open_node(self.head.node, scope, number, rank), number)
            }
        };
        for edge in &shared.graph.scopes[scope].entries {
            let opened = Opened { edge: *edge as u32, node: node as u32, number };
            if shared.graph.edges[*edge].from == self.head.vertex {
                self.head.open.push(opened);
            } else {
                // Another ingress of the scope, which has instances of its own.
                self.here.end_entry(opened);
            }
        }
        self.here.local.tree.node(node).tag
    }

    fn end_instance(&mut self, output: usize, tag: Tag) {
        if let Some(edge) = self.edge(output) {
            let _ = self.instance(&self.here.shared.graph.edges[edge], tag);
            let opened = Opened { edge: edge as u32, node: tag.node(), number: tag.number() };
            if let Some(place) = self.head.open.iter().rposition(|open| *open == opened) {
                self.head.open.swap_remove(place);
                self.here.end_entry(opened);
            }
        }
    }

    fn should_yield(&self) -> bool {
        let now_ns = self.here.local.pace.look();
        self.here.shared.is_stopped()
            || self.here.local.fault.is_some()
            || self.head.wish != Wish::None
            || self.here.is_called_off(self.head.vertex, self.head.node)
            || self.here.outputs_full(self.head.vertex)
            || self.is_crowded()
            || now_ns >= self.until_ns
            || self.here.is_wanted(now_ns)
    }

    fn is_crowded(&self) -> bool {
        self.here.crowded(self.head.vertex, self.head.node)
    }

    fn waker(&mut self) -> OperatorWaker {
        let local = &mut *self.here.local;
        local.ticket_next += 1;
        let (executor, ticket) = (local.me, local.ticket_next);
        self.head.ticket = Some(ticket);
        let (links, query) = (self.here.shared.links.clone(), self.here.shared.id);
        OperatorWaker(Some(Arc::new(move || links.post(executor, Command::Wake { query, ticket }))))
    }

    fn invite_peers(&mut self) {
        let (shared, vertex, me) = (self.here.shared, self.head.vertex, self.here.local.me);
        let Some(level) = self.here.level(self.head.node) else { return };
        for executor in (0..shared.executors()).filter(|executor| *executor != me) {
            level.begin(shared.graph.vertices[vertex].place, Account::Work);
            let (query, level) = (shared.clone(), level.clone());
            shared.links.post(executor, Command::Invite { query, level, vertex });
        }
    }

    fn close_inputs(&mut self) {
        if let Some(level) = self.here.level(self.head.node) {
            self.here.shared.close_inputs(level, self.head.vertex);
        }
        if self.head.wish == Wish::None {
            self.head.wish = Wish::CloseInputs;
        }
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        self.head.charged += bytes as u64;
        self.here.charge(self.head.vertex, bytes as u64)
    }

    fn release(&mut self, bytes: usize) {
        let bytes = (bytes as u64).min(self.head.charged);
        self.head.charged -= bytes;
        self.here.shared.ledger.release(self.head.vertex, bytes);
    }

    fn room(&self) -> u64 {
        self.here.shared.ledger.room()
    }

    fn charge_spilled(&mut self, bytes: u64) -> Result<(), Failure> {
        Ok(self.here.shared.ledger.charge_spilled(bytes)?)
    }

    fn finish_instance(&mut self) {
        match self.head.node {
            ROOT => self.close_inputs(),
            _ => self.head.wish = Wish::FinishInstance,
        }
    }

    fn finish_scope(&mut self) {
        match self.head.node {
            ROOT => self.close_inputs(),
            _ => self.head.wish = Wish::FinishScope,
        }
    }

    fn tag(&self) -> Tag {
        self.head.tag
    }

    fn shared(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        None
    }

    fn executor(&self) -> usize {
        self.here.local.me
    }

    fn tablet(&self) -> Option<TabletNo> {
        (self.head.tablet != NO_TABLET).then_some(self.head.tablet as usize)
    }

    fn tablets(&self) -> usize {
        if self.here.shared.executors() > 1 { self.here.shared.placement.len() } else { 0 }
    }

    fn worked_on(&mut self, tablet: TabletNo, amount: u64) {
        self.here.local.tally.worked_on(tablet, amount);
    }

    fn executors(&self) -> usize {
        self.here.shared.executors()
    }

    fn is_home(&self) -> bool {
        self.here.local.me == self.here.shared.home
    }
}

impl<M: Message> Call<'_, M> {
    /// The narrow instance that an edge leads to from here; of a loop, made if need be.
    fn node_beyond(&mut self, edge: &Edge<M>) -> Option<usize> {
        let node = self.head.node;
        match edge.crossing {
            Crossing::Inside => Some(node),
            Crossing::Leave => Some(self.here.local.tree.node(node).parent),
            Crossing::Back => self.here.next_iteration(node),
            Crossing::Enter(scope) => self.here.first_iteration(node, scope),
        }
    }
    /// The instance that spans executors that an edge leads to from here; of a loop, made if need be.
    fn level_beyond(&mut self, edge: &Edge<M>) -> Option<Arc<Level>> {
        let (shared, node) = (self.here.shared, self.head.node);
        let parent = self.here.local.tree.node(node).parent;
        let of =
            |node: usize| self.here.level(node).expect("wide vertices lie in instances that span executors");
        match edge.crossing {
            Crossing::Inside => Some(of(node).clone()),
            Crossing::Leave => Some(of(parent).clone()),
            Crossing::Back => shared.iteration(of(parent), of(node).scope, of(node).tag.number() + 1),
            Crossing::Enter(scope) => shared.iteration(of(node), scope, 1),
        }
    }
    /// The node of an instance that this operator opened, if it still lives.
    fn instance(&self, edge: &Edge<M>, tag: Tag) -> Option<usize> {
        let tree = &self.here.local.tree;
        let found =
            tree.find(tag.node(), tag.number()).filter(|node| tree.node(*node).parent == self.head.node);
        assert!(
            matches!(edge.crossing, Crossing::Enter(_))
                && (found.is_some() || tag.is_child_of(self.head.tag)),
            "instance {tag:?} was not opened by this operator for that output"
        );
        found
    }
    fn edge(&self, output: usize) -> Option<usize> {
        self.here.shared.graph.vertices[self.head.vertex].outputs.get(output).copied().flatten()
    }
    fn count_sent(&mut self, message: &M) {
        let counts = self.here.local.tally.vertex(self.head.vertex);
        counts.rows_out += message.rows() as u64;
        counts.batches += 1;
    }
    /// Sends a message into an instance that spans executors, to where its edge says.
    fn route(&mut self, edge: &Edge<M>, level: &Arc<Level>, message: M) {
        let (shared, me) = (self.here.shared, self.here.local.me);
        match &edge.route {
            Route::Local => self.carry(edge, level, me, NO_TABLET, message),
            Route::Gather => self.carry(edge, level, shared.home, NO_TABLET, message),
            Route::Spread => self.spread(edge, level, message, SPREAD_SPLIT_ROWS_MIN),
            Route::Share => self.spread(edge, level, message, SHARE_SPLIT_ROWS_MIN),
            Route::Placed(placing) => self.place(edge, level, placing, message),
            Route::Partition(split) => {
                for (part, message) in split(message, shared.executors()) {
                    self.carry(edge, level, part % shared.executors(), NO_TABLET, message);
                }
            }
            Route::Tablet(split) => {
                let hosts = &shared.placement;
                for (tablet, message) in split(message, hosts.len()) {
                    let tablet = tablet % hosts.len();
                    self.carry(edge, level, hosts[tablet] as usize, tablet as u32, message);
                }
            }
        }
    }
    /// To the twin on this executor unless messages queue there; a message of so many rows is split with idle executors.
    fn spread(&mut self, edge: &Edge<M>, level: &Arc<Level>, message: M, split_rows_min: usize) {
        let (shared, me) = (self.here.shared, self.here.local.me);
        let busy = shared.queue_length(edge.to, edge.port, me) >= SPREAD_LOCAL_MESSAGES_MAX;
        if busy || message.rows() < split_rows_min || !self.is_anyone_idle() {
            let to = if busy { self.least_queued(edge) } else { me };
            return self.carry(edge, level, to, NO_TABLET, message);
        }
        shared.is_shared_out.store(true, Ordering::Relaxed);
        // Looked at once: they change meanwhile.
        let is_idle = |executor: &usize| *executor != me && shared.links.is_idle(*executor);
        let to: Vec<usize> = std::iter::once(me).chain((0..shared.executors()).filter(is_idle)).collect();
        let parts = message.split(to.len());
        for (executor, part) in to.into_iter().zip(parts) {
            self.carry(edge, level, executor, NO_TABLET, part);
        }
    }
    /// As [`spread`](Self::spread), but once some executor was idle, a large message of an operator that has no twin goes to the hosts of its rows'
    /// tablets. Output of twins stays on their executors as long as all have work.
    fn place(&mut self, edge: &Edge<M>, level: &Arc<Level>, placing: &Placing<M>, message: M) {
        let shared = self.here.shared;
        let is_wanted = || shared.is_shared_out.load(Ordering::Relaxed) || self.is_anyone_idle();
        let is_alone =
            || edge.crossing == Crossing::Inside && level.is_alone(shared.graph.vertices[edge.from].place);
        if shared.executors() == 1 || message.rows() < SPREAD_SPLIT_ROWS_MIN || !is_wanted() || !is_alone() {
            return self.spread(edge, level, message, SPREAD_SPLIT_ROWS_MIN);
        }
        shared.is_shared_out.store(true, Ordering::Relaxed);
        for (host, part) in placing(message, &shared.placement) {
            let is_behind = shared.queue_length(edge.to, edge.port, host) >= PLACED_MESSAGES_MAX;
            let to = if is_behind { self.least_queued(edge) } else { host };
            self.carry(edge, level, to, NO_TABLET, part);
        }
    }
    fn is_anyone_idle(&self) -> bool {
        self.here.shared.links.idle.load(Ordering::Relaxed) > 0
    }
    /// The executor with the fewest messages at the far end of an edge.
    fn least_queued(&self, edge: &Edge<M>) -> usize {
        let shared = self.here.shared;
        let length = |executor: &usize| shared.queue_length(edge.to, edge.port, *executor);
        (0..shared.executors()).min_by_key(length).unwrap_or(self.here.local.me)
    }
    /// Counts a message at its receiver and puts it there, or on its way.
    fn carry(&mut self, edge: &Edge<M>, level: &Arc<Level>, executor: usize, tablet: u32, message: M) {
        let shared = self.here.shared;
        let (vertex, port) = (edge.to, edge.port);
        let there = &shared.graph.vertices[vertex];
        if level.refuses(there.place) {
            return;
        }
        level.begin(there.place, Account::Port(port));
        if !there.elastic[port] {
            shared.enqueued(vertex, port, executor);
        }
        if executor == self.here.local.me {
            let node = self.here.node_of(level);
            self.here.deliver(vertex, port, node, tablet, message);
        } else {
            let (query, level) = (shared.clone(), level.clone());
            shared.links.post(executor, Command::Deliver { query, level, vertex, port, tablet, message });
        }
    }
}
