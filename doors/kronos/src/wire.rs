//! The types of the wire, made from the proto files, and what they are in the machine's words.

use order::kronos::{
    Assigned, Constraint, Direction, EventId, EventOrder, Failure, KronosError, Refused, Strength,
};
use tonic::{Code, Status};

/// `docs/formats/kronos.proto`.
pub mod v1 {
    #![allow(
        missing_docs,
        clippy::all,
        clippy::pedantic,
        clippy::disallowed_methods,
        reason = "made from the proto file"
    )]
    tonic::include_proto!("kronos.v1");
}

/// `src/peers.proto`.
pub(crate) mod peers {
    #![allow(
        missing_docs,
        clippy::all,
        clippy::pedantic,
        clippy::disallowed_methods,
        reason = "made from the proto file"
    )]
    tonic::include_proto!("kronos.peers.v1");
}

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
/// `INVALID_ARGUMENT` where the order asked for is none, or a number is not in the proto file.
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

/// The code of a failure, as the proto file promises it.
pub(crate) fn status(failure: &Failure) -> Status {
    let code = match failure {
        Failure::Events(error) | Failure::Batch(Refused::Invalid { error, .. }) => code_of(error),
        Failure::Batch(Refused::Contradiction { .. }) | Failure::NotHeld(_) => Code::FailedPrecondition,
        Failure::RequestForgotten(_) | Failure::RequestReused(_) | Failure::Stamps(_) => {
            Code::FailedPrecondition
        }
        Failure::NoSession(_) => Code::NotFound,
        Failure::TooManySessions => Code::ResourceExhausted,
        Failure::BatchTooLarge(_) | Failure::RequestWithoutSession | Failure::Shared => Code::InvalidArgument,
    };
    Status::new(code, failure.to_string())
}

fn code_of(error: &KronosError) -> Code {
    match error {
        KronosError::Unknown(_) | KronosError::Released(_) => Code::NotFound,
        KronosError::Same(_) => Code::InvalidArgument,
        KronosError::References(_) => Code::FailedPrecondition,
        KronosError::TooManyEvents { .. } | KronosError::TooManyEdges { .. } => Code::ResourceExhausted,
    }
}
