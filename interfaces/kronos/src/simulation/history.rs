//! Calls of clients and their answers.

use crate::service::Service;
use crate::wire::v1::{self, kronos_server::Kronos};
use std::sync::Arc;
use tonic::{Code, Request, Status};

/// A call of a client.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Operation {
    Open { lease_ms: u32 },
    KeepAlive,
    Close,
    Create(u32),
    Acquire(Vec<u64>),
    Release(Vec<u64>),
    Assign(Vec<v1::Constraint>),
    Query(Vec<(u64, u64)>),
}

/// An answer.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Observation {
    Opened(u64),
    Done,
    Created(Vec<u64>),
    Collected(u64),
    Assigned(Vec<(v1::Order, bool)>),
    Orders(Vec<v1::Order>),
    Refused(Code),
}

/// One call, over all its retries.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) operation: Operation,
    pub(super) session: u64,
    pub(super) request: u64,
    /// Moments of the first attempt and of the answer; moments are numbers that only rise.
    pub(super) called: u64,
    pub(super) returned: Option<Returned>,
    pub(super) attempts: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Returned {
    pub(super) at: u64,
    /// Entries that any replica had applied by then.
    pub(super) applied: usize,
    pub(super) seen: Observation,
}

/// Runs one attempt through the calls of the service.
pub(super) async fn carry_out(
    service: Arc<Service>,
    operation: Operation,
    session: u64,
    request: u64,
) -> Result<Observation, Status> {
    let caller = Some(v1::Caller { session, request });
    Ok(match operation {
        Operation::Open { lease_ms } => {
            let opened = service.open_session(Request::new(v1::OpenSessionRequest { lease_ms })).await?;
            Observation::Opened(opened.into_inner().session)
        }
        Operation::KeepAlive => {
            service.keep_alive(Request::new(v1::KeepAliveRequest { session })).await?;
            Observation::Done
        }
        Operation::Close => {
            service.close_session(Request::new(v1::CloseSessionRequest { session })).await?;
            Observation::Done
        }
        Operation::Create(count) => {
            let created = service.create_events(Request::new(v1::CreateEventsRequest { count, caller }));
            Observation::Created(created.await?.into_inner().events)
        }
        Operation::Acquire(events) => {
            service.acquire_refs(Request::new(v1::AcquireRefsRequest { events, caller })).await?;
            Observation::Done
        }
        Operation::Release(events) => {
            let released = service.release_refs(Request::new(v1::ReleaseRefsRequest { events, caller }));
            Observation::Collected(released.await?.into_inner().collected)
        }
        Operation::Assign(constraints) => {
            let request = v1::AssignOrderRequest { constraints, caller };
            let assigned = service.assign_order(Request::new(request)).await?.into_inner().assigned;
            Observation::Assigned(assigned.iter().map(|one| (one.order(), one.decided)).collect())
        }
        Operation::Query(pairs) => {
            let pairs = pairs.into_iter().map(|(first, second)| v1::Pair { first, second }).collect();
            let answer = service.query_order(Request::new(v1::QueryOrderRequest { pairs })).await?;
            Observation::Orders(answer.into_inner().orders().collect())
        }
    })
}
