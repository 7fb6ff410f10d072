//! The syntax tree of a Cypher text, with positions: statements here; queries, expressions and patterns beside.
//!
//! The tree is faithful to the text except for what has no meaning: brackets, the spelling of keywords and
//! numbers, `:A:B` for `:A&B`. Two trees are equal when they mean the same, since all spans compare equal.

mod expression;
mod name;
mod pattern;
mod query;
mod schema;
mod walk;

pub use expression::*;
pub use name::*;
pub use pattern::*;
pub use query::*;
pub use schema::*;

use text::Span;

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Run it, or show its plan.
    pub mode: Mode,
    /// `CYPHER scopes = off`: nothing is ended before its time, for comparison.
    pub scopes_off: bool,
    /// `CYPHER recursive = …`: how the sources of searched paths are shared out.
    pub recursive: Option<String>,
    /// `AS OF`: the version of the graph that is read.
    pub as_of: Option<Expression>,
    /// `READ NO OLDER THAN 50 ms`, in milliseconds: it may miss later commits.
    pub no_older_than_ms: Option<u64>,
    /// The body.
    pub body: StatementBody,
    /// The whole statement, without a closing semicolon.
    pub span: Span,
}

/// The mode of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Run it and return its rows.
    Run,
    /// `EXPLAIN`: plan it, do not run it.
    Explain,
    /// `PROFILE`: run it and report rows and time of each operator.
    Profile,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementBody {
    /// A query that reads or writes the graph.
    Query(Query),
    /// Creates or drops an index or constraint.
    Schema(SchemaCommand),
    /// `CREATE TENANT`, `ALTER TENANT`, `DROP TENANT`.
    Tenant(plan::accounts::AccountCommand),
    /// `CREATE PROGRAM`, `DROP PROGRAM`.
    Program(plan::node_programs::ProgramCommand),
    /// `CREATE USER`, `ALTER USER`, `DROP USER`.
    User(plan::users::UserCommand),
    /// A command about roles and privileges.
    Role(plan::roles::RoleCommand),
    /// `CREATE STANDING QUERY`, `DROP STANDING QUERY`, `SUBSCRIBE`.
    Standing(plan::standing::StandingCommand),
    /// `SHOW …`.
    Show(Box<Show>),
    /// `KILL QUERY id, …` or `TERMINATE QUERIES id, …`.
    Terminate(Vec<Expression>),
}
