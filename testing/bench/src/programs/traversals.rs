//! Figure 5.16: is one node reached from another? Between nodes of the small Twitter graph that are drawn, one request after the other.
//!
//! Beside a program: the same by Cypher, and two twins over plain arrays: a search of the frontier alone, and a bulk-synchronous one that looks at every
//! vertex in each round, as engines for whole graphs do. All must agree.

use super::{caching, loaded};
use crate::power_law::Graph;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use chart::{Axis, Chart, Look, Series};
use database::params;
use std::path::Path;
use world::chance::Chance;

/// Pairs of vertices.
const PAIRS: usize = 100;
/// Times that a bulk-synchronous search takes of ours, at least.
const GAIN_MIN: f64 = 4.0;

/// The query of one pair, by a program and by a path search.
const REACHES: &str =
    "MATCH (s:N {id: $s}), (t:N {id: $t}) CALL program.reach(s, {target: t}) YIELD value RETURN value";
const SHORTEST: &str =
    "MATCH (s:N {id: $s}), (t:N {id: $t}), p = shortestPath((s)-[:E*]->(t)) RETURN length(p)";

pub(super) fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    report.section("traversals between drawn nodes of a social graph (Figure 5.16)");
    let graph = caching::social(data, report)?;
    let database = loaded(&graph, report)?;
    let mut session = database.session();
    let mut chance = Chance::seeded(516);
    let asked: Vec<u32> = graph.edges().map(|(source, _)| source).collect();
    let [mut programs, mut cypher, mut frontier, mut bulk] = [(); 4].map(|()| Samples::default());
    let mut curves: [Vec<f64>; 4] = Default::default();
    for pair in 0..PAIRS {
        // The first pair warms up.
        let (s, t) = (asked[chance.index(asked.len())], asked[chance.index(asked.len())]);
        if s == t {
            continue;
        }
        let mut ask = |text: &str| {
            let (found, time_ms) = timed(|| {
                let rows = session.query(text, params! { "s" => i64::from(s), "t" => i64::from(t) });
                rows.and_then(|rows| rows.rows()).map_err(|error| crate::first::told(&error))
            });
            found.map(|rows| (rows.first().and_then(|row| row[0].as_int()), time_ms))
        };
        let ((one, one_ms), (two, two_ms)) = (ask(REACHES)?, ask(SHORTEST)?);
        let (three, three_ms) = timed(|| by_frontier(&graph, s, t));
        let (four, four_ms) = timed(|| by_rounds(&graph, s, t));
        if [one, two, four] != [three; 3] {
            return Err(format!("from {s} to {t}: {one:?}, {two:?}, {three:?}, {four:?} steps"));
        }
        let all = [&mut programs, &mut cypher, &mut frontier, &mut bulk];
        let times = [one_ms, two_ms, three_ms, four_ms];
        for ((samples, curve), time_ms) in all.into_iter().zip(&mut curves).zip(times).filter(|_| pair > 0) {
            samples.push(time_ms);
            curve.push(time_ms);
        }
    }
    let names = ["program.reach", "shortestPath", "a search of the frontier", "bulk-synchronous rounds"];
    for (name, samples) in names.iter().zip([&programs, &cypher, &frontier, &bulk]) {
        report.note(format!(
            "{name:<26} median {}, 99 of 100 within {}",
            shown_ms(samples.median_ms()),
            shown_ms(samples.quantile_ms(0.99))
        ));
    }
    let best = programs.median_ms().min(cypher.median_ms());
    let gain = bulk.median_ms() / best;
    report.figure(
        "traversals beside bulk-synchronous rounds",
        &format!("{gain:.1}x"),
        "4x (the paper: 4.3x to 9.4x)",
        gain >= GAIN_MIN,
    );
    let series = names.iter().zip(curves).map(|(name, curve)| Chart::distribution(name, curve));
    let mut series: Vec<Series> = series.collect();
    series.iter_mut().skip(2).for_each(|twin| twin.look = Look::Dashed);
    report.chart(Chart {
        title: "Traversals of a social graph, one after the other".into(),
        x: Axis::log("milliseconds"),
        y: Axis::linear("part that is done"),
        categories: Vec::new(),
        series,
    });
    Ok(())
}

/// In how many steps: round by round from those that were found in the last one.
fn by_frontier(graph: &Graph, from: u32, to: u32) -> Option<i64> {
    let mut seen = vec![false; graph.vertex_count() as usize];
    let (mut frontier, mut steps) = (vec![from], 0);
    while !frontier.is_empty() {
        if frontier.contains(&to) {
            return Some(steps);
        }
        let mut next = Vec::new();
        for vertex in &frontier {
            for neighbour in graph.neighbours(*vertex) {
                if !std::mem::replace(&mut seen[*neighbour as usize], true) && *neighbour != from {
                    next.push(*neighbour);
                }
            }
        }
        (frontier, steps) = (next, steps + 1);
    }
    None
}

/// The same, as an engine for whole graphs does it: in each round every vertex looks whether it was reached in the last one.
fn by_rounds(graph: &Graph, from: u32, to: u32) -> Option<i64> {
    let count = graph.vertex_count();
    let mut distances = vec![i64::MAX; count as usize];
    distances[from as usize] = 0;
    for round in 0.. {
        if distances[to as usize] <= round {
            return Some(distances[to as usize]);
        }
        let mut is_over = true;
        let mut sent = Vec::new();
        for vertex in (0..count).filter(|vertex| distances[*vertex as usize] == round) {
            sent.extend_from_slice(graph.neighbours(vertex));
        }
        for neighbour in sent {
            let distance = &mut distances[neighbour as usize];
            if *distance > round + 1 {
                *distance = round + 1;
                is_over = false;
            }
        }
        if is_over {
            break;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power_law::Shape;

    #[test]
    fn both_twins_say_the_same() {
        let shape = Shape { vertices: 300, edges: 500, exponent: 2.3, rank_shift: 5.0, seed: 1 };
        let graph = Graph::generate(&shape);
        let mut reached = 0;
        for (from, to) in (0..300).zip((0..300).rev()).filter(|(from, to)| from != to) {
            let steps = by_frontier(&graph, from, to);
            assert_eq!(steps, by_rounds(&graph, from, to), "from {from} to {to}");
            reached += usize::from(steps.is_some());
        }
        assert!((10..290).contains(&reached), "{reached}");
    }
}
