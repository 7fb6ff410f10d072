//! Statements and their answers in one line each, and subscriptions read as they come.

use database::{Database, Error, MEMORY, Options, Params, QueryResult, Session, Value};
use std::path::Path;
use std::time::Duration;
use world::clock::monotonic_ns;

/// The database in this folder, or in memory.
pub(crate) fn open(folder: Option<&Path>, options: Options) -> Result<Database, Error> {
    match folder {
        Some(folder) => Database::open(folder, options),
        None => Database::open(MEMORY, options),
    }
}

/// Carries a statement out.
pub(crate) fn run(session: &mut Session, text: &str, params: Params) -> Result<(), Error> {
    session.query(text, params)?.finish().map(drop)
}

/// All rows of a statement.
pub(crate) fn rows(session: &mut Session, text: &str, params: Params) -> Result<Vec<Vec<Value>>, Error> {
    session.query(text, params)?.rows()
}

/// The only value of a statement, as a number.
pub(crate) fn number(session: &mut Session, text: &str, params: Params) -> Result<i64, Error> {
    let value = session.query(text, params)?.single()?;
    value
        .as_int()
        .ok_or_else(|| Error::new("Application.NotANumber", format!("{text}: {value:?} is no number")))
}

/// A text of a row; empty where it is absent.
pub(crate) fn text(row: &[Value], at: usize) -> String {
    row.get(at).and_then(Value::as_str).unwrap_or_default().to_string()
}

/// Texts of a list.
pub(crate) fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::List(list)) => list.iter().filter_map(|text| text.as_str().map(str::to_string)).collect(),
        _ => Vec::new(),
    }
}

/// A list of texts, as a parameter.
pub(crate) fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> Value {
    Value::list(texts.into_iter().map(Value::string).collect())
}

/// Makes a standing query, if there is none of that name. `names` is a statement that leaves nothing but names: rules and programs may say those of
/// labels and types that the graph has had.
pub(crate) fn keep(session: &mut Session, name: &str, names: &str, text: &str) -> Result<(), Error> {
    let known = rows(
        session,
        "SHOW STANDING QUERIES YIELD name WHERE name = $name",
        database::params! { "name" => name },
    )?;
    if !known.is_empty() {
        return Ok(());
    }
    run(session, names, Params::new())?;
    run(session, text, Params::new())
}

/// The changes of a standing query's answer, as they come.
pub struct Told<T> {
    rows: QueryResult,
    _session: Session,
    /// A change, of how many times the row comes (or goes, where negative), and the row.
    read: fn(i64, &[Value]) -> T,
}

impl<T> Told<T> {
    /// Subscribes; with `with_all`, the current answer comes first.
    pub(crate) fn begin(
        database: &Database,
        name: &str,
        with_all: bool,
        read: fn(i64, &[Value]) -> T,
    ) -> Result<Told<T>, Error> {
        let snapshot = if with_all { " SNAPSHOT" } else { "" };
        let mut session = database.session();
        let rows = session.query(&format!("SUBSCRIBE {name}{snapshot}"), Params::new())?;
        Ok(Told { rows, _session: session, read })
    }
    /// The next changes, of one commit or several; none where nothing changed within this time.
    ///
    /// # Errors
    /// The subscription has ended.
    pub fn next(&mut self, within: Duration) -> Result<Vec<T>, Error> {
        let until_ns = world::clock::after_ns(within);
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            let Some(Some(batch)) = self.rows.next_batch_timeout(left)? else { return Ok(Vec::new()) };
            let found: Vec<T> = (0..batch.len()).filter_map(|row| self.change(&batch.row(row))).collect();
            if !found.is_empty() || left.is_zero() {
                return Ok(found);
            }
        }
    }
    /// A row of the subscription: commit, time, difference, mark, and the query's columns. `None` for a mark.
    fn change(&self, row: &[Value]) -> Option<T> {
        let difference = row.get(2)?.as_int().filter(|difference| *difference != 0)?;
        Some((self.read)(difference, row.get(4..)?))
    }
}
