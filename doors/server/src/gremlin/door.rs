//! The Gremlin door's sockets: WebSocket over TCP or TLS, a thread a connection, and one that watches over clients that go while their
//! traversal runs.

use super::connection::{Connection, Manner, Next};
use crate::limits::Limits;
use crate::listener::{ServeError, Tls};
use crate::users::Gate;
use database::Interrupter;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::http::StatusCode;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket, accept_hdr_with_config};
use world::threads::Thread;

/// The path of the door.
pub const PATH: &str = "/gremlin";
/// How often clients with a running traversal are looked after.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Bytes of stack of a connection's thread: texts are parsed and planned on it.
const STACK_BYTES: usize = 4 << 20;
/// Pause when the system gives no more sockets or threads.
const BREATH: Duration = Duration::from_millis(20);
/// To look at what has come without taking it or waiting for it: MSG_PEEK and MSG_DONTWAIT of recv(2).
const PEEK: i32 = 0x02 | 0x40;

/// Where to listen, and how.
#[derive(Clone)]
pub struct GremlinServeOptions {
    /// Its address.
    pub address: String,
    /// How it behaves.
    pub manner: Manner,
    /// Wraps every connection, where given.
    pub tls: Option<Tls>,
    /// What a client may cost.
    pub limits: Limits,
}

/// A connection that is served.
struct Open {
    socket: TcpStream,
    /// What to end when its client goes.
    running: Option<Interrupter>,
}

struct Shared {
    options: GremlinServeOptions,
    open: Mutex<BTreeMap<u64, Open>>,
    stopping: AtomicBool,
}

/// A running Gremlin door. Dropping it closes every connection.
pub struct GremlinServer {
    shared: Arc<Shared>,
    listener: Arc<TcpListener>,
    threads: Vec<Thread<()>>,
    address: SocketAddr,
}

impl GremlinServer {
    /// Listens; ready when this returns.
    ///
    /// # Errors
    /// The address is none, is taken, or can be reached by others while no password is asked.
    pub fn start(options: GremlinServeOptions) -> Result<GremlinServer, ServeError> {
        let address = crate::listener::permitted(&options.address, gate(&options))?;
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => ServeError::Taken(address),
            _ => ServeError::Io(address.to_string(), error),
        };
        let listener = Arc::new(crate::listener::listen(address).map_err(failed)?);
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared { options, open: Mutex::default(), stopping: AtomicBool::new(false) });
        let (accepted, heard, watched) = (shared.clone(), listener.clone(), shared.clone());
        let threads = vec![
            world::threads::spawn("gremlin", move || accept(&accepted, &heard)),
            world::threads::spawn("gremlin-watch", move || watch(&watched)),
        ];
        Ok(GremlinServer { shared, listener, threads, address })
    }
    /// Where it listens; the port is the one the system chose if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for GremlinServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        // A listening socket that is shut lets its thread go. Sockets that are gone already need no farewell.
        let _ = socket2::SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        for open in self.shared.open.lock().values() {
            open.running.iter().for_each(Interrupter::close);
            let _ = open.socket.shutdown(Shutdown::Both);
        }
        self.threads.clear();
    }
}

fn gate(options: &GremlinServeOptions) -> &Gate {
    &options.manner.gate
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for number in 1.. {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::Acquire) {
            return;
        }
        if accepted.and_then(|(socket, _)| receive(shared, socket, number)).is_err() {
            world::threads::sleep(BREATH);
        }
    }
}

/// Gives a connection its thread, if there is a place for one more.
fn receive(shared: &Arc<Shared>, socket: TcpStream, number: u64) -> io::Result<()> {
    let mut open = shared.open.lock();
    if open.len() >= shared.options.limits.connections_max {
        return Ok(());
    }
    open.insert(number, Open { socket: socket.try_clone()?, running: None });
    drop(open);
    let shared = shared.clone();
    let work = move || {
        // How a connection ends is the client's affair: it sees the socket close.
        let _ = converse(&shared, socket, number);
        if let Some(open) = shared.open.lock().remove(&number) {
            let _ = open.socket.shutdown(Shutdown::Both);
        }
    };
    std::thread::Builder::new().name("gremlin".into()).stack_size(STACK_BYTES).spawn(work).map(drop)
}

fn converse(shared: &Arc<Shared>, socket: TcpStream, number: u64) -> io::Result<()> {
    let limits = &shared.options.limits;
    let peer = socket.peer_addr()?.ip();
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(limits.write_timeout))?;
    socket.set_read_timeout(Some(limits.greeting_timeout))?;
    let timed = socket.try_clone()?;
    match &shared.options.tls {
        None => talk(shared, socket, &timed, peer, number),
        Some(tls) => talk(shared, tls.stream(socket)?, &timed, peer, number),
    }
}

/// Answers frames as they come.
fn talk<S: Read + Write>(
    shared: &Arc<Shared>,
    stream: S,
    socket: &TcpStream,
    peer: std::net::IpAddr,
    number: u64,
) -> io::Result<()> {
    let limits = &shared.options.limits;
    let config = WebSocketConfig::default()
        .max_message_size(Some(limits.message_bytes_max))
        .max_frame_size(Some(limits.message_bytes_max));
    let greeted = accept_hdr_with_config(stream, admit, Some(config));
    let mut client = greeted.map_err(|error| io::Error::other(error.to_string()))?;
    let watched = shared.clone();
    let watch = move |running: Option<Interrupter>| {
        if let Some(open) = watched.open.lock().get_mut(&number) {
            open.running = running;
        }
    };
    let mut connection = Connection::new(shared.options.manner.clone(), peer, Box::new(watch));
    loop {
        // Who is known may be silent as long as it likes; a stranger may not.
        socket.set_read_timeout((!connection.is_known()).then_some(limits.greeting_timeout))?;
        let frame = match client.read() {
            Ok(Message::Binary(frame)) => frame,
            Ok(Message::Text(text)) => text.as_bytes().to_vec().into(),
            Ok(Message::Close(_)) | Err(_) => return farewell(&mut client),
            // The protocol's own pings are answered by the library.
            Ok(_) => continue,
        };
        let mut sink = |frame: Vec<u8>| {
            client.send(Message::binary(frame)).map_err(|error| io::Error::other(error.to_string()))
        };
        if connection.handle(&frame, &mut sink)? == Next::Close {
            return farewell(&mut client);
        }
    }
}

fn farewell<S: Read + Write>(client: &mut WebSocket<S>) -> io::Result<()> {
    // The client may be gone already.
    let _ = client.close(None);
    let _ = client.flush();
    Ok(())
}

/// The handshake is for one path alone.
#[allow(clippy::result_large_err, reason = "the type is the library's")]
fn admit(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    if request.uri().path() == PATH {
        return Ok(response);
    }
    let mut refusal = ErrorResponse::new(Some(format!("the door is at {PATH}")));
    *refusal.status_mut() = StatusCode::NOT_FOUND;
    Err(refusal)
}

/// Ends what runs for clients that are gone.
fn watch(shared: &Shared) {
    while !shared.stopping.load(Ordering::Acquire) {
        for open in shared.open.lock().values_mut() {
            if open.running.is_some() && is_gone(&open.socket) {
                open.running.take().iter().for_each(Interrupter::close);
            }
        }
        world::threads::sleep(LOOK_EVERY);
    }
}

/// Has the other end closed? Looks without taking anything.
fn is_gone(socket: &TcpStream) -> bool {
    let mut byte = [MaybeUninit::uninit()];
    match socket2::SockRef::from(socket).recv_with_flags(&mut byte, PEEK) {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
    }
}
