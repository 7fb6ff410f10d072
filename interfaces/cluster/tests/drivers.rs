//! The protocol's machines in threads, over TCP and over a network with faults: reads are strict and see whole transactions, through losses too.

mod common;

use common::{Small, bytes, words};
use parking_lot::Mutex;
use protocol::message::{Commit, Refusal};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tanglewood_cluster::{Failure, GateHandle};
use world::clock::monotonic_ns;
use world::net::{Net, NetFaults, SimNet, TcpNet};

const PATIENCE: Duration = Duration::from_secs(3);
const SHARDS: u16 = 3;

/// What all clients know together. Each commit adds one to a number on every shard.
#[derive(Default)]
struct Known {
    /// Commits that were acknowledged.
    acknowledged: AtomicU64,
    /// The highest number that a read has seen.
    seen: AtomicU64,
    reads: AtomicU64,
}

fn queries() -> Vec<(u16, protocol::Bytes)> {
    (0..SHARDS).map(|shard| (shard, bytes(&[u64::from(shard)]))).collect()
}

/// Reads all numbers, checks them against what was known before, adds one to each.
fn transact(gate: &GateHandle, known: &Known, writes: bool) {
    let before = known.acknowledged.load(Ordering::SeqCst).max(known.seen.load(Ordering::SeqCst));
    let Ok((read, answers)) = gate.read(queries(), PATIENCE) else {
        world::threads::sleep(Duration::from_millis(5));
        return;
    };
    let numbers: Vec<u64> = answers.iter().map(|(_, answer)| words(answer)[0]).collect();
    assert!(numbers.iter().all(|number| *number == numbers[0]), "half a transaction: {numbers:?}");
    assert!(numbers[0] >= before, "{} was read, and {before} were there before the read began", numbers[0]);
    known.seen.fetch_max(numbers[0], Ordering::SeqCst);
    known.reads.fetch_add(1, Ordering::SeqCst);
    if !writes {
        gate.close(read);
        return;
    }
    let part = |shard: u16| (shard, bytes(&[u64::from(shard), numbers[0] + 1]));
    let commit = Commit {
        base: Some(read),
        reads: (0..u64::from(SHARDS)).collect(),
        writes: (0..u64::from(SHARDS)).collect(),
        routes: (0..u32::from(SHARDS)).map(|chunk| (chunk, 0)).collect(),
        moves: Vec::new(),
        parts: (0..SHARDS).map(part).collect(),
    };
    let end = gate.commit(commit, PATIENCE);
    gate.close(read);
    match end {
        // Each acknowledged one has a number of its own, so the highest is at least as high as there are.
        Ok(_) => _ = known.acknowledged.fetch_max(numbers[0] + 1, Ordering::SeqCst),
        // What nobody knows of may be seen by others, and is no fault.
        Err(Failure::Unknown | Failure::Refused(_)) => {}
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let until_ns = world::clock::after_ns(Duration::from_secs(60));
    while !holds() {
        assert!(monotonic_ns() < until_ns, "in a minute: {what}");
        world::threads::sleep(Duration::from_millis(10));
    }
}

type Handles = Mutex<Vec<GateHandle>>;

/// Clients at all gates, until `disturb` is through and then some commits more.
fn run(mut small: Small, disturb: impl FnOnce(&mut Small, &Handles) + Send) {
    let gates = small.gates.len();
    until("all gates are open", || (0..gates).all(|gate| small.handle(gate).is_open()));
    let handles = Mutex::new((0..gates).map(|gate| small.handle(gate)).collect::<Vec<_>>());
    let (known, stop) = (Known::default(), AtomicBool::new(false));
    let twenty_more = || {
        let enough = known.acknowledged.load(Ordering::SeqCst) + 20;
        until("twenty commits", || known.acknowledged.load(Ordering::SeqCst) >= enough);
    };
    let nemesis = Mutex::new(Some(|| {
        twenty_more();
        disturb(&mut small, &handles);
        twenty_more();
    }));
    world::threads::in_parallel("client", 5, |client| {
        if client == 0 {
            let nemesis = nemesis.lock().take();
            nemesis.unwrap()();
            stop.store(true, Ordering::SeqCst);
        }
        while !stop.load(Ordering::SeqCst) {
            let gate = handles.lock()[client % gates].clone();
            transact(&gate, &known, client % 2 == 0);
        }
    });
    drop(nemesis);
    let published = small.published.lock().clone();
    assert!(!published.is_empty() && published.is_sorted(), "the scribe's sequence rises");
    assert!(known.reads.load(Ordering::SeqCst) > 40);
}

fn over_tcp(processes: usize) -> Vec<Box<dyn Net>> {
    (0..processes).map(|_| Box::new(TcpNet::open("127.0.0.1:0", b"").unwrap()) as Box<dyn Net>).collect()
}

fn anew(address: &str) -> Box<dyn Net> {
    let mut net = None;
    until("the address is free", || {
        net = TcpNet::open(address, b"").ok();
        net.is_some()
    });
    Box::new(net.unwrap())
}

#[test]
fn over_tcp_reads_are_strict_and_a_gate_and_a_shard_come_back() {
    let (small, truth) = Small::start(2, SHARDS, over_tcp(2 + usize::from(SHARDS) + 3));
    run(small, move |small, handles| {
        let address = small.addresses.gates[1].clone();
        small.gates[1] = None;
        handles.lock()[1] = small.handle(0);
        small.start_gate(1, anew(&address), Box::new(truth.clone()));
        until("the gate is open again", || small.handle(1).is_open());
        handles.lock()[1] = small.handle(1);
        let address = small.addresses.shards[2].clone();
        small.shards[2] = None;
        small.start_shard(2, anew(&address), Box::new(truth.clone()));
    });
}

#[test]
fn over_a_network_with_faults_reads_are_strict() {
    let names = ["g0", "g1", "s0", "s1", "s2", "oracle", "scribe", "keeper"];
    let late_max = Duration::from_millis(5);
    let faults = NetFaults { loss: 0.01, doubled: 0.01, late: 0.05, late_max };
    let ends = SimNet::network(&names, faults, 11);
    let boxed = ends.into_iter().map(|end| Box::new(end) as Box<dyn Net>).collect();
    run(Small::start(2, SHARDS, boxed).0, |_, _| {});
}

/// Whoever still has the way into it is told at once.
#[test]
fn a_gate_that_has_ended_refuses_requests() {
    let (small, _) = Small::start(1, SHARDS, over_tcp(1 + usize::from(SHARDS) + 3));
    let gate = small.handle(0);
    until("it is open", || gate.is_open());
    assert_eq!(gate.read(vec![(0, bytes(&[7]))], PATIENCE).unwrap().1, vec![(0, bytes(&[0]))]);
    drop(small);
    assert_eq!(gate.read(queries(), PATIENCE).unwrap_err(), Failure::Refused(Refusal::Busy));
}
