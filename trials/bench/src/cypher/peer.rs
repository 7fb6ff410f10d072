//! The other engines: what their scripts are given, and what they hand back.

use super::{Set, queries};
use crate::ldbc::answers;
use crate::peers::{CYPHER, Peer};
use crate::report::Report;
use database::Value;
use serde_json::{Map, Value as Json, json};
use world::files::{self, TemporaryFolder};

/// Neo4j in a process of its own.
const JAVA: &str = include_str!("../../peers/CypherNeo4j.java");
/// Where the jars of Neo4j 5.26 lie.
const JARS_VARIABLE: &str = "TANGLEWOOD_BENCH_NEO4J";

/// A peer that answered.
pub(crate) struct Answered {
    pub name: &'static str,
    /// By query: `median_ms`, `rows` for each parameter set, `wording`; or `why`.
    pub figures: Json,
    /// Likewise over Bolt, by server.
    pub bolt: Json,
}

impl Answered {
    /// The time of a query, and its rows by parameter set.
    pub fn figure(&self, query: &str) -> Option<(f64, Vec<Vec<Vec<Json>>>)> {
        timed_rows(&self.figures[query])
    }
}

/// Time and rows of one figure.
pub(crate) fn timed_rows(figure: &Json) -> Option<(f64, Vec<Vec<Vec<Json>>>)> {
    let rows = serde_json::from_value(figure["rows"].clone()).ok()?;
    Some((figure["median_ms"].as_f64()?, rows))
}

/// All peers that are installed here, one after the other.
pub(crate) fn all(set: &Set, address: &str, report: &mut Report) -> Vec<Answered> {
    let mut answered = Vec::new();
    for peer in CYPHER {
        match ask(peer, set, address) {
            Ok(answer) => {
                let version = answer["version"].as_str().unwrap_or("?");
                let seconds = answer["load_seconds"].as_f64().unwrap_or(f64::NAN);
                report.note(format!("{} {version}, loaded in {seconds:.1} s", peer.name));
                let (figures, bolt) = (answer["figures"].clone(), answer["bolt"].clone());
                answered.push(Answered { name: peer.name, figures, bolt });
            }
            Err(why) => report.skipped(peer.name, &why),
        }
    }
    answered
}

fn ask(peer: Peer, set: &Set, address: &str) -> Result<Json, String> {
    let (mut questions, mut texts) = (Map::new(), Map::new());
    for query in queries() {
        let sets = set.asked(query).into_iter().map(|asked| {
            let cells = asked
                .params
                .iter()
                .map(|(name, value): (_, &Value)| (name.to_string(), answers::plain(value)));
            Json::Object(cells.collect())
        });
        questions.insert(query.name.into(), Json::Array(sets.collect()));
        texts.insert(query.name.into(), json!(query.text));
    }
    let (questions, texts) = (Json::Object(questions).to_string(), Json::Object(texts).to_string());
    if peer.package != "neo4j" {
        return peer.run(&set.network, &[&questions]);
    }
    let jars =
        std::env::var(JARS_VARIABLE).map_err(|_| format!("{JARS_VARIABLE} names no folder of its jars"))?;
    let place = TemporaryFolder::new("neo4j").map_err(|error| error.to_string())?;
    let source = place.path().join("CypherNeo4j.java");
    files::write_bytes(&source, JAVA.as_bytes()).map_err(|error| error.to_string())?;
    let source = source.to_string_lossy();
    peer.run(&set.network, &[&questions, &texts, &jars, &source, address])
}
