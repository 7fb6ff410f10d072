//! The processor time of a tenant of short queries beside one of endless queries with the same share.
//!
//! A client asks one query after the other, each some 200 µs of work handed to and fro between the executors; first alone, then beside
//! eight endless queries of another tenant. Half the throughput it had alone is its part.
//!
//! `cargo run --release -p tanglewood-dataflow --example neighbour_tenants [EXECUTORS]`

use std::time::Duration;
use tanglewood_dataflow::{
    Context, Flow, GraphBuilder, Message, Operator, Outcome, QueryHandle, QueryOptions, Route, Runtime,
    RuntimeOptions, TenantNo, VertexOptions,
};
use world::clock::monotonic_ns;

struct Row(u64);

impl Message for Row {
    fn rows(&self) -> usize {
        1
    }
    fn bytes(&self) -> usize {
        8
    }
}

/// Some 10 µs.
fn work(x: u64) -> u64 {
    (0..10_000).fold(x, |x, _| std::hint::black_box(x.wrapping_mul(3) ^ (x >> 5)))
}

struct Source(u64);

impl Operator<Row> for Source {
    fn receive(&mut self, _: usize, _: Row, _: &mut Context<'_, Row>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, Row>) -> Outcome {
        while self.0 > 0 {
            self.0 -= 1;
            context.send(Row(work(self.0)));
            if context.should_yield() && self.0 > 0 {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

struct Hop;

impl Operator<Row> for Hop {
    fn receive(&mut self, _: usize, Row(x): Row, context: &mut Context<'_, Row>) -> Outcome {
        context.send(Row(work(x)));
        Ok(Flow::Ready)
    }
}

/// Swallows all.
struct Sink;

impl Operator<Row> for Sink {
    fn receive(&mut self, _: usize, _: Row, _: &mut Context<'_, Row>) -> Outcome {
        Ok(Flow::Ready)
    }
}

fn submit(runtime: &Runtime<Row>, tenant: TenantNo, rows: u64) -> QueryHandle<Row> {
    let mut graph = GraphBuilder::new();
    let source = graph.vertex("Source", VertexOptions::source(), move |_| Box::new(Source(rows)));
    let hop = graph.vertex("Hop", VertexOptions::default(), |_| Box::new(Hop));
    let sink = graph.vertex("Sink", VertexOptions::default(), |_| Box::new(Sink));
    let next = |Row(x): Row, parts: usize| vec![(x as usize % parts, Row(x))];
    graph.connect(source, 0, hop, 0, Route::Partition(std::sync::Arc::new(next)));
    graph.connect(hop, 0, sink, 0, Route::Gather);
    graph.output(sink);
    runtime.submit(graph.finish().unwrap(), QueryOptions { tenant, ..QueryOptions::default() })
}

/// Asks for so long; returns queries a second, and the time that 99 of 100 were answered in.
fn ask(runtime: &Runtime<Row>, time: Duration) -> (f64, f64) {
    let start_ns = monotonic_ns();
    let mut times_ms = Vec::new();
    while monotonic_ns() - start_ns < time.as_nanos() as u64 {
        let asked_ns = monotonic_ns();
        assert!(submit(runtime, 1, 10).next().is_none(), "it ends well");
        times_ms.push((monotonic_ns() - asked_ns) as f64 / 1e6);
    }
    times_ms.sort_by(f64::total_cmp);
    (times_ms.len() as f64 / time.as_secs_f64(), times_ms[times_ms.len() * 99 / 100])
}

fn main() {
    let executors = std::env::args().nth(1).map_or(world::workers::cores(), |count| count.parse().unwrap());
    let runtime = Runtime::start(RuntimeOptions { executors, ..RuntimeOptions::default() }).unwrap();
    let time = Duration::from_secs(2);
    ask(&runtime, time / 4);
    let (alone, alone_p99_ms) = ask(&runtime, time);
    let endless: Vec<_> = (0..8).map(|_| submit(&runtime, 2, u64::MAX)).collect();
    let (beside, beside_p99_ms) = ask(&runtime, time);
    drop(endless);
    println!("alone {alone:.0} queries a second, p99 {alone_p99_ms:.2} ms");
    println!("beside eight endless queries {beside:.0}, p99 {beside_p99_ms:.2} ms");
    println!("that is {:.0} % of half of what it had alone", 200.0 * beside / alone);
}
