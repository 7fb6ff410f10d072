//! The replica's thread: takes what came in the meantime, steps the replica once, hands out what it wants done.
//!
//! Invariant: every call that was taken is answered once, also where the thread ends.
//! Cost: one sync of the log for all proposals that came while the last one ran.

use crate::machine::{Outcome, Shared, decode_outcome};
use crate::peers::Outbox;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use order::kronos::{Command, Entry, SHARED_SESSION, SessionId};
use replicate::{Input, MemberChange, Output, Replica, Status, Undone};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use world::chance::Chance;
use world::clock::{Clock, RealClock, monotonic_ns};
use world::threads::{self, Thread};

/// Time between ticks: an election begins after 10 to 19 of them, heartbeats come every 2.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// What waits for the thread; more is refused.
const INBOX_MAX: usize = 65_536;
/// What one step takes at the most, so that ticks are not late.
const STEP_INPUTS_MAX: usize = 4_096;

/// Why a call has no outcome.
#[derive(Clone, Debug)]
pub(crate) enum Undelivered {
    /// As the replica says.
    Undone(Undone),
    /// Too much is waiting.
    Busy,
    /// The server ends.
    Stopping,
}

/// Something for the replica's thread.
pub(crate) enum Request {
    Propose {
        session: SessionId,
        request: u64,
        command: Command,
        reply: oneshot::Sender<Result<Outcome, Undelivered>>,
    },
    Read {
        reply: oneshot::Sender<Result<(), Undelivered>>,
    },
    Change {
        change: MemberChange,
        reply: oneshot::Sender<Result<(), Undelivered>>,
    },
    Status {
        reply: oneshot::Sender<Status>,
    },
    Input(Input),
    Stop,
}

/// The way to the replica's thread.
#[derive(Clone)]
pub(crate) struct Node {
    inbox: Sender<Request>,
}

impl Node {
    /// Starts the thread. It ends with [`Node::stop`], or with an error of the replica, which it returns.
    pub(crate) fn start(
        replica: Replica<Shared>,
        outbox: Arc<Outbox>,
    ) -> (Node, Thread<Result<(), replicate::ReplicateError>>) {
        let (sender, receiver) = bounded(INBOX_MAX);
        let node = Node { inbox: sender };
        let own = node.clone();
        let run = move || Driver::new(replica, outbox, own, receiver).run();
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

enum Waiting {
    Proposal(oneshot::Sender<Result<Outcome, Undelivered>>),
    Read(oneshot::Sender<Result<(), Undelivered>>),
    Change(oneshot::Sender<Result<(), Undelivered>>),
    /// The thread's own.
    Nobody,
}

struct Driver {
    replica: Replica<Shared>,
    outbox: Arc<Outbox>,
    node: Node,
    inbox: Receiver<Request>,
    waiting: HashMap<u64, Waiting>,
    next_token: u64,
    next_tick_ns: u64,
    led: bool,
    expiring: bool,
    chance: Chance,
    snapshots: Vec<Thread<()>>,
}

impl Driver {
    fn new(replica: Replica<Shared>, outbox: Arc<Outbox>, node: Node, inbox: Receiver<Request>) -> Driver {
        Driver {
            replica,
            outbox,
            node,
            inbox,
            waiting: HashMap::new(),
            next_token: 1,
            next_tick_ns: monotonic_ns(),
            led: false,
            expiring: false,
            chance: Chance::from_system(),
            snapshots: Vec::new(),
        }
    }

    fn run(mut self) -> Result<(), replicate::ReplicateError> {
        loop {
            let mut inputs = Vec::new();
            let left = Duration::from_nanos(self.next_tick_ns.saturating_sub(monotonic_ns()));
            match self.inbox.recv_timeout(left) {
                Ok(first) => {
                    let more: Vec<Request> = self.inbox.try_iter().take(STEP_INPUTS_MAX - 1).collect();
                    for request in std::iter::once(first).chain(more) {
                        if matches!(request, Request::Stop) {
                            self.answer_all_stopping();
                            return self.replica.close();
                        }
                        self.take(request, &mut inputs);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.replica.close(),
            }
            self.tick(&mut inputs);
            match self.replica.step(inputs) {
                Ok(outputs) => outputs.into_iter().for_each(|output| self.carry_out(output)),
                Err(error) => {
                    self.answer_all_stopping();
                    return Err(error);
                }
            }
        }
    }

    fn tick(&mut self, inputs: &mut Vec<Input>) {
        let now_ns = monotonic_ns();
        if now_ns < self.next_tick_ns {
            return;
        }
        // After a pause of the process one tick stands for all that were missed: the others did not hear from us either.
        self.next_tick_ns = now_ns + TICK.as_nanos() as u64;
        inputs.push(Input::Tick);
        self.snapshots.retain(|one| !one.is_finished());
        let leads = self.replica.leads();
        if leads && !self.led {
            let nonce = self.chance.next_u64() as u32;
            self.propose_own(Command::Lead { nonce }, inputs);
        }
        self.led = leads;
        let over = || self.replica.machine().0.read().is_expiry_due(now_ms());
        if leads && !self.expiring && over() {
            self.expiring = true;
            self.propose_own(Command::Expire, inputs);
        }
    }

    fn propose_own(&mut self, command: Command, inputs: &mut Vec<Input>) {
        let token = self.token(Waiting::Nobody);
        inputs.push(propose(token, SHARED_SESSION, 0, command));
    }

    fn token(&mut self, waiting: Waiting) -> u64 {
        let token = self.next_token;
        self.next_token += 1;
        self.waiting.insert(token, waiting);
        token
    }

    fn take(&mut self, request: Request, inputs: &mut Vec<Input>) {
        match request {
            Request::Propose { session, request, command, reply } => {
                let token = self.token(Waiting::Proposal(reply));
                inputs.push(propose(token, session, request, command));
            }
            Request::Read { reply } => {
                let token = self.token(Waiting::Read(reply));
                inputs.push(Input::Read { token });
            }
            Request::Change { change, reply } => {
                let token = self.token(Waiting::Change(reply));
                inputs.push(Input::Change { token, change });
            }
            // Whoever asked may be gone.
            Request::Status { reply } => drop(reply.send(self.replica.status())),
            Request::Input(input) => inputs.push(input),
            Request::Stop => {}
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Send { to, bytes, snapshot } => {
                let address = self.replica.address(to).map(String::from);
                self.outbox.send(&self.node, to, address, bytes, snapshot);
            }
            Output::Proposed { token, outcome } => self.proposed(token, outcome),
            Output::Read { token, outcome } => {
                if let Some(Waiting::Read(reply)) = self.waiting.remove(&token) {
                    drop(reply.send(outcome.map_err(Undelivered::Undone)));
                }
            }
            Output::TakeSnapshot => {
                let (machine, node) = (self.replica.machine().clone(), self.node.clone());
                let read = move || {
                    let state = replicate::StateMachine::snapshot(&machine);
                    // Blocks while the inbox is full; an inbox that is gone needs no snapshot.
                    drop(node.inbox.send(Request::Input(Input::Snapshot(state))));
                };
                self.snapshots.push(threads::spawn("kronos-snapshot", read));
            }
        }
    }

    fn proposed(&mut self, token: u64, outcome: Result<Vec<u8>, Undone>) {
        match self.waiting.remove(&token) {
            Some(Waiting::Proposal(reply)) => {
                let decoded = outcome
                    .map_err(Undelivered::Undone)
                    .map(|bytes| decode_outcome(&bytes).expect("the machine of this process wrote it"));
                drop(reply.send(decoded));
            }
            Some(Waiting::Change(reply)) => {
                drop(reply.send(outcome.map(|_| ()).map_err(Undelivered::Undone)));
            }
            Some(Waiting::Nobody) => self.expiring = false,
            Some(Waiting::Read(_)) | None => {}
        }
    }

    fn answer_all_stopping(&mut self) {
        for (_, waiting) in self.waiting.drain() {
            match waiting {
                Waiting::Proposal(reply) => drop(reply.send(Err(Undelivered::Stopping))),
                Waiting::Read(reply) | Waiting::Change(reply) => drop(reply.send(Err(Undelivered::Stopping))),
                Waiting::Nobody => {}
            }
        }
    }
}

fn propose(token: u64, session: SessionId, request: u64, command: Command) -> Input {
    let entry = Entry { now_ms: now_ms(), session, request, command };
    Input::Propose { token, entry: postcard::to_allocvec(&entry).expect("entries are plain data") }
}

fn now_ms() -> u64 {
    RealClock.wall_us() / 1_000
}
