//! The cost of a strict read: four gates and three shards over TCP on loopback, in one process; quiet, and beside writers whose truth is PostgreSQL.
//!
//! `cargo run --profile quick -p tanglewood-cluster --example strict_read [READS]`. A read asks one shard for one number. Each is checked against what was
//! acknowledged before.

#[path = "../tests/common/mod.rs"]
mod common;
#[allow(dead_code)]
#[path = "../../truth/tests/common/mod.rs"]
mod server;

use common::{Small, bytes, words};
use protocol::message::Commit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tanglewood_cluster::GateHandle;
use world::clock::monotonic_ns;
use world::net::{Net, TcpNet};

const GATES: u16 = 4;
const SHARDS: u16 = 3;
const PATIENCE: Duration = Duration::from_secs(10);

/// Writes one number of one shard until it is told to stop; the number rises by one.
fn write(gate: &GateHandle, key: u64, shard: u16, last: &AtomicU64, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        let next = last.load(Ordering::SeqCst) + 1;
        let commit = Commit {
            writes: vec![key],
            routes: vec![(u32::from(shard), 0)],
            parts: vec![(shard, bytes(&[key, next]))],
            ..Commit::default()
        };
        if gate.commit(commit, PATIENCE).is_ok() {
            last.store(next, Ordering::SeqCst);
        }
    }
}

/// Latencies of reads, ascending, in microseconds.
fn read(gate: &GateHandle, reads: usize, shard: u16, key: u64, last: &AtomicU64) -> Vec<u64> {
    let mut latencies = Vec::with_capacity(reads);
    while latencies.len() < reads {
        let (known, begin_ns) = (last.load(Ordering::SeqCst), monotonic_ns());
        if let Ok((request, answers)) = gate.read(vec![(shard, bytes(&[key]))], PATIENCE) {
            latencies.push((monotonic_ns() - begin_ns) / 1_000);
            gate.close(request);
            assert!(words(&answers[0].1)[0] >= known, "an acknowledged commit is missing");
        }
    }
    latencies.sort_unstable();
    latencies
}

fn measure(name: &str, small: &Small, reads: usize, writes: bool, shard: u16) {
    let (last, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let key = if writes { 2 + u64::from(shard) } else { 1 };
    let all = world::threads::in_parallel("client", 2, |client| {
        if client == 1 {
            if writes {
                write(&small.handle(1), key, 0, &last, &stop);
            }
            return Vec::new();
        }
        let zero = AtomicU64::new(0);
        let known = if shard == 0 { &last } else { &zero };
        let latencies = read(&small.handle(0), reads, shard, key, known);
        stop.store(true, Ordering::SeqCst);
        latencies
    });
    let (latencies, commits) = (&all[0], last.load(Ordering::SeqCst));
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    println!("{name:44} {:8} {:8} {:8} {commits:8}", at(0.5), at(0.9), at(0.99));
}

fn main() {
    let reads = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let ends = || -> Vec<Box<dyn Net>> {
        let end = |_| Box::new(TcpNet::open("127.0.0.1:0", b"").unwrap()) as Box<dyn Net>;
        (0..GATES + SHARDS + 3).map(end).collect()
    };
    let open = |small: &Small| {
        while !(0..usize::from(GATES)).all(|gate| small.handle(gate).is_open()) {
            world::threads::sleep(Duration::from_millis(20));
        }
    };
    println!("strict read, us{:29} {:>8} {:>8} {:>8} {:>8}", "", "median", "90 %", "99 %", "commits");
    let (small, _) = Small::start(GATES, SHARDS, ends());
    open(&small);
    measure("quiet", &small, reads, false, 0);
    measure("truth in memory, another shard is written", &small, reads, true, 1);
    measure("truth in memory, the same shard is written", &small, reads, true, 0);
    drop(small);
    let Some(server) = server::Server::start() else { return };
    let mut truth = server.truth();
    truth.create_chunks(&(0..SHARDS).map(|shard| (u32::from(shard), shard)).collect::<Vec<_>>()).unwrap();
    let small = Small::start_with(GATES, SHARDS, ends(), &|| Box::new(server.truth()));
    open(&small);
    measure("PostgreSQL, another shard is written", &small, reads, true, 1);
    measure("PostgreSQL, the same shard is written", &small, reads, true, 0);
}
