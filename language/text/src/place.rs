//! The line of a text in which something stands.

use crate::Span;
use crate::limits::RENDER_LINE_CHARS_MAX;

/// Line and column of a byte of a text, both from 1, columns in characters. A byte within a character or behind the end counts as the last
/// whole character's end before it.
pub fn line_and_column(text: &str, position: usize) -> (usize, usize) {
    let before = &text[..floor_boundary(text, position)];
    let line_start = before.rfind('\n').map_or(0, |position| position + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// A span seen as a piece of one line. Spans over several lines are cut at the end of their first line.
pub(crate) struct Place {
    line: Vec<char>,
    pub line_number: usize,
    pub column: usize,
    pub width: usize,
}

impl Place {
    pub fn find(text: &str, span: Span) -> Place {
        let start = floor_boundary(text, span.start as usize);
        let end = floor_boundary(text, span.end as usize).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |position| position + 1);
        let (line_number, column) = line_and_column(text, start);
        let line_end = text[start..].find('\n').map_or(text.len(), |position| start + position);
        Place {
            line: text[line_start..line_end].chars().map(printable).collect(),
            line_number,
            column: column - 1,
            width: text[start..end.min(line_end)].chars().count().max(1),
        }
    }

    /// The piece of the line to show and the position of the span in it.
    pub fn window(&self) -> (String, usize) {
        if self.line.len() <= RENDER_LINE_CHARS_MAX {
            return (self.line.iter().collect::<String>().trim_end().to_string(), self.column);
        }
        let from = self.column.saturating_sub(RENDER_LINE_CHARS_MAX / 2);
        let to = (from + RENDER_LINE_CHARS_MAX).min(self.line.len());
        let mut shown: Vec<char> = self.line[from..to].to_vec();
        if from > 0 {
            shown[0] = '…';
        }
        if to < self.line.len() {
            let last = shown.len() - 1;
            shown[last] = '…';
        }
        (shown.into_iter().collect(), self.column - from)
    }
}

/// Tabs and control characters take one column, so that the marks stand under the text.
fn printable(letter: char) -> char {
    if letter.is_control() { ' ' } else { letter }
}

fn floor_boundary(text: &str, position: usize) -> usize {
    let mut position = position.min(text.len());
    while !text.is_char_boundary(position) {
        position -= 1;
    }
    position
}
