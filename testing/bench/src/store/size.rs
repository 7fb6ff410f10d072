//! Size: a graph four and sixteen times the memory budget answers right, and fast; and an open takes no longer for a larger graph.

use super::{scratch, told};
use crate::edge_list;
use crate::power_law::{Graph, Question, Shape};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, Options, Params, params};
use std::path::Path;

const SMALL: Shape = Shape { vertices: 50_000, edges: 500_000, exponent: 2.3, rank_shift: 10.0, seed: 44 };
const LARGE: Shape = Shape { vertices: 400_000, edges: 4_000_000, ..SMALL };
/// Budgets, as parts of the memory of the whole graph.
const BUDGETS: [(&str, f64); 2] = [("a quarter", 0.25), ("a sixteenth", 0.0625)];
/// Medians wanted with either budget, once each source was asked for once: a look-up and two hops, in milliseconds.
const LOOK_UP_MS: f64 = 0.1;
const TWO_HOPS_MS: f64 = 5.0;
/// Times each source is asked for.
const ROUNDS: usize = 4;
/// Opens of each size, alternating, and how many times longer the larger may take.
const OPENS: usize = 7;
const OPEN_RATIO_MAX: f64 = 1.5;
/// Sources of the walks, and the seed that chooses them.
const QUESTIONS: usize = 100;
const SEED: u64 = 12;
const LOOK_UP: &str = "MATCH (a:N {id: $s}) RETURN a.id";
const TWO_HOPS: &str = "MATCH (:N {id: $s})-[:E*1..2]->(b) RETURN count(DISTINCT b)";
const BOTH_WAYS: &str = "MATCH (a:N)-[:E]-(b) RETURN count(b)";

/// Measures both.
pub fn run(_: Option<&Path>, report: &mut Report) -> Result<(), String> {
    report.section("a graph of which a part fits in memory");
    let place = scratch("size")?;
    let (small, large) = (place.path().join("small"), place.path().join("large"));
    made(&Graph::generate(&SMALL), &small)?;
    let graph = Graph::generate(&LARGE);
    made(&graph, &large)?;
    let ordinary = graph.ordinary(QUESTIONS, SEED);
    let questions: Vec<Question> = ordinary.into_iter().map(|source| graph.question(source)).collect();
    report.note(format!(
        "Chung-Lu, {} vertices, {} edges, seed {}; {QUESTIONS} sources, seed {SEED}",
        graph.vertex_count(),
        graph.edge_count(),
        LARGE.seed
    ));
    let whole = opened(&large, None)?;
    let free = asked(&whole, &graph, &questions)?;
    let needed = whole.snapshot().memory().total_bytes() as u64;
    drop(whole);
    for (part, share) in BUDGETS {
        let budget = (needed as f64 * share) as u64;
        let tight = opened(&large, Some(budget))?;
        let bounded = asked(&tight, &graph, &questions)?;
        let held = tight.snapshot().memory().total_bytes() as u64;
        drop(tight);
        let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        report.note(format!("{} needed, {} allowed, {} held at the end", mb(needed), mb(budget), mb(held)));
        bounded.report(&free, part, report);
    }
    opens(&small, &large, report)
}

/// Times of the questions: those of each source the first time, and later.
#[derive(Default)]
struct Times {
    first: [Samples; 2],
    later: [Samples; 2],
    scans: Samples,
}

impl Times {
    fn report(&self, free: &Times, part: &str, report: &mut Report) {
        let wanted = [("look-up", LOOK_UP_MS), ("2 hops", TWO_HOPS_MS)];
        for (at, (name, wanted_ms)) in wanted.into_iter().enumerate() {
            let (first, later) = (self.first[at].median_ms(), self.later[at].median_ms());
            let slower = later / free.later[at].median_ms();
            let shown = format!("{}, {slower:.1}x; the first {}", shown_ms(later), shown_ms(first));
            let target = format!("right, p50 below {}", shown_ms(wanted_ms));
            report.figure(&format!("{name} in {part}"), &shown, &target, later < wanted_ms);
        }
        let (free_ms, scan_ms) = (free.scans.median_ms(), self.scans.median_ms());
        let shown = format!("{}, {:.1}x", shown_ms(scan_ms), scan_ms / free_ms);
        report.figure(&format!("all edges both ways in {part}"), &shown, "every answer right", true);
    }
}

/// A closed database with the graph.
fn made(graph: &Graph, path: &Path) -> Result<(), String> {
    let file = path.with_extension("txt");
    edge_list::write(&file, graph.edges())?;
    let database = opened(path, None)?;
    let options = edge_list::options(file);
    database.import(&options).map_err(|error| told(&error))?;
    database.close().map_err(|error| told(&error))
}

fn opened(path: &Path, memory_bytes: Option<u64>) -> Result<Database, String> {
    Database::open(path, Options { memory_bytes, ..Options::default() }).map_err(|error| told(&error))
}

/// Look-ups, walks and scans of everything, each answer checked; the times.
fn asked(database: &Database, graph: &Graph, questions: &[Question]) -> Result<Times, String> {
    let mut session = database.session();
    let mut times = Times::default();
    let mut ask = |text: &str, params: Params, right: i64, samples: &mut Samples| {
        let (answer, time_ms) = timed(|| session.query(text, params).and_then(|result| result.single()));
        let answer = answer.map_err(|error| told(&error))?;
        samples.push(time_ms);
        let is_right = answer.as_int() == Some(right);
        is_right.then_some(()).ok_or_else(|| format!("{text}: {answer:?}, right is {right}"))
    };
    for round in 0..ROUNDS {
        let Times { first, later, .. } = &mut times;
        let [look_ups, walks] = if round == 0 { first } else { later };
        for question in questions {
            let source = i64::from(question.source);
            ask(LOOK_UP, params! { "s" => source }, source, look_ups)?;
            ask(TWO_HOPS, params! { "s" => source }, question.within[1] as i64, walks)?;
        }
    }
    for _ in 0..ROUNDS {
        ask(BOTH_WAYS, Params::new(), 2 * graph.edge_count() as i64, &mut times.scans)?;
    }
    Ok(times)
}

/// Opens both sizes in turns, with a first look-up.
fn opens(small: &Path, large: &Path, report: &mut Report) -> Result<(), String> {
    let (mut of_small, mut of_large) = (Samples::default(), Samples::default());
    for _ in 0..OPENS {
        for (path, samples) in [(small, &mut of_small), (large, &mut of_large)] {
            let (found, time_ms) = timed(|| {
                let database = opened(path, None)?;
                let text = "MATCH (a:N) RETURN a.id LIMIT 1";
                let rows = database.session().query(text, Params::new()).and_then(|result| result.rows());
                Ok::<_, String>((rows.map_err(|error| told(&error))?.len(), database))
            });
            let (rows, _) = found?;
            if rows != 1 {
                return Err(format!("{rows} rows after an open"));
            }
            samples.push(time_ms);
        }
    }
    let ratio = of_large.median_ms() / of_small.median_ms();
    let shown =
        format!("{} to {} ({ratio:.2}x)", shown_ms(of_small.median_ms()), shown_ms(of_large.median_ms()));
    let target = format!("at most {OPEN_RATIO_MAX}x for 8x the size");
    report.figure("open and a first row", &shown, &target, ratio <= OPEN_RATIO_MAX);
    Ok(())
}
