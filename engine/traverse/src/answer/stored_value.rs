//! Objects as values of the property graph, and back.
//!
//! | object | value | comes back as |
//! |---|---|---|
//! | whole number of 32 bits or less | integer | 32-bit whole number |
//! | 64-bit whole number | integer, and the key is marked *wide* | 64-bit whole number, as every whole number of that key does |
//! | float of 32 or 64 bits | float | 64-bit float |
//! | truth value, text, bytes, point in time, duration, list of such | the same | the same |
//! | UUID, set, map, character, number without width | a map with the key `" kind"` | the same |
//! | several values of a key, values with properties | a map with the key `" many"` | the same |
//!
//! No client of Gremlin can write these two keys; Cypher sees the maps. The names of marks, and the key that holds the id a client gave, are shown by
//! no interface ([`plan::hidden`]). Within the maps widths are kept exactly. A transaction that writes such a value first adds the marks of its key
//! to the catalogue ([`marks`]): so every reader of a snapshot knows which keys are wide, and no plan is made over values that the algebra would
//! misread.

use crate::Kept;
use gremlin::{Decimal, Footprint, Instant, Object, Traversal};
use model::nested::{VALUE_DEPTH_MAX, extent_of};
use model::temporal::Duration;
use model::{KeyId, Value};
pub use plan::hidden::OWN_ID;
use plan::hidden::{TAGGED, WIDE};
use std::sync::Arc;
use store::Snapshot;
use transact::{TransactError, Transaction};

const KIND: &str = " kind";
const VALUE: &str = " value";
const MANY: &str = " many";

/// Nesting of lists and maps that a property may have: half of a value's maximum, so that rows and answers can hold it.
const DEPTH_MAX: u32 = VALUE_DEPTH_MAX as u32 / 2;
/// Those around a value of several.
const MANY_DEPTH: u32 = 3;

/// The names the catalogue must know before a key holds these values. The first of a pair says that any key is marked so.
pub fn marks(key: &str, values: &[Kept]) -> Vec<String> {
    let mut names = Vec::new();
    let mut mark = |word: &str| names.extend([word.to_string(), format!("{word} {key}")]);
    match values {
        [Kept { value, meta }] if meta.is_empty() => {
            if has_long(value) {
                mark(WIDE);
            }
            if !is_plain(value) {
                mark(TAGGED);
            }
        }
        [] => {}
        _ => mark(TAGGED),
    }
    names
}

/// The number of a key that is to hold these values; its marks are added with it.
///
/// # Errors
/// A name cannot be added.
pub fn key_for(transaction: &Transaction, key: &str, values: &[Kept]) -> Result<KeyId, TransactError> {
    for mark in marks(key, values) {
        transaction.key(&mark)?;
    }
    transaction.key(key)
}

fn is_marked(view: &Snapshot, word: &str, key: &str) -> bool {
    let known = |name: &str| view.catalog().key(name).is_some();
    known(word) && known(&format!("{word} {key}"))
}

/// Are the whole numbers of a key of 64 bits?
pub fn is_wide(view: &Snapshot, key: &str) -> bool {
    is_marked(view, WIDE, key)
}

/// Does every value of a key mean the same to the algebra as to the machine?
pub fn is_plain_key(view: &Snapshot, key: &str) -> bool {
    !is_marked(view, TAGGED, key)
}

/// Facts that a plan needs about the keys that a traversal reads.
pub struct Facts {
    /// The keys whose whole numbers have 64 bits.
    pub wide: Vec<Arc<str>>,
}

/// The facts for a plan of a traversal; none where it may meet values that the algebra would misread.
pub fn facts(view: &Snapshot, traversal: &Traversal) -> Option<Facts> {
    let catalog = view.catalog();
    let (ids, tagged, wide) =
        (catalog.key(OWN_ID).is_some(), catalog.key(TAGGED).is_some(), catalog.key(WIDE).is_some());
    if !ids && !tagged && !wide {
        return Some(Facts { wide: Vec::new() });
    }
    let Footprint { names, every_key, ids: reads_ids } = gremlin::footprint(traversal);
    let misread = tagged && (every_key || names.iter().any(|name| !is_plain_key(view, name)));
    if misread || (ids && reads_ids) || (wide && every_key) {
        return None;
    }
    let wide = names.into_iter().filter(|name| wide && is_wide(view, name)).map(Arc::from).collect();
    Some(Facts { wide })
}

/// Does the algebra read the value correctly?
fn is_plain(object: &Object) -> bool {
    match object {
        Object::List(elements) => elements.iter().all(is_plain),
        other => plain(other, false).is_some(),
    }
}

/// Is there a whole number in it that would come back with fewer bits?
fn has_long(object: &Object) -> bool {
    match object {
        Object::Long(number) => i32::try_from(*number).is_ok(),
        Object::List(elements) => elements.iter().any(has_long),
        _ => false,
    }
}

/// An object as a value; none where the graph cannot keep it.
pub fn to_value(object: &Object) -> Option<Value> {
    let value = plain(object, false).or_else(|| tagged(object))?;
    (extent_of(&value).depth <= DEPTH_MAX).then_some(value)
}

/// The same, with the widths of numbers: for values within a tagged map.
fn exact(object: &Object) -> Option<Value> {
    plain(object, true).or_else(|| tagged(object))
}

/// Without a tag.
fn plain(object: &Object, is_exact: bool) -> Option<Value> {
    let inner = if is_exact { exact } else { to_value };
    Some(match object {
        Object::Null => Value::Null,
        Object::Bool(truth) => Value::Bool(*truth),
        Object::Byte(_) | Object::Short(_) | Object::Float(_) if is_exact => return None,
        Object::Long(number) if is_exact && i32::try_from(*number).is_ok() => return None,
        Object::Byte(_) | Object::Short(_) | Object::Int(_) | Object::Long(_) => {
            Value::Int(object.as_long()?)
        }
        Object::Float(number) => Value::Float(f64::from(*number)),
        Object::Double(number) => Value::Float(*number),
        Object::String(text) => Value::String(text.clone()),
        Object::Binary(bytes) => Value::Bytes(bytes.clone()),
        Object::DateTime(instant) => instant.to_value(),
        Object::Duration(seconds, nanos) => {
            Value::from(Duration { months: 0, days: 0, seconds: *seconds, nanos: *nanos })
        }
        Object::List(elements) => list(elements, inner)?,
        _ => return None,
    })
}

fn tagged(object: &Object) -> Option<Value> {
    let list = |elements: &[Object]| list(elements, exact);
    let (kind, value) = match object {
        Object::Byte(number) => ("byte", Value::Int(i64::from(*number))),
        Object::Short(number) => ("short", Value::Int(i64::from(*number))),
        Object::Long(number) => ("long", Value::Int(*number)),
        Object::Float(number) => ("float", Value::Float(f64::from(*number))),
        Object::BigInt(number) => ("bigint", Value::string(number.to_string())),
        Object::BigDecimal(number) => {
            ("decimal", Value::string(format!("{}/{}", number.unscaled, number.scale)))
        }
        Object::Uuid(uuid) => ("uuid", Value::string(uuid.to_string())),
        Object::Char(letter) => ("char", Value::string(letter.to_string())),
        Object::Set(elements) => ("set", list(elements)?),
        Object::Map(pairs) => {
            let flat: Vec<Object> =
                pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect();
            ("map", list(&flat)?)
        }
        _ => return None,
    };
    Value::try_map([(KIND, Value::string(kind)), (VALUE, value)]).ok()
}

fn list(elements: &[Object], inner: impl Fn(&Object) -> Option<Value>) -> Option<Value> {
    Value::try_list(elements.iter().map(inner).collect::<Option<_>>()?).ok()
}
/// A value as an object.
pub fn to_object(value: &Value) -> Object {
    match value {
        Value::Null => Object::Null,
        Value::Bool(truth) => Object::Bool(*truth),
        Value::Int(number) => i32::try_from(*number).map_or(Object::Long(*number), Object::Int),
        Value::Float(number) => Object::Double(*number),
        Value::String(text) => Object::String(text.clone()),
        Value::Bytes(bytes) => Object::Binary(bytes.clone()),
        Value::DateTime(moment) => Object::DateTime(Arc::new(Instant {
            seconds: moment.seconds,
            nanos: moment.nanos,
            offset_seconds: moment.offset_seconds,
        })),
        Value::Duration(span) if span.months == 0 && span.days == 0 => {
            Object::Duration(span.seconds, span.nanos)
        }
        Value::List(elements) => Object::list(elements.iter().map(to_object).collect()),
        Value::Map(map) => match (map.get(KIND), map.get(VALUE)) {
            (Some(Value::String(kind)), Some(value)) => untagged(kind, value).unwrap_or_default(),
            _ => Object::map(
                map.iter().map(|(key, value)| (Object::String(key.clone()), to_object(value))).collect(),
            ),
        },
        Value::Vertex(vertex) => Object::Vertex(*vertex),
        Value::Edge(edge) => Object::Edge(edge.clone()),
        // dates and durations that Gremlin has no type for are their text
        other => {
            model::temporal::text(other).map_or_else(|| Object::string(format!("{other:?}")), Object::string)
        }
    }
}

/// The object of a tagged map. Earlier versions stored durations so, too.
fn untagged(kind: &str, value: &Value) -> Option<Object> {
    let text = || value.as_str();
    let list = || match value {
        Value::List(elements) => Some(elements.iter().map(to_object).collect::<Vec<_>>()),
        _ => None,
    };
    Some(match kind {
        "byte" => Object::Byte(i8::try_from(value.as_int()?).ok()?),
        "short" => Object::Short(i16::try_from(value.as_int()?).ok()?),
        "long" => Object::Long(value.as_int()?),
        "float" => match value {
            Value::Float(number) => Object::Float(*number as f32),
            _ => return None,
        },
        "bigint" => Object::BigInt(Arc::new(text()?.parse().ok()?)),
        "decimal" => {
            let (unscaled, scale) = text()?.split_once('/')?;
            Object::BigDecimal(Arc::new(Decimal {
                unscaled: unscaled.parse().ok()?,
                scale: scale.parse().ok()?,
            }))
        }
        "uuid" => Object::Uuid(Arc::new(text()?.parse().ok()?)),
        "char" => Object::Char(text()?.chars().next()?),
        "duration" => {
            let parts = list()?;
            Object::Duration(parts.first()?.as_long()?, u32::try_from(parts.get(1)?.as_long()?).ok()?)
        }
        "set" => Object::Set(Arc::new(list()?)),
        "map" => {
            let flat = list()?;
            Object::map(flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
        }
        _ => return None,
    })
}

/// All values of a key as one value.
pub fn many_to_value(kept: &[Kept]) -> Option<Value> {
    if let [only] = kept
        && only.meta.is_empty()
    {
        return to_value(&only.value);
    }
    let mut all = Vec::new();
    for one in kept {
        let mut meta = Vec::new();
        for (key, value) in &one.meta {
            meta.push((key.clone(), exact(value)?));
        }
        all.push(Value::try_list(vec![exact(&one.value)?, Value::try_map(meta).ok()?]).ok()?);
    }
    let all = Value::try_map([(MANY, Value::try_list(all).ok()?)]).ok()?;
    (extent_of(&all).depth <= DEPTH_MAX + MANY_DEPTH).then_some(all)
}

/// A value as an object, whole numbers as 64-bit ones.
pub fn to_wide(value: &Value) -> Object {
    match value {
        Value::Int(number) => Object::Long(*number),
        Value::List(elements) => Object::list(elements.iter().map(to_wide).collect()),
        other => to_object(other),
    }
}

/// A value of a key as an object.
pub fn read(value: &Value, is_wide: bool) -> Object {
    if is_wide { to_wide(value) } else { to_object(value) }
}

/// The values of a key.
pub fn many_of(value: &Value, is_wide: bool) -> Vec<Kept> {
    if let Value::Map(map) = value
        && let Some(Value::List(all)) = map.get(MANY)
    {
        return all.iter().filter_map(one_of).collect();
    }
    match value {
        Value::Null => Vec::new(),
        value => vec![Kept::plain(read(value, is_wide))],
    }
}

fn one_of(pair: &Value) -> Option<Kept> {
    let Value::List(pair) = pair else { return None };
    let meta = match pair.get(1) {
        Some(Value::Map(meta)) => meta.iter().map(|(key, value)| (key.clone(), to_object(value))).collect(),
        _ => Vec::new(),
    };
    Some(Kept { value: to_object(pair.first()?), meta })
}
