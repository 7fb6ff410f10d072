//! Tables for people: aligned columns, numbers to the right, cut to the terminal's width.
//!
//! Rows that are wider than the terminal come one value a line instead ([`super::vertical`]): nothing that the first rows hold is cut.
//! The first [`SAMPLE_ROWS`] rows decide the widths; later rows keep to them, so a table of a million rows is written as it
//! arrives. Without a terminal nothing is cut.

use super::vertical::VerticalWriter;
use super::writer::{RowWriter, is_null, one_line};
use crate::{Ink, Style};
use database::Value;
use database::entity::Hydrated;
use std::io::{self, Write};
use std::sync::Arc;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Rows looked at before the widths are decided.
pub const SAMPLE_ROWS: usize = 1_000;
/// A column is not made narrower than this, even if the table then is wider than the terminal.
const COLUMN_WIDTH_MIN: usize = 6;
/// A cell wider than this is padded to it no further, so that one long text does not widen every line.
const COLUMN_WIDTH_MAX: usize = 120;

struct TableCell {
    text: String,
    to_right: bool,
    null: bool,
}

pub(crate) struct TableWriter {
    titles: Vec<String>,
    style: Style,
    sample: Vec<Vec<TableCell>>,
    widths: Option<Vec<usize>>,
    /// Takes over where the rows are wider than the terminal.
    vertical: Option<VerticalWriter>,
}

impl TableWriter {
    pub fn new(columns: &[Arc<str>], style: Style) -> TableWriter {
        let titles = columns.iter().map(|column| column.replace(char::is_control, " ")).collect();
        TableWriter { titles, style, sample: Vec::new(), widths: None, vertical: None }
    }

    /// Decides the widths and writes the buffered rows.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut widths: Vec<usize> = self.titles.iter().map(|title| title.width()).collect();
        for row in &self.sample {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        let bars = (self.titles.len() * 3).saturating_sub(1);
        let is_too_wide = |terminal: usize| widths.iter().sum::<usize>() + bars > terminal;
        if self.style.width.is_some_and(is_too_wide) && !self.sample.is_empty() {
            let titles: Vec<Arc<str>> = self.titles.iter().map(|title| title.as_str().into()).collect();
            let mut vertical = VerticalWriter::new(&titles, self.style);
            let sample = std::mem::take(&mut self.sample);
            sample.iter().try_for_each(|row| write_vertical(&mut vertical, row, out))?;
            self.vertical = Some(vertical);
            return Ok(());
        }
        match self.style.width {
            // Each column has a blank at both sides, and a bar between them.
            Some(terminal) => fit(&mut widths, terminal.saturating_sub(self.titles.len() * 3 - 1)),
            None => widths.iter_mut().for_each(|width| *width = (*width).min(COLUMN_WIDTH_MAX)),
        }
        self.write_head(&widths, out)?;
        for row in std::mem::take(&mut self.sample) {
            self.write_row(&row, &widths, out)?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn write_head(&self, widths: &[usize], out: &mut dyn Write) -> io::Result<()> {
        let bar = self.style.paint(Ink::Quiet, "│");
        let titles = self.titles.iter().zip(widths).map(|(title, width)| {
            let (shown, padding) = self.cut(title, *width);
            format!(" {}{} ", self.style.paint(Ink::Strong, &shown), " ".repeat(padding))
        });
        writeln!(out, "{}", titles.collect::<Vec<_>>().join(&bar).trim_end())?;
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
        writeln!(out, "{}", self.style.paint(Ink::Quiet, &rule.join("┼")))
    }

    fn write_row(&self, row: &[TableCell], widths: &[usize], out: &mut dyn Write) -> io::Result<()> {
        let bar = self.style.paint(Ink::Quiet, "│");
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            if at > 0 {
                line.push_str(&bar);
            }
            let (mut shown, padding) = self.cut(&cell.text, *width);
            if cell.null {
                shown = self.style.paint(Ink::Quiet, &shown);
            }
            let padding = " ".repeat(padding);
            line.push(' ');
            if cell.to_right {
                line.push_str(&padding);
                line.push_str(&shown);
            } else {
                line.push_str(&shown);
                line.push_str(&padding);
            }
            line.push(' ');
        }
        writeln!(out, "{}", line.trim_end())
    }

    /// The text as far as it fits, and the remaining blanks. Without a terminal, longer text is not cut.
    fn cut(&self, text: &str, width: usize) -> (String, usize) {
        let full = text.width();
        if full <= width || self.style.width.is_none() {
            return (text.to_string(), width.saturating_sub(full));
        }
        let (mut shown, mut used) = (String::new(), 0);
        for letter in text.chars() {
            let wide = letter.width().unwrap_or(0);
            if used + wide + 1 > width {
                break;
            }
            used += wide;
            shown.push(letter);
        }
        shown.push('…');
        (shown, width.saturating_sub(used + 1))
    }
}

impl RowWriter for TableWriter {
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Hydrated], out: &mut dyn Write) -> io::Result<()> {
        let cells = row.iter().map(cell).collect::<Vec<_>>();
        if let Some(vertical) = &mut self.vertical {
            return write_vertical(vertical, &cells, out);
        }
        if let Some(widths) = &self.widths {
            return self.write_row(&cells, widths, out);
        }
        self.sample.push(cells);
        if self.sample.len() >= SAMPLE_ROWS { self.settle(out) } else { Ok(()) }
    }
    fn pause(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.widths.is_none() && self.vertical.is_none() { self.settle(out) } else { Ok(()) }
    }
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.pause(out)
    }
}

fn write_vertical(vertical: &mut VerticalWriter, row: &[TableCell], out: &mut dyn Write) -> io::Result<()> {
    vertical.record(row.iter().map(|cell| (cell.text.as_str(), cell.null)), out)
}

fn cell(value: &Hydrated) -> TableCell {
    let to_right = matches!(value, Hydrated::Plain(Value::Int(_) | Value::Float(_)));
    TableCell { text: one_line(value), to_right, null: is_null(value) }
}

/// Takes from the widest columns until they fit together.
fn fit(widths: &mut [usize], available: usize) {
    while widths.iter().sum::<usize>() > available {
        let widest = widths.iter().copied().max().unwrap_or(0);
        if widest <= COLUMN_WIDTH_MIN {
            return;
        }
        let second = widths.iter().copied().filter(|width| *width < widest).max().unwrap_or(0);
        let (count, excess) = (
            widths.iter().filter(|width| **width == widest).count(),
            widths.iter().sum::<usize>() - available,
        );
        let step = excess.div_ceil(count).min(widest - second.max(COLUMN_WIDTH_MIN).min(widest - 1));
        widths.iter_mut().filter(|width| **width == widest).for_each(|width| *width -= step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(titles: &[&str], rows: &[Vec<Value>], width: Option<usize>) -> String {
        let titles: Vec<Arc<str>> = titles.iter().map(|title| Arc::from(*title)).collect();
        let mut writer = TableWriter::new(&titles, Style { width, ..Style::plain() });
        let mut out = Vec::new();
        writer.begin(&mut out).unwrap();
        for row in rows {
            let row: Vec<Hydrated> = row.iter().cloned().map(Hydrated::Plain).collect();
            writer.row(&row, &mut out).unwrap();
        }
        writer.end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_and_cut() {
        let rows = [vec!["Ada\nL".into(), 36i64.into()], vec![Value::Null, 1_234i64.into()]];
        let expected = " name   │ age\n────────┼──────\n Ada\\nL │   36\n null   │ 1234\n";
        assert_eq!(table(&["name", "age"], &rows, None), expected);
        let long = [vec!["a".repeat(300).into(), "b".repeat(300).into(), "日本".into()]];
        let shown = table(&["x", "y", "z"], &long, Some(40));
        assert!(shown.lines().all(|line| line.width() <= 40), "{shown}");
        let letters = |letter: char| shown.matches(letter).count();
        assert_eq!((letters('a'), letters('b'), letters('…')), (300, 300, 0), "nothing is cut: {shown}");
        // What comes later than the first rows keeps to their widths.
        let mut many = vec![vec![Value::Int(1)]; SAMPLE_ROWS];
        many.push(vec!["c".repeat(300).into()]);
        let shown = table(&["x"], &many, Some(40));
        assert!(shown.lines().all(|line| line.width() <= 40) && shown.contains('…'));
        assert!(table(&["x", "y", "z"], &long, None).contains(&"a".repeat(300)));
    }

    #[test]
    fn widths_always_fit_or_are_at_their_least() {
        let mut chance = world::chance::Chance::seeded(7);
        for _ in 0..2_000 {
            let mut widths: Vec<usize> = (0..1 + chance.index(8)).map(|_| 1 + chance.index(200)).collect();
            let before = widths.clone();
            let available = chance.index(150);
            fit(&mut widths, available);
            let at_least = widths.iter().all(|width| *width <= COLUMN_WIDTH_MIN);
            assert!(
                widths.iter().sum::<usize>() <= available || at_least,
                "{before:?} {available} {widths:?}"
            );
            assert!(
                widths.iter().zip(&before).all(|(new, old)| new <= old && *new >= COLUMN_WIDTH_MIN.min(*old))
            );
        }
    }
}
