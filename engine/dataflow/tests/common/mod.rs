//! Shared by the tests: rows that count themselves, a random generator, and waiting for quiet.
#![allow(dead_code, clippy::disallowed_methods, clippy::disallowed_types)]

use dataflow::watch::{UNITS_PER_LOOK, spend};
use dataflow::{Failure, Message, QueryHandle, Runtime, RuntimeOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How many of something are alive.
#[derive(Clone, Default)]
pub struct Census(Arc<AtomicI64>);

impl Census {
    pub fn count(&self) -> i64 {
        self.0.load(SeqCst)
    }
    pub fn enter(&self) -> Ticket {
        self.0.fetch_add(1, SeqCst);
        Ticket(self.clone())
    }
    /// Waits until all are gone.
    pub fn wait_empty(&self, what: &str) {
        let start = Instant::now();
        while self.count() != 0 {
            assert!(start.elapsed() < Duration::from_secs(10), "{what}: {} left alive", self.count());
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

pub struct Ticket(Census);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

pub struct Rows {
    pub rows: Vec<u64>,
    _ticket: Ticket,
}

impl Rows {
    pub fn new(rows: Vec<u64>, census: &Census) -> Rows {
        Rows { rows, _ticket: census.enter() }
    }
}

impl Message for Rows {
    fn rows(&self) -> usize {
        self.rows.len()
    }
    fn bytes(&self) -> usize {
        self.rows.len() * 8
    }
    fn split(self, parts: usize) -> Vec<Rows> {
        let size = self.rows.len().div_ceil(parts).max(1);
        self.rows.chunks(size).map(|rows| Rows::new(rows.to_vec(), &self._ticket.0)).collect()
    }
}

/// SplitMix64.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

pub fn mix(x: u64) -> u64 {
    let mut z = x;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The seed of a random test: from the environment to replay, else from the clock. Print it.
pub fn seed() -> u64 {
    let given = std::env::var("TANGLEWOOD_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64
    })
}

pub fn runtime(executors: usize) -> Runtime<Rows> {
    Runtime::start(RuntimeOptions { executors, pin: false, ..RuntimeOptions::default() }).unwrap()
}

/// Work of a call for this row: for some rows so much that the call pauses where its time is over.
pub fn linger(row: u64) -> Result<(), Failure> {
    let looks = mix(row ^ 0x11) % 24;
    (0..looks.saturating_sub(20)).try_for_each(|_| Ok(spend(UNITS_PER_LOOK)?))
}

/// Likewise, with turns of next to no time: whatever works much pauses.
pub fn hasty_runtime(executors: usize) -> Runtime<Rows> {
    let quota = Duration::from_nanos(1);
    Runtime::start(RuntimeOptions { executors, pin: false, quota, ..RuntimeOptions::default() }).unwrap()
}

/// All rows of a query, sorted; fails on a fault, and if the end comes not once.
pub fn drain(handle: &mut QueryHandle<Rows>) -> Vec<u64> {
    let mut rows = Vec::new();
    while let Some(batch) = handle.next_timeout(Duration::from_secs(20)).expect("the query makes progress") {
        rows.extend_from_slice(&batch.expect("no fault").rows);
    }
    assert!(handle.next().is_none(), "the end stays the end");
    rows.sort_unstable();
    rows
}
