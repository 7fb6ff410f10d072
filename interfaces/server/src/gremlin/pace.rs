//! A client's socket with time limits, and an account for unfinished messages.
//!
//! The time limits differ: a stranger must authenticate in time, a message that has begun must not stall, a client whose transaction holds others up
//! must not be silent; any other may. The reader sets the pace; the socket enforces it.

use crate::limits::Limits;
use crate::listener::crowd::Account;
use crate::listener::wire::patience_ns;
use parking_lot::Mutex;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use world::clock::monotonic_ns;

/// Bytes read at once; less than every connection may hold.
const READ_BYTES_MAX: usize = 16 << 10;
/// A buffer for a frame is made at its length, and the kernel may give its first byte this much memory.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// A message is held twice while it grows: as received frames, and joined.
const TIMES_HELD: usize = 2;

/// The time limits of a read.
pub struct Pace {
    state: Mutex<State>,
    message_timeout: Duration,
    bytes_per_second_min: usize,
}

struct State {
    /// Silence ends then; none where it need not.
    until_ns: Option<u64>,
    /// Bytes that came since the last whole message.
    amid_bytes: usize,
    /// When the first of them came.
    began_ns: u64,
    account: Account,
    /// Why no more is read.
    refused: Option<String>,
}

impl Pace {
    pub(crate) fn new(limits: &Limits, account: Account) -> Arc<Pace> {
        let state = State { until_ns: None, amid_bytes: 0, began_ns: 0, account, refused: None };
        Arc::new(Pace {
            state: Mutex::new(state),
            message_timeout: limits.message_timeout,
            bytes_per_second_min: limits.message_bytes_per_second_min,
        })
    }
    /// Why reading ended, where the server ended it.
    pub fn refused(&self) -> Option<String> {
        self.state.lock().refused.clone()
    }
    /// A message is whole; the next one may be waited for until then.
    pub fn next_until(&self, until_ns: Option<u64>) {
        let mut state = self.state.lock();
        // Giving back always succeeds.
        let _ = state.account.hold(0);
        (state.until_ns, state.amid_bytes) = (until_ns, 0);
    }
    fn wait(&self) -> Option<Duration> {
        let state = self.state.lock();
        // A timeout of zero would mean none.
        let left = |until_ns: u64| {
            Duration::from_nanos(until_ns.saturating_sub(monotonic_ns())).max(Duration::from_millis(1))
        };
        let patience = (state.amid_bytes > 0).then_some(self.message_timeout);
        [patience, self.until_ns(&state).map(left)].into_iter().flatten().min()
    }
    /// When the wait ends, whatever trickles in meanwhile.
    fn until_ns(&self, state: &State) -> Option<u64> {
        let whole_ns = (state.amid_bytes > 0).then(|| {
            state.began_ns + patience_ns(self.message_timeout, state.amid_bytes, self.bytes_per_second_min)
        });
        [whole_ns, state.until_ns].into_iter().flatten().min()
    }
    fn is_late(&self) -> bool {
        let state = self.state.lock();
        self.until_ns(&state).is_some_and(|until_ns| monotonic_ns() >= until_ns)
    }
    fn late(&self) -> io::Error {
        self.state.lock().refused = Some("nothing was heard for too long".into());
        ErrorKind::TimedOut.into()
    }
    /// Charges bytes that are about to be read.
    fn make_room(&self, count: usize) -> io::Result<()> {
        let mut state = self.state.lock();
        let amid = state.amid_bytes + count;
        let huge = if amid > READ_BYTES_MAX { HUGE_PAGE_BYTES } else { 0 };
        let wanted = TIMES_HELD * amid + huge;
        state.account.hold(wanted).map_err(|why| {
            state.refused = Some(why.clone());
            io::Error::other(why)
        })
    }
    fn took(&self, count: usize) {
        let mut state = self.state.lock();
        if state.amid_bytes == 0 {
            state.began_ns = monotonic_ns();
        }
        state.amid_bytes += count;
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
            return Err(self.pace.late());
        }
        if wait != self.timeout {
            self.socket.set_read_timeout(wait)?;
            self.timeout = wait;
        }
        let room = bytes.len().min(READ_BYTES_MAX);
        let bytes = &mut bytes[..room];
        self.pace.make_room(room)?;
        match (&*self.socket).read(bytes) {
            Ok(count) => {
                self.pace.took(count);
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(self.pace.late()),
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
