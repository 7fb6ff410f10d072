//! What a reader pays from whom one message in fifty is hidden by a label, beside the same questions of a graph without these messages: by turns,
//! the best of some rounds each.

use crate::chance;
use model::{Column, Direction, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use std::sync::Arc;
use std::time::Instant;
use store::*;

const PERSONS: usize = 10_000;
const MESSAGES: usize = 300_000;
/// Of so many messages one is hidden.
const HIDDEN_EVERY: usize = 50;
const ROUNDS: usize = 12;
// From a message to its author, and from an answer to what it answers.
const AUTHOR: EdgeTypeId = EdgeTypeId(0);
const ANSWERS: EdgeTypeId = EdgeTypeId(1);

struct HidesOne(&'static str);

impl Visibility for HidesOne {
    fn shows_vertex(&self, labels: &[&str]) -> bool {
        !labels.contains(&self.0)
    }
    fn shows_label(&self, label: &str) -> bool {
        label != self.0
    }
    fn shows_edge_type(&self, _: &str) -> bool {
        true
    }
    fn shows_property(&self, _: &[&str], _: &str) -> bool {
        true
    }
    fn shows_edge_property(&self, _: &str, _: &str) -> bool {
        true
    }
    fn shows_all_vertices(&self, _: Option<&str>) -> bool {
        false
    }
}

/// The graph, its persons and messages; with those messages hidden or left out.
struct Network {
    snapshot: Snapshot,
    persons: Vec<u32>,
    messages: Vec<u32>,
}

fn network(with_hidden: bool) -> Network {
    let store = Store::new(StoreOptions::default());
    let names = store.names();
    for label in ["Person", "Message", "Secret"] {
        names.intern_label(label).unwrap();
    }
    ["AUTHOR", "ANSWERS"].iter().for_each(|name| assert!(names.intern_edge_type(name).is_ok()));
    names.intern_key("time").unwrap();
    let set = |labels: &[u16]| {
        names.intern_label_set(&labels.iter().map(|label| LabelId(*label)).collect::<Vec<_>>()).unwrap()
    };
    let (person, message, secret) = (set(&[0]), set(&[1]), set(&[1, 2]));
    let bulk = Bulk::new(store.allocator());
    let is_hidden = |n: usize| n % HIDDEN_EVERY == 7;
    let kept: Vec<usize> = (0..MESSAGES).filter(|n| with_hidden || !is_hidden(*n)).collect();
    let times: Column = kept.iter().map(|n| Value::Int(*n as i64)).collect();
    let flat = |ranges: Vec<std::ops::Range<u32>>| ranges.into_iter().flatten().collect::<Vec<u32>>();
    let persons = flat(bulk.vertices(person, PERSONS, Vec::new()).unwrap());
    let messages = flat(bulk.vertices(message, kept.len(), vec![(KeyId(0), times)]).unwrap());
    let mut place = vec![None; MESSAGES];
    kept.iter().zip(&messages).for_each(|(n, id)| place[*n] = Some(*id));
    let (mut state, mut authors, mut answers) = (7, Vec::new(), Vec::new());
    for n in 0..MESSAGES {
        let author = persons[chance(&mut state) as usize % PERSONS];
        let answered = chance(&mut state) as usize % (n + 1);
        if let Some(own) = place[n] {
            authors.push((own, author));
            answers.extend(place[answered].filter(|other| *other != own).map(|other| (own, other)));
        }
    }
    bulk.edges(AUTHOR, authors, Vec::new()).unwrap();
    bulk.edges(ANSWERS, answers, Vec::new()).unwrap();
    let mut snapshot = bulk.finish(&store.current(), 1, &crate::parallel).unwrap();
    if with_hidden {
        let hide =
            |n: usize| place[n].map(|id| Change::SetLabels { id: VertexId::from_dense(id), labels: secret });
        let changes: Vec<Change> = (0..MESSAGES).filter(|n| is_hidden(*n)).filter_map(hide).collect();
        snapshot = snapshot.apply(2, &[&changes]).unwrap();
        for chunk in snapshot.chunks_to_compact(0) {
            snapshot = snapshot.compact(chunk).unwrap();
        }
        snapshot = snapshot.restricted(&Restriction::new(Arc::new(HidesOne("Secret"))));
    }
    let messages = (0..MESSAGES).filter(|n| !is_hidden(*n)).filter_map(|n| place[n]).collect();
    Network { snapshot, persons, messages }
}

/// Follows all edges of these vertices; a sum that both graphs must agree on.
fn followed(snapshot: &Snapshot, edge_type: EdgeTypeId, direction: Direction, from: &[u32]) -> usize {
    let (view, mut scratch, mut sum) = (snapshot.adjacency(&[edge_type], direction), Vec::new(), 0);
    for vertex in from {
        let found = view.neighbours(*vertex, &mut scratch).unwrap();
        sum += found.len();
        // Whoever asks looks at them.
        std::hint::black_box(found.iter().fold(0, |all: u32, one| all ^ one));
    }
    sum
}

fn with_ids(snapshot: &Snapshot, edge_type: EdgeTypeId, direction: Direction, from: &[u32]) -> usize {
    let (view, mut scratch, mut sum) = (snapshot.adjacency(&[edge_type], direction), EdgeScratch::new(), 0);
    for vertex in from {
        let (found, ids) = view.edges(*vertex, &mut scratch).unwrap();
        sum += ids.len();
        std::hint::black_box(found.iter().fold(0, |all: u32, one| all ^ one));
    }
    sum
}

/// Reads a property of messages, in batches as queries do.
fn read(snapshot: &Snapshot, messages: &[u32]) -> usize {
    let mut sum = 0;
    for batch in messages.chunks(512) {
        let ids: Vec<VertexId> = batch.iter().map(|id| VertexId::from_dense(*id)).collect();
        let mut column = model::ColumnBuilder::new();
        snapshot.property_column(&ids, KeyId(0), &mut column).unwrap();
        sum += column.finish().len();
    }
    sum
}

type Ask = fn(&Network) -> usize;

pub fn run() {
    let networks = [network(false), network(true)];
    let mut state = 11;
    let order: Vec<u64> = (0..MESSAGES).map(|_| chance(&mut state)).collect();
    let networks = networks.map(|mut network| {
        let mut mixed: Vec<(u64, u32)> = order.iter().copied().zip(network.messages.clone()).collect();
        mixed.sort_unstable();
        network.messages = mixed.into_iter().map(|(_, id)| id).collect();
        network
    });
    let asked: [(&str, Ask); 6] = [
        ("messages of persons", |of| followed(&of.snapshot, AUTHOR, Direction::In, &of.persons)),
        ("the same with ids", |of| with_ids(&of.snapshot, AUTHOR, Direction::In, &of.persons)),
        ("authors of messages", |of| followed(&of.snapshot, AUTHOR, Direction::Out, &of.messages)),
        ("answers to messages", |of| followed(&of.snapshot, ANSWERS, Direction::In, &of.messages)),
        ("what is answered, with ids", |of| with_ids(&of.snapshot, ANSWERS, Direction::Out, &of.messages)),
        ("a property of messages", |of| read(&of.snapshot, &of.messages)),
    ];
    for (name, ask) in asked {
        let mut best = [f64::MAX; 2];
        let sums = networks.each_ref().map(ask);
        assert_eq!(sums[0], sums[1], "{name}");
        for round in 0..ROUNDS {
            for side in [round % 2, 1 - round % 2] {
                let start = Instant::now();
                std::hint::black_box(ask(&networks[side]));
                best[side] = best[side].min(crate::millis(start));
            }
        }
        println!(
            "restricted, {name}: {:.2} ms beside {:.2} ms, {:+.0} %",
            best[1],
            best[0],
            100.0 * (best[1] / best[0] - 1.0)
        );
    }
}
