//! The detected meaning of ordinary files, as shown before it is used.

use std::fmt;
use std::path::PathBuf;

/// A file as it was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood {
    /// The file.
    pub file: PathBuf,
    /// The kind of its rows: `nodes :Person`.
    pub what: String,
    /// The separator of its fields.
    pub delimiter: u8,
    /// How its text is encoded.
    pub encoding: &'static str,
    /// Does its first line name the columns?
    pub has_header: bool,
    /// Is it a file of text, or of one that says its types itself? That is named in place of the encoding.
    pub is_text: bool,
    /// Rows it has, the header left out.
    pub rows: u64,
    /// Its columns, in order.
    pub columns: Vec<UnderstoodColumn>,
}

/// A column as it was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderstoodColumn {
    /// Its name.
    pub name: String,
    /// The property that it becomes, where that is called otherwise.
    pub property: Option<String>,
    /// Its role, where it is no property.
    pub role: Option<&'static str>,
    /// The type of its values, as typed headers write it; empty where it is left out.
    pub type_name: String,
    /// Rows without a value.
    pub missing: u64,
    /// A word that stands for no value, if one is met.
    pub word: Option<String>,
    /// Rows of the file.
    rows: u64,
}

impl UnderstoodColumn {
    pub(crate) fn new(name: &str, rows: u64, missing: u64, word: Option<&str>) -> UnderstoodColumn {
        let (property, role, type_name) = (None, None, String::new());
        let word = word.map(str::to_string);
        UnderstoodColumn { name: name.to_string(), property, role, type_name, missing, word, rows }
    }
}

/// A delimiter as a message names it.
fn delimiter_text(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "tabs".into(),
        b' ' => "blanks".into(),
        other => format!("`{}`", char::from(other)),
    }
}

impl fmt::Display for Understood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, what, rows) = (self.file.display(), &self.what, self.rows);
        let delimiter = delimiter_text(self.delimiter);
        match self.is_text {
            true => write!(f, "{file}: {what}, {rows} rows, separated by {delimiter}, {}", self.encoding)?,
            false => write!(f, "{file}: {what}, {rows} rows, {}", self.encoding)?,
        }
        f.write_str(if self.has_header { "" } else { ", no header" })?;
        let width = self.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
        for column in &self.columns {
            write!(f, "\n  {:width$}  {}", column.name, column.type_name)?;
            if let Some(role) = column.role {
                write!(f, "{}{role}", if column.type_name.is_empty() { "" } else { ", " })?;
            }
            if let Some(property) = &column.property {
                write!(f, ", becomes `{property}`")?;
            }
            match (&column.word, column.missing) {
                (_, 0) => {}
                (Some(word), missing) => write!(f, ", {missing} of {} null (`{word}`)", column.rows)?,
                (None, missing) => write!(f, ", {missing} of {} null", column.rows)?,
            }
        }
        Ok(())
    }
}
