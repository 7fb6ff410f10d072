//! The real network: TCP, one connection for each direction of two processes, one thread for each end of one.
//!
//! ```text
//!   connection: magic "TWNET2" · length u16 · secret     then frames: length u32 · length of the name u8 · name · bytes
//! ```
//! A process may have several ends behind one address: `host:port/name` is the end of that name. A frame to an end of the same process goes into its
//! inbox at once.
//! The secret keeps strangers out; it is visible on the wire, unless connections have a [`Cover`], in which all of this goes.

mod inbox;
mod incoming;
mod outgoing;
mod shared;

use super::frames::{Arrived, FRAME_BYTES_MAX, PEERS_MAX};
use super::{Net, NetCounts, NetError};
use crate::threads::{self, Thread};
use inbox::{FrameInbox, announce};
use outgoing::{CONNECT_TIMEOUT, PeerQueue, QueuedFrame};
use parking_lot::Mutex;
use shared::{NAME_BYTES_MAX, SECRET_BYTES_MAX, Shared, resolve};
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use inbox::announcing_since_ns;
pub use shared::{Cover, Wire};
#[cfg(test)]
pub(super) use {outgoing::has_ended, shared::IDLE};

struct Peer {
    queue: Arc<PeerQueue>,
    _thread: Thread<()>,
}

/// Where frames to an address go.
#[derive(Clone)]
enum Destination {
    /// To an end of this process, by its name.
    Here(Arc<str>),
    /// To an end of another, by its name.
    There(Arc<PeerQueue>, Arc<str>),
}

/// What all ends of a process share. Dropping it closes every connection and waits for its threads.
struct Station {
    /// Where others reach this process.
    address: String,
    shared: Arc<Shared>,
    listener: Arc<TcpListener>,
    accepting: Option<Thread<()>>,
    /// By address without a name.
    peers: Mutex<BTreeMap<String, Peer>>,
}

/// A process that listens at an address, or a further end of it ([`TcpNet::beside`]). Dropping the last end closes every connection and waits for its
/// threads.
pub struct TcpNet {
    address: String,
    name: String,
    inbox: Arc<FrameInbox>,
    received: AtomicU64,
    /// By address with its name.
    destinations: Mutex<BTreeMap<String, Destination>>,
    /// Ends of this process with new frames that are not announced.
    unannounced: Mutex<Vec<Arc<FrameInbox>>>,
    /// Peers with posted frames that are not flushed.
    unflushed: Mutex<Vec<Arc<PeerQueue>>>,
    station: Arc<Station>,
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
        TcpNet::published(address, None, secret, cover)
    }
    /// As [`TcpNet::covered`], with the address at which others reach it, where that is another; either may have a name.
    ///
    /// # Errors
    /// As [`TcpNet::open`].
    pub fn published(
        address: &str,
        published: Option<&str>,
        secret: &[u8],
        cover: Option<Arc<dyn Cover>>,
    ) -> Result<TcpNet, NetError> {
        let failed = |error| NetError::Listen(address.to_string(), error);
        let name = split_address(published.unwrap_or(address)).1;
        let resolved = resolve(split_address(address).0).map_err(failed)?;
        if secret.is_empty() && cover.is_none() && !resolved.ip().is_loopback() {
            return Err(NetError::NeedsSecret(address.to_string()));
        }
        if secret.len() > SECRET_BYTES_MAX {
            let why = format!("a secret has at most {SECRET_BYTES_MAX} bytes");
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, why)));
        }
        let listener = Arc::new(TcpListener::bind(resolved).map_err(failed)?);
        let local = listener.local_addr().map_err(failed)?.to_string();
        let address = published.map_or(local, |published| split_address(published).0.to_string());
        let shared = Arc::new(Shared { secret: secret.to_vec(), cover, ..Shared::default() });
        let (heard, inner) = (listener.clone(), shared.clone());
        let accepting =
            threads::try_spawn("net-accept", move || incoming::accept(&heard, &inner)).map_err(failed)?;
        let accepting = Some(accepting);
        let station = Arc::new(Station { address, shared, listener, accepting, peers: Mutex::default() });
        TcpNet::end(&station, name)
    }
    /// A further end of this process, which others reach at the same address with this name.
    ///
    /// # Errors
    /// It has an end of this name, or the name is too long.
    pub fn beside(&self, name: &str) -> Result<TcpNet, NetError> {
        TcpNet::end(&self.station, name)
    }
    fn end(station: &Arc<Station>, name: &str) -> Result<TcpNet, NetError> {
        let address =
            if name.is_empty() { station.address.clone() } else { format!("{}/{name}", station.address) };
        let refused = |kind| NetError::Listen(address.clone(), io::Error::from(kind));
        if name.len() > NAME_BYTES_MAX {
            return Err(refused(io::ErrorKind::InvalidInput));
        }
        let inbox = station.shared.ends.open(name).ok_or_else(|| refused(io::ErrorKind::AddrInUse))?;
        Ok(TcpNet {
            address,
            name: name.to_string(),
            inbox,
            received: AtomicU64::new(0),
            destinations: Mutex::default(),
            unannounced: Mutex::default(),
            unflushed: Mutex::default(),
            station: station.clone(),
        })
    }

    fn destination(&self, to: &str) -> Option<Destination> {
        let mut destinations = self.destinations.lock();
        if let Some(destination) = destinations.get(to) {
            return Some(destination.clone());
        }
        let (host, name) = split_address(to);
        if destinations.len() >= PEERS_MAX || name.len() > NAME_BYTES_MAX {
            return None;
        }
        let destination = match host == self.station.address {
            true => Destination::Here(name.into()),
            false => Destination::There(self.station.queue(host)?, name.into()),
        };
        destinations.insert(to.to_string(), destination.clone());
        Some(destination)
    }
    fn enqueue(&self, to: &str, bytes: Vec<u8>, tells: bool) {
        let fits = bytes.len() <= FRAME_BYTES_MAX;
        let is_taken = match if fits { self.destination(to) } else { None } {
            Some(Destination::There(queue, name)) => {
                let is_taken = queue.push(QueuedFrame { name, bytes }, tells);
                if is_taken && !tells {
                    note(&self.unflushed, queue);
                }
                is_taken
            }
            Some(Destination::Here(name)) => {
                let inbox = self.station.shared.ends.of(&name).filter(|inbox| inbox.push(bytes));
                inbox.map(|inbox| note(&self.unannounced, inbox)).is_some()
            }
            None => false,
        };
        match is_taken {
            true => _ = self.station.shared.sent.fetch_add(1, Ordering::Relaxed),
            false => self.station.shared.drop_frames(1),
        }
    }
}

impl Station {
    fn queue(&self, host: &str) -> Option<Arc<PeerQueue>> {
        let mut peers = self.peers.lock();
        if let Some(peer) = peers.get(host) {
            return Some(peer.queue.clone());
        }
        if peers.len() >= PEERS_MAX {
            return None;
        }
        let queue = Arc::new(PeerQueue::default());
        let (address, frames, shared) = (host.to_string(), queue.clone(), self.shared.clone());
        let thread =
            threads::try_spawn("net-peer", move || outgoing::write(&address, &frames, &shared)).ok()?;
        peers.insert(host.to_string(), Peer { queue: queue.clone(), _thread: thread });
        Some(queue)
    }
}

impl Net for TcpNet {
    fn address(&self) -> &str {
        &self.address
    }
    fn send(&self, to: &str, frame: Vec<u8>) {
        self.enqueue(to, frame, true);
        self.announce();
    }
    fn post(&self, to: &str, frame: Vec<u8>) {
        self.enqueue(to, frame, false);
    }
    fn flush(&self) {
        let queues = std::mem::take(&mut *self.unflushed.lock());
        queues.iter().for_each(|queue| queue.flush());
    }
    fn announce(&self) {
        let inboxes = std::mem::take(&mut *self.unannounced.lock());
        if !inboxes.is_empty() {
            announce(inboxes);
        }
    }
    fn receive(&self, longest: Duration) -> Option<Vec<u8>> {
        let frame = self.inbox.pop(longest);
        self.received.fetch_add(u64::from(frame.is_some()), Ordering::Relaxed);
        frame
    }
    fn wake(&self) {
        self.inbox.wake();
    }
    fn on_arrival(&self, arrived: Arrived) -> bool {
        let is_set = self.inbox.arrived.set(arrived).is_ok();
        // For frames that came before.
        if is_set && !self.inbox.is_empty() {
            self.inbox.tell();
        }
        is_set
    }
    fn counts(&self) -> NetCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let shared = &self.station.shared;
        NetCounts {
            sent: count(&shared.sent),
            received: count(&self.received),
            dropped: count(&shared.dropped),
            connects: count(&shared.connects),
        }
    }
}

impl Drop for TcpNet {
    fn drop(&mut self) {
        self.station.shared.ends.close(&self.name);
    }
}

impl Drop for Station {
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

/// Adds to a list what is not there yet.
fn note<T>(list: &Mutex<Vec<Arc<T>>>, one: Arc<T>) {
    let mut list = list.lock();
    if !list.iter().any(|other| Arc::ptr_eq(other, &one)) {
        list.push(one);
    }
}

/// An address without its name, and the name; empty where it has none.
pub fn split_address(address: &str) -> (&str, &str) {
    address.split_once('/').unwrap_or((address, ""))
}
