//! One script of Cypher, for this database and others: nodes, relationships, then the statements of the schema.
//!
//! ```text
//! CREATE CONSTRAINT `_exported` FOR (n:`_exported`) REQUIRE n.`_exported` IS UNIQUE;
//! UNWIND [{id: 7, held: {`name`: 'Ada'}}] AS row CREATE (n:`Person`:`_exported`) SET n = row.held SET n.`_exported` = row.id;
//! UNWIND [{from: 7, to: 8, held: {}}] AS row MATCH (a:`_exported` {`_exported`: row.from}) MATCH (b:`_exported` {`_exported`: row.to})
//!     CREATE (a)-[r:`KNOWS`]->(b) SET r = row.held;
//! MATCH (n:`_exported`) CALL (n) { REMOVE n:`_exported`, n.`_exported` } IN TRANSACTIONS OF 10000 ROWS;
//! DROP CONSTRAINT `_exported`;
//! ```
//!
//! While it runs, nodes have a label and a property more by which relationships find them; the graph has no label and no property of that name.
//! Rows that follow each other and have the same labels, or the same type, are one statement, as long as it stays small.

use super::graph::{BETWEEN_STATEMENTS, ExportOptions, ExportReport, Graph, refusal, unwritten};
use crate::ImportError;
use formats::typed;
use model::{KeyId, Value};
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use world::files;

/// The file.
pub(crate) const SCRIPT_FILE: &str = "graph.cypher";
/// Bytes of a statement at most: the language's limit.
const STATEMENT_BYTES_MAX: usize = 4 << 20;
/// Bytes from which on a statement gets no more rows.
const STATEMENT_BYTES: usize = 64 << 10;
/// Rows of a statement.
const STATEMENT_ROWS: usize = 500;
/// The temporary label and key of nodes while the script runs; underscores are put before it until the graph has no such name.
const MARK: &str = "_exported";

/// A name between backticks.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text between quotes.
fn push_text(text: &mut String, value: &str) {
    text.push('\'');
    for letter in value.chars() {
        match letter {
            '\'' | '\\' => text.extend(['\\', letter]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            letter if letter.is_control() => drop(write!(text, "\\u{:04x}", u32::from(letter))),
            letter => text.push(letter),
        }
    }
    text.push('\'');
}

fn push_float(text: &mut String, float: f64) {
    match float {
        _ if float.is_nan() => text.push_str("(0.0/0.0)"),
        f64::INFINITY => text.push_str("(1.0/0.0)"),
        f64::NEG_INFINITY => text.push_str("(-1.0/0.0)"),
        _ => drop(write!(text, "{float:?}")),
    }
}

/// A value as an expression.
fn push_value(text: &mut String, value: &Value) -> Result<(), String> {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(truth) => drop(write!(text, "{truth}")),
        Value::Int(int) => drop(write!(text, "{int}")),
        Value::Float(float) => push_float(text, *float),
        Value::String(held) => push_text(text, held),
        Value::Bytes(_) => return Err("Cypher has no form for bytes; csv, jsonl and parquet have".into()),
        Value::Point(point) => {
            let _ = write!(text, "point({{srid: {}, x: ", point.srid);
            push_float(text, point.x);
            text.push_str(", y: ");
            push_float(text, point.y);
            if let Some(z) = point.z {
                text.push_str(", z: ");
                push_float(text, z);
            }
            text.push_str("})");
        }
        Value::List(list) => {
            text.push('[');
            for (number, one) in list.iter().enumerate() {
                if number > 0 {
                    text.push_str(", ");
                }
                push_value(text, one)?;
            }
            text.push(']');
        }
        Value::Map(map) => {
            text.push('{');
            for (number, (key, one)) in map.iter().enumerate() {
                if number > 0 {
                    text.push_str(", ");
                }
                let _ = write!(text, "{}: ", quoted(key));
                push_value(text, one)?;
            }
            text.push('}');
        }
        Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => return Err("it is a part of the graph".into()),
        temporal => {
            let name = match temporal {
                Value::Date(_) => "date",
                Value::LocalTime(_) => "localtime",
                Value::Time(_) => "time",
                Value::LocalDateTime(_) => "localdatetime",
                Value::DateTime(_) => "datetime",
                _ => "duration",
            };
            let _ = write!(text, "{name}(");
            push_text(text, &typed::temporal_text(temporal)?);
            text.push(')');
        }
    }
    Ok(())
}

/// A script being written.
struct ScriptFile {
    path: PathBuf,
    file: Box<dyn Write + Send>,
    /// The clauses for the rows of the present statement.
    action: String,
    rows: String,
    count: usize,
}

impl ScriptFile {
    fn statement(&mut self, text: &str) -> Result<(), ImportError> {
        let written = self.file.write_all(text.as_bytes());
        let written = written.and_then(|()| self.file.write_all(BETWEEN_STATEMENTS.as_bytes()));
        written.map_err(unwritten(&self.path))
    }
    /// A row, and the clauses for it.
    fn row(&mut self, action: String, row: &str, of: &dyn Fn() -> String) -> Result<(), ImportError> {
        if row.len() + action.len() + STATEMENT_BYTES >= STATEMENT_BYTES_MAX {
            return Err(refusal(format!(
                "{} would be a statement that would have more than {STATEMENT_BYTES_MAX} bytes; csv, jsonl and parquet have room",
                of()
            )));
        }
        if self.action != action || self.rows.len() >= STATEMENT_BYTES || self.count >= STATEMENT_ROWS {
            self.flush()?;
            self.action = action;
        }
        if self.count > 0 {
            self.rows.push_str(", ");
        }
        self.rows.push_str(row);
        self.count += 1;
        Ok(())
    }
    fn flush(&mut self) -> Result<(), ImportError> {
        if self.count == 0 {
            return Ok(());
        }
        let text = format!("UNWIND [{}] AS row {}", self.rows, self.action);
        (self.rows, self.count) = (String::new(), 0);
        self.statement(&text)
    }
}

fn push_held(
    graph: &Graph<'_>,
    row: &mut String,
    held: &[(KeyId, Value)],
    of: &dyn Fn() -> String,
) -> Result<(), ImportError> {
    row.push_str("held: {");
    for (number, (key, value)) in held.iter().enumerate() {
        let name = graph.key_name(*key);
        if number > 0 {
            row.push_str(", ");
        }
        let _ = write!(row, "{}: ", quoted(&name));
        push_value(row, value).map_err(|what| {
            refusal(format!("the property `{name}` of {} cannot be written: {what}", of()))
        })?;
    }
    row.push_str("}}");
    Ok(())
}

pub(super) fn write(graph: &Graph<'_>, options: &ExportOptions) -> Result<ExportReport, ImportError> {
    let path = options.to.join(SCRIPT_FILE);
    let file = files::create_writer(&path)?;
    let mut script = ScriptFile { path, file, action: String::new(), rows: String::new(), count: 0 };
    let catalog = graph.snapshot.catalog();
    let mut mark = MARK.to_string();
    while catalog.label(&mark).is_some() || catalog.key(&mark).is_some() {
        mark.insert(0, '_');
    }
    let mark = quoted(&mark);
    script.statement(&format!("CREATE CONSTRAINT {mark} FOR (n:{mark}) REQUIRE n.{mark} IS UNIQUE"))?;
    let mut report = ExportReport { files: 1, ..ExportReport::default() };
    graph.nodes(|vertex, held| {
        report.vertices += 1;
        let id = vertex.dense();
        let of = || format!("node {id}");
        let mut row = format!("{{id: {id}, ");
        push_held(graph, &mut row, &held, &of)?;
        let labels = graph.labels(graph.snapshot.labels(vertex)?);
        let labels: String = labels.iter().map(|label| format!(":{}", quoted(label))).collect();
        let action = format!("CREATE (n{labels}:{mark}) SET n = row.held SET n.{mark} = row.id");
        script.row(action, &row, &of)
    })?;
    graph.edges(|between, held| {
        report.edges += 1;
        let (from, to) = (between.source.dense(), between.target.dense());
        let of = || format!("the relationship from node {from} to node {to}");
        let mut row = format!("{{from: {from}, to: {to}, ");
        push_held(graph, &mut row, &held, &of)?;
        let name = quoted(&graph.type_name(between.edge_type));
        let find = |end: &str, id: &str| format!("MATCH ({end}:{mark} {{{mark}: row.{id}}})");
        let (a, b) = (find("a", "from"), find("b", "to"));
        script.row(format!("{a} {b} CREATE (a)-[r:{name}]->(b) SET r = row.held"), &row, &of)
    })?;
    script.flush()?;
    script.statement(&format!(
        "MATCH (n:{mark}) CALL (n) {{ REMOVE n:{mark}, n.{mark} }} IN TRANSACTIONS OF 10000 ROWS"
    ))?;
    script.statement(&format!("DROP CONSTRAINT {mark}"))?;
    options.schema.iter().try_for_each(|text| script.statement(text))?;
    script.file.flush().map_err(unwritten(&script.path))?;
    Ok(report)
}
