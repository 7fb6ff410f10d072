//! From object to object: scans, edges, properties, maps of them, paths, selections.

use crate::error::{Outcome, TraverseError};
use crate::graph::Wanted;
use crate::machine::Machine;
use crate::pipeline::{Stage, State};
use crate::shapes;
use crate::step::{By, Convert, End, Given, Name, Step};
use crate::traverser::Traverser;
use gremlin::object::Path;
use gremlin::{Object, ReferenceKind, Token};
use model::{Direction, EdgeRef, VertexId};
use std::sync::Arc;

type Out<'a> = &'a mut Vec<Traverser>;

impl Machine {
    pub(crate) fn scan_vertices(&self, wanted: &Wanted, stage: &mut Stage, out: Out<'_>) -> Outcome<()> {
        let Some((traverser, cursor)) = scanned(stage) else { return Ok(()) };
        let (mut found, mut next) = (Vec::new(), Some(cursor));
        while let Some(cursor) = next {
            next = self.graph.vertices(wanted, cursor, &mut found)?;
            // who writes must not meet what it wrote
            if !self.writes() && found.len() >= self.batch {
                break;
            }
        }
        for vertex in found {
            if self.sees_all() || self.sees_vertex(vertex)? {
                out.push(traverser.to(Object::Vertex(vertex), self.keeps_path));
            }
        }
        stage.state = next.map_or(State::Nothing, |cursor| State::Scan(traverser, cursor));
        Ok(())
    }

    pub(crate) fn scan_edges(&self, stage: &mut Stage, out: Out<'_>) -> Outcome<()> {
        let Some((traverser, cursor)) = scanned(stage) else { return Ok(()) };
        let (mut found, mut next) = (Vec::new(), Some(cursor));
        while let Some(cursor) = next {
            next = self.graph.edges(cursor, &mut found)?;
            if !self.writes() && found.len() >= self.batch {
                break;
            }
        }
        for edge in found {
            if self.sees_all() || self.sees_edge(&edge)? {
                out.push(traverser.to(Object::Edge(Arc::new(edge)), self.keeps_path));
            }
        }
        stage.state = next.map_or(State::Nothing, |cursor| State::Scan(traverser, cursor));
        Ok(())
    }

    /// Steps from one object to others.
    pub(crate) fn walk(&self, step: &Step, traverser: Traverser, out: Out<'_>) -> Outcome<()> {
        let object = &traverser.object;
        let next = match step {
            Step::Vertices { ids, .. } => {
                return self.named_vertices(ids.as_deref().unwrap_or(&[]), &traverser, out);
            }
            Step::Edges { ids } => return self.named_edges(ids.as_deref().unwrap_or(&[]), &traverser, out),
            Step::Adjacent { direction, types, to_edge } => {
                return self.adjacent(*direction, types, *to_edge, &traverser, out);
            }
            Step::EdgeEnd(end) => return self.edge_end(*end, &traverser, out),
            Step::Properties { keys, values } => return self.properties(keys, *values, &traverser, out),
            Step::Unfold => {
                out.extend(
                    shapes::unfolded(object).into_iter().map(|one| traverser.to(one, self.keeps_path)),
                );
                return Ok(());
            }
            Step::PropertyMap { keys, values, tokens, by } => {
                Some(self.property_map(keys, *values, *tokens, by, &traverser)?)
            }
            Step::ElementMap(keys) => Some(self.element_map(keys, object)?),
            Step::Id => Some(self.id(object)?),
            Step::Label => Some(self.label(object)?),
            Step::Key => Some(self.key(object)?),
            Step::Value => Some(self.value(object)?),
            Step::Element => Some(element(object)?),
            Step::Constant(value) => Some(value.clone()),
            Step::Modulated(by) => self.by(by, &traverser)?,
            Step::Loops(name) => {
                let rounds = traverser.rounds(name.as_ref());
                Some(Object::Int(rounds.map_or(0, |rounds| rounds as i32)))
            }
            Step::Path(part) => self.part_of(part, &traverser)?.map(|way| {
                let (objects, labels) = way.into_iter().unzip();
                Object::Path(Arc::new(Path { labels, objects }))
            }),
            Step::Select { labels, pop, by } => self.select(labels, *pop, by, &traverser)?,
            Step::SelectBy { body, pop, by } => self.select_by(body, *pop, by, &traverser)?,
            Step::SelectColumn(token) => Some(crate::by::column(*token, object)?),
            Step::Project { keys, by } => Some(self.project(keys, by, &traverser)?),
            Step::Math { formula, by } => self.math(formula, by, &traverser)?,
            Step::Format { text, by } => self.format(text, by, &traverser)?,
            Step::Convert(convert) => self.convert(convert, &traverser)?,
            Step::Index { map } => Some(shapes::indexed(object, *map)),
            Step::SackValue => Some(traverser.sack.clone()),
            Step::LocalRange { low, high } => shapes::ranged(object, *low, *high),
            Step::LocalTail(count) => shapes::tailed(object, *count),
            Step::LocalSample(count) => Some(self.sampled(object, *count)),
            Step::LocalDedup(by) => Some(self.local_dedup(by.as_ref(), &traverser)?),
            Step::LocalOrder(keys) => Some(self.local_order(keys, &traverser)?),
            Step::LocalReduce(reduce) => crate::groups::reduced_locally(*reduce, object)?,
            other => return Err(TraverseError::step("traversal", format!("{other:?} cannot be run here"))),
        };
        out.extend(next.map(|next| traverser.to(next, self.keeps_path)));
        Ok(())
    }

    fn named_vertices(&self, ids: &[Object], traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        for id in ids {
            if let Some(vertex) = self.vertex_of(id)?
                && self.sees_vertex(vertex)?
            {
                out.push(traverser.to(Object::Vertex(vertex), self.keeps_path));
            }
        }
        Ok(())
    }
    fn named_edges(&self, ids: &[Object], traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        for id in ids {
            let edge = match id {
                Object::Edge(edge) => Some(**edge),
                Object::Reference(reference) => self.graph.edge_by_id(&reference.id)?,
                id => self.graph.edge_by_id(id)?,
            };
            if let Some(edge) = edge
                && self.graph.edge_exists(&edge)?
                && self.sees_edge(&edge)?
            {
                out.push(traverser.to(Object::Edge(Arc::new(edge)), self.keeps_path));
            }
        }
        Ok(())
    }
    /// The vertex that a client means: by its id, or itself.
    pub(crate) fn vertex_of(&self, id: &Object) -> Outcome<Option<VertexId>> {
        let vertex = match id {
            Object::Vertex(vertex) => Some(*vertex),
            Object::Reference(reference) if reference.kind == ReferenceKind::Vertex => {
                self.graph.vertex_by_id(&reference.id)?
            }
            id => self.graph.vertex_by_id(id)?,
        };
        match vertex {
            Some(vertex) if self.graph.vertex_exists(vertex)? => Ok(Some(vertex)),
            _ => Ok(None),
        }
    }

    fn adjacent(
        &self,
        direction: Direction,
        types: &[Name],
        to_edge: bool,
        traverser: &Traverser,
        out: Out<'_>,
    ) -> Outcome<()> {
        let Object::Vertex(vertex) = traverser.object else {
            let object = &traverser.object;
            let message = format!("{object} is a {}, not a vertex", object.type_name());
            return Err(TraverseError::step("out, in, both", message));
        };
        let mut found: Vec<EdgeRef> = Vec::new();
        let directions: &[Direction] = match direction {
            Direction::Both => &[Direction::Out, Direction::In],
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
        };
        for direction in directions {
            found.clear();
            self.graph.adjacent(vertex, *direction, types, &mut found)?;
            for edge in &found {
                let far = if *direction == Direction::Out { edge.target } else { edge.source };
                if !self.sees_all() && (!self.sees_edge(edge)? || (!to_edge && !self.sees_vertex(far)?)) {
                    continue;
                }
                let next = if to_edge { Object::Edge(Arc::new(*edge)) } else { Object::Vertex(far) };
                out.push(traverser.to(next, self.keeps_path));
            }
        }
        Ok(())
    }

    fn edge_end(&self, end: End, traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        let Object::Edge(edge) = &traverser.object else {
            let object = &traverser.object;
            let message = format!("{object} is a {}, not an edge", object.type_name());
            return Err(TraverseError::step("outV, inV, bothV, otherV", message));
        };
        let ends = match end {
            End::Out => vec![edge.source],
            End::In => vec![edge.target],
            End::Both => vec![edge.source, edge.target],
            End::Other => {
                let way = traverser.way();
                let came = way.iter().rev().find_map(|node| match node.object {
                    Object::Vertex(vertex) if vertex == edge.source || vertex == edge.target => Some(vertex),
                    _ => None,
                });
                let from = came.unwrap_or(edge.source);
                vec![if from == edge.source { edge.target } else { edge.source }]
            }
        };
        for vertex in ends {
            if self.sees_vertex(vertex)? {
                out.push(traverser.to(Object::Vertex(vertex), self.keeps_path));
            }
        }
        Ok(())
    }

    fn properties(&self, keys: &[Name], values: bool, traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        let object = &traverser.object;
        if let ([key], true) = (keys, values) {
            for value in self.values_of(object, key)? {
                out.push(traverser.to(value, self.keeps_path));
            }
            return Ok(());
        }
        for property in self.properties_of(object, keys)? {
            let next = if values { self.value(&property)? } else { property };
            out.push(traverser.to(next, self.keeps_path));
        }
        Ok(())
    }

    /// `valueMap`, `propertyMap`: each key with a list of its values.
    fn property_map(
        &self,
        keys: &[Name],
        values: bool,
        tokens: i64,
        by: &[By],
        traverser: &Traverser,
    ) -> Outcome<Object> {
        let object = &traverser.object;
        let mut map = crate::sides::Ordered::<Option<Vec<Object>>>::default();
        if values && tokens & 1 != 0 {
            map.at(&Object::Token(Token::TId)).get_or_insert_default().push(self.id(object)?);
        }
        if values && tokens & 2 != 0 {
            if let Object::VertexProperty(_) = object {
                map.at(&Object::Token(Token::TKey)).get_or_insert_default().push(self.key(object)?);
                map.at(&Object::Token(Token::TValue)).get_or_insert_default().push(self.value(object)?);
            } else {
                map.at(&Object::Token(Token::TLabel)).get_or_insert_default().push(self.label(object)?);
            }
        }
        for property in self.properties_of(object, keys)? {
            let key = self.key(&property)?;
            let value = if values { self.value(&property)? } else { property };
            map.at(&key).get_or_insert_default().push(value);
        }
        let many = matches!(object, Object::Vertex(_));
        let mut pairs = Vec::new();
        for (key, found) in map.items {
            let found = found.unwrap_or_default();
            let is_plain = crate::elements::is_token(&key);
            let value = if is_plain || !many {
                found.into_iter().next().unwrap_or_default()
            } else {
                Object::list(found)
            };
            match (by, is_plain) {
                ([by, ..], false) => {
                    let there = Traverser { object: value, ..traverser.clone() };
                    if let Some(value) = self.by(by, &there)? {
                        pairs.push((key, value));
                    }
                }
                _ => pairs.push((key, value)),
            }
        }
        Ok(Object::map(pairs))
    }

    fn element_map(&self, keys: &[Name], object: &Object) -> Outcome<Object> {
        let token = |token: Token| Object::Token(token);
        let mut pairs = vec![(token(Token::TId), self.id(object)?)];
        match object {
            Object::VertexProperty(_) => {
                pairs.push((token(Token::TKey), self.key(object)?));
                pairs.push((token(Token::TValue), self.value(object)?));
            }
            _ => pairs.push((token(Token::TLabel), self.label(object)?)),
        }
        if let Object::Edge(edge) = object {
            for (word, vertex) in [(Token::In, edge.target), (Token::Out, edge.source)] {
                let end = Object::Vertex(vertex);
                let own =
                    vec![(token(Token::TId), self.id(&end)?), (token(Token::TLabel), self.label(&end)?)];
                pairs.push((token(word), Object::map(own)));
            }
        }
        let mut map = crate::sides::Ordered::<Object>::default();
        for property in self.properties_of(object, keys)? {
            *map.at(&self.key(&property)?) = self.value(&property)?;
        }
        pairs.extend(map.items);
        Ok(Object::map(pairs))
    }

    fn select(
        &self,
        labels: &[Name],
        pop: Token,
        by: &[By],
        traverser: &Traverser,
    ) -> Outcome<Option<Object>> {
        let mut map = crate::sides::Ordered::<Object>::default();
        for (at, label) in labels.iter().enumerate() {
            let Some(object) = self.scoped(label, traverser, pop)? else { return Ok(None) };
            let there = Traverser { object, ..traverser.clone() };
            let Some(value) = self.by(self.turn(by, at), &there)? else { return Ok(None) };
            *map.at(&Object::String(label.clone())) = value;
        }
        let mut pairs = map.items;
        Ok(match labels.len() {
            1 => pairs.pop().map(|(_, value)| value),
            _ => Some(Object::map(pairs)),
        })
    }
    /// Selects the key that a traversal yields.
    fn select_by(
        &self,
        body: &crate::step::Body,
        pop: Token,
        by: &[By],
        traverser: &Traverser,
    ) -> Outcome<Option<Object>> {
        let Some(key) = self.first(body, Traverser { bulk: 1, ..traverser.clone() })? else {
            return Ok(None);
        };
        let found = match (&traverser.object, &key.object) {
            (Object::Map(pairs), key) => pairs
                .iter()
                .find(|(known, _)| crate::compare::same(known, key))
                .map(|(_, value)| value.clone()),
            (_, Object::String(label)) => self.scoped(label, traverser, pop)?,
            _ => None,
        };
        match found {
            Some(object) => self.by(self.turn(by, 0), &Traverser { object, ..traverser.clone() }),
            None => Ok(None),
        }
    }
    fn project(&self, keys: &[Name], by: &[By], traverser: &Traverser) -> Outcome<Object> {
        let mut pairs = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            if let Some(value) = self.by(self.turn(by, at), traverser)? {
                pairs.push((Object::String(key.clone()), value));
            }
        }
        Ok(Object::map(pairs))
    }

    fn math(
        &self,
        formula: &crate::formula::Formula,
        by: &[By],
        traverser: &Traverser,
    ) -> Outcome<Option<Object>> {
        let mut named = Vec::new();
        for (at, name) in formula.names().into_iter().enumerate() {
            let object = match &*name {
                "_" => Some(traverser.object.clone()),
                label => self.scoped(label, traverser, Token::Last)?,
            };
            let Some(object) = object else { return Ok(None) };
            let there = Traverser { object, ..traverser.clone() };
            let Some(value) = self.by(self.turn(by, at), &there)? else { return Ok(None) };
            match crate::number::Number::of(&value) {
                Some(number) => named.push((name, number.as_f64())),
                None => {
                    let message = format!("{name} is {value}, a {}, not a number", value.type_name());
                    return Err(TraverseError::step("math", message));
                }
            }
        }
        let value = |name: &str| {
            named.iter().find(|(known, _)| **known == *name).map_or(f64::NAN, |(_, value)| *value)
        };
        Ok(Some(Object::Double(formula.value(&value))))
    }

    /// `%{name}` is replaced by a property, an entry or what a label stands for; `%{_}` by the modulator whose turn it is.
    fn format(&self, text: &str, by: &[By], traverser: &Traverser) -> Outcome<Option<Object>> {
        let (mut shown, mut rest, mut turn) = (String::new(), text, 0);
        while let Some((before, behind)) = rest.split_once("%{") {
            let Some((name, after)) = behind.split_once('}') else { break };
            shown.push_str(before);
            let value = if name == "_" {
                turn += 1;
                self.by(self.turn(by, turn - 1), traverser)?
            } else {
                let own = match &traverser.object {
                    object @ (Object::Vertex(_) | Object::Edge(_) | Object::VertexProperty(_)) => {
                        self.values_of(object, name)?.into_iter().next()
                    }
                    _ => None,
                };
                match own {
                    Some(own) => Some(own),
                    None => self.scoped(name, traverser, Token::Last)?,
                }
            };
            let Some(value) = value else { return Ok(None) };
            shown.push_str(&crate::convert::shown(&value));
            rest = after;
        }
        shown.push_str(rest);
        Ok(Some(Object::string(shown)))
    }

    fn convert(&self, convert: &Convert, traverser: &Traverser) -> Outcome<Option<Object>> {
        if traverser.object == Object::Null && takes_collection(convert.name) {
            let message = format!("Incoming traverser for {} step can't be null.", convert.name);
            return Err(TraverseError::step(convert.name, message));
        }
        let mut arguments = Vec::with_capacity(convert.arguments.len());
        for given in &convert.arguments {
            match (given, self.given(given, traverser)?) {
                (Given::Body(_), value) if takes_collection(convert.name) => {
                    arguments.push(collection(convert.name, value, &traverser.object)?);
                }
                (_, Some(value)) => arguments.push(value),
                (_, None) if convert.name == "concat" => arguments.push(Object::Null),
                (_, None) => return Ok(None),
            }
        }
        crate::convert::convert(convert.name, convert.local, &traverser.object, &arguments).map(Some)
    }
}

fn takes_collection(name: &str) -> bool {
    matches!(name, "combine" | "difference" | "disjunct" | "intersect" | "merge" | "product")
}

/// What a traversal given to a step on collections must yield.
fn collection(name: &'static str, value: Option<Object>, object: &Object) -> Outcome<Object> {
    match value {
        Some(Object::Map(pairs)) if name == "merge" && matches!(object, Object::Map(_)) => {
            Ok(Object::Map(pairs))
        }
        None | Some(Object::Null) => {
            let message = format!("traversal argument for {name} step must yield an iterable type, not null");
            Err(TraverseError::step(name, message))
        }
        Some(value) if crate::convert::elements_of(&value).is_some() => Ok(value),
        Some(value) if name == "merge" && matches!(object, Object::Map(_)) => {
            let kind = value.type_name();
            let message =
                format!("merge step expected provided argument to evaluate to a Map, encountered {kind}");
            Err(TraverseError::step(name, message))
        }
        Some(value) => {
            let kind = value.type_name();
            let message =
                format!("traversal argument for {name} step must yield an iterable type, encountered {kind}");
            Err(TraverseError::step(name, message))
        }
    }
}

fn element(object: &Object) -> Outcome<Object> {
    match object {
        Object::VertexProperty(property) => Ok(Object::Vertex(property.vertex)),
        Object::Property(property) => Ok(property.owner.clone()),
        other => {
            Err(TraverseError::step("element", format!("{other} is a {}, not a property", other.type_name())))
        }
    }
}

/// The traverser a scan is for, and how far it has come.
fn scanned(stage: &mut Stage) -> Option<(Traverser, u64)> {
    match std::mem::take(&mut stage.state) {
        State::Scan(traverser, cursor) => Some((traverser, cursor)),
        _ => stage.queue.pop_front().map(|traverser| (traverser, 0)),
    }
}
