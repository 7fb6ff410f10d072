//! A station: one operator on one executor, with its mailbox, its accounts and its status.
//!
//! The mailbox is one queue for all ports, so that what arrives on a channel stays in order, the ends of scope instances included.
//! Messages on ports that must wait for others (`port_order`) are buffered until the gate opens. The operator itself is made on its
//! first call, not on the first message, so that a panicking factory is caught like any call.
//!
//! A station stays in its seat when the scope instance is over, with its mailbox and, if it can serve again, its operator: the next
//! instance that takes the seat allocates nothing.

use crate::accounting::tablets::NO_TABLET;
use crate::executors::tree::ROOT;
use crate::queries::level::Account;
use crate::{Message, Operator, Tag};
use std::collections::VecDeque;

/// The reasons for which an operator is called.
pub(crate) enum Item<M> {
    Message(Delivery<M>),
    /// `resume`: a source at the start, or a peer's invitation.
    Resume,
    /// `on_completion`; `Account::Ack` if the executor was asked to acknowledge, `Free` if the operator came late.
    Completion(usize, Account),
    /// Acknowledge, once all earlier items are done.
    Acknowledge,
    /// `on_instance_end`.
    End,
}

/// A message in a mailbox, and how it was counted.
pub(crate) struct Delivery<M> {
    pub(crate) port: usize,
    pub(crate) tablet: u32,
    pub(crate) message: M,
    /// Counted at the port's bounded queue.
    pub(crate) counted: bool,
    /// Bytes charged because the queue has no bound.
    pub(crate) charged: u64,
}

/// Where an operator is to be found by the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperatorLocation {
    Idle,
    Ready,
    Waiting,
    /// Until its waker is called.
    Parked,
}

/// Requests of an operator that are carried out after its call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wish {
    #[default]
    None,
    /// It needs no more input.
    CloseInputs,
    /// Its scope instance is finished.
    FinishInstance,
    /// All instances of its scope within the enclosing instance are finished.
    FinishScope,
}

/// A scope instance that an ingress opened and has not ended on this edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) edge: u32,
    pub(crate) node: u32,
    pub(crate) number: u32,
}

/// The part that a call may change while the operator itself is borrowed.
pub(crate) struct Head {
    pub(crate) vertex: usize,
    pub(crate) tag: Tag,
    /// The scope instance it sits in.
    pub(crate) node: usize,
    /// Bytes charged and not released.
    pub(crate) charged: u64,
    pub(crate) open: Vec<Opened>,
    pub(crate) wish: Wish,
    /// The tablet of the message it was last called for.
    pub(crate) tablet: u32,
    /// Number of the waker that it asked for in this call.
    pub(crate) ticket: Option<u64>,
}

pub(crate) struct Station<M: Message> {
    pub(crate) head: Head,
    pub(crate) operator: Option<Box<dyn Operator<M>>>,
    pub(crate) inbox: VecDeque<Item<M>>,
    /// Messages behind the gate.
    pub(crate) held: VecDeque<Delivery<M>>,
    pub(crate) gate_open: bool,
    /// Ends of ports behind the gate: an operator hears of a later port's end after the earlier ports'.
    pub(crate) held_completions: Vec<(usize, Account)>,
    /// How the unfinished call was counted, and whether it ends the scope instance on this executor.
    pub(crate) current: Option<(Account, bool)>,
    pub(crate) place: OperatorLocation,
    /// Ports whose completion was put into the inbox, and ports whose completion it was called for.
    pub(crate) completions: u32,
    pub(crate) told: u32,
    /// The end of its scope instance was put into the inbox.
    pub(crate) ending: bool,
}

impl<M: Message> Station<M> {
    pub(crate) fn new() -> Station<M> {
        let (vertex, tag, node) = (0, Tag::ROOT, ROOT);
        Station {
            head: Head {
                vertex,
                tag,
                node,
                charged: 0,
                open: Vec::new(),
                wish: Wish::None,
                tablet: NO_TABLET,
                ticket: None,
            },
            operator: None,
            inbox: VecDeque::new(),
            held: VecDeque::new(),
            gate_open: true,
            held_completions: Vec::new(),
            current: None,
            place: OperatorLocation::Idle,
            completions: 0,
            told: 0,
            ending: false,
        }
    }

    /// Takes up work in a scope instance; the earlier content was taken out.
    pub(crate) fn move_in(&mut self, vertex: usize, tag: Tag, node: usize, gate_open: bool) {
        (self.head.vertex, self.head.tag, self.head.node) = (vertex, tag, node);
        (self.gate_open, self.completions, self.told, self.ending) = (gate_open, 0, 0, false);
    }

    /// Empties it for the next; the operator stays.
    pub(crate) fn move_out(&mut self) {
        (self.head.charged, self.head.wish, self.head.ticket) = (0, Wish::None, None);
        self.head.tablet = NO_TABLET;
        self.head.open.clear();
        self.inbox.clear();
        self.held.clear();
        self.held_completions.clear();
        self.current = None;
        self.place = OperatorLocation::Idle;
    }

    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.current.is_some() || !self.inbox.is_empty()
    }

    /// True if it has had the end of all its `ports`, or has none, and its mailbox is empty.
    #[inline]
    pub(crate) fn had_all(&self, ports: usize) -> bool {
        self.inbox.is_empty()
            && self.held_completions.is_empty()
            && u64::from(self.completions) == (1_u64 << ports) - 1
    }

    /// Releases the buffered messages.
    pub(crate) fn open_gate(&mut self) {
        if !self.gate_open {
            self.gate_open = true;
            self.inbox.extend(self.held.drain(..).map(Item::Message));
        }
    }
}
