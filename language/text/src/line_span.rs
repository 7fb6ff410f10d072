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
pub(crate) struct LineSpan {
    line: Vec<char>,
    pub line_number: usize,
    pub column: usize,
    pub width: usize,
}

impl LineSpan {
    pub fn find(text: &str, span: Span) -> LineSpan {
        let start = floor_boundary(text, span.start as usize);
        let end = floor_boundary(text, span.end as usize).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |position| position + 1);
        let (line_number, column) = line_and_column(text, start);
        let line_end = text[start..].find('\n').map_or(text.len(), |position| start + position);
        LineSpan {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Letter by letter: the line and column of a byte, both from 1.
    fn counted(text: &str, position: usize) -> (usize, usize) {
        let (mut line, mut column) = (1, 1);
        for (at, letter) in text.char_indices() {
            if at + letter.len_utf8() > position {
                break;
            }
            (line, column) = if letter == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        (line, column)
    }

    /// Texts of short and long lines, of letters of one byte and of several.
    fn texts() -> Vec<String> {
        let long: String = (0..3 * RENDER_LINE_CHARS_MAX).map(|at| ['a', 'ö', '林', '🌲'][at % 4]).collect();
        let exact: String = (0..RENDER_LINE_CHARS_MAX).map(|at| ['b', 'é'][at % 2]).collect();
        let short = "one\n\ttwo ä\n\n🌲 three  \n";
        vec![
            String::new(),
            short.into(),
            long.clone(),
            exact.clone(),
            format!("{short}{long}\n{exact}\n{exact}c"),
        ]
    }

    #[test]
    fn places_are_those_that_are_counted_letter_by_letter() {
        for text in texts() {
            for position in 0..text.len() + 3 {
                assert_eq!(
                    line_and_column(&text, position),
                    counted(&text, position),
                    "{position} of {text}"
                );
            }
        }
    }

    /// What is shown of a line is that line, cut around the span where it is long, with a mark for each end that was cut off.
    #[test]
    fn the_piece_that_is_shown_is_of_the_line_and_has_the_span_in_it() {
        let mut cut = [0, 0];
        for text in texts() {
            let lines: Vec<Vec<char>> =
                text.split('\n').map(|line| line.chars().map(printable).collect()).collect();
            for start in (0..=text.len()).filter(|start| text.is_char_boundary(*start)) {
                for end in [start, start + 1, start + 7, text.len()] {
                    let place = LineSpan::find(&text, Span::new(start, end));
                    let (line, column) = counted(&text, start);
                    assert_eq!((place.line_number, place.column), (line, column - 1));
                    let line = &lines[line - 1];
                    let covered = (text.len() >= end && text.is_char_boundary(end))
                        .then(|| text[start..end].split('\n').next());
                    if let Some(Some(covered)) = covered {
                        assert_eq!(place.width, covered.chars().count().max(1), "{start}..{end} of {text}");
                    }
                    let (shown, offset) = place.window();
                    let shown: Vec<char> = shown.chars().collect();
                    if line.len() <= RENDER_LINE_CHARS_MAX {
                        assert_eq!(
                            shown,
                            line.iter().collect::<String>().trim_end().chars().collect::<Vec<_>>()
                        );
                        assert_eq!(offset, place.column);
                        continue;
                    }
                    let from = place.column - offset;
                    assert_eq!(from, place.column.saturating_sub(RENDER_LINE_CHARS_MAX / 2));
                    let to = from + shown.len();
                    assert!(shown.len() == RENDER_LINE_CHARS_MAX || to == line.len(), "{start} of {text}");
                    let ends = (from > 0, to < line.len());
                    assert_eq!(ends, (shown[0] == '…', shown[shown.len() - 1] == '…'), "{start} of {text}");
                    let kept = usize::from(ends.0)..shown.len() - usize::from(ends.1);
                    assert_eq!(
                        shown[kept.clone()],
                        line[from + kept.start..from + kept.end],
                        "{start} of {text}"
                    );
                    (cut[0], cut[1]) = (cut[0] + u32::from(ends.0), cut[1] + u32::from(ends.1));
                }
            }
        }
        assert!(cut.iter().all(|cut| *cut > 100), "{cut:?} lines were cut in front and behind");
    }
}
