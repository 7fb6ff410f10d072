//! What a limit throws away: the operators and messages of vertices it closed, and the messages still on their way to itself.
//!
//! Everything thrown away is settled like work that was done, so completion stays exact: the closed vertices complete in their order,
//! from the sources down, and the limit gets its `on_completion`.

use crate::Message;
use crate::instance::{Item, Place};
use crate::local::{LocalQuery, drop_quietly};
use crate::progress::Account;
use std::collections::VecDeque;

impl<M: Message> LocalQuery<M> {
    /// Some vertices were closed: drops their operators and messages, and the messages of the limit that closed them.
    pub(crate) fn purge_closed(&mut self) {
        for slot in 0..self.slots.len() {
            let Some(instance) = &self.slots[slot] else { continue };
            let vertex = instance.head.vertex;
            if self.shared.progress.is_closed(vertex) {
                self.drop_closed(slot);
            } else if self.shared.progress.refuses(vertex) {
                self.drop_messages(slot);
            }
        }
    }

    /// Drops all work of an instance whose vertex is closed, and settles its accounts.
    pub(crate) fn drop_closed(&mut self, slot: usize) {
        let instance = self.instance(slot);
        let vertex = instance.head.vertex;
        let charged = std::mem::take(&mut instance.head.charged);
        let operator = instance.operator.take();
        let mut accounts: Vec<Account> =
            instance.current.take().map(|(account, _)| account).into_iter().collect();
        accounts.extend(instance.held_completions.drain(..).map(|(_, account)| account));
        instance.open_gate();
        let inbox = std::mem::take(&mut instance.inbox);
        self.unschedule(slot);
        drop_quietly(operator);
        self.shared.ledger.release(vertex, charged);
        for item in inbox {
            match item {
                Item::Message(delivery) => self.discard(vertex, delivery),
                Item::Resume | Item::End => accounts.push(Account::Work),
                Item::Completion(_, account) => accounts.push(account),
                Item::Acknowledge => accounts.push(Account::Ack),
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

    fn unschedule(&mut self, slot: usize) {
        let instance = self.slots[slot].as_mut().expect("slots in the maps and queues are in use");
        let rank = self.shared.graph.vertices[instance.head.vertex].rank;
        match std::mem::replace(&mut instance.place, Place::Idle) {
            Place::Idle => {}
            Place::Waiting => self.waiting.retain(|other| *other != slot),
            Place::Ready => {
                self.ready[rank].retain(|other| *other != slot);
                if self.ready[rank].is_empty() {
                    self.ready_ranks[rank / 64] &= !(1 << (rank % 64));
                }
            }
        }
    }
}
