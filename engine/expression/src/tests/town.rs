//! A small graph for tests, held in maps: people who know each other.

use crate::error::EvalError;
use crate::graph::{Graph, Names, Visit};
use model::{EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use std::collections::HashMap;
use std::sync::Arc;
use store::PropertyRef;

const LABELS: [&str; 3] = ["Person", "Student", "Dog"];
const TYPES: [&str; 2] = ["KNOWS", "OWNS"];
const KEYS: [&str; 4] = ["name", "age", "weight", "since"];

/// Vertices 0 to [`PEOPLE`] - 1; those above are deleted.
pub(crate) const PEOPLE: u64 = 40;

/// The graph.
pub(crate) struct Town {
    properties: HashMap<(VertexId, KeyId), Value>,
    edge_properties: HashMap<(EdgeId, KeyId), Value>,
}

/// The i-th edge: it leads from person i to person i + 1, and is of type KNOWS or, every third, OWNS.
pub(crate) fn edge(i: u64) -> EdgeRef {
    let id = EdgeId::new(0, EdgeTypeId(u16::from(i % 3 == 2)), i as u32);
    EdgeRef { id, source: VertexId(i), target: VertexId(i + 1) }
}

impl Town {
    /// Person i is called Ann, Bo, Cy or nothing at all, is i years old (every seventh has no age), and weighs a float, an
    /// integer, or a text.
    pub(crate) fn new() -> Town {
        let mut properties = HashMap::new();
        for i in 0..PEOPLE {
            let mut set = |key: u32, value: Value| properties.insert((VertexId(i), KeyId(key)), value);
            if let Some(name) = ["Ann", "Bo", "Cy"].get(i as usize % 4) {
                set(0, (*name).into());
            }
            if i % 7 != 3 {
                set(1, Value::Int(i as i64));
            }
            set(
                2,
                [Value::Float(i as f64 / 2.0), Value::Int(i as i64), "heavy".into()][i as usize % 3].clone(),
            );
        }
        let since = |i: u64| ((edge(i).id, KeyId(3)), Value::Int(2_000 + i as i64));
        Town { properties, edge_properties: (0..PEOPLE - 1).step_by(2).map(since).collect() }
    }
    fn must_exist(vertex: VertexId) -> Result<(), EvalError> {
        if vertex.0 < PEOPLE || vertex == model::NO_VERTEX {
            return Ok(());
        }
        Err(EvalError::entity_not_found(format!("Node with id {}", vertex.0)))
    }
}

impl Names for Town {
    fn label(&self, name: &str) -> Option<LabelId> {
        LABELS.iter().position(|known| *known == name).map(|at| LabelId(at as u16))
    }
    fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        TYPES.iter().position(|known| *known == name).map(|at| EdgeTypeId(at as u16))
    }
    fn key(&self, name: &str) -> Option<KeyId> {
        KEYS.iter().position(|known| *known == name).map(|at| KeyId(at as u32))
    }
}

fn borrowed(value: Option<&Value>) -> PropertyRef<'_> {
    value.map_or(PropertyRef::Null, PropertyRef::from)
}

impl Graph for Town {
    fn label_name(&self, label: LabelId) -> Arc<str> {
        LABELS[label.0 as usize].into()
    }
    fn edge_type_name(&self, edge_type: EdgeTypeId) -> Arc<str> {
        TYPES[edge_type.0 as usize].into()
    }
    fn key_name(&self, key: KeyId) -> Arc<str> {
        KEYS[key.0 as usize].into()
    }
    /// Everyone is a person, every second one a student; person 39 carries no label.
    fn labels(&self, vertex: VertexId) -> Result<Vec<LabelId>, EvalError> {
        Town::must_exist(vertex)?;
        Ok(match vertex.0 {
            39 => Vec::new(),
            i if i % 2 == 0 => vec![LabelId(0), LabelId(1)],
            _ => vec![LabelId(0)],
        })
    }
    fn has_label(&self, vertex: VertexId, label: LabelId) -> Result<bool, EvalError> {
        Ok(self.labels(vertex)?.contains(&label))
    }
    fn property(&self, vertex: VertexId, key: KeyId) -> Result<Value, EvalError> {
        Town::must_exist(vertex)?;
        Ok(self.properties.get(&(vertex, key)).cloned().unwrap_or_default())
    }
    fn properties(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        let keys = (0..KEYS.len() as u32).map(KeyId);
        keys.map(|key| Ok((key, self.property(vertex, key)?))).collect()
    }
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Value, EvalError> {
        Ok(self.edge_properties.get(&(edge, key)).cloned().unwrap_or_default())
    }
    fn edge_exists(&self, edge: EdgeRef) -> Result<bool, EvalError> {
        Ok(edge.source.0 < PEOPLE)
    }
    fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        Ok(vec![(KeyId(3), self.edge_property(edge, KeyId(3))?)])
    }
    fn read_property(
        &self,
        vertices: &mut dyn Iterator<Item = VertexId>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        for vertex in vertices {
            Town::must_exist(vertex)?;
            visit(borrowed(self.properties.get(&(vertex, key))));
        }
        Ok(())
    }
    fn read_edge_property(
        &self,
        edges: &mut dyn Iterator<Item = Option<EdgeId>>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        edges.for_each(|edge| visit(borrowed(edge.and_then(|edge| self.edge_properties.get(&(edge, key))))));
        Ok(())
    }
}
