//! `CALL { … } IN TRANSACTIONS`: commits, kept rows, and reported rows.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use database::{Database, Error, Limits, MEMORY, Mode, Options, Params, Session, Value, params};
use std::collections::BTreeSet;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};
use tanglewood_database as database;

fn session() -> Session {
    Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap().session()
}

fn rows(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    session.query(text, Params::new()).unwrap().rows().unwrap()
}

fn count(session: &mut Session) -> i64 {
    rows(session, "MATCH (n:A) RETURN count(*)")[0][0].as_int().unwrap()
}

#[test]
fn each_batch_is_a_commit_and_what_follows_sees_all_rows() {
    let mut session = session();
    let before = session.database().snapshot().commit_version();
    let text = "UNWIND range(1, 10) AS i CALL (i) { CREATE (a:A {i: i}) RETURN a.i * 2 AS double } \
                IN TRANSACTIONS OF $size ROWS RETURN i, double ORDER BY i DESC LIMIT 2";
    let result = session.query(text, params! { "size" => 3 }).unwrap();
    assert_eq!(result.summary().counters.nodes_created, 10);
    let shown = format!("{:?}", result.rows().unwrap());
    assert_eq!(shown, format!("{:?}", [[10, 20], [9, 18]].map(|row| row.map(Value::Int))));
    assert_eq!(session.database().snapshot().commit_version() - before, 4);
    assert_eq!(count(&mut session), 10);
    rows(&mut session, "MATCH (a:A) CALL (a) { DETACH DELETE a } IN TRANSACTIONS");
    assert_eq!(count(&mut session), 0);
}

/// What stands before the clause knew no parameter: `UNWIND $rows AS row CALL …` was refused.
#[test]
fn every_part_knows_the_parameters() {
    let mut session = session();
    let list = Value::list((1..=3).map(Value::Int).collect());
    for (before, follows) in
        [("UNWIND $list AS i", 63), ("UNWIND $list AS j MATCH (n:N {i: j}) WITH n.i AS i", 63)]
    {
        rows(&mut session, "MATCH (n) DETACH DELETE n");
        rows(&mut session, "UNWIND range(1, 9) AS i CREATE (:N {i: i})");
        let text = format!(
            "{before} CALL (i) {{ CREATE (a:A {{i: i * $by}}) RETURN a.i AS made }} IN TRANSACTIONS OF $size ROWS \
             RETURN sum(made + $more) AS s"
        );
        let params = params! { "list" => list.clone(), "by" => 10, "size" => 2, "more" => 1 };
        let found = session.query(&text, params).unwrap().rows().unwrap();
        assert_eq!(found[0][0].as_int(), Some(follows), "{text}");
        assert_eq!(count(&mut session), 3);
    }
}

#[test]
fn a_failing_batch_fails_stops_or_is_passed_over() {
    let failing = "UNWIND [1, 2, 0, 3, 4] AS i CALL (i) { CREATE (a:A {x: 1 / i}) } IN TRANSACTIONS OF 1 ROW";
    let mut one = session();
    let error = one.query(failing, Params::new()).map(|_| ()).unwrap_err();
    assert!(error.code.contains("Statement.Arithmetic"), "{}", error.code);
    assert_eq!(count(&mut one), 2, "what was committed before stays");
    for (way, made, begun) in [("CONTINUE", 4, 5), ("BREAK", 2, 3)] {
        let mut session = session();
        let text = format!(
            "{failing} ON ERROR {way} REPORT STATUS AS s RETURN i, s.started, s.committed, s.errorMessage"
        );
        let told = rows(&mut session, &text);
        assert_eq!(told.len(), 5);
        assert_eq!(count(&mut session), made);
        assert_eq!(told.iter().filter(|row| row[1].as_bool() == Some(true)).count(), begun);
        assert_eq!(told.iter().filter(|row| row[2].as_bool() == Some(true)).count() as i64, made);
        assert!(told[2][3].as_str().unwrap().contains("zero"), "{:?}", told[2]);
    }
}

#[test]
fn inside_a_transaction_it_is_refused_and_reading_sessions_cannot() {
    let mut session = session();
    let text = "UNWIND [1] AS i CALL (i) { CREATE (:A) } IN TRANSACTIONS";
    let limits = database::Limits::default();
    let refused = session.query_reading(text, Params::new(), &limits).map(|_| ()).unwrap_err();
    assert_eq!(refused.code, "Neo.ClientError.Statement.AccessMode");
    session.begin(Mode::Write).unwrap();
    let refused = session.query(text, Params::new()).map(|_| ()).unwrap_err();
    assert_eq!(refused.code, "Neo.ClientError.Transaction.TransactionStartFailed");
    session.rollback().unwrap();
    assert_eq!(count(&mut session), 0);
}

/// Longer than this, and it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Endless, and most of its time no transaction is under way.
const ENDLESS: &str =
    "UNWIND range(1, 100000000) AS i CALL (i) { CREATE (:A {i: i}) } IN TRANSACTIONS OF $size ROWS";

fn database(executors: usize) -> Database {
    Database::open(MEMORY, Options { executors: Some(executors), ..Options::default() }).unwrap()
}

/// Runs it in a session of its own.
fn started(database: &Database, tenant: &str, size: i64, limits: Limits) -> JoinHandle<Result<(), Error>> {
    let mut session = database.session();
    session.set_tenant(tenant);
    spawn(move || {
        session
            .query_within(ENDLESS, params! { "size" => size }, &limits)
            .and_then(|found| found.finish())
            .map(drop)
    })
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn made(database: &Database) -> i64 {
    count(&mut database.session())
}

/// The error says how many rows were committed, and so many are there.
fn check_told(database: &Database, outcome: Result<(), Error>, code: &str) {
    let error = outcome.unwrap_err();
    assert!(error.code.ends_with(code), "{error:?}");
    let rows = made(database);
    let told = if rows == 1 { "staying: 1 row in".into() } else { format!("staying: {rows} rows in") };
    // What ended before its first row was read may have ended while it was planned.
    assert!(rows == 0 || error.message.contains(&told), "{rows} rows, and: {}", error.message);
}

/// Between its batches nothing was listed, and each batch was another query.
#[test]
fn it_is_one_query_from_beginning_to_end() {
    for (executors, size) in [(1, 1), (2, 1), (2, 1_000)] {
        let database = database(executors);
        let running = started(&database, "t", size, Limits::default());
        until("it is listed", || !database.running().is_empty());
        let (mut ids, mut cpu_ms, mut looks) = (BTreeSet::new(), 0, 0);
        let began = Instant::now();
        while looks < 2_000 || made(&database) < 5_000 {
            assert!(began.elapsed() < PATIENCE && !running.is_finished());
            let listed = database.running();
            // What asks how many there are may be listed too.
            let of_it: Vec<_> =
                listed.iter().filter(|query| query.text.contains("IN TRANSACTIONS")).collect();
            assert_eq!(of_it.len(), 1, "{listed:?}");
            ids.insert(of_it[0].id.clone());
            assert!(of_it[0].cpu_ms >= cpu_ms, "what its parts took is not forgotten");
            (cpu_ms, looks) = (of_it[0].cpu_ms, looks + 1);
        }
        assert_eq!(ids.len(), 1, "{ids:?}");
        let transactions = rows(&mut database.session(), "SHOW TRANSACTIONS YIELD currentQuery");
        let shown = transactions.iter().filter(|row| format!("{row:?}").contains("100000000")).count();
        assert_eq!(shown, 1, "{transactions:?}");
        assert!(database.kill(ids.first().unwrap(), "enough").unwrap());
        check_told(&database, running.join().unwrap(), "Transaction.Terminated");
        until("it is in no list", || database.running().is_empty());
    }
}

/// Every way in which a query ends ends it at any moment, and what was committed stays.
#[test]
fn it_is_ended_as_any_query_is() {
    for (size, after) in [(1, 0), (1, 300), (50, 1_000), (100_000_000, 0)] {
        let limits = Limits { bytes_max: Some(4 << 30), ..Limits::default() };
        let one = database(2);
        let running = started(&one, "t", size, limits.clone());
        until("it has begun", || !one.running().is_empty() && made(&one) >= after);
        assert!(one.kill(&one.running()[0].id, "enough").unwrap());
        check_told(&one, running.join().unwrap(), "Transaction.Terminated");

        let one = database(2);
        let timeout = Some(Duration::from_millis(300));
        let running = started(&one, "t", size, Limits { timeout, ..limits.clone() });
        check_told(&one, running.join().unwrap(), "Transaction.TransactionTimedOut");

        let one = database(2);
        rows(&mut one.session(), "CREATE TENANT t SET TIME '300ms'");
        let running = started(&one, "t", size, limits.clone());
        check_told(&one, running.join().unwrap(), "Transaction.TransactionTimedOut");

        // Its client is gone.
        let one = database(2);
        let mut session = one.session();
        let interrupter = session.interrupter();
        let own = limits.clone();
        let running = spawn(move || {
            session
                .query_within(ENDLESS, params! { "size" => size }, &own)
                .and_then(|found| found.finish())
                .map(drop)
        });
        until("it has begun", || !one.running().is_empty() && made(&one) >= after);
        interrupter.close();
        check_told(&one, running.join().unwrap(), "Transaction.Terminated");
    }
}

/// Its parts take no place of their own: one place is enough.
#[test]
fn it_takes_one_place_of_its_tenant() {
    let database = database(2);
    rows(&mut database.session(), "CREATE TENANT t SET CONCURRENT 1");
    let mut session = database.session();
    session.set_tenant("t");
    let text = "UNWIND range(1, 400) AS i CALL (i) { CREATE (a:A {i: i}) RETURN a.i AS x } IN TRANSACTIONS OF 3 ROWS RETURN sum(x)";
    assert_eq!(rows(&mut session, text)[0][0].as_int(), Some(400 * 401 / 2));
    rows(&mut session, "MATCH (n) DELETE n");
    // Who waits for the place waits for the whole.
    let running = started(&database, "t", 10, Limits::default());
    until("it has begun", || made(&database) > 500);
    let waiting = spawn(move || rows(&mut session, "PROFILE MATCH (n:A) RETURN count(n)"));
    until("the other waits", || database.running().iter().any(|query| !query.running));
    let whole = database.running().into_iter().find(|query| query.running).unwrap();
    assert!(database.kill(&whole.id, "enough").unwrap());
    check_told(&database, running.join().unwrap(), "Transaction.Terminated");
    assert!(waiting.join().unwrap()[0][0].as_int().unwrap() > 500);
}

/// Rows that wait for their batch, or for what follows, are on the account of the statement.
#[test]
fn what_it_keeps_is_charged_between_batches() {
    let database = database(2);
    rows(&mut database.session(), "CREATE TENANT t SET MEMORY '8MB'");
    let mut session = database.session();
    session.set_tenant("t");
    let kept = "UNWIND range(1, 100000) AS i CALL (i) { RETURN 'a text of some length ' + i AS x } IN TRANSACTIONS OF 100 ROWS RETURN count(x)";
    let error = session.query(kept, Params::new()).and_then(|found| found.rows()).unwrap_err();
    assert!(error.code.contains("Memory"), "{error:?}");
    assert!(database.running().is_empty());
    assert_eq!(rows(&mut session, "RETURN 7")[0][0].as_int(), Some(7), "and all of it is given back");
    let fits = kept.replace("100000", "1000");
    assert_eq!(rows(&mut session, &fits)[0][0].as_int(), Some(1_000));
}
