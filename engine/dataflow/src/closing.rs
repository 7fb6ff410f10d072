//! What is thrown away early: all that feeds a limit, a scope instance that has its answer, a loop that found what it looked for.
//!
//! Outside scopes everything thrown away is settled like work that was done, so completion stays exact: the closed vertices complete in
//! their order, from the sources down, and the limit gets its `on_completion`. Inside, an instance goes as a whole, with its operators,
//! their mailboxes and all instances within, at a cost of what is alive of it; nothing is sent and nobody is asked.

use crate::Message;
use crate::graph::Inner;
use crate::instance::Item;
use crate::local::{LocalQuery, drop_quietly};
use crate::progress::Account;
use crate::tree::ROOT;
use std::collections::VecDeque;

impl<M: Message> LocalQuery<M> {
    /// Some vertices and scopes were closed: drops their operators and messages, and the messages of the limit that closed them.
    pub(crate) fn purge_closed(&mut self) {
        let shared = self.shared.clone();
        for (place, member) in shared.graph.scopes[ROOT].members.iter().enumerate() {
            match (*member, self.tree.slot(ROOT, place)) {
                (Inner::Vertex(vertex), Some(slot)) if shared.progress.is_closed(vertex) => {
                    self.drop_closed(slot);
                }
                (Inner::Vertex(vertex), Some(slot)) if shared.progress.refuses(vertex) => {
                    self.drop_messages(slot);
                }
                (Inner::Scope(scope), _) if shared.progress.is_scope_closed(scope) => {
                    self.drop_crowd(ROOT, place);
                }
                _ => {}
            }
        }
    }

    /// Drops all work of an operator outside scopes whose vertex is closed, and settles its accounts.
    pub(crate) fn drop_closed(&mut self, slot: usize) {
        self.unschedule(slot);
        let instance = self.instance(slot);
        let vertex = instance.head.vertex;
        let charged = std::mem::take(&mut instance.head.charged);
        let mut open = std::mem::take(&mut instance.head.open);
        let operator = instance.operator.take();
        let mut accounts: Vec<Account> =
            instance.current.take().map(|(account, _)| account).into_iter().collect();
        accounts.extend(instance.held_completions.drain(..).map(|(_, account)| account));
        instance.open_gate();
        let inbox = std::mem::take(&mut instance.inbox);
        drop_quietly(operator);
        self.shared.ledger.release(vertex, charged);
        self.end_left_open(ROOT, &mut open);
        for item in inbox {
            match item {
                Item::Message(delivery) => self.discard(vertex, delivery),
                Item::Resume => accounts.push(Account::Work),
                Item::Completion(_, account) => accounts.push(account),
                Item::Acknowledge => accounts.push(Account::Ack),
                Item::End => {}
            }
        }
        accounts.into_iter().for_each(|account| self.shared.settle(vertex, account));
    }

    /// Drops the messages in a mailbox, nothing else.
    fn drop_messages(&mut self, slot: usize) {
        let instance = self.instance(slot);
        let vertex = instance.head.vertex;
        let held = std::mem::take(&mut instance.held);
        let (messages, rest): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut instance.inbox)
            .into_iter()
            .partition(|item| matches!(item, Item::Message(_)));
        instance.inbox = rest;
        if !instance.has_work() {
            self.unschedule(slot);
        }
        let messages = messages.into_iter().filter_map(|item| match item {
            Item::Message(delivery) => Some(delivery),
            _ => None,
        });
        messages.chain(held).for_each(|delivery| self.discard(vertex, delivery));
    }

    /// A vertex inside a scope needs no more input in this instance: what leads only to it goes.
    pub(crate) fn close_inputs(&mut self, vertex: usize, node: usize) {
        let shared = self.shared.clone();
        let there = &shared.graph.vertices[vertex];
        if std::mem::replace(&mut self.tree.seat(node, there.place).refuses, true) {
            return;
        }
        if let Some(slot) = self.tree.slot(node, there.place) {
            self.drop_messages(slot);
        }
        for place in &there.closes {
            self.tree.seat(node, *place).closed = true;
            self.empty_seat(node, *place);
            self.seat_done(node, *place);
        }
    }

    /// An instance is finished: it goes with all it holds.
    pub(crate) fn cancel_instance(&mut self, node: usize) {
        self.empty_node(node);
        self.instance_done(node);
    }

    /// All instances of a scope within one of its parent are finished; of a loop, no iteration follows.
    pub(crate) fn cancel_scope(&mut self, node: usize) {
        let there = self.tree.node(node);
        let (parent, scope) = (there.parent, there.scope);
        let place = self.shared.graph.scopes[scope].place;
        self.tree.seat(parent, place).refuses = self.shared.graph.scopes[scope].is_loop();
        self.drop_crowd(parent, place);
        let crowd = self.tree.crowd(parent, place);
        if parent != ROOT && crowd.entered {
            self.seat_done(parent, place);
        }
    }

    fn empty_node(&mut self, node: usize) {
        for place in 0..self.tree.node(node).seats.len() {
            self.empty_seat(node, place);
        }
    }

    fn empty_seat(&mut self, node: usize, place: usize) {
        if let Some(slot) = self.tree.slot(node, place) {
            self.take_out(slot);
        }
        if self.tree.seat(node, place).crowd.is_some() {
            self.drop_crowd(node, place);
        }
    }

    fn drop_crowd(&mut self, node: usize, place: usize) {
        while let Some(member) = self.tree.crowd(node, place).members.last().copied() {
            let member = member as usize;
            let scope = self.tree.node(member).scope;
            self.empty_node(member);
            self.tree.remove(&self.shared.graph.scopes, member);
            if node == ROOT {
                self.shared.instance_gone(scope);
            }
        }
    }
}
