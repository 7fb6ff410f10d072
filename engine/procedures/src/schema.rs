//! The observed schema of a graph: which labels are joined by which types, and which properties there are.
//!
//! Labels and types are exact, from the statistics. Properties are those of a sample, the first vertices of the store up to
//! [`SAMPLE_VERTICES_MAX`] and their outgoing edges up to [`SAMPLE_EDGES_MAX`], so that the question costs the same on any graph.

use super::Rows;
use crate::ProcedureError;
use model::{Direction, EdgeId, EdgeRef, LabelId, Value, VertexId};
use plan::hidden::is_hidden;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{LabelFilter, Snapshot};

/// Vertices that are looked at for their properties.
const SAMPLE_VERTICES_MAX: usize = 10_000;
/// Edges that are looked at for their properties.
const SAMPLE_EDGES_MAX: usize = 10_000;

/// The name that Neo4j's procedures give the type of a stored property, which tools translate.
fn stored_type(value: &Value) -> &'static str {
    let Value::List(items) = value else {
        return match value.value_type().name() {
            "Integer" => "Long",
            "Float" => "Double",
            other => other,
        };
    };
    let mut types = items.iter().map(|item| item.value_type().name());
    let first = types.next();
    match first.filter(|first| types.all(|other| other == *first)) {
        Some("Boolean") => "BooleanArray",
        Some("Integer") => "LongArray",
        Some("Float") => "DoubleArray",
        Some("String") => "StringArray",
        Some("Date") => "DateArray",
        Some("DateTime") => "DateTimeArray",
        Some("LocalDateTime") => "LocalDateTimeArray",
        Some("Time") => "TimeArray",
        Some("LocalTime") => "LocalTimeArray",
        Some("Duration") => "DurationArray",
        Some("Point") => "PointArray",
        _ => "Any",
    }
}

/// Of the entities of one kind: how many, and for each property its types and how many have it.
#[derive(Default)]
struct PropertyCounts {
    count: usize,
    properties: BTreeMap<Arc<str>, (BTreeSet<&'static str>, usize)>,
}

impl PropertyCounts {
    fn add(&mut self, properties: Vec<(model::KeyId, Value)>, snapshot: &Snapshot) {
        self.count += 1;
        for (key, value) in properties {
            let name = snapshot.catalog().key_name(key).filter(|name| !is_hidden(name));
            let Some(name) = name else { continue };
            let (types, count) = self.properties.entry(name.clone()).or_default();
            types.insert(stored_type(&value));
            *count += 1;
        }
    }
    /// Rows that begin with `head`; a kind without properties has one row with nulls.
    fn rows(&self, head: &[Value]) -> Vec<Vec<Value>> {
        if self.properties.is_empty() {
            return vec![[head, &[Value::Null, Value::Null, Value::Bool(false)]].concat()];
        }
        let row = |(name, (types, count)): (&Arc<str>, &(BTreeSet<&'static str>, usize))| {
            let types = Value::list(types.iter().map(|name| Value::from(*name)).collect());
            [head, &[name.clone().into(), types, (*count == self.count).into()]].concat()
        };
        self.properties.iter().map(row).collect()
    }
}

/// The first vertices of the graph.
fn sample(snapshot: &Snapshot) -> Result<Vec<VertexId>, ProcedureError> {
    let mut found = Vec::new();
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut found)?;
        if found.len() >= SAMPLE_VERTICES_MAX {
            break;
        }
    }
    found.truncate(SAMPLE_VERTICES_MAX);
    Ok(found)
}

fn label_names(snapshot: &Snapshot, labels: &[LabelId]) -> Vec<Arc<str>> {
    let mut names: Vec<_> =
        labels.iter().filter_map(|label| snapshot.catalog().label_name(*label).cloned()).collect();
    names.sort();
    names
}

pub(super) fn node_type_properties(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let mut kinds: BTreeMap<Vec<Arc<str>>, PropertyCounts> = BTreeMap::new();
    for vertex in sample(snapshot)? {
        let labels = snapshot.catalog().labels_of(snapshot.labels(vertex)?).to_vec();
        let seen = kinds.entry(label_names(snapshot, &labels)).or_default();
        seen.add(snapshot.properties(vertex)?, snapshot);
    }
    let rows = kinds.iter().flat_map(|(labels, seen)| {
        let kind: String = labels.iter().map(|label| format!(":`{label}`")).collect();
        let labels = Value::list(labels.iter().map(|label| label.clone().into()).collect());
        seen.rows(&[kind.into(), labels])
    });
    Ok(rows.collect())
}

pub(super) fn relationship_type_properties(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let mut kinds: BTreeMap<Arc<str>, PropertyCounts> = BTreeMap::new();
    let view = snapshot.adjacency(&[], Direction::Out);
    let mut looked_at = 0;
    for vertex in sample(snapshot)? {
        let mut edges = Vec::new();
        view.for_each_edge(vertex.dense(), |edge| edges.push(edge.id))?;
        for edge in edges.into_iter().take(SAMPLE_EDGES_MAX - looked_at) {
            looked_at += 1;
            let Some(name) = snapshot.catalog().edge_type_name(edge.edge_type()) else { continue };
            kinds.entry(name.clone()).or_default().add(snapshot.edge_properties(edge)?, snapshot);
        }
    }
    Ok(kinds.iter().flat_map(|(name, seen)| seen.rows(&[format!(":`{name}`").into()])).collect())
}

/// Relationships that are shown; more cannot be displayed.
const RELATIONSHIPS_MAX: usize = 100_000;

pub(super) fn visualization(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let (catalog, statistics) = (snapshot.catalog(), snapshot.statistics());
    let labels: Vec<LabelId> = (0..catalog.names().labels().len() as u16).map(LabelId).collect();
    let used = labels.into_iter().filter(|label| statistics.vertices_with_label(*label) > 0);
    let used: Vec<LabelId> = used.collect();
    let nodes = used.iter().map(|label| Value::Vertex(VertexId::of_schema(*label))).collect();
    let mut relationships = Vec::new();
    for edge_type in crate::edge_types(snapshot)? {
        let ends = |direction| snapshot.labels_at_edges(edge_type, direction);
        let (sources, targets) = (ends(Direction::Out)?, ends(Direction::In)?);
        for from in &sources {
            for to in &targets {
                if relationships.len() == RELATIONSHIPS_MAX {
                    break;
                }
                let (source, target) = (VertexId::of_schema(*from), VertexId::of_schema(*to));
                let id = EdgeId::new(source.chunk(), edge_type, relationships.len() as u32);
                relationships.push(Value::edge(EdgeRef { id, source, target }));
            }
        }
    }
    Ok(vec![vec![Value::list(nodes), Value::list(relationships)]])
}
