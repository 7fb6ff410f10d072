//! A program's use of the library, from open to close.
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

/// Async sessions, polled by the smallest executor there is.
mod async_sessions {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};
    use std::task::{Context, Poll, Wake, Waker};
    use std::time::Duration;
    use tanglewood_database::{ASYNC_CALLS_MAX, Database, Error, MEMORY, Mode, Options, params};

    const ENDLESS: &str = "UNWIND range(1, 100000) AS x UNWIND range(1, 1000000) AS y RETURN count(*)";
    const A_MINUTE: Duration = Duration::from_secs(60);

    struct Bell(Sender<()>);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let (sender, bell) = channel();
        let waker = Waker::from(Arc::new(Bell(sender)));
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => bell.recv_timeout(A_MINUTE).expect("the future goes on within a minute"),
            }
        }
    }

    fn database() -> Database {
        Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap()
    }

    #[test]
    fn statements_rows_and_transactions_are_awaited() {
        let database = database();
        let session = database.async_session().unwrap();
        block_on(async {
            session.query("UNWIND range(1, 5000) AS x CREATE (:N {x: x})", params! {}).await?;
            let mut rows = session.query("MATCH (n:N) RETURN n.x AS x ORDER BY x", params! {}).await?;
            assert_eq!(rows.columns().iter().map(|column| &**column).collect::<Vec<_>>(), ["x"]);
            assert_eq!(rows.next().await?.unwrap().as_int("x")?, 1);
            // Whoever has seen enough drops the rest.
            drop(rows);
            let rows =
                session.query("MATCH (n:N) RETURN n.x AS x ORDER BY x", params! {}).await?.rows().await?;
            let sum: i64 = rows.iter().map(|row| row.as_int("x").unwrap()).sum();
            assert_eq!((rows.len(), sum), (5000, 12_502_500));
            let made = session.transaction(|tx| {
                tx.query("CREATE (:M)", params! {})?;
                tx.query("MATCH (m:M) RETURN count(m)", params! {})?.single()
            });
            assert_eq!(made.await?.as_int(), Some(1));
            session.begin(Mode::Write).await?;
            session.query("CREATE (:M)", params! {}).await?;
            session.rollback().await?;
            let failed = session.transaction(|tx| -> Result<(), Error> {
                tx.query("CREATE (:M)", params! {})?;
                Err(Error::new("Test.Wanted", "no"))
            });
            assert_eq!(&*failed.await.unwrap_err().code, "Test.Wanted");
            let count = session.query("MATCH (m:M) RETURN count(m) AS c", params! {}).await?.rows().await?;
            assert_eq!(count[0].as_int("c")?, 1);
            assert!(session.query("RETUR 1", params! {}).await.is_err());
            Ok::<(), Error>(())
        })
        .unwrap();
    }

    #[test]
    fn a_read_that_is_given_up_loses_no_row() {
        let session = database().async_session().unwrap();
        block_on(async {
            let mut rows = session.query("UNWIND range(1, 5000) AS x RETURN x", params! {}).await.unwrap();
            let (mut found, mut given_up) = (Vec::new(), 0);
            loop {
                let once = pin!(rows.next()).poll(&mut Context::from_waker(Waker::noop()));
                let row = match once {
                    Poll::Ready(row) => row,
                    Poll::Pending => {
                        given_up += 1;
                        rows.next().await
                    }
                };
                match row.unwrap() {
                    Some(row) => found.push(row.as_int("x").unwrap()),
                    None => break,
                }
            }
            assert_eq!(found, (1..=5000).collect::<Vec<i64>>());
            assert!(given_up > 0);
        });
    }

    #[test]
    fn a_call_that_is_dropped_ends_and_none_after_it() {
        let database = database();
        let session = database.async_session().unwrap();
        for _ in 0..20 {
            let (begun, begins) = channel();
            let call = session.call(move |session| {
                begun.send(()).unwrap();
                session.query(ENDLESS, params! {})?.finish()
            });
            let never = session.query("CREATE (:Never)", params! {});
            begins.recv_timeout(A_MINUTE).unwrap();
            drop(never);
            drop(call);
            let rows = block_on(async { session.query("RETURN 1 AS one", params! {}).await?.rows().await });
            assert_eq!(rows.unwrap()[0].as_int("one").unwrap(), 1);
        }
        let count = database.session().query("MATCH (n) RETURN count(n)", params! {}).unwrap().single();
        assert_eq!(count.unwrap().as_int(), Some(0));
        // The last handle ends what runs, and its thread.
        let (begun, begins) = channel();
        let call = session.call(move |session| {
            begun.send(()).unwrap();
            session.query(ENDLESS, params! {})?.finish()
        });
        begins.recv_timeout(A_MINUTE).unwrap();
        drop(session);
        drop(call);
    }

    #[test]
    fn calls_that_wait_have_a_limit_and_a_panic_is_an_error() {
        let session = database().async_session().unwrap();
        let (go, goes) = channel::<()>();
        let (begun, begins) = channel();
        let first = session.call(move |_| {
            begun.send(()).unwrap();
            goes.recv().map_err(|_| Error::new("Test.Gone", "gone"))
        });
        begins.recv_timeout(A_MINUTE).unwrap();
        let waiting: Vec<_> = (0..ASYNC_CALLS_MAX).map(|at| session.call(move |_| Ok(at))).collect();
        let refused = block_on(session.call(|_| Ok(()))).unwrap_err();
        assert!(refused.code.ends_with("TooManyCalls") && refused.hint.is_some(), "{refused}");
        go.send(()).unwrap();
        block_on(first).unwrap();
        for (at, call) in waiting.into_iter().enumerate() {
            assert_eq!(block_on(call).unwrap(), at);
        }
        let panicked = block_on(session.call(|_| -> Result<(), Error> { panic!("on purpose") })).unwrap_err();
        assert!(panicked.to_string().contains("on purpose"), "{panicked}");
        assert_eq!(block_on(session.call(|_| Ok(7))).unwrap(), 7);
    }
}

/// Drivers begin a transaction for every statement that they are given, also for one about an index.
#[test]
fn indexes_and_constraints_of_a_transaction_are_made_by_its_commit() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let mut session = database.session();
    let mut count = {
        let mut other = database.session();
        move || {
            let rows =
                other.query("SHOW INDEXES YIELD name RETURN count(*)", params! {}).unwrap().rows().unwrap();
            rows[0][0].as_int().unwrap()
        }
    };
    let run = |session: &mut Session, text: &str| {
        session.query(text, params! {}).and_then(|found| found.rows()).map(drop)
    };
    session.begin(Mode::Write).unwrap();
    run(&mut session, "CREATE INDEX a FOR (n:A) ON (n.x)").unwrap();
    assert_eq!(count(), 0);
    session.rollback().unwrap();
    assert_eq!(count(), 0);
    session.begin(Mode::Write).unwrap();
    run(&mut session, "CREATE INDEX a FOR (n:A) ON (n.x)").unwrap();
    run(&mut session, "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.y IS UNIQUE").unwrap();
    run(&mut session, "MATCH (n) RETURN n").unwrap();
    let forbidden = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
    assert_eq!(run(&mut session, "CREATE (:A)").unwrap_err().code, forbidden);
    session.rollback().unwrap();
    session.begin(Mode::Write).unwrap();
    run(&mut session, "CREATE INDEX a FOR (n:A) ON (n.x)").unwrap();
    run(&mut session, "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.y IS UNIQUE").unwrap();
    session.commit().unwrap();
    assert_eq!(count(), 2);
    // The first that fails ends the commit; a transaction that reads or has written has none.
    session.begin(Mode::Write).unwrap();
    run(&mut session, "CREATE INDEX b FOR (n:B) ON (n.x)").unwrap();
    run(&mut session, "CREATE INDEX a FOR (n:C) ON (n.x)").unwrap();
    assert!(session.commit().unwrap_err().code.contains("Schema"));
    assert_eq!((count(), session.in_transaction()), (3, false));
    session.begin(Mode::Write).unwrap();
    run(&mut session, "CREATE (:A)").unwrap();
    assert_eq!(run(&mut session, "DROP INDEX b").unwrap_err().code, forbidden);
    session.rollback().unwrap();
    session.begin(Mode::Read).unwrap();
    assert!(run(&mut session, "DROP INDEX b").is_err());
    session.rollback().unwrap();
}
