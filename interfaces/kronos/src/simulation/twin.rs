//! The plain twin of the machine: sets and lists, every question answered by a search over all orders that were ever assigned.
//!
//! Names of events and sessions are taken from the servers' answers, and must be new. Orders are never forgotten here, also where their events are
//! gone, so an order that is withdrawn is noticed.

use super::history::Observation;
use crate::wire::v1::Order;
use order::kronos::{Answer, Command, Constraint, Direction, Entry, EventId, Strength};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use tonic::Code;

#[derive(Default)]
struct Session {
    lease_ms: u64,
    until_ms: u64,
    held: BTreeMap<u64, u64>,
    answers: BTreeMap<u64, Observation>,
}

/// All orders ever assigned, each with the entry that did.
#[derive(Default)]
pub(super) struct Orders(BTreeMap<u64, Vec<(u64, usize)>>);

impl Orders {
    /// Does a path of orders of the entries before this one lead from one event to the other?
    pub(super) fn reaches(&self, from: u64, to: u64, before: usize) -> bool {
        let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(event) = open.pop() {
            for (after, at) in self.0.get(&event).into_iter().flatten() {
                if *at < before && seen.insert(*after) {
                    if *after == to {
                        return true;
                    }
                    open.push(*after);
                }
            }
        }
        false
    }
    pub(super) fn between(&self, a: u64, b: u64, before: usize) -> Order {
        match (self.reaches(a, b, before), self.reaches(b, a, before)) {
            (true, true) => panic!("a cycle: {a:x} and {b:x}"),
            (true, false) => Order::Before,
            (false, true) => Order::After,
            (false, false) => Order::Concurrent,
        }
    }
    fn add(&mut self, from: u64, to: u64, at: usize) {
        self.0.entry(from).or_default().push((to, at));
    }
    fn drop_last(&mut self, from: u64) {
        self.0.get_mut(&from).expect("it was just added").pop();
    }
}

/// References to each event that can be named.
pub(super) type Named = Rc<BTreeMap<u64, u64>>;

#[derive(Default)]
pub(super) struct Twin {
    sessions: BTreeMap<u64, Session>,
    shared: Session,
    pub(super) orders: Orders,
    pub(super) named: Named,
    /// Events that are not collected, and the orders between them.
    pub(super) alive: BTreeSet<u64>,
    pub(super) edges: BTreeSet<(u64, u64)>,
    created: BTreeSet<u64>,
    now_ms: u64,
    applied: usize,
    pub(super) expired: u64,
}

impl Twin {
    /// The answer of entry `applied` of the log. `given` is the servers' answer, for the names in it.
    pub(super) fn apply(&mut self, entry: &Entry, given: &Observation) -> Observation {
        let at = self.applied;
        self.applied += 1;
        self.now_ms = self.now_ms.max(entry.now_ms);
        let (session, now_ms) = (entry.session.0, self.now_ms);
        if session != 0 {
            let Some(one) = self.sessions.get_mut(&session) else {
                return Observation::Refused(Code::NotFound);
            };
            if one.until_ms <= now_ms {
                one.until_ms = 0;
                return Observation::Refused(Code::NotFound);
            }
            one.until_ms = one.until_ms.max(now_ms + one.lease_ms);
            if let Some(answer) = one.answers.get(&entry.request) {
                return answer.clone();
            }
        }
        let seen = self.carry_out(session, &entry.command, given, at).unwrap_or_else(Observation::Refused);
        if let Some(one) = self.sessions.get_mut(&session).filter(|_| entry.request > 0) {
            one.answers.insert(entry.request, seen.clone());
        }
        seen
    }

    fn carry_out(
        &mut self,
        session: u64,
        command: &Command,
        given: &Observation,
        at: usize,
    ) -> Result<Observation, Code> {
        match command {
            Command::Lead { .. } => {
                let now_ms = self.now_ms;
                let open = self.sessions.values_mut().filter(|one| one.until_ms > 0);
                open.for_each(|one| one.until_ms = one.until_ms.max(now_ms + one.lease_ms));
                Ok(Observation::Done)
            }
            Command::OpenSession { lease_ms } => {
                let Observation::Opened(id) = given else { panic!("{given:?} is no session") };
                let until_ms = self.now_ms + u64::from(*lease_ms);
                let new = Session { lease_ms: u64::from(*lease_ms), until_ms, ..Session::default() };
                assert!(self.sessions.insert(*id, new).is_none(), "session {id} is given twice");
                Ok(Observation::Opened(*id))
            }
            Command::KeepAlive => Ok(Observation::Done),
            Command::CloseSession => {
                self.sessions.get_mut(&session).expect("it is alive").until_ms = 0;
                self.expire();
                Ok(Observation::Done)
            }
            Command::Expire => {
                self.expire();
                Ok(Observation::Done)
            }
            Command::CreateEvents { count } => self.create(session, *count, given),
            Command::AcquireRefs(events) => self.acquire(session, events),
            Command::ReleaseRefs(events) => self.release(session, events),
            Command::AssignOrder(batch) => self.assign(batch, at),
            other => panic!("nobody sends {other:?}"),
        }
    }

    fn session(&mut self, id: u64) -> &mut Session {
        if id == 0 { &mut self.shared } else { self.sessions.get_mut(&id).expect("it is alive") }
    }

    fn create(&mut self, session: u64, count: u32, given: &Observation) -> Result<Observation, Code> {
        let Observation::Created(events) = given else { panic!("{given:?} are no events") };
        assert_eq!(events.len(), count as usize, "as many events as were asked for");
        for event in events {
            assert!(self.created.insert(*event), "event {event:x} is given twice");
            self.alive.insert(*event);
            self.gain(session, *event);
        }
        Ok(Observation::Created(events.clone()))
    }

    fn gain(&mut self, session: u64, event: u64) {
        *Rc::make_mut(&mut self.named).entry(event).or_default() += 1;
        *self.session(session).held.entry(event).or_default() += 1;
    }

    fn acquire(&mut self, session: u64, events: &[EventId]) -> Result<Observation, Code> {
        if events.iter().any(|event| !self.named.contains_key(&event.0)) {
            return Err(Code::NotFound);
        }
        events.iter().for_each(|event| self.gain(session, event.0));
        Ok(Observation::Done)
    }

    fn release(&mut self, session: u64, events: &[EventId]) -> Result<Observation, Code> {
        if events.iter().any(|event| !self.named.contains_key(&event.0)) {
            return Err(Code::NotFound);
        }
        let mut held = self.session(session).held.clone();
        for event in events {
            let count = held.get_mut(&event.0).filter(|count| **count > 0);
            *count.ok_or(Code::FailedPrecondition)? -= 1;
        }
        held.retain(|_, count| *count > 0);
        self.session(session).held = held;
        events.iter().for_each(|event| self.lose(event.0, 1));
        Ok(Observation::Collected(self.collect()))
    }

    fn lose(&mut self, event: u64, count: u64) {
        let named = Rc::make_mut(&mut self.named);
        let left = named.get_mut(&event).expect("references are counted");
        *left -= count;
        if *left == 0 {
            named.remove(&event);
        }
    }

    /// Removes events without references and predecessors, until there are no more.
    fn collect(&mut self) -> u64 {
        let before = self.alive.len();
        loop {
            let pinned: BTreeSet<u64> = self.edges.iter().map(|(_, to)| *to).collect();
            let kept = |event: &u64| self.named.contains_key(event) || pinned.contains(event);
            let garbage: Vec<u64> = self.alive.iter().copied().filter(|event| !kept(event)).collect();
            if garbage.is_empty() {
                return (before - self.alive.len()) as u64;
            }
            self.alive.retain(|event| !garbage.contains(event));
            self.edges.retain(|(from, _)| !garbage.contains(from));
        }
    }

    fn expire(&mut self) {
        let now_ms = self.now_ms;
        let over = self.sessions.iter().filter(|(_, one)| one.until_ms <= now_ms).map(|(id, _)| *id);
        for id in over.collect::<Vec<_>>() {
            let session = self.sessions.remove(&id).expect("it was found");
            session.held.into_iter().for_each(|(event, count)| self.lose(event, count));
            self.expired += 1;
        }
        self.collect();
    }

    /// Musts first, then preferences; all or none.
    fn assign(&mut self, batch: &[Constraint], at: usize) -> Result<Observation, Code> {
        for one in batch {
            self.nameable(one.this.0, one.that.0, &self.named)?;
        }
        let mut answers = vec![(Order::Before, false); batch.len()];
        let mut added = Vec::new();
        for strength in [Strength::Must, Strength::Prefer] {
            for (place, one) in batch.iter().enumerate().filter(|(_, one)| one.strength == strength) {
                let wanted = if one.direction == Direction::Before { Order::Before } else { Order::After };
                let mut order = self.orders.between(one.this.0, one.that.0, at + 1);
                if order == Order::Concurrent {
                    let before = wanted == Order::Before;
                    let (from, to) = if before { (one.this.0, one.that.0) } else { (one.that.0, one.this.0) };
                    self.orders.add(from, to, at);
                    added.push((from, to));
                    answers[place].1 = true;
                    order = wanted;
                }
                if order != wanted && strength == Strength::Must {
                    added.iter().rev().for_each(|(from, _)| self.orders.drop_last(*from));
                    return Err(Code::FailedPrecondition);
                }
                answers[place].0 = order;
            }
        }
        self.edges.extend(added);
        Ok(Observation::Assigned(answers))
    }

    fn nameable(&self, a: u64, b: u64, named: &Named) -> Result<(), Code> {
        if !named.contains_key(&a) || !named.contains_key(&b) {
            return Err(Code::NotFound);
        }
        if a == b { Err(Code::InvalidArgument) } else { Ok(()) }
    }

    /// The answer to a question in the state after `applied` entries.
    pub(super) fn query(&self, pairs: &[(u64, u64)], named: &Named, applied: usize) -> Observation {
        let one = |(a, b): &(u64, u64)| {
            self.nameable(*a, *b, named)?;
            Ok(self.orders.between(*a, *b, applied))
        };
        pairs
            .iter()
            .map(one)
            .collect::<Result<Vec<_>, Code>>()
            .map_or_else(Observation::Refused, Observation::Orders)
    }

    /// References that a session holds.
    pub(super) fn references(&self) -> u64 {
        self.named.values().sum()
    }
}

/// A server's outcome as a client would see it.
pub(super) fn seen(outcome: &crate::machine::Outcome) -> Observation {
    match outcome {
        Ok(Answer::Done | Answer::More(_)) => Observation::Done,
        Ok(Answer::Opened(id)) => Observation::Opened(id.0),
        Ok(Answer::Created(events)) => Observation::Created(crate::wire::names(events)),
        Ok(Answer::Collected(count)) => Observation::Collected(*count),
        Ok(Answer::Assigned(pairs)) => {
            let one = |pair| {
                let assigned = crate::wire::assigned(pair);
                (assigned.order(), assigned.decided)
            };
            Observation::Assigned(pairs.iter().copied().map(one).collect())
        }
        Err(failure) => Observation::Refused(crate::wire::status(failure).code()),
    }
}
