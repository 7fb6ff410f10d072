//! Rows as a program reads them: values by the names of columns, with everything about the vertices and edges in them.
//!
//! A value is read with its expected type (`as_str`, `as_int`, …). If it is missing or of another type, the error names the column, its value's type,
//! and the existing columns; so a program needs no `match`. Cost: the names are shared by all rows; vertices and edges are read from the snapshot of
//! the answer.

use crate::entity::{Hydrated, Node, Relationship, hydrate};
use crate::{Error, QueryResult};
use model::{Batch, Value};
use std::sync::Arc;

/// Code of a column that is not there, or holds something else.
const WRONG: &str = "Tanglewood.ClientError.Result.WrongColumn";

/// A row.
///
/// ```
/// use tanglewood_database::{Database, MEMORY, Options, params};
///
/// # fn main() -> Result<(), tanglewood_database::Error> {
/// let database = Database::open(MEMORY, Options::default())?;
/// let mut session = database.session();
/// session.query("CREATE (:Person {name: 'Ada', age: 36})", params! {})?;
/// for row in session.query("MATCH (p:Person) RETURN p, p.name AS name, p.age AS age", params! {})?.records() {
///     let row = row?;
///     assert_eq!((row.as_str("name")?, row.as_int("age")?), ("Ada", 36));
///     let person = row.as_node("p")?;
///     assert!(person.has_label("Person"));
///     assert_eq!(person.get("name").and_then(|name| name.as_str()), Some("Ada"));
///     assert!(row.as_float("name").is_err());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ResultRow {
    columns: Arc<[Arc<str>]>,
    values: Vec<Hydrated>,
}

/// The name of a value's type in messages.
fn kind(value: &Hydrated) -> String {
    match value {
        Hydrated::Plain(value) => format!("{:?}", value.value_type()).to_lowercase(),
        Hydrated::List(_) => "list".into(),
        Hydrated::Map(_) => "map".into(),
        Hydrated::Node(_) => "node".into(),
        Hydrated::Relationship(_) => "relationship".into(),
        Hydrated::Path(..) => "path".into(),
    }
}

impl ResultRow {
    /// Titles of the columns.
    pub fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }
    /// All values, in the order of the columns.
    pub fn values(&self) -> &[Hydrated] {
        &self.values
    }
    /// The values of the row, owned.
    pub fn into_values(self) -> Vec<Hydrated> {
        self.values
    }
    /// The value of a column; the first of that name.
    ///
    /// # Errors
    /// There is no such column.
    pub fn get(&self, column: &str) -> Result<&Hydrated, Error> {
        let at = self.columns.iter().position(|title| **title == *column);
        at.and_then(|at| self.values.get(at)).ok_or_else(|| {
            let titles: Vec<&str> = self.columns.iter().map(|title| &**title).collect();
            Error::new(WRONG, format!("the answer has no column `{column}`"))
                .hint(format!("it has: {}", titles.join(", ")))
        })
    }
    /// Is the value of a column null?
    ///
    /// # Errors
    /// There is no such column.
    pub fn is_null(&self, column: &str) -> Result<bool, Error> {
        Ok(matches!(self.get(column)?, Hydrated::Plain(Value::Null)))
    }
    fn one<'r, T>(
        &'r self,
        column: &str,
        wanted: &str,
        take: impl FnOnce(&'r Hydrated) -> Option<T>,
    ) -> Result<T, Error> {
        let value = self.get(column)?;
        take(value).ok_or_else(|| {
            Error::new(WRONG, format!("the column `{column}` holds a {} here, and no {wanted}", kind(value)))
        })
    }
    fn plain<'r, T>(
        &'r self,
        column: &str,
        wanted: &str,
        take: impl FnOnce(&'r Value) -> Option<T>,
    ) -> Result<T, Error> {
        self.one(column, wanted, |value| match value {
            Hydrated::Plain(value) => take(value),
            _ => None,
        })
    }
    /// A value that is neither a vertex, an edge nor a path, and contains none.
    ///
    /// # Errors
    /// There is no such column, or it holds one.
    pub fn as_value(&self, column: &str) -> Result<&Value, Error> {
        self.plain(column, "plain value", Some)
    }
    /// A text.
    ///
    /// # Errors
    /// There is no such column, or it holds something else.
    pub fn as_str(&self, column: &str) -> Result<&str, Error> {
        self.plain(column, "text", Value::as_str)
    }
    /// A whole number.
    ///
    /// # Errors
    /// There is no such column, or it holds something else.
    pub fn as_int(&self, column: &str) -> Result<i64, Error> {
        self.plain(column, "whole number", Value::as_int)
    }
    /// A number as a float.
    ///
    /// # Errors
    /// There is no such column, or it holds something else.
    pub fn as_float(&self, column: &str) -> Result<f64, Error> {
        self.plain(column, "number", |value| match value {
            Value::Float(float) => Some(*float),
            Value::Int(int) => Some(*int as f64),
            _ => None,
        })
    }
    /// A truth value.
    ///
    /// # Errors
    /// There is no such column, or it holds something else.
    pub fn as_bool(&self, column: &str) -> Result<bool, Error> {
        self.plain(column, "truth value", Value::as_bool)
    }
    /// Bytes.
    ///
    /// # Errors
    /// There is no such column, or it holds something else.
    pub fn as_bytes(&self, column: &str) -> Result<&[u8], Error> {
        self.plain(column, "bytes", |value| match value {
            Value::Bytes(bytes) => Some(&**bytes),
            _ => None,
        })
    }
    /// A list without vertices and edges.
    ///
    /// # Errors
    /// There is no such column, or it holds something else.
    pub fn as_list(&self, column: &str) -> Result<&[Value], Error> {
        self.plain(column, "list of plain values", |value| match value {
            Value::List(list) => Some(list.as_slice()),
            _ => None,
        })
    }
    /// A vertex with its labels and properties.
    ///
    /// # Errors
    /// There is no such column, or it holds something else.
    pub fn as_node(&self, column: &str) -> Result<&Node, Error> {
        self.one(column, "node", |value| match value {
            Hydrated::Node(node) => Some(node),
            _ => None,
        })
    }
    /// An edge with its type and properties.
    ///
    /// # Errors
    /// There is no such column, or it holds something else.
    pub fn as_relationship(&self, column: &str) -> Result<&Relationship, Error> {
        self.one(column, "relationship", |value| match value {
            Hydrated::Relationship(relationship) => Some(relationship),
            _ => None,
        })
    }
    /// The nodes and relationships of a path, in walking order.
    ///
    /// # Errors
    /// There is no such column, or it holds something else.
    pub fn as_path(&self, column: &str) -> Result<(&[Node], &[Relationship]), Error> {
        self.one(column, "path", |value| match value {
            Hydrated::Path(nodes, relationships) => Some((nodes.as_slice(), relationships.as_slice())),
            _ => None,
        })
    }
}

/// The rows of an answer as they come.
pub struct ResultRows {
    result: QueryResult,
    batch: Option<(Batch, usize)>,
    has_ended: bool,
}

impl ResultRows {
    /// The summary of the request; complete once the last row was read.
    pub fn summary(&self) -> &crate::Summary {
        self.result.summary()
    }
    /// The rows of a batch that come next; none at the end. Waits for the first, and for no other.
    pub(crate) fn next_rows(&mut self) -> Result<Vec<ResultRow>, Error> {
        let mut rows = Vec::new();
        while let Some(row) = self.next().transpose()? {
            rows.push(row);
            if self.batch.as_ref().is_none_or(|(batch, next)| *next >= batch.len()) {
                break;
            }
        }
        Ok(rows)
    }
    fn advance(&mut self) -> Result<Option<ResultRow>, Error> {
        loop {
            if let Some((batch, row)) = &mut self.batch
                && *row < batch.len()
            {
                let values = batch.row(*row);
                *row += 1;
                let snapshot = self.result.snapshot();
                let values = values.iter().map(|value| hydrate(value, snapshot)).collect::<Result<_, _>>()?;
                return Ok(Some(ResultRow { columns: self.result.titles(), values }));
            }
            match self.result.next_batch()? {
                Some(batch) => self.batch = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}

impl Iterator for ResultRows {
    type Item = Result<ResultRow, Error>;

    /// An error is the last that comes.
    fn next(&mut self) -> Option<Result<ResultRow, Error>> {
        if self.has_ended {
            return None;
        }
        let next = self.advance().transpose();
        self.has_ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl QueryResult {
    /// The rows as they come, their values by the names of columns.
    pub fn records(self) -> ResultRows {
        ResultRows { result: self, batch: None, has_ended: false }
    }
}
