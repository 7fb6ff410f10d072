//! Values as programs see them.

/// A value. Dates, times, durations and points are passed as texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// true or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A floating point number.
    Float(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A node, by its number within this run.
    Node(u64),
    /// A list.
    List(Vec<Value>),
    /// Names and values, each name once.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The whole number, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(int) => Some(*int),
            _ => None,
        }
    }
    /// The number, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Int(int) => Some(*int as f64),
            Value::Float(float) => Some(*float),
            _ => None,
        }
    }
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
    /// The value of this name, if it is a map that has one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Map(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }
    /// Is it null?
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}
