//! The keeper of the epoch: notices lost processes, ends the epoch in truth, orders the rest of it, begins the next.
//!
//! ```text
//!   gather (all shards, the scribe, a gate) ──> bump the epoch in truth: nothing of the old one commits any more
//!     ──> order the commits without a version, as a shard does that owns everything ──> write their commit versions
//!     ──> the oracle begins ──> everybody begins (shards execute what they lack) ──> all are ready: open
//! ```
//!
//! Safety rests on the row of the epoch and the oracle's order; a lost process is only a guess. A keeper that starts knows nothing, and begins a new
//! epoch.

use crate::choose::{Choice, Decided, Head, Question, choose};
use crate::limits::{LOG_PAGE, Timing};
use crate::member::Member;
use crate::message::{Body, Input, Members, Message, Node, Output};
use crate::record::CommitId;
use crate::truth::{Call, Reply, Unknown};
use order::{GATEKEEPERS_MAX, Stamp};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// One keeper.
#[derive(Debug)]
pub struct Keeper {
    shards: u16,
    gates: u16,
    member: Member,
    now_us: u64,
    epoch: u64,
    commit_version: u64,
    alive: BTreeMap<Node, Alive>,
    phase: Phase,
    since_us: u64,
    sent_us: u64,
    pulsed_us: u64,
    next_question: u64,
    epochs: u64,
}

#[derive(Clone, Copy, Debug)]
struct Alive {
    incarnation: u64,
    epoch: u64,
    ready: bool,
    seen_us: u64,
    /// When it was reached last: its messages may come while ours do not.
    reached_us: u64,
}

#[derive(Debug)]
enum Phase {
    /// It does not know where truth stands.
    Starting,
    Gathering,
    /// A call is under way; nothing while it must be made again.
    Bumping(Option<u64>),
    Reading(Option<u64>),
    Merging(Box<Closing>),
    Assigning(Option<u64>, Vec<CommitId>),
    Ordering(Cast),
    Beginning(Cast),
    Open(Cast),
}

/// The members of an epoch, and which lives of them.
#[derive(Clone, Debug)]
struct Cast {
    members: Arc<Members>,
    lives: BTreeMap<Node, u64>,
}

/// The rest of a closed epoch, while it is being ordered.
#[derive(Debug)]
struct Closing {
    chains: Vec<VecDeque<Stamp>>,
    /// Chains that go on beyond the part that was read, and the last stamp of that part.
    cut: Vec<Option<Stamp>>,
    decided: Decided,
    chosen: Vec<CommitId>,
    asking: Option<Question>,
}

impl Keeper {
    /// For a cluster with at most these numbers of gates and shards.
    pub fn new(gates: u16, shards: u16, timing: Timing) -> Keeper {
        Keeper {
            shards,
            gates,
            member: Member::new(0, timing),
            now_us: 0,
            epoch: 0,
            commit_version: 0,
            alive: BTreeMap::new(),
            phase: Phase::Starting,
            since_us: 0,
            sent_us: 0,
            pulsed_us: 0,
            next_question: 0,
            epochs: 0,
        }
    }
    /// The same, whose requests have numbers above this one: answers to an earlier life then match none.
    #[must_use]
    pub fn asking_above(mut self, number: u64) -> Keeper {
        self.next_question = number;
        self
    }
    /// Epochs that it has opened.
    pub fn epochs(&self) -> u64 {
        self.epochs
    }
    /// Is an epoch open, as far as it knows?
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open(_))
    }

    /// Takes inputs, and returns outputs.
    pub fn step(&mut self, now_us: u64, inputs: impl IntoIterator<Item = Input>) -> Vec<Output> {
        self.now_us = now_us;
        for input in inputs {
            match input {
                Input::Tick => self.tick(),
                Input::Message { from, message } => self.hear(from, message),
                Input::Answer { token, answer } => self.answered(token, answer),
                Input::Read { .. } | Input::Close(_) | Input::Commit { .. } => {}
            }
        }
        std::mem::take(&mut self.member.outputs)
    }

    fn is_alive(&self, node: Node) -> bool {
        let lease = self.member.timing.lease_us;
        let is_young = |at_us: u64| self.now_us.saturating_sub(at_us) < lease;
        self.alive.get(&node).is_some_and(|alive| is_young(alive.seen_us) && is_young(alive.reached_us))
    }
    /// Sends this clock to recently heard processes; it comes back with their next message.
    fn pulse(&mut self) {
        let Timing { heartbeat_us, lease_us, .. } = self.member.timing;
        if self.now_us.saturating_sub(self.pulsed_us) < heartbeat_us {
            return;
        }
        self.pulsed_us = self.now_us;
        let near = |alive: &Alive| self.now_us.saturating_sub(alive.seen_us) < lease_us;
        let all: Vec<Node> =
            self.alive.iter().filter(|(_, alive)| near(alive)).map(|(node, _)| *node).collect();
        all.into_iter().for_each(|node| self.member.send(node, self.epoch, Body::Pulse(self.now_us)));
    }

    fn live_gates(&self) -> Vec<u16> {
        (0..self.gates).filter(|gate| self.is_alive(Node::Gate(*gate))).take(GATEKEEPERS_MAX).collect()
    }

    fn tick(&mut self) {
        self.pulse();
        let again = self.now_us.saturating_sub(self.sent_us) >= self.member.timing.resend_us;
        match &self.phase {
            Phase::Starting if again => {
                self.sent_us = self.now_us;
                self.member.call(Call::State);
            }
            Phase::Gathering => self.gather(),
            Phase::Bumping(None) => {
                let token = self.member.call(Call::Bump { from: self.epoch });
                self.phase = Phase::Bumping(Some(token));
            }
            Phase::Reading(None) => self.read_rest(),
            Phase::Assigning(None, commits) => {
                let (epoch, first, commits) = (self.epoch, self.commit_version + 1, commits.clone());
                let token = self.member.call(Call::AssignVersions { epoch, first, commits: commits.clone() });
                self.phase = Phase::Assigning(Some(token), commits);
            }
            Phase::Merging(_) if again => self.ask_again(),
            Phase::Ordering(cast) if again => {
                let gates = cast.members.gates.len();
                self.sent_us = self.now_us;
                self.member.send(Node::Oracle, self.epoch, Body::Order(gates));
            }
            Phase::Beginning(cast) | Phase::Open(cast) => {
                let cast = cast.clone();
                self.watch(&cast);
            }
            _ => {}
        }
    }

    fn gather(&mut self) {
        let shards = (0..self.shards).all(|shard| self.is_alive(Node::Shard(shard)));
        let gates = self.live_gates().len();
        // A gate that starts together with the others should not need an epoch of its own.
        let patience = self.member.timing.heartbeat_us * 2;
        let waited = self.now_us.saturating_sub(self.since_us) >= patience;
        if shards && self.is_alive(Node::Scribe) && (gates == usize::from(self.gates) || gates > 0 && waited)
        {
            self.phase = Phase::Bumping(None);
            self.tick();
        }
    }

    fn read_rest(&mut self) {
        self.phase = Phase::Reading(Some(self.member.call(Call::Unversioned { limit: LOG_PAGE })));
    }

    fn ask_again(&mut self) {
        let Phase::Merging(closing) = &self.phase else { return };
        if let Some(Question { number, epoch, pairs, .. }) = closing.asking.clone() {
            self.sent_us = self.now_us;
            self.member.send(Node::Oracle, epoch, Body::Ask { question: number, pairs });
        }
    }

    /// A process is lost, has begun a new life, or is new: ends the epoch. Else informs processes that are behind again.
    fn watch(&mut self, cast: &Cast) {
        let lost = cast.lives.iter().any(|(node, life)| {
            !self.is_alive(*node) || self.alive.get(node).is_some_and(|alive| alive.incarnation != *life)
        });
        let new = self.live_gates().iter().any(|gate| !cast.members.gates.contains(gate));
        if lost || new {
            self.since_us = self.now_us;
            self.phase = Phase::Gathering;
            return;
        }
        let ready = |alive: &Alive| alive.epoch == self.epoch && alive.ready;
        if matches!(self.phase, Phase::Beginning(_)) {
            if cast.lives.keys().all(|node| self.alive.get(node).is_some_and(ready)) {
                self.epochs += 1;
                self.phase = Phase::Open(cast.clone());
                cast.lives.iter().for_each(|(node, life)| self.tell(*node, *life, cast));
            } else if self.now_us.saturating_sub(self.sent_us) >= self.member.timing.resend_us {
                self.sent_us = self.now_us;
                cast.lives.iter().for_each(|(node, life)| self.tell(*node, *life, cast));
            }
        }
    }

    fn tell(&mut self, node: Node, incarnation: u64, cast: &Cast) {
        let ready = self.alive.get(&node).is_some_and(|alive| alive.epoch == self.epoch && alive.ready);
        let body = match (ready, &self.phase) {
            (true, Phase::Open(_)) => Body::Open { incarnation },
            (true, _) => return,
            (false, _) => Body::Begin { incarnation, members: cast.members.clone() },
        };
        self.member.send(node, self.epoch, body);
    }

    fn hear(&mut self, from: Node, message: Message) {
        match message.body {
            Body::Alive { incarnation, ready, pulse } => {
                let (epoch, seen_us) = (message.epoch, self.now_us);
                let before = self.alive.get(&from).filter(|last| last.incarnation == incarnation);
                // A new one is taken for reached until a pulse must have come back; a pulse of the future is of another life of this process.
                let reached_us = before
                    .map_or(seen_us, |last| last.reached_us.max(if pulse <= seen_us { pulse } else { 0 }));
                let alive = Alive { incarnation, epoch, ready, seen_us, reached_us };
                let newer = self.alive.get(&from).is_none_or(|last| last.incarnation <= incarnation);
                if newer {
                    self.alive.insert(from, alive);
                    self.greet(from, incarnation);
                }
            }
            Body::Told { question, answer: Ok(before) } => {
                let Phase::Merging(closing) = &mut self.phase else { return };
                let is_asked =
                    |asked: &mut Question| asked.number == question && asked.epoch == message.epoch;
                if let Some(asked) = closing.asking.take_if(is_asked) {
                    asked
                        .pairs
                        .iter()
                        .zip(before)
                        .for_each(|((a, b), first)| closing.decided.learn(a, b, first));
                    self.merge();
                }
            }
            Body::Ordering if message.epoch == self.epoch => {
                let Phase::Ordering(cast) = &self.phase else { return };
                let cast = cast.clone();
                self.phase = Phase::Beginning(cast.clone());
                self.sent_us = self.now_us;
                cast.lives.iter().for_each(|(node, life)| self.tell(*node, *life, &cast));
            }
            _ => {}
        }
    }

    fn greet(&mut self, node: Node, incarnation: u64) {
        let (Phase::Beginning(cast) | Phase::Open(cast)) = &self.phase else { return };
        if cast.lives.get(&node) == Some(&incarnation) {
            let cast = cast.clone();
            if matches!(self.phase, Phase::Open(_)) {
                self.tell(node, incarnation, &cast);
            }
            self.watch(&cast);
        }
    }

    fn answered(&mut self, token: u64, answer: Result<Reply, Unknown>) {
        match (&mut self.phase, answer) {
            (Phase::Starting, Ok(Reply::State(epoch, _))) => {
                (self.epoch, self.since_us) = (epoch, self.now_us);
                self.phase = Phase::Gathering;
            }
            (Phase::Bumping(call), answer) if *call == Some(token) => match answer {
                Ok(Reply::Epoch(epoch)) if epoch > self.epoch => {
                    self.epoch = epoch;
                    self.read_rest();
                }
                _ => *call = None,
            },
            (Phase::Reading(call), answer) if *call == Some(token) => match answer {
                // The scribe has written commit versions until the epoch ended: only now the last one is known.
                Ok(Reply::Unversioned(commit_version, stamps)) if stamps.is_empty() => {
                    self.commit_version = commit_version;
                    self.order();
                }
                Ok(Reply::Unversioned(commit_version, stamps)) => {
                    self.commit_version = commit_version;
                    self.phase = Phase::Merging(Box::new(Closing::new(stamps)));
                    self.merge();
                }
                _ => *call = None,
            },
            (Phase::Assigning(call, _), answer) if *call == Some(token) => match answer {
                // If another keeper was faster, what is left is read again all the same.
                Ok(Reply::Assigned(_)) => self.read_rest(),
                Ok(_) | Err(Unknown) => *call = None,
            },
            _ => {}
        }
    }

    /// Chooses until the oracle must decide, or all is chosen.
    fn merge(&mut self) {
        let Phase::Merging(closing) = &mut self.phase else { return };
        loop {
            match closing.choose() {
                Choice::Take(chain) => closing.take(chain),
                Choice::Ask(pairs) => {
                    self.next_question += 1;
                    let (question, epoch) = (self.next_question, pairs[0].0.epoch());
                    self.sent_us = self.now_us;
                    self.member.send(Node::Oracle, epoch, Body::Ask { question, pairs: pairs.clone() });
                    closing.asking = Some(Question { number: question, epoch, pairs, sent_us: self.now_us });
                    return;
                }
                Choice::Wait | Choice::Empty => break,
            }
        }
        let commits = std::mem::take(&mut closing.chosen);
        self.phase = Phase::Assigning(None, commits);
        self.tick();
    }

    /// Everything has a commit version: the oracle may forget the epoch.
    fn order(&mut self) {
        let gates = self.live_gates();
        let nodes = gates.iter().map(|gate| Node::Gate(*gate));
        let nodes = nodes.chain((0..self.shards).map(Node::Shard)).chain([Node::Scribe]);
        let lives = nodes.filter_map(|node| Some((node, self.alive.get(&node)?.incarnation))).collect();
        let (epoch, shards, first_version) = (self.epoch, self.shards, self.commit_version);
        if gates.is_empty() {
            self.since_us = self.now_us;
            self.phase = Phase::Gathering;
            return;
        }
        self.member.send(Node::Oracle, epoch, Body::Order(gates.len()));
        self.sent_us = self.now_us;
        let members = Arc::new(Members { epoch, gates, shards, first_version });
        self.phase = Phase::Ordering(Cast { members, lives });
    }
}

impl Closing {
    /// Of the oldest epoch among these stamps, which come by gate and counter.
    fn new(stamps: Vec<Stamp>) -> Closing {
        let epoch = stamps.iter().map(Stamp::epoch).min().unwrap_or(0);
        let seats = stamps.iter().map(|stamp| stamp.gatekeeper() + 1).max().unwrap_or(0);
        let mut chains = vec![VecDeque::new(); seats];
        for stamp in stamps.into_iter().filter(|stamp| stamp.epoch() == epoch) {
            chains[stamp.gatekeeper()].push_back(stamp);
        }
        let full = |chain: &VecDeque<Stamp>| chain.back().filter(|_| chain.len() >= LOG_PAGE).cloned();
        let cut = chains.iter().map(full).collect();
        Closing { chains, cut, decided: Decided::default(), chosen: Vec::new(), asking: None }
    }
    fn choose(&self) -> Choice {
        let heads: Vec<Head> = self
            .chains
            .iter()
            .zip(&self.cut)
            .map(|(chain, cut)| match (chain.front(), cut) {
                (Some(stamp), _) => Head::Record(stamp, stamp.counter()),
                (None, Some(last)) => Head::Frontier(Some(last)),
                (None, None) => Head::End,
            })
            .collect();
        choose(&heads, &self.decided)
    }
    fn take(&mut self, chain: usize) {
        if let Some(stamp) = self.chains[chain].pop_front() {
            self.decided.drop(&stamp);
            self.chosen.push(CommitId::of(&stamp));
        }
    }
}

#[cfg(test)]
mod tests;
