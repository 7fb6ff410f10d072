//! The checker: every call that returned has one point between its call and its return at which the plain twin answers the same, and the points
//! keep the order of real time (linearizability, Herlihy and Wing).
//!
//! The replicated log is the order of all changes, so no search over orders is needed: the point of a change is its entry, that of a question the
//! first state that fits. An order holds for ever, so it may be answered from any state that has it, also an old one; all other answers may not.

use super::history::{Call, Observation, Operation};
use super::twin::{self, Named, Twin};
use super::world::World;
use crate::wire::v1::Order;
use order::kronos::{Command, Entry, GraphLimits, Machine};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::AddAssign;

/// Counters of histories.
#[derive(Default, Debug, Clone, Copy)]
pub(super) struct Tally {
    pub(super) writes: u64,
    pub(super) reads: u64,
    /// Questions with an answer "concurrent".
    pub(super) concurrent: u64,
    /// Requests that came into the log once more.
    pub(super) repeated: u64,
    pub(super) refused: u64,
    /// Sessions whose lease was over, or that were closed.
    pub(super) expired: u64,
    pub(super) entries: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.writes += other.writes;
        self.reads += other.reads;
        self.concurrent += other.concurrent;
        self.repeated += other.repeated;
        self.refused += other.refused;
        self.expired += other.expired;
        self.entries += other.entries;
    }
}

struct Checked {
    log: Vec<Entry>,
    /// The twin's answer to each entry.
    answers: Vec<Observation>,
    /// Events that can be named before each entry, and at the end.
    named: Vec<Named>,
    twin: Twin,
}

/// # Panics
/// If anything is not as it must be.
pub(super) fn check(world: &World) -> Tally {
    let checked = replay(world);
    replicas(world, &checked.twin);
    let numbered: Vec<_> = checked.log.iter().filter(|entry| entry.request > 0).collect();
    let distinct: BTreeSet<_> = numbered.iter().map(|entry| (entry.session, entry.request)).collect();
    let mut tally = Tally {
        repeated: (numbered.len() - distinct.len()) as u64,
        expired: checked.twin.expired,
        entries: checked.log.len() as u64,
        ..Tally::default()
    };
    let mut calls: Vec<&Call> = world.history.iter().collect();
    calls.sort_by_key(|call| call.called);
    // Points of calls that returned, by the moment of their return.
    let (mut returned, mut lower) = (BinaryHeap::new(), 0);
    for call in calls {
        while let Some(Reverse((at, point))) = returned.peek().copied()
            && at < call.called
        {
            returned.pop();
            lower = lower.max(point);
        }
        let Some(end) = &call.returned else { continue };
        let point = checked.point(call, &end.seen, lower, end.applied).unwrap_or_else(|| {
            panic!("{call:?} fits no state from {lower} to {}", end.applied);
        });
        returned.push(Reverse((end.at, point)));
        tally.count(call, &end.seen);
    }
    tally
}

/// Runs the log through a machine alone and through the twin; both must answer the same.
fn replay(world: &World) -> Checked {
    let mut machine = Machine::new(GraphLimits::default());
    let mut twin = Twin::default();
    let (mut log, mut answers, mut named) = (Vec::new(), Vec::new(), vec![twin.named.clone()]);
    for (at, bytes) in world.log.lock().iter().enumerate() {
        let entry: Entry = postcard::from_bytes(bytes).expect("a server wrote it");
        let given = twin::seen(&machine.apply(entry.clone()));
        let plain = twin.apply(&entry, &given);
        assert_eq!(plain, given, "entry {at}, {entry:?}: the plain twin answers otherwise");
        answers.push(plain);
        named.push(twin.named.clone());
        log.push(entry);
    }
    Checked { log, answers, named, twin }
}

/// All replicas equal the twin: nothing was applied twice, no reference is lost, none is left behind.
fn replicas(world: &World, twin: &Twin) {
    for machine in world.machines() {
        let machine = machine.0.read();
        machine.check();
        let counts = machine.graph().counts();
        let held = (counts.events, counts.edges, counts.references);
        let wanted = (twin.alive.len() as u64, twin.edges.len() as u64, twin.references());
        assert_eq!(held, wanted, "events, orders and references of a replica beside the twin's");
    }
}

impl Checked {
    /// The number of entries before the point of a call.
    fn point(&self, call: &Call, seen: &Observation, lower: usize, applied: usize) -> Option<usize> {
        let Operation::Query(pairs) = &call.operation else {
            let is_it = |at: &usize| self.is_of(&self.log[*at], call) && self.answers[*at] == *seen;
            return (lower..applied).find(is_it).map(|at| at + 1);
        };
        match seen {
            Observation::Orders(orders) if !orders.contains(&Order::Concurrent) => {
                let known = |((a, b), order): (&(u64, u64), &Order)| {
                    let (from, to) = if *order == Order::Before { (*a, *b) } else { (*b, *a) };
                    self.known_from(from, to, applied)
                };
                pairs.iter().zip(orders).map(known).try_fold(0, |most, one| Some(most.max(one?)))
            }
            _ => (lower..=applied).find(|at| self.twin.query(pairs, &self.named[*at], *at) == *seen),
        }
    }

    /// The first state in which one event is before the other.
    fn known_from(&self, from: u64, to: u64, applied: usize) -> Option<usize> {
        let (mut low, mut high) = (0, applied);
        self.twin.orders.reaches(from, to, high).then_some(())?;
        while low < high {
            let middle = (low + high) / 2;
            if self.twin.orders.reaches(from, to, middle) { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }

    fn is_of(&self, entry: &Entry, call: &Call) -> bool {
        let own = entry.session.0 == call.session && entry.request == call.request;
        match (&call.operation, &entry.command) {
            (Operation::Open { .. }, Command::OpenSession { .. }) => true,
            (Operation::KeepAlive, Command::KeepAlive) | (Operation::Close, Command::CloseSession) => own,
            (Operation::Create(_), Command::CreateEvents { .. })
            | (Operation::Acquire(_), Command::AcquireRefs(_))
            | (Operation::Release(_), Command::ReleaseRefs(_))
            | (Operation::Assign(_), Command::AssignOrder(_)) => own && call.request > 0,
            _ => false,
        }
    }
}

impl Tally {
    fn count(&mut self, call: &Call, seen: &Observation) {
        match &call.operation {
            Operation::Query(_) => self.reads += 1,
            _ => self.writes += 1,
        }
        self.refused += u64::from(matches!(seen, Observation::Refused(_)));
        self.concurrent +=
            u64::from(matches!(seen, Observation::Orders(all) if all.contains(&Order::Concurrent)));
    }
}
