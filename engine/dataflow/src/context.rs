//! What an operator may ask of the runtime during a call.

use crate::instance::Head;
use crate::limits::SPREAD_LOCAL_MESSAGES_MAX;
use crate::links::Command;
use crate::local::LocalQuery;
use crate::progress::Account;
use crate::{Failure, Message, Route, Tag};
use std::sync::atomic::Ordering;
use world::clock::monotonic_ns;

/// The runtime, as seen by one operator during one call.
pub struct Context<'a, M: Message> {
    local: &'a mut LocalQuery<M>,
    head: &'a mut Head,
    until_ns: u64,
}

impl<'a, M: Message> Context<'a, M> {
    pub(crate) fn new(local: &'a mut LocalQuery<M>, head: &'a mut Head, until_ns: u64) -> Context<'a, M> {
        Context { local, head, until_ns }
    }

    /// Sends on output 0 with the current tag.
    pub fn send(&mut self, message: M) {
        self.send_to(0, message);
    }

    /// Sends on an output with the current tag; on an edge out of the scope, with the enclosing tag. Never blocks and never fails: an
    /// output that is full only turns [`should_yield`](Self::should_yield) true. A message to an unconnected output is dropped.
    ///
    /// # Panics
    /// When the output leads into a scope: that takes [`send_tagged`](Self::send_tagged).
    pub fn send_to(&mut self, output: usize, message: M) {
        self.count_sent(&message);
        if output == 0 && self.head.vertex == self.local.shared.graph.output {
            self.local.shared.output.push(message);
        } else if let Some(edge) = self.edge(output) {
            let depth = self.local.shared.graph.vertices[self.local.shared.graph.edges[edge].to].depth;
            assert!(
                depth <= self.head.tag.depth(),
                "output {output} leads into a scope: open an instance and send tagged"
            );
            self.route(edge, self.head.tag.ancestor(depth), message);
        }
    }

    /// Sends on an output that leads into a scope, to the instance `tag` made by [`open_instance`](Self::open_instance).
    ///
    /// # Panics
    /// When the tag does not belong on that output.
    pub fn send_tagged(&mut self, output: usize, tag: Tag, message: M) {
        self.count_sent(&message);
        if let Some(edge) = self.edge(output) {
            self.check_tag(edge, tag);
            self.route(edge, tag, message);
        }
    }

    /// A new scope instance, a child of the current tag. Every output that leads into the scope must later get
    /// [`end_instance`](Self::end_instance); what is never ended ends with the ingress's input.
    pub fn open_instance(&mut self) -> Tag {
        let number = self.local.instance_next;
        self.local.instance_next =
            number.checked_add(1).expect("fewer than 2^32 scope instances a query and executor");
        let tag = self.head.tag.child(number);
        let graph = &self.local.shared.graph;
        for edge in graph.vertices[self.head.vertex].outputs.iter().flatten() {
            if graph.vertices[graph.edges[*edge].to].depth == tag.depth() {
                self.head.open.push((*edge, tag));
            }
        }
        tag
    }

    /// Says that nothing more is sent to instance `tag` on `output`. Saying it again does nothing.
    ///
    /// # Panics
    /// When the tag does not belong on that output.
    pub fn end_instance(&mut self, output: usize, tag: Tag) {
        if let Some(edge) = self.edge(output) {
            self.check_tag(edge, tag);
            if let Some(place) = self.head.open.iter().rposition(|open| *open == (edge, tag)) {
                let open = self.head.open.swap_remove(place);
                self.local.end_left_open(&mut vec![open]);
            }
        }
    }

    /// The scope instance this operator belongs to.
    pub fn tag(&self) -> Tag {
        self.head.tag
    }

    /// True when the call should return soon: the quota is used up, an output is full, or the query (or this part of it) is cancelled.
    /// Costs a clock reading, some 20 to 50 ns: ask once per few hundred rows, not per row.
    pub fn should_yield(&self) -> bool {
        let shared = &self.local.shared;
        shared.is_stopped()
            || self.local.fault.is_some()
            || shared.progress.is_closed(self.head.vertex)
            || shared.outputs_full(self.head.vertex, self.local.me)
            || monotonic_ns() >= self.until_ns
    }

    /// The number of this executor.
    pub fn executor(&self) -> usize {
        self.local.me
    }

    /// How many executors there are.
    pub fn executors(&self) -> usize {
        self.local.shared.executors()
    }

    /// True on the query's home executor.
    pub fn is_home(&self) -> bool {
        self.local.me == self.local.shared.home
    }

    /// Calls `resume` once on this vertex's instance on every other executor (made if need be). Inside a scope it does nothing, for a
    /// scope instance lives on one executor.
    pub fn invite_peers(&mut self) {
        if !self.head.tag.is_root() {
            return;
        }
        let shared = &self.local.shared;
        for executor in (0..shared.executors()).filter(|executor| *executor != self.local.me) {
            shared.progress.begin(self.head.vertex, Account::Work);
            shared.links.post(executor, Command::Invite { query: shared.clone(), vertex: self.head.vertex });
        }
    }

    /// This vertex needs no more input, on any executor (a limit was reached): cancels all work upstream all of whose paths lead here,
    /// except vertices marked `must_finish` and what feeds them. `on_completion` still comes. Inside a scope it does nothing yet.
    pub fn close_inputs(&mut self) {
        if self.head.tag.is_root() {
            self.local.shared.close_inputs(self.head.vertex);
        }
    }

    /// Counts bytes this operator holds against the query's budget.
    ///
    /// # Errors
    /// When the budget is exceeded: hand the error on, it ends the query with `Fault::OverBudget`.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        self.head.charged += bytes as u64;
        let shared = &self.local.shared;
        if shared.ledger.charge(self.head.vertex, bytes as u64) {
            return Ok(());
        }
        Err(Box::new(shared.ledger.exceeded(shared.graph.vertices.iter().map(|vertex| vertex.name.clone()))))
    }

    /// Gives back what was charged. What an operator still holds when it is dropped is given back for it.
    pub fn release(&mut self, bytes: usize) {
        let bytes = (bytes as u64).min(self.head.charged);
        self.head.charged -= bytes;
        self.local.shared.ledger.release(self.head.vertex, bytes);
    }

    fn edge(&self, output: usize) -> Option<usize> {
        self.local.shared.graph.vertices[self.head.vertex].outputs.get(output).copied().flatten()
    }

    fn check_tag(&self, edge: usize, tag: Tag) {
        let to = self.local.shared.graph.edges[edge].to;
        let depth = self.local.shared.graph.vertices[to].depth;
        assert!(
            tag.depth() == depth && tag.parent() == Some(self.head.tag),
            "instance {tag:?} was not opened by this operator for that output"
        );
    }

    fn count_sent(&self, message: &M) {
        let stats = &self.local.shared.stats[self.head.vertex];
        stats.rows_out.fetch_add(message.rows() as u64, Ordering::Relaxed);
        stats.batches.fetch_add(1, Ordering::Relaxed);
    }

    fn route(&mut self, edge: usize, tag: Tag, message: M) {
        let me = self.local.me;
        let shared = self.local.shared.clone();
        let edge = &shared.graph.edges[edge];
        match &edge.route {
            Route::Local => self.carry(edge.to, edge.port, me, tag, message),
            Route::Gather => self.carry(edge.to, edge.port, shared.home, tag, message),
            Route::Spread => {
                let length = |executor: &usize| shared.queue_length(edge.to, edge.port, *executor);
                let busy = length(&me) >= SPREAD_LOCAL_MESSAGES_MAX;
                let least = || (0..shared.executors()).min_by_key(length).unwrap_or(me);
                let to = if busy { least() } else { me };
                self.carry(edge.to, edge.port, to, tag, message);
            }
            Route::Partition(split) => {
                for (part, message) in split(message, shared.executors()) {
                    self.carry(edge.to, edge.port, part % shared.executors(), tag, message);
                }
            }
        }
    }

    /// Counts a message at its receiver and puts it there, or on its way.
    fn carry(&mut self, vertex: usize, port: usize, executor: usize, tag: Tag, message: M) {
        let shared = &self.local.shared;
        if shared.progress.refuses(vertex) {
            return;
        }
        shared.progress.begin(vertex, Account::Port(port));
        if !shared.graph.vertices[vertex].elastic[port] {
            shared.enqueued(vertex, port, executor);
        }
        if executor == self.local.me {
            self.local.deliver(vertex, port, tag, message);
        } else {
            let query = shared.clone();
            shared.links.post(executor, Command::Deliver { query, vertex, port, message });
        }
    }
}
