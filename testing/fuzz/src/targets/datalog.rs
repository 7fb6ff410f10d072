//! Texts of Datalog: read, and answered over a small graph within small limits; never a panic, and an answer that comes once comes again.

use database::{Database, Limits, MEMORY, Options, Params, Session, Value};
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// Reads a text, if it is one, and answers its question twice.
pub fn datalog(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    SESSION.with(|kept| {
        let mut kept = kept.borrow_mut();
        let session = kept.get_or_insert_with(session);
        let limits = Limits { timeout: Some(Duration::from_millis(50)), bytes_max: Some(4 << 20) };
        let statement = format!("DATALOG {{ {text} }}");
        let mut answer = || {
            let rows =
                session.query_within(&statement, Params::new(), &limits).and_then(|result| result.rows());
            rows.ok().map(|rows| {
                let mut rows: Vec<String> = rows.iter().map(|row: &Vec<Value>| format!("{row:?}")).collect();
                rows.sort();
                rows
            })
        };
        if let (Some(first), Some(second)) = (answer(), answer()) {
            assert_eq!(first, second, "two answers to {text}");
        }
    });
}

fn session() -> Session {
    let options = Options { executors: Some(1), ..Options::default() };
    let mut session = Database::open(MEMORY, options).expect("a database in memory opens").session();
    let graph = "CREATE (a:P {x: 1})-[:R {w: 2}]->(b:P {x: 2.5})-[:R]->(c:Q {x: 'c'})-[:S]->(a), (c)-[:R]->(c), (b)-[:S]->(a)";
    session.query(graph, Params::new()).expect("the graph is made");
    session
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "tc(x, y) :- R(x, y). tc(x, z) :- tc(x, y), R(y, z). ?- tc(x, y).",
        "from(y) :- P.x(v, 1), far(v, y). far(x, y) :- R(x, y). far(x, z) :- far(x, y), S(y, z). ?- from(y).",
        "n(v, count(), sum(k)) :- R(v, y), _.x(y, k), k > 1. m(v, a * 2 - b) :- n(v, a, b). ?- m(v, k).",
        "lone(v) :- P(v), !S(v, _). e(1, 2). e(2, 'b'). p(x, z) :- e(x, y), z = y + 1, z != 3. p(x, y) :- e(x, y). ?- p(x, 2).",
        "even(x, y) :- R(x, z), odd(z, y). odd(x, y) :- R(x, y). odd(x, y) :- R(x, z), even(z, y). ?- even(x, x).",
        "w(x, y, s) :- R.w(x, y, s). best(x, max(s), min(s), avg(s)) :- w(x, _, s). ?- best(x, a, b, c).",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
