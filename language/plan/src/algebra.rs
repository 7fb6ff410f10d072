//! The operators. One struct a node; the enum [`Plan`] names them all, and one match in `execute` maps each to its operator.
//!
//! A plan is a tree; rows flow from the leaves up. Every node keeps the columns of its input and adds its own, except where it
//! says otherwise ([`Project`], [`Aggregate`], [`Union`]). `Match` is the unordered form that languages produce; the rewrite
//! `order_match` replaces it by scans, seeks, expands and joins, and `execute` never meets it.

pub use crate::counting::{CountArm, CountStep, CountTree, Counted};
use crate::expr::{Expr, LabelExpr, Name, Var};
use crate::functions::AggregateFunction;
pub use crate::intersect::IntersectArm;
use crate::pattern::{OrderHint, PathMode, Pattern, Selector};
pub use crate::pattern::{PartEdge, PathChoice, PatternPart};
use crate::scope::Scope;
use model::Direction;

/// An operator with its inputs.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is described at the struct of its name")]
pub enum Plan {
    /// One row without columns.
    Unit,
    /// The rows of the enclosing `Apply`, with these columns of theirs.
    Argument(Vec<Var>),
    Match(Box<Match>),
    ScanVertices(Box<ScanVertices>),
    SeekVertices(Box<SeekVertices>),
    SeekEdges(Box<SeekEdges>),
    SeekIds(Box<SeekIds>),
    Expand(Box<Expand>),
    ExpandPath(Box<ExpandPath>),
    ExpandPattern(Box<ExpandPattern>),
    CountMatches(Box<CountMatches>),
    CountStored(Box<CountStored>),
    Intersect(Box<Intersect>),
    Filter(Box<Filter>),
    Extend(Box<Extend>),
    Project(Box<Project>),
    Aggregate(Box<Aggregate>),
    Distinct(Box<Distinct>),
    Sort(Box<Sort>),
    Skip(Box<Skip>),
    Limit(Box<Limit>),
    Unwind(Box<Unwind>),
    Join(Box<Join>),
    Apply(Box<Apply>),
    Union(Box<Union>),
    CallProcedure(Box<CallProcedure>),
    Create(Box<Create>),
    Merge(Box<Merge>),
    Set(Box<Set>),
    Delete(Box<Delete>),
    ForEach(Box<ForEach>),
}

/// Finds all embeddings of a pattern for each input row; with `optional`, a row without any is kept once with nulls.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Rows to extend.
    pub input: Plan,
    /// The pattern.
    pub pattern: Pattern,
    /// OPTIONAL MATCH.
    pub optional: bool,
    /// Hints of the text on the order: followed wherever possible.
    pub hints: Vec<OrderHint>,
}

/// For each input row, every vertex that satisfies the label expression.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanVertices {
    /// Rows to extend; `Unit` at a leaf.
    pub input: Plan,
    /// New column.
    pub vertex: Var,
    /// Which vertices.
    pub labels: LabelExpr,
}

/// For each input row, the vertices found in the property index on (`label`, `keys`).
#[derive(Clone, Debug, PartialEq)]
pub struct SeekVertices {
    /// Rows to extend; `Unit` at a leaf.
    pub input: Plan,
    /// New column.
    pub vertex: Var,
    /// Label of the index.
    pub label: Name,
    /// Keys of the index.
    pub keys: Vec<Name>,
    /// The look-up.
    pub seek: Seek,
}

/// For each input row, the edges found in the property index on (`edge_type`, `keys`), with their ends: one row an edge, and for both
/// directions one for each end that `from` may be (a self-loop has one).
#[derive(Clone, Debug, PartialEq)]
pub struct SeekEdges {
    /// Rows to extend; `Unit` at a leaf.
    pub input: Plan,
    /// New column for the edge.
    pub edge: Var,
    /// New column for the left end as written.
    pub from: Var,
    /// New column for the right end as written.
    pub to: Var,
    /// Type of the index.
    pub edge_type: Name,
    /// Seen from `from`.
    pub direction: Direction,
    /// Keys of the index.
    pub keys: Vec<Name>,
    /// The look-up. Every condition is tested again above.
    pub seek: Seek,
}

/// A look-up in an index.
#[derive(Clone, Debug, PartialEq)]
pub enum Seek {
    /// Each key equals its expression, as `=` compares: null finds nothing.
    Equal(Vec<Expr>),
    /// The only key equals one of the elements of this list (each element counts once).
    In(Expr),
    /// The only key lies between bounds; the flag says whether a bound is included. The predicate is tested again above, so values
    /// of other types may be found too.
    Range(Option<(Expr, bool)>, Option<(Expr, bool)>),
    /// The only key is text that starts with this.
    Prefix(Expr),
}

impl Seek {
    /// Does it look for something else for each row?
    pub(crate) fn reads_rows(&self) -> bool {
        let reads = |expr: &Expr| !expr.free_variables().is_empty();
        match self {
            Seek::Equal(values) => values.iter().any(reads),
            Seek::In(value) | Seek::Prefix(value) => reads(value),
            Seek::Range(low, high) => low.iter().chain(high).any(|(value, _)| reads(value)),
        }
    }
}

/// For each input row, the vertices with these ids: an integer, or a list whose elements count once each; a value that is no integer finds nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct SeekIds {
    /// Rows to extend; `Unit` at a leaf.
    pub input: Plan,
    /// New column.
    pub vertex: Var,
    /// The id or ids.
    pub ids: Expr,
}

/// For each input row, the edges of a vertex. With `into`, `to` is already bound and only edges between the two are found.
#[derive(Clone, Debug, PartialEq)]
pub struct Expand {
    /// Rows to extend.
    pub input: Plan,
    /// Bound vertex to start from.
    pub from: Var,
    /// New column for the edge, where it is read.
    pub edge: Option<Var>,
    /// Column of the far end: new, or bound with `into`.
    pub to: Var,
    /// Admitted types; empty admits all.
    pub types: Vec<Name>,
    /// Seen from `from`.
    pub direction: Direction,
    /// Is `to` bound?
    pub into: bool,
    /// Labels of the far end.
    pub labels: LabelExpr,
    /// A loop of an undirected edge is met from both its ends, as Gremlin walks: set by a rewrite.
    pub loops_twice: bool,
    /// New columns for properties of the edge: set by a rewrite.
    pub properties: Vec<(Name, Var)>,
}

/// For each input row, runs of edges from a vertex: variable length and shortest paths.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpandPath {
    /// Rows to extend.
    pub input: Plan,
    /// Bound vertex to start from.
    pub from: Var,
    /// New column: the edges of the run from `from`, where it is read.
    pub edges: Option<Var>,
    /// The list in `edges` is written from `to` to `from` (the pattern was walked from its right end).
    pub edges_reversed: bool,
    /// New column: the number of edges, where only that is read.
    pub length: Option<Var>,
    /// Column of the far end: new, or bound with `into`.
    pub to: Var,
    /// Admitted types; empty admits all.
    pub types: Vec<Name>,
    /// Seen from `from`.
    pub direction: Direction,
    /// Is `to` bound?
    pub into: bool,
    /// Labels of the far end.
    pub labels: LabelExpr,
    /// Fewest edges.
    pub min: u32,
    /// Most edges.
    pub max: Option<u32>,
    /// What may repeat on the run.
    pub mode: PathMode,
    /// Which runs count.
    pub selector: Selector,
    /// Each far end once, however many runs lead there: set by a rewrite where no operator above can tell the difference, and where the ends are
    /// those of a breadth-first search over at least `min` (0 or 1) and at most `max` levels.
    pub distinct_ends: bool,
    /// A condition on every edge, spoken over this variable (it may also read the input row).
    pub edge_predicate: Option<(Var, Expr)>,
}

/// For each input row, the paths of a pattern from a bound vertex; with `into`, those to another.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpandPattern {
    /// Rows to extend.
    pub input: Plan,
    /// Bound vertex to start from.
    pub from: Var,
    /// Column of the far end: new, or bound with `into`.
    pub to: Var,
    /// Is `to` bound?
    pub into: bool,
    /// Parts from `from` to `to`.
    pub parts: Vec<PatternPart>,
    /// What may repeat along the whole path.
    pub mode: PathMode,
    /// Which paths between two ends are wanted.
    pub choice: PathChoice,
    /// New column: all edges in walking order.
    pub edges: Var,
    /// New column: a list of how often each part was gone through.
    pub rounds: Var,
    /// `edges` and `rounds` are written from `to` to `from` (the pattern is walked from its right end).
    pub reversed: bool,
    /// A condition on the whole path, over `from`, `to`, `edges`, `rounds` and the row: only paths that satisfy it are chosen from.
    pub predicate: Option<Expr>,
}

/// For each input row, in how many ways the pattern goes on from it: one new column. Rows without any way are dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct CountMatches {
    /// Rows to extend.
    pub input: Plan,
    /// Bound vertex from which the pattern goes on.
    pub start: Var,
    /// The trees that hang on it.
    pub trees: Vec<CountTree>,
    /// The other vertices of the core, each bound after those it refers to.
    pub steps: Vec<CountStep>,
    /// New column: how many ways.
    pub count: Var,
    /// Factor of the count: negative where it is subtracted from others.
    pub times: i64,
}

/// For each input row, how many of these there are, as every commit keeps count of them: one new column. Nothing is gone through.
#[derive(Clone, Debug, PartialEq)]
pub struct CountStored {
    /// Rows to extend.
    pub input: Plan,
    /// The kind of entities counted.
    pub counted: Counted,
    /// New column: how many.
    pub count: Var,
}

/// For each input row, the vertices in the neighbour lists of all arms; once for each combination of edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Intersect {
    /// Rows to extend.
    pub input: Plan,
    /// Edges from bound vertices, at least two.
    pub arms: Vec<IntersectArm>,
    /// New column: the vertex where they meet.
    pub to: Var,
    /// Its labels.
    pub labels: LabelExpr,
}

/// Rows for which the predicate is true.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Rows to test.
    pub input: Plan,
    /// The predicate.
    pub predicate: Expr,
}

/// Adds computed columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Extend {
    /// Rows to extend.
    pub input: Plan,
    /// New columns.
    pub items: Vec<(Var, Expr)>,
}

/// Exactly these columns, no others (WITH and RETURN).
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// Rows to compute from.
    pub input: Plan,
    /// Columns of the output.
    pub items: Vec<(Var, Expr)>,
}

/// Groups rows; the output has exactly the keys and the aggregates. Without keys there is always one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Rows to group.
    pub input: Plan,
    /// Grouping columns.
    pub keys: Vec<(Var, Expr)>,
    /// Aggregated columns.
    pub aggregates: Vec<(Var, AggregateCall)>,
}

/// One aggregate of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    /// Which.
    pub function: AggregateFunction,
    /// The arguments; none for `count(*)`, two for percentiles.
    pub arguments: Vec<Expr>,
    /// Equal arguments count once.
    pub distinct: bool,
}

/// Each combination of these columns once; other columns are dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct Distinct {
    /// Rows to thin out.
    pub input: Plan,
    /// Columns that are kept and compared.
    pub columns: Vec<Var>,
    /// Columns that are kept of the first row of each combination, and not compared. Which row is the first is unspecified, except above a sort.
    pub carried: Vec<Var>,
}

/// Orders rows; with `limit`, only the first rows are kept (top-k).
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// Rows to order.
    pub input: Plan,
    /// Keys, leading key first.
    pub keys: Vec<SortKey>,
    /// Rows to keep (skip included), set by a rewrite.
    pub limit: Option<Expr>,
}

/// A sort key.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// The sort key.
    pub expr: Expr,
    /// Largest first.
    pub descending: bool,
    /// The language whose order it is.
    pub order: KeyOrder,
}

/// How values of a sort key are compared, and whether a row with a null key is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOrder {
    /// The total order of Cypher, with null as the greatest.
    #[default]
    Total,
    /// Gremlin's: numbers and truth values come first and text comes last; a row whose key is null is left out.
    Typed,
}

/// Drops the first rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Skip {
    /// Rows to thin out.
    pub input: Plan,
    /// How many; a constant expression, not negative.
    pub count: Expr,
}

/// Keeps the first rows, and stops the work below when it has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Rows to thin out.
    pub input: Plan,
    /// How many; a constant expression, not negative.
    pub count: Expr,
    /// How the work below runs: small pieces first, so that enough is found early, or not.
    pub scope: Scope,
}

/// One row for each element of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Unwind {
    /// Rows to extend.
    pub input: Plan,
    /// The list.
    pub list: Expr,
    /// New column: the element.
    pub variable: Var,
}

/// Pairs of rows that agree on `on` (a hash join); all pairs where `on` is empty. Both sides read the same enclosing argument, unless the
/// build side is made `once`.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Built into the table: the smaller side.
    pub build: Plan,
    /// Streamed past it.
    pub probe: Plan,
    /// Columns that both sides have and that must be equal, as `=` compares: null and NaN equal nothing.
    pub on: Vec<Var>,
    /// The build side reads nothing of the enclosing argument, and is made once for all its rows.
    pub once: bool,
}

/// Runs `inner` for each input row; `inner` starts from `Argument(imports)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply {
    /// Rows to extend.
    pub input: Plan,
    /// The plan that is run for each.
    pub inner: Plan,
    /// Columns that `inner` reads of the row.
    pub imports: Vec<Var>,
    /// How its rows are joined back.
    pub kind: ApplyKind,
    /// How it runs.
    pub scope: Scope,
    /// Which instance runs first, over the columns of the outer row; read where the scope's order is `By`, and there then.
    pub rank: Option<Expr>,
}

/// How the rows of an `Apply`'s inner plan are joined back to the row they were run for.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplyKind {
    /// One output row for each inner row, with these columns of it (CALL { … RETURN …}).
    Inner(Vec<Var>),
    /// Likewise, and the row once with nulls where there is none (OPTIONAL MATCH).
    Optional(Vec<Var>),
    /// The row, where there is an inner row.
    Semi,
    /// The row, where there is none.
    Anti,
    /// The row with a truth value: is there an inner row?
    Exists(Var),
    /// The row with the number of inner rows.
    Count(Var),
    /// The row with the list of the inner rows' values of `column`.
    Collect {
        /// New column: the list.
        list: Var,
        /// Inner column that is listed.
        column: Var,
    },
    /// The row unchanged; the inner plan is run for its writes (CALL { … } without RETURN).
    Unit,
    /// The inner plan is run again on its own results: one output row for each way to an end within the rounds.
    Repeat(Repeat),
}

/// Rounds of an inner plan that goes from a vertex to others (a repeated group with a sub-query in it). Anything may repeat: it is a walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// Import that holds the vertex where a round begins; for the first round it is the outer row's.
    pub at: Var,
    /// Inner column: the vertex where the round ends, and the next one begins.
    pub next: Var,
    /// New column: where the last round ended.
    pub to: Var,
    /// Fewest rounds.
    pub min: u32,
    /// Most rounds.
    pub max: u32,
    /// Each end once for each number of rounds, however many ways lead there: set by a rewrite where no operator above can tell.
    pub distinct: bool,
}

/// Rows of both inputs; with `distinct`, each combination once. Column i of each input feeds column i of the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// First.
    pub left: Plan,
    /// Second.
    pub right: Plan,
    /// Output column, column of the left, column of the right.
    pub columns: Vec<(Var, Var, Var)>,
    /// UNION without ALL.
    pub distinct: bool,
}

/// Calls a procedure for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct CallProcedure {
    /// Rows to extend.
    pub input: Plan,
    /// Full name, e.g. `db.labels`.
    pub name: Name,
    /// Arguments.
    pub arguments: Vec<Expr>,
    /// Yielded field, new column.
    pub yields: Vec<(Name, Var)>,
    /// For a node program: its result may come from the cache, and is stored there.
    pub is_cached: bool,
}

/// Creates vertices and edges for each row; edges may join vertices created here. A write sees all its input before it begins, and every operator
/// above it sees its writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Create {
    /// Rows to extend.
    pub input: Plan,
    /// New vertices.
    pub vertices: Vec<CreateVertex>,
    /// New edges.
    pub edges: Vec<CreateEdge>,
}

/// A vertex to create.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateVertex {
    /// New column.
    pub variable: Var,
    /// Labels.
    pub labels: Vec<Name>,
    /// A map of properties.
    pub properties: Option<Expr>,
}

/// An edge to create.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateEdge {
    /// New column.
    pub variable: Var,
    /// Type.
    pub edge_type: Name,
    /// The type as a value of the row, instead: a text, or a list of one.
    pub dynamic_type: Option<Expr>,
    /// Where it starts.
    pub source: Var,
    /// Where it ends.
    pub target: Var,
    /// A map of properties.
    pub properties: Option<Expr>,
}

/// For each row in turn: the embeddings of the pattern, or, where there is none, creates one. A row sees the entities that earlier rows created.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// Rows to extend.
    pub input: Plan,
    /// Finds the embeddings; starts from `Argument(imports)`.
    pub inner: Plan,
    /// Columns that `inner` reads.
    pub imports: Vec<Var>,
    /// The entities to create where there is none.
    pub vertices: Vec<CreateVertex>,
    /// Likewise.
    pub edges: Vec<CreateEdge>,
    /// ON CREATE SET.
    pub on_create: Vec<SetItem>,
    /// ON MATCH SET.
    pub on_match: Vec<SetItem>,
    /// Path variables of the pattern, from their parts.
    pub paths: Vec<(Var, Vec<Var>)>,
}

/// Changes properties and labels for each row (SET and REMOVE), in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// Rows to work through.
    pub input: Plan,
    /// Changes.
    pub items: Vec<SetItem>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItem {
    /// `subject.key = value`; null removes.
    Property(Expr, Name, Expr),
    /// `subject[key] = value`; null removes.
    DynamicProperty(Expr, Expr, Expr),
    /// `variable = map` or, merging, `variable += map`.
    Properties {
        /// Vertex or edge.
        variable: Var,
        /// A map, vertex or edge.
        value: Expr,
        /// Keep properties that the map does not name.
        merge: bool,
    },
    /// `variable:A:B`
    AddLabels(Var, Vec<Name>),
    /// `REMOVE variable:A:B`
    RemoveLabels(Var, Vec<Name>),
    /// `variable:$(labels)`, added or removed.
    DynamicLabels {
        /// Vertex.
        variable: Var,
        /// A text or a list of texts.
        labels: Expr,
        /// Added, not removed.
        add: bool,
    },
}

/// Deletes vertices, edges and paths; with `detach`, a vertex's edges too.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// Rows to work through.
    pub input: Plan,
    /// The entities to delete.
    pub targets: Vec<Expr>,
    /// DETACH DELETE.
    pub detach: bool,
}

/// Runs updates for each element of a list; adds no column.
#[derive(Clone, Debug, PartialEq)]
pub struct ForEach {
    /// Rows to work through.
    pub input: Plan,
    /// Bound to each element.
    pub variable: Var,
    /// The list.
    pub list: Expr,
    /// Updates over `Argument(imports + variable)`.
    pub body: Plan,
    /// Columns that the body reads.
    pub imports: Vec<Var>,
}
