//! Every structure of the store below, at and above its limits: closed, killed, opened, checked, backed up, restored, compared with a model.
//!
//! The long form: `TANGLEWOOD_LIMIT_SEEDS=200 TANGLEWOOD_LIMIT_SEED=7 cargo test -p tanglewood-sim --test limits -- --ignored --nocapture`.
#![allow(clippy::disallowed_methods)]

use tanglewood_sim::limits::{Amount, Crossed, cross};

fn crossed(seeds: std::ops::Range<u64>, amount: Amount) -> Crossed {
    let mut all = Crossed::default();
    for seed in seeds {
        eprintln!("seed {seed}");
        all.add(&cross(seed, amount).unwrap_or_else(|told| panic!("{told}")));
    }
    eprintln!("{all:?}");
    all
}

#[test]
fn what_is_written_is_read_at_every_size() {
    let all = crossed(0..4, Amount { steps: 14, nodes_max: 9_000 });
    assert!(all.opens > 12 && all.restored > 0 && all.moments > 10, "{all:?}");
}

#[test]
#[ignore = "soak: TANGLEWOOD_LIMIT_SEEDS seeds (20) from TANGLEWOOD_LIMIT_SEED (1,000) on; some 20 seconds each"]
fn soak_limits() {
    let number = |name: &str, unset: u64| std::env::var(name).map_or(unset, |text| text.parse().unwrap());
    let (first, count) = (number("TANGLEWOOD_LIMIT_SEED", 1_000), number("TANGLEWOOD_LIMIT_SEEDS", 20));
    crossed(first..first + count, Amount { steps: 60, nodes_max: 30_000 });
}
