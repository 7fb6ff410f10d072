//! Names, comparisons and errors of events, for every file of this folder.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The most events that may live at once, whatever the limits say: slots are 32 bits, and one value marks a free slot.
pub const EVENTS_LARGEST: u32 = u32::MAX - 1;

/// The name of an event: its slot and the generation of that slot. A name is never given twice.
///
/// The first generation of a graph is a number of its own (its *nonce*), so a name from another graph is most likely unknown here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct EventId(pub u64);

impl EventId {
    pub(crate) fn new(slot: u32, generation: u32) -> EventId {
        EventId(u64::from(generation) << 32 | u64::from(slot))
    }
    pub(crate) fn slot(self) -> u32 {
        self.0 as u32
    }
    pub(crate) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The order of two events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum EventOrder {
    /// The first happens before the second.
    Before,
    /// The second happens before the first.
    After,
    /// Nobody has ordered them yet. Only this answer may change.
    Concurrent,
}

impl EventOrder {
    /// The same order from the other event's side.
    pub fn reversed(self) -> EventOrder {
        match self {
            EventOrder::Before => EventOrder::After,
            EventOrder::After => EventOrder::Before,
            EventOrder::Concurrent => EventOrder::Concurrent,
        }
    }
}

/// Why a call was refused. Nothing of a refused call has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum KronosError {
    /// No event of this graph ever had this name.
    Unknown(EventId),
    /// The event was collected, or has no references.
    Released(EventId),
    /// An event was named twice in one pair.
    Same(EventId),
    /// More references released than are held, or more held than can be counted.
    References(EventId),
    /// The graph holds as many events as it may.
    TooManyEvents {
        /// The limit.
        max: u32,
    },
    /// The graph holds as many edges as it may.
    TooManyEdges {
        /// The limit.
        max: u64,
    },
}

impl fmt::Display for KronosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KronosError::Unknown(event) => write!(f, "event {event} is unknown here"),
            KronosError::Released(event) => write!(f, "event {event} was released"),
            KronosError::Same(event) => write!(f, "event {event} cannot be ordered with itself"),
            KronosError::References(event) => write!(f, "event {event} has not that many references"),
            KronosError::TooManyEvents { max } => {
                write!(
                    f,
                    "the limit of {max} events is reached; release references that are no longer needed"
                )
            }
            KronosError::TooManyEdges { max } => {
                write!(
                    f,
                    "the limit of {max} orders is reached; release references that are no longer needed"
                )
            }
        }
    }
}

impl std::error::Error for KronosError {}

/// Bytes that are no snapshot of this version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapshotError(pub(super) String);

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the snapshot cannot be read: {}", self.0)
    }
}

impl std::error::Error for SnapshotError {}

impl From<postcard::Error> for SnapshotError {
    fn from(error: postcard::Error) -> SnapshotError {
        SnapshotError(error.to_string())
    }
}
