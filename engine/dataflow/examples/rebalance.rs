//! A skewed placement of tablets and its mending, as in the paper's section 5.5: queries come at a fixed rate, all tablets are hosted by one
//! executor, which cannot keep up; after two seconds the balancer may move them. Shown is what queries that came in each half second
//! waited, and what was moved. Every answer is checked.
//!
//! `cargo run --release -p tanglewood-dataflow --example rebalance`

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tanglewood_dataflow::{
    Context, Flow, GraphBuilder, Message, Operator, Outcome, QueryHandle, QueryOptions, Route, Runtime,
    RuntimeOptions, VertexOptions,
};
use world::clock::monotonic_ns;

const TABLETS_PER_EXECUTOR: usize = 8;
const SECONDS: u64 = 8;
const BALANCED_FROM_NS: u64 = 2_000_000_000;
const WINDOW_NS: u64 = 500_000_000;

struct Rows(Vec<u64>);

impl Message for Rows {
    fn rows(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self) -> usize {
        self.0.len() * 8
    }
}

/// Sends one row for each tablet.
struct Ask(u64);

impl Operator<Rows> for Ask {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(Rows((0..self.0).collect()));
        Ok(Flow::Ready)
    }
}

/// So much work a row.
fn work(row: u64, rounds: u64) -> u64 {
    (0..rounds).fold(row, |x, _| std::hint::black_box(x ^ (x << 7) ^ (x >> 9)))
}

struct Read(u64);

impl Operator<Rows> for Read {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(Rows(message.0.into_iter().map(|row| work(row, self.0)).collect()));
        Ok(Flow::Ready)
    }
}

#[derive(Default)]
struct Sum(u64);

impl Operator<Rows> for Sum {
    fn receive(&mut self, _: usize, message: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        self.0 = message.0.into_iter().fold(self.0, u64::wrapping_add);
        Ok(Flow::Ready)
    }
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(Rows(vec![self.0]));
        Ok(Flow::Ready)
    }
}

fn submit(runtime: &Runtime<Rows>, tablets: u64, rounds: u64) -> QueryHandle<Rows> {
    let mut graph = GraphBuilder::new();
    let ask = graph.vertex("Ask", VertexOptions::source(), move |_| Box::new(Ask(tablets)));
    let read = graph.vertex("Read", VertexOptions::default(), move |_| Box::new(Read(rounds)));
    let sum = graph.vertex("Sum", VertexOptions::default(), |_| Box::<Sum>::default());
    let split = |message: Rows, tablets: usize| {
        message.0.into_iter().map(|row| (row as usize % tablets, Rows(vec![row]))).collect()
    };
    graph.connect(ask, 0, read, 0, Route::Tablet(Arc::new(split)));
    graph.connect(read, 0, sum, 0, Route::Gather);
    graph.output(sum);
    runtime.submit(graph.finish().unwrap(), QueryOptions::default())
}

fn main() {
    let executors = world::workers::cores().max(2);
    let tablets = executors * TABLETS_PER_EXECUTOR;
    let options =
        RuntimeOptions { executors, tablets: Some(tablets), balance: false, ..RuntimeOptions::default() };
    let runtime = Runtime::start(options).unwrap();
    runtime.move_tablets((0..tablets).map(|tablet| (tablet, 0)));

    // A query is 6 ms of work; one executor gets a query each 5 ms.
    let start_ns = monotonic_ns();
    std::hint::black_box(work(1, 10_000_000));
    let rounds = 10_000_000 * 6_000_000 / tablets as u64 / (monotonic_ns() - start_ns);
    let every_ns = 5_000_000 * 2 / executors as u64;
    let wanted = (0..tablets as u64).fold(0, |sum: u64, row| sum.wrapping_add(work(row, rounds)));

    let start_ns = monotonic_ns();
    let mut open: VecDeque<(u64, QueryHandle<Rows>)> = VecDeque::new();
    let mut waited_ms = vec![Vec::new(); (SECONDS * 1_000_000_000 / WINDOW_NS) as usize];
    let (mut next_ns, mut balanced) = (0, false);
    while next_ns < SECONDS * 1_000_000_000 || !open.is_empty() {
        let now_ns = monotonic_ns() - start_ns;
        if !balanced && now_ns >= BALANCED_FROM_NS {
            balanced = true;
            runtime.balance(true);
        }
        while next_ns <= now_ns && next_ns < SECONDS * 1_000_000_000 {
            open.push_back((next_ns, submit(&runtime, tablets as u64, rounds)));
            next_ns += every_ns;
        }
        open.retain_mut(|(came_ns, handle)| match handle.try_next() {
            None => true,
            Some(answer) => {
                assert_eq!(answer.expect("an answer").expect("no query fails").0, [wanted]);
                let waited = (monotonic_ns() - start_ns - *came_ns) as f64 / 1e6;
                waited_ms[(*came_ns / WINDOW_NS) as usize].push(waited);
                false
            }
        });
        world::threads::sleep(Duration::from_micros(200));
    }
    for (window, waited) in waited_ms.iter_mut().enumerate() {
        waited.sort_by(f64::total_cmp);
        let at_s = window as f64 * WINDOW_NS as f64 / 1e9;
        let (middle, worst) = (waited[waited.len() / 2], waited[waited.len() - 1]);
        println!(
            "came at {at_s:.1} s: {} queries, median {middle:7.1} ms, worst {worst:7.1} ms",
            waited.len()
        );
    }
    let (moves, latest) = runtime.tablet_moves();
    let skew = tablets - TABLETS_PER_EXECUTOR;
    let mended = latest.iter().filter(|moved| moved.at_ns > start_ns + BALANCED_FROM_NS);
    let last_ms = mended.clone().map(|moved| (moved.at_ns - start_ns - BALANCED_FROM_NS) as f64 / 1e6);
    println!(
        "{moves} moves in all, {skew} of them to make the skew; {} to mend it, the last {:.0} ms after it was allowed",
        mended.count(),
        last_ms.fold(0.0, f64::max)
    );
}
