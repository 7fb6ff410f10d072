//! E4 and the tenants: how other queries slow down a query, and how soon a query is gone after it was killed or abandoned.

use super::load::{LARGE, run_rows, throughput};
use super::{Graph, told};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{AccountCommand, Database, Setting, params};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use world::clock::monotonic_ns;
use world::threads::{in_parallel, sleep, spawn};

/// A query that is abandoned before its end.
pub(super) const ENDLESS: &str = "MATCH (a:Person), (b:Person), (c:Person), (d:Person) WHERE a.id + b.id + c.id + d.id = 1 RETURN count(*) AS n";
/// Likewise, that writes.
pub(super) const ENDLESS_WRITE: &str = "UNWIND range(1, 1000000000) AS x CREATE (:Junk {x: x})";
/// Foreground queries for each background, in each of [`ROUNDS`] rounds.
const FOREGROUND: usize = 100;
const ROUNDS: usize = 8;
/// Executors, and the factor by which the foreground's 95th percentile may rise when the background changes from small to large queries.
const RISE_MAX: [(usize, f64); 2] = [(1, 1.035), (4, 1.095)];
/// The share of its throughput alone that a tenant with half the share must keep, of half.
const KEPT_MIN: f64 = 0.9;
/// Its 99th percentile may be at most this many times the one alone.
const P99_MAX: f64 = 3.0;
/// A kill takes effect within.
const KILL_MS_MAX: f64 = 5.0;
const KILLS: usize = 200;
/// The query of an abandoned client must be gone within this time, in milliseconds.
const ABANDONED_MS_MAX: f64 = 50.0;
/// Queries that are accepted at once.
const CROWD: usize = 10_000;

/// Runs `work` while a number of sessions of a tenant repeat a query, or block in it.
fn beside<T: Send>(
    database: &Database,
    tenant: &str,
    text: &str,
    person: i64,
    clients: usize,
    work: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    let stop = AtomicBool::new(false);
    let work = Mutex::new(Some(work));
    let client = || {
        let mut session = database.session();
        session.set_tenant(tenant);
        while !stop.load(Ordering::Relaxed) {
            // It may be killed at the end; that is no news.
            let _ = run_rows(&mut session, text, params! { "personId" => person });
        }
    };
    // The first thread measures while the others ask.
    let measure = || {
        sleep(Duration::from_millis(100));
        let taken = work.lock().ok().and_then(|mut work| work.take());
        let outcome = taken.ok_or_else(|| "measured twice".to_string()).and_then(|work| work());
        stop.store(true, Ordering::Relaxed);
        kill_all(database, tenant).and(outcome)
    };
    let done = in_parallel("beside", clients + 1, |at| match at {
        0 => Some(measure()),
        _ => {
            client();
            None
        }
    });
    done.into_iter().flatten().next().unwrap_or_else(|| Err("nothing was measured".into()))
}

/// Kills the running queries of a tenant until there are none.
fn kill_all(database: &Database, tenant: &str) -> Result<(), String> {
    for _ in 0..20 {
        for query in database.running().into_iter().filter(|query| query.tenant == tenant) {
            database.kill(&query.id, "the measurement is over").map_err(told)?;
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The foreground's latency beside small and beside large queries of others.
pub(crate) fn foreground(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let (person, many) = (graph.persons[graph.persons.len() / 2], graph.persons[graph.persons.len() - 1]);
    let mut session = graph.database.session();
    session.set_tenant("foreground");
    for (clients, rise_max) in RISE_MAX {
        let mut samples = [Samples::default(), Samples::default()];
        for _ in 0..ROUNDS {
            for (background, samples) in [SMALL_BACKGROUND, LARGE].into_iter().zip(&mut samples) {
                beside(&graph.database, "background", background, many, clients, || {
                    for _ in 0..FOREGROUND {
                        let params = params! { "personId" => person };
                        let (outcome, time_ms) = timed(|| run_rows(&mut session, FOREGROUND_QUERY, params));
                        outcome?;
                        samples.push(time_ms);
                    }
                    Ok(())
                })?;
            }
        }
        let [small, large] = samples.map(|samples| samples.quantile_ms(0.95));
        let measured =
            format!("{:+.1} %, {} to {}", 100.0 * (large / small - 1.0), shown_ms(small), shown_ms(large));
        let target = format!("{:+.1} % at most", 100.0 * (rise_max - 1.0));
        report.figure(
            &format!("E4 foreground p95, W = {clients}, small to large"),
            &measured,
            &target,
            large / small <= rise_max,
        );
    }
    Ok(())
}

/// A small query with a test. Alone it is answered on the asking thread, as the engine sees fit.
const FOREGROUND_QUERY: &str = "MATCH (person:Person {id: $personId})-[:KNOWS]-(friend:Person)
WHERE EXISTS { (friend)-[:WORK_AT]->(:Company) }
RETURN friend.id AS id ORDER BY id LIMIT 20";
/// Small queries of others.
const SMALL_BACKGROUND: &str = FOREGROUND_QUERY;

/// A hostile tenant, kills, clients that go away, and a crowd.
pub(crate) fn tenants(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let database = &graph.database;
    for name in ["good", "hostile"] {
        let command = AccountCommand::CreateTenant {
            name: name.into(),
            if_not_exists: true,
            settings: vec![Setting::Share(100)],
        };
        database.change_tenants(&command).map_err(told)?;
    }
    hostile(graph, report)?;
    for (name, text) in [("reads", ENDLESS), ("writes", ENDLESS_WRITE)] {
        kills(graph, name, text, report)?;
    }
    abandoned(graph, report)?;
    crowd(graph, report)
}

fn hostile(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let (database, person) = (&graph.database, graph.persons[graph.persons.len() / 2]);
    let window = Duration::from_secs(2);
    let (mut alone, mut with) = ((0.0, Samples::default()), (0.0, Samples::default()));
    for _ in 0..2 {
        let (rate, samples) = throughput(database, "good", LARGE, person, 4, window)?;
        alone.0 += rate;
        alone.1.extend(&samples);
        let (rate, samples) = beside(database, "hostile", ENDLESS, person, 8, || {
            throughput(database, "good", LARGE, person, 4, window)
        })?;
        with.0 += rate;
        with.1.extend(&samples);
    }
    let kept = with.0 / (alone.0 / 2.0);
    report.figure(
        "tenants, good beside hostile",
        &format!("{:.0} % of half, {:.0}/s of {:.0}/s", 100.0 * kept, with.0 / 2.0, alone.0 / 2.0),
        &format!("at least {:.0} % of half its throughput alone", 100.0 * KEPT_MIN),
        kept >= KEPT_MIN,
    );
    let (before, after) = (alone.1.quantile_ms(0.99), with.1.quantile_ms(0.99));
    report.figure(
        "tenants, the good one's p99",
        &format!("{:.1}x, {} to {}", after / before, shown_ms(before), shown_ms(after)),
        &format!("under {P99_MAX}x of alone"),
        after / before < P99_MAX,
    );
    Ok(())
}

/// From the call of kill to the client's error, while others keep all executors busy.
fn kills(graph: &Graph, name: &str, text: &str, report: &mut Report) -> Result<(), String> {
    let (database, person) = (&graph.database, graph.persons[0]);
    let samples = beside(database, "hostile", ENDLESS, person, 8, || {
        let mut samples = Samples::default();
        for _ in 0..KILLS {
            samples.push(one_kill(database, text)?);
        }
        Ok(samples)
    })?;
    let p99 = samples.quantile_ms(0.99);
    let measured = format!("{} p99, {} median", shown_ms(p99), shown_ms(samples.median_ms()));
    report.figure(
        &format!("kill at full load, {name}"),
        &measured,
        &format!("under {KILL_MS_MAX} ms p99"),
        p99 < KILL_MS_MAX,
    );
    let junk = run_rows(&mut database.session(), "MATCH (j:Junk) RETURN j LIMIT 1", params! {})?;
    if junk > 0 {
        return Err("a killed write left something behind".into());
    }
    Ok(())
}

fn one_kill(database: &Database, text: &str) -> Result<f64, String> {
    let (victims, statement) = (database.clone(), text.to_string());
    let client = spawn("victim", move || {
        let mut session = victims.session();
        session.set_tenant("victim");
        let outcome = run_rows(&mut session, &statement, params! {});
        (outcome, monotonic_ns())
    });
    let victim = loop {
        let running = database.running().into_iter().find(|query| query.tenant == "victim");
        match running {
            Some(query) if query.running && query.elapsed_ms >= 3 => break query,
            _ => sleep(Duration::from_micros(300)),
        }
    };
    let begin_ns = monotonic_ns();
    database.kill(&victim.id, "the measurement says so").map_err(told)?;
    let (outcome, end_ns) = client.join();
    match outcome {
        Ok(_) => Err("a killed query answered".into()),
        Err(_) => Ok((end_ns.saturating_sub(begin_ns)) as f64 / 1e6),
    }
}

/// From the moment a client lets go of its rows to the query's end.
fn abandoned(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let database = &graph.database;
    let samples = beside(database, "hostile", ENDLESS, graph.persons[0], 8, || {
        let mut samples = Samples::default();
        for _ in 0..KILLS {
            let mut session = database.session();
            session.set_tenant("victim");
            let result = session.query(ENDLESS, params! {}).map_err(told)?;
            sleep(Duration::from_millis(2));
            let begin_ns = monotonic_ns();
            drop(result);
            while database.running().iter().any(|query| query.tenant == "victim") {
                sleep(Duration::from_micros(100));
            }
            samples.push((monotonic_ns() - begin_ns) as f64 / 1e6);
        }
        Ok(samples)
    })?;
    let p99 = samples.quantile_ms(0.99);
    let measured = format!("{} p99, {} median", shown_ms(p99), shown_ms(samples.median_ms()));
    report.figure(
        "abandoned queries end",
        &measured,
        &format!("within {ABANDONED_MS_MAX} ms"),
        p99 <= ABANDONED_MS_MAX,
    );
    Ok(())
}

/// Ten thousand queries that have all begun before the first is read, within a tenant's memory.
fn crowd(graph: &Graph, report: &mut Report) -> Result<(), String> {
    let database = &graph.database;
    let settings = vec![Setting::Memory(Some(1 << 30))];
    let command = AccountCommand::CreateTenant { name: "crowd".into(), if_not_exists: true, settings };
    database.change_tenants(&command).map_err(told)?;
    let mut right = 0;
    let (outcome, time_ms) = timed(|| -> Result<u64, String> {
        let mut results = Vec::new();
        for number in 0..CROWD {
            let mut session = database.session();
            session.set_tenant("crowd");
            let person = graph.persons[number % graph.persons.len()];
            let result = session.query(FOREGROUND_QUERY, params! { "personId" => person }).map_err(told)?;
            results.push((session, result));
        }
        let bytes = database.running().iter().map(|query| query.bytes).sum();
        for (_, result) in results {
            right += usize::from(!result.rows().map_err(told)?.is_empty());
        }
        Ok(bytes)
    });
    let held = outcome? >> 10;
    report.figure(
        "queries accepted at once",
        &format!("{right} answered in {}, {held} KiB held", shown_ms(time_ms)),
        &format!("{CROWD} within 1 GiB"),
        right == CROWD,
    );
    Ok(())
}
