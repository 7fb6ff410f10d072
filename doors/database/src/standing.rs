//! Standing queries: made and dropped by name, kept with the database, read by subscription.
//!
//! They are fed on an executor, as one more root of its scheduling, woken by each commit.

use crate::error::in_text;
use crate::{Database, Error};
use ::standing::{Keeper, Standing, StandingError, Subscription, TurnEnd};
use execute::{Root, RootHandle, RootStatus};
use std::sync::{Arc, OnceLock};

/// How soon a turn that found somebody in its way is tried again.
const TRY_AGAIN_NS: u64 = 100_000;

/// Share of an executor that standing queries have, as a tenant has that was given none.
const SHARE: u32 = 100;

/// Feeds the queries on the first executor; its twins have nothing to do.
struct Feeding {
    keeper: Option<Keeper>,
}

impl Root for Feeding {
    fn run(&mut self, _quota_ns: u64) -> RootStatus {
        match self.keeper.as_ref().map(Keeper::turn) {
            None | Some(TurnEnd::Done) => RootStatus::Idle,
            Some(TurnEnd::More) => RootStatus::Busy,
            Some(TurnEnd::InTheWay) => RootStatus::WakeAt(world::clock::monotonic_ns() + TRY_AGAIN_NS),
        }
    }
}

/// What one database needs to keep its standing queries.
pub(crate) struct StandingQueries {
    pub keeper: Keeper,
    wake: OnceLock<RootHandle>,
}

impl StandingQueries {
    pub fn new(keeper: Keeper) -> StandingQueries {
        StandingQueries { keeper, wake: OnceLock::new() }
    }
}

impl Database {
    /// Makes a standing query: its first answer is computed now, and kept true from now on.
    ///
    /// # Errors
    /// The text is no query, or one that cannot be kept up to date (the reason is said); the name is taken.
    pub fn create_standing(&self, name: &str, text: &str) -> Result<(), Error> {
        let statement = cypher::compile(text).map_err(|error| in_text(error, text))?;
        let statement = plan::normalize(statement)?;
        let standing = self.standing_queries();
        let handle = standing.wake.get_or_init(|| {
            let keeper = standing.keeper.clone();
            self.runtime().add_root(SHARE, move |executor| {
                let keeper = (executor == 0).then(|| keeper.clone());
                Box::new(Feeding { keeper }) as Box<dyn Root>
            })
        });
        let handle = handle.clone();
        Ok(standing.keeper.create(name, text, statement, Arc::new(move || handle.wake(0)))?)
    }
    /// Ends a standing query and its subscriptions.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn drop_standing(&self, name: &str) -> Result<(), Error> {
        Ok(self.standing_queries().keeper.drop_query(name)?)
    }
    /// All standing queries, in order of their names.
    pub fn standing(&self) -> Vec<Standing> {
        self.standing_queries().keeper.list()
    }
    /// Reads a standing query: what changes from now on, or after the commit at place `from`; with `snapshot`, its whole answer first.
    ///
    /// # Errors
    /// No such query; it has failed; what changed since `from` is not known any more.
    pub fn subscribe(&self, name: &str, from: Option<u64>, snapshot: bool) -> Result<Subscription, Error> {
        Ok(self.standing_queries().keeper.subscribe(name, from, snapshot)?)
    }
}

impl From<StandingError> for Error {
    fn from(error: StandingError) -> Error {
        let code = match &error {
            StandingError::Unsupported { .. } => "Tanglewood.ClientError.Standing.Unsupported",
            StandingError::Failed(_) => "Tanglewood.ClientError.Standing.Failed",
            StandingError::TooLarge { .. } | StandingError::TooMany => {
                "Tanglewood.ClientError.Standing.Limit"
            }
            StandingError::Storage(_) => "Tanglewood.DatabaseError.General.Storage",
            StandingError::NoSuchQuery(_) => "Tanglewood.ClientError.Standing.NotFound",
            StandingError::NameTaken(_) => "Tanglewood.ClientError.Standing.NameTaken",
            StandingError::Unreached { .. } | StandingError::Forgotten { .. } => {
                "Tanglewood.ClientError.Standing.NotKept"
            }
        };
        let found = Error::new(code, error.to_string());
        match error.hint() {
            Some(hint) => found.hint(hint),
            None => found,
        }
    }
}
