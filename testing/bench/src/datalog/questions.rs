//! Questions with a bound value over a graph in the database (K-Pg's table 2): by magic sets, through a session.

use super::fault;
use super::twin;
use crate::graphs::{Edges, grid, random, tree};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, MEMORY, Options, Params, Session, Value, params};
use std::collections::HashMap;

/// Arguments of each question.
const ARGUMENTS: usize = 100;
/// No further argument is tried after this.
const QUESTION_MS: f64 = 15_000.0;
/// Edges of one commit while the graph is made.
const COMMIT_EDGES: usize = 20_000;

const FROM: &str = "tc(x, y) :- E(x, y). tc(x, z) :- tc(x, y), E(y, z).
    answer(i) :- V.id(x, $x), tc(x, y), V.id(y, i). ?- answer(i).";
/// The recursion stands at the side that is bound: with it at the other side, a question towards a vertex is about all pairs.
const TOWARDS: &str = "tc(x, y) :- E(x, y). tc(x, z) :- E(x, y), tc(y, z).
    answer(i) :- V.id(y, $x), tc(x, y), V.id(x, i). ?- answer(i).";
const PEERS: &str = "sg(x, y) :- E(p, x), E(p, y), x != y. sg(x, y) :- E(a, x), sg(a, b), E(b, y).
    answer(i) :- V.id(x, $x), sg(x, y), V.id(y, i). ?- answer(i).";

/// Medians of K-Pg on 32 workers, in milliseconds: tc(x,?), tc(?,x), sg(x,?).
const KPG: [(&str, [f64; 3]); 3] = [
    ("tree-11", [2.56, 15.63, 68.34]),
    ("grid-150", [346.28, 320.83, 1_075.11]),
    ("random", [18.29, 15.58, 20.08]),
];

/// A database in memory with these edges, vertices found by `id`.
pub fn loaded(edges: &Edges) -> Result<(Database, Session), String> {
    let database = Database::open(MEMORY, Options::default()).map_err(fault)?;
    let mut session = database.session();
    let mut ask = |text: &str, params: Params| {
        session.query(text, params).and_then(|result| result.finish()).map_err(fault)
    };
    let bound = edges.iter().map(|(a, b)| a.max(b) + 1).max().unwrap_or(0);
    ask("UNWIND range(0, $n - 1) AS i CREATE (:V {id: i})", params! { "n" => i64::from(bound) })?;
    ask("CREATE INDEX v_id FOR (v:V) ON (v.id)", Params::new())?;
    for part in edges.chunks(COMMIT_EDGES) {
        let rows = Value::list(part.iter().map(|edge| Value::list(super::pair(*edge))).collect());
        let text = "UNWIND $rows AS row MATCH (a:V {id: row[0]}), (b:V {id: row[1]}) CREATE (a)-[:E]->(b)";
        ask(text, params! { "rows" => rows })?;
    }
    Ok((database, session))
}

/// How many are of the generation of each vertex.
fn peers(title: &str, edges: &Edges) -> HashMap<u32, usize> {
    let mut found = HashMap::new();
    if title == "tree-11" {
        // In a tree these are all others of its depth.
        let (lists, mut level) = (twin::lists(edges), vec![0]);
        while !level.is_empty() {
            found.extend(level.iter().map(|vertex| (*vertex, level.len() - 1)));
            level = level.iter().filter_map(|vertex| lists.get(vertex)).flatten().copied().collect();
        }
    } else {
        twin::generation(edges).iter().for_each(|(vertex, _)| *found.entry(*vertex).or_insert(0) += 1);
    }
    found
}

pub fn run(report: &mut Report) -> Result<(), String> {
    report.section("questions with a bound value, over a session (Table 2)");
    for (title, targets_ms) in KPG {
        let edges = match title {
            "tree-11" => tree(11),
            "grid-150" => grid(150),
            _ => random(10_000, 100_000),
        };
        let (_database, mut session) = loaded(&edges)?;
        let (forth, back) = (twin::lists(&edges), twin::lists(&twin::backwards(&edges)));
        let peers = if title == "random" { HashMap::new() } else { peers(title, &edges) };
        let bound = edges.iter().map(|(a, b)| a.max(b) + 1).max().unwrap_or(0);
        for ((question, text), target_ms) in
            [("tc(x,?)", FROM), ("tc(?,x)", TOWARDS), ("sg(x,?)", PEERS)].into_iter().zip(targets_ms)
        {
            if question == "sg(x,?)" && title == "random" {
                let why = "every vertex is an ancestor of every other: 100 million pairs";
                report.skipped(&format!("{title} {question}"), why);
                continue;
            }
            let (mut samples, mut right, mut spent_ms) = (Samples::default(), true, 0.0);
            for vertex in (0..ARGUMENTS as u32).map(|at| (at * 7_919 + 5) % bound) {
                let (answer, time_ms) = timed(|| {
                    session
                        .query(&format!("DATALOG {{ {text} }}"), params! { "x" => i64::from(vertex) })?
                        .rows()
                });
                samples.push(time_ms);
                spent_ms += time_ms;
                let count = match answer {
                    Ok(rows) => rows.len(),
                    Err(error) => {
                        report.note(format!("{title} {question}: {error}"));
                        right = false;
                        break;
                    }
                };
                right &= match question {
                    "tc(x,?)" => count == twin::reached(&forth, [vertex]).len(),
                    "tc(?,x)" => count == twin::reached(&back, [vertex]).len(),
                    _ => count == peers.get(&vertex).copied().unwrap_or(0),
                };
                if spent_ms > QUESTION_MS {
                    report.note(format!(
                        "{title} {question}: {} arguments in {}",
                        samples.len(),
                        shown_ms(spent_ms)
                    ));
                    break;
                }
            }
            let p50 = samples.median_ms();
            let measured = format!("{}, max {}", shown_ms(p50), shown_ms(samples.quantile_ms(1.0)));
            let target = format!("right, p50 of K-Pg on 32 workers {target_ms} ms");
            report.figure(&format!("{title} {question}"), &measured, &target, right && p50 <= target_ms);
        }
    }
    Ok(())
}
