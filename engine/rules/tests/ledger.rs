//! Counts of the data that programs keep: facts and bytes of each, after it was evaluated and while its facts come and go.
//!
//! `bytes.rs` holds these accounts against the allocator, with some slack; here they are held as they are, so that a share that is counted wrongly
//! shows. With `LEDGER=write` the page is written anew, to be read as any other change is.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use model::Value;
use std::fmt::Write;
use tanglewood_rules::{Bounds, Change, Evaluation};

const PROGRAMS: &[&str] = &[
    "p(x) :- n(x, y). ?- p(x).",
    "p(x, y) :- n(x, y). p(y, x) :- n(x, y). ?- p(x, y).",
    "p(x, z) :- n(x, y), n(y, z). ?- p(x, z).",
    "p(x, z) :- n(x, y), n(z, y), x != z. ?- p(x, z).",
    "t(x, y) :- n(x, y), x < 40. t(x, z) :- t(x, y), n(y, z), z < 60. ?- t(x, y).",
    "p(x) :- n(x, y), !n(y, x). q(x) :- n(_, x), !p(x). ?- q(x).",
    "p(y, count(), sum(x), min(x), max(x), avg(x)) :- n(x, y). ?- p(y, a, b, c, d, e).",
    "p(count(), sum(z)) :- n(x, y), z = x / 3.0. ?- p(a, b).",
    "p(x, w) :- n(x, y), w = y * 2 + 1, w % 3 = 0. q(w) :- p(_, w). r(w, count()) :- p(x, w), q(x). ?- r(w, c).",
    "a(x) :- n(x, y), y > 50. b(x) :- n(x, y), y <= 50. c(x) :- a(x), b(x). d(x, y) :- c(x), c(y), n(x, y). ?- d(x, y).",
];

fn fact(at: i64) -> Vec<Value> {
    vec![Value::Int(at % 97), Value::Int(at * 31 % 89)]
}

fn account(text: &str, count: i64) -> String {
    let program = format!(".input n(2, $n) n(x, y) :- never(x, y). never(0, 0) :- n(0, 0), 1 = 2. {text}");
    let facts = move |_: &str| Some(Value::list((0..count).map(|at| Value::list(fact(at))).collect()));
    let mut evaluation =
        Evaluation::new(datalog::compile(&program).unwrap(), facts, Bounds::default()).unwrap();
    let mut told = format!("  {count}: {} at first", evaluation.bytes());
    evaluation.evaluate().unwrap();
    write!(told, ", {} evaluated", evaluation.bytes()).unwrap();
    evaluation.prepare().unwrap();
    write!(told, ", {} prepared", evaluation.bytes()).unwrap();
    let relation = evaluation.program().relation("n@input").unwrap();
    for (comes, from, to) in
        [(false, 0, count / 2), (true, count, count + 50), (false, count / 2, count + 50), (true, 0, 7)]
    {
        let changes: Vec<Change> = (from..to).map(|at| Change { relation, fact: fact(at), comes }).collect();
        evaluation.change(&changes).unwrap();
        evaluation.settle().unwrap();
        write!(told, ", {}", evaluation.bytes()).unwrap();
    }
    told.push('\n');
    told
}

#[test]
fn every_program_keeps_what_the_ledger_says() {
    let mut written = String::new();
    for text in PROGRAMS {
        writeln!(written, "{text}").unwrap();
        [5, 300, 2_000].into_iter().for_each(|count| written.push_str(&account(text, count)));
    }
    if std::env::var("LEDGER").is_ok_and(|what| what == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ledger.txt"), &written).unwrap();
        return;
    }
    let expected = include_str!("ledger.txt");
    for (found, expected) in written.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(written.len(), expected.len());
}
