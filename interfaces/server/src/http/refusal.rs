//! A request that is refused: a status of HTTP, and errors in the form of the Query API.

use super::values::write_text;
use database::{Error, ErrorClass};
use hyper::StatusCode;

/// Why a request is not answered.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub error: Error,
}

const INVALID: &str = "Neo.ClientError.Request.Invalid";

impl Refusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal { status, error: Error::new(INVALID, message) }
    }
    /// The request is wrong in itself.
    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, message)
    }
    /// The server has no room for it now.
    pub fn busy(message: impl Into<String>) -> Refusal {
        let error = Error::new("Neo.TransientError.Request.NoThreadsAvailable", message);
        Refusal { status: StatusCode::TOO_MANY_REQUESTS, error }
    }
    /// `{"errors": […]}`
    pub fn body(&self) -> Vec<u8> {
        let mut out = b"{".to_vec();
        write_errors(&mut out, &self.error);
        out.push(b'}');
        out
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal { status: status_of(&error), error }
    }
}

fn status_of(error: &Error) -> StatusCode {
    match error.code.as_str() {
        "Neo.ClientError.Security.Unauthorized"
        | "Neo.ClientError.Security.AuthorizationExpired"
        | "Neo.ClientError.Security.TokenExpired" => StatusCode::UNAUTHORIZED,
        "Neo.ClientError.Security.AuthenticationRateLimit" => StatusCode::TOO_MANY_REQUESTS,
        "Neo.ClientError.Security.Forbidden" => StatusCode::FORBIDDEN,
        "Neo.ClientError.Database.DatabaseNotFound" => StatusCode::NOT_FOUND,
        "Tanglewood.ClientError.Standing.NotFound" => StatusCode::NOT_FOUND,
        _ => match error.class() {
            ErrorClass::Client => StatusCode::BAD_REQUEST,
            ErrorClass::Transient => StatusCode::SERVICE_UNAVAILABLE,
            ErrorClass::Database => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}

/// Appends `"errors":[…]`.
pub(super) fn write_errors(out: &mut Vec<u8>, error: &Error) {
    out.extend(b"\"errors\":");
    write_error_list(out, error);
}

/// Appends the one error as a list.
pub(super) fn write_error_list(out: &mut Vec<u8>, error: &Error) {
    out.extend(b"[{\"code\":");
    write_text(out, &error.code);
    out.extend(b",\"message\":");
    write_text(out, &error.to_string());
    out.extend(b"}]");
}
