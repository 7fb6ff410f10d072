//! Shared by gates, shards and the scribe: heartbeats to the keeper, and numbers for calls to truth.

use crate::limits::Timing;
use crate::message::{Body, Message, Node, Output};
use crate::truth::Call;

/// One life of a process.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) incarnation: u64,
    pub(crate) timing: Timing,
    pub(crate) outputs: Vec<Output>,
    next_token: u64,
    alive_us: Option<u64>,
    /// The last pulse of the keeper.
    pub(crate) pulse: u64,
}

impl Member {
    pub(crate) fn new(incarnation: u64, timing: Timing) -> Member {
        Member { incarnation, timing, outputs: Vec::new(), next_token: 0, alive_us: None, pulse: 0 }
    }
    pub(crate) fn send(&mut self, to: Node, epoch: u64, body: Body) {
        self.outputs.push(Output::Send { to, message: Message { epoch, body } });
    }
    /// Makes a call; answers its token.
    pub(crate) fn call(&mut self, call: Call) -> u64 {
        self.next_token += 1;
        self.outputs.push(Output::Call { token: self.next_token, call });
        self.next_token
    }
    /// Sends a heartbeat to the keeper, if it is due.
    pub(crate) fn beat(&mut self, now_us: u64, epoch: u64, ready: bool) {
        if self.alive_us.is_none_or(|last| now_us.saturating_sub(last) >= self.timing.heartbeat_us) {
            self.tell_keeper(now_us, epoch, ready);
        }
    }
    pub(crate) fn tell_keeper(&mut self, now_us: u64, epoch: u64, ready: bool) {
        self.alive_us = Some(now_us);
        let (incarnation, pulse) = (self.incarnation, self.pulse);
        self.send(Node::Keeper, epoch, Body::Alive { incarnation, ready, pulse });
    }
}
