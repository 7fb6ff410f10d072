//! `mergeV` and `mergeE`: find, or make.

use crate::changes::{key_text, label_text};
use crate::compare::equal;
use crate::error::{Outcome, TraverseError};
use crate::graph::Wanted;
use crate::machine::Machine;
use crate::step::{Given, Merge, Name};
use crate::traverser::{Out, Traverser};
use gremlin::{Object, Token};
use model::{Direction, EdgeRef, VertexId};
use std::sync::Arc;

type Pairs = Vec<(Object, Object)>;

impl Machine {
    pub(crate) fn merge(&self, merge: &Merge, traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        let step = if merge.vertices { "mergeV" } else { "mergeE" };
        let wanted = match &merge.wanted {
            Some(given) => self.map_of(step, given, traverser)?,
            None => pairs_of(step, traverser.object.clone())?,
        };
        check(step, &wanted)?;
        if let Some(Given::Value(_)) = &merge.on_create {
            self.to_create(step, merge, &wanted, traverser)?;
        }
        if let Some(Given::Value(given)) = &merge.on_match {
            // What is written out is wrong whether anything is found or not.
            for (key, _) in pairs_of(step, given.clone())? {
                if let Object::String(key) = key {
                    key_text(&key)?;
                }
            }
        }
        match merge.vertices {
            true => self.merge_vertex(merge, wanted, traverser, out),
            false => self.merge_edge(merge, wanted, traverser, out),
        }
    }

    fn map_of(&self, step: &'static str, given: &Given, traverser: &Traverser) -> Outcome<Pairs> {
        match self.given(given, traverser)? {
            Some(object) => pairs_of(step, object),
            None => Ok(Vec::new()),
        }
    }

    /// The initial properties of an element: those that were searched for, and those of `onCreate` that do not contradict them.
    fn to_create(
        &self,
        step: &'static str,
        merge: &Merge,
        wanted: &Pairs,
        traverser: &Traverser,
    ) -> Outcome<Pairs> {
        let mut all = wanted.clone();
        let Some(given) = &merge.on_create else { return Ok(all) };
        let more = self.map_of(step, given, traverser)?;
        check(step, &more)?;
        for (key, value) in more {
            match wanted.iter().find(|(known, _)| *known == key) {
                Some((_, known)) if !equal(known, &value) && !self.same_vertex(known, &value)? => {
                    let message = format!(
                        "option(onCreate) cannot override values from merge() argument: ({key}, {value})"
                    );
                    return Err(TraverseError::step(step, message));
                }
                Some(_) => {}
                None => all.push((key, value)),
            }
        }
        Ok(all)
    }
    fn same_vertex(&self, a: &Object, b: &Object) -> Outcome<bool> {
        let is_vertex = |object: &Object| matches!(object, Object::Vertex(_) | Object::Reference(_));
        Ok((is_vertex(a) || is_vertex(b))
            && self.vertex_of(a)?.is_some()
            && self.vertex_of(a)? == self.vertex_of(b)?)
    }

    /// Applies `onMatch` to an element that was found.
    fn on_match(
        &self,
        step: &'static str,
        merge: &Merge,
        found: &Object,
        traverser: &Traverser,
    ) -> Outcome<()> {
        let Some(given) = &merge.on_match else { return Ok(()) };
        let there = traverser.to(found.clone(), self.keeps_path);
        for (key, value) in self.map_of(step, given, &there)? {
            if let Object::Token(token) = key {
                let message = format!("option(onMatch) cannot set {}.{}", token.class(), token.name());
                return Err(TraverseError::step(step, message));
            }
            self.put_pair(found, &key, &value, None)?;
        }
        Ok(())
    }

    fn merge_vertex(&self, merge: &Merge, wanted: Pairs, traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        let found = self.find_vertices(&wanted)?;
        for vertex in &found {
            self.on_match("mergeV", merge, &Object::Vertex(*vertex), traverser)?;
        }
        let all = if found.is_empty() { vec![self.make_vertex(merge, &wanted, traverser)?] } else { found };
        out.extend(all.into_iter().map(|vertex| traverser.to(Object::Vertex(vertex), self.keeps_path)));
        Ok(())
    }

    fn make_vertex(&self, merge: &Merge, wanted: &Pairs, traverser: &Traverser) -> Outcome<VertexId> {
        let all = self.to_create("mergeV", merge, wanted, traverser)?;
        let label = label_text(token(&all, Token::TLabel), "vertex")?;
        let vertex = self.graph.add_vertex(&[label], token(&all, Token::TId).as_ref())?;
        self.write_partition(&Object::Vertex(vertex))?;
        self.put_rest(&Object::Vertex(vertex), &all)?;
        Ok(vertex)
    }
    fn put_rest(&self, object: &Object, pairs: &Pairs) -> Outcome<()> {
        for (key, value) in pairs.iter().filter(|(key, _)| !matches!(key, Object::Token(_))) {
            self.put_pair(object, key, value, None)?;
        }
        Ok(())
    }

    fn find_vertices(&self, wanted: &[(Object, Object)]) -> Outcome<Vec<VertexId>> {
        if let Some(id) = token(wanted, Token::TId) {
            let found = self.vertex_of(&id)?.into_iter().collect::<Vec<_>>();
            return self.fitting(found, wanted);
        }
        let mut looked_for = Wanted::default();
        if let Some(Object::String(label)) = token(wanted, Token::TLabel) {
            looked_for.labels.push(label);
        }
        for (key, value) in wanted {
            if let (Object::String(key), false) = (key, matches!(value, Object::Kept(_) | Object::Null)) {
                looked_for.equal.push((key.clone(), value.clone()));
            }
        }
        let (mut fitting, mut cursor) = (Vec::new(), Some(0));
        while let Some(from) = cursor {
            self.pause()?;
            let mut some = Vec::new();
            cursor = self.graph.vertices(&looked_for, from, &mut some)?;
            fitting.extend(self.fitting(some, wanted)?);
        }
        Ok(fitting)
    }
    fn fitting(&self, found: Vec<VertexId>, wanted: &[(Object, Object)]) -> Outcome<Vec<VertexId>> {
        let mut fitting = Vec::new();
        for vertex in found {
            if self.sees_vertex(vertex)? && self.fits(&Object::Vertex(vertex), wanted)? {
                fitting.push(vertex);
            }
        }
        Ok(fitting)
    }
    /// Has an element the label and the properties wanted?
    fn fits(&self, object: &Object, wanted: &[(Object, Object)]) -> Outcome<bool> {
        for (key, value) in wanted {
            let value = match value {
                Object::Kept(kept) => &kept.1,
                value => value,
            };
            let fits = match key {
                Object::Token(Token::TLabel) => equal(&self.label(object)?, value),
                Object::String(key) => self.values_of(object, key)?.iter().any(|known| equal(known, value)),
                _ => true,
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn merge_edge(&self, merge: &Merge, wanted: Pairs, traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        let wanted = self.with_ends(merge, wanted, traverser)?;
        let (source, target) = (self.end_of(&wanted, Token::Out)?, self.end_of(&wanted, Token::In)?);
        let mut found = Vec::new();
        for edge in self.candidates(&wanted, source, target)? {
            let ends = source.is_none_or(|source| edge.source == source)
                && target.is_none_or(|target| edge.target == target);
            if ends && self.sees_edge(&edge)? && self.fits(&Object::Edge(Arc::new(edge)), &wanted)? {
                found.push(Object::Edge(Arc::new(edge)));
            }
        }
        for edge in &found {
            self.on_match("mergeE", merge, edge, traverser)?;
        }
        if found.is_empty() {
            found.push(self.make_edge(merge, &wanted, traverser)?);
        }
        out.extend(found.into_iter().map(|edge| traverser.to(edge, self.keeps_path)));
        Ok(())
    }

    /// `Merge.outV` and `Merge.inV` replaced by the vertices they stand for.
    fn with_ends(&self, merge: &Merge, wanted: Pairs, traverser: &Traverser) -> Outcome<Pairs> {
        let mut resolved = Vec::with_capacity(wanted.len());
        for (key, value) in wanted {
            let given = match value {
                Object::Token(Token::OutV) => Some((&merge.out_vertex, "outV")),
                Object::Token(Token::InV) => Some((&merge.in_vertex, "inV")),
                _ => None,
            };
            let Some((given, word)) = given else {
                resolved.push((key, value));
                continue;
            };
            let vertex = match given {
                Some(given) => self.given(given, traverser)?,
                None => None,
            };
            let vertex = match vertex {
                // a map of id and properties describes a vertex, as mergeV takes it
                Some(Object::Map(pairs)) => {
                    self.find_vertices(&pairs)?.into_iter().next().map(Object::Vertex)
                }
                other => other,
            };
            let vertex = vertex.ok_or_else(|| {
                TraverseError::step(
                    "mergeE",
                    format!("option({word}) must be specified if it is used for Direction"),
                )
            })?;
            resolved.push((key, vertex));
        }
        Ok(resolved)
    }

    fn end_of(&self, pairs: &Pairs, direction: Token) -> Outcome<Option<VertexId>> {
        let Some(id) = token(pairs, direction) else { return Ok(None) };
        match self.vertex_of(&id)? {
            Some(vertex) => Ok(Some(vertex)),
            None => {
                let message = format!("Vertex id could not be resolved from mergeE: {id}");
                Err(TraverseError::step("mergeE", message))
            }
        }
    }

    fn candidates(
        &self,
        wanted: &Pairs,
        source: Option<VertexId>,
        target: Option<VertexId>,
    ) -> Outcome<Vec<EdgeRef>> {
        let mut found = Vec::new();
        if let Some(id) = token(wanted, Token::TId) {
            found.extend(self.graph.edge_by_id(&id)?);
            return Ok(found);
        }
        let types: Vec<Name> = match token(wanted, Token::TLabel) {
            Some(Object::String(label)) => vec![label],
            _ => Vec::new(),
        };
        match (source, target) {
            (Some(source), _) => self.graph.adjacent(source, Direction::Out, &types, &mut found)?,
            (None, Some(target)) => self.graph.adjacent(target, Direction::In, &types, &mut found)?,
            (None, None) => {
                let mut cursor = Some(0);
                while let Some(from) = cursor {
                    self.pause()?;
                    cursor = self.graph.edges(from, &mut found)?;
                }
            }
        }
        Ok(found)
    }

    fn make_edge(&self, merge: &Merge, wanted: &Pairs, traverser: &Traverser) -> Outcome<Object> {
        let all = self.to_create("mergeE", merge, wanted, traverser)?;
        let all = self.with_ends(merge, all, traverser)?;
        let missing = |end: &str| {
            TraverseError::step("mergeE", format!("{end} Vertex not specified - edge cannot be created"))
        };
        let source = self.end_of(&all, Token::Out)?.ok_or_else(|| missing("Out"))?;
        let target = self.end_of(&all, Token::In)?.ok_or_else(|| missing("In"))?;
        let label = label_text(token(&all, Token::TLabel), "edge")?;
        let edge = self.graph.add_edge(&label, source, target, token(&all, Token::TId).as_ref())?;
        let edge = Object::Edge(Arc::new(edge));
        self.write_partition(&edge)?;
        self.put_rest(&edge, &all)?;
        Ok(edge)
    }
}

fn pairs_of(step: &'static str, object: Object) -> Outcome<Pairs> {
    match object {
        Object::Null => Ok(Vec::new()),
        Object::Map(pairs) => Ok(pairs.to_vec()),
        other => {
            let kind = other.type_name();
            Err(TraverseError::step(step, format!("{step}() wants a Map, encountered {other}, a {kind}")))
        }
    }
}

fn token(pairs: &[(Object, Object)], wanted: Token) -> Option<Object> {
    pairs.iter().find(|(key, _)| *key == Object::Token(wanted)).map(|(_, value)| value.clone())
}

/// Which keys a map may have.
fn check(step: &'static str, pairs: &Pairs) -> Outcome<()> {
    for (key, value) in pairs {
        match key {
            Object::String(key) => {
                key_text(key)?;
            }
            Object::Token(Token::TId | Token::TLabel) if *value == Object::Null => {
                return Err(TraverseError::step(step, format!("{step}() does not allow null for {key}")));
            }
            Object::Token(Token::TId) => {}
            Object::Token(Token::TLabel) => {
                label_text(Some(value.clone()), "")?;
            }
            Object::Token(Token::Out | Token::In) if step == "mergeE" => {}
            other => {
                let message = format!(
                    "{step}() and option() maps have text, T.id, T.label and directions for keys, not {other}"
                );
                return Err(TraverseError::step(step, message));
            }
        }
    }
    Ok(())
}
