//! Inputs of one machine: frames of the network, answers of truth, requests of a gate's handle; and who steps it with them.
//!
//! Idea: the thread that brings an input steps the machine with it. If another thread steps it at this moment, that thread takes the input too (flat combining:
//! Hendler, Incze, Shavit, Tzafrir, SPAA 2010). So an answer of a shard wakes one thread on its way, not three. The thread of the machine has the timers, and the
//! inputs of threads that hold locks.

use crate::addresses::Addresses;
use dataflow::watch::{self, Entered, Stopped, Watch};
use parking_lot::{Condvar, Mutex};
use protocol::{Input, wire};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering, fence};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;
use world::clock;
use world::fiber::Still;
use world::net::{self, Arrived, Net};

/// Inputs that one step takes.
pub(crate) const STEP_INPUTS_MAX: usize = 256;
/// Inputs from this process that wait for a step; one more is not taken.
const LOCAL_INPUTS_MAX: usize = 16_384;

thread_local! {
    /// This thread holds a machine: inputs that it puts go into its next step.
    static IS_STEPPING: Cell<bool> = const { Cell::new(false) };
    /// Until when this thread steps machines for others (of [`clock::monotonic_ns`]); 0 where it does not.
    static HELPS_UNTIL_NS: Cell<u64> = const { Cell::new(0) };
}

/// While it lives, its thread steps machines for others. One frame leads to the next within a process: all of them share the time of the first.
pub(crate) struct Helping {
    is_first: bool,
}

impl Helping {
    pub(crate) fn begin(longest: Duration) -> Helping {
        let is_first = HELPS_UNTIL_NS.get() == 0;
        if is_first {
            let since_ns = net::announcing_since_ns().unwrap_or_else(clock::monotonic_ns);
            HELPS_UNTIL_NS.set(since_ns.saturating_add(clock::span_ns(longest)));
        }
        Helping { is_first }
    }
    pub(crate) fn has_time(&self) -> bool {
        clock::monotonic_ns() < HELPS_UNTIL_NS.get()
    }
}

impl Drop for Helping {
    fn drop(&mut self) {
        if self.is_first {
            HELPS_UNTIL_NS.set(0);
        }
    }
}

/// Watches over a step: it is done for all, so it does not end with the query whose thread makes it, and is not charged to it.
struct NeverEnds;

impl Watch for NeverEnds {
    fn look(&self, _: u64) -> Result<(), Stopped> {
        Ok(())
    }
    fn charge(&self, _: u64) -> Result<(), Stopped> {
        Ok(())
    }
    fn release(&self, _: u64) {}
}

static NEVER_ENDS: LazyLock<Arc<NeverEnds>> = LazyLock::new(|| Arc::new(NeverEnds));

/// While it lives, its thread holds a machine, and no query on this thread pauses or ends.
pub(crate) struct Stepping {
    _still: Still,
    _watched: Entered,
}

impl Stepping {
    pub(crate) fn begin() -> Stepping {
        IS_STEPPING.set(true);
        Stepping { _still: Still::begin(), _watched: watch::enter(NEVER_ENDS.clone()) }
    }
}

impl Drop for Stepping {
    fn drop(&mut self) {
        IS_STEPPING.set(false);
    }
}

/// The queue of inputs for the next step of a machine.
pub(crate) struct Inputs {
    net: Box<dyn Net>,
    local: Mutex<VecDeque<Input>>,
    closed: AtomicBool,
    /// One more than the version of a frame that this program does not read; 0 while there was none.
    stranger: AtomicU16,
    /// Steps the machine on the calling thread; none where only its own thread steps it.
    step_here: OnceLock<Arrived>,
    /// An input came since the last step began.
    pending: AtomicBool,
    /// The thread of the machine has work.
    is_rung: Mutex<bool>,
    bell: Condvar,
}

impl Inputs {
    pub(crate) fn new(net: Box<dyn Net>) -> Inputs {
        Inputs {
            net,
            local: Mutex::default(),
            closed: AtomicBool::new(false),
            stranger: AtomicU16::new(0),
            step_here: OnceLock::new(),
            pending: AtomicBool::new(false),
            is_rung: Mutex::new(false),
            bell: Condvar::new(),
        }
    }
    pub(crate) fn net(&self) -> &dyn Net {
        &*self.net
    }
    /// Nothing more is taken.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.ring();
    }
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
    /// The version of a frame that came and that this program does not read.
    pub(crate) fn other_version(&self) -> Option<u8> {
        self.stranger.load(Ordering::Relaxed).checked_sub(1).map(|version| version as u8)
    }
    /// From now on the thread that brings an input steps the machine by this, if the network supports that. Set once.
    pub(crate) fn step_by(&self, step: Arrived, arrived: Arrived) {
        if self.net.on_arrival(arrived) {
            let _ = self.step_here.set(step);
        }
    }
    /// Do other threads step the machine than its own?
    pub(crate) fn is_stepped_here(&self) -> bool {
        self.step_here.get().is_some()
    }
    /// Wakes the thread of the machine; if it is not waiting, its next wait ends at once.
    pub(crate) fn ring(&self) {
        if self.is_stepped_here() {
            *self.is_rung.lock() = true;
            self.bell.notify_one();
        } else {
            self.net.wake();
        }
    }
    /// Waits for [`Inputs::ring`], at most until this time (of [`clock::monotonic_ns`]).
    pub(crate) fn await_ring(&self, until_ns: u64) {
        let left = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()));
        let mut is_rung = self.is_rung.lock();
        if !*is_rung && !left.is_zero() {
            self.bell.wait_for(&mut is_rung, left);
        }
        *is_rung = false;
    }
    /// An input came. A thread that then finds the machine locked may leave the input to the holder.
    pub(crate) fn mark(&self) {
        self.pending.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
    /// A step takes all inputs that have come.
    pub(crate) fn unmark(&self) {
        self.pending.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
    /// Did an input come since the last step began? To be called after the machine is unlocked.
    pub(crate) fn is_marked(&self) -> bool {
        fence(Ordering::SeqCst);
        self.pending.load(Ordering::Relaxed)
    }
    /// An input from this process, left to the thread of the machine. False where too many wait, or none is taken any more.
    pub(crate) fn put(&self, input: Input) -> bool {
        let is_put = self.put_quietly(input);
        match is_put && IS_STEPPING.get() {
            true => self.mark(),
            false if is_put => self.ring(),
            false => {}
        }
        is_put
    }
    /// As [`Inputs::put`], and this thread steps the machine, and others of this process. It must not hold a lock that a step of any of them takes, such
    /// as that of a [`crate::handle::TakeAnswer`].
    pub(crate) fn put_and_step(&self, input: Input) -> bool {
        let Some(step) = self.step_here.get().filter(|_| !IS_STEPPING.get()) else { return self.put(input) };
        let is_put = self.put_quietly(input);
        if is_put {
            step();
        }
        is_put
    }
    /// As [`Inputs::put`], for an input that may wait for the next step.
    pub(crate) fn put_aside(&self, input: Input) -> bool {
        if self.is_stepped_here() { self.put_quietly(input) } else { self.put(input) }
    }
    fn put_quietly(&self, input: Input) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use dataflow::watch::Limited;

    /// A shard's step on the thread of a query that was killed would leave a commit applied in part.
    #[test]
    fn a_step_does_not_end_with_the_query_of_its_thread() {
        let _query = watch::enter(Limited::new(Duration::ZERO, 0));
        assert!(watch::spend(u64::MAX).is_err());
        let stepping = Stepping::begin();
        assert!(watch::spend(u64::MAX).is_ok() && watch::spend_and_keep(1, 1 << 30).is_ok());
        drop(stepping);
        assert!(watch::spend(u64::MAX).is_err());
    }

    #[test]
    fn helpers_share_the_time_of_the_first() {
        let longest = Duration::from_secs(60);
        let first = Helping::begin(Duration::ZERO);
        let second = Helping::begin(longest);
        assert!(!first.has_time() && !second.has_time());
        drop(second);
        assert!(!first.has_time());
        drop(first);
        assert!(Helping::begin(longest).has_time());
    }
}
