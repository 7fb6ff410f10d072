//! Status codes and wrappings, shared by the reader and the writer of messages.

/// How a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub enum Status {
    Success = 200,
    NoContent = 204,
    PartialContent = 206,
    Unauthorized = 401,
    Authenticate = 407,
    MalformedRequest = 498,
    InvalidArguments = 499,
    ServerError = 500,
    FailStep = 595,
    Temporary = 596,
    ScriptError = 597,
    Timeout = 598,
}

/// How the objects of an answer are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// As traversers with their bulk: for bytecode.
    Traversers,
    /// Unwrapped: for scripts.
    Plain,
}
