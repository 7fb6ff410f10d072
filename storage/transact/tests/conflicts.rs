//! Reads of one transaction against concurrent writes of another: each kind with each, whether they conflict; and which catalogue command
//! meets which. The expected tables are in `tests/conflicts`; `TANGLEWOOD_BLESS=1` writes them anew, and the difference is then read like code.
#![allow(clippy::disallowed_methods)]

use model::schema::{IndexId, SchemaTarget};
use model::{Direction, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, ValueType, VertexId};
use std::fmt::Write;
use std::ops::Bound;
use tanglewood_transact::{
    ConstraintRequest, Engine, IndexRequest, Mode, OpenOptions, Rule, TransactError, Transaction, open,
};

/// Nodes 0 (A, k 10, l 1), 1 (A, k 20), 2 (B, k 30), 3 (A, alone); R from 0 to 1 (k 5), S from 1 to 0; indexes of A and R by k.
struct Graph {
    engine: Engine,
    nodes: Vec<VertexId>,
    edges: [EdgeRef; 2],
    labels: [LabelId; 2],
    types: [EdgeTypeId; 2],
    keys: [KeyId; 2],
}

fn engine() -> Engine {
    open(None, &OpenOptions::default()).unwrap().0
}

fn graph() -> Graph {
    let engine = engine();
    let t = engine.begin(Mode::Write);
    let labels = [t.label("A").unwrap(), t.label("B").unwrap()];
    let types = [t.edge_type("R").unwrap(), t.edge_type("S").unwrap()];
    let keys = [t.key("k").unwrap(), t.key("l").unwrap()];
    let [k, l] = keys;
    let node = |label: usize, values: Vec<(KeyId, Value)>| t.create_vertex(&[labels[label]], values).unwrap();
    let nodes = vec![
        node(0, vec![(k, 10.into()), (l, 1.into())]),
        node(0, vec![(k, 20.into())]),
        node(1, vec![(k, 30.into())]),
        node(0, Vec::new()),
    ];
    let edges = [
        t.create_edge(nodes[0], nodes[1], types[0], vec![(k, 5.into())]).unwrap(),
        t.create_edge(nodes[1], nodes[0], types[1], Vec::new()).unwrap(),
    ];
    t.commit().unwrap();
    for target in [SchemaTarget::Vertices(labels[0]), SchemaTarget::Edges(types[0])] {
        let request = IndexRequest { name: None, target, keys: vec![k], if_not_exists: false };
        engine.create_index(&request).unwrap();
    }
    Graph { engine, nodes, edges, labels, types, keys }
}

type Act = (&'static str, fn(&Graph, &Transaction));

const NODES: IndexId = IndexId(0);
const EDGES: IndexId = IndexId(1);

fn range(t: &Transaction, index: IndexId, lower: Bound<i64>, upper: Bound<i64>) {
    t.reads().index_range(index, lower.map(Value::Int), upper.map(Value::Int));
}

const READS: &[Act] = &[
    ("nothing", |_, _| {}),
    ("node 0", |g, t| t.reads().vertex(g.nodes[0])),
    ("nodes 0 and 2", |g, t| t.reads().vertices([g.nodes[0], g.nodes[2]])),
    ("whether node 0 exists", |g, t| t.reads().existence(g.nodes[0])),
    ("whether node 3 exists", |g, t| t.reads().existence(g.nodes[3])),
    ("relationship 0", |g, t| t.reads().edge(g.edges[0].id)),
    ("what leaves node 0", |g, t| t.reads().adjacency(g.nodes[0], &[], Direction::Out)),
    ("what enters node 0", |g, t| t.reads().adjacency(g.nodes[0], &[], Direction::In)),
    ("all at node 0", |g, t| t.reads().adjacency(g.nodes[0], &[], Direction::Both)),
    ("R that leaves node 0", |g, t| t.reads().adjacency(g.nodes[0], &[g.types[0]], Direction::Out)),
    ("S that leaves node 0", |g, t| t.reads().adjacency(g.nodes[0], &[g.types[1]], Direction::Out)),
    ("R or S that enters nodes 0 and 2", |g, t| {
        t.reads().adjacencies([g.nodes[0], g.nodes[2]], &g.types, Direction::In);
    }),
    ("from 0 to 1", |g, t| t.reads().edges_between(g.nodes[0], g.nodes[1])),
    ("from 1 to 0", |g, t| t.reads().edges_between(g.nodes[1], g.nodes[0])),
    ("all A", |g, t| t.reads().scan(Some(g.labels[0]))),
    ("all B", |g, t| t.reads().scan(Some(g.labels[1]))),
    ("all nodes", |_, t| t.reads().scan(None)),
    ("who of those reached is A", |g, t| t.reads().labels_tested([g.labels[0]])),
    ("who of those reached is B", |g, t| t.reads().labels_tested([g.labels[1]])),
    ("A with k 10", |_, t| t.reads().index_equal(NODES, &10.into())),
    ("A with k 20", |_, t| t.reads().index_equal(NODES, &20.into())),
    ("A with k 11", |_, t| t.reads().index_equal(NODES, &11.into())),
    ("R with k 5", |_, t| t.reads().index_equal(EDGES, &5.into())),
    ("A with k from 10 to 20", |_, t| range(t, NODES, Bound::Included(10), Bound::Included(20))),
    ("A with k beyond 10 to 20", |_, t| range(t, NODES, Bound::Excluded(10), Bound::Included(20))),
    ("A with k from 10 below 20", |_, t| range(t, NODES, Bound::Included(10), Bound::Excluded(20))),
    ("A with k beyond 10 below 20", |_, t| range(t, NODES, Bound::Excluded(10), Bound::Excluded(20))),
    ("A with k from 11", |_, t| range(t, NODES, Bound::Included(11), Bound::Unbounded)),
    ("A with k up to 11", |_, t| range(t, NODES, Bound::Unbounded, Bound::Included(11))),
    ("A with any k", |_, t| range(t, NODES, Bound::Unbounded, Bound::Unbounded)),
    ("A with k from 20 to 10", |_, t| range(t, NODES, Bound::Included(20), Bound::Included(10))),
    ("A with k from 10 below 10", |_, t| range(t, NODES, Bound::Included(10), Bound::Excluded(10))),
    ("R with any k", |_, t| range(t, EDGES, Bound::Unbounded, Bound::Unbounded)),
    ("the catalogue", |_, t| t.reads().catalogue()),
];

const WRITES: &[Act] = &[
    ("creates A with k 10", |g, t| {
        t.create_vertex(&[g.labels[0]], vec![(g.keys[0], 10.into())]).unwrap();
    }),
    ("creates B with k 10", |g, t| {
        t.create_vertex(&[g.labels[1]], vec![(g.keys[0], 10.into())]).unwrap();
    }),
    ("creates a node", |_, t| {
        t.create_vertex(&[], Vec::new()).unwrap();
    }),
    ("deletes node 3", |g, t| {
        t.delete_vertex(g.nodes[3], false).unwrap();
    }),
    ("deletes node 0 and all at it", |g, t| {
        t.delete_vertex(g.nodes[0], true).unwrap();
    }),
    ("sets k of node 0 to 11", |g, t| t.set_property(g.nodes[0], g.keys[0], 11.into()).unwrap()),
    ("removes k of node 0", |g, t| t.set_property(g.nodes[0], g.keys[0], Value::Null).unwrap()),
    ("sets k of node 1 to 15", |g, t| t.set_property(g.nodes[1], g.keys[0], 15.into()).unwrap()),
    ("sets l of node 0", |g, t| t.set_property(g.nodes[0], g.keys[1], 7.into()).unwrap()),
    ("sets k of node 2 to 10", |g, t| t.set_property(g.nodes[2], g.keys[0], 10.into()).unwrap()),
    ("makes node 2 A", |g, t| {
        t.change_labels(g.nodes[2], &[g.labels[0]], &[]).unwrap();
    }),
    ("makes node 0 B", |g, t| {
        t.change_labels(g.nodes[0], &[g.labels[1]], &[]).unwrap();
    }),
    ("makes node 0 no A", |g, t| {
        t.change_labels(g.nodes[0], &[], &[g.labels[0]]).unwrap();
    }),
    ("relates 0 to 1 by R", |g, t| {
        t.create_edge(g.nodes[0], g.nodes[1], g.types[0], vec![(g.keys[0], 5.into())]).unwrap();
    }),
    ("relates 0 to 2 by S", |g, t| {
        t.create_edge(g.nodes[0], g.nodes[2], g.types[1], Vec::new()).unwrap();
    }),
    ("deletes relationship 0", |g, t| {
        t.delete_edge(g.edges[0]).unwrap();
    }),
    ("deletes relationship 1", |g, t| {
        t.delete_edge(g.edges[1]).unwrap();
    }),
    ("sets k of relationship 0", |g, t| t.set_edge_property(g.edges[0], g.keys[0], 6.into()).unwrap()),
    ("sets l of relationship 0", |g, t| t.set_edge_property(g.edges[0], g.keys[1], 6.into()).unwrap()),
    ("names a key", |g, t| t.set_property(g.nodes[3], t.key("new").unwrap(), 1.into()).unwrap()),
];

type Command = (&'static str, fn(&Graph));

/// Commands that make the catalogue another one.
const COMMANDS: &[Command] = &[
    ("creates an index", |g| {
        let target = SchemaTarget::Vertices(g.labels[1]);
        let request = IndexRequest { name: None, target, keys: vec![g.keys[0]], if_not_exists: false };
        g.engine.create_index(&request).unwrap();
    }),
    ("drops an index", |g| {
        let name = g.engine.snapshot().catalog().indexes()[1].name.clone();
        g.engine.drop_index(&name, false).unwrap();
    }),
    ("creates a constraint", |g| {
        let (target, keys) = (SchemaTarget::Vertices(g.labels[1]), vec![g.keys[0]]);
        let rule = Rule::Typed(ValueType::Int);
        g.engine
            .create_constraint(&ConstraintRequest { name: None, target, keys, rule, if_not_exists: false })
            .unwrap();
    }),
];

/// Does a transaction that read this still commit after that was written?
fn conflicts(read: fn(&Graph, &Transaction), write: &dyn Fn(&Graph)) -> bool {
    let g = graph();
    let t = g.engine.begin(Mode::Write);
    read(&g, &t);
    // It writes something of its own, which nobody else writes.
    t.set_property(g.nodes[2], g.keys[1], 3.into()).unwrap();
    write(&g);
    let before = g.engine.counts().conflicts;
    let refused = match t.commit() {
        Ok(_) => false,
        Err(error) => {
            assert!(error.is_retryable(), "{error}");
            true
        }
    };
    assert_eq!(g.engine.counts().conflicts - before, u64::from(refused));
    refused
}

#[test]
fn each_read_conflicts_with_the_writes_that_it_would_see() {
    let mut told = String::new();
    for (read, looks) in READS {
        let _ = writeln!(told, "{read}");
        for (write, changes) in WRITES {
            let whole = |g: &Graph| {
                let t = g.engine.begin(Mode::Write);
                changes(g, &t);
                t.commit().unwrap();
            };
            if conflicts(*looks, &whole) {
                let _ = writeln!(told, "    {write}");
            }
        }
        for (command, run) in COMMANDS {
            if conflicts(*looks, &|g: &Graph| run(g)) {
                let _ = writeln!(told, "    {command}");
            }
        }
    }
    is_as_written("reads", &told);
}

/// Holds a table against its file.
fn is_as_written(name: &str, told: &str) {
    let file = format!("{}/tests/conflicts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        return std::fs::write(file, told).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (expected, line) in expected.lines().zip(told.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(told.lines().count(), expected.lines().count());
}

/// An index, or a constraint by its rule.
#[derive(Clone, Copy)]
struct Wanted {
    rule: Option<Rule>,
    name: Option<&'static str>,
    others: bool,
}

const KINDS: [(&str, Option<Rule>); 6] = [
    ("index", None),
    ("unique", Some(Rule::Unique)),
    ("exists", Some(Rule::Exists)),
    ("key", Some(Rule::NodeKey)),
    ("integer", Some(Rule::Typed(ValueType::Int))),
    ("text", Some(Rule::Typed(ValueType::String))),
];

fn make(engine: &Engine, wanted: Wanted, if_not_exists: bool) -> Result<bool, TransactError> {
    let names = engine.store().names();
    let target = SchemaTarget::Vertices(names.intern_label("A").unwrap());
    let keys = vec![names.intern_key(if wanted.others { "l" } else { "k" }).unwrap()];
    let name = wanted.name.map(str::to_string);
    match wanted.rule {
        None => engine.create_index(&IndexRequest { name, target, keys, if_not_exists }),
        Some(rule) => {
            engine.create_constraint(&ConstraintRequest { name, target, keys, rule, if_not_exists })
        }
    }
}

fn listed(engine: &Engine) -> Vec<String> {
    let snapshot = engine.snapshot();
    let catalog = snapshot.catalog();
    let mut all: Vec<String> =
        catalog.indexes().iter().map(|index| format!("index {}", index.name)).collect();
    all.extend(catalog.constraints().iter().map(|constraint| format!("constraint {}", constraint.name)));
    all
}

/// The second of two commands: made, there already, or refused; plain, and with IF NOT EXISTS.
#[test]
fn catalogue_commands_meet_each_other() {
    let mut told = String::new();
    for (first_kind, first_rule) in KINDS {
        for first_name in [Some("n"), None] {
            let first = Wanted { rule: first_rule, name: first_name, others: false };
            let _ = writeln!(told, "{first_kind} {}", first_name.unwrap_or("without a name"));
            for (kind, rule) in KINDS {
                for (name, others) in [
                    (Some("n"), false),
                    (Some("m"), false),
                    (None, false),
                    (Some("n"), true),
                    (Some("m"), true),
                ] {
                    let second = Wanted { rule, name, others };
                    let outcomes = [false, true].map(|if_not_exists| {
                        let engine = engine();
                        assert!(make(&engine, first, false).unwrap());
                        let before = listed(&engine);
                        match make(&engine, second, if_not_exists) {
                            Ok(true) => {
                                assert!(listed(&engine).len() > before.len());
                                "made".to_string()
                            }
                            Ok(false) => {
                                assert_eq!(listed(&engine), before);
                                "there".into()
                            }
                            Err(error) => {
                                assert_eq!(listed(&engine), before);
                                error.code().rsplit('.').next().unwrap().to_string()
                            }
                        }
                    });
                    let about = if others { "elsewhere" } else { "on the same" };
                    let name = name.unwrap_or("without a name");
                    let _ = writeln!(told, "    {kind} {name} {about}: {}; {}", outcomes[0], outcomes[1]);
                }
            }
        }
    }
    is_as_written("catalogue", &told);
}

#[test]
fn dropping_takes_what_was_brought_and_nothing_else() {
    for (kind, rule) in KINDS {
        let engine = engine();
        make(&engine, Wanted { rule, name: Some("n"), others: false }, false).unwrap();
        make(&engine, Wanted { rule: None, name: Some("beside"), others: true }, false).unwrap();
        let brings = matches!(rule, Some(Rule::Unique | Rule::NodeKey));
        let owned = if brings { vec!["index n", "index beside", "constraint n"] } else { Vec::new() };
        assert!(!brings || listed(&engine) == owned, "{kind}");
        if rule.is_none() {
            assert!(engine.drop_index("n", false).unwrap());
        } else {
            let refused = engine.drop_index("n", false).unwrap_err().to_string();
            let expected = match brings {
                true => "index `n` belongs to constraint `n`; drop that instead",
                false => "there is no index `n`",
            };
            assert_eq!(refused, expected, "{kind}");
            assert!(engine.drop_constraint("n", false).unwrap());
        }
        assert_eq!(listed(&engine), ["index beside"], "{kind}");
        assert_eq!(engine.drop_constraint("n", false).unwrap_err().to_string(), "there is no constraint `n`");
        assert!(!engine.drop_constraint("n", true).unwrap() && !engine.drop_index("n", true).unwrap());
    }
}
