//! Planning a long text ends at its timeout or when it is killed, is listed meanwhile, and leaves the session as it was.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::{Database, Limits, MEMORY, Options, Params, Session, Value};

/// Texts that take seconds to be planned in an unoptimised build.
fn long_texts() -> Vec<(&'static str, String)> {
    let row = |n: usize, part: fn(usize) -> String| (0..n).map(part).collect::<Vec<_>>().join(", ");
    vec![
        ("columns", format!("RETURN {}", row(200_000, |i| format!("{i} AS a{i}")))),
        ("nodes", format!("CREATE {}", row(200_000, |i| format!("(:Q {{q: {i}}})")))),
        ("path", format!("CREATE (){}", "-[:Q]->()".repeat(400_000))),
        ("list", format!("RETURN [{}]", row(1_000_000, |_| "1".into()))),
    ]
}

fn works(session: &mut Session) {
    let rows = session.query("RETURN 1", Params::new()).unwrap().rows().unwrap();
    assert!(matches!(rows[0][0], Value::Int(1)));
}

/// Most that may pass after the end was wanted: an unoptimised build beside other tests.
const LATE_MAX: Duration = Duration::from_secs(4);

#[test]
fn a_timeout_ends_planning() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    for (name, text) in long_texts() {
        let mut session = database.session();
        let limits = Limits { timeout: Some(Duration::from_millis(200)), bytes_max: None };
        let began = Instant::now();
        let error = session.query_within(&text, Params::new(), &limits).err().unwrap();
        assert_eq!(error.code, "Neo.ClientError.Transaction.TransactionTimedOut", "{name}: {error}");
        let took = began.elapsed();
        assert!(took < Duration::from_millis(200) + LATE_MAX, "{name}: {took:?}");
        works(&mut session);
    }
}

#[test]
fn planning_is_listed_and_killed() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    for (name, text) in long_texts() {
        let mut other = database.session();
        let asking = std::thread::spawn({
            let mut session = database.session();
            move || {
                let error = session.query(&text, Params::new()).err().map(|error| error.code);
                works(&mut session);
                (error, Instant::now())
            }
        });
        let began = Instant::now();
        let id = loop {
            assert!(began.elapsed() < Duration::from_secs(20), "{name} is never listed");
            let rows =
                other.query("SHOW QUERIES YIELD queryId, query", Params::new()).unwrap().rows().unwrap();
            let is_it = |row: &&Vec<Value>| row[1].as_str().is_some_and(|text| !text.starts_with("SHOW"));
            if let Some(row) = rows.iter().find(is_it) {
                break row[0].as_str().unwrap().to_string();
            }
        };
        let killed = Instant::now();
        other.query(&format!("KILL QUERY '{id}'"), Params::new()).unwrap();
        let (error, ended) = asking.join().unwrap();
        assert_eq!(error.as_deref(), Some("Neo.ClientError.Transaction.Terminated"), "{name}");
        let late = ended.saturating_duration_since(killed);
        assert!(late < LATE_MAX, "{name} ended {late:?} after it was killed");
    }
}

#[test]
fn an_interruption_ends_planning() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let mut session = database.session();
    session.interrupter().interrupt("the client has reset its session");
    for text in [format!("RETURN [{}]", vec!["1"; 20_000].join(", ")), long_texts().swap_remove(3).1] {
        let error = session.query(&text, Params::new()).err().unwrap();
        assert_eq!(error.code, "Neo.ClientError.Transaction.Terminated", "{error}");
    }
    session.settle_interrupt();
    works(&mut session);
}
