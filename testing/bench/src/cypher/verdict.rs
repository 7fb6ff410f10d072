//! Compares results and times: one line per query, then the means.

use super::Set;
use super::ours::Figure;
use super::peer::{Answered, CALL_SECONDS_MAX, Outcome, over_shown};
use crate::ldbc::answers;
use crate::ldbc::expected::Expected;
use crate::report::Report;
use crate::timing::shown_ms;
use serde_json::Value as Json;

/// No query may take longer than this times the best peer's.
const SLOWER_THAN_BEST_MAX: f64 = 1.2;
/// By how much the geometric mean must be below a peer's.
const FASTER_THAN: [(&str, f64); 3] = [("Neo4j", 5.0), ("Kuzu", 2.0), ("LadybugDB", 2.0)];

/// Our times and theirs where both answered rightly: name of the peer, pairs by family of queries.
type Pairs = Vec<(&'static str, Vec<(bool, f64, f64)>)>;

/// Prints everything.
pub(crate) fn tell(set: &Set, ours: &[Figure], peers: &[Answered], report: &mut Report) {
    let mut pairs: Pairs = peers.iter().map(|peer| (peer.name, Vec::new())).collect();
    for figure in ours {
        one(set, figure, peers, &mut pairs, report);
    }
    for (family, complex) in [("complex reads", true), ("subgraphs", false)] {
        for (name, pairs) in &pairs {
            let target = FASTER_THAN.iter().find(|(known, _)| known == name).map_or(1.0, |(_, times)| *times);
            let these =
                pairs.iter().filter(|pair| pair.0 == complex).map(|(_, ours, theirs)| (*ours, *theirs));
            mean(&format!("{family}, faster than {name}"), these.collect(), target, report);
        }
    }
    over_bolt(set, ours, peers, report);
}

fn one(set: &Set, figure: &Figure, peers: &[Answered], pairs: &mut Pairs, report: &mut Report) {
    let name = figure.query.name;
    let asked = set.asked(figure.query);
    let complex = name.starts_with("IC");
    let plain: Vec<Result<Vec<Vec<Json>>, String>> = figure
        .rows
        .iter()
        .map(|rows| {
            rows.as_ref()
                .map(|rows| rows.iter().map(|row| row.iter().map(answers::plain).collect()).collect())
                .map_err(String::clone)
        })
        .collect();
    let verdict = plain.into_iter().collect::<Result<Vec<_>, _>>();
    let verdict = verdict.and_then(|rows| judged(name, &rows, &asked)).and_then(|sets| whole(sets, &asked));
    let (mut told, mut best) = (Vec::new(), f64::INFINITY);
    for (peer, (_, pairs)) in peers.iter().zip(pairs) {
        let (time_ms, shown) = match peer.figure(name) {
            Outcome::Over => (CALL_SECONDS_MAX as f64 * 1e3, over_shown()),
            Outcome::Answered(time_ms, rows) => match judged(name, &rows, &asked) {
                Ok(sets) if sets < asked.len() => {
                    (time_ms, format!("{} ({sets} of {} sets)", shown_ms(time_ms), asked.len()))
                }
                Ok(_) => (time_ms, shown_ms(time_ms)),
                Err(fault) => {
                    told.push(format!("{} wrong", peer.name));
                    report.note(format!("{name}: {}: {fault}", peer.name));
                    continue;
                }
            },
            Outcome::None(why) => {
                told.push(format!("{} none", peer.name));
                report.note(format!("{name}: {}: {why}", peer.name));
                continue;
            }
        };
        told.push(format!("{} {shown}", peer.name));
        best = best.min(time_ms);
        pairs.push((complex, figure.median_ms, time_ms));
    }
    let reached = verdict.is_ok() && figure.median_ms <= best * SLOWER_THAN_BEST_MAX;
    let measured = match &verdict {
        Ok(()) => shown_ms(figure.median_ms),
        Err(_) => "wrong".to_string(),
    };
    report.figure(name, &measured, &told.join(", "), reached);
    if let Err(fault) = verdict {
        report.note(fault);
    }
}

/// Holds an engine's rows against the right ones; for how many sets of parameters there are any.
fn judged(query: &str, found: &[Vec<Vec<Json>>], asked: &[Expected]) -> Result<usize, String> {
    if found.is_empty() || found.len() > asked.len() {
        return Err(format!("answers to {} of {} sets", found.len(), asked.len()));
    }
    for (rows, asked) in found.iter().zip(asked) {
        answers::compare_plain(query, rows.clone(), &asked.rows)?;
    }
    Ok(found.len())
}

fn whole(sets: usize, asked: &[Expected]) -> Result<(), String> {
    if sets == asked.len() { Ok(()) } else { Err(format!("answers to {sets} of {} sets", asked.len())) }
}

/// The geometric mean of theirs over ours.
fn mean(name: &str, pairs: Vec<(f64, f64)>, target: f64, report: &mut Report) {
    if pairs.is_empty() {
        return report.skipped(name, "nothing to compare with");
    }
    let logs: f64 = pairs.iter().map(|(ours, theirs)| (theirs / ours).ln()).sum();
    let times = (logs / pairs.len() as f64).exp();
    let measured = format!("{times:.1}x over {} queries", pairs.len());
    report.figure(name, &measured, &format!("at least {target}x"), times >= target);
}

/// Both servers with one driver; the rows of both are held against the right ones.
fn over_bolt(set: &Set, ours: &[Figure], peers: &[Answered], report: &mut Report) {
    let Some(peer) = peers.iter().find(|peer| peer.has_bolt()) else {
        return report.skipped("over Bolt", "no driver, or no server");
    };
    let (mut pairs, mut lines) = (Vec::new(), Vec::new());
    for figure in ours {
        let (name, asked) = (figure.query.name, set.asked(figure.query));
        let (mine, rows) = match peer.over_bolt("tanglewood", name) {
            Outcome::Answered(mine, rows) => (mine, rows),
            other => {
                report.figure(&format!("{name} over Bolt"), &format!("{other:?}"), "an answer", false);
                continue;
            }
        };
        if let Err(fault) = judged(name, &rows, &asked).and_then(|sets| whole(sets, &asked)) {
            report.figure(&format!("{name} over Bolt"), "wrong", "the expected rows", false);
            report.note(fault);
            continue;
        }
        let theirs = match peer.over_bolt("neo4j", name) {
            Outcome::Answered(theirs, rows) => match judged(name, &rows, &asked) {
                Ok(_) => theirs,
                Err(fault) => {
                    report.note(format!("{name}: Neo4j over Bolt is wrong: {fault}"));
                    continue;
                }
            },
            Outcome::Over => CALL_SECONDS_MAX as f64 * 1e3,
            Outcome::None(why) => {
                report.note(format!("{name}: Neo4j over Bolt: {why}"));
                continue;
            }
        };
        lines.push(format!("{name} {} / {}", shown_ms(mine), shown_ms(theirs)));
        pairs.push((name.starts_with("IC"), mine, theirs));
    }
    for line in lines.chunks(5) {
        report.note(format!("Bolt, ours / Neo4j: {}", line.join(", ")));
    }
    for (family, complex) in [("complex reads", true), ("subgraphs", false)] {
        let these = pairs.iter().filter(|pair| pair.0 == complex).map(|(_, mine, theirs)| (*mine, *theirs));
        mean(&format!("{family} over Bolt, faster than Neo4j"), these.collect(), FASTER_THAN[0].1, report);
    }
}
