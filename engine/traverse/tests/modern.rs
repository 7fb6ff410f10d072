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
