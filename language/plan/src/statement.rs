//! A whole request: the plan, its result columns, and further properties for the interfaces.

use crate::algebra::Plan;
use crate::expr::{Expr, Name, Var};
use crate::physical::{OperatorDriver, Physical, lower};
use model::ValueType;
use std::sync::Arc;
use std::time::Duration;

/// A request, lowered from its language.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Its kind.
    pub kind: StatementKind,
    /// Names of the variables; `Var(i)` is entry i. Names that users cannot write begin with a blank.
    pub variables: Vec<Name>,
    /// Parameters that the text names.
    pub parameters: Vec<Name>,
    /// Run it, or show the plan.
    pub mode: Mode,
    /// Scan-avoidance hints and the like that the text gave, in its own words.
    pub hints: Vec<String>,
    /// `AS OF`: the version of the graph that a reading query reads, as a commit version or a point in time. An expression over constants and
    /// parameters alone; `None` reads the newest version.
    pub as_of: Option<Expr>,
    /// `READ NO OLDER THAN`: it may miss commits within this time.
    pub no_older_than: Option<Duration>,
    /// `CALL { … } IN TRANSACTIONS`: the part that runs before the plan of `kind`, which then is only the part after it.
    pub in_transactions: Option<Box<InTransactions>>,
    /// How its plan runs; empty until it is [lowered](Statement::lower).
    pub physical: Arc<Physical>,
}

/// The prefix of the hint on how the sources of searched paths are distributed among executors; its policy follows.
pub const RECURSIVE: &str = "recursive = ";

impl Statement {
    /// Chooses how each node of its plan runs: the last step of [`crate::optimize()`]. A plan that is changed later is lowered anew.
    pub fn lower(&mut self) {
        if let StatementKind::Query { plan, columns } = &self.kind {
            self.physical = Arc::new(lower(plan, columns));
        }
    }
    /// Does it read nothing but what `SHOW QUERIES` or `SHOW TRANSACTIONS` lists?
    pub fn only_lists_work(&self) -> bool {
        matches!(&self.kind, StatementKind::Query { plan, .. } if plan.only_lists_work())
    }
    /// Which driver runs it first, see [`Physical::driver`]; transactions of its own are run by executors.
    pub fn driver(&self) -> OperatorDriver {
        match self.in_transactions {
            None => self.physical.driver(),
            Some(_) => OperatorDriver::Exchange,
        }
    }
    /// Does it change the graph?
    pub fn writes(&self) -> bool {
        let own = matches!(&self.kind, StatementKind::Query { plan, .. } if plan.writes());
        own || self.in_transactions.as_ref().is_some_and(|batches| batches.batch.writes())
    }
}

/// The parameter by which rows are handed from one statement of [`InTransactions`] to the next: a list of lists of columns. No text can
/// name it.
pub const ROWS_PARAMETER: &str = " rows";

/// A statement in three: rows are read, cut into batches that are each run in a transaction of their own, and read on.
#[derive(Clone, Debug, PartialEq)]
pub struct InTransactions {
    /// Yields the rows; it only reads.
    pub input: Statement,
    /// Runs for each batch, which it takes from [`ROWS_PARAMETER`]; its columns are those of the input and those it returns.
    pub batch: Statement,
    /// Rows of a batch, a constant or a parameter; [`BATCH_ROWS`] if not given.
    pub size: Option<Expr>,
    /// What happens to the rest when one fails.
    pub on_error: OnError,
    /// Whether each row gets a column with the status of its transaction.
    pub reports: bool,
    /// Whether there is a part after it, and so whether rows are buffered: it takes them from [`ROWS_PARAMETER`].
    pub continues: bool,
}

/// Rows of a batch where the text does not say.
pub const BATCH_ROWS: usize = 1_000;

/// What happens to the rest when a transaction fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnError {
    /// The statement fails; committed batches stay.
    Fail,
    /// The next transactions are run.
    Continue,
    /// No more transactions are run.
    Break,
}

/// Run it, or show the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Run.
    Run,
    /// EXPLAIN: show the plan with estimates.
    Explain,
    /// PROFILE: run, then show the plan with true rows and time.
    Profile,
}

/// The kind of a statement; listings of SHOW are queries too, see [`crate::procedures`].
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// A query, reading or writing.
    Query {
        /// Rows.
        plan: Plan,
        /// Column titles and the variables that feed them; empty for a query without RETURN.
        columns: Vec<(Name, Var)>,
    },
    /// A catalogue command.
    Schema(SchemaCommand),
    /// KILL QUERY id.
    Kill(String),
    /// A command about standing queries.
    Standing(crate::standing::StandingCommand),
    /// A command about users and passwords.
    Users(crate::users::UserCommand),
    /// A command about roles and privileges.
    Roles(crate::roles::RoleCommand),
    /// A command about node programs.
    Program(crate::node_programs::ProgramCommand),
    /// A command about tenants.
    Account(crate::accounts::AccountCommand),
}

/// A catalogue command.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaCommand {
    /// CREATE INDEX.
    CreateIndex {
        /// Name, or one is made.
        name: Option<Name>,
        /// The target.
        target: Target,
        /// On which keys.
        keys: Vec<Name>,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP INDEX.
    DropIndex {
        /// Name.
        name: Name,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE CONSTRAINT.
    CreateConstraint {
        /// Name, or one is made.
        name: Option<Name>,
        /// The target.
        target: Target,
        /// On which keys.
        keys: Vec<Name>,
        /// The rule.
        rule: Rule,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP CONSTRAINT.
    DropConstraint {
        /// Name.
        name: Name,
        /// IF EXISTS.
        if_exists: bool,
    },
}

/// The target of an index or constraint, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Vertices with a label.
    Vertices(Name),
    /// Edges of a type.
    Edges(Name),
}

/// The rule of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in model::schema::ConstraintRule")]
pub enum Rule {
    Unique,
    Exists,
    NodeKey,
    Typed(ValueType),
}
