//! A service that holds a random graph of 10,000 events and 50,000 orders, as for figures 5.3 and 5.8, and clients that ask it.

use super::fault;
use super::random::Closure;
use kronos_client::{Constraint, Event, Kronos, Options, Order};
use order::kronos::EventOrder;
use std::collections::BTreeSet;
use world::chance::Chance;

pub(super) const EVENTS: usize = 10_000;
pub(super) const ORDERS: usize = 50_000;
const BATCH: usize = 1_000;

/// The events and orders that the service was loaded with.
pub(super) struct Preloaded {
    pub(super) events: Vec<Event>,
    closure: Closure,
}

/// A client that calls all replicas in turn and caches nothing.
pub(super) async fn connect(addresses: &[String]) -> Result<Kronos, String> {
    let options = Options { cached_pairs: 0, spread: true, ..Options::new(addresses.to_vec()) };
    Kronos::connect_with(options).await.map_err(fault)
}

impl Preloaded {
    pub(super) async fn load(kronos: &Kronos) -> Result<Preloaded, String> {
        let mut chance = Chance::seeded(super::SEED);
        let events = kronos.create_events(EVENTS as u32).await.map_err(fault)?;
        let mut edges = BTreeSet::new();
        while edges.len() < ORDERS {
            let (a, b) = (chance.index(EVENTS) as u32, chance.index(EVENTS) as u32);
            if a != b {
                edges.insert((a.min(b), a.max(b)));
            }
        }
        let edges: Vec<(u32, u32)> = edges.into_iter().collect();
        for batch in edges.chunks(BATCH) {
            let one = |(a, b): &(u32, u32)| {
                Constraint::must(events[*a as usize], Order::Before, events[*b as usize])
            };
            kronos.assign_order(&batch.iter().map(one).collect::<Vec<_>>()).await.map_err(fault)?;
        }
        Ok(Preloaded { events, closure: Closure::of(EVENTS, &edges) })
    }

    /// One question by chance; its answer must be right.
    pub(super) async fn ask(&self, kronos: &Kronos, chance: &mut Chance) -> Result<(), String> {
        let (a, b) = (chance.index(EVENTS), chance.index(EVENTS));
        if a == b {
            return Ok(());
        }
        let answer = kronos.query_order(&[(self.events[a], self.events[b])]).await.map_err(fault)?;
        let right = match self.closure.order(a, b) {
            EventOrder::Before => Order::Before,
            EventOrder::After => Order::After,
            EventOrder::Concurrent => Order::Concurrent,
        };
        match answer.as_slice() {
            [order] if *order == right => Ok(()),
            _ => Err(format!("wrong: {answer:?} instead of {right:?}")),
        }
    }
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(fault)
}
