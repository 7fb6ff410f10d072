//! Snapshots against their obvious twin, under random changes, with many snapshots kept alive and compared at the end.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

mod common;

use common::{Chance, Hides, Pair, Twin};
use model::{Direction, EdgeRef, EdgeTypeId, LabelSetId, VertexId};
use store::*;

/// Small thresholds, so that folds happen all the time.
fn folding(fold_changes_min: usize) -> StoreOptions {
    StoreOptions { fold_changes_min, index_delta_min: fold_changes_min, ..StoreOptions::default() }
}

fn run(seed: u64, options: StoreOptions, groups: usize) {
    println!("seed {seed}, {options:?}");
    let mut chance = Chance(seed);
    let mut pair = Pair::new(options);
    let mut kept: Vec<(Snapshot, Twin)> = Vec::new();
    // What readers are shown is kept by versions of chunks from one snapshot to the next.
    let readers: Vec<Hides> = (0..3).map(|_| Hides::random(&mut Chance(chance.next()))).collect();
    let readers: Vec<(Hides, _)> =
        readers.into_iter().map(|hides| (hides, Restriction::new(std::sync::Arc::new(hides)))).collect();
    let compare_shown = |snapshot: &Snapshot, twin: &Twin, turn: usize| {
        let (hides, restriction) = &readers[turn % readers.len()];
        twin.compare_shown(snapshot, hides, restriction);
    };
    for group in 0..groups {
        let mut changes = Vec::new();
        (0..1 + chance.below(12)).for_each(|_| pair.random_change(&mut chance, &mut changes));
        pair.apply(&changes);
        match group {
            5 => {
                pair.create_index(0, &[0]);
                pair.create_edge_index(0, &[0]);
            }
            60 => {
                pair.create_index(1, &[1, 2]);
                pair.create_edge_index(1, &[1, 2]);
            }
            _ => {}
        }
        if group % 12 == 0 {
            kept.push((pair.store.current(), pair.twin.clone()));
        }
        if group % 36 == 24 {
            compare_shown(&pair.store.current(), &pair.twin, group / 36);
        }
        if group % 17 == 0 {
            for chunk in pair.store.current().chunks_to_fold(3) {
                pair.store.publish(pair.store.current().fold(chunk).unwrap());
            }
        }
    }
    kept.push((pair.store.current(), pair.twin));
    for (turn, (snapshot, twin)) in kept.iter().enumerate() {
        twin.compare(snapshot);
        if turn % 5 == 1 {
            compare_shown(snapshot, twin, turn / 5);
        }
    }
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

/// Lists that readers of one snapshot kept must not show up in the next. Asked often, a view makes its array: both ways are met.
fn compare_hub(pair: &Pair, hub: VertexId, times: usize) {
    let snapshot = pair.store.current();
    let ends = |way: Direction| {
        let far = |edge: &EdgeRef| match (way, edge.source == hub) {
            (Direction::Out, true) | (Direction::Both, true) => Some(edge.target.dense()),
            (Direction::In, _) if edge.target == hub => Some(edge.source.dense()),
            (Direction::Both, false) => Some(edge.source.dense()),
            _ => None,
        };
        let mut ends: Vec<u32> = pair.twin.edges_at(hub).iter().filter_map(far).collect();
        ends.sort_unstable();
        ends
    };
    for way in [Direction::Out, Direction::In, Direction::Both] {
        let (view, expected) = (snapshot.adjacency(&[EdgeTypeId(0)], way), ends(way));
        for _ in 0..times {
            let mut scratch = Vec::new();
            let mut found = view.neighbours(hub.dense(), &mut scratch).unwrap().to_vec();
            found.sort_unstable();
            assert_eq!(found, expected, "{way:?}");
        }
    }
}

/// A hub's delta outgrows the plain vector, in both directions, with edges of base and delta going.
#[test]
fn a_hub_gains_and_loses_edges() {
    for (seed, fold_changes_min) in [(41, usize::MAX), (42, 700), (43, 90)] {
        println!("seed {seed}, fold at {fold_changes_min}");
        let mut chance = Chance(seed);
        let mut pair = Pair::new(folding(fold_changes_min));
        let set = LabelSetId(0);
        let ids: Vec<VertexId> = (0..60).map(|_| pair.store.allocator().vertex(set).unwrap()).collect();
        for id in &ids {
            pair.twin.vertices.insert(*id, Default::default());
            pair.apply(&[Change::CreateVertex { id: *id, labels: set, properties: Vec::new() }]);
        }
        let mut kept = Vec::new();
        for round in 0..900 {
            let growing = round % 450 < 300;
            if chance.below(10) < if growing { 8 } else { 2 } || pair.twin.edges.is_empty() {
                let other = ids[chance.below(ids.len())];
                let (source, target) = if chance.below(3) == 0 { (other, ids[0]) } else { (ids[0], other) };
                let id = pair.store.allocator().edge(source, EdgeTypeId(0)).unwrap();
                let edge = EdgeRef { id, source, target };
                pair.twin.edges.insert(id, (edge, Default::default()));
                pair.apply(&[Change::CreateEdge { edge, properties: Vec::new() }]);
            } else {
                let at = chance.below(pair.twin.edges.len());
                let edge = pair.twin.edges.values().nth(at).unwrap().0;
                pair.twin.edges.remove(&edge.id);
                pair.apply(&[Change::DeleteEdge { edge }]);
            }
            compare_hub(&pair, ids[0], if round % 10 == 0 { 40 } else { 1 });
            if round % 60 == 0 {
                kept.push((pair.store.current(), pair.twin.clone()));
            }
        }
        kept.push((pair.store.current(), pair.twin));
        kept.iter().for_each(|(snapshot, twin)| twin.compare(snapshot));
    }
}

/// Leaves are cut, emptied and built beside commits; the index is what a build from nothing gives.
#[test]
fn indexes_grow_shrink_and_are_prepared() {
    for seed in 41..44 {
        println!("seed {seed}");
        let mut chance = Chance(seed);
        let mut pair = Pair::new(folding(8));
        let mut grow = |pair: &mut Pair, groups: usize| {
            for _ in 0..groups {
                let mut changes = Vec::new();
                (0..8).for_each(|_| pair.random_change(&mut chance, &mut changes));
                pair.apply(&changes);
            }
        };
        grow(&mut pair, 40);
        let definition = pair.definition(0, &[0]);
        let of_edges = pair.edge_definition(0, &[0]);
        for _ in 0..3 {
            pair.store.current().prepare_index(&definition).unwrap();
            pair.store.current().prepare_index(&of_edges).unwrap();
            grow(&mut pair, 20);
        }
        pair.create_index(0, &[0]);
        pair.create_edge_index(0, &[0]);
        pair.store.current().prepare_index(&pair.definition(1, &[2])).unwrap();
        pair.store.current().forget_prepared(&pair.definition(1, &[2]));
        pair.twin.compare(&pair.store.current());
        grow(&mut pair, 40);
        pair.twin.compare(&pair.store.current());
    }
}
