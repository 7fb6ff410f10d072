//! The shell's view of a database, be it in this process or behind a server: statements, transactions, names, and answers.

mod local;

pub use local::Local;

use database::entity::Hydrated;
use database::{Error, GremlinRows, Params, RunningQuery, Summary};
use std::sync::Arc;

/// The answer to a statement, read to its end once.
pub trait StatementAnswer {
    /// Titles.
    fn columns(&self) -> Vec<Arc<str>>;
    /// Do its rows come as they happen, without an end?
    fn is_endless(&self) -> bool;
    /// Rows that come next, one at least; `None` after the last.
    ///
    /// # Errors
    /// The statement fails while it runs.
    fn next_rows(&mut self) -> Result<Option<Vec<Vec<Hydrated>>>, Error>;
    /// The summary of the statement; complete after the last row.
    fn summary(&self) -> Summary;
}

/// Names in the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Labels.
    pub labels: Vec<String>,
    /// Relationship types.
    pub types: Vec<String>,
    /// Property keys.
    pub keys: Vec<String>,
}

/// How often names are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameCounts {
    /// Nodes.
    pub nodes: u64,
    /// Nodes of each label.
    pub labels: Vec<u64>,
    /// Relationships.
    pub relationships: u64,
    /// Relationships of each type.
    pub types: Vec<u64>,
}

/// Ends the running statement, from another thread.
pub type Interrupt = Arc<dyn Fn() + Send + Sync>;

/// A conversation with a database.
pub trait Talk {
    /// Runs a statement.
    ///
    /// # Errors
    /// It is wrong, or fails at once.
    fn query(&mut self, text: &str, params: &Params) -> Result<Box<dyn StatementAnswer + '_>, Error>;
    /// Runs a text in Gremlin.
    ///
    /// # Errors
    /// The text is wrong, or this database does not take Gremlin.
    fn gremlin(&mut self, text: &str, params: &Params) -> Result<GremlinRows, Error>;
    /// Begins a transaction.
    ///
    /// # Errors
    /// One is open.
    fn begin(&mut self) -> Result<(), Error>;
    /// Commits it.
    ///
    /// # Errors
    /// There is none, or it conflicts with another.
    fn commit(&mut self) -> Result<(), Error>;
    /// Forgets it.
    ///
    /// # Errors
    /// There is none.
    fn rollback(&mut self) -> Result<(), Error>;
    /// Is one open?
    fn in_transaction(&self) -> bool;
    /// A statement failed: the open transaction can only be rolled back.
    fn break_transaction(&mut self);
    /// Ends the running statement.
    fn interrupter(&self) -> Interrupt;
    /// Forgets an interruption that came too late, so that it does not end the next statement.
    fn settle_interrupt(&mut self);
    /// Changes when there are new names; a number that only serves to be compared.
    fn names_version(&mut self) -> u64;
    /// The names.
    ///
    /// # Errors
    /// The server does not tell.
    fn names(&mut self) -> Result<Names, Error>;
    /// How often these names are used, in their order.
    ///
    /// # Errors
    /// The server does not tell.
    fn counts(&mut self, names: &Names) -> Result<NameCounts, Error>;
    /// Queries that run now.
    ///
    /// # Errors
    /// The server does not tell.
    fn running(&mut self) -> Result<Vec<RunningQuery>, Error>;
    /// Ends one of them; false where there is none of that id.
    ///
    /// # Errors
    /// It is no id.
    fn kill(&mut self, id: &str) -> Result<bool, Error>;
}
