//! What a commit costs on this disk: one writer's latency, and eight writers that share syncs, against the bare log in the same run.
//!
//! `cargo run --release -p tanglewood-transact --example commit -- FOLDER [COMMITS]`; the folder must not exist.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

use durable::{BackingStore, LocalFolder, LogOptions, OpenMode};
use model::Value;
use std::path::Path;
use std::sync::Arc;
use tanglewood_transact::{Engine, Mode, OpenOptions, open};
use world::clock::monotonic_ns;
use world::disk::{Disk, RealDisk};
use world::threads::in_parallel;

const WRITERS: usize = 8;

fn commit(engine: &Engine, number: usize) {
    let t = engine.begin(Mode::Write);
    let (label, key) = (t.label("Person").unwrap(), t.key("id").unwrap());
    t.create_vertex(&[label], vec![(key, Value::Int(number as i64))]).unwrap();
    t.commit().unwrap();
}

fn print(what: &str, mut times: Vec<u64>, took_ns: u64) {
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize] as f64 / 1e3;
    let rate = times.len() as f64 * 1e9 / took_ns as f64;
    println!("{what}: {rate:.0} a second, p50 {:.0} us, p99 {:.0} us", at(0.5), at(0.99));
}

fn timed(commits: usize, work: impl Fn(usize)) -> Vec<u64> {
    let one = |number| {
        let began = monotonic_ns();
        work(number);
        monotonic_ns() - began
    };
    (0..commits).map(one).collect()
}

fn main() {
    let folder = std::env::args().nth(1).expect("a folder that does not exist");
    let commits: usize = std::env::args().nth(2).map_or(500, |text| text.parse().unwrap());
    let path = Path::new(&folder);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let bare =
        LocalFolder::open(disk.clone(), &path.join("bare"), OpenMode::CreateIfMissing, LogOptions::default())
            .unwrap();
    let (engine, _) = open(Some((disk, &path.join("db"))), &OpenOptions::default()).unwrap();
    commit(&engine, 0);
    for round in 0..3 {
        let base = bare.last_place();
        let began = monotonic_ns();
        let append = |number: usize| bare.append_and_sync(&[(base + 1 + number as u64, &[7; 40])]).unwrap();
        print(&format!("round {round}: bare log, 1 writer "), timed(commits, append), monotonic_ns() - began);

        let began = monotonic_ns();
        let times = timed(commits, |number| commit(&engine, number));
        print(&format!("round {round}: commits,  1 writer "), times, monotonic_ns() - began);

        let before = engine.counts();
        let began = monotonic_ns();
        let times =
            in_parallel("writer", WRITERS, |_| timed(commits, |number| commit(&engine, number))).concat();
        print(&format!("round {round}: commits,  {WRITERS} writers"), times, monotonic_ns() - began);
        let after = engine.counts();
        let size = (after.commits - before.commits) as f64 / (after.groups - before.groups) as f64;
        println!("round {round}: {size:.1} commits a group");
    }
    engine.close().unwrap();
}
