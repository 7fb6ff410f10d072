//! The Gremlin interface's sockets: HTTP and WebSocket over TCP or TLS, a thread a connection, and one that watches for clients that go while their
//! traversal runs.

use super::connection::{Connection, Manner, Next, Watch};
use super::http::{self, Http};
use super::message::Frame;
use super::pace::{Pace, Paced};
use super::request_head::Head;
use crate::limits::Limits;
use crate::listener::acceptor::{Acceptor, Guest};
use crate::listener::crowd::{Crowd, Origin, Share};
use crate::listener::{ServeError, Server, Tls};
use crate::site::{self, Fault, RequestTarget};
use database::Interrupter;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode};
use tungstenite::{Error as SocketError, Message, WebSocket};
use world::clock::after_ns;
use world::memory::Pages;
use world::threads::Thread;

/// The path of the interface.
pub const PATH: &str = "/gremlin";
/// How often clients with a running traversal are looked after.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Bytes of the reason in a frame that closes (RFC 6455, 5.5).
const REASON_BYTES_MAX: usize = 123;
/// Bytes that a client of HTTP may have sent behind a request that is answered; fewer than the system holds for it.
const AHEAD_BYTES_MAX: u64 = 32 << 10;
/// Bytes taken from a socket at once.
const READ_BYTES: usize = 16 << 10;

/// Where to listen, and how.
#[derive(Clone)]
pub struct GremlinServeOptions {
    /// Its address.
    pub address: String,
    /// How it behaves.
    pub manner: Manner,
    /// Wraps every connection, where given.
    pub tls: Option<Tls>,
    /// The limits of a client.
    pub limits: Limits,
    /// Sites whose pages may send requests, as at the HTTP interface; `*` for all.
    pub cors: Vec<String>,
}

/// A traversal that runs, and the client it runs for.
struct Running {
    socket: Arc<TcpStream>,
    interrupter: Interrupter,
    /// Is it a request of HTTP? Over WebSocket a client may send many at once.
    is_http: bool,
    /// Set once the client may send no more requests on this connection.
    is_let_go: Arc<AtomicBool>,
}

struct Shared {
    options: GremlinServeOptions,
    running: Mutex<BTreeMap<u64, Running>>,
    stopping: AtomicBool,
}

/// A running Gremlin interface. Dropping it closes every connection.
pub struct GremlinServer {
    shared: Arc<Shared>,
    acceptor: Option<Acceptor>,
    watching: Option<Thread<()>>,
    address: SocketAddr,
}

impl GremlinServer {
    /// Listens; ready when this returns.
    ///
    /// # Errors
    /// The address is invalid, taken, or reachable by others while no password is demanded.
    pub fn start(options: GremlinServeOptions) -> Result<GremlinServer, ServeError> {
        let crowd = Crowd::new(&options.limits);
        GremlinServer::start_within(options, &crowd)
    }
    /// The same as another interface of a server: limits of all clients hold over both interfaces together.
    ///
    /// # Errors
    /// As [`GremlinServer::start`].
    pub fn start_beside(server: &Server, options: GremlinServeOptions) -> Result<GremlinServer, ServeError> {
        GremlinServer::start_within(options, server.crowd())
    }
    fn start_within(options: GremlinServeOptions, crowd: &Arc<Crowd>) -> Result<GremlinServer, ServeError> {
        let (running, stopping) = (Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { options, running, stopping });
        let (served, watched) = (shared.clone(), shared.clone());
        let serve = move |guest: Guest| {
            // How a connection ends is the client's affair: it sees the socket close.
            let _ = converse(&served, guest);
        };
        let GremlinServeOptions { address, manner, .. } = &shared.options;
        let acceptor = Acceptor::open("gremlin", address, &manner.gate, crowd, Arc::new(serve))?;
        let address = acceptor.address();
        let watching = world::threads::try_spawn("gremlin-watch", move || watch(&watched))
            .map(Some)
            .map_err(|error| ServeError::Io(address.to_string(), error))?;
        let settings = || crate::settings::of_gremlin(address);
        let sources = manner.sources.values();
        sources.for_each(|database| database.set_interface_settings(&name(address), settings()));
        Ok(GremlinServer { shared, acceptor: Some(acceptor), watching, address })
    }
    /// Where it listens; if port 0 was requested, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.acceptor.as_ref().map_or(0, Acceptor::connections)
    }
}

/// The name under which a database lists the interface's settings.
fn name(address: SocketAddr) -> String {
    format!("gremlin {address}")
}

impl Drop for GremlinServer {
    fn drop(&mut self) {
        let sources = self.shared.options.manner.sources.values();
        sources.for_each(|database| database.set_interface_settings(&name(self.address), Vec::new()));
        self.shared.running.lock().values().for_each(|running| running.interrupter.close());
        drop(self.acceptor.take());
        self.shared.stopping.store(true, Ordering::Release);
        drop(self.watching.take());
    }
}

/// One connection, from its first byte to its last.
fn converse(shared: &Arc<Shared>, mut guest: Guest) -> io::Result<()> {
    let limits = &shared.options.limits;
    let pace = Pace::new(limits, guest.crowd.account(guest.origin));
    pace.next_until(Some(after_ns(limits.greeting_timeout)));
    let paced = Paced::new(guest.socket.clone(), pace.clone(), limits)?;
    let peer = guest.socket.peer_addr()?.ip();
    let (watched, socket, number) = (shared.clone(), guest.socket.clone(), guest.number);
    let is_http = Arc::new(AtomicBool::new(true));
    let still_http = is_http.clone();
    let is_let_go = Arc::new(AtomicBool::new(false));
    let let_go = is_let_go.clone();
    let watch = move |interrupter: Option<Interrupter>| {
        let mut running = watched.running.lock();
        match interrupter {
            Some(interrupter) => {
                let (socket, is_http) = (socket.clone(), still_http.load(Ordering::Relaxed));
                let is_let_go = let_go.clone();
                drop(running.insert(number, Running { socket, interrupter, is_http, is_let_go }));
            }
            None => drop(running.remove(&number)),
        }
    };
    let visit = Visit { shared, pace: pace.clone(), peer, watch: Box::new(watch), is_http, is_let_go };
    let end = match &shared.options.tls {
        None => visit.talk(paced, &mut guest),
        Some(tls) => visit.talk(tls.stream(paced)?, &mut guest),
    }?;
    drop(pace);
    if end == End::Refused {
        guest.bid_farewell(limits.farewell_timeout);
    }
    Ok(())
}

/// How a conversation ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The client had enough, or is gone.
    Left,
    /// The server had, and said why.
    Refused,
}

/// The state of a client while it is connected.
struct Visit<'v> {
    shared: &'v Arc<Shared>,
    pace: Arc<Pace>,
    peer: std::net::IpAddr,
    watch: Box<Watch>,
    /// False once the client speaks WebSocket.
    is_http: Arc<AtomicBool>,
    is_let_go: Arc<AtomicBool>,
}

fn later(wait: Duration) -> Option<u64> {
    Some(after_ns(wait))
}

impl Visit<'_> {
    /// Answers requests of HTTP until one upgrades to WebSocket, or none comes.
    fn talk<S: Read + Write>(self, mut stream: S, guest: &mut Guest) -> io::Result<End> {
        let limits = &self.shared.options.limits;
        let (crowd, origin) = (guest.crowd.clone(), guest.origin);
        let mut visitor = Visitor { crowd, origin, place: None };
        let http = Http { manner: &self.shared.options.manner, limits, peer: self.peer, watch: &*self.watch };
        let mut bytes = Vec::new();
        loop {
            let reading = Reading { limits, pace: &self.pace };
            let Some(head) = reading.head(&mut stream, &mut bytes)? else { return Ok(End::Refused) };
            if let Some((code, message)) = unwelcome(&head, &self.shared.options) {
                return refuse(Some(&head), code, message, &mut stream);
            }
            if let Some(key) = head.web_socket_key() {
                write!(
                    stream,
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Accept: {}\r\n\r\n",
                    derive_accept_key(key.as_bytes())
                )?;
                stream.flush()?;
                return self.listen(stream, bytes, guest, visitor);
            }
            // A name and a password come with each request, so a stranger's body is not even read.
            let known = visitor.crowd.in_turn(origin, || http.admit(&head, &mut stream))?;
            let Some(known) = known else { return Ok(End::Refused) };
            if let Err(why) = visitor.take_place(known.user()) {
                return refuse(Some(&head), 429, &why, &mut stream);
            }
            guest.stranger = None;
            let Some(body) = reading.body(&mut stream, &mut bytes, &head)? else { return Ok(End::Refused) };
            // The values of a request are on an account until it is answered.
            let mut values = visitor.crowd.values(origin);
            http.answer(&known, (&head, &body), &mut |bytes| values.grow(bytes), &mut stream)?;
            if !head.keeps_alive || self.is_let_go.load(Ordering::Acquire) {
                return Ok(End::Left);
            }
            self.pace.next_until(later(limits.idle_timeout));
        }
    }

    /// Answers frames as they come; `ahead` came with the handshake.
    fn listen<S: Read + Write>(
        self,
        stream: S,
        ahead: Vec<u8>,
        guest: &mut Guest,
        mut visitor: Visitor,
    ) -> io::Result<End> {
        let limits = &self.shared.options.limits;
        let Visit { shared, pace, peer, watch, is_http, .. } = self;
        is_http.store(false, Ordering::Relaxed);
        let greeted_by_ns = later(limits.greeting_timeout);
        let config = Some(web_socket(limits.stranger_message_bytes_max));
        let mut client = WebSocket::from_partially_read(stream, ahead, Role::Server, config);
        let mut connection = Connection::new(shared.options.manner.clone(), peer, watch);
        connection.join(visitor.crowd.clone(), visitor.origin);
        loop {
            if connection.is_known() && guest.stranger.take().is_some() {
                if let Err(why) = visitor.take_place(connection.user()) {
                    return farewell(&mut client, Some(closing(CloseCode::Policy, &why)));
                }
                client.set_config(|now| *now = web_socket(limits.message_bytes_max));
            }
            // Who is known may be silent for long, unless others wait for its transaction; a stranger may not.
            pace.next_until(match connection.is_known() {
                false => greeted_by_ns,
                true if connection.has_open_work() => later(limits.neglect_timeout),
                true => later(limits.idle_timeout),
            });
            let (frame, is_text) = match client.read() {
                Ok(Message::Binary(frame)) => (frame, false),
                Ok(Message::Text(text)) => (text.into(), true),
                // The protocol's own pings are answered by the library.
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
                Ok(Message::Close(_)) => return farewell(&mut client, None),
                Err(error) => return farewell(&mut client, complaint(&error, pace.refused())),
            };
            let mut sink = |frame: Frame| {
                let message = match frame {
                    Frame::Binary(bytes) => Message::binary(bytes),
                    Frame::Text(text) => Message::text(text),
                };
                client.send(message).map_err(io::Error::other)
            };
            if connection.handle(&frame, is_text, &mut sink)? == Next::Close {
                return farewell(&mut client, None);
            }
        }
    }
}

/// A client at the interface, counted among all others.
struct Visitor {
    crowd: Arc<Crowd>,
    origin: Origin,
    place: Option<(String, Share<String>)>,
}

impl Visitor {
    /// Takes a place among the connections of a user; with HTTP each request may be of another user.
    fn take_place(&mut self, user: Option<&str>) -> Result<(), String> {
        let Some(user) = user else { return Ok(()) };
        if self.place.as_ref().is_none_or(|(name, _)| name != user) {
            self.place = None;
            self.place = Some((user.to_string(), self.crowd.user(user)?));
        }
        Ok(())
    }
}

/// Why a request is not for this interface.
fn unwelcome(head: &Head, options: &GremlinServeOptions) -> Option<(u16, &'static str)> {
    if head.path != PATH {
        return Some((404, "the interface is at /gremlin"));
    }
    let target = RequestTarget { authority: None, needs_host: head.knows_chunks };
    let outcome = site::check_name(head, target, options.manner.gate.asks())
        .and_then(|()| site::check_page(head, &options.cors));
    outcome.err().map(|fault| match fault {
        Fault::Hosts | Fault::NoHost | Fault::OtherHost => (400, fault.message()),
        Fault::Name | Fault::Page => (403, fault.message()),
    })
}

fn web_socket(bytes_max: usize) -> WebSocketConfig {
    let config = WebSocketConfig::default().read_buffer_size(READ_BYTES).write_buffer_size(0);
    config.max_message_size(Some(bytes_max)).max_frame_size(Some(bytes_max))
}

fn refuse(head: Option<&Head>, code: u16, message: &str, out: &mut dyn Write) -> io::Result<End> {
    http::refuse(head, code, message, out).map(|()| End::Refused)
}

/// Reads requests of HTTP, within limits.
struct Reading<'r> {
    limits: &'r Limits,
    pace: &'r Pace,
}

impl Reading<'_> {
    /// Reads up to the end of a request's head; bytes behind it stay in `bytes`. None where the client has no more requests, or got an error that
    /// says why no more is read.
    fn head<S: Read + Write>(&self, stream: &mut S, bytes: &mut Vec<u8>) -> io::Result<Option<Head>> {
        let head_bytes_max = self.limits.head_bytes_max;
        loop {
            match Head::parse(bytes) {
                Ok(Some((head, length))) => {
                    bytes.drain(..length);
                    return Ok(Some(head));
                }
                Ok(None) if bytes.len() > head_bytes_max => {
                    let message = format!("the head of a request is longer than {head_bytes_max} bytes");
                    return http::refuse(None, 431, &message, stream).map(|()| None);
                }
                Ok(None) => {}
                Err(error) => return http::refuse(None, 400, &error.to_string(), stream).map(|()| None),
            }
            // Who has asked for nothing need not be told.
            let head = (!bytes.is_empty()).then(Head::default);
            if !self.more(stream, bytes, head.as_ref())? {
                return Ok(None);
            }
        }
    }

    /// Reads a request's body. None where there is none to read, and the client got an error.
    fn body<S: Read + Write>(
        &self,
        stream: &mut S,
        bytes: &mut Vec<u8>,
        head: &Head,
    ) -> io::Result<Option<Pages>> {
        let length = match head.body_bytes() {
            Ok(length) if length <= self.limits.message_bytes_max => length,
            Ok(_) => {
                let message = format!("a body is longer than {} bytes", self.limits.message_bytes_max);
                return http::refuse(Some(head), 413, &message, stream).map(|()| None);
            }
            Err(error) => {
                return http::refuse(Some(head), 411, &error.to_string(), stream).map(|()| None);
            }
        };
        if length > bytes.len() && head.says("expect", "100-continue") {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            stream.flush()?;
        }
        let mut body = Pages::default();
        loop {
            let count = bytes.len().min(length - body.len());
            body.extend_from_slice(&bytes[..count])?;
            bytes.drain(..count);
            if body.len() == length {
                return Ok(Some(body));
            }
            if !self.more(stream, bytes, Some(head))? {
                return Ok(None);
            }
        }
    }

    /// Reads available bytes. False where no more come; if a request is to be answered, the client got an error.
    fn more(
        &self,
        stream: &mut (impl Read + Write),
        bytes: &mut Vec<u8>,
        head: Option<&Head>,
    ) -> io::Result<bool> {
        let mut buffer = [0; READ_BYTES];
        match stream.read(&mut buffer) {
            Ok(0) => Ok(false),
            Ok(count) => {
                bytes.extend_from_slice(&buffer[..count]);
                Ok(true)
            }
            Err(error) => match (self.pace.refused(), head) {
                (Some(why), Some(head)) => {
                    let code = if error.kind() == ErrorKind::TimedOut { 408 } else { 503 };
                    http::refuse(Some(head), code, &why, stream).map(|()| false)
                }
                _ => Err(error),
            },
        }
    }
}

/// The answer to a frame that cannot be read; none where the client is gone.
fn complaint(error: &SocketError, refused: Option<String>) -> Option<CloseFrame> {
    let code = match error {
        SocketError::Capacity(_) => CloseCode::Size,
        SocketError::Protocol(_) => CloseCode::Protocol,
        SocketError::Utf8(_) => CloseCode::Invalid,
        SocketError::Io(_) if refused.is_some() => CloseCode::Policy,
        _ => return None,
    };
    Some(closing(code, &refused.unwrap_or_else(|| error.to_string())))
}

/// A frame that closes, with as much of a reason as fits.
fn closing(code: CloseCode, why: &str) -> CloseFrame {
    let reason = &why[..why.floor_char_boundary(REASON_BYTES_MAX)];
    CloseFrame { code, reason: reason.into() }
}

fn farewell<S: Read + Write>(client: &mut WebSocket<S>, why: Option<CloseFrame>) -> io::Result<End> {
    let end = if why.is_some() { End::Refused } else { End::Left };
    // The client may be gone already.
    let _ = client.close(why);
    let _ = client.flush();
    Ok(end)
}

/// Ends running requests of clients that are gone, and disconnects those that send too far ahead.
fn watch(shared: &Shared) {
    while !shared.stopping.load(Ordering::Acquire) {
        shared.running.lock().retain(|_, running| {
            let sends_ahead = running.is_http && sends_ahead(&running.socket);
            let is_over = sends_ahead || is_gone(&running.socket);
            if sends_ahead {
                // It may be there still: what it sent must not run, nor may it hold up the end of the answer by not reading.
                running.is_let_go.store(true, Ordering::Release);
                let _ = running.socket.shutdown(Shutdown::Both);
            }
            if is_over {
                running.interrupter.close();
            }
            !is_over
        });
        world::threads::sleep(LOOK_EVERY);
    }
}

/// Has the client sent so much behind its request that its end could not be noticed behind it?
fn sends_ahead(socket: &TcpStream) -> bool {
    rustix::io::ioctl_fionread(socket).is_ok_and(|unread| unread > AHEAD_BYTES_MAX)
}

/// Has the other end closed, whatever it sent before? Reads nothing.
fn is_gone(socket: &TcpStream) -> bool {
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut asked = [PollFd::new(socket, gone)];
    poll(&mut asked, Some(&rustix::event::Timespec::default())).is_ok() && asked[0].revents().intersects(gone)
}
