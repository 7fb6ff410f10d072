//! QueuedFrame frames: the queue of each peer, and the thread that connects to it and writes.

use super::shared::{HELLO_TIMEOUT, IDLE, MAGIC, NAME_LENGTH_BYTES, Shared, Wire, resolve};
use crate::net::frames::{PEER_FRAMES_MAX, QUEUED_BYTES_MAX};
use crate::threads;
use parking_lot::{Condvar, Mutex};
use rustix::net::{self, SendFlags};
use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A peer that does not answer for so long is not there.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// A peer that takes nothing for so long is not there.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause before a peer that was not there is tried again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of a direct write at most: a larger one costs a copy, and does not fit into the buffer of the socket.
const DIRECT_BYTES_MAX: usize = 64 << 10;

/// A frame on its way to an end of a peer.
pub(super) struct QueuedFrame {
    pub(super) name: Arc<str>,
    pub(super) bytes: Vec<u8>,
}

/// Frames that wait for one peer, up to a number and a size, and the connection to it.
#[derive(Default)]
pub(super) struct PeerQueue {
    state: Mutex<PeerState>,
    came: Condvar,
}

#[derive(Default)]
struct PeerState {
    frames: VecDeque<QueuedFrame>,
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
    fn begin_writing(&mut self) -> (Vec<u8>, VecDeque<QueuedFrame>) {
        (self.is_writing, self.bytes, self.is_quiet) = (true, 0, false);
        (std::mem::take(&mut self.rest), std::mem::take(&mut self.frames))
    }
}

impl PeerQueue {
    /// False where it is full. Its thread is woken, now or by [`PeerQueue::flush`].
    pub(super) fn push(&self, frame: QueuedFrame, tells: bool) -> bool {
        let mut state = self.state.lock();
        if state.frames.len() >= PEER_FRAMES_MAX || state.bytes >= QUEUED_BYTES_MAX {
            return false;
        }
        state.bytes += frame.bytes.len();
        state.frames.push_back(frame);
        state.is_quiet |= !tells;
        drop(state);
        if tells {
            self.came.notify_one();
        }
        true
    }
    /// Writes waiting frames, as far as the connection takes them without blocking; the rest is left to the thread.
    pub(super) fn flush(&self) {
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
    fn begin_writing(&self, longest: Duration) -> Option<(Vec<u8>, VecDeque<QueuedFrame>)> {
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
    pub(super) fn wake(&self) {
        self.state.lock().is_woken = true;
        self.came.notify_all();
    }
    fn clear(&self) -> u64 {
        let mut state = self.state.lock();
        state.bytes = 0;
        state.frames.drain(..).count() as u64
    }
}

/// Writes the frames of one peer, and connects anew, until the network is closed.
pub(super) fn write(address: &str, queue: &PeerQueue, shared: &Shared) {
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
    mut frames: VecDeque<QueuedFrame>,
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

fn write_all(to: &mut impl Write, rest: &[u8], frames: &VecDeque<QueuedFrame>) -> io::Result<()> {
    to.write_all(rest)?;
    for frame in frames {
        let QueuedFrame { name, bytes } = frame;
        let length = NAME_LENGTH_BYTES + name.len() + bytes.len();
        to.write_all(&(length as u32).to_le_bytes())?;
        to.write_all(&[name.len() as u8])?;
        to.write_all(name.as_bytes())?;
        to.write_all(bytes)?;
    }
    to.flush()
}

/// Nothing ever comes back on this connection but its end.
pub(in crate::net) fn has_ended(socket: &TcpStream) -> bool {
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
