//! The graph as of any timestamp of the present turn, without a copy of it.
//!
//! Idea: a snapshot of the store is the *base*; commits since are a small *delta* that knows the timestamp of each change. A read at timestamp `t` is
//! the base, corrected by the delta up to `t`. When no query has anything left to read in the past, the newest snapshot becomes the base and the
//! delta is empty again: so nothing is held beyond the store's own memory.
//!
//! Timestamps number the commits (and other events) in the order in which the queries see them; see `keeper`.

mod at;
mod values;

use crate::StandingError;
use crate::installing::Installing;
use crate::limits::ANSWER_ROW_BYTES;
use crate::table::{HashMap, HashSet};
use dataflow::watch::{self, LoopBytes};
use model::schema::IndexId;
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelSetId, Value, VertexId};
use parking_lot::Mutex;
use plan::hidden::is_hidden;
use smallvec::SmallVec;
use std::sync::Arc;
use store::{AdjacencyRead, AdjacencyView, Catalog, Change, GraphRead, LabelFilter, Snapshot, StoreError};
use transact::CommitRecord;
use values::ChangedValues;

pub(crate) use at::At;

/// Number of an event, in the order in which queries see them.
pub(crate) type Timestamp = u64;

/// The versions of one thing, each with the timestamp from which it holds; the last entry of a timestamp counts.
type Timeline<T> = SmallVec<[(Timestamp, T); 1]>;

/// Where a vertex's first properties are read: in the record of its commit, which is kept as long as the delta.
struct Birth {
    since: Timestamp,
    record: Arc<CommitRecord>,
    change: usize,
}

impl Birth {
    fn properties(&self) -> &[(KeyId, Value)] {
        match &self.record.changes[self.change] {
            Change::CreateVertex { properties, .. } => properties,
            _ => unreachable!("a birth is the creation of a vertex"),
        }
    }
}

#[derive(Default)]
struct Delta {
    vertices: HashMap<VertexId, Timeline<Option<LabelSetId>>>,
    /// Initial properties of vertices; later values are in `properties`. An id names one vertex for ever.
    births: HashMap<VertexId, Birth>,
    properties: HashMap<(VertexId, KeyId), Timeline<Value>>,
    edges: HashMap<EdgeId, Timeline<Option<EdgeRef>>>,
    edge_properties: HashMap<(EdgeId, KeyId), Timeline<Value>>,
    /// Edges born at a vertex, at either end.
    born: HashMap<VertexId, SmallVec<[(Timestamp, EdgeRef); 2]>>,
    /// Vertices of which a base edge went.
    lost: HashSet<VertexId>,
}

/// The entities that one commit changed; each once.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Born, gone, or with other labels.
    pub vertices: Vec<VertexId>,
    /// Those of them that were not born by this commit.
    pub known_vertices: Vec<VertexId>,
    /// Of vertices.
    pub properties: Vec<(VertexId, KeyId)>,
    /// Born or gone, or both.
    pub edges: Vec<EdgeRef>,
    /// Those of them that are there now and were not (+1), or were and are not (-1).
    pub moved: Vec<(EdgeRef, isize)>,
    /// Of edges.
    pub edge_properties: Vec<(EdgeRef, KeyId)>,
}

/// The graph as of any timestamp since its base.
pub(crate) struct View {
    base: Snapshot,
    /// Knows every name that the delta may use.
    newest: Snapshot,
    delta: Delta,
    changed: ChangedValues,
    /// Made on first use.
    adjacency: Mutex<HashMap<(Vec<EdgeTypeId>, Direction), AdjacencyView>>,
    /// Bounds on reading it, while a query is installed.
    pub bounds: Option<Arc<Installing>>,
    /// Rows that the present turn of a query has made, on the account of the thread's work.
    built: Mutex<LoopBytes>,
}

/// Rows made of a view are counted for as long as it lives.
#[must_use]
pub(crate) struct Building<'a>(&'a View);

impl Drop for Building<'_> {
    fn drop(&mut self) {
        *self.0.built.lock() = LoopBytes::default();
    }
}

fn at<T>(timeline: Option<&Timeline<T>>, timestamp: Timestamp) -> Option<&T> {
    let timeline = timeline?;
    let after = timeline.partition_point(|(since, _)| *since <= timestamp);
    after.checked_sub(1).map(|last| &timeline[last].1)
}

/// Units of work that a look-up for one row counts as: about a microsecond.
const UNITS_PER_ROW: u64 = 20;

fn put<T>(timeline: &mut Timeline<T>, timestamp: Timestamp, value: T) {
    debug_assert!(
        timeline.last().is_none_or(|(since, _)| *since <= timestamp),
        "a timeline is in order of timestamps"
    );
    match timeline.last_mut() {
        Some(last) if last.0 == timestamp => last.1 = value,
        _ => timeline.push((timestamp, value)),
    }
}

impl View {
    pub fn new(base: Snapshot) -> View {
        let (delta, changed) = (Delta::default(), ChangedValues::default());
        let (newest, adjacency) = (base.clone(), Mutex::default());
        View { newest, base, delta, changed, adjacency, bounds: None, built: Mutex::default() }
    }
    /// Counts `rows` rows of work and checks whether it may go on. Others that share the thread have their turns meanwhile.
    pub fn work(&self, rows: usize) -> Result<(), StandingError> {
        Ok(watch::spend(rows as u64 * UNITS_PER_ROW)?)
    }
    /// Charges `rows` rows that were made, and checks whether that may go on.
    pub fn count(&self, rows: usize) -> Result<(), StandingError> {
        self.work(1 + rows)?;
        match &self.bounds {
            Some(bounds) => bounds.count(rows),
            None => Ok(self.built.lock().grow((rows * ANSWER_ROW_BYTES) as u64)?),
        }
    }
    /// Charges of [`View::count`] are held until the end of a turn: until then rows stand between the steps of a query.
    pub fn building(&self) -> Building<'_> {
        Building(self)
    }
    /// The snapshot that knows the newest names.
    pub fn newest(&self) -> &Snapshot {
        &self.newest
    }
    /// Commits of which the names must be known are about to come.
    pub fn prepare(&mut self, newest: Snapshot) {
        self.newest = newest;
    }
    /// From now on the graph is read as of `newest`, which holds all that was absorbed and nothing else.
    pub fn rebase(&mut self) {
        debug_assert!(
            self.base.commit_version() <= self.newest.commit_version(),
            "a base is never older than the one before it"
        );
        self.base = self.newest.clone();
        self.delta = Delta::default();
        self.changed.forget();
        self.adjacency.get_mut().clear();
    }

    /// Takes up the changes of one commit, which are seen from `timestamp` on.
    pub fn absorb(
        &mut self,
        timestamp: Timestamp,
        record: &Arc<CommitRecord>,
    ) -> Result<Touched, StandingError> {
        self.changed.forget();
        let (mut touched, mut known) = (Touched::default(), Vec::new());
        // What became of each edge: in this order, for its first change says what was and its last what is.
        let mut fates: Vec<(EdgeRef, usize, bool)> = Vec::new();
        for (number, change) in record.changes.iter().enumerate() {
            match change {
                Change::CreateVertex { id, labels, .. } => {
                    put(self.delta.vertices.entry(*id).or_default(), timestamp, Some(*labels));
                    let birth = Birth { since: timestamp, record: record.clone(), change: number };
                    self.delta.births.insert(*id, birth);
                    touched.vertices.push(*id);
                }
                Change::DeleteVertex { id } => {
                    put(self.delta.vertices.entry(*id).or_default(), timestamp, None);
                    known.push(*id);
                    touched.vertices.push(*id);
                }
                Change::SetLabels { id, labels } => {
                    put(self.delta.vertices.entry(*id).or_default(), timestamp, Some(*labels));
                    known.push(*id);
                    touched.vertices.push(*id);
                }
                Change::SetProperty { id, key, value } => {
                    put(self.delta.properties.entry((*id, *key)).or_default(), timestamp, value.clone());
                    touched.properties.push((*id, *key));
                }
                Change::CreateEdge { edge, properties } => {
                    self.bear(timestamp, *edge, properties);
                    fates.push((*edge, number, true));
                }
                Change::DeleteEdge { edge } => {
                    put(self.delta.edges.entry(edge.id).or_default(), timestamp, None);
                    self.delta.lost.extend([edge.source, edge.target]);
                    fates.push((*edge, number, false));
                }
                Change::SetEdgeProperty { edge, key, value } => {
                    let versions = self.delta.edge_properties.entry((edge.id, *key)).or_default();
                    put(versions, timestamp, value.clone());
                    touched.edge_properties.push((*edge, *key));
                }
                Change::DefineName(_) | Change::CreateIndex(_) | Change::DropIndex(_) => {}
                Change::CreateConstraint(_) | Change::DropConstraint(_) | Change::SetEntry { .. } => {}
            }
        }
        touched.vertices.sort_unstable();
        touched.vertices.dedup();
        known.retain(|vertex| !self.is_born_at(*vertex, timestamp));
        known.sort_unstable();
        known.dedup();
        touched.known_vertices = known;
        touched.properties.sort_unstable();
        touched.properties.dedup();
        fates.sort_unstable();
        for fate in fates.chunk_by(|(one, ..), (other, ..)| one == other) {
            let ((edge, _, is_first_birth), (.., is_there)) = (fate[0], fate[fate.len() - 1]);
            touched.edges.push(edge);
            if is_first_birth == is_there {
                touched.moved.push((edge, if is_there { 1 } else { -1 }));
            }
        }
        touched.edge_properties.sort_unstable();
        touched.edge_properties.dedup();
        Ok(touched)
    }
    fn bear(&mut self, timestamp: Timestamp, edge: EdgeRef, properties: &[(KeyId, Value)]) {
        put(self.delta.edges.entry(edge.id).or_default(), timestamp, Some(edge));
        self.delta.born.entry(edge.source).or_default().push((timestamp, edge));
        if edge.target != edge.source {
            self.delta.born.entry(edge.target).or_default().push((timestamp, edge));
        }
        for (key, value) in properties {
            put(self.delta.edge_properties.entry((edge.id, *key)).or_default(), timestamp, value.clone());
        }
    }

    /// Labels of a vertex; none where there is no such vertex.
    pub fn labels(&self, vertex: VertexId, timestamp: Timestamp) -> Result<Option<LabelSetId>, StoreError> {
        match at(self.delta.vertices.get(&vertex), timestamp) {
            Some(labels) => Ok(*labels),
            None if self.base.exists(vertex)? => Ok(Some(self.base.labels(vertex)?)),
            None => Ok(None),
        }
    }
    /// Does the vertex exist and pass the filter?
    pub fn passes(
        &self,
        vertex: VertexId,
        filter: &LabelFilter,
        timestamp: Timestamp,
    ) -> Result<bool, StoreError> {
        let catalog = self.newest.catalog();
        Ok(self.labels(vertex, timestamp)?.is_some_and(|set| filter.accepts(catalog.labels_of(set))))
    }
    /// Names of the labels of a set, as a list.
    pub fn label_names(&self, set: LabelSetId) -> Value {
        let catalog = self.newest.catalog();
        let names = catalog.labels_of(set).iter().filter_map(|label| catalog.label_name(*label));
        Value::list(names.map(|name| Value::String(name.clone())).collect())
    }
    /// A property of a vertex that exists at `timestamp`.
    pub fn property(&self, vertex: VertexId, key: KeyId, timestamp: Timestamp) -> Result<Value, StoreError> {
        let set = || at(self.delta.properties.get(&(vertex, key)), timestamp);
        if let Some(value) = if self.delta.properties.is_empty() { None } else { set() } {
            return Ok(value.clone());
        }
        match self.born_with(vertex, timestamp) {
            Some(properties) => {
                let own = properties.iter().rev().find(|(other, _)| *other == key);
                Ok(own.map_or(Value::Null, |(_, value)| value.clone()))
            }
            None => Ok(self.base.property(vertex, key)?),
        }
    }
    /// Was the vertex born, or did it go, or get other labels, since the base?
    pub fn has_changed(&self, vertex: VertexId) -> bool {
        self.delta.vertices.contains_key(&vertex)
    }
    /// Was the vertex born at this timestamp?
    pub fn is_born_at(&self, vertex: VertexId, timestamp: Timestamp) -> bool {
        self.delta.births.get(&vertex).is_some_and(|birth| birth.since == timestamp)
    }
    /// The first properties of a vertex that was born since the base.
    fn born_with(&self, vertex: VertexId, timestamp: Timestamp) -> Option<&[(KeyId, Value)]> {
        let birth = self.delta.births.get(&vertex).filter(|birth| birth.since <= timestamp)?;
        Some(birth.properties())
    }
    /// All properties of a vertex that exists at `timestamp`, by name.
    pub fn properties(&self, vertex: VertexId, timestamp: Timestamp) -> Result<Value, StoreError> {
        Ok(self.named(self.property_list(vertex, timestamp)?))
    }
    /// The same by number; each key once.
    pub fn property_list(
        &self,
        vertex: VertexId,
        timestamp: Timestamp,
    ) -> Result<Vec<(KeyId, Value)>, StoreError> {
        let mut found: HashMap<KeyId, Value> = match self.born_with(vertex, timestamp) {
            Some(properties) => properties.iter().cloned().collect(),
            None => self.base.properties(vertex)?.into_iter().collect(),
        };
        // Few: what one turn of commits set.
        for ((_, key), timeline) in self.delta.properties.iter().filter(|((id, _), _)| *id == vertex) {
            if let Some(value) = at(Some(timeline), timestamp) {
                found.insert(*key, value.clone());
            }
        }
        Ok(found.into_iter().filter(|(_, value)| !value.is_null()).collect())
    }
    fn named(&self, found: Vec<(KeyId, Value)>) -> Value {
        let catalog = self.newest.catalog();
        let named =
            found.into_iter().filter_map(|(key, value)| Some((catalog.key_name(key)?.clone(), value)));
        Value::map(named.filter(|(key, _)| !is_hidden(key)))
    }

    /// Is this very edge there? An id may have been given anew, so its ends are compared too.
    pub fn has_edge(&self, edge: EdgeRef, timestamp: Timestamp) -> Result<bool, StoreError> {
        match at(self.delta.edges.get(&edge.id), timestamp) {
            Some(state) => Ok(*state == Some(edge)),
            None => Ok(self.base.edge_exists(edge)?),
        }
    }
    /// When the delta says that the edge was born, if it does.
    fn birth(&self, edge: EdgeId, timestamp: Timestamp) -> Option<Timestamp> {
        let timeline = self.delta.edges.get(&edge)?;
        timeline
            .iter()
            .rev()
            .find(|(since, state)| *since <= timestamp && state.is_some())
            .map(|(since, _)| *since)
    }
    /// A property of an edge that exists at `timestamp`.
    pub fn edge_property(&self, edge: EdgeId, key: KeyId, timestamp: Timestamp) -> Result<Value, StoreError> {
        let birth = self.birth(edge, timestamp);
        let written = self.delta.edge_properties.get(&(edge, key));
        let written = written.and_then(|all| {
            let after = all.partition_point(|(since, _)| *since <= timestamp);
            after.checked_sub(1).map(|last| &all[last])
        });
        match (written, birth) {
            (Some((since, value)), birth) if birth.is_none_or(|birth| *since >= birth) => Ok(value.clone()),
            // Whatever the base holds belongs to an edge that had this id before.
            (_, Some(_)) => Ok(Value::Null),
            (_, None) => Ok(self.base.edge_property(edge, key)?),
        }
    }
    /// All properties of an edge that exists at `timestamp`, by name.
    pub fn edge_properties(&self, edge: EdgeId, timestamp: Timestamp) -> Result<Value, StoreError> {
        Ok(self.named(self.edge_property_list(edge, timestamp)?))
    }
    /// The same by number; each key once.
    pub fn edge_property_list(
        &self,
        edge: EdgeId,
        timestamp: Timestamp,
    ) -> Result<Vec<(KeyId, Value)>, StoreError> {
        let mut keys: Vec<KeyId> = Vec::new();
        if self.birth(edge, timestamp).is_none() {
            keys.extend(self.base.edge_properties(edge)?.into_iter().map(|(key, _)| key));
        }
        keys.extend(self.delta.edge_properties.keys().filter(|(id, _)| *id == edge).map(|(_, key)| *key));
        keys.sort_unstable();
        keys.dedup();
        let found: Result<Vec<_>, StoreError> =
            keys.into_iter().map(|key| Ok((key, self.edge_property(edge, key, timestamp)?))).collect();
        Ok(found?.into_iter().filter(|(_, value)| !value.is_null()).collect())
    }

    /// Calls `found` with each edge of these types (none: all) at a vertex in this direction, in stored direction; a loop comes once.
    pub fn edges(
        &self,
        vertex: VertexId,
        types: &[EdgeTypeId],
        direction: Direction,
        timestamp: Timestamp,
        mut found: impl FnMut(EdgeRef),
    ) -> Result<(), StoreError> {
        let mut views = self.adjacency.lock();
        let base =
            views.entry((types.to_vec(), direction)).or_insert_with(|| self.base.adjacency(types, direction));
        self.edges_along(base, vertex, (types, direction), timestamp, &mut found)
    }
    /// Likewise, where the edges of the base are known.
    fn edges_along(
        &self,
        base: &AdjacencyView,
        vertex: VertexId,
        (types, direction): (&[EdgeTypeId], Direction),
        timestamp: Timestamp,
        found: &mut dyn FnMut(EdgeRef),
    ) -> Result<(), StoreError> {
        let born = self.delta.born.get(&vertex);
        let checks = born.is_some() || self.delta.lost.contains(&vertex);
        if vertex.0 < self.base.vertex_bound() as u64 {
            base.for_each_edge(vertex.dense(), |edge| {
                if !checks || at(self.delta.edges.get(&edge.id), timestamp).is_none() {
                    found(edge)
                }
            })?;
        }
        for (since, edge) in born.into_iter().flatten().filter(|(since, _)| *since <= timestamp) {
            let seen = match direction {
                Direction::Out => edge.source == vertex,
                Direction::In => edge.target == vertex,
                Direction::Both => true,
            };
            let is_of = types.is_empty() || types.contains(&edge.id.edge_type());
            if seen && is_of && self.lives(*edge, *since, timestamp) {
                found(*edge)
            }
        }
        Ok(())
    }
    /// Is an edge that was born then still there, and not one that was given its id anew?
    fn lives(&self, edge: EdgeRef, since: Timestamp, timestamp: Timestamp) -> bool {
        at(self.delta.edges.get(&edge.id), timestamp).is_some_and(|state| *state == Some(edge))
            && self.birth(edge.id, timestamp) == Some(since)
    }
    /// Has nothing at this vertex changed since the base, at any timestamp?
    pub fn is_as_based(&self, vertex: VertexId) -> bool {
        vertex.0 < self.base.vertex_bound() as u64
            && !self.delta.born.contains_key(&vertex)
            && !self.delta.lost.contains(&vertex)
    }
    /// The edges of a type in the base.
    pub fn adjacency(&self, edge_type: EdgeTypeId, direction: Direction) -> AdjacencyView {
        let mut views = self.adjacency.lock();
        let made = || self.base.adjacency(&[edge_type], direction);
        views.entry((vec![edge_type], direction)).or_insert_with(made).clone()
    }
    /// Is there an edge of this type from one vertex to the other, and one that `is_it` accepts? Found by both ends, however many edges they have.
    pub fn has_between(
        &self,
        source: VertexId,
        target: VertexId,
        edge_type: EdgeTypeId,
        timestamp: Timestamp,
        mut is_it: impl FnMut(EdgeId) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let (base, mut found) = (self.adjacency(edge_type, Direction::Out), Vec::new());
        let each = &mut |edge| found.push(edge);
        self.between(&base, (source, target), (&[edge_type], Direction::Out), timestamp, each)?;
        for edge in found {
            if is_it(edge)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
    /// Shows the edges that lead from one vertex to the other in this direction; `base` knows those of the base.
    fn between(
        &self,
        base: &AdjacencyView,
        (from, to): (VertexId, VertexId),
        (types, direction): (&[EdgeTypeId], Direction),
        timestamp: Timestamp,
        found: &mut dyn FnMut(EdgeId),
    ) -> Result<(), StoreError> {
        base.between(&[(from, to)], &mut |_, edge| {
            if at(self.delta.edges.get(&edge), timestamp).is_none() {
                found(edge);
            }
        })?;
        for (since, edge) in self.delta.born.get(&from).into_iter().flatten() {
            let forth = direction != Direction::In && (edge.source, edge.target) == (from, to);
            let back = direction != Direction::Out && (edge.target, edge.source) == (from, to);
            let is_of = types.is_empty() || types.contains(&edge.id.edge_type());
            if *since <= timestamp && (forth || back) && is_of && self.lives(*edge, *since, timestamp) {
                found(edge.id);
            }
        }
        Ok(())
    }
    /// Vertices that pass the filter.
    pub fn scan(&self, filter: &LabelFilter, timestamp: Timestamp) -> Result<Vec<VertexId>, StoreError> {
        let (graph, mut found, mut cursor) = (At::new(self, timestamp), Vec::new(), Some(0));
        while let Some(at) = cursor {
            cursor = graph.scan(filter, at, &mut found)?;
        }
        Ok(found)
    }
    /// Vertices among which are all that pass the filter and of which the property equals `value`, at this timestamp or any other since
    /// the base: through the index, if there is one.
    pub fn candidates(
        &self,
        filter: &LabelFilter,
        index: Option<IndexId>,
        key: KeyId,
        value: &Value,
        timestamp: Timestamp,
    ) -> Result<Vec<VertexId>, StoreError> {
        let Some(index) = index else { return self.scan(filter, timestamp) };
        let mut found = self.base.seek(index, std::slice::from_ref(value))?;
        self.changed_to(key, value, &mut found)?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
    /// Names and indexes of the base.
    pub fn base_catalog(&self) -> &Catalog {
        self.base.catalog()
    }
    /// Name of an edge's type.
    pub fn type_name(&self, edge_type: EdgeTypeId) -> Arc<str> {
        self.newest.catalog().edge_type_name(edge_type).cloned().unwrap_or_else(|| "".into())
    }
}

#[cfg(test)]
mod tests;
