//! How long the smallest query takes, from submit to the end seen, and what one message through one operator costs.
//!
//! `cargo run --release -p tanglewood-dataflow --example round_trip`

use tanglewood_dataflow::{
    Context, Flow, Graph, GraphBuilder, Message, Operator, Outcome, QueryOptions, Route, Runtime,
    RuntimeOptions, VertexOptions,
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

struct Source(u64, u64);

impl Operator<Row> for Source {
    fn receive(&mut self, _: usize, _: Row, _: &mut Context<'_, Row>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, Row>) -> Outcome {
        while self.0 < self.1 {
            context.send(Row(self.0));
            self.0 += 1;
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

/// Adds one and passes on; the last of a chain adds up and says the sum at the end.
struct Add(Option<u64>);

impl Operator<Row> for Add {
    fn receive(&mut self, _: usize, row: Row, context: &mut Context<'_, Row>) -> Outcome {
        match &mut self.0 {
            None => context.send(Row(row.0 + 1)),
            Some(sum) => *sum += row.0,
        }
        Ok(Flow::Ready)
    }
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Row>) -> Outcome {
        if let Some(sum) = self.0 {
            context.send(Row(sum));
        }
        Ok(Flow::Ready)
    }
}

fn chain(messages: u64, length: usize) -> Graph<Row> {
    let mut graph = GraphBuilder::new();
    let mut last = graph.vertex("Source", VertexOptions::source(), move |_| Box::new(Source(0, messages)));
    for place in 1..=length {
        let sum = (place == length).then_some(0);
        let next = graph.vertex("Add", VertexOptions::default(), move |_| Box::new(Add(sum)));
        graph.connect(last, 0, next, 0, Route::Local);
        last = next;
    }
    graph.output(last);
    graph.finish().unwrap()
}

fn run(runtime: &Runtime<Row>, messages: u64, length: usize) -> u64 {
    let start_ns = monotonic_ns();
    let mut query = runtime.submit(chain(messages, length), QueryOptions::default());
    let sum = query.next().unwrap().unwrap().0;
    assert!(query.next().is_none());
    assert_eq!(sum, messages * (messages - 1) / 2 + messages * (length as u64 - 1));
    monotonic_ns() - start_ns
}

fn main() {
    for executors in [1, 2] {
        let runtime = Runtime::start(RuntimeOptions { executors, ..RuntimeOptions::default() }).unwrap();
        for (what, pause_us) in [("back to back", 0), ("after 200 us of idling", 200)] {
            let mut times: Vec<u64> = (0..2_000)
                .map(|_| {
                    let start_ns = monotonic_ns();
                    while monotonic_ns() - start_ns < pause_us * 1_000 {
                        std::hint::spin_loop();
                    }
                    run(&runtime, 1, 2)
                })
                .collect();
            times.sort_unstable();
            println!(
                "{executors} executors, one row through 3 operators, {what}: p50 {:.1} us, p99 {:.1} us",
                times[1_000] as f64 / 1e3,
                times[1_980] as f64 / 1e3
            );
        }
        let (messages, length) = (200_000, 4);
        let best = (0..5).map(|_| run(&runtime, messages, length)).min().unwrap();
        println!(
            "{executors} executors, one message through one operator: {} ns",
            best / (messages * length as u64)
        );
    }
}
