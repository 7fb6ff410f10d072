//! Kinds of mistakes in a program.

use text::Coded;

/// The kind of mistake.
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
    /// Reading it was ended.
    Stopped,
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
            ErrorKind::Stopped => "Neo.ClientError.Transaction.Terminated",
        }
    }
}

/// An error in a program, found before anything runs.
pub type DatalogError = text::TextError<ErrorKind>;

/// Counts the reading of `units` tokens or clauses.
///
/// # Errors
/// The work must end.
pub(crate) fn spend(units: u64) -> Result<(), DatalogError> {
    model::pace::build(units)
        .map_err(|stopped| DatalogError::new(ErrorKind::Stopped, stopped.to_string(), text::Span::default()))
}
