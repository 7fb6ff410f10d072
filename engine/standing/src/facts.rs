//! The graph as relations of a Datalog program: labels, edge types, properties; and what a commit changed of them.
//!
//! A fact is there as often as the graph has it: two edges of one type between the same vertices are one fact that goes with the second.

use crate::StandingError;
use crate::view::{Tick, Touched, View};
use ::rules::{RulesError, Source};
use datalog::GraphRelation;
use model::schema::{IndexId, SchemaTarget};
use model::{Direction, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use std::sync::Arc;
use store::LabelFilter;

/// The facts of the graph at a tick.
pub(crate) struct GraphFacts<'a> {
    pub view: &'a View,
    pub tick: Tick,
}

type Found<'f> = &'f mut dyn FnMut(&[Value]) -> Result<(), RulesError>;

fn lost(error: StandingError) -> RulesError {
    RulesError::Source(error.to_string())
}

impl GraphFacts<'_> {
    fn label(&self, name: &Arc<str>) -> Option<LabelId> {
        self.view.newest().catalog().label(name)
    }
    fn key(&self, name: &Arc<str>) -> Option<KeyId> {
        self.view.newest().catalog().key(name)
    }
    fn edge_type(&self, name: &Arc<str>) -> Option<EdgeTypeId> {
        self.view.newest().catalog().edge_type(name)
    }
    /// The filter of a label, or of any vertex; none where there is no such label.
    fn filter(&self, label: Option<&Arc<str>>) -> Option<LabelFilter> {
        match label {
            None => Some(LabelFilter::Any),
            Some(name) => self.label(name).map(LabelFilter::Has),
        }
    }
    /// The index of a property.
    fn index(&self, label: Option<&Arc<str>>, key: &Arc<str>) -> Option<IndexId> {
        let catalog = self.view.base_catalog();
        let target = SchemaTarget::Vertices(catalog.label(label?)?);
        catalog.index_for(target, &[catalog.key(key)?])
    }
    /// Vertices among which are all with this value.
    fn candidates(
        &self,
        label: Option<&Arc<str>>,
        key: &Arc<str>,
        filter: &LabelFilter,
        value: &Value,
    ) -> Result<Vec<VertexId>, RulesError> {
        let Some(key_id) = self.key(key) else { return Ok(Vec::new()) };
        let index = self.index(label, key);
        let mut found = self.view.candidates(filter, index, key_id, value, self.tick).map_err(lost)?;
        let mut outcome = Ok(());
        found.retain(|vertex| match self.view.passes(*vertex, filter, self.tick) {
            Ok(passes) => passes,
            Err(error) => {
                outcome = Err(lost(error));
                false
            }
        });
        outcome.map(|()| found)
    }
    /// Vertices with a label: all, or the one that is asked for.
    fn vertices(&self, filter: &LabelFilter, by: Option<&Value>) -> Result<Vec<VertexId>, RulesError> {
        match by {
            None => self.view.scan(filter, self.tick).map_err(lost),
            Some(Value::Vertex(vertex)) => {
                let passes = self.view.passes(*vertex, filter, self.tick).map_err(lost)?;
                Ok(if passes { vec![*vertex] } else { Vec::new() })
            }
            Some(_) => Ok(Vec::new()),
        }
    }
    /// Edges of a type: all, or those at the one end that is asked for.
    fn edges(
        &self,
        edge_type: EdgeTypeId,
        by: Option<(usize, &Value)>,
        found: &mut dyn FnMut(EdgeRef) -> Result<(), RulesError>,
    ) -> Result<(), RulesError> {
        let (vertices, direction) = match by {
            None => (self.vertices(&LabelFilter::Any, None)?, Direction::Out),
            Some((column, end)) => {
                let direction = if column == 0 { Direction::Out } else { Direction::In };
                (self.vertices(&LabelFilter::Any, Some(end))?, direction)
            }
        };
        for vertex in vertices {
            let mut outcome = Ok(());
            let mut each = |edge| {
                if outcome.is_ok() {
                    outcome = found(edge);
                }
            };
            self.view.edges(vertex, &[edge_type], direction, self.tick, &mut each).map_err(lost)?;
            outcome?;
        }
        Ok(())
    }
}

impl Source for GraphFacts<'_> {
    fn serves(&self, relation: &GraphRelation, column: usize) -> bool {
        match relation {
            GraphRelation::VertexProperty(label, key) if column == 1 => {
                self.index(label.as_ref(), key).is_some()
            }
            GraphRelation::Label(_) | GraphRelation::VertexProperty(..) => column == 0,
            GraphRelation::EdgeType(_) | GraphRelation::EdgeProperty(..) => column < 2,
        }
    }
    fn fetch(
        &self,
        relation: &GraphRelation,
        by: Option<(usize, &Value)>,
        found: Found<'_>,
    ) -> Result<(), RulesError> {
        let value = by.map(|(_, value)| value);
        match relation {
            GraphRelation::Label(label) => {
                let Some(filter) = self.filter(Some(label)) else { return Ok(()) };
                let vertices = self.vertices(&filter, value)?;
                vertices.into_iter().try_for_each(|vertex| found(&[Value::Vertex(vertex)]))
            }
            GraphRelation::EdgeType(name) => {
                let Some(edge_type) = self.edge_type(name) else { return Ok(()) };
                self.edges(edge_type, by, &mut |edge| {
                    found(&[Value::Vertex(edge.source), Value::Vertex(edge.target)])
                })
            }
            GraphRelation::VertexProperty(label, name) => {
                let (Some(filter), Some(key)) = (self.filter(label.as_ref()), self.key(name)) else {
                    return Ok(());
                };
                let vertices = match by {
                    Some((1, value)) => self.candidates(label.as_ref(), name, &filter, value)?,
                    _ => self.vertices(&filter, value)?,
                };
                for vertex in vertices {
                    let value = self.view.property(vertex, key, self.tick).map_err(lost)?;
                    if !value.is_null() {
                        found(&[Value::Vertex(vertex), value])?;
                    }
                }
                Ok(())
            }
            GraphRelation::EdgeProperty(name, key) => {
                let (Some(edge_type), Some(key)) = (self.edge_type(name), self.key(key)) else {
                    return Ok(());
                };
                self.edges(edge_type, by, &mut |edge| {
                    let value = self.view.edge_property(edge.id, key, self.tick).map_err(lost)?;
                    match value.is_null() {
                        true => Ok(()),
                        false => found(&[Value::Vertex(edge.source), Value::Vertex(edge.target), value]),
                    }
                })
            }
        }
    }
}

/// What a commit changed of a relation: facts with whether they come.
pub(crate) fn changes(
    relation: &GraphRelation,
    view: &View,
    tick: Tick,
    touched: &Touched,
) -> Result<Vec<(Vec<Value>, bool)>, StandingError> {
    let names = GraphFacts { view, tick };
    let mut found = Vec::new();
    let mut note = |before: Option<Vec<Value>>, after: Option<Vec<Value>>| {
        let same = match (&before, &after) {
            (Some(before), Some(after)) => is_same(before, after),
            _ => false,
        };
        if !same {
            found.extend(before.map(|fact| (fact, false)));
            found.extend(after.map(|fact| (fact, true)));
        }
    };
    match relation {
        GraphRelation::Label(label) => {
            let Some(filter) = names.filter(Some(label)) else { return Ok(found) };
            for vertex in &touched.vertices {
                let at = |tick| {
                    Ok::<_, StandingError>(
                        view.passes(*vertex, &filter, tick)?.then(|| vec![Value::Vertex(*vertex)]),
                    )
                };
                note(at(tick - 1)?, at(tick)?);
            }
        }
        GraphRelation::EdgeType(name) => {
            let Some(edge_type) = names.edge_type(name) else { return Ok(found) };
            for edge in touched.edges.iter().filter(|edge| edge.id.edge_type() == edge_type) {
                let at = |tick| {
                    let is_there = view.edge(edge.id, tick)? == Some(*edge);
                    let fact = || vec![Value::Vertex(edge.source), Value::Vertex(edge.target)];
                    Ok::<_, StandingError>(is_there.then(fact))
                };
                note(at(tick - 1)?, at(tick)?);
            }
        }
        GraphRelation::VertexProperty(label, key) => {
            let (Some(filter), Some(key)) = (names.filter(label.as_ref()), names.key(key)) else {
                return Ok(found);
            };
            let written =
                touched.properties.iter().filter(|(_, other)| *other == key).map(|(vertex, _)| *vertex);
            let mut vertices: Vec<VertexId> = touched.vertices.iter().copied().chain(written).collect();
            vertices.sort_unstable();
            vertices.dedup();
            for vertex in vertices {
                let at = |tick| {
                    if !view.passes(vertex, &filter, tick)? {
                        return Ok(None);
                    }
                    let value = view.property(vertex, key, tick)?;
                    Ok::<_, StandingError>((!value.is_null()).then(|| vec![Value::Vertex(vertex), value]))
                };
                note(at(tick - 1)?, at(tick)?);
            }
        }
        GraphRelation::EdgeProperty(name, key) => {
            let (Some(edge_type), Some(key)) = (names.edge_type(name), names.key(key)) else {
                return Ok(found);
            };
            let written =
                touched.edge_properties.iter().filter(|(_, other)| *other == key).map(|(edge, _)| *edge);
            let mut edges: Vec<EdgeRef> = touched.edges.iter().copied().chain(written).collect();
            edges.retain(|edge| edge.id.edge_type() == edge_type);
            edges.sort_unstable();
            edges.dedup();
            for edge in edges {
                let at = |tick| {
                    if view.edge(edge.id, tick)? != Some(edge) {
                        return Ok(None);
                    }
                    let value = view.edge_property(edge.id, key, tick)?;
                    let fact = |value| vec![Value::Vertex(edge.source), Value::Vertex(edge.target), value];
                    Ok::<_, StandingError>((!value.is_null()).then(|| fact(value)))
                };
                note(at(tick - 1)?, at(tick)?);
            }
        }
    }
    Ok(found)
}

/// Is it one fact? `1` and `1.0` are two.
fn is_same(a: &[Value], b: &[Value]) -> bool {
    a.iter().zip(b).all(|(a, b)| {
        std::mem::discriminant(a) == std::mem::discriminant(b) && model::compare::total_order(a, b).is_eq()
    })
}
