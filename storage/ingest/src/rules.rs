//! Constraints that the database has already, and the indexes that an import adds.
//!
//! A vertex that breaks a rule about presence or type is a wrong line, an edge that does ends the import; uniqueness is kept by the
//! store's indexes.

use crate::table::WantedIndex;
use model::schema::{ConstraintDefinition, ConstraintRule, IndexDefinition, SchemaTarget};
use model::{Column, KeyId};
use store::{Change, Snapshot, StoreError};

/// Rules about presence and type that speak of these targets.
pub(crate) struct Rules {
    rules: Vec<ConstraintDefinition>,
    snapshot: Snapshot,
}

impl Rules {
    pub fn new(snapshot: &Snapshot) -> Rules {
        let unique = |rule: &ConstraintDefinition| matches!(rule.rule, ConstraintRule::Unique(_));
        let rules = snapshot.catalog().constraints().iter().filter(|rule| !unique(rule)).cloned();
        Rules { rules: rules.collect(), snapshot: snapshot.clone() }
    }
    /// Rows that break a rule about one of `targets`, sorted, each with the rule.
    pub fn broken(
        &self,
        targets: &[SchemaTarget],
        count: usize,
        columns: &[(KeyId, Column)],
    ) -> Vec<(u32, String)> {
        let mut broken = Vec::new();
        for rule in self.rules.iter().filter(|rule| targets.contains(&rule.target)) {
            for key in &rule.keys {
                let column = columns.iter().find(|(other, _)| other == key).map(|(_, column)| column);
                let wrong = |row: usize| match (&rule.rule, column) {
                    (ConstraintRule::Typed(wanted), Some(column)) => {
                        !column.is_null(row) && column.get(row).value_type() != *wanted
                    }
                    (ConstraintRule::Typed(_), None) => false,
                    (_, column) => column.is_none_or(|column| column.is_null(row)),
                };
                let name = self.snapshot.catalog().key_name(*key).map_or("", |name| name);
                let what = format!("property `{name}` breaks constraint `{}`", rule.name);
                let rows = (0..count).filter(|row| wrong(*row));
                broken.extend(rows.map(|row| (row as u32, what.clone())));
            }
        }
        broken.sort();
        broken.dedup_by_key(|(row, _)| *row);
        broken
    }
}

/// The snapshot with the wanted indexes, as far as there are none yet. Where existing data repeats values, the index is not unique.
pub(crate) fn with_indexes(
    snapshot: &Snapshot,
    place: u64,
    wanted: &[WantedIndex],
) -> Result<Snapshot, StoreError> {
    let mut current = snapshot.clone();
    for index in wanted {
        let target = SchemaTarget::Vertices(index.label);
        if current.index_for(target, &[index.key]).is_some() {
            continue;
        }
        current = match current.apply(place, &[&changes(&current, index)]) {
            Err(StoreError::NotUnique { .. }) => {
                let plain = WantedIndex { unique: false, ..index.clone() };
                current.apply(place, &[&changes(&current, &plain)])?
            }
            other => other?,
        };
    }
    Ok(current)
}

fn changes(snapshot: &Snapshot, index: &WantedIndex) -> Vec<Change> {
    let target = SchemaTarget::Vertices(index.label);
    let (id, keys) = (snapshot.catalog().next_index_id(), vec![index.key]);
    let name = made_name(snapshot, index);
    let definition =
        IndexDefinition { id, name: name.clone(), target, keys: keys.clone(), unique: index.unique };
    let mut changes = vec![Change::CreateIndex(definition)];
    if index.unique {
        let rule = ConstraintRule::Unique(id);
        changes.push(Change::CreateConstraint(ConstraintDefinition { name, target, keys, rule }));
    }
    changes
}

/// `constraint_person_id`, `index_tag_name`, with a number where that is taken.
fn made_name(snapshot: &Snapshot, index: &WantedIndex) -> String {
    let (catalog, names) = (snapshot.catalog(), snapshot.names().table());
    let label = names.label_name(index.label).map_or(String::new(), |name| name.to_lowercase());
    let key = names.key_name(index.key).map_or("", |name| name);
    let plain = format!("{}_{label}_{key}", if index.unique { "constraint" } else { "index" });
    let taken = |name: &str| catalog.index_named(name).is_some() || catalog.constraint(name).is_some();
    let mut name = plain.clone();
    let mut number = 2;
    while taken(&name) {
        name = format!("{plain}_{number}");
        number += 1;
    }
    name
}
