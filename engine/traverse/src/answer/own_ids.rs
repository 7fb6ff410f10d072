//! Ids that clients give: the names by which the catalogue knows of them, their indexes, and the values under which one may be stored.
//!
//! Idea: such an id is a property ([`OWN_ID`]). The first one given to a vertex of a label, or to an edge of a type, adds a name to the catalogue
//! that tells so; after the commit the database makes an index over the ids of that label or type, which no interface shows. So an element is looked
//! up in one index for each label that has such ids, and scanned for only among those that have no index yet.
//! Invariant: where the name [`OF_LABEL`] ([`OF_TYPE`]) is known, each label (type) of an element with such an id has its name. Graphs of earlier
//! versions lack it, and are scanned.

use super::stored_value;
use crate::Kept;
use gremlin::Object;
use model::schema::SchemaTarget;
use model::{KeyId, Value};
use parking_lot::Mutex;
use plan::hidden::{OF_LABEL, OF_TYPE, OWN_ID};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::Catalog;
use transact::{Engine, IndexRequest, TransactError, Transaction};

/// The key under which an element of these labels, or this type, stores this id; adds the names that tell of it.
///
/// # Errors
/// A name cannot be added.
pub fn key_for<'a>(
    transaction: &Transaction,
    catalog: &Catalog,
    id: &Object,
    mark: &str,
    of: impl Iterator<Item = &'a str>,
) -> Result<KeyId, TransactError> {
    for name in names(catalog, mark, of) {
        transaction.key(&name)?;
    }
    stored_value::key_for(transaction, OWN_ID, &[Kept::plain(id.clone())])
}

/// The names to make known before an element of these labels, or this type, gets an id.
fn names<'a>(catalog: &Catalog, mark: &str, of: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names = Vec::new();
    if catalog.key(OWN_ID).is_none() {
        names.extend([OF_LABEL.to_string(), OF_TYPE.to_string()]);
    }
    names.extend(of.map(|name| format!("{mark} {name}")));
    names
}

/// The label or type that a name of the catalogue says may have such ids.
fn target(catalog: &Catalog, mark: &str, key: &str) -> Option<SchemaTarget> {
    let name = key.strip_prefix(mark)?.strip_prefix(' ')?;
    match mark {
        OF_LABEL => catalog.label(name).map(SchemaTarget::Vertices),
        _ => catalog.edge_type(name).map(SchemaTarget::Edges),
    }
}

/// The values under which an id may be stored: a number is the same as its text.
pub fn candidates(id: &Object) -> Vec<Value> {
    let text = crate::convert::shown(id);
    let mut values: Vec<Value> =
        stored_value::to_value(id).into_iter().filter(|value| !value.is_null()).collect();
    values.extend(text.parse::<i64>().ok().map(Value::Int));
    values.extend(text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::Float));
    values.extend(text.parse::<bool>().ok().map(Value::Bool));
    values.push(Value::string(text));
    values
}

/// Cached facts about one database's ids, so that no look-up goes through all names of the catalogue.
#[derive(Debug, Default)]
pub struct OwnIds {
    /// How many names the catalogue had when indexes were last made.
    indexed: AtomicUsize,
    named: Mutex<Named>,
}

/// The names that tell of ids. Names of a catalogue are only added to, so each is examined once.
#[derive(Debug, Default)]
struct Named {
    looked_at: usize,
    /// Index among the names, in order, and the name.
    found: Vec<(usize, Arc<str>)>,
}

impl OwnIds {
    /// The labels (or types) whose elements may have such ids; none where that is unknown.
    pub fn targets(&self, catalog: &Catalog, mark: &str) -> Option<Vec<SchemaTarget>> {
        catalog.key(mark)?;
        let (keys, mut named) = (catalog.names().keys(), self.named.lock());
        for (place, key) in keys.iter().enumerate().skip(named.looked_at) {
            if [OF_LABEL, OF_TYPE].iter().any(|mark| key.starts_with(mark)) {
                named.found.push((place, key.clone()));
            }
        }
        named.looked_at = named.looked_at.max(keys.len());
        // An older snapshot knows fewer names.
        let known = named.found.iter().take_while(|(place, _)| *place < keys.len());
        Some(known.filter_map(|(_, key)| target(catalog, mark, key)).collect())
    }
}

impl OwnIds {
    /// Makes the missing indexes over clients' ids; calls `refused` with errors. Cost without new names: one comparison.
    pub fn index(&self, engine: &Engine, mut refused: impl FnMut(TransactError)) {
        let snapshot = engine.snapshot();
        let catalog = snapshot.catalog();
        let names = catalog.names().keys().len();
        if self.indexed.swap(names, Ordering::Relaxed) == names {
            return;
        }
        let Some(own) = catalog.key(OWN_ID) else { return };
        for mark in [OF_LABEL, OF_TYPE] {
            for target in self.targets(catalog, mark).unwrap_or_default() {
                if catalog.index_for(target, &[own]).is_some() {
                    continue;
                }
                let name = match target {
                    SchemaTarget::Vertices(label) => catalog.label_name(label),
                    SchemaTarget::Edges(edge_type) => catalog.edge_type_name(edge_type),
                };
                let name = name.map(|name| format!("{mark} {name}"));
                let request = IndexRequest { name, target, keys: vec![own], if_not_exists: true };
                if let Err(error) = engine.create_index(&request) {
                    refused(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain form: all names, each time.
    fn twin(catalog: &Catalog, mark: &str) -> Option<Vec<SchemaTarget>> {
        catalog.key(mark)?;
        Some(catalog.names().keys().iter().filter_map(|key| target(catalog, mark, key)).collect())
    }

    #[test]
    fn what_has_ids_is_told_of_every_snapshot_in_any_order() {
        let options = transact::OpenOptions::default();
        let (engine, _) = transact::open(None, &options).expect("a graph in memory opens");
        let mut snapshots = vec![engine.snapshot()];
        for number in 0..40 {
            let transaction = engine.begin(transact::Mode::Write);
            let (label, kind) = (format!("L{}", number % 7), format!("R{}", number % 5));
            let key = transaction.key(&format!("plain{number}")).expect("a key");
            if number > 3 {
                let catalog = transaction.snapshot();
                for name in names(catalog.catalog(), OF_LABEL, std::iter::once(&*label)) {
                    transaction.key(&name).expect("a key");
                }
                for name in names(catalog.catalog(), OF_TYPE, std::iter::once(&*kind)) {
                    transaction.key(&name).expect("a key");
                }
                transaction.key(OWN_ID).expect("a key");
            }
            // A name may be known before its label or type is.
            if number > 10 {
                transaction.edge_type(&kind).expect("a type");
            }
            let labels = [transaction.label(&label).expect("a label")];
            transaction.create_vertex(&labels, vec![(key, 1.into())]).expect("a vertex");
            transaction.commit().expect("a commit");
            snapshots.push(engine.snapshot());
        }
        let mut chance = world::chance::Chance::seeded(5);
        for _ in 0..20 {
            let own_ids = OwnIds::default();
            for _ in 0..60 {
                let snapshot = &snapshots[chance.below(snapshots.len() as u64) as usize];
                for mark in [OF_LABEL, OF_TYPE] {
                    let catalog = snapshot.catalog();
                    assert_eq!(own_ids.targets(catalog, mark), twin(catalog, mark));
                }
            }
        }
        let last = snapshots.last().expect("the last").clone();
        assert_eq!(OwnIds::default().targets(last.catalog(), OF_LABEL).map(|all| all.len()), Some(7));
        assert_eq!(OwnIds::default().targets(last.catalog(), OF_TYPE).map(|all| all.len()), Some(5));
    }
}
