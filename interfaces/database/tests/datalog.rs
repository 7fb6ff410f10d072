//! Datalog as users write it: over the graph, over parameters and files, run once or kept as standing queries.

#![allow(clippy::disallowed_methods)]

use std::time::Duration;
use tanglewood_database::{Database, Event, MEMORY, Options, Params, Session, Value, params};
use world::files::TemporaryFolder;

const ROADS: &str =
    "CREATE (a:City {name: 'a'}), (b:City {name: 'b'}), (c:City:Port {name: 'c'}), (d:City {name: 'd'}),
    (a)-[:ROAD {km: 3}]->(b), (b)-[:ROAD {km: 4}]->(c), (c)-[:ROAD {km: 5}]->(a), (c)-[:ROAD {km: 2.5}]->(d)";

fn session() -> Session {
    let mut session =
        Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap().session();
    session.query(ROADS, Params::new()).unwrap();
    session
}

/// The standing queries, once none is being installed any more: an open does not wait for them.
fn installed(database: &Database) -> Vec<tanglewood_database::Standing> {
    loop {
        let all = database.standing();
        if all.iter().all(|query| query.state.name() != "installing") {
            return all;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn rows(session: &mut Session, text: &str, params: Params) -> Vec<String> {
    let result = session.query(text, params).unwrap_or_else(|error| panic!("{text}\n{error:?}"));
    let mut rows: Vec<String> = result.rows().unwrap().iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

fn names(session: &mut Session, program: &str, params: Params) -> String {
    let found = session.datalog(program, params).unwrap_or_else(|error| panic!("{program}\n{error:?}"));
    let mut rows: Vec<String> = Vec::new();
    for row in found.rows().unwrap() {
        let row = row.iter().map(|value| match value {
            Value::String(text) => text.to_string(),
            Value::Int(number) => number.to_string(),
            other => format!("{other:?}"),
        });
        rows.push(row.collect::<Vec<_>>().join(" "));
    }
    rows.sort();
    rows.join(", ")
}

const REACH: &str = "reach(x, y) :- ROAD(x, y).
    reach(x, z) :- reach(x, y), ROAD(y, z).
    named(m, n) :- reach(x, y), City.name(x, m), City.name(y, n).";

#[test]
fn rules_over_the_graph() {
    let mut session = session();
    assert_eq!(names(&mut session, &format!("{REACH} ?- named('b', to)."), Params::new()), "a, b, c, d");
    assert_eq!(names(&mut session, &format!("{REACH} ?- named(from, 'd')."), Params::new()), "a, b, c");
    assert_eq!(names(&mut session, &format!("{REACH} ?- named($from, to)."), params! { "from" => "d" }), "");
    assert_eq!(
        names(&mut session, "end(n) :- City.name(v, n), !ROAD(v, _). ?- end(n).", Params::new()),
        "d",
        "negation"
    );
    assert_eq!(
        names(&mut session, "out(n, count()) :- City.name(v, n), ROAD(v, w). ?- out(n, k).", Params::new()),
        "a 1, b 1, c 2",
        "an aggregate"
    );
    let lengths = "way(n, m, km) :- ROAD.km(x, y, km), City.name(x, n), City.name(y, m).
        two(n, m, s) :- way(n, o, a), way(o, m, b), s = a + b, s < 8. ?- two('a', m, s).";
    assert_eq!(names(&mut session, lengths, Params::new()), "c 7", "arithmetic");
    let both = "port(v) :- City(v), Port(v). in(n) :- port(v), ROAD(w, v), _.name(w, n). ?- in(n).";
    assert_eq!(names(&mut session, both, Params::new()), "b");
}

#[test]
fn a_program_is_a_statement() {
    let mut session = session();
    let text = "// reach\n DATALOG { tc(x, y) :- ROAD(x, y). tc(x, z) :- tc(x, y), ROAD(y, z).
        s(n) :- City.name(x, 'b'), tc(x, y), City.name(y, n). ?- s(name). };";
    let result = session.query(text, Params::new()).unwrap();
    assert_eq!(result.columns().iter().map(|title| title.to_string()).collect::<Vec<_>>(), ["name"]);
    assert_eq!(result.rows().unwrap().len(), 4);
}

#[test]
fn facts_of_the_text_of_parameters_and_of_files() {
    let folder = TemporaryFolder::new("datalog").unwrap();
    world::files::write_bytes(&folder.path().join("e.csv"), b"1,2\n2,3\nx,1.5\n").unwrap();
    world::files::write_bytes(&folder.path().join("f.facts"), b"3\t4\n").unwrap();
    let import_folder = Some(folder.path().to_path_buf());
    let options = Options { executors: Some(1), import_folder, ..Options::default() };
    let mut session = Database::open(MEMORY, options).unwrap().session();
    let program = ".input e(2, 'e.csv') .input f(2, 'f.facts') .input g(2, $more)
        e2(4, 5). e2(x, y) :- e(x, y). e2(x, y) :- f(x, y). e2(x, y) :- g(x, y).
        r(x, y) :- e2(x, y). r(x, z) :- r(x, y), e2(y, z). ?- r(1, y).";
    let more = Value::list(vec![Value::list(vec![Value::Int(5), Value::Int(6)])]);
    assert_eq!(names(&mut session, program, params! { "more" => more }), "2, 3, 4, 5, 6");
    assert_eq!(names(&mut session, ".input e(2, 'e.csv') ?- e('x', y).", Params::new()), "Float(1.5)");
    let error = session.datalog(".input e(3, 'e.csv') ?- e(x, y, z).", Params::new()).map(drop).unwrap_err();
    assert!(error.message.contains("2 fields"), "{error:?}");
}

#[test]
fn mistakes_are_told_with_their_place() {
    let mut session = session();
    let mut refused = |text: &str| session.query(text, Params::new()).map(drop).unwrap_err();
    let circle = refused("DATALOG { win(x) :- move(x, y), !win(y).\n ?- win(x). }");
    assert_eq!(circle.message, "`win` depends on its own absence: win → win");
    assert!(circle.excerpt.unwrap().contains("line 1, column 11"));
    let unbound = refused("DATALOG { p(x, y) :- ROAD(x, z). ?- p(x, y). }");
    assert_eq!(unbound.message, "nothing binds `y`");
    let misspelt = refused(
        "DATALOG { reach(x, y) :- ROAD(x, y).\n reach(x, z) :- reech(x, y), ROAD(y, z). ?- reach(x, y). }",
    );
    assert_eq!(misspelt.hint.as_deref(), Some("did you mean `reach`?"));
    assert!(misspelt.excerpt.unwrap().contains("line 2, column 17"));
    assert_eq!(refused("DATALOG { p(x) :- City(x). }").message, "the program asks nothing");
    assert_eq!(refused("DATALOG { ?- ROAD($from, y). }").message, "the program needs the parameter $from");
    let syntax = refused("DATALOG { p(x) :- City(x) ?- p(x). }");
    assert!(syntax.message.starts_with("expected `.`"), "{}", syntax.message);
}

#[test]
fn what_grows_for_ever_ends_at_a_limit() {
    let mut session = session();
    let limits = tanglewood_database::Limits { bytes_max: Some(1 << 20), ..Default::default() };
    let text = "DATALOG { n(0). n(y) :- n(x), y = x + 1. ?- n(x). }";
    let mut ended = |limits| {
        let outcome = session.query_within(text, Params::new(), limits).and_then(|found| found.rows());
        outcome.map(drop).unwrap_err()
    };
    // As any query that passes its budget or its time.
    let error = ended(&limits);
    assert!(error.code.ends_with("MemoryPoolOutOfMemoryError"), "{error:?}");
    assert!(error.message.contains("budget of 1048576 bytes"), "{}", error.message);
    let limits =
        tanglewood_database::Limits { timeout: Some(Duration::from_millis(50)), ..Default::default() };
    let error = ended(&limits);
    assert!(error.code.ends_with("TransactionTimedOut"), "{error:?}");
}

#[test]
fn a_kept_program_tells_differences_and_comes_back() {
    let folder = TemporaryFolder::new("datalog-kept").unwrap();
    let path = folder.path().join("db");
    let create = "CREATE STANDING QUERY cut_off AS DATALOG {
        reach(n) :- City.name(n, 'a'). reach(m) :- reach(n), ROAD(n, m).
        lone(n) :- City.name(v, n), !reach(v); ?- lone(n). }";
    let create = create.replace("!reach(v);", "!reach(v).");
    {
        let database = Database::open(&path, Options { executors: Some(1), ..Options::default() }).unwrap();
        let mut session = database.session();
        session.query(ROADS, Params::new()).unwrap();
        session.query(&create, Params::new()).unwrap();
        let subscription = database.subscribe("cut_off", &Params::new(), None, true).unwrap();
        let next = || match subscription.next(Duration::from_secs(10)).unwrap().unwrap() {
            Event::Snapshot { rows, .. } => rows.to_vec(),
            Event::Changes { rows, .. } => rows.to_vec(),
            Event::Progress { .. } => Vec::new(),
        };
        assert!(next().is_empty());
        session.query("MATCH (:City {name: 'b'})-[r:ROAD]->() DELETE r", Params::new()).unwrap();
        let changes = loop {
            let rows = next();
            if !rows.is_empty() {
                break rows;
            }
        };
        let mut told: Vec<String> =
            changes.iter().map(|(row, diff)| format!("{diff} {:?}", row.values()[0])).collect();
        told.sort();
        assert_eq!(told, ["1 String(\"c\")", "1 String(\"d\")"]);
        assert_eq!(
            rows(&mut session, "SHOW STANDING QUERIES YIELD name RETURN name", Params::new()).len(),
            1
        );
    }
    let database = Database::open(&path, Options { executors: Some(1), ..Options::default() }).unwrap();
    assert_eq!(installed(&database)[0].rows, 2, "{:?}", database.standing());
    let refused = |text: &str| database.session().query(text, Params::new()).map(drop).unwrap_err().message;
    let rows = refused("CREATE STANDING QUERY p AS DATALOG { .input p(1, $rows) q(x) :- p(x). ?- q(x). }");
    assert!(rows.contains("$rows"), "{rows}");
    assert!(
        refused("CREATE STANDING QUERY p AS DATALOG { p(x) :- City(x). }").contains("without a question")
    );
    database.session().query("DROP STANDING QUERY cut_off", Params::new()).unwrap();
    assert!(database.standing().is_empty());
}

/// What is kept is read again as it was written: names with backticks, comments that look closed, none that swallows what follows.
#[test]
fn kept_programs_with_odd_names_and_comments_come_back() {
    let folder = TemporaryFolder::new("datalog-odd").unwrap();
    let path = folder.path().join("db");
    let open = || Database::open(&path, Options { executors: Some(1), ..Options::default() }).unwrap();
    let program = "DATALOG { /*/ ; a comment's */ p(n) :- City.name(v, n). // ; `\n ?- p(n). /**/ }";
    {
        let database = open();
        let mut session = database.session();
        session.query(ROADS, Params::new()).unwrap();
        for name in ["`a``b`", "/*/ AS */ plain", "```; x`"] {
            session.query(&format!("CREATE STANDING QUERY {name} AS {program}"), Params::new()).unwrap();
        }
        let mut refused = |text: &str| session.query(text, Params::new()).map(drop).unwrap_err().message;
        let past = refused("CREATE STANDING QUERY q AS AS OF 5 DATALOG { ?- City(v). }");
        assert!(past.contains("AS OF"), "{past}");
        let open_ended = refused("CREATE STANDING QUERY q AS DATALOG { ?- City(v). // }");
        assert!(open_ended.contains("does not end"), "{open_ended}");
        let by_call = database.create_standing("q", "AS OF 5 DATALOG { ?- City(v). }").unwrap_err();
        assert!(by_call.message.contains("AS OF"), "{by_call:?}");
    }
    for _ in 0..2 {
        let database = open();
        let mut names: Vec<String> = database.standing().iter().map(|query| query.name.to_string()).collect();
        names.sort();
        assert_eq!(names, ["`; x", "a`b", "plain"]);
        assert!(installed(&database).iter().all(|query| query.rows == 4), "{:?}", database.standing());
        // So that the file is written anew.
        let mut session = database.session();
        session.query(&format!("CREATE STANDING QUERY z AS {program}"), Params::new()).unwrap();
        session.query("DROP STANDING QUERY z", Params::new()).unwrap();
    }
}
