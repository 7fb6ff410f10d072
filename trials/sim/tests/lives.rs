//! Seeded lives on a disk that tears, loses, refuses and dies: after each recovery everything acknowledged is there, and nothing half.
#![allow(clippy::unwrap_used)]

use tanglewood_sim::lives::{Options, Report, live};

fn lives(seeds: std::ops::Range<u64>, options: Options) -> Report {
    let mut total = Report::default();
    let mut failures = Vec::new();
    for seed in seeds {
        match live(seed, options) {
            Ok((report, _)) => total.add(&report),
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

#[test]
fn seeds_that_once_failed_hold() {
    let seeds = include_str!("../seeds.txt");
    for line in seeds.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.split_whitespace();
        let seed: u64 = words.next().unwrap().parse().unwrap();
        let threads = words.next() == Some("threads");
        live(seed, Options { threads, ..Options::default() }).unwrap_or_else(|told| panic!("{line}\n{told}"));
    }
}

#[test]
#[ignore = "soak: thousands of seeds, longer lives; minutes"]
fn soak_lives() {
    println!("{:?}", lives(10_000..14_000, Options::default()));
    let long = Options { lives: 12, steps_max: 600, ..Options::default() };
    println!("{:?}", lives(20_000..20_300, long));
    println!("{:?}", lives(30_000..30_500, Options { threads: true, ..Options::default() }));
}
