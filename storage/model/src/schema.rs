//! Names, indexes and constraints as data, shared by the catalogue, the planner and the interfaces.

use crate::id::{EdgeTypeId, KeyId, LabelId};
use crate::value::ValueType;

/// Number of an index in the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IndexId(pub u32);

/// The target of an index or a constraint: vertices with a label, or edges of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SchemaTarget {
    /// Vertices that carry this label.
    Vertices(LabelId),
    /// Edges of this type.
    Edges(EdgeTypeId),
}

/// A property index: equality and range look-ups by the values of `keys`, in that order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IndexDefinition {
    /// Its number.
    pub id: IndexId,
    /// Its name, unique in the catalogue.
    pub name: String,
    /// The target.
    pub target: SchemaTarget,
    /// Property keys, leading key first.
    pub keys: Vec<KeyId>,
    /// May two entities share the same values?
    pub unique: bool,
}

/// A rule that commits must keep.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConstraintDefinition {
    /// Its name, unique in the catalogue.
    pub name: String,
    /// The target.
    pub target: SchemaTarget,
    /// Keys it speaks of.
    pub keys: Vec<KeyId>,
    /// The rule.
    pub rule: ConstraintRule,
}

/// The rule of a constraint.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConstraintRule {
    /// No two entities share the values of the keys; backed by an index.
    Unique(IndexId),
    /// The keys are present.
    Exists,
    /// Present and unique; backed by an index.
    NodeKey(IndexId),
    /// If present, the value has this type.
    Typed(ValueType),
}
