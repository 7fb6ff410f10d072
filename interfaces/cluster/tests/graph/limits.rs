//! Limits of a tenant over two gates: queries at once, turns, memory.

use super::{Cluster, cluster, rows};
use database::{Database, Session, params};
use protocol::Sequence;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tanglewood_cluster::UsageExchange;
use world::threads::{Thread, spawn};

/// A statement that ends when it is told to.
const LONG: &str = "UNWIND range(1, 1000000000) AS n WITH n WHERE n < 0 RETURN count(n)";

/// The gates of a cluster tell each other what is taken of limits, until this is dropped. Each has heard of the tenant.
fn exchanges(cluster: &Cluster) -> Vec<UsageExchange> {
    let begin = |(gate, database): (usize, &Database)| {
        as_tenant(database).query("MATCH (a:A) RETURN count(a)", params! {}).unwrap().rows().unwrap();
        let truth = cluster.truth.clone();
        let connect = move || Ok(Box::new(truth.clone()) as Box<dyn Sequence + Send>);
        UsageExchange::start(&format!("gate {gate}"), database.clone(), Box::new(connect)).unwrap()
    };
    let all = cluster.gates.iter().enumerate().map(begin).collect();
    world::threads::sleep(Duration::from_millis(700));
    all
}

fn as_tenant(gate: &Database) -> Session {
    let mut session = gate.session();
    session.set_tenant("t");
    session
}

fn await_that(what: &str, is_so: &dyn Fn() -> bool) {
    let until = world::clock::after_ns(Duration::from_secs(20));
    while !is_so() {
        assert!(world::clock::monotonic_ns() < until, "{what}");
        world::threads::sleep(Duration::from_millis(5));
    }
}

/// A tenant's query at a gate, on a thread of its own; and whether it came to its end.
type LongQuery = (Thread<()>, Receiver<Result<(), String>>);

fn begin_long(gate: &Database, text: &'static str) -> LongQuery {
    let mut session = as_tenant(gate);
    let (ended, end) = channel();
    let client = spawn("client", move || {
        let outcome = session.query(text, params! {}).and_then(|answer| answer.rows());
        let _ = ended.send(outcome.map(drop).map_err(|error| error.code.to_string()));
    });
    (client, end)
}

/// Long queries that run at a gate; those that wait do not count.
fn running(gate: &Database) -> usize {
    gate.running().iter().filter(|query| query.text == LONG && query.running).count()
}

fn kill_running(gate: &Database) {
    let all = gate.running();
    let runs = all.iter().filter(|query| query.text == LONG && query.running);
    runs.for_each(|query| drop(gate.kill(&query.id, "enough")));
}
fn kill_long(gate: &Database) {
    let all = gate.running();
    all.iter().filter(|query| query.text == LONG).for_each(|query| drop(gate.kill(&query.id, "enough")));
}

/// A tenant's limits hold over both gates, and whoever waits gets on.
#[test]
fn limits_of_a_tenant_hold_over_all_gates() {
    const AT_ONCE: usize = 3;
    let cluster = cluster();
    let [one, other] = &cluster.gates[..] else { panic!() };
    rows(one, &format!("CREATE TENANT t SET CONCURRENT {AT_ONCE}, MEMORY '64MiB'"), params! {});
    rows(one, "UNWIND range(0, 1) AS i CREATE (:A {i: i})", params! {});
    let usage = exchanges(&cluster);
    // As many as may at one gate, and one that waits at the other.
    let first: Vec<_> = (0..AT_ONCE).map(|_| begin_long(one, LONG)).collect();
    await_that("all run at one gate", &|| running(one) == AT_ONCE);
    world::threads::sleep(Duration::from_millis(300));
    let second: Vec<_> = (0..2).map(|_| begin_long(other, LONG)).collect();
    for _ in 0..40 {
        world::threads::sleep(Duration::from_millis(10));
        assert_eq!((running(one), running(other)), (AT_ONCE, 0), "none begins beyond the limit");
    }
    // One ends: there is room at the other gate.
    let all = one.running();
    let some = all.iter().find(|query| query.text == LONG).unwrap();
    assert_eq!(one.kill(&some.id, "enough"), Ok(true));
    await_that("it is let in", &|| running(other) > 0);
    assert!(running(one) + running(other) <= AT_ONCE);
    [one, other, one, other].into_iter().for_each(kill_long);
    for (_client, end) in first.into_iter().chain(second) {
        assert!(end.recv().is_ok_and(|outcome| outcome.is_err()), "each was ended");
    }
    drop(usage);
}

/// Where one query at a time is let in and both gates have some that wait, it goes by the clock of the database that they share whose turn it is. It went by the
/// gates' own clocks: two machines whose clocks differ by a second took their turns at the same time.
#[test]
fn turns_go_by_one_clock() {
    let cluster = cluster();
    let [one, other] = &cluster.gates[..] else { panic!() };
    rows(one, "CREATE TENANT t SET CONCURRENT 1", params! {});
    let set_second = |second: u64| cluster.truth.0.lock().set_clock(second * 1_000_000);
    set_second(100);
    let usage = exchanges(&cluster);
    let clients: Vec<LongQuery> =
        (0..20).map(|client| begin_long(&cluster.gates[client % 2], LONG)).collect();
    let all = |gate: &Database| gate.running().iter().filter(|query| query.text == LONG).count();
    await_that("all have come", &|| all(one) + all(other) == clients.len());
    for second in [101, 102] {
        set_second(second);
        let (turn, out_of_turn) = if second % 2 == 0 { (one, other) } else { (other, one) };
        // Both hear of it; what has begun before goes.
        world::threads::sleep(Duration::from_millis(1_500));
        [one, other].into_iter().for_each(kill_running);
        let until = world::clock::after_ns(Duration::from_millis(2_500));
        let mut served = 0;
        // The clock of the machine goes on for more than a turn of each, and this turn does not end.
        while world::clock::monotonic_ns() < until {
            world::threads::sleep(Duration::from_millis(500));
            assert_eq!(running(out_of_turn), 0, "second {second}");
            served += running(turn);
            kill_running(turn);
        }
        assert!(served > 0, "second {second}: nobody is let in");
    }
    [one, other].into_iter().for_each(kill_long);
    drop((clients, usage));
}

/// A tenant's memory is one limit over both gates: what one takes the other does not have, and has again when it is given back.
#[test]
fn memory_of_a_tenant_is_one_limit_over_all_gates() {
    // Holds some 50 MiB for as long as it runs.
    const HOLDS: &str = "WITH [n IN range(1, 2000000) | n + 0.5] AS held \
        UNWIND range(1, 1000000000) AS n WITH held, n WHERE n < 0 RETURN count(n), size(held)";
    // As much, for a moment.
    const TAKES: &str = "WITH [n IN range(1, 2000000) | n + 0.5] AS held RETURN size(held)";
    let cluster = cluster();
    let [one, other] = &cluster.gates[..] else { panic!() };
    rows(one, "CREATE TENANT t SET MEMORY '96MiB'", params! {});
    let usage = exchanges(&cluster);
    let take = |gate: &Database| {
        let outcome = as_tenant(gate).query(TAKES, params! {}).and_then(|answer| answer.rows());
        outcome.map(|rows| rows.len()).map_err(|error| error.code.to_string())
    };
    assert_eq!(take(one), Ok(1));
    await_that("one after the other there is room", &|| take(other) == Ok(1));
    // What the other has given back is heard.
    world::threads::sleep(Duration::from_millis(500));
    let (_client, end) = begin_long(one, HOLDS);
    let held = |gate: &Database| gate.running().iter().any(|query| query.text == HOLDS && query.running);
    await_that("it runs", &|| held(one));
    let full = Err("Neo.TransientError.General.MemoryPoolOutOfMemoryError".to_string());
    await_that("the other gate has too little left", &|| take(other) == full);
    let all = one.running();
    all.iter().filter(|query| query.text == HOLDS).for_each(|query| drop(one.kill(&query.id, "enough")));
    assert!(end.recv().is_ok_and(|outcome| outcome.is_err()));
    await_that("it is given back", &|| take(other) == Ok(1));
    drop(usage);
}
