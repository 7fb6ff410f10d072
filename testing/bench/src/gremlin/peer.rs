//! TinkerGraph and JanusGraph on the same network: each in a JVM of its own, in memory, with an index on ids, warm, its traversals parsed
//! before they are timed; ours is in process too, parsing included. [`driven`] asks the same through servers and one driver.
//!
//! They hold what the questions read: persons, companies, messages, tags, their classes, and the edges between them.

use super::APPENDIX;
use super::asked::{self, ask, bindings};
use super::driven;
use crate::banyan::{Graph, WANTED, told};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Session, Value, params};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use world::files::{self, TemporaryFolder};

pub(super) const JAVA: &str = include_str!("../../peers/GremlinTwins.java");
/// Name, kind, and where the folder of its jars is named.
pub(super) type Peer = (&'static str, &'static str, &'static str);
const PEERS: [Peer; 2] = [
    ("TinkerGraph", "tinkergraph", "TANGLEWOOD_BENCH_GREMLIN"),
    ("JanusGraph", "janusgraph", "TANGLEWOOD_BENCH_JANUSGRAPH"),
];
/// A call of a peer may take so long; it then counts with this time.
pub(super) const CALL_SECONDS_MAX: u64 = 10;
/// How many times faster we must be.
pub(super) const FASTER_MIN: f64 = 20.0;
/// Rounds of ours.
const ROUNDS: usize = 7;
/// Labels that the questions read.
const LABELS: [&str; 5] = ["Person", "Company", "Message", "Tag", "TagClass"];
const EDGES: [&str; 5] = ["KNOWS", "WORK_AT", "HAS_CREATOR", "HAS_TAG", "HAS_TYPE"];
/// Hops, in the wording of both sides.
const HOPS: [(&str, &str); 2] = [
    ("2 hops", "g.V().has('Person', 'id', personId).both('KNOWS').both('KNOWS').dedup().count()"),
    (
        "3 hops",
        "g.V().has('Person', 'id', personId).both('KNOWS').both('KNOWS').both('KNOWS').dedup().count()",
    ),
];

/// One question of a peer.
struct Answered {
    median_ms: Option<f64>,
    rows: Vec<Vec<i64>>,
}

/// The graph in the peers' form: vertices and edges, a line each.
fn written(session: &mut Session, place: &Path) -> Result<(), String> {
    let mut numbers: HashMap<i64, usize> = HashMap::new();
    let (mut vertices, mut edges) = (String::new(), String::new());
    let mut rows =
        |text: &str| session.query(text, params! {}).and_then(|result| result.rows()).map_err(told);
    for label in LABELS {
        for row in rows(&format!("MATCH (v:{label}) RETURN id(v), v.id, v.name"))? {
            let [Value::Int(vertex), Value::Int(id), name] = row.as_slice() else { continue };
            let (number, name) =
                (numbers.len(), name.as_str().unwrap_or_default().replace(['\t', '\n'], " "));
            numbers.insert(*vertex, number);
            writeln!(vertices, "{number}\t{label}\t{id}\t{name}").map_err(|error| error.to_string())?;
        }
    }
    for kind in EDGES {
        for row in rows(&format!("MATCH (a)-[:{kind}]->(b) RETURN id(a), id(b)"))? {
            let ends = [row[0].as_int(), row[1].as_int()].map(|end| end.and_then(|end| numbers.get(&end)));
            if let [Some(from), Some(to)] = ends {
                writeln!(edges, "{kind}\t{from}\t{to}").map_err(|error| error.to_string())?;
            }
        }
    }
    write(place, "vertices", &vertices).and_then(|()| write(place, "edges", &edges))
}

/// All questions: the hops, then the appendix.
pub(super) fn questions() -> impl Iterator<Item = (&'static str, &'static str)> {
    HOPS.into_iter().chain(APPENDIX.iter().copied())
}

/// A text in one line, with the key that the peers have for ids, since theirs is taken, and without `store`, which version 3.8 has no more:
/// for the one traverser of a `sideEffect` an `aggregate` does the same.
pub(super) fn wording(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("'id'", "'id_'")
        .replace("store(", "aggregate(")
}

/// The folder of a peer's jars.
pub(super) fn jars(variable: &str) -> Result<String, String> {
    std::env::var(variable).map_err(|_| format!("{variable} names no folder of its jars"))
}

pub(super) fn write(place: &Path, name: &str, text: &str) -> Result<(), String> {
    files::write_bytes(&place.join(name), text.as_bytes()).map_err(|error| error.to_string())
}

/// All traversals of one peer, by their names.
fn asked_of(kind: &str, variable: &str, place: &Path) -> Result<HashMap<String, Answered>, String> {
    let jars = jars(variable)?;
    write(place, "GremlinTwins.java", JAVA)?;
    let lines: Vec<String> = questions().map(|(name, text)| format!("{name}\t{}", wording(text))).collect();
    write(place, "questions", &lines.join("\n"))?;
    let mut command = Command::new("java");
    command.args(["-Xmx6g", "-cp", &format!("{jars}/*")]).arg(place.join("GremlinTwins.java")).arg(kind);
    command.args(["vertices", "edges", "questions", "persons"].map(|name| place.join(name)));
    command.arg(CALL_SECONDS_MAX.to_string()).stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    let lines = String::from_utf8_lossy(&output.stdout);
    let answers: HashMap<String, Answered> = lines.lines().filter_map(answered).collect();
    match answers.is_empty() {
        true => {
            Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("no output").to_string())
        }
        false => Ok(answers),
    }
}

fn answered(line: &str) -> Option<(String, Answered)> {
    let line: Json = serde_json::from_str(line).ok()?;
    let rows = serde_json::from_value(line["rows"].clone()).unwrap_or_default();
    Some((line["query"].as_str()?.to_string(), Answered { median_ms: line["median_ms"].as_f64(), rows }))
}

/// Beside the peers, in process and through a driver, or one of the two.
pub(super) fn run(graph: &Graph, report: &mut Report, [here, driver]: [bool; 2]) -> Result<(), String> {
    let chosen: Vec<Peer> =
        PEERS.into_iter().filter(|(name, kind, _)| report.choice.takes(name, kind)).collect();
    if chosen.is_empty() || !(here || driver) {
        return Ok(());
    }
    let mut session = graph.database.session();
    let place = TemporaryFolder::new("gremlin").map_err(|error| error.to_string())?;
    written(&mut session, place.path())?;
    write(place.path(), "persons", &graph.persons.iter().map(i64::to_string).collect::<Vec<_>>().join("\n"))?;
    if here {
        let ours = ours(graph, &mut session)?;
        for (name, kind, variable) in &chosen {
            match asked_of(kind, variable, place.path()) {
                Ok(theirs) => tell(graph, report, name, (&ours, &theirs)),
                Err(why) => report.skipped(name, &why),
            }
        }
    }
    if driver { driven::run(graph, report, &chosen, place.path()) } else { Ok(()) }
}

/// Our results: median time in milliseconds and rows, by question.
type Ours = HashMap<&'static str, (f64, Vec<Vec<i64>>)>;

/// Our medians, and our answers about each person.
fn ours(graph: &Graph, session: &mut Session) -> Result<Ours, String> {
    let mut all = HashMap::new();
    for (name, text) in questions() {
        let (mut samples, mut rows) = (Samples::default(), Vec::new());
        for round in 0..=ROUNDS {
            rows.clear();
            for person in &graph.persons {
                let binding = bindings(&params! { "personId" => *person });
                let (found, time_ms) = timed(|| ask(session, text, &binding));
                rows.push(asked::numbers(&found?)?);
                if round > 0 {
                    samples.push(time_ms);
                }
            }
        }
        all.insert(name, (samples.median_ms(), rows));
    }
    Ok(all)
}

/// Counts agree with ours; of the appendix's queries any right rows will do.
pub(super) fn is_right(graph: &Graph, query: &str, ours: &[Vec<i64>], theirs: &[Vec<i64>]) -> bool {
    match query.starts_with("CQ") {
        true => graph
            .persons
            .iter()
            .zip(theirs)
            .all(|(person, rows)| graph.reference.check(query, *person, WANTED, rows).is_ok()),
        false => ours == theirs,
    }
}

fn tell(graph: &Graph, report: &mut Report, peer: &str, (ours, theirs): (&Ours, &HashMap<String, Answered>)) {
    for (name, _) in questions() {
        let title = format!("{name} against {peer}");
        let (Some((our_ms, our_rows)), Some(answer)) = (ours.get(name), theirs.get(name)) else {
            report.skipped(&title, "it gave no answer");
            continue;
        };
        let (their_ms, sign) = match answer.median_ms {
            Some(median_ms) => (median_ms, ""),
            None => (CALL_SECONDS_MAX as f64 * 1e3, "> "),
        };
        if answer.median_ms.is_some() && !is_right(graph, name, our_rows, &answer.rows) {
            report.skipped(&title, "its answer is wrong");
            continue;
        }
        let ratio = their_ms / our_ms;
        let measured =
            format!("{sign}{ratio:.0}x, {} against {sign}{}", shown_ms(*our_ms), shown_ms(their_ms));
        report.figure(&title, &measured, &format!("{FASTER_MIN}x"), ratio >= FASTER_MIN);
    }
}
