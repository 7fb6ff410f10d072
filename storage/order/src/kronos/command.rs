//! Commands to a replicated Kronos, and their answers: the entries of its log.
//!
//! An entry carries the time at which its leader proposed it, since the machine has no clock.

use super::batch::{Assigned, Constraint, Direction, Refused, Strength};
use super::event::{EventId, KronosError};
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Events, pairs or constraints of one call.
pub const BATCH_MAX: usize = 1 << 16;
/// Sessions that live at once.
pub const SESSIONS_MAX: usize = 1 << 16;
/// The shortest lease: a client must be able to renew it over a slow network.
pub const LEASE_MIN_MS: u32 = 1_000;
/// The longest lease: the references of a dead client are kept that long.
pub const LEASE_MAX_MS: u32 = 24 * 3_600 * 1_000;
/// Answers that a session keeps for retries.
pub const ANSWERS_MAX: usize = 64;
/// Events and orders in the answers that a session keeps; the oldest go first.
pub const ANSWER_ITEMS_MAX: usize = BATCH_MAX;
/// References that one entry releases for sessions that ended; the rest waits for the next entry.
pub const EXPIRED_REFERENCES_MAX: usize = 1 << 16;

/// A holder of references. Session 0 is shared by all clients that name none; it has no lease and remembers no requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct SessionId(pub u64);

/// The session of clients that name none.
pub const SHARED_SESSION: SessionId = SessionId(0);

/// One entry of the replicated log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The leader's clock, in milliseconds. The machine's own time never goes back.
    pub now_ms: u64,
    /// On whose behalf.
    pub session: SessionId,
    /// The request's number within its session, rising; 0 where a retry may be carried out twice.
    pub request: u64,
    /// The command.
    pub command: Command,
}

/// A change of the machine's state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Command {
    /// A leader begins: no lease may end before its holder had the time to renew it. The first one names the graph.
    Lead {
        /// A number by chance, which a machine without a history takes as its own.
        nonce: u32,
    },
    /// A new session with a lease.
    OpenSession {
        /// How long it lives after its last request, in milliseconds.
        lease_ms: u32,
    },
    /// The lease begins anew, as with every other request of the session.
    KeepAlive,
    /// The session and its references end.
    CloseSession,
    /// Sessions whose leases are over end, in pieces.
    Expire,
    /// New events, one reference each.
    CreateEvents {
        /// How many.
        count: u32,
    },
    /// One more reference to each.
    AcquireRefs(Vec<EventId>),
    /// One reference less to each.
    ReleaseRefs(Vec<EventId>),
    /// Orders between pairs.
    AssignOrder(Vec<Constraint>),
    /// An epoch of stamps begins; stamps of earlier ones come before all of it.
    BeginEpoch {
        /// Its number; higher than that of the last.
        epoch: u64,
        /// How many gatekeepers stamp.
        gatekeepers: u32,
    },
    /// Orders between stamps, beside what their vectors imply.
    AssignStamps(Vec<StampConstraint>),
    /// Every stamp still to come knows these counters.
    ForgetStamps {
        /// The epoch meant; another one is passed over.
        epoch: u64,
        /// A counter for each gatekeeper.
        frontier: Vec<u64>,
    },
}

/// One pair of stamps of a batch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StampConstraint {
    /// The first.
    pub this: Stamp,
    /// The requested order.
    pub direction: Direction,
    /// The second.
    pub that: Stamp,
    /// Whether the order is a condition.
    pub strength: Strength,
}

/// The answer of a command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It is done.
    Done,
    /// The new session.
    Opened(SessionId),
    /// The new events.
    Created(Vec<EventId>),
    /// So many events were collected.
    Collected(u64),
    /// The order that holds of each pair.
    Assigned(Vec<Assigned>),
    /// Sessions that are over still hold references: expire again.
    More(bool),
}

/// Why a command was refused. Nothing of it was done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Failure {
    /// By the events.
    Events(KronosError),
    /// By an order that holds, or by the events of a constraint.
    Batch(Refused),
    /// The session never was, or its lease is over.
    NoSession(SessionId),
    /// The session holds no such reference.
    NotHeld(EventId),
    /// There are too many sessions.
    TooManySessions,
    /// The batch is larger than [`BATCH_MAX`].
    BatchTooLarge(usize),
    /// The answer to this request is no longer kept.
    RequestForgotten(u64),
    /// The number was given to another request before.
    RequestReused(u64),
    /// Requests of the shared session have no numbers.
    RequestWithoutSession,
    /// Session 0 cannot be closed or renewed.
    Shared,
    /// Something is wrong with the stamps.
    Stamps(StampError),
}

/// Why stamps cannot be ordered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StampError {
    /// No epoch of stamps was begun, or a later one.
    Epoch(u64),
    /// A stamp does not fit the gatekeepers of its epoch.
    Shape(usize),
    /// The constraint at this position names a stamp that was forgotten.
    Forgotten(usize),
    /// The constraint at this position is a `must`, and the opposite order holds.
    Contradiction(usize),
    /// Too many stamps are remembered: announce clocks, and forget.
    Full,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Events(error) => error.fmt(f),
            Failure::Batch(refused) => refused.fmt(f),
            Failure::NoSession(SessionId(id)) => {
                write!(f, "session {id} does not exist or its lease is over; open a new one")
            }
            Failure::NotHeld(event) => write!(f, "the session holds no such reference to event {event}"),
            Failure::TooManySessions => {
                write!(f, "the limit of {SESSIONS_MAX} sessions is reached; close some")
            }
            Failure::BatchTooLarge(items) => {
                write!(f, "the batch has {items} items; send at most {BATCH_MAX} at once")
            }
            Failure::RequestForgotten(request) => {
                write!(f, "the answer to request {request} is no longer kept; number requests upward")
            }
            Failure::RequestReused(request) => {
                write!(f, "request {request} was another request; give each its own number")
            }
            Failure::RequestWithoutSession => {
                write!(f, "a request number needs a session; open one, or leave the number out")
            }
            Failure::Shared => write!(f, "the shared session has no lease; name a session that was opened"),
            Failure::Stamps(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for StampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StampError::Epoch(epoch) => write!(f, "stamps of epoch {epoch} are not ordered here now"),
            StampError::Shape(at) => {
                write!(f, "constraint {at}: the stamp does not fit the epoch's gatekeepers")
            }
            StampError::Forgotten(at) => write!(f, "constraint {at}: the stamp was forgotten"),
            StampError::Contradiction(at) => write!(f, "constraint {at} contradicts an earlier order"),
            StampError::Full => write!(f, "too many stamps are remembered; announce clocks and forget"),
        }
    }
}

impl std::error::Error for Failure {}
impl std::error::Error for StampError {}

impl From<KronosError> for Failure {
    fn from(error: KronosError) -> Failure {
        Failure::Events(error)
    }
}
impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        Failure::Batch(refused)
    }
}
