//! kill -9 over a mixed soak: no acknowledged commit is lost, no half of one is visible, every history is strictly serializable, the database
//! opens and is sound.
//!
//! `TANGLEWOOD_KILL_ROUNDS` says how often (6 where unset), `TANGLEWOOD_KILL_SEED` replays the moments. A thousand rounds:
//! `TANGLEWOOD_KILL_ROUNDS=1000 cargo test --release -p tanglewood-sim --test kill -- --nocapture`
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "kill/soak.rs"]
mod soak;

use std::path::Path;
use world::chance::Chance;

fn rounds() -> u64 {
    std::env::var("TANGLEWOOD_KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

fn chance() -> Chance {
    let given = std::env::var("TANGLEWOOD_KILL_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(Chance::system_seed);
    eprintln!("TANGLEWOOD_KILL_SEED={seed}");
    Chance::seeded(seed)
}

/// Not a test of its own: the process that is killed. It answers the requests of the clients on the other side of the pipe.
#[test]
fn child_serves_until_it_is_killed() {
    let Some(path) = std::env::var_os(soak::CHILD_DATABASE) else { return };
    soak::serve(Path::new(&path));
}

#[test]
fn nothing_acknowledged_is_lost_and_every_history_is_strictly_serializable() {
    if std::env::var_os(soak::CHILD_DATABASE).is_some() {
        return;
    }
    let mut soak = soak::Soak::new(chance());
    (0..rounds()).for_each(|round| soak.round(round));
    soak.finish();
}
