//! A client that uses transactions directly, and records what it reads as the read set asks for.

use super::{Client, Failure, Request, SPREAD, SetKind};
use crate::history::{ObjectId, Operation};
use model::schema::{IndexId, SchemaTarget};
use model::{Direction, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use std::ops::{Bound, Range};
use store::{LabelFilter, StoreError};
use transact::{Engine, IndexRequest, Mode, ReadSet, TransactError, Transaction};

/// Numbers of the names that objects are made of.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    list: LabelId,
    register: LabelId,
    set: LabelId,
    element: LabelId,
    member: LabelId,
    ranged: LabelId,
    loose: LabelId,
    holds: EdgeTypeId,
    id: KeyId,
    items: KeyId,
    value: KeyId,
    of: KeyId,
    at: KeyId,
}

/// A kind of read that a client does not record, so that its commits are not validated against it: a bug planted on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forgets {
    /// Properties of a vertex.
    Vertices,
    /// The neighbours of a vertex.
    Adjacency,
    /// A value looked up in an index.
    IndexValues,
    /// A range of an index.
    IndexRanges,
    /// All vertices with a label.
    Labels,
}

/// One client over an engine.
pub struct DirectClient {
    engine: Engine,
    layout: Layout,
    transaction: Option<Transaction>,
    gatekeeper: usize,
    forgets: Option<Forgets>,
}

impl Layout {
    /// Interns the names.
    ///
    /// # Errors
    /// When the engine has no room for more names.
    pub fn of(engine: &Engine) -> Result<Layout, TransactError> {
        let names = engine.store().names();
        let label = |name| names.intern_label(name);
        Ok(Layout {
            list: label("List")?,
            register: label("Register")?,
            set: label("Set")?,
            element: label("Element")?,
            member: label("Member")?,
            ranged: label("Ranged")?,
            loose: label("Loose")?,
            holds: names.intern_edge_type("HOLDS")?,
            id: names.intern_key("id")?,
            items: names.intern_key("items")?,
            value: names.intern_key("value")?,
            of: names.intern_key("of")?,
            at: names.intern_key("at")?,
        })
    }

    /// Makes the missing indexes, and then the objects with these numbers in one transaction, unless they exist.
    ///
    /// # Errors
    /// The engine failed; then none of the objects is known to exist.
    pub fn prepare(&self, engine: &Engine, objects: Range<ObjectId>) -> Result<(), TransactError> {
        let indexes = [
            (self.list, self.id),
            (self.register, self.id),
            (self.set, self.id),
            (self.member, self.of),
            (self.ranged, self.at),
        ];
        for (label, key) in indexes {
            let target = SchemaTarget::Vertices(label);
            engine.create_index(&IndexRequest {
                name: None,
                target,
                keys: vec![key],
                if_not_exists: true,
            })?;
        }
        if engine.snapshot().statistics().vertices_with_label(self.list) > 0 {
            return Ok(());
        }
        let transaction = engine.begin(Mode::Write);
        for id in objects {
            let id = (self.id, Value::Int(i64::from(id)));
            transaction
                .create_vertex(&[self.list], vec![id.clone(), (self.items, Value::list(Vec::new()))])?;
            transaction.create_vertex(&[self.register], vec![id.clone()])?;
            transaction.create_vertex(&[self.set], vec![id])?;
        }
        transaction.commit().map(|_| ())
    }
}

impl DirectClient {
    /// A client of this engine.
    pub fn new(engine: &Engine, layout: Layout) -> DirectClient {
        DirectClient { engine: engine.clone(), layout, transaction: None, gatekeeper: 0, forgets: None }
    }
    /// Commits through this gatekeeper.
    #[must_use]
    pub fn through(self, gatekeeper: usize) -> DirectClient {
        DirectClient { gatekeeper, ..self }
    }
    /// Does not record reads of one kind.
    #[must_use]
    pub fn forgetting(self, kind: Forgets) -> DirectClient {
        DirectClient { forgets: Some(kind), ..self }
    }
}

impl Client for DirectClient {
    fn begin(&mut self, reading: bool) -> Result<(), Failure> {
        let mode = if reading { Mode::Read } else { Mode::Write };
        self.transaction = Some(self.engine.begin_at(self.gatekeeper, mode));
        Ok(())
    }
    fn run(&mut self, request: Request) -> Result<Operation, Failure> {
        let transaction = self.transaction.as_ref().expect("requests come inside transactions");
        let step = Step { layout: &self.layout, transaction, forgets: self.forgets };
        let seen = step.run(request).map_err(failure)?;
        Ok(request.answered(seen))
    }
    fn commit(&mut self) -> Result<(), Failure> {
        let transaction = self.transaction.take().expect("a commit ends a transaction");
        transaction.commit().map(|_| ()).map_err(failure)
    }
    fn rollback(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            transaction.rollback();
        }
    }
}

struct Step<'a> {
    layout: &'a Layout,
    transaction: &'a Transaction,
    forgets: Option<Forgets>,
}

impl Step<'_> {
    fn run(&self, request: Request) -> Result<Vec<i64>, TransactError> {
        let (layout, transaction) = (self.layout, self.transaction);
        match request {
            Request::ReadList(id) => {
                let vertex = self.find(layout.list, id)?;
                self.integers(vertex, layout.items)
            }
            Request::Append(id, value) => {
                let vertex = self.find(layout.list, id)?;
                let mut items = self.integers(vertex, layout.items)?;
                items.push(value);
                let items = Value::list(items.into_iter().map(Value::Int).collect());
                transaction.set_property(vertex, layout.items, items)?;
                self.wrote()
            }
            Request::Read(id) => {
                let vertex = self.find(layout.register, id)?;
                self.integers(vertex, layout.value)
            }
            Request::Write(id, value) => {
                let vertex = self.find(layout.register, id)?;
                transaction.set_property(vertex, layout.value, Value::Int(value))?;
                self.wrote()
            }
            Request::ReadSet(id) => self.read_set(id),
            Request::Add(id, value) => self.add(id, value),
        }
    }

    /// Records a read, unless it is of the kind that is forgotten.
    fn note(&self, kind: Forgets, record: impl FnOnce(&ReadSet)) {
        if self.forgets != Some(kind) {
            record(self.transaction.reads());
        }
    }

    fn wrote(&self) -> Result<Vec<i64>, TransactError> {
        self.transaction.refresh()?;
        Ok(Vec::new())
    }

    fn index(&self, label: LabelId, key: KeyId) -> Result<IndexId, TransactError> {
        let found = self.transaction.snapshot().index_for(SchemaTarget::Vertices(label), &[key]);
        found.ok_or(TransactError::NotFound { what: "index" })
    }

    fn find(&self, label: LabelId, id: ObjectId) -> Result<VertexId, TransactError> {
        let (index, value) = (self.index(label, self.layout.id)?, Value::Int(i64::from(id)));
        self.note(Forgets::IndexValues, |reads| reads.index_equal(index, &value));
        let found = self.transaction.snapshot().seek(index, &[value])?;
        found.first().copied().ok_or(TransactError::NotFound { what: "object" })
    }

    /// The integers that a property is or holds.
    fn integers(&self, vertex: VertexId, key: KeyId) -> Result<Vec<i64>, TransactError> {
        self.note(Forgets::Vertices, |reads| reads.vertex(vertex));
        Ok(match self.transaction.snapshot().property(vertex, key)? {
            Value::List(items) => items.iter().filter_map(Value::as_int).collect(),
            other => other.as_int().into_iter().collect(),
        })
    }

    fn values(&self, vertices: Vec<VertexId>) -> Result<Vec<i64>, TransactError> {
        let mut found = Vec::new();
        for vertex in vertices {
            found.extend(self.integers(vertex, self.layout.value)?);
        }
        Ok(found)
    }

    fn add(&self, id: ObjectId, value: i64) -> Result<Vec<i64>, TransactError> {
        let (layout, transaction) = (self.layout, self.transaction);
        let of = (layout.of, Value::Int(i64::from(id)));
        let own = (layout.value, Value::Int(value));
        match SetKind::of(id) {
            SetKind::Hub => {
                let hub = self.find(layout.set, id)?;
                let element = transaction.create_vertex(&[layout.element], vec![own])?;
                transaction.create_edge(hub, element, layout.holds, Vec::new())?;
            }
            SetKind::Equal => {
                transaction.create_vertex(&[layout.member], vec![of, own])?;
            }
            SetKind::Range => {
                let at = (layout.at, Value::Int(i64::from(id) * SPREAD + value));
                transaction.create_vertex(&[layout.ranged], vec![at, own])?;
            }
            SetKind::Scan => {
                transaction.create_vertex(&[layout.loose], vec![of, own])?;
            }
        }
        self.wrote()
    }

    fn read_set(&self, id: ObjectId) -> Result<Vec<i64>, TransactError> {
        let layout = self.layout;
        let snapshot = self.transaction.snapshot();
        match SetKind::of(id) {
            SetKind::Hub => {
                let hub = self.find(layout.set, id)?;
                self.note(Forgets::Adjacency, |reads| reads.adjacency(hub, &[layout.holds], Direction::Out));
                let view = snapshot.adjacency(&[layout.holds], Direction::Out);
                let mut scratch = Vec::new();
                let neighbours = view.neighbours(hub.dense(), &mut scratch)?;
                self.values(neighbours.iter().map(|dense| VertexId::from_dense(*dense)).collect())
            }
            SetKind::Equal => {
                let (index, value) = (self.index(layout.member, layout.of)?, Value::Int(i64::from(id)));
                self.note(Forgets::IndexValues, |reads| reads.index_equal(index, &value));
                self.values(snapshot.seek(index, &[value])?)
            }
            SetKind::Range => {
                let index = self.index(layout.ranged, layout.at)?;
                let from = Value::Int(i64::from(id) * SPREAD);
                let to = Value::Int((i64::from(id) + 1) * SPREAD);
                let range = (Bound::Included(from.clone()), Bound::Excluded(to.clone()));
                self.note(Forgets::IndexRanges, |reads| reads.index_range(index, range.0, range.1));
                let found = snapshot.seek_range(index, Bound::Included(&from), Bound::Excluded(&to))?;
                self.values(found.collect::<Result<_, _>>()?)
            }
            SetKind::Scan => {
                self.note(Forgets::Labels, |reads| reads.scan(Some(layout.loose)));
                let filter = LabelFilter::Has(layout.loose);
                let mut found = Vec::new();
                for chunk in snapshot.scan_chunks(&filter) {
                    snapshot.scan_chunk(chunk, &filter, &mut found)?;
                }
                let mut members = Vec::new();
                for vertex in found {
                    if self.integers(vertex, layout.of)? == [i64::from(id)] {
                        members.push(vertex);
                    }
                }
                self.values(members)
            }
        }
    }
}

fn failure(error: TransactError) -> Failure {
    let text = format!("{}: {error}", error.code());
    match error {
        TransactError::Conflict { .. } | TransactError::Constraint { .. } => Failure::Refused(text),
        // The disk is gone, and what was never read from it cannot be read now: nothing was handed to the log.
        TransactError::Store(StoreError::Source(_)) => Failure::Refused(text),
        TransactError::Unknown { .. } => Failure::Unknown(text),
        // The log says that nothing of it is there, and is held to it.
        TransactError::Durable(_) => Failure::Refused(text),
        _ => Failure::Broken(text),
    }
}
