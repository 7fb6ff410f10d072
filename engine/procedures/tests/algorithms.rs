//! Graph procedures beside obvious twins on random graphs, in slices of every size; and what their settings refuse.
//!
//! The twins are the definitions of LDBC Graphalytics, written down as they stand.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_procedures as procedures;

use model::schema::SchemaTarget;
use model::{Column, Direction, EdgeId, EdgeRef, EdgeTypeId, Value, ValueType, VertexId};
use paths::{Adjacency, EdgeScratch, Turn};
use procedures::cheapest_path::{CheapestPath, Ends};
use procedures::running::{Helper, Output, Running};
use procedures::settings::Settings;
use procedures::{GraphWalk, Question};
use std::collections::{BTreeMap, BTreeSet};
use store::{Snapshot, StoreError};
use transact::{ConstraintRequest, Engine, IndexRequest, Mode, OpenOptions, Rule};

const VERTICES: u32 = 40;
const UNREACHED: f64 = f64::INFINITY;

/// An edge of the twin: ends, type, weight.
type Edge = (u32, u32, u16, i64);

struct Graph {
    engine: Engine,
    /// By dense number: whether it is one of L.
    members: BTreeMap<u32, bool>,
    /// Likewise, the label that it begins with where one is given.
    first: BTreeMap<u32, i64>,
    edges: Vec<(EdgeRef, Edge)>,
}

/// A small generator, so that a seed is a graph.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn graph(seed: u64) -> Graph {
    let engine = transact::open(None, &OpenOptions::default()).unwrap().0;
    let (mut state, t) = (seed, engine.begin(Mode::Write));
    let (label, other) = (t.label("L").unwrap(), t.label("M").unwrap());
    let types = [t.edge_type("A").unwrap(), t.edge_type("B").unwrap()];
    let (weight, start) = (t.key("w").unwrap(), t.key("c").unwrap());
    let mut graph =
        Graph { engine: engine.clone(), members: BTreeMap::new(), first: BTreeMap::new(), edges: Vec::new() };
    let mut ids = Vec::new();
    for at in 0..VERTICES {
        let is_member = !next(&mut state).is_multiple_of(4);
        let values = vec![(start, Value::Int(i64::from(at % 5)))];
        let id = t.create_vertex(&[if is_member { label } else { other }], values).unwrap();
        graph.members.insert(id.dense(), is_member);
        graph.first.insert(id.dense(), i64::from(at % 5));
        ids.push(id);
    }
    let mut known = BTreeSet::new();
    for _ in 0..next(&mut state) % 120 {
        let (from, to) = (next(&mut state) as usize % ids.len(), next(&mut state) as usize % ids.len());
        let (kind, value) = ((next(&mut state) % 2) as usize, (next(&mut state) % 9) as i64);
        // The definitions are about simple graphs.
        if from == to || !known.insert((from, to)) {
            continue;
        }
        let edge = t.create_edge(ids[from], ids[to], types[kind], vec![(weight, Value::Int(value))]).unwrap();
        graph.edges.push((edge, (ids[from].dense(), ids[to].dense(), types[kind].0, value)));
    }
    t.commit().unwrap();
    graph
}

/// A walk over lists.
struct Lists {
    bound: u32,
    lists: BTreeMap<u32, (Vec<u32>, Vec<u64>)>,
    edges: BTreeMap<u64, EdgeRef>,
}

impl Adjacency for Lists {
    fn vertex_bound(&self) -> u32 {
        self.bound
    }
    fn neighbours<'a>(&'a self, vertex: u32, _: &'a mut Vec<u32>) -> &'a [u32] {
        self.lists.get(&vertex).map_or(&[], |(ends, _)| ends)
    }
    fn edges<'a>(&'a self, vertex: u32, _: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        self.lists.get(&vertex).map_or((&[], &[]), |(ends, edges)| (ends, edges))
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.lists.get(&vertex).map_or(0, |(ends, _)| ends.len() as u32)
    }
}

impl GraphWalk for Lists {
    fn edge(&self, id: EdgeId, _: VertexId, _: VertexId) -> EdgeRef {
        self.edges[&id.0]
    }
    fn or_fail<T: Default>(&self, outcome: Result<T, StoreError>) -> T {
        outcome.unwrap_or_default()
    }
    fn take_failure(&self) -> Option<dataflow::Failure> {
        None
    }
}

fn lists(graph: &Graph, snapshot: &Snapshot, types: &[EdgeTypeId], direction: Direction) -> Lists {
    let mut all: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
    for (edge, (from, to, kind, _)) in &graph.edges {
        if !types.contains(&EdgeTypeId(*kind)) {
            continue;
        }
        if direction != Direction::In {
            all.entry(*from).or_default().push((*to, edge.id.0));
        }
        if direction != Direction::Out {
            all.entry(*to).or_default().push((*from, edge.id.0));
        }
    }
    let sorted = |mut list: Vec<(u32, u64)>| {
        list.sort_unstable();
        list.into_iter().unzip()
    };
    Lists {
        bound: snapshot.vertex_bound(),
        lists: all.into_iter().map(|(vertex, list)| (vertex, sorted(list))).collect(),
        edges: graph.edges.iter().map(|(edge, _)| (edge.id.0, *edge)).collect(),
    }
}

/// Answers by vertex, as floats, with slices of `room` rows.
fn asked(
    graph: &Graph,
    question: Question,
    settings: Value,
    room: usize,
) -> Result<BTreeMap<u32, f64>, String> {
    let snapshot = graph.engine.snapshot();
    let settings = Settings::read(question, Some(&settings), &snapshot).map_err(|error| error.to_string())?;
    let running = Running::new(question, settings, &snapshot, |types, direction| {
        lists(graph, &snapshot, types, direction)
    });
    let (mut helper, mut output) = (Helper::new(0), Output::new(question, true, true));
    let mut answers = BTreeMap::new();
    for _ in 0..100_000 {
        let turn = running.step(&mut helper, room, &mut output).map_err(|error| error.to_string())?;
        assert!(running.bytes_min() > 0 || question == Question::Bfs);
        let count = output.count();
        let [nodes, values] = output.take();
        assert_eq!(output.count(), 0);
        let Column::Vertex(nodes, _) = nodes else { panic!("no vertices") };
        assert_eq!(nodes.len(), count);
        let values: Vec<f64> = match values {
            Column::Int(ints, _) => ints.iter().map(|int| *int as f64).collect(),
            Column::Float(floats, _) => floats.to_vec(),
            _ => panic!("no numbers"),
        };
        assert_eq!(values.len(), count);
        for (node, value) in nodes.iter().zip(values) {
            assert!(answers.insert(node.dense(), value).is_none(), "{node:?} is told twice");
        }
        if turn == Turn::Done {
            return Ok(answers);
        }
    }
    Err("it does not end".into())
}

/// The part of the graph that a question is about: vertices, and edges in both ways of looking.
struct Part {
    vertices: Vec<u32>,
    out: BTreeMap<u32, Vec<(u32, i64)>>,
    back: BTreeMap<u32, Vec<(u32, i64)>>,
}

fn part(graph: &Graph, only: bool, kind: Option<u16>, direction: Direction) -> Part {
    let is_in = |vertex: &u32| !only || graph.members[vertex];
    let mut part = Part { vertices: Vec::new(), out: BTreeMap::new(), back: BTreeMap::new() };
    part.vertices.extend(graph.members.keys().copied().filter(is_in));
    for (_, (from, to, own, weight)) in &graph.edges {
        if !is_in(from) || !is_in(to) || kind.is_some_and(|kind| kind != *own) {
            continue;
        }
        let mut add = |from: u32, to: u32| {
            part.out.entry(from).or_default().push((to, *weight));
            part.back.entry(to).or_default().push((from, *weight));
        };
        if direction != Direction::In {
            add(*from, *to);
        }
        if direction != Direction::Out {
            add(*to, *from);
        }
    }
    part
}

fn of(lists: &BTreeMap<u32, Vec<(u32, i64)>>, vertex: u32) -> &[(u32, i64)] {
    lists.get(&vertex).map_or(&[], Vec::as_slice)
}

/// Cheapest ways by going round until nothing changes; each edge costs one, or its weight.
fn cheapest(part: &Part, source: u32, weighs: bool) -> BTreeMap<u32, f64> {
    let mut costs: BTreeMap<u32, f64> = BTreeMap::from([(source, 0.0)]);
    for _ in 0..=part.vertices.len() {
        for from in &part.vertices {
            let Some(cost) = costs.get(from).copied() else { continue };
            for (to, weight) in of(&part.out, *from) {
                let next = cost + if weighs { *weight as f64 } else { 1.0 };
                let known = costs.entry(*to).or_insert(UNREACHED);
                *known = known.min(next);
            }
        }
    }
    costs
}

fn near(found: &BTreeMap<u32, f64>, expected: &BTreeMap<u32, f64>, what: &str) {
    let keys = |answers: &BTreeMap<u32, f64>| answers.keys().copied().collect::<Vec<_>>();
    assert_eq!(keys(found), keys(expected), "{what}");
    for (vertex, value) in expected {
        assert!((found[vertex] - value).abs() < 1e-9, "{what}: {vertex} has {}, not {value}", found[vertex]);
    }
}

fn page_rank(part: &Part, damping: f64, rounds: usize) -> BTreeMap<u32, f64> {
    let count = part.vertices.len() as f64;
    let mut ranks: BTreeMap<u32, f64> = part.vertices.iter().map(|vertex| (*vertex, 1.0 / count)).collect();
    for _ in 0..rounds {
        let lost: f64 =
            part.vertices.iter().filter(|one| of(&part.out, **one).is_empty()).map(|one| ranks[one]).sum();
        let share = |(from, _): &(u32, i64)| ranks[from] / of(&part.out, *from).len() as f64;
        let rank = |vertex: &u32| {
            let came: f64 = of(&part.back, *vertex).iter().map(share).sum();
            (*vertex, (1.0 - damping) / count + damping * (came + lost / count))
        };
        ranks = part.vertices.iter().map(rank).collect();
    }
    ranks
}

fn propagated(
    part: &Part,
    first: impl Fn(u32) -> i64,
    is_directed: bool,
    rounds: usize,
) -> BTreeMap<u32, f64> {
    let mut labels: BTreeMap<u32, i64> =
        part.vertices.iter().map(|vertex| (*vertex, first(*vertex))).collect();
    for _ in 0..rounds {
        let label = |vertex: &u32| {
            let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
            let back = if is_directed { of(&part.back, *vertex) } else { &[] };
            for (other, _) in of(&part.out, *vertex).iter().chain(back) {
                *counts.entry(labels[other]).or_default() += 1;
            }
            let most = counts.values().max().copied();
            let best = counts.iter().find(|(_, count)| Some(**count) == most).map(|(label, _)| *label);
            (*vertex, best.unwrap_or(labels[vertex]))
        };
        labels = part.vertices.iter().map(label).collect();
    }
    labels.into_iter().map(|(vertex, label)| (vertex, label as f64)).collect()
}

fn clustered(part: &Part) -> BTreeMap<u32, f64> {
    let coefficient = |vertex: &u32| {
        let both = of(&part.out, *vertex).iter().chain(of(&part.back, *vertex));
        let around: BTreeSet<u32> = both.map(|(other, _)| *other).collect();
        let edges = around.iter().flat_map(|one| of(&part.out, *one)).map(|(to, _)| to);
        let met = edges.filter(|to| around.contains(to)).count();
        let pairs = around.len() * around.len().saturating_sub(1);
        (*vertex, if pairs == 0 { 0.0 } else { met as f64 / pairs as f64 })
    };
    part.vertices.iter().map(coefficient).collect()
}

fn connected(part: &Part) -> BTreeMap<u32, u32> {
    let mut labels: BTreeMap<u32, u32> = part.vertices.iter().map(|vertex| (*vertex, *vertex)).collect();
    for _ in 0..part.vertices.len() {
        for from in &part.vertices {
            for (to, _) in of(&part.out, *from) {
                let least = labels[from].min(labels[to]);
                labels.insert(*from, least);
                labels.insert(*to, least);
            }
        }
    }
    labels
}

fn settings(pairs: &[(&str, Value)]) -> Value {
    Value::map(pairs.iter().map(|(name, value)| (*name, value.clone())))
}

#[test]
fn questions_have_the_answers_of_their_twins() {
    for seed in 1..40 {
        let graph = graph(seed);
        let room = 1 + seed as usize % 9;
        for (only, kind, direction, word) in [
            (false, None, Direction::Out, "out"),
            (true, None, Direction::Out, "out"),
            (false, Some(0), Direction::In, "in"),
            (true, Some(1), Direction::In, "in"),
        ] {
            let part = part(&graph, only, kind, direction);
            let what = format!("seed {seed}, only L {only}, type {kind:?}, {word}");
            let mut common = vec![("direction", Value::from(word))];
            if only {
                common.push(("label", "L".into()));
            }
            if let Some(kind) = kind {
                common.push(("types", ["A", "B"][usize::from(kind)].into()));
            }
            let ask = |question, more: &[(&str, Value)]| {
                asked(&graph, question, settings(&[&common, more].concat()), room).unwrap()
            };
            let source = part.vertices[seed as usize % part.vertices.len()];
            let from = [("source", Value::Vertex(VertexId::from_dense(source)))];
            near(&ask(Question::Bfs, &from), &cheapest(&part, source, false), &format!("bfs, {what}"));
            let weighed = [from[0].clone(), ("weight", "w".into())];
            near(&ask(Question::Sssp, &weighed), &cheapest(&part, source, true), &format!("sssp, {what}"));
            near(
                &ask(Question::Sssp, &from),
                &cheapest(&part, source, false),
                &format!("sssp of ones, {what}"),
            );
            let rounds = [("iterations", Value::Int(4)), ("damping", Value::Float(0.6))];
            near(&ask(Question::PageRank, &rounds), &page_rank(&part, 0.6, 4), &format!("ranks, {what}"));
            near(
                &ask(Question::PageRank, &[]),
                &page_rank(&part, 0.85, 20),
                &format!("ranks as usual, {what}"),
            );
            near(&ask(Question::Lcc, &[]), &clustered(&part), &format!("clustering, {what}"));
            let labels = propagated(&part, i64::from, true, 3);
            near(&ask(Question::Cdlp, &[("iterations", Value::Int(3))]), &labels, &format!("labels, {what}"));
            let first = |vertex: u32| graph.first[&vertex];
            let seeded = [("iterations", Value::Int(2)), ("seed", "c".into())];
            near(
                &ask(Question::Cdlp, &seeded),
                &propagated(&part, first, true, 2),
                &format!("given labels, {what}"),
            );
            near(
                &ask(Question::Cdlp, &[]),
                &propagated(&part, i64::from, true, 10),
                &format!("labels as usual, {what}"),
            );
            let (found, expected) = (ask(Question::Wcc, &[]), connected(&part));
            assert_eq!(found.len(), expected.len(), "{what}");
            for (one, other) in
                part.vertices.iter().flat_map(|one| part.vertices.iter().map(move |other| (one, other)))
            {
                assert_eq!(
                    found[one] == found[other],
                    expected[one] == expected[other],
                    "{what}: {one} and {other}"
                );
            }
        }
    }
}

/// What a call may say, and what is said to it otherwise.
/// The end of a cheapest path, its cost, and its edges where paths are read.
type CheapEnd = (u32, f64, Option<Vec<EdgeRef>>);

/// Ends of cheapest paths as they come, with slices of `room` rows.
fn cheapest_ends(
    graph: &Graph,
    settings: &Value,
    room: usize,
    keeps_paths: bool,
) -> Result<Vec<CheapEnd>, String> {
    let snapshot = graph.engine.snapshot();
    let walk = |types: &std::sync::Arc<Vec<EdgeTypeId>>, way| lists(graph, &snapshot, types, way);
    let told = |failure: dataflow::Failure| format!("{failure:?}");
    let mut search = CheapestPath::new(Some(settings), &snapshot, walk).map_err(told)?;
    let (mut ends, mut found) = (Ends::new(keeps_paths), Vec::new());
    for _ in 0..100_000 {
        let (count, is_over) = search.step(room, &mut ends).map_err(told)?;
        assert!(count <= room && search.bytes() > 0);
        assert_eq!(ends.bytes() > 0, keeps_paths && count > 0, "what waits is counted");
        let [nodes, paths, costs] = ends.take();
        assert_eq!(ends.bytes(), 0);
        let (Column::Vertex(nodes, _), Column::Any(paths), Column::Float(costs, _)) = (nodes, paths, costs)
        else {
            panic!("other columns")
        };
        assert_eq!(
            (nodes.len(), costs.len(), paths.len()),
            (count, count, if keeps_paths { count } else { 0 })
        );
        for (at, (node, cost)) in nodes.iter().zip(costs.iter()).enumerate() {
            let edges = paths.get(at).map(|path| match path {
                Value::Path(path) => path.edges.clone(),
                other => panic!("{other:?} is no path"),
            });
            found.push((node.dense(), *cost, edges));
        }
        if is_over {
            return Ok(found);
        }
    }
    Err("it does not end".into())
}

/// Does this lead from one to the other, each edge walked as `way` says, and what does it cost?
fn cost_of(
    graph: &Graph,
    source: u32,
    way: Direction,
    edges: &[EdgeRef],
    weighs: bool,
) -> Option<(u32, f64)> {
    let (mut at, mut cost) = (source, 0.0);
    for edge in edges {
        let (_, (from, to, _, weight)) = graph.edges.iter().find(|(known, _)| known == edge)?;
        at = match way {
            Direction::Out if *from == at => *to,
            Direction::In if *to == at => *from,
            Direction::Both if *from == at => *to,
            Direction::Both if *to == at => *from,
            _ => return None,
        };
        cost += if weighs { *weight as f64 } else { 1.0 };
    }
    Some((at, cost))
}

#[test]
fn cheapest_paths_are_those_of_the_twin_and_lead_where_they_say() {
    let (mut paths, mut reached, mut unreached) = (0, 0, 0);
    for seed in 1..40 {
        let graph = graph(seed);
        for (only, kind, direction, word) in [
            (false, None, Direction::Out, "out"),
            (true, Some(0), Direction::In, "in"),
            (true, None, Direction::Both, "both"),
        ] {
            let (part, weighs) = (part(&graph, only, kind, direction), seed % 2 == 0);
            let source = part.vertices[seed as usize % part.vertices.len()];
            let node = |vertex: u32| Value::Vertex(VertexId::from_dense(vertex));
            let mut pairs = vec![("direction", Value::from(word)), ("source", node(source))];
            pairs.extend(only.then(|| ("label", "L".into())));
            pairs.extend(kind.map(|kind| ("types", ["A", "B"][usize::from(kind)].into())));
            pairs.extend(weighs.then(|| ("weight", "w".into())));
            let (expected, what) = (cheapest(&part, source, weighs), format!("seed {seed}, {pairs:?}"));
            for (room, keeps_paths) in [(1, true), (3, false), (100, true)] {
                let found = cheapest_ends(&graph, &settings(&pairs), room, keeps_paths).unwrap();
                let costs: Vec<f64> = found.iter().map(|(_, cost, _)| *cost).collect();
                assert!(costs.is_sorted(), "{what}: the cheapest come first, {costs:?}");
                near(&found.iter().map(|(end, cost, _)| (*end, *cost)).collect(), &expected, &what);
                assert_eq!(found.len(), expected.len(), "{what}: each once");
                for (end, cost, edges) in found {
                    let Some(edges) = edges else { continue };
                    assert_eq!(
                        cost_of(&graph, source, direction, &edges, weighs),
                        Some((end, cost)),
                        "{what}"
                    );
                    paths += 1;
                }
            }
            for target in [source, part.vertices[0], part.vertices[part.vertices.len() / 2]] {
                let pairs = [pairs.clone(), vec![("target", node(target))]].concat();
                let found = cheapest_ends(&graph, &settings(&pairs), 5, false).unwrap();
                let wanted: Vec<CheapEnd> =
                    expected.get(&target).map(|cost| (target, *cost, None)).into_iter().collect();
                assert_eq!(found, wanted, "{what} to {target}");
                reached += wanted.len();
                unreached += 1 - wanted.len();
            }
        }
    }
    assert!(paths > 500 && reached > 100 && unreached > 20, "{paths}, {reached}, {unreached}");
    let graph = graph(3);
    let (first, foreign) = (graph.edges[0].1.0, VertexId::from_dense(1 << 30));
    let source = ("source", Value::Vertex(VertexId::from_dense(first)));
    for (pairs, told) in [
        (vec![], "`source` is the node that paths begin at"),
        (vec![("source", Value::Vertex(foreign))], "`source` is the node that paths begin at"),
        (vec![source.clone(), ("target", Value::Int(1))], "`target` is the node that paths end at"),
        (vec![source.clone(), ("target", Value::Vertex(foreign))], "`target` is the node that paths end at"),
        (vec![source.clone(), ("damping", Value::Float(0.5))], "there is no setting `damping` here"),
        (vec![source, ("weight", "c".into())], "weigh"),
    ] {
        let error = cheapest_ends(&graph, &settings(&pairs), 5, true).unwrap_err();
        assert!(error.contains(told), "{pairs:?}: {error}");
    }
}

#[test]
fn settings_are_read_as_they_are_meant() {
    let graph = graph(3);
    let (first, foreign) = (*graph.members.keys().next().unwrap(), VertexId::from_dense(1 << 30));
    let source = Value::Vertex(VertexId::from_dense(first));
    let refused =
        |question, pairs: &[(&str, Value)]| asked(&graph, question, settings(pairs), 10).unwrap_err();
    let list = |names: &[&str]| Value::list(names.iter().map(|name| Value::from(*name)).collect());
    for (question, pairs, told) in [
        (
            Question::Wcc,
            vec![("x", Value::Int(1))],
            "there is no setting `x` here; known: types, direction, label",
        ),
        (Question::Wcc, vec![("source", source.clone())], "there is no setting `source` here"),
        (Question::Bfs, vec![], "`source` is the node that paths begin at"),
        (Question::Bfs, vec![("source", Value::Int(0))], "`source` is the node that paths begin at"),
        (Question::Bfs, vec![("source", Value::Vertex(foreign))], "`source` is the node that paths begin at"),
        (Question::Wcc, vec![("direction", "up".into())], "`direction` is out, in or both, not up"),
        (Question::Wcc, vec![("direction", Value::Int(1))], "`direction` is a text"),
        (Question::Wcc, vec![("types", "Z".into())], "there is no relationship type `Z`"),
        (Question::Wcc, vec![("types", Value::Int(1))], "`types` is a relationship type or a list of them"),
        (Question::Wcc, vec![("types", list(&["A", "Z"]))], "there is no relationship type `Z`"),
        (
            Question::Cdlp,
            vec![("iterations", Value::Int(-1))],
            "`iterations` is a whole number from 0 to 10000",
        ),
        (
            Question::Cdlp,
            vec![("iterations", Value::Int(10_001))],
            "`iterations` is a whole number from 0 to 10000",
        ),
        (
            Question::Cdlp,
            vec![("iterations", Value::Float(1.0))],
            "`iterations` is a whole number from 0 to 10000",
        ),
        (Question::PageRank, vec![("damping", Value::Float(1.01))], "`damping` is a number from 0 to 1"),
        (Question::PageRank, vec![("damping", Value::Float(-0.01))], "`damping` is a number from 0 to 1"),
        (Question::PageRank, vec![("damping", "x".into())], "`damping` is a number from 0 to 1"),
        (
            Question::Sssp,
            vec![("source", source.clone()), ("weight", "z".into())],
            "nothing has a property `z`",
        ),
    ] {
        let error = refused(question, &pairs);
        assert!(error.contains(told), "{pairs:?}: {error}");
    }
    let snapshot = graph.engine.snapshot();
    assert!(Settings::read(Question::Wcc, Some(&Value::Int(1)), &snapshot).is_err());
    assert!(Settings::read(Question::Wcc, Some(&Value::Null), &snapshot).is_ok());
    assert!(Settings::read(Question::Wcc, None, &snapshot).is_ok());
    for damping in [Value::Int(0), Value::Int(1), Value::Float(0.0), Value::Float(1.0)] {
        assert!(asked(&graph, Question::PageRank, settings(&[("damping", damping)]), 10).is_ok());
    }
    for rounds in [0, 1, 10_000] {
        let pairs = settings(&[("iterations", Value::Int(rounds))]);
        assert!(Settings::read(Question::Cdlp, Some(&pairs), &snapshot).is_ok());
    }
    // Both types by name are all types, and null is as if it were not said.
    let all = asked(&graph, Question::Lcc, settings(&[]), 5).unwrap();
    let named = settings(&[("types", list(&["A", "B"])), ("label", Value::Null)]);
    assert_eq!(asked(&graph, Question::Lcc, named, 5).unwrap(), all);
    let labels = settings(&[("label", list(&["L", "M"]))]);
    assert_eq!(asked(&graph, Question::Wcc, labels, 5).map(|found| found.len()), Ok(VERTICES as usize));
    // What is not read is not kept.
    let mut output = Output::new(Question::Wcc, false, true);
    let settings = Settings::read(Question::Wcc, None, &snapshot).unwrap();
    let running: Running<Lists> =
        Running::new(Question::Wcc, settings, &snapshot, |types, way| lists(&graph, &snapshot, types, way));
    let (mut helper, mut count) = (Helper::new(0), 0);
    while running.step(&mut helper, 7, &mut output).unwrap() != Turn::Done {
        count += output.count();
        let [nodes, _] = output.take();
        assert!(matches!(nodes, Column::Vertex(nodes, _) if nodes.is_empty()));
    }
    assert_eq!(count, VERTICES as usize);
    assert!(running.edges_visited() > 0);
}

/// A graph with every kind of index and constraint.
fn catalogue() -> Engine {
    let engine = transact::open(None, &OpenOptions::default()).unwrap().0;
    let t = engine.begin(Mode::Write);
    let labels = ["Person", "Odd`Name", "Unused"].map(|name| t.label(name).unwrap());
    let types = ["KNOWS", "LIKES"].map(|name| t.edge_type(name).unwrap());
    let [name, age, unused] = ["name", "age", "nobody has it"].map(|name| t.key(name).unwrap());
    let person = |at: i64| vec![(name, format!("p{at}").into()), (age, Value::Int(at))];
    let people: Vec<VertexId> = (0..3).map(|at| t.create_vertex(&labels[..1], person(at)).unwrap()).collect();
    let odd = t.create_vertex(&labels[..2], vec![(age, Value::Float(0.5))]).unwrap();
    let bare = t.create_vertex(&[], Vec::new()).unwrap();
    t.create_edge(people[0], people[1], types[0], vec![(age, Value::Int(1))]).unwrap();
    t.create_edge(people[1], odd, types[0], Vec::new()).unwrap();
    t.create_edge(odd, bare, types[1], Vec::new()).unwrap();
    t.commit().unwrap();
    drop(t);
    let (vertices, edges) = (SchemaTarget::Vertices, SchemaTarget::Edges);
    for (target, keys) in [(vertices(labels[0]), vec![name, age]), (edges(types[1]), vec![age])] {
        engine.create_index(&IndexRequest { name: None, target, keys, if_not_exists: false }).unwrap();
    }
    let constraints = [
        (vertices(labels[1]), age, Rule::Unique),
        (edges(types[0]), name, Rule::Unique),
        (vertices(labels[1]), age, Rule::Exists),
        (edges(types[1]), name, Rule::Typed(ValueType::String)),
        (vertices(labels[2]), unused, Rule::NodeKey),
        (edges(types[1]), unused, Rule::Typed(ValueType::Float)),
        (vertices(labels[0]), name, Rule::Typed(ValueType::String)),
    ];
    for (at, (target, key, rule)) in constraints.into_iter().enumerate() {
        let name = Some(format!("c {at}"));
        let request = ConstraintRequest { name, target, keys: vec![key], rule, if_not_exists: false };
        engine.create_constraint(&request).unwrap();
    }
    engine
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        Value::List(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entries = map.iter().map(|(name, value)| format!("{name}: {}", shown(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Vertex(vertex) => format!("({})", vertex.0),
        Value::Edge(edge) => format!("({})-[{}]->({})", edge.source.0, edge.id.0, edge.target.0),
        other => format!("{other:?}"),
    }
}

/// Procedures whose rows are counted in other crates, or tell of the program and not of the graph, are left out; of functions and procedures a few
/// names stand for all.
const LISTED: [(&str, &[&str]); 35] = [
    ("apoc.meta.data", &[""]),
    ("apoc.meta.graph", &[""]),
    ("apoc.meta.nodeTypeProperties", &[""]),
    ("apoc.meta.relTypeProperties", &[""]),
    ("apoc.meta.schema", &[""]),
    ("apoc.meta.stats", &[""]),
    ("apoc.schema.nodes", &[""]),
    ("apoc.schema.properties.distinct", &["Person"]),
    ("db.awaitIndex", &["", "no such index"]),
    ("db.awaitIndexes", &[""]),
    ("db.clearQueryCaches", &[""]),
    ("db.constraints", &[""]),
    ("db.indexes", &[""]),
    ("db.info", &[""]),
    ("db.labels", &[""]),
    ("db.ping", &[""]),
    ("db.propertyKeys", &[""]),
    ("db.relationshipTypes", &[""]),
    ("db.schema.nodeTypeProperties", &[""]),
    ("db.schema.relTypeProperties", &[""]),
    ("db.schema.visualization", &[""]),
    ("db.statistics", &[""]),
    ("dbms.info", &[""]),
    ("load csv", &[""]),
    ("graph.wcc", &[""]),
    ("graph.cheapestPath", &[""]),
    ("show databases", &["", "Neo4j", "other"]),
    ("show indexes", &["", "ALL", "RANGE", "TEXT"]),
    (
        "show constraints",
        &[
            "",
            "NODE",
            "REL",
            "RELATIONSHIP",
            "UNIQUE",
            "NODE UNIQUENESS",
            "EXIST",
            "NODE EXISTENCE",
            "TYPE",
            "KEY",
            "ALL",
        ],
    ),
    ("show settings", &["", "a.b,c", "c"]),
    ("dbms.listConfig", &["", "A.", "x"]),
    ("show functions", &[""]),
    ("dbms.functions", &[""]),
    ("show procedures", &[""]),
    ("dbms.procedures", &[""]),
];
const NAMES: [&str; 16] = [
    "abs",
    "count",
    "date",
    "duration.between",
    "exp",
    "point.distance",
    "sin",
    "toUpper",
    "trim",
    "keys",
    "exists",
    "coalesce",
    "sum",
    "tail",
    "db.labels",
    "graph.wcc",
];

/// What the catalogue holds as rows: `page.txt` has them. With `LEDGER=write` it is written anew, to be read as any other change is.
#[test]
fn listings_are_those_of_the_page() {
    let snapshot = catalogue().snapshot();
    let setting = |name: &str, value: &str, default: &str| {
        Value::list([name, value, default, "what it does", "any text"].map(Value::from).to_vec())
    };
    let broken = Value::list(vec!["too short".into()]);
    let settings = Value::list(vec![setting("a.b", "1", "2"), setting("c", "3", "3"), broken]);
    let mut written = String::new();
    for (name, all) in LISTED {
        let (procedure, run) = procedures::by_name(name).unwrap();
        for argument in all {
            written.push_str(&format!("{name} '{argument}'\n"));
            let rows = match run(&snapshot, &[(*argument).into(), settings.clone()]) {
                Ok(rows) => rows,
                Err(error) => {
                    written.push_str(&format!("  error: {error}\n"));
                    continue;
                }
            };
            let is_long = name.ends_with("functions") || name.ends_with("procedures");
            for row in rows {
                assert_eq!(row.len(), procedure.fields.len(), "{name}");
                if !is_long || row[0].as_str().is_some_and(|name| NAMES.contains(&name)) {
                    let cells: Vec<String> = row.iter().map(shown).collect();
                    let cells = if cells.is_empty() { "a row".into() } else { cells.join(" | ") };
                    written.push_str(&format!("  {cells}\n"));
                }
            }
        }
    }
    assert!(procedures::by_name("db.nothing").is_none());
    let page = include_str!("page.txt");
    if std::env::var("LEDGER").is_ok_and(|asked| asked == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page.txt"), written).unwrap();
        return;
    }
    for (found, expected) in written.lines().zip(page.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(written.lines().count(), page.lines().count());
}
