//! The compiled form of an expression: as `plan::Expr`, but with positions for variables, ids for names, values for parameters.

use super::error::EvalError;
use super::graph::Graph;
use model::compare::GroupKey;
use model::{KeyId, LabelId, ListValue, Value};
use plan::Function;
use plan::expr::{BinaryOperator, LabelExpr, Name, Quantifier, UnaryOperator};
use regex::Regex;
use std::collections::HashSet;
use std::sync::Arc;

/// A compiled expression node.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each is the compiled form of the plan::Expr of its name")]
pub enum Node {
    Constant(Value),
    /// A constant too large to be computed before the statement runs: computed once for each batch. By its number within the expression.
    Late(usize, Box<Node>),
    /// A parameter of the request, where it is not known yet.
    Parameter(Name),
    /// A column of the batch.
    Column(usize),
    /// A variable of an enclosing comprehension: its place among the frame's locals.
    Local(usize),
    Property(Box<Node>, Key),
    HasLabels(Box<Node>, LabelExpr),
    Unary(UnaryOperator, Box<Node>),
    Binary(BinaryOperator, Box<Node>, Box<Node>),
    /// `x IN constants`.
    InSet(Box<Node>, Arc<ConstantSet>),
    /// `text =~ constant`.
    MatchesConstant(Box<Node>, Arc<Regex>),
    Call(Function, Vec<Node>),
    List(Vec<Node>),
    Map(Vec<(Name, Node)>),
    Index(Box<Node>, Box<Node>),
    Slice(Box<Node>, Option<Box<Node>>, Option<Box<Node>>),
    Case {
        operand: Option<Box<Node>>,
        arms: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
    },
    Comprehension {
        local: usize,
        list: Box<Node>,
        predicate: Option<Box<Node>>,
        map: Option<Box<Node>>,
    },
    Quantified {
        quantifier: Quantifier,
        local: usize,
        list: Box<Node>,
        predicate: Box<Node>,
    },
    Reduce {
        accumulator: usize,
        initial: Box<Node>,
        local: usize,
        list: Box<Node>,
        body: Box<Node>,
    },
    MapProjection(Box<Node>, Vec<ProjectionItem>),
    PathOf(Vec<Node>),
    EdgesDistinct(Vec<Node>),
}

impl Node {
    /// Adds the columns of the batch that it reads; false where equal values of them could give different answers, or where that is unknown.
    pub(super) fn reads(&self, columns: &mut Vec<usize>) -> bool {
        match self {
            Node::Constant(_) | Node::Parameter(_) => true,
            Node::Column(position) => {
                columns.push(*position);
                true
            }
            Node::Property(a, _) | Node::HasLabels(a, _) | Node::Unary(_, a) => a.reads(columns),
            Node::InSet(a, _) | Node::MatchesConstant(a, _) => a.reads(columns),
            Node::Binary(_, a, b) | Node::Index(a, b) => a.reads(columns) && b.reads(columns),
            Node::Call(function, arguments) => {
                !function.is_volatile() && arguments.iter().all(|argument| argument.reads(columns))
            }
            _ => false,
        }
    }

    /// Adds the columns whose vertices and edges it reads for every row, whatever they contain: not those that it may read.
    pub(super) fn looks_at(&self, columns: &mut Vec<usize>) {
        match self {
            Node::Property(a, _) | Node::HasLabels(a, _) | Node::MapProjection(a, _) => match **a {
                Node::Column(position) => columns.push(position),
                _ => a.looks_at(columns),
            },
            Node::Unary(_, a) | Node::InSet(a, _) | Node::MatchesConstant(a, _) => a.looks_at(columns),
            // What is behind one that decides is not looked at for every row.
            Node::Binary(BinaryOperator::And | BinaryOperator::Or, a, _) => a.looks_at(columns),
            Node::Binary(_, a, b) | Node::Index(a, b) => {
                a.looks_at(columns);
                b.looks_at(columns);
            }
            Node::List(all) => all.iter().for_each(|one| one.looks_at(columns)),
            Node::Map(all) => all.iter().for_each(|(_, one)| one.looks_at(columns)),
            _ => {}
        }
    }
}

/// An item of a compiled map projection.
#[derive(Clone, Debug)]
pub enum ProjectionItem {
    /// `.*`
    AllProperties,
    /// `.key`
    Property(Key),
    /// `name: value`
    Entry(Name, Node),
}

/// A property key, bound when the expression was compiled, if the graph knew it then.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name.
    pub name: Name,
    id: Option<KeyId>,
}

impl Key {
    /// This name, and its id if it has one by now.
    pub fn new(name: Name, id: Option<KeyId>) -> Key {
        Key { name, id }
    }
    /// The id; a name that was unknown when the expression was compiled may have been defined since (by this very statement).
    pub fn id(&self, graph: &dyn Graph) -> Option<KeyId> {
        self.id.or_else(|| graph.key(&self.name))
    }
}

/// A label expression with its names looked up, ready to be tested on many vertices.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "as in plan::LabelExpr")]
pub enum LabelTest {
    Constant(bool),
    Has(LabelId),
    Some,
    And(Box<LabelTest>, Box<LabelTest>),
    Or(Box<LabelTest>, Box<LabelTest>),
    Not(Box<LabelTest>),
}

impl LabelTest {
    /// Looks the names up; a name without an id is carried by nothing.
    pub fn bind(labels: &LabelExpr, graph: &dyn Graph) -> LabelTest {
        let bound = |labels: &LabelExpr| LabelTest::bind(labels, graph);
        // What is certain before a vertex is read is decided here: a test that is left reads its vertex first.
        match labels {
            LabelExpr::Any => LabelTest::Constant(true),
            LabelExpr::Has(name) => graph.label(name).map_or(LabelTest::Constant(false), LabelTest::Has),
            LabelExpr::Some => LabelTest::Some,
            LabelExpr::And(a, b) => match bound(a) {
                LabelTest::Constant(false) => LabelTest::Constant(false),
                LabelTest::Constant(true) => bound(b),
                a => LabelTest::And(Box::new(a), Box::new(bound(b))),
            },
            LabelExpr::Or(a, b) => match bound(a) {
                LabelTest::Constant(true) => LabelTest::Constant(true),
                LabelTest::Constant(false) => bound(b),
                a => LabelTest::Or(Box::new(a), Box::new(bound(b))),
            },
            LabelExpr::Not(a) => match bound(a) {
                LabelTest::Constant(answer) => LabelTest::Constant(!answer),
                a => LabelTest::Not(Box::new(a)),
            },
        }
    }
}

/// The list of an `IN` whose elements are known: searched by hash where it is long.
#[derive(Debug)]
pub struct ConstantSet {
    /// The list as it was given.
    pub list: Value,
    /// Its elements but for null, where hashing decides: elements without nested nulls, and not NaN.
    pub members: HashSet<GroupKey, foldhash::fast::FixedState>,
    /// Integers alone, sorted, where every element is one.
    pub integers: Option<Vec<i64>>,
    /// Texts alone, where every element is one.
    pub texts: Option<HashSet<Arc<str>, foldhash::fast::FixedState>>,
    /// Does it contain null?
    pub has_null: bool,
    /// Is there an element for which grouping equality and `=` differ (NaN, or a null inside a list or map)?
    pub has_doubtful: bool,
}

impl ConstantSet {
    /// Prepares a list for being searched.
    pub fn new(list: ListValue) -> ConstantSet {
        let integers: Option<Vec<i64>> =
            list.iter().map(Value::as_int).collect::<Option<_>>().filter(|_| !list.is_empty());
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            _ => None,
        };
        let texts = list.iter().map(text).collect::<Option<_>>().filter(|_| !list.is_empty());
        let integers = integers.map(|mut integers| {
            integers.sort_unstable();
            integers.dedup();
            integers
        });
        let mut members = HashSet::with_hasher(foldhash::fast::FixedState::default());
        let (mut has_null, mut has_doubtful) = (false, false);
        for element in list.iter() {
            match element {
                Value::Null => has_null = true,
                element if is_doubtful(element) => has_doubtful = true,
                element => members.extend([GroupKey(element.clone())]),
            }
        }
        ConstantSet { list: Value::List(list), members, integers, texts, has_null, has_doubtful }
    }
    /// Counts the work of [`ConstantSet::contains`].
    ///
    /// # Errors
    /// The query is over.
    pub(super) fn spend(&self, value: &Value) -> Result<(), EvalError> {
        super::metered::walk(value)?;
        match &self.list {
            Value::List(elements) if self.has_doubtful || is_doubtful(value) => {
                super::metered::search(value, elements)
            }
            _ => Ok(()),
        }
    }
    /// `value IN list`.
    pub fn contains(&self, value: &Value) -> Option<bool> {
        let elements = match &self.list {
            Value::List(elements) => elements,
            _ => return None,
        };
        if self.has_doubtful || is_doubtful(value) {
            return super::operators::in_list(value, elements);
        }
        match value {
            Value::Null if elements.is_empty() => Some(false),
            Value::Null => None,
            value if self.members.contains(&GroupKey(value.clone())) => Some(true),
            _ if self.has_null => None,
            _ => Some(false),
        }
    }
}

/// Could `=` answer otherwise than grouping equality for this value?
fn is_doubtful(value: &Value) -> bool {
    match value {
        Value::Float(float) => float.is_nan(),
        Value::List(_) | Value::Map(_) | Value::Point(_) | Value::Duration(_) => true,
        _ => false,
    }
}
