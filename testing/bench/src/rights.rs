//! The cost of restrictions, of the log and of traces, on the interactive reads of the social network.
//!
//! Every figure compares two sessions that take turns in one run, query by query, and hold the same rows. Whoever may do everything is measured beside
//! somebody with a role that hides nothing. For a restriction the network is there twice: once with messages that carry a label that is denied,
//! asked under the restriction, and once without these messages, asked by somebody from whom nothing is hidden; the rows must be equal. The
//! log is that of a server, as JSON, to a sink. Each comparison gives the time by the clock, and the processor time of all threads, which a busy
//! machine lengthens less.

use crate::data;
use crate::ldbc::{COMPLEX, Query, answers, expected};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, ImportOptions, Options, Session, params};
use std::path::Path;
use std::time::Duration;
use tracing_subscriber::layer::SubscriberExt;
use world::clock::process_cpu_ns;
use world::files::TemporaryFolder;

/// The packed data set.
const SET: &str = "snb-like-sf0.1";
/// Runs of each query by each side with each set of parameters.
const ROUNDS: usize = 9;
/// The quantile that counts of a query's times with one set of parameters: other load makes times longer, never shorter.
const QUANTILE: f64 = 0.25;
/// Sets of parameters of each query.
const SETS_MAX: usize = 6;
/// One in this many messages is hidden.
const HIDDEN_EVERY: i64 = 50;
/// The largest cost of a role that hides nothing, as a part of the time.
const ROLE_PART_MAX: f64 = 0.01;
/// The largest cost of a restriction by label.
const RESTRICTION_PART_MAX: f64 = 0.10;
/// The largest cost of a server's log.
const LOG_PART_MAX: f64 = 0.01;
const PASSWORD: &str = "correct horse";

/// One of two sessions that are compared; runs a query.
type Ask<'a> = &'a mut dyn FnMut(&Query, &expected::Expected) -> Rows;
type Rows = Result<Vec<Vec<database::Value>>, database::Error>;

/// The bench.
pub fn run(folder: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let Some(folder) = folder else {
        report.skipped("rights", "needs --data DIR");
        return Ok(());
    };
    report.section(&format!("social network, {SET}: what restrictions, log and traces cost"));
    let (unpacked, _) = data::unpacked(folder, SET)?;
    let network =
        data::find_folder(&unpacked, "social_network").ok_or("the archive holds no social_network")?;
    let asked = expected::read(&data::text(&network.with_file_name(""), "expected.jsonl")?)?;
    let place = TemporaryFolder::inside(&unpacked, "rights").map_err(|error| error.to_string())?;
    let told = |error: database::Error| error.to_string();

    let whole = loaded(&place.path().join("whole"), &network).map_err(told)?;
    users(&whole).map_err(told)?;
    let (mut everything, mut reader) = (whole.session(), session_of(&whole, "reads").map_err(told)?);
    let mut alike = whole.session();
    compare(
        ("a session beside one like it: what this machine cannot tell", f64::INFINITY),
        &asked,
        (&mut |query, expected| rows(&mut everything, query, expected), &mut |query, expected| {
            rows(&mut alike, query, expected)
        }),
        report,
    );
    compare(
        ("a role that hides nothing", ROLE_PART_MAX),
        &asked,
        (&mut |query, expected| rows(&mut everything, query, expected), &mut |query, expected| {
            rows(&mut reader, query, expected)
        }),
        report,
    );
    logging(&whole, &asked, report);

    let mark = format!(
        "MATCH (m) WHERE (m:Post OR m:Comment) AND m.id % {HIDDEN_EVERY} = 0 SET m:Secret RETURN count(m)"
    );
    let hidden = whole.session().query(&mark, params! {}).and_then(|result| result.single()).map_err(told)?;
    let without = loaded(&place.path().join("without"), &network).map_err(told)?;
    let remove = mark.replace("SET m:Secret RETURN count(m)", "DETACH DELETE m");
    without.session().query(&remove, params! {}).and_then(|result| result.finish()).map_err(told)?;
    for database in [&whole, &without] {
        database.checkpoint().map_err(told)?;
    }
    report.note(format!("{hidden:?} messages are hidden"));
    let (mut all, mut guest) = (without.session(), session_of(&whole, "guest").map_err(told)?);
    compare(
        ("a label that is hidden", RESTRICTION_PART_MAX),
        &asked,
        (&mut |query, expected| rows(&mut all, query, expected), &mut |query, expected| {
            rows(&mut guest, query, expected)
        }),
        report,
    );
    traces(&without, &asked, report);
    Ok(())
}

fn loaded(path: &Path, network: &Path) -> Result<Database, database::Error> {
    let database = Database::open(path, Options::default())?;
    database.import(&ImportOptions { from: network.to_path_buf(), ..ImportOptions::default() })?;
    Ok(database)
}

fn users(database: &Database) -> Result<(), database::Error> {
    let mut session = database.session();
    for text in [
        &format!("CREATE USER reads SET PASSWORD '{PASSWORD}'"),
        "GRANT ROLE reader TO reads",
        &format!("CREATE USER guest SET PASSWORD '{PASSWORD}'"),
        "CREATE ROLE some",
        "GRANT MATCH {*} ON GRAPH * TO some",
        "DENY TRAVERSE ON GRAPH * NODES Secret TO some",
        "GRANT ROLE some TO guest",
    ] {
        session.query(text, params! {})?.finish()?;
    }
    Ok(())
}

fn session_of(database: &Database, user: &str) -> Result<Session, database::Error> {
    let credential = database.users().log_on(user, PASSWORD).map_err(database::Error::from)?;
    let mut session = database.session();
    credential.into_iter().for_each(|credential| session.log_on(credential));
    Ok(session)
}

fn rows(
    session: &mut Session,
    query: &Query,
    expected: &expected::Expected,
) -> Result<Vec<Vec<database::Value>>, database::Error> {
    session.query(query.text, expected.params.clone())?.rows()
}

/// Alternates both sides, and which one begins; the figure is the sum over all queries and sets of parameters.
fn compare(
    (name, part_max): (&str, f64),
    asked: &[expected::Expected],
    (first, second): (Ask<'_>, Ask<'_>),
    report: &mut Report,
) {
    let (mut sums, mut processor_sums) = ([0.0; 2], [0.0; 2]);
    let (mut worst, mut fault) = ((String::new(), f64::MIN), None);
    for query in &COMPLEX {
        let mut query_sums = [0.0; 2];
        for expected in asked.iter().filter(|expected| expected.query == query.name).take(SETS_MAX) {
            let mut samples: [[Samples; 2]; 2] = Default::default();
            // One round that is not counted makes plans.
            for round in 0..=ROUNDS {
                let early = (round % 2 == 1).then(|| measured(|| second(query, expected)));
                let (one, one_ms) = measured(|| first(query, expected));
                let (other, other_ms) = early.unwrap_or_else(|| measured(|| second(query, expected)));
                if round > 0 {
                    for (side, times) in [one_ms, other_ms].into_iter().enumerate() {
                        samples[side].iter_mut().zip(times).for_each(|(samples, ms)| samples.push(ms));
                    }
                }
                if let Err(why) = same_rows(query, &one, &other) {
                    fault.get_or_insert(format!("{} with {:?}: {why}", query.name, expected.params));
                }
            }
            for side in 0..2 {
                query_sums[side] += samples[side][0].quantile_ms(QUANTILE);
                processor_sums[side] += samples[side][1].quantile_ms(QUANTILE);
            }
        }
        sums = [sums[0] + query_sums[0], sums[1] + query_sums[1]];
        if query_sums[1] / query_sums[0] > worst.1 {
            worst = (query.name.to_string(), query_sums[1] / query_sums[0]);
        }
    }
    let part = processor_sums[1] / processor_sums[0] - 1.0;
    let target = match part_max.is_finite() {
        true => format!("under {:.0} %", 100.0 * part_max),
        false => "for the record".to_string(),
    };
    report.figure(
        &format!("{name}: processor time"),
        &format!(
            "{:+.1} % ({} beside {})",
            100.0 * part,
            shown_ms(processor_sums[1]),
            shown_ms(processor_sums[0])
        ),
        &target,
        part < part_max,
    );
    let part = sums[1] / sums[0] - 1.0;
    let measured = format!(
        "{:+.1} % ({} beside {}), at worst {} with {:+.1} %",
        100.0 * part,
        shown_ms(sums[1]),
        shown_ms(sums[0]),
        worst.0,
        100.0 * (worst.1 - 1.0)
    );
    let target = match part_max.is_finite() {
        true => format!("under {:.0} %, equal rows", 100.0 * part_max),
        false => "equal rows".to_string(),
    };
    report.figure(name, &measured, &target, part < part_max && fault.is_none());
    fault.into_iter().for_each(|fault| report.note(fault));
}

/// By the clock, and of processors, in milliseconds.
fn measured<T>(work: impl FnOnce() -> T) -> (T, [f64; 2]) {
    let began_ns = process_cpu_ns();
    let (outcome, wall_ms) = timed(work);
    (outcome, [wall_ms, (process_cpu_ns() - began_ns) as f64 / 1e6])
}

fn same_rows(query: &Query, one: &Rows, other: &Rows) -> Result<(), String> {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            let right: Vec<_> = one.iter().map(|row| row.iter().map(answers::plain).collect()).collect();
            answers::compare(query.name, other, &right)
        }
        (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
    }
}

/// The log as a server has it, beside none.
fn logging(database: &Database, asked: &[expected::Expected], report: &mut Report) {
    let lines = tracing_subscriber::fmt::layer().json().with_writer(std::io::sink);
    let filter = tracing_subscriber::filter::Targets::new().with_target("tanglewood", tracing::Level::INFO);
    let subscriber =
        tracing_subscriber::registry().with(tracing_subscriber::Layer::with_filter(lines, filter));
    let dispatch = tracing::Dispatch::new(subscriber);
    let (mut silent, mut logged) = (database.session(), database.session());
    compare(
        ("the log of a server, queries slower than 1 s with their plan", LOG_PART_MAX),
        asked,
        (
            &mut |query, expected| {
                database.set_slow_query(None);
                rows(&mut silent, query, expected)
            },
            &mut |query, expected| {
                database.set_slow_query(Some(Duration::from_secs(1)));
                tracing::dispatcher::with_default(&dispatch, || rows(&mut logged, query, expected))
            },
        ),
        report,
    );
    database.set_slow_query(None);
}

/// Every query is traced, beside another database of which none is: for the record, since it is an option.
fn traces(database: &Database, asked: &[expected::Expected], report: &mut Report) {
    let mut session = database.session();
    let total = |session: &mut Session| -> f64 {
        let mut sum = 0.0;
        for query in &COMPLEX {
            let mut samples = Samples::default();
            for expected in asked.iter().filter(|expected| expected.query == query.name).take(SETS_MAX) {
                for _ in 0..ROUNDS {
                    samples.push(timed(|| rows(session, query, expected)).1);
                }
            }
            sum += samples.median_ms();
        }
        sum
    };
    let before = total(&mut session);
    database.on_query_trace(1, std::sync::Arc::new(|_| {}));
    let after = total(&mut session);
    report.note(format!(
        "every query traced: {:+.1} % ({} beside {}, one after the other)",
        100.0 * (after / before - 1.0),
        shown_ms(after),
        shown_ms(before)
    ));
}
