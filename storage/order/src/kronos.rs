//! Kronos: which of two events happened first, as far as clients have declared it (Weaver, chapter 2).
//!
//! ```text
//!   create_events ──> A   B   C        events are opaque; at first all are concurrent
//!   assign_order      A ──> B          "A happens before B": an edge, never withdrawn
//!   query_order       A before B, A concurrent with C
//!   release_refs      an event without references, and that none before it pins, is collected
//! ```
//!
//! Idea: a directed acyclic graph. Events are its vertices, assigned orders its edges, and "before" is reachability.
//! A pure state machine: no clock, no I/O, no thread; the same calls in the same order give the same answers, so it can be replicated.
//!
//! Invariants: there is no cycle (coherent); an order that was answered once holds for ever (monotonic); an event with references, or with
//! an uncollected event before it, stays.
//! Cost: creation and release are constant for each event; a question searches only the events between its two, by levels;
//! collection costs as much as it collects.
//!
//! Reading order: `event` (names and errors), [`EventGraph`] (the calls), `lists` (the edges), [`Search`] (the search); then [`Machine`], which adds sessions, retries and
//! stamps and is what replicas run, [`Command`] and [`Answer`], `snapshot`.

mod batch;
mod command;
mod event;
mod graph;
mod lists;
mod machine;
mod search;
mod session;
mod snapshot;
mod stamps;

pub use batch::{Assigned, Constraint, Direction, Refused, Strength};
pub use command::{
    ANSWER_ITEMS_MAX, ANSWERS_MAX, Answer, BATCH_MAX, Command, EXPIRED_REFERENCES_MAX, Entry, Failure,
    LEASE_MAX_MS, LEASE_MIN_MS, SESSIONS_MAX, SHARED_SESSION, SessionId, StampConstraint, StampError,
};
pub use event::{EVENTS_LARGEST, EventId, EventOrder, KronosError, SnapshotError};
pub use graph::{EventGraph, GraphCounts, GraphLimits};
pub use machine::Machine;
pub use search::Search;

#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod machine_tests;
#[cfg(test)]
mod tests;
