//! The calls: checked, handed to the replica, answered.
//!
//! Invariant: "concurrent", and that an event is not there, are only said of a state that the leader has confirmed; an order is said at once.

use crate::guard::Rank;
use crate::machine::{Outcome, Shared};
use crate::node::Node;
use crate::options::{CALLS_MAX, is_address};
use crate::server_core::{Request, Undelivered};
use crate::wire::{self, v1};
use order::kronos::{
    Answer, BATCH_MAX, Command, EventOrder, Failure, KronosError, SHARED_SESSION, Search, SessionId,
};
use parking_lot::Mutex;
use replicate::{MemberChange, Undone};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Semaphore, oneshot};
use tonic::{Request as Call, Response, Status};
use v1::kronos_server::Kronos;

/// Names the leader in the metadata of an answer that only it could give.
pub(crate) const LEADER_KEY: &str = "kronos-leader";
/// Memories of searches that are kept for the next questions.
const SEARCHES_KEPT_MAX: usize = 64;

pub(crate) struct Service {
    node: Node,
    machine: Shared,
    calls: Arc<Semaphore>,
    searches: Mutex<Vec<Search>>,
    asked: PendingRequest,
}

/// A call to this process.
#[derive(Default)]
struct PendingRequest {
    /// Pairs.
    questions: AtomicU64,
    /// Calls that waited for the leader.
    confirmed: AtomicU64,
    searches: AtomicU64,
    visited: AtomicU64,
}

impl Service {
    pub(crate) fn new(node: Node, machine: Shared) -> Service {
        Service {
            node,
            machine,
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            searches: Mutex::new(Vec::new()),
            asked: PendingRequest::default(),
        }
    }

    /// The way to the replica.
    #[cfg(test)]
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, Undelivered>>) -> Request,
    ) -> Result<T, Status> {
        let busy = || Status::resource_exhausted(format!("{CALLS_MAX} calls are waiting; try again"));
        let _place = self.calls.try_acquire().map_err(|_| busy())?;
        let (reply, answer) = oneshot::channel();
        self.node.send(request(reply)).map_err(undelivered)?;
        answer.await.unwrap_or(Err(Undelivered::Stopping)).map_err(undelivered)
    }

    async fn propose(&self, caller: Option<v1::Caller>, command: Command) -> Result<Answer, Status> {
        let caller = caller.unwrap_or_default();
        let (session, request) = (SessionId(caller.session), caller.request);
        let outcome: Outcome =
            self.ask(|reply| Request::Propose { session, request, command, reply }).await?;
        outcome.map_err(|failure| wire::status(&failure))
    }

    async fn done(&self, caller: Option<v1::Caller>, command: Command) -> Result<(), Status> {
        self.propose(caller, command).await.map(drop)
    }

    fn query(
        &self,
        pairs: &[(order::kronos::EventId, order::kronos::EventId)],
    ) -> Result<Vec<EventOrder>, Failure> {
        let mut search = self.searches.lock().pop().unwrap_or_default();
        let before = (search.searches(), search.visited());
        let answer = self.machine.0.read().query_order(&mut search, pairs);
        self.asked.searches.fetch_add(search.searches() - before.0, Ordering::Relaxed);
        self.asked.visited.fetch_add(search.visited() - before.1, Ordering::Relaxed);
        let mut kept = self.searches.lock();
        if kept.len() < SEARCHES_KEPT_MAX {
            kept.push(search);
        }
        answer
    }
}

impl Service {
    /// The counters of this replica.
    pub(crate) async fn stats_now(&self) -> Result<v1::StatsResponse, Status> {
        let (reply, answer) = oneshot::channel();
        self.node.send(Request::Status { reply }).map_err(undelivered)?;
        let status = answer.await.map_err(|_| undelivered(Undelivered::Stopping))?;
        let machine = self.machine.0.read();
        let (graph, counts) = (machine.graph(), machine.graph().counts());
        Ok(v1::StatsResponse {
            events: counts.events,
            edges: counts.edges,
            references: counts.references,
            sessions: machine.sessions() as u64,
            created: counts.created,
            collected: counts.collected,
            searches: counts.searches + self.asked.searches.load(Ordering::Relaxed),
            visited: counts.visited + self.asked.visited.load(Ordering::Relaxed),
            bytes: graph.bytes() as u64,
            leads: status.role == replicate::Role::Leader,
            leader: status.leader.unwrap_or_default(),
            term: status.term,
            committed: status.committed,
            applied: status.applied,
            members: status.members.0.into_values().collect(),
            questions: self.asked.questions.load(Ordering::Relaxed),
            confirmed: self.asked.confirmed.load(Ordering::Relaxed),
            lag: status.committed.saturating_sub(status.applied),
            slowest_lag: status.slowest_lag,
            log_bytes: status.log_bytes,
        })
    }
}

/// Is the answer true whatever this replica has not heard yet?
fn is_final(answer: &Result<Vec<EventOrder>, Failure>) -> bool {
    match answer {
        Ok(orders) => !orders.contains(&EventOrder::Concurrent),
        Err(Failure::Events(KronosError::Unknown(_) | KronosError::Released(_))) => false,
        Err(_) => true,
    }
}

fn undelivered(why: Undelivered) -> Status {
    match why {
        Undelivered::Busy => Status::resource_exhausted("too much is waiting; try again"),
        Undelivered::Stopping => Status::unavailable("this replica is stopping; ask another"),
        Undelivered::Undone(Undone::Refused(what)) => Status::resource_exhausted(what),
        Undelivered::Undone(Undone::Unknown) => Status::unavailable(
            "it is not known whether this was carried out; ask again with the same request number",
        ),
        Undelivered::Undone(Undone::NotLeader { leader }) => {
            let said = leader.as_deref().unwrap_or("none is known");
            let mut status = Status::unavailable(format!("this replica does not lead; the leader: {said}"));
            if let Some(address) = leader.and_then(|address| address.parse().ok()) {
                status.metadata_mut().insert(LEADER_KEY, address);
            }
            status
        }
    }
}

fn sized(items: usize) -> Result<(), Status> {
    if items > BATCH_MAX { Err(wire::status(&Failure::BatchTooLarge(items))) } else { Ok(()) }
}

fn unexpected(answer: &Answer) -> Status {
    Status::internal(format!("an answer of another kind: {answer:?}"))
}

#[tonic::async_trait]
impl Kronos for Service {
    async fn create_events(
        &self,
        call: Call<v1::CreateEventsRequest>,
    ) -> Result<Response<v1::CreateEventsResponse>, Status> {
        let v1::CreateEventsRequest { count, caller } = call.into_inner();
        sized(count as usize)?;
        match self.propose(caller, Command::CreateEvents { count }).await? {
            Answer::Created(events) => {
                Ok(Response::new(v1::CreateEventsResponse { events: wire::names(&events) }))
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn acquire_refs(
        &self,
        call: Call<v1::AcquireRefsRequest>,
    ) -> Result<Response<v1::AcquireRefsResponse>, Status> {
        let v1::AcquireRefsRequest { events, caller } = call.into_inner();
        sized(events.len())?;
        self.done(caller, Command::AcquireRefs(wire::events(events))).await?;
        Ok(Response::new(v1::AcquireRefsResponse {}))
    }

    async fn release_refs(
        &self,
        call: Call<v1::ReleaseRefsRequest>,
    ) -> Result<Response<v1::ReleaseRefsResponse>, Status> {
        let v1::ReleaseRefsRequest { events, caller } = call.into_inner();
        sized(events.len())?;
        match self.propose(caller, Command::ReleaseRefs(wire::events(events))).await? {
            Answer::Collected(collected) => Ok(Response::new(v1::ReleaseRefsResponse { collected })),
            other => Err(unexpected(&other)),
        }
    }

    async fn query_order(
        &self,
        call: Call<v1::QueryOrderRequest>,
    ) -> Result<Response<v1::QueryOrderResponse>, Status> {
        let pairs = call.into_inner().pairs;
        sized(pairs.len())?;
        let named =
            |pair: &v1::Pair| (order::kronos::EventId(pair.first), order::kronos::EventId(pair.second));
        let pairs: Vec<_> = pairs.iter().map(named).collect();
        self.asked.questions.fetch_add(pairs.len() as u64, Ordering::Relaxed);
        let mut answer = self.query(&pairs);
        if !is_final(&answer) {
            self.asked.confirmed.fetch_add(1, Ordering::Relaxed);
            self.ask(|reply| Request::Read { reply }).await?;
            answer = self.query(&pairs);
        }
        let orders = answer.map_err(|failure| wire::status(&failure))?;
        let orders = orders.into_iter().map(|order| wire::order(order).into()).collect();
        Ok(Response::new(v1::QueryOrderResponse { orders }))
    }

    async fn assign_order(
        &self,
        call: Call<v1::AssignOrderRequest>,
    ) -> Result<Response<v1::AssignOrderResponse>, Status> {
        let v1::AssignOrderRequest { constraints, caller } = call.into_inner();
        sized(constraints.len())?;
        let batch = constraints.iter().enumerate().map(|(at, one)| wire::constraint(at, one));
        let batch = batch.collect::<Result<Vec<_>, _>>()?;
        match self.propose(caller, Command::AssignOrder(batch)).await? {
            Answer::Assigned(pairs) => {
                let assigned = pairs.into_iter().map(wire::assigned).collect();
                Ok(Response::new(v1::AssignOrderResponse { assigned }))
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn stats(&self, _: Call<v1::StatsRequest>) -> Result<Response<v1::StatsResponse>, Status> {
        Ok(Response::new(self.stats_now().await?))
    }

    async fn open_session(
        &self,
        call: Call<v1::OpenSessionRequest>,
    ) -> Result<Response<v1::OpenSessionResponse>, Status> {
        let command = Command::OpenSession { lease_ms: call.into_inner().lease_ms };
        match self.propose(None, command).await? {
            Answer::Opened(SessionId(session)) => Ok(Response::new(v1::OpenSessionResponse { session })),
            other => Err(unexpected(&other)),
        }
    }

    async fn keep_alive(
        &self,
        call: Call<v1::KeepAliveRequest>,
    ) -> Result<Response<v1::KeepAliveResponse>, Status> {
        let caller = v1::Caller { session: call.into_inner().session, request: 0 };
        self.done(Some(caller), Command::KeepAlive).await?;
        Ok(Response::new(v1::KeepAliveResponse {}))
    }

    async fn close_session(
        &self,
        call: Call<v1::CloseSessionRequest>,
    ) -> Result<Response<v1::CloseSessionResponse>, Status> {
        let session = call.into_inner().session;
        if SessionId(session) == SHARED_SESSION {
            return Err(wire::status(&Failure::Shared));
        }
        self.done(Some(v1::Caller { session, request: 0 }), Command::CloseSession).await?;
        Ok(Response::new(v1::CloseSessionResponse {}))
    }

    async fn change_members(
        &self,
        call: Call<v1::ChangeMembersRequest>,
    ) -> Result<Response<v1::ChangeMembersResponse>, Status> {
        if call.extensions().get() == Some(&Rank::Client) {
            return Err(Status::permission_denied(
                "the members are changed with a token of --peer-token-file",
            ));
        }
        let v1::ChangeMembersRequest { address, remove } = call.into_inner();
        if address.is_empty() {
            return Err(Status::invalid_argument("name the address of the replica"));
        }
        // One that is there, whatever it is called, can be removed.
        if !remove && !is_address(&address) {
            return Err(Status::invalid_argument(format!("`{address}` is no address; write host:port")));
        }
        let change = if remove { MemberChange::Remove { address } } else { MemberChange::Add { address } };
        self.ask(|reply| Request::Change { change, reply }).await?;
        Ok(Response::new(v1::ChangeMembersResponse {}))
    }
}
