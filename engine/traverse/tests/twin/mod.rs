//! A graph as lists, which the machine walks; and what is made of a text by it.

use gremlin::{Bindings, Object, Request};
use model::{Direction, EdgeId, EdgeRef, VertexId};
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};
use tanglewood_traverse::error::Outcome;
use tanglewood_traverse::pipeline::Worked;
use tanglewood_traverse::{Graph, Kept, Machine, TraverseError, Wanted, compile};

/// A vertex: labels and, by key, values.
#[derive(Clone, Debug, Default)]
pub struct Vertex {
    pub labels: Vec<Arc<str>>,
    pub properties: Vec<(Arc<str>, Vec<Kept>)>,
}

/// An edge: where it leads, its type, values by key.
#[derive(Clone, Debug)]
pub struct Edge {
    pub edge: EdgeRef,
    pub kind: Arc<str>,
    pub properties: Vec<(Arc<str>, Object)>,
}

/// The lists; those that were removed are none.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    pub vertices: Vec<Option<Vertex>>,
    pub edges: Vec<Option<Edge>>,
}

impl Lists {
    pub fn ids(&self) -> impl Iterator<Item = VertexId> + '_ {
        let there = self.vertices.iter().enumerate().filter(|(_, vertex)| vertex.is_some());
        there.map(|(at, _)| VertexId(at as u64))
    }
    pub fn vertex(&self, id: VertexId) -> Option<&Vertex> {
        self.vertices.get(id.0 as usize)?.as_ref()
    }
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter().flatten()
    }
    /// The first value of a key, as a number.
    pub fn number(&self, id: VertexId, key: &str) -> Option<i64> {
        let held = &self.vertex(id)?.properties;
        held.iter().find(|(name, _)| **name == *key)?.1.first()?.value.as_long()
    }
    /// Ends of edges of this type (or all) that leave, as often as there are edges.
    pub fn out(&self, id: VertexId, kind: Option<&str>) -> Vec<VertexId> {
        let own = self.edges().filter(|edge| edge.edge.source == id);
        own.filter(|edge| kind.is_none_or(|kind| *edge.kind == *kind)).map(|edge| edge.edge.target).collect()
    }
}

/// The lists as the machine sees them; shared, so that what it changes can be looked at.
#[derive(Clone, Default)]
pub struct Walked {
    pub lists: Arc<Mutex<Lists>>,
    /// Vertices and edges of one part of a scan.
    pub part: usize,
    pub chance: Cell<u64>,
    pub pauses: RefCell<u64>,
    /// Ends after so many pauses.
    pub pauses_max: Option<u64>,
}

fn missing(what: &str) -> TraverseError {
    TraverseError::Graph {
        code: "missing".into(),
        message: format!("no such {what}"),
        hint: None,
        retryable: false,
    }
}

impl Walked {
    pub fn of(lists: Lists) -> Walked {
        Walked { lists: Arc::new(Mutex::new(lists)), part: 3, ..Walked::default() }
    }
    fn with<T>(&self, work: impl FnOnce(&mut Lists) -> T) -> T {
        work(&mut self.lists.lock().unwrap())
    }
    fn own<T>(&self, vertex: VertexId, work: impl FnOnce(&mut Vertex) -> T) -> Outcome<T> {
        self.with(|lists| {
            let found = lists.vertices.get_mut(vertex.0 as usize).and_then(Option::as_mut);
            found.map(work).ok_or_else(|| missing("vertex"))
        })
    }
    fn own_edge<T>(&self, edge: &EdgeRef, work: impl FnOnce(&mut Edge) -> T) -> Outcome<T> {
        self.with(|lists| {
            let found = lists.edges.get_mut(edge.id.0 as usize).and_then(Option::as_mut);
            found.map(work).ok_or_else(|| missing("edge"))
        })
    }
}

impl Graph for Walked {
    fn vertices(&self, wanted: &Wanted, cursor: u64, found: &mut Vec<VertexId>) -> Outcome<Option<u64>> {
        self.with(|lists| {
            let end = (cursor as usize + self.part.max(1)).min(lists.vertices.len());
            for at in cursor as usize..end {
                let Some(vertex) = &lists.vertices[at] else { continue };
                let has_label = wanted.labels.is_empty()
                    || wanted.labels.iter().any(|label| vertex.labels.contains(label));
                if has_label {
                    found.push(VertexId(at as u64));
                }
            }
            Ok((end < lists.vertices.len()).then_some(end as u64))
        })
    }
    fn edges(&self, cursor: u64, found: &mut Vec<EdgeRef>) -> Outcome<Option<u64>> {
        self.with(|lists| {
            let end = (cursor as usize + self.part.max(1)).min(lists.edges.len());
            let part = lists.edges[cursor as usize..end].iter().flatten();
            found.extend(part.map(|edge| edge.edge));
            Ok((end < lists.edges.len()).then_some(end as u64))
        })
    }
    fn vertex_by_id(&self, id: &Object) -> Outcome<Option<VertexId>> {
        let id = id.as_long().map(|id| VertexId(id as u64));
        Ok(self.with(|lists| id.filter(|id| lists.vertex(*id).is_some())))
    }
    fn edge_by_id(&self, id: &Object) -> Outcome<Option<EdgeRef>> {
        let at = id.as_long().map_or(usize::MAX, |id| id as usize);
        Ok(self.with(|lists| lists.edges.get(at).and_then(Option::as_ref).map(|edge| edge.edge)))
    }
    fn vertex_exists(&self, vertex: VertexId) -> Outcome<bool> {
        Ok(self.with(|lists| lists.vertex(vertex).is_some()))
    }
    fn edge_exists(&self, edge: &EdgeRef) -> Outcome<bool> {
        Ok(self.own_edge(edge, |_| ()).is_ok())
    }
    fn adjacent(
        &self,
        vertex: VertexId,
        direction: Direction,
        types: &[Arc<str>],
        found: &mut Vec<EdgeRef>,
    ) -> Outcome<()> {
        self.with(|lists| {
            for edge in lists.edges().filter(|edge| types.is_empty() || types.contains(&edge.kind)) {
                let (out, into) = (edge.edge.source == vertex, edge.edge.target == vertex);
                let count = match direction {
                    Direction::Out => usize::from(out),
                    Direction::In => usize::from(into),
                    Direction::Both => usize::from(out) + usize::from(into),
                };
                found.extend(std::iter::repeat_n(edge.edge, count));
            }
        });
        Ok(())
    }
    fn vertex_id(&self, vertex: VertexId) -> Outcome<Object> {
        Ok(Object::Long(vertex.0 as i64))
    }
    fn edge_id(&self, edge: &EdgeRef) -> Outcome<Object> {
        Ok(Object::Long(edge.id.0 as i64))
    }
    fn labels(&self, vertex: VertexId) -> Outcome<Vec<Arc<str>>> {
        self.own(vertex, |vertex| vertex.labels.clone())
    }
    fn edge_type(&self, edge: &EdgeRef) -> Outcome<Arc<str>> {
        self.own_edge(edge, |edge| edge.kind.clone())
    }
    fn property(&self, vertex: VertexId, key: &str) -> Outcome<Vec<Kept>> {
        self.own(vertex, |vertex| {
            let found = vertex.properties.iter().find(|(name, _)| **name == *key);
            found.map(|(_, values)| values.clone()).unwrap_or_default()
        })
    }
    fn properties(&self, vertex: VertexId) -> Outcome<Vec<(Arc<str>, Vec<Kept>)>> {
        self.own(vertex, |vertex| vertex.properties.clone())
    }
    fn edge_property(&self, edge: &EdgeRef, key: &str) -> Outcome<Option<Object>> {
        self.own_edge(edge, |edge| {
            edge.properties.iter().find(|(name, _)| **name == *key).map(|(_, value)| value.clone())
        })
    }
    fn edge_properties(&self, edge: &EdgeRef) -> Outcome<Vec<(Arc<str>, Object)>> {
        self.own_edge(edge, |edge| edge.properties.clone())
    }
    fn add_vertex(&self, labels: &[Arc<str>], _id: Option<&Object>) -> Outcome<VertexId> {
        self.with(|lists| {
            lists.vertices.push(Some(Vertex { labels: labels.to_vec(), properties: Vec::new() }));
            Ok(VertexId(lists.vertices.len() as u64 - 1))
        })
    }
    fn add_edge(
        &self,
        kind: &str,
        source: VertexId,
        target: VertexId,
        _id: Option<&Object>,
    ) -> Outcome<EdgeRef> {
        self.with(|lists| {
            let edge = EdgeRef { id: EdgeId(lists.edges.len() as u64), source, target };
            lists.edges.push(Some(Edge { edge, kind: kind.into(), properties: Vec::new() }));
            Ok(edge)
        })
    }
    fn set_property(&self, vertex: VertexId, key: &str, values: &[Kept]) -> Outcome<()> {
        self.own(vertex, |vertex| {
            vertex.properties.retain(|(name, _)| **name != *key);
            if !values.is_empty() {
                vertex.properties.push((key.into(), values.to_vec()));
            }
        })
    }
    fn set_edge_property(&self, edge: &EdgeRef, key: &str, value: Option<&Object>) -> Outcome<()> {
        self.own_edge(edge, |edge| {
            edge.properties.retain(|(name, _)| **name != *key);
            edge.properties.extend(value.map(|value| (key.into(), value.clone())));
        })
    }
    fn remove_vertex(&self, vertex: VertexId) -> Outcome<()> {
        self.with(|lists| {
            for edge in &mut lists.edges {
                if edge.as_ref().is_some_and(|edge| edge.edge.source == vertex || edge.edge.target == vertex)
                {
                    *edge = None;
                }
            }
            lists.vertices[vertex.0 as usize] = None;
        });
        Ok(())
    }
    fn remove_edge(&self, edge: &EdgeRef) -> Outcome<()> {
        self.with(|lists| lists.edges[edge.id.0 as usize] = None);
        Ok(())
    }
    fn pause(&self, _waiting: usize) -> Outcome<()> {
        *self.pauses.borrow_mut() += 1;
        match self.pauses_max.is_some_and(|max| *self.pauses.borrow() > max) {
            true => Err(TraverseError::Limit("enough".into())),
            false => Ok(()),
        }
    }
    fn chance(&self) -> u64 {
        self.chance
            .set(self.chance.get().wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
        self.chance.get() >> 11
    }
    fn elapsed_ns(&self) -> u64 {
        0
    }
    fn now(&self) -> (i64, u32) {
        (0, 0)
    }
}

/// Six people and programs by the numbers that they have everywhere, and the edges 7 to 12.
pub fn modern() -> Lists {
    let vertex = |label: &str, properties: Vec<(&str, Object)>| {
        let kept = properties.into_iter().map(|(key, value)| (key.into(), vec![Kept::plain(value)]));
        Some(Vertex { labels: vec![label.into()], properties: kept.collect() })
    };
    let text = |text: &str| Object::String(text.into());
    let person =
        |name: &str, age: i32| vertex("person", vec![("name", text(name)), ("age", Object::Int(age))]);
    let program = |name: &str| vertex("software", vec![("name", text(name)), ("lang", text("java"))]);
    let vertices = vec![
        None,
        person("marko", 29),
        person("vadas", 27),
        program("lop"),
        person("josh", 32),
        program("ripple"),
        person("peter", 35),
    ];
    let edge = |(id, source, kind, target, weight): (u64, u64, &str, u64, f64)| {
        let edge = EdgeRef { id: EdgeId(id), source: VertexId(source), target: VertexId(target) };
        Some(Edge { edge, kind: kind.into(), properties: vec![("weight".into(), Object::Double(weight))] })
    };
    let edges = [
        (7, 1, "knows", 2, 0.5),
        (8, 1, "knows", 4, 1.0),
        (9, 1, "created", 3, 0.4),
        (10, 4, "created", 5, 1.0),
        (11, 4, "created", 3, 0.4),
        (12, 6, "created", 3, 0.2),
    ];
    let edges = (0..7).map(|_| None).chain(edges.map(edge)).collect();
    Lists { vertices, edges }
}

/// What a text gives, each object as often as it is there.
pub fn run(graph: &Walked, text: &str) -> Outcome<Vec<Object>> {
    let requests = gremlin::parse(text, &Bindings::default())?;
    let [Request::Traversal(traversal, _)] = &requests[..] else { panic!("{text}: no traversal") };
    gremlin::check(traversal)?;
    let machine = Machine::new(Box::new(graph.clone()), Arc::new(compile(traversal)?));
    let mut pipeline = machine.start();
    let mut all = Vec::new();
    loop {
        match pipeline.work_on(&machine)? {
            Worked::Found(some) => all
                .extend(some.into_iter().flat_map(|one| std::iter::repeat_n(one.object, one.bulk as usize))),
            Worked::Working => {}
            Worked::Done => return Ok(all),
        }
    }
}
