//! The status of a standing query in lists, and the account of its bytes.

use crate::StandingError;
use dataflow::AccountedBytes;
use plan::expr::Name;
use std::sync::Arc;

/// Where a standing query stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its first answer is being made, or waits to be.
    Installing,
    /// Its answer is maintained.
    Running,
    /// It ended with an error.
    Failed,
    /// It could not be read or installed when the database was opened.
    SetAside,
}

impl State {
    /// As SHOW STANDING QUERIES says it.
    pub fn name(self) -> &'static str {
        match self {
            State::Installing => "installing",
            State::Running => "running",
            State::Failed => "failed",
            State::SetAside => "set aside",
        }
    }
}

/// The status of a standing query.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Where it stands.
    pub state: State,
    /// Rows of its answer, equal ones counted once.
    pub rows: usize,
    /// Number of readers.
    pub subscribers: usize,
    /// Names of its parameters.
    pub parameters: Vec<Name>,
    /// The commit up to which its answer is known.
    pub commit_version: u64,
    /// Its payer, as given to [`crate::Keeper::create`].
    pub payer: u32,
    /// Time spent on it, nanoseconds.
    pub used_ns: u64,
    /// Estimated bytes of its state.
    pub bytes: usize,
    /// Why it ended, if it did.
    pub failure: Option<StandingError>,
}

impl Standing {
    /// Of a query that does not run yet.
    pub fn not_running(name: &str, text: &str, payer: u32, state: State) -> Standing {
        Standing {
            name: name.into(),
            text: text.into(),
            state,
            rows: 0,
            subscribers: 0,
            parameters: Vec::new(),
            commit_version: 0,
            payer,
            used_ns: 0,
            bytes: 0,
            failure: None,
        }
    }
}

/// Makes an account for the bytes of a payer's query.
pub type Ledger = Arc<dyn Fn(u32) -> AccountedBytes + Send + Sync>;
