//! A commit of many values is listed, and ended by KILL, TERMINATE, its timeout, its client and its tenant, until its record is on its way into
//! the log; nothing of it is there then, and the next one finds the database whole.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::{Database, Error, Limits, MEMORY, Mode, Options, Session, Value, params};

/// Most that may pass after the end was wanted: an unoptimised build beside other tests. 20 ms are meant.
const LATE_MAX: Duration = Duration::from_secs(2);

/// Values that share one list; encoding them takes the better part of a second at least.
const COPIES: i64 = 300;

fn open() -> Database {
    let options = Options { executors: Some(2), query_bytes_max: 64 << 30, ..Options::default() };
    Database::open(MEMORY, options).unwrap()
}

/// Writes the lists in the transaction that is open, or in one of their own.
fn write(session: &mut Session, copies: i64, limits: &Limits) -> Result<(), Error> {
    let list = Value::list((0..200_000).map(Value::Int).collect());
    let text = "UNWIND range(1, $n) AS x CREATE (s:Shared) SET s.v = $list";
    session.query_within(text, params! { "n" => copies, "list" => list }, limits)?.finish().map(drop)
}

fn written(session: &mut Session) -> i64 {
    let rows = session.query("MATCH (s:Shared) RETURN count(s)", params! {}).unwrap().rows().unwrap();
    rows[0][0].as_int().unwrap()
}

/// The number of the query that stands for the commit, once it is listed.
fn listed(session: &mut Session, column: &str, list: &str) -> String {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(60), "the commit is never listed");
        let text = format!("SHOW {list}");
        let result = session.query(&text, params! {}).unwrap();
        let columns = result.columns().to_vec();
        let at = |name: &str| columns.iter().position(|column| &**column == name).unwrap();
        let (id, query) = (at(column), at(if list == "QUERIES" { "query" } else { "currentQuery" }));
        let rows = result.rows().unwrap();
        if let Some(row) = rows.iter().find(|row| row[query].as_str() == Some("COMMIT")) {
            return row[id].as_str().unwrap().to_string();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Commits the lists, lets `end` end that from another thread, and tells the code it ended with.
fn ended(end: impl FnOnce(&Database, &tanglewood_database::Interrupter)) -> String {
    let database = open();
    let mut session = database.session();
    let interrupter = session.interrupter();
    session.begin(Mode::Write).unwrap();
    write(&mut session, COPIES, &Limits::default()).unwrap();
    let committing = std::thread::spawn(move || {
        let code = session.commit().err().map(|error| error.code);
        (code, Instant::now())
    });
    end(&database, &interrupter);
    let wanted = Instant::now();
    let (code, at) = committing.join().unwrap();
    let late = at.saturating_duration_since(wanted);
    assert!(late < LATE_MAX, "it ended {late:?} after that was wanted");
    let mut other = database.session();
    assert_eq!(written(&mut other), 0);
    write(&mut other, 2, &Limits::default()).unwrap();
    assert_eq!(written(&mut other), 2);
    code.expect("the commit was ended")
}

#[test]
fn a_long_commit_is_listed_and_killed() {
    let code = ended(|database, _| {
        let mut other = database.session();
        let id = listed(&mut other, "queryId", "QUERIES");
        other.query(&format!("KILL QUERY '{id}'"), params! {}).unwrap();
    });
    assert_eq!(code, "Neo.ClientError.Transaction.Terminated");
}

#[test]
fn a_long_commit_ends_with_its_transaction() {
    let code = ended(|database, _| {
        let mut other = database.session();
        let id = listed(&mut other, "transactionId", "TRANSACTIONS");
        other.query(&format!("TERMINATE TRANSACTION '{id}'"), params! {}).unwrap();
    });
    assert_eq!(code, "Neo.ClientError.Transaction.Terminated");
}

#[test]
fn a_long_commit_ends_with_its_client() {
    let code = ended(|database, interrupter| {
        listed(&mut database.session(), "queryId", "QUERIES");
        interrupter.close();
    });
    assert_eq!(code, "Neo.ClientError.Transaction.Terminated");
}

#[test]
fn a_long_commit_ends_with_its_time_and_others_need_not_wait_for_it() {
    let database = open();
    let mut session = database.session();
    session.begin(Mode::Write).unwrap();
    write(&mut session, COPIES, &Limits::default()).unwrap();
    let committing = std::thread::spawn(move || session.commit().err().map(|error| error.code));
    let mut other = database.session();
    let id = listed(&mut other, "queryId", "QUERIES");
    std::thread::sleep(Duration::from_millis(50));
    let mut third = database.session();
    let limits = Limits { timeout: Some(Duration::from_millis(100)), bytes_max: None };
    let began = Instant::now();
    let error =
        third.query_within("CREATE (:Beside)", params! {}, &limits).and_then(|result| result.finish());
    assert_eq!(error.unwrap_err().code, "Neo.ClientError.Transaction.TransactionTimedOut");
    assert!(began.elapsed() < LATE_MAX, "{:?}", began.elapsed());
    other.query(&format!("KILL QUERY '{id}'"), params! {}).unwrap();
    assert_eq!(committing.join().unwrap().as_deref(), Some("Neo.ClientError.Transaction.Terminated"));

    let (wrote, time) = (Instant::now(), Duration::from_millis(200));
    let mut session = database.session();
    session.begin_within(Mode::Write, Some(time)).unwrap();
    // On a slow machine its time is over before.
    let outcome = write(&mut session, COPIES, &Limits::default()).and_then(|()| session.commit());
    assert_eq!(outcome.unwrap_err().code, "Neo.ClientError.Transaction.TransactionTimedOut");
    assert!(wrote.elapsed() < time + LATE_MAX, "{:?}", wrote.elapsed());
    assert_eq!(written(&mut other), 0);
}

#[test]
fn what_a_transaction_writes_counts_for_its_whole_life() {
    let database = open();
    let list = Value::list((0..1_000).map(Value::Int).collect());
    let text = "CREATE (s:Shared {v: $list})";
    for (count, fits) in [(99, true), (100, true), (101, false), (200, false)] {
        let mut session = database.session();
        session.set_limits(Limits { timeout: None, bytes_max: Some(100 * list.heap_bytes() as u64) });
        session.begin(Mode::Write).unwrap();
        let outcomes: Vec<Result<(), Error>> = (0..count)
            .map(|_| session.query(text, params! { "list" => list.clone() })?.finish().map(drop))
            .collect();
        assert_eq!(outcomes.iter().all(Result::is_ok), fits, "{count}");
        assert_eq!(session.commit().is_ok(), fits, "{count}");
        assert_eq!(written(&mut database.session()), if fits { count } else { 0 }, "{count}");
        database.session().query("MATCH (s:Shared) DELETE s", params! {}).unwrap().finish().unwrap();
    }
}

#[test]
fn what_a_traversal_writes_counts_in_full() {
    let database = open();
    let list = Value::list((0..1_000).map(Value::Int).collect());
    let options = tanglewood_database::gremlin::GremlinOptions::default();
    for explicit in [false, true] {
        // What Gremlin keeps of a list is a little larger than the list.
        for (count, fits) in [(90_i64, true), (95, true), (101, false), (1_000, false)] {
            let mut session = database.session();
            session.set_limits(Limits { timeout: None, bytes_max: Some(100 * list.heap_bytes() as u64) });
            if explicit {
                session.begin(Mode::Write).unwrap();
            }
            let text = "g.inject(0).repeat(__.addV('Shared').property(Cardinality.single, 'v', list)).times(n).iterate()";
            let params = params! { "n" => count, "list" => list.clone() };
            let outcome = session.gremlin_text(text, &params, &options).and_then(|mut rows| {
                while rows.next_objects()?.is_some() {}
                Ok(())
            });
            if let Err(error) = &outcome {
                assert!(!fits && error.code.ends_with("MemoryPoolOutOfMemoryError"), "{count}: {error:?}");
            }
            assert_eq!(outcome.is_ok(), fits, "{count}");
            if explicit {
                assert_eq!(session.commit().is_ok(), fits, "{count}");
            }
            assert_eq!(written(&mut database.session()), if fits { count } else { 0 }, "{count}");
            database.session().query("MATCH (s:Shared) DELETE s", params! {}).unwrap().finish().unwrap();
        }
    }
}
