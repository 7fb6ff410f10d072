//! Does a snapshot agree with itself? Every count, index and constraint against a recount from the vertices and edges themselves.
//!
//! Slow and obvious on purpose: it reads everything through the plainest calls and compares. Cost: the whole graph, several times.

use model::compare::{equals, total_order};
use model::schema::{ConstraintRule, IndexDefinition, SchemaTarget};
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, LabelId, Value, VertexId};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use store::{EdgeScratch, LabelFilter, Snapshot, StoreError};

/// Everything in a snapshot, read vertex by vertex.
#[derive(Default)]
pub struct Contents {
    /// Vertices with their labels.
    pub vertices: BTreeMap<VertexId, Vec<LabelId>>,
    /// Edges, as found at their sources.
    pub edges: BTreeSet<EdgeRef>,
}

/// Reads everything.
///
/// # Errors
/// When stored bytes cannot be read.
pub fn contents(snapshot: &Snapshot) -> Result<Contents, StoreError> {
    let mut contents = Contents::default();
    let mut vertices = Vec::new();
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
    }
    for vertex in vertices {
        let labels = snapshot.catalog().labels_of(snapshot.labels(vertex)?).to_vec();
        contents.vertices.insert(vertex, labels);
        contents.edges.extend(edges_at(snapshot, vertex, Direction::Out)?);
    }
    Ok(contents)
}

fn edges_at(snapshot: &Snapshot, at: VertexId, direction: Direction) -> Result<Vec<EdgeRef>, StoreError> {
    let view = snapshot.adjacency(&[], direction);
    let mut scratch = EdgeScratch::default();
    let (neighbours, edges) = view.edges(at.dense(), &mut scratch)?;
    let found = neighbours.iter().zip(edges).map(|(neighbour, edge)| {
        let (id, other) = (EdgeId(*edge), VertexId::from_dense(*neighbour));
        match direction {
            Direction::In => EdgeRef { id, source: other, target: at },
            _ => EdgeRef { id, source: at, target: other },
        }
    });
    Ok(found.collect())
}

/// Everything that does not agree; empty for a sound snapshot.
///
/// # Errors
/// When stored bytes cannot be read.
pub fn audit(snapshot: &Snapshot) -> Result<Vec<String>, StoreError> {
    let contents = contents(snapshot)?;
    let mut faults = Vec::new();
    edges_meet(snapshot, &contents, &mut faults)?;
    counts(snapshot, &contents, &mut faults);
    for index in snapshot.catalog().indexes() {
        index_agrees(snapshot, index, &contents, &mut faults)?;
    }
    constraints_hold(snapshot, &contents, &mut faults)?;
    Ok(faults)
}

fn expect<T: PartialEq + std::fmt::Debug>(what: String, wanted: &T, found: &T, faults: &mut Vec<String>) {
    if wanted != found {
        faults.push(format!("{what}: expected {wanted:?}, found {found:?}"));
    }
}

/// Each edge is met from both ends, once, and both ends exist.
fn edges_meet(snapshot: &Snapshot, contents: &Contents, faults: &mut Vec<String>) -> Result<(), StoreError> {
    let mut met = Vec::new();
    for vertex in contents.vertices.keys() {
        met.extend(edges_at(snapshot, *vertex, Direction::In)?);
    }
    let met_once: BTreeSet<EdgeRef> = met.iter().copied().collect();
    expect("edges met from their targets".into(), &contents.edges, &met_once, faults);
    expect("edges met twice".into(), &met_once.len(), &met.len(), faults);
    for edge in &contents.edges {
        expect(format!("{edge:?} by its id"), &Some(*edge), &snapshot.edge(edge.id)?, faults);
        for end in [edge.source, edge.target] {
            if !contents.vertices.contains_key(&end) {
                faults.push(format!("{edge:?} has an end that does not exist"));
            }
        }
    }
    Ok(())
}

fn counts(snapshot: &Snapshot, contents: &Contents, faults: &mut Vec<String>) {
    let statistics = snapshot.statistics();
    expect("vertices".into(), &(contents.vertices.len() as u64), &statistics.vertices(), faults);
    expect("edges".into(), &(contents.edges.len() as u64), &statistics.edges(), faults);
    let labels: Vec<LabelId> =
        (0..snapshot.catalog().names().labels().len()).map(|at| LabelId(at as u16)).collect();
    for label in &labels {
        let recount = contents.vertices.values().filter(|labels| labels.contains(label)).count() as u64;
        expect(format!("vertices with {label:?}"), &recount, &statistics.vertices_with_label(*label), faults);
    }
    for at in 0..snapshot.catalog().names().edge_types().len() {
        let edge_type = EdgeTypeId(at as u16);
        let edges: Vec<&EdgeRef> =
            contents.edges.iter().filter(|edge| edge.id.edge_type() == edge_type).collect();
        expect(format!("{edge_type:?}"), &(edges.len() as u64), &statistics.edges_of_type(edge_type), faults);
        let has = |vertex: VertexId, label: &LabelId| {
            contents.vertices.get(&vertex).is_some_and(|labels| labels.contains(label))
        };
        for label in &labels {
            for direction in [Direction::Out, Direction::In] {
                let near =
                    |edge: &EdgeRef| if direction == Direction::Out { edge.source } else { edge.target };
                let recount = edges.iter().filter(|edge| has(near(edge), label)).count() as u64;
                let counted = statistics.edges_near(edge_type, direction, Some(*label));
                expect(format!("{edge_type:?} {direction:?} of {label:?}"), &recount, &counted, faults);
            }
        }
    }
}

/// Numbers of vertices or edges.
type Numbers = BTreeSet<u64>;

/// Values of the index's keys, for each vertex or edge that belongs into it, by its number.
fn indexed(
    snapshot: &Snapshot,
    index: &IndexDefinition,
    contents: &Contents,
) -> Result<Vec<(u64, Vec<Value>)>, StoreError> {
    let mut found = Vec::new();
    let mut add = |number: u64, values: Vec<Value>| {
        if !values.iter().any(Value::is_null) {
            found.push((number, values));
        }
    };
    match index.target {
        SchemaTarget::Vertices(label) => {
            for (vertex, _) in contents.vertices.iter().filter(|(_, labels)| labels.contains(&label)) {
                let values = index.keys.iter().map(|key| snapshot.property(*vertex, *key));
                add(vertex.0, values.collect::<Result<_, _>>()?);
            }
        }
        SchemaTarget::Edges(edge_type) => {
            for edge in contents.edges.iter().filter(|edge| edge.id.edge_type() == edge_type) {
                let values = index.keys.iter().map(|key| snapshot.edge_property(edge.id, *key));
                add(edge.id.0, values.collect::<Result<_, _>>()?);
            }
        }
    }
    Ok(found)
}

/// All entries of an index, or those of these values, by number; with repetitions.
fn held(
    snapshot: &Snapshot,
    index: &IndexDefinition,
    values: Option<&[Value]>,
) -> Result<Vec<u64>, StoreError> {
    let (id, all) = (index.id, (Bound::Unbounded, Bound::Unbounded));
    match (index.target, values) {
        (SchemaTarget::Vertices(_), Some(values)) => {
            Ok(snapshot.seek(id, values)?.iter().map(|vertex| vertex.0).collect())
        }
        (SchemaTarget::Vertices(_), None) => {
            snapshot.seek_range(id, all.0, all.1)?.map(|vertex| Ok(vertex?.0)).collect()
        }
        (SchemaTarget::Edges(_), Some(values)) => {
            Ok(snapshot.seek_edges(id, values)?.iter().map(|edge| edge.id.0).collect())
        }
        (SchemaTarget::Edges(_), None) => {
            snapshot.seek_edge_range(id, all.0, all.1)?.map(|edge| Ok(edge?.id.0)).collect()
        }
    }
}

fn order(a: &[Value], b: &[Value]) -> Ordering {
    let orders = a.iter().zip(b).map(|(a, b)| total_order(a, b));
    orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn index_agrees(
    snapshot: &Snapshot,
    index: &IndexDefinition,
    contents: &Contents,
    faults: &mut Vec<String>,
) -> Result<(), StoreError> {
    let name = &index.name;
    let mut wanted = indexed(snapshot, index, contents)?;
    let all: Numbers = wanted.iter().map(|(number, _)| *number).collect();
    let found = held(snapshot, index, None)?;
    expect(format!("entries of {name}"), &all.len(), &found.len(), faults);
    expect(format!("what is in {name}"), &all, &found.into_iter().collect(), faults);
    let entries = snapshot.statistics().index(index.id).map(|statistics| statistics.entries);
    expect(format!("counted entries of {name}"), &Some(all.len() as u64), &entries, faults);
    wanted.sort_by(|(_, a), (_, b)| order(a, b));
    for same in wanted.chunk_by(|(_, a), (_, b)| order(a, b).is_eq()) {
        let values = &same[0].1;
        let equal_themselves = values.iter().all(|value| equals(value, value) == Some(true));
        let wanted: Numbers = same.iter().filter(|_| equal_themselves).map(|(number, _)| *number).collect();
        let found: Numbers = held(snapshot, index, Some(values))?.into_iter().collect();
        expect(format!("{name} searched for {values:?}"), &wanted, &found, faults);
        if index.unique && wanted.len() > 1 {
            faults.push(format!("unique {name} holds {values:?} more than once: {wanted:?}"));
        }
    }
    Ok(())
}

fn constraints_hold(
    snapshot: &Snapshot,
    contents: &Contents,
    faults: &mut Vec<String>,
) -> Result<(), StoreError> {
    for constraint in snapshot.catalog().constraints() {
        let name = &constraint.name;
        if let ConstraintRule::Unique(index) | ConstraintRule::NodeKey(index) = constraint.rule
            && !snapshot.catalog().index(index).is_some_and(|index| index.unique)
        {
            faults.push(format!("constraint {name} has no unique index"));
        }
        let SchemaTarget::Vertices(label) = constraint.target else { continue };
        for (vertex, _) in contents.vertices.iter().filter(|(_, labels)| labels.contains(&label)) {
            for key in &constraint.keys {
                let value = snapshot.property(*vertex, *key)?;
                let broken = match &constraint.rule {
                    ConstraintRule::Exists | ConstraintRule::NodeKey(_) => value.is_null(),
                    ConstraintRule::Typed(wanted) => !value.is_null() && value.value_type() != *wanted,
                    ConstraintRule::Unique(_) => false,
                };
                if broken {
                    faults.push(format!("constraint {name} is broken by {vertex:?}: {value:?}"));
                }
            }
        }
    }
    Ok(())
}
