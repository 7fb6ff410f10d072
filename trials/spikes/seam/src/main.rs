//! Can one pinned thread run operator batches, path morsels and a stepped timely worker under quotas? Numbers, each from a run that
//! checks its answers. `cargo run --release` in this folder; see docs/decisions/2026-11-20-one-thread-three-kinds-of-work.md.

mod measure;
mod standing;
mod work;

use dataflow::{Graph, QueryHandle, QueryOptions, Root, RootStatus, Runtime, RuntimeOptions};
use measure::{Random, Times, monotonic_ns};
use standing::{Counters, Feed, Standing};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Acquire, Ordering::Relaxed};
use std::time::Duration;
use work::{Batch, Csr, Fate};
use world::workers::{WorkerControl, WorkerOptions, Workers};

const SEED: u64 = 20_261_120;
const HUB_EDGES: u32 = 1_000_000;
const KILLS: usize = 100;
const CORES: usize = 2;
/// No quota: longer than the run.
const UNLIMITED: Duration = Duration::from_secs(3_600);

fn runtime(quota: Duration) -> Runtime<Batch> {
    let options = RuntimeOptions { executors: 1, quota, pin: true, ..RuntimeOptions::default() };
    Runtime::start(options).expect("threads start")
}

fn submit(runtime: &Runtime<Batch>, graph: Graph<Batch>, tenant: u32) -> QueryHandle<Batch> {
    runtime.submit(graph, QueryOptions { tenant, ..QueryOptions::default() })
}

fn answer(handle: &mut QueryHandle<Batch>) -> u64 {
    let answer = handle.next().expect("an answer").expect("no fault").0[0];
    assert!(handle.next().is_none());
    answer
}

struct Data {
    csr: Arc<Csr>,
    distances: u64,
}

fn main() {
    let csr = Arc::new(Csr::random(200_000, 2_000_000, HUB_EDGES, SEED));
    let data = Data { distances: csr.distances_twin(), csr };
    let only = std::env::args().nth(1);
    let runs = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if runs("quota") {
        what_a_quota_costs(&data);
    }
    if runs("idle") {
        what_an_idle_worker_costs();
    }
    if runs("step") {
        how_long_a_step_runs();
    }
    if runs("hub") {
        how_long_a_hub_runs(&data);
    }
    if runs("kill") {
        how_late_a_kill_is(&data);
    }
}

/// Four queries at once on one executor: three of batches, one search. CPU time of the executor until all are answered.
fn what_a_quota_costs(data: &Data) {
    const BATCHES: u64 = 60_000;
    let wanted = work::batches_twin(BATCHES);
    let quotas = [
        ("100 us", Duration::from_micros(100)),
        ("500 us", Duration::from_micros(500)),
        ("5 ms", Duration::from_millis(5)),
        ("none", UNLIMITED),
    ];
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); quotas.len()];
    for _ in 0..9 {
        for ((_, quota), times) in quotas.iter().zip(&mut times) {
            let runtime = runtime(*quota);
            let executor = thread_of_executor(&runtime);
            let start_ns = measure::other_cpu_ns(executor);
            let graph = || work::batches(BATCHES, &Arc::default());
            let mut batches =
                [submit(&runtime, graph(), 0), submit(&runtime, graph(), 0), submit(&runtime, graph(), 1)];
            let mut search =
                submit(&runtime, work::search(&data.csr, 20, data.distances, 4_096, &Arc::default()), 2);
            batches.iter_mut().for_each(|handle| assert_eq!(answer(handle), wanted));
            assert_eq!(answer(&mut search), data.distances);
            times.push(measure::other_cpu_ns(executor) - start_ns);
        }
    }
    println!(
        "\n## What a quota costs: 3 queries of {BATCHES} batches and 20 searches on one executor, its CPU time, best and median of 9"
    );
    let best: Vec<u64> = times.iter().map(|times| *times.iter().min().expect("nine runs")).collect();
    for (((name, _), times), best_ns) in quotas.iter().zip(&mut times).zip(&best) {
        times.sort_unstable();
        println!(
            "quota {name:>6}: best {:.1} ms, median {:.1} ms, best / best without quota {:.4}",
            *best_ns as f64 / 1e6,
            times[4] as f64 / 1e6,
            *best_ns as f64 / best[3] as f64
        );
    }
}

fn what_an_idle_worker_costs() {
    println!("\n## What an idle timely worker costs a step");
    for dataflows in [0, 1, 10, 100, 1_000] {
        println!("{dataflows:5} dataflows: {:.0} ns", standing::idle_step_ns(dataflows));
    }
}

fn print_steps(what: &str, mut steps: Times) {
    println!(
        "{what}: {} steps, cpu {:.1} ms, longest {:.0} us, p99 {:.0} us, over 500 us: {}",
        steps.0.len(),
        steps.total_ms(),
        steps.max(),
        steps.percentile(99.0),
        steps.over(500_000)
    );
}

/// A hub of a million edges: loaded, joined, split; and merges.
fn how_long_a_step_runs() {
    println!("\n## How long one timely step runs");
    for blocks in [1_u32, 245] {
        let mut standing = Standing::new();
        (0..HUB_EDGES).for_each(|edge| standing.edges.insert(((0, edge % blocks), edge)));
        standing.commit();
        standing.catch_up();
        print_steps(&format!("load a hub of 1e6 edges as one commit, {blocks} keys"), standing.take_steps());
        (0..blocks).for_each(|block| standing.keys.insert(((0, block), ())));
        standing.commit();
        standing.catch_up();
        assert_eq!(standing.matches.get(), i64::from(HUB_EDGES));
        print_steps(&format!("join the hub, {blocks} keys asked at once"), standing.take_steps());
    }
    let mut standing = Standing::new();
    (0..HUB_EDGES).for_each(|edge| standing.edges.insert(((0, edge / 4_096), edge)));
    standing.commit();
    standing.catch_up();
    standing.take_steps();
    for block in 0..HUB_EDGES.div_ceil(4_096) {
        standing.keys.insert(((0, block), ()));
        standing.commit();
        standing.catch_up();
    }
    assert_eq!(standing.matches.get(), i64::from(HUB_EDGES));
    print_steps("join the hub, blocks of 4096 edges asked one a commit", standing.take_steps());
    for changes in [100_000, 10_000, 1_000, 100] {
        feed_in_commits("default merge effort", Standing::new(), changes, 1_000_000);
    }
    for (changes, effort) in [(10_000, 1_000), (1_000, 1_000), (1_000, 100), (100, 1_000)] {
        let what = format!("idle merge effort {effort}");
        feed_in_commits(&what, Standing::with_idle_effort(effort), changes, 1_000_000);
    }
    merge_two_large_batches();
}

/// Random edges in commits of `changes`, each followed to its end; `settle` more steps at the end would do the merges.
fn feed_in_commits(what: &str, mut standing: Standing, changes: u32, total: u32) {
    let mut random = Random(SEED);
    let mut expected = 0;
    (0..10_000_u32).for_each(|key| standing.keys.insert(((key * 10, 0), ())));
    standing.commit();
    standing.catch_up();
    standing.take_steps();
    for _ in 0..total / changes {
        for _ in 0..changes {
            let from = random.below(100_000) as u32;
            expected += i64::from(from % 10 == 0);
            standing.edges.insert(((from, 0), random.next() as u32));
        }
        standing.commit();
        standing.catch_up();
    }
    assert_eq!(standing.matches.get(), expected);
    print_steps(&format!("{total} edges in commits of {changes}, {what}"), standing.take_steps());
}

/// Two batches of a million edges, then small commits: the spine pays the large merge off in portions.
fn merge_two_large_batches() {
    let mut standing = Standing::new();
    let mut random = Random(SEED);
    for _ in 0..2 {
        (0..1_000_000)
            .for_each(|_| standing.edges.insert(((random.below(100_000) as u32, 0), random.next() as u32)));
        standing.commit();
        standing.catch_up();
    }
    standing.take_steps();
    for _ in 0..2_000 {
        standing.edges.insert(((random.below(100_000) as u32, 0), random.next() as u32));
        standing.commit();
        standing.catch_up();
    }
    print_steps("2000 commits of one edge after two batches of 1e6 edges", standing.take_steps());
}

/// Our own operator at a hub: with a cursor into the adjacency list, and without.
fn how_long_a_hub_runs(data: &Data) {
    println!("\n## How long one call of a search runs over a hub of 1e6 edges, quota 500 us");
    for edges_between_checks in [usize::MAX / 2, 65_536, 4_096, 512] {
        let runtime = runtime(Duration::from_micros(500));
        let longest_ns = Arc::new(AtomicU64::new(0));
        let start_ns = monotonic_ns();
        let mut handle = submit(
            &runtime,
            work::search(&data.csr, 50, data.distances, edges_between_checks, &longest_ns),
            0,
        );
        assert_eq!(answer(&mut handle), data.distances);
        println!(
            "yields asked every {edges_between_checks:>20} edges: longest call {:.0} us, overruns {}, 50 searches in {:.0} ms",
            longest_ns.load(Relaxed) as f64 / 1e3,
            handle.profile()[0].overruns,
            (monotonic_ns() - start_ns) as f64 / 1e6
        );
    }
}

/// Where the timely worker lives.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Home {
    Nowhere,
    Root,
    /// A thread of its own on the executor's core, this much nicer than the executor.
    Thread(i32),
}

fn how_late_a_kill_is(data: &Data) {
    println!(
        "\n## How late a kill takes effect: endless batches, endless search and a fed timely worker on one core; {KILLS} kills"
    );
    println!(
        "from cancel() on another thread to the operator's destructor; beside it what the others got done a second"
    );
    for quota_us in [100, 500, 5_000] {
        kills(data, quota_us, Home::Nowhere, 0);
        for changes in [100, 1_000, 100_000] {
            kills(data, quota_us, Home::Root, changes);
        }
    }
    for nice in [0, 10] {
        kills(data, 500, Home::Thread(nice), 1_000);
    }
}

fn kills(data: &Data, quota_us: u64, home: Home, changes: u64) {
    let runtime = runtime(Duration::from_micros(quota_us));
    let counters = Arc::new(Counters::default());
    let mut thread = None;
    match home {
        Home::Nowhere => {}
        Home::Root => {
            let counters = counters.clone();
            runtime.add_root(100, move |_| Box::new(Feed::new(changes, counters.clone())));
        }
        Home::Thread(nice) => thread = Some(feed_on_thread(nice, changes, counters.clone())),
    }
    let endless = submit(&runtime, work::batches(u64::MAX, &Arc::default()), 1);
    let search =
        submit(&runtime, work::search(&data.csr, u64::MAX, data.distances, 4_096, &Arc::default()), 2);
    let executor = thread_of_executor(&runtime);
    let mut random = Random(SEED);
    let (mut late, mut late_cpu) = (Times::default(), Times::default());
    pin_client(true);
    let start_ns = monotonic_ns();
    for _ in 0..KILLS {
        let fate = Arc::new(Fate::default());
        let victim = submit(&runtime, work::batches(u64::MAX, &fate), 3);
        while victim.profile()[0].batches == 0 {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_micros(random.below(8 * quota_us)));
        let (killed_ns, killed_cpu_ns) = (monotonic_ns(), measure::other_cpu_ns(executor));
        victim.cancel("killed");
        while fate.wall_ns.load(Acquire) == 0 {
            world::workers::breathe();
        }
        late.add(fate.wall_ns.load(Relaxed).saturating_sub(killed_ns));
        late_cpu.add(fate.cpu_ns.load(Relaxed).saturating_sub(killed_cpu_ns));
    }
    let seconds = (monotonic_ns() - start_ns) as f64 / 1e9;
    pin_client(false);
    println!(
        "quota {quota_us:>4} us, timely {:<10} commits of {changes:>6}: p50 {:>6.0} us, p99 {:>6.0} us, max {:>6.0} us, wall p50 {:>7.0} us, p99 {:>7.0} us | batches/s {:>7.0}, search cpu {:>3.0} %, changes/s {:>8.0}, longest step {:>7.0} us, {} commits checked",
        format!("{home:?}"),
        late_cpu.percentile(50.0),
        late_cpu.percentile(99.0),
        late_cpu.max(),
        late.percentile(50.0),
        late.percentile(99.0),
        endless.profile()[0].batches as f64 / seconds,
        search.profile()[0].cpu_ns as f64 / seconds / 1e7,
        counters.changes.load(Relaxed) as f64 / seconds,
        counters.longest_ns.load(Relaxed) as f64 / 1e3,
        counters.commits_checked.load(Relaxed)
    );
    assert!(home == Home::Nowhere || counters.commits_checked.load(Relaxed) > 0);
    drop(thread);
}

/// The number of the one executor's thread.
fn thread_of_executor(runtime: &Runtime<Batch>) -> i32 {
    struct Nothing;
    impl Root for Nothing {
        fn run(&mut self, _quota_ns: u64) -> RootStatus {
            RootStatus::Idle
        }
    }
    let number = Arc::new(AtomicI32::new(0));
    let told = number.clone();
    runtime.add_root(1, move |_| {
        told.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
        Box::new(Nothing)
    });
    while number.load(Relaxed) == 0 {
        std::thread::sleep(Duration::from_micros(100));
    }
    number.load(Relaxed)
}

/// Keeps the killing thread off the executor's core, or lets it go anywhere again (threads inherit the set).
fn pin_client(pinned: bool) {
    let mut set = rustix::thread::CpuSet::new();
    (0..CORES).skip(usize::from(pinned)).for_each(|core| set.set(core));
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// The worker on a thread of its own; `Workers` pins it to the core the one executor is pinned to.
fn feed_on_thread(nice: i32, changes: u64, counters: Arc<Counters>) -> Workers {
    let ready = Arc::new(AtomicBool::new(false));
    let told = ready.clone();
    let options = WorkerOptions { threads: 1, name: "standing".to_string(), pin: true };
    let workers = Workers::start(&options, move |_| {
        let (counters, told) = (counters.clone(), told.clone());
        move |control: &WorkerControl| {
            rustix::process::setpriority_process(Some(rustix::thread::gettid()), nice)
                .expect("raising niceness is allowed");
            let mut feed = Feed::new(changes, counters);
            told.store(true, Relaxed);
            while !control.stopping() {
                feed.turn(500_000);
            }
        }
    })
    .expect("threads start");
    while !ready.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
    workers
}
