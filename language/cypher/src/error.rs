//! What is wrong with a query, said to three readers: a kind for callers, a Neo4j status code for drivers, and for
//! people a message with the place underlined and a hint.

use std::fmt::{self, Write};

use crate::limits::RENDER_LINE_CHARS_MAX;
use crate::span::Span;

/// What rule the query breaks. The names are those of the openCypher compatibility kit where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are the definitions of the openCypher compatibility kit
pub enum ErrorKind {
    AmbiguousAggregationExpression,
    ColumnNameConflict,
    CreatingVarLength,
    /// `USE` names a database that is not there.
    DatabaseNotFound,
    DifferentColumnsInUnion,
    FloatingPointOverflow,
    IntegerOverflow,
    InvalidAggregation,
    InvalidArgumentPassingMode,
    InvalidArgumentType,
    InvalidClauseComposition,
    InvalidDelete,
    InvalidNumberLiteral,
    InvalidNumberOfArguments,
    InvalidParameterUse,
    InvalidRelationshipPattern,
    InvalidUnicodeLiteral,
    /// A named limit of this room is exceeded (text length, nesting depth).
    LimitExceeded,
    NegativeIntegerArgument,
    NestedAggregation,
    NoExpressionAlias,
    NonConstantExpression,
    NoSingleRelationshipType,
    NoVariablesInScope,
    /// The statement asks for something Tanglewood does not have.
    NotSupported,
    ProcedureNotFound,
    RelationshipUniquenessViolation,
    RequiresDirectedRelationship,
    /// A value of a known type is used as one of another.
    TypeMismatch,
    UndefinedVariable,
    UnexpectedSyntax,
    UnknownFunction,
    VariableAlreadyBound,
    VariableTypeConflict,
}

impl ErrorKind {
    /// The Neo4j status code that drivers and users know.
    pub fn code(self) -> &'static str {
        match self {
            ErrorKind::DatabaseNotFound => "Neo.ClientError.Database.DatabaseNotFound",
            ErrorKind::ProcedureNotFound => "Neo.ClientError.Procedure.ProcedureNotFound",
            ErrorKind::TypeMismatch => "Neo.ClientError.Statement.TypeError",
            _ => "Neo.ClientError.Statement.SyntaxError",
        }
    }
}

/// An error in a query text, found before anything runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CypherError {
    /// The rule that is broken.
    pub kind: ErrorKind,
    /// Neo4j style status code, such as `Neo.ClientError.Statement.SyntaxError`.
    pub code: &'static str,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// Where it is wrong.
    pub span: Span,
    /// What to do about it, if that can be said.
    pub hint: Option<String>,
}

impl CypherError {
    /// An error of the given kind at a place.
    pub fn new(kind: ErrorKind, message: impl Into<String>, span: Span) -> CypherError {
        CypherError { kind, code: kind.code(), message: message.into(), span, hint: None }
    }

    /// A plain syntax error at a place.
    pub fn syntax(message: impl Into<String>, span: Span) -> CypherError {
        CypherError::new(ErrorKind::UnexpectedSyntax, message, span)
    }

    /// The same error with a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> CypherError {
        self.hint = Some(hint.into());
        self
    }

    /// The same error, hinting at a similar known word if there is one.
    pub fn with_suggestion(mut self, suggestion: Option<&str>) -> CypherError {
        if let Some(word) = suggestion {
            self.hint = Some(format!("did you mean {word}?"));
        }
        self
    }

    /// Line and column of the error in `text`, both from 1, columns in characters.
    pub fn line_and_column(&self, text: &str) -> (usize, usize) {
        let place = Place::find(text, self.span);
        (place.line_number, place.column + 1)
    }

    /// The error for a person: message, the line with the span underlined, line and column, hint.
    pub fn render(&self, text: &str) -> String {
        let place = Place::find(text, self.span);
        let gutter = place.line_number.to_string();
        let margin = " ".repeat(gutter.len());
        let (shown, offset) = place.window();
        let marks = "^".repeat(place.width.min(shown.chars().count().saturating_sub(offset)).max(1));
        let mut out = String::new();
        let (line, column) = (place.line_number, place.column + 1);
        let _ = writeln!(out, "{}", self.message);
        let _ = writeln!(out, "{margin}--> line {line}, column {column}");
        let _ = writeln!(out, "{gutter} | {shown}");
        let _ = write!(out, "{margin} | {}{marks}", " ".repeat(offset));
        if let Some(hint) = &self.hint {
            let _ = write!(out, "\n{margin} hint: {hint}");
        }
        out
    }
}

impl fmt::Display for CypherError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CypherError {}

/// A span seen as a piece of one line. Spans over several lines are cut at the end of their first line.
struct Place {
    line: Vec<char>,
    line_number: usize,
    column: usize,
    width: usize,
}

impl Place {
    fn find(text: &str, span: Span) -> Place {
        let start = floor_boundary(text, span.start as usize);
        let end = floor_boundary(text, span.end as usize).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |position| position + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |position| start + position);
        Place {
            line: text[line_start..line_end].chars().map(printable).collect(),
            line_number: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count(),
            width: text[start..end.min(line_end)].chars().count().max(1),
        }
    }

    /// The piece of the line to show and the position of the span in it.
    fn window(&self) -> (String, usize) {
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
