//! Expressions: everything that has a value.

use super::name::Name;
use super::pattern::{LabelExpression, PathPattern};
use super::query::Query;
use text::Span;

/// An expression with its place (inside its outermost brackets, if it has any).
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Its kind.
    pub kind: ExpressionKind,
    /// Where it stands.
    pub span: Span,
}

/// A literal value.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// `1`, `0xff`, `0o17`, with its sign.
    Integer(i64),
    /// `1.5`, `1e3`, with its sign.
    Float(f64),
    /// `'text'`, without quotes and escapes.
    String(String),
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// A literal value.
    Literal(Literal),
    /// `$name`.
    Parameter(String),
    /// A variable.
    Variable(String),
    /// `[a, b]`.
    List(Vec<Expression>),
    /// `{key: value}`.
    Map(Vec<(Name, Expression)>),
    /// `target.key`.
    Property(Box<Expression>, Name),
    /// `target[index]`.
    Index(Box<Expression>, Box<Expression>),
    /// `target[from..to]`.
    Slice(Box<Expression>, Option<Box<Expression>>, Option<Box<Expression>>),
    /// `NOT a`, `-a`, `+a`.
    Unary(UnaryOperator, Box<Expression>),
    /// `a AND b AND c`; at least two.
    And(Vec<Expression>),
    /// `a OR b OR c`; at least two.
    Or(Vec<Expression>),
    /// `a XOR b XOR c`; at least two.
    Xor(Vec<Expression>),
    /// `a + b` and its like.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `a < b <= c`: each neighbour pair is compared, all must hold.
    Comparison(Box<Expression>, Vec<(ComparisonOperator, Expression)>),
    /// `a IS NULL`; negated, `a IS NOT NULL`.
    IsNull {
        /// The operand.
        operand: Box<Expression>,
        /// `IS NOT NULL`.
        negated: bool,
    },
    /// `a:Label`.
    HasLabels(Box<Expression>, LabelExpression),
    /// `a IS :: INTEGER | FLOAT`; negated, `a IS NOT :: …`.
    IsTyped {
        /// The operand.
        operand: Box<Expression>,
        /// The type.
        wanted: plan::types::TypeTest,
        /// `IS NOT ::`.
        negated: bool,
    },
    /// `a IS NFC NORMALIZED`; negated, `a IS NOT NFC NORMALIZED`.
    IsNormalized {
        /// The operand.
        operand: Box<Expression>,
        /// The normal form, in upper case; `NFC` if not given.
        form: String,
        /// `IS NOT`.
        negated: bool,
    },
    /// Within a `WHEN` of `CASE subject`: the subject, of which `WHEN < 3` only writes the rest.
    CaseSubject,
    /// `name(arguments)`.
    Function(FunctionCall),
    /// `count(*)`.
    CountAll,
    /// `CASE`.
    Case(Case),
    /// `[x IN list WHERE condition | projection]`.
    ListComprehension {
        /// `x`.
        variable: Name,
        /// The list.
        list: Box<Expression>,
        /// `WHERE`.
        condition: Option<Box<Expression>>,
        /// The result for each element; itself if not given.
        projection: Option<Box<Expression>>,
    },
    /// `[(a)-->(b) WHERE condition | projection]`.
    PatternComprehension {
        /// The pattern.
        pattern: Box<PathPattern>,
        /// `WHERE`.
        condition: Option<Box<Expression>>,
        /// The result for each match.
        projection: Box<Expression>,
    },
    /// `reduce(accumulator = initial, x IN list | step)`.
    Reduce {
        /// `accumulator`.
        accumulator: Name,
        /// Its first value.
        initial: Box<Expression>,
        /// `x`.
        variable: Name,
        /// The list.
        list: Box<Expression>,
        /// Its next value.
        step: Box<Expression>,
    },
    /// `all(x IN list WHERE condition)` and its like.
    Quantified {
        /// How many elements must satisfy the condition.
        quantity: Quantity,
        /// `x`.
        variable: Name,
        /// The list.
        list: Box<Expression>,
        /// `WHERE`; an element counts if it is itself true when not given.
        condition: Option<Box<Expression>>,
    },
    /// `variable {.key, .*, key: value, other}`.
    MapProjection(Name, Vec<MapProjectionItem>),
    /// `EXISTS { … }`.
    Exists(Subquery),
    /// `COUNT { … }`.
    Count(Subquery),
    /// `COLLECT { … }`.
    Collect(Box<Query>),
    /// A pattern used as a value: a predicate, the argument of `exists` or `size`, or `shortestPath(…)`.
    Pattern(Box<PathPattern>),
}

/// Operators before their operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `NOT`.
    Not,
    /// `+`.
    Plus,
    /// `-`.
    Minus,
}

/// Operators between two operands, except the comparisons and the logical ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum BinaryOperator {
    Add,
    Subtract,
    /// `||`.
    Concatenate,
    Multiply,
    Divide,
    Modulo,
    Power,
    In,
    StartsWith,
    EndsWith,
    Contains,
    /// `=~`.
    Matches,
}

/// Operators that may be chained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum ComparisonOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// `namespace.name(DISTINCT arguments)`.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// The name, split at its dots.
    pub name: Vec<Name>,
    /// `DISTINCT`.
    pub distinct: bool,
    /// The arguments.
    pub arguments: Vec<Expression>,
}

impl FunctionCall {
    /// The name with its dots.
    pub fn full_name(&self) -> String {
        self.name.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(".")
    }
}

/// `CASE [subject] WHEN … THEN … ELSE … END`.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Compared with each `WHEN`; without it each `WHEN` is a condition.
    pub subject: Option<Box<Expression>>,
    /// `WHEN a, b` and `THEN`; at least one of both. With a subject an alternative is a value that it may equal, or a condition about
    /// [`ExpressionKind::CaseSubject`].
    pub branches: Vec<(Vec<Expression>, Expression)>,
    /// `ELSE`; null if not given.
    pub otherwise: Option<Box<Expression>>,
}

impl Expression {
    /// Within a `WHEN` of `CASE subject`: is it a test of the subject, rather than a value?
    pub fn is_about_subject(&self) -> bool {
        let operand = match &self.kind {
            ExpressionKind::Comparison(first, _) | ExpressionKind::Binary(_, first, _) => first,
            ExpressionKind::IsNull { operand, .. } => operand,
            ExpressionKind::IsTyped { operand, .. } | ExpressionKind::IsNormalized { operand, .. } => operand,
            _ => return false,
        };
        matches!(operand.kind, ExpressionKind::CaseSubject)
    }
}

/// How many elements of a list must satisfy a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Quantity {
    All,
    Any,
    None,
    Single,
}

/// One item of a map projection.
#[derive(Clone, Debug, PartialEq)]
pub enum MapProjectionItem {
    /// `.*`.
    AllProperties,
    /// `.key`.
    Property(Name),
    /// `variable`.
    Variable(Name),
    /// `key: value`.
    Entry(Name, Expression),
}

/// The body of `EXISTS` and `COUNT`.
#[derive(Clone, Debug, PartialEq)]
pub enum Subquery {
    /// Patterns, with a condition.
    Pattern(Vec<PathPattern>, Option<Box<Expression>>),
    /// A whole query.
    Query(Box<Query>),
}
