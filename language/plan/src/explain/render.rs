//! The plan as a table: one operator a line, indented below the one that reads it.

use super::{NodeProfile, listed};
use crate::statement::{Statement, StatementKind};

/// A column of the table.
struct Column {
    title: &'static str,
    cells: Vec<String>,
    right: bool,
}

/// The plan of a query as text; empty for other statements.
///
/// `estimates` and `profile` are figures by node number (see [`super::nodes`]); without a profile only estimates are shown.
pub fn render(statement: &Statement, estimates: &[f64], profile: Option<&[NodeProfile]>) -> String {
    let StatementKind::Query { plan, .. } = &statement.kind else { return String::new() };
    let operators = listed(plan, &statement.variables, &statement.physical);
    let name = |node: &super::Node| format!("{}{}", "  ".repeat(node.depth), node.name);
    let estimate =
        |node: &super::Node| estimates.get(node.number).map_or(String::new(), |rows| figure(*rows));
    let column = |title, right, cells| Column { title, cells, right };
    let mut columns = vec![
        column("operator", false, operators.iter().map(name).collect()),
        column("estimated rows", true, operators.iter().map(estimate).collect()),
    ];
    if let Some(profile) = profile {
        let at = |number: usize| profile.get(number).copied().unwrap_or_default();
        let total: u64 = profile.iter().map(|node| node.time_nanos).sum();
        let each = || operators.iter().map(|node| at(node.number));
        columns.push(column("rows", true, each().map(|node| node.rows.to_string()).collect()));
        columns.push(column("time", true, each().map(|node| time(node.time_nanos)).collect()));
        columns.push(column("share", true, each().map(|node| share(node.time_nanos, total)).collect()));
    }
    columns.push(column("details", false, operators.iter().map(|node| node.detail.clone()).collect()));
    table(&columns)
}

fn table(columns: &[Column]) -> String {
    let width = |column: &Column| {
        let cells = column.cells.iter().map(|cell| cell.chars().count());
        cells.chain([column.title.len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().map(width).collect();
    let line = |cell: &dyn Fn(&Column) -> String| {
        let cells = columns.iter().zip(&widths).map(|(column, width)| match column.right {
            true => format!("{:>width$}", cell(column)),
            false => format!("{:<width$}", cell(column)),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    let mut text = line(&|column| column.title.to_string());
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        text += &line(&|column| column.cells[row].clone())
    }
    text
}

/// A row count: whole, or with a digit where it is small.
fn figure(rows: f64) -> String {
    match rows {
        small if small < 9.95 => format!("{small:.1}"),
        large if large < 1e15 => format!("{large:.0}"),
        huge => format!("{huge:.1e}"),
    }
}

fn time(nanos: u64) -> String {
    match nanos {
        0..10_000 => format!("{:.1} µs", nanos as f64 / 1e3),
        10_000..10_000_000 => format!("{:.2} ms", nanos as f64 / 1e6),
        _ => format!("{:.0} ms", nanos as f64 / 1e6),
    }
}

fn share(nanos: u64, total: u64) -> String {
    format!("{:.0} %", 100.0 * nanos as f64 / total.max(1) as f64)
}
