//! Values as a table can show them: entities by their labels, type and properties, without identity; temporal values by their text.

use std::collections::BTreeMap;

use database::Value;
use database::entity::{self, Hydrated, Node, Relationship};
use std::sync::Arc;

/// A value without identity. Ordered and compared exactly: an integer is no float, NaN is itself, and both zeros are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// null
    Null,
    /// A truth value.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A float, as its shortest text.
    Float(String),
    /// Text, and temporal values as text.
    Text(String),
    /// A list.
    List(Vec<Shape>),
    /// A map.
    Map(BTreeMap<String, Shape>),
    /// A vertex: its labels in order, and its properties.
    Node(Vec<String>, BTreeMap<String, Shape>),
    /// An edge: its type and its properties.
    Relationship(String, BTreeMap<String, Shape>),
    /// A path: its first vertex, then for each step whether its edge points forward, the edge, and the next vertex.
    Path(Vec<(bool, Shape, Shape)>, Box<Shape>),
    /// Anything else, as its debug text.
    Other(String),
}

impl Shape {
    /// A float.
    pub fn float(number: f64) -> Shape {
        let number = if number == 0.0 { 0.0 } else { number };
        Shape::Float(format!("{number:?}"))
    }

    /// A plain value, which holds no entity.
    pub fn plain(value: &Value) -> Shape {
        match value {
            Value::Null => Shape::Null,
            Value::Bool(value) => Shape::Boolean(*value),
            Value::Int(value) => Shape::Integer(*value),
            Value::Float(value) => Shape::float(*value),
            Value::String(text) => Shape::Text(text.to_string()),
            Value::List(items) => Shape::List(items.iter().map(Shape::plain).collect()),
            Value::Map(map) => {
                Shape::Map(map.iter().map(|(key, value)| (key.to_string(), Shape::plain(value))).collect())
            }
            other => match model::temporal::text(other) {
                Some(text) => Shape::Text(text),
                None => Shape::Other(format!("{other:?}")),
            },
        }
    }

    /// A value with everything about its entities.
    pub fn hydrated(value: &Hydrated) -> Shape {
        match value {
            Hydrated::Plain(value) => Shape::plain(value),
            Hydrated::List(items) => Shape::List(items.iter().map(Shape::hydrated).collect()),
            Hydrated::Map(entries) => Shape::Map(
                entries.iter().map(|(key, value)| (key.to_string(), Shape::hydrated(value))).collect(),
            ),
            Hydrated::Node(node) => Shape::node(node),
            Hydrated::Relationship(relationship) => Shape::relationship(relationship),
            Hydrated::Path(nodes, relationships) => {
                let steps = relationships.iter().zip(nodes.windows(2)).map(|(relationship, ends)| {
                    let forward = relationship.edge.source == ends[0].id;
                    (forward, Shape::relationship(relationship), Shape::node(&ends[1]))
                });
                Shape::Path(steps.collect(), Box::new(Shape::node(&nodes[0])))
            }
        }
    }

    fn node(node: &Node) -> Shape {
        let mut labels: Vec<String> = node.labels.iter().map(|label| label.to_string()).collect();
        labels.sort();
        Shape::Node(labels, properties(&node.properties))
    }

    fn relationship(relationship: &Relationship) -> Shape {
        Shape::Relationship(relationship.edge_type.to_string(), properties(&relationship.properties))
    }

    /// The same with the elements of its lists in a fixed order.
    pub fn with_sorted_lists(self) -> Shape {
        match self {
            Shape::List(items) => {
                let mut items: Vec<Shape> = items.into_iter().map(Shape::with_sorted_lists).collect();
                items.sort();
                Shape::List(items)
            }
            Shape::Map(map) => {
                Shape::Map(map.into_iter().map(|(key, value)| (key, value.with_sorted_lists())).collect())
            }
            other => other,
        }
    }
}

fn properties(properties: &[(Arc<str>, Value)]) -> BTreeMap<String, Shape> {
    properties.iter().map(|(key, value)| (key.to_string(), Shape::plain(value))).collect()
}

/// The shape of a value of a result.
///
/// # Errors
/// The entities in it cannot be read.
pub fn of(value: &Value, result: &database::QueryResult) -> Result<Shape, database::Error> {
    Ok(Shape::hydrated(&entity::hydrate(value, result.snapshot())?))
}
