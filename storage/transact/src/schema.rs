//! Catalogue commands: indexes and constraints, made from the latest snapshot while no commit can intervene.

use crate::{Engine, TransactError, constraints};
use model::schema::{ConstraintDefinition, ConstraintRule, IndexDefinition, SchemaTarget};
use model::{KeyId, ValueType};
use store::{Change, Snapshot};

/// An index to create.
#[derive(Clone, Debug)]
pub struct IndexRequest {
    /// Its name; made from what it is about where absent.
    pub name: Option<String>,
    /// What is indexed.
    pub target: SchemaTarget,
    /// On which keys.
    pub keys: Vec<KeyId>,
    /// Is an index that exists already good enough?
    pub if_not_exists: bool,
}

/// A constraint to create.
#[derive(Clone, Debug)]
pub struct ConstraintRequest {
    /// Its name; made from what it is about where absent.
    pub name: Option<String>,
    /// What it is about.
    pub target: SchemaTarget,
    /// On which keys.
    pub keys: Vec<KeyId>,
    /// What must hold.
    pub rule: Rule,
    /// Is a constraint that exists already good enough?
    pub if_not_exists: bool,
}

/// What a constraint can demand, before its index has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No two entities share the values.
    Unique,
    /// Present.
    Exists,
    /// Present and unique.
    NodeKey,
    /// Of this type, if present.
    Typed(ValueType),
}

/// Times a new index is brought up to the latest snapshot before commits have to wait for the rest: each time takes but a part of the time
/// before, in which only so much was committed.
const PREPARE_ROUNDS: usize = 4;

impl Engine {
    /// Builds an index beside commits, so that the one that creates it finds little left to do. Whatever is wrong with it, that commit
    /// will say.
    fn prepare_index(&self, target: SchemaTarget, keys: &[KeyId], unique: bool) -> IndexDefinition {
        let definition = IndexDefinition {
            id: self.snapshot().catalog().next_index_id(),
            name: String::new(),
            target,
            keys: keys.to_vec(),
            unique,
        };
        for _ in 0..PREPARE_ROUNDS {
            let current = self.snapshot();
            if current.catalog().index_for(target, keys).is_some()
                || current.prepare_index(&definition).is_err()
            {
                break;
            }
        }
        definition
    }

    /// Creates an index over what exists; true where it was made, false where it existed and that was allowed.
    pub fn create_index(&self, request: &IndexRequest) -> Result<bool, TransactError> {
        let mut made = false;
        let prepared = self.prepare_index(request.target, &request.keys, false);
        let outcome = self.alter(|current| {
            let name = request
                .name
                .clone()
                .unwrap_or_else(|| made_name("index", request.target, &request.keys, current));
            let catalog = current.catalog();
            let same = catalog.index_for(request.target, &request.keys).is_some();
            if same || catalog.index_named(&name).is_some() {
                return exists(
                    request.if_not_exists,
                    format!("an index `{name}` or on the same properties exists already"),
                );
            }
            made = true;
            let id = catalog.next_index_id();
            let definition = IndexDefinition {
                id,
                name,
                target: request.target,
                keys: request.keys.clone(),
                unique: false,
            };
            Ok(vec![Change::CreateIndex(definition)])
        });
        self.snapshot().forget_prepared(&prepared);
        outcome.map(|_| made)
    }

    /// Drops an index by name; an index that a constraint needs stays.
    pub fn drop_index(&self, name: &str, if_exists: bool) -> Result<bool, TransactError> {
        let mut dropped = false;
        self.alter(|current| {
            let Some(index) = current.catalog().index_named(name) else {
                return exists(if_exists, format!("there is no index `{name}`"));
            };
            let needed = current
                .catalog()
                .constraints()
                .iter()
                .find(|constraint| owned_index(constraint) == Some(index.id));
            if let Some(constraint) = needed {
                let what =
                    format!("index `{name}` belongs to constraint `{}`; drop that instead", constraint.name);
                return Err(TransactError::Schema { what });
            }
            dropped = true;
            Ok(vec![Change::DropIndex(index.id)])
        })?;
        Ok(dropped)
    }

    /// Creates a constraint, after checking that existing data keeps it.
    pub fn create_constraint(&self, request: &ConstraintRequest) -> Result<bool, TransactError> {
        let mut made = false;
        let with_index = matches!(request.rule, Rule::Unique | Rule::NodeKey);
        let prepared = with_index.then(|| self.prepare_index(request.target, &request.keys, true));
        let outcome = self.alter(|current| {
            let catalog = current.catalog();
            let name = request
                .name
                .clone()
                .unwrap_or_else(|| made_name("constraint", request.target, &request.keys, current));
            let same = |other: &ConstraintDefinition| {
                other.target == request.target
                    && other.keys == request.keys
                    && rule_of(&other.rule) == request.rule
            };
            if catalog.constraint(&name).is_some() || catalog.constraints().iter().any(same) {
                return exists(
                    request.if_not_exists,
                    format!("a constraint `{name}` or the same rule exists already"),
                );
            }
            made = true;
            self.constraint_changes(request, name, current)
        });
        prepared.iter().for_each(|definition| self.snapshot().forget_prepared(definition));
        outcome.map(|_| made).map_err(|error| self.with_duplicates(request, error))
    }

    /// A unique index is refused at the first pair it meets; whoever has to clear up wants to see more of them.
    fn with_duplicates(&self, request: &ConstraintRequest, error: TransactError) -> TransactError {
        let by_index = matches!(request.rule, Rule::Unique | Rule::NodeKey);
        if !by_index || !matches!(error, TransactError::Constraint { .. }) {
            return error;
        }
        let current = self.snapshot();
        let (of, found) = match request.target {
            SchemaTarget::Vertices(label) => {
                ("nodes", constraints::duplicates(label, &request.keys, &current))
            }
            SchemaTarget::Edges(edge_type) => {
                ("relationships", constraints::duplicate_edges(edge_type, &request.keys, &current))
            }
        };
        match found {
            Ok((shown, count)) if count > 0 => {
                let shown = shown.join("; ");
                let what = format!(
                    "existing {of} break it (groups of the same values: {count}), the first of them: {shown}"
                );
                // Its index was never in the catalogue, so the refusal had no name for it.
                let made = || made_name("constraint", request.target, &request.keys, &current);
                TransactError::Constraint { name: request.name.clone().unwrap_or_else(made), what }
            }
            _ => error,
        }
    }

    fn constraint_changes(
        &self,
        request: &ConstraintRequest,
        name: String,
        current: &Snapshot,
    ) -> Result<Vec<Change>, TransactError> {
        let catalog = current.catalog();
        let mut changes = Vec::new();
        let mut unique_index = || {
            if catalog.index_for(request.target, &request.keys).is_some() {
                let what =
                    "an index on the same properties exists; drop it first, the constraint brings its own"
                        .into();
                return Err(TransactError::Schema { what });
            }
            let id = catalog.next_index_id();
            let (name, target, keys) = (name.clone(), request.target, request.keys.clone());
            changes.push(Change::CreateIndex(IndexDefinition { id, name, target, keys, unique: true }));
            Ok(id)
        };
        let rule = match request.rule {
            Rule::Unique => ConstraintRule::Unique(unique_index()?),
            Rule::NodeKey => ConstraintRule::NodeKey(unique_index()?),
            Rule::Exists => ConstraintRule::Exists,
            Rule::Typed(value_type) => ConstraintRule::Typed(value_type),
        };
        let definition =
            ConstraintDefinition { name, target: request.target, keys: request.keys.clone(), rule };
        constraints::check_existing(&definition, current)?;
        changes.push(Change::CreateConstraint(definition));
        Ok(changes)
    }

    /// Drops a constraint by name, and the index it brought.
    pub fn drop_constraint(&self, name: &str, if_exists: bool) -> Result<bool, TransactError> {
        let mut dropped = false;
        self.alter(|current| {
            let Some(constraint) = current.catalog().constraint(name) else {
                return exists(if_exists, format!("there is no constraint `{name}`"));
            };
            dropped = true;
            let mut changes = vec![Change::DropConstraint(name.to_string())];
            changes.extend(owned_index(constraint).map(Change::DropIndex));
            Ok(changes)
        })?;
        Ok(dropped)
    }
}

fn exists(allowed: bool, what: String) -> Result<Vec<Change>, TransactError> {
    if allowed { Ok(Vec::new()) } else { Err(TransactError::Schema { what }) }
}

fn owned_index(constraint: &ConstraintDefinition) -> Option<model::schema::IndexId> {
    match constraint.rule {
        ConstraintRule::Unique(index) | ConstraintRule::NodeKey(index) => Some(index),
        ConstraintRule::Exists | ConstraintRule::Typed(_) => None,
    }
}

fn rule_of(rule: &ConstraintRule) -> Rule {
    match rule {
        ConstraintRule::Unique(_) => Rule::Unique,
        ConstraintRule::Exists => Rule::Exists,
        ConstraintRule::NodeKey(_) => Rule::NodeKey,
        ConstraintRule::Typed(value_type) => Rule::Typed(*value_type),
    }
}

/// `index_person_name`, made unique by a number where taken.
fn made_name(kind: &str, target: SchemaTarget, keys: &[KeyId], current: &Snapshot) -> String {
    let catalog = current.catalog();
    let about = match target {
        SchemaTarget::Vertices(label) => catalog.label_name(label),
        SchemaTarget::Edges(edge_type) => catalog.edge_type_name(edge_type),
    };
    let mut name = format!("{kind}_{}", about.map_or_else(|| "new".into(), |name| name.to_lowercase()));
    for key in keys {
        name.push('_');
        name.push_str(catalog.key_name(*key).map_or("new", |name| name));
    }
    let taken = |name: &str| catalog.index_named(name).is_some() || catalog.constraint(name).is_some();
    let plain = name.clone();
    let mut number = 2;
    while taken(&name) {
        name = format!("{plain}_{number}");
        number += 1;
    }
    name
}
