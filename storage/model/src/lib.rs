//! # model: the data types of a property graph
//!
//! Values, identifiers, names, types, their order and equality, and the columnar batches that carry rows through the engine. This crate has no
//! storage, no query language and no clock; every other crate uses its types.
//!
//! Reading order: [`id`] (identifiers), [`value`], [`nested`] (its lists and maps), [`temporal`] and [`mod@point`] (further values), [`compare`]
//! (equality, order, grouping), [`exact_sum`] (of floats), [`json`] (limits of its texts), [`schema`] (names, types, constraints as data), [`batch`]
//! and [`column`] (rows), [`pace`] (work that can be ended), [`walk`] (walks over values, which cannot pause).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod batch;
pub mod column;
pub mod compare;
pub mod exact_sum;
pub mod id;
pub mod json;
pub mod nested;
pub mod pace;
pub mod point;
pub mod schema;
pub mod temporal;
pub mod value;
pub mod walk;

pub use batch::Batch;
pub use column::{Column, ColumnBuilder, Nulls};
pub use exact_sum::ExactSum;
pub use id::{
    CHUNK_SLOTS, ChunkNo, Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, LabelSetId, NO_VERTEX,
    Slot, VertexId,
};
pub use nested::{ListValue, MapValue, ValueTooLarge};
pub use value::{Map, Path, Value, ValueType};
