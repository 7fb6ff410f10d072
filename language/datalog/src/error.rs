//! Kinds of mistakes in a program.

use text::Coded;

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

impl Coded for ErrorKind {
    const SYNTAX: ErrorKind = ErrorKind::Syntax;
    fn code(self) -> &'static str {
        match self {
            ErrorKind::Syntax | ErrorKind::Unbound | ErrorKind::Unknown => {
                "Neo.ClientError.Statement.SyntaxError"
            }
            ErrorKind::Strata => "Neo.ClientError.Statement.SemanticError",
            ErrorKind::Limit => "Neo.ClientError.General.LimitExceeded",
        }
    }
}

/// An error in a program, found before anything runs.
pub type DatalogError = text::TextError<ErrorKind>;
