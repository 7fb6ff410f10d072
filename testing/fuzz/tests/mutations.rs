//! Each target on some thousand seeded inputs. `TANGLEWOOD_FUZZ_SEED` replays one; `TANGLEWOOD_FUZZ_INPUTS` says how many.

use std::collections::BTreeMap;
use tanglewood_fuzz::damage::{Fate, all_files, fate, input};
use tanglewood_fuzz::targets::Target;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs this many inputs; the one that fails is named by its seed.
fn mutated(name: &str, inputs: u64) {
    let target = Target::named(name).unwrap();
    let seeds = (target.seeds)();
    seeds.iter().for_each(|seed| (target.run)(seed));
    let inputs = number("TANGLEWOOD_FUZZ_INPUTS").unwrap_or(inputs);
    let all = number("TANGLEWOOD_FUZZ_SEED").map_or(0..inputs, |seed| seed..seed + 1);
    for seed in all {
        let input = target.input(&seeds, seed);
        let told = std::panic::catch_unwind(|| (target.run)(&input));
        if let Err(panic) = told {
            eprintln!("target {name}, TANGLEWOOD_FUZZ_SEED={seed}: {}", String::from_utf8_lossy(&input));
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn damaged_files_are_named_and_never_answer() {
    mutated("files", 1_500);
}

#[test]
fn any_segment_is_recovered_or_refused() {
    mutated("log", 3_000);
}

#[test]
fn any_changes_are_read_or_refused() {
    mutated("change", 20_000);
}

#[test]
fn any_piece_of_a_checkpoint_is_read_or_refused() {
    mutated("chunk", 3_000);
}

#[test]
fn any_packstream_is_read_or_refused() {
    mutated("packstream", 20_000);
}

#[test]
fn any_talk_in_bolt_is_answered() {
    mutated("bolt", 1_500);
}

#[test]
fn any_text_is_parsed_or_refused() {
    mutated("cypher", 8_000);
}

#[test]
fn any_program_is_answered_or_refused() {
    mutated("datalog", 2_000);
}

#[test]
fn any_traversal_is_run_or_refused() {
    mutated("gremlin", 1_500);
    let broken: Vec<_> = (Target::named("gremlin").unwrap().seeds)()
        .into_iter()
        .map(|seed| String::from_utf8(seed).unwrap())
        .filter(|seed| gremlin::parse(seed, &gremlin::Bindings::new()).is_err())
        .collect();
    assert!(broken.is_empty(), "of the corpus cannot be read: {broken:#?}");
}

#[test]
fn any_graphbinary_is_read_or_refused() {
    mutated("graphbinary", 20_000);
}

#[test]
fn any_graphson_is_read_or_refused() {
    mutated("graphson", 10_000);
}

#[test]
fn any_talk_in_gremlin_is_answered() {
    mutated("gremlin_interface", 3_000);
}

#[test]
fn any_call_of_kronos_is_answered() {
    mutated("kronos_calls", 2_000);
}

#[test]
fn any_message_between_replicas_is_heard_or_passed_over() {
    mutated("kronos_peers", 4_000);
}

#[test]
fn any_files_of_a_replica_are_read_or_refused() {
    mutated("kronos_files", 2_000);
}

#[test]
fn any_text_that_compiles_is_planned_and_executed() {
    mutated("plan", 1_500);
    let target = Target::named("plan").unwrap();
    let seeds = (target.seeds)();
    let compiles = |seed: &u64| {
        let input = target.input(&seeds, *seed);
        std::str::from_utf8(&input).is_ok_and(|text| cypher::compile(text).is_ok())
    };
    let compiled = (0..1_500).filter(compiles).count();
    assert!(compiled > 100, "only {compiled} of 1,500 texts got as far as the planner");
    let fails = |seed: &&Vec<u8>| cypher::compile(std::str::from_utf8(seed).unwrap()).is_err();
    let broken: Vec<&Vec<u8>> = seeds.iter().filter(fails).collect();
    let broken: Vec<_> = broken.iter().map(|seed| String::from_utf8_lossy(seed)).collect();
    assert!(broken.is_empty(), "of the corpus do not compile: {broken:#?}");
}

/// Every class of offsets in every file: its head byte by byte, its end, and bytes all over it.
#[test]
fn a_flipped_byte_in_any_file_is_named() {
    let mut fates: BTreeMap<(u8, String, Fate), Vec<usize>> = BTreeMap::new();
    for (database, file, path, length) in all_files() {
        let step = (length / 150).max(1);
        let head = 0..length.min(64);
        let end = length.saturating_sub(32)..length;
        for at in head.chain((0..length).step_by(step)).chain(end) {
            let fate = fate(&input(database, file, 0, at as u32, &[1 << (at % 8)]));
            fates.entry((database, path.display().to_string(), fate)).or_default().push(at);
        }
    }
    for ((database, path, fate), at) in &fates {
        eprintln!("database {database}, {path}: {} {fate:?}", at.len());
        assert_ne!(*fate, Fate::Harmless, "flips in {path} of database {database} at {at:?}");
    }
}

/// Every length a file can be cut to, as far as time allows.
#[test]
fn a_file_cut_anywhere_is_named() {
    for (database, file, path, length) in all_files() {
        for at in (0..length).step_by((length / 200).max(1)) {
            let fate = fate(&input(database, file, 2, at as u32, &[]));
            assert_ne!(fate, Fate::Harmless, "{} of {database} cut from {length} to {at}", path.display());
        }
    }
}
