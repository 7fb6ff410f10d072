//! How a server is started, and its limits.

use order::kronos::GraphLimits;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Bytes of one call, and of its answer: a batch of 65,536 constraints with room to spare.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// Calls that wait at once in one server; more are refused until some are answered.
pub const CALLS_MAX: usize = 16_384;

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
            limits: GraphLimits::default(),
        }
    }
    /// The name that the others know this replica by.
    pub fn address(&self) -> String {
        self.advertise.clone().unwrap_or_else(|| self.listen.to_string())
    }
}
