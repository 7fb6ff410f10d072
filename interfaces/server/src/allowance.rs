//! Time limits set by clients: passing one has an error code of its own, as in Neo4j, so that drivers can tell it from a limit of the server.

use database::Error;
use world::clock::monotonic_ns;

const TIMED_OUT: &str = "Neo.ClientError.Transaction.TransactionTimedOut";

/// The client did not read the answer within the time limit of its statement.
pub(crate) fn unread_in_time() -> Error {
    let message = "the statement's time is over, and the client has not read what was answered";
    Error::new(TIMED_OUT, message).hint("read faster, ask for fewer rows, or give the statement more time")
}

/// The error for the client; its own time limit, if it gave one, is over at this reading of the clock.
pub(crate) fn by_whose_clock(error: Error, client_until_ns: Option<u64>) -> Error {
    let is_over = client_until_ns.is_some_and(|until_ns| monotonic_ns() >= until_ns);
    match error.code == TIMED_OUT && is_over {
        true => Error { code: format!("{TIMED_OUT}ClientConfiguration"), ..error },
        false => error,
    }
}
