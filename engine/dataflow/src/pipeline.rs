//! The pipeline driver: the operators of a graph called in line, on one thread, without executors, tasks or counts across threads.
//!
//! The same operators run as tasks, with batches through mailboxes, in the exchange driver (`executor`, `turn`, `step`); an operator cannot tell
//! which driver calls it. A pipeline is used where a task costs more than the work:
//!
//! - A small statement on the calling thread ([`Pipeline::run`]). Most queries of a busy service look up a vertex and its neighbours, in less time
//!   than it takes to send a command to an executor. It is tried for at most [`PIPELINE_NS_MAX`], and its answer is buffered until it is done; a query
//!   that takes longer is begun anew on the executors, which distribute it, list it and can end it.
//! - A sub-query within an operator ([`Pipeline::feed`], [`Pipeline::work`]): batches of outer rows are fed in, inner rows come out. The charges of
//!   its operators are made by the operator around them; they yield when that one should.
//!
//! The rule is the executors' own: the vertex furthest downstream that has work and room in its outputs. One message waits at a port, so a batch goes
//! down the pipeline before the next is made. A graph is fit if it has no scopes ([`Graph::into_pipeline`]); routes mean nothing, since there is one
//! thread. Invariant: one thread at a time works in a [`Pipeline`], and no operator of it outlives a run or a [`Pipeline::reset`] unless it says that
//! it may serve again. Cost: the operators' own, their making, and a few clock readings.

use crate::accounting::ledger::{BudgetExceeded, SpillExceeded};
use crate::accounting::watch::{self, Tripwire};
use crate::executors::local::drop_quietly;
use crate::graphs::context::Backend;
use crate::graphs::graph::Inner;
use crate::terms::ids::{Level, TabletNo};
use crate::terms::limits::{PIPELINE_BATCHES_MAX, PIPELINE_MESSAGES_MAX, PIPELINE_NS_MAX};
use crate::{
    Context, Failure, Fault, Flow, Graph, GraphBuilder, Message, Operator, OperatorWaker, Outcome, Tag,
    VertexNo, VertexOptions,
};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use world::clock::monotonic_ns;
use world::failpoint;
use world::panics::caught;

/// The outcome of a try.
#[derive(Debug)]
pub enum Tried<M> {
    /// All of it, in order.
    Done(Vec<M>),
    /// Its end with an error.
    Failed(Fault),
    /// It takes too much time or memory for the calling thread.
    Unfinished,
}

/// A graph for pipelines, each with operators of its own.
pub struct PipelineGraph<M: Message> {
    graph: Graph<M>,
    /// The vertex at each place, from upstream to downstream.
    order: Vec<usize>,
    /// Messages on some port wait for the end of others.
    holds_messages: bool,
    /// By vertex, the rows that came out of it in all pipelines, where that is counted.
    rows_out: Vec<Arc<AtomicU64>>,
}

/// The operators of a graph, called in line.
pub struct Pipeline<M: Message> {
    plan: Arc<PipelineGraph<M>>,
    /// By place.
    operators: Vec<Option<Box<dyn Operator<M>>>>,
    mail: Mail<M>,
}

/// The state that the operators of a pipeline may reach during a call.
pub(crate) struct Mail<M: Message> {
    plan: Arc<PipelineGraph<M>>,
    /// By place.
    seats: Vec<Seat<M>>,
    /// Places that have work, a bit each.
    ready: Vec<u64>,
    /// Places before this one have ended.
    first: usize,
    /// Messages in the queues of all seats together: with fewer than the limit of one queue, none is full.
    waiting: usize,
    /// The place whose output 0 is the graph's.
    output: Option<usize>,
    /// Messages that left the graph's output.
    sent: VecDeque<M>,
    sent_max: usize,
    shared: Option<Arc<dyn Any + Send + Sync>>,
}

/// Where an operator stands.
struct Seat<M> {
    inbox: Queue<M>,
    /// Messages of ports that wait for the end of others.
    held: VecDeque<(usize, M)>,
    /// It has more work.
    again: bool,
    /// Ports whose end it has had, a bit each.
    told: u32,
    /// It comes to nothing any more.
    over: bool,
    /// It needs no more input.
    closed: bool,
    charged: usize,
}

/// Messages in order; one of them needs no allocation.
struct Queue<M> {
    first: Option<(usize, M)>,
    more: VecDeque<(usize, M)>,
}

impl<M> Queue<M> {
    fn push(&mut self, message: (usize, M)) {
        if self.is_empty() {
            self.first = Some(message);
        } else {
            self.more.push_back(message);
        }
    }
    fn pop(&mut self) -> Option<(usize, M)> {
        self.first.take().or_else(|| self.more.pop_front())
    }
    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }
    fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }
    fn clear(&mut self) {
        self.first = None;
        self.more.clear();
    }
}

/// The host of a pipeline: an operator, or the calling thread.
pub(crate) trait Host {
    fn should_yield(&self) -> bool;
    fn charge(&mut self, bytes: usize) -> Result<(), Failure>;
    fn release(&mut self, bytes: usize);
    fn room(&self) -> u64;
    fn charge_spilled(&mut self, bytes: u64) -> Result<(), Failure>;
    fn waker(&mut self) -> OperatorWaker;
    fn tag(&self) -> Tag;
    fn executor(&self) -> usize;
    fn executors(&self) -> usize;
    fn is_home(&self) -> bool;
    fn tablet(&self) -> Option<TabletNo>;
    fn tablets(&self) -> usize;
    fn worked_on(&mut self, tablet: TabletNo, amount: u64);
}

/// An operator that has a pipeline within it: it passes on the calls of the pipeline's operators.
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
    fn room(&self) -> u64 {
        Context::room(self)
    }
    fn charge_spilled(&mut self, bytes: u64) -> Result<(), Failure> {
        Context::charge_spilled(self, bytes)
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

/// The calling thread.
struct Asker {
    until_ns: u64,
    bytes_max: u64,
    held_bytes: u64,
}

impl Host for Asker {
    fn should_yield(&self) -> bool {
        monotonic_ns() >= self.until_ns
    }
    fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        self.held_bytes += bytes as u64;
        if self.held_bytes <= self.bytes_max {
            return Ok(());
        }
        Err(Box::new(BudgetExceeded { level: Level::Query, limit: self.bytes_max, held: Vec::new() }))
    }
    fn release(&mut self, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_sub(bytes as u64);
    }
    /// Nothing is spilled here: a query without room begins anew on the executors.
    fn room(&self) -> u64 {
        u64::MAX
    }
    fn charge_spilled(&mut self, _: u64) -> Result<(), Failure> {
        Err(Box::new(SpillExceeded { level: Level::Query, limit: 0 }))
    }
    /// The query does not wait here: it begins anew on the executors.
    fn waker(&mut self) -> OperatorWaker {
        OperatorWaker(None)
    }
    fn tag(&self) -> Tag {
        Tag::ROOT
    }
    fn executor(&self) -> usize {
        0
    }
    fn executors(&self) -> usize {
        1
    }
    fn is_home(&self) -> bool {
        true
    }
    fn tablet(&self) -> Option<TabletNo> {
        None
    }
    fn tablets(&self) -> usize {
        0
    }
    fn worked_on(&mut self, _: TabletNo, _: u64) {}
}

/// Calls between two readings of the clock; operators read it themselves, within a call.
const CALLS_PER_LOOK: usize = 4;

/// Where a pipeline within an operator is fed.
struct Entry;

impl<M: Message> Operator<M> for Entry {
    fn receive(&mut self, _: usize, _: M, _: &mut Context<'_, M>) -> Outcome {
        Ok(Flow::Ready)
    }
}

impl<M: Message> GraphBuilder<M> {
    /// The vertex whose outputs are fed by [`Pipeline::feed`]. It is the graph's first vertex and its only source.
    pub fn entry(&mut self) -> VertexNo {
        debug_assert!(self.vertices.is_empty(), "an entry is the first vertex");
        self.vertex("Entry", VertexOptions::source(), |_| Box::new(Entry))
    }
}

impl<M: Message> Graph<M> {
    /// The same for pipelines; none if it has scopes. With `counts`, rows that leave each vertex are counted.
    pub fn into_pipeline(self, counts: bool) -> Option<PipelineGraph<M>> {
        let vertex = |member: &Inner| match member {
            Inner::Vertex(vertex) => Some(*vertex),
            Inner::Scope(_) => None,
        };
        let order: Vec<usize> = self.scopes[0].members.iter().map(vertex).collect::<Option<_>>()?;
        let counted = if counts { self.vertices.len() } else { 0 };
        let rows_out = (0..counted).map(|_| Arc::default()).collect();
        let holds_messages = self.vertices.iter().any(|vertex| vertex.options.port_order > 0);
        Some(PipelineGraph { graph: self, order, holds_messages, rows_out })
    }
}

impl<M: Message> PipelineGraph<M> {
    /// The names of its vertices, and their counters of rows.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Arc<AtomicU64>)> {
        self.graph.vertices.iter().zip(&self.rows_out).map(|(vertex, rows)| (&*vertex.name, rows.clone()))
    }
    fn is_source(&self, place: usize) -> bool {
        self.graph.vertices[self.order[place]].options.source
    }
}

impl<M: Message> Seat<M> {
    fn new() -> Seat<M> {
        Seat {
            inbox: Queue { first: None, more: VecDeque::new() },
            held: VecDeque::new(),
            again: false,
            told: 0,
            over: false,
            closed: false,
            charged: 0,
        }
    }
    fn has_work(&self) -> bool {
        self.again || !self.inbox.is_empty()
    }
    /// Have the ports before `order` had their end, so that messages of the others may come in?
    fn is_open(&self, order: usize) -> bool {
        let before = (1_u64 << order) - 1;
        u64::from(self.told) & before == before
    }
    fn waiting(&self) -> usize {
        self.inbox.len() + self.held.len()
    }
    /// Drops waiting messages.
    fn clear(&mut self) {
        self.inbox.clear();
        self.held.clear();
        self.again = false;
    }
    fn begin_anew(&mut self) {
        self.clear();
        (self.told, self.over, self.closed, self.charged) = (0, false, false, 0);
    }
}

impl<M: Message> Mail<M> {
    pub(crate) fn send(&mut self, place: usize, output: usize, message: M) {
        let plan = &*self.plan;
        let number = plan.order[place];
        if let Some(rows) = plan.rows_out.get(number) {
            rows.fetch_add(message.rows() as u64, Ordering::Relaxed);
        }
        if output == 0 && self.output == Some(place) {
            return self.sent.push_back(message);
        }
        let Some(edge) = plan.graph.vertices[number].outputs.get(output).copied().flatten() else { return };
        let edge = &plan.graph.edges[edge];
        let there = &plan.graph.vertices[edge.to];
        let seat = &mut self.seats[there.place];
        if seat.over || seat.closed {
            return;
        }
        let order = there.options.port_order;
        self.waiting += 1;
        if edge.port >= order && !seat.is_open(order) {
            return seat.held.push_back((edge.port, message));
        }
        seat.inbox.push((edge.port, message));
        self.ready[there.place / 64] |= 1 << (there.place % 64);
    }

    pub(crate) fn shared(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.shared.as_ref()
    }

    pub(crate) fn should_yield(&self, place: usize) -> bool {
        self.is_full(place) || self.seats[place].over
    }

    /// Has an output of this place no room?
    fn is_full(&self, place: usize) -> bool {
        if self.output == Some(place) && self.sent.len() >= self.sent_max {
            return true;
        }
        if self.waiting < PIPELINE_MESSAGES_MAX {
            return false;
        }
        let plan = &*self.plan;
        plan.graph.vertices[plan.order[place]].outputs.iter().flatten().any(|edge| {
            let edge = &plan.graph.edges[*edge];
            let there = &plan.graph.vertices[edge.to];
            let (seat, order) = (&self.seats[there.place], there.options.port_order);
            let waiting =
                if edge.port >= order && !seat.is_open(order) { seat.held.len() } else { seat.inbox.len() };
            waiting >= PIPELINE_MESSAGES_MAX && !there.elastic[edge.port]
        })
    }

    /// The place to be called next.
    fn next(&self) -> Option<usize> {
        // A queue that is full makes its place ready, further downstream, unless its messages are held: so the last place has room.
        if self.sent.len() < self.sent_max && !self.plan.holds_messages {
            let last = self.ready.iter().enumerate().rev().find(|(_, word)| **word != 0);
            return last.map(|(at, word)| at * 64 + 63 - word.leading_zeros() as usize);
        }
        for (at, word) in self.ready.iter().enumerate().rev() {
            let mut word = *word;
            while word != 0 {
                let bit = 63 - word.leading_zeros() as usize;
                if !self.is_full(at * 64 + bit) {
                    return Some(at * 64 + bit);
                }
                word &= !(1 << bit);
            }
        }
        None
    }

    fn is_idle(&self) -> bool {
        self.ready.iter().all(|word| *word == 0)
    }

    /// After a call.
    fn stands(&mut self, place: usize, flow: Flow) {
        let seat = &mut self.seats[place];
        seat.again = flow != Flow::Ready && !seat.over;
        self.mark(place);
    }

    /// Notes whether a place has work.
    fn mark(&mut self, place: usize) {
        let bit = 1_u64 << (place % 64);
        let word = &mut self.ready[place / 64];
        *word = if self.seats[place].has_work() { *word | bit } else { *word & !bit };
    }

    /// Ends all places that lead here alone, but for those that must finish.
    pub(crate) fn close_inputs(&mut self, place: usize) {
        let plan = self.plan.clone();
        for closed in &plan.graph.vertices[plan.order[place]].closes {
            self.waiting -= self.seats[*closed].waiting();
            self.seats[*closed].clear();
            self.seats[*closed].over = true;
            self.mark(*closed);
        }
        let seat = &mut self.seats[place];
        self.waiting -= seat.waiting();
        seat.closed = true;
        seat.inbox.clear();
        seat.held.clear();
        self.mark(place);
    }

    /// A port whose end the operator has not had yet.
    fn ended_port(&self, place: usize) -> Option<usize> {
        let plan = &*self.plan;
        let vertex = &plan.graph.vertices[plan.order[place]];
        let seat = &self.seats[place];
        if seat.over {
            return None;
        }
        let is_fed = |edge: &usize| !self.seats[plan.graph.vertices[plan.graph.edges[*edge].from].place].over;
        let is_over = |port: usize| {
            let mut edges = vertex.in_edges.iter();
            !edges.any(|edge| plan.graph.edges[*edge].port == port && is_fed(edge))
        };
        let order = vertex.options.port_order;
        let may = |port: &usize| seat.told & (1 << port) == 0 && (*port < order || seat.is_open(order));
        (0..vertex.options.ports).filter(may).find(|port| is_over(*port))
    }

    pub(crate) fn charged(&mut self, place: usize, bytes: usize) {
        self.seats[place].charged += bytes;
    }
    /// Returns how much of it was charged.
    pub(crate) fn released(&mut self, place: usize, bytes: usize) -> usize {
        let seat = &mut self.seats[place];
        let bytes = bytes.min(seat.charged);
        seat.charged -= bytes;
        bytes
    }
}

impl<M: Message> Pipeline<M> {
    /// Of a graph; no operator is made before its first message.
    pub fn new(plan: &Arc<PipelineGraph<M>>) -> Pipeline<M> {
        let places = plan.order.len();
        let mail = Mail {
            plan: plan.clone(),
            seats: (0..places).map(|_| Seat::new()).collect(),
            ready: vec![0; places.div_ceil(64)],
            first: 0,
            waiting: 0,
            output: plan.order.iter().position(|number| *number == plan.graph.output),
            sent: VecDeque::new(),
            sent_max: PIPELINE_MESSAGES_MAX,
            shared: None,
        };
        Pipeline { plan: plan.clone(), operators: (0..places).map(|_| None).collect(), mail }
    }

    /// Tries to run the query on this thread. If a query with effects is unfinished or fails, the caller undoes its effects.
    pub fn run(&mut self, bytes_max: u64) -> Tried<M> {
        let mut asker = Asker { until_ns: monotonic_ns() + PIPELINE_NS_MAX, bytes_max, held_bytes: 0 };
        self.mail.sent_max = PIPELINE_BATCHES_MAX + 1;
        for place in 0..self.operators.len() {
            self.mail.seats[place].again = self.mail.plan.is_source(place);
            self.mail.mark(place);
        }
        self.operators.iter_mut().flatten().for_each(|operator| operator.begin_run());
        // A loop that takes too long here stops, and begins anew on an executor.
        let wire = Arc::new(Tripwire::until(asker.until_ns, bytes_max));
        let watched = watch::enter(wire.clone());
        let outcome = caught(|| self.run_to_end(&mut asker));
        let sent = std::mem::take(&mut self.mail.sent);
        // What was left in the middle of its work is not asked.
        let is_done = matches!(outcome, Ok(Ok(true))) && !wire.is_tripped();
        self.clear(is_done);
        drop(watched);
        match outcome {
            _ if wire.is_tripped() => Tried::Unfinished,
            Ok(Ok(true)) => Tried::Done(sent.into()),
            Ok(Err(failure)) if !failure.is::<BudgetExceeded>() => Tried::Failed(Fault::Operator(failure)),
            // Executors tell best who held too much, and who panicked.
            Ok(_) | Err(_) => Tried::Unfinished,
        }
    }

    /// Drops all that a run left, but for operators that serve the next one, where it is done.
    fn clear(&mut self, is_done: bool) {
        for operator in &mut self.operators {
            let stays = is_done && operator.as_mut().is_some_and(|operator| operator.end_run());
            if !stays {
                drop_quietly(operator.take());
            }
        }
        self.mail.seats.iter_mut().for_each(Seat::begin_anew);
        self.mail.ready.fill(0);
        (self.mail.first, self.mail.waiting) = (0, 0);
    }

    /// True once all is done.
    fn run_to_end(&mut self, asker: &mut Asker) -> Result<bool, Failure> {
        for call in 1.. {
            let flow = match self.mail.next() {
                Some(place) => self.call(place, asker)?,
                None => match self.tell_end(asker)? {
                    Some(flow) => flow,
                    None => break,
                },
            };
            let looks = flow == Flow::Again || call % CALLS_PER_LOOK == 0;
            let is_too_much = self.mail.sent.len() > PIPELINE_BATCHES_MAX || (looks && asker.should_yield());
            if flow == Flow::Waiting || (is_too_much && self.mail.first < self.operators.len()) {
                return Ok(false);
            }
        }
        Ok(self.mail.first == self.operators.len())
    }

    fn call(&mut self, place: usize, host: &mut dyn Host) -> Outcome {
        failpoint::visit("operator of a pipeline");
        let seat = &mut self.mail.seats[place];
        let message = if seat.again { None } else { seat.inbox.pop() };
        self.mail.waiting -= usize::from(message.is_some());
        let operator = made(&mut self.operators[place], &self.plan, place, host);
        let mut call = InPipeline { mail: &mut self.mail, place, host };
        let mut context = Context::new(&mut call);
        let flow = match message {
            Some((port, message)) => operator.receive(port, message, &mut context)?,
            None => operator.resume(&mut context)?,
        };
        self.mail.stands(place, flow);
        Ok(flow)
    }

    /// Calls the first operator that has had all its input for its end; none if there is no such operator. Called when no place can run: the first
    /// place is then at its end, or waits for room that an end makes.
    fn tell_end(&mut self, host: &mut dyn Host) -> Result<Option<Flow>, Failure> {
        let plan = &*self.plan;
        for place in self.mail.first..plan.order.len() {
            let vertex = &plan.graph.vertices[plan.order[place]];
            if self.mail.seats[place].has_work() {
                continue;
            }
            while let Some(port) = self.mail.ended_port(place) {
                let seat = &mut self.mail.seats[place];
                let was_open = seat.is_open(vertex.options.port_order);
                seat.told |= 1 << port;
                if !was_open && seat.is_open(vertex.options.port_order) {
                    std::mem::take(&mut seat.held).into_iter().for_each(|message| seat.inbox.push(message));
                    self.mail.mark(place);
                }
                if self.operators[place].is_some() || vertex.options.create_if_empty {
                    let operator = made(&mut self.operators[place], plan, place, host);
                    let mut call = InPipeline { mail: &mut self.mail, place, host };
                    let mut context = Context::new(&mut call);
                    let flow = operator.on_completion(port, &mut context)?;
                    self.mail.stands(place, flow);
                    return Ok(Some(flow));
                }
                if self.mail.seats[place].has_work() {
                    return Ok(Some(Flow::Ready));
                }
            }
            let seat = &mut self.mail.seats[place];
            seat.over |= seat.told.count_ones() as usize == vertex.options.ports;
            if seat.over && place == self.mail.first {
                self.mail.first += 1;
            }
        }
        Ok(None)
    }

    /// Sets the value that the operators find as [`Context::shared`].
    pub fn share(&mut self, shared: Option<Arc<dyn Any + Send + Sync>>) {
        self.mail.shared = shared;
    }

    /// Puts a message in at output 0 of the [entry](GraphBuilder::entry), once the one before has been worked off.
    pub fn feed(&mut self, message: M) {
        self.mail.send(0, 0, message);
    }

    /// One call of one operator, on behalf of the operator around it: its output message, and whether there is more to do. `Ready` says that all
    /// input is worked off.
    ///
    /// # Errors
    /// Those of its operators.
    pub fn work(&mut self, host: &mut Context<'_, M>) -> Result<(Option<M>, Flow), Failure> {
        let mut flow = Flow::Ready;
        if self.mail.sent.is_empty()
            && let Some(place) = self.mail.next()
        {
            flow = self.call(place, host)?;
        }
        let message = self.mail.sent.pop_front();
        Ok(match flow {
            Flow::Waiting => (message, flow),
            _ if self.mail.is_idle() && self.mail.sent.is_empty() => (message, Flow::Ready),
            _ => (message, Flow::Again),
        })
    }

    /// Drops unfinished messages; returns the bytes that were charged for them, which the caller releases. Operators without work keep their state
    /// for later messages.
    pub fn stop(&mut self) -> usize {
        let mut charged = 0;
        for (seat, operator) in self.mail.seats.iter_mut().zip(&mut self.operators) {
            if seat.again {
                charged += std::mem::take(&mut seat.charged);
                recycle(operator);
            }
            seat.clear();
        }
        self.mail.ready.fill(0);
        self.mail.waiting = 0;
        self.mail.sent.clear();
        charged
    }

    /// Begins anew, for other rows: no operator holds anything of the old ones. Returns the bytes that were charged, which the caller gives back.
    pub fn reset(&mut self) -> usize {
        let charged = self.charged();
        self.operators.iter_mut().for_each(recycle);
        self.mail.seats.iter_mut().for_each(Seat::begin_anew);
        self.mail.ready.fill(0);
        self.mail.waiting = 0;
        self.mail.sent.clear();
        self.mail.shared = None;
        charged
    }

    /// Bytes that are charged for the operators' state.
    pub fn charged(&self) -> usize {
        self.mail.seats.iter().map(|seat| seat.charged).sum()
    }
}

/// A call in a pipeline: alone of its kind, without scopes.
struct InPipeline<'a, M: Message> {
    mail: &'a mut Mail<M>,
    place: usize,
    /// The host of the pipeline.
    host: &'a mut dyn Host,
}

/// Of a graph that a pipeline takes, no output leads into a scope.
fn no_scopes() -> ! {
    panic!("a pipeline has no scopes: its graph has no output that leads into one")
}

impl<M: Message> Backend<M> for InPipeline<'_, M> {
    fn send_to(&mut self, output: usize, message: M) {
        self.mail.send(self.place, output, message);
    }
    fn send_tagged(&mut self, _output: usize, _tag: Tag, _message: M) {
        no_scopes()
    }
    fn open_instance(&mut self, _rank: u64) -> Tag {
        no_scopes()
    }
    fn end_instance(&mut self, _output: usize, _tag: Tag) {
        no_scopes()
    }
    fn finish_instance(&mut self) {
        self.close_inputs();
    }
    fn finish_scope(&mut self) {
        self.close_inputs();
    }
    fn tag(&self) -> Tag {
        self.host.tag()
    }
    fn shared(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.mail.shared()
    }
    fn should_yield(&self) -> bool {
        self.mail.should_yield(self.place) || self.host.should_yield()
    }
    fn is_crowded(&self) -> bool {
        false
    }
    fn executor(&self) -> usize {
        self.host.executor()
    }
    fn tablet(&self) -> Option<TabletNo> {
        self.host.tablet()
    }
    fn tablets(&self) -> usize {
        self.host.tablets()
    }
    fn worked_on(&mut self, tablet: TabletNo, amount: u64) {
        self.host.worked_on(tablet, amount);
    }
    fn executors(&self) -> usize {
        self.host.executors()
    }
    fn is_home(&self) -> bool {
        self.host.is_home()
    }
    fn invite_peers(&mut self) {}
    fn close_inputs(&mut self) {
        self.mail.close_inputs(self.place);
    }
    fn waker(&mut self) -> OperatorWaker {
        self.host.waker()
    }
    fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        self.mail.charged(self.place, bytes);
        self.host.charge(bytes)
    }
    fn release(&mut self, bytes: usize) {
        let bytes = self.mail.released(self.place, bytes);
        self.host.release(bytes);
    }
    fn room(&self) -> u64 {
        self.host.room()
    }
    fn charge_spilled(&mut self, bytes: u64) -> Result<(), Failure> {
        self.host.charge_spilled(bytes)
    }
}

/// The operator of a place, made if need be.
fn made<'a, M: Message>(
    operator: &'a mut Option<Box<dyn Operator<M>>>,
    plan: &PipelineGraph<M>,
    place: usize,
    host: &dyn Host,
) -> &'a mut Box<dyn Operator<M>> {
    operator.get_or_insert_with(|| (plan.graph.vertices[plan.order[place]].factory)(host.executor()))
}

/// Empties an operator, or drops it if it cannot serve again.
fn recycle<M: Message>(operator: &mut Option<Box<dyn Operator<M>>>) {
    if operator.as_mut().is_some_and(|operator| !operator.recycle()) {
        drop_quietly(operator.take());
    }
}
