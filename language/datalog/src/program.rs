//! A program as engines take it: relations by number, variables by slot, rules without anything to resolve.
//!
//! Invariants (established by `check` and kept by `magic`): every variable of a head, of a negated atom and of an expression is bound by
//! a positive atom or by an equation; negated atoms have no `Any`; a head holds variables and constants only; the components are in an
//! order in which each needs only those before it, negated and aggregated relations always from before.

use crate::error::{DatalogError, ErrorKind};
use model::Value;
use model::compare::total_order;
use std::sync::Arc;
use text::Span;

/// Number of a relation in [`Program::relations`].
pub type RelationNo = usize;

/// A relation of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GraphRelation {
    /// `Label(vertex)`
    Label(Arc<str>),
    /// `TYPE(source, target)`
    EdgeType(Arc<str>),
    /// `Label.key(vertex, value)`; without a label, of any vertex.
    VertexProperty(Option<Arc<str>>, Arc<str>),
    /// `TYPE.key(source, target, value)`
    EdgeProperty(Arc<str>, Arc<str>),
}

/// Where the facts of a relation come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// From rules.
    Rules,
    /// From an [`Aggregate`].
    Aggregate,
    /// From the facts of the text alone.
    Facts,
    /// From the graph.
    Graph(GraphRelation),
    /// `.input name($rows)`: a list of lists.
    Parameter(Arc<str>),
    /// `.input name("file.csv")`
    File(Arc<str>),
}

/// A relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// Its name; those that the text does not name have an `@` in theirs.
    pub name: Arc<str>,
    /// Number of columns.
    pub arity: usize,
    /// Where its facts come from.
    pub source: Source,
}

/// A column of an atom.
#[derive(Clone, Debug)]
pub enum Term {
    /// Whatever is there.
    Any,
    /// The variable of this slot.
    Slot(usize),
    /// This value.
    Constant(Value),
    /// The value of a parameter.
    Parameter(Arc<str>),
}

impl PartialEq for Term {
    fn eq(&self, other: &Term) -> bool {
        match (self, other) {
            (Term::Any, Term::Any) => true,
            (Term::Slot(a), Term::Slot(b)) => a == b,
            // 1 and 1.0 are two values to a program.
            (Term::Constant(a), Term::Constant(b)) => {
                std::mem::discriminant(a) == std::mem::discriminant(b) && total_order(a, b).is_eq()
            }
            (Term::Parameter(a), Term::Parameter(b)) => a == b,
            _ => false,
        }
    }
}

/// A relation with its columns named.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// Which.
    pub relation: RelationNo,
    /// One for each column.
    pub terms: Vec<Term>,
}

/// Operators of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`, of numbers and texts
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `=`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// An expression. One that has no value (a text less a number, a division by zero, an overflow) satisfies nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A variable, a constant or a parameter.
    Term(Term),
    /// Two operands.
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `-x`
    Negate(Box<Expr>),
}

/// A part of a rule's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// There is such a fact.
    Holds(Atom),
    /// There is none.
    Absent(Atom),
    /// The comparison holds.
    Compare(Order, Expr, Expr),
    /// The slot, not bound otherwise, gets this value.
    Let(usize, Expr),
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The conclusion: slots, constants and parameters only.
    pub head: Atom,
    /// The premises.
    pub body: Vec<Literal>,
    /// Number of slots.
    pub slots: usize,
}

/// How values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    /// How many bindings.
    Count,
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The mean.
    Avg,
}

/// `output(group…, results…)` from `input(group…, arguments…, rest…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The bindings, each once.
    pub input: RelationNo,
    /// The results.
    pub output: RelationNo,
    /// Columns of the group, from the left.
    pub group: usize,
    /// Each with its column of the input (none of `Count`).
    pub calls: Vec<(AggregateKind, usize)>,
}

/// Relations that need one another, or an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub enum Component {
    /// Relations defined by these rules.
    Rules {
        /// Which relations.
        relations: Vec<RelationNo>,
        /// Indexes of [`Program::rules`].
        rules: Vec<usize>,
    },
    /// Index of [`Program::aggregates`].
    Aggregate(usize),
}

/// `?- atom.`: all facts of a relation, which `check` makes where the question binds columns or passes over some.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Whose facts are the answer.
    pub relation: RelationNo,
    /// Names of its columns: the question's variables in the order of their first appearance.
    pub names: Vec<Arc<str>>,
}

/// A relation of the graph whose name is much like that of a relation of the program: a slip, unless the graph has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// The relation that the text names.
    pub relation: GraphRelation,
    /// The relation that it may mean.
    pub similar: String,
    /// Where it stands.
    pub span: Span,
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// All relations.
    pub relations: Vec<Relation>,
    /// All rules.
    pub rules: Vec<Rule>,
    /// All aggregates.
    pub aggregates: Vec<Aggregate>,
    /// Facts of the text.
    pub facts: Vec<(RelationNo, Vec<Term>)>,
    /// The question, if there is one.
    pub question: Option<Question>,
    /// In an order in which each needs only those before it.
    pub components: Vec<Component>,
    /// Names of the parameters used.
    pub parameters: Vec<Arc<str>>,
    /// Names that may be slips.
    pub suspects: Vec<Suspect>,
}

impl Program {
    /// The error of a slip: a name that neither the program nor the graph knows, and that is much like one of the program's.
    ///
    /// # Errors
    /// There is one.
    pub fn check_names(&self, graph_has: impl Fn(&GraphRelation) -> bool) -> Result<(), DatalogError> {
        let Some(slip) = self.suspects.iter().find(|suspect| !graph_has(&suspect.relation)) else {
            return Ok(());
        };
        let (GraphRelation::Label(name) | GraphRelation::EdgeType(name)) = &slip.relation else {
            return Ok(());
        };
        let message = format!("`{name}` is no relation of the program, and nothing in the graph");
        let error = DatalogError::new(ErrorKind::Unknown, message, slip.span);
        Err(error.with_hint(format!("did you mean `{}`?", slip.similar)))
    }
    /// The relation of this name.
    pub fn relation(&self, name: &str) -> Option<RelationNo> {
        self.relations.iter().position(|relation| &*relation.name == name)
    }
}

impl Expr {
    /// Each variable, constant and parameter.
    pub fn each_term<'a>(&'a self, found: &mut dyn FnMut(&'a Term)) {
        match self {
            Expr::Term(term) => found(term),
            Expr::Binary(_, left, right) => {
                left.each_term(found);
                right.each_term(found);
            }
            Expr::Negate(inner) => inner.each_term(found),
        }
    }
}

impl Literal {
    /// Each variable, constant and parameter that it reads.
    pub fn each_term<'a>(&'a self, found: &mut dyn FnMut(&'a Term)) {
        match self {
            Literal::Holds(atom) | Literal::Absent(atom) => atom.terms.iter().for_each(found),
            Literal::Compare(_, left, right) => {
                left.each_term(found);
                right.each_term(found);
            }
            Literal::Let(_, value) => value.each_term(found),
        }
    }
    /// The relation it reads.
    pub fn relation(&self) -> Option<RelationNo> {
        match self {
            Literal::Holds(atom) | Literal::Absent(atom) => Some(atom.relation),
            _ => None,
        }
    }
}
