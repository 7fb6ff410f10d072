//! Import against the same graph made change by change.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use crate::common;

use common::{Chance, Pair, put};
use model::{Column, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use std::sync::atomic::{AtomicUsize, Ordering};
use store::*;

/// A parallel for on three threads.
fn parallel(count: usize, task: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    task(at);
                }
            });
        }
    });
}

fn columns(chance: &mut Chance, rows: usize) -> (Vec<(KeyId, Column)>, Vec<Vec<Value>>) {
    let keys = chance.below(3);
    let plain = chance.below(2) == 0;
    let values: Vec<Vec<Value>> = (0..keys)
        .map(|_| {
            (0..rows).map(|row| if plain { Value::Int(row as i64 % 9) } else { chance.value() }).collect()
        })
        .collect();
    let columns =
        values.iter().enumerate().map(|(at, values)| (KeyId(at as u32), values.iter().cloned().collect()));
    (columns.collect(), values)
}

/// What a builder puts aside.
#[derive(Default)]
struct Aside(std::sync::Mutex<Vec<u8>>);

impl Spill for Aside {
    fn write(&self, bytes: &[u8]) -> Result<u64, StoreError> {
        let mut held = self.0.lock().unwrap();
        held.extend_from_slice(bytes);
        Ok((held.len() - bytes.len()) as u64)
    }
    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, StoreError> {
        Ok(self.0.lock().unwrap()[at as usize..at as usize + len].to_vec())
    }
}

/// Adds random vertices and edges through a bulk builder, and to the twin; in little room or in enough.
fn import(pair: &mut Pair, chance: &mut Chance, old: &[VertexId]) {
    for bytes in [None, Some(1 << 10), Some(1 << 27)] {
        let aside = Aside::default();
        let room = bytes.map(|bytes| Room { bytes, spill: &aside });
        import_within(pair, chance, old, room);
        assert_eq!(bytes == Some(1 << 10), aside.0.lock().unwrap().len() > 10_000, "{bytes:?}");
    }
}

fn import_within(pair: &mut Pair, chance: &mut Chance, old: &[VertexId], room: Option<Room<'_>>) {
    let before = pair.store.current();
    let bulk = Bulk::within(pair.store.allocator(), room);
    let mut ids: Vec<VertexId> = old.to_vec();
    for _ in 0..6 {
        let labels = [LabelId(chance.below(3) as u16), LabelId(chance.below(3) as u16)];
        let set = pair.store.names().intern_label_set(&labels).unwrap();
        let count = chance.below(3000);
        let (columns, values) = columns(chance, count);
        let dense = bulk.vertices(set, count, columns).unwrap().into_iter().flatten();
        let start = ids.len();
        ids.extend(dense.map(VertexId::from_dense));
        assert_eq!(ids.len() - start, count);
        for (row, id) in ids[start..].iter().enumerate() {
            let mut held = common::Properties::new();
            values
                .iter()
                .enumerate()
                .for_each(|(key, column)| put(&mut held, KeyId(key as u32), &column[row]));
            pair.twin.vertices.insert(*id, (labels.into_iter().collect(), held));
        }
    }
    // The twin compares every vertex with every view, so keep edges few beside the vertices.
    let mut expected: Vec<(EdgeTypeId, u32, u32, String)> = Vec::new();
    for _ in 0..5 {
        let edge_type = EdgeTypeId(chance.below(3) as u16);
        let hub = ids[chance.below(ids.len())].dense();
        let mut pick = || if chance.below(5) == 0 { hub } else { ids[chance.below(ids.len())].dense() };
        let pairs: Vec<(u32, u32)> = (0..400).map(|_| (pick(), pick())).collect();
        let (columns, values) = columns(chance, pairs.len());
        for (row, (source, target)) in pairs.iter().enumerate() {
            let held: String = values.iter().map(|column| format!("{:?};", column[row])).collect();
            expected.push((edge_type, *source, *target, held.replace("Null;", "")));
        }
        bulk.edges(edge_type, pairs, columns).unwrap();
    }
    bulk.seal().unwrap();
    assert_eq!(bulk.is_crowded(), room.is_some_and(|room| room.bytes < 1 << 14));
    pair.commit_version += 1;
    let after = bulk.finish(&before, pair.commit_version, &parallel).unwrap();
    adopt_edges(pair, &after, &ids, expected);
    pair.store.publish(after);
}

/// Reads the new edges back, checks them against what was asked for, and tells the twin their ids.
fn adopt_edges(
    pair: &mut Pair,
    after: &Snapshot,
    ids: &[VertexId],
    mut expected: Vec<(EdgeTypeId, u32, u32, String)>,
) {
    let mut found: Vec<(EdgeTypeId, u32, u32, String)> = Vec::new();
    let view = after.adjacency(&[], model::Direction::Out);
    for vertex in ids {
        let mut edges: Vec<EdgeRef> = Vec::new();
        view.for_each_edge(vertex.dense(), |edge| edges.push(edge)).unwrap();
        edges.retain(|edge| !pair.twin.edges.contains_key(&edge.id));
        for edge in edges {
            let properties = after.edge_properties(edge.id).unwrap();
            let held = properties.iter().map(|(_, value)| format!("{value:?};")).collect();
            found.push((edge.id.edge_type(), edge.source.dense(), edge.target.dense(), held));
            pair.twin.edges.insert(edge.id, (edge, properties.into_iter().collect()));
        }
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn import_into_an_empty_store_and_go_on() {
    println!("seed 5");
    let mut chance = Chance(5);
    let mut pair =
        Pair::new(StoreOptions { compact_changes_min: 50, index_delta_min: 50, ..StoreOptions::default() });
    pair.create_index(0, &[0]);
    pair.create_edge_index(0, &[0]);
    import(&mut pair, &mut chance, &[]);
    pair.twin.compare(&pair.store.current());
    for _ in 0..50 {
        let mut changes = Vec::new();
        (0..10).for_each(|_| pair.random_change(&mut chance, &mut changes));
        pair.apply(&changes);
    }
    pair.twin.compare(&pair.store.current());
    // A restored allocator goes on without a clash.
    pair.store.allocator().restore(&pair.store.current());
    for _ in 0..20 {
        let mut changes = Vec::new();
        (0..10).for_each(|_| pair.random_change(&mut chance, &mut changes));
        pair.apply(&changes);
    }
    pair.twin.compare(&pair.store.current());
}

#[test]
fn import_into_a_store_in_use() {
    println!("seed 6");
    let mut chance = Chance(6);
    let mut pair =
        Pair::new(StoreOptions { compact_changes_min: 60, index_delta_min: 60, ..StoreOptions::default() });
    pair.create_index(1, &[1]);
    pair.create_edge_index(1, &[1]);
    for _ in 0..40 {
        let mut changes = Vec::new();
        (0..10).for_each(|_| pair.random_change(&mut chance, &mut changes));
        pair.apply(&changes);
    }
    let (before, twin) = (pair.store.current(), pair.twin.clone());
    let old: Vec<VertexId> = pair.twin.vertices.keys().copied().collect();
    import(&mut pair, &mut chance, &old);
    pair.twin.compare(&pair.store.current());
    twin.compare(&before);
}

#[test]
fn import_refuses_what_does_not_fit() {
    let pair = Pair::new(StoreOptions::default());
    let (snapshot, set) = (pair.store.current(), pair.store.names().intern_label_set(&[LabelId(0)]).unwrap());
    let bulk = Bulk::new(pair.store.allocator());
    let short: Column = [Value::Int(1)].into_iter().collect();
    assert!(bulk.vertices(set, 2, vec![(KeyId(0), short)]).is_err());
    bulk.vertices(set, 2, Vec::new()).unwrap();
    bulk.edges(EdgeTypeId(0), vec![(0, 5)], Vec::new()).unwrap();
    assert!(matches!(bulk.finish(&snapshot, 1, &parallel), Err(StoreError::NoVertex(_))));
    assert_eq!(snapshot.edge(EdgeId::new(0, EdgeTypeId(0), 0)).unwrap(), None);
}

#[test]
fn many_threads_fill_one_import() {
    let pair = Pair::new(StoreOptions::default());
    let set = pair.store.names().intern_label_set(&[LabelId(0)]).unwrap();
    let bulk = Bulk::new(pair.store.allocator());
    parallel(40, &|task| {
        let numbers: Column = (0..777).map(|row| Value::Int((task * 1000 + row) as i64)).collect();
        let ids: Vec<u32> =
            bulk.vertices(set, 777, vec![(KeyId(0), numbers)]).unwrap().into_iter().flatten().collect();
        let ring = ids.iter().zip(ids.iter().cycle().skip(1)).map(|(a, b)| (*a, *b)).collect();
        let weights: Column = (0..777).map(|row| Value::Int((task * 1000 + row) as i64)).collect();
        bulk.edges(EdgeTypeId(0), ring, vec![(KeyId(1), weights)]).unwrap();
    });
    let snapshot = bulk.finish(&pair.store.current(), 1, &parallel).unwrap();
    assert_eq!((snapshot.statistics().vertices(), snapshot.statistics().edges()), (40 * 777, 40 * 777));
    let view = snapshot.adjacency(&[EdgeTypeId(0)], model::Direction::Out);
    let mut vertices = Vec::new();
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices).unwrap();
    }
    let mut numbers: Vec<i64> = Vec::new();
    for vertex in vertices {
        let mut edges = Vec::new();
        view.for_each_edge(vertex.dense(), |edge| edges.push(edge)).unwrap();
        assert_eq!(edges.len(), 1);
        let number = snapshot.property(vertex, KeyId(0)).unwrap().as_int().unwrap();
        assert_eq!(snapshot.edge_property(edges[0].id, KeyId(1)).unwrap().as_int(), Some(number));
        let next = snapshot.property(edges[0].target, KeyId(0)).unwrap().as_int().unwrap();
        assert_eq!(next, if number % 1000 == 776 { number - 776 } else { number + 1 });
        numbers.push(number);
    }
    numbers.sort();
    assert_eq!(
        numbers,
        (0..40).flat_map(|task| (0..777).map(move |row| task * 1000 + row)).collect::<Vec<i64>>()
    );
}
