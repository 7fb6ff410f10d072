//! The state that all threads of a process' network share, and the bytes of a connection.

use super::inbox::NetEnds;
use crate::clock;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub(super) const MAGIC: &[u8; 6] = b"TWNET2";
/// Bytes of the length of a frame.
pub(super) const LENGTH_BYTES: usize = size_of::<u32>();
/// Bytes of the length of a name.
pub(super) const NAME_LENGTH_BYTES: usize = size_of::<u8>();
/// Bytes of the name of an end.
pub(super) const NAME_BYTES_MAX: usize = u8::MAX as usize;
/// Bytes of a secret.
pub(super) const SECRET_BYTES_MAX: usize = 1_024;
/// Who connects must say the secret within this time, or is let go when the next one comes.
pub(super) const HELLO_TIMEOUT: Duration = Duration::from_secs(2);
/// The thread of a peer looks so often whether the network is closed.
pub(in crate::net) const IDLE: Duration = Duration::from_millis(200);

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
pub struct Wire<'s>(pub(super) &'s TcpStream);

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
pub(super) struct Shared {
    pub(super) secret: Vec<u8>,
    pub(super) cover: Option<Arc<dyn Cover>>,
    pub(super) closed: AtomicBool,
    pub(super) ends: NetEnds,
    /// Connections that others made, to be shut when this is closed.
    pub(super) taken: Mutex<BTreeMap<u64, TakenConnection>>,
    pub(super) sent: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) connects: AtomicU64,
}

/// A connection that another made.
pub(super) struct TakenConnection {
    pub(super) socket: Arc<TcpStream>,
    /// When it must have said the secret (of [`clock::monotonic_ns`]); none once it has.
    pub(super) until_ns: Option<u64>,
}

impl Shared {
    /// NetEnds connections that have not said the secret in time, however slowly they say anything: each takes the place of another.
    pub(super) fn shut_silent(&self) {
        let now_ns = clock::monotonic_ns();
        for taken in self.taken.lock().values() {
            if taken.until_ns.is_some_and(|until_ns| now_ns > until_ns) {
                let _ = taken.socket.shutdown(Shutdown::Both);
            }
        }
    }
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
    pub(super) fn drop_frames(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }
}

pub(super) fn resolve(address: &str) -> io::Result<SocketAddr> {
    address.to_socket_addrs()?.next().ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
}
