//! How soon a kill takes effect at full load, and how soon a query ends whose client went away.
//!
//! Endless queries of several kinds keep all executors busy: operators that yield when they are told to, one that sends batch after batch,
//! one with tens of thousands of live scope instances. One of them is killed at a time; measured is the time until its client sees the end, and
//! until its last operator is dropped everywhere. Then clients go away without a word, one at a time.
//!
//! `cargo run --release -p tanglewood-dataflow --example kill [EXECUTORS]`; the clients need a core, too, where figures are to be exact.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use tanglewood_dataflow::{
    Context, Fault, Flow, GraphBuilder, Message, Operator, Outcome, QueryHandle, QueryOptions, Route,
    Runtime, RuntimeOptions, ScopeNo, ScopeOptions, VertexOptions,
};
use world::clock::monotonic_ns;

struct Row(#[allow(dead_code)] u64);

impl Message for Row {
    fn rows(&self) -> usize {
        1
    }
    fn bytes(&self) -> usize {
        8
    }
}

/// How many operators of one query there are.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicU64>);

impl Alive {
    fn enter(&self) -> Guard {
        self.0.fetch_add(1, SeqCst);
        Guard(self.clone())
    }
}

struct Guard(Alive);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

/// Works for ever, asking every few microseconds whether it should stop.
struct Spin(#[allow(dead_code)] Guard);

impl Operator<Row> for Spin {
    fn receive(&mut self, _: usize, _: Row, context: &mut Context<'_, Row>) -> Outcome {
        self.resume(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Row>) -> Outcome {
        let mut x = 1_u64;
        while !context.should_yield() {
            (0..2_000).for_each(|_| x = std::hint::black_box(x.wrapping_mul(3)));
        }
        Ok(Flow::Again)
    }
}

/// Sends for ever; if `opens`, each message into an instance of its own that is never ended.
struct Send {
    opens: bool,
    next: u64,
    _guard: Guard,
}

impl Operator<Row> for Send {
    fn receive(&mut self, _: usize, _: Row, _: &mut Context<'_, Row>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, Row>) -> Outcome {
        while !context.should_yield() {
            self.next += 1;
            if !self.opens {
                context.send(Row(self.next));
            } else if self.next <= 20_000 {
                let tag = context.open_instance();
                context.send_tagged(0, tag, Row(self.next));
            } else {
                return Ok(Flow::Waiting);
            }
        }
        Ok(Flow::Again)
    }
}

fn submit(runtime: &Runtime<Row>, kind: u64, alive: &Alive) -> QueryHandle<Row> {
    let mut graph = GraphBuilder::new();
    let scope =
        if kind == 2 { graph.scope_with(ScopeNo::ROOT, ScopeOptions::branch()) } else { ScopeNo::ROOT };
    let made = alive.clone();
    let source = graph.vertex("Send", VertexOptions::source(), move |_| {
        Box::new(Send { opens: kind == 2, next: 0, _guard: made.enter() })
    });
    let made = alive.clone();
    let inside = VertexOptions::default().in_scope(scope);
    let spin = graph.vertex("Spin", inside, move |_| Box::new(Spin(made.enter())));
    let made = alive.clone();
    let sink = graph.vertex("Sink", VertexOptions::default(), move |_| Box::new(Spin(made.enter())));
    let route = if kind == 2 { Route::Local } else { Route::Spread };
    graph.connect(source, 0, spin, 0, route);
    graph.connect(spin, 0, sink, 0, Route::Spread);
    graph.output(sink);
    runtime.submit(graph.finish().unwrap(), QueryOptions::default())
}

fn milliseconds_since(start_ns: u64) -> f64 {
    (monotonic_ns() - start_ns) as f64 / 1e6
}

/// Waits until no operator of the query is left.
fn wait_gone(alive: &Alive, start_ns: u64) -> f64 {
    while alive.0.load(SeqCst) > 0 {
        assert!(milliseconds_since(start_ns) < 10_000.0, "its operators stay");
        // Not spinning: this thread has no core of its own.
        world::threads::sleep(Duration::from_micros(50));
    }
    milliseconds_since(start_ns)
}

fn report(what: &str, mut times_ms: Vec<f64>) {
    times_ms.sort_by(f64::total_cmp);
    let at = |part: f64| times_ms[((times_ms.len() - 1) as f64 * part) as usize];
    println!("{what}: p50 {:.2} ms, p99 {:.2} ms, worst {:.2} ms", at(0.5), at(0.99), at(1.0));
}

fn main() {
    let executors = std::env::args().nth(1).map_or(world::workers::cores(), |count| count.parse().unwrap());
    let runtime = Runtime::start(RuntimeOptions { executors, ..RuntimeOptions::default() }).unwrap();
    let (mut seen_ms, mut gone_ms, mut left_ms) = (Vec::new(), Vec::new(), Vec::new());
    let mut running: Vec<(Alive, QueryHandle<Row>)> = Vec::new();
    for round in 0..1_000_u64 {
        while running.len() < 12 {
            let alive = Alive::default();
            let handle = submit(&runtime, (round + running.len() as u64) % 3, &alive);
            running.push((alive, handle));
        }
        // Let it get going.
        world::threads::sleep(Duration::from_millis(1));
        let (alive, mut handle) = running.remove((round % 5) as usize);
        let start_ns = monotonic_ns();
        if round % 4 == 3 {
            drop(handle);
            left_ms.push(wait_gone(&alive, start_ns));
            continue;
        }
        handle.cancel("measured");
        let end = std::iter::from_fn(|| handle.next()).find_map(Result::err);
        seen_ms.push(milliseconds_since(start_ns));
        assert!(matches!(end, Some(Fault::Cancelled { .. })), "it ends as it was told");
        gone_ms.push(wait_gone(&alive, start_ns));
    }
    println!("{} endless queries at a time on {} executors", running.len() + 1, runtime.executors());
    report("killed, until its client sees the end", seen_ms);
    report("killed, until its last operator is gone", gone_ms);
    report("client gone, until the last operator is", left_ms);
}
