//! What a commit costs on this disk: one writer's latency, and eight writers that share syncs, beside the bare log in the same run:
//! as many writers, the same bytes a record, the same way of sharing syncs, and nothing else.
//!
//! `cargo run --release -p tanglewood-transact --example commit -- FOLDER [COMMITS]`; the folder must not exist.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

use durable::{BackingStore, LocalFolder, LogOptions, OpenMode};
use model::{Direction, Value, VertexId};
use parking_lot::{Condvar, Mutex};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tanglewood_transact::{Engine, Mode, OpenOptions, open};
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::disk::{Disk, RealDisk};
use world::threads::in_parallel;

const WRITERS: usize = 8;
const ROUNDS: usize = 5;
const VERTICES: u64 = 20_000;

/// The bare log with group commit: who finds nobody leading appends what all that wait have brought.
struct Bare {
    log: LocalFolder,
    queue: Mutex<Queue>,
    settled: Condvar,
    groups: AtomicU64,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<(u64, Vec<u8>)>,
    /// Tickets handed out, and up to which of them all is durable.
    tickets: u64,
    durable: u64,
    led: bool,
}

impl Bare {
    fn open(disk: Arc<dyn Disk>, path: &Path) -> Bare {
        let log = LocalFolder::open(disk, path, OpenMode::CreateIfMissing, LogOptions::default()).unwrap();
        Bare { log, queue: Mutex::default(), settled: Condvar::new(), groups: AtomicU64::new(0) }
    }
    fn append(&self, bytes: usize) {
        let mut queue = self.queue.lock();
        queue.tickets += 1;
        let ticket = queue.tickets;
        queue.waiting.push((ticket, vec![7; bytes]));
        while queue.led && queue.durable < ticket {
            self.settled.wait(&mut queue);
        }
        if queue.durable >= ticket {
            return;
        }
        queue.led = true;
        let group = std::mem::take(&mut queue.waiting);
        drop(queue);
        let records: Vec<(u64, &[u8])> = group.iter().map(|(place, bytes)| (*place, &bytes[..])).collect();
        self.log.append_and_sync(&records).unwrap();
        self.groups.fetch_add(1, Ordering::Relaxed);
        let mut queue = self.queue.lock();
        queue.durable = group.last().unwrap().0;
        queue.led = false;
        drop(queue);
        self.settled.notify_all();
    }
}

/// A write of the TAO mix: an edge between two vertices, or a vertex with two properties.
fn write(engine: &Engine, chance: &mut Chance) {
    let t = engine.begin(Mode::Write);
    if chance.below(4) == 0 {
        let value = chance.below(1 << 40) as i64;
        let (label, id, name) = (t.label("Person").unwrap(), t.key("id").unwrap(), t.key("name").unwrap());
        let properties = vec![(id, Value::Int(value)), (name, "somebody".into())];
        t.create_vertex(&[label], properties).unwrap();
    } else {
        let (a, b) = (chance.below(VERTICES), chance.below(VERTICES));
        let (edge_type, at) = (t.edge_type("KNOWS").unwrap(), t.key("at").unwrap());
        let properties = vec![(at, Value::Int(chance.below(1 << 40) as i64))];
        t.create_edge(VertexId(a), VertexId(b), edge_type, properties).unwrap();
    }
    t.commit().unwrap();
}

fn read(engine: &Engine, chance: &mut Chance) -> usize {
    let snapshot = engine.snapshot();
    let view = snapshot.adjacency(&[], Direction::Out);
    view.neighbours(chance.below(VERTICES) as u32, &mut Vec::new()).unwrap().len()
}

fn prepare(engine: &Engine) {
    let t = engine.begin(Mode::Write);
    let (label, id) = (t.label("Person").unwrap(), t.key("id").unwrap());
    (0..VERTICES).for_each(|number| {
        t.create_vertex(&[label], vec![(id, Value::Int(number as i64))]).unwrap();
    });
    t.commit().unwrap();
    t.edge_type("KNOWS").unwrap();
    write(engine, &mut Chance::seeded(0));
}

/// Runs `work` so many times on each of `threads`; the times of those that were writes, and how long all took.
fn timed(threads: usize, count: usize, work: impl Fn(&mut Chance) -> bool + Sync) -> (Vec<u64>, u64) {
    let began = monotonic_ns();
    let times = in_parallel("writer", threads, |number| {
        let mut chance = Chance::seeded(number as u64);
        let one = |_| {
            let began = monotonic_ns();
            work(&mut chance).then(|| monotonic_ns() - began)
        };
        (0..count).filter_map(one).collect::<Vec<u64>>()
    });
    (times.concat(), monotonic_ns() - began)
}

fn print(what: &str, (mut times, took_ns): (Vec<u64>, u64), groups: u64) -> f64 {
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize] as f64 / 1e3;
    let (rate, syncs) = (times.len() as f64 * 1e9 / took_ns as f64, groups as f64 * 1e9 / took_ns as f64);
    println!(
        "{what}: {rate:6.0} commits/s, {syncs:5.0} syncs/s, p50 {:.0} us, p99 {:.0} us",
        at(0.5),
        at(0.99)
    );
    rate
}

fn main() {
    let folder = std::env::args().nth(1).expect("a folder that does not exist");
    let commits: usize = std::env::args().nth(2).map_or(500, |text| text.parse().unwrap());
    let path = Path::new(&folder);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let bare = Bare::open(disk.clone(), &path.join("bare"));
    let (engine, _) = open(Some((disk, &path.join("db"))), &OpenOptions::default()).unwrap();
    prepare(&engine);
    let before = (engine.log_bytes(), engine.counts().commits);
    timed(WRITERS, commits, |chance| {
        write(&engine, chance);
        true
    });
    let after = (engine.log_bytes(), engine.counts().commits);
    // The log adds a frame of 20 bytes to both alike.
    let bytes = ((after.0 - before.0) / (after.1 - before.1)) as usize - 20;
    println!("{bytes} bytes a record, {WRITERS} writers, {commits} commits each");
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let append = |_: &mut Chance| {
            bare.append(bytes);
            true
        };
        let commit = |chance: &mut Chance| {
            write(&engine, chance);
            true
        };
        let mixed = |chance: &mut Chance| {
            let writes = chance.below(4) == 0;
            if writes {
                write(&engine, chance);
            } else {
                std::hint::black_box(read(&engine, chance));
            }
            writes
        };
        let engine_groups = || engine.counts().groups;
        let bare_groups = || bare.groups.load(Ordering::Relaxed);
        let measured = |groups: &dyn Fn() -> u64, run: &dyn Fn() -> (Vec<u64>, u64)| {
            let before = groups();
            let times = run();
            (times, groups() - before)
        };
        let (times, groups) = measured(&bare_groups, &|| timed(1, commits / 4, append));
        print(&format!("{round} bare log, 1 writer          "), times, groups);
        let (times, groups) = measured(&engine_groups, &|| timed(1, commits / 4, commit));
        print(&format!("{round} commits,  1 writer          "), times, groups);
        let (times, groups) = measured(&bare_groups, &|| timed(WRITERS, commits, append));
        let bare_rate = print(&format!("{round} bare log, {WRITERS} writers         "), times, groups);
        let (times, groups) = measured(&engine_groups, &|| timed(WRITERS, commits, commit));
        let all = print(&format!("{round} commits,  {WRITERS} writers         "), times, groups);
        let (times, groups) = measured(&engine_groups, &|| timed(WRITERS, 4 * commits, mixed));
        let mix = print(&format!("{round} commits,  {WRITERS} clients, 25 % writes"), times, groups);
        ratios.push((mix / bare_rate, all / bare_rate));
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mix, all) = ratios[ROUNDS / 2];
    println!("median of {ROUNDS}: {:.0} % of the bare log at 25 % writes ({:.0} % at 100 %)", 100.0 * mix, 100.0 * all);
    engine.close().unwrap();
}
