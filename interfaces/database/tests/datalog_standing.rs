//! The law of kept Datalog programs: a reader's accumulated changes at a commit are the answer of Cypher, or of the program run anew, on the
//! snapshot of that commit; with parameters, for each reader's own arguments.

#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::time::Duration;
use tanglewood_database::{
    Database, Event, MEMORY, Options, Params, Row, Session, Subscription, Value, params,
};
use world::chance::Chance;
use world::files::TemporaryFolder;

type Rows = BTreeMap<String, isize>;

/// A program, and the same in Cypher; where Cypher has nothing, the program itself.
const SHAPES: &[(&str, &str)] = &[
    ("?- R(a, b).", "MATCH (a)-[:R]->(b) RETURN DISTINCT a, b"),
    ("?- P(a).", "MATCH (a:P) RETURN a"),
    ("?- P.x(a, x).", "MATCH (a:P) WHERE a.x IS NOT NULL RETURN a, a.x AS x"),
    ("?- _.x(a, x).", "MATCH (a) WHERE a.x IS NOT NULL RETURN a, a.x AS x"),
    ("?- R.w(a, b, w).", "MATCH (a)-[r:R]->(b) WHERE r.w IS NOT NULL RETURN DISTINCT a, b, r.w AS w"),
    (
        "two(a, c) :- R(a, b), S(b, c). ?- two(a, c).",
        "MATCH (a)-[:R]->(b) MATCH (b)-[:S]->(c) RETURN DISTINCT a, c",
    ),
    ("loop(a) :- R(a, a). ?- loop(a).", "MATCH (a)-[:R]->(a) RETURN DISTINCT a"),
    ("same(a, b) :- P.x(a, x), Q.x(b, x). ?- same(a, b).", "MATCH (a:P), (b:Q) WHERE a.x = b.x RETURN a, b"),
    (
        "both(a, b) :- R(a, b), R(b, a), S(a, c), !S(b, c). ?- both(a, b).",
        "MATCH (a)-[:R]->(b) MATCH (b)-[:R]->(a) MATCH (a)-[:S]->(c) WHERE NOT EXISTS { (b)-[:S]->(c) } RETURN DISTINCT a, b",
    ),
    (
        "pair(a, b) :- P(a), Q(b), !R(a, b). ?- pair(a, b).",
        "MATCH (a:P), (b:Q) WHERE NOT EXISTS { (a)-[:R]->(b) } RETURN a, b",
    ),
    (
        "heavy(a, w) :- R.w(a, b, w), w > 2, !R.w(b, a, w). ?- heavy(a, w).",
        "MATCH (a)-[r:R]->(b) WHERE r.w > 2 AND NOT EXISTS { MATCH (b)-[s:R]->(a) WHERE s.w = r.w } RETURN DISTINCT a, r.w AS w",
    ),
    ("n(a, count()) :- R(a, b), Q(b). ?- n(a, k).", "MATCH (a)-[:R]->(b:Q) RETURN a, count(DISTINCT b) AS k"),
    (
        "tc(a, b) :- R(a, b). tc(a, c) :- tc(a, b), R(b, c). ?- tc(a, b).",
        "MATCH (a)-[:R*]->(b) RETURN DISTINCT a, b",
    ),
    (
        "far(b) :- P.x(a, 4), R(a, b). far(c) :- far(b), R(b, c). ?- far(b).",
        "MATCH (a:P {x: 4})-[:R*]->(b) RETURN DISTINCT b",
    ),
];

/// Programs with parameters; `$x` goes from 0 to 5, `$y` is 3.
const ASKED: &[&str] = &[
    "?- P.x(a, $x).",
    "reach(a, b) :- R(a, b). reach(a, c) :- reach(a, b), R(b, c). from(a, b) :- _.x(a, $x), reach(a, b). ?- from(a, b).",
    "reach(b) :- P.x(a, $x), R(a, b). reach(c) :- reach(b), R(b, c). lone(a) :- P(a), !reach(a). ?- lone(a).",
    "n(a, count()) :- R.w(a, b, w), w >= $y, _.x(b, $x). ?- n(a, k).",
    "sg(a, b) :- R(p, a), R(p, b), a != b. sg(a, b) :- R(p, a), sg(p, q), R(q, b). peer(b) :- P.x(a, $x), sg(a, b). ?- peer(b).",
    "seed($x). seed($y). near(a) :- seed(v), _.x(a, v). near(b) :- near(a), S(a, b). ?- near(a).",
    "?- R(a, b).",
];

fn shown(value: &Value) -> String {
    format!("{value:?}")
}

fn expected(session: &mut Session, text: &str, params: Params) -> Rows {
    let mut rows = Rows::new();
    for row in session.query(text, params).unwrap().rows().unwrap() {
        let row: Vec<String> = row.iter().map(shown).collect();
        *rows.entry(row.join(" | ")).or_insert(0) += 1;
    }
    rows
}

struct Reader {
    subscription: Subscription,
    rows: Rows,
    commit_version: u64,
}

impl Reader {
    fn new(database: &Database, name: &str, params: &Params) -> Reader {
        let subscription = database.subscribe(name, params, None, true).unwrap();
        Reader { subscription, rows: Rows::new(), commit_version: 0 }
    }
    fn take(&mut self, rows: &[(Row, isize)]) {
        for (row, diff) in rows {
            let columns = self.subscription.columns().iter();
            let row: Vec<String> = columns.map(|column| shown(&row.values()[column.at])).collect();
            *self.rows.entry(row.join(" | ")).or_insert(0) += diff;
        }
        self.rows.retain(|_, count| *count != 0);
    }
    fn read_to(&mut self, commit_version: u64) {
        while self.commit_version < commit_version {
            let event = self.subscription.next(Duration::from_secs(120)).unwrap().expect("told in time");
            self.commit_version = event.commit_version();
            match event {
                Event::Snapshot { rows, .. } | Event::Changes { rows, .. } => self.take(&rows),
                Event::Progress { .. } => {}
            }
        }
    }
}

fn commit(session: &mut Session, chance: &mut Chance) {
    let mut pick = |bound: u64| chance.below(bound);
    let (x, w, n) = (pick(6), pick(5), pick(40));
    let label = ["P", "Q", "P:Q"][pick(3) as usize];
    let kind = ["R", "S", "R"][pick(3) as usize];
    let text = match pick(12) {
        0 => format!("CREATE (:{label} {{x: {x}}})"),
        1 => format!(
            "CREATE (a:Q {{x: {x}}})<-[:R]-(b:{label} {{x: {x}}})-[:S]->(:P {{x: {w}}}) WITH a WHERE {n} < 9 DETACH DELETE a"
        ),
        2 => format!(
            "CREATE (a:P {{x: {x}}})-[:R {{w: {w}}}]->(b:{label} {{x: {w}}}), (a)-[:R {{w: {x}}}]->(b)"
        ),
        3..=5 => format!(
            "MATCH (a), (b) WITH a, b ORDER BY (id(a) * 31 + id(b) * 17 + {n}) % 101 LIMIT 1 CREATE (a)-[:{kind} {{w: {w}}}]->(b)"
        ),
        6 => format!("MATCH (a)-[r]->() WITH r ORDER BY (id(r) * 7 + {n}) % 53 LIMIT 1 DELETE r"),
        7 => format!("MATCH (a) WITH a ORDER BY (id(a) * 13 + {n}) % 37 LIMIT 1 DETACH DELETE a"),
        8 => format!("MATCH (a) WITH a ORDER BY (id(a) * 11 + {n}) % 41 LIMIT 2 SET a.x = {x}"),
        9 => format!("MATCH (a) WITH a ORDER BY (id(a) * 11 + {n}) % 43 LIMIT 1 SET a:{label} REMOVE a.x"),
        10 => format!(
            "MATCH (a)-[r:R]->(b) WITH a, b ORDER BY (id(a) * 3 + {n}) % 43 LIMIT 1 CREATE (a)-[:R {{w: {w}}}]->(b)"
        ),
        _ => format!("MATCH ()-[r]->() WITH r ORDER BY (id(r) * 5 + {n}) % 47 LIMIT 1 SET r.w = {w}"),
    };
    session.query(&text, Params::new()).unwrap().rows().unwrap();
}

fn begun(seed: u64) -> (Database, Session, Chance) {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let mut chance = Chance::seeded(seed);
    let mut session = database.session();
    if seed % 2 == 1 {
        for label in ["P", "Q"] {
            let text = format!("CREATE INDEX FOR (v:{label}) ON (v.x)");
            session.query(&text, Params::new()).unwrap().rows().unwrap();
        }
    }
    (0..25).for_each(|_| commit(&mut session, &mut chance));
    (database, session, chance)
}

fn seeds() -> u64 {
    std::env::var("TANGLEWOOD_STANDING_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(4)
}

#[test]
fn a_kept_program_says_what_cypher_says() {
    for seed in 0..seeds() {
        let (database, mut session, mut chance) = begun(seed);
        let mut readers = Vec::new();
        for (number, (text, _)) in SHAPES.iter().enumerate() {
            let (name, text) = (format!("q{number}"), format!("DATALOG {{ {text} }}"));
            database.create_standing(&name, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
            readers.push(Reader::new(&database, &name, &Params::new()));
        }
        for round in 0..50 {
            // Several commits may be one turn.
            (0..1 + round % 3).for_each(|_| commit(&mut session, &mut chance));
            let commit_version = database.snapshot().commit_version();
            for (reader, (text, cypher)) in readers.iter_mut().zip(SHAPES) {
                reader.read_to(commit_version);
                let rows = expected(&mut session, cypher, Params::new());
                assert_eq!(reader.rows, rows, "seed {seed}, round {round}: {text}");
                let asked = expected(&mut session, &format!("DATALOG {{ {text} }}"), Params::new());
                assert_eq!(asked, rows, "seed {seed}, round {round}, asked once: {text}");
            }
        }
    }
}

#[test]
fn arguments_are_told_their_own_answers() {
    for seed in 0..seeds() {
        let (database, mut session, mut chance) = begun(seed);
        for (number, text) in ASKED.iter().enumerate() {
            let (name, text) = (format!("q{number}"), format!("DATALOG {{ {text} }}"));
            database.create_standing(&name, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        let mut readers: Vec<(usize, Params, Reader)> = Vec::new();
        for round in 0..50 {
            if readers.len() < 24 {
                let number = chance.below(ASKED.len() as u64) as usize;
                let params = params! { "x" => chance.below(6) as i64, "y" => 3 };
                let reader = Reader::new(&database, &format!("q{number}"), &params);
                readers.push((number, params, reader));
            } else {
                readers.swap_remove(chance.below(24) as usize);
            }
            (0..1 + round % 2).for_each(|_| commit(&mut session, &mut chance));
            let commit_version = database.snapshot().commit_version();
            for (number, params, reader) in &mut readers {
                reader.read_to(commit_version);
                let text = format!("DATALOG {{ {} }}", ASKED[*number]);
                let rows = expected(&mut session, &text, params.clone());
                assert_eq!(reader.rows, rows, "seed {seed}, round {round}, {params:?}: {text}");
            }
        }
    }
}

/// Programs with parameters outlive the process, and their readers go on where they were.
#[test]
fn a_reader_goes_on_after_the_database_was_opened_anew() {
    let folder = TemporaryFolder::new("datalog-resumes").unwrap();
    let open = || {
        let history = Some(tanglewood_database::History::Forever);
        Database::open(folder.path(), Options { executors: Some(1), history, ..Options::default() }).unwrap()
    };
    let text = "CREATE STANDING QUERY reached FOR TENANT riders AS DATALOG {
        reach(a, b) :- ROAD(a, b). reach(a, c) :- reach(a, b), ROAD(b, c).
        to(name) :- City.name(a, $from), reach(a, b), City.name(b, name). ?- to(name). }";
    let from = params! { "from" => "a" };
    let commit_version = {
        let database = open();
        let mut session = database.session();
        let mut run = |text: &str| session.query(text, Params::new()).unwrap().rows().unwrap();
        run("CREATE (:City {name: 'a'})-[:ROAD]->(:City {name: 'b'}), (:City {name: 'c'})");
        run(text);
        let mut reader = Reader::new(&database, "reached", &from);
        reader.read_to(database.snapshot().commit_version());
        assert_eq!(reader.rows.keys().collect::<Vec<_>>(), [&shown(&Value::from("b"))]);
        let listed = "SHOW STANDING QUERIES YIELD name, tenant, query, subscribers RETURN name, tenant, query, subscribers";
        let row = run(listed).remove(0);
        assert_eq!((row[1].as_str(), row[3].as_int()), (Some("riders"), Some(1)));
        assert!(row[2].as_str().unwrap().starts_with("DATALOG {"), "{row:?}");
        let commit_version = reader.commit_version;
        run("MATCH (b:City {name: 'b'}), (c:City {name: 'c'}) CREATE (b)-[:ROAD]->(c)");
        commit_version
    };
    let database = open();
    let subscription = database.subscribe("reached", &from, Some(commit_version), false).unwrap();
    let mut reader = Reader { subscription, rows: Rows::new(), commit_version };
    reader.read_to(database.snapshot().commit_version());
    assert_eq!(reader.rows.into_iter().collect::<Vec<_>>(), [(shown(&Value::from("c")), 1)]);
    let missing = database.subscribe("reached", &Params::new(), None, true).map(drop).unwrap_err();
    assert_eq!(missing.code, "Neo.ClientError.Statement.ParameterMissing");
}

/// What a program keeps is counted on the account of who pays; a change that has no room there ends that program alone.
#[test]
fn facts_are_charged_to_the_tenant() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    let mut run = |text: &str| session.query(text, Params::new()).and_then(|result| result.rows());
    run("CREATE TENANT small SET MEMORY '4MB'").unwrap();
    run("UNWIND range(1, 300) AS i CREATE (:P {i: i})").unwrap();
    run("MATCH (a:P), (b:P) WHERE b.i = a.i + 1 AND a.i % 50 <> 0 CREATE (a)-[:NEXT]->(b)").unwrap();
    let closure = "DATALOG { tc(a, b) :- NEXT(a, b). tc(a, c) :- tc(a, b), NEXT(b, c). ?- tc(a, b). }";
    run(&format!("CREATE STANDING QUERY theirs FOR TENANT small AS {closure}")).unwrap();
    run(&format!("CREATE STANDING QUERY others AS {closure}")).unwrap();
    let listed = "SHOW STANDING QUERIES YIELD name, bytes, state, failure RETURN name, bytes, state, failure ORDER BY name";
    let rows = run(listed).unwrap();
    assert!(rows.iter().all(|row| (1..4 << 20).contains(&row[1].as_int().unwrap())), "{rows:?}");
    let pairs = || {
        let query = database.standing().into_iter().find(|query| query.name == "others");
        query.map(|query| (query.rows, query.commit_version))
    };
    // One chain of 300, then a circle of 300: 90,000 pairs.
    run("MATCH (a:P), (b:P) WHERE b.i = a.i + 1 AND a.i % 50 = 0 CREATE (a)-[:NEXT]->(b)").unwrap();
    run("MATCH (a:P {i: 300}), (b:P {i: 1}) CREATE (a)-[:NEXT]->(b)").unwrap();
    let commit_version = database.snapshot().commit_version();
    let subscription = database.subscribe("others", &Params::new(), None, false).unwrap();
    while pairs() != Some((90_000, commit_version)) {
        subscription.next(Duration::from_secs(120)).unwrap();
    }
    let rows = run(listed).unwrap();
    let failure = rows[1][3].as_str().unwrap_or_default();
    assert!(failure.contains("memory of the tenant"), "{rows:?}");
    assert_eq!((rows[0][2].as_str(), rows[1][1].as_int()), (Some("running"), Some(0)));
    let refused = run(&format!("CREATE STANDING QUERY more FOR TENANT small AS {closure}")).unwrap_err();
    assert!(refused.message.contains("memory of the tenant"), "{refused:?}");
}

/// Arguments for which there is no room are an error to who gives them, not a reader that is never told anything.
#[test]
fn arguments_without_room_are_refused() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    let mut run = |text: &str| session.query(text, Params::new()).and_then(|result| result.rows());
    run("CREATE TENANT small SET MEMORY '2MB'").unwrap();
    run("UNWIND range(1, 400) AS i CREATE (:P {i: i})").unwrap();
    run("MATCH (a:P), (b:P) WHERE b.i = a.i + 1 CREATE (a)-[:NEXT]->(b)").unwrap();
    run("CREATE STANDING QUERY theirs FOR TENANT small AS DATALOG {
        tc(a, b) :- P.i(a, i), i <= $n, NEXT(a, b). tc(a, c) :- tc(a, b), NEXT(b, c). ?- tc(a, b). }")
    .unwrap();
    let upto = |n: i64| params! { "n" => n };
    let mut reader = Reader::new(&database, "theirs", &upto(3));
    let refused = database.subscribe("theirs", &upto(400), None, true).map(drop).unwrap_err();
    assert!(refused.message.contains("memory of the tenant"), "{refused:?}");
    // Whoever read before is told as before.
    run("MATCH (a:P {i: 10}), (b:P {i: 1}) CREATE (b)-[:NEXT]->(a)").unwrap();
    reader.read_to(database.snapshot().commit_version());
    let theirs = expected(
        &mut session,
        "MATCH (a:P)-[:NEXT*]->(b) WHERE a.i <= 3 RETURN DISTINCT a, b",
        Params::new(),
    );
    assert_eq!(reader.rows, theirs);
}

/// To Datalog `1` and `1.0` are two values, also where they are arguments.
#[test]
fn readers_of_one_and_of_one_point_nought_are_two() {
    let folder = TemporaryFolder::new("datalog-kinds").unwrap();
    let history = Some(tanglewood_database::History::Forever);
    let database =
        Database::open(folder.path(), Options { executors: Some(1), history, ..Options::default() }).unwrap();
    let mut session = database.session();
    let mut run = |text: &str| session.query(text, Params::new()).unwrap().rows().unwrap();
    run("CREATE (:P {x: 1, n: 'whole'}), (:P {x: 1.0, n: 'float'})");
    run("CREATE STANDING QUERY named AS DATALOG { named(n) :- P.x(a, $x), P.n(a, n). ?- named(n). }");
    run("CREATE STANDING QUERY held AS DATALOG { held(x) :- P.x(a, x), P.n(a, 'whole'). ?- held(x). }");
    let of = |x: Value| Reader::new(&database, "named", &params! { "x" => x });
    let commit_version = database.snapshot().commit_version();
    let (mut whole, mut float) = (of(Value::Int(1)), of(Value::Float(1.0)));
    let mut held = Reader::new(&database, "held", &Params::new());
    [&mut whole, &mut float, &mut held].into_iter().for_each(|reader| reader.read_to(commit_version));
    assert_eq!(whole.rows.keys().collect::<Vec<_>>(), [&shown(&Value::from("whole"))]);
    assert_eq!(float.rows.keys().collect::<Vec<_>>(), [&shown(&Value::from("float"))]);
    run("MATCH (p:P {n: 'whole'}) SET p.x = 1.0");
    let now = database.snapshot().commit_version();
    [&mut whole, &mut float, &mut held].into_iter().for_each(|reader| reader.read_to(now));
    assert_eq!((whole.rows.len(), float.rows.len()), (0, 2));
    assert_eq!(held.rows.keys().collect::<Vec<_>>(), [&shown(&Value::Float(1.0))]);
    // Of one whose arguments were not known then, the change is the difference of two answers.
    run("CREATE STANDING QUERY late AS DATALOG { late(x) :- P.x(a, x), P.n(a, $n). ?- late(x). }");
    let subscription =
        database.subscribe("late", &params! { "n" => "whole" }, Some(commit_version), false).unwrap();
    let mut late = Reader { subscription, rows: Rows::from([(shown(&Value::Int(1)), 1)]), commit_version };
    late.read_to(now);
    assert_eq!(late.rows.keys().collect::<Vec<_>>(), [&shown(&Value::Float(1.0))]);
}

/// One commit that changes many vertices is looked through once, not once for each value that is sought.
#[test]
fn many_changed_vertices_are_found_by_value() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    let mut run = |text: &str| session.query(text, Params::new()).unwrap().rows().unwrap();
    run("CREATE INDEX FOR (p:P) ON (p.x)");
    run("CREATE INDEX FOR (q:Q) ON (q.x)");
    run("UNWIND range(1, 4000) AS i CREATE (:P {x: i}), (:R {x: -i})");
    run("CREATE STANDING QUERY same AS DATALOG { same(x) :- P.x(a, x), Q.x(b, x). ?- same(x). }");
    let mut reader = Reader::new(&database, "same", &Params::new());
    run("MATCH (r:R) WITH collect(r) AS all UNWIND range(1, 4000) AS i CREATE (:Q {x: -i})");
    run("MATCH (r:R) SET r:P");
    reader.read_to(database.snapshot().commit_version());
    assert_eq!(reader.rows.len(), 4_000);
    run("MATCH (p:P) SET p.x = -p.x");
    run("MATCH (q:Q) WHERE q.x % 2 = 0 SET q.x = -q.x");
    reader.read_to(database.snapshot().commit_version());
    assert_eq!(reader.rows.len(), 4_000);
    run("MATCH (p:P) WHERE p.x < 0 REMOVE p:P");
    run("MATCH (q:Q) WHERE q.x > 3000 DELETE q");
    reader.read_to(database.snapshot().commit_version());
    assert_eq!(reader.rows.len(), 1_500);
}

/// Of two programs on one account that together have no room, neither ends the other.
#[test]
fn a_neighbour_on_the_account_ends_nobody() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    let mut run = |text: &str| session.query(text, Params::new()).and_then(|result| result.rows());
    run("CREATE TENANT small SET MEMORY '64MB'").unwrap();
    run("UNWIND range(1, 3000) AS i CREATE (:P {i: i})").unwrap();
    for name in ["one", "other"] {
        let text = "DATALOG { p(a, i) :- P.i(a, i). ?- p(a, i). }";
        run(&format!("CREATE STANDING QUERY {name} FOR TENANT small AS {text}")).unwrap();
    }
    let bytes = database.standing()[0].bytes;
    run(&format!("ALTER TENANT small SET MEMORY '{}KB'", bytes / 1_024 * 7 / 4)).unwrap();
    let mut readers = ["one", "other"].map(|name| Reader::new(&database, name, &Params::new()));
    run("UNWIND range(1, 600) AS i CREATE (:P {i: i})").unwrap();
    for reader in &mut readers {
        reader.read_to(database.snapshot().commit_version());
        assert_eq!(reader.rows.len(), 3_600);
    }
}

/// NaN is one value to a program, although an index finds none.
#[test]
fn what_equals_nothing_is_found_beside_an_index() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    let mut run = |text: &str| session.query(text, Params::new()).unwrap().rows().unwrap();
    run("CREATE INDEX FOR (p:P) ON (p.x)");
    run("CREATE INDEX FOR (q:Q) ON (q.x)");
    run("CREATE (:P {x: 0.0 / 0.0}), (:Q {x: 0.0 / 0.0}), (:Q {x: 0.0 / 0.0})");
    run("CREATE STANDING QUERY same AS DATALOG { same(a) :- P.x(a, x), Q.x(b, x). ?- same(a). }");
    let mut reader = Reader::new(&database, "same", &Params::new());
    for (change, count) in [
        ("MATCH (q:Q) WITH q LIMIT 1 DELETE q", 1),
        ("CREATE (:P {x: 0.0 / 0.0})", 2),
        ("MATCH (q:Q) DELETE q", 0),
        ("CREATE (:Q {x: 0.0 / 0.0})", 2),
    ] {
        run(change);
        reader.read_to(database.snapshot().commit_version());
        assert_eq!(reader.rows.len(), count, "{change}");
    }
}
