//! The graph as relations of a Datalog program: labels, edge types, properties; and what a commit changed of them.
//!
//! They are read from the view, base and delta, where the rules ask for them: neighbours by vertex, vertices by label, and by value where there
//! is an index. Two edges of one type between the same vertices are one fact that goes with the second.

use crate::StandingError;
use crate::view::{Tick, Touched, View};
use ::rules::{Change, RulesError, Source, Word, Words};
use datalog::{GraphRelation, Program, RelationNo, Source as Origin};
use model::schema::{IndexId, SchemaTarget};
use model::{ChunkNo, Direction, EdgeRef, EdgeTypeId, KeyId, Value, VertexId};
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;
use store::{AdjacencyView, LabelFilter};

/// A relation as the graph of a view knows it.
enum Known {
    /// No relation of the graph, or one of a name that the graph has not yet.
    Nothing,
    Label(LabelFilter),
    VertexProperty(LabelFilter, KeyId, Option<IndexId>),
    EdgeType(EdgeTypeId, [OnceCell<AdjacencyView>; 2]),
    EdgeProperty(EdgeTypeId, KeyId),
}

/// The facts of the graph at a tick, for one program.
pub(crate) struct GraphFacts<'a> {
    view: &'a View,
    tick: Tick,
    relations: Vec<Known>,
    /// By relation: can it be asked by its second column?
    serves_second: Vec<bool>,
    /// By relation: where vertices are that it may begin with.
    chunks: Vec<OnceCell<Vec<ChunkNo>>>,
    scratch: RefCell<Vec<u32>>,
}

fn lost(error: impl std::fmt::Display) -> RulesError {
    RulesError::Source(error.to_string())
}

/// The ends of an edge as the columns of a fact, seen from a column.
fn direction(column: usize) -> Direction {
    if column == 0 { Direction::Out } else { Direction::In }
}

impl<'a> GraphFacts<'a> {
    pub fn new(view: &'a View, tick: Tick, program: &Program) -> GraphFacts<'a> {
        let known = |relation: &datalog::Relation| match &relation.source {
            Origin::Graph(graph) => known(view, graph).unwrap_or(Known::Nothing),
            _ => Known::Nothing,
        };
        let serves = |relation: &datalog::Relation| match &relation.source {
            Origin::Graph(GraphRelation::VertexProperty(label, key)) => {
                index(view, label.as_ref(), key).is_some()
            }
            Origin::Graph(GraphRelation::EdgeType(_) | GraphRelation::EdgeProperty(..)) => true,
            _ => false,
        };
        GraphFacts {
            view,
            tick,
            relations: program.relations.iter().map(known).collect(),
            serves_second: program.relations.iter().map(serves).collect(),
            chunks: program.relations.iter().map(|_| OnceCell::new()).collect(),
            scratch: RefCell::default(),
        }
    }
    fn passes(&self, vertex: VertexId, filter: &LabelFilter) -> Result<bool, RulesError> {
        self.view.passes(vertex, filter, self.tick).map_err(lost)
    }
    /// Vertices at the other ends of edges of a type, each once.
    fn others(
        &self,
        (edge_type, ways): (EdgeTypeId, &[OnceCell<AdjacencyView>; 2]),
        (column, vertex): (usize, VertexId),
        found: &mut dyn FnMut(VertexId) -> Result<(), RulesError>,
    ) -> Result<(), RulesError> {
        let mut scratch = self.scratch.borrow_mut();
        if self.view.is_as_based(vertex) {
            let way = ways[column].get_or_init(|| self.view.adjacency(edge_type, direction(column)));
            let mut last = None;
            for other in way.neighbours(vertex.dense(), &mut scratch).map_err(lost)? {
                // They are in order.
                if last.replace(*other) != Some(*other) {
                    found(VertexId::from_dense(*other))?;
                }
            }
            return Ok(());
        }
        scratch.clear();
        let other = |edge: EdgeRef| if column == 0 { edge.target } else { edge.source };
        let each = |edge: EdgeRef| scratch.push(other(edge).dense());
        self.view.edges(vertex, &[edge_type], direction(column), self.tick, each).map_err(lost)?;
        scratch.sort_unstable();
        scratch.dedup();
        scratch.iter().try_for_each(|other| found(VertexId::from_dense(*other)))
    }
    /// Ends and value of the edges of a type at a vertex, each fact once.
    fn valued(
        &self,
        (edge_type, key): (EdgeTypeId, KeyId),
        (column, vertex): (usize, VertexId),
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<(), RulesError> {
        let mut edges: Vec<EdgeRef> = Vec::new();
        let each = |edge| edges.push(edge);
        self.view.edges(vertex, &[edge_type], direction(column), self.tick, each).map_err(lost)?;
        let mut facts: Vec<[Word; 3]> = Vec::with_capacity(edges.len());
        for edge in edges {
            let value = self.view.edge_property(edge.id, key, self.tick).map_err(lost)?;
            if !value.is_null() {
                facts.push([words.vertex(edge.source)?, words.vertex(edge.target)?, words.word(&value)?]);
            }
        }
        facts.sort_unstable();
        facts.dedup();
        found.extend(facts.as_flattened());
        Ok(())
    }
    /// The property of a vertex that passes the filter, unless it has none.
    fn property(
        &self,
        vertex: VertexId,
        filter: &LabelFilter,
        key: KeyId,
    ) -> Result<Option<Value>, RulesError> {
        if !self.passes(vertex, filter)? {
            return Ok(None);
        }
        let value = self.view.property(vertex, key, self.tick).map_err(lost)?;
        Ok(Some(value).filter(|value| !value.is_null()))
    }
    /// Facts of `Label.key(vertex, value)` by value.
    fn by_value(
        &self,
        (filter, key, index): (&LabelFilter, KeyId, Option<IndexId>),
        word: Word,
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<(), RulesError> {
        let value = words.value(word);
        // What equals nothing, such as NaN, no index finds; here it is one value, as in every other look-up.
        let index = index.filter(|_| model::compare::equals(&value, &value) == Some(true));
        for vertex in self.view.candidates(filter, index, key, &value, self.tick).map_err(lost)? {
            // 1 and 1.0 are two values here, and one to an index.
            let own = self.property(vertex, filter, key)?;
            if own.is_some_and(|own| words.known(&own) == Some(word)) {
                found.extend([words.vertex(vertex)?, word]);
            }
        }
        Ok(())
    }
    fn words_of(
        &self,
        vertices: Vec<VertexId>,
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<(), RulesError> {
        vertices.into_iter().try_for_each(|vertex| words.vertex(vertex).map(|word| found.push(word)))
    }
}

/// The names of a relation, resolved; none where the graph lacks one.
fn known(view: &View, relation: &GraphRelation) -> Option<Known> {
    let catalog = view.newest().catalog();
    let filter = |label: Option<&Arc<str>>| match label {
        None => Some(LabelFilter::Any),
        Some(name) => catalog.label(name).map(LabelFilter::Has),
    };
    Some(match relation {
        GraphRelation::Label(label) => Known::Label(filter(Some(label))?),
        GraphRelation::VertexProperty(label, key) => {
            let index = index(view, label.as_ref(), key);
            Known::VertexProperty(filter(label.as_ref())?, catalog.key(key)?, index)
        }
        GraphRelation::EdgeType(name) => Known::EdgeType(catalog.edge_type(name)?, Default::default()),
        GraphRelation::EdgeProperty(name, key) => {
            Known::EdgeProperty(catalog.edge_type(name)?, catalog.key(key)?)
        }
    })
}

/// The index of a property.
fn index(view: &View, label: Option<&Arc<str>>, key: &Arc<str>) -> Option<IndexId> {
    let catalog = view.base_catalog();
    let target = SchemaTarget::Vertices(catalog.label(label?)?);
    catalog.index_for(target, &[catalog.key(key)?])
}

impl Source for GraphFacts<'_> {
    fn serves(&self, relation: RelationNo, column: usize) -> bool {
        column == 0 || (column == 1 && self.serves_second[relation])
    }
    fn size(&self, relation: RelationNo) -> usize {
        let statistics = self.view.newest().statistics();
        let count = match &self.relations[relation] {
            Known::Nothing => 0,
            Known::Label(filter) | Known::VertexProperty(filter, ..) => statistics.vertices_matching(filter),
            Known::EdgeType(edge_type, _) | Known::EdgeProperty(edge_type, _) => {
                statistics.edges_of_type(*edge_type)
            }
        };
        usize::try_from(count).unwrap_or(usize::MAX)
    }
    fn keys(
        &self,
        relation: RelationNo,
        part: usize,
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<bool, RulesError> {
        let filter = match &self.relations[relation] {
            Known::Nothing => return Ok(false),
            Known::Label(filter) | Known::VertexProperty(filter, ..) => filter,
            Known::EdgeType(..) | Known::EdgeProperty(..) => &LabelFilter::Any,
        };
        let chunks = self.chunks[relation].get_or_init(|| self.view.scan_chunks(filter));
        let (chunk, mut vertices) = (chunks.get(part).copied(), Vec::new());
        self.view.scan_chunk(chunk, filter, self.tick, &mut vertices).map_err(lost)?;
        self.words_of(vertices, words, found)?;
        Ok(chunk.is_some())
    }
    fn read(
        &self,
        relation: RelationNo,
        (column, word): (usize, Word),
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<(), RulesError> {
        if let (Known::VertexProperty(filter, key, index), 1) = (&self.relations[relation], column) {
            return self.by_value((filter, *key, *index), word, words, found);
        }
        let Some(vertex) = words.as_vertex(word) else { return Ok(()) };
        match &self.relations[relation] {
            Known::Nothing => Ok(()),
            Known::Label(filter) => {
                found.extend(self.passes(vertex, filter)?.then_some(word));
                Ok(())
            }
            Known::VertexProperty(filter, key, _) => {
                if let Some(value) = self.property(vertex, filter, *key)? {
                    found.extend([word, words.word(&value)?]);
                }
                Ok(())
            }
            Known::EdgeType(edge_type, ways) => {
                self.others((*edge_type, ways), (column, vertex), &mut |other| {
                    let other = words.vertex(other)?;
                    found.extend(if column == 0 { [word, other] } else { [other, word] });
                    Ok(())
                })
            }
            Known::EdgeProperty(edge_type, key) => {
                self.valued((*edge_type, *key), (column, vertex), words, found)
            }
        }
    }
    fn holds(&self, relation: RelationNo, fact: &[Word], words: &mut Words) -> Result<bool, RulesError> {
        let Some(vertex) = words.as_vertex(fact[0]) else { return Ok(false) };
        match &self.relations[relation] {
            Known::Nothing => Ok(false),
            Known::Label(filter) => self.passes(vertex, filter),
            Known::VertexProperty(filter, key, _) => {
                let value = self.property(vertex, filter, *key)?;
                Ok(value.is_some_and(|value| words.known(&value) == Some(fact[1])))
            }
            Known::EdgeType(edge_type, _) => {
                let Some(other) = words.as_vertex(fact[1]) else { return Ok(false) };
                self.view.has_between(vertex, other, *edge_type, self.tick, |_| Ok(true)).map_err(lost)
            }
            Known::EdgeProperty(edge_type, key) => {
                let Some(other) = words.as_vertex(fact[1]) else { return Ok(false) };
                let is_it = |edge| {
                    let value = self.view.edge_property(edge, *key, self.tick)?;
                    Ok(!value.is_null() && words.known(&value) == Some(fact[2]))
                };
                self.view.has_between(vertex, other, *edge_type, self.tick, is_it).map_err(lost)
            }
        }
    }
}

/// What a commit changed of a relation: facts that were none before its tick and are now, and the other way round, each once.
pub(crate) fn changes(
    program: &Program,
    relation: RelationNo,
    (view, tick): (&View, Tick),
    touched: &Touched,
    found: &mut Vec<Change>,
) -> Result<(), StandingError> {
    let names = GraphFacts::new(view, tick, program);
    let mut note = |fact: Vec<Value>, was: bool, is: bool| {
        if was != is {
            found.push(Change { relation, fact, comes: is });
        }
    };
    match &names.relations[relation] {
        Known::Nothing => {}
        Known::Label(filter) => {
            for vertex in &touched.vertices {
                let at = |tick| view.passes(*vertex, filter, tick);
                note(vec![Value::Vertex(*vertex)], at(tick - 1)?, at(tick)?);
            }
        }
        Known::VertexProperty(filter, key, _) => {
            let written =
                touched.properties.iter().filter(|(_, other)| other == key).map(|(vertex, _)| *vertex);
            let mut vertices: Vec<VertexId> = touched.vertices.iter().copied().chain(written).collect();
            vertices.sort_unstable();
            vertices.dedup();
            for vertex in vertices {
                let at = |tick| match view.passes(vertex, filter, tick)? {
                    true => view.property(vertex, *key, tick),
                    false => Ok(Value::Null),
                };
                let (was, is) = (at(tick - 1)?, at(tick)?);
                if !is_same(&was, &is) {
                    let fact = |value| vec![Value::Vertex(vertex), value];
                    note(fact(was.clone()), !was.is_null(), false);
                    note(fact(is.clone()), false, !is.is_null());
                }
            }
        }
        Known::EdgeType(edge_type, _) => {
            let edges = touched.edges.iter().filter(|edge| edge.id.edge_type() == *edge_type);
            let mut pairs: Vec<(VertexId, VertexId)> = edges.map(|edge| (edge.source, edge.target)).collect();
            pairs.sort_unstable();
            pairs.dedup();
            for (source, target) in pairs {
                let at = |tick| view.has_between(source, target, *edge_type, tick, |_| Ok(true));
                note(vec![Value::Vertex(source), Value::Vertex(target)], at(tick - 1)?, at(tick)?);
            }
        }
        Known::EdgeProperty(edge_type, key) => {
            let written = touched.edge_properties.iter().filter(|(_, other)| other == key);
            let edges = touched.edges.iter().chain(written.map(|(edge, _)| edge));
            let edges = edges.filter(|edge| edge.id.edge_type() == *edge_type);
            let mut pairs: Vec<(VertexId, VertexId)> = edges.map(|edge| (edge.source, edge.target)).collect();
            pairs.sort_unstable();
            pairs.dedup();
            for (source, target) in pairs {
                let (was, is) = (
                    values(view, (source, target), (*edge_type, *key), tick - 1)?,
                    values(view, (source, target), (*edge_type, *key), tick)?,
                );
                let fact = |value: &Value| vec![Value::Vertex(source), Value::Vertex(target), value.clone()];
                let lacks = |all: &[Value], one: &Value| !all.iter().any(|other| is_same(other, one));
                was.iter().filter(|one| lacks(&is, one)).for_each(|one| note(fact(one), true, false));
                is.iter().filter(|one| lacks(&was, one)).for_each(|one| note(fact(one), false, true));
            }
        }
    }
    Ok(())
}

/// The values that edges between two vertices have, each once.
fn values(
    view: &View,
    (source, target): (VertexId, VertexId),
    (edge_type, key): (EdgeTypeId, KeyId),
    tick: Tick,
) -> Result<Vec<Value>, StandingError> {
    let mut found: Vec<Value> = Vec::new();
    view.has_between(source, target, edge_type, tick, |edge| {
        let value = view.edge_property(edge, key, tick)?;
        if !value.is_null() && !found.iter().any(|known| is_same(known, &value)) {
            found.push(value);
        }
        Ok(false)
    })?;
    Ok(found)
}

/// Is it one value? `1` and `1.0` are two.
fn is_same(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b) && model::compare::total_order(a, b).is_eq()
}
