//! How a request went, and in what its objects are wrapped: what the reader and the writer of messages both name.

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

/// What the objects of an answer are wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// As traversers with their bulk: for bytecode.
    Traversers,
    /// As they are: for scripts.
    Plain,
}
