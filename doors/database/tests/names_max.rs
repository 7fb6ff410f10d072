//! More names than a graph may have: who makes one too many is told which limit it passes and what to do, and nothing of it is kept.

use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, MEMORY, Options, Params};

/// Labels of one graph.
const LABELS_MAX: usize = 65_536;

/// It was an error of the storage, as if the disk had failed.
#[test]
fn too_many_names_are_an_error_of_who_makes_them() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    let mut ask = |text: &str| {
        let limits = GremlinOptions::default();
        let outcome = match text.starts_with("g.") {
            true => session.gremlin_text(text, &Params::new(), &limits).and_then(|mut found| {
                while found.next_objects()?.is_some() {}
                Ok(())
            }),
            false => session.query(text, Params::new()).and_then(|result| result.finish()).map(drop),
        };
        outcome.map_err(|error| (error.code, error.message, error.hint.unwrap_or_default()))
    };
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
