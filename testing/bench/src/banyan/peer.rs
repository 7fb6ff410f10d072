//! E1: the queries beside Neo4j, Kuzu and LadybugDB, embedded, on the same network, in the wordings that suit each: a MATCH a step where walks
//! are meant, early thinning by DISTINCT, searches that stop at the shortest where the language has them; the best of several counts.
//! TinkerGraph and JanusGraph are asked by `bench gremlin`, in their own language.

use super::{Graph, QUERIES, WANTED, timed_ask};
use crate::cypher::child::{Child, Line};
use crate::peers::{CYPHER, Peer};
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
/// How many times faster we must be than each engine, by package; for Neo4j the factor is that of the paper's engine.
const FASTER_MIN: [(&str, f64); 3] = [("neo4j", 20.0), ("kuzu", 1.0), ("ladybug", 1.0)];
/// Rounds of ours that count, and one before.
const ROUNDS: usize = 7;

const KNOWS: &str = "MATCH (person:Person {id: $personId})";
const WRITES: &str = "EXISTS { MATCH (friend)<-[:HAS_CREATOR]-()-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(class:TagClass) WHERE class.name CONTAINS 'Country' }";

/// As Kuzu says it: its messages are two tables.
const KUZU_WRITES: &str = "EXISTS { MATCH (friend)<-[:HAS_CREATOR]-(:Post:Comment)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(class:TagClass) WHERE class.name CONTAINS 'Country' }";
const KUZU_COLLEAGUES: &str = "(person)-[:WORK_AT]->(:Company)<-[:WORK_AT]-(friend)";

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

/// The wordings for Kuzu and LadybugDB.
fn kuzu_wordings(query: &str) -> Vec<String> {
    let works = KUZU_COLLEAGUES;
    let within = |far: usize| format!("MATCH (person)-[:KNOWS* SHORTEST 1..{far}]-(friend:Person)");
    let found = "RETURN DISTINCT friend.id AS id LIMIT $n";
    let colleagues_first = format!(
        "{KNOWS} MATCH {} WITH DISTINCT person, friend {}",
        works.replace("(friend)", "(friend:Person)"),
        within(5)
    );
    let tested = format!("WITH DISTINCT friend WHERE {KUZU_WRITES} RETURN friend.id AS id");
    match query {
        "CQ1" => vec![steps(5, "")],
        "CQ2" => vec![
            format!("{KNOWS} {}, {works} {found}", within(5)),
            format!("{colleagues_first} {found}"),
        ],
        "CQ3" => vec![
            format!("{KNOWS} {} {tested} ORDER BY id LIMIT $n", within(2)),
            format!(
                "{KNOWS} {} WITH DISTINCT friend MATCH (friend)<-[:HAS_CREATOR]-(:Post:Comment)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(class:TagClass)
                 WHERE class.name CONTAINS 'Country' RETURN DISTINCT friend.id AS id ORDER BY id LIMIT $n",
                within(2)
            ),
        ],
        "CQ4" => vec![
            format!(
                "{KNOWS}-[:KNOWS]-(near:Person) MATCH (near)-[:KNOWS* SHORTEST 1..4]-(friend:Person), {works} RETURN DISTINCT near.id AS id LIMIT $n"
            ),
            format!(
                "{KNOWS}-[:KNOWS]-(near:Person) WHERE EXISTS {{ MATCH (near)-[:KNOWS*1..4]-(friend:Person), {works} }} RETURN DISTINCT near.id AS id LIMIT $n"
            ),
        ],
        "CQ5" => vec![
            format!("{KNOWS} {}, {works} {tested} LIMIT $n", within(5)),
            format!("{colleagues_first} {tested} LIMIT $n"),
        ],
        _ => vec![steps(5, &format!(" WHERE {KUZU_WRITES}"))],
    }
}

/// The wording for Neo4j.
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

/// Medians of a peer by query, in milliseconds; with the limit where it took longer.
fn figures(graph: &Graph, peer: Peer, report: &mut Report) -> Result<Map<String, Json>, String> {
    let jars = match std::env::var(JARS_VARIABLE) {
        Err(_) if peer.package == "neo4j" => {
            return Err(format!("{JARS_VARIABLE} names no folder of its jars"));
        }
        jars => jars.unwrap_or_default(),
    };
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
        "own": each(&|query| json!(kuzu_wordings(query))),
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
                report.note(format!("E1 {} fell silent; what it had told counts", peer.name));
                return Ok(figures);
            }
        }
    }
}

/// Each of its rows must be one of the right ones, except the person itself, whom its patterns reach less often.
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
    let chosen: Vec<Peer> =
        CYPHER.into_iter().filter(|peer| report.choice.takes(peer.name, peer.package)).collect();
    if chosen.is_empty() {
        return Ok(());
    }
    let ours = ours(graph)?;
    for peer in chosen {
        match figures(graph, peer, report) {
            Ok(figures) => beside(graph, peer, &figures, &ours, report),
            Err(why) => report.skipped(&format!("E1 {}", peer.name), &why),
        }
    }
    Ok(())
}

/// Our medians by query, each answer checked.
fn ours(graph: &Graph) -> Result<Vec<(&'static str, f64)>, String> {
    let mut session = graph.database.session();
    let mut medians = Vec::new();
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
        medians.push((query.name, samples.median_ms()));
    }
    Ok(medians)
}

/// A peer's figures beside ours.
fn beside(
    graph: &Graph,
    peer: Peer,
    figures: &Map<String, Json>,
    ours: &[(&'static str, f64)],
    report: &mut Report,
) {
    let faster =
        FASTER_MIN.iter().find(|(package, _)| *package == peer.package).map_or(1.0, |(_, times)| *times);
    for (query, ours) in ours {
        let title = format!("E1 {query} against {}", peer.name);
        let Some(figure) = figures.get(*query) else {
            report.skipped(&title, "it gave no answer");
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
            && let Err(why) = check(graph, query, figure)
        {
            report.skipped(&title, &why);
            continue;
        }
        let ratio = theirs / ours;
        let shown = if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") };
        let measured = format!("{sign}{shown}x, {} against {sign}{}", shown_ms(*ours), shown_ms(theirs));
        report.figure(&title, &measured, &format!("{faster}x"), ratio >= faster);
    }
}
