//! The Bolt interface's listener: each connection has a thread ([`acceptor`]), and none waits for another.
//!
//! A connection's thread reads, executes and answers itself, so that a short query costs no hand-over between threads beyond the one to an executor;
//! while it waits for a query, it checks its client every few milliseconds ([`wire`]). Writing waits for the client, and so holds back the query: a
//! slow client costs bounded memory. docs/decisions/2026-11-22-a-thread-a-connection.md says why.

pub(crate) mod acceptor;
mod conversation;
pub(crate) mod crowd;
mod error;
mod reading;
pub(crate) mod tls;
pub(crate) mod wire;

pub use error::ServeError;
pub use tls::Tls;

use crate::Limits;
use crate::users::Gate;
use acceptor::{Acceptor, Guest};
use crowd::Crowd;
use database::Database;
use std::net::SocketAddr;
use std::sync::Arc;

/// Options of the listener.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Address of the Bolt interface.
    pub bolt: String,
    /// Authenticates clients.
    pub gate: Arc<Gate>,
    /// Wraps every connection, where given.
    pub tls: Option<Tls>,
    /// The limits of a client.
    pub limits: Limits,
    /// Bolt addresses of all gates of a cluster, for drivers that route; none where this server is alone.
    pub peers: Vec<String>,
}

impl ServeOptions {
    /// Without passwords and TLS at this address.
    pub fn at(bolt: &str) -> ServeOptions {
        let (gate, limits) = (Gate::open(), Limits::default());
        ServeOptions { bolt: bolt.into(), gate, tls: None, limits, peers: Vec::new() }
    }
}

/// Shared by all connections.
struct Shared {
    database: Database,
    gate: Arc<Gate>,
    tls: Option<Tls>,
    limits: Limits,
    peers: Arc<[String]>,
}

/// A running server. Dropping it closes every connection.
pub struct Server {
    acceptor: Acceptor,
    crowd: Arc<Crowd>,
    database: Database,
}

/// The request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalKind {
    /// SIGINT (Ctrl-C) or SIGTERM: that the process ends.
    End,
    /// SIGHUP: that certificates, levels and files of the log are read again.
    Reload,
}

/// A request of the system or the user that the process ends: Ctrl-C or SIGTERM.
pub struct EndSignal(signal_hook::iterator::Signals);

impl EndSignal {
    /// From now on such a signal does not end the process by itself. Call it before announcing readiness.
    ///
    /// # Errors
    /// The system refuses.
    pub fn catch() -> std::io::Result<EndSignal> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map(EndSignal)
    }
    /// The same, and a SIGHUP does not end the process either.
    ///
    /// # Errors
    /// The system refuses.
    pub fn catch_with_reload() -> std::io::Result<EndSignal> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map(EndSignal)
    }
    /// Waits for the next signal.
    pub fn next_kind(&mut self) -> SignalKind {
        match self.0.forever().next() {
            Some(signal_hook::consts::SIGHUP) => SignalKind::Reload,
            _ => SignalKind::End,
        }
    }
    /// Has one come?
    pub fn came(&mut self) -> bool {
        self.0.pending().next().is_some()
    }
    /// Waits for one; one that came before counts.
    pub fn wait(mut self) {
        self.0.forever().next();
    }
}

impl Server {
    /// Listens; ready when this returns.
    ///
    /// # Errors
    /// The address is invalid, taken, or reachable by others while no password is demanded.
    pub fn start(database: Database, options: &ServeOptions) -> Result<Server, ServeError> {
        let shared = Arc::new(Shared {
            database: database.clone(),
            gate: options.gate.clone(),
            tls: options.tls.clone(),
            limits: options.limits.clone(),
            peers: options.peers.clone().into(),
        });
        let serve = move |guest: Guest| {
            // How a connection ends is the client's affair: it sees the socket close.
            let _ = conversation::converse(&shared, guest);
        };
        let crowd = Crowd::new(&options.limits);
        let acceptor = Acceptor::open("bolt", &options.bolt, &options.gate, &crowd, Arc::new(serve))?;
        let server = Server { acceptor, crowd, database };
        let (asks, is_wrapped) = (options.gate.asks(), options.tls.is_some());
        let settings = crate::settings::of_bolt(server.address(), asks, is_wrapped, &options.limits);
        server.database.set_interface_settings(&server.name(), settings);
        Ok(server)
    }
    /// The name under which the database lists its settings.
    fn name(&self) -> String {
        format!("bolt {}", self.address())
    }
    /// Where it listens; if port 0 was requested, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }
    /// All clients, for another interface of the same server.
    pub(crate) fn crowd(&self) -> &Arc<Crowd> {
        &self.crowd
    }
    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.acceptor.connections()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.database.set_interface_settings(&self.name(), Vec::new());
    }
}
