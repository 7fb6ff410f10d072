//! The replica's thread: takes what came in the meantime, steps the replica once, hands out what it wants done.
//!
//! Invariant: every call that was taken is answered once, also where the thread ends.
//! Cost: one sync of the log for all proposals that came while the last one ran.

use crate::machine::Shared;
use crate::peers::Outbox;
use crate::server_core::{Core, Outward, Request, Undelivered};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use replicate::{Input, Replica, ReplicateError};
use std::sync::Arc;
use std::time::Duration;
use world::chance::Chance;
use world::clock::{Clock, RealClock, monotonic_ns};
use world::threads::{self, Thread};

/// Time between ticks: an election begins after 10 to 19 of them, heartbeats come every 2.
pub(crate) const TICK: Duration = Duration::from_millis(30);
/// What waits for the thread; more is refused.
const INBOX_MAX: usize = 65_536;
/// What one step takes at the most, so that ticks are not late.
const STEP_INPUTS_MAX: usize = 4_096;

/// The way to the replica's thread.
#[derive(Clone)]
pub(crate) struct Node {
    inbox: Sender<Request>,
}

impl Node {
    /// A way, and its other end.
    pub(crate) fn channel() -> (Node, Receiver<Request>) {
        let (inbox, receiver) = bounded(INBOX_MAX);
        (Node { inbox }, receiver)
    }

    /// Starts the thread. It ends with [`Node::stop`], or with an error of the replica, which it returns.
    pub(crate) fn start(
        replica: Replica<Shared>,
        machine: Shared,
        outbox: Arc<Outbox>,
    ) -> (Node, Thread<Result<(), ReplicateError>>) {
        let (node, inbox) = Node::channel();
        let own = node.clone();
        let run = move || {
            let core = Core::new(replica, machine.clone(), Chance::from_system());
            Driver { core, machine, outbox, node: own, inbox, snapshots: Vec::new() }.run()
        };
        (node, threads::spawn("kronos-replica", run))
    }

    /// Hands a request over, unless too much is waiting.
    pub(crate) fn send(&self, request: Request) -> Result<(), Undelivered> {
        self.inbox.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => Undelivered::Busy,
            TrySendError::Disconnected(_) => Undelivered::Stopping,
        })
    }
    pub(crate) fn stop(&self) {
        // A full inbox is emptied in a moment; a closed one has stopped.
        let _ = self.inbox.send(Request::Stop);
    }
}

struct Driver {
    core: Core<Shared>,
    machine: Shared,
    outbox: Arc<Outbox>,
    node: Node,
    inbox: Receiver<Request>,
    snapshots: Vec<Thread<()>>,
}

impl Driver {
    fn run(mut self) -> Result<(), ReplicateError> {
        let mut next_tick_ns = monotonic_ns();
        loop {
            let left = Duration::from_nanos(next_tick_ns.saturating_sub(monotonic_ns()));
            let requests = match self.inbox.recv_timeout(left) {
                Ok(first) => {
                    let more = self.inbox.try_iter().take(STEP_INPUTS_MAX - 1);
                    std::iter::once(first).chain(more).collect()
                }
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return self.core.close(),
            };
            if requests.iter().any(|request| matches!(request, Request::Stop)) {
                return self.core.close();
            }
            let now_ns = monotonic_ns();
            let tick = now_ns >= next_tick_ns;
            if tick {
                // After a pause of the process one tick stands for all that were missed: the others did not hear from us either.
                next_tick_ns = now_ns + TICK.as_nanos() as u64;
                self.snapshots.retain(|one| !one.is_finished());
            }
            for outward in self.core.step(now_ms(), tick, requests)? {
                self.carry_out(outward);
            }
        }
    }

    fn carry_out(&mut self, outward: Outward) {
        match outward {
            Outward::Send { to, address, bytes, snapshot } => {
                self.outbox.send(&self.node, to, address, bytes, snapshot);
            }
            Outward::TakeSnapshot => {
                let (machine, node) = (self.machine.clone(), self.node.clone());
                let read = move || {
                    let state = replicate::StateMachine::snapshot(&machine);
                    // Blocks while the inbox is full; an inbox that is gone needs no snapshot.
                    drop(node.inbox.send(Request::Input(Input::Snapshot(state))));
                };
                self.snapshots.push(threads::spawn("kronos-snapshot", read));
            }
        }
    }
}

fn now_ms() -> u64 {
    RealClock.wall_us() / 1_000
}
