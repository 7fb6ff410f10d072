//! A graph small enough to search by hand, and statistics that need not be true of it.

use super::chance::Chance;
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, Value, VertexId};
use std::collections::HashMap;
use std::ops::Bound;
use tanglewood_plan::{LabelExpr, Planning};

pub const LABELS: [&str; 3] = ["A", "B", "C"];
pub const TYPES: [&str; 3] = ["R", "S", "T"];
pub const KEYS: [&str; 2] = ["p", "q"];

#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub vertices: Vec<Vertex>,
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug, Default)]
pub struct Vertex {
    pub labels: Vec<&'static str>,
    pub properties: HashMap<&'static str, i64>,
}

#[derive(Clone, Debug)]
pub struct Edge {
    pub edge: EdgeRef,
    pub edge_type: &'static str,
    pub p: i64,
}

impl Graph {
    pub fn random(chance: &mut Chance) -> Graph {
        let mut graph = Graph::default();
        for _ in 0..1 + chance.below(5) {
            let labels = LABELS.into_iter().filter(|_| chance.percent(50)).collect();
            let mut vertex = Vertex { labels, properties: HashMap::new() };
            for key in KEYS {
                if chance.percent(80) {
                    vertex.properties.insert(key, chance.below(3) as i64);
                }
            }
            graph.vertices.push(vertex);
        }
        for _ in 0..chance.below(8) {
            let (source, target) = (chance.below(graph.vertices.len()), chance.below(graph.vertices.len()));
            let edge_type = chance.pick(&TYPES);
            let p = chance.below(3) as i64;
            graph.add_edge(source, target, edge_type, p)
        }
        graph
    }
    pub fn add_edge(&mut self, source: usize, target: usize, edge_type: &'static str, p: i64) {
        let number = TYPES.iter().position(|name| *name == edge_type).unwrap() as u16;
        let id = EdgeId::new(0, EdgeTypeId(number), self.edges.len() as u32);
        let edge = EdgeRef { id, source: VertexId(source as u64), target: VertexId(target as u64) };
        self.edges.push(Edge { edge, edge_type, p })
    }
    pub fn has(&self, vertex: VertexId, labels: &LabelExpr) -> bool {
        let own = &self.vertices[vertex.0 as usize].labels;
        match labels {
            LabelExpr::Any => true,
            LabelExpr::Has(name) => own.contains(&&**name),
            LabelExpr::Some => !own.is_empty(),
            LabelExpr::And(a, b) => self.has(vertex, a) && self.has(vertex, b),
            LabelExpr::Or(a, b) => self.has(vertex, a) || self.has(vertex, b),
            LabelExpr::Not(a) => !self.has(vertex, a),
        }
    }
    pub fn property(&self, subject: &Value, key: &str) -> Value {
        let found = match subject {
            Value::Vertex(vertex) => self.vertices[vertex.0 as usize].properties.get(key).copied(),
            Value::Edge(edge) => {
                self.edges.iter().find(|e| e.edge == **edge).filter(|_| key == "p").map(|e| e.p)
            }
            _ => None,
        };
        found.map_or(Value::Null, Value::Int)
    }
    /// Edges at a vertex with their far ends; a loop counts once.
    pub fn at(
        &self,
        vertex: VertexId,
        types: &[std::sync::Arc<str>],
        direction: Direction,
    ) -> Vec<(EdgeRef, VertexId)> {
        let mut found = Vec::new();
        for Edge { edge, edge_type, .. } in &self.edges {
            if !types.is_empty() && !types.iter().any(|name| **name == **edge_type) {
                continue;
            }
            let (out, into) = (edge.source == vertex, edge.target == vertex);
            let (forth, back) = (direction != Direction::In, direction != Direction::Out);
            if out && forth {
                found.push((*edge, edge.target))
            } else if into && back {
                found.push((*edge, edge.source))
            }
        }
        found
    }
}

/// Figures drawn from a seed, the same for the same question.
pub struct RandomFigures(pub u64);

impl RandomFigures {
    fn chance(&self, what: &str) -> Chance {
        let mixed =
            what.bytes().fold(self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
        Chance(mixed)
    }
    fn figure(&self, what: &str) -> f64 {
        let mut chance = self.chance(what);
        10_f64.powi(chance.below(6) as i32) * (1 + chance.below(9)) as f64
    }
}

impl Planning for RandomFigures {
    fn vertices(&self, label: Option<&str>) -> f64 {
        label.map_or(5e5, |label| self.figure(label).min(5e5))
    }
    fn edges(&self, near: Option<&str>, types: &[&str], direction: Direction) -> f64 {
        self.figure(&format!("{near:?}{types:?}{direction:?}"))
    }
    fn far_share(&self, near: Option<&str>, types: &[&str], direction: Direction, far: &str) -> f64 {
        self.chance(&format!("{near:?}{types:?}{direction:?}{far}")).below(100) as f64 / 100.0
    }
    fn index(&self, label: &str, keys: &[&str]) -> Option<Vec<String>> {
        let mut keys: Vec<String> = keys.iter().map(|key| key.to_string()).collect();
        keys.sort();
        self.chance(&format!("index {label}{keys:?}")).percent(50).then_some(keys)
    }
    fn labels_with_index(&self, key: &str) -> Vec<String> {
        LABELS.into_iter().filter(|label| self.index(label, &[key]).is_some()).map(String::from).collect()
    }
    fn distinct(&self, label: &str, keys: &[&str]) -> Option<f64> {
        Some(self.figure(&format!("distinct {label}{keys:?}")))
    }
    fn labels(&self) -> Vec<String> {
        LABELS
            .into_iter()
            .filter(|label| self.chance(&format!("told {label}")).percent(70))
            .map(String::from)
            .collect()
    }
    fn spread(&self, near: Option<&str>, types: &[&str], direction: Direction) -> Option<f64> {
        let mut chance = self.chance(&format!("spread {near:?}{types:?}{direction:?}"));
        chance.percent(50).then(|| 1.0 + chance.below(30) as f64)
    }
    fn edge_indexes(&self, edge_type: &str) -> Vec<Vec<String>> {
        let has = self.chance(&format!("edge index {edge_type}")).percent(60);
        if has { vec![vec!["p".to_string()]] } else { Vec::new() }
    }
    fn edges_between(
        &self,
        edge_type: &str,
        key: &str,
        low: Bound<&Value>,
        high: Bound<&Value>,
    ) -> Option<f64> {
        let mut chance = self.chance(&format!("between {edge_type}{key}{low:?}{high:?}"));
        chance.percent(50).then(|| chance.below(1_000) as f64)
    }
    fn between(&self, label: &str, key: &str, low: Bound<&Value>, high: Bound<&Value>) -> Option<f64> {
        let mut chance = self.chance(&format!("between {label}{key}{low:?}{high:?}"));
        chance.percent(50).then(|| chance.below(1_000) as f64)
    }
}
