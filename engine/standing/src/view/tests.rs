//! A view at a timestamp reads like the snapshot of that commit: random commits, several at a time, with an index that is made meanwhile.

use super::At;
use crate::follower::{Follower, Gathered};
use model::schema::SchemaTarget;
use model::{Direction, EdgeId, EdgeRef, NO_VERTEX, Value, VertexId};
use std::collections::BTreeSet;
use store::{GraphRead, LabelFilter, Snapshot};
use transact::{Engine, IndexRequest, Mode, OpenOptions};
use world::chance::Chance;

/// All that ever was.
#[derive(Default)]
struct Known {
    vertices: Vec<VertexId>,
    edges: Vec<EdgeRef>,
}

impl Known {
    fn commit(&mut self, engine: &Engine, chance: &mut Chance) {
        let t = engine.begin(Mode::Write);
        for _ in 0..1 + chance.below(4) {
            t.refresh().unwrap();
            let value = match chance.below(4) {
                0 => Value::Null,
                1 => "text".into(),
                _ => Value::Int(chance.below(4) as i64),
            };
            let key = t.key(["x", "y"][chance.index(2)]).unwrap();
            let kind = t.edge_type(["R", "S"][chance.index(2)]).unwrap();
            let label = [t.label(["P", "Q"][chance.index(2)]).unwrap()];
            let lives = |vertex: &&VertexId| t.snapshot().exists(**vertex).unwrap();
            let vertices: Vec<VertexId> = self.vertices.iter().filter(lives).copied().collect();
            let edges: Vec<EdgeRef> =
                self.edges.iter().filter(|edge| t.snapshot().edge_exists(**edge).unwrap()).copied().collect();
            let choice = chance.below(if vertices.is_empty() { 3 } else { 12 });
            if choice < 3 {
                self.vertices.push(t.create_vertex(&label, vec![(key, value)]).unwrap());
                continue;
            }
            let vertex = vertices[chance.index(vertices.len())];
            match choice {
                3..=6 => {
                    let target = vertices[chance.index(vertices.len())];
                    self.edges.push(t.create_edge(vertex, target, kind, vec![(key, value)]).unwrap());
                }
                7 => t.set_property(vertex, key, value).unwrap(),
                8 => drop(t.change_labels(vertex, &label, &[]).unwrap()),
                9 => drop(t.delete_vertex(vertex, true).unwrap()),
                _ if edges.is_empty() => {}
                10 => t.set_edge_property(edges[chance.index(edges.len())], key, value).unwrap(),
                _ => drop(t.delete_edge(edges[chance.index(edges.len())]).unwrap()),
            }
        }
        t.commit().unwrap();
    }
}

/// All that can be read of these, as text.
fn entities(graph: &dyn GraphRead, snapshot: &Snapshot, known: &Known) -> Vec<String> {
    let vertices: Vec<VertexId> = known.vertices.iter().copied().chain([NO_VERTEX]).collect();
    let lives = |edge: &&EdgeRef| snapshot.edge_exists(**edge).unwrap();
    let edges: Vec<EdgeId> = known.edges.iter().filter(lives).map(|edge| edge.id).collect();
    let mut found = Vec::new();
    graph.read_labels(&vertices, &mut |set| found.push(format!("{set:?}"))).unwrap();
    for key in ["x", "y"].iter().filter_map(|name| snapshot.catalog().key(name)) {
        graph.read_property(&vertices, key, &mut |value| found.push(format!("{value:?}"))).unwrap();
        graph.read_edge_property(&edges, key, &mut |value| found.push(format!("{value:?}"))).unwrap();
        for vertex in &vertices {
            found.push(format!("{:?}", graph.property(*vertex, key).unwrap()));
        }
    }
    found
}

fn edges(graph: &dyn GraphRead, snapshot: &Snapshot, known: &Known) -> Vec<String> {
    let types: Vec<_> = ["R", "S"].iter().filter_map(|name| snapshot.catalog().edge_type(name)).collect();
    let some = || known.vertices.iter().rev().take(12);
    let pairs: Vec<_> = some().flat_map(|from| some().map(move |to| (*from, *to))).collect();
    let mut found = Vec::new();
    for types in [&types[..], &types[..types.len().min(1)], &[]] {
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let along = graph.adjacency_of(types, direction);
            let mut lists = Vec::new();
            along.neighbours(&known.vertices, &mut |list| lists.push(list.to_vec())).unwrap();
            let mut edges = vec![BTreeSet::new(); known.vertices.len()];
            let each = &mut |place: usize, edge| assert!(edges[place].insert(edge), "each once");
            along.edges(&known.vertices, each).unwrap();
            let mut between = vec![BTreeSet::new(); pairs.len()];
            let each = &mut |place: usize, edge| assert!(between[place].insert(edge), "each once");
            along.between(&pairs, each).unwrap();
            lists.iter_mut().for_each(|list| {
                assert!(direction == Direction::Both || types.len() != 1 || list.is_sorted());
                list.sort_unstable();
            });
            found.push(format!("{types:?} {direction:?} {lists:?} {edges:?} {between:?}"));
        }
    }
    found
}

fn scans(graph: &dyn GraphRead, snapshot: &Snapshot) -> Vec<String> {
    let label = |name| snapshot.catalog().label(name).map_or(LabelFilter::Or(Vec::new()), LabelFilter::Has);
    let scan = |filter: LabelFilter| {
        let (mut found, mut cursor) = (Vec::new(), Some(0));
        while let Some(at) = cursor {
            cursor = graph.scan(&filter, at, &mut found).unwrap();
        }
        let distinct: BTreeSet<VertexId> = found.iter().copied().collect();
        assert_eq!(distinct.len(), found.len(), "each once");
        format!("{distinct:?}")
    };
    vec![scan(LabelFilter::Any), scan(label("P")), scan(LabelFilter::Not(Box::new(label("Q"))))]
}

/// Seeking shows all that the snapshot's index finds, where the view has it too.
fn check_seeks(graph: &dyn GraphRead, snapshot: &Snapshot) {
    let catalog = graph.catalog();
    for index in snapshot.catalog().indexes().iter().filter(|index| catalog.index(index.id) == Some(index)) {
        for value in (0..4).map(Value::Int).chain(["text".into()]) {
            let mut shown = Vec::new();
            graph.seek(index.id, &value, &mut shown).unwrap();
            let distinct: BTreeSet<VertexId> = shown.iter().copied().collect();
            assert_eq!(distinct.len(), shown.len(), "each once");
            let wanted = Snapshot::seek(snapshot, index.id, std::slice::from_ref(&value)).unwrap();
            assert!(wanted.iter().all(|vertex| distinct.contains(vertex)), "{value:?}");
        }
    }
}

fn index(engine: &Engine, label: &str, key: &str) {
    let t = engine.begin(Mode::Write);
    let (label, key) = (t.label(label).unwrap(), t.key(key).unwrap());
    t.rollback();
    let target = SchemaTarget::Vertices(label);
    let request = IndexRequest { name: None, target, keys: vec![key], if_not_exists: false };
    engine.create_index(&request).unwrap();
}

#[test]
fn a_view_at_a_commit_version_is_the_snapshot_of_that_commit() {
    for seed in 0..6 {
        println!("seed {seed}");
        let engine = transact::open(None, &OpenOptions::default()).unwrap().0;
        let (mut chance, mut known) = (Chance::seeded(seed), Known::default());
        (0..10).for_each(|_| known.commit(&engine, &mut chance));
        let mut follower = Follower::begin(&engine, None, None);
        for round in 0..20 {
            let mut snapshots = vec![engine.snapshot()];
            for at in 0..1 + chance.below(4) {
                match (round, at) {
                    (8, 0) => index(&engine, "P", "x"),
                    // Another one takes the number of the one that goes.
                    (12, 0) => {
                        let old = engine.snapshot().catalog().indexes()[0].clone();
                        engine.drop_index(&old.name, false).unwrap();
                        index(&engine, "Q", "y");
                        let snapshot = engine.snapshot();
                        assert_eq!(snapshot.catalog().indexes()[0].id, old.id);
                    }
                    _ => known.commit(&engine, &mut chance),
                }
                snapshots.push(engine.snapshot());
            }
            let first = follower.timestamp;
            let Gathered::Steps(steps) = follower.gather(&engine).unwrap() else { panic!("seed {seed}") };
            for (timestamp, place) in [(first, snapshots[0].commit_version())]
                .into_iter()
                .chain(steps.iter().map(|step| (step.timestamp, step.at.commit_version)))
            {
                let is_it = |snapshot: &&Snapshot| snapshot.commit_version() == place;
                let Some(snapshot) = snapshots.iter().find(is_it) else { continue };
                let (at, graph) = (At::new(&follower.view, timestamp), snapshot as &dyn GraphRead);
                let context = format!("seed {seed}, round {round}, timestamp {timestamp}");
                assert_eq!(entities(&at, snapshot, &known), entities(graph, snapshot, &known), "{context}");
                assert_eq!(edges(&at, snapshot, &known), edges(graph, snapshot, &known), "{context}");
                assert_eq!(scans(&at, snapshot), scans(graph, snapshot), "{context}");
                check_seeks(&at, snapshot);
            }
            follower.settle();
        }
    }
}
