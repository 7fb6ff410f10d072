//! What an operator may ask of the runtime during a call.

use crate::graph::{Crossing, Edge, Placing};
use crate::level::{Account, Level};
use crate::limits::{PLACED_MESSAGES_MAX, SPREAD_LOCAL_MESSAGES_MAX, SPREAD_SPLIT_ROWS_MIN};
use crate::links::Command;
use crate::local::Here;
use crate::pipeline::{Host, Mail};
use crate::station::{Head, Opened, Wish};
use crate::tablets::{NO_TABLET, TabletNo};
use crate::tree::ROOT;
use crate::{Failure, Message, OperatorWaker, Route, Tag};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The runtime, as seen by one operator during one call.
pub struct Context<'a, M: Message> {
    seat: Seat<'a, M>,
}

/// Where the operator runs.
enum Seat<'a, M: Message> {
    /// On an executor.
    Executor(Call<'a, M>),
    /// In a pipeline.
    Pipeline(InPipeline<'a, M>),
}

/// A call in a pipeline: alone of its kind, without scopes.
struct InPipeline<'a, M: Message> {
    mail: &'a mut Mail<M>,
    place: usize,
    /// What the pipeline runs in.
    host: &'a mut dyn Host,
}

/// A call on an executor.
struct Call<'a, M: Message> {
    here: Here<'a, M>,
    head: &'a mut Head,
    until_ns: u64,
}

impl<'a, M: Message> Context<'a, M> {
    pub(crate) fn new(here: Here<'a, M>, head: &'a mut Head, until_ns: u64) -> Context<'a, M> {
        Context { seat: Seat::Executor(Call { here, head, until_ns }) }
    }
    pub(crate) fn in_pipeline(mail: &'a mut Mail<M>, place: usize, host: &'a mut dyn Host) -> Context<'a, M> {
        Context { seat: Seat::Pipeline(InPipeline { mail, place, host }) }
    }

    /// Sends on output 0 with the current tag.
    pub fn send(&mut self, message: M) {
        self.send_to(0, message);
    }

    /// Sends on an output with the current tag; on an edge out of the scope, with the enclosing tag; on an edge into a loop, to its first
    /// iteration; on a backward edge, to the next one. Never blocks and never fails: an output that is full only turns
    /// [`should_yield`](Self::should_yield) true. A message to an unconnected output is dropped.
    ///
    /// # Panics
    /// When the output leads into a branch scope: that takes [`send_tagged`](Self::send_tagged).
    pub fn send_to(&mut self, output: usize, message: M) {
        match &mut self.seat {
            Seat::Executor(call) => call.send_to(output, message),
            Seat::Pipeline(call) => call.mail.send(call.place, output, message),
        }
    }

    /// Sends on an output that leads into a branch scope, to the instance `tag` made by [`open_instance`](Self::open_instance). A
    /// message to an instance that was cancelled is dropped.
    ///
    /// # Panics
    /// When the tag does not belong on that output.
    pub fn send_tagged(&mut self, output: usize, tag: Tag, message: M) {
        self.call_with_scopes().send_tagged(output, tag, message);
    }

    /// A new instance of the branch scope that this vertex is the ingress of. Every output that leads into the scope must later get
    /// [`end_instance`](Self::end_instance); what is never ended ends with the ingress's input.
    ///
    /// # Panics
    /// When no output leads into a branch scope.
    pub fn open_instance(&mut self) -> Tag {
        self.open_ranked_instance(0)
    }

    /// A new instance with a rank, for scopes whose instances run [best first](crate::InterPolicy::BestFirst).
    ///
    /// # Panics
    /// When no output leads into a branch scope.
    pub fn open_ranked_instance(&mut self, rank: u64) -> Tag {
        self.call_with_scopes().open_instance(rank)
    }

    /// Says that nothing more is sent to instance `tag` on `output`. Saying it again does nothing.
    ///
    /// # Panics
    /// When the tag does not belong on that output.
    pub fn end_instance(&mut self, output: usize, tag: Tag) {
        self.call_with_scopes().end_instance(output, tag);
    }

    /// This scope instance has its answer: after this call all its operators are dropped with what they hold, this one too, and all
    /// instances within, also those that must finish; no `on_instance_end` comes. What was sent out of the scope goes its way. In a loop
    /// it ends this iteration; the next one goes on with what it was sent. Outside scopes it closes the inputs.
    ///
    /// This is the paper's `NotifyCompletion` in an egress (Banyan, section 3.3).
    pub fn finish_instance(&mut self) {
        match &mut self.seat {
            Seat::Executor(call) if call.head.node != ROOT => call.head.wish = Wish::FinishInstance,
            _ => self.close_inputs(),
        }
    }

    /// Like [`finish_instance`](Self::finish_instance) for all instances of this scope within the enclosing instance: a loop ends, with
    /// all its iterations.
    pub fn finish_scope(&mut self) {
        match &mut self.seat {
            Seat::Executor(call) if call.head.node != ROOT => call.head.wish = Wish::FinishScope,
            _ => self.close_inputs(),
        }
    }

    /// The scope instance this operator belongs to.
    pub fn tag(&self) -> Tag {
        match &self.seat {
            Seat::Executor(call) => call.head.tag,
            Seat::Pipeline(call) => call.host.tag(),
        }
    }

    /// What the host of a pipeline within an operator shares with the pipeline's operators, for the input at hand.
    pub fn shared(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        match &self.seat {
            Seat::Executor(_) => None,
            Seat::Pipeline(call) => call.mail.shared(),
        }
    }

    /// True when the call should return soon: the quota is used up, somebody else wants the executor, an output is full, as many instances of the scope it leads to live as
    /// may, or the query (or this part of it) is cancelled. Costs some 5 to 30 ns: ask once a row where a row is much work, else once per
    /// few hundred rows.
    pub fn should_yield(&self) -> bool {
        match &self.seat {
            Seat::Executor(call) => call.should_yield(),
            Seat::Pipeline(call) => call.mail.should_yield(call.place) || call.host.should_yield(),
        }
    }

    /// True if as many instances of the branch scope this vertex leads into live here as may: open no more in this call.
    pub fn is_crowded(&self) -> bool {
        match &self.seat {
            Seat::Executor(call) => call.is_crowded(),
            Seat::Pipeline(_) => false,
        }
    }

    /// The number of this executor.
    pub fn executor(&self) -> usize {
        match &self.seat {
            Seat::Executor(call) => call.here.local.me,
            Seat::Pipeline(call) => call.host.executor(),
        }
    }

    /// The tablet that the message of this call came for, or the last one; none if it did not come by [`Route::Tablet`], or from an
    /// operator in the same scope instance that was called for such a message. Outside calls for messages it means nothing.
    pub fn tablet(&self) -> Option<TabletNo> {
        match &self.seat {
            Seat::Executor(call) => (call.head.tablet != NO_TABLET).then_some(call.head.tablet as usize),
            Seat::Pipeline(call) => call.host.tablet(),
        }
    }

    /// How many tablets there are to say work was done for: none where nothing can be moved.
    pub fn tablets(&self) -> usize {
        match &self.seat {
            Seat::Executor(call) if call.here.shared.executors() > 1 => call.here.shared.placement.len(),
            Seat::Executor(_) => 0,
            Seat::Pipeline(call) => call.host.tablets(),
        }
    }

    /// Says that of this call's work so much, by any measure, was for a tablet. The call's time counts as those tablets' load, each
    /// by its part.
    pub fn worked_on(&mut self, tablet: TabletNo, amount: u64) {
        match &mut self.seat {
            Seat::Executor(call) => call.here.local.tally.worked_on(tablet, amount),
            Seat::Pipeline(call) => call.host.worked_on(tablet, amount),
        }
    }

    /// How many executors there are.
    pub fn executors(&self) -> usize {
        match &self.seat {
            Seat::Executor(call) => call.here.shared.executors(),
            Seat::Pipeline(call) => call.host.executors(),
        }
    }

    /// True on the query's home executor.
    pub fn is_home(&self) -> bool {
        match &self.seat {
            Seat::Executor(call) => call.here.local.me == call.here.shared.home,
            Seat::Pipeline(call) => call.host.is_home(),
        }
    }

    /// Calls `resume` once on this vertex's operator on every other executor (made if need be). Inside a narrow scope it does nothing,
    /// for an instance lives on one executor.
    pub fn invite_peers(&mut self) {
        if let Seat::Executor(call) = &mut self.seat {
            call.invite_peers();
        }
    }

    /// This vertex needs no more input (a limit was reached): cancels all work upstream all of whose paths lead here, except vertices
    /// marked `must_finish` and what feeds them; outside scopes on all executors, inside in this instance. The end still comes.
    pub fn close_inputs(&mut self) {
        match &mut self.seat {
            Seat::Executor(call) => call.close_inputs(),
            Seat::Pipeline(call) => call.mail.close_inputs(call.place),
        }
    }

    /// To be called when what this operator waits for is there: see [`OperatorWaker`]. Return `Flow::Waiting` from this call, with the
    /// last waker asked for in it handed to someone who will call it.
    pub fn waker(&mut self) -> OperatorWaker {
        match &mut self.seat {
            Seat::Executor(call) => call.waker(),
            Seat::Pipeline(call) => call.host.waker(),
        }
    }

    /// Counts bytes this operator holds against the query's budget.
    ///
    /// # Errors
    /// When the budget is exceeded: hand the error on, it ends the query with `Fault::OverBudget`.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        match &mut self.seat {
            Seat::Executor(call) => call.charge(bytes),
            Seat::Pipeline(call) => {
                call.mail.charged(call.place, bytes);
                call.host.charge(bytes)
            }
        }
    }

    /// Gives back what was charged. What an operator still holds when it is dropped is given back for it.
    pub fn release(&mut self, bytes: usize) {
        match &mut self.seat {
            Seat::Executor(call) => call.release(bytes),
            Seat::Pipeline(call) => {
                let bytes = call.mail.released(call.place, bytes);
                call.host.release(bytes);
            }
        }
    }

    fn call_with_scopes(&mut self) -> &mut Call<'a, M> {
        match &mut self.seat {
            Seat::Executor(call) => call,
            Seat::Pipeline(_) => {
                panic!("a pipeline has no scopes: its graph has no output that leads into one")
            }
        }
    }
}

/// An operator that has a pipeline within it: what the pipeline's operators ask for, it asks for in their place.
impl<M: Message> Host for Context<'_, M> {
    fn should_yield(&self) -> bool {
        Context::should_yield(self)
    }
    fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        Context::charge(self, bytes)
    }
    fn release(&mut self, bytes: usize) {
        Context::release(self, bytes);
    }
    fn waker(&mut self) -> OperatorWaker {
        Context::waker(self)
    }
    fn tag(&self) -> Tag {
        Context::tag(self)
    }
    fn executor(&self) -> usize {
        Context::executor(self)
    }
    fn executors(&self) -> usize {
        Context::executors(self)
    }
    fn is_home(&self) -> bool {
        Context::is_home(self)
    }
    fn tablet(&self) -> Option<TabletNo> {
        Context::tablet(self)
    }
    fn tablets(&self) -> usize {
        Context::tablets(self)
    }
    fn worked_on(&mut self, tablet: TabletNo, amount: u64) {
        Context::worked_on(self, tablet, amount);
    }
}

impl<M: Message> Call<'_, M> {
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
            Route::Spread => self.spread(edge, level, message),
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

    /// To the twin here unless messages queue there; a large message is split with executors that have nothing to do.
    fn spread(&mut self, edge: &Edge<M>, level: &Arc<Level>, message: M) {
        let (shared, me) = (self.here.shared, self.here.local.me);
        let busy = shared.queue_length(edge.to, edge.port, me) >= SPREAD_LOCAL_MESSAGES_MAX;
        if busy || message.rows() < SPREAD_SPLIT_ROWS_MIN || !self.is_anyone_idle() {
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

    /// As [`spread`](Self::spread), but a large message of an operator that has no twin goes to who hosts the tablets of its rows, once
    /// somebody had nothing to do. What twins make stays where it is as long as all have work.
    fn place(&mut self, edge: &Edge<M>, level: &Arc<Level>, placing: &Placing<M>, message: M) {
        let shared = self.here.shared;
        let is_wanted = || shared.is_shared_out.load(Ordering::Relaxed) || self.is_anyone_idle();
        let is_alone =
            || edge.crossing == Crossing::Inside && level.is_alone(shared.graph.vertices[edge.from].place);
        if shared.executors() == 1 || message.rows() < SPREAD_SPLIT_ROWS_MIN || !is_wanted() || !is_alone() {
            return self.spread(edge, level, message);
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
