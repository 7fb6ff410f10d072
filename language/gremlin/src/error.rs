//! Kinds of mistakes in a request.

use text::Coded;

/// The kind of mistake.
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
    /// A named limit of this crate is exceeded.
    Limit,
    /// Valid Gremlin that Tanglewood does not carry out.
    Unsupported,
}

impl Coded for ErrorKind {
    const SYNTAX: ErrorKind = ErrorKind::Syntax;
    fn code(self) -> &'static str {
        match self {
            ErrorKind::Unsupported => "Neo.ClientError.Statement.NotSupported",
            ErrorKind::Binding => "Neo.ClientError.Statement.ParameterMissing",
            _ => "Neo.ClientError.Statement.SyntaxError",
        }
    }
}

/// An error in a request, found before anything runs; its span is empty for bytecode.
pub type GremlinError = text::TextError<ErrorKind>;
