//! The changes of a query: the difference of two copies of the whole graph.

use std::collections::{BTreeMap, BTreeSet};

use crate::shape::Shape;
use database::entity::{Hydrated, hydrate};
use database::{Error, Params, Session};

/// The graph as four sets of texts.
#[derive(Clone, Debug, Default)]
pub struct Picture([BTreeSet<String>; 4]);

/// The names of the sets of a [`Picture`], in the suites' words.
const NAMES: [&str; 4] = ["nodes", "relationships", "properties", "labels"];

/// Takes a picture of the graph.
///
/// # Errors
/// The graph cannot be read.
pub fn picture(session: &mut Session) -> Result<Picture, Error> {
    let mut picture = Picture::default();
    for query in ["MATCH (n) RETURN n", "MATCH ()-[r]->() RETURN r"] {
        let mut result = session.query(query, Params::new())?;
        while let Some(batch) = result.next_batch()? {
            for row in 0..batch.len() {
                picture.add(&hydrate(&batch.row(row)[0], result.snapshot())?);
            }
        }
    }
    Ok(picture)
}

impl Picture {
    fn add(&mut self, entity: &Hydrated) {
        let [nodes, relationships, properties, labels] = &mut self.0;
        let (id, own) = match entity {
            Hydrated::Node(node) => {
                labels.extend(node.labels.iter().map(|label| label.to_string()));
                let id = format!("n{}", node.id.0);
                nodes.insert(id.clone());
                (id, &node.properties)
            }
            Hydrated::Relationship(relationship) => {
                let id = format!("r{}", relationship.edge.id.0);
                relationships.insert(id.clone());
                (id, &relationship.properties)
            }
            _ => return,
        };
        properties.extend(own.iter().map(|(key, value)| format!("{id} {key} {:?}", Shape::plain(value))));
    }

    /// Counts of additions (`+nodes`) and removals (`-nodes`) between this and a later picture; unchanged sets are left out.
    pub fn changes(&self, later: &Picture) -> BTreeMap<String, usize> {
        let mut changes = BTreeMap::new();
        for (at, name) in NAMES.iter().enumerate() {
            let (before, after) = (&self.0[at], &later.0[at]);
            for (sign, count) in
                [('+', after.difference(before).count()), ('-', before.difference(after).count())]
            {
                if count > 0 {
                    changes.insert(format!("{sign}{name}"), count);
                }
            }
        }
        changes
    }
}
