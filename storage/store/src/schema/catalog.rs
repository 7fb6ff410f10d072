//! The catalogue of one snapshot: names and numbers, indexes, constraints, entries of the interfaces.

use crate::StoreError;
use crate::schema::entries::Entries;
use crate::schema::names::NameTable;
use model::schema::{ConstraintDefinition, IndexDefinition, IndexId, SchemaTarget};
use model::{EdgeTypeId, KeyId, LabelId, LabelSetId};
use std::sync::Arc;

/// The meaning of names and the rules in force, at one snapshot. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub(crate) names: Arc<NameTable>,
    pub(crate) indexes: Arc<Vec<IndexDefinition>>,
    pub(crate) constraints: Arc<Vec<ConstraintDefinition>>,
    pub(crate) entries: Entries,
}

impl Catalog {
    /// All names.
    pub fn names(&self) -> &Arc<NameTable> {
        &self.names
    }
    /// Number of a label.
    pub fn label(&self, name: &str) -> Option<LabelId> {
        self.names.label(name)
    }
    /// Name of a label.
    pub fn label_name(&self, id: LabelId) -> Option<&Arc<str>> {
        self.names.label_name(id)
    }
    /// Number of an edge type.
    pub fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.names.edge_type(name)
    }
    /// Name of an edge type.
    pub fn edge_type_name(&self, id: EdgeTypeId) -> Option<&Arc<str>> {
        self.names.edge_type_name(id)
    }
    /// Number of a property key.
    pub fn key(&self, name: &str) -> Option<KeyId> {
        self.names.key(name)
    }
    /// Name of a property key.
    pub fn key_name(&self, id: KeyId) -> Option<&Arc<str>> {
        self.names.key_name(id)
    }
    /// Labels of a set, sorted; empty for a set that is not known.
    pub fn labels_of(&self, id: LabelSetId) -> &[LabelId] {
        self.names.labels_of(id).map_or(&[], |labels| labels)
    }
    /// All indexes.
    pub fn indexes(&self) -> &[IndexDefinition] {
        &self.indexes
    }
    /// Definition of an index.
    pub fn index(&self, id: IndexId) -> Option<&IndexDefinition> {
        self.indexes.iter().find(|index| index.id == id)
    }
    /// The index of this name.
    pub fn index_named(&self, name: &str) -> Option<&IndexDefinition> {
        self.indexes.iter().find(|index| index.name == name)
    }
    /// The index over exactly these keys of this target.
    pub fn index_for(&self, target: SchemaTarget, keys: &[KeyId]) -> Option<IndexId> {
        self.indexes.iter().find(|index| index.target == target && index.keys == keys).map(|index| index.id)
    }
    /// A number for a new index.
    pub fn next_index_id(&self) -> IndexId {
        IndexId(self.indexes.iter().map(|index| index.id.0 + 1).max().unwrap_or(0))
    }
    /// All constraints.
    pub fn constraints(&self) -> &[ConstraintDefinition] {
        &self.constraints
    }
    /// The constraint of this name.
    pub fn constraint(&self, name: &str) -> Option<&ConstraintDefinition> {
        self.constraints.iter().find(|constraint| constraint.name == name)
    }

    /// Entries that the interfaces store: users, tenants, standing queries.
    pub fn entries(&self) -> &Entries {
        &self.entries
    }

    pub(crate) fn add_index(&mut self, definition: &IndexDefinition) -> Result<(), StoreError> {
        if self.index(definition.id).is_some() || self.index_named(&definition.name).is_some() {
            return Err(StoreError::IndexExists(definition.name.as_str().into()));
        }
        if definition.keys.is_empty() {
            return Err(StoreError::Unsupported("indexes without keys"));
        }
        Arc::make_mut(&mut self.indexes).push(definition.clone());
        Ok(())
    }
    pub(crate) fn drop_index(&mut self, id: IndexId) -> Result<(), StoreError> {
        self.index(id).ok_or(StoreError::NoIndex(id))?;
        Arc::make_mut(&mut self.indexes).retain(|index| index.id != id);
        Ok(())
    }
    pub(crate) fn add_constraint(&mut self, definition: &ConstraintDefinition) -> Result<(), StoreError> {
        if self.constraint(&definition.name).is_some() {
            return Err(StoreError::ConstraintExists(definition.name.as_str().into()));
        }
        Arc::make_mut(&mut self.constraints).push(definition.clone());
        Ok(())
    }
    pub(crate) fn drop_constraint(&mut self, name: &str) -> Result<(), StoreError> {
        self.constraint(name).ok_or_else(|| StoreError::NoConstraint(name.into()))?;
        Arc::make_mut(&mut self.constraints).retain(|constraint| constraint.name != name);
        Ok(())
    }
}
