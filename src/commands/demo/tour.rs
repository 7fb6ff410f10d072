//! The demo's questions: a lookup, friends of friends, a shortest path, an aggregate, an update and its effect.
//!
//! The times are those of the first run, parsing and planning included.

use super::Exit;
use super::network::Network;
use super::screen::Screen;
use database::entity::{Hydrated, hydrate};
use database::{Counters, Database, Params, Session, Value};
use shell::text::{cell_text, counted};
use std::time::Duration;

/// An answer: rows without bare entities, what changed, and the time it took.
struct Answer {
    rows: Vec<Vec<Hydrated>>,
    counters: Counters,
    time: Duration,
}

pub fn run(screen: &Screen, database: &Database, network: &Network) -> Result<(), Exit> {
    let mut session = database.session();
    let (near, far) = network.protagonists();

    let text = format!(
        "MATCH (p:Person {{id: {near}}})-[:IS_LOCATED_IN]->(city)\nRETURN p.name, p.birthday, city.name"
    );
    let answer = ask(&mut session, &text)?;
    screen.step("lookup", &text, answer.time, &rows_text(&answer.rows, ", "))?;

    let text = format!(
        "MATCH (p:Person {{id: {near}}})-[:KNOWS]-()-[:KNOWS]-(other)\n\
         WHERE other <> p AND NOT (p)-[:KNOWS]-(other)\n\
         RETURN other.name, count(*) AS via ORDER BY via DESC LIMIT 3"
    );
    let answer = ask(&mut session, &text)?;
    screen.step("two steps away", &text, answer.time, &rows_text(&answer.rows, " "))?;

    let path = shortest(near, far);
    let before = ask(&mut session, &path)?;
    screen.step("shortest path", &path, before.time, &names_text(&before.rows))?;

    let text = "MATCH (tag:Tag)<-[:HAS_TAG]-(:Message)<-[:LIKES]-(p:Person)\n\
                RETURN tag.name, count(p) AS likes ORDER BY likes DESC LIMIT 3";
    let answer = ask(&mut session, text)?;
    screen.step("aggregate", text, answer.time, &rows_text(&answer.rows, " "))?;

    let text = format!(
        "MATCH (a:Person {{id: {near}}}), (b:Person {{id: {far}}})\n\
         CREATE (a)-[:KNOWS {{creationDate: date('2026-01-01')}}]->(b)"
    );
    let answer = ask(&mut session, &text)?;
    let after = ask(&mut session, &path)?;
    let created = counted(answer.counters.relationships_created, "relationship", "relationships");
    let effect =
        format!("{created} created; {} steps apart before, now {}", steps(&before.rows), steps(&after.rows));
    screen.step("update", &text, answer.time, &effect)
}

fn shortest(from: u32, to: u32) -> String {
    format!(
        "MATCH (a:Person {{id: {from}}}), (b:Person {{id: {to}}}),\n      \
         path = shortestPath((a)-[:KNOWS*]-(b)) RETURN nodes(path)"
    )
}

fn ask(session: &mut Session, text: &str) -> Result<Answer, Exit> {
    let mut result = session.query(text, Params::new())?;
    let snapshot = result.snapshot().clone();
    let mut rows = Vec::new();
    while let Some(batch) = result.next_batch()? {
        for row in 0..batch.len() {
            let values = batch.row(row);
            rows.push(values.iter().map(|value| hydrate(value, &snapshot)).collect::<Result<Vec<_>, _>>()?);
        }
    }
    let summary = result.summary();
    Ok(Answer { rows, counters: summary.counters, time: summary.elapsed })
}

/// Rows on one line.
fn rows_text(rows: &[Vec<Hydrated>], between: &str) -> String {
    let rows: Vec<String> =
        rows.iter().map(|row| row.iter().map(cell_text).collect::<Vec<_>>().join(between)).collect();
    rows.join(" · ")
}

/// The first names of the nodes in the only cell.
fn names_text(rows: &[Vec<Hydrated>]) -> String {
    let Some([Hydrated::List(nodes)]) = rows.first().map(Vec::as_slice) else {
        return "they are not connected".into();
    };
    let names: Vec<String> = nodes.iter().filter_map(first_name).collect();
    format!("{} steps: {}", names.len().saturating_sub(1), names.join(" – "))
}

fn first_name(node: &Hydrated) -> Option<String> {
    let Hydrated::Node(node) = node else { return None };
    let name = node.properties.iter().find(|(key, _)| **key == *"firstName").map(|(_, value)| value);
    name.and_then(Value::as_str).map(str::to_string)
}

fn steps(rows: &[Vec<Hydrated>]) -> usize {
    match rows.first().map(Vec::as_slice) {
        Some([Hydrated::List(nodes)]) => nodes.len().saturating_sub(1),
        _ => 0,
    }
}
