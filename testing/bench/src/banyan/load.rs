//! E3: throughput by the number of concurrent queries, and the gain of a second executor.

use super::{Graph, told};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, Params, Session, params};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use world::clock::monotonic_ns;
use world::threads::{in_parallel, sleep};

/// Queries at once.
const CLIENTS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// How long each number of clients runs, in each of two rounds.
const WINDOW: Duration = Duration::from_millis(1_200);
/// The largest loss of throughput, from one client to the most.
const LOSS_MAX: f64 = 0.02;
/// Latency grows as the number of clients does, give or take.
const LINEAR_MAX: f64 = 0.1;
/// The smallest speedup of a second executor.
const SPEEDUP_MIN: f64 = 1.8;
/// Rounds of one large query with one executor and with two.
const SPEEDUP_ROUNDS: usize = 9;

/// Tags beside a tag on posts of friends and their friends: like IC6.
pub(crate) const LARGE: &str = "MATCH (person:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WITH DISTINCT friend
MATCH (friend)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(tag:Tag)
RETURN tag.id AS id, count(post) AS posts ORDER BY posts DESC, id LIMIT 10";

/// Everything that is counted for some queries a second.
const EVERYTHING: &str = "MATCH (a:Person)-[:KNOWS]-(b:Person)-[:KNOWS]-(c:Person)<-[:HAS_CREATOR]-(m) RETURN count(m) AS messages";

pub(crate) fn run_rows(session: &mut Session, text: &str, params: Params) -> Result<usize, String> {
    session.query(text, params).and_then(|result| result.rows()).map(|rows| rows.len()).map_err(told)
}

/// Clients repeat a query until they are stopped; returns what they completed in the window.
pub(crate) fn throughput(
    database: &Database,
    tenant: &str,
    text: &str,
    person: i64,
    clients: usize,
    window: Duration,
) -> Result<(f64, Samples), String> {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let client = || -> Result<Samples, String> {
        let mut session = database.session();
        session.set_tenant(tenant);
        let mut samples = Samples::default();
        while !stop.load(Ordering::Relaxed) {
            let (outcome, time_ms) = timed(|| run_rows(&mut session, text, params! { "personId" => person }));
            outcome?;
            samples.push(time_ms);
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(samples)
    };
    // The first thread holds the watch.
    let watch = || {
        let begin_ns = monotonic_ns();
        sleep(window);
        let (count, elapsed_ns) = (done.load(Ordering::Relaxed), monotonic_ns() - begin_ns);
        stop.store(true, Ordering::Relaxed);
        count as f64 / (elapsed_ns as f64 / 1e9)
    };
    let work = |at: usize| match at {
        0 => Ok((watch(), Samples::default())),
        _ => client().map(|samples| (0.0, samples)),
    };
    let (mut rate, mut samples) = (0.0, Samples::default());
    for outcome in in_parallel("load", clients + 1, work) {
        let (own, times) = outcome?;
        rate += own;
        samples.extend(&times);
    }
    Ok((rate, samples))
}

pub(crate) fn run(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let person = graph.persons[graph.persons.len() - 1];
    let mut best = [0.0_f64; CLIENTS.len()];
    let mut latency = [0.0; CLIENTS.len()];
    for _ in 0..3 {
        for (at, clients) in CLIENTS.into_iter().enumerate() {
            let (rate, samples) = throughput(&graph.database, "load", LARGE, person, clients, WINDOW)?;
            if rate > best[at] {
                (best[at], latency[at]) = (rate, samples.median_ms());
            }
        }
    }
    let top = best.iter().copied().fold(0.0, f64::max);
    let (one, last) = (best[0], best[CLIENTS.len() - 1]);
    let each: Vec<String> =
        CLIENTS.iter().zip(&best).map(|(clients, rate)| format!("{clients}: {rate:.0}/s")).collect();
    report.note(format!("E3 queries like IC6, best of three: {}", each.join(", ")));
    report.note(format!("E3 throughput, 32 clients against the best: {:+.1} %", 100.0 * (last / top - 1.0)));
    let (first, most) = (shown_ms(latency[0]), shown_ms(latency[CLIENTS.len() - 1]));
    report.note(format!("E3 median latency: {first} with one client, {most} with 32"));
    report.figure(
        "E3 throughput, from one client to 32",
        &format!("{:+.1} %", 100.0 * (last / one - 1.0)),
        &format!("a loss under {:.0} %", 100.0 * LOSS_MAX),
        last / one > 1.0 - LOSS_MAX,
    );
    let grown = latency[CLIENTS.len() - 1] / latency[CLIENTS.len() - 3];
    report.figure(
        "E3 median latency, 8 to 32 clients",
        &format!("{grown:.2}x"),
        &format!("4x, give or take {:.0} %", 100.0 * LINEAR_MAX),
        (grown / 4.0 - 1.0).abs() <= LINEAR_MAX,
    );
    speedup(graph, report)
}

/// A large query alone, with one executor and with two.
fn speedup(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let options = |executors| database::Options { executors: Some(executors), ..Default::default() };
    let mut sessions = Vec::new();
    for executors in [1, 2] {
        let database = Database::open(database::MEMORY, options(executors)).map_err(told)?;
        let from = graph.network.clone();
        database.import(&database::ImportOptions { from, ..Default::default() }).map_err(told)?;
        sessions.push(database.session());
    }
    for (name, text) in
        [("E3 a scan with two hops, 2 executors", EVERYTHING), ("E3 like IC6, 2 executors", LARGE)]
    {
        let mut samples = [Samples::default(), Samples::default()];
        for round in 0..SPEEDUP_ROUNDS {
            for (session, samples) in sessions.iter_mut().zip(&mut samples) {
                let params = params! { "personId" => graph.persons[graph.persons.len() - 1] };
                let (outcome, time_ms) = timed(|| run_rows(session, text, params));
                outcome?;
                if round > 0 {
                    samples.push(time_ms);
                }
            }
        }
        let [one, two] = samples.map(|samples| samples.quantile_ms(0.25));
        let measured = format!("{:.2}x, {} against {}", one / two, shown_ms(two), shown_ms(one));
        report.figure(name, &measured, &format!("{SPEEDUP_MIN}x"), one / two >= SPEEDUP_MIN);
    }
    Ok(())
}
