//! E2: what scopes bring, what their policies bring, and what instances cost.

use super::{Graph, QUERIES, Query, WANTED, timed_ask};
use crate::report::Report;
use crate::timing::{Samples, shown_ms};

/// Rounds in which two ways of running a query take turns; the first does not count.
const ROUNDS: usize = 9;
/// Scopes on must be so much faster than off, over all persons, as in the paper (its least average, and CQ4's).
const ON_OFF_MIN: f64 = 1.3;
const ON_OFF_CQ4_MIN: f64 = 14.0;
/// The best policy over first in, first out, for the least and the most rows wanted.
const POLICY_MIN: f64 = 1.8;
/// Rows that CQ6 is asked for.
const POLICY_WANTED: [i64; 5] = [1, 10, 100, 1_000, 10_000];
/// Instances of one row over none, one at a time and without limit.
const OVERHEAD_ONE_MAX: f64 = 1.10;
const OVERHEAD_MANY_MAX: f64 = 1.20;

/// Two texts taking turns: the medians of both for each person, in milliseconds.
fn compare(graph: &Graph, query: &str, texts: [&str; 2], wanted: i64) -> Result<Vec<[f64; 2]>, String> {
    let mut session = graph.database.session();
    let mut medians = Vec::new();
    for person in &graph.persons {
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
        let medians = compare(graph, name, [text, &off], WANTED)?;
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
        let medians = compare(graph, name, [&with("DFS WITHIN DFS"), &with("FIFO WITHIN FIFO")], wanted)?;
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

/// E2c: each row of a test an instance of its own, against none; nothing ends early, everything in turns, no limit.
pub(crate) fn overhead(graph: &Graph, report: &mut Report) -> Result<(), String> {
    for Query { name, text } in [QUERIES[2], QUERIES[4], QUERIES[5]] {
        let all = text.replace("LIMIT $n", "LIMIT 1000000000").replace("ORDER BY id ", "");
        let plain = format!("CYPHER scopes = off {all}");
        let hinted = |hint: &str| {
            let friends = format!("WITH DISTINCT friend MATCH (friend) USING SCOPE OFF {hint}");
            let carried = format!("WITH DISTINCT friend, companies MATCH (friend) USING SCOPE OFF {hint}");
            let group = format!("MATCH (b) USING SCOPE OFF {hint}");
            all.replace("WITH DISTINCT friend, companies\n", &format!("{carried}\n"))
                .replace("WITH DISTINCT friend\n", &format!("{friends}\n"))
                .replace("MATCH (b)<-", &format!("{group} MATCH (b)<-"))
        };
        for (hint, what, most) in [
            ("MAX 1 ROWS 1", "MAX_SI = 1", OVERHEAD_ONE_MAX),
            ("MAX 100000 ROWS 1", "unlimited", OVERHEAD_MANY_MAX),
        ] {
            if name == "CQ6" {
                continue;
            }
            let query = if name == "CQ3" { "CQ3 unordered" } else { name };
            let medians = compare(graph, query, [&plain, &hinted(hint)], i64::MAX)?;
            let (mean, least, greatest) = ratios(&medians);
            let measured =
                format!("{:+.0} % ({:+.0} to {:+.0})", percent(mean), percent(least), percent(greatest));
            let target = format!("at most {:+.0} %", percent(most));
            report.figure(&format!("E2c {name} an instance a row, {what}"), &measured, &target, mean <= most);
        }
    }
    Ok(())
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}
