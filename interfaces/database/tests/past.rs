//! AS OF in statements, history as an option that stays with the database, and backups made while writers run.
#![allow(clippy::disallowed_methods)]

use model::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use tanglewood_database::{Database, History, Mode, Options, Params, restore};
use world::files::TemporaryFolder;
use world::threads::in_parallel;

fn rows(database: &Database, text: &str, params: Params) -> Vec<Vec<Value>> {
    database.session().query(text, params).unwrap().rows().unwrap()
}

/// The first column, which holds numbers.
fn numbers(database: &Database, text: &str, params: Params) -> Vec<i64> {
    rows(database, text, params).iter().map(|row| row[0].as_int().unwrap()).collect()
}

fn commit_version(database: &Database, text: &str) -> i64 {
    let mut session = database.session();
    session.query(text, Params::new()).unwrap().finish().unwrap().commit_version as i64
}

fn with_history() -> Options {
    Options { history: Some(History::Forever), ..Options::default() }
}

#[test]
fn statements_ask_older_versions() {
    let folder = TemporaryFolder::new("past").unwrap();
    let database = Database::open(folder.path(), with_history()).unwrap();
    let first = commit_version(&database, "CREATE (:P {name: 'Ann', age: 30})");
    let then = rows(&database, "RETURN datetime.realtime()", Params::new())[0][0].clone();
    world::threads::sleep(std::time::Duration::from_millis(2));
    let second = commit_version(&database, "MATCH (p:P) SET p.age = 31");
    database.session().query("CREATE INDEX FOR (p:P) ON (p.name)", Params::new()).unwrap();
    commit_version(&database, "MATCH (p:P) DELETE p");
    let ask = "MATCH (p:P {name: 'Ann'}) RETURN p.age";
    let check = |database: &Database| {
        let age =
            |version: &str, params: Params| numbers(database, &format!("AS OF {version} {ask}"), params);
        assert_eq!(age(&first.to_string(), Params::new()), [30]);
        assert_eq!(age(&second.to_string(), Params::new()), [31]);
        assert!(age("0", Params::new()).is_empty() && rows(database, ask, Params::new()).is_empty());
        let given = |value: Value| Params::from([("v".into(), value)]);
        assert_eq!(age("$v", given(second.into())), [31]);
        assert_eq!(age("$v", given(then.clone())), [30]);
        let text = model::temporal::text(&then).unwrap();
        assert_eq!(age("$v", given(text.as_str().into())), [30]);
        assert_eq!(age(&format!("datetime('{text}')"), Params::new()), [30]);
        assert!(age("datetime()", Params::new()).is_empty());
    };
    check(&database);
    let mut session = database.session();
    session.begin(Mode::Write).unwrap();
    session.query("CREATE (:P {name: 'Bo'})", Params::new()).unwrap();
    let inside = session.query(&format!("AS OF {first} {ask}"), Params::new()).unwrap().rows().unwrap();
    assert_eq!(inside[0][0].as_int(), Some(30));
    session.commit().unwrap();
    let code = |text: &str| database.session().query(text, Params::new()).map(|_| ()).unwrap_err().code;
    assert_eq!(code("AS OF 1000000 RETURN 1"), "Tanglewood.ClientError.History.NotReached");
    assert_eq!(code("AS OF datetime('2999-01-01') RETURN 1"), "Tanglewood.ClientError.History.NotReached");
    assert_eq!(code("AS OF -1 RETURN 1"), "Neo.ClientError.Statement.ArgumentError");
    assert_eq!(code("AS OF 'soon' RETURN 1"), "Neo.ClientError.Statement.ArgumentError");
    drop(session);
    database.close().unwrap();

    let database = Database::open(folder.path(), Options::default()).unwrap();
    assert_eq!(database.history(), History::Forever, "it stays with the database");
    check(&database);
    database.set_history(History::None).unwrap();
    let error = database.session().query(&format!("AS OF {first} RETURN 1"), Params::new()).map(|_| ());
    let error = error.unwrap_err();
    assert_eq!(error.code, "Tanglewood.ClientError.History.NotKept");
    assert!(error.hint.unwrap().contains("tanglewood history"));
}

/// Writers keep two numbers equal in each commit; whatever moment a backup catches, they are equal in it.
#[test]
fn a_backup_beside_writers_is_one_moment() {
    let folder = TemporaryFolder::new("backup").unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = Options { checkpoint_log_bytes: 4_096, ..with_history() };
    let database = Database::open(path("db"), options).unwrap();
    commit_version(&database, "CREATE (:A {n: 0}), (:B {n: 0})");
    let over = AtomicBool::new(false);
    let backups = 8;
    let reports = in_parallel("party", 3, |who| {
        if who > 0 {
            while !over.load(Ordering::Relaxed) {
                commit_version(&database, "MATCH (a:A), (b:B) SET a.n = a.n + 1, b.n = b.n + 1");
            }
            return Vec::new();
        }
        let reports: Vec<_> = (0..backups).map(|n| database.backup(path(&format!("backup {n}")))).collect();
        over.store(true, Ordering::Relaxed);
        reports
    });
    let mut last = 0;
    for (number, report) in reports.concat().into_iter().enumerate() {
        let report = report.unwrap();
        let restored = path(&format!("restored {number}"));
        restore(path(&format!("backup {number}")), &restored).unwrap();
        let copy = Database::open(&restored, Options::default()).unwrap();
        let found = numbers(&copy, "MATCH (a:A), (b:B) WHERE a.n = b.n RETURN a.n", Params::new());
        assert_eq!(found.len(), 1, "both numbers are equal");
        assert!(
            report.commit_version >= last && copy.snapshot().commit_version() == report.commit_version,
            "{report:?}"
        );
        last = report.commit_version;
        let past = format!("AS OF {} MATCH (a:A) RETURN a.n", report.commit_version);
        assert_eq!(numbers(&copy, &past, Params::new()), found);
    }
}
