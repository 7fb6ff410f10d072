//! Runs a target for some seconds on stable Rust: `run TARGET SECONDS [FIRST_SEED]`; without a target, all in turn.

use std::process::ExitCode;
use tanglewood_fuzz::targets::{TARGETS, Target};
use world::chance::Chance;
use world::clock::monotonic_ns;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds: u64 = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let first = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or_else(Chance::system_seed);
    let chosen: Vec<&Target> = match arguments.first().map(String::as_str) {
        None | Some("all") => TARGETS.iter().collect(),
        Some(name) => Target::named(name).into_iter().collect(),
    };
    if chosen.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("targets: all, {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    let failures: usize = chosen.into_iter().map(|target| run(target, seconds, first)).sum();
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Findings after which a target is left.
const FINDINGS_MAX: usize = 5;

fn run(target: &Target, seconds: u64, first: u64) -> usize {
    let seeds = (target.seeds)();
    let end_ns = monotonic_ns() + seconds * 1_000_000_000;
    let (mut seed, mut findings) = (first, 0);
    while monotonic_ns() < end_ns && findings < FINDINGS_MAX {
        let input = target.input(&seeds, seed);
        if std::panic::catch_unwind(|| (target.run)(&input)).is_err() {
            findings += 1;
            eprintln!("{}: seed {seed} panics: {}", target.name, String::from_utf8_lossy(&input));
        }
        seed = seed.wrapping_add(1);
    }
    println!("{}: {} inputs from seed {first}, {findings} findings", target.name, seed.wrapping_sub(first));
    findings
}
