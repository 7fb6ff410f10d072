//! Clients: each asks for one transaction after another, at any gate, and writes down what it saw.

use super::net::Net;
use super::toy::{CHUNK_OBJECTS, Change, Found, answers, chunk_of, encode, is_register, query};
use histories::history::{Observed, Operation, Outcome};
use std::collections::BTreeMap;
use tanglewood_protocol::Input;
use tanglewood_protocol::message::{Commit, End, Node};
use tanglewood_protocol::{Bytes, CommitId};

/// How long a client waits for one transaction.
const PATIENCE_US: u64 = 25_000;
/// Process number of those who read the scribe's sequence.
const SUBSCRIBER: usize = 1_000;

pub(super) struct Client {
    number: usize,
    left: usize,
    transaction: Option<Transaction>,
    /// It reads everything when all others have ended.
    last: bool,
}

struct Transaction {
    gate: u16,
    invoked: u64,
    deadline: u64,
    reads: Vec<u32>,
    puts: Vec<(u32, i64)>,
    creates: bool,
    found: BTreeMap<u32, Vec<i64>>,
    /// Shards that do not have an object at this snapshot, as bits.
    tried: BTreeMap<u32, u16>,

    read: Option<u64>,
    commit: Option<u64>,
}

impl Client {
    pub(super) fn new(number: usize, left: usize) -> Client {
        Client { number, left, transaction: None, last: false }
    }
}

impl Net {
    fn take_tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    pub(super) fn wake_client(&mut self, number: usize) {
        let (now, client) = (self.now, &mut self.clients[number]);
        match &client.transaction {
            Some(open) if now >= open.deadline => self.give_up(number),
            Some(_) => {}
            None if client.last && client.left == 0 => self.wait_for_versions(number),
            None if client.left > 0 => self.begin(number),
            None => self.end_if_all_have(),
        }
    }

    /// The last reader comes when all others have ended.
    fn end_if_all_have(&mut self) {
        let busy = |one: &Client| one.left > 0 || one.transaction.is_some();
        if !self.clients.iter().any(busy) && !self.clients.iter().any(|one| one.last) {
            self.heal();
            let number = self.clients.len();
            self.clients.push(Client { last: true, ..Client::new(number, 1) });
            self.wake(number, 100);
        }
    }

    /// The scribe gets a little time for its last commit versions.
    fn wait_for_versions(&mut self, number: usize) {
        let missing = self.truth.commits().any(|(_, commit_version)| commit_version.is_none());
        if missing && self.verifier.waits() {
            self.wake(number, 500);
        } else {
            self.verifier.add("without a version", u64::from(missing));
            self.done = true;
        }
    }

    fn begin(&mut self, number: usize) {
        let gate = self.chance.below(u64::from(self.setup.gates)) as u16;
        if !self.gate(gate).is_some_and(|gate| gate.is_open()) {
            self.wake(number, 700);
            return;
        }
        let objects = self.setup.chunks * CHUNK_OBJECTS;
        let mut open = Transaction {
            gate,
            invoked: 0,
            deadline: self.now + PATIENCE_US,
            reads: Vec::new(),
            puts: Vec::new(),
            creates: false,
            found: BTreeMap::new(),
            tried: BTreeMap::new(),
            read: None,
            commit: None,
        };
        let draw = self.chance.float();
        if self.clients[number].last {
            open.reads = (0..objects).chain(self.verifier.created().to_vec()).collect();
        } else if self.chance.happens(self.setup.moves) {
            self.move_chunk(number, open);
            return;
        } else if draw < 0.35 {
            open.reads = self.some(objects, 4);
        } else if draw < 0.65 {
            open.puts = self.values(objects);
        } else if draw < 0.95 {
            (open.reads, open.puts) = (self.some(objects, 2), self.values(objects));
        } else {
            match self.gate(gate).and_then(|gate| gate.take_chunk()) {
                None => {
                    self.wake(number, 300);
                    return;
                }
                Some((chunk, _)) => {
                    self.next_value += 1;
                    open.puts = vec![(chunk * CHUNK_OBJECTS, self.next_value)];
                    open.creates = true;
                }
            }
        }
        open.invoked = self.take_tick();
        self.wake(number, PATIENCE_US + 1);
        let (gate, reads) = (open.gate, open.reads.clone());
        self.clients[number].transaction = Some(open);
        match reads.is_empty() {
            true => self.commit(number),
            false => self.read(number, gate, &reads),
        }
    }

    fn some(&mut self, objects: u32, most: u64) -> Vec<u32> {
        let mut all: Vec<u32> = (0..objects).collect();
        self.chance.shuffle(&mut all);
        let count = 1 + self.chance.below(most) as usize;
        all.truncate(count);
        all.sort_unstable();
        all
    }

    fn values(&mut self, objects: u32) -> Vec<(u32, i64)> {
        let chosen = self.some(objects, 2);
        let first = self.next_value + 1;
        self.next_value += chosen.len() as i64;
        chosen.into_iter().zip(first..).collect()
    }

    fn read(&mut self, number: usize, gate: u16, objects: &[u32]) {
        let shards = self.setup.shards;
        let mut queries: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for object in objects {
            let tried = self.clients[number].transaction.as_ref().and_then(|open| open.tried.get(object));
            let tried = tried.copied().unwrap_or(0);
            let route = self.gate(gate).and_then(|gate| gate.route(chunk_of(*object)));
            let owner = route.map_or((chunk_of(*object) % u32::from(shards)) as u16, |route| route.owner);
            let asked =
                (owner..owner + shards).map(|shard| shard % shards).find(|shard| tried >> shard & 1 == 0);
            queries.entry(asked.unwrap_or(owner)).or_default().push(*object);
        }
        let queries: Vec<(u16, Bytes)> =
            queries.into_iter().map(|(shard, objects)| (shard, query(&objects))).collect();
        let known = self.clients[number].transaction.as_ref().and_then(|open| open.read);
        let request = known.unwrap_or_else(|| self.new_request(number));
        let Some(open) = &mut self.clients[number].transaction else { return };
        open.read = Some(request);
        self.verifier.asked(request, &queries);
        self.tell(Node::Gate(gate), Input::Read { request, queries });
    }

    fn new_request(&mut self, number: usize) -> u64 {
        self.next_request += 1;
        self.requests.insert(self.next_request, number);
        self.next_request
    }

    pub(super) fn answered(&mut self, request: u64, parts: &[(u16, Bytes)]) {
        let Some(number) = self.requests.get(&request).copied() else { return };
        let asked = self.verifier.take_asked(request);
        let shards = self.setup.shards;
        let Some(open) = &mut self.clients[number].transaction else { return };
        let (mut missing, mut nowhere) = (Vec::new(), false);
        for (objects, (shard, part)) in asked.iter().zip(parts) {
            for (object, found) in objects.iter().zip(answers(part)) {
                match found {
                    Found::Values(values) => {
                        open.found.insert(*object, values);
                    }
                    Found::Elsewhere => {
                        let tried = open.tried.entry(*object).or_default();
                        *tried |= 1 << shard;
                        nowhere |= tried.count_ones() >= u32::from(shards);
                        missing.push(*object);
                    }
                }
            }
        }
        let gate = open.gate;
        if nowhere {
            // Of what others create, or a snapshot that is nobody's.
            if missing.iter().all(|object| *object < self.setup.chunks * CHUNK_OBJECTS) {
                self.verifier.breaks("no shard owns a chunk at a snapshot");
            }
            self.give_up(number);
        } else if !missing.is_empty() {
            self.verifier.count("forwarded");
            self.read(number, gate, &missing);
        } else if self.clients[number].transaction.as_ref().is_some_and(|open| open.puts.is_empty()) {
            self.record(number, Outcome::Committed);
        } else {
            self.commit(number);
        }
    }

    fn commit(&mut self, number: usize) {
        let Some(open) = &self.clients[number].transaction else { return };
        let (gate, puts, read) = (open.gate, open.puts.clone(), open.read);
        let mut commit = Commit {
            base: read,
            reads: open.reads.iter().map(|object| u64::from(*object)).collect(),
            writes: puts.iter().map(|(object, _)| u64::from(*object)).collect(),
            ..Commit::default()
        };
        let mut parts: BTreeMap<u16, Vec<Change>> = BTreeMap::new();
        for (object, value) in &puts {
            let chunk = chunk_of(*object);
            let Some(route) = self.gate(gate).and_then(|gate| gate.route(chunk)) else {
                // The gate has not read the placement yet.
                self.give_up(number);
                return;
            };
            parts.entry(route.owner).or_default().push(Change::Put(*object, *value));
            commit.routes.push((chunk, route.version));
        }
        commit.routes.dedup();
        commit.parts = parts.into_iter().map(|(shard, changes)| (shard, encode(&changes))).collect();
        self.send_commit(number, gate, commit);
    }

    fn send_commit(&mut self, number: usize, gate: u16, commit: Commit) {
        let request = self.new_request(number);
        if let Some(open) = &mut self.clients[number].transaction {
            open.commit = Some(request);
        }
        let base = commit.base;
        self.tell(Node::Gate(gate), Input::Commit { request, commit });
        base.into_iter().for_each(|read| self.tell(Node::Gate(gate), Input::Close(read)));
    }

    fn move_chunk(&mut self, number: usize, mut open: Transaction) {
        let (gate, chunk) = (open.gate, self.chance.below(u64::from(self.setup.chunks)) as u32);
        let to = self.chance.below(u64::from(self.setup.shards)) as u16;
        let route = self.gate(gate).and_then(|gate| gate.route(chunk));
        let Some(route) = route.filter(|route| route.owner != to) else {
            self.clients[number].left -= 1;
            self.wake(number, 300);
            return;
        };
        let change = Change::Move { chunk, from: route.owner, to, version: route.version + 1 };
        let mut parts = vec![(route.owner, encode(&[change])), (to, encode(&[change]))];
        parts.sort_by_key(|(shard, _)| *shard);
        let routes = vec![(chunk, route.version)];
        let commit = Commit { routes, moves: vec![(chunk, to)], parts, ..Commit::default() };
        open.invoked = self.take_tick();
        self.wake(number, PATIENCE_US + 1);
        self.clients[number].transaction = Some(open);
        self.send_commit(number, gate, commit);
    }

    pub(super) fn ended(&mut self, request: u64, end: End) {
        let Some(number) = self.requests.get(&request).copied() else { return };
        let Some(open) = &self.clients[number].transaction else { return };
        if open.commit != Some(request) {
            // Its read was refused.
            self.give_up(number);
            return;
        }
        match end {
            End::Committed(stamp) => {
                self.verifier.acknowledged(CommitId::of(&stamp));
                self.record(number, Outcome::Committed);
            }
            End::Refused(_) => {
                self.verifier.count("refused");
                self.record(number, Outcome::Aborted);
            }
        }
    }

    /// Nothing of a read is known; of a commit nobody knows.
    fn give_up(&mut self, number: usize) {
        self.verifier.count("given up");
        let asked = self.clients[number].transaction.as_ref().is_some_and(|open| open.commit.is_some());
        match asked {
            true => self.record(number, Outcome::Unknown),
            false => self.over(number, false),
        }
    }

    fn record(&mut self, number: usize, outcome: Outcome) {
        let returned = self.take_tick();
        let Some(open) = &self.clients[number].transaction else { return };
        let read = |object: &u32| {
            let found = open.found.get(object).cloned().unwrap_or_default();
            match is_register(*object) {
                true => Operation::Read(*object, found.last().copied()),
                false => Operation::ReadList(*object, found),
            }
        };
        let put = |(object, value): &(u32, i64)| match is_register(*object) {
            true => Operation::Write(*object, *value),
            false => Operation::Append(*object, *value),
        };
        let operations: Vec<Operation> =
            open.reads.iter().map(read).chain(open.puts.iter().map(put)).collect();
        if open.creates && outcome == Outcome::Committed {
            self.verifier.creates(open.puts[0].0);
        }
        if !operations.is_empty() {
            let invoked = open.invoked;
            self.observed.push(Observed { process: number, invoked, returned, outcome, operations });
        }
        self.over(number, true);
    }

    fn over(&mut self, number: usize, done: bool) {
        let last = self.clients[number].last;
        let Some(open) = self.clients[number].transaction.take() else { return };
        for request in open.read.iter().chain(&open.commit) {
            self.requests.remove(request);
        }
        if let Some(request) = open.read.filter(|_| open.commit.is_none()) {
            self.tell(Node::Gate(open.gate), Input::Close(request));
        }
        if done || !last {
            self.clients[number].left -= 1;
        }
        let think = 50 + self.chance.below(1_500);
        self.wake(number, think);
        debug_assert_eq!(self.clients[number].number, number);
    }

    /// The next commit of the sequence; sometimes somebody reads the whole graph as of it.
    pub(super) fn publish(&mut self, commit_version: u64, commit: CommitId) {
        self.verifier.published(commit_version, commit, &self.truth);
        if !self.chance.happens(0.3) {
            return;
        }
        let Some(state) = self.verifier.cut(commit_version, &self.truth) else { return };
        let objects = 0..self.setup.chunks * CHUNK_OBJECTS;
        let read = |object: u32| {
            let values = state.get(&object).cloned().unwrap_or_default();
            match is_register(object) {
                true => Operation::Read(object, values.last().copied()),
                false => Operation::ReadList(object, values),
            }
        };
        let operations = objects.map(read).collect();
        let (process, outcome) = (SUBSCRIBER, Outcome::Committed);
        // It claims no time: a cut may be old.
        self.observed.push(Observed { process, invoked: 0, returned: u64::MAX, outcome, operations });
    }
}
