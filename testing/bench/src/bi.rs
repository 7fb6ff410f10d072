//! The 20 reads of the LDBC Social Network Benchmark's Business Intelligence workload, beside Kuzu and DuckDB.
//!
//! They are written from the benchmark's description, in the wording that suits each engine ([`queries`]), and asked with parameters that
//! follow from the data by rules ([`parameters`]). Every answer is compared with those of the other engines ([`answers`]); one that differs from
//! any of them is wrong, and one that was compared with none has no figure. The data are snb-like. Where a text is known
//! to deviate from the description, the head of its Cypher says so.

mod answers;
mod parameters;
mod queries;

use crate::ldbc;
use crate::peers::BI;
use crate::report::Report;
use crate::store::{scratch, told};
use crate::timing::{shown_ms, timed};
use crate::{Choice, data};
use answers::{Rows, compare};
use database::{Database, ImportOptions, Limits, Options, Params, Session};
use queries::{DERIVED, QUERIES, Query};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Duration;
use world::files;

/// The packed social networks.
const SETS: [&str; 2] = ["snb-like-sf0.1", "snb-like-sf0.3"];
/// The network where none is named.
const USUAL: &str = "snb-like-sf0.3";
/// The folder of an archive that holds the files.
const INSIDE: &str = "social_network";
/// Calls of each query; the fastest counts. The other engines have one more before, which does not count.
const ROUNDS: usize = 5;
/// A query whose call takes longer has no figure; the other engines have the same limit.
const CALL_SECONDS_MAX: u64 = 60;
/// Of another engine's time, the share that is wanted at most, by engine.
const SHARES: [(&str, f64); 2] = [("Kuzu", 1.0), ("DuckDB", 1.5)];

/// An answer and the time of the fastest call, or why there is none.
type Outcome = Result<(Rows, f64), String>;

/// A query with its parameters, and what we answered.
struct Asked {
    query: Query,
    parameters: Params,
    ours: Outcome,
}

/// Another engine and what its script printed.
struct Peer {
    name: &'static str,
    answer: Json,
}

/// What another engine said to a query, beside our answer.
enum Beside {
    /// No answer, and why.
    Nothing(String),
    /// Our answer, in this time.
    Same(f64),
    /// Something else, and what.
    Other(String),
}

impl Peer {
    fn has_answered(&self, query: &str) -> bool {
        !self.answer["figures"][query].is_null()
    }
    fn beside(&self, query: &str, ours: &Rows) -> Beside {
        if !self.has_answered(query) {
            let why = self.answer["reasons"][query].as_str().unwrap_or("no answer");
            return Beside::Nothing(why.into());
        }
        let figure = &self.answer["figures"][query];
        match (serde_json::from_value::<Rows>(figure["rows"].clone()), figure["best_ms"].as_f64()) {
            (Ok(rows), Some(best_ms)) => match compare(ours, &rows) {
                Ok(()) => Beside::Same(best_ms),
                Err(difference) => Beside::Other(difference),
            },
            (Err(error), _) => Beside::Other(format!("its answer cannot be read: {error}")),
            (Ok(_), None) => Beside::Other("its answer has no time".into()),
        }
    }
}

/// Asks every query that was chosen, of the networks that are named.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let Some(folder) = data else {
        report.skipped("everything", "no folder of data sets was given");
        return Ok(());
    };
    let named = |choice: &Choice, set: &str| choice.only.iter().any(|only| only.eq_ignore_ascii_case(set));
    let any_named = SETS.iter().any(|set| named(&report.choice, set));
    for set in SETS {
        if named(&report.choice, set) || (!any_named && set == USUAL) {
            at_scale(folder, set, report)?;
        }
    }
    Ok(())
}

fn at_scale(folder: &Path, set: &str, report: &mut Report) -> Result<(), String> {
    report.section(&format!(
        "business intelligence, {set}: the fastest of {ROUNDS} calls, every answer compared"
    ));
    let (unpacked, _) = data::unpacked(folder, set)?;
    let network =
        data::find_folder(&unpacked, INSIDE).ok_or_else(|| format!("the archive holds no {INSIDE}"))?;
    let place = scratch("bi")?;
    let database = loaded(&network, &place.path().join("graph"), report)?;
    let names = report.choice.among(&QUERIES.map(|query| query.name));
    let chosen = QUERIES.into_iter().filter(|query| names.contains(&query.name));
    let mut session = database.session();
    session.set_limits(Limits { timeout: Some(Duration::from_secs(CALL_SECONDS_MAX)), bytes_max: None });
    let asked: Vec<Asked> = chosen.map(|query| ask(query, &mut session)).collect::<Result<_, _>>()?;
    drop(session);
    database.close().map_err(|error| told(&error))?;
    let peers = peers(&asked, &network, &place.path().join("questions.json"), report)?;
    let mut ratios: [Vec<f64>; SHARES.len()] = Default::default();
    for one in &asked {
        judge(one, &peers, &mut ratios, report);
    }
    for ((peer, share), ratios) in SHARES.into_iter().zip(ratios) {
        let of =
            |one: &&Asked| peers.iter().any(|known| known.name == peer && known.has_answered(one.query.name));
        let answered = asked.iter().filter(of).count();
        mean((peer, share), &ratios, answered, asked.len(), report);
    }
    Ok(())
}

/// The network, imported, with the relationships that are derived from it; closed and opened again since.
fn loaded(network: &Path, path: &Path, report: &Report) -> Result<Database, String> {
    let opened = || Database::open(path, Options::default()).map_err(|error| told(&error));
    let database = opened()?;
    let options = ImportOptions { from: network.to_path_buf(), ..ImportOptions::default() };
    let (outcome, time_ms) = timed(|| {
        database.import(&options).map_err(|error| told(&error))?;
        let mut session = database.session();
        DERIVED.into_iter().try_for_each(|text| rows(&mut session, text, &Params::new()).map(drop))
    });
    outcome?;
    report.note(format!("ours        loaded in {:.2} s", time_ms / 1e3));
    database.close().map_err(|error| told(&error))?;
    opened()
}

fn rows(session: &mut Session, text: &str, parameters: &Params) -> Result<Rows, String> {
    let rows = session.query(text, parameters.clone()).and_then(|result| result.rows());
    let rows = rows.map_err(|error| told(&error))?;
    Ok(rows.iter().map(|row| row.iter().map(ldbc::answers::plain).collect()).collect())
}

/// A query with its parameters, asked of us.
fn ask(query: Query, session: &mut Session) -> Result<Asked, String> {
    let parameters = parameters::of(&query, session)?;
    let ours = fastest(&query, &parameters, session);
    if let Ok((_, best_ms)) = &ours {
        eprintln!("Tanglewood: {}: {}", query.name, shown_ms(*best_ms));
    }
    Ok(Asked { query, parameters, ours })
}

/// The fastest of some calls, which must all answer alike.
fn fastest(query: &Query, parameters: &Params, session: &mut Session) -> Outcome {
    let (first, mut best_ms) = timed(|| rows(session, query.cypher, parameters));
    let first = first?;
    for _ in 1..ROUNDS {
        let (answer, time_ms) = timed(|| rows(session, query.cypher, parameters));
        compare(&answer?, &first).map_err(|difference| format!("unlike the first call: {difference}"))?;
        best_ms = best_ms.min(time_ms);
    }
    Ok((first, best_ms))
}

/// Runs each installed engine on the files of the network; `questions` is where the queries are written for it.
fn peers(
    asked: &[Asked],
    network: &Path,
    questions: &Path,
    report: &mut Report,
) -> Result<Vec<Peer>, String> {
    let to_json = |one: &Asked| {
        let (query, parameters) = (one.query, parameters::to_json(&one.parameters));
        json!({"name": query.name, "sql": query.sql, "kuzu": query.kuzu, "parameters": parameters})
    };
    let all: Vec<Json> = asked.iter().map(to_json).collect();
    let text = json!({"questions": all, "rounds": ROUNDS, "call_seconds": CALL_SECONDS_MAX}).to_string();
    files::write_bytes(questions, text.as_bytes()).map_err(|error| error.to_string())?;
    let choice = report.choice.clone();
    let mut found = Vec::new();
    for peer in BI.into_iter().filter(|peer| choice.takes(peer.name, peer.package)) {
        match peer.run(network, &[&questions.to_string_lossy()]) {
            Ok(answer) => {
                let version = answer["version"].as_str().unwrap_or("?");
                let load = answer["load_seconds"].as_f64().unwrap_or(f64::NAN);
                report.note(format!("{:<11} loaded in {load:.2} s (version {version})", peer.name));
                found.push(Peer { name: peer.name, answer });
            }
            Err(why) => report.skipped(peer.name, &why),
        }
    }
    Ok(found)
}

/// No rows, or no way: with these parameters every engine has little to do.
fn asks_nothing(query: &str, rows: &Rows) -> bool {
    rows.is_empty() || (query == "q15" && rows.iter().flatten().any(|weight| weight.as_f64() == Some(-1.0)))
}

/// One figure: the answer of each engine that has one, and fast enough beside it.
fn judge(one: &Asked, peers: &[Peer], ratios: &mut [Vec<f64>; SHARES.len()], report: &mut Report) {
    let name = one.query.name;
    let (ours, best_ms) = match &one.ours {
        Ok((rows, best_ms)) => (rows, *best_ms),
        Err(why) => {
            report.figure(name, "no answer", "an answer", false);
            report.note(format!("  {why}"));
            return;
        }
    };
    let is_idle = asks_nothing(name, ours);
    let (mut notes, mut bars, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for peer in peers {
        let shown = match peer.beside(name, ours) {
            Beside::Nothing(why) => why,
            Beside::Same(time_ms) => {
                let at = SHARES.iter().position(|(known, _)| *known == peer.name);
                if let Some(at) = at.filter(|_| !is_idle) {
                    ratios[at].push(best_ms / time_ms);
                    bars.push(time_ms * SHARES[at].1);
                }
                shown_ms(time_ms)
            }
            Beside::Other(difference) => {
                differences.push(format!("  beside {}: {difference}", peer.name));
                "another answer".into()
            }
        };
        notes.push(format!("{} {shown}", peer.name));
    }
    let bar = bars.into_iter().min_by(f64::total_cmp);
    if !differences.is_empty() {
        report.figure(name, "wrong", "right", false);
    } else if is_idle {
        report.figure(name, "asks nothing", "rows", false);
    } else if let Some(bar_ms) = bar {
        let target = format!("right, under {}", shown_ms(bar_ms));
        report.figure(name, &shown_ms(best_ms), &target, best_ms < bar_ms);
    } else {
        report.skipped(name, &format!("compared with nothing; ours took {}", shown_ms(best_ms)));
    }
    if !notes.is_empty() {
        report.note(format!("  {} rows; {}", ours.len(), notes.join(", ")));
    }
    differences.into_iter().for_each(|difference| report.note(difference));
}

/// The geometric mean of our times beside those of one engine, over all that it answered of the chosen queries, or not at all.
fn mean((peer, share): (&str, f64), ratios: &[f64], answered: usize, chosen: usize, report: &mut Report) {
    let name = format!("geometric mean beside {peer}");
    if ratios.is_empty() {
        report.skipped(&name, "nothing was compared");
        return;
    }
    if ratios.len() < answered {
        let why = format!("{} of the {answered} queries that it answered can be compared", ratios.len());
        report.skipped(&name, &why);
        return;
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let shown = format!("{mean:.2} times, {} of {chosen} queries", ratios.len());
    report.figure(&name, &shown, &format!("under {share} times"), mean < share);
}
