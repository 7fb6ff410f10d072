//! Time, the network, truth's latency, and faults: one queue of events, one seed.

use super::client::Client;
use super::toy::{Content, Store, answer, decode, queried};
use super::verify::Verifier;
use super::{Faults, Run, Setup};
use histories::history::{History, Observed};
use order::Stamp;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use tanglewood_protocol::message::Body;
use tanglewood_protocol::{
    Bytes, Call, Gate, Input, Keeper, MemoryTruth, Message, Node, Oracle, Output, Reply, Scribe, Shard,
    ShardPoint, Timing, Truth, Unknown, perform,
};
use world::chance::Chance;

/// Time between two ticks of a process.
const TICK_US: u64 = 500;
/// A history that lasts longer is stuck.
const TIME_MAX_US: u64 = 2_000_000;
/// When faults end at the latest, and the last reads begin.
pub(super) const FAULTS_UNTIL_US: u64 = 60_000;

const TIMING: Timing = Timing { heartbeat_us: 1_000, lease_us: 4_000, resend_us: 1_000, tau_us: None };

pub(super) enum Wire {
    Protocol(Message),
    /// Shard to shard: the content of a chunk that came to me with this version.
    Fetch(u32, u64),
    Content(u32, u64, Content),
}

enum Event {
    Tick(Node, u64),
    Deliver {
        from: Node,
        to: Node,
        wire: Box<Wire>,
    },
    /// A call reaches truth, and its answer goes to this life of a process, unless nobody waits for it.
    Carry {
        node: Node,
        life: u64,
        token: u64,
        call: Box<Call>,
        answers: bool,
    },
    Answer {
        node: Node,
        life: u64,
        token: u64,
        answer: Box<Result<Reply, Unknown>>,
    },
    Wake(usize),
    Kill(Node),
    Start(Node),
    Cut(Node),
    Heal(Node),
}

struct Due {
    at: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

/// A query that waits for the content of a chunk.
struct Parked {
    gate: u16,
    epoch: u64,
    request: u64,
    commit_version: u64,
    query: Bytes,
}

pub(super) struct Host {
    shard: Shard,
    store: Store,
    parked: Vec<Parked>,
    epoch: u64,
}

enum Process {
    Gate(Box<Gate>),
    Shard(Box<Host>),
    Oracle(Box<Oracle>),
    Scribe(Box<Scribe>),
    Keeper(Box<Keeper>),
}

struct Running {
    process: Option<Process>,
    life: u64,
    /// Its clock runs so many millionths faster, and is so much ahead.
    drift: i64,
    ahead: u64,
    /// What was killed and keeps its state: the replicated oracle.
    kept: Option<Process>,
}

pub(super) struct Net {
    pub(super) setup: Setup,
    pub(super) chance: Chance,
    pub(super) now: u64,
    number: u64,
    queue: BinaryHeap<Due>,
    nodes: BTreeMap<Node, Running>,
    cut: BTreeSet<(Node, Node)>,
    pub(super) truth: MemoryTruth,
    pub(super) clients: Vec<Client>,
    pub(super) requests: BTreeMap<u64, usize>,
    pub(super) next_request: u64,
    pub(super) tick: u64,
    pub(super) next_value: i64,
    pub(super) observed: Vec<Observed>,
    pub(super) verifier: Verifier,
    pub(super) trace: u64,
    faults: Faults,
    /// The last checkpoint of each shard, with what it had executed.
    checkpoints: BTreeMap<Node, (Store, ShardPoint, Vec<Stamp>)>,
    pub(super) done: bool,
}

/// Runs one history to its end.
pub fn simulate(setup: Setup, seed: u64) -> Run {
    let mut net = Net::new(setup, seed);
    let mut stuck = false;
    while !net.done {
        let Some(due) = net.queue.pop() else { break };
        net.now = due.at;
        if net.now > TIME_MAX_US {
            stuck = true;
            break;
        }
        net.happen(due.event);
    }
    net.finish(stuck)
}

impl Net {
    fn new(setup: Setup, seed: u64) -> Net {
        let owned: Vec<(u32, u16)> =
            (0..setup.chunks).map(|chunk| (chunk, (chunk % u32::from(setup.shards)) as u16)).collect();
        let mut chance = Chance::seeded(seed);
        let clients = (0..setup.clients).map(|number| Client::new(number, setup.transactions)).collect();
        let next_value = 1 + chance.below(1) as i64;
        let mut net = Net {
            setup,
            now: 0,
            number: 0,
            queue: BinaryHeap::new(),
            nodes: BTreeMap::new(),
            cut: BTreeSet::new(),
            truth: MemoryTruth::new(setup.rules, &owned),
            clients,
            requests: BTreeMap::new(),
            next_request: 0,
            tick: 1,
            next_value,
            observed: Vec::new(),
            verifier: Verifier::new(setup.shards),
            trace: seed,
            faults: setup.faults,
            checkpoints: BTreeMap::new(),
            done: false,
            chance,
        };
        for node in net.all() {
            let (drift, ahead) = (net.chance.below(400) as i64 - 200, net.chance.below(5_000));
            net.nodes.insert(node, Running { process: None, life: 0, drift, ahead, kept: None });
            net.start(node);
        }
        for client in 0..setup.clients {
            let at = 3_000 + net.chance.below(2_000);
            net.at(at, Event::Wake(client));
        }
        net.plan_faults();
        net
    }

    fn all(&self) -> Vec<Node> {
        let gates = (0..self.setup.gates).map(Node::Gate);
        let shards = (0..self.setup.shards).map(Node::Shard);
        gates.chain(shards).chain([Node::Oracle, Node::Scribe, Node::Keeper]).collect()
    }

    fn plan_faults(&mut self) {
        let nodes = self.all();
        for _ in 0..self.chance.below(self.faults.kills + 1) {
            let at = 5_000 + self.chance.below(FAULTS_UNTIL_US / 2);
            let node = nodes[self.chance.index(nodes.len())];
            self.at(at, Event::Kill(node));
        }
        for _ in 0..self.chance.below(self.faults.cuts + 1) {
            let at = 5_000 + self.chance.below(FAULTS_UNTIL_US / 2);
            let node = nodes[self.chance.index(nodes.len())];
            self.at(at, Event::Cut(node));
        }
    }

    fn at(&mut self, at: u64, event: Event) {
        self.number += 1;
        self.queue.push(Due { at: at.max(self.now), number: self.number, event });
    }
    pub(super) fn wake(&mut self, client: usize, in_us: u64) {
        self.at(self.now + in_us, Event::Wake(client));
    }
    pub(super) fn mark(&mut self, what: u64) {
        self.trace = (self.trace ^ what).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    fn happen(&mut self, event: Event) {
        self.mark(self.now);
        match event {
            Event::Tick(node, life) => {
                if self.nodes[&node].life == life && self.nodes[&node].process.is_some() {
                    self.tell(node, Input::Tick);
                    self.tick_store(node);
                    self.keep(node);
                    let later = TICK_US + self.chance.below(40);
                    self.at(self.now + later, Event::Tick(node, life));
                }
            }
            Event::Deliver { from, to, wire } => self.deliver(from, to, *wire),
            Event::Carry { node, life, token, call, answers } => {
                self.carry(node, life, token, &call, answers)
            }
            Event::Answer { node, life, token, answer } => {
                if self.nodes[&node].life == life {
                    self.tell(node, Input::Answer { token, answer: *answer });
                }
            }
            Event::Wake(client) => self.wake_client(client),
            Event::Kill(node) => self.kill(node),
            Event::Start(node) => self.start(node),
            Event::Cut(node) => self.cut_off(node),
            Event::Heal(node) => self.cut.retain(|(from, to)| *from != node && *to != node),
        }
    }

    /// A shard may make a checkpoint of its content.
    fn keep(&mut self, node: Node) {
        if self.faults.checkpoints == 0.0 || !self.chance.happens(self.faults.checkpoints) {
            return;
        }
        let executed = self.verifier.executed_by(node);
        let Some(Process::Shard(host)) = self.nodes.get_mut(&node).and_then(|one| one.process.as_mut())
        else {
            return;
        };
        if let Some(point) = host.shard.point()
            && host.store.awaited().is_empty()
        {
            assert_eq!(point.commit_version, executed.len() as u64);
            self.checkpoints.insert(node, (host.store.clone(), point, executed));
        }
    }

    /// A shard as it was when it made its last checkpoint.
    fn restored(&mut self, node: Node, life: u64) -> Option<Process> {
        let (store, point, executed) = self.checkpoints.get(&node)?.clone();
        let Node::Shard(number) = node else { return None };
        self.verifier.restore(node, executed);
        self.verifier.count("restored");
        let shard = Shard::restored(number, life, TIMING, self.setup.rules, point);
        Some(Process::Shard(Box::new(Host { shard, store, parked: Vec::new(), epoch: 0 })))
    }

    fn start(&mut self, node: Node) {
        let (rules, setup) = (self.setup.rules, self.setup);
        let Some(running) = self.nodes.get_mut(&node) else { return };
        running.life += 1;
        let life = running.life;
        let fresh = || match node {
            Node::Gate(number) => Process::Gate(Box::new(Gate::new(number, life, TIMING, rules))),
            Node::Shard(number) => Process::Shard(Box::new(Host {
                shard: Shard::new(number, life, TIMING, rules),
                store: Store::new(number, setup.shards, setup.chunks),
                parked: Vec::new(),
                epoch: 0,
            })),
            Node::Oracle => Process::Oracle(Box::new(Oracle::new(rules))),
            // It may begin lives of its own.
            Node::Scribe => Process::Scribe(Box::new(Scribe::new(life << 16, TIMING, rules))),
            Node::Keeper => Process::Keeper(Box::new(Keeper::new(setup.gates, setup.shards, TIMING))),
        };
        let process = running.kept.take();
        let process = process.or_else(|| self.restored(node, life)).unwrap_or_else(fresh);
        if let Some(running) = self.nodes.get_mut(&node) {
            running.process = Some(process);
        }
        let first = self.chance.below(TICK_US);
        self.at(self.now + first, Event::Tick(node, life));
    }

    fn kill(&mut self, node: Node) {
        let Some(running) = self.nodes.get_mut(&node) else { return };
        let Some(process) = running.process.take() else { return };
        self.verifier.count("kills");
        if matches!(process, Process::Oracle(_)) {
            running.kept = Some(process);
        }
        let down = 500 + self.chance.below(10_000);
        self.at(self.now + down, Event::Start(node));
    }

    /// Some of the links of a process are cut, each way by itself.
    fn cut_off(&mut self, node: Node) {
        self.verifier.count("cuts");
        let share = [0.3, 1.0][self.chance.index(2)];
        for other in self.all().into_iter().filter(|other| *other != node) {
            for pair in [(node, other), (other, node)] {
                if self.chance.happens(share) {
                    self.cut.insert(pair);
                }
            }
        }
        let length = 1_000 + self.chance.below(15_000);
        self.at(self.now + length, Event::Heal(node));
    }

    /// From now on nothing goes wrong, so that it can come to an end.
    pub(super) fn heal(&mut self) {
        self.faults = Faults::none();
        self.cut.clear();
    }

    pub(super) fn send(&mut self, from: Node, to: Node, wire: Wire) {
        if self.cut.contains(&(from, to)) || self.chance.happens(self.faults.loss) {
            return;
        }
        let late = if self.chance.happens(self.faults.late) { 4_000 } else { 200 };
        let delay = 20 + self.chance.below(late);
        if self.chance.happens(self.faults.doubled)
            && let Wire::Protocol(message) = &wire
        {
            let copy = Box::new(Wire::Protocol(message.clone()));
            let again = self.now + 20 + self.chance.below(8_000);
            self.at(again, Event::Deliver { from, to, wire: copy });
        }
        self.at(self.now + delay, Event::Deliver { from, to, wire: Box::new(wire) });
    }

    fn local_us(&self, node: Node) -> u64 {
        let running = &self.nodes[&node];
        let drifted = self.now as i64 + self.now as i64 * running.drift / 1_000_000;
        drifted as u64 + running.ahead
    }

    /// A step of a process, and what follows from it.
    pub(super) fn tell(&mut self, node: Node, input: Input) {
        let now_us = self.local_us(node);
        let Some(running) = self.nodes.get_mut(&node) else { return };
        let life = running.life;
        let outputs = match &mut running.process {
            None => return,
            Some(Process::Gate(gate)) => gate.step(now_us, [input]),
            Some(Process::Oracle(oracle)) => oracle.step(input).into_iter().collect(),
            Some(Process::Scribe(scribe)) => scribe.step(now_us, [input]),
            Some(Process::Keeper(keeper)) => keeper.step(now_us, [input]),
            Some(Process::Shard(host)) => {
                if let Input::Message { message: Message { epoch, body: Body::Begin { .. } }, .. } = &input
                    && *epoch > host.epoch
                {
                    host.epoch = *epoch;
                    host.parked.clear();
                    if !host.store.awaited().is_empty() {
                        host.shard.lose_content();
                    }
                }
                host.shard.step(now_us, [input])
            }
        };
        for output in outputs {
            self.carry_out(node, life, output);
        }
        if let Some(Process::Shard(host)) = self.nodes.get_mut(&node).and_then(|one| one.process.as_mut())
            && host.shard.is_ready()
        {
            host.store.rebuilt();
        }
    }

    fn carry_out(&mut self, node: Node, life: u64, output: Output) {
        match output {
            Output::Send { to, message } => self.send(node, to, Wire::Protocol(message)),
            Output::Call { token, call } => self.call(node, life, token, call),
            Output::Answered { request, answers } => self.answered(request, &answers),
            Output::Ended { request, end } => self.ended(request, end),
            Output::Publish { commit_version, commit } => self.publish(commit_version, commit),
            Output::Reset => {
                if let Some(host) = self.host(node) {
                    host.store.reset();
                }
                self.verifier.reset(node);
            }
            Output::Apply { commit_version, record } => {
                if let (Some(host), Node::Shard(number)) = (self.host(node), node) {
                    let rebuilding = !host.store.is_serving();
                    for (shard, part) in record.parts.iter().filter(|(to, _)| rebuilding || *to == number) {
                        host.store.apply(commit_version, *shard, &decode(part));
                    }
                }
                self.verifier.executed(node, commit_version, &record);
            }
            Output::Query { gate, read, request, commit_version, query } => {
                if let Some(Process::Oracle(oracle)) =
                    self.nodes[&Node::Oracle].process.as_ref().or(self.nodes[&Node::Oracle].kept.as_ref())
                {
                    self.verifier.pinned(node, &read, commit_version, oracle);
                }
                let epoch = read.epoch();
                self.serve(node, Parked { gate, epoch, request, commit_version, query });
            }
        }
    }

    fn host(&mut self, node: Node) -> Option<&mut Host> {
        match self.nodes.get_mut(&node)?.process.as_mut()? {
            Process::Shard(host) => Some(host),
            _ => None,
        }
    }

    pub(super) fn gate(&mut self, number: u16) -> Option<&mut Gate> {
        match self.nodes.get_mut(&Node::Gate(number))?.process.as_mut()? {
            Process::Gate(gate) => Some(gate),
            _ => None,
        }
    }

    /// Answers a query from the store, now or when the content has come.
    fn serve(&mut self, node: Node, parked: Parked) {
        let looks = self.setup.rules.moves_are_forwarded;
        let Some(host) = self.host(node) else { return };
        match host.store.read(parked.commit_version, &queried(&parked.query), looks) {
            None => host.parked.push(parked),
            Some(found) => {
                let body = Body::Pinned { request: parked.request, answer: answer(&found) };
                let message = Message { epoch: parked.epoch, body };
                self.send(node, Node::Gate(parked.gate), Wire::Protocol(message));
            }
        }
    }

    /// Content that is awaited is asked for, and queries that waited for it are tried again.
    fn tick_store(&mut self, node: Node) {
        let Some(host) = self.host(node) else { return };
        let awaited = host.store.awaited();
        let parked = if awaited.is_empty() { std::mem::take(&mut host.parked) } else { Vec::new() };
        for (chunk, version, source) in awaited {
            self.send(node, Node::Shard(source), Wire::Fetch(chunk, version));
        }
        parked.into_iter().for_each(|one| self.serve(node, one));
    }

    fn deliver(&mut self, from: Node, to: Node, wire: Wire) {
        match wire {
            Wire::Protocol(message) => self.tell(to, Input::Message { from, message }),
            Wire::Fetch(chunk, version) => {
                let Some(host) = self.host(to) else { return };
                host.store.pass_on(chunk, version);
                if let Some(content) = host.store.content(chunk, version).cloned() {
                    self.send(to, from, Wire::Content(chunk, version, content));
                }
            }
            Wire::Content(chunk, version, content) => {
                let Some(host) = self.host(to) else { return };
                host.store.receive(chunk, version, &content);
            }
        }
    }

    fn call(&mut self, node: Node, life: u64, token: u64, call: Call) {
        let takes = 100 + self.chance.below(500);
        let unknown = self.chance.happens(self.faults.unknown);
        if unknown {
            // Nobody knows: it may never be carried out, or now, or long after.
            let answer = Box::new(Err(Unknown));
            self.at(self.now + takes, Event::Answer { node, life, token, answer });
            if self.chance.happens(0.3) {
                return;
            }
        }
        let late = if unknown && self.chance.happens(0.5) { 20_000 } else { 300 };
        let at = self.now + 50 + self.chance.below(late);
        self.at(at, Event::Carry { node, life, token, call: Box::new(call), answers: !unknown });
    }

    fn carry(&mut self, node: Node, life: u64, token: u64, call: &Call, answers: bool) {
        let log_cuts = self.faults.log_cuts;
        if log_cuts > 0.0 && self.chance.happens(log_cuts) {
            let (_, last) = self.truth.state().unwrap_or_default();
            let base = self.chance.below(last + 1);
            self.truth.fold(base);
            self.verifier.add("log cuts", u64::from(base > 0));
        }
        let Ok(reply) = perform(&mut self.truth, call) else { return };
        if answers {
            let later = 50 + self.chance.below(300);
            let answer = Box::new(Ok(reply));
            self.at(self.now + later, Event::Answer { node, life, token, answer });
        }
    }

    fn finish(mut self, stuck: bool) -> Run {
        let broken = if stuck { Vec::new() } else { self.verifier.broken(&self.truth, &self.observed) };
        for running in self.nodes.values() {
            match running.process.as_ref().or(running.kept.as_ref()) {
                Some(Process::Gate(gate)) => {
                    let counts = gate.counts();
                    self.verifier.add("commits", counts.commits);
                    self.verifier.add("late", counts.late);
                    self.verifier.add("announcements", counts.announcements);
                    self.verifier.add("nops", counts.nops);
                    self.verifier.add("reads", counts.reads);
                }
                Some(Process::Shard(host)) => {
                    let counts = host.shard.counts();
                    self.verifier.add("executed", counts.executed);
                    self.verifier.add("shard pairs", counts.pairs - counts.read_pairs);
                    self.verifier.add("read pairs", counts.read_pairs);
                    self.verifier.add("wants", counts.wants);
                }
                Some(Process::Scribe(scribe)) => {
                    self.verifier.add("placed", scribe.counts().versioned);
                    self.verifier.add("scribe pairs", scribe.counts().pairs);
                    self.verifier.add("disagreements", scribe.counts().disagreements);
                }
                Some(Process::Keeper(keeper)) => self.verifier.add("epochs", keeper.epochs()),
                _ => {}
            }
        }
        self.observed.sort_by_key(|one| one.invoked);
        let history = History { transactions: self.observed };
        Run { history, broken, stuck, trace: self.trace, counts: self.verifier.counts }
    }
}
