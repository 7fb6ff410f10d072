//! A result in one of four formats, written as it arrives.
//!
//! `table` for people (its first rows decide the widths), `json` (one array of objects), `jsonl` (one object a line) and `csv` for
//! programs. Cost: one batch of rows in memory, for tables [`table::SAMPLE_ROWS`] rows.

mod csv;
mod rows;
pub mod table;
mod vertical;
mod writer;

use crate::Style;
use crate::talk::StatementAnswer;
use crate::text::{changes_text, counted, time_text};
use crate::{Ink, text};
use database::entity::Hydrated;
use database::{Error, GremlinRows, Summary};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use writer::RowWriter;

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns, with a count of rows and the time below; at a terminal that is too narrow for them, as `Vertical`.
    #[default]
    Table,
    /// One value a line.
    Vertical,
    /// One array of objects.
    Json,
    /// One object a line.
    Jsonl,
    /// Comma separated, quoted as RFC 4180 says; lines end with a line feed.
    Csv,
}

impl Format {
    /// All of them, by name.
    pub const ALL: [(&'static str, Format); 5] = [
        ("table", Format::Table),
        ("vertical", Format::Vertical),
        ("json", Format::Json),
        ("jsonl", Format::Jsonl),
        ("csv", Format::Csv),
    ];
    /// Is it for people, with the number of rows at the end?
    pub fn is_for_people(self) -> bool {
        matches!(self, Format::Table | Format::Vertical)
    }
    /// The format of this name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }
}

/// How a result is to look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The format.
    pub format: Format,
    /// Colours and width of the terminal.
    pub style: Style,
    /// Is the time said below tables?
    pub timing: bool,
}

/// Why a result was not printed to its end.
#[derive(Debug)]
pub enum PrintError {
    /// The query failed while it ran.
    Query(Error),
    /// The output took no more.
    Output(io::Error),
}

impl From<Error> for PrintError {
    fn from(error: Error) -> PrintError {
        PrintError::Query(error)
    }
}

impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> PrintError {
        PrintError::Output(error)
    }
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrintError::Query(error) => error.fmt(f),
            PrintError::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl std::error::Error for PrintError {}

/// Writes a result to its end. Statements without columns write nothing but, in a table, their changes.
///
/// # Errors
/// The query fails while it runs, or the output takes no more.
pub fn print_result(
    result: &mut dyn StatementAnswer,
    look: &Look,
    out: &mut dyn Write,
) -> Result<Summary, PrintError> {
    let columns = result.columns();
    if result.summary().has_plan_only() {
        return Ok(print_plan(&result.summary(), look, out)?);
    }
    let mark_column = columns.iter().position(|column| **column == *"mark");
    let mut writer = writer(look.format, &columns, &look.style);
    let mut count = 0;
    if !columns.is_empty() {
        writer.begin(out)?;
    }
    let mut last_mark = None;
    loop {
        let rows = match result.next_rows() {
            Ok(Some(rows)) => rows,
            Ok(None) => break,
            // Whoever stops what has no end has seen all that was wanted.
            Err(error) if result.is_endless() && error.code.ends_with(INTERRUPTED) => {
                world::files::say(stopped(last_mark.as_ref(), &look.style));
                break;
            }
            Err(error) => return Err(error.into()),
        };
        count += rows.len() as u64;
        if let Some(at) = mark_column.filter(|_| result.is_endless()) {
            last_mark = rows.last().and_then(|row| row.get(at)).cloned().or(last_mark);
        }
        rows.iter().try_for_each(|row| writer.row(row, out))?;
        if result.is_endless() {
            writer.pause(out)?;
        }
        out.flush()?;
    }
    if !columns.is_empty() {
        writer.end(out)?;
    }
    let summary = result.summary();
    // Over a wire the plan of EXPLAIN comes with the end.
    if summary.has_plan_only() {
        return Ok(print_plan(&summary, look, out)?);
    }
    if look.format.is_for_people() {
        let rows = (!columns.is_empty()).then_some(count);
        print_footer(rows, &summary, look, out)?;
    }
    out.flush()?;
    Ok(summary)
}

/// How the codes of errors end by which Ctrl-C ends a query.
pub(crate) const INTERRUPTED: &str = ".Transaction.Terminated";

/// The message when a subscription is stopped.
fn stopped(last_mark: Option<&Hydrated>, style: &Style) -> String {
    let said = match last_mark {
        Some(mark) => {
            let mark = text::cell_text(mark);
            format!("stopped; the last mark was {mark}, and FROM '{mark}' goes on from there")
        }
        None => "stopped before the first mark".into(),
    };
    // The terminal wrote `^C` where the cursor stood.
    let line = if style.width.is_some() { "\n" } else { "" };
    format!("{line}{}", style.paint(Ink::Quiet, &said))
}

/// The one column of a traversal's answer.
const RESULT: &str = "result";

/// Writes the answer of a traversal to its end, each object repeated by its multiplicity, in one column.
///
/// # Errors
/// The traversal fails while it runs, or the output takes no more.
pub fn print_objects(mut rows: GremlinRows, look: &Look, out: &mut dyn Write) -> Result<(), PrintError> {
    let began_ns = world::clock::monotonic_ns();
    let mut writer = writer(look.format, &[RESULT.into()], &look.style);
    let is_silent = rows.is_silent();
    if !is_silent {
        writer.begin(out)?;
    }
    let mut count = 0;
    while let Some(found) = rows.next_objects()? {
        for (object, bulk) in found {
            count += bulk;
            let row = [object];
            for _ in 0..bulk {
                writer.row(&row, out)?;
            }
        }
        out.flush()?;
    }
    if !is_silent {
        writer.end(out)?;
    }
    if look.format.is_for_people() {
        let elapsed = Duration::from_nanos(world::clock::monotonic_ns() - began_ns);
        let time = look.timing.then(|| time_text(elapsed));
        let line: Vec<String> = [if is_silent { "done".into() } else { counted(count, "object", "objects") }]
            .into_iter()
            .chain(time)
            .collect();
        writeln!(out, "{}", look.style.paint(Ink::Quiet, &line.join(" · ")))?;
    }
    Ok(out.flush()?)
}

/// Writes rows that are no result of a query, as a table.
pub(crate) fn print_table(
    columns: &[&str],
    rows: &[Vec<Hydrated>],
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns: Vec<Arc<str>> = columns.iter().map(|column| Arc::from(*column)).collect();
    let mut writer = table::TableWriter::new(&columns, *style);
    writer.begin(out)?;
    for row in rows {
        writer.row(row, out)?;
    }
    writer.end(out)
}

fn writer(format: Format, columns: &[Arc<str>], style: &Style) -> Box<dyn RowWriter> {
    match format {
        Format::Table => Box::new(table::TableWriter::new(columns, *style)),
        Format::Vertical => Box::new(vertical::VerticalWriter::new(columns, *style)),
        Format::Json => Box::new(rows::JsonWriter::new(columns)),
        Format::Jsonl => Box::new(rows::JsonlWriter::new(columns)),
        Format::Csv => Box::new(csv::CsvWriter::new(columns)),
    }
}

/// EXPLAIN: the plan as text, or as the one value of one row named `plan`.
fn print_plan(summary: &Summary, look: &Look, out: &mut dyn Write) -> Result<Summary, io::Error> {
    let plan = summary.plan_text.clone().unwrap_or_default();
    if look.format.is_for_people() {
        writeln!(out, "{}", plan.trim_end())?;
    } else {
        let mut writer = writer(look.format, &["plan".into()], &look.style);
        writer.begin(out)?;
        writer.row(&[Hydrated::Plain(plan.into())], out)?;
        writer.end(out)?;
    }
    out.flush()?;
    Ok(summary.clone())
}

fn print_footer(rows: Option<u64>, summary: &Summary, look: &Look, out: &mut dyn Write) -> io::Result<()> {
    if let Some(plan) = summary.plan_text.as_ref().filter(|_| summary.profiled) {
        writeln!(out, "\n{}", plan.trim_end())?;
    }
    let rows = rows.map(|count| counted(count, "row", "rows"));
    let changes = changes_text(&summary.counters, summary.schema_changes);
    let parts: Vec<String> = rows.into_iter().chain(changes).collect();
    let said = match (&summary.said, parts.is_empty()) {
        (Some(said), _) => said.clone(),
        (None, true) => "no changes".into(),
        (None, false) => parts.join(", "),
    };
    let time = look.timing.then(|| time_text(summary.elapsed));
    let line: Vec<String> = [said].into_iter().chain(time).collect();
    writeln!(out, "{}", look.style.paint(Ink::Quiet, &line.join(" · ")))
}
