//! One client's socket, plain or TLS: messages in, bytes out, all with time limits.
//!
//! One thread uses it (the lock is for the compiler and is never contended); another may only shut the socket. While that thread waits for a
//! query it looks here every few milliseconds ([`Wire::look`]) and so meets a RESET, or the end of the client. Reading and writing
//! wait in the kernel, one system call each.

use super::crowd::Account;
use super::reading::Assembly;
use super::tls::Tunnel;
use crate::Limits;
use crate::bolt::chunks::Message;
use crate::bolt::connection::Sink;
use parking_lot::Mutex;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use world::clock::{monotonic_ns, span_ns};

/// Bytes taken from a socket at once.
const READ_BYTES: usize = 16 << 10;
/// A write that waits looks this often whether the client said something meanwhile.
const WRITE_SLICE: Duration = Duration::from_millis(10);

/// The result of waiting for the client's next message.
#[derive(Debug)]
pub(super) enum Word {
    /// A message.
    Message(Message),
    /// None in time.
    Silence,
    /// The client is gone.
    Gone,
}

/// Notified of events on the socket while a request is running.
pub(super) trait Listener: Send + Sync {
    /// A RESET was read.
    fn reset(&self);
    /// The client is gone.
    fn gone(&self);
}

pub(super) struct Wire {
    state: Mutex<State>,
    keep_alive: Duration,
    message_timeout: Duration,
    bytes_per_second_min: usize,
}

struct State {
    socket: Arc<TcpStream>,
    tunnel: Option<Tunnel>,
    assembly: Assembly,
    buffer: Vec<u8>,
    /// Bytes of the tunnel that are still to be written.
    owed: Vec<u8>,
    read_timeout: Option<Duration>,
    write_timeout: Duration,
    said_ns: u64,
    gone: bool,
    listener: Option<Box<dyn Listener>>,
    /// When the message began that is being waited for, and how much of it came since.
    begun: Option<(u64, usize)>,
}

impl Wire {
    pub fn new(socket: Arc<TcpStream>, limits: &Limits, account: Account) -> io::Result<Wire> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITE_SLICE))?;
        let state = State {
            socket,
            tunnel: None,
            assembly: Assembly::new(account, limits.stranger_message_bytes_max),
            buffer: vec![0; READ_BYTES],
            owed: Vec::new(),
            read_timeout: None,
            write_timeout: limits.write_timeout,
            said_ns: monotonic_ns(),
            gone: false,
            listener: None,
            begun: None,
        };
        Ok(Wire {
            state: Mutex::new(state),
            keep_alive: limits.keep_alive,
            message_timeout: limits.message_timeout,
            bytes_per_second_min: limits.message_bytes_per_second_min,
        })
    }
    /// From now on bytes go through a tunnel.
    pub fn dig(&self, tunnel: Tunnel) {
        self.state.lock().tunnel = Some(tunnel);
    }
    /// From now on messages may be so long.
    pub fn trust(&self, message_bytes_max: usize) {
        self.state.lock().assembly.trust(message_bytes_max);
    }
    /// Discards all received bytes.
    pub fn forget(&self) {
        self.state.lock().assembly.forget();
    }
    pub fn listen(&self, listener: impl Listener + 'static) {
        self.state.lock().listener = Some(Box::new(listener));
    }

    /// Exactly this many bytes before messages begin: the handshake.
    pub fn exactly(&self, bytes: &mut [u8], until_ns: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        let mut at = 0;
        while at < bytes.len() {
            at += state.assembly.take_raw(&mut bytes[at..]);
            if at < bytes.len() {
                if state.gone || monotonic_ns() >= until_ns {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                state.read(Some(left_until(until_ns)))?;
            }
        }
        Ok(())
    }

    /// A message that has been received already.
    pub fn at_hand(&self) -> io::Result<Option<Message>> {
        self.state.lock().assembly.next()
    }

    /// Waits for a message, until then if there is an end to it.
    pub fn hear(&self, until_ns: Option<u64>) -> io::Result<Word> {
        let mut state = self.state.lock();
        state.begun = None;
        // Bytes of the message so far, and when the last of them came.
        let mut heard = (0, 0);
        loop {
            if let Some(message) = state.assembly.next()? {
                return Ok(Word::Message(message));
            }
            if state.gone {
                return Ok(Word::Gone);
            }
            if until_ns.is_some_and(|until_ns| monotonic_ns() >= until_ns) {
                return Ok(Word::Silence);
            }
            // Half a message is waited for only so long, whatever else may take its time, and no part of it longer than for nothing.
            let ends_ns = state.assembly.is_amid_message().then(|| {
                let now_ns = monotonic_ns();
                let (began_ns, came) = *state.begun.get_or_insert((now_ns, 0));
                if came != heard.0 {
                    heard = (came, now_ns);
                }
                let silent_ns = heard.1.max(began_ns).saturating_add(span_ns(self.message_timeout));
                let slow_ns = began_ns.saturating_add(patience_ns(
                    self.message_timeout,
                    came,
                    self.bytes_per_second_min,
                ));
                silent_ns.min(slow_ns)
            });
            if ends_ns.is_some_and(|ends_ns| monotonic_ns() >= ends_ns) {
                return Ok(Word::Silence);
            }
            state.read([until_ns, ends_ns].into_iter().flatten().min().map(left_until))?;
        }
    }

    /// Checks for messages while a request is running: a RESET, or a farewell. Sends a keep-alive after a long silence.
    pub fn look(&self) {
        let mut state = self.state.lock();
        if state.gone {
            return;
        }
        let outcome = state.read_now().and_then(|()| state.settle());
        state.gone |= outcome.is_err();
        let silent_ns = monotonic_ns() - state.said_ns;
        if !state.gone && silent_ns > span_ns(self.keep_alive) {
            state.gone = state.write_all(&[0, 0]).is_err();
        }
        state.tell();
    }

    /// Writes all of it; waits while the client does not read.
    pub fn say(&self, bytes: &[u8]) -> io::Result<()> {
        self.state.lock().write_all(bytes)
    }
}

/// Time limit of a message of which `came` bytes have come: a fixed part, and more for these.
pub(crate) fn patience_ns(patience: Duration, came: usize, bytes_per_second_min: usize) -> u64 {
    let more_ns = came as u128 * 1_000_000_000 / bytes_per_second_min.max(1) as u128;
    span_ns(patience).saturating_add(more_ns as u64)
}

fn left_until(until_ns: u64) -> Duration {
    // A timeout of zero would mean none.
    Duration::from_nanos(until_ns.saturating_sub(monotonic_ns())).max(Duration::from_millis(1))
}

impl State {
    /// Waits for bytes, for this long or half as long.
    fn read(&mut self, longest: Option<Duration>) -> io::Result<()> {
        // What is left of a long wait is another each time: the system is not told of each.
        let serves = match (self.read_timeout, longest) {
            (Some(set), Some(longest)) => set <= longest && set >= longest / 2,
            (set, longest) => set == longest,
        };
        if !serves {
            self.socket.set_read_timeout(longest)?;
            self.read_timeout = longest;
        }
        match (&*self.socket).read(&mut self.buffer) {
            Ok(count) => {
                let outcome = self.took(count);
                self.settle()?;
                outcome
            }
            Err(error) if is_wait(&error) || error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
    /// Reads available bytes without waiting, while there is room for them.
    fn read_now(&mut self) -> io::Result<()> {
        if !self.assembly.has_room() {
            return Ok(());
        }
        self.socket.set_nonblocking(true)?;
        let mut outcome = Ok(());
        while outcome.is_ok() && !self.gone && self.assembly.has_room() {
            match (&*self.socket).read(&mut self.buffer) {
                Ok(count) => outcome = self.took(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => outcome = Err(error),
            }
        }
        self.socket.set_nonblocking(false)?;
        outcome?;
        self.assembly.gather()
    }
    /// Notifies of RESETs found by reading ahead.
    fn tell(&mut self) {
        let resets = self.assembly.take_resets();
        if let Some(listener) = &self.listener {
            (0..resets).for_each(|_| listener.reset());
            if self.gone {
                listener.gone();
            }
        }
    }
    fn took(&mut self, count: usize) -> io::Result<()> {
        self.gone = count == 0;
        if let Some((_, came)) = &mut self.begun {
            *came += count;
        }
        let (bytes, assembly) = (&self.buffer[..count], &mut self.assembly);
        let Some(tunnel) = &mut self.tunnel else { return assembly.feed(bytes) };
        let outcome = tunnel.take_in(bytes, |plain| assembly.feed(plain));
        tunnel.put_out(&mut self.owed)?;
        self.gone |= outcome?;
        Ok(())
    }
    /// Writes the tunnel's own messages: its side of the handshake, new keys.
    fn settle(&mut self) -> io::Result<()> {
        if self.owed.is_empty() {
            return Ok(());
        }
        let owed = std::mem::take(&mut self.owed);
        self.push(&owed)
    }
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.said_ns = monotonic_ns();
        let Some(tunnel) = &mut self.tunnel else { return self.push(bytes) };
        let mut wrapped = std::mem::take(&mut self.owed);
        tunnel.wrap(bytes, &mut wrapped)?;
        self.push(&wrapped)?;
        self.settle()
    }
    /// Writes all of it, unless the client goes, or stalls for too long. Incoming bytes are read meanwhile.
    fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut moved_ns = monotonic_ns();
        while !bytes.is_empty() {
            match (&*self.socket).write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    moved_ns = monotonic_ns();
                }
                Err(error) if is_wait(&error) => {
                    if monotonic_ns() - moved_ns > span_ns(self.write_timeout) {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    self.read_now()?;
                    self.tell();
                    if self.gone {
                        return Err(ErrorKind::ConnectionAborted.into());
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Where a conversation's answers go.
pub(super) struct WireSink(pub Arc<Wire>);

impl Sink for WireSink {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.say(bytes)
    }
    fn look(&mut self) {
        self.0.look();
    }
}
