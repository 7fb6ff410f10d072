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
const ROUNDS: usize = 15;
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

/// What one kind of work reached in one round.
struct Reached {
    commits_per_second: f64,
    syncs_per_second: f64,
    p50_us: f64,
    p99_us: f64,
}

fn reached(groups: &dyn Fn() -> u64, run: &dyn Fn() -> (Vec<u64>, u64)) -> Reached {
    let before = groups();
    let (mut times, took_ns) = run();
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize] as f64 / 1e3;
    let rate = |count: u64| count as f64 * 1e9 / took_ns as f64;
    Reached {
        commits_per_second: rate(times.len() as u64),
        syncs_per_second: rate(groups() - before),
        p50_us: at(0.5),
        p99_us: at(0.99),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(what: &str, rounds: &[Reached]) {
    let of = |pick: fn(&Reached) -> f64| median(rounds.iter().map(pick).collect());
    println!(
        "{what}: {:6.0} commits/s, {:5.0} syncs/s, p50 {:.0} us, p99 {:.0} us",
        of(|one| one.commits_per_second),
        of(|one| one.syncs_per_second),
        of(|one| one.p50_us),
        of(|one| one.p99_us)
    );
}

fn main() {
    let folder = std::env::args().nth(1).expect("a folder that does not exist");
    let commits: usize = std::env::args().nth(2).map_or(500, |text| text.parse().unwrap());
    let path = Path::new(&folder);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let bare = Bare::open(disk.clone(), &path.join("bare"));
    let (engine, _) = open(Some((disk, &path.join("db"))), &OpenOptions::default()).unwrap();
    prepare(&engine);
    let commit = |chance: &mut Chance| {
        write(&engine, chance);
        true
    };
    let before = (engine.log_bytes(), engine.counts().commits);
    timed(WRITERS, commits, commit);
    let after = (engine.log_bytes(), engine.counts().commits);
    let bytes = ((after.0 - before.0) / (after.1 - before.1)) as usize - durable::RECORD_FRAME_BYTES;
    let append = |_: &mut Chance| {
        bare.append(bytes);
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
    // In turns, and the bare log before and after: the disk's own speed changes from second to second.
    let (mut bares, mut mixes, mut alls) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bares.push(reached(&bare_groups, &|| timed(WRITERS, commits, append)));
        mixes.push(reached(&engine_groups, &|| timed(WRITERS, 4 * commits, mixed)));
        bares.push(reached(&bare_groups, &|| timed(WRITERS, commits, append)));
        alls.push(reached(&engine_groups, &|| timed(WRITERS, commits, commit)));
    }
    bares.push(reached(&bare_groups, &|| timed(WRITERS, commits, append)));
    println!("{bytes} bytes a record, medians of {ROUNDS} rounds of {WRITERS} x {commits} commits");
    print("bare log              ", &bares);
    print("25 % writes, 75 % reads", &mixes);
    print("writes only           ", &alls);
    let ratio = |ours: &[Reached], offset: usize| {
        let around = |at: usize| {
            let of = |at: usize| bares[at].commits_per_second;
            (of(2 * at + offset) + of(2 * at + offset + 1)) / 2.0
        };
        100.0 * median((0..ROUNDS).map(|at| ours[at].commits_per_second / around(at)).collect())
    };
    println!(
        "of the bare log around it, by the median round: {:.0} % at 25 % writes, {:.0} % writes only",
        ratio(&mixes, 0),
        ratio(&alls, 1)
    );
    engine.close().unwrap();
}
