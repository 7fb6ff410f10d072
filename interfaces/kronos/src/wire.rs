//! The types of the wire, made from the proto files (`tests/service.rs` makes them anew and compares), and their conversion to the machine's types.

use order::kronos::{
    Assigned, Constraint, Direction, EventId, EventOrder, Failure, KronosError, Refused, Strength,
};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::disallowed_methods,
    reason = "made from the proto files"
)]
mod made {
    /// `docs/formats/kronos.proto`.
    pub mod v1 {
        include!("made/kronos.v1.rs.in");
    }
    /// `src/peers.proto`.
    pub mod peers {
        include!("made/kronos.peers.v1.rs.in");
    }
}

pub use made::v1;

pub(crate) use made::peers;

/// The reason of a refusal, finer than the code, in its metadata.
const REASON_KEY: &str = "kronos-reason";
/// The position in the batch that a refusal is about, in its metadata.
const AT_KEY: &str = "kronos-at";

pub(crate) fn events(names: Vec<u64>) -> Vec<EventId> {
    names.into_iter().map(EventId).collect()
}

pub(crate) fn names(events: &[EventId]) -> Vec<u64> {
    events.iter().map(|event| event.0).collect()
}

pub(crate) fn order(order: EventOrder) -> v1::Order {
    match order {
        EventOrder::Before => v1::Order::Before,
        EventOrder::After => v1::Order::After,
        EventOrder::Concurrent => v1::Order::Concurrent,
    }
}

pub(crate) fn assigned(one: Assigned) -> v1::Assigned {
    let order = match one.order {
        Direction::Before => v1::Order::Before,
        Direction::After => v1::Order::After,
    };
    v1::Assigned { order: order.into(), decided: one.decided }
}

/// # Errors
/// `INVALID_ARGUMENT` where the requested order is none, or a number is not in the proto file.
pub(crate) fn constraint(at: usize, one: &v1::Constraint) -> Result<Constraint, Status> {
    let direction = match v1::Order::try_from(one.order) {
        Ok(v1::Order::Before) => Direction::Before,
        Ok(v1::Order::After) => Direction::After,
        _ => {
            let what = format!("constraint {at}: the order must be BEFORE or AFTER");
            return Err(Status::invalid_argument(what));
        }
    };
    let strength = match v1::Strength::try_from(one.strength) {
        Ok(v1::Strength::Must) => Strength::Must,
        Ok(v1::Strength::Prefer) => Strength::Prefer,
        Err(_) => {
            let what = format!("constraint {at}: the strength must be MUST or PREFER");
            return Err(Status::invalid_argument(what));
        }
    };
    Ok(Constraint { this: EventId(one.first), direction, that: EventId(one.second), strength })
}

/// The code of a failure, its reason and its place in the batch, as the proto file promises them.
pub(crate) fn status(failure: &Failure) -> Status {
    let (code, reason) = code_and_reason(failure);
    let mut status = Status::new(code, failure.to_string());
    let metadata = status.metadata_mut();
    metadata.insert(REASON_KEY, MetadataValue::from_static(reason));
    if let Failure::Batch(Refused::Contradiction { at, .. } | Refused::Invalid { at, .. }) = failure {
        metadata.insert(AT_KEY, MetadataValue::from(*at as u64));
    }
    status
}

fn code_and_reason(failure: &Failure) -> (Code, &'static str) {
    match failure {
        Failure::Events(error) | Failure::Batch(Refused::Invalid { error, .. }) => match error {
            KronosError::Unknown(_) => (Code::NotFound, "unknown-event"),
            KronosError::Released(_) => (Code::NotFound, "released-event"),
            KronosError::Same(_) => (Code::InvalidArgument, "same-event"),
            KronosError::References(_) => (Code::FailedPrecondition, "references"),
            KronosError::TooManyEvents { .. } => (Code::ResourceExhausted, "too-many-events"),
            KronosError::TooManyEdges { .. } => (Code::ResourceExhausted, "too-many-orders"),
        },
        Failure::Batch(Refused::Contradiction { .. }) => (Code::FailedPrecondition, "contradiction"),
        Failure::NotHeld(_) => (Code::FailedPrecondition, "not-held"),
        Failure::RequestForgotten(_) => (Code::FailedPrecondition, "request-forgotten"),
        Failure::RequestReused(_) => (Code::FailedPrecondition, "request-reused"),
        Failure::Stamps(_) => (Code::FailedPrecondition, "stamps"),
        Failure::NoSession(_) => (Code::NotFound, "session"),
        Failure::TooManySessions => (Code::ResourceExhausted, "too-many-sessions"),
        Failure::BatchTooLarge(_) => (Code::InvalidArgument, "batch-too-large"),
        Failure::RequestWithoutSession => (Code::InvalidArgument, "request-without-session"),
        Failure::Shared => (Code::InvalidArgument, "shared-session"),
    }
}
