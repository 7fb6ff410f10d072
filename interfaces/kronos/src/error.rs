//! Why a server did not start, or stopped.

use replicate::ReplicateError;
use std::fmt;
use std::net::SocketAddr;

/// Errors that end a server.
#[derive(Debug)]
pub enum KronosServerError {
    /// The address cannot be listened on.
    Listen(std::io::Error),
    /// The options do not fit together.
    Options(String),
    /// Others can reach this address, and nothing protects it.
    Exposed(SocketAddr),
    /// Certificate or key do not serve.
    Tls(String),
    /// A file of tokens does not serve.
    Tokens(String),
    /// Another process uses the data folder, or it cannot be made.
    Folder(String),
    /// The replica cannot go on.
    Replica(ReplicateError),
}

impl fmt::Display for KronosServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KronosServerError::Listen(error) => write!(f, "cannot listen: {error}"),
            KronosServerError::Exposed(address) => write!(
                f,
                "{address} can be reached by others, and they would need no token or could read along\nhint: give --tls-cert, --tls-key and \
                 --token-file; or listen on 127.0.0.1; --insecure if you mean it"
            ),
            KronosServerError::Folder(what)
            | KronosServerError::Options(what)
            | KronosServerError::Tls(what)
            | KronosServerError::Tokens(what) => write!(f, "{what}"),
            KronosServerError::Replica(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for KronosServerError {}

impl From<ReplicateError> for KronosServerError {
    fn from(error: ReplicateError) -> KronosServerError {
        KronosServerError::Replica(error)
    }
}
