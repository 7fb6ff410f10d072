//! Snapshots against their obvious twin, under random changes, with many snapshots kept alive and compared at the end.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use crate::common;

use common::{Chance, Hides, Pair, Twin};
use model::{Direction, EdgeRef, EdgeTypeId, KeyId, LabelId, LabelSetId, Value, VertexId, pace};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::*;

/// Small thresholds, so that compactions happen all the time.
fn compacting(compact_changes_min: usize) -> StoreOptions {
    StoreOptions { compact_changes_min, index_delta_min: compact_changes_min, ..StoreOptions::default() }
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
    let mut met = vec![BTreeSet::new(); readers.len()];
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
        if group < 40 || group % 5 == 0 {
            // Some commits lie between two looks of one reader, and one looks at an earlier graph now and then.
            let turn = chance.below(readers.len());
            let (hides, restriction) = &readers[turn];
            pair.twin.compare_met(&pair.store.current(), hides, restriction, &mut met[turn]);
            if let Some((snapshot, twin)) = kept.get(group % 7) {
                twin.compare_met(snapshot, hides, restriction, &mut met[turn]);
            }
        }
        if group % 36 == 24 {
            compare_shown(&pair.store.current(), &pair.twin, group / 36);
        }
        if group % 17 == 0 {
            for chunk in pair.store.current().chunks_to_compact(3) {
                pair.store.publish(pair.store.current().compact(chunk).unwrap());
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
    (1..5).for_each(|seed| run(seed, compacting(1), 150));
}

#[test]
fn random_changes_folded_often() {
    (11..15).for_each(|seed| run(seed, compacting(10), 200));
}

#[test]
fn random_changes_never_compacted() {
    (21..24).for_each(|seed| run(seed, compacting(usize::MAX), 200));
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
    for (seed, compact_changes_min) in [(41, usize::MAX), (42, 700), (43, 90)] {
        println!("seed {seed}, compact at {compact_changes_min}");
        let mut chance = Chance(seed);
        let mut pair = Pair::new(compacting(compact_changes_min));
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
        let mut pair = Pair::new(compacting(8));
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

thread_local! {
    /// Units of work after which this thread is stopped.
    static UNITS_LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

fn stop_after(units: u64) {
    pace::counted_by(|units, _| {
        let left = UNITS_LEFT.get().checked_sub(units);
        UNITS_LEFT.set(left.unwrap_or(0));
        if left.is_some() { Ok(()) } else { Err(pace::Stopped) }
    });
    UNITS_LEFT.set(units);
}

/// Chunks of [`Parts`]: each holds nodes with a label of its own.
const PARTS: usize = 40;

/// A graph of many chunks. `L0` is hidden; each other part has a node with an edge of type `T0` to a hidden one.
struct Parts {
    store: Store,
    nodes: Vec<VertexId>,
    restriction: Arc<Restriction>,
}

impl Parts {
    fn new() -> Parts {
        let store = Store::new(StoreOptions::default());
        let names = store.names().clone();
        names.intern_edge_type("T0").unwrap();
        let key = names.intern_key("k0").unwrap();
        let mut changes = Vec::new();
        let mut nodes = Vec::new();
        for n in 0..=PARTS {
            let label = names.intern_label(&format!("L{n}")).unwrap();
            let labels = names.intern_label_set(&[label]).unwrap();
            let id = store.allocator().vertex(labels).unwrap();
            let properties = if n == 0 { vec![(key, Value::Int(1))] } else { Vec::new() };
            changes.push(Change::CreateVertex { id, labels, properties });
            nodes.push(id);
        }
        for source in &nodes[1..] {
            let id = store.allocator().edge(*source, EdgeTypeId(0)).unwrap();
            let edge = EdgeRef { id, source: *source, target: nodes[0] };
            changes.push(Change::CreateEdge { edge, properties: vec![(key, Value::Int(1))] });
        }
        // Entering edges are as many, so that they are looked for from the nodes that they leave; one that is shown would be found.
        let hides = Hides { vertices: Some(LabelId(0)), ..Hides::default() };
        let mut parts = Parts { store, nodes, restriction: Restriction::new(Arc::new(hides)) };
        parts.apply(&changes);
        let hidden = parts.seen().unmasked().labels(parts.nodes[0]).unwrap();
        let other = parts.store.allocator().vertex(hidden).unwrap();
        let mut changes = vec![Change::CreateVertex { id: other, labels: hidden, properties: Vec::new() }];
        for target in &parts.nodes[1..] {
            let id = parts.store.allocator().edge(other, EdgeTypeId(0)).unwrap();
            changes.push(Change::CreateEdge {
                edge: EdgeRef { id, source: other, target: *target },
                properties: Vec::new(),
            });
        }
        parts.apply(&changes);
        parts
    }
    fn apply(&mut self, changes: &[Change]) {
        let current = self.store.current();
        self.store.publish(current.apply(current.commit_version() + 1, &[changes]).unwrap());
    }
    /// Gives the node of a part another name, a key that everybody knows.
    fn touch(&mut self, part: usize) {
        let key = self.store.names().intern_key("known").unwrap();
        let value = Value::Int(self.store.current().commit_version() as i64);
        self.apply(&[Change::SetProperty { id: self.nodes[part], key, value }]);
    }
    fn seen(&self) -> Snapshot {
        self.store.current().restricted(&self.restriction)
    }
    /// Asks, and tells how many chunks were looked at for it.
    fn count<T>(&self, ask: impl FnOnce(&Snapshot) -> T) -> (T, u64) {
        let before = self.restriction.chunks_searched();
        let told = ask(&self.seen());
        (told, self.restriction.chunks_searched() - before)
    }
    fn knows_key(&self) -> (Result<bool, StoreError>, u64) {
        self.count(|seen| seen.knows_key("k0"))
    }
    fn has_edges(&self) -> (Result<bool, StoreError>, u64) {
        self.count(|seen| seen.has_edges(EdgeTypeId(0)))
    }
}

#[test]
fn what_is_not_shown_is_looked_for_once_and_then_in_chunks_that_changed() {
    let mut parts = Parts::new();
    let all = PARTS as u64;
    assert_eq!((parts.knows_key(), parts.has_edges()), ((Ok(false), all), (Ok(false), all)));
    assert_eq!((parts.knows_key(), parts.has_edges()), ((Ok(false), 0), (Ok(false), 0)));
    for turn in 1..20 {
        parts.touch(turn);
        parts.touch(turn + 1);
        assert_eq!((parts.knows_key(), parts.has_edges()), ((Ok(false), 2), (Ok(false), 2)), "{turn}");
    }
    // The chunk that shows nothing is never looked at.
    parts.touch(0);
    assert_eq!((parts.knows_key(), parts.has_edges()), ((Ok(false), 0), (Ok(false), 0)));
    // The far end comes into sight: its chunk alone has changed.
    let shown = parts.store.names().intern_label_set(&[LabelId(1)]).unwrap();
    let far = parts.nodes[0];
    parts.apply(&[Change::SetLabels { id: far, labels: shown }]);
    assert_eq!(parts.has_edges(), (Ok(true), 1));
    assert_eq!(parts.has_edges(), (Ok(true), 1));
    assert_eq!(parts.knows_key(), (Ok(true), 1));
    let hidden = parts.store.names().intern_label_set(&[LabelId(0)]).unwrap();
    parts.apply(&[Change::SetLabels { id: far, labels: hidden }]);
    // A key stays met, edges are there or not. That chunk is looked at, since it may still hold what is shown.
    assert_eq!((parts.knows_key(), parts.has_edges()), ((Ok(true), 0), (Ok(false), 1)));
    assert!(parts.seen().unmasked().has_edges(EdgeTypeId(0)).unwrap());
}

#[test]
fn a_search_ends_with_its_statement_and_is_taken_up_again() {
    let parts = Parts::new();
    let (mut looked, mut stops) = (0, 0);
    loop {
        stop_after(9);
        let (found, chunks) = parts.knows_key();
        looked += chunks;
        match found {
            Err(StoreError::Stopped) => stops += 1,
            other => break assert_eq!(other, Ok(false)),
        }
    }
    stop_after(u64::MAX);
    assert!((5..=PARTS).contains(&stops), "{stops}");
    // Of each turn the last chunk is looked at once more.
    assert_eq!(looked, PARTS as u64 + stops as u64);
}

#[test]
fn more_searches_than_are_kept_answer_the_same() {
    let mut parts = Parts::new();
    let hidden = parts.nodes[0];
    for n in 1..=100 {
        let key = parts.store.names().intern_key(&format!("k{n}")).unwrap();
        parts.apply(&[Change::SetProperty { id: hidden, key, value: Value::Int(1) }]);
    }
    for _ in 0..2 {
        let (unknown, looked) =
            parts.count(|seen| (1..=100).all(|n| !seen.knows_key(&format!("k{n}")).unwrap()));
        assert_eq!((unknown, looked), (true, 100 * PARTS as u64));
    }
    // The last ones are kept.
    let (unknown, looked) = parts.count(|seen| (37..=100).any(|n| seen.knows_key(&format!("k{n}")).unwrap()));
    assert_eq!((unknown, looked), (false, 0));
}

#[test]
fn what_nobody_committed_is_told_to_nobody_else() {
    let mut parts = Parts::new();
    let key = KeyId(0);
    assert_eq!(parts.knows_key(), (Ok(false), PARTS as u64));
    let change = Change::SetProperty { id: parts.nodes[3], key, value: Value::Int(1) };
    let own = parts.store.current().apply_uncommitted(std::slice::from_ref(&change)).unwrap();
    let (own, later) = (own.restricted(&parts.restriction), own.apply_uncommitted(&[]).unwrap());
    let before = parts.restriction.chunks_searched();
    assert!(own.knows_key("k0").unwrap() && later.restricted(&parts.restriction).knows_key("k0").unwrap());
    assert_eq!(parts.restriction.chunks_searched() - before, 2, "what was committed is not looked at again");
    assert_eq!((parts.knows_key(), parts.restriction.has_met(NameNo::Key(key))), ((Ok(false), 0), false));
    parts.apply(&[change]);
    assert_eq!((parts.knows_key(), parts.restriction.has_met(NameNo::Key(key))), ((Ok(true), 1), true));
}

/// A hub of which every other far end is hidden, and of which a part of the list is looked at.
#[test]
fn long_lists_are_estimated_by_a_part_of_them() {
    for edges in [EDGES_PER_VERTEX - 1, EDGES_PER_VERTEX, EDGES_PER_VERTEX + 1, 20 * EDGES_PER_VERTEX] {
        let parts = Parts::new();
        let [hidden, shown] = [0, 1].map(|part| parts.seen().unmasked().labels(parts.nodes[part]).unwrap());
        // Both kinds lie side by side, in the same chunks.
        let ids: Vec<VertexId> = (0..edges).map(|_| parts.store.allocator().vertex(shown).unwrap()).collect();
        let mut changes: Vec<Change> = ids
            .iter()
            .map(|id| Change::CreateVertex { id: *id, labels: shown, properties: Vec::new() })
            .collect();
        let hides = ids.iter().step_by(2).map(|id| Change::SetLabels { id: *id, labels: hidden });
        changes.extend(hides);
        for target in &ids {
            let id = parts.store.allocator().edge(parts.nodes[2], EdgeTypeId(0)).unwrap();
            let edge = EdgeRef { id, source: parts.nodes[2], target: *target };
            changes.push(Change::CreateEdge { edge, properties: Vec::new() });
        }
        let mut parts = parts;
        parts.apply(&changes);
        let view = parts.seen().adjacency(&[EdgeTypeId(0)], Direction::Out);
        let hub = parts.nodes[2].dense();
        let (exact, about) = (view.degree(hub).unwrap(), view.degree_about(hub).unwrap());
        let tolerance = if edges < EDGES_PER_VERTEX { 0 } else { exact / 8 };
        assert!(exact.abs_diff(about) <= tolerance, "{edges} edges: {exact}, about {about}");
    }
}
