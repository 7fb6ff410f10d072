//! Our side: imported into a folder, asked in process, then served over Bolt by a process of its own.

use super::{Set, queries};
use crate::ldbc::{COMPLEX, Query};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, ImportOptions, Options, Params, Session, Value};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use world::files::TemporaryFolder;

/// Rounds over all parameter sets before times count.
const WARM_UP_ROUNDS: usize = 3;
/// Rounds that count.
const ROUNDS: usize = 7;

/// Rounds over the complex reads in which planning is measured.
const PLANNING_ROUNDS: usize = 30;
/// Parsing and planning a text that is new.
const PLANNING_MS_MAX: f64 = 0.2;
/// Everything about a statement that is known and does nothing.
const KNOWN_MS_MAX: f64 = 0.01;

/// Rows and time of a query.
pub(crate) struct Figure {
    pub query: Query,
    pub median_ms: f64,
    /// Rows for each parameter set, or why there are none.
    pub rows: Vec<Result<Vec<Vec<Value>>, String>>,
}

/// The graph in a folder that goes when this goes.
pub(crate) struct Imported {
    path: PathBuf,
    _place: TemporaryFolder,
}

/// A server over it, ended when this goes.
pub(crate) struct Serving {
    pub address: String,
    child: Child,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Imported {
    pub fn new(set: &Set) -> Result<Imported, String> {
        let place = TemporaryFolder::inside(&set.network.with_file_name(""), "cypher")
            .map_err(|error| error.to_string())?;
        let path = place.path().join("graph");
        let database = Database::open(&path, Options::default()).map_err(told)?;
        let options = ImportOptions { from: set.network.clone(), ..ImportOptions::default() };
        database.import(&options).map_err(told)?;
        database.close().map_err(told)?;
        Ok(Imported { path, _place: place })
    }

    /// Every query, in process.
    pub fn measure(&self, set: &Set) -> Result<Vec<Figure>, String> {
        let database = Database::open(&self.path, Options::default()).map_err(told)?;
        let mut session = database.session();
        let figures = queries(&set.chosen).map(|query| one(set, query, &mut session)).collect();
        drop(session);
        database.close().map_err(told)?;
        Ok(figures)
    }

    /// How long parsing and planning take: of texts never seen before, and of one that is known. Both figures are upper bounds: the first
    /// writes the plan out as well (EXPLAIN), the second also runs the statement.
    pub fn planning(&self, report: &mut Report) -> Result<(), String> {
        let database = Database::open(&self.path, Options::default()).map_err(told)?;
        let mut session = database.session();
        let mut ask = |text: &str| {
            let (answer, time_ms) =
                timed(|| session.query(text, Params::new()).and_then(|result| result.rows()));
            answer.map(|_| time_ms).map_err(told)
        };
        let (mut new, mut known) = (Samples::default(), Samples::default());
        for round in 0..PLANNING_ROUNDS {
            for query in COMPLEX {
                new.push(ask(&format!("EXPLAIN {} // {round}", query.text.trim_end()))?);
            }
            (0..COMPLEX.len()).try_for_each(|_| ask("RETURN 1").map(|time_ms| known.push(time_ms)))?;
        }
        let target = format!("under {} a query, median", shown_ms(PLANNING_MS_MAX));
        let (new, known) = (new.median_ms(), known.median_ms());
        report.figure("parse and plan a new text", &shown_ms(new), &target, new < PLANNING_MS_MAX);
        let target = format!("under {}", shown_ms(KNOWN_MS_MAX));
        report.figure("a known text, run as well", &shown_ms(known), &target, known < KNOWN_MS_MAX);
        drop(session);
        database.close().map_err(told)
    }

    /// This program as a server; none where it is no such program (a test).
    pub fn serve(&self) -> Option<Serving> {
        let mut command = Command::new(std::env::current_exe().ok()?);
        command.arg("serve").arg(&self.path).args(["--bolt", "127.0.0.1:0"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
        let address = line.trim().strip_prefix("listening on bolt://").unwrap_or_default().to_string();
        Some(Serving { address, child })
    }
}

fn one(set: &Set, query: Query, session: &mut Session) -> Figure {
    let asked = set.asked(query);
    let mut samples = Samples::default();
    let mut rows = Vec::new();
    for round in 0..WARM_UP_ROUNDS + ROUNDS {
        for expected in &asked {
            let params = expected.params.clone();
            let (found, time_ms) =
                timed(|| session.query(query.text, params).and_then(|result| result.rows()));
            if round == 0 {
                rows.push(found.map_err(told));
            } else if round >= WARM_UP_ROUNDS {
                samples.push(time_ms);
            }
        }
    }
    let median_ms = samples.median_ms();
    eprintln!("Tanglewood: {}: {}", query.name, shown_ms(median_ms));
    Figure { query, median_ms, rows }
}

fn told(error: database::Error) -> String {
    format!("{error:?}")
}
