//! Reading by the trait, many at once, against the twin: also of what is not there, in any order, and more than once.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use crate::common;

use common::{Chance, KEYS, Pair, Twin, show};
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, NO_VERTEX, Value, VertexId};
use std::collections::BTreeSet;
use store::*;

/// Vertices in a random order, some of them twice, and some that no graph has.
fn asked(twin: &Twin, chance: &mut Chance) -> Vec<VertexId> {
    let known: Vec<VertexId> = twin.vertices.keys().copied().collect();
    let mut asked: Vec<VertexId> = (0..40).map(|_| known[chance.below(known.len())]).collect();
    asked.extend([NO_VERTEX, VertexId(1 << 40), VertexId::new(7, 4_095), VertexId::of_schema(LabelId(0))]);
    for at in 0..asked.len() {
        let other = chance.below(asked.len());
        asked.swap(at, other);
    }
    asked
}

fn check_entities(graph: &dyn GraphRead, twin: &Twin, chance: &mut Chance) {
    let vertices = asked(twin, chance);
    let mut labels = Vec::new();
    graph.read_labels(&vertices, &mut |set| labels.push(set)).unwrap();
    assert_eq!(labels.len(), vertices.len());
    for (vertex, set) in vertices.iter().zip(&labels) {
        let names = set.map(|set| graph.catalog().labels_of(set).iter().copied().collect::<BTreeSet<_>>());
        assert_eq!(names, twin.vertices.get(vertex).map(|(labels, _)| labels.clone()), "{vertex:?}");
        assert_eq!(graph.label_set(*vertex).unwrap(), *set);
        let filter = LabelFilter::Has(LabelId(1));
        let passes = names.is_some_and(|names| names.contains(&LabelId(1)));
        assert_eq!(graph.passes(*vertex, &filter).unwrap(), passes, "{vertex:?}");
    }
    let edges: Vec<EdgeId> = twin.edges.keys().rev().copied().collect();
    for key in (0..KEYS).map(KeyId) {
        let (mut found, mut found_of_edges) = (Vec::new(), Vec::new());
        graph.read_property(&vertices, key, &mut |value| found.push(value.to_value())).unwrap();
        graph.read_edge_property(&edges, key, &mut |value| found_of_edges.push(value.to_value())).unwrap();
        assert_eq!((found.len(), found_of_edges.len()), (vertices.len(), edges.len()));
        for (vertex, value) in vertices.iter().zip(found) {
            let held = twin.vertices.get(vertex).and_then(|(_, properties)| properties.get(&key));
            assert_eq!(show(&value), show(&held.cloned().unwrap_or_default()), "{vertex:?}");
            assert_eq!(show(&graph.property(*vertex, key).unwrap()), show(&value), "{vertex:?}");
        }
        for (edge, value) in edges.iter().zip(found_of_edges) {
            let held = twin.edges[edge].1.get(&key).cloned().unwrap_or_default();
            assert_eq!(show(&value), show(&held), "{edge:?}");
            assert_eq!(show(&graph.edge_property(*edge, key).unwrap()), show(&value), "{edge:?}");
        }
    }
}

fn check_adjacency(graph: &dyn GraphRead, twin: &Twin, chance: &mut Chance) {
    let vertices = asked(twin, chance);
    let pairs: Vec<(VertexId, VertexId)> =
        (0..60).map(|_| (vertices[chance.below(44)], vertices[chance.below(44)])).collect();
    for types in [&[][..], &[EdgeTypeId(0)], &[EdgeTypeId(2), EdgeTypeId(1)]] {
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let along = graph.adjacency_of(types, direction);
            let is_of = |edge: &EdgeRef| types.is_empty() || types.contains(&edge.id.edge_type());
            let leaves = |edge: &EdgeRef, from: VertexId| match direction {
                Direction::Out => edge.source == from,
                Direction::In => edge.target == from,
                Direction::Both => edge.source == from || edge.target == from,
            };
            let at = |from: VertexId| {
                let all = twin.edges.values().map(|(edge, _)| *edge);
                all.filter(|edge| is_of(edge) && leaves(edge, from)).collect::<Vec<_>>()
            };
            let other = |edge: &EdgeRef, from| if edge.source == from { edge.target } else { edge.source };
            let mut lists: Vec<Vec<u32>> = Vec::new();
            along.neighbours(&vertices, &mut |list| lists.push(list.to_vec())).unwrap();
            assert_eq!(lists.len(), vertices.len());
            let mut edges = vec![Vec::new(); vertices.len()];
            along.edges(&vertices, &mut |place, edge| edges[place].push(edge)).unwrap();
            for ((vertex, mut list), mut edges) in vertices.iter().zip(lists).zip(edges) {
                let mut expected = at(*vertex);
                let mut ends: Vec<u32> = expected.iter().map(|edge| other(edge, *vertex).dense()).collect();
                ends.sort_unstable();
                if types.len() == 1 && direction != Direction::Both {
                    assert!(list.is_sorted(), "{vertex:?}");
                }
                list.sort_unstable();
                edges.sort_unstable();
                expected.sort_unstable();
                assert_eq!((list, edges), (ends, expected), "{vertex:?} {types:?} {direction:?}");
            }
            let mut found = vec![Vec::new(); pairs.len()];
            along.between(&pairs, &mut |place, edge| found[place].push(edge)).unwrap();
            for ((from, to), mut found) in pairs.iter().zip(found) {
                let between = at(*from).into_iter().filter(|edge| other(edge, *from) == *to);
                let mut expected: Vec<EdgeId> = between.map(|edge| edge.id).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{from:?} {to:?} {types:?} {direction:?}");
            }
        }
    }
}

fn check_scans(graph: &dyn GraphRead, twin: &Twin) {
    for filter in [LabelFilter::Any, LabelFilter::Has(LabelId(2)), LabelFilter::Or(Vec::new())] {
        let (mut found, mut cursor) = (Vec::new(), Some(0));
        while let Some(at) = cursor {
            cursor = graph.scan(&filter, at, &mut found).unwrap();
            assert!(cursor.is_none_or(|next| next > at), "it gets on");
        }
        found.sort_unstable();
        let passing = twin
            .vertices
            .iter()
            .filter(|(_, (labels, _))| filter.accepts(&labels.iter().copied().collect::<Vec<_>>()));
        assert_eq!(found, passing.map(|(vertex, _)| *vertex).collect::<Vec<_>>(), "{filter:?}");
    }
    let mut past = Vec::new();
    assert_eq!(graph.scan(&LabelFilter::Any, u64::MAX, &mut past).unwrap(), None);
    assert!(past.is_empty());
    for index in graph.catalog().indexes() {
        for value in (-6..16).map(Value::Int).chain([Value::Null, Value::Float(f64::NAN), "a".into()]) {
            let mut found = Vec::new();
            graph.seek(index.id, &value, &mut found).unwrap();
            let distinct: BTreeSet<VertexId> = found.iter().copied().collect();
            assert_eq!(distinct.len(), found.len(), "each once");
            for (vertex, (labels, properties)) in &twin.vertices {
                let held = properties.get(&index.keys[0]).cloned().unwrap_or_default();
                let is_it =
                    labels.contains(&LabelId(0)) && model::compare::equals(&held, &value) == Some(true);
                assert!(!is_it || distinct.contains(vertex), "{vertex:?} has {value:?}");
            }
        }
    }
}

#[test]
fn a_snapshot_is_read_as_its_twin() {
    for seed in 1..5 {
        println!("seed {seed}");
        let (mut chance, mut pair) = (Chance(seed), Pair::new(StoreOptions::default()));
        let empty = pair.store.current();
        check_scans(&empty, &pair.twin);
        pair.create_index(0, &[0]);
        for group in 0..60 {
            let mut changes = Vec::new();
            (0..8).for_each(|_| pair.random_change(&mut chance, &mut changes));
            pair.apply(&changes);
            if group % 20 == 11 {
                for chunk in pair.store.current().chunks_to_compact(3) {
                    pair.store.publish(pair.store.current().compact(chunk).unwrap());
                }
            }
            if group % 6 == 5 {
                let snapshot = pair.store.current();
                check_entities(&snapshot, &pair.twin, &mut chance);
                check_adjacency(&snapshot, &pair.twin, &mut chance);
                check_scans(&snapshot, &pair.twin);
            }
        }
    }
}

/// Values of every form that a column is stored in, of more vertices than a chunk has.
fn of_all_forms() -> (Store, Vec<VertexId>, Vec<EdgeId>, Vec<KeyId>) {
    let store = Store::new(Default::default());
    let (names, allocator) = (store.names(), store.allocator());
    let set = names.intern_label_set(&[names.intern_label("A").unwrap()]).unwrap();
    let knows = names.intern_edge_type("KNOWS").unwrap();
    let keys: Vec<KeyId> = (0..7).map(|key| names.intern_key(&format!("key {key}")).unwrap()).collect();
    let values = |at: usize| -> Vec<(KeyId, Value)> {
        let often = |every: usize, value: Value| if at.is_multiple_of(every) { Value::Null } else { value };
        let all = [
            Value::Int(at as i64 - 2_000),
            Value::Float(at as f64 / 8.0),
            Value::string(format!("text {}", at % 13)),
            Value::string(format!("text {at}")),
            often(7, Value::Int(at as i64)),
            often(2, Value::string(["", "é", "zz"][at % 3])),
            if at.is_multiple_of(3) { Value::Int(at as i64) } else { Value::Float(f64::NAN) },
        ];
        keys.iter().copied().zip(all).filter(|(_, value)| !value.is_null()).collect()
    };
    let vertices: Vec<VertexId> = (0..5_000).map(|_| allocator.vertex(set).unwrap()).collect();
    let edges: Vec<EdgeId> = vertices.iter().map(|vertex| allocator.edge(*vertex, knows).unwrap()).collect();
    let (definitions, _) = names.undurable();
    let mut changes: Vec<Change> = definitions.into_iter().map(Change::DefineName).collect();
    for (at, vertex) in vertices.iter().enumerate() {
        changes.push(Change::CreateVertex { id: *vertex, labels: set, properties: values(at) });
    }
    for (at, id) in edges.iter().enumerate() {
        let target = vertices[at * 7 % vertices.len()];
        let edge = EdgeRef { id: *id, source: vertices[at], target };
        changes.push(Change::CreateEdge { edge, properties: values(at) });
    }
    store.publish(store.current().apply(1, &[&changes]).unwrap());
    store.chunks_to_compact().into_iter().for_each(|chunk| store.compact(chunk));
    (store, vertices, edges, keys)
}

#[test]
fn values_that_are_read_together_are_those_that_are_read_alone() {
    let (store, vertices, edges, keys) = of_all_forms();
    let full = store.current();
    let gone = [Change::DeleteVertex { id: vertices[17] }];
    let gone_edges = [Change::DeleteEdge { edge: full.edge(edges[17]).unwrap().unwrap() }];
    let mut without = full.apply(2, &[&gone_edges]).unwrap();
    let into: Vec<EdgeId> = edges
        .iter()
        .copied()
        .filter(|edge| without.edge(*edge).unwrap().is_some_and(|edge| edge.target == vertices[17]))
        .collect();
    let into: Vec<Change> =
        into.iter().map(|edge| Change::DeleteEdge { edge: without.edge(*edge).unwrap().unwrap() }).collect();
    without = without.apply(3, &[&into]).unwrap().apply(4, &[&gone]).unwrap();
    let every_third: Vec<usize> = (0..vertices.len()).step_by(3).collect();
    let backwards: Vec<usize> = (0..vertices.len()).rev().collect();
    let jumping: Vec<usize> = (0..vertices.len()).map(|at| at * 4_097 % vertices.len()).collect();
    let mut coded = 0;
    for snapshot in [&full, &without] {
        for order in
            [&(0..1_000).collect(), &(0..vertices.len()).collect(), &every_third, &backwards, &jumping]
        {
            for key in &keys {
                let ids: Vec<VertexId> = order.iter().map(|at| vertices[*at]).collect();
                let mut column = model::ColumnBuilder::new();
                snapshot.property_column(&ids, *key, &mut column).unwrap();
                let column = column.finish();
                coded +=
                    usize::from(matches!(&column, model::Column::Text(texts, _) if texts.codes().is_some()));
                for (row, id) in ids.iter().enumerate() {
                    let alone = snapshot.property(*id, *key).unwrap();
                    assert_eq!(show(&column.get(row)), show(&alone), "{id:?} {key:?}");
                }
                let ids: Vec<EdgeId> = order.iter().map(|at| edges[*at]).collect();
                let mut column = model::ColumnBuilder::new();
                snapshot.edge_property_column(&ids, *key, &mut column).unwrap();
                let column = column.finish();
                for (row, id) in ids.iter().enumerate() {
                    let alone = snapshot.edge_property(*id, *key).unwrap();
                    assert_eq!(show(&column.get(row)), show(&alone), "{id:?} {key:?}");
                }
            }
        }
    }
    assert!(coded > 0, "a column of few texts stays in codes within a chunk");
}
