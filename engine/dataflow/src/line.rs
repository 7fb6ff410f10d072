//! A small query on the thread that asks it: no executor is woken, nothing is counted across threads.
//!
//! Idea: most queries of a busy service look up a vertex and its neighbours, in less time than it takes to tell an executor about
//! them. Where the graph is a line (a source, then operators of one port each, outside scopes), its operators can be called in turn,
//! with the same rule as on an executor: the furthest downstream that has work. That is tried for at most [`LINE_NS_MAX`] and kept
//! back until it is done; a query that takes longer is begun anew on the executors, which share it out, list it and can end it.
//!
//! Invariant: what was tried and not finished leaves nothing behind but what its operators' effects left, which whoever tries it undoes.
//! A line is run by one thread at a time; every run makes its operators anew, so a run sees nothing of the one before.
//! Cost: the operators' own, their making, a few clock readings, and for a query that does not finish the time tried.

use crate::accounts::Level;
use crate::graph::Inner;
use crate::limits::{LINE_BATCHES_MAX, LINE_NS_MAX, MAILBOX_MESSAGES_MAX};
use crate::watch::{self, Tripwire};
use crate::{Context, Failure, Fault, Flow, Graph, Message, Operator, Outcome};
use crate::{ledger::BudgetExceeded, local::drop_quietly};
use std::collections::VecDeque;
use std::sync::Arc;
use world::clock::monotonic_ns;
use world::failpoint;
use world::panics::caught;

/// What came of trying.
#[derive(Debug)]
pub enum Tried<M> {
    /// All of it, in order.
    Done(Vec<M>),
    /// Its end with an error.
    Failed(Fault),
    /// It is not for here: too long, too large, or not a line.
    Unfinished,
}

/// A graph that is a line, to be run on the threads that ask, again and again.
pub struct Line<M: Message> {
    graph: Graph<M>,
    seats: Vec<Seat<M>>,
    between: Between<M>,
}

/// What the operators of a line may reach during a call.
pub(crate) struct Between<M> {
    /// By place: messages that wait there.
    inboxes: Vec<VecDeque<M>>,
    /// What left the last operator.
    sent: Vec<M>,
    /// Places before this one are done.
    first: usize,
    /// One behind the last place whose operator must come to its end.
    must_finish: usize,
    held_bytes: u64,
    bytes_max: u64,
    until_ns: u64,
}

/// An operator's place in its line.
struct Seat<M: Message> {
    /// Its number in the graph.
    vertex: usize,
    operator: Option<Box<dyn Operator<M>>>,
    /// It said that it has more work.
    again: bool,
    /// It was told of the end of its input.
    told: bool,
}

/// Calls between two readings of the clock; operators read it themselves, within a call.
const CALLS_PER_LOOK: usize = 4;

impl<M: Message> Between<M> {
    pub(crate) fn send(&mut self, place: usize, message: M) {
        match self.inboxes.get_mut(place + 1) {
            Some(inbox) => inbox.push_back(message),
            None => self.sent.push(message),
        }
    }
    pub(crate) fn should_yield(&self, place: usize) -> bool {
        let is_full = self.inboxes.get(place + 1).is_some_and(|inbox| inbox.len() >= MAILBOX_MESSAGES_MAX);
        is_full || place < self.first || self.sent.len() > LINE_BATCHES_MAX || monotonic_ns() >= self.until_ns
    }
    /// Everything before this place is over, unless something there must come to its own end.
    pub(crate) fn close_inputs(&mut self, place: usize) {
        if place.min(self.must_finish) > self.first {
            return;
        }
        self.first = self.first.max(place);
        self.inboxes[..=place].iter_mut().for_each(VecDeque::clear);
    }
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        self.held_bytes += bytes as u64;
        if self.held_bytes <= self.bytes_max {
            return Ok(());
        }
        Err(Box::new(BudgetExceeded { level: Level::Query, limit: self.bytes_max, held: Vec::new() }))
    }
    pub(crate) fn release(&mut self, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_sub(bytes as u64);
    }
}

impl<M: Message> Graph<M> {
    /// Its vertices in order if it is a line: one source, then operators of one port and one output.
    fn line(&self) -> Option<Vec<usize>> {
        let vertex = |member: &Inner| match member {
            Inner::Vertex(vertex) => Some(*vertex),
            Inner::Scope(_) => None,
        };
        let order: Vec<usize> = self.scopes[0].members.iter().map(vertex).collect::<Option<_>>()?;
        let one_way = |number: &usize| {
            let vertex = &self.vertices[*number];
            let options = &vertex.options;
            let begins = options.source && options.ports == 0;
            let goes_on = !options.source && options.ports == 1 && vertex.in_edges.len() == 1;
            (if vertex.place == 0 { begins } else { goes_on }) && vertex.outputs.len() <= 1
        };
        (order.last() == Some(&self.output) && order.iter().all(one_way)).then_some(order)
    }

    /// The same, to be run on threads that ask; none if it is not a line.
    pub fn into_line(self) -> Option<Line<M>> {
        let order = self.line()?;
        let must_finish = order.iter().rposition(|vertex| self.vertices[*vertex].options.must_finish);
        let between = Between {
            inboxes: order.iter().map(|_| VecDeque::new()).collect(),
            sent: Vec::new(),
            first: 0,
            must_finish: must_finish.map_or(0, |place| place + 1),
            held_bytes: 0,
            bytes_max: 0,
            until_ns: 0,
        };
        let seat = |vertex| Seat { vertex, operator: None, again: false, told: false };
        Some(Line { graph: self, seats: order.into_iter().map(seat).collect(), between })
    }
}

impl<M: Message> Line<M> {
    /// Tries to run the query on this thread. Of a query with effects that is unfinished or failed, the caller undoes what it left.
    pub fn run(&mut self, bytes_max: u64) -> Tried<M> {
        self.between.until_ns = monotonic_ns() + LINE_NS_MAX;
        self.between.bytes_max = bytes_max;
        self.seats[0].again = true;
        // A loop that takes too long here stops, and begins anew on an executor.
        let wire = Arc::new(Tripwire::until(self.between.until_ns, bytes_max));
        let watched = watch::enter(wire.clone());
        let outcome = caught(|| self.work());
        let sent = self.clear();
        drop(watched);
        match outcome {
            _ if wire.is_tripped() => Tried::Unfinished,
            Ok(Ok(true)) => Tried::Done(sent),
            Ok(Err(failure)) if !failure.is::<BudgetExceeded>() => Tried::Failed(Fault::Operator(failure)),
            // Executors tell best who held too much, and who panicked.
            Ok(_) | Err(_) => Tried::Unfinished,
        }
    }

    /// Drops all that a run left; what it sent is the answer.
    fn clear(&mut self) -> Vec<M> {
        for seat in &mut self.seats {
            (seat.again, seat.told) = (false, false);
            drop_quietly(seat.operator.take());
        }
        self.between.inboxes.iter_mut().for_each(VecDeque::clear);
        (self.between.first, self.between.held_bytes) = (0, 0);
        std::mem::take(&mut self.between.sent)
    }

    /// True once all is done.
    fn work(&mut self) -> Result<bool, Failure> {
        for call in 1.. {
            if self.between.first == self.seats.len() {
                break;
            }
            let has_work =
                |place: &usize| self.seats[*place].again || !self.between.inboxes[*place].is_empty();
            let flow = match (self.between.first..self.seats.len()).rev().find(has_work) {
                Some(place) => {
                    let flow = self.call(place)?;
                    self.seats[place].again = flow == Flow::Again;
                    flow
                }
                // Nothing is on its way, so whoever comes first will get no more.
                None => self.complete()?,
            };
            let looks = flow == Flow::Again || call % CALLS_PER_LOOK == 0;
            let is_too_much = self.between.sent.len() > LINE_BATCHES_MAX
                || (looks && monotonic_ns() >= self.between.until_ns);
            if flow == Flow::Waiting || (is_too_much && self.between.first < self.seats.len()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn call(&mut self, place: usize) -> Outcome {
        failpoint::visit("operator of a line");
        let seat = &mut self.seats[place];
        let operator = seat.operator.get_or_insert_with(|| (self.graph.vertices[seat.vertex].factory)(0));
        if seat.again {
            return operator.resume(&mut Context::in_line(&mut self.between, place));
        }
        match self.between.inboxes[place].pop_front() {
            Some(message) => operator.receive(0, message, &mut Context::in_line(&mut self.between, place)),
            None => Ok(Flow::Ready),
        }
    }

    /// Tells the first operator that is not done of the end of its input, or finds it done.
    fn complete(&mut self) -> Outcome {
        let place = self.between.first;
        let seat = &mut self.seats[place];
        let vertex = &self.graph.vertices[seat.vertex];
        if std::mem::replace(&mut seat.told, true) || vertex.options.ports == 0 {
            self.between.first += 1;
            return Ok(Flow::Ready);
        }
        if seat.operator.is_none() && vertex.options.create_if_empty {
            seat.operator = Some((vertex.factory)(0));
        }
        let Some(operator) = &mut seat.operator else { return Ok(Flow::Ready) };
        let flow = operator.on_completion(0, &mut Context::in_line(&mut self.between, place))?;
        seat.again = flow == Flow::Again;
        Ok(flow)
    }
}
