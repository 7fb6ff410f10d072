//! GQL's status objects (ISO/IEC 39075, clause 23), as Bolt 5.6 and later carry them: how a result ended, and why one did not.

use database::Error;
use model::Value;

/// A status of five characters and its description.
type Status = (&'static str, &'static str);

/// Statuses of errors by Neo4j's code, most special first; a code counts for all that begin with it.
const STATUSES: [(&str, Status); 22] = [
    (
        "Neo.ClientError.Statement.SyntaxError",
        ("42001", "syntax error or access rule violation - invalid syntax"),
    ),
    (
        "Neo.ClientError.Statement.ParameterMissing",
        ("42N51", "syntax error or access rule violation - invalid parameter"),
    ),
    ("Neo.ClientError.Statement.AccessMode", ("25G02", "invalid transaction state - read-only transaction")),
    ("Neo.ClientError.Statement.ArithmeticError", ("22000", "data exception")),
    ("Neo.ClientError.Statement.TypeError", ("22G03", "data exception - invalid value type")),
    ("Neo.ClientError.Statement.ArgumentError", ("22023", "data exception - invalid parameter value")),
    ("Neo.ClientError.Statement.EntityNotFound", ("22N65", "data exception - entity not found")),
    ("Neo.ClientError.Statement", ("42000", "syntax error or access rule violation")),
    ("Neo.ClientError.Procedure", ("42N08", "syntax error or access rule violation - no such procedure")),
    ("Neo.ClientError.Schema.ConstraintValidationFailed", ("G2000", "graph type violation")),
    ("Neo.ClientError.Schema", ("22N89", "data exception - schema rule refused")),
    (
        "Neo.ClientError.Security.AuthenticationRateLimit",
        ("42NFD", "syntax error or access rule violation - credentials refused for a while"),
    ),
    (
        "Neo.ClientError.Security",
        ("42NFF", "syntax error or access rule violation - permission/access denied"),
    ),
    (
        "Neo.ClientError.Transaction.TransactionTimedOut",
        ("25N14", "invalid transaction state - transaction terminated"),
    ),
    (
        "Neo.ClientError.Transaction.Terminated",
        ("25N14", "invalid transaction state - transaction terminated"),
    ),
    ("Neo.ClientError.Transaction.InvalidBookmark", ("22N74", "data exception - invalid bookmark")),
    ("Neo.ClientError.Transaction", ("25000", "invalid transaction state")),
    ("Neo.ClientError.Database", ("22000", "data exception")),
    ("Neo.ClientError.Request", ("08N06", "connection exception - protocol error")),
    ("Neo.TransientError.Transaction", ("40000", "transaction rollback")),
    ("Neo.TransientError", ("50N00", "general processing exception - internal error")),
    ("", ("50N42", "general processing exception - unexpected error")),
];

/// The status of an error, by its code.
pub fn of_error(error: &Error) -> Status {
    let found = STATUSES.iter().find(|(prefix, _)| error.code.starts_with(prefix));
    found.expect("the last one is of every error").1
}

/// The class of an error, in GQL's words.
pub fn classification(error: &Error) -> &'static str {
    match error.class() {
        database::ErrorClass::Client => "CLIENT_ERROR",
        database::ErrorClass::Transient => "TRANSIENT_ERROR",
        database::ErrorClass::Database => "DATABASE_ERROR",
    }
}

/// How a result ended that did not fail.
pub fn outcome(has_columns: bool, has_rows: bool) -> Value {
    let (status, description) = match (has_columns, has_rows) {
        (true, true) => ("00000", "note: successful completion"),
        (true, false) => ("02000", "note: no data"),
        (false, _) => ("00001", "note: successful completion - omitted result"),
    };
    Value::map([("gql_status", status.into()), ("status_description", description.into())])
}

/// The record that goes with a status; `more` comes with those that every record has.
pub fn diagnostic_record(more: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let common = [("OPERATION", ""), ("OPERATION_CODE", "0"), ("CURRENT_SCHEMA", "/")];
    Value::map(common.into_iter().map(|(key, value)| (key, value.into())).chain(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_status_and_the_special_comes_first() {
        for (code, status) in [
            ("Neo.ClientError.Statement.SyntaxError", "42001"),
            ("Neo.ClientError.Statement.SemanticError", "42000"),
            ("Neo.TransientError.Transaction.DeadlockDetected", "40000"),
            ("Neo.TransientError.General.MemoryPoolOutOfMemoryError", "50N00"),
            ("Tanglewood.ClientError.Result.NotSingle", "50N42"),
        ] {
            assert_eq!(of_error(&Error::new(code, "")).0, status, "{code}");
        }
        for (at, (prefix, status)) in STATUSES.iter().enumerate() {
            let first = STATUSES.iter().position(|(other, _)| prefix.starts_with(other));
            assert_eq!(first, Some(at), "{prefix} is hidden by one before it");
            assert_eq!(status.0.len(), 5, "{prefix}");
        }
    }
}
