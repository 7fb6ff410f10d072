//! Runs of edges applied end by end, beside their twin: the same changes applied one by one.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use crate::common;

use common::Chance;
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelSetId, Value, VertexId};
use std::sync::Arc;
use store::{Change, EdgeScratch, Names, Snapshot, StoreError, StoreOptions};

const VERTICES: u64 = 60;
const TYPES: [EdgeTypeId; 2] = [EdgeTypeId(0), EdgeTypeId(1)];
const KEY: KeyId = KeyId(0);

/// Vertices in three chunks.
fn vertex(number: u64) -> VertexId {
    VertexId::new((number % 3) as u32, (number / 3 * 37) as u16)
}

fn begun() -> Snapshot {
    let names = Arc::new(Names::new());
    for name in ["A", "B"] {
        names.intern_edge_type(name).unwrap();
    }
    names.intern_key("k").unwrap();
    let born =
        |number| Change::CreateVertex { id: vertex(number), labels: LabelSetId(0), properties: Vec::new() };
    let changes: Vec<Change> = (0..VERTICES).map(born).collect();
    Snapshot::empty(names, StoreOptions::default()).apply(1, &[&changes]).unwrap()
}

/// One after the other, each alone.
fn one_by_one(from: &Snapshot, commit_version: u64, changes: &[Change]) -> Result<Snapshot, StoreError> {
    changes
        .iter()
        .try_fold(from.clone(), |graph, change| graph.apply(commit_version, &[std::slice::from_ref(change)]))
}

/// All that can be read of the edges.
fn shown(graph: &Snapshot) -> Vec<String> {
    let mut scratch = EdgeScratch::default();
    let mut lines = Vec::new();
    for number in 0..VERTICES {
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let view = graph.adjacency(&[], direction);
            let (ends, ids) = view.edges(vertex(number).dense(), &mut scratch).unwrap();
            let properties: Vec<Value> =
                ids.iter().map(|id| graph.edge_property(EdgeId(*id), KEY).unwrap()).collect();
            lines.push(format!("{number} {direction:?} {ends:?} {ids:?} {properties:?}"));
        }
    }
    lines.push(format!("{} edges", graph.statistics().edges()));
    TYPES.iter().for_each(|one| lines.push(format!("{}", graph.statistics().edges_of_type(*one))));
    lines
}

/// Edges that exist, and the next slot by chunk and type.
#[derive(Default)]
struct Edges {
    alive: Vec<EdgeRef>,
    next: std::collections::BTreeMap<(u32, u16), u32>,
}

impl Edges {
    fn change(&mut self, chance: &mut Chance) -> Change {
        if !self.alive.is_empty() && chance.below(3) == 0 {
            let at = chance.below(self.alive.len());
            return Change::DeleteEdge { edge: self.alive.swap_remove(at) };
        }
        let (source, target) =
            (vertex(chance.below(VERTICES as usize) as u64), vertex(chance.below(VERTICES as usize) as u64));
        let edge_type = TYPES[chance.below(2)];
        let next = self.next.entry((source.chunk(), edge_type.0)).or_default();
        *next += 1;
        let edge = EdgeRef { id: EdgeId::new(source.chunk(), edge_type, *next - 1), source, target };
        self.alive.push(edge);
        let properties = match chance.below(3) {
            0 => vec![(KEY, Value::Int(chance.below(100) as i64))],
            1 => vec![(KEY, Value::Null)],
            _ => Vec::new(),
        };
        Change::CreateEdge { edge, properties }
    }
}

#[test]
fn a_run_is_its_changes_one_by_one() {
    for seed in 0..30u64 {
        let mut chance = Chance(seed);
        let (mut edges, mut run, mut twin) = (Edges::default(), begun(), begun());
        for round in 0..6 {
            let length = 1 + chance.below(300);
            let changes: Vec<Change> = (0..length).map(|_| edges.change(&mut chance)).collect();
            let commit_version = 2 + round;
            run = run.apply(commit_version, &[&changes]).unwrap();
            twin = one_by_one(&twin, commit_version, &changes).unwrap();
            assert_eq!(shown(&run), shown(&twin), "seed {seed}, round {round}");
            if chance.below(2) == 0 {
                (0..3).for_each(|chunk| {
                    (run, twin) = (run.compact(chunk).unwrap(), twin.compact(chunk).unwrap())
                });
                assert_eq!(shown(&run), shown(&twin), "seed {seed}, round {round}, compacted");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_in_a_run_too() {
    for seed in 0..60u64 {
        let mut chance = Chance(seed);
        let mut edges = Edges::default();
        let before: Vec<Change> = (0..100).map(|_| edges.change(&mut chance)).collect();
        let graph = begun().apply(2, &[&before]).unwrap();
        let old = edges.alive[0];
        let mut changes: Vec<Change> = (0..100).map(|_| edges.change(&mut chance)).collect();
        let at = chance.below(changes.len());
        let far = EdgeRef { target: VertexId(99_999_999_999), ..edges.alive[0] };
        let nowhere = EdgeRef { target: vertex(VERTICES), ..edges.alive[0] };
        let nobody = VertexId::new(0, 4_000);
        let stranger = EdgeRef { id: EdgeId::new(0, TYPES[0], 1 << 19), source: nobody, target: nobody };
        let strayed = EdgeRef { id: EdgeId::new(old.source.chunk() + 1, TYPES[0], 7), ..old };
        let create = |edge| Change::CreateEdge { edge, properties: Vec::new() };
        let wrong = match seed % 7 {
            0 => vec![create(*edges.alive.last().unwrap())],
            1 => vec![Change::DeleteEdge { edge: old }, Change::DeleteEdge { edge: old }],
            2 => vec![create(far)],
            3 => vec![create(stranger)],
            4 => vec![Change::DeleteEdge { edge: stranger }],
            5 => vec![create(strayed)],
            _ => vec![Change::DeleteEdge { edge: nowhere }],
        };
        // Behind all that is right: what is created twice is there by then.
        let at = if seed % 7 == 0 { changes.len() } else { at };
        changes.splice(at..at, wrong);
        assert!(one_by_one(&graph, 3, &changes).is_err(), "seed {seed}");
        assert!(graph.apply(3, &[&changes]).is_err(), "seed {seed}");
    }
}
