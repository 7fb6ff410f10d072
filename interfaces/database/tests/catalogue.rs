//! Users, tenants and standing queries in the graph's catalogue: none of them is lost, and none keeps the graph from opening.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Change, EntryKind};
use tanglewood_database::{Database, MEMORY, Options, Params, Value, check_within};
use world::disk::{Disk, RealDisk, SimDisk};
use world::files::TemporaryFolder;

fn options() -> Options {
    Options { executors: Some(2), ..Options::default() }
}

fn open(path: &Path) -> Database {
    Database::open(path, options()).unwrap()
}

fn run(database: &Database, text: &str) -> Vec<Vec<Value>> {
    database.session().query(text, Params::new()).and_then(|result| result.rows()).unwrap()
}

fn refusal(database: &Database, text: &str) -> tanglewood_database::Error {
    let outcome = database.session().query(text, Params::new()).and_then(|result| result.rows());
    outcome.map(|_| ()).unwrap_err()
}

/// Name and state of each standing query, once none is being installed any more.
fn states(database: &Database) -> Vec<(String, &'static str)> {
    let begin = Instant::now();
    loop {
        let all = database.standing();
        let states: Vec<_> = all.into_iter().map(|query| (query.name, query.state.name())).collect();
        if states.iter().all(|(_, state)| *state != "installing") {
            return states;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{states:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Puts entries into the catalogue of a database that is closed, as no command would.
fn forge(path: &Path, entries: &[(EntryKind, &str, &[u8])]) {
    forge_on(Arc::new(RealDisk), path, entries);
}

fn forge_on(disk: Arc<dyn Disk>, path: &Path, entries: &[(EntryKind, &str, &[u8])]) {
    let (engine, _) = transact::open(Some((disk, path)), &transact::OpenOptions::default()).unwrap();
    let change = |(kind, name, content): &(EntryKind, &str, &[u8])| Change::SetEntry {
        kind: *kind,
        name: (*name).into(),
        content: Some((*content).into()),
    };
    engine.alter(|_| Ok(entries.iter().map(change).collect())).unwrap();
    engine.close().unwrap();
}

#[test]
fn what_fails_when_the_database_opens_is_set_aside_and_can_be_tried_again_or_dropped() {
    let folder = TemporaryFolder::new("poison").unwrap();
    let database = open(folder.path());
    run(&database, "CREATE (:A0 {n: 1})");
    run(&database, "CREATE STANDING QUERY fine AS MATCH (n:A0) RETURN n.n AS n");
    run(&database, "CREATE STANDING QUERY boom AS MATCH (n:A0) RETURN 10 / (n.n - 7) AS x");
    run(&database, "MATCH (n:A0) SET n.n = 7");
    database.close().unwrap();

    let database = open(folder.path());
    assert_eq!(states(&database), [("boom".to_string(), "set aside"), ("fine".to_string(), "running")]);
    let listed = run(&database, "SHOW STANDING QUERIES YIELD name, state, failure WHERE state <> 'running'");
    assert_eq!(listed[0][1].as_str(), Some("set aside"));
    assert!(listed[0][2].as_str().unwrap().contains("zero"), "{listed:?}");
    let refused = refusal(&database, "SUBSCRIBE boom");
    assert_eq!(refused.code, "Tanglewood.ClientError.Standing.SetAside");
    assert!(refused.hint.unwrap().contains("RETRY"));
    let named: Vec<String> = database.set_aside().iter().map(ToString::to_string).collect();
    assert!(named[0].starts_with("standing query `boom` is set aside: "), "{named:?}");
    // Tried again it fails again, until what was wrong is mended.
    run(&database, "ALTER STANDING QUERY boom RETRY");
    assert_eq!(states(&database)[0].1, "set aside");
    run(&database, "MATCH (n:A0) SET n.n = 8");
    run(&database, "ALTER STANDING QUERY boom RETRY");
    assert_eq!(states(&database)[0].1, "running");
    run(&database, "ALTER STANDING QUERY boom RETRY");
    // One that fails while it runs can be tried again too.
    run(&database, "MATCH (n:A0) SET n.n = 7");
    let begin = Instant::now();
    while states(&database)[0].1 != "failed" {
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(2));
    }
    run(&database, "MATCH (n:A0) SET n.n = 9");
    run(&database, "ALTER STANDING QUERY boom RETRY");
    assert_eq!(states(&database)[0].1, "running");
    assert_eq!(
        refusal(&database, "ALTER STANDING QUERY nobody RETRY").code,
        "Tanglewood.ClientError.Standing.NotFound"
    );
    run(&database, "MATCH (n:A0) SET n.n = 7");
    database.close().unwrap();

    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let checked = tanglewood_database::check(&disk, folder.path()).unwrap();
    assert_eq!((checked.report.problems.len(), checked.entries), (0, [0, 0, 2]));
    assert_eq!(checked.set_aside.iter().map(|aside| aside.name.as_str()).collect::<Vec<_>>(), ["boom"]);
    let database = open(folder.path());
    assert_eq!(states(&database)[0].1, "set aside");
    run(&database, "DROP STANDING QUERY boom");
    assert_eq!(states(&database), [("fine".to_string(), "running")]);
    run(&database, "CREATE STANDING QUERY boom AS MATCH (n:A0) RETURN n.n AS n");
    database.close().unwrap();
    assert_eq!(
        states(&open(folder.path())),
        [("boom".to_string(), "running"), ("fine".to_string(), "running")]
    );
}

/// Queries of every shape that answer while the property `n` of `:A0` is 1, and fail where it is 7.
const FAILING: &[&str] = &[
    "MATCH (n:A0) RETURN 10 / (n.n - 7) AS x",
    "MATCH (n:A0) WHERE 10 / (n.n - 7) < 5 RETURN n.n AS x",
    "MATCH (n:A0) RETURN CASE n.n WHEN 1 THEN 0 ELSE 10 / (n.n - 7) END AS x",
    "MATCH (n:A0) RETURN [i IN [1, 2] | i / (n.n - 7)] AS x",
    "MATCH (n:A0) RETURN n {.n, k: 10 / (n.n - 7)} AS x",
    "MATCH (n:A0) RETURN size(reduce(s = [1], i IN range(1, toInteger(10 ^ (n.n - 2))) | [s])) AS x",
    "MATCH (n:A0) RETURN [(m)-[:R]->(n) | 10 / (n.n - 7)] AS x",
    "MATCH (m:B0) RETURN [(m)-[:R]->(n:A0) | 10 / (n.n - 7)] AS x",
    "MATCH (m:B0) RETURN [(m)-[:R]->(n:A0) WHERE 10 / (n.n - 7) < 5 | n.n] AS x",
    "MATCH (m:B0) RETURN [p = (m)-[:R*1..2]->(n:A0) | 10 / (n.n - 7)] AS x",
    "MATCH (m:B0) RETURN [(m)-[:R]->(n:A0) | size(reduce(s = [1], i IN range(1, toInteger(10 ^ (n.n - 2))) | [s]))] AS x",
    "MATCH (m:B0) RETURN COLLECT { MATCH (m)-->(n:A0) RETURN 10 / (n.n - 7) AS y } AS x",
    "MATCH (m:B0) RETURN COUNT { MATCH (m)-->(n:A0) WHERE 10 / (n.n - 7) < 5 } AS x",
    "MATCH (m:B0) WHERE EXISTS { MATCH (m)-->(n:A0) WHERE 10 / (n.n - 7) < 5 } RETURN m.n AS x",
    "MATCH (m:B0) WHERE NOT EXISTS { MATCH (m)-->(n:A0) WHERE 10 / (n.n - 7) < 5 } RETURN m.n AS x",
    "MATCH (n:A0) RETURN sum(10 / (n.n - 7)) AS x",
    "MATCH (n:A0) RETURN n.n / 2 AS k, count(DISTINCT 10 / (n.n - 7)) AS x",
    "MATCH (n:A0) WITH n ORDER BY n.n RETURN collect(10 / (n.n - 7)) AS x",
    "MATCH (n:A0) WITH count(n) / (sum(n.n) - 7) AS x RETURN x",
    "MATCH (n:A0) RETURN DISTINCT 10 / (n.n - 7) AS x",
    "MATCH (n:A0) RETURN n.n AS x ORDER BY 10 / (n.n - 7) LIMIT 3",
    "MATCH (n:A0) UNWIND range(1, 10 / (n.n - 7)) AS x RETURN x",
    "MATCH (m:B0) OPTIONAL MATCH (m)-->(n:A0) RETURN 10 / (n.n - 7) AS x",
    "MATCH (m:B0) CALL (m) { MATCH (m)-->(n:A0) RETURN 10 / (n.n - 7) AS x } RETURN x",
    "MATCH (m:B0) RETURN m.n AS x UNION MATCH (n:A0) RETURN 10 / (n.n - 7) AS x",
    "MATCH (m:B0)-[:R*1..3]->(n:A0) WHERE 10 / (n.n - 7) < 5 RETURN n.n AS x",
    "MATCH (m:B0)-[r:R]->(n:A0) RETURN 10 / (r.n - 7) AS x",
    "MATCH (m:B0)-[:R*]->(n:A0) RETURN DISTINCT 10 / (n.n - 7) AS x",
    "MATCH (m:B0) MATCH p = shortestPath((m)-[:R*]->(n:A0)) RETURN length(p) / (n.n - 7) AS x",
    "MATCH (m:B0) (()-[:R]->(n WHERE 10 / (n.n - 7) < 5)){1,2} (:A0) RETURN m.n AS x",
];

/// A projection that fails on what the graph holds by now, whatever its shape, keeps neither the graph nor another query from being there.
#[test]
fn what_fails_at_the_open_is_set_aside_whatever_its_shape() {
    let folder = TemporaryFolder::new("shapes").unwrap();
    let database = open(folder.path());
    run(&database, "CREATE (:B0 {n: 1})-[:R {n: 1}]->(:A0 {n: 1})");
    for (at, text) in FAILING.iter().enumerate() {
        run(&database, text);
        run(&database, &format!("CREATE STANDING QUERY q{at:02} AS {text}"));
    }
    run(&database, "CREATE TENANT small SET MEMORY '2MB'");
    run(
        &database,
        "CREATE STANDING QUERY rules FOR TENANT small AS DATALOG { c(x) :- A0.n(a, x). c(y) :- c(x), x > 6, y = x + 1. ?- c(x). }",
    );
    run(&database, "CREATE STANDING QUERY sound AS MATCH (n:A0) RETURN n.n AS x");
    run(&database, "MATCH (n:A0)<-[r:R]-() SET n.n = 7, r.n = 7");
    for text in FAILING {
        refusal(&database, text);
    }
    database.close().unwrap();
    let names: Vec<String> =
        (0..FAILING.len()).map(|at| format!("q{at:02}")).chain(["rules".to_string()]).collect();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let checked = tanglewood_database::check(&disk, folder.path()).unwrap();
    assert_eq!(checked.set_aside.into_iter().map(|aside| aside.name).collect::<Vec<_>>(), names);
    let database = open(folder.path());
    let expected = names.iter().map(|name| (name.clone(), "set aside"));
    let expected: Vec<_> = expected.chain([("sound".to_string(), "running")]).collect();
    assert_eq!(states(&database), expected);
    let shown = run(&database, "SHOW STANDING QUERIES YIELD name, failure WHERE failure IS NOT NULL");
    assert_eq!(shown.len(), names.len());
    names.iter().for_each(|name| drop(run(&database, &format!("DROP STANDING QUERY {name}"))));
    database.close().unwrap();
    assert_eq!(states(&open(folder.path())), [("sound".to_string(), "running")]);
}

/// Queries that need next to no time while `n` is 1, and practically for ever where it is 9,000,000, in a single row as well as in many.
const ENDLESS: &[&str] = &[
    "MATCH (n:A0) RETURN reduce(s = 0, i IN range(1, n.n) | s + size([j IN range(1, n.n) WHERE j = i])) AS x",
    "MATCH (m:B0) RETURN [(m)-[:R]->(n) | any(i IN range(1, n.n) WHERE all(j IN range(1, n.n) WHERE j > 0 AND i < 0))] AS x",
    "MATCH (n:A0) UNWIND range(1, n.n) AS i UNWIND range(1, n.n) AS j RETURN count(i) AS x",
    "MATCH (n:A0) RETURN COLLECT { UNWIND range(1, n.n) AS i UNWIND range(1, n.n) AS j RETURN j } AS x",
    "DATALOG { c(x) :- A0.n(a, x). c(y) :- c(x), x > 6, y = x - 1. c(y) :- c(x), x > 6, y = x + 1. ?- c(x). }",
];

/// Such a first answer holds up neither close nor drop, and a check says that it does not know.
#[test]
fn a_first_answer_without_end_is_named_and_ended_whatever_its_shape() {
    let folder = TemporaryFolder::new("endless").unwrap();
    let database = open(folder.path());
    run(&database, "CREATE (:B0 {n: 1})-[:R {n: 1}]->(:A0 {n: 1})");
    run(&database, "MATCH (n:A0) SET n.n = 9000000");
    database.close().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    for text in ENDLESS {
        let text = format!("CREATE STANDING QUERY endless AS {text}");
        forge(folder.path(), &[(EntryKind::STANDING, "endless", text.as_bytes())]);
        let begin = Instant::now();
        let checked = check_within(&disk, folder.path(), Duration::from_millis(50)).unwrap();
        assert_eq!((checked.not_judged, checked.set_aside), (vec!["endless".to_string()], vec![]), "{text}");
        let database = open(folder.path());
        let state = |database: &Database| database.standing()[0].state.name();
        assert_eq!(state(&database), "installing", "{text}");
        std::thread::sleep(Duration::from_millis(30));
        run(&database, "DROP STANDING QUERY endless");
        // The next one has its turn.
        run(
            &database,
            &text.replace("endless", "fine").replace("n.n)", "1)").replace("A0.n(a, x)", "A0.n(a, x), x = 0"),
        );
        assert_eq!(state(&database), "running", "{text}");
        run(&database, "DROP STANDING QUERY fine");
        database.close().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(10), "{text}: {:?}", begin.elapsed());
    }
}

#[test]
fn entries_that_cannot_be_read_are_named_and_dropped() {
    let folder = TemporaryFolder::new("unreadable").unwrap();
    let database = open(folder.path());
    run(&database, "CREATE (:P {x: 1})");
    run(&database, "CREATE TENANT good SET SHARE 7");
    run(&database, "CREATE USER ada SET PASSWORD 'engine no 1'");
    database.close().unwrap();
    let long = "x".repeat(1_000_000);
    forge(
        folder.path(),
        &[
            (EntryKind::STANDING, "garbage", &[0xff, 0, 7]),
            (EntryKind::STANDING, "no query", b"CREATE STANDING QUERY `no query` AS MATCH (p:P) RETRUN p"),
            (EntryKind::STANDING, "other name", b"CREATE STANDING QUERY another AS MATCH (p:P) RETURN p.x AS x"),
            (EntryKind::STANDING, "refused", b"CREATE STANDING QUERY refused AS MATCH (p:P) RETURN rand() AS r"),
            (EntryKind::STANDING, "rules", b"CREATE STANDING QUERY rules AS DATALOG { nonsense"),
            (EntryKind::STANDING, "long", long.as_bytes()),
            (EntryKind::STANDING, "drops", b"DROP TENANT good"),
            (EntryKind::TENANT, "bad", b"CREATE TENANT bad SET SHARE -1"),
            (EntryKind::TENANT, "wrong", b"CREATE TENANT good SET SHARE 8"),
            (EntryKind::TENANT_USER, "homeless", b"ALTER TENANT nowhere ADD USER homeless"),
            (EntryKind::TENANT_USER, "guest", b"ALTER TENANT bad ADD USER guest"),
            (EntryKind::USER, "eve", b"user 1\npassword $argon2id$oops"),
            (EntryKind::USER, "greedy", b"user 1\npassword $argon2id$v=19$m=4294967,t=2,p=1$bm9ib2R5bm9ib2R5$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"),
            (EntryKind(77), "later", b"what a later version keeps"),
        ],
    );
    let database = open(folder.path());
    states(&database);
    let named: Vec<(&str, String)> =
        database.set_aside().into_iter().map(|aside| (aside.what, aside.name)).collect();
    let expected = [
        ("user", "eve"),
        ("user", "greedy"),
        ("tenant", "bad"),
        ("tenant", "wrong"),
        ("user of a tenant", "guest"),
        ("user of a tenant", "homeless"),
        ("standing query", "drops"),
        ("standing query", "garbage"),
        ("standing query", "long"),
        ("standing query", "no query"),
        ("standing query", "other name"),
        ("standing query", "refused"),
        ("standing query", "rules"),
    ];
    assert_eq!(named, expected.map(|(what, name)| (what, name.to_string())));
    // Those that only fail when they are planned are found without opening too.
    let found = tanglewood_database::set_aside(&database.snapshot());
    assert_eq!(found.len(), expected.len() - 1, "all but `refused`, which is told by its installation");
    assert_eq!(database.tenants()["good"].allowance.share, 7);
    assert!(database.users().log_on("eve", "whatever it is").is_err());
    assert_eq!(run(&database, "SHOW USERS YIELD user, suspended WHERE suspended").len(), 2);
    let reasons =
        run(&database, "SHOW USERS YIELD user, failure WHERE failure IS NOT NULL RETURN user, failure");
    assert_eq!(reasons.iter().map(|row| row[0].as_str().unwrap()).collect::<Vec<_>>(), ["eve", "greedy"]);
    let listed = run(&database, "SHOW TENANTS YIELD name, user, share, failure WHERE share IS NULL");
    let listed: Vec<_> = listed.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    let aside = [(Some("bad"), None), (Some("wrong"), None), (None, Some("guest")), (None, Some("homeless"))];
    assert_eq!(listed, aside);
    assert!(run(&database, "SHOW TENANTS").iter().all(|row| row[2].is_null() != row[9].is_null()));
    for (what, name) in expected {
        match what {
            "user" => run(&database, &format!("DROP USER {name}")),
            "tenant" => run(&database, &format!("DROP TENANT `{name}`")),
            "user of a tenant" => run(&database, &format!("ALTER TENANT nowhere REMOVE USER {name}")),
            _ => run(&database, &format!("DROP STANDING QUERY `{name}`")),
        };
    }
    assert_eq!(database.set_aside(), []);
    database.close().unwrap();
    let database = open(folder.path());
    assert_eq!(database.set_aside(), []);
    assert_eq!((database.users().names(), database.tenants().len()), (vec!["ada".to_string()], 1));
    let snapshot = database.snapshot();
    assert!(snapshot.catalog().entries().get(EntryKind(77), "later").is_some(), "it is kept");
}

/// Declared again, what cannot be read is whole.
#[test]
fn entries_that_cannot_be_read_can_be_declared_again() {
    let folder = TemporaryFolder::new("again").unwrap();
    open(folder.path()).close().unwrap();
    forge(folder.path(), &[(EntryKind::TENANT, "t", b"?"), (EntryKind::USER, "u", b"?")]);
    let database = open(folder.path());
    assert_eq!(database.set_aside().len(), 2);
    run(&database, "CREATE TENANT t SET SHARE 3");
    run(&database, "ALTER USER u SET PASSWORD 'engine no 1'");
    assert_eq!(database.set_aside(), []);
    database.close().unwrap();
    let database = open(folder.path());
    assert_eq!((database.set_aside(), database.tenants()["t"].allowance.share), (vec![], 3));
    assert!(database.users().log_on("u", "engine no 1").unwrap().is_some());
}

#[test]
fn files_of_earlier_versions_become_entries_once() {
    let folder = TemporaryFolder::new("migrate").unwrap();
    open(folder.path()).close().unwrap();
    let hash = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let files = [
        ("users.json", format!(r#"{{"version":1,"users":[{{"name":"ada","password":"{hash}"}}]}}"#)),
        (
            "tenants.cypher",
            "// Tenants\nCREATE TENANT `acme` SET SHARE 50\nALTER TENANT `acme` ADD USER `al` SET SHARE 3\nnonsense\n".to_string(),
        ),
        (
            "standing.cypher",
            "// Standing\nCREATE STANDING QUERY `big` AS MATCH (p:P)\nRETURN count(p) AS n;\nCREATE nonsense;\n".to_string(),
        ),
    ];
    let put = || {
        for (name, text) in &files {
            world::files::write_bytes(&folder.path().join(name), text.as_bytes()).unwrap();
        }
    };
    put();
    let database = open(folder.path());
    assert!(files.iter().all(|(name, _)| !world::files::exists(&folder.path().join(name))));
    assert_eq!(database.users().names(), ["ada"]);
    assert_eq!(database.tenants()["acme"].users["al"].share, 3);
    let expected = [("big".to_string(), "running"), ("line 4 of standing.cypher".to_string(), "set aside")];
    assert_eq!(states(&database), expected);
    let aside: Vec<String> = database.set_aside().into_iter().map(|aside| aside.name).collect();
    assert_eq!(aside, ["line 4 of tenants.cypher", "line 4 of standing.cypher"]);
    run(&database, "DROP USER ada");
    run(&database, "DROP STANDING QUERY big");
    run(&database, "DROP TENANT acme");
    database.close().unwrap();
    // Whoever puts the files back brings nothing back.
    put();
    let database = open(folder.path());
    assert!(database.users().is_empty() && database.tenants().is_empty());
    assert_eq!(states(&database).len(), 1);
}

/// A file of users that cannot be read must not open the interface to everybody.
#[test]
fn a_damaged_file_of_users_counts_as_a_user() {
    for damage in ["{", r#"{"users":[{"name":"ada"}]}"#, "", "\u{0}"] {
        let folder = TemporaryFolder::new("damaged-users").unwrap();
        open(folder.path()).close().unwrap();
        world::files::write_bytes(&folder.path().join("users.json"), damage.as_bytes()).unwrap();
        let database = open(folder.path());
        assert_eq!(database.users().names(), ["users.json"], "{damage}");
        assert!(database.users().log_on("users.json", "").is_err());
        database.close().unwrap();
    }
}

/// Twelve were acknowledged, and one was there.
#[test]
fn users_made_at_once_are_all_there() {
    let folder = TemporaryFolder::new("at-once").unwrap();
    let database = open(folder.path());
    world::threads::in_parallel("makers", 12, |at| {
        run(&database, &format!("CREATE USER u{at} SET PASSWORD 'long enough {at}'"));
    });
    assert_eq!(database.users().names().len(), 12);
    drop(database);
    let database = open(folder.path());
    assert_eq!(database.users().names().len(), 12);
    assert!(database.users().log_on("u7", "long enough 7").unwrap().is_some());
    // Of those who make the same user one is right.
    let made = std::sync::Mutex::new(0);
    world::threads::in_parallel("makers", 4, |at| {
        let text = format!("CREATE USER same SET PASSWORD 'long enough {at}'");
        let outcome = database.session().query(&text, Params::new()).and_then(|result| result.rows());
        *made.lock().unwrap() += usize::from(outcome.is_ok());
    });
    assert_eq!(made.into_inner().unwrap(), 1);
}

/// An open must neither wait for a first answer nor be unable to end it.
#[test]
fn a_query_that_takes_long_holds_up_neither_open_nor_drop_nor_close() {
    let folder = TemporaryFolder::new("slow").unwrap();
    let database = open(folder.path());
    run(&database, "UNWIND range(1, 20000) AS i CREATE (:P {x: i})");
    database.close().unwrap();
    let slow = b"CREATE STANDING QUERY slow AS MATCH (a:P), (b:P), (c:P) WHERE a.x + b.x + c.x = -1 RETURN count(*) AS n";
    let fine = b"CREATE STANDING QUERY zz AS MATCH (a:P) RETURN count(*) AS n";
    forge(folder.path(), &[(EntryKind::STANDING, "slow", slow), (EntryKind::STANDING, "zz", fine)]);
    let begin = Instant::now();
    let database = open(folder.path());
    assert!(begin.elapsed() < Duration::from_secs(5));
    let listed = run(&database, "SHOW STANDING QUERIES YIELD name, state");
    assert_eq!((listed[0][0].as_str(), listed[0][1].as_str()), (Some("slow"), Some("installing")));
    assert_eq!(
        refusal(&database, "CREATE STANDING QUERY slow AS RETURN 1 AS x").code,
        "Tanglewood.ClientError.Standing.NameTaken"
    );
    run(&database, "CREATE STANDING QUERY another AS MATCH (a:P) RETURN a.x AS x");
    run(&database, "DROP STANDING QUERY slow");
    assert_eq!(states(&database), [("another".to_string(), "running"), ("zz".to_string(), "running")]);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    database.close().unwrap();
    forge(folder.path(), &[(EntryKind::STANDING, "slow", slow)]);
    let database = open(folder.path());
    std::thread::sleep(Duration::from_millis(50));
    database.close().unwrap();
    let database = open(folder.path());
    run(&database, "DROP STANDING QUERY slow");
    database.close().unwrap();
}

/// Nobody is left to set a query aside that ends the whole process while it is installed; so the next processes count.
#[test]
fn a_query_at_whose_installation_the_process_dies_is_set_aside_after_some_deaths() {
    let opened = |disk: &SimDisk| {
        let options = Options { executors: Some(1), ..Options::default() };
        Database::open_on(Arc::new(disk.clone()), Path::new("/db"), options).unwrap()
    };
    let mut disk = SimDisk::new();
    let database = opened(&disk);
    run(&database, "UNWIND range(1, 20000) AS i CREATE (:P {x: i})");
    for name in ["aa", "zz"] {
        run(&database, &format!("CREATE STANDING QUERY {name} AS MATCH (a:P) RETURN count(*) AS n"));
    }
    database.close().unwrap();
    // It takes so long that it is under way whenever the process dies.
    let pill = b"CREATE STANDING QUERY pill AS MATCH (a:P), (b:P), (c:P) WHERE a.x + b.x + c.x = -1 RETURN count(*) AS n";
    forge_on(Arc::new(disk.clone()), Path::new("/db"), &[(EntryKind::STANDING, "pill", pill)]);
    let state = |database: &Database, name: &str| {
        let all = database.standing();
        all.into_iter().find(|query| query.name == name).map(|query| query.state.name())
    };
    let is_noted = |disk: &SimDisk, begun: u32| {
        let file = disk.read_whole(Path::new("/db/installing.json")).unwrap_or_default();
        let text = String::from_utf8(file).unwrap();
        if begun == 0 { text == "{}" } else { text.contains(&format!("\"pill\":{begun}")) }
    };
    let until = |what: &dyn Fn() -> bool| {
        let begin = Instant::now();
        while !what() {
            assert!(begin.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    // Once it is only known that some installation was under way, then three times that it was this one.
    for begun in 0..=3 {
        let database = opened(&disk);
        until(&|| state(&database, "aa") == Some("running") && is_noted(&disk, begun));
        disk = disk.kill();
    }
    let database = opened(&disk);
    until(&|| state(&database, "zz") == Some("running"));
    assert_eq!(state(&database, "pill"), Some("set aside"));
    let aside = database.set_aside();
    assert!(aside[0].why.contains("the process ended 3 times"), "{aside:?}");
    database.close().unwrap();
    let as_disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let checked = tanglewood_database::check(&as_disk, "/db").unwrap();
    assert_eq!(checked.set_aside.len(), 1, "whoever checks is told, and lives");
    // Asked for, it is tried again; a close is no death.
    for _ in 0..5 {
        let database = opened(&disk);
        if state(&database, "pill") == Some("set aside") {
            run(&database, "ALTER STANDING QUERY pill RETRY");
        }
        until(&|| {
            state(&database, "pill") == Some("installing") && state(&database, "aa") == Some("running")
        });
        database.close().unwrap();
        assert!(!disk.exists(Path::new("/db/installing.json")).unwrap());
    }
    let database = opened(&disk);
    run(&database, "DROP STANDING QUERY pill");
    assert_eq!(states(&database).len(), 2);
    database.close().unwrap();
}

/// The memory of who pays bounds a first answer too.
#[test]
fn a_first_answer_that_passes_the_memory_of_its_tenant_is_set_aside() {
    let folder = TemporaryFolder::new("large").unwrap();
    let database = open(folder.path());
    run(&database, "UNWIND range(1, 3000) AS i CREATE (:P {x: i})");
    run(&database, "CREATE TENANT small SET MEMORY '5MB'");
    let refused = refusal(
        &database,
        "CREATE STANDING QUERY large FOR TENANT small AS MATCH (a:P), (b:P) RETURN a.x AS a, b.x AS b",
    );
    assert_eq!(refused.code, "Tanglewood.ClientError.Standing.Limit", "{refused}");
    database.close().unwrap();
    let large =
        b"CREATE STANDING QUERY large FOR TENANT small AS MATCH (a:P), (b:P) RETURN a.x AS a, b.x AS b";
    forge(folder.path(), &[(EntryKind::STANDING, "large", large)]);
    let database = open(folder.path());
    assert_eq!(states(&database), [("large".to_string(), "set aside")]);
    assert!(database.set_aside()[0].why.contains("memory of the tenant"));
}

#[test]
fn in_memory_there_are_users_too() {
    let database = Database::open(MEMORY, options()).unwrap();
    run(&database, "CREATE USER ada SET PASSWORD 'engine no 1'");
    assert!(database.users().log_on("ada", "engine no 1").unwrap().is_some());
}
