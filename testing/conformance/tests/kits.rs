//! The outside suites. What does not pass stands in `tests/known`, each with its reason.

use tanglewood_conformance::{ratchet, suite};

fn check(folder: &str, list: &str) {
    let Some(folder) = suite::folder(folder) else { return };
    let scenarios = suite::scenarios(&folder);
    let outcomes = suite::run(&scenarios, &suite::in_memory);
    if let Err(report) = ratchet::check(&folder.display().to_string(), &scenarios, &outcomes, list) {
        panic!("{report}");
    }
}

#[test]
fn open_cypher() {
    check("opencypher/tck/features", include_str!("known/opencypher.txt"));
}

#[test]
fn paths() {
    check("paths/features", include_str!("known/paths.txt"));
}
