//! Every function with each kind of value: whether it is accepted, and the inferred type of its result. The expected lines are in
//! `tests/golden/functions.txt`; `TANGLEWOOD_BLESS=1` writes them anew, and the difference is then read like code.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use plan::{AggregateFunction, Function};
use std::collections::BTreeMap;
use std::fmt::Write;
use tanglewood_cypher as cypher;

/// A value of each kind, and a parameter, which may be anything.
const VALUES: [&str; 12] =
    ["1", "1.5", "'a'", "true", "[1]", "{a: 1}", "null", "n", "r", "p", "date('2024-01-01')", "$0"];

/// What is said of `NOT f(…)`: it takes truth values alone, so an error names the type of what it is given.
fn said(call: &str) -> String {
    match cypher::compile(&format!("MATCH p = (n)-[r]->() RETURN NOT {call} AS x")) {
        Ok(_) => "may be a truth value".into(),
        Err(error) => {
            let hint = error.hint.map_or(String::new(), |hint| format!(" ({hint})"));
            format!("{:?}: {}{hint}", error.kind, error.message)
        }
    }
}

fn table(name: &str, (least, most): (usize, usize), told: &mut String) {
    let _ = writeln!(told, "{name}");
    let call = |count: usize, first: &str| {
        let others = (1..count).map(|place| format!("${place}"));
        let all: Vec<String> =
            std::iter::once(first.to_string()).filter(|_| count > 0).chain(others).collect();
        format!("{name}({})", all.join(", "))
    };
    let mut by_answer: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for value in VALUES {
        by_answer.entry(said(&call(least.max(1).min(most), value))).or_default().push(value);
    }
    for (answer, values) in by_answer {
        let _ = writeln!(told, "    {}: {answer}", values.join(" "));
    }
    for count in [least.checked_sub(1), most.checked_add(1)].into_iter().flatten() {
        let _ = writeln!(told, "    with {count}: {}", said(&call(count, "$0")));
    }
}

#[test]
fn functions_take_and_give_what_they_say() {
    let mut told = String::new();
    for function in Function::ALL.iter().filter(|function| !function.name().starts_with(' ')) {
        table(function.name(), function.arity(), &mut told);
    }
    for function in AggregateFunction::ALL.iter().filter(|function| !function.name().starts_with(' ')) {
        table(function.name(), function.arity(), &mut told);
    }
    let unknown = [
        "len",
        "tostr",
        "str",
        "int",
        "concat",
        "average",
        "mean",
        "now",
        "ifnull",
        "nvl",
        "distance",
        "toUper",
        "countt",
        "a.b.c",
        "nothingLikeIt",
    ];
    for name in unknown {
        let _ = writeln!(told, "{name}\n    {}", said(&format!("{name}(1)")));
    }
    let file = format!("{}/tests/golden/functions.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("TANGLEWOOD_BLESS").is_some() {
        return std::fs::write(file, told).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (line, expected) in told.lines().zip(expected.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(told.lines().count(), expected.lines().count());
}

/// A CREATE whose parts read each other is cut; up to a limit.
#[test]
fn a_create_is_cut_up_to_its_limit() {
    let chain = |cuts: usize| {
        let parts = (1..=cuts).map(|at| format!(", (a{at} {{x: a{}.x}})", at - 1));
        format!("CREATE (a0 {{x: 1}}){}", parts.collect::<String>())
    };
    assert!(cypher::compile(&chain(200)).is_ok());
    let error = cypher::compile(&chain(201)).map(|_| ()).unwrap_err();
    assert_eq!(error.message, "more than 200 parts of this CREATE read each other");
}
