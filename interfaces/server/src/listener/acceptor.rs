//! An acceptor: one listening address, a thread for each connection, and a limited number of places.
//!
//! Each interface has one. The conversation is the interface's: it gets a [`Guest`], whose place is free again when the guest is dropped. An acceptor
//! that closes waits until the threads of its guests hold nothing of the interface any more, so that its owner can then close the database; but no
//! longer than [`FAREWELL`], so that one of them cannot hold up the end. The log reports it where that was not enough.

use super::crowd::{Crowd, Origin, Present, Share};
use super::error::ServeError;
use crate::users::Gate;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use world::threads::Thread;

/// Bytes of stack of a connection's thread: texts are parsed and planned on it.
const STACK_BYTES: usize = 4 << 20;
/// Time that an acceptor that closes gives the threads of its guests.
const FAREWELL: Duration = Duration::from_secs(2);
/// A silent client is probed after this long.
const PROBE_AFTER: Duration = Duration::from_secs(60);
/// Clients that the system keeps waiting for us; beyond, it lets them try again, which takes them a second.
const WAITING_MAX: i32 = 1_024;
/// A refused client that is silent for so long is not waited for.
const FAREWELL_SILENCE: Duration = Duration::from_millis(500);
/// Bytes that are thrown away at once.
const FAREWELL_READ_BYTES: usize = 16 << 10;
/// Pause when the system gives no more sockets or threads.
const BREATH: Duration = Duration::from_millis(20);

/// The conversation with a guest, on a thread of its own.
pub(crate) type Serve = dyn Fn(Guest) + Send + Sync;

/// Shared by all connections.
struct OpenConnections {
    stopping: AtomicBool,
    open: Mutex<BTreeMap<u64, Arc<TcpStream>>>,
}

/// An open acceptor. Dropping it closes every connection that came through it.
pub(crate) struct Acceptor {
    connections_open: Arc<OpenConnections>,
    listener: Arc<TcpListener>,
    accepting: Option<Thread<()>>,
    address: SocketAddr,
}

/// An accepted connection.
pub(crate) struct Guest {
    /// The socket.
    pub socket: Arc<TcpStream>,
    /// Counted from 1.
    pub number: u64,
    /// Where the guest comes from.
    pub origin: Origin,
    /// All connected clients.
    pub crowd: Arc<Crowd>,
    /// Taken when the guest has logged on.
    pub stranger: Option<Stranger>,
    _place: Share<Origin>,
    _present: Present,
}

/// State of a guest's thread: the interface's, and then its entry among the open ones. Fields are dropped in this order.
struct GuestThread {
    serve: Arc<Serve>,
    _open: OpenSocket,
}

/// A connection among those that are open.
struct OpenSocket {
    connections_open: Arc<OpenConnections>,
    number: u64,
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        self.connections_open.open.lock().remove(&self.number);
    }
}

impl Acceptor {
    /// Listens; ready when this returns.
    pub(crate) fn open(
        name: &'static str,
        address: &str,
        gate: &Gate,
        crowd: &Arc<Crowd>,
        serve: Arc<Serve>,
    ) -> Result<Acceptor, ServeError> {
        let address = permitted(address, gate)?;
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => ServeError::Taken(address),
            _ => ServeError::Io(address.to_string(), error),
        };
        let listener = Arc::new(listen(address).map_err(failed)?);
        let address = listener.local_addr().map_err(failed)?;
        let connections_open =
            Arc::new(OpenConnections { stopping: AtomicBool::new(false), open: Mutex::default() });
        let accepting =
            Accepting { name, connections_open: connections_open.clone(), crowd: crowd.clone(), serve };
        let heard = listener.clone();
        let accepting =
            Some(world::threads::try_spawn(name, move || accepting.accept(&heard)).map_err(failed)?);
        Ok(Acceptor { connections_open, listener, accepting, address })
    }
    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
    /// Connections open now.
    pub(crate) fn connections(&self) -> usize {
        self.connections_open.open.lock().len()
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.connections_open.stopping.store(true, Ordering::Release);
        // A listening socket that is shut lets its thread go. Sockets that are gone already need no farewell.
        let _ = socket2::SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        drop(self.accepting.take());
        self.connections_open.open.lock().values().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
        let until_ns = world::clock::after_ns(FAREWELL);
        while self.connections() > 0 && world::clock::monotonic_ns() < until_ns {
            world::threads::sleep(Duration::from_millis(1));
        }
        let connections = self.connections();
        if connections > 0 {
            let waited_ms = FAREWELL.as_millis() as u64;
            tracing::warn!(
                connections,
                waited_ms,
                "connections' threads still hold the database; not waited for any longer"
            );
        }
    }
}

/// A socket that listens.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
    // A server that is started anew need not wait until the last packets of the one before have died out.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(WAITING_MAX)?;
    Ok(socket.into())
}

/// A client that vanished is noticed, and nothing waits in the socket for more.
pub(crate) fn prepare(socket: &socket2::SockRef<'_>) -> io::Result<()> {
    socket.set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(PROBE_AFTER))?;
    socket.set_tcp_nodelay(true)
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

/// State of the accepting thread.
struct Accepting {
    name: &'static str,
    connections_open: Arc<OpenConnections>,
    crowd: Arc<Crowd>,
    serve: Arc<Serve>,
}

impl Accepting {
    fn accept(&self, listener: &TcpListener) {
        for number in 1.. {
            let accepted = listener.accept();
            if self.connections_open.stopping.load(Ordering::Acquire) {
                return;
            }
            // Out of descriptors or threads, usually: some close in time.
            if accepted.and_then(|(socket, peer)| self.receive(socket, peer, number)).is_err() {
                world::threads::sleep(BREATH);
            }
        }
    }
    /// Gives a connection its thread, if there is a place for one more.
    fn receive(&self, socket: TcpStream, peer: SocketAddr, number: u64) -> io::Result<()> {
        prepare(&socket2::SockRef::from(&socket))?;
        let origin = Origin::from(peer.ip());
        let Ok(stranger) = self.crowd.strangers.take(origin, 1) else { return Ok(()) };
        let Ok(place) = self.crowd.places.take(origin, 1) else { return Ok(()) };
        let (crowd, connections_open, socket) =
            (self.crowd.clone(), self.connections_open.clone(), Arc::new(socket));
        connections_open.open.lock().insert(number, socket.clone());
        let held = GuestThread { serve: self.serve.clone(), _open: OpenSocket { connections_open, number } };
        let _present = crowd.present(self.name);
        let guest =
            Guest { socket, number, origin, crowd, stranger: Some(stranger), _place: place, _present };
        let work = move || {
            let held = held;
            (held.serve)(guest);
        };
        std::thread::Builder::new().name(self.name.into()).stack_size(STACK_BYTES).spawn(work).map(drop)
    }
}

/// A client that has not authenticated yet.
pub(crate) type Stranger = Share<Origin>;

impl Guest {
    /// The guest was refused with a reason: its further bytes are discarded for a while, since closing a socket with unread bytes takes the answer
    /// back from the other end. A guest that is silent for [`FAREWELL_SILENCE`] has sent all; a stranger gets no more time than that.
    pub(crate) fn bid_farewell(&self, time: Duration) {
        let time = if self.stranger.is_some() { time.min(FAREWELL_SILENCE) } else { time };
        let _ = self.socket.shutdown(Shutdown::Write);
        let until_ns = world::clock::after_ns(time);
        let mut waste = [0; FAREWELL_READ_BYTES];
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(world::clock::monotonic_ns()));
            let wait = left.min(FAREWELL_SILENCE);
            if wait.is_zero() || self.socket.set_read_timeout(Some(wait)).is_err() {
                return;
            }
            match (&*self.socket).read(&mut waste) {
                Ok(0) => return,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
                _ => {}
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // A client that is gone already is told nothing.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
