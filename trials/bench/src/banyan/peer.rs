//! E1: the queries beside Neo4j, embedded, on the same network, in the wordings that suit it: a MATCH a step where walks are meant, since
//! its own patterns repeat no relationship, and early thinning by DISTINCT.

use super::{Graph, QUERIES, WANTED, timed_ask};
use crate::cypher::child::{Child, Line};
use crate::peers::CYPHER;
use crate::report::Report;
use crate::timing::{Samples, shown_ms};
use serde_json::{Map, Value as Json, json};
use world::files::{self, TemporaryFolder};

/// Neo4j in a process of its own.
const JAVA: &str = include_str!("../../peers/CypherNeo4j.java");
/// Where the jars of Neo4j lie.
const JARS_VARIABLE: &str = "TANGLEWOOD_BENCH_NEO4J";
/// A call of the peer may take so long; it then counts with this time.
const CALL_SECONDS_MAX: u64 = 20;
/// Silence of the peer beyond that, loading included.
const SILENCE_SECONDS_MAX: u64 = 180;
/// We must be so much faster, as the paper's engine is.
const FASTER_MIN: f64 = 20.0;
/// Rounds of ours that count, and one before.
const ROUNDS: usize = 7;

const KNOWS: &str = "MATCH (person:Person {id: $personId})";
const WRITES: &str = "EXISTS { MATCH (friend)<-[:HAS_CREATOR]-()-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(class:TagClass) WHERE class.name CONTAINS 'Country' }";

/// Steps of a walk, each vertex once a step.
fn steps(count: usize, test: &str) -> String {
    let mut text = format!("{KNOWS} WITH person AS friend0");
    for step in 0..count {
        let next = step + 1;
        let test = test.replace("(friend)", &format!("(friend{next})"));
        text +=
            &format!(" MATCH (friend{step})-[:KNOWS]-(friend{next}:Person){test} WITH DISTINCT friend{next}");
    }
    text + &format!(" RETURN friend{count}.id AS id LIMIT $n")
}

/// What Neo4j is asked.
fn wording(query: &str) -> String {
    let companies =
        format!("{KNOWS}-[:WORK_AT]->(company:Company) WITH person, collect(company) AS companies");
    let works = "EXISTS { MATCH (friend)-[:WORK_AT]->(c:Company) WHERE c IN companies }";
    match query {
        "CQ1" => steps(5, ""),
        "CQ2" => format!(
            "{companies} MATCH (person)-[:KNOWS*1..5]-(friend:Person) WITH DISTINCT friend, companies WHERE {works} RETURN friend.id AS id LIMIT $n"
        ),
        "CQ3" => format!(
            "{KNOWS}-[:KNOWS*1..2]-(friend:Person) WITH DISTINCT friend WHERE {WRITES} RETURN friend.id AS id ORDER BY id LIMIT $n"
        ),
        "CQ4" => format!(
            "{companies} MATCH (person)-[:KNOWS]-(near:Person) WHERE EXISTS {{ MATCH (near)-[:KNOWS*1..4]-(friend:Person) WHERE {works} }} RETURN DISTINCT near.id AS id LIMIT $n"
        ),
        "CQ5" => format!(
            "{companies} MATCH (person)-[:KNOWS*1..5]-(friend:Person) WITH DISTINCT friend, companies WHERE {works} AND {WRITES} RETURN friend.id AS id LIMIT $n"
        ),
        _ => steps(5, &format!(" WHERE {WRITES}")),
    }
}

/// Medians of Neo4j by query, in milliseconds; with the limit where it took longer.
fn neo4j(graph: &Graph, report: &Report) -> Result<Map<String, Json>, String> {
    let peer =
        CYPHER.into_iter().find(|peer| peer.package == "neo4j").ok_or("Neo4j is not among the peers")?;
    let jars =
        std::env::var(JARS_VARIABLE).map_err(|_| format!("{JARS_VARIABLE} names no folder of its jars"))?;
    let work = TemporaryFolder::new("banyan").map_err(|error| error.to_string())?;
    let source = work.path().join("CypherNeo4j.java");
    files::write_bytes(&source, JAVA.as_bytes()).map_err(|error| error.to_string())?;
    let sets: Vec<Json> =
        graph.persons.iter().map(|person| json!({ "personId": person, "n": WANTED })).collect();
    let each = |value: &dyn Fn(&str) -> Json| -> Map<String, Json> {
        QUERIES.iter().map(|query| (query.name.to_string(), value(query.name))).collect()
    };
    let asked = json!({
        "questions": each(&|_| json!(sets)),
        "texts": each(&|query| json!(wording(query))),
        "over": {}, "best": {}, "call_seconds": CALL_SECONDS_MAX, "jars": jars, "source": source, "address": "",
        "bolt": { "neo4j": {}, "tanglewood": {} },
    });
    let file = work.path().join("asked.json");
    files::write_bytes(&file, asked.to_string().as_bytes()).map_err(|error| error.to_string())?;
    let mut command = peer.command(&graph.network, work.path())?;
    command.arg(&file);
    let (mut child, mut figures) = (Child::start(command)?, Map::new());
    loop {
        match child.line(SILENCE_SECONDS_MAX) {
            Line::Said(line) if line["done"] == true => return Ok(figures),
            Line::Said(line) => {
                if let Some([query, figure]) = line["figure"].as_array().map(Vec::as_slice) {
                    figures.insert(query.as_str().unwrap_or_default().to_string(), figure.clone());
                }
            }
            Line::Ended(why) => return Err(why),
            Line::Silent => {
                report.note("E1 Neo4j fell silent; what it had told counts");
                return Ok(figures);
            }
        }
    }
}

/// Every row that it gave is one of the right ones, but for the person itself, whom its patterns meet on fewer ways.
fn check(graph: &Graph, query: &str, figure: &Json) -> Result<(), String> {
    let answers: Vec<Vec<Vec<i64>>> =
        serde_json::from_value(figure["rows"].clone()).map_err(|error| error.to_string())?;
    for (person, rows) in graph.persons.iter().zip(answers) {
        let right = graph.reference.answer(query, *person);
        let wrong = rows.iter().flatten().any(|id| !right.contains(id));
        let least = right.iter().filter(|id| *id != person).count().min(WANTED as usize);
        if wrong || rows.len() < least {
            return Err(format!("its answer about {person} is wrong"));
        }
    }
    Ok(())
}

pub(crate) fn run(graph: &Graph, report: &mut Report) -> Result<(), String> {
    if !report.choice.takes("Neo4j", "neo4j") {
        return Ok(());
    }
    let figures = match neo4j(graph, report) {
        Ok(figures) => figures,
        Err(why) => {
            report.skipped("E1 Neo4j", &why);
            return Ok(());
        }
    };
    let mut session = graph.database.session();
    for query in QUERIES {
        let mut samples = Samples::default();
        for round in 0..=ROUNDS {
            for person in &graph.persons {
                let (rows, time_ms) = timed_ask(&mut session, query.text, *person, WANTED)?;
                graph.reference.check(query.name, *person, WANTED, &rows)?;
                if round > 0 {
                    samples.push(time_ms);
                }
            }
        }
        let (title, ours) = (format!("E1 {} against Neo4j", query.name), samples.median_ms());
        let Some(figure) = figures.get(query.name) else {
            report.skipped(&title, "Neo4j gave no answer");
            continue;
        };
        let (theirs, sign) = match figure["median_ms"].as_f64() {
            Some(median_ms) => (median_ms, ""),
            None if figure["over"] == true => (CALL_SECONDS_MAX as f64 * 1e3, "> "),
            None => {
                report.skipped(&title, figure["why"].as_str().unwrap_or("no answer"));
                continue;
            }
        };
        if sign.is_empty()
            && let Err(why) = check(graph, query.name, figure)
        {
            report.skipped(&title, &why);
            continue;
        }
        let ratio = theirs / ours;
        let measured = format!("{sign}{ratio:.0}x, {} against {sign}{}", shown_ms(ours), shown_ms(theirs));
        report.figure(&title, &measured, &format!("{FASTER_MIN}x"), ratio >= FASTER_MIN);
    }
    Ok(())
}
