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

/// What must follow from what a traversal gives, for steps behind it.
type Follows = fn(&[String]) -> Vec<String>;

fn number(objects: &[String], number: impl Fn(usize) -> usize) -> Vec<String> {
    vec![number(objects.len()).to_string()]
}

/// Steps that may let those before them do less, and what they give of what comes without them.
const BEHIND: [(&str, Follows); 9] = [
    ("count()", |all| number(all, |count| count)),
    ("limit(3).count()", |all| number(all, |count| count.min(3))),
    ("skip(2).count()", |all| number(all, |count| count.saturating_sub(2))),
    ("range(1, 4).count()", |all| number(all, |count| count.clamp(1, 4) - 1)),
    ("tail(2).count()", |all| number(all, |count| count.min(2))),
    ("fold().count()", |all| number(all, |_| 1)),
    ("fold().unfold()", <[String]>::to_vec),
    ("barrier()", <[String]>::to_vec),
    ("map(identity())", <[String]>::to_vec),
];

/// The twin of a count is to count what comes without it, and so on: of steps that others let do less nobody must notice that they did. Two seeds that are
/// always the same, and one that never is; `TANGLEWOOD_SEED` gives that.
#[test]
fn what_lets_steps_do_less_gives_what_follows_from_all_of_them() {
    let given = std::env::var("TANGLEWOOD_SEED").ok().and_then(|text| text.parse().ok());
    for seed in [1, 2, given.unwrap_or_else(world::chance::Chance::system_seed)] {
        println!("TANGLEWOOD_SEED={seed}");
        let mut chance = world::chance::Chance::seeded(seed);
        let (mut none, mut some, mut failed) = (0, 0, 0);
        for _ in 0..200 {
            let steps = (0..1 + chance.below(6)).map(|_| STEPS[chance.index(STEPS.len())]);
            let whole = format!("g.V().{}", steps.collect::<Vec<_>>().join("."));
            let shown_of = |text: &str| {
                let mut found: Vec<String> = run(&Walked::of(modern()), text)?.iter().map(shown).collect();
                found.sort_unstable();
                Ok::<_, tanglewood_traverse::TraverseError>(found)
            };
            let Ok(objects) = shown_of(&whole) else {
                failed += 1;
                continue;
            };
            for (behind, follows) in [BEHIND[0], BEHIND[1 + chance.index(BEHIND.len() - 1)]] {
                let text = format!("{whole}.{behind}");
                let found = shown_of(&text).unwrap_or_else(|error| panic!("seed {seed}: {text}: {error}"));
                assert_eq!(found, follows(&objects), "seed {seed}: {text}");
            }
            none += u32::from(objects.is_empty());
            some += u32::from(!objects.is_empty());
        }
        let told = format!("seed {seed}: {none} gave nothing, {some} something, {failed} an error");
        println!("{told}");
        assert!(none > 20 && some > 20 && failed < 60, "{told}");
    }
}
