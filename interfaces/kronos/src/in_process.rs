//! One replica in this process, without sockets, threads and files: requests as bytes in, answers as bytes out.
//!
//! For tests: messages of a client or a peer are handled by the code that serves, one call at a time, on a disk in memory.

use crate::machine::Shared;
use crate::node::Node;
use crate::server_core::{Core, Request};
use crate::service::Service;
use crate::wire::v1::kronos_server::Kronos;
use crossbeam_channel::Receiver;
use order::kronos::{GraphLimits, Machine};
use parking_lot::RwLock;
use prost::Message;
use replicate::{Input, Members, Replica, ReplicaOptions, ReplicateError};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tonic::{Request as Call, Response, Status};
use world::chance::Chance;
use world::disk::Disk;

/// One replica.
pub struct InProcess {
    core: Core<Shared>,
    service: Service,
    inbox: Receiver<Request>,
    machine: Shared,
    now_ms: u64,
}

impl InProcess {
    /// Opens the first of `members` in the folder `/replica` of a disk.
    ///
    /// # Errors
    /// The files on the disk are of no replica of this group, or are damaged.
    pub fn open(
        disk: Arc<dyn Disk>,
        members: &[&str],
        limits: GraphLimits,
    ) -> Result<InProcess, ReplicateError> {
        let machine = Shared(Arc::new(RwLock::new(Machine::new(limits))));
        let own = members.first().copied().unwrap_or_default();
        let options = ReplicaOptions {
            snapshot_bytes: 2_000,
            ..ReplicaOptions::new(own, Members::of(members.iter().copied()))
        };
        let replica =
            Replica::open(disk, Path::new("/replica"), options, machine.clone(), Chance::seeded(1))?;
        let (node, inbox) = Node::channel();
        let core = Core::new(replica, machine.clone(), Chance::seeded(2));
        Ok(InProcess { core, service: Service::new(node, machine.clone()), inbox, machine, now_ms: 1_000 })
    }

    /// Handles one call: the name of the method in `kronos.v1.Kronos`, and its request.
    ///
    /// # Errors
    /// As the wire would say it; `CANCELLED` where no answer comes without the other replicas.
    pub fn call(&mut self, method: &str, request: &[u8]) -> Result<Vec<u8>, Status> {
        let InProcess { core, service, inbox, now_ms, .. } = self;
        let one: &Service = service;
        let mut future = pin!(async move {
            match method {
                "CreateEvents" => encoded(one.create_events(decoded(request)?).await),
                "AcquireRefs" => encoded(one.acquire_refs(decoded(request)?).await),
                "ReleaseRefs" => encoded(one.release_refs(decoded(request)?).await),
                "QueryOrder" => encoded(one.query_order(decoded(request)?).await),
                "AssignOrder" => encoded(one.assign_order(decoded(request)?).await),
                "Stats" => encoded(one.stats(decoded(request)?).await),
                "OpenSession" => encoded(one.open_session(decoded(request)?).await),
                "KeepAlive" => encoded(one.keep_alive(decoded(request)?).await),
                "CloseSession" => encoded(one.close_session(decoded(request)?).await),
                "ChangeMembers" => encoded(one.change_members(decoded(request)?).await),
                _ => Err(Status::unimplemented(method.to_string())),
            }
        });
        for _ in 0..STEPS_MAX {
            if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return answer;
            }
            *now_ms += 1;
            if let Err(error) = core.step(*now_ms, true, inbox.try_iter().collect::<Vec<_>>()) {
                return Err(Status::data_loss(error.to_string()));
            }
        }
        Err(Status::cancelled("the other replicas are not here"))
    }

    /// Hands over a message as another replica would send it, and lets a tick pass.
    ///
    /// # Errors
    /// The replica cannot go on.
    pub fn deliver(&mut self, message: &[u8]) -> Result<(), ReplicateError> {
        self.now_ms += 1;
        self.core.step(self.now_ms, true, [Request::Input(Input::Message(message.to_vec()))]).map(drop)
    }

    /// Asserts the invariants of the machine.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&self) {
        self.machine.0.read().check();
    }
}

/// Steps after which a call waits for something that does not come.
const STEPS_MAX: usize = 16;

fn decoded<T: Message + Default>(bytes: &[u8]) -> Result<Call<T>, Status> {
    T::decode(bytes).map(Call::new).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn encoded<T: Message>(answer: Result<Response<T>, Status>) -> Result<Vec<u8>, Status> {
    answer.map(|answer| answer.into_inner().encode_to_vec())
}
