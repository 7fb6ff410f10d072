//! Vertices that the database already has, by id: what new ids must not repeat, and what new edges may lead to.
//!
//! Where the id is indexed, each id is sought; where it is not, the vertices of the label are read once.

use crate::ids::{Id, IdColumn, IdMap};
use crate::table::{Space, SpaceNo};
use model::schema::{IndexId, SchemaTarget};
use model::{KeyId, LabelId, Value};
use std::collections::BTreeSet;
use store::{LabelFilter, Snapshot, StoreError};

/// Label sets that vertices of one space have.
pub(crate) type LabelSets = BTreeSet<Vec<LabelId>>;

enum Way {
    Index(IndexId),
    Read(IdMap),
}

/// How ids of each space are found in a snapshot.
pub(crate) struct Existing {
    snapshot: Snapshot,
    ways: Vec<Vec<Way>>,
}

impl Existing {
    /// `label_sets` of each space are those of the vertices to come.
    pub fn new(
        snapshot: &Snapshot,
        spaces: &[Space],
        label_sets: &[LabelSets],
    ) -> Result<Existing, StoreError> {
        let found = spaces.iter().zip(label_sets).map(|(space, sets)| ways(snapshot, space, sets));
        let ways = found.collect::<Result<_, _>>()?;
        Ok(Existing { snapshot: snapshot.clone(), ways })
    }
    /// Could any id of the space be found?
    pub fn has_any(&self, space: SpaceNo) -> bool {
        !self.ways[space].is_empty()
    }
    /// The dense vertex of an id.
    pub fn find(&self, space: SpaceNo, id: Id<'_>) -> Result<Option<u32>, StoreError> {
        for way in &self.ways[space] {
            let found = match way {
                Way::Index(index) => self.seek(*index, id)?,
                Way::Read(map) => map.get(id),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
    fn seek(&self, index: IndexId, id: Id<'_>) -> Result<Option<u32>, StoreError> {
        let seek = |value: Value| -> Result<Option<u32>, StoreError> {
            Ok(self.snapshot.seek(index, &[value])?.first().map(|vertex| vertex.dense()))
        };
        match id {
            Id::Text(text) => seek(Value::string(text)),
            // Ids that were all integers then, but not in the import before, are kept as text.
            Id::Int(int) => match seek(Value::Int(int))? {
                Some(found) => Ok(Some(found)),
                None => seek(Value::string(int.to_string())),
            },
        }
    }
}

fn ways(snapshot: &Snapshot, space: &Space, label_sets: &LabelSets) -> Result<Vec<Way>, StoreError> {
    if snapshot.statistics().vertices() == 0 {
        return Ok(Vec::new());
    }
    let catalog = snapshot.catalog();
    if space.labels.is_empty() && label_sets.is_empty() {
        let named = catalog.label(&space.name);
        let fits = |label: LabelId| named.is_none_or(|named| named == label);
        let unique = catalog.indexes().iter().filter(|index| index.unique && index.keys.len() == 1);
        let unique =
            unique.filter(|index| matches!(index.target, SchemaTarget::Vertices(label) if fits(label)));
        return Ok(unique.map(|index| Way::Index(index.id)).collect());
    }
    let Some(key) = space.key else { return Ok(Vec::new()) };
    let (mut indexes, mut unindexed) = (Vec::new(), Vec::new());
    let own = space.labels.iter().map(std::slice::from_ref);
    for labels in label_sets.iter().map(Vec::as_slice).chain(own) {
        // One label of each set is enough, since all vertices of the set carry it.
        let index = |label: &LabelId| catalog.index_for(SchemaTarget::Vertices(*label), &[key]);
        match (labels.iter().find_map(index), labels.first()) {
            (Some(index), _) => indexes.push(index),
            (None, Some(label)) => unindexed.push(*label),
            (None, None) => {}
        }
    }
    indexes.sort_unstable();
    indexes.dedup();
    unindexed.sort_unstable();
    unindexed.dedup();
    unindexed.retain(|label| snapshot.statistics().vertices_with_label(*label) > 0);
    let mut ways: Vec<Way> = indexes.into_iter().map(Way::Index).collect();
    for label in unindexed {
        ways.push(Way::Read(read(snapshot, label, key)?));
    }
    Ok(ways)
}

fn read(snapshot: &Snapshot, label: LabelId, key: KeyId) -> Result<IdMap, StoreError> {
    let filter = LabelFilter::Has(label);
    let (mut ids, mut dense) = (IdColumn::default(), Vec::new());
    for chunk in snapshot.scan_chunks(&filter) {
        let mut vertices = Vec::new();
        snapshot.scan_chunk(chunk, &filter, &mut vertices)?;
        for vertex in vertices {
            match snapshot.property(vertex, key)? {
                Value::Int(int) => ids.push(Id::Int(int)),
                Value::String(text) => ids.push(Id::Text(&text)),
                _ => continue,
            }
            dense.push(vertex.dense());
        }
    }
    let (mut map, _) = IdMap::build(&[&ids], &|count, task| (0..count).for_each(task));
    map.renumber(|row| dense[row as usize]);
    Ok(map)
}
