//! TPC-H: its 22 queries kept up to date while rows arrive in batches.
//!
//! Each query stands alone over a database of its own; what it reads is fed commit by commit. At three points its answer is compared with what
//! DuckDB answers to the official text over the same rows, and with the same query asked anew. The rate is rows fed over the time from each commit's
//! end until the reader knows.

use super::*;
use crate::peers::DUCKDB_TPCH;
use crate::tpch::tables::{Batch, Tables, write_files};
use crate::tpch::texts::{Feed, QUERIES, Query, official};
use crate::tpch::{Rows, asked, commit, compare, keyed, plain};
use database::Row;
use serde_json::{Value as Json, json};

/// Points at which answers are compared: after each third of what is fed.
const POINTS: usize = 3;

/// Runs all queries at this scale factor.
pub fn run(factor: f64, report: &mut Report) -> Result<(), String> {
    report.section(&format!("TPC-H at scale factor {factor}: 22 queries while rows arrive"));
    let tables = Tables::generate(factor);
    let orders: usize = tables.sales.iter().map(|batch| batch.rows).sum();
    report.note(format!(
        "{} rows, {orders} of them orders and line items in {} commits; seeds of the official generator",
        tables.rows(),
        tables.sales.len()
    ));
    report.note("beside each: DBToaster and K-Pg, scale factor 10, batches of 100,000, their machines");
    let rights = rights(factor, &tables, report);
    let names = QUERIES.each_ref().map(Query::name);
    let names = report.choice.among(&names.each_ref().map(String::as_str));
    for query in QUERIES.iter().filter(|query| names.contains(&query.name().as_str())) {
        let right = |point: usize| {
            let rights = rights.as_ref()?;
            rights[point + if query.feed == Feed::Sales { POINTS } else { 0 }].get(query.name())
        };
        let outcome = stand(query, factor, &tables, &right);
        let (shown, is_right) = match outcome {
            Ok(shown) => (shown, true),
            Err(wrong) => (wrong, false),
        };
        report.figure(&query.name(), &shown, "all answers right", is_right);
    }
    Ok(())
}

/// Number of batches after which answers are compared.
fn points(batches: usize) -> [usize; POINTS] {
    std::array::from_fn(|point| batches * (point + 1) / POINTS)
}

/// What DuckDB answers at each point of the feed of stock, then at each of that of sales; none where it does not take part.
fn rights(factor: f64, tables: &Tables, report: &mut Report) -> Option<Vec<Json>> {
    if !report.choice.takes(DUCKDB_TPCH.name, DUCKDB_TPCH.package) {
        report.note("DuckDB takes no part: answers are compared with those asked anew");
        return None;
    }
    let answer = || {
        let place = scratch("tpch")?;
        write_files(factor, place.path())?;
        let names = |feed: Feed| {
            let fed = QUERIES.iter().filter(|query| query.feed == feed);
            fed.map(Query::name).collect::<Vec<String>>()
        };
        let keys = |batches: &[Batch]| points(batches.len()).map(|end| batches[end - 1].last_key);
        let stock = keys(&tables.stock)
            .map(|key| json!({"partkey": key, "orderkey": 0, "names": names(Feed::Stock)}));
        let sales = keys(&tables.sales)
            .map(|key| json!({"partkey": i64::MAX, "orderkey": key, "names": names(Feed::Sales)}));
        let points: Vec<Json> = stock.into_iter().chain(sales).collect();
        let questions = json!({"texts": official(factor), "points": points}).to_string();
        files::write_bytes(&place.path().join("questions.json"), questions.as_bytes())
            .map_err(|error| error.to_string())?;
        DUCKDB_TPCH.run(place.path(), &[])
    };
    match answer() {
        Ok(mut answer) => {
            report.note(format!("DuckDB {} answers the official texts", answer["version"]));
            serde_json::from_value(answer["answers"].take()).ok()
        }
        Err(why) => {
            report.skipped("DuckDB", &why);
            None
        }
    }
}

/// One query alone; what was measured, or what is wrong.
fn stand<'a>(
    query: &Query,
    factor: f64,
    tables: &Tables,
    right: &dyn Fn(usize) -> Option<&'a Json>,
) -> Result<String, String> {
    let database = Database::open(database::MEMORY, Options::default()).map_err(|error| told(&error))?;
    let mut session = database.session();
    keyed(&mut session)?;
    commit(&mut session, &tables.small)?;
    let fed = match query.feed {
        Feed::Stock => &tables.stock,
        Feed::Sales => {
            tables.stock.iter().try_for_each(|batch| commit(&mut session, batch).map(|_| ()))?;
            &tables.sales
        }
    };
    let arguments = query.arguments(factor);
    database.create_standing(&query.name(), query.text).map_err(|error| told(&error))?;
    let subscription =
        database.subscribe(&query.name(), &arguments, None, true).map_err(|error| told(&error))?;
    let mut reader = Reader { subscription, rows: BTreeMap::new() };
    reader.read_to(0)?;
    let (mut samples, mut total_ms, mut rows_fed, mut anew_ms) = (Samples::default(), 0.0, 0, 0.0);
    let points = points(fed.len());
    for (number, batch) in fed.iter().enumerate() {
        let place = commit(&mut session, batch)?;
        let (outcome, time_ms) = timed(|| reader.read_to(place));
        outcome?;
        samples.push(time_ms);
        total_ms += time_ms;
        rows_fed += batch.rows;
        let Some(point) = points.iter().position(|end| *end == number + 1) else { continue };
        let at = |wrong: String| format!("at point {}: {wrong}", point + 1);
        let kept = reader.answer();
        let (anew, time_ms) = timed(|| asked(&mut session, query.text, &arguments));
        anew_ms = time_ms;
        compare(&kept, &anew?, "the same query asked anew").map_err(at)?;
        if let Some(right) = right(point) {
            let right: Rows = serde_json::from_value(right.clone()).map_err(|error| error.to_string())?;
            compare(&kept, &right, "DuckDB").map_err(at)?;
        }
    }
    let [toaster, kpg] = query.paper.map(thousands);
    Ok(format!(
        "{} k rows/s (paper: {toaster} k, {kpg} k), a commit {}, anew {}",
        (rows_fed as f64 / total_ms).round(),
        shown_ms(samples.median_ms()),
        shown_ms(anew_ms),
    ))
}

/// Three digits of what is far below a thousand, too.
fn thousands(count: u64) -> String {
    if count < 10_000 { format!("{:.1}", count as f64 / 1e3) } else { (count / 1_000).to_string() }
}

/// A subscriber, and the answer as it knows it.
struct Reader {
    subscription: Subscription,
    rows: BTreeMap<Row, isize>,
}

impl Reader {
    fn read_to(&mut self, place: u64) -> Result<(), String> {
        loop {
            let event = self.subscription.next(PATIENCE).map_err(|end| format!("it ended: {end:?}"))?;
            let event = event.ok_or("a subscriber was told nothing for a minute")?;
            if let Event::Snapshot { rows, .. } | Event::Changes { rows, .. } = &event {
                for (row, count) in rows.iter() {
                    let known = self.rows.entry(row.clone()).or_insert(0);
                    *known += count;
                    if *known == 0 {
                        self.rows.remove(row);
                    }
                }
            }
            if event.commit_version() >= place {
                return Ok(());
            }
        }
    }
    fn answer(&self) -> Rows {
        let columns = self.subscription.columns();
        let plain =
            |row: &Row| columns.iter().map(|column| plain(&row.values()[column.at])).collect::<Vec<Json>>();
        let each = self.rows.iter();
        each.flat_map(|(row, count)| std::iter::repeat_n(plain(row), usize::try_from(*count).unwrap_or(0)))
            .collect()
    }
}
