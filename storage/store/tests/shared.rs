//! State that transactions share before they commit: names and ids, handed out to many threads at once.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use model::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::*;

#[test]
fn names_are_numbered_once_and_travel_with_the_next_record() {
    let names = Names::new();
    let person = names.intern_label("Person").unwrap();
    assert_eq!(names.intern_label("Person").unwrap(), person);
    let set = names.intern_label_set(&[person, person]).unwrap();
    assert_eq!(names.intern_label_set(&[person]).unwrap(), set);
    assert_eq!(names.intern_label_set(&[]).unwrap(), LabelSetId(0));
    let (definitions, mark) = names.undurable();
    assert_eq!(definitions.len(), 2);
    names.intern_key("name").unwrap();
    names.mark_durable(mark);
    assert_eq!(names.undurable().0, vec![NameDefinition::Key(KeyId(0), "name".into())]);

    let replayed = Names::new();
    definitions.iter().chain(&definitions).for_each(|definition| replayed.define(definition).unwrap());
    assert_eq!(replayed.undurable().0, vec![], "what was replayed is durable");
    assert_eq!(replayed.table().label("Person"), Some(person));
    assert!(replayed.define(&NameDefinition::Label(person, "Other".into())).is_err());
    assert!(replayed.define(&NameDefinition::Label(LabelId(7), "Gap".into())).is_err());
    assert!(
        replayed
            .define(&NameDefinition::LabelSet(LabelSetId(2), Arc::from([LabelId(9)].as_slice())))
            .is_err()
    );
}

#[test]
fn ids_are_handed_out_once_to_many_threads() {
    let allocator = Allocator::new();
    let all: Vec<(VertexId, EdgeId)> = std::thread::scope(|scope| {
        let take = |thread: u32| {
            let allocator = &allocator;
            move || -> Vec<(VertexId, EdgeId)> {
                let take = |_| {
                    let vertex = allocator.vertex(LabelSetId(thread % 2)).unwrap();
                    (vertex, allocator.edge(vertex, EdgeTypeId(1)).unwrap())
                };
                (0..5000).map(take).collect()
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(take(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(all.iter().map(|(vertex, _)| *vertex).collect::<BTreeSet<_>>().len(), 20_000);
    assert_eq!(all.iter().map(|(_, edge)| *edge).collect::<BTreeSet<_>>().len(), 20_000);
    let chunks: BTreeSet<ChunkNo> = all.iter().map(|(vertex, _)| vertex.chunk()).collect();
    assert_eq!(chunks.len(), 6, "10,000 vertices of each label set fill chunks of their own");
}

#[test]
fn ids_given_back_are_handed_out_again() {
    let allocator = Allocator::new();
    let vertex = allocator.vertex(LabelSetId(0)).unwrap();
    let edge = allocator.edge(vertex, EdgeTypeId(0)).unwrap();
    allocator.give_back(&[(vertex, LabelSetId(0))], &[edge]);
    assert_eq!(allocator.vertex(LabelSetId(0)).unwrap(), vertex);
    assert_eq!(allocator.edge(vertex, EdgeTypeId(0)).unwrap(), edge);
}

/// A store with one vertex, and what is needed to write to it.
fn one_vertex() -> (Store, VertexId) {
    let store = Store::new(StoreOptions::default());
    store.names().intern_edge_type("T").unwrap();
    let id = store.allocator().vertex(LabelSetId(0)).unwrap();
    let create = Change::CreateVertex { id, labels: LabelSetId(0), properties: Vec::new() };
    store.publish(store.current().apply(1, &[&[create]]).unwrap());
    (store, id)
}

#[test]
fn changes_that_do_not_fit_fail_as_a_whole() {
    let (store, id) = one_vertex();
    let before = store.current();
    let other = VertexId(99);
    let loop_edge =
        EdgeRef { id: store.allocator().edge(id, EdgeTypeId(0)).unwrap(), source: id, target: id };
    let looped =
        before.apply(2, &[&[Change::CreateEdge { edge: loop_edge, properties: Vec::new() }]]).unwrap();
    let fails = |snapshot: &Snapshot, change: Change| {
        let good = Change::SetProperty { id, key: KeyId(0), value: 1.into() };
        snapshot.apply(3, &[&[good], &[change]]).unwrap_err()
    };
    assert_eq!(fails(&looped, Change::DeleteVertex { id }), StoreError::VertexHasEdges(id));
    assert_eq!(fails(&before, Change::DeleteVertex { id: other }), StoreError::NoVertex(other));
    assert_eq!(fails(&before, Change::DeleteEdge { edge: loop_edge }), StoreError::NoEdge(loop_edge.id));
    let again = Change::CreateEdge { edge: loop_edge, properties: Vec::new() };
    assert_eq!(fails(&looped, again), StoreError::EdgeExists(loop_edge.id));
    let twin = Change::CreateVertex { id, labels: LabelSetId(0), properties: Vec::new() };
    assert_eq!(fails(&before, twin), StoreError::VertexExists(id));
    let unknown = Change::SetLabels { id, labels: LabelSetId(5) };
    assert!(matches!(fails(&before, unknown), StoreError::BadName(_)));
    let dangling = EdgeRef { id: loop_edge.id, source: id, target: other };
    let dangling = Change::CreateEdge { edge: dangling, properties: Vec::new() };
    assert_eq!(fails(&before, dangling), StoreError::NoVertex(other));
    assert!(before.property(id, KeyId(0)).unwrap().is_null(), "nothing of a failed group is seen");
}

#[test]
fn readers_keep_their_snapshot_while_writers_go_on() {
    let (store, id) = one_vertex();
    let readers = 3;
    std::thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                let mut last = 0;
                while last < 500 {
                    let snapshot = store.current();
                    let view = snapshot.adjacency(&[EdgeTypeId(0)], Direction::Out);
                    let (mut scratch, commit_version) = (Vec::new(), snapshot.commit_version());
                    assert!(commit_version >= last);
                    // Each commit adds one edge and sets the property to its commit version.
                    assert_eq!(
                        view.neighbours(id.dense(), &mut scratch).unwrap().len() as u64,
                        commit_version - 1
                    );
                    assert_eq!(
                        snapshot.property(id, KeyId(0)).unwrap().as_int().unwrap_or(1),
                        commit_version as i64
                    );
                    last = commit_version;
                }
            });
        }
        scope.spawn(|| {
            for commit_version in 2..=500 {
                let edge = store.allocator().edge(id, EdgeTypeId(0)).unwrap();
                let edge = EdgeRef { id: edge, source: id, target: id };
                let changes = [
                    Change::CreateEdge { edge, properties: Vec::new() },
                    Change::SetProperty { id, key: KeyId(0), value: Value::Int(commit_version) },
                ];
                store.publish(store.current().apply(commit_version as u64, &[&changes]).unwrap());
            }
        });
    });
}

#[test]
fn a_unique_index_is_not_built_over_duplicates() {
    let (store, first) = one_vertex();
    let label = store.names().intern_label("L").unwrap();
    let labels = store.names().intern_label_set(&[label]).unwrap();
    let second = store.allocator().vertex(labels).unwrap();
    let properties = vec![(KeyId(0), Value::from(1))];
    let changes = [
        Change::SetLabels { id: first, labels },
        Change::SetProperty { id: first, key: KeyId(0), value: Value::Float(1.0) },
        Change::CreateVertex { id: second, labels, properties },
    ];
    let snapshot = store.current().apply(2, &[&changes]).unwrap();
    let index = schema::IndexDefinition {
        id: schema::IndexId(0),
        name: "unique".into(),
        target: schema::SchemaTarget::Vertices(label),
        keys: vec![KeyId(0)],
        unique: true,
    };
    let error = snapshot.apply(3, &[&[Change::CreateIndex(index)]]).unwrap_err();
    assert_eq!(error, StoreError::NotUnique { index: schema::IndexId(0), vertices: (first, second) });
}
