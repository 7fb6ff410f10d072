//! The client: calls that block, over one connection, as those of `tanglewood_kronos::blocking`.

use super::wire::locks_client::LocksClient;
use super::wire::{AcquireRequest, ReleaseRequest};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::{Builder, Runtime};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

/// A client of a [`super::LockService`]. Cheap to clone; clones share one connection.
#[derive(Clone)]
pub struct LockClient {
    client: LocksClient<Channel>,
    next: Arc<AtomicU64>,
    runtime: Arc<Runtime>,
}

/// Locks that are held until it is dropped.
pub(crate) struct Granted {
    client: LockClient,
    tickets: Vec<u64>,
}

impl LockClient {
    /// Connects. One client a service: it names the tickets.
    ///
    /// # Errors
    /// Nobody listens there, or no thread can be had.
    pub fn connect(address: SocketAddr) -> Result<LockClient, Box<dyn Error + Send + Sync>> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("locks-client").enable_all().build()?;
        let endpoint = Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true);
        let channel = runtime.block_on(endpoint.connect())?;
        let (client, next) = (LocksClient::new(channel), Arc::new(AtomicU64::new(1)));
        Ok(LockClient { client, next, runtime: Arc::new(runtime) })
    }

    /// Calls with an awaited answer: those for locks. Granted locks are released by one more, whose answer is not awaited.
    pub(crate) fn tickets(&self) -> u64 {
        self.next.load(Ordering::Relaxed) - 1
    }

    /// All locks, exclusively, as soon as they are free.
    pub(crate) fn wait_for(&self, names: Vec<u32>) -> Result<Granted, Status> {
        let granted = self.acquire(names, false, true)?;
        granted.ok_or_else(|| Status::internal("who waits is not refused"))
    }
    /// All locks, if they are free.
    pub(crate) fn acquire_free(&self, names: Vec<u32>, shared: bool) -> Result<Option<Granted>, Status> {
        self.acquire(names, shared, false)
    }

    fn acquire(&self, mut names: Vec<u32>, shared: bool, waits: bool) -> Result<Option<Granted>, Status> {
        names.sort_unstable();
        names.dedup();
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let mut client = self.client.clone();
        let call = client.acquire(AcquireRequest { ticket, names, shared, waits });
        let granted = self.runtime.block_on(call)?.into_inner().granted;
        Ok(granted.then(|| Granted { client: self.clone(), tickets: vec![ticket] }))
    }
}

impl Granted {
    /// Both are given back together.
    pub(crate) fn join(mut self, mut other: Granted) -> Granted {
        self.tickets.append(&mut other.tickets);
        self
    }
}

impl Drop for Granted {
    /// Nobody waits for the answer.
    fn drop(&mut self) {
        let tickets = std::mem::take(&mut self.tickets);
        if tickets.is_empty() {
            return;
        }
        let mut client = self.client.client.clone();
        self.client.runtime.spawn(async move { client.release(ReleaseRequest { tickets }).await });
    }
}
