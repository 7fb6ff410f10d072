//! Progress of a running query, by operator.

use crate::Database;
use execute::QueryId;
use model::Value;

/// Counters of one operator of a running query, summed over all executors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorProgress {
    /// Its name.
    pub name: String,
    /// Rows that it passed on.
    pub rows: u64,
    /// Batches that wait for it now.
    pub waiting: u64,
    /// Processor time it used.
    pub cpu_us: u64,
    /// The longest time that it ran on an executor without returning, in microseconds.
    pub longest_us: u64,
    /// Bytes it holds.
    pub bytes: u64,
    /// Has it had and answered all its input?
    pub is_complete: bool,
}

impl Database {
    /// How far a running query has come, by its id as [`Database::running`] gives it; nothing where none of that id runs.
    pub fn progress(&self, id: &str) -> Vec<OperatorProgress> {
        let number = id.strip_prefix("query-").unwrap_or(id).parse();
        let found = number.ok().and_then(|number| self.runtime().progress(QueryId(number)));
        let vertices = found.map(|found| found.vertices).unwrap_or_default();
        let shown = vertices.into_iter().map(|vertex| OperatorProgress {
            name: vertex.name,
            rows: vertex.rows_out,
            waiting: vertex.queued,
            cpu_us: vertex.cpu_ns / 1_000,
            longest_us: vertex.longest_ns / 1_000,
            bytes: vertex.bytes_held,
            is_complete: vertex.is_complete,
        });
        shown.collect()
    }
}

/// As a value: a list with a map for each operator.
pub(crate) fn value(database: &Database, id: &str) -> Value {
    let whole = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    let operator = |found: OperatorProgress| {
        Value::map([
            ("operator", found.name.into()),
            ("rows", whole(found.rows)),
            ("waiting", whole(found.waiting)),
            ("cpuMicros", whole(found.cpu_us)),
            ("longestMicros", whole(found.longest_us)),
            ("bytes", whole(found.bytes)),
            ("complete", found.is_complete.into()),
        ])
    };
    Value::list(database.progress(id).into_iter().map(operator).collect())
}
