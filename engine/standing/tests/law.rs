//! The law of standing queries, in this crate alone: the differences that a reader received up to a commit add up to the answer of the query on
//! the snapshot of that commit, asked of the executor. Random commits, made by the transaction itself; several queries in several places.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use execute::{Access, ExecuteOptions, Execution, Parameters, Runtime};
use model::schema::SchemaTarget;
use model::{EdgeRef, Value, VertexId};
use plan::Statement;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::Snapshot;
use tanglewood_standing::{
    Begin, Event, Keeper, Resume, StandingError, Subscription, SubscriptionEnd, TurnEnd,
};
use transact::{Engine, IndexRequest, Mode, OpenOptions, Transaction};
use world::chance::Chance;

/// Commits whose graph makes what a query keeps weigh more than the query itself.
const BYTE_COMMITS: usize = 400;
/// Bytes that may be said too many, or too few, besides a sixth.
const BYTES_SLACK: isize = 300;

type Answer = BTreeMap<String, isize>;

fn begin(from: Option<Resume>, snapshot: bool) -> Begin {
    Begin { from, snapshot, ..Begin::default() }
}

/// One for each kind of step that keeps something, and for each way to look at a pattern.
const QUERIES: &[&str] = &[
    "MATCH (a:P) RETURN a.x AS x",
    "MATCH (a:P) WHERE a.x > 3 RETURN id(a) AS a, a.x + 1 AS y",
    "MATCH (a) RETURN id(a) AS a, labels(a) AS l",
    "MATCH (a:P)-[r:R]->(b) RETURN id(a) AS a, id(r) AS r, b.x AS x, r.w AS w",
    "MATCH (a)-[:R]-(b) RETURN id(a) AS a, id(b) AS b",
    "MATCH (a)-[:R]->(a) RETURN id(a) AS a",
    "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN id(a) AS a, id(b) AS b, id(c) AS c",
    "MATCH (a:P), (b:Q) WHERE a.x = b.x RETURN id(a) AS a, id(b) AS b",
    "MATCH (a:P) RETURN count(*) AS n, count(a.x) AS c, sum(a.x) AS s, min(a.x) AS lo, max(a.x) AS hi, avg(a.x) AS m",
    "MATCH (a:P)-[:R]->(b) RETURN a.x AS x, count(b) AS n, count(DISTINCT b.x) AS d",
    "MATCH (a:P)-[r:R]->(b) RETURN a.x AS x, sum(r.w / 3.0) AS s, max(r.w) AS hi",
    "MATCH (a:P)-[:R]->(b) WITH a, count(b) AS n WHERE n > 1 RETURN id(a) AS a, n",
    "MATCH (a:P)-[:R]->(b) WITH a, count(b) AS n MATCH (a)-[:S]->(c) RETURN id(a) AS a, n, id(c) AS c",
    "MATCH (a:P) OPTIONAL MATCH (a)-[:R]->(b:Q) RETURN id(a) AS a, id(b) AS b, b.x AS x",
    "MATCH (a:P) WHERE EXISTS { (a)-[:R]->(:Q) } RETURN id(a) AS a",
    "MATCH (a:P) WHERE NOT EXISTS { MATCH (a)-[:R]->(b) WHERE b.x > 3 } RETURN id(a) AS a",
    "MATCH (a:P) RETURN id(a) AS a, COUNT { (a)-[:R]->() } AS n",
    "MATCH (a:P)-[:R]->(b) RETURN DISTINCT b.x AS x",
    "MATCH (a:P) RETURN id(a) AS a UNION MATCH (b:Q) RETURN id(b) AS a",
    "MATCH (a:P) RETURN id(a) AS a UNION ALL MATCH (b:Q) RETURN id(b) AS a",
    "MATCH (a) WHERE a.x IS NOT NULL RETURN id(a) AS a, a.x AS x ORDER BY x DESC, a LIMIT 3",
    "MATCH (a:P)-[:R]->(b) WITH b, count(*) AS n ORDER BY n DESC, id(b) SKIP 1 LIMIT 2 RETURN id(b) AS b, n",
    "UNWIND [1, 2, 3, 3] AS i MATCH (a:P) WHERE a.x = i RETURN i, id(a) AS a",
    "MATCH (a:P) RETURN id(a) AS a, properties(a) AS p",
    "MATCH (a:P {x: 4})-[:R*]->(b) RETURN DISTINCT id(a) AS a, id(b) AS b",
    "MATCH (a {x: 3})-[*0..]-(b) RETURN id(a) AS a, count(DISTINCT b) AS n",
    "MATCH (a)-[:R*]->(b) RETURN DISTINCT id(a) AS a, id(b) AS b",
    "MATCH (a)<-[:R*1..2]-(b) RETURN DISTINCT id(a) AS a, id(b) AS b",
    "MATCH (a) RETURN id(a) AS a, COUNT { MATCH (a)-[:S*]-(b) RETURN DISTINCT b } AS n",
    "MATCH (a:P {x: 1}), (b:Q) WHERE a <> b MATCH p = shortestPath((a)-[:R*]->(b)) RETURN id(a) AS a, id(b) AS b, length(p) AS l",
    "MATCH (a:P)-[:R*1..3]->(b:Q) RETURN id(a) AS a, id(b) AS b, count(*) AS n",
    "MATCH (a:P)-[:R]->(b) WITH a.x AS x, collect(b.x) AS c, collect(DISTINCT b.x) AS d RETURN x, size(c) AS c, size(d) AS d",
    "MATCH (a:P) RETURN a.g AS g, percentileDisc(a.x, 0.5) AS m, stDev(a.x) > 0.5 AS s",
    "RETURN 1 AS one",
];

/// More walks, collections and joins, tried with fewer graphs.
const MORE_QUERIES: &[&str] = &[
    "MATCH (a:P {x: 2})-[:R*2..3]->(a) RETURN DISTINCT id(a) AS a",
    "MATCH (a:P)-[:R*]->(a) RETURN count(DISTINCT a) AS n",
    "MATCH (a:P) WHERE EXISTS { (a)-[:R*1..4]->(a) } RETURN id(a) AS a",
    "MATCH (a:P)-[:R*1..4]->(b:Q) WHERE a.x = b.x RETURN DISTINCT id(a) AS a, id(b) AS b",
    "MATCH (a:P {x: 1}), (b:Q) MATCH p = shortestPath((a)-[:R*..4]->(b)) RETURN id(a) AS a, id(b) AS b, length(p) AS l",
    "MATCH (a:P {x: 1}), (b:Q {x: 2}) MATCH p = shortestPath((a)-[*..5]-(b)) RETURN id(a) AS a, id(b) AS b, length(p) AS l",
    "MATCH (a:P {x: 1}), (b:P {x: 1}) MATCH p = shortestPath((a)-[:R*1..6]->(b)) RETURN id(a) AS a, id(b) AS b, length(p) AS l",
    "MATCH (a:P {x: 5})<-[:R*]-(b:Q) WHERE b.x > 1 RETURN DISTINCT id(a) AS a, id(b) AS b",
    "MATCH (a:P)-[:R]->(b) OPTIONAL MATCH (b)-[:S]->(c) WITH a, collect(c.x) AS c RETURN id(a) AS a, reduce(s = 0, v IN c | s + v * v + 1) AS s",
    "MATCH (a:P) WITH a.g AS g, collect(a.x) AS c RETURN g, reduce(s = 0, v IN c | s + v * v + 1) AS s",
    "MATCH (a:P) WITH a, COLLECT { MATCH (a)-[:R]->(b) RETURN b.x } AS c RETURN id(a) AS a, size(c) AS n, size([v IN c WHERE v IS NULL]) AS z",
    "MATCH (a:P) WITH a, [(a)-[:R]->(b) | b.x] AS c RETURN id(a) AS a, reduce(s = 0, v IN [v IN c WHERE v IS NOT NULL] | s + v * v + 1) AS s",
    "MATCH (a:P) WITH a ORDER BY a.x DESC, id(a) WITH collect(a.x) AS c RETURN c",
    "MATCH (a:P)-[:R]->(b)-[:S]->(c) WHERE a.x + c.x > b.x RETURN id(a) AS a, id(b) AS b, id(c) AS c",
    "MATCH (a:P)-[r:R]->(b) WHERE r.w > a.x OR b.x IS NULL RETURN id(a) AS a, id(r) AS r",
    "MATCH (a:P)-[:R*0..2]->(b) WHERE a.x < b.x RETURN id(a) AS a, id(b) AS b, count(*) AS n",
    "MATCH (a:P)-[:R]->(b), (c:Q)-[:S]->(b) WHERE a.x = c.x RETURN id(a) AS a, id(b) AS b, id(c) AS c",
    "MATCH p = (a:P {x: 1})-[:R*1..2]->(b)-[:S]->(c) RETURN id(a) AS a, id(c) AS c, length(p) AS l",
    "MATCH p = (a:P {x: 1})-[r:R*0..2]->(b)-[:S]->(c) WITH p AS q, size(r) AS n, c RETURN length(q) AS l, n, id(c) AS c",
    "MATCH (a)-[r]->(b) RETURN type(r) AS t, a:P AS p, a:P&Q AS o, b:P|Q AS e, NOT b:Q AS q, b:% AS s, size(keys(b)) AS k, count(*) AS n",
    "MATCH (a:P) RETURN a {.x, y: a.g} AS m, a['x'] AS i",
    "MATCH (a) RETURN a.g AS g, avg(DISTINCT a.x) AS a, sum(DISTINCT a.x) AS s, count(DISTINCT a.x) AS c, min(a.x) AS lo, stDevP(a.x) < 2 AS d",
    "MATCH (a)-[r:R|S]->(b) WHERE r.w >= 2 AND a <> b RETURN type(r) AS t, sum(r.w) AS s",
    "MATCH (a:P)<-[:R]-(b) WHERE NOT EXISTS { (b)-[:S]->(:Q) } RETURN id(a) AS a, count(*) AS n",
    "MATCH (a:P), (b:Q) WHERE a.x < b.x AND a.g = b.g RETURN id(a) AS a, id(b) AS b",
    "MATCH (a:P) WITH a.x AS x, count(*) AS n MATCH (b:Q {x: x})-[r:R]->(c) WHERE r.w >= n RETURN id(b) AS b, n, c.x AS x",
    "MATCH WALK (a:P {x: 1}) ((u)-[:R]->(v) WHERE EXISTS { (v)-[:S]->() }){1,4} (b) RETURN DISTINCT id(b) AS b",
    "MATCH WALK (a:P {x: 2}) ((u)-[:R]->(v) WHERE COUNT { (v)-[:R]->() } > 1){0,3} (b:Q) RETURN DISTINCT id(a) AS a, id(b) AS b",
    "MATCH WALK (a:P)-[:R]-(b)-[:R]-(c) RETURN id(a) AS a, id(c) AS c, count(*) AS n",
    "MATCH REPEATABLE ELEMENTS TRAIL (a:P)-[r:R]-(b)-[s:R]-(c), TRAIL (a)-[t:R]-(d) RETURN id(a) AS a, id(r) AS r, id(t) AS t, count(*) AS n",
    "MATCH WALK (a:P) ((u)-[:R]->(v) WHERE NOT EXISTS { (v)-[:S]->(:Q) }){1,3} (b) RETURN count(DISTINCT b) AS n",
];

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| execute::runtime(Some(1)).unwrap())
}

fn statement(text: &str) -> Statement {
    plan::normalize(cypher::compile(text).unwrap()).unwrap()
}

/// What a query answers on a snapshot.
fn asked(snapshot: &Snapshot, text: &str, parameters: &Parameters) -> Answer {
    let planning = execute::planning::SnapshotPlanning::new(snapshot.clone());
    let statement = plan::optimize(cypher::compile(text).unwrap(), &planning).unwrap();
    let (options, access) = (ExecuteOptions::default(), Access::Read(snapshot.clone()));
    let mut stream = Execution::start(runtime(), &statement, access, parameters.clone(), options).unwrap();
    let mut rows = Answer::new();
    while let Some(batch) = stream.next() {
        let batch = batch.unwrap();
        for row in 0..batch.len() {
            *rows.entry(format!("{:?}", batch.row(row))).or_default() += 1;
        }
    }
    rows
}

/// A reader with what it was told.
struct Reader {
    text: &'static str,
    subscription: Subscription,
    rows: Answer,
    commit_version: u64,
    last_us: u64,
}

impl Reader {
    fn of(text: &'static str, subscription: Subscription) -> Reader {
        Reader { text, subscription, rows: Answer::new(), commit_version: 0, last_us: 0 }
    }
    /// Everything up to this commit.
    fn read_to(&mut self, commit_version: u64) {
        while self.commit_version < commit_version {
            let event = self.subscription.next(Duration::from_secs(10)).unwrap().expect("told in time");
            assert!(event.commit_version() >= self.commit_version, "versions only rise");
            self.commit_version = event.commit_version();
            if let Event::Changes { time_micros, .. } = &event {
                assert!(*time_micros >= self.last_us, "so do times");
                self.last_us = *time_micros;
            }
            if let Event::Snapshot { rows, .. } | Event::Changes { rows, .. } = event {
                for (row, difference) in rows.iter() {
                    assert_ne!(*difference, 0);
                    let columns = self.subscription.columns().iter();
                    let row: Vec<Value> = columns.map(|column| row.values()[column.at].clone()).collect();
                    *self.rows.entry(format!("{row:?}")).or_default() += difference;
                }
                self.rows.retain(|_, count| *count != 0);
            }
        }
    }
}

/// The graph that random commits are made of.
#[derive(Default)]
struct Known {
    vertices: Vec<VertexId>,
    edges: Vec<EdgeRef>,
}

impl Known {
    fn commit(&mut self, engine: &Engine, chance: &mut Chance) -> Snapshot {
        let t = engine.begin(Mode::Write);
        for _ in 0..1 + chance.below(3) {
            self.change(&t, chance);
        }
        t.commit().unwrap();
        engine.snapshot()
    }
    fn change(&mut self, t: &Transaction, chance: &mut Chance) {
        let key = |name: &str| t.key(name).unwrap();
        let mut any = || chance.below(1 << 30) as usize;
        let (at, to, edge) = (any(), any(), any());
        let value = Value::Int(chance.below(6) as i64);
        let vertex = self.vertices.get(at % self.vertices.len().max(1)).copied();
        let other = self.vertices.get(to % self.vertices.len().max(1)).copied();
        match (chance.below(11), vertex) {
            (0..3, _) | (_, None) => {
                let names = [&["P"][..], &["Q"], &["P", "Q"], &[]][chance.below(4) as usize];
                let labels: Vec<_> = names.iter().map(|name| t.label(name).unwrap()).collect();
                let values = vec![(key("x"), value), (key("g"), Value::Int(chance.below(2) as i64))];
                self.vertices.push(t.create_vertex(&labels, values).unwrap());
            }
            (3..7, Some(vertex)) => {
                let kind = t.edge_type(["R", "R", "S"][chance.below(3) as usize]).unwrap();
                let target = if chance.below(8) == 0 { vertex } else { other.unwrap() };
                self.edges.push(t.create_edge(vertex, target, kind, vec![(key("w"), value)]).unwrap());
            }
            (7, _) if !self.edges.is_empty() => {
                let gone = self.edges.swap_remove(edge % self.edges.len());
                t.delete_edge(gone).unwrap();
            }
            (8, Some(vertex)) => {
                let value = if chance.below(3) == 0 { Value::Null } else { value };
                t.set_property(vertex, key("x"), value).unwrap();
            }
            (9, Some(vertex)) => {
                let label = [t.label(["P", "Q"][chance.below(2) as usize]).unwrap()];
                let adds = chance.below(2) == 0;
                let (add, remove): (&[_], &[_]) = if adds { (&label, &[]) } else { (&[], &label) };
                t.change_labels(vertex, add, remove).unwrap();
            }
            (_, Some(vertex)) => {
                t.delete_vertex(vertex, true).unwrap();
                self.vertices.retain(|one| *one != vertex);
                self.edges.retain(|edge| edge.source != vertex && edge.target != vertex);
            }
        }
    }
}

fn engine() -> Engine {
    transact::open(None, &OpenOptions::default()).unwrap().0
}

/// The same, where vertices are found by their value.
fn indexed() -> Engine {
    let engine = engine();
    let t = engine.begin(Mode::Write);
    let (labels, x) = (["P", "Q"].map(|name| t.label(name).unwrap()), t.key("x").unwrap());
    t.commit().unwrap();
    drop(t);
    for target in labels.map(SchemaTarget::Vertices) {
        engine
            .create_index(&IndexRequest { name: None, target, keys: vec![x], if_not_exists: false })
            .unwrap();
    }
    engine
}

fn turns(keeper: &Keeper, places: usize) {
    for at in 0..places {
        while keeper.turn(at) != TurnEnd::Done {}
    }
}

fn create(keeper: &Keeper, name: &str, text: &str) -> Result<(), StandingError> {
    keeper.create(name, text, statement(text), 0, Arc::new(|_| {}))
}

fn none() -> Parameters {
    Parameters::new()
}

#[test]
fn what_was_told_is_what_is_answered_at_every_commit() {
    for seed in 0..5 {
        println!("seed {seed}");
        let engine = if seed % 2 == 1 { indexed() } else { engine() };
        let (mut chance, mut known) = (Chance::seeded(seed), Known::default());
        let places = 1 + seed as usize % 3;
        let keeper = Keeper::new(engine.clone(), places);
        (0..10).for_each(|_| drop(known.commit(&engine, &mut chance)));
        let mut readers = Vec::new();
        let more = if seed < 2 { MORE_QUERIES } else { &[] };
        for (at, text) in QUERIES.iter().chain(more).enumerate() {
            create(&keeper, &format!("q{at}"), text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let subscription = keeper.subscribe(&format!("q{at}"), &|_| None, begin(None, true)).unwrap();
            readers.push(Reader::of(text, subscription));
        }
        for _ in 0..25 {
            // Some are taken up one by one, some together.
            let count = 1 + chance.below(3);
            let commits: Vec<Snapshot> = (0..count).map(|_| known.commit(&engine, &mut chance)).collect();
            turns(&keeper, places);
            for snapshot in commits {
                for reader in &mut readers {
                    reader.read_to(snapshot.commit_version());
                    if reader.commit_version == snapshot.commit_version() {
                        let answer = asked(&snapshot, reader.text, &none());
                        assert_eq!(reader.rows, answer, "seed {seed}: {}", reader.text);
                    }
                }
            }
        }
        // What it says of itself is what readers have.
        for standing in keeper.list() {
            let reader = readers.iter().find(|reader| reader.text == standing.text).unwrap();
            // Equal rows count once.
            assert_eq!((standing.rows, standing.subscribers), (reader.rows.len(), 1), "{}", standing.text);
            assert!(standing.failure.is_none() && standing.used_ns > 0);
            assert_eq!(standing.commit_version, engine.snapshot().commit_version());
        }
    }
}

/// Who reads from now on is told what changes, whoever reads from a commit on, what changed since; whoever comes late reads the whole answer.
#[test]
fn readers_begin_where_they_ask_to() {
    let text = "MATCH (a:P) RETURN a.x AS x, count(*) AS n";
    let (engine, mut chance, mut known) = (engine(), Chance::seeded(5), Known::default());
    let keeper = Keeper::new(engine.clone(), 2);
    (0..6).for_each(|_| drop(known.commit(&engine, &mut chance)));
    create(&keeper, "q", text).unwrap();
    let mut all = vec![engine.snapshot()];
    for _ in 0..12 {
        all.push(known.commit(&engine, &mut chance));
        turns(&keeper, 2);
    }
    let last = engine.snapshot().commit_version();
    for snapshot in &all {
        let subscription = keeper
            .subscribe("q", &|_| None, begin(Some(Resume::Commit(snapshot.commit_version())), false))
            .unwrap();
        let mut reader = Reader::of(text, subscription);
        (reader.rows, reader.commit_version) = (asked(snapshot, text, &none()), snapshot.commit_version());
        reader.read_to(last);
        assert_eq!(
            reader.rows,
            asked(&engine.snapshot(), text, &none()),
            "from {}",
            snapshot.commit_version()
        );
    }
    let ahead = keeper
        .subscribe("q", &|_| None, begin(Some(Resume::Commit(last + 1)), false))
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(ahead, StandingError::Unreached { .. }), "{ahead}");
    let before =
        keeper.subscribe("q", &|_| None, begin(Some(Resume::Commit(0)), false)).map(|_| ()).unwrap_err();
    assert!(matches!(before, StandingError::Forgotten { .. }), "{before}");
    let late = keeper.subscribe("q", &|_| None, begin(None, true)).unwrap();
    let from_now = keeper.subscribe("q", &|_| None, begin(None, false)).unwrap();
    let next = known.commit(&engine, &mut chance);
    turns(&keeper, 2);
    let (mut late, mut from_now) = (Reader::of(text, late), Reader::of(text, from_now));
    (from_now.rows, from_now.commit_version) = (asked(all.last().unwrap(), text, &none()), last);
    for reader in [&mut late, &mut from_now] {
        reader.read_to(next.commit_version());
        assert_eq!(reader.rows, asked(&next, text, &none()));
    }
}

/// Each argument has an answer of its own, and a missing one is said.
#[test]
fn arguments_have_their_own_answers() {
    arguments_have_their_own_answers_over(&engine(), 6);
    // Where a property is indexed, changes far from what was given are dropped at once.
    (0..2).for_each(|seed| arguments_have_their_own_answers_over(&indexed(), seed));
}

fn arguments_have_their_own_answers_over(engine: &Engine, seed: u64) {
    println!("seed {seed}");
    let texts = [
        "MATCH (a:P {x: $x})-[:R]->(b) RETURN id(a) AS a, b.x AS x",
        "MATCH (a:P) WHERE a.x > $x RETURN count(*) AS n, sum(a.x) AS s",
        "MATCH (b:Q)-[r:R]->(a:P {x: $x}) RETURN id(a) AS a, id(b) AS b, r.w AS w",
        "MATCH (a:P {x: $x})-[:R]->(b:Q {x: $x}) RETURN id(a) AS a, id(b) AS b, b.g AS g",
    ];
    let (mut chance, mut known) = (Chance::seeded(seed), Known::default());
    let keeper = Keeper::new(engine.clone(), 1);
    (0..20).for_each(|_| drop(known.commit(engine, &mut chance)));
    for text in texts {
        create(&keeper, text, text).unwrap();
        let missing = keeper.subscribe(text, &|_| None, begin(None, true)).map(|_| ()).unwrap_err();
        assert!(matches!(&missing, StandingError::MissingArgument(name) if name == "x"), "{missing}");
    }
    let mut readers: Vec<(i64, Reader)> = Vec::new();
    for round in 0..40_i64 {
        let (x, text) = (round % 6, texts[round as usize % texts.len()]);
        let given = move |_: &plan::expr::Name| Some(Value::Int(x));
        let subscription = keeper.subscribe(text, &given, begin(None, true)).unwrap();
        readers.push((x, Reader::of(text, subscription)));
        let snapshot = known.commit(engine, &mut chance);
        turns(&keeper, 1);
        for (x, reader) in &mut readers {
            reader.read_to(snapshot.commit_version());
            let parameters = Parameters::from([("x".into(), Value::Int(*x))]);
            assert_eq!(reader.rows, asked(&snapshot, reader.text, &parameters), "{x}: {}", reader.text);
        }
        readers.retain(|_| chance.below(6) > 0);
    }
}

/// A name is there once; what fails is told to its readers alone; ends are told.
#[test]
fn queries_come_fail_and_go_by_name() {
    let engine = engine();
    let keeper = Keeper::new(engine.clone(), 2);
    let t = engine.begin(Mode::Write);
    let (label, x) = (t.label("P").unwrap(), t.key("x").unwrap());
    let vertex = t.create_vertex(&[label], vec![(x, Value::Int(1))]).unwrap();
    t.commit().unwrap();
    drop(t);
    let woken = Arc::new(AtomicUsize::new(0));
    let counts = woken.clone();
    let wake = Arc::new(move |_| {
        counts.fetch_add(1, Ordering::Relaxed);
    });
    let text = "MATCH (a:P) RETURN 10 / (a.x - 7) AS y";
    keeper.create("pill", text, statement(text), 3, wake).unwrap();
    create(&keeper, "fine", QUERIES[0]).unwrap();
    let taken = create(&keeper, "fine", QUERIES[0]).unwrap_err();
    assert!(matches!(&taken, StandingError::NameTaken(name) if name == "fine"));
    let unsteady = create(&keeper, "r", "MATCH (a) RETURN rand() AS r").unwrap_err();
    assert!(matches!(unsteady, StandingError::Unsupported { .. }) && unsteady.hint().is_some());
    let pill = keeper.subscribe("pill", &|_| None, begin(None, true)).unwrap();
    let fine = keeper.subscribe("fine", &|_| None, begin(None, true)).unwrap();
    let t = engine.begin(Mode::Write);
    t.set_property(vertex, x, Value::Int(7)).unwrap();
    t.commit().unwrap();
    drop(t);
    assert!(woken.load(Ordering::Relaxed) > 0, "a commit wakes it");
    turns(&keeper, 2);
    let ends = |subscription: &Subscription| loop {
        match subscription.next(Duration::from_secs(5)) {
            Err(end) => return end,
            Ok(event) => assert!(event.is_some(), "it ends"),
        }
    };
    let end = ends(&pill);
    assert!(matches!(&end, SubscriptionEnd::Failed(why) if why.contains("zero")), "{end:?}");
    let listed = keeper.list();
    assert_eq!(listed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["fine", "pill"]);
    assert!(listed[0].failure.is_none() && listed[1].failure.is_some() && listed[1].payer == 3);
    assert!(keeper.subscribe("pill", &|_| None, begin(None, true)).is_err());
    let spent: Vec<u32> = (0..2).flat_map(|at| keeper.take_spent(at)).map(|(payer, _)| payer).collect();
    assert!(spent.contains(&3), "{spent:?}");
    assert!((0..2).all(|at| keeper.take_spent(at).is_empty()), "it is told once");
    keeper.drop_query("fine").unwrap();
    assert_eq!(ends(&fine), SubscriptionEnd::Dropped);
    assert!(matches!(keeper.drop_query("fine"), Err(StandingError::NoSuchQuery(_))));
    create(&keeper, "fine", QUERIES[0]).unwrap();
    let fine = keeper.subscribe("fine", &|_| None, begin(None, false)).unwrap();
    keeper.close();
    assert_eq!(ends(&fine), SubscriptionEnd::Closed);
    assert_eq!(keeper.list().len(), 0);
}

/// Rules are kept by the same law; the twin is the same program asked at once.
#[test]
fn rules_are_kept_by_the_same_law() {
    let texts = [
        "tc(a, b) :- R(a, b). tc(a, c) :- tc(a, b), R(b, c). ?- tc(a, b).",
        "near(b) :- P.x(a, 3), R(a, b). near(c) :- near(b), R(b, c), !Q(c). lone(a) :- P(a), !near(a), !S(a, _). ?- lone(a).",
        "s(k, sum(w), max(w)) :- R.w(a, b, w), _.x(a, k). ?- s(k, t, m).",
        "n(a, count()) :- P(a), R(a, b), _.x(b, k), k > 1. twice(a, m) :- n(a, k), m = k * 2. ?- twice(a, n).",
    ];
    let (engine, mut chance, mut known) = (engine(), Chance::seeded(7), Known::default());
    let keeper = Keeper::new(engine.clone(), 2);
    (0..15).for_each(|_| drop(known.commit(&engine, &mut chance)));
    let mut readers = Vec::new();
    for text in texts {
        keeper.create(text, text, datalog::compile(text).unwrap(), 0, Arc::new(|_| {})).unwrap();
        let subscription = keeper.subscribe(text, &|_| None, begin(None, true)).unwrap();
        readers.push(Reader::of(text, subscription));
    }
    for _ in 0..40 {
        let snapshot = known.commit(&engine, &mut chance);
        turns(&keeper, 2);
        for reader in &mut readers {
            reader.read_to(snapshot.commit_version());
            let program = rules::PreparedProgram::new(datalog::compile(reader.text).unwrap());
            let mut answer =
                rules::ask(&program, &Vec::new(), |_| None, &snapshot, Default::default()).unwrap();
            let rows = answer.rows(usize::MAX).unwrap_or_default();
            let answer: Answer = rows.into_iter().map(|row| (format!("{row:?}"), 1)).collect();
            assert_eq!(reader.rows, answer, "{}", reader.text);
        }
    }
}

/// A mark stands for all that was told until then, and for its own answer alone.
#[test]
fn readers_go_on_behind_a_mark() {
    let texts = ["MATCH (a:P) RETURN a.x AS x", "MATCH (a:Q) RETURN a.x AS x"];
    let (engine, mut chance, mut known) = (engine(), Chance::seeded(9), Known::default());
    let keeper = Keeper::new(engine.clone(), 1);
    (0..6).for_each(|_| drop(known.commit(&engine, &mut chance)));
    texts.iter().for_each(|text| create(&keeper, text, text).unwrap());
    let mut reader = Reader::of(texts[0], keeper.subscribe(texts[0], &|_| None, begin(None, true)).unwrap());
    let mut marks = Vec::new();
    for _ in 0..15 {
        let snapshot = known.commit(&engine, &mut chance);
        turns(&keeper, 1);
        reader.read_to(snapshot.commit_version());
        marks.push((reader.subscription.mark().unwrap(), reader.rows.clone()));
    }
    let last = engine.snapshot();
    for (mark, rows) in marks {
        let from = Some(Resume::Mark(mark));
        let subscription = keeper.subscribe(texts[0], &|_| None, begin(from, false)).unwrap();
        let mut resumed =
            Reader { rows, commit_version: mark.at.commit_version, ..Reader::of(texts[0], subscription) };
        resumed.read_to(last.commit_version());
        assert_eq!(resumed.rows, asked(&last, texts[0], &none()), "behind {mark}");
        let foreign = keeper.subscribe(texts[1], &|_| None, begin(from, false)).map(|_| ()).unwrap_err();
        assert!(matches!(foreign, StandingError::ForeignMark), "{foreign}");
    }
}

/// Bytes that a query says it keeps, and those that dropping it gives back.
fn bytes(engine: &Engine, text: &str) -> (isize, isize) {
    let keeper = Keeper::new(engine.clone(), 1);
    create(&keeper, "q", text).unwrap();
    turns(&keeper, 1);
    let (said, before) = (keeper.list()[0].bytes as isize, heap::held_by_thread());
    keeper.drop_query("q").unwrap();
    (said, before - heap::held_by_thread())
}

/// What a query says that it keeps of a graph is what dropping it gives back, besides what it takes with no graph; for every kind of step.
#[test]
fn bytes_are_those_of_the_allocator() {
    let (empty, full, mut chance) = (engine(), engine(), Chance::seeded(11));
    let mut known = Known::default();
    (0..BYTE_COMMITS).for_each(|_| drop(known.commit(&full, &mut chance)));
    let mut faults = Vec::new();
    for text in QUERIES.iter().chain(MORE_QUERIES) {
        let ((said_of_none, given_of_none), (said, given)) = (bytes(&empty, text), bytes(&full, text));
        let (said, given) = (said - said_of_none, given - given_of_none);
        if (said - given).abs() > BYTES_SLACK + given / 6 {
            faults.push(format!("{said} bytes are said, {given} were given: {text}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Commits of the ledger, and after how many of them each query is asked what it keeps.
const LEDGER_COMMITS: usize = 160;
const LEDGER_EVERY: usize = 40;

/// Rows and bytes of every query while the graph grows and shrinks, as they are: the law above holds them against the allocator, with some slack.
/// `ledger.txt` has them; with `LEDGER=write` it is written anew, to be read as any other change is.
#[test]
fn what_is_kept_is_what_the_ledger_says() {
    let (engine, mut chance, mut known) = (engine(), Chance::seeded(23), Known::default());
    let keeper = Keeper::new(engine.clone(), 1);
    let texts: Vec<&str> = QUERIES.iter().chain(MORE_QUERIES).copied().collect();
    texts.iter().for_each(|text| create(&keeper, text, text).unwrap());
    let mut accounts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for commit in 0..=LEDGER_COMMITS {
        turns(&keeper, 1);
        if commit % LEDGER_EVERY == 0 {
            for standing in keeper.list() {
                let account = format!("{} rows, {} bytes", standing.rows, standing.bytes);
                accounts.entry(standing.name).or_default().push(account);
            }
        }
        known.commit(&engine, &mut chance);
    }
    let line = |text: &&str| format!("{text} => {}\n", accounts[*text].join("; "));
    let written: String = texts.iter().map(line).collect();
    if std::env::var("LEDGER").is_ok_and(|what| what == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ledger.txt"), &written).unwrap();
        return;
    }
    for (found, expected) in written.lines().zip(include_str!("ledger.txt").lines()) {
        assert_eq!(found, expected);
    }
}
