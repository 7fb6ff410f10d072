//! Catalogue commands: indexes and constraints, made from the latest snapshot while no commit can intervene.

use crate::constraints::{self, Looked};
use crate::error::{SchemaClash, explain};
use crate::{Engine, TransactError};
use model::schema::{ConstraintDefinition, ConstraintRule, IndexDefinition, SchemaTarget};
use model::{KeyId, ValueType};
use store::{Change, Snapshot, StoreError};

/// An index to create.
#[derive(Clone, Debug)]
pub struct IndexRequest {
    /// Its name; where absent it is generated from target and keys.
    pub name: Option<String>,
    /// The target.
    pub target: SchemaTarget,
    /// On which keys.
    pub keys: Vec<KeyId>,
    /// Is an index that exists already good enough?
    pub if_not_exists: bool,
}

/// A constraint to create.
#[derive(Clone, Debug)]
pub struct ConstraintRequest {
    /// Its name; where absent it is generated from target and keys.
    pub name: Option<String>,
    /// The target.
    pub target: SchemaTarget,
    /// On which keys.
    pub keys: Vec<KeyId>,
    /// The rule.
    pub rule: Rule,
    /// Is a constraint that exists already good enough?
    pub if_not_exists: bool,
}

/// The rule of a constraint, before its index has a number.
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

/// Preparations of a catalogue command beside commits. Unused ones are dropped with it.
pub struct Groundwork {
    engine: Engine,
    target: SchemaTarget,
    keys: Vec<KeyId>,
    unique: bool,
    /// Existing data keeps the rule in this snapshot; none where it was not looked at.
    checked: Option<Snapshot>,
}

impl Drop for Groundwork {
    fn drop(&mut self) {
        let definition = self.engine.nameless(self.target, &self.keys, self.unique);
        self.engine.snapshot().forget_prepared(&definition);
    }
}

/// Times a new index is updated to the latest snapshot before commits have to wait for the rest: each round takes a fraction of the time of the one
/// before, and has as many fewer commits to catch up with.
const PREPARE_ROUNDS: usize = 4;

impl Engine {
    /// Builds an index beside commits, so that the commit that creates it finds little left to do. Other errors are left to that commit.
    ///
    /// # Errors
    /// The query was ended ([`model::pace`]).
    pub fn prepare_index(&self, request: &IndexRequest) -> Result<Groundwork, TransactError> {
        let groundwork = self.groundwork(request.target, &request.keys, false);
        if self.is_gate() {
            // Each shard builds its part when it comes to the commit.
            return Ok(groundwork);
        }
        match self.build_beside(request.target, &request.keys, false) {
            Err(StoreError::Stopped) => Err(StoreError::Stopped.into()),
            _ => Ok(groundwork),
        }
    }

    /// Builds the index of a constraint, and validates existing data, beside commits.
    ///
    /// # Errors
    /// Existing data breaks it; the query was ended.
    pub fn prepare_constraint(&self, request: &ConstraintRequest) -> Result<Groundwork, TransactError> {
        let mut groundwork = self.groundwork(request.target, &request.keys, true);
        let current = self.latest()?;
        if self.constraint_clash(request, &current).is_some() {
            return Ok(groundwork);
        }
        if brings_index(request.rule) {
            self.build_unique_beside(request)?;
        }
        self.check_rule(request, Looked { snapshot: &current, earlier: None })?;
        groundwork.checked = Some(current);
        Ok(groundwork)
    }

    fn build_unique_beside(&self, request: &ConstraintRequest) -> Result<(), TransactError> {
        let build = || self.build_beside(request.target, &request.keys, true);
        let is_broken = |error: &StoreError| {
            matches!(error, StoreError::NotUnique { .. } | StoreError::EdgesNotUnique { .. })
        };
        let outcome = match build() {
            Err(error) if is_broken(&error) => match self.told_duplicates(request)? {
                Some(error) => return Err(error),
                // They went meanwhile, or lie behind all that were compared.
                None => build(),
            },
            outcome => outcome,
        };
        match outcome {
            Err(StoreError::Stopped) => Err(StoreError::Stopped.into()),
            Err(error) if is_broken(&error) => Err(match explain(error, &self.snapshot()) {
                // It was never in the catalogue, so the refusal has no name for it.
                TransactError::Constraint { what, .. } => {
                    TransactError::Constraint { name: self.constraint_name(request), what }
                }
                error => error,
            }),
            // Whatever else is wrong, the commit will say.
            _ => Ok(()),
        }
    }

    fn groundwork(&self, target: SchemaTarget, keys: &[KeyId], unique: bool) -> Groundwork {
        Groundwork { engine: self.clone(), target, keys: keys.to_vec(), unique, checked: None }
    }

    fn build_beside(&self, target: SchemaTarget, keys: &[KeyId], unique: bool) -> Result<(), StoreError> {
        let definition = self.nameless(target, keys, unique);
        for _ in 0..PREPARE_ROUNDS {
            // Where there is none, the commit says why.
            let Ok(current) = self.latest() else { break };
            if current.catalog().index_for(target, keys).is_some() {
                break;
            }
            current.prepare_index(&definition)?;
        }
        Ok(())
    }

    /// An index that has no name and no number of its own yet.
    fn nameless(&self, target: SchemaTarget, keys: &[KeyId], unique: bool) -> IndexDefinition {
        let id = self.snapshot().catalog().next_index_id();
        IndexDefinition { id, name: String::new(), target, keys: keys.to_vec(), unique }
    }

    /// Creates an index over the existing graph; true where it was made, false where it existed and `if_not_exists` allowed that.
    pub fn create_index(&self, request: &IndexRequest) -> Result<bool, TransactError> {
        self.create_index_upon(request, self.prepare_index(request)?)
    }

    /// Creates an index from its preparation: only changes since are read.
    pub fn create_index_upon(
        &self,
        request: &IndexRequest,
        groundwork: Groundwork,
    ) -> Result<bool, TransactError> {
        let mut made = false;
        self.alter(|current| {
            made = false;
            let name = match &request.name {
                Some(name) => name.clone(),
                None => self.made_name("index", "", request.target, &request.keys),
            };
            let catalog = current.catalog();
            let same = catalog.index_for(request.target, &request.keys).and_then(|id| catalog.index(id));
            let owner = |index: &IndexDefinition| {
                let owns = |constraint: &&ConstraintDefinition| owned_index(constraint) == Some(index.id);
                catalog.constraints().iter().find(owns)
            };
            let clash = match (same, catalog.index_named(&name)) {
                _ if catalog.constraint(&name).is_some() => SchemaClash::ConstraintName,
                (Some(same), _) if owner(same).is_some() => SchemaClash::Constraint,
                (Some(same), _) if same.name == name => SchemaClash::Equivalent,
                (Some(_), _) => SchemaClash::Index,
                (None, Some(_)) => SchemaClash::IndexName,
                (None, None) => {
                    made = true;
                    let (id, target, keys) = (catalog.next_index_id(), request.target, request.keys.clone());
                    let definition = IndexDefinition { id, name, target, keys, unique: false };
                    return Ok(vec![Change::CreateIndex(definition)]);
                }
            };
            let allowed =
                [SchemaClash::Equivalent, SchemaClash::Index, SchemaClash::IndexName].contains(&clash);
            exists(request.if_not_exists && allowed, clash, &name)
        })?;
        drop(groundwork);
        Ok(made)
    }

    /// Drops an index by name; an index that a constraint needs stays.
    pub fn drop_index(&self, name: &str, if_exists: bool) -> Result<bool, TransactError> {
        let mut dropped = false;
        self.alter(|current| {
            dropped = false;
            let Some(index) = current.catalog().index_named(name) else {
                return absent(if_exists, format!("there is no index `{name}`"));
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
        self.create_constraint_upon(request, self.prepare_constraint(request)?)
    }

    /// Creates a constraint from its preparation: only changes since are read.
    pub fn create_constraint_upon(
        &self,
        request: &ConstraintRequest,
        groundwork: Groundwork,
    ) -> Result<bool, TransactError> {
        let mut made = false;
        let outcome = self.alter(|current| match self.constraint_clash(request, current) {
            Some((clash, allowed)) => {
                made = false;
                exists(request.if_not_exists && allowed, clash, &self.constraint_name(request))
            }
            None => {
                made = true;
                self.check_rule(request, Looked { snapshot: current, earlier: groundwork.checked.as_ref() })?;
                Ok(self.constraint_changes(request, current))
            }
        });
        match outcome {
            Ok(_) => Ok(made),
            // A unique index is refused at the first pair it meets; whoever has to clear up wants to see more of them.
            Err(error @ TransactError::Constraint { .. }) if brings_index(request.rule) => {
                Err(self.told_duplicates(request)?.unwrap_or(error))
            }
            Err(error) => Err(error),
        }
    }

    /// An existing rule that conflicts with a constraint, unless `IF NOT EXISTS` accepts it.
    fn constraint_clash(
        &self,
        request: &ConstraintRequest,
        current: &Snapshot,
    ) -> Option<(SchemaClash, bool)> {
        let (catalog, name) = (current.catalog(), self.constraint_name(request));
        let about =
            |other: &&ConstraintDefinition| other.target == request.target && other.keys == request.keys;
        let rival = |other: &&ConstraintDefinition| {
            let rule = rule_of(&other.rule);
            about(other) && (rule == request.rule || brings_index(rule) && brings_index(request.rule))
        };
        let rivals = || catalog.constraints().iter().filter(rival);
        let same = rivals().find(|other| rule_of(&other.rule) == request.rule);
        let clash = match same {
            Some(same) if same.name == name => SchemaClash::Equivalent,
            Some(_) => SchemaClash::Constraint,
            None if catalog.constraint(&name).is_some() => SchemaClash::ConstraintName,
            None if catalog.index_named(&name).is_some() => SchemaClash::IndexName,
            None if rivals().next().is_some() => SchemaClash::Constraint,
            None if brings_index(request.rule)
                && catalog.index_for(request.target, &request.keys).is_some() =>
            {
                SchemaClash::Index
            }
            None => return None,
        };
        Some((clash, same.is_some() || clash == SchemaClash::ConstraintName))
    }

    /// The entities that share values which shall be unique, as an error; none where they do not any more.
    fn told_duplicates(&self, request: &ConstraintRequest) -> Result<Option<TransactError>, TransactError> {
        let (shown, count) = constraints::duplicates(request.target, &request.keys, &self.latest()?)?;
        if count == 0 {
            return Ok(None);
        }
        let of = match request.target {
            SchemaTarget::Vertices(_) => "nodes",
            SchemaTarget::Edges(_) => "relationships",
        };
        let shown = shown.join("; ");
        let what = format!(
            "existing {of} break it (groups of the same values: {count}), the first of them: {shown}"
        );
        // Its index was never in the catalogue, so the refusal had no name for it.
        Ok(Some(TransactError::Constraint { name: self.constraint_name(request), what }))
    }

    /// Does existing data keep the rule, but for uniqueness, of which the index takes care?
    fn check_rule(&self, request: &ConstraintRequest, looked: Looked<'_>) -> Result<(), TransactError> {
        let no_index = model::schema::IndexId(0);
        let rule = match request.rule {
            Rule::Unique => return Ok(()),
            Rule::NodeKey => ConstraintRule::NodeKey(no_index),
            Rule::Exists => ConstraintRule::Exists,
            Rule::Typed(value_type) => ConstraintRule::Typed(value_type),
        };
        let (name, target, keys) = (self.constraint_name(request), request.target, request.keys.clone());
        constraints::check_existing(&ConstraintDefinition { name, target, keys, rule }, looked)
    }

    fn constraint_changes(&self, request: &ConstraintRequest, current: &Snapshot) -> Vec<Change> {
        let name = self.constraint_name(request);
        let mut changes = Vec::new();
        let mut unique_index = || {
            let id = current.catalog().next_index_id();
            let (name, target, keys) = (name.clone(), request.target, request.keys.clone());
            changes.push(Change::CreateIndex(IndexDefinition { id, name, target, keys, unique: true }));
            id
        };
        let rule = match request.rule {
            Rule::Unique => ConstraintRule::Unique(unique_index()),
            Rule::NodeKey => ConstraintRule::NodeKey(unique_index()),
            Rule::Exists => ConstraintRule::Exists,
            Rule::Typed(value_type) => ConstraintRule::Typed(value_type),
        };
        let (target, keys) = (request.target, request.keys.clone());
        changes.push(Change::CreateConstraint(ConstraintDefinition { name, target, keys, rule }));
        changes
    }

    /// Drops a constraint by name, and the index it brought.
    pub fn drop_constraint(&self, name: &str, if_exists: bool) -> Result<bool, TransactError> {
        let mut dropped = false;
        self.alter(|current| {
            dropped = false;
            let Some(constraint) = current.catalog().constraint(name) else {
                return absent(if_exists, format!("there is no constraint `{name}`"));
            };
            dropped = true;
            let mut changes = vec![Change::DropConstraint(name.to_string())];
            changes.extend(owned_index(constraint).map(Change::DropIndex));
            Ok(changes)
        })?;
        Ok(dropped)
    }
}

fn brings_index(rule: Rule) -> bool {
    matches!(rule, Rule::Unique | Rule::NodeKey)
}

fn absent(allowed: bool, what: String) -> Result<Vec<Change>, TransactError> {
    if allowed { Ok(Vec::new()) } else { Err(TransactError::Schema { what }) }
}

/// Nothing to do where that is allowed; else the error of the clash.
fn exists(allowed: bool, clash: SchemaClash, name: &str) -> Result<Vec<Change>, TransactError> {
    if allowed {
        return Ok(Vec::new());
    }
    let what = match clash {
        SchemaClash::Equivalent => format!("an equivalent index or constraint, `{name}`, exists already"),
        SchemaClash::Index => {
            "an index on the same properties exists already; a constraint that brings its own needs it dropped"
                .to_string()
        }
        SchemaClash::Constraint => "a constraint on the same properties exists already".to_string(),
        SchemaClash::IndexName => format!("an index `{name}` exists already"),
        SchemaClash::ConstraintName => format!("a constraint `{name}` exists already"),
    };
    Err(TransactError::SchemaExists { clash, what })
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

/// The name of a rule within a generated name.
fn rule_name(rule: Rule) -> String {
    match rule {
        Rule::Unique => "UNIQUENESS".to_string(),
        Rule::Exists => "EXISTENCE".to_string(),
        Rule::NodeKey => "KEY".to_string(),
        Rule::Typed(value_type) => value_type.name().to_string(),
    }
}

/// FNV-1a of 32 bits: a name that was made once is made again by every version.
fn hash_of(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Engine {
    fn constraint_name(&self, request: &ConstraintRequest) -> String {
        let made = || self.made_name("constraint", &rule_name(request.rule), request.target, &request.keys);
        request.name.clone().unwrap_or_else(made)
    }

    /// `index_9c0e2b41`: the kind, and a hash of target and keys.
    fn made_name(&self, kind: &str, rule: &str, target: SchemaTarget, keys: &[KeyId]) -> String {
        let names = match self.is_gate() {
            true => self.snapshot().catalog().names().clone(),
            false => self.store().names().table(),
        };
        let unknown = "?";
        let (entity, about) = match target {
            SchemaTarget::Vertices(label) => ("NODE", names.label_name(label)),
            SchemaTarget::Edges(edge_type) => ("RELATIONSHIP", names.edge_type_name(edge_type)),
        };
        // A zero byte parts what no name can hold.
        let mut text = format!("{kind}\0{rule}\0{entity}\0{}", about.map_or(unknown, |name| name));
        for key in keys {
            text.push('\0');
            text.push_str(names.key_name(*key).map_or(unknown, |name| name));
        }
        format!("{kind}_{:08x}", hash_of(&text))
    }
}
