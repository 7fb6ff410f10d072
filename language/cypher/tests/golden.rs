//! Golden tests: query text in, canonical text or rendered error out.
//!
//! Each file in `tests/golden` holds cases of the form
//! ```text
//! >>> query, possibly over several lines
//! ---
//! what is expected
//! ```
//! Set `TANGLEWOOD_BLESS=1` to write what is found into the files, and read the difference as code.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::Path;

use tanglewood_cypher as cypher;

/// The one check of this room's border: what a query is understood as, or what is said against it.
fn check(query: &str) -> String {
    match cypher::parse(query) {
        Ok(statement) => {
            let canonical = cypher::print(&statement);
            let again = cypher::parse(&canonical);
            assert_eq!(again.as_ref(), Ok(&statement), "{query}\nprints as\n{canonical}\nwhich is another statement");
            canonical
        }
        Err(error) => error.render(query),
    }
}

struct Case {
    query: String,
    expected: String,
}

fn cases(text: &str) -> Vec<Case> {
    let blocks = text.split(">>> ").skip(1);
    let case = |block: &str| {
        let (query, expected) = block.split_once("\n---\n").expect("a case has a query, --- and what is expected");
        Case { query: query.to_string(), expected: expected.trim_end().to_string() }
    };
    blocks.map(case).collect()
}

fn run(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let header = text.split(">>> ").next().unwrap().to_string();
    let bless = std::env::var_os("TANGLEWOOD_BLESS").is_some();
    let mut blessed = header;
    let mut failures = Vec::new();
    for case in cases(&text) {
        let found = check(&case.query);
        let trimmed: Vec<&str> = found.lines().map(str::trim_end).collect();
        let found = trimmed.join("\n");
        blessed.push_str(&format!(">>> {}\n---\n{found}\n\n", case.query));
        if found != case.expected {
            failures.push(format!("{}\nexpected:\n{}\nfound:\n{found}\n", case.query, case.expected));
        }
    }
    if bless {
        std::fs::write(&path, blessed.trim_end().to_string() + "\n").unwrap();
    } else {
        assert!(failures.is_empty(), "{} cases of {name} differ:\n\n{}", failures.len(), failures.join("\n"));
    }
}

#[test]
fn expressions() {
    run("expressions.txt");
}

#[test]
fn patterns() {
    run("patterns.txt");
}

#[test]
fn clauses() {
    run("clauses.txt");
}

#[test]
fn schema() {
    run("schema.txt");
}

#[test]
fn errors() {
    run("errors.txt");
}
