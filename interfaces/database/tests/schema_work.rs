//! Making indexes and constraints as work like any other: listed, ended by KILL, a timeout, its tenant and its client, while others commit.
//! What was ended leaves nothing behind, and what was made is the index that a scan agrees with.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::{Database, Limits, MEMORY, Options, Params, Session, Value, params};

/// Nodes of the graph; as many relationships.
const NODES: i64 = 120_000;

/// Commands that take a while over so many, and what undoes each.
const KINDS: [(&str, &str); 6] = [
    ("CREATE INDEX made FOR (b:Big) ON (b.text)", "DROP INDEX made"),
    ("CREATE INDEX made FOR (b:Big) ON (b.i, b.text)", "DROP INDEX made"),
    ("CREATE INDEX made FOR ()-[n:NEXT]-() ON (n.text)", "DROP INDEX made"),
    ("CREATE CONSTRAINT made FOR (b:Big) REQUIRE b.i IS UNIQUE", "DROP CONSTRAINT made"),
    ("CREATE CONSTRAINT made FOR (b:Big) REQUIRE (b.i, b.text) IS NODE KEY", "DROP CONSTRAINT made"),
    ("CREATE CONSTRAINT made FOR ()-[n:NEXT]-() REQUIRE n.text IS NOT NULL", "DROP CONSTRAINT made"),
];

fn ask(database: &Database, text: &str) -> Vec<Vec<Value>> {
    let found = database.session().query(text, Params::new()).unwrap().rows().unwrap();
    found.into_iter().map(|row| row.to_vec()).collect()
}

fn database() -> Database {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let text = format!(
        "UNWIND range(1, {NODES}) AS i CREATE (:Big {{i: i, text: 'text ' + i}})-[:NEXT {{text: 'next ' + i}}]->(:End)"
    );
    ask(&database, &text);
    database
}

/// What is in the catalogue.
fn made(database: &Database) -> usize {
    ask(database, "SHOW INDEXES").len() + ask(database, "SHOW CONSTRAINTS").len()
}

fn run(session: &mut Session, text: &str, limits: &Limits) -> Result<(), String> {
    let outcome = session.query_within(text, params! {}, limits).and_then(|found| found.rows());
    outcome.map(drop).map_err(|error| error.code)
}

/// Waits until the command is listed; its id.
fn listed(database: &Database, text: &str) -> String {
    let began = Instant::now();
    loop {
        if let Some(query) = database.running().into_iter().find(|query| query.text == text) {
            return query.id;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{text}: it is never listed");
        std::thread::yield_now();
    }
}

/// Begins the command, waits until it is listed, and ends it by `end`; the code it ended with. Where it came to its own end first, it is undone,
/// and tried again.
fn ended(database: &Database, (text, undo): (&str, &str), end: impl Fn(&str, &dyn Fn())) -> String {
    for _ in 0..20 {
        let mut session = database.session();
        let interrupter = session.interrupter();
        let outcome = std::thread::scope(|scope| {
            let work = scope.spawn(|| run(&mut session, text, &Limits::default()));
            end(&listed(database, text), &|| interrupter.close());
            work.join().unwrap()
        });
        assert!(database.running().is_empty(), "{text}");
        match outcome {
            Err(code) => {
                assert_eq!(made(database), 0, "{text}");
                return code;
            }
            Ok(()) => drop(ask(database, undo)),
        }
    }
    panic!("{text}: it always came to its own end first");
}

#[test]
fn it_is_listed_and_ended_and_leaves_nothing_behind() {
    let database = database();
    ask(&database, "CREATE TENANT t SET TIME '1ms'");
    for (text, undo) in KINDS {
        let code = ended(&database, (text, undo), |id, _| {
            database.kill(id, "by the test").unwrap();
        });
        assert!(code.ends_with("Terminated"), "{text}: {code}");
        ended(&database, (text, undo), |_, close| close());

        let soon = Limits { timeout: Some(Duration::from_millis(1)), bytes_max: None };
        let code = run(&mut database.session(), text, &soon).unwrap_err();
        assert!(code.ends_with("TransactionTimedOut"), "{text}: {code}");
        let mut poor = database.session();
        poor.set_tenant("t");
        let code = run(&mut poor, text, &Limits::default()).unwrap_err();
        assert!(code.ends_with("TransactionTimedOut"), "{text}: {code}");
        assert_eq!(made(&database), 0, "{text}");

        // Nothing stands in the way of it afterwards.
        ask(&database, text);
        assert!(made(&database) > 0, "{text}");
        ask(&database, undo);
        assert_eq!(made(&database), 0, "{text}");
    }
}

/// Somebody commits beside each of them, what breaks the constraint among it: it is made, or refused, and holds then.
#[test]
fn what_is_committed_beside_it_is_looked_at() {
    let database = database();
    let count = "MATCH (b:Big) WHERE b.text = 'beside' RETURN count(b)";
    for (text, undo) in KINDS {
        let mut session = database.session();
        let outcome = std::thread::scope(|scope| {
            let work = scope.spawn(|| run(&mut session, text, &Limits::default()));
            for i in 0..200 {
                // Every second one has the values of another, and a relationship without a text.
                let text = format!("CREATE (:Big {{i: {}, text: 'beside'}})-[:NEXT]->(:End)", -(i / 2) - 1);
                // It is refused as soon as the constraint is there.
                let _ = run(&mut database.session(), &text, &Limits::default());
                if work.is_finished() {
                    break;
                }
            }
            work.join().unwrap()
        });
        let scanned = "MATCH (b:Big) WHERE b.text + '' = 'beside' RETURN count(b)";
        let number = |text| ask(&database, text)[0][0].as_int();
        assert_eq!(number(count), number(scanned), "{text}");
        let broken = match text {
            text if text.contains("NOT NULL") => {
                "MATCH ()-[n:NEXT]->() WHERE n.text IS NULL RETURN count(n) > 0"
            }
            _ => "MATCH (b:Big) WITH b.i AS i, count(*) AS c WHERE c > 1 RETURN count(i) > 0",
        };
        let is_broken = ask(&database, broken)[0][0].as_bool() == Some(true);
        match outcome {
            Ok(()) => {
                assert!(
                    !text.contains("CONSTRAINT") || !is_broken,
                    "{text}: it was made over data that breaks it"
                );
                ask(&database, undo);
            }
            Err(code) => {
                assert!(is_broken && code.ends_with("ConstraintValidationFailed"), "{text}: {code}");
            }
        }
        assert_eq!(made(&database), 0, "{text}");
        ask(&database, "MATCH (b:Big {text: 'beside'})-[:NEXT]->(e) DETACH DELETE b, e");
    }
}
