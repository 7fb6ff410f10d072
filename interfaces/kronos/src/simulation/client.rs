//! A client of the simulation: one call at a time, repeated until it is answered, and its own record of its references.

use super::history::{Observation, Operation};
use crate::wire::v1;
use std::collections::BTreeMap;
use tonic::Code;
use world::chance::Chance;

/// References after which a client gives some back.
const HELD_MAX: usize = 10;
/// Events of others that a client may hear of.
const HEARD_MAX: usize = 24;

/// Names of events that clients share.
#[derive(Default)]
pub(super) struct Heard(Vec<u64>);

impl Heard {
    fn add(&mut self, events: &[u64]) {
        self.0.extend(events);
        let surplus = self.0.len().saturating_sub(HEARD_MAX);
        self.0.drain(..surplus);
    }
}

#[derive(Default)]
pub(super) struct Client {
    pub(super) session: u64,
    next_request: u64,
    held: BTreeMap<u64, u64>,
    /// The lease may be over: ask before anything else.
    doubts: bool,
    /// An event that it holds was said to be unknown. If the session lives, that was wrong.
    missed: bool,
    /// The call that is not answered yet.
    pub(super) busy: Option<usize>,
    /// When it is sent again.
    pub(super) again_at: u64,
}

impl Client {
    /// Its next call, with the request number.
    pub(super) fn next(&mut self, chance: &mut Chance, heard: &Heard) -> (Operation, u64) {
        if chance.below(80) == 0 {
            // It dies, and another one takes its place.
            *self = Client::default();
        }
        if self.session == 0 {
            return (Operation::Open { lease_ms: 1_000 + chance.below(2_000) as u32 }, 0);
        }
        if std::mem::take(&mut self.doubts) {
            return (Operation::KeepAlive, 0);
        }
        let operation = self.draw(chance, heard);
        let numbered = !matches!(operation, Operation::KeepAlive | Operation::Close | Operation::Query(_));
        self.next_request += u64::from(numbered);
        (operation, if numbered { self.next_request } else { 0 })
    }

    fn draw(&self, chance: &mut Chance, heard: &Heard) -> Operation {
        let own: Vec<u64> = self.held.keys().copied().collect();
        let one = |chance: &mut Chance| match chance.below(3) {
            0 if !heard.0.is_empty() => heard.0[chance.index(heard.0.len())],
            _ => own[chance.index(own.len())],
        };
        if own.len() > HELD_MAX {
            return Operation::Release((0..3).map(|_| own[chance.index(own.len())]).collect());
        }
        match chance.below(20) {
            _ if own.len() < 2 => Operation::Create(1 + chance.below(3) as u32),
            0..=2 => Operation::Create(1 + chance.below(3) as u32),
            3 | 4 => Operation::Acquire((0..=chance.below(2)).map(|_| one(chance)).collect()),
            5..=7 => Operation::Release((0..=chance.below(2)).map(|_| one(chance)).collect()),
            8 => Operation::KeepAlive,
            9 if chance.below(6) == 0 => Operation::Close,
            9..=15 => {
                let pairs = (0..=chance.below(3)).map(|_| (one(chance), one(chance)));
                // A pair of one event is refused before anything else is looked at; the checker need not know that.
                Operation::Query(pairs.filter(|(a, b)| a != b).collect())
            }
            _ => Operation::Assign(
                (0..=chance.below(3))
                    .map(|_| v1::Constraint {
                        first: one(chance),
                        order: if chance.below(2) == 0 { v1::Order::Before } else { v1::Order::After }.into(),
                        second: one(chance),
                        strength: [v1::Strength::Must, v1::Strength::Prefer][chance.index(2)].into(),
                    })
                    .collect(),
            ),
        }
    }

    /// Takes an answer.
    pub(super) fn learn(&mut self, operation: &Operation, seen: &Observation, heard: &mut Heard) {
        match (operation, seen) {
            (Operation::Open { .. }, Observation::Opened(id)) => self.session = *id,
            (Operation::Create(_), Observation::Created(events)) => {
                heard.add(events);
                events.iter().for_each(|event| *self.held.entry(*event).or_default() += 1);
            }
            (Operation::Acquire(events), Observation::Done) => {
                events.iter().for_each(|event| *self.held.entry(*event).or_default() += 1);
            }
            (Operation::Release(events), Observation::Collected(_)) => {
                for event in events {
                    *self.held.get_mut(event).expect("only what is held can be released") -= 1;
                }
                self.held.retain(|_, count| *count > 0);
            }
            (Operation::KeepAlive, Observation::Done) => {
                assert!(!self.missed, "an event was unknown while a living session held it");
            }
            (Operation::KeepAlive | Operation::Close, _) => *self = Client::default(),
            (operation, Observation::Refused(Code::NotFound)) => {
                self.doubts = true;
                let holds = |event: &u64| self.held.contains_key(event);
                self.missed |= match operation {
                    Operation::Query(pairs) => pairs.iter().all(|(a, b)| holds(a) && holds(b)),
                    Operation::Acquire(events) | Operation::Release(events) => events.iter().all(holds),
                    Operation::Assign(all) => all.iter().all(|one| holds(&one.first) && holds(&one.second)),
                    _ => false,
                };
            }
            _ => {}
        }
    }
}
