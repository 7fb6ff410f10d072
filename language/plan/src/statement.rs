//! A whole request: the plan, the columns it answers with, and what the doors need to know about it.

use crate::algebra::Plan;
use crate::expr::{Expr, Name, Var};
use model::ValueType;

/// A request, lowered from its language.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What to do.
    pub kind: StatementKind,
    /// Names of the variables; `Var(i)` is entry i. Names that users cannot write begin with a blank.
    pub variables: Vec<Name>,
    /// Parameters that the text names.
    pub parameters: Vec<Name>,
    /// Run it, or show the plan.
    pub mode: Mode,
    /// Scan-avoidance hints and the like that the text gave, in its own words.
    pub hints: Vec<String>,
    /// `AS OF`: the version of the graph that a reading query is asked of, as a commit's place or a point in time. An expression
    /// over constants and parameters alone; `None` asks the newest version.
    pub as_of: Option<Expr>,
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

/// What a statement does.
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
    /// A listing of what the database does; listings of the catalogue are queries.
    Show(Show),
    /// KILL QUERY id.
    Kill(String),
}

/// A catalogue command.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaCommand {
    /// CREATE INDEX.
    CreateIndex {
        /// Name, or one is made.
        name: Option<Name>,
        /// About what.
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
        /// About what.
        target: Target,
        /// On which keys.
        keys: Vec<Name>,
        /// What must hold.
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

/// What an index or constraint is about, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Vertices with a label.
    Vertices(Name),
    /// Edges of a type.
    Edges(Name),
}

/// What a constraint demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in model::schema::ConstraintRule")]
pub enum Rule {
    Unique,
    Exists,
    NodeKey,
    Typed(ValueType),
}

/// What SHOW lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Show {
    Queries,
}
