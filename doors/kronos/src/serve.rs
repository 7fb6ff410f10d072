//! Starts a server, and ends it.

use crate::machine::Shared;
use crate::metrics;
use crate::node::Node;
use crate::peers::{Inbox, Outbox};
use crate::service::Service;
use crate::wire::peers::peers_server::PeersServer;
use crate::wire::v1::kronos_server::KronosServer;
use crate::{KronosServerError, MESSAGE_BYTES_MAX, Options};
use order::kronos::Machine;
use parking_lot::RwLock;
use replicate::{Members, Replica, ReplicaOptions, ReplicateError};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use world::chance::Chance;
use world::disk::{Disk, DiskLock, RealDisk};
use world::threads::Thread;

/// A server that runs. Dropping it stops it.
pub struct Running {
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    node: Node,
    replica: Option<Thread<Result<(), ReplicateError>>>,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<Runtime>,
    _lock: Box<dyn DiskLock>,
}

/// Opens the data folder and listens. The port accepts when this returns.
///
/// # Errors
/// Where the folder is in use or damaged, or the address cannot be listened on.
pub fn serve(options: &Options) -> Result<Running, KronosServerError> {
    let folder = |error: world::disk::DiskError| KronosServerError::Folder(error.to_string());
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    disk.create_dir_all(&options.data).map_err(folder)?;
    let lock = disk.lock(&options.data.join("LOCK")).map_err(folder)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("kronos-wire")
        .enable_all()
        .build()
        .map_err(KronosServerError::Listen)?;
    let listener =
        runtime.block_on(tokio::net::TcpListener::bind(options.listen)).map_err(KronosServerError::Listen)?;
    let address = listener.local_addr().map_err(KronosServerError::Listen)?;
    let own = options.advertise.clone().unwrap_or_else(|| address.to_string());
    let members = match (options.join, options.peers.is_empty()) {
        (true, _) => Members::default(),
        (false, true) => Members::of([own.as_str()]),
        (false, false) => Members::of(options.peers.iter().map(String::as_str)),
    };
    let machine = Shared(Arc::new(RwLock::new(Machine::new(options.limits))));
    let replica = Replica::open(
        disk,
        &options.data.join("replica"),
        ReplicaOptions::new(&own, members),
        machine.clone(),
        Chance::from_system(),
    )?;
    let outbox = Arc::new(Outbox::new(runtime.handle().clone()));
    let (node, thread) = Node::start(replica, machine.clone(), outbox);
    let service = Arc::new(Service::new(node.clone(), machine));
    let metrics =
        options.metrics.map(|address| serve_metrics(&runtime, address, service.clone())).transpose()?;
    let calls = KronosServer::from_arc(service)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let peers = PeersServer::new(Inbox(node.clone()));
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tonic::transport::Server::builder()
        .tcp_nodelay(true)
        .add_service(calls)
        .add_service(peers)
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async { drop(stopped.await) });
    runtime.spawn(serving);
    Ok(Running {
        address,
        metrics,
        node,
        replica: Some(thread),
        stop: Some(stop),
        runtime: Some(runtime),
        _lock: lock,
    })
}

fn serve_metrics(
    runtime: &Runtime,
    address: SocketAddr,
    service: Arc<Service>,
) -> Result<SocketAddr, KronosServerError> {
    let listener =
        runtime.block_on(tokio::net::TcpListener::bind(address)).map_err(KronosServerError::Listen)?;
    let address = listener.local_addr().map_err(KronosServerError::Listen)?;
    runtime.spawn(metrics::serve(listener, service));
    Ok(address)
}

impl Running {
    /// Where it answers for Prometheus, if it does.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics
    }
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Did the replica end by itself? Then [`Running::stop`] says why.
    pub fn has_failed(&self) -> bool {
        self.replica.as_ref().is_some_and(Thread::is_finished)
    }
    /// Ends it: calls that wait are answered, the log is closed.
    ///
    /// # Errors
    /// Why the replica ended, if it did by itself.
    pub fn stop(mut self) -> Result<(), KronosServerError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), KronosServerError> {
        drop(self.stop.take());
        self.node.stop();
        let ended = self.replica.take().map_or(Ok(()), Thread::join);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(std::time::Duration::from_secs(1));
        }
        Ok(ended?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Who wants to know why it ended calls `stop`.
        let _ = self.end();
    }
}
