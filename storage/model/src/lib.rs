//! # model: the words of a property graph
//!
//! Values, identifiers, names, types, their order and equality, and the columnar batches that carry rows through the engine.
//! This crate knows no storage, no query language and no clock; every other crate speaks its words.
//!
//! Reading order: [`id`] (what is pointed at), [`value`], [`nested`] (its lists and maps), [`temporal`] and [`mod@point`] (what is said of it), [`compare`] (equality, order,
//! grouping), [`exact_sum`] (of floats), [`json`] (how deep its texts may be), [`schema`] (names, types, constraints as data), [`batch`] and [`column`] (how rows travel), [`pace`] (work that
//! others can end), [`walk`] (walks over values, which do not wait for others).

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
