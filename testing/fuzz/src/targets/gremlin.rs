//! Texts of Gremlin: parsed, printed, checked, lowered, compiled for the machine, and run on a small graph; never a panic, what was
//! parsed can be printed and parsed again, and what the algebra says is what the machine says.

use database::gremlin::GremlinOptions;
use database::{Database, MEMORY, Options, Session};
use gremlin::{Bindings, Request, Traversal};
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// Parses a text, and runs it if it is a traversal.
pub fn gremlin(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(requests) = gremlin::parse(text, &Bindings::new()) else { return };
    for request in requests {
        if let Request::Traversal(traversal, _) = request {
            again(&traversal);
            drop(gremlin::lower(&traversal));
            run(&traversal);
        }
    }
}

fn again(traversal: &Traversal) {
    let printed = traversal.to_string();
    let again = gremlin::parse(&printed, &Bindings::new());
    let again = again.unwrap_or_else(|error| panic!("printed so that it cannot be read: {printed}\n{error}"));
    let Some(Request::Traversal(again, _)) = again.first() else {
        panic!("printed as no traversal: {printed}")
    };
    assert_eq!(again.to_string(), printed, "printed otherwise the second time");
}

fn run(traversal: &Traversal) {
    SESSION.with(|kept| {
        let mut kept = kept.borrow_mut();
        let session = kept.get_or_insert_with(|| {
            let options = Options { executors: Some(1), ..Options::default() };
            Database::open(MEMORY, options).expect("a database in memory opens").session()
        });
        let options =
            GremlinOptions { timeout: Some(Duration::from_millis(100)), ..GremlinOptions::default() };
        if let Ok(mut answer) = session.gremlin(traversal, &options) {
            // some of the answer is enough
            for _ in 0..4 {
                if !matches!(answer.next_objects(), Ok(Some(_))) {
                    break;
                }
            }
        }
    });
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let corpus = include_str!("../../corpus/traversals.txt");
    let lines = corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.as_bytes().to_vec()).collect()
}
