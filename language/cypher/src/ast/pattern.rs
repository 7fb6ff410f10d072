//! Graph patterns: those of `MATCH`, `CREATE`, `MERGE`, predicates and subqueries.

use super::expression::Expression;
use super::name::Name;
use text::Span;

/// `[variable =] [selector] elements`.
#[derive(Clone, Debug, PartialEq)]
pub struct PathPattern {
    /// The name of the path.
    pub variable: Option<Name>,
    /// Which of the matching paths are wanted.
    pub selector: Selector,
    /// What may repeat on the path; `None` where the text does not say.
    pub mode: Option<PathMode>,
    /// Nodes, relationships and groups from left to right. Begins and ends with a node or a group.
    pub elements: Vec<PatternElement>,
    /// The whole pattern.
    pub span: Span,
}

/// Which of the paths between two ends are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    /// All of them.
    Every,
    /// `shortestPath(…)`.
    ShortestPath,
    /// `allShortestPaths(…)`.
    AllShortestPaths,
    /// `ANY k`.
    Any(u64),
    /// `SHORTEST k`; `ANY SHORTEST` is `SHORTEST 1`.
    Shortest(u64),
    /// `ALL SHORTEST`.
    AllShortest,
    /// `SHORTEST k GROUPS`.
    ShortestGroups(u64),
}

/// What may repeat on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMode {
    /// `WALK`: anything.
    Walk,
    /// `TRAIL`: nodes.
    Trail,
    /// `ACYCLIC`: nothing.
    Acyclic,
    /// `SIMPLE`: nothing, but the last node may be the first.
    Simple,
}

/// One step of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum PatternElement {
    /// `(…)`.
    Node(NodePattern),
    /// `-[…]-`.
    Relationship(RelationshipPattern),
    /// `((…)-[…]-(…) WHERE …){1,3}`.
    Group(GroupPattern),
}

/// `(variable:labels {properties} WHERE condition)`.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePattern {
    /// Its name.
    pub variable: Option<Name>,
    /// Its labels.
    pub labels: Option<LabelExpression>,
    /// A map or a parameter.
    pub properties: Option<Expression>,
    /// `WHERE`.
    pub condition: Option<Expression>,
    /// The whole pattern, with brackets.
    pub span: Span,
}

/// `-[variable:types*1..3 {properties} WHERE condition]->{1,3}`.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationshipPattern {
    /// Its name.
    pub variable: Option<Name>,
    /// Which way it points.
    pub direction: Direction,
    /// Its types.
    pub types: Option<LabelExpression>,
    /// `*1..3`.
    pub length: Option<LengthRange>,
    /// A map or a parameter.
    pub properties: Option<Expression>,
    /// `WHERE`.
    pub condition: Option<Expression>,
    /// `{1,3}`, `+` or `*` after the arrow.
    pub quantifier: Option<Quantifier>,
    /// The whole pattern, with its arrows.
    pub span: Span,
}

/// Which way a relationship points, read from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `-->`.
    Outgoing,
    /// `<--`.
    Incoming,
    /// `--` or `<-->`.
    Either,
}

/// `*`, `*n`, `*min..max` inside a relationship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthRange {
    /// Least steps; 1 if not given.
    pub min: Option<u64>,
    /// Most steps; unbounded if not given.
    pub max: Option<u64>,
}

/// How often a group or a quantified relationship is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantifier {
    /// Least repetitions.
    pub min: u64,
    /// Most repetitions; unbounded if not given.
    pub max: Option<u64>,
}

/// A parenthesised path, with its own condition and quantifier.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPattern {
    /// The repeated path.
    pub path: Box<PathPattern>,
    /// `WHERE`, evaluated in each repetition.
    pub condition: Option<Expression>,
    /// How often; once if not given.
    pub quantifier: Option<Quantifier>,
    /// The whole group.
    pub span: Span,
}

/// A condition on labels or types.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelExpression {
    /// Has this label or type.
    Name(Name),
    /// `%`: has any.
    Any,
    /// `$(value)` or `$all(value)`: has all of the names that a text or a list of texts gives; `$any(value)`: has any of them.
    Dynamic {
        /// One of them is enough.
        any: bool,
        /// The names.
        value: Box<Expression>,
    },
    /// `!`.
    Not(Box<LabelExpression>),
    /// `&`, or `:` between labels. At least two.
    And(Vec<LabelExpression>),
    /// `|`. At least two.
    Or(Vec<LabelExpression>),
}
