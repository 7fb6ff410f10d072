//! Clients that send each call until it is answered, and compare every answer with the earlier answers to all of them.

use kronos::v1::kronos_client::KronosClient;
use kronos::v1::{self, Order, Strength};
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use world::chance::Chance;

/// A call that is not answered for so long is a failure of the group.
const CALL_TIME_MAX: Duration = Duration::from_secs(30);
const ATTEMPT_TIME_MAX: Duration = Duration::from_secs(1);
const LEASE_MS: u32 = 3_600_000;

/// Everything that was acknowledged to any client.
#[derive(Default)]
pub struct Truth(Mutex<Known>);

#[derive(Default)]
struct Known {
    events: Vec<u64>,
    all: HashSet<u64>,
    after: HashMap<u64, Vec<u64>>,
    pairs: Vec<(u64, u64)>,
    calls: Calls,
}

#[derive(Clone, Copy, Default, Debug)]
pub struct Calls {
    pub writes: u64,
    pub reads: u64,
    pub ordered: u64,
    pub refused: u64,
    pub repeated: u64,
}

impl Known {
    fn reaches(&self, from: u64, to: u64) -> bool {
        let (mut seen, mut open) = (HashSet::from([from]), vec![from]);
        while let Some(event) = open.pop() {
            for after in self.after.get(&event).into_iter().flatten() {
                if *after == to {
                    return true;
                }
                if seen.insert(*after) {
                    open.push(*after);
                }
            }
        }
        false
    }
    fn order(&self, a: u64, b: u64) -> Option<Order> {
        match (self.reaches(a, b), self.reaches(b, a)) {
            (true, _) => Some(Order::Before),
            (_, true) => Some(Order::After),
            _ => None,
        }
    }
    fn learn(&mut self, a: u64, b: u64, order: Order) {
        let (from, to) = if order == Order::Before { (a, b) } else { (b, a) };
        assert!(!self.reaches(to, from), "a cycle, or an order that was withdrawn: {from:x} before {to:x}");
        if !self.reaches(from, to) {
            self.after.entry(from).or_default().push(to);
            self.pairs.push((from, to));
        }
        self.calls.ordered += 1;
    }
}

impl Truth {
    pub fn created(&self) -> u64 {
        self.0.lock().unwrap().events.len() as u64
    }
    pub fn calls(&self) -> Calls {
        self.0.lock().unwrap().calls
    }
    /// So many pairs of which the first is before the second.
    pub fn sample(&self, count: usize) -> Vec<(u64, u64)> {
        let known = self.0.lock().unwrap();
        known.pairs.iter().rev().step_by(known.pairs.len() / count + 1).copied().collect()
    }
}

/// The references in a client's session.
pub struct Account {
    session: u64,
    next_request: u64,
    held: Vec<u64>,
}

pub struct Client {
    replicas: Vec<KronosClient<Channel>>,
    at: usize,
    session: u64,
    next_request: u64,
    held: Vec<u64>,
    chance: Chance,
    repeated: u64,
}

impl Client {
    pub fn new(addresses: &[String], chance: Chance) -> Client {
        let replicas = addresses.iter().map(|address| {
            let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
            let timeout = Duration::from_millis(500);
            KronosClient::new(endpoint.connect_timeout(timeout).tcp_nodelay(true).connect_lazy())
        });
        Client {
            replicas: replicas.collect(),
            at: 0,
            session: 0,
            next_request: 0,
            held: Vec::new(),
            chance,
            repeated: 0,
        }
    }

    /// Sends a call to one replica after the other until one answers.
    async fn call<T>(
        &mut self,
        attempt: impl AsyncFn(KronosClient<Channel>) -> Result<tonic::Response<T>, Status>,
    ) -> Result<T, Status> {
        let started = Instant::now();
        loop {
            let call = attempt(self.replicas[self.at].clone());
            let answer = tokio::time::timeout(ATTEMPT_TIME_MAX, call).await;
            let again = match &answer {
                Err(_) => true,
                Ok(Err(status)) => matches!(
                    status.code(),
                    Code::Unavailable
                        | Code::Unknown
                        | Code::Cancelled
                        | Code::Internal
                        | Code::DeadlineExceeded
                ),
                Ok(Ok(_)) => false,
            };
            if !again {
                return answer.expect("it was answered in time").map(tonic::Response::into_inner);
            }
            assert!(started.elapsed() < CALL_TIME_MAX, "a call is not answered: {:?}", answer.err());
            self.repeated += 1;
            self.at = self.chance.index(self.replicas.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn caller(&mut self) -> Option<v1::Caller> {
        self.next_request += 1;
        Some(v1::Caller { session: self.session, request: self.next_request })
    }

    pub async fn work(&mut self, truth: &Truth, end: Instant) {
        let open = v1::OpenSessionRequest { lease_ms: LEASE_MS };
        let opened = self.call(async |mut one| one.open_session(open).await).await.unwrap();
        self.session = opened.session;
        while Instant::now() < end {
            match self.chance.below(10) {
                0 | 1 => self.create(truth).await,
                2..=4 => self.assign(truth).await,
                _ => self.query(truth).await,
            }
        }
        truth.0.lock().unwrap().calls.repeated += self.repeated;
    }

    async fn create(&mut self, truth: &Truth) {
        let request =
            v1::CreateEventsRequest { count: 1 + self.chance.below(4) as u32, caller: self.caller() };
        let events = self.call(async |mut one| one.create_events(request).await).await.unwrap().events;
        self.held.extend(&events);
        let mut known = truth.0.lock().unwrap();
        assert!(events.iter().all(|event| known.all.insert(*event)), "an event is given twice");
        known.events.extend(events);
        known.calls.writes += 1;
    }

    /// Two events that were created not long ago, so that their orders meet.
    fn pair(&mut self, truth: &Truth) -> Option<(u64, u64)> {
        let known = truth.0.lock().unwrap();
        let last = known.events.len().min(40);
        let mut one = || known.events[known.events.len() - 1 - self.chance.index(last)];
        let (a, b) = (last > 1).then(|| (one(), one()))?;
        (a != b).then_some((a, b))
    }

    async fn assign(&mut self, truth: &Truth) {
        let Some((first, second)) = self.pair(truth) else { return };
        let strength = if self.chance.below(2) == 0 { Strength::Must } else { Strength::Prefer };
        let one = v1::Constraint { first, order: Order::Before.into(), second, strength: strength.into() };
        let request = v1::AssignOrderRequest { constraints: vec![one], caller: self.caller() };
        let before = truth.0.lock().unwrap().order(first, second);
        let answer = self.call(async |mut one| one.assign_order(request.clone()).await).await;
        let mut known = truth.0.lock().unwrap();
        known.calls.writes += 1;
        match answer {
            Ok(assigned) => {
                let one = assigned.assigned[0];
                assert!(strength == Strength::Prefer || one.order() == Order::Before);
                assert!(before.is_none() || (before == Some(one.order()) && !one.decided), "decided anew");
                known.learn(first, second, one.order());
            }
            Err(status) => {
                assert_eq!((status.code(), strength), (Code::FailedPrecondition, Strength::Must), "{status}");
                known.calls.refused += 1;
                known.learn(first, second, Order::After);
            }
        }
    }

    async fn query(&mut self, truth: &Truth) {
        let Some((first, second)) = self.pair(truth) else { return };
        let before = truth.0.lock().unwrap().order(first, second);
        // Any replica may answer.
        self.at = self.chance.index(self.replicas.len());
        let request = v1::QueryOrderRequest { pairs: vec![v1::Pair { first, second }] };
        let answer = self.call(async |mut one| one.query_order(request.clone()).await).await.unwrap();
        let order = answer.orders().next().unwrap();
        let mut known = truth.0.lock().unwrap();
        known.calls.reads += 1;
        assert!(before.is_none() || before == Some(order), "an answer misses what was acknowledged before");
        if order != Order::Concurrent {
            known.learn(first, second, order);
        }
    }

    /// The answer of one replica about a pair, as soon as it gives one.
    pub async fn query_at(&mut self, replica: usize, first: u64, second: u64) -> Order {
        let request = v1::QueryOrderRequest { pairs: vec![v1::Pair { first, second }] };
        let one = self.replicas[replica].clone();
        let ask = async |_| one.clone().query_order(request.clone()).await;
        self.call(ask).await.unwrap().orders().next().unwrap()
    }

    /// What the leader holds.
    pub async fn stats(&mut self) -> v1::StatsResponse {
        let started = Instant::now();
        while started.elapsed() < CALL_TIME_MAX {
            self.at = self.chance.index(self.replicas.len());
            let stats = self.call(async |mut one| one.stats(v1::StatsRequest {}).await).await.unwrap();
            if stats.leads {
                return stats;
            }
        }
        panic!("nobody leads");
    }

    /// What it holds, for whoever releases it.
    pub fn account(self) -> Account {
        Account { session: self.session, next_request: self.next_request, held: self.held }
    }

    /// Gives back what another client held.
    pub async fn release(&mut self, account: Account) {
        (self.session, self.next_request) = (account.session, account.next_request);
        let request = v1::ReleaseRefsRequest { events: account.held, caller: self.caller() };
        self.call(async |mut one| one.release_refs(request.clone()).await).await.unwrap();
    }
}
