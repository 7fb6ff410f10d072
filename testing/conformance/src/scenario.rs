//! One scenario, run step by step against a database of its own.
//!
//! Errors are compared by class: where the suite wants one, any client error will do, since details are not part of what clients
//! see. After an expected error the graph must be as it was.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::effects::{self, Picture};
use crate::gherkin::{Scenario, Step};
use crate::notation;
use crate::shape::{self, Shape};
use database::{Database, Error, ErrorClass, Limits, Params, Session};

/// Longest time that one query of a scenario may run.
const QUERY_TIME_MAX: Duration = Duration::from_secs(20);

/// How a scenario came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Passed,
    /// Otherwise, and how.
    Failed(String),
    /// It needs something outside of the language, such as a procedure defined by the test.
    Skipped(String),
}

/// Why a step ended the scenario.
enum End {
    Failed(String),
    Skipped(String),
}

type Done<T> = Result<T, End>;

fn failed<T>(why: impl Into<String>) -> Done<T> {
    Err(End::Failed(why.into()))
}

/// Runs a scenario in an empty database.
pub fn run(scenario: &Scenario, database: &Database) -> Outcome {
    match Run::new(database).all(scenario) {
        Ok(()) => Outcome::Passed,
        Err(End::Failed(why)) => Outcome::Failed(why),
        Err(End::Skipped(why)) => Outcome::Skipped(why),
    }
}

/// The answer of a query.
struct Answer {
    columns: Vec<String>,
    rows: Vec<Vec<Shape>>,
}

struct Run {
    session: Session,
    params: Params,
    answer: Option<Result<Answer, Error>>,
    before: Picture,
    after: Picture,
}

impl Run {
    fn new(database: &Database) -> Run {
        let mut session = database.session();
        session.set_limits(Limits { timeout: Some(QUERY_TIME_MAX), bytes_max: None });
        Run {
            session,
            params: Params::new(),
            answer: None,
            before: Picture::default(),
            after: Picture::default(),
        }
    }

    fn all(&mut self, scenario: &Scenario) -> Done<()> {
        if scenario.tags.iter().any(|tag| tag == "@ignore") {
            return Err(End::Skipped("the suite ignores it".into()));
        }
        for step in &scenario.steps {
            self.step(step)?;
        }
        self.no_error_is_left()
    }

    fn step(&mut self, step: &Step) -> Done<()> {
        let text = step.text.as_str();
        match text {
            "any graph" | "an empty graph" => Ok(()),
            "having executed" => {
                let query = document(step)?;
                self.session
                    .query(query, Params::new())
                    .and_then(database::QueryResult::finish)
                    .map(|_| ())
                    .or_else(|error| {
                        failed(format!("preparing the graph: {}: {}", error.code, error.message))
                    })
            }
            "parameters are" => self.parameters(step),
            "executing query" | "executing control query" => self.execute(document(step)?),
            "the result should be empty" => {
                let answer = self.answer()?;
                if answer.rows.is_empty() {
                    Ok(())
                } else {
                    failed(format!("rows were found: {:?}", answer.rows))
                }
            }
            "no side effects" => self.compare_effects(&BTreeMap::new()),
            "the side effects should be" => {
                let row = |cells: &Vec<String>| Some((cells.first()?.clone(), cells.get(1)?.parse().ok()?));
                let wanted: BTreeMap<String, usize> = step.table.iter().filter_map(row).collect();
                self.compare_effects(&wanted.into_iter().filter(|(_, count)| *count > 0).collect())
            }
            _ if text.starts_with("the result should be") => self.compare(step),
            _ if text.contains(" should be raised at ") => self.compare_error(text),
            _ => Err(End::Skipped(format!("step: {text}"))),
        }
    }

    fn parameters(&mut self, step: &Step) -> Done<()> {
        for cells in &step.table {
            let [name, value] = cells.as_slice() else { return failed("a parameter has a name and a value") };
            let value = notation::value(value).and_then(|shape| notation::parameter(&shape));
            self.params.insert(name.as_str().into(), value.or_else(failed)?);
        }
        Ok(())
    }

    fn execute(&mut self, query: &str) -> Done<()> {
        self.no_error_is_left()?;
        let look = |session: &mut Session| effects::picture(session).or_else(|error| failed(error.message));
        self.before = look(&mut self.session)?;
        self.answer = Some(ask(&mut self.session, query, self.params.clone()));
        self.after = look(&mut self.session)?;
        Ok(())
    }

    fn no_error_is_left(&self) -> Done<()> {
        match &self.answer {
            Some(Err(error)) => failed(format!("unexpected error {}: {error}", error.code)),
            _ => Ok(()),
        }
    }

    fn answer(&self) -> Done<&Answer> {
        self.no_error_is_left()?;
        match &self.answer {
            Some(Ok(answer)) => Ok(answer),
            _ => failed("nothing was executed"),
        }
    }

    fn compare(&self, step: &Step) -> Done<()> {
        let answer = self.answer()?;
        let in_order = step.text.contains("in order");
        let any_list_order = step.text.contains("ignoring element order");
        let Some((titles, rows)) = step.table.split_first() else { return failed("a table is wanted") };
        if *titles != answer.columns {
            return failed(format!("columns {:?}, wanted {titles:?}", answer.columns));
        }
        let read = |cells: &Vec<String>| {
            cells.iter().map(|cell| notation::value(cell)).collect::<Result<Vec<_>, _>>()
        };
        let mut wanted = rows.iter().map(read).collect::<Result<Vec<_>, _>>().or_else(failed)?;
        let mut found = answer.rows.clone();
        if any_list_order {
            for row in wanted.iter_mut().chain(&mut found) {
                row.iter_mut()
                    .for_each(|value| *value = std::mem::replace(value, Shape::Null).with_sorted_lists());
            }
        }
        if !in_order {
            wanted.sort();
            found.sort();
        }
        if wanted == found {
            return Ok(());
        }
        let [extra, missing] = [difference(&found, &wanted), difference(&wanted, &found)];
        failed(format!("{} rows, wanted {}; extra {extra}; missing {missing}", found.len(), wanted.len()))
    }

    fn compare_error(&mut self, text: &str) -> Done<()> {
        match self.answer.take() {
            Some(Err(error)) if error.class() == ErrorClass::Client => self
                .compare_effects(&BTreeMap::new())
                .or_else(|_| failed("the failed query changed the graph")),
            Some(Err(error)) => failed(format!("{text}, not {}: {error}", error.code)),
            Some(Ok(answer)) => failed(format!("{text}, not {} rows", answer.rows.len())),
            None => failed("nothing was executed"),
        }
    }

    fn compare_effects(&self, wanted: &BTreeMap<String, usize>) -> Done<()> {
        self.no_error_is_left()?;
        let found = self.before.changes(&self.after);
        if found == *wanted { Ok(()) } else { failed(format!("side effects {found:?}, wanted {wanted:?}")) }
    }
}

fn document(step: &Step) -> Done<&str> {
    match &step.document {
        Some(document) => Ok(document),
        None => failed(format!("`{}` has no query", step.text)),
    }
}

fn ask(session: &mut Session, query: &str, params: Params) -> Result<Answer, Error> {
    let mut result = session.query(query, params)?;
    let columns = result.columns().iter().map(|title| title.to_string()).collect();
    let mut rows = Vec::new();
    while let Some(batch) = result.next_batch()? {
        for row in 0..batch.len() {
            rows.push(
                batch.row(row).iter().map(|value| shape::of(value, &result)).collect::<Result<_, _>>()?,
            );
        }
    }
    Ok(Answer { columns, rows })
}

/// Rows of one table that the other has not, the first few of them.
fn difference(rows: &[Vec<Shape>], others: &[Vec<Shape>]) -> String {
    let mut left = others.to_vec();
    let mut only = Vec::new();
    for row in rows {
        match left.iter().position(|other| other == row) {
            Some(at) => drop(left.swap_remove(at)),
            None => only.push(row),
        }
    }
    only.truncate(3);
    format!("{only:?}")
}
