//! Kinds of mistakes in a query.

use text::Coded;

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
    /// A named limit of this crate is exceeded (text length, nesting depth).
    LimitExceeded,
    NegativeIntegerArgument,
    NestedAggregation,
    NoExpressionAlias,
    NonConstantExpression,
    NoSingleRelationshipType,
    NoVariablesInScope,
    /// The statement uses a feature that Tanglewood does not have.
    NotSupported,
    ProcedureNotFound,
    RelationshipUniquenessViolation,
    /// It was ended before it was read to its end.
    Stopped,
    RequiresDirectedRelationship,
    /// A value of a known type is used as one of another.
    TypeMismatch,
    UndefinedVariable,
    UnexpectedSyntax,
    UnknownFunction,
    VariableAlreadyBound,
    VariableTypeConflict,
}

impl Coded for ErrorKind {
    const SYNTAX: ErrorKind = ErrorKind::UnexpectedSyntax;
    fn code(self) -> &'static str {
        match self {
            ErrorKind::DatabaseNotFound => "Neo.ClientError.Database.DatabaseNotFound",
            ErrorKind::ProcedureNotFound => "Neo.ClientError.Procedure.ProcedureNotFound",
            ErrorKind::Stopped => "Neo.ClientError.Transaction.Terminated",
            ErrorKind::TypeMismatch => "Neo.ClientError.Statement.TypeError",
            _ => "Neo.ClientError.Statement.SyntaxError",
        }
    }
}

/// An error in a query text, found before anything runs.
pub type CypherError = text::TextError<ErrorKind>;

/// Counts reading and lowering of `units` tokens or expressions.
///
/// # Errors
/// The work must end.
pub(crate) fn spend(units: u64) -> Result<(), Box<CypherError>> {
    model::pace::build(units).map_err(|stopped| {
        Box::new(CypherError::new(ErrorKind::Stopped, stopped.to_string(), text::Span::default()))
    })
}
