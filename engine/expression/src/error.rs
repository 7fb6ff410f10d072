//! Errors of compiling or evaluating an expression: a stable code, a message for the user, and a hint.

use model::Value;
use plan::Function;
use std::fmt;

/// The class of an error; its code is stable and is what drivers see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// A value has a type that the operation does not take.
    Type,
    /// Overflow, or an integer divided by zero.
    Arithmetic,
    /// The type is right but the value is out of the operation's domain.
    Argument,
    /// A vertex or an edge that this transaction deleted was read.
    EntityNotFound,
    /// The request names a parameter that was not given.
    ParameterMissing,
    /// A text that stands for a number, a time or a pattern does not parse.
    Syntax,
    /// A named limit was reached.
    Limit,
    /// The query ended, or its time or memory did, while an expression was evaluated; the query's own end says why.
    Stopped,
    /// The graph could not be read.
    Storage,
    /// A part of the graph cannot be read now, and may be read by the next try: a shard that began a new life meanwhile.
    Unavailable,
    /// The plan was wrong: an error of the engine, not of the user.
    Internal,
}

impl ErrorClass {
    /// The code drivers see.
    pub fn code(self) -> &'static str {
        match self {
            ErrorClass::Type => "Neo.ClientError.Statement.TypeError",
            ErrorClass::Arithmetic => "Neo.ClientError.Statement.ArithmeticError",
            ErrorClass::Argument => "Neo.ClientError.Statement.ArgumentError",
            ErrorClass::EntityNotFound => "Neo.ClientError.Statement.EntityNotFound",
            ErrorClass::ParameterMissing => "Neo.ClientError.Statement.ParameterMissing",
            ErrorClass::Syntax => "Neo.ClientError.Statement.SyntaxError",
            ErrorClass::Limit => "Neo.ClientError.General.LimitExceeded",
            ErrorClass::Stopped => "Neo.ClientError.Transaction.Terminated",
            ErrorClass::Storage => "Neo.DatabaseError.General.StorageError",
            ErrorClass::Unavailable => "Neo.TransientError.General.DatabaseUnavailable",
            ErrorClass::Internal => "Neo.DatabaseError.Statement.ExecutionFailed",
        }
    }
}

/// An expression could not be compiled or evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    /// Which kind of error.
    pub class: ErrorClass,
    /// The message, in one sentence.
    pub message: String,
    /// Advice for the user.
    pub hint: Option<String>,
}

impl EvalError {
    /// An error of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> EvalError {
        EvalError { class, message: message.into(), hint: None }
    }
    /// The same with a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> EvalError {
        self.hint = Some(hint.into());
        self
    }
    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.class.code()
    }
    /// `operation` does not take a value like this one.
    pub fn wrong_type(operation: &str, expected: &str, found: &Value) -> EvalError {
        let message = format!("{operation} expects {expected}, but was given {}", describe(found));
        EvalError::new(ErrorClass::Type, message)
    }
    /// `operation` does not take these two together.
    pub fn wrong_types(operation: &str, left: &Value, right: &Value) -> EvalError {
        let message = format!("{operation} does not take {} and {}", describe(left), describe(right));
        EvalError::new(ErrorClass::Type, message)
    }
    /// The result does not fit 64 bits, or a division by zero.
    pub fn arithmetic(message: impl Into<String>) -> EvalError {
        EvalError::new(ErrorClass::Arithmetic, message)
    }
    /// A value outside an operation's domain.
    pub fn argument(message: impl Into<String>) -> EvalError {
        EvalError::new(ErrorClass::Argument, message)
    }
    /// A parameter that was not given.
    pub fn parameter_missing(name: &str) -> EvalError {
        EvalError::new(ErrorClass::ParameterMissing, format!("Expected parameter(s): {name}"))
            .with_hint(format!("give a value for ${name} with the request"))
    }
    /// A deleted vertex or edge was read.
    pub fn entity_not_found(what: impl fmt::Display) -> EvalError {
        let message = format!("{what} has been deleted in this transaction");
        EvalError::new(ErrorClass::EntityNotFound, message)
    }
    /// An error of the engine.
    pub fn internal(message: impl Into<String>) -> EvalError {
        EvalError::new(ErrorClass::Internal, message)
    }
}

/// The error of a function given a type it does not take.
pub(crate) fn takes(function: Function, expected: &str, found: &Value) -> EvalError {
    EvalError::wrong_type(&format!("{}()", function.name()), expected, found)
}

/// A value as messages show it: its type, and small values themselves.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Bool(truth) => format!("the Boolean {truth}"),
        Value::Int(int) => format!("the Integer {int}"),
        Value::Float(float) => format!("the Float {}", float_text(*float)),
        Value::String(text) if text.chars().count() <= SHOWN_CHARACTERS_MAX => format!("the String {text:?}"),
        other => format!("a {}", other.value_type().name()),
    }
}

/// A float as Cypher prints it: shortest digits that read back the same, with an exponent outside 10^-3 to 10^7.
pub fn float_text(float: f64) -> String {
    if float.is_nan() {
        "NaN".to_string()
    } else if float.is_infinite() {
        if float > 0.0 { "Infinity".to_string() } else { "-Infinity".to_string() }
    } else if float == 0.0 || (1e-3..1e7).contains(&float.abs()) {
        format!("{float:?}")
    } else {
        let text = format!("{float:E}");
        match text.split_once('E') {
            Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
            _ => text,
        }
    }
}

/// Longer texts are named by their type alone, so that a message stays one line.
const SHOWN_CHARACTERS_MAX: usize = 40;

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvalError {}

impl From<dataflow::watch::Stopped> for EvalError {
    fn from(stopped: dataflow::watch::Stopped) -> EvalError {
        EvalError::new(ErrorClass::Stopped, stopped.to_string()).with_hint(
            "an expression that is computed before the query starts must be small; compute it in a WITH",
        )
    }
}

impl From<model::ValueTooLarge> for EvalError {
    fn from(error: model::ValueTooLarge) -> EvalError {
        EvalError::new(ErrorClass::Limit, error.to_string()).with_hint(error.hint())
    }
}

impl From<model::temporal::TemporalError> for EvalError {
    fn from(error: model::temporal::TemporalError) -> EvalError {
        EvalError::argument(error.to_string())
    }
}
