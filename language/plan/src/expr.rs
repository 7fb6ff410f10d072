//! Expressions: what is computed from one row.
//!
//! Variables are numbers; the statement's table gives them names. A sub-query stands in an expression only until the rewrite
//! `lift_subqueries` has turned it into an `Apply` below; `execute` never meets one.

use crate::algebra::Plan;
use crate::functions::Function;
pub use crate::label_expr::{LabelExpr, Name};
use crate::scope::ScopeHint;
pub use crate::vars::Var;
use crate::vars::Vars;
use model::Value;

/// An expression over one row.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Constant),
    /// A parameter of the request.
    Parameter(Name),
    /// A column of the row, or a variable bound by an enclosing comprehension.
    Variable(Var),
    /// `subject.key`: of a vertex, edge, map, point or temporal value.
    Property(Box<Expr>, Name),
    /// Does the vertex carry these labels (or: is the edge of this type)?
    HasLabels(Box<Expr>, LabelExpr),
    /// One operand.
    Unary(UnaryOperator, Box<Expr>),
    /// Two operands.
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// A scalar function.
    Call(Function, Vec<Expr>),
    /// `[a, b, c]`.
    List(Vec<Expr>),
    /// `{key: value}`.
    Map(Vec<(Name, Expr)>),
    /// `subject[index]`: of a list, map, vertex or edge.
    Index(Box<Expr>, Box<Expr>),
    /// `subject[from..to]`.
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// CASE, both forms.
    Case {
        /// What the arms are compared with, in the simple form.
        operand: Option<Box<Expr>>,
        /// WHEN, THEN.
        arms: Vec<(Expr, Expr)>,
        /// ELSE; null where absent.
        otherwise: Option<Box<Expr>>,
    },
    /// `[variable IN list WHERE predicate | map]`.
    Comprehension {
        /// Bound to each element.
        variable: Var,
        /// What is walked.
        list: Box<Expr>,
        /// Which elements are kept.
        predicate: Option<Box<Expr>>,
        /// What is returned of each; the element where absent.
        map: Option<Box<Expr>>,
    },
    /// `all|any|none|single(variable IN list WHERE predicate)`.
    Quantified {
        /// How many must satisfy.
        quantifier: Quantifier,
        /// Bound to each element.
        variable: Var,
        /// What is walked.
        list: Box<Expr>,
        /// What is asked of each.
        predicate: Box<Expr>,
    },
    /// `reduce(accumulator = initial, variable IN list | body)`.
    Reduce {
        /// Carries the result so far.
        accumulator: Var,
        /// Its first value.
        initial: Box<Expr>,
        /// Bound to each element.
        variable: Var,
        /// What is walked.
        list: Box<Expr>,
        /// The next value of the accumulator.
        body: Box<Expr>,
    },
    /// `subject{.key, .*, name: value}`; items apply in order.
    MapProjection(Box<Expr>, Vec<MapProjectionItem>),
    /// A path value from its parts in walking order: vertex, edge or list of edges, vertex, …
    PathOf(Vec<Var>),
    /// No edge occurs twice in these variables, each an edge or a list of edges (relationship uniqueness of one MATCH).
    EdgesDistinct(Vec<Var>),
    /// A sub-query, before it is lifted.
    Subquery(Box<Subquery>),
}

/// A constant, compared by kind and content (so that plans can be compared in tests; NaN equals itself).
#[derive(Clone, Debug)]
pub struct Constant(pub Value);

impl PartialEq for Constant {
    fn eq(&self, other: &Constant) -> bool {
        self.0.value_type() == other.0.value_type() && model::compare::equivalent(&self.0, &other.0)
    }
}

/// An item of a map projection.
#[derive(Clone, Debug, PartialEq)]
pub enum MapProjectionItem {
    /// `.*`
    AllProperties,
    /// `.key`
    Property(Name),
    /// `name: value`, and `variable` as `variable: variable`.
    Entry(Name, Expr),
}

/// A sub-query in an expression; its plan starts from `Plan::Argument` with the outer variables it uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Subquery {
    /// What is asked of its rows.
    pub kind: SubqueryKind,
    /// Outer variables it reads.
    pub imports: Vec<Var>,
    /// Its rows.
    pub plan: Plan,
    /// The hint on how it runs.
    pub hint: Option<ScopeHint>,
    /// Which instance runs first, over the columns of the outer row, where the hint says `BY`.
    pub rank: Option<Expr>,
}

/// The result of a sub-query in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubqueryKind {
    /// Is there a row?
    Exists,
    /// How many rows?
    Count,
    /// The values of this column, in order (COLLECT and pattern comprehension).
    Collect(Var),
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum UnaryOperator {
    Not,
    Negate,
    Plus,
    IsNull,
    IsNotNull,
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BinaryOperator {
    Or,
    Xor,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    StartsWith,
    EndsWith,
    Contains,
    Matches,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
}

/// How many elements must satisfy a quantified predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Quantifier {
    All,
    Any,
    None,
    Single,
}

/// Calls `$visit` on each direct part of `$expr`: one list of parts, whether they are read or changed (`$iter`).
macro_rules! direct_parts {
    ($expr:expr, $visit:expr, $iter:ident) => {
        match $expr {
            Expr::Literal(_) | Expr::Parameter(_) | Expr::Variable(_) | Expr::PathOf(_) => {}
            Expr::EdgesDistinct(_) | Expr::Subquery(_) => {}
            Expr::Property(a, _) | Expr::HasLabels(a, _) | Expr::Unary(_, a) => $visit(a),
            Expr::Binary(_, a, b) | Expr::Index(a, b) => {
                $visit(a);
                $visit(b)
            }
            Expr::Call(_, list) | Expr::List(list) => list.$iter().for_each($visit),
            Expr::Map(entries) => entries.$iter().for_each(|(_, value)| $visit(value)),
            Expr::Slice(a, from, to) => {
                $visit(a);
                from.$iter().chain(to).for_each(|part| $visit(part))
            }
            Expr::Case { operand, arms, otherwise } => {
                operand.$iter().for_each(|part| $visit(part));
                arms.$iter().for_each(|(when, then)| {
                    $visit(when);
                    $visit(then)
                });
                otherwise.$iter().for_each(|part| $visit(part))
            }
            Expr::Comprehension { list, predicate, map, .. } => {
                $visit(list);
                predicate.$iter().chain(map).for_each(|part| $visit(part))
            }
            Expr::Quantified { list, predicate, .. } => {
                $visit(list);
                $visit(predicate)
            }
            Expr::Reduce { initial, list, body, .. } => {
                [initial, list, body].into_iter().for_each(|part| $visit(part))
            }
            Expr::MapProjection(subject, items) => {
                $visit(subject);
                items.$iter().for_each(|item| {
                    if let MapProjectionItem::Entry(_, value) = item {
                        $visit(value)
                    }
                })
            }
        }
    };
}

impl Expr {
    /// A constant.
    pub fn literal(value: impl Into<Value>) -> Expr {
        Expr::Literal(Constant(value.into()))
    }
    /// `variable.key`
    pub fn property(variable: Var, key: impl Into<Name>) -> Expr {
        Expr::Property(Box::new(Expr::Variable(variable)), key.into())
    }
    /// Two operands.
    pub fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
        Expr::Binary(operator, Box::new(left), Box::new(right))
    }
    /// All of these hold; `true` for none. A balanced tree, so that many predicates are not a deep expression.
    pub fn all(predicates: impl IntoIterator<Item = Expr>) -> Expr {
        let mut level: Vec<Expr> = predicates.into_iter().collect();
        while level.len() > 1 {
            let mut parts = std::mem::take(&mut level).into_iter();
            while let Some(first) = parts.next() {
                level.push(match parts.next() {
                    Some(second) => Expr::binary(BinaryOperator::And, first, second),
                    None => first,
                })
            }
        }
        level.pop().unwrap_or_else(|| Expr::literal(true))
    }
    /// The conjuncts of a predicate.
    pub fn conjuncts(self) -> Vec<Expr> {
        match self {
            Expr::Binary(BinaryOperator::And, a, b) => [a.conjuncts(), b.conjuncts()].concat(),
            other => vec![other],
        }
    }
    /// Calls `visit` on each direct part.
    pub fn children<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        direct_parts!(self, visit, iter)
    }
    /// Calls `visit` on each direct part, to change it.
    pub fn children_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        direct_parts!(self, visit, iter_mut)
    }
    /// Variables bound by this node itself (comprehensions).
    pub fn binds(&self) -> Vec<Var> {
        match self {
            Expr::Comprehension { variable, .. } | Expr::Quantified { variable, .. } => vec![*variable],
            Expr::Reduce { accumulator, variable, .. } => vec![*accumulator, *variable],
            _ => Vec::new(),
        }
    }
    /// Row variables this expression reads (those bound inside it excluded), each once, in order of first use.
    pub fn free_variables(&self) -> Vars {
        let mut found = Vars::new();
        self.collect_free(&mut Vec::new(), &mut found);
        found
    }
    fn collect_free(&self, bound: &mut Vec<Var>, found: &mut Vars) {
        let mut note = |var: Var| {
            if !bound.contains(&var) {
                found.add(var)
            }
        };
        match self {
            Expr::Variable(var) => note(*var),
            Expr::PathOf(vars) | Expr::EdgesDistinct(vars) => vars.iter().copied().for_each(note),
            Expr::Subquery(subquery) => subquery.imports.iter().copied().for_each(note),
            _ => {}
        }
        let depth = bound.len();
        bound.extend(self.binds());
        self.children(&mut |child| child.collect_free(bound, found));
        bound.truncate(depth);
    }
    /// Does this or any part satisfy `test`?
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        let mut hit = test(self);
        self.children(&mut |child| hit = hit || child.any(test));
        hit
    }
}
