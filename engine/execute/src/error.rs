//! Errors of a running statement: for the caller a typed enum, for the user a stable code, a message and a hint.

use dataflow::{Fault, GraphError};
use expression::EvalError;
use expression::error::ErrorClass;
use model::VertexId;
use procedures::ProcedureError;
use std::fmt;

/// A statement could not be started, or ended before its rows did.
#[derive(Debug)]
pub enum ExecuteError {
    /// An expression failed.
    Eval(EvalError),
    /// The graph could not be read or changed.
    Store(store::StoreError),
    /// The transaction refused a change or its end.
    Transact(transact::TransactError),
    /// A path search gave up.
    Path(paths::PathError),
    /// A statement that writes was given a view that only reads.
    ReadOnly,
    /// A vertex was deleted that still has edges when the statement ends.
    StillConnected(VertexId),
    /// An entity that was deleted was used.
    Deleted(String),
    /// MERGE on a property that is null, or between ends that are null.
    MergeNull(String),
    /// A value cannot be stored as a property.
    PropertyType(String),
    /// A value has a type the operator does not take.
    WrongType(String),
    /// SKIP or LIMIT is not a whole number of at least 0.
    RowCount(String),
    /// No such procedure.
    NoProcedure(String),
    /// A procedure was called wrongly.
    ProcedureCall(String),
    /// A resource outside of the database, such as a file, is missing or faulty.
    External(String),
    /// The content of a file that LOAD reads is malformed.
    FileContent(String),
    /// A job failed, with the code and message of its own crate.
    Job {
        /// The stable code.
        code: String,
        /// The message.
        message: String,
        /// Advice for the user.
        hint: Option<String>,
    },
    /// The plan is one that this executor does not run: an error of the engine.
    Plan(String),
    /// Cancelled.
    Cancelled(String),
    /// The deadline passed.
    TimedOut {
        /// How long it ran.
        after_ms: u64,
    },
    /// Too many queries wait already.
    Refused {
        /// How many.
        waiting: usize,
    },
    /// The byte budget of the query, or of its user, its tenant or the machine, was exceeded.
    OverBudget {
        /// The level whose budget was passed.
        level: dataflow::Level,
        /// The budget in bytes.
        limit: u64,
        /// Bytes by operator, the most first.
        held: Vec<(String, u64)>,
        /// A cheaper form of the statement, if it returns paths.
        instead: Option<&'static str>,
    },
    /// More rows are put aside on disk than the user, the tenant or the machine may.
    OverSpill(dataflow::ledger::SpillExceeded),
    /// Rows could not be put aside on disk, or not be read again.
    Spill(String),
    /// A plan that is larger than executors take: this is too many or too deep.
    TooLarge(String),
    /// An operator panicked.
    Panicked {
        /// Which.
        operator: String,
        /// The panic's message.
        message: String,
    },
}

impl ExecuteError {
    /// The stable code drivers see.
    pub fn code(&self) -> &str {
        match self {
            ExecuteError::Eval(error) => error.code(),
            ExecuteError::Store(store::StoreError::NotUnique { .. }) => {
                "Neo.ClientError.Schema.ConstraintValidationFailed"
            }
            ExecuteError::Store(error) => transact::TransactError::Store(error.clone()).code(),
            ExecuteError::Transact(error) => error.code(),
            ExecuteError::Path(_) => "Neo.ClientError.Statement.ArgumentError",
            ExecuteError::ReadOnly => "Neo.ClientError.Statement.AccessMode",
            ExecuteError::StillConnected(_) => "Neo.ClientError.Schema.ConstraintValidationFailed",
            ExecuteError::Deleted(_) => "Neo.ClientError.Statement.EntityNotFound",
            ExecuteError::MergeNull(_) => "Neo.ClientError.Statement.SemanticError",
            ExecuteError::PropertyType(_) | ExecuteError::WrongType(_) => {
                "Neo.ClientError.Statement.TypeError"
            }
            ExecuteError::RowCount(_) => "Neo.ClientError.Statement.ArgumentError",
            ExecuteError::NoProcedure(_) => "Neo.ClientError.Procedure.ProcedureNotFound",
            ExecuteError::ProcedureCall(_) => "Neo.ClientError.Procedure.ProcedureCallFailed",
            ExecuteError::External(_) | ExecuteError::FileContent(_) => {
                "Neo.ClientError.Statement.ExternalResourceFailed"
            }
            ExecuteError::Plan(_) | ExecuteError::Spill(_) | ExecuteError::Panicked { .. } => {
                "Neo.DatabaseError.Statement.ExecutionFailed"
            }
            ExecuteError::TooLarge(_) => "Neo.ClientError.Statement.UnsupportedOperationError",
            ExecuteError::Job { code, .. } => code,
            ExecuteError::Cancelled(_) => "Neo.ClientError.Transaction.Terminated",
            ExecuteError::TimedOut { .. } => "Neo.ClientError.Transaction.TransactionTimedOut",
            ExecuteError::Refused { .. } => "Neo.TransientError.Transaction.MaximumTransactionLimitReached",
            ExecuteError::OverBudget { .. } | ExecuteError::OverSpill(_) => {
                "Neo.TransientError.General.MemoryPoolOutOfMemoryError"
            }
        }
    }
    /// May the same query succeed if it runs again?
    pub fn is_retryable(&self) -> bool {
        match self {
            ExecuteError::Eval(error) => error.class == ErrorClass::Unavailable,
            ExecuteError::Store(error) => transact::TransactError::Store(error.clone()).is_retryable(),
            ExecuteError::Transact(error) => error.is_retryable(),
            _ => false,
        }
    }
    /// Advice for the user.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            ExecuteError::Eval(error) => return error.hint.clone(),
            ExecuteError::Job { hint, .. } => return hint.clone(),
            ExecuteError::Transact(error) => return error.hint(),
            ExecuteError::Store(error) => return transact::TransactError::Store(error.clone()).hint(),
            ExecuteError::Path(error) => error.hint(),
            ExecuteError::ReadOnly => "open the session or transaction for writing",
            ExecuteError::StillConnected(_) => "delete its relationships first, or use DETACH DELETE",
            ExecuteError::Deleted(_) => "do not use it after the clause that deletes it",
            ExecuteError::MergeNull(_) => "use coalesce(), or filter such rows out before MERGE",
            ExecuteError::PropertyType(_) => {
                "a property holds a number, text, truth value, temporal value, point, or a list of them"
            }
            ExecuteError::External(_) => {
                "LOAD reads file:///name.csv from the folder given by the option import_folder, or --import-folder; URLs of hosts that import_urls, or --import-urls, lists"
            }
            ExecuteError::FileContent(_) => "correct the file there; files of text are read as UTF-8",
            ExecuteError::TooLarge(_) => {
                "split the statement: what sub-queries compute can be matched, collected or passed on by WITH before them"
            }
            ExecuteError::NoProcedure(_) => "SHOW PROCEDURES lists what there is",
            ExecuteError::Cancelled(reason) if reason.contains("a rule of its account") => {
                "SHOW TENANTS lists the rules; ask for less at once, or have the rule changed"
            }
            ExecuteError::TimedOut { .. } => {
                "raise the timeout, its own or its tenant's (SHOW TENANTS), or make the query touch less"
            }
            ExecuteError::Refused { .. } => "try again later, or raise the limits of the tenant",
            ExecuteError::OverBudget { level, .. } if *level != dataflow::Level::Query => {
                "wait until other queries have ended, or raise the limits of the account"
            }
            ExecuteError::OverBudget { instead: Some(instead), .. } => {
                return Some(format!("{instead}; or raise the query's memory budget"));
            }
            ExecuteError::OverBudget { .. } => {
                "add a LIMIT, aggregate earlier, or raise the query's memory budget"
            }
            ExecuteError::OverSpill(_) => {
                "give the query more memory, the tenant more SPILL, or the database more disk by the option query.spill"
            }
            ExecuteError::Spill(_) => {
                "make room on that disk, or name another folder by the option query.spill_folder"
            }
            ExecuteError::Panicked { .. } => {
                "this is a fault of the database, not of the statement; please report it with the statement"
            }
            _ => return None,
        };
        Some(text.to_string())
    }
}

impl fmt::Display for ExecuteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExecuteError::Eval(error) => error.fmt(f),
            ExecuteError::Store(error) => error.fmt(f),
            ExecuteError::Transact(error) => error.fmt(f),
            ExecuteError::Path(error) => error.fmt(f),
            ExecuteError::ReadOnly => {
                f.write_str("this statement writes, but it was started for reading only")
            }
            ExecuteError::StillConnected(vertex) => {
                write!(f, "Cannot delete node<{}>, because it still has relationships", vertex.0)
            }
            ExecuteError::Deleted(what) => write!(f, "{what} has been deleted in this transaction"),
            ExecuteError::MergeNull(what) => write!(f, "Cannot merge: {what}"),
            ExecuteError::PropertyType(what)
            | ExecuteError::WrongType(what)
            | ExecuteError::RowCount(what)
            | ExecuteError::External(what)
            | ExecuteError::FileContent(what)
            | ExecuteError::Spill(what)
            | ExecuteError::Job { message: what, .. }
            | ExecuteError::ProcedureCall(what) => f.write_str(what),
            ExecuteError::NoProcedure(name) => write!(f, "there is no procedure `{name}`"),
            ExecuteError::TooLarge(what) => write!(f, "the statement is too large: {what}"),
            ExecuteError::Plan(what) => write!(f, "the plan cannot be run: {what}"),
            ExecuteError::Cancelled(reason) => write!(f, "the query was cancelled: {reason}"),
            ExecuteError::TimedOut { after_ms } => write!(f, "the query timed out after {after_ms} ms"),
            ExecuteError::Refused { waiting } => {
                write!(f, "the query was refused: {waiting} others wait for room already")
            }
            ExecuteError::OverBudget { level, limit, held, .. } => {
                write!(f, "the query exceeded the {level}'s memory budget of {limit} bytes; held by")?;
                held.iter()
                    .take(HOLDERS_SHOWN_MAX)
                    .try_for_each(|(name, bytes)| write!(f, " {name}: {bytes}"))
            }
            ExecuteError::OverSpill(error) => {
                write!(f, "the query has too little memory for its rows, and puts {error}")
            }
            ExecuteError::Panicked { operator, message } => {
                write!(f, "internal error: {message} (in {operator})")
            }
        }
    }
}

/// Holders of memory that a message names; the rest is small by comparison.
const HOLDERS_SHOWN_MAX: usize = 5;

impl std::error::Error for ExecuteError {}

impl From<EvalError> for ExecuteError {
    fn from(error: EvalError) -> ExecuteError {
        ExecuteError::Eval(error)
    }
}
impl From<ProcedureError> for ExecuteError {
    fn from(error: ProcedureError) -> ExecuteError {
        match error {
            ProcedureError::Call(what) => ExecuteError::ProcedureCall(what),
            ProcedureError::Store(error) => ExecuteError::Store(error),
            ProcedureError::Internal(what) => ExecuteError::Plan(what),
        }
    }
}
impl From<store::StoreError> for ExecuteError {
    fn from(error: store::StoreError) -> ExecuteError {
        ExecuteError::Store(error)
    }
}
impl From<transact::TransactError> for ExecuteError {
    fn from(error: transact::TransactError) -> ExecuteError {
        match error {
            transact::TransactError::StillConnected { vertex } => ExecuteError::StillConnected(vertex),
            transact::TransactError::NotFound { what } => ExecuteError::Deleted(format!("the {what}")),
            transact::TransactError::Store(error) => ExecuteError::Store(error),
            other => ExecuteError::Transact(other),
        }
    }
}
impl From<GraphError> for ExecuteError {
    fn from(error: GraphError) -> ExecuteError {
        match error {
            GraphError::TooDeep(_) | GraphError::TooLarge(_) => ExecuteError::TooLarge(error.to_string()),
            other => ExecuteError::Plan(other.to_string()),
        }
    }
}
impl From<Fault> for ExecuteError {
    fn from(fault: Fault) -> ExecuteError {
        match fault {
            Fault::Cancelled { reason } => ExecuteError::Cancelled(reason),
            Fault::TimedOut { after_ms } => ExecuteError::TimedOut { after_ms },
            Fault::Refused { waiting } => ExecuteError::Refused { waiting },
            Fault::OverBudget { level, limit, held } => {
                ExecuteError::OverBudget { level, limit, held, instead: None }
            }
            Fault::Panicked { operator, message } => ExecuteError::Panicked { operator, message },
            Fault::Operator(failure) => from_failure(failure),
        }
    }
}

/// The error that an operator returned with `?`, recovered by its type.
pub(crate) fn from_failure(failure: dataflow::Failure) -> ExecuteError {
    failure
        .downcast::<ExecuteError>()
        .map(|error| *error)
        .or_else(|failure| failure.downcast::<EvalError>().map(|error| (*error).into()))
        .or_else(|failure| failure.downcast::<store::StoreError>().map(|error| (*error).into()))
        .or_else(|failure| failure.downcast::<transact::TransactError>().map(|error| (*error).into()))
        .or_else(|failure| {
            let exceeded = failure.downcast::<dataflow::ledger::SpillExceeded>();
            exceeded.map(|error| ExecuteError::OverSpill(*error))
        })
        .or_else(|failure| failure.downcast::<ProcedureError>().map(|error| (*error).into()))
        .or_else(|failure| failure.downcast::<paths::PathError>().map(|error| ExecuteError::Path(*error)))
        .unwrap_or_else(|other| ExecuteError::Plan(other.to_string()))
}
