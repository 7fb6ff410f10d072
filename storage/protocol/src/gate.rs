//! A gate: stamps reads and commits, proposes groups of commits to truth, feeds the channels of shards.
//!
//! ```text
//!   reads of one step ── one stamp ──> pins at shards, a NOP behind them ──> answers
//!   commits ── wait ──> a group: stamps, announced ── truth ──> records into channels ── heard by all gates ──> acknowledged
//!                          ^── late: stamped anew, after the clock in truth's answer ──┘
//! ```
//!
//! Invariants: stamps in a channel rise, so no NOP goes to a shard that a group in truth may still touch; one group is in truth at a time; a
//! commit is acknowledged only when every gate of the epoch has heard its stamp, or this gate has left the epoch (then nothing of it
//! can begin here any more, and reads elsewhere in it would need a NOP from here).
//! A call whose outcome is unknown is made again with the same number until truth answers.

use crate::channel::Outgoing;
use crate::limits::{
    CHUNKS_AT_HAND, CHUNKS_LEASED, GROUP_MAX, LATE_TRIES_MAX, QUESTION_COST, READ_KEYS_MAX, READS_MAX,
    Timing, WAITING_MAX,
};
use crate::member::Member;
use crate::message::{Body, Commit, End, Input, Members, Message, Node, Output, Refusal};
use crate::record::{Bytes, Proposed, Record, Verdict};
use crate::rules::Rules;
use crate::truth::{Call, Reply, Route, Unknown};
use order::{Gatekeeper, Stamp, Tau};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Counters for `SHOW ORDER`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GateCounts {
    /// Commits that truth took.
    pub commits: u64,
    /// Groups of them.
    pub groups: u64,
    /// Transactions that were stamped anew.
    pub late: u64,
    /// Clocks sent.
    pub announcements: u64,
    /// NOPs sent.
    pub nops: u64,
    /// Reads stamped.
    pub reads: u64,
    /// Stamps for reads.
    pub read_stamps: u64,
}

/// A gate's part in the epoch, for reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateSeat {
    /// The epoch.
    pub epoch: u64,
    /// Its gates, by number.
    pub gates: Vec<u16>,
    /// How many shards there are.
    pub shards: u16,
    /// May it commit and read?
    pub is_open: bool,
    /// The time between announcements.
    pub tau_us: u64,
}

/// One gate.
#[derive(Debug)]
pub struct Gate {
    number: u16,
    rules: Rules,
    member: Member,
    now_us: u64,
    /// The last epoch that it had a seat in: it never takes one of the same again.
    last_epoch: u64,
    seat: Option<Seat>,
    /// Groups of an ended epoch whose outcome is still unknown.
    stale: Vec<Group>,
    routes: BTreeMap<u32, Route>,
    /// The call for the placement, and whether it must be made again.
    routing: Option<u64>,
    routes_old: bool,
    chunks: VecDeque<(u32, u16)>,
    leasing: Option<u64>,
    /// Number of leases so far: shards are used round-robin.
    leases: u64,
    counts: GateCounts,
}

/// A gate's part in one epoch.
#[derive(Debug)]
struct Seat {
    members: Arc<Members>,
    at: usize,
    open: bool,
    clock: Gatekeeper,
    tau: Tau,
    announced: u64,
    peers: Vec<Peer>,
    channels: Vec<Outgoing>,
    /// Shards that want a NOP.
    wanted: Vec<bool>,
    reads: BTreeMap<u64, Reading>,
    fresh: Vec<(u64, Vec<(u16, Bytes)>)>,
    pins: BTreeMap<u64, Pin>,
    next_pin: u64,
    waiting: VecDeque<Pending>,
    groups: u64,
    group: Option<Group>,
    gathering: Gathering,
    /// Committed, and not heard by all: stamps and requests.
    unheard: VecDeque<(Stamp, u64)>,
    low_us: u64,
}

#[derive(Clone, Debug)]
struct Peer {
    heard: u64,
    told_us: u64,
}

#[derive(Debug)]
struct Reading {
    stamp: Stamp,
    missing: usize,
    answers: Vec<(u16, Bytes)>,
}

#[derive(Debug)]
struct Pin {
    request: u64,
    shard: u16,
    query: Bytes,
    sent_us: u64,
}

#[derive(Debug)]
struct Pending {
    request: u64,
    tries: u32,
    base: Option<Stamp>,
    commit: Commit,
}

/// How long the next group waits for more commits.
#[derive(Debug, Default)]
struct Gathering {
    /// Commits of the last group.
    enough: usize,
    /// When the group in truth began, and how long the last one took.
    began_us: u64,
    took_us: u64,
    ended_us: u64,
}

impl Gathering {
    fn begins(&mut self, now_us: u64, count: usize) {
        (self.enough, self.began_us) = (count, now_us);
    }
    fn ends(&mut self, now_us: u64) {
        (self.took_us, self.ended_us) = (now_us.saturating_sub(self.began_us), now_us);
    }
    /// Is the wait for more commits over?
    fn is_over(&self, now_us: u64, waiting: usize, longest_us: u64) -> bool {
        let patience_us = (self.took_us / 2).min(longest_us);
        waiting >= self.enough || now_us >= self.ended_us + patience_us
    }
}

#[derive(Debug)]
struct Group {
    epoch: u64,
    at: usize,
    number: u64,
    requests: Vec<(u64, u32)>,
    proposed: Arc<Vec<Proposed>>,
    /// Nothing while the call must be made again.
    token: Option<u64>,
}

impl Gate {
    /// A process that has just started and waits for the keeper.
    pub fn new(number: u16, incarnation: u64, timing: Timing, rules: Rules) -> Gate {
        Gate {
            number,
            rules,
            member: Member::new(incarnation, timing),
            now_us: 0,
            last_epoch: 0,
            seat: None,
            stale: Vec::new(),
            routes: BTreeMap::new(),
            routing: None,
            routes_old: true,
            chunks: VecDeque::new(),
            leasing: None,
            leases: 0,
            counts: GateCounts::default(),
        }
    }
    /// Is the gate in an open epoch?
    pub fn is_open(&self) -> bool {
        self.seat.as_ref().is_some_and(|seat| seat.open)
    }
    /// Reads that are open.
    pub fn open_reads(&self) -> usize {
        self.seat.as_ref().map_or(0, |seat| seat.reads.len() + seat.fresh.len())
    }
    /// The counters so far.
    pub fn counts(&self) -> GateCounts {
        self.counts
    }
    /// The owner of a chunk, as far as this gate knows; truth refuses commits routed by an older answer.
    pub fn route(&self, chunk: u32) -> Option<Route> {
        self.routes.get(&chunk).copied()
    }
    /// A unique chunk number, and its shard; none while the lease is being fetched.
    pub fn take_chunk(&mut self) -> Option<(u32, u16)> {
        self.chunks.pop_front()
    }
    /// The time between announcements.
    pub fn tau_us(&self) -> Option<u64> {
        self.seat.as_ref().map(|seat| seat.tau.us())
    }

    /// Its part in the epoch; none while it has none.
    pub fn seat(&self) -> Option<GateSeat> {
        let seat = self.seat.as_ref()?;
        let Members { epoch, gates, shards, .. } = &*seat.members;
        let (is_open, tau_us) = (seat.open, seat.tau.us());
        Some(GateSeat { epoch: *epoch, gates: gates.clone(), shards: *shards, is_open, tau_us })
    }

    /// Takes inputs, and returns outputs. Reads that come together share one stamp.
    pub fn step(&mut self, now_us: u64, inputs: impl IntoIterator<Item = Input>) -> Vec<Output> {
        self.now_us = now_us;
        for input in inputs {
            match input {
                Input::Tick => self.tick(),
                Input::Message { from, message } => self.hear(from, message),
                Input::Answer { token, answer } => self.answered(token, answer),
                Input::Read { request, queries } => self.read(request, queries),
                Input::Close(request) => {
                    if let Some(seat) = &mut self.seat {
                        seat.close(request);
                    }
                }
                Input::Commit { request, commit } => self.commit(request, commit),
            }
        }
        self.stamp_reads();
        self.start_group();
        self.acknowledge();
        std::mem::take(&mut self.member.outputs)
    }

    fn end(&mut self, request: u64, end: End) {
        self.member.outputs.push(Output::Ended { request, end });
    }

    fn tick(&mut self) {
        let epoch = self.seat.as_ref().map_or(0, |seat| seat.members.epoch);
        self.member.beat(self.now_us, epoch, self.seat.is_some());
        self.propose_again();
        if self.routes_old && self.routing.is_none() && self.is_open() {
            self.routes_old = false;
            self.routing = Some(self.member.call(Call::Placement));
        }
        self.lease();
        self.tell_clock_again();
        self.send_again();
        self.tell_low();
    }

    /// Proposes groups with an unknown outcome again.
    fn propose_again(&mut self) {
        let current = self.seat.as_mut().and_then(|seat| seat.group.as_mut());
        for group in self.stale.iter_mut().chain(current).filter(|group| group.token.is_none()) {
            group.token = Some(self.member.call(group.call()));
        }
    }

    fn lease(&mut self) {
        let Some(seat) = self.seat.as_ref().filter(|seat| seat.open) else { return };
        let shards = seat.members.shards;
        if self.chunks.len() < usize::from(shards) * CHUNKS_AT_HAND && self.leasing.is_none() {
            let turn = u64::from(self.number) + seat.members.epoch + self.leases;
            let shard = (turn % u64::from(shards)) as u16;
            self.leases += 1;
            self.leasing = Some(self.member.call(Call::Lease { shard, count: CHUNKS_LEASED }));
        }
    }

    fn tell_clock_again(&mut self) {
        let resend = self.member.timing.resend_us;
        let Some(seat) = &mut self.seat else { return };
        if seat.peers.len() > 1 && seat.own() > seat.announced && seat.clock.is_due(self.now_us, &seat.tau) {
            self.announce();
            if let Some(seat) = &mut self.seat {
                seat.tau.announced(seat.peers.len() as u64 - 1);
            }
            return;
        }
        let Some(needed) = seat.unheard.back().map(|(stamp, _)| stamp.counter()) else { return };
        for at in 0..seat.peers.len() {
            let peer = &mut seat.peers[at];
            if at != seat.at && peer.heard < needed && self.now_us.saturating_sub(peer.told_us) >= resend {
                peer.told_us = self.now_us;
                let clock = seat.clock.clock().into();
                self.counts.announcements += 1;
                let (to, epoch) = (Node::Gate(seat.members.gates[at]), seat.members.epoch);
                self.member.send(to, epoch, Body::Announce(clock));
            }
        }
    }

    fn send_again(&mut self) {
        let resend = self.member.timing.resend_us;
        let Some(seat) = &mut self.seat else { return };
        let epoch = seat.members.epoch;
        for (shard, channel) in seat.channels.iter_mut().enumerate() {
            for item in channel.again(self.now_us, resend, false) {
                self.member.send(Node::Shard(shard as u16), epoch, Body::Item(item));
            }
        }
        for (number, pin) in &mut seat.pins {
            if self.now_us.saturating_sub(pin.sent_us) >= resend {
                pin.sent_us = self.now_us;
                let read = seat.reads[&pin.request].stamp.clone();
                let body = Body::Pin { read, request: *number, query: pin.query.clone() };
                self.member.send(Node::Shard(pin.shard), epoch, body);
            }
        }
    }

    fn tell_low(&mut self) {
        let Some(seat) = &mut self.seat else { return };
        if self.now_us.saturating_sub(seat.low_us) >= self.member.timing.resend_us {
            seat.low_us = self.now_us;
            let low = seat.low();
            self.member.send(Node::Scribe, seat.members.epoch, Body::Low(low));
        }
    }

    /// Announces the clock to all other gates.
    fn announce(&mut self) {
        let Some(seat) = &mut self.seat else { return };
        let clock = seat.clock.announce(self.now_us);
        seat.announced = seat.own();
        for (at, gate) in seat.members.gates.iter().enumerate().filter(|(at, _)| *at != seat.at) {
            seat.peers[at].told_us = self.now_us;
            self.counts.announcements += 1;
            self.member.send(Node::Gate(*gate), seat.members.epoch, Body::Announce(clock.clone()));
        }
    }

    fn hear(&mut self, from: Node, message: Message) {
        let Message { epoch, body } = message;
        match body {
            Body::Pulse(clock) => self.member.pulse = clock,
            Body::Begin { incarnation, members } if incarnation == self.member.incarnation => {
                self.begin(members);
            }
            Body::Open { incarnation } if incarnation == self.member.incarnation => {
                if let Some(seat) = self.seat.as_mut().filter(|seat| seat.members.epoch == epoch) {
                    seat.open = true;
                }
            }
            body if self.seat.as_ref().is_some_and(|seat| seat.members.epoch == epoch) => {
                self.hear_in_epoch(from, epoch, body);
            }
            _ => {}
        }
    }

    fn hear_in_epoch(&mut self, from: Node, epoch: u64, body: Body) {
        let Some(seat) = &mut self.seat else { return };
        match (from, body) {
            (Node::Gate(gate), Body::Announce(clock)) => {
                seat.clock.hear(epoch, &clock);
                let heard = seat.members.seat(gate).map_or(0, |at| clock[at]);
                self.member.send(from, epoch, Body::Heard(heard));
            }
            (Node::Gate(gate), Body::Heard(counter)) => {
                if let Some(at) = seat.members.seat(gate) {
                    seat.peers[at].heard = seat.peers[at].heard.max(counter);
                }
            }
            (Node::Shard(shard), Body::Received { next, gap, questions }) => {
                let channel = &mut seat.channels[usize::from(shard)];
                channel.acknowledge(self.now_us, next);
                seat.tau.asked(questions);
                for item in channel.again(self.now_us, u64::MAX, gap) {
                    self.member.send(from, epoch, Body::Item(item));
                }
            }
            (Node::Shard(shard), Body::Want(clock)) => {
                seat.clock.hear(epoch, &clock);
                seat.wanted[usize::from(shard)] = true;
                self.send_nops();
            }
            (Node::Shard(shard), Body::Pinned { request, answer }) => self.pinned(shard, request, answer),
            _ => {}
        }
    }

    /// Leaves the present epoch, and takes its seat in another.
    fn begin(&mut self, members: Arc<Members>) {
        let epoch = members.epoch;
        if self.last_epoch >= epoch {
            return;
        }
        self.leave();
        self.last_epoch = epoch;
        if let Some(at) = members.seat(self.number) {
            self.seat = Some(Seat::new(members, at, self.member.timing.tau_us));
            self.routes_old = true;
            self.member.tell_keeper(self.now_us, epoch, true);
        }
    }

    /// A group in truth may be committed: it is proposed again until its outcome is known. A committed one is acknowledged: no transaction can begin
    /// before it any more.
    fn leave(&mut self) {
        let Some(seat) = self.seat.take() else { return };
        for (stamp, request) in seat.unheard {
            self.end(request, End::Committed(stamp));
        }
        let reads =
            seat.pins.into_values().map(|pin| pin.request).collect::<std::collections::BTreeSet<u64>>();
        let fresh = seat.fresh.into_iter().map(|(request, _)| request);
        let waiting = seat.waiting.into_iter().map(|pending| pending.request);
        for request in reads.into_iter().chain(fresh).chain(waiting) {
            self.end(request, End::Refused(Refusal::Epoch));
        }
        self.stale.extend(seat.group);
    }

    fn read(&mut self, request: u64, queries: Vec<(u16, Bytes)>) {
        let seat = self.seat.as_mut().filter(|seat| seat.open);
        let refusal = match seat {
            None => Refusal::Epoch,
            Some(seat) if seat.reads.contains_key(&request) => {
                self.pin(request, queries);
                return;
            }
            Some(seat) if seat.reads.len() + seat.fresh.len() >= READS_MAX => Refusal::Busy,
            Some(seat) => {
                seat.fresh.push((request, queries));
                return;
            }
        };
        self.end(request, End::Refused(refusal));
    }

    /// One stamp for all reads that came in this step.
    fn stamp_reads(&mut self) {
        let Some(seat) = self.seat.as_mut().filter(|seat| !seat.fresh.is_empty()) else { return };
        let stamp = seat.clock.stamp();
        let fresh = std::mem::take(&mut seat.fresh);
        self.counts.read_stamps += 1;
        self.counts.reads += fresh.len() as u64;
        for (request, _) in &fresh {
            let reading = Reading { stamp: stamp.clone(), missing: 0, answers: Vec::new() };
            seat.reads.insert(*request, reading);
        }
        for (request, queries) in fresh {
            self.pin(request, queries);
        }
        self.send_nops();
    }

    fn pin(&mut self, request: u64, queries: Vec<(u16, Bytes)>) {
        let Some(seat) = &mut self.seat else { return };
        let Some(reading) = seat.reads.get_mut(&request) else { return };
        if queries.is_empty() && reading.missing == 0 {
            self.member.outputs.push(Output::Answered { request, answers: Vec::new() });
        }
        for (shard, query) in queries {
            seat.next_pin += 1;
            reading.missing += 1;
            seat.wanted[usize::from(shard)] = true;
            let body =
                Body::Pin { read: reading.stamp.clone(), request: seat.next_pin, query: query.clone() };
            self.member.send(Node::Shard(shard), seat.members.epoch, body);
            seat.pins.insert(seat.next_pin, Pin { request, shard, query, sent_us: self.now_us });
        }
        self.send_nops();
    }

    fn pinned(&mut self, shard: u16, number: u64, answer: Bytes) {
        let Some(seat) = &mut self.seat else { return };
        let Some(pin) = seat.pins.remove(&number) else { return };
        let Some(reading) = seat.reads.get_mut(&pin.request) else { return };
        reading.missing -= 1;
        reading.answers.push((shard, answer));
        if reading.missing == 0 {
            let mut answers = std::mem::take(&mut reading.answers);
            answers.sort_by_key(|(shard, _)| *shard);
            self.member.outputs.push(Output::Answered { request: pin.request, answers });
        }
    }

    /// To each shard that wants one, unless a group in truth may still bring it an earlier record.
    fn send_nops(&mut self) {
        let Some(seat) = &mut self.seat else { return };
        for shard in 0..seat.channels.len() {
            let touched = self.rules.nops_behind_groups && seat.is_touched(shard as u16);
            if !seat.wanted[shard] || touched || !seat.channels[shard].has_room(1) {
                continue;
            }
            seat.wanted[shard] = false;
            self.counts.nops += 1;
            let stamp = seat.clock.stamp();
            let item = seat.channels[shard].push(self.now_us, stamp, None);
            self.member.send(Node::Shard(shard as u16), seat.members.epoch, Body::Item(item));
        }
    }

    fn commit(&mut self, request: u64, commit: Commit) {
        let refusal = match self.seat.as_mut().filter(|seat| seat.open) {
            None => Refusal::Epoch,
            Some(seat) => {
                let stamp = |read| Some(seat.reads.get(&read)?.stamp.clone());
                let base = commit.base.and_then(stamp);
                let room = |(shard, _): &(u16, Bytes)| {
                    seat.channels
                        .get(usize::from(*shard))
                        .is_some_and(|channel| channel.has_room(seat.waiting.len() + 2 * GROUP_MAX))
                };
                if base.is_none() && (commit.base.is_some() || !commit.reads.is_empty()) {
                    Refusal::Epoch
                } else if commit.reads.len() > READ_KEYS_MAX || commit.parts.is_empty() {
                    Refusal::TooLarge
                } else if seat.waiting.len() >= WAITING_MAX || !commit.parts.iter().all(room) {
                    Refusal::Busy
                } else {
                    seat.waiting.push_back(Pending { request, tries: 0, base, commit });
                    return;
                }
            }
        };
        self.end(request, End::Refused(refusal));
    }

    /// The next group goes to truth, and its stamps to all gates at the same moment.
    fn start_group(&mut self) {
        let Some(seat) = self.seat.as_mut().filter(|seat| seat.group.is_none()) else { return };
        let longest_us = self.member.timing.gather_us_max();
        let is_over = seat.gathering.is_over(self.now_us, seat.waiting.len(), longest_us);
        if seat.waiting.is_empty() || !is_over {
            return;
        }
        let count = seat.waiting.len().min(GROUP_MAX);
        seat.gathering.begins(self.now_us, count);
        let (mut requests, mut proposed) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for pending in seat.waiting.drain(..count) {
            requests.push((pending.request, pending.tries));
            let Commit { reads, writes, routes, moves, parts, .. } = pending.commit;
            let record = Record { stamp: seat.clock.stamp(), parts };
            proposed.push(Proposed { base: pending.base, reads, writes, routes, moves, record });
        }
        seat.groups += 1;
        let (epoch, at, number) = (seat.members.epoch, seat.at, seat.groups);
        let mut group = Group { epoch, at, number, requests, proposed: Arc::new(proposed), token: None };
        group.token = Some(self.member.call(group.call()));
        seat.group = Some(group);
        self.counts.groups += 1;
        if self.rules.heard_by_all {
            self.announce();
        }
    }

    fn answered(&mut self, token: u64, answer: Result<Reply, Unknown>) {
        if self.routing == Some(token) {
            self.routing = None;
            match answer {
                Ok(Reply::Placement(routes)) => {
                    self.routes = routes.into_iter().map(|route| (route.chunk, route)).collect();
                }
                _ => self.routes_old = true,
            }
            return;
        }
        if self.leasing == Some(token) {
            self.leasing = None;
            if let Ok(Reply::Leased(first, count, owner)) = answer {
                for chunk in first..first + count {
                    self.chunks.push_back((chunk, owner));
                    self.routes.insert(chunk, Route { chunk, owner, version: 0 });
                }
            }
            return;
        }
        let is_it = |group: &Group| group.token == Some(token);
        if let Some(seat) = &mut self.seat
            && seat.group.as_ref().is_some_and(is_it)
            && let Some(group) = seat.group.take()
        {
            self.group_done(group, answer);
        } else if let Some(at) = self.stale.iter().position(is_it) {
            let group = self.stale.swap_remove(at);
            self.stale_done(group, answer);
        }
    }

    fn group_done(&mut self, mut group: Group, answer: Result<Reply, Unknown>) {
        let Some(seat) = &mut self.seat else { return };
        let Ok(Reply::Verdicts(verdicts)) = answer else {
            group.token = None;
            seat.group = Some(group);
            return;
        };
        seat.gathering.ends(self.now_us);
        let (mut anew, mut fenced) = (Vec::new(), false);
        for ((verdict, (request, tries)), one) in
            verdicts.iter().zip(&group.requests).zip(group.proposed.iter())
        {
            let refusal = match verdict {
                Verdict::Committed => {
                    self.counts.commits += 1;
                    seat.feed(self.now_us, one, &mut self.member);
                    seat.unheard.push_back((one.record.stamp.clone(), *request));
                    continue;
                }
                Verdict::Late(clock) => {
                    self.counts.late += 1;
                    seat.clock.hear(seat.members.epoch, clock);
                    Refusal::Busy
                }
                // Nobody tells the client, whose time runs out: its outcome is unknown.
                Verdict::Forgotten => continue,
                Verdict::Again => Refusal::Busy,
                Verdict::Conflict => Refusal::Conflict,
                Verdict::Moved => {
                    self.routes_old = true;
                    Refusal::Moved
                }
                Verdict::Fenced => {
                    fenced = true;
                    Refusal::Epoch
                }
            };
            if refusal == Refusal::Busy && *tries < LATE_TRIES_MAX {
                anew.push(Pending::again(*request, tries + 1, one));
            } else {
                self.member.outputs.push(Output::Ended { request: *request, end: End::Refused(refusal) });
            }
        }
        anew.into_iter().rev().for_each(|pending| seat.waiting.push_front(pending));
        if fenced {
            self.leave();
        } else {
            self.send_nops();
        }
    }

    /// The answer for a group of an ended epoch: a group that truth does not have, it will never have.
    fn stale_done(&mut self, mut group: Group, answer: Result<Reply, Unknown>) {
        let Ok(Reply::Verdicts(verdicts)) = answer else {
            group.token = None;
            self.stale.push(group);
            return;
        };
        for ((verdict, (request, _)), one) in verdicts.iter().zip(&group.requests).zip(group.proposed.iter())
        {
            let end = match verdict {
                Verdict::Committed => End::Committed(one.record.stamp.clone()),
                Verdict::Forgotten => continue,
                _ => End::Refused(Refusal::Epoch),
            };
            self.member.outputs.push(Output::Ended { request: *request, end });
        }
    }

    /// Acknowledges commits that every gate has heard of.
    fn acknowledge(&mut self) {
        let Some(seat) = &mut self.seat else { return };
        let others = seat.peers.iter().enumerate().filter(|(at, _)| *at != seat.at);
        let heard = others.map(|(_, peer)| peer.heard).min().unwrap_or(u64::MAX);
        let all = if self.rules.heard_by_all { heard } else { u64::MAX };
        while let Some((stamp, request)) = seat.unheard.pop_front_if(|(stamp, _)| stamp.counter() <= all) {
            self.member.outputs.push(Output::Ended { request, end: End::Committed(stamp) });
        }
    }
}

impl Seat {
    fn new(members: Arc<Members>, at: usize, tau_us: Option<u64>) -> Seat {
        let (gates, shards) = (members.gates.len(), usize::from(members.shards));
        let mut clock = Gatekeeper::new(at, gates);
        clock.hear(members.epoch, &[]);
        Seat {
            at,
            open: false,
            clock,
            tau: tau_us.map_or_else(|| Tau::weighing(QUESTION_COST), Tau::fixed),
            announced: 0,
            peers: vec![Peer { heard: 0, told_us: 0 }; gates],
            channels: vec![Outgoing::default(); shards],
            wanted: vec![false; shards],
            reads: BTreeMap::new(),
            fresh: Vec::new(),
            pins: BTreeMap::new(),
            next_pin: 0,
            waiting: VecDeque::new(),
            groups: 0,
            group: None,
            gathering: Gathering::default(),
            unheard: VecDeque::new(),
            low_us: 0,
            members,
        }
    }
    fn own(&self) -> u64 {
        self.clock.clock()[self.at]
    }
    fn close(&mut self, request: u64) {
        self.pins.retain(|_, pin| pin.request != request);
        self.reads.remove(&request);
    }
    /// May the group in truth bring this shard a record?
    fn is_touched(&self, shard: u16) -> bool {
        self.group.as_ref().is_some_and(|group| group.proposed.iter().any(|one| one.record.touches(shard)))
    }
    /// A committed record goes into the channels of its shards.
    fn feed(&mut self, now_us: u64, one: &Proposed, member: &mut Member) {
        let record = Arc::new(one.record.clone());
        for (shard, _) in &record.parts {
            let channel = &mut self.channels[usize::from(*shard)];
            let item = channel.push(now_us, record.stamp.clone(), Some(record.clone()));
            member.send(Node::Shard(*shard), self.members.epoch, Body::Item(item));
        }
    }
    /// The merged vector that every stamp of this gate knows that may still be compared, now or later.
    fn low(&self) -> Box<[u64]> {
        let mut low: Box<[u64]> = self.clock.clock().into();
        let reads = self.reads.values().map(|reading| &reading.stamp);
        let bases = self.waiting.iter().filter_map(|pending| pending.base.as_ref());
        let proposed = self.group.iter().flat_map(|group| group.proposed.iter());
        let grouped = proposed.flat_map(|one| one.base.iter().chain([&one.record.stamp]));
        for stamp in reads.chain(bases).chain(grouped) {
            low.iter_mut().zip(stamp.vector()).for_each(|(least, own)| *least = (*least).min(*own));
        }
        low
    }
}

impl Group {
    fn call(&self) -> Call {
        let (epoch, seat, group) = (self.epoch, self.at, self.number);
        Call::Commit { epoch, seat, group, proposed: self.proposed.clone() }
    }
}

impl Pending {
    fn again(request: u64, tries: u32, one: &Proposed) -> Pending {
        let commit = Commit {
            base: None,
            reads: one.reads.clone(),
            writes: one.writes.clone(),
            routes: one.routes.clone(),
            moves: one.moves.clone(),
            parts: one.record.parts.clone(),
        };
        Pending { request, tries, base: one.base.clone(), commit }
    }
}

#[cfg(test)]
mod tests;
