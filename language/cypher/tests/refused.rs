//! Texts that Cypher 5 refuses before anything runs, and so do we: a table.

mod texts;

use tanglewood_cypher as cypher;
use texts::{REFUSED, TAKEN, WITH_A_HINT};

#[test]
fn what_cypher_5_takes_is_taken() {
    for text in TAKEN {
        cypher::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
fn what_cypher_5_refuses_is_refused() {
    let accepted: Vec<&&str> = REFUSED.iter().filter(|text| cypher::compile(text).is_ok()).collect();
    assert!(accepted.is_empty(), "accepted: {accepted:#?}");
}

#[test]
fn what_is_missing_is_refused_with_a_hint() {
    for text in WITH_A_HINT {
        let error = cypher::compile(text).map(|_| ()).expect_err(text);
        assert!(error.hint.is_some(), "{text}: {error}");
    }
}
