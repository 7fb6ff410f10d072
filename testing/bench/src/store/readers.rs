//! Readers beside a writer at full speed, and scans over a graph of which a part is dirty.
//!
//! The writer repeats edges that are there already: every write makes two vertices dirty, and no answer changes, since readers count
//! distinct ends. So each answer is checked against plain search, whatever the writer has done by then.

use super::{scratch, told};
use crate::edge_list;
use crate::power_law::{FIRST, Graph, Question};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, Options, Params, Session, params};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::threads::in_parallel;

const TWO_HOPS: &str = "MATCH (:N {id: $s})-[:E*1..2]->(b) RETURN count(DISTINCT b)";
const REPEAT: &str = "MATCH (a:N {id: $v}), (b:N {id: $w}) CREATE (a)-[:E]->(b)";
/// Ordinary vertices that readers ask about, and the seed that chooses them.
const QUESTIONS: usize = 200;
const SEED: u64 = 11;
/// Turns of reading alone and beside the writer, and their length.
const TURNS: usize = 5;
const TURN_NS: u64 = 1_500_000_000;
/// How many times longer a reader's median may be beside a writer.
const MEDIAN_RATIO_MAX: f64 = 1.25;
const P99_RATIO_MAX: f64 = 2.0;
/// The part of the vertices that is dirty in a scan, and the largest slowdown.
const DIRTY_PART: f64 = 0.01;
const DIRTY_RATIO_MAX: f64 = 1.1;
const SCANS: usize = 15;
/// Name and text of each scan.
const SCAN_TEXTS: [(&str, &str); 2] = [
    ("scan of a property", "MATCH (n:N) RETURN sum(n.id)"),
    ("scan of all edges", "MATCH (:N)-[:E]->(b) RETURN count(b)"),
];

/// Measures both.
pub fn run(_: Option<&Path>, report: &mut Report) -> Result<(), String> {
    report.section("readers beside a writer at full speed");
    let graph = Graph::generate(&FIRST);
    let edges: Vec<(u32, u32)> = graph.edges().collect();
    let ordinary = graph.ordinary(QUESTIONS, SEED);
    let questions: Vec<Question> = ordinary.into_iter().map(|source| graph.question(source)).collect();
    report.note(format!(
        "Chung-Lu, {} vertices, {} edges, seed {}; {QUESTIONS} sources, seed {SEED}; one reader, one writer",
        graph.vertex_count(),
        graph.edge_count(),
        FIRST.seed
    ));
    let place = scratch("readers")?;
    let file = place.path().join("edges.txt");
    edge_list::write(&file, edges.iter().copied())?;
    beside(&loaded(&file, &place.path().join("beside"))?, &edges, &questions, report)?;
    let clean = loaded(&file, &place.path().join("clean"))?;
    let dirty = loaded(&file, &place.path().join("dirty"))?;
    scans(&clean, &dirty, &graph, report)
}

fn loaded(file: &Path, path: &Path) -> Result<Database, String> {
    let database = Database::open(path, Options::default()).map_err(|error| told(&error))?;
    let options = edge_list::options(file);
    database.import(&options).map_err(|error| told(&error))?;
    Ok(database)
}

/// Reads in turns alone and beside the writer.
fn beside(
    database: &Database,
    edges: &[(u32, u32)],
    questions: &[Question],
    report: &mut Report,
) -> Result<(), String> {
    let (mut alone, mut beside) = (Samples::default(), Samples::default());
    let (mut writes, mut chance) = (0, Chance::seeded(SEED));
    read(&mut database.session(), questions, TURN_NS, &mut Samples::default())?;
    for _ in 0..TURNS {
        read(&mut database.session(), questions, TURN_NS, &mut alone)?;
        let seed = chance.next_u64();
        writes +=
            while_writing(database, edges, seed, |session| read(session, questions, TURN_NS, &mut beside))?;
    }
    let rate = writes as f64 * 1e9 / (TURNS as u64 * TURN_NS) as f64;
    report.note(format!(
        "{} reads alone, {} beside; the writer committed {rate:.0} times a second",
        alone.len(),
        beside.len()
    ));
    for (name, part, ratio_max) in [("p50", 0.5, MEDIAN_RATIO_MAX), ("p99", 0.99, P99_RATIO_MAX)] {
        let (alone, beside) = (alone.quantile_ms(part), beside.quantile_ms(part));
        let shown = format!("{} to {} ({:.2}x)", shown_ms(alone), shown_ms(beside), beside / alone);
        let target = format!("at most {ratio_max}x");
        report.figure(
            &format!("2 hops beside a writer, {name}"),
            &shown,
            &target,
            beside / alone <= ratio_max,
        );
    }
    Ok(())
}

/// Asks for the ends of two hops for so long; every answer is checked.
fn read(
    session: &mut Session,
    questions: &[Question],
    time_ns: u64,
    samples: &mut Samples,
) -> Result<(), String> {
    let end_ns = monotonic_ns() + time_ns;
    for question in questions.iter().cycle().take_while(|_| monotonic_ns() < end_ns) {
        let params = params! { "s" => i64::from(question.source) };
        let (answer, time_ms) = timed(|| session.query(TWO_HOPS, params).and_then(|result| result.single()));
        let answer = answer.map_err(|error| told(&error))?;
        if answer.as_int() != Some(question.within[1] as i64) {
            let (source, right) = (question.source, question.within[1]);
            return Err(format!("two hops from {source} answered {answer:?}, right is {right}"));
        }
        samples.push(time_ms);
    }
    Ok(())
}

/// Runs `work` while a writer commits as fast as it can; how often it did.
fn while_writing(
    database: &Database,
    edges: &[(u32, u32)],
    seed: u64,
    work: impl FnOnce(&mut Session) -> Result<(), String> + Send,
) -> Result<u64, String> {
    let (done, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let work = std::sync::Mutex::new(Some(work));
    let outcomes = in_parallel("reader-or-writer", 2, |number| {
        let mut session = database.session();
        if number == 0 {
            let work = work.lock().expect("taken once").take().expect("taken once");
            let outcome = work(&mut session);
            done.store(true, Ordering::SeqCst);
            return outcome;
        }
        let mut chance = Chance::seeded(seed);
        while !done.load(Ordering::SeqCst) {
            repeat(&mut session, *chance.choose(edges).expect("there are edges"))?;
            commits.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    outcomes.into_iter().collect::<Result<(), String>>()?;
    Ok(commits.into_inner())
}

/// Creates an edge that is there already once more.
fn repeat(session: &mut Session, (source, target): (u32, u32)) -> Result<(), String> {
    let params = params! { "v" => i64::from(source), "w" => i64::from(target) };
    let summary = session.query(REPEAT, params).and_then(|result| result.finish());
    let made = summary.map_err(|error| told(&error))?.counters.relationships_created;
    if made == 1 { Ok(()) } else { Err(format!("{made} edges were made from {source} to {target}")) }
}

/// Scans of a clean graph and of one with dirty vertices, in turns.
fn scans(clean: &Database, dirty: &Database, graph: &Graph, report: &mut Report) -> Result<(), String> {
    report.section("scans with 1 % dirty vertices");
    let count = (f64::from(graph.vertex_count()) * DIRTY_PART) as usize;
    let mut vertices: Vec<u32> =
        (0..graph.vertex_count()).filter(|vertex| !graph.neighbours(*vertex).is_empty()).collect();
    Chance::seeded(SEED).shuffle(&mut vertices);
    let mut session = dirty.session();
    for vertex in &vertices[..count] {
        repeat(&mut session, (*vertex, graph.neighbours(*vertex)[0]))?;
        let params = params! { "v" => i64::from(*vertex) };
        let text = "MATCH (n:N {id: $v}) SET n.touched = true";
        session.query(text, params).and_then(|result| result.finish()).map_err(|error| told(&error))?;
    }
    let sum = sum_of_ids(graph);
    let edges = graph.edge_count() as i64;
    report.note(format!("{count} vertices with an edge more and a property more, chosen by seed {SEED}"));
    for (name, text) in SCAN_TEXTS {
        let right = if text.contains("sum") { [sum, sum] } else { [edges, edges + count as i64] };
        let (mut of_clean, mut of_dirty) = (Samples::default(), Samples::default());
        for _ in 0..SCANS {
            of_clean.push(scan(clean, text, right[0])?);
            of_dirty.push(scan(dirty, text, right[1])?);
        }
        let ratio = of_dirty.median_ms() / of_clean.median_ms();
        let shown =
            format!("{} to {} ({ratio:.2}x)", shown_ms(of_clean.median_ms()), shown_ms(of_dirty.median_ms()));
        report.figure(name, &shown, &format!("at most {DIRTY_RATIO_MAX}x"), ratio <= DIRTY_RATIO_MAX);
    }
    Ok(())
}

/// Of the vertices that the edge list names: those without edges are not in it.
fn sum_of_ids(graph: &Graph) -> i64 {
    let mut named = vec![false; graph.vertex_count() as usize];
    for (source, target) in graph.edges() {
        named[source as usize] = true;
        named[target as usize] = true;
    }
    named.iter().enumerate().filter(|(_, named)| **named).map(|(id, _)| id as i64).sum()
}

/// Milliseconds of one scan.
fn scan(database: &Database, text: &str, right: i64) -> Result<f64, String> {
    let mut session = database.session();
    let (answer, time_ms) = timed(|| session.query(text, Params::new()).and_then(|result| result.single()));
    let answer = answer.map_err(|error| told(&error))?;
    if answer.as_int() == Some(right) {
        Ok(time_ms)
    } else {
        Err(format!("{text}: {answer:?}, right is {right}"))
    }
}
