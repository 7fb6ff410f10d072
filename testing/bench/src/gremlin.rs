//! `bench gremlin`: traversals beside their twins in Cypher, on social networks, in process.
//!
//! CQ1 to CQ6 of "Banyan" and IC1 to IC12 of the interactive workload, as Gremlin says them; answers of the first are held against a
//! reference computed from the bare relations, of the second against rows that others found right. Each figure is the ratio of two
//! times that take turns in one run, so that what else the machine does meets both. Texts of
//! both languages are kept with their plans by the database; parameters are bindings.

mod asked;
mod driven;
mod peer;

use crate::Choice;
use crate::banyan::{self, Graph};
use crate::ldbc::{COMPLEX, answers, expected};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use asked::{ask, bindings};
use database::{Params, Session, params};
use expected::Expected;
use std::path::Path;

/// The packed social networks.
const SETS: [&str; 2] = ["snb-like-sf0.1", "snb-like-sf0.3"];
/// A traversal may take this many times as long as its twin.
const RATIO_MAX: f64 = 1.3;
/// Rounds that count, and some before.
const ROUNDS: usize = 7;
const WARM_UP_ROUNDS: usize = 2;
/// Rounds of a look-up, which takes microseconds.
const LOOK_UP_ROUNDS: usize = 301;

macro_rules! texts {
    ($($name:literal $file:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../queries/gremlin/", $file, ".gremlin")))),*]
    };
}

/// The queries of the paper's appendix.
const APPENDIX: &[(&str, &str)] =
    texts!["CQ1" "cq1", "CQ2" "cq2", "CQ3" "cq3", "CQ4" "cq4", "CQ5" "cq5", "CQ6" "cq6"];
/// The interactive complex reads.
const INTERACTIVE: &[(&str, &str)] = texts![
    "IC1" "ic1", "IC2" "ic2", "IC3" "ic3", "IC4" "ic4", "IC5" "ic5", "IC6" "ic6",
    "IC7" "ic7", "IC8" "ic8", "IC9" "ic9", "IC10" "ic10", "IC11" "ic11", "IC12" "ic12",
];
/// Small ones: name, Gremlin, Cypher; each answers with whole numbers. The first is Example 1 of the paper.
const SMALL: &[(&str, &str, &str)] = &[
    (
        "Example 1",
        "g.V().has('Person', 'id', personId).out('KNOWS').union(identity(), out('KNOWS')).dedup().where(__.in('HAS_CREATOR').out('HAS_TAG').has('name', TextP.containing('a'))).count()",
        "MATCH WALK (:Person {id: $personId})-[:KNOWS]->{1,2}(friend) WITH DISTINCT friend WHERE EXISTS { (friend)<-[:HAS_CREATOR]-()-[:HAS_TAG]->(tag) WHERE tag.name CONTAINS 'a' } RETURN count(friend)",
    ),
    (
        "look-up",
        "g.V().has('Person', 'id', personId).values('birthday')",
        "MATCH (p:Person {id: $personId}) RETURN p.birthday",
    ),
    (
        "1 hop",
        "g.V().has('Person', 'id', personId).out('KNOWS').count()",
        "MATCH (:Person {id: $personId})-[:KNOWS]->(f) RETURN count(*)",
    ),
    (
        "2 hops, distinct",
        "g.V().has('Person', 'id', personId).both('KNOWS').both('KNOWS').dedup().count()",
        "MATCH WALK (:Person {id: $personId})-[:KNOWS]-()-[:KNOWS]-(c) RETURN count(DISTINCT c)",
    ),
    (
        "3 hops, distinct",
        "g.V().has('Person', 'id', personId).repeat(both('KNOWS')).times(3).dedup().count()",
        "MATCH WALK (:Person {id: $personId})-[:KNOWS]-{3}(c) RETURN count(DISTINCT c)",
    ),
];

/// All sets.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let Some(folder) = data else {
        report.skipped("everything", "no folder of data sets was given");
        return Ok(());
    };
    for name in report.choice.among(&SETS) {
        report.section(&format!("traversals beside Cypher, {name}"));
        let graph = Graph::open(folder, name)?;
        small(&graph, report)?;
        appendix(&graph, report)?;
        interactive(folder, name, &graph, report)?;
        let ways = [is_chosen(&report.choice, "peers"), is_chosen(&report.choice, "driver")];
        peer::run(&graph, report, ways)?;
    }
    Ok(())
}

/// True if this question is to be run.
fn is_chosen(choice: &Choice, name: &str) -> bool {
    let all: Vec<&str> = SMALL
        .iter()
        .map(|(name, ..)| *name)
        .chain(names(APPENDIX))
        .chain(names(INTERACTIVE))
        .chain(["peers", "driver"])
        .collect();
    choice.among(&all).contains(&name)
}

fn names(texts: &'static [(&str, &str)]) -> impl Iterator<Item = &'static str> {
    texts.iter().map(|(name, _)| *name)
}

fn verdict(report: &mut Report, name: &str, [traversal, query]: &[Samples; 2]) {
    let (ours, twin) = (traversal.median_ms(), query.median_ms());
    let ratio = ours / twin;
    let measured = format!("{ratio:.2}x, {} against {}", shown_ms(ours), shown_ms(twin));
    report.figure(name, &measured, &format!("{RATIO_MAX}x of Cypher"), ratio <= RATIO_MAX);
}

/// Questions of microseconds, each answered by numbers that must agree.
fn small(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let choice = report.choice.clone();
    let mut session = graph.database.session();
    for (name, text, query) in SMALL.iter().filter(|(name, ..)| is_chosen(&choice, name)) {
        let mut samples = [Samples::default(), Samples::default()];
        for round in 0..LOOK_UP_ROUNDS {
            for person in &graph.persons {
                let given = params! { "personId" => *person };
                let binding = bindings(&given);
                let (found, traversal_ms) = timed(|| ask(&mut session, text, &binding));
                let (right, query_ms) = timed(|| banyan::numbers(&mut session, query, given.clone()));
                if asked::numbers(&found?)? != right? {
                    return Err(format!("{name}: the two languages disagree about {person}"));
                }
                if round > LOOK_UP_ROUNDS / 3 {
                    samples[0].push(traversal_ms);
                    samples[1].push(query_ms);
                }
            }
        }
        verdict(report, name, &samples);
    }
    Ok(())
}

/// CQ1 to CQ6: any ten right persons will do.
fn appendix(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let choice = report.choice.clone();
    let mut session = graph.database.session();
    for ((name, text), query) in
        APPENDIX.iter().zip(banyan::QUERIES).filter(|((name, _), _)| is_chosen(&choice, name))
    {
        let mut samples = [Samples::default(), Samples::default()];
        for round in 0..WARM_UP_ROUNDS + ROUNDS {
            for person in &graph.persons {
                let binding = bindings(&params! { "personId" => *person });
                let (found, traversal_ms) = timed(|| ask(&mut session, text, &binding));
                let (rows, query_ms) = banyan::timed_ask(&mut session, query.text, *person, banyan::WANTED)?;
                graph.reference.check(name, *person, banyan::WANTED, &asked::numbers(&found?)?)?;
                graph.reference.check(name, *person, banyan::WANTED, &rows)?;
                if round >= WARM_UP_ROUNDS {
                    samples[0].push(traversal_ms);
                    samples[1].push(query_ms);
                }
            }
        }
        verdict(report, name, &samples);
    }
    Ok(())
}

/// IC1 to IC12, with the rows that others found right.
fn interactive(folder: &Path, name: &str, graph: &Graph, report: &mut Report) -> Result<(), String> {
    let choice = report.choice.clone();
    let beside = crate::data::text(&graph.network.with_file_name(""), "expected.jsonl");
    let text = beside.or_else(|_| crate::data::text(folder, &format!("{name}-expected.jsonl")));
    let given = text.map_or_else(|_| Ok(Vec::new()), |text| expected::read(&text))?;
    let mut session = graph.database.session();
    for (name, text) in INTERACTIVE.iter().filter(|(name, _)| is_chosen(&choice, name)) {
        let given: Vec<&Expected> = given.iter().filter(|given| given.query == *name).collect();
        let query = COMPLEX.iter().find(|query| query.name == *name).ok_or("no such query")?;
        if given.is_empty() {
            report.skipped(name, "no expected rows");
            continue;
        }
        match one(&mut session, text, query.text, (name, &given)) {
            Ok(samples) => verdict(report, name, &samples),
            Err(why) => report.figure(name, "a wrong answer", &why, false),
        }
    }
    Ok(())
}

fn one(
    session: &mut Session,
    text: &str,
    query: &str,
    (name, given): (&str, &[&Expected]),
) -> Result<[Samples; 2], String> {
    let mut samples = [Samples::default(), Samples::default()];
    for round in 0..WARM_UP_ROUNDS + ROUNDS {
        for expected in given {
            let binding = asked::bound(name, &expected.params);
            let (found, traversal_ms) = timed(|| ask(session, text, &binding));
            let params: Params = expected.params.clone();
            let (rows, query_ms) = timed(|| session.query(query, params).and_then(|result| result.rows()));
            rows.map_err(banyan::told)?;
            if round == 0 {
                answers::compare_plain(name, asked::rows(&found?), &expected.rows)?;
            } else {
                found?;
            }
            if round >= WARM_UP_ROUNDS {
                samples[0].push(traversal_ms);
                samples[1].push(query_ms);
            }
        }
    }
    Ok(samples)
}
