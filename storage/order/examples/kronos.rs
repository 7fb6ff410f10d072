//! The cost of the event graph in process: `cargo run --release -p tanglewood-order --example kronos`.
//!
//! Orders assigned between fresh pairs, questions along chains, bytes an event, and collection of a chain; every answer is checked.
#![allow(clippy::disallowed_methods, reason = "an example measures time")]

use std::time::Instant;
use tanglewood_order::kronos::{
    Constraint, Direction, EventGraph, EventId, EventOrder, GraphLimits, Search, Strength,
};

const EVENTS: u32 = 20_000_000;
const PAIRS: usize = 4_000_000;
const CHAIN: usize = 1_000_000;

fn main() {
    let mut graph = EventGraph::new(1, GraphLimits::default());
    let (events, seconds) = timed(|| create(&mut graph, EVENTS));
    println!("create_events     {:8.1} M/s", f64::from(EVENTS) / seconds / 1e6);
    println!("memory            {:8.1} bytes an event", graph.bytes() as f64 / f64::from(EVENTS));
    let (_, seconds) = timed(|| {
        for pair in events[..2 * PAIRS].chunks_exact(2) {
            let answer = graph.assign_order(&[must(pair[0], pair[1])]).expect("fresh pairs are concurrent");
            assert!(answer[0].decided);
        }
    });
    println!("assign_order      {:8.1} M/s, fresh pairs, one a call", PAIRS as f64 / seconds / 1e6);
    let chain = &events[2 * PAIRS..2 * PAIRS + CHAIN];
    let (_, seconds) = timed(|| {
        chain
            .windows(2)
            .for_each(|pair| drop(graph.assign_order(&[must(pair[0], pair[1])]).expect("a chain")));
    });
    println!("assign_order      {:8.1} M/s, a chain", CHAIN as f64 / seconds / 1e6);
    let mut search = Search::default();
    let (_, seconds) = timed(|| {
        for pair in events[..2 * PAIRS].chunks_exact(2) {
            assert_eq!(graph.query_with(&mut search, pair[1], pair[0]), Ok(EventOrder::After));
        }
    });
    println!("query_order       {:8.1} ns, pairs", seconds / PAIRS as f64 * 1e9);
    println!(
        "memory            {:8.1} bytes an event, with orders",
        graph.bytes() as f64 / f64::from(EVENTS)
    );
    let (_, seconds) = timed(|| {
        graph.release_refs(&chain[1..]).expect("held");
        assert_eq!(graph.release_refs(&chain[..1]), Ok(CHAIN as u64));
    });
    println!("release_refs      {:8.1} ns an event of a chain", seconds / CHAIN as f64 * 1e9);
}

fn create(graph: &mut EventGraph, count: u32) -> Vec<EventId> {
    (0..count / 1000).flat_map(|_| graph.create_events(1000).expect("below the limit")).collect()
}

fn must(this: EventId, that: EventId) -> Constraint {
    Constraint { this, direction: Direction::Before, that, strength: Strength::Must }
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let started = Instant::now();
    let answer = run();
    (answer, started.elapsed().as_secs_f64())
}
