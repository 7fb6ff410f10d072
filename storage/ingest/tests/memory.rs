//! How much an import holds at once, by an allocator that counts: at most twice what it builds, or the bytes it was given.
//!
//! Both graphs are large beside what is always there (blocks on their way, the threads' buffers), and small enough for every run.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

mod common;

use common::{Files, options};
use ingest::ImportOptions;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use store::StoreOptions;
use transact::{Engine, OpenOptions};
use world::chance::Chance;
use world::disk::{Disk, RealDisk};
use world::files::TemporaryFolder;

const MB: usize = 1_000_000;
const PEOPLE: u64 = 120_000;
const EDGES: u64 = 900_000;

fn files() -> Files {
    let mut chance = Chance::seeded(7);
    let (mut people, mut knows) =
        (String::from("id:ID(P),name,age:int\n"), String::from(":START_ID(P),:END_ID(P),since:int\n"));
    for id in 0..PEOPLE {
        writeln!(people, "{},name of number {id} among many,{}", id * 7, chance.below(90)).unwrap();
    }
    for _ in 0..EDGES {
        let (one, two) = (chance.below(PEOPLE) * 7, chance.below(PEOPLE) * 7);
        writeln!(knows, "{one},{two},{}", 1900 + chance.below(120)).unwrap();
    }
    Files::new(&[("P.csv", &people), ("KNOWS.csv", &knows)])
}

fn open(folder: &Path, memory_bytes: Option<u64>) -> Engine {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let store = StoreOptions { memory_bytes, ..StoreOptions::default() };
    transact::open(Some((disk, folder)), &OpenOptions { store, ..OpenOptions::default() }).unwrap().0
}

/// The edges alone, with ids that must be looked up, as bare pairs.
fn edge_list() -> Files {
    let mut chance = Chance::seeded(8);
    let mut pairs = String::new();
    for _ in 0..EDGES * 3 {
        writeln!(pairs, "{}\t{}", chance.below(PEOPLE) * 7, chance.below(PEOPLE) * 7).unwrap();
    }
    Files::new(&[("pairs.txt", &pairs)])
}

/// Most bytes held during an import beyond those before it, and the bytes that what was built takes.
fn measured(files: &Files, memory_bytes: Option<u64>) -> (usize, usize) {
    let place = TemporaryFolder::new("ingest-memory").unwrap();
    let engine = open(&place.path().join("db"), memory_bytes);
    let before = heap::restart_most();
    let options = ImportOptions { memory_bytes, threads: Some(2), ..options(files.folder()) };
    let report = ingest::import(&engine, &options).unwrap();
    let most = usize::try_from(heap::most() - before).unwrap();
    assert_eq!(report.rejected, 0);
    let snapshot = engine.snapshot();
    let statistics = snapshot.statistics();
    assert_eq!((statistics.vertices(), statistics.edges()), (report.vertices, report.edges));
    assert!(report.vertices >= PEOPLE * 9 / 10 && report.edges >= EDGES);
    // Opened again, everything can be read.
    drop((snapshot, engine));
    let engine = open(&place.path().join("db"), None);
    engine.snapshot().load_all(&mut Default::default()).unwrap();
    (most, engine.snapshot().memory().total_bytes())
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn an_import_holds_at_most_twice_what_it_builds_or_what_it_was_given() {
    let files = files();
    let (most, built) = measured(&files, None);
    println!("without a limit: {} MB at most for {} MB", most / MB, built / MB);
    // Blocks on their way: some tens of megabytes whatever the size of the graph.
    assert!(most < 2 * built + 30 * MB, "{} MB for {} MB", most / MB, built / MB);
    let (most, built) = measured(&files, Some(8 * MB as u64));
    println!("within 8 MB: {} MB at most for {} MB", most / MB, built / MB);
    // Beside what it was given: the ids, and blocks on their way.
    assert!(most < (8 + 14) * MB && most < built, "{} MB for {} MB", most / MB, built / MB);
    let list = edge_list();
    let (most, built) = measured(&list, None);
    println!("an edge list without a limit: {} MB at most for {} MB", most / MB, built / MB);
    assert!(most < 2 * built + 30 * MB, "{} MB for {} MB", most / MB, built / MB);
    let (most, built) = measured(&list, Some(8 * MB as u64));
    println!("an edge list within 8 MB: {} MB at most for {} MB", most / MB, built / MB);
    // More blocks are on their way where one thread falls behind; the pairs alone would be 21 MB.
    assert!(most < (8 + 20) * MB && most < built, "{} MB for {} MB", most / MB, built / MB);
}
