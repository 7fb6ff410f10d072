//! The real network: TCP, one connection for each direction of two processes, one thread for each end of one.
//!
//! ```text
//!   connection: magic "TWNET1" · length u16 · secret     then frames: length u32 · bytes
//! ```
//! The secret keeps strangers out; it is visible on the wire, unless connections have a [`Cover`], in which all of this goes.

use super::{
    Arrived, CONNECTIONS_MAX, FRAME_BYTES_MAX, INBOX_FRAMES_MAX, Net, NetCounts, NetError, PEER_FRAMES_MAX,
    PEERS_MAX, QUEUED_BYTES_MAX,
};
use crate::clock;
use crate::threads::{self, Thread};
use parking_lot::{Condvar, Mutex};
use rustix::net::{self, SendFlags};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const MAGIC: &[u8; 6] = b"TWNET1";
/// Bytes of the length of a frame.
const LENGTH_BYTES: usize = size_of::<u32>();
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
/// Bytes of a direct write at most: a larger one costs a copy, and does not fit into the buffer of the socket.
const DIRECT_BYTES_MAX: usize = 64 << 10;

/// Frames that wait for one peer, up to a number and a size, and the connection to it.
#[derive(Default)]
struct PeerQueue {
    state: Mutex<PeerState>,
    came: Condvar,
}

#[derive(Default)]
struct PeerState {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    is_woken: bool,
    /// Frames came for which its thread was not woken.
    is_quiet: bool,
    /// A thread writes to the connection; no other may.
    is_writing: bool,
    /// The unwritten bytes of a partial write; they go first.
    rest: Vec<u8>,
    /// The connection, if it is open and frames are not encrypted.
    socket: Option<Arc<TcpStream>>,
}

impl PeerState {
    fn has_something(&self) -> bool {
        !(self.is_writing || self.frames.is_empty() && self.rest.is_empty())
    }
    /// All waiting bytes and frames. Only the caller may write, until [`PeerQueue::end_writing`].
    fn begin_writing(&mut self) -> (Vec<u8>, VecDeque<Vec<u8>>) {
        (self.is_writing, self.bytes, self.is_quiet) = (true, 0, false);
        (std::mem::take(&mut self.rest), std::mem::take(&mut self.frames))
    }
}

impl PeerQueue {
    /// False where it is full. Its thread is woken, now or by [`PeerQueue::flush`].
    fn push(&self, frame: Vec<u8>, tells: bool) -> bool {
        let mut state = self.state.lock();
        if state.frames.len() >= PEER_FRAMES_MAX || state.bytes >= QUEUED_BYTES_MAX {
            return false;
        }
        state.bytes += frame.len();
        state.frames.push_back(frame);
        state.is_quiet |= !tells;
        drop(state);
        if tells {
            self.came.notify_one();
        }
        true
    }
    /// Writes waiting frames, as far as the connection takes them without blocking; the rest is left to the thread.
    fn flush(&self) {
        let mut state = self.state.lock();
        if !std::mem::take(&mut state.is_quiet) {
            return;
        }
        let is_small = state.rest.is_empty() && state.bytes <= DIRECT_BYTES_MAX && !state.is_writing;
        let Some(socket) = state.socket.clone().filter(|_| is_small) else {
            drop(state);
            self.came.notify_one();
            return;
        };
        let (mut bytes, frames) = state.begin_writing();
        drop(state);
        // Memory takes all of it.
        let _ = write_all(&mut bytes, &[], &frames);
        // An error of the connection is left to the thread, which gets it at its next write.
        let written = net::send(&*socket, &bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).unwrap_or(0);
        bytes.drain(..written);
        let mut state = self.state.lock();
        if !state.socket.as_ref().is_some_and(|now| Arc::ptr_eq(now, &socket)) {
            // The thread has closed this connection meanwhile.
            return;
        }
        (state.is_writing, state.rest) = (false, bytes);
        if state.has_something() {
            drop(state);
            self.came.notify_one();
        }
    }
    /// The next bytes and frames; waits for them at most for `longest`. Only the caller may write, until [`PeerQueue::end_writing`].
    fn begin_writing(&self, longest: Duration) -> Option<(Vec<u8>, VecDeque<Vec<u8>>)> {
        let mut state = self.state.lock();
        let idle = |state: &mut PeerState| !state.has_something() && !state.is_woken;
        self.came.wait_while_for(&mut state, idle, longest);
        state.is_woken = false;
        state.has_something().then(|| state.begin_writing())
    }
    fn end_writing(&self) {
        self.state.lock().is_writing = false;
    }
    /// Sets the connection for direct writes, or none.
    fn connect(&self, socket: Option<Arc<TcpStream>>) {
        let mut state = self.state.lock();
        if socket.is_none() {
            // The rest of a partial write belongs to the closed connection.
            state.rest.clear();
        }
        state.socket = socket;
    }
    fn wake(&self) {
        self.state.lock().is_woken = true;
        self.came.notify_all();
    }
    fn clear(&self) -> u64 {
        let mut state = self.state.lock();
        state.bytes = 0;
        state.frames.drain(..).count() as u64
    }
}

/// Frames that came, up to a number and a size.
#[derive(Default)]
struct FrameInbox {
    state: Mutex<FrameInboxState>,
    came: Condvar,
    /// Called after frames came, instead of waking a waiting thread.
    arrived: OnceLock<Arrived>,
}

#[derive(Default)]
struct FrameInboxState {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    is_woken: bool,
}

impl FrameInbox {
    /// False where it is full.
    fn push(&self, frame: Vec<u8>) -> bool {
        let mut state = self.state.lock();
        if state.frames.len() >= INBOX_FRAMES_MAX || state.bytes >= QUEUED_BYTES_MAX {
            return false;
        }
        state.bytes += frame.len();
        state.frames.push_back(frame);
        true
    }
    /// Announces pushed frames.
    fn tell(&self) {
        match self.arrived.get() {
            Some(arrived) => arrived(),
            None => _ = self.came.notify_one(),
        }
    }
    fn pop(&self, longest: Duration) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        if state.frames.is_empty() && !longest.is_zero() {
            let idle = |state: &mut FrameInboxState| state.frames.is_empty() && !state.is_woken;
            self.came.wait_while_for(&mut state, idle, longest);
            state.is_woken = false;
        }
        let frame = state.frames.pop_front()?;
        state.bytes -= frame.len();
        Some(frame)
    }
    fn wake(&self) {
        self.state.lock().is_woken = true;
        self.came.notify_all();
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
    inbox: FrameInbox,
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
    queue: Arc<PeerQueue>,
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

    fn queue(&self, to: &str) -> Option<Arc<PeerQueue>> {
        let mut peers = self.peers.lock();
        if let Some(peer) = peers.get(to) {
            return Some(peer.queue.clone());
        }
        if peers.len() >= PEERS_MAX {
            return None;
        }
        let queue = Arc::new(PeerQueue::default());
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
        match queue.is_some_and(|queue| queue.push(frame, tells)) {
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
    fn on_arrival(&self, arrived: Arrived) -> bool {
        let is_set = self.shared.inbox.arrived.set(arrived).is_ok();
        // For frames that came before.
        if is_set && !self.shared.inbox.state.lock().frames.is_empty() {
            self.shared.inbox.tell();
        }
        is_set
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
            let _taken = EndTaken { number, socket: &socket, shared: &inner };
            // Why a connection ended does not matter: its peer makes another one.
            let _ = read(number, &socket, &inner);
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

/// Closes a connection that its thread leaves, by a panic too.
struct EndTaken<'c> {
    number: u64,
    socket: &'c TcpStream,
    shared: &'c Shared,
}

impl Drop for EndTaken<'_> {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Both);
        self.shared.taken.lock().remove(&self.number);
    }
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
    let mut length = [0; LENGTH_BYTES];
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
        if !shared.inbox.push(frame) {
            shared.drop_frames(1);
        }
        // One announcement for all frames of a read.
        if !has_frame(from.buffer()) {
            shared.inbox.tell();
        }
    }
    Ok(())
}

/// Do the bytes begin with a whole frame?
fn has_frame(bytes: &[u8]) -> bool {
    let Some((length, behind)) = bytes.split_first_chunk::<LENGTH_BYTES>() else { return false };
    behind.len() >= u32::from_le_bytes(*length) as usize
}

/// Compares without telling by its time where two differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

/// Writes the frames of one peer, and connects anew, until the network is closed.
fn write(address: &str, queue: &PeerQueue, shared: &Shared) {
    while !shared.is_closed() {
        let Some((_, frames)) = queue.begin_writing(IDLE) else { continue };
        let count = frames.len() as u64;
        match connect(address) {
            Err(_) => {
                // Frames for somebody who is not there are old when that one is.
                shared.drop_frames(count + queue.clear());
                queue.end_writing();
                threads::sleep(RECONNECT_PAUSE);
            }
            Ok(socket) => {
                shared.connects.fetch_add(1, Ordering::Relaxed);
                let socket = Arc::new(socket);
                let written = write_frames(&socket, address, frames, queue, shared);
                queue.connect(None);
                let _ = socket.shutdown(Shutdown::Both);
                queue.end_writing();
                if let Err((_, lost)) = written {
                    shared.drop_frames(lost);
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

/// All frames that wait go out together, behind the secret. A failure comes with the number of frames that were lost by it.
fn write_frames(
    socket: &Arc<TcpStream>,
    address: &str,
    mut frames: VecDeque<Vec<u8>>,
    queue: &PeerQueue,
    shared: &Shared,
) -> Result<(), (io::Error, u64)> {
    let count = frames.len() as u64;
    let lost = |count: u64| move |error: io::Error| (error, count);
    socket.set_read_timeout(Some(HELLO_TIMEOUT)).map_err(lost(count))?;
    let covered = shared.cover.as_ref().map(|cover| cover.connected(Wire(socket), address)).transpose();
    let covered = covered.map_err(lost(count))?;
    // For direct writes, from the first batch on.
    let mut direct = covered.is_none().then(|| socket.clone());
    let mut to = BufWriter::new(covered.unwrap_or_else(|| Box::new(&**socket)));
    greet(&mut to, &shared.secret).map_err(lost(count))?;
    let mut rest = Vec::new();
    loop {
        let count = frames.len() as u64;
        write_all(&mut to, &rest, &frames).map_err(lost(count))?;
        queue.end_writing();
        if direct.is_some() {
            queue.connect(direct.take());
        }
        (rest, frames) = loop {
            if shared.is_closed() {
                return Ok(());
            }
            if let Some(next) = queue.begin_writing(IDLE) {
                break next;
            }
            // A busy connection that has ended fails at its second write.
            if has_ended(socket) {
                return Err((io::Error::from(io::ErrorKind::ConnectionReset), 0));
            }
        };
    }
}

fn greet(to: &mut impl Write, secret: &[u8]) -> io::Result<()> {
    to.write_all(MAGIC)?;
    to.write_all(&(secret.len() as u16).to_le_bytes())?;
    to.write_all(secret)
}

fn write_all(to: &mut impl Write, rest: &[u8], frames: &VecDeque<Vec<u8>>) -> io::Result<()> {
    to.write_all(rest)?;
    for frame in frames {
        to.write_all(&(frame.len() as u32).to_le_bytes())?;
        to.write_all(frame)?;
    }
    to.flush()
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
