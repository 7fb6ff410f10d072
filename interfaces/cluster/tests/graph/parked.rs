//! Queries that wait for chunks of shards do not hold the executor that they run on.

use super::{cluster, end, rows, share};
use database::{Database, params};
use std::sync::atomic::{AtomicBool, Ordering};
use world::clock::monotonic_ns;

/// Too long for a client's thread, and of nothing that a shard has.
const LONG: &str =
    "READ NO OLDER THAN 2 s UNWIND range(1, 60000) AS n WITH n WHERE n % 7 = 3 RETURN count(n)";
const SCAN: &str = "READ NO OLDER THAN 2 s MATCH (a:A) RETURN count(a), sum(a.i)";

fn asked(database: &Database, text: &str) -> Result<String, String> {
    let rows = database.session().query(text, params! {}).and_then(|answer| answer.rows());
    rows.map(|rows| format!("{rows:?}")).map_err(|error| error.code.to_string())
}

/// A gate has one executor here. A query that waited for a lost shard kept it, and all others with it.
#[test]
fn who_waits_for_a_lost_shard_does_not_hold_the_executor() {
    let mut cluster = cluster();
    let [reader, writer] = &cluster.gates.clone()[..] else { panic!() };
    for at in 0..6 {
        rows(writer, "UNWIND range(1, 1000) AS i CREATE (:A {i: i})", params! {});
        assert_eq!(
            asked(writer, "MATCH (a:A) RETURN count(a)"),
            Ok(format!("[[Int({})]]", (at + 1) * 1_000))
        );
    }
    // The graph as of now, of which it has no chunk.
    rows(reader, "READ NO OLDER THAN 2 s RETURN 1", params! {});
    cluster.small.shards[1] = None;
    let is_over = AtomicBool::new(false);
    let outcomes = world::threads::in_parallel("client", 2, |client| {
        if client == 0 {
            let outcome = asked(reader, SCAN);
            is_over.store(true, Ordering::SeqCst);
            return outcome;
        }
        while !reader.running().iter().any(|query| query.text == SCAN && query.running) {
            assert!(!is_over.load(Ordering::SeqCst), "it needs the lost shard");
            world::threads::sleep(std::time::Duration::from_millis(2));
        }
        let began_ns = monotonic_ns();
        let outcome = asked(reader, LONG);
        println!("beside a query that waits: {} us", (monotonic_ns() - began_ns) / 1_000);
        assert!(!is_over.load(Ordering::SeqCst), "the other one had ended before this one was served");
        reader.running().iter().for_each(|query| drop(reader.kill(&query.id, "enough")));
        outcome
    });
    assert_eq!(outcomes[1], Ok("[[Int(8572)]]".to_string()));
    assert!(outcomes[0].is_err(), "{:?}", outcomes[0]);
    let address = cluster.small.addresses.shards[1].clone();
    let truth = Box::new(cluster.truth.clone());
    cluster.small.start_shard_of(1, end(&address), truth, share(&cluster.disk, 1));
    assert_eq!(
        asked(reader, "MATCH (a:A) RETURN count(a), sum(a.i)"),
        Ok("[[Int(6000), Int(3003000)]]".to_string())
    );
}

/// A figure: how long others wait beside readers of what the gate has no memory for.
#[test]
#[ignore = "a figure: it asserts answers alone"]
fn questions_beside_readers_of_remote_chunks() {
    const READERS: usize = 6;
    const QUESTIONS: usize = 40;
    let cluster = cluster();
    // The last one has hardly any memory.
    let [writer, gate] = &cluster.gates[..] else { panic!() };
    for _ in 0..6 {
        rows(writer, "UNWIND range(1, 2000) AS i CREATE (:A {i: i})", params! {});
    }
    let stop = AtomicBool::new(false);
    let figure = |name: &str, readers: usize| {
        stop.store(false, Ordering::SeqCst);
        let all = world::threads::in_parallel("client", readers + 1, |client| {
            let (mut times, mut scans) = (Vec::new(), 0);
            while client > 0 && !stop.load(Ordering::SeqCst) {
                assert_eq!(asked(gate, SCAN), Ok("[[Int(12000), Int(12006000)]]".to_string()));
                scans += 1;
            }
            if client == 0 {
                for _ in 0..QUESTIONS {
                    let began_ns = monotonic_ns();
                    assert_eq!(asked(gate, LONG), Ok("[[Int(8572)]]".to_string()));
                    times.push((monotonic_ns() - began_ns) / 1_000);
                }
                stop.store(true, Ordering::SeqCst);
                times.sort_unstable();
            }
            (times, scans)
        });
        let times = &all[0].0;
        let scans: usize = all.iter().map(|(_, scans)| scans).sum();
        let (half, most) = (times[QUESTIONS / 2], times[QUESTIONS * 9 / 10]);
        println!("{name}: p50 {half} us, p90 {most} us; {scans} scans, {} loads", gate.memory().loads);
    };
    figure("alone", 0);
    figure("beside readers", READERS);
}
