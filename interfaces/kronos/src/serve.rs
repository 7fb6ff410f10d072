//! Starts a server, and ends it.

use crate::group::Group;
use crate::guard::{Guard, Pass, Tls};
use crate::machine::Shared;
use crate::node::Node;
use crate::peers::{Approach, Inbox, Outbox};
use crate::service::Service;
use crate::wire::peers::peers_server::PeersServer;
use crate::wire::v1::kronos_server::KronosServer;
use crate::{KronosServerError, MESSAGE_BYTES_MAX, Options};
use crate::{admission, metrics};
use order::kronos::Machine;
use parking_lot::RwLock;
use replicate::{Members, Replica, ReplicaOptions, ReplicateError};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use world::chance::Chance;
use world::disk::{Disk, DiskLock, RealDisk};
use world::threads::Thread;

/// A server that runs. Dropping it stops it.
pub struct Running {
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    node: Node,
    group: Group,
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
    options.check()?;
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
    let (address, listener) = runtime.block_on(admission::listen(options.listen))?;
    let own = options.advertise.clone().unwrap_or_else(|| address.to_string());
    let members = match (options.join, options.peers.is_empty()) {
        (true, _) => Members::default(),
        (false, true) => Members::of([own.as_str()]),
        (false, false) => Members::of(options.peers.iter().map(String::as_str)),
    };
    let group = Group::open(disk.clone(), &options.data, &own, &members)?;
    let machine = Shared(Arc::new(RwLock::new(Machine::new(options.limits))));
    let replica = Replica::open(
        disk,
        &options.data.join("replica"),
        ReplicaOptions::new(&own, members),
        machine.clone(),
        Chance::from_system(),
    )?;
    let mut builder = Server::builder();
    if let Some(tls) = &options.tls {
        builder = builder.tls_config(tls.server()).map_err(wrong_certificate)?;
    }
    let approach = Approach {
        tls: options.tls.as_ref().map(Tls::client),
        pass: Pass::of(options.peer_tokens.as_ref()),
        group: group.clone(),
    };
    let outbox = Arc::new(Outbox::new(runtime.handle().clone(), approach));
    let (node, thread) = Node::start(replica, machine.clone(), outbox);
    let service = Arc::new(Service::new(node.clone(), machine));
    let metrics =
        options.metrics.map(|address| serve_metrics(&runtime, address, service.clone())).transpose()?;
    let calls = KronosServer::from_arc(service)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let peers = PeersServer::new(Inbox { node: node.clone(), group: group.clone() });
    let (tokens, peer_tokens) = (options.tokens.clone(), options.peer_tokens.clone());
    let calls = InterceptedService::new(calls, Guard::outer(tokens.clone(), peer_tokens.clone()));
    let peers = InterceptedService::new(peers, Guard::inner(tokens, peer_tokens));
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = builder
        .add_service(calls)
        .add_service(peers)
        .serve_with_incoming_shutdown(admission::served(listener), async { drop(stopped.await) });
    runtime.spawn(serving);
    Ok(Running {
        address,
        metrics,
        node,
        group,
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

fn wrong_certificate(error: tonic::transport::Error) -> KronosServerError {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    KronosServerError::Tls(format!("certificate and key do not serve{cause}"))
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
    /// Notes for the operator but for the first `read`.
    pub fn notes_from(&self, read: usize) -> Vec<String> {
        self.group.notes_from(read)
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
