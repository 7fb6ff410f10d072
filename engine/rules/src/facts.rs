//! The graph as relations of a Datalog program: labels, edge types, properties.
//!
//! They are read on demand: neighbours by vertex, vertices by label, and by value where there is an index. Two edges of one type between the same
//! vertices are one fact, which goes with the second.

use crate::error::RulesError;
use crate::source::Source;
use crate::words::{Word, Words};
use datalog::{GraphRelation, Program, RelationNo, Source as Origin};
use model::schema::{IndexId, SchemaTarget};
use model::{Direction, EdgeId, EdgeTypeId, KeyId, Value, VertexId};
use std::cell::OnceCell;
use store::{AdjacencyRead, Catalog, GraphRead, LabelFilter, StoreError};

/// A relation of the graph, in the graph's numbers.
#[derive(Clone, Debug)]
pub enum GraphFact {
    /// `Label(vertex)`
    Label(LabelFilter),
    /// `Label.key(vertex, value)`
    VertexProperty(LabelFilter, KeyId),
    /// `TYPE(source, target)`
    EdgeType(EdgeTypeId),
    /// `TYPE.key(source, target, value)`
    EdgeProperty(EdgeTypeId, KeyId),
}

impl GraphFact {
    /// The names of a relation, looked up; none where the graph lacks one, and so has no such facts.
    pub fn of(relation: &GraphRelation, catalog: &Catalog) -> Option<GraphFact> {
        let filter = |name: &str| catalog.label(name).map(LabelFilter::Has);
        Some(match relation {
            GraphRelation::Label(label) => GraphFact::Label(filter(label)?),
            GraphRelation::VertexProperty(label, key) => {
                let filter = label.as_deref().map_or(Some(LabelFilter::Any), filter)?;
                GraphFact::VertexProperty(filter, catalog.key(key)?)
            }
            GraphRelation::EdgeType(name) => GraphFact::EdgeType(catalog.edge_type(name)?),
            GraphRelation::EdgeProperty(name, key) => {
                GraphFact::EdgeProperty(catalog.edge_type(name)?, catalog.key(key)?)
            }
        })
    }
}

/// A relation that is read.
struct Read<'a> {
    fact: Option<GraphFact>,
    /// Does it serve look-ups by its second column?
    serves_second: bool,
    /// Of a property: by value.
    index: Option<IndexId>,
    /// Of edges: from their sources, and from their targets.
    ways: [OnceCell<Box<dyn AdjacencyRead + 'a>>; 2],
}

/// The facts of a graph, for one program.
pub struct GraphFacts<'a> {
    graph: &'a dyn GraphRead,
    relations: Vec<Read<'a>>,
}

fn lost(error: StoreError) -> RulesError {
    RulesError::Source(error)
}

impl<'a> GraphFacts<'a> {
    /// The facts that this graph has of the program's relations.
    pub fn new(graph: &'a dyn GraphRead, program: &Program) -> GraphFacts<'a> {
        let catalog = graph.catalog();
        let read = |relation: &datalog::Relation| {
            let (fact, index, serves_second) = match &relation.source {
                Origin::Graph(names) => {
                    let index = index(catalog, names);
                    let is_edge =
                        matches!(names, GraphRelation::EdgeType(_) | GraphRelation::EdgeProperty(..));
                    (GraphFact::of(names, catalog), index, is_edge || index.is_some())
                }
                _ => (None, None, false),
            };
            Read { fact, serves_second, index, ways: Default::default() }
        };
        GraphFacts { graph, relations: program.relations.iter().map(read).collect() }
    }
    /// The edges of a relation, from the ends that stand in this column.
    fn along(&self, relation: RelationNo, edge_type: EdgeTypeId, column: usize) -> &dyn AdjacencyRead {
        let direction = if column == 0 { Direction::Out } else { Direction::In };
        &**self.relations[relation].ways[column]
            .get_or_init(|| self.graph.adjacency_of(&[edge_type], direction))
    }
    /// Vertices at the other ends of edges, each once.
    fn others(
        &self,
        along: &dyn AdjacencyRead,
        vertex: VertexId,
        found: &mut dyn FnMut(VertexId) -> Result<(), RulesError>,
    ) -> Result<(), RulesError> {
        let mut outcome = Ok(());
        let each = &mut |neighbours: &[u32]| {
            let mut last = None;
            // They are in order.
            let mut distinct = neighbours.iter().filter(|other| last.replace(**other) != Some(**other));
            outcome = distinct.try_for_each(|other| found(VertexId::from_dense(*other)));
        };
        along.neighbours(&[vertex], each).map_err(lost)?;
        outcome
    }
    /// Ends and value of the edges of a type at a vertex, each fact once.
    fn valued(
        &self,
        along: &dyn AdjacencyRead,
        (vertex, key): (VertexId, KeyId),
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<(), RulesError> {
        let (mut edges, mut ids, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let each = &mut |_, edge: model::EdgeRef| {
            ids.push(edge.id);
            edges.push(edge);
        };
        along.edges(&[vertex], each).map_err(lost)?;
        let each = &mut |value: store::PropertyRef<'_>| values.push(value.to_value());
        self.graph.read_edge_property(&ids, key, each).map_err(lost)?;
        let mut facts: Vec<[Word; 3]> = Vec::with_capacity(edges.len());
        for (edge, value) in edges.iter().zip(&values).filter(|(_, value)| !value.is_null()) {
            facts.push([words.vertex(edge.source)?, words.vertex(edge.target)?, words.word(value)?]);
        }
        facts.sort_unstable();
        facts.dedup();
        found.extend(facts.as_flattened());
        Ok(())
    }
    fn passes(&self, vertex: VertexId, filter: &LabelFilter) -> Result<bool, RulesError> {
        self.graph.passes(vertex, filter).map_err(lost)
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
        let value = self.graph.property(vertex, key).map_err(lost)?;
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
        let mut candidates = Vec::new();
        match index {
            Some(index) => self.graph.seek(index, &value, &mut candidates).map_err(lost)?,
            None => {
                let mut cursor = Some(0);
                while let Some(at) = cursor {
                    cursor = self.graph.scan(filter, at, &mut candidates).map_err(lost)?;
                }
            }
        }
        for vertex in candidates {
            // 1 and 1.0 are two values here, and one to an index.
            let own = self.property(vertex, filter, key)?;
            if own.is_some_and(|own| words.known(&own) == Some(word)) {
                found.extend([words.vertex(vertex)?, word]);
            }
        }
        Ok(())
    }
    /// Edges between two vertices.
    fn between(
        &self,
        relation: RelationNo,
        edge_type: EdgeTypeId,
        ends: (VertexId, VertexId),
    ) -> Result<Vec<EdgeId>, RulesError> {
        let mut found = Vec::new();
        let along = self.along(relation, edge_type, 0);
        along.between(&[ends], &mut |_, edge| found.push(edge)).map_err(lost)?;
        Ok(found)
    }
}

/// The index of a property.
fn index(catalog: &Catalog, relation: &GraphRelation) -> Option<IndexId> {
    let GraphRelation::VertexProperty(Some(label), key) = relation else { return None };
    catalog.index_for(SchemaTarget::Vertices(catalog.label(label)?), &[catalog.key(key)?])
}

impl Source for GraphFacts<'_> {
    fn serves(&self, relation: RelationNo, column: usize) -> bool {
        column == 0 || (column == 1 && self.relations[relation].serves_second)
    }
    fn size(&self, relation: RelationNo) -> usize {
        let statistics = self.graph.statistics();
        let count = match &self.relations[relation].fact {
            None => 0,
            Some(GraphFact::Label(filter) | GraphFact::VertexProperty(filter, _)) => {
                statistics.vertices_matching(filter)
            }
            Some(GraphFact::EdgeType(edge_type) | GraphFact::EdgeProperty(edge_type, _)) => {
                statistics.edges_of_type(*edge_type)
            }
        };
        usize::try_from(count).unwrap_or(usize::MAX)
    }
    fn keys(
        &self,
        relation: RelationNo,
        cursor: u64,
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<Option<u64>, RulesError> {
        let filter = match &self.relations[relation].fact {
            None => return Ok(None),
            Some(GraphFact::Label(filter) | GraphFact::VertexProperty(filter, _)) => filter,
            Some(GraphFact::EdgeType(_) | GraphFact::EdgeProperty(..)) => &LabelFilter::Any,
        };
        let mut vertices = Vec::new();
        let next = self.graph.scan(filter, cursor, &mut vertices).map_err(lost)?;
        for vertex in vertices {
            found.push(words.vertex(vertex)?);
        }
        Ok(next)
    }
    fn read(
        &self,
        relation: RelationNo,
        (column, word): (usize, Word),
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<(), RulesError> {
        let Some(fact) = &self.relations[relation].fact else { return Ok(()) };
        if let (GraphFact::VertexProperty(filter, key), 1) = (fact, column) {
            return self.by_value((filter, *key, self.relations[relation].index), word, words, found);
        }
        let Some(vertex) = words.as_vertex(word) else { return Ok(()) };
        match fact {
            GraphFact::Label(filter) => {
                found.extend(self.passes(vertex, filter)?.then_some(word));
                Ok(())
            }
            GraphFact::VertexProperty(filter, key) => {
                if let Some(value) = self.property(vertex, filter, *key)? {
                    found.extend([word, words.word(&value)?]);
                }
                Ok(())
            }
            GraphFact::EdgeType(edge_type) => {
                self.others(self.along(relation, *edge_type, column), vertex, &mut |other| {
                    let other = words.vertex(other)?;
                    found.extend(if column == 0 { [word, other] } else { [other, word] });
                    Ok(())
                })
            }
            GraphFact::EdgeProperty(edge_type, key) => {
                self.valued(self.along(relation, *edge_type, column), (vertex, *key), words, found)
            }
        }
    }
    fn holds(&self, relation: RelationNo, fact: &[Word], words: &mut Words) -> Result<bool, RulesError> {
        let Some(known) = &self.relations[relation].fact else { return Ok(false) };
        let Some(vertex) = words.as_vertex(fact[0]) else { return Ok(false) };
        match known {
            GraphFact::Label(filter) => self.passes(vertex, filter),
            GraphFact::VertexProperty(filter, key) => {
                let value = self.property(vertex, filter, *key)?;
                Ok(value.is_some_and(|value| words.known(&value) == Some(fact[1])))
            }
            GraphFact::EdgeType(edge_type) => {
                let Some(other) = words.as_vertex(fact[1]) else { return Ok(false) };
                Ok(!self.between(relation, *edge_type, (vertex, other))?.is_empty())
            }
            GraphFact::EdgeProperty(edge_type, key) => {
                let Some(other) = words.as_vertex(fact[1]) else { return Ok(false) };
                let edges = self.between(relation, *edge_type, (vertex, other))?;
                let mut is_there = false;
                let each = &mut |value: store::PropertyRef<'_>| {
                    let value = value.to_value();
                    is_there |= !value.is_null() && words.known(&value) == Some(fact[2]);
                };
                self.graph.read_edge_property(&edges, *key, each).map_err(lost)?;
                Ok(is_there)
            }
        }
    }
}
