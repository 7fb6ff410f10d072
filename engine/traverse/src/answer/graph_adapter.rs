//! The graph that a traversal walks: a snapshot, or a transaction that sees its own writes.
//!
//! Reads in a transaction that may write are recorded, so that its commit is validated like any other's.

use super::own_ids::{self, OwnIds};
use super::stored_value::{self, OWN_ID};
use crate::{Graph, Kept, Outcome, TraverseError, Wanted};
use execute::CacheAccess;
use gremlin::Object;
use model::schema::{IndexId, SchemaTarget};
use model::{ChunkNo, Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use plan::hidden::{OF_LABEL, OF_TYPE};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use store::{AdjacencyView, LabelFilter, Snapshot, StoreError};
use transact::{Mode, TransactError, Transaction};
use world::clock::{monotonic_ns, wall_us};

/// Lists of chunks that are cached for scans that continue.
const SCANS_MAX: usize = 8;

/// Keys whose width is cached.
const WIDE_MAX: usize = 16;

/// Units of work between two pauses of the machine, roughly.
const UNITS_PER_PAUSE: u64 = 256;

/// Bytes that a waiting traverser is charged.
pub(super) const TRAVERSER_BYTES: usize = 128;

/// May this procedure be called?
pub type MayCall = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A graph under a traversal.
pub struct GraphAdapter {
    view: RefCell<Snapshot>,
    transaction: Option<Arc<Transaction>>,
    own_ids: Arc<OwnIds>,
    /// Has something been written that the view does not show?
    stale: Cell<bool>,
    /// Bytes that its traversers may take.
    bytes_max: u64,
    /// Which procedures may be called; all, if absent.
    may_call: Option<MayCall>,
    /// Results of node programs; none are cached where absent.
    cache: Option<CacheAccess>,
    now_us: u64,
    adjacency: RefCell<Vec<Adjacent>>,
    scans: RefCell<Vec<Scan>>,
    /// Keys, and whether their whole numbers are of 64 bits.
    wide: RefCell<Vec<(Arc<str>, bool)>>,
    /// The labels and types whose elements have clients' ids: of vertices, and of edges.
    id_targets: RefCell<[Option<Option<IdTargets>>; 2]>,
}

/// The labels or types whose elements may have clients' ids, with the index over them.
type IdTargets = Arc<[(SchemaTarget, Option<IndexId>)]>;

/// Labels, and the chunks of the view that may hold vertices of one of them.
type Scan = (Vec<Arc<str>>, Arc<[ChunkNo]>);

struct Adjacent {
    types: Vec<Arc<str>>,
    direction: Direction,
    known: Vec<EdgeTypeId>,
    view: AdjacencyView,
}

fn refused(error: TransactError) -> TraverseError {
    TraverseError::Graph {
        code: error.code().into(),
        message: error.to_string(),
        hint: error.hint(),
        retryable: error.is_retryable(),
    }
}

fn unread(error: StoreError) -> TraverseError {
    refused(error.into())
}

fn fault(code: &str, message: impl Into<String>) -> TraverseError {
    TraverseError::Graph { code: code.into(), message: message.into(), hint: None, retryable: false }
}

impl GraphAdapter {
    /// The same, where some procedures may not be called.
    pub fn allowing(self, may_call: Option<MayCall>) -> GraphAdapter {
        GraphAdapter { may_call, ..self }
    }
    /// The same, with a cache for the results of node programs.
    pub fn caching(self, cache: CacheAccess) -> GraphAdapter {
        GraphAdapter { cache: Some(cache), ..self }
    }
    /// A snapshot, or a transaction at that snapshot; its traversers may take so many bytes.
    pub fn new(
        snapshot: Snapshot,
        transaction: Option<Arc<Transaction>>,
        own_ids: Arc<OwnIds>,
        bytes_max: u64,
    ) -> GraphAdapter {
        GraphAdapter {
            view: RefCell::new(snapshot),
            transaction,
            own_ids,
            stale: Cell::new(false),
            bytes_max,
            may_call: None,
            cache: None,
            now_us: wall_us(),
            adjacency: RefCell::default(),
            scans: RefCell::default(),
            wide: RefCell::default(),
            id_targets: RefCell::default(),
        }
    }
    /// The graph now, own writes shown.
    fn view(&self) -> Outcome<Snapshot> {
        if self.stale.replace(false)
            && let Some(transaction) = &self.transaction
        {
            transaction.refresh().map_err(refused)?;
            *self.view.borrow_mut() = transaction.snapshot();
            self.adjacency.borrow_mut().clear();
            self.scans.borrow_mut().clear();
            self.wide.borrow_mut().clear();
            *self.id_targets.borrow_mut() = Default::default();
        }
        Ok(self.view.borrow().clone())
    }
    fn writing(&self) -> Outcome<&Transaction> {
        match &self.transaction {
            Some(transaction) if transaction.mode() == Mode::Write => {
                self.stale.set(true);
                Ok(transaction)
            }
            _ => Err(fault(
                "Neo.ClientError.Statement.AccessMode",
                "the traversal writes, but it may only read",
            )),
        }
    }
    fn record(&self, tell: impl FnOnce(&transact::ReadSet)) {
        if let Some(transaction) =
            self.transaction.as_ref().filter(|transaction| transaction.mode() == Mode::Write)
        {
            tell(transaction.reads());
        }
    }
    fn value(&self, object: &Object) -> Outcome<Value> {
        stored_value::to_value(object).ok_or_else(|| {
            let kind = object.type_name();
            TraverseError::step(
                "property",
                format!("Property value [{object}] is of type {kind} is not supported"),
            )
        })
    }
    /// The property that keeps the id of a new element of these labels, or this type.
    fn own_id<'n>(
        &self,
        id: &Object,
        mark: &str,
        of: impl Iterator<Item = &'n str>,
    ) -> Outcome<(KeyId, Value)> {
        let view = self.view()?;
        let key = own_ids::key_for(self.writing()?, view.catalog(), id, mark, of).map_err(refused)?;
        Ok((key, self.value(id)?))
    }
    /// The labels or types whose elements may have clients' ids, with the index over them; none where that is unknown.
    fn id_targets(&self, view: &Snapshot, mark: &str) -> Option<IdTargets> {
        let known = &mut self.id_targets.borrow_mut()[usize::from(mark == OF_TYPE)];
        let targets = known.get_or_insert_with(|| {
            let own = view.catalog().key(OWN_ID)?;
            // What is known of all names is not for a reader to whom some are not shown.
            if view.is_restricted() {
                return None;
            }
            let targets = self.own_ids.targets(view.catalog(), mark)?.into_iter();
            Some(targets.map(|target| (target, view.index_for(target, &[own]))).collect())
        });
        targets.clone()
    }
    /// The vertex to which a client gave this id.
    fn by_own_id(&self, id: &Object) -> Outcome<Option<VertexId>> {
        let view = self.view()?;
        let Some(key) = view.catalog().key(OWN_ID) else {
            // The first id that anybody gives makes a name known.
            self.record(|reads| reads.catalogue());
            return Ok(None);
        };
        let Some(targets) = self.id_targets(&view, OF_LABEL) else { return self.scan_for_id(key, id, &[]) };
        let (mut unindexed, candidates) = (Vec::new(), own_ids::candidates(id));
        for (target, index) in targets.iter() {
            let Some(index) = index else {
                if let SchemaTarget::Vertices(label) = target {
                    unindexed.extend(view.catalog().label_name(*label).cloned());
                }
                continue;
            };
            for candidate in &candidates {
                self.record(|reads| reads.index_equal(*index, candidate));
                for vertex in view.seek(*index, std::slice::from_ref(candidate)).map_err(unread)? {
                    if self.has_id(&view, vertex, key, id)? {
                        return Ok(Some(vertex));
                    }
                }
            }
        }
        // An id of another kind may look alike: the text of a UUID, for instance.
        let all = if stored_value::is_plain_key(&view, OWN_ID) { unindexed } else { Vec::new() };
        if !all.is_empty() || !stored_value::is_plain_key(&view, OWN_ID) {
            return self.scan_for_id(key, id, &all);
        }
        // Whoever finds none depends on all that others add, whatever its label.
        self.record(|reads| reads.scan(None));
        Ok(None)
    }
    fn has_id(&self, view: &Snapshot, vertex: VertexId, key: KeyId, id: &Object) -> Outcome<bool> {
        let value = view.property(vertex, key).map_err(unread)?;
        Ok(!value.is_null() && alike(&stored_value::to_object(&value), id))
    }
    /// Looks at every vertex of these labels, or at all.
    fn scan_for_id(&self, key: KeyId, id: &Object, labels: &[Arc<str>]) -> Outcome<Option<VertexId>> {
        self.record(|reads| reads.scan(None));
        let (view, mut cursor) = (self.view()?, Some(0));
        let wanted = Wanted { labels: labels.to_vec(), ..Wanted::default() };
        while let Some(from) = cursor {
            self.pause(0)?;
            let mut some = Vec::new();
            cursor = self.vertices(&wanted, from, &mut some)?;
            for vertex in some {
                if self.has_id(&view, vertex, key, id)? {
                    return Ok(Some(vertex));
                }
            }
        }
        Ok(None)
    }
    /// The edge to which a client gave this id.
    fn edge_by_own_id(&self, id: &Object) -> Outcome<Option<EdgeRef>> {
        let view = self.view()?;
        let Some(key) = view.catalog().key(OWN_ID) else {
            self.record(|reads| reads.catalogue());
            return Ok(None);
        };
        let is_wanted = |edge: &EdgeRef| -> Outcome<bool> {
            let value = view.edge_property(edge.id, key).map_err(unread)?;
            Ok(!value.is_null() && alike(&stored_value::to_object(&value), id))
        };
        let (targets, candidates) = (self.id_targets(&view, OF_TYPE), own_ids::candidates(id));
        for index in targets.iter().flat_map(|targets| targets.iter()).filter_map(|(_, index)| *index) {
            for candidate in &candidates {
                self.record(|reads| reads.index_equal(index, candidate));
                for edge in view.seek_edges(index, std::slice::from_ref(candidate)).map_err(unread)? {
                    if is_wanted(&edge)? {
                        return Ok(Some(edge));
                    }
                }
            }
        }
        let is_indexed = |targets: &IdTargets| targets.iter().all(|(_, index)| index.is_some());
        if targets.as_ref().is_some_and(is_indexed) && stored_value::is_plain_key(&view, OWN_ID) {
            // The first id of an edge of any other type makes a name known.
            self.record(|reads| reads.catalogue());
            return Ok(None);
        }
        let (mut cursor, mut some) = (Some(0), Vec::new());
        while let Some(from) = cursor {
            self.pause(0)?;
            some.clear();
            cursor = self.edges(from, &mut some)?;
            for edge in &some {
                if is_wanted(edge)? {
                    return Ok(Some(*edge));
                }
            }
        }
        Ok(None)
    }
    fn is_wide(&self, view: &Snapshot, key: &str) -> bool {
        let mut wide = self.wide.borrow_mut();
        if let Some((_, known)) = wide.iter().find(|(known, _)| **known == *key) {
            return *known;
        }
        let known = stored_value::is_wide(view, key);
        if wide.len() >= WIDE_MAX {
            wide.clear();
        }
        wide.push((key.into(), known));
        known
    }
    fn has_own_id(&self, view: &Snapshot, vertex: VertexId) -> Outcome<bool> {
        match view.catalog().key(OWN_ID) {
            Some(key) => Ok(!view.property(vertex, key).map_err(unread)?.is_null()),
            _ => Ok(false),
        }
    }
    fn filter(&self, view: &Snapshot, labels: &[Arc<str>]) -> Option<LabelFilter> {
        let known: Vec<LabelFilter> =
            labels.iter().filter_map(|label| view.catalog().label(label)).map(LabelFilter::Has).collect();
        let (all, none) = (labels.is_empty(), known.is_empty());
        if all { Some(LabelFilter::Any) } else { (!none).then_some(LabelFilter::Or(known)) }
    }
    /// The chunks that may hold vertices of these labels, in order: listed once for all parts of a scan.
    fn chunks(&self, view: &Snapshot, filter: &LabelFilter, labels: &[Arc<str>]) -> Arc<[ChunkNo]> {
        let mut scans = self.scans.borrow_mut();
        if let Some((_, chunks)) = scans.iter().find(|(known, _)| known == labels) {
            return chunks.clone();
        }
        let chunks: Arc<[ChunkNo]> = view.scan_chunks(filter).into();
        if scans.len() >= SCANS_MAX {
            scans.clear();
        }
        scans.push((labels.to_vec(), chunks.clone()));
        chunks
    }
    /// Vertices of an index, where one answers.
    fn sought(&self, view: &Snapshot, wanted: &Wanted) -> Outcome<Option<Vec<VertexId>>> {
        let [label] = wanted.labels.as_slice() else { return Ok(None) };
        let Some(label) = view.catalog().label(label) else { return Ok(Some(Vec::new())) };
        // By its names the catalogue tells what nothing has, and of which keys an index does not find all that is meant.
        self.record(|reads| wanted.equal.iter().for_each(|_| reads.catalogue()));
        for (key, value) in &wanted.equal {
            if !stored_value::is_plain_key(view, key) {
                continue;
            }
            let Some(key) = view.catalog().key(key) else { return Ok(Some(Vec::new())) };
            let index = view.index_for(SchemaTarget::Vertices(label), &[key]);
            let value = gremlin::shape::plain(value);
            if let (Some(index), Some(value)) = (index, value) {
                self.record(|reads| reads.index_equal(index, &value));
                return Ok(Some(view.seek(index, &[value]).map_err(unread)?));
            }
        }
        Ok(None)
    }
}

/// Ids as clients write them: a number is the same as its text.
fn alike(kept: &Object, given: &Object) -> bool {
    crate::compare::equal(kept, given) || crate::convert::shown(kept) == crate::convert::shown(given)
}

fn number(id: &Object) -> Option<u64> {
    match id {
        Object::String(text) => text.parse().ok(),
        other => other.as_long().and_then(|number| u64::try_from(number).ok()),
    }
}

impl Graph for GraphAdapter {
    fn vertices(&self, wanted: &Wanted, cursor: u64, found: &mut Vec<VertexId>) -> Outcome<Option<u64>> {
        let view = self.view()?;
        if cursor == 0
            && let Some(sought) = self.sought(&view, wanted)?
        {
            found.extend(sought);
            return Ok(None);
        }
        let Some(filter) = self.filter(&view, &wanted.labels) else { return Ok(None) };
        if cursor == 0 {
            let labels: Vec<Option<LabelId>> = match wanted.labels.is_empty() {
                true => vec![None],
                false => wanted
                    .labels
                    .iter()
                    .map(|label| view.catalog().label(label))
                    .filter(Option::is_some)
                    .collect(),
            };
            self.record(|reads| labels.iter().for_each(|label| reads.scan(*label)));
        }
        let chunks = self.chunks(&view, &filter, &wanted.labels);
        let next = chunks.partition_point(|chunk| u64::from(*chunk) < cursor);
        let Some(chunk) = chunks.get(next) else { return Ok(None) };
        view.scan_chunk(*chunk, &filter, found).map_err(unread)?;
        Ok(Some(u64::from(*chunk) + 1))
    }
    fn edges(&self, cursor: u64, found: &mut Vec<EdgeRef>) -> Outcome<Option<u64>> {
        let mut vertices = Vec::new();
        let next = self.vertices(&Wanted::default(), cursor, &mut vertices)?;
        for vertex in vertices {
            self.adjacent(vertex, Direction::Out, &[], found)?;
        }
        Ok(next)
    }
    fn vertex_by_id(&self, id: &Object) -> Outcome<Option<VertexId>> {
        if let Some(vertex) = self.by_own_id(id)? {
            return Ok(Some(vertex));
        }
        let Some(number) = number(id) else { return Ok(None) };
        let (vertex, view) = (VertexId(number), self.view()?);
        self.record(|reads| reads.existence(vertex));
        let exists = view.exists(vertex).map_err(unread)?;
        Ok((exists && !self.has_own_id(&view, vertex)?).then_some(vertex))
    }
    fn edge_by_id(&self, id: &Object) -> Outcome<Option<EdgeRef>> {
        if let Some(edge) = self.edge_by_own_id(id)? {
            return Ok(Some(edge));
        }
        let view = self.view()?;
        let Some(number) = number(id) else { return Ok(None) };
        self.record(|reads| reads.edge(EdgeId(number)));
        let edge = view.edge(EdgeId(number)).map_err(unread)?;
        let own = view.catalog().key(OWN_ID).filter(|_| edge.is_some());
        let has_own_id = match own {
            Some(key) => !view.edge_property(EdgeId(number), key).map_err(unread)?.is_null(),
            None => false,
        };
        Ok(edge.filter(|_| !has_own_id))
    }
    fn vertex_exists(&self, vertex: VertexId) -> Outcome<bool> {
        self.record(|reads| reads.existence(vertex));
        self.view()?.exists(vertex).map_err(unread)
    }
    fn edge_exists(&self, edge: &EdgeRef) -> Outcome<bool> {
        self.record(|reads| reads.edge(edge.id));
        self.view()?.edge_exists(*edge).map_err(unread)
    }
    fn adjacent(
        &self,
        vertex: VertexId,
        direction: Direction,
        types: &[Arc<str>],
        found: &mut Vec<EdgeRef>,
    ) -> Outcome<()> {
        let view = self.view()?;
        let mut kept = self.adjacency.borrow_mut();
        let place = match kept.iter().position(|one| one.direction == direction && one.types == types) {
            Some(place) => place,
            None => {
                let known: Vec<EdgeTypeId> =
                    types.iter().filter_map(|name| view.catalog().edge_type(name)).collect();
                if known.is_empty() && !types.is_empty() {
                    return Ok(());
                }
                let adjacency = view.adjacency(&known, direction);
                kept.push(Adjacent { types: types.to_vec(), direction, known, view: adjacency });
                kept.len() - 1
            }
        };
        let adjacent = &kept[place];
        self.record(|reads| reads.adjacency(vertex, &adjacent.known, direction));
        adjacent.view.for_each_edge(vertex.dense(), |edge| found.push(edge)).map_err(unread)
    }
    fn vertex_id(&self, vertex: VertexId) -> Outcome<Object> {
        let view = self.view()?;
        super::elements::vertex_id(&view, vertex).map_err(unread)
    }
    fn edge_id(&self, edge: &EdgeRef) -> Outcome<Object> {
        let view = self.view()?;
        super::elements::edge_id(&view, edge).map_err(unread)
    }
    fn labels(&self, vertex: VertexId) -> Outcome<Vec<Arc<str>>> {
        self.record(|reads| reads.vertex(vertex));
        super::elements::labels(&self.view()?, vertex).map_err(unread)
    }
    fn edge_type(&self, edge: &EdgeRef) -> Outcome<Arc<str>> {
        Ok(self.view()?.catalog().edge_type_name(edge.id.edge_type()).cloned().unwrap_or_else(|| "".into()))
    }
    fn property(&self, vertex: VertexId, key: &str) -> Outcome<Vec<Kept>> {
        let view = self.view()?;
        self.record(|reads| reads.vertex(vertex));
        let Some(id) = view.catalog().key(key) else { return Ok(Vec::new()) };
        Ok(stored_value::many_of(&view.property(vertex, id).map_err(unread)?, self.is_wide(&view, key)))
    }
    fn properties(&self, vertex: VertexId) -> Outcome<Vec<(Arc<str>, Vec<Kept>)>> {
        let view = self.view()?;
        self.record(|reads| reads.vertex(vertex));
        let all = super::elements::named(&view, view.properties(vertex).map_err(unread)?);
        let mut found = Vec::new();
        for (key, value) in all {
            let values = stored_value::many_of(&value, self.is_wide(&view, &key));
            found.push((key, values));
        }
        Ok(found)
    }
    fn edge_property(&self, edge: &EdgeRef, key: &str) -> Outcome<Option<Object>> {
        let view = self.view()?;
        self.record(|reads| reads.edge(edge.id));
        let Some(id) = view.catalog().key(key) else { return Ok(None) };
        let value = view.edge_property(edge.id, id).map_err(unread)?;
        Ok((!value.is_null()).then(|| stored_value::read(&value, self.is_wide(&view, key))))
    }
    fn edge_properties(&self, edge: &EdgeRef) -> Outcome<Vec<(Arc<str>, Object)>> {
        let view = self.view()?;
        self.record(|reads| reads.edge(edge.id));
        let all = super::elements::named(&view, view.edge_properties(edge.id).map_err(unread)?);
        let mut found = Vec::new();
        for (key, value) in all {
            let value = stored_value::read(&value, self.is_wide(&view, &key));
            found.push((key, value));
        }
        Ok(found)
    }
    fn add_vertex(&self, labels: &[Arc<str>], id: Option<&Object>) -> Outcome<VertexId> {
        let mut properties = Vec::new();
        if let Some(id) = id {
            if self.vertex_by_id(id)?.is_some() {
                let message = format!("Vertex with id already exists: {id}");
                return Err(TraverseError::step("addV", message));
            }
            let named = labels.iter().map(|label| &**label);
            properties.push(self.own_id(id, OF_LABEL, named)?);
        }
        let transaction = self.writing()?;
        let labels = labels.iter().map(|label| transaction.label(label)).collect::<Result<Vec<_>, _>>();
        transaction.create_vertex(&labels.map_err(refused)?, properties).map_err(refused)
    }
    fn add_edge(
        &self,
        kind: &str,
        source: VertexId,
        target: VertexId,
        id: Option<&Object>,
    ) -> Outcome<EdgeRef> {
        let mut properties = Vec::new();
        if let Some(id) = id {
            if self.edge_by_id(id)?.is_some() {
                let message = format!("Edge with id already exists: {id}");
                return Err(TraverseError::step("addE", message));
            }
            properties.push(self.own_id(id, OF_TYPE, std::iter::once(kind))?);
        }
        let transaction = self.writing()?;
        let kind = transaction.edge_type(kind).map_err(refused)?;
        transaction.create_edge(source, target, kind, properties).map_err(refused)
    }
    fn set_property(&self, vertex: VertexId, key: &str, values: &[Kept]) -> Outcome<()> {
        let value = match values {
            [] => Value::Null,
            many => {
                // the first that cannot be kept is named
                for kept in many {
                    self.value(&kept.value)?;
                }
                stored_value::many_to_value(many).ok_or_else(|| {
                    TraverseError::step("property", format!("the properties of {key} cannot be kept"))
                })?
            }
        };
        let transaction = self.writing()?;
        let key = stored_value::key_for(transaction, key, values).map_err(refused)?;
        transaction.set_property(vertex, key, value).map_err(refused)
    }
    fn set_edge_property(&self, edge: &EdgeRef, key: &str, value: Option<&Object>) -> Outcome<()> {
        let values: Vec<Kept> = value.cloned().map(Kept::plain).into_iter().collect();
        let value = value.map_or(Ok(Value::Null), |value| self.value(value))?;
        let transaction = self.writing()?;
        let key = stored_value::key_for(transaction, key, &values).map_err(refused)?;
        transaction.set_edge_property(*edge, key, value).map_err(refused)
    }
    fn remove_vertex(&self, vertex: VertexId) -> Outcome<()> {
        self.writing()?.delete_vertex(vertex, true).map(|_| ()).map_err(refused)
    }
    fn remove_edge(&self, edge: &EdgeRef) -> Outcome<()> {
        self.writing()?.delete_edge(*edge).map(|_| ()).map_err(refused)
    }
    fn run_program(
        &self,
        name: &str,
        start: Option<VertexId>,
        parameters: &[(Object, Object)],
        each: &mut dyn FnMut(VertexId, Object) -> Outcome<()>,
    ) -> Outcome<()> {
        let procedure = format!("program.{name}");
        if self.may_call.as_ref().is_some_and(|may_call| !may_call(&procedure)) {
            let message = format!("this user may not call the procedure `{procedure}`");
            return Err(fault("Neo.ClientError.Security.Forbidden", message));
        }
        super::programs::run(
            &self.view()?,
            (self.transaction.as_ref(), self.cache.as_ref()),
            (name, start, parameters),
            each,
            &|| self.pause(0),
        )
    }
    fn pause(&self, waiting: usize) -> Outcome<()> {
        let bytes_max = self.bytes_max;
        if (waiting * TRAVERSER_BYTES) as u64 > bytes_max {
            let message = format!("{waiting} traversers are more than {bytes_max} bytes may hold");
            return Err(fault("Neo.TransientError.General.MemoryPoolOutOfMemoryError", message));
        }
        Ok(execute::watch::spend(UNITS_PER_PAUSE)?)
    }
    fn chance(&self) -> u64 {
        world::chance::Chance::system_seed()
    }
    fn elapsed_ns(&self) -> u64 {
        monotonic_ns()
    }
    fn now(&self) -> (i64, u32) {
        ((self.now_us / 1_000_000) as i64, (self.now_us % 1_000_000) as u32 * 1_000)
    }
}
