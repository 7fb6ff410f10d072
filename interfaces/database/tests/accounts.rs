//! The bytes charged to a query are those of the allocator: structure by structure, at several sizes.
//!
//! The most that a query holds is found from outside: the least budget with which it passes. It must be no less than nine tenths of
//! what the allocator gave beyond what was there before (less 64 KiB, for what is not worth an account), and no more than twice that.
//! A query runs once before it is measured, so that plans, statistics and ranks are there already.

use std::time::Duration;
use tanglewood_database::{Database, Limits, MEMORY, Options, Params, Session};

/// What may be held without a charge: stacks of operators, plans, messages.
const UNCHARGED_BYTES: u64 = 64 << 10;
/// A charge may be this many times what was given.
const CHARGED_TIMES_MAX: u64 = 2;
/// Budgets are searched to this precision.
const STEP_PERCENT: u64 = 4;

/// Rows of those structures that grow with rows.
const ROWS: u64 = 30_000;
/// Vertices of the graph: `(:P {i, name})`, ring edges `:R` and random-like edges `:S` with a weight.
const VERTICES: u64 = 10_000;

fn graph() -> Database {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let mut session = database.session();
    let texts = [
        format!(
            "UNWIND range(0, {}) AS i CREATE (:P {{i: i, g: i % 100, name: 'the name of number ' + toString(i)}})",
            VERTICES - 1
        ),
        "CREATE INDEX FOR (p:P) ON (p.i)".to_string(),
        format!("MATCH (a:P) MATCH (b:P {{i: (a.i + 1) % {VERTICES}}}) CREATE (a)-[:R]->(b)"),
        format!(
            "MATCH (a:P) UNWIND [7919, 104729] AS step MATCH (b:P {{i: (a.i * 31 + step) % {VERTICES}}}) CREATE (a)-[:S {{w: a.g + 1}}]->(b)"
        ),
    ];
    for text in texts {
        session.query(&text, Params::new()).unwrap().rows().unwrap();
    }
    database
}

/// Runs it and throws its rows away one by one; false if it passed its budget.
fn passes(session: &mut Session, text: &str, budget: Option<u64>) -> bool {
    let limits = Limits { bytes_max: budget, ..Limits::default() };
    let ended = session.query_within(text, Params::new(), &limits).and_then(|mut result| {
        while result.next_batch()?.is_some() {}
        Ok(())
    });
    match ended {
        Ok(()) => true,
        Err(error) if error.code.contains("Memory") => false,
        Err(error) => panic!("{text}: {error}"),
    }
}

/// Bytes held once executors have given back what the query before left them with.
fn settled() -> isize {
    loop {
        let held = heap::held();
        world::threads::sleep(Duration::from_millis(2));
        if heap::held() == held {
            return held;
        }
    }
}

/// Most bytes that the allocator gave while it ran, beyond what was there before.
fn given(session: &mut Session, text: &str) -> u64 {
    let before = settled();
    heap::restart_most();
    assert!(passes(session, text, None));
    u64::try_from(heap::most() - before).unwrap_or(0)
}

/// The least budget with which it passes, about.
fn charged(session: &mut Session, text: &str, given: u64) -> u64 {
    let (mut low, mut high) = (0, given.max(1 << 16) * 8);
    if !passes(session, text, Some(high)) {
        return u64::MAX;
    }
    while high - low > high * STEP_PERCENT / 100 {
        let middle = low + (high - low) / 2;
        if passes(session, text, Some(middle)) { high = middle } else { low = middle }
    }
    high
}

/// What is charged less than it should be today: of a hundred bytes given, so many at least are charged. Figures only rise, and a line
/// goes when its structure holds to the rule.
const KNOWN: [(&str, u64, &str); 11] = [
    ("groups by text", 85, "batches between the operators of a line"),
    ("count of distinct texts", 85, "batches between the operators of a line"),
    ("join by value", 0, "batches between the operators of a line"),
    ("product", 80, "batches between the operators of a line, one more where executors are busy"),
    ("list walked", 80, "batches between the operators of a line"),
    ("components", 60, "rows of a procedure on their way"),
    ("page rank", 45, "rows of a procedure on their way"),
    ("breadth-first search", 45, "rows of a procedure on their way"),
    ("distances by weight", 45, "rows of a procedure on their way"),
    ("ends within bounds", 20, "batches between the operators of a line"),
    ("triangles", 50, "lists of neighbours on their way"),
];

/// What is charged more often than twice today: a large value that two operators hold is one in memory, and counts for both.
const SHARED: [(&str, u64); 1] = [("collect of maps", 3)];

/// The least charge for so many bytes.
fn least(name: &str, given: u64) -> u64 {
    let percent = KNOWN.iter().find(|known| known.0 == name).map_or(90, |known| known.1);
    (given * percent / 100).saturating_sub(UNCHARGED_BYTES)
}

fn most(name: &str, given: u64) -> u64 {
    let times = SHARED.iter().find(|shared| shared.0 == name).map_or(CHARGED_TIMES_MAX, |shared| shared.1);
    given * times + UNCHARGED_BYTES
}

/// Each structure at one size: what is wrong with its charge.
fn check(database: &Database, cases: &[(&str, String)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, text) in cases {
        let mut session = database.session();
        passes(&mut session, text, None);
        // What an earlier query gives back late makes a run look smaller than it is.
        let given = (0..2).map(|_| given(&mut session, text)).max().unwrap_or(0);
        let (least, most) = (least(name, given), most(name, given));
        if least > 0 && passes(&mut session, text, Some(least)) {
            faults.push(format!("{name}: given {given} bytes, charged less than {least}\n   {text}"));
        }
        if !passes(&mut session, text, Some(most)) {
            faults.push(format!("{name}: given {given} bytes, charged more than {most}\n   {text}"));
        }
    }
    faults
}

/// Structures that grow with rows: name and text for so many of them.
fn of_rows(rows: u64) -> Vec<(&'static str, String)> {
    let texts = [
        ("sort of texts", "WITH 'text number ' + toString(i) AS s ORDER BY s SKIP 3 RETURN max(s)"),
        ("sort of numbers", "WITH i * 7919 % 10007 AS k, i ORDER BY k SKIP 3 RETURN max(i)"),
        ("top", "WITH 'text number ' + toString(i) AS s ORDER BY s LIMIT 3000 RETURN max(s)"),
        ("collect of numbers", "WITH collect(i) AS l RETURN size(l)"),
        ("collect of texts", "WITH collect('text number ' + toString(i)) AS l RETURN size(l)"),
        ("collect of maps", "WITH collect({a: i, b: [i, i]}) AS l RETURN size(l)"),
        ("groups by number", "WITH i AS k, count(*) AS c RETURN max(c)"),
        ("groups by text", "WITH 'text number ' + toString(i) AS k, count(*) AS c RETURN max(c)"),
        ("groups with lists", "WITH i % 500 AS k, collect(i) AS c RETURN max(size(c))"),
        ("distinct numbers", "WITH DISTINCT i AS k RETURN max(k)"),
        ("distinct texts", "WITH DISTINCT 'text number ' + toString(i) AS k RETURN max(k)"),
        ("count of distinct texts", "RETURN count(DISTINCT 'text number ' + toString(i))"),
        ("percentile", "RETURN percentileCont(i, 0.5)"),
    ];
    let unwound = |(name, text): (&'static str, &str)| (name, format!("UNWIND range(1, {rows}) AS i {text}"));
    let mut all: Vec<_> = texts.into_iter().map(unwound).collect();
    all.push((
        "list made at once",
        format!("WITH [i IN range(1, {rows}) | 'text ' + toString(i)] AS l RETURN size(l)"),
    ));
    all.push(("list walked", format!("WITH range(1, {rows}) AS l UNWIND l AS i RETURN sum(i)")));
    all.push(("reduce", format!("RETURN size(reduce(s = '', i IN range(1, {}) | s + 'abc'))", rows / 20)));
    let half = rows / 2;
    all.push((
        "union",
        format!("CALL {{ UNWIND range(1, {half}) AS i RETURN 'text ' + toString(i) AS s UNION UNWIND range(1, {half}) AS i RETURN 'text ' + toString(-i) AS s }} RETURN max(s)"),
    ));
    all
}

/// Structures that grow with the part of the graph that is asked.
fn of_graph(part: u64) -> Vec<(&'static str, String)> {
    [
        ("join by value", "MATCH (a:P) WHERE a.i < {n} MATCH (b:P) WHERE b.i < {n} AND b.i = a.i + 1 WITH a, b RETURN count(*)"),
        ("optional", "MATCH (a:P) WHERE a.i < {n} OPTIONAL MATCH (a)-[:S]->(b) WITH a, collect(b.name) AS c RETURN max(size(c))"),
        ("product", "MATCH (a:P) WHERE a.i < {n} MATCH (b:P {i: 3}) WITH a.name AS x, b.name AS y ORDER BY x SKIP 3 RETURN max(x)"),
        ("nodes sorted", "MATCH (a:P) WHERE a.i < {n} WITH a ORDER BY a.name SKIP 3 RETURN max(a.i)"),
        ("triangles", "MATCH (a:P)-[:S]->(b:P)-[:S]->(c:P), (a)-[:R]->(c) WHERE a.i < {n} RETURN count(*)"),
        ("ends within bounds", "MATCH (a:P) WHERE a.i < {n} / 50 MATCH (a)-[:S*1..4]->(b) RETURN count(DISTINCT b)"),
        ("reach", "MATCH (a:P {i: 0})-[:S|R*]->(b) RETURN count(DISTINCT b), {n}"),
        ("shortest path", "MATCH p = shortestPath((a:P {i: 0})-[:R*]-(b:P {i: {n} / 4})) RETURN length(p)"),
        ("shortest paths kept", "MATCH p = ANY SHORTEST (a:P {i: 0})-[:S|R]->+(b:P) WHERE b.i < {n} WITH collect(p) AS ps RETURN size(ps)"),
        ("breadth-first search", "MATCH (a:P {i: 0}) CALL graph.bfs({source: a}) YIELD node, distance RETURN max(distance), {n}"),
        ("components", "CALL graph.wcc({}) YIELD node, component RETURN count(DISTINCT component), {n}"),
        ("page rank", "CALL graph.pagerank({}) YIELD node, score RETURN max(score), {n}"),
        ("clustering", "CALL graph.lcc({}) YIELD node, coefficient RETURN max(coefficient), {n}"),
        ("labels", "CALL graph.cdlp({}) YIELD node, community RETURN count(DISTINCT community), {n}"),
        ("distances by weight", "MATCH (a:P {i: 0}) CALL graph.sssp({source: a, weight: 'w', types: 'S'}) YIELD node, distance RETURN max(distance), {n}"),
        ("rules", "DATALOG { next(x, y) :- R(x, y), P.i(x, i), i < {n}. two(x, z) :- next(x, y), next(y, z). ?- two(x, z). }"),
        ("rules with texts", "DATALOG { named(n, i) :- P.name(x, n), P.i(x, i), i < {n}. ?- named(n, i). }"),
    ]
    .map(|(name, text)| (name, text.replace("{n}", &part.to_string())))
    .to_vec()
}

#[test]
fn what_is_charged_is_what_was_given() {
    let _turn = heap::turn();
    let database = graph();
    let mut faults = Vec::new();
    faults.extend(check(&database, &of_rows(ROWS)));
    faults.extend(check(&database, &of_graph(VERTICES)));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The table that a reader of the accounts wants: what was given and what was charged.
#[test]
#[ignore = "soak: finds every charge to a few percent; TANGLEWOOD_CHARGE_ROWS takes one number of rows"]
fn every_charge() {
    let _turn = heap::turn();
    let database = graph();
    let asked = std::env::var("TANGLEWOOD_CHARGE_ROWS").map(|rows| vec![rows.parse().unwrap()]);
    let sizes = asked.unwrap_or(vec![1_000, 10_000, 100_000, 300_000]);
    let mut faults = Vec::new();
    for (name, text) in sizes.into_iter().flat_map(of_rows).chain(of_graph(VERTICES)) {
        let mut session = database.session();
        passes(&mut session, &text, None);
        // Where the machine is busy, a statement may be done in smaller parts than another time.
        let given = (0..4).map(|_| given(&mut session, &text)).max().unwrap_or(0);
        let charged = charged(&mut session, &text, given);
        println!(
            "{name}: given {given}, charged {charged}, {} %",
            charged.saturating_mul(100) / given.max(1)
        );
        if charged < least(name, given) || charged > most(name, given) {
            faults.push(format!("{name}: given {given}, charged {charged}\n   {text}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Bytes that the allocator gave for good.
fn kept(make: impl FnOnce()) -> u64 {
    let before = settled();
    make();
    u64::try_from(heap::held() - before).unwrap_or(0)
}

#[test]
fn what_a_standing_query_keeps_is_what_it_says() {
    let _turn = heap::turn();
    let database = graph();
    let mut faults = Vec::new();
    for (name, text) in [
        ("rows", "MATCH (p:P) WHERE p.i >= 0 RETURN p.name AS n"),
        ("distinct", "MATCH (p:P) RETURN DISTINCT p.name AS n"),
        ("groups", "MATCH (p:P) RETURN p.name AS n, count(*) AS c"),
        ("least and most", "MATCH (p:P) RETURN p.g AS g, min(p.name) AS a, max(p.name) AS b"),
        ("lists", "MATCH (p:P) RETURN p.g AS g, collect(p.name) AS names"),
        ("in order", "MATCH (p:P) RETURN p.name AS n ORDER BY n LIMIT 10"),
        (
            "optional",
            "MATCH (p:P) OPTIONAL MATCH (p)-[:S]->(q) WITH p, count(q) AS c RETURN c, count(*) AS n",
        ),
        ("distances", "MATCH (a:P {i: 0})-[:R|S*]->(b) RETURN count(DISTINCT b) AS c"),
        (
            "rules",
            "DATALOG { two(x, z) :- R(x, y), R(y, z). named(n) :- two(x, z), P.name(z, n). ?- named(n). }",
        ),
        ("recursive rules", "DATALOG { r(y) :- P.i(x, 0), S(x, y). r(z) :- r(y), S(y, z). ?- r(z). }"),
    ] {
        let read = |name: &str| {
            let subscription = database.subscribe(name, &Params::new(), None, true).unwrap();
            drop(subscription);
            database.standing().into_iter().find(|standing| standing.name == *name).unwrap()
        };
        // Once, so that what the graph keeps of itself is there.
        database.create_standing("warm", text).unwrap();
        read("warm");
        database.drop_standing("warm").unwrap();
        let mut bytes = 0;
        let given = kept(|| {
            database.create_standing(name, text).unwrap();
            bytes = read(name).bytes as u64;
        });
        println!("standing, {name}: given {given}, says {bytes}");
        if bytes < least(&format!("standing, {name}"), given) || bytes > most(name, given) {
            faults.push(format!("{name}: given {given} bytes, says {bytes}\n   {text}"));
        }
        database.drop_standing(name).unwrap();
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
