//! Vertices that the database already has, by id: new ids must not repeat them, and new edges may lead to them.
//!
//! Where the ids of a file are numbers of that file and no properties, as in an export, a vertex is found by the properties that are unique among its
//! labels. Where the id is indexed, each id is sought; where it is not, the vertices of the label are read once. Commits go on while files are read,
//! so both hits and misses are checked once more when the import becomes part of the graph ([`Existing::check`]): only chunks that changed meanwhile,
//! and in them only ids that came, went, or moved to another vertex.

use crate::ids::{Id, IdColumn, IdMap};
use crate::table::{Space, SpaceNo};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use model::schema::{IndexId, SchemaTarget};
use model::{KeyId, LabelId, Value, VertexId};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Built, LabelFilter, Snapshot, StoreError};

/// Label sets that vertices of one space have.
pub(crate) type LabelSets = BTreeSet<Vec<LabelId>>;

enum IdLookup {
    Index(IndexId),
    Read(IdMap),
}

/// How ids of each space are found in a snapshot.
pub(crate) struct Existing {
    snapshot: Snapshot,
    ways: Vec<Vec<IdLookup>>,
    /// Vertices that were found.
    used: Mutex<HashSet<u32, FixedState>>,
    /// By space: was any id found neither here nor in the files?
    missed: Vec<AtomicBool>,
    /// By space: the key of its ids, and the labels of their vertices.
    watched: Vec<Option<(KeyId, BTreeSet<LabelId>)>>,
    /// No relevant change up to this snapshot.
    seen: Mutex<Snapshot>,
}

/// An id as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeptId {
    Int(i64),
    Text(String),
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
        let mut existing = Existing {
            snapshot: snapshot.clone(),
            ways,
            used: Mutex::default(),
            missed: spaces.iter().map(|_| AtomicBool::new(false)).collect(),
            watched: Vec::new(),
            seen: Mutex::new(snapshot.clone()),
        };
        existing.watch(spaces, label_sets);
        Ok(existing)
    }
    /// Sets the label sets of the new vertices.
    pub fn watch(&mut self, spaces: &[Space], label_sets: &[LabelSets]) {
        let of_space = |(space, sets): (&Space, &LabelSets)| {
            let labels = sets.iter().flatten().chain(&space.labels).copied().collect();
            space.key.map(|key| (key, labels))
        };
        self.watched = spaces.iter().zip(label_sets).map(of_space).collect();
    }
    /// An id is nowhere.
    pub fn miss(&self, space: SpaceNo) {
        self.missed[space].store(true, Ordering::Relaxed);
    }

    /// Fails where commits up to `current` changed a result of a look-up.
    pub fn check(&self, built: &Built, current: &Snapshot) -> Result<(), StoreError> {
        let mut seen = self.seen.lock();
        let used = self.used.lock();
        for chunk in current.chunks_changed_since(&seen) {
            let changed = current.vertices_changed_since(&seen, chunk);
            for vertex in changed.iter().filter(|vertex| used.contains(&vertex.dense())) {
                if !current.exists(*vertex)? {
                    return Err(StoreError::Outdated("a node that the files speak of was deleted"));
                }
            }
            for (space, watched) in self.watched.iter().enumerate() {
                let Some((key, labels)) = watched else { continue };
                let (before, now) =
                    (ids_of(&seen, &changed, *key, labels)?, ids_of(current, &changed, *key, labels)?);
                if before.difference(&now).any(|(_, vertex)| used.contains(vertex)) {
                    return Err(StoreError::Outdated("a node that new relationships lead to changed"));
                }
                for (id, _) in now.difference(&before) {
                    if self.missed[space].load(Ordering::Relaxed) || may_hold(built, id, *key, labels)? {
                        return Err(StoreError::Outdated(
                            "a node came into being whose id the files speak of",
                        ));
                    }
                }
            }
        }
        *seen = current.clone();
        Ok(())
    }

    /// The snapshot of its look-ups.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
    /// The unique indexes over vertices with these labels, and their keys.
    pub fn unique(&self, labels: &[LabelId]) -> Vec<(IndexId, Vec<KeyId>)> {
        let is_of =
            |target: SchemaTarget| matches!(target, SchemaTarget::Vertices(label) if labels.contains(&label));
        let indexes =
            self.snapshot.catalog().indexes().iter().filter(|index| index.unique && is_of(index.target));
        indexes.map(|index| (index.id, index.keys.clone())).collect()
    }
    /// The dense vertex with these values, which are unique.
    pub fn find_unique(&self, index: IndexId, values: &[Value]) -> Result<Option<u32>, StoreError> {
        let found = self.snapshot.seek(index, values)?.first().map(|vertex| vertex.dense());
        self.used.lock().extend(found);
        Ok(found)
    }
    /// Could any id of the space be found?
    pub fn has_any(&self, space: SpaceNo) -> bool {
        !self.ways[space].is_empty()
    }
    /// The dense vertex of an id.
    pub fn find(&self, space: SpaceNo, id: Id<'_>) -> Result<Option<u32>, StoreError> {
        for way in &self.ways[space] {
            let found = match way {
                IdLookup::Index(index) => self.seek(*index, id)?,
                IdLookup::Read(map) => map.get(id),
            };
            if let Some(vertex) = found {
                self.used.lock().insert(vertex);
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

/// Ids of those of the vertices that exist and have one of the labels, and whose they are.
fn ids_of(
    snapshot: &Snapshot,
    vertices: &[VertexId],
    key: KeyId,
    labels: &BTreeSet<LabelId>,
) -> Result<BTreeSet<(KeptId, u32)>, StoreError> {
    let mut ids = BTreeSet::new();
    for vertex in vertices.iter().copied() {
        let mut carries = false;
        if !snapshot.exists(vertex)? {
            continue;
        }
        for label in labels {
            carries |= snapshot.has_label(vertex, *label)?;
        }
        if !carries {
            continue;
        }
        match snapshot.property(vertex, key)? {
            Value::Int(int) => ids.insert((KeptId::Int(int), vertex.dense())),
            Value::String(text) => ids.insert((KeptId::Text(text.to_string()), vertex.dense())),
            _ => false,
        };
    }
    Ok(ids)
}

/// May a vertex with this id and one of the labels be among the built ones?
fn may_hold(built: &Built, id: &KeptId, key: KeyId, labels: &BTreeSet<LabelId>) -> Result<bool, StoreError> {
    let value = match id {
        KeptId::Int(int) => Value::Int(*int),
        KeptId::Text(text) => Value::string(text.as_str()),
    };
    for label in labels {
        match built.seek(SchemaTarget::Vertices(*label), key, &value)? {
            Some(found) if found.is_empty() => {}
            _ => return Ok(true),
        }
    }
    Ok(false)
}

fn ways(snapshot: &Snapshot, space: &Space, label_sets: &LabelSets) -> Result<Vec<IdLookup>, StoreError> {
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
        return Ok(unique.map(|index| IdLookup::Index(index.id)).collect());
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
    let mut ways: Vec<IdLookup> = indexes.into_iter().map(IdLookup::Index).collect();
    for label in unindexed {
        ways.push(IdLookup::Read(read(snapshot, label, key)?));
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
