//! Figures of a query while it runs and after it; operators that wait for an external event.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::{
    Context, Flow, GraphBuilder, Operator, Outcome, QueryHandle, QueryOptions, Route, Runtime, ScopeNo,
    ScopeOptions, VertexOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Source of `rows` rows, each in an instance of its own.
struct Open {
    next: u64,
    rows: u64,
    /// Goes no further until told.
    gate: Arc<AtomicBool>,
    messages: Census,
}

impl Operator<Rows> for Open {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!()
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while self.next < self.rows {
            if self.next == self.rows / 2 && !self.gate.load(SeqCst) {
                return Ok(Flow::Waiting);
            }
            let tag = context.open_instance();
            context.send_tagged(0, tag, Rows::new(vec![self.next], &self.messages));
            self.next += 1;
            // Every tenth is left open.
            if !self.next.is_multiple_of(10) {
                context.end_instance(0, tag);
            }
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

/// Passes rows on; finishes the instance at every third.
struct Third(Census);

impl Operator<Rows> for Third {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        context.charge(100)?;
        context.send(Rows::new(message.rows.clone(), &self.0));
        if message.rows[0].is_multiple_of(3) {
            context.finish_instance();
        }
        Ok(Flow::Ready)
    }
}

struct Pass(Census);

impl Operator<Rows> for Pass {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(Rows::new(message.rows.clone(), &self.0));
        Ok(Flow::Ready)
    }
}

fn submit(runtime: &Runtime<Rows>, rows: u64, wide: bool, gate: &Arc<AtomicBool>) -> QueryHandle<Rows> {
    let mut graph = GraphBuilder::new();
    let options = ScopeOptions { wide, ..ScopeOptions::branch().named("each row") };
    let scope = graph.scope_with(ScopeNo::ROOT, options);
    let (census, gate) = (Census::default(), gate.clone());
    let messages = census.clone();
    let open = graph.vertex("Open", VertexOptions::source(), move |_| {
        Box::new(Open { next: 0, rows, gate: gate.clone(), messages: messages.clone() })
    });
    let messages = census.clone();
    let inside = VertexOptions::default().in_scope(scope);
    let third = graph.vertex("Third", inside, move |_| Box::new(Third(messages.clone())));
    let sink = graph.vertex("Sink", VertexOptions::default(), move |_| Box::new(Pass(census.clone())));
    graph.connect(open, 0, third, 0, if wide { Route::Spread } else { Route::Local });
    graph.connect(third, 0, sink, 0, Route::Spread);
    graph.output(sink);
    runtime.submit(graph.finish().unwrap(), QueryOptions::default())
}

#[test]
fn progress_is_readable_while_a_query_runs() {
    for wide in [false, true] {
        let runtime = runtime(2);
        let gate = Arc::new(AtomicBool::new(false));
        let mut handle = submit(&runtime, 100, wide, &gate);
        let mut seen = 0;
        while seen < 50 {
            seen += handle.next().unwrap().unwrap().rows.len();
        }
        // Counts are handed over after each turn, so soon.
        let wanted = |progress: &dataflow::QueryProgress| {
            let scope = &progress.scopes[1];
            let counts = (scope.opened, scope.cancelled, scope.messages) == (50, 17, 50);
            // Five were left open; of these, two were cancelled (numbers 9 and 39) and three live and hold what they charged.
            counts && (scope.live, scope.bytes_held) == (3, 300) && progress.vertices[2].rows_in == 50
        };
        let started = std::time::Instant::now();
        while !runtime.progress(handle.id()).is_some_and(|progress| wanted(&progress)) {
            assert!(started.elapsed() < Duration::from_secs(10), "{:?}", runtime.progress(handle.id()));
            std::thread::sleep(Duration::from_millis(1));
        }
        let progress = handle.progress();
        let scope = &progress.scopes[1];
        assert_eq!((scope.name.as_str(), scope.wide, scope.parent), ("each row", wide, ScopeNo::ROOT));
        assert!(progress.complete().0 < 3 && progress.scopes[0].live == 1);
        gate.store(true, SeqCst);
        while handle.next().is_some() {}
        assert!(runtime.progress(handle.id()).is_none(), "it runs no more");
    }
}

#[test]
fn figures_are_whole_when_the_end_is_seen() {
    for executors in [1, 4] {
        let runtime = runtime(executors);
        for round in 0..200 {
            let wide = round % 4 == 0;
            let mut handle = submit(&runtime, 60, wide, &Arc::new(AtomicBool::new(true)));
            assert_eq!(drain(&mut handle).len(), 60);
            let progress = handle.progress();
            let rows: Vec<_> =
                progress.vertices.iter().map(|vertex| (vertex.rows_in, vertex.rows_out)).collect();
            assert_eq!(rows, [(0, 60), (60, 60), (60, 60)], "round {round} wide {wide}");
            assert_eq!(progress.complete(), (3, 3));
            let scope = &progress.scopes[1];
            assert_eq!((scope.opened, scope.cancelled, scope.ended, scope.live), (60, 20, 40, 0));
            assert!(progress.vertices.iter().all(|vertex| vertex.queued == 0), "{progress:?}");
            assert_eq!(progress.vertices[1].bytes_held, 0);
        }
    }
}

/// Waits for a thread of its own to bring something.
struct Fetch {
    there: Arc<AtomicBool>,
    calls: Arc<AtomicUsize>,
    messages: Census,
}

impl Operator<Rows> for Fetch {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!()
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.calls.fetch_add(1, SeqCst);
        if !self.there.load(SeqCst) {
            let (there, waker) = (self.there.clone(), context.waker());
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                there.store(true, SeqCst);
                waker.wake();
                waker.wake();
            });
            return Ok(Flow::Waiting);
        }
        context.send(Rows::new(vec![7], &self.messages));
        Ok(Flow::Ready)
    }
}

fn fetch(runtime: &Runtime<Rows>, calls: &Arc<AtomicUsize>, messages: &Census) -> QueryHandle<Rows> {
    let mut graph = GraphBuilder::new();
    let (calls, messages) = (calls.clone(), messages.clone());
    let fetch = graph.vertex("Fetch", VertexOptions::source(), move |_| {
        let there = Arc::new(AtomicBool::new(false));
        Box::new(Fetch { there, calls: calls.clone(), messages: messages.clone() })
    });
    graph.output(fetch);
    runtime.submit(graph.finish().unwrap(), QueryOptions::default())
}

#[test]
fn one_that_waits_for_something_outside_gives_the_core_away() {
    let runtime = runtime(1);
    let (calls, messages) = (Arc::new(AtomicUsize::new(0)), Census::default());
    let mut waits = fetch(&runtime, &calls, &messages);
    let mut others = 0;
    while waits.try_next().is_none() {
        let mut other = submit(&runtime, 30, false, &Arc::new(AtomicBool::new(true)));
        assert_eq!(drain(&mut other).len(), 30);
        others += 1;
    }
    assert!(others > 3, "{others} queries passed");
    assert_eq!(calls.load(SeqCst), 2, "asked once, and once more when woken");
    assert!(waits.next().is_none());
    // One that is cancelled while parked goes at once, and its waker wakes nobody.
    let parked = fetch(&runtime, &calls, &messages);
    while calls.load(SeqCst) < 3 {
        std::thread::yield_now();
    }
    drop(parked);
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(calls.load(SeqCst), 3);
    messages.wait_empty("messages");
}
