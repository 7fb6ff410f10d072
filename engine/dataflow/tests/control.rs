//! Limits, writes that must finish, invited peers, other roots, shares, wakers, and how soon things happen.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::{
    Context, Fault, Flow, GraphBuilder, Operator, Outcome, QueryHandle, QueryOptions, Root, RootStatus,
    Route, Runtime, RuntimeOptions, VertexNo, VertexOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// An operator made of closures.
struct Closure<R, S, C> {
    receive: R,
    resume: S,
    complete: C,
}

impl<R, S, C> Operator<Rows> for Closure<R, S, C>
where
    R: FnMut(Rows, &mut Context<'_, Rows>) -> Outcome + Send,
    S: FnMut(&mut Context<'_, Rows>) -> Outcome + Send,
    C: FnMut(&mut Context<'_, Rows>) -> Outcome + Send,
{
    fn receive(&mut self, _port: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        (self.receive)(message, context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        (self.resume)(context)
    }
    fn on_completion(&mut self, _port: usize, context: &mut Context<'_, Rows>) -> Outcome {
        (self.complete)(context)
    }
}

fn never(_: Rows, _: &mut Context<'_, Rows>) -> Outcome {
    unreachable!("this operator takes no messages")
}
fn forward(rows: Rows, context: &mut Context<'_, Rows>) -> Outcome {
    context.send(rows);
    Ok(Flow::Ready)
}
fn nothing(_: &mut Context<'_, Rows>) -> Outcome {
    Ok(Flow::Ready)
}

/// A source that sends batches of one row until told to end, or for ever.
fn source(graph: &mut GraphBuilder<Rows>, batches: u64, census: &Census, options: VertexOptions) -> VertexNo {
    let census = census.clone();
    graph.vertex("Source", options, move |_| {
        let (mut next, census) = (0, census.clone());
        let resume = move |context: &mut Context<'_, Rows>| {
            while next < batches {
                context.send(Rows::new(vec![next], &census));
                next += 1;
                if context.should_yield() {
                    return Ok(Flow::Again);
                }
            }
            Ok(Flow::Ready)
        };
        Box::new(Closure { receive: never, resume, complete: nothing })
    })
}

/// Passes on this many messages, then closes its inputs.
fn limit(graph: &mut GraphBuilder<Rows>, most: usize) -> VertexNo {
    graph.vertex("Limit", VertexOptions::default(), move |_| {
        let mut seen = 0;
        let receive = move |rows: Rows, context: &mut Context<'_, Rows>| {
            seen += 1;
            assert!(seen <= most, "no message after the inputs were closed");
            context.send(rows);
            if seen == most {
                context.close_inputs();
            }
            Ok(Flow::Ready)
        };
        Box::new(Closure { receive, resume: nothing, complete: nothing })
    })
}

fn pass(graph: &mut GraphBuilder<Rows>, name: &str, options: VertexOptions) -> VertexNo {
    graph
        .vertex(name, options, |_| Box::new(Closure { receive: forward, resume: nothing, complete: nothing }))
}

fn one_row(graph: GraphBuilder<Rows>, runtime: &Runtime<Rows>) -> QueryHandle<Rows> {
    runtime.submit(graph.finish().unwrap(), QueryOptions::default())
}

#[test]
fn a_limit_cancels_an_endless_source() {
    for executors in [1, 2, 4] {
        let runtime = runtime(executors);
        let census = Census::default();
        for _ in 0..50 {
            let mut graph = GraphBuilder::new();
            let source = source(&mut graph, u64::MAX, &census, VertexOptions::source());
            let map = pass(&mut graph, "Map", VertexOptions::default());
            let limit = limit(&mut graph, 5);
            graph.connect(source, 0, map, 0, Route::Spread);
            graph.connect(map, 0, limit, 0, Route::Gather);
            graph.output(limit);
            assert_eq!(drain(&mut one_row(graph, &runtime)).len(), 5);
        }
        census.wait_empty("messages");
    }
}

#[test]
fn a_limit_does_not_cancel_what_must_finish() {
    let runtime = runtime(2);
    let census = Census::default();
    for must_finish in [true, false] {
        let written = Arc::new(AtomicU64::new(0));
        let mut graph = GraphBuilder::new();
        let source = source(&mut graph, 20_000, &census, VertexOptions::source());
        let seen = written.clone();
        let options = VertexOptions { must_finish, ..VertexOptions::default() };
        let write = graph.vertex("Write", options, move |_| {
            let seen = seen.clone();
            let receive = move |rows: Rows, context: &mut Context<'_, Rows>| {
                seen.fetch_add(1, SeqCst);
                forward(rows, context)
            };
            Box::new(Closure { receive, resume: nothing, complete: nothing })
        });
        let limit = limit(&mut graph, 3);
        graph.connect(source, 0, write, 0, Route::Spread);
        graph.connect(write, 0, limit, 0, Route::Gather);
        graph.output(limit);
        assert_eq!(drain(&mut one_row(graph, &runtime)).len(), 3);
        let written = written.load(SeqCst);
        assert_eq!(written == 20_000, must_finish, "{written}");
    }
    census.wait_empty("messages");
}

#[test]
fn invited_peers_draw_from_one_dispatcher() {
    for executors in [1, 2, 4] {
        let runtime = runtime(executors);
        let census = Census::default();
        let drawn = Arc::new(AtomicU64::new(0));
        let workers = Arc::new(AtomicUsize::new(0));
        let mut graph = GraphBuilder::new();
        let (dispatcher, tally, messages) = (drawn.clone(), workers.clone(), census.clone());
        let paths = graph.vertex("Paths", VertexOptions::source(), move |_| {
            let (drawn, workers, messages) = (dispatcher.clone(), tally.clone(), messages.clone());
            let mut invited = false;
            let resume = move |context: &mut Context<'_, Rows>| {
                if !std::mem::replace(&mut invited, true) {
                    workers.fetch_add(1, SeqCst);
                    if context.is_home() {
                        context.invite_peers();
                    }
                }
                while !context.should_yield() {
                    let morsel = drawn.fetch_add(1, SeqCst);
                    if morsel >= 5_000 {
                        return Ok(Flow::Ready);
                    }
                    std::thread::sleep(Duration::from_micros(1));
                    context.send(Rows::new(vec![morsel], &messages));
                }
                Ok(Flow::Again)
            };
            Box::new(Closure { receive: never, resume, complete: nothing })
        });
        let sink = pass(&mut graph, "Sink", VertexOptions::default());
        graph.connect(paths, 0, sink, 0, Route::Gather);
        graph.output(sink);
        assert_eq!(drain(&mut one_row(graph, &runtime)), (0..5_000).collect::<Vec<_>>());
        assert_eq!(workers.load(SeqCst), executors, "each twin ran");
        census.wait_empty("messages");
    }
}

/// A query that burns time for ever, in calls of about `call`.
fn burner(call: Duration) -> GraphBuilder<Rows> {
    let mut graph = GraphBuilder::new();
    let burn = graph.vertex("Burn", VertexOptions::source(), move |_| {
        let resume = move |context: &mut Context<'_, Rows>| {
            while !context.should_yield() {
                let start = Instant::now();
                while start.elapsed() < call {
                    std::hint::spin_loop();
                }
            }
            Ok(Flow::Again)
        };
        Box::new(Closure { receive: never, resume, complete: nothing })
    });
    graph.output(burn);
    graph
}

struct Counter(Arc<AtomicU64>);

impl Root for Counter {
    fn run(&mut self, quota_ns: u64) -> RootStatus {
        let start = Instant::now();
        while start.elapsed() < Duration::from_nanos(quota_ns) {
            std::hint::spin_loop();
        }
        self.0.fetch_add(1, SeqCst);
        RootStatus::Busy
    }
}

#[test]
fn roots_and_tenants_share_by_their_shares() {
    let runtime = runtime(1);
    let turns = Arc::new(AtomicU64::new(0));
    let turns_seen = turns.clone();
    runtime.set_share(1, 100);
    runtime.set_share(2, 300);
    runtime.add_root(100, move |_| Box::new(Counter(turns_seen.clone())));
    let submit = |tenant| {
        let options = QueryOptions { tenant, ..QueryOptions::default() };
        runtime.submit(burner(Duration::from_micros(20)).finish().unwrap(), options)
    };
    let handles = [submit(1), submit(1), submit(2)];
    std::thread::sleep(Duration::from_millis(400));
    let queries = runtime.queries();
    assert_eq!(queries.len(), 3);
    let cpu: Vec<f64> = queries.iter().map(|query| query.cpu_ns as f64).collect();
    let ratio = cpu[2] / (cpu[0] + cpu[1]);
    assert!((1.8..5.0).contains(&ratio), "three times the share, got {ratio} of {cpu:?}");
    assert!((0.4..2.5).contains(&(cpu[0] / cpu[1])), "{cpu:?}");
    assert!(turns.load(SeqCst) > 10, "the root gets a sixth");
    drop(handles);
}

/// Works long in its first turn, taking no heed of its quota, and counts the turns.
struct Plodder(Arc<AtomicU64>);

impl Root for Plodder {
    fn run(&mut self, _quota_ns: u64) -> RootStatus {
        if self.0.fetch_add(1, SeqCst) == 0 {
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(1) {
                std::hint::spin_loop();
                dataflow::watch::spend(1).unwrap();
            }
            self.0.fetch_add(10, SeqCst);
        }
        RootStatus::Idle
    }
}

#[test]
fn a_root_that_takes_no_heed_of_its_quota_keeps_nobody_out() {
    let runtime = runtime(1);
    let turns = Arc::new(AtomicU64::new(0));
    let seen = turns.clone();
    let handle = runtime.add_root(100, move |_| Box::new(Plodder(seen.clone())));
    let start = Instant::now();
    let mut took = Duration::ZERO;
    while turns.load(SeqCst) < 11 {
        handle.wake_all();
        let begun = Instant::now();
        let mut graph = GraphBuilder::new();
        let source = source(&mut graph, 10, &Census::default(), VertexOptions::source());
        graph.output(source);
        assert_eq!(drain(&mut one_row(graph, &runtime)).len(), 10);
        took = took.max(begun.elapsed());
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    assert!(took < Duration::from_millis(300), "{took:?}");
    // It was woken meanwhile.
    while turns.load(SeqCst) < 12 {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Napper(Arc<AtomicU64>);

impl Root for Napper {
    fn run(&mut self, _quota_ns: u64) -> RootStatus {
        match self.0.fetch_add(1, SeqCst) {
            0 => RootStatus::WakeAt(world::clock::monotonic_ns() + 5_000_000),
            2 => panic!("on purpose"),
            _ => RootStatus::Idle,
        }
    }
}

#[test]
fn a_root_sleeps_wakes_and_may_die_alone() {
    let runtime = runtime(1);
    let turns = Arc::new(AtomicU64::new(0));
    let seen = turns.clone();
    let handle = runtime.add_root(100, move |_| Box::new(Napper(seen.clone())));
    let wait = |wanted: u64| {
        let start = Instant::now();
        while turns.load(SeqCst) < wanted {
            assert!(start.elapsed() < Duration::from_secs(5), "{wanted} turns wanted");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait(2);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(turns.load(SeqCst), 2, "idle until woken");
    handle.wake_all();
    wait(3);
    handle.wake_all();
    let mut graph = GraphBuilder::new();
    let source = source(&mut graph, 10, &Census::default(), VertexOptions::source());
    graph.output(source);
    assert_eq!(drain(&mut one_row(graph, &runtime)).len(), 10, "queries go on after a root's panic");
    assert_eq!(turns.load(SeqCst), 3);
}

#[test]
fn a_waker_tells_of_batches_and_the_end() {
    let runtime = runtime(2);
    let mut graph = GraphBuilder::new();
    let census = Census::default();
    let source = source(&mut graph, 1_000, &census, VertexOptions::source());
    graph.output(source);
    let mut handle = one_row(graph, &runtime);
    let news = Arc::new(AtomicBool::new(false));
    let told = news.clone();
    let client = std::thread::current();
    handle.set_waker(Arc::new(move || {
        told.store(true, SeqCst);
        client.unpark();
    }));
    let mut rows = 0;
    loop {
        match handle.try_next() {
            Some(Some(batch)) => rows += batch.unwrap().rows.len(),
            Some(None) => break,
            None => {
                while !news.swap(false, SeqCst) {
                    std::thread::park_timeout(Duration::from_secs(10));
                }
            }
        }
    }
    assert_eq!(rows, 1_000);
}

#[test]
fn a_kill_is_quick_and_a_short_query_passes_long_ones() {
    let runtime =
        Runtime::start(RuntimeOptions { executors: 1, pin: false, ..RuntimeOptions::default() }).unwrap();
    let long: Vec<_> = (0..4).map(|_| one_row(burner(Duration::from_micros(20)), &runtime)).collect();
    let census = Census::default();
    let start = Instant::now();
    let mut graph = GraphBuilder::new();
    let source = source(&mut graph, 10, &census, VertexOptions::source());
    graph.output(source);
    assert_eq!(drain(&mut one_row(graph, &runtime)).len(), 10);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(2), "behind at most a round of quotas, took {took:?}");
    for mut query in long {
        query.cancel("test");
        assert!(matches!(query.next(), Some(Err(Fault::Cancelled { .. }))));
    }
    assert!(runtime.queries().is_empty());
}

/// A copy to both sides of a join whose probe side waits: the probe side takes what comes, and the bytes are on the query's account.
#[test]
fn a_self_join_takes_its_waiting_side_on_account() {
    let runtime = runtime(2);
    let census = Census::default();
    for (bytes_max, fits) in [(1 << 20, true), (2_000, false)] {
        let mut graph = GraphBuilder::new();
        let source = source(&mut graph, 5_000, &census, VertexOptions::source());
        let messages = census.clone();
        let copy = graph.vertex("Copy", VertexOptions::default(), move |_| {
            let messages = messages.clone();
            let receive = move |rows: Rows, context: &mut Context<'_, Rows>| {
                context.send_to(1, Rows::new(rows.rows.clone(), &messages));
                forward(rows, context)
            };
            Box::new(Closure { receive, resume: nothing, complete: nothing })
        });
        let options = VertexOptions { ports: 2, port_order: 1, ..VertexOptions::default() };
        let join = pass(&mut graph, "Join", options);
        graph.connect(source, 0, copy, 0, Route::Local);
        graph.connect(copy, 0, join, 0, Route::Gather);
        graph.connect(copy, 1, join, 1, Route::Gather);
        graph.output(join);
        let options = QueryOptions { bytes_max, ..QueryOptions::default() };
        let mut handle = runtime.submit(graph.finish().unwrap(), options);
        if fits {
            assert_eq!(drain(&mut handle).len(), 10_000);
            assert_eq!(handle.profile()[2].bytes_peak, 40_000, "5000 rows of 8 bytes waited");
        } else {
            let fault = std::iter::from_fn(|| handle.next()).find_map(Result::err);
            match fault {
                Some(Fault::OverBudget { limit: 2_000, held, .. }) => assert_eq!(held[0].0, "Join"),
                other => panic!("{other:?}"),
            }
        }
    }
    census.wait_empty("messages");
}

/// Many short queries with long deadlines and a client's waker that panics: neither is the executors' trouble.
#[test]
fn short_queries_with_long_deadlines_and_bad_wakers_pass() {
    let runtime = runtime(2);
    let census = Census::default();
    for round in 0..3_000 {
        let mut graph = GraphBuilder::new();
        let source = source(&mut graph, 1, &census, VertexOptions::source());
        graph.output(source);
        let options = QueryOptions { deadline: Some(Duration::from_secs(3_600)), ..QueryOptions::default() };
        let mut handle = runtime.submit(graph.finish().unwrap(), options);
        if round == 10 {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                handle.set_waker(Arc::new(|| panic!("the waker's own")));
            }))
            .ok();
        }
        assert_eq!(drain(&mut handle), [0]);
    }
    census.wait_empty("messages");
}

/// A single large message on a spread edge is split where another executor has nothing to do, and nothing of it is lost or doubled.
#[test]
fn a_large_message_is_shared_with_idle_executors() {
    let runtime = runtime(2);
    let census = Census::default();
    let seen: Arc<[AtomicU64; 2]> = Arc::default();
    let rows: Vec<u64> = (0..1_000).collect();
    for round in 0.. {
        let mut graph = GraphBuilder::new();
        let (all, made) = (rows.clone(), census.clone());
        let source = graph.vertex("Source", VertexOptions::source(), move |_| {
            let (all, made) = (all.clone(), made.clone());
            let resume = move |context: &mut Context<'_, Rows>| {
                context.send(Rows::new(all.clone(), &made));
                Ok(Flow::Ready)
            };
            Box::new(Closure { receive: never, resume, complete: nothing })
        });
        let count = seen.clone();
        let hop = graph.vertex("Hop", VertexOptions::default(), move |executor| {
            let count = count.clone();
            let receive = move |rows: Rows, context: &mut Context<'_, Rows>| {
                count[executor].fetch_add(rows.rows.len() as u64, SeqCst);
                forward(rows, context)
            };
            Box::new(Closure { receive, resume: nothing, complete: nothing })
        });
        let end = pass(&mut graph, "End", VertexOptions::default());
        graph.connect(source, 0, hop, 0, Route::Spread);
        graph.connect(hop, 0, end, 0, Route::Gather);
        graph.output(end);
        let mut got = drain(&mut runtime.submit(graph.finish().unwrap(), QueryOptions::default()));
        got.sort_unstable();
        assert_eq!(got, rows);
        if seen.iter().all(|count| count.load(SeqCst) > 0) {
            break;
        }
        assert!(round < 1_000, "one executor had all: {seen:?}");
    }
    census.wait_empty("messages");
}
