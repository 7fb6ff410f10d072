//! Tablets: what a skewed placement costs queries, and how soon the balancer has mended it.
//!
//! As in the paper's section 5.5, but through the database's own interface: a client asks a large query at a fixed rate while all tablets are
//! moved to one executor, and again once the balancer may move them. Every answer is held against the first, and that none fails is part of
//! the figure. Tablets and moves are read by `SHOW TABLETS`, as a user would.

use super::load::LARGE;
use super::{Graph, told};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, Session, Value, params};
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns, span_ns};
use world::threads::sleep;

/// How long each state of the placement is watched.
const WATCHED: Duration = Duration::from_millis(2_000);
/// Queries whose median is looked at, to say whether latency is restored.
const WINDOW: usize = 20;
/// From one query to the next.
const EVERY: Duration = Duration::from_millis(12);
/// Latency counts as restored within this factor of the first.
const RESTORED_MAX: f64 = 1.1;
/// It is restored within.
const SECONDS_MAX: f64 = 3.0;
/// It is waited for so long.
const PATIENCE_NS: u64 = 10_000_000_000;

/// Asks a query at a fixed rate.
struct Client<'a> {
    session: Session,
    graph: &'a Graph,
    wanted: Vec<Vec<i64>>,
    asked: usize,
}

impl Client<'_> {
    /// One query, in milliseconds.
    fn ask(&mut self) -> Result<f64, String> {
        let person = self.graph.persons[self.graph.persons.len() - 1];
        let begin_ns = monotonic_ns();
        let (rows, time_ms) = timed(|| {
            self.session.query(LARGE, params! { "personId" => person }).and_then(|result| result.rows())
        });
        let numbers = |row: &Vec<Value>| row.iter().map(super::whole).collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(told)?.iter().map(numbers).collect::<Result<Vec<_>, _>>()?;
        if self.wanted.is_empty() {
            self.wanted = rows;
        } else if rows != self.wanted {
            return Err("another answer after tablets were moved".into());
        }
        self.asked += 1;
        let left_ns = (begin_ns + span_ns(EVERY)).saturating_sub(monotonic_ns());
        sleep(Duration::from_nanos(left_ns));
        Ok(time_ms)
    }
    fn watch(&mut self) -> Result<Samples, String> {
        let (end_ns, mut samples) = (after_ns(WATCHED), Samples::default());
        while monotonic_ns() < end_ns {
            samples.push(self.ask()?);
        }
        Ok(samples)
    }
    /// Seconds until a window's median is at most this, and that median.
    fn until(&mut self, most_ms: f64) -> Result<(f64, f64), String> {
        let begin_ns = monotonic_ns();
        let mut latest = Vec::new();
        loop {
            latest.push(self.ask()?);
            let mut samples = Samples::default();
            latest.iter().rev().take(WINDOW).for_each(|time_ms| samples.push(*time_ms));
            let (median, elapsed_ns) = (samples.median_ms(), monotonic_ns() - begin_ns);
            if (latest.len() >= WINDOW && median <= most_ms) || elapsed_ns > PATIENCE_NS {
                return Ok((elapsed_ns as f64 / 1e9, median));
            }
        }
    }
}

/// Tablets by executor, and all moves, as `SHOW TABLETS` tells them.
fn placement(database: &Database) -> Result<(Vec<usize>, i64), String> {
    let text = "SHOW TABLETS YIELD executor, moves";
    let rows = database.session().query(text, params! {}).and_then(|result| result.rows()).map_err(told)?;
    let (mut hosted, mut moves) = (vec![0; database.executors()], 0);
    for row in rows {
        hosted[super::whole(&row[0])? as usize] += 1;
        moves += super::whole(&row[1])?;
    }
    Ok((hosted, moves))
}

pub(crate) fn run(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let database = &graph.database;
    if database.executors() < 2 {
        report.skipped("rebalance", "there is one executor");
        return Ok(());
    }
    let mut client = Client { session: database.session(), graph, wanted: Vec::new(), asked: 0 };
    database.balance_tablets(false);
    let tablets: Vec<usize> = database.tablets().iter().map(|tablet| tablet.tablet).collect();
    let executors = database.executors();
    database.move_tablets(tablets.iter().map(|tablet| (*tablet, tablet % executors)));
    client.watch()?;
    let even = client.watch()?.median_ms();
    database.move_tablets(tablets.iter().map(|tablet| (*tablet, 0)));
    let skewed = client.watch()?.median_ms();
    let (hosted, moved) = placement(database)?;
    report.note(format!("rebalance: all tablets moved to one executor: {hosted:?}"));
    database.balance_tablets(true);
    let (seconds, restored) = client.until(even * RESTORED_MAX)?;
    let after = client.watch()?.median_ms();
    let (hosted, moves) = placement(database)?;
    report.note(format!(
        "rebalance: {} moves made it {hosted:?}; {} queries were asked meanwhile, none failed",
        moves - moved,
        client.asked
    ));
    let skew = format!("{} even, {} skewed ({:.2}x)", shown_ms(even), shown_ms(skewed), skewed / even);
    let then = format!("{} after {seconds:.1} s, {} later", shown_ms(restored), shown_ms(after));
    report.figure(
        "rebalance, a skewed placement's latency",
        &format!("{skew}; {then}"),
        &format!("within {:.0} % of even in {SECONDS_MAX} s", 100.0 * (RESTORED_MAX - 1.0)),
        moves > moved && seconds <= SECONDS_MAX && restored <= even * RESTORED_MAX,
    );
    Ok(())
}
