//! How many scope instances one core opens, fills, cancels and clears away in a second.
//!
//! For each number an instance of a scope with two operators: `Divide` sends the number's divisors one by one, `Found` cancels the
//! instance at the first even one. Checked against the count of even numbers. The last line is for a scope whose instances span executors,
//! here one.
//!
//! `cargo run --release -p tanglewood-dataflow --example scope_instances`

use tanglewood_dataflow::{
    Context, Flow, GraphBuilder, Message, Operator, Outcome, QueryOptions, Route, Runtime, RuntimeOptions,
    ScopeNo, ScopeOptions, VertexOptions,
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

/// Source and ingress: one instance a number.
struct Open {
    next: u64,
    count: u64,
}

impl Operator<Row> for Open {
    fn receive(&mut self, _: usize, _: Row, _: &mut Context<'_, Row>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, Row>) -> Outcome {
        while self.next < self.count {
            let tag = context.open_instance();
            context.send_tagged(0, tag, Row(self.next));
            context.end_instance(0, tag);
            self.next += 1;
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

struct Divide;

impl Operator<Row> for Divide {
    fn receive(&mut self, _: usize, Row(number): Row, context: &mut Context<'_, Row>) -> Outcome {
        context.send(Row(number));
        Ok(Flow::Ready)
    }
    fn recycle(&mut self) -> bool {
        true
    }
}

struct Found;

impl Operator<Row> for Found {
    fn receive(&mut self, _: usize, Row(number): Row, context: &mut Context<'_, Row>) -> Outcome {
        if number.is_multiple_of(2) {
            context.send(Row(number));
            context.finish_instance();
        }
        Ok(Flow::Ready)
    }
    fn recycle(&mut self) -> bool {
        true
    }
}

#[derive(Default)]
struct Count(u64);

impl Operator<Row> for Count {
    fn receive(&mut self, _: usize, _: Row, _: &mut Context<'_, Row>) -> Outcome {
        self.0 += 1;
        Ok(Flow::Ready)
    }
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Row>) -> Outcome {
        context.send(Row(self.0));
        Ok(Flow::Ready)
    }
}

fn run(runtime: &Runtime<Row>, count: u64, instances_max: Option<u32>, wide: bool) -> u64 {
    let mut graph = GraphBuilder::new();
    let options = ScopeOptions { instances_max, wide, ..ScopeOptions::branch() };
    let scope = graph.scope_with(ScopeNo::ROOT, options);
    let open = graph.vertex("Open", VertexOptions::source(), move |_| Box::new(Open { next: 0, count }));
    let divide = graph.vertex("Divide", VertexOptions::default().in_scope(scope), |_| Box::new(Divide));
    let found = graph.vertex("Found", VertexOptions::default().in_scope(scope), |_| Box::new(Found));
    let total = VertexOptions { create_if_empty: true, ..VertexOptions::default() };
    let total = graph.vertex("Count", total, |_| Box::<Count>::default());
    graph.connect(open, 0, divide, 0, Route::Local);
    graph.connect(divide, 0, found, 0, Route::Local);
    graph.connect(found, 0, total, 0, Route::Gather);
    graph.output(total);
    let mut handle = runtime.submit(graph.finish().unwrap(), QueryOptions::default());
    let start_ns = monotonic_ns();
    let Row(even) = handle.next().unwrap().unwrap();
    assert_eq!(even, count.div_ceil(2), "every even number passes once");
    assert!(handle.next().is_none());
    monotonic_ns() - start_ns
}

fn main() {
    let runtime = Runtime::start(RuntimeOptions { executors: 1, ..RuntimeOptions::default() }).unwrap();
    let count = 2_000_000;
    for instances_max in [None, Some(1), Some(16), Some(1_000)] {
        let best_ns = (0..5).map(|_| run(&runtime, count, instances_max, false)).min().unwrap();
        let millions = count as f64 * 1e3 / best_ns as f64;
        let limit = instances_max.map_or("none".to_string(), |max| max.to_string());
        println!(
            "at most {limit:>5} at once: {millions:.2} M instances a second and core, {} ns each",
            best_ns / count
        );
    }
    let count = count / 10;
    let best_ns = (0..5).map(|_| run(&runtime, count, Some(16), true)).min().unwrap();
    println!("wide, at most 16 at once: {} ns each", best_ns / count);
}
