//! The replicated state machine: events, sessions and stamps, changed by the entries of a log alone.
//!
//! Invariant: two machines that applied the same entries are equal in every answer, wherever they ran and from whichever snapshot they began.
//! The references of all sessions together are those of the graph.
//! Cost: that of the graph's call, a map entry a reference, and with a request number a copy of the answer.

use super::command::*;
use super::event::{EventId, EventOrder, KronosError};
use super::graph::{EventGraph, GraphLimits};
use super::search::Search;
use super::session::Session;
use super::stamps::Stamps;
use crate::stamp::Stamp;
use std::collections::BTreeMap;

/// The first session of a machine that was not named yet.
const FIRST_SESSION: u64 = 1;

/// The whole state of a replica.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(super) graph: EventGraph,
    pub(super) sessions: BTreeMap<SessionId, Session>,
    pub(super) next_session: u64,
    pub(super) now_ms: u64,
    pub(super) stamps: Stamps,
}

impl Machine {
    /// An empty one. Its first leader names it. All replicas have the same limits.
    pub fn new(limits: GraphLimits) -> Machine {
        Machine {
            graph: EventGraph::new(0, limits),
            sessions: BTreeMap::from([(SHARED_SESSION, Session::default())]),
            next_session: FIRST_SESSION,
            now_ms: 0,
            stamps: Stamps::default(),
        }
    }

    /// Carries out one entry.
    pub fn apply(&mut self, entry: Entry) -> Result<Answer, Failure> {
        self.now_ms = self.now_ms.max(entry.now_ms);
        let Entry { session: id, request, command, .. } = entry;
        let numbered = request > 0;
        if numbered && id == SHARED_SESSION {
            return Err(Failure::RequestWithoutSession);
        }
        let now_ms = self.now_ms;
        let session = self.live_session(id).ok_or(Failure::NoSession(id))?;
        if id != SHARED_SESSION {
            session.renew(now_ms);
        }
        if !numbered {
            return self.carry_out(id, command);
        }
        let fingerprint = fingerprint(&command);
        if let Some(outcome) = session.answered(request, fingerprint) {
            return outcome;
        }
        let outcome = self.carry_out(id, command);
        if let Some(session) = self.sessions.get_mut(&id) {
            session.keep(request, fingerprint, outcome.clone());
        }
        outcome
    }

    /// The session, unless its lease is over: then it is gone for good, though its references may wait for [`Command::Expire`].
    fn live_session(&mut self, id: SessionId) -> Option<&mut Session> {
        let now_ms = self.now_ms;
        let session = self.sessions.get_mut(&id)?;
        if session.is_over(now_ms) {
            // What was said to be gone is not renewed by the next leader.
            session.end();
            return None;
        }
        Some(session)
    }

    fn carry_out(&mut self, id: SessionId, command: Command) -> Result<Answer, Failure> {
        match command {
            Command::Lead { nonce } => self.lead(nonce),
            Command::OpenSession { lease_ms } => self.open(lease_ms),
            Command::KeepAlive if id == SHARED_SESSION => Err(Failure::Shared),
            Command::KeepAlive => Ok(Answer::Done),
            Command::CloseSession => self.close(id),
            Command::Expire => Ok(Answer::More(self.expire())),
            Command::CreateEvents { count } => self.create(id, count),
            Command::AcquireRefs(events) => self.acquire(id, &events),
            Command::ReleaseRefs(events) => self.release(id, &events),
            Command::AssignOrder(batch) => {
                sized(batch.len())?;
                Ok(Answer::Assigned(self.graph.assign_order(&batch)?))
            }
            Command::BeginEpoch { epoch, gatekeepers } => {
                self.stamps.begin(epoch, gatekeepers).map_err(Failure::Stamps)?;
                Ok(Answer::Done)
            }
            Command::AssignStamps(batch) => {
                sized(batch.len())?;
                self.stamps.assign(&batch).map(Answer::Assigned).map_err(Failure::Stamps)
            }
            Command::ForgetStamps { epoch, frontier } => {
                self.stamps.forget(epoch, &frontier).map_err(Failure::Stamps)?;
                Ok(Answer::Done)
            }
        }
    }

    fn lead(&mut self, nonce: u32) -> Result<Answer, Failure> {
        if self.graph.is_unused() && self.next_session == FIRST_SESSION {
            self.graph = EventGraph::new(nonce, self.graph.limits());
            self.next_session = u64::from(nonce) << 32 | FIRST_SESSION;
        }
        let now_ms = self.now_ms;
        self.sessions.values_mut().filter(|one| one.until_ms > 0).for_each(|one| one.renew(now_ms));
        Ok(Answer::Done)
    }

    fn open(&mut self, lease_ms: u32) -> Result<Answer, Failure> {
        if self.sessions.len() > SESSIONS_MAX {
            return Err(Failure::TooManySessions);
        }
        let id = SessionId(self.next_session);
        self.next_session += 1;
        let lease_ms = lease_ms.clamp(LEASE_MIN_MS, LEASE_MAX_MS);
        self.sessions.insert(id, Session::leased(lease_ms, self.now_ms));
        Ok(Answer::Opened(id))
    }

    /// The lease is over at once; a first part of the references goes now, the rest with the next expiries.
    fn close(&mut self, id: SessionId) -> Result<Answer, Failure> {
        if id == SHARED_SESSION {
            return Err(Failure::Shared);
        }
        self.session(id).end();
        self.expire();
        Ok(Answer::Done)
    }

    /// Releases references of sessions whose leases are over, at most [`EXPIRED_REFERENCES_MAX`]. Is there more to do?
    fn expire(&mut self) -> bool {
        let mut left = EXPIRED_REFERENCES_MAX;
        while let Some(id) = self.first_over() {
            let session = self.sessions.get_mut(&id).expect("it was just found");
            while let Some((slot, count)) = session.references.pop_first() {
                if left == 0 {
                    session.references.insert(slot, count);
                    return true;
                }
                left -= 1;
                self.graph.release_all(slot, count);
            }
            self.sessions.remove(&id);
        }
        false
    }

    fn first_over(&self) -> Option<SessionId> {
        self.sessions.iter().find(|(_, session)| session.is_over(self.now_ms)).map(|(id, _)| *id)
    }

    /// Is there a session whose lease ends by this time? Then its leader proposes [`Command::Expire`].
    pub fn is_expiry_due(&self, now_ms: u64) -> bool {
        self.sessions.values().any(|session| session.is_over(now_ms))
    }

    fn create(&mut self, id: SessionId, count: u32) -> Result<Answer, Failure> {
        sized(count as usize)?;
        let events = self.graph.create_events(count)?;
        self.session(id).gain(&events);
        Ok(Answer::Created(events))
    }

    fn acquire(&mut self, id: SessionId, events: &[EventId]) -> Result<Answer, Failure> {
        sized(events.len())?;
        self.graph.acquire_refs(events)?;
        self.session(id).gain(events);
        Ok(Answer::Done)
    }

    fn release(&mut self, id: SessionId, events: &[EventId]) -> Result<Answer, Failure> {
        sized(events.len())?;
        // The graph knows best whether a name is unknown or of the past; the session, whether it is the caller's.
        for event in events {
            self.graph.references(*event)?;
        }
        self.session(id).lose(events)?;
        let collected =
            self.graph.release_refs(events).expect("a session holds no more than the graph counts");
        Ok(Answer::Collected(collected))
    }

    fn session(&mut self, id: SessionId) -> &mut Session {
        self.sessions.get_mut(&id).expect("apply looked it up")
    }

    /// How the first event of each pair stands to the second. "Before" and "after" hold for ever; "concurrent" only on a machine that
    /// has applied everything that was acknowledged.
    pub fn query_order(
        &self,
        search: &mut Search,
        pairs: &[(EventId, EventId)],
    ) -> Result<Vec<EventOrder>, Failure> {
        sized(pairs.len())?;
        let one = |pair: &(EventId, EventId)| self.graph.query_with(search, pair.0, pair.1);
        Ok(pairs.iter().map(one).collect::<Result<_, KronosError>>()?)
    }
    /// The order of two stamps by vectors and decisions.
    pub fn query_stamps(&self, pairs: &[(Stamp, Stamp)]) -> Result<Vec<EventOrder>, Failure> {
        sized(pairs.len())?;
        pairs
            .iter()
            .enumerate()
            .map(|(at, pair)| self.stamps.query(at, pair).map_err(Failure::Stamps))
            .collect()
    }

    /// The events.
    pub fn graph(&self) -> &EventGraph {
        &self.graph
    }
    /// Sessions that live, the shared one not counted.
    pub fn sessions(&self) -> usize {
        self.sessions.len() - 1
    }
    /// References that a session holds to an event.
    pub fn held(&self, session: SessionId, event: EventId) -> u32 {
        self.sessions.get(&session).map_or(0, |session| session.holds(event))
    }
    /// The machine's time: the latest of its leaders' clocks.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Asserts the invariants of the graph and of the references.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&self) {
        self.verify().expect("the machine keeps its invariants");
    }

    /// The same for a machine that was read: the first thing that is wrong with it.
    pub(super) fn verify(&self) -> Result<(), String> {
        self.graph.verify()?;
        let mut held = vec![0_u32; self.graph.slots()];
        for (SessionId(id), session) in &self.sessions {
            session.verify().map_err(|what| format!("session {id}: {what}"))?;
            for (slot, count) in &session.references {
                let of_slot = held.get_mut(*slot as usize);
                let sum = of_slot.as_deref().and_then(|sum| sum.checked_add(*count));
                let (Some(of_slot), Some(sum)) = (of_slot, sum) else {
                    return Err(format!(
                        "session {id}: its references to slot {slot} are none of the graph's"
                    ));
                };
                *of_slot = sum;
            }
        }
        if let Some(slot) =
            (0..held.len()).find(|slot| held[*slot] != self.graph.references_of_slot(*slot as u32))
        {
            return Err(format!("the references of sessions to slot {slot} are not those of the graph"));
        }
        if held.iter().map(|count| u64::from(*count)).sum::<u64>() != self.graph.counts().references {
            return Err("the references of sessions are not those of the graph".into());
        }
        if !self.sessions.contains_key(&SHARED_SESSION)
            || self.sessions.last_key_value().is_some_and(|(id, _)| id.0 >= self.next_session)
        {
            return Err("its sessions are not those that were opened".into());
        }
        Ok(())
    }
}

fn sized(items: usize) -> Result<(), Failure> {
    if items > BATCH_MAX { Err(Failure::BatchTooLarge(items)) } else { Ok(()) }
}

/// The same for equal commands on every machine and in every version: length and CRC-32 of the bytes.
fn fingerprint(command: &Command) -> u64 {
    let bytes = postcard::to_allocvec(command).expect("commands are plain data");
    (bytes.len() as u64) << 32 | u64::from(crc32fast::hash(&bytes))
}
