//! The listener: owns the sockets, gives each connection a thread, and never lets one of them wait for another.
//!
//! A connection's thread reads, asks and answers itself, so that a short query costs no hand-over between threads beyond the one to an
//! executor; while it waits for a query, it looks after its client every few milliseconds ([`wire`]). Writing waits for the client,
//! and so holds back the query: a slow client costs bounded memory. docs/decisions/2026-11-22-a-thread-a-connection.md says why.

mod conversation;
mod reading;
mod tls;
mod wire;

pub use tls::Tls;

use crate::Limits;
use crate::users::{Gate, Users};
use database::Database;
use parking_lot::Mutex;
use reading::Incoming;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use world::threads::Thread;

/// Bytes of stack of a connection's thread: texts are parsed and planned on it.
const STACK_BYTES: usize = 4 << 20;
/// Time that a server that ends gives its connections.
const FAREWELL: Duration = Duration::from_secs(2);
/// A client that vanished without a word is asked for after this long.
const PROBE_AFTER: Duration = Duration::from_secs(60);
/// Clients that the system keeps waiting for us; beyond, it lets them try again, which takes them a second.
const WAITING_MAX: i32 = 1_024;
/// Pause when the system gives no more sockets or threads.
const BREATH: Duration = Duration::from_millis(20);

/// Where to listen, to whom, and how.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Address of the Bolt door.
    pub bolt: String,
    /// Who may come in.
    pub gate: Arc<Gate>,
    /// Wraps every connection, where given.
    pub tls: Option<Tls>,
    /// What a client may cost.
    pub limits: Limits,
}

impl ServeOptions {
    /// Everyone may come in who reaches this address, unwrapped.
    pub fn at(bolt: &str) -> ServeOptions {
        ServeOptions { bolt: bolt.into(), gate: Gate::open(), tls: None, limits: Limits::default() }
    }
}

/// Why the server did not start.
#[derive(Debug)]
pub enum ServeError {
    /// The address is none.
    Address(String),
    /// An address that others can reach, while no password is asked.
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

/// What all connections share.
struct Shared {
    database: Database,
    gate: Arc<Gate>,
    tls: Option<Tls>,
    limits: Limits,
    incoming: Incoming,
    strangers: Arc<AtomicUsize>,
    stopping: AtomicBool,
    open: Mutex<BTreeMap<u64, Arc<TcpStream>>>,
}

/// A running server. Dropping it closes every connection.
pub struct Server {
    shared: Arc<Shared>,
    listener: Arc<TcpListener>,
    accepting: Option<Thread<()>>,
    address: SocketAddr,
}

/// The wish of the system, or of whoever sits before it, that the process ends: Ctrl-C or SIGTERM.
pub struct EndSignal(signal_hook::iterator::Signals);

impl EndSignal {
    /// From now on such a signal does not end the process by itself. Take it before you say that you are ready.
    ///
    /// # Errors
    /// The system does not tell of signals.
    pub fn catch() -> std::io::Result<EndSignal> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map(EndSignal)
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
    /// The address is none, is taken, or can be reached by others while no password is asked.
    pub fn start(database: Database, options: &ServeOptions) -> Result<Server, ServeError> {
        let address = permitted(&options.bolt, &options.gate)?;
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AddrInUse => ServeError::Taken(address),
            _ => ServeError::Io(address.to_string(), error),
        };
        let listener = Arc::new(listen(address).map_err(failed)?);
        let address = listener.local_addr().map_err(failed)?;
        let users = options.gate.users().cloned();
        if let Some(users) = users.or_else(|| database.path().map(Users::of_database)) {
            database.keep_users(Arc::new(users));
        }
        let shared = Arc::new(Shared {
            database,
            gate: options.gate.clone(),
            tls: options.tls.clone(),
            limits: options.limits.clone(),
            incoming: Incoming::new(options.limits.incoming_bytes_max),
            strangers: Arc::default(),
            stopping: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let (accepted, heard) = (shared.clone(), listener.clone());
        let accepting = world::threads::spawn("bolt", move || accept(&accepted, &heard));
        Ok(Server { shared, listener, accepting: Some(accepting), address })
    }
    /// Where it listens; the port is the one the system chose if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.shared.open.lock().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        // A listening socket that is shut lets its thread go. Sockets that are gone already need no farewell.
        let _ = socket2::SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        drop(self.accepting.take());
        self.shared.open.lock().values().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
        let until_ns = world::clock::monotonic_ns() + FAREWELL.as_nanos() as u64;
        while self.connections() > 0 && world::clock::monotonic_ns() < until_ns {
            world::threads::sleep(Duration::from_millis(1));
        }
    }
}

pub(crate) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
    // A server that is started anew need not wait until the last packets of the one before have died out.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(WAITING_MAX)?;
    Ok(socket.into())
}

/// An address that may be listened on.
pub(crate) fn permitted(text: &str, gate: &Gate) -> Result<SocketAddr, ServeError> {
    let text = text.replace("localhost", "127.0.0.1");
    let address: SocketAddr = text.parse().map_err(|_| ServeError::Address(text.clone()))?;
    if address.ip().is_loopback() || gate.asks() {
        Ok(address)
    } else {
        Err(ServeError::NotLoopback(address))
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for number in 1.. {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::Acquire) {
            return;
        }
        // Out of descriptors or threads, usually: some close in time.
        if accepted.and_then(|(socket, _)| receive(shared, socket, number)).is_err() {
            world::threads::sleep(BREATH);
        }
    }
}

/// Gives a connection its thread, if there is a place for one more.
fn receive(shared: &Arc<Shared>, socket: TcpStream, number: u64) -> std::io::Result<()> {
    let probes = socket2::TcpKeepalive::new().with_time(PROBE_AFTER);
    socket2::SockRef::from(&socket).set_tcp_keepalive(&probes)?;
    let stranger = Stranger::of(&shared.strangers, shared.limits.strangers_max);
    let Some(stranger) = stranger else { return Ok(()) };
    let Some(place) = Place::take(shared, Arc::new(socket), number) else { return Ok(()) };
    let work = move || {
        // How a connection ends is the client's affair: it sees the socket close.
        let _ = conversation::converse(&place.shared, place.socket.clone(), place.number, stranger);
    };
    std::thread::Builder::new().name("bolt".into()).stack_size(STACK_BYTES).spawn(work).map(drop)
}

/// One of those who have not said yet who they are.
struct Stranger(Arc<AtomicUsize>);

impl Stranger {
    fn of(count: &Arc<AtomicUsize>, max: usize) -> Option<Stranger> {
        let more = |count: usize| (count < max).then_some(count + 1);
        count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok().map(|_| Stranger(count.clone()))
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One of the connections served at once, given back whatever ends it.
struct Place {
    shared: Arc<Shared>,
    socket: Arc<TcpStream>,
    number: u64,
}

impl Place {
    fn take(shared: &Arc<Shared>, socket: Arc<TcpStream>, number: u64) -> Option<Place> {
        let mut open = shared.open.lock();
        if open.len() >= shared.limits.connections_max {
            return None;
        }
        open.insert(number, socket.clone());
        drop(open);
        Some(Place { shared: shared.clone(), socket, number })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A client that is gone already is told nothing.
        let _ = self.socket.shutdown(Shutdown::Both);
        self.shared.open.lock().remove(&self.number);
    }
}
