//! Ids that clients give: under which names the catalogue knows of them, their indexes, and the values under which one may be kept.
//!
//! Idea: such an id is a property ([`OWN_ID`]). Whoever gives the first one to a vertex of a label, or to an edge of a type, makes a name known
//! to the catalogue that tells so; after the commit the database makes an index over the ids of that label or type, which no door shows. So an
//! element is looked up in one index for each label that has such ids, and scanned for only among those that have no index yet.
//! Invariant: where the name [`OF_LABEL`] ([`OF_TYPE`]) is known, each label (type) of an element with such an id has its name. Graphs of earlier
//! versions lack it, and are scanned.

use super::kept;
use crate::{Database, Error};
use gremlin::Object;
use model::Value;
use model::schema::SchemaTarget;
use plan::hidden::{OF_LABEL, OF_TYPE, OWN_ID};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::Catalog;
use transact::IndexRequest;

/// The names to make known before an element of these labels, or this type, gets an id.
pub(crate) fn names<'a>(catalog: &Catalog, mark: &str, of: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names = Vec::new();
    if catalog.key(OWN_ID).is_none() {
        names.extend([OF_LABEL.to_string(), OF_TYPE.to_string()]);
    }
    names.extend(of.map(|name| format!("{mark} {name}")));
    names
}

/// What may have such ids: each label (or type), with its index if it has one; none where that is not known.
pub(crate) fn targets(catalog: &Catalog, mark: &str) -> Option<Vec<SchemaTarget>> {
    catalog.key(mark)?;
    let named = |key: &Arc<str>| {
        let name = key.strip_prefix(mark)?.strip_prefix(' ')?;
        match mark {
            OF_LABEL => catalog.label(name).map(SchemaTarget::Vertices),
            _ => catalog.edge_type(name).map(SchemaTarget::Edges),
        }
    };
    Some(catalog.names().keys().iter().filter_map(named).collect())
}

/// Ids that are kept as these values may be meant: a number is the same as its text.
pub(crate) fn candidates(id: &Object) -> Vec<Value> {
    let text = traverse::convert::shown(id);
    let mut values: Vec<Value> = kept::to_value(id).into_iter().filter(|value| !value.is_null()).collect();
    values.extend(text.parse::<i64>().ok().map(Value::Int));
    values.extend(text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::Float));
    values.extend(text.parse::<bool>().ok().map(Value::Bool));
    values.push(Value::string(text));
    values
}

/// How many names the catalogue had when it was last looked at.
#[derive(Debug, Default)]
pub(crate) struct Seen(AtomicUsize);

impl Database {
    /// Makes the indexes that ids of clients lack. Cost where nothing new was named: one comparison.
    pub(crate) fn index_own_ids(&self) {
        let snapshot = self.snapshot();
        let catalog = snapshot.catalog();
        let names = catalog.names().keys().len();
        if self.seen_names().0.swap(names, Ordering::Relaxed) == names {
            return;
        }
        let Some(own) = catalog.key(OWN_ID) else { return };
        for mark in [OF_LABEL, OF_TYPE] {
            for target in targets(catalog, mark).unwrap_or_default() {
                if catalog.index_for(target, &[own]).is_some() {
                    continue;
                }
                let name = match target {
                    SchemaTarget::Vertices(label) => catalog.label_name(label),
                    SchemaTarget::Edges(edge_type) => catalog.edge_type_name(edge_type),
                };
                let name = name.map(|name| format!("{mark} {name}"));
                let request = IndexRequest { name, target, keys: vec![own], if_not_exists: true };
                if let Err(error) = self.engine().create_index(&request) {
                    self.note(&format!("ids of Gremlin's clients are not indexed: {}", Error::from(error)));
                }
            }
        }
    }
}
