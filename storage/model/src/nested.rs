//! Lists and maps as values: shared, never changed, and bounded.
//!
//! A list or a map knows its [`Extent`]: how deep its values are nested and how many parts and bytes a walk over all of them meets. The
//! extent is computed once, from the extents of the direct parts, when the value is made. There is no other way to make one, so no value
//! is deeper than [`VALUE_DEPTH_MAX`] or larger than [`VALUE_PARTS_MAX`], and a walk over a value may recurse.
//!
//! Parts that are shared count once for each place they are met at: `[m, m]` is twice as large as `m`. Doubling a value again and again
//! therefore ends at the limit, although it takes little memory.

use crate::value::{Map, Value, shared_bytes};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Lists and maps within one another. Comparing, hashing, printing, encoding and dropping recurse once a level; this depth fits a quarter
/// of the smallest stack of our threads in an unoptimised build.
pub const VALUE_DEPTH_MAX: usize = 128;

/// Values that a walk over one value may meet: a list of this many takes 1.5 GB, about the maximum of a query.
pub const VALUE_PARTS_MAX: usize = 1 << 26;

/// Bytes of an empty list or map, with two counts.
const HELD_BYTES: usize = size_of::<WithExtent<Vec<Value>>>() + 16;
/// Bytes of a leaf of a [`Map`]: room for eleven keys and values, whether they are there or not.
const MAP_NODE_BYTES: usize = 11 * (size_of::<Arc<str>>() + size_of::<Value>()) + 16;
/// Entries of a leaf that is full, as those are that are made in order.
const MAP_NODE_ENTRIES: usize = 11;

/// How large a list or a map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Levels of nesting: 1 for a list without lists and maps in it.
    pub depth: u32,
    /// Values that a walk meets, itself included.
    pub parts: u32,
    /// Bytes on the heap, shared parts counted in full; saturates.
    pub bytes: u64,
    /// Is it equal to itself? Not with null or NaN in it.
    pub equals_itself: bool,
}

impl Extent {
    const EMPTY: Extent = Extent { depth: 1, parts: 1, bytes: HELD_BYTES as u64, equals_itself: true };

    fn add(&mut self, value: &Value, overhead: usize) {
        let part = extent_of(value);
        self.depth = self.depth.max(part.depth + 1);
        self.parts = self.parts.saturating_add(part.parts);
        self.bytes = self.bytes.saturating_add(part.bytes).saturating_add(overhead as u64);
        self.equals_itself &= part.equals_itself;
    }

    fn check(self) -> Result<Extent, ValueTooLarge> {
        if self.depth as usize > VALUE_DEPTH_MAX {
            Err(ValueTooLarge::Deep)
        } else if self.parts as usize > VALUE_PARTS_MAX {
            Err(ValueTooLarge::Wide)
        } else {
            Ok(self)
        }
    }
}

/// The extent of any value; one that is neither list nor map has depth 0.
pub fn extent_of(value: &Value) -> Extent {
    match value {
        Value::List(list) => list.extent(),
        Value::Map(map) => map.extent(),
        other => Extent {
            depth: 0,
            parts: 1,
            bytes: other.heap_bytes() as u64,
            equals_itself: match other {
                Value::Null => false,
                Value::Float(float) => !float.is_nan(),
                Value::Point(point) => point.as_ref() == point.as_ref(),
                _ => true,
            },
        },
    }
}

/// A list or a map that would pass a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueTooLarge {
    /// Nested deeper than [`VALUE_DEPTH_MAX`].
    Deep,
    /// More than [`VALUE_PARTS_MAX`] values in all.
    Wide,
}

impl ValueTooLarge {
    /// Advice for the user.
    pub fn hint(self) -> &'static str {
        match self {
            ValueTooLarge::Deep => "keep nested data in nodes and relationships, or flatten the lists",
            ValueTooLarge::Wide => {
                "a list that holds another twice counts it twice: return rows instead of one large value"
            }
        }
    }
}

impl fmt::Display for ValueTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueTooLarge::Deep => {
                write!(f, "a value is nested deeper than {VALUE_DEPTH_MAX} lists and maps")
            }
            ValueTooLarge::Wide => {
                write!(
                    f,
                    "a value has more than {VALUE_PARTS_MAX} parts, counting those of nested lists and maps"
                )
            }
        }
    }
}

impl std::error::Error for ValueTooLarge {}

/// A list with its extent.
struct WithExtent<T> {
    content: T,
    extent: Extent,
}

/// A list value: shared, read as a slice.
#[derive(Clone)]
pub struct ListValue(Arc<WithExtent<Vec<Value>>>);

impl ListValue {
    /// A list of these elements.
    ///
    /// # Errors
    /// [`ValueTooLarge`] if it would pass a limit.
    pub fn new(elements: Vec<Value>) -> Result<ListValue, ValueTooLarge> {
        let mut extent = Extent::EMPTY;
        let spare = (elements.capacity() - elements.len()) * size_of::<Value>();
        extent.bytes += spare as u64;
        elements.iter().for_each(|element| extent.add(element, size_of::<Value>()));
        let extent = extent.check()?;
        Ok(ListValue(Arc::new(WithExtent { content: elements, extent })))
    }
    /// How large it is.
    pub fn extent(&self) -> Extent {
        self.0.extent
    }
    /// Are the two one list in memory?
    pub fn is_same(&self, other: &ListValue) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
    /// Its elements.
    pub fn as_slice(&self) -> &[Value] {
        &self.0.content
    }
}

impl Deref for ListValue {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        &self.0.content
    }
}

impl fmt::Debug for ListValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.content.fmt(f)
    }
}

/// A map value: shared, read as a [`Map`].
#[derive(Clone)]
pub struct MapValue(Arc<WithExtent<Map>>);

impl MapValue {
    /// A map of these entries.
    ///
    /// # Errors
    /// [`ValueTooLarge`] if it would pass a limit.
    pub fn new(entries: Map) -> Result<MapValue, ValueTooLarge> {
        let mut extent = Extent::EMPTY;
        let leaves = entries.len().div_ceil(MAP_NODE_ENTRIES);
        let above = if leaves > 1 { leaves.div_ceil(MAP_NODE_ENTRIES) } else { 0 };
        extent.bytes += ((leaves + above) * MAP_NODE_BYTES) as u64;
        // A key is a text of its own, with two counts.
        entries.iter().for_each(|(key, value)| extent.add(value, shared_bytes(key.len())));
        let extent = extent.check()?;
        Ok(MapValue(Arc::new(WithExtent { content: entries, extent })))
    }
    /// How large it is.
    pub fn extent(&self) -> Extent {
        self.0.extent
    }
    /// Are the two one map in memory?
    pub fn is_same(&self, other: &MapValue) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for MapValue {
    fn default() -> MapValue {
        MapValue(Arc::new(WithExtent { content: Map::new(), extent: Extent::EMPTY }))
    }
}

impl Deref for MapValue {
    type Target = Map;
    fn deref(&self) -> &Map {
        &self.0.content
    }
}

impl fmt::Debug for MapValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.content.fmt(f)
    }
}

#[cfg(test)]
#[path = "nested/tests.rs"]
mod tests;
