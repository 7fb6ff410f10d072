//! Clauses and statements beyond openCypher, from text to rows.

use tanglewood_database::{
    Database, ImportOptions, Limits, MEMORY, Notification, Options, Params, Session, Value, params,
};

fn session() -> Session {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap().session()
}

/// The rows of an answer, each as text.
fn rows(session: &mut Session, text: &str, params: Params) -> Vec<String> {
    let rows = session.query(text, params).and_then(|result| result.rows());
    let rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
    rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>().join(" ")).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Int(int) => int.to_string(),
        Value::String(text) => format!("'{text}'"),
        Value::List(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

fn notifications(session: &mut Session, text: &str) -> Vec<Notification> {
    session.query(text, Params::new()).unwrap().finish().unwrap().notifications
}

#[test]
fn an_optional_call_of_a_procedure_keeps_rows_without_a_result() {
    let mut session = session();
    rows(&mut session, "CREATE (:A {x: 1})", Params::new());
    let text = "UNWIND [1, 2] AS x OPTIONAL CALL db.labels() YIELD label WHERE label = 'B' RETURN x, label";
    assert_eq!(rows(&mut session, text, Params::new()), ["1 null", "2 null"]);
    let text = "UNWIND [1, 2] AS x OPTIONAL CALL db.labels() YIELD label AS l RETURN x, l";
    assert_eq!(rows(&mut session, text, Params::new()), ["1 'A'", "2 'A'"]);
    let text = "OPTIONAL CALL db.relationshipTypes()";
    assert_eq!(rows(&mut session, text, Params::new()), ["null"]);
}

#[test]
fn a_plan_is_explained_without_its_parameters() {
    let mut session = session();
    let text = "EXPLAIN MATCH (n:A {x: $x}) RETURN n LIMIT $most";
    let summary = session.query(text, Params::new()).unwrap().finish().unwrap();
    assert!(summary.plan.is_some());
    assert!(session.query(text.strip_prefix("EXPLAIN ").unwrap(), Params::new()).is_err());
}

#[test]
fn a_misspelt_name_is_noticed_with_the_one_that_may_be_meant() {
    let mut session = session();
    rows(&mut session, "CREATE (:Person {name: 'Ada'})-[:KNOWS]->(:Persona)", Params::new());
    for (text, expected) in [
        (
            "MATCH (p:Persn) RETURN p",
            "the label `Persn` is not known to the database; did you mean `Person`?",
        ),
        (
            "MATCH ()-[:KNOW]->() RETURN 1",
            "the relationship type `KNOW` is not known to the database; did you mean `KNOWS`?",
        ),
        (
            "MATCH (p) RETURN p.nmae",
            "the property key `nmae` is not known to the database; did you mean `name`?",
        ),
        (
            "MATCH (p:Company) RETURN p",
            "the label `Company` is not known to the database; is it spelt right?",
        ),
    ] {
        let told = notifications(&mut session, text);
        assert_eq!(told.iter().map(|one| &*one.description).collect::<Vec<_>>(), [expected], "{text}");
    }
}

#[test]
fn hints_are_followed_or_answered() {
    let mut session = session();
    rows(&mut session, "CREATE INDEX FOR (n:A) ON (n.x)", Params::new());
    rows(&mut session, "UNWIND range(1, 100) AS x CREATE (:A {x: x, y: x})", Params::new());
    let followed = [
        "MATCH (n:A) USING INDEX n:A(x) WHERE n.x = 3 RETURN n.y",
        "MATCH (n:A) USING SCAN n:A WHERE n.y = 3 RETURN n.y",
        "MATCH (n:A) USING SCAN n:A WHERE n.x = 3 RETURN n.y",
        "MATCH (n:A)-->(m:A) USING INDEX n:A(x) USING INDEX m:A(x) WHERE n.x = 3 AND m.x = 4 RETURN n.y",
        "MATCH (n:A)-->(m:A)<--(o:A) USING JOIN ON m RETURN m.y",
        "OPTIONAL MATCH (n:A) USING SCAN n:A WHERE n.x = 3 RETURN n.y",
        "MATCH (n:A) USING SCAN n:A WHERE n.x = 3 RETURN count(*)",
    ];
    for text in followed {
        assert_eq!(notifications(&mut session, text), [], "{text}");
    }
    let answered = [
        ("MATCH (n:A) USING INDEX n:A(y) WHERE n.y = 3 RETURN n.y", "01N31"),
        ("MATCH (n:A) USING SCAN n:B WHERE n.x = 3 RETURN n.y", "01N30"),
        ("MATCH (n:A)-->(m:A) USING JOIN ON n RETURN m.y", "01N30"),
    ];
    for (text, status) in answered {
        let told = notifications(&mut session, text);
        assert!(
            told.iter().any(|one| one.gql_status == status && one.category == "HINT"),
            "{text}: {told:?}"
        );
    }
}

#[test]
fn small_statements_are_run_again_with_other_parameters_and_after_changes_of_names_and_indexes() {
    let mut session = session();
    rows(&mut session, "CREATE INDEX places FOR (n:A) ON (n.x)", Params::new());
    rows(&mut session, "UNWIND range(1, 20) AS x CREATE (:A {x: x})", Params::new());
    let find = "MATCH (n:A {x: $x}) WHERE n.x IN $among AND n.y IS NULL RETURN n.x + $more AS sum SKIP 0 LIMIT $most";
    for round in 0..200_i64 {
        let (x, most) = (1 + round % 20, round % 3);
        let among = Value::list(vec![x.into(), (round % 7).into(), "no".into()]);
        let params = params! { "x" => x, "among" => among, "more" => round, "most" => most };
        let found = rows(&mut session, find, params);
        let right: Vec<String> = (most > 0).then(|| (x + round).to_string()).into_iter().collect();
        assert_eq!(found, right, "round {round}");
    }
    let read = "MATCH (n:A {x: $x}) RETURN n.late";
    assert_eq!(rows(&mut session, read, params! { "x" => 5 }), ["null"]);
    // The name is new to the graph, and the line was compiled without it.
    rows(&mut session, "MATCH (n:A {x: $x}) SET n.late = $late, n:B", params! { "x" => 5, "late" => "yes" });
    assert_eq!(rows(&mut session, read, params! { "x" => 5 }), ["'yes'"]);
    rows(&mut session, "DROP INDEX places", Params::new());
    assert_eq!(rows(&mut session, read, params! { "x" => 5 }), ["'yes'"]);
    rows(&mut session, "CREATE INDEX others FOR (n:B) ON (n.late)", Params::new());
    rows(&mut session, "CREATE INDEX places FOR (n:A) ON (n.x)", Params::new());
    assert_eq!(rows(&mut session, read, params! { "x" => 5 }), ["'yes'"]);
}

#[test]
fn a_small_write_that_fails_or_is_too_long_leaves_nothing_of_what_it_tried() {
    let mut session = session();
    let count = "MATCH (n) RETURN count(n)";
    let text = "UNWIND $list AS x CREATE (n {x: 10 / x}) RETURN n.x";
    let numbers = |last: i64| Value::list((1..200).chain([last]).map(Value::Int).collect());
    assert!(session.query(text, params! { "list" => numbers(0) }).is_err());
    assert_eq!(rows(&mut session, count, Params::new()), ["0"]);
    assert_eq!(rows(&mut session, text, params! { "list" => numbers(1) }).len(), 200);
    assert_eq!(rows(&mut session, count, Params::new()), ["200"]);
    // Far too long for the thread that asks: what it wrote there is rolled back before executors begin anew.
    let long = Value::list((1..=50_000).map(Value::Int).collect());
    let result = session.query("UNWIND $list AS x CREATE ({x: x})", params! { "list" => long }).unwrap();
    assert_eq!(result.finish().unwrap().counters.nodes_created, 50_000);
    assert_eq!(rows(&mut session, count, Params::new()), ["50200"]);
}

#[test]
fn labels_and_types_are_given_by_values() {
    let mut session = session();
    let text = "UNWIND [['A', 'KNOWS'], [['A', 'B'], ['LIKES']]] AS row CREATE (n:X:$(row[0]) {x: 1})-[r:$(row[1])]->(:$($far)) RETURN labels(n), type(r)";
    let made = rows(&mut session, text, params! { "far" => "C" });
    assert_eq!(made, ["['X', 'A'] 'KNOWS'", "['X', 'A', 'B'] 'LIKES'"]);
    let mut count = |text: &str, label: Value| rows(&mut session, text, params! { "l" => label }).concat();
    let both = || Value::list(vec!["A".into(), "B".into()]);
    assert_eq!(count("MATCH (n:$($l)) RETURN count(n)", "A".into()), "2");
    assert_eq!(count("MATCH (n:$($l)) RETURN count(n)", both()), "1");
    assert_eq!(count("MATCH (n:X&$any($l)) RETURN count(n)", both()), "2");
    assert_eq!(count("MATCH (n:X&!$all($l)) RETURN count(n)", both()), "1");
    assert_eq!(count("MATCH (n:$($l)|C) RETURN count(n)", "B".into()), "3");
    assert_eq!(count("MATCH (n) WHERE n:$($l) RETURN count(n)", "C".into()), "2");
    assert_eq!(count("MATCH (:A)-[r:$($l)]->() RETURN type(r)", "LIKES".into()), "'LIKES'");
    assert_eq!(
        count(
            "MATCH (:A)-[r:$any($l)]->() RETURN count(r)",
            Value::list(vec!["LIKES".into(), "KNOWS".into()])
        ),
        "2"
    );
    assert_eq!(count("MATCH (n:B) SET n:$($l) RETURN labels(n)", "D".into()), "['X', 'A', 'B', 'D']");
    assert_eq!(
        count("MATCH (n:B) SET n:E:$($l):F REMOVE n:$($l) RETURN labels(n)", "D".into()),
        "['X', 'A', 'B', 'E', 'F']"
    );
    // What is there is found again, and what is made has all labels.
    let merge = "MERGE (n:Y:$($l) {y: 1}) ON CREATE SET n.made = 1 ON MATCH SET n.met = 1 RETURN labels(n), n.made, n.met";
    assert_eq!(count(merge, both()), "['A', 'B', 'Y'] 1 null");
    assert_eq!(count(merge, "B".into()), "['A', 'B', 'Y'] 1 1");
    assert_eq!(count(merge, "C".into()), "['C', 'Y'] 1 null");
    let edge = "MATCH (a:Y:A), (b:Y:C) MERGE (a)-[r:$($l)]->(b) RETURN type(r), count { (a)-->(b) }";
    assert_eq!(count(edge, "NEAR".into()), "'NEAR' 1");
    assert_eq!(count(edge, "FAR".into()), "'FAR' 2");
    assert_eq!(count(edge, "NEAR".into()), "'NEAR' 2");
    let mut fails = |text: &str, label: Value| session.query(text, params! { "l" => label }).is_err();
    assert!(fails("MERGE (:$($l))", 1.into()));
    assert!(fails("MERGE (:$($l))", Value::Null));
    assert!(fails("MERGE (a:Y)-[:$($l)]->(:Z)", both()));
    assert!(fails("CREATE (:$($l))", 1.into()));
    assert!(fails("CREATE ()-[:$($l)]->()", both()));
    assert!(fails("MATCH (n:A) SET n:$($l)", "".into()));
}

#[test]
fn transactions_are_listed_and_terminated_by_the_names_that_neo4j_gives_them() {
    let mut session = session();
    let mut other = session.database().session();
    let mut running = other.query("UNWIND range(1, 100000000) AS x RETURN x", Params::new()).unwrap();
    let text = "SHOW TRANSACTIONS YIELD transactionId, currentQuery, status, elapsedTime, startTime WHERE currentQuery STARTS WITH 'UNWIND' RETURN transactionId, status, elapsedTime.seconds < 60 AND datetime(startTime) <= datetime() AS recent";
    let result = session.query(text, Params::new()).unwrap().rows().unwrap();
    let id = result[0][0].as_str().unwrap().to_string();
    assert!(id.starts_with("neo4j-transaction-"), "{id}");
    assert_eq!(shown(&result[0][1]), "'Running'");
    assert_eq!(result[0][2].as_bool(), Some(true));
    let usual = session.query("SHOW TRANSACTIONS", Params::new()).unwrap();
    assert_eq!(usual.columns().len(), 10);
    drop(usual);
    let ended = rows(&mut session, &format!("TERMINATE TRANSACTION '{id}'"), Params::new());
    assert_eq!(ended, [format!("'{id}' '' 'Transaction terminated.'")]);
    let failure = loop {
        if let Err(error) = running.next_batch() {
            break error;
        }
    };
    assert!(failure.code.ends_with("Terminated"), "{failure}");
    let again = rows(&mut session, "TERMINATE TRANSACTION 'neo4j-transaction-999999'", Params::new());
    assert_eq!(again, ["'neo4j-transaction-999999' '' 'Transaction not found.'"]);
}

#[test]
fn commands_about_users_change_the_catalogue() {
    let mut session = session();
    assert!(rows(&mut session, "SHOW USERS", Params::new()).is_empty());
    rows(&mut session, "CREATE USER ada SET PASSWORD 'engine no 1' CHANGE NOT REQUIRED", Params::new());
    rows(&mut session, "CREATE USER ada IF NOT EXISTS SET PASSWORD 'another one'", Params::new());
    let text = "CREATE USER `bob.b` SET PLAINTEXT PASSWORD $word SET STATUS SUSPENDED";
    assert!(session.query(text, Params::new()).is_err(), "the password is missing");
    rows(&mut session, text, params! { "word" => "much longer" });
    let list = "SHOW USERS YIELD user, suspended RETURN user, suspended";
    assert_eq!(rows(&mut session, list, Params::new()), ["'ada' Bool(false)", "'bob.b' Bool(true)"]);
    let users = session.database().users();
    let may = |name: &str, password: &str| users.log_on(name, password).unwrap().is_some();
    assert!(may("ada", "engine no 1") && !may("ada", "another one") && !may("bob.b", "much longer"));
    rows(&mut session, "ALTER USER `bob.b` SET STATUS ACTIVE", Params::new());
    rows(&mut session, "ALTER USER ada SET PASSWORD $word", params! { "word" => "engine no 2" });
    assert!(may("bob.b", "much longer") && may("ada", "engine no 2") && !may("ada", "engine no 1"));
    rows(&mut session, "ALTER USER ada SET PASSWORD 'engine no 3' SET STATUS SUSPENDED", Params::new());
    assert!(!may("ada", "engine no 3"));
    rows(&mut session, "DROP USER `bob.b`", Params::new());
    rows(&mut session, "DROP USER `bob.b` IF EXISTS", Params::new());
    assert!(session.query("DROP USER `bob.b`", Params::new()).is_err());
    assert_eq!(users.names(), ["ada"]);
    let planned = cypher::compile("CREATE USER ada SET PASSWORD 'engine no 1'").unwrap();
    assert!(!format!("{planned:?}").contains("engine"), "it is not shown");
}

#[test]
fn what_is_listed_can_be_made_anew() {
    let mut first = session();
    for text in [
        "CREATE INDEX places FOR (n:`A b`) ON (n.x, n.`y z`)",
        "CREATE CONSTRAINT once FOR (n:B) REQUIRE n.id IS UNIQUE",
        "CREATE CONSTRAINT there FOR ()-[r:R]-() REQUIRE r.since IS NOT NULL",
        "CREATE CONSTRAINT kind FOR (n:B) REQUIRE n.size IS :: INTEGER",
    ] {
        rows(&mut first, text, Params::new());
    }
    let lists = [
        "SHOW INDEXES YIELD name, createStatement, owningConstraint WHERE owningConstraint IS NULL RETURN createStatement",
        "SHOW CONSTRAINTS YIELD createStatement RETURN createStatement",
    ];
    let mut second = session();
    for list in lists {
        for create in rows(&mut first, list, Params::new()) {
            rows(&mut second, create.trim_matches('\''), Params::new());
        }
    }
    for what in [
        "SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, owningConstraint, populationPercent RETURN * ORDER BY name",
        "SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties, propertyType RETURN * ORDER BY name",
    ] {
        assert_eq!(rows(&mut first, what, Params::new()), rows(&mut second, what, Params::new()), "{what}");
    }
    for (text, count) in [
        ("SHOW UNIQUE CONSTRAINTS", 1),
        ("SHOW NODE KEY CONSTRAINTS", 0),
        ("SHOW REL EXIST CONSTRAINTS", 1),
        ("SHOW PROPERTY TYPE CONSTRAINTS YIELD name", 1),
        ("SHOW RANGE INDEXES", 2),
        ("SHOW TEXT INDEXES", 0),
        ("SHOW DATABASE neo4j", 1),
        ("SHOW DATABASE other YIELD name", 0),
        ("SHOW HOME DATABASE", 1),
        ("SHOW PROCEDURES EXECUTABLE BY CURRENT USER YIELD name WHERE name = 'db.labels'", 1),
    ] {
        assert_eq!(rows(&mut first, text, Params::new()).len(), count, "{text}");
    }
    assert_eq!(rows(&mut first, "SHOW DATABASES YIELD name, currentStatus RETURN *", Params::new()).len(), 1);
}

#[test]
fn a_backup_is_made_by_a_call_below_its_folder_and_nowhere_else() {
    let place = world::files::TemporaryFolder::new("backup-call").unwrap();
    let backup_folder = Some(place.path().join("kept"));
    let options = Options { executors: Some(1), backup_folder, ..Options::default() };
    let database = Database::open(place.path().join("graph"), options).unwrap();
    let mut session = database.session();
    rows(&mut session, "CREATE (:A {x: 1})", Params::new());
    let report = rows(
        &mut session,
        "CALL dbms.backup($name) YIELD folder, files RETURN folder, files > 0",
        params! { "name" => "monday" },
    );
    assert_eq!(report, ["'monday' Bool(true)"]);
    rows(&mut session, "EXPLAIN CALL dbms.backup('tuesday')", Params::new());
    for (text, name) in [
        ("CALL dbms.backup($name)", ".."),
        ("CALL dbms.backup('/tmp')", ""),
        ("CALL dbms.backup($name)", "monday"),
        ("CALL dbms.backup(1 + 2)", ""),
    ] {
        assert!(session.query(text, params! { "name" => name }).is_err(), "{text} {name}");
    }
    assert!(!place.path().join("kept/tuesday").exists());
    tanglewood_database::restore(place.path().join("kept/monday"), place.path().join("again")).unwrap();
    let again = Database::open(place.path().join("again"), Options::default()).unwrap();
    assert_eq!(rows(&mut again.session(), "MATCH (n:A) RETURN n.x", Params::new()), ["1"]);
    let memory = session_of_memory();
    assert!(memory.is_err_and(|error| error.hint.is_some_and(|hint| hint.contains("backup"))));
}

#[test]
fn an_export_is_made_by_a_statement_below_the_folder_and_nowhere_else() {
    let place = world::files::TemporaryFolder::new("export-call").unwrap();
    let backup_folder = Some(place.path().join("kept"));
    // With a place for one query: what asks for the schema once waited for the place that its own export has.
    let options = Options { executors: Some(1), queries_max: Some(1), backup_folder, ..Options::default() };
    let database = Database::open(tanglewood_database::MEMORY, options).unwrap();
    let mut session = database.session();
    rows(&mut session, "CREATE CONSTRAINT FOR (a:A) REQUIRE a.x IS UNIQUE", Params::new());
    rows(&mut session, "CREATE (:A {x: 1})-[:R {w: 2.5}]->(:A {x: 2})", Params::new());
    for (text, format, files) in [
        ("EXPORT DATABASE 'one'", "csv", 3),
        ("export database to $name (format = 'JSONL')", "jsonl", 1),
        ("EXPORT DATABASE 'deep/three' {format: 'graphson'} YIELD *", "graphson", 2),
        ("CALL dbms.export('four', 'cypher')", "cypher", 1),
    ] {
        let report = rows(&mut session, text, params! { "name" => "two" });
        assert_eq!(report.len(), 1, "{text}");
        assert!(report[0].ends_with(&format!("'{format}' 2 1 {files}")), "{text}: {report:?}");
    }
    rows(&mut session, "EXPLAIN EXPORT DATABASE 'five'", Params::new());
    assert!(!place.path().join("kept/five").exists());
    for (text, name, wanted) in [
        ("EXPORT DATABASE '/tmp/x'", "", "is a plain name"),
        ("EXPORT DATABASE $name", "../x", "is a plain name"),
        ("EXPORT DATABASE 'a/../../x'", "", "is a plain name"),
        ("EXPORT DATABASE ''", "", "is a plain name"),
        ("EXPORT DATABASE 'one'", "", "holds something already"),
        ("EXPORT DATABASE 'x' (FORMAT = 'xml')", "", "`xml` is no format"),
        ("EXPORT DATABASE 'x' (FORMAT = 'c sv')", "", "is a text of letters"),
        ("EXPORT DATABASE 1", "", "the folder is a text or a parameter"),
    ] {
        let error = session.query(text, params! { "name" => name }).map(|_| ()).unwrap_err();
        assert!(error.message.contains(wanted), "{text}: {error}");
    }
    for from in ["one", "two", "deep/three"] {
        let again = Database::open(tanglewood_database::MEMORY, Options::default()).unwrap();
        let import = ImportOptions { from: place.path().join("kept").join(from), ..ImportOptions::default() };
        again.import(&import).unwrap();
        let held = rows(&mut again.session(), "MATCH (a:A)-[r:R]->(b) RETURN a.x, r.w, b.x", Params::new());
        assert_eq!(held, ["1 Float(2.5) 2"], "{from}");
    }
    let error = self::session().query("EXPORT DATABASE 'x'", Params::new()).map(|_| ()).unwrap_err();
    assert!(error.hint.is_some_and(|hint| hint.contains("--backup-folder")));
}

#[test]
fn how_far_back_is_kept_is_changed_by_a_call() {
    let place = world::files::TemporaryFolder::new("history-call").unwrap();
    let options = Options { executors: Some(1), ..Options::default() };
    let database = Database::open(place.path().join("graph"), options.clone()).unwrap();
    let mut session = database.session();
    rows(&mut session, "CREATE (:A {x: 1})", Params::new());
    for (text, how, expected) in [
        ("CALL dbms.setHistory('7d')", "", "7d"),
        ("CALL dbms.setHistory($how) YIELD history", "none", "none"),
        ("EXPLAIN CALL dbms.setHistory('7d')", "", "none"),
        ("CALL dbms.setHistory($how) YIELD history, newest RETURN history, newest", "forever", "forever"),
    ] {
        rows(&mut session, text, params! { "how" => how });
        assert_eq!(database.history().to_string(), expected, "{text}");
    }
    for (text, how, part) in [
        ("CALL dbms.setHistory('soon')", Value::Null, "`soon` is not none"),
        ("CALL dbms.setHistory($how)", 7.into(), "is a text"),
        ("CALL dbms.setHistory($how)", Value::Null, "is a text"),
        ("CALL dbms.setHistory(1 + 2)", Value::Null, "is a text or a parameter"),
        ("CALL dbms.setHistory()", Value::Null, "takes 1 arguments"),
    ] {
        let error = session.query(text, params! { "how" => how }).map(|_| ()).unwrap_err();
        assert!(error.message.contains(part), "{text}: {error}");
    }
    // What fails for want of a parameter has changed nothing.
    for text in ["CALL dbms.setHistory('none') YIELD history RETURN $x", "CALL dbms.setHistory($x)"] {
        let error = session.query(text, Params::new()).map(|_| ()).unwrap_err();
        assert!(error.code.ends_with("ParameterMissing"), "{text}: {error}");
        assert_eq!(database.history().to_string(), "forever");
    }
    let limits = Default::default();
    let refused = session.query_reading("CALL dbms.setHistory('1d')", Params::new(), &limits).map(|_| ());
    assert!(refused.unwrap_err().code.contains("AccessMode"));
    session.begin(tanglewood_database::Mode::Write).unwrap();
    let refused = session.query("CALL dbms.setHistory('1d')", Params::new()).map(|_| ()).unwrap_err();
    assert!(refused.hint.is_some_and(|hint| hint.contains("rollback")));
    session.rollback().unwrap();
    drop(session);
    database.close().unwrap();
    let again = Database::open(place.path().join("graph"), options).unwrap();
    assert_eq!(again.history().to_string(), "forever");
    let memory = self::session().query("CALL dbms.setHistory('1d')", Params::new()).map(|_| ());
    assert!(memory.is_err());
}

fn session_of_memory() -> Result<(), tanglewood_database::Error> {
    session().query("CALL dbms.backup('x')", Params::new()).map(|_| ())
}

#[test]
fn a_profile_counts_the_rows_of_what_runs_within_another_operator() {
    let mut session = session();
    rows(&mut session, "UNWIND range(1, 5) AS x CREATE (:A {x: x})-[:R]->(:B {x: x})", Params::new());
    let text = "PROFILE MATCH (a:A) OPTIONAL MATCH (a)-[:R]->(b:B) WHERE b.x < 3 RETURN a.x, b.x";
    let summary = session.query(text, Params::new()).unwrap().finish().unwrap();
    let told = summary.plan_text.unwrap();
    let line = told.lines().find(|line| line.contains("Expand")).unwrap();
    assert!(line.split_whitespace().any(|word| word == "5"), "{told}");
}

#[test]
fn a_sub_query_that_reads_nothing_of_its_row_is_run_once_and_says_what_it_says_row_by_row() {
    let mut session = session();
    let text = "UNWIND range(1, 40) AS n CREATE (a:A {n: n}) WITH a WHERE a.n % 4 = 0 SET a:B";
    rows(&mut session, text, Params::new());
    rows(&mut session, "MATCH (a:A), (b:B) WHERE b.n = a.n + 2 CREATE (a)-[:R]->(b)", Params::new());
    // `$own` reads the row and holds for all: with it in place, the sub-query runs for each row.
    let bodies = [
        "MATCH (b:B) WHERE b.n > 20 $own RETURN b.n AS m",
        "MATCH (a:A)-[:R]->(b:B), (c:A {n: 3}) WHERE true $own RETURN a.n + b.n + c.n AS m",
        "MATCH (a:A) WHERE a.n > 99 $own RETURN a.n AS m",
        "MATCH (a:A) WHERE true $own RETURN max(a.n) AS m",
        "MATCH (a:A) WHERE a.n < 4 $own RETURN a.n AS m UNION MATCH (b:B) WHERE b.n < 9 $own RETURN b.n AS m",
        "MATCH (a:A) WHERE true $own RETURN a.n AS m ORDER BY m DESC SKIP 1 LIMIT 2",
    ];
    let forms = [
        "MATCH (x:A) CALL ($import) { $body } RETURN x.n AS n, m ORDER BY n, m",
        "MATCH (x:A) WHERE EXISTS { $body } RETURN x.n AS n ORDER BY n",
        "MATCH (x:A) WHERE NOT EXISTS { $body } RETURN x.n AS n ORDER BY n",
        "MATCH (x:A) RETURN x.n AS n, EXISTS { $body } AS found, COUNT { $body } AS m ORDER BY n",
        "MATCH (x:A) WHERE x.n > 50 CALL ($import) { $body } RETURN x.n AS n, m",
        "MATCH (x:B) WITH DISTINCT x CALL ($import) { MATCH (y:B) WHERE y.n < 9 $own CALL () { $body } RETURN m, y } \
         RETURN x.n AS n, y.n AS k, m ORDER BY n, k, m",
    ];
    let written = |form: &str, body: &str, import: &str, own: &str| {
        form.replace("$body", body).replace("$import", import).replace("$own", own)
    };
    let mut once = 0;
    for form in forms {
        for body in bodies {
            let alone = written(form, body, "", "");
            // Within a sub-query of a sub-query the row to read is that of the outer one.
            let import = if form.contains("CALL () {") {
                form.replace("CALL () {", "CALL (x) {")
            } else {
                form.into()
            };
            let for_each_row = written(&import, body, "x", "AND x.n IS NOT NULL");
            let expected = rows(&mut session, &for_each_row, Params::new());
            assert_eq!(rows(&mut session, &alone, Params::new()), expected, "{alone}\n{for_each_row}");
            once += usize::from(!expected.is_empty());
        }
    }
    assert!(once > 20, "{once} answers with rows");
    // What differs between two computations is computed for each row.
    let text =
        "UNWIND range(1, 50) AS x CALL () { RETURN rand() AS r } RETURN count(DISTINCT r) > 40 AS various";
    assert_eq!(rows(&mut session, text, Params::new()), ["Bool(true)"]);
    // What the rows before it wrote is seen.
    let text = "UNWIND range(1, 3) AS x CREATE (:C {x: x}) WITH x CALL () { MATCH (c:C) RETURN count(c) AS c } RETURN x, c";
    assert_eq!(rows(&mut session, text, Params::new()), ["1 3", "2 3", "3 3"]);
}

/// SHOW TRANSACTIONS once left out the statement that asked, where no transaction was open.
#[test]
fn the_statement_that_asks_is_one_of_the_transactions() {
    let mut session = session();
    let ask = "SHOW TRANSACTIONS YIELD currentQuery, status RETURN currentQuery, status";
    let own = [format!("'{ask}' 'Running'")];
    assert_eq!(rows(&mut session, ask, Params::new()), own);
    assert!(rows(&mut session, "SHOW QUERIES", Params::new()).is_empty());
    session.begin(tanglewood_database::Mode::Read).unwrap();
    assert_eq!(rows(&mut session, ask, Params::new()), own, "not twice");
    session.rollback().unwrap();
    assert_eq!(rows(&mut session, ask, Params::new()), own, "nothing is left behind");
}

/// The nodes that show the schema once were "deleted" to labels() and label tests.
#[test]
fn nodes_of_the_schema_have_their_labels() {
    let mut session = session();
    rows(&mut session, "CREATE (:A)-[:R]->(:B)", Params::new());
    let ask = "CALL db.schema.visualization() YIELD nodes UNWIND nodes AS n \
               RETURN labels(n) AS l, toString(n:A) AS a ORDER BY l[0]";
    assert_eq!(rows(&mut session, ask, Params::new()), ["['A'] 'true'", "['B'] 'false'"]);
}

/// Which driver runs a statement, and which way an operator works, is chosen once and shown.
#[test]
fn explain_says_what_was_chosen() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let mut session = database.session();
    let here = "0: a pipeline on the asking thread";
    for (text, chosen) in [
        ("RETURN 1", here),
        ("MERGE (n:A {x: 1})-[:R]->(m:B)", "0: executors"),
        ("MATCH (n) RETURN n", "0: executors"),
        ("MERGE (n:A {x: 1})-[:R]->(m:B)", "0: row by row"),
        ("RETURN 1 AS x UNION ALL RETURN 2 AS x", "0: the second input begins after the first"),
        ("FOREACH (i IN [1, 2] | CREATE (n) SET n.x = i)", "0: one element after the other"),
    ] {
        let mut result = session.query(&format!("EXPLAIN {text}"), Params::new()).unwrap();
        while result.next_batch().unwrap().is_some() {}
        let told = result.summary().plan_text.clone().unwrap();
        assert!(told.contains(&format!("\n{chosen}")), "{text}: {told}");
    }
}

/// The second part was worked out from what the first had replaced before it was worked out anew, and so took memory that nobody wanted.
#[test]
fn a_part_of_a_change_is_not_worked_out_from_what_another_replaced() {
    let mut session = session();
    rows(
        &mut session,
        "UNWIND range(1, 3) AS x CREATE (:A {x: x, k: 10000000})-[:R {k: 10000000}]->(:B)",
        params! {},
    );
    let limits = Limits { timeout: None, bytes_max: Some(32 << 20) };
    for (text, sum) in [
        ("MATCH (n:A) SET n.k = 3, n.l = range(1, n.k) RETURN sum(size(n.l))", 9),
        (
            "MATCH (n:A) WITH collect(n) AS ns UNWIND ns AS n SET n.k = 2, n.l = range(1, ns[0].k) RETURN sum(size(n.l))",
            6,
        ),
        ("MATCH ()-[r:R]->() SET r.k = 4, r.l = range(1, properties(r).k) RETURN sum(size(r.l))", 12),
    ] {
        let found = session.query_within(text, params! {}, &limits).and_then(|result| result.rows());
        assert_eq!(
            format!("{:?}", found.unwrap_or_else(|error| panic!("{text}: {error}"))),
            format!("[[Int({sum})]]")
        );
    }
}
