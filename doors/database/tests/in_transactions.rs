//! `CALL { … } IN TRANSACTIONS`: what is committed, what is kept, what is told.
#![allow(clippy::unwrap_used)]

use database::{Database, MEMORY, Mode, Options, Params, Session, Value, params};
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
    let before = session.database().snapshot().place();
    let text = "UNWIND range(1, 10) AS i CALL (i) { CREATE (a:A {i: i}) RETURN a.i * 2 AS double } \
                IN TRANSACTIONS OF $size ROWS RETURN i, double ORDER BY i DESC LIMIT 2";
    let result = session.query(text, params! { "size" => 3 }).unwrap();
    assert_eq!(result.summary().counters.nodes_created, 10);
    let shown = format!("{:?}", result.rows().unwrap());
    assert_eq!(shown, format!("{:?}", [[10, 20], [9, 18]].map(|row| row.map(Value::Int))));
    assert_eq!(session.database().snapshot().place() - before, 4);
    assert_eq!(count(&mut session), 10);
    rows(&mut session, "MATCH (a:A) CALL (a) { DETACH DELETE a } IN TRANSACTIONS");
    assert_eq!(count(&mut session), 0);
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
