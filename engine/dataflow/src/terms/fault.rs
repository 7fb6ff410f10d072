//! Why a query ended before its results did.

use crate::terms::ids::Level;
use std::fmt;

/// Why an operator ended its query.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Why a query ended before its results did.
#[derive(Debug)]
pub enum Fault {
    /// Someone cancelled it, or its client went away.
    Cancelled {
        /// The reason, or the killer.
        reason: String,
    },
    /// Its deadline passed.
    TimedOut {
        /// How long it ran, in milliseconds.
        after_ms: u64,
    },
    /// It was not let in: too many queries wait already.
    Refused {
        /// How many wait.
        waiting: usize,
    },
    /// It held more bytes than its own limit, or than its user, tenant or the machine have left.
    OverBudget {
        /// The level whose budget was passed.
        level: Level,
        /// The budget in bytes.
        limit: u64,
        /// Bytes by operator, the most first.
        held: Vec<(String, u64)>,
    },
    /// An operator returned an error.
    Operator(Failure),
    /// An operator panicked; only its query ends.
    Panicked {
        /// The vertex.
        operator: String,
        /// The panic's message.
        message: String,
    },
}

impl Fault {
    /// The fault of a part whose whole is over.
    pub(crate) fn whole_ended() -> Fault {
        Fault::Cancelled { reason: "the statement that it is a part of has ended".into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Cancelled { reason } => write!(f, "query cancelled: {reason}"),
            Fault::TimedOut { after_ms } => write!(f, "query timed out after {after_ms} ms"),
            Fault::Refused { waiting } => {
                write!(f, "query refused: {waiting} queries wait for room in their accounts already")
            }
            Fault::OverBudget { level, limit, held } => {
                write!(f, "query exceeded the {level}'s memory budget of {limit} bytes; held:")?;
                held.iter().take(5).try_for_each(|(name, bytes)| write!(f, " {name} {bytes}"))
            }
            Fault::Operator(failure) => write!(f, "{failure}"),
            Fault::Panicked { operator, message } => write!(f, "operator `{operator}` panicked: {message}"),
        }
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Fault::Operator(failure) => Some(&**failure),
            _ => None,
        }
    }
}
