//! From object to object: along edges, to their ends, to properties and maps of them; all other steps of this kind are dispatched from here.

use crate::error::{Outcome, TraverseError};
use crate::machine::Machine;
use crate::pieces::metered;
use crate::shapes;
use crate::step::{By, End, Name, Step};
use crate::traverser::{Out, Traverser};
use gremlin::object::Path;
use gremlin::{Object, Token};
use model::{Direction, EdgeRef};
use std::sync::Arc;

impl Machine {
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
                out.extend(metered(shapes::unfolded(object)).map(|one| traverser.to(one, self.keeps_path)));
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
            Step::LocalReduce(reduce) => crate::groups::reduced_locally(self, *reduce, object)?,
            other => return Err(TraverseError::step("traversal", format!("{other:?} cannot be run here"))),
        };
        out.extend(next.map(|next| traverser.to(next, self.keeps_path)));
        Ok(())
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
                execute::watch::spend(1)?;
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
        let mut map = crate::ordered::Ordered::<Option<Vec<Object>>>::default();
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
        let mut map = crate::ordered::Ordered::<Object>::default();
        for property in self.properties_of(object, keys)? {
            *map.at(&self.key(&property)?) = self.value(&property)?;
        }
        pairs.extend(map.items);
        Ok(Object::map(pairs))
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
