//! The changes of a commit to the relations that a Datalog program reads of the graph.

use crate::StandingError;
use crate::view::{Timestamp, Touched, View};
use ::rules::{Change, GraphFact};
use datalog::{Program, RelationNo, Source as Origin};
use model::{EdgeTypeId, KeyId, Value, VertexId};

/// The changes of a commit to a relation: facts that came or went at its timestamp, each once.
pub(crate) fn changes(
    program: &Program,
    relation: RelationNo,
    (view, timestamp): (&View, Timestamp),
    touched: &Touched,
    found: &mut Vec<Change>,
) -> Result<(), StandingError> {
    let Origin::Graph(names) = &program.relations[relation].source else { return Ok(()) };
    let Some(known) = GraphFact::of(names, view.newest().catalog()) else { return Ok(()) };
    let mut note = |fact: Vec<Value>, was: bool, is: bool| {
        if was != is {
            found.push(Change { relation, fact, comes: is });
        }
    };
    match &known {
        GraphFact::Label(filter) => {
            for vertex in &touched.vertices {
                let at = |timestamp| view.passes(*vertex, filter, timestamp);
                note(vec![Value::Vertex(*vertex)], at(timestamp - 1)?, at(timestamp)?);
            }
        }
        GraphFact::VertexProperty(filter, key) => {
            let written =
                touched.properties.iter().filter(|(_, other)| other == key).map(|(vertex, _)| *vertex);
            let mut vertices: Vec<VertexId> = touched.vertices.iter().copied().chain(written).collect();
            vertices.sort_unstable();
            vertices.dedup();
            for vertex in vertices {
                let at = |timestamp| match view.passes(vertex, filter, timestamp)? {
                    true => view.property(vertex, *key, timestamp),
                    false => Ok(Value::Null),
                };
                let (was, is) = (at(timestamp - 1)?, at(timestamp)?);
                if !is_same(&was, &is) {
                    let fact = |value| vec![Value::Vertex(vertex), value];
                    note(fact(was.clone()), !was.is_null(), false);
                    note(fact(is.clone()), false, !is.is_null());
                }
            }
        }
        GraphFact::EdgeType(edge_type) => {
            let edges = touched.edges.iter().filter(|edge| edge.id.edge_type() == *edge_type);
            let mut pairs: Vec<(VertexId, VertexId)> = edges.map(|edge| (edge.source, edge.target)).collect();
            pairs.sort_unstable();
            pairs.dedup();
            for (source, target) in pairs {
                let at = |timestamp| view.has_between(source, target, *edge_type, timestamp, |_| Ok(true));
                note(vec![Value::Vertex(source), Value::Vertex(target)], at(timestamp - 1)?, at(timestamp)?);
            }
        }
        GraphFact::EdgeProperty(edge_type, key) => {
            let written = touched.edge_properties.iter().filter(|(_, other)| other == key);
            let edges = touched.edges.iter().chain(written.map(|(edge, _)| edge));
            let edges = edges.filter(|edge| edge.id.edge_type() == *edge_type);
            let mut pairs: Vec<(VertexId, VertexId)> = edges.map(|edge| (edge.source, edge.target)).collect();
            pairs.sort_unstable();
            pairs.dedup();
            for (source, target) in pairs {
                let (was, is) = (
                    values(view, (source, target), (*edge_type, *key), timestamp - 1)?,
                    values(view, (source, target), (*edge_type, *key), timestamp)?,
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
    timestamp: Timestamp,
) -> Result<Vec<Value>, StandingError> {
    let mut found: Vec<Value> = Vec::new();
    view.has_between(source, target, edge_type, timestamp, |edge| {
        let value = view.edge_property(edge, key, timestamp)?;
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
