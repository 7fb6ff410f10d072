//! A page of traversals over TinkerPop's small graph ("modern"), each with its answer: every step, in its forms.
//!
//! `modern.txt` has a traversal a line, and behind it what it gives: objects in their order, nothing, or an error's message. With `MODERN=write` the
//! page is written anew, to be read as any other change is.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

#[allow(dead_code, reason = "shared with the other tests")]
mod twin;

use gremlin::Object;
use model::{EdgeId, EdgeRef, VertexId};
use tanglewood_traverse::Kept;
use tanglewood_traverse::convert::shown;
use twin::{Edge, Lists, Vertex, Walked, run};

/// Six people and programs by the numbers that they have everywhere, and the edges 7 to 12.
fn modern() -> Lists {
    let vertex = |label: &str, properties: Vec<(&str, Object)>| {
        let kept = properties.into_iter().map(|(key, value)| (key.into(), vec![Kept::plain(value)]));
        Some(Vertex { labels: vec![label.into()], properties: kept.collect() })
    };
    let text = |text: &str| Object::String(text.into());
    let person =
        |name: &str, age: i32| vertex("person", vec![("name", text(name)), ("age", Object::Int(age))]);
    let program = |name: &str| vertex("software", vec![("name", text(name)), ("lang", text("java"))]);
    let vertices = vec![
        None,
        person("marko", 29),
        person("vadas", 27),
        program("lop"),
        person("josh", 32),
        program("ripple"),
        person("peter", 35),
    ];
    let edge = |(id, source, kind, target, weight): (u64, u64, &str, u64, f64)| {
        let edge = EdgeRef { id: EdgeId(id), source: VertexId(source), target: VertexId(target) };
        Some(Edge { edge, kind: kind.into(), properties: vec![("weight".into(), Object::Double(weight))] })
    };
    let edges = [
        (7, 1, "knows", 2, 0.5),
        (8, 1, "knows", 4, 1.0),
        (9, 1, "created", 3, 0.4),
        (10, 4, "created", 5, 1.0),
        (11, 4, "created", 3, 0.4),
        (12, 6, "created", 3, 0.2),
    ];
    let edges = (0..7).map(|_| None).chain(edges.map(edge)).collect();
    Lists { vertices, edges }
}

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
