//! `P` and `TextP`: predicates on an object.

use crate::object::Object;
use crate::token::Token;

/// How two objects are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of P")]
pub enum Compare {
    Eq,
    Neq,
    Lt,
    Lte,
    Gt,
    Gte,
}

impl Compare {
    /// The name in `P`.
    pub fn name(self) -> &'static str {
        match self {
            Compare::Eq => "eq",
            Compare::Neq => "neq",
            Compare::Lt => "lt",
            Compare::Lte => "lte",
            Compare::Gt => "gt",
            Compare::Gte => "gte",
        }
    }
    /// The one that holds where this does not.
    pub fn negated(self) -> Compare {
        match self {
            Compare::Eq => Compare::Neq,
            Compare::Neq => Compare::Eq,
            Compare::Lt => Compare::Gte,
            Compare::Gte => Compare::Lt,
            Compare::Gt => Compare::Lte,
            Compare::Lte => Compare::Gt,
        }
    }
}

/// Tests of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of TextP")]
pub enum TextTest {
    StartingWith,
    EndingWith,
    Containing,
    Regex,
}

/// A predicate over one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Compared with a value.
    Compare(Compare, Object),
    /// Equal to one of these.
    Within(Vec<Object>),
    /// Equal to none of these.
    Without(Vec<Object>),
    /// `between(low, high)`: low included, high not.
    Between(Object, Object),
    /// `inside(low, high)`: neither included.
    Inside(Object, Object),
    /// `outside(low, high)`.
    Outside(Object, Object),
    /// Asked of text; negated, if the flag says so.
    Text(TextTest, Object, bool),
    /// Of this type: a token of `GType`, or the name of a type.
    TypeOf(Object),
    /// Both.
    And(Box<Predicate>, Box<Predicate>),
    /// Either.
    Or(Box<Predicate>, Box<Predicate>),
    /// Not.
    Not(Box<Predicate>),
}

impl Predicate {
    /// `P.eq(value)`.
    pub fn eq(value: Object) -> Predicate {
        Predicate::Compare(Compare::Eq, value)
    }
    /// The predicate a name and its arguments stand for; `None` if there is no such name or the arguments do not fit. The interface that
    /// decodes bytecode uses it too. A single list or set given to `within` and `without` stands for its elements.
    pub fn of(name: &str, arguments: Vec<Object>) -> Option<Predicate> {
        let compare = |compare: Compare, mut arguments: Vec<Object>| match arguments.len() {
            1 => arguments.pop().map(|value| Predicate::Compare(compare, value)),
            _ => None,
        };
        let two = |arguments: Vec<Object>| <[Object; 2]>::try_from(arguments).ok();
        let text = |test: TextTest, negated: bool, mut arguments: Vec<Object>| match arguments.len() {
            1 => arguments.pop().map(|value| Predicate::Text(test, value, negated)),
            _ => None,
        };
        match name {
            "eq" => compare(Compare::Eq, arguments),
            "neq" => compare(Compare::Neq, arguments),
            "lt" => compare(Compare::Lt, arguments),
            "lte" => compare(Compare::Lte, arguments),
            "gt" => compare(Compare::Gt, arguments),
            "gte" => compare(Compare::Gte, arguments),
            "within" => Some(Predicate::Within(elements(arguments))),
            "without" => Some(Predicate::Without(elements(arguments))),
            "between" => two(arguments).map(|[low, high]| Predicate::Between(low, high)),
            "inside" => two(arguments).map(|[low, high]| Predicate::Inside(low, high)),
            "outside" => two(arguments).map(|[low, high]| Predicate::Outside(low, high)),
            "startingWith" => text(TextTest::StartingWith, false, arguments),
            "notStartingWith" => text(TextTest::StartingWith, true, arguments),
            "endingWith" => text(TextTest::EndingWith, false, arguments),
            "notEndingWith" => text(TextTest::EndingWith, true, arguments),
            "containing" => text(TextTest::Containing, false, arguments),
            "notContaining" => text(TextTest::Containing, true, arguments),
            "regex" => text(TextTest::Regex, false, arguments),
            "notRegex" => text(TextTest::Regex, true, arguments),
            "typeOf" => match arguments.as_slice() {
                [Object::Token(token)] if token.class() == "GType" => {
                    Some(Predicate::TypeOf(Object::Token(*token)))
                }
                [Object::String(name)] if TYPE_NAMES.contains(&&**name) => {
                    arguments.into_iter().next().map(Predicate::TypeOf)
                }
                _ => None,
            },
            _ => None,
        }
    }
    /// Is there a predicate of this name, made from values?
    pub fn is_name(name: &str) -> bool {
        PREDICATE_NAMES.contains(&name)
    }
    /// `a.and(b)`.
    pub fn and(self, other: Predicate) -> Predicate {
        Predicate::And(Box::new(self), Box::new(other))
    }
    /// Nesting of joined predicates. A predicate whose depth is checked at each joining step is never deep.
    pub fn depth(&self) -> usize {
        match self {
            Predicate::And(left, right) | Predicate::Or(left, right) => 1 + left.depth().max(right.depth()),
            Predicate::Not(inner) => 1 + inner.depth(),
            _ => 0,
        }
    }
    /// `a.or(b)`.
    pub fn or(self, other: Predicate) -> Predicate {
        Predicate::Or(Box::new(self), Box::new(other))
    }
    /// `p.negate()`.
    pub fn negate(self) -> Predicate {
        match self {
            Predicate::Compare(compare, value) => Predicate::Compare(compare.negated(), value),
            Predicate::Within(values) => Predicate::Without(values),
            Predicate::Without(values) => Predicate::Within(values),
            Predicate::Text(test, value, negated) => Predicate::Text(test, value, !negated),
            Predicate::Not(inner) => *inner,
            Predicate::And(left, right) => left.negate().or(right.negate()),
            Predicate::Or(left, right) => left.negate().and(right.negate()),
            other => Predicate::Not(Box::new(other)),
        }
    }
    /// The values it compares with.
    pub fn values(&self) -> Vec<&Object> {
        match self {
            Predicate::Compare(_, value) | Predicate::Text(_, value, _) | Predicate::TypeOf(value) => {
                vec![value]
            }
            Predicate::Within(values) | Predicate::Without(values) => values.iter().collect(),
            Predicate::Between(low, high) | Predicate::Inside(low, high) | Predicate::Outside(low, high) => {
                vec![low, high]
            }
            Predicate::And(left, right) | Predicate::Or(left, right) => {
                [left.values(), right.values()].concat()
            }
            Predicate::Not(inner) => inner.values(),
        }
    }
    /// The type of a `typeOf`, if it is a token.
    pub fn type_token(&self) -> Option<Token> {
        match self {
            Predicate::TypeOf(Object::Token(token)) => Some(*token),
            _ => None,
        }
    }
}

/// Names of predicates made from values; `not`, `and`, `or` and `negate` are made from predicates.
pub const PREDICATE_NAMES: [&str; 20] = [
    "eq",
    "neq",
    "lt",
    "lte",
    "gt",
    "gte",
    "within",
    "without",
    "between",
    "inside",
    "outside",
    "startingWith",
    "notStartingWith",
    "endingWith",
    "notEndingWith",
    "containing",
    "notContaining",
    "regex",
    "notRegex",
    "typeOf",
];

/// Names that `typeOf` takes as text.
pub const TYPE_NAMES: [&str; 24] = [
    "BigDecimal",
    "BigInteger",
    "Boolean",
    "Byte",
    "Character",
    "Double",
    "Duration",
    "Edge",
    "Float",
    "Integer",
    "List",
    "Long",
    "Map",
    "Number",
    "OffsetDateTime",
    "Path",
    "Property",
    "Set",
    "Short",
    "String",
    "Tree",
    "UUID",
    "Vertex",
    "VertexProperty",
];

fn elements(mut arguments: Vec<Object>) -> Vec<Object> {
    match arguments.as_slice() {
        [Object::List(list) | Object::Set(list)] => list.to_vec(),
        [Object::Bulk(bag)] => bag.iter().map(|(element, _)| element.clone()).collect(),
        _ => std::mem::take(&mut arguments),
    }
}
