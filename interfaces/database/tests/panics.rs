//! A panic anywhere ends the request that met it, and nothing else: with failpoints, each place of the database that has one panics at
//! its first, a middle and its last visit under each kind of request; then the database is asked again, and opened again.
//!
//! Held against a model: every acknowledged write is there, none is half there, a standing query tells what the same query tells, the
//! tenant's memory is free again, all executors work. Failpoints stand in debug builds only.
#![cfg(debug_assertions)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use database::gremlin::GremlinOptions;
use database::{Database, Error, MEMORY, Mode, Options, Params, Session, Value};
use gremlin::Bindings;
use parking_lot::Mutex;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tanglewood_database as database;
use world::disk::{Disk, RealDisk};
use world::failpoint;
use world::files::TemporaryFolder;
use world::threads::in_parallel;

/// Failpoints belong to the process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Longer than this, and it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Memory of the tenant that asks everything here. One request takes a part of it, so that what a panic leaves charged is soon missed.
const TENANT: &str = "CREATE TENANT t SET MEMORY '24MB'";

/// Vertices of the graph.
const VERTICES: i64 = 3_000;

/// A database, and how many writes were attempted and acknowledged.
struct CountedWrites {
    database: Database,
    attempted: i64,
    acknowledged: i64,
}

fn session(database: &Database) -> Session {
    let mut session = database.session();
    session.set_tenant("t");
    session
}

fn rows(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>, Error> {
    session.query(text, Params::new())?.rows()
}

fn int(session: &mut Session, text: &str) -> i64 {
    rows(session, text).unwrap_or_else(|error| panic!("{text}: {error}"))[0][0].as_int().unwrap()
}

/// One more of what is counted twice: a number, and vertices.
const WRITE: &str = "MATCH (c:Counter) SET c.v = c.v + 1 CREATE (:Log {n: c.v})";

fn make(database: &Database) {
    let mut session = database.session();
    for text in [
        TENANT,
        "CREATE (:Counter {v: 0})",
        &format!("UNWIND range(1, {VERTICES}) AS k CREATE (:P {{k: k}})"),
        "MATCH (a:P), (b:P) WHERE b.k = a.k % 40 + 1 OR b.k = a.k + 1 CREATE (a)-[:R]->(b)",
        "CREATE INDEX FOR (n:P) ON (n.k)",
        "CREATE STANDING QUERY logged AS MATCH (l:Log) RETURN count(l) AS c",
    ] {
        rows(&mut session, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

type Chore = fn(&mut Session) -> Result<(), Error>;

fn asked(session: &mut Session, text: &str) -> Result<(), Error> {
    rows(session, text).map(drop)
}

fn traversed(session: &mut Session, text: &str, machine_only: bool) -> Result<(), Error> {
    let options = GremlinOptions { machine_only, ..GremlinOptions::default() };
    let mut found = session.gremlin_text(text, &Params::new(), &options)?;
    while found.next_objects()?.is_some() {}
    Ok(())
}

/// Requests of every kind. Those that write do what [`WRITE`] does, once.
const CHORES: [(&str, bool, Chore); 18] = [
    ("short read", false, |s| asked(s, "RETURN 1")),
    ("read", false, |s| asked(s, "MATCH (n:P) RETURN n, [x IN range(1, 9) | x * n.k]")),
    ("aggregate", false, |s| asked(s, "MATCH (a:P)-[:R]->(b) RETURN a.k % 7, count(*), collect(b.k)")),
    ("paths", false, |s| asked(s, "MATCH (a:P {k: 1})-[:R*1..4]->(b) RETURN count(DISTINCT b)")),
    ("subquery", false, |s| {
        asked(
            s,
            "MATCH (a:P) WHERE a.k < 50 CALL (a) { MATCH (a)-[:R]->(b) RETURN b LIMIT 1 } RETURN count(b)",
        )
    }),
    ("procedure", false, |s| asked(s, "CALL graph.pageRank({}) YIELD node RETURN count(node)")),
    ("abandoned read", false, |s| {
        let mut result = s.query("MATCH (a:P), (b:P) RETURN a, b", Params::new())?;
        result.next_batch()?;
        result.discard()
    }),
    ("write", true, |s| asked(s, WRITE)),
    ("long write", true, |s| asked(s, &format!("MATCH (n:P) WITH count(n) AS n {WRITE}"))),
    ("merge", true, |s| asked(s, "MATCH (c:Counter) MERGE (l:Log {n: c.v + 1}) SET c.v = l.n")),
    ("transaction", true, |s| {
        s.begin(Mode::Write)?;
        let outcome = asked(s, "MATCH (n:P) RETURN count(n)").and_then(|()| asked(s, WRITE));
        let outcome = outcome.and_then(|()| s.commit());
        if s.in_transaction() {
            s.rollback()?;
        }
        outcome.map(drop)
    }),
    ("batches", true, |s| {
        asked(s, &format!("UNWIND [1] AS x CALL (x) {{ {WRITE} }} IN TRANSACTIONS OF 1 ROW"))
    }),
    ("catalogue", false, |s| {
        asked(s, "DROP USER anna IF EXISTS")?;
        asked(s, "CREATE USER anna SET PASSWORD 'long enough'")
    }),
    ("schema", false, |s| {
        asked(s, "DROP INDEX here IF EXISTS")?;
        asked(s, "CREATE INDEX here FOR (n:P) ON (n.k, n.v)")
    }),
    ("rules", false, |s| asked(s, "DATALOG { far(x, y) :- R(x, z), R(z, y). ?- far(x, y). }")),
    ("traversal", false, |s| traversed(s, "g.V().hasLabel('P').out('R').count()", false)),
    ("traversal by machine", true, |s| {
        let next = rows(s, "MATCH (c:Counter) RETURN c.v")?[0][0].as_int().unwrap() + 1;
        let text =
            format!("g.V().hasLabel('Counter').property('v', {next}l).addV('Log').property('n', {next}l)");
        let requests = gremlin::parse(&text, &Bindings::new())?;
        for request in requests {
            if let gremlin::Request::Traversal(traversal, _) = request {
                s.gremlin(&traversal, &GremlinOptions::default())?.all()?;
            }
        }
        Ok(())
    }),
    ("standing query", false, |s| {
        asked(s, "DROP STANDING QUERY more IF EXISTS")?;
        asked(s, "CREATE STANDING QUERY more AS MATCH (a:P)-[:R]->(b) WHERE a.k < 9 RETURN b.k AS k")?;
        s.query("SUBSCRIBE more SNAPSHOT", Params::new())?.next_batch().map(drop)
    }),
];

/// Runs something on a thread of its own, and fails where it does not come back.
fn in_time<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (told, heard) = mpsc::channel();
    let running = std::thread::spawn(move || told.send(work()).ok());
    match heard.recv_timeout(PATIENCE) {
        Ok(outcome) => outcome,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            panic!("{what}: {:?}", running.join().map(drop).is_err())
        }
    }
}

impl CountedWrites {
    fn of(database: Database) -> CountedWrites {
        CountedWrites { database, attempted: 0, acknowledged: 0 }
    }

    /// Runs a chore with a failpoint; whether the database can be written to afterwards.
    fn run(&mut self, (name, writes, chore): (&'static str, bool, Chore), place: &str, nth: u64) {
        let what = format!("{name}, visit {nth} of `{place}`");
        self.attempted += i64::from(writes);
        let database = self.database.clone();
        failpoint::panic_at(place, nth, 1);
        let outcome = in_time(&what, move || chore(&mut session(&database)));
        let panicked = failpoint::panicked();
        failpoint::clear();
        match &outcome {
            Ok(()) => self.acknowledged += i64::from(writes),
            Err(error) => {
                assert!(panicked > 0, "{what}: {error} without a panic");
                let text = error.to_string();
                assert!(text.contains("internal error") && text.contains("failpoint"), "{what}: {text}");
                assert!(error.class() == database::ErrorClass::Database, "{what}: {error:?}");
            }
        }
        let database = self.database.clone();
        let (attempted, acknowledged) = (self.attempted, self.acknowledged);
        let found = in_time(&format!("after {what}"), move || check(&database));
        let found = found.unwrap_or_else(|why| panic!("after {what}: {why}"));
        assert!((acknowledged..=attempted).contains(&found), "{what}: {acknowledged} {found} {attempted}");
        (self.attempted, self.acknowledged) = (found, found);
    }
}

/// Asks the database about itself: how many writes are there. Whoever finds it wrong says why.
fn check(database: &Database) -> Result<i64, String> {
    let told = |error: Error| error.to_string();
    let mut session = session(database);
    let count = int(&mut session, "MATCH (c:Counter) RETURN c.v");
    let logged = int(&mut session, "MATCH (l:Log) RETURN count(l)");
    if count != logged {
        return Err(format!("half a write: {count} counted, {logged} there"));
    }
    // Both executors, and most of the tenant's memory.
    let listed =
        int(&mut session, "MATCH (a:P)-[:R]->(b) WITH collect([a.k, b.k, a.k, b.k]) AS l RETURN size(l)");
    let edges = int(&mut session, "MATCH ()-[r:R]->() RETURN count(r)");
    if listed != edges || int(&mut session, "MATCH (n:P) RETURN count(n)") != VERTICES {
        return Err(format!("{listed} of {edges} relationships"));
    }
    // A standing query of a database that was just opened makes its answer, which is listed.
    let began = Instant::now();
    while !database.running().is_empty() {
        if began.elapsed() > Duration::from_secs(20) {
            return Err(format!("still running: {:?}", database.running()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let standing = database.standing();
    let standing = standing.iter().find(|query| query.name == "logged").ok_or("no standing query")?;
    if let Some(why) = &standing.failure {
        if !why.to_string().contains("failpoint") {
            return Err(format!("the standing query ended: {why}"));
        }
        rows(&mut session, "ALTER STANDING QUERY logged RETRY").map_err(told)?;
    }
    let mut told_rows = session.query("SUBSCRIBE logged SNAPSHOT", Params::new()).map_err(told)?;
    let batch = told_rows.next_batch().map_err(told)?.ok_or("the subscription ended")?;
    let columns = told_rows.columns().iter().position(|name| &**name == "c").ok_or("no column c")?;
    let told = batch.row(0)[columns].as_int();
    if told != Some(logged) {
        return Err(format!("the standing query says {told:?}, and there are {logged}"));
    }
    Ok(logged)
}

/// Places that a chore visits, and how often.
fn visits(counted: &mut CountedWrites, chore: (&'static str, bool, Chore)) -> Vec<(String, u64)> {
    counted.run(chore, "nowhere", 1);
    failpoint::panic_at("nowhere", 1, 1);
    let database = counted.database.clone();
    in_time(chore.0, move || chore.2(&mut session(&database)))
        .unwrap_or_else(|error| panic!("{}: {error}", chore.0));
    counted.attempted += i64::from(chore.1);
    counted.acknowledged += i64::from(chore.1);
    let visits = failpoint::visits().into_iter().map(|(place, count)| (place.to_string(), count)).collect();
    failpoint::clear();
    visits
}

fn quietly() {
    std::panic::set_hook(Box::new(|info| {
        if !info.payload_as_str().is_some_and(|text| text.starts_with("failpoint `")) {
            eprintln!("{info}");
        }
    }));
}

fn options() -> Options {
    Options { executors: Some(2), ..Options::default() }
}

#[test]
fn a_panic_ends_the_request_that_met_it_and_nothing_else() {
    let _alone = ALONE.lock();
    quietly();
    let database = Database::open(MEMORY, options()).unwrap();
    make(&database);
    let mut counted = CountedWrites::of(database);
    let mut met = std::collections::BTreeMap::new();
    for chore in CHORES {
        for (place, count) in visits(&mut counted, chore) {
            // Nothing is written after it: the next test has it.
            if place == "group is on disk" {
                continue;
            }
            let mut nths = vec![1, count.div_ceil(2), count];
            nths.dedup();
            for nth in nths {
                counted.run(chore, &place, nth);
                *met.entry(place.clone()).or_insert(0) += 1;
            }
        }
    }
    println!("{met:?}");
    for place in [
        "operator",
        "operator of a pipeline",
        "command to an executor",
        "turn of a query",
        "round of an executor",
        "commit has its place",
        "commit is applied",
        "group goes to the log",
        "group is seen",
        "statement",
        "statement is planned",
        "begin of a transaction",
        "commit of a session",
        "commit has been made",
        "rows of an answer",
        "question of Datalog",
        "traversal",
        "script of Gremlin",
        "objects of an answer",
        "change of the catalogue",
        "upkeep of a query",
        "turn of a place",
        "turn of a place, within",
    ] {
        assert!(met.contains_key(place), "`{place}` was never met");
    }
}

/// In a folder a panic while the log is written, or what is written becomes the present, ends writing until the database is opened
/// again: nobody knows what is on disk. What was acknowledged is there then, and nothing is there by half.
#[test]
fn a_panic_in_the_log_loses_nothing_that_was_acknowledged() {
    let _alone = ALONE.lock();
    quietly();
    let folder = TemporaryFolder::new("panics").unwrap();
    let path = folder.path().join("db");
    make(&Database::open(&path, options()).unwrap());
    let mut acknowledged = 0;
    let places = ["records are written", "group is on disk", "group goes to the log", "group is seen"];
    for (place, nth) in places.iter().flat_map(|place| [1, 2, 7].map(|nth| (*place, nth))) {
        let database = Database::open(&path, options()).unwrap();
        let before = check(&database).unwrap_or_else(|why| panic!("before `{place}`: {why}"));
        assert!(before >= acknowledged, "{place}: {before} of {acknowledged}");
        failpoint::panic_at(place, nth, 1);
        let together = database.clone();
        // Several at once, so that groups and the log's own thread are met.
        let outcomes: Vec<Vec<bool>> = in_time(place, move || {
            in_parallel("writer", 4, |_| {
                let mut session = session(&together);
                (0..5).map(|_| rows(&mut session, WRITE).is_ok()).collect()
            })
        });
        assert_eq!(failpoint::panicked(), 1, "{place}");
        failpoint::clear();
        let done = outcomes.iter().flatten().filter(|done| **done).count() as i64;
        // Reading goes on.
        let mut reader = session(&database);
        let seen = int(&mut reader, "MATCH (c:Counter) RETURN c.v");
        assert!((before + done..=before + 20).contains(&seen), "{place}: {before} {done} {seen}");
        if matches!(place, "group goes to the log" | "group is seen") {
            rows(&mut reader, WRITE).unwrap_or_else(|error| panic!("{place}: {error}"));
        }
        acknowledged = before + done;
        drop(reader);
        // Half of them are closed in order, half of them just go.
        if nth == 2 {
            let _ = in_time(place, move || database.close());
        }
    }
    let database = Database::open(&path, options()).unwrap();
    assert!(check(&database).unwrap() >= acknowledged);
    drop(database);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    assert!(database::check(&disk, &path).unwrap().report.problems.is_empty());
}

/// A checkpoint that panics is a checkpoint that failed.
#[test]
fn a_panic_in_a_checkpoint_is_a_failure_of_the_checkpoint() {
    let _alone = ALONE.lock();
    quietly();
    let folder = TemporaryFolder::new("panics-checkpoint").unwrap();
    let path = folder.path().join("db");
    let options = Options { checkpoint_log_bytes: 1 << 13, ..options() };
    let database = Database::open(&path, options.clone()).unwrap();
    make(&database);
    failpoint::panic_at("checkpoint in the background", 1, 1_000);
    // A checkpoint that was begun before may still be at work, and the thread of one that is begun now may have to wait for a core: while
    // either is so, commits begin none. They go on until one has failed.
    let (mut writes, began) = (0, Instant::now());
    while writes < 50 || database.checkpoint_failure().is_none() {
        rows(&mut session(&database), "MATCH (n:P) WHERE n.k < 100 SET n.w = coalesce(n.w, 0) + 1").unwrap();
        writes += 1;
        assert!(began.elapsed() < PATIENCE, "no checkpoint was begun in {writes} commits");
    }
    assert!(failpoint::panicked() > 0);
    assert!(database.checkpoint_failure().unwrap().to_string().contains("failpoint"));
    failpoint::clear();
    database.close().unwrap();
    let database = Database::open(&path, options).unwrap();
    assert_eq!(int(&mut database.session(), "MATCH (n:P) RETURN sum(n.w)"), writes * 99);
    assert_eq!(check(&database).unwrap(), 0);
}
