//! Three servers in a simulated network on simulated disks, clients that retry, and a checker that holds every answer against a plain twin.
//!
//! ```text
//!   clients ── calls, late, lost, doubled ──> Service ──> Core ──> Replica     the code that serves, polled by hand
//!                                                │ messages, late, lost, doubled, out of order; disks whose power or writes fail
//!                                                v
//!   history of calls and answers  +  the log that all replicas agree on  ──> check
//! ```
//!
//! `KRONOS_HISTORIES` says how many histories, `KRONOS_SEED` replays one: `KRONOS_SEED=17 cargo test -p tanglewood-kronos-server simulation`.

mod check;
mod client;
mod history;
mod twin;
mod witness;
mod world;

use world::{Mutant, World};

/// Steps with faults in one history.
const STEPS: u64 = 1_200;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// One history, checked.
fn history(seed: u64, mutant: Mutant) -> check::Tally {
    let mut world = World::new(seed, mutant);
    for _ in 0..STEPS {
        world.step(true);
    }
    world.settle();
    check::check(&world)
}

fn histories(seeds: std::ops::Range<u64>) -> check::Tally {
    let mut all = check::Tally::default();
    for seed in number("KRONOS_SEED").map_or(seeds, |seed| seed..seed + 1) {
        let caught = std::panic::catch_unwind(|| history(seed, Mutant::None));
        all += caught.unwrap_or_else(|_| panic!("the history of KRONOS_SEED={seed} fails"));
    }
    eprintln!("{all:?}");
    all
}

/// No cycle, no withdrawn order, no lost reference, nothing carried out twice, and every answer at one point between its call and its return.
#[test]
fn histories_with_faults() {
    let count = number("KRONOS_HISTORIES").unwrap_or(15);
    let all = histories(0..count);
    if number("KRONOS_SEED").is_none() {
        assert!(all.writes > 100 * count && all.reads > 30 * count, "too little was done: {all:?}");
        let rare = [all.repeated, all.concurrent, all.expired, all.refused];
        assert!(rare.iter().all(|times| *times > count), "a rare branch was hardly reached: {all:?}");
    }
}

/// The same for long, with random seeds.
#[test]
#[ignore = "minutes: cargo xtask check --slow"]
fn many_histories_with_faults() {
    let first = ::world::chance::Chance::system_seed() >> 16;
    eprintln!("seeds from {first}");
    histories(first..first + number("KRONOS_HISTORIES").unwrap_or(1_000));
}

/// The same seed does the same.
#[test]
fn a_seed_replays() {
    let run = || {
        let mut world = World::new(5, Mutant::None);
        (0..600).for_each(|_| world.step(true));
        world.trace()
    };
    assert_eq!(run(), run());
}

/// A server that lacks one of its safeguards is noticed within some histories.
#[test]
fn mutants_are_caught() {
    for mutant in Mutant::ALL {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let noticed = |seed: u64| {
            let panic = std::panic::catch_unwind(|| history(seed, mutant)).err()?;
            Some((seed, message(&*panic)))
        };
        let caught = (0..60).find_map(noticed);
        std::panic::set_hook(hook);
        eprintln!("{mutant:?} is caught by seed and message {caught:?}");
        assert!(caught.is_some(), "nothing notices {mutant:?}");
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref().cloned()).unwrap_or_default()
}
