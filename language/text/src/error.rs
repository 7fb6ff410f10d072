//! Errors in a text, for three readers: a kind for callers, a stable code for drivers, and for people a message with the position underlined and a
//! hint.

use crate::Span;
use crate::line_span::LineSpan;
use std::fmt::{self, Write};

/// A language's kinds of mistakes.
pub trait Coded: Copy {
    /// The text is not of the language.
    const SYNTAX: Self;
    /// The stable code that drivers and users know, in the manner of Neo4j: `Neo.ClientError.Statement.SyntaxError`.
    fn code(self) -> &'static str;
}

/// An error in a text, found before anything runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError<K> {
    /// The kind of mistake.
    pub kind: K,
    /// The message, one sentence without a full stop.
    pub message: String,
    /// Where it is wrong.
    pub span: Span,
    /// Advice, if there is any.
    pub hint: Option<String>,
}

impl<K: Coded> TextError<K> {
    /// An error of the given kind at a place.
    pub fn new(kind: K, message: impl Into<String>, span: Span) -> TextError<K> {
        TextError { kind, message: message.into(), span, hint: None }
    }

    /// A plain syntax error at a place.
    pub fn syntax(message: impl Into<String>, span: Span) -> TextError<K> {
        TextError::new(K::SYNTAX, message, span)
    }

    /// The stable code of its kind.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

impl<K> TextError<K> {
    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> TextError<K> {
        self.hint = Some(hint.into());
        self
    }

    /// The same error, hinting at a similar known word if there is one.
    #[must_use]
    pub fn with_suggestion(self, suggestion: Option<&str>) -> TextError<K> {
        match suggestion {
            Some(word) => self.with_hint(format!("did you mean {word}?")),
            None => self,
        }
    }

    /// Line and column of the error in `text`, both from 1, columns in characters.
    pub fn line_and_column(&self, text: &str) -> (usize, usize) {
        crate::line_and_column(text, self.span.start as usize)
    }

    /// Line and column, the line, and below it the span underlined: three lines.
    pub fn excerpt(&self, text: &str) -> String {
        let place = LineSpan::find(text, self.span);
        let gutter = place.line_number.to_string();
        let margin = " ".repeat(gutter.len());
        let (shown, offset) = place.window();
        let marks = "^".repeat(place.width.min(shown.chars().count().saturating_sub(offset)).max(1));
        let (line, column) = (place.line_number, place.column + 1);
        let indent = " ".repeat(offset);
        format!("{margin}--> line {line}, column {column}\n{gutter} | {shown}\n{margin} | {indent}{marks}")
    }

    /// The error for a person: message, the line with the span underlined, line and column, hint.
    pub fn render(&self, text: &str) -> String {
        let mut out = format!("{}\n{}", self.message, self.excerpt(text));
        if let Some(hint) = &self.hint {
            let margin = self.line_and_column(text).0.to_string().len();
            let _ = write!(out, "\n{:margin$} hint: {hint}", "");
        }
        out
    }
}

impl<K> fmt::Display for TextError<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl<K: fmt::Debug> std::error::Error for TextError<K> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::RENDER_LINE_CHARS_MAX;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Wrong;

    impl Coded for Wrong {
        const SYNTAX: Wrong = Wrong;
        fn code(self) -> &'static str {
            "Wrong"
        }
    }

    fn error(start: usize, end: usize) -> TextError<Wrong> {
        TextError::syntax("this is wrong", Span::new(start, end))
    }

    #[test]
    fn an_error_alone_is_its_message_with_its_hint() {
        assert_eq!(error(0, 1).to_string(), "this is wrong");
        assert_eq!(error(0, 1).with_hint("try another").to_string(), "this is wrong (try another)");
    }

    #[test]
    fn the_place_is_underlined() {
        let shown = error(8, 11).with_hint("leave it out").render("first\nä b\tc");
        assert_eq!(shown, "this is wrong\n --> line 2, column 2\n2 | ä b c\n  |  ^^^\n  hint: leave it out");
        assert_eq!(error(0, 0).render(""), "this is wrong\n --> line 1, column 1\n1 | \n  | ^");
    }

    /// Spans at, within and behind every character, of lines shorter and longer than what is shown.
    #[test]
    fn any_span_of_any_text_can_be_shown() {
        for letter in ["a", "ä", "🌲", "\t", "\n"] {
            for count in [0, 1, RENDER_LINE_CHARS_MAX - 1, RENDER_LINE_CHARS_MAX, 3 * RENDER_LINE_CHARS_MAX] {
                let text = letter.repeat(count);
                for start in 0..text.len() + 2 {
                    for end in [start, start + 1, start + 5, text.len(), 1] {
                        let shown = error(start, end).excerpt(&text);
                        let lines: Vec<&str> = shown.lines().collect();
                        assert_eq!(lines.len(), 3, "{start} {end} {shown}");
                        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
                        assert!(width < RENDER_LINE_CHARS_MAX + 10, "{start} {end} {shown}");
                        assert!(lines[2].contains('^'), "{start} {end} {shown}");
                    }
                }
            }
        }
    }
}
