//! One call that works for long: it pauses when its turn is over, so that others go on, and ends as soon as its query does.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::watch::{LoopBytes, give_way, spend};
use dataflow::{
    AccountOptions, Context, Fault, Flow, Graph, GraphBuilder, Latch, Operator, Outcome, QueryHandle,
    QueryOptions, Runtime, Stepped, VertexOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What one call does before it sends its row.
#[derive(Clone)]
enum Work {
    /// So many units.
    Units(u64),
    /// Without end.
    Endless,
    /// Without end, and counts the units.
    Counted(Arc<AtomicU64>),
    /// Without end, holds something, and gives way to others again and again.
    Waiting,
    /// Until the latch opens, and counts its looks.
    Awaiting(Arc<Latch>, Arc<AtomicU64>),
    /// Holds more and more, without end.
    Hoarding,
    /// Takes no heed of its end for so many units.
    Deaf(u64),
}

struct Working(Work, Census);

impl Operator<Rows> for Working {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!("a source")
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        match &self.0 {
            Work::Units(units) => (0..*units).try_for_each(|_| turn())?,
            Work::Endless => loop {
                turn()?;
            },
            Work::Counted(count) => loop {
                count.fetch_add(1, Relaxed);
                turn()?;
            },
            Work::Waiting => {
                let mut hold = LoopBytes::default();
                hold.set(1 << 19)?;
                loop {
                    give_way();
                    turn()?;
                }
            }
            Work::Awaiting(latch, passed) => {
                let mut hold = LoopBytes::default();
                hold.set(1 << 19)?;
                latch.wait()?;
                passed.fetch_add(1, Relaxed);
            }
            Work::Hoarding => {
                let mut hold = LoopBytes::default();
                loop {
                    hold.grow(1 << 10)?;
                    turn()?;
                }
            }
            Work::Deaf(units) => (0..*units).for_each(|_| {
                let _ = turn();
            }),
        }
        context.send(Rows::new(vec![7], &self.1));
        Ok(Flow::Ready)
    }
}

/// Some 50 ns.
fn turn() -> Result<(), dataflow::watch::Stopped> {
    (0..40_u64).for_each(|at| {
        std::hint::black_box(at);
    });
    spend(1)
}

fn graph(work: Work, census: &Census) -> Graph<Rows> {
    let mut graph = GraphBuilder::new();
    let census = census.clone();
    // One call, on the home executor.
    let source = graph
        .vertex("Working", VertexOptions::source(), move |_| Box::new(Working(work.clone(), census.clone())));
    graph.output(source);
    graph.finish().unwrap()
}

fn submit(runtime: &Runtime<Rows>, work: Work, options: QueryOptions) -> QueryHandle<Rows> {
    runtime.submit(graph(work, &Census::default()), options)
}

fn fault(handle: &mut QueryHandle<Rows>) -> Fault {
    match handle.next_timeout(Duration::from_secs(20)).expect("it ends").expect("with a fault") {
        Err(fault) => fault,
        Ok(_) => panic!("it has no end of its own"),
    }
}

#[test]
fn small_queries_go_on_beside_calls_without_end() {
    let runtime = runtime(1);
    let mut endless: Vec<_> =
        (0..3).map(|_| submit(&runtime, Work::Endless, QueryOptions::default())).collect();
    std::thread::sleep(Duration::from_millis(20));
    let mut took = Vec::new();
    for _ in 0..50 {
        let began = Instant::now();
        assert_eq!(drain(&mut submit(&runtime, Work::Units(100), QueryOptions::default())), [7]);
        took.push(began.elapsed());
    }
    took.sort_unstable();
    assert!(took[25] < Duration::from_millis(100), "behind three quotas, it took {:?}", took[25]);
    for handle in &mut endless {
        let began = Instant::now();
        handle.cancel("test");
        assert!(matches!(fault(handle), Fault::Cancelled { .. }));
        assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    }
    assert_eq!(drain(&mut submit(&runtime, Work::Units(100), QueryOptions::default())), [7]);
}

#[test]
fn tenants_share_by_their_shares_although_calls_are_long() {
    let runtime = runtime(1);
    runtime.set_tenant(1, &AccountOptions { share: 300, ..AccountOptions::default() });
    let counts = [1, 2].map(|tenant| {
        let count = Arc::new(AtomicU64::new(0));
        let options = QueryOptions { tenant, ..QueryOptions::default() };
        (submit(&runtime, Work::Counted(count.clone()), options), count)
    });
    std::thread::sleep(Duration::from_millis(500));
    let [large, small] = counts.each_ref().map(|(_, count)| count.load(Relaxed) as f64);
    assert!((2.0..4.5).contains(&(large / small)), "{large} units beside {small}");
}

#[test]
fn deadlines_and_budgets_end_a_call() {
    let runtime = runtime(1);
    let began = Instant::now();
    let deadline = Some(Duration::from_millis(50));
    let mut handle = submit(&runtime, Work::Endless, QueryOptions { deadline, ..QueryOptions::default() });
    assert!(matches!(fault(&mut handle), Fault::TimedOut { .. }));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let options = QueryOptions { bytes_max: 1 << 20, ..QueryOptions::default() };
    let mut handle = submit(&runtime, Work::Hoarding, options);
    assert!(matches!(fault(&mut handle), Fault::OverBudget { .. }));
    assert_eq!(drain(&mut submit(&runtime, Work::Units(100_000), QueryOptions::default())), [7]);
}

/// Who gives way to others is charged, and ends, as before: what the thread knows of it is put away meanwhile.
#[test]
fn who_gives_way_is_still_watched() {
    let runtime = runtime(1);
    let options = QueryOptions { bytes_max: 1 << 20, ..QueryOptions::default() };
    let mut waiting: Vec<_> = (0..3).map(|_| submit(&runtime, Work::Waiting, options.clone())).collect();
    for _ in 0..20 {
        assert_eq!(drain(&mut submit(&runtime, Work::Units(100), QueryOptions::default())), [7]);
    }
    let mut hoarding = submit(&runtime, Work::Hoarding, options);
    assert!(matches!(fault(&mut hoarding), Fault::OverBudget { .. }));
    for handle in &mut waiting {
        handle.cancel("test");
        assert!(matches!(fault(handle), Fault::Cancelled { .. }));
    }
    assert_eq!(drain(&mut submit(&runtime, Work::Units(100_000), QueryOptions::default())), [7]);
}

#[test]
fn many_paused_calls_keep_apart_and_leave_nothing() {
    let runtime = hasty_runtime(2);
    let census = Census::default();
    let of =
        |number: u64| if number.is_multiple_of(3) { Work::Endless } else { Work::Units(40_000 + number) };
    let submit = |number| runtime.submit(graph(of(number), &census), QueryOptions::default());
    let mut handles: Vec<_> = (0..60).map(submit).collect();
    for (number, handle) in handles.iter_mut().enumerate() {
        if number.is_multiple_of(3) {
            handle.cancel("test");
            assert!(matches!(fault(handle), Fault::Cancelled { .. }));
        } else {
            assert_eq!(drain(handle), [7]);
        }
    }
    census.wait_empty("rows");
}

#[test]
fn a_runtime_is_dropped_while_calls_are_paused() {
    for work in [Work::Endless, Work::Deaf(100_000)] {
        let runtime = runtime(2);
        let handles: Vec<_> =
            (0..8).map(|_| submit(&runtime, work.clone(), QueryOptions::default())).collect();
        std::thread::sleep(Duration::from_millis(10));
        let began = Instant::now();
        drop(runtime);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        drop(handles);
    }
}

#[test]
fn a_call_that_takes_no_heed_of_its_end_keeps_nobody_out() {
    let runtime = runtime(1);
    let mut deaf = submit(&runtime, Work::Deaf(1_000_000), QueryOptions::default());
    std::thread::sleep(Duration::from_millis(5));
    deaf.cancel("test");
    let began = Instant::now();
    assert_eq!(drain(&mut submit(&runtime, Work::Units(100), QueryOptions::default())), [7]);
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    assert!(matches!(fault(&mut deaf), Fault::Cancelled { .. }));
}

/// Executors that are stepped have nothing to do while a call waits for a latch: it is not asked again and again.
#[test]
fn who_waits_for_a_latch_is_left_alone_until_it_opens() {
    let (latch, passed) = (Arc::new(Latch::default()), Arc::new(AtomicU64::new(0)));
    let mut stepped = Stepped::<Rows>::new(1, 7);
    let awaiting = || graph(Work::Awaiting(latch.clone(), passed.clone()), &Census::default());
    let mut handles: Vec<_> = (0..3).map(|_| stepped.submit(awaiting(), QueryOptions::default())).collect();
    let rest = |stepped: &mut Stepped<Rows>| (0..10_000).take_while(|_| stepped.step()).count();
    assert!(rest(&mut stepped) < 1_000, "nothing is left to do");
    assert!(handles.iter_mut().all(|handle| handle.try_next().is_none()));
    assert_eq!(passed.load(Relaxed), 0);
    latch.open();
    latch.open();
    rest(&mut stepped);
    // The latch is open for who comes late.
    handles.push(stepped.submit(awaiting(), QueryOptions::default()));
    rest(&mut stepped);
    for handle in &mut handles {
        let Some(Some(Ok(rows))) = handle.try_next() else { panic!("it has its row") };
        assert_eq!(rows.rows, [7]);
    }
    assert_eq!(passed.load(Relaxed), 4);
}

#[test]
fn who_waits_for_a_latch_ends_with_its_query() {
    let (latch, passed) = (Arc::new(Latch::default()), Arc::new(AtomicU64::new(0)));
    let runtime = runtime(1);
    let awaiting = |options| submit(&runtime, Work::Awaiting(latch.clone(), passed.clone()), options);
    let began = Instant::now();
    let deadline = Some(Duration::from_millis(50));
    let mut late = awaiting(QueryOptions { deadline, ..QueryOptions::default() });
    let (mut killed, mut opened) = (awaiting(QueryOptions::default()), awaiting(QueryOptions::default()));
    assert_eq!(drain(&mut submit(&runtime, Work::Units(100), QueryOptions::default())), [7]);
    assert!(matches!(fault(&mut late), Fault::TimedOut { .. }));
    killed.cancel("test");
    assert!(matches!(fault(&mut killed), Fault::Cancelled { .. }));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(passed.load(Relaxed), 0);
    latch.open();
    assert_eq!(drain(&mut opened), [7]);
    // One that still waits goes with the runtime.
    let closed = Arc::new(Latch::default());
    let left = submit(&runtime, Work::Awaiting(closed.clone(), passed), QueryOptions::default());
    drop(runtime);
    closed.open();
    drop(left);
}

/// A thread without an executor sleeps, and is watched while it does.
#[test]
fn a_thread_of_a_client_waits_for_a_latch() {
    let latch = Arc::new(Latch::default());
    let opening = latch.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        opening.open();
    });
    let began = Instant::now();
    latch.wait().unwrap();
    assert!(began.elapsed() > Duration::from_millis(15), "{:?}", began.elapsed());
    thread.join().unwrap();
}
