//! The types of `value IS :: TYPE`: their text, their form as a value within a plan, and the test of a value.
//!
//! A type is a union of alternatives. As a value it is a list of alternatives, each a list of a code, whether null is excluded, and, of a
//! list, the type of its elements. One module writes and reads that form. Cost: a look at each element of a list.

use model::{Value, ValueType};
use std::fmt;

/// A union of alternatives; a value conforms if it conforms to one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeTest(pub Vec<Alternative>);

/// One alternative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Which values.
    pub kind: TypeKind,
    /// `NOT NULL`: null is not among them.
    pub not_null: bool,
}

/// Which values conform to an alternative, null aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// None, not even null.
    Nothing,
    /// Null alone.
    Null,
    /// All.
    Any,
    /// A type that can be stored as a property.
    PropertyValue,
    /// The values of one type.
    Plain(ValueType),
    /// Lists whose elements conform.
    List(TypeTest),
}

/// Types of one word or a few, by the name that is printed.
pub const PLAIN_TYPES: [(&str, ValueType); 16] = [
    ("BOOLEAN", ValueType::Bool),
    ("INTEGER", ValueType::Int),
    ("FLOAT", ValueType::Float),
    ("STRING", ValueType::String),
    ("BYTEARRAY", ValueType::Bytes),
    ("DATE", ValueType::Date),
    ("LOCAL TIME", ValueType::LocalTime),
    ("ZONED TIME", ValueType::Time),
    ("LOCAL DATETIME", ValueType::LocalDateTime),
    ("ZONED DATETIME", ValueType::DateTime),
    ("DURATION", ValueType::Duration),
    ("POINT", ValueType::Point),
    ("MAP", ValueType::Map),
    ("NODE", ValueType::Vertex),
    ("RELATIONSHIP", ValueType::Edge),
    ("PATH", ValueType::Path),
];

/// Most lists within lists of a type: as a value, each is two lists, and values have a limit of their own.
pub const TYPE_DEPTH_MAX: usize = 16;

const NOTHING: i64 = -1;
const NULL: i64 = -2;
const ANY: i64 = -3;
const PROPERTY_VALUE: i64 = -4;
const LIST: i64 = -5;

impl TypeTest {
    /// The one type that it is, where it is a plain one.
    pub fn plain(&self) -> Option<ValueType> {
        match &self.0[..] {
            [Alternative { kind: TypeKind::Plain(value_type), .. }] => Some(*value_type),
            _ => None,
        }
    }

    /// Lists within lists.
    pub fn depth(&self) -> usize {
        let of = |alternative: &Alternative| match &alternative.kind {
            TypeKind::List(elements) => 1 + elements.depth(),
            _ => 0,
        };
        self.0.iter().map(of).max().unwrap_or(0)
    }

    /// As a value; [`conforms`] reads it. Its [`depth`](TypeTest::depth) must be at most [`TYPE_DEPTH_MAX`].
    pub fn encode(&self) -> Value {
        let code = |kind: &TypeKind| match kind {
            TypeKind::Nothing => NOTHING,
            TypeKind::Null => NULL,
            TypeKind::Any => ANY,
            TypeKind::PropertyValue => PROPERTY_VALUE,
            TypeKind::List(_) => LIST,
            TypeKind::Plain(plain) => {
                let place = PLAIN_TYPES.iter().position(|(_, value_type)| value_type == plain);
                place.map_or(NOTHING, |place| place as i64)
            }
        };
        let each = self.0.iter().map(|alternative| {
            let mut parts = vec![Value::Int(code(&alternative.kind)), Value::Bool(alternative.not_null)];
            if let TypeKind::List(elements) = &alternative.kind {
                parts.push(elements.encode())
            }
            Value::list(parts)
        });
        Value::list(each.collect())
    }
}

/// Does the value conform to the type that was encoded? None where that is no type.
pub fn conforms(value: &Value, encoded: &Value) -> Option<bool> {
    let Value::List(alternatives) = encoded else { return None };
    for alternative in alternatives.iter() {
        let Value::List(parts) = alternative else { return None };
        let (code, not_null) = (parts.first()?.as_int()?, parts.get(1)?.as_bool()?);
        let found = match (code, value) {
            (NOTHING, _) => false,
            (_, Value::Null) => !not_null,
            (NULL, _) => false,
            (ANY, _) => true,
            (PROPERTY_VALUE, value) => is_property_value(value),
            (LIST, Value::List(elements)) => {
                let inner = parts.get(2)?;
                let mut all = true;
                for element in elements.iter() {
                    all = conforms(element, inner)?;
                    if !all {
                        break;
                    }
                }
                all
            }
            (LIST, _) => false,
            (plain, value) => PLAIN_TYPES.get(usize::try_from(plain).ok()?)?.1 == value.value_type(),
        };
        if found {
            return Some(true);
        }
    }
    Some(false)
}

/// Can it be stored: a simple value, or a list of simple values of one type?
fn is_property_value(value: &Value) -> bool {
    match value {
        Value::List(elements) => {
            let first = elements.first().map(Value::value_type);
            elements.iter().all(|element| is_simple(element) && Some(element.value_type()) == first)
        }
        other => is_simple(other),
    }
}

fn is_simple(value: &Value) -> bool {
    !matches!(
        value,
        Value::Null | Value::List(_) | Value::Map(_) | Value::Vertex(_) | Value::Edge(_) | Value::Path(_)
    )
}

impl fmt::Display for TypeTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, alternative) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(" | ")?;
            }
            match &alternative.kind {
                TypeKind::Nothing => f.write_str("NOTHING")?,
                TypeKind::Null => f.write_str("NULL")?,
                TypeKind::Any => f.write_str("ANY")?,
                TypeKind::PropertyValue => f.write_str("PROPERTY VALUE")?,
                TypeKind::List(elements) => write!(f, "LIST<{elements}>")?,
                TypeKind::Plain(plain) => {
                    let name = PLAIN_TYPES.iter().find(|(_, value_type)| value_type == plain);
                    f.write_str(name.map_or("NOTHING", |(name, _)| name))?
                }
            }
            if alternative.not_null {
                f.write_str(" NOT NULL")?;
            }
        }
        Ok(())
    }
}
