//! `call`: runs a service of [`crate::services`] for a traverser.

use crate::error::{Outcome, TraverseError};
use crate::limits::COLLECTION_MAX;
use crate::machine::Machine;
use crate::services::{Call, Offered, SERVICES, Service};
use crate::step::Name;
use crate::traverser::{Out, Traverser};
use gremlin::{Object, Property, Token};
use model::{Direction, VertexId};
use std::sync::Arc;

/// Steps of a search between two pauses.
const CURSOR_ELEMENTS: usize = 256;

/// Parameters of one call; the first of a name counts.
type CallParameters = Vec<(Object, Object)>;

fn parameter<'p>(parameters: &'p CallParameters, name: &str) -> Option<&'p Object> {
    parameters.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
}

impl Machine {
    /// Calls a service for a traverser.
    pub(crate) fn call(&self, call: &Call, traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        let parameters = self.parameters(call, traverser)?;
        match call.service {
            Service::List => {
                out.extend(listed(&parameters).into_iter().map(|one| traverser.to(one, self.keeps_path)));
                Ok(())
            }
            Service::Search => self.search(&parameters, traverser, out),
            Service::Program => {
                let start = match &traverser.object {
                    Object::Vertex(vertex) => Some(*vertex),
                    _ => None,
                };
                let name = call.program.as_deref().unwrap_or_default();
                self.graph.run_program(name, start, &parameters, &mut |vertex, value| {
                    let pairs = vec![
                        (Object::string("node"), Object::Vertex(vertex)),
                        (Object::string("value"), value),
                    ];
                    if out.len() >= COLLECTION_MAX {
                        let message = format!("program.{name} gives more than {COLLECTION_MAX} rows");
                        return Err(TraverseError::Limit(message));
                    }
                    out.push(traverser.to(Object::map(pairs), self.keeps_path));
                    Ok(())
                })
            }
            Service::Degree => {
                let Object::Vertex(vertex) = &traverser.object else {
                    let message = format!("{} is no vertex", traverser.object);
                    return Err(TraverseError::step("call", format!("tinker.degree.centrality: {message}")));
                };
                let degree = self.degree(*vertex, &parameters)?;
                out.push(traverser.to(Object::Long(degree), self.keeps_path));
                Ok(())
            }
        }
    }

    fn parameters(&self, call: &Call, traverser: &Traverser) -> Outcome<CallParameters> {
        let mut all = Vec::new();
        for (name, given) in &call.named {
            all.extend(self.given(given, traverser)?.map(|value| (Object::String(name.clone()), value)));
        }
        if let Some(body) = &call.body {
            let start = Traverser { bulk: 1, ..traverser.clone() };
            match self.first(body, start)?.map(|found| found.object) {
                Some(Object::Map(pairs)) => all.extend(pairs.iter().cloned()),
                None => {}
                Some(other) => {
                    let message = format!("parameters are a map, not {other}");
                    return Err(TraverseError::step("call", message));
                }
            }
        }
        if let Some(Object::Map(pairs)) = &call.map {
            all.extend(pairs.iter().cloned());
        }
        Ok(all)
    }

    fn search(&self, parameters: &CallParameters, traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        let Some(Object::String(wanted)) = parameter(parameters, "search") else {
            return Err(TraverseError::step("call", "tinker.search wants a text as `search`"));
        };
        let kind = parameter(parameters, "type").and_then(Object::as_str);
        let takes = |name: &str| kind.is_none_or(|kind| kind == name);
        if takes("Vertex") || takes("VertexProperty") {
            let given = out.len();
            let mut give = |one| self.give(one, traverser, out);
            self.search_vertices(wanted, [takes("Vertex"), takes("VertexProperty")], given, &mut give)?;
        }
        if takes("Edge") {
            self.search_edges(wanted, out.len(), &mut |one| self.give(one, traverser, out))?;
        }
        Ok(())
    }
    /// Emits one hit; returns how many this turn has emitted.
    fn give(&self, hit: Object, traverser: &Traverser, out: Out<'_>) -> Outcome<usize> {
        if out.len() >= COLLECTION_MAX {
            let message = format!("tinker.search finds more than {COLLECTION_MAX} properties");
            return Err(TraverseError::Limit(message));
        }
        out.push(traverser.to(hit, self.keeps_path));
        Ok(out.len())
    }
    fn search_vertices(
        &self,
        wanted: &str,
        [own, meta]: [bool; 2],
        mut given: usize,
        give: Give<'_>,
    ) -> Outcome<()> {
        let (mut cursor, mut some) = (Some(0), Vec::with_capacity(CURSOR_ELEMENTS));
        while let Some(from) = cursor {
            some.clear();
            cursor = self.graph.vertices(&crate::graph::Wanted::default(), from, &mut some)?;
            for (at, vertex) in some.iter().enumerate() {
                if at % CURSOR_ELEMENTS == 0 {
                    self.pause_holding(given)?;
                }
                if !self.sees_vertex(*vertex)? {
                    continue;
                }
                for property in self.properties_of(&Object::Vertex(*vertex), &[])? {
                    let Object::VertexProperty(known) = &property else { continue };
                    if meta {
                        for (key, value) in known.meta.iter().filter(|(_, value)| contains(value, wanted)) {
                            given = give(of(&property, key, value))?;
                        }
                    }
                    if own && contains(&known.value, wanted) {
                        given = give(property)?;
                    }
                }
            }
            self.pause_holding(given)?;
        }
        Ok(())
    }
    fn search_edges(&self, wanted: &str, mut given: usize, give: Give<'_>) -> Outcome<()> {
        let (mut cursor, mut some) = (Some(0), Vec::with_capacity(CURSOR_ELEMENTS));
        while let Some(from) = cursor {
            some.clear();
            cursor = self.graph.edges(from, &mut some)?;
            for (at, edge) in some.iter().enumerate() {
                if at % CURSOR_ELEMENTS == 0 {
                    self.pause_holding(given)?;
                }
                if !self.sees_edge(edge)? {
                    continue;
                }
                let owner = Object::Edge(Arc::new(*edge));
                let properties = self.graph.edge_properties(edge)?;
                for (key, value) in properties.iter().filter(|(_, value)| contains(value, wanted)) {
                    given = give(of(&owner, key, value))?;
                }
            }
            self.pause_holding(given)?;
        }
        Ok(())
    }

    fn degree(&self, vertex: VertexId, parameters: &CallParameters) -> Outcome<i64> {
        let direction = match parameter(parameters, "direction") {
            None | Some(Object::Token(Token::In)) => Direction::In,
            Some(Object::Token(Token::Out)) => Direction::Out,
            Some(Object::Token(Token::Both)) => Direction::Both,
            Some(other) => {
                let message = format!("tinker.degree.centrality: {other} is no direction");
                return Err(TraverseError::step("call", message));
            }
        };
        let mut edges = Vec::new();
        self.graph.adjacent(vertex, direction, &[], &mut edges)?;
        if !self.sees_all() {
            let seen = edges.iter().map(|edge| self.sees_edge(edge)).collect::<Outcome<Vec<_>>>()?;
            return Ok(seen.into_iter().filter(|sees| *sees).count() as i64);
        }
        Ok(edges.len() as i64)
    }
}

/// Gives a hit; says how many there are.
type Give<'g> = &'g mut dyn FnMut(Object) -> Outcome<usize>;

fn of(owner: &Object, key: &Name, value: &Object) -> Object {
    Object::Property(Arc::new(Property { owner: owner.clone(), key: key.clone(), value: value.clone() }))
}

fn contains(value: &Object, wanted: &str) -> bool {
    value.as_str().is_some_and(|text| text.contains(wanted))
}

/// The services that match.
fn listed(parameters: &CallParameters) -> Vec<Object> {
    let only = parameter(parameters, "service").and_then(Object::as_str);
    let verbose = parameter(parameters, "verbose") == Some(&Object::Bool(true));
    let chosen = SERVICES.iter().filter(|(name, ..)| only.is_none_or(|only| only == *name));
    let described = |(name, _, takes): &Offered| {
        let takes = takes.iter().map(|(name, what)| (Object::string(*name), Object::string(*what)));
        match verbose {
            false => Object::string(*name),
            true => Object::map(vec![
                (Object::string("name"), Object::string(*name)),
                (Object::string("params"), Object::map(takes.collect())),
            ]),
        }
    };
    chosen.map(described).collect()
}
