//! Rows for people where a table would be too wide: one value a line, its column's name before it.
//!
//! Nothing is cut: at a terminal, text longer than a line continues in the next one, below where it began.

use super::writer::{RowWriter, is_null, one_line};
use crate::{Ink, Style};
use database::entity::Hydrated;
use std::io::{self, Write};
use std::sync::Arc;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A value gets at least this many columns of a line, however long the names are.
const VALUE_WIDTH_MIN: usize = 10;
/// Columns of the rule above a row where there is no terminal.
const RULE_WIDTH: usize = 40;

pub(crate) struct VerticalWriter {
    titles: Vec<String>,
    style: Style,
    rows: u64,
}

impl VerticalWriter {
    pub fn new(columns: &[Arc<str>], style: Style) -> VerticalWriter {
        let titles = columns.iter().map(|column| column.replace(char::is_control, " ")).collect();
        VerticalWriter { titles, style, rows: 0 }
    }

    /// Writes a row whose values are texts already; which of them are null.
    pub fn record<'t>(
        &mut self,
        values: impl Iterator<Item = (&'t str, bool)>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.rows += 1;
        let head = format!("── {} ", self.rows);
        let rule = self.style.width.unwrap_or(RULE_WIDTH).saturating_sub(head.width());
        writeln!(out, "{}", self.style.paint(Ink::Quiet, &format!("{head}{}", "─".repeat(rule))))?;
        let name_width = self.titles.iter().map(|title| title.width()).max().unwrap_or(0);
        let room = self.style.width.map(|width| width.saturating_sub(name_width + 4).max(VALUE_WIDTH_MIN));
        let bar = self.style.paint(Ink::Quiet, "│");
        for (title, (value, null)) in self.titles.iter().zip(values) {
            let mut name = self.style.paint(Ink::Strong, title);
            name.push_str(&" ".repeat(name_width - title.width()));
            for line in wrapped(value, room) {
                let shown = if null { self.style.paint(Ink::Quiet, line) } else { line.to_string() };
                writeln!(out, "{}", format!(" {name} {bar} {shown}").trim_end())?;
                name = " ".repeat(name_width);
            }
        }
        Ok(())
    }
}

/// The text in pieces that are no wider than this; one piece at least.
fn wrapped(text: &str, width: Option<usize>) -> Vec<&str> {
    let Some(width) = width else { return vec![text] };
    let (mut pieces, mut start, mut used) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        let wide = letter.width().unwrap_or(0);
        if used + wide > width && at > start {
            pieces.push(&text[start..at]);
            (start, used) = (at, 0);
        }
        used += wide;
    }
    pieces.push(&text[start..]);
    pieces
}

impl RowWriter for VerticalWriter {
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Hydrated], out: &mut dyn Write) -> io::Result<()> {
        let texts: Vec<(String, bool)> = row.iter().map(|value| (one_line(value), is_null(value))).collect();
        self.record(texts.iter().map(|(text, null)| (text.as_str(), *null)), out)
    }
    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::Value;

    #[test]
    fn every_value_has_a_line_and_long_ones_go_on_below() {
        let titles: Vec<Arc<str>> = ["name", "n"].map(Arc::from).to_vec();
        let mut writer = VerticalWriter::new(&titles, Style { width: Some(20), ..Style::plain() });
        let mut out = Vec::new();
        writer.row(&[Value::Null, "abcdefghijklmnopqr日本".into()].map(Hydrated::Plain), &mut out).unwrap();
        let expected = "── 1 ───────────────\n name │ null\n n    │ abcdefghijkl\n      │ mnopqr日本\n";
        let shown = String::from_utf8(out).unwrap();
        assert_eq!(shown.replace('"', ""), expected, "{shown}");
        assert_eq!(wrapped("", Some(5)), [""]);
        assert_eq!(wrapped("日本", Some(1)), ["日", "本"], "what is wider than a line has one of its own");
    }
}
