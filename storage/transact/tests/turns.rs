//! A long transaction that reads much and writes a little gets through beside short ones that write what it reads.
#![allow(clippy::disallowed_methods)]

use model::{KeyId, Value, VertexId};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tanglewood_transact::{Engine, Mode, OpenOptions, RESERVE_AFTER_REFUSALS, Transaction, open};
use world::chance::Chance;
use world::threads::in_parallel;

const VERTICES: u64 = 100_000;
const WRITERS: usize = 8;

fn filled() -> (Engine, KeyId, Vec<VertexId>) {
    let (engine, _) = open(None, &OpenOptions::default()).unwrap();
    let t = engine.begin(Mode::Write);
    let (label, key) = (t.label("N").unwrap(), t.key("n").unwrap());
    let vertices =
        (0..VERTICES).map(|_| t.create_vertex(&[label], vec![(key, Value::Int(1))]).unwrap()).collect();
    t.commit().unwrap();
    (engine, key, vertices)
}

/// Moves one from one vertex to another: the sum of all stays.
fn short(engine: &Engine, key: KeyId, vertices: &[VertexId], chance: &mut Chance) -> bool {
    let t = engine.begin(Mode::Write);
    for by in [1, -1] {
        let vertex = vertices[chance.below(VERTICES) as usize];
        if t.is_stale(vertex) {
            t.refresh().unwrap();
        }
        t.reads().vertex(vertex);
        let value = t.snapshot().property(vertex, key).unwrap().as_int().unwrap();
        t.set_property(vertex, key, Value::Int(value + by)).unwrap();
    }
    t.commit().is_ok()
}

/// Reads everything and takes one away from some vertex and gives it to the first.
fn long(t: &Transaction, key: KeyId, vertices: &[VertexId]) -> i64 {
    t.reads().vertices(vertices.iter().copied());
    let snapshot = t.snapshot();
    let values = vertices.iter().map(|vertex| snapshot.property(*vertex, key).unwrap().as_int().unwrap());
    let sum = values.sum();
    t.set_property(vertices[0], key, snapshot.property(vertices[0], key).unwrap()).unwrap();
    sum
}

#[test]
fn a_long_transaction_commits_within_a_bounded_number_of_attempts() {
    let (engine, key, vertices) = filled();
    let (over, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let attempts = in_parallel("party", WRITERS + 1, |who| {
        if who > 0 {
            let mut chance = Chance::seeded(who as u64);
            while !over.load(Ordering::Relaxed) {
                commits.fetch_add(short(&engine, key, &vertices, &mut chance) as u64, Ordering::Relaxed);
            }
            return 0;
        }
        let mut most = 0;
        for _ in 0..3 {
            let mut t = engine.begin(Mode::Write);
            let mut attempts = 1;
            loop {
                assert_eq!(long(&t, key, &vertices), VERTICES as i64, "all commits keep the sum");
                match t.commit() {
                    Ok(_) => break,
                    Err(error) => assert!(error.is_retryable(), "{error}"),
                }
                t = engine.begin_again(0, &t);
                attempts += 1;
            }
            most = most.max(attempts);
        }
        over.store(true, Ordering::Relaxed);
        most
    });
    let (attempts, commits) = (attempts[0], commits.load(Ordering::Relaxed));
    assert!(attempts <= RESERVE_AFTER_REFUSALS + 2, "{attempts} attempts beside {commits} short commits");
    assert!(attempts > RESERVE_AFTER_REFUSALS || commits < 100, "{attempts} attempts prove nothing");
}
