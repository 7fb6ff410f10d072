//! Work inside one expression is ended by a timeout, by a kill, by the end of the client and by the memory budget, as any other work is.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use model::Value;
use std::time::{Duration, Instant};
use tanglewood_database::{Database, Limits, MEMORY, Options, params};

/// Expressions that would take minutes, each in another loop.
const ENDLESS: [&str; 22] = [
    "RETURN size([x IN range(1,1000) | size([y IN range(1,1000000) | x*y])])",
    "RETURN reduce(s=0, x IN range(1,10000) | s + size([y IN range(1,1000000) | x*y]))",
    "RETURN all(x IN range(1,10000) WHERE size([y IN range(1,1000000) | x*y]) > 0)",
    "RETURN any(x IN range(1,10000) WHERE size([y IN range(1,1000000) | x*y]) = 0)",
    "RETURN none(x IN range(1,10000) WHERE size([y IN range(1,1000000) | x*y]) = 0)",
    "RETURN single(x IN range(1,10000) WHERE size([y IN range(1,1000000) | x*y]) = 1)",
    "UNWIND range(1,1000000) AS x RETURN sum(size(range(1,1000000+x)))",
    "WITH reduce(s='a,', i IN range(1,20) | s+s) AS s UNWIND range(1,100000) AS x RETURN sum(size(split(s+x, ',')))",
    "WITH reduce(s='a,', i IN range(1,20) | s+s) AS s UNWIND range(1,100000) AS x RETURN sum(size(replace(s, 'a', x+'')))",
    "WITH reduce(s='ab', i IN range(1,20) | s+s) AS s UNWIND range(1,100000) AS x RETURN count(s =~ ('(a|b)*c' + x))",
    "WITH reduce(s='ab', i IN range(1,20) | s+s) AS s UNWIND range(1,100000) AS x RETURN count(s CONTAINS ('c' + x))",
    "WITH range(1,1000000) AS l UNWIND range(1,100000) AS x RETURN count(l = (l[1..] + x))",
    "WITH range(1,1000000) AS l UNWIND range(1,100000) AS x RETURN count((x+0.5) IN reverse(l))",
    // A tree of sixteen million lists, in the memory of 24.
    "UNWIND [1,1] AS x RETURN DISTINCT size(reduce(m=[x], i IN range(1,24) | [m,m])), reduce(m=[x], i IN range(1,24) | [m,m]) AS m",
    "UNWIND [1,1] AS x WITH reduce(m=[x], i IN range(1,24) | [m,m]) AS m RETURN count(DISTINCT m)",
    "UNWIND [1,1] AS x WITH reduce(m=[x], i IN range(1,24) | [m,m]) AS m RETURN m, count(*)",
    "UNWIND [1,1] AS x WITH reduce(m=[x], i IN range(1,24) | [m,m]) AS m WITH m ORDER BY m RETURN size(m)",
    "UNWIND [1,1] AS x WITH reduce(m=[x], i IN range(1,24) | [m,m]) AS m RETURN size(max(m))",
    "UNWIND [1] AS x WITH reduce(m=[x], i IN range(1,24) | [m,m]) AS m, reduce(m=[x], i IN range(1,24) | [m,m]) AS n RETURN m < n",
    "UNWIND [1] AS x WITH reduce(m=[x], i IN range(1,24) | [m,m]) AS m, reduce(m=[x], i IN range(1,24) | [m,m]) AS n RETURN m IN [n]",
    "UNWIND [1] AS x WITH reduce(m=[x], i IN range(1,24) | [m,m]) AS m, reduce(m=[x], i IN range(1,24) | [m,m]) AS n RETURN m = n",
    "MATCH (n) WHERE size([y IN range(1,100000000) WHERE y = n.x | y]) > 0 OR size([y IN range(1,10000) | size(range(1,1000000))]) > 0 RETURN n",
];

fn database() -> Database {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let made = database.session().query("UNWIND range(1, 10) AS x CREATE ({x: x})", params! {});
    made.unwrap().finish().unwrap();
    database
}

#[test]
fn a_timeout_ends_every_loop_inside_an_expression() {
    let database = database();
    for text in ENDLESS {
        // What is shared counts each time it is met: a tree counts as gigabytes, and takes none.
        let limits = Limits { timeout: Some(Duration::from_millis(100)), bytes_max: Some(64 << 30) };
        let began = Instant::now();
        let outcome =
            database.session().query_within(text, params! {}, &limits).and_then(|found| found.rows());
        let code = outcome.unwrap_err().code;
        assert!(code.ends_with("TransactionTimedOut") || code.ends_with("LimitExceeded"), "{text}: {code}");
        // An unoptimised build on a busy machine; 50 ms are meant.
        assert!(began.elapsed() < Duration::from_secs(2), "{text}: {:?}", began.elapsed());
    }
}

#[test]
fn the_budget_ends_every_expression_that_grows() {
    let growing = [
        "RETURN size([x IN range(1,1000) | [y IN range(1,100000) | x*y]])",
        "RETURN [x IN range(1,1000000) | toString(x) + '0123456789012345678901234567890123456789']",
        "RETURN reduce(s=[], x IN range(1,100) | s + range(1,100000))",
        "RETURN {a: range(1,1000000), b: range(1,1000000), c: range(1,1000000)}",
        "RETURN [range(1,1000000), range(1,1000000), range(1,1000000)]",
        "RETURN range(1,1000000) AS a, range(1,1000000) AS b, range(1,1000000) AS c",
        "UNWIND range(1,100) AS x RETURN range(x,x+100000) AS a",
        "UNWIND range(1,100) AS x RETURN collect(range(x,x+100000)) AS a",
        "UNWIND range(1,100) AS x WITH x ORDER BY range(x,x+100000) RETURN x",
        "UNWIND range(1,100) AS x RETURN DISTINCT range(x,x+100000)",
        "WITH reduce(s='ab', i IN range(1,20) | s+s) AS s RETURN split(s, 'b')",
        "WITH reduce(s='ab', i IN range(1,22) | s+s) AS s UNWIND range(1,100) AS x RETURN s + x",
        "RETURN reduce(m=[1,2], i IN range(1,60) | [m,m])",
        "RETURN reduce(m={a:1}, i IN range(1,60) | {a:m,b:m})",
    ];
    let database = database();
    for text in growing {
        let limits = Limits { timeout: Some(Duration::from_secs(60)), bytes_max: Some(32 << 20) };
        let outcome =
            database.session().query_within(text, params! {}, &limits).and_then(|found| found.rows());
        let code = outcome.map(|rows| rows.len()).unwrap_err().code;
        assert!(
            code.ends_with("MemoryPoolOutOfMemoryError") || code.ends_with("LimitExceeded"),
            "{text}: {code}"
        );
    }
}

#[test]
fn what_fits_the_budget_is_answered() {
    let database = database();
    let limits = Limits { timeout: Some(Duration::from_secs(60)), bytes_max: Some(64 << 20) };
    let fitting = [
        ("RETURN size([x IN range(1,300000) | x*2])", 300_000),
        ("RETURN reduce(s=0, x IN range(1,300000) | s + 1)", 300_000),
        ("RETURN reduce(s=0, x IN range(1,300) | s + size(range(1,10000)))", 3_000_000),
        ("UNWIND range(1,1000) AS x WITH x WHERE x IN range(1,20000) RETURN count(x)", 1_000),
        ("UNWIND range(1,1000) AS x RETURN sum(size([y IN range(1,100) WHERE y IN range(1,50)]))", 50_000),
        ("RETURN size(split(reduce(s='a,', i IN range(1,14) | s+s), ','))", 16_385),
    ];
    for (text, expected) in fitting {
        let rows = database.session().query_within(text, params! {}, &limits).unwrap().rows().unwrap();
        assert_eq!(rows[0][0].as_int(), Some(expected), "{text}");
    }
}

/// Ten thousand nodes with one list of a parameter took no memory until they were committed, and gigabytes and half a minute then, whatever the
/// budget and the timeout.
#[test]
fn what_changes_share_counts_in_full_before_it_is_committed() {
    let database = database();
    let list = Value::list((0..1_000).map(Value::Int).collect());
    let limits = Limits { timeout: None, bytes_max: Some(100 * list.heap_bytes() as u64) };
    for text in [
        "FOREACH (x IN range(1, $n) | CREATE (:Shared {v: $list}))",
        "UNWIND range(1, $n) AS x CREATE (s:Shared) SET s.v = $list",
        "MATCH (a {x: 1}), (b {x: 2}) FOREACH (x IN range(1, $n) | CREATE (a)-[:SHARED {v: $list}]->(b))",
        "MATCH (a {x: 1}), (b {x: 2}) UNWIND range(1, $n) AS x CREATE (a)-[s:SHARED]->(b) SET s = {v: $list}",
    ] {
        for (count, fits) in [(99_i64, true), (100, true), (101, false), (10_000, false)] {
            let mut session = database.session();
            let outcome = session
                .query_within(text, params! { "n" => count, "list" => list.clone() }, &limits)
                .and_then(|result| result.finish());
            match outcome {
                Ok(_) => assert!(fits, "{text}: {count}"),
                Err(error) => {
                    assert!(
                        !fits && error.code.ends_with("MemoryPoolOutOfMemoryError"),
                        "{count}: {error:?}"
                    );
                }
            }
            let mut read =
                |text: &str| session.query(text, params! {}).unwrap().rows().unwrap()[0][0].as_int().unwrap();
            let there =
                read("MATCH (s:Shared) RETURN count(s)") + read("MATCH ()-[s:SHARED]->() RETURN count(s)");
            assert_eq!(there, if fits { count } else { 0 }, "{text}");
            session.query("MATCH (s:Shared) DELETE s", params! {}).unwrap().finish().unwrap();
            session.query("MATCH ()-[s:SHARED]->() DELETE s", params! {}).unwrap().finish().unwrap();
        }
    }
}

#[test]
fn a_client_that_goes_away_ends_its_loops() {
    let database = database();
    for text in &ENDLESS[..3] {
        let mut result = database.session().query(text, params! {}).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let _ = &mut result;
        drop(result);
    }
    // Every executor is free again.
    let limits = Limits { timeout: Some(Duration::from_secs(5)), bytes_max: None };
    let rows = database.session().query_within("MATCH (n) RETURN count(n)", params! {}, &limits);
    assert_eq!(rows.unwrap().rows().unwrap()[0][0].as_int(), Some(10));
}

#[test]
fn values_of_any_nesting_are_answered_or_refused() {
    let database = database();
    for (text, answers) in [
        ("RETURN size(reduce(s=[1], i IN range(1,127) | [s]))", true),
        ("RETURN size(reduce(s=[1], i IN range(1,128) | [s]))", false),
        ("RETURN size(reduce(s=[1], i IN range(1,100000) | [s]))", false),
        ("RETURN reduce(s={a:1}, i IN range(1,100000) | {a:s})", false),
        ("WITH reduce(s=[1], i IN range(1,127) | [s]) AS s RETURN [s]", false),
        ("WITH reduce(s=[1], i IN range(1,127) | [s]) AS s RETURN collect(s)", false),
        ("WITH reduce(s=[1], i IN range(1,127) | [s]) AS s RETURN [1] + s", true),
        ("WITH reduce(s=[1], i IN range(1,127) | [s]) AS s RETURN [x IN [s] | x]", false),
        ("WITH {a: 1} AS m, reduce(s=[1], i IN range(1,127) | [s]) AS s RETURN m {.*, s: s}", false),
        ("WITH reduce(m=[1], i IN range(1,20) | [m,m]) AS m RETURN m = m", true),
    ] {
        let outcome = database.session().query(text, params! {}).and_then(|found| found.rows());
        match outcome {
            Ok(_) => assert!(answers, "{text}"),
            Err(error) => assert!(!answers && error.code.ends_with("LimitExceeded"), "{text}: {error}"),
        }
    }
}
