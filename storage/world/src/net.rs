//! The network between processes of one cluster: frames to addresses, which may be lost, doubled or late, and never wait.
//!
//! ```text
//!   send(address, frame) ──> queue of that address ──> thread: connect, write, connect anew ──> TCP ──> thread: read ──> inbox ──> receive
//!   flush() ────────────────────────────────────────── writes itself, while the connection takes it ──> TCP                ──> on_arrival
//! ```
//!
//! Idea: callers send important messages again, so a frame that finds a queue full or a peer gone is dropped and counted. [`TcpNet`] is the real one,
//! [`SimNet`] one in memory, whose faults are drawn from a seed.
//! Invariant: neither `send` nor an incoming frame waits; all queues, frames, peers and waits have limits.

mod frames;
mod sim;
mod tcp;

use std::time::Duration;

pub use frames::{
    Arrived, CONNECTIONS_MAX, FRAME_BYTES_MAX, INBOX_FRAMES_MAX, PEER_FRAMES_MAX, PEERS_MAX, QUEUED_BYTES_MAX,
};
pub use sim::{NetFaults, SimNet};
pub use tcp::{Cover, TcpNet, Wire, announcing_since_ns, split_address};

/// Why there is no network.
#[derive(Debug)]
pub enum NetError {
    /// The address cannot be listened at.
    Listen(String, std::io::Error),
    /// Whoever reaches this address could take part: it needs a secret.
    NeedsSecret(String),
}

impl std::fmt::Display for NetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NetError::Listen(address, error) => write!(f, "cannot listen at {address}: {error}"),
            NetError::NeedsSecret(address) => {
                write!(f, "{address} can be reached from other machines, so it needs a secret")
            }
        }
    }
}

impl std::error::Error for NetError {}

/// Counters of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NetCounts {
    /// Given to the network.
    pub sent: u64,
    /// Handed out.
    pub received: u64,
    /// Dropped, because a queue was full or a peer was not there.
    pub dropped: u64,
    /// Connections made to peers.
    pub connects: u64,
}

/// One process' end of a network.
pub trait Net: Send + Sync {
    /// The address at which others reach this process.
    fn address(&self) -> &str;
    /// Sends a frame, or drops it. It never waits.
    fn send(&self, to: &str, frame: Vec<u8>);
    /// As [`Net::send`], but the frame may be buffered until [`Net::flush`]: several at once need one wake-up.
    fn post(&self, to: &str, frame: Vec<u8>) {
        self.send(to, frame);
    }
    /// Sends the buffered frames, except that those to other ends of this process wait for [`Net::announce`].
    fn flush(&self) {}
    /// Announces frames to other ends of this process, on this thread: it may do their work. The caller holds no lock.
    fn announce(&self) {}
    /// The next frame that came; waits for one, but no longer than this.
    fn receive(&self, longest: Duration) -> Option<Vec<u8>>;
    /// Makes the thread that waits in `receive`, or the next one that does, return at once.
    fn wake(&self);
    /// From now on this is called after frames came, by the thread that read them, or that announces those of another end of this process, instead of
    /// waking a thread in `receive`. False where the network does not
    /// support it, or it is set already.
    fn on_arrival(&self, _: Arrived) -> bool {
        false
    }
    /// Counters of frames.
    fn counts(&self) -> NetCounts;
}

#[cfg(test)]
mod tests;
