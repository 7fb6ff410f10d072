//! Why a call was refused, or has no answer.

use std::fmt;
use tonic::{Code, Status};

/// The reason of a refusal, finer than the code, in its metadata; see `docs/formats/kronos.proto`.
const REASON_KEY: &str = "kronos-reason";
/// The position in the batch that a refusal is about, in its metadata.
const AT_KEY: &str = "kronos-at";

/// Why a call has no answer. Nothing of a refused call has happened.
#[derive(Clone, Debug)]
pub enum KronosError {
    /// An event is unknown, of another service, or released (`NOT_FOUND`).
    NoEvent(String),
    /// The session's lease is over: its references are released (`NOT_FOUND`). Connect anew.
    SessionOver(String),
    /// A `must` contradicts an order that holds, or another `must` of the batch (`FAILED_PRECONDITION`).
    Contradiction {
        /// The position of the constraint in its batch, if the server said it.
        at: Option<usize>,
        /// Which order holds.
        message: String,
    },
    /// The session does not hold a reference that it releases, or another condition is not met (`FAILED_PRECONDITION`).
    Precondition(String),
    /// An event ordered with itself, a batch that is too large (`INVALID_ARGUMENT`).
    InvalidArgument(String),
    /// A limit of events, orders or sessions is reached (`RESOURCE_EXHAUSTED` with a reason).
    Exhausted(String),
    /// Too many calls are waiting; try again later (`RESOURCE_EXHAUSTED` without a reason).
    Busy(String),
    /// The server demands a token, and this one is none of its own (`UNAUTHENTICATED`).
    Unauthenticated(String),
    /// The token does not allow this call (`PERMISSION_DENIED`).
    Forbidden(String),
    /// No replica could answer within [`crate::Options::patience`] (`UNAVAILABLE`). The call may have been carried out.
    Unavailable(String),
    /// The options are wrong: an address, a certificate (no call was made).
    Options(String),
    /// Anything else that a server says.
    Other(Code, String),
}

impl KronosError {
    /// The code of gRPC.
    pub fn code(&self) -> Code {
        match self {
            KronosError::NoEvent(_) | KronosError::SessionOver(_) => Code::NotFound,
            KronosError::Contradiction { .. } | KronosError::Precondition(_) => Code::FailedPrecondition,
            KronosError::InvalidArgument(_) | KronosError::Options(_) => Code::InvalidArgument,
            KronosError::Exhausted(_) | KronosError::Busy(_) => Code::ResourceExhausted,
            KronosError::Unauthenticated(_) => Code::Unauthenticated,
            KronosError::Forbidden(_) => Code::PermissionDenied,
            KronosError::Unavailable(_) => Code::Unavailable,
            KronosError::Other(code, _) => *code,
        }
    }
    /// The message of the server.
    pub fn message(&self) -> &str {
        match self {
            KronosError::NoEvent(message)
            | KronosError::SessionOver(message)
            | KronosError::Contradiction { message, .. }
            | KronosError::Precondition(message)
            | KronosError::InvalidArgument(message)
            | KronosError::Exhausted(message)
            | KronosError::Busy(message)
            | KronosError::Unauthenticated(message)
            | KronosError::Forbidden(message)
            | KronosError::Unavailable(message)
            | KronosError::Options(message)
            | KronosError::Other(_, message) => message,
        }
    }
}

impl KronosError {
    /// Did the service refuse the call for its content, with nothing carried out? One that has no time for a call now is not asked again at once.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            KronosError::NoEvent(_)
            | KronosError::Contradiction { .. }
            | KronosError::Precondition(_)
            | KronosError::InvalidArgument(_)
            | KronosError::Exhausted(_) => true,
            KronosError::Busy(_)
            | KronosError::SessionOver(_)
            | KronosError::Unauthenticated(_)
            | KronosError::Forbidden(_)
            | KronosError::Unavailable(_)
            | KronosError::Options(_)
            | KronosError::Other(..) => false,
        }
    }
}

impl From<Status> for KronosError {
    fn from(status: Status) -> KronosError {
        let said = |key| status.metadata().get(key).and_then(|value| value.to_str().ok());
        let message = status.message().to_string();
        match (status.code(), said(REASON_KEY)) {
            (Code::NotFound, Some("session")) => KronosError::SessionOver(message),
            (Code::NotFound, _) => KronosError::NoEvent(message),
            (Code::FailedPrecondition, Some("contradiction")) => {
                KronosError::Contradiction { at: said(AT_KEY).and_then(|at| at.parse().ok()), message }
            }
            (Code::FailedPrecondition, _) => KronosError::Precondition(message),
            (Code::InvalidArgument | Code::OutOfRange, _) => KronosError::InvalidArgument(message),
            (Code::ResourceExhausted, Some(_)) => KronosError::Exhausted(message),
            (Code::ResourceExhausted, None) => KronosError::Busy(message),
            (Code::Unauthenticated, _) => KronosError::Unauthenticated(message),
            (Code::PermissionDenied, _) => KronosError::Forbidden(message),
            (Code::Unavailable, _) => KronosError::Unavailable(message),
            (code, _) => KronosError::Other(code, message),
        }
    }
}

impl fmt::Display for KronosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for KronosError {}
