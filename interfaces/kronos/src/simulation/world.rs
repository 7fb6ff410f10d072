//! The simulated world: nodes with disks and clocks of their own, a network for both messages and calls, and faults. One seed decides all.

use super::client::{Client, Heard};
use super::history::{Call, Observation, Operation, Returned, carry_out};
use super::witness::{Log, Witness};
use crate::machine::Shared;
use crate::node::Node;
use crate::server_core::{Core, Outward, Request};
use crate::service::{LEADER_KEY, Service};
use crossbeam_channel::Receiver;
use order::kronos::{GraphLimits, Machine};
use parking_lot::RwLock;
use replicate::{
    Input, Members, Replica, ReplicaId, ReplicaOptions, ReplicateError, StateMachine, replica_id,
};
use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::sync::oneshot;
use tonic::{Code, Status};
use world::chance::Chance;
use world::disk::{Disk, Faults, SimDisk};

const NODES: usize = 3;
const CLIENTS: usize = 5;
/// Virtual time of a step.
const STEP_MS: u64 = 10;
/// Steps in which everything comes together without faults: several elections.
const SETTLE_STEPS: u64 = 600;

/// A safeguard that is left out, to see whether that is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mutant {
    None,
    /// "Concurrent" and "unknown" are said without asking the leader.
    NoReadIndex,
    /// A request that comes again is carried out again.
    ForgetsRequests,
    /// A change is answered before a majority has it.
    AnswersAtOnce,
    /// Synced data may be lost with the power.
    LosesSynced,
}

impl Mutant {
    pub(super) const ALL: [Mutant; 4] =
        [Mutant::NoReadIndex, Mutant::ForgetsRequests, Mutant::AnswersAtOnce, Mutant::LosesSynced];
}

struct Server {
    core: Core<Witness>,
    service: Arc<Service>,
    inbox: Receiver<Request>,
    machine: Shared,
    attempts: Vec<Attempt>,
}

type Answer = Result<Observation, Status>;

/// A call as one server carries it out.
struct Attempt {
    call: usize,
    future: Pin<Box<dyn Future<Output = Answer>>>,
}

struct SimNode {
    address: String,
    disk: SimDisk,
    /// The disk as it was some time ago, for the mutant that loses synced data.
    old: SimDisk,
    server: Option<Server>,
    /// Steps until a killed process begins again.
    down: u64,
    /// Until when the process is stopped.
    stopped_until: u64,
    snapshot_due: bool,
    clock_ms: u64,
}

enum Transit {
    Message { from: usize, to: usize, bytes: Vec<u8> },
    Attempt { call: usize, to: usize },
    Answer { call: usize, answer: Answer },
}

pub(super) struct World {
    chance: Chance,
    now: u64,
    mutant: Mutant,
    nodes: Vec<SimNode>,
    flying: Vec<(u64, Transit)>,
    cut: BTreeSet<(usize, usize)>,
    clients: Vec<Client>,
    heard: Heard,
    moment: u64,
    pub(super) history: Vec<Call>,
    pub(super) log: Log,
    trace: u64,
    faults: bool,
}

impl World {
    pub(super) fn new(seed: u64, mutant: Mutant) -> World {
        let node = |at| SimNode {
            address: format!("node-{at}"),
            disk: SimDisk::new(),
            old: SimDisk::new(),
            server: None,
            down: 0,
            stopped_until: 0,
            snapshot_due: false,
            clock_ms: 1_000_000,
        };
        let mut world = World {
            chance: Chance::seeded(seed),
            now: 0,
            mutant,
            nodes: (0..NODES).map(node).collect(),
            flying: Vec::new(),
            cut: BTreeSet::new(),
            clients: (0..CLIENTS).map(|_| Client::default()).collect(),
            heard: Heard::default(),
            moment: 0,
            history: Vec::new(),
            log: Log::default(),
            trace: 0,
            faults: true,
        };
        (0..NODES).for_each(|at| world.start(at));
        world
    }

    fn start(&mut self, at: usize) {
        let (raft_chance, own_chance) = (self.chance.fork(), self.chance.fork());
        let node = &mut self.nodes[at];
        // Clocks are not alike, and a machine that begins again may have another one.
        node.clock_ms = 1_000_000 + self.chance.below(600);
        let machine = Shared(Arc::new(RwLock::new(Machine::new(GraphLimits::default()))));
        let witness =
            Witness { shared: machine.clone(), log: self.log.clone(), told: 0, mutant: self.mutant };
        let names: Vec<String> = (0..NODES).map(|at| format!("node-{at}")).collect();
        let options = ReplicaOptions {
            snapshot_bytes: 3_000,
            entries_kept: 5,
            segment_bytes: 2_000,
            ..ReplicaOptions::new(&node.address, Members::of(names.iter().map(String::as_str)))
        };
        let disk: Arc<dyn Disk> = Arc::new(node.disk.clone());
        (node.down, node.snapshot_due) = (20, false);
        match Replica::open(disk, Path::new("/replica"), options, witness, raft_chance) {
            Ok(replica) => {
                let (way, inbox) = Node::channel();
                let service = Arc::new(Service::new(way, machine.clone()));
                let core = Core::new(replica, machine.clone(), own_chance);
                node.server = Some(Server { core, service, inbox, machine, attempts: Vec::new() });
            }
            Err(error) => {
                assert!(disk_failed(&error), "{error}");
                node.disk = node.disk.crash(self.now);
            }
        }
    }

    /// The process ends; with `power`, unsynced data may be lost.
    fn end(&mut self, at: usize, power: bool) {
        let node = &mut self.nodes[at];
        node.server = None;
        node.disk = match power {
            true if self.mutant == Mutant::LosesSynced => node.old.copy(),
            true => node.disk.crash(self.now),
            false => node.disk.kill(),
        };
        (node.down, node.stopped_until) = (5 + self.chance.below(60), 0);
    }

    pub(super) fn step(&mut self, faults: bool) {
        self.now += 1;
        self.faults = faults;
        let due: Vec<usize> = (0..self.flying.len()).filter(|at| self.flying[*at].0 <= self.now).collect();
        for at in due.into_iter().rev() {
            let (_, transit) = self.flying.swap_remove(at);
            self.land(transit);
        }
        for at in 0..NODES {
            let node = &mut self.nodes[at];
            if node.server.is_none() {
                node.down -= 1;
                if node.down == 0 {
                    self.start(at);
                }
            } else if node.stopped_until <= self.now {
                self.work(at);
            }
        }
        (0..CLIENTS).for_each(|at| self.client(at));
        if faults {
            self.fail();
        }
        let state = (self.log.lock().len() + self.flying.len() * 7) as u64 + self.moment;
        self.trace = self.trace.wrapping_mul(31).wrapping_add(state);
    }

    fn land(&mut self, transit: Transit) {
        match transit {
            Transit::Message { from, to, bytes } if !self.cut.contains(&(from, to)) => {
                if let Some(server) = &self.nodes[to].server {
                    drop(server.service.node().send(Request::Input(Input::Message(bytes))));
                }
            }
            Transit::Message { .. } => {}
            Transit::Attempt { call, to } => {
                let Call { operation, session, request, .. } = self.history[call].clone();
                if let Some(server) = &mut self.nodes[to].server {
                    let future = carry_out(server.service.clone(), operation, session, request);
                    server.attempts.push(Attempt { call, future: Box::pin(future) });
                }
            }
            Transit::Answer { call, answer } => self.answered(call, answer),
        }
    }

    /// One step of a server's process.
    fn work(&mut self, at: usize) {
        let Some(mut server) = self.nodes[at].server.take() else { return };
        let mut answers = poll(&mut server.attempts);
        let requests: Vec<Request> = server.inbox.try_iter().collect();
        let requests: Vec<Request> =
            requests.into_iter().filter_map(|request| self.mutated(&server.machine, request)).collect();
        let tick = self.chance.below(8) != 0;
        let now_ms = self.nodes[at].clock_ms + self.now * STEP_MS;
        let stepped = server.core.step(now_ms, tick, requests);
        answers.extend(poll(&mut server.attempts));
        for (call, answer) in answers {
            self.fly(Transit::Answer { call, answer });
        }
        match stepped {
            Ok(outward) => {
                outward.into_iter().for_each(|one| self.carry_out(at, &server, one));
                if self.nodes[at].snapshot_due && self.chance.below(4) == 0 {
                    self.nodes[at].snapshot_due = false;
                    let state = server.core.replica().machine().snapshot();
                    drop(server.service.node().send(Request::Input(Input::Snapshot(state))));
                }
                self.nodes[at].server = Some(server);
            }
            Err(error) => {
                assert!(disk_failed(&error), "{error}");
                drop(server);
                self.end(at, true);
            }
        }
    }

    fn carry_out(&mut self, at: usize, server: &Server, outward: Outward) {
        match outward {
            Outward::TakeSnapshot => self.nodes[at].snapshot_due = true,
            Outward::Send { to, bytes, snapshot, .. } => {
                let arrived = self.send(at, to, bytes);
                if snapshot {
                    let sent = Input::SnapshotSent { to, arrived };
                    drop(server.service.node().send(Request::Input(sent)));
                }
            }
        }
    }

    fn send(&mut self, from: usize, to: ReplicaId, bytes: Vec<u8>) -> bool {
        let named = |node: &SimNode| replica_id(&node.address) == to;
        let to = self.nodes.iter().position(named).expect("nobody else is a member");
        !self.cut.contains(&(from, to)) && self.fly(Transit::Message { from, to, bytes })
    }

    /// Puts something on its way: it may be late, lost and doubled. Is it on its way?
    fn fly(&mut self, transit: Transit) -> bool {
        let lost = self.faults && self.chance.below(20) == 0;
        if lost {
            return false;
        }
        let double = match &transit {
            _ if self.chance.below(20) != 0 => None,
            Transit::Message { from, to, bytes } => {
                Some(Transit::Message { from: *from, to: *to, bytes: bytes.clone() })
            }
            Transit::Attempt { call, to } => Some(Transit::Attempt { call: *call, to: *to }),
            Transit::Answer { .. } => None,
        };
        for one in [Some(transit), double].into_iter().flatten() {
            let late = if self.chance.below(10) == 0 { 30 } else { 3 };
            self.flying.push((self.now + 1 + self.chance.below(late), one));
        }
        true
    }

    /// A mutant's version of a request.
    fn mutated(&self, machine: &Shared, request: Request) -> Option<Request> {
        match (self.mutant, request) {
            (Mutant::NoReadIndex, Request::Read { reply }) => {
                drop(reply.send(Ok(())));
                None
            }
            (Mutant::AnswersAtOnce, Request::Propose { session, request, command, reply }) => {
                let entry = order::kronos::Entry { now_ms: 0, session, request, command: command.clone() };
                let outcome = machine.0.read().clone().apply(entry);
                drop(reply.send(Ok(outcome)));
                Some(Request::Propose { session, request, command, reply: oneshot::channel().0 })
            }
            (_, request) => Some(request),
        }
    }

    fn client(&mut self, at: usize) {
        let client = &mut self.clients[at];
        match client.busy {
            Some(call) if self.now >= client.again_at => self.attempt(at, call, None),
            Some(_) => {}
            None if self.chance.below(3) == 0 => {
                let (operation, request) = client.next(&mut self.chance, &self.heard);
                self.moment += 1;
                let session = match operation {
                    Operation::Open { .. } => 0,
                    _ => client.session,
                };
                let called = self.moment;
                let call = Call { operation, session, request, called, returned: None, attempts: 0 };
                self.history.push(call);
                self.attempt(at, self.history.len() - 1, None);
            }
            None => {}
        }
    }

    /// Sends a call, to the server that leads if that was named.
    fn attempt(&mut self, client: usize, call: usize, leader: Option<usize>) {
        let to = leader.unwrap_or_else(|| self.chance.index(NODES));
        self.history[call].attempts += 1;
        self.clients[client].busy = Some(call);
        self.clients[client].again_at = self.now + 40 + self.chance.below(40);
        self.fly(Transit::Attempt { call, to });
    }

    fn answered(&mut self, call: usize, answer: Answer) {
        // The client may have died, or have had the answer from another attempt.
        let Some(at) = self.clients.iter().position(|client| client.busy == Some(call)) else { return };
        let seen = match answer {
            Err(status) if status.code() == Code::Unavailable => {
                let named = status.metadata().get(LEADER_KEY).and_then(|name| name.to_str().ok());
                let leader = self.nodes.iter().position(|node| Some(node.address.as_str()) == named);
                self.clients[at].again_at = self.now + 3 + self.chance.below(10);
                if leader.is_some() {
                    self.attempt(at, call, leader);
                }
                return;
            }
            Err(status) => Observation::Refused(status.code()),
            Ok(seen) => seen,
        };
        self.moment += 1;
        let applied = self.log.lock().len();
        self.history[call].returned = Some(Returned { at: self.moment, applied, seen: seen.clone() });
        self.clients[at].busy = None;
        let operation = self.history[call].operation.clone();
        self.clients[at].learn(&operation, &seen, &mut self.heard);
    }

    fn fail(&mut self) {
        let (at, other) = (self.chance.index(NODES), self.chance.index(NODES));
        if self.now.is_multiple_of(64) {
            self.nodes.iter_mut().for_each(|node| node.old = node.disk.copy());
        }
        let runs = self.nodes[at].server.is_some();
        let soon = Some(self.nodes[at].disk.operations() + 1 + self.chance.below(20));
        let faults = |faults: Faults| self.nodes[at].disk.set_faults(faults);
        match self.chance.below(400) {
            0..=2 => drop(self.cut.insert((at, other))),
            3 => self.cut = (0..NODES).flat_map(|one| [(at, one), (one, at)]).collect(),
            4..=9 => self.cut.clear(),
            10..=12 if runs => self.end(at, false),
            13 | 14 if runs => self.end(at, true),
            15 => faults(Faults { power_fails_at: soon, ..Faults::default() }),
            16 => faults(Faults { error_at: soon, ..Faults::default() }),
            17 => faults(Faults { full_at: soon, ..Faults::default() }),
            18..=20 => self.nodes[at].stopped_until = self.now + self.chance.below(80),
            _ => {}
        }
    }

    /// Without faults everything comes together and every call is answered.
    pub(super) fn settle(&mut self) {
        self.cut.clear();
        for node in &mut self.nodes {
            node.stopped_until = 0;
            node.disk.set_faults(Faults::default());
        }
        (0..SETTLE_STEPS).for_each(|_| self.step(false));
        // Nobody asks any more, and what was asked is answered.
        for _ in 0..SETTLE_STEPS {
            self.clients
                .iter_mut()
                .filter(|one| one.busy.is_none())
                .for_each(|one| one.busy = Some(usize::MAX));
            self.clients
                .iter_mut()
                .filter(|one| one.busy == Some(usize::MAX))
                .for_each(|one| one.again_at = u64::MAX);
            self.step(false);
        }
        let waits = |client: &Client| client.busy != Some(usize::MAX);
        assert!(!self.clients.iter().any(waits), "a call is never answered");
        let length = self.log.lock().len();
        for node in &self.nodes {
            let told = node.server.as_ref().map(|server| server.core.replica().machine().told);
            assert_eq!(told, Some(length), "{} did not catch up", node.address);
        }
    }

    /// The machines of all replicas.
    pub(super) fn machines(&self) -> impl Iterator<Item = &Shared> {
        self.nodes.iter().filter_map(|node| node.server.as_ref()).map(|server| &server.machine)
    }
    pub(super) fn trace(&self) -> u64 {
        self.trace
    }
}

/// Attempts that are done, with their answers.
fn poll(attempts: &mut Vec<Attempt>) -> Vec<(usize, Answer)> {
    let mut done = Vec::new();
    attempts.retain_mut(|attempt| {
        match attempt.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => true,
            Poll::Ready(answer) => {
                done.push((attempt.call, answer));
                false
            }
        }
    });
    done
}

fn disk_failed(error: &ReplicateError) -> bool {
    matches!(error, ReplicateError::Log(_) | ReplicateError::Disk(_))
}
