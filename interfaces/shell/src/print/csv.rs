//! CSV: a header, commas, quotes as RFC 4180 says. Null is an empty field, empty text is `""`; lists, maps and entities are JSON.

use super::writer::RowWriter;
use crate::json::write_json;
use crate::text::cell_text;
use database::Value;
use database::entity::Hydrated;
use std::io::{self, Write};
use std::sync::Arc;

pub(crate) struct CsvWriter {
    columns: Vec<Arc<str>>,
    line: String,
}

impl CsvWriter {
    pub fn new(columns: &[Arc<str>]) -> CsvWriter {
        CsvWriter { columns: columns.to_vec(), line: String::new() }
    }
}

impl RowWriter for CsvWriter {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let fields: Vec<String> = self.columns.iter().map(|column| field(column)).collect();
        writeln!(out, "{}", fields.join(","))
    }
    fn row(&mut self, row: &[Hydrated], out: &mut dyn Write) -> io::Result<()> {
        self.line.clear();
        for (at, value) in row.iter().enumerate() {
            if at > 0 {
                self.line.push(',');
            }
            self.line.push_str(&cell(value));
        }
        self.line.push('\n');
        out.write_all(self.line.as_bytes())
    }
    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn cell(value: &Hydrated) -> String {
    match value {
        Hydrated::Plain(Value::Null) => String::new(),
        Hydrated::Plain(Value::List(_) | Value::Map(_) | Value::Point(_) | Value::Bytes(_)) => json(value),
        Hydrated::Plain(_) => field(&cell_text(value)),
        _ => json(value),
    }
}

fn json(value: &Hydrated) -> String {
    let mut text = String::new();
    write_json(&mut text, value);
    field(&text)
}

fn field(text: &str) -> String {
    let needs_quotes = text.is_empty() || text.contains([',', '"', '\n', '\r']);
    if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_needed() {
        let check = |value: Value, expected: &str| assert_eq!(cell(&Hydrated::Plain(value)), expected);
        check(Value::Null, "");
        check("".into(), "\"\"");
        check("plain text".into(), "plain text");
        check("a,b".into(), "\"a,b\"");
        check("say \"x\"\n".into(), "\"say \"\"x\"\"\n\"");
        check(Value::list(vec![1i64.into(), "a".into()]), "\"[1,\"\"a\"\"]\"");
        check(1.0.into(), "1.0");
    }
}
