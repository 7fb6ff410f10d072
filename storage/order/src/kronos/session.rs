//! Sessions: their references, leases, and recent answers.
//!
//! Invariants: the references of all sessions together are those of the graph; a session keeps the answers to its latest requests, and a
//! request whose answer it no longer keeps is never carried out again.
//! Cost: some 20 bytes a reference; sessions that follow each other in creating events append to their maps.

use super::command::{ANSWER_ITEMS_MAX, ANSWERS_MAX, Answer, Failure};
use super::event::EventId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// One session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    /// 0 for the shared session, which has no lease.
    pub(super) lease_ms: u32,
    pub(super) until_ms: u64,
    /// References held, by slot: a slot that is referenced keeps its generation.
    pub(super) references: BTreeMap<u32, u32>,
    /// The latest requests, by number.
    answers: VecDeque<Kept>,
    answer_items: usize,
    /// The highest number whose answer was dropped.
    forgotten: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    request: u64,
    /// Tells a retry from another request with its number.
    fingerprint: u64,
    outcome: Result<Answer, Failure>,
}

impl Session {
    pub(super) fn leased(lease_ms: u32, now_ms: u64) -> Session {
        Session { lease_ms, until_ms: now_ms + u64::from(lease_ms), ..Session::default() }
    }
    pub(super) fn renew(&mut self, now_ms: u64) {
        self.until_ms = self.until_ms.max(now_ms + u64::from(self.lease_ms));
    }
    /// Ends it, whatever the clock says.
    pub(super) fn end(&mut self) {
        self.until_ms = 0;
    }
    pub(super) fn is_over(&self, now_ms: u64) -> bool {
        self.lease_ms > 0 && self.until_ms <= now_ms
    }

    /// The remembered answer to a request; none where it is new.
    pub(super) fn answered(&self, request: u64, fingerprint: u64) -> Option<Result<Answer, Failure>> {
        match self.answers.binary_search_by_key(&request, |kept| kept.request) {
            Ok(at) if self.answers[at].fingerprint == fingerprint => Some(self.answers[at].outcome.clone()),
            Ok(_) => Some(Err(Failure::RequestReused(request))),
            Err(_) => (request <= self.forgotten).then_some(Err(Failure::RequestForgotten(request))),
        }
    }

    pub(super) fn keep(&mut self, request: u64, fingerprint: u64, outcome: Result<Answer, Failure>) {
        let at = self.answers.partition_point(|kept| kept.request < request);
        self.answer_items += items(&outcome);
        self.answers.insert(at, Kept { request, fingerprint, outcome });
        while self.answers.len() > ANSWERS_MAX
            || (self.answer_items > ANSWER_ITEMS_MAX && self.answers.len() > 1)
        {
            let oldest = self.answers.pop_front().expect("the loop runs only while there are answers");
            self.answer_items -= items(&oldest.outcome);
            self.forgotten = oldest.request;
        }
    }

    pub(super) fn gain(&mut self, events: &[EventId]) {
        events.iter().for_each(|id| *self.references.entry(id.slot()).or_insert(0) += 1);
    }

    /// Takes references away, all or none.
    pub(super) fn lose(&mut self, events: &[EventId]) -> Result<(), Failure> {
        for (at, id) in events.iter().enumerate() {
            let Some(count) = self.references.get_mut(&id.slot()) else {
                self.gain(&events[..at]);
                return Err(Failure::NotHeld(*id));
            };
            *count -= 1;
            if *count == 0 {
                self.references.remove(&id.slot());
            }
        }
        Ok(())
    }

    /// The fault of a session that was read.
    pub(super) fn verify(&self) -> Result<(), String> {
        let numbers: Vec<u64> = self.answers.iter().map(|kept| kept.request).collect();
        let rising =
            numbers.is_sorted_by(|a, b| a < b) && numbers.first().is_none_or(|first| *first > self.forgotten);
        if !rising || numbers.len() > ANSWERS_MAX {
            return Err("its answers are out of order".into());
        }
        if self.answers.iter().map(|kept| items(&kept.outcome)).sum::<usize>() != self.answer_items {
            return Err("its answers are not as many as it counts".into());
        }
        if self.references.values().any(|count| *count == 0) {
            return Err("it holds no reference to an event that it names".into());
        }
        Ok(())
    }

    /// References held to one event.
    pub(super) fn holds(&self, id: EventId) -> u32 {
        self.references.get(&id.slot()).copied().unwrap_or(0)
    }
}

fn items(outcome: &Result<Answer, Failure>) -> usize {
    match outcome {
        Ok(Answer::Created(events)) => events.len(),
        Ok(Answer::Assigned(pairs)) => pairs.len(),
        _ => 1,
    }
}
