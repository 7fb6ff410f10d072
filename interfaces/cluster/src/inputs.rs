//! Inputs of one machine: frames of the network, answers of truth, requests of a gate's handle.

use crate::addresses::Addresses;
use parking_lot::Mutex;
use protocol::{Input, wire};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;
use world::net::Net;

/// Inputs that one step takes.
const STEP_INPUTS_MAX: usize = 256;
/// Inputs from this process that wait for a step; one more is not taken.
const LOCAL_INPUTS_MAX: usize = 16_384;

/// The queue of inputs for the next step of a machine.
pub(crate) struct Inputs {
    net: Box<dyn Net>,
    local: Mutex<VecDeque<Input>>,
    closed: AtomicBool,
    /// One more than the version of a frame that this program does not read; 0 while there was none.
    stranger: AtomicU16,
}

impl Inputs {
    pub(crate) fn new(net: Box<dyn Net>) -> Inputs {
        Inputs { net, local: Mutex::default(), closed: AtomicBool::new(false), stranger: AtomicU16::new(0) }
    }
    pub(crate) fn net(&self) -> &dyn Net {
        &*self.net
    }
    /// Nothing more is taken.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.net.wake();
    }
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
    /// The version of a frame that came and that this program does not read.
    pub(crate) fn other_version(&self) -> Option<u8> {
        self.stranger.load(Ordering::Relaxed).checked_sub(1).map(|version| version as u8)
    }
    /// An input from this process. False where too many wait, or none is taken any more.
    pub(crate) fn put(&self, input: Input) -> bool {
        if self.is_closed() {
            return false;
        }
        let mut local = self.local.lock();
        // Answers of truth, and ends of reads, have as many places again: there are fewer of them than calls and reads.
        let is_end = matches!(input, Input::Answer { .. } | Input::Close(_));
        let limit = if is_end { 2 * LOCAL_INPUTS_MAX } else { LOCAL_INPUTS_MAX };
        if local.len() >= limit {
            return false;
        }
        local.push_back(input);
        drop(local);
        self.net.wake();
        true
    }
    /// Takes the queued inputs; waits for one, but at most for `longest`. Frames of unknown senders are ignored.
    pub(crate) fn take(&self, longest: Duration, addresses: &Addresses) -> Vec<Input> {
        let mut inputs = Vec::new();
        let waits = self.local.lock().is_empty();
        let mut next = self.net.receive(if waits { longest } else { Duration::ZERO });
        while let Some(frame) = next {
            match wire::decode(&frame) {
                Some((from, message)) if !addresses.of(from).is_empty() => {
                    inputs.push(Input::Message { from, message });
                }
                Some(_) => {}
                None => {
                    if let Some(version) = wire::other_version(&frame) {
                        self.stranger.store(u16::from(version) + 1, Ordering::Relaxed);
                    }
                }
            }
            next = if inputs.len() < STEP_INPUTS_MAX { self.net.receive(Duration::ZERO) } else { None };
        }
        let mut local = self.local.lock();
        let count = local.len().min(STEP_INPUTS_MAX);
        inputs.extend(local.drain(..count));
        inputs
    }
}
