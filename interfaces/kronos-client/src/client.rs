//! The client: one session, the calls, the lease renewed in the background.

use crate::cache::Cache;
use crate::gather::{Calls, Gather, hand_out, joined};
use crate::options::{LEASE_MAX, LEASE_MIN};
use crate::replicas::{Client, Replicas};
use crate::types::{Assigned, Constraint, Event, Order, Stats};
use crate::window::Window;
use crate::{KronosError, Options, wire};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tonic::{Response, Status};

/// Renewals within the time of a lease.
const RENEWALS_PER_LEASE: u32 = 3;

/// A client of the service, for async programs on tokio. Cheap to clone; clones share one session. See [`crate::blocking::Kronos`] for others.
///
/// The session ends with [`Kronos::close`], or its lease after the last clone is dropped; the references it holds go with it.
#[derive(Clone)]
pub struct Kronos {
    shared: Arc<Shared>,
}

struct Shared {
    replicas: Arc<Replicas>,
    session: u64,
    window: Window,
    cache: Mutex<Cache>,
    gather: Option<Arc<Gather>>,
    spread: bool,
    is_over: Arc<AtomicBool>,
    renewal: tokio::task::AbortHandle,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

impl Kronos {
    /// Connects to a service of one replica, or by one of its replicas, and opens a session.
    ///
    /// # Errors
    /// The address is invalid, or there is no answer.
    pub async fn connect(address: impl Into<String>) -> Result<Kronos, KronosError> {
        Kronos::connect_with(Options::new([address])).await
    }

    /// The same with all options.
    ///
    /// # Errors
    /// The options are wrong, or there is no answer within [`Options::patience`].
    pub async fn connect_with(options: Options) -> Result<Kronos, KronosError> {
        let replicas = Arc::new(Replicas::new(&options)?);
        let lease = options.lease.clamp(LEASE_MIN, LEASE_MAX);
        let lease_ms = u32::try_from(lease.as_millis()).unwrap_or(u32::MAX);
        let open = |mut client: Client| async move {
            client.open_session(wire::OpenSessionRequest { lease_ms }).await
        };
        let session = replicas.call(false, open).await?.session;
        let is_over = Arc::new(AtomicBool::new(false));
        let pause = lease / RENEWALS_PER_LEASE;
        let renewal = tokio::spawn(renew(replicas.clone(), session, pause, is_over.clone()));
        let shared = Shared {
            replicas,
            session,
            window: Window::new(),
            cache: Mutex::new(Cache::new(options.cached_pairs)),
            gather: options.gather.then(Arc::default),
            spread: options.spread,
            is_over,
            renewal: renewal.abort_handle(),
        };
        Ok(Kronos { shared: Arc::new(shared) })
    }

    /// New events, concurrent with all others, each with one reference of this session.
    ///
    /// # Errors
    /// More than [`crate::BATCH_MAX`], or the service is full.
    pub async fn create_events(&self, count: u32) -> Result<Vec<Event>, KronosError> {
        let call = |mut client: Client, caller| async move {
            client.create_events(wire::CreateEventsRequest { count, caller }).await
        };
        let response = self.numbered(count as usize, call).await?;
        Ok(response.events.into_iter().map(Event).collect())
    }

    /// One new event.
    ///
    /// # Errors
    /// The service is full.
    pub async fn create_event(&self) -> Result<Event, KronosError> {
        let events = self.create_events(1).await?;
        let none = || KronosError::Other(tonic::Code::Internal, "the server made no event".into());
        events.first().copied().ok_or_else(none)
    }

    /// One more reference of this session to each event, so that it lives on when others release theirs. Whoever got an event
    /// from another program acquires it first.
    ///
    /// # Errors
    /// An event is unknown or released.
    pub async fn acquire_refs(&self, events: &[Event]) -> Result<(), KronosError> {
        let events = &numbers(events);
        let call = |mut client: Client, caller| async move {
            client.acquire_refs(wire::AcquireRefsRequest { events: events.clone(), caller }).await
        };
        self.numbered(1, call).await.map(drop)
    }

    /// One reference of this session less to each event. Returns how many events the service collected: those without references and without
    /// predecessors.
    ///
    /// # Errors
    /// An event is unknown, released, or not held by this session.
    pub async fn release_refs(&self, events: &[Event]) -> Result<u64, KronosError> {
        let events = &numbers(events);
        let call = |mut client: Client, caller| async move {
            client.release_refs(wire::ReleaseRefsRequest { events: events.clone(), caller }).await
        };
        Ok(self.numbered(1, call).await?.collected)
    }

    /// The order of the first event of each pair to the second. Pairs with a cached order are not sent.
    ///
    /// # Errors
    /// An event is unknown or released, or a pair names one event twice.
    pub async fn query_order(&self, pairs: &[(Event, Event)]) -> Result<Vec<Order>, KronosError> {
        let mut orders = self.known(pairs);
        let unknown: Vec<usize> = (0..pairs.len()).filter(|at| orders[*at].is_none()).collect();
        if !unknown.is_empty() {
            let pair = |at: &usize| wire::Pair { first: pairs[*at].0.0, second: pairs[*at].1.0 };
            let asked: &Vec<wire::Pair> = &unknown.iter().map(pair).collect();
            let call = |mut client: Client| async move {
                client.query_order(wire::QueryOrderRequest { pairs: asked.clone() }).await
            };
            let response = self.shared.replicas.call(self.shared.spread, call).await?;
            complete(unknown.len(), response.orders.len())?;
            let mut cache = self.shared.cache.lock();
            for (at, order) in unknown.into_iter().zip(response.orders) {
                let order = Order::of(order);
                cache.put(pairs[at].0, pairs[at].1, order);
                orders[at] = Some(order);
            }
        }
        Ok(orders.into_iter().flatten().collect())
    }

    fn known(&self, pairs: &[(Event, Event)]) -> Vec<Option<Order>> {
        let mut cache = self.shared.cache.lock();
        pairs.iter().map(|(first, second)| cache.get(*first, *second)).collect()
    }

    /// Orders pairs: first all that must, then those preferred, each kind in its order; all or none. Returns the order that then holds
    /// of each.
    ///
    /// # Errors
    /// A `must` contradicts an order that holds; an event is unknown, released or ordered with itself; the service is full.
    pub async fn assign_order(&self, constraints: &[Constraint]) -> Result<Vec<Assigned>, KronosError> {
        let Some(gather) = &self.shared.gather else { return self.assign_alone(constraints).await };
        let (answer, calls) = gather.put(constraints);
        if let Some(calls) = calls {
            tokio::spawn(self.clone().assign_gathered(calls));
        }
        let ended = || Err(KronosError::Unavailable("the runtime that called the service has ended".into()));
        answer.await.unwrap_or_else(|_| ended())
    }

    /// Makes calls for all waiting callers, until there are none.
    async fn assign_gathered(self, mut calls: Calls) {
        while let Some(parts) = calls.next() {
            match self.assign_alone(&joined(&parts)).await {
                Ok(assigned) => hand_out(parts, assigned),
                // Somebody's constraints are refused, and nothing was carried out: each is told what becomes of its own.
                Err(error) if parts.len() > 1 && error.is_refusal() => {
                    for part in parts {
                        let answer = self.assign_alone(&part.constraints).await;
                        part.answer(answer);
                    }
                }
                Err(error) => parts.into_iter().for_each(|part| part.answer(Err(error.clone()))),
            }
        }
    }

    async fn assign_alone(&self, constraints: &[Constraint]) -> Result<Vec<Assigned>, KronosError> {
        let batch = &constraints.iter().map(|one| one.wire()).collect::<Vec<_>>();
        let call = |mut client: Client, caller| async move {
            client.assign_order(wire::AssignOrderRequest { constraints: batch.clone(), caller }).await
        };
        let response = self.numbered(constraints.len(), call).await?;
        complete(constraints.len(), response.assigned.len())?;
        let said = |one: wire::Assigned| Assigned { order: Order::of(one.order), decided: one.decided };
        let assigned: Vec<Assigned> = response.assigned.into_iter().map(said).collect();
        let mut cache = self.shared.cache.lock();
        for (constraint, one) in constraints.iter().zip(&assigned) {
            cache.put(constraint.first, constraint.second, one.order);
        }
        drop(cache);
        Ok(assigned)
    }

    /// The counters of the replica that is asked.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn stats(&self) -> Result<Stats, KronosError> {
        let call = |mut client: Client| async move { client.stats(wire::StatsRequest {}).await };
        self.shared.replicas.call(false, call).await
    }

    /// A replica joins the group, or leaves it: `address` is where the others reach it. One change at a time.
    ///
    /// # Errors
    /// The change is refused, or the token does not allow it.
    pub async fn change_members(&self, address: &str, remove: bool) -> Result<(), KronosError> {
        let call = |mut client: Client| async move {
            let address = address.to_string();
            client.change_members(wire::ChangeMembersRequest { address, remove }).await
        };
        self.shared.replicas.call(false, call).await.map(drop)
    }

    /// Ordered pairs that are remembered.
    pub fn cached_pairs(&self) -> usize {
        self.shared.cache.lock().len()
    }
    /// Is the session's lease over, so that its references are gone? Questions of orders still work.
    pub fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Relaxed)
    }

    /// Ends the session, for all clones: its references are released.
    ///
    /// # Errors
    /// Nobody answers: then the lease ends the session.
    pub async fn close(self) -> Result<(), KronosError> {
        self.shared.renewal.abort();
        self.shared.is_over.store(true, Ordering::Relaxed);
        let session = self.shared.session;
        let call = |mut client: Client| async move {
            client.close_session(wire::CloseSessionRequest { session }).await
        };
        match self.shared.replicas.call(false, call).await {
            // Closed before: by another clone, by an earlier try of this call, or by its lease.
            Err(KronosError::SessionOver(_)) => Ok(()),
            other => other.map(drop),
        }
    }

    /// A call of the session, carried out once however often it is sent.
    async fn numbered<T, F>(
        &self,
        items: usize,
        mut call: impl FnMut(Client, Option<wire::Caller>) -> F,
    ) -> Result<T, KronosError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        if self.is_over() {
            return Err(KronosError::SessionOver("the session is over; connect anew".into()));
        }
        let number = self.shared.window.number(items).await;
        let caller = wire::Caller { session: self.shared.session, request: number.number };
        let outcome = self.shared.replicas.call(false, |client| call(client, Some(caller))).await;
        if matches!(outcome, Err(KronosError::SessionOver(_))) {
            self.shared.is_over.store(true, Ordering::Relaxed);
        }
        outcome
    }
}

/// Renews the lease until the session is over.
async fn renew(replicas: Arc<Replicas>, session: u64, pause: Duration, is_over: Arc<AtomicBool>) {
    loop {
        tokio::time::sleep(pause).await;
        let call =
            |mut client: Client| async move { client.keep_alive(wire::KeepAliveRequest { session }).await };
        if let Err(KronosError::SessionOver(_)) = replicas.call(false, call).await {
            return is_over.store(true, Ordering::Relaxed);
        }
    }
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.0).collect()
}

fn complete(asked: usize, answered: usize) -> Result<(), KronosError> {
    if asked == answered {
        return Ok(());
    }
    let what = format!("the server answered {answered} of {asked} pairs");
    Err(KronosError::Other(tonic::Code::Internal, what))
}
