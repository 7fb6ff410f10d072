//! The other engines: what their scripts are given, what they hand back, and what happens where one does not come back.
//!
//! A script tells before each call what it tries and after each query what it found. An engine that does not end a call at the limit, as
//! shortest paths in some do not, is silent: then its processes are killed, that wording counts as over the limit, and the script is started
//! again with what is left, on the graph that it loaded before.

use super::child::{Child, Line};
use super::{Set, queries};
use crate::data;
use crate::ldbc::answers;
use crate::peers::{CYPHER, Peer};
use crate::report::Report;
use database::Value;
use serde_json::{Map, Value as Json, json};
use std::path::PathBuf;
use world::files::{self, TemporaryFolder};

/// Neo4j in a process of its own.
const JAVA: &str = include_str!("../../peers/CypherNeo4j.java");
/// Where the jars of Neo4j 5.26 lie.
const JARS_VARIABLE: &str = "TANGLEWOOD_BENCH_NEO4J";
/// The limit of one call, in seconds: a hundred times our slowest. A query that takes longer counts with the limit.
pub(crate) const CALL_SECONDS_MAX: u64 = 10;
/// How long after the limit of a call an engine may still be silent.
const GRACE_SECONDS: u64 = 5;
/// Loading and indexing.
const LOAD_SECONDS_MAX: u64 = 240;
/// Restarts of one peer on one graph: every wording of every query might need one.
const STARTS_MAX: usize = 80;

/// A peer's result for a query.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Milliseconds, and rows for the sets of parameters it had time for.
    Answered(f64, Vec<Vec<Vec<Json>>>),
    /// No wording came back within the limit.
    Over,
    /// Why there is no answer.
    None(String),
}

/// A peer and its figures.
#[derive(Debug)]
pub(crate) struct Answered {
    pub name: &'static str,
    figures: Map<String, Json>,
    /// Over Bolt, by server.
    bolt: Map<String, Json>,
    /// Milliseconds of an empty call, by interface.
    floors: Map<String, Json>,
}

impl Answered {
    fn new(name: &'static str) -> Answered {
        let servers = ["neo4j", "tanglewood"].map(|server| (server.to_string(), json!({})));
        Answered { name, figures: Map::new(), bolt: servers.into_iter().collect(), floors: Map::new() }
    }
    /// In process.
    pub fn figure(&self, query: &str) -> Outcome {
        outcome(self.figures.get(query))
    }
    /// Over Bolt.
    pub fn over_bolt(&self, server: &str, query: &str) -> Outcome {
        outcome(self.bolt.get(server).and_then(|figures| figures.get(query)))
    }
    /// True if Bolt was measured.
    pub fn has_bolt(&self) -> bool {
        self.bolt["tanglewood"].as_object().is_some_and(|figures| !figures.is_empty())
    }
}

fn outcome(figure: Option<&Json>) -> Outcome {
    let Some(figure) = figure else { return Outcome::None("no answer".into()) };
    let rows = serde_json::from_value(figure["rows"].clone());
    match (figure["median_ms"].as_f64(), rows) {
        (Some(median_ms), Ok(rows)) => Outcome::Answered(median_ms, rows),
        _ if figure["over"] == true => Outcome::Over,
        _ => Outcome::None(figure["why"].as_str().unwrap_or("no answer").into()),
    }
}

/// Runs all chosen peers that are installed, one after the other.
pub(crate) fn all(set: &Set, address: &str, report: &mut Report) -> Vec<Answered> {
    let mut answered = Vec::new();
    let choice = report.choice.clone();
    for peer in CYPHER.into_iter().filter(|peer| choice.takes(peer.name, peer.package)) {
        match Asking::new(peer, set, address).and_then(Asking::finish) {
            Ok((about, answer)) => {
                report.note(about);
                for (how, time_ms) in &answer.floors {
                    let time = crate::timing::shown_ms(time_ms.as_f64().unwrap_or_default());
                    report.note(format!(
                        "{how}: a call that asks nothing takes {time}, which its times contain"
                    ));
                }
                answered.push(answer);
            }
            Err(why) => report.skipped(peer.name, &why),
        }
    }
    answered
}

/// A peer while its script runs.
struct Asking<'a> {
    peer: Peer,
    set: &'a Set,
    address: &'a str,
    jars: String,
    work: TemporaryFolder,
    /// Where figures are kept as they come, for the case that this program does not live to print them.
    kept: PathBuf,
    answered: Answered,
    /// Wordings over the limit, by query.
    over: Map<String, Json>,
    about: String,
    /// The query and the wording that were tried last.
    trying: (String, String),
}

impl<'a> Asking<'a> {
    fn new(peer: Peer, set: &'a Set, address: &'a str) -> Result<Asking<'a>, String> {
        let is_neo4j = peer.package == "neo4j";
        let jars = std::env::var(JARS_VARIABLE).unwrap_or_default();
        if is_neo4j && jars.is_empty() {
            return Err(format!("{JARS_VARIABLE} names no folder of its jars"));
        }
        let work = TemporaryFolder::new("peer").map_err(|error| error.to_string())?;
        files::write_bytes(&work.path().join("CypherNeo4j.java"), JAVA.as_bytes())
            .map_err(|error| error.to_string())?;
        let kept = data::cache_folder().join(format!("cypher-{}-{}.json", set.name, peer.package));
        let answered = Answered::new(peer.name);
        let (over, about, trying) = (Map::new(), String::new(), Default::default());
        Ok(Asking { peer, set, address, jars, work, kept, answered, over, about, trying })
    }

    /// Asks until everything is answered or over the limit.
    fn finish(mut self) -> Result<(String, Answered), String> {
        for _ in 0..STARTS_MAX {
            let asked = self.work.path().join("asked.json");
            files::write_bytes(&asked, self.left().to_string().as_bytes())
                .map_err(|error| error.to_string())?;
            let mut command = self.peer.command(&self.set.network, self.work.path())?;
            command.arg(&asked);
            if self.listen(Child::start(command)?)? {
                return Ok((self.about, self.answered));
            }
        }
        Err(format!("was started {STARTS_MAX} times and did not finish"))
    }

    /// Reads the script's output; true at its end, false if it had to be killed.
    fn listen(&mut self, mut child: Child) -> Result<bool, String> {
        let mut limit_seconds = LOAD_SECONDS_MAX;
        self.trying = Default::default();
        loop {
            match child.line(limit_seconds) {
                Line::Said(line) if line["done"] == true => return Ok(true),
                Line::Said(line) => {
                    let loaded = !self.take(line);
                    limit_seconds = if loaded { LOAD_SECONDS_MAX } else { CALL_SECONDS_MAX + GRACE_SECONDS };
                }
                Line::Ended(why) => return Err(format!("{} failed: {why}", self.peer.name)),
                Line::Silent if self.trying.0.is_empty() => {
                    return Err(format!("did not load within {LOAD_SECONDS_MAX} s"));
                }
                Line::Silent => {
                    let (query, wording) = self.trying.clone();
                    child.kill();
                    eprintln!("{}: {query}, wording {wording}: killed", self.peer.name);
                    let names = self.over.entry(query).or_insert_with(|| json!([]));
                    names.as_array_mut().expect("made as a list").push(wording.into());
                    return Ok(false);
                }
            }
        }
    }

    /// One line of the script; false for the line that says that the graph is loaded, after which indexes may still be made.
    fn take(&mut self, line: Json) -> bool {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_string();
        if let Some(tried) = line["trying"].as_array() {
            self.trying = (text(&tried[0]), text(&tried[1]));
        } else if let Some([query, figure]) = line["figure"].as_array().map(Vec::as_slice) {
            eprintln!("{}: {}: {}", self.peer.name, text(query), shown(figure));
            self.answered.figures.insert(text(query), figure.clone());
            self.keep();
        } else if let Some([server, query, figure]) = line["bolt"].as_array().map(Vec::as_slice) {
            eprintln!("{} over Bolt: {}: {}", text(server), text(query), shown(figure));
            self.answered.bolt[text(server).as_str()][text(query)] = figure.clone();
            self.keep();
        } else if let Some([how, time_ms]) = line["floor"].as_array().map(Vec::as_slice) {
            self.answered.floors.insert(text(how), time_ms.clone());
        } else if let Some(seconds) = line["load_seconds"].as_f64() {
            self.about = format!("{} {}, loaded in {seconds:.1} s", self.peer.name, text(&line["version"]));
            eprintln!("{}", self.about);
            return false;
        }
        true
    }

    /// Writes the results so far to disk. Where that fails, the figures are still reported at the end.
    fn keep(&self) {
        let all = json!({ "figures": self.answered.figures, "bolt": self.answered.bolt });
        let _ = files::write_bytes(&self.kept, all.to_string().as_bytes());
    }

    /// The queries without a result yet, for the script.
    fn left(&self) -> Json {
        let asked = |done: &dyn Fn(&str) -> bool| {
            let left = queries(&self.set.chosen).filter(|query| !done(query.name));
            Json::Object(left.map(|query| (query.name.into(), parameters(self.set, query))).collect())
        };
        let texts: Map<String, Json> =
            queries(&self.set.chosen).map(|query| (query.name.into(), json!(query.text))).collect();
        let bolt = |server: &str| asked(&|query| !self.answered.bolt[server][query].is_null());
        let best: Map<String, Json> = (self.answered.figures.iter())
            .filter(|(_, figure)| figure["wording"].is_string())
            .map(|(query, figure)| (query.clone(), figure["wording"].clone()))
            .collect();
        json!({
            "questions": asked(&|query| self.answered.figures.contains_key(query)),
            "texts": texts,
            "over": self.over,
            "best": best,
            "call_seconds": CALL_SECONDS_MAX,
            "jars": self.jars,
            "source": self.work.path().join("CypherNeo4j.java"),
            "address": self.address,
            "bolt": { "neo4j": bolt("neo4j"), "tanglewood": bolt("tanglewood") },
        })
    }
}

/// All sets of parameters of a query.
fn parameters(set: &Set, query: crate::ldbc::Query) -> Json {
    let sets = set.asked(query).into_iter().map(|asked| {
        let cells =
            asked.params.iter().map(|(name, value): (_, &Value)| (name.to_string(), answers::plain(value)));
        Json::Object(cells.collect())
    });
    Json::Array(sets.collect())
}

fn shown(figure: &Json) -> String {
    match outcome(Some(figure)) {
        Outcome::Answered(median_ms, _) => crate::timing::shown_ms(median_ms),
        Outcome::Over => over_shown(),
        Outcome::None(why) => why,
    }
}

/// The text shown in place of a time over the limit.
pub(crate) fn over_shown() -> String {
    format!("> {CALL_SECONDS_MAX} s")
}
