//! What a program does with the library, from open to close.
#![allow(clippy::disallowed_methods)]

use std::time::Duration;
use tanglewood_database::{Database, Limits, MEMORY, Mode, Options, Params, Session, Value, params};

fn memory() -> Database {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap()
}

fn rows(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    session.query(text, Params::new()).unwrap_or_else(|error| panic!("{text}: {error}")).rows().unwrap()
}

fn ints(session: &mut Session, text: &str) -> Vec<i64> {
    rows(session, text).into_iter().map(|row| row[0].as_int().unwrap()).collect()
}

#[test]
fn what_is_written_is_read() {
    let database = memory();
    let mut session = database.session();
    let result = session
        .query(
            "CREATE (:Person {name: $name, age: 36})-[:KNOWS {since: 1833}]->(:Person {name: 'Charles'})",
            params! { "name" => "Ada" },
        )
        .unwrap();
    let counters = result.summary().counters;
    assert_eq!((counters.nodes_created, counters.relationships_created, counters.properties_set), (2, 1, 4));
    let found = rows(&mut session, "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.name, k.since, b.name");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0][0].as_str(), Some("Ada"));
    assert_eq!(found[0][1].as_int(), Some(1833));
    assert_eq!(found[0][2].as_str(), Some("Charles"));
    assert_eq!(ints(&mut session, "MATCH (n) RETURN count(*)"), [2]);
}

#[test]
fn clauses_see_what_earlier_clauses_wrote() {
    let database = memory();
    let mut session = database.session();
    assert_eq!(
        ints(
            &mut session,
            "UNWIND range(1, 5) AS i CREATE (n:N {i: i}) WITH count(*) AS c MATCH (n:N) WITH c, sum(n.i) AS s RETURN c + s"
        ),
        [20]
    );
    assert_eq!(
        ints(&mut session, "MATCH (n:N) SET n.i = n.i * 10 RETURN n.i ORDER BY n.i"),
        [10, 20, 30, 40, 50]
    );
    assert_eq!(ints(&mut session, "MERGE (n:N {i: 10}) MERGE (m:N {i: 7}) RETURN n.i + m.i"), [17]);
    assert_eq!(ints(&mut session, "MATCH (n:N) RETURN count(*)"), [6]);
    rows(&mut session, "MATCH (n:N {i: 7}) DETACH DELETE n");
    assert_eq!(ints(&mut session, "MATCH (n:N) RETURN count(*)"), [5]);
}

#[test]
fn explicit_transactions_are_isolated_until_commit() {
    let database = memory();
    let (mut writer, mut reader) = (database.session(), database.session());
    writer.begin(Mode::Write).unwrap();
    rows(&mut writer, "CREATE (:T)");
    assert_eq!(ints(&mut writer, "MATCH (n:T) RETURN count(*)"), [1]);
    assert_eq!(ints(&mut reader, "MATCH (n:T) RETURN count(*)"), [0]);
    writer.commit().unwrap();
    assert_eq!(ints(&mut reader, "MATCH (n:T) RETURN count(*)"), [1]);
    writer.begin(Mode::Write).unwrap();
    rows(&mut writer, "CREATE (:T)");
    writer.rollback().unwrap();
    assert_eq!(ints(&mut reader, "MATCH (n:T) RETURN count(*)"), [1]);
}

#[test]
fn concurrent_increments_are_all_counted() {
    let database = memory();
    database.session().query("CREATE (:Counter {n: 0})", Params::new()).unwrap();
    world::threads::in_parallel("increment", 4, |_| {
        let mut session = database.session();
        for _ in 0..25 {
            session.query("MATCH (c:Counter) SET c.n = c.n + 1", Params::new()).unwrap();
        }
    });
    assert_eq!(ints(&mut database.session(), "MATCH (c:Counter) RETURN c.n"), [100]);
}

#[test]
fn errors_carry_code_place_and_hint() {
    let database = memory();
    let mut session = database.session();
    let fails = |session: &mut Session, text: &str| match session.query(text, Params::new()) {
        Err(error) => error,
        Ok(result) => result.rows().map(|_| ()).expect_err(text),
    };
    let syntax = fails(&mut session, "MATCH (n) RETRUN n");
    assert_eq!(syntax.code, "Neo.ClientError.Statement.SyntaxError");
    assert!(syntax.excerpt.as_deref().unwrap().contains("^^^^^^"), "{syntax}");
    assert!(syntax.hint.as_deref().unwrap().contains("RETURN"), "{syntax}");
    assert_eq!(fails(&mut session, "RETURN $missing").code, "Neo.ClientError.Statement.ParameterMissing");
    assert_eq!(fails(&mut session, "RETURN 1 / 0").code, "Neo.ClientError.Statement.ArithmeticError");
    let connected = {
        rows(&mut session, "CREATE (:A)-[:R]->(:B)");
        fails(&mut session, "MATCH (a:A) DELETE a")
    };
    assert_eq!(connected.code, "Neo.ClientError.Schema.ConstraintValidationFailed");
    assert_eq!(ints(&mut session, "MATCH (n) RETURN count(*)"), [2], "a failed statement leaves nothing");
}

#[test]
fn constraints_hold_and_indexes_are_used() {
    let database = memory();
    let mut session = database.session();
    rows(&mut session, "UNWIND range(1, 2000) AS i CREATE (:P {id: i})");
    rows(&mut session, "CREATE CONSTRAINT p_id FOR (p:P) REQUIRE p.id IS UNIQUE");
    let explained = session.query("EXPLAIN MATCH (p:P {id: 7}) RETURN p", Params::new()).unwrap();
    assert!(explained.summary().plan_text.as_deref().unwrap().contains("SeekVertices"));
    let error = session.query("CREATE (:P {id: 7})", Params::new()).map(|_| ()).unwrap_err();
    assert_eq!(error.code, "Neo.ClientError.Schema.ConstraintValidationFailed");
    assert_eq!(ints(&mut session, "MATCH (p:P {id: 7}) RETURN count(*)"), [1]);
    let duplicates = session.query("CREATE (:Q {x: 1}), (:Q {x: 1})", Params::new()).and_then(|_| {
        session.query("CREATE CONSTRAINT FOR (q:Q) REQUIRE q.x IS UNIQUE", Params::new()).map(|_| ())
    });
    assert_eq!(duplicates.unwrap_err().code, "Neo.ClientError.Schema.ConstraintValidationFailed");
    assert_eq!(rows(&mut session, "SHOW CONSTRAINTS").len(), 1);
}

#[test]
fn runaway_queries_end() {
    let database = memory();
    let mut session = database.session();
    rows(&mut session, "UNWIND range(1, 3000) AS i CREATE (:X {i: i})");
    let endless = "MATCH (a:X), (b:X), (c:X) RETURN sum(a.i * b.i * c.i)";
    let limits = Limits { timeout: Some(Duration::from_millis(50)), bytes_max: None };
    let started = world::clock::monotonic_ns();
    let late =
        session.query_within(endless, Params::new(), &limits).and_then(|result| result.rows()).unwrap_err();
    assert_eq!(late.code, "Neo.ClientError.Transaction.TransactionTimedOut");
    assert!(world::clock::monotonic_ns() - started < 2_000_000_000);

    let hungry = "MATCH (a:X), (b:X) RETURN collect(a.i + b.i)";
    let limits = Limits { timeout: None, bytes_max: Some(4 << 20) };
    let fat =
        session.query_within(hungry, Params::new(), &limits).and_then(|result| result.rows()).unwrap_err();
    assert_eq!(fat.code, "Neo.TransientError.General.MemoryPoolOutOfMemoryError");

    let interrupter = session.interrupter();
    let killer = world::threads::spawn("killer", move || {
        world::threads::sleep(Duration::from_millis(50));
        interrupter.interrupt("enough");
    });
    let killed = session.query(endless, Params::new()).and_then(|result| result.rows()).unwrap_err();
    killer.join();
    assert_eq!(killed.code, "Neo.ClientError.Transaction.Terminated");
    session.settle_interrupt();
    assert_eq!(ints(&mut session, "RETURN 1"), [1]);
    assert!(database.running().is_empty());
}

#[test]
fn a_database_on_disk_comes_back() {
    let folder = world::files::TemporaryFolder::new("session").unwrap();
    let path = folder.path().join("db");
    {
        let database = Database::open(&path, Options::default()).unwrap();
        rows(&mut database.session(), "CREATE (:K {a: 1, b: 'x', c: [1, 2], d: date('2026-11-20')})");
        let again = Database::open(&path, Options::default()).map(|_| ()).unwrap_err();
        assert!(again.message.contains("already open"), "{again}");
        database.close().unwrap();
    }
    let database = Database::open(&path, Options { create: false, ..Options::default() }).unwrap();
    let found = rows(&mut database.session(), "MATCH (k:K) RETURN k.a, k.b, k.c, toString(k.d)");
    assert_eq!(found[0][3].as_str(), Some("2026-11-20"));
    let missing = Database::open(folder.path().join("none"), Options { create: false, ..Options::default() });
    assert!(missing.map(|_| ()).unwrap_err().hint.is_some());
}

/// A name is the client's: where it is too long, that is said as the client's error.
#[test]
fn names_have_at_most_so_many_bytes() {
    let database = memory();
    let mut session = database.session();
    let name = |length: usize| "n".repeat(length);
    for length in [store::NAME_BYTES_MAX - 1, store::NAME_BYTES_MAX] {
        let text = format!("CREATE (a:`{0}` {{`{0}`: 1}})-[r:`{0}`]->(a) RETURN size(type(r))", name(length));
        assert_eq!(ints(&mut session, &text), [length as i64]);
    }
    let name = name(store::NAME_BYTES_MAX + 1);
    for text in [
        format!("CREATE (a:`{name}`)"),
        format!("CREATE (a {{`{name}`: 1}})"),
        format!("CREATE (a)-[:`{name}`]->(a)"),
        format!("MATCH (a) SET a:`{name}`"),
        format!("MATCH (a) SET a.`{name}` = 1"),
        format!("MATCH (a) SET a += {{`{name}`: 1}}"),
        format!("MERGE (a:`{name}`)"),
        format!("CREATE INDEX FOR (a:`{name}`) ON (a.x)"),
    ] {
        let refused = session.query(&text, Params::new()).and_then(|result| result.rows()).unwrap_err();
        assert_eq!(refused.code, "Neo.ClientError.Statement.ArgumentError", "{}", &text[..40]);
        assert!(refused.hint.as_ref().is_some_and(|hint| hint.contains("65,535")), "{}", &text[..40]);
        assert!(refused.message.len() < 300);
    }
    assert_eq!(ints(&mut session, "MATCH (n) RETURN count(*)"), [2], "nothing was made");
}

/// What conflicts is called again; what fails, or panics, leaves nothing and the session free.
#[test]
fn a_transaction_as_a_function_is_whole_or_nothing_and_tried_again() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    database.session().query("CREATE (:C {n: 0})", Params::new()).unwrap().finish().unwrap();
    let (threads, times) = (4, 25);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut session = database.session();
                for _ in 0..times {
                    session
                        .transaction(|tx| {
                            let n = tx.query("MATCH (c:C) RETURN c.n", Params::new())?.single()?.as_int();
                            let next = Params::from([("n".into(), Value::from(n.unwrap_or(0) + 1))]);
                            tx.query("MATCH (c:C) SET c.n = $n", next)?.finish().map(drop)
                        })
                        .unwrap();
                }
            });
        }
    });
    let mut session = database.session();
    let count = |session: &mut Session| {
        session.query("MATCH (c:C) RETURN c.n", Params::new()).unwrap().single().unwrap().as_int().unwrap()
    };
    assert_eq!(count(&mut session), threads * times);
    let add = "MATCH (c:C) SET c.n = c.n + 1";
    let mut calls = 0;
    let error = session.transaction(|tx| {
        calls += 1;
        tx.query(add, Params::new())?.finish()?;
        tx.query("RETURN 1 / 0", Params::new())?.finish()
    });
    assert!(error.is_err() && calls == 1 && !session.in_transaction());
    // A failure that the function does not tell is told by the commit.
    let hidden = session.transaction(|tx| {
        tx.query(add, Params::new())?.finish()?;
        let _ = tx.query("RETURN nothing", Params::new());
        Ok(())
    });
    assert!(hidden.is_err() && !session.in_transaction());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        session.transaction(|tx| -> Result<(), tanglewood_database::Error> {
            tx.query(add, Params::new())?.finish()?;
            panic!("in the function")
        })
    }));
    assert!(panicked.is_err() && !session.in_transaction());
    assert_eq!(count(&mut session), threads * times);
    session.begin(Mode::Write).unwrap();
    assert!(session.transaction(|_| Ok(())).is_err());
    assert!(session.in_transaction(), "the one that was open stays open");
}

/// Values by the names of columns, as what they must be; what is wrong is told by name.
#[test]
fn rows_are_read_by_the_names_of_columns() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let mut session = database.session();
    let text = "CREATE p = (a:A:B {x: 1, y: 'z'})-[r:R {w: 1.5}]->(b) \
                RETURN a, r, p, [a] AS l, 2 AS i, 2.5 AS f, 'é' AS s, true AS t, null AS n, [1, 'q'] AS v, {k: 1} AS m";
    let mut rows = session.query(text, Params::new()).unwrap().records();
    let row = rows.next().unwrap().unwrap();
    assert!(rows.next().is_none() && rows.next().is_none());
    let node = row.as_node("a").unwrap();
    assert!(node.has_label("A") && node.has_label("B") && !node.has_label("C"));
    assert!(node.get("x").and_then(Value::as_int) == Some(1) && node.get("none").is_none());
    let edge = row.as_relationship("r").unwrap();
    assert_eq!(format!("{} {:?}", edge.edge_type, edge.get("w")), "R Some(Float(1.5))");
    let (nodes, edges) = row.as_path("p").unwrap();
    assert_eq!((nodes.len(), edges.len(), nodes[0].id), (2, 1, node.id));
    assert_eq!(
        (row.as_int("i").unwrap(), row.as_float("i").unwrap(), row.as_float("f").unwrap()),
        (2, 2.0, 2.5)
    );
    assert_eq!((row.as_str("s").unwrap(), row.as_bool("t").unwrap()), ("é", true));
    assert!(row.is_null("n").unwrap() && !row.is_null("i").unwrap());
    assert_eq!(format!("{:?}", row.as_list("v").unwrap()), "[Int(1), String(\"q\")]");
    assert!(matches!(row.as_value("m"), Ok(Value::Map(_))));
    let told =
        |error: tanglewood_database::Error| format!("{} {}", error.message, error.hint.unwrap_or_default());
    assert!(told(row.as_int("f").unwrap_err()).contains("`f` holds a float here, and no whole number"));
    assert!(told(row.as_str("n").unwrap_err()).contains("`n` holds a null"));
    assert!(told(row.as_value("a").unwrap_err()).contains("holds a node"));
    assert!(row.as_list("l").is_err() && row.as_bytes("s").is_err() && row.as_node("i").is_err());
    let missing = told(row.get("nope").unwrap_err());
    assert!(missing.contains("no column `nope`") && missing.contains("it has: a, r, p"), "{missing}");
    // An error is the last row.
    let mut rows = session.query("UNWIND [2, 1, 0] AS x RETURN 1 / x", Params::new()).unwrap().records();
    let got: Vec<bool> = rows.by_ref().map(|row| row.is_ok()).collect();
    assert_eq!((got.last(), rows.next().is_none()), (Some(&false), true));
}
