//! Both directions of one type at once: the ids of a joined list are those of its edges; where they cannot be read from it, it says so.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;
use crate::{Change, Names, StoreOptions};
use model::{EdgeRef, LabelSetId};

const TYPE: EdgeTypeId = EdgeTypeId(0);
const VERTICES: u64 = 300;

fn edge(number: u64, source: u64, target: u64) -> Change {
    let (source, target) = (VertexId(source), VertexId(target));
    let edge = EdgeRef { id: EdgeId::new(0, TYPE, number as u32), source, target };
    Change::CreateEdge { edge, properties: Vec::new() }
}

/// A compacted ring with loops at every tenth vertex and an edge back at every third; then edges more at every seventh.
fn graphs() -> (Snapshot, Snapshot) {
    let names = std::sync::Arc::new(Names::new());
    names.intern_edge_type("T").unwrap();
    let vertex =
        |id| Change::CreateVertex { id: VertexId(id), labels: LabelSetId(0), properties: Vec::new() };
    let mut changes: Vec<Change> = (0..VERTICES).map(vertex).collect();
    let back = |n: u64| [(n, (n + 1) % VERTICES), ((n + 1) % VERTICES, n), (n, n)];
    let ends = (0..VERTICES).flat_map(|n| {
        let wanted = [true, n.is_multiple_of(3), n.is_multiple_of(10)];
        back(n).into_iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(ends, _)| ends)
    });
    changes.extend(ends.enumerate().map(|(number, (from, to))| edge(number as u64, from, to)));
    let first = Snapshot::empty(names, StoreOptions::default()).apply(1, &[&changes]).unwrap();
    let clean = first.compact(0).unwrap();
    let more: Vec<Change> = (0..VERTICES).step_by(7).map(|n| edge(1_000 + n, n, n * 13 % VERTICES)).collect();
    let dirty = clean.apply(2, &[&more]).unwrap();
    (clean, dirty)
}

/// Neighbour and id of each edge, from the plainest call.
fn plain(view: &AdjacencyView, vertex: u32) -> Vec<(u32, u64)> {
    let mut found = Vec::new();
    let here = VertexId::from_dense(vertex);
    view.for_each_edge(vertex, |edge| {
        let other = if edge.source == here { edge.target } else { edge.source };
        found.push((other.dense(), edge.id.0));
    })
    .unwrap();
    found
}

#[test]
fn joined_lists_have_the_ids_of_their_edges() {
    let (clean, dirty) = graphs();
    for (graph, name) in [(&clean, "clean"), (&dirty, "dirty")] {
        let (view, mut scratch) = (graph.adjacency(&[TYPE], Direction::Both), Vec::new());
        for _ in 0..40 {
            for vertex in 0..VERTICES as u32 {
                view.neighbours(vertex, &mut scratch).unwrap();
            }
        }
        let (mut joined, mut apart) = (0, 0);
        let mut room = EdgeScratch::default();
        for vertex in 0..VERTICES as u32 {
            let wanted = plain(&view, vertex);
            let (neighbours, ids) = view.edges(vertex, &mut room).unwrap();
            let found: Vec<(u32, u64)> = neighbours.iter().copied().zip(ids.iter().copied()).collect();
            assert_eq!((neighbours.len(), ids.len()), (wanted.len(), wanted.len()), "{name}, {vertex}");
            assert_eq!(found, wanted, "{name}, {vertex}");
            let Some(all) = view.joined.as_ref().and_then(|joined| joined.ready(vertex)) else { continue };
            let mut ids = Vec::new();
            let has_loop = wanted.iter().any(|(other, _)| *other == vertex);
            if view.joined_ids(vertex, all.len(), &mut ids).unwrap() {
                assert_eq!(ids, wanted.iter().map(|(_, id)| *id).collect::<Vec<_>>(), "{name}, {vertex}");
                assert!(!has_loop, "{name}, {vertex}: the loop is in both lists");
                joined += 1;
            } else {
                assert!(ids.is_empty(), "{name}, {vertex}: nothing is given where it fails");
                apart += 1;
            }
            let longer = view.joined_ids(vertex, all.len() + 1, &mut Vec::new()).unwrap();
            assert!(has_loop || !longer, "{name}, {vertex}: both lists hold less together");
        }
        assert!(joined > 100 && apart > 5, "{name}: {joined} from the joined lists, {apart} not");
    }
}
