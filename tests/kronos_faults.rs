//! Three `tanglewood kronos` processes, killed (SIGKILL) and stopped (SIGSTOP) by chance under clients that retry: every call is answered in the
//! end, nothing is carried out twice, no order is withdrawn, no answer misses what was acknowledged before its call, no reference is lost.
//!
//! `TANGLEWOOD_KRONOS_SECONDS` says for how long, `TANGLEWOOD_KILL_SEED` draws the same faults.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "kronos_faults/clients.rs"]
mod clients;
#[path = "kronos_faults/group.rs"]
mod group;
mod support;

use clients::{Client, Truth};
use group::Group;
use kronos::v1;
use std::sync::Arc;
use std::time::{Duration, Instant};
use world::chance::Chance;

const CLIENTS: usize = 4;

fn seed() -> u64 {
    let given = std::env::var("TANGLEWOOD_KILL_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(Chance::system_seed);
    eprintln!("TANGLEWOOD_KILL_SEED={seed}");
    seed
}

#[test]
fn three_processes_killed_and_stopped() {
    let seconds = std::env::var("TANGLEWOOD_KRONOS_SECONDS").ok().and_then(|text| text.parse().ok());
    run(Duration::from_secs(seconds.unwrap_or(10)));
}

#[test]
#[ignore = "two minutes: cargo xtask check --slow"]
fn three_processes_killed_and_stopped_for_long() {
    run(Duration::from_secs(120));
}

fn run(time: Duration) {
    let mut chance = Chance::seeded(seed());
    let mut group = Group::start(3);
    let truth = Arc::new(Truth::default());
    let end = Instant::now() + time;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (addresses, chance, truth) = (group.addresses().to_vec(), chance.fork(), truth.clone());
            std::thread::spawn(move || {
                let runtime = runtime();
                runtime.block_on(async {
                    let mut client = Client::new(&addresses, chance);
                    client.work(&truth, end).await;
                    client
                })
            })
        })
        .collect();
    while Instant::now() < end {
        // Between faults there is time for an election, so that some work is done.
        std::thread::sleep(Duration::from_millis(700 + chance.below(1_000)));
        group.fault(&mut chance);
    }
    group.heal();
    let held: Vec<_> = clients.into_iter().map(|client| client.join().unwrap().account()).collect();
    runtime().block_on(finish(&group, held, &truth, chance));
    let (faults, calls) = (group.faults, truth.calls());
    eprintln!("{faults} faults, {calls:?}");
    assert!(faults > 2 && calls.writes > 50 && calls.ordered > 20, "too little was done");
}

/// `--status` and `--metrics` show the state of a replica, and report a wrong address.
#[test]
fn a_replica_says_how_it_stands() {
    let group = Group::start(1);
    let place = support::Place::new();
    let started = Instant::now();
    let told = loop {
        let ran = place.run(&["kronos", "--status", &group.addresses()[0]]);
        if ran.code == 0 && ran.out.contains("leads") {
            break ran.ok();
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{ran:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    for word in ["members", "events      0 live", "lag         0 entries; the slowest replica lacks 0"] {
        assert!(told.contains(word), "{told}");
    }
    let nobody = place.run(&["kronos", "--status", "127.0.0.1:1"]).failed(1);
    assert!(nobody.contains("127.0.0.1:1 does not answer"), "{nobody}");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Everything is there once, on every replica, and goes when it is given back.
async fn finish(group: &Group, held: Vec<clients::Account>, truth: &Truth, chance: Chance) {
    let mut client = Client::new(group.addresses(), chance);
    for (a, b) in truth.sample(200) {
        for replica in 0..3 {
            let order = client.query_at(replica, a, b).await;
            assert_eq!(order, v1::Order::Before, "replica {replica} on a pair that was ordered");
        }
    }
    let (stats, created) = (client.stats().await, truth.created());
    assert_eq!((stats.created, stats.references), (created, created), "events created once, and held");
    for account in held {
        client.release(account).await;
    }
    let stats = client.stats().await;
    assert_eq!((stats.events, stats.edges, stats.references), (0, 0, 0), "all is given back");
    assert_eq!(stats.members.len(), group.addresses().len());
}
