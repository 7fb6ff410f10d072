//! Errors of opening an interface.

use std::fmt;
use std::net::SocketAddr;

/// Why the server did not start.
#[derive(Debug)]
pub enum ServeError {
    /// The address is none.
    Address(String),
    /// The address is reachable by others, while no password is demanded.
    NotLoopback(SocketAddr),
    /// Certificate or key do not serve.
    Tls(String),
    /// Someone listens there already.
    Taken(SocketAddr),
    /// The system refused.
    Io(String, std::io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Address(address) => {
                write!(f, "`{address}` is not an address\nhint: addresses look like 127.0.0.1:7687")
            }
            ServeError::NotLoopback(address) => write!(
                f,
                "{address} can be reached by others, and no password is asked\nhint: `tanglewood user add` makes users; or listen \
                 on 127.0.0.1"
            ),
            ServeError::Tls(what) => write!(f, "{what}"),
            ServeError::Taken(address) => write!(
                f,
                "port {} of {} is taken: another server runs there\nhint: end it, or take another port with --bolt {}:0 (0: any \
                 free one)",
                address.port(),
                address.ip(),
                address.ip()
            ),
            ServeError::Io(address, error) => write!(f, "cannot listen on {address}: {error}"),
        }
    }
}

impl std::error::Error for ServeError {}
