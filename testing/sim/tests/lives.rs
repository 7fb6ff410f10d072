//! Seeded lives on a disk that tears, loses, refuses and dies: after each recovery everything acknowledged is there, and nothing half.
//!
//! `TANGLEWOOD_SOAK_PERCENT=5` makes the long forms so much shorter.

use database::{Database, Params};
use std::sync::Arc;
use tanglewood_sim::audit::audit;
use tanglewood_sim::lives::{Options, Report, live, live_in_cypher};
use world::disk::SimDisk;

mod soak;

fn lives(seeds: std::ops::Range<u64>, options: Options) -> Report {
    all(seeds, |seed| live(seed, options).map(|(report, _)| report))
}

fn all(seeds: std::ops::Range<u64>, live: impl Fn(u64) -> Result<Report, String>) -> Report {
    let mut total = Report::default();
    let mut failures = Vec::new();
    for seed in seeds {
        match live(seed) {
            Ok(report) => total.add(&report),
            Err(told) => failures.push(told),
        }
    }
    let shown: Vec<String> = failures.iter().take(5).map(|told| told.chars().take(4_000).collect()).collect();
    assert!(
        failures.is_empty(),
        "{} seeds failed, the first of them:\n{}",
        failures.len(),
        shown.join("\n\n")
    );
    total
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_half_is_seen() {
    let report = lives(0..30, Options::default());
    // Each rare thing must have happened, or the test shows nothing.
    let Report { committed, unknown, replayed, from_checkpoint, failed_opens, struck, pairs, .. } = report;
    let rare = [unknown as u64, replayed, from_checkpoint as u64, failed_opens as u64, struck as u64];
    assert!(rare.iter().all(|count| *count > 5), "{report:?}");
    assert!(committed > 250 && pairs > 200, "{report:?}");
}

#[test]
fn groups_of_commits_survive_too() {
    let report = lives(0..6, Options { threads: true, lives: 3, ..Options::default() });
    assert!(report.committed > 80 && report.replayed > 20, "{report:?}");
}

#[test]
fn lives_replay_from_their_seed() {
    let again = || live(3, Options::default()).unwrap();
    assert_eq!(again(), again());
}

fn lives_in_cypher(seeds: std::ops::Range<u64>, threads: bool) -> Report {
    all(seeds, |seed| live_in_cypher(seed, 4, threads).map(|(report, _)| report))
}

#[test]
fn a_database_survives_in_cypher() {
    let report = lives_in_cypher(0..12, false);
    let Report { committed, unknown, replayed, struck, pairs, .. } = report;
    assert!(committed > 100 && pairs > 60 && replayed > 50 && struck > 5 && unknown > 0, "{report:?}");
    let report = lives_in_cypher(100..106, true);
    assert!(report.committed > 80 && report.from_checkpoint > 3, "{report:?}");
}

/// Regression: an index that was built beside commits went into the checkpoint without its name, and with a second one the database could not be
/// opened any more. Found by damaging files, one of which was not damaged.
#[test]
fn indexes_have_their_names_after_a_checkpoint() {
    let disk = SimDisk::new();
    let open = |disk: SimDisk| {
        let options = database::Options { executors: Some(1), ..Default::default() };
        Database::open_on(Arc::new(disk), "/db", options).unwrap()
    };
    let database = open(disk.clone());
    let mut session = database.session();
    for text in ["CREATE INDEX one FOR (p:P) ON (p.a)", "CREATE INDEX two FOR (p:P) ON (p.b)"] {
        session.query(text, Params::new()).unwrap().finish().unwrap();
    }
    database.checkpoint().unwrap();
    drop((session, database));
    let snapshot = open(disk.kill()).snapshot();
    assert!(["one", "two"].iter().all(|name| snapshot.catalog().index_named(name).is_some()));
    assert!(audit(&snapshot).unwrap().is_empty());
}

#[test]
fn seeds_that_once_failed_hold() {
    let seeds = include_str!("../seeds.txt");
    for line in seeds.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.split_whitespace();
        let seed: u64 = words.next().unwrap().parse().unwrap();
        let kind = words.next().unwrap();
        let threads = kind.ends_with("threads");
        let told = match kind.starts_with("cypher") {
            true => live_in_cypher(seed, 4, threads),
            false => live(seed, Options { threads, ..Options::default() }),
        };
        told.unwrap_or_else(|told| panic!("{line}\n{told}"));
    }
}

#[test]
#[ignore = "soak: thousands of seeds, longer lives; minutes"]
fn soak_lives() {
    println!("{:?}", lives(soak::part(10_000..14_000), Options::default()));
    let long = Options { lives: 12, steps_max: 600, ..Options::default() };
    println!("{:?}", lives(soak::part(20_000..20_300), long));
    println!("{:?}", lives(soak::part(30_000..30_500), Options { threads: true, ..Options::default() }));
}

#[test]
#[ignore = "soak: hundreds of seeds of whole databases; minutes"]
fn soak_lives_in_cypher() {
    println!("{:?}", lives_in_cypher(soak::part(40_000..40_400), false));
    println!("{:?}", lives_in_cypher(soak::part(50_000..50_200), true));
}
