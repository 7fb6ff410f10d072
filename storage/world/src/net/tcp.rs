//! The real network: TCP, one connection for each direction of two processes, one thread for each end of one.
//!
//! ```text
//!   connection: magic "TWNET1" · length u16 · secret     then frames: length u32 · bytes
//! ```
//! The secret keeps strangers out; it is visible on the wire, unless connections have a [`Cover`], in which all of this goes.

use super::{
    CONNECTIONS_MAX, FRAME_BYTES_MAX, INBOX_FRAMES_MAX, Net, NetCounts, NetError, PEER_FRAMES_MAX, PEERS_MAX,
    QUEUED_BYTES_MAX,
};
use crate::clock;
use crate::threads::{self, Thread};
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const MAGIC: &[u8; 6] = b"TWNET1";
/// Bytes of a secret.
const SECRET_BYTES_MAX: usize = 1_024;
/// A peer that does not answer for so long is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// A peer that takes nothing for so long is not there.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// Who connects must say the secret within this time, or is let go when the next one comes.
const HELLO_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause before a peer that was not there is tried again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);
/// The thread of a peer looks so often whether the network is closed.
pub(super) const IDLE: Duration = Duration::from_millis(200);
/// Pause when the system gives no more sockets or threads.
const BREATH: Duration = Duration::from_millis(20);

/// Frames that wait, up to a number and a size.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    came: Condvar,
}

#[derive(Default)]
struct Waiting {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    woken: bool,
    /// Frames came for which its thread was not woken.
    is_quiet: bool,
}

impl Queue {
    /// False where it is full. The waiting thread is woken, now or by [`Queue::flush`].
    fn push(&self, frame: Vec<u8>, frames_max: usize, tells: bool) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.frames.len() >= frames_max || waiting.bytes >= QUEUED_BYTES_MAX {
            return false;
        }
        waiting.bytes += frame.len();
        waiting.frames.push_back(frame);
        waiting.is_quiet |= !tells;
        drop(waiting);
        if tells {
            self.came.notify_one();
        }
        true
    }
    fn flush(&self) {
        if std::mem::take(&mut self.waiting.lock().is_quiet) {
            self.came.notify_one();
        }
    }
    fn pop(&self, longest: Duration) -> Option<Vec<u8>> {
        let mut waiting = self.waiting.lock();
        if waiting.frames.is_empty() && !longest.is_zero() {
            let idle = |waiting: &mut Waiting| waiting.frames.is_empty() && !waiting.woken;
            self.came.wait_while_for(&mut waiting, idle, longest);
            waiting.woken = false;
        }
        let frame = waiting.frames.pop_front()?;
        waiting.bytes -= frame.len();
        Some(frame)
    }
    fn wake(&self) {
        self.waiting.lock().woken = true;
        self.came.notify_all();
    }
    fn clear(&self) -> u64 {
        let mut waiting = self.waiting.lock();
        waiting.bytes = 0;
        waiting.frames.drain(..).count() as u64
    }
}

/// Encrypts a connection, and authenticates both ends to each other: TLS, say.
pub trait Cover: Send + Sync {
    /// The connecting end, to `address`. Returns when the other end is authenticated.
    ///
    /// # Errors
    /// The other end is not authentic, or gone.
    fn connected<'s>(&self, wire: Wire<'s>, address: &str) -> io::Result<Box<dyn Write + 's>>;
    /// The accepting end; the other end is authenticated when something can be read.
    ///
    /// # Errors
    /// It cannot be made.
    fn accepted<'s>(&'s self, wire: Wire<'s>) -> io::Result<Box<dyn Read + 's>>;
}

/// The raw bytes of a connection.
#[derive(Clone, Copy)]
pub struct Wire<'s>(&'s TcpStream);

impl Wire<'_> {
    /// The address of the other end, while there is one.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.0.peer_addr().ok()
    }
}

impl Read for Wire<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[derive(Default)]
struct Shared {
    secret: Vec<u8>,
    cover: Option<Arc<dyn Cover>>,
    closed: AtomicBool,
    inbox: Queue,
    /// Connections that others made, to be shut when this is closed.
    taken: Mutex<BTreeMap<u64, TakenConnection>>,
    sent: AtomicU64,
    received: AtomicU64,
    dropped: AtomicU64,
    connects: AtomicU64,
}

/// A connection that another made.
struct TakenConnection {
    socket: Arc<TcpStream>,
    /// When it must have said the secret (of [`clock::monotonic_ns`]); none once it has.
    until_ns: Option<u64>,
}

impl Shared {
    /// Ends connections that have not said the secret in time, however slowly they say anything: each takes the place of another.
    fn shut_silent(&self) {
        let now_ns = clock::monotonic_ns();
        for taken in self.taken.lock().values() {
            if taken.until_ns.is_some_and(|until_ns| now_ns > until_ns) {
                let _ = taken.socket.shutdown(Shutdown::Both);
            }
        }
    }
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
    fn drop_frames(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }
}

struct Peer {
    queue: Arc<Queue>,
    _thread: Thread<()>,
}

/// A process that listens at an address. Dropping it closes every connection and waits for its threads.
pub struct TcpNet {
    address: String,
    shared: Arc<Shared>,
    listener: Arc<TcpListener>,
    accepting: Option<Thread<()>>,
    peers: Mutex<BTreeMap<String, Peer>>,
}

impl TcpNet {
    /// Listens; ready when this returns. Port 0 takes one that is free. Without a secret only addresses of this machine are taken.
    ///
    /// # Errors
    /// Where the address is taken, or needs a secret.
    pub fn open(address: &str, secret: &[u8]) -> Result<TcpNet, NetError> {
        TcpNet::covered(address, secret, None)
    }
    /// As [`TcpNet::open`], with a cover for each connection.
    ///
    /// # Errors
    /// As [`TcpNet::open`].
    pub fn covered(address: &str, secret: &[u8], cover: Option<Arc<dyn Cover>>) -> Result<TcpNet, NetError> {
        let failed = |error| NetError::Listen(address.to_string(), error);
        let resolved = resolve(address).map_err(failed)?;
        if secret.is_empty() && cover.is_none() && !resolved.ip().is_loopback() {
            return Err(NetError::NeedsSecret(address.to_string()));
        }
        if secret.len() > SECRET_BYTES_MAX {
            let why = format!("a secret has at most {SECRET_BYTES_MAX} bytes");
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, why)));
        }
        let listener = Arc::new(TcpListener::bind(resolved).map_err(failed)?);
        let address = listener.local_addr().map_err(failed)?.to_string();
        let shared = Arc::new(Shared { secret: secret.to_vec(), cover, ..Shared::default() });
        let (heard, inner) = (listener.clone(), shared.clone());
        let accepting = threads::try_spawn("net-accept", move || accept(&heard, &inner)).map_err(failed)?;
        Ok(TcpNet { address, shared, listener, accepting: Some(accepting), peers: Mutex::default() })
    }

    fn queue(&self, to: &str) -> Option<Arc<Queue>> {
        let mut peers = self.peers.lock();
        if let Some(peer) = peers.get(to) {
            return Some(peer.queue.clone());
        }
        if peers.len() >= PEERS_MAX {
            return None;
        }
        let queue = Arc::new(Queue::default());
        let (address, frames, shared) = (to.to_string(), queue.clone(), self.shared.clone());
        let thread = threads::try_spawn("net-peer", move || write(&address, &frames, &shared)).ok()?;
        peers.insert(to.to_string(), Peer { queue: queue.clone(), _thread: thread });
        Some(queue)
    }
}

impl TcpNet {
    fn enqueue(&self, to: &str, frame: Vec<u8>, tells: bool) {
        let fits = frame.len() <= FRAME_BYTES_MAX;
        let queue = if fits { self.queue(to) } else { None };
        match queue.is_some_and(|queue| queue.push(frame, PEER_FRAMES_MAX, tells)) {
            true => _ = self.shared.sent.fetch_add(1, Ordering::Relaxed),
            false => self.shared.drop_frames(1),
        }
    }
}

impl Net for TcpNet {
    fn address(&self) -> &str {
        &self.address
    }
    fn send(&self, to: &str, frame: Vec<u8>) {
        self.enqueue(to, frame, true);
    }
    fn post(&self, to: &str, frame: Vec<u8>) {
        self.enqueue(to, frame, false);
    }
    fn flush(&self) {
        self.peers.lock().values().for_each(|peer| peer.queue.flush());
    }
    fn receive(&self, longest: Duration) -> Option<Vec<u8>> {
        let frame = self.shared.inbox.pop(longest);
        self.shared.received.fetch_add(u64::from(frame.is_some()), Ordering::Relaxed);
        frame
    }
    fn wake(&self) {
        self.shared.inbox.wake();
    }
    fn counts(&self) -> NetCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        NetCounts {
            sent: count(&self.shared.sent),
            received: count(&self.shared.received),
            dropped: count(&self.shared.dropped),
            connects: count(&self.shared.connects),
        }
    }
}

impl Drop for TcpNet {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        // A listening socket that is shut lets its thread go; a connection to it does the same where that is not so.
        let _ = TcpStream::connect_timeout(
            &self.listener.local_addr().unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0))),
            CONNECT_TIMEOUT,
        );
        self.accepting.take();
        self.shared.taken.lock().values().for_each(|taken| drop(taken.socket.shutdown(Shutdown::Both)));
        // Their threads look every now and then whether it is closed, or when they are woken; they are waited for here.
        let mut peers = self.peers.lock();
        peers.values().for_each(|peer| peer.queue.wake());
        peers.clear();
    }
}

fn resolve(address: &str) -> io::Result<SocketAddr> {
    address.to_socket_addrs()?.next().ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
}

/// Takes connections until the network is closed.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut readers: Vec<Thread<()>> = Vec::new();
    let mut number = 0;
    while !shared.is_closed() {
        let Ok((socket, _)) = listener.accept() else {
            threads::sleep(BREATH);
            continue;
        };
        readers.retain(|reader| !reader.is_finished());
        shared.shut_silent();
        if shared.is_closed() || readers.len() >= CONNECTIONS_MAX {
            continue;
        }
        number += 1;
        let socket = Arc::new(socket);
        let until_ns = Some(clock::after_ns(HELLO_TIMEOUT));
        shared.taken.lock().insert(number, TakenConnection { socket: socket.clone(), until_ns });
        let inner = shared.clone();
        let reader = threads::try_spawn("net-read", move || {
            // Why a connection ended does not matter: its peer makes another one.
            let _ = read(number, &socket, &inner);
            let _ = socket.shutdown(Shutdown::Both);
            inner.taken.lock().remove(&number);
        });
        match reader {
            Ok(reader) => readers.push(reader),
            Err(_) => {
                shared.taken.lock().remove(&number);
                threads::sleep(BREATH);
            }
        }
    }
    shared.taken.lock().values().for_each(|taken| drop(taken.socket.shutdown(Shutdown::Both)));
}

/// Reads frames of one connection into the inbox until it ends.
fn read(number: u64, socket: &TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_read_timeout(Some(HELLO_TIMEOUT))?;
    socket.set_write_timeout(Some(HELLO_TIMEOUT))?;
    let covered = shared.cover.as_ref().map(|cover| cover.accepted(Wire(socket))).transpose()?;
    let mut from = BufReader::new(covered.unwrap_or_else(|| Box::new(socket)));
    let (mut magic, mut length) = ([0; MAGIC.len()], [0; 2]);
    from.read_exact(&mut magic)?;
    from.read_exact(&mut length)?;
    let length = usize::from(u16::from_le_bytes(length));
    if magic != *MAGIC || length > SECRET_BYTES_MAX {
        return Ok(());
    }
    let mut secret = vec![0; length];
    from.read_exact(&mut secret)?;
    if !is_same(&secret, &shared.secret) {
        return Ok(());
    }
    if let Some(taken) = shared.taken.lock().get_mut(&number) {
        taken.until_ns = None;
    }
    // A quiet peer is no lost one; one that is lost has a successor with a connection of its own.
    socket.set_read_timeout(None)?;
    let mut length = [0; 4];
    while !shared.is_closed() {
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > FRAME_BYTES_MAX {
            return Ok(());
        }
        // What has not come is not reserved.
        let mut frame = Vec::new();
        from.by_ref().take(length as u64).read_to_end(&mut frame)?;
        if frame.len() < length {
            return Ok(());
        }
        if !shared.inbox.push(frame, INBOX_FRAMES_MAX, true) {
            shared.drop_frames(1);
        }
    }
    Ok(())
}

/// Compares without telling by its time where two differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

/// Writes the frames of one peer, and connects anew, until the network is closed.
fn write(address: &str, queue: &Queue, shared: &Shared) {
    while !shared.is_closed() {
        let Some(frame) = queue.pop(IDLE) else { continue };
        match connect(address) {
            Err(_) => {
                // Frames for somebody who is not there are old when that one is.
                shared.drop_frames(1 + queue.clear());
                threads::sleep(RECONNECT_PAUSE);
            }
            Ok(socket) => {
                shared.connects.fetch_add(1, Ordering::Relaxed);
                let written = write_frames(&socket, address, frame, queue, shared);
                let _ = socket.shutdown(Shutdown::Both);
                if written.is_err() {
                    shared.drop_frames(1);
                    // Whoever refuses each connection is not asked without a pause.
                    threads::sleep(RECONNECT_PAUSE);
                }
            }
        }
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&resolve(address)?, CONNECT_TIMEOUT)?;
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
    Ok(socket)
}

/// All frames that wait go out together, behind the secret.
fn write_frames(
    socket: &TcpStream,
    address: &str,
    first: Vec<u8>,
    queue: &Queue,
    shared: &Shared,
) -> io::Result<()> {
    socket.set_read_timeout(Some(HELLO_TIMEOUT))?;
    let covered = shared.cover.as_ref().map(|cover| cover.connected(Wire(socket), address)).transpose()?;
    let mut to = BufWriter::new(covered.unwrap_or_else(|| Box::new(socket)));
    to.write_all(MAGIC)?;
    to.write_all(&(shared.secret.len() as u16).to_le_bytes())?;
    to.write_all(&shared.secret)?;
    let mut next = Some(first);
    while !shared.is_closed() {
        while let Some(frame) = next {
            to.write_all(&(frame.len() as u32).to_le_bytes())?;
            to.write_all(&frame)?;
            next = queue.pop(Duration::ZERO);
        }
        to.flush()?;
        next = queue.pop(IDLE);
        // A busy connection that has ended fails at its second write.
        if next.is_none() && has_ended(socket) {
            return Err(io::Error::from(io::ErrorKind::ConnectionReset));
        }
    }
    Ok(())
}

/// Nothing ever comes back on this connection but its end.
pub(super) fn has_ended(socket: &TcpStream) -> bool {
    let peek = || -> io::Result<bool> {
        socket.set_nonblocking(true)?;
        let ended = match socket.peek(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Ok(_) | Err(_) => true,
        };
        socket.set_nonblocking(false)?;
        Ok(ended)
    };
    peek().unwrap_or(true)
}
