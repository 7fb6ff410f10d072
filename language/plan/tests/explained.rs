//! Plans of Cypher statements: each with its plan, the rows that are expected of each node, and the ways that were chosen, once with
//! figures of a graph and once with nothing known of it.
//!
//! `explained.txt` has the statements, and behind each both plans. With `TANGLEWOOD_BLESS=1` it is written anew, and the difference is then read
//! like code.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use std::fmt::Write;
use support::figures::Figures;
use tanglewood_plan::statistics::NothingKnown;
use tanglewood_plan::{Planning, StatementKind, estimates, explain, optimize};

/// A graph of people, topics and who knows whom, in the letters that the statements use.
const FIGURES: &str = "all 32000; P 30000; Q 3000; T 2000; edges 160000; R> 90000; R< 90000; R- 180000; S> 30000; S< 30000; \
    L> 3000; L< 3000; P R> 90000; P R< 90000; P S> 30000; T S< 30000; Q R> 9000; Q R< 9000; Q L> 3000; Q L< 3000; \
    far R> P 1; far R< P 1; far R- P 1; far R> Q 0.1; far S> T 1; far S< P 1; spread R> 6; spread R< 4; \
    index P(k) 30000; index P(s) 29000; index T(k) 2000; edge index R(w) 11; R(w)>=5 40000; P(k)>=90 12";

fn explained(text: &str, planning: &dyn Planning) -> String {
    let statement = match cypher::compile(text) {
        Ok(statement) => statement,
        Err(error) => return format!("  error: {error}\n"),
    };
    let planned = match optimize(statement, planning) {
        Ok(planned) => planned,
        Err(error) => return format!("  error: {error}\n"),
    };
    let StatementKind::Query { plan, .. } = &planned.kind else { return "  a command\n".into() };
    let mut told: String = explain::render(&planned, &estimates(plan, planning), None)
        .lines()
        .skip(1)
        .map(|line| format!("  | {}\n", line.trim_end()))
        .collect();
    for (node, words) in planned.physical.choices() {
        writeln!(told, "  {node}: {words}").unwrap();
    }
    writeln!(told, "  {:?}", planned.driver()).unwrap();
    told
}

#[test]
fn every_statement_becomes_the_plan_that_the_page_shows() {
    let (mut faults, mut written) = (Vec::new(), String::new());
    let figures = Figures::new(FIGURES);
    for entry in include_str!("explained.txt").split("\n\n").filter(|entry| !entry.trim().is_empty()) {
        let (text, expected) = entry.trim_end().split_once('\n').unwrap_or((entry.trim_end(), ""));
        let (known, unknown) = (explained(text, &figures), explained(text, &NothingKnown));
        let found = if known == unknown { known } else { format!("{known}  nothing known\n{unknown}") };
        if found.trim_end() != expected {
            faults.push(format!("{text}\n{found}   not\n{expected}"));
        }
        write!(written, "{text}\n{found}\n").unwrap();
    }
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/explained.txt"), &written).unwrap();
        return;
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
