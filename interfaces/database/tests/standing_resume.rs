//! A reader that resumes gets every change exactly once: from every mark, from the middle of a commit, after the
//! database was opened again or its process was killed.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "standing_resume/copy.rs"]
mod copy;
#[path = "standing_resume/killed.rs"]
mod killed;

use copy::{Copy, SHAPES, asked, random_commit};
use std::collections::BTreeMap;
use std::time::Duration;
use tanglewood_database::{Database, Error, ImportOptions, MEMORY, Mark, Options, Params, Value, params};
use world::chance::Chance;
use world::files::TemporaryFolder;

fn options() -> Options {
    Options { executors: Some(2), ..Options::default() }
}

fn run(database: &Database, text: &str) -> Vec<Vec<Value>> {
    let rows = database.session().query(text, params! { "x" => 3 }).and_then(|result| result.rows());
    rows.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(database: &Database, text: &str) -> Error {
    database.session().query(text, params! { "x" => 3 }).map(drop).unwrap_err()
}

/// What each query answered at each commit, and when that was.
#[derive(Default)]
struct Past {
    answers: BTreeMap<u64, Vec<copy::Rows>>,
    times_ms: BTreeMap<u64, i64>,
}

impl Past {
    fn remember(&mut self, database: &Database) {
        let (mut session, newest) = (database.session(), database.kept().1);
        let answers = SHAPES.iter().map(|text| asked(&mut session, text)).collect();
        self.answers.insert(newest.commit_version, answers);
        self.times_ms.insert(newest.commit_version, (newest.time_micros / 1_000) as i64);
    }
    /// A copy, as of a mark, is what the query answered then.
    fn check(&self, copy: &Copy, query: usize, why: &str) {
        let (_, answers) = self.answers.range(..=copy.commit_version).next_back().unwrap();
        assert_eq!(copy.rows, answers[query], "{why}, commit {}: {}", copy.commit_version, SHAPES[query]);
    }
}

/// Goes on from a copy to the newest commit, and compares it at each mark.
fn go_on(database: &Database, past: &Past, query: usize, from: &Copy, why: &str) {
    let mut session = database.session();
    let mark = from.mark.clone().unwrap();
    let params = params! { "x" => 3, "mark" => mark };
    let mut told = session
        .query(&format!("SUBSCRIBE q{query} FROM $mark"), params)
        .unwrap_or_else(|error| panic!("{why}, from {:?}: {error}", from.mark));
    let mut copy = from.clone();
    let newest = database.snapshot().commit_version();
    loop {
        copy.read(&mut told, usize::MAX, &mut |copy, row_time| {
            past.check(copy, query, why);
            let time = past.times_ms.get(&copy.commit_version).copied().filter(|time| *time > 0);
            assert!(
                !past.times_ms.contains_key(&copy.commit_version) || row_time == time,
                "{why}: {} {row_time:?} {time:?}",
                copy.commit_version
            );
        });
        if copy.commit_version >= newest {
            break;
        }
    }
    assert_eq!(copy.commit_version, newest, "{why}");
}

/// Random commits with readers that break off anywhere; then every mark that was ever given is gone on from.
fn every_mark(seed: u64, rounds: usize, between: impl Fn(usize, &Database)) {
    let folder = TemporaryFolder::new("standing-resume").unwrap();
    let (mut chance, mut past) = (Chance::seeded(seed), Past::default());
    let database = Database::open(folder.path(), options()).unwrap();
    let mut copies: Vec<Vec<Copy>> = Vec::new();
    for (number, text) in SHAPES.iter().enumerate() {
        run(&database, &format!("CREATE STANDING QUERY q{number} AS {text} RETAIN 1h"));
        past.remember(&database);
        copies.push(Vec::new());
    }
    for round in 0..rounds {
        random_commit(&database, &mut chance);
        past.remember(&database);
        between(round, &database);
        past.remember(&database);
        for (query, copies) in copies.iter_mut().enumerate() {
            if chance.below(4) != 0 {
                continue;
            }
            // From the last mark, or, where there is none, from the whole answer; and in the middle of a commit that is it.
            let (mut session, mut copy) = (database.session(), copies.last().cloned().unwrap_or_default());
            let text = match &copy.mark {
                Some(mark) => format!("SUBSCRIBE q{query} FROM '{mark}'"),
                None => format!("SUBSCRIBE q{query} SNAPSHOT"),
            };
            let mut told = session.query(&text, params! { "x" => 3 }).unwrap();
            let mut rows_left = chance.below(40) as usize;
            while rows_left > 0
                && (copy.mark.is_none() || copy.commit_version < database.snapshot().commit_version())
            {
                rows_left = copy.read(&mut told, rows_left, &mut |copy, _| {
                    past.check(copy, query, "read as it came");
                    copies.push(copy.clone());
                });
            }
        }
    }
    assert!(copies.iter().all(|copies| copies.len() > 2), "seed {seed}");
    let all = |database: &Database, past: &Past, why: &str| {
        for (query, copies) in copies.iter().enumerate() {
            copies.iter().for_each(|copy| go_on(database, past, query, copy, &format!("seed {seed}, {why}")));
        }
    };
    all(&database, &past, "without a restart");
    database.close().unwrap();
    let database = Database::open(folder.path(), options()).unwrap();
    all(&database, &past, "after a restart");
    (0..5).for_each(|_| {
        random_commit(&database, &mut chance);
        past.remember(&database);
    });
    // Without a checkpoint.
    drop(database);
    let database = Database::open(folder.path(), options()).unwrap();
    all(&database, &past, "after another");
}

#[test]
fn every_mark_can_be_gone_on_from() {
    let seeds = std::env::var("TANGLEWOOD_STANDING_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    for seed in 0..seeds {
        every_mark(seed, 40, |round, database| {
            if round % 9 == 5 {
                database.checkpoint().unwrap();
            }
        });
    }
}

#[test]
fn marks_before_an_import_and_before_names_that_came_later() {
    let file = TemporaryFolder::new("standing-resume-import").unwrap();
    let path = file.path().join("edges.txt");
    world::files::write_bytes(&path, b"1 2\n2 3\n3 1\n").unwrap();
    every_mark(77, 24, |round, database| {
        if round == 8 || round == 16 {
            let (label, kind) = (Some("P".to_string()), Some("R".to_string()));
            let import = ImportOptions {
                from: path.clone(),
                vertex_label: label,
                edge_type: kind,
                ..ImportOptions::default()
            };
            let existing = ingest::ExistingPolicy::Merge;
            database.import(&ImportOptions { existing, ..import }).unwrap();
        }
        if round == 12 {
            run(database, "CREATE INDEX FOR (p:P) ON (p.x)");
            run(database, "CREATE (:Z)-[:NEVER]->(:Z)");
        }
    });
}

/// Reads marks until the newest commit: how many rows came, and the last mark.
fn mark_of(database: &Database, text: &str) -> (Copy, usize) {
    let (mut session, mut copy, mut marks) = (database.session(), Copy::default(), 0);
    let mut told = session.query(text, params! { "x" => 3 }).unwrap();
    while copy.mark.is_none() || copy.commit_version < database.snapshot().commit_version() {
        copy.read(&mut told, usize::MAX, &mut |_, _| marks += 1);
    }
    (copy, marks)
}

#[test]
fn an_empty_answer_has_a_mark_too() {
    for folder in [None, Some(TemporaryFolder::new("standing-empty").unwrap())] {
        let path = folder.as_ref().map_or(std::path::Path::new(MEMORY), |folder| folder.path());
        let database = Database::open(path, options()).unwrap();
        database.create_standing("q", "MATCH (n:Nobody) RETURN n.x AS x").unwrap();
        for text in ["SUBSCRIBE q SNAPSHOT", "SUBSCRIBE q", "SUBSCRIBE q SNAPSHOT ENVELOPE UPSERT (x)"] {
            let (copy, marks) = mark_of(&database, text);
            assert_eq!(
                (copy.rows.len(), marks, copy.commit_version),
                (0, 1, database.snapshot().commit_version()),
                "{text}"
            );
            assert_eq!(
                copy.mark.as_ref().map(|mark| mark.parse::<Mark>().unwrap().at.commit_version),
                Some(copy.commit_version)
            );
        }
        let (copy, _) = mark_of(&database, "SUBSCRIBE q");
        run(&database, "CREATE (:Nobody {x: 1})");
        let mut session = database.session();
        let mut told =
            session.query(&format!("SUBSCRIBE q FROM '{}'", copy.mark.unwrap()), Params::new()).unwrap();
        let mut copy = Copy::default();
        while copy.rows.is_empty() {
            copy.read(&mut told, usize::MAX, &mut |_, _| ());
        }
        assert_eq!(copy.commit_version, database.snapshot().commit_version());
    }
}

#[test]
fn marks_of_others_and_what_is_no_mark_are_refused() {
    let folders = [(); 2].map(|()| TemporaryFolder::new("standing-marks").unwrap());
    let [database, other] = [0, 1].map(|at: usize| Database::open(folders[at].path(), options()).unwrap());
    for database in [&database, &other] {
        run(database, "UNWIND range(1, 5) AS x CREATE (:P {x: x})");
        run(database, "CREATE STANDING QUERY q AS MATCH (p:P) RETURN p.x AS x");
        run(database, "CREATE STANDING QUERY r AS MATCH (p:P) RETURN p.x AS x");
        run(database, "CREATE STANDING QUERY s AS MATCH (p:P) WHERE p.x > $x RETURN p.x AS x");
        run(
            database,
            "CREATE STANDING QUERY rules AS DATALOG { big(x) :- P.x(_, x), x > $x. ?- big(x). } RETAIN 2h",
        );
    }
    let mark = |database: &Database, name: &str| {
        mark_of(database, &format!("SUBSCRIBE {name} SNAPSHOT")).0.mark.unwrap()
    };
    let marks = ["q", "r", "s", "rules"].map(|name| (name, mark(&database, name)));
    let code = |database: &Database, name: &str, mark: &str| {
        refused(database, &format!("SUBSCRIBE {name} FROM '{mark}'")).code
    };
    let foreign = "Tanglewood.ClientError.Standing.ForeignMark";
    for (name, _) in &marks {
        for (of, mark) in &marks {
            if name != of {
                assert_eq!(code(&database, name, mark), foreign, "{of} for {name}");
            }
            assert_eq!(code(&other, name, mark), foreign, "of another database");
        }
    }
    // Other arguments.
    let with = |x: i64, mark: &str| {
        let params = params! { "x" => x, "mark" => mark };
        database.session().query("SUBSCRIBE s FROM $mark", params).map(drop)
    };
    assert!(with(3, &marks[2].1).is_ok());
    assert_eq!(with(4, &marks[2].1).unwrap_err().code, foreign);
    // A commit at another time, one that has not come, and what is no mark.
    let (commit_version, rest) = marks[0].1.split_once('-').unwrap();
    let commit_version: u64 = commit_version.parse().unwrap();
    for moved in [commit_version - 1, commit_version - 2, 0] {
        assert_eq!(code(&database, "q", &format!("{moved}-{rest}")), foreign, "{moved}");
    }
    assert_eq!(
        code(&database, "q", &format!("{}-{rest}", commit_version + 1_000)),
        "Tanglewood.ClientError.Standing.NotKept"
    );
    let wrong = "Neo.ClientError.Statement.ArgumentError";
    for text in ["", "x", "0", "-1", "1-2-3", "9999999999999999999999-00000000-0", "é", "1-00000000-"] {
        let error = refused(&database, &format!("SUBSCRIBE q FROM '{text}'"));
        assert!(error.code == wrong && error.hint.is_some(), "{text}: {error}");
    }
    for value in [Value::Null, Value::Int(-1), Value::Float(1.5), Value::from(true), Value::list(vec![])] {
        let told = database.session().query("SUBSCRIBE q FROM $mark", Params::from([("mark".into(), value)]));
        assert_eq!(told.map(drop).unwrap_err().code, wrong);
    }
    // Of a query that was made anew: as long as it is the same one.
    run(&database, "DROP STANDING QUERY q");
    assert_eq!(code(&database, "q", &marks[0].1), "Tanglewood.ClientError.Standing.NotFound");
    run(&database, "CREATE STANDING QUERY q AS MATCH (p:P) RETURN p.x AS x RETAIN 1d");
    run(&database, "CREATE (:P {x: 9})");
    let subscription = database.resume("q", &Params::new(), &marks[0].1.parse().unwrap()).unwrap();
    let event = subscription.next(Duration::from_secs(10)).unwrap().unwrap();
    assert_eq!(event.commit_version(), database.snapshot().commit_version());
    run(&database, "DROP STANDING QUERY q");
    run(&database, "CREATE STANDING QUERY q AS MATCH (p:P) RETURN p.x + 1 AS x");
    assert_eq!(code(&database, "q", &marks[0].1), foreign);
    // A backup is the same database, until its commits are others.
    assert_eq!(code(&database, "s", &format!("{}-0", marks[2].1.rsplit_once('-').unwrap().0)), foreign);
}

#[test]
fn a_retention_is_kept_with_the_query_and_goes_with_it() {
    let folder = TemporaryFolder::new("standing-retain").unwrap();
    let open = || Database::open(folder.path(), options()).unwrap();
    let database = open();
    let retained = |database: &Database| {
        let listed =
            "SHOW STANDING QUERIES YIELD name, query, retain RETURN name, query, retain ORDER BY name";
        run(database, listed)
            .iter()
            .map(|row| {
                format!(
                    "{} {} {}",
                    row[0].as_str().unwrap(),
                    row[1].as_str().unwrap(),
                    row[2].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    run(&database, "CREATE (:P {x: 1})");
    run(&database, "CREATE STANDING QUERY a AS MATCH (p:P) RETURN p.x AS x RETAIN NONE");
    database.create_standing("b", "MATCH (p:P) RETURN p.x AS x /* as */ retain 90s; ").unwrap();
    let (a, b) = (mark_of(&database, "SUBSCRIBE a SNAPSHOT").0, mark_of(&database, "SUBSCRIBE b SNAPSHOT").0);
    let expected = ["a MATCH (p:P) RETURN p.x AS x NONE", "b MATCH (p:P) RETURN p.x AS x 90s"];
    assert_eq!(retained(&database), expected);
    run(&database, "MATCH (p:P) SET p.x = 2");
    database.close().unwrap();
    let database = open();
    assert_eq!(retained(&database), expected);
    // What b keeps is there for a as well.
    for (name, copy) in [("a", &a), ("b", &b)] {
        let subscription =
            database.resume(name, &Params::new(), &copy.mark.as_ref().unwrap().parse().unwrap()).unwrap();
        assert!(subscription.next(Duration::from_secs(10)).unwrap().is_some());
    }
    run(&database, "DROP STANDING QUERY b");
    run(&database, "MATCH (p:P) SET p.x = 3");
    database.close().unwrap();
    let database = open();
    let error = refused(&database, &format!("SUBSCRIBE a FROM '{}'", a.mark.unwrap()));
    assert_eq!(error.code, "Tanglewood.ClientError.Standing.NotKept");
    assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("RETAIN")), "{error}");
    for wrong in [
        "RETAIN",
        "RETAIN 1",
        "RETAIN 0s",
        "RETAIN 1h 2h",
        "RETAIN 1h RETURN 2 AS y",
        "RETAIN 5y",
        "RETAIN NONE NONE",
        "RETAIN 11y",
    ] {
        let error = refused(&database, &format!("CREATE STANDING QUERY w AS RETURN 1 AS x {wrong}"));
        assert!(
            error.code == "Neo.ClientError.Statement.SyntaxError" && error.message.len() < 300,
            "{wrong}: {error}"
        );
    }
    for wrong in ["RETAIN 1", "RETAIN", "RETAIN 1h x"] {
        let error = refused(&database, &format!("CREATE STANDING QUERY w AS DATALOG {{ ?- P(a). }} {wrong}"));
        assert_eq!(error.code, "Neo.ClientError.Statement.SyntaxError", "{wrong}: {error}");
    }
    // Not a word of its own elsewhere.
    run(
        &database,
        "CREATE STANDING QUERY w AS WITH 'RETAIN 1h' AS retain RETURN retain, 1 AS `RETAIN 2h` // RETAIN 3h\n",
    );
    assert!(retained(&database)[1].ends_with(" 10m"), "{:?}", retained(&database));
}

/// In memory nothing is kept but what the queries remember.
#[test]
fn in_memory_the_recent_past_is_remembered() {
    let database = Database::open(MEMORY, options()).unwrap();
    run(&database, "CREATE STANDING QUERY q AS MATCH (p:P) RETURN p.x AS x");
    let before = mark_of(&database, "SUBSCRIBE q SNAPSHOT").0;
    (0..50).for_each(|x| drop(run(&database, &format!("CREATE (:P {{x: {x}}})"))));
    let (mut session, mut copy) = (database.session(), before.clone());
    let mut told =
        session.query("SUBSCRIBE q FROM $mark", params! { "mark" => before.mark.clone().unwrap() }).unwrap();
    let mut marks = 0;
    while copy.commit_version < database.snapshot().commit_version() {
        copy.read(&mut told, usize::MAX, &mut |_, _| marks += 1);
    }
    assert_eq!((copy.rows.len(), marks), (50, 51), "each commit has a mark of its own");
    drop((told, session));
    run(&database, "DROP STANDING QUERY q");
    run(&database, "CREATE STANDING QUERY q AS MATCH (p:P) RETURN p.x AS x");
    let error = refused(&database, &format!("SUBSCRIBE q FROM '{}'", before.mark.unwrap()));
    assert_eq!(error.code, "Tanglewood.ClientError.Standing.NotKept");
    assert!(error.hint.is_some(), "{error}");
}

/// Marks of commits that change nothing come four times a second at most; those of changes come with each.
#[test]
fn marks_of_nothing_are_few() {
    let database = Database::open(MEMORY, options()).unwrap();
    run(&database, "CREATE STANDING QUERY q AS MATCH (p:P) RETURN p.x AS x");
    let mut session = database.session();
    let mut told = session.query("SUBSCRIBE q", Params::new()).unwrap();
    let (mut copy, mut marks, begin) = (Copy::default(), 0, std::time::Instant::now());
    while begin.elapsed() < Duration::from_secs(1) {
        run(&database, "CREATE (:Q)");
        while let Some(Some(batch)) = told.next_batch_timeout(Duration::from_millis(1)).unwrap() {
            marks += batch.len();
        }
    }
    // The first says where it begins, and the next comes at once.
    assert!((3..=7).contains(&marks), "{marks} marks");
    run(&database, "CREATE (:P {x: 1})");
    while copy.rows.is_empty() {
        copy.read(&mut told, usize::MAX, &mut |_, _| ());
    }
    assert_eq!(copy.commit_version, database.snapshot().commit_version());
}
