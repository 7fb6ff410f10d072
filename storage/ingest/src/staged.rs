//! Facts about rows that were made of a file that is no text in lines: JSON, Parquet, Arrow (see `staging`).

use crate::cell::Kind;
use std::collections::BTreeSet;

/// Columns that a file may have.
pub(crate) const COLUMNS_MAX: usize = 1 << 15;
/// The column that says where a row came from: the line or the number that messages name.
pub(crate) const ORIGIN: &str = ":ORIGIN";

/// Names of columns that hold ids, as flags or a mapping say.
pub(crate) type IdNames = BTreeSet<String>;

/// Facts about a file of rows.
#[derive(Debug)]
pub(crate) struct StagedTable {
    /// The format of the file, in messages.
    pub form: &'static str,
    pub rows: u64,
    /// Is it one object, and nothing says that it is a row of a table?
    pub is_lone: bool,
    /// In order, without the origin.
    pub columns: Vec<StagedColumn>,
}

/// Facts about a column.
#[derive(Clone, Debug)]
pub(crate) struct StagedColumn {
    pub name: String,
    pub kind: Kind,
    /// Rows without a value.
    pub missing: u64,
    /// Why it becomes no property unless a type is given, if so.
    pub refused: Option<String>,
}
