//! A transaction as a function that is called again where it conflicts with another.

use super::Session;
use crate::{Error, Params, QueryResult};
use std::time::Duration;
use transact::Mode;

/// First pause before a conflicting transaction is tried again; doubled each time up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_micros(50);
/// Longest pause between attempts.
const PAUSE_MAX: Duration = Duration::from_millis(10);

/// An open transaction. It is committed when the function that it was passed to returns `Ok`.
pub struct TransactionScope<'s> {
    session: &'s mut Session,
}

impl TransactionScope<'_> {
    /// Runs one statement.
    ///
    /// # Errors
    /// The statement fails; the transaction is then rolled back, whatever the function returns.
    pub fn query(&mut self, text: &str, params: Params) -> Result<QueryResult, Error> {
        self.session.query(text, params)
    }
}

/// Also where the function panics.
impl Drop for TransactionScope<'_> {
    fn drop(&mut self) {
        if self.session.in_transaction() {
            let _ = self.session.rollback();
        }
    }
}

impl Session {
    /// Runs a transaction: the writes of `work` are committed as a whole, or none of them. If it conflicts with another, `work` is called again, as
    /// often as a single statement is retried; so it should have no effects outside of the transaction.
    ///
    /// ```
    /// use tanglewood_database::{Database, MEMORY, Options, params};
    ///
    /// # fn main() -> Result<(), tanglewood_database::Error> {
    /// let database = Database::open(MEMORY, Options::default())?;
    /// let mut session = database.session();
    /// session.query("CREATE (:Account {id: 1, sum: 10}), (:Account {id: 2, sum: 0})", params! {})?;
    /// let left = session.transaction(|tx| {
    ///     let take = "MATCH (a:Account {id: 1}) SET a.sum = a.sum - $n RETURN a.sum";
    ///     let left = tx.query(take, params! { "n" => 4 })?.single()?;
    ///     tx.query("MATCH (a:Account {id: 2}) SET a.sum = a.sum + $n", params! { "n" => 4 })?.finish()?;
    ///     Ok(left)
    /// })?;
    /// assert_eq!(left.as_int(), Some(6));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An error of `work` that is not transient, or its last one; the commit fails; the session has an open transaction already.
    pub fn transaction<T>(
        &mut self,
        mut work: impl FnMut(&mut TransactionScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut pause = PAUSE;
        let mut left = self.database.options().attempts_max;
        loop {
            left = left.saturating_sub(1);
            self.begin(Mode::Write)?;
            let outcome = {
                let mut scope = TransactionScope { session: &mut *self };
                let outcome = work(&mut scope);
                outcome.and_then(|made| scope.session.commit().map(|_| made))
            };
            match outcome {
                Err(error) if error.retryable && left > 0 => {
                    world::threads::sleep(pause);
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                outcome => return outcome,
            }
        }
    }
}
