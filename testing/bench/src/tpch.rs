//! TPC-H over a graph: the 22 queries, each asked of all rows, beside DuckDB with the official texts over its tables.
//!
//! A vertex a row, an edge a foreign key ([`tables`]); [`texts`] has both wordings. As standing queries they are measured by the bench `standing`.

pub mod tables;
pub mod texts;

use crate::peers::DUCKDB_TPCH;
use crate::report::Report;
use crate::store::{scratch, told};
use crate::timing::{shown_ms, timed};
use database::{Database, Mode, Options, Params, Session, Value, params};
use serde_json::{Value as Json, json};
use std::path::Path;
use tables::{Batch, KEYED, Tables, write_files};
use texts::{QUERIES, Query, official};
use world::files;

/// Scale factors by name.
const FACTORS: [(&str, f64); 2] = [("0.01", 0.01), ("0.1", 0.1)];
/// The factor where none is named.
const USUAL: &str = "0.1";
/// Calls of each query; the fastest counts, as with DuckDB.
const ROUNDS: usize = 5;
/// Times that of DuckDB which the geometric mean may take.
const SHARE_MAX: f64 = 3.0;
/// How far sums of floats may be from those of decimals, relative to their size.
const TOLERANCE: f64 = 1e-9;

/// Rows of an answer.
pub type Rows = Vec<Vec<Json>>;

/// What DuckDB answered.
struct Asked {
    rows: Rows,
    best_ms: f64,
}

/// Asks every query that was chosen, at scale factor 0.1 or those that are named.
pub fn run(_: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let only = report.choice.only.clone();
    let is_named = |name: &str| only.iter().any(|only| only == name);
    let any_named = FACTORS.iter().any(|(name, _)| is_named(name));
    for (name, factor) in FACTORS {
        if is_named(name) || (!any_named && name == USUAL) {
            at_scale(factor, report)?;
        }
    }
    Ok(())
}

fn at_scale(factor: f64, report: &mut Report) -> Result<(), String> {
    report.section(&format!(
        "TPC-H at scale factor {factor}: the fastest of {ROUNDS} calls, every answer checked"
    ));
    let tables = Tables::generate(factor);
    report.note(format!("{} rows; seeds of the official generator", tables.rows()));
    let place = scratch("tpch")?;
    let database = loaded(&tables, &place.path().join("graph"), report)?;
    let names = QUERIES.each_ref().map(Query::name);
    let names = report.choice.among(&names.each_ref().map(String::as_str));
    let chosen: Vec<&Query> = QUERIES.iter().filter(|query| names.contains(&query.name().as_str())).collect();
    let ours: Vec<_> = chosen.iter().map(|query| fastest(query, factor, &mut database.session())).collect();
    let duckdb = duckdb(factor, &chosen, report);
    let mut ratios = Vec::new();
    for (query, ours) in chosen.iter().zip(ours) {
        let theirs = duckdb.as_ref().map(|answer| theirs(answer, &query.name()));
        ratios.extend(judge(&query.name(), ours, theirs, report));
    }
    mean(&ratios, report);
    Ok(())
}

/// One figure: DuckDB's answer. Our time relative to DuckDB's, where ours is right.
fn judge(
    name: &str,
    ours: Result<(Rows, f64), String>,
    theirs: Option<Result<Asked, String>>,
    report: &mut Report,
) -> Option<f64> {
    let (rows, best_ms) = match ours {
        Ok(ours) => ours,
        Err(why) => {
            report.figure(name, &why, "an answer", false);
            return None;
        }
    };
    let Some(theirs) = theirs else {
        report.skipped(name, &format!("compared with nothing; ours took {}", shown_ms(best_ms)));
        return None;
    };
    let compared = theirs.and_then(|theirs| compare(&rows, &theirs.rows, "DuckDB").map(|()| theirs.best_ms));
    match compared {
        Ok(theirs_ms) => {
            let ratio = best_ms / theirs_ms;
            let [ours, theirs] = [best_ms, theirs_ms].map(shown_ms);
            report.figure(name, &format!("{ours}, DuckDB {theirs}, {ratio:.2} times"), "right", true);
            Some(ratio)
        }
        Err(wrong) => {
            report.figure(name, &wrong, "right", false);
            None
        }
    }
}

/// The geometric mean of our times beside DuckDB's, over all queries or not at all.
fn mean(ratios: &[f64], report: &mut Report) {
    let name = "geometric mean";
    if ratios.len() < QUERIES.len() {
        let why = format!("{} of {} queries were compared", ratios.len(), QUERIES.len());
        report.skipped(name, &why);
        return;
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let shown = format!("{mean:.2} times DuckDB's time");
    report.figure(name, &shown, &format!("at most {SHARE_MAX}"), mean <= SHARE_MAX);
}

/// All rows, written by transactions, in a database that was closed and opened again since.
fn loaded(tables: &Tables, path: &Path, report: &Report) -> Result<Database, String> {
    let opened = || Database::open(path, Options::default()).map_err(|error| told(&error));
    let database = opened()?;
    let mut session = database.session();
    let (outcome, time_ms) = timed(|| {
        keyed(&mut session)?;
        let batches = std::iter::once(&tables.small).chain(&tables.stock).chain(&tables.sales);
        batches.map(|batch| commit(&mut session, batch)).try_for_each(|place| place.map(drop))
    });
    outcome?;
    report.note(format!("ours        loaded in {:.2} s", time_ms / 1e3));
    drop(session);
    database.close().map_err(|error| told(&error))?;
    opened()
}

/// Keys by which rows are found while others are written.
pub fn keyed(session: &mut Session) -> Result<(), String> {
    KEYED.iter().try_for_each(|label| {
        write(session, &format!("CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.key IS UNIQUE"), Params::new())
    })
}

fn write(session: &mut Session, text: &str, arguments: Params) -> Result<(), String> {
    session.query(text, arguments).and_then(|result| result.finish()).map(drop).map_err(|error| told(&error))
}

/// The fastest of some calls, which must all answer alike: the rows, and its time.
fn fastest(query: &Query, factor: f64, session: &mut Session) -> Result<(Rows, f64), String> {
    let arguments = query.arguments(factor);
    let (first, mut best_ms) = timed(|| asked(session, query.text, &arguments));
    let first = first?;
    for _ in 1..ROUNDS {
        let (rows, time_ms) = timed(|| asked(session, query.text, &arguments));
        compare(&rows?, &first, "the first call")?;
        best_ms = best_ms.min(time_ms);
    }
    Ok((first, best_ms))
}

/// What DuckDB answers to the official texts over all rows; nothing where it does not take part.
fn duckdb(factor: f64, chosen: &[&Query], report: &mut Report) -> Option<Json> {
    if !report.choice.takes(DUCKDB_TPCH.name, DUCKDB_TPCH.package) {
        report.note("DuckDB takes no part: answers are compared with nothing");
        return None;
    }
    let answer = || {
        let place = scratch("tpch-files")?;
        write_files(factor, place.path())?;
        let names: Vec<String> = chosen.iter().map(|query| query.name()).collect();
        let all = json!([{"partkey": i64::MAX, "orderkey": i64::MAX, "names": names}]);
        let questions = json!({"texts": official(factor), "points": all, "rounds": ROUNDS}).to_string();
        files::write_bytes(&place.path().join("questions.json"), questions.as_bytes())
            .map_err(|error| error.to_string())?;
        DUCKDB_TPCH.run(place.path(), &[])
    };
    match answer() {
        Ok(answer) => {
            report.note(format!("DuckDB {} answers the official texts", answer["version"]));
            Some(answer)
        }
        Err(why) => {
            report.skipped("DuckDB", &why);
            None
        }
    }
}

/// DuckDB's answer to one query, or why there is none that can be read.
fn theirs(answer: &Json, name: &str) -> Result<Asked, String> {
    let rows = &answer["answers"][0][name];
    if rows.is_null() {
        return Err("DuckDB has no answer".into());
    }
    let rows = serde_json::from_value(rows.clone())
        .map_err(|error| format!("DuckDB's answer cannot be read: {error}"))?;
    let best_ms = answer["best_ms"][0][name].as_f64().ok_or("DuckDB's answer has no time")?;
    Ok(Asked { rows, best_ms })
}

/// One transaction.
pub fn commit(session: &mut Session, batch: &Batch) -> Result<u64, String> {
    session.begin(Mode::Write).map_err(|error| told(&error))?;
    for (text, rows) in &batch.writes {
        write(session, text, params! { "rows" => rows.clone() })?;
    }
    session.commit().map_err(|error| told(&error))
}

/// All rows of an answer.
pub fn asked(session: &mut Session, text: &str, arguments: &Params) -> Result<Rows, String> {
    let rows = session.query(text, arguments.clone()).and_then(|rows| rows.rows());
    let rows = rows.map_err(|error| told(&error))?;
    Ok(rows.iter().map(|row| row.iter().map(plain).collect()).collect())
}

/// What JSON can say; a float that is no number is null, and values of other kinds are texts that differ from all that DuckDB says.
pub fn plain(value: &Value) -> Json {
    match value {
        Value::Int(number) => json!(number),
        Value::Float(number) => json!(number),
        Value::String(text) => json!(&**text),
        Value::Date(date) => json!(date.to_string()),
        Value::Null => Json::Null,
        other => json!(format!("{other:?}")),
    }
}

/// As multisets: the order of rows is part of the answer only where it decides which are in it.
pub fn compare(found: &Rows, right: &Rows, whose: &str) -> Result<(), String> {
    let mut left: Vec<&Vec<Json>> = right.iter().collect();
    for row in found {
        match left.iter().position(|right| is_same_row(row, right)) {
            Some(at) => left.swap_remove(at),
            None => {
                return Err(format!("{row:?} is not what {whose} says, {left:?}"));
            }
        };
    }
    if left.is_empty() { Ok(()) } else { Err(format!("{left:?} of {whose} are missing")) }
}

fn is_same_row(found: &[Json], right: &[Json]) -> bool {
    found.len() == right.len() && found.iter().zip(right).all(|(found, right)| is_same(found, right))
}

fn is_same(found: &Json, right: &Json) -> bool {
    match (found.as_f64(), right.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()),
        // The sum of nothing is 0 in Cypher and null in SQL.
        (Some(a), None) => a == 0.0 && right.is_null(),
        _ => found == right,
    }
}
