//! Messages between replicas: one stream to each, opened on demand and again when it broke.
//!
//! Idea: the replicated log needs no reliable network, so a message that cannot be sent at once is dropped and the replica is informed. A snapshot
//! goes in a call of its own, which says whether it arrived. Invariant: at most [`QUEUE_MAX`] messages wait for a replica that is away.

use crate::group::Group;
use crate::guard::Pass;
use crate::node::Node;
use crate::server_core::Request;
use crate::wire::peers::peers_client::PeersClient;
use crate::wire::peers::peers_server::Peers;
use crate::wire::peers::{Delivered, Part};
use parking_lot::Mutex;
use replicate::{Input, ReplicaId};
use std::collections::HashMap;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request as Call, Response, Status, Streaming};

/// Messages that wait for one replica.
const QUEUE_MAX: usize = 1_024;
/// Bytes of one part of a message.
const PART_BYTES: usize = 1 << 20;
/// Bytes of a message put together from its parts: the largest snapshot that can be sent.
const MESSAGE_BYTES_MAX: usize = 16 << 30;
/// Between two tries to reach a replica.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How this replica comes to others: wrapped or not, with which token, of which group.
#[derive(Clone)]
pub(crate) struct Approach {
    pub(crate) tls: Option<ClientTlsConfig>,
    pub(crate) pass: Pass,
    pub(crate) group: Group,
}

/// The ways to the other replicas.
pub(crate) struct Outbox {
    runtime: Handle,
    approach: Approach,
    queues: Mutex<HashMap<ReplicaId, mpsc::Sender<Vec<u8>>>>,
}

impl Outbox {
    pub(crate) fn new(runtime: Handle, approach: Approach) -> Outbox {
        Outbox { runtime, approach, queues: Mutex::new(HashMap::new()) }
    }

    /// Sends, or tells the replica that it could not.
    pub(crate) fn send(
        &self,
        node: &Node,
        to: ReplicaId,
        address: Option<String>,
        bytes: Vec<u8>,
        snapshot: bool,
    ) {
        let Some(address) = address.or_else(|| self.approach.group.sender(to)) else { return };
        if snapshot {
            let (node, approach) = (node.clone(), self.approach.clone());
            self.runtime.spawn(async move {
                let arrived = approach.deliver_alone(&address, bytes).await.is_ok();
                // A full inbox: the library will ask again.
                drop(node.send(Request::Input(Input::SnapshotSent { to, arrived })));
            });
            return;
        }
        let mut queues = self.queues.lock();
        let queue = queues.entry(to).or_insert_with(|| {
            let (sender, receiver) = mpsc::channel(QUEUE_MAX);
            let approach = self.approach.clone();
            self.runtime.spawn(approach.keep_delivering(node.clone(), to, address, receiver));
            sender
        });
        if queue.try_send(bytes).is_err() {
            drop(node.send(Request::Input(Input::Unreachable(to))));
        }
    }
}

impl Approach {
    /// Sends messages, over one stream as long as it holds.
    async fn keep_delivering(
        self,
        node: Node,
        to: ReplicaId,
        address: String,
        mut queue: mpsc::Receiver<Vec<u8>>,
    ) {
        while let Some(first) = queue.recv().await {
            let (sender, receiver) = mpsc::channel::<Part>(16);
            let stream = self.group.show(ReceiverStream::new(receiver));
            let call = async {
                let mut client = self.connect(&address).await?;
                client.deliver(stream).await.map(drop)
            };
            let feed = async {
                let mut next = Some(first);
                while let Some(bytes) = next {
                    for part in parts(&bytes) {
                        if sender.send(part).await.is_err() {
                            return;
                        }
                    }
                    next = queue.recv().await;
                }
            };
            // The stream ends only by an error, or because nobody has anything to say any more.
            tokio::select! {
                ended = call => self.note(&address, ended),
                () = feed => {}
            }
            while queue.try_recv().is_ok() {}
            drop(node.send(Request::Input(Input::Unreachable(to))));
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn deliver_alone(&self, address: &str, bytes: Vec<u8>) -> Result<(), Status> {
        let (sender, receiver) = mpsc::channel::<Part>(4);
        let feed = async {
            for part in parts(&bytes) {
                if sender.send(part).await.is_err() {
                    return;
                }
            }
            drop(sender);
        };
        let mut client = self.connect(address).await?;
        let stream = self.group.show(ReceiverStream::new(receiver));
        let (answer, ()) = tokio::join!(client.deliver(stream), feed);
        answer.map(drop)
    }

    async fn connect(&self, address: &str) -> Result<PeersClient<InterceptedService<Channel, Pass>>, Status> {
        let away =
            |error: &dyn std::error::Error| Status::unavailable(format!("{address}: {}", whole(error)));
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut endpoint =
            Endpoint::from_shared(format!("{scheme}://{address}")).map_err(|error| away(&error))?;
        if let Some(tls) = &self.tls {
            endpoint = endpoint.tls_config(tls.clone()).map_err(|error| away(&error))?;
        }
        let channel = endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true).connect().await;
        let channel = channel.map_err(|error| away(&error))?;
        Ok(PeersClient::with_interceptor(channel, self.pass.clone()))
    }

    /// A replica that is away is no news; one that does not let this one in is.
    fn note(&self, address: &str, ended: Result<(), Status>) {
        let Err(status) = ended else { return };
        let is_news = matches!(status.code(), Code::Unauthenticated | Code::FailedPrecondition)
            || status.message().contains("certificate");
        if is_news {
            let what = format!("{address} takes no messages of this replica: {}", status.message());
            self.group.note("refused", what);
        }
    }
}

/// An error with its causes.
fn whole(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn parts(bytes: &[u8]) -> impl Iterator<Item = Part> + '_ {
    let count = bytes.len().div_ceil(PART_BYTES).max(1);
    (0..count).map(move |at| {
        let end = bytes.len().min((at + 1) * PART_BYTES);
        Part { bytes: bytes[at * PART_BYTES..end].to_vec(), last: at + 1 == count }
    })
}

/// The receiving side.
pub(crate) struct Inbox {
    pub(crate) node: Node,
    pub(crate) group: Group,
}

#[tonic::async_trait]
impl Peers for Inbox {
    async fn deliver(&self, call: Call<Streaming<Part>>) -> Result<Response<Delivered>, Status> {
        self.group.admit(&call)?;
        self.group.remember_sender(&call);
        let mut stream = call.into_inner();
        let mut message = Vec::new();
        while let Some(part) = stream.next().await {
            let part = part?;
            if part.bytes.len() > PART_BYTES || message.len() + part.bytes.len() > MESSAGE_BYTES_MAX {
                return Err(Status::resource_exhausted("the message is too large"));
            }
            match message.is_empty() {
                // Nearly every message is of one part.
                true => message = part.bytes,
                false => message.extend_from_slice(&part.bytes),
            }
            if part.last {
                let whole = std::mem::take(&mut message);
                // Where too much waits the message is dropped, as a network may.
                drop(self.node.send(Request::Input(Input::Message(whole))));
            }
        }
        Ok(Response::new(Delivered {}))
    }
}
