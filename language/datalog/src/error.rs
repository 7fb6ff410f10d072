//! What is wrong with a program, found before anything runs.

use std::fmt;

/// Bytes of the text, end excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }
    pub(crate) fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// What sort of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is no Datalog.
    Syntax,
    /// A relation or function is not known, or used with another number of columns.
    Unknown,
    /// A variable is bound by no positive part of its rule.
    Unbound,
    /// A relation depends on its own absence, or on an aggregate of itself.
    Strata,
    /// A named limit is passed.
    Limit,
}

/// An error in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatalogError {
    /// What sort of mistake.
    pub kind: ErrorKind,
    /// One sentence without a full stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to do about it.
    pub hint: Option<String>,
}

impl DatalogError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>, span: Span) -> DatalogError {
        DatalogError { kind, message: message.into(), span, hint: None }
    }
    pub(crate) fn hint(self, hint: impl Into<String>) -> DatalogError {
        DatalogError { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for DatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DatalogError {}
