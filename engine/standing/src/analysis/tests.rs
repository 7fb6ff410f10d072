//! How statements are maintained, as text: the steps of each, with the order in which a join looks its relations up when one of them changes; or the
//! reason for a refusal, and its hint.
//!
//! `kept.txt` has the statements, each with its steps. With `LEDGER=write` it is written anew, to be reviewed like any other change.

#![allow(clippy::disallowed_methods, reason = "the page is written anew on demand")]

use super::analyse;
use crate::StandingError;
use crate::join::Atom;
use crate::shape::StepKind;
use model::Value;
use model::schema::SchemaTarget;
use std::fmt::Write;
use store::Snapshot;
use transact::{Engine, IndexRequest, Mode, OpenOptions};

/// Many of `P`, of which `x` is indexed, few of `Q`, fewer of `T`; many edges `R`, few `S`.
fn engine() -> Engine {
    let engine = transact::open(None, &OpenOptions::default()).unwrap().0;
    let t = engine.begin(Mode::Write);
    let (x, w) = (t.key("x").unwrap(), t.key("w").unwrap());
    let labels = ["P", "Q", "T"].map(|name| t.label(name).unwrap());
    let types = ["R", "S"].map(|name| t.edge_type(name).unwrap());
    let mut vertices = Vec::new();
    for number in 0..200 {
        let label = labels[usize::from(number % 10 == 0) + usize::from(number % 100 == 0)];
        vertices.push(t.create_vertex(&[label], vec![(x, Value::Int(number % 40))]).unwrap());
    }
    for (at, vertex) in vertices.iter().enumerate() {
        for step in 1..=8 {
            let kind = types[usize::from(step == 1 && at % 4 == 0)];
            let target = vertices[(at * 7 + step * step) % vertices.len()];
            t.create_edge(*vertex, target, kind, vec![(w, Value::Int(step as i64))]).unwrap();
        }
    }
    t.commit().unwrap();
    drop(t);
    let target = SchemaTarget::Vertices(labels[0]);
    engine.create_index(&IndexRequest { name: None, target, keys: vec![x], if_not_exists: false }).unwrap();
    engine
}

fn account(text: &str, snapshot: &Snapshot) -> String {
    let statement = cypher::compile(text).map_err(|error| error.to_string());
    let statement = statement.and_then(|found| plan::normalize(found).map_err(|error| error.to_string()));
    let statement = match statement {
        Ok(statement) => statement,
        Err(error) => return format!("  error: {error}\n"),
    };
    let shape = match analyse(&statement, snapshot) {
        Ok(shape) => shape,
        Err(error) => return refusal(&error),
    };
    let mut told = String::new();
    for (number, step) in shape.steps.iter().enumerate() {
        let columns: Vec<u32> = step.layout.iter().map(|var| var.0).collect();
        match &step.kind {
            StepKind::Join(join) => {
                writeln!(
                    told,
                    "  {number} Join of {} to {columns:?}, entities {:?}, constants {:?}, links {:?}",
                    join.input, join.entities, join.constants, join.links
                )
                .unwrap();
                for atom in &join.atoms {
                    writeln!(told, "    {}", atom_text(atom)).unwrap();
                }
                for (relation, route) in join.routes.iter().enumerate() {
                    writeln!(told, "    {relation} changes: {:?}", route.lookups).unwrap();
                }
            }
            StepKind::Filter { input, .. } => {
                writeln!(told, "  {number} Filter of {input} to {columns:?}").unwrap()
            }
            StepKind::Map { input, items } => {
                writeln!(told, "  {number} Map of {input}, {} items, to {columns:?}", items.len()).unwrap();
            }
            StepKind::Unwind { input, .. } => {
                writeln!(told, "  {number} Unwind of {input} to {columns:?}").unwrap()
            }
            StepKind::Rounds { input, body, walk } => {
                let inner = (body.steps.len(), body.output);
                writeln!(told, "  {number} Rounds of {input} {walk:?}, inner {inner:?}, to {columns:?}")
                    .unwrap();
            }
            other => writeln!(told, "  {number} {other:?} to {columns:?}").unwrap(),
        }
    }
    writeln!(told, "  answer: step {}, arguments {:?}", shape.output, shape.arguments).unwrap();
    told
}

fn atom_text(atom: &Atom<usize>) -> String {
    match atom {
        Atom::Vertex { vertex, labels } => format!("vertex {vertex} {labels:?}"),
        Atom::Edge { edge, from, to, types, direction } => {
            format!("edge {edge} from {from} to {to} {types:?} {direction:?}")
        }
        Atom::Attribute { of, is_vertex, attribute, column } => {
            let kind = if *is_vertex { "vertex" } else { "edge" };
            format!("{attribute:?} of {kind} {of} as {column}")
        }
    }
}

fn refusal(error: &StandingError) -> String {
    format!("  refused: {error}; {}\n", error.hint().unwrap_or("no hint"))
}

#[test]
fn statements_are_kept_as_the_page_says() {
    let engine = engine();
    let snapshot = engine.snapshot();
    let page = include_str!("kept.txt");
    let texts = page.lines().filter(|line| !line.is_empty() && !line.starts_with(' '));
    let written: String = texts.map(|text| format!("{text}\n{}\n", account(text, &snapshot))).collect();
    if std::env::var("LEDGER").is_ok_and(|asked| asked == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/analysis/kept.txt"), written).unwrap();
        return;
    }
    for (found, expected) in written.lines().zip(page.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(written.lines().count(), page.lines().count());
}
