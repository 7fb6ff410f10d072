//! The cluster's protocol in the simulator: strictly serializable with all of its rules, and found out with any one of them off.
//!
//! `CLUSTER_HISTORIES=N cargo test --profile quick -p tanglewood-protocol --test cluster -- --ignored --nocapture` runs N histories from the seed
//! `CLUSTER_FIRST_SEED` on, with all rules and without rule B.

mod simulated;

use simulated::{Faults, Run, Setup, simulate};
use std::collections::BTreeMap;
use tanglewood_protocol::Rules;

/// Histories of the short form.
const HISTORIES: u64 = 150;

fn counted(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs histories with all rules; each must be clean.
fn clean(seeds: std::ops::Range<u64>) -> BTreeMap<&'static str, u64> {
    let mut totals = BTreeMap::new();
    for seed in seeds {
        let run = simulate(Setup::drawn(seed), seed);
        if let Some(faults) = run.faults() {
            panic!("seed {seed}: {faults}\n{}", run.history);
        }
        for (what, count) in run.counts {
            *totals.entry(what).or_default() += count;
        }
        *totals.entry("committed").or_default() += run.history.committed() as u64;
    }
    totals
}

#[test]
fn histories_with_faults_are_strictly_serializable() {
    let totals = clean(0..HISTORIES);
    // What must have happened for this to mean something.
    for what in [
        "kills",
        "cuts",
        "epochs",
        "late",
        "forwarded",
        "refused",
        "shard pairs",
        "read pairs",
        "scribe pairs",
        "published",
        "log cuts",
    ] {
        assert!(totals.get(what).is_some_and(|count| *count > 0), "no {what} in {totals:?}");
    }
    assert!(totals["epochs"] > HISTORIES && totals["committed"] > 10 * HISTORIES, "{totals:?}");
}

/// A small history in which shards die, and begin again with checkpoints.
fn with_checkpoints(seed: u64) -> Setup {
    let drawn = Setup::drawn(seed);
    Setup { faults: Faults { checkpoints: 0.05, kills: 6, log_cuts: 0.05, ..Faults::all() }, ..drawn }
}

#[test]
fn shards_that_begin_with_a_checkpoint_are_strictly_serializable() {
    let mut restored = 0;
    for seed in 0..counted("CLUSTER_HISTORIES", HISTORIES) {
        let run = simulate(with_checkpoints(seed), seed);
        if let Some(faults) = run.faults() {
            panic!("seed {seed}: {faults}\n{}", run.history);
        }
        restored += run.counts.get("restored").copied().unwrap_or(0);
    }
    assert!(restored > HISTORIES / 5, "{restored}");
    // A checkpoint that does not say how far each chain was taken repeats what it has.
    let rules = Rules { points_know_taken: false, ..Rules::default() };
    let wrong = |seed: &u64| simulate(with_checkpoints(*seed).with(rules), *seed).faults().is_some();
    assert!((0..HISTORIES).any(|seed| wrong(&seed)), "it is found out");
    // One that goes on behind what was cut off misses it.
    let rules = Rules { cuts_are_noticed: false, ..Rules::default() };
    let wrong = |seed: &u64| simulate(with_checkpoints(*seed).with(rules), *seed).faults().is_some();
    assert!((0..HISTORIES).any(|seed| wrong(&seed)), "it is found out");
}

/// A scribe asks again for commit versions whose outcome it does not know. They may be cut off from the log by then: truth denied that it had given them, the scribe
/// left its epoch, and the cluster stood still. Either rule mends it: that truth knows what it gave, and that a scribe which is denied begins anew.
#[test]
fn versions_that_are_forgotten_with_a_cut_are_found_out() {
    let forgets = Rules { versions_outlive_cuts: false, ..Rules::default() };
    let rules = Rules { denied_scribes_begin_anew: false, ..forgets };
    // Outcomes are often unknown, the log is often cut, and no process is lost: a new epoch would begin anew.
    let setup = |seed| Setup {
        faults: Faults { unknown: 0.2, log_cuts: 0.3, late: 0.0, ..Faults::none() },
        transactions: 12,
        ..Setup::drawn(seed)
    };
    let stands_still =
        |run: &Run| run.stuck || run.counts.get("without a version").is_some_and(|count| *count > 0);
    let found = (0..1_000).find(|seed| stands_still(&simulate(setup(*seed).with(rules), *seed)));
    let seed = found.expect("commits get no version any more");
    for (rules, seed) in (seed..seed + 100).flat_map(|seed| [(Rules::default(), seed), (forgets, seed)]) {
        let run = simulate(setup(seed).with(rules), seed);
        assert!(
            run.faults().is_none() && !stands_still(&run),
            "seed {seed} is wrong with {rules:?}, too: {:?}",
            run.faults()
        );
    }
}

#[test]
#[ignore = "soak: about two milliseconds a history in an optimized build"]
fn many_histories_with_faults_are_strictly_serializable() {
    let first = counted("CLUSTER_FIRST_SEED", 1 << 32);
    println!("{:?}", clean(first..first + counted("CLUSTER_HISTORIES", 20_000)));
}

#[test]
#[ignore = "soak: how many histories are wrong without rule B; it only counts"]
fn many_histories_without_rule_b() {
    let first = counted("CLUSTER_FIRST_SEED", 1 << 32);
    let histories = counted("CLUSTER_HISTORIES", 20_000);
    let rules = Rules { heard_by_all: false, ..Rules::default() };
    let wrong = (first..first + histories)
        .filter(|seed| not_strict(&simulate(Setup::drawn(*seed).with(rules), *seed)))
        .count();
    println!("{wrong} of {histories} histories are not strictly serializable without rule B");
    assert!(wrong > 0 || histories < 1_000, "one in a hundred is wrong");
}

#[test]
fn a_seed_replays() {
    for seed in 0..12 {
        let (one, other) = (simulate(Setup::drawn(seed), seed), simulate(Setup::drawn(seed), seed));
        assert_eq!((one.trace, &one.history, &one.counts), (other.trace, &other.history, &other.counts));
        assert_ne!(one.trace, simulate(Setup::drawn(seed), seed + 1).trace);
    }
}

/// With one rule off, some history within so many seeds is wrong; the same one with the rule is not.
fn found_out(name: &str, rules: Rules, seeds: u64, wrong: fn(&Run) -> bool) {
    let found = (0..seeds).find(|seed| wrong(&simulate(Setup::drawn(*seed).with(rules), *seed)));
    let seed = found.unwrap_or_else(|| panic!("without {name} no history of {seeds} is wrong"));
    let with = simulate(Setup::drawn(seed), seed);
    assert!(with.faults().is_none(), "seed {seed} is wrong with {name}, too: {:?}", with.faults());
}

/// Rare ones are looked for from where one is known to be; if histories change, look for another.
#[test]
fn a_scribe_that_does_not_ask_is_found_out() {
    let rules = Rules { scribe_asks: false, ..Rules::default() };
    let found = (890..910).find(|seed| not_strict(&simulate(Setup::crowded().with(rules), *seed)));
    let seed = found.expect("a reader of the sequence and a strict read disagree");
    assert!(simulate(Setup::crowded(), seed).faults().is_none(), "seed {seed} is wrong with all rules, too");
}

/// A client, or a reader of the sequence, could see it.
fn not_strict(run: &Run) -> bool {
    !run.is_strict()
}

/// The simulator's own assertions fail.
fn broken(run: &Run) -> bool {
    !run.broken.is_empty()
}

#[test]
fn without_rule_b_it_is_not_strict() {
    let rules = Rules { heard_by_all: false, ..Rules::default() };
    let wrong = (0..60).filter(|seed| not_strict(&simulate(Setup::crowded().with(rules), *seed))).count();
    assert!(wrong > 0, "one in ten is wrong, and none of 60 was");
    found_out("rule B", Rules { heard_by_all: false, ..Rules::default() }, 1_000, not_strict);
}

#[test]
fn reads_that_do_not_wait_for_all_heads_are_found_out() {
    found_out("waiting", Rules { reads_wait_for_heads: false, ..Rules::default() }, 100, not_strict);
}

#[test]
fn gaps_of_a_channel_that_are_ignored_are_found_out() {
    found_out("order in channels", Rules { channels_in_order: false, ..Rules::default() }, 100, not_strict);
}

#[test]
fn a_nop_before_an_earlier_record_is_found_out() {
    found_out("NOPs behind groups", Rules { nops_behind_groups: false, ..Rules::default() }, 500, not_strict);
}

#[test]
fn an_oracle_that_forgets_too_early_is_found_out() {
    found_out("the oracle's memory", Rules { oracle_remembers: false, ..Rules::default() }, 1_000, broken);
}

#[test]
fn keys_that_were_read_without_rows_are_found_out() {
    found_out("rows of reads", Rules { reads_are_rows: false, ..Rules::default() }, 2_000, not_strict);
}

#[test]
fn commits_that_do_not_read_the_epoch_are_found_out() {
    found_out("the epoch's row", Rules { commits_read_epoch: false, ..Rules::default() }, 1_000, not_strict);
}

#[test]
fn moves_without_forwarding_are_found_out() {
    found_out("forwarding", Rules { moves_are_forwarded: false, ..Rules::default() }, 500, not_strict);
}

#[test]
fn versions_that_are_published_before_they_are_written_are_found_out() {
    let rules = Rules { versions_before_publishing: false, ..Rules::default() };
    found_out("writing first", rules, 50, broken);
}

#[test]
fn a_chunk_that_two_gates_lease_is_found_out() {
    found_out("exclusive leases", Rules { leases_are_exclusive: false, ..Rules::default() }, 500, not_strict);
}
