//! The scribe: one sequence of all commits of the cluster, and the frontier below which nothing is compared any more.
//!
//! Idea: to the scribe each gate is one chain, of the records that shards report; a chain is known as far as *all* shards have taken it. It chooses
//! the next record as a shard does that owns everything, so its sequence is one of the linear extensions that all shards agree with. It asks
//! the oracle about concurrent commits that share no shard, too: a read may have seen one of them without the other, and a reader of
//! the sequence must not see it the other way round.
//! Invariants: a commit version is published after it is written; the next record that a shard reports is the sequence's next of that shard. The
//! scribe never takes part again in an epoch that it has left: shards have forgotten the records they had reported by then.

use crate::choose::{Choice, Decided, Head, Question, choose};
use crate::limits::{Timing, UNVERSIONED_MAX, VERSIONS_MAX};
use crate::member::Member;
use crate::message::{Body, Input, Members, Message, Node, Output};
use crate::record::CommitId;
use crate::rules::Rules;
use crate::truth::{Call, Reply, Unknown};
use order::Stamp;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Counters for `SHOW ORDER`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScribeCounts {
    /// Commits that got versions.
    pub versioned: u64,
    /// Questions to the oracle.
    pub questions: u64,
    /// Pairs in them.
    pub pairs: u64,
    /// Records that came next of the chains and not of a shard: none, by the prefix law.
    pub disagreements: u64,
}

/// One scribe.
#[derive(Debug)]
pub struct Scribe {
    rules: Rules,
    member: Member,
    now_us: u64,
    part: Option<Part>,
    /// The epoch in which truth denied its commit versions. It is over, as a rule, and the next is announced soon.
    denied: Option<u64>,
    next_question: u64,
    counts: ScribeCounts,
}

/// Stamps of records and their shards, by counter.
type Chain = BTreeMap<u64, (Stamp, Box<[u16]>)>;

#[derive(Debug)]
struct Part {
    members: Arc<Members>,
    shards: Vec<Reported>,
    /// The vectors that gates' stamps know, as reported.
    lows: Vec<Option<Box<[u64]>>>,
    /// Records without a commit version, by gate and counter.
    chains: Vec<Chain>,
    decided: Decided,
    asking: Option<Question>,
    /// Chosen, and not written yet.
    chosen: VecDeque<Stamp>,
    writing: Option<Writing>,
    /// The last commit version written.
    commit_version: u64,
    frontier: Option<Box<[u64]>>,
    told_us: u64,
}

#[derive(Debug)]
struct Reported {
    next: u64,
    taken: Vec<Option<Stamp>>,
    /// Reported and not chosen, in the shard's order.
    order: VecDeque<CommitId>,
}

#[derive(Debug)]
struct Writing {
    commits: Vec<CommitId>,
    token: Option<u64>,
}

impl Scribe {
    /// A process that has just started.
    pub fn new(incarnation: u64, timing: Timing, rules: Rules) -> Scribe {
        let member = Member::new(incarnation, timing);
        let counts = ScribeCounts::default();
        Scribe { rules, member, now_us: 0, part: None, denied: None, next_question: 0, counts }
    }
    /// The counters so far.
    pub fn counts(&self) -> ScribeCounts {
        self.counts
    }

    /// Takes inputs, and returns outputs.
    pub fn step(&mut self, now_us: u64, inputs: impl IntoIterator<Item = Input>) -> Vec<Output> {
        self.now_us = now_us;
        for input in inputs {
            match input {
                Input::Tick => self.tick(),
                Input::Message { from, message } => self.hear(from, message),
                Input::Answer { token, answer } => self.written(token, answer),
                Input::Read { .. } | Input::Close(_) | Input::Commit { .. } => {}
            }
        }
        self.work();
        std::mem::take(&mut self.member.outputs)
    }

    fn tick(&mut self) {
        let epoch = self.part.as_ref().map_or(0, |part| part.members.epoch);
        self.member.beat(self.now_us, epoch, self.part.is_some());
        let Some(part) = &mut self.part else { return };
        let resend = self.member.timing.resend_us;
        if let Some(asking) = &mut part.asking
            && self.now_us.saturating_sub(asking.sent_us) >= resend
        {
            asking.sent_us = self.now_us;
            let body = Body::Ask { question: asking.number, pairs: asking.pairs.clone() };
            self.member.send(Node::Oracle, epoch, body);
        }
        if self.now_us.saturating_sub(part.told_us) >= resend {
            part.told_us = self.now_us;
            self.tell();
        }
    }

    /// Asks shards for the items that hold up the sequence; announces the frontier when it has moved.
    fn tell(&mut self) {
        let Some(part) = &mut self.part else { return };
        let epoch = part.members.epoch;
        let mut clock: Box<[u64]> = vec![0; part.chains.len()].into();
        for (stamp, _) in part.chains.iter().filter_map(|chain| chain.values().next_back()) {
            clock.iter_mut().zip(stamp.vector()).for_each(|(own, other)| *own = (*own).max(*other));
        }
        if clock.iter().any(|counter| *counter > 0) {
            for shard in 0..part.members.shards {
                self.member.send(Node::Shard(shard), epoch, Body::Want(clock.clone()));
            }
        }
        let frontier = part.frontier();
        if frontier.is_some() && frontier != part.frontier {
            part.frontier = frontier.clone();
            let frontier = frontier.unwrap_or_default();
            self.member.send(Node::Oracle, epoch, Body::Forget(frontier.clone()));
            self.member.call(Call::Forget { epoch, frontier });
        }
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
            (Node::Shard(shard), Body::Executed { from: first, records, taken }) => {
                part.take_report(usize::from(shard), first, records, taken);
                let next = part.shards[usize::from(shard)].next;
                let body = Body::Settled {
                    next,
                    commit_version: part.commit_version,
                    frontier: part.frontier.clone(),
                };
                self.member.send(from, epoch, body);
            }
            (Node::Gate(gate), Body::Low(low)) => {
                if let Some(at) = part.members.seat(gate) {
                    let last = part.lows[at].take().unwrap_or_else(|| low.clone());
                    let merged = last.iter().zip(&low).map(|(last, low)| *last.max(low));
                    part.lows[at] = Some(merged.collect());
                }
            }
            (Node::Oracle, Body::Told { question, answer }) => {
                if let Some(asked) = part.asking.take_if(|asked| asked.number == question)
                    && let Ok(before) = answer
                {
                    let pairs = asked.pairs.iter().zip(before);
                    pairs.for_each(|((a, b), first)| part.decided.learn(a, b, first));
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, members: Arc<Members>) {
        if self.denied.is_some_and(|denied| members.epoch < denied) {
            // It came late: the denied epoch was told after it.
            return;
        }
        if self.denied == Some(members.epoch) && self.rules.denied_scribes_begin_anew {
            // The keeper takes a new life for a new process, and begins an epoch with it.
            self.denied = None;
            self.member.incarnation += 1;
            self.member.tell_keeper(self.now_us, 0, false);
        } else if self.part.as_ref().is_none_or(|part| part.members.epoch < members.epoch) {
            self.member.tell_keeper(self.now_us, members.epoch, true);
            (self.part, self.denied) = (Some(Part::new(members)), None);
        }
    }

    fn work(&mut self) {
        loop {
            let Some(part) = &mut self.part else { return };
            match part.choose() {
                Choice::Take(chain) => self.chosen(chain),
                // Wrong on purpose: what the orders of shards leave open is open to the scribe, too.
                Choice::Ask(_) if !self.rules.scribe_asks => match part.first_by_shards() {
                    Some(chain) => self.chosen(chain),
                    None => break,
                },
                Choice::Ask(pairs) => {
                    if part.asking.is_none() {
                        self.next_question += 1;
                        self.counts.questions += 1;
                        self.counts.pairs += pairs.len() as u64;
                        let (number, epoch) = (self.next_question, part.members.epoch);
                        let body = Body::Ask { question: number, pairs: pairs.clone() };
                        self.member.send(Node::Oracle, epoch, body);
                        part.asking = Some(Question { number, epoch, pairs, sent_us: self.now_us });
                    }
                    break;
                }
                Choice::Wait | Choice::Empty => break,
            }
        }
        self.write();
    }

    fn chosen(&mut self, chain: usize) {
        let Some(part) = &mut self.part else { return };
        let Some((_, (stamp, shards))) = part.chains[chain].pop_first() else { return };
        part.decided.drop(&stamp);
        let id = CommitId::of(&stamp);
        for shard in shards {
            let order = &mut part.shards[usize::from(shard)].order;
            if order.pop_front_if(|first| *first == id).is_none() {
                self.counts.disagreements += 1;
                order.retain(|other| *other != id);
            }
        }
        if !self.rules.versions_before_publishing {
            let commit_version = part.commit_version + part.chosen.len() as u64 + 1;
            self.member.outputs.push(Output::Publish { commit_version, commit: id });
        }
        part.chosen.push_back(stamp);
    }

    fn write(&mut self) {
        let Some(part) = &mut self.part else { return };
        if part.writing.is_none() && !part.chosen.is_empty() {
            let commits = part.chosen.iter().take(VERSIONS_MAX).map(CommitId::of).collect();
            part.writing = Some(Writing { commits, token: None });
        }
        let Some(writing) = part.writing.as_mut().filter(|writing| writing.token.is_none()) else { return };
        let (epoch, first, commits) = (part.members.epoch, part.commit_version + 1, writing.commits.clone());
        writing.token = Some(self.member.call(Call::AssignVersions { epoch, first, commits }));
    }

    fn written(&mut self, token: u64, answer: Result<Reply, Unknown>) {
        let Some(part) = &mut self.part else { return };
        let Some(mut writing) = part.writing.take_if(|writing| writing.token == Some(token)) else { return };
        match answer {
            Ok(Reply::Assigned(true)) => {
                for commit in writing.commits {
                    part.commit_version += 1;
                    part.chosen.pop_front();
                    self.counts.versioned += 1;
                    if self.rules.versions_before_publishing {
                        self.member
                            .outputs
                            .push(Output::Publish { commit_version: part.commit_version, commit });
                    }
                }
            }
            // The epoch is over: the keeper writes the rest. If it holds the epoch open, it tells the scribe of it again.
            Ok(_) => {
                self.denied = Some(part.members.epoch);
                self.part = None;
            }
            Err(Unknown) => {
                writing.token = None;
                part.writing = Some(writing);
            }
        }
    }
}

impl Part {
    fn new(members: Arc<Members>) -> Part {
        let gates = members.gates.len();
        let shard = |_| Reported { next: 0, taken: vec![None; gates], order: VecDeque::new() };
        Part {
            shards: (0..members.shards).map(shard).collect(),
            lows: vec![None; gates],
            chains: vec![BTreeMap::new(); gates],
            decided: Decided::default(),
            asking: None,
            chosen: VecDeque::new(),
            writing: None,
            commit_version: members.first_version,
            frontier: None,
            told_us: 0,
            members,
        }
    }

    fn take_report(
        &mut self,
        shard: usize,
        from: u64,
        records: Vec<(Stamp, Box<[u16]>)>,
        taken: Option<Vec<Option<Stamp>>>,
    ) {
        let reported = &mut self.shards[shard];
        if from > reported.next {
            return;
        }
        let end = from + records.len() as u64;
        // Counted by shard: if others filled a common limit, the shard that they all wait for would be refused, for ever.
        let room = UNVERSIONED_MAX.saturating_sub(reported.order.len());
        for (stamp, shards) in records.into_iter().skip((reported.next - from) as usize).take(room) {
            reported.order.push_back(CommitId::of(&stamp));
            self.chains[stamp.gatekeeper()].insert(stamp.counter(), (stamp, shards));
            reported.next += 1;
        }
        if reported.next < end {
            return;
        }
        // An older report may come late; what it says was taken is taken, all the same.
        for (own, other) in reported.taken.iter_mut().zip(taken.into_iter().flatten()) {
            let counter = |stamp: &Option<Stamp>| stamp.as_ref().map_or(0, Stamp::counter);
            if counter(&other) > counter(own) {
                *own = other;
            }
        }
    }

    /// How far all shards have taken a chain.
    fn taken(&self, chain: usize) -> Option<&Stamp> {
        let all = self.shards.iter().map(|shard| shard.taken[chain].as_ref());
        all.min_by_key(|stamp| stamp.map_or(0, Stamp::counter)).flatten()
    }

    fn heads(&self) -> Vec<Head<'_>> {
        let head = |(at, chain): (usize, &Chain)| {
            let taken = self.taken(at).map_or(0, Stamp::counter);
            chain.first_key_value().is_some_and(|(counter, _)| *counter <= taken)
        };
        let known: Vec<bool> = self.chains.iter().enumerate().map(head).collect();
        let chains = self.chains.iter().enumerate().zip(known);
        chains
            .map(|((at, chain), known)| match chain.values().next().filter(|_| known) {
                Some((stamp, _)) => Head::Record(stamp, 0),
                None => Head::Frontier(self.taken(at)),
            })
            .collect()
    }

    fn choose(&self) -> Choice {
        if self.chains.iter().all(BTreeMap::is_empty) {
            return Choice::Empty;
        }
        choose(&self.heads(), &self.decided)
    }

    /// A chain whose first record is first of all its shards, and that no other first record precedes by vectors.
    fn first_by_shards(&self) -> Option<usize> {
        let heads = self.heads();
        let first = |stamp: &Stamp, shards: &[u16]| {
            let id = CommitId::of(stamp);
            shards.iter().all(|shard| self.shards[usize::from(*shard)].order.front() == Some(&id))
        };
        (0..heads.len()).find(|at| {
            let Some((stamp, shards)) = self.chains[*at].values().next() else { return false };
            matches!(heads[*at], Head::Record(..))
                && first(stamp, shards)
                && heads.iter().all(|head| match head {
                    Head::Record(other, _) => !other.precedes(stamp),
                    Head::Frontier(Some(frontier)) => stamp.precedes(frontier),
                    _ => false,
                })
        })
    }

    /// The merged vector that every stamp knows that may still be compared: those of gates, of items that shards have not taken, of commits without a
    /// version.
    fn frontier(&self) -> Option<Box<[u64]>> {
        let mut frontier: Option<Box<[u64]>> = None;
        let mut least = |vector: &[u64]| match &mut frontier {
            Some(own) => own.iter_mut().zip(vector).for_each(|(own, other)| *own = (*own).min(*other)),
            None => frontier = Some(vector.into()),
        };
        for low in &self.lows {
            least(low.as_ref()?);
        }
        for stamp in self.shards.iter().flat_map(|shard| &shard.taken) {
            least(stamp.as_ref()?.vector());
        }
        let heads = self.chains.iter().filter_map(|chain| chain.values().next());
        heads.map(|(stamp, _)| stamp).chain(&self.chosen).for_each(|stamp| least(stamp.vector()));
        frontier
    }
}

#[cfg(test)]
mod tests;
