//! Texts that compile: planned over a small graph, explained, and executed within limits, on a database that is thrown away now and then.

use crate::damage::fill;
use database::{Database, Limits, MEMORY, Options, Params, Value};
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Statements on one database, before it is filled anew.
const STATEMENTS: u32 = 200;
/// Rows of an answer that are read.
const ROWS_MAX: usize = 2_000;

thread_local! {
    static DATABASE: RefCell<Option<Database>> = const { RefCell::new(None) };
    static USED: Cell<u32> = const { Cell::new(0) };
}

fn database() -> Database {
    DATABASE.with_borrow_mut(|held| {
        USED.set(USED.get() + 1);
        if held.is_none() || USED.get().is_multiple_of(STATEMENTS) {
            let options = Options {
                executors: Some(1),
                query_bytes_max: 32 << 20,
                query_timeout: Some(Duration::from_millis(200)),
                ..Options::default()
            };
            let database = Database::open(MEMORY, options).expect("memory can be opened");
            fill(&database);
            *held = Some(database);
        }
        held.clone().expect("it was just made")
    })
}

/// Runs a text, if it compiles, with parameters for all it names.
pub fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(statement) = cypher::compile(text) else { return };
    // Planning with nothing known takes other paths than planning over a graph.
    drop(plan::optimize(statement.clone(), &plan::statistics::NothingKnown));
    let names = statement.parameters.iter();
    let params: Params = names.map(|name| (name.as_ref().into(), Value::Int(3))).collect();
    let mut session = database().session();
    let limits = Limits::default();
    drop(session.query_within(&format!("EXPLAIN {text}"), params.clone(), &limits));
    let Ok(mut result) = session.query_within(text, params, &limits) else { return };
    let mut rows = 0;
    while let (Ok(Some(batch)), true) = (result.next_batch(), rows < ROWS_MAX) {
        rows += batch.len();
    }
}
