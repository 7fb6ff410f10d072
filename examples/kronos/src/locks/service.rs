//! The server: handlers hand calls to one thread, which changes the table, writes the log and answers.

use super::table::{Acquired, Table, Ticket};
use super::wire::locks_server::{Locks, LocksServer};
use super::wire::{AcquireRequest, AcquireResponse, ReleaseRequest, ReleaseResponse};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::HashMap;
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use world::disk::{Disk, DiskFile, DiskResult, OpenHow, RealDisk};
use world::threads::{self, Thread};

/// Calls that wait for the thread.
const CALLS_MAX: usize = 65_536;
/// Calls that one sync of the log serves at the most.
const STEP_CALLS_MAX: usize = 4_096;

/// A lock service that runs. Dropping it stops it.
pub struct LockService {
    address: SocketAddr,
    calls: Option<Sender<Call>>,
    thread: Option<Thread<DiskResult<()>>>,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<Runtime>,
}

enum Call {
    Acquire(AcquireRequest, oneshot::Sender<bool>),
    Release(Vec<Ticket>, oneshot::Sender<()>),
    Stop,
}

impl LockService {
    /// Listens on a port of its own on this machine, with its log in a new file of the folder.
    ///
    /// # Errors
    /// The file is there already, or the port cannot be had.
    pub fn start(folder: &Path) -> Result<LockService, Box<dyn Error + Send + Sync>> {
        let log = RealDisk.open(&folder.join("locks.log"), OpenHow::CreateNew)?;
        let (calls, inbox) = bounded(CALLS_MAX);
        let thread = threads::spawn("locks-table", move || serve(&*log, &inbox));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("locks-wire")
            .enable_all()
            .build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let incoming = TcpListenerStream::new(listener).map(|stream| {
            let stream = stream?;
            stream.set_nodelay(true)?;
            Ok::<_, std::io::Error>(stream)
        });
        let serving = Server::builder()
            .add_service(LocksServer::new(Handlers(calls.clone())))
            .serve_with_incoming_shutdown(incoming, async { drop(stopped.await) });
        runtime.spawn(serving);
        let (calls, thread, stop) = (Some(calls), Some(thread), Some(stop));
        Ok(LockService { address, calls, thread, stop, runtime: Some(runtime) })
    }
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for LockService {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A thread that ended before, for want of a disk, needs no word.
        let _ = self.calls.take().map(|calls| calls.send(Call::Stop));
        let _ = self.thread.take().map(Thread::join);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
    }
}

struct Handlers(Sender<Call>);

#[tonic::async_trait]
impl Locks for Handlers {
    async fn acquire(&self, call: Request<AcquireRequest>) -> Result<Response<AcquireResponse>, Status> {
        let (reply, answer) = oneshot::channel();
        let call = Call::Acquire(call.into_inner(), reply);
        self.0.try_send(call).map_err(|_| Status::resource_exhausted("too many calls wait"))?;
        let granted = answer.await.map_err(|_| Status::unavailable("the service ends"))?;
        Ok(Response::new(AcquireResponse { granted }))
    }
    async fn release(&self, call: Request<ReleaseRequest>) -> Result<Response<ReleaseResponse>, Status> {
        let (reply, answer) = oneshot::channel();
        let call = Call::Release(call.into_inner().tickets, reply);
        self.0.try_send(call).map_err(|_| Status::resource_exhausted("too many calls wait"))?;
        answer.await.map_err(|_| Status::unavailable("the service ends"))?;
        Ok(Response::new(ReleaseResponse {}))
    }
}

/// One sync for all calls that came while the last one ran.
fn serve(log: &dyn DiskFile, inbox: &Receiver<Call>) -> DiskResult<()> {
    let (mut table, mut waiting) = (Table::default(), HashMap::new());
    while let Ok(first) = inbox.recv() {
        let (mut record, mut granted, mut refused, mut released) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for call in std::iter::once(first).chain(inbox.try_iter().take(STEP_CALLS_MAX - 1)) {
            match call {
                Call::Acquire(request, reply) => {
                    let AcquireRequest { ticket, names, shared, waits } = request;
                    record.extend(ticket.to_le_bytes());
                    record.extend(names.iter().flat_map(|name| name.to_le_bytes()));
                    match table.acquire(ticket, names, shared, waits) {
                        Acquired::Granted => granted.push(reply),
                        Acquired::Refused => refused.push(reply),
                        Acquired::Waits => drop(waiting.insert(ticket, reply)),
                    }
                }
                Call::Release(tickets, reply) => {
                    for ticket in tickets {
                        record.extend(ticket.to_le_bytes());
                        granted.extend(table.release(ticket).iter().filter_map(|next| waiting.remove(next)));
                    }
                    released.push(reply);
                }
                Call::Stop => return Ok(()),
            }
        }
        log.append(&record)?;
        if !granted.is_empty() {
            log.sync()?;
        }
        // A caller that is gone needs no answer.
        granted.into_iter().for_each(|reply| _ = reply.send(true));
        refused.into_iter().for_each(|reply| _ = reply.send(false));
        released.into_iter().for_each(|reply| _ = reply.send(()));
    }
    Ok(())
}
