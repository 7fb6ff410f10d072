//! Queries and their clauses.

use super::expression::Expression;
use super::name::Name;
use super::pattern::{LabelExpression, PathPattern};
use text::Span;

/// Single queries joined by `UNION`.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The query before the first `UNION`.
    pub first: SingleQuery,
    /// The others, each with whether its `UNION` is followed by `ALL`.
    pub unions: Vec<Union>,
}

/// `UNION [ALL] query`.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// `UNION ALL`: duplicates are kept.
    pub all: bool,
    /// The query after it.
    pub query: SingleQuery,
    /// The keywords.
    pub span: Span,
}

/// A sequence of clauses.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleQuery {
    /// In order of the text; never empty when it comes from the parser.
    pub clauses: Vec<Clause>,
    /// All of them.
    pub span: Span,
}

/// One clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Its kind.
    pub kind: ClauseKind,
    /// From its keyword to its last token.
    pub span: Span,
}

/// The kinds of clauses.
#[derive(Clone, Debug, PartialEq)]
pub enum ClauseKind {
    /// `[OPTIONAL] MATCH`.
    Match(Match),
    /// `WITH`, with the condition after it.
    With(Projection, Option<Expression>),
    /// `RETURN`.
    Return(Projection),
    /// `UNWIND list AS variable`.
    Unwind(Expression, Name),
    /// `CREATE`.
    Create(Vec<PathPattern>),
    /// `MERGE`.
    Merge(Merge),
    /// `SET`.
    Set(Vec<SetItem>),
    /// `REMOVE`.
    Remove(Vec<RemoveItem>),
    /// `[DETACH] DELETE`.
    Delete(Delete),
    /// `FOREACH (variable IN list | clauses)`.
    Foreach(Foreach),
    /// `CALL { query }`.
    CallSubquery(CallSubquery),
    /// `CALL procedure(…) YIELD …`.
    CallProcedure(CallProcedure),
    /// `LOAD CSV`.
    LoadCsv(LoadCsv),
    /// `LOAD JSON`.
    LoadJson(LoadFile),
    /// `LOAD PARQUET`.
    LoadParquet(LoadFile),
    /// `FINISH`: run for the effects, return nothing.
    Finish,
}

/// `[OPTIONAL] MATCH patterns WHERE condition`.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Rows without a match are kept, with nulls.
    pub optional: bool,
    /// `REPEATABLE ELEMENTS`: relationships may repeat within the clause.
    pub repeatable_elements: bool,
    /// The patterns between commas.
    pub patterns: Vec<PathPattern>,
    /// `USING …` hints.
    pub hints: Vec<Hint>,
    /// `WHERE`.
    pub condition: Option<Expression>,
}

/// A planner hint after a `MATCH`.
#[derive(Clone, Debug, PartialEq)]
pub enum Hint {
    /// `USING INDEX variable:Label(key, …)`.
    Index(Name, Name, Vec<Name>),
    /// `USING SCAN variable:Label`.
    Scan(Name, Name),
    /// `USING JOIN ON variable, …`.
    Join(Vec<Name>),
    /// `USING SCOPE …`: how the sub-queries in the condition, and the repeated group in the pattern, run.
    Scope(ScopeHint),
}

/// `USING SCOPE OFF` or `USING SCOPE [order] [WITHIN order] [MAX n] [ROWS n] [WIDE]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScopeHint {
    /// `OFF`.
    pub off: bool,
    /// Which instance runs first.
    pub order: Option<ScopeOrder>,
    /// Which operator within it.
    pub within: Option<plan::scope::OperatorOrder>,
    /// Instances that live at once.
    pub instances_max: Option<u32>,
    /// Rows of an instance.
    pub rows: Option<u32>,
    /// `WIDE`.
    pub wide: bool,
}

/// Which instance of a scope runs first.
#[derive(Clone, Debug, PartialEq)]
pub enum ScopeOrder {
    /// `FIFO`.
    Fifo,
    /// `BFS`.
    Bfs,
    /// `DFS`.
    Dfs,
    /// `BY expression [DESC]`.
    By(Expression, bool),
}

/// The common part of `WITH` and `RETURN`.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// `DISTINCT`.
    pub distinct: bool,
    /// `*`: all variables in scope, before the items.
    pub star: bool,
    /// The columns.
    pub items: Vec<ProjectionItem>,
    /// `ORDER BY`.
    pub order: Vec<SortItem>,
    /// `SKIP`.
    pub skip: Option<Expression>,
    /// `LIMIT`.
    pub limit: Option<Expression>,
    /// The whole projection, with its keyword.
    pub span: Span,
}

/// `expression [AS name]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionItem {
    /// The value.
    pub expression: Expression,
    /// Its name; without one the column is named by the text under `span`.
    pub alias: Option<Name>,
    /// The text of the expression, brackets included.
    pub span: Span,
}

/// `expression [ASC | DESC]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SortItem {
    /// The key.
    pub expression: Expression,
    /// Largest first.
    pub descending: bool,
}

/// `MERGE pattern ON CREATE SET … ON MATCH SET …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// The pattern.
    pub pattern: PathPattern,
    /// Done when it was made.
    pub on_create: Vec<SetItem>,
    /// Done when it was found.
    pub on_match: Vec<SetItem>,
}

/// One assignment of `SET`.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItem {
    /// `target.key = value`.
    Property(Expression, Name, Expression),
    /// `target[key] = value`.
    DynamicProperty(Expression, Expression, Expression),
    /// `variable = map`: all properties are replaced.
    Replace(Name, Expression),
    /// `variable += map`: the properties of the map are added or replaced.
    Merge(Name, Expression),
    /// `variable:Label:Label`; names, or dynamic ones.
    Labels(Name, Vec<LabelExpression>),
}

/// One removal of `REMOVE`.
#[derive(Clone, Debug, PartialEq)]
pub enum RemoveItem {
    /// `target.key`.
    Property(Expression, Name),
    /// `target[key]`.
    DynamicProperty(Expression, Expression),
    /// `variable:Label:Label`; names, or dynamic ones.
    Labels(Name, Vec<LabelExpression>),
}

/// `[DETACH] DELETE expression, …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// Relationships of deleted nodes go with them.
    pub detach: bool,
    /// The entities to delete.
    pub targets: Vec<Expression>,
}

/// `FOREACH (variable IN list | clauses)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreach {
    /// The element.
    pub variable: Name,
    /// The list.
    pub list: Expression,
    /// Writing clauses.
    pub body: Vec<Clause>,
}

/// `[OPTIONAL] CALL [(imports)] { query } [IN TRANSACTIONS …]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSubquery {
    /// Rows without a result are kept, with nulls.
    pub optional: bool,
    /// The scope clause; without it a leading `WITH` of the query imports.
    pub imports: Option<Imports>,
    /// The subquery.
    pub query: Query,
    /// `IN TRANSACTIONS …`.
    pub in_transactions: Option<InTransactions>,
}

/// `IN TRANSACTIONS [OF n ROWS] [ON ERROR …] [REPORT STATUS AS variable]`.
#[derive(Clone, Debug, PartialEq)]
pub struct InTransactions {
    /// Rows of a transaction, if given.
    pub rows: Option<Expression>,
    /// What happens to the rest when one fails.
    pub on_error: OnError,
    /// The column with the status of each row's transaction.
    pub report: Option<Name>,
}

/// What happens to the rest when a transaction fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The statement fails; committed batches stay.
    Fail,
    /// The next transactions are run.
    Continue,
    /// No more transactions are run.
    Break,
}

/// The scope clause of a subquery.
#[derive(Clone, Debug, PartialEq)]
pub enum Imports {
    /// `(*)`.
    All,
    /// `(a, b)`, possibly none.
    Names(Vec<Name>),
}

/// `LOAD CSV [WITH HEADERS] FROM file AS variable [FIELDTERMINATOR 'c']`.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadCsv {
    /// Records are maps by the titles of the first.
    pub headers: bool,
    /// The file.
    pub file: Expression,
    /// Each record.
    pub variable: Name,
    /// The separator of fields; a comma if not given.
    pub separator: Option<String>,
}

/// `LOAD JSON FROM file AS variable`, and the same of Parquet.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadFile {
    /// The file.
    pub file: Expression,
    /// Each value, or row.
    pub variable: Name,
}

/// `[OPTIONAL] CALL procedure(arguments) [CACHED] YIELD columns`.
#[derive(Clone, Debug, PartialEq)]
pub struct CallProcedure {
    /// Rows without a result are kept, with nulls.
    pub optional: bool,
    /// The name, split at its dots.
    pub name: Vec<Name>,
    /// `None`: without brackets, arguments are taken from the parameters of the same names.
    pub arguments: Option<Vec<Expression>>,
    /// `CACHED`, behind the call of a node program.
    pub is_cached: bool,
    /// The fields of the result that are used; `None` without `YIELD`.
    pub yields: Option<Yield>,
}

/// `YIELD * | column [AS name], … [WHERE condition]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Yield {
    /// `*`.
    pub star: bool,
    /// Columns with their new names.
    pub items: Vec<(Name, Option<Name>)>,
    /// `WHERE`.
    pub condition: Option<Expression>,
}
