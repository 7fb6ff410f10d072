//! How a client connects, and its limits.

use crate::cache::CACHED_PAIRS_MAX;
use std::time::Duration;

/// How long the session of a client that is silent lives, if not said otherwise.
pub const LEASE: Duration = Duration::from_secs(30);
/// The shortest lease; the server's limit.
pub(crate) const LEASE_MIN: Duration = Duration::from_secs(1);
/// The longest lease; the server's limit. A client that renewed a longer one by its own count would come too late.
pub(crate) const LEASE_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How long a call is tried at all replicas, if not said otherwise.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// How a client connects.
#[derive(Clone)]
pub struct Options {
    /// Addresses of replicas, `host:port`. One is enough; with all of them the client outlives the one it knows.
    pub replicas: Vec<String>,
    /// How long the session, and the references it holds, outlive the client's last sign of life: 1 second to 1 day.
    pub lease: Duration,
    /// How long a call is tried before it fails as unavailable.
    pub patience: Duration,
    /// The token, if the server demands one.
    pub token: Option<String>,
    /// Certificates (PEM) that the servers' are checked against; with them the connection is wrapped in TLS.
    pub tls_ca: Option<Vec<u8>>,
    /// The name in the servers' certificates, if it is not the host of their addresses.
    pub tls_name: Option<String>,
    /// Ordered pairs that are cached; 0 turns the cache off.
    pub cached_pairs: usize,
    /// Send the orders that several callers assign at the same time as one batch, which costs as much as one call. The orders that must hold,
    /// of all these callers, then come before those preferred. A batch that is refused is sent again, each caller's part alone.
    pub gather: bool,
    /// Ask a different replica with each question of orders, so that all of them share the work.
    pub spread: bool,
}

impl Options {
    /// A client of these replicas, without TLS and token.
    pub fn new<A: Into<String>>(replicas: impl IntoIterator<Item = A>) -> Options {
        Options {
            replicas: replicas.into_iter().map(Into::into).collect(),
            lease: LEASE,
            patience: PATIENCE,
            token: None,
            tls_ca: None,
            tls_name: None,
            cached_pairs: CACHED_PAIRS_MAX,
            gather: false,
            spread: false,
        }
    }
}

impl std::fmt::Debug for Options {
    /// The token is not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("replicas", &self.replicas)
            .field("lease", &self.lease)
            .field("patience", &self.patience)
            .field("has_token", &self.token.is_some())
            .field("has_tls", &self.tls_ca.is_some())
            .field("cached_pairs", &self.cached_pairs)
            .field("gather", &self.gather)
            .field("spread", &self.spread)
            .finish_non_exhaustive()
    }
}
