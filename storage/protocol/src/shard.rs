//! A shard: takes records from one channel a gate, executes them in one order, pins snapshots for reads.
//!
//! ```text
//!   channel of gate 0 ──> [record][NOP][record] ─┐   choose the next record ──> Apply at commit version 1, 2, 3, …
//!   channel of gate 1 ──> [NOP]                  ├─> (vectors, or the oracle)
//!   channel of gate 2 ──> [record]              ─┘   all to come is after P ──> Query at the last commit version before P
//! ```
//!
//! Invariant (the *prefix law*): of two records the one with the lower commit version is before the other in the order. So the records that a stamp
//! sees are a prefix of the commit versions, and one number is a snapshot. Where a chain is silent its gate is asked for a NOP, one question at a
//! time. When an epoch ends, its unexecuted records come from truth, in the order that the keeper has written.

use crate::channel::{Incoming, Item};
use crate::choose::{Choice, Decided, Head, choose};
use crate::limits::{LOG_PAGE, PAIRS_MAX, PINS_MAX, RECENT_MAX, REPORT_MAX, Timing};
use crate::member::Member;
use crate::message::{Body, Input, Members, Message, Node, Output};
use crate::record::{Bytes, Record};
use crate::rules::Rules;
use crate::truth::{Call, Reply, Unknown, VersionedCommit};
use order::Stamp;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Counters for `SHOW ORDER`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShardCounts {
    /// Records executed.
    pub executed: u64,
    /// Snapshots pinned.
    pub pinned: u64,
    /// Questions to the oracle.
    pub questions: u64,
    /// Pairs in them.
    pub pairs: u64,
    /// Of these, pairs of a record and a read.
    pub read_pairs: u64,
    /// Questions for NOPs.
    pub wants: u64,
}

/// How far the content of a shard is in the log: with it, another life can begin with a checkpoint of the content.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShardPoint {
    /// The last local version.
    pub commit_version: u64,
    /// Every record up to this cluster version that touches the shard.
    pub settled: u64,
    /// And of this epoch,
    pub epoch: u64,
    /// of each seat, the records up to this counter.
    pub taken: Vec<u64>,
}

/// One shard.
#[derive(Debug)]
pub struct Shard {
    number: u16,
    rules: Rules,
    member: Member,
    now_us: u64,
    /// The last local version.
    commit_version: u64,
    /// Every record up to this cluster version that touches this shard is executed.
    settled: u64,
    /// It has no content: all of the log must be read.
    fresh: bool,
    part: Option<Part>,
    joining: Option<Joining>,
    /// How far its content was beyond that when it was saved: the epoch, and the position in each chain.
    kept: Option<(u64, Vec<u64>)>,
    next_question: u64,
    counts: ShardCounts,
}

/// The next epoch, until the rest of the last one is executed.
#[derive(Debug)]
struct Joining {
    members: Arc<Members>,
    token: Option<u64>,
    /// The epoch that was left, and how far each of its chains was taken.
    left: Option<(u64, Vec<u64>)>,
    /// The base of the log that its content begins with, where all of the log is read.
    base: u64,
}

/// A shard's part in one epoch.
#[derive(Debug)]
struct Part {
    members: Arc<Members>,
    chains: Vec<Chain>,
    decided: Decided,
    arrivals: u64,
    pins: BTreeMap<(usize, u64), Pin>,
    /// Executed in this epoch, with commit versions; those that every stamp to come knows are dropped.
    recent: VecDeque<(u64, Stamp)>,
    asking: Option<Asking>,
    /// Executed and not had by the scribe.
    unreported: VecDeque<(Stamp, Box<[u16]>)>,
    reported: u64,
    told_us: u64,
    /// The counters that the scribe wants all frontiers to know.
    wanted: Box<[u64]>,
    /// Since when it has held records that an earlier one may precede; none while it holds none.
    held_us: Option<u64>,
    /// The merged vector that every stamp knows that may still be compared. A read below it is over: its message came late.
    frontier: Box<[u64]>,
}

#[derive(Debug, Default)]
struct Chain {
    incoming: Incoming,
    queue: VecDeque<(Item, u64)>,
    /// The last item that was taken.
    taken: Option<Stamp>,
    wanted_us: Option<u64>,
    received_us: u64,
    acknowledged: u64,
    questions: u64,
}

#[derive(Debug)]
struct Pin {
    gate: u16,
    read: Stamp,
    query: Bytes,
    /// The last commit version before it, once the oracle has said so.
    commit_version: Option<u64>,
    /// The oracle has said that all from this commit version on are after it.
    below: u64,
}

#[derive(Debug)]
struct Asking {
    question: u64,
    pairs: Vec<(Stamp, Stamp)>,
    /// The pins that pairs are about, with the commit versions of their records; nothing for pairs of two records.
    about: Vec<Option<((usize, u64), u64)>>,
    sent_us: u64,
}

impl Shard {
    /// No read needs a commit version below this one any more.
    pub fn oldest_version(&self) -> u64 {
        let oldest = self.part.as_ref().and_then(|part| part.recent.front());
        oldest.map_or(self.commit_version, |(commit_version, _)| commit_version - 1)
    }
    /// A process that has just started, without content.
    pub fn new(number: u16, incarnation: u64, timing: Timing, rules: Rules) -> Shard {
        Shard {
            number,
            rules,
            member: Member::new(incarnation, timing),
            now_us: 0,
            commit_version: 0,
            settled: 0,
            fresh: true,
            part: None,
            joining: None,
            kept: None,
            next_question: 0,
            counts: ShardCounts::default(),
        }
    }
    /// A process that has just started, whose content is a checkpoint that was made at this point.
    pub fn restored(
        number: u16,
        incarnation: u64,
        timing: Timing,
        rules: Rules,
        ShardPoint { commit_version, settled, epoch, taken }: ShardPoint,
    ) -> Shard {
        let kept = rules.points_know_taken.then_some((epoch, taken));
        Shard {
            commit_version,
            settled,
            kept,
            fresh: false,
            ..Shard::new(number, incarnation, timing, rules)
        }
    }
    /// How far its content is, for a checkpoint made before the next step; none between two epochs.
    pub fn point(&self) -> Option<ShardPoint> {
        let part = self.part.as_ref()?;
        let (commit_version, settled, epoch) = (self.commit_version, self.settled, part.members.epoch);
        Some(ShardPoint { commit_version, settled, epoch, taken: part.taken() })
    }
    /// Every record up to this cluster version that touches the shard is executed.
    pub fn settled(&self) -> u64 {
        self.settled
    }
    /// The counters so far.
    pub fn counts(&self) -> ShardCounts {
        self.counts
    }
    /// Has it executed all that earlier epochs left?
    pub fn is_ready(&self) -> bool {
        self.part.is_some()
    }
    /// The content is lost, or parts of it: the next epoch begins with all of the log.
    pub fn lose_content(&mut self) {
        self.fresh = true;
    }

    /// Takes inputs, and returns outputs.
    pub fn step(&mut self, now_us: u64, inputs: impl IntoIterator<Item = Input>) -> Vec<Output> {
        self.now_us = now_us;
        for input in inputs {
            match input {
                Input::Tick => self.tick(),
                Input::Message { from, message } => self.hear(from, message),
                Input::Answer { token, answer } => self.joined(token, answer),
                Input::Read { .. } | Input::Close(_) | Input::Commit { .. } => {}
            }
        }
        self.work();
        std::mem::take(&mut self.member.outputs)
    }

    fn tick(&mut self) {
        let epoch = self.part.as_ref().map_or(0, |part| part.members.epoch);
        self.member.beat(self.now_us, epoch, self.part.is_some());
        if self.joining.as_ref().is_some_and(|joining| joining.token.is_none()) {
            self.read_log();
        }
        let Some(part) = &mut self.part else { return };
        let (epoch, resend) = (part.members.epoch, self.member.timing.resend_us);
        if let Some(asking) = &mut part.asking
            && self.now_us.saturating_sub(asking.sent_us) >= resend
        {
            asking.sent_us = self.now_us;
            let body = Body::Ask { question: asking.question, pairs: asking.pairs.clone() };
            self.member.send(Node::Oracle, epoch, body);
        }
        for (at, chain) in part.chains.iter_mut().enumerate() {
            let (next, gap) = (chain.incoming.next(), chain.incoming.has_gap());
            let due = self.now_us.saturating_sub(chain.received_us) >= resend / 2;
            if (next > chain.acknowledged || gap) && due {
                chain.received_us = self.now_us;
                chain.acknowledged = next;
                let questions = std::mem::take(&mut chain.questions);
                let to = Node::Gate(part.members.gates[at]);
                self.member.send(to, epoch, Body::Received { next, gap, questions });
            }
        }
        self.report();
    }

    fn report(&mut self) {
        let Some(part) = &mut self.part else { return };
        if self.now_us.saturating_sub(part.told_us) < self.member.timing.resend_us / 2 {
            return;
        }
        part.told_us = self.now_us;
        let records: Vec<_> = part.unreported.iter().take(REPORT_MAX).cloned().collect();
        let all = records.len() == part.unreported.len();
        let taken = all.then(|| part.chains.iter().map(|chain| chain.taken.clone()).collect());
        let body = Body::Executed { from: part.reported, records, taken };
        self.member.send(Node::Scribe, part.members.epoch, body);
    }

    fn hear(&mut self, from: Node, message: Message) {
        let Message { epoch, body } = message;
        if let Body::Pulse(clock) = body {
            self.member.pulse = clock;
            return;
        }
        if let Body::Begin { incarnation, members } = body {
            if incarnation == self.member.incarnation {
                self.begin(members);
            }
            return;
        }
        let Some(part) = self.part.as_mut().filter(|part| part.members.epoch == epoch) else { return };
        match (from, body) {
            (Node::Gate(gate), Body::Item(item)) => {
                let Some(at) = part.members.seat(gate) else { return };
                part.receive(at, item, self.rules.channels_in_order);
            }
            (Node::Gate(gate), Body::Pin { read, request, query }) => {
                let Some(at) = part.members.seat(gate) else { return };
                if part.pins.len() < PINS_MAX && knows(&read, &part.frontier) {
                    let pin = Pin { gate, read, query, commit_version: None, below: u64::MAX };
                    part.pins.entry((at, request)).or_insert(pin);
                }
            }
            (Node::Scribe, Body::Want(clock)) => part.wanted = clock,
            (Node::Scribe, Body::Settled { next, commit_version, frontier }) => {
                self.settled = self.settled.max(commit_version);
                part.settle(next, frontier);
            }
            (Node::Oracle, Body::Told { question, answer }) => part.told(question, answer),
            _ => {}
        }
    }

    /// Leaves the present epoch, and reads its unfinished rest.
    fn begin(&mut self, members: Arc<Members>) {
        let present = self.part.as_ref().map(|part| part.members.epoch);
        let next = self.joining.as_ref().map(|joining| joining.members.epoch);
        if present.max(next).is_some_and(|epoch| epoch >= members.epoch) {
            return;
        }
        let left = self.part.take().map(|part| (part.members.epoch, part.taken()));
        let left = left.or_else(|| self.joining.take().and_then(|joining| joining.left)).or(self.kept.take());
        // Truth is older than the content: it was set back. What it has is what is true.
        self.fresh |= members.first_version < self.settled;
        if self.fresh {
            self.reset();
        }
        let left = left.filter(|_| !self.fresh);
        self.joining = Some(Joining { members, token: None, left, base: 0 });
        self.read_log();
    }

    /// Its content goes; all of the log follows.
    fn reset(&mut self) {
        (self.commit_version, self.settled, self.fresh) = (0, 0, true);
        self.member.outputs.push(Output::Reset);
    }

    fn read_log(&mut self) {
        let shard = (!self.fresh).then_some(self.number);
        let token = self.member.call(Call::Log { shard, after: self.settled, limit: LOG_PAGE });
        if let Some(joining) = &mut self.joining {
            joining.token = Some(token);
        }
    }

    fn joined(&mut self, token: u64, answer: Result<Reply, Unknown>) {
        let Some(joining) = self.joining.as_mut().filter(|joining| joining.token == Some(token)) else {
            return;
        };
        joining.token = None;
        let Ok(Reply::Log(page)) = answer else { return };
        // The log was cut behind the beginning of this epoch, which is over, then: the next one is told soon.
        if page.base > joining.members.first_version {
            return;
        }
        // One that has content may have more than it knows to be settled, so a base fits it only where it has all of that.
        let continues = match self.fresh {
            true => page.continues(self.settled, joining.base),
            false => page.base <= self.settled,
        };
        if !continues && self.rules.cuts_are_noticed {
            (joining.left, joining.base) = (None, 0);
            self.reset();
            self.read_log();
            return;
        }
        joining.base = page.base;
        let beyond = |commit: &VersionedCommit| commit.commit_version >= joining.members.first_version;
        // A page may be short because its records are large.
        let last = page.commits.is_empty() || page.commits.last().is_some_and(beyond);
        for VersionedCommit { commit_version, record, .. } in page.commits {
            let stamp = &record.stamp;
            let had = joining.left.as_ref().is_some_and(|(epoch, taken)| {
                *epoch == stamp.epoch() && stamp.counter() <= taken[stamp.gatekeeper()]
            });
            if commit_version > joining.members.first_version {
                continue;
            }
            self.settled = commit_version;
            if !had {
                self.commit_version += 1;
                self.counts.executed += 1;
                self.member.outputs.push(Output::Apply { commit_version: self.commit_version, record });
            }
        }
        if !last {
            self.read_log();
        } else if let Some(joining) = self.joining.take() {
            self.fresh = false;
            self.settled = joining.members.first_version;
            self.member.tell_keeper(self.now_us, joining.members.epoch, true);
            self.part = Some(Part::new(joining.members));
        }
    }

    /// Pins and executes until something is missing.
    fn work(&mut self) {
        let Some(part) = &mut self.part else { return };
        let mut pairs = Vec::new();
        loop {
            part.skip_nops();
            match part.choose() {
                Choice::Take(at) if part.recent.len() < RECENT_MAX => {
                    let Some(record) = part.take(at, self.commit_version + 1) else { break };
                    self.commit_version += 1;
                    self.counts.executed += 1;
                    self.member.outputs.push(Output::Apply { commit_version: self.commit_version, record });
                }
                Choice::Ask(wanted) => {
                    pairs = wanted;
                    break;
                }
                Choice::Take(_) | Choice::Wait | Choice::Empty => break,
            }
        }
        self.serve();
        self.ask(pairs);
        self.want();
    }

    /// Snapshots of reads that nothing can come before any more.
    fn serve(&mut self) {
        let Some(part) = &mut self.part else { return };
        if part.pins.is_empty() {
            return;
        }
        let waits = self.rules.reads_wait_for_heads;
        let served: Vec<((usize, u64), u64)> = part
            .pins
            .iter()
            .filter(|(_, pin)| !waits || part.is_ready(&pin.read))
            .filter_map(|(key, pin)| {
                Some((*key, pin.commit_version.or_else(|| part.version_of(pin, self.commit_version))?))
            })
            .collect();
        for (key, commit_version) in served {
            let Some(Pin { gate, read, query, .. }) = part.pins.remove(&key) else { continue };
            self.counts.pinned += 1;
            self.member.outputs.push(Output::Query { gate, read, request: key.1, commit_version, query });
        }
    }

    /// One question at a time: first records that are concurrent, then reads.
    fn ask(&mut self, records: Vec<(Stamp, Stamp)>) {
        let Some(part) = self.part.as_mut().filter(|part| part.asking.is_none()) else { return };
        let mut about = vec![None; records.len()];
        let mut pairs = records;
        let waits = self.rules.reads_wait_for_heads;
        let ready = part.pins.iter().filter(|(_, pin)| !waits || part.is_ready(&pin.read));
        for (key, pin) in ready {
            for (commit_version, record) in part.concurrent_with(pin) {
                if pairs.len() == PAIRS_MAX {
                    break;
                }
                about.push(Some((*key, commit_version)));
                pairs.push((record.clone(), pin.read.clone()));
                self.counts.read_pairs += 1;
            }
        }
        if pairs.is_empty() {
            return;
        }
        self.counts.questions += 1;
        self.counts.pairs += pairs.len() as u64;
        for (this, that) in &pairs {
            part.chains[this.gatekeeper()].questions += 1;
            part.chains[that.gatekeeper()].questions += 1;
        }
        self.next_question += 1;
        let question = self.next_question;
        self.member.send(Node::Oracle, part.members.epoch, Body::Ask { question, pairs: pairs.clone() });
        part.asking = Some(Asking { question, pairs, about, sent_us: self.now_us });
    }

    /// Asks gates whose chains hold others up for a later item.
    fn want(&mut self) {
        let Some(part) = &mut self.part else { return };
        let mut clock = part.wanted.clone();
        let holds = part.chains.iter().any(|chain| !chain.queue.is_empty());
        let since_us = if holds { *part.held_us.get_or_insert(self.now_us) } else { self.now_us };
        part.held_us = holds.then_some(since_us);
        let asks =
            !part.pins.is_empty() || self.now_us.saturating_sub(since_us) >= self.member.timing.hold_us_max();
        let last = part.chains.iter().filter_map(|chain| chain.queue.back().map(|(item, _)| &item.stamp));
        let mut waits = clock.iter().any(|counter| *counter > 0);
        for stamp in part.pins.values().map(|pin| &pin.read).chain(last.filter(|_| asks)) {
            waits = true;
            clock.iter_mut().zip(stamp.vector()).for_each(|(own, other)| *own = (*own).max(*other));
        }
        if !waits {
            return;
        }
        let (epoch, resend) = (part.members.epoch, self.member.timing.resend_us);
        for (at, chain) in part.chains.iter_mut().enumerate() {
            let newest = chain.queue.back().map(|(item, _)| &item.stamp).or(chain.taken.as_ref());
            let vector = newest.map_or(&[][..], Stamp::vector);
            let known = |(at, counter): (usize, &u64)| vector.get(at).copied().unwrap_or(0) >= *counter;
            let quiet = !clock.iter().enumerate().all(known) && chain.queue.is_empty();
            let asked = chain.wanted_us.is_some_and(|then| self.now_us.saturating_sub(then) < resend);
            if quiet && !asked {
                chain.wanted_us = Some(self.now_us);
                self.counts.wants += 1;
                self.member.send(Node::Gate(part.members.gates[at]), epoch, Body::Want(clock.clone()));
            }
        }
    }
}

impl Part {
    /// How far each chain is taken.
    fn taken(&self) -> Vec<u64> {
        self.chains.iter().map(|chain| chain.taken.as_ref().map_or(0, Stamp::counter)).collect()
    }
    fn new(members: Arc<Members>) -> Part {
        let gates = members.gates.len();
        Part {
            chains: (0..gates).map(|_| Chain::default()).collect(),
            decided: Decided::default(),
            arrivals: 0,
            pins: BTreeMap::new(),
            recent: VecDeque::new(),
            asking: None,
            unreported: VecDeque::new(),
            reported: 0,
            told_us: 0,
            wanted: vec![0; gates].into(),
            held_us: None,
            frontier: vec![0; gates].into(),
            members,
        }
    }

    fn receive(&mut self, at: usize, item: Item, in_order: bool) {
        let chain = &mut self.chains[at];
        for item in chain.incoming.take(item, in_order) {
            self.arrivals += 1;
            chain.wanted_us = None;
            chain.queue.push_back((item, self.arrivals));
        }
    }

    /// A NOP that is first says only that all to come is after it.
    fn skip_nops(&mut self) {
        for chain in &mut self.chains {
            while let Some((nop, _)) = chain.queue.pop_front_if(|(item, _)| item.record.is_none()) {
                chain.taken = Some(nop.stamp);
            }
        }
    }

    fn choose(&self) -> Choice {
        if self.chains.iter().all(|chain| chain.queue.is_empty()) {
            return Choice::Empty;
        }
        let heads: Vec<Head> = self
            .chains
            .iter()
            .map(|chain| match chain.queue.front() {
                Some((item, arrival)) => Head::Record(&item.stamp, *arrival),
                None => Head::Frontier(chain.taken.as_ref()),
            })
            .collect();
        choose(&heads, &self.decided)
    }

    fn take(&mut self, at: usize, commit_version: u64) -> Option<Arc<Record>> {
        let chain = &mut self.chains[at];
        let (item, _) = chain.queue.pop_front()?;
        chain.taken = Some(item.stamp.clone());
        let record = item.record?;
        self.decided.drop(&item.stamp);
        let shards = record.parts.iter().map(|(shard, _)| *shard).collect();
        self.unreported.push_back((item.stamp.clone(), shards));
        self.recent.push_back((commit_version, item.stamp));
        Some(record)
    }

    /// Is everything still to come after the read?
    fn is_ready(&self, read: &Stamp) -> bool {
        self.chains.iter().all(|chain| {
            let next = chain.queue.front().map(|(item, _)| &item.stamp).or(chain.taken.as_ref());
            next.is_some_and(|next| read.precedes(next))
        })
    }

    /// The last commit version before a read, if vectors and the oracle's decisions tell.
    fn version_of(&self, pin: &Pin, last: u64) -> Option<u64> {
        let mut commit_version = last.min(pin.below.saturating_sub(1));
        for (at, record) in self.recent.iter().rev().filter(|(at, _)| *at < pin.below) {
            if record.precedes(&pin.read) {
                return Some(*at);
            } else if !pin.read.precedes(record) {
                return None;
            }
            commit_version = at - 1;
        }
        Some(commit_version)
    }

    /// The records that only the oracle can compare with a read, the last one first.
    fn concurrent_with<'a>(&'a self, pin: &'a Pin) -> impl Iterator<Item = (u64, &'a Stamp)> {
        let left = self.recent.iter().rev().filter(|(commit_version, _)| *commit_version < pin.below);
        let rest = left.take_while(|(_, record)| !record.precedes(&pin.read));
        rest.filter(|(_, record)| !pin.read.precedes(record))
            .map(|(commit_version, record)| (*commit_version, record))
    }

    fn told(&mut self, question: u64, answer: Result<Vec<bool>, usize>) {
        let Some(asking) = self.asking.take_if(|asking| asking.question == question) else { return };
        let before = match answer {
            Ok(before) => before,
            Err(at) => {
                // Only a read that is over can ask about what was forgotten: its message came late.
                if let Some(Some((key, _))) = asking.about.get(at) {
                    self.pins.remove(key);
                }
                return;
            }
        };
        for (((this, that), about), before) in asking.pairs.iter().zip(&asking.about).zip(before) {
            match about {
                None => self.decided.learn(this, that, before),
                Some((key, commit_version)) => {
                    let Some(pin) = self.pins.get_mut(key).filter(|pin| pin.commit_version.is_none()) else {
                        continue;
                    };
                    if before {
                        pin.commit_version = Some(*commit_version);
                    } else {
                        pin.below = *commit_version;
                    }
                }
            }
        }
    }

    fn settle(&mut self, next: u64, frontier: Option<Box<[u64]>>) {
        while self.reported < next && self.unreported.pop_front().is_some() {
            self.reported += 1;
        }
        if let Some(frontier) = frontier {
            let known = |(_, stamp): &mut (u64, Stamp)| stamp.counter() <= frontier[stamp.gatekeeper()];
            while self.recent.pop_front_if(known).is_some() {}
            self.pins.retain(|_, pin| knows(&pin.read, &frontier));
            for (own, other) in self.frontier.iter_mut().zip(&frontier) {
                *own = (*own).max(*other);
            }
        }
    }
}

/// Does a stamp know all that a vector counts?
fn knows(stamp: &Stamp, vector: &[u64]) -> bool {
    stamp.vector().iter().zip(vector).all(|(own, other)| own >= other)
}
