//! Names that a graph does not take, and more than it may have: the error names the limit and a way out, and nothing is kept.

use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, MEMORY, Options, Params, Session};

/// Labels of one graph.
const LABELS_MAX: usize = 65_536;

type Refusal = (String, String, String);

/// Code, message and hint of the error of a text, Cypher or Gremlin.
fn ask(session: &mut Session, text: &str) -> Result<(), Refusal> {
    let limits = GremlinOptions::default();
    let outcome = match text.starts_with("g.") {
        true => session.gremlin_text(text, &Params::new(), &limits).and_then(|mut found| {
            while found.next_objects()?.is_some() {}
            Ok(())
        }),
        false => session.query(text, Params::new()).and_then(|result| result.finish()).map(drop),
    };
    outcome.map_err(|error| (error.code.to_string(), error.message, error.hint.unwrap_or_default()))
}

/// `SET n[''] = 1` made a property without a name, which no text could read, and an export could not hold.
#[test]
fn a_name_has_a_character_and_no_nul() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    ask(&mut session, "CREATE (:A {n: 1})-[:R]->(:B)").unwrap();
    let texts = [
        "MATCH (n:A) SET n['@'] = 1",
        "MATCH (n:A) SET n += {`@`: 1}",
        "MATCH (n:A) SET n.`@` = 1",
        "MATCH (n:A) SET n:$('@')",
        "MATCH (n:A) SET n:$(['B', '@'])",
        "MATCH (n:A) SET n:`@`",
        "CREATE (:A {`@`: 1})",
        "CREATE (:`@`)",
        "CREATE (:A)-[:`@`]->(:B)",
        "CREATE (:A)-[:$('@')]->(:B)",
        "MERGE (:A {`@`: 1})",
        "MERGE (:`@`)",
        "MERGE (m:A {n: 1}) ON MATCH SET m['@'] = 1",
        "MATCH ()-[r:R]->() SET r['@'] = 1",
        "CREATE INDEX FOR (n:A) ON (n.`@`)",
        "CREATE INDEX FOR (n:`@`) ON (n.n)",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.`@` IS UNIQUE",
        "g.addV('@')",
        "g.V().hasLabel('A').property('@', 1)",
        "g.V().hasLabel('A').addE('@').to(__.V().hasLabel('B'))",
    ];
    for (text, name) in texts.iter().flat_map(|text| ["", "a\0b"].map(|name| (text, name))) {
        let text = text.replace('@', name);
        let (code, message, _) = ask(&mut session, &text).expect_err(&text);
        // An empty name between backticks is no name to the language, nor one to Gremlin.
        let (expected, words) = match (text.starts_with("g."), text.contains("``"), name.is_empty()) {
            (true, _, true) => ("Neo.ClientError.Statement.ArgumentError", "empty string"),
            (_, true, _) => ("Neo.ClientError.Statement.SyntaxError", "cannot be empty"),
            (.., true) => ("Neo.ClientError.Schema.TokenNameError", "is empty"),
            (.., false) => ("Neo.ClientError.Schema.TokenNameError", "NUL"),
        };
        assert_eq!(code, expected, "{text:?}: {message}");
        assert!(message.contains(words), "{text:?}: {message}");
    }
    // Any other character is one.
    for name in [" ", "\u{1}", "`", "\u{10ffff}", "'"] {
        let key = Params::from([("key".into(), name.into())]);
        session.query("MATCH (n:A) SET n[$key] = 7", key.clone()).unwrap().finish().unwrap();
        let rows = session.query("MATCH (n:A) RETURN n[$key]", key).unwrap().rows().unwrap();
        assert_eq!(rows[0][0].as_int(), Some(7), "{name:?}");
    }
}

/// It was an error of the storage, as if the disk had failed.
#[test]
fn too_many_names_are_an_error_of_who_makes_them() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    let mut ask = |text: &str| ask(&mut session, text);
    let labels = |from: usize, to: usize| (from..to).map(|at| format!(":L{at}")).collect::<String>();
    assert_eq!(ask(&format!("CREATE (n{})", labels(0, LABELS_MAX - 1))), Ok(()));
    assert_eq!(ask("g.addV('the last')"), Ok(()));
    for text in ["CREATE (n:One:Two)", "MERGE (n:One)", "MATCH (n) SET n:One", "g.addV('One')"] {
        let (code, message, hint) = ask(text).unwrap_err();
        assert_eq!(code, "Neo.ClientError.General.LimitExceeded", "{text}: {message}");
        assert!(message.contains("at most 65,536 labels"), "{text}: {message}");
        assert!(hint.contains("in properties, not in names"), "{text}: {hint}");
    }
    // What is there is used on.
    assert_eq!(ask("CREATE (:L7)-[:T7]->(:L8)"), Ok(()));
    assert_eq!(ask("g.addV('L9')"), Ok(()));
}
