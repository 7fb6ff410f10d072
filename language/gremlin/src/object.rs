//! Objects: inputs and outputs of steps.
//!
//! Gremlin tells apart what the property graph's own values do not: numbers by width, sets from lists, maps with any keys in the
//! order of their making, properties as things of their own. All of it is an [`Object`]: 16 or 24 bytes, cheap to clone, its parts
//! shared. Equality here is structural (a round trip of text or bytes compares equal); the equality of Gremlin's predicates, where
//! `1` equals `1.0`, belongs to whoever runs a traversal.

use crate::metrics::TraversalMetrics;
use crate::token::{Cardinality, Token};
use model::{EdgeRef, VertexId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One object.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Object {
    /// Nothing.
    #[default]
    Null,
    /// true or false.
    Bool(bool),
    /// 8-bit whole number.
    Byte(i8),
    /// 16-bit whole number.
    Short(i16),
    /// 32-bit whole number.
    Int(i32),
    /// 64-bit whole number.
    Long(i64),
    /// Whole number of any size, as far as 128 bits carry.
    BigInt(Arc<i128>),
    /// 32-bit IEEE 754.
    Float(f32),
    /// 64-bit IEEE 754.
    Double(f64),
    /// Decimal number.
    BigDecimal(Arc<Decimal>),
    /// One character.
    Char(char),
    /// UTF-8 text.
    String(Arc<str>),
    /// Raw bytes.
    Binary(Arc<[u8]>),
    /// A UUID, its 16 bytes as one big-endian number.
    Uuid(Arc<u128>),
    /// A point in time with its offset from UTC.
    DateTime(Arc<Instant>),
    /// Seconds and nanoseconds.
    Duration(i64, u32),
    /// A list.
    List(Arc<Vec<Object>>),
    /// A set, in insertion order; its maker ensures that no element is there twice.
    Set(Arc<Vec<Object>>),
    /// A bag: elements with how often each is there.
    Bulk(Arc<Vec<(Object, u64)>>),
    /// A map in the order of its making.
    Map(Arc<Vec<(Object, Object)>>),
    /// One entry of a map.
    Entry(Arc<(Object, Object)>),
    /// A vertex of the graph.
    Vertex(VertexId),
    /// An edge of the graph.
    Edge(Arc<EdgeRef>),
    /// A property of a vertex.
    VertexProperty(Arc<VertexProperty>),
    /// A property of an edge or of a vertex property.
    Property(Arc<Property>),
    /// A path: objects with the labels of the steps that yielded them.
    Path(Arc<Path>),
    /// A tree of the objects met along paths.
    Tree(Arc<Vec<(Object, Object)>>),
    /// A part of the graph, as `subgraph` gathers it.
    Graph(Arc<Graph>),
    /// How a traversal ran.
    Metrics(Arc<TraversalMetrics>),
    /// `T.id`, `Order.desc`, …
    Token(Token),
    /// `Cardinality.set("x")`, a value with how it is to be kept.
    Kept(Arc<(Cardinality, Object)>),
    /// An element that a client names by its id; resolved when the traversal runs.
    Reference(Arc<Reference>),
}

/// `unscaled` times ten to the power of minus `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// Digits.
    pub unscaled: i128,
    /// Digits behind the point; negative for trailing zeros that are not written.
    pub scale: i32,
}

/// A point in time with the offset it is shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instant {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
    /// Seconds east of UTC.
    pub offset_seconds: i32,
}

/// A property of a vertex.
#[derive(Clone, Debug, PartialEq)]
pub struct VertexProperty {
    /// Whose.
    pub vertex: VertexId,
    /// Its key.
    pub key: Arc<str>,
    /// Which of several values of the key.
    pub place: u32,
    /// Its value.
    pub value: Object,
    /// Properties of the property.
    pub meta: Vec<(Arc<str>, Object)>,
}

/// A property of an edge or of a vertex property.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Whose.
    pub owner: Object,
    /// Its key.
    pub key: Arc<str>,
    /// Its value.
    pub value: Object,
}

/// A path: objects in the order they were met.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Labels of the step that yielded each object.
    pub labels: Vec<BTreeSet<Arc<str>>>,
    /// The objects.
    pub objects: Vec<Object>,
}

/// A part of the graph: edges with their ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The vertices, each once.
    pub vertices: Vec<VertexId>,
    /// The edges, each once.
    pub edges: Vec<Arc<EdgeRef>>,
}

/// The kind of an element that a client names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceKind {
    /// A vertex.
    Vertex,
    /// An edge.
    Edge,
    /// A vertex property.
    VertexProperty,
}

/// An element as a client names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Its kind.
    pub kind: ReferenceKind,
    /// Its id.
    pub id: Object,
    /// Its label, or key of a vertex property.
    pub label: Arc<str>,
}

impl Object {
    /// Text as an object.
    pub fn string(text: impl Into<Arc<str>>) -> Object {
        Object::String(text.into())
    }
    /// A list.
    pub fn list(elements: Vec<Object>) -> Object {
        Object::List(Arc::new(elements))
    }
    /// A map from pairs.
    pub fn map(pairs: Vec<(Object, Object)>) -> Object {
        Object::Map(Arc::new(pairs))
    }
    /// The whole number, if it is one that fits 64 bits.
    pub fn as_long(&self) -> Option<i64> {
        match self {
            Object::Byte(number) => Some(i64::from(*number)),
            Object::Short(number) => Some(i64::from(*number)),
            Object::Int(number) => Some(i64::from(*number)),
            Object::Long(number) => Some(*number),
            Object::BigInt(number) => i64::try_from(**number).ok(),
            _ => None,
        }
    }
    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Object::String(text) => Some(text),
            _ => None,
        }
    }
    /// Name of its type, as the drivers' documentation writes it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Object::Null => "null",
            Object::Bool(_) => "Boolean",
            Object::Byte(_) => "Byte",
            Object::Short(_) => "Short",
            Object::Int(_) => "Integer",
            Object::Long(_) => "Long",
            Object::BigInt(_) => "BigInteger",
            Object::Float(_) => "Float",
            Object::Double(_) => "Double",
            Object::BigDecimal(_) => "BigDecimal",
            Object::Char(_) => "Character",
            Object::String(_) => "String",
            Object::Binary(_) => "ByteBuffer",
            Object::Uuid(_) => "UUID",
            Object::DateTime(_) => "OffsetDateTime",
            Object::Duration(..) => "Duration",
            Object::List(_) => "List",
            Object::Set(_) => "Set",
            Object::Bulk(_) => "BulkSet",
            Object::Map(_) => "Map",
            Object::Entry(_) => "Map.Entry",
            Object::Vertex(_) => "Vertex",
            Object::Edge(_) => "Edge",
            Object::VertexProperty(_) => "VertexProperty",
            Object::Property(_) => "Property",
            Object::Path(_) => "Path",
            Object::Tree(_) => "Tree",
            Object::Graph(_) => "Graph",
            Object::Metrics(_) => "TraversalMetrics",
            Object::Token(token) => token.class(),
            Object::Kept(_) => "CardinalityValue",
            Object::Reference(_) => "Element",
        }
    }
}

impl Instant {
    /// Reads ISO 8601: a date, or a date with a time and perhaps an offset; without one it is UTC.
    pub fn parse(text: &str) -> Option<Instant> {
        let full = if text.len() <= 10 { format!("{text}T00:00:00") } else { text.to_string() };
        match model::temporal::build::from_text(model::temporal::Kind::DateTime, &full).ok()? {
            model::Value::DateTime(moment) => Some(Instant {
                seconds: moment.seconds,
                nanos: moment.nanos,
                offset_seconds: moment.offset_seconds,
            }),
            _ => None,
        }
    }
    /// As a value of the property graph.
    pub fn to_value(&self) -> model::Value {
        model::Value::DateTime(Arc::new(model::temporal::ZonedDateTime {
            seconds: self.seconds,
            nanos: self.nanos,
            offset_seconds: self.offset_seconds,
            zone: None,
        }))
    }
}

/// Reads a UUID of 32 hexadecimal digits in five groups.
pub fn parse_uuid(text: &str) -> Option<u128> {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let digits = groups.concat();
    let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (lengths == [8, 4, 4, 4, 12] && hexadecimal).then(|| u128::from_str_radix(&digits, 16).ok())?
}

/// A duration in ISO 8601. Its nanoseconds count onwards from its seconds, also where those are negative.
pub(crate) fn duration_text(seconds: i64, nanos: u32) -> String {
    let all = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let (sign, all) = (if all < 0 { "-" } else { "" }, all.unsigned_abs());
    let (whole, behind) = (all / 1_000_000_000, all % 1_000_000_000);
    let fraction = if behind > 0 { format!(".{behind:09}") } else { String::new() };
    format!("PT{sign}{whole}{fraction}S")
}

/// Writes a UUID the way [`parse_uuid`] reads it.
pub fn uuid_text(uuid: u128) -> String {
    let digits = format!("{uuid:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

impl From<&str> for Object {
    fn from(text: &str) -> Object {
        Object::string(text)
    }
}

impl From<bool> for Object {
    fn from(truth: bool) -> Object {
        Object::Bool(truth)
    }
}

impl From<i32> for Object {
    fn from(number: i32) -> Object {
        Object::Int(number)
    }
}

impl From<i64> for Object {
    fn from(number: i64) -> Object {
        Object::Long(number)
    }
}

impl From<f64> for Object {
    fn from(number: f64) -> Object {
        Object::Double(number)
    }
}

impl From<Token> for Object {
    fn from(token: Token) -> Object {
        Object::Token(token)
    }
}
