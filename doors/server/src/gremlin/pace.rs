//! A client's socket that nobody waits at for ever, and whose unfinished messages are on an account.
//!
//! What is waited for differs: a stranger has so long to say who it is, a message that has begun may not rest, a client whose transaction
//! holds others up may not be silent; any other may. Whoever reads sets the pace; the socket keeps it.

use crate::limits::Limits;
use crate::listener::reading::Incoming;
use parking_lot::Mutex;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use world::clock::monotonic_ns;

/// What may be waited for, and how long.
pub struct Pace {
    state: Mutex<State>,
    message_timeout: Duration,
    incoming: Incoming,
}

#[derive(Default)]
struct State {
    /// Silence ends then; none where it need not.
    until_ns: Option<u64>,
    /// Bytes that came since the last whole message.
    amid_bytes: usize,
}

impl Pace {
    pub(crate) fn new(limits: &Limits, incoming: Incoming) -> Arc<Pace> {
        let (state, message_timeout) = (Mutex::default(), limits.message_timeout);
        Arc::new(Pace { state, message_timeout, incoming })
    }
    /// A message is whole; the next one may be waited for until then.
    pub fn next_until(&self, until_ns: Option<u64>) {
        let mut state = self.state.lock();
        self.incoming.change(state.amid_bytes, 0);
        *state = State { until_ns, amid_bytes: 0 };
    }
    fn wait(&self) -> Option<Duration> {
        let state = self.state.lock();
        // A timeout of zero would mean none.
        let left = |until_ns: u64| {
            Duration::from_nanos(until_ns.saturating_sub(monotonic_ns())).max(Duration::from_millis(1))
        };
        let patience = (state.amid_bytes > 0).then_some(self.message_timeout);
        [patience, state.until_ns.map(left)].into_iter().flatten().min()
    }
    fn is_late(&self) -> bool {
        self.state.lock().until_ns.is_some_and(|until_ns| monotonic_ns() >= until_ns)
    }
    fn took(&self, count: usize) -> io::Result<()> {
        let mut state = self.state.lock();
        let before = state.amid_bytes;
        state.amid_bytes += count;
        if self.incoming.change(before, state.amid_bytes) {
            return Ok(());
        }
        Err(io::Error::other("the server holds too many unfinished messages; try again later"))
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.incoming.change(self.state.get_mut().amid_bytes, 0);
    }
}

/// The socket.
pub struct Paced {
    socket: Arc<TcpStream>,
    pace: Arc<Pace>,
    timeout: Option<Duration>,
}

impl Paced {
    /// A write that makes no progress ends after the limit for it.
    pub fn new(socket: Arc<TcpStream>, pace: Arc<Pace>, limits: &Limits) -> io::Result<Paced> {
        socket.set_write_timeout(Some(limits.write_timeout))?;
        Ok(Paced { socket, pace, timeout: None })
    }
}

impl Read for Paced {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let wait = self.pace.wait();
        if self.pace.is_late() {
            return Err(ErrorKind::TimedOut.into());
        }
        if wait != self.timeout {
            self.socket.set_read_timeout(wait)?;
            self.timeout = wait;
        }
        match (&*self.socket).read(bytes) {
            Ok(count) => self.pace.took(count).map(|()| count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            Err(error) => Err(error),
        }
    }
}

impl Write for Paced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (&*self.socket).write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            outcome => outcome,
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
