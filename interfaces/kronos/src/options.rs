//! How a server is started, and its limits.

use crate::KronosServerError;
use crate::guard::{Tls, Tokens};
use order::kronos::GraphLimits;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Bytes of one call, and of its answer: a batch of 65,536 constraints with room to spare.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// Calls that wait at once in one server; more are refused until some are answered.
pub const CALLS_MAX: usize = 16_384;

/// Replicas of one group.
pub const MEMBERS_MAX: usize = 15;

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where clients and replicas connect.
    pub listen: SocketAddr,
    /// The folder of the log and the snapshots.
    pub data: PathBuf,
    /// The name under which the others of the group reach this replica; by default the address it listens on.
    pub advertise: Option<String>,
    /// The members of a new group, this one among them; empty for a group of one.
    pub peers: Vec<String>,
    /// Joins a group that adds it, instead of beginning one.
    pub join: bool,
    /// Where Prometheus may ask for metrics, without TLS and passwords; nowhere if not said.
    pub metrics: Option<SocketAddr>,
    /// Wraps every connection, also between replicas.
    pub tls: Option<Tls>,
    /// Tokens of clients.
    pub tokens: Option<Tokens>,
    /// Tokens that replicas show each other, also needed to change the members.
    pub peer_tokens: Option<Tokens>,
    /// Listens beyond this machine without TLS and tokens.
    pub insecure: bool,
    /// How many events and orders it may hold; the same on all replicas.
    pub limits: GraphLimits,
}

impl Options {
    /// A server alone, on this address, with its data there.
    pub fn new(listen: SocketAddr, data: PathBuf) -> Options {
        Options {
            listen,
            data,
            advertise: None,
            peers: Vec::new(),
            join: false,
            metrics: None,
            tls: None,
            tokens: None,
            peer_tokens: None,
            insecure: false,
            limits: GraphLimits::default(),
        }
    }
    /// The name that the others know this replica by.
    pub fn address(&self) -> String {
        self.advertise.clone().unwrap_or_else(|| self.listen.to_string())
    }

    /// Do the options fit together?
    pub(crate) fn check(&self) -> Result<(), KronosServerError> {
        let wrong = |what: String| Err(KronosServerError::Options(what));
        let is_safe = self.tls.is_some() && self.tokens.is_some();
        if !self.listen.ip().is_loopback() && !is_safe && !self.insecure {
            return Err(KronosServerError::Exposed(self.listen));
        }
        let own = self.address();
        if !self.peers.is_empty() && !self.peers.contains(&own) {
            return wrong(format!(
                "--peers does not name this replica, {own}\nhint: list all replicas, or name this one with --advertise"
            ));
        }
        if (self.join || self.peers.len() > 1)
            && self.listen.ip().is_unspecified()
            && self.advertise.is_none()
        {
            return wrong(format!(
                "other replicas cannot reach {}\nhint: say with --advertise how they reach this one",
                self.listen
            ));
        }
        for (at, peer) in self.peers.iter().enumerate().chain([(0, &own)]) {
            if !is_address(peer) {
                return wrong(format!("`{peer}` is no address\nhint: addresses look like 10.0.0.1:7700"));
            }
            if self.peers[..at].contains(peer) {
                return wrong(format!("--peers names {peer} twice"));
            }
        }
        if self.peers.len() > MEMBERS_MAX {
            return wrong(format!(
                "--peers names {} replicas; {MEMBERS_MAX} are the limit",
                self.peers.len()
            ));
        }
        if self.tokens.is_some() && self.peer_tokens.is_none() && (self.peers.len() > 1 || self.join) {
            return wrong(
                "clients show tokens, and replicas do not\nhint: give all replicas the same --peer-token-file".into(),
            );
        }
        Ok(())
    }
}

/// `host:port`?
pub(crate) fn is_address(text: &str) -> bool {
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ', ',']);
    text.rsplit_once(':').is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok())
}
