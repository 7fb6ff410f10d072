//! Runs a route: block by block, each look-up extends the rows of a block by its results.

use super::block::Block;
use super::focus::{Foci, index};
use super::pattern::{Atom, Join, SlotNo};
use super::route::Lookup;
use crate::StandingError;
use crate::evaluate::Evaluator;
use crate::limits::BLOCK_ROWS;
use crate::row::{GroupKey, Row, is_same};
use crate::shape::Attribute;
use crate::table::HashMap;
use crate::view::{Timestamp, Touched, View};
use crate::weight::Weight;
use model::{Direction, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use plan::expr::LabelExpr;
use std::cell::Cell;
use std::sync::Arc;
use store::{Catalog, LabelFilter};

/// The numbers of an atom's names, as far as the graph knows them by now.
#[derive(Debug)]
pub(crate) enum Resolved {
    Vertex(LabelFilter),
    /// `None` where no such type exists.
    Edge(Option<Vec<EdgeTypeId>>),
    Property(Option<KeyId>),
    Other,
}

/// True for no label set.
fn nothing() -> LabelFilter {
    LabelFilter::Or(Vec::new())
}

fn filter(labels: &LabelExpr, catalog: &Catalog) -> LabelFilter {
    match labels {
        LabelExpr::Any => LabelFilter::Any,
        LabelExpr::Has(name) => catalog.label(name).map_or_else(nothing, LabelFilter::Has),
        LabelExpr::Some => {
            let labels = catalog.names().labels().len() as u16;
            LabelFilter::Or((0..labels).map(|label| LabelFilter::Has(LabelId(label))).collect())
        }
        LabelExpr::And(a, b) => LabelFilter::And(vec![filter(a, catalog), filter(b, catalog)]),
        LabelExpr::Or(a, b) => LabelFilter::Or(vec![filter(a, catalog), filter(b, catalog)]),
        LabelExpr::Not(a) => LabelFilter::Not(Box::new(filter(a, catalog))),
    }
}

impl<V: Copy> Atom<V> {
    /// Binds its names.
    pub(crate) fn resolve(&self, catalog: &Catalog) -> Resolved {
        match self {
            Atom::Vertex { labels, .. } => Resolved::Vertex(filter(labels, catalog)),
            Atom::Edge { types, .. } if types.is_empty() => Resolved::Edge(Some(Vec::new())),
            Atom::Edge { types, .. } => {
                let known: Vec<EdgeTypeId> =
                    types.iter().filter_map(|name| catalog.edge_type(name)).collect();
                Resolved::Edge((!known.is_empty()).then_some(known))
            }
            Atom::Attribute { attribute: Attribute::Property(key), .. } => {
                Resolved::Property(catalog.key(key))
            }
            Atom::Attribute { .. } => Resolved::Other,
        }
    }
}

/// Which of a vertex's relations report its birth and its death. A change is completed by the relations before it as they were and those after it as
/// they are: so of all that come with a vertex only the first finds anything, and of all that go with it the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lives {
    births: bool,
    deaths: bool,
}

impl Lives {
    /// For each atom.
    pub fn of<V: Copy + PartialEq>(atoms: &[Atom<V>]) -> Vec<Lives> {
        let of = |(number, atom): (usize, &Atom<V>)| {
            let vertex = match atom {
                Atom::Vertex { vertex, .. } | Atom::Attribute { of: vertex, is_vertex: true, .. } => *vertex,
                _ => return Lives { births: true, deaths: true },
            };
            let needs = |other: &Atom<V>| match other {
                Atom::Vertex { vertex: other, .. } | Atom::Attribute { of: other, .. } => *other == vertex,
                Atom::Edge { from, to, .. } => *from == vertex || *to == vertex,
            };
            Lives {
                births: !atoms[..number].iter().any(needs),
                deaths: !atoms[number + 1..].iter().any(needs),
            }
        };
        atoms.iter().enumerate().map(of).collect()
    }
}

/// The changes of one commit to the relation of an atom: bindings of its variables, in their order, come (+1) and go (-1).
pub(crate) fn changes_of(
    atom: &Atom<SlotNo>,
    names: &Resolved,
    lives: Lives,
    foci: &Foci,
    view: &View,
    timestamp: Timestamp,
    touched: &Touched,
) -> Result<Vec<(Row, isize)>, StandingError> {
    let before = timestamp - 1;
    let mut found = Vec::new();
    let vertices = if lives.births { &touched.vertices } else { &touched.known_vertices };
    match (atom, names) {
        (Atom::Vertex { .. }, Resolved::Vertex(filter)) => {
            for vertex in vertices {
                let is_told = lives.deaths || view.labels(*vertex, timestamp)?.is_some();
                match (view.passes(*vertex, filter, before)?, view.passes(*vertex, filter, timestamp)?) {
                    (false, true) => found.push((Row::new([Value::Vertex(*vertex)]), 1)),
                    (true, false) if is_told => found.push((Row::new([Value::Vertex(*vertex)]), -1)),
                    _ => {}
                }
            }
        }
        (Atom::Edge { direction, from, to, .. }, Resolved::Edge(Some(types))) => {
            let moved = touched.moved.iter().filter(|(edge, _)| is_of(*edge, types));
            for (edge, diff) in moved {
                let ends =
                    ways(edge, *direction).filter(|(a, b)| foci.admits(*from, *a) && foci.admits(*to, *b));
                found.extend(ends.map(|(a, b)| {
                    (Row::new([Value::Edge(Arc::new(*edge)), Value::Vertex(a), Value::Vertex(b)]), *diff)
                }));
            }
        }
        (Atom::Attribute { is_vertex, attribute, .. }, names) => {
            let mut note = |entity: Value| {
                let (old, new) = (
                    attribute_of(&entity, attribute, names, view, before)?,
                    attribute_of(&entity, attribute, names, view, timestamp)?,
                );
                if !same(&old, &new) && (lives.deaths || new.is_some()) {
                    found.extend(old.map(|old| (Row::new([entity.clone(), old]), -1)));
                    found.extend(new.map(|new| (Row::new([entity.clone(), new]), 1)));
                }
                Ok::<_, StandingError>(())
            };
            let wants = |key: &KeyId| match (attribute, names) {
                (Attribute::Property(_), Resolved::Property(own)) => *own == Some(*key),
                (Attribute::Content, _) => true,
                _ => false,
            };
            if *is_vertex {
                let mut vertices = vertices.clone();
                let set = touched.properties.iter().filter(|(_, key)| wants(key)).map(|(vertex, _)| *vertex);
                vertices.extend(set.filter(|vertex| lives.births || !view.is_born_at(*vertex, timestamp)));
                vertices.sort_unstable();
                vertices.dedup();
                vertices.into_iter().try_for_each(|vertex| note(Value::Vertex(vertex)))?;
            } else {
                let mut edges = touched.edges.clone();
                edges.extend(
                    touched.edge_properties.iter().filter(|(_, key)| wants(key)).map(|(edge, _)| *edge),
                );
                edges.sort_unstable();
                edges.dedup();
                edges.into_iter().try_for_each(|edge| note(Value::Edge(Arc::new(edge))))?;
            }
        }
        _ => {}
    }
    Ok(found)
}

fn same(a: &Option<Value>, b: &Option<Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => is_same(a, b),
        (None, None) => true,
        _ => false,
    }
}

fn is_of(edge: EdgeRef, types: &[EdgeTypeId]) -> bool {
    types.is_empty() || types.contains(&edge.id.edge_type())
}

/// The attribute of a vertex or edge; none where the entity does not exist.
fn attribute_of(
    entity: &Value,
    attribute: &Attribute,
    names: &Resolved,
    view: &View,
    timestamp: Timestamp,
) -> Result<Option<Value>, StandingError> {
    let key = match names {
        Resolved::Property(key) => *key,
        _ => None,
    };
    match entity {
        Value::Vertex(vertex) => {
            let Some(labels) = view.labels(*vertex, timestamp)? else { return Ok(None) };
            Ok(Some(match attribute {
                Attribute::Property(_) => match key {
                    Some(key) => view.property(*vertex, key, timestamp)?,
                    None => Value::Null,
                },
                Attribute::Labels => view.label_names(labels),
                Attribute::Content => {
                    Value::list(vec![view.label_names(labels), view.properties(*vertex, timestamp)?])
                }
            }))
        }
        Value::Edge(edge) => {
            if !view.has_edge(**edge, timestamp)? {
                return Ok(None);
            }
            let types = || Value::list(vec![Value::String(view.type_name(edge.id.edge_type()))]);
            Ok(Some(match attribute {
                Attribute::Property(_) => match key {
                    Some(key) => view.edge_property(edge.id, key, timestamp)?,
                    None => Value::Null,
                },
                Attribute::Labels => types(),
                Attribute::Content => Value::list(vec![types(), view.edge_properties(edge.id, timestamp)?]),
            }))
        }
        _ => Ok(None),
    }
}

/// Rows with multiplicities, by some of their columns.
type Rows = HashMap<GroupKey, HashMap<Row, isize>>;

/// The rows of the input so far, indexed as routes look them up.
#[derive(Default)]
pub(crate) struct InputIndex {
    by: Vec<(Vec<usize>, Rows)>,
}

impl InputIndex {
    /// An index for each set of columns by which the routes of a join look rows up.
    pub fn for_join(join: &Join) -> InputIndex {
        let mut index = InputIndex::default();
        for lookup in join.routes.iter().flat_map(|route| &route.lookups) {
            if let Lookup::Input(pairs) = lookup {
                let columns = columns_of(pairs);
                if !index.by.iter().any(|(other, _)| *other == columns) {
                    index.by.push((columns, HashMap::default()));
                }
            }
        }
        index
    }
    /// Takes up a change of the input.
    pub fn apply(&mut self, row: &Row, diff: isize) {
        for (columns, rows) in &mut self.by {
            let key = GroupKey(row.pick(columns));
            let held = rows.entry(key.clone()).or_default();
            let count = held.entry(row.clone()).or_insert(0);
            *count += diff;
            if *count == 0 {
                held.remove(row);
            }
            if held.is_empty() {
                rows.remove(&key);
            }
        }
    }
    fn rows<'i>(&'i self, columns: &[usize], key: &GroupKey) -> impl Iterator<Item = (&'i Row, &'i isize)> {
        let found = self.by.iter().find(|(other, _)| other == columns);
        found.and_then(|(_, rows)| rows.get(key)).into_iter().flatten()
    }
}

impl Weight for InputIndex {
    fn bytes_behind(&self) -> usize {
        self.by.iter().map(|(_, rows)| rows.bytes_behind()).sum()
    }
}

fn columns_of(pairs: &[(usize, SlotNo)]) -> Vec<usize> {
    pairs.iter().map(|(column, _)| *column).collect()
}

/// One change being completed.
pub(crate) struct Run<'a> {
    pub join: &'a Join,
    pub names: &'a [Resolved],
    pub view: &'a View,
    pub input: &'a InputIndex,
    pub foci: &'a Foci,
    pub conditions: &'a [Evaluator],
    pub timestamp: Timestamp,
    /// Which relation changed.
    pub relation: usize,
    /// Set where a condition failed on a row, which goes on: it may never become a row of the answer.
    pub doubts: &'a Cell<bool>,
}

/// Called with each row of the answer that comes or goes.
pub(crate) type Emit<'e> = dyn FnMut(Row, isize) + 'e;

impl Run<'_> {
    /// Completes these changes of the relation.
    pub fn complete(&self, changes: &[(Row, isize)], emit: &mut Emit<'_>) -> Result<(), StandingError> {
        let width = self.join.layout.len() + self.join.constants.len();
        let mut empty = vec![Value::Null; self.join.layout.len()];
        empty.extend_from_slice(&self.join.constants);
        let slots: Vec<SlotNo> = match self.relation.checked_sub(1) {
            Some(atom) => self.join.atoms[atom].variables(),
            None => (0..self.join.input_width).collect(),
        };
        for part in changes.chunks(BLOCK_ROWS) {
            let mut block = Block::new(width);
            for (row, diff) in part {
                let bound = slots.iter().copied().zip(row.values().iter().cloned());
                // A loop binds one variable twice: (a)-[r]->(a) only where both are the same.
                if agree(&slots, row.values()) {
                    block.push(&empty, *diff, bound);
                }
            }
            self.go(0, &mut block, emit)?;
        }
        Ok(())
    }
    /// When a relation is read: those before the changed one as they were.
    fn timestamp_of(&self, atom: usize) -> Timestamp {
        if atom + 1 > self.relation { self.timestamp } else { self.timestamp - 1 }
    }
    fn go(&self, mut depth: usize, block: &mut Block, emit: &mut Emit<'_>) -> Result<(), StandingError> {
        let lookups = &self.join.routes[self.relation].lookups;
        self.view.count(0)?;
        while block.len() > 0
            && let Some(lookup) = lookups.get(depth)
            && self.narrow(lookup, block)?
        {
            depth += 1;
        }
        if block.len() == 0 {
            return Ok(());
        }
        let Some(lookup) = lookups.get(depth) else {
            let width = self.join.layout.len();
            self.view.count(block.len())?;
            (0..block.len()).for_each(|row| {
                emit(Row::new(block.row(row)[..width].iter().cloned()), block.diffs[row]);
            });
            return Ok(());
        };
        let mut next = Block::new(block.width);
        for row in 0..block.len() {
            let before = next.len();
            self.extend(lookup, block.row(row), block.diffs[row], &mut next)?;
            self.view.work(1 + next.len() - before)?;
            if next.len() >= BLOCK_ROWS {
                self.go(depth + 1, &mut next, emit)?;
                next.clear();
            }
        }
        self.go(depth + 1, &mut next, emit)
    }
    /// A look-up that finds at most one row for each works on the block itself; false where it may find more.
    fn narrow(&self, lookup: &Lookup, block: &mut Block) -> Result<bool, StandingError> {
        self.view.work(block.len())?;
        match lookup {
            Lookup::Condition(condition) => {
                let reads = &self.join.conditions[*condition].reads;
                let rows = (0..block.len()).map(|row| block.row(row));
                let (passing, fails) = self.conditions[*condition].sift(reads, rows)?;
                self.doubts.set(self.doubts.get() || fails);
                let (mut passing, mut rows) = (passing.into_iter().peekable(), 0..);
                block
                    .retain(|_| Ok(passing.next_if_eq(&rows.next().expect("rows have numbers")).is_some()))?;
            }
            Lookup::Check(atom) => {
                let (Atom::Vertex { vertex, .. }, Resolved::Vertex(filter)) =
                    (&self.join.atoms[*atom], &self.names[*atom])
                else {
                    unreachable!("only vertices are checked")
                };
                let timestamp = self.timestamp_of(*atom);
                block.retain(|row| match row[*vertex] {
                    Value::Vertex(vertex) => Ok(self.view.passes(vertex, filter, timestamp)?),
                    _ => Ok(false),
                })?;
            }
            Lookup::Attribute(atom) => {
                let Atom::Attribute { of, attribute, column, .. } = &self.join.atoms[*atom] else {
                    unreachable!("only attributes are read")
                };
                let (names, timestamp) = (&self.names[*atom], self.timestamp_of(*atom));
                block.retain(|row| {
                    let value = attribute_of(&row[*of], attribute, names, self.view, timestamp)?;
                    Ok(value.map(|value| row[*column] = value).is_some())
                })?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
    fn extend(
        &self,
        lookup: &Lookup,
        row: &[Value],
        diff: isize,
        next: &mut Block,
    ) -> Result<(), StandingError> {
        match lookup {
            Lookup::Scan(atom) => {
                let (Atom::Vertex { vertex, .. }, Resolved::Vertex(filter)) =
                    (&self.join.atoms[*atom], &self.names[*atom])
                else {
                    unreachable!("only vertices are scanned")
                };
                for found in self.view.scan(filter, self.timestamp_of(*atom))? {
                    next.push(row, diff, [(*vertex, Value::Vertex(found))]);
                }
            }
            Lookup::Seek { vertex, attribute, value } => {
                self.seek(*vertex, *attribute, &row[*value], row, diff, next)?
            }
            Lookup::Edge(atom) => {
                let Atom::Edge { edge, from, to, direction, .. } = &self.join.atoms[*atom] else {
                    unreachable!("only edges are looked up so")
                };
                let (Resolved::Edge(Some(types)), Value::Edge(edge)) = (&self.names[*atom], &row[*edge])
                else {
                    return Ok(());
                };
                if is_of(**edge, types) && self.view.has_edge(**edge, self.timestamp_of(*atom))? {
                    for (here, there) in ways(edge, *direction) {
                        self.bind_ends(row, diff, &[(*from, here), (*to, there)], next);
                    }
                }
            }
            Lookup::Expand { atom, backwards } => self.expand(*atom, *backwards, row, diff, next)?,
            Lookup::Input(pairs) => {
                let key = GroupKey(Row::new(pairs.iter().map(|(_, slot)| row[*slot].clone())));
                for (found, count) in self.input.rows(&columns_of(pairs), &key) {
                    next.push(row, diff * count, found.values().iter().cloned().enumerate());
                }
            }
            Lookup::Check(_) | Lookup::Attribute(_) | Lookup::Condition(_) => {
                unreachable!("they narrow blocks")
            }
        }
        Ok(())
    }
    fn seek(
        &self,
        vertex_atom: usize,
        attribute: usize,
        value: &Value,
        row: &[Value],
        diff: isize,
        next: &mut Block,
    ) -> Result<(), StandingError> {
        let (Atom::Vertex { vertex, labels }, Resolved::Vertex(filter)) =
            (&self.join.atoms[vertex_atom], &self.names[vertex_atom])
        else {
            unreachable!("only vertices are sought")
        };
        let (Atom::Attribute { column, .. }, Resolved::Property(Some(key))) =
            (&self.join.atoms[attribute], &self.names[attribute])
        else {
            return Ok(());
        };
        if value.is_null() {
            return Ok(());
        }
        // The two relations may be read at different timestamps.
        let (timestamp, value_timestamp) = (self.timestamp_of(vertex_atom), self.timestamp_of(attribute));
        let index = index(self.view.base_catalog(), labels, *key);
        for found in self.view.candidates(filter, index, *key, value, timestamp)? {
            if !self.view.passes(found, filter, timestamp)?
                || self.view.labels(found, value_timestamp)?.is_none()
            {
                continue;
            }
            let held = self.view.property(found, *key, value_timestamp)?;
            if model::compare::equivalent(&held, value) {
                next.push(row, diff, [(*vertex, Value::Vertex(found)), (*column, held)]);
            }
        }
        Ok(())
    }
    fn expand(
        &self,
        atom: usize,
        backwards: bool,
        row: &[Value],
        diff: isize,
        next: &mut Block,
    ) -> Result<(), StandingError> {
        let (Atom::Edge { edge, from, to, direction, .. }, Resolved::Edge(types)) =
            (&self.join.atoms[atom], &self.names[atom])
        else {
            unreachable!("only edges are expanded")
        };
        let Some(types) = types else { return Ok(()) };
        let (near, far, direction) =
            if backwards { (*to, *from, direction.reversed()) } else { (*from, *to, *direction) };
        let Value::Vertex(here) = row[near] else { return Ok(()) };
        let into = match &row[far] {
            Value::Vertex(there) => Some(*there),
            Value::Null if near == far => Some(here),
            Value::Null => None,
            _ => return Ok(()),
        };
        Ok(self.view.edges(here, types, direction, self.timestamp_of(atom), |found| {
            let there = if found.source == here { found.target } else { found.source };
            if into.is_none_or(|into| into == there) && self.foci.admits(far, there) {
                let bound = [(*edge, Value::Edge(Arc::new(found))), (far, Value::Vertex(there))];
                next.push(row, diff, bound);
            }
        })?)
    }
    /// The row with its ends, where it does not say otherwise already.
    fn bind_ends(&self, row: &[Value], diff: isize, ends: &[(SlotNo, VertexId)], next: &mut Block) {
        let holds = |(slot, vertex): &(SlotNo, VertexId)| match &row[*slot] {
            Value::Null => true,
            Value::Vertex(other) => other == vertex,
            _ => false,
        };
        let loops = ends[0].0 != ends[1].0 || ends[0].1 == ends[1].1;
        if loops && ends.iter().all(holds) {
            next.push(row, diff, ends.iter().map(|(slot, vertex)| (*slot, Value::Vertex(*vertex))));
        }
    }
}

/// The ends of an edge as met in this direction: a loop once, any other in both directions twice.
fn ways(edge: &EdgeRef, direction: Direction) -> impl Iterator<Item = (VertexId, VertexId)> {
    let is_back_new = direction == Direction::In || edge.source != edge.target;
    let forth = (direction != Direction::In).then_some((edge.source, edge.target));
    let back = (direction != Direction::Out && is_back_new).then_some((edge.target, edge.source));
    forth.into_iter().chain(back)
}

/// Do slots that occur twice get the same value?
fn agree(slots: &[SlotNo], values: &[Value]) -> bool {
    (1..slots.len()).all(|later| {
        let earlier = slots[..later].iter().position(|slot| *slot == slots[later]);
        earlier.is_none_or(|earlier| model::compare::equivalent(&values[earlier], &values[later]))
    })
}
