//! Early termination: all work that feeds a limit, a scope instance that has its answer, a loop that found its goal.
//!
//! Outside scopes, and in instances that span executors, all dropped work is settled like work that was done, so completion stays exact: the closed
//! vertices complete in their order, from the sources down, and the limit gets its end. Other instances are dropped as a whole, with their operators,
//! mailboxes and inner instances, at a cost proportional to their live parts, without messages.

use crate::Message;
use crate::executors::local::{QueryAccess, drop_quietly};
use crate::executors::station::Item;
use crate::executors::tree::At;
use crate::graphs::graph::Inner;
use crate::queries::level::{Account, Level};
use std::collections::VecDeque;

impl<M: Message> QueryAccess<'_, M> {
    /// Some vertices and scopes were closed: drops their operators and messages, and the messages of the limit that closed them.
    pub(crate) fn purge_closed(&mut self, level: &Level) {
        let Some(node) = self.node_if(level) else { return };
        let scopes = &self.shared.graph.scopes;
        for (place, member) in scopes[level.scope].members.iter().enumerate() {
            let at = At { node, place };
            match (*member, self.local.tree.is_occupied(at)) {
                (Inner::Vertex(_), true) if level.is_closed(place) => self.drop_closed(at),
                (Inner::Vertex(_), true) if level.refuses(place) => self.drop_messages(at),
                // What spans executors is told by itself.
                (Inner::Scope(scope), _) if level.is_closed(place) && !scopes[scope].wide => {
                    self.drop_crowd(at)
                }
                _ => {}
            }
        }
    }

    /// Drops all work of an operator whose vertex is closed, and settles its accounts.
    pub(crate) fn drop_closed(&mut self, at: At) {
        self.unschedule(at);
        self.end_left_open(at);
        let station = self.local.tree.station(at);
        let vertex = station.head.vertex;
        let charged = std::mem::take(&mut station.head.charged);
        let operator = station.operator.take();
        let mut accounts: Vec<Account> =
            station.current.take().map(|(account, _)| account).into_iter().collect();
        accounts.extend(station.held_completions.drain(..).map(|(_, account)| account));
        station.open_gate();
        let inbox = std::mem::take(&mut station.inbox);
        drop_quietly(operator);
        self.shared.ledger.release(vertex, charged);
        for item in inbox {
            match item {
                Item::Message(delivery) => self.discard(at.node, vertex, delivery),
                Item::Resume => accounts.push(Account::Work),
                Item::Completion(_, account) => accounts.push(account),
                Item::Acknowledge => accounts.push(Account::Ack),
                Item::End => {}
            }
        }
        accounts.into_iter().for_each(|account| self.settle(at.node, vertex, account));
    }

    /// Drops the messages in a mailbox, nothing else.
    fn drop_messages(&mut self, at: At) {
        let station = self.local.tree.station(at);
        let vertex = station.head.vertex;
        let held = std::mem::take(&mut station.held);
        let (messages, rest): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut station.inbox).into_iter().partition(|item| matches!(item, Item::Message(_)));
        station.inbox = rest;
        if !station.has_work() {
            self.unschedule(at);
        }
        let messages = messages.into_iter().filter_map(|item| match item {
            Item::Message(delivery) => Some(delivery),
            _ => None,
        });
        messages.chain(held).for_each(|delivery| self.discard(at.node, vertex, delivery));
    }

    /// A vertex needs no more input: drops all work that leads only to it.
    pub(crate) fn close_inputs(&mut self, vertex: usize, node: usize) {
        // Executors are told; this one need not wait for that.
        if let Some(level) = self.level(node).cloned() {
            return self.purge_closed(&level);
        }
        let there = &self.shared.graph.vertices[vertex];
        let at = At { node, place: there.place };
        if std::mem::replace(&mut self.local.tree.seat(at).refuses, true) {
            return;
        }
        if self.local.tree.is_occupied(at) {
            self.drop_messages(at);
        }
        for place in &there.closes {
            let at = At { node, place: *place };
            self.local.tree.seat(at).closed = true;
            self.empty_seat(at);
            self.seat_done(at);
        }
    }

    /// An instance is finished: it goes with all it holds.
    pub(crate) fn cancel_instance(&mut self, node: usize) {
        if let Some(level) = self.level(node) {
            let level = level.clone();
            self.shared.cancel_level(&level);
            return self.purge_closed(&level);
        }
        self.local.tally.scope(self.local.tree.node(node).scope).cancelled += 1;
        self.empty_node(node);
        self.instance_done(node);
    }

    /// All instances of a scope within one of its parent are finished; of a loop, no iteration follows.
    pub(crate) fn cancel_scope(&mut self, node: usize) {
        let there = self.local.tree.node(node);
        let (parent, scope) = (there.parent, &self.shared.graph.scopes[there.scope]);
        if let Some(level) = self.level(parent).filter(|_| scope.wide) {
            return self.shared.finish_scope(level, there.scope);
        }
        let at = At { node: parent, place: scope.place };
        self.local.tree.seat(at).refuses = scope.is_loop();
        self.drop_crowd(at);
        if self.level(parent).is_none() && self.local.tree.crowd(parent, scope.place).entered {
            self.seat_done(at);
        }
    }

    pub(crate) fn empty_node(&mut self, node: usize) {
        for place in 0..self.local.tree.node(node).seats.len() {
            self.empty_seat(At { node, place });
        }
    }

    fn empty_seat(&mut self, at: At) {
        if self.local.tree.is_occupied(at) {
            self.take_out(at);
        }
        if self.local.tree.seat(at).crowd.is_some() {
            self.drop_crowd(at);
        }
    }

    fn drop_crowd(&mut self, at: At) {
        while let Some(member) = self.local.tree.crowd(at.node, at.place).members.last().copied() {
            let member = member as usize;
            self.local.tally.scope(self.local.tree.node(member).scope).cancelled += 1;
            self.empty_node(member);
            self.remove_node(member);
        }
    }
}
