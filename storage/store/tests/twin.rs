//! Snapshots against their obvious twin, under random changes, with many snapshots kept alive and compared at the end.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

mod common;

use common::{Chance, Pair, Twin};
use store::*;

/// Small thresholds, so that folds happen all the time.
fn folding(fold_changes_min: usize) -> StoreOptions {
    StoreOptions { fold_changes_min, index_delta_min: fold_changes_min }
}

fn run(seed: u64, options: StoreOptions, groups: usize) {
    println!("seed {seed}, {options:?}");
    let mut chance = Chance(seed);
    let mut pair = Pair::new(options);
    let mut kept: Vec<(Snapshot, Twin)> = Vec::new();
    for group in 0..groups {
        let mut changes = Vec::new();
        (0..1 + chance.below(12)).for_each(|_| pair.random_change(&mut chance, &mut changes));
        pair.apply(&changes);
        match group {
            5 => pair.create_index(0, &[0]),
            60 => pair.create_index(1, &[1, 2]),
            _ => {}
        }
        if group % 12 == 0 {
            kept.push((pair.store.current(), pair.twin.clone()));
        }
        if group % 17 == 0 {
            for chunk in pair.store.current().chunks_to_fold(3) {
                pair.store.publish(pair.store.current().fold(chunk).unwrap());
            }
        }
    }
    kept.push((pair.store.current(), pair.twin));
    kept.iter().for_each(|(snapshot, twin)| twin.compare(snapshot));
}

#[test]
fn random_changes_folded_at_once() {
    (1..5).for_each(|seed| run(seed, folding(1), 150));
}

#[test]
fn random_changes_folded_often() {
    (11..15).for_each(|seed| run(seed, folding(10), 200));
}

#[test]
fn random_changes_never_folded() {
    (21..24).for_each(|seed| run(seed, folding(usize::MAX), 200));
}

#[test]
fn random_changes_with_default_thresholds() {
    run(31, StoreOptions::default(), 400);
}
