//! Vertices, edges and paths with their labels and properties, for interfaces that show or send them.
//!
//! Inside the engine an entity is a number; an interface needs its labels, type and properties, read from the snapshot the rows came
//! from. [`Hydrated`] is a value in which no bare number is left.

use crate::Error;
use model::{EdgeRef, LabelId, Path, Value, VertexId};
use plan::hidden::is_hidden;
use std::sync::Arc;
use store::Snapshot;

/// A vertex with its labels and properties.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its id.
    pub id: VertexId,
    /// Its labels.
    pub labels: Vec<Arc<str>>,
    /// Its properties, in the order of their keys' names.
    pub properties: Vec<(Arc<str>, Value)>,
}

impl Node {
    /// The value of a property.
    pub fn get(&self, name: &str) -> Option<&Value> {
        value_of(&self.properties, name)
    }
    /// Has it this label?
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|known| **known == *label)
    }
}

impl Relationship {
    /// The value of a property.
    pub fn get(&self, name: &str) -> Option<&Value> {
        value_of(&self.properties, name)
    }
}

fn value_of<'p>(properties: &'p [(Arc<str>, Value)], name: &str) -> Option<&'p Value> {
    properties.iter().find(|(key, _)| **key == *name).map(|(_, value)| value)
}

/// An edge with its type and properties.
#[derive(Clone, Debug)]
pub struct Relationship {
    /// Its id and ends.
    pub edge: EdgeRef,
    /// Its type.
    pub edge_type: Arc<str>,
    /// Its properties, in the order of their keys' names.
    pub properties: Vec<(Arc<str>, Value)>,
}

/// A value without bare entities.
#[derive(Clone, Debug)]
pub enum Hydrated {
    /// Neither an entity nor a list or map that holds one.
    Plain(Value),
    /// A list that holds entities.
    List(Vec<Hydrated>),
    /// A map that holds entities.
    Map(Vec<(Arc<str>, Hydrated)>),
    /// A vertex.
    Node(Node),
    /// An edge.
    Relationship(Relationship),
    /// A path: its nodes and relationships in walking order.
    Path(Vec<Node>, Vec<Relationship>),
}

/// Identity of a vertex as text, for drivers that use element ids.
pub fn vertex_element_id(vertex: VertexId) -> String {
    format!("4:tanglewood:{}", vertex.0)
}

/// Identity of an edge as text.
pub fn edge_element_id(edge: model::EdgeId) -> String {
    format!("5:tanglewood:{}", edge.0)
}

/// Looks up everything about the entities in `value`. An entity deleted meanwhile comes out with no labels and properties.
pub fn hydrate(value: &Value, snapshot: &Snapshot) -> Result<Hydrated, Error> {
    Ok(match value {
        Value::Vertex(vertex) => Hydrated::Node(node(*vertex, snapshot)?),
        Value::Edge(edge) => Hydrated::Relationship(relationship(**edge, snapshot)?),
        Value::Path(path) => path_parts(path, snapshot)?,
        Value::List(list) if list.iter().any(holds_entity) => {
            Hydrated::List(list.iter().map(|item| hydrate(item, snapshot)).collect::<Result<_, _>>()?)
        }
        Value::Map(map) if map.values().any(holds_entity) => Hydrated::Map(
            map.iter()
                .map(|(key, item)| Ok((key.clone(), hydrate(item, snapshot)?)))
                .collect::<Result<_, Error>>()?,
        ),
        plain => Hydrated::Plain(plain.clone()),
    })
}

fn holds_entity(value: &Value) -> bool {
    match value {
        Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => true,
        Value::List(list) => list.iter().any(holds_entity),
        Value::Map(map) => map.values().any(holds_entity),
        _ => false,
    }
}

fn node(id: VertexId, snapshot: &Snapshot) -> Result<Node, Error> {
    if let Some(label) = id.schema_label() {
        return Ok(schema_node(id, label, snapshot));
    }
    if !snapshot.exists(id)? {
        return Ok(Node { id, labels: Vec::new(), properties: Vec::new() });
    }
    let catalog = snapshot.catalog();
    let mut labels: Vec<Arc<str>> = catalog
        .labels_of(snapshot.labels(id)?)
        .iter()
        .filter_map(|label| catalog.label_name(*label).cloned())
        .collect();
    labels.sort();
    Ok(Node { id, labels, properties: named(snapshot.properties(id)?, snapshot) })
}

/// A label as a node, as Neo4j shows schemas.
fn schema_node(id: VertexId, label: LabelId, snapshot: &Snapshot) -> Node {
    let name = snapshot.catalog().label_name(label).cloned().unwrap_or_else(|| "".into());
    let none = || Value::list(Vec::new());
    let properties = vec![
        ("constraints".into(), none()),
        ("indexes".into(), none()),
        ("name".into(), Value::String(name.clone())),
    ];
    Node { id, labels: vec![name], properties }
}

fn relationship(edge: EdgeRef, snapshot: &Snapshot) -> Result<Relationship, Error> {
    let edge_type =
        snapshot.catalog().edge_type_name(edge.id.edge_type()).cloned().unwrap_or_else(|| "".into());
    let properties = match snapshot.edge(edge.id)? {
        _ if edge.source.schema_label().is_some() => vec![("name".into(), Value::String(edge_type.clone()))],
        Some(_) => named(snapshot.edge_properties(edge.id)?, snapshot),
        None => Vec::new(),
    };
    Ok(Relationship { edge, edge_type, properties })
}

fn path_parts(path: &Path, snapshot: &Snapshot) -> Result<Hydrated, Error> {
    let nodes = path.vertices.iter().map(|vertex| node(*vertex, snapshot)).collect::<Result<_, _>>()?;
    let relationships =
        path.edges.iter().map(|edge| relationship(*edge, snapshot)).collect::<Result<_, _>>()?;
    Ok(Hydrated::Path(nodes, relationships))
}

fn named(properties: Vec<(model::KeyId, Value)>, snapshot: &Snapshot) -> Vec<(Arc<str>, Value)> {
    let catalog = snapshot.catalog();
    let mut named: Vec<(Arc<str>, Value)> = properties
        .into_iter()
        .filter_map(|(key, value)| Some((catalog.key_name(key)?.clone(), value)))
        .filter(|(key, _)| !is_hidden(key))
        .collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named
}
