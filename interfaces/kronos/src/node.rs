//! Steps the replica: on the thread of a caller that finds it idle, or else on a thread of its own.
//!
//! Idea: a request goes into the inbox. Its sender takes the replica, if it is free, and steps it once with all waiting requests: so a lone call is
//! carried out on the thread that read it, and wakes no other one. If more requests have come meanwhile, the replica's thread goes on with them, so
//! that no call is held up by later ones. Where steps are slow, since the disk is, the replica's thread makes all of them: the reading threads have
//! other connections to serve. It also ticks. Invariants: every call that was taken is answered once, also where the replica ends; a request in the
//! inbox is seen by the thread that has the replica, or by the one that checks after it was released. A replica in which a step panicked is never
//! stepped again: it may be half changed. Cost: one sync of the log for all proposals that came while the last one ran.

use crate::machine::Shared;
use crate::peers::Outbox;
use crate::server_core::{Core, Outward, Request, Undelivered};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::Mutex;
use replicate::{Input, Replica, ReplicateError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::time::Duration;
use world::chance::Chance;
use world::clock::{Clock, RealClock, monotonic_ns, span_ns};
use world::failpoint;
use world::panics::caught;
use world::threads::{self, Signal, Thread};

/// Time between ticks: an election begins after 10 to 19 of them, heartbeats come every 2.
pub(crate) const TICK: Duration = Duration::from_millis(30);
/// Requests that wait for the replica; more are refused.
const INBOX_MAX: usize = 65_536;
/// Requests of one step at most, so that ticks are not late.
const STEP_INPUTS_MAX: usize = 4_096;

/// A caller steps the replica only while steps take no longer: a few syncs of a good disk.
const CALLER_STEP_NS_MAX: u64 = 1_000_000;

/// The way to the replica.
#[derive(Clone)]
pub(crate) struct Node {
    inbox: Sender<Request>,
    /// None where another thread has taken it.
    driven: Option<Arc<Driven>>,
}

struct Driven {
    driver: Mutex<Driver>,
    /// For the thread: there is more to do, or it has ended.
    wake: Signal,
    /// How long the latest step took that had anything to do.
    step_ns: AtomicU64,
    /// The rest of the inbox when the replica has ended: a channel keeps it as long as it has senders.
    inbox: Receiver<Request>,
    /// The replica has ended: a sender takes its request out of the inbox again.
    closed: AtomicBool,
}

impl Node {
    /// A way, and its other end.
    pub(crate) fn channel() -> (Node, Receiver<Request>) {
        let (inbox, receiver) = bounded(INBOX_MAX);
        (Node { inbox, driven: None }, receiver)
    }

    /// Starts the thread. It ends with [`Node::stop`], or with an error of the replica, which it returns.
    pub(crate) fn start(
        replica: Replica<Shared>,
        machine: Shared,
        outbox: Arc<Outbox>,
    ) -> (Node, Thread<Result<(), ReplicateError>>) {
        let (inbox, receiver) = bounded(INBOX_MAX);
        let core = Core::new(replica, machine.clone(), Chance::from_system());
        let running = Running {
            core,
            machine,
            outbox,
            inbox: receiver.clone(),
            snapshots: Vec::new(),
            snapshot_due: false,
            next_tick_ns: monotonic_ns(),
        };
        let driver = Mutex::new(Driver { running: Some(running), ended: Ok(()) });
        let driven = Arc::new(Driven {
            driver,
            wake: Signal::new(),
            step_ns: AtomicU64::new(0),
            inbox: receiver,
            closed: AtomicBool::new(false),
        });
        let node = Node { inbox, driven: Some(driven.clone()) };
        let own = node.clone();
        (node, threads::spawn("kronos-replica", move || own.run(&driven)))
    }

    /// Hands a request over, unless too much is waiting. Where the replica is idle and quick, the request has been taken when this returns.
    pub(crate) fn send(&self, request: Request) -> Result<(), Undelivered> {
        self.inbox.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => Undelivered::Busy,
            TrySendError::Disconnected(_) => Undelivered::Stopping,
        })?;
        let Some(driven) = &self.driven else { return Ok(()) };
        // Its fence also says: the request is in the inbox before the replica is found taken. The inbox is looked into after it was given back.
        if driven.clears_if_closed() {
            return Err(Undelivered::Stopping);
        }
        if driven.step_ns.load(Ordering::Relaxed) > CALLER_STEP_NS_MAX {
            driven.wake.raise();
            return Ok(());
        }
        let Some(mut driver) = driven.driver.try_lock() else { return Ok(()) };
        let is_left = driven.step(&mut driver, self);
        drop(driver);
        fence(Ordering::SeqCst);
        if is_left || !self.inbox.is_empty() {
            driven.wake.raise();
        }
        Ok(())
    }

    /// The same for requests that must not be lost: waits while the inbox is full.
    fn send_surely(&self, request: Request) {
        // An inbox that is gone needs nothing more.
        let _ = self.inbox.send(request);
        self.driven.iter().filter(|driven| !driven.clears_if_closed()).for_each(|driven| driven.wake.raise());
    }
    pub(crate) fn stop(&self) {
        self.send_surely(Request::Stop);
    }

    fn run(&self, driven: &Driven) -> Result<(), ReplicateError> {
        loop {
            let mut driver = driven.driver.lock();
            while driven.step(&mut driver, self) {}
            let Some(running) = &driver.running else { return std::mem::replace(&mut driver.ended, Ok(())) };
            let left = Duration::from_nanos(running.next_tick_ns.saturating_sub(monotonic_ns()));
            drop(driver);
            fence(Ordering::SeqCst);
            if self.inbox.is_empty() {
                driven.wake.wait_for(left);
            }
        }
    }
}

impl Driven {
    /// The replica has ended: waiting requests are dropped, and their callers get an error.
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.clears_if_closed();
    }

    /// Called behind each request that was put into the inbox. Either it sees that the replica has ended, or [`Driven::close`] sees the request.
    fn clears_if_closed(&self) -> bool {
        fence(Ordering::SeqCst);
        let closed = self.closed.load(Ordering::SeqCst);
        if closed {
            self.inbox.try_iter().for_each(drop);
        }
        closed
    }

    /// One step of the replica that the caller has. Is there anything left to do at once?
    fn step(&self, driver: &mut Driver, node: &Node) -> bool {
        let is_idle = node.inbox.is_empty();
        let begun_ns = monotonic_ns();
        let is_left = driver.step(node);
        if !is_idle {
            self.step_ns.store(monotonic_ns() - begun_ns, Ordering::Relaxed);
        }
        is_left
    }
}

struct Driver {
    /// Nothing once it has ended.
    running: Option<Running>,
    ended: Result<(), ReplicateError>,
}

struct Running {
    core: Core<Shared>,
    machine: Shared,
    outbox: Arc<Outbox>,
    inbox: Receiver<Request>,
    snapshots: Vec<Thread<()>>,
    /// A snapshot is to be taken, and the system has given no thread for it yet.
    snapshot_due: bool,
    next_tick_ns: u64,
}

impl Driver {
    /// One step with all that waits. Is there anything left to do at once, be it only to say how it ended?
    fn step(&mut self, node: &Node) -> bool {
        let Some(mut running) = self.running.take() else { return false };
        let stepped = caught(move || running.step(node).map(|goes_on| (goes_on, running)));
        self.ended = match stepped {
            Ok(Ok((true, running))) => {
                let is_left = !running.inbox.is_empty();
                self.running = Some(running);
                return is_left;
            }
            Ok(Ok((false, running))) => running.core.close(),
            Ok(Err(error)) => Err(error),
            Err(panicked) => Err(ReplicateError::Panicked(panicked)),
        };
        node.driven.iter().for_each(|driven| driven.close());
        true
    }
}

impl Running {
    /// Whether it goes on.
    fn step(&mut self, node: &Node) -> Result<bool, ReplicateError> {
        let requests: Vec<Request> = self.inbox.try_iter().take(STEP_INPUTS_MAX).collect();
        if requests.iter().any(|request| matches!(request, Request::Stop)) {
            return Ok(false);
        }
        let now_ns = monotonic_ns();
        let tick = now_ns >= self.next_tick_ns;
        if tick {
            // After a pause of the process one tick stands for all that were missed: the others did not hear from us either.
            self.next_tick_ns = now_ns + span_ns(TICK);
            self.snapshots.retain(|one| !one.is_finished());
            self.take_due_snapshot(node);
        }
        failpoint::visit("a step of the replica");
        for outward in self.core.step(now_ms(), tick, requests)? {
            self.carry_out(node, outward);
        }
        Ok(true)
    }

    fn carry_out(&mut self, node: &Node, outward: Outward) {
        match outward {
            Outward::Send { to, address, bytes, snapshot } => {
                self.outbox.send(node, to, address, bytes, snapshot);
            }
            Outward::TakeSnapshot => {
                self.snapshot_due = true;
                self.take_due_snapshot(node);
            }
        }
    }

    /// Takes the snapshot that is due on a thread of its own; where none can be had, the next tick tries again.
    fn take_due_snapshot(&mut self, node: &Node) {
        if !self.snapshot_due {
            return;
        }
        let (machine, node) = (self.machine.clone(), node.clone());
        let read = move || {
            let state = replicate::StateMachine::snapshot(&machine);
            node.send_surely(Request::Input(Input::Snapshot(state)));
        };
        if let Ok(thread) = threads::try_spawn("kronos-snapshot", read) {
            self.snapshots.push(thread);
            self.snapshot_due = false;
        }
    }
}

fn now_ms() -> u64 {
    RealClock.wall_us() / 1_000
}
