//! A doorway: one listening address, a thread for each who comes in, and a place for only so many.
//!
//! Both doors stand in one. What is said with a client is the door's affair: it is given a [`Guest`], whose place is free again when the
//! guest is dropped, however that comes.

use super::ServeError;
use crate::limits::Limits;
use crate::users::Gate;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use world::threads::Thread;

/// Bytes of stack of a connection's thread: texts are parsed and planned on it.
const STACK_BYTES: usize = 4 << 20;
/// Time that a doorway that closes gives its guests.
const FAREWELL: Duration = Duration::from_secs(2);
/// A client that vanished without a word is asked for after this long.
const PROBE_AFTER: Duration = Duration::from_secs(60);
/// Clients that the system keeps waiting for us; beyond, it lets them try again, which takes them a second.
const WAITING_MAX: i32 = 1_024;
/// Pause when the system gives no more sockets or threads.
const BREATH: Duration = Duration::from_millis(20);

/// What is said with a guest, on a thread of its own.
pub(crate) type Serve = dyn Fn(Guest) + Send + Sync;

/// What all who came in share.
struct Lobby {
    strangers: Arc<AtomicUsize>,
    stopping: AtomicBool,
    open: Mutex<BTreeMap<u64, Arc<TcpStream>>>,
}

/// An open doorway. Dropping it closes every connection that came through it.
pub(crate) struct Doorway {
    lobby: Arc<Lobby>,
    listener: Arc<TcpListener>,
    accepting: Option<Thread<()>>,
    address: SocketAddr,
}

/// Someone who came in.
pub(crate) struct Guest {
    /// The socket.
    pub socket: Arc<TcpStream>,
    /// Counted from 1.
    pub number: u64,
    /// Taken when the guest is known.
    pub stranger: Option<Stranger>,
    lobby: Arc<Lobby>,
}

impl Doorway {
    /// Listens; ready when this returns.
    pub(crate) fn open(
        name: &'static str,
        address: &str,
        gate: &Gate,
        limits: &Limits,
        serve: Arc<Serve>,
    ) -> Result<Doorway, ServeError> {
        let address = permitted(address, gate)?;
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => ServeError::Taken(address),
            _ => ServeError::Io(address.to_string(), error),
        };
        let listener = Arc::new(listen(address).map_err(failed)?);
        let address = listener.local_addr().map_err(failed)?;
        let lobby = Arc::new(Lobby {
            strangers: Arc::default(),
            stopping: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let accepting = Accepting { name, lobby: lobby.clone(), limits: limits.clone(), serve };
        let heard = listener.clone();
        let accepting = Some(world::threads::spawn(name, move || accepting.accept(&heard)));
        Ok(Doorway { lobby, listener, accepting, address })
    }
    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
    /// Connections open now.
    pub(crate) fn connections(&self) -> usize {
        self.lobby.open.lock().len()
    }
}

impl Drop for Doorway {
    fn drop(&mut self) {
        self.lobby.stopping.store(true, Ordering::Release);
        // A listening socket that is shut lets its thread go. Sockets that are gone already need no farewell.
        let _ = socket2::SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        drop(self.accepting.take());
        self.lobby.open.lock().values().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
        let until_ns = world::clock::monotonic_ns() + FAREWELL.as_nanos() as u64;
        while self.connections() > 0 && world::clock::monotonic_ns() < until_ns {
            world::threads::sleep(Duration::from_millis(1));
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
    // A server that is started anew need not wait until the last packets of the one before have died out.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(WAITING_MAX)?;
    Ok(socket.into())
}

/// An address that may be listened on.
fn permitted(text: &str, gate: &Gate) -> Result<SocketAddr, ServeError> {
    let text = text.replace("localhost", "127.0.0.1");
    let address: SocketAddr = text.parse().map_err(|_| ServeError::Address(text.clone()))?;
    if address.ip().is_loopback() || gate.asks() {
        Ok(address)
    } else {
        Err(ServeError::NotLoopback(address))
    }
}

/// What the accepting thread holds.
struct Accepting {
    name: &'static str,
    lobby: Arc<Lobby>,
    limits: Limits,
    serve: Arc<Serve>,
}

impl Accepting {
    fn accept(&self, listener: &TcpListener) {
        for number in 1.. {
            let accepted = listener.accept();
            if self.lobby.stopping.load(Ordering::Acquire) {
                return;
            }
            // Out of descriptors or threads, usually: some close in time.
            if accepted.and_then(|(socket, _)| self.receive(socket, number)).is_err() {
                world::threads::sleep(BREATH);
            }
        }
    }
    /// Gives a connection its thread, if there is a place for one more.
    fn receive(&self, socket: TcpStream, number: u64) -> io::Result<()> {
        let probes = socket2::TcpKeepalive::new().with_time(PROBE_AFTER);
        socket2::SockRef::from(&socket).set_tcp_keepalive(&probes)?;
        socket.set_nodelay(true)?;
        let stranger = Stranger::of(&self.lobby.strangers, self.limits.strangers_max);
        let Some(stranger) = stranger else { return Ok(()) };
        let Some(guest) = self.place(Arc::new(socket), number, stranger) else { return Ok(()) };
        let serve = self.serve.clone();
        let work = move || serve(guest);
        std::thread::Builder::new().name(self.name.into()).stack_size(STACK_BYTES).spawn(work).map(drop)
    }
    /// One of the connections served at once.
    fn place(&self, socket: Arc<TcpStream>, number: u64, stranger: Stranger) -> Option<Guest> {
        let mut open = self.lobby.open.lock();
        if open.len() >= self.limits.connections_max {
            return None;
        }
        open.insert(number, socket.clone());
        Some(Guest { socket, number, stranger: Some(stranger), lobby: self.lobby.clone() })
    }
}

/// One of those who have not said yet who they are.
pub(crate) struct Stranger(Arc<AtomicUsize>);

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

impl Drop for Guest {
    fn drop(&mut self) {
        // A client that is gone already is told nothing.
        let _ = self.socket.shutdown(Shutdown::Both);
        self.lobby.open.lock().remove(&self.number);
    }
}
