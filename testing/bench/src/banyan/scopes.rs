//! E2: the gain of scopes and of their policies, and the cost of instances.

use super::{Graph, QUERIES, Query, WANTED, timed_ask};
use crate::report::Report;
use crate::timing::{Samples, shown_ms};

/// Rounds in which two ways of running a query take turns; the first does not count.
const ROUNDS: usize = 9;
/// How many times faster queries must be with scopes than without, over all persons, as in the paper (its least average, and CQ4's).
const ON_OFF_MIN: f64 = 1.3;
const ON_OFF_CQ4_MIN: f64 = 14.0;
/// The best policy over first in, first out, for the least and the most rows wanted.
const POLICY_MIN: f64 = 1.8;
/// Limits of CQ6.
const POLICY_WANTED: [i64; 5] = [1, 10, 100, 1_000, 10_000];
/// Instances of one row over none, one at a time and without limit.
const OVERHEAD_ONE_MAX: f64 = 1.10;
const OVERHEAD_MANY_MAX: f64 = 1.20;

/// How many rows are wanted.
#[derive(Clone, Copy)]
enum Wanted {
    These(i64),
    /// As a service asks that takes a few of many: ten, or a tenth of all there are where that is less. (The paper's set has some
    /// thousand times as many answers as ours.)
    Few,
}

impl Wanted {
    fn of(self, graph: &Graph, query: &str, person: i64) -> i64 {
        match self {
            Wanted::These(rows) => rows,
            Wanted::Few => (graph.reference.answer(query, person).len() as i64 / 10).clamp(1, WANTED),
        }
    }
}

/// Two texts taking turns: the medians of both for each person, in milliseconds.
fn compare(graph: &Graph, query: &str, texts: [&str; 2], wanted: Wanted) -> Result<Vec<[f64; 2]>, String> {
    let mut session = graph.database.session();
    let mut medians = Vec::new();
    for person in &graph.persons {
        let wanted = wanted.of(graph, query, *person);
        let mut samples = [Samples::default(), Samples::default()];
        for round in 0..ROUNDS {
            for (text, samples) in texts.iter().zip(&mut samples) {
                let (rows, time_ms) = timed_ask(&mut session, text, *person, wanted)?;
                graph.reference.check(query, *person, wanted, &rows)?;
                if round > 0 {
                    samples.push(time_ms);
                }
            }
        }
        medians.push(samples.map(|samples| samples.median_ms()));
    }
    Ok(medians)
}

/// The mean of the ratios second to first, the least and the greatest of them.
fn ratios(medians: &[[f64; 2]]) -> (f64, f64, f64) {
    let ratios: Vec<f64> = medians.iter().map(|[first, second]| second / first).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    (mean, ratios.iter().copied().fold(f64::MAX, f64::min), ratios.iter().copied().fold(0.0, f64::max))
}

fn total(medians: &[[f64; 2]], side: usize) -> f64 {
    medians.iter().map(|both| both[side]).sum::<f64>() / medians.len() as f64
}

/// E2a: with scopes as the planner chooses them, and with none.
pub(crate) fn on_and_off(graph: &Graph, report: &mut Report) -> Result<(), String> {
    for Query { name, text } in QUERIES {
        let off = format!("CYPHER scopes = off {text}");
        let medians = compare(graph, name, [text, &off], Wanted::Few)?;
        let (mean, least, most) = ratios(&medians);
        let (on, off) = (shown_ms(total(&medians, 0)), shown_ms(total(&medians, 1)));
        let wanted = if name == "CQ4" { ON_OFF_CQ4_MIN } else { ON_OFF_MIN };
        let measured = format!("{mean:.1}x ({least:.1} to {most:.1}), {on} against {off}");
        report.figure(
            &format!("E2a {name}, scopes on over off"),
            &measured,
            &format!("{wanted}x on average"),
            mean >= wanted,
        );
    }
    Ok(())
}

/// E2b: CQ6 depth first over first in, first out.
pub(crate) fn policies(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let Query { name, text } = QUERIES[5];
    let with =
        |hint: &str| text.replace("(friend:Person)\n", &format!("(friend:Person) USING SCOPE {hint}\n"));
    for wanted in POLICY_WANTED {
        let people = graph.reference.answer(name, graph.persons[graph.persons.len() / 2]).len();
        let medians = compare(
            graph,
            name,
            [&with("DFS WITHIN DFS"), &with("FIFO WITHIN FIFO")],
            Wanted::These(wanted),
        )?;
        let (mean, least, most) = ratios(&medians);
        let (best, fifo) = (shown_ms(total(&medians, 0)), shown_ms(total(&medians, 1)));
        let measured = format!("{mean:.1}x ({least:.1} to {most:.1}), {best} against {fifo}");
        let title = format!("E2b CQ6 n = {wanted}, DFS over FIFO");
        if wanted as usize > people {
            report.note(format!(
                "{title}: {measured}; all {people} answers are wanted, so no order saves work"
            ));
        } else {
            report.figure(&title, &measured, &format!("{POLICY_MIN}x"), mean >= POLICY_MIN);
        }
    }
    Ok(())
}

/// E2c: each row of a costly test an instance of its own, against one for a batch of rows; nothing ends early, everything in turns, no limit.
/// The tests that only look at one or two edges are noted, not judged: a row of theirs is less work than any instance.
pub(crate) fn overhead(graph: &Graph, report: &mut Report) -> Result<(), String> {
    for (hint, what, most) in [
        ("MAX 1 ROWS 1", "MAX_SI = 1", OVERHEAD_ONE_MAX),
        ("MAX 100000 ROWS 1", "unlimited", OVERHEAD_MANY_MAX),
    ] {
        for (query, text) in [("CQ3 unordered", costly_test()), ("CQ5", two_tests("", "{hint}"))] {
            let [mean, least, greatest] = instances(graph, query, &text, hint)?;
            let measured =
                format!("{:+.0} % ({:+.0} to {:+.0})", percent(mean), percent(least), percent(greatest));
            let target = format!("at most {:+.0} %", percent(most));
            let title = format!("E2c {query}, an instance a row, {what}");
            report.figure(&title, &measured, &target, mean <= most);
        }
        let [mean, ..] = instances(graph, "CQ5", &two_tests("{hint}", "{hint}"), hint)?;
        report
            .note(format!("E2c CQ5, also its cheap test an instance a row, {what}: {:+.0} %", percent(mean)));
    }
    Ok(())
}

/// The time with instances over that without.
fn instances(graph: &Graph, query: &str, text: &str, hint: &str) -> Result<[f64; 3], String> {
    let (plain, hinted) = (text.replace("{hint}", ""), text.replace("{hint}", hint));
    let medians = compare(graph, query, [&plain, &hinted], Wanted::These(i64::MAX))?;
    let (mean, least, greatest) = ratios(&medians);
    Ok([mean, least, greatest])
}

const WRITES: &str = "EXISTS { MATCH (friend)<-[:HAS_CREATOR]-()-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(class:TagClass) WHERE class.name CONTAINS 'Country' }";

/// CQ3 without its order and limit.
fn costly_test() -> String {
    format!(
        "MATCH WALK (person:Person {{id: $personId}})-[:KNOWS]-{{1,2}}(friend:Person) WITH DISTINCT friend
         MATCH (friend) USING SCOPE OFF {{hint}} WHERE {WRITES} RETURN friend.id AS id"
    )
}

/// CQ5 without its limit, each test with its hint.
fn two_tests(cheap: &str, costly: &str) -> String {
    format!(
        "MATCH (person:Person {{id: $personId}})-[:WORK_AT]->(company:Company) WITH person, collect(company) AS companies
         MATCH WALK (person)-[:KNOWS]-{{1,5}}(friend:Person) WITH DISTINCT friend, companies
         MATCH (friend) USING SCOPE OFF {cheap} WHERE EXISTS {{ MATCH (friend)-[:WORK_AT]->(c:Company) WHERE c IN companies }}
         WITH friend MATCH (friend) USING SCOPE OFF {costly} WHERE {WRITES} RETURN friend.id AS id"
    )
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}
