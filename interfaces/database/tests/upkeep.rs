//! The upkeep of standing queries as work like any other: listed, ended by KILL, by its tenant's limits, by DROP and by the end of the
//! database; and others go on beside it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::{Database, Limits, MEMORY, Options, Params, params};
use world::files::TemporaryFolder;

/// A standing query of which one commit gives work for minutes: `CREATE (:T {x: 1})`.
struct Kind {
    name: &'static str,
    text: &'static str,
    /// What it keeps, or has in hand, grows meanwhile.
    grows: bool,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "a pattern",
        text: "MATCH (t:T) MATCH (a:V), (b:V), (c:V) WHERE a.i + b.i + c.i + t.x < 0 RETURN a.i AS a, b.i AS b",
        grows: false,
    },
    Kind {
        name: "a pattern that grows",
        text: "MATCH (t:T) MATCH (a:V), (b:V), (c:V) RETURN DISTINCT a.i AS a, b.i AS b, c.i AS c, t.x AS x",
        grows: true,
    },
    Kind {
        name: "rules",
        text: "DATALOG { p(x) :- T.x(t, s), V.i(x, i), V.i(y, j), V.i(z, k), i + j + k + s < 0. ?- p(x). }",
        grows: false,
    },
];

fn ask(database: &Database, text: &str) {
    database.session().query(text, Params::new()).unwrap().rows().unwrap();
}

fn database(at: &str) -> Database {
    let database = Database::open(at, Options { executors: Some(2), ..Options::default() }).unwrap();
    ask(&database, "UNWIND range(0, 599) AS i CREATE (:V {i: i})");
    database
}

/// Makes the query for a tenant, gives it its work, and waits until that is listed; its id.
fn at_work(database: &Database, kind: &Kind, tenant: &str) -> String {
    database.create_standing_for(tenant, "kept", kind.text).unwrap();
    ask(database, "CREATE (:T {x: 1})");
    let began = Instant::now();
    loop {
        if let Some(query) = database.running().into_iter().find(|query| query.text.contains("kept")) {
            assert!(query.text.starts_with("upkeep of STANDING QUERY"), "{query:?}");
            assert_eq!(query.tenant, tenant);
            return query.id;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{}: it is never listed", kind.name);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Why it ended, once it has; nothing is listed then.
fn ended(database: &Database, kind: &Kind) -> (String, Duration) {
    let began = Instant::now();
    loop {
        if let Some(why) = database.standing().into_iter().find_map(|query| query.failure) {
            let took = began.elapsed();
            assert!(database.running().is_empty(), "{}", kind.name);
            return (why.to_string(), took);
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{}: it does not end", kind.name);
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The database is as it was before the work.
fn forget(database: &Database) {
    ask(database, "DROP STANDING QUERY kept");
    ask(database, "MATCH (t:T) DELETE t");
}

#[test]
fn a_kill_ends_it_and_a_retry_brings_it_back() {
    let database = database(MEMORY);
    for kind in &KINDS {
        let id = at_work(&database, kind, "default");
        assert!(database.kill(&id, "by the test").unwrap());
        let (why, took) = ended(&database, kind);
        println!("{}: {took:?}", kind.name);
        assert_eq!(why, "its upkeep was ended: by the test", "{}", kind.name);
        assert!(took < Duration::from_secs(10), "{took:?}");
        // Without what gave it so much to do it can be installed again.
        ask(&database, "MATCH (t:T) DELETE t");
        ask(&database, "ALTER STANDING QUERY kept RETRY");
        let began = Instant::now();
        while database.standing()[0].state.name() != "running" {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", database.standing());
            std::thread::sleep(Duration::from_millis(1));
        }
        forget(&database);
    }
}

#[test]
fn the_time_of_its_tenant_ends_it() {
    let database = database(MEMORY);
    ask(&database, "CREATE TENANT t SET TIME '100ms'");
    for kind in &KINDS {
        at_work(&database, kind, "t");
        let (why, took) = ended(&database, kind);
        assert_eq!(why, "bringing it up to date took longer than its tenant allows (100ms)", "{}", kind.name);
        assert!(took < Duration::from_secs(10), "{took:?}");
        forget(&database);
    }
}

#[test]
fn the_memory_of_its_tenant_ends_it() {
    let database = database(MEMORY);
    ask(&database, "CREATE TENANT t SET MEMORY '20MB'");
    for kind in KINDS.iter().filter(|kind| kind.grows) {
        at_work(&database, kind, "t");
        let (why, _) = ended(&database, kind);
        assert_eq!(why, "memory of the tenant, in bytes, would pass the limit of 20000000", "{}", kind.name);
        forget(&database);
    }
}

#[test]
fn it_is_shown_and_dropped_while_it_works() {
    let database = database(MEMORY);
    for kind in &KINDS {
        at_work(&database, kind, "default");
        let began = Instant::now();
        let listed = database.session().query("SHOW STANDING QUERIES", params! {}).unwrap().rows().unwrap();
        assert_eq!(listed.len(), 1);
        ask(&database, "DROP STANDING QUERY kept");
        let took = began.elapsed();
        assert!(took < Duration::from_secs(10), "{}: {took:?}", kind.name);
        assert!(database.standing().is_empty() && database.running().is_empty(), "{}", kind.name);
        ask(&database, "MATCH (t:T) DELETE t");
    }
}

#[test]
fn who_subscribes_waits_for_it_and_can_be_ended() {
    let database = database(MEMORY);
    for kind in &KINDS {
        at_work(&database, kind, "default");
        let began = Instant::now();
        let limits = Limits { timeout: Some(Duration::from_millis(100)), bytes_max: None };
        let error =
            database.session().query_within("SUBSCRIBE kept SNAPSHOT", params! {}, &limits).err().unwrap();
        assert!(error.code.ends_with("TransactionTimedOut"), "{}: {error:?}", kind.name);
        assert!(began.elapsed() < Duration::from_secs(10), "{}: {:?}", kind.name, began.elapsed());

        for ends_by_kill in [true, false] {
            let mut session = database.session();
            let interrupter = session.interrupter();
            std::thread::scope(|scope| {
                let reader = scope.spawn(move || session.query("SUBSCRIBE kept SNAPSHOT", params! {}).err());
                let subscribes = |text: &str| text.starts_with("SUBSCRIBE kept");
                let listed = || database.running().into_iter().find(|query| subscribes(&query.text));
                let began = Instant::now();
                let id = loop {
                    assert!(began.elapsed() < Duration::from_secs(20), "{}: it is never listed", kind.name);
                    if let Some(query) = listed() {
                        break query.id;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                };
                let began = Instant::now();
                match ends_by_kill {
                    true => assert!(database.kill(&id, "by the test").unwrap()),
                    false => interrupter.close(),
                }
                assert!(reader.join().unwrap().unwrap().code.ends_with("Terminated"), "{}", kind.name);
                assert!(began.elapsed() < Duration::from_secs(10), "{}: {:?}", kind.name, began.elapsed());
            });
        }
        forget(&database);
    }
}

/// An interface with one thread a connection hears its client only where the session looks after it.
#[test]
fn who_subscribes_is_looked_after_while_they_wait() {
    let database = database(MEMORY);
    at_work(&database, &KINDS[0], "default");
    let mut session = database.session();
    let (interrupter, began) = (session.interrupter(), Instant::now());
    session.set_meanwhile(move || {
        if began.elapsed() > Duration::from_millis(50) {
            interrupter.close();
        }
    });
    let error = session.query("SUBSCRIBE kept SNAPSHOT", params! {}).err().unwrap();
    assert!(error.code.ends_with("Terminated"), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn other_queries_go_on_beside_it() {
    let database = database(MEMORY);
    // One on each executor.
    database.create_standing("other", KINDS[0].text).unwrap();
    at_work(&database, &KINDS[0], "default");
    let mut longest = Duration::ZERO;
    for _ in 0..50 {
        let began = Instant::now();
        ask(&database, "PROFILE MATCH (v:V) RETURN sum(v.i) AS s");
        longest = longest.max(began.elapsed());
    }
    println!("longest of 50: {longest:?}");
    assert!(longest < Duration::from_secs(4), "{longest:?}");
}

#[test]
fn the_end_of_the_database_ends_it() {
    let folder = TemporaryFolder::new("upkeep").unwrap();
    for (number, kind) in KINDS.iter().enumerate() {
        let at = folder.path().join(number.to_string());
        let database = database(at.to_str().unwrap());
        at_work(&database, kind, "default");
        let began = Instant::now();
        database.close().unwrap();
        let took = began.elapsed();
        println!("{}: {took:?}", kind.name);
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

/// A reader who goes on from the past is a query too, until it is told what it missed: listed, and ended by KILL and by its own time. What it
/// reads goes on.
#[test]
fn who_resumes_can_be_ended() {
    let folder = TemporaryFolder::new("upkeep-resume").unwrap();
    let database = database(folder.path().to_str().unwrap());
    ask(&database, "CREATE (:T {x: 1})");
    let from = database.snapshot().commit_version();
    ask(&database, "MATCH (t:T) DELETE t");
    for kind in &KINDS {
        database.create_standing_for("default", "kept", kind.text).unwrap();
        let text = format!("SUBSCRIBE kept FROM {from}");
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| database.session().query(&text, Params::new()).map(drop));
            let began = Instant::now();
            let id = loop {
                let mut running = database.running().into_iter();
                if let Some(query) = running.find(|query| query.text.starts_with("SUBSCRIBE kept")) {
                    break query.id;
                }
                assert!(began.elapsed() < Duration::from_secs(20), "{}: it is never listed", kind.name);
                std::thread::sleep(Duration::from_millis(1));
            };
            // Others ask, list and write meanwhile.
            let began = Instant::now();
            ask(&database, "MATCH (a:V {i: 7}) SET a.y = 1");
            ask(&database, "SHOW STANDING QUERIES");
            assert!(began.elapsed() < Duration::from_secs(5), "{}: {:?}", kind.name, began.elapsed());
            assert!(database.kill(&id, "by the test").unwrap());
            let error = reader.join().unwrap().unwrap_err();
            assert_eq!(error.code, "Neo.ClientError.Transaction.Terminated", "{}: {error:?}", kind.name);
            assert!(error.message.contains("by the test"), "{}: {error:?}", kind.name);
        });
        let mut session = database.session();
        session.set_limits(tanglewood_database::Limits {
            timeout: Some(Duration::from_millis(300)),
            ..Default::default()
        });
        let error = session.query(&text, Params::new()).map(drop).unwrap_err();
        assert_eq!(error.code, "Neo.ClientError.Transaction.TransactionTimedOut", "{}: {error:?}", kind.name);
        assert!(database.running().is_empty(), "{}", kind.name);
        // What is read is as it was.
        assert_eq!(database.standing()[0].state.name(), "running", "{}", kind.name);
        ask(&database, "DROP STANDING QUERY kept");
    }
}
