//! The obvious twin of a snapshot: maps of vertices and edges, and a comparison of everything that can be read.
#![allow(dead_code, clippy::disallowed_methods, clippy::disallowed_types)]

use model::compare::{OrderKey, compare, equals};
use model::schema::{IndexDefinition, IndexId, SchemaTarget};
use model::{ColumnBuilder, Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use store::*;

pub const LABELS: u16 = 3;
pub const TYPES: u16 = 3;
pub const KEYS: u32 = 4;

/// SplitMix64: small, seeded, replayable.
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
    pub fn value(&mut self) -> Value {
        match self.below(12) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 1),
            2..=5 => Value::Int(self.below(20) as i64 - 5),
            6 => Value::Float(self.below(10) as f64),
            7 => Value::Float(if self.below(4) == 0 { f64::NAN } else { 0.5 }),
            8 => Value::list(vec![Value::Int(self.below(3) as i64), Value::string("x")]),
            _ => Value::string(["", "a", "b", "long text with ümlauts", "zz"][self.below(5)]),
        }
    }
}

pub type Properties = BTreeMap<KeyId, Value>;

#[derive(Clone, Default)]
pub struct Twin {
    pub vertices: BTreeMap<VertexId, (BTreeSet<LabelId>, Properties)>,
    pub edges: BTreeMap<EdgeId, (EdgeRef, Properties)>,
    pub indexes: Vec<IndexDefinition>,
}

pub fn put(properties: &mut Properties, key: KeyId, value: &Value) {
    if value.is_null() {
        properties.remove(&key);
    } else {
        properties.insert(key, value.clone());
    }
}

pub fn show(value: &Value) -> String {
    format!("{value:?}")
}

fn show_all<'a>(properties: impl IntoIterator<Item = (&'a KeyId, &'a Value)>) -> String {
    properties.into_iter().map(|(key, value)| format!("{}={value:?};", key.0)).collect()
}

/// What is hidden from a reader: vertices with a label, the label alone, edges of a type, a property of what carries a label or is of a type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hides {
    pub vertices: Option<LabelId>,
    pub label: Option<LabelId>,
    pub edge_type: Option<EdgeTypeId>,
    pub property: Option<(KeyId, LabelId)>,
    pub edge_property: Option<(KeyId, EdgeTypeId)>,
}

impl Hides {
    pub fn random(chance: &mut Chance) -> Hides {
        let mut label =
            |share| (chance.below(share) == 0).then(|| LabelId(chance.below(LABELS as usize) as u16));
        let (vertices, hidden, of) = (label(1), label(3), label(2));
        let mut edge_type =
            |share| (chance.below(share) == 0).then(|| EdgeTypeId(chance.below(TYPES as usize) as u16));
        let (types, of_type) = (edge_type(3), edge_type(2));
        let mut key = || KeyId(chance.below(KEYS as usize) as u32);
        Hides {
            vertices,
            label: hidden,
            edge_type: types,
            property: of.map(|label| (key(), label)),
            edge_property: of_type.map(|edge_type| (key(), edge_type)),
        }
    }
}

fn is_named(label: Option<LabelId>, name: &str) -> bool {
    label.is_some_and(|label| name == format!("L{}", label.0))
}

fn is_typed(edge_type: Option<EdgeTypeId>, name: &str) -> bool {
    edge_type.is_some_and(|edge_type| name == format!("T{}", edge_type.0))
}

impl Visibility for Hides {
    fn shows_vertex(&self, labels: &[&str]) -> bool {
        !labels.iter().any(|name| is_named(self.vertices, name))
    }
    fn shows_label(&self, label: &str) -> bool {
        !is_named(self.vertices, label) && !is_named(self.label, label)
    }
    fn shows_edge_type(&self, edge_type: &str) -> bool {
        !is_typed(self.edge_type, edge_type)
    }
    fn shows_property(&self, labels: &[&str], key: &str) -> bool {
        let hidden = self.property.filter(|(hidden, _)| key == format!("k{}", hidden.0));
        !hidden.is_some_and(|(_, label)| labels.iter().any(|name| is_named(Some(label), name)))
    }
    fn shows_edge_property(&self, edge_type: &str, key: &str) -> bool {
        let hidden = self.edge_property.filter(|(hidden, _)| key == format!("k{}", hidden.0));
        !hidden.is_some_and(|(_, of)| is_typed(Some(of), edge_type))
    }
    fn shows_all_vertices(&self, label: Option<&str>) -> bool {
        self.vertices.is_none() && label.is_none_or(|label| self.shows_label(label))
    }
}

/// A store with names handed out, and the twin of its current snapshot.
pub struct Pair {
    pub store: Store,
    pub twin: Twin,
    pub commit_version: u64,
}

impl Pair {
    pub fn new(options: StoreOptions) -> Pair {
        let store = Store::new(options);
        (0..LABELS)
            .for_each(|n| assert_eq!(store.names().intern_label(&format!("L{n}")).unwrap(), LabelId(n)));
        (0..TYPES).for_each(|n| {
            assert_eq!(store.names().intern_edge_type(&format!("T{n}")).unwrap(), EdgeTypeId(n))
        });
        (0..KEYS).for_each(|n| assert_eq!(store.names().intern_key(&format!("k{n}")).unwrap(), KeyId(n)));
        Pair { store, twin: Twin::default(), commit_version: 0 }
    }
    pub fn apply(&mut self, changes: &[Change]) {
        self.commit_version += 1;
        let next = self.store.current().apply(self.commit_version, &[changes]).unwrap();
        self.store.publish(next);
    }
    fn random_labels(&self, chance: &mut Chance) -> (model::LabelSetId, BTreeSet<LabelId>) {
        let labels: BTreeSet<LabelId> =
            (0..chance.below(3)).map(|_| LabelId(chance.below(LABELS as usize) as u16)).collect();
        let list: Vec<LabelId> = labels.iter().copied().collect();
        (self.store.names().intern_label_set(&list).unwrap(), labels)
    }
    fn random_vertex(&self, chance: &mut Chance) -> Option<VertexId> {
        let at = chance.below(self.twin.vertices.len().max(1));
        // A few vertices are hubs.
        let at = if chance.below(3) == 0 { at % 4 } else { at };
        self.twin.vertices.keys().nth(at).copied()
    }
    fn random_edge(&self, chance: &mut Chance) -> Option<EdgeRef> {
        let at = chance.below(self.twin.edges.len().max(1));
        self.twin.edges.values().nth(at).map(|(edge, _)| *edge)
    }
    fn random_properties(chance: &mut Chance) -> Vec<(KeyId, Value)> {
        (0..chance.below(4)).map(|_| (KeyId(chance.below(KEYS as usize) as u32), chance.value())).collect()
    }
    /// One random change, already made in the twin.
    pub fn random_change(&mut self, chance: &mut Chance, changes: &mut Vec<Change>) {
        match chance.below(20) {
            0..=4 => {
                let (set, labels) = self.random_labels(chance);
                let id = self.store.allocator().vertex(set).unwrap();
                let properties = Pair::random_properties(chance);
                let mut held = Properties::new();
                properties
                    .iter()
                    .filter(|p| !p.1.is_null())
                    .for_each(|(key, value)| put(&mut held, *key, value));
                self.twin.vertices.insert(id, (labels, held));
                changes.push(Change::CreateVertex { id, labels: set, properties });
            }
            5..=11 => {
                let (Some(source), Some(target)) = (self.random_vertex(chance), self.random_vertex(chance))
                else {
                    return;
                };
                let target = if chance.below(8) == 0 { source } else { target };
                let edge_type = EdgeTypeId(chance.below(TYPES as usize) as u16);
                let id = self.store.allocator().edge(source, edge_type).unwrap();
                let edge = EdgeRef { id, source, target };
                let properties = Pair::random_properties(chance);
                let mut held = Properties::new();
                properties
                    .iter()
                    .filter(|p| !p.1.is_null())
                    .for_each(|(key, value)| put(&mut held, *key, value));
                self.twin.edges.insert(id, (edge, held));
                changes.push(Change::CreateEdge { edge, properties });
            }
            12 | 13 => {
                let Some(edge) = self.random_edge(chance) else { return };
                self.twin.edges.remove(&edge.id);
                changes.push(Change::DeleteEdge { edge });
            }
            14 => {
                let Some(id) = self.random_vertex(chance) else { return };
                let at: Vec<EdgeRef> = self.twin.edges_at(id);
                if at.len() > 12 {
                    return;
                }
                for edge in at {
                    self.twin.edges.remove(&edge.id);
                    changes.push(Change::DeleteEdge { edge });
                }
                self.twin.vertices.remove(&id);
                changes.push(Change::DeleteVertex { id });
            }
            15 => {
                let Some(id) = self.random_vertex(chance) else { return };
                let (set, labels) = self.random_labels(chance);
                self.twin.vertices.get_mut(&id).unwrap().0 = labels;
                changes.push(Change::SetLabels { id, labels: set });
            }
            16 => {
                let Some(edge) = self.random_edge(chance) else { return };
                let (key, value) = (KeyId(chance.below(KEYS as usize) as u32), chance.value());
                put(&mut self.twin.edges.get_mut(&edge.id).unwrap().1, key, &value);
                changes.push(Change::SetEdgeProperty { edge, key, value });
            }
            _ => {
                let Some(id) = self.random_vertex(chance) else { return };
                let (key, value) = (KeyId(chance.below(KEYS as usize) as u32), chance.value());
                put(&mut self.twin.vertices.get_mut(&id).unwrap().1, key, &value);
                changes.push(Change::SetProperty { id, key, value });
            }
        }
    }
    /// An index not yet created.
    pub fn definition(&self, label: u16, keys: &[u32]) -> IndexDefinition {
        let id = self.store.current().catalog().next_index_id();
        IndexDefinition {
            id,
            name: format!("index{}", id.0),
            target: SchemaTarget::Vertices(LabelId(label)),
            keys: keys.iter().map(|key| KeyId(*key)).collect(),
            unique: false,
        }
    }
    /// One over edges, not yet created.
    pub fn edge_definition(&self, edge_type: u16, keys: &[u32]) -> IndexDefinition {
        IndexDefinition { target: SchemaTarget::Edges(EdgeTypeId(edge_type)), ..self.definition(0, keys) }
    }
    pub fn create_edge_index(&mut self, edge_type: u16, keys: &[u32]) {
        let definition = self.edge_definition(edge_type, keys);
        self.twin.indexes.push(definition.clone());
        self.apply(&[Change::CreateIndex(definition)]);
    }
    pub fn create_index(&mut self, label: u16, keys: &[u32]) {
        let definition = self.definition(label, keys);
        self.twin.indexes.push(definition.clone());
        self.apply(&[Change::CreateIndex(definition)]);
    }
}

impl Twin {
    pub fn edges_at(&self, vertex: VertexId) -> Vec<EdgeRef> {
        self.edges
            .values()
            .map(|(edge, _)| *edge)
            .filter(|e| e.source == vertex || e.target == vertex)
            .collect()
    }

    /// Fails unless everything read from `snapshot` is what this twin holds.
    pub fn compare(&self, snapshot: &Snapshot) {
        self.compare_vertices(snapshot);
        self.compare_edges(snapshot);
        self.compare_views(snapshot);
        self.compare_statistics(snapshot);
        self.indexes.iter().for_each(|index| self.compare_index(snapshot, index));
    }
    /// Without what is hidden.
    /// A reader who has met nothing yet knows a name where something that is shown carries it, or a rule is about it.
    fn compare_names(&self, seen: &Snapshot) {
        let indexes = seen.catalog().indexes();
        let ruled = |target| indexes.iter().any(|index| index.target == target);
        for n in 0..KEYS {
            let key = KeyId(n);
            let is_carried = self.vertices.values().any(|(_, properties)| properties.contains_key(&key))
                || self.edges.values().any(|(_, properties)| properties.contains_key(&key))
                || indexes.iter().any(|index| index.keys.contains(&key));
            assert_eq!(seen.knows_key(&format!("k{n}")).unwrap(), is_carried, "k{n}");
        }
        for n in 0..LABELS {
            let is_carried = self.vertices.values().any(|(labels, _)| labels.contains(&LabelId(n)))
                || ruled(SchemaTarget::Vertices(LabelId(n)));
            assert_eq!(seen.knows_label(&format!("L{n}")).unwrap(), is_carried, "L{n}");
        }
        for n in 0..TYPES {
            let is_carried = self.edges.keys().any(|id| id.edge_type() == EdgeTypeId(n))
                || ruled(SchemaTarget::Edges(EdgeTypeId(n)));
            assert_eq!(seen.knows_edge_type(&format!("T{n}")).unwrap(), is_carried, "T{n}");
        }
    }
    /// A reader who has looked before knows what it had met then, too; `met` is that, and gets what is met now. Of a type with a rule whose edges are all
    /// hidden it is not told that there is a rule.
    pub fn compare_met(
        &self,
        snapshot: &Snapshot,
        hides: &Hides,
        restriction: &Restriction,
        met: &mut BTreeSet<String>,
    ) {
        let (shown, seen) = (self.without(hides), snapshot.restricted(restriction));
        let ruled = |target| seen.catalog().indexes().iter().any(|index| index.target == target);
        for n in 0..TYPES {
            let (edge_type, name) = (EdgeTypeId(n), format!("T{n}"));
            let has_edges = shown.edges.keys().any(|id| id.edge_type() == edge_type);
            assert_eq!(seen.has_edges(edge_type).unwrap(), has_edges, "{name} under {hides:?}");
            let reads = |key: &KeyId| {
                hides.shows_edge_type(&name) && hides.shows_edge_property(&name, &format!("k{}", key.0))
            };
            let target = SchemaTarget::Edges(edge_type);
            let is_ruled = snapshot
                .catalog()
                .indexes()
                .iter()
                .any(|index| index.target == target && index.keys.iter().all(reads));
            assert_eq!(ruled(target), is_ruled && (has_edges || hides.vertices.is_none()), "{name}");
            for direction in [Direction::Out, Direction::In] {
                let near =
                    |edge: &EdgeRef| if direction == Direction::Out { edge.source } else { edge.target };
                let of_type = shown.edges.values().filter(|(edge, _)| edge.id.edge_type() == edge_type);
                let expected: BTreeSet<LabelId> =
                    of_type.flat_map(|(edge, _)| shown.vertices[&near(edge)].0.iter().copied()).collect();
                assert_eq!(seen.labels_at_edges(edge_type, direction).unwrap(), expected, "{name}");
            }
            if has_edges || ruled(target) {
                met.insert(name.clone());
            }
            assert_eq!(seen.knows_edge_type(&name).unwrap(), met.contains(&name), "{name} under {hides:?}");
        }
        for n in 0..KEYS {
            let (key, name) = (KeyId(n), format!("k{n}"));
            let properties = shown.vertices.values().map(|(_, properties)| properties);
            let mut all = properties.chain(shown.edges.values().map(|(_, properties)| properties));
            let is_ruled = seen.catalog().indexes().iter().any(|index| index.keys.contains(&key));
            if is_ruled || all.any(|properties| properties.contains_key(&key)) {
                met.insert(name.clone());
            }
            assert_eq!(seen.knows_key(&name).unwrap(), met.contains(&name), "{name} under {hides:?}");
        }
    }
    /// What is told of the number of edges is told by what is shown alone, and exact for a graph as small as this.
    fn compare_counts(&self, seen: &Snapshot) {
        if self.vertices.len() > 512 || seen.statistics().counts_edges() {
            return;
        }
        for n in 0..TYPES {
            let count = self.edges.keys().filter(|id| id.edge_type() == EdgeTypeId(n)).count() as u64;
            assert_eq!(seen.statistics().edges_of_type(EdgeTypeId(n)), count, "T{n}");
        }
    }
    fn without(&self, hides: &Hides) -> Twin {
        let mut shown = self.clone();
        shown.vertices.retain(|_, (labels, _)| !hides.vertices.is_some_and(|label| labels.contains(&label)));
        for (labels, properties) in shown.vertices.values_mut() {
            if let Some((key, _)) = hides.property.filter(|(_, label)| labels.contains(label)) {
                properties.remove(&key);
            }
            hides.label.iter().for_each(|label| {
                labels.remove(label);
            });
        }
        let is_there = |vertex: &VertexId| shown.vertices.contains_key(vertex);
        shown.edges.retain(|id, (edge, _)| {
            Some(id.edge_type()) != hides.edge_type && is_there(&edge.source) && is_there(&edge.target)
        });
        for (edge, properties) in shown.edges.values_mut() {
            if let Some((key, _)) = hides.edge_property.filter(|(_, of)| edge.id.edge_type() == *of) {
                properties.remove(&key);
            }
        }
        shown
    }
    /// Fails unless a reader is shown what this twin holds without what is hidden, and nothing of the rest.
    pub fn compare_shown(&self, snapshot: &Snapshot, hides: &Hides, restriction: &Restriction) {
        let (shown, seen) = (self.without(hides), snapshot.restricted(restriction));
        shown.compare_vertices(&seen);
        shown.compare_edges(&seen);
        shown.compare_views(&seen);
        shown.compare_names(&snapshot.restricted(&Restriction::new(std::sync::Arc::new(*hides))));
        shown.compare_counts(&seen);
        for vertex in self.vertices.keys().filter(|vertex| !shown.vertices.contains_key(vertex)) {
            assert!(!seen.exists(*vertex).unwrap() && seen.labels(*vertex).is_err(), "{vertex:?} is hidden");
            assert!(seen.properties(*vertex).unwrap().is_empty(), "{vertex:?} is hidden");
            for direction in [Direction::Out, Direction::In, Direction::Both] {
                shown.compare_view(&seen.adjacency(&[], direction), *vertex, &[]);
                shown.compare_view(&seen.adjacency(&[EdgeTypeId(0)], direction), *vertex, &[]);
            }
        }
        for (id, (edge, _)) in self.edges.iter().filter(|(id, _)| !shown.edges.contains_key(id)) {
            assert_eq!(seen.edge(*id).unwrap(), None, "{hides:?}");
            assert!(!seen.edge_exists(*edge).unwrap(), "{hides:?}");
        }
    }
    fn compare_vertices(&self, snapshot: &Snapshot) {
        let mut scanned = Vec::new();
        for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
            snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut scanned).unwrap();
        }
        assert_eq!(scanned, self.vertices.keys().copied().collect::<Vec<_>>());
        for (id, (labels, properties)) in &self.vertices {
            assert!(snapshot.exists(*id).unwrap());
            let set = snapshot.labels(*id).unwrap();
            let expected: Vec<LabelId> = labels.iter().copied().collect();
            assert_eq!(snapshot.catalog().labels_of(set), expected);
            let found: Properties = snapshot.properties(*id).unwrap().into_iter().collect();
            assert_eq!(show_all(&found), show_all(properties), "{id:?}");
        }
        for filter in [
            LabelFilter::Has(LabelId(0)),
            LabelFilter::all_of(&[LabelId(0), LabelId(1)]),
            LabelFilter::Or(vec![
                LabelFilter::Has(LabelId(2)),
                LabelFilter::Not(Box::new(LabelFilter::Has(LabelId(1)))),
            ]),
        ] {
            let mut scanned = Vec::new();
            for chunk in snapshot.scan_chunks(&filter) {
                snapshot.scan_chunk(chunk, &filter, &mut scanned).unwrap();
            }
            let expected: Vec<VertexId> = self.matching(&filter).map(|(id, _)| *id).collect();
            assert_eq!(scanned, expected);
            assert_eq!(snapshot.statistics().vertices_matching(&filter), expected.len() as u64);
        }
        let ids: Vec<VertexId> = self.vertices.keys().rev().copied().chain([VertexId(1 << 40)]).collect();
        for key in (0..KEYS).map(KeyId) {
            let mut column = ColumnBuilder::new();
            snapshot.property_column(&ids, key, &mut column).unwrap();
            let column = column.finish();
            for (row, id) in ids.iter().enumerate() {
                let expected = self.vertices.get(id).and_then(|v| v.1.get(&key)).cloned().unwrap_or_default();
                assert_eq!(show(&column.get(row)), show(&expected));
            }
        }
    }
    fn matching(
        &self,
        filter: &LabelFilter,
    ) -> impl Iterator<Item = (&VertexId, &(BTreeSet<LabelId>, Properties))> {
        self.vertices
            .iter()
            .filter(move |(_, (labels, _))| filter.accepts(&labels.iter().copied().collect::<Vec<_>>()))
    }
    fn compare_edges(&self, snapshot: &Snapshot) {
        for (id, (edge, properties)) in &self.edges {
            assert_eq!(snapshot.edge(*id).unwrap(), Some(*edge));
            assert!(snapshot.edge_exists(*edge).unwrap());
            let found: Properties = snapshot.edge_properties(*id).unwrap().into_iter().collect();
            assert_eq!(show_all(&found), show_all(properties), "{id:?}");
        }
        let ids: Vec<EdgeId> = self.edges.keys().copied().collect();
        let mut column = ColumnBuilder::new();
        snapshot.edge_property_column(&ids, KeyId(1), &mut column).unwrap();
        let column = column.finish();
        for (row, id) in ids.iter().enumerate() {
            let expected = self.edges[id].1.get(&KeyId(1)).cloned().unwrap_or_default();
            assert_eq!(show(&column.get(row)), show(&expected));
        }
    }
    fn compare_views(&self, snapshot: &Snapshot) {
        let type_lists: [&[u16]; 4] = [&[0], &[1], &[2, 0], &[]];
        for types in type_lists {
            let types: Vec<EdgeTypeId> = types.iter().map(|n| EdgeTypeId(*n)).collect();
            for direction in [Direction::Out, Direction::In, Direction::Both] {
                let view = snapshot.adjacency(&types, direction);
                let expected = self.adjacency(&types, direction);
                for vertex in self.vertices.keys() {
                    let none = Vec::new();
                    let expected = expected.get(vertex).unwrap_or(&none);
                    self.compare_view(&view, *vertex, expected);
                }
            }
        }
    }
    /// Expected (neighbour, edge) by vertex, sorted.
    fn adjacency(&self, types: &[EdgeTypeId], direction: Direction) -> BTreeMap<VertexId, Vec<(u32, u64)>> {
        let mut found: BTreeMap<VertexId, Vec<(u32, u64)>> = BTreeMap::new();
        for (edge, _) in self.edges.values() {
            if !types.is_empty() && !types.contains(&edge.id.edge_type()) {
                continue;
            }
            if direction != Direction::In {
                found.entry(edge.source).or_default().push((edge.target.dense(), edge.id.0));
            }
            if direction == Direction::In || direction == Direction::Both && edge.source != edge.target {
                found.entry(edge.target).or_default().push((edge.source.dense(), edge.id.0));
            }
        }
        found.values_mut().for_each(|list| list.sort());
        found
    }
    fn compare_view(&self, view: &AdjacencyView, vertex: VertexId, expected: &[(u32, u64)]) {
        let dense = vertex.dense();
        let (mut scratch, mut edge_scratch) = (Vec::new(), EdgeScratch::new());
        assert_eq!(view.degree(dense).unwrap() as usize, expected.len());
        let (neighbours, ids) = view.edges(dense, &mut edge_scratch).unwrap();
        assert_eq!(view.neighbours(dense, &mut scratch).unwrap(), neighbours);
        let mut found: Vec<(u32, u64)> = neighbours.iter().copied().zip(ids.iter().copied()).collect();
        let mut listed = Vec::new();
        view.for_each_edge(dense, |edge| listed.push(edge)).unwrap();
        assert_eq!(listed.iter().map(|edge| edge.id.0).collect::<Vec<_>>(), ids);
        assert!(listed.iter().all(|edge| self.edges[&edge.id].0 == *edge));
        found.sort();
        assert_eq!(found, expected, "{vertex:?}");
        let mut to = expected.first().map_or(dense, |(neighbour, _)| *neighbour);
        for _ in 0..2 {
            let mut ids = Vec::new();
            view.find(dense, to, &mut ids).unwrap();
            ids.sort();
            let wanted: Vec<EdgeId> = expected.iter().filter(|e| e.0 == to).map(|e| EdgeId(e.1)).collect();
            assert_eq!(ids, wanted);
            to = dense;
        }
    }
    fn compare_statistics(&self, snapshot: &Snapshot) {
        let statistics = snapshot.statistics();
        assert_eq!(statistics.vertices(), self.vertices.len() as u64);
        assert_eq!(statistics.edges(), self.edges.len() as u64);
        let has = |vertex: &VertexId, label: LabelId| self.vertices[vertex].0.contains(&label);
        for edge_type in (0..TYPES).map(EdgeTypeId) {
            let edges =
                || self.edges.values().map(|(edge, _)| edge).filter(|e| e.id.edge_type() == edge_type);
            assert_eq!(statistics.edges_of_type(edge_type), edges().count() as u64);
            for label in (0..LABELS).map(LabelId) {
                let out = edges().filter(|edge| has(&edge.source, label)).count() as u64;
                let into = edges().filter(|edge| has(&edge.target, label)).count() as u64;
                assert_eq!(statistics.edges_near(edge_type, Direction::Out, Some(label)), out);
                assert_eq!(statistics.edges_near(edge_type, Direction::In, Some(label)), into);
            }
        }
    }
    /// Indexed vertices with the values of the keys.
    fn indexed(&self, index: &IndexDefinition) -> Vec<(Vec<Value>, VertexId)> {
        let SchemaTarget::Vertices(label) = index.target else { return Vec::new() };
        let holders = self.vertices.iter().filter(|(_, (labels, _))| labels.contains(&label));
        let keyed = holders.filter_map(|(id, (_, properties))| {
            let values: Option<Vec<Value>> =
                index.keys.iter().map(|key| properties.get(key).cloned()).collect();
            values.map(|values| (values, *id))
        });
        let mut entries: Vec<(Vec<Value>, VertexId)> = keyed.collect();
        entries.sort_by_key(|(values, id)| (values.iter().cloned().map(OrderKey).collect::<Vec<_>>(), *id));
        entries
    }
    fn compare_edge_index(&self, snapshot: &Snapshot, index: &IndexDefinition, edge_type: EdgeTypeId) {
        let mut entries: Vec<(Vec<Value>, EdgeRef)> = Vec::new();
        for (edge, properties) in self.edges.values().filter(|(edge, _)| edge.id.edge_type() == edge_type) {
            let values: Option<Vec<Value>> =
                index.keys.iter().map(|key| properties.get(key).cloned()).collect();
            entries.extend(values.map(|values| (values, *edge)));
        }
        assert_eq!(snapshot.statistics().index(index.id).unwrap().entries, entries.len() as u64);
        assert!(snapshot.seek_edges(index.id, &[Value::Null]).unwrap().is_empty());
        let range = |lower: Bound<&Value>, upper: Bound<&Value>| -> Vec<EdgeRef> {
            let found = snapshot.seek_edge_range(index.id, lower, upper).unwrap();
            found.map(|edge| edge.unwrap()).collect()
        };
        assert_eq!(range(Bound::Unbounded, Bound::Unbounded).len(), entries.len());
        let (low, high) = (Value::Int(2), Value::Int(9));
        let mut found = range(Bound::Included(&low), Bound::Excluded(&high));
        found.sort();
        let within = |value: &Value| {
            compare(value, &low).is_some_and(|order| order.is_ge())
                && compare(value, &high).is_some_and(|order| order.is_lt())
        };
        let mut expected: Vec<EdgeRef> =
            entries.iter().filter(|(values, _)| within(&values[0])).map(|(_, edge)| *edge).collect();
        expected.sort();
        assert_eq!(found, expected, "edges of a range");
        for (values, _) in &entries {
            for prefix in [&values[..1], &values[..]] {
                let same = |e: &&(Vec<Value>, EdgeRef)| {
                    e.0.iter().zip(prefix).all(|(a, b)| equals(a, b) == Some(true))
                };
                let mut expected: Vec<EdgeRef> = entries.iter().filter(same).map(|e| e.1).collect();
                expected.sort();
                let mut found = snapshot.seek_edges(index.id, prefix).unwrap();
                found.sort();
                assert_eq!(found, expected, "edges with {prefix:?}");
            }
        }
    }
    fn compare_index(&self, snapshot: &Snapshot, definition: &IndexDefinition) {
        if let SchemaTarget::Edges(edge_type) = definition.target {
            return self.compare_edge_index(snapshot, definition, edge_type);
        }
        let entries = self.indexed(definition);
        let id = definition.id;
        assert_eq!(snapshot.index_for(definition.target, &definition.keys), Some(id));
        assert_eq!(snapshot.statistics().index(id).unwrap().entries, entries.len() as u64);
        let mut probes: Vec<Value> = (-6..16).map(Value::Int).collect();
        probes.extend(["", "a", "b", "zz", "none"].map(Value::string));
        probes.extend([
            Value::Null,
            Value::Bool(true),
            Value::Float(0.5),
            Value::Float(3.0),
            Value::Float(f64::NAN),
        ]);
        probes.push(Value::list(vec![Value::Int(1), Value::string("x")]));
        for probe in &probes {
            let mut expected: Vec<VertexId> =
                entries.iter().filter(|e| equals(&e.0[0], probe) == Some(true)).map(|e| e.1).collect();
            expected.sort();
            let mut found = snapshot.seek(id, std::slice::from_ref(probe)).unwrap();
            found.sort();
            assert_eq!(found, expected, "seek {probe:?}");
        }
        for (values, _) in entries.iter().step_by(3) {
            let same =
                |e: &&(Vec<Value>, VertexId)| e.0.iter().zip(values).all(|(a, b)| equals(a, b) == Some(true));
            let mut expected: Vec<VertexId> = entries.iter().filter(same).map(|e| e.1).collect();
            expected.sort();
            let mut found = snapshot.seek(id, values).unwrap();
            found.sort();
            assert_eq!(found, expected);
        }
        self.compare_ranges(snapshot, id, &entries, &probes);
    }
    fn compare_ranges(
        &self,
        snapshot: &Snapshot,
        id: IndexId,
        entries: &[(Vec<Value>, VertexId)],
        probes: &[Value],
    ) {
        let mut bounds = vec![Bound::Unbounded];
        bounds.extend(probes.iter().step_by(3).map(Bound::Included));
        bounds.extend(probes.iter().step_by(4).map(Bound::Excluded));
        let passes = |value: &Value, bound: &Bound<&Value>, strict: std::cmp::Ordering| match bound {
            Bound::Unbounded => true,
            Bound::Included(limit) => {
                compare(value, limit).is_some_and(|order| order == strict || order.is_eq())
            }
            Bound::Excluded(limit) => compare(value, limit) == Some(strict),
        };
        for lower in &bounds {
            for upper in &bounds {
                let within = |e: &&(Vec<Value>, VertexId)| {
                    passes(&e.0[0], lower, std::cmp::Ordering::Greater)
                        && passes(&e.0[0], upper, std::cmp::Ordering::Less)
                };
                let expected: Vec<VertexId> = entries.iter().filter(within).map(|e| e.1).collect();
                let found: Vec<VertexId> =
                    snapshot.seek_range(id, *lower, *upper).unwrap().collect::<Result<_, _>>().unwrap();
                assert_eq!(found, expected, "range {lower:?} {upper:?}");
                let mut back: Vec<VertexId> =
                    snapshot.seek_range(id, *lower, *upper).unwrap().rev().collect::<Result<_, _>>().unwrap();
                back.reverse();
                assert_eq!(back, expected, "range {lower:?} {upper:?} from the back");
            }
        }
    }
}
