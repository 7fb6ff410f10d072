//! One call of one operator, and its status afterwards.

use crate::accounting::ledger::BudgetExceeded;
use crate::accounting::watch;
use crate::executors::call::Call;
use crate::executors::local::QueryAccess;
use crate::executors::station::{Item, OperatorLocation, Station, Wish};
use crate::executors::tree::{At, ROOT};
use crate::graphs::context::Context;
use crate::queries::level::Account;
use crate::{Fault, Flow, Message, Outcome};
use world::failpoint;
use world::panics::caught;

impl<M: Message> QueryAccess<'_, M> {
    /// Makes one call. Returns the clock after it, or a reading from a few short calls ago.
    pub(crate) fn step(&mut self, at: At, until_ns: u64, quota_ns: u64) -> u64 {
        let taken = self.local.tree.seat(at).station.take();
        let mut station = taken.expect("a ready seat has its station");
        let vertex = station.head.vertex;
        let (account, ends, result) = self.call(&mut station, until_ns);
        let wish = std::mem::take(&mut station.head.wish);
        let ticket = station.head.ticket.take();
        let paused = watch::take_paused();
        if paused.wall_ns > 0 {
            self.local.tally.leave_out(paused);
            self.local.pace.read_anew();
        }
        let until_ns = until_ns + paused.wall_ns;
        let now_ns = self.local.pace.look();
        if self.local.tally.called(vertex, station.head.tablet, now_ns) && now_ns > until_ns + quota_ns {
            self.local.tally.vertex(vertex).overruns += 1;
        }
        let waits = matches!(result, Ok(Flow::Waiting));
        match result {
            Err(fault) => {
                self.local.tree.seat(at).station = Some(station);
                self.local.fault = Some(fault);
            }
            Ok(flow) => {
                if flow != Flow::Ready || ends {
                    station.current = Some((account, ends));
                }
                self.local.tree.seat(at).station = Some(station);
                self.after_call(at, vertex, flow, wish, ticket);
                if flow == Flow::Ready && !ends {
                    self.settle(at.node, vertex, account);
                }
            }
        }
        self.feed_iterations();
        if !waits {
            self.shared.moved_on();
            if self.has_waiting() {
                self.wake_waiting();
            }
        }
        now_ns
    }

    /// Puts an operator where it belongs after a call.
    fn after_call(&mut self, at: At, vertex: usize, flow: Flow, wish: Wish, ticket: Option<u64>) {
        let node = at.node;
        match wish {
            Wish::None => {}
            Wish::CloseInputs => self.close_inputs(vertex, node),
            Wish::FinishInstance => self.cancel_instance(node),
            Wish::FinishScope => self.cancel_scope(node),
        }
        // Cancelled with its instance, by itself.
        if !self.local.tree.is_occupied(at) {
            return;
        }
        if self.is_closed(vertex, node) {
            return self.drop_closed(at);
        }
        let ports = self.shared.graph.vertices[vertex].options.ports;
        let station = self.local.tree.station(at);
        match flow {
            Flow::Ready if station.current.take_if(|(_, ends)| *ends).is_some() => {
                self.end_left_open(at);
                return self.retire(at);
            }
            Flow::Ready => {
                if !station.head.open.is_empty() && station.had_all(ports) {
                    self.end_left_open(at);
                }
            }
            Flow::Again => {}
            Flow::Waiting => {
                self.unschedule(at);
                if let Some(ticket) = ticket {
                    self.local.tree.station(at).place = OperatorLocation::Parked;
                    self.local.parked.insert(ticket, at);
                    return;
                }
                self.local.tree.station(at).place = OperatorLocation::Waiting;
                self.local.waiting.push(at);
                return self.shared.set_waiting(self.local.me);
            }
        }
        if self.local.tree.station(at).has_work() {
            self.local.tree.rotate(&self.shared.graph.scopes, at);
        } else {
            self.unschedule(at);
        }
    }

    /// Calls the operator for the next item in its mailbox. Returns how the call was counted, whether it ends the instance on this executor, and the
    /// outcome.
    fn call(&mut self, station: &mut Station<M>, until_ns: u64) -> (Account, bool, Result<Flow, Fault>) {
        let vertex = station.head.vertex;
        let (item, account, ends) = match station.current.take() {
            Some((account, ends)) => (Item::Resume, account, ends),
            None => {
                let item = station.inbox.pop_front().expect("a ready station has work");
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
        let result = caught(|| self.call_item(station, item, until_ns));
        let result = match result {
            Ok(Ok(flow)) => Ok(flow),
            Ok(Err(failure)) if failure.is::<BudgetExceeded>() => Err(self.shared.over_budget()),
            Ok(Err(failure)) => Err(Fault::Operator(failure)),
            Err(panicked) => {
                let operator = self.shared.graph.vertices[vertex].name.clone();
                Err(Fault::Panicked { operator, message: panicked.message })
            }
        };
        (account, ends, result)
    }

    fn call_item(&mut self, station: &mut Station<M>, item: Item<M>, until_ns: u64) -> Outcome {
        let Station { head, operator, told, .. } = station;
        let vertex = head.vertex;
        let item = match item {
            // The inputs were closed while it waited.
            Item::Message(delivery) if self.refuses(vertex, head.node) => {
                drop(self.unqueue(vertex, delivery));
                return Ok(Flow::Ready);
            }
            item => item,
        };
        failpoint::visit("operator");
        let operator =
            operator.get_or_insert_with(|| (self.shared.graph.vertices[vertex].factory)(self.local.me));
        match item {
            Item::Message(delivery) => {
                head.tablet = delivery.tablet;
                let (port, message) = self.unqueue(vertex, delivery);
                let counts = self.local.tally.vertex(vertex);
                counts.messages_in += 1;
                counts.rows_in += message.rows() as u64;
                operator.receive(
                    port,
                    message,
                    &mut Context::new(&mut Call::new(self.again(), head, until_ns)),
                )
            }
            Item::Resume => operator.resume(&mut Context::new(&mut Call::new(self.again(), head, until_ns))),
            Item::Completion(port, _) if head.node == ROOT => {
                operator.on_completion(port, &mut Context::new(&mut Call::new(self.again(), head, until_ns)))
            }
            // Inside a scope that spans executors the end of the last port is the end of the instance.
            Item::Completion(port, _) => {
                *told |= 1 << port;
                let ports = self.shared.graph.vertices[vertex].options.ports;
                if u64::from(*told) != (1_u64 << ports) - 1 {
                    return Ok(Flow::Ready);
                }
                let tag = head.tag;
                operator.on_instance_end(tag, &mut Context::new(&mut Call::new(self.again(), head, until_ns)))
            }
            Item::End => {
                let tag = head.tag;
                operator.on_instance_end(tag, &mut Context::new(&mut Call::new(self.again(), head, until_ns)))
            }
            Item::Acknowledge => Ok(Flow::Ready),
        }
    }

    /// The operator of a vertex inside a scope has had its end.
    fn retire(&mut self, at: At) {
        self.take_out(at);
        self.seat_done(at);
    }
}
