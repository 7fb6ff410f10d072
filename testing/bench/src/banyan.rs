//! `bench banyan`: the effects of scopes, their policies and the isolation of tenants, after the evaluation of "Banyan: a scoped dataflow engine for
//! graph query service" (section 5), on social networks.
//!
//! CQ1 to CQ6 are the queries of its appendix, in Cypher; every answer is compared with a reference computed here from the plain tables. Each figure
//! is a ratio of two measurements that alternate in one run, so that other load on the machine affects both.

mod calls;
mod instances;
mod isolation;
mod load;
mod peer;
mod rebalance;
pub(crate) mod reference;
mod scopes;

use crate::data;
use crate::report::Report;
use crate::timing::timed;
use database::{Database, ImportOptions, Options, Params, Session, Value, params};
use reference::Reference;
use std::path::Path;

/// The packed social networks.
const SETS: [&str; 2] = ["snb-like-sf0.1", "snb-like-sf0.3"];
/// Parts that can be named alone.
const PARTS: [&str; 10] =
    ["E1", "E2a", "E2b", "E2c", "E3", "E4", "tenants", "calls", "rebalance", "instances"];
/// Persons for each query.
const PERSONS: usize = 10;
/// Rows wanted where the paper does not say.
pub(crate) const WANTED: i64 = 10;

/// A query of the appendix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    pub name: &'static str,
    pub text: &'static str,
}

pub(crate) const QUERIES: [Query; 6] = [
    Query { name: "CQ1", text: include_str!("../queries/banyan/cq1.cypher") },
    Query { name: "CQ2", text: include_str!("../queries/banyan/cq2.cypher") },
    Query { name: "CQ3", text: include_str!("../queries/banyan/cq3.cypher") },
    Query { name: "CQ4", text: include_str!("../queries/banyan/cq4.cypher") },
    Query { name: "CQ5", text: include_str!("../queries/banyan/cq5.cypher") },
    Query { name: "CQ6", text: include_str!("../queries/banyan/cq6.cypher") },
];

/// A set under test.
pub(crate) struct Graph {
    pub database: Database,
    pub reference: Reference,
    pub network: std::path::PathBuf,
    /// Whom the queries are about: some with few friends, some with many.
    pub persons: Vec<i64>,
}

/// The parts that were chosen, on each set.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let Some(folder) = data else {
        report.skipped("everything", "no folder of data sets was given");
        return Ok(());
    };
    let (sets, parts) = (report.choice.among(&SETS), report.choice.among(&PARTS));
    for name in sets {
        report.section(&format!("scopes and isolation, {name}"));
        let graph = Graph::open(folder, name)?;
        for part in &parts {
            match *part {
                "E1" => peer::run(&graph, report)?,
                "E2a" => scopes::on_and_off(&graph, report)?,
                "E2b" => scopes::policies(&graph, report)?,
                "E2c" => scopes::overhead(&graph, report)?,
                "E3" => load::run(&graph, report)?,
                "E4" => isolation::foreground(&graph, report)?,
                "tenants" => isolation::tenants(&graph, report)?,
                "rebalance" => rebalance::run(&graph, report)?,
                "instances" => instances::run(report)?,
                _ => calls::run(&graph, report),
            }
        }
    }
    Ok(())
}

impl Graph {
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Graph, String> {
        let (unpacked, _) = data::unpacked(folder, name)?;
        let network =
            data::find_folder(&unpacked, "social_network").ok_or("the archive holds no social_network")?;
        let database = Database::open(database::MEMORY, Options::default()).map_err(told)?;
        let options = ImportOptions { from: network.clone(), ..ImportOptions::default() };
        database.import(&options).map_err(told)?;
        let reference = Reference::read(&mut database.session())?;
        let persons = reference.persons(PERSONS);
        Ok(Graph { database, reference, network, persons })
    }
}

/// All rows of a query about a person.
pub(crate) fn ask(session: &mut Session, text: &str, person: i64, wanted: i64) -> Result<Vec<i64>, String> {
    let params = params! { "personId" => person, "n" => wanted };
    numbers(session, text, params)
}

/// The first column, which holds whole numbers.
pub(crate) fn numbers(session: &mut Session, text: &str, params: Params) -> Result<Vec<i64>, String> {
    let rows = session.query(text, params).and_then(|result| result.rows()).map_err(told)?;
    rows.iter().map(|row| row[0].as_int().ok_or_else(|| "a row without a number".to_string())).collect()
}

/// Likewise, with the time in milliseconds.
pub(crate) fn timed_ask(
    session: &mut Session,
    text: &str,
    person: i64,
    wanted: i64,
) -> Result<(Vec<i64>, f64), String> {
    let (rows, time_ms) = timed(|| ask(session, text, person, wanted));
    Ok((rows?, time_ms))
}

pub(crate) fn told(error: database::Error) -> String {
    error.to_string()
}

/// A value as a whole number.
pub(crate) fn whole(value: &Value) -> Result<i64, String> {
    value.as_int().ok_or_else(|| "no whole number where one belongs".to_string())
}
