//! Rows of files that are no text in lines (JSON, Parquet, Arrow), written as a file of CSV whose columns and types are known.
//!
//! So mapping, ids and loading know one form of rows. The first field of a row is the line or the number that messages name (`:ORIGIN`). Cost: each
//! row is written once and read once more.

use crate::ImportError;
use crate::cell::{self, Kind};
use crate::export::tables::{self, ColumnKind, RowFile};
use crate::source::InputFile;
use crate::staged::{COLUMNS_MAX, IdNames, ORIGIN, StagedColumn, StagedTable};
#[cfg(feature = "columnar")]
use formats::typed;
use model::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Floats up to here are whole numbers exactly.
const EXACT_MAX: f64 = (1u64 << 53) as f64;

/// A column of a file that says its types itself.
#[derive(Clone, Debug)]
pub(crate) struct RowColumn {
    pub name: String,
    pub kind: ColumnKind,
    /// Why it becomes no property unless a type is given, if so.
    pub refused: Option<String>,
}

impl RowColumn {
    pub fn new(name: String, kind: ColumnKind) -> RowColumn {
        RowColumn { name, kind, refused: None }
    }
    /// As a typed header names it; where the name says no type, the file's holds.
    fn header(&self) -> String {
        match self.name.contains(':') {
            true => self.name.clone(),
            false => tables::typed_name(&self.name, self.kind),
        }
    }
    fn staged(self) -> StagedColumn {
        let kind = cell::kind_named(self.kind.name(), b';').unwrap_or(Kind::Text);
        StagedColumn { name: self.name, kind, missing: 0, refused: self.refused }
    }
}

/// Does the name read as that of a typed header, such as an export writes it?
fn is_structural(name: &str) -> bool {
    [":ID", ":START_ID", ":END_ID"].iter().any(|structural| name.starts_with(structural))
}

/// The whole number that an id is which was made a float: columns with nulls often were.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Float(float) if float.fract() == 0.0 && float.abs() <= EXACT_MAX => Some(*float as i64),
        _ => None,
    }
}

/// Rows being written.
pub(crate) struct StagedRows {
    rows: RowFile,
    path: PathBuf,
    staged: StagedTable,
    kinds: Vec<ColumnKind>,
    /// Of each column: does it hold ids?
    are_ids: Vec<bool>,
    has_headers: bool,
}

impl StagedRows {
    /// Begins a file of these columns in a folder of its own.
    pub fn create(
        file: &InputFile,
        form: &'static str,
        folder: &Path,
        columns: Vec<RowColumn>,
        ids: &IdNames,
    ) -> Result<StagedRows, ImportError> {
        if columns.len() > COLUMNS_MAX {
            let what = format!("it has {} columns, and {COLUMNS_MAX} can be read", columns.len());
            return Err(ImportError::Columns { path: file.shown.clone(), what });
        }
        let path = folder.join("rows.csv");
        let has_headers = columns.iter().any(|column| is_structural(&column.name));
        let mut header = vec![ORIGIN.to_string()];
        if has_headers {
            header.extend(columns.iter().map(RowColumn::header));
        }
        let rows = RowFile::create(path.clone(), &header, &[])?;
        let are_ids = columns.iter().map(|column| ids.contains(&column.name)).collect();
        let kinds = columns.iter().map(|column| column.kind).collect();
        let columns = columns.into_iter().map(RowColumn::staged).collect();
        let staged = StagedTable { form, rows: 0, columns, is_lone: false };
        Ok(StagedRows { rows, path, staged, kinds, are_ids, has_headers })
    }
    /// Writes a row: a value or nothing for each column.
    pub fn row(
        &mut self,
        file: &InputFile,
        origin: u64,
        values: &[Option<Value>],
    ) -> Result<(), ImportError> {
        debug_assert_eq!(values.len(), self.staged.columns.len());
        self.staged.rows += 1;
        self.rows.field(&origin.to_string());
        for (at, (column, value)) in self.staged.columns.iter_mut().zip(values).enumerate() {
            column.missing += u64::from(value.is_none());
            if self.are_ids[at]
                && let Some(int) = value.as_ref().and_then(whole)
            {
                self.rows.field(&int.to_string());
                continue;
            }
            // A typed header says the form of its fields itself.
            let kind = if self.has_headers {
                value.as_ref().map_or(self.kinds[at], ColumnKind::of)
            } else {
                self.kinds[at]
            };
            self.rows.value(value.as_ref(), kind).map_err(|what| {
                let what = format!("column `{}`: {what}", column.name);
                file.malformed(origin, what)
            })?;
        }
        self.rows.end().map_err(|error| match error {
            ImportError::Export { .. } => {
                let what = "the row has more than 16 MiB".to_string();
                file.malformed(origin, what)
            }
            other => other,
        })
    }
    /// Nothing but one object says that the file holds rows; so it may hold something else, such as settings.
    pub fn may_be_no_table(&mut self, is_object: bool) {
        self.staged.is_lone = is_object && self.staged.rows == 1;
    }
    /// Rows so far.
    #[cfg(feature = "columnar")]
    pub fn count(&self) -> u64 {
        self.staged.rows
    }
    /// The file, to be read in place of the other.
    pub fn finish(self, file: &InputFile) -> Result<InputFile, ImportError> {
        self.rows.finish()?;
        let mut made = InputFile::new(self.path, file.shown.clone())?;
        if !self.has_headers {
            made.staged = Some(Arc::new(self.staged));
        }
        Ok(made)
    }
}

/// A list as a property holds it: values of one simple type; none where it is another.
pub(crate) fn simple_list(mut items: Vec<Value>) -> Option<Value> {
    let is_number = |value: &Value| matches!(value, Value::Int(_) | Value::Float(_));
    let same = |value: &Value| {
        std::mem::discriminant(value) == std::mem::discriminant(&items[0])
            || is_number(value) && is_number(&items[0])
    };
    let is_simple = |value: &Value| !matches!(value, Value::Null | Value::List(_) | Value::Map(_));
    if !items.iter().all(|value| is_simple(value) && same(value)) {
        return None;
    }
    if items.iter().any(|value| matches!(value, Value::Float(_))) {
        for item in &mut items {
            if let Value::Int(int) = item {
                *item = Value::Float(*int as f64);
            }
        }
    }
    Value::try_list(items).ok()
}

/// A value that is no property, as a text of JSON.
#[cfg(feature = "columnar")]
pub(crate) fn as_text(value: &Value) -> Result<String, String> {
    Ok(plain_json(&typed::to_json(value, 0)?).to_string())
}

/// JSON as other programs write it: `{"$date": "2024-02-29"}` is its text, `{"$map": …}` the map.
#[cfg(feature = "columnar")]
fn plain_json(json: &serde_json::Value) -> serde_json::Value {
    match json {
        serde_json::Value::Array(items) => items.iter().map(plain_json).collect(),
        serde_json::Value::Object(map) => match map.iter().next() {
            Some((name, held)) if map.len() == 1 && name == "$map" => match held {
                serde_json::Value::Object(entries) => {
                    entries.iter().map(|(name, value)| (name.clone(), plain_json(value))).collect()
                }
                other => other.clone(),
            },
            Some((name, held)) if map.len() == 1 && name.starts_with('$') => held.clone(),
            _ => json.clone(),
        },
        other => other.clone(),
    }
}
