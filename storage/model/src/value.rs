//! Values of properties and expressions: 24 bytes each, cheap to clone.
//!
//! Strings, lists, maps and paths are shared, never copied. Null is a value, as in Cypher; a property that is null is absent.

use crate::id::{EdgeRef, VertexId};
use crate::nested::{ListValue, MapValue, ValueTooLarge, extent_of};
use crate::temporal::types::{Date, Duration, LocalDateTime, LocalTime, ZonedDateTime, ZonedTime};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A map value; keys are in order, so printing and comparing are deterministic.
pub type Map = BTreeMap<Arc<str>, Value>;

/// One value.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Nothing known.
    #[default]
    Null,
    /// true or false.
    Bool(bool),
    /// 64-bit signed integer.
    Int(i64),
    /// 64-bit IEEE 754.
    Float(f64),
    /// UTF-8 text.
    String(Arc<str>),
    /// Raw bytes.
    Bytes(Arc<[u8]>),
    /// Calendar date.
    Date(Date),
    /// Time of day without zone.
    LocalTime(LocalTime),
    /// Time of day with an offset.
    Time(ZonedTime),
    /// Date and time without zone.
    LocalDateTime(LocalDateTime),
    /// Date and time with a zone.
    DateTime(Arc<ZonedDateTime>),
    /// Months, days, seconds and nanoseconds, kept apart.
    Duration(Arc<Duration>),
    /// A point in one of four coordinate systems.
    Point(Arc<Point>),
    /// A list; elements may differ in type.
    List(ListValue),
    /// A map from names to values.
    Map(MapValue),
    /// A vertex of the graph.
    Vertex(VertexId),
    /// An edge of the graph.
    Edge(Arc<EdgeRef>),
    /// A path of the graph.
    Path(Arc<Path>),
}

/// A point: `srid` 7203 and 9157 are Cartesian in two and three dimensions, 4326 and 4979 WGS-84.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Coordinate reference system.
    pub srid: u32,
    /// x or longitude.
    pub x: f64,
    /// y or latitude.
    pub y: f64,
    /// z or height, in the three-dimensional systems.
    pub z: Option<f64>,
}

/// A path: `vertices.len() == edges.len() + 1`; an edge may be walked against its stored direction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path {
    /// Vertices in walking order.
    pub vertices: Vec<VertexId>,
    /// Edges in walking order, each in stored direction.
    pub edges: Vec<EdgeRef>,
}

/// The type of a value, as error messages and schemas name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each names the variant of Value of the same name")]
pub enum ValueType {
    Null,
    Bool,
    Int,
    Float,
    String,
    Bytes,
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
    Duration,
    Point,
    List,
    Map,
    Vertex,
    Edge,
    Path,
}

impl ValueType {
    /// Name as Cypher users know it.
    pub fn name(self) -> &'static str {
        match self {
            ValueType::Null => "Null",
            ValueType::Bool => "Boolean",
            ValueType::Int => "Integer",
            ValueType::Float => "Float",
            ValueType::String => "String",
            ValueType::Bytes => "ByteArray",
            ValueType::Date => "Date",
            ValueType::LocalTime => "LocalTime",
            ValueType::Time => "Time",
            ValueType::LocalDateTime => "LocalDateTime",
            ValueType::DateTime => "DateTime",
            ValueType::Duration => "Duration",
            ValueType::Point => "Point",
            ValueType::List => "List",
            ValueType::Map => "Map",
            ValueType::Vertex => "Node",
            ValueType::Edge => "Relationship",
            ValueType::Path => "Path",
        }
    }
}

impl Value {
    /// Text as a value.
    pub fn string(text: impl Into<Arc<str>>) -> Value {
        Value::String(text.into())
    }
    /// A list of values that are known to be small: names, numbers, vertices, or a list or map of those. Values that outside input can nest or
    /// enlarge go through [`Value::try_list`].
    ///
    /// # Panics
    /// If the list would pass a limit of [`crate::nested`].
    pub fn list(values: Vec<Value>) -> Value {
        Value::try_list(values).expect("the elements of this list are small values")
    }
    /// A list of any values.
    ///
    /// # Errors
    /// [`ValueTooLarge`] if the list would pass a limit of [`crate::nested`].
    pub fn try_list(values: Vec<Value>) -> Result<Value, ValueTooLarge> {
        ListValue::new(values).map(Value::List)
    }
    /// A map from pairs whose values are known to be small; the last of equal keys wins.
    ///
    /// # Panics
    /// If the map would pass a limit of [`crate::nested`].
    pub fn map<K: Into<Arc<str>>>(pairs: impl IntoIterator<Item = (K, Value)>) -> Value {
        Value::try_map(pairs).expect("the values of this map are small values")
    }
    /// A map from pairs of any values; the last of equal keys wins.
    ///
    /// # Errors
    /// [`ValueTooLarge`] if the map would pass a limit of [`crate::nested`].
    pub fn try_map<K: Into<Arc<str>>>(
        pairs: impl IntoIterator<Item = (K, Value)>,
    ) -> Result<Value, ValueTooLarge> {
        let entries = pairs.into_iter().map(|(key, value)| (key.into(), value)).collect();
        MapValue::new(entries).map(Value::Map)
    }
    /// An edge as a value.
    pub fn edge(edge: EdgeRef) -> Value {
        Value::Edge(Arc::new(edge))
    }
    /// Is it null?
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
    /// Type of this value.
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::Null => ValueType::Null,
            Value::Bool(_) => ValueType::Bool,
            Value::Int(_) => ValueType::Int,
            Value::Float(_) => ValueType::Float,
            Value::String(_) => ValueType::String,
            Value::Bytes(_) => ValueType::Bytes,
            Value::Date(_) => ValueType::Date,
            Value::LocalTime(_) => ValueType::LocalTime,
            Value::Time(_) => ValueType::Time,
            Value::LocalDateTime(_) => ValueType::LocalDateTime,
            Value::DateTime(_) => ValueType::DateTime,
            Value::Duration(_) => ValueType::Duration,
            Value::Point(_) => ValueType::Point,
            Value::List(_) => ValueType::List,
            Value::Map(_) => ValueType::Map,
            Value::Vertex(_) => ValueType::Vertex,
            Value::Edge(_) => ValueType::Edge,
            Value::Path(_) => ValueType::Path,
        }
    }
    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(int) => Some(*int),
            _ => None,
        }
    }
    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }
    /// Bytes this value holds on the heap, shared parts counted in full, as charged to a query's byte budget. It does not walk lists and maps.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::String(text) => shared_bytes(text.len()),
            Value::Bytes(bytes) => shared_bytes(bytes.len()),
            Value::List(_) | Value::Map(_) => usize::try_from(extent_of(self).bytes).unwrap_or(usize::MAX),
            Value::Path(path) => 64 + path.vertices.len() * 8 + path.edges.len() * size_of::<EdgeRef>(),
            Value::DateTime(_) | Value::Duration(_) | Value::Point(_) | Value::Edge(_) => 56,
            _ => 0,
        }
    }
}

/// Bytes of `length` shared bytes with their two counts.
pub(crate) fn shared_bytes(length: usize) -> usize {
    (length + 2 * size_of::<usize>()).next_multiple_of(align_of::<usize>())
}

macro_rules! from_type {
    ($($source:ty => $make:expr),* $(,)?) => {$(
        impl From<$source> for Value {
            fn from(source: $source) -> Value { let make: fn($source) -> Value = $make; make(source) }
        }
    )*};
}
from_type! {
    bool => Value::Bool,
    i64 => Value::Int,
    i32 => |int| Value::Int(int as i64),
    u32 => |int| Value::Int(int as i64),
    f64 => Value::Float,
    &str => |text| Value::String(text.into()),
    String => |text| Value::String(text.into()),
    Arc<str> => Value::String,
    VertexId => Value::Vertex,
    EdgeRef => Value::edge,
    Vec<Value> => Value::list,
    Date => Value::Date,
    LocalTime => Value::LocalTime,
    ZonedTime => Value::Time,
    LocalDateTime => Value::LocalDateTime,
}
impl From<ZonedDateTime> for Value {
    fn from(datetime: ZonedDateTime) -> Value {
        Value::DateTime(Arc::new(datetime))
    }
}
impl From<Duration> for Value {
    fn from(duration: Duration) -> Value {
        Value::Duration(Arc::new(duration))
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(option: Option<T>) -> Value {
        option.map_or(Value::Null, Into::into)
    }
}
