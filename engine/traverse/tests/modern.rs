//! A page of traversals over TinkerPop's small graph ("modern"), each with its answer: every step, in its forms.
//!
//! `modern.txt` has a traversal a line, and behind it what it gives: objects in their order, nothing, or an error's message. With `MODERN=write` the
//! page is written anew, to be read as any other change is.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[allow(dead_code, reason = "shared with the other tests")]
mod twin;

use gremlin::Object;
use tanglewood_traverse::convert::shown;
use twin::{Walked, modern, run};

fn answer(text: &str) -> String {
    let one = |object: &Object| if shown(object).is_empty() { "''".into() } else { shown(object) };
    match run(&Walked::of(modern()), text) {
        Ok(objects) if objects.is_empty() => "nothing".into(),
        Ok(objects) => objects.iter().map(one).collect::<Vec<_>>().join(" | "),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn every_traversal_of_the_page_gives_what_the_page_says() {
    let page = include_str!("modern.txt");
    let (mut faults, mut written) = (Vec::new(), String::new());
    for line in page.lines() {
        let Some(text) = line.split(" => ").next().filter(|_| line.starts_with("g.")) else {
            written.push_str(&format!("{line}\n"));
            continue;
        };
        let found = format!("{text} => {}", answer(text).replace('\n', " "));
        if found.trim_end() != line {
            faults.push(format!("{found}\n   not: {line}"));
        }
        written.push_str(&format!("{}\n", found.trim_end()));
    }
    if std::env::var("MODERN").is_ok_and(|what| what == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/modern.txt"), written).unwrap();
        return;
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Labels that are given, or not, or to some; and what reads them.
const STEPS: [&str; 34] = [
    "as('a')",
    "as('b')",
    "as('name')",
    "out()",
    "in()",
    "both()",
    "outE()",
    "inV()",
    "has('age')",
    "values('name')",
    "values('a')",
    "select('a')",
    "select('b')",
    "select('name')",
    "select('a', 'b')",
    "select(first, 'a')",
    "select(last, 'a')",
    "select(mixed, 'a')",
    "select(all, 'a')",
    "path()",
    "order()",
    "constant('a')",
    "identity()",
    "optional(out().as('a'))",
    "coalesce(has('age').as('b'), identity())",
    "union(identity(), out().as('a'))",
    "where(out())",
    "dedup()",
    "repeat(both()).times(2)",
    "repeat(out().as('a')).emit().times(2)",
    "local(out().as('a'))",
    "filter(select('a'))",
    "limit(5)",
    "not(select('b'))",
];

/// The twin of a count is to count what comes without it: of steps that a count leaves out nobody must notice that they were.
#[test]
fn a_count_is_the_number_of_what_is_counted() {
    let (seed, mut none, mut some) = (world::chance::Chance::system_seed(), 0, 0);
    let mut chance = world::chance::Chance::seeded(seed);
    for _ in 0..600 {
        let steps =
            (0..1 + chance.below(6)).map(|_| STEPS[chance.index(STEPS.len())]).collect::<Vec<_>>().join(".");
        let (whole, counted) = (format!("g.V().{steps}"), format!("g.V().{steps}.count()"));
        let Ok(objects) = run(&Walked::of(modern()), &whole) else { continue };
        let count = run(&Walked::of(modern()), &counted)
            .unwrap_or_else(|error| panic!("seed {seed}: {counted}: {error}"));
        assert_eq!(
            count.iter().map(shown).collect::<Vec<_>>(),
            [objects.len().to_string()],
            "seed {seed}: {counted}"
        );
        none += u32::from(objects.is_empty());
        some += u32::from(!objects.is_empty());
    }
    assert!(none > 40 && some > 40, "seed {seed}: {none} gave nothing, {some} something");
}
