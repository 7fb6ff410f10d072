//! Recovery: a million transactions committed since the last checkpoint are there again after an open that finds only the log.
//!
//! Many sessions commit at once, so that they share syncs and the log is made in a minute; the database is then let go of without
//! being closed, as a process that dies would. What was replayed is counted and summed up, client by client.

use super::{scratch, told};
use crate::report::Report;
use crate::timing::timed;
use database::{Database, Options, Params, params};
use std::path::Path;
use world::clock::monotonic_ns;
use world::threads::in_parallel;

const COMMITS: u64 = 1_000_000;
/// Sessions that commit at once.
const SESSIONS: u64 = 64;
const CREATE: &str = "CREATE (:T {client: $client, number: $number})";
const SUMS: &str = "MATCH (n:T) RETURN n.client AS client, count(n), sum(n.number) ORDER BY client";
/// Seconds that the replay may take.
const SECONDS_MAX: f64 = 10.0;

/// Measures it.
pub fn run(_: Option<&Path>, report: &mut Report) -> Result<(), String> {
    report.section("recovery from the log alone");
    let place = scratch("recovery")?;
    let path = place.path().join("database");
    let options = Options { checkpoint_log_bytes: u64::MAX, ..Options::default() };
    let database = Database::open(&path, options.clone()).map_err(|error| told(&error))?;
    let began_ns = monotonic_ns();
    let outcomes = in_parallel("session", SESSIONS as usize, |client| commit(&database, client as u64));
    outcomes.into_iter().collect::<Result<(), String>>()?;
    let seconds = (monotonic_ns() - began_ns) as f64 / 1e9;
    let counts = database.commit_counts();
    report.note(format!(
        "{} commits by {SESSIONS} sessions in {seconds:.1} s ({:.0}/s, {:.0} syncs/s)",
        counts.commits,
        counts.commits as f64 / seconds,
        counts.groups as f64 / seconds
    ));
    drop(database);
    let (opened, time_ms) = timed(|| Database::open(&path, options));
    let database = opened.map_err(|error| told(&error))?;
    let replayed = database.recovery().replayed;
    if replayed < COMMITS {
        return Err(format!("{replayed} commits were replayed of {COMMITS}"));
    }
    verify(&database)?;
    report.note(format!("{replayed} commits replayed, every vertex counted and summed up"));
    let target = format!("under {SECONDS_MAX:.0} s");
    report.figure(
        "open with 1 M commits to replay",
        &format!("{:.2} s", time_ms / 1e3),
        &target,
        time_ms < SECONDS_MAX * 1e3,
    );
    Ok(())
}

/// Commits of one client.
const SHARE: u64 = COMMITS.div_ceil(SESSIONS);

fn commit(database: &Database, client: u64) -> Result<(), String> {
    let mut session = database.session();
    for number in 0..SHARE {
        let params = params! { "client" => client as i64, "number" => number as i64 };
        session.query(CREATE, params).and_then(|result| result.finish()).map_err(|error| told(&error))?;
    }
    Ok(())
}

fn verify(database: &Database) -> Result<(), String> {
    let rows = database.session().query(SUMS, Params::new()).and_then(|result| result.rows());
    let rows = rows.map_err(|error| told(&error))?;
    let found: Vec<Vec<Option<i64>>> =
        rows.iter().map(|row| row.iter().map(database::Value::as_int).collect()).collect();
    let right: Vec<Vec<Option<i64>>> = (0..SESSIONS)
        .map(|client| {
            let count = SHARE as i64;
            vec![Some(client as i64), Some(count), Some(count * (count - 1) / 2)]
        })
        .collect();
    if found == right { Ok(()) } else { Err(format!("after the replay: {found:?}, right is {right:?}")) }
}
