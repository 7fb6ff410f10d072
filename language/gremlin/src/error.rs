//! What is wrong with a request, found before anything runs: a kind for callers; message, place and hint for people.

use crate::limits::SHOWN_CHARS_MAX;
use crate::span::Span;
use std::fmt;

/// What sort of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The text is not gremlin-lang.
    Syntax,
    /// No step, strategy, source instruction or token has this name.
    Unknown,
    /// A step has arguments it cannot take.
    Arguments,
    /// A name in the text has no binding.
    Binding,
    /// A named limit of this room is exceeded.
    Limit,
    /// Valid Gremlin that Tanglewood does not carry out.
    Unsupported,
}

/// An error in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GremlinError {
    /// What sort of mistake.
    pub kind: ErrorKind,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// Where; empty for bytecode.
    pub span: Span,
    /// What to do about it, if that can be said.
    pub hint: Option<String>,
}

impl GremlinError {
    /// An error of a kind at a place.
    pub fn new(kind: ErrorKind, message: impl Into<String>, span: Span) -> GremlinError {
        GremlinError { kind, message: message.into(), span, hint: None }
    }
    /// The text is not gremlin-lang.
    pub fn syntax(message: impl Into<String>, span: Span) -> GremlinError {
        GremlinError::new(ErrorKind::Syntax, message, span)
    }
    /// A step has arguments it cannot take.
    pub fn arguments(message: impl Into<String>, span: Span) -> GremlinError {
        GremlinError::new(ErrorKind::Arguments, message, span)
    }
    /// Valid Gremlin that is not carried out.
    pub fn unsupported(message: impl Into<String>, span: Span) -> GremlinError {
        GremlinError::new(ErrorKind::Unsupported, message, span)
    }
    /// The same error with a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> GremlinError {
        self.hint = Some(hint.into());
        self
    }
    /// The same error, hinting at a similar known word if there is one.
    pub fn with_suggestion(self, suggestion: Option<&str>) -> GremlinError {
        match suggestion {
            Some(word) => self.with_hint(format!("did you mean {word}?")),
            None => self,
        }
    }
    /// The error for a person: message, line and column, the line with the place marked, hint.
    pub fn render(&self, text: &str) -> String {
        let start = floor_boundary(text, self.span.start as usize);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[line_start..].lines().next().unwrap_or("");
        let column = text[line_start..start].chars().count();
        let number = text[..start].matches('\n').count() + 1;
        let from = column.saturating_sub(SHOWN_CHARS_MAX / 2);
        let shown: String = line.chars().skip(from).take(SHOWN_CHARS_MAX).map(printable).collect();
        let width = (self.span.end as usize).saturating_sub(start).clamp(1, SHOWN_CHARS_MAX);
        let width = width.min(shown.chars().count().saturating_sub(column - from)).max(1);
        let marks = format!("{}{}", " ".repeat(column - from), "^".repeat(width));
        let hint = self.hint.as_ref().map_or(String::new(), |hint| format!("\nhint: {hint}"));
        format!("{}\n--> line {number}, column {}\n  {shown}\n  {marks}{hint}", self.message, column + 1)
    }
}

impl fmt::Display for GremlinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for GremlinError {}

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

/// The candidate nearest to `word`, if any is near enough to be a slip of the fingers.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).clamp(1, crate::limits::SUGGESTION_EDITS_MAX);
    let near = candidates.into_iter().map(|candidate| (edits(word, candidate), candidate));
    near.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|best| best.1)
}

/// Insertions, deletions and substitutions between two words, letter case aside; words are cut at 64 letters.
fn edits(left: &str, right: &str) -> usize {
    let letters = |word: &str| word.chars().take(64).flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (left, right) = (letters(left), letters(right));
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            row.push((above[j + 1] + 1).min(row[j] + 1).min(above[j] + usize::from(a != b)));
        }
        above = row;
    }
    above[right.len()]
}
