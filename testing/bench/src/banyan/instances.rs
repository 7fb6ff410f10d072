//! How many scope instances one core opens, fills, cancels and clears away in a second: the bare runtime, on one executor.
//!
//! A source opens an instance for each number; two operators inside hand the number on and cancel the instance with its first row, before
//! it has come to its end. Checked: every instance was opened, gave its row once, and was cancelled.

use crate::report::Report;
use dataflow::{
    Context, Flow, Graph, GraphBuilder, Message, Operator, Outcome, QueryOptions, Route, Runtime,
    RuntimeOptions, ScopeNo, ScopeOptions, VertexOptions,
};
use world::clock::monotonic_ns;

/// Instances of one run.
const COUNT: u64 = 2_000_000;
/// Runs, of which the best counts.
const RUNS: usize = 5;
/// Instances a second and core.
const RATE_MIN: f64 = 1e6;

struct Row(u64);

impl Message for Row {
    fn rows(&self) -> usize {
        1
    }
    fn bytes(&self) -> usize {
        8
    }
}

/// Source and ingress: an instance a number.
struct Open {
    next: u64,
}

impl Operator<Row> for Open {
    fn receive(&mut self, _: usize, _: Row, _: &mut Context<'_, Row>) -> Outcome {
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Row>) -> Outcome {
        while self.next < COUNT {
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

/// Hands a number on; the last one in the scope then cancels the instance.
struct Hand {
    cancels: bool,
}

impl Operator<Row> for Hand {
    fn receive(&mut self, _: usize, row: Row, context: &mut Context<'_, Row>) -> Outcome {
        context.send(row);
        if self.cancels {
            context.finish_instance();
        }
        Ok(Flow::Ready)
    }
    fn recycle(&mut self) -> bool {
        true
    }
}

/// How many came, and their sum.
#[derive(Default)]
struct Sum(u64, u64);

impl Operator<Row> for Sum {
    fn receive(&mut self, _: usize, Row(number): Row, _: &mut Context<'_, Row>) -> Outcome {
        (self.0, self.1) = (self.0 + 1, self.1.wrapping_add(number));
        Ok(Flow::Ready)
    }
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Row>) -> Outcome {
        context.send(Row(self.0));
        context.send(Row(self.1));
        Ok(Flow::Ready)
    }
}

fn graph() -> Result<Graph<Row>, String> {
    let mut graph = GraphBuilder::new();
    let scope = graph.scope_with(ScopeNo::ROOT, ScopeOptions::branch());
    let open = graph.vertex("Open", VertexOptions::source(), |_| Box::new(Open { next: 0 }));
    let inside = || VertexOptions::default().in_scope(scope);
    let hand = graph.vertex("Hand", inside(), |_| Box::new(Hand { cancels: false }));
    let last = graph.vertex("Cancel", inside(), |_| Box::new(Hand { cancels: true }));
    let sum = graph.vertex("Sum", VertexOptions::default(), |_| Box::<Sum>::default());
    graph.connect(open, 0, hand, 0, Route::Local);
    graph.connect(hand, 0, last, 0, Route::Local);
    graph.connect(last, 0, sum, 0, Route::Gather);
    graph.output(sum);
    graph.finish().map_err(|error| error.to_string())
}

/// Instances a second.
fn rate(runtime: &Runtime<Row>) -> Result<f64, String> {
    let mut handle = runtime.submit(graph()?, QueryOptions::default());
    let begin_ns = monotonic_ns();
    let mut answer = Vec::new();
    while let Some(row) = handle.next() {
        answer.push(row.map_err(|fault| format!("{fault:?}"))?.0);
    }
    let rate = COUNT as f64 * 1e9 / (monotonic_ns() - begin_ns) as f64;
    let cancelled = handle.progress().scopes.iter().map(|scope| scope.cancelled).sum::<u64>();
    if answer != [COUNT, COUNT * (COUNT - 1) / 2] || cancelled != COUNT {
        return Err(format!("{COUNT} instances answered {answer:?}, {cancelled} were cancelled"));
    }
    Ok(rate)
}

pub(crate) fn run(report: &mut Report) -> Result<(), String> {
    let options = RuntimeOptions { executors: 1, ..RuntimeOptions::default() };
    let runtime = Runtime::start(options).map_err(|error| error.to_string())?;
    let mut best = 0.0_f64;
    for _ in 0..RUNS {
        best = best.max(rate(&runtime)?);
    }
    report.figure(
        "scope instances opened and cancelled, one core",
        &format!("{:.2} M/s, {:.0} ns each", best / 1e6, 1e9 / best),
        &format!("at least {:.0} M/s", RATE_MIN / 1e6),
        best >= RATE_MIN,
    );
    Ok(())
}
