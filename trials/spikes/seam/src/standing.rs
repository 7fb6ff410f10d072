//! The third kind of work: a timely worker, stepped by hand, that keeps a join up to date.
//!
//! `edges` joined with the standing arguments `keys`: each match is counted. A key is a vertex and a block of its adjacency list, so that
//! a hub can be one key or many.

use crate::measure::{Random, Times, monotonic_ns, thread_cpu_ns};
use dataflow::{Root, RootStatus};
use differential_dataflow::input::{Input, InputSession};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use timely::communication::allocator::{Allocator, thread::Thread};
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;
use timely::{Config, WorkerConfig};

type Key = (u32, u32);

pub struct Standing {
    pub worker: Worker,
    pub edges: InputSession<u64, (Key, u32), isize>,
    pub keys: InputSession<u64, (Key, ()), isize>,
    pub probe: Handle<u64>,
    /// Matches so far.
    pub matches: Rc<Cell<i64>>,
    pub time: u64,
    /// CPU time of every step since the last look.
    pub steps: Times,
}

impl Standing {
    pub fn new() -> Standing {
        Standing::with_config(WorkerConfig::default())
    }

    /// `effort`: the merge effort an idle spine is given a step.
    pub fn with_idle_effort(effort: isize) -> Standing {
        let mut config = Config::thread();
        differential_dataflow::configure(
            &mut config.worker,
            &differential_dataflow::Config::default().idle_merge_effort(Some(effort)),
        );
        Standing::with_config(config.worker)
    }

    fn with_config(config: WorkerConfig) -> Standing {
        let mut worker = Worker::new(config, Allocator::Thread(Thread::default()), None);
        let matches = Rc::new(Cell::new(0));
        let probe = Handle::new();
        let (edges, keys) = install(&mut worker, &matches, &probe);
        Standing { worker, edges, keys, probe, matches, time: 0, steps: Times::default() }
    }

    /// Closes the present time.
    pub fn commit(&mut self) {
        self.time += 1;
        self.edges.advance_to(self.time);
        self.keys.advance_to(self.time);
        self.edges.flush();
        self.keys.flush();
    }

    pub fn step(&mut self) {
        let start_ns = thread_cpu_ns();
        self.worker.step();
        self.steps.add(thread_cpu_ns() - start_ns);
    }

    pub fn is_behind(&self) -> bool {
        self.probe.less_than(&self.time)
    }

    pub fn catch_up(&mut self) {
        while self.is_behind() {
            self.step();
        }
    }

    /// The steps since the last look.
    pub fn take_steps(&mut self) -> Times {
        std::mem::take(&mut self.steps)
    }
}

fn install(
    worker: &mut Worker,
    matches: &Rc<Cell<i64>>,
    probe: &Handle<u64>,
) -> (InputSession<u64, (Key, u32), isize>, InputSession<u64, (Key, ()), isize>) {
    let matches = matches.clone();
    worker.dataflow::<u64, _, _>(|scope| {
        let (edges_in, edges) = scope.new_collection::<(Key, u32), isize>();
        let (keys_in, keys) = scope.new_collection::<(Key, ()), isize>();
        keys.arrange_by_key()
            .join_core(edges.arrange_by_key(), |_key, (), to| Some(*to))
            .inspect(move |(_, _, diff)| matches.set(matches.get() + *diff as i64))
            .probe_with(probe);
        (edges_in, keys_in)
    })
}

/// How fast the root is fed: this many changes a commit, one commit in flight.
pub struct Feed {
    standing: Standing,
    random: Random,
    changes: u64,
    expected: i64,
    counters: Arc<Counters>,
}

#[derive(Default)]
pub struct Counters {
    pub steps: AtomicU64,
    pub changes: AtomicU64,
    pub longest_ns: AtomicU64,
    pub commits_checked: AtomicU64,
}

/// Vertices the feed draws from; every tenth is a standing argument.
const VERTICES: u64 = 100_000;
/// The feed starts over before its arrangement outgrows the machine.
const EDGES_MAX: u64 = 4_000_000;

impl Feed {
    pub fn new(changes: u64, counters: Arc<Counters>) -> Feed {
        let mut standing = Standing::new();
        load_keys(&mut standing);
        Feed { standing, random: Random(7), changes, expected: 0, counters }
    }

    fn feed(&mut self) {
        assert_eq!(self.standing.matches.get(), self.expected, "the standing join equals its twin");
        self.counters.commits_checked.fetch_add(1, Relaxed);
        if self.standing.time * self.changes > EDGES_MAX {
            self.standing = Standing::new();
            load_keys(&mut self.standing);
            self.expected = 0;
        }
        for _ in 0..self.changes {
            let from = self.random.below(VERTICES) as u32;
            self.expected += i64::from(from % 10 == 0);
            self.standing.edges.insert(((from, 0), self.random.next() as u32));
        }
        self.standing.commit();
        self.counters.changes.fetch_add(self.changes, Relaxed);
    }

    pub fn turn(&mut self, quota_ns: u64) {
        let until_ns = monotonic_ns() + quota_ns;
        loop {
            let start_ns = thread_cpu_ns();
            if !self.standing.is_behind() {
                self.feed();
            }
            self.standing.worker.step();
            self.counters.longest_ns.fetch_max(thread_cpu_ns() - start_ns, Relaxed);
            self.counters.steps.fetch_add(1, Relaxed);
            if monotonic_ns() >= until_ns {
                return;
            }
        }
    }
}

fn load_keys(standing: &mut Standing) {
    (0..VERTICES as u32).step_by(10).for_each(|key| standing.keys.insert(((key, 0), ())));
    standing.commit();
    standing.catch_up();
}

impl Root for Feed {
    fn run(&mut self, quota_ns: u64) -> RootStatus {
        self.turn(quota_ns);
        RootStatus::Busy
    }
}

/// An idle worker with this many dataflows: nanoseconds a step.
pub fn idle_step_ns(dataflows: usize) -> f64 {
    let mut worker = Worker::new(WorkerConfig::default(), Allocator::Thread(Thread::default()), None);
    let probe = Handle::new();
    let matches = Rc::new(Cell::new(0));
    let _inputs: Vec<_> = (0..dataflows).map(|_| install(&mut worker, &matches, &probe)).collect();
    (0..1_000).for_each(|_| _ = worker.step());
    let start_ns = monotonic_ns();
    (0..100_000).for_each(|_| _ = worker.step());
    (monotonic_ns() - start_ns) as f64 / 100_000.0
}
