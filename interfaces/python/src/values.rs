//! Values of the database as objects of Python. Nodes, relationships and paths become objects of the package's own classes.

use crate::imported::Imported;
use crate::temporal;
use database::entity::{Hydrated, Node, Relationship, edge_element_id, vertex_element_id};
use model::Value;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::sync::Arc;

static NODE: Imported = Imported::new("tanglewood.graph", "Node");
static RELATIONSHIP: Imported = Imported::new("tanglewood.graph", "Relationship");
static PATH: Imported = Imported::new("tanglewood.graph", "Path");
static POINT: Imported = Imported::new("tanglewood.values", "Point");

/// A value without entities.
pub fn plain<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::Int(value) => PyInt::new(py, *value).into_any(),
        Value::Float(value) => PyFloat::new(py, *value).into_any(),
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Value::List(list) => {
            let items = list.iter().map(|item| plain(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Map(map) => {
            let dict = PyDict::new(py);
            for (key, item) in map.iter() {
                dict.set_item(&**key, plain(py, item)?)?;
            }
            dict.into_any()
        }
        Value::Point(point) => POINT.get(py)?.call1((point.srid, point.x, point.y, point.z))?,
        // An entity that was not looked up: as its number. The façade looks up all of them.
        Value::Vertex(vertex) => PyInt::new(py, vertex.0).into_any(),
        Value::Edge(edge) => PyInt::new(py, edge.id.0).into_any(),
        Value::Path(path) => PyList::new(py, path.vertices.iter().map(|vertex| vertex.0))?.into_any(),
        instant => temporal::object(py, instant)?,
    })
}

/// A value whose entities were looked up.
pub fn whole<'py>(py: Python<'py>, value: &Hydrated, home: u64) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Hydrated::Plain(value) => plain(py, value)?,
        Hydrated::List(items) => {
            let items = items.iter().map(|item| whole(py, item, home)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Hydrated::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, item) in entries {
                dict.set_item(&**key, whole(py, item, home)?)?;
            }
            dict.into_any()
        }
        Hydrated::Node(node) => node_object(py, node, home)?,
        Hydrated::Relationship(relationship) => relationship_object(py, relationship, home)?,
        Hydrated::Path(nodes, relationships) => {
            let nodes = nodes.iter().map(|node| node_object(py, node, home));
            let nodes = PyTuple::new(py, nodes.collect::<PyResult<Vec<_>>>()?)?;
            let edges = relationships.iter().map(|edge| relationship_object(py, edge, home));
            let edges = PyTuple::new(py, edges.collect::<PyResult<Vec<_>>>()?)?;
            PATH.get(py)?.call1((nodes, edges))?
        }
    })
}

fn named<'py>(py: Python<'py>, properties: &[(Arc<str>, Value)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in properties {
        dict.set_item(&**key, plain(py, value)?)?;
    }
    Ok(dict)
}

fn node_object<'py>(py: Python<'py>, node: &Node, home: u64) -> PyResult<Bound<'py, PyAny>> {
    let labels = PyTuple::new(py, node.labels.iter().map(|label| &**label))?;
    let parts = (home, node.id.0, vertex_element_id(node.id), labels, named(py, &node.properties)?);
    NODE.get(py)?.call1(parts)
}

fn relationship_object<'py>(
    py: Python<'py>,
    relationship: &Relationship,
    home: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let edge = relationship.edge;
    let properties = named(py, &relationship.properties)?;
    let ends = (edge.source.0, edge.target.0);
    let parts = (home, edge.id.0, edge_element_id(edge.id), &*relationship.edge_type, ends, properties);
    RELATIONSHIP.get(py)?.call1(parts)
}
