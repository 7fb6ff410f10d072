//! Work with one large value or one large batch in it, ended at every moment: between its first and its last step there is none that a
//! timeout has to wait for.
//!
//! Each text is carried out once to its end, then with a timeout at each of some moments of that time. What is late is one step of the
//! scheduler that is too long; the moment says which.

use super::{Took, is_quiet, options};
use std::time::{Duration, Instant};
use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, Error, Limits, MEMORY, Options, Params, Value, params};

/// What is asked, in Cypher or, behind `g.`, in Gremlin. `$list` has so many numbers as the test says, `$rows` as many maps.
const TEXTS: &[(&str, &str)] = &[
    ("unwind", "UNWIND $list AS x RETURN count(x) AS c"),
    ("unwind maps", "UNWIND $rows AS r RETURN sum(r.i) AS s"),
    ("create", "UNWIND $rows AS r CREATE (:W {i: r.i})"),
    ("merge", "UNWIND $rows AS r MERGE (w:W {i: r.i % 10})"),
    ("for each", "FOREACH (x IN $list | CREATE (:W {i: x}))"),
    ("batch", "UNWIND $list AS x CALL { WITH x CREATE (:W {i: x}) } IN TRANSACTIONS OF 100000000 ROWS"),
    (
        "batch that returns",
        "UNWIND $rows AS r CALL { WITH r CREATE (w:W {i: r.i}) RETURN w.i AS i } IN TRANSACTIONS OF 100000000 ROWS RETURN sum(i) AS s",
    ),
    (
        "concurrent batches",
        "UNWIND $list AS x CALL { WITH x CREATE (:W {i: x}) } IN 2 CONCURRENT TRANSACTIONS OF 100000000 ROWS",
    ),
    ("sum of lists", "RETURN size($list + $list) AS s"),
    ("equal lists", "RETURN $list = $list[0..-1] + 1 AS s"),
    ("list in lists", "RETURN $list IN [$list[1..], $list[2..]] AS s"),
    ("reverse", "RETURN size(reverse($list)) AS s"),
    ("sort", "UNWIND $list AS x WITH x ORDER BY -x % 1000003 RETURN collect(x)[0] AS s"),
    ("collect", "UNWIND $rows AS r RETURN size(collect(r)) AS s"),
    ("distinct", "UNWIND $list AS x RETURN size(collect(DISTINCT x * 7)) AS s"),
    ("group", "UNWIND $list AS x WITH x % 500009 AS k, count(*) AS c RETURN sum(c) AS s"),
    ("join", "UNWIND $list AS x UNWIND [y IN $list WHERE y = x] AS y RETURN count(*) AS c"),
    ("returned list", "RETURN $list AS l"),
    ("returned rows", "UNWIND $rows AS r RETURN r"),
    ("set", "UNWIND $list AS x CREATE (w:W) SET w = {i: x, j: x}"),
    ("delete", "MATCH (v:V) DETACH DELETE v"),
    ("index", "CREATE INDEX later FOR (v:V) ON (v.j)"),
    ("constraint", "CREATE CONSTRAINT later FOR (v:V) REQUIRE v.i IS UNIQUE"),
    ("text", "RETURN size(toUpper(reduce(s = 'ab', i IN range(1, 22) | s + s))) AS s"),
    ("split", "RETURN size(split(reduce(s = 'a,', i IN range(1, 19) | s + s), ',')) AS s"),
    ("datalog", "DATALOG { p(x) :- V.i(v, x). q(y) :- p(x), y = x + 1, !p(y). ?- q(y). }"),
    ("gremlin list", "g.inject(list).unfold().count()"),
    ("gremlin sort", "g.inject(list).order(Scope.local).by(Order.desc).count(Scope.local)"),
    ("gremlin dedup", "g.inject(list).dedup(Scope.local).count(Scope.local)"),
    ("gremlin fold", "g.inject(list).unfold().fold().count(Scope.local)"),
    ("gremlin group", "g.inject(list).unfold().groupCount().count(Scope.local)"),
    ("gremlin order", "g.inject(list).unfold().order().by(Order.desc).count()"),
    ("gremlin order by", "g.V().order().by('j', Order.desc).by('i').values('i').tail(5).sum()"),
    ("gremlin dedup of all", "g.inject(list).unfold().dedup().count()"),
    ("gremlin barrier", "g.inject(list).unfold().barrier().count()"),
    ("gremlin tail", "g.inject(list).unfold().tail(1000000).count()"),
    ("gremlin sample", "g.inject(list).unfold().sample(2).count()"),
    ("gremlin aggregate", "g.inject(list).unfold().aggregate('x').cap('x').count(Scope.local)"),
    ("gremlin group by", "g.V().group().by('j').by(count()).count(Scope.local)"),
    ("gremlin union", "g.inject(list).unfold().union(identity(), constant(1)).count()"),
    ("gremlin repeat", "g.inject(list).unfold().repeat(identity()).times(3).count()"),
    ("gremlin path of all", "g.V().as('a').out('R').path().by('i').fold().count(Scope.local)"),
    ("gremlin project", "g.V().project('i', 'j').by('i').by('j').fold().count(Scope.local)"),
    ("gremlin tree", "g.V().hasLabel('V').has('j', 7).out('R').tree().count(Scope.local)"),
    ("gremlin sum of a list", "g.inject(list).sum(Scope.local)"),
    ("gremlin combine", "g.inject(list).combine(list).count(Scope.local)"),
    ("gremlin intersect", "g.inject(list).intersect(list).count(Scope.local)"),
    ("gremlin difference", "g.inject(list).difference(list).count(Scope.local)"),
    ("gremlin reverse", "g.inject(list).reverse().count(Scope.local)"),
    ("gremlin index", "g.inject(list).index().unfold().count()"),
    ("gremlin add", "g.inject(list).unfold().addV('W').property('i', 1).count()"),
    ("gremlin path", "g.V().as('a').out('R').as('b').select('a', 'b').by('i').count()"),
];

/// The short form takes one of so many texts.
const SHARE: usize = 5;

fn database(count: i64) -> Database {
    let database = Database::open(MEMORY, Options { query_bytes_max: 4 << 30, ..options() }).unwrap();
    for text in [
        "UNWIND range(1, $n) AS i CREATE (:V {i: i, j: i % 1000})",
        "MATCH (v:V) WITH collect(v) AS vs UNWIND range(1, size(vs) - 1) AS i WITH vs[i - 1] AS a, vs[i] AS b CREATE (a)-[:R]->(b)",
    ] {
        database.session().query(text, params! { "n" => count / 4 }).unwrap().finish().unwrap();
    }
    database
}

fn ask(database: &Database, text: &str, params: &Params, timeout: Option<Duration>) -> Result<(), Error> {
    let mut session = database.session();
    if text.starts_with("g.") {
        let options = GremlinOptions { timeout, ..GremlinOptions::default() };
        let mut found = session.gremlin_text(text, params, &options)?;
        while found.next_objects()?.is_some() {}
        return Ok(());
    }
    let limits = Limits { timeout, bytes_max: None };
    session.query_within(text, params.clone(), &limits)?.rows().map(drop)
}

/// Ends each of the texts at so many moments; what each is late at most.
fn end_each<'t>(texts: impl Iterator<Item = &'t (&'static str, &'static str)>, count: i64, moments: u32) {
    let only = std::env::var("TANGLEWOOD_MATRIX_ONLY").ok();
    let mut took = Took::default();
    let rows = (0..count / 4).map(|i| Value::map([("i", Value::Int(i))])).collect();
    let (list, rows) = (Value::list((0..count).map(Value::Int).collect()), Value::list(rows));
    for (name, text) in texts.filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
        let params = match (text.contains("list"), text.contains("rows")) {
            (true, _) => params! { "list" => list.clone() },
            (_, true) => params! { "rows" => rows.clone() },
            _ => params! {},
        };
        let fresh = database(count);
        let began = Instant::now();
        let outcome = ask(&fresh, text, &params, Some(Duration::from_secs(5)));
        let whole = began.elapsed();
        drop(fresh);
        let database = database(count);
        let mut late = (Duration::ZERO, Duration::ZERO);
        for moment in 1..=moments {
            let timeout = whole * moment / (moments + 1);
            let began = Instant::now();
            let outcome = ask(&database, text, &params, Some(timeout));
            let after = began.elapsed().saturating_sub(timeout);
            late = late.max((after, timeout));
            match outcome {
                Err(error) => {
                    assert!(error.code.ends_with("TransactionTimedOut"), "{name} at {timeout:?}: {error:?}");
                }
                // It was made before its time was over: the next moment makes it again.
                Ok(()) if text.contains(" later ") => {
                    let kind = text.split(' ').nth(1).unwrap();
                    ask(&database, &format!("DROP {kind} later"), &Params::new(), None).unwrap();
                }
                Ok(()) => {}
            }
        }
        println!(
            "{name}: {whole:?} in all, at most {:?} late, at {:?}: {:?}",
            late.0,
            late.1,
            outcome.map_err(|error| error.code)
        );
        took.add(format!("{name} at {:?}", late.1), late.0);
        is_quiet(&database, name);
    }
}

#[test]
fn each_ends_at_any_moment() {
    // Some of them, others in each process.
    let first = std::process::id() as usize % SHARE;
    end_each(TEXTS.iter().skip(first).step_by(SHARE), 400, 1);
}

#[test]
#[ignore = "long: TANGLEWOOD_MATRIX_VALUES values (two million), fifteen moments of each text; some minutes in an optimised build"]
fn each_large_one_ends_at_any_moment() {
    let count = std::env::var("TANGLEWOOD_MATRIX_VALUES").ok().and_then(|text| text.parse().ok());
    end_each(TEXTS.iter(), count.unwrap_or(2_000_000), 15);
}
